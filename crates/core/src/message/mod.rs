//! Messages: a header of 32 bytes, which names a format, and a body (`spec/message.md`).
//!
//! A stream is a sequence of messages, and a description is a kind of message. This module finds the start and the end
//! of a message in bytes that may still be arriving. [`verify`](crate::verify) checks the contents of a body.

mod header;
mod locators;
mod seal;

pub use header::{Flags, Header};
pub use locators::{Locators, MAX_LOCATORS};
pub use seal::{Mark, Seal};

use crate::error::Result;

/// Bytes of a header.
pub const HEADER: usize = 32;
/// In a stream, every message is padded with zeros to a multiple of this many bytes.
pub const ALIGNMENT: usize = 16;

/// The beginning of a stream.
#[derive(Debug)]
pub enum Split<'a> {
    /// A message of which a part has arrived. `needed` bytes are required, counted from its first. The header is
    /// available as soon as it has arrived, so that a reader can choose the destination of the body by its token.
    Partial {
        /// The header, once its 32 bytes have arrived.
        header: Option<Header>,
        /// The bytes that are required to continue.
        needed: u64,
    },
    /// A complete message.
    Whole {
        /// Its header.
        header: Header,
        /// Its body.
        body: &'a [u8],
        /// Its bytes with padding, after which the next message begins. If the stream ends in the padding, this is more
        /// than the available bytes.
        length: usize,
    },
}

/// Finds the message at the start of `bytes`.
///
/// ```
/// use isoform_core::message::{split, Header, Split};
/// use isoform_core::Token;
/// let header = Header::new(Token::from_bytes([7; 16]), 3);
/// let mut bytes = header.to_bytes().to_vec();
/// assert!(matches!(split(&bytes)?, Split::Partial { needed: 35, .. }));
/// bytes.extend(*b"abc");
/// let Split::Whole { body, length, .. } = split(&bytes)? else { panic!() };
/// assert_eq!((body, length), (&b"abc"[..], 48));
/// # Ok::<(), isoform_core::Error>(())
/// ```
///
/// # Errors
/// As [`Header::parse`].
#[inline]
pub fn split(bytes: &[u8]) -> Result<Split<'_>> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
        Header::check_start(bytes)?;
        return Ok(Split::Partial { header: None, needed: HEADER as u64 });
    };
    let header = Header::parse(header)?;
    let needed = header.length.saturating_add(HEADER as u64);
    match usize::try_from(header.length).ok().and_then(|length| rest.get(..length)) {
        Some(body) => Ok(Split::Whole { header, body, length: (HEADER + body.len()).next_multiple_of(ALIGNMENT) }),
        None => Ok(Split::Partial { header: Some(header), needed }),
    }
}
