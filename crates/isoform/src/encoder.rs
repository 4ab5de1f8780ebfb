//! From records to messages.
//!
//! [`crate::memory`] makes messages of memory; here a Rust type says what the memory is.

use crate::message::{Message, Shared};
use crate::native::scratch::Scratch;
use crate::{Format, Record, Result, memory};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Makes messages of records, without converting them: what can be sent from where it lies is only referred to.
///
/// - A record without pointers and gaps goes by reference, behind a header of 32 bytes.
/// - Gaps - padding between fields - never leave the process. A record with few of them goes in runs between them, one
///   with many is copied and its gaps cleared; which of both is decided once for the format, by what costs less.
/// - Of a record with pointers, the parts that hold pointers are copied. Arrays and strings from 1024 bytes on go
///   by reference, smaller ones are copied together.
/// - A record that owns `String`s and `Vec`s is first lowered to its [native form](Record::Native), which borrows the
///   elements of `Vec`s of numbers and of `#[repr(C)]` records; strings are copied, since they lack a NUL at the end.
///
/// An encoder keeps its memory from one record to the next: once it has seen the largest, it allocates nothing.
///
/// ```
/// use isoform::{Encoder, Record, Slice, Str};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Track<'a> {
///     name: Str<'a>,
///     points: Slice<'a, f64>,
/// }
/// let points = vec![0.5; 1000];
/// let mut encoder = Encoder::new();
/// let track = Track { name: Str::new(c"T1"), points: Slice::from(&points) };
/// let message = encoder.encode(&track)?;
/// let sizes: Vec<usize> = message.segments().iter().map(|segment| segment.len()).collect();
/// assert_eq!(sizes, [32 + 24 + 3 + 5, 8000]);
/// assert_eq!(message.segments()[1].as_ptr(), points.as_ptr().cast());
/// # Ok::<(), isoform::Error>(())
/// ```
pub struct Encoder<T> {
    memory: memory::Encoder,
    scratch: Scratch,
    record: PhantomData<fn(&T)>,
}

impl<T: Record> Encoder<T> {
    /// An encoder for records of this type.
    pub fn new() -> Encoder<T> {
        Encoder { memory: memory::Encoder::of(&native_format::<T>()), scratch: Scratch::default(), record: PhantomData }
    }

    /// The format of its messages.
    pub fn format(&self) -> &Format {
        self.memory.format()
    }

    /// The message of a record.
    ///
    /// # Errors
    /// [`Code::BadRecord`](crate::Code::BadRecord) at a `String` with a NUL inside; [`Code::Size`](crate::Code::Size) if
    /// the message is too large to address.
    #[inline]
    pub fn encode<'m, R>(&'m mut self, record: &'m R) -> Result<Message<'m>>
    where
        R: Record<Static = T>,
    {
        self.scratch.clear();
        let native = record.native(&self.scratch)?;
        // SAFETY: by Native's promise (1, 2), `native` is a record of the format that its type declares, with valid slots;
        // it is borrowed for as long as the message is, and has no interior mutability (3).
        unsafe { self.memory.encode_value((&raw const *native).cast(), false) }
    }

    /// The message of a record that is made for it, with arrays in the encoder's own memory: those that are
    /// [gathered](Scratch::gather) from elements that do not lie side by side. It is the same as if they did.
    ///
    /// ```
    /// use isoform::{Array, Encoder, Record, Strided};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Field<'a> {
    ///     rho: Array<'a, f32, 2>,
    /// }
    /// // Every second column of a matrix of 3 rows and 4 columns, from the last row to the first.
    /// let matrix: Vec<f32> = (0..12).map(|i| i as f32).collect();
    /// let view = Strided::new(&matrix, 8, [3, 2], [-4, 2])?;
    /// let mut encoder = Encoder::<Field>::new();
    /// let message = encoder.encode_with(|scratch| Ok(Field { rho: scratch.gather(&view)? }))?;
    /// # let message = message.to_vec();
    /// # let expected = [8.0, 10.0, 4.0, 6.0, 0.0, 2.0];
    /// # assert_eq!(message, encoder.encode(&Field { rho: Array::new(&expected, [3, 2])? })?.to_vec());
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`encode`](Encoder::encode), and whatever `make` reports.
    pub fn encode_with<'m>(
        &'m mut self,
        make: impl FnOnce(&'m Scratch) -> Result<T::Native<'m>>,
    ) -> Result<Message<'m>> {
        self.scratch.clear();
        let scratch = &self.scratch;
        let native = scratch.put(make(scratch)?)?;
        // SAFETY: as above; the record and what it borrows from the scratch stay there while the message is borrowed.
        unsafe { self.memory.encode_value((&raw const *native).cast(), false) }
    }

    /// The body of a record, which it keeps: to be sent to many, later, or from another thread. Nothing of 1024 bytes or
    /// more is copied, but for what [`encode`](Encoder::encode) copies too: strings of records that own them, and records
    /// with gaps. See [`Shared`].
    ///
    /// # Errors
    /// As [`encode`](Encoder::encode).
    pub fn encode_shared<R>(&mut self, record: Arc<R>) -> Result<Shared>
    where
        R: Record<Static = T> + Send + Sync + 'static,
    {
        self.scratch.clear();
        let native = (&raw const *record.native(&self.scratch)?).cast();
        // SAFETY: by Native's promise (1, 2), `native` is a record of the format that its type declares, with valid slots,
        // and has no interior mutability (3). It is good for as long as the record and the scratch can be referred to, since
        // `native` was given such references for whatever lifetime, and nothing has happened to them since.
        unsafe { self.memory.encode_owned(native, record, &mut self.scratch) }
    }

    /// As [`encode`](Encoder::encode), of a record whose gaps are zeros already: it can go by reference as if it had none.
    ///
    /// # Safety
    /// The bytes of all gaps of the record's native form, and of those in everything that it points at, are zeros. Writing
    /// or moving a value makes its gaps undefined: only memory that was zeroed, and then written field by field in place,
    /// has clean ones.
    #[inline]
    pub unsafe fn encode_clean<'m, R>(&'m mut self, record: &'m R) -> Result<Message<'m>>
    where
        R: Record<Static = T>,
    {
        self.scratch.clear();
        let native = record.native(&self.scratch)?;
        // SAFETY: as above, and the caller promises that gaps are zeros.
        unsafe { self.memory.encode_value((&raw const *native).cast(), true) }
    }
}

/// The format of the native form of a record, from what its type promises.
pub(crate) fn native_format<'a, T: Record + 'a>() -> Format {
    crate::native::format::<T::Native<'a>>()
}

impl<T: Record> Default for Encoder<T> {
    fn default() -> Self {
        Encoder::new()
    }
}

impl<T> fmt::Debug for Encoder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoder({:?})", self.memory.format())
    }
}
