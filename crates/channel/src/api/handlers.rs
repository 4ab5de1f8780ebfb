//! The handlers of a node, as the threads that poll it run them, whatever their sinks are.

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
    /// Exchanged as a whole, since a handler that runs may make and drop others.
    list: Mutex<Arc<[Entry]>>,
    /// The bell of all their sinks.
    bell: Arc<Bell>,
}

#[derive(Clone)]
struct Entry {
    sink: SinkKey,
    handler: Weak<Shared>,
    thread: Arc<Thread>,
}

/// What the threads that poll have of a handler, and whoever may drop it.
pub(crate) struct Shared {
    /// Held while the function runs. `None` once the handler was dropped.
    handle: Mutex<Option<Box<dyn Handle>>>,
    /// The handler was dropped: the function is not called again.
    ended: AtomicBool,
    thread: Arc<Thread>,
}

/// The thread that runs a function; zero if none does.
#[derive(Default)]
struct Thread(AtomicUsize);

/// A sink with its function, of whatever type.
pub(crate) trait Handle: Send {
    /// Gives it a batch of what has come, unless it has `ended`, and returns how many items that were.
    fn turn(&mut self, ended: &AtomicBool) -> Result<usize>;
}

impl Handlers {
    pub(crate) fn new() -> Result<Handlers> {
        Ok(Handlers { list: Mutex::default(), bell: Arc::new(Bell::new()?) })
    }

    pub(crate) fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }

    /// Runs handlers until something has come for one, or `patience` is over.
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

    /// Runs each handler once. One that polls from within itself, or that another thread runs, is passed over.
    fn turn(&self) -> Result<usize> {
        let (mut count, mut fault) = (0, None);
        for Entry { handler, .. } in &*self.list() {
            let Some(handler) = handler.upgrade() else { continue };
            match handler.turn() {
                None => {}
                Some(Ok(events)) => count += events,
                // Those behind it have their turn nevertheless.
                Some(Err(error)) => fault = fault.or(Some(error)),
            }
        }
        fault.map_or(Ok(count), Err)
    }

    /// Whether something has come for one of them that is `such`. The list is looked at only now: while a thread waits, others
    /// may make handlers and run them.
    fn has_come(&self, state: &State, such: impl Fn(&Entry) -> bool) -> bool {
        self.list().iter().any(|entry| state.machine.has_come(entry.sink) && such(entry))
    }

    /// What came for a handler while this thread ran it, a thread that waits was told of, and left to this one.
    fn pass_on(&self, hub: &Hub) {
        if self.bell.is_awaited() && self.has_come(&hub.lock(), |_| true) {
            self.bell.wake_threads();
        }
    }

    /// Nothing has come for any of them: a program that waits for the descriptor need not look again, unless something has come
    /// since.
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

    /// Adds a handler, and forgets those that are gone.
    pub(crate) fn add(&self, sink: SinkKey, handler: &Arc<Shared>) {
        let entry = Entry { sink, handler: Arc::downgrade(handler), thread: handler.thread.clone() };
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = list.iter().filter(|entry| entry.handler.strong_count() > 0).cloned();
        *list = kept.chain([entry]).collect();
        drop(list);
        // What has come for it already, nobody knew whom it was for.
        self.bell.wake_threads();
    }
}

impl Shared {
    pub(crate) fn new(handle: impl Handle + 'static) -> Arc<Shared> {
        let handle = Mutex::new(Some(Box::new(handle) as Box<dyn Handle>));
        Arc::new(Shared { handle, ended: AtomicBool::new(false), thread: Arc::default() })
    }

    /// The handler was dropped. Waits for a call of the function that runs on another thread.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        if self.thread.0.load(Ordering::SeqCst) != this_thread() {
            let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(handle);
        }
    }

    /// Gives the function a batch of what has come. `None` if it runs: on another thread, or on this one, from within itself.
    fn turn(&self) -> Option<Result<usize>> {
        let mut handle = match self.handle.try_lock() {
            Ok(handle) => handle,
            // It has panicked before. What it makes of its next event is its own affair.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let _running = Running::new(&self.thread);
        Some(handle.as_mut().map_or(Ok(0), |handle| handle.turn(&self.ended)))
    }
}

/// A function runs on this thread.
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

/// A number that only this thread has while it lives, and is not zero: where something lies that each thread has its own of.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| ptr::from_ref(here).addr())
}
