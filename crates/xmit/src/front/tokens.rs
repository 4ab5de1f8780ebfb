//! The words, numbers and marks of a text in the manner of C, with comments, for IDL and C.

use super::link::Place;
use super::literal::{self, Escapes};
use isoform_core::{Code, Error, Result};

/// Levels of parentheses and of signs in an expression, of blocks and of types.
pub(super) const MAX_LEVELS: usize = 64;

/// Bytes of a name with its scopes. Each of a million fields may need a copy of it.
pub(super) const MAX_NAME: usize = 512;

/// One word, number, text or mark.
#[derive(Clone, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Sort,
    /// For texts and characters, without the quotes.
    pub(super) text: &'t str,
    pub(super) line: u32,
    start: usize,
    /// The comments before it, without those on the line on which the token before it ends.
    pub(super) lead: Vec<&'t str>,
    /// The comments on the line on which the token before it ends.
    pub(super) trail: Vec<&'t str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Word,
    Number,
    Text,
    Character,
    Mark,
    /// A line that begins with `#`; the text is what follows.
    Directive,
    End,
}

/// A text, one token after the other.
#[derive(Clone)]
pub(super) struct Tokens<'t> {
    name: &'t str,
    document: usize,
    text: &'t str,
    at: usize,
    line: u32,
    next: Token<'t>,
    /// Whether `>>` is a shift. Otherwise it closes two brackets.
    has_shifts: bool,
    /// Whether a backslash puts off the end of a comment, as in C.
    is_c: bool,
    /// Whether a line that begins with `#` is a directive.
    has_directives: bool,
    /// The marks of more than one character, the longest first.
    marks: &'static [&'static str],
}

