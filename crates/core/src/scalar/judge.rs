//! The reference for text in tests: the same digits by way of strings and integers of any size. It takes many times as
//! long as `decimal` and `nearest`.

use super::decimal::{DIGITS, parse_slowly};
use super::nearest::{Decimal, Grid};
use super::real::Real;
use super::soft::with_soft;
use crate::format::{ByteOrder, FloatKind};
use FloatKind::{Double2, Ieee, X87};
use proptest::prelude::*;
use proptest::sample::select;
use rustc_apfloat::Float;
use rustc_apfloat::ieee::Quad;

/// Every float but those of 4 and 8 bytes, whose text the standard library reads and writes.
fn kinds() -> Vec<(FloatKind, u8)> {
    let sizes = |kind: FloatKind| kind.slots().iter().map(move |slot| (kind, slot.size));
    FloatKind::ALL.into_iter().flat_map(sizes).filter(|&float| float != (Ieee, 4) && float != (Ieee, 8)).collect()
}

/// As [`Real::parse`], for numbers alone.
fn parsed(text: &str, kind: FloatKind, size: u8) -> Option<Real> {
    let value = Real::of(with_soft!(kind, size, F => parse_slowly::<F>(text)?));
    if kind != Double2 {
        return Some(value);
    }
    let mut bytes = [0; 16];
    value.write(kind, ByteOrder::NATIVE, &mut bytes);
    Some(Real::read(kind, ByteOrder::NATIVE, &bytes))
}

