//! The memory of a decoder for records. It is reused, and cleared between records if necessary.

use super::aligned::Aligned;
use isoform_core::Result;
use isoform_core::interp::Output;

/// The memory of a decoder.
pub(crate) struct Buffer {
    memory: Aligned,
    /// Whether new bytes must be zeros instead of bytes of an earlier record.
    clean: bool,
}

impl Buffer {
    pub(crate) fn new(clean: bool) -> Buffer {
        Buffer { memory: Aligned::new(), clean }
    }

    /// Forgets its bytes, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.memory.clear();
    }

    /// Takes over these bytes.
    pub(crate) fn copy(&mut self, bytes: &[u8]) -> Result<()> {
        self.memory.clear();
        self.memory.try_reserve(bytes.len())?;
        self.memory.extend_from_slice(bytes);
        Ok(())
    }

    /// Exchanges its memory with another buffer.
    pub(crate) fn exchange(&mut self, memory: &mut Aligned) {
        std::mem::swap(&mut self.memory, memory);
    }

    /// Forgets all but its first bytes.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.memory.truncate(length);
    }

    /// The address of its first byte.
    pub(crate) fn start(&self) -> *const u8 {
        self.memory.as_ptr()
    }

    /// The address of its first byte, and the number of bytes.
    pub(crate) fn as_mut(&mut self) -> (*mut u8, usize) {
        (self.memory.start(), self.memory.len())
    }
}

impl Output for Buffer {
    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    #[inline]
    fn resize(&mut self, length: usize) -> Result<()> {
        let before = self.memory.len();
        self.memory.try_reserve(length.saturating_sub(before))?;
        self.memory.resize(length);
        if let Some(new) = self.clean.then(|| self.memory.get_mut(before..)).flatten() {
            new.fill(0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::MAX_ALIGN;
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
