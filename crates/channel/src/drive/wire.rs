//! One connection as the threads of a node share it: whoever reads it, one at a time; whoever writes it, one at a time.

use super::flow::Flow;
use super::machine::{Machine, Sent};
use super::reader::Reader;
use super::unwritten::Unwritten;
use crate::transport::poll::{Interest, Poller};
use crate::transport::{Connection, Moved, Watch};
use isoform::Result;
use isoform_channel_proto::{ConnId, Time};
use portable_atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A connection over which nothing was written for so long is written to at once.
const QUIET: u64 = 5_000;

/// A connection of a node.
pub(crate) struct Wire {
    pub(crate) id: ConnId,
    pub(crate) connection: Box<dyn Connection>,
    /// Whether there is something to write, and who writes it.
    pub(crate) flow: Flow,
    /// For whoever leads.
    reader: Mutex<Reader>,
    /// For the thread that [writes](crate::drive::flow).
    writer: Mutex<Unwritten<Sent>>,
    /// What the poller waits for; `None` once nobody waits for the connection any more.
    watched: Mutex<Option<Interest>>,
    /// When it was last written, and last read, in nanoseconds of the node's clock: what decides whether to write at once, and needs
    /// no ordering.
    wrote: AtomicU64,
    read: AtomicU64,
    /// When what is written was taken from the protocol.
    taken: AtomicU64,
}

impl Wire {
    pub(crate) fn new(id: ConnId, connection: Box<dyn Connection>) -> Wire {
        Wire {
            id,
            connection,
            flow: Flow::new(),
            reader: Mutex::new(Reader::new()),
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

    /// Takes the next frames from the protocol, once all are written. Whether there are more behind them.
    pub(crate) fn fill(&self, machine: &mut Machine, now: Time) -> bool {
        self.taken.store(now.as_nanos() as u64, Ordering::Relaxed);
        let mut more = false;
        self.writer().fill(|out| more = machine.output(now, self.id, out));
        more
    }

    /// Writes what was taken, without waiting or not for long. [`Moved::Bytes`] says that it is all written, with how much that
    /// was.
    pub(crate) fn write(&self, wait: bool) -> Result<Moved> {
        self.writer().write(&*self.connection, wait)
    }

    /// Bytes that were taken and are not written.
    pub(crate) fn unwritten(&self) -> usize {
        self.writer().length()
    }

    /// Writes last words, if they can be written without waiting, and ends the connection.
    pub(crate) fn say_farewell(&self, farewell: &[u8]) {
        let mut writer = self.writer();
        if matches!(writer.write(&*self.connection, false), Ok(Moved::Bytes(_))) && !farewell.is_empty() {
            writer.fill(|out| out.bytes.extend_from_slice(farewell));
            let _ = writer.write(&*self.connection, false);
        }
        self.connection.end();
    }

    fn writer(&self) -> MutexGuard<'_, Unwritten<Sent>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the poller wait until the connection takes more, which it does not now.
    ///
    /// # Errors
    /// [`Code::Io`](isoform::Code::Io), if the system refuses to. Nobody may wait for the connection then: it must end. The same
    /// holds for [`disarm`](Wire::disarm) and [`unmute`](Wire::unmute).
    pub(crate) fn arm(&self, poller: &Poller) -> Result<()> {
        self.watch(poller, |_| Some(Interest::Both))?;
        // It has told so when nobody knew yet that it took no more.
        if let Watch::Told { write: true, .. } = self.connection.watch() {
            poller.tell(self.id.0);
        }
        Ok(())
    }

    /// The poller need not wait for that any more, unless the connection takes no more again.
    pub(crate) fn disarm(&self, poller: &Poller) -> Result<()> {
        // Looked at with the lock, as whoever finds it blocked says so before it arms.
        self.watch(poller, |now| (now == Interest::Both && !self.flow.is_blocked()).then_some(Interest::Read))
    }

    /// The thread that leads waits for the connection alone, within reading it. The poller does not know it meanwhile: else the
    /// system would tell the poller of each byte, and with Unix sockets of each byte that was taken, too.
    pub(crate) fn mute(&self, poller: &Poller) {
        // What the system forgets needs no memory.
        _ = self.watch(poller, |now| (now == Interest::Read).then_some(Interest::Nothing));
    }

    /// The poller waits for the connection again.
    pub(crate) fn unmute(&self, poller: &Poller) -> Result<()> {
        self.watch(poller, |now| (now == Interest::Nothing).then_some(Interest::Read))
    }

    /// Nobody waits for the connection from now on.
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

    /// Has the poller report again what can be read, which a connection that tells by itself does not.
    pub(crate) fn tell_rest(&self, poller: &Poller) {
        if let Watch::Told { read: true, .. } = self.connection.watch() {
            poller.tell(self.id.0);
        }
    }

    /// Whether a system call for a single event pays: nothing was written of late, or something was answered.
    #[inline]
    pub(crate) fn is_quiet(&self, now: Time) -> bool {
        let wrote = self.wrote.load(Ordering::Relaxed);
        self.read.load(Ordering::Relaxed) > wrote || now.as_nanos() as u64 > wrote + QUIET
    }

    /// Whether something was read since it was last written to.
    pub(crate) fn is_answered(&self) -> bool {
        self.read.load(Ordering::Relaxed) > self.wrote.load(Ordering::Relaxed)
    }

    pub(crate) fn note_written(&self, now: Time) {
        self.wrote.store(now.as_nanos() as u64, Ordering::Relaxed);
    }

    /// The same, with the time at which it was taken from the protocol.
    pub(crate) fn note_written_as_taken(&self) {
        self.wrote.store(self.taken.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    pub(crate) fn note_read(&self, now: Time) {
        self.read.store(now.as_nanos() as u64, Ordering::Relaxed);
    }
}
