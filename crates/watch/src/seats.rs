//! Seats for pages and viewers, and the pace at which whoever has one subscribes. A seat keeps its pace when another page takes it, so
//! that who connects anew subscribes no faster (`spec/watch.md`, "Texts of the page").

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A subscription and its end count as so many units, and as one more for each of so many bytes of its query: as at its source.
const FRAMES: usize = 3;
const QUERY: usize = 16;
/// What other values of parameters count as.
const PARAMETERS: u32 = 8;
/// The units that there are at once come back in so many seconds.
const SECONDS: u32 = 32;

/// Seats of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Seats {
    /// Those that nobody has: for each, when all its units are back.
    free: Arc<Mutex<Vec<Instant>>>,
    /// The units that each has at once.
    units: u32,
}

/// A seat. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    rested: Instant,
    seats: Seats,
}

impl Seats {
    /// So many seats, each with so many units.
    pub(crate) fn new(count: usize, units: u32) -> Seats {
        Seats { free: Arc::new(Mutex::new(vec![Instant::now(); count])), units }
    }

    /// The seat that has the most units, if one is free.
    pub(crate) fn take(&self) -> Option<Seat> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let (best, _) = free.iter().enumerate().min_by_key(|(_, rested)| **rested)?;
        Some(Seat { rested: free.swap_remove(best), seats: self.clone() })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.rested);
    }
}

impl Seat {
    /// Takes the units of a new subscription, if there are so many.
    pub(crate) fn may_subscribe(&mut self, query: Option<&str>) -> bool {
        let units = FRAMES + query.map_or(0, str::len) / QUERY;
        self.spend(Instant::now(), u32::try_from(units).unwrap_or(u32::MAX))
    }

    /// Takes the units of a new subscription without a query. If there are too few, it waits until they are back, which is soon.
    pub(crate) async fn subscribe(&mut self) {
        while !self.may_subscribe(None) {
            tokio::time::sleep(Duration::from_secs(SECONDS.into()) / self.seats.units).await;
        }
    }

    /// Takes the units of other values of parameters.
    pub(crate) fn may_set_parameters(&mut self) -> bool {
        self.spend(Instant::now(), PARAMETERS)
    }

    fn spend(&mut self, now: Instant, units: u32) -> bool {
        let all = Duration::from_secs(SECONDS.into());
        let rested = self.rested.max(now) + all / self.seats.units * units;
        let has_room = rested <= now + all;
        if has_room {
            self.rested = rested;
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_again_has_no_more_units() {
        let seats = Seats::new(2, 80);
        let now = Instant::now();
        let mut seat = seats.take().unwrap();
        assert!(seat.spend(now, 80) && !seat.spend(now, 1), "all at once");
        drop(seat);
        let (mut fresh, mut spent) = (seats.take().unwrap(), seats.take().unwrap());
        assert!(seats.take().is_none(), "there are two seats");
        assert!(fresh.spend(now, 80), "the better one is given first");
        assert!(!spent.spend(now, 1));
        let later = now + Duration::from_secs(4);
        assert!(spent.spend(later, 10) && !spent.spend(later, 1));
    }
}
