//! Who pays for queries, and which of them look at an event.

use super::*;
use crate::keys::Key as _;
use isoform_core::{FieldList, Layout, Machine, Shape, Value, value};
use std::sync::Arc;
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;
const QUERIES: usize = 64;

/// A record with an array of variable length.
fn format() -> Format {
    let fields = FieldList::new("Grid").field("n", "integer", 8, 0).field("x", "float[n]", 8, 8);
    fields.format(Machine { pointer: 8, ..Machine::NATIVE }, 16, 8).unwrap()
}

fn event(at: u64) -> Event {
    Event::at(at, at * SECOND)
}

/// The queries of one source.
struct World(Wants<Arc<[u8]>>);

/// A node with credentials, or without.
fn node(number: u32, is_stranger: bool) -> Option<Asker> {
    Some(Asker { link: LinkKey::of(number, 0), is_stranger })
}

impl World {
    fn new() -> World {
        let time = QueryTime { at_once: Duration::from_secs(1), ..QueryTime::default() };
        World(Wants::new(time, QUERIES))
    }

    fn try_add(&mut self, asker: Option<Asker>, text: &str) -> Result<WantKey> {
        self.0.add(&Query::parse(text).unwrap(), asker, None, Some(&format()))
    }

    fn add(&mut self, member: Option<u32>, text: &str) -> WantKey {
        self.try_add(member.and_then(|member| node(member, false)), text).unwrap()
    }

    fn evaluate(&mut self, at: u64, elements: usize) {
        self.evaluate_at(event(at), elements);
    }

    fn evaluate_at(&mut self, event: Event, elements: usize) {
        let (mut moment, body) = (Moment::new(|| event.time), Arc::<[u8]>::from(vec![0; 16 + 8 * elements]));
        self.0.evaluate(&format(), None, event.sequence, &mut moment, &body);
    }

    fn is_evaluated(&self, key: WantKey) -> bool {
        !matches!(self.0.outcome(key), Outcome::Thinned)
    }

    /// Which of these are evaluated.
    fn evaluated(&self, keys: &[WantKey]) -> usize {
        keys.iter().filter(|&&key| self.is_evaluated(key)).count()
    }
}

/// A query that takes some 0.02 ms for an element.
fn heavy(number: usize) -> String {
    format!("where {} > {number}", vec!["percentile(x, 50)"; 100].join(" + "))
}

/// A little less.
fn less(number: usize) -> String {
    format!("where {} > {number}", vec!["percentile(x, 50)"; 98].join(" + "))
}

#[test]
fn what_comes_before_its_time_costs_nothing() {
    let mut world = World::new();
    let texts = ["every 3 s", "every 2"];
    let keys = texts.map(|text| world.add(Some(1), &format!("{text} | where {}", &heavy(0)[6..])));
    let left = |world: &World| world.0.all.iter().flatten().map(|want| want.parts[0].left).collect::<Vec<_>>();
    world.evaluate(0, 0);
    let before = left(&world);
    world.evaluate(1, 0);
    assert_eq!(left(&world), before);
    assert!(keys.iter().all(|&key| matches!(world.0.outcome(key), Outcome::Filtered)));
    world.evaluate(2, 0);
    assert_ne!(left(&world), before);
}

#[test]
fn a_node_that_asks_for_too_much_thins_its_own_queries_alone() {
    let mut world = World::new();
    let own = world.add(None, &heavy(0));
    let light = world.add(Some(1), "where n > 3");
    let honest = world.add(Some(2), &heavy(20));
    let greedy: Vec<WantKey> = (1..10).map(|number| world.add(Some(3), &less(number))).collect();
    let mut evaluated = 0;
    for at in 1..1_000 {
        // The honest one takes some 0.06 seconds of each, and the greedy ones half a second together.
        world.evaluate(at, 3_000);
        assert!(world.is_evaluated(own) && world.is_evaluated(light) && world.is_evaluated(honest), "{at}");
        evaluated += world.evaluated(&greedy);
    }
    let report = world.0.reports();
    assert!(report[..3].iter().all(|query| query.thinned == 0));
    let of_each: Vec<u64> = report[3..].iter().map(|query| 999 - query.thinned).collect();
    assert!(of_each.iter().all(|of_one| (200..700).contains(of_one)), "{of_each:?}: none takes all");
    // Three of nine take some 0.17 seconds, which is what others leave of a quarter.
    assert!((2_500..4_000).contains(&evaluated), "{evaluated}");
    let thinned: u64 = report.iter().map(|query| query.thinned).sum();
    assert_eq!(thinned, 999 * 9 - evaluated as u64, "each is told");
}

