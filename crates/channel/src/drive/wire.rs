//! One connection as the threads of a node share it: whoever reads it, one at a time; whoever writes it, one at a time.

use crate::drive::machine::Sent;
use crate::drive::reader::Reader;
use crate::drive::unwritten::Unwritten;
use crate::transport::Connection;
use isoform_channel_proto::{ConnId, Time};
use portable_atomic::AtomicU64;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// A connection of a node.
pub(crate) struct Wire {
    pub(crate) id: ConnId,
    pub(crate) connection: Box<dyn Connection>,
    /// Held by the thread that reads, also while it waits for something to come.
    pub(crate) reader: Mutex<Reader>,
    /// Held by the thread that writes.
    pub(crate) writer: Mutex<Unwritten<Sent>>,
    /// There is more to write: for whoever holds `writer`, or else the keeper.
    pub(crate) more: AtomicBool,
    /// The socket takes no more now: written on when it is ready.
    pub(crate) blocked: AtomicBool,
    /// A thread that waits writes it when it is ready.
    pub(crate) pushed: AtomicBool,
    /// Whoever fills the socket has always come back to wait for it: so a thread does that submits one long event after
    /// another. Then the keeper looks every now and then whether that is still so, instead of being woken each time.
    pub(crate) returns: AtomicBool,
    /// For the keeper alone: that at its last look, nobody had come back yet.
    pub(crate) left: AtomicBool,
    /// Whether it is the keeper that reads.
    pub(crate) kept: AtomicBool,
    /// Threads that wait, and read it or want to.
    pub(crate) attendance: Attendance,
    /// When it was last written, and last read, in nanoseconds of the node's clock.
    pub(crate) wrote: AtomicU64,
    pub(crate) read: AtomicU64,
}

/// How the keeper knows whether threads of the application read a connection, without their telling the time.
#[derive(Default)]
pub(crate) struct Attendance {
    turns: AtomicU64,
    /// What the keeper has seen of it, and when that was new to it, in nanoseconds.
    seen: AtomicU64,
    since: AtomicU64,
}

impl Attendance {
    /// A thread has read it, or wanted to.
    #[inline]
    pub(crate) fn note(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether one has of late. For the keeper alone.
    pub(crate) fn is_recent(&self, now: Time, span: Time) -> bool {
        let turns = self.turns.load(Ordering::Relaxed);
        if self.seen.swap(turns, Ordering::Relaxed) != turns {
            self.since.store(now.as_nanos() as u64, Ordering::Relaxed);
        }
        turns > 0 && Time::from_nanos(self.since.load(Ordering::Relaxed)) + span > now
    }
}

impl Wire {
    pub(crate) fn new(id: ConnId, connection: Box<dyn Connection>) -> Wire {
        Wire {
            id,
            connection,
            reader: Mutex::new(Reader::new()),
            writer: Mutex::new(Unwritten::default()),
            more: AtomicBool::new(false),
            blocked: AtomicBool::new(false),
            pushed: AtomicBool::new(false),
            returns: AtomicBool::new(false),
            left: AtomicBool::new(false),
            kept: AtomicBool::new(false),
            attendance: Attendance::default(),
            wrote: AtomicU64::new(0),
            read: AtomicU64::new(0),
        }
    }
}
