//! The formats of recent messages, found without a lock.

use crate::keyed::Key;
use isoform_core::{Format, Limits, Token};
use std::collections::HashMap;

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
