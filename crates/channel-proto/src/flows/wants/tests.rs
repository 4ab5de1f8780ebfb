//! Who pays for queries, and which of them look at an event.

use super::*;
use crate::account::Cause;
use crate::credentials::Principal;
use crate::keys::Key as _;
use isoform_core::{FieldList, Layout, Machine, Shape, Value, value};
use std::sync::Arc;
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;
const QUERIES: usize = 64;

/// A record with two arrays of variable length.
fn format() -> Format {
    let fields = FieldList::new("Grid").field("n", "integer", 8, 0).field("x", "float[n]", 8, 8);
    let fields = fields.field("m", "integer", 8, 16).field("y", "float[m]", 8, 24);
    fields.format(Machine { pointer: 8, ..Machine::NATIVE }, 32, 8).unwrap()
}

/// A valid body whose length makes each query of `x` dear, although `x` is empty: so tests take little time.
fn body(elements: usize) -> Arc<[u8]> {
    let mut body = vec![0; 32 + 8 * elements];
    body[16..24].copy_from_slice(&(elements as u64).to_ne_bytes());
    // The offset of `y`.
    body[24..32].copy_from_slice(&(if elements > 0 { 32u64 } else { 0 }).to_ne_bytes());
    Verifier::new(&format()).verify(&body).unwrap();
    body.into()
}

fn event(at: u64) -> Event {
    Event::at(at, at * SECOND)
}

/// The queries of one source, and the budget of its node.
struct World(Wants<Arc<[u8]>>, Purse);

/// A node with credentials, or without.
fn node(number: u32, is_stranger: bool) -> Option<Asker> {
    let principal = if is_stranger { Principal::Nobody } else { Principal::User(number) };
    Some(Asker { principal, link: LinkKey::of(number, 0) })
}

impl World {
    fn new() -> World {
        // A quarter of a second at once, and a quarter of the time: prices in these tests are large.
        let quarter = Duration::from_millis(250);
        World::with(QueryTime { at_once: Duration::from_secs(1), second: quarter })
    }

    fn with(time: QueryTime) -> World {
        World(Wants::new(None, QUERIES), Purse::new(time))
    }

    fn usual() -> World {
        World::with(QueryTime::default())
    }

    fn try_add(&mut self, asker: Option<Asker>, text: &str) -> Result<WantKey> {
        self.try_add_for(asker, text, Some(&format()))
    }

    fn try_add_for(&mut self, asker: Option<Asker>, text: &str, format: Option<&Format>) -> Result<WantKey> {
        self.0.add(&mut self.1, &Query::parse(text).unwrap(), asker, None, format)
    }

    fn remove(&mut self, key: WantKey, node: u32) {
        self.0.remove(&mut self.1, key, Some(LinkKey::of(node, 0)));
    }

    /// What the account for a query owes.
    fn owes(&self, key: WantKey) -> u64 {
        let account = self.0.all[key.0].as_ref().and_then(|want| want.account);
        self.1.owes(account.unwrap())
    }

    /// The queries for kept events, and the budget until they are evaluated.
    fn anew(&mut self, key: WantKey) -> World {
        let mut anew = self.0.anew(key);
        self.0.lend(key, &mut anew);
        World(anew, std::mem::replace(&mut self.1, Purse::new(QueryTime::default())))
    }

    fn was_anew(&mut self, key: WantKey, mut anew: World) {
        self.0.take_back(&mut anew.0);
        self.0.was_anew(key, anew.0);
        self.1 = anew.1;
    }

    /// What the account for a query has left.
    fn left(&self, key: WantKey) -> u64 {
        let account = self.0.all[key.0].as_ref().and_then(|want| want.account);
        self.1.left(account.unwrap())
    }

    fn add(&mut self, member: Option<u32>, text: &str) -> WantKey {
        self.try_add(member.and_then(|member| node(member, false)), text).unwrap()
    }

    fn evaluate(&mut self, at: u64, elements: usize) {
        self.evaluate_at(event(at), elements);
    }

