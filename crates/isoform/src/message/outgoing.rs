//! A message to send: a header and a body in several buffers.

use super::{ALIGNMENT, HEADER, Shared, write_pieces};
use crate::native::Aligned;
use isoform_core::text::Shown;
use isoform_core::{Code, Error, Format, Result, Token};
use std::fmt;
use std::io::{IoSlice, Write};

/// A message to send: a list of buffers, most of which point into the encoded record.
///
/// ```
/// use isoform::{Encoder, Record};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Point {
///     x: f64,
///     y: f64,
/// }
/// let point = Point { x: 1.0, y: 2.0 };
/// let mut encoder = Encoder::new();
/// let message = encoder.encode(&point)?;
/// assert_eq!(message.token(), Point::format().token());
/// assert_eq!((message.segments().len(), message.len()), (2, 48));
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Message<'a> {
    format: &'a Format,
    body_length: usize,
    segments: &'a [IoSlice<'a>],
}

impl<'a> Message<'a> {
    /// A message whose first segment begins with its header.
    #[inline]
    pub(crate) fn new(format: &'a Format, body_length: usize, segments: &'a [IoSlice<'a>]) -> Message<'a> {
        Message { format, body_length, segments }
    }

    /// The format of the record.
    #[inline]
    pub fn format(&self) -> &'a Format {
        self.format
    }

    /// The name of the format.
    pub fn token(&self) -> Token {
        self.format.token()
    }

    /// Its buffers in order: the header, then the body. Any transport may send them.
    #[inline]
    pub fn segments(&self) -> &'a [IoSlice<'a>] {
        self.segments
    }

    /// The buffers of its body.
    #[inline]
    pub fn body(&self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let first = self.segments.first().map(|first| &first[HEADER..]);
        first.into_iter().chain(self.segments[1..].iter().map(|segment| &**segment)).filter(|bytes| !bytes.is_empty())
    }

    /// All bytes of its body, if they are contiguous.
    #[inline]
    pub fn contiguous_body(&self) -> Option<&'a [u8]> {
        match self.segments {
            [only] => Some(&only[HEADER..]),
            [header, body] if header.len() == HEADER => Some(body),
            _ => None,
        }
    }

    /// The number of bytes of its body.
    #[inline]
    pub fn body_len(&self) -> usize {
        self.body_length
    }

    /// Copies its body, to keep it or to send it many times.
    ///
    /// # Errors
    /// [`Code::Size`] if there is no memory for it.
    pub fn to_shared(&self) -> Result<Shared> {
        let mut body = Aligned::new();
        body.try_reserve(self.body_length)?;
        self.body().for_each(|bytes| body.extend_from_slice(bytes));
        Shared::of_body(self.format, body)
    }

    /// The number of bytes of header and body, without padding.
    #[allow(clippy::len_without_is_empty, reason = "there is always a header")]
    pub fn len(&self) -> usize {
        HEADER + self.body_length
    }

    /// Copies its bytes into one piece, without padding.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len());
        self.segments.iter().for_each(|segment| bytes.extend_from_slice(segment));
        bytes
    }

    /// Writes it as a part of a stream, padded with zeros to a multiple of 16 bytes. This does not write the
    /// description of the format; a [`Writer`](crate::stream::Writer) does that.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn write_to(&self, writer: &mut impl Write) -> Result<()> {
        let padding = &[0; ALIGNMENT][..self.len().wrapping_neg() % ALIGNMENT];
        let pieces = self.segments.iter().map(|segment| &**segment).chain([padding]);
        write_pieces(writer, pieces, &mut false).map_err(|error| Error::new(Code::Io).found(error))
    }
}

impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<usize> = self.segments.iter().map(|segment| segment.len()).collect();
        write!(f, "Message({} {}, segments of {sizes:?} bytes)", Shown(self.format.name()), self.token())
    }
}
