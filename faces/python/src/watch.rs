//! Records of documents that a program looks at again while it runs.

use crate::document::{Loading, PyDocument};
use crate::error::raise;
use crate::face::face;
use crate::format::PyFormat;
use isoform::core::Layout;
use isoform_dynamic::wait::seconds;
use isoform_xmit::{Watch, WatchedRecord};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A record of a document, which is looked at again now and then.
#[pyclass(name = "Watch", module = "isoform", frozen)]
pub(crate) struct PyWatch {
    watched: Mutex<WatchedRecord>,
    name: String,
    layout: Layout,
    document: Mutex<Option<Py<PyDocument>>>,
}

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
        let watched = Mutex::new(Watch::new(fetcher, place, every).record(name, &layout));
        Ok(PyWatch { watched, name: name.to_owned(), layout, document: Mutex::new(None) })
    }

    /// The new format, if it is time to look and there is one.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<PyFormat>> {
        self.told(py, WatchedRecord::poll)
    }

    /// The same at once.
    fn check(&self, py: Python<'_>) -> PyResult<Option<PyFormat>> {
        self.told(py, WatchedRecord::check)
    }

    /// The seconds until `poll` looks again.
    #[getter]
    fn due(&self) -> f64 {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).due().as_secs_f64()
    }

    /// The document as it was when a format was last told.
    #[getter]
    fn document(&self, py: Python<'_>) -> Option<Py<PyDocument>> {
        self.document.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|document| document.clone_ref(py))
    }

    /// Starts a thread that looks in place of the program.
    fn spawn<'py>(slf: Bound<'py, Self>, function: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py())?.watching.bind(slf.py()).call1((slf.clone(), function))
    }
}

impl PyWatch {
    fn told(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&mut WatchedRecord) -> Option<isoform::Result<isoform::Format>> + Send,
    ) -> PyResult<Option<PyFormat>> {
        let found = py.detach(|| {
            let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            let format = look(&mut watched).transpose()?;
            let declarations = watched.declarations().filter(|_| format.is_some());
            let document = declarations.map(|all| PyDocument::of(all, &self.name, &self.layout)).transpose()?;
            Ok(format.zip(document))
        });
        let Some((format, document)) = found.map_err(raise)? else { return Ok(None) };
        *self.document.lock().unwrap_or_else(PoisonError::into_inner) = Some(Py::new(py, document)?);
        Ok(Some(PyFormat(format)))
    }
}
