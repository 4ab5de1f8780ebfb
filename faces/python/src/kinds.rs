//! Several kinds of records: each message becomes the one that fits.

use crate::columns::PyColumns;
use crate::decoder::{PyDecoder, choice, format_of, message_of, zeros};
use crate::error::{raise, wrong_type};
use crate::message::{PyBatch, PyMessage};
use crate::rows::{listed, rows, texts};
use crate::stream::PyReader;
use isoform::core::plan::{Kind, Kinds};
use isoform::{Batch, Code, Error, Faults, Format, Incoming};
use isoform_dynamic::flat::Decoder;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
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
    /// The kinds for a sink, and whether it takes other records, too.
    #[cfg(any(unix, windows))]
    pub(crate) fn wanted(&self) -> (Vec<Kind>, bool) {
        (locked(&self.choices).list().to_vec(), self.lends_others)
    }
}

/// Messages of one format.
enum Piece<'a, 'py> {
    One(&'a Bound<'py, PyMessage>),
    Many(&'a Bound<'py, PyBatch>),
}

impl<'py> Piece<'_, 'py> {
    fn any(&self) -> &Bound<'py, PyAny> {
        match self {
            Piece::One(message) => message.as_any(),
            Piece::Many(batch) => batch.as_any(),
        }
    }

    fn format(&self) -> &Format {
        match self {
            Piece::One(message) => message.get().format(),
            Piece::Many(batch) => batch.get().format(),
        }
    }

    /// Calls `act` for each message.
    fn messages(&self, mut act: impl FnMut(Bound<'py, PyMessage>) -> PyResult<()>) -> PyResult<()> {
        match self {
            Piece::One(message) => act((*message).clone()),
            Piece::Many(batch) => {
                let py = batch.py();
                (0..batch.get().count()).try_for_each(|index| act(Bound::new(py, batch.get().message(py, index))?))
            }
        }
    }
}

/// Records of one kind.
enum Heap<'py> {
    Memory(Vec<u8>),
    Objects(Bound<'py, PyList>),
}

impl<'py> Heap<'py> {
    fn new(py: Python<'py>, one: &One) -> Heap<'py> {
        match one.memory {
            Some(_) => Heap::Memory(Vec::new()),
            None => Heap::Objects(PyList::empty(py)),
        }
    }

    fn add(&mut self, one: &One, piece: &Piece<'_, 'py>) -> PyResult<()> {
        match (self, &one.memory, piece) {
            (Heap::Memory(records), Some(decoder), Piece::Many(batch)) => {
                let py = batch.py();
                let append = |batch: &Batch<'_>| py.detach(|| locked(decoder).append_many(batch, records));
                batch.get().lend(py, append)?.map_err(raise)
            }
            (Heap::Memory(records), Some(decoder), Piece::One(message)) => {
                let (header, format, body) = message.get().incoming(message.py());
                locked(decoder).append(&Incoming::new(header, format, body), records).map_err(raise)
            }
            (Heap::Objects(records), ..) => {
                piece.messages(|message| records.append(one.kind.object(message.py(), message.get())?))
            }
            (Heap::Memory(_), None, _) => Err(raise(Error::new(Code::Internal).at("kinds"))),
        }
    }

    fn records(self, py: Python<'py>, one: &One) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Heap::Memory(records) => one.kind.many_of(py, records),
            Heap::Objects(records) => Ok(records.into_any()),
        }
    }
}

impl PyKinds {
    /// The kind of a format if its records are plain memory, so that many of them are an array.
    #[cfg(any(unix, windows))]
    pub(crate) fn memory_kind_of(&self, format: &Format) -> Option<usize> {
        let kind = locked(&self.choices).explain(format).kind().ok()?;
        self.decoders[kind].memory.is_some().then_some(kind)
    }

    /// Decodes a message as this kind, whose records are plain memory.
    #[cfg(any(unix, windows))]
    pub(crate) fn append(&self, kind: usize, message: &Incoming<'_>, records: &mut Vec<u8>) -> isoform::Result<()> {
        let decoder = self.decoders[kind].memory.as_ref().ok_or_else(|| Error::new(Code::Internal).at("kinds"))?;
        locked(decoder).append(message, records)
    }

