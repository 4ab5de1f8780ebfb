//! Growing memory with the largest alignment of all records, so that a body can be used where it was received.
//!
//! Invariant of [`Aligned`]: (1) `length <= initialised`, the first `initialised` bytes of `lines` are initialised, and
//! they are within its elements, which are as many as its allocation has room for.

use super::MAX_ALIGN;
use isoform_core::{Code, Error, Result};
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::slice;

/// Bytes that begin at an address that is a multiple of 64, which is the largest alignment of a record. A body in them
/// at a multiple of 16, as in a stream, can be used in place.
///
/// Otherwise it resembles a `Vec<u8>`. It grows by doubling, keeps its memory when it is cleared, and panics if there
/// is no memory, unless [`try_reserve`](Aligned::try_reserve) has reserved it. But [`resize`](Aligned::resize) does not
/// clear bytes that were in use before.
///
/// ```
/// use isoform::{Aligned, Decoder, Encoder, message::Header, Incoming, Record};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Point {
///     x: f64,
///     y: f64,
/// }
/// // The body of a message that comes in parts.
/// let sent = Encoder::new().encode(&Point { x: 1.0, y: 2.0 })?.to_vec();
/// let mut body = Aligned::new();
/// sent[32..].chunks(7).for_each(|part| body.extend_from_slice(part));
/// assert_eq!(body.as_ptr().addr() % 64, 0);
///
/// let header = Header::new(Point::format().token(), body.len() as u64);
/// let message = Incoming::new(header, Point::format(), &body);
/// let mut decoder = Decoder::<Point>::new();
/// assert_eq!(decoder.decode(&message)?.y, 2.0);
/// assert_eq!(decoder.copied(), 0);
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Default)]
pub struct Aligned {
    lines: Vec<Line>,
    length: usize,
    initialised: usize,
}

/// Memory for 64 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Line([MaybeUninit<u8>; MAX_ALIGN]);

const _: () = assert!(size_of::<Line>() == MAX_ALIGN && align_of::<Line>() == MAX_ALIGN);

impl Aligned {
    /// Creates an empty one without memory.
    pub const fn new() -> Aligned {
        Aligned { lines: Vec::new(), length: 0, initialised: 0 }
    }

    /// The number of bytes that fit without new memory.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.lines.len() * MAX_ALIGN
    }

    /// Reserves memory for this many more bytes, if there is not enough: at least as much again as before.
    ///
    /// # Errors
    /// [`Code::Size`] if there is no memory. The bytes are then unchanged.
    #[inline]
    pub fn try_reserve(&mut self, more: usize) -> Result<()> {
        if more <= self.capacity() - self.length { Ok(()) } else { self.grow(more) }
    }

    /// Adds bytes.
    ///
    /// # Panics
    /// If there is no memory.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        // SAFETY: there is room for them; they are elsewhere, since this is borrowed mutably.
        unsafe {
            self.end().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            self.advance(bytes.len());
        }
    }

    /// Sets the number of bytes. New bytes have the value that they had when they were last in use, or zero.
    ///
    /// ```
    /// # use isoform::Aligned;
    /// let mut bytes = Aligned::new();
    /// bytes.extend_from_slice(b"before");
    /// bytes.clear();
    /// bytes.resize(8);
    /// assert_eq!(&bytes[..], b"before\0\0");
    /// ```
    ///
    /// # Panics
    /// If there is no memory.
    #[inline]
    pub fn resize(&mut self, length: usize) {
        self.reserve(length.saturating_sub(self.length));
        let new = length.saturating_sub(self.initialised);
        if new > 0 {
            // SAFETY: there is room for `length` bytes, and by (1) these follow those that are initialised.
            unsafe { self.start().add(self.initialised).write_bytes(0, new) };
            self.initialised = length; // (1)
        }
        self.length = length; // (1)
    }

    /// Removes all but the first bytes, and keeps the memory.
    #[inline]
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Removes all bytes, and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// The address of its first byte.
    #[inline]
    pub(super) fn start(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }

    /// The address after its last byte, where the reserved bytes begin.
    #[inline]
    pub(super) fn end(&mut self) -> *mut u8 {
        // SAFETY: by (1) this is within its memory, or at its end.
        unsafe { self.start().add(self.length) }
    }

    /// Adds bytes that were written after the end.
    ///
    /// # Safety
    /// That many bytes were reserved, and are initialised.
    #[inline]
    pub(super) unsafe fn advance(&mut self, written: usize) {
        self.length += written;
        self.initialised = self.initialised.max(self.length); // (1)
    }

    #[inline]
    fn reserve(&mut self, more: usize) {
        if let Err(error) = self.try_reserve(more) {
            no_memory(&error);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<()> {
        let no_memory = || Error::new(Code::Size).found(format_args!("{more} bytes more than {}", self.length));
        let length = self.length.checked_add(more).ok_or_else(no_memory)?;
        let lines = length.div_ceil(MAX_ALIGN) - self.lines.len();
        let reserved = self.lines.try_reserve(lines);
        reserved.map_err(|_| Error::new(Code::Size).found(format_args!("{length} bytes")))?;
        // SAFETY: there is room for as many elements, and one of uninitialised bytes is valid.
        unsafe { self.lines.set_len(self.lines.capacity()) };
        Ok(())
    }
}

#[cold]
fn no_memory(error: &Error) -> ! {
    panic!("no memory: {error}")
}

impl Deref for Aligned {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: (1)
        unsafe { slice::from_raw_parts(self.lines.as_ptr().cast(), self.length) }
    }
}

