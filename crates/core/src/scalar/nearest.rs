//! The number of a kind that is nearest to a decimal one, in tens of nanoseconds.
//!
//! The digits are multiplied by a power of ten of 256 bits, which is slightly too small. If the product is too close to
//! the middle between two numbers, there is no answer, and `decimal` uses exact arithmetic, which is slower.

use rustc_apfloat::Float;
use rustc_apfloat::ieee::Quad;

/// A decimal number: its digits times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decimal {
    pub negative: bool,
    pub digits: u128,
    pub exponent: i32,
    /// Whether digits that are not zero follow.
    pub more: bool,
}

/// Which numbers a kind has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// The number of binary digits.
    precision: i32,
    /// The exponents of the smallest and the largest number that has all of them.
    least: i32,
    most: i32,
}

impl Grid {
    pub(super) fn of<F: Float>() -> Grid {
        Grid { precision: F::PRECISION as i32, least: F::MIN_EXP, most: F::MAX_EXP }
    }
}

impl Decimal {
    /// The number that a text stands for, unless its form is unusual.
    pub(super) fn read(text: &str) -> Option<Decimal> {
        let (negative, text) = match text.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            text => (false, text),
        };
        let mut number = Decimal { negative, digits: 0, exponent: 0, more: false };
        let (mut exponent, mut point, mut any) = (0i64, false, false);
        let mut bytes = text.iter();
        while let Some(byte) = bytes.next() {
            match byte {
                b'0'..=b'9' => {
                    any = true;
                    let kept = number.push(byte - b'0');
                    exponent += i64::from(!kept) - i64::from(point);
                }
                b'.' if !point => point = true,
                b'e' | b'E' => {
                    exponent = exponent.saturating_add(power(bytes.as_slice())?);
                    break;
                }
                _ => return None,
            }
        }
        number.exponent = exponent.clamp(-FAR, FAR) as i32;
        any.then_some(number)
    }

    /// Adds a digit, or notes that there is one if there are too many. Whether it was added.
    fn push(&mut self, digit: u8) -> bool {
        let fits = self.digits < MOST_DIGITS;
        match fits {
            true => self.digits = self.digits * 10 + u128::from(digit),
            false => self.more |= digit != 0,
        }
        fits
    }

    /// The nearest number of a grid, ties to even, or an infinity, if that can be told.
    pub(super) fn nearest(self, grid: Grid) -> Option<Quad> {
        let (units, unit) = self.units(grid)?;
        let next = Decimal { digits: self.digits + 1, ..self };
        if self.more && next.units(grid)? != (units, unit) {
            return None;
        }
        let value = if units == 0 { Quad::ZERO } else { assemble(units, unit, grid) };
        Some(if self.negative { -value } else { value })
    }

    /// How many units in the last place the nearest number has, and the power of two that this unit is.
    fn units(self, grid: Grid) -> Option<(u128, i32)> {
        if self.digits == 0 || self.exponent < STEP * LOWEST {
            return Some((0, 0));
        }
        // All larger numbers are infinite.
        let exponent = self.exponent.min(STEP * (HIGHEST + 1) - 1);
        let (coarse, fine) = (exponent.div_euclid(STEP), exponent.rem_euclid(STEP));
        let digits = Binary::of(self.digits);
        let mut exact = digits.times(Binary::of(FIVES[fine as usize]));
        exact.exponent += fine;
        if coarse == 0 {
            return exact.rounded(grid, 0);
        }
        let number = exact.times(POWERS[(coarse - LOWEST) as usize]);
        number.rounded(grid, ERROR).or_else(|| {
            // Only a number whose fraction has a power of two as its denominator can be in the middle between two
            // numbers.
            let divisor = *FIVES.get(usize::try_from(-self.exponent).ok()?)?;
            let mut exact = Binary::of(self.digits / divisor);
            exact.exponent += self.exponent;
            self.digits.is_multiple_of(divisor).then(|| exact.rounded(grid, 0))?
        })
    }
}

/// A number of units in the last place, at least one, as a float.
fn assemble(units: u128, unit: i32, grid: Grid) -> Quad {
    let top = units.ilog2() as i32;
    let exponent = top + unit;
    if exponent > grid.most {
        return Quad::INFINITY;
    }
    let bits = match exponent >= Quad::MIN_EXP {
        // The leading 1 adds one to the exponent.
        true => (units << (112 - top)) + (((exponent - Quad::MIN_EXP) as u128) << 112),
        false => units << (unit - (Quad::MIN_EXP - 112)),
    };
    Quad::from_bits(bits)
}

/// The exponent of a decimal number, which is all that follows the `e`.
fn power(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0i64, |value, digit| value.saturating_mul(10).saturating_add((digit - b'0').into()));
    Some(if negative { -value } else { value })
}

