//! A source that waits for sinks with *block* tries again once all of them have room.

use super::host::{Guest, Host, output};
use isoform_channel_proto::{
    Action, Batch, Grants, Policy, Settings, SinkKey, SourceKey, Submitted, Time, Wanted, Window,
};
use isoform_core::{FieldList, Machine};
use std::sync::Arc;

const MANY: usize = 60;

/// A source, and sinks of a guest for which it waits without limit, each with room for one event.
struct World {
    host: Host,
    source: SourceKey,
    guest: Guest,
    sinks: Vec<SinkKey>,
}

impl World {
    fn new() -> World {
        let mut host = Host::new(Settings::default());
        let format = FieldList::new("Tick").field("number", "integer", 8, 0).format(Machine::NATIVE, 8, 8).unwrap();
        let grants = Grants { most_sinks: MANY, lossless: true, ..Grants::default() };
        let source = host.node.add_source_with(host.channel, Some(&format), grants, None, None).unwrap();
        let mut guest = host.guest(Settings::default());
        let window = Window { events: 1, bytes: 1 << 20 };
        let wanted = || Wanted { window, must: true, ..Wanted::any(Policy::Block) };
        let sinks = (0..MANY).map(|_| guest.node.add_sink(guest.channel, wanted()).unwrap()).collect();
        host.talk(&mut guest).unwrap();
        assert_eq!(host.node.listeners(source), MANY);
        World { host, source, guest, sinks }
    }

    fn submit(&mut self) -> Submitted {
        let mut body: Arc<[u8]> = Arc::new([0; 8]);
        let submitted = self.host.node.submit(7, self.source, None, &mut body).unwrap();
        if submitted == Submitted::Full {
            self.host.node.wait(self.host.now, self.source);
        }
        submitted
    }

    /// A sink takes what it has, and its node says so.
    fn take(&mut self, sink: usize) {
        let World { host, guest, sinks, .. } = self;
        let mut batch = Batch::default();
        while guest.node.take(host.now, sinks[sink], &mut batch) {}
        host.now += Time::from_millis(20);
        guest.node.tick(host.now);
        host.talk(guest).unwrap();
    }

    /// How often the source was told that there is room. It tries again each time.
    fn tries(&mut self) -> (usize, Option<Submitted>) {
        let (mut count, mut last) = (0, None);
        while let Some(action) = self.host.node.action() {
            if action == Action::Room(self.source) {
                self.host.node.waited(self.host.now, self.source, false);
                (count, last) = (count + 1, Some(self.submit()));
            }
        }
        (count, last)
    }
}

#[test]
fn a_source_tries_again_once_all_sinks_have_room() {
    for order in [|at: usize| at, |at| MANY - 1 - at, |at| at * 7 % MANY] {
        let mut world = World::new();
        assert_eq!(world.submit(), Submitted::Done(0));
        world.host.talk(&mut world.guest).unwrap();
        assert_eq!(world.submit(), Submitted::Full);
        for at in 0..MANY - 1 {
            world.take(order(at));
            assert_eq!(world.tries(), (0, None), "after {at} sinks");
        }
        world.take(order(MANY - 1));
        assert_eq!(world.tries(), (1, Some(Submitted::Done(1))));
    }
}

#[test]
fn a_source_tries_again_when_those_without_room_are_gone() {
    let mut world = World::new();
    world.submit();
    world.host.talk(&mut world.guest).unwrap();
    assert_eq!(world.submit(), Submitted::Full);
    (0..MANY / 2).for_each(|sink| world.take(sink));
    assert_eq!(world.tries(), (0, None));
    // Its bye ends the link.
    world.guest.node.leave();
    let said = output(&mut world.guest.node, world.host.now, world.guest.id);
    world.host.node.receive(world.host.now, world.guest.id, &said).unwrap();
    let (count, last) = world.tries();
    assert!(count >= 1 && last == Some(Submitted::Done(1)), "{count}: {last:?}");
}
