//! The bytes of a default.

use crate::error::{Code, Error, Result};
use crate::format::{Element, Field, FloatKind, Machine, integer_range};
use crate::value::Value;

/// The bytes of a field that lies in its record and holds `value`; a single value is that of every element.
///
/// # Errors
/// [`Code::Declaration`] if it is no value of the field.
pub(super) fn bytes(field: &Field, machine: Machine, value: &Value) -> Result<Vec<u8>> {
    let count = field.fixed_count().unwrap_or(0);
    let values = match value {
        Value::Array(values) if values.len() == count => values.iter().collect(),
        Value::Array(values) => {
            let error = Error::new(Code::Declaration).expected(format_args!("{count} elements"));
            return Err(error.came(values.len()));
        }
        single => vec![single; count],
    };
    let mut bytes = Vec::new();
    values.into_iter().try_for_each(|value| element(&field.element, machine, value, &mut bytes))?;
    Ok(bytes)
}

fn element(element: &Element, machine: Machine, value: &Value, bytes: &mut Vec<u8>) -> Result<()> {
    let unfit = || Error::new(Code::Declaration).expected(element).came(format_args!("{value:?}"));
    let bits = match (element, value) {
        (Element::Integer { signed, size }, Value::Integer(number)) if *size <= 8 => {
            let (low, high) = integer_range(*signed, *size);
            if *number < low || *number > high {
                return Err(unfit());
            }
            *number as u64
        }
        (Element::Float { kind: FloatKind::Ieee, size: 4 }, Value::Float(number)) => (*number as f32).to_bits().into(),
        (Element::Float { kind: FloatKind::Ieee, size: 8 }, Value::Float(number)) => number.to_bits(),
        (Element::Float { .. }, Value::Integer(number)) => {
            return self::element(element, machine, &Value::Float(*number as f64), bytes);
        }
        (Element::Boolean { .. }, Value::Boolean(truth)) => (*truth).into(),
        (Element::Char, Value::Char(byte)) => (*byte).into(),
        (Element::Enumeration(enumeration), Value::Symbol(name)) => enumeration.value(name).ok_or_else(unfit)? as u64,
        (Element::Enumeration(enumeration), Value::Integer(number)) => {
            enumeration.symbol(*number).ok_or_else(unfit)?;
            *number as u64
        }
        _ => return Err(unfit()),
    };
    let start = bytes.len();
    bytes.resize(start + element.size(machine.pointer), 0);
    machine.write(&mut bytes[start..], bits);
    Ok(())
}
