//! The formats of recent messages, found without a lock.

use isoform_core::{Format, Limits, Token};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Formats by their place, which is found by token. Never more than a registry keeps, but for the last one.
#[derive(Default)]
pub(super) struct Recent {
    formats: Vec<Format>,
    places: HashMap<Token, usize, Key>,
    /// What their descriptions have together.
    bytes: usize,
    /// The place that was found last: most often also the next.
    last: usize,
}

impl Recent {
    /// The place of the format of this token.
    #[inline]
    pub(super) fn find(&self, token: Token) -> Option<usize> {
        match self.formats.get(self.last) {
            Some(format) if format.token() == token => Some(self.last),
            _ => self.places.get(&token).copied(),
        }
    }

    /// The format at a place.
    #[inline]
    pub(super) fn at(&mut self, place: usize) -> Option<&Format> {
        self.last = place;
        self.formats.get(place)
    }

    /// The place of a format that was not there.
    pub(super) fn insert(&mut self, format: Format, limits: &Limits) -> usize {
        let length = format.description().as_bytes().len();
        if self.formats.len() >= limits.formats || self.bytes + length > limits.registry {
            self.formats.clear();
            self.places.clear();
            self.bytes = 0;
        }
        self.bytes += length;
        self.places.insert(format.token(), self.formats.len());
        self.formats.push(format);
        self.formats.len() - 1
    }
}

/// Tokens are hashes already: it is enough to mix them with a number that is unknown to whoever could make some that
/// collide. That takes a nanosecond, where the standard hasher takes ten.
struct Key(u64);

impl Default for Key {
    fn default() -> Key {
        Key(RandomState::new().hash_one(()))
    }
}

impl BuildHasher for Key {
    type Hasher = Mix;

    fn build_hasher(&self) -> Mix {
        Mix(self.0)
    }
}

struct Mix(u64);

impl Hasher for Mix {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(8) {
            let word = word.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            self.write_u64(word);
        }
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
