//! Where a server listens, and who may do what.

use super::access::{Access, Secret};
use crate::Servers;
use crate::resolve::{PEM, pem_fault, read, shown, without_user};
use crate::store::Quota;
use isoform_core::{Code, Error, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsAcceptor;

/// The port that servers have unless they are told another one.
pub const PORT: u16 = 7460;

/// Where a server listens, what it keeps, and who may do what.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file, or none for a store in memory.
    pub(super) store: Option<PathBuf>,
    pub(super) listen: SocketAddr,
    pub(super) quota: Quota,
    pub(super) read_only: bool,
    pub(super) insecure: bool,
    read_secret: Option<PathBuf>,
    write_secret: Option<PathBuf>,
    certificate: Option<(PathBuf, PathBuf)>,
    clients: Option<PathBuf>,
    pub(super) peers: Vec<Peer>,
    pub(super) names_from: Option<Peer>,
    peer_secret: Option<PathBuf>,
    peer_trust: Option<PathBuf>,
    pub(super) every: Duration,
    pub(super) news: News,
}

/// What is told of copying from peers, if anyone listens.
#[derive(Clone, Default)]
pub(super) struct News(Option<Arc<Tell>>);

type Tell = dyn Fn(&str) + Send + Sync;

impl News {
    pub(super) fn tell(&self, news: &str) {
        self.0.iter().for_each(|tell| tell(news));
    }
}

impl std::fmt::Debug for News {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "News" } else { "none" })
    }
}

/// The URL of another server, whose user and password no text shows.
#[derive(Clone)]
pub(super) struct Peer(String);

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Peer {
    /// The URL as texts show it.
    pub(super) fn shown(&self) -> String {
        shown(&self.0)
    }

    /// The URL for those who shall go there themselves.
    pub(super) fn without_user(&self) -> String {
        without_user(&self.0)
    }
}

impl Options {
    /// A server with its store in this file, for programs of this machine.
    pub fn new(store: impl Into<PathBuf>) -> Options {
        Options::of(Some(store.into()))
    }

    /// A server whose store is in memory and ends with it: for tests.
    pub fn in_memory() -> Options {
        Options::of(None)
    }

    fn of(store: Option<PathBuf>) -> Options {
        Options {
            store,
            listen: (Ipv4Addr::LOCALHOST, PORT).into(),
            quota: Quota::default(),
            read_only: false,
            insecure: false,
            read_secret: None,
            write_secret: None,
            certificate: None,
            clients: None,
            peers: Vec::new(),
            names_from: None,
            peer_secret: None,
            peer_trust: None,
            every: Duration::from_secs(1),
            news: News::default(),
        }
    }

    /// Listens at this address, instead of port 7460 of the loopback interface.
    pub fn listen(mut self, address: SocketAddr) -> Options {
        self.listen = address;
        self
    }

    /// Sets the most that the store holds.
    pub fn quota(mut self, quota: Quota) -> Options {
        self.quota = quota;
        self
    }

    /// Refuses all changes.
    pub fn read_only(mut self) -> Options {
        self.read_only = true;
        self
    }

    /// Allows addresses beyond this machine without TLS.
    pub fn insecure(mut self) -> Options {
        self.insecure = true;
        self
    }

    /// Asks readers for the secret in this file.
    pub fn read_secret(mut self, file: impl Into<PathBuf>) -> Options {
        self.read_secret = Some(file.into());
        self
    }

    /// Asks writers for the secret in this file.
    pub fn write_secret(mut self, file: impl Into<PathBuf>) -> Options {
        self.write_secret = Some(file.into());
        self
    }

    /// Uses TLS, with the chain of certificates and the key in these PEM files.
    pub fn certificate(mut self, chain: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Options {
        self.certificate = Some((chain.into(), key.into()));
        self
    }

    /// Allows everything to clients with a certificate of the authorities in this PEM file. They need not have one.
    pub fn clients(mut self, authorities: impl Into<PathBuf>) -> Options {
        self.clients = Some(authorities.into());
        self
    }

    /// Copies formats from the server at this URL, again and again.
    pub fn peer(mut self, url: impl Into<String>) -> Options {
        self.peers.push(Peer(url.into()));
        self
    }

    /// Copies names from the server at this URL, and leaves their changes to it.
    pub fn names_from(mut self, url: impl Into<String>) -> Options {
        self.names_from = Some(Peer(url.into()));
        self
    }

    /// Shows the secret in this file to peers.
    pub fn peer_secret(mut self, file: impl Into<PathBuf>) -> Options {
        self.peer_secret = Some(file.into());
        self
    }

    /// Trusts peers whose certificates the authorities in this PEM file issued, instead of those that the system trusts.
    pub fn peer_trust(mut self, authorities: impl Into<PathBuf>) -> Options {
        self.peer_trust = Some(authorities.into());
        self
    }

    /// Sets how often peers are asked for what is new, which is once a second if this is not called. After failures a server
    /// waits longer, up to 30 times as long.
    pub fn every(mut self, pause: Duration) -> Options {
        self.every = pause;
        self
    }

    /// Calls this, on a thread of the server, with a line of text when copying from a peer begins to fail, and when it works
    /// again. Without it, only the metrics tell.
    ///
    /// ```
    /// # use isoform_service::server::{Options, start};
    /// let (tell, told) = std::sync::mpsc::channel();
    /// let options = Options::in_memory().listen("127.0.0.1:0".parse()?).peer("http://127.0.0.1:1");
    /// let server = start(options.telling(move |news| _ = tell.send(news.to_owned())))?;
    /// assert!(told.recv()?.starts_with("cannot copy formats from http://127.0.0.1:1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn telling(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Options {
        self.news = News(Some(Arc::new(tell)));
        self
    }

