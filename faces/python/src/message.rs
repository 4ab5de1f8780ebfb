//! Messages and batches, in memory that Python owns. Views into that memory keep it alive.

use crate::error::raise;
use crate::face::face;
use crate::format::PyFormat;
use crate::item;
use crate::registry::PyRegistry;
use isoform::message::{ALIGNMENT, HEADER};
use isoform::text::{Shown, json};
use isoform::{Batch, Format, Incoming, Message, Registry, View, message::Header};
use isoform_dynamic::stream::Stamp;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// A record as its sender sent it: a format, and a body in the sender's layout.
#[pyclass(name = "Message", module = "isoform", frozen)]
pub(crate) struct PyMessage {
    pub(crate) format: Format,
    pub(crate) body: Py<PyBytes>,
    /// Of a message that a recording has.
    pub(crate) stamp: Option<Stamp>,
}

/// Messages of one format and one length.
#[pyclass(name = "Batch", module = "isoform", frozen)]
pub(crate) struct PyBatch {
    format: Format,
    /// The messages as they are in a stream, the last with its padding.
    stream: Py<PyBytes>,
    count: usize,
    length: usize,
    /// Those of the messages, if a recording has them.
    stamps: Vec<Stamp>,
}

/// The format and the length of a message whose body has not been read, or was read to memory of the program.
#[pyclass(name = "Head", module = "isoform", frozen)]
pub(crate) struct PyHead {
    pub(crate) format: Format,
    pub(crate) length: u64,
}

#[pymethods]
impl PyHead {
    /// The sender's format.
    #[getter(format)]
    fn format_of(&self) -> PyFormat {
        PyFormat(self.format.clone())
    }

    /// Bytes of the body.
    #[getter]
    fn length(&self) -> u64 {
        self.length
    }

    fn __repr__(&self) -> String {
        format!("Head({} {}, {} bytes)", Shown(self.format.name()), self.format.token(), self.length)
    }
}

impl PyMessage {
    pub(crate) fn of_body(py: Python<'_>, format: &Format, body: &[u8]) -> PyMessage {
        PyMessage { format: format.clone(), body: PyBytes::new(py, body).unbind(), stamp: None }
    }

    /// The same, of a recording.
    pub(crate) fn stamped(self, stamp: Option<Stamp>) -> PyMessage {
        PyMessage { stamp, ..self }
    }

    /// The sender's format.
    pub(crate) fn format(&self) -> &Format {
        &self.format
    }

    pub(crate) fn incoming(&self, py: Python<'_>) -> (Header, &Format, &[u8]) {
        let body = self.body.as_bytes(py);
        (Header::new(self.format.token(), body.len() as u64), &self.format, body)
    }

    pub(crate) fn outgoing(py: Python<'_>, message: &Message<'_>) -> PyResult<PyMessage> {
        let body = PyBytes::new_with(py, message.body_len(), |bytes| {
            let mut at = 0;
            for piece in message.body() {
                bytes[at..at + piece.len()].copy_from_slice(piece);
                at += piece.len();
            }
            Ok(())
        })?;
        Ok(PyMessage { format: message.format().clone(), body: body.unbind(), stamp: None })
    }
}

#[pymethods]
impl PyMessage {
    /// The message of these bytes. The registry must know its format.
    #[staticmethod]
    fn parse(py: Python<'_>, message: &[u8], registry: &mut PyRegistry) -> PyResult<PyMessage> {
        let registry = &mut registry.0;
        // To find a format may take time, in which other threads run.
        let message = py.detach(|| Incoming::parse(message, registry)).map_err(raise)?;
        Ok(PyMessage::of_body(py, message.format(), message.body()))
    }

    /// The sender's format.
    #[getter(format)]
    fn format_of(&self) -> PyFormat {
        PyFormat(self.format.clone())
    }

    /// The record in its sender's layout, with the memory that its pointers point at.
    #[getter]
    fn body(&self, py: Python<'_>) -> Py<PyBytes> {
        self.body.clone_ref(py)
    }

    /// The name of the channel, for a message of a recording; otherwise, and of the results of a query, `None`.
    #[getter]
    fn topic(&self) -> Option<&str> {
        self.stamp.as_ref().map(|stamp| &*stamp.topic)
    }

    /// The number of its source, as the recorder counts sources; `None` where `topic` is.
    #[getter]
    fn source(&self) -> Option<u32> {
        self.stamp.as_ref().map(|stamp| stamp.source)
    }

    /// Its number at the source; `None` where `topic` is.
    #[getter]
    fn sequence(&self) -> Option<u64> {
        self.stamp.as_ref().map(|stamp| stamp.sequence)
    }

    /// When it was submitted by the clock of its source, in nanoseconds since 1970; `None` where `topic` is.
    #[getter]
    fn submitted(&self) -> Option<u64> {
        self.stamp.as_ref().map(|stamp| stamp.submitted)
    }

    /// When it was recorded by the clock of the recorder, in nanoseconds since 1970; `None` where `topic` is.
    #[getter]
    fn recorded(&self) -> Option<u64> {
        self.stamp.as_ref().map(|stamp| stamp.recorded)
    }

