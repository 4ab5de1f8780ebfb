//! Floating-point numbers of every kind.

use super::soft::with_soft;
use super::{is_zero, read_bits, widen, write_bits};
use crate::format::{ByteOrder, FloatKind};
use rustc_apfloat::ieee::{Double, Quad};
use rustc_apfloat::{Float as SoftFloat, FloatConvert, Round};
use std::fmt;

/// A floating-point number of any kind: as an `f64` if that is exact, else [`Wide`].
///
/// It is the exact number. Reading a number of any kind and writing it as the same kind gives the same number, and
/// writing it as another kind rounds it once.
///
/// ```
/// use isoform_core::scalar::{Real, Rounding};
/// use isoform_core::{ByteOrder, FloatKind};
/// let half = Real::read(FloatKind::Ieee, ByteOrder::Big, &[0x3e, 0x00]);
/// assert_eq!(half, Real::Double(1.5));
/// let mut quad = [0; 16];
/// assert_eq!(half.write(FloatKind::Ieee, ByteOrder::Big, &mut quad), Rounding::Exact);
/// assert_eq!(quad[..3], [0x3f, 0xff, 0x80]);
/// assert_eq!(Real::Double(1e300).write(FloatKind::Ieee, ByteOrder::Big, &mut [0; 4]), Rounding::Overflow);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Real {
    /// A number that an `f64` holds exactly, an infinity, or not a number.
    Double(f64),
    /// A finite number that no `f64` holds.
    Wide(Wide),
}

/// A finite number that no `f64` holds: an IEEE binary128, but for a double-double or an integer that has too many digits
/// even for that. Reading makes it, in a [`Real`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wide {
    bits: u128,
    /// The difference from the nearest binary128, which is 0 if a binary128 holds the number.
    rest: f64,
}

impl Wide {
    /// The bits of the nearest IEEE binary128.
    pub fn bits(self) -> u128 {
        self.bits
    }
}

/// A floating-point number as it was read, with the kind that it had there: printed, it has the digits that tell it from
/// its neighbours of that kind. A double-double is rounded to binary128, as its text is.
///
/// ```
/// use isoform_core::scalar::Float;
/// use isoform_core::{ByteOrder, FloatKind};
/// let float = Float::read(FloatKind::Ieee, ByteOrder::Big, &0.1f32.to_be_bytes());
/// assert_eq!(float.to_string(), "0.1");
/// assert_eq!(float.to_f64(), 0.10000000149011612);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Float {
    value: Real,
    kind: FloatKind,
    size: u8,
}

impl Float {
    /// As [`Real::read`].
    #[inline]
    pub fn read(kind: FloatKind, order: ByteOrder, bytes: &[u8]) -> Float {
        let value = Real::read(kind, order, bytes);
        let value = if kind == FloatKind::Double2 { Real::of(value.quad()) } else { value };
        Float { value, kind, size: bytes.len() as u8 }
    }

    /// The number.
    pub fn value(self) -> Real {
        self.value
    }

    /// The nearest `f64`, ties to even.
    #[inline]
    pub fn to_f64(self) -> f64 {
        self.value.to_f64()
    }

    /// Calls a function with the text of the number, as [`Real::to_text`] gives it. Most are written without allocation.
    pub(crate) fn with_text<R>(self, with: impl FnOnce(&str) -> R) -> R {
        match self.value.usual_text(self.kind, self.size, &mut zmij::Buffer::new()) {
            Some(text) => with(text),
            None => with(&self.value.to_text(self.kind, self.size)),
        }
    }
}

impl Real {
    /// The text of a number that nobody writes with an exponent.
    #[inline]
    pub(super) fn usual_text(self, kind: FloatKind, size: u8, buffer: &mut zmij::Buffer) -> Option<&str> {
        let usual = |value: f64, most: f64| value == 0.0 || (1e-4..most).contains(&value.abs());
        match (self, kind, size) {
            (Real::Double(value), FloatKind::Ieee, 8) if usual(value, 1e16) => Some(buffer.format_finite(value)),
            (Real::Double(value), FloatKind::Ieee, 4) if usual(value, 1e12) => Some(buffer.format_finite(value as f32)),
            _ => None,
        }
    }
}

