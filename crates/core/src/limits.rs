//! What a receiver puts up with, whoever sends. All of it stands in `docs/book/reference/limits.md`.

use crate::error::{Code, Error, Result};
use std::fmt::Display;

/// Nested structures go at most this deep.
pub const MAX_DEPTH: usize = 32;
/// A format has at most this many fields, counting those of nested structures each time they are nested.
pub const MAX_FIELDS: usize = 4096;
/// A description has at most this many bytes.
pub const MAX_DESCRIPTION: usize = 64 << 10;
/// An array has at most this many dimensions.
pub const MAX_RANK: usize = 8;
/// A structure is aligned to at most this many bytes.
pub const MAX_ALIGN: usize = 1 << 16;
/// A record's fixed part is smaller than this many bytes.
pub const MAX_RECORD: usize = if usize::BITS >= 64 { 1 << 40 } else { isize::MAX as usize };

/// What a receiver puts up with, whoever sends. What is beyond a limit is refused with an error that names it, or, where
/// formats are kept, forgotten.
///
/// By default they are as wide as the specification has them. A program that knows what it expects makes them narrower;
/// `depth`, `fields` and `description` cannot be made wider.
///
/// ```
/// use isoform_core::{Code, FieldList, Format, Limits, Machine};
/// let format = FieldList::new("Gauge").field("id", "int", 4, 0).field("depth", "float", 4, 4);
/// let format = format.format(Machine::NATIVE, 8, 4)?;
/// let description = format.description().as_bytes();
///
/// let limits = Limits { fields: 1, ..Limits::default() };
/// let error = Format::parse_within(description, &limits).unwrap_err();
/// assert_eq!(error.to_string(), "too many fields at Gauge: expected at most 1 (limit: fields), came 2");
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Levels of structures in a format, the record itself counting 1: [`Code::Depth`].
    pub depth: usize,
    /// Fields of a format, those of a nested structure counted as often as it is nested: [`Code::Fields`].
    pub fields: usize,
    /// Bytes of a description: [`Code::DescriptionSize`].
    pub description: usize,
    /// Bytes of a message's body: [`Code::MessageSize`].
    pub message: u64,
    /// Learned formats that are kept. Those whose last use is longest ago are forgotten.
    pub formats: usize,
    /// Bytes that the descriptions of all learned formats have together. Those whose last use is longest ago are
    /// forgotten.
    pub registry: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            depth: MAX_DEPTH,
            fields: MAX_FIELDS,
            description: MAX_DESCRIPTION,
            message: 1 << 30,
            formats: 1024,
            registry: 4 << 20,
        }
    }
}

impl Limits {
    /// Refuses a description of so many bytes, if they are too many.
    ///
    /// # Errors
    /// [`Code::DescriptionSize`].
    pub fn admit_description(&self, length: u64) -> Result<()> {
        let most = self.description.min(MAX_DESCRIPTION);
        if length > most as u64 { Err(too_long_a_description(most, length)) } else { Ok(()) }
    }

    /// Refuses a body of so many bytes, if they are too many.
    ///
    /// # Errors
    /// [`Code::MessageSize`].
    #[inline]
    pub fn admit_message(&self, length: u64) -> Result<()> {
        if length > self.message { Err(too_large_a_message(self.message, length)) } else { Ok(()) }
    }
}

pub(crate) fn too_deep(most: usize, came: usize) -> Error {
    beyond(Code::Depth, format_args!("at most {most} levels"), "depth", came)
}

pub(crate) fn too_many_fields(most: usize, came: usize) -> Error {
    beyond(Code::Fields, format_args!("at most {most}"), "fields", came)
}

pub(crate) fn too_long_a_description(most: usize, came: impl Display) -> Error {
    beyond(Code::DescriptionSize, format_args!("at most {most} bytes"), "description", came)
}

#[cold]
fn too_large_a_message(most: u64, came: u64) -> Error {
    beyond(Code::MessageSize, format_args!("at most {most} bytes"), "message", came)
}

fn beyond(code: Code, expected: impl Display, limit: &str, came: impl Display) -> Error {
    Error::new(code).expected(format_args!("{expected} (limit: {limit})")).came(came)
}
