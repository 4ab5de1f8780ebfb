//! Columns for Arrow's C data interface, in capsules.

use crate::error::raise;
use isoform::core::Field;
use isoform_dynamic::arrow::{self, Lent, Memory};
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

/// The schema of a record with these fields, in a capsule.
pub(crate) fn schema<'py>(py: Python<'py>, name: &str, fields: &[&Field]) -> PyResult<Bound<'py, PyAny>> {
    let schema = arrow::schema(name, fields.iter().copied()).map_err(raise)?;
    Ok(PyCapsule::new_with_value(py, schema, c"arrow_schema")?.into_any())
}

/// The values of this many rows, in a capsule.
pub(crate) fn array<'py>(
    py: Python<'py>,
    rows: usize,
    columns: Vec<(Field, Bound<'py, PyArray1<u8>>)>,
) -> PyResult<Bound<'py, PyAny>> {
    let lent = |(field, array)| Ok((field, Memory::Lent(Box::new(Values::of(array)?))));
    let columns = columns.into_iter().map(lent).collect::<PyResult<Vec<_>>>()?;
    let array = arrow::array(rows, columns).map_err(raise)?;
    Ok(PyCapsule::new_with_value(py, array, c"arrow_array")?.into_any())
}
