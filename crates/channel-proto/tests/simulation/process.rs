//! A process: a node, the application on top of it, and what it has of connections. It does what a shell does, when the
//! node asks for it and not otherwise.

use crate::scenario::level_of;
use crate::world::{Happening, World};
use crate::{Node, Time, oracle};
use isoform_channel_proto::{
    Action, Batch, ChannelKey, ConnId, Drafts, Item, Key, NodeId, OpenKey, Outgoing, Settings, SinkKey, SourceKey,
    Submitted, Take,
};
use isoform_core::{Code, Error};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

pub(crate) struct Process {
    pub(crate) node: Node,
    pub(crate) incarnation: u32,
    /// It is not called at all: what happens to it is put off.
    pub(crate) is_stopped: bool,
    pub(crate) put_off: Vec<Happening>,
    /// When it is going to look at the time.
    ticks: Option<Time>,
    /// The channels that it has open, by their identity.
    pub(crate) channels: BTreeMap<[u8; 16], ChannelKey>,
    pub(crate) opens: BTreeMap<OpenKey, [u8; 16]>,
    /// By its keys: the places of its sources and sinks in the oracle.
    pub(crate) sources: BTreeMap<SourceKey, usize>,
    /// Sources that have left, and whose accounts are still open.
    pub(crate) leaving: BTreeMap<SourceKey, usize>,
    pub(crate) sinks: BTreeMap<SinkKey, Taking>,
    /// Sources that were told to wait.
    pub(crate) waiting: BTreeSet<SourceKey>,
}

/// How an application takes from a sink.
pub(crate) struct Taking {
    pub(crate) sink: usize,
    /// It was told that something has come.
    is_awake: bool,
    batch: Batch<Arc<[u8]>, Vec<u8>>,
    /// How many items of the batch it has looked at.
    at: usize,
    /// How long it takes for one look.
    pub(crate) pause: Time,
}

impl Taking {
    pub(crate) fn new(sink: usize, pause: Time) -> Taking {
        Taking { sink, is_awake: false, batch: Batch::default(), at: 0, pause }
    }
}

impl Process {
    pub(crate) fn new(key: Key, settings: Settings, incarnation: u32) -> Process {
        Process {
            node: Node::new(key, settings),
            incarnation,
            is_stopped: false,
            put_off: Vec::new(),
            ticks: None,
            channels: BTreeMap::new(),
            opens: BTreeMap::new(),
            sources: BTreeMap::new(),
            leaving: BTreeMap::new(),
            sinks: BTreeMap::new(),
            waiting: BTreeSet::new(),
        }
    }

    pub(crate) fn id(&self) -> NodeId {
        self.node.id()
    }
}

impl World {
    /// Does what a node asks for, looks at its accounts, and at when it wants to be called again.
    pub(crate) fn follow(&mut self, slot: usize) {
        loop {
            let Some(process) = &mut self.slots[slot].process else { return };
            let Some(action) = process.node.action() else { break };
            self.act(slot, action);
        }
        self.check(slot);
        let Some(process) = &mut self.slots[slot].process else { return };
        let (deadline, incarnation) = (process.node.deadline(), process.incarnation);
        if deadline != process.ticks {
            process.ticks = deadline;
            if let Some(deadline) = deadline {
                self.later(deadline, Happening::Tick { slot, incarnation });
            }
        }
    }

    fn act(&mut self, slot: usize, action: Action) {
        let now = self.now;
        let Some(process) = &mut self.slots[slot].process else { return };
        let incarnation = process.incarnation;
        match action {
            Action::Dial(dial, address) => self.dial(slot, dial, &address),
            Action::Write(id) => self.write(slot, id),
            Action::Close(id) => self.hang_up(slot, id),
            Action::Wake(key) => {
                if let Some(taking) = process.sinks.get_mut(&key).filter(|taking| !taking.is_awake) {
                    taking.is_awake = true;
                    let at = now + taking.pause;
                    self.later(at, Happening::Take { slot, incarnation, key });
                }
            }
            Action::Room(key) => {
                if process.waiting.contains(&key) {
                    self.later(now, Happening::Submit { slot, incarnation, key });
                }
            }
            Action::Opened(open) => {
                let Some(identity) = process.opens.remove(&open) else { return };
                match process.node.opened(open).expect("there is an answer") {
                    Ok(key) => drop(process.channels.insert(identity, key)),
                    Err(error) => {
                        assert_ne!(error.code(), Code::Frame, "{error}");
                        self.tally.failed_opens += 1;
                    }
                }
            }
            Action::Tick => self.tally.owed += 1,
            Action::Changed(_) | Action::Read(_) => {}
        }
    }

