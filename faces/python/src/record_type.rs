//! Types of records, as `isoform._records` describes them: by memory, or by fields.

use crate::face::face;
use crate::format::PyFormat;
use crate::rows::listed;
use crate::rules;
use isoform::{Format, Rules};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyBufferError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet};
use std::collections::HashMap;

/// A type of records.
pub(crate) struct RecordType {
    object: Py<PyAny>,
    format: Format,
    is_memory: bool,
}

impl RecordType {
    /// The type of records for a dtype, a class, a ctypes structure or a format.
    pub(crate) fn of(record: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<RecordType> {
        let py = record.py();
        let object = face(py)?.kind_of.bind(py).call1((record, name))?;
        let format = object.getattr(intern!(py, "format"))?.cast::<PyFormat>()?.get().0.clone();
        let is_memory = object.getattr(intern!(py, "is_memory"))?.is_truthy()?;
        Ok(RecordType { object: object.unbind(), format, is_memory })
    }

    pub(crate) fn format(&self) -> &Format {
        &self.format
    }

    /// Whether its records are their memory. Else they are objects, which have fields.
    pub(crate) fn is_memory(&self) -> bool {
        self.is_memory
    }

    /// The rules of the type's fields, for records that come.
    pub(crate) fn rules(&self, py: Python<'_>) -> PyResult<Rules> {
        rules::add(Rules::new(), &self.format, &self.object.bind(py).getattr(intern!(py, "rules"))?)
    }

    /// The rules for objects that lack fields. The object that a record is has the defaults already.
    pub(crate) fn gaps(&self, py: Python<'_>) -> PyResult<Rules> {
        rules::add(Rules::new(), &self.format, &self.object.bind(py).getattr(intern!(py, "gaps"))?)
    }

    /// The bytes of records that are their memory.
    pub(crate) fn bytes<'py>(
        &self,
        py: Python<'py>,
        records: &Bound<'py, PyAny>,
    ) -> PyResult<PyReadonlyArray1<'py, u8>> {
        let bytes = self.object.bind(py).call_method1(intern!(py, "memory"), (records,))?;
        let bytes = bytes.cast_into::<PyArray1<u8>>().map_err(PyErr::from)?;
        bytes.try_readonly().map_err(|error| PyBufferError::new_err(error.to_string()))
    }

    /// The record of these bytes.
    pub(crate) fn one_of<'py>(&self, bytes: Bound<'py, PyArray1<u8>>) -> PyResult<Bound<'py, PyAny>> {
        let py = bytes.py();
        self.object.bind(py).call_method1(intern!(py, "one_of"), (bytes,))
    }

    /// The records of these bytes.
    pub(crate) fn many_of<'py>(&self, bytes: Bound<'py, PyArray1<u8>>) -> PyResult<Bound<'py, PyAny>> {
        let py = bytes.py();
        self.object.bind(py).call_method1(intern!(py, "many_of"), (bytes,))
    }

    /// The object that a record is, which has fields.
    pub(crate) fn one<'py>(&self, record: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = record.py();
        self.object.bind(py).call_method1(intern!(py, "one"), (record,))
    }

    /// The objects that a record or a list of them is, and whether it is a list.
    pub(crate) fn each<'py>(&self, records: &Bound<'py, PyAny>) -> PyResult<(Vec<Bound<'py, PyAny>>, bool)> {
        let py = records.py();
        let each = self.object.bind(py).call_method1(intern!(py, "each"), (records,))?;
        let (all, is_list): (Bound<'py, PyAny>, bool) = each.extract()?;
        Ok((listed(&all, "records")?, is_list))
    }

    /// The object that has these fields. The sender lacks those at the paths `lacking`.
    pub(crate) fn load<'py>(
        &self,
        fields: Bound<'py, PyDict>,
        lacking: &Bound<'py, PyFrozenSet>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = fields.py();
        self.object.bind(py).call_method1(intern!(py, "load"), (fields, lacking))
    }

    /// The fields, each with its structure, whose defaults no rule can state. [`load`](RecordType::load) gives them.
    pub(crate) fn afterwards(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        match self.is_memory {
            true => Ok(Vec::new()),
            false => self.object.bind(py).getattr(intern!(py, "afterwards"))?.extract(),
        }
    }

    /// The arrays that must not be `None`, by the names of their structures.
    pub(crate) fn arrays(&self, py: Python<'_>) -> PyResult<HashMap<String, Vec<String>>> {
        match self.is_memory {
            true => Ok(HashMap::new()),
            false => self.object.bind(py).getattr(intern!(py, "arrays"))?.extract(),
        }
    }

    pub(crate) fn object<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.object.bind(py)
    }
}
