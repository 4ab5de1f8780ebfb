//! Waits until something can be read or written, or another thread calls: [`Poller`], and [`Waker`], which wakes it.
//!
//! A node has one poller. Its connections and listeners are registered there once, so that waiting costs no visit to each of
//! them. One thread waits at a time; any thread may register, change, remove and wake. What the poller reports it reports
//! again until it is dealt with, so that whoever leaves something for later loses nothing.
//!
//! On Linux (`epoll`) and macOS (`kqueue`) the system keeps the list; elsewhere, `poll` is given all of it each time (`table`). All
//! stand behind the same few functions, and are tested alike.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod epoll;
#[cfg(any(test, target_vendor = "apple"))]
mod kqueue;
#[cfg(any(test, not(any(target_os = "linux", target_os = "android", target_vendor = "apple"))))]
mod table;

#[cfg(any(target_os = "linux", target_os = "android"))]
use epoll::System;
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
use table::System;
#[cfg(target_vendor = "apple")]
type System = kqueue::System<kqueue::kernel::Kernel>;

use super::Handle;
use super::system::{self, Reader, Writer};
use isoform::{Code, Error, Result};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use smallvec::SmallVec;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The events to wait for at a handle. Its end is always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Nothing: the poller does not know the handle.
    Nothing,
    Read,
    Both,
    /// Once: nothing is reported until it is asked for again.
    ReadOnce,
    WriteOnce,
}

/// The events at a handle. Its end and its errors count as readable and writable, so that a thread learns of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Readiness {
    /// The name under which it was registered.
    pub(crate) token: u64,
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// The result of one wait.
pub(crate) type Readies = SmallVec<[Readiness; 8]>;

/// The most that is reported at once. What is left is reported next.
#[cfg(any(test, target_os = "linux", target_os = "android", target_vendor = "apple"))]
const MOST: usize = 64;

/// The token of the poller's own waker.
const WOKEN: u64 = u64::MAX;

/// Longer than this nobody waits at once, as some systems count in small numbers of milliseconds.
const LONGEST: Duration = Duration::from_secs(3600);