#[test]
fn cheap_queries_of_one_node_do_not_end_a_dear_one_of_another() {
    let mut world = World::new();
    let honest = world.add(Some(1), &heavy(0));
    world.evaluate(1, 1_000);
    let cheap: Vec<WantKey> = (1..8).map(|number| world.add(Some(2), &less(number))).collect();
    let mut evaluated = 0;
    for at in 0..10_000u64 {
        // Ten times in each second, in which the honest one takes some 0.1 seconds.
        world.evaluate_at(Event::at(at, (at + 20) * SECOND / 10), 500);
        assert!(world.is_evaluated(honest), "{at}");
        evaluated += world.evaluated(&cheap);
    }
    assert!((10_000..20_000).contains(&evaluated), "{evaluated} of 70,000: some 0.15 of 0.7 seconds");
}

/// Lists, remainders and machine code have their prices.
#[test]
fn what_takes_long_is_paid_for() {
    let left_by = |text: &str, events: u64, elements: usize| {
        let mut world = World::new();
        let key = world.add(Some(1), text);
        let left = |world: &World| world.0.all[key.0].as_ref().map_or(0, |want| want.parts[0].left);
        let before = left(&world);
        (0..events).for_each(|at| world.evaluate_at(Event::at(at, 0), elements));
        before - left(&world)
    };
    let (few, many) = (
        left_by("where any(x in (1, 2))", 1, 1_000),
        left_by(&format!("where any(x in ({}))", ["1"; 200].join(", ")), 1, 1_000),
    );
    assert!(many > 30 * few, "{few} and {many}");
    let (times, remainder) = (left_by("where any(x * 3 > 1)", 1, 1_000), left_by("where any(x % 3 > 1)", 1, 1_000));
    assert!(remainder > 3 * times, "{times} and {remainder}");
    let (before, with) = (left_by("where n > 1", USED - 1, 0), left_by("where n > 1", USED, 0));
    assert!(with - before > CODE, "{before} and {with}");
    assert!(left_by("where n > 1", 2 * USED, 0) < with + CODE, "once");
}

/// At most one query gets machine code with an event, if it can pay. Until then, the interpreter evaluates it.
#[cfg(feature = "generate")]
#[test]
fn queries_get_code_one_by_one() {
    let mut world = World::new();
    let texts = ["where n > 1", "where n > 2", "where n > 3"];
    texts.iter().for_each(|text| _ = world.add(Some(1), text));
    let with_code = |world: &World| {
        let engines = world.0.all.iter().flatten().filter_map(|want| want.runs[0].1.as_ref());
        engines.filter(|state| state.run.engine() != isoform_query::Engine::Interpreter).count()
    };
    let mut counts = Vec::new();
    for at in 0..USED + 4 {
        world.evaluate(at, 0);
        counts.push(with_code(&world));
    }
    let made = if cfg!(target_pointer_width = "64") && with_code(&world) > 0 { 3 } else { 0 };
    assert_eq!(counts[USED as usize - 2..], [0, 1, 2, 3, 3, 3].map(|count| count.min(made)));
    let mut poor = World(Wants::new(QueryTime { at_once: Duration::from_micros(20), second: Duration::ZERO }, QUERIES));
    poor.add(Some(1), "where n > 1");
    (0..2 * USED).for_each(|at| poor.evaluate_at(Event::at(at, 0), 0));
    assert_eq!(with_code(&poor), 0);
}

/// `every n` goes by the events that a query looks at, and all queries that look at the same go by the same numbers.
#[test]
fn events_of_each_format_are_numbered_by_themselves() {
    let other = Shape::new("Other").field("m", "i32").on(&Layout::NATIVE).unwrap();
    let mut wants = Wants::<Arc<[u8]>>::new(QueryTime::default(), QUERIES);
    let add =
        |wants: &mut Wants<_>, text: &str| wants.add(&Query::parse(text).unwrap(), node(1, false), None, None).unwrap();
    let all = add(&mut wants, "every 2");
    let mut passed = [const { Vec::new() }; 2];
    let mut late = None;
    for sequence in 0..24 {
        if sequence == 9 {
            late = Some(add(&mut wants, "every 2 | where true"));
        }
        let (format, body) = if sequence % 2 == 0 { (format(), vec![0; 16]) } else { (other.clone(), vec![0; 4]) };
        wants.evaluate(&format, None, sequence, &mut Moment::new(|| SECOND), &Arc::<[u8]>::from(body));
        for (key, passed) in [Some(all), late].into_iter().zip(&mut passed) {
            if key.is_some_and(|key| matches!(wants.outcome(key), Outcome::Passed)) {
                passed.push(sequence);
            }
        }
    }
    // Every second one of the even numbers, and of the odd ones.
    assert_eq!(passed[0], [0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21]);
    assert_eq!(passed[1], [9, 12, 13, 16, 17, 20, 21], "who comes later keeps the same");
}