    /// The records of a kind, from their bytes.
    #[cfg(any(unix, windows))]
    pub(crate) fn many_of<'py>(&self, py: Python<'py>, kind: usize, records: Vec<u8>) -> PyResult<Bound<'py, PyAny>> {
        self.decoders[kind].kind.many_of(py, records)
    }

    /// Calls `act` for the messages of a source that is nested in `depth` lists, with their kind; or without, if they fit none.
    fn each<'py>(
        &self,
        source: &Bound<'py, PyAny>,
        depth: usize,
        act: &mut dyn FnMut(Option<usize>, &Piece<'_, 'py>) -> PyResult<()>,
    ) -> PyResult<()> {
        let piece = if let Ok(message) = source.cast::<PyMessage>() {
            Piece::One(message)
        } else if let Ok(batch) = source.cast::<PyBatch>() {
            Piece::Many(batch)
        } else if let Ok(reader) = source.cast::<PyReader>() {
            let py = source.py();
            loop {
                // Nobody borrows the reader while `act` runs.
                let batch = reader.try_borrow_mut()?.next_batch(py)?;
                let Some(batch) = batch else { return Ok(()) };
                self.each(Bound::new(py, batch)?.as_any(), depth, act)?;
            }
        } else {
            let mut all = rows(source, "messages, a batch or a stream", depth)?;
            return all.try_for_each(|each| self.each(&each?, depth + 1, act));
        };
        let kind = locked(&self.choices).kind_of(piece.format());
        match kind {
            Ok(kind) => act(Some(kind), &piece),
            Err(_) if self.lends_others => {
                if let Piece::Many(batch) = &piece {
                    // Each of them counts.
                    (1..batch.get().count()).for_each(|_| _ = locked(&self.choices).kind_of(piece.format()));
                }
                act(None, &piece)
            }
            Err(error) => Err(raise(error)),
        }
    }

    /// Columns for each kind: of the fields that it has, or of all.
    fn new_columns<'py>(&self, py: Python<'py>, fields: Option<Vec<String>>) -> PyResult<Vec<Bound<'py, PyColumns>>> {
        let mut kinds = locked(&self.choices).list().to_vec();
        for (kind, one) in kinds.iter_mut().zip(&self.decoders) {
            kind.rules = one.kind.rules_of_columns().clone();
        }
        let has = |kind: &Kind, path: &String| kind.format.structure().has_path(path);
        let wrong = fields.iter().flatten().find(|path| !kinds.iter().any(|kind| has(kind, path)));
        if let Some(path) = wrong {
            let mut names: Vec<&str> = Vec::new();
            for field in kinds.iter().flat_map(|kind| kind.format.structure().fields()) {
                if !names.contains(&&*field.name) {
                    names.push(&field.name);
                }
            }
            let error =
                Error::new(Code::NoSuchField).at("fields").expected(format_args!("one of {}", names.join(", ")));
            return Err(raise(error.found(path)));
        }
        let of = |kind: &Kind| {
            let own = fields.as_ref().map(|all| all.iter().filter(|path| has(kind, path)).cloned().collect::<Vec<_>>());
            Bound::new(py, PyColumns::of(&kind.format, own.as_deref(), &kind.rules, kind.faults)?)
        };
        kinds.iter().map(of).collect()
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
    pub(crate) fn decode<'py>(&self, message: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let message = message_of(message)?;
        let (py, received) = (message.py(), message.get());
        let (header, format, body) = received.incoming(py);
        let kind = locked(&self.choices).kind_of(format);
        let one = match kind {
            Ok(kind) => &self.decoders[kind],
            Err(_) if self.lends_others => return Ok(message.clone().into_any()),
            Err(error) => return Err(raise(error)),
        };
        let Some(decoder) = &one.memory else { return one.kind.object(py, received) };
        let mut record = zeros(one.kind.native().size())?;
        locked(decoder).one(&Incoming::new(header, format, body), &mut record).map_err(raise)?;
        one.kind.one_of(py, record)
    }

    /// Decodes a batch, messages or batches, or the rest of a stream. Returns the records of each kind, in the order of the kinds:
    /// one array for dtypes and ctypes structures, and otherwise a list. With `others` = ``messages``, a list of the messages that
    /// fit no kind follows.
    fn decode_many<'py>(&self, source: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let py = source.py();
        let mut heaps: Vec<Heap<'py>> = self.decoders.iter().map(|one| Heap::new(py, one)).collect();
        let others = PyList::empty(py);
        self.each(source, 0, &mut |kind, piece| match kind {
            Some(kind) => heaps[kind].add(&self.decoders[kind], piece),
            None => piece.messages(|message| others.append(message)),
        })?;
        let all = self.decoders.iter().zip(heaps).map(|(one, heap)| heap.records(py, one));
        let mut all = all.collect::<PyResult<Vec<_>>>()?;
        if self.lends_others {
            all.push(others.into_any());
        }
        PyTuple::new(py, all)
    }

    /// Columns for each kind, in the order of the kinds, with a row for each message of a batch, of messages or batches, or of the
    /// rest of a stream. `fields` are paths; the columns of a kind are for those that it has. With `into`, the rows are added to
    /// columns that an earlier call has returned. With `others` = ``messages``, messages that fit no kind are left out.
    #[pyo3(signature = (source=None, fields=None, *, into=None))]
    fn columns<'py>(
        &self,
        py: Python<'py>,
        source: Option<&Bound<'py, PyAny>>,
        fields: Option<&Bound<'py, PyAny>>,
        into: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let into: Option<Vec<Bound<'py, PyColumns>>> = into.map(|into| listed(into, "Columns")).transpose()?;
        let columns = match (into, fields) {
            (None, fields) => self.new_columns(py, fields.map(texts).transpose()?)?,
            (Some(into), None) if into.len() == self.decoders.len() => into,
            (Some(into), fields) => {
                let found = fields.map_or_else(|| format!("{} Columns", into.len()), |_| "fields as well".into());
                let expected = format_args!("the Columns of {} kinds", self.decoders.len()).to_string();
                return Err(raise(Error::new(Code::WrongType).at("into").expected(expected).found(found)));
            }
        };
        if let Some(source) = source {
            self.each(source, 0, &mut |kind, piece| match kind {
                Some(kind) => columns[kind].try_borrow_mut()?.add(py, piece.any(), 0),
                None => Ok(()),
            })?;
        }
        PyTuple::new(py, columns)
    }

    /// The kind that messages of a format become, as its place among the kinds; `None` if they fit none.
    fn kind_of(&self, format: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        Ok(locked(&self.choices).explain(format_of(format)?).kind().ok())
    }

    /// The choice for a format: a line with the reason, and a line for each kind.
    fn explain(&self, format: &Bound<'_, PyAny>) -> PyResult<String> {
        Ok(locked(&self.choices).explain(format_of(format)?).to_string())
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
