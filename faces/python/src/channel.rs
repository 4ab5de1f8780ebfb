//! A channel that this process is a member of.

use crate::error::raise;
use crate::event::{Members, members};
use crate::face::face;
use crate::format::PyFormat;
use crate::sink::PySink;
use crate::source::PySource;
use crate::wait::{Unhurried, aside, patience};
use isoform::text::Shown;
use isoform_channel::Channel;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An event path, directly from every source to every sink.
#[pyclass(name = "Channel", module = "isoform", frozen)]
pub(crate) struct PyChannel(Unhurried<Channel>);

impl PyChannel {
    pub(crate) fn new(channel: Channel) -> PyChannel {
        PyChannel(Unhurried::new(channel))
    }

    /// A channel, or the channel of an id, opened by the default node of this process.
    pub(crate) fn of<'py>(channel: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyChannel>> {
        if let Ok(channel) = channel.cast::<PyChannel>() {
            return Ok(channel.clone());
        }
        let py = channel.py();
        Ok(face(py)?.open.bind(py).call1((channel,))?.cast_into::<PyChannel>()?)
    }

    /// The channel, unless it is one of the parent of a forked process.
    pub(crate) fn inner(&self) -> PyResult<&Channel> {
        self.0.checked("channel").map_err(raise)
    }
}

#[pymethods]
impl PyChannel {
    /// The id with which others open it.
    #[getter]
    fn id(&self) -> String {
        self.0.unchecked().id().to_string()
    }

    /// Its ids for all addresses of its members.
    #[getter]
    fn ids(&self) -> Vec<String> {
        self.0.unchecked().ids().map(|id| id.to_string()).collect()
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.0.unchecked().name()
    }

    /// Its type, or `None` if it accepts all records.
    #[getter]
    fn format(&self) -> Option<PyFormat> {
        self.0.unchecked().format().map(PyFormat)
    }

    /// The query by which it is derived from another channel, in its normal form; or `None`.
    #[getter]
    fn query(&self) -> Option<String> {
        self.0.unchecked().query().map(ToString::to_string)
    }

    /// Derives a channel: what a query gives of this one, for sinks alone. Its sinks get the results, and their queries are queries of these. The
    /// sources evaluate it, once for all sinks. Others open it by its `id`, in which the query stands. With a `name`, the id has that in
    /// place of the query: others can open the name at this process as long as this object is there.
    #[pyo3(signature = (query, name=None))]
    fn derive(&self, py: Python<'_>, query: &str, name: Option<&str>) -> PyResult<PyChannel> {
        let channel = self.inner()?;
        let derive = || match name {
            Some(name) => channel.derive(query)?.named(name),
            None => channel.derive(query),
        };
        py.detach(derive).map(PyChannel::new).map_err(raise)
    }

    /// The nodes that have it open, with this one first.
    #[getter]
    fn members(&self) -> PyResult<Vec<String>> {
        Ok(self.inner()?.members().iter().map(ToString::to_string).collect())
    }

    /// A source of records of this type, or of messages.
    #[pyo3(signature = (record=None, **options))]
    fn source<'py>(
        slf: &Bound<'py, Self>,
        record: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().get_type::<PySource>().call((slf, record), options)
    }

    /// A sink for records of this type, or for views of all types.
    #[pyo3(signature = (record=None, **options))]
    fn sink<'py>(
        slf: &Bound<'py, Self>,
        record: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().get_type::<PySink>().call((slf, record), options)
    }

    /// Asks the members for their sources and sinks, and for the account of every source.
    #[pyo3(signature = (timeout=1.0))]
    fn info(&self, py: Python<'_>, timeout: f64) -> PyResult<Members> {
        let patience = patience(timeout)?;
        let channel = self.inner()?.clone();
        members(py, &aside(py, move || channel.info(patience))?)
    }

    /// Leaves the channel. Its sources and sinks here end. In a forked process, this does nothing.
    fn close(&self, py: Python<'_>) {
        if !self.0.is_inherited() {
            let channel = self.0.unchecked().clone();
            py.detach(|| channel.close());
        }
    }

    fn __repr__(&self) -> String {
        format!("Channel({})", Shown(self.0.unchecked().id()))
    }
}
