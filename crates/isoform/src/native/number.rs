//! Numbers: those of Rust, and those for which Rust has no type.

use super::{Flat, Native};
use isoform_core::scalar::Real as Exact;
use isoform_core::{ByteOrder, Element, FloatKind};
use std::fmt;
use std::hash::{Hash, Hasher};

macro_rules! native {
    ($($type:ty: $element:expr;)*) => { $(
        // SAFETY: (1) one element of exactly these bytes; (2) any bytes are a value, or for bool those that are 0 or 1;
        // (3) plain bits; (4) aligned to at most its size, which is at most 16; (5) no slots.
        unsafe impl<'a> Native<'a> for $type {
            const DEPTH: usize = 0;

            fn element() -> Element {
                const { assert!(align_of::<$type>() <= 8 || size_of::<$type>() == 16) }
                $element
            }
        }

        impl Flat for $type {}
    )* };
}

const fn integer(signed: bool, size: usize) -> Element {
    Element::Integer { signed, size: size as u8 }
}

const fn float(kind: FloatKind, size: u8) -> Element {
    Element::Float { kind, size }
}

native! {
    i8: integer(true, 1);
    i16: integer(true, 2);
    i32: integer(true, 4);
    i64: integer(true, 8);
    i128: integer(true, 16);
    isize: integer(true, size_of::<isize>());
    u8: integer(false, 1);
    u16: integer(false, 2);
    u32: integer(false, 4);
    u64: integer(false, 8);
    u128: integer(false, 16);
    usize: integer(false, size_of::<usize>());
    f32: float(FloatKind::Ieee, 4);
    f64: float(FloatKind::Ieee, 8);
    bool: Element::Boolean { size: 1 };
    Char: Element::Char;
    F16: float(FloatKind::Ieee, 2);
    Bf16: float(FloatKind::Brain, 2);
    F128: float(FloatKind::Ieee, 16);
    X87: float(FloatKind::X87, size_of::<X87>() as u8);
    DoubleDouble: float(FloatKind::Double2, 16);
}

/// One byte of text, C's `char`. (A `u8` is a number.) An array of them is a short text, padded with zeros:
///
/// ```
/// use isoform::{Char, Record};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Station {
///     code: [Char; 8],
/// }
/// let station = Station { code: Char::text("KIEL") };
/// assert_eq!(station.code.map(|char| char.0), *b"KIEL\0\0\0\0");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Char(pub u8);

/// An IEEE binary16, as its bits.
///
/// ```
/// use isoform::F16;
/// assert_eq!(F16::from_f32(0.1).to_f32(), 0.099975586);
/// assert_eq!(F16::from_f32(1e6).to_f32(), f32::INFINITY);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct F16(pub u16);

/// A bfloat16, the upper half of an IEEE binary32, as its bits.
///
/// ```
/// use isoform::Bf16;
/// assert_eq!(Bf16::from_f32(0.1).to_f32(), 0.100097656);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// An IEEE binary128, as its bits: C's `long double` on 64-bit ARM, RISC-V, s390x and SPARC.
///
/// ```
/// use isoform::F128;
/// assert_eq!(F128::from_f64(1.0).0, 0x3fff << 112);
/// assert_eq!(F128::from_f64(0.1).to_f64(), 0.1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
// On 32-bit PowerPC, floats of 16 bytes are aligned to 16, but integers of 16 bytes to 8.
#[cfg_attr(target_arch = "powerpc", repr(C, align(16)))]
#[cfg_attr(not(target_arch = "powerpc"), repr(transparent))]
pub struct F128(pub u128);

/// The 80-bit number of the x87, as its bits: C's `long double` on x86 without Windows. It takes 12 bytes on 32-bit x86, and
/// 16 elsewhere.
///
/// On machines without an x87, it keeps the numbers of those that have one, digit for digit.
///
/// ```
/// use isoform::{Record, X87};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Sample {
///     depth: X87,
/// }
/// let sample = Sample { depth: X87::from_f64(-2.5) };
/// assert_eq!(sample.depth.to_bits(), 0xc000_a000_0000_0000_0000);
/// assert_eq!(X87::from_bits(0x3ffb_cccc_cccc_cccc_cccd).to_f64(), 0.1);
/// ```
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct X87 {
    #[cfg(target_endian = "big")]
    gap: [u16; 3], // the 10 bytes are the last of the slot; what is here means nothing
    #[cfg(target_endian = "big")]
    sign_and_exponent: u16,
    significand: [u32; 2], // in the order of memory; on 32-bit x86, systems differ in the alignment of a u64
    #[cfg(target_endian = "little")]
    sign_and_exponent: u16,
    #[cfg(not(target_arch = "x86"))]
    align: [F128; 0],
}

