//! Streams: sequences of messages, through files, pipes and sockets.

use crate::encoder::{Part, PyEncoder};
use crate::error::{raise, wrong_type};
use crate::face::face;
use crate::format::PyFormat;
use crate::io::{Damage, Fault, Input, Output, Part as Wanted};
use crate::message::{PyBatch, PyHead, PyMessage};
use crate::registry::PyRegistry;
use crate::rows::{rows, texts};
use crate::servers;
use isoform::core::message::Locators;
use isoform::message::{ALIGNMENT, HEADER};
use isoform::stream::{Healed, Reader, Writer};
use isoform::{Batch, Code, Error};
use isoform_dynamic::stream::{Seconds, Stamp};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyBufferError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads a stream of messages from the file at this path, or from an object with `read`.
///
/// Formats that the stream does not describe are found in `registry`, or at `servers` or by `resolver`, as those of `Registry`.
///
/// `query` asks for less: the reader gives what the query makes of the records ("where any(depth > 2) | select step, deep = max(depth)"). An
/// error names the place in the query that does not fit the records. Records of formats that do not fit are left out if others do: in a file wherever
/// they come, in a pipe before them.
///
/// Of a recording, `channel` chooses the events of one channel, or of several ("river.step", or a list), and `start` and `end` those between two
/// times, in seconds since its beginning. With `damage` = ``skip``, a reader passes over what is cut or damaged of a recording, and of a stream that
/// was cut; a `RuntimeWarning` says so at the end, unless it is ``ignore``. With ``error``, the whole part is read, and then it raises.
///
/// After the end of a stream that still grows, it can be asked for more. Only one thread at a time can use a reader.
#[pyclass(name = "Reader", module = "isoform")]
pub(crate) struct PyReader {
    reader: Option<Reader<Input>>,
    fault: Arc<Fault>,
}

/// Writes a stream of messages, with the description of each format before its first message. The target is the path of a
/// new file, or an object with `write`. A writer with a type of records also accepts records, arrays and lists of them. With
/// `servers`, which are `Servers` or their URLs, it stores the formats there instead, and leaves descriptions out; but not that of
/// a format for which no server can be asked. With a `responder`, that answers for the formats, and the stream says where.
/// `locators` are the URLs that it says instead. With `sealed=True`, every message has a checksum in front: then readers notice damage,
/// and `Reader.resume` continues behind it.
///
/// With `append=True`, it appends to the stream in a file, and creates the file if it is not there. Nobody else can append to it until the
/// writer is closed. If the stream was cut, the bytes that nobody can read move to a new file beside it first: `healed` says where.
#[pyclass(name = "Writer", module = "isoform")]
pub(crate) struct PyWriter {
    writer: Option<Writer<Output>>,
    fault: Arc<Fault>,
    encoder: Option<Py<PyEncoder>>,
    healed: Option<Healed>,
}

impl PyReader {
    /// The input, and the exception of a failed read.
    pub(crate) fn reader(&mut self) -> PyResult<(&mut Reader<Input>, &Fault)> {
        let reader = self.reader.as_mut().ok_or_else(|| raise(Error::new(Code::Closed).at("reader")))?;
        Ok((reader, &self.fault))
    }
}

/// The position for the stamp of the next message, of a recording. `None` for others, and at the end.
pub(crate) fn stamps(reader: &mut Reader<Input>) -> isoform::Result<Option<u64>> {
    if !reader.inner().is_recording() || reader.peek()?.is_none() {
        return Ok(None);
    }
    // The last byte of the message's header.
    Ok(Some(reader.position().saturating_sub(1)))
}

/// Those of so many messages, of which the first is at this position.
pub(crate) fn stamps_of(reader: &mut Reader<Input>, at: u64, count: usize, stride: u64) -> Vec<Stamp> {
    let each = (0..count as u64).map(|index| at + index * stride);
    each.map_while(|at| reader.inner_mut().stamp(at)).collect()
}

/// The bytes from one message of a batch to the next.
pub(crate) fn stride(batch: &Batch<'_>) -> u64 {
    let length = batch.messages().next().map_or(0, |message| message.body().len());
    (HEADER + length).next_multiple_of(ALIGNMENT) as u64
}

/// What `read` returns; or the end where a stream was cut, if that is to be passed over.
fn skipped<'r, T>(
    reader: &'r mut Reader<Input>,
    fault: &Fault,
    read: impl FnOnce(&'r mut Reader<Input>) -> isoform::Result<Option<T>>,
) -> isoform::Result<Option<T>> {
    let damage = reader.inner().damage();
    match read(reader) {
        Err(error) if damage != Damage::Error && error.code() == Code::Cut => {
            let told = |failed| Error::new(Code::Io).found(failed);
            fault.pass(error, damage).map_err(told).map(|()| None)
        }
        read => read,
    }
}

/// The names of channels of a recording: of one, or a list.
fn names(channel: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match channel.extract() {
        Ok(one) => Ok(vec![one]),
        Err(_) => texts(channel)
            .map_err(|_| raise(wrong_type("the name of a channel, or a list of names", channel).at("channel"))),
    }
}

