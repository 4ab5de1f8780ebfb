//! Arguments that are taken row by row: lists and other iterables, which may be nested.

use crate::error::{raise, wrong_type};
use isoform::{Code, Error};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyIterator, PyMemoryView, PyString};

/// The deepest nesting of lists. A list that contains itself has no end.
const DEEPEST: usize = 16;

/// A list of texts.
pub(crate) fn texts(source: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    listed(source, "a list of str")
}

/// The elements of a list. They are taken as they come: its length, for which the conversions of PyO3 make room at once, is what the program
/// says, and may be 2**40.
pub(crate) fn listed<'py, T: FromPyObjectOwned<'py>>(source: &Bound<'py, PyAny>, expected: &str) -> PyResult<Vec<T>> {
    rows(source, expected, 0)?.map(|each| each?.extract().map_err(Into::into)).collect()
}

/// The rows of an iterable, which lies in `depth` others. Refuses what is iterable but holds no rows: text and bytes, whose
/// elements are text again, and dicts.
pub(crate) fn rows<'py>(source: &Bound<'py, PyAny>, expected: &str, depth: usize) -> PyResult<Bound<'py, PyIterator>> {
    let refused = source.is_instance_of::<PyString>()
        || source.is_instance_of::<PyBytes>()
        || source.is_instance_of::<PyByteArray>()
        || source.is_instance_of::<PyMemoryView>()
        || source.is_instance_of::<PyDict>();
    if refused {
        return Err(raise(wrong_type(expected, source)));
    }
    if depth >= DEEPEST {
        let error = Error::new(Code::Depth).expected(format_args!("lists that are nested at most {DEEPEST} deep"));
        return Err(raise(error));
    }
    source.try_iter().map_err(|error| match error.is_instance_of::<PyTypeError>(source.py()) {
        true => raise(wrong_type(expected, source)),
        false => error,
    })
}
