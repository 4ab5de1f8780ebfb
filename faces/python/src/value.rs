//! Python objects as values for a body, for the fields of a format: from a dict, from attributes, or from a NumPy
//! record.

use crate::error::{raise, wrong_type};
use isoform::core::declare::Kind;
use isoform::core::format::Structure;
use isoform::core::{Dimension, Element, Field, Value, value};
use isoform::{Code, Error, Format, Rules};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyFrozenSet, PySet, PyString, PyTuple};
use std::collections::HashMap;

/// What an object may lack.
#[derive(Default)]
pub(crate) struct Gaps {
    /// The rules for fields that it lacks.
    pub(crate) rules: Rules,
    /// The arrays that must not be `None`, by the names of their structures.
    pub(crate) arrays: HashMap<String, Vec<String>>,
}

impl Gaps {
    /// Refuses an array that is `None`. Does not look at the fields with the indices `skipped`.
    fn check(&self, structure: &Structure, record: &Value, skipped: &[usize]) -> Result<(), Error> {
        if self.arrays.is_empty() {
            return Ok(());
        }
        let Value::Record(entries) = record else { return Ok(()) };
        let arrays = self.arrays.get(structure.name());
        for (name, value) in entries {
            let Some(index) = structure.index_of(name).filter(|index| !skipped.contains(index)) else { continue };
            let field = &structure.fields()[index];
            let is_array = || arrays.is_some_and(|arrays| arrays.iter().any(|array| **array == **name));
            match (&field.element, value) {
                (_, Value::Null) if is_array() => {
                    let error = Error::new(Code::WrongType).expected(expected(field, &field.dims)).found("None");
                    return Err(error.within(name));
                }
                (Element::Structure(inner), _) => {
                    self.check_each(inner, value).map_err(|error| error.within(name))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The same for a record, or an array of records.
    fn check_each(&self, structure: &Structure, value: &Value) -> Result<(), Error> {
        let Value::Array(values) = value else { return self.check(structure, value, &[]) };
        let check = |(index, value)| {
            self.check_each(structure, value).map_err(|error: Error| error.within(&format!("[{index}]")))
        };
        values.iter().enumerate().try_for_each(check)
    }
}

/// The body of a record whose fields are the items of a dict or a NumPy record, or the attributes of another object.
///
/// Fields that it lacks become their defaults. Without one, the record is refused.
pub(crate) fn body(format: &Format, gaps: &Gaps, object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    body_without(format, gaps, object, &[])
}

/// The same, without the fields of these indices.
pub(crate) fn body_without(
    format: &Format,
    gaps: &Gaps,
    object: &Bound<'_, PyAny>,
    skipped: &[usize],
) -> PyResult<Vec<u8>> {
    let mut record = record(format.structure(), object, skipped)?;
    gaps.check(format.structure(), &record, skipped).map_err(raise)?;
    if let Value::Record(entries) = &mut record {
        let fields = format.structure().fields();
        entries.retain(|(name, _)| !skipped.iter().any(|&index| fields[index].name == *name));
        entries.extend(skipped.iter().map(|&index| (fields[index].name.clone(), Value::Null)));
    }
    value::complete(format, &mut record, &gaps.rules).map_err(raise)?;
    value::body(format, &record).map_err(raise)
}

/// A value for a field outside of any record: its default.
pub(crate) fn of_field(field: &Field, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::Null);
    }
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
        let is_pointer = field.indirect && dims.len() == field.dims.len();
        return match is_pointer || dims.is_empty() && field.element == Element::String {
            true => Ok(Value::Null),
            false => Err(raise(wrong_type(&expected(field, dims), object))),
        };
    }
    let [_, inner @ ..] = dims else { return element(&field.element, object) };
    if let (Element::Char, [], Some(text)) = (&field.element, inner, text(object)?) {
        return Ok(Value::String(text));
    }
    // A program can iterate over these, but what it gets are not the elements of an array.
    if object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyDict>()
        || object.is_instance_of::<PySet>()
        || object.is_instance_of::<PyFrozenSet>()
        || is_time(object)?
    {
        return Err(raise(wrong_type(&expected(field, dims), object)));
    }
    // A NumPy array is gone through faster as a list; one of records would lose their names by that.
    let listed = match (&field.element, object.getattr_opt("tolist")?) {
        (Element::Structure(_), _) | (_, None) => object.clone(),
        (_, Some(tolist)) => tolist.call0()?,
    };
    let Some(items) = unless_none(object, listed.try_iter())? else {
        return Err(raise(wrong_type(&expected(field, dims), object)));
    };
    // The stated length may be wrong.
    let mut values = Vec::with_capacity(unless_none(object, listed.len())?.unwrap_or(0).min(1 << 16));
    for (index, item) in items.enumerate() {
        let value = any(field, inner, &item?).map_err(|error| named(object.py(), error, &format!("[{index}]")))?;
        values.push(value);
    }
    Ok(Value::Array(values))
}

/// The values that a field takes. With fewer dimensions than those of the field, the values that a row of its array takes.
fn expected(field: &Field, dims: &[Dimension]) -> String {
    match (&field.element, dims) {
        (Element::Char, [_]) => "text".into(),
        (element, []) => Kind::of(element).to_string(),
        (element, _) => format!("an array of {}", Kind::of(element)),
    }
}

fn element(element: &Element, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let value = match element {
        Element::Structure(structure) => return record(structure, object, &[]),
        _ if !is_single(object)? => None,
        Element::Integer { .. } => integer(object)?,
        Element::Float { .. } => float(object)?,
        Element::Complex { .. } => complex(object)?,
        Element::Char => match text(object)?.as_deref() {
            Some([]) => Some(Value::Char(0)),
            Some([byte]) => Some(Value::Char(*byte)),
            Some(_) => None,
            None => integer(object)?,
        },
        Element::Boolean { .. } => boolean(object)?.map(Value::Boolean),
        Element::Enumeration(_) => symbol(object)?,
        Element::String => text(object)?.map(Value::String),
    };
    value.ok_or_else(|| raise(wrong_type(&Kind::of(element).to_string(), object)))
}

/// Whether it is a time of NumPy, or an array of times: numbers whose unit would be lost.
fn is_time(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(dtype) = object.getattr_opt("dtype")? else { return Ok(false) };
    Ok(dtype.getattr_opt("kind")?.is_some_and(|kind| ["M", "m"].iter().any(|time| kind.eq(time).unwrap_or(false))))
}

/// Whether it is one value. An array of NumPy is one if it has no dimensions, and is not masked.
fn is_single(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Ok(array) = object.cast::<PyUntypedArray>() else { return Ok(true) };
    let is_masked = object.getattr_opt("mask")?.is_some_and(|mask| mask.is_truthy().unwrap_or(true));
    Ok(array.ndim() == 0 && !is_masked)
}

/// A `bool` of Python or NumPy.
fn boolean(object: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    let is_boolean = match object.getattr_opt("dtype")? {
        Some(dtype) => dtype.getattr_opt("kind")?.is_some_and(|kind| kind.eq("b").unwrap_or(false)),
        None => object.is_instance_of::<PyBool>(),
    };
    is_boolean.then(|| object.is_truthy()).transpose()
}

/// What an object becomes, or `None` if Python says with a `TypeError` that it is no such thing.
/// Other exceptions are those of the object, such as Ctrl-C within a method of it.
fn unless_none<T>(object: &Bound<'_, PyAny>, made: PyResult<T>) -> PyResult<Option<T>> {
    match made {
        Ok(made) => Ok(Some(made)),
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

fn integer(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    match unless_none(object, object.extract::<i64>()) {
        Ok(Some(number)) => return Ok(Some(Value::Integer(number.into()))),
        Err(error) if !error.is_instance_of::<PyOverflowError>(object.py()) => return Err(error),
        _ => {} // perhaps a longer one
    }
    let Some(index) = object.getattr_opt("__index__")? else { return Ok(None) };
    let Some(number) = unless_none(object, index.call0())? else { return Ok(None) };
    Ok(match (number.extract::<i128>(), number.extract::<u128>()) {
        (Ok(number), _) => Some(Value::Integer(number)),
        (_, Ok(number)) => Some(Value::Unsigned(number)),
        _ => {
            // Python refuses to print very long integers.
            let found = match number.str() {
                Ok(digits) if digits.len()? <= 60 => digits.to_string(),
                _ => "one that is longer".into(),
            };
            return Err(raise(Error::new(Code::Overflow).expected("an integer of 16 bytes").found(found)));
        }
    })
}

/// A number with a fraction. A `Decimal` and a long double of NumPy keep all their digits.
fn float(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if object.is_exact_instance_of::<PyFloat>() {
        return Ok(object.extract::<f64>().ok().map(Value::Float));
    }
    let is_wide = |name: &str| matches!(name, "Decimal" | "longdouble" | "float128" | "float96");
    if is_wide(object.get_type().name()?.to_cow()?.as_ref()) {
        let digits = object.str()?.to_cow()?.to_string();
        if digits.bytes().any(|byte| byte.is_ascii_digit()) {
            return Ok(Some(Value::Decimal(digits.into())));
        }
    }
    if text(object)?.is_some() {
        return Ok(None);
    }
    if let Some(number) = integer(object)? {
        return Ok(Some(number));
    }
    if is_time(object)? {
        return Ok(None);
    }
    let number = object.extract::<f64>();
    if number.as_ref().is_err_and(|error| error.is_instance_of::<PyOverflowError>(object.py())) {
        let found = object.get_type().name()?.to_string();
        return Err(raise(
            Error::new(Code::Overflow).expected("a number that a float of Python can hold").found(found),
        ));
    }
    Ok(unless_none(object, number)?.map(Value::Float))
}

/// A complex number, or a pair of its parts.
fn complex(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    let parts = match (object.getattr_opt("real")?, object.getattr_opt("imag")?) {
        (Some(real), Some(imaginary)) => [real, imaginary],
        _ => match (object.len(), object.get_item(0), object.get_item(1)) {
            (Ok(2), Ok(real), Ok(imaginary)) => [real, imaginary],
            _ => return Ok(None),
        },
    };
    let [real, imaginary] = parts;
    Ok(float(&real)?.zip(float(&imaginary)?).map(|(real, imaginary)| Value::Complex(Box::new([real, imaginary]))))
}

/// A member of an `enum.Enum`, by its name; a symbol; or a number.
fn symbol(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if let Ok(name) = object.cast::<PyString>() {
        let name = String::from_utf8(utf8(name, "strict")?);
        return Ok(name.ok().map(|name| Value::Symbol(name.into())));
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
    utf8(text, "surrogateescape").map(Some)
}

/// The bytes of a `str`, with surrogates as Python calls it.
fn utf8(text: &Bound<'_, PyString>, surrogates: &str) -> PyResult<Vec<u8>> {
    if let Ok(text) = text.to_cow() {
        return Ok(text.as_bytes().to_vec());
    }
    text.call_method1("encode", ("utf-8", surrogates)).and_then(|bytes| bytes.extract()).map_err(|fault| {
        let index = fault.value(text.py()).getattr("start").map(|index| format!(" at index {index}"));
        let found = format!("a lone surrogate{}", index.unwrap_or_default());
        raise(Error::new(Code::WrongType).expected("text that UTF-8 can represent").found(found))
    })
}

/// The same exception, seen from the record or array that holds the field at fault.
pub(crate) fn named(py: Python<'_>, error: PyErr, outer: &str) -> PyErr {
    let value = error.value(py);
    match value.call_method1("_within", (outer,)) {
        Ok(within) => PyErr::from_value(within),
        Err(_) => error,
    }
}
