//! The bytes of a default.

use crate::error::{Code, Error, Result};
use crate::format::{Element, Field, Machine};
use crate::value::Value;

/// The bytes of a field that lies in its record and holds `value`. A single value applies to every element.
///
/// # Errors
/// [`Code::Declaration`] if it is no value of the field.
pub(super) fn bytes(field: &Field, machine: Machine, value: &Value) -> Result<Vec<u8>> {
    let unfit = |error: Error| match error.code() {
        Code::Declaration => error,
        _ => Error::new(Code::Declaration).expected(&field.element).found(format_args!("{value:?}")),
    };
    let count = field.fixed_count().unwrap_or(0);
    let size = field.element_size(machine.pointer);
    let mut bytes = vec![0; count * size];
    let mut elements = bytes.chunks_exact_mut(size);
    match value {
        Value::Array(values) if values.len() != count => {
            let error = Error::new(Code::Declaration).expected(format_args!("{count} elements"));
            return Err(error.found(values.len()));
        }
        Value::Array(values) => {
            elements.zip(values).try_for_each(|(bytes, value)| value.write(&field.element, machine, bytes))
        }
        Value::String(text) if field.element == Element::Char && text.len() <= count => {
            bytes[..text.len()].copy_from_slice(text);
            Ok(())
        }
        single => elements.try_for_each(|bytes| single.write(&field.element, machine, bytes)),
    }
    .map_err(unfit)?;
    Ok(bytes)
}
