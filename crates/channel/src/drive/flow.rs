//! The output of one connection: whether there is something to write, and who writes it.
//!
//! ```text
//!             owe                  begin, take_up
//!   Idle ------------> Owing ------------------------+
//!    |  \                ^                           |
//!    |   \ begin         | put_off                   v
//!    |    +------------------------------------> Writing <--------------+
//!    |                   |                       |  |  ^                |
//!    |  finish           +-----------------------+  |  | finish         |
//!    +<-----------------------------------------[*]-+  | (goes on)      |
//!                                                |     |                |
//!                                owe, begin      v     |                |
//!                                             WritingMore               |
//!                                                |                      |
//!                              block             v     resume, press    |
//!                                             Blocked ------------------+
//!
//!   any --- close ---> Closed
//! ```
//!
//! - **Idle**: all that was made is written.
//! - **Owing**: there is something to write; the connection is on the node's list of those that gather.
//! - **Writing**: one thread writes, and nobody else does: what is not written yet is its own.
//! - **WritingMore**: the same, and more was made meanwhile, for which the thread that writes looks before it ends.
//! - **Blocked**: the connection takes no more. What is made meanwhile waits with the rest.
//! - **Closed**: the connection is gone.
//!
//! **Ordering.** All states are in one word, so that all threads agree on the order of its changes. Whoever leaves *Writing* releases
//! what it has written, and whoever enters it acquires that. What there is to write needs no ordering here: it lies under
//! the node's lock, and is made before `owe` and `begin`, and taken after `begin`, `take_up`, `resume` and `press`.

use super::sync::{AtomicU32, Ordering};

/// The state of a connection's output.
#[derive(Debug)]
pub(crate) struct Flow(AtomicU32);

const IDLE: u32 = 0;
const OWING: u32 = 1;
const WRITING: u32 = 2;
const WRITING_MORE: u32 = 3;
const BLOCKED: u32 = 4;
const CLOSED: u32 = 5;

/// What a thread that wants to write at any price finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pressed {
    /// It writes. Whether the connection took no more before.
    Writes { was_blocked: bool },
    /// There is nothing to write, or another thread writes it.
    Not,
}

impl Flow {
    pub(crate) fn new() -> Flow {
        Flow(AtomicU32::new(IDLE))
    }

    /// There is something to write, which may wait. Whether the caller must see to it that it is not forgotten.
    pub(crate) fn owe(&self) -> bool {
        self.change(|state| match state {
            IDLE => Some(OWING),
            WRITING => Some(WRITING_MORE),
            _ => None,
        }) == Ok(IDLE)
    }

    /// There is something to write at once. Whether the caller writes it: else somebody does, or the connection takes no more.
    pub(crate) fn begin(&self) -> bool {
        let before = self.change(|state| match state {
            IDLE | OWING => Some(WRITING),
            WRITING => Some(WRITING_MORE),
            _ => None,
        });
        matches!(before, Ok(IDLE | OWING))
    }

    /// Whether the caller writes what has gathered.
    pub(crate) fn take_up(&self) -> bool {
        self.change(|state| (state == OWING).then_some(WRITING)).is_ok()
    }

    /// The connection takes more. Whether the caller writes the rest.
    pub(crate) fn resume(&self) -> bool {
        self.change(|state| (state == BLOCKED).then_some(WRITING)).is_ok()
    }

    /// The caller waits until there is nothing more to write: it writes what has gathered, and also where the connection took no
    /// more.
    pub(crate) fn press(&self) -> Pressed {
        let before = self.change(|state| matches!(state, OWING | BLOCKED).then_some(WRITING));
        before.map_or(Pressed::Not, |before| Pressed::Writes { was_blocked: before == BLOCKED })
    }

    /// The thread that writes has written all that it took. Whether it may end: else there is more to be taken.
    pub(crate) fn finish(&self) -> bool {
        let before = self.change(|state| match state {
            WRITING => Some(IDLE),
            WRITING_MORE => Some(WRITING),
            _ => None,
        });
        before != Ok(WRITING_MORE)
    }

    /// The thread that writes ends, although there is more: as [`owe`](Flow::owe), if this says so.
    pub(crate) fn put_off(&self) -> bool {
        self.change(|state| matches!(state, WRITING | WRITING_MORE).then_some(OWING)).is_ok()
    }

    /// The connection takes no more of what the caller writes. `false` if it was closed.
    pub(crate) fn block(&self) -> bool {
        self.change(|state| matches!(state, WRITING | WRITING_MORE).then_some(BLOCKED)).is_ok()
    }

    /// The connection is gone. Whether it was one that took no more.
    pub(crate) fn close(&self) -> bool {
        self.0.swap(CLOSED, Ordering::AcqRel) == BLOCKED
    }

    /// Whether the connection takes no more.
    pub(crate) fn is_blocked(&self) -> bool {
        self.0.load(Ordering::Acquire) == BLOCKED
    }

    fn change(&self, to: impl FnMut(u32) -> Option<u32>) -> Result<u32, u32> {
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, to)
    }
}
