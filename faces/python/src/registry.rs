//! The known formats.

use crate::error::raise;
use crate::format::PyFormat;
use crate::servers;
use isoform::{Limits, Registry};
use pyo3::prelude::*;

/// The known formats, and the limits for input: bytes of a message and of a description, depth and fields of a format, and
/// the number of stored formats. ``docs/book/reference/limits.md`` lists the defaults.
///
/// Unknown formats are found at `servers`, which is `Servers` or their URLs, or by `resolver`, which is a function from a token
/// to the description or `None`.
#[pyclass(name = "Registry", module = "isoform")]
pub(crate) struct PyRegistry(pub(crate) Registry);

#[pymethods]
impl PyRegistry {
    #[new]
    #[pyo3(signature = (*, message=None, description=None, depth=None, fields=None, formats=None, servers=None, resolver=None))]
    fn new(
        message: Option<u64>,
        description: Option<usize>,
        depth: Option<usize>,
        fields: Option<usize>,
        formats: Option<usize>,
        servers: Option<&Bound<'_, PyAny>>,
        resolver: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyRegistry> {
        let usual = Limits::default();
        let registry = Registry::within(Limits {
            message: message.unwrap_or(usual.message),
            description: description.unwrap_or(usual.description),
            depth: depth.unwrap_or(usual.depth),
            fields: fields.unwrap_or(usual.fields),
            formats: formats.unwrap_or(usual.formats),
            ..usual
        });
        servers::find(&registry, servers, resolver)?;
        Ok(PyRegistry(registry))
    }

    /// Makes a format known for ever.
    fn register(&self, format: &PyFormat) -> PyResult<()> {
        self.0.register(&format.0).map_err(raise)
    }

    /// Makes the format of this description known, and returns it.
    fn learn(&self, description: &[u8]) -> PyResult<PyFormat> {
        self.0.learn(description).map(PyFormat).map_err(raise)
    }

    /// The format of a token, if it is known.
    fn known(&self, token: &str) -> Option<PyFormat> {
        self.0.known(token.parse().ok()?).map(PyFormat)
    }

    /// All known formats, sorted by name.
    fn formats(&self) -> Vec<PyFormat> {
        self.0.formats().into_iter().map(PyFormat).collect()
    }
}
