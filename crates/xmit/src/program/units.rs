//! Debug information in DWARF. What an entry means for a record is [`types`](super::types)' part.

use super::file::{Sections, unusable};
use super::others::Why;
use super::source::{
    Arrays, Candidate, Entry, MAX_DEPTH, MAX_NAME, MIN_ENTRIES, Names, Place, Source, text_within, too_many,
};
use super::types::is_transparent;
use gimli::{
    Abbreviations, Attribute, AttributeValue, DebugAbbrev, DebugAbbrevOffset, DebugCuIndex, DebugInfo, DebugInfoOffset,
    DebugTuIndex, DebugTypes, DebuggingInformationEntry, EndianSlice, Expression, IndexSectionId, Operation, Reader,
    RunTimeEndian, SectionId, UnitHeader, UnitIndex, UnitOffset, UnitType, constants as dw,
};
use isoform_core::{ByteOrder, Machine, Result};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// How many attributes an entry has. Some take no bytes, so that a hostile file could have many in each of many entries.
const MAX_ATTRIBUTES: usize = 128;
/// How many operations an expression has that stands for a constant.
const MAX_OPERATIONS: usize = 16;
/// The longest scopes of a type, with all that are around it. Longer ones are none that anybody asks for.
const MAX_SCOPE: usize = 512;
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
    /// How many entries may still be read to find the types.
    left: usize,
}

/// A file with debug information: the program, one that is split from it, or one that it shares with others.
#[derive(Debug)]
struct File {
    sections: Sections,
    /// Its units: first those of `.debug_info`, then those of `.debug_types`.
    units: Range<usize>,
    types: usize,
    /// The file with what this one has in common with others.
    shared: Option<usize>,
    /// Whether it is such a file. Only those of its units count that the program imports.
    is_shared: bool,
}

#[derive(Debug)]
struct Unit {
    file: usize,
    /// Whether it is in `.debug_types`, and where it is in its section.
    is_type: bool,
    offset: usize,
    abbreviations: Arc<Abbreviations>,
    /// The path of the compiled file.
    name: Box<str>,
    /// Where its offsets of strings begin.
    strings: usize,
    format: gimli::Format,
    arrays: Arrays,
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

/// What the units have, for what needs all of them.
#[derive(Default)]
struct Found {
    typedefs: Vec<Place>,
    imports: Vec<(usize, usize)>,
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

    /// Each unit is read once, however many types of one name a hostile file has in it.
    fn scopes(&self, candidates: &[&Candidate], entries: &mut usize) -> Result<Vec<String>> {
        let mut scopes = vec![String::new(); candidates.len()];
        let mut units: HashMap<usize, HashMap<usize, usize>> = HashMap::new();
        for (number, Candidate { at, .. }) in candidates.iter().enumerate() {
            units.entry(at.unit).or_default().insert(at.offset, number);
        }
        for (unit, wanted) in units {
            let offset = self.header(unit)?.root_offset().0;
            // Those of a hostile file can be within each other without end.
            let mut around: Vec<(isize, Option<Box<str>>)> = Vec::new();
            self.each(Place { unit, offset }, &mut |entry| {
                *entries = entries.saturating_add(1);
                while around.pop_if(|(depth, _)| *depth >= entry.depth).is_some() {}
                if let Some(&number) = wanted.get(&entry.at.offset) {
                    let names: Option<Vec<&str>> = around.iter().map(|(_, name)| name.as_deref()).collect();
                    let scope = names.map(|names| names.join("::")).filter(|scope| scope.len() <= MAX_SCOPE);
                    scopes[number] = scope.unwrap_or_else(|| "..".into());
                }
                let is_scope = matches!(
                    entry.tag,
                    dw::DW_TAG_namespace | dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type
                );
                if let (true, Some(name)) = (is_scope, entry.name) {
                    around.push((entry.depth, Some(name).filter(|_| around.len() < MAX_DEPTH)));
                }
                Ok(true)
            })?;
        }
        Ok(scopes)
    }