impl fmt::Display for Float {
    /// As [`Real::to_text`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

/// The result of writing a number, in the terms of `spec/conversion.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// It is the same number.
    Exact,
    /// It is the nearest number that there is, ties to even.
    Nearest,
    /// It was too large, and became an infinity.
    Overflow,
    /// It was too small, and became zero.
    Underflow,
}

/// A real number without its fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integral {
    /// Whether it was below zero, or minus zero.
    pub negative: bool,
    /// Its absolute value modulo 2^128; 0 for infinities and what is no number.
    pub magnitude: u128,
    /// Whether there was a fraction, or no number at all.
    pub inexact: bool,
    /// If neither a 128-bit signed nor an unsigned integer holds it: whether it was negative.
    pub beyond: Option<bool>,
}

impl Real {
    /// The number of this kind in these bytes, which are one slot.
    ///
    /// # Panics
    /// If this kind has no slots of this size ([`FloatKind::slot`]).
    #[inline]
    pub fn read(kind: FloatKind, order: ByteOrder, bytes: &[u8]) -> Real {
        match (kind, bytes.len()) {
            (FloatKind::Ieee, 8) => Real::Double(f64::from_bits(read_bits(order, bytes) as u64)),
            (FloatKind::Ieee, 4) => Real::Double(widen(read_bits(order, bytes) as u32)),
            _ => Real::read_rare(kind, order, bytes),
        }
    }

    fn read_rare(kind: FloatKind, order: ByteOrder, bytes: &[u8]) -> Real {
        assert!(kind.slot(bytes.len() as u8).is_some(), "no {kind:?} has {} bytes", bytes.len());
        let bits = |bytes| read_bits(order, bytes);
        match kind {
            FloatKind::Brain => Real::Double(widen((bits(bytes) as u32) << 16)),
            FloatKind::Double2 => {
                let [large, small] = [&bytes[..8], &bytes[8..]].map(|part| f64::from_bits(bits(part) as u64));
                match large.is_finite() && !is_zero(small) {
                    true => Real::sum(quad(large), quad(small)),
                    false => Real::Double(large),
                }
            }
            _ => with_soft!(kind, bytes.len(), F => as_quad::<F>(bits(&bytes[digits(kind, order, bytes.len())]))),
        }
    }

    /// Writes the number as this kind into these bytes, which are one slot. It is rounded to the nearest, ties to even.
    ///
    /// # Panics
    /// If this kind has no slots of this size ([`FloatKind::slot`]).
    #[inline]
    pub fn write(self, kind: FloatKind, order: ByteOrder, bytes: &mut [u8]) -> Rounding {
        match (self, kind, bytes.len()) {
            (Real::Double(value), FloatKind::Ieee, 8) => {
                write_bits(order, bytes, value.to_bits().into());
                Rounding::Exact
            }
            (Real::Double(value), FloatKind::Ieee, 4) => {
                let single = super::narrow(value).to_bits();
                write_bits(order, bytes, single.into());
                rounding(value, widen(single))
            }
            _ => self.write_rare(kind, order, bytes),
        }
    }

    fn write_rare(self, kind: FloatKind, order: ByteOrder, bytes: &mut [u8]) -> Rounding {
        assert!(kind.slot(bytes.len() as u8).is_some(), "no {kind:?} has {} bytes", bytes.len());
        let value = self.odd();
        let (bits, rounding) = match (kind, bytes.len()) {
            (FloatKind::Ieee, 16) => {
                (self.quad().to_bits(), if is_zero(self.rest()) { Rounding::Exact } else { Rounding::Nearest })
            }
            (FloatKind::Double2, _) => return self.write_double2(order, bytes),
            (_, size) => with_soft!(kind, size, F => narrow::<F>(value)),
        };
        write_slot(kind, order, bytes, bits);
        rounding
    }

