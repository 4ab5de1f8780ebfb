//! Long bodies that are under way to the nodes of a principal (`spec/channel.md`, "Limits"). A body is kept from its first part until the
//! last one is written, so whoever reads nothing would have this node keep another body for each subscription.
//!
//! A body counts as long as anything holds it: the subscription that sends it, or output that is not written, which other threads may have.
//! It counts once, however many subscriptions of the principal send it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Bodies that are not there any more are forgotten when there are twice as many as there were then, and so many.
const MANY: usize = 64;

/// The long bodies of the nodes of a principal.
#[derive(Clone, Debug)]
pub(crate) struct Transit(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    /// The bytes of all. They order nothing.
    bytes: AtomicUsize,
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    bodies: BTreeMap<Which, Weak<Counted>>,
    many: usize,
}

/// Which body it is: the source, the number of the event, and what was made of it.
pub(crate) type Which = [u64; 4];

/// A body that is under way, or none that counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried(#[expect(dead_code, reason = "it counts while it is there")] Option<Arc<Counted>>);

#[derive(Debug)]
struct Counted {
    bytes: usize,
    of: Arc<Shared>,
}

impl Transit {
    /// So many bytes may be under way, or one body that is longer.
    pub(crate) fn new(most: u64) -> Transit {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Transit(Arc::new(Shared { most, bytes: AtomicUsize::new(0), all: Mutex::default() }))
    }

    /// Counts a body, unless it counts already; `None` if there is no room for it.
    pub(crate) fn admit(&self, which: Which, bytes: usize) -> Option<Carried> {
        let Transit(shared) = self;
        let mut all = shared.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counted) = all.bodies.get(&which).and_then(Weak::upgrade) {
            return Some(Carried(Some(counted)));
        }
        let before = shared.bytes.load(Ordering::Relaxed);
        if before > 0 && before.saturating_add(bytes) > shared.most {
            return None;
        }
        shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        if all.bodies.len() >= all.many.max(MANY) {
            all.bodies.retain(|_, body| body.strong_count() > 0);
            all.many = 2 * all.bodies.len();
        }
        let counted = Arc::new(Counted { bytes, of: shared.clone() });
        all.bodies.insert(which, Arc::downgrade(&counted));
        Some(Carried(Some(counted)))
    }

    /// Whether half of it is free, so that bodies for which there was no room may try again.
    pub(crate) fn is_half_free(&self) -> bool {
        self.0.bytes.load(Ordering::Relaxed) <= self.0.most / 2
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.of.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_counts_once_and_as_long_as_somebody_holds_it() {
        let transit = Transit::new(100);
        let which = |event| [1, event, 0, 0];
        let (first, again) = (transit.admit(which(0), 60).unwrap(), transit.admit(which(0), 60).unwrap());
        assert!(transit.admit(which(1), 60).is_none() && transit.admit(which(2), 40).is_some());
        drop(first);
        assert!(transit.admit(which(1), 60).is_none() && !transit.is_half_free());
        drop(again);
        assert!(transit.is_half_free());
        // One that is longer than all there is comes alone.
        let long = transit.admit(which(3), 1_000).unwrap();
        assert!(transit.admit(which(4), 1).is_none());
        drop(long);
        (0..1_000).for_each(|event| drop(transit.admit(which(event), 1).unwrap()));
        assert!(transit.0.all.lock().unwrap().bodies.len() <= MANY);
    }
}