/// IBM's double-double: the sum of two `f64`, C's `long double` on PowerPC.
///
/// ```
/// use isoform::{DoubleDouble, Record};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Sample {
///     depth: DoubleDouble,
/// }
/// let sample = Sample { depth: DoubleDouble::new(1.0, 1e-20) };
/// assert_eq!((sample.depth.high(), sample.depth.low()), (1.0, 1e-20));
/// assert_eq!(sample.depth.to_f64(), 1.0);
/// ```
#[derive(Clone, Copy, Default, PartialEq)]
#[repr(C)]
pub struct DoubleDouble {
    high: f64,
    low: f64,
    align: [F128; 0],
}

/// A complex number, like C's `double complex` and Fortran's `COMPLEX`.
///
/// ```
/// use isoform::{Complex, Record};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Mode {
///     amplitude: Complex<f64>,
/// }
/// let mode = Mode { amplitude: Complex { re: 0.5, im: -1.0 } };
/// assert_eq!(Mode::format().size(), 16);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

/// The types of the parts of a [`Complex`] number: `f32`, `f64`, [`F16`], [`Bf16`], [`F128`], [`X87`], [`DoubleDouble`].
pub trait Real: Flat + sealed::Sealed {}

mod sealed {
    /// Only this crate can implement it: the parts of a `Real` are floats.
    pub trait Sealed {}
}

macro_rules! real {
    ($($type:ty)*) => { $(
        impl sealed::Sealed for $type {}
        impl Real for $type {}
    )* };
}

real!(f32 f64 F16 Bf16 F128 X87 DoubleDouble);

// SAFETY: (1) two floats of one kind without gap, as `Element::Complex` is; (2-5) as the parts', whose alignment is at most
// 8 unless they have 16 bytes, and then that of the block is 16 too.
unsafe impl<'a, T: Real> Native<'a> for Complex<T> {
    const DEPTH: usize = 0;

    fn element() -> Element {
        match T::element() {
            Element::Float { kind, size } => Element::Complex { kind, size },
            other => other, // not reached: a sealed trait, for floats only
        }
    }
}

impl<T: Real> Flat for Complex<T> {}

impl Char {
    /// The bytes of a text, cut or padded with zeros.
    pub const fn text<const N: usize>(text: &str) -> [Char; N] {
        let mut chars = [Char(0); N];
        let mut i = 0;
        while i < N && i < text.len() {
            chars[i] = Char(text.as_bytes()[i]);
            i += 1;
        }
        chars
    }
}

impl F16 {
    /// The nearest `f16`, ties to even, or an infinity if the number is too large.
    pub fn from_f32(value: f32) -> F16 {
        let bits = value.to_bits();
        let (sign, magnitude) = ((bits >> 16) as u16 & 0x8000, bits & 0x7fff_ffff);
        let rounded = match magnitude {
            0x7f80_0001.. => 0x7e00 | (magnitude >> 13) as u16 & 0x3ff,
            0x4780_0000.. => 0x7c00,
            // Normal: rounding may carry into the exponent, up to infinity.
            0x3880_0000.. => ((magnitude - 0x3800_0000 + 0xfff + (magnitude >> 13 & 1)) >> 13) as u16,
            // Subnormal: adding 0.5 leaves the bits of magnitude / 2^-24 at the end, rounded by the addition.
            _ => ((f32::from_bits(magnitude) + 0.5).to_bits() - 0x3f00_0000) as u16,
        };
        F16(sign | rounded)
    }

