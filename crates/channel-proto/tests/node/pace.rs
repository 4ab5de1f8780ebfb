//! How many handshakes a node makes for those who connect, and how others wait for theirs (`spec/channel.md`, "Handshakes that
//! wait").

use isoform_channel_proto::{
    Access, Action, Admission, Budgets, ConnId, Credentials, FrameKind, HEADER, Header, Hello, Identity, Key, KeyName,
    Node, NodeId, Outgoing, OwnUser, Resource, Settings, SharedKey, Time,
};
use isoform_core::Code;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

type Machine = Node<Arc<[u8]>, Vec<u8>>;

/// The keys of one who connects in a loop, of others, and of the node's own user.
const GREEDY: u8 = 1;
const HONEST: u8 = 2;
const OWN: u8 = 3;
/// No key that the node knows.
const NONE: u8 = 9;
const USER: u32 = 1000;

const AT_ONCE: usize = 4_096;
const A_SECOND: usize = 128;
/// Those of an address, before a handshake of TLS.
const OF_ADDRESS: usize = 4_096;
const OF_ADDRESS_A_SECOND: usize = 32;
const REFUSED_AT_ONCE: usize = 1_024;
const REFUSED_A_SECOND: usize = 32;
const PATIENCE: Time = Time::from_secs(4);

fn shared(byte: u8) -> SharedKey {
    SharedKey::new([byte; 32])
}

fn from(last: u8) -> Credentials {
    Credentials { address: Some(Ipv4Addr::new(192, 0, 2, last).into()), ..Credentials::default() }
}

/// A node to which others connect.
struct Host {
    node: Machine,
    /// The key of all who connect.
    guest: Key,
    now: Time,
    connections: u64,
    said: BTreeMap<ConnId, Vec<u8>>,
    closed: BTreeSet<ConnId>,
    may_read: Vec<ConnId>,
}

impl Host {
    fn new() -> Host {
        Host::with(Settings::default())
    }

    fn with(settings: Settings) -> Host {
        let keys = [GREEDY, HONEST, OWN].map(shared).to_vec();
        let access = Access { keys, admission: Admission::Known { users: vec![USER] } };
        let own_user = OwnUser { users: vec![USER], key: Some(shared(OWN).name()) };
        let mut node = Node::new(Key::from_seed([200; 32]), Settings { access, own_user, ..settings });
        node.create(Identity([9; 16]), "river", None).unwrap();
        let (said, closed, may_read) = Default::default();
        let guest = Key::from_seed([1; 32]);
        Host { node, guest, now: Time::from_secs(1), connections: 0, said, closed, may_read }
    }

    fn connect(&mut self, who: Credentials) -> ConnId {
        self.connections += 1;
        let id = ConnId(self.connections);
        self.node.connected(self.now, id, None, who);
        id
    }

    /// Somebody connects, and says a Hello with a key.
    fn hello(&mut self, key: u8, who: Credentials) -> ConnId {
        let id = self.connect(who);
        let mut keys = [KeyName::NONE; 4];
        keys[0] = shared(key).name();
        let (public, nonce) = (self.guest.public(), self.guest.nonce(id.0));
        let (wanted, tags) = (NodeId::ANY, Default::default());
        let hello = Hello { public, nonce, wanted, keys, tags }.tagged(&[shared(key)]);
        self.says(id, &hello);
        id
    }

    /// Somebody who has no key connects, and says a Hello that names one.
    fn names(&mut self, key: u8, who: Credentials) -> ConnId {
        let id = self.connect(who);
        let (public, nonce) = (self.guest.public(), self.guest.nonce(id.0));
        let (wanted, keys, tags) = (NodeId::ANY, [shared(key).name(); 4], [[7; 8]; 4]);
        self.says(id, &Hello { public, nonce, wanted, keys, tags });
        id
    }

    fn says(&mut self, id: ConnId, hello: &Hello) {
        _ = self.node.receive(self.now, id, &hello.to_bytes());
        self.act();
    }

