//! Several kinds of records: each message becomes the one that fits.

use crate::decoder::{PyDecoder, choice};
use crate::error::{raise, wrong_type};
use crate::format::PyFormat;
use crate::message::PyMessage;
use isoform::core::plan::{Kind, Kinds};
use isoform::{Code, Error, Faults, Incoming};
use isoform_dynamic::flat::Decoder;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Several kinds of records: each message becomes the one that fits.
///
/// A kind is a type of records, or a tuple of its name and the type, for dtypes: ``Kinds(River, ("Alarm", alarm))``. A
/// message becomes the kind of the same name as its format, if it can. Otherwise it becomes the kind that takes most of the
/// sender's fields; spec/conversion.md, "Several kinds", has the exact rule. `faults` and `missing` are as for a
/// :class:`Decoder`. With `others` = ``refuse``, what fits no kind is an error, and a sink refuses its source; with
/// ``messages``, it remains a :class:`Message`.
#[pyclass(name = "Kinds", module = "isoform", frozen)]
pub(crate) struct PyKinds {
    /// Locked only while a kind is chosen, which calls no Python.
    choices: Mutex<Kinds>,
    decoders: Vec<One>,
    lends_others: bool,
}

/// The decoder of one kind.
struct One {
    kind: PyDecoder,
    /// Decodes records that are plain memory. Locked only while one is decoded.
    memory: Option<Mutex<Decoder>>,
}

impl One {
    fn new(py: Python<'_>, record: &Bound<'_, PyAny>, faults: &str, missing: &str) -> PyResult<One> {
        let named = record.cast::<PyTuple>().ok().and_then(|pair| pair.extract::<(String, Bound<'_, PyAny>)>().ok());
        let (name, record) = named.map_or((None, record.clone()), |(name, record)| (Some(name), record));
        let kind = PyDecoder::new(py, &record, name.as_deref(), faults, missing, "auto", None)?;
        let memory = kind.is_memory().then(|| {
            let decoder = Decoder::new(kind.native(), kind.rules().clone(), choice(faults)?, choice("auto")?);
            decoder.map(Mutex::new).map_err(raise)
        });
        Ok(One { memory: memory.transpose()?, kind })
    }
}

fn locked<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PyKinds {
    /// The kinds, for a sink that refuses other records; none if it takes them.
    #[cfg(unix)]
    pub(crate) fn wanted(&self) -> Vec<Kind> {
        if self.lends_others { Vec::new() } else { locked(&self.choices).list().to_vec() }
    }
}

#[pymethods]
impl PyKinds {
    #[new]
    #[pyo3(signature = (*records, faults="error", missing="refuse", others="refuse"))]
    fn new(
        py: Python<'_>,
        records: &Bound<'_, PyTuple>,
        faults: &str,
        missing: &str,
        others: &str,
    ) -> PyResult<PyKinds> {
        let lends_others = match others {
            "refuse" => false,
            "messages" => true,
            word => {
                let error = Error::new(Code::WrongType).at("others").expected("refuse or messages");
                return Err(raise(error.found(word)));
            }
        };
        let decoders = records.iter().map(|record| One::new(py, &record, faults, missing));
        let decoders = decoders.collect::<PyResult<Vec<_>>>()?;
        if decoders.is_empty() {
            return Err(raise(wrong_type("types of records", records)));
        }
        let faults: Faults = choice(faults)?;
        let kind = |one: &One| Kind { format: one.kind.native().clone(), rules: one.kind.rules().clone(), faults };
        let choices = Mutex::new(Kinds::new(decoders.iter().map(kind).collect()));
        Ok(PyKinds { choices, decoders, lends_others })
    }

    /// Decodes a message as the kind that fits. Several threads may call this.
    pub(crate) fn decode<'py>(&self, message: &Bound<'py, PyMessage>) -> PyResult<Bound<'py, PyAny>> {
        let (py, received) = (message.py(), message.get());
        let (header, format, body) = received.incoming(py);
        let kind = locked(&self.choices).kind_of(format);
        let one = match kind {
            Ok(kind) => &self.decoders[kind],
            Err(_) if self.lends_others => return Ok(message.clone().into_any()),
            Err(error) => return Err(raise(error)),
        };
        let Some(decoder) = &one.memory else { return one.kind.object(py, received) };
        let mut record = vec![0; one.kind.native().size()];
        locked(decoder).one(&Incoming::new(header, format, body), &mut record).map_err(raise)?;
        one.kind.one_of(py, record)
    }

    /// The choice for a format: a line with the reason, and a line for each kind.
    fn explain(&self, format: &PyFormat) -> String {
        locked(&self.choices).explain(&format.0).to_string()
    }

    /// The number of messages so far that fitted no kind.
    #[getter]
    fn count_of_others(&self) -> u64 {
        locked(&self.choices).others()
    }

    fn __repr__(&self) -> String {
        format!("Kinds({:?})", locked(&self.choices))
    }
}
