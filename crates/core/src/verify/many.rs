//! Many bodies of one format at once, as they lie in a stream.

use super::{Body, Verifier};
use crate::error::Result;
use crate::format::Format;

/// Bodies of one format and length that have been checked. Each begins at the same distance from the one before.
///
/// ```
/// use isoform_core::{FieldList, Machine, Verifier};
/// let format = FieldList::new("level").field("level", "integer", 2, 0).format(Machine::NATIVE, 2, 2)?;
/// let verifier = Verifier::new(&format);
/// let bodies = verifier.verify_many(&[1, 0, 99, 2, 0, 99, 3, 0], 2, 3)?;
/// assert_eq!(bodies.len(), 3);
/// assert_eq!(bodies.at(1).bytes(), [2, 0]);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bodies<'a> {
    format: &'a Format,
    /// From the first byte of the first body to the last of the last.
    bytes: &'a [u8],
    length: usize,
    stride: usize,
}

impl Verifier {
    /// Checks bodies of `length` bytes each, of which the first begins where `bytes` do, the last ends where they do, and
    /// each begins `stride` bytes behind where the one before does. Where a format needs no more than a comparison of
    /// lengths, all need no more than one.
    ///
    /// # Errors
    /// As [`Format::verify`], with the number of the body in front of the path: `[17].name`.
    ///
    /// # Panics
    /// If no bodies lie so.
    pub fn verify_many<'a>(&'a self, bytes: &'a [u8], length: usize, stride: usize) -> Result<Bodies<'a>> {
        let behind = bytes.len().checked_sub(length).expect("there is one body at least");
        assert!(stride >= length.max(1) && behind.is_multiple_of(stride), "bodies lie at equal distances");
        let bodies = Bodies { format: &self.format, bytes, length, stride };
        if self.length != Some(length) {
            for index in 0..bodies.len() {
                self.verify(bodies.bytes_at(index)).map_err(|error| error.within(&format!("[{index}]")))?;
            }
        }
        Ok(bodies)
    }
}

impl<'a> Bodies<'a> {
    /// The format that all of them follow.
    pub fn format(&self) -> &'a Format {
        self.format
    }

    /// How many there are: at least one.
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        (self.bytes.len() - self.length) / self.stride + 1
    }

    /// One of them.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn at(&self, index: usize) -> Body<'a> {
        Body { format: self.format, bytes: self.bytes_at(index) }
    }

    /// All of them, with what lies between.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// From the beginning of one to that of the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    #[inline]
    fn bytes_at(&self, index: usize) -> &'a [u8] {
        &self.bytes[index * self.stride..][..self.length]
    }
}
