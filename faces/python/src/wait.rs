//! Waiting, as Python wants it: other threads go on, and Ctrl-C ends it.

use crate::error::raise;
use isoform::{Code, Error, Result};
use pyo3::prelude::*;
use std::ops::Deref;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// After so long it is looked after signals.
pub(crate) const TURN: Duration = Duration::from_millis(50);

/// Has `turn` wait again and again, each time no longer than it is told, until it has something, or `timeout` (in seconds) is
/// over: then there is nothing.
pub(crate) fn wait<R: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    mut turn: impl FnMut(Duration) -> Result<Option<R>> + Send,
) -> PyResult<Option<R>> {
    let end = timeout.map(patience).transpose()?.and_then(|patience| Instant::now().checked_add(patience));
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let found = py.detach(|| turn(left.map_or(TURN, |left| left.min(TURN)))).map_err(raise)?;
        if found.is_some() || left.is_some_and(|left| left <= TURN) {
            return Ok(found);
        }
        py.check_signals()?;
    }
}

/// Seconds as Python has them.
pub(crate) fn patience(seconds: f64) -> PyResult<Duration> {
    let wrong = || raise(Error::new(Code::WrongType).at("timeout").expected("seconds, not negative").came(seconds));
    if seconds == f64::INFINITY {
        return Ok(Duration::MAX);
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// The same again and again while it is only too early, as sources have it that wait for room.
pub(crate) fn retry<R: Send>(py: Python<'_>, mut turn: impl FnMut() -> Result<R> + Send) -> PyResult<R> {
    loop {
        match py.detach(&mut turn) {
            Err(error) if error.code() == Code::Deadline => py.check_signals()?,
            done => return done.map_err(raise),
        }
    }
}

/// Has something done that cannot be waited for in turns, by a thread of its own. If Ctrl-C ends the waiting, it is done all the
/// same, and nobody asks what came of it.
pub(crate) fn aside<R: Send + 'static>(
    py: Python<'_>,
    act: impl FnOnce() -> Result<R> + Send + 'static,
) -> PyResult<R> {
    let (tell, mut told) = sync_channel(1);
    let work = move || _ = tell.send(act()); // unless nobody waits any longer
    thread::Builder::new().name("isoform wait".into()).spawn(work)?;
    loop {
        let turn = &mut told;
        match py.detach(move || turn.recv_timeout(TURN)) {
            Ok(done) => return done.map_err(raise),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Err(raise(Error::new(Code::Internal).at("waiting"))),
        }
    }
}

/// What may wait when it is dropped, as the last handle of a node does until events were taken: other threads go on meanwhile.
pub(crate) struct Unhurried<T: Send>(Option<T>);

impl<T: Send> Unhurried<T> {
    pub(crate) fn new(held: T) -> Unhurried<T> {
        Unhurried(Some(held))
    }
}

impl<T: Send> Deref for Unhurried<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().unwrap_or_else(|| unreachable!("it is there until it is dropped"))
    }
}

impl<T: Send> Drop for Unhurried<T> {
    fn drop(&mut self) {
        let mut held = self.0.take();
        // Where there is no Python any more, it is dropped behind this.
        Python::try_attach(|py| py.detach(|| drop(held.take())));
    }
}
