//! The meaning of each byte of a body, found by an independent walk. This is also a second opinion on the verifier.

use isoform_core::{Dimension, Element, Field, FloatKind, Format, Machine, Structure};
use std::ops::Range;

/// Bytes of a body with a common meaning. Bytes of no region are gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Where they are in the body.
    pub bytes: Range<usize>,
    /// Meaning they are.
    pub what: Meaning,
}

/// The meaning of bytes of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// An integer that is no length.
    Integer,
    /// An integer that is the length of an array.
    Length,
    /// A floating-point number, or a part of a complex one, without the gap in its slot.
    Float(FloatKind),
    /// A boolean.
    Boolean,
    /// An enumeration.
    Enumeration,
    /// A pointer's slot.
    Slot,
    /// Characters: an array in place or in a block, or a string with its NUL.
    Text,
}

/// Every region of a body in the order of the walk; `None` if it is not made as its format says.
///
/// ```
/// use isoform_core::{Layout, Shape, Value, value};
/// use isoform_testing::mutate::{Meaning, regions};
/// let format = Shape::new("r").field("on", "bool").field("name", "string").on(&Layout::I386)?;
/// let record = Value::Record(vec![("name".into(), Value::String(b"K2".to_vec()))]);
/// let body = value::body(&format, &record)?;
/// let regions = regions(&format, &body).unwrap();
/// assert_eq!(regions.iter().map(|region| (region.what, region.bytes.clone())).collect::<Vec<_>>(),
///     [(Meaning::Boolean, 0..1), (Meaning::Slot, 4..8), (Meaning::Text, 8..11)]);
/// # Ok::<(), isoform_core::Error>(())
/// ```
pub fn regions(format: &Format, body: &[u8]) -> Option<Vec<Region>> {
    let mut walk = Walk { machine: format.machine(), body, found: Vec::new() };
    walk.body.get(..format.size())?;
    walk.structure(format.structure(), 0)?;
    Some(walk.found)
}

struct Walk<'a> {
    machine: Machine,
    body: &'a [u8],
    found: Vec<Region>,
}

impl Walk<'_> {
    fn structure(&mut self, structure: &Structure, base: usize) -> Option<()> {
        for (index, field) in structure.fields().iter().enumerate() {
            let is_length = structure.fields().iter().any(|other| other.dims.contains(&Dimension::Field(index)));
            self.field(structure, field, base, is_length)?;
        }
        Some(())
    }

    fn field(&mut self, structure: &Structure, field: &Field, base: usize, is_length: bool) -> Option<()> {
        let at = base + field.offset;
        let begin = match field.indirect {
            false => at,
            true => match self.slot(at)? {
                0 => return Some(()),
                block => block,
            },
        };
        let count = field.dims.iter().try_fold(1usize, |count, dim| match *dim {
            Dimension::Fixed(n) => count.checked_mul(n),
            Dimension::Field(index) => {
                let length = &structure.fields()[index];
                let bytes = self.body.get(base + length.offset..)?.get(..length.element_size(self.machine.pointer))?;
                count.checked_mul(self.machine.read(bytes).try_into().ok()?)
            }
        })?;
        let size = field.element_size(self.machine.pointer);
        self.body.get(begin..)?.get(..count.checked_mul(size)?)?;
        if field.element == Element::Char {
            self.push(begin, count, Meaning::Text);
            return Some(());
        }
        (0..count).try_for_each(|i| self.element(&field.element, begin + i * size, is_length))
    }

    fn element(&mut self, element: &Element, at: usize, is_length: bool) -> Option<()> {
        let size = element.size(self.machine.pointer);
        match element {
            Element::Integer { .. } => self.push(at, size, if is_length { Meaning::Length } else { Meaning::Integer }),
            Element::Float { kind, size } => self.float(*kind, *size, at),
            Element::Complex { kind, size } => {
                self.float(*kind, *size, at);
                self.float(*kind, *size, at + usize::from(*size));
            }
            Element::Char => self.push(at, 1, Meaning::Text),
            Element::Boolean { .. } => self.push(at, size, Meaning::Boolean),
            Element::Enumeration(_) => self.push(at, size, Meaning::Enumeration),
            Element::String => match self.slot(at)? {
                0 => {}
                block => {
                    let length = self.body.get(block..)?.iter().position(|byte| *byte == 0)?;
                    self.push(block, length + 1, Meaning::Text);
                }
            },
            Element::Structure(inner) => self.structure(inner, at)?,
        }
        Some(())
    }

    /// Meaning a slot holds.
    fn slot(&mut self, at: usize) -> Option<usize> {
        let size = usize::from(self.machine.pointer);
        let bytes = self.body.get(at..)?.get(..size)?;
        self.push(at, size, Meaning::Slot);
        self.machine.read(bytes).try_into().ok()
    }

    fn float(&mut self, kind: FloatKind, size: u8, at: usize) {
        let digits = kind.digits(size);
        let gap = if self.machine.order == isoform_core::ByteOrder::Big { size - digits } else { 0 };
        self.push(at + usize::from(gap), digits.into(), Meaning::Float(kind));
    }

    fn push(&mut self, at: usize, size: usize, what: Meaning) {
        self.found.push(Region { bytes: at..at + size, what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_core::value;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_do_not_overlap_and_the_rest_is_zeros((format, record) in crate::any_record()) {
            let mut body = value::body(&format, &record).unwrap();
            for region in regions(&format, &body.clone()).unwrap() {
                for at in region.bytes {
                    prop_assert_ne!(body.get(at), None);
                    body[at] = 0;
                }
            }
            prop_assert!(body.iter().all(|byte| *byte == 0));
        }
    }
}