    fn arrays(&self, at: Place) -> Arrays {
        self.list[at.unit].arrays
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
        Units { files, list, types: HashMap::new(), names: Names::within(0), absent, left: MIN_ENTRIES }
    }

    /// Adds the units of a file.
    pub(super) fn add(&mut self, sections: Sections) -> Result<()> {
        self.names.allow(sections.info.len() + sections.str.len() + sections.line_str.len());
        self.left = self.left.saturating_add(sections.file);
        let first = self.list.len();
        self.files.push(File { sections, units: first..first, types: first, shared: None, is_shared: false });
        self.find(self.files.len() - 1)
    }

    /// Adds what the last file shares with others.
    pub(super) fn add_shared(&mut self, sections: Sections) -> Result<()> {
        let shared = self.files.len();
        self.files[shared - 1].shared = Some(shared);
        self.add(sections)?;
        self.files[shared].is_shared = true;
        Ok(())
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
        let mut found = Found::default();
        let is_own = |unit: &Unit| !self.files[unit.file].is_shared;
        let mut known: Vec<bool> = self.list.iter().map(is_own).collect();
        let mut wanted: VecDeque<usize> = (0..known.len()).filter(|&unit| known[unit]).collect();
        while let Some(unit) = wanted.pop_front() {
            let before = found.imports.len();
            self.index(unit, &mut found)?;
            for &(_, imported) in &found.imports[before..] {
                if !std::mem::replace(&mut known[imported], true) {
                    wanted.push_back(imported);
                }
            }
        }
        self.spread_languages(&found.imports);
        let mut known = HashMap::new();
        for at in found.typedefs {
            let Some(Entry { name: Some(name), kind: Some(kind), line, .. }) = self.first(at) else { continue };
            if let Some(why) = self.behind(kind, &mut known) {
                self.names.put(name, why, Candidate { at, line })?;
            }
        }
        Ok(())
    }

    /// The entry at a place, if there is one.
    fn first(&self, at: Place) -> Option<Entry> {
        let mut first = None;
        let read = self.each(at, &mut |entry| {
            first = Some(entry);
            Ok(false)
        });
        first.filter(|_| read.is_ok())
    }

    /// Why the struct or union at a place, or behind typedefs and qualifiers there, is no record; `None` if there is neither. What is
    /// known of places on the way is kept, so that a chain of typedefs is followed once.
    fn behind(&self, mut at: Place, known: &mut HashMap<Place, Option<Option<Why>>>) -> Option<Option<Why>> {
        let mut way = Vec::new();
        let found = loop {
            if let Some(found) = known.get(&at) {
                break *found;
            }
            let Some(entry) = self.first(at) else { break None };
            match entry.kind.filter(|_| is_transparent(entry.tag) && way.len() < MAX_DEPTH) {
                Some(kind) => way.push(std::mem::replace(&mut at, kind)),
                None => break is_struct(&entry).then(|| why_none(&entry)),
            }
        };
        known.extend(way.into_iter().map(|at| (at, found)));
        found
    }

    /// A part that was taken out of several units states no language: it has that of the units that import it.
    fn spread_languages(&mut self, imports: &[(usize, usize)]) {
        let mut by_importer: HashMap<usize, Vec<usize>> = HashMap::new();
        imports.iter().for_each(|&(unit, imported)| by_importer.entry(unit).or_default().push(imported));
        let mut wanted: Vec<usize> =
            (0..self.list.len()).filter(|&unit| self.list[unit].arrays != Arrays::FromZero).collect();
        while let Some(unit) = wanted.pop() {
            let arrays = self.list[unit].arrays;
            for imported in by_importer.remove(&unit).unwrap_or_default() {
                if std::mem::replace(&mut self.list[imported].arrays, arrays) == Arrays::FromZero {
                    wanted.push(imported);
                }
            }
        }
    }

