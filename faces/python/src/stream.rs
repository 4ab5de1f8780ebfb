//! Streams: messages one after another, through files, pipes and sockets.

use crate::encoder::{Part, PyEncoder};
use crate::error::{raise, wrong_type};
use crate::format::PyFormat;
use crate::io::{Fault, Input, Output};
use crate::message::{PyBatch, PyMessage};
use crate::registry::PyRegistry;
use crate::rows::rows;
use isoform::stream::{Reader, Writer};
use isoform::{Code, Error};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Arc;

/// Reads a stream. See `isoform.Reader`.
#[pyclass(name = "Reader", module = "isoform")]
pub(crate) struct PyReader {
    reader: Option<Reader<Input>>,
    fault: Arc<Fault>,
}

/// Writes a stream. See `isoform.Writer`.
#[pyclass(name = "Writer", module = "isoform")]
pub(crate) struct PyWriter {
    writer: Option<Writer<Output>>,
    fault: Arc<Fault>,
    encoder: Option<Py<PyEncoder>>,
}

impl PyReader {
    /// What is read, and where the exception is with which reading it failed.
    pub(crate) fn reader(&mut self) -> PyResult<(&mut Reader<Input>, &Fault)> {
        let reader = self.reader.as_mut().ok_or_else(|| raise(Error::new(Code::Closed).at("reader")))?;
        Ok((reader, &self.fault))
    }
}

#[pymethods]
impl PyReader {
    #[new]
    #[pyo3(signature = (source, registry=None))]
    fn new(source: &Bound<'_, PyAny>, registry: Option<&PyRegistry>) -> PyResult<PyReader> {
        let registry = registry.map_or_else(isoform::Registry::new, |registry| registry.0.clone());
        let input = Input::of(source)?;
        let fault = input.fault();
        Ok(PyReader { reader: Some(Reader::with_registry(input, registry)), fault })
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// The next message. It may be asked again after the end, if the stream still grows.
    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<PyMessage>> {
        let (reader, fault) = self.reader()?;
        let message = py.detach(|| reader.next()).map_err(|error| fault.raise(error))?;
        Ok(message.map(|message| PyMessage::of_body(py, message.format(), message.body())))
    }

    /// The next messages that have one header, as far as they have come.
    fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<PyBatch>> {
        let (reader, fault) = self.reader()?;
        let batch = py.detach(|| reader.next_batch()).map_err(|error| fault.raise(error))?;
        batch.map(|batch| PyBatch::of(py, &batch)).transpose()
    }

    /// The formats that have come so far.
    fn formats(&mut self) -> PyResult<Vec<PyFormat>> {
        Ok(self.reader()?.0.registry().formats().into_iter().map(PyFormat).collect())
    }

    /// Where in the stream the next message begins.
    #[getter]
    fn position(&mut self) -> PyResult<u64> {
        Ok(self.reader()?.0.position())
    }

    /// Lets go of the file. Twice does no harm.
    fn close(&mut self) {
        self.reader = None;
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(&mut self, _kind: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>, _trace: &Bound<'_, PyAny>) {
        self.close();
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.reader.iter().flat_map(|reader| reader.inner().objects()).try_for_each(|object| visit.call(object))
    }

    fn __clear__(&mut self) {
        self.reader = None;
    }
}

impl PyWriter {
    /// Has something written, while Python goes on.
    fn write_by(
        &mut self,
        py: Python<'_>,
        write: impl FnOnce(&mut Writer<Output>) -> isoform::Result<()> + Send,
    ) -> PyResult<()> {
        let writer = self.writer.as_mut().ok_or_else(|| raise(Error::new(Code::Closed).at("writer")))?;
        py.detach(|| write(writer)).map_err(|error| self.fault.raise(error))
    }

    /// Writes what lies in `depth` lists.
    fn write_any(&mut self, py: Python<'_>, record: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
        if let Ok(message) = record.cast::<PyMessage>() {
            let (_, format, body) = message.get().incoming(py);
            return self.write_by(py, |writer| writer.write_body(format, body));
        }
        if let Ok(batch) = record.cast::<PyBatch>() {
            return batch.get().lend(py, |batch| self.write_by(py, |writer| writer.write_batch(batch)))?;
        }
        let Some(encoder) = self.encoder.as_ref().map(|encoder| encoder.clone_ref(py)) else {
            let expected = "a message, or a writer with a type of records";
            return match record.is_instance_of::<PyList>() {
                true => rows(record, expected, depth)?.try_for_each(|each| self.write_any(py, &each?, depth + 1)),
                false => Err(raise(wrong_type(expected, record))),
            };
        };
        encoder.bind(py).borrow_mut().each(record, |part| match part {
            Part::Body(format, body) => self.write_by(py, |writer| writer.write_body(format, body)),
            Part::Batch(batch) => self.write_by(py, |writer| writer.write_batch(&batch)),
        })
    }
}

#[pymethods]
impl PyWriter {
    #[new]
    #[pyo3(signature = (target, record=None))]
    fn new(py: Python<'_>, target: &Bound<'_, PyAny>, record: Option<&Bound<'_, PyAny>>) -> PyResult<PyWriter> {
        let encoder = record.map(|record| Py::new(py, PyEncoder::new(record, None)?)).transpose()?;
        let output = Output::of(target)?;
        let fault = output.fault();
        Ok(PyWriter { writer: Some(Writer::new(output)), fault, encoder })
    }

    /// Writes a message, a batch, a list of either; or if the writer has a type of records, one, or an array of them.
    fn write(&mut self, py: Python<'_>, record: &Bound<'_, PyAny>) -> PyResult<()> {
        self.write_any(py, record, 0)
    }

    /// Writes a format's description, so that a reader knows it before there is a message.
    fn describe(&mut self, py: Python<'_>, format: &PyFormat) -> PyResult<()> {
        self.write_by(py, |writer| writer.describe(&format.0))
    }

    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        self.write_by(py, Writer::flush)
    }

    /// Writes what is left, and lets go of the file. Twice does no harm.
    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        let flushed = if self.writer.is_some() { self.flush(py) } else { Ok(()) };
        self.writer = None;
        flushed
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &mut self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.writer.iter().flat_map(|writer| writer.inner().objects()).try_for_each(|object| visit.call(object))
    }

    fn __clear__(&mut self) {
        self.writer = None;
    }
}
