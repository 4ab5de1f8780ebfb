//! What a default puts into its field.

use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Element, Field, Machine};
use crate::value::Value;

/// The contents of a field with its default.
pub(super) enum Contents<'v> {
    /// A string.
    Text(&'v [u8]),
    /// A null pointer.
    Null,
    /// Bytes in the record itself.
    Bytes(Vec<u8>),
}

/// The contents of a field whose default is `value`.
///
/// # Errors
/// [`Code::Declaration`] if the field cannot have this default.
pub(super) fn contents<'v>(field: &Field, machine: Machine, value: &'v Value) -> Result<Contents<'v>> {
    let refused = |expected| Error::new(Code::Declaration).expected(expected).found(value);
    match (value, &field.element, field.indirect) {
        (Value::String(text), Element::String, false) if field.dims.is_empty() => match text.contains(&0) {
            true => Err(Error::new(Code::Declaration).expected("a string without NUL")),
            false => Ok(Contents::Text(text)),
        },
        (Value::Null, Element::String, _) | (Value::Null, _, true) => Ok(Contents::Null),
        (_, _, true) => Err(refused("null, the only default behind a pointer")),
        _ => Ok(Contents::Bytes(bytes(field, machine, value)?)),
    }
}

/// Checks that a field can have this default.
///
/// # Errors
/// [`Code::Declaration`] if it cannot, [`Code::Size`] if there is no memory for it.
pub(crate) fn check(field: &Field, value: &Value) -> Result<()> {
    // Which values fit is the same on all machines.
    contents(field, Machine::NATIVE, value).map(drop)
}

/// The bytes of a field that lies in its record and holds `value`. A single value applies to every element. Arrays of
/// several dimensions are arrays of rows, or one array of all elements.
///
/// # Errors
/// [`Code::Declaration`] if it is no value of the field, [`Code::Size`] if there is no memory for it.
fn bytes(field: &Field, machine: Machine, value: &Value) -> Result<Vec<u8>> {
    let unfit = |error: Error| {
        let unfit = Error::new(Code::Declaration).within(error.path());
        unfit.expected(error.expectation()).found(error.actual())
    };
    let size = field.fixed_count().unwrap_or(0) * field.element_size(machine.pointer);
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(size)
        .map_err(|_| Error::new(Code::Size).found(format_args!("a default of {size} bytes")))?;
    bytes.resize(size, 0);
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
            let mut places = bytes.chunks_exact_mut(size * (count / length)).zip(rows).enumerate();
            places.try_for_each(|(i, (place, row))| within(i, write(field, inner, machine, row, place)))
        }
        (Value::Array(values), _) if values.len() != count => {
            let error = Error::new(Code::Declaration).expected(format_args!("{count} elements"));
            Err(error.found(values.len()))
        }
        (Value::Array(values), _) => {
            let mut places = elements.zip(values).enumerate();
            places.try_for_each(|(i, (bytes, value))| within(i, value.write(&field.element, machine, bytes)))
        }
        (Value::String(text), _) if field.element == Element::Char && text.len() <= count => {
            bytes[..text.len()].copy_from_slice(text);
            Ok(())
        }
        (Value::String(text), [_, ..]) if field.element == Element::Char => {
            Err(Error::new(Code::TooLong).expected(format_args!("at most {count} bytes")).found(text.len()))
        }
        (single, _) => elements.try_for_each(|bytes| single.write(&field.element, machine, bytes)),
    }
}

fn within(index: usize, done: Result<()>) -> Result<()> {
    done.map_err(|error| error.within(&format!("[{index}]")))
}

fn is_row(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::String(_))
}
