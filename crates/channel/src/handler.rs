//! Handlers: sinks whose events are given to a function, on the thread that polls the node (004 §2.1).

use crate::Event;
use crate::bell::Bell;
use crate::channel::Channel;
use crate::drive::after;
use crate::hub::Hub;
use crate::options::SinkOptions;
use crate::sink::{Counts, MemorySink, Sink};
use isoform::{Format, Record, Result, Rules};
use isoform_channel_proto::SinkKey;
use std::fmt;
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
    handler: Weak<Mutex<dyn Handle>>,
}

/// A sink with its function, of whatever type.
trait Handle: Send {
    /// Gives it a batch of what has come, and returns how many items that were.
    fn turn(&mut self) -> Result<usize>;

    fn counts(&self) -> Counts;
}

/// Keeps a handler going: when it is dropped, its sink leaves.
#[must_use = "when it is dropped, its sink leaves, and nothing is handled any more"]
pub struct Handler(Arc<Mutex<dyn Handle>>);

struct Of<S, F> {
    sink: S,
    handle: F,
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
            let (count, busy) = self.turn();
            if matches!(count, Ok(0)) && busy.is_empty() {
                self.found_nothing(hub);
            }
            let count = count?;
            if count > 0 || patience.is_zero() {
                return Ok(count);
            }
            let deadline = *deadline.get_or_insert_with(|| after(patience));
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(0);
            }
            let list = self.list();
            hub.drive(&self.bell, deadline, |state| {
                let idle = list.iter().filter(|entry| !busy.contains(&entry.sink));
                idle.clone().any(|entry| state.machine.has_come(entry.sink)).then_some(())
            })?;
        }
    }

    /// Runs each handler once. Also returns those that could not be run: one that polls from within itself, or that another
    /// thread runs, is passed over.
    fn turn(&self) -> (Result<usize>, Vec<SinkKey>) {
        let (mut count, mut fault, mut busy) = (0, None, Vec::new());
        for Entry { sink, handler } in &*self.list() {
            let Some(handler) = handler.upgrade() else { continue };
            let turn = match handler.try_lock() {
                Ok(mut handler) => handler.turn(),
                // It has panicked before. What it makes of its next event is its own affair.
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().turn(),
                Err(TryLockError::WouldBlock) => {
                    busy.push(*sink);
                    continue;
                }
            };
            match turn {
                Ok(events) => count += events,
                // Those behind it have their turn nevertheless.
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        (fault.map_or(Ok(count), Err), busy)
    }

    /// Nothing has come for any of them: a program that waits for the descriptor need not look again, unless something has come
    /// since.
    fn found_nothing(&self, hub: &Hub) {
        let list = self.list();
        hub.with(|state| {
            if !list.iter().any(|entry| state.machine.has_come(entry.sink)) {
                self.bell.found_nothing();
            }
        });
    }

    fn list(&self) -> Arc<[Entry]> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a handler, and forgets those that are gone.
    fn add(&self, sink: SinkKey, handler: Weak<Mutex<dyn Handle>>) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = list.iter().filter(|entry| entry.handler.strong_count() > 0).cloned();
        *list = kept.chain([Entry { sink, handler }]).collect();
    }
}

impl Handler {
    pub(crate) fn new<T: Record<Kind = T> + 'static>(
        channel: &Channel,
        options: SinkOptions,
        handle: impl for<'e> FnMut(Event<&'e T::Native<'e>>) + Send + 'static,
    ) -> Result<Handler> {
        let handlers = &channel.life().handlers;
        let sink = Sink::<T>::new(channel, options, handlers.bell.clone())?;
        Ok(Handler::add(handlers, sink.key(), Of { sink, handle }))
    }

    pub(crate) fn of_memory(
        channel: &Channel,
        format: &Format,
        rules: Rules,
        options: SinkOptions,
        handle: impl FnMut(Event<&[u8]>) + Send + 'static,
    ) -> Result<Handler> {
        let handlers = &channel.life().handlers;
        let sink = MemorySink::new(channel, format, rules, options, handlers.bell.clone())?;
        Ok(Handler::add(handlers, sink.key(), Of { sink, handle }))
    }

    fn add(handlers: &Handlers, key: SinkKey, handle: impl Handle + 'static) -> Handler {
        let handler: Arc<Mutex<dyn Handle>> = Arc::new(Mutex::new(handle));
        handlers.add(key, Arc::downgrade(&handler));
        Handler(handler)
    }

    /// What has come and gone so far.
    pub fn counts(&self) -> Counts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).counts()
    }
}

impl<T: Record<Kind = T> + 'static, F: for<'e> FnMut(Event<&'e T::Native<'e>>) + Send> Handle for Of<Sink<T>, F> {
    fn turn(&mut self) -> Result<usize> {
        if !self.sink.look() {
            return Ok(0);
        }
        let mut count = 0;
        while self.sink.has_next() {
            count += 1;
            (self.handle)(self.sink.next()?);
        }
        Ok(count)
    }

    fn counts(&self) -> Counts {
        self.sink.counts()
    }
}

impl<F: FnMut(Event<&[u8]>) + Send> Handle for Of<MemorySink, F> {
    fn turn(&mut self) -> Result<usize> {
        if !self.sink.look() {
            return Ok(0);
        }
        let mut count = 0;
        while self.sink.has_next() {
            count += 1;
            (self.handle)(self.sink.next()?);
        }
        Ok(count)
    }

    fn counts(&self) -> Counts {
        self.sink.counts()
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handler({:?})", self.counts())
    }
}
