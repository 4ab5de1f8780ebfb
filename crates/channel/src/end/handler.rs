//! Handlers: sinks that pass their events to a function, on the thread that polls the node.
//!
//! [`SinkBuilder::on`](crate::SinkBuilder::on) creates them, and [`super::handlers`] runs them.

use super::handlers::{Handling, Shared};
use super::sink::{Sink, counts_of};
use crate::api::life::{Life, Member};
use isoform::Result;
use isoform::form::Form;
use isoform_channel_proto::{Counts, SinkKey};
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

/// A sink and the function of its events.
struct Of<F: Form, H> {
    sink: Sink<F>,
    handle: H,
}

impl Handler {
    /// A handler that calls `handle` while the last batch of the sink has more events, to take one.
    pub(crate) fn new<F: Form<Decoder: Send> + 'static>(
        member: &Member,
        sink: Sink<F>,
        handle: impl FnMut(&mut Sink<F>) -> Result<()> + Send + 'static,
    ) -> Handler {
        let (life, key) = (member.life.clone(), sink.key());
        let shared = Shared::new(Of { sink, handle });
        life.handlers.add(&life.hub, key, &shared);
        Handler { life, sink: key, shared }
    }

    /// The events received, taken and lost so far. Does not wait for a call of the function, and may be called within
    /// it.
    pub fn counts(&self) -> Counts {
        counts_of(&self.life.hub, self.sink)
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        // In a forked process, the function may run on a thread that is not there.
        if !self.life.hub.is_inherited() {
            self.life.handlers.remove(self.sink);
            self.shared.end();
        }
    }
}

impl<F: Form<Decoder: Send>, H: FnMut(&mut Sink<F>) -> Result<()> + Send> Handling for Of<F, H> {
    fn turn(&mut self, ended: &AtomicBool) -> Result<usize> {
        if !self.sink.look() {
            return Ok(0);
        }
        let mut count = 0;
        while !ended.load(Ordering::Relaxed) && self.sink.has_next() {
            count += 1;
            (self.handle)(&mut self.sink)?;
        }
        Ok(count)
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handler({:?})", self.counts())
    }
}
