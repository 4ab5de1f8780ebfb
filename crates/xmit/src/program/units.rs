//! Debug information in DWARF. What an entry means for a record is [`types`](super::types)' part.

use super::file::{Sections, unusable};
use super::source::{Candidate, Entry, MAX_NAME, Names, Place, Source, text_within};
use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugAbbrevOffset, DebugCuIndex, DebugInfo, DebugInfoOffset,
    DebugTuIndex, DebuggingInformationEntry, EndianSlice, IndexSectionId, Reader, RunTimeEndian, UnitHeader, UnitIndex,
    UnitOffset, UnitType, constants as dw,
};
use isoform_core::{ByteOrder, Result};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// How many attributes an entry has. Some take no bytes, so that a hostile file could have many in each of many entries.
const MAX_ATTRIBUTES: usize = 128;
/// The longest path of a file that is split from a program.
const MAX_PATH: usize = 4096;
const DWARF: &str = "debug information that is not valid DWARF";

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// The units of a program: for C, one for each compiled file.
#[derive(Debug)]
pub(super) struct Units {
    files: Vec<File>,
    list: Vec<Unit>,
    /// Units of single types, by their signatures.
    types: HashMap<u64, Place>,
    names: Names,
    absent: Vec<Box<str>>,
}

/// A file with debug information: the program, or one that is split from it.
#[derive(Debug)]
struct File {
    sections: Sections,
    units: Range<usize>,
}

#[derive(Debug)]
struct Unit {
    file: usize,
    offset: usize,
    abbreviations: Arc<Abbreviations>,
    /// The path of the compiled file.
    name: Box<str>,
    strings: usize,
    fortran: bool,
    /// The number by which a unit that is split, and the one in the program, know each other.
    id: Option<u64>,
}

/// A unit whose debug information is in another file.
#[derive(Debug)]
pub(super) struct Split {
    pub(super) file: Box<str>,
    pub(super) folder: Option<Box<str>>,
    pub(super) id: u64,
}

/// Where a package has what belongs to a unit.
#[derive(Clone, Copy, Default)]
struct Row {
    abbreviations: usize,
    strings: usize,
}

impl Source for Units {
    fn names(&self) -> &Names {
        &self.names
    }

    /// The unit and the line.
    fn place(&self, candidate: &Candidate) -> String {
        format!("{}:{}", self.list[candidate.at.unit].name, candidate.line)
    }

    fn is_fortran(&self, at: Place) -> bool {
        self.list[at.unit].fortran
    }

    fn doubt(&self) -> Option<&'static str> {
        None
    }

    fn absent(&self) -> &[Box<str>] {
        &self.absent
    }

    fn each(&self, at: Place, then: &mut dyn FnMut(Entry) -> Result<bool>) -> Result<()> {
        let header = self.header(at.unit)?;
        let unit = &self.list[at.unit];
        let mut cursor =
            header.entries_at_offset(&unit.abbreviations, UnitOffset(at.offset)).map_err(|_| unusable(DWARF))?;
        while let Some(entry) = cursor.next_dfs().map_err(|_| unusable(DWARF))? {
            if entry.depth() < 0 || entry.depth() == 0 && entry.offset().0 != at.offset {
                break;
            }
            if !then(self.entry(at.unit, entry)?)? {
                break;
            }
        }
        Ok(())
    }
}

impl Units {
    pub(super) fn new() -> Units {
        let (files, list, absent) = (Vec::new(), Vec::new(), Vec::new());
        Units { files, list, types: HashMap::new(), names: Names::within(0), absent }
    }

    /// Adds the units of a file.
    pub(super) fn add(&mut self, sections: Sections) -> Result<()> {
        self.names.allow(sections.info.len() + sections.str.len() + sections.line_str.len());
        let first = self.list.len();
        self.files.push(File { sections, units: first..first });
        self.find(self.files.len() - 1)
    }