/// Digits below this leave room for one more, and for the next larger number.
const MOST_DIGITS: u128 = 10u128.pow(37);
/// A power of ten beyond all numbers of all kinds.
const FAR: i64 = 1_000_000;

/// A binary number: its digits, of which the first is a 1, and the power of two of that one.
#[derive(Clone, Copy)]
struct Binary {
    high: u128,
    low: u128,
    exponent: i32,
}

impl Binary {
    /// A number other than zero.
    const fn of(value: u128) -> Binary {
        let zeros = value.leading_zeros();
        Binary { high: value << zeros, low: 0, exponent: 127 - zeros as i32 }
    }

    /// The product, at most seven units in the last place too small; exact for two numbers of 128 digits.
    const fn times(self, other: Binary) -> Binary {
        let (mut high, mut low) = product(self.high, other.high);
        // The lower halves of these two products, and the product of the lower halves, are left out.
        let mut carry;
        (low, carry) = low.overflowing_add(product(self.high, other.low).0);
        high += carry as u128;
        (low, carry) = low.overflowing_add(product(self.low, other.high).0);
        high += carry as u128;
        let exponent = self.exponent + other.exponent;
        match high >> 127 {
            0 => Binary { high: high << 1 | low >> 127, low: low << 1, exponent },
            _ => Binary { high, low, exponent: exponent + 1 },
        }
    }

    /// The nearest number of a grid, as [`Decimal::units`], if this one is too small by at most so many units.
    fn rounded(self, grid: Grid, error: u128) -> Option<(u128, i32)> {
        let keep = grid.precision - (grid.least - self.exponent).max(0);
        let unit = self.exponent - keep + 1;
        let almost_more = error > 0 && self.low > u128::MAX - error;
        if keep < 0 {
            return (!(almost_more && self.high == u128::MAX)).then_some((0, unit));
        }
        let units = if keep == 0 { 0 } else { self.high >> (128 - keep) };
        let (rest, half) = (self.high & u128::MAX >> keep, 1 << (127 - keep));
        let middle = rest == half && self.low == 0;
        if error > 0 && (middle || almost_more && rest == half - 1) {
            return None;
        }
        let up = rest >= half && (!middle || units & 1 == 1);
        let units = units + u128::from(up);
        Some(if units >> grid.precision == 0 { (units, unit) } else { (units >> 1, unit + 1) })
    }
}

/// The high and the low half of a product.
const fn product(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (a_high, a_low, b_high, b_low) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let low = a_low * b_low;
    let middle = a_high * b_low + (low >> 64);
    let other = a_low * b_high + (middle & LOW);
    (a_high * b_high + (middle >> 64) + (other >> 64), other << 64 | low & LOW)
}

/// From one power of ten in the table to the next. The power of five is the largest that has 128 bits.
const STEP: i32 = 55;
/// Below 10^(-55 * 91), 38 digits are nearer to zero than to any number; from 10^(55 * 90) on, all are infinite.
const LOWEST: i32 = -91;
const HIGHEST: i32 = 89;
/// An upper bound of the error of a product with one of [`POWERS`], in units in the last place. Each of up to 91
/// multiplications adds a relative error of at most 8 units of the smallest number of 256 digits, which is 16 units of
/// the largest.
const ERROR: u128 = 1 << 12;

static FIVES: [u128; STEP as usize + 1] = {
    let mut fives = [1; STEP as usize + 1];
    let mut power = 1;
    while power < fives.len() {
        fives[power] = fives[power - 1] * 5;
        power += 1;
    }
    fives
};

static POWERS: [Binary; (HIGHEST - LOWEST + 1) as usize] = {
    const ONE: usize = -LOWEST as usize;
    let five = 5u128.pow(STEP as u32);
    let mut powers = [Binary::of(1); (HIGHEST - LOWEST + 1) as usize];
    let mut up = Binary::of(five);
    up.exponent += STEP;
    let mut down = reciprocal(five);
    down.exponent -= STEP;
    let mut index = ONE + 1;
    while index < powers.len() {
        powers[index] = powers[index - 1].times(up);
        index += 1;
    }
    index = ONE;
    while index > 0 {
        powers[index - 1] = powers[index].times(down);
        index -= 1;
    }
    powers
};

/// 1 divided by a number of 128 digits that is no power of two.
const fn reciprocal(divisor: u128) -> Binary {
    let (mut high, mut low, mut rest) = (0, 0, 1 << 127);
    let mut digits = 0;
    while digits < 256 {
        let whole = rest >> 127 == 1 || rest << 1 >= divisor;
        rest = if whole { (rest << 1).wrapping_sub(divisor) } else { rest << 1 };
        high = high << 1 | low >> 127;
        low = low << 1 | whole as u128;
        digits += 1;
    }
    Binary { high, low, exponent: -128 }
}
