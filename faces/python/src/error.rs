//! Failures as exceptions: `isoform.errors` has a class for each class of `spec/errors.md`.

use isoform::{Class, Code, Error};
use pyo3::prelude::*;

/// The exception of a failure.
pub(crate) fn raise(error: Error) -> PyErr {
    Python::attach(|py| exception(py, &error).map_or_else(|fault| fault, PyErr::from_value))
}

/// The same as an object, not raised.
pub(crate) fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("isoform.errors")?.getattr(class(error.code()))?;
    let (code, text) = (error.code() as u16, error.to_string());
    class.call1((text, code, error.path(), error.expectation(), error.actual()))
}

/// The failure to be given an object of the right kind.
pub(crate) fn wrong_type(expected: &str, came: &Bound<'_, PyAny>) -> Error {
    let came = came.get_type().name().map_or_else(|_| "an object".into(), |name| name.to_string());
    Error::new(Code::WrongType).expected(expected).came(came)
}

fn class(code: Code) -> &'static str {
    match code.class() {
        Class::BadInput => "BadInput",
        Class::Limit => "LimitReached",
        Class::Mismatch => "Mismatch",
        Class::Unavailable => "Unavailable",
        Class::Usage => "Usage",
        Class::Internal => "Internal",
    }
}

/// Number, name and class of every code, for a test that compares them with Python's.
#[pyfunction]
pub(crate) fn codes() -> Vec<(u16, &'static str, &'static str)> {
    Code::ALL.iter().map(|&code| (code as u16, code.name(), class(code))).collect()
}
