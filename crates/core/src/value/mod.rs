//! A record as a tree of values, for programs that learn its format only at run time: tools, tests, defaults.
//!
//! `write` turns it into a body, for any machine. [`Item::to_value`](crate::view::Item::to_value) reads it from one.

mod lengths;
mod missing;
mod read;
mod write;

pub use missing::complete;

use crate::error::{Code, Error, Result};
use crate::format::{Format, Structure};
use std::fmt;

/// A value of any type that a field can have.
///
/// This is not the fast way: records go through plans, and [`View`](crate::view::View) reads single fields in place.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A null pointer, string or array.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A signed integer, or the number of an enumeration.
    Integer(i128),
    /// An unsigned integer beyond `i128`. Smaller ones are [`Value::Integer`].
    Unsigned(u128),
    /// A floating-point number that an `f64` holds exactly.
    Float(f64),
    /// A floating-point number that no `f64` holds, in decimal digits.
    Decimal(Box<str>),
    /// A complex number: real and imaginary part, each [`Value::Float`] or [`Value::Decimal`].
    Complex(Box<[Value; 2]>),
    /// A `char`.
    Char(u8),
    /// A symbol of an enumeration.
    Symbol(Box<str>),
    /// The bytes of a string, without the NUL. Also those of a `char` array's last dimension; if that is fixed, without
    /// the NULs at its end.
    String(Vec<u8>),
    /// The elements of an array. With several dimensions, its elements are arrays, with the slowest-varying outermost.
    Array(Vec<Value>),
    /// A nested record: names and values, in the order of the fields.
    Record(Vec<(Box<str>, Value)>),
}

/// Creates the body of a record, as a machine of this format's kind would have it in memory and send it: with blocks in
/// the order of the walk, and zeros in all gaps.
///
/// Fields that `record` lacks become zero, null, or an enumeration's symbol for 0 (its first symbol, if 0 has none), unless
/// [`complete`] has given them their defaults, or refused that, before.
/// The lengths of dynamic arrays follow from the arrays; `record` may contain length fields, but need not. Numbers are
/// converted if that loses nothing. Floating-point numbers are rounded to the nearest, ties to even.
///
/// ```
/// use isoform_core::{Layout, Shape, Value, Verifier, value};
/// let track = Shape::new("track").field("name", "string").field("n", "int").field("height", "float[n]");
/// let record = Value::Record(vec![
///     ("name".into(), Value::String(b"K2".to_vec())),
///     ("height".into(), Value::Array(vec![Value::Float(5150.0), Value::Float(8611.0)])),
/// ]);
/// let body = value::body(&track.on(&Layout::POWERPC)?, &record)?;
/// assert_eq!(body[..12], [0, 0, 0, 12 + 4, 0, 0, 0, 2, 0, 0, 0, 24]);
/// # Ok::<(), isoform_core::Error>(())
/// ```
///
/// # Errors
/// With the path of the field at fault: [`WrongType`](crate::Code::WrongType) for a value of another kind,
/// [`NoSuchField`](crate::Code::NoSuchField) for an unknown field or symbol, [`Symbol`](crate::Code::Symbol) for a number
/// that no symbol has, [`Overflow`](crate::Code::Overflow) or [`Underflow`](crate::Code::Underflow) for a number that does
/// not fit, [`Inexact`](crate::Code::Inexact) for an integer that a float cannot hold,
/// [`Shape`](crate::Code::Shape) for arrays of other dimensions, [`Lengths`](crate::Code::Lengths) if arrays do not agree
/// with each other or with a given length, [`TooLong`](crate::Code::TooLong) for text longer than its array,
/// [`BadRecord`](crate::Code::BadRecord) for a string with a NUL or a field given twice, and
/// [`Size`](crate::Code::Size) if the body cannot be addressed.
pub fn body(format: &Format, record: &Value) -> Result<Vec<u8>> {
    write::body(format, record)
}

impl Value {
    fn wrong_type(&self, expected: impl fmt::Display) -> Error {
        Error::new(Code::WrongType).expected(expected).found(self)
    }
}

impl fmt::Display for Value {
    /// A short form, for messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Boolean(truth) => write!(f, "{truth}"),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Unsigned(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number:?}"),
            Value::Decimal(digits) => f.write_str(digits),
            Value::Complex(parts) => write!(f, "[{}, {}]", parts[0], parts[1]),
            Value::Char(byte) => write!(f, "the character {:?}", char::from(*byte)),
            Value::Symbol(name) => write!(f, "{name}"),
            Value::String(text) => write!(f, "a string of {} bytes", text.len()),
            Value::Array(values) => write!(f, "an array of {}", values.len()),
            Value::Record(entries) => write!(f, "a record of {} fields", entries.len()),
        }
    }
}

/// The error for a field that a structure does not have, with the fields that it has.
pub(crate) fn no_such_field(structure: &Structure, name: &str) -> Error {
    let names: Vec<&str> = structure.fields().iter().map(|field| &*field.name).collect();
    Error::new(Code::NoSuchField).expected(one_of(&names)).found(format_args!("{name:?}"))
}

/// Names to choose from; only the first of them, if there are many.
fn one_of(names: &[&str]) -> String {
    const SHOWN: usize = 12;
    match names {
        [only] => (*only).into(),
        _ if names.len() <= SHOWN => format!("one of {}", names.join(", ")),
        _ => format!("one of {} and {} more", names[..SHOWN].join(", "), names.len() - SHOWN),
    }
}
