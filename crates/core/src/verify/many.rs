//! Verifies consecutive bodies of one format, as they are in a stream.

use super::{Body, Verifier};
use crate::error::Result;
use crate::format::Format;

/// Verified bodies of one format and one length, at equal distances.
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
    /// The bytes from the start of the first body to the end of the last.
    bytes: &'a [u8],
    length: usize,
    stride: usize,
}

impl Verifier {
    /// Verifies bodies of `length` bytes. The first begins at the start of `bytes`, the last ends at their end, and
    /// each begins `stride` bytes after the one before. If one body of the format needs only a comparison of its
    /// length, all bodies need only one.
    ///
    /// # Errors
    /// As [`Format::verify`], with the number of the body in front of the path: `[17].name`.
    ///
    /// # Panics
    /// If `bytes` cannot be divided in this way.
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
    /// The format of the bodies.
    pub fn format(&self) -> &'a Format {
        self.format
    }

    /// The number of bodies, which is at least 1.
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        (self.bytes.len() - self.length) / self.stride + 1
    }

    /// One of them.
    ///
    /// # Panics
    /// If there is no such body.
    #[inline]
    pub fn at(&self, index: usize) -> Body<'a> {
        Body { format: self.format, bytes: self.bytes_at(index) }
    }

    /// All bodies, with the bytes between them.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The distance from the start of one body to that of the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    #[inline]
    fn bytes_at(&self, index: usize) -> &'a [u8] {
        &self.bytes[index * self.stride..][..self.length]
    }
}
