//! The life of a channel: members come and go, the one who made it included; programs are replaced by newer ones; and
//! threads share nodes.
#![cfg(any(unix, windows))]

mod memory;

use isoform::Record;
use isoform_channel::{Event, Handler, Node, Sink};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

#[derive(Record, Debug, PartialEq, Clone, Copy)]
#[repr(C)]
struct Reading {
    station: u32,
    number: u32,
}

/// What a later version has.
#[derive(Record, Debug, PartialEq, Clone, Copy)]
#[isoform(rename = "Reading")]
#[repr(C)]
struct Later {
    #[isoform(default = 0.5)]
    weight: f64,
    number: u64,
    station: u32,
}

/// The next record; gaps and refusals are failures.
fn record<T: Record<Static = T> + 'static, R>(sink: &mut Sink<T>, mut see: impl FnMut(&T::Native<'_>) -> R) -> R {
    loop {
        match sink.recv().unwrap() {
            Event::Record { record, .. } => return see(record),
            Event::Joined { .. } | Event::Left(..) => {}
            other => panic!("{:?}", other.map(drop)),
        }
    }
}

fn members(channel: &isoform_channel::Channel, count: usize) {
    channel.wait_until(SOON, |info| info.members.len() == count).unwrap();
}

fn the_creator_may_leave(new: fn() -> Node) {
    let [maker, one, two, late] = [(); 4].map(|()| new());
    let channel = maker.create::<Reading>("readings").unwrap();
    let id = channel.id().to_string();
    let first = one.open(&id).unwrap();
    let second = two.open(&id).unwrap();
    // Members know each other, whoever told them of the channel.
    [&channel, &first, &second].into_iter().for_each(|channel| members(channel, 3));
    let mut source = first.source::<Reading>().unwrap();
    let mut sink = second.sink::<Reading>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    source.submit(&Reading { station: 1, number: 0 }).unwrap();
    drop((channel, maker));
    members(&first, 2);
    assert!(late.open(&id).is_err(), "nobody is there any more");
    // Any member says where the channel is; and what was going on, goes on.
    let last = late.open(second.id().to_string()).unwrap();
    assert_eq!((last.name(), last.format().as_ref()), ("readings", Some(Reading::format())));
    let mut another = last.sink::<Later>().unwrap();
    source.wait_for_sinks(2, SOON).unwrap();
    source.submit(&Reading { station: 1, number: 1 }).unwrap();
    assert_eq!([0, 1].map(|_| record(&mut sink, |reading| reading.number)), [0, 1]);
    assert_eq!(record(&mut another, |later| (later.number, later.weight)), (1, 0.5));
}

fn a_new_source_is_heard_from_its_first_event_on(new: fn() -> Node) {
    let [maker, one, two] = [(); 3].map(|()| new());
    let channel = maker.create::<Reading>("readings").unwrap();
    let id = channel.id().to_string();
    let mut sinks = [&one, &two].map(|node| node.open(&id).unwrap().sink::<Reading>().unwrap());
    for number in 0..20 {
        let node = new();
        let mut source = node.open(&id).unwrap().source::<Reading>().unwrap();
        assert_eq!(source.submit(&Reading { station: 1, number }).unwrap(), 0);
        for sink in &mut sinks {
            assert_eq!(record(sink, |reading| reading.number), number);
        }
    }
}

fn programs_are_replaced_by_newer_ones(new: fn() -> Node) {
    let [old, new, reader] = [(); 3].map(|()| new());
    let channel = old.create::<Reading>("readings").unwrap();
    let mut sink = reader.open(channel.id().to_string()).unwrap().sink::<Reading>().unwrap();
    let mut source = channel.source::<Reading>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    source.submit(&Reading { station: 1, number: 0 }).unwrap();
    // The new program begins before the old one ends.
    let replaced = new.open(channel.id().to_string()).unwrap();
    let mut newer = replaced.source::<Later>().unwrap();
    newer.wait_for_sinks(1, SOON).unwrap();
    let seen = thread::spawn(move || [0, 1].map(|_| record(&mut sink, |reading| (reading.station, reading.number))));
    let account = source.close(SOON).unwrap();
    assert!(account.iter().all(|sink| sink.ledger.is_exact() && sink.ledger.acknowledged == 1), "{account:?}");
    drop((channel, old));
    newer.submit(&Later { weight: 1.0, number: 1, station: 2 }).unwrap();
    assert_eq!(seen.join().unwrap(), [(1, 0), (2, 1)]);
}

