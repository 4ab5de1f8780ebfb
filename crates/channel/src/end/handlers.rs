//! Runs the handlers of a node on the threads that poll it.

use crate::drive::bell::Bell;
use crate::drive::hub::Hub;
#[cfg(doc)]
use crate::drive::state::State;
use crate::drive::wait::after;
use isoform::Result;
use isoform_channel_proto::SinkKey;
use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

/// The handlers of a node.
///
/// The node's [state](State::ready) lists those that must be looked at, so that polling visits no others.
pub(crate) struct Handlers {
    all: Mutex<BTreeMap<SinkKey, Weak<Shared>>>,
    /// The bell of all of their sinks.
    bell: Arc<Bell>,
}

/// A handler, as the threads that poll and its owner share it.
pub(crate) struct Shared {
    /// Locked while the function runs. `None` after the handler was dropped.
    handle: Mutex<Option<Box<dyn Handling>>>,
    /// Whether the handler was dropped, so that the function is not called again.
    ended: AtomicBool,
    thread: Thread,
}

/// The thread that runs a function, or zero.
#[derive(Default)]
struct Thread(AtomicUsize);

/// A sink with its function, of any type.
pub(crate) trait Handling: Send {
    /// Passes it a batch of events, unless it has `ended`. Returns their number.
    fn turn(&mut self, ended: &AtomicBool) -> Result<usize>;
}

impl Handlers {
    pub(crate) fn new() -> Handlers {
        Handlers { all: Mutex::default(), bell: Bell::new() }
    }

    pub(crate) fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }

    /// Runs handlers until one has handled an event, or `patience` is over.
    pub(crate) fn poll(&self, hub: &Hub, patience: Duration) -> Result<usize> {
        let mut deadline = None;
        loop {
            let count = self.turn(hub);
            match count {
                Ok(0) => self.found_nothing(hub),
                _ => self.pass_on(hub),
            }
            let count = count?;
            if count > 0 || patience.is_zero() {
                return Ok(count);
            }
            let deadline = *deadline.get_or_insert_with(|| after(patience));
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(0);
            }
            hub.drive(&self.bell, deadline, |state| state.has_ready().then_some(()))?;
        }
    }

    /// Runs each handler that must be looked at once. One that runs already, on another thread or on this one, is not
    /// among them.
    fn turn(&self, hub: &Hub) -> Result<usize> {
        let (mut count, mut fault) = (0, None);
        let ready = hub.lock().count_ready();
        for _ in 0..ready {
            let Some(sink) = hub.lock().take_ready() else { break };
            let Some(handler) = self.get(sink) else { continue };
            let mut again = Again { hub, sink, is_due: true };
            match handler.turn() {
                None | Some(Ok(0)) => again.is_due = false,
                Some(Ok(events)) => count += events,
                // The handlers after it have their turn nevertheless.
                Some(Err(error)) => fault = fault.or(Some(error)),
            }
        }
        fault.map_or(Ok(count), Err)
    }

    fn get(&self, sink: SinkKey) -> Option<Arc<Shared>> {
        self.all().get(&sink).and_then(Weak::upgrade)
    }

    /// While this thread ran a handler, further events may have arrived for it, of which no other thread was told.
    fn pass_on(&self, hub: &Hub) {
        if self.bell.is_awaited() && hub.lock().has_ready() {
            hub.wake_threads(&self.bell);
        }
    }

    /// There are no events for any handler. So a program that waits for the descriptor need not look again until an
    /// event arrives.
    fn found_nothing(&self, hub: &Hub) {
        if self.bell.has_descriptor() {
            let state = hub.lock();
            if !state.has_ready() {
                self.bell.found_nothing();
            }
        }
    }

    /// Adds a handler.
    pub(crate) fn add(&self, hub: &Hub, sink: SinkKey, handler: &Arc<Shared>) {
        self.all().insert(sink, Arc::downgrade(handler));
        // Events may have arrived for it before any thread could know that they were its own.
        hub.lock().make_ready(sink);
        hub.wake_threads(&self.bell);
    }

    /// Removes a handler that is dropped.
    pub(crate) fn remove(&self, sink: SinkKey) {
        self.all().remove(&sink);
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<SinkKey, Weak<Shared>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes sure that a handler that has handled something is looked at again, even if its function panics: it may have
/// more events, and the protocol tells of further ones only after nothing was found.
struct Again<'h> {
    hub: &'h Hub,
    sink: SinkKey,
    is_due: bool,
}

impl Drop for Again<'_> {
    fn drop(&mut self) {
        if self.is_due {
            self.hub.lock().make_ready(self.sink);
        }
    }
}

impl Shared {
    pub(crate) fn new(handle: impl Handling + 'static) -> Arc<Shared> {
        let handle = Mutex::new(Some(Box::new(handle) as Box<dyn Handling>));
        Arc::new(Shared { handle, ended: AtomicBool::new(false), thread: Thread::default() })
    }

    /// Marks the handler as dropped. Waits for a call of the function on another thread.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        if self.thread.0.load(Ordering::SeqCst) != this_thread() {
            let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(handle);
        }
    }

    /// Passes a batch of events to the function. `None` if the function runs already, on another thread or on this one.
    fn turn(&self) -> Option<Result<usize>> {
        let mut handle = match self.handle.try_lock() {
            Ok(handle) => handle,
            // It has panicked before. It is called again nevertheless.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let _running = Running::new(&self.thread);
        Some(handle.as_mut().map_or(Ok(0), |handle| handle.turn(&self.ended)))
    }
}

/// Marks that a function runs on this thread.
struct Running<'t>(&'t Thread);

impl<'t> Running<'t> {
    fn new(thread: &'t Thread) -> Running<'t> {
        thread.0.store(this_thread(), Ordering::SeqCst);
        Running(thread)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::SeqCst);
    }
}

/// A number that only this thread has while it lives, and that is not zero: the address of a thread-local variable.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| ptr::from_ref(here).addr())
}
