//! A thread that waits for something that other threads do, and how these threads tell it to look again.
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
//! - **Away**: the thread does not wait. It does something else, or will look at everything before it waits.
//! - **Looking**: it looks for the awaited thing, and waits if that is not there.
//! - **Parked**: it sleeps until it is rung.
//! - **Polling**: it waits at the node's poller. To ring it is to wake the poller.
//! - **Rung**: it must look again before it waits.
//!
//! **No call is lost.** A thread is *Looking* before it looks. So either it sees the change of another thread; or that thread, which
//! rings after its change, finds it *Looking* or in a later state, and prevents its sleep.
//!
//! **Ordering.** The state is one word. The awaited things are under the node's lock, except those of the keeper. So `look` acquires
//! what `ring` releases. Every `ring` writes the state, even if the state stays the same: a call that only read *Away* would
//! release nothing to the next `look`.

use super::sync::{AtomicU32, Condvar, Mutex, Ordering, PoisonError};
use std::time::Duration;

/// One waiting thread, or none.
#[derive(Debug)]
pub(crate) struct Waiter {
    state: AtomicU32,
    /// For sleeping. A change from *Parked* is signalled while this lock is held.
    sleep: Mutex<()>,
    told: Condvar,
}

const AWAY: u32 = 0;
const LOOKING: u32 = 1;
const RUNG: u32 = 2;
const PARKED: u32 = 3;
const POLLING: u32 = 4;

/// The work that remains for the thread that rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Rung {
    Done,
    /// The thread waits at the poller, which must be woken.
    WakePoller,
}

impl Waiter {
    pub(crate) fn new() -> Waiter {
        Waiter { state: AtomicU32::new(AWAY), sleep: Mutex::new(()), told: Condvar::new() }
    }

    /// The thread is about to look for the awaited thing. Returns whether it was rung since it last looked.
    pub(crate) fn look(&self) -> bool {
        self.state.swap(LOOKING, Ordering::AcqRel) == RUNG
    }

    /// The thread does not wait, and need not be rung.
    pub(crate) fn leave(&self) {
        // Nothing that it does from here on depends on what was signalled here.
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

    /// Returns whether the thread may wait at the poller. Afterwards it [leaves](Waiter::leave), or looks again.
    pub(crate) fn poll(&self) -> bool {
        self.change(LOOKING, POLLING)
    }

    /// Tells the thread to look again. The caller has made its change before.
    pub(crate) fn ring(&self) -> Rung {
        let rung = |state| Some(if state == AWAY { AWAY } else { RUNG });
        match self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, rung) {
            Ok(PARKED) => {
                // With the lock held, the thread is not between its look at the state and its sleep.
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