    fn evaluate_at(&mut self, event: Event, elements: usize) {
        self.evaluate_of(&format(), event, &body(elements));
    }

    fn evaluate_of(&mut self, format: &Format, event: Event, draft: &impl Draft<Arc<[u8]>>) {
        self.0.evaluate(&mut self.1, format, None, event.sequence, &mut Moment::new(|| event.time), draft);
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
    let left = |world: &World| keys.map(|key| world.left(key));
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
        let before = world.left(key);
        (0..events).for_each(|at| world.evaluate_at(Event::at(at, 0), elements));
        before - world.left(key)
    };
    // For so few elements, making code does not pay off.
    let (few, many) = (
        left_by("where any(x in (1, 2))", 1, 10),
        left_by(&format!("where any(x in ({}))", ["1"; 200].join(", ")), 1, 10),
    );
    assert!(many > 30 * few, "{few} and {many}");
    let (times, remainder) = (left_by("where any(x * 3 > 1)", 1, 10), left_by("where any(x % 3 > 1)", 1, 10));
    assert!(remainder > 3 * times, "{times} and {remainder}");
    let code = 40_000;
    let (before, with) = (left_by("where n > 1", USED - 1, 0), left_by("where n > 1", USED, 0));
    // A node that makes no code takes nothing for it.
    assert_eq!(with - before > code, cfg!(feature = "generate"), "{before} and {with}");
    assert!(left_by("where n > 1", 2 * USED, 0) < with + code, "once");
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
    let mut poor = World::with(QueryTime { at_once: Duration::from_micros(50), second: Duration::ZERO });
    poor.add(Some(1), "where n > 1");
    (0..2 * USED).for_each(|at| poor.evaluate_at(Event::at(at, 0), 0));
    assert_eq!(with_code(&poor), 0);
}

/// A query of an array that the interpreter takes too long for gets machine code at once, whether its length is fixed or not, and
/// however small the parts of its node are.
#[cfg(feature = "generate")]
#[test]
fn long_arrays_get_code_with_the_first_event() {
    let fixed =
        |length: usize| Shape::new("Grid").field("y", &format!("double[{length}]")).on(&Layout::NATIVE).unwrap();
    let grid = Arc::<[u8]>::from(vec![0; 8 * 100_000]);
    for (format, body, queries) in [
        (fixed(100_000), grid, 1),
        (fixed(1_000), Arc::from(vec![0; 8_000]), 1),
        (format(), body(100_000), 1),
        (format(), body(100_000), 60),
    ] {
        let mut world = World::usual();
        let query = |number| format!("where max(y) > {number}");
        let add = |at| world.try_add_for(node(1, false), &query(at), Some(&format)).unwrap();
        let keys: Vec<_> = (0..queries).map(add).collect();
        let mut counts = vec![0; queries];
        for sequence in 0..100 {
            world.evaluate_of(&format, event(sequence), &body);
            for (key, count) in keys.iter().zip(&mut counts) {
                *count += u64::from(matches!(world.0.outcome(*key), Outcome::Filtered));
            }
        }
        let engines = world.0.all.iter().flatten().filter_map(|want| want.runs[0].1.as_ref());
        if engines.clone().any(|state| state.run.engine() != Engine::Interpreter) {
            assert!(
                engines.clone().all(|state| state.run.engine() != Engine::Interpreter && state.run.interpreted() < 64)
            );
            assert!(counts.iter().all(|&count| count >= 100 / queries as u64), "{counts:?} of {}", body.len());
        } else if cfg!(all(target_arch = "x86_64", unix)) {
            panic!("no machine code for {} bytes", body.len());
        }
    }
}

