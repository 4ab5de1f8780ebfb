//! The state under a node's lock: the machine, its connections, and its waiters.

use super::hub::{Effect, Effects};
use crate::drive::bell::Bell;
use crate::drive::machine::Machine;
use crate::drive::places::Places;
use crate::drive::wire::Wire;
use crate::transport::address::Address;
use isoform_channel_proto::{ChannelKey, ConnId, DialKey, OpenKey, SinkKey, SourceKey, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

pub(crate) struct State {
    pub(crate) machine: Machine,
    /// The connections.
    pub(crate) by_id: BTreeMap<ConnId, Arc<Wire>>,
    pub(crate) sinks: BTreeMap<SinkKey, Seat>,
    /// The sinks of handlers that must be looked at: something may have arrived for them. A thread that polls removes
    /// one, runs its handler, and adds it again unless nothing had arrived.
    ready: VecDeque<SinkKey>,
    pub(crate) sources: BTreeMap<SourceKey, Arc<Bell>>,
    pub(crate) opens: BTreeMap<OpenKey, Arc<Bell>>,
    /// The bells that wait for changes of a channel.
    pub(crate) watchers: Vec<(ChannelKey, Arc<Bell>)>,
    /// Addresses for the keeper to dial.
    pub(crate) dials: Vec<(DialKey, String)>,
    /// Dropped sources, and the time until which the keeper waits for their events to be taken.
    pub(crate) orphans: Vec<(SourceKey, Time)>,
    /// The addresses that this node tells others.
    pub(crate) places: Places,
    /// The number of connections so far.
    pub(crate) connections: u64,
    /// Connections with gathered output, for the keeper. Some may have been written since.
    pub(super) gathering: Vec<Arc<Wire>>,
    /// Whether the keeper looks for gathered output now and then.
    pub(super) is_gathering: bool,
    /// Whether the keeper should look at the doors: a listener has a connection, or an attempt to connect has ended.
    pub(super) knocked: bool,
    /// The time of the last input or output.
    pub(super) busy: Time,
    /// A recent time, which may be some milliseconds old.
    pub(crate) now: Time,
    stamps: Stamps,
}

/// The time of an event, for whoever asks.
pub(crate) struct Clock<'s> {
    stamps: &'s mut Stamps,
    now: &'s mut Time,
    gathers: bool,
    /// The time, if somebody has asked.
    pub(crate) looked: Option<Time>,
}

/// The times of events.
#[derive(Default)]
struct Stamps {
    /// The time at which a source's event was last submitted with a look at the clock.
    last: Time,
    /// The number of events that may have that time as well, and how many of them there were not yet.
    granted: u32,
    unstamped: u32,
}

/// A sink, with what the node knows about its thread.
pub(crate) struct Seat {
    pub(crate) bell: Arc<Bell>,
    /// The number of items of its batch that the thread has used.
    pub(crate) progress: Arc<AtomicUsize>,
    /// Whether it has a handler.
    is_handled: bool,
    /// Whether it is in the list of those that must be looked at, once.
    is_ready: bool,
}

/// Events that are submitted within this time may have the same time.
const SUCCESSION: Time = Time::from_micros(2);
/// At most this many events have the time of the one before them.
const EVENTS: u32 = 31;

impl Seat {
    pub(crate) fn new(bell: Arc<Bell>, progress: Arc<AtomicUsize>, is_handled: bool) -> Seat {
        Seat { bell, progress, is_handled, is_ready: false }
    }
}

impl State {
    pub(crate) fn new(machine: Machine) -> State {
        State {
            machine,
            by_id: BTreeMap::new(),
            sinks: BTreeMap::new(),
            ready: VecDeque::new(),
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
            places: Places::default(),
            now: Time::ZERO,
            stamps: Stamps::default(),
        }
    }

    /// Forgets dropped sources when all their events are taken or their time is over.
    pub(crate) fn let_go(&mut self, now: Time) {
        let machine = &mut self.machine;
        self.orphans.retain(|&(source, until)| {
            let waits = !machine.is_settled(now, source) && now < until;
            if !waits {
                machine.drop_source(source);
            }
            waits
        });
    }

