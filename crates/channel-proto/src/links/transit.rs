//! Long bodies that are under way to the nodes of a principal (`spec/channel.md`, "Limits"). A body is kept from its first part until the
//! last one is written, so whoever reads nothing would have this node keep another body for each subscription.
//!
//! A body counts as long as anything holds it: the subscription that sends it, or output that is not written, which other threads may have.
//! It counts once, however many subscriptions of the principal send it. A node that has none under way gets one although the others have used
//! up all, as long as they all have no more than twice as much.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Bodies that are not there any more are forgotten when there are twice as many as there were then, and so many.
const MANY: usize = 64;
/// The most parts and bodies that are under way over one link, of which the other node reads nothing.
const OF_LINK: usize = 16;

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

/// A body that is under way over a link, or none that counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried(#[expect(dead_code, reason = "it counts while it is there")] Option<(Arc<Counted>, Arc<()>)>);

/// What is under way over one link.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    transit: Transit,
    /// Each of its parts and bodies has one more of this.
    those: Arc<()>,
}

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

    fn admit(&self, which: Which, bytes: usize, is_first: bool) -> Option<Arc<Counted>> {
        let Transit(shared) = self;
        let mut all = shared.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counted) = all.bodies.get(&which).and_then(Weak::upgrade) {
            return Some(counted);
        }
        let before = shared.bytes.load(Ordering::Relaxed);
        let most = if is_first { shared.most.saturating_mul(2) } else { shared.most };
        if before > 0 && before.saturating_add(bytes) > most {
            return None;
        }
        shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        if all.bodies.len() >= all.many.max(MANY) {
            all.bodies.retain(|_, body| body.strong_count() > 0);
            all.many = 2 * all.bodies.len();
        }
        let counted = Arc::new(Counted { bytes, of: shared.clone() });
        all.bodies.insert(which, Arc::downgrade(&counted));
        Some(counted)
    }

    /// Whether half of it is free, so that bodies for which there was no room may try again.
    pub(crate) fn is_half_free(&self) -> bool {
        self.0.bytes.load(Ordering::Relaxed) <= self.0.most / 2
    }
}

impl Way {
    /// A link to a node of this principal.
    pub(crate) fn new(transit: Transit) -> Way {
        Way { transit, those: Arc::default() }
    }

    /// The same link with nothing under way.
    pub(crate) fn anew(&self) -> Way {
        Way::new(self.transit.clone())
    }

    /// Counts a body, unless it counts already; `None` if there is no room for it.
    pub(crate) fn admit(&self, which: Which, bytes: usize) -> Option<Carried> {
        if !self.has_room() {
            return None;
        }
        let counted = self.transit.admit(which, bytes, self.is_free())?;
        Some(Carried(Some((counted, self.those.clone()))))
    }

    /// Whether nothing is under way.
    pub(crate) fn is_free(&self) -> bool {
        Arc::strong_count(&self.those) == 1
    }

    fn has_room(&self) -> bool {
        self.transit.0.most == usize::MAX || Arc::strong_count(&self.those) <= OF_LINK
    }

    /// What is under way to all nodes of the principal.
    pub(crate) fn transit(&self) -> &Transit {
        &self.transit
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
        let (way, which) = (Way::new(transit.clone()), |event| [1, event, 0, 0]);
        let (first, again) = (way.admit(which(0), 60).unwrap(), way.anew().admit(which(0), 60).unwrap());
        assert!(way.admit(which(1), 60).is_none() && way.admit(which(2), 40).is_some());
        drop(first);
        let other = way.admit(which(2), 40).unwrap();
        assert!(way.admit(which(1), 60).is_none() && !transit.is_half_free());
        drop((again, other));
        assert!(transit.is_half_free() && way.is_free());
        // One that is longer than all there is comes alone.
        let long = way.admit(which(3), 1_000).unwrap();
        assert!(way.admit(which(4), 1).is_none() && way.anew().admit(which(4), 1).is_none());
        drop(long);
        (0..1_000).for_each(|event| drop(way.admit(which(event), 1).unwrap()));
        assert!(transit.0.all.lock().unwrap().bodies.len() <= MANY);
    }

    #[test]
    fn a_link_without_any_gets_one_although_others_have_used_up_all() {
        let (transit, which) = (Transit::new(100), |event| [1, event, 0, 0]);
        let [greedy, honest, late] = [(); 3].map(|()| Way::new(transit.clone()));
        let all: Vec<_> = (0..).map_while(|event| greedy.admit(which(event), 10)).collect();
        assert_eq!(all.len(), 10);
        let one = honest.admit(which(100), 100).unwrap();
        assert!(honest.admit(which(101), 1).is_none(), "it has one");
        assert!(late.admit(which(102), 1).is_none(), "there is twice as much");
        drop(one);
        assert!(late.admit(which(102), 1).is_some() && honest.admit(which(101), 1).is_some());
        // And no link has very many.
        let many: Vec<_> = (0..).map_while(|event| late.admit(which(event), 0)).collect();
        assert_eq!(many.len(), OF_LINK);
    }
}
