//! Sinks receive events.

use crate::channel::PyChannel;
use crate::decoder::{PyDecoder, choice};
use crate::descriptor::{Number, copy, number};
use crate::error::raise;
use crate::event;
use crate::face::face;
use crate::kinds::PyKinds;
use crate::message::PyMessage;
use crate::parameters;
use crate::rows::texts;
use crate::value::named;
use crate::wait::{Unhurried, wait};
use isoform::{Code, Error, Result};
use isoform_channel::{Counts, Event, Policy, SinkBuilder, SourceRef, Stamp, Window};
use isoform_dynamic::sink::{self as dynamic, Any, Sink};
use isoform_dynamic::words::{self, keeping};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Receives the events of a channel, as records of a type, or as messages without one. `channel` is a channel or an id.
///
/// `policy` is the behaviour of sources when the sink is too slow: ``block`` (they wait as long as they grant, and
/// then drop events), ``lossless`` (they wait as long as necessary; a source that is not `lossless` is refused), ``drop oldest``
/// (they keep `events` events with `bytes` bytes), shorter ``oldest:1000``, or ``latest``. `window` limits the events and the bytes on their way.
/// `longest` is the number of bytes of the longest accepted event, `faults` the treatment of numbers that do not fit, and
/// `fields` the paths of the needed fields. The sink is refused if its records have no such field, or none of several kinds has
/// it, and a sink of messages refuses the sources that lack one. `rules` are as for a :class:`Decoder`.
/// `query` asks for less: the sources evaluate it for each event, and send nothing else
/// (docs/book/guides/queries.md). The records of the sink are made of the results.
/// `parameters` are values that the sources are asked for, of their parameters: a record, or a dict
/// (docs/book/guides/parameters.md). :class:`isoform.Given` says what they give.
/// With `heads`, the heads of events longer than 65,536 bytes come before the rest, as :class:`isoform.EventHead`,
/// and :meth:`decline` declines the rest.
/// Iterations (`for`, :meth:`records`, :meth:`batches`, `async for`) end when the sink or the channel is closed; with
/// `until` = ``left`` also when the last source has left, after all of its events.
#[pyclass(name = "Sink", module = "isoform", frozen)]
pub(crate) struct PySink {
    /// `None` once it was closed.
    end: Unhurried<Mutex<Option<Sink>>>,
    /// Shared by threads without a lock. The parts that a decoder changes are in `end`, or have locks of their own.
    decoder: Option<PyDecoder>,
    /// In place of the decoder, for several kinds of records.
    kinds: Option<Py<PyKinds>>,
    until: Until,
    /// The last source has left since the last iteration ended.
    all_left: AtomicBool,
    /// The program was warned that events are lost.
    has_lost: AtomicBool,
}

/// An array of records of one kind grows no further beyond this.
const MOST_BYTES: usize = 8 << 20;

/// The end of iterations.
#[derive(Clone, Copy, PartialEq)]
enum Until {
    /// The sink or its channel is closed.
    Closed,
    /// The last source has left.
    Left,
}

impl Until {
    fn named(word: &str) -> Result<Until> {
        match word {
            "closed" => Ok(Until::Closed),
            "left" => Ok(Until::Left),
            other => Err(Error::new(Code::WrongType).at("until").expected("closed or left").found(other)),
        }
    }
}

/// Something received, before it becomes a Python object.
enum Received {
    Bytes(Stamp, Vec<u8>),
    Message(Stamp, isoform::Format, Vec<u8>),
    Other(Event<()>),
}

