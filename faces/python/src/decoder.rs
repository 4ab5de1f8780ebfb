//! Decodes messages: into memory for arrays and ctypes structures, and into the fields of other objects.

use crate::error::{raise, wrong_type};
use crate::format::PyFormat;
use crate::item;
use crate::message::{PyBatch, PyMessage};
use crate::record_type::RecordType;
use crate::rows::rows;
use crate::rules;
use crate::stream::PyReader;
use isoform::core::plan::{Action, Explanation, Reports};
use isoform::{Batch, Code, Error, Faults, Format, Incoming, Rules, Token, View};
use isoform_dynamic::convert::Converter;
use isoform_dynamic::flat::Decoder;
use isoform_dynamic::rules::owner;
use isoform_dynamic::words::Choice;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFrozenSet, PyList};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

/// The most formats for which a decoder remembers what their senders lack.
const REMEMBERED: usize = 64;

/// Decodes messages into records, for senders of any layout.
///
/// `faults` is the treatment of numbers that do not fit: ``error``, ``saturate`` or ``wrap``. `missing` is that of fields
/// which the sender lacks and which have no default: ``refuse``, with all of them in the error, or ``zero``. `engine` is
/// ``auto``, ``interpreter`` or ``generated``. `rules` are for types that do not state them: ``("temp", "alias", "t")``,
/// ``("com.x", "default", 11.5)``, ``(.., "zero", True)``, ``(.., "required", True)``. The field is a path, or a structure and
/// the name of a field there: ``("Sample", "temp", "alias", "t")``. Only one thread at a time can use a decoder.
#[pyclass(name = "Decoder", module = "isoform")]
pub(crate) struct PyDecoder {
    kind: RecordType,
    rules: Rules,
    absent: Absent,
    faults: Faults,
    way: Way,
}

enum Way {
    /// Makes records that are plain memory.
    Memory(Box<Decoder>),
    /// Makes objects, field by field.
    Objects(Converter),
}

impl PyDecoder {
    /// The format to which it converts messages.
    pub(crate) fn native(&self) -> &Format {
        self.kind.format()
    }

    /// Whether its records are plain memory.
    pub(crate) fn is_memory(&self) -> bool {
        self.kind.is_memory()
    }

    /// The converter of messages to its objects, unless its records are plain memory.
    pub(crate) fn converter(&self) -> Option<&Converter> {
        match &self.way {
            Way::Memory(_) => None,
            Way::Objects(converter) => Some(converter),
        }
    }

    /// The rules of its fields.
    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The rules for columns, to which no class gives defaults.
    pub(crate) fn rules_of_columns(&self) -> &Rules {
        &self.absent.stated
    }

    /// The record of these bytes.
    pub(crate) fn one_of<'py>(&self, py: Python<'py>, bytes: Vec<u8>) -> PyResult<Bound<'py, PyAny>> {
        self.kind.one_of(PyArray1::from_vec(py, bytes))
    }

    /// The records of these bytes.
    pub(crate) fn many_of<'py>(&self, py: Python<'py>, bytes: Vec<u8>) -> PyResult<Bound<'py, PyAny>> {
        self.kind.many_of(PyArray1::from_vec(py, bytes))
    }

    /// The object of a message. Several threads may call this.
    pub(crate) fn object<'py>(&self, py: Python<'py>, message: &PyMessage) -> PyResult<Bound<'py, PyAny>> {
        let Some(converter) = self.converter() else { return Err(raise(Error::new(Code::Internal).at("decoder"))) };
        let (header, format, body) = message.incoming(py);
        let body = py.detach(|| converter.body(&Incoming::new(header, format, body))).map_err(raise)?;
        let body = PyBytes::new(py, &body);
        let fields = item::fields(View::new(converter.format().verify(body.as_bytes()).map_err(raise)?), &body)?;
        self.kind.load(fields, &self.absent.of(py, format, self)?)
    }

    /// The records of messages and batches, contiguous, as bytes.
    fn bytes(&mut self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        let Way::Memory(decoder) = &mut self.way else { unreachable!("asked before") };
        let mut records = Vec::new();
        if let Ok(reader) = source.cast::<PyReader>() {
            let mut reader = reader.try_borrow_mut()?;
            let (stream, fault) = reader.reader()?;
            let read = py.detach(|| -> isoform::Result<()> {
                while let Some(batch) = stream.next_batch()? {
                    decoder.append_many(&batch, &mut records)?;
                }
                Ok(())
            });
            return read.map(|()| records).map_err(|error| fault.raise(error));
        }
        for each in rows(source, "messages, a batch or a stream", 0)? {
            let each = each?;
            if let Ok(batch) = each.cast::<PyBatch>() {
                let append = |batch: &Batch<'_>| py.detach(|| decoder.append_many(batch, &mut records));
                batch.get().lend(py, append)?.map_err(raise)?;
            } else if let Ok(message) = each.cast::<PyMessage>() {
                let (header, format, body) = message.get().incoming(py);
                decoder.append(&Incoming::new(header, format, body), &mut records).map_err(raise)?;
            } else {
                return Err(raise(wrong_type("messages or batches", &each)));
            }
        }
        Ok(records)
    }
}

