//! Reads fields of a record in its body, without converting the record.
//!
//! This is for programs that learn a format only at run time. A [`View`] returns [`Item`]s by name, by path, or in
//! order. The [`verifier`](crate::verify) has checked the body before. [`View::to_value`] turns a record into a tree of
//! owned values, and [`text`](crate::text) into text.

mod array;
mod path;

pub use array::Array;

use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Element, Field, Machine, Structure, Symbol};
use crate::scalar::{self, Float};
use crate::text::Shown;
use crate::value::no_such_field;
use crate::verify::Body;
use array::Dims;

/// A record in a body, or a record nested in it.
///
/// ```
/// use isoform_core::view::{Item, View};
/// use isoform_core::{Layout, Shape, Value, Verifier, value};
/// let cell = Shape::new("cell").field("rho", "double").field("name", "string");
/// let format = Shape::new("state").nested(cell).field("step", "int").field("grid", "cell[2]").on(&Layout::S390X)?;
/// let rho = |rho: f64| Value::Record(vec![("rho".into(), Value::Float(rho))]);
/// let record = Value::Record(vec![("grid".into(), Value::Array(vec![rho(0.5), rho(1.5)]))]);
/// let body = value::body(&format, &record)?;
///
/// let verifier = Verifier::new(&format);
/// let view = View::new(verifier.verify(&body)?);
/// assert_eq!(view.f64("grid[1].rho")?, 1.5);
/// assert!(matches!(view.get("grid[0].name")?, Item::Null));
/// assert_eq!(view.fields().map(|(field, _)| &*field.name).collect::<Vec<_>>(), ["step", "grid"]);
/// assert_eq!(view.get("grid[1].roh").unwrap_err().to_string(),
///     "no such field at grid[1]: expected one of rho, name, found \"roh\"");
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct View<'a> {
    structure: &'a Structure,
    record: &'a [u8],
    body: &'a [u8],
}

/// The value of a field or an element in one record. Strings, arrays and records are borrowed from the body.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// A null pointer: a null string, record, or array of fixed length.
    Null,
    /// A boolean.
    Boolean(bool),
    /// An integer, signed or not.
    Integer(i128),
    /// An integer beyond `i128`.
    Unsigned(u128),
    /// A floating-point number.
    Float(Float),
    /// A complex number: real part, imaginary part.
    Complex([Float; 2]),
    /// A `char`.
    Char(u8),
    /// The value of an enumeration: a symbol with its number.
    Symbol(&'a Symbol),
    /// The bytes of a string, without the NUL.
    String(&'a [u8]),
    /// An array. If it has variable length and no elements, all its dimensions are 0.
    Array(Array<'a>),
    /// A nested record.
    Record(View<'a>),
}

impl<'a> View<'a> {
    /// The record of a body.
    #[inline]
    pub fn new(body: Body<'a>) -> View<'a> {
        let structure = body.format().structure();
        View { structure, record: &body.bytes()[..structure.size()], body: body.bytes() }
    }

    /// The record of this structure in these bytes of a body.
    pub(crate) fn within(structure: &'a Structure, record: &'a [u8], body: &'a [u8]) -> View<'a> {
        View { structure, record, body }
    }

    /// The structure, with its fields and offsets.
    #[inline]
    pub fn structure(&self) -> &'a Structure {
        self.structure
    }

    /// The bytes of the record in the body. Pointers are offsets from the body's start.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.record
    }

    /// The bytes of the whole body, in which pointers are offsets.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Its fields, by ascending offset, with their values.
    pub fn fields(self) -> impl ExactSizeIterator<Item = (&'a Field, Item<'a>)> {
        self.structure.fields().iter().map(move |field| (field, self.item(field)))
    }

    /// The value of the field of this name.
    ///
    /// # Errors
    /// [`Code::NoSuchField`], with the names of the fields.
    pub fn field(&self, name: &str) -> Result<Item<'a>> {
        Ok(self.typed_field(name)?.0)
    }

    fn typed_field(&self, name: &str) -> Result<(Item<'a>, &'a Element)> {
        let field = self.structure.field(name).ok_or_else(|| no_such_field(self.structure, name))?;
        Ok((self.item(field), &field.element))
    }

    /// The value at a path: names with dots between them, and `[3]` after an array for each of its dimensions, as in
    /// `grid[3].rho`.
    ///
    /// # Errors
    /// [`Code::NoSuchField`] if a field or an element does not exist; [`Code::WrongType`] if the path continues after a
    /// value without parts; [`Code::Null`] if it leads through a null pointer.
    pub fn get(&self, path: &str) -> Result<Item<'a>> {
        Ok(self.typed(path)?.0)
    }

    /// As [`View::get`], but [`Item::Null`] if only other records of the format have a value there: behind a null
    /// pointer, and beyond the end of an array of variable length.
    ///
    /// # Errors
    /// As [`View::get`], if no record of the format has a value at this path.
    pub fn find(&self, path: &str) -> Result<Item<'a>> {
        match self.get(path) {
            Err(error) if matches!(error.code(), Code::Null | Code::NoSuchField) && self.structure.has_path(path) => {
                Ok(Item::Null)
            }
            found => found,
        }
    }

    /// The value at a path, and its element type, or that of its elements.
    pub(crate) fn typed(&self, path: &str) -> Result<(Item<'a>, &'a Element)> {
        path::get(*self, path)
    }

    /// The number at a path, rounded to the nearest `f64` if necessary.
    ///
    /// # Errors
    /// As [`View::get`], and [`Code::WrongType`] if it is neither an integer nor a floating-point number.
    pub fn f64(&self, path: &str) -> Result<f64> {
        let item = self.get(path)?;
        item.to_f64().ok_or_else(|| item.wrong_type("a number").at(path))
    }

    /// The integer at a path.
    ///
    /// # Errors
    /// As [`View::get`], [`Code::WrongType`] if it is not an integer, [`Code::Overflow`] if it does not fit.
    pub fn i64(&self, path: &str) -> Result<i64> {
        let overflow = |found: &dyn std::fmt::Display| {
            Error::new(Code::Overflow).at(path).expected("an integer of 8 bytes").found(found)
        };
        match self.get(path)? {
            Item::Integer(number) => number.try_into().map_err(|_| overflow(&number)),
            Item::Unsigned(number) => Err(overflow(&number)),
            other => Err(other.wrong_type("an integer").at(path)),
        }
    }

    /// The text at a path: a string, a `char` array without the NULs at its end, or a symbol.
    ///
    /// # Errors
    /// As [`View::get`], [`Code::WrongType`] if it is not text, [`Code::Null`], [`Code::Utf8`].
    pub fn str(&self, path: &str) -> Result<&'a str> {
        let bytes = match self.get(path)? {
            Item::String(bytes) => bytes,
            Item::Symbol(symbol) => return Ok(&symbol.name),
            Item::Null => return Err(Error::new(Code::Null).at(path).expected("a string")),
            Item::Array(array) if array.text().is_some() => array.text().unwrap_or_default(),
            other => return Err(other.wrong_type("a string").at(path)),
        };
        std::str::from_utf8(bytes).map_err(|error| Error::new(Code::Utf8).at(path).found(error))
    }

    /// The value of one of its fields.
    pub(crate) fn item(&self, field: &'a Field) -> Item<'a> {
        let machine = self.structure.machine();
        let mut dims: Dims = field.dims.iter().map(|dim| self.dimension(dim)).collect();
        let size = field.element_size(machine.pointer);
        let bytes = match field.indirect {
            false => &self.record[field.offset..],
            true => match slot(machine, &self.record[field.offset..]) {
                0 if field.is_dynamic() => {
                    dims.clear();
                    &[]
                }
                0 => return Item::Null,
                block => &self.body[block..],
            },
        };
        let array = Array {
            element: &field.element,
            dims,
            padded: matches!(field.dims.last(), Some(Dimension::Fixed(_))),
            bytes: &bytes[..dims.count() * size],
            body: self.body,
            machine,
        };
        if field.dims.is_empty() { array.element(0) } else { Item::Array(array) }
    }

    fn dimension(&self, dim: &Dimension) -> usize {
        match *dim {
            Dimension::Fixed(n) => n,
            Dimension::Field(index) => {
                let field = &self.structure.fields()[index];
                let machine = self.structure.machine();
                let bytes = &self.record[field.offset..][..field.element_size(machine.pointer)];
                machine.read(bytes) as usize
            }
        }
    }
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct(&Shown(self.structure.name()).to_string());
        self.fields().for_each(|(field, item)| _ = debug.field(&Shown(&field.name).to_string(), &item));
        debug.finish()
    }
}

