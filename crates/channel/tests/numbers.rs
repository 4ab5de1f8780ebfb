//! Events are numbered whether somebody hears them or not, and who comes late learns how many there were.
#![cfg(any(unix, windows))]

use isoform::memory::Encoder;
use isoform::{Messages, Record, emit};
use isoform_channel::{Channel, Event, Node, Sink, Window, emitting};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

#[derive(Record, Clone, Debug, PartialEq)]
#[repr(C)]
struct Tick {
    count: u64,
}

#[derive(Record)]
struct Note {
    text: String,
}

fn tick(count: u64) -> Tick {
    Tick { count }
}

/// A channel at one node, and the same at another one.
fn two() -> (Channel, Channel) {
    let channel = Node::new().unwrap().create_with("ticks", None).unwrap();
    let far = Node::new().unwrap().open(channel.id().to_string()).unwrap();
    (channel, far)
}

/// The source that joins next: the events before.
fn joined<T: Record<Static = T> + 'static>(sink: &mut Sink<T>) -> u64 {
    match sink.recv_timeout(LONG).unwrap() {
        Some(Event::Joined { earlier, .. }) => earlier,
        other => panic!("{:?}", other.map(|event| event.map(drop))),
    }
}

/// The number and the record of the next event.
fn next(sink: &mut Sink<Tick>) -> (u64, u64) {
    match sink.recv_timeout(LONG).unwrap() {
        Some(Event::Record { stamp, record }) => (stamp.sequence, record.count),
        other => panic!("{:?}", other.map(|event| event.map(drop))),
    }
}

#[test]
fn who_comes_late_learns_how_many_events_were_before() {
    let (channel, far) = two();
    let mut source = channel.source_builder().build::<Tick>().unwrap();
    assert_eq!(source.submit(&tick(0)).unwrap(), 0);
    assert_eq!(source.submit_many(&[tick(1), tick(2), tick(3)]).unwrap(), Some(3));
    assert_eq!(source.submit_owned(Arc::new(tick(4))).unwrap(), 4);
    for (at, before) in [(&channel, 5), (&far, 6)] {
        let mut sink = at.sink::<Tick>().unwrap();
        source.wait_for_sinks(1, LONG).unwrap();
        assert_eq!(joined(&mut sink), before);
        assert_eq!(source.submit(&tick(before)).unwrap(), before);
        assert_eq!(next(&mut sink), (before, before));
        let account = source.ledger()[0];
        assert_eq!((account.earlier, account.ledger.submitted, account.ledger.lost()), (before, 1, 0));
        assert_eq!((sink.counts().earlier, sink.counts().lost), (before, 0));
        let info = at.info(LONG).unwrap();
        let (_, told) = info.sources().next().unwrap();
        assert_eq!((told.submitted, told.sinks[0].earlier), (before + 1, before));
        drop(sink);
        while source.sinks() > 0 {
            thread::yield_now();
        }
    }
    // Numbers go on after the last sink has left.
    assert_eq!(source.submit(&tick(7)).unwrap(), 7);
    let account = source.close(LONG).unwrap();
    assert_eq!(account.iter().map(|sink| (sink.earlier, sink.ledger.submitted)).collect::<Vec<_>>(), [(6, 1), (5, 1)]);
}

#[test]
fn what_is_kept_is_not_earlier() {
    let (channel, far) = two();
    let mut source = channel.source_builder().keep(3).build::<Tick>().unwrap();
    (0..10).for_each(|count| assert_eq!(source.submit(&tick(count)).unwrap(), count));
    for at in [&channel, &far] {
        let mut sink = at.sink::<Tick>().unwrap();
        assert_eq!(joined(&mut sink), 7);
        assert_eq!([0; 3].map(|_| next(&mut sink).0), [7, 8, 9]);
        let mut without = at.sink_builder().without_kept().build::<Tick>().unwrap();
        assert_eq!(joined(&mut without), 10);
    }
}

#[test]
fn what_cannot_be_encoded_has_a_number_only_if_nobody_hears_it() {
    let (channel, _) = two();
    let mut source = channel.source_builder().build::<Note>().unwrap();
    let (good, bad) = (Note { text: "all is well".into() }, Note { text: "a\0b".into() });
    assert_eq!([&good, &bad, &good].map(|note| source.submit(note).unwrap()), [0, 1, 2]);
    let mut sink = channel.sink::<Note>().unwrap();
    assert_eq!(joined(&mut sink), 3);
    source.submit(&bad).unwrap_err();
    assert_eq!(source.submit(&good).unwrap(), 3);
}