    /// The units whose debug information is in other files.
    pub(super) fn split(&self) -> Result<Vec<Split>> {
        let mut all = Vec::new();
        for unit in 0..self.list.len() {
            if self.files[self.list[unit].file].sections.is_split {
                continue;
            }
            if let Some(Entry { split: Some(file), folder, id, .. }) = self.root(unit)?
                && let Some(id) = self.list[unit].id.or(id)
            {
                all.push(Split { file, folder, id });
            }
        }
        Ok(all)
    }

    /// Whether the last file has a unit of this number.
    pub(super) fn has(&self, id: u64) -> bool {
        self.files.last().is_some_and(|file| self.list[file.units.clone()].iter().any(|unit| unit.id == Some(id)))
    }

    /// Tells of a file that is not there.
    pub(super) fn lacks(&mut self, file: Box<str>) {
        self.absent.push(file);
    }

    /// Finds the types of all units, which come from their names then.
    pub(super) fn index_all(&mut self) -> Result<()> {
        (0..self.list.len()).try_for_each(|unit| self.index(unit))
    }

    /// Finds the units of a file, and their tables of abbreviations. A table ends where the next begins, so that all of them together are
    /// read in linear time, however many units a hostile file lets overlap.
    fn find(&mut self, file: usize) -> Result<()> {
        let sections = &self.files[file].sections;
        let endian = endian(sections);
        let rows = rows(sections)?;
        let mut headers = Vec::new();
        let mut iterator = DebugInfo::new(&sections.info, endian).units();
        while let Some(header) = iterator.next().map_err(|_| unusable(DWARF))? {
            let Some(offset) = header.debug_info_offset() else { continue };
            let row = rows.range(..=offset.0).next_back().map_or(Row::default(), |(_, row)| *row);
            let table = header.debug_abbrev_offset().0.checked_add(row.abbreviations);
            headers.push((header, offset.0, table.ok_or_else(|| unusable(DWARF))?, row));
        }
        let mut tables: BTreeMap<usize, Arc<Abbreviations>> =
            headers.iter().map(|(_, _, table, _)| (*table, Arc::default())).collect();
        let starts: Vec<usize> = tables.keys().copied().collect();
        for (i, &start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(sections.abbrev.len());
            let bytes = sections.abbrev.get(start..end).ok_or_else(|| unusable(DWARF))?;
            let table = DebugAbbrev::new(bytes, endian).abbreviations(DebugAbbrevOffset(0));
            tables.insert(start, Arc::new(table.map_err(|_| unusable(DWARF))?));
        }
        for (header, offset, table, row) in headers {
            // The offsets of strings in a split file have a head since version 5.
            let strings = if sections.is_split && header.version() >= 5 { 8 } else { 0 };
            let strings = row.strings.checked_add(strings).ok_or_else(|| unusable(DWARF))?;
            let id = match header.type_() {
                UnitType::Skeleton(id) | UnitType::SplitCompilation(id) => Some(id.0),
                _ => None,
            };
            let unit = self.list.len();
            if let UnitType::Type { type_signature, type_offset }
            | UnitType::SplitType { type_signature, type_offset } = header.type_()
            {
                self.types.entry(type_signature.0).or_insert(Place { unit, offset: type_offset.0 });
            }
            let abbreviations = tables[&table].clone();
            self.list.push(Unit { file, offset, abbreviations, name: "".into(), strings, fortran: false, id });
        }
        self.files[file].units.end = self.list.len();
        for unit in self.files[file].units.clone() {
            let Some(root) = self.root(unit)? else { continue };
            let unit = &mut self.list[unit];
            unit.strings = root.strings.unwrap_or(unit.strings);
            unit.id = unit.id.or(root.id);
        }
        Ok(())
    }

    /// The entry of a unit itself.
    fn root(&self, unit: usize) -> Result<Option<Entry>> {
        let mut first = None;
        self.each(Place { unit, offset: self.header(unit)?.root_offset().0 }, &mut |entry| {
            first = Some(entry);
            Ok(false)
        })?;
        Ok(first)
    }

