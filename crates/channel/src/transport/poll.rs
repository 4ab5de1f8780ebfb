//! Waits until something can be read or written, or another thread calls: `poll`, and its wake-up.
//!
//! [`super::Connection`] then reads and writes. The node decides which threads wait, and for what.

use super::Handle;
use isoform::{Code, Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What is waited for at a descriptor; its end always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    Read,
    Write,
    Both,
}

/// A descriptor that is waited for. A slice of them is waited for at once.
pub(crate) type Entry<'fd> = PollFd<'fd>;

/// The entry of a descriptor, for [`wait`].
pub(crate) fn entry<'h>(handle: impl Into<Handle<'h>>, interest: Interest) -> Entry<'h> {
    let flags = match interest {
        Interest::Read => PollFlags::IN,
        Interest::Write => PollFlags::OUT,
        Interest::Both => PollFlags::IN | PollFlags::OUT,
    };
    PollFd::from_borrowed_fd(handle.into().0, flags)
}

/// What came of waiting for a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ready {
    /// Something can be read, if only that it has ended.
    pub(crate) read: bool,
    /// Something can be written, if only to learn that it has ended.
    pub(crate) write: bool,
    /// The other end is gone. What it has written may still be there to read.
    pub(crate) ended: bool,
}

/// What came of waiting for this descriptor.
pub(crate) fn ready(entry: &Entry<'_>) -> Ready {
    let came = entry.revents();
    let ended = came.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
    Ready { read: ended || came.contains(PollFlags::IN), write: ended || came.contains(PollFlags::OUT), ended }
}

/// Longer than this nobody waits at once, as some systems count in small numbers of milliseconds.
const LONGEST: Duration = Duration::from_secs(3600);

/// Waits until something can be done at one of the descriptors, and says whether that is so. Nothing may have come although
/// the time is not over: callers have deadlines, and look at those.
///
/// # Errors
/// [`Code::Io`], if the system has no memory for it.
pub(crate) fn wait(entries: &mut [Entry<'_>], timeout: Option<Duration>) -> Result<bool> {
    let timeout = timeout.map(|timeout| timeout.min(LONGEST));
    let timeout = timeout.map(|it| Timespec { tv_sec: it.as_secs() as _, tv_nsec: it.subsec_nanos() as _ });
    match rustix::event::poll(entries, timeout.as_ref()) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => {
            entries.iter_mut().for_each(PollFd::clear_revents);
            Ok(false)
        }
        Err(error) => Err(Error::new(Code::Io).came(format_args!("waiting for sockets: {error}"))),
    }
}

/// Ends the waiting of another thread, which has an entry for it.
///
/// ```ignore
/// state.change();   // first what the other shall see,
/// waker.wake();     // then this; and it, once the entry is ready:
/// waker.drain();    // first this,
/// state.look();     // then what there is to see.
/// ```
#[derive(Debug)]
pub(crate) struct Waker {
    /// That a byte is in the pipe, or about to be; so that calling again costs no system call.
    pending: AtomicBool,
    reader: PipeReader,
    writer: PipeWriter,
}

impl Waker {
    pub(crate) fn new() -> Result<Waker> {
        let pipe = || {
            let (reader, writer) = std::io::pipe()?;
            rustix::io::ioctl_fionbio(&reader, true)?;
            rustix::io::ioctl_fionbio(&writer, true)?;
            Ok(Waker { pending: AtomicBool::new(false), reader, writer })
        };
        pipe().map_err(|error: std::io::Error| Error::new(Code::Io).came(format_args!("making a pipe: {error}")))
    }

    /// Makes the entry ready until it is drained.
    pub(crate) fn wake(&self) {
        if !self.pending.swap(true, Ordering::AcqRel) {
            // The one way to fail is that the pipe is full, and then the entry is ready already.
            _ = (&self.writer).write(&[0]);
        }
    }

    /// Undoes what woke it, if something has.
    pub(crate) fn calm(&self) {
        if self.pending.load(Ordering::Acquire) {
            self.drain();
        }
    }

    /// Undoes what woke it. Whatever was changed before a call of `wake` that this undoes is visible afterwards.
    pub(crate) fn drain(&self) {
        while matches!((&self.reader).read(&mut [0; 64]), Ok(64)) {}
        // Only now: if it came before, a byte written in between would be gone while `pending` stays, and nobody would
        // ever be woken again. So at worst a byte remains, and somebody wakes once more than needed.
        self.pending.swap(false, Ordering::AcqRel);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    /// Longer than anything takes: who waits for so long has failed.
    const AGES: Option<Duration> = Some(Duration::from_secs(60));

    fn now(descriptor: &impl AsFd, interest: Interest) -> Ready {
        let mut entries = [entry(descriptor.as_fd(), interest)];
        let any = wait(&mut entries, Some(Duration::ZERO)).unwrap();
        assert_eq!(any, ready(&entries[0]) != Ready::default());
        ready(&entries[0])
    }

    #[test]
    fn what_is_waited_for_is_told_and_nothing_else() {
        let (near, far) = UnixStream::pair().unwrap();
        assert_eq!(now(&near, Interest::Read), Ready::default());
        assert_eq!(now(&near, Interest::Write), Ready { write: true, ..Ready::default() });
        (&far).write_all(b"x").unwrap();
        assert_eq!(now(&near, Interest::Write), Ready { write: true, ..Ready::default() });
        assert_eq!(now(&near, Interest::Both), Ready { read: true, write: true, ended: false });
        drop(far);
        assert!(now(&near, Interest::Read).ended);
    }

    #[test]
    fn one_of_many_is_enough() {
        let pairs: Vec<_> = (0..50).map(|_| UnixStream::pair().unwrap()).collect();
        (&pairs[31].1).write_all(b"x").unwrap();
        let mut entries: Vec<_> = pairs.iter().map(|(near, _)| entry(near.as_fd(), Interest::Read)).collect();
        assert!(wait(&mut entries, Some(Duration::MAX)).unwrap());
        assert_eq!(entries.iter().position(|entry| ready(entry).read), Some(31));
    }

    #[test]
    fn a_waker_is_ready_from_wake_to_drain() {
        let waker = Waker::new().unwrap();
        assert!(!now(&waker, Interest::Read).read);
        for _ in 0..3 {
            (0..200_000).for_each(|_| waker.wake());
            assert!(now(&waker, Interest::Read).read);
            waker.drain();
            assert!(!now(&waker, Interest::Read).read);
        }
    }

    #[test]
    fn no_call_is_lost() {
        let (waker, done) = (Waker::new().unwrap(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        waker.wake();
                    }
                });
            }
            let woken = || {
                let woken = wait(&mut [entry(waker.as_fd(), Interest::Read)], AGES).unwrap();
                waker.drain();
                woken
            };
            let all = (0..20_000).all(|_| woken());
            done.store(true, Ordering::Relaxed);
            assert!(all, "a call was lost");
        });
    }
}
