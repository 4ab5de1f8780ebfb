//! The numbers of events that nobody hears: each thread takes its own by one addition.
//!
//! The word is the number of the next event, or, while somebody hears the source, [`HEARD`] and bits that mean nothing. Then
//! the source numbers its events under its own lock.
//!
//! ```text
//!                  hear: the low bits are the number of the next event
//!   number of the next event -----------------------------------------> HEARD
//!     take: adds 1           <-----------------------------------------   take: none
//!                  rest: puts the number of the next event there
//! ```
//!
//! **Each number is given once, and none is left out.** An addition that finds [`HEARD`] takes no number, and `rest`, which comes
//! later in the order of the word's changes, replaces what it has added. An addition that does not find it takes the number that
//! it finds, and `hear` finds that number counted if it comes later. `hear` and `rest` take turns, since their callers hold the
//! lock of the source. Every change reads what it replaces, so all have one order, and need no memory ordering.

use super::sync::{AtomicU64, Ordering};

/// Numbers events while nobody hears them. Its memory is that of an atomic `u64`: where such a word needs no lock, code in other languages may do
/// by an instruction of its own what [`take`](Numbers::take) does.
///
/// ```
/// use isoform::emit::Numbers;
/// let numbers = Numbers::new();
/// assert_eq!((numbers.take(1), numbers.take(3)), (Some(0), Some(1)));
/// assert_eq!(numbers.hear(), 4);
/// assert_eq!(numbers.take(1), None); // whoever hears them numbers them
/// numbers.rest(7);
/// assert_eq!(numbers.take(1), Some(7));
/// ```
#[derive(Debug)]
#[repr(transparent)]
pub struct Numbers(AtomicU64);

/// Somebody hears the events. Numbers are less: see `spec/channel.md`, "Subscriptions".
const HEARD: u64 = 1 << 63;

impl Numbers {
    /// The first number is 0, and nobody hears the events.
    pub fn new() -> Numbers {
        Numbers(AtomicU64::new(0))
    }

    /// Whether somebody hears the events. The answer may be some nanoseconds old.
    #[inline]
    pub fn is_heard(&self) -> bool {
        self.0.load(Ordering::Relaxed) & HEARD != 0
    }

    /// Numbers as many events, and returns the number of the first one; `None` if somebody hears them.
    #[inline]
    pub fn take(&self, count: u64) -> Option<u64> {
        // While somebody hears the source, its threads need not have the word to themselves.
        if self.is_heard() {
            return None;
        }
        let next = self.0.fetch_add(count, Ordering::Relaxed);
        (next & HEARD == 0).then_some(next)
    }

    /// Somebody hears the events from now on, and numbers them. Returns the number of the next one. The caller holds a lock under which
    /// [`rest`](Numbers::rest) is called, too.
    pub fn hear(&self) -> u64 {
        self.0.fetch_or(HEARD, Ordering::Relaxed) & !HEARD
    }

    /// Nobody hears the events any more, and the next one has this number.
    pub fn rest(&self, next: u64) {
        self.0.swap(next & !HEARD, Ordering::Relaxed);
    }

    /// The number of the next event, if nobody hears them.
    pub fn next(&self) -> u64 {
        self.0.load(Ordering::Relaxed) & !HEARD
    }
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers::new()
    }
}
