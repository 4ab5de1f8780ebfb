//! Finds the wire field for a native field, by its name or by an alias.

use super::lengths::Lengths;
use super::rules::{Rule, Rules};
use crate::format::{Element, Field, Structure};

/// The alias of a nested structure whose fields lie flat at the sender, in the structure around it.
const HERE: &str = ".";

/// A structure, and its offset in the record or element that is converted.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) structure: &'a Structure,
    pub(super) base: usize,
    /// The number of its first field.
    pub(super) first: usize,
}

impl<'a> At<'a> {
    /// The structure of a record, or of an element that is converted on its own. `first` is the number of its first
    /// field.
    pub(super) fn start(structure: &'a Structure, first: usize) -> At<'a> {
        At { structure, base: 0, first }
    }

    /// The numbers of its fields.
    pub(super) fn numbers(self) -> impl Iterator<Item = usize> {
        (0..self.structure.fields().len()).map(move |index| self.first + self.structure.number_of(index))
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
    /// Its index in the structure.
    index: usize,
}

impl<'a> Found<'a> {
    pub(super) fn of(at: At<'a>, index: usize) -> Found<'a> {
        Found { at, field: &at.structure.fields()[index], index }
    }

    /// Its number.
    pub(super) fn number(self) -> usize {
        self.at.first + self.at.structure.number_of(self.index)
    }

    /// The structure that it nests.
    pub(super) fn nested(self, structure: &'a Structure, base: usize) -> At<'a> {
        At { structure, base, first: self.number() + 1 }
    }

    pub(super) fn offset(self) -> usize {
        self.at.offset(self.field)
    }
}

/// The wire field for a name, or for one of its aliases.
#[derive(Clone, Copy)]
pub(super) struct Match<'a> {
    pub(super) found: Found<'a>,
    /// The field of the searched structure through which it was found: the field itself, unless an alias reached
    /// further.
    pub(super) through: usize,
    /// Whether an alias reached into that field.
    pub(super) within: bool,
}

/// What a native field takes.
#[derive(Clone, Copy)]
pub(super) enum Taken<'a> {
    Field(Match<'a>),
    /// A nested structure takes its fields from the wire structure itself.
    Here(&'a Structure),
}

/// What a native field with this rule takes.
pub(super) fn find<'a>(wire: At<'a>, native: &'a Field, rule: Option<&Rule>, rules: &Rules) -> Option<Taken<'a>> {
    let own = wire.structure.index_of(&native.name);
    let own = own.map(|through| Taken::Field(Match { found: Found::of(wire, through), through, within: false }));
    own.or_else(|| {
        rule?.aliases.iter().find_map(|alias| match &**alias == HERE {
            true => flat(wire, native, rules).map(Taken::Here),
            false => reach(wire, alias).map(Taken::Field),
        })
    })
}

/// The structure that a native field nests, if a field of it takes a field of the wire structure.
fn flat<'a>(wire: At<'a>, native: &'a Field, rules: &Rules) -> Option<&'a Structure> {
    let Element::Structure(inner) = &native.element else { return None };
    let lengths = Lengths::of(inner);
    let takes = |(index, field): (usize, &'a Field)| {
        !lengths.is_length(index) && find(wire, field, rules.of(inner.name(), &field.name), rules).is_some()
    };
    let in_place = native.dims.is_empty() && !native.indirect;
    (in_place && inner.fields().iter().enumerate().any(takes)).then_some(inner)
}

/// The field at a path with dots, through nested structures that lie in place.
fn reach<'a>(wire: At<'a>, path: &str) -> Option<Match<'a>> {
    let (first, mut rest) = match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    let through = wire.structure.index_of(first)?;
    let mut found = Found::of(wire, through);
    let within = rest.is_some();
    while let Some(path) = rest {
        let Element::Structure(inner) = &found.field.element else { return None };
        if !found.field.dims.is_empty() || found.field.indirect {
            return None;
        }
        let (name, behind) = path.split_once('.').map_or((path, None), |(name, behind)| (name, Some(behind)));
        found = Found::of(found.nested(inner, found.offset()), inner.index_of(name)?);
        rest = behind;
    }
    Some(Match { found, through, within })
}
