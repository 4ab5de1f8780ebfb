//! Writes descriptions into the cache on disk, on a thread of its own: a disk that is slow, or hangs, delays no answer. `cache` has the
//! files, and `search` hands the descriptions over.

use isoform_core::Token;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most descriptions that wait for the disk. Further ones are not kept.
const WAITING: usize = 1024;
/// How long the end of a program waits for the disk. Most often, everything is written already.
const PATIENCE: Duration = Duration::from_secs(10);

/// A description that goes to the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) token: Token,
    pub(super) description: Vec<u8>,
    /// The server that has stored it, if that is noted too.
    pub(super) stored_at: Option<Box<str>>,
}

/// Writes one to the disk.
type Write = dyn Fn(&Found) + Send + Sync;

/// Writes descriptions. It has a thread only while there are some to write.
pub(super) struct Keeper {
    shared: Arc<Shared>,
    patience: Duration,
}

struct Shared {
    write: Box<Write>,
    queue: Mutex<Queue>,
    /// Tells that the thread has ended.
    done: Condvar,
}

#[derive(Default)]
struct Queue {
    /// The first one is what the thread writes.
    found: VecDeque<Arc<Found>>,
    /// Whether a thread writes.
    is_written: bool,
}

impl Keeper {
    pub(super) fn new(write: impl Fn(&Found) + Send + Sync + 'static) -> Keeper {
        let shared = Shared { write: Box::new(write), queue: Mutex::default(), done: Condvar::new() };
        Keeper { shared: Arc::new(shared), patience: PATIENCE }
    }

    /// A description that waits for the disk.
    pub(super) fn waiting(&self, token: Token) -> Option<Vec<u8>> {
        let queue = self.shared.queue();
        queue.found.iter().find(|found| found.token == token).map(|found| found.description.clone())
    }

    /// Whether it waits for the disk to be noted that this server has stored a format.
    pub(super) fn is_stored_at(&self, token: Token, url: &str) -> bool {
        let queue = self.shared.queue();
        queue.found.iter().any(|found| found.token == token && found.stored_at.as_deref() == Some(url))
    }

    /// Hands a description to the thread, which writes it if the disk takes it. Never waits for the disk.
    pub(super) fn keep(&self, found: Found) {
        let mut queue = self.shared.queue();
        if queue.found.len() < WAITING {
            queue.found.push_back(Arc::new(found));
        }
        if !queue.is_written {
            let shared = self.shared.clone();
            let thread = std::thread::Builder::new().name("isoform-cache".into()).stack_size(256 << 10);
            queue.is_written = thread.spawn(move || shared.write_all()).is_ok();
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self) {
        let ends = Ends(self);
        let mut next = ends.next(false);
        while let Some(found) = next {
            (self.write)(&found);
            next = ends.next(true);
        }
    }
}

/// Notes the end of the thread, also by a panic.
struct Ends<'a>(&'a Shared);

impl Ends<'_> {
    /// What is written next. If there is nothing, another thread may begin from then on.
    fn next(&self, has_written: bool) -> Option<Arc<Found>> {
        let mut queue = self.0.queue();
        if has_written {
            queue.found.pop_front();
        }
        let next = queue.found.front().cloned();
        queue.is_written = next.is_some();
        next
    }
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut queue = self.0.queue();
            queue.found.pop_front();
            queue.is_written = false;
        }
        self.0.done.notify_all();
    }
}

/// Waits for the disk. One that hangs does not keep the program.
impl Drop for Keeper {
    fn drop(&mut self) {
        let queue = self.shared.queue();
        drop(self.shared.done.wait_timeout_while(queue, self.patience, |queue| queue.is_written));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn found(byte: u8) -> Found {
        Found { token: Token::from_bytes([byte; 16]), description: vec![byte], stored_at: None }
    }

    #[test]
    fn what_was_found_is_written_before_the_end() {
        let written: Arc<Mutex<Vec<Found>>> = Arc::default();
        let list = written.clone();
        let keeper = Keeper::new(move |found| list.lock().unwrap().push(found.clone()));
        let found: Vec<Found> = (0..100).map(found).collect();
        found.iter().for_each(|found| keeper.keep(found.clone()));
        drop(keeper);
        assert_eq!(*written.lock().unwrap(), found);
    }

    #[test]
    fn a_disk_that_hangs_delays_nobody() {
        let ((tell, told), (hold, held)) = (channel(), channel::<()>());
        let held = Mutex::new(held);
        let mut keeper = Keeper::new(move |found| {
            tell.send(found.token).unwrap();
            // Until the end of this test.
            _ = held.lock().unwrap().recv();
        });
        for _ in 0..3 * WAITING {
            keeper.keep(found(0));
        }
        assert_eq!(told.recv(), Ok(Token::ZERO), "the first one has come to the disk, and stays there");
        assert!(keeper.shared.queue().found.len() <= WAITING);
        assert_eq!(keeper.waiting(Token::ZERO), Some(vec![0]), "whoever asks meanwhile gets it");
        keeper.patience = Duration::from_millis(1);
        drop(keeper);
        assert!(told.try_recv().is_err(), "nothing came behind it");
        drop(hold);
    }

    #[test]
    fn a_panic_stops_nobody() {
        let (tell, told) = channel();
        let keeper = Keeper::new(move |found| {
            tell.send(found.token).unwrap();
            assert!(found.token != Token::ZERO, "a defect");
        });
        let other = found(7);
        keeper.keep(found(0));
        assert_eq!(told.recv(), Ok(Token::ZERO));
        // Another thread writes, as soon as the one that panicked has ended.
        while told.try_recv() != Ok(other.token) {
            keeper.keep(other.clone());
            std::thread::yield_now();
        }
    }
}
