//! Where unknown formats are found: at servers, or by a function of the program.

use crate::error::{keep, raise, wrong_type};
use crate::format::PyFormat;
use crate::rows::texts;
use isoform::core::message::Locators;
use isoform::{Code, Error, Format, Registry, Resolver, Token};
use isoform_service::{Client, Responder, Servers};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Servers of formats: ``"http://HOST:PORT"``, several of them with commas between, or a list.
///
/// They are asked in this order, all together for at most `deadline` seconds. No answer is trusted: a description is compared
/// with the token. `cache` is a folder where descriptions are kept and found first, which programs may share. `bearer` is a
/// secret for servers that ask who comes. `trust` is a PEM file with the authorities that are trusted in place of the system's, and
/// `certificate` one with the certificate that servers are shown, and its key. All threads may use it. Opening connects to no server.
///
/// Messages may say at which servers their formats are described. Readers ask there first if the host is one of `hosts`,
/// ``"HOST"`` or ``"HOST:PORT"``.
#[pyclass(name = "Servers", module = "isoform", frozen)]
pub(crate) struct PyServers(Arc<Client>);

#[pymethods]
impl PyServers {
    #[new]
    #[pyo3(signature = (urls=None, *, cache=None, bearer=None, deadline=10.0, trust=None, certificate=None, hosts=None))]
    fn new(
        urls: Option<&Bound<'_, PyAny>>,
        cache: Option<PathBuf>,
        bearer: Option<&str>,
        deadline: f64,
        trust: Option<PathBuf>,
        certificate: Option<PathBuf>,
        hosts: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyServers> {
        let deadline = Duration::try_from_secs_f64(deadline)
            .map_err(|error| raise(Error::new(Code::WrongType).at("deadline").expected("seconds").found(error)))?;
        let mut client = match urls {
            None => Client::nowhere(),
            Some(urls) => {
                let mut servers = Servers::new(split(urls)?).map_err(raise)?.deadline(deadline);
                if let Some(secret) = bearer {
                    servers = servers.bearer(secret).map_err(raise)?;
                }
                if let Some(file) = trust {
                    servers = servers.trust(file).map_err(raise)?;
                }
                if let Some(file) = certificate {
                    servers = servers.certificate(file).map_err(raise)?;
                }
                Client::of(servers)
            }
        };
        if let Some(folder) = cache {
            client = client.cached(folder);
        }
        for host in hosts.map(split).transpose()?.unwrap_or_default() {
            client = client.allow(&host).map_err(raise)?;
        }
        Ok(PyServers(Arc::new(client)))
    }

    /// Stores a format at the first server that accepts it. If no server can be asked, that is no error for a format that one of
    /// them stored or answered before: in this process, or stored it for one with the same cache.
    fn put(&self, py: Python<'_>, format: &PyFormat) -> PyResult<()> {
        py.detach(|| self.0.put(&format.0)).map_err(raise)
    }

    /// The format of a token.
    fn find(&self, py: Python<'_>, token: &str) -> PyResult<PyFormat> {
        let find = || Format::parse(&self.0.resolve(token.parse()?)?);
        py.detach(find).map(PyFormat).map_err(raise)
    }
}

/// Answers for the formats of this program at an HTTP address, ``"HOST:PORT"``, in threads of its own, until it is closed. Port 0 is
/// any free one. So programs that exchange records need no server between them.
///
/// An address that other machines reach needs `insecure`: nothing is encrypted, and everybody gets a description who knows its token.
#[pyclass(name = "Responder", module = "isoform", frozen)]
pub(crate) struct PyResponder {
    responder: Mutex<Option<Responder>>,
    locators: Locators,
}

#[pymethods]
impl PyResponder {
    #[new]
    #[pyo3(signature = (address="127.0.0.1:0", *, insecure=false))]
    fn new(address: &str, insecure: bool) -> PyResult<PyResponder> {
        let responder = if insecure { Responder::insecure(address) } else { Responder::new(address) }.map_err(raise)?;
        let locators = responder.locators();
        Ok(PyResponder { responder: Mutex::new(Some(responder)), locators })
    }

    /// ``"http://HOST:PORT"``.
    #[getter]
    fn url(&self) -> String {
        self.locators.urls().collect()
    }

    /// Answers for a format from now on.
    fn put(&self, format: &PyFormat) -> PyResult<()> {
        self.with(|responder| responder.register(&format.0))?.map_err(raise)
    }

    /// Ends the answers. Calling it twice does no harm.
    fn close(&self, py: Python<'_>) {
        let responder = self.lock().take();
        py.detach(|| drop(responder));
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

impl PyResponder {
    fn lock(&self) -> MutexGuard<'_, Option<Responder>> {
        self.responder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, then: impl FnOnce(&Responder) -> T) -> PyResult<T> {
        self.lock().as_ref().map(then).ok_or_else(|| raise(Error::new(Code::Closed).found("a closed Responder")))
    }

    /// What registers the formats of a writer, and what its stream says.
    pub(crate) fn serve(
        &self,
    ) -> PyResult<(impl FnMut(&Format) -> isoform::Result<()> + Send + Sync + use<>, Locators)> {
        Ok((self.with(|responder| responder.registrar())?, self.locators.clone()))
    }
}

/// The URLs of a text or of a list of texts.
pub(crate) fn split(urls: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(text) = urls.cast::<PyString>() {
        let text: String = text.extract()?;
        return Ok(text.split(',').map(|url| url.trim().to_owned()).collect());
    }
    match urls.is_instance_of::<PyList>() || urls.is_instance_of::<PyTuple>() {
        true => texts(urls),
        false => Err(raise(wrong_type("the URLs of servers", urls))),
    }
}

/// The client of servers, which may be given as their URLs.
pub(crate) fn client(servers: &Bound<'_, PyAny>) -> PyResult<Arc<Client>> {
    match servers.cast::<PyServers>() {
        Ok(servers) => Ok(servers.get().0.clone()),
        Err(_) => Ok(PyServers::new(Some(servers), None, None, 10.0, None, None, None)?.0),
    }
}

/// Sets where a registry finds unknown formats.
pub(crate) fn find(
    registry: &Registry,
    servers: Option<&Bound<'_, PyAny>>,
    resolver: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    match (servers, resolver) {
        (None, None) => {}
        (Some(servers), None) => registry.set_resolver(client(servers)?),
        (None, Some(function)) if function.is_callable() => registry.set_resolver(Function(function.clone().unbind())),
        (None, Some(other)) => return Err(raise(wrong_type("a function from a token to a description", other))),
        (Some(_), Some(function)) => return Err(raise(wrong_type("servers or a resolver, but not both", function))),
    }
    Ok(())
}

/// A function of the program that finds descriptions.
struct Function(Py<PyAny>);

impl Resolver for Function {
    fn resolve(&self, token: Token) -> isoform::Result<Vec<u8>> {
        let error = || Error::new(Code::Io).expected(format_args!("the description of {token} from the resolver"));
        Python::attach(|py| {
            let found = self.0.bind(py).call1((token.to_string(),)).map_err(|exception| keep(error(), exception))?;
            if found.is_none() {
                return Err(Error::unknown_format(token));
            }
            let bytes = found.cast::<PyBytes>().map_err(|fault| error().found(PyErr::from(fault)))?;
            Ok(bytes.as_bytes().to_vec())
        })
    }
}
