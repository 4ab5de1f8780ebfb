//! Floating-point numbers as decimal text, with no more digits than it takes to read the same number again.

use super::nearest::{Decimal, Grid};
use super::real::{Real, Rounding};
use super::soft::with_soft;
use crate::format::{ByteOrder, FloatKind};
use rustc_apfloat::ieee::Quad;
use rustc_apfloat::{Float, FloatConvert};

/// Digits with which every binary128 can be told from its neighbours, and one more.
pub(super) const DIGITS: i32 = 36;

impl Real {
    /// The shortest decimal number that, read as this kind in slots of this size, is this number again: `0.1` for the
    /// `f32` nearest to it. `NaN`, `Infinity` and `-Infinity` for what has no digits. What binary128 does not hold is
    /// rounded to it first.
    ///
    /// ```
    /// use isoform_core::FloatKind;
    /// use isoform_core::scalar::Real;
    /// let tenth = Real::Double(0.1f32.into());
    /// assert_eq!(tenth.to_text(FloatKind::Ieee, 4), "0.1");
    /// assert_eq!(tenth.to_text(FloatKind::Ieee, 8), "0.10000000149011612");
    /// assert_eq!(Real::Double(0.1).to_text(FloatKind::X87, 16), "0.10000000000000000555");
    /// ```
    pub fn to_text(self, kind: FloatKind, size: u8) -> String {
        isoform_kernels::ieee(|| self.text(kind, size))
    }

    fn text(self, kind: FloatKind, size: u8) -> String {
        if let Some(text) = self.usual_text(kind, size, &mut zmij::Buffer::new()) {
            return text.into();
        }
        match (self, kind, size) {
            (Real::Double(value), ..) if value.is_nan() => "NaN".into(),
            (Real::Double(value), ..) if value.is_infinite() => {
                if value > 0.0 { "Infinity" } else { "-Infinity" }.into()
            }
            (Real::Double(value), FloatKind::Ieee, 8) => format!("{value:?}"),
            (Real::Double(value), FloatKind::Ieee, 4) => format!("{:?}", super::narrow(value)),
            (Real::Double(0.0), ..) => format!("{:?}", self.to_f64()),
            _ => shortest(Real::of(self.quad()), kind, size),
        }
    }

    /// The number of this kind that is nearest to a decimal number. [`Rounding::Nearest`] also stands for exact.
    /// `None` if the text is none; `NaN`, `Infinity` and `-Infinity` are understood.
    pub fn parse(text: &str, kind: FloatKind, size: u8) -> Option<(Real, Rounding)> {
        isoform_kernels::ieee(|| Real::of_text(text, kind, size))
    }

    fn of_text(text: &str, kind: FloatKind, size: u8) -> Option<(Real, Rounding)> {
        match text {
            "NaN" => return Some((Real::Double(f64::NAN), Rounding::Exact)),
            "Infinity" => return Some((Real::Double(f64::INFINITY), Rounding::Exact)),
            "-Infinity" => return Some((Real::Double(f64::NEG_INFINITY), Rounding::Exact)),
            _ if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) => {
                return None;
            }
            _ if !text.ends_with(|end: char| end.is_ascii_digit() || end == '.') => return None,
            _ => {}
        }
        let value = match (kind, size) {
            (FloatKind::Ieee, 8) => Real::Double(text.parse().ok()?),
            (FloatKind::Ieee, 4) => Real::Double(text.parse::<f32>().ok()?.into()),
            (FloatKind::Double2, _) => as_double2(parse::<Quad>(text)?),
            _ => with_soft!(kind, size, F => Real::of(parse::<F>(text)?)),
        };
        let rounding = match value.to_f64() {
            number if matches!(value, Real::Double(_)) && number.is_infinite() => Rounding::Overflow,
            number if matches!(value, Real::Double(_)) && number == 0.0 && !is_zero(text) => Rounding::Underflow,
            _ => Rounding::Nearest,
        };
        Some((value, rounding))
    }
}

/// Whether all digits before the exponent are zeros.
fn is_zero(text: &str) -> bool {
    text.bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).all(|byte| !matches!(byte, b'1'..=b'9'))
}

fn parse<F: FloatConvert<Quad>>(text: &str) -> Option<Quad> {
    match Decimal::read(text).and_then(|decimal| decimal.nearest(Grid::of::<F>())) {
        Some(value) => Some(value),
        None => parse_slowly::<F>(text),
    }
}

/// The same with integers of any size.
pub(super) fn parse_slowly<F: FloatConvert<Quad>>(text: &str) -> Option<Quad> {
    let value: F = if text.len() > SIGNIFICANT { shortened(text)?.parse().ok()? } else { text.parse().ok()? };
    Some(value.convert(&mut false).value)
}

/// No number that lies halfway between two of any kind has more digits than this. Those next to the smallest of binary128
/// have 11,564.
const SIGNIFICANT: usize = 11_600;

