//! The output of one connection: whether there is any, and which thread writes it.
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
//! - **Idle**: all output is written.
//! - **Owing**: there is output; the connection is on the node's list of those whose output gathers.
//! - **Writing**: one thread writes, and owns the output that is not written yet.
//! - **WritingMore**: the same, and more output was made meanwhile. The writing thread checks this before it stops.
//! - **Blocked**: the connection is full. Further output waits with the rest.
//! - **Closed**: the connection has ended.
//!
//! **Ordering.** The state is one word, so all threads agree on the order of its changes. A thread that leaves *Writing* releases
//! what it has written, and the next one that enters it acquires that. The output itself needs no ordering here: it is under the
//! node's lock. It is made before `owe` and `begin`, and taken after `begin`, `take_up`, `resume` and `press`.

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

/// The result of [`Flow::press`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pressed {
    /// The caller writes. `was_blocked`: the connection was full before.
    Writes { was_blocked: bool },
    /// There is no output, or another thread writes it.
    Not,
}

impl Flow {
    pub(crate) fn new() -> Flow {
        Flow(AtomicU32::new(IDLE))
    }

    /// Output exists that may wait. Returns whether the caller must make sure that it is written later.
    pub(crate) fn owe(&self) -> bool {
        self.change(|state| match state {
            IDLE => Some(OWING),
            WRITING => Some(WRITING_MORE),
            _ => None,
        }) == Ok(IDLE)
    }

    /// Output exists that should go at once. Returns whether the caller writes it. Otherwise another thread does, or
    /// the connection is full.
    pub(crate) fn begin(&self) -> bool {
        let before = self.change(|state| match state {
            IDLE | OWING => Some(WRITING),
            WRITING => Some(WRITING_MORE),
            _ => None,
        });
        matches!(before, Ok(IDLE | OWING))
    }

    /// Returns whether the caller writes the output that has gathered.
    pub(crate) fn take_up(&self) -> bool {
        self.change(|state| (state == OWING).then_some(WRITING)).is_ok()
    }

    /// The connection accepts bytes again. Returns whether the caller writes the rest.
    pub(crate) fn resume(&self) -> bool {
        self.change(|state| (state == BLOCKED).then_some(WRITING)).is_ok()
    }

    /// The caller waits until all output is written. It takes over output that has gathered, even on a full connection.
    pub(crate) fn press(&self) -> Pressed {
        let before = self.change(|state| matches!(state, OWING | BLOCKED).then_some(WRITING));
        before.map_or(Pressed::Not, |before| Pressed::Writes { was_blocked: before == BLOCKED })
    }

    /// The writing thread has written everything that it took. Returns whether it may stop. Otherwise there is more to
    /// take.
    pub(crate) fn finish(&self) -> bool {
        let before = self.change(|state| match state {
            WRITING => Some(IDLE),
            WRITING_MORE => Some(WRITING),
            _ => None,
        });
        before != Ok(WRITING_MORE)
    }

    /// The writing thread stops although there is more. The result is that of [`owe`](Flow::owe).
    pub(crate) fn put_off(&self) -> bool {
        self.change(|state| matches!(state, WRITING | WRITING_MORE).then_some(OWING)).is_ok()
    }

    /// The connection is full. Returns `false` if it was closed.
    pub(crate) fn block(&self) -> bool {
        self.change(|state| matches!(state, WRITING | WRITING_MORE).then_some(BLOCKED)).is_ok()
    }

    /// The connection has ended. Returns whether it was full.
    pub(crate) fn close(&self) -> bool {
        self.0.swap(CLOSED, Ordering::AcqRel) == BLOCKED
    }

    /// Whether there is no output.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.0.load(Ordering::Acquire) == IDLE
    }

    /// Whether the connection is full.
    pub(crate) fn is_blocked(&self) -> bool {
        self.0.load(Ordering::Acquire) == BLOCKED
    }

    fn change(&self, to: impl FnMut(u32) -> Option<u32>) -> Result<u32, u32> {
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, to)
    }
}