    fn write_double2(self, order: ByteOrder, bytes: &mut [u8]) -> Rounding {
        let (large, rounding) = narrow::<Double>(self.odd());
        let left = match rounding {
            Rounding::Nearest => Real::sum((self.quad() - quad(f64::from_bits(large as u64))).value, quad(self.rest())),
            _ => Real::Double(0.0),
        };
        let (small, left) = narrow::<Double>(left.odd());
        write_bits(order, &mut bytes[..8], large);
        write_bits(order, &mut bytes[8..], small);
        if rounding == Rounding::Nearest && left == Rounding::Exact { Rounding::Exact } else { rounding }
    }

    /// Writes the largest finite number of this kind that has the sign of this one.
    ///
    /// # Panics
    /// As [`Real::write`].
    pub fn write_largest(self, kind: FloatKind, order: ByteOrder, bytes: &mut [u8]) {
        fn largest<F: SoftFloat>(negative: bool) -> u128 {
            F::largest().copy_sign(if negative { -F::ZERO } else { F::ZERO }).to_bits()
        }
        let negative = self.quad().is_negative();
        if kind == FloatKind::Double2 {
            // Half a unit in the last place of the larger part more would make the next larger number the nearest.
            let parts = [f64::MAX, 2f64.powi(970).next_down()];
            for (part, bytes) in parts.into_iter().zip(bytes.chunks_exact_mut(8)) {
                write_bits(order, bytes, if negative { -part } else { part }.to_bits().into());
            }
            return;
        }
        let bits = with_soft!(kind, bytes.len(), F => largest::<F>(negative));
        write_slot(kind, order, bytes, bits);
    }

    /// The number without its fraction.
    pub fn to_integer(self) -> Integral {
        isoform_kernels::ieee(|| self.whole())
    }

    fn whole(self) -> Integral {
        let value = self.quad();
        let negative = value.is_negative();
        let magnitude = value.abs();
        if !value.is_finite() {
            let beyond = value.is_infinite().then_some(negative);
            return Integral { negative, magnitude: 0, inexact: value.is_nan(), beyond };
        }
        let limit = quad(2f64.powi(128));
        let whole = magnitude.round_to_integral(Round::TowardZero).value;
        let low = match whole < limit {
            true => whole.to_u128(128).value,
            // All 113 digits, moved to their place; not by `c_fmod`, which takes a step for each bit of the exponent.
            false => {
                let digits = whole.to_bits() & ((1 << 112) - 1) | 1 << 112;
                digits.checked_shl((whole.ilogb() - 112) as u32).unwrap_or(0)
            }
        };
        // If there is a fraction, the rest is too small to change the integer.
        let rest = if whole == magnitude { if negative { -self.rest() } else { self.rest() } } else { 0.0 };
        let rest_low = (rest.floor().abs() % 2f64.powi(128)) as u128;
        let magnitude = if rest < 0.0 { low.wrapping_sub(rest_low) } else { low.wrapping_add(rest_low) };
        let beyond = whole > limit || whole == limit && rest >= 0.0 || negative && magnitude > 1 << 127;
        let inexact = whole != value.abs() || rest.trunc() != rest;
        Integral { negative, magnitude, inexact, beyond: beyond.then_some(negative) }
    }

    /// The nearest `f64`, ties to even.
    #[inline]
    pub fn to_f64(self) -> f64 {
        match self {
            Real::Double(value) => value,
            Real::Wide(_) => f64::from_bits(narrow::<Double>(self.odd()).0 as u64),
        }
    }

