//! The list of checks for the bodies of one format, in the order of the walk.
//!
//! Numbers in place can hold any bytes, and need no check. Small nested structures that are not arrays are merged into
//! the structure that contains them. Other structures are listed once, however often they are nested. So a list takes
//! only a few times the memory of its description.

use super::element::{Element, Enumeration};
use super::machine::Machine;
use super::structure::{Dimension, Field, Structure};
use std::collections::HashMap;
use std::sync::Arc;

/// All checks of one format.
#[derive(Debug)]
pub(crate) struct Checks {
    pub(crate) machine: Machine,
    pub(crate) record: Arc<Checked>,
}

/// Nested structures with at most this many checks are merged.
pub(super) const FEW: usize = 4;

/// The checks of a structure.
#[derive(Debug)]
pub(crate) struct Checked {
    structure: Arc<Structure>,
    pub(crate) fields: Box<[Check]>,
}

/// The check of one field.
#[derive(Debug)]
pub(crate) struct Check {
    /// Bytes from the start of the structure.
    pub(crate) offset: usize,
    pub(crate) place: Location,
    pub(crate) elements: Elements,
    /// Bytes from one element to the next.
    pub(crate) stride: usize,
    /// The structure that has the field, and its index there.
    holder: Arc<Structure>,
    index: usize,
}

impl Check {
    /// The same check, for a structure that begins this many bytes later.
    fn moved(&self, by: usize) -> Check {
        let place = match &self.place {
            Location::Here(count) => Location::Here(*count),
            Location::Block { align, fixed, lengths } => {
                let lengths = lengths.iter().map(|length| Length { offset: length.offset + by, ..*length });
                Location::Block { align: *align, fixed: *fixed, lengths: lengths.collect() }
            }
        };
        let (elements, holder) = (self.elements.clone(), self.holder.clone());
        Check { offset: self.offset + by, place, elements, holder, ..*self }
    }

    fn field(&self) -> &Field {
        &self.holder.fields()[self.index]
    }

    /// All dimensions of the field, for messages about a single element.
    pub(crate) fn dims(&self) -> impl DoubleEndedIterator<Item = Dim> {
        let base = self.offset - self.field().offset;
        self.field().dims.iter().map(move |dim| dimension(*dim, &self.holder, base))
    }
}

/// Where the elements of a field are.
#[derive(Debug)]
pub(crate) enum Location {
    /// This many elements, in the structure.
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
pub(crate) struct Length {
    pub(crate) offset: usize,
    pub(crate) size: u8,
    pub(crate) signed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Dim {
    Fixed(usize),
    Dynamic(Length),
}

/// The check of elements that lie side by side.
#[derive(Clone, Debug)]
pub(crate) enum Elements {
    /// Numbers and text: nothing.
    Anything,
    Strings,
    Booleans,
    Enumerations(Numbers),
    Structures(Arc<Checked>),
}

/// The numbers of an enumeration that have symbols.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    signed: bool,
    lowest: u64,
    runs: Runs,
}

/// Runs of numbers, counted from the lowest.
#[derive(Clone, Debug)]
enum Runs {
    /// A single run, as most enumerations have it: its last number.
    One(u64),
    /// Several runs: the first and the last number of each, ascending.
    Several(Arc<[(u64, u64)]>),
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
        let runs = match runs[..] {
            [(_, last)] => Runs::One(last),
            _ => Runs::Several(runs.into()),
        };
        Numbers { signed: enumeration.signed(), lowest, runs }
    }

    /// The number in these bytes.
    pub(crate) fn number(&self, machine: Machine, bytes: &[u8]) -> i128 {
        let number = integer(machine, bytes, self.signed);
        if self.signed { (number as i64).into() } else { number.into() }
    }

    /// Whether the number in these bytes has a symbol.
    pub(crate) fn contain(&self, machine: Machine, bytes: &[u8]) -> bool {
        let number = integer(machine, bytes, self.signed).wrapping_sub(self.lowest);
        match &self.runs {
            Runs::One(last) => number <= *last,
            Runs::Several(runs) => {
                let at = runs.partition_point(|(_, last)| *last < number);
                runs.get(at).is_some_and(|(first, _)| *first <= number)
            }
        }
    }
}