impl<'t> Tokens<'t> {
    pub(super) fn new(name: &'t str, document: usize, text: &'t str) -> Result<Tokens<'t>> {
        let next = Token { kind: Sort::End, text: "", line: 0, start: 0, lead: Vec::new(), trail: Vec::new() };
        let marks = &["::", "<<"];
        let (line, has_shifts, is_c, has_directives) = (1, true, false, true);
        let mut tokens = Tokens { name, document, text, at: 0, line, next, has_shifts, is_c, has_directives, marks };
        tokens.next()?;
        Ok(tokens)
    }

    /// The tokens of a text in C, with its marks: a whole document, or what stands at a line of it.
    pub(super) fn in_c(name: &'t str, line: Option<u32>, text: &'t str) -> Result<Tokens<'t>> {
        let (line, has_directives) = (line.unwrap_or(1), line.is_none());
        let next = Token { kind: Sort::End, text: "", line, start: 0, lead: Vec::new(), trail: Vec::new() };
        let marks = &["...", "::", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "##", "->"];
        let (document, has_shifts, is_c) = (0, true, true);
        let mut tokens = Tokens { name, document, text, at: 0, line, next, has_shifts, is_c, has_directives, marks };
        tokens.next()?;
        Ok(tokens)
    }

    /// Steps over the lines behind a directive, which comes next, up to the next line that begins with `#`. What they have need
    /// not be tokens.
    pub(super) fn skip_lines(&mut self) {
        let bytes = self.text.as_bytes();
        let (mut begins, mut from) = (false, (self.at, self.line));
        while let Some(&byte) = bytes.get(self.at) {
            // Where a byte is ASCII, a character begins.
            let rest = if byte.is_ascii() { &self.text[self.at..] } else { "" };
            let length = match byte {
                b'#' if begins => break,
                b'\n' => {
                    from = (self.at, self.line);
                    begins = true;
                    1
                }
                b'/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
                b'/' if rest.starts_with("//") => end_of_comment(rest),
                b'"' => {
                    begins = false;
                    end_of_quote(rest, '"').map_or(1, |end| end + 1)
                }
                byte => {
                    begins &= byte.is_ascii_whitespace();
                    1
                }
            };
            self.line += bytes[self.at..self.at + length].iter().filter(|&&byte| byte == b'\n').count() as u32;
            self.at += length;
        }
        if self.at < bytes.len() {
            (self.at, self.line) = from;
        }
    }

    /// The token that comes next.
    pub(super) fn peek(&self) -> &Token<'t> {
        &self.next
    }

    /// Where the next token stands.
    pub(super) fn place(&self) -> Place {
        Place { document: self.document, line: self.next.line, pointer: None }
    }

    /// An error at the next token, which is not what it should be.
    pub(super) fn unexpected(&self, expected: impl std::fmt::Display) -> Error {
        let error = self.fault(self.next.line).expected(expected);
        match self.next.kind {
            Sort::End => error.found("the end"),
            Sort::Directive => error.found(format_args!("#{}", short(self.next.text))),
            _ => error.found(format_args!("`{}`", short(self.next.text))),
        }
    }

    /// An error at a line.
    pub(super) fn fault(&self, line: u32) -> Error {
        self.fault_of(Code::Declaration, line)
    }

    pub(super) fn fault_of(&self, code: Code, line: u32) -> Error {
        Error::new(code).at(format!("{}:{line}", self.name))
    }

    /// An error if there are more levels than this file allows.
    pub(super) fn check_levels(&self, levels: usize) -> Result<()> {
        match levels > MAX_LEVELS {
            false => Ok(()),
            true => {
                let error = self.fault_of(Code::Depth, self.next.line);
                Err(error.expected(format_args!("at most {MAX_LEVELS} levels within each other")))
            }
        }
    }

    /// An error if a name with its scopes is longer than this file allows.
    pub(super) fn check_name(&self, name: &str) -> Result<()> {
        match name.len() > MAX_NAME {
            false => Ok(()),
            true => Err(self
                .fault(self.next.line)
                .expected(format_args!("at most {MAX_NAME} bytes of a name with its scopes"))),
        }
    }

    /// Whether the next token is this word or mark.
    pub(super) fn is(&self, text: &str) -> bool {
        matches!(self.next.kind, Sort::Word | Sort::Mark) && self.next.text == text
    }

    /// Steps over this word or mark, if it is next.
    pub(super) fn take(&mut self, text: &str) -> Result<bool> {
        let is_next = self.is(text);
        if is_next {
            self.next()?;
        }
        Ok(is_next)
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<()> {
        match self.take(text)? {
            true => Ok(()),
            false => Err(self.unexpected(format_args!("`{text}`"))),
        }
    }

    /// Takes a word.
    pub(super) fn word(&mut self, expected: &str) -> Result<&'t str> {
        match self.next.kind {
            Sort::Word => Ok(self.next()?.text),
            _ => Err(self.unexpected(expected)),
        }
    }

    /// Takes texts in quotes that follow each other, as one; in quotes of either kind for Protocol Buffers.
    pub(super) fn string(&mut self, of: Escapes) -> Result<String> {
        let (mut bytes, line) = (Vec::new(), self.next.line);
        let is_text = |kind| kind == Sort::Text || kind == Sort::Character && of == Escapes::Proto;
        while is_text(self.next.kind) {
            let text = self.next()?.text;
            let odd = |escape| self.fault(line).expected("escapes of the language").found(format_args!("`{escape}`"));
            bytes.extend(literal::unescaped(text, of).map_err(odd)?);
        }
        String::from_utf8(bytes).map_err(|_| self.fault(line).expected("a text in UTF-8 behind its escapes"))
    }

    /// Whether the next token follows the one that starts at a byte and is one byte long.
    fn is_joined(&self, start: usize) -> bool {
        self.next.start == start + 1
    }

    /// Skips to the end of a statement: behind a `;`, or a block.
    pub(super) fn skip_statement(&mut self) -> Result<()> {
        let mut open = 0usize;
        loop {
            match self.next.kind {
                Sort::End => return if open == 0 { Ok(()) } else { Err(self.unexpected("a closing bracket")) },
                Sort::Mark if matches!(self.next.text, "{" | "(" | "[") => open += 1,
                Sort::Mark if matches!(self.next.text, "}" | ")" | "]") => match open {
                    0 if self.next.text == "}" => return Ok(()),
                    0 => return Err(self.unexpected("`;`")),
                    _ => open -= 1,
                },
                Sort::Mark if open == 0 && self.next.text == ";" => {
                    self.next()?;
                    return Ok(());
                }
                _ => {}
            }
            self.next()?;
        }
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Result<Token<'t>> {
        let (mut lead, mut trail) = (Vec::new(), Vec::new());
        let mut begins_line = self.at == 0;
        let before = self.line;
        let bytes = self.text.as_bytes();
        loop {
            let rest = &self.text[self.at..];
            match bytes.get(self.at) {
                Some(b'\n') => {
                    begins_line = true;
                    self.line += 1;
                    self.at += 1;
                }
                Some(byte) if byte.is_ascii_whitespace() => self.at += 1,
                Some(b'\\') if let Some(length) = splice(rest) => {
                    self.line += 1;
                    self.at += length;
                }
                Some(b'/') if rest.starts_with("//") || rest.starts_with("/*") => {
                    let length = match rest.starts_with("//") {
                        true if self.is_c => end_of_comment(rest),
                        true => rest.find('\n').unwrap_or(rest.len()),
                        false => rest[2..]
                            .find("*/")
                            .map(|end| end + 4)
                            .ok_or_else(|| self.fault(self.line).expected("`*/` at the end of a comment"))?,
                    };
                    let comment = &rest[..length];
                    match self.line == before && self.at > 0 && !begins_line {
                        true => trail.push(comment),
                        false => lead.push(comment),
                    }
                    self.line += comment.bytes().filter(|&byte| byte == b'\n').count() as u32;
                    self.at += length;
                }
                _ => break,
            }
        }
        let (line, start) = (self.line, self.at);
        let (kind, text) = self.sort(begins_line)?;
        let next = Token { kind, text, line, start, lead, trail };
        Ok(std::mem::replace(&mut self.next, next))
    }

    /// The token that starts here.
    fn sort(&mut self, begins_line: bool) -> Result<(Sort, &'t str)> {
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else { return Ok((Sort::End, "")) };
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let taken = |kind, length: usize| (kind, &rest[..length], length);
        let (kind, text, length) = match first {
            '#' if begins_line && self.has_directives => {
                let end = end_of_directive(rest);
                self.line += rest[..end].bytes().filter(|&byte| byte == b'\n').count() as u32;
                (Sort::Directive, rest[1..end].trim(), end)
            }
            '"' | '\'' => {
                let end = end_of_quote(rest, first).ok_or_else(|| {
                    self.fault(self.line).expected(format_args!("a closing {first} on the same line"))
                })?;
                self.line += rest[1..end].bytes().filter(|&byte| byte == b'\n').count() as u32;
                let kind = if first == '"' { Sort::Text } else { Sort::Character };
                (kind, &rest[1..end], end + 1)
            }
            c if c.is_ascii_digit() || (c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) => {
                let mut end = 0;
                let bytes = rest.as_bytes();
                while end < bytes.len() {
                    let is_sign = b"+-".contains(&bytes[end])
                        && matches!(bytes[end - 1], b'e' | b'E')
                        && !rest.starts_with("0x")
                        && !rest.starts_with("0X");
                    if !(bytes[end].is_ascii_alphanumeric() || bytes[end] == b'.' || is_sign) {
                        break;
                    }
                    end += 1;
                }
                taken(Sort::Number, end)
            }
            c if is_word(c) => taken(Sort::Word, rest.find(|c| !is_word(c)).unwrap_or(rest.len())),
            _ => {
                let long = self.marks.iter().find(|mark| rest.starts_with(**mark));
                taken(Sort::Mark, long.map_or(first.len_utf8(), |mark| mark.len()))
            }
        };
        self.at += length;
        Ok((kind, text))
    }

    // Constant expressions.

    /// The value of an expression of integers; `value` is that of a name.
    pub(super) fn expression(&mut self, value: &dyn Fn(&str) -> Option<i128>) -> Result<i128> {
        self.binary(value, 0, 0)
    }

    /// The value of an expression within `<` and `>`.
    pub(super) fn bracketed(&mut self, value: &dyn Fn(&str) -> Option<i128>) -> Result<i128> {
        self.has_shifts = false;
        let result = self.binary(value, 0, 0);
        self.has_shifts = true;
        result
    }

    fn binary(&mut self, value: &dyn Fn(&str) -> Option<i128>, least: u8, levels: usize) -> Result<i128> {
        self.check_levels(levels)?;
        let mut left = self.unary(value, levels + 1)?;
        loop {
            let line = self.next.line;
            let (mark, rank) = match (self.next.kind, self.next.text) {
                (Sort::Mark, "|") => ("|", 1),
                (Sort::Mark, "^") => ("^", 2),
                (Sort::Mark, "&") => ("&", 3),
                (Sort::Mark, "<<") => ("<<", 4),
                (Sort::Mark, ">") if self.has_shifts && self.text[self.next.start..].starts_with(">>") => (">>", 4),
                (Sort::Mark, mark @ ("+" | "-")) => (mark, 5),
                (Sort::Mark, mark @ ("*" | "/" | "%")) => (mark, 6),
                _ => return Ok(left),
            };
            if rank <= least {
                return Ok(left);
            }
            let start = self.next()?.start;
            if mark == ">>" && self.is_joined(start) {
                self.next()?;
            }
            let right = self.binary(value, rank, levels + 1)?;
            let shift = u32::try_from(right).ok().filter(|&bits| bits < 64);
            let result = match mark {
                "|" => Some(left | right),
                "^" => Some(left ^ right),
                "&" => Some(left & right),
                "<<" => shift.and_then(|bits| left.checked_mul(1i128 << bits)),
                ">>" => shift.map(|bits| left >> bits),
                "+" => left.checked_add(right),
                "-" => left.checked_sub(right),
                "*" => left.checked_mul(right),
                "/" => left.checked_div(right),
                _ => left.checked_rem(right),
            };
            left = result.ok_or_else(|| {
                self.fault(line).expected("an expression with a value").found(format_args!("{left} {mark} {right}"))
            })?;
        }
    }

    fn unary(&mut self, value: &dyn Fn(&str) -> Option<i128>, levels: usize) -> Result<i128> {
        self.check_levels(levels)?;
        let overflow = |tokens: &Self| tokens.unexpected("a number of 128 bits");
        if self.take("-")? {
            let inner = self.unary(value, levels + 1)?;
            return inner.checked_neg().ok_or_else(|| overflow(self));
        }
        if self.take("+")? {
            return self.unary(value, levels + 1);
        }
        if self.take("~")? {
            return Ok(!self.unary(value, levels + 1)?);
        }
        if self.take("(")? {
            let outside = std::mem::replace(&mut self.has_shifts, true);
            let inner = self.binary(value, 0, levels + 1)?;
            self.has_shifts = outside;
            self.expect(")")?;
            return Ok(inner);
        }
        let token = self.peek().clone();
        match token.kind {
            Sort::Number => {
                let number = number(token.text).ok_or_else(|| self.unexpected("an integer"))?;
                self.next()?;
                Ok(number)
            }
            Sort::Character => {
                let one = literal::character(token.text).ok_or_else(|| self.unexpected("one character of ASCII"))?;
                self.next()?;
                Ok(one)
            }
            Sort::Word | Sort::Mark if token.kind == Sort::Word || token.text == "::" => {
                let name = self.scoped_name("a number or the name of a constant")?;
                let found = || self.fault(token.line).expected("the name of an integer constant").found(&name);
                value(&name).ok_or_else(found)
            }
            _ => Err(self.unexpected("a number or the name of a constant")),
        }
    }

    /// Takes a name with its scopes: `A::B`, `::A::B`.
    pub(super) fn scoped_name(&mut self, expected: &str) -> Result<String> {
        let mut name = String::new();
        if self.take("::")? {
            name.push_str("::");
        }
        name.push_str(self.word(expected)?);
        while self.take("::")? {
            name.push_str("::");
            name.push_str(self.word(expected)?);
        }
        Ok(name)
    }

    // Prose.

    /// The comments before the next token.
    pub(super) fn lead(&self) -> Vec<&'t str> {
        self.next.lead.clone()
    }

    /// The comments behind the token that was taken last, on its line.
    pub(super) fn trail(&self) -> Vec<&'t str> {
        self.next.trail.clone()
    }
}

