//! A message that came: its header, its format, and its body as it is.

use isoform_core::Format;
use isoform_core::message::Header;

/// A message that came, whose body has not been checked yet.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    header: Header,
    format: &'a Format,
    body: &'a [u8],
}

impl<'a> Incoming<'a> {
    /// A message of this header and body. The format is that of the header's token.
    pub fn new(header: Header, format: &'a Format, body: &'a [u8]) -> Incoming<'a> {
        Incoming { header, format, body }
    }

    /// What stood before the body.
    pub fn header(&self) -> Header {
        self.header
    }

    /// The format of the body.
    pub fn format(&self) -> &'a Format {
        self.format
    }

    /// The bytes that came.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }
}
