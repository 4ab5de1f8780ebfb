//! Events that no sink wants: they cost the same, however many sinks share the query, and every account has them.

use isoform_channel_proto::{
    Action, Batch, Cause, ChannelKey, ConnId, Credentials, FrameKind, Grants, HEADER, Header, Hello, Identity, Item,
    Key, Node, Outgoing, Policy, QueryTime, Settings, SinkKey, SinkLedger, SourceKey, Submitted, Time, Wanted, Window,
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
    /// How many Skips the source's node has sent.
    skips: usize,
}

fn format() -> Format {
    FieldList::new("Tick").field("count", "integer", 8, 0).format(Machine::NATIVE, 8, 8).unwrap()
}

fn wanted(query: &str) -> Wanted {
    wanted_by(query, Policy::DropOldest { events: 2, bytes: 1_000 })
}

fn wanted_by(query: &str, policy: Policy) -> Wanted {
    Wanted { query: Some(Query::parse(query).unwrap()), ..Wanted::any(policy) }
}

/// What lets so many sinks be at one source, whose queries have time enough.
fn many(sinks: usize) -> Grants {
    let second = Time::from_secs(1);
    let queries = Some(QueryTime { second, ..QueryTime::default() });
    Grants { most_sinks: sinks, queries, lossless: true, ..Grants::default() }
}

impl Pair {
    fn new(query: &str) -> Pair {
        Pair::with(query, SINKS, Grants::default())
    }

    /// So many sinks at the other node.
    fn with(query: &str, sinks: usize, grants: Grants) -> Pair {
        let node = |byte| {
            let settings = Settings { addresses: vec![format!("test:{byte}")], ..Settings::default() };
            Node::new(Key::from_seed([byte; 32]), settings)
        };
        let mut nodes = [node(1), node(2)];
        let here = nodes[0].create(Identity([9; 16]), "ticks", None).unwrap();
        let source = nodes[0].add_source_that(here, Some(&format()), grants).unwrap();
        let open = nodes[1].open(Time::ZERO, &["test:1".into()], "ticks", None, Time::from_secs(5));
        let (now, there) = (Time::ZERO, here);
        let mut pair = Pair { nodes, now, source, there, sinks: Vec::new(), next: 0, looks: 0, skips: 0 };
        pair.run();
        pair.there = pair.nodes[1].opened(open).unwrap().unwrap();
        pair.sinks = (0..sinks).map(|_| (1, pair.nodes[1].add_sink(pair.there, wanted(query)).unwrap())).collect();
        pair.sinks.push((0, pair.nodes[0].add_sink(here, wanted(query)).unwrap()));
        pair.run();
        assert_eq!(pair.nodes[0].ledger(source).len(), sinks + 1);
        pair
    }

    /// So many more sinks at the other node.
    fn add(&mut self, sinks: usize, wanted: &Wanted) {
        for _ in 0..sinks {
            self.sinks.push((1, self.nodes[1].add_sink(self.there, wanted.clone()).unwrap()));
        }
        self.run();
    }

    /// How many events have arrived at the sinks of the other node, of each that has any.
    fn arrived(&self) -> Vec<u64> {
        let there = self.sinks.iter().filter(|(node, _)| *node == 1);
        there.map(|&(node, key)| self.nodes[node].counts(key).received).filter(|&received| received > 0).collect()
    }

