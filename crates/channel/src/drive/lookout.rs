//! Decides which thread waits at the node's poller and reads. One thread does so at a time: it *leads*.
//!
//! ```text
//!                     lead (a thread that waits)
//!   Nobody <------------------------------------------> a thread leads
//!      ^      leave: the first follower is told,             ^
//!      |             or else the keeper, if some             | follow: a thread that waits
//!      |             connections are full                    |   meanwhile, and is told
//!      |                                                     v   when nobody leads any more
//!      +----------> the keeper leads <-----------------> followers
//!        keep        (only if nobody follows)  the keeper is asked to leave
//! ```
//!
//! Threads that wait for events lead, so that an event needs no other thread. While one of them leads, the others follow: they
//! sleep until they are rung for an event of their own, or because no thread leads any more. The keeper, the node's own thread,
//! leads when no other thread has done so for a while, and stops when one wants to.
//!
//! A thread must also wait for full connections. The leading thread does. When no thread leads, the keeper is told. There is one
//! exception: if the threads that filled connections have always *come back* to wait for them, as a thread does that submits one
//! long event after another, the keeper is not woken each time. It checks now and then whether that is still so.
//!
//! **Ordering.** One word states which thread leads, whether threads follow, and how many connections are full. If one thread leaves
//! while another follows or blocks, the later one sees the change of the earlier one, and does what is needed. The data that a leading
//! thread reads and writes has locks of its own.

use super::sync::{Arc, AtomicU32, Mutex, MutexGuard, Ordering, PoisonError};
use super::waiter::Waiter;

/// The threads that lead and follow.
#[derive(Debug)]
pub(crate) struct Lookout {
    word: AtomicU32,
    /// The number of times that threads other than the keeper have led. It is a statistic without memory ordering.
    turns: AtomicU32,
    followers: Mutex<Vec<Arc<Waiter>>>,
}

/// A thread leads.
const LED: u32 = 1;
/// The keeper leads.
const KEPT: u32 = 2;
/// Threads follow.
const FOLLOWED: u32 = 4;
/// The threads that fill connections come back to them.
const RETURNS: u32 = 8;
/// One full connection.
const BLOCKED: u32 = 16;

/// The thread to tell that nobody leads any more.
#[derive(Debug)]
#[must_use]
pub(crate) enum Next {
    Nobody,
    Follower(Arc<Waiter>),
    Keeper,
}

/// The result of an attempt to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Lead {
    Mine,
    Another,
    Keepers,
}

/// The state for the keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) is_led: bool,
    /// A connection is full, so a thread must wait for it.
    pub(crate) is_blocked: bool,
    pub(crate) returns: bool,
    pub(crate) turns: u32,
}

impl Lookout {
    pub(crate) fn new() -> Lookout {
        Lookout { word: AtomicU32::new(0), turns: AtomicU32::new(0), followers: Mutex::new(Vec::new()) }
    }

    /// Leads, unless another thread does.
    pub(crate) fn lead(&self) -> Lead {
        match self.change(|word| (word & LED == 0).then_some(word | LED)) {
            Ok(_) => {
                self.turns.fetch_add(1, Ordering::Relaxed);
                Lead::Mine
            }
            Err(word) if word & KEPT != 0 => Lead::Keepers,
            Err(_) => Lead::Another,
        }
    }

    /// The keeper leads, unless another thread does or wants to.
    pub(crate) fn keep(&self) -> bool {
        self.change(|word| (word & (LED | FOLLOWED) == 0).then_some(word | LED | KEPT)).is_ok()
    }

    /// Stops leading.
    pub(crate) fn leave(&self) -> Next {
        self.next(self.word.fetch_and(!(LED | KEPT), Ordering::AcqRel) & !LED)
    }

    /// Tells the thread from now on when nobody leads any more. The thread must then try to lead again, since a thread
    /// that left meanwhile has told nobody.
    pub(crate) fn follow(&self, waiter: &Arc<Waiter>) {
        let mut followers = self.followers();
        followers.push(waiter.clone());
        self.word.fetch_or(FOLLOWED, Ordering::AcqRel);
    }

    /// The thread no longer follows.
    pub(crate) fn unfollow(&self, waiter: &Arc<Waiter>) {
        let mut followers = self.followers();
        if let Some(at) = followers.iter().position(|other| Arc::ptr_eq(other, waiter)) {
            followers.remove(at);
        }
        if followers.is_empty() {
            self.word.fetch_and(!FOLLOWED, Ordering::AcqRel);
        }
    }

    /// A thread that does not lead stops waiting. If it was told to lead, another thread is told instead.
    pub(crate) fn pass_on(&self) -> Next {
        self.next(self.word.load(Ordering::Acquire))
    }

    /// The thread to tell, in this state.
    fn next(&self, word: u32) -> Next {
        if word & LED != 0 {
            Next::Nobody
        } else if word & FOLLOWED != 0 {
            // A follower that is no longer there continues on its own, and then leads or passes on.
            self.followers().first().map_or(Next::Nobody, |first| Next::Follower(first.clone()))
        } else if word >= BLOCKED && word & (RETURNS | KEPT) == 0 {
            Next::Keeper
        } else {
            Next::Nobody
        }
    }

    /// A connection is full, and the poller watches it. Returns whether the keeper must be told.
    #[must_use]
    pub(crate) fn block(&self) -> bool {
        let before = self.word.fetch_add(BLOCKED, Ordering::AcqRel);
        before & (LED | RETURNS) == 0
    }

    /// A connection is no longer full.
    pub(crate) fn unblock(&self) {
        self.word.fetch_sub(BLOCKED, Ordering::AcqRel);
    }

    /// A thread that filled a connection has come back to it. Returns whether the keeper must be told, since it looks
    /// more often from now on.
    #[must_use]
    pub(crate) fn come_back(&self) -> bool {
        self.word.fetch_or(RETURNS, Ordering::AcqRel) & RETURNS == 0
    }

    /// From now on, nobody expects the threads that fill connections to come back.
    pub(crate) fn forget_return(&self) {
        self.word.fetch_and(!RETURNS, Ordering::AcqRel);
    }

    pub(crate) fn see(&self) -> Seen {
        let word = self.word.load(Ordering::Acquire);
        Seen {
            is_led: word & LED != 0,
            is_blocked: word >= BLOCKED,
            returns: word & RETURNS != 0,
            turns: self.turns.load(Ordering::Relaxed),
        }
    }

    fn followers(&self) -> MutexGuard<'_, Vec<Arc<Waiter>>> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, to: impl FnMut(u32) -> Option<u32>) -> Result<u32, u32> {
        self.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, to)
    }
}
