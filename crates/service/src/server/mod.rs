//! The server: formats and names over HTTP (`spec/service.md`).
//!
//! [`Options`] say where it listens and who may do what; [`start`] runs it on threads of its own until the [`Server`] is
//! dropped. [`copy`] copies once what other servers have.
//!
//! | file | what |
//! |---|---|
//! | `listen` | connections: their number, their time, TLS |
//! | `standing` | which connections give way to new ones |
//! | `incoming`, `outgoing` | bodies while they come, and answers while clients take them |
//! | `patient` | connections whose clients take nothing |
//! | `access` | who may read and write, and how often |
//! | `routes` | paths |
//! | `formats`, `names` | requests |
//! | `places` | turns for requests that need the processor for long |
//! | `page` | the web page, whose parts are in `page/` |
//! | `problem` | errors as answers |
//! | `replicas` | copying from other servers |
//! | `metrics` | counts |

mod access;
mod app;
mod formats;
mod incoming;
mod listen;
mod metrics;
mod names;
mod options;
mod outgoing;
mod page;
mod patient;
mod places;
mod problem;
mod replicas;
mod routes;
mod standing;
#[cfg(test)]
mod tests;

pub use options::{Options, PORT};

use crate::store::{Store, panicked, unless_it_panics};
use access::Access;
use app::App;
use isoform_core::{Code, Error, Result};
use places::Places;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// Threads for requests that wait for the disk.
const THREADS: usize = 64;
/// Searches and lists of one client at a time, with those that wait.
const LOOKS: usize = 64;
/// Comparisons of one client at a time, with those that wait.
const COMPARISONS: usize = 8;
/// Changes of one client at a time that come as JSON, with those that wait: one for each of its connections.
const CHANGES: usize = listen::EACH;

/// A server that runs. It stops when this is dropped.
///
/// ```
/// use isoform_core::{Layout, Resolver, Shape};
/// use isoform_service::{Servers, server, server::Options};
/// let folder = tempfile::tempdir()?;
/// let options = Options::new(folder.path().join("formats.redb")).listen("127.0.0.1:0".parse()?);
/// let server = server::start(options)?;
/// let gauge = Shape::new("Gauge").field("depth", "float").on(&Layout::NATIVE)?;
/// let servers = Servers::new([server.url()])?;
/// servers.put(&gauge)?;
/// assert_eq!(servers.resolve(gauge.token())?, gauge.description().as_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    secure: bool,
    app: Arc<App>,
    runtime: Option<Runtime>,
    replicas: replicas::Replicas,
}

/// Starts a server.
///
/// # Errors
/// [`Code::Insecure`] for an address beyond this machine without TLS; [`Code::Taken`] or [`Code::Io`] if it cannot listen or
/// open its store; [`Code::Usage`](isoform_core::Class::Usage) codes for options that contradict each other.
pub fn start(options: Options) -> Result<Server> {
    let (access, tls) = options.checked()?;
    let cannot = |what: &str, error: std::io::Error| {
        let code = if error.kind() == std::io::ErrorKind::AddrInUse { Code::Taken } else { Code::Io };
        Error::new(code).expected(what).found(error)
    };
    let runtime = Builder::new_multi_thread()
        // With one more, each request wakes the other thread in vain. What takes long has threads of its own.
        .worker_threads(1)
        .max_blocking_threads(THREADS)
        .enable_all()
        .thread_name("isoform-serve")
        .build();
    let runtime = runtime.map_err(|error| cannot("threads for the server", error))?;
    let listening = format!("to listen at {}", options.listen);
    let listener = runtime.block_on(TcpListener::bind(options.listen)).map_err(|error| cannot(&listening, error))?;
    let address = listener.local_addr().map_err(|error| cannot(&listening, error))?;
    let app = Arc::new(app(&options, access)?);
    let secure = tls.is_some();
    let routes = routes::routes(app.clone());
    runtime.spawn(listen::accept(listener, tls, app.clone(), routes));
    let replicas = replicas::Replicas::start(&app, &options)?;
    Ok(Server { address, secure, app, runtime: Some(runtime), replicas })
}

/// Copies once what the peers of these options have, and the names of their writer, to the store: a backup. Nobody is served.
///
/// # Errors
/// As [`start`], and the first error of a peer.
pub fn copy(options: &Options) -> Result<Contents> {
    let app = app(options, Access::default())?;
    let copied = unless_it_panics(|| {
        replicas::copy(&app, options)?;
        contents(&app.store)
    });
    copied.unwrap_or_else(|found| Err(panicked(found)))
}

fn app(options: &Options, access: Access) -> Result<App> {
    let store = match &options.store {
        Some(file) => Store::open(file, options.quota)?,
        None => Store::in_memory(options.quota)?,
    };
    let half = std::thread::available_parallelism().map_or(1, |count| count.get().div_ceil(2));
    Ok(App {
        store,
        access,
        metrics: metrics::Metrics::default(),
        answers: Arc::default(),
        writer: options.names_from.as_ref().map(|url| url.without_user()),
        copied: replicas::Copied::of(options),
        looks: Arc::new(Places::new(half, LOOKS)),
        comparisons: Arc::new(Places::new(half, COMPARISONS)),
        changes: Arc::new(Places::new(half, CHANGES)),
    })
}

/// How much a store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The number of formats.
    pub formats: u64,
    /// The number of names.
    pub names: u64,
}

fn contents(store: &Store) -> Result<Contents> {
    Ok(Contents { formats: store.count()?, names: store.name_count()? })
}

impl Server {
    /// How much its store has now.
    ///
    /// # Errors
    /// [`Code::Io`] if the store cannot be read.
    pub fn contents(&self) -> Result<Contents> {
        contents(&self.app.store)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, as a client is told.
    pub fn url(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.replicas.stop();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
