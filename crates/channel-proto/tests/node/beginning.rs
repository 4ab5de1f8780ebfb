//! New sinks get kept events in slices, so that others do not wait, and have the same account as if they got all at once.

use super::host::{Guest, Host};
use isoform_channel_proto::{
    Action, Batch, Cause, Grants, Item, Parameters, Policy, Query, QueryTime, Settings, SinkKey, SinkLedger, SourceKey,
    Submitted, Time, Wanted,
};
use isoform_core::{FieldList, Format, Machine};
use std::sync::Arc;

const KEPT: u64 = 20;

/// A host whose source keeps events, and a guest with a sink.
struct World {
    host: Host,
    guest: Guest,
    source: SourceKey,
    sink: SinkKey,
    next: u64,
}

fn numbers(name: &str) -> Format {
    FieldList::new(name).field("n", "integer", 8, 0).format(Machine::NATIVE, 8, 8).unwrap()
}

fn level(level: i64) -> Parameters {
    Parameters::new(&numbers("Level"), &level.to_ne_bytes()).unwrap()
}

fn wanted(query: &str) -> Wanted {
    let query = (!query.is_empty()).then(|| Query::parse(query).unwrap());
    Wanted { query, ..Wanted::any(Policy::DropOldest { events: 1 << 16, bytes: 64 << 20 }) }
}

impl World {
    /// The source keeps so many events, and has submitted as many. It gives one event with each slice.
    fn new(kept: u64, wanted: Wanted) -> World {
        World::with(Settings { slice: Time::from_nanos(1), ..Settings::default() }, kept, wanted)
    }

    fn with(settings: Settings, kept: u64, wanted: Wanted) -> World {
        let mut host = Host::new(settings);
        let queries = Some(QueryTime { at_once: Time::from_millis(1), second: Time::from_secs(1) });
        let grants = Grants { keep: kept as usize, lossless: true, queries, ..Grants::default() };
        let defaults = wanted.parameters.as_ref().map(|_| level(0));
        let source =
            host.node.add_source_with(host.channel, Some(&numbers("Tick")), grants, defaults.as_ref(), None).unwrap();
        let mut guest = host.guest(Settings::default());
        // A slice without anything, so that the next one is a whole one.
        host.node.tick(host.now);
        let mut world = World { source, sink: SinkKey(0), next: 0, guest, host };
        world.submit(kept);
        guest = world.guest;
        world.sink = guest.node.add_sink(guest.channel, wanted).unwrap();
        world.guest = guest;
        world.talk();
        world
    }

    fn talk(&mut self) {
        self.host.talk(&mut self.guest).unwrap();
    }

    /// Submits events that have their number. Every account is exact after each.
    fn submit(&mut self, count: u64) {
        for _ in 0..count {
            let body = &mut Arc::from(self.next.to_ne_bytes());
            let submitted = self.host.node.submit(self.next, self.source, None, body).unwrap();
            assert_eq!(submitted, Submitted::Done(self.next));
            self.next += 1;
            self.host.node.ledger(self.source).iter().for_each(|it| assert!(it.ledger.is_exact(), "{}", it.ledger));
        }
    }

    /// So many slices.
    fn pass(&mut self, slices: usize) {
        for _ in 0..slices {
            self.host.now += Time::from_millis(1);
            self.host.node.tick(self.host.now);
            self.host.node.ledger(self.source).iter().for_each(|it| assert!(it.ledger.is_exact(), "{}", it.ledger));
            self.guest.node.tick(self.host.now);
            self.talk();
        }
    }

    /// What the sink takes: the numbers of the events, and all else.
    fn take(&mut self) -> (Vec<u64>, Vec<Item>) {
        let (mut batch, mut events, mut others) = (Batch::default(), Vec::new(), Vec::new());
        while self.guest.node.take(self.host.now, self.sink, &mut batch) {
            for item in batch.items() {
                match item {
                    Item::Event { sequence, .. } => events.push(sequence),
                    other => others.push(other),
                }
            }
        }
        self.talk();
        (events, others)
    }

    fn account(&self) -> SinkLedger {
        self.host.node.ledger(self.source)[0]
    }
}

