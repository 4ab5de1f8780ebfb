//! Sinks that do not answer get events later than others, and have the same account.

use isoform_channel_proto::{
    Action, Batch, Cause, ConnId, Count, Credentials, Grants, Identity, Item, Key, Node, Outgoing, Parameters, Policy,
    Rights, Settings, SinkKey, SourceKey, Submitted, Time, Wanted, Window,
};
use isoform_core::{FieldList, Format, Machine};
use std::sync::Arc;

type Body = Arc<[u8]>;

const SINKS: usize = 6;
/// If no more than this many do not answer, they get every event at once.
const FEW: usize = 2;
/// The most events that are held for sinks that do not answer.
const HELD: u64 = 8;

struct Pair {
    nodes: [Node<Body, Vec<u8>>; 2],
    now: Time,
    source: SourceKey,
    sinks: Vec<SinkKey>,
    /// The latest connection. What is said on another one goes nowhere.
    connection: ConnId,
}

fn format() -> Format {
    FieldList::new("Tick").field("count", "integer", 8, 0).format(Machine::NATIVE, 8, 8).unwrap()
}

fn level(level: i64) -> Parameters {
    Parameters::new(&format(), &level.to_ne_bytes()).unwrap()
}

impl Pair {
    /// A source, and sinks at another node with this policy and window.
    fn new(policy: Policy, window: u64) -> Pair {
        Pair::with(policy, window, &[])
    }

    /// The sinks ask for these values of the source's parameter in turn; without any, it has none.
    fn with(policy: Policy, window: u64, levels: &[i64]) -> Pair {
        Pair::of(policy, window, levels, SINKS)
    }

    fn of(policy: Policy, window: u64, levels: &[i64], sinks: usize) -> Pair {
        let node = |byte| {
            let held = Count { events: HELD, bytes: 1_000 };
            let settings = Settings { few: FEW, held, ..Settings::default() };
            Node::new(Key::from_seed([byte; 32]), Settings { addresses: vec![format!("test:{byte}")], ..settings })
        };
        let mut nodes = [node(1), node(2)];
        let channel = nodes[0].create(Identity([9; 16]), "ticks", None).unwrap();
        let defaults = levels.first().map(|_| level(0));
        let grants = Grants { most_sinks: sinks, ..Grants::default() };
        let source = nodes[0].add_source_with(channel, Some(&format()), grants, defaults.as_ref(), None).unwrap();
        let open = nodes[1].open(Time::ZERO, &["test:1".into()], "ticks", None, Time::from_secs(5));
        let mut pair = Pair { nodes, now: Time::ZERO, source, sinks: Vec::new(), connection: ConnId(0) };
        pair.run();
        let channel = pair.nodes[1].opened(open).unwrap().unwrap();
        let window = Window { events: window, ..Wanted::any(policy).window };
        for sink in 0..sinks {
            let parameters = levels.get(sink % levels.len().max(1)).map(|&asked| level(asked));
            let wanted = Wanted { window, parameters, ..Wanted::any(policy) };
            pair.sinks.push(pair.nodes[1].add_sink(channel, wanted).unwrap());
        }
        pair.run();
        pair
    }

