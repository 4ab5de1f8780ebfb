//! Numbers that stand at the same place in every record: they are read without a look at names.

use crate::eval::Scalar;
use crate::tree::Step;
use isoform_core::scalar::{Float, read_bits, read_signed};
use isoform_core::{ByteOrder, Element, FloatKind, Structure};

/// The place of a number in records of one format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    offset: usize,
    size: u8,
    order: ByteOrder,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Signed,
    Unsigned,
    Float(FloatKind),
}

impl Place {
    /// The place of the number to which a path leads in a record of this structure. `None` if it leads through arrays or pointers, or to a value of
    /// another type.
    pub(crate) fn of(path: &[Step], root: &Structure) -> Option<Place> {
        let (last, front) = path.split_last()?;
        let (mut structure, mut offset) = (root, 0);
        let field = |structure: &Structure, step: &Step| match step {
            Step::Field(name) => structure.index_of(name),
            Step::Index(_) | Step::Slice(_) => None,
        };
        for step in front {
            let field = &structure.fields()[field(structure, step)?];
            let Element::Structure(inner) = &field.element else { return None };
            if field.indirect || !field.dims.is_empty() {
                return None;
            }
            (structure, offset) = (inner, offset + field.offset);
        }
        let field = &structure.fields()[field(structure, last)?];
        let (kind, size) = match field.element {
            Element::Integer { signed, size: size @ ..=8 } => {
                (if signed { Kind::Signed } else { Kind::Unsigned }, size)
            }
            Element::Float { kind, size } => (Kind::Float(kind), size),
            _ => return None,
        };
        let place = Place { offset: offset + field.offset, size, order: root.machine().order, kind };
        (!field.indirect && field.dims.is_empty()).then_some(place)
    }

    /// The number there, in the bytes of a record.
    #[inline]
    pub(crate) fn read(self, record: &[u8]) -> Scalar<'static> {
        let bytes = &record[self.offset..][..usize::from(self.size)];
        match (self.kind, <[u8; 8]>::try_from(bytes)) {
            (Kind::Float(FloatKind::Ieee), Ok(bytes)) => Scalar::Float(match self.order {
                ByteOrder::Little => f64::from_le_bytes(bytes),
                ByteOrder::Big => f64::from_be_bytes(bytes),
            }),
            (Kind::Float(kind), _) => Scalar::Float(Float::read(kind, self.order, bytes).to_f64()),
            (Kind::Signed, _) => Scalar::Integer(read_signed(self.order, bytes)),
            (Kind::Unsigned, _) => Scalar::Integer(read_bits(self.order, bytes) as i128),
        }
    }
}
