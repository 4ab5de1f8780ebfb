//! Things by numbers that are never given twice: so what still has the number of one that is gone finds nothing, and never
//! another one. Where numbers must be dense, and all who have them are told in time, there is `slab` instead.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

pub(crate) struct Numbered<T> {
    all: BTreeMap<u32, T>,
    next: u32,
}

impl<T> Numbered<T> {
    pub(crate) fn new() -> Numbered<T> {
        Numbered { all: BTreeMap::new(), next: 0 }
    }

    pub(crate) fn insert(&mut self, thing: T) -> usize {
        // After four billions, those that are still there are passed over.
        while self.all.contains_key(&self.next) {
            self.next = (self.next + 1) % LIMIT;
        }
        let number = self.next;
        self.next = (number + 1) % LIMIT;
        self.all.insert(number, thing);
        number as usize
    }

    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        self.all.get(&u32::try_from(number).ok()?)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.all.get_mut(&u32::try_from(number).ok()?)
    }

    pub(crate) fn remove(&mut self, number: usize) -> Option<T> {
        self.all.remove(&u32::try_from(number).ok()?)
    }

    pub(crate) fn contains(&self, number: usize) -> bool {
        self.get(number).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// By ascending number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.all.iter().map(|(&number, thing)| (number as usize, thing))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        self.all.iter_mut().map(|(&number, thing)| (number as usize, thing))
    }
}

/// Numbers are below this one: requests on the wire have a bit more.
const LIMIT: u32 = 1 << 31;

impl<T> Index<usize> for Numbered<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: usize) -> &T {
        &self.all[&(number as u32)]
    }
}

impl<T> IndexMut<usize> for Numbered<T> {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut T {
        self.all.get_mut(&(number as u32)).unwrap_or_else(|| panic!("there is no {number}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_given_once() {
        let mut things = Numbered::new();
        let (a, b) = (things.insert('a'), things.insert('b'));
        assert_eq!((things[a], things.remove(b), things.get(b)), ('a', Some('b'), None));
        let c = things.insert('c');
        assert!(c != a && c != b);
        assert_eq!(things.iter().collect::<Vec<_>>(), [(a, &'a'), (c, &'c')]);
    }

    #[test]
    fn behind_the_last_number_comes_the_first_that_is_free() {
        let mut things = Numbered::new();
        let first = things.insert(0);
        things.next = LIMIT - 1;
        let last = things.insert(1);
        assert_eq!((first, last as u32, things.insert(2)), (0, LIMIT - 1, 1));
        assert_eq!(things.len(), 3);
    }
}