impl PyDecoder {
    /// Adds the objects of the messages of a source that is nested in `depth` lists.
    fn add_objects<'py>(&self, source: &Bound<'py, PyAny>, records: &Bound<'py, PyList>, depth: usize) -> PyResult<()> {
        // Batches and streams yield single messages.
        let plain = source.is_instance_of::<PyBatch>() || source.is_instance_of::<PyReader>();
        let each = if plain { source.try_iter()? } else { rows(source, "messages, a batch or a stream", depth)? };
        for each in each {
            let each = each?;
            match each.cast::<PyMessage>() {
                Ok(message) => records.append(self.object(source.py(), message.get())?)?,
                Err(_) => self.add_objects(&each, records, depth + 1)?,
            }
        }
        Ok(())
    }
}

#[pymethods]
impl PyDecoder {
    #[new]
    #[pyo3(signature = (record, *, name=None, faults="error", missing="refuse", engine="auto", rules=None))]
    pub(crate) fn new(
        py: Python<'_>,
        record: &Bound<'_, PyAny>,
        name: Option<&str>,
        faults: &str,
        missing: &str,
        engine: &str,
        rules: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyDecoder> {
        let kind = RecordType::of(record, name)?;
        let (format, stated) = (kind.format(), rules::of(py, &kind, rules, missing)?);
        let absent = Absent::new(kind.afterwards(py)?, stated);
        let all = absent.rules();
        let (faults, engine) = (choice(faults)?, choice(engine)?);
        let way = match kind.is_memory() {
            true => Way::Memory(Box::new(Decoder::new(format, all.clone(), faults, engine).map_err(raise)?)),
            false => Way::Objects(Converter::new(format.clone(), all.clone(), faults)),
        };
        Ok(PyDecoder { kind, rules: all, absent, faults, way })
    }

    /// The format to which it converts messages.
    #[getter]
    fn format(&self) -> PyFormat {
        PyFormat(self.native().clone())
    }

    /// Decodes a message.
    fn decode<'py>(&mut self, py: Python<'py>, message: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let message = message_of(message)?.get();
        let Way::Memory(decoder) = &mut self.way else { return self.object(py, message) };
        let (header, format, body) = message.incoming(py);
        let mut record = zeros(decoder.format().size())?;
        py.detach(|| decoder.one(&Incoming::new(header, format, body), &mut record)).map_err(raise)?;
        self.one_of(py, record)
    }

    /// Decodes a batch, messages or batches, or the rest of a stream. Returns one array for dtypes and ctypes
    /// structures, and otherwise a list.
    fn decode_many<'py>(&mut self, py: Python<'py>, source: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Way::Memory(decoder) = &mut self.way {
            let records = match source.cast::<PyBatch>() {
                Ok(batch) => whole(decoder, batch.get(), py)?,
                Err(_) => PyArray1::from_vec(py, self.bytes(py, source)?),
            };
            return self.kind.many_of(records);
        }
        let records = PyList::empty(py);
        self.add_objects(source, &records, 0)?;
        Ok(records.into_any())
    }

    /// What the decoder does with each field of records of a sender, what that costs, and all obstacles: the table of
    /// ``isoform explain``. With `time=True`, also what each step costs for a record in bytes and nanoseconds, measured now, on this
    /// machine, with a record that is made for it.
    #[pyo3(signature = (sender, *, time=false))]
    fn explain(&self, py: Python<'_>, sender: &Bound<'_, PyAny>, time: bool) -> PyResult<String> {
        let explained = Explanation::new(format_of(sender)?, self.native(), &self.rules, self.faults);
        Ok(match time {
            true => py.detach(|| isoform::timed(explained).to_string()),
            false => explained.to_string(),
        })
    }

    fn __repr__(&self) -> String {
        format!("Decoder({:?})", self.native())
    }
}