#[test]
fn kept_events_come_a_few_at_a_time_and_in_front_of_the_others() {
    let mut world = World::new(KEPT, wanted(""));
    assert_eq!(world.take().0, [0]);
    assert_eq!(world.account().ledger.in_flight, KEPT, "the others are on their way");
    world.pass(3);
    assert_eq!(world.take().0, [1, 2, 3]);
    world.submit(2);
    world.talk();
    assert_eq!(world.take().0, [4, 5, 6, 7], "two with each event that is submitted");
    world.pass(KEPT as usize - 6);
    assert_eq!(world.take().0, (8..KEPT + 2).collect::<Vec<_>>());
    assert_eq!(world.host.node.deadline().filter(|due| *due <= world.host.now), None, "nothing is left to do");
    world.submit(1);
    world.talk();
    assert_eq!(world.take().0, [KEPT + 2], "it gets each event at once now");
}

#[test]
fn a_source_that_is_faster_than_the_slices_drops_no_event_before_the_sink_has_it() {
    let mut world = World::new(KEPT, wanted(""));
    world.submit(5 * KEPT);
    world.pass(1);
    let (events, _) = world.take();
    assert_eq!(events, (0..6 * KEPT).collect::<Vec<_>>());
    assert_eq!(world.account().ledger.lost(), 0);
}

#[test]
fn one_subscribe_looks_at_a_part_of_many_kept_events() {
    const MANY: u64 = 1 << 16;
    for query in ["where n < 0", "where n % 64 == 0", "where n < 0 | select n, m = n * 2"] {
        let mut world = World::with(Settings::default(), MANY, wanted(query));
        let first = world.account().ledger.skipped;
        assert!((300..4_000).contains(&first), "{query}: {first}");
        world.pass(1);
        let second = world.account().ledger.skipped - first;
        assert!((300..4_000).contains(&second), "{query}: {second}");
        world.pass(200);
        let passed = if query.contains("64") { MANY / 64 } else { 0 };
        assert_eq!((world.take().0.len() as u64, world.account().ledger.skipped), (passed, MANY - passed), "{query}");
    }
}

/// Many that subscribe at once have one slice together.
#[test]
fn sinks_that_subscribe_together_share_a_slice() {
    let mut world = World::new(KEPT, wanted(""));
    for _ in 0..5 {
        world.guest.node.add_sink(world.guest.channel, wanted("")).unwrap();
    }
    world.talk();
    let waiting = |world: &World| -> Vec<u64> {
        world.host.node.ledger(world.source).iter().map(|account| account.ledger.in_flight).collect()
    };
    assert_eq!(waiting(&world), [KEPT; 6]);
    world.pass(6 * KEPT as usize);
    assert_eq!(world.take().0, (0..KEPT).collect::<Vec<_>>());
    world.pass(30);
    assert_eq!(world.account().ledger.acknowledged, KEPT);
}

#[test]
fn a_lossless_sink_makes_its_source_wait_until_it_has_its_kept_events() {
    let mut world = World::new(KEPT, Wanted { must: true, ..Wanted::any(Policy::Block) });
    let submit = |world: &mut World| {
        world.host.node.submit(world.next, world.source, None, &mut Arc::from(world.next.to_ne_bytes())).unwrap()
    };
    assert_eq!(submit(&mut world), Submitted::Full);
    assert_eq!(world.host.node.wait(world.host.now, world.source), None);
    world.pass(KEPT as usize - 2);
    assert!(world.host.node.waits(world.source));
    world.host.node.tick(world.host.now + Time::from_millis(1));
    let actions = std::iter::from_fn(|| world.host.node.action());
    assert!(actions.into_iter().any(|action| action == Action::Room(world.source)));
    world.host.node.waited(world.host.now, world.source, false);
    assert_eq!(submit(&mut world), Submitted::Done(KEPT));
    world.talk();
    assert_eq!(world.take().0, (0..=KEPT).collect::<Vec<_>>());
}

#[test]
fn what_a_sink_that_leaves_has_not_got_is_lost() {
    let mut world = World::new(KEPT, wanted(""));
    world.pass(4);
    world.take();
    world.submit(1);
    world.guest.node.end_sink(world.sink);
    world.talk();
    let account = world.account();
    assert!(!account.present && account.ledger.is_exact());
    let ledger = account.ledger;
    assert_eq!((ledger.submitted, ledger.acknowledged, ledger.lost_for(Cause::Ended)), (KEPT + 1, 5, KEPT - 4));
    world.pass(3);
    world.submit(1);
}

