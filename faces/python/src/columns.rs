//! Single fields of many records, each as an array. They are converted directly into the arrays.

use crate::arrow;
use crate::decoder::choice;
use crate::error::raise;
use crate::face::face;
use crate::format::PyFormat;
use crate::item::text;
use crate::message::{PyBatch, PyMessage};
use crate::record_type::RecordType;
use crate::rows::{rows, texts};
use crate::rules;
use crate::stream::{PyReader, stamps, stamps_of, stride};
use isoform::core::Value;
use isoform::{Code, Error, Faults, Format, Incoming, Rules};
use isoform_dynamic::columns::{Columns, StampValues, Stamps};
use isoform_dynamic::stream::Stamp;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyString, PyTuple};

/// Single fields of many messages, each as an array in this machine's byte order, for NumPy and Arrow.
///
/// `fields` are the names or paths of the fields, such as ``com.x``; by default, all fields of the record but the lengths of arrays.
/// The elements of a field within an array of records are an array. Text, arrays of variable length, and records with them are
/// objects: text, lists, dicts or `None`. `faults`, `missing` and `rules` are as for a :class:`Decoder`.
///
/// Messages of a recording have stamps. With `stamps`, they are columns in front of the others, as ``isoform export`` writes them: ``isoform.topic``,
/// ``isoform.source``, ``isoform.sequence``, ``isoform.submitted``, ``isoform.recorded``. `fields` can have some of these names, too. The times are
/// `datetime64[ns]` in UTC.
///
/// ``pandas.DataFrame(dict(columns))`` makes a data frame, unless a column has two dimensions. ``pyarrow.record_batch(columns)``,
/// ``polars.DataFrame(columns)`` and everything else that supports ``__arrow_c_array__`` use the columns without a copy.
#[pyclass(name = "Columns", module = "isoform")]
pub(crate) struct PyColumns {
    name: String,
    columns: Columns,
    /// Read-only arrays of the columns, made when a program asks for them.
    seen: Vec<Option<Py<PyArray1<u8>>>>,
}

impl PyColumns {
    /// The columns of these fields, or of all.
    pub(crate) fn of(format: &Format, fields: Option<&[String]>, rules: &Rules, faults: Faults) -> PyResult<PyColumns> {
        PyColumns::with_stamps(format, fields, None, rules, faults)
    }

    /// The same, with columns of stamps in front: those that are asked for, and those among the fields that are no fields of a record.
    fn with_stamps(
        format: &Format,
        fields: Option<&[String]>,
        stamps: Option<Stamps>,
        rules: &Rules,
        faults: Faults,
    ) -> PyResult<PyColumns> {
        let is_stamp = |name: &String| Stamps::has(name) && !format.structure().has_path(name);
        let (among, fields) = match fields {
            None => (Vec::new(), None),
            Some(names) => {
                let (among, fields): (Vec<_>, Vec<_>) = names.iter().cloned().partition(is_stamp);
                (among, Some(fields))
            }
        };
        let among = (!among.is_empty()).then(|| Stamps::named(among.iter().map(String::as_str))).flatten();
        let mut columns = Columns::new(format, fields.as_deref(), rules, faults).map_err(raise)?;
        if let Some(stamps) = stamps.or(among) {
            columns.set_stamps(stamps);
        }
        let seen = columns.names().map(|_| None).collect();
        Ok(PyColumns { name: format.name().into(), columns, seen })
    }

    /// The columns, to add rows.
    fn growing(&mut self, py: Python<'_>) -> PyResult<&mut Columns> {
        for (index, seen) in self.seen.iter_mut().enumerate() {
            if let Some(array) = seen {
                self.columns.give(index, array.bind(py).readonly().as_slice()?.to_vec());
                *seen = None;
            }
        }
        Ok(&mut self.columns)
    }

