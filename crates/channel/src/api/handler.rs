//! Handlers: sinks that pass their events to a function, on the thread that polls the node.
//!
//! [`SinkBuilder::on`](crate::SinkBuilder::on) creates them, and [`super::handlers`] runs them.

use super::event::Event;
use super::handlers::{Handle, Shared};
use super::life::{Life, Member};
use super::sink::{Counts, MemorySink, Sink};
use isoform::{Record, Result};
use isoform_channel_proto::SinkKey;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps a handler registered. When it is dropped, its sink leaves.
///
/// After it was dropped, the function is not called again, and is dropped too. So dropping waits for a call that runs
/// on another thread. Dropping it within the function does not wait, and that call is the last.
#[must_use = "when it is dropped, its sink leaves, and nothing is handled any more"]
pub struct Handler {
    life: Arc<Life>,
    sink: SinkKey,
    shared: Arc<Shared>,
}

struct Of<S, F> {
    sink: S,
    handle: F,
}

impl Handler {
    pub(crate) fn new<T: Record<Static = T> + 'static>(
        member: &Member,
        sink: Sink<T>,
        handle: impl for<'e> FnMut(Event<&'e T::Native<'e>>) + Send + 'static,
    ) -> Handler {
        Handler::add(member, sink.key(), Of { sink, handle })
    }

    pub(crate) fn of_memory(
        member: &Member,
        sink: MemorySink,
        handle: impl FnMut(Event<&[u8]>) + Send + 'static,
    ) -> Handler {
        Handler::add(member, sink.key(), Of { sink, handle })
    }

    fn add(member: &Member, sink: SinkKey, handle: impl Handle + 'static) -> Handler {
        let (life, shared) = (member.life.clone(), Shared::new(handle));
        life.handlers.add(&life.hub, sink, &shared);
        Handler { life, sink, shared }
    }

    /// The events received, taken and lost so far. Does not wait for a call of the function, and may be called within
    /// it.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.life.hub, self.sink)
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl<T: Record<Static = T> + 'static, F: for<'e> FnMut(Event<&'e T::Native<'e>>) + Send> Handle for Of<Sink<T>, F> {
    fn turn(&mut self, ended: &AtomicBool) -> Result<usize> {
        if !self.sink.look() {
            return Ok(0);
        }
        let mut count = 0;
        while !ended.load(Ordering::Relaxed) && self.sink.has_next() {
            count += 1;
            (self.handle)(self.sink.next()?);
        }
        Ok(count)
    }
}

impl<F: FnMut(Event<&[u8]>) + Send> Handle for Of<MemorySink, F> {
    fn turn(&mut self, ended: &AtomicBool) -> Result<usize> {
        if !self.sink.look() {
            return Ok(0);
        }
        let mut count = 0;
        while !ended.load(Ordering::Relaxed) && self.sink.has_next() {
            count += 1;
            (self.handle)(self.sink.next()?);
        }
        Ok(count)
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handler({:?})", self.counts())
    }
}
