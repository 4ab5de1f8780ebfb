//! From messages to records: to arrays and ctypes structures by [`memory`], to other objects by a body of their own format.

use crate::error::{raise, wrong_type};
use crate::format::PyFormat;
use crate::item;
use crate::memory;
use crate::message::{PyBatch, PyMessage};
use crate::rules;
use crate::stream::PyReader;
use isoform::core::{Plan, interp};
use isoform::memory::Engine;
use isoform::{Code, Error, Faults, Format, Incoming, Rules, Token, View};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// So many formats a decoder remembers the plans of.
const REMEMBERED: usize = 64;

/// Makes records of messages. See `isoform.Decoder`.
#[pyclass(name = "Decoder", module = "isoform")]
pub(crate) struct PyDecoder {
    /// What `isoform._records` knows of the type of records.
    kind: Py<PyAny>,
    rules: Rules,
    way: Way,
}

enum Way {
    /// To records that are their memory.
    Memory(Box<memory::Decoder>),
    /// To objects, by their fields.
    Objects(Objects),
}

/// Bodies of the receiver's format, from those of others.
pub(crate) struct Objects {
    format: Format,
    rules: Rules,
    faults: Faults,
    /// Locked for as long as it takes to find one, and only while Python goes on.
    plans: Mutex<HashMap<Token, Arc<Plan>>>,
}

impl Objects {
    /// The fields of a message's record, as the receiver has them.
    fn fields<'py>(&self, py: Python<'py>, message: &Incoming<'_>) -> PyResult<Bound<'py, PyDict>> {
        let body = PyBytes::new(py, &py.detach(|| self.body(message)).map_err(raise)?);
        item::fields(View::new(self.format.verify(body.as_bytes()).map_err(raise)?), &body)
    }

    fn body(&self, message: &Incoming<'_>) -> isoform::Result<Vec<u8>> {
        let mut body = Vec::new();
        interp::run(&*self.plan(message)?, message.verify()?, &mut body)?;
        Ok(body)
    }

    fn plan(&self, message: &Incoming<'_>) -> isoform::Result<Arc<Plan>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.get(&message.token()) {
            return Ok(plan.clone());
        }
        let plan = Arc::new(Plan::new(message.format(), &self.format, &self.rules, self.faults)?);
        if plans.len() >= REMEMBERED {
            plans.clear();
        }
        plans.insert(message.token(), plan.clone());
        Ok(plan)
    }
}

impl PyDecoder {
    /// The format into which messages are converted.
    pub(crate) fn native(&self) -> &Format {
        match &self.way {
            Way::Memory(decoder) => decoder.format(),
            Way::Objects(objects) => &objects.format,
        }
    }

    /// Whether its records are their memory.
    pub(crate) fn is_memory(&self) -> bool {
        matches!(self.way, Way::Memory(_))
    }

    /// What is said of its fields.
    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The record of these bytes.
    pub(crate) fn one_of<'py>(&self, py: Python<'py>, bytes: Vec<u8>) -> PyResult<Bound<'py, PyAny>> {
        self.kind.bind(py).call_method1("one_of", (PyArray1::from_vec(py, bytes),))
    }

    /// The records of these bytes.
    pub(crate) fn many_of<'py>(&self, py: Python<'py>, bytes: Vec<u8>) -> PyResult<Bound<'py, PyAny>> {
        self.kind.bind(py).call_method1("many_of", (PyArray1::from_vec(py, bytes),))
    }

    /// The object of a message. It can be asked by several threads.
    pub(crate) fn object<'py>(&self, py: Python<'py>, message: &PyMessage) -> PyResult<Bound<'py, PyAny>> {
        let Way::Objects(objects) = &self.way else { return Err(raise(Error::new(Code::Internal).at("decoder"))) };
        let (header, format, body) = message.incoming(py);
        let fields = objects.fields(py, &Incoming::new(header, format, body))?;
        self.kind.bind(py).call_method1("load", (fields,))
    }

    /// The records of messages and batches, one after another, as bytes.
    fn bytes(&mut self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        let Way::Memory(decoder) = &mut self.way else { unreachable!("asked before") };
        let size = decoder.format().size();
        let mut records = Vec::new();
        if let Ok(reader) = source.cast::<PyReader>() {
            let mut reader = reader.try_borrow_mut()?;
            let (stream, fault) = reader.reader()?;
            let read = py.detach(|| -> isoform::Result<()> {
                while let Some(batch) = stream.next_batch()? {
                    memory::append(decoder, &batch, &mut records)?;
                }
                Ok(())
            });
            return read.map(|()| records).map_err(|error| fault.raise(error));
        }
        for each in source.try_iter()? {
            let each = each?;
            let before = records.len();
            if let Ok(batch) = each.cast::<PyBatch>() {
                batch
                    .get()
                    .lend(py, |batch| py.detach(|| memory::append(decoder, batch, &mut records)))?
                    .map_err(raise)?;
            } else if let Ok(message) = each.cast::<PyMessage>() {
                records.resize(before + size, 0);
                let (header, format, body) = message.get().incoming(py);
                decoder.one(&Incoming::new(header, format, body), &mut records[before..]).map_err(raise)?;
            } else {
                return Err(raise(wrong_type("messages or batches", &each)));
            }
        }
        Ok(records)
    }
}

