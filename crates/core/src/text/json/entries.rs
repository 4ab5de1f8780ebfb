//! What all objects of a structure have in common: the labels of their entries, and the kinds of their values. Made once for
//! each structure, and kept with it. [`write`](super::write()) goes through them, and [`read`](super::read)
//! expects them.

use crate::format::{Element, Field, FloatKind, Structure};
use std::fmt;

/// The bytes of a label that are copied at once.
pub(super) const HEAD: usize = 16;

/// The entries of the objects of one structure, in the order of its fields. They are few bytes, since formats of strangers
/// are kept with their entries. For each: the number of its kind, the bytes of its label (2), the label.
#[derive(Clone)]
pub(crate) struct Entries(Box<[u8]>);

/// The bytes of memory that an entry takes, besides the name of its field.
pub(crate) const ENTRY: usize = FIXED + MARKS;
/// The bytes in front of each label.
const FIXED: usize = 3;
/// The bytes of a label besides the name.
const MARKS: usize = ",\"\":".len();

/// What the entry of a field has beside the field.
pub(super) struct Entry<'e> {
    pub(super) kind: Kind,
    /// A comma, the name as a string of JSON, and a colon.
    pub(super) label: &'e [u8],
    /// The first bytes of the label, if there are so many in it and behind it.
    pub(super) head: Option<&'e [u8; HEAD]>,
}

/// How a value is written and read.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// A single number, in place.
    Number(Number),
    /// An array of numbers of one dimension, in place.
    Numbers(Number),
    /// A single element of another type, in place.
    Element,
    /// Arrays of several dimensions, and all that is behind a pointer.
    Field,
}

impl Kind {
    fn of(field: &Field) -> Kind {
        match Number::of(&field.element) {
            _ if field.indirect => Kind::Field,
            Some(number) if field.dims.is_empty() => Kind::Number(number),
            Some(number) if field.dims.len() == 1 => Kind::Numbers(number),
            _ if field.dims.is_empty() => Kind::Element,
            _ => Kind::Field,
        }
    }

    fn code(self) -> u8 {
        match self {
            Kind::Number(number) => number as u8,
            Kind::Numbers(number) => number as u8 | 1 << 4,
            Kind::Element => 1 << 5,
            Kind::Field => 1 << 6,
        }
    }

    fn decoded(code: u8) -> Kind {
        let number = Number::ALL.get(usize::from(code & 15));
        match (code >> 4, number) {
            (0, Some(&number)) => Kind::Number(number),
            (1, Some(&number)) => Kind::Numbers(number),
            (2, _) => Kind::Element,
            _ => Kind::Field,
        }
    }
}

/// The numbers for which there are loops. The others are rare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

/// Calls a macro with the type that has the numbers of a kind.
macro_rules! with_type {
    ($number:expr, $do:ident) => {
        match $number {
            Number::I8 => $do!(i8),
            Number::I16 => $do!(i16),
            Number::I32 => $do!(i32),
            Number::I64 => $do!(i64),
            Number::U8 => $do!(u8),
            Number::U16 => $do!(u16),
            Number::U32 => $do!(u32),
            Number::U64 => $do!(u64),
            Number::F32 => $do!(f32),
            Number::F64 => $do!(f64),
        }
    };
}
pub(super) use with_type;

impl Number {
    /// Each at the place of its code.
    const ALL: [Number; 10] = [
        Number::I8,
        Number::I16,
        Number::I32,
        Number::I64,
        Number::U8,
        Number::U16,
        Number::U32,
        Number::U64,
        Number::F32,
        Number::F64,
    ];

    /// The type of an element, if it is one of these.
    pub(super) fn of(element: &Element) -> Option<Number> {
        Some(match element {
            Element::Integer { signed: true, size: 1 } => Number::I8,
            Element::Integer { signed: true, size: 2 } => Number::I16,
            Element::Integer { signed: true, size: 4 } => Number::I32,
            Element::Integer { signed: true, size: 8 } => Number::I64,
            Element::Integer { signed: false, size: 1 } => Number::U8,
            Element::Integer { signed: false, size: 2 } => Number::U16,
            Element::Integer { signed: false, size: 4 } => Number::U32,
            Element::Integer { signed: false, size: 8 } => Number::U64,
            Element::Float { kind: FloatKind::Ieee, size: 4 } => Number::F32,
            Element::Float { kind: FloatKind::Ieee, size: 8 } => Number::F64,
            _ => return None,
        })
    }
}

impl Entries {
    fn of(structure: &Structure) -> Entries {
        let fields = structure.fields();
        let mut code = Vec::with_capacity(fields.iter().map(|field| ENTRY + field.name.len()).sum());
        let mut label = String::new();
        for field in fields {
            label.clear();
            label.push(',');
            // Memory does not fail.
            _ = super::write::string(&field.name, &mut label);
            label.push(':');
            code.push(Kind::of(field).code());
            // A name has at most 255 bytes, each of which becomes at most 6.
            code.extend((label.len() as u16).to_le_bytes());
            code.extend(label.as_bytes());
        }
        Entries(code.into())
    }

    /// Their bytes, most of which are labels.
    #[inline]
    pub(super) fn length(&self) -> usize {
        self.0.len()
    }

    /// The entries, one for each field.
    #[inline]
    pub(super) fn iter(&self) -> Iter<'_> {
        Iter { code: &self.0 }
    }
}

pub(super) struct Iter<'e> {
    code: &'e [u8],
}

impl<'e> Iterator for Iter<'e> {
    type Item = Entry<'e>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'e>> {
        let (&[kind, low, high], rest) = self.code.split_first_chunk::<FIXED>()?;
        let (label, behind) = rest.split_at_checked(u16::from_le_bytes([low, high]).into())?;
        self.code = behind;
        Some(Entry { kind: Kind::decoded(kind), label, head: rest.first_chunk() })
    }
}

impl Structure {
    /// The entries of objects of this structure.
    #[inline]
    pub(super) fn entries(&self) -> &Entries {
        self.json().get_or_init(|| Entries::of(self))
    }
}

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|entry| String::from_utf8_lossy(entry.label))).finish()
    }
}
