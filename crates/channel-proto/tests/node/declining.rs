//! Heads of long events, and sinks that decline the rest: with nodes that say it at the wrong time, or go on nevertheless.

use isoform_channel_proto::{
    Action, Batch, Cause, ConnId, Credentials, FrameKind, HEADER, Header, Identity, Item, Key, Node, Outgoing, Policy,
    Settings, SinkKey, SourceKey, SourceRef, Submitted, Time, Wanted, Window,
};
use isoform_core::{Code, Error, FieldList, Format, Machine};
use std::sync::Arc;

type Body = Arc<[u8]>;

const ID: ConnId = ConnId(1);
/// So many bytes are longer than what a node gives to a connection that takes nothing.
const LONG: usize = 8 << 20;

/// A node with a source, another one with a sink that asked for heads, and what is on its way between them.
struct Pair {
    nodes: [Node<Body, Vec<u8>>; 2],
    wires: [Vec<u8>; 2],
    now: Time,
    source: SourceKey,
    sink: SinkKey,
    /// The source as the sink's node knows it.
    from: SourceRef,
}

fn format() -> Format {
    FieldList::new("Image").field("number", "integer", 8, 0).format(Machine::NATIVE, 8, 8).unwrap()
}

impl Pair {
    fn new() -> Pair {
        let node = |byte| {
            let addresses = vec![format!("test:{byte}")];
            Node::new(Key::from_seed([byte; 32]), Settings { addresses, ..Settings::default() })
        };
        let mut nodes = [node(1), node(2)];
        let channel = nodes[0].create(Identity([9; 16]), "images", None).unwrap();
        let source = nodes[0].add_source(channel, Some(&format())).unwrap();
        let (sink, from) = (SinkKey(0), SourceRef(0));
        let (wires, now) = ([Vec::new(), Vec::new()], Time::ZERO);
        let mut pair = Pair { nodes, wires, now, source, sink, from };
        let open = pair.nodes[1].open(Time::ZERO, &["test:1".into()], "images", None, Time::from_secs(5));
        pair.run();
        let window = Window { events: 16, bytes: 64 << 20 };
        let channel = pair.nodes[1].opened(open).unwrap().unwrap();
        pair.sink =
            pair.nodes[1].add_sink(channel, Wanted { heads: true, window, ..Wanted::any(Policy::Block) }).unwrap();
        pair.run();
        let joined = pair.items().into_iter().find_map(|item| match item {
            Item::Joined { source, .. } => Some(source),
            _ => None,
        });
        pair.from = joined.unwrap();
        pair
    }

    /// What a node has to write goes onto the wire, once.
    fn write(&mut self, i: usize) -> bool {
        let mut wrote = false;
        while let Some(action) = self.nodes[i].action() {
            match action {
                Action::Dial(dial, _) => {
                    self.nodes[i].connected(self.now, ID, Some(dial), Credentials::default());
                    self.nodes[1 - i].connected(self.now, ID, None, Credentials::default());
                }
                Action::Write(id) => {
                    let mut out = Outgoing::default();
                    self.nodes[i].output(self.now, id, &mut out);
                    self.wires[1 - i].extend(out.to_vec());
                    wrote = true;
                }
                _ => {}
            }
        }
        self.nodes[i].unwritten(ID, 0);
        wrote
    }

    /// A node reads what has come on the wire.
    fn read(&mut self, i: usize) -> Result<(), Error> {
        let used = self.nodes[i].receive(self.now, ID, &self.wires[i])?;
        self.wires[i].drain(..used);
        Ok(())
    }

    /// So much time passes that the sink says what it has taken. Both nodes say and read everything.
    fn run(&mut self) {
        self.now += Time::from_millis(20);
        let now = self.now;
        self.nodes.iter_mut().for_each(|node| node.tick(now));
        for i in [0, 1].repeat(200) {
            self.write(i);
            self.read(i).unwrap_or_default();
        }
    }

