//! Verifies every body once, before any other code reads it (`spec/message.md`, "Verification").
//!
//! The list of checks is computed once for each wire format, and kept with it. `format::checks` lists everything that
//! can be invalid in that format: slots, booleans, enumerations. `walk` goes through a body by that list, in the order
//! in which its blocks must be. Each byte of a valid body has exactly one owner. So plans, views and in-place use need
//! no further checks.

mod many;
mod walk;

use crate::error::{Code, Error, Result};
use crate::format::Format;
pub use many::Bodies;

/// Verifies bodies of one format.
///
/// ```
/// use isoform_core::{ByteOrder, Code, Element, Field, Format, Machine, Structure, Verifier};
/// let name = Field {
///     name: "name".into(), element: Element::String, dims: [].into(), indirect: false, offset: 0, unit: None,
/// };
/// let machine = Machine { order: ByteOrder::Big, pointer: 4 };
/// let format = Format::new(Structure::new("station", machine, 4, 4, vec![name])?.into())?;
/// let verifier = Verifier::new(&format);
/// let body = verifier.verify(b"\0\0\0\x08\0\0\0\0Kiel\0")?;
/// assert_eq!(body.format(), &format);
/// let error = verifier.verify(b"\0\0\0\x09\0\0\0\0Kiel\0").unwrap_err();
/// assert_eq!((error.code(), error.path()), (Code::Slot, "name"));
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Verifier {
    format: Format,
    /// The length of every body, if there is nothing else to check.
    length: Option<usize>,
}

impl Verifier {
    /// Creates a verifier for bodies of this format.
    pub fn new(format: &Format) -> Verifier {
        let length = format.checks().are_none().then(|| format.size());
        Verifier { format: format.clone(), length }
    }

    /// The format of the bodies that it checks.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// As [`Format::verify`].
    ///
    /// # Errors
    /// As [`Format::verify`].
    #[inline]
    pub fn verify<'a>(&'a self, bytes: &'a [u8]) -> Result<Body<'a>> {
        match self.length {
            Some(length) if length == bytes.len() => Ok(Body { format: &self.format, bytes }),
            _ => self.format.verify(bytes),
        }
    }
}

impl Format {
    /// Verifies a whole body: its length, and every slot, array length, string end, boolean and enumeration in it, also
    /// in nested structures and blocks. This takes time in proportion to the body, and no memory. The first call for a
    /// format also computes its list of checks.
    ///
    /// # Errors
    /// With the path of the field at fault: [`Code::BodyLength`], [`Code::Slot`], [`Code::NullArray`],
    /// [`Code::ArrayLength`], [`Code::Unterminated`], [`Code::Boolean`] or [`Code::Symbol`].
    pub fn verify<'a>(&'a self, bytes: &'a [u8]) -> Result<Body<'a>> {
        let size = self.size();
        if bytes.len() < size {
            return Err(wrong_length(format_args!("at least {size} bytes"), bytes.len()));
        }
        let end = walk::walk(self.checks(), bytes, size)?;
        if end != bytes.len() {
            return Err(wrong_length(format_args!("{end} bytes"), bytes.len()));
        }
        Ok(Body { format: self, bytes })
    }
}

#[cold]
fn wrong_length(expected: std::fmt::Arguments<'_>, found: usize) -> Error {
    Error::new(Code::BodyLength).expected(expected).found(found)
}

/// A body that was verified against its format: every block is in its place, and every boolean and enumeration is
/// valid. Only a [`Verifier`] creates one, and [`interp::run_to`](crate::interp::run_to), whose results need no verification;
/// views, plans and in-place use trust it.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    format: &'a Format,
    bytes: &'a [u8],
}

impl<'a> Body<'a> {
    /// What a plan has made of a verified body.
    pub(crate) fn converted(format: &'a Format, bytes: &'a [u8]) -> Body<'a> {
        debug_assert_eq!(format.verify(bytes).err(), None, "a conversion makes valid bodies");
        Body { format, bytes }
    }

    /// The format of the bytes.
    #[inline]
    pub fn format(&self) -> &'a Format {
        self.format
    }

    /// The bytes: the record, then its blocks.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}
