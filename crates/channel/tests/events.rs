//! Events between nodes, over real sockets, and within one.
#![cfg(any(unix, windows))]

use isoform::{Messages, Record, Rules, Slice, Str, memory};
use isoform_channel::{Event, Node, Policy, Sink, Window};
use std::sync::Arc;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

#[derive(Record, Debug, PartialEq, Clone, Copy)]
#[repr(C)]
struct Tick {
    count: u64,
    value: f64,
}

/// What another program has: other order, other sizes, more.
#[derive(Record, Debug, PartialEq, Clone, Copy)]
#[isoform(rename = "Tick")]
#[repr(C)]
struct Wide {
    value: f32,
    count: i32,
    #[isoform(default)]
    extra: u8,
}

#[derive(Record)]
#[repr(C)]
struct Wave<'a> {
    name: Str<'a>,
    levels: Slice<'a, f64>,
}

#[derive(Record, Debug, PartialEq)]
#[isoform(rename = "Wave")]
struct Owned {
    name: String,
    levels: Vec<f64>,
}

/// The next event, whatever else there is to know.
fn next<T: Record<Static = T> + 'static, R>(sink: &mut Sink<T>, see: impl FnOnce(&T::Native<'_>) -> R) -> R {
    let mut see = Some(see);
    loop {
        match sink.recv().unwrap() {
            Event::Record { record, .. } => return see.take().unwrap()(record),
            Event::Gap(_, gap) => panic!("{gap}"),
            Event::Refused(_, error) => panic!("{error}"),
            Event::Granted(..) | Event::Given(..) | Event::Joined { .. } | Event::Left(..) | Event::Head { .. } => {}
        }
    }
}

#[test]
fn a_sink_learns_the_format_of_a_source_before_the_first_record() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create_with("anything", None).unwrap();
    for place in [channel.clone(), other.open(channel.id().to_string()).unwrap()] {
        let mut sink = place.sink::<Tick>().unwrap();
        let source = channel.source::<Wide>().unwrap();
        source.wait_for_sinks(1, SOON).unwrap();
        let Event::Joined { format, .. } = sink.recv().unwrap() else { panic!("a source joins first") };
        assert_eq!(format.as_ref(), Some(Wide::format()));
    }
}

/// How many sources are there whenever one has left.
#[test]
fn a_sink_is_told_how_many_sources_are_left() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Tick>("ticks").unwrap();
    let opened = other.open(channel.id().to_string()).unwrap();
    let mut records = opened.sink::<Tick>().unwrap();
    let mut memory =
        opened.sink_builder().build_with(memory::Decoder::new(Tick::format(), Rules::new()).unwrap()).unwrap();
    let mut messages = opened.sink_builder().build::<Messages>().unwrap();
    let sources: Vec<_> = (0..3).map(|_| channel.source::<Tick>().unwrap()).collect();
    sources.iter().for_each(|source| source.wait_for_sinks(3, SOON).unwrap());
    sources.into_iter().for_each(|source| assert_eq!(source.close(SOON).unwrap().len(), 3));
    let all = |next: &mut dyn FnMut() -> Event<()>| {
        let mut counts = Vec::new();
        while counts.len() < 3 {
            if let Event::Left(_, others) = next() {
                counts.push(others);
            }
        }
        counts
    };
    let counts = [
        all(&mut || records.recv().unwrap().map(drop)),
        all(&mut || memory.recv_while(Some(SOON), |_, _, _| Ok(true)).unwrap().unwrap().map(drop)),
        all(&mut || messages.recv().unwrap().map(drop)),
    ];
    assert_eq!(counts, [[2, 1, 0], [2, 1, 0], [2, 1, 0]]);
}

/// Whatever a source does not wait for when it is closed is declared lost, also to a sink of its own node.
#[test]
fn what_a_closed_source_did_not_send_is_declared_lost() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    for (name, place) in [("here", &node), ("there", &other)] {
        let channel = node.create::<Tick>(name).unwrap();
        let opened = place.open(channel.id().to_string()).unwrap();
        let small = Window { events: 4, bytes: 4096 };
        let mut sink = opened.sink_builder().window(small).query("where count != 1").unwrap().build::<Tick>().unwrap();
        let mut source = channel.source::<Tick>().unwrap();
        source.wait_for_sinks(1, SOON).unwrap();
        (0..10).for_each(|count| _ = source.submit(&Tick { count, value: 0.5 }).unwrap());
        let account = source.close(Duration::ZERO).unwrap();
        assert!(account.iter().all(|sink| sink.ledger.is_exact()), "{account:?}");
        let (mut came, mut lost) = (0, 0);
        loop {
            match sink.recv_timeout(SOON).unwrap().expect("an event in time") {
                Event::Record { .. } => came += 1,
                Event::Gap(_, gap) => lost += gap.count,
                Event::Left(..) => break,
                _ => {}
            }
        }
        let counts = sink.counts();
        assert!(came <= 4 && came + lost + counts.skipped == 10, "{came} came, and {lost} are lost");
        assert_eq!((counts.lost, counts.skipped), (lost, 1));
    }
}

