//! What strangers claim: to be another node, to be found at another's address, to have another channel. A claim counts
//! for nothing (`spec/channel.md`, "Identity").

use isoform_channel_proto::{
    Action, Batch, ConnId, Credentials, FrameKind, Greetings, HEADER, Header, Hello, Identity, Item, Key, Node, NodeId,
    Outgoing, Policy, Settings, Side, SinkKey, SourceKey, Time, Wanted,
};
use isoform_core::{Code, Error};
use std::sync::Arc;

type Body = Arc<[u8]>;

const NOW: Time = Time::ZERO;
/// The length of a Proof frame, with its header.
const PROOF: usize = 112;

/// Nodes that hear each other: who is dialed at `test:N` is the node of that number.
struct World {
    nodes: Vec<Node<Body, Vec<u8>>>,
    /// Between whom each connection is, the dialer first. Strangers are nobody's.
    connections: Vec<[Option<usize>; 2]>,
    /// What each connection has carried to its dialer, and to its acceptor.
    carried: Vec<[Vec<u8>; 2]>,
    used: Vec<[usize; 2]>,
    errors: Vec<Error>,
    /// The connections that nodes have closed.
    closed: Vec<usize>,
    /// The byte of an Opened that is changed, and what it becomes.
    tamper: Option<(usize, u8)>,
}

fn key(number: usize) -> Key {
    Key::from_seed([number as u8 + 1; 32])
}

impl World {
    /// So many nodes, each of which says that it is found at the address that `claim` tells.
    fn new(count: usize, claim: impl Fn(usize) -> usize) -> World {
        let node = |number| {
            let addresses = vec![format!("test:{}", claim(number))];
            Node::new(key(number), Settings { addresses, ..Settings::default() })
        };
        let nodes = (0..count).map(node).collect();
        World {
            nodes,
            connections: Vec::new(),
            carried: Vec::new(),
            used: Vec::new(),
            errors: Vec::new(),
            closed: Vec::new(),
            tamper: None,
        }
    }

    fn connect(&mut self, ends: [Option<usize>; 2]) -> usize {
        self.connections.push(ends);
        self.carried.push([Vec::new(), Vec::new()]);
        self.used.push([0, 0]);
        self.connections.len() - 1
    }

    /// A stranger connects to a node.
    fn visit(&mut self, host: usize) -> usize {
        let wire = self.connect([None, Some(host)]);
        self.nodes[host].connected(NOW, ConnId(wire as u64), None, Credentials::default());
        wire
    }

    fn say(&mut self, wire: usize, bytes: &[u8]) {
        self.carried[wire][1].extend(bytes);
        self.run();
    }

    fn run(&mut self) {
        for _ in 0..60 {
            for i in 0..self.nodes.len() {
                while let Some(action) = self.nodes[i].action() {
                    self.act(i, action);
                }
            }
            for wire in 0..self.connections.len() {
                for end in 0..2 {
                    self.read(wire, end);
                }
            }
        }
    }

    fn act(&mut self, from: usize, action: Action) {
        match action {
            Action::Dial(dial, address) => {
                let to: usize = address.trim_start_matches("test:").parse().expect("a number");
                let wire = self.connect([Some(from), Some(to)]);
                self.nodes[from].connected(NOW, ConnId(wire as u64), Some(dial), Credentials::default());
                self.nodes[to].connected(NOW, ConnId(wire as u64), None, Credentials::default());
            }
            Action::Write(id) | Action::Close(id) => {
                if matches!(action, Action::Close(_)) {
                    self.closed.push(id.0 as usize);
                }
                let mut out = Outgoing::default();
                self.nodes[from].output(NOW, id, &mut out);
                self.nodes[from].unwritten(id, 0);
                let [dialer, _] = self.connections[id.0 as usize];
                let to = if dialer == Some(from) { 1 } else { 0 };
                let mut bytes = out.to_vec();
                self.tamper(&mut bytes);
                self.carried[id.0 as usize][to].extend(bytes);
            }
            _ => {}
        }
    }

    fn tamper(&mut self, bytes: &mut [u8]) {
        let Some((at, byte)) = self.tamper else { return };
        let mut frame = 0;
        while let Some(header) = bytes.get(frame..).and_then(|rest| Header::parse(rest.first_chunk()?).ok()) {
            if header.kind == Some(FrameKind::Opened) {
                bytes[frame + HEADER + at] = byte;
                self.tamper = None;
            }
            frame += header.extent();
        }
    }

    fn read(&mut self, wire: usize, end: usize) {
        let Some(node) = self.connections[wire][end] else { return };
        let rest = &self.carried[wire][end][self.used[wire][end]..];
        match self.nodes[node].receive(NOW, ConnId(wire as u64), rest) {
            Ok(used) => self.used[wire][end] += used,
            Err(error) => {
                self.used[wire][end] = self.carried[wire][end].len();
                self.errors.push(error);
            }
        }
    }