#[pymethods]
impl PyDecoder {
    #[new]
    #[pyo3(signature = (record, *, name=None, faults="error", engine="auto", rules=None))]
    pub(crate) fn new(
        py: Python<'_>,
        record: &Bound<'_, PyAny>,
        name: Option<&str>,
        faults: &str,
        engine: &str,
        rules: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyDecoder> {
        let kind = py.import("isoform._records")?.call_method1("kind_of", (record, name))?;
        let format = kind.getattr("format")?.cast::<PyFormat>()?.get().0.clone();
        let of_kind = rules::add(Rules::new(), &format, &kind.getattr("rules")?)?;
        let rules = rules.map_or(Ok(of_kind.clone()), |more| rules::add(of_kind, &format, more))?;
        let (faults, engine) = (faults_of(faults)?, engine_of(engine)?);
        let way = match kind.getattr("is_memory")?.is_truthy()? {
            true => {
                let decoder = memory::Decoder::new(&format, rules.clone(), faults, engine);
                Way::Memory(Box::new(decoder.map_err(raise)?))
            }
            false => Way::Objects(Objects { format, rules: rules.clone(), faults, plans: Mutex::default() }),
        };
        Ok(PyDecoder { kind: kind.unbind(), rules, way })
    }

    /// The format into which messages are converted.
    #[getter]
    fn format(&self) -> PyFormat {
        PyFormat(self.native().clone())
    }

    /// The record of a message.
    fn decode<'py>(&mut self, py: Python<'py>, message: &PyMessage) -> PyResult<Bound<'py, PyAny>> {
        let Way::Memory(decoder) = &mut self.way else { return self.object(py, message) };
        let (header, format, body) = message.incoming(py);
        let mut record = vec![0; decoder.format().size()];
        py.detach(|| decoder.one(&Incoming::new(header, format, body), &mut record)).map_err(raise)?;
        self.one_of(py, record)
    }

    /// The records of a batch, of messages or batches, or of the rest of a stream: in one array, or a list of objects.
    fn decode_many<'py>(&mut self, py: Python<'py>, source: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Way::Memory(decoder) = &mut self.way {
            let records = match source.cast::<PyBatch>() {
                Ok(batch) => whole(decoder, batch.get(), py)?,
                Err(_) => PyArray1::from_vec(py, self.bytes(py, source)?),
            };
            return self.kind.bind(py).call_method1("many_of", (records,));
        }
        let records = PyList::empty(py);
        for each in source.try_iter()? {
            let each = each?;
            if let Ok(message) = each.cast::<PyMessage>() {
                records.append(self.decode(py, message.get())?)?;
            } else {
                records.call_method1("extend", (self.decode_many(py, &each)?,))?;
            }
        }
        Ok(records.into_any())
    }

    fn __repr__(&self) -> String {
        format!("Decoder({:?})", self.native())
    }
}

/// The records of a batch, in an array of NumPy's: it has large pages for large arrays.
fn whole<'py>(decoder: &mut memory::Decoder, batch: &PyBatch, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let length = decoder.format().size().checked_mul(batch.count());
    let length = length.ok_or_else(|| raise(Error::new(Code::Size).came(batch.count())))?;
    let records = PyArray1::zeros(py, [length], false);
    let mut writable = records.readwrite();
    let bytes = writable.as_slice_mut()?;
    batch.lend(py, |batch| py.detach(|| decoder.many(batch, bytes)))?.map_err(raise)?;
    drop(writable);
    Ok(records)
}

pub(crate) fn faults_of(name: &str) -> PyResult<Faults> {
    match name {
        "error" => Ok(Faults::Error),
        "saturate" => Ok(Faults::Saturate),
        "wrap" => Ok(Faults::Wrap),
        _ => Err(raise(Error::new(Code::WrongType).at("faults").expected("error, saturate or wrap").came(name))),
    }
}

fn engine_of(name: &str) -> PyResult<Engine> {
    match name {
        "auto" => Ok(Engine::Auto),
        "interpreter" => Ok(Engine::Interpreter),
        "generated" => Ok(Engine::Generated),
        _ => Err(raise(Error::new(Code::WrongType).at("engine").expected("auto, interpreter or generated").came(name))),
    }
}
