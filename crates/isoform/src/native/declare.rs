//! Builds the format of a Rust struct from the list of fields that the derive writes.

use super::chain::Label;
use super::{Native, Part};
use isoform_core::{Code, Dimension, Element, Enumeration, Error, Field, Format, Machine, Result, Rules, Structure};
use std::sync::Arc;

/// The derive's description of a struct: its name in the format, and its fields.
pub trait Declared<'a> {
    /// The name of the structure.
    const NAME: &'static str;
    /// Its fields, in the order of the declaration.
    const PARTS: &'static [Placed];
}

/// A field of a struct: its place, its type, and its attributes.
#[derive(Clone, Copy)]
pub struct Placed {
    pub(super) name: &'static str,
    /// Bytes from the start of the struct.
    pub(super) offset: usize,
    unit: Option<&'static str>,
    /// The names of the lengths of an array, in place of `name_len`, or `name_dim0` and so on.
    lengths: &'static [&'static str],
    depth: usize,
    declare: fn(&Placed, &mut Fields),
    rules: fn(Rules) -> Rules,
}

impl Placed {
    /// A field of type `P` in `S`. `_field` proves that it has exactly this type, since another macro may have changed
    /// the struct after the derive read it.
    pub const fn of<'a, S: ?Sized, P: Part<'a>>(
        name: &'static str,
        offset: usize,
        _field: fn(&S) -> *const P,
    ) -> Placed {
        Placed { name, offset, unit: None, lengths: &[], depth: P::DEPTH, declare: P::declare, rules: P::rules }
    }

    /// A field of type `P` that no struct declares, at this place of a record.
    pub(super) fn at<'a, P: Part<'a>>(label: &Label, offset: usize) -> Placed {
        let Label { name, unit } = *label;
        Placed { name, offset, unit, lengths: &[], depth: P::DEPTH, declare: P::declare, rules: P::rules }
    }

    /// Adds its fields.
    pub(super) fn add_to(&self, fields: &mut Fields) {
        (self.declare)(self, fields);
    }

    /// The same, measured in a unit.
    pub const fn unit(self, unit: &'static str) -> Placed {
        Placed { unit: Some(unit), ..self }
    }

    /// The same, with names for its lengths.
    pub const fn lengths(self, lengths: &'static [&'static str]) -> Placed {
        Placed { lengths, ..self }
    }
}

/// The depth of a struct with these fields.
pub const fn deeper(parts: &[Placed]) -> usize {
    let mut deepest = 0;
    let mut i = 0;
    while i < parts.len() {
        deepest = if parts[i].depth > deepest { parts[i].depth } else { deepest };
        i += 1;
    }
    assert!(deepest < isoform_core::format::MAX_DEPTH, "records are nested at most 32 deep");
    deepest + 1
}

/// The structure of a struct.
///
/// # Panics
/// If its fields contradict each other in a way that the derive cannot detect, such as two fields of one name.
pub fn structure<'a, T: Declared<'a>>() -> Element {
    let mut fields = Fields::default();
    T::PARTS.iter().for_each(|part| (part.declare)(part, &mut fields));
    match Structure::new(T::NAME, Machine::NATIVE, size_of::<T>(), align_of::<T>(), fields.0) {
        Ok(structure) => Element::Structure(Arc::new(structure)),
        Err(error) => panic!("the record {} cannot be declared: {error}", T::NAME),
    }
}

/// Adds the rules of nested records.
pub fn nested_rules<'a, T: Declared<'a>>(rules: Rules) -> Rules {
    T::PARTS.iter().fold(rules, |rules, part| (part.rules)(rules))
}

/// The format of a struct.
///
/// # Panics
/// If its declaration contradicts itself in a way that the derive cannot detect, or it is not a struct.
pub fn format<'a, N: Native<'a>>() -> Format {
    let format = match N::element() {
        Element::Structure(structure) => Format::new(structure),
        other => Err(Error::new(Code::Declaration).expected("a struct").found(other)),
    };
    format.unwrap_or_else(|error| panic!("a record cannot be declared: {error}"))
}

/// The element for an enumeration with these symbols.
///
/// # Panics
/// If they contradict each other in a way that the derive cannot detect.
pub fn enumeration(name: &str, signed: bool, size: usize, symbols: &[(&str, i128)]) -> Element {
    match Enumeration::new(signed, size as u8, symbols.iter().copied()) {
        Ok(enumeration) => Element::Enumeration(Arc::new(enumeration)),
        Err(error) => panic!("the enumeration {name} cannot be declared: {error}"),
    }
}

/// The fields of a format so far.
#[derive(Default)]
pub struct Fields(Vec<Field>);

impl Fields {
    /// The format of a record of this memory.
    pub(super) fn format(self, name: &str, size: usize, align: usize) -> Result<Format> {
        Format::new(Arc::new(Structure::new(name, Machine::NATIVE, size, align, self.0)?))
    }

    /// Adds the field, or a part of it. Its dynamic dimensions are indices of fields added before.
    pub(super) fn add(&mut self, placed: &Placed, element: Element, dims: Vec<Dimension>, indirect: bool) {
        let (name, unit) = (placed.name.into(), placed.unit.map(Into::into));
        self.0.push(Field { name, element, dims: dims.into(), indirect, offset: placed.offset, unit });
    }

    /// Adds the length of the dimension `axis` of an array of rank `rank`, and returns the dimension.
    pub(super) fn length(&mut self, array: &Placed, offset: usize, axis: usize, rank: usize) -> Dimension {
        let name: Box<str> = match array.lengths.get(axis) {
            Some(&name) => name.into(),
            None if rank == 1 => format!("{}_len", array.name).into(),
            None => format!("{}_dim{axis}", array.name).into(),
        };
        let element = Element::Integer { signed: false, size: size_of::<usize>() as u8 };
        self.0.push(Field { name, element, dims: [].into(), indirect: false, offset, unit: None });
        Dimension::Field(self.0.len() - 1)
    }
}
