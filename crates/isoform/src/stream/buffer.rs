//! The reader's buffer: bytes that have arrived and were not consumed. It is aligned, and grows only with what arrives.

use isoform_core::message::ALIGNMENT;
use std::io::{ErrorKind, Read, Result};
use std::ops::Range;

/// The address of the buffer's first byte is a multiple of this.
const START: usize = 64;
/// The initial size. Larger messages make the buffer grow.
const ROOM: usize = 64 << 10;

/// Bytes of a stream. Modulo 16, each byte has the same distance from the aligned start of the buffer as from the origin,
/// the start of the stream. Since messages are padded to 16, headers and bodies are aligned to 16 in memory.
#[derive(Default)]
pub(super) struct Buffer {
    /// Larger than needed, so that an aligned start exists within it.
    storage: Vec<u8>,
    start: usize,
    /// The number of bytes after `start` that have arrived and were not consumed.
    filled: Range<usize>,
    /// The position of the first of them in the stream.
    position: u64,
    /// From here, multiples of 16 are counted: the start of the stream, unless a reader resumed behind damage. Less than 16.
    origin: u64,
}

impl Buffer {
    /// The bytes that have arrived and were not consumed.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.storage[self.start..][self.filled.clone()]
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.filled.len()
    }

    /// The number of consumed bytes of the stream.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Consumes this many bytes, or as many as there are. They stay in place until the next `fill`.
    #[inline]
    pub(super) fn consume(&mut self, length: usize) -> &[u8] {
        let from = self.filled.start;
        let length = length.min(self.len());
        self.filled.start += length;
        self.position += length as u64;
        &self.storage[self.start..][from..from + length]
    }

    /// The number of bytes up to the next multiple of 16.
    #[inline]
    pub(super) fn padding(&self) -> usize {
        (self.origin.wrapping_sub(self.position) % ALIGNMENT as u64) as usize
    }

    /// Puts bytes back in front, which were consumed last.
    pub(super) fn put_back(&mut self, bytes: &[u8]) {
        self.position -= bytes.len() as u64;
        let there = [bytes, self.bytes()].concat();
        self.replace(&there);
    }

    /// Counts multiples of 16 from the next byte, and moves it to such a place in memory.
    pub(super) fn align(&mut self) {
        self.origin = self.position % ALIGNMENT as u64;
        let there = self.bytes().to_vec();
        self.replace(&there);
    }

    /// Forgets its bytes: the next ones are those at this position, where a message begins.
    pub(super) fn go_to(&mut self, position: u64) {
        (self.position, self.origin) = (position, position % ALIGNMENT as u64);
        self.replace(&[]);
    }

    /// Counts bytes of the stream that bypassed this empty buffer.
    pub(super) fn went_past(&mut self, length: u64) {
        debug_assert!(self.filled.is_empty());
        self.position += length;
    }

    /// Reads once more, with room for `wanted` contiguous bytes. Returns the number of bytes read, or 0 at the end.
    ///
    /// The memory at most doubles, and only when it is full of received bytes. So a message that only claims to be huge
    /// costs nothing.
    ///
    /// # Errors
    ///
    /// Those of reading; [`ErrorKind::OutOfMemory`] if there is no memory for a message.
    pub(super) fn fill(&mut self, inner: &mut impl Read, wanted: usize) -> Result<usize> {
        self.make_room(wanted)?;
        let room = &mut self.storage[self.start..][self.filled.end..];
        let came = retry(|| inner.read(room))?.min(room.len());
        self.filled.end += came;
        Ok(came)
    }

    fn make_room(&mut self, wanted: usize) -> Result<()> {
        let capacity = self.storage.len() - self.start;
        let lead = self.lead();
        if self.filled.start > lead && (self.filled.is_empty() || capacity - self.filled.start < wanted) {
            let to = lead..lead + self.len();
            self.storage.copy_within(self.start + self.filled.start..self.start + self.filled.end, self.start + lead);
            self.filled = to;
        } else if self.filled.is_empty() {
            self.filled = lead..lead;
        }
        if self.filled.end >= capacity {
            // Not much more than the message takes.
            let enough = wanted.saturating_add(lead).max(capacity + capacity / 2);
            let size = (2 * capacity).min(enough).max(ROOM) + START;
            let mut storage = Vec::new();
            storage.try_reserve_exact(size)?;
            storage.resize(size, 0);
            let start = aligned(&storage);
            storage[start..][self.filled.clone()].copy_from_slice(self.bytes());
            (self.storage, self.start) = (storage, start);
        }
        Ok(())
    }

    /// Has these bytes, and no others, in memory of its own.
    fn replace(&mut self, bytes: &[u8]) {
        let filled = self.lead()..self.lead() + bytes.len();
        let mut storage = vec![0; filled.end.max(ROOM) + START];
        let start = aligned(&storage);
        storage[start..][filled.clone()].copy_from_slice(bytes);
        (self.storage, self.start, self.filled) = (storage, start, filled);
    }

    /// How far the first byte is from a multiple of 16.
    fn lead(&self) -> usize {
        (self.position.wrapping_sub(self.origin) % ALIGNMENT as u64) as usize
    }
}

/// The place of the first aligned byte.
fn aligned(storage: &[u8]) -> usize {
    storage.as_ptr().align_offset(START).min(START)
}

/// Repeats a read that a signal interrupted.
pub(super) fn retry(mut read: impl FnMut() -> Result<usize>) -> Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_in_order_and_aligned_however_they_are_taken() {
        let data: Vec<u8> = (0..1_000_000u32).map(|i| (i % 251) as u8).collect();
        let mut input = &data[..];
        let mut buffer = Buffer::default();
        let mut at = 0;
        for step in (1..).map(|i| i * 37 % 90_000) {
            while buffer.len() < step && buffer.fill(&mut input, step).unwrap() > 0 {}
            if buffer.len() == 0 {
                break;
            }
            assert_eq!(buffer.bytes().as_ptr() as usize % 16, at % 16);
            let came = buffer.consume(step);
            assert_eq!(came, &data[at..at + came.len()]);
            at += came.len();
            assert_eq!(buffer.position(), at as u64);
        }
        assert_eq!(at, data.len());
    }

    #[test]
    fn a_large_message_takes_little_more_than_its_length() {
        let (data, length) = (vec![1; 9 << 20], 9 << 20);
        let (mut input, mut buffer) = (&data[..], Buffer::default());
        while buffer.len() < length && buffer.fill(&mut input, length).unwrap() > 0 {}
        assert_eq!(buffer.len(), length);
        assert!(buffer.storage.len() < length + length / 2, "{}", buffer.storage.len());
    }

    #[test]
    fn what_is_wanted_is_not_what_is_allocated() {
        let mut buffer = Buffer::default();
        buffer.fill(&mut &[1u8; 10][..], usize::MAX).unwrap();
        buffer.fill(&mut &[1u8; 10][..], usize::MAX).unwrap();
        assert_eq!(buffer.len(), 20);
        assert_eq!(buffer.storage.len(), ROOM + START);
    }
}