    /// Finds the structs of a unit, and the typedefs of them.
    fn index(&mut self, unit: usize) -> Result<()> {
        let root = Place { unit, offset: self.header(unit)?.root_offset().0 };
        let Some(first) = self.root(unit)? else { return Ok(()) };
        let mut structs = Vec::new();
        let mut typedefs = Vec::new();
        let mut root_name = None;
        let mut names = std::mem::take(&mut self.names);
        self.each(root, &mut |entry| {
            match entry.tag {
                _ if entry.depth == 0 => root_name = entry.name,
                dw::DW_TAG_structure_type | dw::DW_TAG_class_type if !entry.declaration => {
                    structs.push(entry.at.offset);
                    if let Some(name) = entry.name {
                        names.add(name, Candidate { at: entry.at, line: entry.line })?;
                    }
                }
                dw::DW_TAG_typedef => typedefs.extend(entry.kind.map(|kind| (entry.at, kind))),
                _ => {}
            }
            Ok(true)
        })?;
        typedefs.retain(|(_, kind)| kind.unit == unit && structs.binary_search(&kind.offset).is_ok());
        for (at, _) in typedefs {
            self.each(at, &mut |entry| {
                if let Some(name) = entry.name {
                    names.add(name, Candidate { at, line: entry.line })?;
                }
                Ok(false)
            })?;
        }
        self.names = names;
        self.list[unit].name = root_name.unwrap_or_default();
        self.list[unit].fortran = matches!(
            first.language,
            Some(
                dw::DW_LANG_Fortran77
                    | dw::DW_LANG_Fortran90
                    | dw::DW_LANG_Fortran95
                    | dw::DW_LANG_Fortran03
                    | dw::DW_LANG_Fortran08
            )
        );
        Ok(())
    }

