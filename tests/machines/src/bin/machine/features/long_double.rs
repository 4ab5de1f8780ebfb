//! What C calls `long double` on one machine or another, as Rust's types.

use super::{Records, all, list};
use crate::literal::Literal;
use isoform::{Char, Complex, DoubleDouble, F128, Record, Slice, X87};

#[derive(Record)]
#[repr(C)]
struct LongDouble<'a> {
    flag: Char,
    #[isoform(unit = "m")]
    ext: X87,
    twin: DoubleDouble,
    quad: F128,
    exts: [X87; 2],
    z: Complex<X87>,
    w: Complex<DoubleDouble>,
    end: Char,
    list: Slice<'a, X87>,
    #[isoform(len = "n")]
    twins: Slice<'a, DoubleDouble>,
}

/// The bits of numbers of 64 binary digits: rounded from the decimal ones in exact arithmetic.
mod x87 {
    use super::X87;

    pub(super) const TENTH: X87 = X87::from_bits(0x3ffb_cccc_cccc_cccc_cccd);
    pub(super) const MINUS_TENTH: X87 = X87::from_bits(0xbffb_cccc_cccc_cccc_cccd);
    pub(super) const TEN_TO_4000: X87 = X87::from_bits(0x73e6_d1ba_8323_fe55_8c61);
    pub(super) const TWO_TO_64_LESS_1: X87 = X87::from_bits(0x403e_ffff_ffff_ffff_ffff);
    pub(super) const INFINITY: X87 = X87::from_bits(0x7fff_8000_0000_0000_0000);
    pub(super) const MINUS_INFINITY: X87 = X87::from_bits(0xffff_8000_0000_0000_0000);
    pub(super) const MINUS_ZERO: X87 = X87::from_bits(0x8000_0000_0000_0000_0000);
    pub(super) const NAN: X87 = X87::from_bits(0x7fff_c000_0000_0000_0000);
}

/// The nearest `f64`, and the nearest to what it lacks.
const TEN_TO_300: DoubleDouble = DoubleDouble::new(1e300, -5.250_476_025_520_442e283);
const TEN_TO_MINUS_300: DoubleDouble = DoubleDouble::new(1e-300, -2.505_909_4e-317);

const fn twin(value: f64) -> DoubleDouble {
    DoubleDouble::from_f64(value)
}

fn ext(value: f64) -> X87 {
    X87::from_f64(value)
}

pub(super) fn records() -> Vec<Box<dyn Literal>> {
    all([
        LongDouble {
            flag: Char(b'l'),
            ext: x87::TENTH,
            twin: twin(0.5),
            quad: F128(0xc000_6000_0000_0000_0000_0000_0000_0000),
            exts: [x87::MINUS_TENTH, x87::TEN_TO_4000],
            z: Complex { re: ext(1.5), im: ext(-0.25) },
            w: Complex { re: twin(-0.0), im: TEN_TO_300 },
            end: Char(b'e'),
            list: list([ext(1.0), x87::TWO_TO_64_LESS_1, ext(-1.0)]),
            twins: list([TEN_TO_MINUS_300, twin(9_007_199_254_740_992.0)]),
        },
        LongDouble {
            flag: Char(b'x'),
            ext: x87::INFINITY,
            twin: twin(f64::NEG_INFINITY),
            quad: F128(0x7fff_8000_0000_0000_0000_0000_0000_0000),
            exts: [x87::MINUS_ZERO, x87::NAN],
            z: Complex { re: x87::MINUS_INFINITY, im: ext(0.0) },
            w: Complex { re: twin(f64::INFINITY), im: twin(-1.0) },
            end: Char(b'e'),
            list: list([]),
            twins: list([]),
        },
    ])
}

pub(super) const RECEIVERS: &[Records] = &[ordinary];

/// Rounded to ordinary numbers, and back in a slot of the other kind.
#[derive(Record)]
#[repr(C)]
struct Ordinary<'a> {
    twin: X87,
    ext: f64,
    z: Complex<f32>,
    #[isoform(len = "n")]
    list: Slice<'a, DoubleDouble>,
    twins: Slice<'a, f64>,
}

fn ordinary() -> Vec<Box<dyn Literal>> {
    all([
        Ordinary {
            twin: ext(0.5),
            ext: 0.1,
            z: Complex { re: 1.5, im: -0.25 },
            list: list([twin(1.0), DoubleDouble::new(18_446_744_073_709_551_616.0, -1.0), twin(-1.0)]),
            twins: list([1e-300, 9_007_199_254_740_992.0]),
        },
        Ordinary {
            twin: x87::MINUS_INFINITY,
            ext: f64::INFINITY,
            z: Complex { re: f32::NEG_INFINITY, im: 0.0 },
            list: list([]),
            twins: list([]),
        },
    ])
}