    /// Header and body, as on the wire.
    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (header, _, body) = self.incoming(py);
        PyBytes::new_with(py, HEADER + body.len(), |bytes| {
            bytes[..HEADER].copy_from_slice(&header.to_bytes());
            bytes[HEADER..].copy_from_slice(body);
            Ok(())
        })
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        HEADER + self.body.as_bytes(py).len()
    }

    /// Verifies the message, and returns its fields by name.
    fn _fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let body = self.body.bind(py);
        let bytes = body.as_bytes();
        let checked = py.detach(|| self.format.verify(bytes)).map_err(raise)?;
        item::lazy_fields(View::new(checked), &self.format, "", body)
    }

    /// Its fields by name, as a mapping.
    fn view<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        face(py)?.view.bind(py).call1((self.format.name(), self._fields(py)?))
    }

    /// All its fields as an object of JSON, in one line, as `isoform dump --json` prints it.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        let body = self.body.as_bytes(py);
        py.detach(|| Ok(json::line(View::new(self.format.verify(body)?)))).map_err(raise)
    }

    /// The record as a read-only NumPy scalar, without a copy, in the sender's byte order.
    fn array<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let bytes = this.body.as_bytes(py);
        py.detach(|| this.format.verify(bytes).map(drop)).map_err(raise)?;
        let rows = face(py)?.rows.bind(py);
        rows.call1((PyFormat(this.format.clone()), &this.body, 1, 0, this.format.size()))?.get_item(0)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let name = Shown(self.format.name());
        format!("Message({name} {}, {} bytes)", self.format.token(), self.body.as_bytes(py).len())
    }
}

impl PyBatch {
    pub(crate) fn of(py: Python<'_>, batch: &Batch<'_>) -> PyResult<PyBatch> {
        let Some(first) = batch.messages().next() else { unreachable!("there is always one") };
        let (header, length) = (first.header().to_bytes(), first.body().len());
        let stride = (HEADER + length).next_multiple_of(ALIGNMENT);
        let stream = PyBytes::new_with(py, stride * batch.len(), |bytes| {
            for (place, message) in bytes.chunks_exact_mut(stride).zip(batch.messages()) {
                place[..HEADER].copy_from_slice(&header);
                place[HEADER..HEADER + length].copy_from_slice(message.body());
            }
            Ok(())
        })?;
        Ok(PyBatch {
            format: batch.format().clone(),
            stream: stream.unbind(),
            count: batch.len(),
            length,
            stamps: Vec::new(),
        })
    }

    /// The same, of a recording.
    pub(crate) fn stamped(self, stamps: Vec<Stamp>) -> PyBatch {
        PyBatch { stamps, ..self }
    }

    /// Those of the messages, if a recording has them.
    pub(crate) fn stamps(&self) -> &[Stamp] {
        &self.stamps
    }

    /// Calls `act` with the messages.
    pub(crate) fn lend<R>(&self, py: Python<'_>, act: impl FnOnce(&Batch<'_>) -> R) -> PyResult<R> {
        let mut registry = Registry::new();
        registry.register(&self.format).map_err(raise)?;
        let (batch, _) = Batch::parse(self.stream.as_bytes(py), &mut registry).map_err(raise)?;
        Ok(act(&batch))
    }

    /// The message of this index.
    pub(crate) fn message(&self, py: Python<'_>, index: usize) -> PyMessage {
        let stride = (HEADER + self.length).next_multiple_of(ALIGNMENT);
        let body = &self.stream.as_bytes(py)[index * stride + HEADER..][..self.length];
        PyMessage::of_body(py, &self.format, body).stamped(self.stamps.get(index).cloned())
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The sender's format.
    pub(crate) fn format(&self) -> &Format {
        &self.format
    }
}

#[pymethods]
impl PyBatch {
    /// The sender's format.
    #[getter(format)]
    fn format_of(&self) -> PyFormat {
        PyFormat(self.format.clone())
    }

    fn __len__(&self) -> usize {
        self.count
    }

    /// One of its messages.
    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<PyMessage> {
        let index = if index < 0 { index + self.count as isize } else { index };
        let Some(index) = usize::try_from(index).ok().filter(|index| *index < self.count) else {
            return Err(pyo3::exceptions::PyIndexError::new_err("no such message in the batch"));
        };
        Ok(self.message(py, index))
    }

    /// The records as a read-only NumPy array, without a copy, in the sender's byte order.
    fn array<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        this.lend(py, |batch| py.detach(|| batch.messages().try_for_each(|message| message.verify().map(drop))))?
            .map_err(raise)?;
        let rows = face(py)?.rows.bind(py);
        let stride = (HEADER + this.length).next_multiple_of(ALIGNMENT);
        rows.call1((PyFormat(this.format.clone()), &this.stream, this.count, HEADER, stride))
    }

    fn __repr__(&self) -> String {
        format!("Batch({} of {} {})", self.count, Shown(self.format.name()), self.format.token())
    }
}
