//! The limits of a receiver. `docs/book/reference/limits.md` lists them all.

use crate::error::{Code, Error, Result};
use std::fmt::Display;

/// The largest number of levels of nested structures.
pub const MAX_DEPTH: usize = 32;
/// The largest number of fields of a format. Those of a nested structure count once for each field that nests it.
pub const MAX_FIELDS: usize = 4096;
/// The largest number of bytes of a description.
pub const MAX_DESCRIPTION: usize = 64 << 10;
/// The largest number of dimensions of an array.
pub const MAX_RANK: usize = 8;
/// The largest alignment of a structure.
pub const MAX_ALIGN: usize = 1 << 16;
/// The fixed part of a record is smaller than this many bytes.
pub const MAX_RECORD: usize = if usize::BITS >= 64 { 1 << 40 } else { isize::MAX as usize };

/// The limits of a receiver. Input beyond a limit is refused with an error that names the limit; where formats are
/// stored, old ones are forgotten instead.
///
/// By default, the limits are those of the specification. A program that knows which input to expect may lower them.
/// `depth`, `fields` and `description` cannot be raised.
///
/// ```
/// use isoform_core::{Code, FieldList, Format, Limits, Machine};
/// let format = FieldList::new("Gauge").field("id", "int", 4, 0).field("depth", "float", 4, 4);
/// let format = format.format(Machine::NATIVE, 8, 4)?;
/// let description = format.description().as_bytes();
///
/// let limits = Limits { fields: 1, ..Limits::default() };
/// let error = Format::parse_within(description, &limits).unwrap_err();
/// assert_eq!(error.to_string(), "too many fields at Gauge: expected at most 1 (limit: fields), found 2");
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Levels of structures in a format; the record itself counts as 1: [`Code::Depth`].
    pub depth: usize,
    /// Fields of a format; those of a nested structure count once for each field that nests it: [`Code::Fields`].
    pub fields: usize,
    /// Bytes of a description: [`Code::DescriptionSize`].
    pub description: usize,
    /// Bytes of a message's body: [`Code::MessageSize`].
    pub message: u64,
    /// Learned formats. Beyond this, the least recently used ones are forgotten.
    pub formats: usize,
    /// Bytes of the descriptions of all learned formats together. Beyond this, the least recently used ones are
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
    /// Refuses a description that has too many bytes.
    ///
    /// # Errors
    /// [`Code::DescriptionSize`].
    pub fn admit_description(&self, length: u64) -> Result<()> {
        let most = self.description.min(MAX_DESCRIPTION);
        if length > most as u64 { Err(too_long_a_description(most, length)) } else { Ok(()) }
    }

    /// Refuses a body that has too many bytes.
    ///
    /// # Errors
    /// [`Code::MessageSize`].
    #[inline]
    pub fn admit_message(&self, length: u64) -> Result<()> {
        if length > self.message { Err(too_large_a_message(self.message, length)) } else { Ok(()) }
    }
}

pub(crate) fn too_deep(most: usize, found: usize) -> Error {
    beyond(Code::Depth, format_args!("at most {most} levels"), "depth", found)
}

pub(crate) fn too_many_fields(most: usize, found: usize) -> Error {
    beyond(Code::Fields, format_args!("at most {most}"), "fields", found)
}

pub(crate) fn too_long_a_description(most: usize, found: impl Display) -> Error {
    beyond(Code::DescriptionSize, format_args!("at most {most} bytes"), "description", found)
}

#[cold]
fn too_large_a_message(most: u64, found: u64) -> Error {
    beyond(Code::MessageSize, format_args!("at most {most} bytes"), "message", found)
}

fn beyond(code: Code, expected: impl Display, limit: &str, found: impl Display) -> Error {
    Error::new(code).expected(format_args!("{expected} (limit: {limit})")).found(found)
}
