//! A node: the member of channels that acts for this process.

use crate::channel::PyChannel;
use crate::error::raise;
use crate::record_type::RecordType;
use crate::wait::{Unhurried, aside, patience};
use isoform::Error;
use isoform_channel::{ChannelId, Node};
use pyo3::prelude::*;
use std::path::PathBuf;

/// The member of channels that acts for this process. See `isoform.Node`.
#[pyclass(name = "Node", module = "isoform", frozen)]
pub(crate) struct PyNode(Unhurried<Node>);

#[pymethods]
impl PyNode {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    #[pyo3(signature = (
        listen=None, *, advertise=None, insecure=false, identity=None, tls_on_loopback=false, key=None, admit_anyone=false,
        rules=None, silence=None, linger=None
    ))]
    fn new(
        py: Python<'_>,
        listen: Option<Listen>,
        advertise: Option<Listen>,
        insecure: bool,
        identity: Option<PathBuf>,
        tls_on_loopback: bool,
        key: Option<&str>,
        admit_anyone: bool,
        rules: Option<PathBuf>,
        silence: Option<f64>,
        linger: Option<f64>,
    ) -> PyResult<PyNode> {
        let mut builder =
            Node::builder().insecure(insecure).admit_anyone(admit_anyone).tls_on_loopback(tls_on_loopback);
        if let Some(file) = identity {
            builder = builder.identity(file);
        }
        if let Some(file) = rules {
            builder = builder.rules(file);
        }
        if let Some(key) = key {
            builder = builder.key(key.parse().map_err(|error: Error| raise(error.within("key")))?);
        }
        for address in listen.map_or_else(Vec::new, Listen::addresses) {
            builder = builder.listen(address);
        }
        for address in advertise.map_or_else(Vec::new, Listen::addresses) {
            builder = builder.advertise(address);
        }
        if let Some(seconds) = silence {
            builder = builder.silence(patience(seconds)?);
        }
        if let Some(seconds) = linger {
            builder = builder.linger(patience(seconds)?);
        }
        py.detach(|| builder.build()).map(|node| PyNode(Unhurried::new(node))).map_err(raise)
    }

    /// The addresses at which others reach it.
    #[getter]
    fn addresses(&self) -> Vec<String> {
        self.0.addresses().iter().map(ToString::to_string).collect()
    }

    /// Creates a channel for records of this type, or of all types.
    #[pyo3(signature = (name, record=None))]
    fn create(&self, py: Python<'_>, name: &str, record: Option<&Bound<'_, PyAny>>) -> PyResult<PyChannel> {
        let kind = record.map(|record| RecordType::of(record, None)).transpose()?;
        let format = kind.as_ref().map(RecordType::format);
        py.detach(|| self.0.create_with(name, format)).map(PyChannel::new).map_err(raise)
    }

    /// Opens a channel by its id.
    #[pyo3(signature = (id, timeout=5.0))]
    fn open(&self, py: Python<'_>, id: &str, timeout: f64) -> PyResult<PyChannel> {
        let id: ChannelId = id.parse().map_err(raise)?;
        let patience = patience(timeout)?;
        let node = Node::clone(&self.0);
        aside(py, move || node.open_within(&id, patience)).map(PyChannel::new)
    }

    fn __repr__(&self) -> String {
        format!("Node({})", self.addresses().join(", "))
    }
}

/// One address, or several.
#[derive(FromPyObject)]
pub(crate) enum Listen {
    One(String),
    Many(Vec<String>),
}

impl Listen {
    fn addresses(self) -> Vec<String> {
        match self {
            Listen::One(address) => vec![address],
            Listen::Many(addresses) => addresses,
        }
    }
}