fn threads_share_nodes(new: fn() -> Node) {
    const SOURCES: u32 = 3;
    const EVENTS: u32 = 3000;
    let (here, there) = (new(), new());
    let channel = here.create::<Reading>("readings").unwrap();
    let id = channel.id().to_string();
    let sinks: Vec<Sink<Reading>> = (0..3)
        .map(|i| if i == 0 { channel.clone() } else { there.open(&id).unwrap() })
        .map(|channel| channel.sink_builder().lossless().build().unwrap())
        .collect();
    let readers: Vec<_> = sinks
        .into_iter()
        .map(|mut sink| {
            thread::spawn(move || {
                let mut next = [0; SOURCES as usize];
                for _ in 0..SOURCES * EVENTS {
                    record(&mut sink, |reading| {
                        let next = &mut next[reading.station as usize];
                        assert_eq!(reading.number, *next, "in order");
                        *next += 1;
                    });
                }
            })
        })
        .collect();
    let writers: Vec<_> = (0..SOURCES)
        .map(|station| {
            let channel = channel.clone();
            thread::spawn(move || {
                let mut source = channel.source_builder().lossless().build::<Reading>().unwrap();
                source.wait_for_sinks(3, SOON).unwrap();
                (0..EVENTS).for_each(|number| _ = source.submit(&Reading { station, number }).unwrap());
                source.close(SOON).unwrap()
            })
        })
        .collect();
    for writer in writers {
        for sink in writer.join().unwrap() {
            assert!(sink.ledger.is_exact());
            assert_eq!(sink.ledger.acknowledged, u64::from(EVENTS), "{}", sink.ledger);
        }
    }
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

fn what_was_submitted_is_sent_before_a_program_ends(new: fn() -> Node) {
    let reader = new();
    let channel = reader.create::<Reading>("readings").unwrap();
    let mut sink = channel.sink::<Reading>().unwrap();
    let id = channel.id().to_string();
    let writer = thread::spawn(move || {
        let node = new();
        let mut source = node.open(&id).unwrap().source::<Reading>().unwrap();
        source.wait_for_sinks(1, SOON).unwrap();
        (0..500).for_each(|number| _ = source.submit(&Reading { station: 1, number }).unwrap());
    });
    for number in 0..500 {
        assert_eq!(record(&mut sink, |reading| reading.number), number);
    }
    writer.join().unwrap();
}

fn whoever_waits_learns_that_a_channel_was_closed(new: fn() -> Node) {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Poll, Wake};
    struct Note(AtomicBool);
    impl Wake for Note {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let node = new();
    let channel = node.create::<Reading>("readings").unwrap();
    let mut source = channel.source::<Reading>().unwrap();
    assert_eq!(source.submit(&Reading { station: 1, number: 1 }).unwrap(), 0, "nobody listens");
    let mut sink = channel.sink::<Reading>().unwrap();
    assert!(matches!(sink.recv().unwrap(), Event::Joined { .. }));
    let note = Arc::new(Note(AtomicBool::new(false)));
    let waker = note.clone().into();
    let mut future = std::pin::pin!(sink.recv_async());
    assert!(matches!(future.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending));
    channel.close();
    assert!(note.0.load(Ordering::SeqCst));
    assert!(matches!(future.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(Err(_))));
    assert_eq!(source.submit(&Reading { station: 1, number: 1 }).unwrap_err().to_string(), "closed at source");
    assert_eq!(source.wait_for_sinks(1, Duration::MAX).unwrap_err().to_string(), "closed at source");
}

fn the_last_handle_of_a_node_may_be_dropped_by_the_task_that_it_wakes(new: fn() -> Node) {
    use std::any::Any;
    use std::future::Future;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::task::{Context, Wake};
    /// Drops what it has, on the thread of the node that wakes it.
    struct Drops(Mutex<Option<Box<dyn Any + Send>>>, mpsc::Sender<bool>);
    impl Wake for Drops {
        fn wake(self: Arc<Self>) {
            let held = self.0.lock().unwrap().take();
            self.1.send(catch_unwind(AssertUnwindSafe(|| drop(held))).is_ok()).unwrap();
        }
    }
    let (near, far) = (new(), new());
    let channel = near.create::<Reading>("readings").unwrap();
    let mut source = channel.source::<Reading>().unwrap();
    let mut sink = far.open(channel.id().to_string()).unwrap().sink::<Reading>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    assert!(matches!(sink.recv().unwrap(), Event::Joined { .. }));
    let (send, dropped) = mpsc::channel();
    let task = Arc::new(Drops(Mutex::default(), send));
    let mut future = Box::pin(async move { sink.recv_async().await.map(|event| event.map(drop)) });
    assert!(future.as_mut().poll(&mut Context::from_waker(&task.clone().into())).is_pending());
    *task.0.lock().unwrap() = Some(Box::new(future));
    drop(far);
    source.submit(&Reading { station: 1, number: 0 }).unwrap();
    assert!(dropped.recv().unwrap());
}

fn a_handler_that_panics_is_run_again(new: fn() -> Node) {
    let node = new();
    let channel = node.create::<Reading>("readings").unwrap();
    let mut source = channel.source::<Reading>().unwrap();
    let (send, seen) = std::sync::mpsc::channel();
    let _handler = channel
        .sink_builder()
        .on::<Reading>(move |event| {
            if let Event::Record { record, .. } = event {
                assert!(record.number > 0, "the first one is too much for it");
                send.send(record.number).unwrap();
            }
        })
        .unwrap();
    source.submit(&Reading { station: 1, number: 0 }).unwrap();
    let first = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| node.poll(Duration::MAX)));
    assert!(first.is_err());
    source.submit(&Reading { station: 1, number: 1 }).unwrap();
    node.poll(Duration::MAX).unwrap();
    assert_eq!(seen.try_recv(), Ok(1));
}