/// An integer of up to 8 bytes. If it is signed, its sign is extended to 64 bits.
#[inline]
pub(crate) fn integer(machine: Machine, bytes: &[u8], signed: bool) -> u64 {
    let value = machine.read(bytes);
    let unused = 64 - 8 * bytes.len() as u32;
    if signed { ((value << unused) as i64 >> unused) as u64 } else { value }
}

impl Checks {
    pub(super) fn of(root: &Arc<Structure>) -> Checks {
        Checks { machine: root.machine(), record: Collector::default().structure(root) }
    }

    /// Whether any bytes of the right length are a body.
    pub(crate) fn are_none(&self) -> bool {
        self.record.fields.is_empty()
    }
}

impl Checked {
    /// The name of the checked field, after the names of the structures that were merged away. It is computed only on
    /// demand: the names of deeply nested fields could take a thousand times the memory of their description.
    #[cold]
    pub(crate) fn path(&self, check: &Check) -> String {
        let (mut structure, mut path, mut offset) = (&*self.structure, String::new(), check.offset);
        loop {
            let at = structure.fields().partition_point(|field| field.offset <= offset);
            let Some(field) = at.checked_sub(1).map(|at| &structure.fields()[at]) else { return path };
            path.push_str(&field.name);
            let inner = single(field).filter(|_| !std::ptr::eq(field, check.field()));
            let Some(inner) = inner else { return path };
            path.push('.');
            offset -= field.offset;
            structure = inner;
        }
    }
}

/// Makes the list. The checks of each structure are made once.
#[derive(Default)]
struct Collector {
    structures: HashMap<*const Structure, Arc<Checked>>,
}

impl Collector {
    fn structure(&mut self, structure: &Arc<Structure>) -> Arc<Checked> {
        if let Some(known) = self.structures.get(&Arc::as_ptr(structure)) {
            return known.clone();
        }
        let fields = structure.fields();
        let mut checks = Vec::with_capacity(fields.iter().filter(|field| needs_check(field)).count());
        for (index, field) in fields.iter().enumerate().filter(|(_, field)| needs_check(field)) {
            match self.elements(&field.element) {
                Elements::Structures(inner) if single(field).is_some() && inner.fields.len() <= FEW => {
                    checks.extend(inner.fields.iter().map(|check| check.moved(field.offset)));
                }
                elements => checks.push(check(structure, index, elements)),
            }
        }
        let checked = Arc::new(Checked { structure: structure.clone(), fields: checks.into() });
        self.structures.insert(Arc::as_ptr(structure), checked.clone());
        checked
    }

    fn elements(&mut self, element: &Element) -> Elements {
        match element {
            Element::String => Elements::Strings,
            Element::Boolean { .. } => Elements::Booleans,
            Element::Enumeration(enumeration) => Elements::Enumerations(Numbers::of(enumeration)),
            Element::Structure(inner) if can_be_wrong(element) => Elements::Structures(self.structure(inner)),
            _ => Elements::Anything,
        }
    }
}

/// The structure of a field that is one and lies in place.
fn single(field: &Field) -> Option<&Arc<Structure>> {
    match &field.element {
        Element::Structure(inner) if field.dims.is_empty() && !field.indirect => Some(inner),
        _ => None,
    }
}

fn check(holder: &Arc<Structure>, index: usize, elements: Elements) -> Check {
    let field = &holder.fields()[index];
    let dims = || field.dims.iter().map(|dim| dimension(*dim, holder, 0));
    let place = match field.fixed_count() {
        Some(count) if !field.indirect => Location::Here(count),
        _ => Location::Block {
            align: field.element.block_alignment(),
            fixed: dims().fold(1, |product, dim| match dim {
                Dim::Fixed(n) => product * n as u64,
                Dim::Dynamic(_) => product,
            }),
            lengths: dims()
                .filter_map(|dim| match dim {
                    Dim::Fixed(_) => None,
                    Dim::Dynamic(length) => Some(length),
                })
                .collect(),
        },
    };
    let stride = field.element_size(holder.machine().pointer);
    Check { offset: field.offset, place, elements, stride, holder: holder.clone(), index }
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

fn needs_check(field: &Field) -> bool {
    field.indirect || can_be_wrong(&field.element)
}

fn can_be_wrong(element: &Element) -> bool {
    match element {
        Element::String | Element::Boolean { .. } | Element::Enumeration(_) => true,
        Element::Structure(inner) => inner.needs_check(),
        _ => false,
    }
}