impl PySink {
    /// Calls `act` with the end, unless it is closed.
    fn with<R>(&self, act: impl FnOnce(&mut Sink) -> Result<R>) -> Result<R> {
        match &mut *self.end.checked("sink")?.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(end) => act(end),
            None => Err(Error::new(Code::Closed).at("sink")),
        }
    }

    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Received>> {
        wait(py, timeout, |patience| {
            self.with(|sink| {
                Ok(sink.recv_timeout(patience)?.map(|event| match event {
                    Event::Record {
                        stamp,
                        record: dynamic::Content::Record(record) | dynamic::Content::Kind(_, record),
                    } => Received::Bytes(stamp, record.to_vec()),
                    Event::Record { stamp, record: dynamic::Content::Message(message) } => {
                        Received::Message(stamp, message.format().clone(), message.body().to_vec())
                    }
                    other => {
                        self.note(&other);
                        Received::Other(other.map(drop))
                    }
                }))
            })
        })
    }

    fn event<'py>(&self, py: Python<'py>, came: Received) -> PyResult<Bound<'py, PyAny>> {
        match came {
            Received::Bytes(stamp, bytes) => {
                let record = self.decoder()?.one_of(py, bytes)?;
                event::record(py, stamp, record)
            }
            Received::Message(stamp, format, body) => {
                let message = PyMessage::of_body(py, &format, &body);
                let record = match (&self.decoder, &self.kinds) {
                    (Some(decoder), _) => decoder.object(py, &message),
                    (None, Some(kinds)) => kinds.get().decode(Bound::new(py, message)?.as_any()),
                    (None, None) => Ok(Bound::new(py, message)?.into_any()),
                };
                event::record(py, stamp, record.map_err(|error| self.unfit(py, stamp, error))?)
            }
            Received::Other(other) => match event::about(py, &other)? {
                Some(event) => Ok(event),
                None => Err(raise(Error::new(Code::Internal).at("sink"))),
            },
        }
    }

    /// The error for a record that could not become one of this sink's type. The sink counts the record.
    fn unfit(&self, py: Python<'_>, stamp: Stamp, error: PyErr) -> PyErr {
        let note = |sink: &mut Sink| {
            sink.note_unfit();
            Ok(())
        };
        _ = py.detach(|| self.with(note)); // unless it was closed meanwhile
        named(py, error, &format!("event {} of source {}", stamp.sequence, stamp.source.0))
    }

    /// Many records of one kind whose records are plain memory, or another event.
    fn many_of_a_kind<'py>(
        &self,
        py: Python<'py>,
        kinds: &PyKinds,
        most: usize,
        timeout: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let most = most.max(1);
        let (mut run, mut records, mut stamps, mut is_alone) = (None, Vec::new(), Vec::new(), false);
        let came = wait(py, timeout, |patience| {
            let came = self.with(|sink| {
                sink.recv_while(Some(patience), |_, stamp, message| {
                    let kind = kinds.memory_kind_of(message.format()).filter(|kind| run.is_none_or(|run| run == *kind));
                    let has_room = stamps.is_empty() || records.len() < MOST_BYTES;
                    match kind.filter(|_| has_room && stamps.len() < most) {
                        Some(kind) => kinds.append(kind, &message, &mut records)?,
                        None => {
                            is_alone = stamps.is_empty();
                            return Ok(false);
                        }
                    }
                    run = kind;
                    stamps.push(stamp);
                    Ok(true)
                })
            });
            // What comes alone is taken by the caller.
            Ok(came?.map(Some).or_else(|| is_alone.then_some(None)))
        })?;
        match (came, run) {
            (Some(Some(Event::Record { .. })), Some(kind)) => {
                event::records(py, &stamps, kinds.many_of(py, kind, records)?).map(Some)
            }
            (Some(Some(other)), _) => {
                self.note(&other);
                event::about(py, &other)
            }
            (Some(None), _) => self.recv(py, Some(0.0)),
            (None, _) => Ok(None),
        }
    }

    fn note<R>(&self, event: &Event<R>) {
        match event {
            Event::Joined { .. } => self.all_left.store(false, Relaxed),
            Event::Left(_, 0) => self.all_left.store(true, Relaxed),
            _ => {}
        }
    }

    fn decoder(&self) -> PyResult<&PyDecoder> {
        self.decoder.as_ref().filter(|decoder| decoder.is_memory()).ok_or_else(|| raise(no_arrays()))
    }
}

