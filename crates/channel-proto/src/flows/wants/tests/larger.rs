//! Results and parts that take more than was expected.

use super::*;

/// What one sink costs for a result of this many elements, at least.
fn result(elements: usize) -> u64 {
    written(8 * elements)
}

/// A credential with many sinks gets large results so rarely that they are not expected.
#[test]
fn rare_large_results_are_paid_for_before_they_are_written() {
    const SINKS: usize = 256;
    let mut world = World::usual();
    let query = |at: usize| format!("select y, a{at} = n");
    let keys: Vec<WantKey> =
        (0..16).map(|at| (0..SINKS).map(|_| world.add(Some(1), &query(at))).last().unwrap()).collect();
    let holds = QueryTime::default().second.as_nanos() as u64;
    let (mut all, mut large) = (0, 0);
    for at in 0..4_000 {
        let elements = if at % 200 == 199 { 8_000 } else { 1 };
        world.evaluate_at(Event::at(at, SECOND + at * SECOND / 200), elements);
        let written = (world.evaluated(&keys) * SINKS) as u64 * result(elements);
        assert!(written <= 2 * holds, "{written} ns for event {at}");
        (all, large) = (all + written, large + if elements > 1 { written } else { 0 });
    }
    assert!((holds..22 * holds).contains(&all), "{all} ns, {large} of them for large results");
}

/// One sink has them all.
#[test]
fn rare_large_results_come_if_there_is_time_for_them() {
    let mut world = World::usual();
    let key = world.add(Some(1), "where m > 1 | select y");
    for at in 0..2_000 {
        let elements = if at % 200 == 199 { 8_000 } else { 0 };
        world.evaluate_at(Event::at(at, SECOND + at * SECOND / 1_000), elements);
        assert!(world.is_evaluated(key), "{at}");
        assert_eq!(matches!(world.0.outcome(key), Outcome::Result(..)), elements > 0);
    }
}

/// A result that nobody got is no record that was handed on.
#[test]
fn a_result_that_is_not_paid_for_is_lost_for_the_query() {
    let mut world = World::usual();
    let key = (0..300).map(|_| world.add(Some(1), "changed m by 1 | select y")).last().unwrap();
    (0..10).for_each(|at| world.evaluate(at, 1));
    assert!(matches!(world.0.outcome(key), Outcome::Filtered));
    world.evaluate(10, 8_000);
    assert!(!world.is_evaluated(key) && world.owes(key) == 0, "300 sinks take 20 milliseconds");
    // Once that is forgotten.
    (11..150).for_each(|at| world.evaluate(at, 1));
    world.evaluate(150, 8_000);
    assert!(!world.is_evaluated(key));
    world.evaluate(151, 8_000);
    assert!(!matches!(world.0.outcome(key), Outcome::Filtered));
}

/// What parts pass on is known only when they have. Not all queries do more than was expected for one event.
#[test]
fn queries_take_no_more_together_than_was_expected() {
    let mut world = World::usual();
    let text = |at: u32| format!("select n, y || where n > {at}");
    let keys: Vec<WantKey> = (0..64).map(|at| world.add(Some(at), &text(at))).collect();
    let owed = |world: &World| keys.iter().map(|&key| world.owes(key)).sum::<u64>();
    for round in 0..3 {
        (0..200).for_each(|at| world.evaluate(200 * round + at, 0));
        assert_eq!((world.evaluated(&keys), owed(&world)), (64, 0));
        world.evaluate_at(event(200 * round + 199), 100_000);
        let (evaluated, owed) = (world.evaluated(&keys), owed(&world));
        assert!((1..8).contains(&evaluated) && owed < 2_000_000, "{evaluated} queries owe {owed} ns");
    }
}

/// A sink that asked for results does not get the event instead.
#[test]
fn results_that_cannot_be_made_are_lost() {
    let mut world = World::usual();
    let key = world.add(Some(1), "changed n by 1 | select n");
    world.evaluate(1, 0);
    assert!(matches!(world.0.outcome(key), Outcome::Result(..)));
    let want = world.0.all[key.0].as_mut().unwrap();
    want.conclude(None, true, 1, &[]);
    assert!(matches!(want.outcome, Outcome::Thinned));
    assert_eq!(world.0.reports()[key.0].thinned, 1);
    // The next one is not compared with it.
    for (at, passes) in [(2, true), (3, false)] {
        world.evaluate(at, 0);
        assert_eq!(matches!(world.0.outcome(key), Outcome::Result(..)), passes, "{at}");
    }
}