    /// The same number; every `f16` is an `f32`.
    pub fn to_f32(self) -> f32 {
        let (sign, magnitude) = (u32::from(self.0 & 0x8000) << 16, u32::from(self.0 & 0x7fff));
        let bits = match magnitude {
            0x7c00.. => 0x7f80_0000 | (magnitude & 0x3ff) << 13,
            0x400.. => (magnitude << 13) + 0x3800_0000,
            _ => (magnitude as f32 / 16_777_216.0).to_bits(),
        };
        f32::from_bits(sign | bits)
    }
}

impl Bf16 {
    /// The nearest `bf16`, ties to even, or an infinity if the number is too large.
    pub fn from_f32(value: f32) -> Bf16 {
        let bits = value.to_bits();
        if value.is_nan() {
            return Bf16((bits >> 16) as u16 | 0x40);
        }
        Bf16(((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16)
    }

    /// The same number; every `bf16` is an `f32`.
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl F128 {
    /// The same number; every `f64` is an `f128`.
    pub fn from_f64(value: f64) -> F128 {
        F128(u128::from_ne_bytes(written(FloatKind::Ieee, value)))
    }

    /// The nearest `f64`, ties to even, or an infinity if the number is too large.
    pub fn to_f64(self) -> f64 {
        read(FloatKind::Ieee, &self.0.to_ne_bytes())
    }
}

impl X87 {
    /// The number of these 80 bits: the sign, 15 bits of exponent, and 64 bits of significand with its leading 1. Higher
    /// bits are ignored.
    pub const fn from_bits(bits: u128) -> X87 {
        let (low, high) = (bits as u32, (bits >> 32) as u32);
        X87 {
            #[cfg(target_endian = "big")]
            gap: [0; 3],
            sign_and_exponent: (bits >> 64) as u16,
            significand: if cfg!(target_endian = "big") { [high, low] } else { [low, high] },
            #[cfg(not(target_arch = "x86"))]
            align: [],
        }
    }

    /// Its 80 bits, as [`from_bits`](X87::from_bits) takes them.
    pub const fn to_bits(self) -> u128 {
        let [first, second] = self.significand;
        let (low, high) = if cfg!(target_endian = "big") { (second, first) } else { (first, second) };
        (self.sign_and_exponent as u128) << 64 | (high as u128) << 32 | low as u128
    }

    /// The same number; every `f64` is one of the x87's.
    pub fn from_f64(value: f64) -> X87 {
        let bytes: [u8; 10] = written(FloatKind::X87, value);
        let mut bits = [0; 16];
        let place = if cfg!(target_endian = "big") { 6..16 } else { 0..10 };
        bits[place].copy_from_slice(&bytes);
        X87::from_bits(u128::from_ne_bytes(bits))
    }

    /// The nearest `f64`, ties to even, or an infinity if the number is too large.
    pub fn to_f64(self) -> f64 {
        let place = if cfg!(target_endian = "big") { 6..16 } else { 0..10 };
        read(FloatKind::X87, &self.to_bits().to_ne_bytes()[place])
    }
}

impl PartialEq for X87 {
    fn eq(&self, other: &X87) -> bool {
        self.to_bits() == other.to_bits()
    }
}

impl Eq for X87 {}

impl Hash for X87 {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_bits().hash(state);
    }
}

impl fmt::Debug for X87 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "X87({:#022x})", self.to_bits())
    }
}

impl DoubleDouble {
    /// The sum of two parts. In the numbers of PowerPC, the larger part is the nearest `f64` to the sum; nothing checks that.
    pub const fn new(high: f64, low: f64) -> DoubleDouble {
        DoubleDouble { high, low, align: [] }
    }

    /// The larger part.
    pub const fn high(self) -> f64 {
        self.high
    }

    /// The smaller part.
    pub const fn low(self) -> f64 {
        self.low
    }

    /// The same number; every `f64` is one.
    pub const fn from_f64(value: f64) -> DoubleDouble {
        DoubleDouble::new(value, 0.0)
    }

    /// The nearest `f64`, ties to even.
    pub fn to_f64(self) -> f64 {
        let [high, low] = [self.high, self.low].map(f64::to_ne_bytes);
        read(FloatKind::Double2, [high, low].as_flattened())
    }
}

