//! From records to messages: of arrays and ctypes structures as they lie in memory, of other objects by their fields.

use crate::error::{raise, wrong_type};
use crate::format::PyFormat;
use crate::kind::Kind;
use crate::large::Large;
use crate::message::{PyBatch, PyMessage};
use crate::value;
use isoform::{Batch, Format};
use isoform_dynamic::flat;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

/// Makes messages of records. See `isoform.Encoder`.
#[pyclass(name = "Encoder", module = "isoform")]
pub(crate) struct PyEncoder {
    kind: Kind,
    /// For records that are their memory.
    memory: Option<flat::Encoder>,
    /// For objects that can have large arrays.
    large: Option<Large>,
}

/// What an array, a list or a record is made to, part by part.
pub(crate) enum Part<'a> {
    Body(&'a Format, &'a [u8]),
    Batch(Batch<'a>),
}

impl PyEncoder {
    pub(crate) fn wire(&self) -> &Format {
        self.kind.format()
    }

    /// Whether its records are their memory.
    pub(crate) fn is_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// The objects that an object or a list is.
    pub(crate) fn objects<'py>(&self, records: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
        self.kind.each(records)
    }

    /// The body of one of them.
    pub(crate) fn body(&self, object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        if let Some(large) = &self.large
            && let Some(body) = large.body(object)?
        {
            return Ok(body);
        }
        value::body(self.kind.format(), object)
    }

    /// The bytes of records that are their memory.
    pub(crate) fn bytes<'py>(
        &self,
        py: Python<'py>,
        records: &Bound<'py, PyAny>,
    ) -> PyResult<PyReadonlyArray1<'py, u8>> {
        self.kind.bytes(py, records)
    }

    /// Gives all messages of a record, an array or a list to `act`.
    pub(crate) fn each(
        &mut self,
        records: &Bound<'_, PyAny>,
        mut act: impl FnMut(Part<'_>) -> PyResult<()>,
    ) -> PyResult<()> {
        let py = records.py();
        if self.memory.is_none() {
            for object in self.objects(records)? {
                let body = self.body(&object?)?;
                act(Part::Body(self.kind.format(), &body))?;
            }
            return Ok(());
        }
        let bytes = self.bytes(py, records)?;
        let (Some(encoder), bytes) = (&mut self.memory, bytes.as_slice()?) else { return Ok(()) };
        match py.detach(|| encoder.many(bytes)).map_err(raise)? {
            Some(batch) => act(Part::Batch(batch)),
            None => Ok(()),
        }
    }
}

#[pymethods]
impl PyEncoder {
    #[new]
    #[pyo3(signature = (record, name=None))]
    pub(crate) fn new(record: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<PyEncoder> {
        let kind = Kind::of(record, name)?;
        let format = kind.format();
        let memory = kind.is_memory().then(|| flat::Encoder::new(format)).transpose().map_err(raise)?;
        let large = if memory.is_none() { Large::new(format) } else { None };
        Ok(PyEncoder { kind, memory, large })
    }

    #[getter]
    fn format(&self) -> PyFormat {
        PyFormat(self.kind.format().clone())
    }

    /// The message of a record.
    fn encode(&mut self, py: Python<'_>, record: &Bound<'_, PyAny>) -> PyResult<PyMessage> {
        if self.memory.is_none() {
            let object = self.kind.one(record)?;
            let body = self.body(&object)?;
            return Ok(PyMessage::of_body(py, self.kind.format(), &body));
        }
        let bytes = self.bytes(py, record)?;
        let (Some(encoder), bytes) = (&mut self.memory, bytes.as_slice()?) else { unreachable!("asked before") };
        PyMessage::outgoing(py, &encoder.one(bytes).map_err(raise)?)
    }

    /// The messages of all records of an array; `None` if it has none.
    fn encode_many(&mut self, py: Python<'_>, records: &Bound<'_, PyAny>) -> PyResult<Option<PyBatch>> {
        if self.memory.is_none() {
            return Err(raise(wrong_type("a type of records that lie in arrays", self.kind.object(py))));
        }
        let bytes = self.bytes(py, records)?;
        let (Some(encoder), bytes) = (&mut self.memory, bytes.as_slice()?) else { unreachable!("asked before") };
        let batch = py.detach(|| encoder.many(bytes)).map_err(raise)?;
        batch.map(|batch| PyBatch::of(py, &batch)).transpose()
    }

    fn __repr__(&self) -> String {
        format!("Encoder({:?})", self.kind.format())
    }
}
