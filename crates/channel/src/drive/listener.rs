//! A listener, and the pace at which the node's own thread accepts its connections (`spec/channel.md`, "Accepting connections").

use super::hub::{Hub, LOOK};
use super::reserve::{Reserve, is_own};
use super::wait::DOORS;
use crate::transport::poll::Interest;
use crate::transport::{Awaited, Connection, Door, Ready};
use isoform::Result;
use isoform_channel_proto::{Hello, KeyName, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The most connections that are accepted from a listener before the thread does its other work.
pub(super) const MOST_ACCEPTED: usize = 64;
/// The rest of a listener that has accepted more of an address than it may. In this time their first bytes come.
const PAUSE: Time = Time::from_nanos(1_000_000_000 / 16);
/// The rest of a listener after a failure.
const REST: Time = Time::from_millis(100);
/// Up to so many claims, none is forgotten.
const MANY: usize = 1_024;

pub(super) struct Listener {
    door: Box<dyn Door>,
    pace: Pace,
    /// Accepted connections for which their addresses have no room: they may have a key.
    crowded: Vec<Box<dyn Connection>>,
    /// When it is looked at next: it may have more, or rests. Without, the poller watches it.
    next: Option<Time>,
}

/// Whom a connection counts under until it is a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    User(u32),
    Address(Option<IpAddr>),
    /// A shared key of which the first bytes have the tag.
    Key(KeyName),
}

impl Claim {
    /// The connections that count, in each second and at once. Programs with one key may start all at once.
    fn most(self) -> (u32, u32) {
        match self {
            Claim::Key(_) => (256, 2_048),
            Claim::User(_) | Claim::Address(_) => (256, 512),
        }
    }
}

/// The connections of a listener that count.
struct Pace {
    lines: BTreeMap<Claim, Line>,
    /// With so many claims, those are forgotten of which no connection counts.
    many: usize,
}

/// Those of one claim.
#[derive(Default)]
struct Line {
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
    /// Counts one more connection, if there is room for one.
    fn take(&mut self, now: Time, claim: Claim) -> Option<Counted> {
        if self.lines.len() >= self.many {
            self.lines.retain(|_, line| line.rested > now);
            self.many = MANY.max(2 * self.lines.len());
        }
        let (second, at_once) = claim.most();
        let (each, line) = (Time::from_secs(1) / second, self.lines.entry(claim).or_default());
        line.rested = line.rested.saturating_sub(each * line.linked.swap(0, Ordering::Relaxed)).max(now);
        let has_room = line.rested + each <= now + each * at_once;
        line.rested += if has_room { each } else { Time::ZERO };
        has_room.then(|| Counted(line.linked.clone()))
    }
}

impl Listener {
    /// A listener that the poller watches from now on.
    pub(super) fn new(hub: &Hub, mut door: Box<dyn Door>) -> Result<Listener> {
        await_door(hub, &mut *door, true)?;
        let pace = Pace { lines: BTreeMap::new(), many: MANY };
        Ok(Listener { door, pace, crowded: Vec::new(), next: None })
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
        let Listener { door, pace, crowded, .. } = self;
        for connection in crowded.drain(..) {
            match claimed(hub, &*connection).and_then(|key| pace.take(now, Claim::Key(key))) {
                Some(counted) => hub.accepted(connection, Some(counted)),
                None => reserve.refuse(hub, connection),
            }
        }
        let mut has_more = true;
        for _ in 0..MOST_ACCEPTED {
            let Some(connection) = reserve.accept(hub, &mut **door)? else {
                has_more = false;
                break;
            };
            if is_own(&*connection) {
                hub.accepted(connection, None);
                continue;
            }
            let from = connection.credentials();
            let claim = from.local_user.map_or_else(|| Claim::Address(from.network()), Claim::User);
            match pace.take(now, claim) {
                Some(counted) => hub.accepted(connection, Some(counted)),
                None => crowded.push(connection),
            }
        }
        match (crowded.is_empty(), has_more) {
            (false, _) => Ok(Some(now + PAUSE)),
            (true, true) => Ok(Some(now)),
            (true, false) => await_door(hub, &mut **door, false).map(|()| None),
        }
    }
}

