//! JSON texts with the order of members, and an error for a member that stands twice.

use super::tokens::{MAX_LEVELS, short};
use crate::documents::Faults;
use isoform_core::error::Position;
use isoform_core::{Code, Error, Result};
use std::collections::HashMap;

/// A value of JSON.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Boolean(bool),
    /// As it is written.
    Number(Box<str>),
    Text(Box<str>),
    List(Vec<Json>),
    Object(Members),
}

/// The members of an object, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Members {
    pub(crate) list: Vec<(Box<str>, Json)>,
    /// Where their values begin, in bytes of the text.
    pub(crate) starts: Vec<usize>,
    places: HashMap<Box<str>, usize>,
}

impl Json {
    pub(crate) fn parse(faults: Faults<'_>) -> Result<Json> {
        let mut parser = Parser { faults, at: 0 };
        let value = parser.value(0)?;
        parser.space();
        match parser.rest().is_empty() {
            true => Ok(value),
            false => Err(parser.fault("the end")),
        }
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.places.get(name).map(|&place| &members.list[place].1),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it is, for errors.
    pub(crate) fn sort(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Boolean(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::Text(_) => "a string",
            Json::List(_) => "an array",
            Json::Object(_) => "an object",
        }
    }
}

/// The line of a place in a text, and the bytes before it on this line.
pub(crate) fn position(text: &str, at: usize) -> Position {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count();
    let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count();
    Position { line: 1 + line, column }
}

/// Whether a text is a number of RFC 8259: no zero before other digits, and digits on both sides of a point.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
    let text = text.strip_prefix('-').unwrap_or(text);
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) => (text, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (text, "0"),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    digits(whole) && digits(fraction) && digits(exponent) && (whole.len() == 1 || !whole.starts_with('0'))
}

struct Parser<'d> {
    faults: Faults<'d>,
    at: usize,
}

impl<'d> Parser<'d> {
    fn rest(&self) -> &'d str {
        &self.faults.text[self.at..]
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    fn fault(&self, expected: &str) -> Error {
        let error = self.faulty(Code::Text, self.at).expected(expected);
        match self.rest() {
            "" => error.found("the end"),
            rest => error.found(format_args!("`{}`", short(rest.lines().next().unwrap_or_default()))),
        }
    }

    /// An error at a place: at its line in a document, and at its line and column in a text without a name.
    fn faulty(&self, code: Code, at: usize) -> Error {
        match self.faults.name {
            "" => Error::new(code).positioned(position(self.faults.text, at)),
            _ => self.faults.at(code, at),
        }
    }

    fn take(&mut self, mark: char) -> bool {
        self.space();
        let is_next = self.rest().starts_with(mark);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self, levels: usize) -> Result<Json> {
        if levels > MAX_LEVELS {
            let error = self.faulty(Code::Depth, self.at);
            return Err(error.expected(format_args!("at most {MAX_LEVELS} levels within each other")));
        }
        self.space();
        for (word, value) in [("null", Json::Null), ("true", Json::Boolean(true)), ("false", Json::Boolean(false))] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        if self.take('[') {
            let mut list = Vec::new();
            while !self.take(']') {
                if !list.is_empty() && !self.take(',') {
                    return Err(self.fault("`,` or `]`"));
                }
                list.push(self.value(levels + 1)?);
            }
            return Ok(Json::List(list));
        }
        if self.take('{') {
            return self.object(levels);
        }
        if self.rest().starts_with('"') {
            return self.string().map(|text| Json::Text(text.into()));
        }
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
        let rest = self.rest();
        let number = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        match is_number(number) {
            true => {
                self.at += number.len();
                Ok(Json::Number(number.into()))
            }
            false => Err(self.fault("a value of JSON")),
        }
    }

    fn object(&mut self, levels: usize) -> Result<Json> {
        let mut members = Members::default();
        while !self.take('}') {
            if !members.list.is_empty() && !self.take(',') {
                return Err(self.fault("`,` or `}`"));
            }
            self.space();
            let start = self.at;
            let name: Box<str> = self.string()?.into();
            if members.places.insert(name.clone(), members.list.len()).is_some() {
                let error = self.faulty(Code::Text, start).expected("one member of each name");
                return Err(error.found(format_args!("a second {:?}", short(&name))));
            }
            if !self.take(':') {
                return Err(self.fault("`:`"));
            }
            self.space();
            members.starts.push(self.at);
            members.list.push((name, self.value(levels + 1)?));
        }
        Ok(Json::Object(members))
    }

    fn string(&mut self) -> Result<String> {
        if !self.take('"') {
            return Err(self.fault("a string"));
        }
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let end =
                rest.find(|c: char| c == '"' || c == '\\' || c < ' ').ok_or_else(|| self.fault("a closing \""))?;
            text.push_str(&rest[..end]);
            self.at += end;
            match &rest.as_bytes()[end..] {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(text);
                }
                [b'\\', b'u', ..] => text.push(self.unicode()?),
                [b'\\', escaped, ..] => {
                    text.push(match escaped {
                        b'"' | b'\\' | b'/' => char::from(*escaped),
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        _ => return Err(self.fault("an escape of JSON")),
                    });
                    self.at += 2;
                }
                _ => return Err(self.fault("no control character in a string")),
            }
        }
    }

    /// Takes `\uXXXX`, or two of them that stand for one character.
    fn unicode(&mut self) -> Result<char> {
        let unit = |parser: &mut Self| {
            let digits = parser.rest().strip_prefix("\\u").and_then(|rest| rest.get(..4));
            let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
            let unit = unit.ok_or_else(|| parser.fault("\\u and four digits"))?;
            parser.at += 6;
            Ok(unit)
        };
        let mut units = vec![unit(self)?];
        if (0xd800..0xdc00).contains(&units[0]) {
            units.push(unit(self)?);
        }
        let character = char::decode_utf16(units).next().and_then(std::result::Result::ok);
        character.ok_or_else(|| self.fault("a character behind \\u"))
    }
}
