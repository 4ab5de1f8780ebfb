//! Two nodes and a wire between them: the plainest way of an event, so that everything else can be told from it.

use isoform_channel_proto::{
    Action, Batch, ConnId, Credentials, Identity, Item, Key, Node, Outgoing, Policy, Settings, SinkKey, SourceKey,
    Submitted, Time, Wanted,
};
use isoform_core::{Code, FieldList, Format, Machine};
use std::sync::Arc;

type Body = Arc<[u8]>;

struct Pair {
    nodes: [Node<Body, Vec<u8>>; 2],
    /// What is on its way to each of them.
    wires: [Vec<u8>; 2],
    now: Time,
}

fn format() -> Format {
    FieldList::new("Tick").field("count", "integer", 8, 0).format(Machine::NATIVE, 8, 8).unwrap()
}

impl Pair {
    fn new() -> Pair {
        let node = |byte| {
            let addresses = vec![format!("test:{byte}")];
            Node::new(Key::from_seed([byte; 32]), Settings { addresses, ..Settings::default() })
        };
        Pair { nodes: [node(1), node(2)], wires: [Vec::new(), Vec::new()], now: Time::ZERO }
    }

    fn run(&mut self) {
        for _ in 0..50 {
            for i in 0..2 {
                self.say(i);
                self.hear(i);
            }
        }
    }

    /// A node does what it has to do. What it says is on its way.
    fn say(&mut self, i: usize) {
        while let Some(action) = self.nodes[i].action() {
            match action {
                Action::Dial(dial, _) => {
                    self.nodes[i].connected(self.now, ConnId(1), Some(dial), Credentials::default());
                    self.nodes[1 - i].connected(self.now, ConnId(1), None, Credentials::default());
                }
                Action::Write(id) | Action::Close(id) => {
                    let mut out = Outgoing::default();
                    self.nodes[i].output(self.now, id, &mut out);
                    self.wires[1 - i].extend(out.to_vec());
                    self.nodes[i].unwritten(id, 0);
                }
                _ => {}
            }
        }
    }

    /// What is on its way to a node arrives.
    fn hear(&mut self, i: usize) {
        let used = self.nodes[i].receive(self.now, ConnId(1), &self.wires[i]).unwrap();
        self.wires[i].drain(..used);
    }
}

fn bodies(node: &mut Node<Body, Vec<u8>>, sink: SinkKey) -> Vec<Vec<u8>> {
    let (mut batch, mut bodies) = (Batch::default(), Vec::new());
    while node.take(Time::ZERO, sink, &mut batch) {
        for item in batch.items() {
            if let Item::Event { place, .. } = item {
                match batch.body(place) {
                    Some(body) => bodies.push(body.to_vec()),
                    None => bodies.push(batch.shared[0].to_vec()),
                }
            }
        }
    }
    bodies
}

fn submit(node: &mut Node<Body, Vec<u8>>, source: SourceKey, body: &[u8]) -> Submitted {
    node.submit(7, source, None, &mut Body::from(body)).unwrap()
}

