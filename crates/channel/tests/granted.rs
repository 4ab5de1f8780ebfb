//! Sources decide how long they wait for their sinks, and sinks are told.

use isoform::{Code, Record};
use isoform_channel::{Event, Node, Policy, Reason, Sink, Source, Window};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Tick {
    count: u64,
}

const NARROW: Window = Window { events: 2, bytes: 0 };

fn submit(source: &mut Source<Tick>, count: u64) {
    for count in 0..count {
        source.submit(&Tick { count }).unwrap();
    }
}

/// The events of a sink until one of them is what is looked for.
fn until<R>(sink: &mut Sink<Tick>, mut look: impl FnMut(&Event<&Tick>) -> Option<R>) -> R {
    loop {
        let event = sink.recv_timeout(SOON).unwrap().expect("an event in time");
        if let Some(found) = look(&event) {
            return found;
        }
    }
}

#[test]
fn a_sink_that_is_not_read_does_not_hold_its_source() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source::<Tick>().unwrap();
    let opened = other.open(channel.id().to_string()).unwrap();
    let mut unread = opened.sink_builder().window(NARROW).build::<Tick>().unwrap();
    let near = channel.sink_builder().window(NARROW).build::<Tick>().unwrap();
    source.wait_for_sinks(2, SOON).unwrap();
    // More than the source keeps for a sink that it does not wait for.
    submit(&mut source, 100_000);
    for account in source.ledger() {
        assert!(account.ledger.is_exact() && account.ledger.lost() > 30_000, "{}", account.ledger);
        assert_eq!((account.changes, account.must), (1, false));
        assert!(matches!(account.policy, Policy::DropOldest { .. }) && !account.waited.is_zero());
    }
    assert!(matches!(near.granted()[..], [(_, granted)] if granted.reason == Reason::Slow));
    let granted =
        until(&mut unread, |event| if let Event::Granted(_, granted) = event { Some(*granted) } else { None });
    assert_eq!(granted.reason, Reason::Slow);
}

#[test]
fn one_word_on_each_end_makes_a_lossless_pipeline() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source_builder().lossless().build::<Tick>().unwrap();
    let opened = other.open(channel.id().to_string()).unwrap();
    let mut sink = opened.sink_builder().lossless().window(NARROW).build::<Tick>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    let reader = std::thread::spawn(move || {
        let mut next = 0;
        until(&mut sink, |event| match event {
            Event::Record { record, .. } => {
                assert_eq!(record.count, next);
                next += 1;
                None
            }
            Event::Left(..) => Some(()),
            Event::Joined { .. } => None,
            other => panic!("{other:?}", other = other.clone().map(|_| ())),
        });
        next
    });
    submit(&mut source, 2_000);
    let account = source.close(SOON).unwrap();
    assert_eq!((reader.join().unwrap(), account[0].ledger.acknowledged), (2_000, 2_000));
    assert!(account[0].must && account[0].changes == 0);
}

/// A lossless sink at a node, of a source at another node, or at the same.
fn is_refused(node: &Node, other: Option<&Node>) {
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source::<Tick>().unwrap();
    let opened = other.map_or(channel.clone(), |other| other.open(channel.id().to_string()).unwrap());
    let mut sink = opened.sink_builder().lossless().build::<Tick>().unwrap();
    let refused =
        until(&mut sink, |event| if let Event::Refused(_, error) = event { Some(error.code()) } else { None });
    assert_eq!((refused, sink.granted().len(), source.sinks()), (Code::NotGranted, 0, 0));
    let declined = channel.info(SOON).unwrap().declined;
    assert_eq!(declined.iter().map(|(_, error)| error.code()).collect::<Vec<_>>(), [Code::NotGranted]);
    // It may ask for less.
    sink.set_policy(Policy::Latest);
    source.wait_for_sinks(1, SOON).unwrap();
    submit(&mut source, 1);
    until(&mut sink, |event| matches!(event, Event::Record { .. }).then_some(()));
}

#[test]
fn a_sink_that_must_have_what_is_not_granted_is_told() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    is_refused(&node, Some(&other));
    is_refused(&Node::new().unwrap(), None);
}

#[test]
fn who_comes_late_is_sent_what_was_kept() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source_builder().keep(3).build::<Tick>().unwrap();
    submit(&mut source, 10);
    let opened = other.open(channel.id().to_string()).unwrap();
    let mut late = opened.sink::<Tick>().unwrap();
    let mut uninterested = opened.sink_builder().without_kept().build::<Tick>().unwrap();
    source.wait_for_sinks(2, SOON).unwrap();
    source.submit(&Tick { count: 10 }).unwrap();
    let next = |sink: &mut Sink<Tick>| {
        until(sink, |event| {
            if let Event::Record { record, stamp } = event { Some((record.count, stamp.sequence)) } else { None }
        })
    };
    assert_eq!([(); 4].map(|()| next(&mut late)), [(7, 7), (8, 8), (9, 9), (10, 10)]);
    assert_eq!(next(&mut uninterested), (10, 10));
}
