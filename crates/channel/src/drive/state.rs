//! What stands under a node's lock: the machine, its connections, and who waits for what.

use crate::drive::bell::Bell;
use crate::drive::machine::Machine;
use crate::drive::wire::Wire;
use isoform_channel_proto::{ChannelKey, ConnId, DialKey, OpenKey, SinkKey, SourceKey, Time};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

pub(crate) struct State {
    pub(crate) machine: Machine,
    /// The connections; exchanged as a whole, so that threads keep them without the lock.
    pub(crate) wires: Arc<Vec<Arc<Wire>>>,
    pub(crate) by_id: BTreeMap<ConnId, Arc<Wire>>,
    pub(crate) sinks: BTreeMap<SinkKey, Seat>,
    pub(crate) sources: BTreeMap<SourceKey, Arc<Bell>>,
    pub(crate) opens: BTreeMap<OpenKey, Arc<Bell>>,
    /// Those that wait for a channel to change.
    pub(crate) watchers: Vec<(ChannelKey, Arc<Bell>)>,
    /// What the keeper is to dial.
    pub(crate) dials: Vec<(DialKey, String)>,
    /// Sources that were let go of, and until when the keeper waits for their events to be taken.
    pub(crate) orphans: Vec<(SourceKey, Time)>,
    /// How many connections there have been.
    pub(crate) connections: u64,
    /// A recent time: exact enough for what may be some milliseconds early or late.
    pub(crate) now: Time,
}

/// A sink, as far as the node knows its thread.
pub(crate) struct Seat {
    pub(crate) bell: Arc<Bell>,
    /// How many items of its batch it has handed out.
    pub(crate) progress: Arc<AtomicUsize>,
}

impl State {
    pub(crate) fn new(machine: Machine) -> State {
        State {
            machine,
            wires: Arc::default(),
            by_id: BTreeMap::new(),
            sinks: BTreeMap::new(),
            sources: BTreeMap::new(),
            opens: BTreeMap::new(),
            watchers: Vec::new(),
            dials: Vec::new(),
            orphans: Vec::new(),
            connections: 0,
            now: Time::ZERO,
        }
    }

    /// Forgets sources that were let go of, once all their events are taken or their time is over.
    pub(crate) fn let_go(&mut self, now: Time) {
        let machine = &mut self.machine;
        self.orphans.retain(|&(source, until)| {
            let waits = !machine.is_settled(source) && now < until;
            if !waits {
                machine.drop_source(source);
            }
            waits
        });
    }

    /// Whether every source that was let go of is settled.
    pub(crate) fn is_settled(&self) -> bool {
        self.orphans.iter().all(|&(source, _)| self.machine.is_settled(source))
    }

    /// Forgets a connection.
    pub(crate) fn remove(&mut self, id: ConnId) -> Option<Arc<Wire>> {
        let wire = self.by_id.remove(&id)?;
        self.changed_wires();
        Some(wire)
    }

    /// Makes the list of connections anew.
    pub(crate) fn changed_wires(&mut self) {
        let mut wires: Vec<Arc<Wire>> = self.by_id.values().cloned().collect();
        wires.sort_by_key(|wire| wire.id);
        self.wires = Arc::new(wires);
    }
}
