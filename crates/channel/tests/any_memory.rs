//! Events of formats that are known only when the program runs, many at a time, and waiting for them with `poll`.
#![cfg(unix)]

use isoform::core::Value;
use isoform::memory::{Decoder, Encoder};
use isoform::{Code, FieldList, Format, Machine, Record, Rules, Slice, Str};
use isoform_channel::{Event, Node, Sink};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

#[derive(Record, Debug, PartialEq, Clone, Copy)]
#[repr(C)]
struct Tick {
    count: u64,
    value: f64,
}

#[derive(Record, Debug, PartialEq)]
#[repr(C)]
struct Wave<'a> {
    name: Str<'a>,
    levels: Slice<'a, f64>,
}

/// `struct Tick { float value; int count; }`
fn narrow() -> Format {
    let fields = FieldList::new("Tick").field("value", "float", 4, 0).field("count", "int", 4, 4);
    fields.format(Machine::NATIVE, 8, 4).unwrap()
}

fn bytes<T>(record: &T) -> *const u8 {
    (&raw const *record).cast()
}

/// Everything that comes, until so many records have.
fn take(sink: &mut Sink<Decoder>, count: usize) -> (Vec<(f32, i32)>, Vec<u64>) {
    let (mut all, mut sequences) = (Vec::new(), Vec::new());
    while all.len() < count {
        let (before, mut first) = (all.len(), None);
        let came = sink.recv_while(Some(SOON), |decoder, stamp, message| {
            if all.len() == before + 300 {
                return Ok(false);
            }
            all.push(pair(*decoder.decode(&message)?.first_chunk().unwrap()));
            sequences.push(stamp.sequence);
            first.get_or_insert(stamp);
            Ok(true)
        });
        match came.unwrap().expect("there is more") {
            Event::Record { stamp, record } => assert_eq!((Some(stamp), record), (first, all.len() - before)),
            Event::Gap(_, gap) => panic!("{gap}"),
            Event::Refused(_, error) => panic!("{error}"),
            Event::Granted(..) | Event::Given(..) | Event::Joined { .. } | Event::Left(..) | Event::Head { .. } => {}
        }
    }
    (all, sequences)
}

fn pair(bytes: [u8; 8]) -> (f32, i32) {
    let [a, b, c, d, e, f, g, h] = bytes;
    (f32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h]))
}

#[test]
fn arrays_go_and_come_in_one_call() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source_builder().build_with(Encoder::new(Tick::format()).unwrap()).unwrap();
    let far = other.open(channel.id().to_string()).unwrap();
    let mut sinks = [&channel, &far]
        .map(|at| at.sink_builder().build_with(Decoder::new(&narrow(), Rules::new()).unwrap()).unwrap());
    source.wait_for_sinks(2, SOON).unwrap();
    let ticks: Vec<Tick> = (0..5000).map(|count| Tick { count, value: 0.5 }).collect();
    // SAFETY: they are such records.
    assert_eq!(unsafe { source.submit_raw_many(ticks.as_ptr().cast(), ticks.len()) }.unwrap(), Some(4999));
    for sink in &mut sinks {
        let (all, sequences) = take(sink, 5000);
        assert!(all.into_iter().eq((0..5000).map(|count| (0.5, count))));
        assert!(sequences.into_iter().eq(0..5000));
        assert_eq!(sink.counts().taken, 5000);
    }
    for sink in source.close(Duration::ZERO).unwrap() {
        assert!(sink.ledger.is_exact());
    }
}

#[test]
fn an_event_that_cannot_be_a_record_comes_alone_and_is_passed() {
    let node = Node::new().unwrap();
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source_builder().build_with(Encoder::new(Tick::format()).unwrap()).unwrap();
    let mut sink = channel.sink_builder().build_with(Decoder::new(&narrow(), Rules::new()).unwrap()).unwrap();
    let ticks = [1, 2, u64::MAX, 4].map(|count| Tick { count, value: 0.5 });
    // SAFETY: they are such records.
    unsafe { source.submit_raw_many(ticks.as_ptr().cast(), ticks.len()) }.unwrap();
    assert_eq!(take(&mut sink, 2).0, [(0.5, 1), (0.5, 2)]);
    let error = sink.recv_while(None, |decoder, _, message| decoder.decode(&message).map(|_| true)).unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::Overflow, "event 2 of source 0.count"));
    assert_eq!(take(&mut sink, 1).0, [(0.5, 4)]);
}