fn a_source_tells_of_every_sink_at_its_end_and_who_looks_may_ask_for_more(new: fn() -> Node) {
    const SINKS: usize = 100;
    let node = new();
    let channel = node.create::<Reading>("readings").unwrap();
    let mut source = channel.source::<Reading>().unwrap();
    let mut sinks: Vec<Sink<Reading>> = (0..SINKS).map(|_| channel.sink().unwrap()).collect();
    channel.wait_until(SOON, |info| info.members.len() == 1 && source.sinks() == SINKS).unwrap();
    source.submit(&Reading { station: 1, number: 7 }).unwrap();
    let readers = thread::spawn(move || {
        sinks.iter_mut().for_each(|sink| assert_eq!(record(sink, |reading| reading.number), 7));
        sinks
    });
    let account = source.close(SOON).unwrap();
    assert_eq!(account.iter().filter(|sink| sink.ledger.acknowledged == 1).count(), SINKS);
    drop(readers.join().unwrap());
}

fn closed_is_closed(new: fn() -> Node) {
    let node = new();
    let channel = node.create::<Reading>("readings").unwrap();
    assert!(node.create::<Reading>("readings").is_err(), "the name is taken");
    let (mut source, mut sink) = (channel.source::<Reading>().unwrap(), channel.sink::<Reading>().unwrap());
    let also = channel.clone();
    channel.close();
    assert_eq!(also.name(), "readings");
    assert_eq!(source.submit(&Reading { station: 1, number: 1 }).unwrap_err().to_string(), "closed at source");
    assert_eq!(sink.recv().map(drop).unwrap_err().to_string(), "closed at channel");
    assert_eq!(also.sink::<Reading>().map(drop).unwrap_err().to_string(), "closed at channel");
}

