//! A listener, and the pace at which the node's own thread accepts its connections (`spec/channel.md`, "Accepting connections").

use super::hub::{Hub, LOOK};
use super::reserve::{Reserve, is_own};
use super::wait::DOORS;
use crate::transport::poll::Interest;
use crate::transport::{Awaited, Door, Ready};
use isoform::Result;
use isoform_channel_proto::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The most connections that are accepted from a listener before the thread does its other work.
pub(super) const MOST_ACCEPTED: usize = 64;
/// The connections that count, at once and in each second.
const SECOND: u32 = 512;
const EACH: Time = Time::from_nanos(1_000_000_000 / SECOND as u64);
/// The rest of a listener that has accepted as many.
const PAUSE: Time = Time::from_nanos(1_000_000_000 / 16);
/// The rest of a listener after a failure.
const REST: Time = Time::from_millis(100);

pub(super) struct Listener {
    door: Box<dyn Door>,
    pace: Pace,
    /// When it is looked at next: it may have more, or rests. Without, the poller watches it.
    next: Option<Time>,
}

/// The connections of a listener that count.
#[derive(Default)]
struct Pace {
    /// When none counts any more.
    rested: Time,
    /// How many have become links since the last look.
    linked: Arc<AtomicU32>,
}

/// A connection that counts until it has become a link.
#[derive(Default)]
pub(crate) struct Counted(pub(super) Arc<AtomicU32>);