/// The prose of comments, and the unit that they state as `unit="m"`.
pub(super) fn prose_and_unit(comments: &[&str]) -> (Option<Box<str>>, Option<Box<str>>) {
    let mut lines = Vec::new();
    for comment in comments {
        let inner = comment.strip_prefix("/*").map(|inner| inner.strip_suffix("*/").unwrap_or(inner));
        let inner = inner.unwrap_or_else(|| comment.trim_start_matches(['/', '#']));
        lines.extend(
            inner.lines().map(|line| line.trim().trim_start_matches(['*', '!', '<']).trim_end_matches('*').trim()),
        );
    }
    let text = lines.join("\n");
    let (mut text, mut unit) = (text.as_str().to_owned(), None);
    if let Some(start) = text.find("unit=\"")
        && let Some(length) = text[start + 6..].find('"')
    {
        unit = Some(text[start + 6..start + 6 + length].into());
        text.replace_range(start..start + 7 + length, "");
    }
    let text = text.trim();
    ((!text.is_empty()).then(|| text.into()), unit)
}

/// The value of an integer as C and IDL write it.
pub(super) fn number(text: &str) -> Option<i128> {
    let text = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let lower = text.to_ascii_lowercase();
    match lower.as_bytes() {
        [b'0', b'x', ..] => i128::from_str_radix(&lower[2..], 16).ok(),
        [b'0', b'b', ..] => i128::from_str_radix(&lower[2..], 2).ok(),
        [b'0', _, ..] => i128::from_str_radix(&lower[1..], 8).ok(),
        _ => lower.parse().ok(),
    }
}

