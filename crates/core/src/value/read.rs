//! Creates values from views.

use super::Value;
use crate::scalar::{Float, Real};
use crate::view::{Array, Item, View};

impl View<'_> {
    /// The whole record, as a tree of owned values. [`value::body`](crate::value::body) turns it into the same body
    /// again, except that a pointer to a null string becomes a null pointer.
    pub fn to_value(&self) -> Value {
        Value::Record(self.fields().map(|(field, item)| (field.name.clone(), item.to_value())).collect())
    }
}

impl Array<'_> {
    /// Its elements as owned values, or as text if they are of `char`.
    pub fn to_value(&self) -> Value {
        match self.text() {
            Some(text) => Value::String(text.to_vec()),
            None => Value::Array(self.iter().map(|item| item.to_value()).collect()),
        }
    }
}

impl Item<'_> {
    /// The same as an owned value.
    pub fn to_value(&self) -> Value {
        match self {
            Item::Null => Value::Null,
            Item::Boolean(truth) => Value::Boolean(*truth),
            Item::Integer(number) => Value::Integer(*number),
            Item::Unsigned(number) => Value::Unsigned(*number),
            Item::Float(float) => number(*float),
            Item::Complex(parts) => Value::Complex(Box::new(parts.map(number))),
            Item::Char(byte) => Value::Char(*byte),
            Item::Symbol(symbol) => Value::Symbol(symbol.name.clone()),
            Item::String(text) => Value::String(text.to_vec()),
            Item::Array(array) => array.to_value(),
            Item::Record(view) => view.to_value(),
        }
    }
}

fn number(float: Float) -> Value {
    match float.value() {
        Real::Double(value) => Value::Float(value),
        Real::Wide(_) => Value::Decimal(float.to_string().into()),
    }
}