#[pymethods]
impl PySink {
    #[new]
    #[pyo3(signature = (
        channel, record=None, *, name=None, policy="block", events=None, bytes=None, window=None, longest=None,
        faults="error", missing="refuse", fields=None, rules=None, until="closed", heads=false, query=None,
        parameters=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        py: Python<'_>,
        channel: &Bound<'_, PyAny>,
        record: Option<&Bound<'_, PyAny>>,
        name: Option<&str>,
        policy: &str,
        events: Option<u64>,
        bytes: Option<u64>,
        window: Option<(u64, u64)>,
        longest: Option<u64>,
        faults: &str,
        missing: &str,
        fields: Option<&Bound<'_, PyAny>>,
        rules: Option<&Bound<'_, PyAny>>,
        until: &str,
        heads: bool,
        query: Option<&str>,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PySink> {
        let until = Until::named(until).map_err(raise)?;
        let channel = PyChannel::of(channel)?;
        let channel = channel.get().inner()?;
        let sink = words::with_policy(channel.sink_builder(), policy, events, bytes).map_err(raise)?;
        let mut sink = sink.faults(choice(faults)?);
        sink = window.into_iter().fold(sink, |all, (events, bytes)| all.window(Window { events, bytes }));
        sink = longest.into_iter().fold(sink, SinkBuilder::longest);
        sink = if heads { sink.heads() } else { sink };
        if let Some(query) = query {
            sink = sink.query(query).map_err(raise)?;
        }
        if let Some(values) = parameters {
            sink = sink.parameters_of(parameters::of(values)?);
        }
        sink = fields.map(texts).transpose()?.into_iter().fold(sink, SinkBuilder::fields);
        let kinds = record.and_then(|record| record.cast::<PyKinds>().ok());
        let record = record.filter(|_| kinds.is_none());
        if kinds.is_some() && (name, faults, missing, rules.is_some()) != (None, "error", "refuse", false) {
            let error = Error::new(Code::WrongType).at("sink");
            return Err(raise(error.expected("faults and missing as arguments of Kinds, and no name and rules")));
        }
        let decoder =
            record.map(|record| PyDecoder::new(py, record, name, faults, missing, "auto", rules)).transpose()?;
        let wanted = kinds.map(|kinds| kinds.get().wanted());
        let kinds = kinds.map(|kinds| kinds.clone().unbind());
        let form = match &decoder {
            None if let Some((wanted, others)) = wanted => Ok(Any::messages_of(wanted, others)),
            Some(decoder) if decoder.is_memory() => Any::records(decoder.native(), decoder.rules().clone()),
            other => Ok(Any::messages(other.as_ref().and_then(PyDecoder::converter))),
        };
        let end = py.detach(|| sink.build_with(form?));
        Ok(PySink {
            end: Unhurried::new(Mutex::new(Some(end.map_err(raise)?))),
            decoder,
            kinds,
            until,
            all_left: AtomicBool::new(false),
            has_lost: AtomicBool::new(false),
        })
    }