#[test]
fn an_event_goes_from_a_source_to_a_sink() {
    let mut pair = Pair::new();
    let [maker, opener] = &mut pair.nodes;
    let channel = maker.create(Identity([9; 16]), "ticks", Some(format())).unwrap();
    let source = maker.add_source(channel, Some(&format())).unwrap();
    assert_eq!(submit(maker, source, &[1; 8]), Submitted::Done(0), "it has a number, although nobody hears it");
    let open = opener.open(Time::ZERO, &["test:1".into()], "ticks", None, Time::from_secs(5));
    pair.run();
    let channel = pair.nodes[1].opened(open).unwrap().unwrap();
    let wanted = Wanted { format: Some(format()), ..Wanted::any(Policy::Block) };
    let sink = pair.nodes[1].add_sink(channel, wanted).unwrap();
    pair.run();
    assert_eq!(pair.nodes[0].listeners(source), 1);
    assert_eq!(submit(&mut pair.nodes[0], source, &[2; 8]), Submitted::Done(1));
    assert_eq!(submit(&mut pair.nodes[0], source, &[3; 200_000]), Submitted::Done(2));
    assert_eq!(submit(&mut pair.nodes[0], source, &[4; 8]), Submitted::Full, "the long one is under way");
    assert!(pair.nodes[0].waits(source));
    pair.run();
    assert!(!pair.nodes[0].waits(source), "it has left, although nothing is acknowledged");
    assert_eq!(submit(&mut pair.nodes[0], source, &[4; 8]), Submitted::Done(3));
    pair.run();
    assert_eq!(bodies(&mut pair.nodes[1], sink), [vec![2; 8], vec![3; 200_000], vec![4; 8]]);
    assert_eq!((pair.nodes[0].ledger(source)[0].earlier, pair.nodes[1].counts(sink).earlier), (1, 1));
    let ledger = pair.nodes[0].ledger(source)[0].ledger;
    assert_eq!((ledger.submitted, ledger.acknowledged, ledger.in_flight), (3, 0, 3));
    pair.now += Time::from_millis(20);
    pair.nodes.iter_mut().for_each(|node| node.tick(pair.now));
    pair.run();
    let ledger = pair.nodes[0].ledger(source)[0].ledger;
    assert_eq!((ledger.submitted, ledger.acknowledged, ledger.in_flight), (3, 3, 0));
}

#[test]
fn the_rest_of_an_event_whose_sink_has_left_is_passed_over() {
    let mut pair = Pair::new();
    let [maker, opener] = &mut pair.nodes;
    let channel = maker.create(Identity([9; 16]), "ticks", Some(format())).unwrap();
    let source = maker.add_source(channel, Some(&format())).unwrap();
    let open = opener.open(Time::ZERO, &["test:1".into()], "ticks", None, Time::from_secs(5));
    pair.run();
    let channel = pair.nodes[1].opened(open).unwrap().unwrap();
    let sink = pair.nodes[1].add_sink(channel, Wanted::any(Policy::Block)).unwrap();
    pair.run();
    submit(&mut pair.nodes[0], source, &[3; 100_000]);
    let (id, now, mut wire, mut out) = (ConnId(1), pair.now, Vec::new(), Outgoing::default());
    while pair.nodes[0].output(now, id, &mut out) || !out.is_empty() {
        wire.extend(out.to_vec());
        pair.nodes[0].unwritten(id, 0);
    }
    // Up to where the bytes of a fragment begin.
    let (there, mut used, mut end) = (&mut pair.nodes[1], 0, 0);
    let missing = loop {
        end += 16;
        used += there.receive(now, id, &wire[used..end]).unwrap();
        if let Some(large) = there.take_large(id) {
            let missing = large.missing;
            there.put_large(now, id, large, 0);
            break missing;
        }
    };
    assert_eq!((used, missing > 50_000), (end, true));
    there.end_sink(sink);
    assert!(there.take_large(id).is_none());
    there.skip_large(now, id, missing);
    let rest = &wire[end + missing..];
    assert_eq!(there.receive(now, id, rest).unwrap(), rest.len());
    // The link goes on as if nothing had been.
    let another = there.add_sink(channel, Wanted::any(Policy::Block)).unwrap();
    pair.run();
    submit(&mut pair.nodes[0], source, &[4; 8]);
    pair.run();
    assert_eq!(bodies(&mut pair.nodes[1], another), [[4; 8]]);
}

#[test]
fn sinks_of_the_same_node_are_reached_without_a_link() {
    let mut node = Node::<Body, Vec<u8>>::new(Key::from_seed([1; 32]), Settings::default());
    let channel = node.create(Identity([9; 16]), "ticks", None).unwrap();
    let source = node.add_source(channel, Some(&format())).unwrap();
    let sink = node.add_sink(channel, Wanted::any(Policy::Latest)).unwrap();
    for i in 0..5 {
        assert_eq!(submit(&mut node, source, &[i; 8]), Submitted::Done(i.into()));
    }
    assert_eq!(bodies(&mut node, sink), [[0; 8], [4; 8]], "the one that was there, and the latest");
    let ledger = node.ledger(source)[0].ledger;
    assert_eq!((ledger.submitted, ledger.acknowledged, ledger.superseded, ledger.lost()), (5, 2, 3, 0));
    assert_eq!((node.counts(sink).superseded, node.counts(sink).lost), (3, 0));
}

