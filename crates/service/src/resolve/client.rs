//! What most programs need: servers, and a cache on disk.

use super::{Cache, Search, Servers};
use isoform_core::message::Locators;
use isoform_core::{Code, Error, Format, Resolver, Result, Token};
use std::path::PathBuf;
use std::sync::Arc;

/// A client of format servers, which finds descriptions for readers and registers the formats of writers.
///
/// A reader finds a format in the cache, if there is one, and otherwise at the servers.
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
        Client { search: Search::new().then(servers.clone()), servers: Some(servers) }
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
    /// # Errors
    /// As [`Servers::put`]; [`Code::Address`] if the client has no servers.
    pub fn put(&self, format: &Format) -> Result<()> {
        match &self.servers {
            Some(servers) => servers.put(format),
            None => Err(Error::new(Code::Address).expected("a server at which formats are registered").found("none")),
        }
    }
}

impl Resolver for Client {
    fn resolve(&self, token: Token) -> Result<Vec<u8>> {
        self.search.resolve(token)
    }

    fn resolve_near(&self, token: Token, locators: &Locators) -> Result<Vec<u8>> {
        self.search.resolve_near(token, locators)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Client").field(&self.servers).finish()
    }
}
