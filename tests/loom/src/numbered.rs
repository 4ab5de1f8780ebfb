//! Threads that submit events while sinks come and go: each event has one number, and no number is left out, in every order.

use crate::numbers::Numbers;
use crate::sync::{Arc, Mutex};
use loom::thread;

/// What a source has under its lock: how many sinks there are, and the number of the next event while there are some.
#[derive(Default)]
struct Source {
    sinks: u32,
    next: u64,
}

/// A source as its threads see it.
struct Shared {
    numbers: Numbers,
    source: Mutex<Source>,
}

impl Shared {
    fn new() -> Arc<Shared> {
        Arc::new(Shared { numbers: Numbers::new(), source: Mutex::default() })
    }

    /// Submits an event, and returns its number, and whether a sink got it.
    fn submit(&self) -> (u64, bool) {
        if let Some(number) = self.numbers.take(1) {
            return (number, false);
        }
        let mut source = self.source.lock().unwrap();
        if source.sinks == 0 {
            let number = self.numbers.hear();
            self.numbers.rest(number + 1);
            return (number, false);
        }
        source.next += 1;
        (source.next - 1, true)
    }

    /// A sink subscribes, and is told the number of the first event that it gets.
    fn subscribe(&self) -> u64 {
        let mut source = self.source.lock().unwrap();
        if source.sinks == 0 {
            source.next = self.numbers.hear();
        }
        source.sinks += 1;
        source.next
    }

    /// It leaves, and is told the number after the last event that it got.
    fn unsubscribe(&self) -> u64 {
        let mut source = self.source.lock().unwrap();
        source.sinks -= 1;
        if source.sinks == 0 {
            self.numbers.rest(source.next);
        }
        source.next
    }
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(model);
}

#[test]
fn each_event_has_one_number_while_a_sink_comes_and_goes() {
    check(|| {
        let shared = Shared::new();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || [shared.submit(), shared.submit()])
            })
            .collect();
        let first = shared.subscribe();
        let behind = shared.unsubscribe();
        let events: Vec<(u64, bool)> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        let mut numbers: Vec<u64> = events.iter().map(|(number, _)| *number).collect();
        numbers.sort();
        assert_eq!(numbers, [0, 1, 2, 3]);
        assert!(events.iter().all(|(number, heard)| *heard == (first..behind).contains(number)), "{events:?}");
        assert_eq!(shared.submit(), (4, false));
    });
}

#[test]
fn each_event_has_one_number_while_sinks_take_turns() {
    check(|| {
        let shared = Shared::new();
        let submits = {
            let shared = shared.clone();
            thread::spawn(move || [shared.submit(), shared.submit(), shared.submit()])
        };
        let sink = {
            let shared = shared.clone();
            thread::spawn(move || (shared.subscribe(), shared.unsubscribe()))
        };
        let here = (shared.subscribe(), shared.unsubscribe());
        let events = submits.join().unwrap();
        let there = sink.join().unwrap();
        assert_eq!(events.map(|(number, _)| number), [0, 1, 2]);
        let is_heard = |number: u64| [here, there].iter().any(|(first, behind)| (*first..*behind).contains(&number));
        assert!(events.iter().all(|(number, heard)| *heard == is_heard(*number)), "{events:?}, {here:?}, {there:?}");
    });
}