    /// The ledgers of present sinks at the other node: how many events are in flight, and how many were lost or superseded for a cause.
    fn missing(&self, cause: Cause) -> Vec<[u64; 2]> {
        let count = |one: &SinkLedger| match cause {
            Cause::Superseded => one.ledger.superseded,
            cause => one.ledger.lost_for(cause),
        };
        let all = self.nodes[0].ledger(self.source);
        let there = all.iter().filter(|one| one.present && one.node == self.nodes[1].id());
        there.map(|one| [one.ledger.in_flight, count(one)]).collect()
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
                        let bytes = out.to_vec();
                        self.skips += if i == 0 { skips(&bytes) } else { 0 };
                        self.nodes[1 - i].receive(self.now, id, &bytes).unwrap();
                    }
                    _ => {}
                }
            }
        }
    }

    /// Both nodes do what is due next.
    fn step(&mut self) {
        let due = self.nodes.iter().filter_map(Node::deadline).min().unwrap();
        self.now = self.now.max(due);
        self.nodes.iter_mut().for_each(|node| node.tick(self.now));
        self.run();
    }

    /// Time passes, and both nodes do what is due.
    fn pass(&mut self, time: Time) {
        let end = self.now + time;
        while self.nodes.iter().filter_map(Node::deadline).any(|due| due <= end) {
            self.step();
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

    /// What a sink takes until nothing comes any more.
    fn take_all(&mut self, sink: usize) -> Vec<u64> {
        let (mut all, mut before) = (Vec::new(), None);
        while before != Some(all.len()) {
            before = Some(all.len());
            all.extend(self.take(sink).0);
            self.pass(Time::from_millis(50));
        }
        all
    }

    /// What all present sinks were submitted, and of that what they did not want.
    fn accounts(&self) -> Vec<[u64; 2]> {
        let all = self.nodes[0].ledger(self.source);
        all.iter().filter(|account| account.present).map(|one| [one.ledger.submitted, one.ledger.skipped]).collect()
    }
}

/// How many Skips are among these frames. A Hello is no frame.
fn skips(mut bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\x89ISL") {
        bytes = &bytes[Hello::LENGTH..];
    }
    let mut count = 0;
    while let Some(header) = bytes.first_chunk::<HEADER>() {
        let header = Header::parse(header).unwrap();
        count += usize::from(header.kind == Some(FrameKind::Skip));
        bytes = &bytes[header.extent()..];
    }
    count
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

#[test]
fn what_a_query_has_no_time_for_is_in_every_account() {
    let time = Time::from_micros(70);
    let queries = Some(QueryTime { at_once: time, second: time });
    let mut pair = Pair::with("where count % 2 == 2", SINKS, Grants { queries, ..Grants::default() });
    // In each hundredth of a second, some flows back for one.
    pair.submit(35_000);
    let accounts = |pair: &Pair| {
        let all = pair.nodes[0].ledger(pair.source);
        let numbers = |one: &SinkLedger| (one.ledger.skipped, one.ledger.lost_for(Cause::Thinned));
        all.iter().map(numbers).collect::<Vec<_>>()
    };
    let before = accounts(&pair);
    let (skipped, thinned) = before[1];
    assert!(skipped > 50 && thinned > 30_000 && skipped + thinned == 35_000, "{skipped} and {thinned}");
    assert_eq!(before, [vec![(35_000, 0)], vec![(skipped, thinned); SINKS]].concat(), "nobody pays for the own sink");
    pair.pass(Time::from_millis(500));
    assert_eq!(accounts(&pair), before);
    for sink in 0..SINKS {
        assert_eq!(pair.take(sink), (vec![], skipped));
        assert_eq!(pair.nodes[1].counts(pair.sinks[sink].1).lost, thinned);
    }
}

#[test]
fn sinks_are_told_of_skipped_events_a_few_at_a_time() {
    const MANY: usize = 400;
    let grants = Grants { most_sinks: MANY, ..Grants::default() };
    let mut pair = Pair::with("where count < 0", MANY, grants);
    for round in 1..=3 {
        let (begin, mut told) = (pair.now, 0);
        pair.submit(10);
        while told < MANY {
            let before = pair.skips;
            pair.step();
            // What is submitted meanwhile is told in the same frame, or with the next round.
            pair.submit(u64::from(before < pair.skips));
            assert!(pair.skips - before <= 64, "{} at a time", pair.skips - before);
            told += pair.skips - before;
        }
        assert_eq!(told, MANY, "each is told once in round {round}");
        let took = pair.now - begin;
        assert!((Time::from_millis(300)..Time::from_millis(900)).contains(&took), "a thousand a second: {took:?}");
    }
    pair.pass(Time::from_secs(1));
    for sink in 0..=MANY {
        assert_eq!(pair.take(sink), (vec![], pair.next));
    }
    assert_eq!(pair.accounts(), vec![[pair.next; 2]; MANY + 1]);
    assert_eq!(pair.looks, 0);
}

#[test]
fn those_who_ask_pay_for_telling_their_sinks_of_skipped_events() {
    const MANY: usize = 200;
    let millis = Time::from_millis(1);
    // In each second, there is time to tell two hundred.
    let queries = Some(QueryTime { at_once: millis, second: millis });
    let mut pair = Pair::with("where count < 0", MANY, Grants { queries, ..many(MANY) });
    let (seconds, pace) = (20, 1_000_000);
    for at in 0..1_000 * seconds {
        pair.pass(Time::from_nanos(pace));
        let body = &mut Body::from((at as u64).to_ne_bytes());
        pair.nodes[0].submit(at as u64 * pace, pair.source, None, body).unwrap();
    }
    let all = pair.nodes[0].ledger(pair.source);
    let thinned = all.iter().map(|one| one.ledger.lost_for(Cause::Thinned)).max().unwrap();
    assert!(pair.skips < 200 * seconds * 2, "{} in {seconds} seconds", pair.skips);
    assert!(thinned > 5_000, "{thinned} events were thinned instead");
}

#[test]
fn what_queries_let_pass_comes_to_many_sinks_a_few_at_a_time() {
    const MANY: usize = 300;
    for query in ["where count >= 0", "select n = count"] {
        let mut pair = Pair::with(query, MANY, many(MANY));
        pair.submit(1);
        assert!(pair.arrived().is_empty(), "{query}");
        assert_eq!(pair.take(MANY), (vec![0], 0), "{query}: a sink of the source's node gets it at once");
        assert_eq!(pair.missing(Cause::Thinned), [[1, 0]; MANY], "{query}");
        let mut arrived = 0;
        while arrived < MANY {
            pair.step();
            let more = pair.arrived().len() - arrived;
            assert!(more <= 64, "{query}: {more} at a time");
            arrived += more;
            // It comes together with what is submitted meanwhile.
            pair.submit(u64::from(arrived == 128));
        }
        assert!(pair.now <= Time::from_millis(50), "{query}: {:?}", pair.now);
        pair.pass(Time::from_millis(50));
        (0..MANY).for_each(|sink| assert_eq!(pair.take(sink), (vec![0, 1], 0), "{query}"));
    }
}

#[test]
fn a_few_sinks_of_a_query_get_what_it_lets_pass_at_once() {
    for (queries, sinks) in [(1, 64), (4, 16), (2, 64)] {
        let mut pair = Pair::with("where count >= 0", sinks, many(256));
        (1..queries).for_each(|query| pair.add(sinks, &wanted(&format!("where count >= {query} - {query}"))));
        pair.submit(1);
        assert_eq!(pair.arrived(), [1; 64], "{queries} queries");
    }
}

#[test]
fn what_is_owed_comes_before_whatever_else_happens_to_a_sink() {
    const MANY: usize = 100;
    let with_three = || {
        let mut pair = Pair::with("where count % 2 == 1", MANY, many(MANY));
        pair.submit(7);
        assert!(pair.arrived().is_empty());
        pair
    };
    let all = [1, 3, 5].to_vec();
    let mut pair = with_three();
    pair.nodes[0].end_source(pair.source);
    pair.run();
    (0..=MANY).for_each(|sink| assert_eq!(pair.take(sink), (vec![1, 3, 5], 4)));
    pair.pass(Time::from_millis(50));
    assert!(pair.nodes[0].ledger(pair.source).iter().all(|one| !one.present && one.ledger.is_exact()));
    // Another policy is for what comes later.
    let mut pair = with_three();
    let (node, sink) = pair.sinks[0];
    pair.nodes[node].set_policy(sink, Policy::Latest, false);
    pair.run();
    assert_eq!(pair.arrived(), [3]);
    assert_eq!(pair.take(0).0, all);
    // A sink that leaves has it in its account.
    let mut pair = with_three();
    let (node, sink) = pair.sinks[0];
    pair.nodes[node].end_sink(sink);
    pair.run();
    let past = pair.nodes[0].ledger(pair.source).into_iter().find(|one| !one.present).unwrap().ledger;
    assert_eq!([past.submitted, past.skipped, past.lost_for(Cause::Ended)], [7, 4, 3]);
    // A new one has nothing of it.
    let late = pair.nodes[1].add_sink(pair.there, wanted("where count % 2 == 1")).unwrap();
    pair.run();
    pair.submit(3);
    pair.pass(Time::from_millis(50));
    pair.sinks.push((1, late));
    assert_eq!(pair.take(MANY + 1), (vec![7, 9], 1));
    // What a link takes with it when it ends.
    let mut pair = with_three();
    pair.nodes[0].closed(pair.now, ConnId(1), None);
    assert_eq!(pair.missing(Cause::Thinned), [[2, 0]; MANY], "two wait for the next connection");
    pair.now = Time::from_secs(60);
    pair.nodes[0].tick(pair.now);
    let past = pair.nodes[0].ledger(pair.source);
    let past: Vec<_> = past.iter().filter(|one| !one.present).map(|one| one.ledger).collect();
    assert!(past.iter().all(|one| one.is_exact() && one.lost() == 3 && one.skipped == 4), "{past:?}");
}

#[test]
fn if_too_much_is_owed_a_query_looks_at_no_event_until_some_was_given() {
    const MANY: usize = 200;
    for (policy, window) in
        [(Policy::Block, 1 << 16), (Policy::Latest, 1 << 16), (Policy::DropOldest { events: 100, bytes: 1 << 20 }, 10)]
    {
        let mut pair = Pair::with("where count < 0", MANY, many(2 * MANY));
        let wanted = wanted_by("where count >= 0", policy);
        pair.add(MANY, &Wanted { window: Window { events: window, ..wanted.window }, ..wanted });
        pair.submit(100);
        assert!(pair.arrived().is_empty(), "{policy}");
        let missing = |pair: &Pair| pair.missing(Cause::Thinned)[MANY..].to_vec();
        assert_eq!(missing(&pair), [[64, 36]; MANY], "{policy}");
        pair.pass(Time::from_millis(1_000));
        assert_eq!(pair.arrived(), [window.min(64); MANY], "{policy}");
        assert_eq!(missing(&pair), [[64, 36]; MANY], "{policy}");
        pair.submit(1);
        pair.pass(Time::from_millis(1_000));
        for sink in MANY + 1..=2 * MANY {
            let expected = (0..64).chain([100]).collect::<Vec<_>>();
            assert_eq!(pair.take_all(sink), expected, "{policy}");
            assert_eq!(pair.nodes[1].counts(pair.sinks[sink].1).lost, 36, "{policy}");
        }
    }
}

#[test]
fn many_bytes_are_owed_to_nobody() {
    const MANY: usize = 100;
    let drop_oldest = Policy::DropOldest { events: 100, bytes: 64 << 20 };
    let usual = [(10 << 10, 5), (300 << 10, 3), (2 << 20, 1)];
    // For sinks for which the source waits, it is what always has room.
    let little = [(10 << 10, 3), (300 << 10, 1)];
    for (policy, (length, owed)) in [(drop_oldest, &usual[..]), (Policy::Block, &little)]
        .into_iter()
        .flat_map(|(policy, all)| all.iter().map(move |&one| (policy, one)))
    {
        let mut pair = Pair::with("where count < 0", 1, many(MANY + 1));
        pair.add(MANY, &wanted_by("where count >= 0", policy));
        for _ in 0..5 {
            let body = &mut Body::from(vec![0; length]);
            pair.nodes[0].submit(pair.next, pair.source, None, body).unwrap();
            pair.next += 1;
        }
        assert_eq!(pair.missing(Cause::Thinned)[1..], [[owed, 5 - owed]; MANY], "{length} bytes, {policy}");
        pair.pass(Time::from_secs(1));
        (2..MANY + 2).for_each(|sink| assert_eq!(pair.take_all(sink).len() as u64, owed));
    }
}

#[test]
fn a_source_waits_for_its_lossless_sinks_as_ever() {
    const MANY: usize = 100;
    let mut pair = Pair::with("where count >= 0", MANY, many(2 * MANY));
    let lossless = Wanted { must: true, ..wanted_by("where count >= 0", Policy::Block) };
    pair.add(1, &Wanted { window: Window { events: 3, ..lossless.window }, ..lossless });
    // Those that share its query get events at once, too, so that none is thinned.
    pair.submit(4);
    assert_eq!(pair.arrived(), [[4; MANY].as_slice(), &[3]].concat());
    let full = pair.nodes[0].submit(9, pair.source, None, &mut Body::from([0; 8])).unwrap();
    assert_eq!(full, Submitted::Full);
    assert_eq!(pair.take_all(MANY + 1), [0, 1, 2, 3]);
    pair.submit(1);
    assert_eq!(pair.take_all(MANY + 1), [4]);
}

#[test]
fn sinks_without_room_get_events_later_and_are_not_looked_at() {
    const MANY: usize = 100;
    for (policy, queue) in [(Policy::Latest, 1), (Policy::DropOldest { events: 3, bytes: 1 << 20 }, 3)] {
        let mut pair = Pair::with("where count < 0", 1, many(MANY + 1));
        let stalled = wanted_by("where count >= 0", policy);
        pair.add(MANY, &Wanted { window: Window { events: 1, ..stalled.window }, ..stalled });
        for submitted in 1..=50 {
            pair.submit(1);
            let in_flight = submitted.min(1 + queue);
            let cause = if policy == Policy::Latest { Cause::Superseded } else { Cause::Overrun };
            assert_eq!(pair.missing(cause)[1..], [[in_flight, submitted - in_flight]; MANY], "{policy}");
            pair.pass(Time::from_millis(submitted % 3));
        }
        pair.pass(Time::from_millis(50));
        assert_eq!(pair.arrived(), [1; MANY], "{policy}");
        for sink in 2..MANY + 2 {
            assert_eq!(pair.take_all(sink).len() as u64, 1 + queue, "{policy}");
        }
    }
}
