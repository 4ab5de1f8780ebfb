//! What a source waits for: which connections, and not for how long.

use crate::drive::hub::Hub;
use crate::drive::lookout::Lead;
use crate::{Event, Node, Policy, Sink, Window};
use isoform::{Code, Messages, Record};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

#[derive(Record)]
#[repr(C)]
struct Large {
    levels: [f64; 4096],
}

#[test]
fn a_source_that_waits_for_one_sink_does_not_wait_for_the_socket_of_another() {
    let directory = tempfile::tempdir().unwrap();
    let address = format!("unix:{}", directory.path().join("node").display());
    let (node, stopped, slow) =
        (Node::builder().listen(address).build().unwrap(), Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Large>("levels").unwrap();
    let id = channel.id().to_string();
    let mut source = channel.source_builder().lossless().build::<Messages>().unwrap();
    let hub = &node.life.hub;
    let (at_stopped, at_slow) = (stopped.open(&id).unwrap(), slow.open(&id).unwrap());

    let all = Window { events: u64::MAX, bytes: u64::MAX };
    let drops = at_stopped.sink_builder().policy(Policy::DropOldest { events: 1, bytes: u64::MAX }).window(all);
    let _dropping = drops.build::<Large>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    // As if its process had stopped.
    stop_reading(&stopped.life.hub);
    let body = [0; size_of::<Large>()];
    let blocked = || hub.lock().by_id.values().find(|wire| wire.flow.is_blocked()).cloned();
    let far = (0..10_000).find_map(|_| {
        source.submit_body(Large::format(), &body).unwrap();
        blocked()
    });
    let far = far.expect("nobody reads it");

    let blocks = at_slow.sink_builder().lossless().window(Window { events: 1, bytes: u64::MAX });
    let _blocking = blocks.build::<Large>().unwrap();
    source.wait_for_sinks(2, SOON).unwrap();
    source.set_patience(Some(Duration::ZERO));
    let full = (0..10).find_map(|_| source.submit_body(Large::format(), &body).err());
    assert_eq!(full.expect("a sink that takes nothing").code(), Code::Deadline);
    let awaited = hub.lock().machine.waits_over(source.end.key);
    assert!(matches!(awaited[..], [near] if near != far.id), "{awaited:?} and {:?}", far.id);
    // What has gathered is written only where there is room, so a full connection may still be listed there.
    let (pressing, _) = hub.unwritten_for(source.end.key);
    assert!(pressing.iter().all(|wire| wire.id != far.id) && far.flow.is_blocked());
}

#[derive(Record)]
#[repr(C)]
struct Longer {
    levels: [f64; 40_000],
}

/// The next record must have this level everywhere.
fn expect_level(sink: &mut Sink<Longer>, level: f64) {
    loop {
        if let Event::Record { record, .. } = sink.recv().unwrap() {
            return assert!(record.levels.iter().all(|&other| other == level), "{level}, {}", record.levels[0]);
        }
    }
}

#[test]
fn a_long_record_may_change_once_it_was_submitted() {
    let (near, far) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = near.create::<Longer>("levels").unwrap();
    let mut source = channel.source::<Longer>().unwrap();
    let all = Window { events: u64::MAX, bytes: u64::MAX };
    let distant = far.open(channel.id().to_string()).unwrap();
    let mut distant = distant.sink_builder().window(all).build::<Longer>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    stop_reading(&far.life.hub);
    let mut record = Box::new(Longer { levels: [0.0; 40_000] });
    // What the connection takes is written from the record, and the rest is kept.
    let is_blocked = || near.life.hub.lock().by_id.values().any(|wire| wire.flow.is_blocked());
    let mut count = 0;
    while !is_blocked() {
        record.levels.fill(f64::from(count));
        source.submit(&*record).unwrap();
        count += 1;
    }
    record.levels.fill(f64::NAN);
    far.life.hub.tell(far.life.hub.lookout.leave());
    (0..count).for_each(|level| expect_level(&mut distant, f64::from(level)));

    // A sink of the same process has it for longer than the call.
    let mut here = channel.sink::<Longer>().unwrap();
    source.wait_for_sinks(2, SOON).unwrap();
    for level in [7.0, 8.0] {
        record.levels.fill(level);
        source.submit(&*record).unwrap();
    }
    record.levels.fill(f64::NAN);
    for sink in [&mut here, &mut distant] {
        [7.0, 8.0].into_iter().for_each(|level| expect_level(sink, level));
    }
}

#[test]
fn long_records_reach_many_sinks_although_the_thread_that_submits_writes_to_the_first_ones_only() {
    const SINKS: usize = 20;
    let near = Node::new().unwrap();
    let channel = near.create::<Longer>("levels").unwrap();
    let mut source = channel.source_builder().lossless().build::<Longer>().unwrap();
    let far: Vec<_> = (0..SINKS).map(|_| Node::new().unwrap()).collect();
    let all = Window { events: u64::MAX, bytes: u64::MAX };
    let at = |node: &Node| {
        let opened = node.open(channel.id().to_string()).unwrap();
        opened.sink_builder().lossless().window(all).build::<Longer>().unwrap()
    };
    let mut sinks: Vec<_> = far.iter().map(at).collect();
    source.wait_for_sinks(SINKS, SOON).unwrap();
    let mut record = Box::new(Longer { levels: [0.0; 40_000] });
    for level in 0..10 {
        record.levels.fill(f64::from(level));
        source.submit(&*record).unwrap();
    }
    record.levels.fill(f64::NAN);
    for sink in &mut sinks {
        (0..10).for_each(|level| expect_level(sink, f64::from(level)));
    }
}

#[derive(Record, Clone)]
#[repr(C)]
struct Count {
    count: u64,
}

#[test]
fn records_that_are_submitted_at_once_come_in_order_and_wait_for_room() {
    let (near, far) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = near.create::<Count>("counts").unwrap();
    let mut source = channel.source::<Count>().unwrap();
    let all: Vec<_> = (0..1000).map(|count| Count { count }).collect();
    assert_eq!(source.submit_many(&all).unwrap(), Some(999), "there are no sinks");
    assert_eq!(source.submit_many::<Count>(&[]).unwrap(), None, "there are no records");
    for window in [2, u64::MAX] {
        let opened = far.open(channel.id().to_string()).unwrap();
        let narrow = Window { events: window, bytes: u64::MAX };
        let mut sink = opened.sink_builder().window(narrow).build::<Count>().unwrap();
        source.wait_for_sinks(1, SOON).unwrap();
        std::thread::scope(|scope| {
            let sent = scope.spawn(|| source.submit_many(&all).unwrap());
            let (mut counts, mut times) = (Vec::new(), Vec::new());
            while counts.len() < all.len() {
                if let Event::Record { stamp, record } = sink.recv().unwrap() {
                    counts.push(record.count);
                    times.push(stamp.nanoseconds);
                }
            }
            assert!(counts.into_iter().eq(0..1000) && times.is_sorted());
            assert!(window == 2 || times.first() == times.last(), "they have one time");
            assert!(sent.join().unwrap().is_some());
        });
        drop((sink, opened));
        while source.sinks() > 0 {
            std::thread::yield_now();
        }
    }
}

/// Takes the place at the poller from the keeper, for ever.
fn stop_reading(hub: &Hub) {
    while hub.lookout.lead() != Lead::Mine {
        hub.ring_keeper();
        std::thread::yield_now();
    }
}