fn exchange(node: &Node, other: &Node) {
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source::<Tick>().unwrap();
    assert_eq!(source.submit(&Tick { count: 0, value: 0.0 }).unwrap(), 0, "it has a number, although nobody hears it");
    let opened = other.open(channel.id().to_string()).unwrap();
    let mut same = opened.sink::<Tick>().unwrap();
    let mut wide = opened.sink::<Wide>().unwrap();
    source.wait_for_sinks(2, SOON).unwrap();
    for count in 0..10_000 {
        assert_eq!(source.submit(&Tick { count, value: 0.5 }).unwrap(), 1 + count);
    }
    for count in 0..10_000 {
        assert_eq!(next(&mut same, |tick| *tick), Tick { count, value: 0.5 });
        assert_eq!(next(&mut wide, |tick| (tick.count, tick.value, tick.extra)), (count as i32, 0.5, 0));
    }
    let reader = std::thread::spawn(move || {
        while !matches!(same.recv().unwrap(), Event::Left(..)) {}
        while !matches!(wide.recv().unwrap(), Event::Left(..)) {}
    });
    let account = source.close(SOON).unwrap();
    assert_eq!(account.len(), 2);
    for sink in account {
        assert!(sink.ledger.is_exact());
        let account = (sink.earlier, sink.ledger.submitted, sink.ledger.acknowledged);
        assert_eq!(account, (1, 10_000, 10_000), "{}", sink.ledger);
    }
    reader.join().unwrap();
}

#[test]
fn over_tcp() {
    exchange(&Node::new().unwrap(), &Node::new().unwrap());
}

#[cfg(unix)]
#[test]
fn over_a_unix_socket() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| format!("unix:{}", directory.path().join(name).display());
    let node = |name| Node::builder().listen(at(name)).build().unwrap();
    exchange(&node("a"), &node("b"));
}

#[test]
fn within_a_node() {
    let node = Node::new().unwrap();
    exchange(&node, &node);
}

#[test]
fn equal_layouts_are_used_where_they_were_received() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Wave>("waves").unwrap();
    let mut source = channel.source::<Wave>().unwrap();
    let opened = other.open(channel.id().to_string()).unwrap();
    let mut sink = opened.sink::<Wave>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    for length in [3, 300, 30_000] {
        let levels = vec![0.5; length];
        source.submit(&Wave { name: Str::new(c"Kiel"), levels: Slice::from(&levels) }).unwrap();
        next(&mut sink, |wave| {
            assert_eq!(wave.levels.as_slice(), levels);
            assert!((&raw const *wave).addr().is_multiple_of(16));
        });
    }
    assert_eq!(sink.copied(), 0);
}

#[test]
fn long_events_and_short_ones() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Wave>("waves").unwrap();
    let mut source = channel.source_builder().lossless().build::<Wave>().unwrap();
    let mut sink = other.open(channel.id().to_string()).unwrap().sink_builder().lossless().build::<Wave>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    let reader = std::thread::spawn(move || {
        for i in 0..40usize {
            next(&mut sink, |wave| {
                assert_eq!(wave.name.to_bytes(), b"Kiel");
                let levels = wave.levels.as_slice();
                assert_eq!(levels.len(), i * i * 100);
                assert!(levels.iter().enumerate().all(|(at, &level)| level == at as f64));
            });
        }
    });
    for i in 0..40usize {
        let levels: Vec<f64> = (0..i * i * 100).map(|at| at as f64).collect();
        source.submit(&Wave { name: Str::new(c"Kiel"), levels: Slice::from(&levels) }).unwrap();
    }
    reader.join().unwrap();
}

#[test]
fn records_are_shared_within_a_node_and_not_copied_to_others() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Owned>("waves").unwrap();
    let mut source = channel.source::<Owned>().unwrap();
    let mut here = channel.sink::<Owned>().unwrap();
    let mut there = other.open(channel.id().to_string()).unwrap().sink::<Wave>().unwrap();
    source.wait_for_sinks(2, SOON).unwrap();
    let wave = Arc::new(Owned { name: "Kiel".into(), levels: (0..100_000).map(f64::from).collect() });
    source.submit_owned(wave.clone()).unwrap();
    next(&mut here, |seen| {
        assert_eq!(seen.levels.as_slice().as_ptr(), wave.levels.as_ptr());
    });
    next(&mut there, |seen| assert_eq!(seen.levels.as_slice(), wave.levels));
}

