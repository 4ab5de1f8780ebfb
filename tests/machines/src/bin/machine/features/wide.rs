//! Integers of 16 bytes, floats that few processors know, complex numbers.

use super::{NULL, Records, all, list, text};
use crate::literal::Literal;
use isoform::{Bf16, Char, Complex, F16, F128, Record, Slice, Str};

#[derive(Record)]
#[repr(C)]
struct Wide<'a> {
    flag: Char,
    big: i128,
    ubig: u128,
    half: F16,
    brain: Bf16,
    quad: F128,
    ext: f64,
    ext12: f64,
    ext10: f64,
    twin: f64,
    long: f64,
    z: Complex<f32>,
    w: Complex<f64>,
    q: Complex<F128>,
    name: Str<'a>,
    bigs: Slice<'a, i128>,
    halfs: Slice<'a, F16>,
    quads: Slice<'a, F128>,
    zs: Slice<'a, Complex<f32>>,
    #[isoform(len = "n")]
    ws: Slice<'a, Complex<f64>>,
}

/// The bits of numbers of 113 binary digits: rounded from the decimal ones in exact arithmetic.
mod quad {
    use super::F128;

    pub(super) const ZERO: F128 = F128(0);
    pub(super) const MINUS_ZERO: F128 = F128(0x8000_0000_0000_0000_0000_0000_0000_0000);
    pub(super) const MINUS_ONE: F128 = F128(0xbfff_0000_0000_0000_0000_0000_0000_0000);
    pub(super) const MINUS_2_5: F128 = F128(0xc000_4000_0000_0000_0000_0000_0000_0000);
    pub(super) const TENTH: F128 = F128(0x3ffb_9999_9999_9999_9999_9999_9999_999a);
    pub(super) const TEN_TO_4000: F128 = F128(0x73e6_a375_0647_fcab_18c2_1ab9_0545_0cc3);
    pub(super) const NAN: F128 = F128(0x7fff_8000_0000_0000_0000_0000_0000_0000);
}

const fn complex<T>(re: T, im: T) -> Complex<T> {
    Complex { re, im }
}

pub(super) fn records() -> Vec<Box<dyn Literal>> {
    all([
        Wide {
            flag: Char(b'w'),
            big: i128::MIN,
            ubig: u128::MAX,
            half: F16(0x2e66),
            brain: Bf16(0x3dcd),
            quad: quad::TENTH,
            ext: 0.1,
            ext12: -0.1,
            ext10: 1.5,
            twin: 0.5,
            long: -2.75,
            z: complex(1.5, -0.1),
            w: complex(0.1, 1e300),
            q: complex(quad::TENTH, quad::MINUS_2_5),
            name: text(c"odd"),
            bigs: list([1, -2]),
            halfs: list([F16(0x7bff), F16(1)]),
            quads: list([quad::TEN_TO_4000, quad::MINUS_ONE]),
            zs: list([complex(1.0, 2.0), complex(3.0, 4.0)]),
            ws: list([complex(5.0, 6.0), complex(7.0, 8.0)]),
        },
        Wide {
            flag: Char(b'e'),
            big: i128::MAX,
            ubig: 0,
            half: F16(0x7c00),
            brain: Bf16(0xff80),
            quad: quad::NAN,
            ext: f64::INFINITY,
            ext12: f64::NEG_INFINITY,
            ext10: f64::NAN,
            twin: -0.0,
            long: 0.0,
            z: complex(f32::NAN, f32::INFINITY),
            w: complex(-0.0, 0.0),
            q: complex(quad::ZERO, quad::MINUS_ZERO),
            name: NULL,
            bigs: list([]),
            halfs: list([]),
            quads: list([]),
            zs: list([]),
            ws: list([]),
        },
    ])
}

pub(super) const RECEIVERS: &[Records] = &[ordinary, wider];

/// As far as ordinary numbers hold them: narrower integers, floats rounded and widened.
#[derive(Record)]
#[repr(C)]
struct Ordinary<'a> {
    ws: Slice<'a, Complex<f32>>,
    bigs: Slice<'a, i16>,
    halfs: Slice<'a, f64>,
    quad: f32,
    brain: f32,
    half: f64,
    #[isoform(alias = "z")]
    amplitude: Complex<f64>,
    #[isoform(default = 1)]
    missing: i128,
}

fn ordinary() -> Vec<Box<dyn Literal>> {
    all([
        Ordinary {
            ws: list([complex(5.0, 6.0), complex(7.0, 8.0)]),
            bigs: list([1, -2]),
            halfs: list([65_504.0, 0.000_000_059_604_644_775_390_625]),
            quad: 0.1,
            brain: 0.100_097_656_25,
            half: 0.099_975_585_937_5,
            amplitude: complex(1.5, -0.100_000_001_490_116_119_384_765_625),
            missing: 1,
        },
        Ordinary {
            ws: list([]),
            bigs: list([]),
            halfs: list([]),
            quad: f32::NAN,
            brain: f32::NEG_INFINITY,
            half: f64::INFINITY,
            amplitude: complex(f64::NAN, f64::INFINITY),
            missing: 1,
        },
    ])
}

/// The ones that `f64` holds, in numbers of 16 bytes.
#[derive(Record)]
#[repr(C)]
struct Wider<'a> {
    long: F128,
    twin: F128,
    bigs: [i128; 3],
    halfs: Slice<'a, F128>,
}

fn wider() -> Vec<Box<dyn Literal>> {
    let half = F128(0x3ffe_0000_0000_0000_0000_0000_0000_0000);
    let minus_2_75 = F128(0xc000_6000_0000_0000_0000_0000_0000_0000);
    let largest_half = F128(0x400e_ffc0_0000_0000_0000_0000_0000_0000);
    let smallest_half = F128(0x3fe7_0000_0000_0000_0000_0000_0000_0000);
    all([
        Wider { long: minus_2_75, twin: half, bigs: [1, -2, 0], halfs: list([largest_half, smallest_half]) },
        Wider { long: quad::ZERO, twin: quad::MINUS_ZERO, bigs: [0; 3], halfs: list([]) },
    ])
}
