//! Single fields of many records, each as an array: converted to where it shall be, without the records between.

use crate::arrow;
use crate::decoder::faults_of;
use crate::error::{raise, wrong_type};
use crate::format::PyFormat;
use crate::memory::{Decoder, append};
use crate::message::{PyBatch, PyMessage};
use crate::rules;
use crate::stream::PyReader;
use isoform::core::{ByteOrder, Element, Field, Structure};
use isoform::memory::Engine;
use isoform::{Batch, Code, Error, Format, Incoming, Machine, Rules};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use std::sync::Arc;

/// Fields of many records as arrays. See `isoform.Columns`.
#[pyclass(name = "Columns", module = "isoform")]
pub(crate) struct PyColumns {
    name: String,
    columns: Vec<Column>,
    rows: usize,
}

/// One of them.
struct Column {
    field: Field,
    /// To a record with this field alone.
    decoder: Decoder,
    values: Values,
}

/// The values of a column.
enum Values {
    /// While they grow.
    Growing(Vec<u8>),
    /// Since somebody has looked at them: an array that cannot be written to.
    Seen(Py<PyArray1<u8>>),
}

impl Column {
    fn new(structure: &Arc<Structure>, field: &Field, more: Rules, faults: isoform::Faults) -> isoform::Result<Column> {
        let machine = structure.machine();
        let size = field.extent(machine.pointer).filter(|_| !field.has_slots() && !field.is_dynamic());
        let size = size.ok_or_else(|| {
            Error::new(Code::WrongType).at(&*field.name).expected("a field of fixed size, without pointers")
        })?;
        // In this machine's byte order, as whoever computes with a column has it, and Arrow.
        let machine = Machine { order: ByteOrder::NATIVE, ..machine };
        let alone = Field { offset: 0, ..on(machine, field)? };
        let record = Structure::new(structure.name(), machine, size, 1, vec![alone.clone()])?;
        // Without it there would be nothing to make a row of, but for its default.
        let rules = match more.of(structure.name(), &field.name) {
            Some(rule) if rule.default.is_some() => more,
            _ => more.required(structure.name(), &field.name),
        };
        let decoder = Decoder::new(&Format::new(record.into())?, rules, faults, Engine::Auto)?;
        Ok(Column { field: alone, decoder, values: Values::Growing(Vec::new()) })
    }

    /// The bytes, to add some.
    fn growing(&mut self, py: Python<'_>) -> PyResult<(&mut Decoder, &mut Vec<u8>)> {
        if let Values::Seen(array) = &self.values {
            self.values = Values::Growing(array.bind(py).readonly().as_slice()?.to_vec());
        }
        match &mut self.values {
            Values::Growing(bytes) => Ok((&mut self.decoder, bytes)),
            Values::Seen(_) => unreachable!("it grows now"),
        }
    }

    /// All bytes, as an array.
    fn seen<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        if let Values::Growing(bytes) = &mut self.values {
            let array = PyArray1::from_vec(py, std::mem::take(bytes));
            array.call_method1("setflags", (false,))?;
            self.values = Values::Seen(array.unbind());
        }
        match &self.values {
            Values::Seen(array) => Ok(array.bind(py).clone()),
            Values::Growing(_) => unreachable!("it is an array now"),
        }
    }

    fn truncate(&mut self, rows: usize) {
        let length = rows * self.decoder.format().size();
        if let Values::Growing(bytes) = &mut self.values {
            bytes.truncate(length);
        }
    }
}

/// The same field on another machine, where it is.
fn on(machine: Machine, field: &Field) -> isoform::Result<Field> {
    let mut field = field.clone();
    if let Element::Structure(inner) = &field.element {
        let fields = inner.fields().iter().map(|field| on(machine, field)).collect::<isoform::Result<_>>()?;
        field.element =
            Element::Structure(Structure::new(inner.name(), machine, inner.size(), inner.align(), fields)?.into());
    }
    Ok(field)
}

