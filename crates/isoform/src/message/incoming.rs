//! A message that came: its header, its format, and its body as it is.

use crate::Registry;
use isoform_core::message::{Header, Split, split};
use isoform_core::{Code, Error, Format, Result, Token};
use std::borrow::Cow;

/// A message that came, whose body has not been checked yet. A [`Reader`](crate::stream::Reader) lends them; one that
/// came in some other way is [parsed](Incoming::parse).
#[derive(Clone, Debug)]
pub struct Incoming<'a> {
    header: Header,
    format: Cow<'a, Format>,
    body: &'a [u8],
}

impl<'a> Incoming<'a> {
    /// A message of this header and body. The format is that of the header's token.
    pub fn new(header: Header, format: &'a Format, body: &'a [u8]) -> Incoming<'a> {
        Incoming { header, format: Cow::Borrowed(format), body }
    }

    /// The message that `bytes` begin with, whose format `registry` knows or finds.
    ///
    /// # Errors
    /// [`Code::NotAMessage`], [`Code::Version`], [`Code::Flags`] or [`Code::Cut`] if there is no whole message;
    /// [`Error::unknown_format`] and the registry's other errors. A description is no record: [`Code::WrongType`].
    pub fn parse(bytes: &'a [u8], registry: &Registry) -> Result<Incoming<'a>> {
        match split(bytes)? {
            Split::Partial { needed, .. } => {
                Err(Error::new(Code::Cut).expected(format_args!("{needed} bytes")).came(bytes.len()))
            }
            Split::Whole { header, .. } if header.is_description() => {
                Err(Error::new(Code::WrongType).expected("a record").came("a description"))
            }
            Split::Whole { header, body, .. } => {
                Ok(Incoming { header, format: Cow::Owned(registry.lookup(header.token)?), body })
            }
        }
    }

    /// What stood before the body.
    pub fn header(&self) -> Header {
        self.header
    }

    /// The name of the format.
    pub fn token(&self) -> Token {
        self.header.token
    }

    /// The format of the body.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The bytes that came.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }
}
