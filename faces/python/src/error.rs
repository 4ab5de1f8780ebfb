//! Failures as exceptions: `isoform.errors` has a class for each class of `spec/errors.md`.

use crate::face::{Face, face};
use isoform::{Class, Code, Error};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::cell::RefCell;

thread_local! {
    /// The exception that a function of the program raised last within Rust, and what is found in
    /// the failure that stands for it there.
    static KEPT: RefCell<Option<(String, PyErr)>> = const { RefCell::new(None) };
}

/// The failure that stands for an exception of the program, until it is raised again as it was.
pub(crate) fn keep(error: Error, exception: PyErr) -> Error {
    let error = error.found(&exception);
    KEPT.set(Some((error.actual().to_owned(), exception)));
    error
}

/// The exception of a failure. If that stands for an exception of the program, it is this one.
pub(crate) fn raise(error: Error) -> PyErr {
    if let Some((_, exception)) = KEPT.take().filter(|(text, _)| *text == error.actual()) {
        return exception;
    }
    Python::attach(|py| exception(py, &error).map_or_else(|fault| fault, PyErr::from_value))
}

/// The same as an object, not raised.
pub(crate) fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let class = class(face(py)?, error.code()).bind(py);
    let (code, text) = (error.code() as u16, in_python(&error.to_string()));
    let token = error.token().map(|token| token.to_string());
    class.call1((text, code, error.path(), in_python(error.expectation()), error.actual(), token))
}

/// Advice as a program in Python writes it.
fn in_python(text: &str) -> String {
    text.replace("the option missing = zero", "the option missing=\"zero\"")
}

/// The failure to be given an object of the right kind.
pub(crate) fn wrong_type(expected: &str, found: &Bound<'_, PyAny>) -> Error {
    let found = found.get_type().name().map_or_else(|_| "an object".into(), |name| name.to_string());
    Error::new(Code::WrongType).expected(expected).found(found)
}

fn class(face: &Face, code: Code) -> &Py<PyAny> {
    match code.class() {
        Class::BadInput => &face.bad_input,
        Class::Limit => &face.limit_reached,
        Class::Mismatch => &face.mismatch,
        Class::Unavailable => &face.unavailable,
        Class::Usage => &face.usage,
        Class::Internal => &face.internal,
    }
}

/// Number, name and class of every code, for a test that compares them with Python's.
#[pyfunction]
pub(crate) fn codes(py: Python<'_>) -> PyResult<Vec<(u16, &'static str, Bound<'_, PyString>)>> {
    let face = face(py)?;
    let code = |&code: &Code| Ok((code as u16, code.name(), class(face, code).bind(py).cast::<PyType>()?.name()?));
    Code::ALL.iter().map(code).collect()
}
