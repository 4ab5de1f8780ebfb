//! The state that every handle keeps alive: its node, and for a channel, which channel it is.

use crate::drive::hub::Hub;
use crate::drive::state::State;
use crate::end::handlers::Handlers;
use isoform_channel_proto::{ChannelKey, Query};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long dropping a node waits until its sources' last events are taken.
const PARTING: Duration = Duration::from_secs(1);

/// A node, as long as it has handles: the node itself, its channels, sources, sinks and handlers.
pub(crate) struct Life {
    pub(crate) hub: Arc<Hub>,
    pub(crate) handlers: Handlers,
    keeper: Option<JoinHandle<()>>,
}

/// A channel that a node has open, from which its sources and sinks are made.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) life: Arc<Life>,
    pub(crate) key: ChannelKey,
    /// What its sinks get of the channel, if this is derived from it.
    pub(crate) query: Option<Arc<Query>>,
    /// Whether it was derived from another handle, which is the one to leave the channel by.
    pub(crate) is_view: bool,
    /// What this node calls it, if it has given it a name.
    pub(crate) given: Option<Arc<GivenName>>,
}

/// A name of this node for what a query gives of a channel, as long as it is in use.
pub(crate) struct GivenName {
    pub(crate) life: Arc<Life>,
    pub(crate) name: String,
}

impl Drop for GivenName {
    fn drop(&mut self) {
        let hub = &self.life.hub;
        if !hub.is_inherited() {
            hub.with(|state| state.machine.forget_derived(&self.name));
        }
    }
}

impl Life {
    pub(crate) fn new(hub: Arc<Hub>, handlers: Handlers, keeper: JoinHandle<()>) -> Life {
        Life { hub, handlers, keeper: Some(keeper) }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let hub = &self.hub;
        if hub.is_inherited() {
            // It is a thread of another process.
            std::mem::forget(self.keeper.take());
            return;
        }
        // Ends that were dropped are settled, or wait in vain.
        let until = Instant::now() + PARTING;
        while Instant::now() < until && !hub.with(|state| state.is_settled(hub.now())) {
            let soon = Instant::now() + Duration::from_millis(5);
            let settled = |state: &mut State| state.is_settled(hub.now()).then_some(());
            if hub.drive(self.handlers.bell(), Some(soon.min(until)), settled).is_err() {
                break;
            }
        }
        hub.stopping.store(true, Ordering::Release);
        hub.ring_keeper();
        // A task that is woken may drop the last handle on the keeper itself, which then ends after this.
        let another = |keeper: &JoinHandle<()>| keeper.thread().id() != thread::current().id();
        if let Some(keeper) = self.keeper.take().filter(another) {
            let _ = keeper.join();
        }
    }
}
