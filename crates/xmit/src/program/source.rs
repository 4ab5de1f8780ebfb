//! What debug information is to the rest: types by name, and entries within each other. DWARF and BTF are such sources.

use super::file::unusable;
use super::others::Why;
use isoform_core::{Code, Error, Result};
use std::collections::BTreeMap;

/// The longest name that is read. One that is longer than a record's is cut there.
pub(super) const MAX_NAME: usize = 260;
/// How many entries of debug information a program has at most, or types in BTF and CTF, besides one for each byte of its files. Few bytes of a
/// compressed section stand for many, and each needs time and memory.
pub(super) const MIN_ENTRIES: usize = 1 << 16;
/// How many types refer to each other, one within another.
pub(super) const MAX_DEPTH: usize = 64;
/// The longest name of a record.
const MAX_RECORD_NAME: usize = 255;

/// Debug information of one kind.
pub(super) trait Source: std::fmt::Debug + Send + Sync {
    /// Its named types.
    fn names(&self) -> &Names;

    /// Where a type is declared.
    fn place(&self, candidate: &Candidate) -> String;

    /// The namespaces and classes around each of these types, such as `a::b`; an empty text for a type without any. Counts the entries that are
    /// read for it.
    fn scopes(&self, candidates: &[&Candidate], _entries: &mut usize) -> Result<Vec<String>> {
        Ok(vec![String::new(); candidates.len()])
    }

    /// How the language of the unit of an entry counts the elements of arrays.
    fn arrays(&self, at: Place) -> Arrays;

    /// Why the dimensions of an array of several cannot be relied on.
    fn doubt(&self) -> Option<&'static str>;

    /// Files with debug information of the program that are not there.
    fn absent(&self) -> &[Box<str>] {
        &[]
    }

    /// Calls a function for the entry at a place, and for those within it at all levels, until it returns `false`.
    fn each(&self, at: Place, then: &mut dyn FnMut(Entry) -> Result<bool>) -> Result<()>;
}

/// Types by name. All names together are bounded, since those of a hostile file can overlap.
#[derive(Debug, Default)]
pub(super) struct Names {
    map: BTreeMap<Box<str>, Vec<Candidate>>,
    left: usize,
    /// Types that no record can be, and how many bytes their names may still have.
    others: BTreeMap<Box<str>, (Why, Candidate)>,
    left_of_others: usize,
}

impl Names {
    pub(super) fn within(bytes: usize) -> Names {
        Names { left: bytes, left_of_others: bytes, ..Names::default() }
    }

    /// Allows names of so many bytes more.
    pub(super) fn allow(&mut self, bytes: usize) {
        self.left = self.left.saturating_add(bytes);
        self.left_of_others = self.left_of_others.saturating_add(bytes);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.map.keys().map(|name| &**name)
    }

    pub(super) fn of(&self, name: &str) -> &[Candidate] {
        self.map.get(name).map_or(&[], |found| found)
    }

    pub(super) fn add(&mut self, name: Box<str>, candidate: Candidate) -> Result<()> {
        if name.len() > MAX_RECORD_NAME {
            return self.leave_out(name, Why::LongName, candidate);
        }
        if let Some(all) = self.map.get_mut(&name) {
            all.push(candidate);
            return Ok(());
        }
        self.left = self.left.checked_sub(name.len()).ok_or_else(|| unusable("names that overlap"))?;
        self.map.insert(name, vec![candidate]);
        Ok(())
    }

    /// Adds a type, or notes why it is no record.
    pub(super) fn put(&mut self, name: Box<str>, why: Option<Why>, candidate: Candidate) -> Result<()> {
        match why {
            None => self.add(name, candidate),
            Some(why) => self.leave_out(name, why, candidate),
        }
    }

    /// Notes a type that is no record.
    pub(super) fn leave_out(&mut self, name: Box<str>, why: Why, candidate: Candidate) -> Result<()> {
        if let Some(known) = self.others.get_mut(&name) {
            if why < known.0 {
                *known = (why, candidate);
            }
            return Ok(());
        }
        let left = self.left_of_others.checked_sub(name.len());
        self.left_of_others = left.ok_or_else(|| unusable("names that overlap"))?;
        self.others.insert(name, (why, candidate));
        Ok(())
    }

