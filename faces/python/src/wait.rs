//! Waits without the GIL. Ctrl-C ends the wait.

use crate::error::raise;
use isoform::{Code, Error, Result};
use isoform_dynamic::wait::{in_turns, seconds, unless_late};
use pyo3::prelude::*;
use std::ops::Deref;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// The interval at which signals are checked.
pub(crate) const TURN: Duration = Duration::from_millis(50);

/// Calls `turn` again and again, each time with a limit, until it returns a value. Returns `None` when `timeout` (in
/// seconds) is over.
pub(crate) fn wait<R: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    mut turn: impl FnMut(Duration) -> Result<Option<R>> + Send,
) -> PyResult<Option<R>> {
    let patience = timeout.map(patience).transpose()?;
    let turn = |longest| py.detach(|| turn(longest)).map_err(raise);
    in_turns(patience, TURN, turn, || py.check_signals().map(|()| true))
}

/// A time in seconds, as Python states it.
pub(crate) fn patience(count: f64) -> PyResult<Duration> {
    seconds(count).map_err(raise)
}

/// The same again and again while it is only too early, as sources have it that wait for room.
pub(crate) fn retry<R: Send>(py: Python<'_>, mut turn: impl FnMut() -> Result<R> + Send) -> PyResult<R> {
    loop {
        match unless_late(py.detach(&mut turn)).map_err(raise)? {
            Some(done) => return Ok(done),
            None => py.check_signals()?,
        }
    }
}

/// Runs something that cannot wait in turns on a thread of its own. If Ctrl-C ends the wait, it runs to its end
/// nevertheless, and its result is lost.
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

/// A value whose drop may wait, such as the last handle of a node, which waits until events are taken. It is dropped
/// without the GIL.
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
        // If Python has ended, the value is dropped after this line.
        Python::try_attach(|py| py.detach(|| drop(held.take())));
    }
}