    /// A node has something to write.
    fn write(&mut self, slot: usize, id: ConnId) {
        let (at, end) = (id.0 / 2, (id.0 % 2) as usize);
        let Some(wire) = self.wires.get_mut(&at) else { return };
        assert_eq!(wire.ends[end].slot, slot);
        if !wire.ends[end].is_open {
            return;
        }
        wire.ends[end].is_asked = true;
        self.push(at, end);
    }

    /// Writes at an end of a wire what can be written.
    pub(crate) fn push(&mut self, at: u64, end: usize) {
        while let Some(wire) = self.wires.get_mut(&at).filter(|wire| wire.ends[end].is_open) {
            let (slot, id) = (wire.ends[end].slot, ConnId(2 * at + end as u64));
            let Some(process) = &mut self.slots[slot].process else { return };
            if wire.ends[end].unwritten.is_empty() {
                if !std::mem::take(&mut wire.ends[end].is_asked) {
                    return;
                }
                let mut out = Outgoing::default();
                process.node.output(self.now, id, &mut out);
                assert!(out.length() < 1 << 20, "{out:?}: what waits for a connection is bounded");
                let bytes = out.to_vec();
                wire.ends[end].unwritten.extend(&bytes);
                self.overhear(at, end, &bytes);
                continue;
            }
            let arrives = wire.write(self.now, end, &mut self.random);
            let left = wire.ends[end].unwritten.len();
            process.node.unwritten(id, left);
            if let Some(arrives) = arrives {
                self.later(arrives, Happening::Arrive { wire: at, end: 1 - end });
            }
            if left > 0 {
                // Without room, it goes on when the other side has read.
                if arrives.is_some() {
                    let again = self.now + Time::from_micros(self.random.below(500) as u64);
                    self.later(again, Happening::Writable { wire: at, end });
                }
                return;
            }
        }
    }

    /// A node has ended a connection: its last words go out.
    fn hang_up(&mut self, slot: usize, id: ConnId) {
        let (at, end) = (id.0 / 2, (id.0 % 2) as usize);
        let Some(process) = &mut self.slots[slot].process else { return };
        let mut out = Outgoing::default();
        process.node.output(self.now, id, &mut out);
        let Some(wire) = self.wires.get_mut(&at) else { return };
        wire.ends[end].unwritten.extend(out.to_vec());
        for time in wire.close(self.now, end, &mut self.random).into_iter().flatten() {
            self.later(time, Happening::Arrive { wire: at, end: 1 - end });
        }
    }

    /// Something has arrived at an end of a wire: the process reads it.
    pub(crate) fn arrived(&mut self, at: u64, end: usize) {
        let Some(wire) = self.wires.get_mut(&at) else { return };
        wire.ends[end].arrive(self.now);
        let (slot, id) = (wire.ends[end].slot, ConnId(2 * at + end as u64));
        while let Some(wire) = self.wires.get_mut(&at).filter(|wire| wire.ends[end].is_open) {
            let entry = &mut wire.ends[end];
            let Some(process) = &mut self.slots[slot].process else { return };
            if entry.is_at_end() {
                entry.is_open = false;
                let why = self.random.one_in(2).then(|| Error::new(Code::Io).found("reset"));
                process.node.closed(self.now, id, why);
                self.follow(slot);
                return;
            }
            if !entry.has_arrived() {
                break;
            }
            if entry.rest.is_empty()
                && self.random.one_in(2)
                && let Some(mut large) = process.node.take_large(id)
            {
                let bytes = entry.read(large.missing.min(1 + self.random.below(large.missing + 10)));
                large.storage[large.at..large.at + bytes.len()].copy_from_slice(&bytes);
                process.node.put_large(self.now, id, large, bytes.len());
            } else {
                let most = self.random.of_these(&[1, 20, 500, 10_000, 300_000]).unwrap_or(1);
                let bytes = entry.read(1 + self.random.below(most));
                entry.rest.extend(bytes);
                match process.node.receive(self.now, id, &entry.rest) {
                    Ok(used) => drop(entry.rest.drain(..used)),
                    Err(error) => {
                        let usual = [Code::WrongNode, Code::Duplicate, Code::Handshake];
                        assert!(usual.contains(&error.code()), "what nodes say to each other is right: {error}");
                    }
                }
            }
            self.follow(slot);
        }
        if self.wires.get(&at).is_some_and(|wire| wire.ends[1 - end].is_open) {
            self.later(self.now, Happening::Writable { wire: at, end: 1 - end });
        }
    }

