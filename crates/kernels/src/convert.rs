//! Converts numbers of one type to another.
//!
//! Each pair of types is one loop, which compilers turn into vector instructions for each [`Level`]. A loop only
//! determines whether all numbers surely fit. The callers find the one that does not, and treat it.

use crate::level::for_each_level;
use crate::{Level, Number};

/// Converts each number of `src` if there is a loop for it and all numbers surely fit. Otherwise it returns `false`,
/// and the contents of `dst` are unspecified.
///
/// - There are loops for results in this machine's byte order, and for the commoner pairs of types.
/// - Integers, and floats that become wider, fit if their value does not change.
/// - Floats that become narrower fit if they neither become infinite nor lose digits because they are small. Infinities
///   do not surely fit.
/// - Floats must be converted within [`ieee()`](crate::ieee()).
///
/// ```
/// use isoform_kernels::{ByteOrder, FloatKind, Number, NumberClass, convert};
/// let from = Number { class: NumberClass::Signed, size: 2, order: ByteOrder::Big };
/// let to = Number { class: NumberClass::Float(FloatKind::Ieee), size: 4, order: ByteOrder::NATIVE };
/// let mut here = [0; 8];
/// assert!(convert(from, to, &[0, 1, 255, 255], &mut here));
/// assert_eq!(here, [1f32.to_ne_bytes(), (-1f32).to_ne_bytes()].concat()[..]);
/// let to = Number { class: NumberClass::Unsigned, size: 4, order: ByteOrder::NATIVE };
/// assert!(!convert(from, to, &[0, 1, 255, 255], &mut here), "-1 does not fit");
/// ```
///
/// # Panics
/// If `src` and `dst` do not contain equal numbers of whole numbers.
#[inline]
pub fn convert(from: Number, to: Number, src: &[u8], dst: &mut [u8]) -> bool {
    convert_at(Level::best(), from, to, src, dst)
}

for_each_level! {
    /// [`convert()`], with the instructions of one level.
    ///
    /// # Panics
    /// As [`convert()`].
    pub fn convert_at(from: Number, to: Number, src: &[u8], dst: &mut [u8]) -> bool = portable
}

/// From this value on, doubles become infinite floats: halfway between the largest float and its successor.
const TOO_LARGE: f64 = f32::MAX as f64 + (1u128 << 103) as f64;
/// Below this value, doubles lose digits or become zero, and may do so although they need not
/// ([`ieee()`](crate::ieee())).
const TOO_SMALL: f64 = f32::MIN_POSITIVE as f64;