    fn act(&mut self) {
        while let Some(action) = self.node.action() {
            match action {
                Action::Write(id) | Action::Close(id) => {
                    let mut out = Outgoing::default();
                    self.node.output(self.now, id, &mut out);
                    self.said.entry(id).or_default().extend(out.to_vec());
                    if matches!(action, Action::Close(_)) {
                        self.closed.insert(id);
                    }
                }
                Action::Read(id) => self.may_read.push(id),
                _ => {}
            }
        }
    }

    /// Time passes, in which the node does what is due.
    fn pass(&mut self, time: Time) {
        let end = self.now + time;
        while let Some(due) = self.node.deadline().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.node.tick(self.now);
            self.act();
        }
        self.now = end;
    }

    /// Whether this node has proven to somebody who it is.
    fn has_answered(&self, id: ConnId) -> bool {
        self.said.get(&id).is_some_and(|said| said.len() > Hello::LENGTH && !self.closed.contains(&id))
    }

    /// The code with which this node has refused a connection, once it has.
    fn refused(&self, id: ConnId) -> Option<u16> {
        let said = self.said.get(&id).filter(|_| self.closed.contains(&id))?;
        let frame = &said[Hello::LENGTH..];
        let header = Header::parse(frame.first_chunk().unwrap()).unwrap();
        assert_eq!(header.kind, Some(FrameKind::Bye));
        Some(u16::from_le_bytes(*frame[HEADER..].first_chunk().unwrap()))
    }

    fn answered(&self, all: &[ConnId]) -> usize {
        all.iter().filter(|&&id| self.has_answered(id)).count()
    }

    /// The other side goes, so that there is room for others.
    fn go(&mut self, id: ConnId) {
        self.node.closed(self.now, id, None);
        self.act();
    }

    /// Another node with a key connects, and opens the channel. Returns whether it could at once.
    fn opens(&mut self, key: u8) -> bool {
        self.opens_within(Time::ZERO, key)
    }

    /// Likewise; whether it could within ten times this time.
    fn opens_within(&mut self, pause: Time, key: u8) -> bool {
        let (id, has_opened) = self.opens_and_stays(key, pause);
        self.go(id);
        has_opened
    }

    /// Likewise, with its connection, which stays.
    fn opens_and_stays(&mut self, key: u8, pause: Time) -> (ConnId, bool) {
        let access = Access { keys: vec![shared(key)], admission: Admission::Known { users: Vec::new() } };
        let seed = [&[key][..], &self.connections.to_le_bytes(), &[0; 23]].concat().try_into().unwrap();
        let mut node = Machine::new(Key::from_seed(seed), Settings { access, ..Settings::default() });
        let open = node.open(self.now, &["test:host".into()], "river", None, self.now + Time::from_secs(60));
        let Some(Action::Dial(dial, _)) = node.action() else { panic!("somebody is dialed") };
        let id = self.connect(from(1));
        node.connected(self.now, id, Some(dial), Credentials::default());
        for _ in 0..10 {
            let mut out = Outgoing::default();
            node.output(self.now, id, &mut out);
            node.unwritten(id, 0);
            self.node.receive(self.now, id, &out.to_vec()).unwrap();
            self.act();
            self.pass(pause);
            node.receive(self.now, id, &self.said.remove(&id).unwrap_or_default()).unwrap();
            self.node.unwritten(id, 0);
        }
        (id, node.opened(open).is_some_and(|opened| opened.is_ok()))
    }

    /// All handshakes of a credential that there are at once.
    fn exhaust(&mut self, key: u8, who: &Credentials) {
        for _ in 0..AT_ONCE {
            let id = self.hello(key, who.clone());
            assert!(self.has_answered(id));
            self.go(id);
        }
    }
}