#[test]
fn a_node_that_leaves_waits_for_nobody() {
    let mut node = Node::<Body, Vec<u8>>::new(Key::from_seed([1; 32]), Settings::default());
    let open = node.open(Time::ZERO, &["test:2".into()], "ticks", None, Time::from_secs(5));
    let Some(Action::Dial(dial, _)) = node.action() else { panic!("somebody is dialed") };
    node.connected(Time::ZERO, ConnId(1), Some(dial), Credentials::default());
    node.connected(Time::ZERO, ConnId(2), None, Credentials::default());
    node.leave();
    let actions: Vec<Action> = std::iter::from_fn(|| node.action()).collect();
    for meant in [Action::Close(ConnId(1)), Action::Close(ConnId(2)), Action::Opened(open)] {
        assert!(actions.contains(&meant), "{meant:?} of {actions:?}");
    }
    assert_eq!(node.opened(open).unwrap().unwrap_err().code(), Code::Closed);
    assert_eq!(node.deadline(), None);
}

#[test]
fn paths_that_have_no_room_stand_for_all_fields() {
    let mut pair = Pair::new();
    let channel = pair.nodes[0].create(Identity([9; 16]), "ticks", Some(format())).unwrap();
    let source = pair.nodes[0].add_source(channel, Some(&format())).unwrap();
    let open = pair.nodes[1].open(Time::ZERO, &["test:1".into()], "ticks", None, Time::from_secs(5));
    pair.run();
    let channel = pair.nodes[1].opened(open).unwrap().unwrap();
    for fields in [vec!["count".into(); 20_000], vec!["x".repeat(5_000)]] {
        pair.nodes[1].add_sink(channel, Wanted { fields, ..Wanted::any(Policy::Block) }).unwrap();
    }
    pair.run();
    assert_eq!(pair.nodes[0].listeners(source), 2);
}

/// A program that makes a source waits for the answers of the members, and submits then. An answer that a member gave before
/// it was offered the source tells nothing, even if the announcement of its first sink arrives together with the answer.
#[test]
fn an_answer_from_before_an_offer_does_not_count_as_one_after_the_subscription() {
    let mut pair = Pair::new();
    let channel = pair.nodes[0].create(Identity([9; 16]), "ticks", Some(format())).unwrap();
    let open = pair.nodes[1].open(pair.now, &["test:1".into()], "ticks", None, Time::from_secs(5));
    pair.run();
    let opened = pair.nodes[1].opened(open).unwrap().unwrap();
    // The other node has its first sink, and says so; the source is made before that has arrived.
    let sink = pair.nodes[1].add_sink(opened, Wanted::any(Policy::Block)).unwrap();
    pair.say(1);
    let source = pair.nodes[0].add_source(channel, Some(&format())).unwrap();
    pair.nodes[0].ask(channel, Time::from_secs(1));
    pair.say(0);
    // It answers at once: it has no source to subscribe to.
    pair.hear(1);
    pair.say(1);
    let answer = |pair: &Pair| pair.nodes[0].info(channel).unwrap().members[1].report.is_some();
    assert!(!answer(&pair) && pair.nodes[0].listeners(source) == 0);
    pair.hear(0);
    assert!(!answer(&pair), "the announcement and the answer have arrived, and the offer goes out only now");
    pair.run();
    assert!(answer(&pair), "it has answered again");
    assert_eq!(submit(&mut pair.nodes[0], source, &[1; 8]), Submitted::Done(0), "behind the answer, it is heard");
    pair.run();
    assert_eq!(bodies(&mut pair.nodes[1], sink), [[1; 8]]);
}
