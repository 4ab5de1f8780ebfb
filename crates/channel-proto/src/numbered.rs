//! Containers that are indexed by one type of key only, so that the number of one thing cannot be used for another.
//!
//! [`Numbered`] never reuses a number. [`Slots`] reuses dense numbers, for things whose users all learn in time that a
//! thing is gone; a key that counts reuses finds nothing even if a user does not. [`Beside`] holds what others than the
//! owner store about such a thing.

use crate::keys::Key;
use slab::Slab;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// Objects by keys whose numbers are never reused: the key of a removed object finds nothing.
pub(crate) struct Numbered<K, T> {
    all: BTreeMap<u32, T>,
    next: u32,
    keys: PhantomData<K>,
}

/// Numbers are below this one, since requests on the wire use a further bit.
const LIMIT: u32 = 1 << 31;

impl<K: Key, T> Numbered<K, T> {
    pub(crate) fn new() -> Self {
        Numbered { all: BTreeMap::new(), next: 0, keys: PhantomData }
    }

    pub(crate) fn insert(&mut self, thing: T) -> K {
        // After two billions, numbers start again. Those still in use are skipped.
        while self.all.contains_key(&self.next) {
            self.next = (self.next + 1) % LIMIT;
        }
        let number = self.next;
        self.next = (number + 1) % LIMIT;
        self.all.insert(number, thing);
        K::of(number, 0)
    }

    #[inline]
    pub(crate) fn get(&self, key: K) -> Option<&T> {
        self.all.get(&key.number())
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut T> {
        self.all.get_mut(&key.number())
    }

    pub(crate) fn remove(&mut self, key: K) -> Option<T> {
        self.all.remove(&key.number())
    }

    pub(crate) fn contains(&self, key: K) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// By ascending number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &T)> {
        self.all.iter().map(|(&number, thing)| (K::of(number, 0), thing))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut T)> {
        self.all.iter_mut().map(|(&number, thing)| (K::of(number, 0), thing))
    }

    pub(crate) fn keys(&self) -> Vec<K> {
        self.all.keys().map(|&number| K::of(number, 0)).collect()
    }
}

impl<K: Key, T> Index<K> for Numbered<K, T> {
    type Output = T;

    #[inline]
    fn index(&self, key: K) -> &T {
        &self.all[&key.number()]
    }
}

impl<K: Key, T> IndexMut<K> for Numbered<K, T> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        self.get_mut(key).unwrap_or_else(|| panic!("there is no {key:?}"))
    }
}

/// Objects in dense places, each with its key.
pub(crate) struct Slots<K, T> {
    all: Slab<(K, T)>,
    /// The number of objects that there ever were.
    turn: u32,
}

impl<K: Key, T> Slots<K, T> {
    pub(crate) fn new() -> Self {
        Slots { all: Slab::new(), turn: 0 }
    }

    /// The key of the next object that is inserted.
    pub(crate) fn vacant_key(&self) -> K {
        K::of(self.all.vacant_key() as u32, self.turn)
    }

    pub(crate) fn insert(&mut self, thing: T) -> K {
        let key = self.vacant_key();
        self.turn = self.turn.wrapping_add(1);
        self.all.insert((key, thing));
        key
    }

    #[inline]
    pub(crate) fn get(&self, key: K) -> Option<&T> {
        self.all.get(place(key)).filter(|(own, _)| *own == key).map(|(_, thing)| thing)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut T> {
        self.all.get_mut(place(key)).filter(|(own, _)| *own == key).map(|(_, thing)| thing)
    }

    pub(crate) fn remove(&mut self, key: K) -> Option<T> {
        self.get(key)?;
        self.all.try_remove(place(key)).map(|(_, thing)| thing)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// By ascending place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &T)> {
        self.all.iter().map(|(_, (key, thing))| (*key, thing))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut T)> {
        self.all.iter_mut().map(|(_, (key, thing))| (*key, thing))
    }

    pub(crate) fn keys(&self) -> Vec<K> {
        self.iter().map(|(key, _)| key).collect()
    }
}

impl<K: Key, T> Index<K> for Slots<K, T> {
    type Output = T;

    #[inline]
    fn index(&self, key: K) -> &T {
        self.get(key).unwrap_or_else(|| panic!("there is no {key:?}"))
    }
}

impl<K: Key, T> IndexMut<K> for Slots<K, T> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        self.get_mut(key).unwrap_or_else(|| panic!("there is no {key:?}"))
    }
}

