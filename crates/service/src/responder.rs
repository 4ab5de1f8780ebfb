//! Self-service: a program answers for the formats that it sends (`spec/service.md`, "Self-service").
//!
//! This is not the server of the feature `server`: it has the formats of one program, in memory, and answers the least that a
//! server answers. A few threads of the standard library do that, so a program that sends pays for no runtime and no store.

use isoform_core::message::Locators;
use isoform_core::{Code, Error, Format, Registry, Result, Token, text};
use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Connections that are answered at the same time. One more takes the place of another one.
const CONNECTIONS: usize = 16;
/// Bytes of the head of a request.
const HEAD: usize = 8 << 10;
/// The time for one request and its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers for the formats of this program at an HTTP address, until it is dropped.
///
/// ```
/// use isoform_core::{Layout, Registry, Shape};
/// use isoform_core::message::Locators;
/// use isoform_service::{Client, Responder};
/// let responder = Responder::new("127.0.0.1:0")?;
/// let gauge = Shape::new("Gauge").field("depth", "float").on(&Layout::NATIVE)?;
/// responder.register(&gauge)?;
/// // In another program, which got the locators with a message:
/// let client = Client::nowhere().allow("127.0.0.1")?;
/// let mut registry = Registry::new();
/// registry.set_resolver(client);
/// let located = registry.locate_near(gauge.token(), Some(&responder.locators()))?;
/// assert_eq!(registry.at(located), &gauge);
/// # Ok::<(), isoform_core::Error>(())
/// ```
///
/// A writer registers each format before its first message, and tells where: `writer.set_registrar(responder.registrar())` and
/// `writer.set_locators(responder.locators())`.
pub struct Responder {
    formats: Registry,
    address: SocketAddr,
    locators: Locators,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Responder {
    /// Answers at an address of this machine, such as `127.0.0.1:0`, where 0 is any free port.
    ///
    /// # Errors
    /// [`Code::Insecure`] for an address that others can reach, [`Code::Address`] for what is no address, [`Code::Io`] if the
    /// system refuses it.
    pub fn new(address: &str) -> Result<Responder> {
        Responder::listen(address, false)
    }

    /// The same at an address that other machines reach. Descriptions of formats then go to everybody who asks and knows the token, and
    /// nothing is encrypted.
    ///
    /// # Errors
    /// As [`Responder::new`], except [`Code::Insecure`].
    pub fn insecure(address: &str) -> Result<Responder> {
        Responder::listen(address, true)
    }

    fn listen(address: &str, is_open: bool) -> Result<Responder> {
        let fault = |error: std::io::Error| match error.kind() {
            ErrorKind::InvalidInput => {
                Error::new(Code::Address).expected("HOST:PORT").found(format_args!("{address:?}"))
            }
            _ => Error::new(Code::Io).at(address).found(error),
        };
        let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(fault)?.collect();
        if !is_open && addresses.iter().any(|address| !address.ip().is_loopback()) {
            let error = Error::new(Code::Insecure).expected("an address of this machine, or the option `insecure`");
            return Err(error.found(address));
        }
        let listener = TcpListener::bind(&addresses[..]).map_err(fault)?;
        let address = listener.local_addr().map_err(fault)?;
        let locators = Locators::new([format!("http://{address}")])?;
        let (formats, ends) = (Registry::new(), Arc::new(AtomicBool::new(false)));
        let desk =
            Desk { formats: formats.clone(), standing: Arc::default(), count: Arc::default(), ends: ends.clone() };
        let thread = std::thread::Builder::new().name("isoform-responder".into()).spawn(move || desk.accept(&listener));
        let thread = Some(thread.map_err(fault)?);
        Ok(Responder { formats, address, locators, ends, thread })
    }

    /// The address at which it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What messages say of where their formats are described: `http://` and the address.
    pub fn locators(&self) -> Locators {
        self.locators.clone()
    }

    /// Answers for a format from now on.
    ///
    /// # Errors
    /// As [`Registry::register`].
    pub fn register(&self, format: &Format) -> Result<()> {
        self.formats.register(format)
    }

    /// A function that registers formats, for the writer of a stream.
    pub fn registrar(&self) -> impl FnMut(&Format) -> Result<()> + Send + Sync + use<> {
        let formats = self.formats.clone();
        move |format| formats.register(format)
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        // The thread waits for a connection: this is one.
        let mut own = self.address;
        if own.ip().is_unspecified() {
            own.set_ip(if own.is_ipv4() { [127, 0, 0, 1].into() } else { [0u16, 0, 0, 0, 0, 0, 0, 1].into() });
        }
        if TcpStream::connect_timeout(&own, Duration::from_secs(1)).is_ok()
            && let Some(thread) = self.thread.take()
        {
            _ = thread.join();
        }
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Responder").field(&self.address).finish()
    }
}

/// What the threads share.
#[derive(Clone)]
struct Desk {
    formats: Registry,
    /// The connections under way, the oldest first.
    standing: Arc<Mutex<Vec<Standing>>>,
    /// The connections that there were.
    count: Arc<AtomicUsize>,
    ends: Arc<AtomicBool>,
}

impl Desk {
    fn accept(&self, listener: &TcpListener) {
        loop {
            let connection = listener.accept();
            if self.ends.load(Ordering::Acquire) {
                return;
            }
            let Ok((connection, address)) = connection else {
                // Without descriptors, for one: others may be given back soon.
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            let Ok(other) = connection.try_clone() else { continue };
            let number = self.enter(address.ip(), other);
            let desk = self.clone();
            let answer = move || {
                let _leaving = Leaving { desk: &desk, number };
                // A client that breaks its connection off concerns nobody else.
                _ = desk.answer(connection);
            };
            let spawned =
                std::thread::Builder::new().name("isoform-responder".into()).stack_size(256 << 10).spawn(answer);
            if spawned.is_err() {
                self.leave(number);
            }
        }
    }

    fn standing(&self) -> MutexGuard<'_, Vec<Standing>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a connection. If there are too many, the oldest one of the address that has most of them ends: whoever only connects
    /// is in nobody's way but its own. Most answers take less than a millisecond, so the oldest is hardly one of those.
    fn enter(&self, address: IpAddr, connection: TcpStream) -> usize {
        let mut standing = self.standing();
        if standing.len() >= CONNECTIONS {
            let count = |address| standing.iter().filter(|other| other.address == address).count();
            let most = standing.iter().map(|other| count(other.address)).max();
            if let Some(oldest) = standing.iter().position(|other| Some(count(other.address)) == most) {
                // Its thread ends, since there is nothing more to read or write.
                _ = standing.remove(oldest).connection.shutdown(Shutdown::Both);
            }
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        standing.push(Standing { number, address, connection });
        number
    }

    fn leave(&self, number: usize) {
        self.standing().retain(|other| other.number != number);
    }

    /// Reads one request and answers it.
    fn answer(&self, mut connection: TcpStream) -> std::io::Result<()> {
        let end = Instant::now() + PATIENCE;
        connection.set_write_timeout(Some(PATIENCE))?;
        let mut head = Vec::new();
        let response = loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break plain(408, "Request Timeout");
            }
            connection.set_read_timeout(Some(left))?;
            let mut bytes = [0; 1024];
            let came = match connection.read(&mut bytes) {
                Ok(came) => came,
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            };
            head.extend_from_slice(&bytes[..came]);
            let mut headers = [httparse::EMPTY_HEADER; 64];
            let mut request = httparse::Request::new(&mut headers);
            match request.parse(&head) {
                Ok(httparse::Status::Complete(_)) => {
                    break self.respond(request.method.unwrap_or_default(), request.path.unwrap_or_default());
                }
                Ok(httparse::Status::Partial) if came == 0 => return Ok(()),
                Ok(httparse::Status::Partial) if head.len() < HEAD => {}
                Ok(httparse::Status::Partial) => break plain(431, "Request Header Fields Too Large"),
                Err(_) => break plain(400, "Bad Request"),
            }
        };
        connection.write_all(&response)?;
        connection.shutdown(Shutdown::Write)
    }

