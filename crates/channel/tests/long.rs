//! A very long event and short ones on one link: the short ones do not wait for it.
#![cfg(unix)]

use isoform::{Messages, Record, Slice};
use isoform_channel::{Cause, Event, Node};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);
const LONG: usize = 100 << 20;

#[derive(Record)]
#[repr(C)]
struct Field<'a> {
    cells: Slice<'a, u64>,
}

#[derive(Record)]
struct Owned {
    cells: Vec<u64>,
}

#[derive(Record)]
#[repr(C)]
struct Beat {
    count: u64,
}

/// How many beats have come before the long event, which began before all of them.
fn overtaking(unix: bool) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| format!("unix:{}", directory.path().join(name).display());
    let node = |name| match unix {
        true => Node::builder().listen(at(name)).build().unwrap(),
        false => Node::new().unwrap(),
    };
    let (here, there) = (node("here"), node("there"));
    let (fields, beats) = (here.create::<Owned>("fields").unwrap(), here.create::<Beat>("beats").unwrap());
    let mut field = fields.source_builder().lossless().build::<Owned>().unwrap();
    let mut beat = beats.source_builder().lossless().build::<Beat>().unwrap();
    let mut seen_fields =
        there.open(fields.id().to_string()).unwrap().sink_builder().lossless().build::<Field>().unwrap();
    let mut seen_beats = there.open(beats.id().to_string()).unwrap().sink_builder().lossless().build::<Beat>().unwrap();
    field.wait_for_sinks(1, SOON).unwrap();
    beat.wait_for_sinks(1, SOON).unwrap();
    let came = Arc::new(AtomicU64::new(0));
    let counter = came.clone();
    let beats = thread::spawn(move || {
        loop {
            match seen_beats.recv().unwrap() {
                Event::Record { record, .. } => counter.store(record.count, Ordering::SeqCst),
                Event::Left(..) => return,
                _ => {}
            }
        }
    });
    let fields = thread::spawn(move || {
        loop {
            if let Event::Record { record, .. } = seen_fields.recv().unwrap() {
                assert!(record.cells.as_slice().iter().enumerate().all(|(at, &cell)| cell == at as u64));
                return came.load(Ordering::SeqCst);
            }
        }
    });
    let cells = (0..LONG as u64 / 8).collect();
    field.submit_owned(Arc::new(Owned { cells })).unwrap();
    let mut count = 0;
    while !fields.is_finished() {
        count += 1;
        beat.submit(&Beat { count }).unwrap();
        thread::yield_now();
    }
    beat.close(SOON).unwrap();
    beats.join().unwrap();
    fields.join().unwrap()
}

#[test]
fn short_events_overtake_a_long_one() {
    for unix in [false, true] {
        // In 100 MiB there are 1,600 parts, between each two of which there is room for others.
        let count = overtaking(unix);
        assert!(count > 100, "{count} short events came before the long one");
    }
}

/// A source that submits one long event after another comes back each time to wait for room; until it does not any more.
#[test]
fn the_last_of_many_long_events_comes_though_nobody_waits_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let node = |name: &str| {
        let address = format!("unix:{}", directory.path().join(name).display());
        Node::builder().listen(address).build().unwrap()
    };
    let (here, there) = (node("here"), node("there"));
    let channel = here.create::<Owned>("fields").unwrap();
    let mut source = channel.source_builder().lossless().build::<Owned>().unwrap();
    let mut sink = there.open(channel.id().to_string()).unwrap().sink_builder().lossless().build::<Field>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    let field = Arc::new(Owned { cells: (0..1 << 20).collect() });
    for events in [12, 1, 12] {
        let seen = thread::spawn(move || {
            let mut came = 0;
            while came < events {
                if let Event::Record { record, .. } = sink.recv().unwrap() {
                    assert_eq!(record.cells.as_slice().last(), Some(&((1 << 20) - 1)));
                    came += 1;
                }
            }
            sink
        });
        for _ in 0..events {
            source.submit_owned(field.clone()).unwrap();
        }
        // From here on, this thread leaves everything to the node.
        sink = seen.join().unwrap();
    }
}

/// A record whose first field says how important it is.
#[derive(Record)]
struct Image {
    number: u32,
    name: String,
    count: u64,
    pixels: Vec<u8>,
}

#[test]
fn the_rest_of_a_long_event_is_declined_by_its_head() {
    let directory = tempfile::tempdir().unwrap();
    let node = |name: &str| {
        let address = format!("unix:{}", directory.path().join(name).display());
        Node::builder().listen(address).build().unwrap()
    };
    let (here, there) = (node("here"), node("there"));
    let channel = here.create::<Image>("images").unwrap();
    let mut source = channel.source_builder().lossless().build::<Image>().unwrap();
    let remote = there.open(channel.id().to_string()).unwrap();
    let mut sink = remote.sink_builder().lossless().heads().build::<Messages>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    const EVENTS: u32 = 20;
    let submitting = thread::spawn(move || {
        for number in 0..EVENTS {
            // Much longer than what a source's node sends ahead.
            let image = Image { number, name: "Kiel".into(), count: 7, pixels: vec![number as u8; 24 << 20] };
            source.submit(&image).unwrap();
        }
        source
    });
    let (mut whole, mut declined, mut heads) = (Vec::new(), Vec::new(), Vec::new());
    while whole.len() + declined.len() < EVENTS as usize {
        match sink.recv().unwrap() {
            Event::Head { stamp, head } => {
                assert_eq!(head.format().name(), "Image");
                assert_eq!(head.length(), head.format().size() as u64 + 8 + (24 << 20), "record, name, pixels");
                let message = head.message().unwrap();
                let view = message.view().unwrap();
                let names: Vec<&str> = view.fields().map(|(field, _)| &*field.name).collect();
                assert!(
                    names.contains(&"number") && !names.contains(&"name") && !names.contains(&"pixels"),
                    "{names:?}"
                );
                let number = view.i64("number").unwrap();
                assert_eq!((number as u64, view.i64("count").unwrap()), (stamp.sequence, 7));
                sink.decline(&stamp);
                heads.push(number as u64);
            }
            Event::Record { stamp, record } => {
                assert_eq!(record.view().unwrap().i64("number").unwrap() as u64, stamp.sequence);
                whole.push(stamp.sequence);
                assert!(!sink.decline(&stamp), "it has come");
            }
            Event::Gap(_, gap) => {
                assert_eq!((gap.count, gap.cause), (1, Cause::Declined));
                assert_eq!(heads.last(), Some(&gap.first), "its head was there before");
                declined.push(gap.first);
            }
            _ => {}
        }
    }
    // Some may have been sent before their source's node heard of it.
    assert!(!declined.is_empty(), "of {whole:?} none was declined");
    let source = submitting.join().unwrap();
    let ledgers = source.close(SOON).unwrap();
    let ledger = ledgers[0].ledger;
    assert!(ledger.is_exact(), "{ledger}");
    assert_eq!((ledger.acknowledged, ledger.lost_for(Cause::Declined)), (whole.len() as u64, declined.len() as u64));
}
