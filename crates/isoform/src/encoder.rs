//! Encodes records as messages.
//!
//! [`crate::memory`] encodes memory. This module adds the Rust type, which defines the memory.

use crate::memory;
use crate::message::{Message, Shared};
use crate::native::scratch::Scratch;
use crate::record::{Record, native_format};
use isoform_core::{Format, Result};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Encodes records as messages without converting them. A message refers to the record instead of copying it where
/// possible.
///
/// - A record without pointers and gaps goes by reference, after a header of 32 bytes.
/// - Gaps, that is, padding between fields, never leave the process. A record with few gaps is sent in pieces around
///   them. A record with many gaps is copied, and the gaps of the copy are cleared. The encoder decides once for each
///   format, by the cost.
/// - In a record with pointers, the parts that contain pointers are copied. Arrays and strings of 1024 bytes or more go
///   by reference; shorter ones are copied together.
/// - A record that owns `String`s and `Vec`s is first lowered to its [native form](Record::Native). That form borrows
///   the elements of `Vec`s of numbers and of `#[repr(C)]` records. Strings are copied, since they lack a NUL at the
///   end.
///
/// An encoder keeps its memory between records. Once it has encoded the largest one, it allocates nothing.
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
    /// Creates an encoder for records of this type.
    pub fn new() -> Encoder<T> {
        Encoder { memory: memory::Encoder::of(&native_format::<T>()), scratch: Scratch::default(), record: PhantomData }
    }

    /// The format of its messages.
    pub fn format(&self) -> &Format {
        self.memory.format()
    }

    /// Encodes a record.
    ///
    /// # Errors
    /// [`Code::BadRecord`](crate::Code::BadRecord) if a `String` contains a NUL; [`Code::Size`](crate::Code::Size) if
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

    /// The bodies of the messages of consecutive records, one behind the other, if they are just the records as they are in
    /// memory: if the format has neither pointers nor gaps.
    ///
    /// ```
    /// use isoform::{Encoder, Record};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Point {
    ///     x: f64,
    ///     y: f64,
    /// }
    /// let points = [Point { x: 1.0, y: 2.0 }, Point { x: 3.0, y: 4.0 }];
    /// let mut encoder = Encoder::new();
    /// let second = encoder.encode(&points[1])?.to_vec();
    /// assert_eq!(encoder.bodies(&points).unwrap()[16..], second[32..]);
    ///
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Mark {
    ///     at: i64,
    ///     kind: u8,
    /// }
    /// assert_eq!(Encoder::new().bodies(&[Mark { at: 1, kind: 2 }]), None, "there is a gap behind the kind");
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn bodies<'m, R>(&'m self, records: &'m [R]) -> Option<&'m [u8]>
    where
        R: Record<Static = T>,
    {
        let size = self.memory.whole_size()?;
        let is_native = |record: &R| record.native(&self.scratch).is_ok_and(|native| std::ptr::addr_eq(native, record));
        if size_of::<R>() != size || !records.iter().all(is_native) {
            return None;
        }
        // SAFETY: each record is a record of the format by Native's promise (1), as it is its own native form. The format has
        // no gaps, and a record has no more bytes than the format says, so that all bytes are initialised; there is no
        // interior mutability (3).
        Some(unsafe { std::slice::from_raw_parts(records.as_ptr().cast(), size_of_val(records)) })
    }

    /// Encodes a record that `make` creates. Its arrays may be in the encoder's memory, [gathered](Scratch::gather)
    /// from elements that are not contiguous. The message is the same as for contiguous elements.
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
    /// As [`encode`](Encoder::encode), and the errors of `make`.
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

    /// Encodes a record as a body with shared ownership, which can be sent later, many times, and from other threads.
    /// Parts of 1024 bytes or more are not copied, with the exceptions of [`encode`](Encoder::encode): the strings of
    /// records that own them, and records with gaps. See [`Shared`].
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

    /// As [`encode`](Encoder::encode), for a record whose gaps are already zeros. It goes by reference like a record
    /// without gaps.
    ///
    /// # Safety
    /// All gaps of the record's native form, and of all memory that it points at, are zeros. Writing or moving a value
    /// makes its gaps undefined. Gaps are zeros only in memory that was zeroed, and then written in place, field by
    /// field.
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
