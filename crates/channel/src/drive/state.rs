//! What stands under a node's lock: the machine, its connections, and who waits for what.

use super::hub::{Effect, Effects};
use crate::drive::bell::Bell;
use crate::drive::machine::Machine;
use crate::drive::wire::Wire;
use isoform_channel_proto::{ChannelKey, ConnId, DialKey, OpenKey, SinkKey, SourceKey, Time};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

pub(crate) struct State {
    pub(crate) machine: Machine,
    /// The connections.
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
    /// Those that have something to write, for the keeper. One that was written since does not matter.
    pub(super) gathering: Vec<Arc<Wire>>,
    /// The keeper looks every now and then for what has gathered.
    pub(super) is_gathering: bool,
    /// Somebody is at a listener, or an attempt to connect is done: for the keeper.
    pub(super) knocked: bool,
    /// When something last came or went over a connection.
    pub(super) busy: Time,
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
            by_id: BTreeMap::new(),
            sinks: BTreeMap::new(),
            sources: BTreeMap::new(),
            opens: BTreeMap::new(),
            watchers: Vec::new(),
            dials: Vec::new(),
            orphans: Vec::new(),
            gathering: Vec::new(),
            is_gathering: false,
            knocked: false,
            busy: Time::ZERO,
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

    /// The connection, if there is one only.
    pub(super) fn only_wire(&self) -> Option<&Arc<Wire>> {
        self.by_id.values().next().filter(|_| self.by_id.len() == 1)
    }

    /// The keeper looks every now and then for what has gathered; it is told if it does not.
    pub(super) fn let_keeper_gather(&mut self, effects: &mut Effects) {
        if !std::mem::replace(&mut self.is_gathering, true) {
            effects.push(Effect::RingKeeper);
        }
    }
}