#[inline(always)]
fn portable(from: Number, to: Number, src: &[u8], dst: &mut [u8]) -> bool {
    use crate::FloatKind::{Brain, Ieee};
    use crate::NumberClass::{Float, Signed, Unsigned};
    if to.is_swapped() {
        return false;
    }
    let swapped = from.is_swapped();
    let [from_size, to_size] = [from, to].map(|number| usize::from(number.size));
    let count = src.len() / from_size;
    assert!(count * from_size == src.len() && count * to_size == dst.len(), "both hold as many whole numbers");
    /// An integer whose value does not change.
    macro_rules! integer {
        ($from:ty, $to:ty) => {
            each(swapped, src, dst, |bytes| {
                let value = <$from>::from_ne_bytes(bytes);
                let result = value as $to;
                // With different signs, equal bits may be different numbers.
                #[allow(unused_comparisons, reason = "for unsigned types")]
                let same_sign = (value < 0) == (result < 0);
                (result.to_ne_bytes(), result as $from == value && same_sign)
            })
        };
    }
    /// An integer that a float surely holds exactly, by its magnitude.
    macro_rules! float {
        ($from:ty, $to:ty, $magnitude:expr) => {
            each(swapped, src, dst, |bytes| {
                let value = <$from>::from_ne_bytes(bytes);
                let magnitude = u64::from($magnitude(value));
                ((value as $to).to_ne_bytes(), magnitude <= 1 << <$to>::MANTISSA_DIGITS)
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
        (Signed, 1, Unsigned, 1) => integer!(i8, u8),
        (Signed, 2, Unsigned, 2) => integer!(i16, u16),
        (Signed, 4, Unsigned, 4) => integer!(i32, u32),
        (Signed, 4, Unsigned, 8) => integer!(i32, u64),
        (Signed, 8, Unsigned, 8) => integer!(i64, u64),
        (Unsigned, 1, Signed, 1) => integer!(u8, i8),
        (Unsigned, 1, Signed, 2) => integer!(u8, i16),
        (Unsigned, 1, Signed, 4) => integer!(u8, i32),
        (Unsigned, 2, Signed, 2) => integer!(u16, i16),
        (Unsigned, 2, Signed, 4) => integer!(u16, i32),
        (Unsigned, 4, Signed, 4) => integer!(u32, i32),
        (Unsigned, 4, Signed, 8) => integer!(u32, i64),
        (Unsigned, 8, Signed, 8) => integer!(u64, i64),
        (Signed, 1, Float(Ieee), 4) => float!(i8, f32, i8::unsigned_abs),
        (Signed, 2, Float(Ieee), 4) => float!(i16, f32, i16::unsigned_abs),
        (Signed, 4, Float(Ieee), 4) => float!(i32, f32, i32::unsigned_abs),
        (Signed, 2, Float(Ieee), 8) => float!(i16, f64, i16::unsigned_abs),
        (Signed, 4, Float(Ieee), 8) => float!(i32, f64, i32::unsigned_abs),
        (Signed, 8, Float(Ieee), 8) => float!(i64, f64, i64::unsigned_abs),
        (Unsigned, 1, Float(Ieee), 4) => float!(u8, f32, u64::from),
        (Unsigned, 2, Float(Ieee), 4) => float!(u16, f32, u64::from),
        (Unsigned, 2, Float(Ieee), 8) => float!(u16, f64, u64::from),
        (Unsigned, 4, Float(Ieee), 8) => float!(u32, f64, u64::from),
        (Float(Ieee), 2, Float(Ieee), 4) => each(swapped, src, dst, |bytes| (half(bytes).to_ne_bytes(), true)),
        (Float(Ieee), 2, Float(Ieee), 8) => {
            each(swapped, src, dst, |bytes| (f64::from(half(bytes)).to_ne_bytes(), true))
        }
        (Float(Brain), 2, Float(Ieee), 4) => each(swapped, src, dst, |bytes| (brain(bytes).to_ne_bytes(), true)),
        (Float(Brain), 2, Float(Ieee), 8) => {
            each(swapped, src, dst, |bytes| (f64::from(brain(bytes)).to_ne_bytes(), true))
        }
        (Float(Ieee), 4, Float(Ieee), 8) => {
            each(swapped, src, dst, |bytes| (f64::from(f32::from_ne_bytes(bytes)).to_ne_bytes(), true))
        }
        (Float(Ieee), 8, Float(Ieee), 4) => each(swapped, src, dst, |bytes| {
            let value = f64::from_ne_bytes(bytes);
            let magnitude = value.abs();
            let beyond = (magnitude >= TOO_LARGE) | (magnitude < TOO_SMALL) & (magnitude != 0.0);
            ((value as f32).to_ne_bytes(), !beyond)
        }),
        _ => false,
    }
}

/// The number with the bits of a half. After the shift, a single's exponent is too small by 112.
#[inline(always)]
fn half(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_ne_bytes(bytes));
    let shifted = (bits & 0x7fff) << 13;
    let finite = (f32::from_bits(shifted) * f32::from_bits((127 + 112) << 23)).to_bits();
    let magnitude = if shifted >= 0x7c00 << 13 { shifted | 0xff << 23 } else { finite };
    f32::from_bits(magnitude | (bits & 0x8000) << 16)
}

/// The number with the bits of a bfloat: the first half of a single.
#[inline(always)]
fn brain(bytes: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_ne_bytes(bytes)) << 16)
}

