//! A message: a header of 32 bytes that names a format, and a body (`spec/message.md`).
//!
//! A stream is just messages one after another, a description being a message of its own kind. This module finds where
//! a message begins and ends in bytes that may still be arriving; what a body holds is for [`verify`](crate::verify).

mod header;

pub use header::{Flags, Header};

use crate::error::Result;

/// Bytes of a header.
pub const HEADER: usize = 32;
/// In a stream, every message is padded with zeros to a multiple of this many bytes.
pub const ALIGNMENT: usize = 16;

/// What the bytes of a stream begin with.
#[derive(Debug)]
pub enum Split<'a> {
    /// Not yet a whole message: at least so many bytes are needed, counted from its first. The header is there
    /// as soon as it has arrived, so that a reader may choose by its token where the body goes.
    Partial {
        /// The header, once its 32 bytes have arrived.
        header: Option<Header>,
        /// Bytes that the reader needs before it can go on.
        needed: u64,
    },
    /// A whole message.
    Whole {
        /// Its header.
        header: Header,
        /// Its body.
        body: &'a [u8],
        /// Its bytes with padding, after which the next message begins. May exceed what is there by the padding
        /// if the stream ends here.
        length: usize,
    },
}

/// Looks for a message at the start of `bytes`.
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
