//! A record as a tree of values, for programs that learn its format only at run time: tools, tests, defaults.

/// One value of any type that a field can have.
///
/// Not the fast way: records go through plans, and [`View`](crate::view::View) reads single fields in place.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A null pointer: no string, no array.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A signed integer, or the number of an enumeration.
    Integer(i128),
    /// An unsigned integer beyond `i128`. Smaller ones are [`Value::Integer`].
    Unsigned(u128),
    /// A floating-point number that an `f64` holds exactly.
    Float(f64),
    /// A floating-point number that no `f64` holds, in shortest decimal digits.
    Decimal(Box<str>),
    /// A complex number: real and imaginary part, each [`Value::Float`] or [`Value::Decimal`].
    Complex(Box<[Value; 2]>),
    /// A `char`.
    Char(u8),
    /// A symbol of an enumeration.
    Symbol(Box<str>),
    /// The bytes of a string, without the NUL.
    String(Vec<u8>),
    /// The elements of an array; those of an array of several dimensions are arrays, the slowest-varying outside.
    Array(Vec<Value>),
    /// A nested record: names and values, in the order of the fields.
    Record(Vec<(Box<str>, Value)>),
}