    /// Everything that was said arrives.
    fn run(&mut self) {
        for i in [0, 1].repeat(50) {
            while let Some(action) = self.nodes[i].action() {
                match action {
                    Action::Dial(dial, _) => {
                        self.connection.0 += 1;
                        self.nodes[i].connected(self.now, self.connection, Some(dial), Credentials::default());
                        self.nodes[1 - i].connected(self.now, self.connection, None, Credentials::default());
                    }
                    Action::Write(id) => {
                        let mut out = Outgoing::default();
                        self.nodes[i].output(self.now, id, &mut out);
                        self.nodes[i].unwritten(id, 0);
                        if id != self.connection {
                            continue;
                        }
                        let used = self.nodes[1 - i].receive(self.now, id, &out.to_vec()).unwrap();
                        assert_eq!(used, out.length());
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

    fn submit(&mut self, count: u64) {
        for _ in 0..count {
            // Each event has its number for its time.
            let time = self.nodes[0].ledger(self.source)[0].ledger.submitted;
            let submitted = self.nodes[0].submit(time, self.source, None, &mut Body::from([0; 8])).unwrap();
            assert!(matches!(submitted, Submitted::Done(_)), "{submitted:?}");
            self.nodes[0].ledger(self.source).iter().for_each(|account| assert!(account.ledger.is_exact()));
        }
        self.run();
    }

    /// Submits an event for the sinks that have these values.
    fn submit_for(&mut self, asked: i64) {
        let time = self.nodes[0].ledger(self.source)[0].ledger.submitted;
        let demands = self.nodes[0].demands(self.source);
        let key = demands.iter().find(|demand| demand.values == level(asked)).unwrap().key;
        self.nodes[0].submit_for(|| time, self.source, key, None, &mut Body::from([0; 8])).unwrap();
        self.nodes[0].ledger(self.source).iter().for_each(|account| assert!(account.ledger.is_exact()));
        self.run();
    }

    /// How many events have arrived at each sink.
    fn arrived(&self) -> Vec<u64> {
        self.sinks.iter().map(|&sink| self.nodes[1].counts(sink).received).collect()
    }

    /// The sequences of the events that a sink takes, and how many were lost before each.
    fn take(&mut self, sink: usize) -> Vec<(u64, u64)> {
        let (mut batch, mut events, mut lost) = (Batch::default(), Vec::new(), 0);
        while self.nodes[1].take(self.now, self.sinks[sink], &mut batch) {
            for item in batch.items() {
                match item {
                    Item::Gap(_, gap) => lost += gap.count,
                    Item::Event { sequence, time, .. } => {
                        assert_eq!(sequence, time, "an event comes with its own number");
                        events.push((sequence, std::mem::take(&mut lost)));
                    }
                    _ => {}
                }
            }
        }
        self.run();
        events
    }
}

#[test]
fn who_does_not_answer_gets_events_later_and_all_of_them() {
    let mut pair = Pair::new(Policy::Block, 100);
    pair.submit(1);
    assert_eq!(pair.arrived(), [1; SINKS], "whether a sink answers is not known yet");
    assert_eq!(pair.take(0), [(0, 0)]);
    pair.pass(Time::from_millis(30));
    pair.submit(3);
    assert_eq!(pair.arrived(), [4, 1, 1, 1, 1, 1], "only one has acknowledged something");
    for account in pair.nodes[0].ledger(pair.source) {
        let ledger = account.ledger;
        assert_eq!((ledger.submitted, ledger.acknowledged + ledger.in_flight), (4, 4));
    }
    pair.pass(Time::from_millis(10));
    assert_eq!(pair.arrived(), [4; SINKS]);
    pair.submit(HELD);
    assert_eq!(pair.arrived(), [4 + HELD; SINKS], "no more are held");
    // All acknowledge what they have taken.
    for sink in 0..SINKS {
        let first = u64::from(sink == 0);
        assert_eq!(pair.take(sink), (first..12).map(|sequence| (sequence, 0)).collect::<Vec<_>>());
    }
    pair.pass(Time::from_millis(30));
    pair.submit(2);
    assert_eq!(pair.arrived(), [14; SINKS], "they get events at once again");
    for account in pair.nodes[0].ledger(pair.source) {
        assert_eq!((account.ledger.submitted, account.ledger.acknowledged, account.ledger.in_flight), (14, 12, 2));
    }
}

/// Their queues may have room for more, but to fill these takes the time of the thread that submits.
#[test]
fn many_silent_sinks_keep_only_the_latest_events() {
    const MANY: usize = 1792;
    let mut pair = Pair::of(Policy::DropOldest { events: 100, bytes: 10_000 }, 1, &[], MANY);
    pair.submit(1);
    pair.submit(2 * HELD + 3);
    for sink in [0, 1, MANY - 1] {
        // One event at a time, since the window is one: each is sent when the one before it is taken.
        let mut taken = pair.take(sink);
        for _ in 0..10 {
            pair.pass(Time::from_millis(30));
            taken.extend(pair.take(sink));
        }
        let latest = [(0, 0), (13, 12), (14, 0), (15, 0), (16, 0), (17, 0), (18, 0), (19, 0)];
        assert_eq!(taken, latest, "{sink}");
    }
    for account in pair.nodes[0].ledger(pair.source) {
        let ledger = account.ledger;
        assert!(ledger.is_exact() && ledger.submitted == 2 * HELD + 4, "{ledger:?}");
    }
}

#[test]
fn few_that_do_not_answer_get_events_at_once() {
    let mut pair = Pair::new(Policy::Block, 100);
    pair.submit(1);
    (FEW..SINKS).for_each(|sink| assert_eq!(pair.take(sink), [(0, 0)]));
    pair.pass(Time::from_millis(30));
    pair.submit(3);
    assert_eq!(pair.arrived(), [4; SINKS]);
}

#[test]
fn who_has_no_room_loses_the_oldest_events_and_is_told() {
    for (policy, queue) in [(Policy::Latest, 1), (Policy::DropOldest { events: 3, bytes: 1 << 20 }, 3)] {
        let mut pair = Pair::new(policy, 1);
        for submitted in 1..=100 {
            pair.submit(1);
            for account in pair.nodes[0].ledger(pair.source) {
                let (ledger, in_flight) = (account.ledger, submitted.min(1 + queue));
                assert_eq!((ledger.submitted, ledger.in_flight), (submitted, in_flight), "{policy}");
                let missing = [ledger.superseded, ledger.lost_for(Cause::Overrun)];
                assert_eq!(missing.iter().sum::<u64>(), submitted - in_flight, "{policy}");
                assert_eq!(missing[usize::from(policy == Policy::Latest)], 0, "{policy}");
            }
        }
        for sink in 0..SINKS {
            assert_eq!(pair.take(sink), [(0, 0)]);
        }
        // One more is held, and comes before what the sinks acknowledge now.
        pair.submit(1);
        pair.pass(Time::from_millis(30));
        for sink in 0..SINKS {
            assert_eq!(pair.take(sink), [(100 - queue, 99 - queue)], "{policy}");
        }
        for account in pair.nodes[0].ledger(pair.source) {
            let ledger = account.ledger;
            assert_eq!((ledger.submitted, ledger.acknowledged, ledger.in_flight), (101, 2, queue), "{policy}");
        }
    }
}

#[test]
fn a_source_that_leaves_holds_nothing_back() {
    let mut pair = Pair::new(Policy::Block, 100);
    pair.submit(4);
    pair.nodes[0].end_source(pair.source);
    pair.run();
    assert_eq!(pair.arrived(), [4; SINKS]);
}

#[test]
fn a_sink_that_asks_for_another_policy_gets_what_was_held_under_the_old_one() {
    let mut pair = Pair::new(Policy::Block, 2);
    pair.submit(1);
    for sink in pair.sinks.clone() {
        pair.nodes[1].set_policy(sink, Policy::DropOldest { events: 2, bytes: 1_000 }, false);
    }
    pair.run();
    pair.submit(7);
    for sink in pair.sinks.clone() {
        pair.nodes[1].set_policy(sink, Policy::Latest, false);
    }
    pair.run();
    for account in pair.nodes[0].ledger(pair.source) {
        let ledger = account.ledger;
        assert_eq!((ledger.submitted, ledger.in_flight, ledger.lost_for(Cause::Overrun)), (8, 3, 4));
        assert_eq!(ledger.superseded, 1, "the older of two that waited, by the new policy");
    }
}

#[test]
fn a_link_that_ends_as_its_connection_breaks_takes_what_is_held_with_it() {
    let mut pair = Pair::new(Policy::Block, 100);
    pair.submit(1);
    // The rules of the sinks' node hide its channel, and so the two nodes are strangers: nothing is kept once they are cut.
    pair.nodes[1].set_rights(pair.now, Some(Rights::parse("deny anyone see on *").unwrap()));
    pair.run();
    let ledgers = pair.nodes[0].ledger(pair.source);
    assert!(ledgers.iter().any(|account| account.present), "a sink has yet to take what came");
    pair.submit(4);
    pair.nodes[0].closed(pair.now, ConnId(1), None);
    let ledgers = pair.nodes[0].ledger(pair.source);
    assert!(ledgers.iter().all(|account| !account.present && account.ledger.is_exact()), "{ledgers:?}");
}

#[test]
fn what_is_held_does_not_come_on_a_new_connection_before_the_sinks_resume() {
    for policy in [Policy::Block, Policy::Latest] {
        let mut pair = Pair::new(policy, 100);
        pair.submit(1);
        pair.pass(Time::from_millis(30));
        // The sinks' node hears that the connection broke, and the source's node does not. It sends one event that is lost, holds
        // another, and then the next connection is there.
        pair.nodes[1].closed(pair.now, ConnId(1), None);
        for _ in 0..2 {
            let ledger = pair.nodes[0].ledger(pair.source)[0].ledger;
            pair.nodes[0].submit(ledger.submitted, pair.source, None, &mut Body::from([0; 8])).unwrap();
        }
        pair.run();
        assert_eq!(pair.connection, ConnId(2));
        pair.submit(1);
        pair.pass(Time::from_millis(30));
        for sink in 0..SINKS {
            let taken = pair.take(sink);
            let (events, lost) = (taken.len() as u64, taken.iter().map(|&(_, lost)| lost).sum::<u64>());
            assert_eq!(
                (events + lost, taken.last().map(|&(sequence, _)| sequence)),
                (4, Some(3)),
                "{policy}: {taken:?}"
            );
        }
    }
}

#[test]
fn at_a_source_with_parameters_who_does_not_answer_gets_the_events_of_its_values_later() {
    let mut pair = Pair::with(Policy::Block, 100, &[1, 2]);
    pair.submit(1);
    pair.pass(Time::from_millis(30));
    for _ in 0..2 {
        pair.submit_for(1);
        pair.submit_for(2);
        pair.submit(1);
    }
    assert_eq!(pair.arrived(), [1; SINKS]);
    for account in pair.nodes[0].ledger(pair.source) {
        let ledger = account.ledger;
        assert_eq!((ledger.submitted, ledger.skipped, ledger.in_flight), (7, 2, 5));
    }
    pair.pass(Time::from_millis(10));
    for sink in 0..SINKS {
        let expected = if sink % 2 == 0 { [0, 1, 3, 4, 6] } else { [0, 2, 3, 5, 6] };
        assert_eq!(pair.take(sink), expected.map(|sequence| (sequence, 0)));
    }
}

#[test]
fn an_account_has_what_is_held_for_other_values_as_it_will_be() {
    for policy in [Policy::Latest, Policy::DropOldest { events: 2, bytes: 1_000 }] {
        let mut pair = Pair::with(policy, 2, &[1, 2, 2]);
        pair.submit(1);
        pair.pass(Time::from_millis(30));
        for level in [1, 2, 2, 1, 2, 1] {
            pair.submit_for(level);
        }
        let ledgers = |pair: &Pair| pair.nodes[0].ledger(pair.source);
        let held = ledgers(&pair);
        assert_eq!(pair.arrived(), [1; SINKS], "{policy}");
        pair.pass(Time::from_millis(10));
        assert_eq!((pair.arrived(), ledgers(&pair)), (vec![2; SINKS], held), "{policy}");
    }
}