    /// Whether anyone is kept from writing.
    pub fn protects_writes(&self) -> bool {
        self.read_only || self.write_secret.is_some() || self.clients.is_some()
    }

    /// A client of this peer.
    pub(super) fn peer_at(&self, Peer(url): &Peer) -> Result<Servers> {
        let mut servers = Servers::new([url.as_str()])?;
        if let Some(file) = &self.peer_trust {
            servers = servers.trust(file)?;
        }
        if let Some(file) = &self.peer_secret {
            servers = servers.bearer(secret_text(file)?.trim())?;
        }
        Ok(servers)
    }

    /// What the options come to, unless they contradict each other.
    pub(super) fn checked(&self) -> Result<(Access, Option<TlsAcceptor>)> {
        let local = self.listen.ip().is_loopback();
        if !local && self.certificate.is_none() && !self.insecure {
            let error = Error::new(Code::Insecure).expected("a certificate, an address of this machine, or `insecure`");
            return Err(error.found(self.listen));
        }
        if !local && !self.protects_writes() {
            let expected = "a secret for writers, authorities of their certificates, or `read_only`";
            return Err(Error::new(Code::Insecure)
                .expected(expected)
                .found(format_args!("{}, where anyone could write", self.listen)));
        }
        if self.clients.is_some() && self.certificate.is_none() {
            return Err(
                Error::new(Code::Insecure).expected("a certificate of the server, since clients show theirs over TLS")
            );
        }
        let access = Access {
            read: self.read_secret.as_deref().map(secret).transpose()?,
            write: match (&self.write_secret, &self.clients) {
                (Some(file), _) => Some(secret(file)?),
                // Certificates alone open the door: no secret fits this one.
                (None, Some(_)) => Some(Secret::unknown()),
                (None, None) => None,
            },
            read_only: self.read_only,
            certificates: self.clients.is_some(),
            local,
            rates: Default::default(),
        };
        let tls = self.certificate.as_ref().map(|(chain, key)| self.tls(chain, key)).transpose()?;
        Ok((access, tls))
    }

    fn tls(&self, chain: &Path, key: &Path) -> Result<TlsAcceptor> {
        let chain = certificates(chain)?;
        let bytes = read(key, PEM).map_err(|error| unfit(key, "a private key", &error))?;
        let key =
            PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| unfit(key, "a private key", &pem_fault(&error)))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let bad = |error: &dyn std::fmt::Display| {
            Error::new(Code::Insecure).expected("certificates that belong together").found(error)
        };
        let config = config.map_err(|error| bad(&error))?;
        let config = match &self.clients {
            None => config.with_no_client_auth(),
            Some(file) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(file)? {
                    roots.add(certificate).map_err(|error| unfit(file, "authorities", &error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier =
                    verifier.allow_unauthenticated().build().map_err(|error| unfit(file, "authorities", &error))?;
                config.with_client_cert_verifier(verifier)
            }
        };
        let mut config = config.with_single_cert(chain, key).map_err(|error| bad(&error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let bytes = read(file, PEM).map_err(|error| unfit(file, "certificates", &error))?;
    let all = CertificateDer::pem_slice_iter(&bytes).collect::<std::result::Result<Vec<_>, _>>();
    all.map_err(|error| unfit(file, "certificates", &pem_fault(&error)))
}

fn unfit(file: &Path, what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(Code::Io).expected(format_args!("{what} in {}", file.display())).found(error)
}

/// A file with a secret has at most so many bytes.
const LONGEST_SECRET: u64 = 64 << 10;

fn secret(file: &Path) -> Result<Secret> {
    let text = secret_text(file)?;
    match text.trim().len() {
        16.. => Ok(Secret::new(&text)),
        short => Err(unfit(file, "a secret of at least 16 characters", &format_args!("{short} characters"))),
    }
}

fn secret_text(file: &Path) -> Result<String> {
    let bytes = read(file, LONGEST_SECRET).map_err(|error| match error.kind() {
        // Somebody may have given the secret in place of its file, so that is not shown.
        std::io::ErrorKind::NotFound => Error::new(Code::Io).expected("a file with a secret").found(error),
        _ => unfit(file, "a secret", &error),
    })?;
    String::from_utf8(bytes).map_err(|_| unfit(file, "a secret", &"no text of UTF-8"))
}
