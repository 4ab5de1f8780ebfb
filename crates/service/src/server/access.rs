//! Who may read and write.

use super::problem::Problem;
use axum::http::{HeaderMap, Method, StatusCode, header};
use isoform_core::{Code, Error};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Requests that an address may make at once; it gets as many again in a second.
const RATE: f64 = 20_000.0;
/// Changes that an address may make at once; it gets as many again in a second.
const WRITE_RATE: f64 = 1_000.0;
/// Addresses whose rates are counted.
const ADDRESSES: usize = 10_000;

/// Who may read and write.
#[derive(Debug, Default)]
pub(super) struct Access {
    /// The secret of readers; without it, everyone may read.
    pub(super) read: Option<Secret>,
    /// The secret of writers; without it, everyone may write.
    pub(super) write: Option<Secret>,
    /// Whether nobody may write.
    pub(super) read_only: bool,
    /// Whether clients with a certificate may do everything.
    pub(super) certificates: bool,
    /// Whether only requests for this machine are answered: then no page of the web can send any through a browser.
    pub(super) local: bool,
    pub(super) rates: Mutex<HashMap<IpAddr, Rates>>,
}

/// A secret, which no text shows.
pub(super) struct Secret(Box<[u8]>);

/// What an address may still do.
#[derive(Debug)]
pub(super) struct Rates {
    requests: f64,
    writes: f64,
    then: Instant,
}

/// The client of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    pub(super) address: IpAddr,
    /// Whether it showed a certificate that the server trusts.
    pub(super) certified: bool,
}

impl Access {
    /// Whether a client may make this request.
    pub(super) fn check(
        &self,
        client: Client,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<(), Problem> {
        // A check and a search change nothing, whatever their method is.
        let writes = !matches!(*method, Method::GET | Method::HEAD) && !path.ends_with("/check");
        self.count(client.address, writes, Instant::now())?;
        if self.local && !is_local(headers) {
            let error = Error::new(Code::Forbidden).expected("a request for localhost").found("one for another host");
            return Err(error.into());
        }
        // The page holds no formats: it asks for them, with the secret if there is one.
        let is_page = !writes && (matches!(path, "/" | "/openapi.json") || path.starts_with("/page/"));
        if path == "/healthz" || is_page {
            return Ok(());
        }
        if writes && self.read_only {
            return Err(Error::new(Code::Forbidden).found("this server is read-only").into());
        }
        if self.certificates && client.certified {
            return Ok(());
        }
        let secret = if writes { &self.write } else { &self.read };
        let Some(secret) = secret else { return Ok(()) };
        let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        // Writers may read.
        let also = if writes { &None } else { &self.write };
        match shown {
            Some(shown) if secret.is(shown) || also.as_ref().is_some_and(|secret| secret.is(shown)) => Ok(()),
            Some(_) => Err(Error::new(Code::Forbidden).found("another secret").into()),
            None => Err(Error::new(Code::NotAdmitted).expected("`Authorization: Bearer ..`").into()),
        }
    }

    /// Counts a request, unless its address made too many.
    fn count(&self, address: IpAddr, writes: bool, now: Instant) -> Result<(), Problem> {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if rates.len() >= ADDRESSES && !rates.contains_key(&address) {
            // Who has been quiet for a second has all of its rate again.
            rates.retain(|_, rate| now.duration_since(rate.then).as_secs() == 0);
            if rates.len() >= ADDRESSES {
                rates.clear();
            }
        }
        let rate = rates.entry(address).or_insert(Rates { requests: RATE, writes: WRITE_RATE, then: now });
        let passed = now.saturating_duration_since(rate.then).as_secs_f64();
        rate.then = now;
        rate.requests = (rate.requests + passed * RATE).min(RATE);
        rate.writes = (rate.writes + passed * WRITE_RATE).min(WRITE_RATE);
        let (left, most, what) = match writes {
            true => (&mut rate.writes, WRITE_RATE, "changes"),
            false => (&mut rate.requests, RATE, "requests"),
        };
        if *left < 1.0 {
            let error = Error::new(Code::Budget).expected(format_args!("at most {most} {what} a second"));
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, error));
        }
        *left -= 1.0;
        Ok(())
    }
}