/// An argument that must be a message.
pub(crate) fn message_of<'a, 'py>(argument: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyMessage>> {
    argument.cast().map_err(|_| raise(wrong_type("a message, as Reader and Encoder make them", argument)))
}

/// An argument that must be a format.
pub(crate) fn format_of<'a>(argument: &'a Bound<'_, PyAny>) -> PyResult<&'a Format> {
    let format = argument.cast::<PyFormat>();
    format
        .map(|format| &format.get().0)
        .map_err(|_| raise(wrong_type("a format, such as message.format or isoform.Format.of(..)", argument)))
}

/// The fields of a class whose defaults no rule can state, and which of them senders lack. Such fields become zero, and then the class
/// gives them their defaults.
struct Absent {
    /// The fields, each with its structure.
    fields: Vec<(String, String)>,
    /// The rules without these fields.
    stated: Rules,
    /// The paths of those that senders of a format lack.
    paths: Mutex<HashMap<Token, Py<PyFrozenSet>>>,
}

impl Absent {
    fn new(fields: Vec<(String, String)>, stated: Rules) -> Absent {
        let is_open = |(structure, field): &(String, String)| {
            stated.of(structure, field).is_none_or(|rule| rule.default.is_none() && !rule.required)
        };
        let fields = fields.into_iter().filter(is_open).collect();
        Absent { fields, stated, paths: Mutex::default() }
    }

    /// All rules.
    fn rules(&self) -> Rules {
        let zero = |rules: Rules, (structure, field): &(String, String)| rules.default_zero(structure, field);
        self.fields.iter().fold(self.stated.clone(), zero)
    }

    /// The paths of those that records of this format lack.
    fn of<'py>(&self, py: Python<'py>, wire: &Format, decoder: &PyDecoder) -> PyResult<Bound<'py, PyFrozenSet>> {
        if self.fields.is_empty() {
            return PyFrozenSet::empty(py);
        }
        // The lock is held for one statement only, since other calls may run code of Python.
        let known = || self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(paths) = known().get(&wire.token()) {
            return Ok(paths.bind(py).clone());
        }
        let (_, reports) = Reports::of(wire, decoder.native(), &decoder.rules, decoder.faults);
        let is_absent = |action: &Action| matches!(action, Action::Default | Action::Zero);
        let (absent, came): (Vec<_>, Vec<_>) = reports.iter().partition(|report| is_absent(&report.action));
        // If an array of records is longer than the sender's, only its last records lack a field.
        let came: HashSet<String> = came.into_iter().map(|report| report.path).collect();
        let is_given = |path: &String| match owner(decoder.native(), &path.replace("[]", "")) {
            Ok((structure, name)) => self.fields.iter().any(|(of, field)| of == structure.name() && field == name),
            Err(_) => false,
        };
        let paths = absent.into_iter().map(|report| report.path);
        let paths = paths.filter(|path| is_given(path) && !came.contains(path));
        let paths = PyFrozenSet::new(py, paths.collect::<Vec<_>>())?;
        let mut known = known();
        let forgotten = if known.len() >= REMEMBERED { std::mem::take(&mut *known) } else { HashMap::new() };
        known.insert(wire.token(), paths.clone().unbind());
        drop(known);
        drop(forgotten);
        Ok(paths)
    }
}

/// Memory for a record, which a class may declare larger than there is.
pub(crate) fn zeros(size: usize) -> PyResult<Vec<u8>> {
    let mut record = Vec::new();
    let reserved = record.try_reserve_exact(size);
    reserved.map_err(|_| raise(Error::new(Code::Size).found(format_args!("a record of {size} bytes"))))?;
    record.resize(size, 0);
    Ok(record)
}

/// The records of a batch in a NumPy array, since NumPy uses large pages for large arrays.
fn whole<'py>(decoder: &mut Decoder, batch: &PyBatch, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let length = decoder.format().size().checked_mul(batch.count());
    let length = length.ok_or_else(|| raise(Error::new(Code::Size).found(batch.count())))?;
    let records = PyArray1::zeros(py, [length], false);
    let mut writable = records.readwrite();
    let bytes = writable.as_slice_mut()?;
    batch.lend(py, |batch| py.detach(|| decoder.many(batch, bytes)))?.map_err(raise)?;
    drop(writable);
    Ok(records)
}

/// The choice of a word.
pub(crate) fn choice<T: Choice>(word: &str) -> PyResult<T> {
    T::named(word).map_err(raise)
}