#[test]
fn a_handler_runs_where_the_node_is_polled() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source::<Tick>().unwrap();
    let opened = other.open(channel.id().to_string()).unwrap();
    let (send, seen) = std::sync::mpsc::channel();
    let handler = opened
        .sink_builder()
        .on::<Wide>(move |event| {
            if let Event::Record { record, .. } = event {
                send.send((std::thread::current().id(), record.count)).unwrap();
            }
        })
        .unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    source.submit(&Tick { count: 7, value: 0.0 }).unwrap();
    while handler.counts().taken == 0 {
        other.poll(SOON).unwrap();
    }
    assert_eq!(seen.recv().unwrap(), (std::thread::current().id(), 7));
}

#[test]
fn a_stopped_sink_gets_the_latest_and_knows_what_it_missed() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source::<Tick>().unwrap();
    let latest = other.open(channel.id().to_string()).unwrap().sink_builder().policy(Policy::Latest);
    let mut sink = latest.build::<Tick>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    for count in 0..1000 {
        source.submit(&Tick { count, value: 0.0 }).unwrap();
    }
    let (mut seen, mut missed, mut last) = (0, 0, 0);
    while last < 999 {
        match sink.recv().unwrap() {
            Event::Record { record, .. } => (seen, last) = (seen + 1, record.count),
            Event::Gap(_, gap) => missed += gap.count,
            _ => {}
        }
    }
    assert_eq!((seen, missed), (2, 998));
}

#[test]
fn what_cannot_fit_is_refused_before_the_first_event() {
    #[derive(Record, Debug)]
    #[isoform(rename = "Tick")]
    struct Named {
        #[isoform(required)]
        name: String,
        count: u64,
    }
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Tick>("ticks").unwrap();
    let opened = other.open(channel.id().to_string()).unwrap();
    let error = opened.sink::<Named>().unwrap_err();
    assert_eq!(error.path(), "name");
    // On a channel without a type it shows when a source comes.
    let untyped = node.create_with("any", None).unwrap();
    let mut sink = other.open(untyped.id().to_string()).unwrap().sink::<Named>().unwrap();
    let source = untyped.source::<Tick>().unwrap();
    let Event::Refused(_, error) = sink.recv().unwrap() else { panic!() };
    assert_eq!(error.path(), "name");
    assert_eq!(source.sinks(), 0);
}

/// So a loop that ends with the last source also ends if the sink has refused all of them, or they the sink.
#[test]
fn a_sink_is_told_that_a_refused_source_has_left() {
    #[derive(Record)]
    #[repr(C)]
    struct Named<'a> {
        name: Str<'a>,
    }
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create_with("any", None).unwrap();
    let opened = other.open(channel.id().to_string()).unwrap();
    let mut here = channel.sink::<Named<'_>>().unwrap();
    let mut there = opened.sink::<Named<'_>>().unwrap();
    let query = |channel: &isoform_channel::Channel| {
        let sink = channel.sink_builder().query("where nothing > 1").unwrap();
        sink.build::<Messages>().unwrap()
    };
    let (mut asks_here, mut asks_there) = (query(&channel), query(&opened));
    let told = |first: Event<()>, second: Event<()>| {
        let (Event::Refused(refused, _), Event::Left(left, others)) = (&first, &second) else {
            panic!("{first:?}, {second:?}")
        };
        assert_eq!((refused, 0), (left, *others));
    };
    for _ in 0..2 {
        let source = channel.source::<Tick>().unwrap();
        let first = [
            here.recv().unwrap().map(drop),
            there.recv().unwrap().map(drop),
            asks_here.recv().unwrap().map(drop),
            asks_there.recv().unwrap().map(drop),
        ];
        source.close(SOON).unwrap();
        let second = [
            here.recv().unwrap().map(drop),
            there.recv().unwrap().map(drop),
            asks_here.recv().unwrap().map(drop),
            asks_there.recv().unwrap().map(drop),
        ];
        first.into_iter().zip(second).for_each(|(first, second)| told(first, second));
    }
    // The node ends, and its sources with it.
    let source = opened.source::<Tick>().unwrap();
    let first = here.recv().unwrap().map(drop);
    drop((source, there, asks_there, opened, other));
    told(first, here.recv().unwrap().map(drop));
}

