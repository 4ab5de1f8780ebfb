//! Paths: from names, indices and slices to fields of the format.

use super::{BLOCK, Base, COPIED, Checker, LOOKUP, Many, ROW, SEARCHED, TEXT, Type, VALUE};
use crate::copy::{is_block, is_copied};
use crate::normal::path_text;
use crate::outcome::Made;
use crate::tree::Step;
use crate::unit::Unit;
use isoform_core::{Code, Dimension, Element, Field, Format, Result};

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
                        Dimension::Field(_) => slice.to.map_or(Many::Dynamic, |to| Many::UpTo(slice.of(to).len())),
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
        self.add(LOOKUP * steps.len() as u64, 0);
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
                    [Dimension::Fixed(length)] => self.add_blocks(*length as u64 / SEARCHED),
                    _ => self.add_texts(1),
                }
                Base::Text
            }
            Element::Integer { signed: true, size: ..=8 } => Base::Integer,
            Element::Integer { signed: false, size: ..=8 } => Base::Unsigned,
            Element::Float { .. } => Base::Float,
            Element::Boolean { .. } => Base::Truth,
            Element::String => {
                self.add_texts(1);
                Base::Text
            }
            Element::Enumeration(enumeration) => {
                symbols = Some(enumeration.symbols().iter().map(|symbol| symbol.name.clone()).collect());
                Base::Text
            }
            Element::Integer { .. } | Element::Complex { .. } | Element::Char | Element::Structure(_) => Base::Other,
        };
        let many = if is_text { None } else { place.count() };
        let unit = place.field.unit.as_deref().map(Unit::parse);
        Ok(Type { base, many, unit, literal: false, symbols })
    }
}

impl Checker<'_> {
    /// Whether all values that a result takes from a record can be copied as bytes. Adds what taking them costs.
    pub(crate) fn copies(&mut self, values: &[(Box<str>, Made)], result: &Format) -> Result<bool> {
        let mut are_copied = self.root.machine() == result.machine();
        let mut places = Vec::new();
        for (name, made) in values {
            let Made::Taken(steps, _) = made else { continue };
            let (place, field) = (self.place(steps, 0)?, result.structure().field(name));
            are_copied &= field.is_some_and(|field| is_copied(&place.field.element, &field.element));
            self.rows(&place, steps);
            places.push((place.count(), &place.field.element));
        }
        places.into_iter().for_each(|(many, element)| self.copy(many, element, are_copied));
        Ok(are_copied)
    }

    /// Adds the cost of going through slices: for each step of the path, the elements or rows that are taken one by one.
    fn rows(&mut self, place: &Place<'_>, steps: &[Step]) {
        let (mut sliced, mut rows) = (place.sliced.iter(), Many::Fixed(1));
        let first = steps.iter().position(|step| matches!(step, Step::Slice(_))).unwrap_or(steps.len());
        for (at, step) in steps.iter().enumerate().skip(first) {
            if let Step::Slice(slice) = step {
                if slice.step == 1 && at + 1 == steps.len() {
                    return;
                }
                rows = rows.by(sliced.next().copied().unwrap_or(Many::Dynamic));
            }
            self.add_many(rows, ROW);
        }
    }

    /// Adds the cost of taking a value. Elements that are not together in both places are taken one by one.
    fn copy(&mut self, many: Option<Many>, element: &Element, is_copied: bool) {
        let size = element.size(self.root.machine().pointer) as u64;
        let each = match is_copied {
            true => parts(element, |element| !is_block(element)),
            false => VALUE.saturating_mul(1 + parts(element, |_| true)),
        };
        match many {
            Some(many @ (Many::UpTo(_) | Many::Dynamic)) => {
                self.add_many(many, each);
                self.add_texts(COPIED);
            }
            None | Some(Many::Fixed(_)) => {
                let count = if let Some(Many::Fixed(count)) = many { count as u64 } else { 1 };
                self.add_fixed(count.saturating_mul(each));
                self.add_blocks(count.saturating_mul(size) / BLOCK);
            }
        }
        if has_slots(element) {
            // The format does not tell how many elements there are beyond pointers in a record.
            self.add(0, if *element == Element::String { 0 } else { each });
            self.add_texts(COPIED);
        }
    }
}

/// The parts of an element that are copied one by one.
fn parts(element: &Element, is_apart: impl Fn(&Element) -> bool + Copy) -> u64 {
    let structure = match element {
        Element::Structure(structure) => structure,
        Element::String if is_apart(element) => return TEXT,
        _ => return u64::from(is_apart(element)),
    };
    let field = |field: &Field| {
        let count = field.fixed_count().unwrap_or(1) as u64;
        count.saturating_mul(parts(&field.element, is_apart)).saturating_add(1)
    };
    let all = || structure.fields().iter().map(field).fold(1, u64::saturating_add);
    if is_apart(element) { all() } else { 0 }
}

fn has_slots(element: &Element) -> bool {
    match element {
        Element::String => true,
        Element::Structure(structure) => structure.has_slots(),
        _ => false,
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

    /// The number of its elements; `None` for a single value.
    fn count(&self) -> Option<Many> {
        let mut all = self.all_dims().peekable();
        all.peek()?;
        Some(all.fold(Many::Fixed(1), Many::by))
    }
}

fn describe(place: &Place<'_>) -> String {
    match place.dims.is_empty() && place.sliced.is_empty() {
        true => place.field.element.to_string(),
        false => format!("an array of {}", place.field.element),
    }
}