    /// The second node has a sink for what the first one submits.
    fn settle(&mut self) -> (SourceKey, SinkKey) {
        let made = self.nodes[0].create(Identity([9; 16]), "ticks", None).unwrap();
        let source = self.nodes[0].add_source(made, None).unwrap();
        let open = self.nodes[1].open(NOW, &["test:0".into()], "ticks", None, Time::from_secs(5));
        self.run();
        let channel = self.nodes[1].opened(open).unwrap().unwrap();
        let sink = self.nodes[1].add_sink(channel, Wanted::any(Policy::Block)).unwrap();
        self.run();
        (source, sink)
    }

    fn items(&mut self, node: usize, sink: SinkKey) -> Vec<String> {
        let (mut batch, mut items) = (Batch::default(), Vec::new());
        while self.nodes[node].take(NOW, sink, &mut batch) {
            items.extend(batch.items().map(|item| match item {
                Item::Granted(_, granted) => format!("granted {granted}"),
                Item::Event { sequence, .. } => format!("event {sequence}"),
                Item::Head(head) => format!("head {}", head.sequence),
                Item::Gap(_, gap) => format!("gap {gap}"),
                Item::Joined { .. } => "joined".into(),
                Item::Left(_) => "left".into(),
                Item::Refused(..) => "refused".into(),
                Item::Given(_, given) => format!("given {}", given.values),
            }));
        }
        items
    }
}

fn format() -> isoform_core::Format {
    let list = isoform_core::FieldList::new("Tick").field("count", "integer", 8, 0);
    list.format(isoform_core::Machine::NATIVE, 8, 8).unwrap()
}

/// The Hello of a node, as whoever has seen its public key can say it.
fn claim(number: usize, nonce: u8) -> Hello {
    let (keys, tags) = Default::default();
    Hello { public: key(number).public(), nonce: [nonce; 32], wanted: NodeId::ANY, keys, tags }
}

