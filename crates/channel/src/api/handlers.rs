//! Runs the handlers of a node on the threads that poll it.

use crate::drive::bell::Bell;
use crate::drive::hub::Hub;
use crate::drive::state::State;
use crate::drive::wait::after;
use isoform::Result;
use isoform_channel_proto::SinkKey;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

/// The handlers of a node.
pub(crate) struct Handlers {
    /// Replaced as a whole, since a running handler may create and drop others.
    list: Mutex<Arc<[Entry]>>,
    /// The bell of all of their sinks.
    bell: Arc<Bell>,
}

#[derive(Clone)]
struct Entry {
    sink: SinkKey,
    handler: Weak<Shared>,
    thread: Arc<Thread>,
}

/// A handler, as the threads that poll and its owner share it.
pub(crate) struct Shared {
    /// Locked while the function runs. `None` after the handler was dropped.
    handle: Mutex<Option<Box<dyn Handling>>>,
    /// Whether the handler was dropped, so that the function is not called again.
    ended: AtomicBool,
    thread: Arc<Thread>,
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
        Handlers { list: Mutex::default(), bell: Bell::new() }
    }

    pub(crate) fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }

    /// Runs handlers until one has handled an event, or `patience` is over.
    pub(crate) fn poll(&self, hub: &Hub, patience: Duration) -> Result<usize> {
        let mut deadline = None;
        loop {
            let count = self.turn();
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
            let idle = |entry: &Entry| !entry.thread.is_running();
            hub.drive(&self.bell, deadline, |state| self.has_come(state, idle).then_some(()))?;
        }
    }

    /// Runs each handler once, except one that runs already, on another thread or on this one.
    fn turn(&self) -> Result<usize> {
        let (mut count, mut fault) = (0, None);
        for Entry { handler, .. } in &*self.list() {
            let Some(handler) = handler.upgrade() else { continue };
            match handler.turn() {
                None => {}
                Some(Ok(events)) => count += events,
                // The handlers after it have their turn nevertheless.
                Some(Err(error)) => fault = fault.or(Some(error)),
            }
        }
        fault.map_or(Ok(count), Err)
    }

    /// Whether there are events for a handler that fulfils `such`. This reads the list each time, since other threads
    /// may create handlers while this one waits.
    fn has_come(&self, state: &State, such: impl Fn(&Entry) -> bool) -> bool {
        self.list().iter().any(|entry| state.machine.has_come(entry.sink) && such(entry))
    }

    /// While this thread ran a handler, another thread that waits may have been told of an event for it, and left it to
    /// this one.
    fn pass_on(&self, hub: &Hub) {
        if self.bell.is_awaited() && self.has_come(&hub.lock(), |_| true) {
            hub.wake_threads(&self.bell);
        }
    }

    /// There are no events for any handler. So a program that waits for the descriptor need not look again until an
    /// event arrives.
    fn found_nothing(&self, hub: &Hub) {
        hub.with(|state| {
            if !self.has_come(state, |_| true) {
                self.bell.found_nothing();
            }
        });
    }

    fn list(&self) -> Arc<[Entry]> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a handler, and removes those that were dropped.
    pub(crate) fn add(&self, hub: &Hub, sink: SinkKey, handler: &Arc<Shared>) {
        let entry = Entry { sink, handler: Arc::downgrade(handler), thread: handler.thread.clone() };
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = list.iter().filter(|entry| entry.handler.strong_count() > 0).cloned();
        *list = kept.chain([entry]).collect();
        drop(list);
        // Events may have arrived for it before anyone could know that they were its own.
        hub.wake_threads(&self.bell);
    }
}

impl Shared {
    pub(crate) fn new(handle: impl Handling + 'static) -> Arc<Shared> {
        let handle = Mutex::new(Some(Box::new(handle) as Box<dyn Handling>));
        Arc::new(Shared { handle, ended: AtomicBool::new(false), thread: Arc::default() })
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

impl Thread {
    fn is_running(&self) -> bool {
        self.0.load(Ordering::SeqCst) != 0
    }
}

/// A number that only this thread has while it lives, and that is not zero: the address of a thread-local variable.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| ptr::from_ref(here).addr())
}