    fn header(&self, unit: usize) -> Result<UnitHeader<Slice<'_>>> {
        let sections = &self.files[self.list[unit].file].sections;
        let info = DebugInfo::new(&sections.info, endian(sections));
        info.header_from_offset(DebugInfoOffset(self.list[unit].offset)).map_err(|_| unusable(DWARF))
    }

    fn entry(&self, unit: usize, read: &DebuggingInformationEntry<Slice<'_>>) -> Result<Entry> {
        let mut entry = Entry::new(Place { unit, offset: read.offset().0 }, read.tag(), read.depth());
        if read.attrs().len() > MAX_ATTRIBUTES {
            return Err(unusable(format_args!("an entry of more than {MAX_ATTRIBUTES} attributes")));
        }
        for attribute in read.attrs() {
            let value = attribute.value();
            match attribute.name() {
                dw::DW_AT_name => entry.name = self.text(unit, &value, MAX_NAME),
                dw::DW_AT_dwo_name | dw::DW_AT_GNU_dwo_name => entry.split = self.text(unit, &value, MAX_PATH),
                dw::DW_AT_comp_dir => entry.folder = self.text(unit, &value, MAX_PATH),
                dw::DW_AT_GNU_dwo_id => {
                    entry.id = match value {
                        AttributeValue::DwoId(id) => Some(id.0),
                        _ => attribute.udata_value(),
                    };
                }
                dw::DW_AT_type => match self.target(unit, &value) {
                    Some(place) => entry.kind = Some(place),
                    None => entry.odd = Some("a type in another file or type unit"),
                },
                dw::DW_AT_byte_size => entry.size = attribute.udata_value(),
                dw::DW_AT_encoding => {
                    entry.encoding = if let AttributeValue::Encoding(encoding) = value { Some(encoding) } else { None };
                }
                dw::DW_AT_data_member_location => entry.offset = attribute.udata_value(),
                dw::DW_AT_alignment => entry.align = attribute.udata_value(),
                dw::DW_AT_lower_bound => entry.lower = attribute.sdata_value(),
                dw::DW_AT_upper_bound => entry.upper = attribute.sdata_value(),
                dw::DW_AT_count => entry.count = attribute.udata_value(),
                dw::DW_AT_const_value => {
                    let small = attribute.sdata_value().map(i128::from);
                    entry.value = match attribute.raw_value() {
                        AttributeValue::Udata(value) => Some(value.into()),
                        _ => small.or(attribute.udata_value().map(i128::from)),
                    };
                }
                dw::DW_AT_bit_size | dw::DW_AT_data_bit_offset => entry.odd = Some("a bit-field"),
                dw::DW_AT_GNU_vector => entry.odd = Some("a vector"),
                dw::DW_AT_endianity => entry.odd = Some("a byte order of its own"),
                dw::DW_AT_byte_stride | dw::DW_AT_data_location => entry.odd = Some("an array behind a descriptor"),
                dw::DW_AT_virtuality => entry.odd = Some("a virtual base"),
                dw::DW_AT_external => entry.external = true,
                dw::DW_AT_declaration => entry.declaration = true,
                dw::DW_AT_decl_line => entry.line = attribute.udata_value().unwrap_or(0),
                dw::DW_AT_language => {
                    entry.language = if let AttributeValue::Language(language) = value { Some(language) } else { None };
                }
                dw::DW_AT_str_offsets_base => {
                    entry.strings =
                        if let AttributeValue::DebugStrOffsetsBase(base) = value { Some(base.0) } else { None };
                }
                _ => {}
            }
        }
        Ok(entry)
    }

    /// The entry that an attribute refers to.
    fn target(&self, unit: usize, value: &AttributeValue<Slice<'_>>) -> Option<Place> {
        match value {
            AttributeValue::UnitRef(offset) => Some(Place { unit, offset: offset.0 }),
            AttributeValue::DebugInfoRef(offset) => {
                let units = self.files[self.list[unit].file].units.clone();
                let before = self.list[units.clone()].partition_point(|unit| unit.offset <= offset.0).checked_sub(1)?;
                let unit = units.start + before;
                Some(Place { unit, offset: offset.0 - self.list[unit].offset })
            }
            AttributeValue::DebugTypesRef(signature) => self.types.get(&signature.0).copied(),
            _ => None,
        }
    }

    fn text(&self, unit: usize, value: &AttributeValue<Slice<'_>>, most: usize) -> Option<Box<str>> {
        let sections = &self.files[self.list[unit].file].sections;
        let bytes = match value {
            AttributeValue::String(text) => text.slice(),
            AttributeValue::DebugStrRef(at) => sections.str.get(at.0..)?,
            AttributeValue::DebugLineStrRef(at) => sections.line_str.get(at.0..)?,
            AttributeValue::DebugStrOffsetsIndex(index) => {
                let at = index.0.checked_mul(4)?.checked_add(self.list[unit].strings)?;
                let offset = sections.str_offsets.get(at..at.checked_add(4)?)?;
                let offset = EndianSlice::new(offset, endian(sections)).read_u32().ok()?;
                sections.str.get(usize::try_from(offset).ok()?..)?
            }
            _ => return None,
        };
        text_within(bytes, most)
    }
}

/// Where a package has what belongs to each of its units, by the place of the unit.
fn rows(sections: &Sections) -> Result<BTreeMap<usize, Row>> {
    let mut rows = BTreeMap::new();
    let [units, types] = &sections.index;
    let endian = endian(sections);
    let units = DebugCuIndex::new(units, endian).index().map_err(|_| unusable(DWARF))?;
    let types = DebugTuIndex::new(types, endian).index().map_err(|_| unusable(DWARF))?;
    for index in [units, types] {
        let all: &UnitIndex<Slice<'_>> = &index;
        for row in 1..=all.unit_count() {
            let (mut place, mut found) = (None, Row::default());
            for part in all.sections(row).map_err(|_| unusable(DWARF))? {
                let offset = part.offset as usize;
                match part.section {
                    IndexSectionId::DebugInfo => place = Some(offset),
                    IndexSectionId::DebugAbbrev => found.abbreviations = offset,
                    IndexSectionId::DebugStrOffsets => found.strings = offset,
                    _ => {}
                }
            }
            if let Some(place) = place {
                rows.insert(place, found);
            }
        }
    }
    Ok(rows)
}

fn endian(sections: &Sections) -> RunTimeEndian {
    match sections.order {
        ByteOrder::Little => RunTimeEndian::Little,
        ByteOrder::Big => RunTimeEndian::Big,
    }
}