/// Properties of the objects of [`Slots`] that are stored elsewhere, by the same keys.
pub(crate) struct Beside<K, T> {
    all: Vec<Option<(K, T)>>,
}

impl<K: Key, T> Beside<K, T> {
    pub(crate) fn new() -> Self {
        Beside { all: Vec::new() }
    }

    /// The properties of an object. They are created if there are none.
    pub(crate) fn at(&mut self, key: K) -> &mut T
    where
        T: Default,
    {
        let place = place(key);
        if self.all.len() <= place {
            self.all.resize_with(place + 1, || None);
        }
        let kept = self.all[place].take().filter(|(own, _)| *own == key);
        &mut self.all[place].insert(kept.unwrap_or_else(|| (key, T::default()))).1
    }

    #[inline]
    pub(crate) fn get(&self, key: K) -> Option<&T> {
        self.all.get(place(key))?.as_ref().filter(|(own, _)| *own == key).map(|(_, thing)| thing)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut T> {
        self.all.get_mut(place(key))?.as_mut().filter(|(own, _)| *own == key).map(|(_, thing)| thing)
    }

    pub(crate) fn remove(&mut self, key: K) -> Option<T> {
        self.get(key)?;
        self.all[place(key)].take().map(|(_, thing)| thing)
    }

    /// By ascending place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &T)> {
        self.all.iter().flatten().map(|(key, thing)| (*key, thing))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut T)> {
        self.all.iter_mut().flatten().map(|(key, thing)| (*key, thing))
    }
}

impl<K: Key, T> Index<K> for Beside<K, T> {
    type Output = T;

    #[inline]
    fn index(&self, key: K) -> &T {
        self.get(key).unwrap_or_else(|| panic!("there is no {key:?}"))
    }
}

impl<K: Key, T> IndexMut<K> for Beside<K, T> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        self.get_mut(key).unwrap_or_else(|| panic!("there is no {key:?}"))
    }
}

#[inline]
fn place(key: impl Key) -> usize {
    key.number() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{LinkKey, SourceKey};

    #[test]
    fn a_number_is_given_once() {
        let mut things = Numbered::<SourceKey, char>::new();
        let (a, b) = (things.insert('a'), things.insert('b'));
        assert_eq!((things[a], things.remove(b), things.get(b)), ('a', Some('b'), None));
        let c = things.insert('c');
        assert!(c != a && c != b);
        assert_eq!(things.iter().collect::<Vec<_>>(), [(a, &'a'), (c, &'c')]);
    }

    #[test]
    fn behind_the_last_number_comes_the_first_that_is_free() {
        let mut things = Numbered::<SourceKey, u8>::new();
        let first = things.insert(0);
        things.next = LIMIT - 1;
        let last = things.insert(1);
        assert_eq!((first, last, things.insert(2)), (SourceKey(0), SourceKey(LIMIT - 1), SourceKey(1)));
        assert_eq!(things.len(), 3);
    }

    #[test]
    fn a_place_that_is_used_again_has_another_key() {
        let mut things = Slots::<LinkKey, char>::new();
        let (a, b) = (things.insert('a'), things.insert('b'));
        assert_eq!((things.remove(a), things.remove(a)), (Some('a'), None));
        let next = things.vacant_key();
        let c = things.insert('c');
        assert_eq!((c, c.number()), (next, a.number()));
        assert_eq!((things.get(a), things[b], things[c]), (None, 'b', 'c'));
        assert!(things.get_mut(a).is_none() && things.remove(a).is_none());
        assert_eq!((things.keys(), things.len()), (vec![c, b], 2));
    }

    #[test]
    fn what_is_kept_of_a_thing_is_not_of_the_next_in_its_place() {
        let (a, b, c) = (LinkKey::of(0, 0), LinkKey::of(2, 1), LinkKey::of(0, 2));
        let mut kept = Beside::<LinkKey, u8>::new();
        (*kept.at(a), *kept.at(b)) = (1, 2);
        assert_eq!((*kept.at(a), kept[b], kept.get(c)), (1, 2, None));
        assert_eq!(*kept.at(c), 0);
        assert_eq!((kept.get(a), kept.get(b)), (None, Some(&2)));
        assert_eq!((kept.remove(a), kept.remove(b)), (None, Some(2)));
        assert_eq!(kept.iter().collect::<Vec<_>>(), [(c, &0)]);
    }
}