    fn submit(&mut self, length: usize) -> u64 {
        match self.nodes[0].submit(7, self.source, None, &mut Body::from(vec![1; length])).unwrap() {
            Submitted::Done(sequence) => sequence,
            other => panic!("{other:?}"),
        }
    }

    /// The sink gets an event up to its first part, and so its head.
    fn show_head(&mut self) -> u64 {
        self.write(0);
        let rest = self.wires[1].split_off(up_to_first_part(&self.wires[1]));
        self.read(1).unwrap();
        self.wires[1] = rest;
        match &self.items()[..] {
            [Item::Head(head)] => head.sequence,
            other => panic!("{other:?}"),
        }
    }

    /// Takes all that has come.
    fn items(&mut self) -> Vec<Item> {
        let (mut batch, mut items) = (Batch::default(), Vec::new());
        while self.nodes[1].take(self.now, self.sink, &mut batch) {
            items.extend(batch.items());
        }
        items
    }

    /// The frames that the sink's node says next are these instead.
    fn says(&mut self, frames: &[Vec<u8>]) {
        self.write(1);
        self.wires[0].extend(frames.concat());
    }

    /// Of the source: submitted, acknowledged, declined, and whether the account is exact.
    fn account(&self) -> (u64, u64, u64, bool) {
        let ledger = self.nodes[0].ledger(self.source)[0].ledger;
        (ledger.submitted, ledger.acknowledged, ledger.lost_for(Cause::Declined), ledger.is_exact())
    }
}

/// The bytes up to the end of the first Part.
fn up_to_first_part(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let header = Header::parse(bytes[at..].first_chunk::<HEADER>().unwrap()).unwrap();
        at += header.extent();
        if header.kind == Some(FrameKind::Part) {
            return at;
        }
    }
}

fn frame(kind: FrameKind, subscription: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_le_bytes().to_vec();
    frame.extend([kind as u8, 0, 0, 0]);
    frame.extend(subscription.to_le_bytes());
    frame.extend([0; 4]);
    frame.extend(payload);
    frame.resize(frame.len().next_multiple_of(HEADER), 0);
    frame
}

fn enough(subscription: u32, sequence: u64) -> Vec<u8> {
    frame(FrameKind::Enough, subscription, &sequence.to_le_bytes())
}

/// The number of the subscription in the header of the first frame of this kind.
fn subscription(bytes: &[u8], kind: FrameKind) -> u32 {
    let mut at = 0;
    loop {
        let header = Header::parse(bytes[at..].first_chunk::<HEADER>().unwrap()).unwrap();
        if header.kind == Some(kind) {
            return header.subscription;
        }
        at += header.extent();
    }
}

#[test]
fn the_rest_of_an_event_is_not_sent_and_the_account_says_so() {
    let mut pair = Pair::new();
    assert_eq!(pair.submit(LONG), 0);
    assert_eq!(pair.show_head(), 0);
    assert!(pair.nodes[1].enough(pair.sink, pair.from, 0));
    let before = pair.wires[1].len();
    pair.write(1);
    pair.read(0).unwrap();
    pair.write(0);
    assert!(pair.wires[1].len() < before + 1_000, "only what was under way, and the gap");
    pair.run();
    let Item::Gap(_, gap) = pair.items()[0] else { panic!("no gap") };
    assert_eq!((gap.first, gap.count, gap.cause), (0, 1, Cause::Declined));
    assert_eq!(pair.submit(100), 1);
    pair.run();
    assert!(matches!(pair.items()[..], [Item::Event { sequence: 1, .. }]));
    pair.run();
    assert_eq!(pair.account(), (2, 1, 1, true));
}

#[test]
fn an_event_that_was_sent_already_comes_and_counts_as_received() {
    let mut pair = Pair::new();
    pair.submit(200_000);
    assert_eq!(pair.show_head(), 0);
    while pair.write(0) {} // all parts are on their way
    assert!(pair.nodes[1].enough(pair.sink, pair.from, 0));
    pair.run();
    assert!(matches!(pair.items()[..], [Item::Event { sequence: 0, .. }]));
    assert!(!pair.nodes[1].enough(pair.sink, pair.from, 0), "it has come");
    pair.run();
    assert_eq!(pair.account(), (1, 1, 0, true));
}

