//! Floating-point numbers of every kind.

use super::{read_bits, write_bits};
use crate::format::{ByteOrder, FloatKind};
use rustc_apfloat::ieee::{BFloat, Double, Half, Quad, Single, X87DoubleExtended};
use rustc_apfloat::{Float as SoftFloat, FloatConvert, Round, Status};
use std::fmt;

/// A floating-point number of any kind: as an `f64` if that is exact, else [`Wide`].
///
/// What is read from any kind and written as the same kind is the same number, with one exception: a double-double whose
/// two parts lie so far apart that 113 bits do not span both is read as the nearest number that they do.
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

/// A finite number that no `f64` holds, as an IEEE binary128 holds it. Reading makes it, in a [`Real`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wide(u128);

impl Wide {
    /// The bits of the IEEE binary128.
    pub fn bits(self) -> u128 {
        self.0
    }
}

/// A floating-point number as it was read, with the kind that it had there: printed, it has the digits that tell it from
/// its neighbours of that kind.
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
        Float { value: Real::read(kind, order, bytes), kind, size: bytes.len() as u8 }
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
}

impl fmt::Display for Float {
    /// As [`Real::to_text`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value.to_text(self.kind, self.size))
    }
}

/// What became of a number that was written, in the words of `spec/conversion.md`.
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
    /// If this kind has no slots of so many bytes ([`FloatKind::sizes`]).
    #[inline]
    pub fn read(kind: FloatKind, order: ByteOrder, bytes: &[u8]) -> Real {
        match (kind, bytes.len()) {
            (FloatKind::Ieee, 8) => Real::Double(f64::from_bits(read_bits(order, bytes) as u64)),
            (FloatKind::Ieee, 4) => Real::Double(f32::from_bits(read_bits(order, bytes) as u32).into()),
            _ => Real::read_rare(kind, order, bytes),
        }
    }

    fn read_rare(kind: FloatKind, order: ByteOrder, bytes: &[u8]) -> Real {
        assert!(kind.sizes().contains(&(bytes.len() as u8)), "no {kind:?} has {} bytes", bytes.len());
        let bits = |bytes| read_bits(order, bytes);
        match kind {
            FloatKind::Brain => Real::Double(f32::from_bits((bits(bytes) as u32) << 16).into()),
            FloatKind::Ieee if bytes.len() == 2 => widen::<Half>(bits(bytes)),
            FloatKind::Ieee => Real::of(Quad::from_bits(bits(bytes))),
            FloatKind::X87 => widen::<X87DoubleExtended>(bits(&bytes[x87_place(order, bytes.len())])),
            FloatKind::Double2 => {
                let [large, small] = [&bytes[..8], &bytes[8..]].map(|part| f64::from_bits(bits(part) as u64));
                match large.is_finite() && small != 0.0 {
                    true => Real::of((quad(large) + quad(small)).value),
                    false => Real::Double(large),
                }
            }
        }
    }

    /// Writes the number as this kind into these bytes, which are one slot. It is rounded to the nearest, ties to even.
    ///
    /// # Panics
    /// If this kind has no slots of so many bytes ([`FloatKind::sizes`]).
    #[inline]
    pub fn write(self, kind: FloatKind, order: ByteOrder, bytes: &mut [u8]) -> Rounding {
        match (self, kind, bytes.len()) {
            (Real::Double(value), FloatKind::Ieee, 8) => {
                write_bits(order, bytes, value.to_bits().into());
                Rounding::Exact
            }
            (Real::Double(value), FloatKind::Ieee, 4) => {
                let single = value as f32;
                write_bits(order, bytes, single.to_bits().into());
                rounding(value, single.into())
            }
            _ => self.write_rare(kind, order, bytes),
        }
    }

    fn write_rare(self, kind: FloatKind, order: ByteOrder, bytes: &mut [u8]) -> Rounding {
        assert!(kind.sizes().contains(&(bytes.len() as u8)), "no {kind:?} has {} bytes", bytes.len());
        let value = self.quad();
        let (bits, rounding) = match (kind, bytes.len()) {
            (FloatKind::Brain, _) => narrow::<BFloat>(value),
            (FloatKind::Ieee, 2) => narrow::<Half>(value),
            (FloatKind::Ieee, 4) => narrow::<Single>(value),
            (FloatKind::Ieee, 8) => narrow::<Double>(value),
            (FloatKind::Ieee, _) => (value.to_bits(), Rounding::Exact),
            (FloatKind::X87, _) => narrow::<X87DoubleExtended>(value),
            (FloatKind::Double2, _) => return write_double2(value, order, bytes),
        };
        if kind == FloatKind::X87 {
            bytes.fill(0);
            let place = x87_place(order, bytes.len());
            write_bits(order, &mut bytes[place], bits);
        } else {
            write_bits(order, bytes, bits);
        }
        rounding
    }

    /// Writes the number as this kind, rounded towards zero: one that is too large becomes the largest there is.
    ///
    /// # Panics
    /// As [`Real::write`].
    pub fn write_towards_zero(self, kind: FloatKind, order: ByteOrder, bytes: &mut [u8]) {
        fn cut<F: SoftFloat>(value: Quad) -> u128
        where
            Quad: FloatConvert<F>,
        {
            let narrow: F = value.convert_r(Round::TowardZero, &mut false).value;
            narrow.to_bits()
        }
        let value = self.quad();
        let bits = match (kind, bytes.len()) {
            (FloatKind::Brain, _) => cut::<BFloat>(value),
            (FloatKind::Ieee, 2) => cut::<Half>(value),
            (FloatKind::Ieee, 4) => cut::<Single>(value),
            (FloatKind::Ieee, 8) => cut::<Double>(value),
            (FloatKind::Ieee, _) => value.to_bits(),
            (FloatKind::X87, size) => {
                bytes.fill(0);
                return write_bits(order, &mut bytes[x87_place(order, size)], cut::<X87DoubleExtended>(value));
            }
            (FloatKind::Double2, _) => {
                // The larger part, cut off, and as much of the rest as a double holds.
                let large = f64::from_bits(cut::<Double>(value) as u64);
                let small = f64::from_bits(cut::<Double>((value - quad(large)).value) as u64);
                // Beyond half a unit in the last place of the larger, the sum would no longer be normalised.
                let half_unit = large.abs() * f64::EPSILON / 4.0;
                write_bits(order, &mut bytes[..8], large.to_bits().into());
                return write_bits(order, &mut bytes[8..], small.clamp(-half_unit, half_unit).to_bits().into());
            }
        };
        write_bits(order, bytes, bits);
    }

    /// The number without its fraction.
    pub fn to_integer(self) -> Integral {
        let value = self.quad();
        let negative = value.is_negative();
        let magnitude = if negative { -value } else { value };
        let mut exact = false;
        let whole = magnitude.to_u128_r(128, Round::TowardZero, &mut exact);
        if value.is_nan() {
            return Integral { negative: false, magnitude: 0, inexact: true, beyond: None };
        }
        if whole.status.contains(Status::INVALID_OP) {
            let modulo = magnitude.c_fmod(quad(2f64.powi(128))).value;
            let magnitude = if value.is_finite() { modulo.to_u128(128).value } else { 0 };
            return Integral { negative, magnitude, inexact: false, beyond: Some(negative) };
        }
        let beyond = (negative && whole.value > 1 << 127).then_some(true);
        Integral { negative, magnitude: whole.value, inexact: !exact, beyond }
    }

    /// The nearest `f64`, ties to even.
    #[inline]
    pub fn to_f64(self) -> f64 {
        match self {
            Real::Double(value) => value,
            Real::Wide(Wide(bits)) => f64::from_bits(narrow::<Double>(Quad::from_bits(bits)).0 as u64),
        }
    }

    /// The number nearest to an integer, and whether it is that integer.
    pub fn from_signed(value: i128) -> (Real, Rounding) {
        let quad = Quad::from_i128(value);
        (Real::of(quad.value), if quad.status.is_empty() { Rounding::Exact } else { Rounding::Nearest })
    }

    /// As [`Real::from_signed`].
    pub fn from_unsigned(value: u128) -> (Real, Rounding) {
        let quad = Quad::from_u128(value);
        (Real::of(quad.value), if quad.status.is_empty() { Rounding::Exact } else { Rounding::Nearest })
    }

    pub(super) fn of(value: Quad) -> Real {
        match narrow::<Double>(value) {
            (bits, Rounding::Exact) => Real::Double(f64::from_bits(bits as u64)),
            _ => Real::Wide(Wide(value.to_bits())),
        }
    }

    pub(super) fn quad(self) -> Quad {
        match self {
            Real::Double(value) => quad(value),
            Real::Wide(Wide(bits)) => Quad::from_bits(bits),
        }
    }
}

