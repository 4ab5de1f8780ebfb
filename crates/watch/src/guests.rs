//! Connections that have not shown the key. Their number and their time are limited, so that no program of this machine keeps
//! others out: when there are too many, or when there are no descriptors left, one gives way. This is the oldest that has asked nothing for a
//! while, or else the oldest: a browser needs a moment until it asks, also if all others have asked.

use crate::server::Shared;
use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// The most connections that ask for files at a time.
const CONNECTIONS: usize = 128;
/// How long a connection may take for the lines of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection lasts. A browser that goes on opens another one.
const LIFE: Duration = Duration::from_secs(60);

/// How long a connection may ask nothing before it gives way to others that have asked.
const GRACE: Duration = Duration::from_millis(if cfg!(test) { 5_000 } else { 100 });

/// Whether a connection has asked for something.
pub(crate) type Asked = Arc<AtomicBool>;

/// Tasks of which one ends when there are too many.
#[derive(Debug)]
pub(crate) struct Guests {
    most: usize,
    tasks: Mutex<VecDeque<Guest>>,
}

#[derive(Debug)]
struct Guest {
    task: AbortHandle,
    asked: Asked,
    since: Instant,
}

impl Guest {
    fn is_silent(&self) -> bool {
        !self.asked.load(Ordering::Relaxed) && self.since.elapsed() > GRACE
    }
}

impl Guests {
    pub(crate) fn new(most: usize) -> Guests {
        Guests { most, tasks: Mutex::default() }
    }

    pub(crate) fn enter(&self, task: AbortHandle, asked: Asked) {
        while self.count() >= self.most && self.give_way() {}
        self.lock().push_back(Guest { task, asked, since: Instant::now() });
    }

    fn count(&self) -> usize {
        let mut tasks = self.lock();
        tasks.retain(|guest| !guest.task.is_finished());
        tasks.len()
    }

    /// Ends one. Returns whether there was one.
    fn give_way(&self) -> bool {
        let mut tasks = self.lock();
        let silent = tasks.iter().position(Guest::is_silent);
        let gone = tasks.remove(silent.unwrap_or(0));
        gone.is_some_and(|Guest { task, .. }| {
            let is_there = !task.is_finished();
            task.abort();
            is_there
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Guest>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many connections there may be of each kind: a quarter of the descriptors that the process may open, which leaves the rest for
/// pages, links and files.
pub(crate) fn room() -> usize {
    #[cfg(unix)]
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let most = None;
    let quarter = most.and_then(|most| usize::try_from(most / 4).ok());
    quarter.unwrap_or(CONNECTIONS).clamp(1, CONNECTIONS)
}

/// Answers connections until the task is dropped.
pub(crate) async fn accept(listener: TcpListener, shared: Arc<Shared>, router: Router, room: usize) {
    let guests = Guests::new(room);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let asked = Asked::default();
                let task = tokio::spawn(answer(stream, router.clone(), asked.clone()));
                guests.enter(task.abort_handle(), asked);
            }
            // Most often there are no descriptors left. One that gives way leaves one, as soon as its task has ended.
            Err(_) => {
                let pause = if guests.give_way() || shared.strangers.give_way() { 1 } else { 50 };
                sleep(Duration::from_millis(pause)).await;
            }
        }
    }
}

/// Answers requests of one connection. It ends here when it becomes a WebSocket, which goes on elsewhere.
async fn answer(stream: TcpStream, router: Router, asked: Asked) {
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        asked.store(true, Ordering::Relaxed);
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(64 << 10)
        .max_headers(64)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let _ = timeout(LIFE, connection).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets some in, each with whether it has asked. Returns their tasks and what says that they have asked.
    fn enter(guests: &Guests, asked: &[bool]) -> Vec<(tokio::task::JoinHandle<()>, Asked)> {
        let enter = |asked: &bool| {
            let (task, asked) = (tokio::spawn(std::future::pending()), Asked::new(AtomicBool::new(*asked)));
            guests.enter(task.abort_handle(), asked.clone());
            (task, asked)
        };
        asked.iter().map(enter).collect()
    }

    #[test]
    fn a_fresh_connection_does_not_give_way_to_those_that_have_asked() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let _guard = runtime.enter();
        let guests = Guests::new(4);
        let mut others = enter(&guests, &[true; 3]);
        let (browser, _asked) = enter(&guests, &[false]).remove(0);
        others.extend(enter(&guests, &[true; 2]));
        let ends = |task: tokio::task::JoinHandle<()>| runtime.block_on(task).unwrap_err().is_cancelled();
        assert!(ends(others.remove(0).0) && ends(others.remove(0).0), "the oldest give way");
        assert!(!browser.is_finished());
        // One that goes on asking nothing gives way before those that have asked.
        guests.lock().iter_mut().for_each(|guest| guest.since -= GRACE * 2);
        others.extend(enter(&guests, &[true]));
        assert!(ends(browser));
        assert!(others.iter().all(|(task, _)| !task.is_finished()));
    }
}
