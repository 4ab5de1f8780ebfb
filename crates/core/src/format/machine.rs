//! The properties that all numbers and pointers of a record share.

use isoform_kernels::ByteOrder;
use std::fmt;

/// The properties that all numbers and pointers of a record share: byte order and the size of a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Machine {
    /// Order of the bytes of every number.
    pub order: ByteOrder,
    /// Bytes of a pointer slot: 4 or 8.
    pub pointer: u8,
}

impl Machine {
    /// The machine that this code runs on.
    pub const NATIVE: Machine = Machine { order: ByteOrder::NATIVE, pointer: size_of::<usize>() as u8 };

    /// Reads an unsigned integer of up to 8 bytes.
    ///
    /// # Panics
    /// If `bytes` are more than 8.
    #[inline]
    pub fn read(self, bytes: &[u8]) -> u64 {
        let little = self.order == ByteOrder::Little;
        // Each usual size is a case of its own, so that it becomes one load.
        match *bytes {
            [a] => a.into(),
            [a, b] if little => u16::from_le_bytes([a, b]).into(),
            [a, b] => u16::from_be_bytes([a, b]).into(),
            [a, b, c, d] if little => u32::from_le_bytes([a, b, c, d]).into(),
            [a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
            [a, b, c, d, e, f, g, h] if little => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            _ => {
                assert!(bytes.len() < 8, "an integer of more than 8 bytes");
                let push = |word, &byte: &u8| word << 8 | u64::from(byte);
                if little { bytes.iter().rev().fold(0, push) } else { bytes.iter().fold(0, push) }
            }
        }
    }

    /// Writes the low bytes of `value`, as many as `bytes` has.
    ///
    /// # Panics
    /// If `bytes` are more than 8.
    #[inline]
    pub fn write(self, bytes: &mut [u8], value: u64) {
        let size = bytes.len();
        match self.order {
            ByteOrder::Little => bytes.copy_from_slice(&value.to_le_bytes()[..size]),
            ByteOrder::Big => bytes.copy_from_slice(&value.to_be_bytes()[8 - size..]),
        }
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            ByteOrder::Little => "little-endian",
            ByteOrder::Big => "big-endian",
        };
        write!(f, "{order}, {}-bit pointers", u32::from(self.pointer) * 8)
    }
}
