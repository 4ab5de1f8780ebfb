//! Who is answered, and the requests (`spec/watch.md`, "Connection").

#[cfg(feature = "files")]
use crate::foxglove::{self, Viewers};
use crate::guests::{Asked, Guests, accept, room};
use crate::place::Place;
use crate::player::Player;
use crate::seats::Seats;
use crate::{page, session};
use axum::Router;
use axum::extract::{Path, Request, State, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use isoform::{Code, Error, Result};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

/// The most pages at a time.
const PAGES: usize = 32;
/// The units of each. All pages and viewers together keep within what a source lets one credential ask.
const UNITS: u32 = 768;
/// The most WebSockets at a time that have not shown the key.
pub(crate) const STRANGERS: usize = 32;
/// The most questions to members at a time.
const QUESTIONS: usize = 8;
/// The most bytes of a message of a page, and of one that is read, so that the page is told of it.
pub(crate) const MESSAGE: usize = 64 << 10;
pub(crate) const READ: usize = 1 << 20;

/// What all pages share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) key: String,
    pub(crate) places: Vec<Place>,
    /// The replay that the page leads.
    pub(crate) player: Option<Player>,
    pub(crate) pages: Seats,
    #[cfg(feature = "files")]
    pub(crate) viewers: Viewers,
    pub(crate) strangers: Guests,
    /// Turns for questions to members.
    pub(crate) asking: Arc<Semaphore>,
}

/// A server that runs. It stops when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    key: String,
    /// Where viewers connect, if there is something for them.
    #[cfg(feature = "files")]
    viewers: Option<String>,
    runtime: Option<Runtime>,
}

/// Serves the page of these channels, or channels of recordings, to browsers of this machine.
///
/// ```
/// use isoform_channel::Node;
/// let node = Node::new()?;
/// let channel = node.create_with("river", None)?;
/// let server = isoform_watch::start("127.0.0.1:0".parse().unwrap(), vec![channel])?;
/// println!("open {}", server.url());
/// # assert!(server.url().starts_with("http://127.0.0.1:"));
/// # Ok::<(), isoform::Error>(())
/// ```
///
/// # Errors
/// [`Code::Insecure`] for an address beyond this machine; [`Code::Taken`] or [`Code::Io`] if it cannot listen there.
pub fn start(address: SocketAddr, places: impl IntoIterator<Item = impl Into<Place>>) -> Result<Server> {
    serve(address, places.into_iter().map(Into::into).collect(), None)
}

/// As [`start`], for the channels of a replay: the page stops it, continues it, and sets it to another time.
///
/// # Errors
/// As [`start`].
pub fn start_replay(
    address: SocketAddr,
    places: impl IntoIterator<Item = impl Into<Place>>,
    player: Player,
) -> Result<Server> {
    serve(address, places.into_iter().map(Into::into).collect(), Some(player))
}

fn serve(address: SocketAddr, places: Vec<Place>, player: Option<Player>) -> Result<Server> {
    if !address.ip().is_loopback() {
        let error = Error::new(Code::Insecure).expected("an address of this machine, such as 127.0.0.1:0");
        return Err(error.found(address));
    }
    let cannot = |what: &str, error: std::io::Error| {
        let code = if error.kind() == std::io::ErrorKind::AddrInUse { Code::Taken } else { Code::Io };
        Error::new(code).expected(what).found(error)
    };
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().thread_name("isoform-watch").build();
    let runtime = runtime.map_err(|error| cannot("threads for the server", error))?;
    let listening = format!("to listen at {address}");
    let listener = runtime.block_on(TcpListener::bind(address)).map_err(|error| cannot(&listening, error))?;
    let address = listener.local_addr().map_err(|error| cannot(&listening, error))?;
    let key = new_key()?;
    let room = room();
    let shared = Arc::new(Shared {
        key: key.clone(),
        #[cfg(feature = "files")]
        viewers: Viewers::new(&places)?,
        places,
        player,
        pages: Seats::new(PAGES, UNITS),
        strangers: Guests::new(STRANGERS.min(room)),
        asking: Arc::new(Semaphore::new(QUESTIONS)),
    });
    #[cfg(feature = "files")]
    let viewers = shared.viewers.path();
    runtime.spawn(accept(listener, shared.clone(), router(shared), room));
    Ok(Server {
        address,
        key,
        #[cfg(feature = "files")]
        viewers,
        runtime: Some(runtime),
    })
}

