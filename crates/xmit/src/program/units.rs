//! Debug information in DWARF. What an entry means for a record is [`types`](super::types)' part.

use super::file::{Sections, unusable};
use super::source::{Candidate, Entry, Names, Place, Source, text};
use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugAbbrevOffset, DebugInfo, DebugInfoOffset,
    DebuggingInformationEntry, EndianSlice, Reader, RunTimeEndian, UnitHeader, UnitOffset, constants as dw,
};
use isoform_core::{ByteOrder, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many attributes an entry has. Some take no bytes, so that a hostile file could have many in each of many entries.
const MAX_ATTRIBUTES: usize = 128;
const DWARF: &str = "debug information that is not valid DWARF";

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// The units of a program: for C, one for each compiled file.
#[derive(Debug)]
pub(super) struct Units {
    sections: Sections,
    list: Vec<Unit>,
    names: Names,
}

#[derive(Debug)]
struct Unit {
    offset: usize,
    abbreviations: Arc<Abbreviations>,
    /// The path of the compiled file.
    name: Box<str>,
    strings: usize,
    fortran: bool,
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
    pub(super) fn new(sections: Sections) -> Result<Units> {
        let names = Names::within(sections.info.len() + sections.str.len() + sections.line_str.len());
        let mut units = Units { sections, list: Vec::new(), names };
        units.find()?;
        for unit in 0..units.list.len() {
            units.index(unit)?;
        }
        Ok(units)
    }

    /// Finds the units, and their tables of abbreviations. A table ends where the next begins, so that all of them together are
    /// read in linear time, however many units a hostile file lets overlap.
    fn find(&mut self) -> Result<()> {
        let endian = self.endian();
        let info = DebugInfo::new(&self.sections.info, endian);
        let mut headers = Vec::new();
        let mut iterator = info.units();
        while let Some(header) = iterator.next().map_err(|_| unusable(DWARF))? {
            let Some(offset) = header.debug_info_offset() else { continue };
            headers.push((offset.0, header.debug_abbrev_offset().0));
        }
        let mut tables: BTreeMap<usize, Arc<Abbreviations>> =
            headers.iter().map(|&(_, table)| (table, Arc::default())).collect();
        let starts: Vec<usize> = tables.keys().copied().collect();
        for (i, &start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(self.sections.abbrev.len());
            let bytes = self.sections.abbrev.get(start..end).ok_or_else(|| unusable(DWARF))?;
            let table = DebugAbbrev::new(bytes, endian).abbreviations(DebugAbbrevOffset(0));
            tables.insert(start, Arc::new(table.map_err(|_| unusable(DWARF))?));
        }
        for (offset, table) in headers {
            let abbreviations = tables[&table].clone();
            self.list.push(Unit { offset, abbreviations, name: "".into(), strings: 0, fortran: false });
        }
        Ok(())
    }

    /// Finds the structs of a unit, and the typedefs of them.
    fn index(&mut self, unit: usize) -> Result<()> {
        let root = Place { unit, offset: self.header(unit)?.root_offset().0 };
        let mut first = None;
        self.each(root, &mut |entry| {
            first = Some(entry);
            Ok(false)
        })?;
        let Some(first) = first else { return Ok(()) };
        // An index into the strings needs the place of the unit's own, which the same entry may state behind its name.
        self.list[unit].strings = first.strings.unwrap_or(0);
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
        let info = DebugInfo::new(&self.sections.info, self.endian());
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
                dw::DW_AT_name => entry.name = self.text(unit, &value),
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
                let unit = self.list.partition_point(|unit| unit.offset <= offset.0).checked_sub(1)?;
                Some(Place { unit, offset: offset.0 - self.list[unit].offset })
            }
            _ => None,
        }
    }

    fn text(&self, unit: usize, value: &AttributeValue<Slice<'_>>) -> Option<Box<str>> {
        let bytes = match value {
            AttributeValue::String(text) => text.slice(),
            AttributeValue::DebugStrRef(at) => self.sections.str.get(at.0..)?,
            AttributeValue::DebugLineStrRef(at) => self.sections.line_str.get(at.0..)?,
            AttributeValue::DebugStrOffsetsIndex(index) => {
                let at = index.0.checked_mul(4)?.checked_add(self.list[unit].strings)?;
                let offset = self.sections.str_offsets.get(at..at.checked_add(4)?)?;
                let offset = EndianSlice::new(offset, self.endian()).read_u32().ok()?;
                self.sections.str.get(usize::try_from(offset).ok()?..)?
            }
            _ => return None,
        };
        text(bytes)
    }

    fn endian(&self) -> RunTimeEndian {
        match self.sections.order {
            ByteOrder::Little => RunTimeEndian::Little,
            ByteOrder::Big => RunTimeEndian::Big,
        }
    }
}