#[test]
fn an_event_that_cannot_be_a_record_is_an_error_of_its_own() {
    let node = Node::new().unwrap();
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source::<Tick>().unwrap();
    let mut sink = channel.sink::<Wide>().unwrap();
    for count in [1, 1 << 40, 2] {
        source.submit(&Tick { count, value: 0.0 }).unwrap();
    }
    assert_eq!(next(&mut sink, |tick| tick.count), 1);
    let error = sink.recv().map(drop).unwrap_err().to_string();
    assert!(error.starts_with("overflow at event 1 of source 0.count: expected"), "{error}");
    assert_eq!(next(&mut sink, |tick| tick.count), 2);
}

#[test]
fn a_wrong_address_is_an_error() {
    let node = Node::new().unwrap();
    let refused = |id: &str| node.open(id).unwrap_err().to_string();
    assert!(
        refused("iso://127.0.0.1:1/river").starts_with("cannot be reached"),
        "{}",
        refused("iso://127.0.0.1:1/river")
    );
    assert!(refused("iso://192.0.2.1:7000/river").starts_with("refused without encryption"));
    let other = Node::new().unwrap();
    let channel = other.create_with("river", None).unwrap();
    let id = channel.id().to_string().replace("river", "lake");
    let (id, _) = id.rsplit_once('/').unwrap();
    assert_eq!(refused(id), format!("no such channel at {id}"), "not twice");
}

#[test]
fn tasks_wait_too() {
    use std::pin::pin;
    use std::task::{Context, Poll, Wake};
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source::<Tick>().unwrap();
    let mut sink = other.open(channel.id().to_string()).unwrap().sink::<Tick>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    source.submit(&Tick { count: 7, value: 0.0 }).unwrap();
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    loop {
        let mut future = pin!(sink.recv_async());
        let event = loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(event) => break event.unwrap(),
                Poll::Pending => std::thread::park(),
            }
        };
        if let Event::Record { record, .. } = event {
            assert_eq!(record.count, 7);
            return;
        }
    }
}

/// Sources that are opened at the same time: each is heard from its first event on, though the answer to one of them asking may
/// come before the subscription to another.
#[test]
fn sources_of_many_threads_are_heard_at_once() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut sink = other.open(channel.id().to_string()).unwrap().sink::<Tick>().unwrap();
    for _ in 0..100 {
        let sources: Vec<_> = std::thread::scope(|scope| {
            let open = || {
                let mut source = channel.source::<Tick>().unwrap();
                let heard = source.submit(&Tick { count: 1, value: 0.5 }).unwrap();
                (source, heard)
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (_, heard) in &sources {
            assert_eq!(*heard, 0);
            assert_eq!(next(&mut sink, |tick| tick.count), 1);
        }
    }
}

#[test]
fn a_sink_may_subscribe_to_some_sources_and_see_the_others() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create_with("anything", None).unwrap();
    for place in [channel.clone(), other.open(channel.id().to_string()).unwrap()] {
        let look = place.sink_builder().only([]).build::<Messages>().unwrap();
        let mut typed = channel.source::<Tick>().unwrap();
        let untyped = channel.source_builder().build::<Messages>().unwrap();
        let offered = loop {
            let offered = look.sources();
            if offered.len() == 2 {
                break offered;
            }
            std::thread::yield_now();
        };
        let formats: Vec<_> = offered.iter().map(|source| source.format.clone().unwrap()).collect();
        let (at, format) = formats.iter().enumerate().find_map(|(at, format)| Some((at, format.clone()?))).unwrap();
        assert_eq!((format, formats.iter().flatten().count()), (Tick::format().clone(), 1));
        let mut sink = place.sink_builder().only([(offered[at].node, offered[at].number)]).build::<Tick>().unwrap();
        typed.wait_for_sinks(1, SOON).unwrap();
        typed.submit(&Tick { count: 7, value: 0.5 }).unwrap();
        assert_eq!(next(&mut sink, |tick| tick.count), 7);
        // The sink that only looks is at neither, and asking anew for what it has makes it no subscriber.
        look.set_policy(Policy::Latest);
        sink.set_policy(Policy::Latest);
        typed.submit(&Tick { count: 8, value: 0.5 }).unwrap();
        assert_eq!(next(&mut sink, |tick| tick.count), 8);
        assert_eq!((typed.sinks(), untyped.sinks()), (1, 0));
        drop((typed, untyped));
        while !look.sources().is_empty() {
            std::thread::yield_now();
        }
    }
}
