//! The connections that stand, and which of them give way to new ones.
//!
//! A connection on which nothing is asked costs its client nothing, nor does one on which the body of a request comes slowly, or never.
//! So they keep nobody out: if there are too many, the one that has been quiet for longest ends, or has sent its body for longest.
//! Clients that still want it open another one.

use super::access::network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The connections that stand.
#[derive(Debug)]
pub(super) struct Standing {
    most: usize,
    each: usize,
    seats: Mutex<Vec<Arc<Seat>>>,
    /// Counts the requests and the connections.
    clock: AtomicU64,
}

/// The place of a connection.
#[derive(Debug)]
struct Seat {
    address: IpAddr,
    is_busy: AtomicBool,
    /// When something was asked here for the last time.
    last: AtomicU64,
    leave: Notify,
}

/// A connection that stands until this is dropped.
#[derive(Debug)]
pub(super) struct Guest {
    standing: Arc<Standing>,
    seat: Arc<Seat>,
}

impl Standing {
    /// At most so many connections, and so many of each client.
    pub(super) fn new(most: usize, each: usize) -> Arc<Standing> {
        Arc::new(Standing { most, each, seats: Mutex::default(), clock: AtomicU64::new(0) })
    }

    /// A place for a connection of this address. If there are too many, the one that has been quiet for longest leaves: one of this
    /// client, if that has as many as it may have, and otherwise one of the client that has most. `None` if all of those are busy.
    pub(super) fn enter(self: &Arc<Standing>, address: IpAddr) -> Option<Guest> {
        let address = network(address);
        let mut seats = self.seats();
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        seats.iter().for_each(|seat| *counts.entry(seat.address).or_default() += 1);
        let is_own_fault = counts.get(&address).is_some_and(|count| *count >= self.each);
        if is_own_fault || seats.len() >= self.most {
            let count = |seat: &Seat| counts.get(&seat.address).copied().unwrap_or(0);
            let most = seats.iter().map(|seat| count(seat)).max().unwrap_or(0);
            let may_leave = |seat: &Seat| {
                let is_one = if is_own_fault { seat.address == address } else { count(seat) == most };
                is_one && !seat.is_busy.load(Ordering::Acquire)
            };
            let quiet = seats.iter().enumerate().filter(|(_, seat)| may_leave(seat));
            let (at, _) = quiet.min_by_key(|(_, seat)| seat.last.load(Ordering::Relaxed))?;
            seats.swap_remove(at).leave.notify_one();
        }
        let (is_busy, last) = (AtomicBool::new(false), AtomicU64::new(self.now()));
        let seat = Arc::new(Seat { address, is_busy, last, leave: Notify::new() });
        seats.push(seat.clone());
        Some(Guest { standing: self.clone(), seat })
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    fn seats(&self) -> MutexGuard<'_, Vec<Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guest {
    /// Waits until the connection shall end.
    pub(super) async fn left(&self) {
        self.seat.leave.notified().await;
    }

    /// What ends this connection.
    pub(super) fn ender(&self) -> Ender {
        Ender(self.seat.clone())
    }

    /// While one of this lives, something is asked, and the connection stays.
    pub(super) fn asks(&self) -> Asking {
        self.seat.last.store(self.standing.now(), Ordering::Relaxed);
        let asking = Asking(Arc::new(Request(self.seat.clone())));
        asking.goes_on();
        asking
    }
}

/// Ends a connection, whatever is under way on it.
#[derive(Debug)]
pub(super) struct Ender(Arc<Seat>);

impl Ender {
    pub(super) fn end(&self) {
        self.0.leave.notify_one();
    }
}

/// A request under way.
#[derive(Clone, Debug)]
pub(super) struct Asking(Arc<Request>);

#[derive(Debug)]
struct Request(Arc<Seat>);

impl Asking {
    /// The rest of the request has not come, so the connection need not stay.
    pub(super) fn waits(&self) {
        self.0.0.is_busy.store(false, Ordering::Release);
    }

    /// Whether the rest of the request has not come.
    pub(super) fn is_waiting(&self) -> bool {
        !self.0.0.is_busy.load(Ordering::Acquire)
    }

    /// All of the request has come.
    pub(super) fn goes_on(&self) {
        self.0.0.is_busy.store(true, Ordering::Release);
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.0.is_busy.store(false, Ordering::Release);
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.standing.seats().retain(|seat| !Arc::ptr_eq(seat, &self.seat));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Waker};

    fn has_left(guest: &Guest) -> bool {
        pin!(guest.left()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn the_quietest_connection_of_the_client_with_most_gives_way() {
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        let standing = Standing::new(5, 3);
        let enter = |last| standing.enter(address(last));
        let own = [(); 3].map(|()| enter(1).unwrap());
        drop(own[0].asks()); // so the second one is the quietest
        let fourth = enter(1).unwrap();
        assert_eq!(own.each_ref().map(has_left), [false, true, false], "three of each client");
        let (other, another) = (enter(2).unwrap(), enter(3).unwrap());
        let asking = own[2].asks();
        let last = enter(4).unwrap();
        assert_eq!([has_left(&own[0]), has_left(&own[2]), has_left(&fourth)], [true, false, false]);
        assert!(!has_left(&other) && !has_left(&another) && !has_left(&last), "clients with one connection keep it");
        // Whoever only asks keeps its place, and turns its own next one away.
        let (standing, guests) = (Standing::new(2, 1), Standing::new(2, 1).enter(address(1)).unwrap());
        drop((asking, guests));
        let only = standing.enter(address(1)).unwrap();
        let asking = only.asks();
        assert!(standing.enter(address(1)).is_none());
        // But not while its request does not come to an end.
        asking.waits();
        let next = standing.enter(address(1)).unwrap();
        assert!(has_left(&only) && standing.enter(address(2)).is_some());
        let (asking, body) = (next.asks(), next.asks());
        body.waits();
        body.goes_on();
        assert!(standing.enter(address(1)).is_none());
        drop((asking, body));
        assert!(standing.enter(address(1)).is_some());
        drop((only, next));
        assert!(standing.seats().is_empty());
    }
}