/// The calls of a system that a poller needs.
pub(crate) trait Waiting: Sized + Sync {
    fn new() -> rustix::io::Result<Self>;
    fn add(&self, token: u64, handle: Handle<'_>, interest: Interest) -> rustix::io::Result<()>;
    fn change(&self, token: u64, handle: Handle<'_>, interest: Interest) -> rustix::io::Result<()>;
    fn remove(&self, token: u64, handle: Handle<'_>) -> rustix::io::Result<()>;
    /// Waits, and appends the events. An interrupted call finds none.
    fn wait(&self, timeout: Duration, readies: &mut Readies) -> rustix::io::Result<()>;
    /// Whether a thread that waits does not learn of what others register meanwhile.
    const IS_SNAPSHOT: bool;
}

/// Waits for the connections of a node. One thread at a time uses it.
#[derive(Debug)]
pub(crate) struct Poller<S = System> {
    system: S,
    waker: Waker,
    told: Mutex<Told>,
}

/// Events that transports without handles have reported.
#[derive(Debug, Default)]
struct Told {
    tokens: Vec<u64>,
    /// A thread waits, or is about to, and has found nothing here.
    is_awaited: bool,
}

impl<S: Waiting> Poller<S> {
    pub(crate) fn new() -> Result<Poller<S>> {
        let (system, waker) = (S::new().map_err(failed)?, Waker::new()?);
        system.add(WOKEN, waker.as_fd().into(), Interest::Read).map_err(failed)?;
        Ok(Poller { system, waker, told: Mutex::default() })
    }

    /// Registers a handle under a name. It must be removed before it is closed.
    ///
    /// # Errors
    /// [`Code::Io`], if the system has no memory for it.
    pub(crate) fn add(&self, token: u64, handle: Handle<'_>, interest: Interest) -> Result<()> {
        self.registered(self.system.add(token, handle, interest))
    }

    /// Waits for something else at a handle.
    ///
    /// # Errors
    /// As [`add`](Poller::add).
    pub(crate) fn change(&self, token: u64, handle: Handle<'_>, interest: Interest) -> Result<()> {
        self.registered(self.system.change(token, handle, interest))
    }

    /// Waits for nothing more at a handle.
    pub(crate) fn remove(&self, token: u64, handle: Handle<'_>) {
        // It fails if it was never added, for want of memory.
        let _ = self.registered(self.system.remove(token, handle));
    }

    fn registered(&self, done: rustix::io::Result<()>) -> Result<()> {
        if S::IS_SNAPSHOT {
            self.waker.wake();
        }
        done.map_err(failed)
    }

    /// Waits until there is an event at a handle, or until [`wake`](Poller::wake) is called. It may return early
    /// without an event, so callers check their deadlines.
    ///
    /// # Errors
    /// [`Code::Io`], if the system has no memory for it.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<Readies> {
        let mut readies = Readies::new();
        let timeout = if self.await_told() { timeout.min(LONGEST) } else { Duration::ZERO };
        let waited = self.system.wait(timeout, &mut readies);
        self.take_told(&mut readies);
        waited.map_err(failed)?;
        if let Some(at) = readies.iter().position(|ready| ready.token == WOKEN) {
            readies.swap_remove(at);
            self.waker.drain();
        }
        Ok(readies)
    }

    /// Something can be done where there is no handle.
    pub(crate) fn tell(&self, token: u64) {
        let mut told = self.told();
        if !told.tokens.contains(&token) {
            told.tokens.push(token);
        }
        if std::mem::take(&mut told.is_awaited) {
            self.waker.wake();
        }
    }

    /// From now on, the thread that calls this is woken by what is told. `false` if there is something already.
    fn await_told(&self) -> bool {
        let mut told = self.told();
        told.is_awaited = told.tokens.is_empty();
        told.is_awaited
    }

    fn take_told(&self, readies: &mut Readies) {
        let mut told = self.told();
        told.is_awaited = false;
        readies.extend(told.tokens.drain(..).map(|token| Readiness { token, read: true, write: true }));
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the waiting of the thread that waits, or the next.
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }
}

fn failed(error: Errno) -> Error {
    Error::new(Code::Io).found(format_args!("waiting for connections: {error}"))
}

/// Makes a descriptor readable, so that a program that waits for it continues.
///
/// ```ignore
/// state.change();   // first what the other shall see,
/// waker.wake();     // then this; and the other, once the descriptor can be read:
/// waker.drain();    // first this,
/// state.look();     // then what there is to see.
/// ```
#[derive(Debug)]
pub(crate) struct Waker {
    /// Whether a byte is in the pipe, or about to be. Then another call costs no system call.
    pending: AtomicBool,
    reader: Reader,
    writer: Writer,
}

impl Waker {
    pub(crate) fn new() -> Result<Waker> {
        let (reader, writer) =
            system::pipe().map_err(|error| Error::new(Code::Io).found(format_args!("making a pipe: {error}")))?;
        Ok(Waker { pending: AtomicBool::new(false), reader, writer })
    }

    /// Makes it readable until it is drained.
    pub(crate) fn wake(&self) {
        if !self.pending.swap(true, Ordering::AcqRel) {
            // The one way to fail is that the pipe is full, and then it can be read already.
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
        // This must come last. If it came first, a byte that is written in between would be removed while `pending`
        // stays true, and nobody would ever be woken again. In this order, a byte may remain, which at worst wakes a
        // thread once too often.
        self.pending.swap(false, Ordering::AcqRel);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    /// Longer than anything takes: who waits for so long has failed.
    const AGES: Duration = Duration::from_secs(60);

    /// Waits until something can be done at a handle.
    pub(crate) fn await_it(handle: Handle<'_>, interest: Interest) {
        let poller = Poller::<System>::new().unwrap();
        poller.add(0, handle, interest).unwrap();
        while poller.wait(AGES).unwrap().is_empty() {}
    }

    /// Whether a descriptor can be read now.
    pub(crate) fn is_readable(descriptor: impl AsFd) -> bool {
        let poller = Poller::<table::System>::new().unwrap();
        poller.add(0, descriptor.as_fd().into(), Interest::Read).unwrap();
        poller.waker.drain();
        !poller.wait(Duration::ZERO).unwrap().is_empty()
    }

    fn now<S: Waiting>(poller: &Poller<S>) -> Vec<(u64, bool, bool)> {
        // What was registered may have woken it.
        poller.waker.drain();
        let mut all: Vec<_> =
            poller.wait(Duration::ZERO).unwrap().iter().map(|it| (it.token, it.read, it.write)).collect();
        all.sort_unstable();
        all
    }

    fn what_is_waited_for_is_told_and_nothing_else<S: Waiting>() {
        let (near, far) = UnixStream::pair().unwrap();
        let (poller, handle) = (Poller::<S>::new().unwrap(), Handle::from(near.as_fd()));
        poller.add(7, handle, Interest::Read).unwrap();
        assert_eq!(now(&poller), []);
        poller.change(7, handle, Interest::Both).unwrap();
        assert_eq!(now(&poller), [(7, false, true)]);
        (&far).write_all(b"x").unwrap();
        assert_eq!(now(&poller), [(7, true, true)]);
        poller.change(7, handle, Interest::Read).unwrap();
        // Until it is dealt with.
        assert_eq!(now(&poller), [(7, true, false)]);
        assert_eq!(now(&poller), [(7, true, false)]);
        (&near).read_exact(&mut [0]).unwrap();
        assert_eq!(now(&poller), []);
        drop(far);
        assert!(matches!(now(&poller)[..], [(7, true, _)]));
        poller.remove(7, handle);
        assert_eq!(now(&poller), []);
    }

    fn what_is_waited_for_once_is_told_once<S: Waiting>() {
        let (near, far) = UnixStream::pair().unwrap();
        let (poller, handle) = (Poller::<S>::new().unwrap(), Handle::from(near.as_fd()));
        poller.add(7, handle, Interest::WriteOnce).unwrap();
        assert_eq!(now(&poller), [(7, false, true)]);
        assert_eq!(now(&poller), []);
        (&far).write_all(b"x").unwrap();
        assert_eq!(now(&poller), []);
        poller.change(7, handle, Interest::ReadOnce).unwrap();
        assert_eq!(now(&poller), [(7, true, false)]);
        assert_eq!(now(&poller), []);
    }

    fn of_many_those_are_told_that_are_ready<S: Waiting>() {
        let poller = Poller::<S>::new().unwrap();
        let pairs: Vec<_> = (0..200).map(|_| UnixStream::pair().unwrap()).collect();
        for (token, (near, _)) in pairs.iter().enumerate() {
            poller.add(token as u64, near.as_fd().into(), Interest::Read).unwrap();
        }
        (&pairs[31].1).write_all(b"x").unwrap();
        assert_eq!(now(&poller), [(31, true, false)]);
        pairs.iter().for_each(|(_, far)| {
            let mut far = far;
            far.write_all(b"x").unwrap()
        });
        let mut told = std::collections::BTreeSet::new();
        while told.len() < pairs.len() {
            for (token, read, _) in now(&poller) {
                assert!(read);
                told.insert(token);
                poller.remove(token, pairs[token as usize].0.as_fd().into());
            }
        }
        assert_eq!(now(&poller), []);
    }

    fn a_call_ends_waiting_and_is_not_lost<S: Waiting>() {
        let (poller, done) = (Poller::<S>::new().unwrap(), AtomicBool::new(false));
        poller.wake();
        poller.wait(AGES).unwrap();
        // Shorter than a millisecond, and over.
        poller.wait(Duration::from_micros(100)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        poller.wake();
                    }
                });
            }
            let begun = std::time::Instant::now();
            (0..20_000).for_each(|_| assert!(poller.wait(AGES).unwrap().is_empty()));
            done.store(true, Ordering::Relaxed);
            assert!(begun.elapsed() < AGES, "a call was lost");
        });
    }

    macro_rules! on_every_system {
        ($($name:ident)*) => {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            mod with_epoll {
                $(#[test] fn $name() { super::$name::<super::epoll::System>() })*
            }
            #[cfg(target_vendor = "apple")]
            mod with_kqueue {
                $(#[test] fn $name() { super::$name::<super::System>() })*
            }
            mod with_a_model_of_kqueue {
                use crate::transport::poll::kqueue;
                $(#[test] fn $name() { super::$name::<kqueue::System<kqueue::model::Model>>() })*
            }
            mod with_poll {
                $(#[test] fn $name() { super::$name::<super::table::System>() })*
            }
        };
    }

    on_every_system! {
        what_is_waited_for_is_told_and_nothing_else
        what_is_waited_for_once_is_told_once
        of_many_those_are_told_that_are_ready
        a_call_ends_waiting_and_is_not_lost
    }

    #[test]
    fn a_waker_is_ready_from_wake_to_drain() {
        let waker = Waker::new().unwrap();
        assert!(!is_readable(&waker));
        for _ in 0..3 {
            (0..200_000).for_each(|_| waker.wake());
            assert!(is_readable(&waker));
            waker.drain();
            assert!(!is_readable(&waker));
        }
    }
}
