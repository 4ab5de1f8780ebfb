//! The check that every body passes once, before anything else touches it.

use crate::format::Format;

/// A body that has been checked against its format: every block is where it must be, every boolean and enumeration is
/// valid. Only a [`Verifier`] makes one; views, plans and in-place use trust it.
#[derive(Clone, Copy)]
pub struct Body<'a> {
    format: &'a Format,
    bytes: &'a [u8],
}

impl<'a> Body<'a> {
    /// The format that the bytes follow.
    pub fn format(&self) -> &'a Format {
        self.format
    }

    /// The bytes: the record, then its blocks.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}
