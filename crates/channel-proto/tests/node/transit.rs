//! Long bodies that are under way to nodes that do not read them (`spec/channel.md`, "Limits").

use super::host::{Guest, Host};
use isoform_channel_proto::{
    Access, Admission, Batch, Budgets, Item, Outgoing, Policy, Resource, Settings, SharedKey, SinkKey, SourceKey,
    Submitted, Wanted, Window,
};
use isoform_core::{Format, Layout, Shape};
use std::sync::{Arc, Weak};

const GREEDY: u8 = 1;
const HONEST: u8 = 2;
/// An event that is sent in parts, and what a credential may have under way of such events.
const LENGTH: usize = 200_000;
const MOST: usize = 1 << 20;

struct World {
    host: Host,
    source: SourceKey,
    format: Format,
    bodies: Vec<Weak<[u8]>>,
}

fn with_keys(keys: &[u8], settings: Settings) -> Settings {
    let keys = keys.iter().map(|&key| SharedKey::new([key; 32])).collect();
    Settings { access: Access { keys, admission: Admission::Known { users: Vec::new() } }, ..settings }
}

impl World {
    fn new() -> World {
        let mut budgets = Budgets::default();
        budgets.credential = budgets.credential.with(Resource::Queues, MOST as u64);
        let mut host = Host::new(with_keys(&[GREEDY, HONEST], Settings { budgets, ..Settings::default() }));
        let shape = Shape::parse(&format!("record Field\n cells u8[{LENGTH}]")).unwrap();
        let format = shape.on(&Layout::NATIVE).unwrap();
        let source = host.node.add_source(host.channel, Some(&format)).unwrap();
        World { host, source, format, bodies: Vec::new() }
    }

    /// A node with a key comes, with so many sinks that want only the latest event, however much is under way.
    fn guest(&mut self, key: u8, sinks: usize) -> (Guest, Vec<SinkKey>) {
        let mut guest = self.host.guest(with_keys(&[key], Settings::default()));
        let window = Window { events: 1 << 20, bytes: 1 << 30 };
        let wanted = Wanted { window, ..Wanted::any(Policy::Latest) };
        let sinks = (0..sinks).map(|_| guest.node.add_sink(guest.channel, wanted.clone()).unwrap()).collect();
        self.host.talk(&mut guest).unwrap();
        (guest, sinks)
    }

    fn submit(&mut self) {
        let mut body: Arc<[u8]> = vec![1; LENGTH].into();
        self.bodies.push(Arc::downgrade(&body));
        let submitted = self.host.node.submit(7, self.source, Some(&self.format), &mut body).unwrap();
        assert!(matches!(submitted, Submitted::Done(_)), "{submitted:?}");
    }

    /// The bytes of all bodies that somebody holds.
    fn held(&self) -> usize {
        LENGTH * self.bodies.iter().filter(|body| body.strong_count() > 0).count()
    }
}

/// The numbers of the events that have come.
fn events(guest: &mut Guest, sink: SinkKey, world: &World) -> Vec<u64> {
    let (mut batch, mut events) = (Batch::default(), Vec::new());
    while guest.node.take(world.host.now, sink, &mut batch) {
        events.extend(batch.items().filter_map(|item| match item {
            Item::Event { sequence, .. } => Some(sequence),
            _ => None,
        }));
    }
    events
}

#[test]
fn who_reads_nothing_holds_no_more_long_bodies_than_a_credential_may() {
    let came = beside_greedy(HONEST);
    assert!(came.into_iter().eq(0..32), "another credential has its own");
    let came = beside_greedy(GREEDY);
    assert!(came.len() > 8 && came.last() == Some(&31), "who reads has one at a time: {came:?}");
}

/// The events that a node with this key gets, of 32, beside others that read nothing. Then they read after all.
fn beside_greedy(key: u8) -> Vec<u64> {
    const SINKS: usize = 8;
    let mut world = World::new();
    let mut greedy: Vec<_> = (0..4).map(|_| world.guest(GREEDY, 1)).collect();
    let (mut honest, sink) = world.guest(key, 1);
    let (mut written, mut came) = (Vec::new(), Vec::new());
    // Each new subscription begins with another event.
    for _ in 0..SINKS {
        for (guest, sinks) in &mut greedy {
            let window = Window { events: 1 << 20, bytes: 1 << 30 };
            let wanted = Wanted { window, ..Wanted::any(Policy::Latest) };
            sinks.push(guest.node.add_sink(guest.channel, wanted).unwrap());
            let mut said = Outgoing::default();
            guest.node.output(world.host.now, guest.id, &mut said);
            world.host.node.receive(world.host.now, guest.id, &said.to_vec()).unwrap();
            world.submit();
            // The host may write, but nobody reads.
            let mut out = Outgoing::default();
            world.host.node.output(world.host.now, guest.id, &mut out);
            written.push((guest.id, out));
            let its = written.iter().filter(|(id, _)| *id == guest.id);
            world.host.node.unwritten(guest.id, its.map(|(_, out)| out.length()).sum());
            world.host.talk(&mut honest).unwrap();
            came.extend(events(&mut honest, sink[0], &world));
        }
    }
    assert_eq!(world.bodies.len(), 4 * SINKS);
    assert!(world.held() <= 2 * MOST + 2 * LENGTH, "{} bytes", world.held());

    // They read after all.
    for (guest, _) in &mut greedy {
        for (id, out) in written.iter_mut().filter(|(id, _)| *id == guest.id) {
            guest.node.receive(world.host.now, *id, &out.to_vec()).unwrap();
            *out = Outgoing::default();
        }
        world.host.node.unwritten(guest.id, 0);
    }
    for _ in 0..20 {
        for (guest, _) in &mut greedy {
            world.host.talk(guest).unwrap();
        }
    }
    world.host.talk(&mut honest).unwrap();
    came.extend(events(&mut honest, sink[0], &world));
    let by_reader = std::mem::take(&mut came);
    for (guest, sinks) in &mut greedy {
        for sink in sinks {
            came.extend(events(guest, *sink, &world).last());
        }
    }
    assert!(came.len() == 4 * (SINKS + 1) && came.iter().all(|&event| event == 4 * SINKS as u64 - 1), "{came:?}");
    assert_eq!(world.held(), 0);
    by_reader
}