/// Whether a request is for this machine, by its header `Host`.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let host = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(host, _)| host),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl Secret {
    /// The secret in this text, without the white space around it.
    pub(super) fn new(text: &str) -> Secret {
        Secret(text.trim().as_bytes().into())
    }

    /// A secret that nobody knows, since no header can hold it.
    pub(super) fn unknown() -> Secret {
        Secret(b"\n".as_slice().into())
    }

    /// Compares in a time that does not tell how much is equal.
    fn is(&self, shown: &[u8]) -> bool {
        let different = self.0.iter().zip(shown).fold(0, |different, (a, b)| different | (a ^ b));
        self.0.len() == shown.len() && std::hint::black_box(different) == 0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use std::time::Duration;

    const HERE: Client = Client { address: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), certified: false };

    fn with(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    fn status(access: &Access, method: Method, path: &str, headers: &HeaderMap) -> Option<Code> {
        access.check(HERE, &method, path, headers).err().map(|problem| problem.error().code())
    }

    #[test]
    fn secrets_admit_readers_and_writers() {
        let access = Access { read: Some(Secret::new("r\n")), write: Some(Secret::new("w")), ..Access::default() };
        let bearer = |secret| with(header::AUTHORIZATION, secret);
        let cases = [
            (HeaderMap::new(), Some(Code::NotAdmitted), Some(Code::NotAdmitted)),
            (bearer("Bearer r"), None, Some(Code::Forbidden)),
            (bearer("Bearer w"), None, None),
            (bearer("Bearer x"), Some(Code::Forbidden), Some(Code::Forbidden)),
            (bearer("Bearer "), Some(Code::Forbidden), Some(Code::Forbidden)),
            (bearer("Basic w"), Some(Code::NotAdmitted), Some(Code::NotAdmitted)),
        ];
        for (headers, reads, writes) in cases {
            assert_eq!(status(&access, Method::GET, "/formats", &headers), reads, "{headers:?}");
            assert_eq!(status(&access, Method::POST, "/names/river/check", &headers), reads, "{headers:?}");
            assert_eq!(status(&access, Method::PUT, "/formats", &headers), writes, "{headers:?}");
            assert_eq!(status(&access, Method::DELETE, "/names/river/versions/1", &headers), writes, "{headers:?}");
        }
        for path in ["/healthz", "/", "/page/main.js", "/openapi.json"] {
            assert_eq!(status(&access, Method::GET, path, &HeaderMap::new()), None, "{path}");
        }
        assert_eq!(status(&access, Method::PUT, "/page/main.js", &HeaderMap::new()), Some(Code::NotAdmitted));
        let certified = Client { certified: true, ..HERE };
        assert!(access.check(certified, &Method::PUT, "/formats", &HeaderMap::new()).is_err());
        let access = Access { certificates: true, ..access };
        assert!(access.check(certified, &Method::PUT, "/formats", &HeaderMap::new()).is_ok());
        let access = Access { read_only: true, ..Access::default() };
        assert_eq!(status(&access, Method::PUT, "/formats", &HeaderMap::new()), Some(Code::Forbidden));
        assert_eq!(status(&access, Method::GET, "/formats", &HeaderMap::new()), None);
    }

    #[test]
    fn pages_of_the_web_cannot_reach_a_local_server() {
        let access = Access { local: true, ..Access::default() };
        for host in ["localhost", "localhost:7460", "127.0.0.1:7460", "[::1]:7460"] {
            assert_eq!(status(&access, Method::GET, "/formats", &with(header::HOST, host)), None, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:7460", "10.0.0.1", ""] {
            assert_eq!(
                status(&access, Method::GET, "/formats", &with(header::HOST, host)),
                Some(Code::Forbidden),
                "{host}"
            );
        }
    }

    #[test]
    fn who_asks_too_often_waits() {
        let (access, now, later) = (Access::default(), Instant::now(), Duration::from_millis(100));
        let accepted = |now| (0..3000).filter(|_| access.count(HERE.address, true, now).is_ok()).count();
        assert_eq!([accepted(now), accepted(now), accepted(now + later)], [1000, 0, 100]);
        assert!(access.count(HERE.address, false, now).is_ok(), "reading has a rate of its own");
        assert!(access.count("10.0.0.1".parse().unwrap(), true, now).is_ok(), "so have others");
        for last in 0..3 * ADDRESSES as u32 {
            _ = access.count(IpAddr::V4(last.into()), true, now);
            assert!(access.rates.lock().unwrap().len() <= ADDRESSES);
        }
    }
}
