//! Which quiet subscriptions somebody looks at.

use super::*;
use crate::flows::quiet::{Due, Gets, Quiet};
use crate::keys::SendingKey;

/// However many sinks a thinned query has, nobody looks at them. Their events are counted in order once somebody does.
#[test]
fn subscriptions_with_a_thinned_query_stay_quiet() {
    let mut world = World::new();
    let key = world.add(Some(1), &heavy(1));
    (0..2_000).for_each(|at| world.0.rest(key, SendingKey(at), Gets::Later));
    let evaluate = |world: &mut World, at: u64| {
        world.evaluate(at, if !at.is_multiple_of(3) { 60_000 } else { 0 });
        assert!(world.0.rouse_passed(at, 64).is_empty());
        assert_eq!((world.is_evaluated(key), world.0.quiet()), (at.is_multiple_of(3), 2_000));
    };
    (0..9).for_each(|at| evaluate(&mut world, at));
    let missing = |world: &World, next, before| {
        let missing = world.0.due(key, next, before).map(|due| match due {
            Due::Missing(missing) => (missing.first, missing.count, missing.cause),
            Due::Event(_) => panic!("nothing has passed"),
        });
        missing.collect::<Vec<_>>()
    };
    let thinned = Some(Cause::Thinned);
    assert_eq!(missing(&world, 2, 9), [(2, 1, thinned), (3, 1, None), (4, 2, thinned), (6, 1, None), (7, 2, thinned)]);
    assert_eq!(missing(&world, 8, 10), [(8, 1, thinned), (9, 1, None)]);
    // With so many sinks, there are few gaps.
    (9..60).for_each(|at| evaluate(&mut world, at));
    let all = missing(&world, 0, 61);
    assert_eq!(all[..5], [(0, 1, None), (1, 2, thinned), (3, 1, None), (4, 2, thinned), (6, 1, None)]);
    assert_eq!(all[5..], [(7, 2, thinned), (9, 1, None), (10, 50, Some(Cause::Overrun)), (60, 1, None)]);
    // A sink that is quiet alone is told of each.
    (1..2_000).for_each(|at| assert!(world.0.rouse(key, SendingKey(at))));
    assert!(world.0.rouse(key, SendingKey(0)) && !world.0.rouse(key, SendingKey(0)));
    world.0.rest(key, SendingKey(0), Gets::Later);
    for at in 60..120 {
        world.evaluate(at, if at % 3 > 0 { 60_000 } else { 0 });
        assert!(world.0.rouse_passed(at, 64).is_empty());
    }
    assert_eq!(missing(&world, 60, 120).len(), 40);
}

/// The sinks that get an event at once, of all queries together, are few. Those of the source's own node do not count.
#[test]
fn a_few_get_an_event_at_once_and_others_are_owed_it() {
    let mut world = World::usual();
    let queries = [(Some(1), 40), (Some(1), 40), (Some(2), 20), (None, 100)];
    let keys = queries.map(|(node, sinks)| {
        let key = world.add(node, &format!("where n >= 0 - {sinks} - {}", world.0.all.len()));
        (0..sinks).for_each(|at| world.0.rest(key, SendingKey(at), Gets::Later));
        key
    });
    let pass = |world: &mut World, at| {
        world.evaluate(at, 1);
        let at_once = world.0.rouse_passed(at, 64).iter().map(Quiet::len).collect::<Vec<_>>();
        let owing = world.0.owing().map(|(key, ..)| key).collect::<Vec<_>>();
        (at_once, owing)
    };
    assert_eq!(pass(&mut world, 0), (vec![40, 20, 100], vec![keys[1]]));
    assert_eq!(world.0.quiet(), 40);
    // One that is lossless gets events at once, with those that share its query.
    world.0.watch(keys[1], Gets::Lossless);
    assert_eq!(pass(&mut world, 1).0, [0, 40, 0, 0]);
    world.0.begin();
    (0..70).for_each(|at| world.0.rest(keys[1], SendingKey(at), Gets::Later));
    (70..73).for_each(|at| world.0.rest(keys[1], SendingKey(at), Gets::AtOnce));
    assert_eq!(pass(&mut world, 2), (vec![0, 3, 0, 0], vec![keys[1]]));
    world.0.rest(keys[1], SendingKey(73), Gets::Lossless);
    assert_eq!(pass(&mut world, 3), (vec![0, 71, 0, 0], vec![]));
}
