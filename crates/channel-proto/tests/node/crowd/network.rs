//! A network that delays everything by a moment, and separates processes when it is told to.

use isoform_channel_proto::{
    Action, Budgets, ChannelKey, ConnId, HEADER, Header, Hello, Identity, Key, Node, NodeId, OpenKey, Outgoing, Reach,
    Resource, Settings, SourceKey, Time, Verdicts, Wanted,
};
use isoform_core::{Code, Error};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

pub(crate) const CHANNEL: Identity = Identity([9; 16]);
/// The time that a link has to carry something wanted, and until that is looked at.
const MOMENT: Time = Time::from_millis(3_500);
/// An address from which nothing ever comes back, not even that nobody listens.
pub(crate) const SILENT: &str = "test:silent";
const STEP: Time = Time::from_millis(5);

pub(crate) struct Network {
    slots: Vec<Option<Process>>,
    starts: u32,
    wires: BTreeMap<u64, Wire>,
    pub(crate) wired: u64,
    /// The processes, by the ids of their nodes.
    ids: HashMap<NodeId, usize>,
    verdicts: Verdicts,
    /// How many frames and bytes were said.
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) now: Time,
    /// The connections on which something is on its way, or that end.
    busy: BTreeSet<u64>,
    /// Processes that have something to do, and when others have.
    awake: BTreeSet<usize>,
    due: BTreeSet<(Time, usize)>,
    /// The processes on the other side of a split.
    apart: BTreeSet<usize>,
}

struct Process {
    node: Node<Arc<[u8]>, Vec<u8>>,
    channel: Option<ChannelKey>,
    open: Option<OpenKey>,
    source: Option<SourceKey>,
    has_sink: bool,
    deadline: Option<Time>,
    wires: BTreeSet<u64>,
    /// How many frames were sent to it.
    frames: u64,
}

struct Wire {
    /// The process that dialed, and the other.
    ends: [usize; 2],
    /// What is on its way to each.
    bytes: [Vec<u8>; 2],
    is_closed: bool,
    since: Time,
}

impl Network {
    pub(crate) fn new(slots: usize) -> Network {
        Network {
            slots: (0..slots).map(|_| None).collect(),
            starts: 0,
            wires: BTreeMap::new(),
            wired: 0,
            busy: BTreeSet::new(),
            ids: HashMap::new(),
            verdicts: Verdicts::default(),
            frames: 0,
            bytes: 0,
            now: Time::ZERO,
            awake: BTreeSet::new(),
            due: BTreeSet::new(),
            apart: BTreeSet::new(),
        }
    }

    fn at(&mut self, slot: usize) -> &mut Process {
        self.awake.insert(slot);
        self.slots[slot].as_mut().expect("a process")
    }

    pub(crate) fn start(&mut self, slot: usize) {
        self.starts += 1;
        let mut seed = [1; 32];
        seed[..4].copy_from_slice(&self.starts.to_le_bytes());
        let settings = Settings {
            addresses: vec![format!("test:{slot}")],
            peers: 1 << 16,
            connections: 1 << 16,
            // As the program of a source does that serves thousands.
            budgets: Budgets { node: Budgets::default().node.with(Resource::Links, 1 << 16), ..Budgets::default() },
            ..Settings::default()
        };
        let mut node = Node::new(Key::from_seed(seed), settings);
        node.share(self.verdicts.clone());
        self.ids.insert(node.id(), slot);
        self.slots[slot] = Some(Process {
            node,
            channel: None,
            open: None,
            source: None,
            has_sink: false,
            deadline: None,
            wires: BTreeSet::new(),
            frames: 0,
        });
    }

    pub(crate) fn create(&mut self, slot: usize) {
        let process = self.at(slot);
        process.channel = Some(process.node.create(CHANNEL, "ticks", None).expect("a channel"));
    }