/// Few steps can make much of a long text.
#[test]
fn what_a_query_makes_is_paid_for() {
    let format = Shape::new("Note").field("step", "i32").field("t", "string").on(&Layout::NATIVE).unwrap();
    let text = Value::String(vec![b'a'; 20_000]);
    let record = Value::Record(vec![("step".into(), Value::Integer(1)), ("t".into(), text)]);
    let body = Arc::<[u8]>::from(value::body(&format, &record).unwrap());
    let part = |from: &dyn Fn(usize) -> String| {
        let items = (0..40).map(|at| format!("t{at} = {}", from(at))).collect::<Vec<_>>();
        format!("select {}", items.join(", "))
    };
    let copies = format!("{} || {}", part(&|_| "t".into()), part(&|at| format!("t{at}")));
    for (query, evaluated) in [
        // Some 1.6 ms each, which are known behind the first event; and the same again is lent.
        (copies.clone(), 5..20),
        (copies + " || where t0 == \"b\"", 5..20),
        // Some 0.25 ms each.
        (format!("where {}", ["contains(t, \"b\")"; 10].join(" or ")), 30..90),
        // Some 0.25 ms each: the query looks at the text a hundred times.
        (format!("where {}", ["len(t) == 3"; 100].join(" or ")), 30..90),
        ("where step > 3".into(), 100..101),
    ] {
        let time = Duration::from_millis(10);
        let mut wants = Wants::<Arc<[u8]>>::new(QueryTime { at_once: time, second: time }, QUERIES);
        let key = wants.add(&Query::parse(&query).unwrap(), node(1, false), None, Some(&format)).unwrap();
        let mut count = 0;
        for sequence in 0..100 {
            wants.evaluate(&format, None, sequence, &mut Moment::new(|| SECOND), &body);
            count += u32::from(!matches!(wants.outcome(key), Outcome::Thinned));
        }
        assert!(evaluated.contains(&count), "{count} of 100: {query:.60}");
    }
}

#[test]
fn what_was_thinned_comes_back_when_there_is_time() {
    let mut world = World::new();
    let (first, second) = (world.add(Some(1), &heavy(1)), world.add(Some(2), &heavy(2)));
    // Each would take some 0.24 seconds of each.
    let mut evaluated = [0; 2];
    for at in 1..200 {
        world.evaluate(at, 12_000);
        [first, second].iter().zip(&mut evaluated).for_each(|(&key, all)| *all += u32::from(world.is_evaluated(key)));
    }
    assert!(evaluated.iter().all(|evaluated| (80..130).contains(evaluated)), "{evaluated:?}: half of them each");
    world.0.remove(second, Some(LinkKey::of(2, 0)));
    for at in 300..400 {
        world.evaluate(at, 12_000);
        assert!(world.is_evaluated(first), "{at}");
    }
}

#[test]
fn a_query_that_takes_more_than_its_share_can_hold_is_evaluated_as_often_as_the_share_allows() {
    let mut world = World::new();
    // With ten nodes, each share holds a tenth of a second, and gets a fortieth of each second. These take some 0.015 of it.
    let tenth = |node: u32| format!("where {} > {node}", ["percentile(x, 50)"; 10].join(" + "));
    let light: Vec<WantKey> = (0..8).map(|node| world.add(Some(node), &tenth(node))).collect();
    // And these some 0.15.
    let dear = [8, 9].map(|node| world.add(Some(node), &heavy(node as usize)));
    let mut evaluated = [0; 2];
    for at in 1..1_000 {
        world.evaluate(at, 7_500);
        assert_eq!(world.evaluated(&light), 8, "{at}");
        for (count, &key) in evaluated.iter_mut().zip(&dear) {
            *count += u32::from(world.is_evaluated(key));
        }
    }
    let [one, other] = evaluated;
    assert!(one.min(other) > 166 && one.abs_diff(other) < 20, "{evaluated:?}: at least each sixth");
    // The light ones leave some 0.15 of each second.
    assert!(one + other < 1_050, "{evaluated:?}: what they owe is given back");
}

