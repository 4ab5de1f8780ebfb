//! Single numbers: from the bytes of a record, of whatever kind and order, to a value and back.
//!
//! This is the exact way, for every kind of number that a format can have. Loops over arrays of the usual kinds have
//! faster ones; where both exist, this one is the judge. Numbers as text are in `decimal`.

mod decimal;
mod real;

pub use real::{Float, Integral, Real, Rounding, Wide};

use crate::format::ByteOrder;

/// The bits of a number of up to 16 bytes.
///
/// # Panics
/// If `bytes` are more than 16.
#[inline]
pub fn read_bits(order: ByteOrder, bytes: &[u8]) -> u128 {
    let mut word = [0; 16];
    match order {
        ByteOrder::Little => {
            word[..bytes.len()].copy_from_slice(bytes);
            u128::from_le_bytes(word)
        }
        ByteOrder::Big => {
            word[16 - bytes.len()..].copy_from_slice(bytes);
            u128::from_be_bytes(word)
        }
    }
}

/// Writes the low bits of a number, as many as `bytes` hold.
///
/// # Panics
/// If `bytes` are more than 16.
#[inline]
pub fn write_bits(order: ByteOrder, bytes: &mut [u8], bits: u128) {
    let size = bytes.len();
    match order {
        ByteOrder::Little => bytes.copy_from_slice(&bits.to_le_bytes()[..size]),
        ByteOrder::Big => bytes.copy_from_slice(&bits.to_be_bytes()[16 - size..]),
    }
}

/// A two's-complement integer of up to 16 bytes.
///
/// # Panics
/// If `bytes` are more than 16, or none.
#[inline]
pub fn read_signed(order: ByteOrder, bytes: &[u8]) -> i128 {
    let unused = 128 - 8 * bytes.len() as u32;
    (read_bits(order, bytes) << unused) as i128 >> unused
}

#[cfg(test)]
mod tests {
    use super::*;
    use ByteOrder::{Big, Little};

    #[test]
    fn integers_of_every_size() {
        for size in 1..=16 {
            for order in [Little, Big] {
                let mut bytes = vec![0; size];
                write_bits(order, &mut bytes, -2i128 as u128);
                assert_eq!(read_signed(order, &bytes), -2);
                write_bits(order, &mut bytes, 0x5a);
                assert_eq!((read_signed(order, &bytes), read_bits(order, &bytes)), (0x5a, 0x5a));
            }
        }
        assert_eq!(read_bits(Big, &[1, 2, 3]), 0x010203);
        assert_eq!(read_bits(Little, &[1, 2, 3]), 0x030201);
    }
}