/// Converts each number with `one`, which also tells whether it fits.
#[inline(always)]
fn each<const FROM: usize, const TO: usize>(
    swapped: bool,
    src: &[u8],
    dst: &mut [u8],
    one: impl Fn([u8; FROM]) -> ([u8; TO], bool),
) -> bool {
    let ((src, _), (dst, _)) = (src.as_chunks(), dst.as_chunks_mut());
    let mut fit = true;
    if swapped {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ByteOrder;
    use crate::FloatKind::{Brain, Ieee};
    use crate::NumberClass::{self, Float, Signed, Unsigned};
    use proptest::prelude::*;

    const NUMBERS: [(NumberClass, u8); 12] = [
        (Signed, 1),
        (Signed, 2),
        (Signed, 4),
        (Signed, 8),
        (Unsigned, 1),
        (Unsigned, 2),
        (Unsigned, 4),
        (Unsigned, 8),
        (Float(Ieee), 2),
        (Float(Ieee), 4),
        (Float(Ieee), 8),
        (Float(Brain), 2),
    ];

    const SWAPPED: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Little } else { ByteOrder::Big };

    fn native(class: NumberClass, size: u8) -> Number {
        Number { class, size, order: ByteOrder::NATIVE }
    }

    fn number() -> impl Strategy<Value = Number> {
        prop::sample::select(&NUMBERS[..]).prop_map(|(class, size)| native(class, size))
    }

    /// Bytes of numbers of this size: anything, small numbers, and what is near powers of two.
    fn bytes(size: usize) -> impl Strategy<Value = Vec<u8>> {
        let power = (0u32..64, -2i64..3).prop_map(|(shift, by)| (1u64 << shift).wrapping_add(by as u64));
        let one = prop_oneof![any::<u64>(), power, 0u64..300, (0u64..300).prop_map(u64::wrapping_neg)];
        let bits = prop_oneof![3 => one.boxed(), 1 => any::<f64>().prop_map(f64::to_bits).boxed()];
        prop::collection::vec(bits.prop_map(move |bits| low(bits, size)), 0..80).prop_map(|all| all.concat())
    }

    fn low(bits: u64, size: usize) -> Vec<u8> {
        let bytes = bits.to_le_bytes()[..size].to_vec();
        if cfg!(target_endian = "big") { bytes.into_iter().rev().collect() } else { bytes }
    }

    /// The value of a number as a whole number or a double, whichever holds it.
    fn value(number: Number, bytes: &[u8]) -> (i128, f64) {
        let mut le = bytes.to_vec();
        if cfg!(target_endian = "big") {
            le.reverse();
        }
        le.resize(8, 0);
        let bits = u64::from_le_bytes(le.try_into().unwrap());
        let shift = 64 - 8 * u32::from(number.size);
        match (number.class, number.size) {
            (Signed, _) => {
                let value = (bits << shift) as i64 >> shift;
                (value.into(), value as f64)
            }
            (Unsigned | NumberClass::Boolean, _) => (bits.into(), bits as f64),
            (Float(Ieee), 2) => (0, slow_half(bits as u16)),
            (Float(Ieee), 4) => (0, f32::from_bits(bits as u32).into()),
            (Float(Ieee), _) => (0, f64::from_bits(bits)),
            (Float(_), _) => (0, f32::from_bits((bits as u32) << 16).into()),
        }
    }

    /// By what the bits mean.
    fn slow_half(bits: u16) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
        match exponent {
            31 if fraction == 0.0 => sign * f64::INFINITY,
            31 => f64::NAN,
            0 => sign * fraction * power_of_two(-14),
            _ => sign * (1.0 + fraction) * power_of_two(exponent - 15),
        }
    }

    /// Exactly, which is more than Miri has of `powi`.
    fn power_of_two(exponent: i32) -> f64 {
        f64::from_bits(((1023 + exponent) as u64) << 52)
    }

    proptest! {
        /// At every level, the same numbers, which are those that came; and whether they fit does not depend on the level.
        #[test]
        fn numbers_that_fit_stay_what_they_are(
            (from, src) in number().prop_flat_map(|from| (Just(from), bytes(from.size.into()))),
            to in number(),
            swapped in any::<bool>(),
        ) {
            let (from_size, to_size) = (usize::from(from.size), usize::from(to.size));
            let mut given = src.clone();
            let came = Number { order: if swapped { SWAPPED } else { ByteOrder::NATIVE }, ..from };
            if swapped {
                given.chunks_mut(from_size).for_each(<[u8]>::reverse);
            }
            let results: Vec<_> = Level::all().into_iter().map(|level| {
                let mut dst = vec![0xee; src.len() / from_size * to_size];
                convert_at(level, came, to, &given, &mut dst).then_some(dst)
            }).collect();
            // Miri gives a NaN other bits each time that it is converted.
            prop_assert!(cfg!(miri) || results.iter().all(|result| *result == results[0]), "{:?}", results);
            for (index, result) in results[0].iter().flat_map(|dst| dst.chunks(to_size)).enumerate() {
                let (came, became) = (value(from, &src[index * from_size..][..from_size]), value(to, result));
                let integers = [from.class, to.class].map(|class| matches!(class, Signed | Unsigned));
                let narrow = from.class == Float(Ieee) && to.class == Float(Ieee) && from.size > to.size;
                match integers {
                    [true, true] => prop_assert_eq!(came.0, became.0),
                    [true, false] => prop_assert_eq!(came.0, became.1 as i128),
                    _ if came.1.is_nan() => prop_assert!(became.1.is_nan()),
                    _ if narrow => prop_assert_eq!(f64::from(came.1 as f32).to_bits(), became.1.to_bits()),
                    _ => prop_assert_eq!(came.1.to_bits(), became.1.to_bits()),
                }
            }
        }
    }

    #[test]
    fn every_half_is_what_its_bits_mean() {
        for bits in (0..=u16::MAX).step_by(if cfg!(miri) { 257 } else { 1 }) {
            let (came, expected) = (half(bits.to_ne_bytes()), slow_half(bits));
            assert!(
                came == expected as f32 && came.is_sign_negative() == (bits >> 15 == 1) || came.is_nan(),
                "{bits:x}"
            );
            assert_eq!(came.is_nan(), expected.is_nan());
        }
    }

    #[test]
    fn what_is_sure_to_fit_is_not_refused() {
        let fits = |from, to, src: &[u8]| convert(from, to, src, &mut [0; 8][..to.size.into()]);
        assert!(fits(native(Signed, 8), native(Float(Ieee), 8), &(-(1i64 << 53)).to_ne_bytes()));
        assert!(!fits(native(Signed, 8), native(Float(Ieee), 8), &((1i64 << 53) + 1).to_ne_bytes()));
        assert!(fits(native(Signed, 4), native(Float(Ieee), 4), &(1i32 << 24).to_ne_bytes()));
        assert!(!fits(native(Signed, 4), native(Float(Ieee), 4), &(-(1i32 << 24) - 1).to_ne_bytes()));
        assert!(fits(native(Signed, 8), native(Signed, 4), &(-(1i64 << 31)).to_ne_bytes()));
        assert!(!fits(native(Signed, 4), native(Unsigned, 4), &(-1i32).to_ne_bytes()));
        assert!(fits(native(Float(Ieee), 8), native(Float(Ieee), 4), &f64::from(f32::MAX).to_ne_bytes()));
        assert!(!fits(native(Float(Ieee), 8), native(Float(Ieee), 4), &3.5e38f64.to_ne_bytes()));
    }
}
