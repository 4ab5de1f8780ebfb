//! Who may read and write.

use super::problem::Problem;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use isoform_core::{Code, Error};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
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
    pub(super) fn check(&self, client: Client, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let path = uri.path();
        // A check and a search change nothing, whatever their method is.
        let writes = !matches!(*method, Method::GET | Method::HEAD) && !path.ends_with("/check");
        self.count(client.address, writes, Instant::now())?;
        if self.local && !is_local(uri, headers) {
            let error = Error::new(Code::Forbidden).expected("a request for localhost").found("one for another host");
            return Err(error.into());
        }
        if !matches!(*method, Method::GET | Method::HEAD) && is_from_elsewhere(headers) {
            let error = Error::new(Code::Forbidden).expected("a request of a program, or of a page of this server");
            return Err(error.found("one of another page of the web").into());
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
            Some(_) => Err(Error::new(Code::Forbidden).expected(self.asked(writes)).found("another secret").into()),
            None => Err(Error::new(Code::NotAdmitted).expected(self.asked(writes)).found("none").into()),
        }
    }

    /// What readers or writers show.
    fn asked(&self, writes: bool) -> &'static str {
        match (writes, self.certificates) {
            (true, false) => "the secret of writers, as `Authorization: Bearer SECRET`",
            (true, true) => "the secret of writers, as `Authorization: Bearer SECRET`, or a certificate",
            (false, false) => "the secret of readers, as `Authorization: Bearer SECRET`",
            (false, true) => "the secret of readers, as `Authorization: Bearer SECRET`, or a certificate",
        }
    }

    /// Counts a request, unless its address made too many.
    fn count(&self, address: IpAddr, writes: bool, now: Instant) -> Result<(), Problem> {
        let address = network(address);
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

/// Whom an address stands for. Whoever has an address of IPv6 most often has the 2^64 that begin as it does.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => IpAddr::V6((six.to_bits() >> 64 << 64).into()),
    }
}

/// The one header `Host` of a request.
fn host(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::HOST).iter();
    all.next().filter(|_| all.next().is_none())?.to_str().ok()
}

/// Whether a browser sends a request for a page that came from somewhere else. A page may send some kinds of requests anywhere,
/// with the certificate of the user, although it never sees the answer.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    let own = host(headers);
    headers.get_all(header::ORIGIN).iter().any(|origin| {
        let host = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
        host.is_none() || host != own
    })
}

/// Whether a request is for this machine: by its header `Host`, and by its target if that names a host.
fn is_local(uri: &Uri, headers: &HeaderMap) -> bool {
    host(headers).is_some_and(is_this_machine) && uri.authority().is_none_or(|host| is_this_machine(host.as_str()))
}

/// Whether `HOST`, `HOST:PORT`, `[IPv6]` or `[IPv6]:PORT` is this machine.
fn is_this_machine(host: &str) -> bool {
    let (is_here, port) = match host.strip_prefix('[') {
        Some(six) => match six.split_once(']') {
            Some((six, port)) => (six.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback()), port),
            None => return false,
        },
        None => {
            let (host, port) = host.split_at(host.find(':').unwrap_or(host.len()));
            let is_name = host.eq_ignore_ascii_case("localhost");
            (is_name || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback()), port)
        }
    };
    is_here && is_port(port)
}

