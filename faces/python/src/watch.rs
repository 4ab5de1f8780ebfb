//! Records of documents that a program looks at again while it runs.

use crate::document::Loading;
use crate::error::raise;
use crate::format::PyFormat;
use isoform_dynamic::wait::seconds;
use isoform_xmit::{Watch, WatchedRecord};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A record of a document, which is looked at again now and then.
#[pyclass(name = "Watch", module = "isoform", frozen)]
pub(crate) struct PyWatch(Mutex<WatchedRecord>);

#[pymethods]
impl PyWatch {
    #[new]
    #[pyo3(signature = (place, name, *, every=60.0, layout=None, language=None, overlay=None, hosts="", schemes="", cache=None,
                        deadline=10.0, limit=None, redirects=5))]
    #[expect(clippy::too_many_arguments, reason = "they are the keywords of a function in Python")]
    fn new(
        place: &str,
        name: &str,
        every: f64,
        layout: Option<&str>,
        language: Option<&str>,
        overlay: Option<PathBuf>,
        hosts: &str,
        schemes: &str,
        cache: Option<PathBuf>,
        deadline: f64,
        limit: Option<usize>,
        redirects: usize,
    ) -> PyResult<PyWatch> {
        let loading = Loading { layout, language, overlay, hosts, schemes, cache, deadline, limit, redirects };
        let (fetcher, layout) = loading.fetcher().map_err(raise)?;
        let every = seconds(every).map_err(raise)?;
        Ok(PyWatch(Mutex::new(Watch::new(fetcher, place, every).record(name, &layout))))
    }

    /// The new format, if it is time to look and there is one.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<PyFormat>> {
        self.told(py, WatchedRecord::poll)
    }

    /// The same at once.
    fn check(&self, py: Python<'_>) -> PyResult<Option<PyFormat>> {
        self.told(py, WatchedRecord::check)
    }
}

impl PyWatch {
    fn told(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&mut WatchedRecord) -> Option<isoform::Result<isoform::Format>> + Send,
    ) -> PyResult<Option<PyFormat>> {
        let found = py.detach(|| look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)).transpose());
        found.map(|format| format.map(PyFormat)).map_err(raise)
    }
}
