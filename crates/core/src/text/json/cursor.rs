//! A place in a text of JSON, and what is read there: numbers, strings, and the signs between them. `None` stands for all that
//! is wrong or rare, which a tree of values deals with.

use std::borrow::Cow;

/// A text, and how far it has been read.
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    /// The start of a text.
    pub(super) fn new(text: &'t str) -> Cursor<'t> {
        Cursor { text, at: 0 }
    }

    #[inline]
    fn rest(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// The next byte.
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Whether the whole text was read.
    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Passes over white space.
    #[inline]
    pub(super) fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Whether this byte comes next, behind white space. If so, it is passed over.
    #[inline]
    pub(super) fn passes(&mut self, byte: u8) -> bool {
        if self.peek() != Some(byte) {
            self.space();
        }
        let passes = self.peek() == Some(byte);
        self.at += usize::from(passes);
        passes
    }

    /// Passes over this byte, and white space in front of it.
    #[inline]
    pub(super) fn pass(&mut self, byte: u8) -> Option<()> {
        self.passes(byte).then_some(())
    }

    /// Passes over a word such as `null`, behind which something else must come.
    pub(super) fn word(&mut self, word: &str) -> Option<()> {
        self.rest().starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    /// Passes over the label of the next entry of an object, which must be this one. It has a comma in front of it.
    #[inline]
    pub(super) fn expect(&mut self, label: &[u8], is_first: bool) -> Option<()> {
        let whole = if is_first { &label[1..] } else { label };
        if self.rest().starts_with(whole) {
            self.at += whole.len();
            return Some(());
        }
        if !is_first {
            self.pass(b',')?;
        }
        self.space();
        let name = &label[1..label.len() - 1];
        self.rest().starts_with(name).then(|| self.at += name.len())?;
        self.pass(b':')
    }

    /// A string without escapes.
    pub(super) fn plain(&mut self) -> Option<&'t str> {
        self.space();
        let start = self.at + 1;
        match self.string()? {
            Cow::Borrowed(_) => self.text.get(start..self.at - 1),
            Cow::Owned(_) => None,
        }
    }

    /// The bytes of a string.
    pub(super) fn string(&mut self) -> Option<Cow<'t, [u8]>> {
        self.pass(b'"')?;
        let text = self.rest();
        let end = odd(text);
        match text.get(end)? {
            b'"' => {
                self.at += end + 1;
                Some(Cow::Borrowed(&text[..end]))
            }
            b'\\' => self.escaped().map(Cow::Owned),
            _ => None,
        }
    }

    /// The rest of a string that has escapes.
    #[cold]
    fn escaped(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        loop {
            let rest = self.rest();
            let end = odd(rest);
            text.extend_from_slice(&rest[..end]);
            self.at += end + 1;
            match rest.get(end)? {
                b'"' => return Some(text),
                b'\\' => {}
                _ => return None,
            }
            let sign = self.peek()?;
            self.at += 1;
            let simple = match sign {
                b'"' | b'\\' | b'/' => sign,
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'u' => {
                    let letter = self.letter()?;
                    text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                    continue;
                }
                _ => return None,
            };
            text.push(simple);
        }
    }

    /// The letter of `\u` and four digits, or of two of them.
    fn letter(&mut self) -> Option<char> {
        let first = self.unit()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        self.word("\\u")?;
        let second = self.unit()?;
        (0xdc00..0xe000)
            .contains(&second)
            .then(|| char::from_u32(0x1_0000 + ((first & 0x3ff) << 10 | second & 0x3ff)))?
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    }

    /// The digits of an integer.
    #[inline]
    pub(super) fn integer(&mut self) -> Option<Integer> {
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let first = self.at;
        let magnitude = self.digits(0);
        let count = self.at - first;
        let is_odd = count > 1 && self.text.as_bytes()[first] == b'0';
        match self.peek() {
            Some(b'.' | b'e' | b'E') => None,
            // So many digits are less than 2^64.
            _ if (1..=19).contains(&count) && !is_odd => Some(Integer { negative, magnitude }),
            _ => None,
        }
    }

    /// Adds the digits that come next to those of a number. Beyond 19 digits, the number is wrong.
    #[inline]
    fn digits(&mut self, mut number: u64) -> u64 {
        while let Some(eight) = self.rest().first_chunk().and_then(eight) {
            number = number.wrapping_mul(100_000_000).wrapping_add(eight);
            self.at += 8;
        }
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        number
    }

    /// A number, as far as JSON allows it.
    #[inline]
    pub(super) fn decimal(&mut self) -> Option<Decimal<'t>> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let first = self.at;
        let mut digits = self.digits(0);
        let mut count = self.at - first;
        if count == 0 || count > 1 && self.text.as_bytes()[first] == b'0' {
            return None;
        }
        let mut exponent = 0i64;
        if self.peek() == Some(b'.') {
            self.at += 1;
            let first = self.at;
            digits = self.digits(digits);
            let places = self.at - first;
            if places == 0 {
                return None;
            }
            exponent = -(places as i64);
            count += places;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            let negative = self.peek() == Some(b'-');
            self.at += usize::from(negative || self.peek() == Some(b'+'));
            let first = self.at;
            let power = self.digits(0);
            let length = self.at - first;
            if length == 0 {
                return None;
            }
            // A larger one is of no use here.
            let power = if length > 4 { 10_000 } else { power as i64 };
            exponent += if negative { -power } else { power };
        }
        // With zeros in front, fewer count; that is rare.
        let digits = (count <= 19).then_some(digits);
        Some(Decimal { text: &self.text[start..self.at], negative, digits, exponent })
    }
}

