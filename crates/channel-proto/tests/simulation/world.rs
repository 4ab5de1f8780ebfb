//! The world that processes live in: its clock, its network, and what happens in it, one thing after another.

use crate::oracle::Oracle;
use crate::process::Process;
use crate::rules::Table;
use crate::wire::Wire;
use crate::{Time, formats};
use isoform_channel_proto::{
    Access, Admission, ConnId, Count, Credentials, DialKey, Key, NodeId, Resource, Settings, SharedKey, SinkKey,
    SourceKey,
};
use isoform_core::{Code, Error, Format};
use isoform_testing::mutate::Random;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// How many events a source keeps for a sink that it does not wait for.
pub(crate) const SLOW: u64 = 4;

pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) now: Time,
    pub(crate) slots: Vec<Slot>,
    pub(crate) wires: BTreeMap<u64, Wire>,
    pub(crate) oracle: Oracle,
    pub(crate) formats: Vec<Format>,
    pub(crate) clock: Clock,
    pub(crate) tally: Tally,
    /// How the nodes of this world are made.
    pub(crate) settings: Settings,
    pub(crate) counted: Counted,
    /// The slots of all nodes that there are or were.
    pub(crate) homes: HashMap<NodeId, usize>,
    /// The rules of the processes, in some worlds.
    pub(crate) rules: Option<Table>,
    /// Whether dials may fail.
    pub(crate) is_rough: bool,
    happenings: BinaryHeap<Reverse<(Time, u64, Happening)>>,
    serial: u64,
}

/// An address, and the process that listens there, if there is one.
pub(crate) struct Slot {
    pub(crate) process: Option<Process>,
    pub(crate) incarnations: u32,
    /// Nobody gets through to it for a while.
    pub(crate) is_shut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Happening {
    /// Something arrives at an end of a wire.
    Arrive { wire: u64, end: usize },
    /// There may be room again for what an end has to write.
    Writable { wire: u64, end: usize },
    /// A dial reaches its address, or does not.
    Dialed { slot: usize, incarnation: u32, dial: DialKey, to: usize },
    /// A dial is given up.
    Failed { slot: usize, incarnation: u32, dial: DialKey },
    /// A process accepts a connection.
    Accept { wire: u64 },
    /// A node's deadline.
    Tick { slot: usize, incarnation: u32 },
    /// An application looks at a sink.
    Take { slot: usize, incarnation: u32, key: SinkKey },
    /// An application goes on with a source.
    Submit { slot: usize, incarnation: u32, key: SourceKey },
    /// A process that was stopped goes on.
    Continue { slot: usize },
    /// An address can be reached again.
    Open { slot: usize },
}

/// Times of events: each another, and not always later.
#[derive(Default)]
pub(crate) struct Clock(u64);

impl Clock {
    pub(crate) fn next(&mut self, random: &mut Random) -> u64 {
        self.0 += 1;
        let era = if random.one_in(10) { random.below(4) } else { 0 };
        self.0 + [0, 1 << 31, 1 << 33, 1 << 50][era]
    }
}

/// What there was of everything.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) submitted: u64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) superseded: u64,
    pub(crate) heads: u64,
    pub(crate) declined: u64,
    pub(crate) results: u64,
    pub(crate) thinned: u64,
    pub(crate) given: u64,
    pub(crate) projected: u64,
    /// How often nodes began to owe sinks events that their queries had let pass.
    pub(crate) owed: u64,
    pub(crate) connections: u64,
    pub(crate) cuts: u64,
    pub(crate) deaths: u64,
    pub(crate) failed_opens: u64,
    /// New rules of running processes, subscriptions that they ended, frames to whom something is hidden from, and reports
    /// that were compared with the rules.
    pub(crate) reloads: u64,
    pub(crate) revoked: u64,
    pub(crate) overheard: u64,
    pub(crate) reports: u64,
    /// The seed of a world that failed.
    pub(crate) failures: Option<u64>,
}

impl Tally {
    pub(crate) fn and(self, other: Tally) -> Tally {
        Tally {
            submitted: self.submitted + other.submitted,
            delivered: self.delivered + other.delivered,
            lost: self.lost + other.lost,
            superseded: self.superseded + other.superseded,
            heads: self.heads + other.heads,
            declined: self.declined + other.declined,
            results: self.results + other.results,
            thinned: self.thinned + other.thinned,
            given: self.given + other.given,
            projected: self.projected + other.projected,
            owed: self.owed + other.owed,
            connections: self.connections + other.connections,
            cuts: self.cuts + other.cuts,
            deaths: self.deaths + other.deaths,
            failed_opens: self.failed_opens + other.failed_opens,
            reloads: self.reloads + other.reloads,
            revoked: self.revoked + other.revoked,
            overheard: self.overheard + other.overheard,
            reports: self.reports + other.reports,
            failures: self.failures.or(other.failures),
        }
    }
}

/// Whom the ids of processes count under, besides the shared key that all of them have.
#[derive(Clone, Copy)]
pub(crate) enum Counted {
    /// The user with the number of the slot: successive ids have one credential.
    Alone,
    /// The same for two slots each, of which one user is everybody's own.
    InPairs,
    /// The shared key.
    Together,
}

