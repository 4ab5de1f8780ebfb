//! A body with shared ownership.

use super::Incoming;
use crate::native::owned_body::OwnedBody;
use isoform_core::message::Header;
use isoform_core::text::Shown;
use isoform_core::{Code, Error, Format, Result, Token};
use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The body of a message with shared ownership, which can be sent later, many times, and from other threads. A clone
/// shares the bytes.
///
/// An encoder creates one [from a record](crate::Encoder::encode_shared) in an `Arc`. It copies small parts. Large ones
/// stay in the record, which lives as long as they are needed. [`Message::to_shared`](super::Message::to_shared) copies
/// a message.
///
/// ```
/// use isoform::{Encoder, Record, Shared};
/// use std::sync::Arc;
/// #[derive(Record)]
/// struct Wave {
///     station: String,
///     levels: Vec<f64>,
/// }
/// let wave = Arc::new(Wave { station: "Kiel".into(), levels: vec![5.0; 1000] });
/// let shared = Encoder::new().encode_shared(Arc::clone(&wave))?;
/// let threads = [shared.clone(), shared.clone()].map(|shared| {
///     std::thread::spawn(move || shared.body().map(|piece| piece.len()).collect::<Vec<_>>())
/// });
/// for thread in threads {
///     assert_eq!(thread.join().unwrap(), [24 + 5 + 3, 8000]);
/// }
/// // The levels have not been copied; and within the process there is the record itself.
/// assert_eq!(shared.body().last().unwrap().as_ptr(), wave.levels.as_ptr().cast());
/// assert_eq!(shared.record::<Wave>().unwrap().levels.len(), 1000);
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Clone)]
pub struct Shared(Arc<Inner>);

struct Inner {
    format: Format,
    body: OwnedBody,
}

impl Shared {
    #[inline]
    pub(crate) fn new(format: Format, body: OwnedBody) -> Shared {
        Shared(Arc::new(Inner { format, body }))
    }

    /// Takes an existing body, which must follow `spec/message.md`: one that was received, or that a tool created. This
    /// does not verify the body; its readers do.
    ///
    /// ```
    /// use isoform::{Aligned, Decoder, FieldList, Machine, Record, Shared};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Level {
    ///     level: f64,
    /// }
    /// let body = Aligned::from(&0.5f64.to_ne_bytes()[..]);
    /// let shared = Shared::of_body(Level::format(), body)?;
    /// let message = shared.incoming().expect("one piece");
    /// assert_eq!(Decoder::<Level>::new().decode(&message)?.level, 0.5);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::BodyLength`] if it is shorter than a record of the format.
    pub fn of_body(format: &Format, body: crate::Aligned) -> Result<Shared> {
        admit_body(format, body.len())?;
        Ok(Shared::new(format.clone(), OwnedBody::body(body)))
    }

    /// Takes an existing body, as [`of_body`](Shared::of_body), in memory of any kind, without a copy, such as a file that is mapped. The
    /// bytes must not change while a clone lives, and the memory is dropped with the last one. A body at a multiple of 16 may be used
    /// in place.
    ///
    /// ```
    /// use isoform::{Decoder, FieldList, Record, Shared};
    /// use std::sync::Arc;
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Level {
    ///     level: f64,
    /// }
    /// let memory = Arc::new(0.5f64.to_ne_bytes());
    /// let shared = Shared::of_memory(Level::format(), memory.clone())?;
    /// let message = shared.incoming().expect("one piece");
    /// assert_eq!(Decoder::<Level>::new().decode(&message)?.level, 0.5);
    /// assert_eq!(message.body().as_ptr(), memory.as_ptr());
    /// drop(shared);
    /// assert_eq!(Arc::strong_count(&memory), 1);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::BodyLength`] if it is shorter than a record of the format.
    pub fn of_memory<M>(format: &Format, memory: Arc<M>) -> Result<Shared>
    where
        M: AsRef<[u8]> + Send + Sync + 'static,
    {
        let body = OwnedBody::held(memory);
        admit_body(format, body.len())?;
        Ok(Shared::new(format.clone(), body))
    }

    /// The format of the record.
    #[inline]
    pub fn format(&self) -> &Format {
        &self.0.format
    }

    /// The name of the format.
    #[inline]
    pub fn token(&self) -> Token {
        self.0.format.token()
    }

    /// The number of bytes of the body.
    #[allow(clippy::len_without_is_empty, reason = "a record has bytes")]
    #[inline]
    pub fn len(&self) -> usize {
        self.0.body.len()
    }

    /// The bytes of the body, as contiguous pieces.
    pub fn body(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.pieces(0..self.len())
    }

    /// The bytes of a part of the body. Finding a part takes constant time, so a large body may be read in many parts.
    ///
    /// ```
    /// # use isoform::{Encoder, Record};
    /// # #[derive(Record)]
    /// # struct Wave { levels: Vec<f64> }
    /// # let wave = std::sync::Arc::new(Wave { levels: vec![5.0; 100_000] });
    /// let shared = Encoder::new().encode_shared(wave)?;
    /// let mut sent = 0;
    /// while sent < shared.len() {
    ///     let end = shared.len().min(sent + 65536);
    ///     sent += shared.pieces(sent..end).map(|piece| /* send it */ piece.len()).sum::<usize>();
    /// }
    /// # assert_eq!(sent, 16 + 800_000);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the range is not within the body.
    #[inline]
    pub fn pieces(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> + Clone {
        self.0.body.pieces(range)
    }

    /// The whole body, if it is contiguous: the body of a small record, and a body from [`of_body`](Shared::of_body).
    #[inline]
    pub fn contiguous(&self) -> Option<&[u8]> {
        self.0.body.contiguous()
    }

    /// The body as a received message, for a receiver in this process, if it is [contiguous](Shared::contiguous).
    #[inline]
    pub fn incoming(&self) -> Option<Incoming<'_>> {
        let body = self.contiguous()?;
        Some(Incoming::new(Header::new(self.token(), body.len() as u64), self.format(), body))
    }

    /// The record from which it was encoded, if that has this type.
    #[inline]
    pub fn record<R: Any>(&self) -> Option<&R> {
        self.0.body.record_owner()?.downcast_ref()
    }
}

/// Checks that a body of this length can begin with a record of the format.
pub(crate) fn admit_body(format: &Format, length: usize) -> Result<()> {
    if length >= format.size() {
        return Ok(());
    }
    let error = Error::new(Code::BodyLength).at(format.name());
    Err(error.expected(format_args!("at least {} bytes", format.size())).found(length))
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared({} {}, {} bytes)", Shown(self.format().name()), self.token(), self.len())
    }
}