#[test]
fn who_leaves_and_asks_anew_gets_no_time_back() {
    let mut world = World::new();
    let mut evaluated = 0;
    for round in 0..200 {
        let key = world.add(Some(round), &heavy(round as usize));
        // All within one second.
        world.evaluate_at(Event::at(u64::from(round), SECOND), 12_000);
        evaluated += u32::from(world.is_evaluated(key));
        world.0.remove(key, Some(LinkKey::of(round, 0)));
    }
    assert!((1..6).contains(&evaluated), "{evaluated}: as many as fit into the budget");
}

#[test]
fn a_shared_query_goes_on_as_long_as_anyone_can_pay() {
    let mut world = World::new();
    // The first to ask has nothing left, because of what it asks besides.
    let shared = world.add(Some(1), &heavy(0));
    let other: Vec<WantKey> = (1..30).map(|number| world.add(Some(1), &heavy(number))).collect();
    assert_eq!(world.add(Some(2), &heavy(0)), shared);
    for at in 1..100 {
        world.evaluate(at, 3_000);
        assert!(world.is_evaluated(shared), "{at}");
    }
    assert!(world.evaluated(&other) < other.len());
    world.0.remove(shared, Some(LinkKey::of(1, 0)));
    world.evaluate(101, 3_000);
    assert!(world.is_evaluated(shared), "it belongs to those who are there");
    assert_eq!(world.0.reports()[0].sinks, 1);
}

#[test]
fn places_are_shared_and_strangers_do_not_keep_members_out() {
    let mut world = World::new();
    let text = |number: u32, at: u32| format!("where n > {}", number * 100 + at);
    // Strangers ask for as much as they can.
    let of_strangers = (100..200u32).flat_map(|number| (0..8).map(move |at| (number, at)));
    let got = of_strangers.filter(|&(number, at)| world.try_add(node(number, true), &text(number, at)).is_ok()).count();
    assert_eq!(got, QUERIES);
    // And so do members.
    let of_members = (0..8u32).flat_map(|number| (0..8).map(move |at| (number, at)));
    let got = of_members.filter(|&(number, at)| world.try_add(node(number, false), &text(number, at)).is_ok()).count();
    assert!(got >= 7 * 8, "{got}");
    for number in 8..100 {
        world.add(Some(number), &text(number, 0));
        world.add(Some(number), &text(0, 0));
    }
    let error = world.try_add(node(0, false), &text(0, 9)).unwrap_err();
    assert_eq!(error.code(), Code::Budget, "{error}");
    world.add(None, "where n < 0");
}

#[test]
fn a_node_alone_has_all_places() {
    let mut world = World::new();
    let text = |at: usize| format!("where n > {at}");
    for at in 0..QUERIES {
        world.add(Some(1), &text(at));
    }
    assert_eq!(world.try_add(node(1, false), &text(QUERIES)).unwrap_err().code(), Code::Budget);
    world.add(Some(1), &text(0));
}

#[test]
fn short_arrays_take_little_and_those_who_take_little_go_on() {
    let mut world = World::new();
    let (many, few) = (world.add(Some(1), &heavy(1)), world.add(Some(2), "where sum(x) > 2"));
    // A thousand in a second.
    for at in 0..10_000u64 {
        world.evaluate_at(Event::at(at, at * SECOND / 1000), 4);
        assert!(world.is_evaluated(many) && world.is_evaluated(few), "{at}");
    }
    // What is too long even alone is not tried, in whatever order they came.
    world.evaluate(100, 20_000_000 / 8);
    assert!(!world.is_evaluated(many) && world.is_evaluated(few));
}

#[test]
fn what_kept_events_take_counts_too() {
    let mut world = World::new();
    let key = world.add(Some(1), &heavy(1));
    let link = node(1, false).map(|asker| asker.link);
    world.evaluate(0, 10);
    for round in 0..3 {
        let mut anew = World(world.0.anew(key, link));
        anew.evaluate(0, 16_000);
        assert!(anew.is_evaluated(key), "{round}");
        world.0.spent_by(key, &anew.0);
    }
    world.evaluate(0, 16_000);
    assert!(!world.is_evaluated(key));
}