#[test]
fn a_source_that_leaves_sends_its_kept_events_first() {
    let mut world = World::new(KEPT, wanted(""));
    world.host.node.end_source(world.source);
    world.talk();
    assert!(!world.host.node.is_settled(world.host.now, world.source));
    world.pass(KEPT as usize);
    let (events, others) = world.take();
    assert_eq!(events, (0..KEPT).collect::<Vec<_>>());
    assert!(matches!(others[..], [Item::Joined { .. }, Item::Left(_)]), "{others:?}");
    world.pass(30);
    assert!(world.host.node.is_over(world.host.now, world.source));
}

#[test]
fn a_source_that_is_dropped_tells_what_does_not_come() {
    let mut world = World::new(KEPT, wanted(""));
    world.pass(2);
    let accounts = world.host.node.drop_source(world.source);
    assert!(accounts[0].ledger.is_exact() && accounts[0].ledger.submitted == KEPT, "{}", accounts[0].ledger);
    world.talk();
    let (events, others) = world.take();
    let lost: u64 = others.iter().map(|item| if let Item::Gap(_, gap) = item { gap.count } else { 0 }).sum();
    assert_eq!((events.len() as u64, lost), (3, KEPT - 3));
}

#[test]
fn a_sink_that_asks_for_the_latest_event_meanwhile_gets_no_other_that_waits() {
    let mut world = World::new(KEPT, wanted(""));
    world.guest.node.set_policy(world.sink, Policy::Latest, false);
    world.talk();
    world.pass(KEPT as usize);
    world.submit(1);
    world.talk();
    // There is room for all of them.
    assert_eq!(world.take().0, (0..=KEPT).collect::<Vec<_>>());
}

/// The state for kept events goes on until the sink has the latest one, and then it begins with that of others.
#[test]
fn a_query_sees_the_events_that_are_submitted_meanwhile_behind_the_kept_ones() {
    let mut world = World::new(KEPT, wanted("changed n by 4"));
    world.submit(KEPT / 2 + 1);
    world.pass(KEPT as usize);
    let next = world.next;
    assert_eq!(world.take().0, (0..next).filter(|n| n % 4 == 0).collect::<Vec<_>>());
    // Another sink of the query has had the same, and this one's state is compared with nothing at first.
    world.submit(8);
    world.talk();
    let later = world.take().0;
    assert_eq!(later, [next, next + 4], "as if nothing had been before");
}

#[test]
fn other_values_of_parameters_hold_from_the_next_kept_event_on() {
    let asks = |level_asked| Wanted { parameters: Some(level(level_asked)), ..wanted("where n >= 0") };
    let mut world = World::new(KEPT, asks(1));
    world.pass(4);
    assert_eq!(world.take().0, (0..5).collect::<Vec<_>>());
    world.guest.node.set_parameters(world.sink, level(2));
    world.talk();
    let given = |items: &[Item]| -> Vec<(u64, Parameters)> {
        let all = items.iter().filter_map(|item| match item {
            Item::Given(_, given) => Some((given.first, given.values.clone())),
            _ => None,
        });
        all.collect()
    };
    let (events, others) = world.take();
    assert_eq!((events.len(), given(&others)), (0, vec![(5, level(2))]));
    let demand = world.host.node.demands(world.source)[0].key;
    // What is for all comes, and what is for its values.
    let (node, source, now) = (&mut world.host.node, world.source, world.next);
    node.submit_for(|| now, source, demand, None, &mut Arc::from(now.to_ne_bytes())).unwrap();
    world.next += 1;
    world.pass(KEPT as usize);
    assert_eq!(world.take().0, (5..=KEPT).collect::<Vec<_>>());
}

/// A sink of the source's own node gets them as its node's thread has time, too.
#[test]
fn a_sink_of_the_same_node_gets_slices_too() {
    let mut world = World::new(KEPT, wanted(""));
    let sink = world.host.node.add_sink(world.host.channel, wanted("")).unwrap();
    world.pass(2 * KEPT as usize);
    let mut batch = Batch::default();
    let mut events = Vec::new();
    while world.host.node.take(world.host.now, sink, &mut batch) {
        events.extend(batch.items().filter_map(|item| match item {
            Item::Event { sequence, .. } => Some(sequence),
            _ => None,
        }));
    }
    assert_eq!(events, (0..KEPT).collect::<Vec<_>>());
    world.submit(1);
    assert!(world.host.node.take(world.host.now, sink, &mut batch));
}
