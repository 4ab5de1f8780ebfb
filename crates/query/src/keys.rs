//! Keys, with what belongs to each, in the order of their last use. A key that takes the place of a forgotten one takes its memory, too:
//! where each record has a key of its own, nothing is allocated.

use std::hash::{BuildHasher, RandomState};

/// No key.
const NONE: u32 = u32::MAX;
/// A forgotten key keeps memory for so many bytes.
const KEPT: usize = 128;

/// The keys. Records come from others, so nobody can foretell which keys share a chain.
#[derive(Clone, Debug)]
pub(crate) struct Keys<T> {
    all: Vec<Key<T>>,
    /// The first of those whose hashes end alike, which lead to each other; there are a power of two of them.
    chains: Vec<u32>,
    /// The ends of the order.
    oldest: u32,
    latest: u32,
    /// The first of those that are forgotten.
    free: u32,
    hasher: RandomState,
}

/// Where a key is, until it is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyAt(u32);

#[derive(Clone, Debug)]
struct Key<T> {
    value: T,
    bytes: Vec<u8>,
    hash: u32,
    /// The next one of its chain.
    next: u32,
    /// Its neighbours in the order.
    older: u32,
    newer: u32,
}

impl<T: Default> Keys<T> {
    pub(crate) fn new() -> Keys<T> {
        let (all, chains) = (Vec::new(), Vec::new());
        Keys { all, chains, oldest: NONE, latest: NONE, free: NONE, hasher: RandomState::new() }
    }

    fn hash(&self, bytes: &[u8]) -> u32 {
        self.hasher.hash_one(bytes) as u32
    }

    fn chain(&mut self, hash: u32) -> &mut u32 {
        let at = hash as usize & (self.chains.len() - 1);
        &mut self.chains[at]
    }