/// Whether this is nothing, or a colon and a port, which may be left out.
fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| {
            port.bytes().all(|byte| byte.is_ascii_digit()) && (port.is_empty() || port.parse::<u16>().is_ok())
        })
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
        let uri = path.parse().unwrap();
        access.check(HERE, &method, &uri, headers).err().map(|problem| problem.error().code())
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
        let formats = Uri::from_static("/formats");
        assert!(access.check(certified, &Method::PUT, &formats, &HeaderMap::new()).is_err());
        let access = Access { certificates: true, ..access };
        assert!(access.check(certified, &Method::PUT, &formats, &HeaderMap::new()).is_ok());
        let access = Access { read_only: true, ..Access::default() };
        assert_eq!(status(&access, Method::PUT, "/formats", &HeaderMap::new()), Some(Code::Forbidden));
        assert_eq!(status(&access, Method::GET, "/formats", &HeaderMap::new()), None);
    }

    #[test]
    fn pages_of_the_web_cannot_reach_a_local_server() {
        let access = Access { local: true, ..Access::default() };
        for host in [
            "localhost",
            "localhost:7460",
            "LocalHost",
            "localhost:",
            "127.0.0.1:7460",
            "127.1.2.3",
            "[::1]",
            "[::1]:7460",
        ] {
            assert_eq!(status(&access, Method::GET, "/formats", &with(header::HOST, host)), None, "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:7460",
            "10.0.0.1",
            "",
            "[::1].evil.example",
            "[::1]evil.example:80",
            "[::1",
            "[127.0.0.1]",
            "[localhost]",
            "::1",
            "localhost:evil.example",
            "localhost:80:80",
            "localhost:+80",
            "localhost:65536",
            "127.0.0.1:80.evil.example",
            "evil.example@localhost",
            "localhost:80@evil.example",
            "localhost/",
            " localhost",
        ] {
            assert_eq!(
                status(&access, Method::GET, "/formats", &with(header::HOST, host)),
                Some(Code::Forbidden),
                "{host}"
            );
        }
        let here = with(header::HOST, "localhost:7460");
        assert_eq!(status(&access, Method::GET, "http://evil.example/formats", &here), Some(Code::Forbidden));
        assert_eq!(status(&access, Method::GET, "http://localhost:7460/formats", &here), None);
        let mut two = here.clone();
        two.append(header::HOST, HeaderValue::from_static("evil.example"));
        assert_eq!(status(&access, Method::GET, "/formats", &two), Some(Code::Forbidden));
    }

    #[test]
    fn pages_of_other_servers_change_nothing() {
        let at = |origin: &'static str| {
            let mut headers = with(header::HOST, "formats.example:7460");
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            headers
        };
        let access = Access::default();
        for origin in ["http://evil.example", "https://formats.example", "null", "", "http://formats.example:7461"] {
            for method in [Method::POST, Method::PUT, Method::DELETE] {
                let refused = status(&access, method, "/names/river/versions", &at(origin));
                assert_eq!(refused, Some(Code::Forbidden), "{origin}");
            }
            assert_eq!(status(&access, Method::POST, "/names/river/check", &at(origin)), Some(Code::Forbidden));
            assert_eq!(status(&access, Method::GET, "/formats", &at(origin)), None, "whoever asks sees no answer");
        }
        assert_eq!(status(&access, Method::POST, "/names/river/versions", &at("https://formats.example:7460")), None);
    }

    #[test]
    fn who_asks_too_often_waits() {
        let (access, now, later) = (Access::default(), Instant::now(), Duration::from_millis(100));
        let accepted = |now| (0..3000).filter(|_| access.count(HERE.address, true, now).is_ok()).count();
        assert_eq!([accepted(now), accepted(now), accepted(now + later)], [1000, 0, 100]);
        assert!(access.count(HERE.address, false, now).is_ok(), "reading has a rate of its own");
        assert!(access.count("10.0.0.1".parse().unwrap(), true, now).is_ok(), "so have others");
        let six = |last: u16| IpAddr::V6([0x2001, 0xdb8, 0, 7, 1, 2, 3, last].into());
        let accepted = (0..3000).filter(|last| access.count(six(*last), true, now).is_ok()).count();
        assert_eq!(accepted, 1000, "one network of IPv6 is one client");
        assert!(access.count("2001:db8:0:8::1".parse().unwrap(), true, now).is_ok());
        for last in 0..3 * ADDRESSES as u32 {
            _ = access.count(IpAddr::V4(last.into()), true, now);
            assert!(access.rates.lock().unwrap().len() <= ADDRESSES);
        }
    }
}
