//! One document from a server, if it is not the one that is known.

use super::place::Place;
use super::text_of;
use isoform_core::{Code, Error, Result};
use std::io::Read;
use std::net::IpAddr;
use std::time::Instant;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error as Failure};

/// Bytes of what a server says to recognise a document by.
const MAX_TAG: usize = 4 << 10;

/// A document, with what its server recognises it by.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) text: String,
    pub(super) tag: Option<String>,
    pub(super) modified: Option<String>,
}

pub(super) enum Answer {
    New(Document),
    /// The document that is known has not changed.
    Same,
}

/// What a request may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) end: Instant,
    pub(super) bytes: usize,
    pub(super) redirects: usize,
}

#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
}

impl Default for Client {
    fn default() -> Client {
        Client { agent: agent(&[]) }
    }
}

/// An agent that follows no redirects by itself, and reads no environment.
fn agent(trusted: &[Box<str>]) -> Agent {
    let config =
        Agent::config_builder().max_redirects(0).http_status_as_error(false).proxy(None).save_redirect_history(false);
    #[cfg(feature = "tls")]
    let config = config.tls_config(tls());
    let resolver = Careful { trusted: trusted.into(), system: DefaultResolver::default() };
    Agent::with_parts(config.build(), DefaultConnector::default(), resolver)
}

/// The authorities of the system.
#[cfg(feature = "tls")]
fn tls() -> ureq::tls::TlsConfig {
    use ureq::tls::{Certificate, RootCerts, TlsConfig};
    let trusted = rustls_native_certs::load_native_certs().certs;
    let roots: Vec<_> = trusted.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(std::sync::Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}

impl Client {
    /// Lets these hosts, with or without a port, have any address.
    pub(super) fn trust(&mut self, hosts: &[Box<str>]) {
        self.agent = agent(hosts);
    }

    /// Gets the document at a URL. Each redirect is checked before it is followed.
    pub(super) fn get(
        &self,
        url: &str,
        known: Option<&Document>,
        limits: Limits,
        check: &dyn Fn(&Place) -> Result<()>,
    ) -> Result<Answer> {
        let mut place = Place::parse(url)?;
        for _ in 0..=limits.redirects {
            let left = limits.end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::new(Code::Deadline).at(url));
            }
            let here = place.name();
            let mut request = self.agent.get(&here).config().timeout_global(Some(left)).build();
            if let Some(tag) = known.and_then(|known| known.tag.as_deref()) {
                request = request.header("If-None-Match", tag);
            }
            if let Some(modified) = known.and_then(|known| known.modified.as_deref()) {
                request = request.header("If-Modified-Since", modified);
            }
            let response = request.call().map_err(|failure| failed(&here, failure))?;
            let header = |name: &str| {
                let value = response.headers().get(name)?.to_str().ok()?;
                (value.len() <= MAX_TAG).then(|| value.to_owned())
            };
            match response.status().as_u16() {
                200 => {
                    // In the second in which it was sent, the document may have changed again, and would still have this time
                    // (RFC 9110, 8.8.2.2).
                    let modified = header("last-modified").filter(|at| header("date").is_some_and(|sent| sent != *at));
                    let tag = header("etag");
                    let mut bytes = Vec::new();
                    let mut body = response.into_body().into_reader().take(limits.bytes as u64 + 1);
                    body.read_to_end(&mut bytes).map_err(|error| match error.kind() {
                        std::io::ErrorKind::TimedOut => Error::new(Code::Deadline).at(&*here),
                        _ => Error::new(Code::Io).at(&*here).found(error),
                    })?;
                    let text = text_of(bytes, limits.bytes).map_err(|error| error.at(here))?;
                    return Ok(Answer::New(Document { text, tag, modified }));
                }
                304 if known.is_some() => return Ok(Answer::Same),
                301 | 302 | 303 | 307 | 308 => {
                    let to = header("location");
                    let to =
                        to.ok_or_else(|| Error::new(Code::Io).at(&*here).found("a redirect without a location"))?;
                    place = place.join(&to)?;
                    check(&place).map_err(|error| error.at(here))?;
                }
                status => {
                    let code = match status {
                        404 | 410 => Code::Source,
                        401 => Code::NotAdmitted,
                        403 => Code::Forbidden,
                        _ => Code::Io,
                    };
                    let error = Error::new(code).at(here).expected("a document");
                    return Err(error.found(format_args!("HTTP status {status}")));
                }
            }
        }
        Err(Error::new(Code::Source).at(url).expected(format_args!("at most {} redirects", limits.redirects)))
    }
}

fn failed(url: &str, failure: Failure) -> Error {
    match failure {
        Failure::Timeout(_) => Error::new(Code::Deadline).at(url),
        // So rustls says that the server does not speak TLS.
        failure if failure.to_string().contains("InvalidContentType") => {
            Error::new(Code::Io).at(url).expected("a server that speaks TLS, or a URL with http:").found("no TLS")
        }
        Failure::Io(error) => {
            let said = error.to_string();
            // What the system calls it, without its number.
            let said = said.split(" (os error").next().unwrap_or(&said).to_owned();
            Error::new(Code::Io).at(url).expected("a server that answers there").found(said)
        }
        failure => Error::new(Code::Io).at(url).found(failure),
    }
}

/// Resolves names, and refuses those that lead into this machine or to its link, unless the caller has said so. Otherwise a
/// document's server could have other documents fetched from services that only this machine can reach.
#[derive(Debug)]
struct Careful {
    trusted: Box<[Box<str>]>,
    system: DefaultResolver,
}

impl Resolver for Careful {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> std::result::Result<ResolvedSocketAddrs, Failure> {
        let found: ResolvedSocketAddrs = self.system.resolve(uri, config, timeout)?;
        let host = uri.host().unwrap_or_default().to_ascii_lowercase();
        let port = uri.port_u16();
        let is_trusted = self
            .trusted
            .iter()
            .any(|trusted| **trusted == *host || port.is_some_and(|port| **trusted == *format!("{host}:{port}")));
        let is_plain = host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        if !is_trusted && !is_plain && found.iter().any(|address| is_own(address.ip())) {
            return Err(Failure::BadUri(format!(
                "{host} is an address of this machine; allow the host if that is right"
            )));
        }
        Ok(found)
    }
}

/// Whether an address is that of this machine, or of its link.
fn is_own(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_link_local() || v4.is_unspecified(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unspecified() || v6.is_unicast_link_local(),
    }
}
