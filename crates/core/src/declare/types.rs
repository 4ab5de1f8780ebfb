//! The type of a field before it is laid out, with the parts that its words leave open.
//!
//! Its text is in [`type_text`](super::type_text).

use super::Layout;
use super::words::known_kind;
use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Element, Enumeration, Field, FloatKind, Structure};
use std::sync::Arc;

/// The type of a field, as it is written.
///
/// ```
/// use isoform_core::declare::{Kind, Length, Type};
/// let grid: Type = "float[nx][3]".parse()?;
/// assert_eq!(*grid.dims, [Length::Field("nx".into()), Length::Fixed(3)]);
/// assert!(grid.is_indirect());
/// assert_eq!("unsigned  char [ 16 ]".parse::<Type>()?.to_string(), "u8[16]");
/// let error = "unsigned flaot[3]".parse::<Type>().unwrap_err();
/// assert_eq!(error.to_string(), "invalid declaration: expected a type, found `unsigned flaot` at column 1");
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// The type of one element.
    pub kind: Kind,
    /// Its dimensions, the slowest-varying first.
    pub dims: Box<[Length]>,
    /// Whether a `*` puts it behind a pointer.
    pub pointer: bool,
}

/// The type of one element, as far as its words determine it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A number without fraction.
    Integer {
        /// Whether it may be negative.
        signed: bool,
        /// Its size.
        width: Width,
    },
    /// A floating-point number.
    Float {
        /// How its bits are read.
        kind: FloatKind,
        /// Its size.
        width: Width,
    },
    /// A complex number.
    Complex {
        /// How the bits of each part are read.
        kind: FloatKind,
        /// The size of each part.
        width: Width,
    },
    /// C's `long double`, or its complex number.
    LongDouble {
        /// Whether there are two of them.
        complex: bool,
    },
    /// One byte of text.
    Char,
    /// 0 or 1.
    Boolean {
        /// Its size.
        width: Width,
    },
    /// An integer each of whose values has a name.
    Enumeration {
        /// Whether its number may be negative.
        signed: bool,
        /// The size of its number.
        width: Width,
        /// Its symbols, in any order.
        symbols: Box<[(Box<str>, i128)]>,
    },
    /// A pointer to text that ends with a NUL.
    String,
    /// A nested structure of this name.
    Structure(Box<str>),
}

/// The size of a number, as far as its words determine it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// The words leave it open.
    Open,
    /// This many bytes.
    Bytes(u8),
    /// The size of C's `long`.
    Long,
    /// The size of a pointer.
    Pointer,
}

/// One dimension as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Length {
    /// This many elements in every record.
    Fixed(usize),
    /// As many elements as the integer field of this name states.
    Field(Box<str>),
}

impl Type {
    /// The type of a field of `structure`, with all sizes.
    pub fn of(field: &Field, structure: &Structure) -> Type {
        let length = |dim: &Dimension| match *dim {
            Dimension::Fixed(n) => Length::Fixed(n),
            Dimension::Field(index) => {
                Length::Field(structure.fields().get(index).map_or("?".into(), |length| length.name.clone()))
            }
        };
        let dims: Box<[Length]> = field.dims.iter().map(length).collect();
        Type { kind: Kind::of(&field.element), dims, pointer: field.indirect && !field.is_dynamic() }
    }

    /// The type in the words of the papers, without its size: `integer[5]`.
    pub fn without_size(mut self) -> Type {
        self.kind = self.kind.with_width(Width::Open);
        self
    }

    /// Whether the record holds a pointer to it.
    pub fn is_indirect(&self) -> bool {
        self.pointer || self.lengths().next().is_some()
    }

    /// The names of the fields that have lengths of it.
    pub(super) fn lengths(&self) -> impl Iterator<Item = &str> {
        self.dims.iter().filter_map(|dim| if let Length::Field(name) = dim { Some(&**name) } else { None })
    }

    /// The field of this type, once its element is known.
    pub(super) fn field(
        &self,
        name: &str,
        element: Element,
        offset: usize,
        unit: Option<Box<str>>,
        index_of: impl Fn(&str) -> Option<usize>,
    ) -> Result<Field> {
        let dimension = |length: &Length| match length {
            Length::Fixed(n) => Ok(Dimension::Fixed(*n)),
            Length::Field(field) => index_of(field).map(Dimension::Field).ok_or_else(|| unknown_length(field).at(name)),
        };
        let dims = self.dims.iter().map(dimension).collect::<Result<_>>()?;
        Ok(Field { name: name.into(), element, dims, indirect: self.is_indirect(), offset, unit })
    }
}

pub(super) fn unknown_length(field: &str) -> Error {
    let error = Error::new(Code::Declaration).expected("an integer field as length");
    error.found(format_args!("`{field}`, which is no field"))
}

pub(super) fn unknown_structure(name: &str) -> Error {
    let error = Error::new(Code::Declaration).found(format_args!("`{name}`"));
    match meant(name) {
        Some(word) => {
            error.expected(format_args!("a type, such as {word}, or the name of a structure declared before"))
        }
        None => error.expected("a type, or the name of a structure declared before"),
    }
}