impl Counted {
    /// What the system says of a process.
    fn known(self, slot: usize) -> Credentials {
        let local_user = match self {
            Counted::Alone => Some(slot as u32),
            Counted::InPairs => Some(slot as u32 / 2),
            Counted::Together => None,
        };
        Credentials { local_user, ..Credentials::default() }
    }
}

impl World {
    pub(crate) fn new(seed: u64, slots: usize) -> World {
        let mut settings = Settings { slow: Count { events: SLOW, bytes: 10_000 }, ..Settings::default() };
        // In every other world, events longer than their windows wait for each other.
        if seed.is_multiple_of(2) {
            settings.budgets.credential[Resource::Bodies] = 0;
        }
        // In most worlds, sources hold events for some sinks or for all, and then for a while or for one event only.
        settings.few = [0, 1, 0, 4][(seed / 2 % 4) as usize];
        settings.held =
            Count { events: [4, 1, 2, 3][(seed / 8 % 4) as usize], bytes: [2_000, 100_000][(seed / 32 % 2) as usize] };
        // In most worlds, sinks whose queries let an event pass get it later, and then one event or several.
        settings.at_once = [0, 1, 64, 0][(seed / 3 % 4) as usize];
        settings.owed =
            Count { events: [1, 4, 2][(seed / 12 % 3) as usize], bytes: [500, 5_000][(seed / 36 % 2) as usize] };
        // In most worlds, new sinks get one or two kept events at a time.
        settings.slice = Time::from_nanos([1, 400_000, 150, 1][(seed / 4 % 4) as usize]);
        let slots = (0..slots).map(|_| Slot { process: None, incarnations: 0, is_shut: false }).collect();
        World {
            random: Random::new(seed),
            now: Time::from_secs(1),
            slots,
            wires: BTreeMap::new(),
            oracle: Oracle::default(),
            formats: formats::all(),
            clock: Clock::default(),
            tally: Tally::default(),
            settings,
            counted: Counted::Alone,
            homes: HashMap::new(),
            rules: None,
            is_rough: true,
            happenings: BinaryHeap::new(),
            serial: 0,
        }
    }

    pub(crate) fn later(&mut self, time: Time, happening: Happening) {
        self.serial += 1;
        self.happenings.push(Reverse((time.max(self.now), self.serial, happening)));
    }

    pub(crate) fn address(slot: usize) -> String {
        format!("sim:{slot}")
    }

    /// A new process at an address.
    pub(crate) fn start(&mut self, slot: usize) {
        let key = Key::from_seed(std::array::from_fn(|_| self.random.byte()));
        // Keys that nobody else knows, and the one that all have in common.
        let mut keys: Vec<SharedKey> = Vec::new();
        for _ in 0..self.random.below(4) {
            keys.push(SharedKey::new(std::array::from_fn(|_| self.random.byte())));
        }
        keys.insert(self.random.below(keys.len() + 1), SharedKey::new([7; 32]));
        let access = Access { keys, admission: Admission::Known { users: Vec::new() } };
        let rights = self.rules.as_mut().map(|rules| rules.rights(slot));
        let settings = Settings { addresses: vec![World::address(slot)], access, rights, ..self.settings.clone() };
        let entry = &mut self.slots[slot];
        entry.incarnations += 1;
        self.homes.insert(key.id(), slot);
        entry.process = Some(Process::new(key, settings, entry.incarnations));
    }

    /// Lets things happen until this time.
    pub(crate) fn run(&mut self, until: Time) {
        while let Some(Reverse((time, _, _))) = self.happenings.peek()
            && *time <= until
            && let Some(Reverse((time, _, happening))) = self.happenings.pop()
        {
            self.now = time;
            self.happen(happening);
        }
        self.now = until;
    }

