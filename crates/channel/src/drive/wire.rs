//! One connection, as the threads of a node share it. At most one thread reads it, and at most one writes it.

use super::flow::Flow;
use super::listener::Counted;
use super::machine::{Machine, Sent};
use super::reader::Reader;
use super::unwritten::{Bodies, Own, Unwritten};
use crate::transport::poll::{Interest, Poller};
use crate::transport::{Connection, Moved, Watch};
use isoform::Result;
use isoform_channel_proto::{ConnId, Time};
use portable_atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A connection without output for this long is written at once.
const QUIET: u64 = 5_000;

/// A connection of a node.
pub(crate) struct Wire {
    pub(crate) id: ConnId,
    pub(crate) connection: Box<dyn Connection>,
    /// Whether there is output, and which thread writes it.
    pub(crate) flow: Flow,
    /// For the thread that leads.
    reader: Mutex<Reader>,
    /// For the thread that [writes](crate::drive::flow).
    writer: Mutex<Unwritten<Sent>>,
    /// The events that the poller watches; `None` once the connection is retired.
    watched: Mutex<Option<Interest>>,
    /// The times of the last write and the last read, in nanoseconds of the node's clock. They decide whether to write
    /// at once, and need no memory ordering.
    wrote: AtomicU64,
    read: AtomicU64,
    /// The time at which the output was taken from the protocol.
    taken: AtomicU64,
}

impl Wire {
    pub(crate) fn new(id: ConnId, connection: Box<dyn Connection>, counted: Option<Counted>) -> Wire {
        Wire {
            id,
            connection,
            flow: Flow::new(),
            reader: Mutex::new(Reader::new(counted)),
            writer: Mutex::new(Unwritten::default()),
            watched: Mutex::new(Some(Interest::Read)),
            wrote: AtomicU64::new(0),
            read: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        }
    }

    pub(crate) fn reader(&self) -> MutexGuard<'_, Reader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next frames from the protocol, once all are written. Returns whether there are more.
    pub(crate) fn fill(&self, machine: &mut Machine, now: Time) -> bool {
        self.taken.store(now.as_nanos() as u64, Ordering::Relaxed);
        let mut more = false;
        self.writer().fill(|out| more = machine.output(now, self.id, out));
        more
    }

    /// Writes the output that was taken, without waiting or not for long. [`Moved::Bytes`] states that all of it is
    /// written, and how much that was.
    pub(crate) fn write(&self, bodies: &dyn Bodies<Sent>, wait: bool) -> Result<Moved> {
        self.writer().write(&*self.connection, bodies, wait)
    }

    /// The number of places in the output that was taken and is not written that have such a body.
    pub(crate) fn count_unwritten(&self, such: impl Fn(&Sent) -> bool) -> usize {
        self.writer().count(such)
    }

    /// The number of bytes that were taken and are not written.
    pub(crate) fn unwritten(&self) -> usize {
        self.writer().length()
    }

    /// Writes the last bytes as far as possible without waiting, and ends the connection.
    pub(crate) fn say_farewell(&self, farewell: &[u8]) {
        let mut writer = self.writer();
        // A thread that has lent a body, and was about to write it, finds the connection closed.
        let is_all_here = writer.count(|body| body.shared().is_none()) == 0;
        if is_all_here
            && matches!(writer.write(&*self.connection, &Own, false), Ok(Moved::Bytes(_)))
            && !farewell.is_empty()
        {
            writer.fill(|out| out.bytes.extend_from_slice(farewell));
            let _ = writer.write(&*self.connection, &Own, false);
        }
        self.connection.end();
    }

    fn writer(&self) -> MutexGuard<'_, Unwritten<Sent>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the poller watch for room, since the connection is full.
    pub(crate) fn arm(&self, poller: &Poller) -> Result<()> {
        self.watch(poller, |_| Some(Interest::Both))?;
        // It may have reported room before anybody knew that it was full.
        if let Watch::Told { write: true, .. } = self.connection.watch() {
            poller.tell(self.id.0);
        }
        Ok(())
    }

    /// The poller need not watch for room, unless the connection is full again.
    pub(crate) fn disarm(&self, poller: &Poller) -> Result<()> {
        // This is checked under the lock, because a thread that finds the connection full sets `flow` before it arms
        // the poller.
        self.watch(poller, |now| (now == Interest::Both && !self.flow.is_blocked()).then_some(Interest::Read))
    }

    /// The leading thread waits for the connection by reading it, and the poller does not watch it meanwhile. Otherwise
    /// the system would report every byte to the poller, and for Unix sockets every byte taken, too.
    pub(crate) fn mute(&self, poller: &Poller) {
        // To stop watching needs no memory of the system, so it cannot fail.
        _ = self.watch(poller, |now| (now == Interest::Read).then_some(Interest::Nothing));
    }

    /// The poller watches the connection again.
    pub(crate) fn unmute(&self, poller: &Poller) -> Result<()> {
        self.watch(poller, |now| (now == Interest::Nothing).then_some(Interest::Read))
    }

    /// Stops watching the connection for good.
    pub(crate) fn retire(&self, poller: &Poller) {
        let mut watched = self.watched();
        if let Watch::Handle(handle) = self.connection.watch()
            && watched.take().is_some_and(|now| now != Interest::Nothing)
        {
            poller.remove(self.id.0, handle);
        }
    }

    fn watch(&self, poller: &Poller, to: impl FnOnce(Interest) -> Option<Interest>) -> Result<()> {
        let mut watched = self.watched();
        let Some(now) = *watched else { return Ok(()) };
        let Some(wanted) = to(now).filter(|&wanted| wanted != now) else { return Ok(()) };
        let Watch::Handle(handle) = self.connection.watch() else { return Ok(()) };
        match (now, wanted) {
            (_, Interest::Nothing) => poller.remove(self.id.0, handle),
            (Interest::Nothing, _) => poller.add(self.id.0, handle, wanted)?,
            _ => poller.change(self.id.0, handle, wanted)?,
        }
        *watched = Some(wanted);
        Ok(())
    }

    fn watched(&self) -> MutexGuard<'_, Option<Interest>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the poller report readable bytes again. Connections that report by themselves do not do that, and no handle
    /// reports bytes that the connection `has_more` of.
    pub(crate) fn tell_rest(&self, poller: &Poller, has_more: bool) {
        if has_more || matches!(self.connection.watch(), Watch::Told { read: true, .. }) {
            poller.tell(self.id.0);
        }
    }

    /// Whether a single event is worth a system call: nothing was written recently, or something was read since.
    #[inline]
    pub(crate) fn is_quiet(&self, now: Time) -> bool {
        let wrote = self.wrote.load(Ordering::Relaxed);
        self.read.load(Ordering::Relaxed) > wrote || now.as_nanos() as u64 > wrote + QUIET
    }

    /// Whether something was read since the last write.
    pub(crate) fn is_answered(&self) -> bool {
        self.read.load(Ordering::Relaxed) > self.wrote.load(Ordering::Relaxed)
    }

    pub(crate) fn note_written(&self, now: Time) {
        self.wrote.store(now.as_nanos() as u64, Ordering::Relaxed);
    }

    /// The same, with the time at which the output was taken from the protocol.
    pub(crate) fn note_written_as_taken(&self) {
        self.wrote.store(self.taken.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    pub(crate) fn note_read(&self, now: Time) {
        self.read.store(now.as_nanos() as u64, Ordering::Relaxed);
    }
}
