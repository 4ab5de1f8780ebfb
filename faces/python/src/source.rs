//! Sources submit events.

use crate::channel::PyChannel;
use crate::encoder::PyEncoder;
use crate::error::{exception, raise, wrong_type};
use crate::event::ledgers;
use crate::message::{PyBatch, PyMessage};
use crate::parameters::{self, PyDemand};
use crate::rows::rows;
use crate::wait::{TURN, Unhurried, aside, patience, retry, wait};
use isoform::{Code, Error, Format, Result};
use isoform_channel::QueryTime;
use isoform_dynamic::source::{Progress, Source};
use isoform_dynamic::wait::unless_late;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::{Mutex, PoisonError};

/// Submits records to all sinks of a channel. `channel` is a channel or an id.
///
/// A source waits a millisecond for an event, and ten in a second, for sinks with policy ``block`` that have no room. Then it
/// drops events for them. With `lossless`, it waits as long as necessary for sinks with policy ``lossless``. It keeps the latest
/// `keep` records for sinks that come later.
///
/// `query_time` says how many seconds queries of other nodes may take, by their number of steps: one for an event, and all in a second,
/// writing their results included. By default, all sources of a node have `(0.001, 0.02)` together. For queries beyond it, events are lost with the cause ``thinned``. One other node may have
/// `most_sinks` sinks here, and all of them together `most_queries` different queries.
///
/// `parameters` are values that sinks choose: these are the defaults, a record or a dict (docs/book/guides/parameters.md). The program
/// submits records for each of the :meth:`demands`, of which there are `most_demands` at most, beside the defaults.
#[pyclass(name = "Source", module = "isoform", frozen)]
pub(crate) struct PySource {
    /// `None` once it was closed.
    end: Unhurried<Mutex<Option<Source>>>,
    /// Shared by threads without a lock. The parts that an encoder changes are in `end`, or have locks of their own.
    encoder: Option<PyEncoder>,
}

impl PySource {
    /// Calls `act` with the end, unless it is closed.
    fn with<R>(&self, act: impl FnOnce(&mut Source) -> Result<R>) -> Result<R> {
        match &mut *self.end.checked("source")?.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(end) => act(end),
            None => Err(Error::new(Code::Closed).at("source")),
        }
    }

    fn submit_body(&self, py: Python<'_>, format: &Format, body: &[u8]) -> PyResult<Option<u64>> {
        retry(py, || self.with(|source| source.submit_body(format, body))).map(Some)
    }

    fn submit_bytes(&self, py: Python<'_>, records: &[u8]) -> PyResult<Option<u64>> {
        let mut progress = Progress::default();
        retry(py, || self.with(|source| source.submit_many(records, &mut progress)))?;
        Ok(progress.last)
    }

    /// Submits records that are nested in `depth` lists.
    fn submit_any(&self, py: Python<'_>, record: &Bound<'_, PyAny>, depth: usize) -> PyResult<Option<u64>> {
        if let Ok(message) = record.cast::<PyMessage>() {
            let (_, format, body) = message.get().incoming(py);
            return self.submit_body(py, format, body);
        }
        let mut last = None;
        if let Ok(batch) = record.cast::<PyBatch>() {
            for index in 0..batch.get().count() {
                let message = batch.get().message(py, index);
                let (_, format, body) = message.incoming(py);
                last = self.submit_body(py, format, body)?;
            }
            return Ok(last);
        }
        let Some(encoder) = &self.encoder else {
            let expected = "a message, or a source with a type of records";
            if !record.is_instance_of::<PyList>() {
                return Err(raise(wrong_type(expected, record)));
            }
            for each in rows(record, expected, depth)? {
                last = self.submit_any(py, &each?, depth + 1)?;
            }
            return Ok(last);
        };
        if encoder.is_memory() {
            return self.submit_bytes(py, encoder.bytes(py, record)?.as_slice()?);
        }
        encoder.bodies(record, |body| {
            last = self.submit_body(py, encoder.wire(), &body)?;
            Ok(())
        })?;
        Ok(last)
    }
}

