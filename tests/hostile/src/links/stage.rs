//! Two nodes with a link and a channel in common, and a stranger who connects to one of them.

use super::party::{Bytes, CHANNEL, NAME, Party, format};
use isoform::{Code, Error};
use isoform_channel_proto::{
    Action, ChannelKey, ConnId, Credentials, DialKey, Outgoing, Policy, Reach, SourceKey, Submitted, Time, Wanted,
    Window,
};
use std::collections::BTreeMap;

/// What the keys of the nodes follow from: of the one that is attacked, and of the one that must not suffer.
pub(super) const VICTIM: u8 = 0x50;
pub(super) const FRIEND: u8 = 0x60;

/// So many rounds without rest are a defect.
const RESTLESS: usize = 10_000;
/// More than this need not wait to be written to somebody who does not read.
const WAITING: usize = 5 << 20;

/// How the stranger and the application behave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Manner {
    /// The victim dials the stranger, to open a channel there.
    pub(super) dialed: bool,
    /// The stranger reads nothing of what is written to it.
    pub(super) deaf: bool,
    /// The victim's application takes nothing.
    pub(super) lazy: bool,
    /// Events are longer than a frame.
    pub(super) long: bool,
    /// The nodes admit only each other.
    pub(super) closed: bool,
}

pub(super) struct Stage {
    pub(super) now: Time,
    pub(super) victim: Party,
    friend: Party,
    manner: Manner,
    /// What is under way between the two nodes, by connection: to the victim, and to its friend.
    wires: BTreeMap<u64, [Vec<u8>; 2]>,
    /// How many connections there were.
    connections: u64,
    /// The stranger's connection at the victim, if it has one.
    stranger: Option<ConnId>,
    /// What the stranger has said, and the victim has not used.
    unused: Vec<u8>,
    /// What was written to the stranger since this was last emptied.
    pub(super) written: Vec<u8>,
    /// How many bytes were written before that.
    read: usize,
    /// The victim's source on the stranger's own channel, and how many events it has submitted there.
    elsewhere: Option<(SourceKey, u64)>,
    /// Whether it was dialed, and has answered.
    answered: bool,
    /// Why the victim has refused the stranger, if it has.
    pub(super) refusal: Option<Code>,
}

impl Stage {
    /// Both nodes are members of the channel, with sources and sinks, and the stranger is connected.
    pub(super) fn new(manner: Manner) -> Stage {
        let party = if manner.closed { Party::closed } else { Party::new };
        let mut stage = Stage {
            now: Time::from_secs(1),
            victim: party(VICTIM, "test:victim"),
            friend: party(FRIEND, "test:friend"),
            manner: Manner::default(),
            wires: BTreeMap::new(),
            connections: 0,
            stranger: None,
            unused: Vec::new(),
            written: Vec::new(),
            read: 0,
            elsewhere: None,
            answered: false,
            refusal: None,
        };
        let channel = stage.victim.node.create(CHANNEL, NAME, Some(format())).expect("a channel");
        let open =
            stage.friend.node.open(stage.now, &["test:victim".into()], NAME, None, stage.now + Time::from_secs(5));
        stage.rest();
        let opened = stage.friend.node.opened(open).expect("an answer").expect("the channel");
        stage.victim.settle(channel, &[Policy::Block, Policy::DropOldest { events: 99, bytes: 1 << 19 }]);
        stage.friend.settle(opened, &[Policy::Block]);
        stage.rest();
        stage.manner = manner;
        if manner.dialed {
            let deadline = stage.now + Time::from_secs(20);
            stage.victim.node.open(stage.now, &["test:stranger".into()], "elsewhere", None, deadline);
            stage.rest();
        } else {
            stage.connect(None);
        }
        stage
    }

    /// The stranger connects, or is connected to.
    pub(super) fn connect(&mut self, dial: Option<DialKey>) {
        let id = self.new_connection();
        self.stranger = Some(id);
        self.unused.clear();
        self.victim.node.connected(self.now, id, dial, Credentials::default());
        self.rest();
    }

    /// The stranger's connection breaks.
    pub(super) fn hang_up(&mut self) {
        if let Some(id) = self.stranger.take() {
            self.victim.node.closed(self.now, id, None);
            self.rest();
        }
    }

    fn new_connection(&mut self) -> ConnId {
        self.connections += 1;
        ConnId(self.connections)
    }

