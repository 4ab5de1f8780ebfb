//! The bytes of a default.

use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Element, Field, Machine};
use crate::value::Value;

/// The bytes of a field that lies in its record and holds `value`. A single value applies to every element. Arrays of
/// several dimensions are arrays of rows, or one array of all elements.
///
/// # Errors
/// [`Code::Declaration`] if it is no value of the field.
pub(super) fn bytes(field: &Field, machine: Machine, value: &Value) -> Result<Vec<u8>> {
    let unfit = |error: Error| match error.code() {
        Code::Declaration => error,
        _ => Error::new(Code::Declaration).expected(&field.element).found(format_args!("{value:?}")),
    };
    let mut bytes = vec![0; field.fixed_count().unwrap_or(0) * field.element_size(machine.pointer)];
    write(field, &field.dims, machine, value, &mut bytes).map_err(unfit)?;
    Ok(bytes)
}

/// Writes the elements of an array of these dimensions.
fn write(field: &Field, dims: &[Dimension], machine: Machine, value: &Value, bytes: &mut [u8]) -> Result<()> {
    let size = field.element_size(machine.pointer);
    let count = bytes.len() / size;
    let mut elements = bytes.chunks_exact_mut(size);
    match (value, dims) {
        (Value::Array(rows), [Dimension::Fixed(length), inner @ ..])
            if !inner.is_empty() && rows.len() == *length && rows.iter().all(is_row) =>
        {
            let places = bytes.chunks_exact_mut(size * (count / length));
            places.zip(rows).try_for_each(|(place, row)| write(field, inner, machine, row, place))
        }
        (Value::Array(values), _) if values.len() != count => {
            let error = Error::new(Code::Declaration).expected(format_args!("{count} elements"));
            Err(error.found(values.len()))
        }
        (Value::Array(values), _) => {
            elements.zip(values).try_for_each(|(bytes, value)| value.write(&field.element, machine, bytes))
        }
        (Value::String(text), _) if field.element == Element::Char && text.len() <= count => {
            bytes[..text.len()].copy_from_slice(text);
            Ok(())
        }
        (single, _) => elements.try_for_each(|bytes| single.write(&field.element, machine, bytes)),
    }
}

fn is_row(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::String(_))
}
