//! Tables by token.
//!
//! Tokens are hashes already: it is enough to mix them with a number that is unknown to whoever could make some that
//! collide. That takes a nanosecond, where the standard hasher takes ten.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Makes hashes of tokens, each time with another key.
#[derive(Clone)]
pub(crate) struct Key(u64);

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

pub(crate) struct Mix(u64);

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
