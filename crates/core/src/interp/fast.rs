//! The commonest conversions, each in a loop of its own that compilers turn into vector instructions: integers of one
//! kind into wider or narrower ones, and the two common floats into each other.
//!
//! A loop only finds out whether all numbers fit. What is done about one that does not is `convert`'s business.

use crate::format::{ByteOrder, FloatKind};
use crate::plan::{Conversion, NumberClass};

/// From here on, doubles become infinite floats: halfway between the largest float and what would come next.
const TOO_LARGE: f64 = f32::MAX as f64 + (1u128 << 103) as f64;
/// Up to here, doubles become zero: half the smallest float.
const TOO_SMALL: f64 = f32::from_bits(1) as f64 / 2.0;

/// Converts each number of `src`, if there is a loop for it and every number is known to fit (infinities are left to
/// others). If not, `dst` is to be filled anew.
pub(super) fn convert(conversion: &Conversion, src: &[u8], dst: &mut [u8]) -> bool {
    use NumberClass::{Float, Signed, Unsigned};
    let Conversion { from, to, .. } = *conversion;
    if to.order != ByteOrder::NATIVE {
        return false;
    }
    let swap = from.order != to.order;
    macro_rules! integer {
        ($from:ty, $to:ty) => {
            each(swap, src, dst, |bytes| {
                let value = <$from>::from_ne_bytes(bytes);
                let result = value as $to;
                (result.to_ne_bytes(), result as $from == value)
            })
        };
    }
    match (from.class, from.size, to.class, to.size) {
        (Signed, 1, Signed, 2) => integer!(i8, i16),
        (Signed, 1, Signed, 4) => integer!(i8, i32),
        (Signed, 1, Signed, 8) => integer!(i8, i64),
        (Signed, 2, Signed, 1) => integer!(i16, i8),
        (Signed, 2, Signed, 4) => integer!(i16, i32),
        (Signed, 2, Signed, 8) => integer!(i16, i64),
        (Signed, 4, Signed, 1) => integer!(i32, i8),
        (Signed, 4, Signed, 2) => integer!(i32, i16),
        (Signed, 4, Signed, 8) => integer!(i32, i64),
        (Signed, 8, Signed, 1) => integer!(i64, i8),
        (Signed, 8, Signed, 2) => integer!(i64, i16),
        (Signed, 8, Signed, 4) => integer!(i64, i32),
        (Unsigned, 1, Unsigned, 2) => integer!(u8, u16),
        (Unsigned, 1, Unsigned, 4) => integer!(u8, u32),
        (Unsigned, 1, Unsigned, 8) => integer!(u8, u64),
        (Unsigned, 2, Unsigned, 1) => integer!(u16, u8),
        (Unsigned, 2, Unsigned, 4) => integer!(u16, u32),
        (Unsigned, 2, Unsigned, 8) => integer!(u16, u64),
        (Unsigned, 4, Unsigned, 1) => integer!(u32, u8),
        (Unsigned, 4, Unsigned, 2) => integer!(u32, u16),
        (Unsigned, 4, Unsigned, 8) => integer!(u32, u64),
        (Unsigned, 8, Unsigned, 1) => integer!(u64, u8),
        (Unsigned, 8, Unsigned, 2) => integer!(u64, u16),
        (Unsigned, 8, Unsigned, 4) => integer!(u64, u32),
        (Float(FloatKind::Ieee), 4, Float(FloatKind::Ieee), 8) => {
            each(swap, src, dst, |bytes| (f64::from(f32::from_ne_bytes(bytes)).to_ne_bytes(), true))
        }
        (Float(FloatKind::Ieee), 8, Float(FloatKind::Ieee), 4) => each(swap, src, dst, |bytes| {
            let value = f64::from_ne_bytes(bytes);
            let magnitude = value.abs();
            let beyond = (magnitude >= TOO_LARGE) | (magnitude <= TOO_SMALL) & (magnitude != 0.0);
            ((value as f32).to_ne_bytes(), !beyond)
        }),
        _ => false,
    }
}

/// Converts each number by `one`, which also says whether it fits.
#[inline(always)]
fn each<const FROM: usize, const TO: usize>(
    swap: bool,
    src: &[u8],
    dst: &mut [u8],
    one: impl Fn([u8; FROM]) -> ([u8; TO], bool),
) -> bool {
    let ((src, _), (dst, _)) = (src.as_chunks(), dst.as_chunks_mut());
    let mut fit = true;
    if swap {
        for (from, to) in src.iter().zip(dst) {
            let mut bytes = *from;
            bytes.reverse();
            let (result, fits) = one(bytes);
            *to = result;
            fit &= fits;
        }
    } else {
        for (from, to) in src.iter().zip(dst) {
            let (result, fits) = one(*from);
            *to = result;
            fit &= fits;
        }
    }
    fit
}
