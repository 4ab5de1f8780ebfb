//! Connections that have not shown the key. Their number and their time are limited, so that no program of this machine keeps
//! others out: when there are too many, the oldest gives way.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// The most connections that ask for files at a time.
const CONNECTIONS: usize = 128;
/// How long a connection may take for the lines of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection lasts. A browser that goes on opens another one.
const LIFE: Duration = Duration::from_secs(60);

/// Tasks of which the oldest ends when there are too many.
#[derive(Debug)]
pub(crate) struct Guests {
    most: usize,
    tasks: Mutex<VecDeque<AbortHandle>>,
}

impl Guests {
    pub(crate) fn new(most: usize) -> Guests {
        Guests { most, tasks: Mutex::default() }
    }

    pub(crate) fn enter(&self, task: AbortHandle) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|known| !known.is_finished());
        if tasks.len() == self.most
            && let Some(oldest) = tasks.pop_front()
        {
            oldest.abort();
        }
        tasks.push_back(task);
    }
}

/// Answers connections until the task is dropped.
pub(crate) async fn accept(listener: TcpListener, router: Router) {
    let guests = Guests::new(CONNECTIONS);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => guests.enter(tokio::spawn(answer(stream, router.clone())).abort_handle()),
            // Most often there are no descriptors left. Some come back as connections end.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Answers requests of one connection. It ends here when it becomes a WebSocket, which goes on elsewhere.
async fn answer(stream: TcpStream, router: Router) {
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(64 << 10)
        .max_headers(64)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    let _ = timeout(LIFE, connection).await;
}
