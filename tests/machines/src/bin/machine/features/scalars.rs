//! Numbers of every size, at their limits.

use super::{Records, all, text};
use crate::literal::Literal;
use isoform::{Char, Record, Str};
use std::ffi::{c_long, c_ulong};

#[derive(Record)]
#[repr(C)]
struct Scalars {
    tiny: i8,
    byte: u8,
    small: i16,
    usmall: u16,
    plain: i32,
    uplain: u32,
    far: c_long,
    ufar: c_ulong,
    large: i64,
    ularge: u64,
    size: usize,
    single: f32,
    #[isoform(unit = "m/s")]
    real: f64,
    letter: Char,
    yes: bool,
    yes4: bool,
    last: i8,
}

pub(super) fn records() -> Vec<Box<dyn Literal>> {
    all([
        Scalars {
            tiny: -1,
            byte: 2,
            small: -300,
            usmall: 40_000,
            plain: -70_000,
            uplain: 3_000_000_000,
            far: -5,
            ufar: 6,
            large: -5_000_000_000,
            ularge: 10_000_000_000_000_000_000,
            size: 4096,
            single: 0.1,
            real: 0.1,
            letter: Char(b'x'),
            yes: true,
            yes4: false,
            last: 127,
        },
        Scalars {
            tiny: i8::MAX,
            byte: u8::MAX,
            small: i16::MAX,
            usmall: u16::MAX,
            plain: i32::MAX,
            uplain: u32::MAX,
            far: 2_147_483_647,
            ufar: 4_294_967_295,
            large: i64::MAX,
            ularge: u64::MAX,
            size: 4_294_967_295,
            single: f32::MAX,
            real: f64::MAX,
            letter: Char(b'~'),
            yes: true,
            yes4: true,
            last: 1,
        },
        Scalars {
            tiny: i8::MIN,
            byte: 0,
            small: i16::MIN,
            usmall: 0,
            plain: i32::MIN,
            uplain: 0,
            far: -2_147_483_648,
            ufar: 0,
            large: i64::MIN,
            ularge: 0,
            size: 0,
            single: f32::from_bits(1),
            real: f64::from_bits(1),
            letter: Char(b' '),
            yes: false,
            yes4: false,
            last: -1,
        },
        Scalars {
            tiny: 0,
            byte: 128,
            small: 256,
            usmall: 1,
            plain: 16_777_216,
            uplain: 65_536,
            far: 1,
            ufar: 2_147_483_648,
            large: 1,
            ularge: 9_223_372_036_854_775_808,
            size: 1,
            single: f32::INFINITY,
            real: f64::NAN,
            letter: Char(b'0'),
            yes: true,
            yes4: false,
            last: -2,
        },
    ])
}

pub(super) const RECEIVERS: &[Records] = &[widened, others];

/// Everything in another order and wider: integers in larger ones and in floats, characters and booleans in integers.
#[derive(Record)]
#[repr(C)]
struct Widened {
    last: i128,
    yes4: u8,
    yes: i64,
    letter: u16,
    #[isoform(alias = "speed", alias = "real")]
    velocity: f64,
    single: f64,
    size: u64,
    ularge: u128,
    large: i128,
    ufar: i64,
    far: i64,
    uplain: f64,
    plain: f64,
    usmall: f32,
    small: f32,
    byte: i16,
    tiny: i32,
}

fn widened() -> Vec<Box<dyn Literal>> {
    all([
        Widened {
            last: 127,
            yes4: 0,
            yes: 1,
            letter: 0x78,
            velocity: 0.1,
            single: 0.100_000_001_490_116_119_384_765_625,
            size: 4096,
            ularge: 10_000_000_000_000_000_000,
            large: -5_000_000_000,
            ufar: 6,
            far: -5,
            uplain: 3e9,
            plain: -7e4,
            usmall: 4e4,
            small: -300.0,
            byte: 2,
            tiny: -1,
        },
        Widened {
            last: 1,
            yes4: 1,
            yes: 1,
            letter: 0x7e,
            velocity: f64::MAX,
            single: 340_282_346_638_528_859_811_704_183_484_516_925_440.0,
            size: 0xffff_ffff,
            ularge: 0xffff_ffff_ffff_ffff,
            large: 0x7fff_ffff_ffff_ffff,
            ufar: 0xffff_ffff,
            far: 0x7fff_ffff,
            uplain: 4_294_967_295.0,
            plain: 2_147_483_647.0,
            usmall: 65_535.0,
            small: 32_767.0,
            byte: 255,
            tiny: 127,
        },
        Widened {
            last: -1,
            yes4: 0,
            yes: 0,
            letter: 0x20,
            velocity: 5e-324,
            single: 1.401_298_464_324_817_1e-45,
            size: 0,
            ularge: 0,
            large: -0x8000_0000_0000_0000,
            ufar: 0,
            far: -0x8000_0000,
            uplain: 0.0,
            plain: -2_147_483_648.0,
            usmall: 0.0,
            small: -32_768.0,
            byte: 0,
            tiny: -128,
        },
        Widened {
            last: -2,
            yes4: 0,
            yes: 1,
            letter: 0x30,
            velocity: f64::NAN,
            single: f64::INFINITY,
            size: 1,
            ularge: 0x8000_0000_0000_0000,
            large: 1,
            ufar: 0x8000_0000,
            far: 1,
            uplain: 65_536.0,
            plain: 16_777_216.0,
            usmall: 1.0,
            small: 256.0,
            byte: 128,
            tiny: 0,
        },
    ])
}

/// Some in narrower types that hold these values all the same, and some that nobody sends.
#[derive(Record)]
#[repr(C)]
struct Others<'a> {
    #[isoform(default = 1013.25)]
    pressure: f64,
    #[isoform(required)]
    far: i32,
    ufar: u32,
    size: u32,
    #[isoform(default = "unknown")]
    station: Str<'a>,
    yes: u8,
    letter: u8,
    #[isoform(default = [1, -2, 3])]
    steps: [i16; 3],
    nothing: i64,
}

fn others() -> Vec<Box<dyn Literal>> {
    let other = |far, ufar, size, yes, letter| Others {
        pressure: 1013.25,
        far,
        ufar,
        size,
        station: text(c"unknown"),
        yes,
        letter,
        steps: [1, -2, 3],
        nothing: 0,
    };
    all([
        other(-5, 6, 4096, 1, b'x'),
        other(i32::MAX, u32::MAX, u32::MAX, 1, b'~'),
        other(i32::MIN, 0, 0, 0, b' '),
        other(1, 2_147_483_648, 1, 1, b'0'),
    ])
}
