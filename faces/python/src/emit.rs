//! Emitted values. `isoform/emitting.py` says what they are.

use crate::error::raise;
use isoform::{Code, Error, Result};
use isoform_channel::emitting::{self, Emitting};
use isoform_dynamic::emit::{Content, Number, Place, Symbols, Value};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use std::sync::{Mutex, PoisonError};

/// What `emit` does for records of one name.
#[pyclass(name = "_Place", module = "isoform", frozen)]
pub(crate) struct PyPlace(Place);

/// The symbols of an `Enum`.
#[pyclass(name = "_Symbols", module = "isoform", frozen)]
pub(crate) struct PySymbols(Symbols);

#[pymethods]
impl PySymbols {
    #[new]
    fn new(symbols: Vec<(String, i64)>) -> PyResult<PySymbols> {
        Symbols::new(symbols).map(PySymbols).map_err(raise)
    }
}

/// A value as `isoform/emitting.py` passes it: its name, its unit, the letter of NumPy for its kind, the bytes of an element, its
/// dimensions unless it is a single number, and its bytes; or its text; or its symbols, and the number of one.
#[derive(FromPyObject)]
enum Given {
    Number(PyBackedStr, Option<PyBackedStr>, char, u8, Option<Vec<usize>>, PyBackedBytes),
    Text(PyBackedStr, Option<PyBackedStr>, PyBackedStr),
    Symbol(PyBackedStr, Option<PyBackedStr>, Py<PySymbols>, i64),
}

impl Given {
    fn value(&self) -> Result<Value<'_>> {
        Ok(match self {
            Given::Text(name, unit, text) => Value { name, unit: unit.as_deref(), content: Content::Text(text) },
            Given::Symbol(name, unit, symbols, number) => {
                Value { name, unit: unit.as_deref(), content: Content::Symbol(&symbols.get().0, *number) }
            }
            Given::Number(name, unit, kind, size, dims, bytes) => {
                let number = match (kind, size) {
                    ('b', 1) => Number::Boolean,
                    ('i', 1 | 2 | 4 | 8) => Number::Signed(*size),
                    ('u', 1 | 2 | 4 | 8) => Number::Unsigned(*size),
                    ('f', 2 | 4 | 8) => Number::Float(*size),
                    ('c', 8 | 16) => Number::Complex(*size / 2),
                    _ => {
                        let error = Error::new(Code::WrongType).at(&**name).expected("numbers, booleans or text");
                        return Err(error.found(format_args!("{kind}{size}")));
                    }
                };
                let content = match dims {
                    None => Content::Number(number, bytes),
                    Some(dims) => Content::Array(number, dims, bytes),
                };
                Value { name, unit: unit.as_deref(), content }
            }
        })
    }
}

#[pymethods]
impl PyPlace {
    #[new]
    fn new(name: &str) -> PyPlace {
        PyPlace(Place::new(name))
    }

    /// A record begins: returns whether somebody listens. Otherwise, it is only numbered.
    fn begin(&self) -> bool {
        self.0.begin()
    }

    #[getter]
    fn heard(&self) -> bool {
        self.0.is_heard()
    }

    /// Returns why it failed, and has counted that; raises what it has not counted.
    fn emit(&self, py: Python<'_>, values: Vec<Given>) -> PyResult<Option<String>> {
        let values: Vec<Value<'_>> = values.iter().map(Given::value).collect::<Result<_>>().map_err(raise)?;
        Ok(py.detach(|| self.0.emit(&values)).err().map(|error| error.to_string()))
    }

    /// Counts a record of which no values could be made.
    fn fail(&self) {
        self.0.fail();
    }

    #[staticmethod]
    fn failed() -> usize {
        isoform::emit::failed()
    }
}

/// What `emit_start` returns: records are submitted to channels until it is closed.
#[pyclass(name = "Emitting", module = "isoform", frozen)]
pub(crate) struct PyEmitting(Mutex<Option<Emitting>>);

#[pymethods]
impl PyEmitting {
    #[new]
    fn new(py: Python<'_>, name: &str) -> PyResult<PyEmitting> {
        let started = py.detach(|| emitting::start(name)).map_err(raise)?;
        Ok(PyEmitting(Mutex::new(Some(started))))
    }

    /// The ids of the channels whose records have been emitted so far.
    fn ids(&self) -> Vec<String> {
        let emitting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        emitting.iter().flat_map(Emitting::ids).map(|id| id.to_string()).collect()
    }

    /// Stops emitting. Sinks have a second to take the last records.
    fn close(&self, py: Python<'_>) {
        let emitting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(emitting));
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, PyAny>) {
        self.close(py);
    }
}
