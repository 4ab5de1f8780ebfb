//! What can be wrong in a body of one format, as a list in the order of the walk.
//!
//! Numbers in place can hold any bytes and do not appear; nested structures that are not arrays are merged into the
//! structure that holds them.

use crate::format::{Dimension, Element, Enumeration, Field, Format, Machine, Structure};

/// All checks of one format.
#[derive(Debug)]
pub(crate) struct Checks {
    pub(super) machine: Machine,
    pub(super) fields: Box<[Check]>,
}

/// What to check of one field.
#[derive(Debug)]
pub(super) struct Check {
    /// Bytes from the start of the structure.
    pub(super) offset: usize,
    pub(super) place: Place,
    pub(super) elements: Elements,
    /// Bytes from one element to the next.
    pub(super) stride: usize,
    /// The field's name, after those of the structures merged away.
    pub(super) path: Box<str>,
    /// All dimensions, for messages about a single element.
    pub(super) dims: Box<[Dim]>,
}

/// Where the elements of a field are.
#[derive(Debug)]
pub(super) enum Place {
    /// In the structure, so many.
    Here(usize),
    /// In a block that starts at a multiple of `align`, or nowhere.
    Block {
        align: usize,
        /// Product of the fixed dimensions.
        fixed: u64,
        /// The dimensions that depend on the record. If there are any, the slot is null exactly if the product is 0.
        lengths: Box<[Length]>,
    },
}

/// An integer field that holds a dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length {
    pub(super) offset: usize,
    pub(super) size: u8,
    pub(super) signed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Dim {
    Fixed(usize),
    Dynamic(Length),
}

/// What can be wrong with elements that lie side by side.
#[derive(Debug)]
pub(super) enum Elements {
    /// Numbers and text: nothing.
    Anything,
    Strings,
    Booleans,
    Enumerations(Numbers),
    Structures(Box<[Check]>),
}

/// The numbers of an enumeration that have symbols.
#[derive(Debug)]
pub(super) struct Numbers {
    signed: bool,
    lowest: u64,
    /// First and last of each run of numbers, counted from the lowest, ascending.
    runs: Box<[(u64, u64)]>,
}

impl Numbers {
    fn of(enumeration: &Enumeration) -> Numbers {
        let lowest = enumeration.symbols()[0].value as u64;
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for symbol in enumeration.symbols() {
            let number = (symbol.value as u64).wrapping_sub(lowest);
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => runs.push((number, number)),
            }
        }
        Numbers { signed: enumeration.signed(), lowest, runs: runs.into() }
    }

    /// The number in these bytes.
    pub(super) fn number(&self, machine: Machine, bytes: &[u8]) -> i128 {
        let number = integer(machine, bytes, self.signed);
        if self.signed { (number as i64).into() } else { number.into() }
    }

    /// Whether the number in these bytes has a symbol.
    pub(super) fn contain(&self, machine: Machine, bytes: &[u8]) -> bool {
        let number = integer(machine, bytes, self.signed).wrapping_sub(self.lowest);
        match &*self.runs {
            [(_, last)] => number <= *last,
            runs => {
                let at = runs.partition_point(|(_, last)| *last < number);
                runs.get(at).is_some_and(|(first, _)| *first <= number)
            }
        }
    }
}

/// An integer of up to 8 bytes, its sign extended to 64 bits if it has one.
#[inline]
pub(super) fn integer(machine: Machine, bytes: &[u8], signed: bool) -> u64 {
    let value = machine.read(bytes);
    let unused = 64 - 8 * bytes.len() as u32;
    if signed { ((value << unused) as i64 >> unused) as u64 } else { value }
}

impl Checks {
    pub(crate) fn of(format: &Format) -> Checks {
        Checks { machine: format.machine(), fields: structure(format.structure()) }
    }
}

fn structure(structure: &Structure) -> Box<[Check]> {
    let mut checks = Vec::new();
    collect(structure, 0, "", &mut checks);
    checks.into()
}

fn collect(structure: &Structure, base: usize, prefix: &str, checks: &mut Vec<Check>) {
    for field in structure.fields() {
        let path = format!("{prefix}{}", field.name);
        if let Element::Structure(inner) = &field.element
            && field.dims.is_empty()
            && !field.indirect
        {
            collect(inner, base + field.offset, &format!("{path}."), checks);
        } else if field.indirect || can_be_wrong(&field.element) {
            checks.push(check(field, structure, base, path));
        }
    }
}

fn check(field: &Field, holder: &Structure, base: usize, path: String) -> Check {
    let dims: Box<[Dim]> = field.dims.iter().map(|dim| dimension(*dim, holder, base)).collect();
    let place = match field.fixed_count() {
        Some(count) if !field.indirect => Place::Here(count),
        _ => Place::Block {
            align: field.element.block_alignment(),
            fixed: dims.iter().fold(1, |product, dim| match dim {
                Dim::Fixed(n) => product * *n as u64,
                Dim::Dynamic(_) => product,
            }),
            lengths: dims
                .iter()
                .filter_map(|dim| match dim {
                    Dim::Fixed(_) => None,
                    Dim::Dynamic(length) => Some(*length),
                })
                .collect(),
        },
    };
    Check {
        offset: base + field.offset,
        place,
        elements: elements(&field.element),
        stride: field.element_size(holder.machine().pointer),
        path: path.into(),
        dims,
    }
}

fn dimension(dim: Dimension, holder: &Structure, base: usize) -> Dim {
    match dim {
        Dimension::Fixed(n) => Dim::Fixed(n),
        Dimension::Field(index) => {
            let field = &holder.fields()[index];
            let signed = matches!(field.element, Element::Integer { signed: true, .. });
            let size = field.element_size(holder.machine().pointer) as u8;
            Dim::Dynamic(Length { offset: base + field.offset, size, signed })
        }
    }
}

fn can_be_wrong(element: &Element) -> bool {
    match element {
        Element::String | Element::Boolean { .. } | Element::Enumeration(_) => true,
        Element::Structure(inner) => inner.needs_check(),
        _ => false,
    }
}

fn elements(element: &Element) -> Elements {
    match element {
        Element::String => Elements::Strings,
        Element::Boolean { .. } => Elements::Booleans,
        Element::Enumeration(enumeration) => Elements::Enumerations(Numbers::of(enumeration)),
        Element::Structure(inner) if can_be_wrong(element) => Elements::Structures(structure(inner)),
        _ => Elements::Anything,
    }
}