#[test]
fn records_with_pointers_come_one_by_one() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Wave<'_>>("waves").unwrap();
    let mut source = channel.source_builder().build_with(Encoder::new(Wave::format()).unwrap()).unwrap();
    let far = other.open(channel.id().to_string()).unwrap();
    let mut sinks = [&channel, &far]
        .map(|at| at.sink_builder().build_with(Decoder::new(Wave::format(), Rules::new()).unwrap()).unwrap());
    source.wait_for_sinks(2, SOON).unwrap();
    let levels: Vec<f64> = (0..20_000).map(f64::from).collect();
    let lengths = [0, 3, 20_000, 5];
    for &length in &lengths {
        let wave = Wave { name: Str::new(c"Kiel"), levels: Slice::from(&levels[..length]) };
        // SAFETY: it is such a record.
        unsafe { source.submit_raw(bytes(&wave)) }.unwrap();
    }
    for sink in &mut sinks {
        let mut came = Vec::new();
        while came.len() < lengths.len() {
            if let Some(record) = sink.recv().unwrap().record() {
                // SAFETY: by what `memory::Decoder::decode` says, these are the bytes of such a record.
                let wave: &Wave<'_> = unsafe { &*record.as_ptr().cast() };
                assert_eq!(wave.name.to_str().unwrap(), "Kiel");
                assert!(wave.levels.iter().eq(&levels[..wave.levels.len()]));
                came.push(wave.levels.len());
            }
        }
        assert_eq!(came, lengths);
    }
}

#[test]
fn what_cannot_be_is_refused_before_the_first_event() {
    let node = Node::new().unwrap();
    let channel = node.create::<Tick>("ticks").unwrap();
    let wrong = FieldList::new("Tick").field("count", "string", size_of::<usize>(), 0);
    let wrong = wrong.format(Machine::NATIVE, size_of::<usize>(), size_of::<usize>()).unwrap();
    let error = channel.sink_builder().build_with(Decoder::new(&wrong, Rules::new()).unwrap()).unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::NoConversion, "count"));
    assert_eq!(channel.source_builder().build_with(Encoder::new(&wrong).unwrap()).unwrap_err().path(), "count");
    let more = Rules::new().required("Tick", "value").default("Tick", "count", Value::Integer(0));
    channel.sink_builder().build_with(Decoder::new(&narrow(), more).unwrap()).unwrap();
}

/// Whether a descriptor can be read, or comes to be so.
fn is_ready(descriptor: BorrowedFd<'_>, patience: Duration) -> bool {
    let timeout = Timespec { tv_sec: patience.as_secs() as _, tv_nsec: patience.subsec_nanos() as _ };
    rustix::event::poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], Some(&timeout)).unwrap() == 1
}

#[test]
fn a_descriptor_is_ready_whenever_something_would_be_found() {
    for is_far in [false, true] {
        let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
        let channel = node.create::<Tick>("ticks").unwrap();
        let mut source = channel.source::<Tick>().unwrap();
        let at = if is_far { other.open(channel.id().to_string()).unwrap() } else { channel.clone() };
        let mut sink = at.sink_builder().build_with(Decoder::new(&narrow(), Rules::new()).unwrap()).unwrap();
        source.wait_for_sinks(1, SOON).unwrap();
        for count in 0..200 {
            source.submit(&Tick { count, value: 0.5 }).unwrap();
            // Waiting for nothing but the descriptor, and looking until there is nothing, is enough to have all.
            let mut came = false;
            while !came {
                assert!(is_ready(sink.descriptor().unwrap(), SOON));
                while let Some(event) = sink.try_recv().unwrap() {
                    came |= event.record().is_some();
                }
            }
            assert!(!is_ready(sink.descriptor().unwrap(), Duration::ZERO), "nothing was found, and nothing came");
        }
        at.close();
        assert!(is_ready(sink.descriptor().unwrap(), SOON), "closed");
        assert_eq!(sink.try_recv().unwrap_err().code(), Code::Closed);
        assert!(is_ready(sink.descriptor().unwrap(), Duration::ZERO), "closed for good");
    }
}

#[test]
fn the_descriptor_of_a_node_is_that_of_its_handlers() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source::<Tick>().unwrap();
    let far = other.open(channel.id().to_string()).unwrap();
    let (sum, names) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
    let (seen, told) = (sum.clone(), names.clone());
    let handlers = [
        far.sink_builder()
            .on_with(Decoder::new(&narrow(), Rules::new()).unwrap(), move |event| match event {
                Event::Record { record, .. } => {
                    let count = i32::from_ne_bytes(*record[4..].first_chunk().unwrap());
                    seen.fetch_add(count as u64, Ordering::Relaxed);
                }
                other => told.lock().unwrap().push(format!("{other:?}")),
            })
            .unwrap(),
        far.sink_builder().on::<Tick>(|_| {}).unwrap(),
    ];
    source.wait_for_sinks(2, SOON).unwrap();
    let mut expected = 0;
    for count in 0..300 {
        source.submit(&Tick { count, value: 0.5 }).unwrap();
        expected += count;
        while sum.load(Ordering::Relaxed) < expected {
            assert!(is_ready(other.descriptor().unwrap(), SOON));
            while other.poll(Duration::ZERO).unwrap() > 0 {}
        }
        while handlers.iter().any(|handler| handler.counts().taken < count + 1) {
            assert!(is_ready(other.descriptor().unwrap(), SOON));
            while other.poll(Duration::ZERO).unwrap() > 0 {}
        }
        assert!(!is_ready(other.descriptor().unwrap(), Duration::ZERO));
    }
    assert_eq!(names.lock().unwrap().len(), 1, "that there is a source");
}