    /// An application looks at what has come for a sink.
    pub(crate) fn take(&mut self, slot: usize, key: SinkKey) {
        let now = self.now;
        let Some(process) = &mut self.slots[slot].process else { return };
        let incarnation = process.incarnation;
        let Some(taking) = process.sinks.get_mut(&key) else { return };
        let count = 1 + self.random.below(taking.batch.len() - taking.at + 3);
        for item in taking.batch.items().skip(taking.at).take(count) {
            self.oracle.came(taking.sink, &item, &taking.batch, &self.formats);
            taking.at += 1;
            // It declines the rest of some long events, of which it sees the heads.
            if let Item::Head(head) = &item
                && self.random.one_in(3)
            {
                process.node.enough(key, head.source, head.sequence);
            }
        }
        if taking.at < taking.batch.len() {
            if self.random.one_in(2) {
                process.node.consumed(now, key, taking.at);
            }
        } else {
            taking.is_awake = process.node.take(now, key, &mut taking.batch);
            taking.at = 0;
        }
        if taking.is_awake {
            let at = now + taking.pause;
            self.later(at, Happening::Take { slot, incarnation, key });
        }
        self.follow(slot);
    }

    /// An application submits an event, or several at once. Whether it may go on.
    pub(crate) fn submit(&mut self, slot: usize, key: SourceKey, length: usize) -> bool {
        let Some(process) = &mut self.slots[slot].process else { return false };
        let Some(&source) = process.sources.get(&key) else { return false };
        if process.waiting.contains(&key) {
            return false;
        }
        let declared = self.oracle.sources[source].format;
        let number = declared.unwrap_or_else(|| self.random.below(crate::formats::COMPATIBLE));
        let time = self.clock.next(&mut self.random);
        // Others are not valid.
        let is_valid = number == crate::formats::WIDE && self.random.one_in(2);
        let length = if is_valid { self.formats[number].size() } else { length };
        let mut lengths = vec![length];
        if declared.is_some() && self.random.one_in(3) {
            lengths.extend((0..self.random.below(9)).map(|i| [length, 8, 100][i % 3]));
        }
        let bodies = lengths.iter().enumerate().map(|(i, &length)| oracle::body(time + i as u64, length));
        let mut several = Several(bodies.collect());
        let kept_out = self.kept_out(slot, &self.oracle.sources[source].channel);
        let Some(process) = &mut self.slots[slot].process else { return false };
        // Some events are only for those who ask for some values of parameters.
        let demands = process.node.demands(key);
        let demand = self.random.of_these(&demands.iter().collect::<Vec<_>>());
        let demand = demand.filter(|_| lengths.len() == 1 && self.random.one_in(2));
        let level = demand.map(|demand| level_of(&demand.values));
        let submitted = match lengths[..] {
            [_] if let Some(demand) = demand => {
                let given = declared.is_none().then(|| &self.formats[number]);
                process.node.submit_for(|| time, key, demand.key, given, &mut several.0[0])
            }
            [_] => {
                let given = declared.is_none().then(|| &self.formats[number]);
                process.node.submit(time, key, given, &mut several.0[0])
            }
            _ => process.node.submit_many(time, key, &mut several),
        };
        match submitted.expect("a source that is there") {
            Submitted::Done(last) => {
                lengths.truncate((last + 1 - self.oracle.sources[source].next) as usize);
                assert!(!lengths.is_empty(), "numbers are given in order");
                self.tally.submitted += lengths.len() as u64 - 1;
                self.oracle.submitted(source, time, lengths, number, kept_out, level);
            }
            Submitted::Nothing => panic!("there are events"),
            Submitted::Full => {
                process.waiting.insert(key);
                if let Some(until) = process.node.wait(self.now, key) {
                    let incarnation = process.incarnation;
                    self.later(until, Happening::Submit { slot, incarnation, key });
                }
            }
        }
        self.tally.submitted += 1;
        self.follow(slot);
        true
    }

    fn check(&mut self, slot: usize) {
        let Some(process) = &self.slots[slot].process else { return };
        for (&key, &source) in process.sources.iter().chain(&process.leaving) {
            self.oracle.check_source(source, &process.node.ledger(key));
        }
        for taking in process.sinks.values() {
            self.oracle.check_sink(taking.sink, &process.node);
        }
    }
}

/// Events that are submitted together.
struct Several(VecDeque<Arc<[u8]>>);

impl Drafts<Arc<[u8]>> for Several {
    fn pass(&mut self) -> u64 {
        std::mem::take(&mut self.0).len() as u64
    }

    fn next(&mut self, take: impl Take<Arc<[u8]>>) -> bool {
        let Some(mut body) = self.0.pop_front() else { return false };
        take.take(&mut body);
        true
    }

    fn next_alike(&mut self, take: impl FnOnce(&[u8], usize) -> usize) -> usize {
        let Some(length) = self.0.front().map(|first| first.len()) else { return 0 };
        let alike: Vec<&[u8]> = self.0.iter().take_while(|body| body.len() == length).map(|body| &**body).collect();
        let taken = take(&alike.concat(), length);
        self.0.drain(..taken);
        taken
    }
}