#[pymethods]
impl PyReader {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    #[pyo3(signature = (source, registry=None, *, servers=None, resolver=None, query=None, channel=None, start=None, end=None, damage="error"))]
    fn new(
        source: &Bound<'_, PyAny>,
        registry: Option<&PyRegistry>,
        servers: Option<&Bound<'_, PyAny>>,
        resolver: Option<&Bound<'_, PyAny>>,
        query: Option<&str>,
        channel: Option<&Bound<'_, PyAny>>,
        start: Option<f64>,
        end: Option<f64>,
        damage: &str,
    ) -> PyResult<PyReader> {
        let damage = match damage {
            "error" => Damage::Error,
            "skip" => Damage::Skip,
            "ignore" => Damage::Ignore,
            _ => {
                let error = Error::new(Code::WrongType).at("damage").expected("error, skip or ignore");
                return Err(raise(error.found(format_args!("{damage:?}"))));
            }
        };
        let channels = channel.map_or_else(|| Ok(Vec::new()), names)?;
        let part = Wanted { channels, seconds: Seconds { start, end }, damage };
        let found = servers.or(resolver);
        if let (Some(_), Some(found)) = (registry, found) {
            return Err(raise(wrong_type("a registry, or where unknown formats are found, but not both", found)));
        }
        let registry = registry.map_or_else(isoform::Registry::new, |registry| registry.0.clone());
        servers::find(&registry, servers, resolver)?;
        let mut reader = Reader::with_registry(Input::of(source, part)?, registry);
        if let Some(query) = query {
            reader = Reader::new(Input::asked(reader, query).map_err(raise)?);
        }
        let fault = reader.inner().fault();
        Ok(PyReader { reader: Some(reader), fault })
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// The next message. After the end of a stream that still grows, it can be called again.
    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<PyMessage>> {
        let (reader, fault) = self.reader()?;
        let stamp = py.detach(|| stamps(reader)).map_err(|error| fault.raise(error))?;
        let Some(message) = py.detach(|| skipped(reader, fault, Reader::next)).map_err(|error| fault.raise(error))?
        else {
            return Ok(None);
        };
        let message = PyMessage::of_body(py, message.format(), message.body());
        Ok(Some(message.stamped(stamp.and_then(|at| reader.inner_mut().stamp(at)))))
    }

    /// The next messages with equal headers that have arrived.
    pub(crate) fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<PyBatch>> {
        let (reader, fault) = self.reader()?;
        let at = py.detach(|| stamps(reader)).map_err(|error| fault.raise(error))?;
        let batch = py.detach(|| skipped(reader, fault, Reader::next_batch)).map_err(|error| fault.raise(error))?;
        let Some(batch) = batch else { return Ok(None) };
        let (made, stride) = (PyBatch::of(py, &batch)?, stride(&batch));
        let stamps = at.map_or_else(Vec::new, |at| stamps_of(reader, at, made.count(), stride));
        Ok(Some(made.stamped(stamps)))
    }

    /// The format and the length of the next message, before its body has come; `None` at the end.
    fn peek(&mut self, py: Python<'_>) -> PyResult<Option<PyHead>> {
        let (reader, fault) = self.reader()?;
        let head = py.detach(|| skipped(reader, fault, Reader::peek)).map_err(|error| fault.raise(error))?;
        Ok(head.map(|(header, format)| PyHead { format, length: header.length }))
    }

    /// Skips the next message without storing it. In a file, its body is not read. Returns `False` at the end.
    fn skip(&mut self, py: Python<'_>) -> PyResult<bool> {
        let (reader, fault) = self.reader()?;
        let skip = |reader: &mut Reader<Input>| Ok(reader.seek_past()?.then_some(()));
        Ok(py.detach(|| skipped(reader, fault, skip)).map_err(|error| fault.raise(error))?.is_some())
    }

    /// Reads the body of the next message to existing memory, and verifies it. Returns `None` at the end.
    fn read_into(&mut self, py: Python<'_>, memory: &Bound<'_, PyAny>) -> PyResult<Option<PyHead>> {
        let (reader, fault) = self.reader()?;
        let Some((_, format)) = py.detach(|| reader.begun()).map_err(|error| fault.raise(error))? else {
            return Ok(None);
        };
        let bytes = face(py)?.writable.bind(py).call1((PyFormat(format), memory))?.cast_into::<PyArray1<u8>>()?;
        let mut bytes = bytes.try_readwrite().map_err(|error| PyBufferError::new_err(error.to_string()))?;
        let place = bytes.as_slice_mut()?;
        let read = py.detach(|| reader.read_into(place)).map_err(|error| fault.raise(error))?;
        let Some((header, format)) = read else { return Ok(None) };
        let body = &place[..header.length as usize];
        py.detach(|| format.verify(body).map(drop)).map_err(raise)?;
        Ok(Some(PyHead { format, length: header.length }))
    }

    /// The formats that the stream has described so far.
    fn formats(&mut self) -> PyResult<Vec<PyFormat>> {
        Ok(self.reader()?.0.registry().formats().into_iter().map(PyFormat).collect())
    }

    /// Continues behind damage in a sealed stream, after an error of the stream itself: passes over all bytes up to the next message
    /// that is sealed and whole. Returns the positions of the first byte that is missing and behind the last one, or `None` if no
    /// such message follows.
    fn resume(&mut self, py: Python<'_>) -> PyResult<Option<(u64, u64)>> {
        let (reader, fault) = self.reader()?;
        let gap = py.detach(|| reader.resume()).map_err(|error| fault.raise(error))?;
        Ok(gap.map(|gap| (gap.from, gap.to)))
    }

    /// The position of the next message in the stream, or among what the query has made.
    #[getter]
    fn position(&mut self) -> PyResult<u64> {
        Ok(self.reader()?.0.position())
    }

    /// Closes the file. Calling it twice does no harm.
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
        self.reader.iter().filter_map(|reader| reader.inner().object()).try_for_each(|object| visit.call(object))
    }

