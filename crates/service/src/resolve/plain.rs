//! `GET` of small answers over plain HTTP, on connections that are kept.
//!
//! Descriptions are what clients ask for most, and a description is small. A general client costs half of such an exchange on
//! loopback, since it serves every request and every answer. This one takes the simple answers: a length, no coding. It leaves the
//! others, TLS, and all other requests to ureq (`servers`). It follows no redirect and reads no environment, as that one.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};
use ureq::http::Uri;

/// The most bytes of the head of an answer, and of its headers.
const HEAD: usize = 16 << 10;
const HEADERS: usize = 64;
/// Connections that are kept for later requests.
const IDLE: usize = 4;

/// A server at an `http:` URL, and the connections to it on which nothing is under way.
#[derive(Debug)]
pub(super) struct Plain {
    url: Box<str>,
    host: Box<str>,
    port: u16,
    /// What each request has in its head: before the token, and behind it.
    before: Box<str>,
    behind: Box<str>,
    idle: Mutex<Vec<TcpStream>>,
}

/// What a server answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The status, and the body: all of it, or more than `most` bytes.
    Answer(u16, Vec<u8>),
    /// An answer that only a general client understands.
    Other,
}

/// The head of an answer.
enum Head {
    Partial,
    Other,
    Whole { status: u16, body: usize, length: usize, keeps: bool },
}

impl Plain {
    /// A server at this URL, if it is of the simple kind: without TLS, and without a user in front of the host.
    pub(super) fn new(url: &str) -> Option<Plain> {
        let uri: Uri = url.parse().ok()?;
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
        if uri.scheme_str() != Some("http") {
            return None;
        }
        let path = uri.path().trim_end_matches('/');
        Some(Plain {
            url: url.into(),
            host: authority.host().trim_matches(['[', ']']).to_ascii_lowercase().into(),
            port: authority.port_u16().unwrap_or(80),
            before: format!("GET {path}/").into(),
            behind: format!(
                " HTTP/1.1\r\nHost: {authority}\r\nAccept: */*\r\nAccept-Encoding: identity\r\nUser-Agent: isoform/{}\r\n",
                env!("CARGO_PKG_VERSION")
            )
            .into(),
            idle: Mutex::default(),
        })
    }

    /// The URL that it was made of.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Asks for a path. Of the body, it reads at most one byte more than `most`.
    ///
    /// A connection that was kept may have ended meanwhile. Then another one is taken, within the same time.
    pub(super) fn get(&self, path: &str, secret: Option<&str>, most: usize, within: Duration) -> io::Result<Said> {
        let end = Instant::now() + within;
        let secret = secret.map_or(String::new(), |secret| format!("Authorization: Bearer {secret}\r\n"));
        let request = [&*self.before, path, &*self.behind, &*secret, "\r\n"].concat();
        loop {
            let kept = self.idle().pop();
            let is_new = kept.is_none();
            let mut stream = kept.map_or_else(|| self.connect(end), Ok)?;
            let (mut bytes, mut keeps) = (Vec::with_capacity(1024), false);
            match exchange(&mut stream, &request, most, end, &mut bytes, &mut keeps) {
                Err(error) if !is_new && bytes.is_empty() && has_ended(&error) => {}
                said => {
                    let mut idle = self.idle();
                    if said.is_ok() && keeps && idle.len() < IDLE {
                        idle.push(stream);
                    }
                    return said;
                }
            }
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self, end: Instant) -> io::Result<TcpStream> {
        let addresses = self.addresses(end)?;
        let mut failure = io::Error::new(ErrorKind::NotFound, "the host has no address");
        for (at, address) in addresses.iter().enumerate() {
            // An address that does not answer leaves time for the others.
            match TcpStream::connect_timeout(address, left(end)? / (addresses.len() - at) as u32) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// The addresses of the host. The system's look-up has no deadline, so a thread waits for it.
    fn addresses(&self, end: Instant) -> io::Result<Vec<SocketAddr>> {
        if let Ok(number) = self.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(number, self.port)]);
        }
        let (host, port, (tell, told)) = (self.host.clone(), self.port, mpsc::channel());
        let look = move || {
            // Nobody may wait any more.
            _ = tell.send((&*host, port).to_socket_addrs().map(Iterator::collect));
        };
        std::thread::Builder::new().name("isoform-look-up".into()).spawn(look)?;
        told.recv_timeout(left(end)?).unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
    }
}