    /// Takes a key that is known out of the order, so that it is not forgotten.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Option<KeyAt> {
        if self.chains.is_empty() {
            return None;
        }
        let hash = self.hash(bytes);
        let mut at = *self.chain(hash);
        while let Some(key) = self.all.get(at as usize) {
            if key.hash == hash && key.bytes == bytes {
                self.leave(at);
                return Some(KeyAt(at));
            }
            at = key.next;
        }
        None
    }

    /// Adds a key that is not known, outside of the order.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> KeyAt {
        let at = match self.all.get(self.free as usize) {
            Some(key) => std::mem::replace(&mut self.free, key.next),
            None => {
                let new = Key { value: T::default(), bytes: Vec::new(), hash: 0, next: NONE, older: NONE, newer: NONE };
                self.all.push(new);
                self.all.len() as u32 - 1
            }
        };
        if self.all.len() > self.chains.len() {
            self.rechain();
        }
        let hash = self.hash(bytes);
        let next = std::mem::replace(self.chain(hash), at);
        let key = &mut self.all[at as usize];
        key.bytes.clear();
        key.bytes.extend_from_slice(bytes);
        (key.hash, key.next) = (hash, next);
        KeyAt(at)
    }

    /// Twice as many chains. The key that is being added is in none yet.
    #[cold]
    fn rechain(&mut self) {
        let count = (2 * self.chains.len()).max(8);
        let known: Vec<u32> = self.chains.iter().flat_map(|&first| self.chained(first)).collect();
        self.chains = vec![NONE; count];
        for at in known {
            let hash = self.all[at as usize].hash;
            self.all[at as usize].next = std::mem::replace(self.chain(hash), at);
        }
    }

    fn chained(&self, first: u32) -> impl Iterator<Item = u32> {
        let next = |at: &u32| Some(self.all.get(*at as usize)?.next);
        std::iter::successors(Some(first), next).take_while(|&at| at != NONE)
    }

    /// What belongs to a key.
    pub(crate) fn value(&mut self, KeyAt(at): KeyAt) -> &mut T {
        &mut self.all[at as usize].value
    }

    /// A key that is not in the order becomes the latest.
    pub(crate) fn put(&mut self, KeyAt(at): KeyAt) {
        let older = std::mem::replace(&mut self.latest, at);
        let key = &mut self.all[at as usize];
        (key.older, key.newer) = (older, NONE);
        match self.all.get_mut(older as usize) {
            Some(older) => older.newer = at,
            None => self.oldest = at,
        }
    }

    fn leave(&mut self, at: u32) {
        let Key { older, newer, .. } = self.all[at as usize];
        match self.all.get_mut(older as usize) {
            Some(key) => key.newer = newer,
            None => self.oldest = newer,
        }
        match self.all.get_mut(newer as usize) {
            Some(key) => key.older = older,
            None => self.latest = older,
        }
    }

    /// Forgets the key that has gone longest without use, of those in the order. What belonged to it is there for the next one.
    pub(crate) fn forget_oldest(&mut self) -> Option<&mut T> {
        let at = self.oldest;
        let hash = self.all.get(at as usize)?.hash;
        self.leave(at);
        let (free, next) = (std::mem::replace(&mut self.free, at), self.all[at as usize].next);
        let first = *self.chain(hash);
        let before = self.chained(first).find(|&before| self.all[before as usize].next == at);
        match before {
            Some(before) => self.all[before as usize].next = next,
            None => *self.chain(hash) = next,
        }
        let key = &mut self.all[at as usize];
        key.next = free;
        if key.bytes.capacity() > KEPT {
            key.bytes = Vec::new();
        }
        Some(&mut key.value)
    }

    /// The keys in the order of their last use.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = &[u8]> {
        let first = self.all.get(self.oldest as usize);
        std::iter::successors(first, |key| self.all.get(key.newer as usize)).map(|key| &*key.bytes)
    }

    /// What belongs to the keys, and has belonged to forgotten ones, in no order.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.iter_mut().map(|key| &mut key.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_testing::mutate::Random;

    fn in_order(keys: &Keys<u64>) -> Vec<Vec<u8>> {
        keys.in_order().map(<[u8]>::to_vec).collect()
    }

    /// As a list does that is searched.
    #[test]
    fn keys_are_known_in_the_order_of_their_last_use() {
        for seed in 0..50 {
            let (mut random, mut keys) = (Random::new(seed), Keys::<u64>::new());
            let mut expected: Vec<(Vec<u8>, u64)> = Vec::new();
            for number in 0..500 {
                let bytes = vec![7; random.below(60)];
                let known = expected.iter().position(|(other, _)| *other == bytes);
                let at = keys.take(&bytes);
                assert_eq!(at.is_some(), known.is_some());
                if expected.len() > 20 || random.one_in(9) {
                    let known = known.map(|at| expected.remove(at));
                    let forgotten = (!expected.is_empty()).then(|| expected.remove(0).1);
                    assert_eq!(keys.forget_oldest().copied(), forgotten);
                    expected.extend(known);
                } else if let Some(at) = known {
                    let one = expected.remove(at);
                    expected.push(one);
                }
                let at = at.unwrap_or_else(|| {
                    let at = keys.add(&bytes);
                    *keys.value(at) = number;
                    expected.push((bytes.clone(), number));
                    at
                });
                assert_eq!(*keys.value(at), expected.last().unwrap().1);
                keys.put(at);
                assert_eq!(in_order(&keys), expected.iter().map(|(bytes, _)| bytes.clone()).collect::<Vec<_>>());
            }
            assert!(keys.all.len() <= 22);
        }
    }

    #[test]
    fn a_new_key_takes_the_place_of_a_forgotten_one() {
        let mut keys = Keys::<u64>::new();
        for number in 0..10_000u64 {
            if number >= 100 {
                keys.forget_oldest().unwrap();
            }
            assert_eq!(keys.take(&number.to_le_bytes()), None);
            let at = keys.add(&number.to_le_bytes());
            keys.put(at);
        }
        assert_eq!((keys.all.len(), keys.chains.len()), (100, 128));
        assert_eq!(keys.in_order().count(), 100);
        assert_eq!(keys.chains.clone().into_iter().flat_map(|first| keys.chained(first)).count(), 100);
        // Long ones keep no memory.
        let at = keys.add(&[0; 10_000]);
        keys.put(at);
        while keys.forget_oldest().is_some() {}
        assert!(keys.all.iter().all(|key| key.bytes.capacity() <= KEPT));
        assert_eq!(in_order(&keys).len(), 0);
    }
}