    /// Whom it happens to; `None` if that is no process, or one that is no more.
    fn whom(&self, happening: &Happening) -> Option<usize> {
        let there = |slot: usize, incarnation: u32| {
            let process = self.slots[slot].process.as_ref();
            process.is_some_and(|process| process.incarnation == incarnation).then_some(slot)
        };
        match *happening {
            Happening::Arrive { wire, end } | Happening::Writable { wire, end } => {
                let end = &self.wires.get(&wire)?.ends[end];
                there(end.slot, end.incarnation)
            }
            Happening::Accept { wire } => {
                let end = &self.wires.get(&wire)?.ends[1];
                there(end.slot, end.incarnation)
            }
            Happening::Dialed { slot, incarnation, .. }
            | Happening::Failed { slot, incarnation, .. }
            | Happening::Tick { slot, incarnation }
            | Happening::Take { slot, incarnation, .. }
            | Happening::Submit { slot, incarnation, .. } => there(slot, incarnation),
            Happening::Continue { .. } | Happening::Open { .. } => None,
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Continue { slot } => return self.go_on(slot),
            Happening::Open { slot } => return self.slots[slot].is_shut = false,
            _ => {}
        }
        let Some(slot) = self.whom(&happening) else { return };
        let Some(process) = &mut self.slots[slot].process else { return };
        if process.is_stopped {
            return process.put_off.push(happening);
        }
        match happening {
            Happening::Arrive { wire, end } => self.arrived(wire, end),
            Happening::Writable { wire, end } => {
                self.push(wire, end);
                self.follow(slot);
            }
            Happening::Dialed { dial, to, .. } => self.dialed(slot, dial, to),
            Happening::Failed { dial, .. } => {
                process.node.dial_failed(self.now, dial, Error::new(Code::Unreachable).found("refused"));
                self.follow(slot);
            }
            Happening::Accept { wire } => {
                let Some(entry) = self.wires.get_mut(&wire) else { return };
                entry.ends[1].is_open = true;
                let credentials = self.counted.known(entry.ends[0].slot);
                process.node.connected(self.now, ConnId(2 * wire + 1), None, credentials);
                self.follow(slot);
                self.arrived(wire, 1);
            }
            Happening::Tick { .. } => self.tick(slot),
            Happening::Take { key, .. } => self.take(slot, key),
            Happening::Submit { key, .. } => self.go_on_submitting(slot, key),
            Happening::Continue { .. } | Happening::Open { .. } => {}
        }
    }

    /// Calls a node when it asked for it, if it still does.
    fn tick(&mut self, slot: usize) {
        let now = self.now;
        let Some(process) = &mut self.slots[slot].process else { return };
        if process.node.deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        process.node.tick(now);
        self.follow(slot);
        let Some(process) = &mut self.slots[slot].process else { return };
        let next = process.node.deadline();
        assert!(next.is_none_or(|next| next > now), "a node that has looked at the time has nothing more to do then");
    }

    /// A process that was stopped sees everything that has happened since, in some order.
    fn go_on(&mut self, slot: usize) {
        let Some(process) = &mut self.slots[slot].process else { return };
        process.is_stopped = false;
        let mut happenings = std::mem::take(&mut process.put_off);
        if self.random.one_in(2) {
            happenings.sort_by_key(|happening| !matches!(happening, Happening::Tick { .. }));
        }
        happenings.into_iter().for_each(|happening| self.later(self.now, happening));
    }

    pub(crate) fn dial(&mut self, slot: usize, dial: DialKey, address: &str) {
        let Some(incarnation) = self.slots[slot].process.as_ref().map(|process| process.incarnation) else { return };
        let to = address.strip_prefix("sim:").and_then(|to| to.parse().ok()).expect("an address of this world");
        let after = Time::from_micros(self.random.below(20_000) as u64);
        self.later(self.now + after, Happening::Dialed { slot, incarnation, dial, to });
    }

    fn dialed(&mut self, slot: usize, dial: DialKey, to: usize) {
        let Some(process) = &mut self.slots[slot].process else { return };
        let incarnation = process.incarnation;
        let target = &self.slots[to];
        let there = target.process.as_ref().filter(|_| !target.is_shut).map(|process| process.incarnation);
        let Some(there) = there.filter(|_| !self.is_rough || !self.random.one_in(10)) else {
            let silent = self.is_rough && self.random.one_in(4);
            let after = if silent { Time::from_millis(self.random.below(6_000) as u64) } else { Time::ZERO };
            return self.later(self.now + after, Happening::Failed { slot, incarnation, dial });
        };
        self.tally.connections += 1;
        let at = self.tally.connections;
        let mut wire = Wire::new([(slot, incarnation), (to, there)], &mut self.random);
        wire.ends[0].is_open = true;
        self.wires.insert(at, wire);
        let Some(process) = &mut self.slots[slot].process else { return };
        process.node.connected(self.now, ConnId(2 * at), Some(dial), self.counted.known(to));
        self.follow(slot);
        let after = Time::from_micros(self.random.below(3_000) as u64);
        self.later(self.now + after, Happening::Accept { wire: at });
    }

    /// Cuts a connection that somebody has open; ends that are deaf do not hear of it.
    pub(crate) fn cut(&mut self, at: u64, deaf: [bool; 2]) {
        let Some(wire) = self.wires.get_mut(&at) else { return };
        self.tally.cuts += 1;
        let times = wire.cut(self.now, deaf, &mut self.random);
        for (end, time) in times.into_iter().enumerate() {
            if let Some(time) = time {
                self.later(time, Happening::Arrive { wire: at, end });
            }
        }
    }

    /// A process is no more. Those that it was connected with hear of it, or do not.
    pub(crate) fn kill(&mut self, slot: usize, silently: bool) {
        self.slots[slot].process = None;
        self.tally.deaths += 1;
        let of_it = |wire: &Wire| wire.ends.iter().any(|end| end.slot == slot && end.is_open);
        let wires: Vec<u64> = self.wires.iter().filter(|(_, wire)| of_it(wire)).map(|(at, _)| *at).collect();
        wires.into_iter().for_each(|wire| self.cut(wire, [silently; 2]));
    }
}