/// The shared key that the first bytes of a connection claim.
fn claimed(hub: &Hub, connection: &dyn Connection) -> Option<KeyName> {
    let mut first = [0; Hello::LENGTH];
    let came = connection.peek(&mut first);
    hub.lock().machine.claimed(&first[..came])
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
    use isoform_channel_proto::{Access, Key, NodeId, Settings, SharedKey};
    use std::io::{IoSlice, IoSliceMut};

    /// Always has one more connection like this one.
    #[derive(Debug)]
    struct Flood(Silent);

    /// Says only these bytes.
    #[derive(Clone, Debug, Default)]
    struct Silent {
        local_user: Option<u32>,
        address: Option<IpAddr>,
        first: Vec<u8>,
    }

    impl Door for Flood {
        fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
            Ok(Some(Box::new(self.0.clone())))
        }

        fn awaits(&self) -> Awaited<'_> {
            Awaited::Soon
        }
    }

    impl Connection for Silent {
        fn read(&self, _: &mut [IoSliceMut<'_>], _: bool) -> Result<Moved> {
            Ok(Moved::Blocked)
        }

        fn peek(&self, place: &mut [u8]) -> usize {
            place.iter_mut().zip(&self.first).map(|(place, byte)| *place = *byte).count()
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
            Credentials { local_user: self.local_user, address: self.address, ..Credentials::default() }
        }
    }

    struct World {
        hub: Hub,
        reserve: Reserve,
        now: Time,
    }

    impl World {
        fn new() -> World {
            let access = Access { keys: vec![SharedKey::new([1; 32])], ..Access::default() };
            let machine = Machine::new(Key::from_seed([1; 32]), Settings { access, ..Settings::default() });
            let hub = Hub::new(machine, usual(), false).unwrap();
            World { hub, reserve: Reserve::new(), now: Time::from_secs(9) }
        }

        fn listener(&self, flood: Silent) -> Listener {
            Listener::new(&self.hub, Box::new(Flood(flood))).unwrap()
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

    /// Those of one address, at once and in a second.
    const AT_ONCE: u64 = 512;
    const SECOND: u64 = 256;

    #[test]
    fn a_flood_is_accepted_at_a_pace() {
        let mut world = World::new();
        let mut flooded = world.listener(Silent::default());
        assert_eq!(world.accepted(&mut flooded, Time::ZERO), AT_ONCE);
        assert_eq!(flooded.within(world.now), PAUSE, "it rests, although somebody knocks");
        assert_eq!(world.accepted(&mut flooded, Time::from_secs(1)), SECOND);
        // Another address has its own, and another listener has.
        let other = Silent { address: Some(IpAddr::from([10, 0, 0, 1])), ..Silent::default() };
        flooded.door = Box::new(Flood(other));
        assert!((AT_ONCE..AT_ONCE + 20).contains(&world.accepted(&mut flooded, PAUSE)));
        let mut quiet = world.listener(Silent::default());
        assert_eq!(world.accepted(&mut quiet, Time::ZERO), AT_ONCE);
    }

    #[test]
    fn who_floods_an_address_takes_nothing_from_those_with_a_key() {
        let mut world = World::new();
        let key = SharedKey::new([1; 32]);
        let (keys, tags) = ([key.name(); 4], Default::default());
        let hello = Hello { public: [7; 32], nonce: [8; 32], wanted: NodeId::ANY, keys, tags };
        let says = |hello: &Hello| Box::new(Flood(Silent { first: hello.to_bytes(), ..Silent::default() }));
        let mut listener = world.listener(Silent::default());
        world.accepted(&mut listener, Time::ZERO);
        listener.door = says(&hello);
        assert_eq!(world.accepted(&mut listener, PAUSE), SECOND / 16, "anybody can name it");
        listener.door = says(&hello.tagged(&[key]));
        let most = MOST_ACCEPTED as u64;
        let all = world.accepted(&mut listener, PAUSE * 10);
        assert!((9 * most..11 * most).contains(&all), "{all} in ten turns");
    }

    #[test]
    fn connections_that_become_links_and_those_of_the_own_user_do_not_count() {
        let mut world = World::new();
        let mut listener = world.listener(Silent::default());
        world.accepted(&mut listener, Time::ZERO);
        let linked = listener.pace.lines[&Claim::Address(None)].linked.clone();
        (0..100).for_each(|_| Counted(linked.clone()).end());
        assert_eq!(world.accepted(&mut listener, PAUSE), 100 + SECOND / 16);
        let user = Some(system::users()[0]);
        let mut own = world.listener(Silent { local_user: user, ..Silent::default() });
        assert_eq!(world.accepted(&mut own, Time::ZERO), 100 * MOST_ACCEPTED as u64);
    }
}