#[test]
fn events_that_are_not_under_way_cannot_be_declined() {
    let mut pair = Pair::new();
    pair.submit(LONG);
    let number = {
        pair.write(0);
        subscription(&pair.wires[1], FrameKind::Begin)
    };
    assert_eq!(pair.show_head(), 0);
    for sequence in [1, 2, 1 << 62, 1 << 63] {
        // It comes later, or never; so does a subscription that does not exist.
        pair.says(&[enough(number, sequence), enough(number + 1, 0), enough(u32::MAX, 0)]);
        pair.read(0).unwrap();
    }
    pair.run();
    assert!(matches!(pair.items()[..], [Item::Event { sequence: 0, .. }]), "the event under way is whole");
    for length in [100, LONG] {
        pair.run();
        let sequence = pair.submit(length);
        pair.run();
        assert_eq!(pair.items().len(), 1 + usize::from(length == LONG), "and with it its head");
        // It has come, and so have those before it.
        pair.says(&[enough(number, sequence), enough(number, 0)]);
        pair.run();
    }
    pair.run();
    assert_eq!(pair.account(), (3, 3, 0, true));
    // Declined twice, it is lost once.
    pair.submit(LONG);
    assert_eq!(pair.show_head(), 3);
    pair.says(&[enough(number, 3), enough(number, 3), enough(number, 4)]);
    pair.run();
    pair.submit(100);
    pair.run();
    assert!(matches!(pair.items()[..], [Item::Gap(..), Item::Event { sequence: 4, .. }]));
    pair.run();
    assert_eq!(pair.account(), (5, 4, 1, true));
    // No event can have this number.
    pair.says(&[enough(number, (1 << 63) + 1)]);
    assert_eq!(pair.read(0).unwrap_err().code(), Code::Frame);
}

#[test]
fn a_source_that_goes_on_behind_its_gap_loses_the_link() {
    for behind in [
        frame(FrameKind::Part, 0, &[0; 65_536]),
        frame(FrameKind::Gap, 0, &[&0_u64.to_le_bytes()[..], &1_u64.to_le_bytes(), &6_u16.to_le_bytes()].concat()),
    ] {
        let mut pair = Pair::new();
        pair.submit(LONG);
        assert_eq!(pair.show_head(), 0);
        assert!(pair.nodes[1].enough(pair.sink, pair.from, 0));
        pair.run();
        assert!(matches!(pair.items()[..], [Item::Gap(..)]));
        let mut behind = behind.clone();
        behind[8..12].copy_from_slice(&pair.number().to_le_bytes());
        pair.wires[1].extend(behind);
        assert_eq!(pair.read(1).unwrap_err().code(), Code::Frame);
        // What had been taken and lost stays so.
        let counts = pair.nodes[1].counts(pair.sink);
        assert_eq!((counts.received, counts.lost), (0, 1));
    }
}

#[test]
fn a_gap_amid_an_event_is_of_that_event_alone() {
    let gap = |first: u64, count: u64, cause: u16| {
        frame(FrameKind::Gap, 0, &[&first.to_le_bytes()[..], &count.to_le_bytes(), &cause.to_le_bytes()].concat())
    };
    for wrong in [gap(0, 2, 6), gap(1, 1, 6), gap(0, 1, 1), gap(0, 0, 6)] {
        let mut pair = Pair::new();
        pair.submit(LONG);
        assert_eq!(pair.show_head(), 0);
        let mut wrong = wrong.clone();
        wrong[8..12].copy_from_slice(&pair.number().to_le_bytes());
        pair.wires[1] = wrong;
        assert_eq!(pair.read(1).unwrap_err().code(), Code::Frame);
    }
}

impl Pair {
    /// The number of the subscription.
    fn number(&mut self) -> u32 {
        let mut other = Pair::new();
        other.submit(100);
        other.write(0);
        subscription(&other.wires[1], FrameKind::Event)
    }
}
