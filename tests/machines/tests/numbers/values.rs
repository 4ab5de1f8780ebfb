//! Kinds of numbers, and numbers of each at which conversions may go wrong.
//!
//! A number is held as its bits, the most significant first, whatever the machine: those of a double-double are the bits
//! of its parts, the larger above the smaller. Nothing here is Isoform's, so that it can be the judge.

use isoform::core::ByteOrder;
use std::fmt;

/// A kind of number, by the name that the C program has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    what: What,
    /// Bytes of its slot.
    pub(super) size: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Integer { signed: bool, name: &'static str },
    Float(Float),
    DoubleDouble,
}

/// A float of one sign bit, an exponent and a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Float {
    name: &'static str,
    exponent_bits: u32,
    /// With the leading bit, if that is there.
    fraction_bits: u32,
    leading: bool,
}

const F64: Float = Float { name: "f64", exponent_bits: 11, fraction_bits: 52, leading: false };

impl Kind {
    /// As a line of the program has it: its name and its size.
    pub(super) fn parse(line: &str) -> Kind {
        let (name, size) = line.trim_end().split_once(' ').expect("a name and a size");
        let float = |name, exponent_bits, fraction_bits, leading| {
            What::Float(Float { name, exponent_bits, fraction_bits, leading })
        };
        let integers = ["i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "u128"];
        let what = match name {
            "f16" => float("f16", 5, 10, false),
            "bf16" => float("bf16", 8, 7, false),
            "f32" => float("f32", 8, 23, false),
            "f64" => What::Float(F64),
            "f128" => float("f128", 15, 112, false),
            "x87" => float("x87", 15, 64, true),
            "dd" => What::DoubleDouble,
            _ => {
                let name = integers.into_iter().find(|known| *known == name).expect("a known kind");
                What::Integer { signed: name.starts_with('i'), name }
            }
        };
        Kind { what, size: size.parse().expect("a size") }
    }

    pub(super) fn name(&self) -> &'static str {
        match self.what {
            What::Integer { name, .. } | What::Float(Float { name, .. }) => name,
            What::DoubleDouble => "dd",
        }
    }

    /// Its type in a shape.
    pub(super) fn words(self) -> String {
        match self.what {
            What::DoubleDouble => "double-double(16)".into(),
            What::Float(Float { leading: true, .. }) => format!("x87({})", self.size),
            _ => self.name().into(),
        }
    }

    pub(super) fn is_float(self) -> bool {
        !matches!(self.what, What::Integer { .. })
    }

    /// The number in a slot.
    pub(super) fn read(self, order: ByteOrder, slot: &[u8]) -> u128 {
        let bits = |bytes: &[u8]| {
            let fold = |bits: u128, byte: &u8| bits << 8 | u128::from(*byte);
            match order {
                ByteOrder::Big => bytes.iter().fold(0, fold),
                ByteOrder::Little => bytes.iter().rev().fold(0, fold),
            }
        };
        match (self.what, order) {
            (What::DoubleDouble, _) => bits(&slot[..8]) << 64 | bits(&slot[8..]),
            (What::Float(Float { leading: true, .. }), ByteOrder::Little) => bits(&slot[..10]),
            (What::Float(Float { leading: true, .. }), ByteOrder::Big) => bits(&slot[slot.len() - 10..]),
            _ => bits(slot),
        }
    }

    /// The slots of these numbers.
    pub(super) fn write_all(self, order: ByteOrder, numbers: &[u128]) -> Vec<u8> {
        let slots = numbers.iter().flat_map(|number| {
            let bytes = number.to_be_bytes();
            let mut slot = bytes[16 - self.size..].to_vec();
            match (self.what, order) {
                (_, ByteOrder::Big) => {}
                (What::DoubleDouble, _) => slot.chunks_mut(8).for_each(<[u8]>::reverse),
                _ => slot.reverse(),
            }
            slot
        });
        slots.collect()
    }

