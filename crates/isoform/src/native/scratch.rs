//! Memory for the native forms of records that own their parts, and for gathered arrays. It is used from the front,
//! released all at once, and reused.
//!
//! Invariants: (1) `next..end` are unused bytes of the last chunk; (2) a chunk's memory neither moves nor is freed
//! before [`Scratch::clear`], which cannot be called while memory is borrowed.

use super::aligned::Line;
use super::{MAX_ALIGN, Native, Str};
use isoform_core::{Code, Error, Result};
use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;
use std::{ptr, slice};

/// An encoder's memory for parts of one record: the place to which strided arrays are [gathered](Scratch::gather).
pub struct Scratch {
    chunks: RefCell<Vec<Vec<Line>>>,
    next: Cell<*mut u8>,
    left: Cell<usize>,
}

/// The memory of a former scratch. It neither moves nor is freed before this is dropped (2).
#[derive(Default)]
pub(super) struct Lowered(#[expect(dead_code, reason = "memory for others")] Vec<Vec<Line>>);

const FIRST_CHUNK: usize = 4096;

// SAFETY: the pointer is to memory that it owns.
unsafe impl Send for Scratch {}

impl Default for Scratch {
    fn default() -> Self {
        Scratch { chunks: RefCell::default(), next: Cell::new(ptr::null_mut()), left: Cell::new(0) }
    }
}

impl Scratch {
    /// Releases all memory in use. If one chunk was not enough, the next record gets one that is.
    #[inline]
    pub fn clear(&mut self) {
        if !self.chunks.get_mut().is_empty() {
            self.reuse();
        }
    }

    fn reuse(&mut self) {
        let chunks = self.chunks.get_mut();
        if chunks.len() > 1 {
            let lines = chunks.iter().map(Vec::capacity).sum();
            *chunks = vec![Vec::with_capacity(lines)];
        }
        if let Some(chunk) = chunks.last_mut() {
            self.next.set(chunk.as_mut_ptr().cast());
            self.left.set(chunk.capacity() * MAX_ALIGN);
        }
    }

    /// Whether an address is in memory that is in use.
    pub(super) fn holds(&self, place: *const u8) -> bool {
        let bytes = |chunk: &Vec<Line>| chunk.as_ptr().addr()..chunk.as_ptr().addr() + chunk.capacity() * MAX_ALIGN;
        self.chunks.borrow().iter().any(|chunk| bytes(chunk).contains(&place.addr()))
    }

    /// Moves its memory out, with its contents.
    pub(super) fn give_up(&mut self) -> Lowered {
        Lowered(std::mem::take(self).chunks.into_inner())
    }

    /// Stores a value.
    pub fn put<'a, T: Native<'a>>(&'a self, value: T) -> Result<&'a T> {
        let place = self.room::<T>(1)?;
        // SAFETY: the room is new, aligned, and stays for 'a (2).
        unsafe {
            place.write(value);
            Ok(&*place)
        }
    }

    /// Stores the values of an iterator, contiguously.
    pub(crate) fn collect<'a, T: Native<'a>>(
        &'a self,
        values: impl ExactSizeIterator<Item = Result<T>>,
    ) -> Result<&'a [T]> {
        let room = values.len();
        let place = self.room::<T>(room)?;
        let mut count = 0;
        for value in values.take(room) {
            // SAFETY: there is room for `room` values, and `count` is less.
            unsafe { place.add(count).write(value?) };
            count += 1;
        }
        // SAFETY: so many have been written; the memory stays for 'a (2).
        Ok(unsafe { slice::from_raw_parts(place, count) })
    }

    /// A copy of a string, with a NUL.
    pub(crate) fn string<'a>(&'a self, text: &[u8]) -> Result<Str<'a>> {
        let place = self.room::<u8>(text.len() + 1)?;
        // SAFETY: there is room, which is new; all of it is written; it stays for 'a (2).
        let bytes = unsafe {
            place.copy_from_nonoverlapping(text.as_ptr(), text.len());
            place.add(text.len()).write(0);
            slice::from_raw_parts(place, text.len() + 1)
        };
        let text = std::ffi::CStr::from_bytes_with_nul(bytes);
        text.map(Str::new).map_err(|_| Error::new(Code::BadRecord).expected("a string without NUL"))
    }

    /// New memory, which begins at a multiple of 64.
    #[expect(clippy::mut_from_ref, reason = "it is nobody else's")]
    pub(super) fn bytes(&self, length: usize) -> Result<&mut [MaybeUninit<u8>]> {
        let place = self.room::<Line>(length.div_ceil(size_of::<Line>()))?;
        // SAFETY: the room is new, at least as long, and stays while this is borrowed (2).
        Ok(unsafe { slice::from_raw_parts_mut(place.cast(), length) })
    }

    /// Room for values that need no drop.
    fn room<T>(&self, count: usize) -> Result<*mut T> {
        const { assert!(align_of::<T>() <= MAX_ALIGN) }
        let size = size_of::<T>().checked_mul(count).filter(|&size| size <= isize::MAX as usize / 4);
        let size = size.ok_or_else(|| Error::new(Code::Size))?;
        if size == 0 {
            return Ok(ptr::dangling_mut());
        }
        let padding = self.next.get().addr().wrapping_neg() % align_of::<T>();
        if self.left.get() < size + padding {
            self.chunk(size)?;
            return self.room(count);
        }
        // SAFETY: (1) there are so many bytes.
        let place = unsafe { self.next.get().add(padding) };
        // SAFETY: likewise; at most one behind the end.
        self.next.set(unsafe { place.add(size) });
        self.left.set(self.left.get() - size - padding);
        Ok(place.cast())
    }

    /// A new chunk that begins with room for this many bytes.
    #[cold]
    fn chunk(&self, size: usize) -> Result<()> {
        let mut chunks = self.chunks.borrow_mut();
        let before = chunks.last().map_or(0, |chunk| chunk.capacity() * MAX_ALIGN);
        let lines = size.max(2 * before).max(FIRST_CHUNK).div_ceil(MAX_ALIGN);
        let mut chunk: Vec<Line> = Vec::new();
        chunk.try_reserve_exact(lines).map_err(|_| Error::new(Code::Size).found(format_args!("{size} bytes")))?;
        self.next.set(chunk.as_mut_ptr().cast());
        self.left.set(lines * MAX_ALIGN);
        chunks.push(chunk);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_stays_until_it_is_cleared() {
        let mut scratch = Scratch::default();
        for round in 0..3 {
            let texts: Vec<Str<'_>> =
                (0..200).map(|i| scratch.string(format!("text {i}").as_bytes()).unwrap()).collect();
            let large = scratch.collect((0..1000u32).map(|i| Ok(u64::from(i)))).unwrap();
            let one = scratch.put(7u128).unwrap();
            assert_eq!((large.len(), large[999], *one), (1000, 999, 7));
            assert!(texts.iter().enumerate().all(|(i, text)| text.to_bytes() == format!("text {i}").as_bytes()));
            assert!(scratch.chunks.borrow().len() == 1 || round == 0);
            scratch.clear();
        }
        assert_eq!(scratch.string(b"a\0b").unwrap_err().code(), Code::BadRecord);
    }
}
