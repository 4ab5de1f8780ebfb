//! Python objects as values for a body, for the fields of a format: from a dict, from attributes, or from a NumPy
//! record.

use crate::error::{raise, wrong_type};
use isoform::core::declare::Kind;
use isoform::core::format::Structure;
use isoform::core::{Dimension, Element, Field, Value, value};
use isoform::{Error, Format, Rules};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyString, PyTuple};

/// The body of a record whose fields are the items of a dict or a NumPy record, or the attributes of another object.
///
/// Fields that it lacks become their defaults. Without one, the record is refused.
pub(crate) fn body(format: &Format, rules: &Rules, object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    body_without(format, rules, object, &[])
}

/// The same, without the fields of these indices.
pub(crate) fn body_without(
    format: &Format,
    rules: &Rules,
    object: &Bound<'_, PyAny>,
    skipped: &[usize],
) -> PyResult<Vec<u8>> {
    let mut record = record(format.structure(), object, skipped)?;
    if let Value::Record(entries) = &mut record {
        let fields = format.structure().fields();
        entries.retain(|(name, _)| !skipped.iter().any(|&index| fields[index].name == *name));
        entries.extend(skipped.iter().map(|&index| (fields[index].name.clone(), Value::Null)));
    }
    value::complete(format, &mut record, rules).map_err(raise)?;
    value::body(format, &record).map_err(raise)
}

/// A value for a field outside of any record: its default.
pub(crate) fn of_field(field: &Field, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let whole = any(field, &field.dims, object);
    // Of an array, it may be one value for all elements.
    let single = !field.dims.is_empty() && !field.indirect && whole.is_err();
    if single && object.extract::<f64>().is_ok() { any(field, &[], object) } else { whole }
}

fn record(structure: &Structure, object: &Bound<'_, PyAny>, skipped: &[usize]) -> PyResult<Value> {
    if let Ok(items) = object.cast::<PyDict>() {
        let entry = |(name, item): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<(Box<str>, Value)> {
            let name: String = name.extract()?;
            let value = match structure.index_of(&name) {
                Some(index) if skipped.contains(&index) => Value::Null,
                Some(index) => within(&structure.fields()[index], &item)?,
                None => Value::Null, // which is refused, by this name, when the body is made
            };
            Ok((name.into(), value))
        };
        return Ok(Value::Record(items.iter().map(entry).collect::<PyResult<_>>()?));
    }
    let names = match object.getattr_opt("dtype")? {
        Some(dtype) => dtype.getattr("names")?.cast_into::<PyTuple>().ok(),
        None => None,
    };
    let mut entries = Vec::with_capacity(structure.fields().len());
    let fields = structure.fields().iter().enumerate().filter(|(index, _)| !skipped.contains(index));
    for (_, field) in fields {
        let item = match &names {
            Some(names) if names.contains(&*field.name)? => Some(object.get_item(&*field.name)?),
            Some(_) => None,
            None => object.getattr_opt(&*field.name)?,
        };
        if let Some(item) = item {
            entries.push((field.name.clone(), within(field, &item)?));
        }
    }
    match entries.is_empty() && skipped.is_empty() {
        true => Err(raise(wrong_type(&format!("a record with fields of {}", structure.name()), object))),
        false => Ok(Value::Record(entries)),
    }
}

/// The value of a field. What is wrong with it is said with its name.
fn within(field: &Field, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    any(field, &field.dims, object).map_err(|error| named(object.py(), error, &field.name))
}

fn any(field: &Field, dims: &[Dimension], object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::Null);
    }
    let [_, inner @ ..] = dims else { return element(&field.element, object) };
    if let (Element::Char, [], Some(text)) = (&field.element, inner, text(object)?) {
        return Ok(Value::String(text));
    }
    // A NumPy array is gone through faster as a list; one of records would lose their names by that.
    let listed = match (&field.element, object.getattr_opt("tolist")?) {
        (Element::Structure(_), _) | (_, None) => object.clone(),
        (_, Some(tolist)) => tolist.call0()?,
    };
    // The stated length may be wrong.
    let mut values = Vec::with_capacity(listed.len().unwrap_or(0).min(1 << 16));
    for (index, item) in listed.try_iter().map_err(|_| raise(wrong_type("an array", object)))?.enumerate() {
        let value = any(field, inner, &item?).map_err(|error| named(object.py(), error, &format!("[{index}]")))?;
        values.push(value);
    }
    Ok(Value::Array(values))
}

