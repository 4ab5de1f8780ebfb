//! Sinks that want to stop their source: they take nothing, and vanish. And what a later version may ask for.

use isoform_channel_proto::{
    Action, Batch, ConnId, Credentials, Drafts, FrameKind, Grants, HEADER, Header, Identity, Item, Key, Node, Outgoing,
    Policy, Reason, Settings, SinkKey, SourceKey, Submitted, Take, Time, Waits, Wanted, Window,
};
use isoform_core::{Code, FieldList, Format, Machine};
use std::sync::Arc;

type Body = Arc<[u8]>;

const ID: ConnId = ConnId(1);

/// A node with a source, and another one with a sink of a narrow window.
struct Pair {
    nodes: [Node<Body, Vec<u8>>; 2],
    wires: [Vec<u8>; 2],
    now: Time,
    source: SourceKey,
    sink: SinkKey,
}

fn format() -> Format {
    FieldList::new("Tick").field("count", "integer", 8, 0).format(Machine::NATIVE, 8, 8).unwrap()
}

impl Pair {
    /// `change` changes what the second node writes.
    fn new(grants: Grants, must: bool, change: impl Fn(Vec<u8>) -> Vec<u8>) -> Pair {
        let node = |byte| {
            let addresses = vec![format!("test:{byte}")];
            Node::new(Key::from_seed([byte; 32]), Settings { addresses, ..Settings::default() })
        };
        let mut nodes = [node(1), node(2)];
        let channel = nodes[0].create(Identity([9; 16]), "ticks", Some(format())).unwrap();
        let source = nodes[0].add_source_that(channel, Some(&format()), grants).unwrap();
        let (wires, now) = ([Vec::new(), Vec::new()], Time::ZERO);
        let mut pair = Pair { nodes, wires, now, source, sink: SinkKey(0) };
        let open = pair.nodes[1].open(now, &["test:1".into()], "ticks", None, Time::from_secs(5));
        pair.run(&change);
        let channel = pair.nodes[1].opened(open).unwrap().unwrap();
        let window = Window { events: 1, bytes: 1 << 20 };
        pair.sink = pair.nodes[1].add_sink(channel, Wanted { window, must, ..Wanted::any(Policy::Block) }).unwrap();
        pair.run(&change);
        pair
    }

    fn run(&mut self, change: &impl Fn(Vec<u8>) -> Vec<u8>) {
        for i in [0, 1].repeat(50) {
            while let Some(action) = self.nodes[i].action() {
                match action {
                    Action::Dial(dial, _) => {
                        self.nodes[i].connected(self.now, ID, Some(dial), Credentials::default());
                        self.nodes[1 - i].connected(self.now, ID, None, Credentials::default());
                    }
                    Action::Write(id) => {
                        let mut out = Outgoing::default();
                        self.nodes[i].output(self.now, id, &mut out);
                        self.nodes[i].unwritten(id, 0);
                        let bytes = if i == 1 { change(out.to_vec()) } else { out.to_vec() };
                        self.wires[1 - i].extend(bytes);
                    }
                    _ => {}
                }
            }
            let used = self.nodes[i].receive(self.now, ID, &self.wires[i]).unwrap_or(0);
            self.wires[i].drain(..used);
        }
    }

    fn submit(&mut self) -> Submitted {
        let submitted = self.nodes[0].submit(7, self.source, None, &mut Body::from([1; 8])).unwrap();
        self.run(&|bytes| bytes);
        submitted
    }

    fn items(&mut self) -> Vec<Item> {
        let (mut batch, mut items) = (Batch::default(), Vec::new());
        while self.nodes[1].take(self.now, self.sink, &mut batch) {
            items.extend(batch.items());
        }
        items
    }
}

#[test]
fn a_sink_that_takes_nothing_costs_its_source_what_that_grants_and_no_more() {
    let waits = Waits { event: Time::from_millis(1), second: Time::from_millis(3) };
    let mut pair = Pair::new(Grants { waits, ..Grants::default() }, false, |bytes| bytes);
    assert_eq!((pair.submit(), pair.submit()), (Submitted::Done(0), Submitted::Full));
    let until = pair.nodes[0].wait(pair.now, pair.source).unwrap();
    assert_eq!(until, Time::from_millis(1));
    // It was woken without a reason: there is still no room, and some time is left.
    pair.now = Time::from_micros(400);
    pair.nodes[0].waited(pair.now, pair.source, false);
    assert_eq!(pair.submit(), Submitted::Full);
    assert_eq!(pair.nodes[0].wait(pair.now, pair.source), Some(until));
    pair.now = until;
    pair.nodes[0].waited(pair.now, pair.source, false);
    for sequence in 1..10_000 {
        assert_eq!(pair.nodes[0].submit(7, pair.source, None, &mut Body::from([1; 8])), Ok(Submitted::Done(sequence)));
    }
    let account = pair.nodes[0].ledger(pair.source)[0];
    assert_eq!((account.waited, account.changes), (Time::from_millis(1), 1));
    assert!(account.ledger.is_exact());
    pair.run(&|bytes| bytes);
    let told = pair.items().into_iter().find_map(|item| match item {
        Item::Granted(_, granted) => Some((granted.reason, granted.must)),
        _ => None,
    });
    assert_eq!(told, Some((Reason::Slow, false)));
}

/// Events of 8 bytes, this many.
struct Several(usize);

impl Drafts<Body> for Several {
    fn next(&mut self, take: impl Take<Body>) -> bool {
        let Some(left) = self.0.checked_sub(1) else { return false };
        self.0 = left;
        take.take(&mut Body::from([1; 8]));
        true
    }