impl fmt::Debug for DoubleDouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DoubleDouble({:?}, {:?})", self.high, self.low)
    }
}

/// The bytes of a number that every number of this kind can be.
fn written<const N: usize>(kind: FloatKind, value: f64) -> [u8; N] {
    let mut bytes = [0; N];
    Exact::Double(value).write(kind, ByteOrder::NATIVE, &mut bytes);
    bytes
}

fn read(kind: FloatKind, bytes: &[u8]) -> f64 {
    Exact::read(kind, ByteOrder::NATIVE, bytes).to_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_survive_the_way_through_f32() {
        let step = if cfg!(miri) { 97 } else { 1 };
        for bits in (0..=u16::MAX).step_by(step) {
            let (half, brain) = (F16(bits), Bf16(bits));
            assert_eq!(half.to_f32().is_nan(), F16::from_f32(half.to_f32()).to_f32().is_nan());
            if !half.to_f32().is_nan() {
                assert_eq!(F16::from_f32(half.to_f32()), half);
            }
            if !brain.to_f32().is_nan() {
                assert_eq!(Bf16::from_f32(brain.to_f32()), brain);
            }
        }
        assert!(Bf16::from_f32(f32::NAN).to_f32().is_nan() && F16::from_f32(f32::NAN).to_f32().is_nan());
    }

    #[test]
    fn every_f64_survives_the_way_through_a_wider_number() {
        for value in [0.1, -2.5, 0.0, -0.0, 1e300, 5e-324, f64::MAX, f64::INFINITY, f64::NEG_INFINITY] {
            let back =
                [F128::from_f64(value).to_f64(), X87::from_f64(value).to_f64(), DoubleDouble::from_f64(value).to_f64()];
            assert_eq!(back.map(f64::to_bits), [value.to_bits(); 3], "{value}");
        }
        let nan = f64::NAN;
        assert!(F128::from_f64(nan).to_f64().is_nan() && X87::from_f64(nan).to_f64().is_nan());
        assert!(DoubleDouble::from_f64(nan).to_f64().is_nan());
    }

    #[test]
    fn wider_numbers_round_to_the_nearest_f64() {
        let ulp = f64::EPSILON;
        for (low, value) in
            [(ulp / 2.0, 1.0), (ulp * 0.75, 1.0 + ulp), (-ulp / 4.0, 1.0), (-ulp / 3.0, 1.0 - ulp / 2.0)]
        {
            assert_eq!(DoubleDouble::new(1.0, low).to_f64(), value, "{low}");
        }
        for (bits, value) in [(0x8000_0000_0000_0400, 1.0), (0x8000_0000_0000_0401, 1.0 + ulp)] {
            assert_eq!(X87::from_bits(0x3fff << 64 | bits).to_f64(), value);
        }
        assert_eq!(X87::from_bits(0x7ffe_ffff_ffff_ffff_ffff).to_f64(), f64::INFINITY);
        assert_eq!(F128(0x3fff_0000_0000_0000_0800_0000_0000_0001).to_f64(), 1.0 + ulp);
    }

    #[test]
    fn the_numbers_of_other_machines_print_their_bits() {
        assert_eq!(format!("{:?}", X87::from_f64(-2.5)), "X87(0xc000a000000000000000)");
        assert_eq!(format!("{:?}", DoubleDouble::new(1.0, -0.0)), "DoubleDouble(1.0, -0.0)");
    }

    #[test]
    fn halves_round_to_even() {
        for (value, bits) in [
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (65519.0, 0x7bff),
            (65520.0, 0x7c00),
            (-65504.0, 0xfbff),
            (1.0 / 33_554_432.0, 0),
            (1.5 / 33_554_432.0, 1),
            (3.0 / 33_554_432.0, 2),
            (1e-30, 0),
            (f32::NEG_INFINITY, 0xfc00),
        ] {
            assert_eq!(F16::from_f32(value).0, bits, "{value}");
        }
        assert_eq!(Bf16::from_f32(f32::MAX).0, 0x7f80);
        assert_eq!(Bf16::from_f32(1.003_906_2).0, 0x3f80);
        assert_eq!(Bf16::from_f32(1.011_718_8).0, 0x3f82);
    }
}