impl Counted {
    /// The connection has become a link.
    pub(crate) fn end(self) {
        // A count, which orders nothing.
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Pace {
    /// Whether one more connection may be accepted.
    fn has_room(&mut self, now: Time) -> bool {
        self.rested = self.rested.saturating_sub(EACH * self.linked.swap(0, Ordering::Relaxed));
        self.rested + EACH <= now + EACH * SECOND
    }

    fn take(&mut self, now: Time) -> Counted {
        self.rested = self.rested.max(now) + EACH;
        Counted(self.linked.clone())
    }
}

impl Listener {
    /// A listener that the poller watches from now on.
    pub(super) fn new(hub: &Hub, mut door: Box<dyn Door>) -> Result<Listener> {
        await_door(hub, &mut *door, true)?;
        Ok(Listener { door, pace: Pace::default(), next: None })
    }

    /// The time until the next look at it, although nobody knocks.
    pub(super) fn within(&self, now: Time) -> Duration {
        self.next.map_or(LOOK, |next| next.saturating_sub(now))
    }

    pub(super) fn is_due(&self, now: Time, knocked: bool) -> bool {
        self.next.map_or(knocked, |next| next <= now)
    }

    /// Accepts some connections.
    pub(super) fn accept(&mut self, hub: &Hub, reserve: &mut Reserve, now: Time) {
        self.next = self.accept_some(hub, reserve, now).unwrap_or(Some(now + REST));
    }

    /// Returns when to accept more; if there are no more, the poller watches the listener.
    fn accept_some(&mut self, hub: &Hub, reserve: &mut Reserve, now: Time) -> Result<Option<Time>> {
        for _ in 0..MOST_ACCEPTED {
            if !self.pace.has_room(now) {
                return Ok(Some(now + PAUSE));
            }
            let Some(connection) = reserve.accept(hub, &mut *self.door)? else {
                return await_door(hub, &mut *self.door, false).map(|()| None);
            };
            hub.learn(&*connection, false);
            let counted = (!is_own(&*connection)).then(|| self.pace.take(now));
            hub.connected(connection, None, counted);
        }
        Ok(Some(now))
    }
}

/// Makes the poller watch a door once. `anew`: the poller does not know the door.
pub(super) fn await_door(hub: &Hub, door: &mut dyn Door, anew: bool) -> Result<()> {
    let (handle, interest) = match door.awaits() {
        Awaited::Read(handle) => (handle, Interest::ReadOnce),
        Awaited::Write(handle) => (handle, Interest::WriteOnce),
        Awaited::Told if anew => {
            door.tell(Ready::new(hub.poller.clone(), DOORS));
            // It may have become ready before it could tell.
            hub.poller.tell(DOORS);
            return Ok(());
        }
        Awaited::Told | Awaited::Soon => return Ok(()),
    };
    match anew {
        true => hub.poller.add(DOORS, handle, interest),
        false => hub.poller.change(DOORS, handle, interest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::machine::Machine;
    use crate::transport::{Connection, Credentials, Moved, Watch, system, usual};
    use isoform_channel_proto::{Key, Settings};
    use std::io::{IoSlice, IoSliceMut};

    /// Always has one more connection: of the own user, or not.
    #[derive(Debug)]
    struct Flood {
        is_own: bool,
    }

    /// Nobody says anything.
    #[derive(Debug)]
    struct Silent(Option<u32>);

    impl Door for Flood {
        fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
            let user = self.is_own.then(|| system::users()[0]);
            Ok(Some(Box::new(Silent(user))))
        }

        fn awaits(&self) -> Awaited<'_> {
            Awaited::Soon
        }
    }

    impl Connection for Silent {
        fn read(&self, _: &mut [IoSliceMut<'_>], _: bool) -> Result<Moved> {
            Ok(Moved::Blocked)
        }

        fn write(&self, _: &[IoSlice<'_>], _: bool) -> Result<Moved> {
            Ok(Moved::Blocked)
        }

        fn end(&self) {}
        fn end_writing(&self) {}

        fn watch(&self) -> Watch<'_> {
            Watch::Told { read: false, write: false }
        }

        fn peer(&self) -> &str {
            "test"
        }

        fn credentials(&self) -> Credentials {
            Credentials { local_user: self.0, ..Credentials::default() }
        }
    }

    struct World {
        hub: Hub,
        reserve: Reserve,
        now: Time,
    }

    impl World {
        fn new() -> World {
            let machine = Machine::new(Key::from_seed([1; 32]), Settings::default());
            let hub = Hub::new(machine, usual(), false).unwrap();
            World { hub, reserve: Reserve::new(), now: Time::from_secs(9) }
        }

        fn listener(&self, is_own: bool) -> Listener {
            Listener::new(&self.hub, Box::new(Flood { is_own })).unwrap()
        }

        /// The connections that are accepted in many turns, all of them when the time comes until then.
        fn accepted(&mut self, listener: &mut Listener, within: Time) -> u64 {
            let (before, until) = (self.hub.lock().connections, self.now + within);
            for _ in 0..100 {
                if listener.is_due(self.now, true) {
                    listener.accept(&self.hub, &mut self.reserve, self.now);
                }
                self.now = until.min(self.now + listener.within(self.now));
            }
            self.now = until;
            self.hub.lock().connections - before
        }
    }

    #[test]
    fn a_flood_is_accepted_at_a_pace() {
        let (mut world, most) = (World::new(), u64::from(SECOND));
        let mut flooded = world.listener(false);
        assert_eq!(world.accepted(&mut flooded, Time::ZERO), most);
        assert_eq!(flooded.within(world.now), PAUSE, "it rests, although somebody knocks");
        assert_eq!(world.accepted(&mut flooded, Time::from_secs(1)), most);
        // Another listener has its own.
        assert_eq!(world.accepted(&mut world.listener(false), Time::ZERO), most);
    }

    #[test]
    fn connections_that_become_links_and_those_of_the_own_user_do_not_count() {
        let (mut world, most) = (World::new(), u64::from(SECOND));
        let mut listener = world.listener(false);
        world.accepted(&mut listener, Time::ZERO);
        (0..100).for_each(|_| Counted(listener.pace.linked.clone()).end());
        assert_eq!(world.accepted(&mut listener, PAUSE), 100 + most / 16);
        let mut own = world.listener(true);
        assert_eq!(world.accepted(&mut own, Time::ZERO), 100 * MOST_ACCEPTED as u64);
    }
}