    fn pass(&mut self) -> u64 {
        std::mem::take(&mut self.0) as u64
    }
}

#[test]
fn of_several_events_those_are_submitted_for_which_there_is_room() {
    let mut pair = Pair::new(Grants { lossless: true, ..Grants::default() }, true, |bytes| bytes);
    let mut several = Several(3);
    assert_eq!(pair.nodes[0].submit_many(7, pair.source, &mut several), Ok(Submitted::Done(0)));
    assert_eq!(several.0, 2, "the others are not touched");
    assert!(!pair.nodes[0].waits(pair.source), "its thread has no reason to wait yet");
    assert_eq!(pair.nodes[0].submit_many(7, pair.source, &mut several), Ok(Submitted::Full));
    assert!(pair.nodes[0].waits(pair.source));
    pair.run(&|bytes| bytes);
    assert_eq!(pair.items().len(), 2, "the source, and its event");
    pair.run(&|bytes| bytes);
    assert!(!pair.nodes[0].waits(pair.source));
    assert_eq!(pair.nodes[0].submit_many(7, pair.source, &mut several), Ok(Submitted::Done(1)));
    assert_eq!(pair.nodes[0].submit_many(7, pair.source, &mut Several(0)), Ok(Submitted::Full));
    let account = pair.nodes[0].ledger(pair.source)[0].ledger;
    assert_eq!((account.submitted, account.acknowledged, account.in_flight), (2, 1, 1));
}

#[test]
fn a_sink_that_never_took_anything_holds_nobody_once_its_connection_is_cut() {
    let mut pair = Pair::new(Grants { lossless: true, ..Grants::default() }, true, |bytes| bytes);
    assert_eq!((pair.submit(), pair.submit()), (Submitted::Done(0), Submitted::Full));
    assert_eq!(pair.nodes[0].wait(pair.now, pair.source), None, "it must wait while the sink is there");
    pair.nodes[0].closed(pair.now, ID, None);
    pair.nodes[0].waited(pair.now, pair.source, false);
    for sequence in 1..100 {
        assert_eq!(pair.nodes[0].submit(7, pair.source, None, &mut Body::from([1; 8])), Ok(Submitted::Done(sequence)));
    }
    assert_eq!(pair.nodes[0].ledger(pair.source)[0].ledger.in_flight, 100);
    pair.nodes[0].end_source(pair.source);
    let waits_for_nobody = |now| [pair.nodes[0].is_settled(now, pair.source), pair.nodes[0].is_over(now, pair.source)];
    assert_eq!(waits_for_nobody(pair.now + Time::from_millis(999)), [false, false], "an honest sink comes back soon");
    assert_eq!(waits_for_nobody(pair.now + Time::from_secs(1)), [true, true], "nobody lingers for it");
}

#[test]
fn a_subscription_with_an_unknown_critical_option_is_refused_and_another_is_ignored() {
    // The list of options is the last 2 bytes of the payload: one option, of no bytes.
    let with_option = |critical: u8| {
        move |bytes: Vec<u8>| {
            let (mut out, mut rest) = (Vec::new(), &bytes[..]);
            while let Some(header) = rest.first_chunk::<HEADER>().filter(|_| !rest.starts_with(b"\x89ISL")) {
                let header = Header::parse(header).unwrap();
                let (frame, behind) = rest.split_at(header.extent());
                let mut frame = frame[..HEADER + header.length as usize].to_vec();
                if header.kind == Some(FrameKind::Subscribe) {
                    frame.truncate(frame.len() - 2);
                    frame.extend([1, 0, 7, 0, critical, 0, 0, 0]);
                    let length = (frame.len() - HEADER) as u32;
                    frame[..4].copy_from_slice(&length.to_le_bytes());
                }
                frame.resize(frame.len().next_multiple_of(HEADER), 0);
                out.extend(frame);
                rest = behind;
            }
            out.extend(rest);
            out
        }
    };
    let refused = |items: Vec<Item>| {
        items.into_iter().find_map(|item| if let Item::Refused(_, error) = item { Some(error.code()) } else { None })
    };
    let mut pair = Pair::new(Grants::default(), false, with_option(1));
    assert_eq!((refused(pair.items()), pair.nodes[0].listeners(pair.source)), (Some(Code::Flags), 0));
    let mut pair = Pair::new(Grants::default(), false, with_option(0));
    assert_eq!((refused(pair.items()), pair.nodes[0].listeners(pair.source)), (None, 1));
}

#[test]
fn a_sink_that_has_caught_up_is_waited_for_again() {
    let mut pair = Pair::new(Grants::default(), false, |bytes| bytes);
    assert_eq!((pair.submit(), pair.submit()), (Submitted::Done(0), Submitted::Full));
    pair.nodes[0].waited(pair.now, pair.source, true);
    let policy = |pair: &Pair| pair.nodes[0].ledger(pair.source)[0].policy;
    assert!(matches!(policy(&pair), Policy::DropOldest { .. }));
    // Once at once, and once after a second.
    for later in [Time::ZERO, Time::from_secs(1)] {
        assert!(matches!(policy(&pair), Policy::DropOldest { .. }));
        pair.now += later;
        pair.submit();
        for _ in 0..4 {
            pair.items();
            pair.now += Time::from_millis(20);
            let now = pair.now;
            pair.nodes.iter_mut().for_each(|node| node.tick(now));
            pair.run(&|bytes| bytes);
        }
    }
    assert_eq!(policy(&pair), Policy::Block);
    assert_eq!(pair.nodes[0].ledger(pair.source)[0].changes, 2);
}