    /// Finds the units of a file, and their tables of abbreviations. A table ends where the next begins, so that all of them together are
    /// read in linear time, however many units a hostile file lets overlap.
    fn find(&mut self, file: usize) -> Result<()> {
        let sections = &self.files[file].sections;
        let endian = endian(sections);
        let rows = rows(sections)?;
        let mut headers = Vec::new();
        let mut units = DebugInfo::new(&sections.info, endian).units();
        let mut types = DebugTypes::new(&sections.types, endian).units();
        loop {
            let next = units.next().and_then(|next| if next.is_none() { types.next() } else { Ok(next) });
            let Some(header) = next.map_err(|_| unusable(DWARF))? else { break };
            let (is_type, offset) = (header.section() == SectionId::DebugTypes, header.offset().0);
            let row = rows.range((is_type, 0)..=(is_type, offset)).next_back().map_or(Row::default(), |(_, row)| *row);
            let table = header.debug_abbrev_offset().0.checked_add(row.abbreviations);
            headers.push((header, is_type, table.ok_or_else(|| unusable(DWARF))?, row));
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
        let types = headers.iter().filter(|(_, is_type, ..)| !is_type).count();
        for (header, is_type, table, row) in headers {
            let format = header.format();
            // The offsets of strings have a head since version 5: a length, a version and two bytes of padding.
            let strings = if header.version() >= 5 { usize::from(format.initial_length_size()) + 4 } else { 0 };
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
            let (offset, name) = (header.offset().0, "".into());
            self.list.push(Unit {
                file,
                is_type,
                offset,
                abbreviations,
                name,
                strings,
                format,
                arrays: Arrays::FromZero,
                id,
            });
        }
        self.files[file].types += types;
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

    /// Finds the structs of a unit, and typedefs.
    fn index(&mut self, unit: usize, found: &mut Found) -> Result<()> {
        let root = Place { unit, offset: self.header(unit)?.root_offset().0 };
        let Some(first) = self.root(unit)? else { return Ok(()) };
        let (mut root_name, mut left) = (None, self.left);
        let mut names = std::mem::take(&mut self.names);
        self.each(root, &mut |entry| {
            left = left.checked_sub(1).ok_or_else(too_many)?;
            match entry.tag {
                _ if entry.depth == 0 => root_name = entry.name,
                dw::DW_TAG_typedef => found.typedefs.push(entry.at),
                // The unit of a single type has the name of a type that is declared elsewhere.
                _ if is_struct(&entry) && !(entry.declaration && entry.whole.is_some()) => {
                    let why = why_none(&entry);
                    if let Some(name) = entry.name {
                        names.put(name, why, Candidate { at: entry.at, line: entry.line })?;
                    }
                }
                dw::DW_TAG_imported_unit => found.imports.extend(entry.import.map(|imported| (unit, imported))),
                _ => {}
            }
            Ok(true)
        })?;
        (self.names, self.left) = (names, left);
        self.list[unit].name = root_name.unwrap_or_default();
        self.list[unit].arrays = first.language.map_or(Arrays::FromZero, arrays_of);
        Ok(())
    }

    fn header(&self, unit: usize) -> Result<UnitHeader<Slice<'_>>> {
        let Unit { file, is_type, offset, .. } = self.list[unit];
        let sections = &self.files[file].sections;
        let header = match is_type {
            false => DebugInfo::new(&sections.info, endian(sections)).header_from_offset(DebugInfoOffset(offset)).ok(),
            true => {
                let rest = sections.types.get(offset..).unwrap_or_default();
                DebugTypes::new(rest, endian(sections)).units().next().ok().flatten()
            }
        };
        header.ok_or_else(|| unusable(DWARF))
    }

    fn entry(&self, unit: usize, read: &DebuggingInformationEntry<Slice<'_>>) -> Result<Entry> {
        let mut entry = Entry::new(Place { unit, offset: read.offset().0 }, read.tag(), read.depth());
        if read.attrs().len() > MAX_ATTRIBUTES {
            return Err(unusable(format_args!("an entry of more than {MAX_ATTRIBUTES} attributes")));
        }
        for attribute in read.attrs() {
            let value = attribute.value();
            let number = || self.constant(unit, attribute);
            let count = || number().and_then(|number| u64::try_from(number).ok());
            match attribute.name() {
                dw::DW_AT_name => entry.name = self.text(unit, &value, MAX_NAME),
                dw::DW_AT_dwo_name | dw::DW_AT_GNU_dwo_name => entry.split = self.text(unit, &value, MAX_PATH),
                dw::DW_AT_comp_dir => entry.folder = self.text(unit, &value, MAX_PATH),
                dw::DW_AT_GNU_dwo_id => {
                    entry.id = match value {
                        AttributeValue::DwoId(id) => Some(id.0),
                        _ => count(),
                    };
                }
                dw::DW_AT_type => match self.target(unit, &value) {
                    Some(place) => entry.kind = Some(place),
                    None => entry.odd = Some("a type in another file or type unit"),
                },
                dw::DW_AT_byte_size => entry.size = count(),
                dw::DW_AT_encoding => {
                    entry.encoding = count().and_then(|encoding| u8::try_from(encoding).ok()).map(gimli::DwAte);
                }
                dw::DW_AT_data_member_location => entry.offset = count(),
                dw::DW_AT_alignment => entry.align = count(),
                dw::DW_AT_lower_bound => entry.lower = number(),
                dw::DW_AT_upper_bound => entry.upper = number(),
                dw::DW_AT_count => entry.count = number(),
                dw::DW_AT_const_value => entry.value = number(),
                dw::DW_AT_bit_size => entry.bits = count(),
                dw::DW_AT_data_bit_offset => entry.bit_offset = count(),
                dw::DW_AT_bit_offset => entry.bit_offset_within = count(),
                dw::DW_AT_GNU_bias => entry.odd = Some("a number with a bias"),
                dw::DW_AT_GNU_vector => entry.odd = Some("a vector"),
                dw::DW_AT_endianity => entry.odd = Some("a byte order of its own"),
                dw::DW_AT_byte_stride | dw::DW_AT_data_location => entry.odd = Some("an array behind a descriptor"),
                dw::DW_AT_virtuality => entry.odd = Some("a virtual base"),
                dw::DW_AT_external => entry.external = true,
                dw::DW_AT_declaration => entry.declaration = true,
                dw::DW_AT_signature => entry.whole = self.target(unit, &value),
                dw::DW_AT_import => entry.import = self.target(unit, &value).map(|place| place.unit),
                dw::DW_AT_decl_line => entry.line = count().unwrap_or(0),
                dw::DW_AT_language => {
                    entry.language = count().and_then(|language| u16::try_from(language).ok()).map(gimli::DwLang);
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

    /// The constant that an attribute states, in whichever form. `DW_FORM_data1` to `DW_FORM_data16` state no sign, and some
    /// compilers write as many bytes as the number needs without one, so it is taken as positive.
    fn constant(&self, unit: usize, attribute: &Attribute<Slice<'_>>) -> Option<i128> {
        Some(match attribute.raw_value() {
            AttributeValue::Data1(number) => number.into(),
            AttributeValue::Data2(number) => number.into(),
            AttributeValue::Data4(number) => number.into(),
            AttributeValue::Data8(number) | AttributeValue::Udata(number) => number.into(),
            AttributeValue::Data16(number) => number as i128,
            AttributeValue::Sdata(number) => number.into(),
            AttributeValue::Exprloc(expression) => self.value(unit, expression)?,
            // The number itself, or, before version 4, an expression.
            AttributeValue::Block(bytes) if attribute.name() == dw::DW_AT_const_value => {
                let machine = Machine { order: self.files[self.list[unit].file].sections.order, pointer: 8 };
                if !matches!(bytes.len(), 1..=8) {
                    return None;
                }
                machine.read(bytes.slice()).into()
            }
            AttributeValue::Block(bytes) => self.value(unit, Expression(bytes))?,
            _ => return None,
        })
    }

    /// The value of an expression, if it is the same wherever the record is, as `DW_OP_plus_uconst` is for an offset. The
    /// start of the record is 0.
    fn value(&self, unit: usize, expression: Expression<Slice<'_>>) -> Option<i128> {
        let mut operations = expression.operations(self.header(unit).ok()?.encoding());
        let mut stack = vec![0_i128];
        for _ in 0..MAX_OPERATIONS {
            let Some(operation) = operations.next().ok()? else { return stack.pop() };
            let number = match operation {
                Operation::UnsignedConstant { value } => value.into(),
                Operation::SignedConstant { value } => value.into(),
                Operation::PlusConstant { value } => stack.pop()?.checked_add(value.into())?,
                Operation::Plus => stack.pop()?.checked_add(stack.pop()?)?,
                Operation::Nop | Operation::StackValue => continue,
                _ => return None,
            };
            stack.push(number);
        }
        None
    }

    /// The entry that an attribute refers to.
    fn target(&self, unit: usize, value: &AttributeValue<Slice<'_>>) -> Option<Place> {
        match value {
            AttributeValue::UnitRef(offset) => Some(Place { unit, offset: offset.0 }),
            AttributeValue::DebugInfoRef(offset) => self.within(self.list[unit].file, offset.0),
            AttributeValue::DebugInfoRefSup(offset) => self.within(self.files[self.list[unit].file].shared?, offset.0),
            AttributeValue::DebugTypesRef(signature) => self.types.get(&signature.0).copied(),
            _ => None,
        }
    }

    /// The entry at a place in `.debug_info` of a file.
    fn within(&self, file: usize, offset: usize) -> Option<Place> {
        let units = self.files[file].units.start..self.files[file].types;
        let before = self.list[units.clone()].partition_point(|unit| unit.offset <= offset).checked_sub(1)?;
        let unit = units.start + before;
        Some(Place { unit, offset: offset - self.list[unit].offset })
    }

    fn text(&self, unit: usize, value: &AttributeValue<Slice<'_>>, most: usize) -> Option<Box<str>> {
        let File { sections, shared, .. } = &self.files[self.list[unit].file];
        let bytes = match value {
            AttributeValue::String(text) => text.slice(),
            AttributeValue::DebugStrRef(at) => sections.str.get(at.0..)?,
            AttributeValue::DebugStrRefSup(at) => self.files[(*shared)?].sections.str.get(at.0..)?,
            AttributeValue::DebugLineStrRef(at) => sections.line_str.get(at.0..)?,
            AttributeValue::DebugStrOffsetsIndex(index) => {
                let Unit { strings, format, .. } = self.list[unit];
                let at = index.0.checked_mul(format.word_size().into())?.checked_add(strings)?;
                let mut offset = EndianSlice::new(sections.str_offsets.get(at..)?, endian(sections));
                sections.str.get(offset.read_offset(format).ok()?..)?
            }
            _ => return None,
        };
        text_within(bytes, most)
    }
}

fn is_struct(entry: &Entry) -> bool {
    matches!(entry.tag, dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type)
}

/// Why a struct or union is no record.
fn why_none(entry: &Entry) -> Option<Why> {
    match entry.tag {
        dw::DW_TAG_union_type => Some(Why::Union),
        _ => Some(Why::Declared).filter(|_| entry.declaration && entry.whole.is_none()),
    }
}

/// How a language counts the elements of arrays, as DWARF says of those that it lists.
fn arrays_of(language: gimli::DwLang) -> Arrays {
    match language {
        dw::DW_LANG_Fortran77
        | dw::DW_LANG_Fortran90
        | dw::DW_LANG_Fortran95
        | dw::DW_LANG_Fortran03
        | dw::DW_LANG_Fortran08
        | dw::DW_LANG_Fortran18 => Arrays::Fortran,
        language if language.default_lower_bound() == Some(1) => Arrays::FromOne,
        _ => Arrays::FromZero,
    }
}

/// Where a package has what belongs to each of its units, by whether it is in `.debug_types`, and the place of the unit.
fn rows(sections: &Sections) -> Result<BTreeMap<(bool, usize), Row>> {
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
                    IndexSectionId::DebugInfo => place = Some((false, offset)),
                    IndexSectionId::DebugTypes => place = Some((true, offset)),
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