    pub(crate) fn open(&mut self, slot: usize, at: &[usize]) {
        let (now, addresses) = (self.now, at.iter().map(|at| format!("test:{at}")).collect::<Vec<_>>());
        let process = self.at(slot);
        process.open = Some(process.node.open(now, &addresses, "ticks", Some(CHANNEL), now + Time::from_secs(5)));
    }

    pub(crate) fn add_source(&mut self, slot: usize) {
        let process = self.at(slot);
        let channel = process.channel.expect("an open channel");
        process.source = Some(process.node.add_source(channel, None).expect("a source"));
    }

    pub(crate) fn add_sinks(&mut self, slots: Range<usize>, wanted: &Wanted) {
        for slot in slots {
            let process = self.at(slot);
            let channel = process.channel.unwrap_or_else(|| panic!("{slot} has not opened the channel"));
            process.node.add_sink(channel, wanted.clone()).expect("a sink");
            process.has_sink = true;
        }
    }

    pub(crate) fn alive(&self) -> impl Iterator<Item = usize> {
        self.slots.iter().enumerate().filter(|(_, slot)| slot.is_some()).map(|(slot, _)| slot)
    }

    pub(crate) fn is_alive(&self, slot: usize) -> bool {
        self.slots[slot].is_some()
    }

    pub(crate) fn has_sink(&self, slot: usize) -> bool {
        self.slots[slot].as_ref().is_some_and(|process| process.has_sink)
    }

    pub(crate) fn has_source(&self, slot: usize) -> bool {
        self.slots[slot].as_ref().is_some_and(|process| process.source.is_some())
    }

    pub(crate) fn listeners(&self, slot: usize) -> usize {
        let process = self.slots[slot].as_ref().expect("a process");
        process.source.map_or(0, |source| process.node.listeners(source))
    }

    /// The sinks that do not have a source, and what each knows of its node.
    pub(crate) fn without(&self, source: usize) -> Vec<String> {
        let at = |slot: usize| self.slots[slot].as_ref().expect("a process");
        let has = at(source).source.map_or(Vec::new(), |key| at(source).node.ledger(key));
        let lacking =
            self.alive().filter(|&slot| self.has_sink(slot) && has.iter().all(|it| it.node != at(slot).node.id()));
        let told = lacking.map(|slot| {
            let info = at(slot).channel.and_then(|channel| at(slot).node.info(channel));
            let known = info.map_or(Vec::new(), |info| info.members);
            let links = known.iter().filter(|member| member.reach == Reach::Linked).count();
            let of_it = known.into_iter().find(|member| member.node == at(source).node.id());
            format!("slot {slot} with {links} links: {of_it:?}")
        });
        told.collect()
    }

    /// How many frames were sent to a process.
    pub(crate) fn frames_to(&self, slot: usize) -> u64 {
        self.slots[slot].as_ref().map_or(0, |process| process.frames)
    }

    /// How many members a process knows.
    pub(crate) fn known(&self, slot: usize) -> usize {
        let process = self.slots[slot].as_ref().expect("a process");
        process.channel.and_then(|channel| process.node.info(channel)).map_or(0, |info| info.members.len())
    }

    /// How many of them say that they can be dialed at an address.
    pub(crate) fn known_at(&self, slot: usize, address: &str) -> usize {
        let process = self.slots[slot].as_ref().expect("a process");
        let members =
            process.channel.and_then(|channel| process.node.info(channel)).map_or(Vec::new(), |info| info.members);
        members.iter().filter(|member| member.addresses.iter().any(|known| known == address)).count()
    }

    /// How many links a process has, but for those that began just now.
    pub(crate) fn links(&self, slot: usize) -> usize {
        let is_old = |wire: &u64| self.wires.get(wire).is_some_and(|wire| wire.since + MOMENT <= self.now);
        self.slots[slot].as_ref().map_or(0, |process| process.wires.iter().filter(|wire| is_old(wire)).count())
    }

