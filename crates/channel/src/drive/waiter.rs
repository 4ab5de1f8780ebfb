//! A thread that waits for something that other threads bring about, and how they tell it to look again.
//!
//! ```text
//!                 look                 park                timeout
//!   Away ----------------> Looking -------------> Parked ---------+
//!    ^                      |    |                  |             |
//!    | leave                |    | poll             | ring        v
//!    |                 ring |    +-------------> Polling        (Looking)
//!    |                      v                       | ring
//!    +------------------- Rung <--------------------+
//! ```
//!
//! - **Away**: the thread does not wait: it has other things to do, or looks at everything anyway before it waits.
//! - **Looking**: it looks whether what it waits for has come, and waits if not.
//! - **Parked**: it sleeps until it is rung.
//! - **Polling**: it waits at the node's poller: whoever rings it wakes the poller.
//! - **Rung**: it shall look again before it waits.
//!
//! **No call is lost.** A thread is *Looking* before it looks. So either it sees what another thread has changed, or that thread,
//! which rings after the change, finds it *Looking* or later, and it does not go to sleep.
//!
//! **Ordering.** The state is one word. What threads wait for lies under the node's lock, but for what the node's own thread looks
//! at. So `look` acquires what `ring` has released: every `ring` writes the state, if only the one that it finds, since a call
//! that only read *Away* would come before `look` without releasing anything to it.

use super::sync::{AtomicU32, Condvar, Mutex, Ordering, PoisonError};
use std::time::Duration;

/// One thread that waits, or none.
#[derive(Debug)]
pub(crate) struct Waiter {
    state: AtomicU32,
    /// For sleeping: changes from *Parked* are told with it held.
    sleep: Mutex<()>,
    told: Condvar,
}

const AWAY: u32 = 0;
const LOOKING: u32 = 1;
const RUNG: u32 = 2;
const PARKED: u32 = 3;
const POLLING: u32 = 4;

/// What whoever rings has still to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Rung {
    Done,
    /// The thread waits at the poller, which is to be woken.
    WakePoller,
}

impl Waiter {
    pub(crate) fn new() -> Waiter {
        Waiter { state: AtomicU32::new(AWAY), sleep: Mutex::new(()), told: Condvar::new() }
    }

    /// The thread is about to look whether what it waits for has come. Whether it was rung since it last did so.
    pub(crate) fn look(&self) -> bool {
        self.state.swap(LOOKING, Ordering::AcqRel) == RUNG
    }

    /// The thread does not wait, and need not be rung.
    pub(crate) fn leave(&self) {
        // What it does from here on is ordered by nothing that is told here.
        self.state.store(AWAY, Ordering::Relaxed);
    }

    /// Sleeps until it is rung, or the time is over.
    pub(crate) fn park(&self, timeout: Duration) {
        let mut asleep = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.change(LOOKING, PARKED) {
            return;
        }
        let until = std::time::Instant::now().checked_add(timeout);
        while self.state.load(Ordering::Acquire) == PARKED {
            let left = until.map_or(timeout, |until| until.saturating_duration_since(std::time::Instant::now()));
            if left.is_zero() && self.change(PARKED, LOOKING) {
                break;
            }
            asleep = self.told.wait_timeout(asleep, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether the thread may wait at the poller. Once it has done so, it [leaves](Waiter::leave), or looks again.
    pub(crate) fn poll(&self) -> bool {
        self.change(LOOKING, POLLING)
    }

    /// Has the thread look again. What there is to see must be there before.
    pub(crate) fn ring(&self) -> Rung {
        let rung = |state| Some(if state == AWAY { AWAY } else { RUNG });
        match self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, rung) {
            Ok(PARKED) => {
                // With the lock: the thread is not between looking at the state and falling asleep.
                drop(self.sleep.lock().unwrap_or_else(PoisonError::into_inner));
                self.told.notify_one();
                Rung::Done
            }
            Ok(POLLING) => Rung::WakePoller,
            _ => Rung::Done,
        }
    }

    /// Whether a thread waits, or is about to.
    pub(crate) fn is_awaited(&self) -> bool {
        self.state.load(Ordering::Acquire) != AWAY
    }

    fn change(&self, from: u32, to: u32) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
