//! Wakes whatever waits for something: threads, a task, or a program that polls a descriptor.
//!
//! A thread rings a bell while it holds the lock of the node's state, after it changed that state. A waiter looks at
//! the state under the same lock. So the notes here about waiters need no memory ordering of their own.

use super::waiter::{Rung, Waiter};
use crate::transport::poll::{Poller, Waker};
use isoform::Result;
use rustix::fd::{AsFd, BorrowedFd};
use std::iter::successors;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task;

/// Tells a sink, a source or a caller of `open` that there may be something new.
#[derive(Debug)]
pub(crate) struct Bell {
    pub(crate) waiter: Arc<Waiter>,
    /// Whether a thread currently waits with the waiter.
    taken: AtomicBool,
    /// The bell of another thread that waits for the same thing at the same time. Both are rung.
    next: OnceLock<Arc<Bell>>,
    task: Mutex<Option<task::Waker>>,
    has_task: AtomicBool,
    /// Whether the last awaited thing came over a connection, and soon.
    brisk: AtomicBool,
    /// The descriptor for a program that polls. It becomes readable when the bell rings, and stays so until nothing was
    /// found.
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
            descriptor: OnceLock::new(),
        })
    }

    /// Tells all waiters to look again. A task must be woken after the lock is released.
    #[inline]
    #[must_use]
    pub(crate) fn ring(&self, poller: &Poller) -> Option<task::Waker> {
        self.wake_threads(poller);
        if let Some(descriptor) = self.descriptor.get() {
            descriptor.wake();
        }
        if self.has_task.load(Ordering::Relaxed) { self.take_task() } else { None }
    }

    /// Tells only the threads.
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

    /// This bell, and the bells of further threads.
    fn all(&self) -> impl Iterator<Item = &Bell> {
        successors(Some(self), |bell| bell.next.get().map(Arc::as_ref))
    }

    /// The bell with which a thread waits for what this bell tells: this one, or if another thread uses it, one of its
    /// own. [Give it back](Bell::give_back) afterwards.
    #[inline]
    pub(crate) fn take(self: &Arc<Bell>) -> &Arc<Bell> {
        let mut bell = self;
        // Acquires the changes of the thread that used it before.
        while bell.taken.swap(true, Ordering::Acquire) {
            bell = bell.next.get_or_init(Bell::new);
        }
        bell
    }

    /// The thread no longer waits with it.
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

    /// Rings for a task once. The caller holds the lock of the state, and has found nothing there.
    pub(crate) fn await_task(&self, task: &task::Waker) {
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.clone());
        self.has_task.store(true, Ordering::Relaxed);
    }

    /// A descriptor that is readable whenever there may be something new. It is readable from the start, since there
    /// may be something already.
    pub(crate) fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        if let Some(descriptor) = self.descriptor.get() {
            return Ok(descriptor.as_fd());
        }
        let descriptor = Waker::new()?;
        descriptor.wake();
        Ok(self.descriptor.get_or_init(|| descriptor).as_fd()) // or another thread's
    }

    /// Whether a program polls the descriptor.
    #[inline]
    pub(crate) fn has_descriptor(&self) -> bool {
        self.descriptor.get().is_some()
    }

    /// Nothing was found, so nobody needs to look again until the bell rings. The caller holds the lock of the state.
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
