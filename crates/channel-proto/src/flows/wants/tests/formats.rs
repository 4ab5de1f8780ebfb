//! Sources whose events have many formats in turn.

use super::*;

fn formats(count: usize) -> Vec<Format> {
    (0..count).map(|at| Shape::new(format!("R{at}")).field("step", "i64").on(&Layout::NATIVE).unwrap()).collect()
}

/// Submits so many events of each format, in turn. Says which of the events of each format a query has passed.
fn passed(world: &mut World, key: WantKey, formats: &[Format], rounds: u64) -> Vec<Vec<u64>> {
    let mut passed = vec![Vec::new(); formats.len()];
    for round in 0..rounds {
        for (at, format) in formats.iter().enumerate() {
            let sequence = round * formats.len() as u64 + at as u64;
            let body: Arc<[u8]> = (round as i64).to_ne_bytes().into();
            world.evaluate_of(format, event(sequence), &body);
            if !matches!(world.0.outcome(key), Outcome::Filtered) {
                passed[at].push(round);
            }
        }
    }
    passed
}

/// However many formats a source has, each event counts among those of its format.
#[test]
fn stages_count_the_events_of_each_format() {
    for asker in [None, node(1, false)] {
        for (text, expected) in [
            ("every 3", &[0, 3, 6, 9][..]),
            ("where step > 0 | every 3", &[1, 4, 7, 10]),
            ("key step % 2 | every 3", &[0, 1, 6, 7]),
            ("changed step by 4", &[0, 4, 8]),
            ("window 4 | select count()", &[3, 7, 11]),
            ("every 2 | select step || where step >= 0 | every 2", &[0, 4, 8]),
        ] {
            for count in [1, FORMATS, FORMATS + 1, 3 * FORMATS] {
                let (mut world, formats) = (World::usual(), formats(count));
                let asked = Query::parse(text).unwrap();
                let key = world.0.add(&mut world.1, &asked, asker, None, None).unwrap();
                let passed = passed(&mut world, key, &formats, 12);
                // The first format goes by the numbers of all events, as long as there is no other: there is one such event.
                assert!(passed.iter().all(|passed| passed == expected), "{text}, {count} formats: {passed:?}");
                assert_eq!(world.0.reports()[0].account.forgotten, 0);
            }
        }
    }
}

/// What it cannot remember is counted.
#[test]
fn states_of_very_many_formats_are_forgotten_and_counted() {
    for (text, remembered) in
        [("every 3", 256), ("where step >= 0 | every 3", 170 + FORMATS), ("where step > 100", 300)]
    {
        let (mut world, formats) = (World::usual(), formats(300));
        let key = world.0.add(&mut world.1, &Query::parse(text).unwrap(), None, None, None).unwrap();
        let passed = passed(&mut world, key, &formats, 2);
        let is_forgotten = remembered < 300;
        let expected: &[u64] = if is_forgotten { &[0, 1] } else { &[] };
        assert!(passed.iter().all(|passed| passed == expected), "{text}: {passed:?}");
        let forgotten = if is_forgotten { 600 - remembered as u64 } else { 0 };
        assert_eq!(world.0.reports()[0].account.forgotten, forgotten, "{text}");
    }
}

/// A sink that comes later is of the same mind as others about which events `every n` passes.
#[test]
fn queries_go_by_the_same_numbers() {
    let (mut world, formats) = (World::usual(), formats(3 * FORMATS));
    let texts = ["where step < 0", "every 3", "every 3 | select step"];
    let add = |world: &mut World, at: usize| {
        world.0.add(&mut world.1, &Query::parse(texts[at]).unwrap(), node(at as u32, false), None, None).unwrap()
    };
    let first = add(&mut world, 0);
    assert!(passed(&mut world, first, &formats, 4).concat().is_empty());
    let second = add(&mut world, 1);
    assert_eq!(passed(&mut world, second, &formats, 4)[5], [2]);
    let third = add(&mut world, 2);
    assert_eq!(passed(&mut world, third, &formats, 4)[5], [1]);
    world.remove(first, 0);
    assert_eq!(passed(&mut world, second, &formats, 4)[5], [0, 3]);
}

/// More formats in turn than a query remembers: each event takes a check of the query, and a plan.
#[test]
fn who_asks_pays_for_formats_in_turn() {
    for (count, is_free) in [(FORMATS, true), (FORMATS + 1, false)] {
        let (mut world, formats) = (World::usual(), formats(count));
        let asked = Query::parse("where step > 1").unwrap();
        let key = world.0.add(&mut world.1, &asked, node(1, false), None, Some(&formats[0])).unwrap();
        let body: Arc<[u8]> = [0; 8].into();
        let (mut evaluated, mut met) = (0, 0);
        for at in 0..10_000_u64 {
            let (format, event) = (&formats[at as usize % count], Event::at(at, at * SECOND / 10_000));
            let is_new = !world.0.all[key.0].as_mut().unwrap().move_to_front(format);
            world.evaluate_of(format, event, &body);
            evaluated += u64::from(world.is_evaluated(key));
            met += u64::from(is_new && world.is_evaluated(key));
        }
        let most = 2 * QueryTime::default().second.as_nanos() as u64 / prices::meeting(&formats[0], 0);
        assert_eq!(is_free, evaluated == 10_000, "{evaluated} with {count} formats");
        assert!(met <= most && (is_free || met > 100), "{met} of {most} were met");
    }
}

/// A record with a record of so many fields.
fn nested(fields: usize) -> Format {
    let cell = (0..fields).fold(Shape::new("Cell"), |cell, at| cell.field(format!("c{at}"), "double"));
    Shape::new("Outer").nested(cell).field("step", "long").field("g", "Cell").on(&Layout::NATIVE).unwrap()
}

/// A short query may take a millisecond to check.
#[test]
fn subscribing_pays_for_the_check_of_a_query() {
    let (mut world, format) = (World::usual(), nested(4000));
    let mut checked = 0;
    for _ in 0..1000 {
        for text in ["select g", "select g || select step", "select g || where g.nothing > 1"] {
            let held = world.1.all_left();
            match world.try_add_for(node(1, false), text, Some(&format)) {
                Ok(key) => {
                    checked += usize::from(!world.0.all[key.0].as_ref().unwrap().runs.is_empty());
                    world.remove(key, 1);
                }
                Err(error) => {
                    assert_eq!(error.code(), Code::NoSuchField);
                    checked += 1;
                }
            }
            assert!(world.1.all_left() <= held);
        }
    }
    let most = QueryTime::default().second.as_nanos() as u64 / prices::meeting(&format, 4000);
    assert!((4..=most).contains(&(checked as u64)), "{checked} of at most {most}");
    // Those that come later are checked with an event, when something has flowed back.
    let fits = world.try_add_for(node(1, false), "select g", Some(&format)).unwrap();
    let unfit = world.try_add_for(node(2, false), "select nothing", Some(&format)).unwrap();
    let body: Arc<[u8]> = vec![0; format.size()].into();
    world.evaluate_of(&format, event(0), &body);
    assert!(!world.is_evaluated(fits));
    world.evaluate_of(&format, event(5), &body);
    assert!(matches!(world.0.outcome(fits), Outcome::Result(..)));
    assert!(matches!(world.0.outcome(unfit), Outcome::Unfit(_)));
}