    /// All bytes of a column of fixed size, as an array.
    fn seen<'py>(&mut self, py: Python<'py>, index: usize) -> PyResult<Option<Bound<'py, PyArray1<u8>>>> {
        if let Some(array) = &self.seen[index] {
            return Ok(Some(array.bind(py).clone()));
        }
        let Some(bytes) = self.columns.take(index) else { return Ok(None) };
        let array = PyArray1::from_vec(py, bytes);
        array.call_method1("setflags", (false,))?;
        self.seen[index] = Some(array.clone().unbind());
        Ok(Some(array))
    }

    /// The values of a column whose size varies, as an array of objects.
    fn objects<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let value = |row| self.columns.value(index, row).map_or_else(|| Ok(py.None()), |value| object(py, &value));
        let values = (0..self.columns.rows()).map(value).collect::<PyResult<Vec<_>>>()?;
        let array = PyArray1::from_vec(py, values);
        array.call_method1("setflags", (false,))?;
        Ok(array.into_any())
    }

    /// Those of the rows that are added, if they are wanted.
    fn stamps_of(&mut self, stamps: &[Stamp], count: usize) -> PyResult<Vec<Stamp>> {
        match self.columns.stamps() {
            None => Ok(Vec::new()),
            Some(_) if stamps.len() == count => Ok(stamps.to_vec()),
            Some(_) => Err(raise(without_stamps())),
        }
    }

    /// Adds the rows of a source that is nested in `depth` lists.
    pub(crate) fn add(&mut self, py: Python<'_>, source: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
        if let Ok(batch) = source.cast::<PyBatch>() {
            let stamps = self.stamps_of(batch.get().stamps(), batch.get().count())?;
            let columns = self.growing(py)?;
            batch.get().lend(py, |batch| py.detach(|| columns.append_many(batch)))?.map_err(raise)?;
            put(columns, stamps);
            return Ok(());
        }
        if let Ok(message) = source.cast::<PyMessage>() {
            let stamps = self.stamps_of(message.get().stamp.as_slice(), 1)?;
            let (header, format, body) = message.get().incoming(py);
            let columns = self.growing(py)?;
            py.detach(|| columns.append(&Incoming::new(header, format, body))).map_err(raise)?;
            put(columns, stamps);
            return Ok(());
        }
        if let Ok(reader) = source.cast::<PyReader>() {
            let mut reader = reader.try_borrow_mut()?;
            let (stream, fault) = reader.reader()?;
            let columns = self.growing(py)?;
            if columns.stamps().is_some() && !stream.inner().is_recording() {
                return Err(raise(without_stamps()));
            }
            let has_stamps = columns.stamps().is_some();
            let read = || {
                loop {
                    let at = if has_stamps { stamps(stream)? } else { None };
                    let Some(batch) = stream.next_batch()? else { return Ok(()) };
                    columns.append_many(&batch)?;
                    if let Some(at) = at {
                        let (count, stride) = (batch.len(), stride(&batch));
                        put(columns, stamps_of(stream, at, count, stride));
                    }
                }
            };
            return py.detach(read).map_err(|error| fault.raise(error));
        }
        let mut each = rows(source, "messages, a batch or a stream", depth)?;
        each.try_for_each(|each| self.add(py, &each?, depth + 1))
    }
}

fn put(columns: &mut Columns, stamps: Vec<Stamp>) {
    if let Some(known) = columns.stamps() {
        stamps.into_iter().for_each(|stamp| known.push(stamp));
    }
}

fn without_stamps() -> Error {
    let error = Error::new(Code::WrongType).at("isoform").expected("messages of a recording, which have stamps");
    error.found("messages without; a query has the times of its records by time()")
}

