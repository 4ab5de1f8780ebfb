//! The part that all clones of a registry share: the formats by token, and the order of their last use.

use super::recent::Key;
use crate::{Code, Error, Format, Limits, Result, Token};
use portable_atomic::{AtomicU64, Ordering};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, hash_map};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Table {
    pub(super) entries: HashMap<Token, Arc<Entry>, Key>,
    /// Every learned format, with a time that is not later than its last use.
    oldest: BinaryHeap<Reverse<(u64, Token)>>,
    /// The bytes of their descriptions together.
    pub(super) bytes: usize,
}

/// A known format.
pub(super) struct Entry {
    pub(super) format: Format,
    /// The time when its description arrived or it was looked up last; or [`FORGOTTEN`].
    used: AtomicU64,
}

/// The time of an entry that is no longer in the table.
const FORGOTTEN: u64 = u64::MAX;

impl Entry {
    fn new(format: Format, used: u64) -> Arc<Entry> {
        Arc::new(Entry { format, used: used.into() })
    }

    /// Records a use of the entry now, by the clock of its registry. Returns false if the entry was forgotten.
    #[inline]
    pub(super) fn is_used(&self, clock: &AtomicU64) -> bool {
        let (used, now) = (self.used.load(Ordering::Relaxed), clock.load(Ordering::Relaxed) + 1);
        used == now || self.note(used, now)
    }

    #[cold]
    fn note(&self, used: u64, now: u64) -> bool {
        // A faster thread has recorded a use, or has forgotten the entry.
        let noted = |used| (used < now).then_some(now);
        used != FORGOTTEN && self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, noted) != Err(FORGOTTEN)
    }

    /// Forgets the entry, if `then` was its last use.
    fn forget(&self, then: u64) -> std::result::Result<u64, u64> {
        self.used.compare_exchange(then, FORGOTTEN, Ordering::Relaxed, Ordering::Relaxed)
    }
}

impl Table {
    /// Adds a registered format.
    pub(super) fn register(&mut self, format: &Format) -> Result<()> {
        if let Some(known) = self.entries.get(&format.token()) {
            same(known, format.description().as_bytes())?;
        }
        let learned = self.oldest.len();
        self.oldest.retain(|Reverse((_, token))| *token != format.token());
        self.bytes -= (learned - self.oldest.len()) * length(format);
        self.entries.entry(format.token()).or_insert_with(|| Entry::new(format.clone(), 0));
        Ok(())
    }

    /// Adds a learned format within the limits, unless another thread has added it already.
    pub(super) fn learned(&mut self, format: Format, used: u64, limits: &Limits) -> Arc<Entry> {
        let token = format.token();
        match self.entries.entry(token) {
            hash_map::Entry::Occupied(known) => known.get().clone(),
            hash_map::Entry::Vacant(place) => {
                self.oldest.push(Reverse((used, token)));
                self.bytes += length(&format);
                let entry = place.insert(Entry::new(format, used)).clone();
                self.evict(limits);
                entry
            }
        }
    }

    /// Forgets the least recently used formats until the limits hold. If an entry of the heap was used since it was put
    /// there, it goes back with the time of its last use. Each use causes that at most once.
    fn evict(&mut self, limits: &Limits) {
        while self.oldest.len() > limits.formats || self.bytes > limits.registry {
            let Some(Reverse((then, token))) = self.oldest.pop() else { return };
            let Some(entry) = self.entries.get(&token) else { continue };
            match entry.forget(then) {
                Err(used) => self.oldest.push(Reverse((used, token))),
                Ok(_) => {
                    self.bytes -= length(&entry.format);
                    self.entries.remove(&token);
                }
            }
        }
    }
}

/// The number of bytes of a format's description.
pub(super) fn length(format: &Format) -> usize {
    format.description().as_bytes().len()
}

/// A token is half of a hash. If two descriptions ever have the same token, the second is refused.
pub(super) fn same(known: &Entry, description: &[u8]) -> Result<()> {
    if known.format.description().as_bytes() == description {
        return Ok(());
    }
    let error = Error::new(Code::TokenMismatch).expected(format_args!("the description of {:?}", known.format));
    Err(error.found("another description with this token"))
}