impl DerefMut for Aligned {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: (1)
        unsafe { slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.length) }
    }
}

impl From<&[u8]> for Aligned {
    /// A copy of bytes.
    fn from(bytes: &[u8]) -> Aligned {
        let mut aligned = Aligned::new();
        aligned.extend_from_slice(bytes);
        aligned
    }
}

impl fmt::Debug for Aligned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Aligned({} bytes)", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

        /// What is done with it and with a `Vec`, whose bytes are compared.
        #[test]
        fn it_holds_what_was_put(steps in prop::collection::vec((0..5u8, 0..300usize), 1..20)) {
            let (mut bytes, mut expected) = (Aligned::new(), Vec::new());
            // What is, or was, where `bytes` lie.
            let mut before = Vec::new();
            for (step, n) in steps {
                match step {
                    0 | 1 => {
                        let new: Vec<u8> = (0..n).map(|i| (i + bytes.len() + 1) as u8).collect();
                        bytes.extend_from_slice(&new);
                        expected.extend_from_slice(&new);
                    }
                    2 => {
                        bytes.truncate(n);
                        expected.truncate(n);
                    }
                    3 => {
                        bytes.resize(n);
                        before.resize(before.len().max(n), 0);
                        let new = expected.len().min(n)..n;
                        expected.truncate(n);
                        expected.extend_from_slice(&before[new]);
                    }
                    _ => {
                        bytes.iter_mut().for_each(|byte| *byte = !*byte);
                        expected.iter_mut().for_each(|byte| *byte = !*byte);
                    }
                }
                before.resize(before.len().max(expected.len()), 0);
                before[..expected.len()].copy_from_slice(&expected);
                prop_assert_eq!(&bytes[..], &expected[..]);
                prop_assert_eq!(bytes.as_ptr().addr() % MAX_ALIGN, 0);
                prop_assert!(bytes.capacity() >= before.len());
            }
        }
    }

    #[test]
    fn it_grows_by_doubling() {
        let mut bytes = Aligned::new();
        let mut moves = 0;
        for i in 0..10_000 {
            let capacity = bytes.capacity();
            bytes.extend_from_slice(&[i as u8; 10]);
            moves += u32::from(bytes.capacity() != capacity);
        }
        assert!(moves <= 10, "{moves}");
        assert!(bytes.chunks(10).zip(0..).all(|(chunk, i)| chunk == [i as u8; 10]));
    }

    #[test]
    fn what_no_memory_could_hold_is_refused() {
        let mut bytes = Aligned::from(&b"some"[..]);
        for more in [usize::MAX, usize::MAX - 4, isize::MAX as usize - 4, isize::MAX as usize - 63] {
            assert_eq!(bytes.try_reserve(more).unwrap_err().code(), Code::Size);
        }
        assert_eq!(&bytes[..], b"some");
    }

    #[test]
    #[should_panic = "no memory"]
    fn nor_can_it_be_resized_to_that() {
        Aligned::new().resize(usize::MAX);
    }
}
