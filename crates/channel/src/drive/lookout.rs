//! Who waits at the node's poller, and reads what comes: one thread at a time, which *leads*.
//!
//! ```text
//!                     lead (a thread that waits)
//!   Nobody <------------------------------------------> a thread leads
//!      ^      leave: the first follower is told,             ^
//!      |             or else the keeper, if there are        | follow: a thread that waits
//!      |             connections that take no more           |   meanwhile, and is told
//!      |                                                     v   when nobody leads any more
//!      +----------> the keeper leads <-----------------> followers
//!        keep        (only if nobody follows)  the keeper is asked to leave
//! ```
//!
//! Threads that wait for events lead, so that what comes needs no other thread; while one does, the others follow: they sleep
//! until they are rung for their own sake, or because nobody leads any more. The node's own thread, the keeper, leads
//! when no thread has done so for a while, and leaves when one wants to.
//!
//! Somebody must also wait for connections that take no more. Whoever leads does. When nobody leads, the keeper is told; unless
//! whoever filled connections has always come back to wait for them (*comes back*), as a thread does that submits one long event
//! after another. Then the keeper looks every now and then whether that is still so, instead of being woken each time.
//!
//! **Ordering.** Who leads, whether somebody follows, and how many connections take no more, are one word: of a thread that leaves and
//! one that follows or blocks at the same time, the later one sees what the earlier one did, and does what is needed. What a leader reads
//! and writes has locks of its own.

use super::sync::{Arc, AtomicU32, Mutex, MutexGuard, Ordering, PoisonError};
use super::waiter::Waiter;

/// Who waits at the poller.
#[derive(Debug)]
pub(crate) struct Lookout {
    word: AtomicU32,
    /// How often a thread has led that is not the keeper. A statistic, ordered by nothing.
    turns: AtomicU32,
    followers: Mutex<Vec<Arc<Waiter>>>,
}

/// Somebody leads.
const LED: u32 = 1;
/// It is the keeper.
const KEPT: u32 = 2;
/// Somebody follows.
const FOLLOWED: u32 = 4;
/// Whoever fills connections comes back to them.
const RETURNS: u32 = 8;
/// One connection that takes no more.
const BLOCKED: u32 = 16;

/// Whom to tell that nobody leads any more.
#[derive(Debug)]
#[must_use]
pub(crate) enum Next {
    Nobody,
    Follower(Arc<Waiter>),
    Keeper,
}

/// What a thread finds that wants to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Lead {
    Mine,
    Another,
    Keepers,
}

/// What the keeper sees of all this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) is_led: bool,
    /// Somebody must wait for a connection that takes no more.
    pub(crate) is_blocked: bool,
    pub(crate) returns: bool,
    pub(crate) turns: u32,
}

impl Lookout {
    pub(crate) fn new() -> Lookout {
        Lookout { word: AtomicU32::new(0), turns: AtomicU32::new(0), followers: Mutex::new(Vec::new()) }
    }

    /// Leads, if nobody does.
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

    /// Leads, if nobody does or wants to: for the keeper.
    pub(crate) fn keep(&self) -> bool {
        self.change(|word| (word & (LED | FOLLOWED) == 0).then_some(word | LED | KEPT)).is_ok()
    }

    /// Does not lead any more.
    pub(crate) fn leave(&self) -> Next {
        self.next(self.word.fetch_and(!(LED | KEPT), Ordering::AcqRel) & !LED)
    }

    /// From now on the thread is told when nobody leads any more. It tries to lead again after this: whoever left in between
    /// has told nobody.
    pub(crate) fn follow(&self, waiter: &Arc<Waiter>) {
        let mut followers = self.followers();
        followers.push(waiter.clone());
        self.word.fetch_or(FOLLOWED, Ordering::AcqRel);
    }

    /// The thread does not follow any more.
    pub(crate) fn unfollow(&self, waiter: &Arc<Waiter>) {
        let mut followers = self.followers();
        if let Some(at) = followers.iter().position(|other| Arc::ptr_eq(other, waiter)) {
            followers.remove(at);
        }
        if followers.is_empty() {
            self.word.fetch_and(!FOLLOWED, Ordering::AcqRel);
        }
    }

    /// A thread that does not lead waits no more. It may be the one that was told to lead: then another one is.
    pub(crate) fn pass_on(&self) -> Next {
        self.next(self.word.load(Ordering::Acquire))
    }

    /// Whom to tell, as things were.
    fn next(&self, word: u32) -> Next {
        if word & LED != 0 {
            Next::Nobody
        } else if word & FOLLOWED != 0 {
            // If there is none any more, it goes on by itself, and leads or passes on.
            self.followers().first().map_or(Next::Nobody, |first| Next::Follower(first.clone()))
        } else if word >= BLOCKED && word & (RETURNS | KEPT) == 0 {
            Next::Keeper
        } else {
            Next::Nobody
        }
    }

    /// A connection takes no more, and the poller waits for it. Whether the keeper must be told.
    #[must_use]
    pub(crate) fn block(&self) -> bool {
        let before = self.word.fetch_add(BLOCKED, Ordering::AcqRel);
        before & (LED | RETURNS) == 0
    }

    /// A connection is not blocked any more.
    pub(crate) fn unblock(&self) {
        self.word.fetch_sub(BLOCKED, Ordering::AcqRel);
    }

    /// A thread that filled a connection has come back to it. Whether the keeper must be told, as it looks more often from now on.
    #[must_use]
    pub(crate) fn come_back(&self) -> bool {
        self.word.fetch_or(RETURNS, Ordering::AcqRel) & RETURNS == 0
    }

    /// From now on nobody relies on it that whoever fills a connection comes back.
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
