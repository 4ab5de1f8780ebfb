//! What can be wrong in a body of one format, as a list in the order of the walk.
//!
//! Numbers in place can hold any bytes and do not appear; nested structures that are not arrays are merged into the
//! structure that holds them.

use crate::format::{Dimension, Element, Enumeration, Field, Format, Machine, Structure};
use std::collections::HashMap;
use std::sync::Arc;

/// All checks of one format.
#[derive(Debug)]
pub(crate) struct Checks {
    pub(super) machine: Machine,
    pub(super) record: Checked,
}

/// A structure, and what to check of it.
#[derive(Debug)]
pub(super) struct Checked {
    structure: Arc<Structure>,
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
    Enumerations(Arc<Numbers>),
    Structures(Checked),
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
        let record = Collector::default().structure(format.structure());
        Checks { machine: format.machine(), record }
    }
}

impl Checked {
    /// The name of the field that begins at this offset, after those of the structures merged away. Found only when it
    /// is asked for: kept, the names of fields deep within others could take a thousand times what their description does.
    #[cold]
    pub(super) fn path(&self, mut offset: usize) -> String {
        let (mut structure, mut path) = (&*self.structure, String::new());
        loop {
            let at = structure.fields().partition_point(|field| field.offset <= offset);
            let Some(field) = at.checked_sub(1).map(|at| &structure.fields()[at]) else { return path };
            path.push_str(&field.name);
            let Some(inner) = merged(field) else { return path };
            path.push('.');
            offset -= field.offset;
            structure = inner;
        }
    }
}

/// Makes the list. The numbers of an enumeration are kept once, in however many fields it is nested.
#[derive(Default)]
struct Collector {
    numbers: HashMap<*const Enumeration, Arc<Numbers>>,
}

impl Collector {
    fn structure(&mut self, structure: &Arc<Structure>) -> Checked {
        let mut checks = Vec::new();
        self.collect(structure, 0, &mut checks);
        Checked { structure: structure.clone(), fields: checks.into() }
    }

    fn collect(&mut self, structure: &Structure, base: usize, checks: &mut Vec<Check>) {
        for field in structure.fields() {
            if let Some(inner) = merged(field) {
                self.collect(inner, base + field.offset, checks);
            } else if field.indirect || can_be_wrong(&field.element) {
                let elements = self.elements(&field.element);
                checks.push(check(field, elements, structure, base));
            }
        }
    }

    fn elements(&mut self, element: &Element) -> Elements {
        match element {
            Element::String => Elements::Strings,
            Element::Boolean { .. } => Elements::Booleans,
            Element::Enumeration(enumeration) => {
                let known = self.numbers.entry(Arc::as_ptr(enumeration));
                Elements::Enumerations(known.or_insert_with(|| Numbers::of(enumeration).into()).clone())
            }
            Element::Structure(inner) if can_be_wrong(element) => Elements::Structures(self.structure(inner)),
            _ => Elements::Anything,
        }
    }
}

/// The structure of a field whose checks are merged into those of the structure that holds it.
fn merged(field: &Field) -> Option<&Structure> {
    match &field.element {
        Element::Structure(inner) if field.dims.is_empty() && !field.indirect => Some(inner),
        _ => None,
    }
}

fn check(field: &Field, elements: Elements, holder: &Structure, base: usize) -> Check {
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
    Check { offset: base + field.offset, place, elements, stride: field.element_size(holder.machine().pointer), dims }
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