#[test]
fn a_credential_has_so_many_handshakes_and_others_have_theirs() {
    let mut host = Host::new();
    host.exhaust(GREEDY, &from(1));
    let waiting: Vec<_> = (0..1_000).map(|_| host.hello(GREEDY, from(1))).collect();
    assert_eq!(host.answered(&waiting), 0);
    // Another key at the same address, programs of the own user with their key or by their number, and other users.
    let user = |number| Credentials { local_user: Some(number), ..Credentials::default() };
    for (key, who) in [(HONEST, from(1)), (OWN, from(1)), (NONE, user(USER)), (GREEDY, user(USER + 1))] {
        let id = host.hello(key, who);
        assert!(host.has_answered(id));
    }
    for second in 1..=3 {
        host.pass(Time::from_secs(1));
        assert!(host.answered(&waiting).abs_diff(second * A_SECOND) <= 1, "{}", host.answered(&waiting));
    }
    let [first, middle, last] = [0, 500, 999].map(|at| host.has_answered(waiting[at]));
    assert!(first && !middle && last, "the oldest and the newest take turns");
}

#[test]
fn the_oldest_and_the_newest_of_each_address_take_turns() {
    let mut host = Host::new();
    host.exhaust(GREEDY, &from(1));
    let waiting = [1, 2].map(|address| [0; 600].map(|_| host.hello(GREEDY, from(address))));
    host.pass(Time::from_millis(40));
    for of_address in &waiting {
        let [oldest, middle, newest] = [0, 300, 599].map(|at| host.has_answered(of_address[at]));
        assert!(oldest && !middle && newest);
    }
}

#[test]
fn a_loop_gets_so_many_handshakes_in_a_second() {
    let mut host = Host::new();
    host.exhaust(GREEDY, &from(1));
    let (mut count, mut turns) = (0, [0; 4].map(|_| host.hello(GREEDY, from(1))));
    for _ in 0..5_000 {
        host.pass(Time::from_millis(2));
        for id in &mut turns {
            if host.has_answered(*id) {
                count += 1;
                host.go(*id);
                *id = host.hello(GREEDY, from(1));
            }
        }
    }
    assert!((10 * A_SECOND - 200..=10 * A_SECOND + 8).contains(&count), "{count} in ten seconds");
}

#[test]
fn who_connects_from_one_address_does_not_hold_up_others_with_the_same_key() {
    let mut host = Host::new();
    host.exhaust(GREEDY, &from(1));
    let crowd: Vec<_> = (0..600).map(|_| host.hello(GREEDY, from(1))).collect();
    let other = host.hello(GREEDY, from(2));
    host.pass(Time::from_millis(20));
    assert!(host.has_answered(other), "the second turn is its own");
    assert!(host.answered(&crowd) <= 2);
    // Whoever has one address of a network has all of them.
    let at = |network: u16, host: u16| {
        let address: IpAddr = Ipv6Addr::new(0x2001, 0xdb8, 0, network, 0, 0, 0, host).into();
        Credentials { address: Some(address), ..Credentials::default() }
    };
    let crowd: Vec<_> = (0..200).map(|last| host.hello(GREEDY, at(1, last))).collect();
    let other = host.hello(GREEDY, at(2, 0));
    host.pass(Time::from_millis(60));
    assert!(host.has_answered(other));
    assert!(host.answered(&crowd) <= 4, "{}", host.answered(&crowd));
}

#[test]
fn who_waits_for_too_long_is_told_why() {
    let mut host = Host::new();
    host.exhaust(GREEDY, &from(1));
    let waiting: Vec<_> = (0..2_000).map(|_| host.hello(GREEDY, from(1))).collect();
    host.pass(PATIENCE - Time::from_millis(10));
    assert!(waiting.iter().all(|&id| host.refused(id).is_none()));
    host.pass(Time::from_millis(20));
    let refused: Vec<_> = waiting.iter().filter_map(|&id| host.refused(id)).collect();
    assert!(refused.len().abs_diff(2_000 - 4 * A_SECOND) < 10, "{}", refused.len());
    assert!(refused.iter().all(|&code| code == Code::Budget as u16));
    let told = host.node.refusals();
    let told = told.iter().find(|refusal| refusal.code == Code::Budget as u16).unwrap();
    assert!(told.last.contains("handshakes of the nodes with one credential"), "{}", told.last);
}

