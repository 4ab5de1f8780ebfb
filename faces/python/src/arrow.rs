//! Columns for Arrow's C data interface, in capsules.

use crate::error::raise;
use isoform_dynamic::arrow::{Lent, Memory, Schema};
use isoform_dynamic::columns::Columns;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::slice;

/// An array of NumPy that cannot be written to. Nothing else keeps its values from changing or moving.
struct Values {
    _array: Py<PyArray1<u8>>,
    start: *const u8,
    length: usize,
}

// SAFETY: nobody writes to the array, and it can be released on any thread.
unsafe impl Send for Values {}

// SAFETY: the array, which is held, cannot be written to, and does not move its values.
unsafe impl Lent for Values {
    fn bytes(&self) -> &[u8] {
        // SAFETY: as above; it had so many bytes when it was taken.
        unsafe { slice::from_raw_parts(self.start, self.length) }
    }
}

impl Values {
    fn of(array: Bound<'_, PyArray1<u8>>) -> PyResult<Values> {
        let (start, length) = {
            let view = array.readonly();
            let bytes = view.as_slice()?;
            (bytes.as_ptr(), bytes.len())
        };
        Ok(Values { _array: array.unbind(), start, length })
    }
}

/// A schema in a capsule.
pub(crate) fn schema(py: Python<'_>, schema: Schema) -> PyResult<Bound<'_, PyAny>> {
    Ok(PyCapsule::new_with_value(py, schema, c"arrow_schema")?.into_any())
}

/// The rows of columns, in a capsule. These arrays have the values of those of fixed size.
pub(crate) fn array<'py>(
    py: Python<'py>,
    columns: &Columns,
    values: Vec<Option<Bound<'py, PyArray1<u8>>>>,
) -> PyResult<Bound<'py, PyAny>> {
    let lent = |array: Option<Bound<'py, PyArray1<u8>>>| match array {
        Some(array) => Ok(Some(Memory::Lent(Box::new(Values::of(array)?)))),
        None => Ok(None),
    };
    let values = values.into_iter().map(lent).collect::<PyResult<Vec<_>>>()?;
    let array = columns.array(values).map_err(raise)?;
    Ok(PyCapsule::new_with_value(py, array, c"arrow_array")?.into_any())
}