    pub(crate) fn all_links(&self) -> usize {
        self.wires.values().filter(|wire| !wire.is_closed).count()
    }

    /// With how many others a process has a link that carries something wanted.
    pub(crate) fn wanted(&self, slot: usize) -> usize {
        let process = self.slots[slot].as_ref().expect("a process");
        let Some(info) = process.channel.and_then(|channel| process.node.info(channel)) else { return 0 };
        let linked = info.members.iter().filter(|member| member.reach == Reach::Linked);
        let others = linked.filter_map(|member| self.slots[*self.ids.get(&member.node)?].as_ref());
        let is_wanted =
            |other: &&Process| process.has_sink && other.source.is_some() || process.source.is_some() && other.has_sink;
        others.filter(is_wanted).count()
    }

    /// A process ends without a word. The system closes its connections.
    pub(crate) fn kill(&mut self, slot: usize) {
        let Some(process) = self.slots[slot].take() else { return };
        for wire in process.wires {
            self.close(wire);
        }
    }

    pub(crate) fn leave(&mut self, slot: usize) {
        self.at(slot).node.leave();
        self.act(slot);
        self.slots[slot] = None;
    }

    fn close(&mut self, wire: u64) {
        let Some(entry) = self.wires.get_mut(&wire) else { return };
        entry.is_closed = true;
        self.busy.insert(wire);
        for slot in entry.ends {
            self.awake.insert(slot);
            if let Some(process) = &mut self.slots[slot] {
                process.wires.remove(&wire);
            }
        }
    }

    /// Separates some processes from the others. Connections between both break.
    pub(crate) fn split(&mut self, is_apart: impl Fn(usize) -> bool) {
        self.apart = (0..self.slots.len()).filter(|&slot| is_apart(slot)).collect();
        let broken = self.wires.iter().filter(|(_, wire)| !self.is_near(wire.ends));
        let broken: Vec<u64> = broken.map(|(&id, _)| id).collect();
        broken.into_iter().for_each(|wire| self.close(wire));
    }

    fn is_near(&self, [one, other]: [usize; 2]) -> bool {
        self.apart.contains(&one) == self.apart.contains(&other)
    }

    /// A process says something to all that it has links with.
    pub(crate) fn lie(&mut self, slot: usize, bytes: &[u8]) {
        let Some(process) = &self.slots[slot] else { return };
        for id in process.wires.clone() {
            let Some(wire) = self.wires.get_mut(&id) else { continue };
            let to = usize::from(wire.ends[0] == slot);
            wire.bytes[to].extend(bytes);
            self.busy.insert(id);
            self.awake.insert(wire.ends[to]);
        }
    }