    /// Whether two results are one: the same bits, or none of them a number. If the larger part of a double-double is
    /// infinite, nothing is asked of the smaller; if the smaller is 0, neither is its sign.
    pub(super) fn same(self, one: u128, other: u128) -> bool {
        match self.what {
            What::Integer { .. } => one == other,
            What::Float(float) => one == other || float.is_nan(one) && float.is_nan(other),
            What::DoubleDouble => {
                let (large_one, large_other) = (one >> 64, other >> 64);
                let minus_zero = |bits: u128| bits as u64 == 1 << 63;
                let zero_less = |bits: u128| if minus_zero(bits) { bits ^ 1 << 63 } else { bits };
                zero_less(one) == zero_less(other)
                    || F64.is_nan(large_one) && F64.is_nan(large_other)
                    || large_one == large_other && F64.is_infinite(large_one)
            }
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Float {
    fn exponent_of(self, bits: u128) -> u128 {
        bits >> self.fraction_bits & ((1 << self.exponent_bits) - 1)
    }

    fn is_special(self, bits: u128) -> bool {
        self.exponent_of(bits) == (1 << self.exponent_bits) - 1
    }

    fn fraction(self, bits: u128) -> u128 {
        bits & ((1 << (self.fraction_bits - u32::from(self.leading))) - 1)
    }

    fn is_nan(self, bits: u128) -> bool {
        self.is_special(bits) && self.fraction(bits) != 0
    }

    fn is_infinite(self, bits: u128) -> bool {
        self.is_special(bits) && self.fraction(bits) == 0
    }

    /// 1.5, 1.25 and so on times a power of two: the digits begin at the highest bit of `digits`, and those that do not
    /// fit are cut off.
    fn encode(self, negative: bool, exponent: i32, digits: u128) -> u128 {
        let bias = (1 << (self.exponent_bits - 1)) - 1;
        let special = 2 * bias + 1;
        let (exponent, digits) = match exponent + bias {
            biased if biased >= special => (special, 1 << 127),
            biased if biased <= 0 => (0, digits.checked_shr((1 - biased) as u32).unwrap_or(0)),
            biased => (biased, digits),
        };
        let kept = self.fraction_bits + u32::from(!self.leading);
        let digits = (digits >> (128 - kept)) & if self.leading { u128::MAX } else { (1 << self.fraction_bits) - 1 };
        let sign = u128::from(negative) << (self.fraction_bits + self.exponent_bits);
        sign | (exponent as u128) << self.fraction_bits | digits
    }
}

/// The digits after which the kinds of numbers end.
const PRECISIONS: &[u32] = &[7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64, 106, 107, 113, 127, 128];

/// Powers of two where ranges end: those of floats, their smallest numbers, and of integers.
const EXPONENTS: &[i32] = &[
    15, 16, -14, -15, -24, -25, 127, 128, -126, -127, -133, -134, -149, -150, 1023, 1024, -1022, -1023, -1074, -1075,
    16383, -16382, -16445, -16446, 6, 7, 8, 14, 30, 31, 32, 62, 63, 64, 126, 0, -1, -2,
];

/// Double-doubles whose smaller part, however small, decides what they become.
const CORNERS_IN_TWO_PARTS: &[(f64, f64)] = &[
    (5.0, -1e-300),
    (-5.0, 1e-300),
    (5.0, 1e-300),
    (1.0 + F32_HALF_UNIT, 1e-300),
    (1.0 + F32_HALF_UNIT, -1e-300),
    (-1.0 - F32_HALF_UNIT, -1e-300),
    (-1.0 - F32_HALF_UNIT, 1e-300),
    (18_446_744_073_709_551_616.0, -1.0),
    (9_223_372_036_854_775_808.0, -1e-300),
    (-9_223_372_036_854_775_808.0, -0.5),
    (-9_223_372_036_854_775_808.0, -1.0),
];

/// Half the distance of the two `f32` next to 1, above it.
const F32_HALF_UNIT: f64 = 1.0 / 16_777_216.0;

/// Numbers of this kind, always the same.
pub(super) fn numbers(kind: Kind, count: usize) -> Vec<u128> {
    let mut random = Random(kind.size as u64 ^ kind.name().bytes().fold(0, |sum, byte| sum * 31 + u64::from(byte)));
    let mut numbers: Vec<u128> = match kind.what {
        What::Integer { signed, .. } => corners_of_integers(8 * kind.size as u32, signed),
        What::Float(float) => corners_of_floats(float),
        What::DoubleDouble => {
            let single = corners_of_floats(F64).into_iter().map(|large| large << 64);
            single.chain(CORNERS_IN_TWO_PARTS.iter().map(|&(large, small)| in_two_parts(large, small))).collect()
        }
    };
    while numbers.len() < count {
        numbers.push(match kind.what {
            What::Integer { signed, .. } => integer(&mut random, 8 * kind.size as u32, signed),
            What::Float(float) => real(&mut random, float),
            What::DoubleDouble => double_double(&mut random),
        });
    }
    numbers
}

fn corners_of_integers(bits: u32, signed: bool) -> Vec<u128> {
    let mask = u128::MAX >> (128 - bits);
    let high = if signed { mask >> 1 } else { mask };
    [0, 1, 2, high, high - 1, high.wrapping_add(1) & mask, high.wrapping_add(2) & mask, mask].into()
}

fn corners_of_floats(float: Float) -> Vec<u128> {
    let bias = (1 << (float.exponent_bits - 1)) - 1;
    let top = 1 << 127;
    let smallest = 1;
    let infinity = float.encode(false, bias + 1, top);
    let quiet = infinity | 1 << (float.fraction_bits - 1 - u32::from(float.leading));
    let one = [0, smallest, float.encode(false, -bias, u128::MAX), float.encode(false, 1 - bias, top)];
    let other = [float.encode(false, bias, u128::MAX), float.encode(false, 0, top), infinity, quiet];
    // Where the leading bit is there, it may be another than the exponent says.
    let odd = [1 << 62, 3 << 62, 0x3fff << 64 | 1 << 62, 0x7fff << 64, 0x7fff << 64 | 1 << 62];
    let odd = odd.into_iter().filter(|_| float.leading);
    let sign = 1 << (float.exponent_bits + float.fraction_bits);
    one.into_iter().chain(other).chain(odd).flat_map(|bits| [bits, bits | sign]).collect()
}

/// Digits of which the first is 1: at the middle between two numbers of fewer digits, beside it, at one of them, or any.
fn digits(random: &mut Random) -> u128 {
    let top = 1 << 127;
    let precision = *random.of(PRECISIONS);
    let short = random.bits() & (u128::MAX << (128 - precision)) | top;
    let half = if precision == 128 { 0 } else { 1 << (127 - precision) };
    let beside = 1 << random.below(127 - u64::from(precision.min(126)));
    match random.below(8) {
        0 => random.bits() | top,
        1 => u128::MAX << random.below(120),
        2 => short,
        3 => short.checked_sub(beside).unwrap_or(short) | top,
        4 => short | beside,
        5 => short | half,
        6 => short | half.saturating_sub(beside),
        _ => short | half | beside,
    }
}

fn integer(random: &mut Random, bits: u32, signed: bool) -> u128 {
    let magnitude = digits(random) >> (128 - 1 - random.below(bits.into()));
    let negative = signed && random.below(2) == 0;
    let value = if negative { magnitude.wrapping_neg() } else { magnitude };
    value & (u128::MAX >> (128 - bits))
}

fn real(random: &mut Random, float: Float) -> u128 {
    let bias = (1 << (float.exponent_bits - 1)) - 1;
    let exponent = match random.below(3) {
        0 => random.below(130) as i32,
        1 => *random.of(EXPONENTS),
        _ => random.below(2 * bias as u64 + 60) as i32 - bias - 60,
    };
    float.encode(random.below(2) == 0, exponent, digits(random))
}

/// A larger part, and a smaller one that does not change it when both are added.
fn double_double(random: &mut Random) -> u128 {
    let large = f64::from_bits(real(random, F64) as u64);
    let exponent = (large.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let distance = *random.of(&[53, 54, 54, 54, 55, 58, 63, 64, 65, 107, 112, 113, 114, 120, 200, 1000]);
    let small = match random.below(4) {
        0 => 0.0,
        1 => random.below(7) as f64 - 3.0,
        2 => 2f64.powi(exponent - distance) * if random.below(2) == 0 { -1.0 } else { 1.0 },
        _ => f64::from_bits(F64.encode(random.below(2) == 0, exponent - distance, digits(random)) as u64),
    };
    in_two_parts(large, if large + small == large && large.is_finite() { small } else { 0.0 })
}

fn in_two_parts(large: f64, small: f64) -> u128 {
    u128::from(large.to_bits()) << 64 | u128::from(small.to_bits())
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn bits(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}
