//! Encodes records: from memory for arrays and ctypes structures, and from the fields of other objects.

use crate::error::{raise, wrong_type};
use crate::format::PyFormat;
use crate::large::Large;
use crate::message::{PyBatch, PyMessage};
use crate::record_type::RecordType;
use crate::value::Gaps;
use crate::{rules, value};
use isoform::{Batch, Format};
use isoform_dynamic::flat;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

/// Encodes records as messages, without converting them.
///
/// `missing` is the treatment of fields that a dict or an object lacks, and that have no default: ``refuse``, with all of them in
/// the error, or ``zero``. `rules` are as for a :class:`Decoder`; encoders need the defaults among them.
#[pyclass(name = "Encoder", module = "isoform")]
pub(crate) struct PyEncoder {
    kind: RecordType,
    /// What becomes of fields that a record lacks.
    gaps: Gaps,
    /// For records that are plain memory.
    memory: Option<flat::Encoder>,
    /// For objects with large arrays.
    large: Option<Large>,
}

/// The result of encoding an array, a list or a record, in parts.
pub(crate) enum Part<'a> {
    Body(&'a Format, &'a [u8]),
    Batch(Batch<'a>),
}

impl PyEncoder {
    pub(crate) fn wire(&self) -> &Format {
        self.kind.format()
    }

    /// Whether its records are plain memory.
    pub(crate) fn is_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Passes the body of an object, or of each object in a list, to `act`. The path of an error begins with the index in the list.
    pub(crate) fn bodies(
        &self,
        records: &Bound<'_, PyAny>,
        mut act: impl FnMut(Vec<u8>) -> PyResult<()>,
    ) -> PyResult<()> {
        let (objects, are_many) = self.kind.each(records)?;
        objects.iter().enumerate().try_for_each(|(index, object)| {
            let named = |error| if are_many { value::named(records.py(), error, &format!("[{index}]")) } else { error };
            act(self.body(object).map_err(named)?)
        })
    }

    /// The body of an object.
    pub(crate) fn body(&self, object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        if let Some(large) = &self.large
            && let Some(body) = large.body(&self.gaps, object)?
        {
            return Ok(body);
        }
        value::body(self.kind.format(), &self.gaps, object)
    }

    /// The bytes of records that are plain memory.
    pub(crate) fn bytes<'py>(
        &self,
        py: Python<'py>,
        records: &Bound<'py, PyAny>,
    ) -> PyResult<PyReadonlyArray1<'py, u8>> {
        self.kind.bytes(py, records)
    }

    /// Passes all messages of a record, an array or a list to `act`.
    pub(crate) fn each(
        &mut self,
        records: &Bound<'_, PyAny>,
        mut act: impl FnMut(Part<'_>) -> PyResult<()>,
    ) -> PyResult<()> {
        let py = records.py();
        if self.memory.is_none() {
            return self.bodies(records, |body| act(Part::Body(self.kind.format(), &body)));
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
    #[pyo3(signature = (record, name=None, *, missing="refuse", rules=None))]
    pub(crate) fn new(
        record: &Bound<'_, PyAny>,
        name: Option<&str>,
        missing: &str,
        rules: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyEncoder> {
        let kind = RecordType::of(record, name)?;
        let rules = rules::of_gaps(record.py(), &kind, rules, missing)?;
        let gaps = Gaps { rules, arrays: kind.arrays(record.py())? };
        let format = kind.format();
        let memory = kind.is_memory().then(|| flat::Encoder::new(format)).transpose().map_err(raise)?;
        let large = if memory.is_none() { Large::new(format) } else { None };
        Ok(PyEncoder { kind, gaps, memory, large })
    }

    /// The format of its messages.
    #[getter]
    fn format(&self) -> PyFormat {
        PyFormat(self.kind.format().clone())
    }

    /// Encodes a record.
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

    /// Encodes all records of an array. Returns `None` if it is empty.
    fn encode_many(&mut self, py: Python<'_>, records: &Bound<'_, PyAny>) -> PyResult<Option<PyBatch>> {
        if self.memory.is_none() {
            return Err(raise(wrong_type("a type whose records an array can hold", self.kind.object(py))));
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
