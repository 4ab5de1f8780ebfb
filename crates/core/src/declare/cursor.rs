//! Reads a line of declaration text from left to right, and quotes names that could be read as something else.

use crate::error::{Code, Error, Result};
use std::fmt;

/// A place in a line of text.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Cursor { text, at: 0 }
    }

    /// What is left of the line.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The place, for [`Cursor::fault_at`].
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Goes back to a place where it was before.
    pub(super) fn go_back(&mut self, at: usize) {
        self.at = at;
    }

    pub(super) fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Steps over `c`, if that is next.
    pub(super) fn take(&mut self, c: char) -> bool {
        let next = self.rest().starts_with(c);
        if next {
            self.at += c.len_utf8();
        }
        next
    }

    /// Steps over `c`, which must be next.
    pub(super) fn expect(&mut self, c: char) -> Result<()> {
        self.skip_space();
        if self.take(c) { Ok(()) } else { Err(self.fault(format_args!("`{c}`"))) }
    }

    /// Takes everything before the first character that `ends`.
    pub(super) fn until(&mut self, ends: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    /// Takes a word; it may be empty.
    pub(super) fn word(&mut self) -> &'a str {
        if self.rest().starts_with('#') { "" } else { self.until(ends_word) }
    }

    /// Takes a text in double quotes, in which `\"` and `\\` stand for a quote and a backslash; `None` if no quote is
    /// next.
    pub(super) fn quoted(&mut self) -> Result<Option<String>> {
        let start = self.at;
        if !self.take('"') {
            return Ok(None);
        }
        let mut text = String::new();
        loop {
            text.push_str(self.until(|c| matches!(c, '"' | '\\')));
            if self.take('"') {
                return Ok(Some(text));
            } else if !self.take('\\') {
                return Err(self.fault_at(start, "a closing `\"`"));
            }
            match self.rest().chars().next() {
                Some(c @ ('"' | '\\')) => text.push(c),
                _ => return Err(self.fault("`\"` or `\\` after a backslash")),
            }
            self.at += 1;
        }
    }

    /// Takes a name: a word, or any text in quotes.
    pub(super) fn name(&mut self, expected: &str) -> Result<Box<str>> {
        self.skip_space();
        if let Some(name) = self.quoted()? {
            return Ok(name.into());
        }
        match self.word() {
            "" => Err(self.fault(expected)),
            word => Ok(word.into()),
        }
    }

    /// The failure that something else was expected next.
    pub(super) fn fault(&self, expected: impl fmt::Display) -> Error {
        self.fault_at(self.at, expected)
    }

    /// The failure that something else was expected at a place.
    pub(super) fn fault_at(&self, at: usize, expected: impl fmt::Display) -> Error {
        let rest = &self.text[at..];
        let next = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[next..].find(ends_word).map_or(rest.len(), |end| next + end);
        self.fault_between(at, at + end, expected)
    }

    /// The failure that something else was expected instead of the words between two places.
    pub(super) fn fault_between(&self, at: usize, end: usize, expected: impl fmt::Display) -> Error {
        let column = self.text[..at].chars().count() + 1;
        let error = Error::new(Code::Declaration).expected(expected);
        match self.text[at..end].trim() {
            "" if at == self.text.len() => error.found(format_args!("the end at column {column}")),
            words if words.len() > 60 => error.found(format_args!("a long word at column {column}")),
            words => error.found(format_args!("`{words}` at column {column}")),
        }
    }
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '[' | ']' | '(' | ')' | '{' | '}' | '*' | ',' | '=' | '.' | '"')
}

/// A name as [`Cursor::name`] reads it: in quotes if it is no plain word, or if it is `reserved`.
pub(super) struct Quoted<'a> {
    pub(super) name: &'a str,
    pub(super) reserved: bool,
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = !self.reserved && !self.name.starts_with('#') && !self.name.is_empty();
        if plain && !self.name.contains(ends_word) {
            return f.write_str(self.name);
        }
        f.write_str("\"")?;
        for c in self.name.chars() {
            if matches!(c, '"' | '\\') {
                f.write_str("\\")?;
            }
            write!(f, "{c}")?;
        }
        f.write_str("\"")
    }
}