/// Shortens a text so that it rounds in the same way: to a limited number of digits, and one more that stands for all
/// others. Parsing takes time in proportion to the square of the digits. `None` if the text is not a number.
fn shortened(text: &str) -> Option<String> {
    let (mantissa, exponent) = text.split_at(text.find(['e', 'E']).unwrap_or(text.len()));
    let mut digits = mantissa.match_indices(|c: char| c.is_ascii_digit()).skip_while(|(_, digit)| *digit == "0");
    let Some((cut, _)) = digits.nth(SIGNIFICANT) else { return Some(text.into()) };
    let (head, tail) = mantissa.split_at(cut);
    if !tail.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') || mantissa.matches('.').count() > 1 {
        return None;
    }
    let last = if is_zero(tail) { '0' } else { '1' };
    let whole = if head.contains('.') { 1 } else { tail.find('.').unwrap_or(tail.len()) };
    Some(format!("{head}{last}{}{exponent}", "0".repeat(whole - 1)))
}

/// A finite number other than zero.
fn shortest(value: Real, kind: FloatKind, size: u8) -> String {
    let (digits, exponent) = digits(value.quad().abs());
    let number = |(digits, exponent)| Decimal { negative: value.quad().is_negative(), digits, exponent, more: false };
    let same = |keep| read(number(rounded(digits, exponent, keep)), kind, size) == Some(value);
    // Rounded to more digits it is never farther from the number, so that a search by halves will do.
    let (mut low, mut high) = (1, length(digits));
    while low < high {
        let middle = (low + high) / 2;
        match same(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    layout(number(rounded(digits, exponent, low)))
}

/// The number of this kind that is nearest to a decimal one, by exact arithmetic if it must be.
fn read(decimal: Decimal, kind: FloatKind, size: u8) -> Option<Real> {
    let Some(value) = decimal.nearest(with_soft!(kind, size, F => Grid::of::<F>())) else {
        return Real::of_text(&layout(decimal), kind, size).map(|(value, _)| value);
    };
    Some(if kind == FloatKind::Double2 { as_double2(value) } else { Real::of(value) })
}

/// The double-double that is nearest to a binary128.
fn as_double2(value: Quad) -> Real {
    let mut bytes = [0; 16];
    Real::of(value).write(FloatKind::Double2, ByteOrder::NATIVE, &mut bytes);
    Real::read(FloatKind::Double2, ByteOrder::NATIVE, &bytes)
}

/// A decimal number of some 36 digits that lies nearer to `value` than to any other binary128: digits, and the power
/// of ten of the last one.
///
/// The digits are computed with an error of some units in the last place, which reading them again then reveals.
fn digits(value: Quad) -> (u128, i32) {
    let exponent = (f64::from(value.ilogb()) * std::f64::consts::LOG10_2).floor() as i32 - (DIGITS - 1);
    let mut exact = false;
    let mut digits = scale(value, -exponent).to_u128_r(128, rustc_apfloat::Round::NearestTiesToEven, &mut exact).value;
    for _ in 0..16 {
        let again = quad(digits, exponent);
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
    let half = power / 2;
    ((value * quad(1, half)).value * quad(1, power - half)).value
}

/// The binary128 that is nearest to so many times a power of ten.
fn quad(digits: u128, exponent: i32) -> Quad {
    let decimal = Decimal { negative: false, digits, exponent, more: false };
    let value = decimal.nearest(Grid::of::<Quad>());
    value.unwrap_or_else(|| format!("{digits}e{exponent}").parse().expect("a decimal number"))
}

/// How many digits these are.
fn length(digits: u128) -> u32 {
    digits.checked_ilog10().unwrap_or(0) + 1
}

/// The first `keep` digits of a number, the last of them rounded, without zeros behind them.
fn rounded(digits: u128, exponent: i32, keep: u32) -> (u128, i32) {
    let dropped = length(digits) - keep;
    let power = 10u128.pow(dropped);
    let (mut number, rest) = (digits / power, digits % power);
    if rest >= power - rest {
        number += 1;
    }
    let mut exponent = exponent + dropped as i32;
    while number.is_multiple_of(10) && number > 0 {
        number /= 10;
        exponent += 1;
    }
    (number, exponent)
}

/// A number written out if that is short, else with an exponent.
fn layout(Decimal { negative, digits, exponent, .. }: Decimal) -> String {
    let digits = digits.to_string();
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

#[cfg(test)]
mod tests {
    use super::super::Float;
    use super::*;
    use FloatKind::{Brain, Double2, Ieee, X87};
    use proptest::prelude::*;

    const KINDS: [(FloatKind, u8); 8] =
        [(Ieee, 2), (Ieee, 4), (Ieee, 8), (Ieee, 16), (Brain, 2), (X87, 10), (X87, 16), (Double2, 16)];

    #[test]
    fn short_numbers_stay_short() {
        for (kind, size) in KINDS {
            for text in ["0.0", "-0.0", "1.0", "0.1", "-0.3", "1.5", "12.0", "0.001", "NaN", "Infinity", "-Infinity"] {
                let (value, _) = Real::parse(text, kind, size).unwrap();
                assert_eq!(value.to_text(kind, size), text, "{kind:?} {size}");
            }
        }
        for text in ["1e4000", "-7.7e-4900", "123456.7890123456789", "1.5e300", "0.00012", "1.2e-5", "1e17"] {
            let (value, _) = Real::parse(text, Ieee, 16).unwrap();
            assert_eq!(value.to_text(Ieee, 16), text);
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        for bits in [1, 2, (1 << 112) - 1, 1 << 112, 0x7ffe << 112, (0x7fff << 112) - 1, 0x3fff << 112 | 1] {
            let value = Real::read(Ieee, ByteOrder::Big, &u128::to_be_bytes(bits));
            let text = value.to_text(Ieee, 16);
            assert_eq!(Real::parse(&text, Ieee, 16).unwrap().0, value, "{text}");
        }
        assert_eq!(Real::read(Ieee, ByteOrder::Big, &u128::to_be_bytes(1)).to_text(Ieee, 16), "6e-4966");
        assert_eq!(Real::read(Ieee, ByteOrder::Big, &[0, 1]).to_text(Ieee, 2), "6e-8");
        // Once, the search for its digits went to and fro between its two neighbours.
        let value = Real::read(Ieee, ByteOrder::Big, &0x1c8e220fc25db8817d2314089126c81a_u128.to_be_bytes());
        assert_eq!(value.to_text(Ieee, 16), "6.443169449563344717361758890114993e-2732");
        assert_eq!(Real::Double(65504.0).to_text(Ieee, 2), "65500.0");
    }

    /// A number with very many digits is read by the first of them, and by whether all others are zeros.
    #[test]
    fn digits_without_end() {
        // Exactly between 1 and the next number of the kind; 1, which is even, is nearer to what is smaller.
        let (halfway, digits) = ("1.00048828125", "100048828125");
        let next = Real::Double(1.0009765625);
        for zeros in [11_588, 30_000] {
            let (point, zeros) = (11 + zeros, "0".repeat(zeros));
            for (text, expected) in [
                (format!("{halfway}{zeros}"), Real::Double(1.0)),
                (format!("{halfway}{zeros}1e-0"), next),
                (format!("{digits}{zeros}.0e-{point}"), Real::Double(1.0)),
                (format!("{digits}{zeros}.1e-{point}"), next),
                (format!("0.{zeros}{digits}1e{}", 1 + zeros.len()), next),
            ] {
                assert_eq!(Real::parse(&text, Ieee, 2).unwrap().0, expected, "{} bytes", text.len());
            }
        }
        let nines = "9".repeat(50_000);
        for (kind, size) in [(X87, 10), (Ieee, 16)] {
            assert_eq!(Real::parse(&format!("{nines}e-50000"), kind, size).unwrap().0, Real::Double(1.0));
            assert_eq!(Real::parse(&nines, kind, size).unwrap().1, Rounding::Overflow);
            for text in [format!("1.{nines}.1"), format!("{nines}1-2"), format!("{nines}.1.1e2"), format!("{nines}e")] {
                assert_eq!(Real::parse(&text, kind, size), None);
            }
        }
    }

    #[test]
    fn text_that_is_no_number() {
        for (kind, size) in KINDS {
            for text in ["", "x", "0x10", "1_0", "nan", "inf", ".", "e5", "--1", "1e", "1e+", "1e400000x"] {
                assert_eq!(Real::parse(text, kind, size), None, "{text} as {kind:?}");
            }
            assert_eq!(Real::parse("1e99999999999999999999", kind, size).unwrap().1, Rounding::Overflow);
            assert_eq!(Real::parse("-1e-99999999999999999999", kind, size).unwrap().1, Rounding::Underflow);
            assert_eq!(Real::parse("0e-99999999999999999999", kind, size).unwrap().1, Rounding::Nearest);
        }
    }

    proptest! {
        #[test]
        fn odd_texts_do_no_harm(text in "[0-9+.eE-]{0,12}|-?[0-9]{0,60}[.]?[0-9]{0,60}[eE]?[+-]?[0-9]{0,30}") {
            for (kind, size) in KINDS {
                if let Some((value, _)) = Real::parse(&text, kind, size) {
                    let text = value.to_text(kind, size);
                    prop_assert_eq!(Real::parse(&text, kind, size).unwrap().0, value);
                }
            }
        }

        #[test]
        fn text_is_read_as_the_same_number(bits: u128, which in 0..KINDS.len()) {
            let (kind, size) = KINDS[which];
            let bytes = bits.to_be_bytes();
            let value = Float::read(kind, ByteOrder::Big, &bytes[..usize::from(size)]).value();
            let text = value.to_text(kind, size);
            let (again, _) = Real::parse(&text, kind, size).unwrap();
            prop_assert!(again == value || value.to_f64().is_nan(), "{} {:?} {:?}", text, value, again);
        }
    }
}