    /// An integer as a number.
    pub fn from_signed(value: i128) -> Real {
        Real::sum(Quad::from_i128(value >> 64 << 64).value, Quad::from_u128(value as u64 as u128).value)
    }

    /// As [`Real::from_signed`].
    pub fn from_unsigned(value: u128) -> Real {
        Real::sum(Quad::from_u128(value >> 64 << 64).value, Quad::from_u128(value as u64 as u128).value)
    }

    pub(super) fn of(value: Quad) -> Real {
        Real::of_parts(value, 0.0)
    }

    fn of_parts(value: Quad, rest: f64) -> Real {
        match narrow::<Double>(value) {
            (bits, Rounding::Exact) if is_zero(rest) => Real::Double(f64::from_bits(bits as u64)),
            _ => Real::Wide(Wide { bits: value.to_bits(), rest }),
        }
    }

    /// The sum of two numbers of which one is an `f64`, so that what does not fit into a binary128 fits into another.
    fn sum(a: Quad, b: Quad) -> Real {
        let (large, small) = if a.abs() < b.abs() { (b, a) } else { (a, b) };
        let sum = (large + small).value;
        // Exact, as `large` is not smaller than `small`.
        let rest = if sum.is_finite() { (small - (sum - large).value).value } else { Quad::ZERO };
        Real::of_parts(sum, f64::from_bits(narrow::<Double>(rest).0 as u64))
    }

    /// The nearest binary128.
    pub(super) fn quad(self) -> Quad {
        match self {
            Real::Double(value) => quad(value),
            Real::Wide(wide) => Quad::from_bits(wide.bits),
        }
    }

    fn rest(self) -> f64 {
        if let Real::Wide(wide) = self { wide.rest } else { 0.0 }
    }

    /// The number if a binary128 holds it, else that one of its two neighbours whose last bit is 1: rounding this to fewer
    /// digits gives what rounding the number itself would.
    fn odd(self) -> Quad {
        match self {
            Real::Wide(Wide { bits, rest }) if !is_zero(rest) && bits & 1 == 0 => {
                let outwards = rest.is_sign_negative() == self.quad().is_negative();
                Quad::from_bits(if outwards { bits + 1 } else { bits - 1 })
            }
            _ => self.quad(),
        }
    }
}

impl From<f64> for Real {
    fn from(value: f64) -> Real {
        Real::Double(value)
    }
}

/// The bytes of a slot that hold the number. The others are a gap.
fn digits(kind: FloatKind, order: ByteOrder, size: usize) -> std::ops::Range<usize> {
    let digits = usize::from(kind.digits(size as u8));
    match order {
        ByteOrder::Little => 0..digits,
        ByteOrder::Big => size - digits..size,
    }
}

/// Writes the bits of a number that is not a double-double.
fn write_slot(kind: FloatKind, order: ByteOrder, bytes: &mut [u8], bits: u128) {
    let digits = digits(kind, order, bytes.len());
    if digits.len() < bytes.len() {
        bytes.fill(0);
    }
    write_bits(order, &mut bytes[digits], bits);
}

pub(super) fn quad(value: f64) -> Quad {
    Double::from_bits(value.to_bits().into()).convert(&mut false).value
}

fn as_quad<F: FloatConvert<Quad>>(bits: u128) -> Real {
    Real::of(F::from_bits(bits).convert(&mut false).value)
}

fn narrow<F: SoftFloat>(value: Quad) -> (u128, Rounding)
where
    Quad: FloatConvert<F>,
{
    let mut lossy = false;
    let narrow: F = value.convert(&mut lossy).value;
    let rounding = match lossy && !value.is_nan() {
        false => Rounding::Exact,
        true if narrow.is_infinite() => Rounding::Overflow,
        true if narrow.is_zero() => Rounding::Underflow,
        true => Rounding::Nearest,
    };
    (narrow.to_bits(), rounding)
}