/// A finite number other than zero.
fn shortest(value: Real, kind: FloatKind, size: u8) -> String {
    let negative = value.quad().is_negative();
    let (digits, exponent) = digits(value.quad().abs());
    let text = |keep: usize| layout(negative, &digits.to_string(), exponent, keep);
    let same = |text: &str| parsed(text, kind, size) == Some(value);
    // Rounded to more digits it is never farther from the number, so that a search by halves will do.
    let (mut low, mut high) = (1, digits.to_string().len());
    while low < high {
        let middle = (low + high) / 2;
        match same(&text(middle)) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    text(low)
}

/// A decimal number of some 36 digits that lies nearer to `value` than to any other binary128: digits, and the power
/// of ten of the last one.
///
/// The digits are computed with an error of some units in the last place, which parsing them again then reveals.
fn digits(value: Quad) -> (u128, i32) {
    let exponent = (f64::from(value.ilogb()) * std::f64::consts::LOG10_2).floor() as i32 - (DIGITS - 1);
    let mut exact = false;
    let mut digits = scale(value, -exponent).to_u128_r(128, rustc_apfloat::Round::NearestTiesToEven, &mut exact).value;
    for _ in 0..16 {
        let Ok(again) = format!("{digits}e{exponent}").parse::<Quad>() else { break };
        if again.is_infinite() {
            digits -= 1;
            continue;
        }
        let off = (value - again).value;
        if off.is_zero() {
            break;
        }
        let steps = scale(off, -exponent).to_i128_r(128, rustc_apfloat::Round::NearestTiesToEven, &mut exact).value;
        // Half the step, because the full step from near the middle of two numbers leads to the middle of the next two.
        digits = digits.saturating_add_signed(if steps.unsigned_abs() > 1 { steps / 2 } else { steps });
    }
    (digits, exponent)
}

/// About `value` times a power of ten, in two steps so that neither leaves the range of the type.
fn scale(value: Quad, power: i32) -> Quad {
    let ten = |power: i32| format!("1e{power}").parse().unwrap_or(Quad::ZERO);
    let half = power / 2;
    ((value * ten(half)).value * ten(power - half)).value
}

/// The number with the first `keep` of its digits, rounded; written out if that is short, else with an exponent.
fn layout(negative: bool, digits: &str, exponent: i32, keep: usize) -> String {
    let dropped = digits.len() - keep;
    let mut number: u128 = digits[..keep].parse().unwrap_or(0);
    if digits.as_bytes().get(keep).is_some_and(|digit| *digit >= b'5') {
        number += 1;
    }
    let mut exponent = exponent + dropped as i32;
    while number.is_multiple_of(10) && number > 0 {
        number /= 10;
        exponent += 1;
    }
    let digits = number.to_string();
    let sign = if negative { "-" } else { "" };
    let point = digits.len() as i32 + exponent;
    match point {
        -3..=0 => format!("{sign}0.{}{digits}", "0".repeat(-point as usize)),
        1..=16 if exponent >= 0 => format!("{sign}{digits}{}.0", "0".repeat(exponent as usize)),
        1..=16 => format!("{sign}{}.{}", &digits[..point as usize], &digits[point as usize..]),
        _ if digits.len() == 1 => format!("{sign}{digits}e{}", point - 1),
        _ => format!("{sign}{}.{}e{}", &digits[..1], &digits[1..], point - 1),
    }
}

/// The quick ways and the slow ones agree on this number, on the texts between it and its neighbours, and on all of the
/// kinds that these texts can be read as.
fn agree(bits: u128, kind: FloatKind, size: u8) -> Result<(), TestCaseError> {
    let value = Real::read(kind, ByteOrder::Big, &bits.to_be_bytes()[16 - usize::from(size)..]);
    let value = Real::of(value.quad());
    if !value.quad().is_finite() || value.quad().is_zero() {
        return Ok(());
    }
    let text = value.to_text(kind, size);
    prop_assert_eq!(&text, &shortest(value, kind, size), "{:x} as {:?}", bits, kind);
    for (kind, size) in kinds() {
        read_alike(&text, kind, size)?;
    }
    if let Real::Wide(_) = value {
        prop_assert_eq!(value.to_text(Ieee, 8), shortest(value, Ieee, 8));
    }
    Ok(())
}

fn read_alike(text: &str, kind: FloatKind, size: u8) -> Result<(), TestCaseError> {
    let slow = parsed(text, kind, size).map(bits);
    prop_assert_eq!(Real::parse(text, kind, size).map(|(value, _)| bits(value)), slow, "{} as {:?}", text, kind);
    Ok(())
}

/// Distinguishes also numbers that are equal: 0 and -0.
fn bits(value: Real) -> (u128, Real) {
    (value.quad().to_bits(), value)
}

/// All digits of a number of moderate size, and perhaps some more behind.
fn exact(value: f64, more: &str) -> String {
    format!("{}{more}", format!("{value:.1100}").trim_end_matches('0'))
}

proptest! {
    #[test]
    fn any_bits(bits: u128, (kind, size) in select(kinds())) {
        agree(bits, kind, size)?;
    }

    /// Numbers of which most binary digits are zeros or ones, of every size: powers of two, their neighbours, those without
    /// leading digits, and the largest.
    #[test]
    fn powers_of_two_and_their_neighbours(top: u16, low in -3i128..=3, shift in 0u32..112, (kind, size) in select(kinds())) {
        let sparse = (low << shift) as u128;
        for exponent in [top, top & 0x8000, top | 0x7ffe, top & 0xff] {
            let bits = match kind {
                X87 => u128::from(exponent) << 64 | (sparse as u64 | 1 << 63) as u128,
                Double2 => (u128::from(exponent) << 112).wrapping_add(sparse) & !(0x7ff << 52) | u128::from(exponent & 0x7ff) << 48,
                _ => (u128::from(exponent) << 112 >> (128 - 8 * u32::from(size))).wrapping_add(sparse),
            };
            agree(bits, kind, size)?;
        }
    }

    #[test]
    fn powers_of_ten_and_their_neighbours(power in -5010i32..4940, digits in 1u32..40, step in -2i128..=2, (kind, size) in select(kinds())) {
        let many = format!("{}e{}", 10u128.pow(digits - 1).saturating_add_signed(step), power - digits as i32);
        for text in [format!("1e{power}"), many] {
            read_alike(&text, kind, size)?;
            if let Some(value) = parsed(&text, Ieee, 16) {
                agree(value.quad().to_bits().wrapping_add_signed(step), Ieee, 16)?;
            }
        }
    }

    #[test]
    fn texts_of_any_form(text in "[+-]?[0-9]{0,45}[.]?[0-9]{0,45}([eE][+-]?[0-9]{1,4})?") {
        for (kind, size) in kinds() {
            if text.ends_with(|end: char| end.is_ascii_digit()) {
                read_alike(&text, kind, size)?;
            }
        }
    }

    /// Exactly between two numbers of 16 bits, and next to that; and long integers, and quotients of them by powers of two.
    #[test]
    fn halfway(bits: u64, exponent in 1023u64 - 140..1023 + 128, power in 0u32..57) {
        let digits = bits & !(0xfff << 52);
        let odd = u128::from(bits) << 50 | 1;
        let fives = 5u128.pow(power.min(55)).saturating_mul(odd >> 100 | 1);
        for (kind, size) in kinds() {
            for value in [digits >> 44 << 44 | 1 << 44, digits >> 41 << 41 | 1 << 41, digits] {
                for more in ["", "1", "000000000000000000000000000000000000000001"] {
                    read_alike(&exact(f64::from_bits(value | exponent << 52), more), kind, size)?;
                }
            }
            read_alike(&format!("{odd}e{power}"), kind, size)?;
            read_alike(&format!("{fives}e-{power}"), kind, size)?;
        }
    }

    /// Exact arithmetic is needed for almost no text.
    #[test]
    fn quick_answers_are_the_rule(digits in 1u128..10u128.pow(36), exponent in -5000i32..4900) {
        let number = Decimal { negative: false, digits, exponent, more: false };
        prop_assert!(number.nearest(Grid::of::<Quad>()).is_some());
    }
}

/// Integers and halves of them that lie exactly between two numbers of binary128, or on one.
#[test]
fn ties_of_many_digits() {
    for odd in [(1u128 << 113) + 1, (1 << 114) - 1, (1 << 113) + 3, (1 << 112) + 1, (1 << 114) + 2, u128::MAX >> 14] {
        let half = format!("{}.{}", odd >> 1, if odd & 1 == 1 { 5 } else { 0 });
        for text in [format!("{odd}"), format!("{odd}.1"), format!("-{odd}.000e0"), format!("{odd}e2"), half] {
            for more in ["", "0", "1"] {
                read_alike(&format!("{text}{more}"), Ieee, 16).unwrap();
            }
        }
    }
}