/// `every n` goes by the events that a query looks at, and all queries that look at the same go by the same numbers.
#[test]
fn events_of_each_format_are_numbered_by_themselves() {
    let other = Shape::new("Other").field("m", "i32").on(&Layout::NATIVE).unwrap();
    let mut world = World::usual();
    let all = world.try_add_for(node(1, false), "every 2", None).unwrap();
    let mut passed = [const { Vec::new() }; 2];
    let mut late = None;
    for sequence in 0..24 {
        if sequence == 9 {
            late = Some(world.try_add_for(node(1, false), "every 2 | where true", None).unwrap());
        }
        let (format, body) = if sequence % 2 == 0 { (format(), body(0)) } else { (other.clone(), Arc::from([0; 4])) };
        world.evaluate_of(&format, Event::at(sequence, SECOND), &body);
        for (key, passed) in [Some(all), late].into_iter().zip(&mut passed) {
            if key.is_some_and(|key| matches!(world.0.outcome(key), Outcome::Passed)) {
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
        let items = (0..7).map(|at| format!("t{at} = {}", from(at))).collect::<Vec<_>>();
        format!("select {}", items.join(", "))
    };
    let copies = format!("{} || {}", part(&|_| "t".into()), part(&|at| format!("t{at}")));
    for (query, evaluated) in [
        // Some 0.35 ms each, for 140,000 bytes that are made twice, and written; and the same again is lent.
        (copies.clone(), 20..60),
        // Nothing is written.
        (copies + " || where t0 == \"b\"", 20..90),
        // Results are at most four times as long as the event, and 64 KiB.
        (part(&|_| "t".into()) + ", u = t, v = t, w = t", 0..1),
        // Some 0.3 ms each.
        (format!("where {}", ["contains(t, \"b\")"; 40].join(" or ")), 30..90),
        // Some 0.25 ms each: the query looks at the text a hundred times.
        (format!("where {}", ["len(t) == 3"; 100].join(" or ")), 30..90),
        ("where step > 3".into(), 100..101),
    ] {
        let time = Duration::from_millis(10);
        let mut world = World::with(QueryTime { at_once: time, second: time });
        let key = world.try_add_for(node(1, false), &query, Some(&format)).unwrap();
        let mut count = 0;
        for sequence in 0..100 {
            world.evaluate_of(&format, Event::at(sequence, SECOND), &body);
            count += u32::from(world.is_evaluated(key));
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
    world.remove(second, 2);
    for at in 300..400 {
        world.evaluate(at, 12_000);
        assert!(world.is_evaluated(first), "{at}");
    }
}

#[test]
fn what_could_not_pay_for_a_long_event_looks_at_a_short_one() {
    let mut world = World::new();
    let key = world.add(Some(1), &heavy(0));
    let mut is_evaluated = |at: u64, time: u64, elements: usize| {
        world.evaluate_at(Event::at(at, time), elements);
        world.is_evaluated(key)
    };
    let unpaid = (0..100).find(|&at| !is_evaluated(at, 0, 10_000)).unwrap();
    assert!(unpaid > 0);
    assert!(!is_evaluated(unpaid + 1, 0, 10_000) && !is_evaluated(unpaid + 2, 0, 20_000));
    assert!(is_evaluated(unpaid + 3, 0, 1));
    assert!(!is_evaluated(unpaid + 4, 0, 10_000));
    assert!(is_evaluated(unpaid + 5, 2 * SECOND, 10_000));
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

/// A body in two pieces.
struct Pieces(Vec<u8>);

impl Draft<Arc<[u8]>> for Pieces {
    fn length(&self) -> usize {
        self.0.len()
    }

    fn pieces(&self, each: &mut dyn FnMut(&[u8])) {
        let (first, second) = self.0.split_at(self.0.len() / 2);
        each(first);
        each(second);
    }

    fn share(&mut self) -> Arc<[u8]> {
        self.0.as_slice().into()
    }

    fn is_shared(&self) -> bool {
        false
    }
}

/// To put a body together takes time, and so does to verify a long string.
#[test]
fn reading_an_event_is_paid_for() {
    fn spent(format: &Format, draft: &impl Draft<Arc<[u8]>>) -> u64 {
        let mut world = World::usual();
        let key = world.try_add_for(node(1, false), "where n > 1", Some(format)).unwrap();
        let before = world.left(key);
        world.evaluate_of(format, Event::at(0, 0), draft);
        assert!(matches!(world.0.outcome(key), Outcome::Filtered));
        before - world.left(key)
    }
    let long = 1 << 20;
    let (whole, pieces) = (body(long), Pieces(body(long).to_vec()));
    let (one, two) = (spent(&format(), &whole), spent(&format(), &pieces));
    assert_eq!(two - one, whole.len() as u64 / 8);
    let note = Shape::new("Note").field("n", "i32").field("t", "string").on(&Layout::NATIVE).unwrap();
    let of = |length| {
        let record = vec![("n".into(), Value::Integer(0)), ("t".into(), Value::String(vec![b'a'; length]))];
        let body = Arc::<[u8]>::from(value::body(&note, &Value::Record(record)).unwrap());
        (spent(&note, &body), body.len() as u64)
    };
    let ((short, bytes), (much, more)) = (of(8), of(long));
    assert_eq!(much - short, more / 8 - bytes / 8);
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
        world.remove(key, round);
    }
    assert!((1..6).contains(&evaluated), "{evaluated}: as many as fit into the budget");
}

#[test]
fn a_shared_query_goes_on_as_long_as_anyone_can_pay() {
    let mut world = World::new();
    // Two nodes of a user. The first to ask has nothing left, because of what it asks besides.
    let shared = world.add(Some(1), &heavy(0));
    let other: Vec<WantKey> = (1..30).map(|number| world.add(Some(1), &heavy(number))).collect();
    let second = Asker { principal: Principal::User(1), link: LinkKey::of(2, 0) };
    assert_eq!(world.try_add(Some(second), &heavy(0)).unwrap(), shared);
    for at in 1..100 {
        world.evaluate(at, 3_000);
        assert!(world.is_evaluated(shared), "{at}");
    }
    assert!(world.evaluated(&other) < other.len());
    world.remove(shared, 1);
    world.evaluate(101, 3_000);
    assert!(world.is_evaluated(shared), "it belongs to those who are there");
    assert_eq!(world.0.reports()[0].sinks, 1);
}

/// A user with very many sinks has the same query, and nothing left.
#[test]
fn who_has_the_same_query_thins_nothing_of_others() {
    let mut world = World::usual();
    let query = "where n >= 0 | select n, m";
    let many: Vec<WantKey> = (0..2_000).map(|_| world.add(Some(1), query)).collect();
    let (one, own) = (world.add(Some(2), query), world.add(None, query));
    for at in 0..500 {
        world.evaluate_at(Event::at(at, SECOND + at * 1_000_000), 1);
        assert!(world.is_evaluated(one) && world.is_evaluated(own), "{at}");
    }
    assert!(many.iter().all(|key| *key == many[0]));
    let reports = world.0.reports();
    let thinned: Vec<_> = reports.iter().map(|query| (query.sinks, query.thinned > 300)).collect();
    assert_eq!(thinned, [(2_000, true), (1, false), (1, false)]);
}

/// Whether this node asks for the same or not: results that are written to others are paid for, and have a limit.
#[test]
fn results_are_paid_for_if_the_own_node_asks_too() {
    let copies = (0..300).map(|at| format!("a{at} = y")).collect::<Vec<_>>().join(", ");
    let mut world = World::usual();
    let long = format!("select {copies}");
    let [own, other] = [None, Some(1)].map(|node| world.add(node, &long));
    let [own_too, paid] = [None, Some(1)].map(|node| world.add(node, "select n, m"));
    world.evaluate(0, 8192);
    assert!(world.is_evaluated(own) && !world.is_evaluated(other));
    for at in 0..20_000 {
        world.evaluate_at(Event::at(at, 0), 1);
        assert!(world.is_evaluated(own_too));
    }
    assert!(!world.is_evaluated(paid), "20 milliseconds are spent");
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
        // It shares the query with itself, and with nobody else.
        world.add(Some(number), &text(number, 0));
        assert_eq!(
            world.try_add(node(number, false), &text(0, 0)).is_ok(),
            QUERIES / (number as usize + 2) > 1,
            "{number}"
        );
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
    world.evaluate(0, 10);
    for round in 0..3 {
        let mut anew = world.anew(key);
        anew.evaluate(0, 15_900);
        assert!(anew.is_evaluated(WantKey::ANEW), "{round}");
        world.was_anew(key, anew);
    }
    world.evaluate(0, 15_900);
    assert!(!world.is_evaluated(key));
}

/// Also if their results take more or less than was expected.
#[test]
fn all_kept_events_are_evaluated() {
    let mut world = World::usual();
    for text in ["where n >= 0", "where n >= 0 | select n, m", "select y"] {
        let key = world.add(Some(1), text);
        let (before, mut anew) = (world.left(key), world.anew(key));
        for at in 0..20 {
            anew.evaluate(at, 20 - at as usize);
            assert!(anew.is_evaluated(WantKey::ANEW), "{text}: {at}");
        }
        world.was_anew(key, anew);
        let spent = before - world.left(key);
        assert!((20 * 150..20 * 10_000).contains(&spent), "{text}: {spent}");
        assert_eq!(world.0.reports()[key.0].thinned, 0);
    }
}

/// A result has at most four times the length of the event, and 64 KiB: refused if the format says so, and otherwise thinned.
#[test]
fn results_are_bounded() {
    let copies =
        |count: usize| format!("select {}", (0..count).map(|at| format!("a{at} = y")).collect::<Vec<_>>().join(", "));
    let fixed = Shape::new("Grid").field("y", "double[8192]").on(&Layout::NATIVE).unwrap();
    let mut world = World::usual();
    let mut add = |count| world.try_add_for(node(1, false), &copies(count), Some(&fixed));
    assert_eq!(add(300).unwrap_err().code(), Code::Budget);
    assert_eq!(add(6).unwrap_err().path(), "result");
    add(5).unwrap();
    // The node's own sinks may have what they like.
    world.try_add_for(None, &copies(300), Some(&fixed)).unwrap();
    let mut world = World::usual();
    let (many, few) = (world.add(Some(1), &copies(300)), world.add(Some(2), &copies(3)));
    for at in 0..3 {
        world.evaluate(at, 8192);
        assert!(!world.is_evaluated(many) && world.is_evaluated(few), "{at}");
    }
    assert_eq!(world.0.reports()[0].thinned, 3);
}

/// What all nodes ask takes two percent of the time by default, writing included, however many sources they ask.
#[test]
fn results_take_two_percent() {
    for sources in [1, 4] {
        let mut purse = Purse::new(QueryTime::default());
        let mut results = 0;
        let ask = |wants| {
            let mut world = World(wants, std::mem::replace(&mut purse, Purse::new(QueryTime::default())));
            let keys = (0..6).map(|node| world.add(Some(node), &format!("select n, q = n + {node}"))).collect();
            let World(wants, own) = world;
            purse = own;
            (wants, keys)
        };
        let new = || Wants::new(None, QUERIES);
        let mut all: Vec<(_, Vec<WantKey>)> = std::iter::repeat_with(new).take(sources).map(ask).collect();
        // Ten thousand events a second, for five seconds.
        for at in 0..50_000u64 {
            let (wants, keys) = &mut all[at as usize % sources];
            wants.evaluate(&mut purse, &format(), None, at, &mut Moment::new(|| at * 100_000), &body(1));
            results += keys.iter().filter(|&&key| !matches!(wants.outcome(key), Outcome::Thinned)).count();
        }
        let each = if cfg!(feature = "generate") { 5_250.0 } else { 6_000.0 };
        // The longer a query had no result, the more one takes: up to 25 us.
        let [least, at_most] = [each, each + 25_000.0].map(|each| results as f64 * each / 1e9);
        let budget = 0.02 + 0.02 * 5.0;
        assert!(
            least <= budget && at_most >= budget * 0.9,
            "{least} to {at_most} of {budget} seconds, {results} results"
        );
    }
}

/// A query that comes when another has everything gets its part with its first event, and not only once the other has nothing left.
#[test]
fn who_comes_has_its_part_at_once() {
    let mut world = World::with(QueryTime { second: Duration::ZERO, ..QueryTime::default() });
    let (greedy, late) = (world.add(Some(1), "where n > 1"), world.add(Some(2), "where n > 2"));
    assert!(world.left(late) < 100_000 && world.left(greedy) > 800_000);
    world.evaluate_at(Event::at(0, SECOND), 0);
    assert!(world.left(late) > 370_000 && world.left(greedy) > 430_000);
}

/// Sinks that state fields have one share together. Beyond it, they get whole events.
#[test]
fn fields_are_paid_for() {
    let mut world = World::usual();
    (0..3).for_each(|_| world.1.serve_fields(true));
    let key = world.add(Some(1), "where n > 1");
    let paid = |world: &mut World, now| (0..100_000).filter(|_| world.1.pay_for_fields(now, 1_000)).count();
    world.1.flow_back(SECOND);
    assert_eq!(paid(&mut world, SECOND), 8_750, "half of 20 milliseconds, less what is kept in reserve");
    assert_eq!(paid(&mut world, 2 * SECOND), 8_750);
    world.evaluate_at(Event::at(0, 0), 1);
    assert!(world.is_evaluated(key));
    (0..2).for_each(|_| world.1.serve_fields(false));
    assert_eq!(paid(&mut world, 3 * SECOND), 8_750, "one source is left");
    world.1.serve_fields(false);
    assert!(world.1.pay_for_fields(SECOND, u64::MAX), "nobody asks");
}

/// A result that is larger than the one before is nothing new.
#[test]
fn results_of_alternating_sizes_make_no_debts() {
    let mut world = World::usual();
    let key = world.add(Some(1), "select y");
    let mut results = 0;
    for at in 0..4_000u64 {
        let length = if at % 5 == 4 { 8_000 } else { 1 };
        world.evaluate_at(Event::at(at, SECOND + at * 1_000_000), length);
        results += u64::from(world.is_evaluated(key));
        // The first results may be as long as they like.
        assert_eq!(world.owes(key), 0, "{at}");
    }
    assert!(results > 1_000, "{results}");
}

/// A node that comes back with other credentials shares the query with those who have these, with what that remembers.
#[test]
fn a_resumed_subscription_belongs_to_the_credentials_of_now() {
    let mut world = World::usual();
    let of = |user, link| Asker { principal: Principal::User(user), link: LinkKey::of(link, 0) };
    let text = "every 3";
    let [one, other] = [1, 2].map(|link| world.try_add(Some(of(1, link)), text).unwrap());
    let more = world.try_add(Some(of(1, 2)), text).unwrap();
    assert_eq!((one, one), (other, more));
    world.evaluate(0, 0);
    let passes = |world: &World, key| matches!(world.0.outcome(key), Outcome::Passed);
    assert!(passes(&world, one));
    let resume = |world: &mut World, key, asker| world.0.resume(&mut world.1, key, asker);
    assert_eq!(resume(&mut world, one, of(1, 1)), one);
    let moved = resume(&mut world, other, of(3, 2));
    assert_ne!(moved, one);
    assert_eq!(resume(&mut world, more, of(3, 2)), moved);
    let sinks = |world: &World| world.0.reports().iter().map(|query| query.sinks).collect::<Vec<_>>();
    assert_eq!(sinks(&world), [1, 2]);
    for at in 1..4 {
        world.evaluate(at, 0);
        assert_eq!([one, moved].map(|key| passes(&world, key)), [at == 3; 2], "{at}");
    }
    world.add(Some(3), &heavy(0));
    for _ in 0..2 {
        world.0.remove(&mut world.1, moved, Some(LinkKey::of(2, 0)));
    }
    assert_eq!(sinks(&world), [1, 1]);
    assert_eq!(resume(&mut world, one, of(4, 1)).0, 1);
    assert_eq!(world.0.held.keys().collect::<Vec<_>>(), [&Some(Principal::User(3)), &Some(Principal::User(4))]);
}

mod formats;
mod larger;
mod resting;
