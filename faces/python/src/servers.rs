//! Where unknown formats are found: at servers, or by a function of the program.

use crate::error::{raise, wrong_type};
use crate::format::PyFormat;
use isoform::{Code, Error, Format, Registry, Resolver, Token};
use isoform_service::{Client, Servers};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Servers of formats: ``"http://HOST:PORT"``, several of them with commas between, or a list.
///
/// They are asked in this order, all together for at most `deadline` seconds. No answer is trusted: a description is compared
/// with the token. `cache` is a folder where descriptions are kept and found first, which programs may share. `bearer` is a
/// secret for servers that ask who comes. All threads may use it. Opening connects to no server.
#[pyclass(name = "Servers", module = "isoform", frozen)]
pub(crate) struct PyServers(Arc<Client>);

#[pymethods]
impl PyServers {
    #[new]
    #[pyo3(signature = (urls, *, cache=None, bearer=None, deadline=10.0))]
    fn new(
        urls: &Bound<'_, PyAny>,
        cache: Option<PathBuf>,
        bearer: Option<&str>,
        deadline: f64,
    ) -> PyResult<PyServers> {
        let deadline = Duration::try_from_secs_f64(deadline)
            .map_err(|error| raise(Error::new(Code::WrongType).at("deadline").expected("seconds").found(error)))?;
        let servers = Servers::new(split(urls)?).map_err(raise)?.deadline(deadline);
        let client = Client::of(match bearer {
            Some(secret) => servers.bearer(secret),
            None => servers,
        });
        Ok(PyServers(Arc::new(match cache {
            Some(folder) => client.cached(folder),
            None => client,
        })))
    }

    /// Stores a format at the first server that accepts it.
    fn put(&self, py: Python<'_>, format: &PyFormat) -> PyResult<()> {
        py.detach(|| self.0.put(&format.0)).map_err(raise)
    }

    /// The format of a token.
    fn find(&self, py: Python<'_>, token: &str) -> PyResult<PyFormat> {
        let find = || Format::parse(&self.0.resolve(token.parse()?)?);
        py.detach(find).map(PyFormat).map_err(raise)
    }
}

/// The URLs of a text or of a list of texts.
fn split(urls: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(text) = urls.cast::<PyString>() {
        let text: String = text.extract()?;
        return Ok(text.split(',').map(|url| url.trim().to_owned()).collect());
    }
    match urls.is_instance_of::<PyList>() || urls.is_instance_of::<PyTuple>() {
        true => urls.extract(),
        false => Err(raise(wrong_type("the URLs of servers", urls))),
    }
}

/// The client of servers, which may be given as their URLs.
pub(crate) fn client(servers: &Bound<'_, PyAny>) -> PyResult<Arc<Client>> {
    match servers.cast::<PyServers>() {
        Ok(servers) => Ok(servers.get().0.clone()),
        Err(_) => Ok(PyServers::new(servers, None, None, 5.0)?.0),
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
        let called = Python::attach(|py| -> PyResult<Option<Vec<u8>>> {
            let found = self.0.bind(py).call1((token.to_string(),))?;
            if found.is_none() {
                return Ok(None);
            }
            Ok(Some(found.cast::<PyBytes>()?.as_bytes().to_vec()))
        });
        let failed = |error: PyErr| {
            Error::new(Code::Io).expected(format_args!("the description of {token} from the resolver")).found(error)
        };
        called.map_err(failed)?.ok_or_else(|| Error::unknown_format(token))
    }
}
