//! One connection as the threads of a node share it: whoever reads it, one at a time; whoever writes it, one at a time.

use crate::machine::{Large, Machine, Sent};
use crate::socket::{Moved, Socket};
use crate::unwritten::Unwritten;
use isoform::{Aligned, Error, Result};
use isoform_channel_proto::{ConnId, Time};
use portable_atomic::AtomicU64;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is read at once, at most.
const INPUT: usize = 256 << 10;
/// And at first, and while less comes: so that strangers who connect in great numbers take no more.
const FIRST: usize = 16 << 10;
/// What is read at once behind a fragment that goes to its place directly: the header of the next one, and little more,
/// since what comes here is copied.
const BEHIND: usize = 32;
/// What is read at once after a long event, since another one may follow.
const BEYOND: usize = 1 << 10;

/// A connection of a node.
pub(crate) struct Wire {
    pub(crate) id: ConnId,
    pub(crate) socket: Socket,
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
    /// Whether it is the keeper that reads.
    pub(crate) kept: AtomicBool,
    /// Threads that wait, and read it or want to.
    pub(crate) attendance: Attendance,
    /// When it was last written, and last read, in nanoseconds of the node's clock.
    pub(crate) wrote: AtomicU64,
    pub(crate) read: AtomicU64,
}

/// What has come and was not used, and where the next bytes go.
pub(crate) struct Reader {
    input: Aligned,
    filled: usize,
    /// How much is read at once, if it has no place of its own.
    ahead: usize,
    /// A fragment that is read to its place, and how much of it has come.
    large: Option<(Large, usize)>,
}

/// What came of reading.
pub(crate) enum Came {
    /// Something. Whether it was all that was asked for, so that there may be more.
    Something(bool),
    /// Nothing, now.
    Nothing,
    /// The end.
    End(Option<Error>),
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
    pub(crate) fn new(id: ConnId, socket: Socket) -> Wire {
        Wire {
            id,
            socket,
            reader: Mutex::new(Reader { input: Aligned::new(), filled: 0, ahead: FIRST, large: None }),
            writer: Mutex::new(Unwritten::default()),
            more: AtomicBool::new(false),
            blocked: AtomicBool::new(false),
            pushed: AtomicBool::new(false),
            kept: AtomicBool::new(false),
            attendance: Attendance::default(),
            wrote: AtomicU64::new(0),
            read: AtomicU64::new(0),
        }
    }
}

impl Reader {
    /// Reads once: what is there, or if it shall wait, what comes within a little while.
    pub(crate) fn fill(&mut self, socket: &Socket, wait: bool) -> Came {
        let room = self.filled + self.ahead;
        if self.input.len() < room {
            self.input.resize(room);
        }
        let rest = &mut self.input[self.filled..room];
        let (moved, direct, wanted) = match &mut self.large {
            Some((large, got)) => {
                let (from, to) = (large.at + *got, large.at + large.missing);
                let behind = rest.len().min(BEHIND);
                let moved = socket.read(&mut large.storage.0[from..to], &mut rest[..behind]);
                let direct = if let Ok(Moved::Bytes(count)) = moved { count.min(to - from) } else { 0 };
                *got += direct;
                (moved, direct, to - from + behind)
            }
            None if wait => (socket.wait_and_read(rest), 0, rest.len()),
            None => (socket.read(rest, &mut []), 0, rest.len()),
        };
        match moved {
            Ok(Moved::Bytes(count)) => {
                self.filled += count - direct;
                if self.large.is_some() {
                    self.ahead = BEYOND;
                } else if count == wanted {
                    self.ahead = (4 * self.ahead).min(INPUT);
                }
                Came::Something(count == wanted)
            }
            Ok(Moved::Blocked) => Came::Nothing,
            Ok(Moved::Closed) => Came::End(None),
            Err(error) => Came::End(Some(error)),
        }
    }

    /// Gives the machine what has come.
    pub(crate) fn feed(&mut self, machine: &mut Machine, now: Time, id: ConnId) -> Result<()> {
        if let Some((large, got)) = self.large.take() {
            machine.put_large(now, id, large, got);
        }
        let used = machine.receive(now, id, &self.input[..self.filled])?;
        self.input.copy_within(used..self.filled, 0);
        self.filled -= used;
        if self.filled == 0 {
            self.large = machine.take_large(id).map(|large| (large, 0));
        }
        Ok(())
    }
}