impl Server {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to open in a browser. It has the key that pages show, behind `#`, so that browsers send it to nobody.
    pub fn url(&self) -> String {
        format!("http://{}/#key={}", self.address, self.key)
    }

    /// The address for viewers that people have: Foxglove, and others that speak its protocol. It has a key of its own. `None` if
    /// there are no channels for them.
    ///
    /// ```
    /// use isoform_channel::Node;
    /// let channel = Node::new()?.create_with("river", None)?;
    /// let server = isoform_watch::start("127.0.0.1:0".parse().unwrap(), vec![channel])?;
    /// assert!(server.viewers_url().unwrap().starts_with("ws://127.0.0.1:"));
    /// # Ok::<(), isoform::Error>(())
    /// ```
    #[cfg(feature = "files")]
    pub fn viewers_url(&self) -> Option<String> {
        self.viewers.as_ref().map(|path| format!("ws://{}{path}", self.address))
    }
}

/// A new key of 32 hexadecimal digits.
pub(crate) fn new_key() -> Result<String> {
    Ok(isoform_channel::new_key()?.secret().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a text is the key. The time that this takes tells nothing of the key.
pub(crate) fn shows(shown: &str, key: &str) -> bool {
    shown.len() == key.len() && shown.bytes().zip(key.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn router(shared: Arc<Shared>) -> Router {
    let files = Router::new()
        .route("/", get(async || page::file("")))
        .route("/events", get(events))
        .route("/{file}", get(async |Path(name): Path<String>| page::file(&name)));
    #[cfg(feature = "files")]
    let files = files.route("/viewers/{key}", get(foxglove::open));
    files.layer(middleware::from_fn(here)).with_state(shared)
}

/// Refuses requests under names that are not of this machine: a page of somebody else may have made such a name lead here.
async fn here(request: Request, next: Next) -> Response {
    if [header::HOST, header::ORIGIN].iter().any(|name| request.headers().get_all(name).iter().nth(1).is_some()) {
        return (StatusCode::BAD_REQUEST, "a request has one Host, and at most one Origin\n").into_response();
    }
    // A request to a proxy names the host twice.
    let is_for_others = request.uri().authority().is_some_and(|authority| !is_here(authority.as_str()));
    match host(request.headers()).is_some_and(is_here) && !is_for_others {
        true => next.run(request).await,
        false => (StatusCode::MISDIRECTED_REQUEST, "open this page at localhost or 127.0.0.1\n").into_response(),
    }
}

fn host(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::HOST)?.to_str().ok()
}

/// Whether a host with or without a port is this machine.
fn is_here(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

async fn events(State(shared): State<Arc<Shared>>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok()?.strip_prefix("http://"));
    if origin.is_none() || origin != host(&headers) {
        return (StatusCode::FORBIDDEN, "only the page of this server may ask\n").into_response();
    }
    let upgrade = upgrade.max_message_size(READ).max_frame_size(READ);
    upgrade.on_upgrade(async move |socket| {
        let stranger = tokio::spawn(session::admit(shared.clone(), socket));
        shared.strangers.enter(stranger.abort_handle(), Asked::default());
        if let Ok(Some((socket, seat))) = stranger.await {
            session::run(shared, socket, seat).await;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::is_here;

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for host in [
            "localhost",
            "localhost:80",
            "LOCALHOST:1",
            "127.0.0.1",
            "127.0.0.1:8000",
            "127.1.2.3:5",
            "[::1]",
            "[::1]:80",
        ] {
            assert!(is_here(host), "{host}");
        }
        for host in [
            "",
            ":80",
            "example.org",
            "localhost.example.org",
            "127.0.0.1.example.org:80",
            "10.0.0.1:80",
            "[::2]:80",
            "0.0.0.0:80",
        ] {
            assert!(!is_here(host), "{host}");
        }
    }
}
