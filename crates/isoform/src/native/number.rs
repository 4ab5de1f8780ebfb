//! Numbers: those of Rust, and those for which Rust has no type.

use super::{Flat, Native};
use isoform_core::{Element, FloatKind};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
// On 32-bit PowerPC, floats of 16 bytes are aligned to 16, but integers of 16 bytes to 8.
#[cfg_attr(target_arch = "powerpc", repr(C, align(16)))]
#[cfg_attr(not(target_arch = "powerpc"), repr(transparent))]
pub struct F128(pub u128);

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

/// The types of the parts of a [`Complex`] number: `f32`, `f64`, [`F16`], [`Bf16`], [`F128`].
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

real!(f32 f64 F16 Bf16 F128);

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
