//! Wakes those who wait for something: threads, a task, or a program that waits for a descriptor.
//!
//! A thread rings a bell with the node's state locked, in which there is something to see, and whoever waits looks with it locked. So
//! what is noted here of those who wait needs no ordering of its own.

use super::waiter::{Rung, Waiter};
use crate::transport::poll::{Poller, Waker};
use isoform::Result;
use std::iter::successors;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task;

/// A sink's, a source's or an opener's way to be told that there is something to look at.
#[derive(Debug)]
pub(crate) struct Bell {
    pub(crate) waiter: Arc<Waiter>,
    /// A thread has the waiter, to wait with it now and then.
    taken: AtomicBool,
    /// For another thread that waits for the same at the same time: it is rung along with this one.
    next: OnceLock<Arc<Bell>>,
    task: Mutex<Option<task::Waker>>,
    has_task: AtomicBool,
    /// Whether what was waited for last came over a connection, and soon.
    brisk: AtomicBool,
    /// Of a source's bell: whether anybody listens.
    heard: AtomicBool,
    /// For a program that waits for many things at once: readable from when it is rung until nothing was found.
    descriptor: OnceLock<Waker>,
}

impl Bell {
    pub(crate) fn new() -> Arc<Bell> {
        Arc::new(Bell {
            waiter: Arc::new(Waiter::new()),
            taken: AtomicBool::new(false),
            next: OnceLock::new(),
            task: Mutex::new(None),
            has_task: AtomicBool::new(false),
            brisk: AtomicBool::new(false),
            heard: AtomicBool::new(false),
            descriptor: OnceLock::new(),
        })
    }

    /// Tells whoever waits to look again. A task is to be woken once the lock is released.
    #[inline]
    #[must_use]
    pub(crate) fn ring(&self, poller: &Poller) -> Option<task::Waker> {
        self.wake_threads(poller);
        if let Some(descriptor) = self.descriptor.get() {
            descriptor.wake();
        }
        if self.has_task.load(Ordering::Relaxed) { self.take_task() } else { None }
    }

    /// Tells the threads alone.
    #[inline]
    pub(crate) fn wake_threads(&self, poller: &Poller) {
        for bell in self.all() {
            if bell.waiter.ring() == Rung::WakePoller {
                poller.wake();
            }
        }
    }

    /// Whether a thread waits.
    pub(crate) fn is_awaited(&self) -> bool {
        self.all().any(|bell| bell.waiter.is_awaited())
    }

    /// This bell, and those of further threads.
    fn all(&self) -> impl Iterator<Item = &Bell> {
        successors(Some(self), |bell| bell.next.get().map(Arc::as_ref))
    }

    /// What a thread waits with that is to be told of what this tells: this itself, or if another thread has it, one of its own.
    /// To be given [back](Bell::give_back).
    #[inline]
    pub(crate) fn take(self: &Arc<Bell>) -> &Arc<Bell> {
        let mut bell = self;
        // What the thread before has left of it is acquired.
        while bell.taken.swap(true, Ordering::Acquire) {
            bell = bell.next.get_or_init(Bell::new);
        }
        bell
    }

    /// The thread does not wait with it any more.
    #[inline]
    pub(crate) fn give_back(&self) {
        self.waiter.leave();
        self.taken.store(false, Ordering::Release);
    }

    #[cold]
    fn take_task(&self) -> Option<task::Waker> {
        self.has_task.store(false, Ordering::Relaxed);
        self.task.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// From now on it is rung for a task, once. Called with the node's state locked, in which there was nothing to see.
    pub(crate) fn await_task(&self, task: &task::Waker) {
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.clone());
        self.has_task.store(true, Ordering::Relaxed);
    }

    /// A descriptor that can be read whenever there may be something to look at, and from now on, as there may be already.
    pub(crate) fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        if let Some(descriptor) = self.descriptor.get() {
            return Ok(descriptor.as_fd());
        }
        let descriptor = Waker::new()?;
        descriptor.wake();
        Ok(self.descriptor.get_or_init(|| descriptor).as_fd()) // or another thread's
    }

    /// Whether a program waits for its descriptor.
    #[inline]
    pub(crate) fn has_descriptor(&self) -> bool {
        self.descriptor.get().is_some()
    }

    /// Nothing was found, and nobody needs to look again before it is rung. Called with the node's state locked, in which there
    /// was nothing to see.
    pub(crate) fn found_nothing(&self) {
        if let Some(descriptor) = self.descriptor.get() {
            descriptor.calm();
        }
    }

    pub(crate) fn is_brisk(&self) -> bool {
        self.brisk.load(Ordering::Relaxed)
    }

    pub(crate) fn be_brisk(&self, brisk: bool) {
        self.brisk.store(brisk, Ordering::Relaxed);
    }

    /// Whether anybody listens to the source whose bell this is. It may be some nanoseconds late.
    #[inline]
    pub(crate) fn is_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    pub(crate) fn hear(&self, heard: bool) {
        self.heard.store(heard, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_that_waits_is_told_whoever_else_waits_or_has_left() {
        let (bell, poller) = (Bell::new(), Poller::new().unwrap());
        let [one, two, three] = [(); 3].map(|()| bell.take());
        let all = [one, two, three];
        all.iter().for_each(|bell| _ = bell.waiter.look());
        assert!(bell.ring(&poller).is_none());
        assert_eq!(all.map(|bell| bell.waiter.look()), [true; 3]);
        one.give_back();
        three.give_back();
        assert!(bell.ring(&poller).is_none());
        assert_eq!(all.map(|bell| bell.waiter.look()), [false, true, false]);
        [one, three].iter().for_each(|bell| bell.waiter.leave());
        assert!(Arc::ptr_eq(bell.take(), one), "it is free again");
        assert!(bell.is_awaited());
        two.give_back();
        assert!(!bell.is_awaited());
    }
}
