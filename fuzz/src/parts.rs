//! Inputs of several parts: each but the last behind its length, two bytes, the low one first.
//!
//! A length beyond the end is cut short, so that every input means something.

/// The parts that are left of an input.
#[derive(Clone, Copy)]
pub struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    /// All parts of an input.
    pub fn of(input: &'a [u8]) -> Parts<'a> {
        Parts(input)
    }

    /// A single byte that stands in front of the parts; 0 if there is none.
    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// The next part.
    pub fn part(&mut self) -> &'a [u8] {
        let length = self.take(2).iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
        self.take(length)
    }

    /// The last part.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

/// The input that has these parts.
///
/// ```
/// use isoform_fuzz::parts::{Parts, join};
/// let input = join(&[b"first", b"last"]);
/// let mut parts = Parts::of(&input);
/// assert_eq!((parts.part(), parts.rest()), (&b"first"[..], &b"last"[..]));
/// ```
pub fn join(parts: &[&[u8]]) -> Vec<u8> {
    let Some((last, before)) = parts.split_last() else { return Vec::new() };
    let mut input = Vec::new();
    for part in before {
        let length = u16::try_from(part.len()).expect("parts of less than 64 KiB");
        input.extend_from_slice(&length.to_le_bytes());
        input.extend_from_slice(part);
    }
    input.extend_from_slice(last);
    input
}