    fn __clear__(&mut self) {
        self.reader = None;
    }
}

impl PyWriter {
    /// Writes while other Python threads run.
    fn write_by(
        &mut self,
        py: Python<'_>,
        write: impl FnOnce(&mut Writer<Output>) -> isoform::Result<()> + Send,
    ) -> PyResult<()> {
        let writer = self.writer.as_mut().ok_or_else(|| raise(Error::new(Code::Closed).at("writer")))?;
        py.detach(|| write(writer)).map_err(|error| self.fault.raise(error))
    }

    /// Writes records that are nested in `depth` lists.
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

/// A writer that is dropped open writes its rest to its file. Errors go to `sys.unraisablehook`.
impl Drop for PyWriter {
    fn drop(&mut self) {
        // An object with `write` has got everything, and may be closed.
        if !self.writer.as_ref().is_some_and(|writer| writer.inner().is_file()) {
            return;
        }
        Python::try_attach(|py| {
            let raised = PyErr::take(py);
            self.close(py).unwrap_or_else(|error| error.write_unraisable(py, None));
            if let Some(raised) = raised {
                raised.restore(py);
            }
        });
    }
}

#[pymethods]
impl PyWriter {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    #[pyo3(signature = (target, record=None, *, servers=None, responder=None, locators=None, sealed=false, append=false))]
    fn new(
        py: Python<'_>,
        target: &Bound<'_, PyAny>,
        record: Option<&Bound<'_, PyAny>>,
        servers: Option<&Bound<'_, PyAny>>,
        responder: Option<&Bound<'_, servers::PyResponder>>,
        locators: Option<&Bound<'_, PyAny>>,
        sealed: bool,
        append: bool,
    ) -> PyResult<PyWriter> {
        if let (Some(_), Some(responder)) = (servers, responder) {
            return Err(raise(wrong_type("servers or a responder, but not both", responder)));
        }
        let client = servers.map(servers::client).transpose()?;
        let encoder = record.map(|record| Py::new(py, PyEncoder::new(record, None, "refuse", None)?)).transpose()?;
        let (output, mark, healed) = match append {
            true => Output::appended(target)?,
            false => (Output::of(target)?, None, None),
        };
        let fault = output.fault();
        let mut writer = Writer::new(output);
        writer.set_sealed(sealed);
        if let Some(mark) = mark {
            writer.set_mark(mark);
        }
        if let Some(client) = client {
            writer.set_registrar(move |format| client.put(format));
        }
        if let Some(responder) = responder {
            let (registrar, locators) = responder.get().serve()?;
            writer.set_registrar(registrar);
            writer.set_locators(locators);
        }
        if let Some(urls) = locators {
            writer.set_locators(Locators::new(servers::split(urls)?).map_err(raise)?);
        }
        Ok(PyWriter { writer: Some(writer), fault, encoder, healed })
    }

    /// Writes a message, a batch or a list of these; or records of the writer's type, single or in an array.
    fn write(&mut self, py: Python<'_>, record: &Bound<'_, PyAny>) -> PyResult<()> {
        self.write_any(py, record, 0)
    }

    /// Writes the description of a format, so that a reader knows the format before its first message.
    fn describe(&mut self, py: Python<'_>, format: &PyFormat) -> PyResult<()> {
        self.write_by(py, |writer| writer.describe(&format.0))
    }

    /// What was moved aside when a stream was opened with `append=True`: its position, the number of bytes, and the path of the file that has
    /// them now. `None` if the stream was whole.
    #[getter]
    fn healed(&self) -> Option<(u64, u64, PathBuf)> {
        self.healed.as_ref().map(|healed| (healed.at, healed.bytes, healed.aside.clone()))
    }

    /// Writes what is buffered.
    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        self.write_by(py, Writer::flush)
    }

    /// Writes the rest, and closes the file. Calling it twice does no harm.
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
