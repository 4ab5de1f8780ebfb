//! Single numbers: from the bytes of a record, of whatever kind and order, to a value and back.
//!
//! This is the exact way, for every kind of number that a format can have. Loops over arrays of the usual kinds have
//! faster ones; where both exist, this one is the judge. Numbers as text are in `decimal`, on top of `nearest`.

mod decimal;
#[cfg(test)]
mod judge;
mod nearest;
mod real;
mod soft;

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

/// An `f32` of these bits as an `f64`, even where the program has asked its processor to take tiny numbers for zeros.
#[inline]
pub(crate) fn widen(bits: u32) -> f64 {
    let magnitude = bits & !(1 << 31);
    match magnitude < f32::MIN_POSITIVE.to_bits() {
        true => (f64::from(magnitude) * SMALLEST).copysign(f64::from(f32::from_bits(bits ^ magnitude | ONE))),
        false => f32::from_bits(bits).into(),
    }
}

const ONE: u32 = 1f32.to_bits();
/// The smallest `f32`.
const SMALLEST: f64 = f64::from_bits((1023 - 149) << 52);

/// The nearest `f32`, even where the program has asked its processor to make zeros of tiny results.
#[inline]
pub(crate) fn narrow(value: f64) -> f32 {
    const LEAST: u64 = (1023 - 126) << 52;
    let magnitude = value.to_bits() & !(1 << 63);
    if magnitude >= LEAST { value as f32 } else { tiny(value.is_sign_negative(), magnitude) }
}

/// The same of a number below the smallest `f32` that has all its digits.
#[cold]
fn tiny(negative: bool, magnitude: u64) -> f32 {
    let (digits, exponent) = (magnitude & ((1 << 52) - 1) | 1 << 52, magnitude >> 52);
    // How many of the digits are behind the last place of an `f32`. Those of an `f64` without its leading 1 all are, by far.
    let behind = 926 - exponent;
    let bits = match behind {
        0..64 => {
            let (whole, rest, half) = (digits >> behind, digits & ((1 << behind) - 1), 1 << (behind - 1));
            whole + u64::from(rest > half || rest == half && whole & 1 == 1)
        }
        _ => 0,
    };
    f32::from_bits(bits as u32 | u32::from(negative) << 31)
}

/// Whether it is 0 or -0, and not just taken for that.
pub(crate) fn is_zero(value: f64) -> bool {
    value.to_bits() << 1 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use ByteOrder::{Big, Little};
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn singles_and_doubles_are_what_the_processor_makes_of_them(bits: u32, digits: u64, exponent in 1023u64 - 180..1023 - 120) {
            for bits in [bits, bits & 0x807f_ffff, bits & 0x8000_0000] {
                let value = f32::from_bits(bits);
                prop_assert!(value.is_nan() || widen(bits).to_bits() == f64::from(value).to_bits());
            }
            let halfway = digits & (!0 << 63 | !0 << 32);
            for digits in [digits, halfway, halfway & (!0 << 30)] {
                let value = f64::from_bits(digits & (!0 << 63 | !(!0 << 52)) | exponent << 52);
                prop_assert_eq!(narrow(value).to_bits(), (value as f32).to_bits(), "{:e}", value);
            }
        }
    }

    #[test]
    fn ties_of_the_smallest_go_to_even() {
        for (value, units) in
            [(0.5, 0), (0.5 + f64::EPSILON, 1), (1.0, 1), (1.5, 2), (2.5, 2), (8388607.5, 0x80_0000), (0.0, 0)]
        {
            assert_eq!(
                (narrow(value * SMALLEST).to_bits(), narrow(-value * SMALLEST).to_bits()),
                (units, units | 1 << 31)
            );
        }
        assert_eq!((narrow(f64::from_bits(1)), narrow(f64::MIN_POSITIVE)), (0.0, 0.0));
    }
}
