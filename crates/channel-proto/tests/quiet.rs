//! Events that no sink wants: they cost the same, however many sinks share the query, and every account has them.

use isoform_channel_proto::{
    Action, Batch, ChannelKey, ConnId, Credentials, Identity, Item, Key, Node, Outgoing, Policy, Settings, SinkKey,
    SourceKey, Submitted, Time, Wanted,
};
use isoform_core::{FieldList, Format, Machine};
use isoform_query::Query;
use std::sync::Arc;

type Body = Arc<[u8]>;

const SINKS: usize = 5;
/// Each event is submitted so long after the one before it.
const PACE: u64 = 1_000;

struct Pair {
    nodes: [Node<Body, Vec<u8>>; 2],
    now: Time,
    source: SourceKey,
    /// The channel at the other node.
    there: ChannelKey,
    /// The sinks at the other node, and one at that of the source.
    sinks: Vec<(usize, SinkKey)>,
    next: u64,
    /// How often the clock was looked at.
    looks: usize,
}

fn format() -> Format {
    FieldList::new("Tick").field("count", "integer", 8, 0).format(Machine::NATIVE, 8, 8).unwrap()
}

fn wanted(query: &str) -> Wanted {
    Wanted { query: Some(Query::parse(query).unwrap()), ..Wanted::any(Policy::DropOldest { events: 2, bytes: 1_000 }) }
}

impl Pair {
    fn new(query: &str) -> Pair {
        let node = |byte| {
            let settings = Settings { addresses: vec![format!("test:{byte}")], ..Settings::default() };
            Node::new(Key::from_seed([byte; 32]), settings)
        };
        let mut nodes = [node(1), node(2)];
        let here = nodes[0].create(Identity([9; 16]), "ticks", None).unwrap();
        let source = nodes[0].add_source(here, Some(&format())).unwrap();
        let open = nodes[1].open(Time::ZERO, &["test:1".into()], "ticks", None, Time::from_secs(5));
        let mut pair = Pair { nodes, now: Time::ZERO, source, there: here, sinks: Vec::new(), next: 0, looks: 0 };
        pair.run();
        pair.there = pair.nodes[1].opened(open).unwrap().unwrap();
        pair.sinks = (0..SINKS).map(|_| (1, pair.nodes[1].add_sink(pair.there, wanted(query)).unwrap())).collect();
        pair.sinks.push((0, pair.nodes[0].add_sink(here, wanted(query)).unwrap()));
        pair.run();
        assert_eq!(pair.nodes[0].ledger(source).len(), SINKS + 1);
        pair
    }

    /// Everything that was said arrives.
    fn run(&mut self) {
        for i in [0, 1].repeat(50) {
            while let Some(action) = self.nodes[i].action() {
                match action {
                    Action::Dial(dial, _) => {
                        self.nodes[i].connected(self.now, ConnId(1), Some(dial), Credentials::default());
                        self.nodes[1 - i].connected(self.now, ConnId(1), None, Credentials::default());
                    }
                    Action::Write(id) => {
                        let mut out = Outgoing::default();
                        self.nodes[i].output(self.now, id, &mut out);
                        self.nodes[i].unwritten(id, 0);
                        self.nodes[1 - i].receive(self.now, id, &out.to_vec()).unwrap();
                    }
                    _ => {}
                }
            }
        }
    }

    /// Time passes, and both nodes do what is due.
    fn pass(&mut self, time: Time) {
        let end = self.now + time;
        while let Some(due) = self.nodes.iter().filter_map(Node::deadline).min().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.nodes.iter_mut().for_each(|node| node.tick(self.now));
            self.run();
        }
        self.now = end;
    }

    /// Submits events that have their number. Every account is exact after each.
    fn submit(&mut self, count: u64) {
        for _ in 0..count {
            let body = &mut Body::from(self.next.to_ne_bytes());
            let (looks, time) = (&mut self.looks, self.next * PACE);
            let clock = || {
                *looks += 1;
                time
            };
            let submitted = self.nodes[0].submit_at(clock, self.source, None, body).unwrap();
            assert_eq!(submitted, Submitted::Done(self.next));
            self.next += 1;
            for account in self.nodes[0].ledger(self.source) {
                assert!(account.ledger.is_exact(), "{}", account.ledger);
            }
        }
        self.run();
    }

    /// What a sink takes, and how many events it was told of as skipped.
    fn take(&mut self, sink: usize) -> (Vec<u64>, u64) {
        let ((node, key), mut batch, mut events) = (self.sinks[sink], Batch::default(), Vec::new());
        while self.nodes[node].take(self.now, key, &mut batch) {
            let sequences = batch.items().filter_map(|item| match item {
                Item::Event { sequence, .. } => Some(sequence),
                _ => None,
            });
            events.extend(sequences);
        }
        self.run();
        (events, self.nodes[node].counts(key).skipped)
    }

    /// What all present sinks were submitted, and of that what they did not want.
    fn accounts(&self) -> Vec<[u64; 2]> {
        let all = self.nodes[0].ledger(self.source);
        all.iter().filter(|account| account.present).map(|one| [one.ledger.submitted, one.ledger.skipped]).collect()
    }
}

#[test]
fn what_no_sink_wants_needs_no_clock_and_is_in_every_account() {
    let mut pair = Pair::new("where count % 10 == 9");
    pair.submit(9);
    assert_eq!((pair.looks, pair.accounts()), (0, vec![[9, 9]; SINKS + 1]));
    pair.submit(1);
    assert_eq!((pair.looks, pair.accounts()), (1, vec![[10, 9]; SINKS + 1]), "all have the same time");
    pair.submit(15);
    assert_eq!((pair.looks, pair.accounts()), (2, vec![[25, 23]; SINKS + 1]));
    for sink in 0..=SINKS {
        assert_eq!(pair.take(sink), (vec![9, 19], 18), "it knows of what is before an event");
    }
    pair.pass(Time::from_millis(500));
    for sink in 0..=SINKS {
        assert_eq!(pair.take(sink), (vec![], 23), "and of the others after a while");
    }
}

#[test]
fn a_query_that_goes_by_time_looks_at_the_clock_once_for_an_event() {
    let mut pair = Pair::new("every 5 us");
    pair.submit(20);
    assert_eq!(pair.looks, 20);
    // Each comes up to half of that early.
    assert_eq!(pair.take(0), (vec![0, 3, 8, 13, 18], 14));
}

#[test]
fn whoever_comes_and_goes_has_the_account_from_then_on() {
    let mut pair = Pair::new("where count >= 20");
    pair.submit(5);
    let (node, gone) = pair.sinks.remove(0);
    pair.nodes[node].end_sink(gone);
    pair.run();
    let past = pair.nodes[0].ledger(pair.source).into_iter().find(|account| !account.present).unwrap().ledger;
    assert_eq!([past.submitted, past.skipped, past.lost()], [5, 5, 0]);
    pair.submit(5);
    let late = pair.nodes[1].add_sink(pair.there, wanted("where count >= 20")).unwrap();
    pair.sinks.push((1, late));
    pair.run();
    pair.submit(12);
    let mut accounts = pair.accounts();
    accounts.sort_unstable();
    assert_eq!(accounts, [vec![[12, 10]], vec![[22, 20]; SINKS]].concat());
    assert_eq!(pair.take(SINKS), (vec![20, 21], 10));
}