    /// The stranger says something. What its connection has no use for yet is kept, unless it is closed.
    pub(super) fn say(&mut self, bytes: &[u8]) {
        let Some(id) = self.stranger else { return };
        self.unused.extend_from_slice(bytes);
        if let Some(mut large) = self.victim.node.take_large(id) {
            let got = large.missing.min(self.unused.len());
            large.storage[large.at..large.at + got].copy_from_slice(&self.unused[..got]);
            self.unused.drain(..got);
            self.victim.node.put_large(self.now, id, large, got);
        }
        match self.victim.node.receive(self.now, id, &self.unused) {
            Ok(used) => drop(self.unused.drain(..used)),
            Err(error) => {
                super::refusal(&error);
                self.refusal.get_or_insert(error.code());
                self.unused.clear();
            }
        }
        self.rest();
        let kept = self.unused.len();
        assert!(kept <= 16 + (1 << 16), "{kept} bytes wait for more");
    }

    /// Life goes on: both applications submit something, and take what comes.
    pub(super) fn live(&mut self) {
        self.pass(Time::from_millis(3));
        let length = if self.manner.long { 70_000 } else { 8 };
        self.victim.submit(length);
        self.friend.submit(length);
        if let Some((source, next)) = &mut self.elsewhere {
            let mut body = Bytes::from(next.to_le_bytes());
            if let Ok(Submitted::Done(sequence)) = self.victim.node.submit(1, *source, None, &mut body) {
                *next = sequence + 1;
            }
        }
        self.rest();
        self.victim.is_exact();
        self.friend.is_exact();
    }

    /// Time passes.
    pub(super) fn pass(&mut self, time: Time) {
        self.now += time;
        self.victim.node.tick(self.now);
        self.friend.node.tick(self.now);
        self.rest();
    }

    /// Time passes, deadline by deadline.
    pub(super) fn pass_until(&mut self, end: Time) {
        for _ in 0..RESTLESS {
            let nodes = [&self.victim.node, &self.friend.node];
            let next = nodes.iter().filter_map(|node| node.deadline()).min().unwrap_or(end);
            if next >= end {
                return self.pass(end - self.now);
            }
            self.pass(next.saturating_sub(self.now));
            if next <= self.now {
                // A moment more, if it was due already.
                self.pass(Time::from_nanos(1));
            }
        }
        panic!(
            "deadlines that do not pass: {:?} {:?} at {:?}",
            self.victim.node.deadline(),
            self.friend.node.deadline(),
            self.now
        );
    }

    /// Does what both nodes want until they want nothing more.
    pub(super) fn rest(&mut self) {
        for _ in 0..RESTLESS {
            let mut acted = self.act(true);
            acted |= self.act(false);
            if !self.manner.lazy {
                self.victim.take(self.now);
            }
            self.friend.take(self.now);
            acted |= self.deliver();
            let waiting = self.stranger.map_or(0, |id| self.victim.node.waiting(id));
            assert!(waiting <= WAITING, "{waiting} bytes wait for somebody who does not read");
            if !acted {
                return;
            }
        }
        panic!("never at rest");
    }

    fn party(&mut self, victim: bool) -> &mut Party {
        if victim { &mut self.victim } else { &mut self.friend }
    }

    fn act(&mut self, victim: bool) -> bool {
        let mut acted = false;
        while let Some(action) = self.party(victim).node.action() {
            acted = true;
            match action {
                Action::Dial(dial, address) => self.dial(victim, dial, &address),
                Action::Write(id) | Action::Close(id) if victim && Some(id) == self.stranger => {
                    self.write_to_stranger(id, matches!(action, Action::Close(_)));
                }
                Action::Write(id) => self.write(victim, id),
                Action::Close(id) => {
                    self.write(victim, id);
                    self.deliver();
                    self.wires.remove(&id.0);
                    let now = self.now;
                    self.party(!victim).node.closed(now, id, None);
                }
                Action::Opened(open) if victim => match self.victim.node.opened(open) {
                    Some(Ok(channel)) => self.join(channel),
                    Some(Err(error)) => super::refusal(&error),
                    None => {}
                },
                Action::Changed(channel) => self.inform(victim, channel),
                Action::Opened(_) | Action::Read(_) | Action::Wake(_) | Action::Room(_) | Action::Tick => {}
            }
        }
        acted
    }

    /// The stranger's channel was opened: somebody listens to whatever comes, and tells something.
    fn join(&mut self, channel: ChannelKey) {
        let window = Window { events: 64, bytes: 1 << 20 };
        self.victim.add_sink(channel, Wanted { window, ..Wanted::any(Policy::Latest) });
        self.elsewhere = self.victim.node.add_source(channel, Some(&format())).ok().map(|source| (source, 0));
        self.victim.node.ask(channel, self.now);
    }