impl Item<'_> {
    /// An integer or a floating-point number, rounded to the nearest `f64`; `None` for other values.
    pub fn to_f64(&self) -> Option<f64> {
        match self {
            Item::Integer(number) => Some(*number as f64),
            Item::Unsigned(number) => Some(*number as f64),
            Item::Float(float) => Some(float.to_f64()),
            _ => None,
        }
    }

    fn wrong_type(&self, expected: &str) -> Error {
        let found = match self {
            Item::Null => "null",
            Item::Boolean(_) => "a boolean",
            Item::Integer(_) | Item::Unsigned(_) => "an integer",
            Item::Float(_) => "a floating-point number",
            Item::Complex(_) => "a complex number",
            Item::Char(_) => "a char",
            Item::Symbol(_) => "an enumeration",
            Item::String(_) => "a string",
            Item::Array(_) => "an array",
            Item::Record(_) => "a record",
        };
        Error::new(Code::WrongType).expected(expected).found(found)
    }
}

fn slot(machine: Machine, bytes: &[u8]) -> usize {
    machine.read(&bytes[..usize::from(machine.pointer)]) as usize
}

/// The value of the element in these bytes.
pub(crate) fn item<'a>(element: &'a Element, machine: Machine, bytes: &'a [u8], body: &'a [u8]) -> Item<'a> {
    let order = machine.order;
    match element {
        Element::Integer { signed: true, .. } => Item::Integer(scalar::read_signed(order, bytes)),
        Element::Integer { signed: false, .. } => {
            let number = scalar::read_bits(order, bytes);
            i128::try_from(number).map_or(Item::Unsigned(number), Item::Integer)
        }
        Element::Float { kind, .. } => Item::Float(Float::read(*kind, order, bytes)),
        Element::Complex { kind, size } => {
            let (real, imaginary) = bytes.split_at(usize::from(*size));
            Item::Complex([real, imaginary].map(|part| Float::read(*kind, order, part)))
        }
        Element::Char => Item::Char(bytes[0]),
        Element::Boolean { .. } => Item::Boolean(machine.read(bytes) != 0),
        Element::Enumeration(enumeration) => {
            let number = match enumeration.signed() {
                true => scalar::read_signed(order, bytes),
                false => scalar::read_bits(order, bytes) as i128,
            };
            let symbols = enumeration.symbols();
            let at = symbols.binary_search_by_key(&number, |symbol| symbol.value);
            // The verifier has ensured that there is one.
            Item::Symbol(&symbols[at.unwrap_or(0)])
        }
        Element::String => match slot(machine, bytes) {
            0 => Item::Null,
            block => {
                let text = &body[block..];
                Item::String(&text[..memchr::memchr(0, text).unwrap_or(text.len())])
            }
        },
        Element::Structure(structure) => Item::Record(View { structure, record: bytes, body }),
    }
}