#[test]
fn the_numbers_of_messages_demands_and_memory_go_on_unheard() {
    let (channel, _) = two();
    let mut messages = channel.source_builder().build::<Messages>().unwrap();
    let body = 7u64.to_ne_bytes();
    assert_eq!([0; 3].map(|_| messages.submit_body(Tick::format(), &body).unwrap()), [0, 1, 2]);
    let mut memory = channel.source_builder().build_with(Encoder::new(Tick::format()).unwrap()).unwrap();
    let ticks = [tick(0), tick(1)];
    // SAFETY: they are records of that format.
    let numbers =
        unsafe { (memory.submit_raw(ticks.as_ptr().cast()), memory.submit_raw_many(ticks.as_ptr().cast(), 2)) };
    assert_eq!((numbers.0.unwrap(), numbers.1.unwrap(), memory.next()), (0, Some(2), 3));
}

/// Threads emit records of one name while sinks come and go: no number is given twice, and none is left out.
#[test]
fn threads_that_emit_and_sinks_that_come_and_go_agree_on_every_number() {
    const THREADS: u64 = 4;
    const EACH: u64 = 200_000;
    let emitting = emitting::start("isoform-tests-numbers").unwrap();
    let name = "tests/numbers";
    let first = |thread: u64, count: u64| emit!("tests/numbers", thread, count);
    let second = |thread: u64, count: u64| emit!("tests/numbers", thread, count);
    first(0, 0); // makes the channel
    let id = emitting.ids()[0].to_string();
    let (over, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let visitors: Vec<_> = (0..2)
        .map(|_| {
            let (over, seen, id) = (over.clone(), seen.clone(), id.clone());
            thread::spawn(move || {
                let channel = Node::new().unwrap().open(&id).unwrap();
                while !over.load(Ordering::Relaxed) {
                    let mut sink = channel
                        .sink_builder()
                        .window(Window { events: u64::MAX, bytes: u64::MAX })
                        .build::<Messages>()
                        .unwrap();
                    let (mut expected, mut came) = (None, 0);
                    while came < 100 && !over.load(Ordering::Relaxed) {
                        match sink.recv_timeout(Duration::from_millis(10)).unwrap() {
                            Some(Event::Joined { earlier, .. }) => expected = Some(earlier),
                            Some(Event::Gap(_, gap)) => expected = Some(gap.first + gap.count),
                            Some(Event::Record { stamp, record }) => {
                                let view = record.view().unwrap();
                                let of = (view.i64("thread").unwrap(), view.i64("count").unwrap());
                                assert_eq!(expected.replace(stamp.sequence + 1), Some(stamp.sequence));
                                seen.lock().unwrap().push((stamp.sequence, of));
                                came += 1;
                            }
                            _ => {}
                        }
                    }
                }
            })
        })
        .collect();
    thread::scope(|scope| {
        for number in 0..THREADS {
            scope.spawn(move || {
                (1..=EACH).for_each(|count| if number % 2 == 0 { first(number, count) } else { second(number, count) })
            });
        }
    });
    let node = Node::new().unwrap();
    let mut late = node.open(&id).unwrap().sink_builder().build::<Messages>().unwrap();
    emitting.wait_for_sinks(name, 1, LONG).unwrap();
    let earlier = loop {
        if let Some(Event::Joined { earlier, .. }) = late.recv_timeout(LONG).unwrap() {
            break earlier;
        }
    };
    assert_eq!(earlier, 1 + THREADS * EACH, "each has one number");
    over.store(true, Ordering::Relaxed);
    visitors.into_iter().for_each(|visitor| visitor.join().unwrap());
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    assert!(!seen.is_empty(), "sinks came while the threads emitted");
    seen.sort();
    seen.dedup();
    assert!(seen.windows(2).all(|two| two[0].0 < two[1].0), "two events have one number");
    let mut of: Vec<_> = seen.iter().map(|(_, of)| *of).collect();
    of.sort();
    of.dedup();
    assert_eq!(of.len(), seen.len(), "one event has two numbers");
    assert_eq!(emit::failed(), 0);
}
