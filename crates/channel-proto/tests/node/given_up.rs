//! Links that only one of two nodes has given up: two faults that the models of `spec/models` have found.

use isoform_channel_proto::{
    Action, Batch, Cause, ChannelKey, ConnId, Credentials, HEADER, Header, Hello, Identity, Item, Key, Node, Outgoing,
    Policy, Settings, SinkKey, SourceKey, Time, Wanted,
};
use isoform_core::{Code, Error, FieldList, Format, Machine};
use std::collections::BTreeMap;
use std::sync::Arc;

type Body = Arc<[u8]>;

/// The node with the lower id, which gives links up soon and dials, and the other, which has the channel and notices nothing.
struct Pair {
    nodes: [Node<Body, Vec<u8>>; 2],
    /// What is on its way to each of them, by connection.
    wires: BTreeMap<(usize, u64), Vec<u8>>,
    connections: u64,
    is_reachable: bool,
    now: Time,
    /// The epochs that the lower node has begun.
    starts: Vec<u64>,
}

fn format() -> Format {
    FieldList::new("Tick").field("count", "integer", 8, 0).format(Machine::NATIVE, 8, 8).expect("a format")
}

impl Pair {
    fn new() -> Pair {
        let mut keys = [1, 2].map(|byte| Key::from_seed([byte; 32]));
        keys.sort_by_key(Key::id);
        let mut lingers = [1, 600].map(Time::from_secs).into_iter();
        let mut at = 0;
        let nodes = keys.map(|key| {
            let (silence, linger) = (Time::from_secs(300), lingers.next().expect("two"));
            at += 1;
            Node::new(key, Settings { addresses: vec![format!("test:{at}")], silence, linger, ..Settings::default() })
        });
        Pair { nodes, wires: BTreeMap::new(), connections: 0, is_reachable: true, now: Time::ZERO, starts: Vec::new() }
    }

    fn run(&mut self) {
        for _ in 0..30 {
            for at in 0..2 {
                while let Some(action) = self.nodes[at].action() {
                    self.act(at, action);
                }
            }
            for ((at, id), bytes) in std::mem::take(&mut self.wires) {
                let used = self.nodes[at].receive(self.now, ConnId(id), &bytes).expect("what nodes say is right");
                assert_eq!(used, bytes.len(), "frames are given out whole");
            }
        }
    }

    fn act(&mut self, at: usize, action: Action) {
        match action {
            Action::Dial(dial, _) if at == 0 && self.is_reachable => {
                self.connections += 1;
                let id = ConnId(self.connections);
                self.nodes[0].connected(self.now, id, Some(dial), Credentials::default());
                self.nodes[1].connected(self.now, id, None, Credentials::default());
            }
            Action::Dial(dial, address) => {
                self.nodes[at].dial_failed(self.now, dial, Error::new(Code::Unreachable).at(address));
            }
            Action::Write(id) | Action::Close(id) => {
                let mut out = Outgoing::default();
                self.nodes[at].output(self.now, id, &mut out);
                self.nodes[at].unwritten(id, 0);
                let bytes = out.to_vec();
                self.starts.extend(starts(&bytes));
                // Nothing comes over a connection that has broken.
                if id.0 == self.connections {
                    self.wires.entry((1 - at, id.0)).or_default().extend(bytes);
                }
            }
            _ => {}
        }
    }

    fn wait(&mut self, time: Time) {
        let end = self.now + time;
        while self.now < end {
            self.now += Time::from_millis(100);
            self.nodes.iter_mut().for_each(|node| node.tick(self.now));
            self.run();
        }
    }

    fn open(&mut self) -> ChannelKey {
        let addresses = ["test:2".to_string()];
        let open = self.nodes[0].open(self.now, &addresses, "ticks", None, self.now + Time::from_secs(5));
        self.run();
        self.nodes[0].opened(open).expect("an answer").expect("the channel")
    }

    /// The connection breaks, and only the lower node hears of it, which then gives the link up.
    fn give_up(&mut self) {
        self.is_reachable = false;
        self.nodes[0].closed(self.now, ConnId(self.connections), None);
        self.wait(Time::from_secs(3));
        self.is_reachable = true;
    }

    fn submit(&mut self, source: SourceKey) {
        self.nodes[1].submit(7, source, Some(&format()), &mut Body::from([7; 8])).expect("an event");
    }

    /// Takes what has come, and says nothing of it yet.
    fn take(&mut self, sink: SinkKey) -> u64 {
        let (mut batch, mut count) = (Batch::default(), 0);
        while self.nodes[0].take(self.now, sink, &mut batch) {
            count += batch.items().filter(|item| matches!(item, Item::Event { .. })).count() as u64;
        }
        count
    }
}

/// The epochs of the Starts among these frames.
fn starts(mut bytes: &[u8]) -> Vec<u64> {
    if bytes.starts_with(b"\x89ISL") {
        bytes = &bytes[Hello::LENGTH..];
    }
    let mut starts = Vec::new();
    while let Some(first) = bytes.first_chunk::<HEADER>() {
        if first[4] == 4 {
            starts.extend(bytes[HEADER..].first_chunk().map(|epoch| u64::from_le_bytes(*epoch)));
        }
        bytes = &bytes[Header::parse(first).expect("a frame").extent()..];
    }
    starts
}

#[test]
fn epochs_do_not_begin_again_after_a_link_was_given_up() {
    let mut pair = Pair::new();
    pair.nodes[1].create(Identity([9; 16]), "ticks", None).expect("a channel");
    pair.open();
    assert_eq!(pair.starts, [1]);
    pair.give_up();
    pair.wait(Time::from_secs(40));
    // The other node has noticed nothing, so its Terms could not say that an epoch has ended.
    assert_eq!(pair.starts, [1, 2]);
}

#[test]
fn a_subscription_of_a_link_that_the_sink_has_given_up_counts_as_unknown() {
    let mut pair = Pair::new();
    let channel = pair.nodes[1].create(Identity([9; 16]), "ticks", None).expect("a channel");
    let source = pair.nodes[1].add_source(channel, None).expect("a source");
    let opened = pair.open();
    let sink = pair.nodes[0].add_sink(opened, Wanted::any(Policy::Block)).expect("a sink");
    pair.run();
    (0..3).for_each(|_| pair.submit(source));
    pair.run();
    assert_eq!(pair.take(sink), 3);
    pair.give_up();
    pair.take(sink);
    pair.wait(Time::from_secs(40));
    let before = pair.nodes[1].ledger(source).into_iter().find(|account| !account.present).expect("an account").ledger;
    assert!(before.is_exact());
    assert_eq!((before.acknowledged, before.lost_for(Cause::Unknown), before.lost_for(Cause::Cut)), (0, 3, 0));
    // Another subscription, which may have the same number.
    pair.submit(source);
    pair.run();
    assert_eq!(pair.take(sink), 1);
    pair.wait(Time::from_secs(1));
    let now = pair.nodes[1].ledger(source).into_iter().find(|account| account.present).expect("an account").ledger;
    assert_eq!((now.submitted, now.acknowledged), (1, 1));
}
