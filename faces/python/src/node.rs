//! A node: the member of channels that acts for this process.

use crate::channel::PyChannel;
use crate::error::{raise, wrong_type};
use crate::record_type::RecordType;
use crate::rows::texts;
use crate::wait::{Unhurried, aside, patience};
use isoform::Error;
use isoform_channel::{ChannelId, Node};
use pyo3::prelude::*;
use std::path::PathBuf;

/// The member of channels that acts for this process. It creates and opens channels. It listens at the given addresses
/// (``127.0.0.1:7000``, ``unix:/tmp/x.sock``), or at a TCP port of this machine that the system chooses. It tells others the
/// addresses in ``advertise`` in place of those of TCP at which it listens.
/// It speaks TLS to other machines, with the certificate, key and authority in the file ``identity``, or with those of
/// ``isoform keys``. The key may be in another file, ``identity_key``, and the authorities in ``trust``; ``trust_platform`` trusts
/// those that this machine trusts, and needs ``trust_names``: names that the certificates of others must have. ``revoked`` is
/// a file with revocation lists. ``tls_on_loopback`` is for tunnels and containers, where another machine has an address of this one.
/// It admits the programs of the same user, and those that know ``key``: 64 hexadecimal digits.
/// The file ``rules`` says what they may do on which channels (docs/book/reference/rules.md). Times are in seconds.
#[pyclass(name = "Node", module = "isoform", frozen)]
pub(crate) struct PyNode(Unhurried<Node>);

#[pymethods]
impl PyNode {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    #[pyo3(signature = (
        listen=None, *, advertise=None, insecure=false, identity=None, identity_key=None, trust=None, trust_platform=false,
        trust_names=None, revoked=None, tls_on_loopback=false, key=None, admit_anyone=false, rules=None, silence=None,
        linger=None
    ))]
    fn new(
        py: Python<'_>,
        listen: Option<&Bound<'_, PyAny>>,
        advertise: Option<&Bound<'_, PyAny>>,
        insecure: bool,
        identity: Option<PathBuf>,
        identity_key: Option<PathBuf>,
        trust: Option<PathBuf>,
        trust_platform: bool,
        trust_names: Option<&Bound<'_, PyAny>>,
        revoked: Option<PathBuf>,
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
        if let Some(file) = identity_key {
            builder = builder.identity_key(file);
        }
        if let Some(file) = trust {
            builder = builder.trust(file);
        }
        if let Some(file) = revoked {
            builder = builder.revoked(file);
        }
        for name in addresses("trust_names", trust_names)? {
            builder = builder.trust_name(name);
        }
        builder = builder.trust_platform(trust_platform);
        if let Some(file) = rules {
            builder = builder.rules(file);
        }
        if let Some(key) = key {
            builder = builder.key(key.parse().map_err(|error: Error| raise(error.within("key")))?);
        }
        for address in addresses("listen", listen)? {
            builder = builder.listen(address);
        }
        for address in addresses("advertise", advertise)? {
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
        self.0.unchecked().addresses().iter().map(ToString::to_string).collect()
    }

    /// Creates a channel for records of this type, or of all types.
    #[pyo3(signature = (name, record=None))]
    fn create(&self, py: Python<'_>, name: &str, record: Option<&Bound<'_, PyAny>>) -> PyResult<PyChannel> {
        let kind = record.map(|record| RecordType::of(record, None)).transpose()?;
        let format = kind.as_ref().map(RecordType::format);
        let node = self.node()?;
        py.detach(|| node.create_with(name, format)).map(PyChannel::new).map_err(raise)
    }

    /// Opens a channel by its id.
    #[pyo3(signature = (id, timeout=5.0))]
    fn open(&self, py: Python<'_>, id: &str, timeout: f64) -> PyResult<PyChannel> {
        let id: ChannelId = id.parse().map_err(raise)?;
        let patience = patience(timeout)?;
        let node = self.node()?.clone();
        aside(py, move || node.open_within(&id, patience)).map(PyChannel::new)
    }

    fn __repr__(&self) -> String {
        format!("Node({})", self.addresses().join(", "))
    }
}

impl PyNode {
    fn node(&self) -> PyResult<&Node> {
        self.0.checked("node").map_err(raise)
    }
}

/// The addresses of an argument, which is one or a list of them.
fn addresses(argument: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    if let Ok(one) = given.extract() {
        return Ok(vec![one]);
    }
    let expected = "an address such as \"127.0.0.1:7000\" or \"unix:/tmp/x.sock\", or a list of addresses";
    texts(given).map_err(|_| raise(wrong_type(expected, given).at(argument)))
}