/// Where a directive ends: at the end of its line, which a backslash or a comment may put off.
fn end_of_directive(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        // Where a byte is ASCII, a character begins.
        let rest = if byte.is_ascii() { &text[at..] } else { "" };
        at += match byte {
            b'\n' => break,
            b'\\' if let Some(length) = splice(rest) => length,
            b'\\' => 2,
            b'/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            b'/' if rest.starts_with("//") => 2 + end_of_comment(&rest[2..]),
            b'"' => end_of_quote(rest, '"').map_or(1, |end| end + 1),
            // A character, and not the apostrophe of a sentence.
            b'\'' => end_of_quote(rest, '\'').filter(|&end| end < 6).map_or(1, |end| end + 1),
            _ => 1,
        };
    }
    let mut end = at.min(bytes.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    end
}

/// The length of a backslash at the end of a line, with the end. Compilers pass over blanks between them.
fn splice(text: &str) -> Option<usize> {
    let blanks = text.strip_prefix('\\')?;
    let rest = blanks.trim_start_matches([' ', '\t', '\r']);
    rest.starts_with('\n').then_some(text.len() - rest.len() + 1)
}

/// Where the line ends, which a backslash may put off.
fn end_of_comment(text: &str) -> usize {
    let mut end = 0;
    loop {
        end += text[end..].find('\n').unwrap_or(text.len() - end);
        if end == text.len() || !text[..end].trim_end().ends_with('\\') {
            return end;
        }
        end += 1;
    }
}

fn end_of_quote(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            // The end of a line as well, which goes on behind it. Its `\r` is part of it.
            '\r' if escaped => {}
            _ if escaped => escaped = false,
            '\n' => return None,
            '\\' => escaped = true,
            _ if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// The beginning of a text, for errors.
pub(super) fn short(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(end, _)| &text[..end])
}
