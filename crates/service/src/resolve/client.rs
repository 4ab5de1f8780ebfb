//! What most programs need: servers, and a cache on disk.

use super::{Cache, Search, Servers, memory};
use isoform_core::message::Locators;
use isoform_core::{Code, Error, Format, Resolver, Result, Token};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long servers have to answer if nothing depends on it.
const BRIEFLY: Duration = Duration::from_secs(1);

/// A client of format servers, which finds descriptions for readers and registers the formats of writers.
///
/// A reader finds a format in the cache, if there is one, and otherwise at the servers. What a server stored or answered, all clients
/// of that server in this process remember, and the cache for later processes. So programs that know their formats need no server.
///
/// ```no_run
/// use isoform_core::{Layout, Registry, Shape};
/// use isoform_service::Client;
/// let client = Client::new("http://formats:7460")?.cached("/var/cache/formats");
/// let gauge = Shape::new("Gauge").field("depth", "float").on(&Layout::NATIVE)?;
/// client.put(&gauge)?;
/// // Usually in another program:
/// let mut registry = Registry::new();
/// registry.set_resolver(client);
/// assert_eq!(registry.lookup(gauge.token())?, &gauge);
/// # Ok::<(), isoform_core::Error>(())
/// ```
pub struct Client {
    search: Search,
    servers: Option<Arc<Servers>>,
}

impl Client {
    /// A client of the servers at these URLs, with commas between them. They are asked in this order.
    ///
    /// # Errors
    /// [`Code::Address`] for something else.
    pub fn new(urls: &str) -> Result<Client> {
        Servers::new(urls.split(',').map(str::trim)).map(Client::of)
    }

    /// A client of these servers.
    pub fn of(servers: Servers) -> Client {
        let servers = Arc::new(servers);
        Client { search: Search::new().then(Remembered(servers.clone())), servers: Some(servers) }
    }

    /// A client without servers, for programs that only allow hosts or have a cache.
    pub fn nowhere() -> Client {
        Client { search: Search::new(), servers: None }
    }

    /// Follows locators of messages to this host: `sim7`, or `sim7:7460` for one port. Without this, no locator is followed.
    ///
    /// # Errors
    /// [`Code::Address`] for what is no host.
    pub fn allow(mut self, host: &str) -> Result<Client> {
        self.search = self.search.allow(host)?;
        Ok(self)
    }

    /// Keeps descriptions in this folder, which programs may share.
    pub fn cached(mut self, folder: impl Into<PathBuf>) -> Client {
        self.search = self.search.cache(Cache::new(folder));
        self
    }

    /// Stores a format at the first server that accepts it, and returns when it is stored.
    ///
    /// If no server can be asked, that is no error for a format that one of them has stored or answered before: in this process, or
    /// stored it for a process that had the same cache. Then this asks for a second at most.
    ///
    /// # Errors
    /// As [`Servers::put`]; [`Code::Address`] if the client has no servers.
    pub fn put(&self, format: &Format) -> Result<()> {
        let Some(servers) = &self.servers else {
            return Err(Error::new(Code::Address).expected("a server at which formats are registered").found("none"));
        };
        let (token, description) = (format.token(), format.description().as_bytes());
        let is_stored = memory::recall(servers.urls(), token).is_some()
            || servers.urls().iter().any(|url| self.search.is_stored_at(token, url));
        match servers.put_within(format, if is_stored { BRIEFLY } else { Duration::MAX }) {
            Ok(url) => {
                memory::note(url, token, description);
                self.search.keep(token, description, Some(url));
                Ok(())
            }
            Err(error) if is_stored && matches!(error.code(), Code::Io | Code::Deadline) => {
                self.search.keep(token, description, None);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// What a server of this process stored or answered before.
    fn remembered(&self, token: Token) -> Option<Vec<u8>> {
        memory::recall(self.servers.as_ref()?.urls(), token)
    }
}

impl Resolver for Client {
    fn resolve(&self, token: Token) -> Result<Vec<u8>> {
        self.remembered(token).map_or_else(|| self.search.resolve(token), Ok)
    }

    fn resolve_near(&self, token: Token, locators: &Locators) -> Result<Vec<u8>> {
        self.remembered(token).map_or_else(|| self.search.resolve_near(token, locators), Ok)
    }
}

/// Servers whose answers are remembered.
struct Remembered(Arc<Servers>);

impl Resolver for Remembered {
    fn resolve(&self, token: Token) -> Result<Vec<u8>> {
        let (url, description) = self.0.find(token)?;
        memory::note(url, token, &description);
        Ok(description)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Client").field(&self.servers).finish()
    }
}