fn element(element: &Element, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let value = match element {
        Element::Integer { .. } => integer(object)?,
        Element::Float { .. } => float(object)?,
        Element::Complex { .. } => complex(object)?,
        Element::Char => match text(object)?.as_deref() {
            Some([]) => Some(Value::Char(0)),
            Some([byte]) => Some(Value::Char(*byte)),
            Some(_) => None,
            None => integer(object)?,
        },
        Element::Boolean { .. } => match object.is_instance_of::<PyBool>() || object.hasattr("dtype")? {
            true => Some(Value::Boolean(object.is_truthy()?)),
            false => None,
        },
        Element::Enumeration(_) => symbol(object)?,
        Element::String => text(object)?.map(Value::String),
        Element::Structure(structure) => return record(structure, object, &[]),
    };
    value.ok_or_else(|| raise(wrong_type(&Kind::of(element).to_string(), object)))
}

fn integer(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if let Ok(number) = object.extract::<i64>() {
        return Ok(Some(Value::Integer(number.into())));
    }
    if object.getattr_opt("__index__")?.is_none() {
        return Ok(None);
    }
    Ok(match (object.extract::<i128>(), object.extract::<u128>()) {
        (Ok(number), _) => Some(Value::Integer(number)),
        (_, Ok(number)) => Some(Value::Unsigned(number)),
        _ => {
            // Python refuses to print very long integers.
            let found = match object.str() {
                Ok(digits) if digits.len()? <= 60 => digits.to_string(),
                _ => "one that is longer".into(),
            };
            return Err(raise(Error::new(isoform::Code::Overflow).expected("an integer of 16 bytes").found(found)));
        }
    })
}

/// A number with a fraction. A `Decimal` keeps all its digits.
fn float(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if object.get_type().name()? == "Decimal" {
        return Ok(Some(Value::Decimal(object.str()?.to_cow()?.as_ref().into())));
    }
    if text(object)?.is_some() {
        return Ok(None);
    }
    if object.getattr_opt("__index__")?.is_some() {
        return integer(object);
    }
    Ok(object.extract::<f64>().ok().map(Value::Float))
}

/// A complex number, or a pair of its parts.
fn complex(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    let parts = match (object.getattr_opt("real")?, object.getattr_opt("imag")?) {
        (Some(real), Some(imaginary)) => [real, imaginary],
        _ => [object.get_item(0)?, object.get_item(1)?],
    };
    let [real, imaginary] = parts;
    Ok(float(&real)?.zip(float(&imaginary)?).map(|(real, imaginary)| Value::Complex(Box::new([real, imaginary]))))
}

/// A member of an `enum.Enum`, by its name; a symbol; or a number.
fn symbol(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if let Ok(name) = object.cast::<PyString>() {
        return Ok(Some(Value::Symbol(name.to_cow()?.as_ref().into())));
    }
    match object.getattr_opt("name")? {
        Some(name) if object.hasattr("value")? => Ok(Some(Value::Symbol(name.extract::<String>()?.into()))),
        _ => integer(object),
    }
}

/// The bytes of a `str`, `bytes` or `bytearray`. Surrogates become the bytes that they stand for.
fn text(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Some(bytes.as_bytes().to_vec()));
    }
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        return Ok(Some(bytes.to_vec()));
    }
    let Ok(text) = object.cast::<PyString>() else { return Ok(None) };
    match text.to_cow() {
        Ok(text) => Ok(Some(text.as_bytes().to_vec())),
        Err(_) => text.call_method1("encode", ("utf-8", "surrogateescape"))?.extract().map(Some),
    }
}

/// The same exception, seen from the record or array that holds the field at fault.
pub(crate) fn named(py: Python<'_>, error: PyErr, outer: &str) -> PyErr {
    let value = error.value(py);
    match value.call_method1("_within", (outer,)) {
        Ok(within) => PyErr::from_value(within),
        Err(_) => error,
    }
}