#[test]
fn a_stranger_with_the_public_key_of_a_member_is_not_that_member() {
    let mut world = World::new(2, |number| number);
    let (source, sink) = world.settle();
    assert_eq!(world.items(1, sink), ["joined"]);
    // The true node's handshake, as somebody recorded it.
    let recorded = world.carried[0][1][..Hello::LENGTH + PROOF].to_vec();
    let start = [8u8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 232, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let another = key(7).prove(&Greetings { binding: [0; 32], dialer: b"any", acceptor: b"thing" }, Side::Dialer);
    for host in [0, 1] {
        let member = 1 - host;
        for said in [
            recorded.clone(),
            [&claim(member, 3).to_bytes()[..], &recorded[Hello::LENGTH..]].concat(),
            [&claim(member, 4).to_bytes()[..], &start].concat(),
            [&claim(member, 5).to_bytes()[..], &[96, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &another, &[0; 32]]
                .concat(),
        ] {
            let (wire, errors) = (world.visit(host), world.errors.len());
            world.say(wire, &said);
            assert_eq!(world.errors.len(), errors + 1, "{:?}", world.errors);
            let code = world.errors[errors].code();
            // What was recorded of a node is no news to that node itself.
            assert!(matches!(code, Code::Handshake | Code::WrongNode), "{code:?}");
        }
        // Nor is what the host itself says proof of anything.
        let wire = world.visit(host);
        world.say(wire, &claim(member, 6).to_bytes());
        let proof = world.carried[wire][0][Hello::LENGTH..Hello::LENGTH + PROOF].to_vec();
        let errors = world.errors.len();
        world.say(wire, &proof);
        assert_eq!(world.errors[errors..].iter().map(Error::code).collect::<Vec<_>>(), [Code::Handshake]);
    }
    // The link has noticed nothing.
    for sequence in 0..3 {
        world.nodes[0].submit(7, source, Some(&format()), &mut Body::from([1; 8])).unwrap();
        world.run();
        assert_eq!(world.items(1, sink), [format!("event {sequence}")]);
    }
    let ledger = world.nodes[0].ledger(source)[0].ledger;
    assert_eq!((ledger.submitted, ledger.lost()), (3, 0));
}

#[test]
fn a_claimed_address_is_dialed_before_it_counts() {
    // The second node says that it is found where the third one is.
    let mut world = World::new(3, |number| if number == 1 { 2 } else { number });
    world.settle();
    world.nodes[1].create(Identity([6; 16]), "river", None).unwrap();
    world.nodes[2].create(Identity([7; 16]), "river", None).unwrap();
    let open = world.nodes[0].open(NOW, &["test:2".into()], "river", None, Time::from_secs(5));
    world.run();
    let channel = world.nodes[0].opened(open).unwrap().unwrap();
    assert_eq!(world.nodes[0].info(channel).unwrap().identity, Identity([7; 16]));
    // A node that was reached where it says counts there, and is not dialed again.
    let connections = world.connections.len();
    world.nodes[2].create(Identity([8; 16]), "lake", None).unwrap();
    let open = world.nodes[0].open(NOW, &["test:2".into()], "lake", None, Time::from_secs(5));
    world.run();
    assert!(world.nodes[0].opened(open).unwrap().is_ok());
    assert_eq!(world.connections.len(), connections);
}

#[test]
fn another_channel_than_was_asked_for_is_not_opened() {
    let mut world = World::new(2, |number| number);
    // The host's answer is changed on its way: it names another channel, or another identity.
    for (at, byte) in [(8, 5), (26, b'x')] {
        let channel = world.nodes[0].create(Identity([9; 16]), "ticks", None).unwrap();
        let open = world.nodes[1].open(NOW, &["test:0".into()], "ticks", Some(Identity([9; 16])), Time::from_secs(5));
        world.tamper = Some((at, byte));
        world.run();
        assert_eq!(world.nodes[1].opened(open).unwrap().unwrap_err().code(), Code::NoSuchChannel);
        assert_eq!(world.nodes[0].info(channel).unwrap().members.len(), 1, "it is told that nobody came");
        world.nodes[0].close(channel);
        world.run();
    }
}

#[test]
fn silent_strangers_give_way() {
    let mut world = World::new(2, |number| number);
    world.nodes[0] =
        Node::new(key(0), Settings { connections: 5, addresses: vec!["test:0".into()], ..Settings::default() });
    let visits: Vec<usize> = (0..50).map(|_| world.visit(0)).collect();
    world.run();
    assert_eq!(world.closed.len(), 45, "{:?}", world.closed);
    assert_eq!(world.closed, visits[..45], "the oldest");
    // A node that proves who it is gets in, and stays.
    let (source, sink) = world.settle();
    (0..50).for_each(|_| _ = world.visit(0));
    world.nodes[0].submit(7, source, Some(&format()), &mut Body::from([1; 8])).unwrap();
    world.run();
    assert_eq!(world.items(1, sink), ["joined", "event 0"]);
}

#[test]
fn the_highest_version_that_both_know_is_spoken() {
    let mut world = World::new(1, |number| number);
    for versions in [[1, 2], [2, 2]] {
        let (wire, errors) = (world.visit(0), world.errors.len());
        let mut hello = claim(5, versions[0]).to_bytes();
        hello[4..6].copy_from_slice(&versions);
        world.say(wire, &hello);
        if versions == [2, 2] {
            assert_eq!(world.errors[errors].code(), Code::Version);
            assert!(world.closed.contains(&wire));
            continue;
        }
        let acceptor = world.carried[wire][0][..Hello::LENGTH].to_vec();
        let greetings = Greetings { binding: [0; 32], dialer: &hello, acceptor: &acceptor };
        let proof = key(5).prove(&greetings, Side::Dialer);
        let head = |length: u8, kind: u8| [length, 0, 0, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut terms = [0; 32];
        (terms[8], terms[13], terms[16]) = (70, 40, 9);
        world.say(wire, &[&head(96, 5)[..], &proof, &[0; 32], &head(26, 6), &terms].concat());
        assert!(world.errors.is_empty(), "{:?}", world.errors);
        let answer = &world.carried[wire][0][Hello::LENGTH + PROOF..];
        assert_eq!(Header::parse(answer.first_chunk().unwrap()).unwrap().kind, Some(FrameKind::Terms));
    }
}

#[test]
fn a_refused_hello_is_answered_with_a_hello_and_the_reason() {
    let valid = claim(5, 1).to_bytes();
    let changed = |at: usize, bytes: &[u8]| [&valid[..at], bytes, &valid[at + bytes.len()..]].concat();
    let refused = [
        (changed(4, &[2, 2]), Code::Version),
        (changed(6, &[1]), Code::Flags),
        (changed(152, &[1, 16]), Code::Handshake),
        (b"\x16\x03\x01".to_vec(), Code::Handshake),
    ];
    let mut world = World::new(1, |number| number);
    for (hello, code) in refused {
        let wire = world.visit(0);
        world.say(wire, &hello);
        assert!(world.closed.contains(&wire), "{code:?}");
        let (acceptor, bye) = world.carried[wire][0].split_at(Hello::LENGTH);
        assert_eq!(Hello::parse(acceptor).unwrap().unwrap().0.node(), key(0).id());
        assert_eq!(Header::parse(bye.first_chunk().unwrap()).unwrap().kind, Some(FrameKind::Bye));
        assert_eq!(bye[HEADER..HEADER + 2], (code as u16).to_le_bytes());
    }
    let wire = world.visit(0);
    world.say(wire, b"GET / HTTP/1.1\r\n");
    assert!(world.closed.contains(&wire) && world.carried[wire][0].is_empty(), "a program of another protocol");
}
