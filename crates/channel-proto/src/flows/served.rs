//! The subscriptions of the sinks at the other side of a link, by their numbers and by their sources: so a node need not go
//! through all of them for each new one.

use crate::keys::{SendingKey, SourceKey};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(super) struct Served {
    by_number: BTreeMap<u32, (SendingKey, SourceKey)>,
    by_source: BTreeSet<(SourceKey, u32)>,
}

impl Served {
    pub(super) fn insert(&mut self, number: u32, at: SendingKey, source: SourceKey) {
        self.remove(number);
        self.by_number.insert(number, (at, source));
        self.by_source.insert((source, number));
    }

    pub(super) fn remove(&mut self, number: u32) {
        if let Some((_, source)) = self.by_number.remove(&number) {
            self.by_source.remove(&(source, number));
        }
    }

    pub(super) fn get(&self, number: u32) -> Option<SendingKey> {
        self.by_number.get(&number).map(|(at, _)| *at)
    }

    /// The numbers of the subscriptions to one source.
    pub(super) fn of_source(&self, source: SourceKey) -> impl Iterator<Item = u32> {
        self.by_source.range((source, 0)..=(source, u32::MAX)).map(|(_, number)| *number)
    }

    /// The numbers of all, in ascending order.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.by_number.keys().copied()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = SendingKey> {
        self.by_number.values().map(|(at, _)| *at)
    }

    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }
}