#[inline]
fn rounding(from: f64, to: f64) -> Rounding {
    match from.to_bits() == to.to_bits() || from.is_nan() {
        true => Rounding::Exact,
        false if to.is_infinite() => Rounding::Overflow,
        false if is_zero(to) => Rounding::Underflow,
        false => Rounding::Nearest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ByteOrder::{Big, Little};
    use FloatKind::{Brain, Double2, Ieee, X87};

    fn both_ways(kind: FloatKind, big: &[u8], value: Real) {
        let little: Vec<u8> = match kind {
            Double2 => big.chunks(8).flat_map(|part| part.iter().rev().copied()).collect(),
            _ => big.iter().rev().copied().collect(),
        };
        for (order, bytes) in [(Big, big), (Little, &little)] {
            assert_eq!(Real::read(kind, order, bytes), value, "{kind:?} {bytes:02x?}");
            let mut written = vec![0xaa; bytes.len()];
            assert_eq!(value.write(kind, order, &mut written), Rounding::Exact);
            assert_eq!(written, bytes, "{kind:?} {value:?}");
        }
    }

    proptest::proptest! {
        /// The standard library writes numbers, too. Of two numbers that are equally short and near, it may choose the other one.
        #[test]
        fn texts_are_as_short_as_those_of_the_standard_library(bits: u64, usual in -1e17f64..1e17, power in -6i32..18) {
            let tenth = 10f64.powi(power);
            for value in [f64::from_bits(bits), usual, usual / tenth, tenth, (bits >> power.max(0)) as f64] {
                let text = |size, value: f64| Float { value: Real::Double(value), kind: Ieee, size }.to_string();
                if value.is_finite() {
                    let (wide, narrow) = (text(8, value), text(4, f64::from(value as f32)));
                    proptest::prop_assert_eq!(wide.parse::<f64>().ok(), Some(value), "{}", wide);
                    proptest::prop_assert_eq!(wide.len(), format!("{value:?}").len(), "{} {:?}", wide, value);
                    let value = value as f32;
                    if value.is_finite() {
                        proptest::prop_assert_eq!(narrow.parse::<f32>().ok(), Some(value), "{}", narrow);
                        proptest::prop_assert_eq!(narrow.len(), format!("{value:?}").len(), "{} {:?}", narrow, value);
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_that_end_at_a_limit_are_written_alike() {
        for value in
            [0.0, -0.0, 1e-4, 9.999999999999999e-5, 1e16, 9999999999999998.0, 0.1, 123.0, -1e15, 1.5e300, 5e-324]
        {
            let float = Float { value: Real::Double(value), kind: Ieee, size: 8 };
            assert_eq!(float.to_string(), format!("{value:?}"));
        }
    }

    #[test]
    fn numbers_whose_bits_are_known() {
        let minus_two = Real::Double(-2.0);
        both_ways(Ieee, &[0xc0, 0], minus_two);
        both_ways(Brain, &[0xc0, 0], minus_two);
        both_ways(Ieee, &[0xc0, 0, 0, 0], minus_two);
        both_ways(Ieee, &[0xc0, 0, 0, 0, 0, 0, 0, 0], minus_two);
        both_ways(X87, &[0xc0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0], minus_two);
        both_ways(X87, &[0, 0, 0xc0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0], minus_two);
        both_ways(Ieee, &[0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], minus_two);
        both_ways(Double2, &[0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], minus_two);
        both_ways(Ieee, &[0, 1], Real::Double(2f64.powi(-24)));
        both_ways(Ieee, &[0x7c, 0], Real::Double(f64::INFINITY));
        both_ways(Brain, &[0, 1], Real::Double(2f64.powi(-133)));
    }

    #[test]
    fn wide_numbers_keep_their_digits() {
        let third = [0x3f, 0xfd, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55];
        let value = Real::read(Ieee, Big, &third);
        assert!(matches!(value, Real::Wide(_)));
        both_ways(Ieee, &third, value);
        assert_eq!(value.to_f64(), 1.0 / 3.0);
        let mut double2 = [0; 16];
        assert_eq!(value.write(Double2, Big, &mut double2), Rounding::Nearest);
        assert_eq!(f64::from_be_bytes(double2[..8].try_into().unwrap()), 1.0 / 3.0);
        both_ways(Double2, &double2, Real::read(Double2, Big, &double2));
        let mut x87 = [0; 10];
        assert_eq!(value.write(X87, Big, &mut x87), Rounding::Nearest);
        assert_eq!(x87, [0x3f, 0xfd, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xab]);
        both_ways(X87, &x87, Real::read(X87, Big, &x87));
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let write = |value: f64, kind, size| Real::Double(value).write(kind, Little, &mut vec![0; size]);
        for (kind, size, too_large, too_small) in
            [(Ieee, 2, 65520.0, 2f64.powi(-25)), (Brain, 2, 3.4e38, 1e-41), (Ieee, 4, 3.5e38, 1e-46)]
        {
            assert_eq!(write(too_large, kind, size), Rounding::Overflow);
            assert_eq!(write(-too_large, kind, size), Rounding::Overflow);
            assert_eq!(write(too_small, kind, size), Rounding::Underflow);
            assert_eq!(write(0.1, kind, size), Rounding::Nearest);
            assert_eq!(write(f64::NAN, kind, size), Rounding::Exact);
            assert_eq!(write(f64::NEG_INFINITY, kind, size), Rounding::Exact);
            assert_eq!(write(-0.0, kind, size), Rounding::Exact);
        }
    }

    #[test]
    fn ties_go_to_even() {
        let mut bytes = [0; 2];
        assert_eq!(Real::Double(2049.0).write(Ieee, Big, &mut bytes), Rounding::Nearest);
        assert_eq!(Real::read(Ieee, Big, &bytes), Real::Double(2048.0));
        assert_eq!(Real::Double(2051.0).write(Ieee, Big, &mut bytes), Rounding::Nearest);
        assert_eq!(Real::read(Ieee, Big, &bytes), Real::Double(2052.0));
        // Just above the tie: rounding to f32 on the way would lose that.
        Real::Double(2049.0 + 1e-9).write(Ieee, Big, &mut bytes);
        assert_eq!(Real::read(Ieee, Big, &bytes), Real::Double(2050.0));
    }

    #[test]
    fn integers_become_reals() {
        assert_eq!(Real::from_signed(-3), Real::Double(-3.0));
        assert_eq!(Real::from_signed(i128::MIN), Real::Double(-2f64.powi(127)));
        for integer in [(1 << 60) + 1, (1 << 113) + 1, u128::MAX, u128::MAX - 1, (1 << 127) + (1 << 14)] {
            let real = Real::from_unsigned(integer);
            assert!(matches!(real, Real::Wide(_)));
            let whole = real.to_integer();
            assert_eq!((whole.magnitude, whole.inexact, whole.beyond), (integer, false, None));
        }
        let digits = Real::from_unsigned((1 << 112) + 5).quad();
        for (power, modulo) in [(16, 5 << 16), (60, 5 << 60), (127, 1 << 127), (128, 0), (16000, 0)] {
            let whole = Real::of(digits.scalbn(power)).to_integer();
            assert_eq!((whole.magnitude, whole.inexact, whole.beyond), (modulo, false, Some(false)), "2^{power}");
        }
        let whole = Real::from_signed(i128::MIN + 1).to_integer();
        assert_eq!((whole.negative, whole.magnitude, whole.beyond), (true, i128::MAX as u128, None));
    }

    fn double2(large: f64, small: f64) -> Real {
        let bytes = [large, small].map(f64::to_be_bytes).concat();
        let real = Real::read(Double2, Big, &bytes);
        let mut again = [0; 16];
        assert_eq!(real.write(Double2, Big, &mut again), Rounding::Exact);
        assert_eq!(again, *bytes, "{large} + {small}");
        real
    }

    #[test]
    fn the_smaller_part_decides_however_small() {
        let tiny = 2f64.powi(-1000);
        let tie = 1.0 + 2f64.powi(-24);
        let bits = |real: Real, kind, size| {
            let mut bytes = vec![0; size];
            assert_eq!(real.write(kind, Big, &mut bytes), Rounding::Nearest);
            read_bits(Big, &bytes)
        };
        assert_eq!(bits(double2(tie, 0.0), Ieee, 4), 0x3f80_0000);
        assert_eq!(bits(double2(tie, -tiny), Ieee, 4), 0x3f80_0000);
        assert_eq!(bits(double2(tie, tiny), Ieee, 4), 0x3f80_0001);
        let tie = 1.0 + 2f64.powi(-11);
        assert_eq!(bits(double2(-tie, -tiny), Ieee, 2), 0xbc01);
        assert_eq!(bits(double2(-tie, tiny), Ieee, 2), 0xbc00);
        assert_eq!(bits(double2(1.0, tiny), Ieee, 16), 0x3fff << 112);
        let above = 2f64.powi(-64) * (1.0 + f64::EPSILON);
        assert_eq!(bits(double2(1.0, above), X87, 10), 0x3fff_8000_0000_0000_0001);
        assert_eq!(double2(1.0, -tiny).to_f64(), 1.0);
        assert_ne!(double2(1.0, -tiny), Real::Double(1.0));
    }

    #[test]
    fn integers_in_two_parts() {
        let tiny = 2f64.powi(-1000);
        let whole = |large, small| {
            let whole = double2(large, small).to_integer();
            (whole.magnitude, whole.inexact, whole.beyond)
        };
        assert_eq!(whole(5.0, -tiny), (4, true, None));
        assert_eq!(whole(-5.0, tiny), (4, true, None));
        assert_eq!(whole(5.5, -tiny), (5, true, None));
        assert_eq!(whole(-5.0, -tiny), (5, true, None));
        assert_eq!(whole(2f64.powi(128), -1.0), (u128::MAX, false, None));
        assert_eq!(whole(2f64.powi(128), -tiny), (u128::MAX, true, None));
        assert_eq!(whole(2f64.powi(128), tiny), (0, true, Some(false)));
        assert_eq!(whole(-2f64.powi(128), 3.0), (u128::MAX - 2, false, Some(true)));
        assert_eq!(whole(-2f64.powi(127), 0.5), ((1 << 127) - 1, true, None));
        assert_eq!(whole(2f64.powi(300), 3.0), (3, false, Some(false)));
        let modulo = 0u128.wrapping_sub(1 << 100);
        assert_eq!(whole(2f64.powi(300), -2f64.powi(130) - 2f64.powi(100)), (modulo, false, Some(false)));
    }

    #[test]
    fn the_largest_numbers() {
        let largest = |kind, size| {
            let mut bytes = vec![0; size];
            Real::Double(-1.0).write_largest(kind, Big, &mut bytes);
            Real::read(kind, Big, &bytes)
        };
        assert_eq!(largest(Ieee, 2), Real::Double(-65504.0));
        assert_eq!(largest(Ieee, 4), Real::Double(f32::MIN.into()));
        assert_eq!(largest(Ieee, 8), Real::Double(f64::MIN));
        assert_eq!(largest(Brain, 2), Real::Double(f32::from_bits(0xff7f_0000).into()));
        assert_eq!(largest(Double2, 16), double2(f64::MIN, -(2f64.powi(970) - 2f64.powi(917))));
        for (kind, digits) in [(X87, u128::MAX << 49), (Ieee, u128::MAX)] {
            assert!(matches!(largest(kind, 16), Real::Wide(wide) if wide.bits() == digits ^ 1 << 112), "{kind:?}");
        }
    }
}