/// The time that is left, unless there is none.
fn left(end: Instant) -> io::Result<Duration> {
    match end.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

/// Sends a request and reads its answer. `keeps` becomes true if the connection can be used again.
fn exchange(
    stream: &mut TcpStream,
    request: &str,
    most: usize,
    end: Instant,
    bytes: &mut Vec<u8>,
    keeps: &mut bool,
) -> io::Result<Said> {
    stream.set_write_timeout(Some(left(end)?))?;
    stream.write_all(request.as_bytes())?;
    loop {
        let came = read(stream, bytes, end)?;
        match head(bytes)? {
            Head::Other => return Ok(Said::Other),
            Head::Partial if came == 0 => return Err(ErrorKind::UnexpectedEof.into()),
            Head::Partial if bytes.len() > HEAD => return Err(unfit("a head of more than 16 KiB")),
            Head::Partial => {}
            Head::Whole { status, body, length, keeps: may_keep } => {
                let enough = body + length.min(most + 1);
                while bytes.len() < enough {
                    if read(stream, bytes, end)? == 0 {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                // Bytes behind the answer belong to no request.
                *keeps = may_keep && bytes.len() == body + length;
                bytes.truncate(enough);
                return Ok(Said::Answer(status, bytes.split_off(body)));
            }
        }
    }
}

/// Reads what has come, and waits if nothing has.
fn read(stream: &mut TcpStream, bytes: &mut Vec<u8>, end: Instant) -> io::Result<usize> {
    let mut room = [0; 4096];
    loop {
        stream.set_read_timeout(Some(left(end)?))?;
        match stream.read(&mut room) {
            Ok(count) => {
                bytes.extend_from_slice(&room[..count]);
                return Ok(count);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            Err(error) => return Err(error),
        }
    }
}

/// Reads a head, which may not be whole yet.
fn head(bytes: &[u8]) -> io::Result<Head> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut answer = httparse::Response::new(&mut headers);
    let parsed = answer.parse(bytes).map_err(|error| unfit(&format!("no answer of HTTP ({error})")))?;
    let httparse::Status::Complete(body) = parsed else { return Ok(Head::Partial) };
    let (status, mut length, mut keeps) = (answer.code.unwrap_or(0), None, answer.version == Some(1));
    for header in answer.headers.iter() {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("Transfer-Encoding") || is("Content-Encoding") {
            return Ok(Head::Other);
        }
        if is("Connection") {
            keeps &= header.value.eq_ignore_ascii_case(b"keep-alive");
        }
        if is("Content-Length") {
            let digits = std::str::from_utf8(header.value).ok().filter(|text| text.bytes().all(|c| c.is_ascii_digit()));
            let number = digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| unfit("no length"))?;
            if length.replace(number).is_some_and(|other: usize| other != number) {
                return Err(unfit("two lengths"));
            }
        }
    }
    Ok(match (status, length) {
        (200.., Some(length)) if status != 204 && status != 304 => Head::Whole { status, body, length, keeps },
        _ => Head::Other,
    })
}

fn unfit(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// Whether a connection that was kept had ended before the request came.
fn has_ended(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A server that answers each connection with the next of these, however many requests come on it, and then ends it.
    fn answering(answers: Vec<&'static [u8]>) -> (Plain, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/tree/", listener.local_addr().unwrap());
        let thread = std::thread::spawn(move || {
            let mut asked = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut room = [0; 4096];
                let count = stream.read(&mut room).unwrap();
                asked.push(String::from_utf8_lossy(&room[..count]).into_owned());
                _ = stream.write_all(answer);
            }
            asked
        });
        (Plain::new(&url).unwrap(), thread)
    }

    const WITHIN: Duration = Duration::from_secs(60);

    fn said(answer: &'static [u8]) -> io::Result<Said> {
        let (plain, thread) = answering(vec![answer]);
        let said = plain.get("formats/x", None, 8, WITHIN);
        assert_eq!(thread.join().unwrap().len(), 1);
        said
    }

    #[test]
    fn simple_answers_are_taken_and_others_are_left() {
        let answer = |status, body: &[u8]| Said::Answer(status, body.to_vec());
        for (bytes, expected) in [
            (&b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"[..], answer(200, b"abc")),
            (b"HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", answer(200, b"")),
            (b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabcdef", answer(404, b"abc")),
            (b"HTTP/1.1 302 Found\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n", answer(302, b"")),
            // Of too much, so much that it shows.
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n0123456789abcdef", answer(200, b"012345678")),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", Said::Other),
            (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", Said::Other),
            (b"HTTP/1.1 200 OK\r\n\r\nabc", Said::Other),
            (b"HTTP/1.1 103 Early Hints\r\n\r\n", Said::Other),
            (b"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n", Said::Other),
        ] {
            assert_eq!(said(bytes).unwrap(), expected, "{}", String::from_utf8_lossy(bytes));
        }
        for (bytes, kind) in [
            (&b""[..], ErrorKind::UnexpectedEof),
            (b"HTTP/1.1 200 OK\r\nContent-Le", ErrorKind::UnexpectedEof),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", ErrorKind::UnexpectedEof),
            (b"SSH-2.0-OpenSSH\r\n", ErrorKind::InvalidData),
            (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc", ErrorKind::InvalidData),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nabc", ErrorKind::InvalidData),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", ErrorKind::InvalidData),
        ] {
            let error = said(bytes).unwrap_err();
            // The system may say that the other side has gone in its own words.
            assert!(error.kind() == kind || bytes.is_empty() && has_ended(&error), "{error}");
        }
        let endless = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'a'; 1 << 20]].concat();
        assert_eq!(said(endless.leak()).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn a_connection_is_kept_and_one_that_has_ended_is_replaced() {
        const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
        let (plain, thread) = answering(vec![ANSWER, ANSWER]);
        // The server ends each connection behind its answer, without a word in its head.
        for secret in [None, Some("word")] {
            assert_eq!(plain.get("formats/x", secret, 8, WITHIN).unwrap(), Said::Answer(200, b"a".to_vec()));
            assert_eq!(plain.idle().len(), 1);
        }
        let asked = thread.join().unwrap();
        assert!(asked[0].starts_with("GET /tree/formats/x HTTP/1.1\r\nHost: 127.0.0.1:"), "{}", asked[0]);
        assert!(asked[0].ends_with("\r\n\r\n") && !asked[0].contains("Bearer"), "{}", asked[0]);
        assert!(asked[1].contains("\r\nAuthorization: Bearer word\r\n"), "{}", asked[1]);
        // Nobody listens any more.
        assert_eq!(plain.get("formats/x", None, 8, WITHIN).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        for closing in [
            &b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na"[..],
            b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
        ] {
            let (plain, _) = answering(vec![closing]);
            assert_eq!(plain.get("formats/x", None, 8, WITHIN).unwrap(), Said::Answer(200, b"a".to_vec()));
            assert!(plain.idle().is_empty());
        }
    }

    #[test]
    fn silence_has_an_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let plain = Plain::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let silence = plain.get("formats/x", None, 8, Duration::from_millis(20));
        assert_eq!(silence.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(plain.get("formats/x", None, 8, Duration::ZERO).unwrap_err().kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn other_urls_are_left() {
        for url in ["https://h/", "http://user@h/", "http://", "h", "ftp://h/"] {
            assert!(Plain::new(url).is_none(), "{url}");
        }
        let plain = Plain::new("http://[::1]/a").unwrap();
        assert_eq!((&*plain.host, plain.port, &*plain.before), ("::1", 80, "GET /a/"));
        let here = Plain::new("http://LOCALHOST:1").unwrap().addresses(Instant::now() + WITHIN).unwrap();
        assert!(here.iter().all(|address| address.ip().is_loopback()) && !here.is_empty());
    }
}
