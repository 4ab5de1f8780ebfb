//! Puts the format of a Rust struct together, field by field, as the derive tells it.

use super::{Native, Part};
use isoform_core::{Code, Dimension, Element, Enumeration, Error, Field, Format, Machine, Structure};
use std::sync::Arc;

/// The fields of a struct so far.
#[derive(Default)]
pub struct Fields(Vec<Field>);

/// Where a field lies and what its attributes say.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// Its name in the format.
    pub name: &'a str,
    /// Bytes from the start of the struct.
    pub offset: usize,
    /// The unit of measurement.
    pub unit: Option<&'a str>,
    /// Names for the lengths of an array, instead of `name_len`, or `name_dim0` and so on.
    pub lengths: &'a [&'a str],
}

/// The depth of a struct whose parts have these depths.
pub const fn deeper(parts: &[usize]) -> usize {
    let mut deepest = 0;
    let mut i = 0;
    while i < parts.len() {
        deepest = if parts[i] > deepest { parts[i] } else { deepest };
        i += 1;
    }
    assert!(deepest < isoform_core::format::MAX_DEPTH, "records are nested at most 32 deep");
    deepest + 1
}

/// The format of a struct.
///
/// # Panics
/// If its declaration contradicts itself in a way that the derive cannot see, or it is no struct.
pub fn format<'a, N: Native<'a>>() -> Format {
    let format = match N::element() {
        Element::Structure(structure) => Format::new(structure),
        other => Err(Error::new(Code::Declaration).expected("a struct").came(other)),
    };
    format.unwrap_or_else(|error| panic!("a record cannot be declared: {error}"))
}

/// The element that is an enumeration with these symbols.
///
/// # Panics
/// If they contradict each other in a way that the derive cannot see.
pub fn enumeration(name: &str, signed: bool, size: usize, symbols: &[(&str, i128)]) -> Element {
    match Enumeration::new(signed, size as u8, symbols.iter().copied()) {
        Ok(enumeration) => Element::Enumeration(Arc::new(enumeration)),
        Err(error) => panic!("the enumeration {name} cannot be declared: {error}"),
    }
}

impl Fields {
    /// No fields yet.
    pub fn new() -> Fields {
        Fields::default()
    }

    /// The same with the field, or fields, of a type.
    pub fn part<'a, P: Part<'a>>(mut self, placed: Placed<'_>) -> Fields {
        P::declare(&placed, &mut self);
        self
    }

    /// The structure that they make up.
    ///
    /// # Panics
    /// If they contradict each other in a way that the derive cannot see, such as two fields of one name.
    pub fn structure<T>(self, name: &str) -> Element {
        let structure = Structure::new(name, Machine::NATIVE, size_of::<T>(), align_of::<T>(), self.0);
        match structure {
            Ok(structure) => Element::Structure(Arc::new(structure)),
            Err(error) => panic!("the record {name} cannot be declared: {error}"),
        }
    }

    /// Adds a field. Its dynamic dimensions are indices of fields added before.
    pub(super) fn add(&mut self, placed: &Placed<'_>, element: Element, dims: Vec<Dimension>, indirect: bool) {
        let unit = placed.unit.map(Into::into);
        let dims = dims.into();
        self.0.push(Field { name: placed.name.into(), element, dims, indirect, offset: placed.offset, unit });
    }

    /// Adds the length of the dimension `axis` of an array of rank `rank`, and returns the dimension.
    pub(super) fn length(&mut self, array: &Placed<'_>, offset: usize, axis: usize, rank: usize) -> Dimension {
        let name = match array.lengths.get(axis) {
            Some(&name) => name.to_string(),
            None if rank == 1 => format!("{}_len", array.name),
            None => format!("{}_dim{axis}", array.name),
        };
        let element = Element::Integer { signed: false, size: size_of::<usize>() as u8 };
        self.add(&Placed { name: &name, offset, unit: None, lengths: &[] }, element, Vec::new(), false);
        Dimension::Field(self.0.len() - 1)
    }
}
