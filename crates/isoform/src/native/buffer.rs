//! Memory into which records are decoded: aligned for every record, and kept from one to the next.
//!
//! Invariant: (1) `length` is at most the bytes of `lines`, which are all initialised.

use super::MAX_ALIGN;
use isoform_core::interp::Output;
use isoform_core::{Code, Error, Result};

/// Bytes that begin at a multiple of [`MAX_ALIGN`].
pub(crate) struct Buffer {
    lines: Vec<Line>,
    length: usize,
    /// Whether new bytes must be zeros, and not those of an earlier record.
    clean: bool,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; MAX_ALIGN]);

const _: () = assert!(size_of::<Line>() == MAX_ALIGN && align_of::<Line>() == MAX_ALIGN);

impl Buffer {
    pub(crate) fn new(clean: bool) -> Buffer {
        Buffer { lines: Vec::new(), length: 0, clean }
    }

    /// Forgets its bytes, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }

    /// Takes these bytes instead of its own.
    pub(crate) fn copy(&mut self, bytes: &[u8]) -> Result<()> {
        self.clear();
        self.room(bytes.len())?;
        self.length = bytes.len();
        self.bytes().copy_from_slice(bytes);
        Ok(())
    }

    /// Forgets all but its first bytes.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Where its bytes begin.
    pub(crate) fn start(&self) -> *const u8 {
        self.lines.as_ptr().cast()
    }

    /// The same, and how many there are.
    pub(crate) fn as_mut(&mut self) -> (*mut u8, usize) {
        (self.lines.as_mut_ptr().cast(), self.length)
    }

    #[inline]
    fn room(&mut self, length: usize) -> Result<()> {
        let lines = length.div_ceil(MAX_ALIGN);
        if lines > self.lines.len() { self.grow(lines) } else { Ok(()) }
    }

    #[cold]
    fn grow(&mut self, lines: usize) -> Result<()> {
        let more = lines.saturating_sub(self.lines.len());
        self.lines
            .try_reserve(more)
            .map_err(|_| Error::new(Code::Size).came(format_args!("{lines} lines of memory")))?;
        self.lines.resize(lines, Line([0; MAX_ALIGN]));
        Ok(())
    }
}

impl Output for Buffer {
    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: (1); a line is bytes only.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.length) }
    }

    #[inline]
    fn resize(&mut self, length: usize) -> Result<()> {
        self.room(length)?;
        let before = std::mem::replace(&mut self.length, length);
        if let Some(new) = self.clean.then(|| self.bytes().get_mut(before..)).flatten() {
            new.fill(0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_bytes_are_zeros_if_that_was_asked() {
        for clean in [false, true] {
            let mut buffer = Buffer::new(clean);
            buffer.resize(3).unwrap();
            assert_eq!(buffer.bytes(), [0; 3]);
            buffer.bytes().fill(7);
            buffer.resize(70).unwrap();
            assert_eq!(buffer.bytes()[3..], [0; 67]);
            assert_eq!(buffer.as_mut().0.addr() % MAX_ALIGN, 0);
            buffer.clear();
            buffer.resize(3).unwrap();
            assert_eq!(buffer.bytes(), if clean { [0; 3] } else { [7; 3] });
            buffer.copy(&[1; 65]).unwrap();
            assert_eq!(buffer.bytes(), [1; 65]);
        }
    }
}