/// The word for a type, where another language has this one.
fn meant(name: &str) -> Option<String> {
    let integer = format!("{name}_t");
    Some(match &*name.to_ascii_lowercase() {
        "float16" | "half" => "f16".into(),
        "float32" | "single" => "float".into(),
        "float64" | "real" => "double".into(),
        "float128" | "quad" => "f128".into(),
        "str" | "text" => "string".into(),
        "byte" | "uchar" => "uint8_t".into(),
        "ushort" => "unsigned short".into(),
        "uint" => "unsigned int".into(),
        "ulong" => "unsigned long".into(),
        "boolean_t" => "bool".into(),
        _ if known_kind(&integer).is_some() => integer,
        _ => return None,
    })
}

impl Kind {
    /// The kind of elements, with their size.
    pub fn of(element: &Element) -> Kind {
        match element {
            Element::Integer { signed, size } => Kind::Integer { signed: *signed, width: Width::Bytes(*size) },
            Element::Float { kind, size } => Kind::Float { kind: *kind, width: Width::Bytes(*size) },
            Element::Complex { kind, size } => Kind::Complex { kind: *kind, width: Width::Bytes(*size) },
            Element::Char => Kind::Char,
            Element::Boolean { size } => Kind::Boolean { width: Width::Bytes(*size) },
            Element::Enumeration(e) => Kind::Enumeration {
                signed: e.signed(),
                width: Width::Bytes(e.size()),
                symbols: e.symbols().iter().map(|symbol| (symbol.name.clone(), symbol.value)).collect(),
            },
            Element::String => Kind::String,
            Element::Structure(structure) => Kind::Structure(structure.name().into()),
        }
    }

    /// The width that the words state, for the kinds whose words may leave it open. For a complex number, this is the
    /// width of each part.
    pub fn width(&self) -> Option<Width> {
        match self {
            Kind::Integer { width, .. }
            | Kind::Float { width, .. }
            | Kind::Complex { width, .. }
            | Kind::Boolean { width }
            | Kind::Enumeration { width, .. } => Some(*width),
            Kind::LongDouble { .. } | Kind::Char | Kind::String | Kind::Structure(_) => None,
        }
    }

    /// The bytes of an element, for the same kinds if the words state them.
    pub fn bytes(&self) -> Option<usize> {
        let parts = if matches!(self, Kind::Complex { .. }) { 2 } else { 1 };
        match self.width() {
            Some(Width::Bytes(bytes)) => Some(parts * usize::from(bytes)),
            _ => None,
        }
    }

    /// The same kind, with the sizes of C's `long` and `long double` on a machine.
    pub(super) fn settled(self, layout: &Layout) -> Kind {
        if let Kind::LongDouble { complex } = self {
            let (kind, width) = (layout.long_double.kind, Width::Bytes(layout.long_double.size));
            return if complex { Kind::Complex { kind, width } } else { Kind::Float { kind, width } };
        }
        match self.width() {
            Some(Width::Long) => self.with_width(Width::Bytes(layout.long)),
            _ => self,
        }
    }

    pub(super) fn with_width(mut self, new: Width) -> Kind {
        match &mut self {
            Kind::Integer { width, .. }
            | Kind::Float { width, .. }
            | Kind::Complex { width, .. }
            | Kind::Boolean { width }
            | Kind::Enumeration { width, .. } => *width = new,
            Kind::LongDouble { .. } | Kind::Char | Kind::String | Kind::Structure(_) => {}
        }
        self
    }

    /// The element in memory. `bytes` returns the size of a width, and `nested` the structure of a name.
    pub(super) fn element(
        &self,
        bytes: impl Fn(Width) -> Result<u8>,
        nested: impl FnOnce(&str) -> Option<Arc<Structure>>,
    ) -> Result<Element> {
        Ok(match self {
            Kind::Integer { signed, width } => Element::Integer { signed: *signed, size: bytes(*width)? },
            Kind::Float { kind, width } => Element::Float { kind: *kind, size: bytes(*width)? },
            Kind::Complex { kind, width } => Element::Complex { kind: *kind, size: bytes(*width)? },
            Kind::LongDouble { .. } => {
                return Err(Error::new(Code::Declaration)
                    .expected("float, x87 or double-double, since long double differs between machines")
                    .found("long double"));
            }
            Kind::Char => Element::Char,
            Kind::Boolean { width } => Element::Boolean { size: bytes(*width)? },
            Kind::Enumeration { signed, width, symbols } => {
                let symbols = symbols.iter().map(|(name, value)| (name.clone(), *value));
                Element::Enumeration(Arc::new(Enumeration::new(*signed, bytes(*width)?, symbols)?))
            }
            Kind::String => Element::String,
            Kind::Structure(name) => Element::Structure(nested(name).ok_or_else(|| unknown_structure(name))?),
        })
    }
}
