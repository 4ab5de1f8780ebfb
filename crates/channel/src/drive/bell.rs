//! Wakes a thread that drives the node while it waits, or a task.

use crate::transport::poll::Waker;
use isoform::Result;
use std::iter::successors;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task;

/// A sink's, a source's or an opener's way to be told that there is something to look at.
pub(crate) struct Bell {
    pub(crate) waker: Waker,
    /// A thread has it, to wait for it now and then.
    taken: AtomicBool,
    /// That thread waits, or is about to.
    awaited: AtomicBool,
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
    pub(crate) fn new() -> Result<Bell> {
        Ok(Bell {
            waker: Waker::new()?,
            taken: AtomicBool::new(false),
            awaited: AtomicBool::new(false),
            next: OnceLock::new(),
            task: Mutex::new(None),
            has_task: AtomicBool::new(false),
            brisk: AtomicBool::new(false),
            heard: AtomicBool::new(false),
            descriptor: OnceLock::new(),
        })
    }

    /// Tells whoever waits to look again. Called with the node's state locked, in which there is something to see.
    /// A task is to be woken once the lock is released.
    #[inline]
    #[must_use]
    pub(crate) fn ring(&self) -> Option<task::Waker> {
        self.wake_threads();
        if let Some(descriptor) = self.descriptor.get() {
            descriptor.wake();
        }
        if self.has_task.load(Ordering::SeqCst) { self.take_task() } else { None }
    }

    /// Tells the threads alone.
    #[inline]
    pub(crate) fn wake_threads(&self) {
        for bell in successors(Some(self), |bell| bell.next.get().map(Arc::as_ref)) {
            if bell.awaited.load(Ordering::SeqCst) {
                bell.waker.wake();
            }
        }
    }

    /// Whether a thread waits.
    pub(crate) fn is_awaited(&self) -> bool {
        successors(Some(self), |bell| bell.next.get().map(Arc::as_ref)).any(|bell| bell.awaited.load(Ordering::SeqCst))
    }

    /// What a thread waits for that is to be told of what this tells: this itself, or if another thread has it, one of its own.
    /// To be given [back](Bell::give_back).
    #[inline]
    pub(crate) fn take(self: &Arc<Bell>) -> Result<&Arc<Bell>> {
        let mut bell = self;
        while bell.taken.swap(true, Ordering::Acquire) {
            bell = match bell.next.get() {
                Some(next) => next,
                None => {
                    let next = Arc::new(Bell::new()?);
                    bell.next.get_or_init(|| next) // or another thread's
                }
            };
        }
        Ok(bell)
    }

    /// The thread does not wait for it any more.
    #[inline]
    pub(crate) fn give_back(&self) {
        self.await_it(false);
        self.taken.store(false, Ordering::Release);
    }

    #[cold]
    fn take_task(&self) -> Option<task::Waker> {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_task.store(false, Ordering::SeqCst);
        task.take()
    }

    /// A descriptor that can be read whenever there may be something to look at, and from now on, as there may be already.
    pub(crate) fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        if self.descriptor.get().is_none() {
            let descriptor = Waker::new()?;
            descriptor.wake();
            let _ = self.descriptor.set(descriptor); // or another thread has
        }
        Ok(self.descriptor.get().unwrap_or(&self.waker).as_fd())
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

    /// Whether anybody listens to the source whose bell this is.
    #[inline]
    pub(crate) fn is_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    pub(crate) fn hear(&self, heard: bool) {
        self.heard.store(heard, Ordering::Relaxed);
    }

    /// Whether from now on it is rung for a thread. The state is to be looked at after this.
    pub(crate) fn await_it(&self, awaited: bool) {
        // Who is told too often looks once more; who is told too seldom waits for ever.
        self.awaited.store(awaited, if awaited { Ordering::SeqCst } else { Ordering::Release });
    }

    /// From now on it is rung for a task, once. The state is to be looked at after this.
    pub(crate) fn await_task(&self, task: &task::Waker) {
        let mut place = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(task.clone());
        self.has_task.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::poll::{Interest, entry, wait};
    use std::time::Duration;

    /// Whether it was rung, which is then undone.
    fn was_rung(bell: &Bell) -> bool {
        let rung = wait(&mut [entry(bell.waker.as_fd(), Interest::Read)], Some(Duration::ZERO)).unwrap();
        bell.waker.drain();
        rung
    }

    #[test]
    fn every_thread_that_waits_is_told_whoever_else_waits_or_has_left() {
        let bell = Arc::new(Bell::new().unwrap());
        let [one, two, three] = [(); 3].map(|()| bell.take().unwrap());
        [one, two, three].iter().for_each(|bell| bell.await_it(true));
        assert!(bell.ring().is_none());
        assert_eq!([one, two, three].map(|bell| was_rung(bell)), [true; 3]);
        one.give_back();
        three.give_back();
        assert!(bell.ring().is_none());
        assert_eq!([one, two, three].map(|bell| was_rung(bell)), [false, true, false]);
        assert!(Arc::ptr_eq(bell.take().unwrap(), one), "it is free again");
        assert!(bell.is_awaited());
        two.give_back();
        assert!(!bell.is_awaited());
    }
}