    fn respond(&self, method: &str, path: &str) -> Vec<u8> {
        if !matches!(method, "GET" | "HEAD") {
            return plain(405, "Method Not Allowed");
        }
        let mut response = match (path, path.strip_prefix("/formats/")) {
            ("/healthz", _) => plain(200, "OK"),
            (_, Some(name)) => self.format(name).unwrap_or_else(|| plain(404, "Not Found")),
            _ => plain(404, "Not Found"),
        };
        if method == "HEAD" {
            let head = response.windows(4).position(|end| end == b"\r\n\r\n").map_or(response.len(), |at| at + 4);
            response.truncate(head);
        }
        response
    }

    /// The description of a token, or the format as JSON.
    fn format(&self, name: &str) -> Option<Vec<u8>> {
        let (digits, is_json) = name.strip_suffix(".json").map_or((name, false), |digits| (digits, true));
        let token: Token = digits.parse().ok().filter(|token: &Token| token.to_string() == digits)?;
        let format = self.formats.known(token)?;
        let always = format!("ETag: \"{token}\"\r\nCache-Control: public, max-age=31536000, immutable\r\n");
        Some(match is_json {
            true => response(200, "OK", "application/json", &always, text::format::to_json(&format).as_bytes()),
            false => response(200, "OK", "application/octet-stream", &always, format.description().as_bytes()),
        })
    }
}

/// A connection under way.
struct Standing {
    number: usize,
    address: IpAddr,
    connection: TcpStream,
}

/// Gives the place of a connection back.
struct Leaving<'a> {
    desk: &'a Desk,
    number: usize,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.desk.leave(self.number);
    }
}

fn plain(status: u16, reason: &str) -> Vec<u8> {
    response(status, reason, "text/plain", "Cache-Control: no-store\r\n", reason.as_bytes())
}

fn response(status: u16, reason: &str, kind: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{headers}\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
