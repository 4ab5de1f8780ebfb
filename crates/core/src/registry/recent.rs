//! Tables by token, for registries and decoders.
//!
//! Tokens are hashes already. So it is enough to mix them with a secret number, which prevents an attacker from
//! choosing tokens that collide. That takes one nanosecond; the standard hasher takes ten. The next token is most often
//! equal to the last one, which [`Recent`] finds by a comparison.

use crate::Token;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Values by token. The place of a value never changes.
pub struct Recent<V> {
    entries: Vec<(Token, V)>,
    places: HashMap<Token, usize, Key>,
    /// The place of the value that was found last.
    last: usize,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Recent { entries: Vec::new(), places: HashMap::default(), last: 0 }
    }
}

#[allow(clippy::len_without_is_empty, reason = "nobody asks")]
impl<V> Recent<V> {
    /// The place of the value of this token.
    #[inline(always)]
    pub fn find(&mut self, token: Token) -> Option<usize> {
        match self.entries.get(self.last) {
            Some((last, _)) if *last == token => Some(self.last),
            _ => self.search(token),
        }
    }

    // This is a function of its own, so that `find` is short enough to be inlined.
    #[inline(never)]
    fn search(&mut self, token: Token) -> Option<usize> {
        self.last = *self.places.get(&token)?;
        Some(self.last)
    }

    /// The value at a place.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline]
    pub fn at(&self, place: usize) -> &V {
        &self.entries[place].1
    }

    /// As [`at`](Recent::at).
    #[inline]
    pub fn at_mut(&mut self, place: usize) -> &mut V {
        &mut self.entries[place].1
    }

    /// Appends a value for a token that has none, and returns its place.
    pub fn push(&mut self, token: Token, value: V) -> usize {
        self.places.insert(token, self.entries.len());
        self.entries.push((token, value));
        self.last = self.entries.len() - 1;
        self.last
    }

    /// Replaces the value at a place, for a token that may have none.
    pub fn replace(&mut self, place: usize, token: Token, value: V) {
        self.places.remove(&self.entries[place].0);
        self.places.insert(token, place);
        self.entries[place] = (token, value);
        self.last = place;
    }

    /// All values, by place.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.places.clear();
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

/// Hashes tokens, with another key for each table.
#[derive(Clone)]
pub(super) struct Key(u64);

impl Default for Key {
    fn default() -> Key {
        Key(RandomState::new().hash_one(()))
    }
}

impl BuildHasher for Key {
    type Hasher = Mix;

    #[inline]
    fn build_hasher(&self) -> Mix {
        Mix(self.0)
    }
}

pub(super) struct Mix(u64);

impl Hasher for Mix {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        debug_assert!(rest.is_empty(), "a token is two words");
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    #[inline]
    fn write_usize(&mut self, _: usize) {
        // The length of a token, which is the same for all.
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_places() {
        let tokens: Vec<Token> = (0..100).map(|i| Token::from_bytes([i; 16])).collect();
        let mut recent = Recent::default();
        for (i, &token) in tokens.iter().enumerate() {
            assert_eq!(recent.find(token), None);
            assert_eq!(recent.push(token, i), i);
        }
        for i in [0, 99, 99, 7, 50] {
            assert_eq!(recent.find(tokens[i]), Some(i));
            assert_eq!(*recent.at(i), i);
        }
        let other = Token::from_bytes([200; 16]);
        recent.replace(7, other, 700);
        assert_eq!((recent.find(tokens[7]), recent.find(other), *recent.at(7)), (None, Some(7), 700));
        recent.clear();
        assert!(recent.len() == 0 && recent.find(other).is_none());
    }
}
