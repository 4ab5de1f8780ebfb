//! Seats for pages and viewers, and the pace at which whoever has one subscribes. A seat keeps its pace when another page takes it, so
//! that who connects anew subscribes no faster (`spec/watch.md`, "Texts of the page").

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A new subscription counts as two units, and as one more for each of so many bytes of its query: as at its source.
const QUERY: usize = 16;
/// The units of a seat that come back in a second, and those that there are at once: so 32 pages and 32 viewers keep within what a
/// source lets one credential ask.
const UNITS_A_SECOND: u32 = 64;
const UNITS_AT_ONCE: u32 = 512;

/// The seats that nobody has: for each, when all its units are back.
#[derive(Clone, Debug)]
pub(crate) struct Seats(Arc<Mutex<Vec<Instant>>>);

/// A seat. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    rested: Instant,
    seats: Seats,
}

impl Seats {
    pub(crate) fn new(count: usize) -> Seats {
        Seats(Arc::new(Mutex::new(vec![Instant::now(); count])))
    }

    /// The seat that has the most units, if one is free.
    pub(crate) fn take(&self) -> Option<Seat> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (best, _) = free.iter().enumerate().min_by_key(|(_, rested)| **rested)?;
        Some(Seat { rested: free.swap_remove(best), seats: self.clone() })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.rested);
    }
}

impl Seat {
    /// Takes the units of a new subscription, if there are so many.
    pub(crate) fn may_subscribe(&mut self, query: Option<&str>) -> bool {
        let units = 2 + query.map_or(0, str::len) / QUERY;
        self.spend(Instant::now(), u32::try_from(units).unwrap_or(u32::MAX))
    }

    fn spend(&mut self, now: Instant, units: u32) -> bool {
        let each = Duration::from_secs(1) / UNITS_A_SECOND;
        let rested = self.rested.max(now) + each * units;
        let has_room = rested <= now + each * UNITS_AT_ONCE;
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
        let seats = Seats::new(2);
        let now = Instant::now();
        let mut seat = seats.take().unwrap();
        assert!(seat.spend(now, UNITS_AT_ONCE) && !seat.spend(now, 1), "all at once");
        drop(seat);
        let (mut fresh, mut spent) = (seats.take().unwrap(), seats.take().unwrap());
        assert!(seats.take().is_none(), "there are two seats");
        assert!(fresh.spend(now, UNITS_AT_ONCE), "the better one is given first");
        assert!(!spent.spend(now, 1));
        let later = now + Duration::from_secs(1);
        assert!(spent.spend(later, UNITS_A_SECOND) && !spent.spend(later, 1));
    }
}