    /// The types that are no records, in alphabetical order. A struct that is only declared in one place may be whole in another.
    pub(super) fn others(&self) -> impl Iterator<Item = (&str, Why, &Candidate)> {
        let others = self.others.iter().map(|(name, (why, candidate))| (&**name, *why, candidate));
        others.filter(|(name, why, _)| *why != Why::Declared || !self.map.contains_key(*name))
    }
}

/// The text that ends at the first NUL.
pub(super) fn text(bytes: &[u8]) -> Option<Box<str>> {
    text_within(bytes, MAX_NAME)
}

/// The text that ends at the first NUL, or with the last character within this many bytes.
pub(super) fn text_within(bytes: &[u8], most: usize) -> Option<Box<str>> {
    let bytes = &bytes[..bytes.len().min(most)];
    let end = bytes.iter().position(|&byte| byte == 0);
    let text = match std::str::from_utf8(&bytes[..end.unwrap_or(bytes.len())]) {
        Err(error) if end.is_none() && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        text => text.ok(),
    };
    text.filter(|text| !text.is_empty()).map(Into::into)
}

/// The error of debug information with more entries.
pub(super) fn too_many() -> Error {
    let expected = format_args!("no more entries of debug information than its files have bytes, and {MIN_ENTRIES}");
    Error::new(Code::MessageSize).at("program").expected(expected)
}

/// What is behind typedefs and qualifiers. `of` says what is at a place: a type, or, as an error, where the next one is.
pub(super) fn behind<T>(first: Place, of: impl Fn(Place) -> Option<std::result::Result<T, Place>>) -> Option<T> {
    let mut at = first;
    for _ in 0..MAX_DEPTH {
        match of(at)? {
            Ok(found) => return Some(found),
            Err(next) => at = next,
        }
    }
    None
}

/// A named type.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) at: Place,
    pub(super) line: u64,
}

/// How a language counts the elements of arrays, if debug information does not state it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Arrays {
    /// From 0, as C does.
    #[default]
    FromZero,
    /// From 1, as Ada and Pascal do.
    FromOne,
    /// From 1, and the first dimension varies fastest.
    Fortran,
}

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) unit: usize,
    pub(super) offset: usize,
}

/// What is read of an entry.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) at: Place,
    pub(super) tag: gimli::DwTag,
    pub(super) depth: isize,
    pub(super) name: Option<Box<str>>,
    pub(super) kind: Option<Place>,
    pub(super) size: Option<u64>,
    pub(super) encoding: Option<gimli::DwAte>,
    /// The offset of a member, if it is a number.
    pub(super) offset: Option<u64>,
    pub(super) align: Option<u64>,
    /// The bits of a member that the program placed by bits, and where the first of them is: from the start of its
    /// struct, or, in version 2 and 3 of DWARF, from the most significant bit of the member.
    pub(super) bits: Option<u64>,
    pub(super) bit_offset: Option<u64>,
    pub(super) bit_offset_within: Option<u64>,
    /// Constants, of which the type says the sign: one without a sign of its own is positive here.
    pub(super) lower: Option<i128>,
    pub(super) upper: Option<i128>,
    pub(super) count: Option<i128>,
    pub(super) value: Option<i128>,
    /// What it has that no record can have.
    pub(super) odd: Option<&'static str>,
    pub(super) external: bool,
    pub(super) declaration: bool,
    /// The whole of a type that is only declared here.
    pub(super) whole: Option<Place>,
    /// The unit that is imported here.
    pub(super) import: Option<usize>,
    pub(super) line: u64,
    pub(super) language: Option<gimli::DwLang>,
    pub(super) strings: Option<usize>,
    /// The file that has what is split from its unit, the folder of the compilation, and the number by which both are known.
    pub(super) split: Option<Box<str>>,
    pub(super) folder: Option<Box<str>>,
    pub(super) id: Option<u64>,
}

impl Entry {
    pub(super) fn new(at: Place, tag: gimli::DwTag, depth: isize) -> Entry {
        Entry {
            at,
            tag,
            depth,
            name: None,
            kind: None,
            size: None,
            encoding: None,
            offset: None,
            align: None,
            bits: None,
            bit_offset: None,
            bit_offset_within: None,
            lower: None,
            upper: None,
            count: None,
            value: None,
            odd: None,
            external: false,
            declaration: false,
            whole: None,
            import: None,
            line: 0,
            language: None,
            strings: None,
            split: None,
            folder: None,
            id: None,
        }
    }
}
