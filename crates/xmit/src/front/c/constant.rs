//! Constant expressions of C: the value of an array's length or of an enumerator, by C's types and conversions.
//!
//! The size of `long` and of pointers differs between machines. A value that would differ with it is refused: the header is bound to a
//! machine only later.

use super::source::Token;
use crate::front::tokens::{MAX_LEVELS, Sort, short};
use isoform_core::declare::{Kind, Width};
use isoform_core::{Code, Error, Result};

/// An integer of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    value: i128,
    bits: u8,
    signed: bool,
}

/// What an expression may name. `kind` is the type of words such as `unsigned long` or `my_t *`.
pub(super) struct Names<'n> {
    pub(super) constant: &'n dyn Fn(&str) -> Option<i128>,
    pub(super) kind: &'n dyn Fn(&[Token<'_>]) -> Option<Kind>,
    pub(super) fault: &'n dyn Fn(u32) -> Error,
}

/// The sizes of C's types on one kind of machine.
#[derive(Clone, Copy)]
struct Machine {
    long: u8,
    pointer: u8,
    /// Whether every integer is of the widest type, as in `#if`.
    widest: bool,
}

/// Those that layouts have: 32 bits, 64 bits, and Windows.
const MACHINES: [Machine; 3] = [
    Machine { long: 4, pointer: 4, widest: false },
    Machine { long: 8, pointer: 8, widest: false },
    Machine { long: 4, pointer: 8, widest: false },
];

/// A value, or why there is none. An operand that is not evaluated, as behind `0 &&`, needs none.
type Value = std::result::Result<Number, Error>;