#[test]
fn strangers_are_refused_at_a_pace_that_holds_up_nobody_else() {
    let mut host = Host::new();
    let not_admitted = Some(Code::NotAdmitted as u16);
    for _ in 0..REFUSED_AT_ONCE {
        let id = host.hello(NONE, from(1));
        assert_eq!(host.refused(id), not_admitted);
    }
    let waiting: Vec<_> = (0..500).map(|_| host.hello(NONE, from(1))).collect();
    // So do those that speak something else. They get no answer in the end.
    let other = host.connect(from(1));
    host.node.receive(host.now, other, b"GET / HTTP/1.1\r\n\r\n").unwrap_err();
    let honest = host.hello(HONEST, from(1));
    assert!(host.has_answered(honest));
    assert_eq!(host.closed.len(), REFUSED_AT_ONCE);
    // What they say meanwhile is not kept, and changes nothing.
    assert_eq!(host.node.receive(host.now, waiting[0], &[7; 9000]).unwrap(), 9000);
    host.pass(Time::from_secs(1));
    let count = waiting.iter().filter(|&&id| host.refused(id) == not_admitted).count();
    assert!(count.abs_diff(REFUSED_A_SECOND) <= 1, "{count}");
    host.pass(PATIENCE);
    assert!(waiting.iter().all(|&id| host.refused(id) == not_admitted), "with the reason that there was");
    assert!(host.closed.contains(&other) && host.said[&other].is_empty());
}

/// The names of keys are no secret: they are in each Hello.
#[test]
fn who_only_names_a_key_takes_nothing_from_those_that_have_it() {
    let mut host = Host::with(Settings { connections: 64, ..Settings::default() });
    host.exhaust(HONEST, &from(1));
    let waits = host.hello(HONEST, from(1));
    let strangers: Vec<_> = (0..2 * AT_ONCE).map(|_| host.names(HONEST, from(1))).collect();
    assert_eq!(host.answered(&strangers), 0);
    assert!(strangers.iter().filter_map(|&id| host.refused(id)).all(|code| code != Code::Budget as u16));
    assert!(host.refused(waits).is_none(), "those that claim nothing give way to each other");
    host.pass(Time::from_millis(10));
    assert!(host.has_answered(waits), "the next turn is its own");
}

#[test]
fn a_handshake_that_has_waited_goes_on() {
    let mut host = Host::new();
    host.exhaust(HONEST, &from(1));
    assert!(!host.opens(HONEST) && host.opens_within(Time::from_millis(10), HONEST));
}

/// A node that comes and goes with a key must not make links all the time, and one that only names the key must not use
/// up the handshakes of those that have it.
#[test]
fn fewer_handshakes_are_proven_than_claimed() {
    const PROVEN_AT_ONCE: usize = 256;
    let budgets = Budgets::default();
    let credential = budgets.credential.with(Resource::Handshakes, 8);
    let mut host = Host::with(Settings { budgets: Budgets { credential, ..budgets }, ..Settings::default() });
    // Nobody proves these claims.
    let claims: Vec<_> = (0..PROVEN_AT_ONCE + 1).map(|_| host.hello(HONEST, from(1))).collect();
    assert_eq!(host.answered(&claims), PROVEN_AT_ONCE);
    host.pass(Time::from_secs(40));
    for number in 0..PROVEN_AT_ONCE {
        assert!(host.opens(HONEST) && (number > 0 || host.opens(GREEDY)), "{number}");
    }
    host.pass(Time::from_millis(500));
    assert!(!host.opens(HONEST) && host.opens(GREEDY));
    host.pass(Time::from_secs(2));
    assert!(host.opens(HONEST));
}

