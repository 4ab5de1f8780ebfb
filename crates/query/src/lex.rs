//! Text to words, each with its place. What they mean together is for `parse`.

use crate::tree::{RESERVED, is_plain};
use isoform_core::error::Position;
use isoform_core::{Code, Error, Result};
use std::fmt;

/// A word, a number, a text, or a sign.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Word {
    /// A name of a field or a function.
    Name(Box<str>),
    /// A name in backquotes, which is no function and no keyword.
    Quoted(Box<str>),
    Keyword(&'static str),
    Integer(u64, Option<Box<str>>),
    Float(f64, Option<Box<str>>),
    Text(Box<str>),
    Sign(&'static str),
    End,
}

/// The signs, longer ones before their beginnings.
const SIGNS: &[&str] = &[
    "==", "!=", "<=", ">=", "//", "||", "<", ">", "=", "+", "-", "*", "/", "%", "(", ")", "[", "]", ".", ",", ":", "|",
];

/// All words of a text, with the places where they begin. The last one is the end.
pub(crate) fn words(text: &str) -> Result<Vec<(Word, usize)>> {
    let mut lexer = Lexer { text, at: 0 };
    let mut words = Vec::new();
    loop {
        lexer.skip(|c| c.is_ascii_whitespace());
        let at = lexer.at;
        let word = lexer.word()?;
        let end = word == Word::End;
        words.push((word, at));
        if end {
            return Ok(words);
        }
    }
}

/// A failure at a place of a text.
pub(crate) fn fault(code: Code, text: &str, at: usize) -> Error {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    Error::new(code).positioned(Position { line, column })
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !accept(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn word(&mut self) -> Result<Word> {
        let Some(first) = self.rest().chars().next() else { return Ok(Word::End) };
        if first.is_ascii_digit() {
            return self.number();
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let name = self.skip(|c| c.is_ascii_alphanumeric() || c == '_');
            return Ok(match RESERVED.iter().find(|word| **word == name) {
                Some(word) => Word::Keyword(word),
                None => Word::Name(name.into()),
            });
        }
        match first {
            '"' => self.quoted('"').map(Word::Text),
            '`' => self.quoted('`').map(Word::Quoted),
            _ => match SIGNS.iter().find(|sign| self.rest().starts_with(**sign)) {
                Some(sign) => {
                    self.at += sign.len();
                    Ok(Word::Sign(sign))
                }
                None => {
                    let fault =
                        fault(Code::Text, self.text, self.at).expected("a name, a number, a text or an operator");
                    Err(fault.found(format_args!("{first:?}")))
                }
            },
        }
    }

    /// A text between two equal quotes. Behind a backslash stands a quote or a backslash.
    fn quoted(&mut self, quote: char) -> Result<Box<str>> {
        let begin = self.at;
        let mut quoted = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, c)) if c == quote || c == '\\' => quoted.push(c),
                    _ => {
                        let fault = fault(Code::Text, self.text, begin + at);
                        return Err(fault.expected(format_args!("\\{quote} or \\\\")).found("another backslash"));
                    }
                },
                '\0' => {
                    return Err(fault(Code::Text, self.text, begin + at).expected("text without NUL").found("a NUL"));
                }
                _ if c == quote => {
                    self.at = begin + at + 1;
                    return Ok(quoted.into());
                }
                _ => quoted.push(c),
            }
        }
        Err(fault(Code::Text, self.text, begin).expected(format_args!("a closing {quote}")).found("the end"))
    }

    fn number(&mut self) -> Result<Word> {
        let begin = self.at;
        let is_digit = |c: char| c.is_ascii_digit();
        self.skip(is_digit);
        let mut whole = true;
        if self.rest().strip_prefix('.').is_some_and(|rest| rest.starts_with(is_digit)) {
            whole = false;
            self.at += 1;
            self.skip(is_digit);
        }
        if let Some(rest) = self.rest().strip_prefix(['e', 'E']) {
            let sign = usize::from(rest.starts_with(['+', '-']));
            if rest[sign..].starts_with(is_digit) {
                whole = false;
                self.at += 1 + sign;
                self.skip(is_digit);
            }
        }
        let digits = &self.text[begin..self.at];
        let unit = self.unit()?;
        let fault = |expected: &str| fault(Code::Text, self.text, begin).expected(expected).found(digits);
        if whole {
            let number = digits.parse().map_err(|_| fault("an integer below 2^64"))?;
            return Ok(Word::Integer(number, unit));
        }
        match digits.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Word::Float(number, unit)),
            _ => Err(fault("a number that a double holds")),
        }
    }

    /// The unit behind a number: a text in quotes, or the longest plain one that is not a keyword.
    fn unit(&mut self) -> Result<Option<Box<str>>> {
        let begin = self.at;
        self.skip(|c| c == ' ');
        if self.rest().starts_with('"') {
            return self.quoted('"').map(Some);
        }
        match plain_unit(self.rest()) {
            "" => {
                self.at = begin;
                Ok(None)
            }
            unit => {
                self.at += unit.len();
                Ok(Some(unit.into()))
            }
        }
    }
}

/// The unit at the beginning of a text: `m`, `m/s`, `kg*m/s^2`. Names and signs follow each other without blanks.
pub(crate) fn plain_unit(text: &str) -> &str {
    let bytes = text.as_bytes();
    let run = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let mut end = if bytes.first().is_some_and(u8::is_ascii_alphabetic) { run(0) } else { 0 };
    // A name with an underscore is none of a unit, and a keyword goes on with the query.
    if end == 0 || bytes.get(end) == Some(&b'_') || !is_plain(&text[..end]) {
        return "";
    }
    while let Some(b'/' | b'*' | b'^') = bytes.get(end) {
        match run(end + 1) {
            0 => break,
            more => end += 1 + more,
        }
    }
    &text[..end]
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Name(name) => write!(f, "the name {name}"),
            Word::Quoted(name) => write!(f, "the name `{name}`"),
            Word::Keyword(word) => write!(f, "the word {word}"),
            Word::Integer(number, None) => write!(f, "the number {number}"),
            Word::Integer(number, Some(unit)) => write!(f, "the number {number} {unit}"),
            Word::Float(number, None) => write!(f, "the number {number:?}"),
            Word::Float(number, Some(unit)) => write!(f, "the number {number:?} {unit}"),
            Word::Text(text) => write!(f, "the text {text:?}"),
            Word::Sign(sign) => write!(f, "\"{sign}\""),
            Word::End => f.write_str("the end"),
        }
    }
}