    /// Shows what is known of a channel, as somebody would who is curious.
    fn inform(&mut self, victim: bool, channel: ChannelKey) {
        let Some(info) = self.party(victim).node.info(channel) else { return };
        info.ledgers().for_each(|sink| assert!(!sink.ledger.to_string().is_empty()));
        info.declined.iter().for_each(|(_, error)| super::refusal(error));
    }

    fn dial(&mut self, victim: bool, dial: DialKey, address: &str) {
        let now = self.now;
        match address {
            "test:victim" | "test:friend" if victim == (address == "test:friend") => {
                let id = self.new_connection();
                self.wires.insert(id.0, Default::default());
                self.party(victim).node.connected(now, id, Some(dial), Credentials::default());
                self.party(!victim).node.connected(now, id, None, Credentials::default());
            }
            // It answers once.
            "test:stranger" if victim && self.manner.dialed && !self.answered => {
                self.answered = true;
                self.connect(Some(dial));
            }
            _ => {
                let error = Error::new(Code::Unreachable).found("nobody is there");
                self.party(victim).node.dial_failed(now, dial, error);
            }
        }
    }

    /// The stranger forgets what was written to it, unless it reads nothing.
    pub(super) fn read(&mut self) {
        if !self.manner.deaf {
            self.read += self.written.len();
            self.written.clear();
        }
    }

    /// How many bytes were written to the stranger.
    pub(super) fn told(&self) -> usize {
        self.read + self.written.len()
    }

    fn write(&mut self, victim: bool, id: ConnId) {
        let (now, mut out) = (self.now, Outgoing::<Bytes>::default());
        let node = &mut self.party(victim).node;
        node.output(now, id, &mut out);
        node.unwritten(id, 0);
        if let Some(wire) = self.wires.get_mut(&id.0) {
            wire[usize::from(victim)].extend(out.to_vec());
        }
    }

    fn write_to_stranger(&mut self, id: ConnId, last: bool) {
        // Who has not read what was written before is not written to.
        if !self.manner.deaf || self.written.is_empty() || last {
            let mut out = Outgoing::<Bytes>::default();
            self.victim.node.output(self.now, id, &mut out);
            self.written.extend(out.to_vec());
            self.victim.node.unwritten(id, if self.manner.deaf { self.written.len() } else { 0 });
        }
        if last {
            self.stranger = None;
        }
    }

    /// Hands both nodes what is under way to them.
    fn deliver(&mut self) -> bool {
        let mut delivered = false;
        for id in self.wires.keys().copied().collect::<Vec<_>>() {
            for victim in [true, false] {
                let Some(wire) = self.wires.get_mut(&id) else { continue };
                let bytes = std::mem::take(&mut wire[usize::from(!victim)]);
                let now = self.now;
                let used = self.party(victim).node.receive(now, ConnId(id), &bytes).unwrap_or(bytes.len());
                delivered |= used > 0;
                if let Some(wire) = self.wires.get_mut(&id) {
                    wire[usize::from(!victim)].splice(0..0, bytes[used..].iter().copied());
                }
            }
        }
        delivered
    }

    /// The stranger is silent from now on. Asserts that everything is soon as if it had never been there.
    pub(super) fn end(&mut self) {
        self.manner.lazy = false;
        // Longer than a handshake, a silence, and a link without a connection may take.
        self.pass_until(self.now + Time::from_secs(30));
        assert!(self.stranger.is_none(), "a connection on which nothing comes stays");
        self.manner.long = false;
        for _ in 0..3 {
            self.live();
        }
        assert!(self.victim.submit(8) && self.friend.submit(8), "who is gone still lets others wait");
        self.pass(Time::from_millis(50));
        self.victim.has_all_of(&self.friend);
        self.friend.has_all_of(&self.victim);
        self.victim.has_all_of(&self.victim);
        let info = self.victim.channel.and_then(|channel| self.victim.node.info(channel)).expect("the channel");
        let linked = info.members.iter().filter(|member| matches!(member.reach, Reach::Here | Reach::Linked));
        assert_eq!(linked.count(), 2, "the stranger is still linked");
        self.victim.is_exact();
        self.friend.is_exact();
        self.victim.node.leave();
        self.rest();
        self.pass(Time::from_secs(1));
        self.victim.is_exact();
        self.friend.is_exact();
    }
}
