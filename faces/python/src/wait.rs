//! Waits without the GIL. Ctrl-C ends the wait.

use crate::error::raise;
use isoform::{Code, Error, Result};
use isoform_dynamic::wait::{in_turns, seconds, unless_late};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
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

/// The number of forks by which this process came from the one that imported the package first.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// This process was forked just now.
#[pyfunction]
pub(crate) fn _forked() {
    FORKS.fetch_add(1, Relaxed);
}

/// A node, or a part of one. Its drop may wait, as that of the last handle of a node, which waits
/// until events are taken. So it is dropped without the GIL.
///
/// It belongs to the process that made it. A forked process has the connections of its parent, but
/// not the threads that read them: what it sends has the parent's numbers, and breaks the link.
pub(crate) struct Unhurried<T: Send> {
    held: Option<T>,
    /// [`FORKS`] in the process that made it.
    forks: u32,
}

impl<T: Send> Unhurried<T> {
    pub(crate) fn new(held: T) -> Unhurried<T> {
        Unhurried { held: Some(held), forks: FORKS.load(Relaxed) }
    }

    /// The value, unless another process made it. `what` is its name in the error.
    pub(crate) fn checked(&self, what: &str) -> Result<&T> {
        if !self.is_inherited() {
            return Ok(self.unchecked());
        }
        let expected = "a node of this process, as isoform.open and isoform.create make one after a fork";
        Err(Error::new(Code::WrongType).at(what).expected(expected).found("one that its parent made before the fork"))
    }

    /// The value also in another process, where a program may ask for its name, and no more.
    pub(crate) fn unchecked(&self) -> &T {
        self.held.as_ref().unwrap_or_else(|| unreachable!("it is there until it is dropped"))
    }

    /// Whether another process made it, from which this one was forked.
    pub(crate) fn is_inherited(&self) -> bool {
        self.forks != FORKS.load(Relaxed)
    }
}

impl<T: Send> Drop for Unhurried<T> {
    fn drop(&mut self) {
        let mut held = self.held.take();
        // If Python has ended, the value is dropped after this line.
        Python::try_attach(|py| py.detach(|| drop(held.take())));
    }
}
