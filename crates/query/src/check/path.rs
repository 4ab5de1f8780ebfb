//! Paths: from names, indices and slices to fields of the format.

use super::{Base, Checker, Many, SEARCHED, Type};
use crate::normal::path_text;
use crate::tree::Step;
use crate::unit::Unit;
use isoform_core::{Code, Dimension, Element, Field, Result};

/// Where a path leads: a field, with the dimensions of which it takes a slice, and what remains of its dimensions.
pub(crate) struct Place<'t> {
    pub(crate) field: &'t Field,
    pub(crate) sliced: Vec<Many>,
    pub(crate) dims: &'t [Dimension],
}

impl<'t> Checker<'t> {
    /// The place of a path, as far as the format knows it.
    pub(crate) fn place(&self, steps: &[Step], at: usize) -> Result<Place<'t>> {
        let mut structure = self.root;
        let mut found: Option<Place<'t>> = None;
        for (index, step) in steps.iter().enumerate() {
            let before = || path_text(&steps[..index]);
            match step {
                Step::Field(name) => {
                    if let Some(place) = &found {
                        structure = match &place.field.element {
                            Element::Structure(inner) if place.dims.is_empty() && place.sliced.is_empty() => inner,
                            _ => {
                                let fault = self.fault(Code::WrongType, at).at(before());
                                return Err(fault.expected("a record").found(describe(place)));
                            }
                        };
                    }
                    let field = structure.field(name).ok_or_else(|| {
                        let names: Vec<_> = structure.fields().iter().take(12).map(|field| &*field.name).collect();
                        let more = match structure.fields().len().saturating_sub(12) {
                            0 => String::new(),
                            more => format!(" and {more} more"),
                        };
                        let fault = self.fault(Code::NoSuchField, at).at(path_text(&steps[..=index]));
                        fault
                            .expected(format_args!("one of {}{more}", names.join(", ")))
                            .found(format_args!("{name:?}"))
                    })?;
                    found = Some(Place { field, sliced: Vec::new(), dims: &field.dims });
                }
                Step::Index(number) => {
                    let Some(place) = &mut found else { continue };
                    let fault = |code| self.fault(code, at).at(before());
                    match place.dims.split_first() {
                        None => return Err(fault(Code::WrongType).expected("an array").found(describe(place))),
                        Some((Dimension::Field(_), _)) if !place.sliced.is_empty() => {
                            let fault = fault(Code::WrongType).expected("an index in front of the slice");
                            return Err(fault.found("an index into a dynamic dimension behind it"));
                        }
                        Some((Dimension::Fixed(length), _)) if number >= length => {
                            let fault = fault(Code::NoSuchField).expected(format_args!("an index below {length}"));
                            return Err(fault.found(format_args!("[{number}]")));
                        }
                        Some((_, rest)) => place.dims = rest,
                    }
                }
                Step::Slice(slice) => {
                    let Some(place) = &mut found else { continue };
                    let fault = |code| self.fault(code, at).at(before());
                    let Some((dimension, rest)) = place.dims.split_first() else {
                        return Err(fault(Code::WrongType).expected("an array").found(describe(place)));
                    };
                    if place.field.element == Element::Char && rest.is_empty() {
                        return Err(fault(Code::WrongType).expected("an array").found("text"));
                    }
                    place.sliced.push(match dimension {
                        Dimension::Field(_) => Many::Dynamic,
                        Dimension::Fixed(length) => {
                            if slice.from >= *length || slice.to.is_some_and(|to| to > *length) {
                                let fault = fault(Code::NoSuchField);
                                let fault = fault.expected(format_args!("a slice within {length} elements"));
                                return Err(fault.found(path_text(&steps[index..=index])));
                            }
                            Many::Fixed(slice.of(*length).len())
                        }
                    });
                    place.dims = rest;
                }
            }
        }
        found.ok_or_else(|| self.fault(Code::Internal, at).found("a path without a field"))
    }

    pub(super) fn path(&mut self, steps: &[Step], at: usize) -> Result<Type> {
        let place = self.place(steps, at)?;
        let text = path_text(steps);
        if !self.paths.contains(&text) {
            self.paths.push(text);
        }
        let mut symbols = None;
        let element = &place.field.element;
        let is_text = *element == Element::Char && place.dims.len() == 1 && place.sliced.is_empty();
        let base = match element {
            _ if is_text => {
                match place.dims {
                    [Dimension::Fixed(length)] => self.add(*length as u64 / SEARCHED, 0),
                    _ => self.cost.text = self.cost.text.saturating_add(1),
                }
                Base::Text
            }
            Element::Integer { signed: true, size: ..=8 } => Base::Integer,
            Element::Integer { signed: false, size: ..=8 } => Base::Unsigned,
            Element::Float { .. } => Base::Float,
            Element::Boolean { .. } => Base::Truth,
            Element::String => {
                self.cost.text = self.cost.text.saturating_add(1);
                Base::Text
            }
            Element::Enumeration(enumeration) => {
                symbols = Some(enumeration.symbols().iter().map(|symbol| symbol.name.clone()).collect());
                Base::Text
            }
            Element::Integer { .. } | Element::Complex { .. } | Element::Char | Element::Structure(_) => Base::Other,
        };
        let many = place.all_dims().try_fold(1usize, |count, dim| match dim {
            Many::Fixed(length) => count.checked_mul(length),
            Many::Dynamic => None,
        });
        let many = match many {
            _ if place.all_dims().next().is_none() || is_text => None,
            Some(count) => Some(Many::Fixed(count)),
            None => Some(Many::Dynamic),
        };
        let unit = place.field.unit.as_deref().map(Unit::parse);
        Ok(Type { base, many, unit, literal: false, symbols })
    }
}

impl Place<'_> {
    /// The dimensions of its value: those that are sliced, and the others.
    pub(crate) fn all_dims(&self) -> impl Iterator<Item = Many> {
        let others = self.dims.iter().map(|dim| match dim {
            Dimension::Fixed(length) => Many::Fixed(*length),
            Dimension::Field(_) => Many::Dynamic,
        });
        self.sliced.iter().copied().chain(others)
    }
}

fn describe(place: &Place<'_>) -> String {
    match place.dims.is_empty() && place.sliced.is_empty() {
        true => place.field.element.to_string(),
        false => format!("an array of {}", place.field.element),
    }
}
