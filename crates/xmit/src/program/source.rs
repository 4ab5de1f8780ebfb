//! What debug information is to the rest: types by name, and entries within each other. DWARF and BTF are such sources.

use super::file::unusable;
use isoform_core::Result;
use std::collections::BTreeMap;

/// The longest name that is read. A format's names are shorter.
pub(super) const MAX_NAME: usize = 256;

/// Debug information of one kind.
pub(super) trait Source: std::fmt::Debug + Send + Sync {
    /// Its named types.
    fn names(&self) -> &Names;

    /// Where a type is declared.
    fn place(&self, candidate: &Candidate) -> String;

    /// The namespaces and classes around each of these types, such as `a::b`; an empty text for a type without any.
    fn scopes(&self, candidates: &[&Candidate]) -> Result<Vec<String>> {
        Ok(vec![String::new(); candidates.len()])
    }

    /// Whether the unit of an entry was written in Fortran, whose first dimension varies fastest.
    fn is_fortran(&self, at: Place) -> bool;

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
}

impl Names {
    pub(super) fn within(bytes: usize) -> Names {
        Names { map: BTreeMap::new(), left: bytes }
    }

    /// Allows names of so many bytes more.
    pub(super) fn allow(&mut self, bytes: usize) {
        self.left = self.left.saturating_add(bytes);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.map.keys().map(|name| &**name)
    }

    pub(super) fn of(&self, name: &str) -> &[Candidate] {
        self.map.get(name).map_or(&[], |found| found)
    }

    pub(super) fn add(&mut self, name: Box<str>, candidate: Candidate) -> Result<()> {
        if let Some(all) = self.map.get_mut(&name) {
            all.push(candidate);
            return Ok(());
        }
        self.left = self.left.checked_sub(name.len()).ok_or_else(|| unusable("names that overlap"))?;
        self.map.insert(name, vec![candidate]);
        Ok(())
    }
}

/// The text that ends at the first NUL.
pub(super) fn text(bytes: &[u8]) -> Option<Box<str>> {
    text_within(bytes, MAX_NAME)
}

/// The text that ends at the first NUL, or after this many bytes.
pub(super) fn text_within(bytes: &[u8], most: usize) -> Option<Box<str>> {
    let bytes = &bytes[..bytes.len().min(most)];
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    std::str::from_utf8(&bytes[..end]).ok().filter(|text| !text.is_empty()).map(Into::into)
}

/// A named type.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) at: Place,
    pub(super) line: u64,
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
    pub(super) lower: Option<i64>,
    pub(super) upper: Option<i64>,
    pub(super) count: Option<u64>,
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
