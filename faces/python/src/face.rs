//! The Python objects that the core needs. The package passes them once, when it is imported (`isoform/_face.py`). So
//! the core looks up nothing by name.

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Classes and functions of the package, by the names that `isoform/_face.py` has for them.
#[derive(FromPyObject)]
pub(crate) struct Face {
    /// Describes a type of records for encoders and decoders: see [`RecordType`](crate::record_type::RecordType).
    pub(crate) kind_of: Py<PyAny>,
    pub(crate) bytes_of: Py<PyAny>,
    pub(crate) dtype_of: Py<PyAny>,
    pub(crate) rows: Py<PyAny>,
    /// The bytes of memory that a body is read to.
    pub(crate) writable: Py<PyAny>,
    pub(crate) column: Py<PyAny>,
    #[pyo3(attribute("View"))]
    pub(crate) view: Py<PyAny>,
    pub(crate) open: Py<PyAny>,
    pub(crate) batches: Py<PyAny>,
    pub(crate) events: Py<PyAny>,
    pub(crate) records: Py<PyAny>,
    #[pyo3(attribute("Record"))]
    pub(crate) record: Py<PyAny>,
    /// Makes `isoform.Records`.
    pub(crate) many: Py<PyAny>,
    #[pyo3(attribute("EventHead"))]
    pub(crate) head: Py<PyAny>,
    #[pyo3(attribute("Gap"))]
    pub(crate) gap: Py<PyAny>,
    #[pyo3(attribute("Joined"))]
    pub(crate) joined: Py<PyAny>,
    #[pyo3(attribute("Left"))]
    pub(crate) left: Py<PyAny>,
    #[pyo3(attribute("Refused"))]
    pub(crate) refused: Py<PyAny>,
    #[pyo3(attribute("Given"))]
    pub(crate) given: Py<PyAny>,
    /// Values of parameters as a message.
    pub(crate) values: Py<PyAny>,
    #[pyo3(attribute("Granted"))]
    pub(crate) granted: Py<PyAny>,
    /// Makes `isoform.Watching`.
    #[pyo3(attribute("Watching"))]
    pub(crate) watching: Py<PyAny>,
    pub(crate) counts: Py<PyAny>,
    pub(crate) ledger: Py<PyAny>,
    pub(crate) member: Py<PyAny>,
    /// Makes the exception of a column that is not there.
    pub(crate) no_such_column: Py<PyAny>,
    /// Makes the exception of a file that cannot be opened.
    pub(crate) cannot_open: Py<PyAny>,
    /// The exceptions, by the class of their code.
    #[pyo3(attribute("BadInput"))]
    pub(crate) bad_input: Py<PyAny>,
    #[pyo3(attribute("LimitReached"))]
    pub(crate) limit_reached: Py<PyAny>,
    #[pyo3(attribute("Mismatch"))]
    pub(crate) mismatch: Py<PyAny>,
    #[pyo3(attribute("Unavailable"))]
    pub(crate) unavailable: Py<PyAny>,
    #[pyo3(attribute("Usage"))]
    pub(crate) usage: Py<PyAny>,
    #[pyo3(attribute("Internal"))]
    pub(crate) internal: Py<PyAny>,
}

static FACE: PyOnceLock<Face> = PyOnceLock::new();

/// Stores the objects of the package. Later calls, as when the package is reloaded, have no effect.
#[pyfunction]
pub(crate) fn _stand_behind(py: Python<'_>, face: Face) {
    _ = FACE.set(py, face);
}

/// The objects of the package.
pub(crate) fn face(py: Python<'_>) -> PyResult<&'static Face> {
    FACE.get(py).ok_or_else(|| PyImportError::new_err("the package isoform has not been imported"))
}