#[test]
fn a_link_that_ends_for_a_budget_costs_some_handshakes() {
    const OF_BUDGET: usize = 8;
    let ends = |host: &mut Host, key: u8, is_greedy: bool| {
        let (id, has_opened) = host.opens_and_stays(key, Time::ZERO);
        while is_greedy && host.node.is_linked(id) {
            _ = host.node.came_in_pieces(host.now, id);
        }
        host.act();
        assert_eq!(host.closed.contains(&id), is_greedy && has_opened);
        host.go(id);
        has_opened
    };
    for key in [GREEDY, OWN] {
        let mut host = Host::new();
        let budgets = (0..AT_ONCE).take_while(|_| ends(&mut host, key, true)).count();
        assert!(budgets.abs_diff(AT_ONCE / (1 + OF_BUDGET)) <= 1, "{budgets}");
    }
    let mut host = Host::new();
    assert!((0..AT_ONCE).all(|_| ends(&mut host, GREEDY, false)), "those in order");
}

#[test]
fn what_is_said_before_an_answer_is_little() {
    let mut host = Host::new();
    host.exhaust(GREEDY, &from(1));
    let [one, other, gone] = [0; 3].map(|_| host.hello(GREEDY, from(1)));
    // A Bye may be under way.
    assert_eq!(host.node.receive(host.now, one, &[7; 4_096]).unwrap(), 0);
    assert_eq!(host.node.receive(host.now, other, &[7; 4_097]).unwrap_err().code(), Code::Handshake);
    host.go(gone);
    host.pass(Time::from_secs(1));
    assert!(!host.has_answered(gone));
}

#[test]
fn before_a_handshake_of_tls_an_address_counts() {
    let mut host = Host::new();
    for _ in 0..OF_ADDRESS {
        let id = host.connect(from(1));
        assert!(host.node.may_read(host.now, id));
        host.go(id);
    }
    let waiting: Vec<_> = (0..600).map(|_| host.connect(from(1))).collect();
    assert!(waiting.iter().all(|&id| !host.node.may_read(host.now, id)));
    let other = host.connect(from(2));
    assert!(host.node.may_read(host.now, other));
    host.pass(Time::from_secs(1));
    assert!(host.may_read.len().abs_diff(OF_ADDRESS_A_SECOND) <= 1, "{}", host.may_read.len());
    assert_eq!(host.may_read[..3], [waiting[0], waiting[599], waiting[1]]);
    host.pass(PATIENCE);
    assert!(waiting.iter().all(|id| host.may_read.contains(id) || host.closed.contains(id)));
}

#[test]
fn bytes_in_pieces_count_under_their_address_and_then_wait() {
    let mut host = Host::new();
    let one = host.connect(from(1));
    for _ in 0..OF_ADDRESS {
        assert_eq!(host.node.came_in_pieces(host.now, one), Ok(true));
    }
    assert_eq!(host.node.came_in_pieces(host.now, one), Ok(false));
    // Those of another address do not wait, and one that says its Hello at once does not either.
    let other = host.connect(from(2));
    assert_eq!(host.node.came_in_pieces(host.now, other), Ok(true));
    let whole = host.hello(HONEST, from(1));
    assert!(host.has_answered(whole));
    host.pass(Time::from_millis(100));
    assert_eq!(host.may_read, [one]);
    // One that waits for something else is not read meanwhile, and goes on then.
    host.exhaust(GREEDY, &from(3));
    let waits = host.hello(GREEDY, from(4));
    assert_eq!(host.node.came_in_pieces(host.now, waits), Ok(false));
    host.pass(Time::from_millis(100));
    assert!(host.has_answered(waits) && host.may_read.contains(&waits));
    // There are so many in a second, and some wait in vain.
    let all: Vec<_> = (0..500).map(|_| host.connect(from(1))).collect();
    let waiting: Vec<_> = all.iter().filter(|&&id| host.node.came_in_pieces(host.now, id) == Ok(false)).collect();
    assert!(waiting.len() >= all.len() - OF_ADDRESS_A_SECOND, "{}", waiting.len());
    host.pass(PATIENCE);
    assert!(waiting.iter().all(|id| host.may_read.contains(id) || host.closed.contains(id)));
}