/// Digits of an integer, with their sign.
pub(super) struct Integer {
    pub(super) negative: bool,
    pub(super) magnitude: u64,
}

impl Integer {
    /// The number, if it fits.
    #[inline]
    pub(super) fn signed(self) -> Option<i64> {
        if self.negative { 0i64.checked_sub_unsigned(self.magnitude) } else { self.magnitude.try_into().ok() }
    }
}

/// A number in decimal digits.
pub(super) struct Decimal<'t> {
    /// The text of all of it.
    text: &'t str,
    negative: bool,
    /// Its digits without a point, unless there are too many.
    digits: Option<u64>,
    /// The power of ten of the last of them.
    exponent: i64,
}

/// Powers of ten that an `f64` holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

impl Decimal<'_> {
    /// The nearest `f64`, if one multiplication or division finds it: if both operands are exact, it rounds correctly.
    #[inline]
    fn simple(&self) -> Option<f64> {
        let digits = self.digits.filter(|digits| *digits <= 1 << 53)? as f64;
        let power = *POWERS.get(self.exponent.unsigned_abs() as usize)?;
        let value = if self.exponent < 0 { digits / power } else { digits * power };
        Some(if self.negative { -value } else { value })
    }

    /// Whether a number of these digits may be 0.
    fn is_zero(&self) -> bool {
        self.digits == Some(0)
    }

    /// The nearest `f64`, unless it is infinite, or 0 for a number that is not.
    #[inline]
    pub(super) fn double(&self) -> Option<f64> {
        let value = match self.simple() {
            Some(value) => value,
            None => self.text.parse().ok()?,
        };
        (value.is_finite() && (value.to_bits() << 1 != 0 || self.is_zero())).then_some(value)
    }

    /// The nearest `f32`, with the same exceptions.
    #[inline]
    pub(super) fn single(&self) -> Option<f32> {
        // Rounded twice, a number is the same as rounded once unless the first step ends in the middle of two `f32`.
        const MIDDLE: u64 = 1 << 28;
        const LEAST: u64 = (1023 - 126) << 52;
        let value = match self.simple() {
            Some(value) if value.to_bits() & (2 * MIDDLE - 1) != MIDDLE && value.to_bits() << 1 >> 1 >= LEAST => {
                value as f32
            }
            _ => self.text.parse().ok()?,
        };
        (value.is_finite() && (value.to_bits() << 1 != 0 || self.is_zero())).then_some(value)
    }
}

/// The number of eight digits, if that is what these bytes are.
#[inline]
fn eight(bytes: &[u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(*bytes);
    let upper = word & 0xf0f0_f0f0_f0f0_f0f0;
    let beyond = word.wrapping_add(0x0606_0606_0606_0606) & 0xf0f0_f0f0_f0f0_f0f0;
    if upper != 0x3030_3030_3030_3030 || beyond != 0x3030_3030_3030_3030 {
        return None;
    }
    // Pairs of digits, then of pairs, then of fours.
    let digits = word & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

/// Where a string has a quote, an escape or a control character.
fn odd(bytes: &[u8]) -> usize {
    let odd = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
    let (chunks, _) = bytes.as_chunks::<16>();
    // A chunk has no branches within it, and so becomes a few vector instructions.
    let plain = chunks.iter().take_while(|chunk| !chunk.iter().fold(false, |any, byte| any | odd(*byte))).count();
    let start = 16 * plain;
    start + bytes[start..].iter().position(|byte| odd(*byte)).unwrap_or(bytes.len() - start)
}