#[pymethods]
impl PyColumns {
    #[new]
    #[pyo3(signature = (record, fields=None, *, stamps=false, faults="error", missing="refuse", rules=None))]
    fn new(
        py: Python<'_>,
        record: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyAny>>,
        stamps: bool,
        faults: &str,
        missing: &str,
        rules: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyColumns> {
        let kind = RecordType::of(record, None)?;
        let rules = rules::of(py, &kind, rules, missing)?;
        let fields = fields.map(texts).transpose()?;
        let stamps = stamps.then(Stamps::all);
        PyColumns::with_stamps(kind.format(), fields.as_deref(), stamps, &rules, choice(faults)?)
    }

    /// Adds a row for each message of a batch, of several batches, or of the rest of a stream.
    fn append(&mut self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<()> {
        self.add(py, source, 0)
    }

    /// The names of the columns.
    #[getter]
    fn names(&mut self) -> Vec<String> {
        let stamps: Vec<String> =
            self.columns.stamps().iter().flat_map(|stamps| stamps.names()).map(String::from).collect();
        stamps.into_iter().chain(self.columns.names().map(String::from)).collect()
    }

    /// A column, as a read-only array. Values whose size varies are objects: text, lists, dicts or `None`.
    fn __getitem__<'py>(&mut self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if let Some(values) = self.columns.stamps().and_then(|stamps| stamps.values(name)) {
            return stamped(py, values);
        }
        let index = self.columns.names().position(|known| known == name);
        let Some(index) = index else {
            let error = face(py)?.no_such_column.bind(py).call1((name, self.names()))?;
            return Err(PyErr::from_value(error));
        };
        let Some(format) = self.columns.format(index) else { return self.objects(py, index) };
        let format = PyFormat(format.clone());
        let bytes = self.seen(py, index)?;
        face(py)?.column.bind(py).call1((format, bytes))
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.columns.rows()
    }

    /// The names of the columns, so that `dict(columns)` works.
    fn keys(&mut self) -> Vec<String> {
        self.names()
    }

    /// Iterates over the names of the columns.
    fn __iter__<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.names())?.try_iter()
    }

    /// Refuses to be one array. NumPy and pandas would otherwise take the names for the data.
    #[pyo3(signature = (*_options, **_more))]
    fn __array__(&self, _options: &Bound<'_, PyTuple>, _more: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let error = Error::new(Code::WrongType).at("columns").expected("one column, or dict(columns)");
        Err(raise(error.found("all columns as one array")))
    }

    fn __contains__(&mut self, name: &str) -> bool {
        self.names().iter().any(|known| known == name)
    }

    fn __repr__(&mut self) -> String {
        format!("Columns({} rows of {})", self.columns.rows(), self.names().join(", "))
    }

    /// Removes all rows.
    fn clear(&mut self) {
        self.columns.clear();
        self.seen.iter_mut().for_each(|seen| *seen = None);
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, self.columns.schema(&self.name).map_err(raise)?)
    }

    /// The columns for Arrow, without a copy. A request for another schema is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &mut self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        drop(requested_schema);
        let schema = self.__arrow_c_schema__(py)?;
        let values = (0..self.seen.len()).map(|index| self.seen(py, index)).collect::<PyResult<Vec<_>>>()?;
        Ok((schema, arrow::array(py, &self.columns, values)?))
    }
}

/// A column of stamps, as a read-only array.
fn stamped(py: Python<'_>, values: StampValues) -> PyResult<Bound<'_, PyAny>> {
    let array = match values {
        StampValues::Topics(topics) => {
            let topics = topics.iter().map(|topic| PyString::intern(py, topic).into_any().unbind()).collect();
            PyArray1::from_vec(py, topics).into_any()
        }
        StampValues::Sources(numbers) => PyArray1::from_vec(py, numbers).into_any(),
        StampValues::Sequences(numbers) => PyArray1::from_vec(py, numbers).into_any(),
        StampValues::Times(times) => {
            // The least number is "not a time".
            let times = times.into_iter().map(|time| time.unwrap_or(i64::MIN)).collect();
            PyArray1::from_vec(py, times).call_method1("view", ("datetime64[ns]",))?
        }
    };
    array.call_method1("setflags", (false,))?;
    Ok(array)
}

/// A value as Python has it.
fn object(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::Boolean(truth) => truth.into_pyobject(py)?.to_owned().into_any().unbind(),
        Value::Integer(number) => number.into_pyobject(py)?.into_any().unbind(),
        Value::Float(number) => number.into_pyobject(py)?.into_any().unbind(),
        Value::Symbol(name) => PyString::intern(py, name).into_any().unbind(),
        Value::String(bytes) => text(py, bytes)?.unbind(),
        Value::Array(items) => {
            let items = items.iter().map(|item| object(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any().unbind()
        }
        Value::Record(fields) => {
            let record = PyDict::new(py);
            fields.iter().try_for_each(|(name, value)| record.set_item(&**name, object(py, value)?))?;
            record.into_any().unbind()
        }
        // A column has no others.
        _ => py.None(),
    })
}
