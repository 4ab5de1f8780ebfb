//! Which wire field comes for a native one: by its name, else by an alias.

use super::rules::Rule;
use crate::format::{Element, Field, Structure};

/// A structure, and where it begins in the record or element at hand.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) structure: &'a Structure,
    pub(super) base: usize,
}

impl<'a> At<'a> {
    pub(super) fn start(structure: &'a Structure) -> At<'a> {
        At { structure, base: 0 }
    }

    pub(super) fn offset(self, field: &Field) -> usize {
        self.base + field.offset
    }
}

/// A field, and the structure that it stands in.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) at: At<'a>,
    pub(super) field: &'a Field,
}

impl Found<'_> {
    pub(super) fn offset(self) -> usize {
        self.at.offset(self.field)
    }
}

/// The field that comes for a name, or for one of its aliases.
#[derive(Clone, Copy)]
pub(super) struct Match<'a> {
    pub(super) found: Found<'a>,
    /// The field of the structure that was searched through which it was found: itself, unless an alias reached farther.
    pub(super) through: usize,
    /// Whether an alias reached into that field.
    pub(super) within: bool,
}

pub(super) fn find<'a>(wire: At<'a>, name: &str, rule: Option<&Rule>) -> Option<Match<'a>> {
    let own = wire.structure.index_of(name).map(|through| {
        let found = Found { at: wire, field: &wire.structure.fields()[through] };
        Match { found, through, within: false }
    });
    own.or_else(|| rule?.aliases.iter().find_map(|alias| reach(wire, alias)))
}

/// The field at a path with dots, through nested structures that lie in place.
fn reach<'a>(wire: At<'a>, path: &str) -> Option<Match<'a>> {
    let (first, mut rest) = match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    let through = wire.structure.index_of(first)?;
    let mut found = Found { at: wire, field: &wire.structure.fields()[through] };
    let within = rest.is_some();
    while let Some(path) = rest {
        let Element::Structure(inner) = &found.field.element else { return None };
        if !found.field.dims.is_empty() || found.field.indirect {
            return None;
        }
        let (name, behind) = path.split_once('.').map_or((path, None), |(name, behind)| (name, Some(behind)));
        found = Found { at: At { structure: inner, base: found.offset() }, field: inner.field(name)? };
        rest = behind;
    }
    Some(Match { found, through, within })
}