    pub(crate) fn run(&mut self, time: Time) {
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            while let Some(&(at, slot)) = self.due.first().filter(|(at, _)| *at <= self.now) {
                self.due.remove(&(at, slot));
                self.awake.insert(slot);
            }
            // What they say is heard in the next step.
            let arrived = self.arrived();
            for (slot, id, bytes, is_closed) in arrived {
                self.read(slot, id, &bytes, is_closed);
            }
            for slot in std::mem::take(&mut self.awake) {
                self.act(slot);
            }
        }
    }

    /// What has arrived at those who are awake.
    fn arrived(&mut self) -> Vec<(usize, u64, Vec<u8>, bool)> {
        let mut arrived = Vec::new();
        for id in std::mem::take(&mut self.busy) {
            let Some(wire) = self.wires.get_mut(&id) else { continue };
            for end in 0..2 {
                if wire.is_closed || !wire.bytes[end].is_empty() {
                    self.awake.insert(wire.ends[end]);
                    arrived.push((wire.ends[end], id, std::mem::take(&mut wire.bytes[end]), wire.is_closed));
                }
            }
            if wire.is_closed {
                self.wires.remove(&id);
            }
        }
        arrived
    }

    fn read(&mut self, slot: usize, id: u64, bytes: &[u8], is_closed: bool) {
        let now = self.now;
        let Some(process) = &mut self.slots[slot] else { return };
        let used = process.node.receive(now, ConnId(id), bytes).unwrap_or_else(|error| {
            let usual = [Code::WrongNode, Code::Duplicate, Code::Handshake];
            assert!(usual.contains(&error.code()), "{slot}: what nodes say to each other is right: {error}");
            bytes.len()
        });
        if let Some(wire) = self.wires.get_mut(&id).filter(|_| used < bytes.len()) {
            let end = usize::from(wire.ends[1] == slot);
            let later = std::mem::replace(&mut wire.bytes[end], bytes[used..].to_vec());
            wire.bytes[end].extend(later);
            self.busy.insert(id);
        }
        if is_closed {
            process.node.closed(now, ConnId(id), None);
        }
    }

    /// A process does what its node asks for.
    fn act(&mut self, slot: usize) {
        let now = self.now;
        let Some(process) = &mut self.slots[slot] else { return };
        if process.node.deadline().is_some_and(|at| at <= now) {
            process.node.tick(now);
        }
        loop {
            let Some(process) = &mut self.slots[slot] else { return };
            let Some(action) = process.node.action() else { break };
            match action {
                Action::Dial(_, address) if address == SILENT => {}
                Action::Dial(dial, address) => {
                    let to = address.strip_prefix("test:").and_then(|to| to.parse::<usize>().ok());
                    let to = to.filter(|&to| self.slots[to].is_some() && self.is_near([slot, to]));
                    let Some(to) = to else {
                        let error = Error::new(Code::Unreachable).at(address);
                        self.at(slot).node.dial_failed(now, dial, error);
                        continue;
                    };
                    self.wired += 1;
                    let id = self.wired;
                    self.wires
                        .insert(id, Wire { ends: [slot, to], bytes: Default::default(), is_closed: false, since: now });
                    for (end, dial) in [(slot, Some(dial)), (to, None)] {
                        let process = self.at(end);
                        process.wires.insert(id);
                        process.node.connected(now, ConnId(id), dial, Default::default());
                    }
                }
                Action::Write(id) | Action::Close(id) => {
                    let mut out = Outgoing::default();
                    process.node.output(now, id, &mut out);
                    process.node.unwritten(id, 0);
                    if let Some(wire) = self.wires.get_mut(&id.0) {
                        let to = usize::from(wire.ends[0] == slot);
                        let bytes = out.to_vec();
                        let count = frames(&bytes);
                        self.bytes += bytes.len() as u64;
                        self.frames += count;
                        if let Some(process) = &mut self.slots[wire.ends[to]] {
                            process.frames += count;
                        }
                        wire.bytes[to].extend(bytes);
                        self.busy.insert(id.0);
                        self.awake.insert(wire.ends[to]);
                    }
                    if matches!(action, Action::Close(_)) {
                        self.close(id.0);
                    }
                }
                Action::Opened(open) => {
                    let answer = process.node.opened(open);
                    if process.open == Some(open) {
                        process.channel = answer.and_then(Result::ok);
                        process.open = None;
                    }
                }
                _ => {}
            }
        }
        let Some(process) = &mut self.slots[slot] else { return };
        let deadline = process.node.deadline();
        if process.deadline != deadline {
            process.deadline = deadline;
            self.due.extend(deadline.map(|at| (at.max(now), slot)));
        }
    }
}

/// How many frames these are. A Hello is no frame.
fn frames(mut bytes: &[u8]) -> u64 {
    if bytes.starts_with(b"\x89ISL") {
        bytes = &bytes[Hello::LENGTH..];
    }
    let mut count = 0;
    while let Some(header) = bytes.first_chunk::<HEADER>() {
        bytes = &bytes[Header::parse(header).expect("a frame").extent()..];
        count += 1;
    }
    count
}