/// The value of an expression, which is the same on every machine.
pub(super) fn value(tokens: &[Token<'_>], line: u32, names: &Names<'_>) -> Result<i128> {
    let mut found = None;
    for machine in MACHINES {
        let number = Evaluator { tokens, at: 0, line, machine, names }.whole()?.value;
        if *found.get_or_insert(number) != number {
            let error = (names.fault)(line).expected("a value that is the same on every machine");
            return Err(error.found(text(tokens)));
        }
    }
    found.ok_or_else(|| (names.fault)(line).expected("a number"))
}

/// Whether the condition of `#if` holds; `None` if the header does not decide it.
pub(super) fn condition(tokens: &[Token<'_>], fault: &dyn Fn(u32) -> Error) -> Option<bool> {
    let names = Names { constant: &|_| None, kind: &|_| None, fault };
    let machine = Machine { long: 8, pointer: 8, widest: true };
    let evaluator = Evaluator { tokens, at: 0, line: 0, machine, names: &names };
    evaluator.whole().ok().map(|number| number.value != 0)
}

/// The words of an expression, for errors.
fn text(tokens: &[Token<'_>]) -> String {
    let words: Vec<&str> = tokens.iter().take(12).map(|token| &*token.text).collect();
    short(&words.join(" ")).to_owned()
}

impl Number {
    const fn int(value: i128) -> Number {
        Number { value, bits: 32, signed: true }
    }

    /// The value as this type has it: what is beyond is cut off.
    fn cast(value: i128, bits: u8, signed: bool) -> Number {
        let cut = value & ((1i128 << bits) - 1);
        let is_negative = signed && cut >> (bits - 1) == 1;
        Number { value: if is_negative { cut - (1i128 << bits) } else { cut }, bits, signed }
    }

    fn fits(value: i128, bits: u8, signed: bool) -> bool {
        Number::cast(value, bits, signed).value == value
    }

    /// An enumerator: of C's `int` if that has it.
    fn enumerator(value: i128) -> Option<Number> {
        let types = [(32, true), (32, false), (64, true), (64, false)];
        let fit = types.into_iter().find(|&(bits, signed)| Number::fits(value, bits, signed));
        fit.map(|(bits, signed)| Number { value, bits, signed })
    }

    /// C's usual conversions of two operands.
    fn joined(self, other: Number) -> (u8, bool) {
        let bits = self.bits.max(other.bits);
        let signed = [self, other].into_iter().filter(|number| number.bits == bits).all(|number| number.signed);
        (bits, signed)
    }
}

struct Evaluator<'e, 't> {
    tokens: &'e [Token<'t>],
    at: usize,
    line: u32,
    machine: Machine,
    names: &'e Names<'e>,
}

impl<'e, 't> Evaluator<'e, 't> {
    fn peek(&self) -> Option<&'e Token<'t>> {
        self.tokens.get(self.at)
    }

    fn take(&mut self, mark: &str) -> bool {
        let is_next = self.peek().is_some_and(|token| token.is(mark));
        self.at += usize::from(is_next);
        is_next
    }

    fn fault(&self, expected: &str) -> Error {
        let error = (self.names.fault)(self.line).expected(expected);
        match self.peek() {
            Some(token) => error.found(format_args!("`{}`", short(&token.text))),
            None => error.found("the end of an expression"),
        }
    }

    fn no_value(&self, found: &str) -> Error {
        (self.names.fault)(self.line).expected("an expression with a value").found(found)
    }

    fn whole(mut self) -> Result<Number> {
        let value = self.choice(0)?;
        match self.peek() {
            None => value,
            Some(_) => Err(self.fault("the end of the expression")),
        }
    }

    fn check_levels(&self, levels: usize) -> Result<()> {
        match levels > MAX_LEVELS {
            false => Ok(()),
            true => {
                let error = (self.names.fault)(self.line)
                    .expected(format_args!("at most {MAX_LEVELS} levels within each other"));
                Err(Error::new(Code::Depth).at(error.path()).expected(error.expectation()))
            }
        }
    }

    /// `a ? b : c`
    fn choice(&mut self, levels: usize) -> Result<Value> {
        self.check_levels(levels)?;
        let condition = self.binary(0, levels)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let first = self.choice(levels + 1)?;
        if !self.take(":") {
            return Err(self.fault("`:`"));
        }
        let second = self.choice(levels + 1)?;
        Ok(condition.and_then(|condition| {
            let (chosen, other) = if condition.value != 0 { (first, second) } else { (second, first) };
            let chosen = chosen?;
            // The type is that of both.
            let (bits, signed) = other.map_or((chosen.bits, chosen.signed), |other| chosen.joined(other));
            Ok(Number::cast(chosen.value, bits, signed))
        }))
    }

    fn binary(&mut self, least: u8, levels: usize) -> Result<Value> {
        self.check_levels(levels)?;
        let mut left = self.unary(levels)?;
        while let Some((mark, rank)) = self.peek().filter(|token| token.kind == Sort::Mark).and_then(rank)
            && rank > least
        {
            self.at += 1;
            // Ranks rise, so these levels are few.
            let right = self.binary(rank, levels)?;
            // In a condition, what the header decides may stand behind what it does not.
            let second = right.as_ref().ok().filter(|_| self.machine.widest).map(|right| right.value != 0);
            left = match (mark, left) {
                ("&&", Ok(left)) if left.value == 0 => Ok(Number::int(0)),
                ("||", Ok(left)) if left.value != 0 => Ok(Number::int(1)),
                ("&&", Err(_)) if second == Some(false) => Ok(Number::int(0)),
                ("||", Err(_)) if second == Some(true) => Ok(Number::int(1)),
                (_, left) => left.and_then(|left| right.and_then(|right| self.computed(mark, left, right))),
            };
        }
        Ok(left)
    }

    fn computed(&self, mark: &str, left: Number, right: Number) -> Value {
        let none = || self.no_value(&format!("{} {mark} {}", left.value, right.value));
        if matches!(mark, "<<" | ">>") {
            let shift = u8::try_from(right.value).ok().filter(|&shift| shift < left.bits).ok_or_else(none)?;
            let value = if mark == "<<" { left.value << shift } else { left.value >> shift };
            return Ok(Number::cast(value, left.bits, left.signed));
        }
        let (bits, signed) = left.joined(right);
        let (a, b) = (Number::cast(left.value, bits, signed).value, Number::cast(right.value, bits, signed).value);
        let truth = match mark {
            "&&" => Some(left.value != 0 && right.value != 0),
            "||" => Some(left.value != 0 || right.value != 0),
            "==" => Some(a == b),
            "!=" => Some(a != b),
            "<" => Some(a < b),
            ">" => Some(a > b),
            "<=" => Some(a <= b),
            ">=" => Some(a >= b),
            _ => None,
        };
        if let Some(truth) = truth {
            return Ok(Number::int(truth.into()));
        }
        let value = match mark {
            "|" => Some(a | b),
            "^" => Some(a ^ b),
            "&" => Some(a & b),
            "+" => Some(a + b),
            "-" => Some(a - b),
            "*" => a.checked_mul(b),
            "/" => a.checked_div(b),
            _ => a.checked_rem(b),
        };
        match value {
            // What is unsigned wraps; what is signed has no value beyond its type.
            Some(value) if !signed || Number::fits(value, bits, signed) => Ok(Number::cast(value, bits, signed)),
            _ => Err(none()),
        }
    }

    fn unary(&mut self, levels: usize) -> Result<Value> {
        self.check_levels(levels)?;
        if self.take("+") {
            return self.unary(levels + 1);
        }
        if self.take("-") {
            return Ok(self
                .unary(levels + 1)?
                .and_then(|number| self.computed("-", Number { value: 0, ..number }, number)));
        }
        if self.take("~") {
            let inner = self.unary(levels + 1)?;
            return Ok(inner.map(|number| Number::cast(!number.value, number.bits, number.signed)));
        }
        if self.take("!") {
            return Ok(self.unary(levels + 1)?.map(|number| Number::int((number.value == 0).into())));
        }
        if self.peek().is_some_and(|token| token.is("sizeof")) {
            self.at += 1;
            return self.size_of();
        }
        if let Some(kind) = self.kind_in_parentheses() {
            let inner = self.unary(levels + 1)?;
            let to = self.integer(&kind);
            return Ok(inner.and_then(|number| {
                if let Kind::Boolean { .. } = kind {
                    return Ok(Number::int((number.value != 0).into()));
                }
                let (bytes, signed) = to.ok_or_else(|| self.no_value("a cast to no integer"))?;
                let cast = Number::cast(number.value, bytes * 8, signed);
                Ok(match bytes < 4 {
                    true => Number::int(cast.value),
                    false => cast,
                })
            }));
        }
        if self.take("(") {
            let inner = self.choice(levels + 1)?;
            return match self.take(")") {
                true => Ok(inner),
                false => Err(self.fault("`)`")),
            };
        }
        self.one()
    }

    /// The type between two parentheses, if that is what comes next.
    fn kind_in_parentheses(&mut self) -> Option<Kind> {
        let rest = &self.tokens[self.at..];
        if !rest.first()?.is("(") || rest.get(1)?.kind != Sort::Word {
            return None;
        }
        let end = rest.iter().take(16).position(|token| token.is(")"))?;
        let kind = (self.names.kind)(&rest[1..end])?;
        self.at += end + 1;
        Some(kind)
    }

    fn size_of(&mut self) -> Result<Value> {
        let line = self.line;
        let refused = (self.names.fault)(line).expected("sizeof of a type of C that is no struct");
        let found = self.tokens[self.at..].iter().take(6).map(|token| &*token.text).collect::<Vec<_>>().join(" ");
        let refused = refused.found(format_args!("sizeof {}", short(&found)));
        let Some(kind) = self.kind_in_parentheses() else { return Err(refused) };
        let size = match kind {
            Kind::Char => Some(1),
            Kind::Boolean { .. } => Some(1),
            Kind::String => Some(self.machine.pointer),
            Kind::Float { width: Width::Bytes(bytes), .. } => Some(bytes),
            Kind::Float { width: Width::Open, .. } => Some(8),
            Kind::Integer { .. } | Kind::Enumeration { .. } => self.integer(&kind).map(|(bytes, _)| bytes),
            _ => None,
        };
        let bits = self.machine.pointer * 8;
        Ok(size.map(|size| Number { value: size.into(), bits, signed: false }).ok_or(refused))
    }

    /// The bytes and the sign of an integer.
    fn integer(&self, kind: &Kind) -> Option<(u8, bool)> {
        match kind {
            // Its sign differs between machines.
            Kind::Char => None,
            Kind::Integer { signed, width } | Kind::Enumeration { signed, width, .. } => {
                let bytes = match width {
                    Width::Bytes(bytes @ 1..=8) => *bytes,
                    Width::Bytes(_) => return None,
                    Width::Open => 4,
                    Width::Long => self.machine.long,
                    Width::Pointer => self.machine.pointer,
                };
                Some((bytes, *signed))
            }
            _ => None,
        }
    }

    fn one(&mut self) -> Result<Value> {
        let Some(token) = self.peek() else { return Err(self.fault("a number or the name of a constant")) };
        let value = match token.kind {
            Sort::Number => match self.literal(&token.text) {
                Some(number) => Ok(number),
                None => return Err(self.fault("an integer")),
            },
            Sort::Character => match character(&token.text) {
                Some(value) => Ok(Number::int(value)),
                None => return Err(self.fault("one character, or four, of ASCII")),
            },
            Sort::Word => (self.names.constant)(&token.text).and_then(Number::enumerator).ok_or_else(|| {
                (self.names.fault)(self.line).expected("the name of an integer constant").found(short(&token.text))
            }),
            _ => return Err(self.fault("a number or the name of a constant")),
        };
        self.at += 1;
        // A name that is called is a macro which the header does not define.
        if token.kind == Sort::Word && self.peek().is_some_and(|next| next.is("(")) {
            let mut open = 0;
            while let Some(inner) = self.peek() {
                self.at += 1;
                open += i32::from(inner.is("(")) - i32::from(inner.is(")"));
                if open == 0 {
                    break;
                }
            }
            let error = (self.names.fault)(self.line).expected("a macro that the header defines");
            return Ok(Err(error.found(short(&token.text))));
        }
        Ok(value.map(|number| Number { bits: if self.machine.widest { 64 } else { number.bits }, ..number }))
    }

    /// A number as C reads it, of the first type that has it.
    fn literal(&self, text: &str) -> Option<Number> {
        let lower = text.to_ascii_lowercase();
        let (digits, base) = match lower.as_bytes() {
            [b'0', b'x', ..] => (&lower[2..], 16),
            [b'0', b'b', ..] => (&lower[2..], 2),
            [b'0', _, ..] => (&lower[1..], 8),
            _ => (&lower[..], 10),
        };
        let end = digits.find(|c: char| !c.is_digit(base)).unwrap_or(digits.len());
        let (digits, suffix) = digits.split_at(end);
        let (is_unsigned, longs) = match suffix {
            "" => (false, 0),
            "u" => (true, 0),
            "l" => (false, 1),
            "ul" | "lu" => (true, 1),
            "ll" => (false, 2),
            "ull" | "llu" => (true, 2),
            _ => return None,
        };
        let longs = if self.machine.widest { 2 } else { longs };
        let value = match digits {
            // `0` alone, or with a suffix.
            "" if base == 8 => 0,
            digits => i128::from_str_radix(digits, base).ok()?,
        };
        let long = self.machine.long * 8;
        let widths = [32, long, 64];
        for bits in &widths[longs..] {
            for signed in [true, false] {
                let is_type = if signed { !is_unsigned } else { is_unsigned || base != 10 };
                if is_type && Number::fits(value, *bits, signed) {
                    return Some(Number { value, bits: *bits, signed });
                }
            }
        }
        None
    }
}

/// The operators of two operands, the weakest first.
fn rank<'t>(token: &'t Token<'_>) -> Option<(&'t str, u8)> {
    let rank = match &*token.text {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | ">" | "<=" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => return None,
    };
    Some((&token.text, rank))
}

/// The value of what stands between apostrophes: up to four characters, as GCC puts them into an `int`.
fn character(text: &str) -> Option<i128> {
    let mut bytes = text.bytes().peekable();
    let mut values = Vec::new();
    while let Some(byte) = bytes.next() {
        let value = match (byte, if byte == b'\\' { bytes.next() } else { None }) {
            (b'\\', Some(b'n')) => 10,
            (b'\\', Some(b't')) => 9,
            (b'\\', Some(b'r')) => 13,
            (b'\\', Some(b'a')) => 7,
            (b'\\', Some(b'b')) => 8,
            (b'\\', Some(b'f')) => 12,
            (b'\\', Some(b'v')) => 11,
            (b'\\', Some(b'e')) => 27,
            (b'\\', Some(b'x')) => {
                let mut value = None;
                while let Some(digit) = bytes.peek().and_then(|byte| char::from(*byte).to_digit(16)) {
                    value = Some(value.unwrap_or(0u32).checked_mul(16)? + digit);
                    bytes.next();
                }
                value?
            }
            (b'\\', Some(digit @ b'0'..=b'7')) => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(digit) = bytes.peek().and_then(|byte| char::from(*byte).to_digit(8)) else { break };
                    value = value * 8 + digit;
                    bytes.next();
                }
                value
            }
            (b'\\', Some(other @ (b'\\' | b'\'' | b'"' | b'?'))) => other.into(),
            (b'\\', _) => return None,
            (byte, _) => byte.into(),
        };
        // The sign of others differs between machines.
        if value > 127 {
            return None;
        }
        values.push(i128::from(value));
    }
    match values.len() {
        1..=4 => Some(values.into_iter().fold(0, |all, value| all << 8 | value)),
        _ => None,
    }
}