impl From<f64> for Real {
    fn from(value: f64) -> Real {
        Real::Double(value)
    }
}

/// Where an x87 number's 80 bits are in its slot; the rest is a gap.
fn x87_place(order: ByteOrder, size: usize) -> std::ops::Range<usize> {
    match order {
        ByteOrder::Little => 0..10,
        ByteOrder::Big => size - 10..size,
    }
}

fn write_double2(value: Quad, order: ByteOrder, bytes: &mut [u8]) -> Rounding {
    let (large, rounded) = narrow::<Double>(value);
    let rest = match rounded {
        Rounding::Nearest => (value - quad(f64::from_bits(large as u64))).value,
        _ => Quad::ZERO,
    };
    let (small, rounding) = narrow::<Double>(rest);
    write_bits(order, &mut bytes[..8], large);
    write_bits(order, &mut bytes[8..], small);
    match rounded {
        Rounding::Nearest if rounding == Rounding::Exact => Rounding::Exact,
        _ => rounded,
    }
}

pub(super) fn quad(value: f64) -> Quad {
    Double::from_bits(value.to_bits().into()).convert(&mut false).value
}

fn widen<F: FloatConvert<Quad>>(bits: u128) -> Real {
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
    match from == to || from.is_nan() {
        true => Rounding::Exact,
        false if to.is_infinite() => Rounding::Overflow,
        false if to == 0.0 => Rounding::Underflow,
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
        assert_eq!(Real::from_signed(-3), (Real::Double(-3.0), Rounding::Exact));
        assert!(matches!(Real::from_unsigned((1 << 60) + 1), (Real::Wide(_), Rounding::Exact)));
        assert!(matches!(Real::from_unsigned(u128::MAX), (Real::Double(_), Rounding::Nearest)));
    }
}