    /// The machine, and the time of an event that is submitted to it now.
    #[inline]
    pub(crate) fn clocked(&mut self) -> (&mut Machine, Clock<'_>) {
        let State { machine, gathering, stamps, now, .. } = self;
        (machine, Clock { gathers: !gathering.is_empty(), stamps, now, looked: None })
    }

    /// The time of events that are submitted together, with a look at the clock.
    pub(crate) fn time_of_run(&mut self, now: Time) -> Time {
        (self.now, self.stamps) = (now, Stamps { last: now, ..Stamps::default() });
        now
    }

    /// A handler must be looked at.
    pub(crate) fn make_ready(&mut self, sink: SinkKey) {
        if let Some(seat) = self.sinks.get_mut(&sink).filter(|seat| seat.is_handled && !seat.is_ready) {
            seat.is_ready = true;
            self.ready.push_back(sink);
        }
    }

    /// The number of handlers that must be looked at.
    pub(crate) fn count_ready(&self) -> usize {
        self.ready.len()
    }

    /// Removes the first handler that must be looked at.
    pub(crate) fn take_ready(&mut self) -> Option<SinkKey> {
        let sink = self.ready.pop_front()?;
        if let Some(seat) = self.sinks.get_mut(&sink) {
            seat.is_ready = false;
        }
        Some(sink)
    }

    /// Whether something has arrived for a handler that no thread runs.
    pub(crate) fn has_ready(&self) -> bool {
        self.ready.iter().any(|&sink| self.machine.has_come(sink))
    }

    /// Others are told where to reach this node, from the next connection on.
    pub(crate) fn tell_places(&mut self) {
        self.machine.set_addresses(self.places.addresses().iter().map(Address::to_string).collect());
    }

    /// Whether all dropped sources are settled.
    pub(crate) fn is_settled(&self, now: Time) -> bool {
        self.orphans.iter().all(|&(source, _)| self.machine.is_settled(now, source))
    }

    /// The connection, if there is exactly one.
    pub(super) fn only_wire(&self) -> Option<&Arc<Wire>> {
        self.by_id.values().next().filter(|_| self.by_id.len() == 1)
    }

    /// Makes sure that the keeper looks for gathered output.
    pub(super) fn let_keeper_gather(&mut self, effects: &mut Effects) {
        if !std::mem::replace(&mut self.is_gathering, true) {
            effects.push(Effect::RingKeeper);
        }
    }
}

impl Clock<'_> {
    /// The time of the event. A look at the clock takes a quarter of what a small event costs. So sources that submit events in
    /// quick succession, which gather for the keeper, look at it once for several events: for twice as many as before, if that
    /// should not take longer than [`SUCCESSION`] either.
    #[inline]
    pub(crate) fn time(&mut self, clock: impl FnOnce() -> Time) -> Time {
        let Stamps { last, granted, unstamped } = &mut *self.stamps;
        if *unstamped > 0 && self.gathers {
            *unstamped -= 1;
        } else {
            let now = clock();
            *granted = grant(*granted - *unstamped + 1, now.saturating_sub(*last));
            (*self.now, *last, *unstamped) = (now, now, *granted);
        }
        *self.looked.insert(*last)
    }
}

/// How many of the next events may have the same time, if the last ones, this many, took so long.
fn grant(events: u32, took: Time) -> u32 {
    match took {
        _ if took >= SUCCESSION => 0,
        _ if took >= SUCCESSION / 2 => events - 1,
        _ => (2 * events).min(EVENTS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_the_same_time_only_as_long_as_they_take_less_than_a_succession() {
        for (pace, most) in [(10, 31), (60, 30), (100, 14), (400, 2), (1_900, 0), (3_000, 0)] {
            let (pace, mut granted) = (Time::from_nanos(pace), 0);
            for _ in 0..10 {
                let took = pace * (granted + 1);
                granted = grant(granted + 1, took);
                assert!(granted == 0 || pace * granted < SUCCESSION, "{granted} at {pace:?}");
            }
            assert_eq!(granted, most, "at {pace:?}");
        }
    }
}
