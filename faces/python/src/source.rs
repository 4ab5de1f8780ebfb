//! Sources: where events come from.

use crate::channel::PyChannel;
use crate::encoder::PyEncoder;
use crate::error::{raise, wrong_type};
use crate::event::ledgers;
use crate::memory::Submit;
use crate::message::{PyBatch, PyMessage};
use crate::wait::{TURN, Unhurried, aside, patience, retry, wait};
use isoform::core::Plan;
use isoform::{Code, Error, Faults, Format, Result, Rules};
use isoform_channel::MessageSource;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Submits records to the sinks of a channel. See `isoform.Source`.
#[pyclass(name = "Source", module = "isoform", frozen)]
pub(crate) struct PySource {
    /// `None` once it was closed.
    end: Unhurried<Mutex<Option<End>>>,
    /// Only looked at here, so that threads can share it: what an encoder changes is in the end, or has a lock of its own.
    encoder: Option<PyEncoder>,
}

enum End {
    /// Of records that are their memory.
    Memory(Box<Submit>),
    /// Of messages.
    Messages(MessageSource),
}

impl PySource {
    /// Has something done with the end, unless it is closed.
    fn with<R>(&self, act: impl FnOnce(&mut End) -> Result<R>) -> Result<R> {
        match &mut *self.end.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(end) => act(end),
            None => Err(Error::new(Code::Closed).at("source")),
        }
    }

    fn submit_body(&self, py: Python<'_>, format: &Format, body: &[u8]) -> PyResult<Option<u64>> {
        retry(py, || {
            self.with(|end| match end {
                End::Messages(source) => source.submit_body(format, body),
                End::Memory(_) => Err(Error::new(Code::WrongType).at("source").expected("records of its type")),
            })
        })
    }

    fn submit_bytes(&self, py: Python<'_>, records: &[u8]) -> PyResult<Option<u64>> {
        let (mut done, mut last) = (0, None);
        retry(py, || {
            self.with(|end| match end {
                End::Memory(source) => source.many(records, &mut done, &mut last),
                End::Messages(_) => Err(Error::new(Code::Internal).at("source")),
            })
        })?;
        Ok(last)
    }
}

#[pymethods]
impl PySource {
    #[new]
    #[pyo3(signature = (channel, record=None, *, name=None))]
    pub(crate) fn new(
        py: Python<'_>,
        channel: &Bound<'_, PyAny>,
        record: Option<&Bound<'_, PyAny>>,
        name: Option<&str>,
    ) -> PyResult<PySource> {
        let channel = PyChannel::of(channel)?;
        let channel = channel.get().inner();
        let encoder = record.map(|record| PyEncoder::new(py, record, name)).transpose()?;
        let end = match &encoder {
            Some(encoder) if encoder.is_memory() => {
                let format = encoder.wire();
                py.detach(|| {
                    channel
                        .source_builder()
                        .build_memory(format)
                        .map(|source| End::Memory(Box::new(Submit::new(source))))
                })
            }
            other => py.detach(|| {
                if let (Some(encoder), Some(wanted)) = (other, channel.format()) {
                    Plan::new(encoder.wire(), &wanted, &Rules::new(), Faults::default())?;
                }
                channel.source_builder().patience(TURN).build_messages().map(End::Messages)
            }),
        };
        Ok(PySource { end: Unhurried::new(Mutex::new(Some(end.map_err(raise)?))), encoder })
    }

    /// Submits a record, or each of an array or a list, and returns the sequence of the last; `None` if there are no sinks.
    fn submit(&self, py: Python<'_>, record: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
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
            let Ok(list) = record.cast::<PyList>() else {
                return Err(raise(wrong_type("a message, or a source with a type of records", record)));
            };
            for each in list {
                last = self.submit(py, &each)?;
            }
            return Ok(last);
        };
        if encoder.is_memory() {
            return self.submit_bytes(py, encoder.bytes(py, record)?.as_slice()?);
        }
        for object in encoder.objects(record)? {
            let body = encoder.body(&object?)?;
            last = self.submit_body(py, encoder.wire(), &body)?;
        }
        Ok(last)
    }

    /// Waits until so many sinks have subscribed.
    #[pyo3(signature = (count=1, timeout=None))]
    fn wait_for_sinks(&self, py: Python<'_>, count: usize, timeout: Option<f64>) -> PyResult<()> {
        let turn = |patience: Duration| {
            let waited = self.with(|end| match end {
                End::Memory(source) => source.inner().wait_for_sinks(count, patience),
                End::Messages(source) => source.wait_for_sinks(count, patience),
            });
            match waited {
                Err(error) if error.code() == Code::Deadline => Ok(None),
                other => other.map(Some),
            }
        };
        let late = || raise(Error::new(Code::Deadline).at("source").expected(format_args!("{count} sinks")));
        wait(py, timeout, turn)?.ok_or_else(late)
    }

    /// How many sinks there are.
    #[getter]
    fn sinks(&self, py: Python<'_>) -> PyResult<usize> {
        let sinks = |end: &mut End| match end {
            End::Memory(source) => Ok(source.inner().sinks()),
            End::Messages(source) => Ok(source.sinks()),
        };
        py.detach(|| self.with(sinks)).map_err(raise)
    }

    /// The account with every sink that is there, and the latest that have left.
    fn ledger(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let all = py.detach(|| {
            self.with(|end| match end {
                End::Memory(source) => Ok(source.inner().ledger()),
                End::Messages(source) => Ok(source.ledger()),
            })
        });
        ledgers(py, &all.map_err(raise)?)
    }

    /// Ends the source, waits until its sinks have taken all, and returns the account. Twice does no harm.
    #[pyo3(signature = (timeout=10.0))]
    fn close(&self, py: Python<'_>, timeout: f64) -> PyResult<Vec<Py<PyAny>>> {
        let patience = patience(timeout)?;
        let end = py.detach(|| self.end.lock().unwrap_or_else(PoisonError::into_inner).take());
        let Some(end) = end else { return Ok(Vec::new()) };
        let closed = aside(py, move || match end {
            End::Memory(source) => source.into_inner().close(patience),
            End::Messages(source) => source.close(patience),
        })?;
        ledgers(py, &closed)
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
