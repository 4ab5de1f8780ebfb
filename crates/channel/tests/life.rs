//! The life of a channel: members come and go, the one who made it included; programs are replaced by newer ones; and
//! threads share nodes.
#![cfg(unix)]

use isoform::Record;
use isoform_channel::{Event, Node, Sink};
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
fn record<T: Record<Kind = T> + 'static, R>(sink: &mut Sink<T>, mut see: impl FnMut(&T::Native<'_>) -> R) -> R {
    loop {
        match sink.recv().unwrap() {
            Event::Record { record, .. } => return see(record),
            Event::Joined(..) | Event::Left(_) => {}
            other => panic!("{:?}", other.map(drop)),
        }
    }
}

fn members(channel: &isoform_channel::Channel, count: usize) {
    channel.wait_until(SOON, |info| info.members.len() == count).unwrap();
}

#[test]
fn the_creator_may_leave() {
    let [maker, one, two, late] = [(); 4].map(|()| Node::new().unwrap());
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

#[test]
fn programs_are_replaced_by_newer_ones() {
    let [old, new, reader] = [(); 3].map(|()| Node::new().unwrap());
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

#[test]
fn threads_share_nodes() {
    const SOURCES: u32 = 3;
    const EVENTS: u32 = 3000;
    let (here, there) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = here.create::<Reading>("readings").unwrap();
    let id = channel.id().to_string();
    let sinks: Vec<Sink<Reading>> = (0..3)
        .map(|i| if i == 0 { channel.clone() } else { there.open(&id).unwrap() })
        .map(|channel| channel.sink().unwrap())
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
                let mut source = channel.source::<Reading>().unwrap();
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

#[test]
fn what_was_submitted_is_sent_before_a_program_ends() {
    let reader = Node::new().unwrap();
    let channel = reader.create::<Reading>("readings").unwrap();
    let mut sink = channel.sink::<Reading>().unwrap();
    let id = channel.id().to_string();
    let writer = thread::spawn(move || {
        let node = Node::new().unwrap();
        let mut source = node.open(&id).unwrap().source::<Reading>().unwrap();
        source.wait_for_sinks(1, SOON).unwrap();
        (0..500).for_each(|number| _ = source.submit(&Reading { station: 1, number }).unwrap());
    });
    for number in 0..500 {
        assert_eq!(record(&mut sink, |reading| reading.number), number);
    }
    writer.join().unwrap();
}

#[test]
fn closed_is_closed() {
    let node = Node::new().unwrap();
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