impl PyColumns {
    /// Adds to each column by `add`; or to none, if that fails.
    fn add(
        &mut self,
        py: Python<'_>,
        count: usize,
        mut add: impl FnMut(&mut Decoder, &mut Vec<u8>) -> isoform::Result<()> + Send,
    ) -> PyResult<()> {
        let mut done = Ok(());
        for column in &mut self.columns {
            let (decoder, bytes) = column.growing(py)?;
            done = py.detach(|| add(decoder, bytes));
            if done.is_err() {
                break;
            }
        }
        if done.is_ok() {
            self.rows += count;
        }
        self.columns.iter_mut().for_each(|column| column.truncate(self.rows));
        done.map_err(raise)
    }

    fn add_batch(&mut self, py: Python<'_>, batch: &Batch<'_>) -> PyResult<()> {
        self.add(py, batch.len(), |decoder, bytes| append(decoder, batch, bytes))
    }
}

#[pymethods]
impl PyColumns {
    #[new]
    #[pyo3(signature = (record, fields=None, *, faults="error"))]
    fn new(
        py: Python<'_>,
        record: &Bound<'_, PyAny>,
        fields: Option<Vec<String>>,
        faults: &str,
    ) -> PyResult<PyColumns> {
        let kind = py.import("isoform._records")?.call_method1("kind_of", (record,))?;
        let format = kind.getattr("format")?.cast::<PyFormat>()?.get().0.clone();
        let (rules, faults) = (rules::add(Rules::new(), &format, &kind.getattr("rules")?)?, faults_of(faults)?);
        let structure = format.structure();
        let all = || structure.fields().iter().map(|field| field.name.to_string()).collect();
        let column = |name: String| {
            let field = structure.field(&name).ok_or_else(|| Error::new(Code::NoSuchField).came(&name));
            field.and_then(|field| Column::new(structure, field, rules.clone(), faults)).map_err(raise)
        };
        let columns = fields.unwrap_or_else(all).into_iter().map(column).collect::<PyResult<_>>()?;
        Ok(PyColumns { name: format.name().into(), columns, rows: 0 })
    }

    /// Adds a row for each message of a batch, of several, or of the rest of a stream.
    fn append(&mut self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(batch) = source.cast::<PyBatch>() {
            return batch.get().lend(py, |batch| self.add_batch(py, batch))?;
        }
        if let Ok(message) = source.cast::<PyMessage>() {
            let (header, format, body) = message.get().incoming(py);
            return self.add(py, 1, |decoder, bytes| {
                let before = bytes.len();
                bytes.resize(before + decoder.format().size(), 0);
                decoder.one(&Incoming::new(header, format, body), &mut bytes[before..])
            });
        }
        if let Ok(reader) = source.cast::<PyReader>() {
            let mut reader = reader.try_borrow_mut()?;
            let (stream, fault) = reader.reader()?;
            while let Some(batch) = py.detach(|| stream.next_batch()).map_err(|error| fault.raise(error))? {
                self.add_batch(py, &batch)?;
            }
            return Ok(());
        }
        let each = source.try_iter().map_err(|_| raise(wrong_type("messages, a batch or a stream", source)))?;
        each.into_iter().try_for_each(|each| self.append(py, &each?))
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.field.name.to_string()).collect()
    }

    /// A column, as an array that cannot be written to.
    fn __getitem__<'py>(&mut self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = self.columns.iter_mut().find(|column| *column.field.name == *name);
        let column = found.ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(name.to_owned()))?;
        let format = PyFormat(column.decoder.format().clone());
        let bytes = column.seen(py)?;
        py.import("isoform._dtypes")?.call_method1("column", (format, bytes))
    }

    fn __len__(&self) -> usize {
        self.rows
    }

    /// Forgets all rows.
    fn clear(&mut self) {
        self.rows = 0;
        self.columns.iter_mut().for_each(|column| column.values = Values::Growing(Vec::new()));
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fields: Vec<&Field> = self.columns.iter().map(|column| &column.field).collect();
        arrow::schema(py, &self.name, &fields)
    }

    /// The columns as Arrow sees them, where they are; the caller may ask for another schema, and is not given one.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &mut self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        drop(requested_schema);
        let schema = self.__arrow_c_schema__(py)?;
        let rows = self.rows;
        let seen = self.columns.iter_mut().map(|column| Ok((column.field.clone(), column.seen(py)?)));
        let columns = seen.collect::<PyResult<Vec<_>>>()?;
        Ok((schema, arrow::array(py, rows, &columns)?))
    }
}