fn a_handler_is_not_called_once_it_was_dropped(new: fn() -> Node) {
    let node = new();
    let channel = node.create::<Reading>("readings").unwrap();
    let (closing, closed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (entered, calls) = mpsc::channel();
    let seen = (closing.clone(), closed.clone());
    let handler = channel
        .sink_builder()
        .on::<Reading>(move |_| {
            entered.send(()).unwrap();
            while !seen.0.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            // As good as any time for whoever does not wait.
            (0..1000).for_each(|_| thread::yield_now());
            assert!(!seen.1.load(Ordering::SeqCst), "it is called, and was dropped");
        })
        .unwrap();
    let mut source = channel.source::<Reading>().unwrap();
    (0..10).for_each(|number| _ = source.submit(&Reading { station: 1, number }).unwrap());
    thread::scope(|scope| {
        let polling = scope.spawn(|| node.poll(SOON).unwrap());
        calls.recv().unwrap();
        closing.store(true, Ordering::SeqCst);
        drop(handler);
        closed.store(true, Ordering::SeqCst);
        let handled = polling.join().expect("no call behind the drop");
        // The function is gone, and with it its end.
        assert_eq!(handled, 1 + calls.iter().count());
    });
    assert_eq!((source.sinks(), node.poll(Duration::ZERO).unwrap()), (0, 0));
}

fn a_handler_may_be_asked_and_dropped_from_within(new: fn() -> Node) {
    let node = new();
    let channel = node.create::<Reading>("readings").unwrap();
    let (place, calls) = (Arc::new(Mutex::new(None::<Handler>)), Arc::new(AtomicUsize::new(0)));
    let (within, counter) = (place.clone(), calls.clone());
    let handler = channel.sink_builder().on::<Reading>(move |event| {
        counter.fetch_add(1, Ordering::Relaxed);
        if let Event::Record { record, .. } = event {
            let handler = within.lock().unwrap().take().expect("called once more");
            assert_eq!((record.number, handler.counts().taken), (0, 1));
        }
    });
    *place.lock().unwrap() = Some(handler.unwrap());
    let mut source = channel.source::<Reading>().unwrap();
    (0..10).for_each(|number| _ = source.submit(&Reading { station: 1, number }).unwrap());
    assert_eq!(node.poll(Duration::ZERO).unwrap(), calls.load(Ordering::Relaxed));
    assert_eq!((calls.load(Ordering::Relaxed), Arc::strong_count(&calls), source.sinks()), (2, 1, 0));
}

fn what_one_thread_leaves_another_that_polls_is_told_of(new: fn() -> Node) {
    let node = new();
    let channel = node.create::<Reading>("readings").unwrap();
    let ((entered, calls), (go, gate)) = (mpsc::channel(), mpsc::channel());
    let gate = Mutex::new(gate);
    let _handler = channel.sink_builder().on::<Reading>(move |event| {
        if let Event::Record { record, .. } = event {
            entered.send(record.number).unwrap();
            gate.lock().unwrap().recv().unwrap();
        }
    });
    let mut source = channel.source::<Reading>().unwrap();
    source.submit(&Reading { station: 1, number: 0 }).unwrap();
    thread::scope(|scope| {
        let first = scope.spawn(|| node.poll(SOON).unwrap());
        assert_eq!(calls.recv(), Ok(0));
        // It comes for a handler that runs; and whoever runs it does not poll again.
        source.submit(&Reading { station: 1, number: 1 }).unwrap();
        let second = scope.spawn(|| node.poll(Duration::MAX).unwrap());
        (0..1000).for_each(|_| thread::yield_now());
        (0..2).for_each(|_| go.send(()).unwrap());
        assert_eq!((first.join().unwrap(), second.join().unwrap()), (2, 1), "the first one is told of the source, too");
        assert_eq!(calls.recv(), Ok(1));
    });
}

/// Over sockets, and over a transport that has none.
macro_rules! over_every_transport {
    ($($name:ident)*) => {
        mod over_tcp {
            $(#[test] fn $name() { super::$name(|| super::Node::new().unwrap()) })*
        }
        mod in_memory {
            $(#[test] fn $name() {
                super::$name(|| super::Node::builder().transport(super::memory::Memory).build().unwrap())
            })*
        }
    };
}

over_every_transport! {
    the_creator_may_leave
    a_new_source_is_heard_from_its_first_event_on
    programs_are_replaced_by_newer_ones
    threads_share_nodes
    what_was_submitted_is_sent_before_a_program_ends
    whoever_waits_learns_that_a_channel_was_closed
    the_last_handle_of_a_node_may_be_dropped_by_the_task_that_it_wakes
    a_handler_that_panics_is_run_again
    a_source_tells_of_every_sink_at_its_end_and_who_looks_may_ask_for_more
    closed_is_closed
    a_handler_is_not_called_once_it_was_dropped
    a_handler_may_be_asked_and_dropped_from_within
    what_one_thread_leaves_another_that_polls_is_told_of
}