    /// The next event, or `None` if none arrives within `timeout` seconds.
    #[pyo3(signature = (timeout=None))]
    fn recv<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.next(py, timeout)?.map(|came| self.event(py, came)).transpose()
    }

    /// The records that have arrived, up to `most`, in one array. Another event is returned as by `recv`. Of several kinds, those of
    /// one kind.
    #[pyo3(signature = (most=8192, timeout=None))]
    fn recv_many<'py>(
        &self,
        py: Python<'py>,
        most: usize,
        timeout: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(kinds) = &self.kinds {
            return self.many_of_a_kind(py, kinds.get(), most, timeout);
        }
        let (is_memory, mut stamps) = (self.decoder().is_ok(), Vec::new());
        let came = wait(py, timeout, |patience| {
            self.with(|sink| match is_memory {
                true => dynamic::take(sink, most, &mut stamps, patience),
                false => Err(no_arrays()),
            })
        })?;
        match came {
            None => Ok(None),
            Some(Event::Record { record: bytes, .. }) => {
                let records = self.decoder()?.many_of(py, bytes)?;
                event::records(py, &stamps, records).map(Some)
            }
            Some(other) => {
                self.note(&other);
                event::about(py, &other)
            }
        }
    }

    /// Asks all sources for another policy.
    #[pyo3(signature = (policy, *, events=None, bytes=None))]
    fn set_policy(&self, py: Python<'_>, policy: &str, events: Option<u64>, bytes: Option<u64>) -> PyResult<()> {
        let (must, policy) = match policy {
            "lossless" => (true, Policy::Block),
            word => (false, keeping(words::policy(word).map_err(raise)?, events, bytes)),
        };
        py.detach(|| {
            self.with(|sink| {
                match must {
                    true => sink.set_lossless(),
                    false => sink.set_policy(policy),
                }
                Ok(())
            })
        })
        .map_err(raise)
    }

    /// Asks all sources for other values of their parameters: a record, or a dict. Fields that are missing have the source's default.
    /// `isoform.Given` says from which event on they hold, or why not.
    fn set_parameters(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let values = parameters::of(values)?;
        let set = |sink: &mut Sink| {
            sink.set_parameters(values);
            Ok(())
        };
        py.detach(|| self.with(set)).map_err(raise)
    }

    /// Declines the rest of a long event, by its head. Returns whether that was still on its way.
    fn decline(&self, py: Python<'_>, head: &Bound<'_, PyAny>) -> PyResult<bool> {
        let source = SourceRef(head.getattr("source")?.extract()?);
        let sequence = head.getattr("sequence")?.extract()?;
        let stamp = Stamp { source, sequence, nanoseconds: 0, origin: None };
        py.detach(|| self.with(|sink| Ok(sink.decline(&stamp)))).map_err(raise)
    }

    /// The counts of its events, of refused sources, and of records that did not fit.
    #[getter]
    fn counts(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let Counts { received, taken, lost, superseded, skipped, refused, unfit, earlier } =
            py.detach(|| self.with(|sink| Ok(sink.counts()))).map_err(raise)?;
        face(py)?.counts.call1(py, (received, taken, lost, superseded, skipped, refused, unfit, earlier))
    }

    /// A descriptor that is readable when an event has arrived, for `select` and event loops. On
    /// Windows, it is a socket. It belongs to the sink: end it by `close`, and never by `os.close`.
    fn fileno(&self, py: Python<'_>) -> PyResult<Number> {
        py.detach(|| self.with(|sink| Ok(number(&sink.descriptor()?)))).map_err(raise)
    }

    /// A copy of the descriptor of `fileno`, which the caller must close. It is also readable after the sink was closed.
    fn _descriptor(&self, py: Python<'_>) -> PyResult<Number> {
        let io = |error: std::io::Error| Error::new(Code::Io).at("sink").found(error);
        py.detach(|| self.with(|sink| copy(&sink.descriptor()?).map_err(io))).map_err(raise)
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// The next event. The iteration ends when the channel is closed, or as `until` says.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.recv(py, self._patience()) {
            Err(error) if is_closed(py, &error)? => Ok(None),
            Ok(None) => {
                self._begin();
                Ok(None)
            }
            other => other,
        }
    }

    /// The time that an iteration waits for an event before it ends: none if the last source has left and `until` says so.
    fn _patience(&self) -> Option<f64> {
        (self.until == Until::Left && self.all_left.load(Relaxed)).then_some(0.0)
    }

    /// An iteration has ended. The next one waits for sources again.
    fn _begin(&self) {
        self.all_left.store(false, Relaxed);
    }

    /// The events in batches.
    #[pyo3(signature = (most=8192))]
    fn batches<'py>(slf: Bound<'py, Self>, most: usize) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py())?.batches.bind(slf.py()).call1((slf.clone(), most))
    }

    /// Whether this is the first loss of events that a program is to be warned of.
    fn _notes_loss(&self) -> bool {
        !self.has_lost.swap(true, Relaxed)
    }

    /// The records without other events. There is a `RuntimeWarning` for each source that is refused,
    /// and one when events are lost, once for each sink: `counts.lost` says how many, and iterating
    /// over the sink tells of each `isoform.Gap`.
    fn records(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        face(slf.py())?.records.bind(slf.py()).call1((slf.clone(),))
    }

    fn __aiter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        face(slf.py())?.events.bind(slf.py()).call1((slf.clone(),))
    }

    /// Leaves the channel. Calling it twice does no harm. In a forked process, it leaves the sink of
    /// the parent as it is.
    fn close(&self, py: Python<'_>) {
        if !self.end.is_inherited() {
            py.detach(|| drop(self.end.unchecked().lock().unwrap_or_else(PoisonError::into_inner).take()));
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(&self, py: Python<'_>, _kind: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>, _trace: &Bound<'_, PyAny>) {
        self.close(py);
    }
}

fn no_arrays() -> Error {
    Error::new(Code::WrongType).at("sink").expected("a type whose records an array can hold")
}

fn is_closed(py: Python<'_>, error: &PyErr) -> PyResult<bool> {
    match error.value(py).getattr_opt("code")? {
        Some(code) => Ok(code.extract::<u16>().is_ok_and(|code| code == Code::Closed as u16)),
        None => Ok(false),
    }
}
