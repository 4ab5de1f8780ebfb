//! Large arrays of objects: a NumPy array of the field's own type is sent from its memory, and not number by number.
//!
//! It is only the short way of what `value` does: where anything is unusual - another dtype, a length that the object gives
//! itself, arrays that do not agree - it leaves the object to that, which finds what is wrong.

use crate::error::raise;
use crate::face::face;
use crate::value::Gaps;
use crate::{item, value};
use isoform::core::{Dimension, Field, Structure};
use isoform::{Format, Machine};
use isoform_dynamic::flat::{self, Placer};
use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Smaller arrays are not worth this way.
const MANY: usize = 64;

/// Makes bodies of objects with large arrays.
pub(crate) struct Large {
    format: Format,
    arrays: Vec<Array>,
    /// Locked only without the GIL.
    placer: Mutex<Placer>,
}

/// A field that can have a large array.
struct Array {
    field: usize,
    /// The fields that have its lengths.
    lengths: Vec<usize>,
    dtype: String,
}

/// A large array of an object.
struct Found<'a, 'py> {
    array: &'a Array,
    bytes: PyReadonlyArray1<'py, u8>,
    dims: Vec<usize>,
}

impl Large {
    /// Prepares a format that has fields for large arrays.
    pub(crate) fn new(format: &Format) -> Option<Large> {
        let structure = format.structure();
        let arrays: Vec<Array> =
            (0..structure.fields().len()).filter_map(|field| Array::of(structure, field)).collect();
        if arrays.is_empty() || format.machine() != Machine::NATIVE {
            return None;
        }
        Some(Large { format: format.clone(), arrays, placer: Mutex::new(Placer::new(format).ok()?) })
    }

    /// The body of an object; `None` if it has no large arrays, or there is something to be said about them.
    pub(crate) fn body(&self, gaps: &Gaps, object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
        let structure = self.format.structure();
        let mut found = Vec::new();
        for array in &self.arrays {
            found.extend(array.find(&structure.fields()[array.field], object)?);
        }
        if !is_usual(structure, &found, object)? {
            return Ok(None);
        }
        let skipped: Vec<usize> = found.iter().map(|found| found.array.field).collect();
        let rest = value::body_without(&self.format, gaps, object, &skipped)?;
        let mut arrays = Vec::with_capacity(found.len());
        for Found { array, bytes, dims } in &found {
            arrays.push(flat::Array { field: array.field, dims, bytes: bytes.as_slice()? });
        }
        let place = || self.placer.lock().unwrap_or_else(PoisonError::into_inner).body(&rest, &arrays);
        object.py().detach(place).map(Some).map_err(raise)
    }
}

impl Array {
    fn of(structure: &Structure, index: usize) -> Option<Array> {
        let field = &structure.fields()[index];
        let length = |dim: &Dimension| match dim {
            Dimension::Field(length) => Some(*length),
            Dimension::Fixed(_) => None,
        };
        let lengths: Vec<usize> = field.dims.iter().map(length).collect::<Option<_>>()?;
        let dtype = item::dtype(&field.element, structure.machine().order)?;
        (!lengths.is_empty()).then_some(Array { field: index, lengths, dtype })
    }

    fn find<'a, 'py>(&'a self, field: &Field, object: &Bound<'py, PyAny>) -> PyResult<Option<Found<'a, 'py>>> {
        let Some(item) = attribute(object, &field.name)? else { return Ok(None) };
        let Ok(array) = item.cast_into::<PyUntypedArray>() else { return Ok(None) };
        let (py, dims) = (object.py(), array.shape().to_vec());
        let same = array.dtype().is_equiv_to(&numpy::PyArrayDescr::new(py, &*self.dtype)?);
        let is_masked = array.getattr_opt("mask")?.is_some();
        if !same || dims.len() != self.lengths.len() || array.len() < MANY || is_masked {
            return Ok(None);
        }
        let bytes = face(py)?.bytes_of.bind(py).call1((array,))?;
        let bytes = bytes.cast_into::<PyArray1<u8>>()?.try_readonly();
        Ok(bytes.ok().map(|bytes| Found { array: self, bytes, dims }))
    }
}

/// Whether there are such arrays, they agree about their lengths, and nobody else has a say in them.
fn is_usual(structure: &Structure, found: &[Found<'_, '_>], object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (&field, &length) in found.iter().flat_map(|found| found.array.lengths.iter().zip(&found.dims)) {
        if *lengths.entry(field).or_insert(length) != length {
            return Ok(false);
        }
    }
    for &field in lengths.keys() {
        if attribute(object, &structure.fields()[field].name)?.is_some() {
            return Ok(false);
        }
    }
    let uses = |dim: &Dimension| matches!(dim, Dimension::Field(by) if lengths.contains_key(by));
    let users = structure.fields().iter().filter(|field| field.dims.iter().any(uses)).count();
    Ok(!found.is_empty() && users == found.len())
}

fn attribute<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    match object.cast::<PyDict>() {
        Ok(items) => items.get_item(name),
        Err(_) => object.getattr_opt(name),
    }
}
