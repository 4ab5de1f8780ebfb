//! Consecutive messages with equal headers, which can be decoded at once.

use super::Incoming;
use isoform_core::Registry;
use isoform_core::message::{ALIGNMENT, HEADER, Header};
use isoform_core::{Bodies, Format, Result, Token, Verifier};

/// Messages that follow one another in a stream and have equal headers: they have the same format and length. A burst
/// of records without pointers is one batch.
///
/// [`Decoder::decode_many`](crate::Decoder::decode_many) decodes them into records, and [`Columns`](crate::Columns)
/// into arrays of single fields. `messages` returns them one by one. A [`Reader`](crate::stream::Reader::next_batch)
/// returns batches too.
///
/// ```
/// use isoform::{Batch, Decoder, Encoder, Record, Registry};
/// #[derive(Record, Debug, PartialEq)]
/// #[repr(C)]
/// struct Point {
///     x: f64,
///     y: f64,
/// }
/// // Whatever brought them, here are two messages and part of a third.
/// let mut bytes = Vec::new();
/// let mut encoder = Encoder::new();
/// for x in [1.0, 2.0, 3.0] {
///     encoder.encode(&Point { x, y: 0.0 })?.write_to(&mut bytes)?;
/// }
/// bytes.truncate(110);
///
/// let mut registry = Registry::new();
/// registry.register(Point::format())?;
/// let mut decoder = Decoder::<Point>::new();
/// let (mut sum, mut left) = (0.0, &bytes[..]);
/// while left.len() >= 48 {
///     let (batch, rest) = Batch::parse(left, &mut registry)?;
///     sum += decoder.decode_many(&batch)?.iter().map(|point| point.x).sum::<f64>();
///     left = rest;
/// }
/// assert_eq!((sum, left.len()), (3.0, 14));
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    header: Header,
    format: &'a Format,
    /// From the start of the first body to the end of the last.
    bytes: &'a [u8],
}

impl<'a> Batch<'a> {
    /// Splits the messages with equal headers off the start of `bytes`, and returns the rest. The first message must be
    /// complete, and `registry` must know or find its format. Errors after the batch appear when the rest is parsed.
    ///
    /// # Errors
    /// As [`Incoming::parse`], for the first message.
    pub fn parse<'b: 'a>(bytes: &'b [u8], registry: &'a mut Registry) -> Result<(Batch<'a>, &'b [u8])> {
        let first = Incoming::parse(bytes, registry)?;
        let batch = Batch::beginning(first.header(), first.format(), &bytes[HEADER..]);
        let end = (HEADER + batch.bytes.len()).next_multiple_of(ALIGNMENT);
        Ok((batch, bytes.get(end..).unwrap_or(&[])))
    }

    /// The messages of a stream, all with this header, up to the end of the last.
    pub(crate) fn of_stream(header: Header, format: &'a Format, stream: &'a [u8]) -> Batch<'a> {
        Batch { header, format, bytes: &stream[HEADER..] }
    }

    /// The messages whose first body begins at the start of `bytes` and whose last ends at its end.
    #[inline]
    pub(crate) fn new(header: Header, format: &'a Format, bytes: &'a [u8]) -> Batch<'a> {
        Batch { header, format, bytes }
    }

    /// A batch that begins with a message of this header and format. Its body is complete and at the start of `bytes`.
    #[inline]
    pub(crate) fn beginning(header: Header, format: &'a Format, bytes: &'a [u8]) -> Batch<'a> {
        let (length, stride) = (header.length as usize, stride(header));
        let same = header.to_bytes();
        // The place where the body of the next message would begin.
        let mut next = stride;
        while let Some(message) = bytes.get(next - HEADER..next + length)
            && message.first_chunk() == Some(&same)
        {
            next += stride;
        }
        Batch { header, format, bytes: &bytes[..next - stride + length] }
    }

    /// The format of the messages.
    pub fn format(&self) -> &'a Format {
        self.format
    }

    /// The name of the format.
    pub fn token(&self) -> Token {
        self.header.token
    }

    /// The number of messages, which is at least 1.
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    #[inline]
    pub fn len(&self) -> usize {
        (self.bytes.len() - self.header.length as usize) / stride(self.header) + 1
    }

    /// The messages, one by one.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = Incoming<'a>> + use<'a> {
        let (Batch { header, format, bytes }, length, stride) =
            (*self, self.header.length as usize, stride(self.header));
        // By number, as nothing is left of the last message if its body is empty.
        (0..self.len()).map(move |at| Incoming::new(header, format, &bytes[at * stride..][..length]))
    }

    /// Splits the batch after `count` messages. A part without messages is `None`.
    ///
    /// Decoding a batch allocates memory for all of its records at once, and a record may be much larger than its
    /// message. To limit the memory, decode parts.
    pub fn split_at(&self, count: usize) -> (Option<Batch<'a>>, Option<Batch<'a>>) {
        let (len, stride) = (self.len(), stride(self.header));
        let part = |from: usize, to: usize| {
            let bytes = self.bytes.get(from * stride..).filter(|_| from < to)?;
            Some(Batch { bytes: &bytes[..(to - from - 1) * stride + self.header.length as usize], ..*self })
        };
        (part(0, count.min(len)), part(count.min(len), len))
    }

    /// The bytes from the first body to the end of the last.
    pub(crate) fn extent(&self) -> usize {
        self.bytes.len()
    }

    /// The first header, and the bytes after it.
    pub(crate) fn pieces(&self) -> (Header, &'a [u8]) {
        (self.header, self.bytes)
    }

    /// Verifies all bodies, with a verifier of their format.
    ///
    /// # Errors
    /// As [`Verifier::verify_many`].
    #[inline]
    pub fn verify<'v>(&self, verifier: &'v Verifier) -> Result<Bodies<'v>>
    where
        'a: 'v,
    {
        verifier.verify_many(self.bytes, self.header.length as usize, stride(self.header))
    }
}

/// The distance from one message to the next.
#[inline]
fn stride(header: Header) -> usize {
    (HEADER + header.length as usize).next_multiple_of(ALIGNMENT)
}