#[pymethods]
impl PySource {
    #[new]
    #[pyo3(signature = (channel, record=None, *, name=None, lossless=false, keep=0, query_time=None, most_queries=64, most_sinks=64, parameters=None, most_demands=16))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    pub(crate) fn new(
        py: Python<'_>,
        channel: &Bound<'_, PyAny>,
        record: Option<&Bound<'_, PyAny>>,
        name: Option<&str>,
        lossless: bool,
        keep: usize,
        query_time: Option<(f64, f64)>,
        most_queries: usize,
        most_sinks: usize,
        parameters: Option<&Bound<'_, PyAny>>,
        most_demands: usize,
    ) -> PyResult<PySource> {
        let channel = PyChannel::of(channel)?;
        let channel = channel.get().inner()?;
        let encoder = record.map(|record| PyEncoder::new(record, name, "refuse", None)).transpose()?;
        let format = encoder.as_ref().map(PyEncoder::wire);
        let is_memory = encoder.as_ref().is_some_and(PyEncoder::is_memory);
        let source = channel.source_builder().patience(TURN).keep(keep);
        let source = source.most_queries(most_queries).most_sinks(most_sinks).most_demands(most_demands);
        let source = match parameters {
            Some(defaults) => source.parameters_of(parameters::of(defaults)?),
            None => source,
        };
        let source = match query_time {
            Some((at_once, second)) => {
                source.query_time(QueryTime { at_once: patience(at_once)?, second: patience(second)? })
            }
            None => source,
        };
        let source = if lossless { source.lossless() } else { source };
        let end = py.detach(|| match format {
            Some(format) if is_memory => Source::of_records(source, format),
            other => Source::of_messages(source, other),
        });
        Ok(PySource { end: Unhurried::new(Mutex::new(Some(end.map_err(raise)?))), encoder })
    }

    /// Submits a record, or all records of an array or a list. Returns the sequence number of the last, or `None` of none.
    /// Without sinks, records are only numbered.
    fn submit(&self, py: Python<'_>, record: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        self.submit_any(py, record, 0)
    }

    /// Submits a record only to the sinks of a demand. For others, the event counts as skipped. Returns its sequence number.
    fn submit_for(&self, py: Python<'_>, demand: &PyDemand, record: &Bound<'_, PyAny>) -> PyResult<u64> {
        let submit =
            |format: &Format, body: &[u8]| retry(py, || self.with(|source| source.submit_for(&demand.0, format, body)));
        if let Ok(message) = record.cast::<PyMessage>() {
            let (_, format, body) = message.get().incoming(py);
            return submit(format, body);
        }
        let Some(encoder) = &self.encoder else {
            return Err(raise(wrong_type("a message, or a source with a type of records", record)));
        };
        match encoder.is_memory() {
            true => submit(encoder.wire(), encoder.bytes(py, record)?.as_slice()?),
            false => submit(encoder.wire(), &encoder.body(record)?),
        }
    }

    /// What the sinks ask of this source's parameters: each demand once. Without sinks there is none, and nothing to generate.
    fn demands(&self, py: Python<'_>) -> PyResult<Vec<PyDemand>> {
        let demands = py.detach(|| self.with(|source| Ok(source.demands()))).map_err(raise)?;
        Ok(demands.into_iter().map(PyDemand).collect())
    }

    /// The demands, if they are others than when the program was told of them last. Otherwise, waits for that, for `timeout` seconds, and
    /// then returns `None`.
    #[pyo3(signature = (timeout=None))]
    fn new_demands(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Vec<PyDemand>>> {
        let demands = wait(py, timeout, |patience| self.with(|source| source.new_demands(patience)))?;
        Ok(demands.map(|demands| demands.into_iter().map(PyDemand).collect()))
    }

    /// Grants a demand other values than its sinks ask for: a record, or a dict. Fields that are missing stay as they are. The sinks are
    /// told by `isoform.Given`.
    fn grant(&self, py: Python<'_>, demand: &PyDemand, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let values = parameters::of(values)?;
        py.detach(|| self.with(|source| source.grant(&demand.0, &values))).map_err(raise)
    }

    /// Refuses a demand. Its sinks are told what was `expected` by `isoform.Refused`.
    fn refuse(&self, py: Python<'_>, demand: &PyDemand, expected: &str) -> PyResult<()> {
        let refuse = |source: &mut Source| {
            source.refuse(&demand.0, expected);
            Ok(())
        };
        py.detach(|| self.with(refuse)).map_err(raise)
    }

    /// Waits until `count` sinks have subscribed. Raises :class:`isoform.Unavailable` if they have not in time: with the
    /// code `Forbidden` if there is none, and the rules do not let this node publish to a sink that is there.
    #[pyo3(signature = (count=1, timeout=None))]
    fn wait_for_sinks(&self, py: Python<'_>, count: usize, timeout: Option<f64>) -> PyResult<()> {
        let mut forbidden = None;
        let turn = |patience| match self.with(|source| source.wait_for_sinks(count, patience)) {
            Err(error) if error.code() == Code::Forbidden => {
                forbidden = Some(error);
                Ok(None)
            }
            other => unless_late(other),
        };
        let found = wait(py, timeout, turn)?;
        let sinks = if count == 1 { "sink" } else { "sinks" };
        let late = || Error::new(Code::Deadline).at("source").expected(format_args!("{count} {sinks}"));
        found.ok_or_else(|| raise(forbidden.unwrap_or_else(late)))
    }

    /// Why the node of a sink has declined this source last, unless it has another sink here now: an error with the code
    /// `Forbidden` if the rules do not let this node publish, for example. `None` if none has.
    #[getter]
    fn declined(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let declined = py.detach(|| self.with(|source| Ok(source.declined()))).map_err(raise)?;
        declined.map(|error| Ok(exception(py, &error)?.unbind())).transpose()
    }

    /// The number of sinks.
    #[getter]
    fn sinks(&self, py: Python<'_>) -> PyResult<usize> {
        py.detach(|| self.with(|source| Ok(source.sinks()))).map_err(raise)
    }

    /// The account with every subscribed sink, and with those that left most recently.
    fn ledger(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let all = py.detach(|| self.with(|source| Ok(source.ledger())));
        ledgers(py, &all.map_err(raise)?)
    }

    /// Ends the source, waits until its sinks have taken all events, and returns the account. Calling it twice does no
    /// harm. In a forked process, it leaves the source of the parent as it is.
    #[pyo3(signature = (timeout=10.0))]
    fn close(&self, py: Python<'_>, timeout: f64) -> PyResult<Vec<Py<PyAny>>> {
        let patience = patience(timeout)?;
        if self.end.is_inherited() {
            return Ok(Vec::new());
        }
        let end = py.detach(|| self.end.unchecked().lock().unwrap_or_else(PoisonError::into_inner).take());
        let Some(source) = end else { return Ok(Vec::new()) };
        ledgers(py, &aside(py, move || source.close(patience))?)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py, 10.0).map(drop)
    }
}
