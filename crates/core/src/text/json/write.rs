//! JSON from views, written piece by piece.

use crate::format::Element;
use crate::scalar::{Float, Real};
use crate::text::{base64, is_hidden};
use crate::view::{Array, Item, View};
use std::fmt::{Result, Write};

/// Text is handed over in pieces of about this many bytes.
const PIECE: usize = 4096;

/// Gathers text, since writers of pieces take a call for each.
pub(super) struct Pieces<'a> {
    text: String,
    out: Option<&'a mut dyn Write>,
}

impl<'a> Pieces<'a> {
    /// Keeps all text.
    pub(super) fn kept() -> Pieces<'a> {
        Pieces { text: String::new(), out: None }
    }

    /// Hands the text over, piece by piece.
    pub(super) fn to(out: &'a mut dyn Write) -> Pieces<'a> {
        Pieces { text: String::with_capacity(PIECE), out: Some(out) }
    }

    /// Hands the rest over.
    pub(super) fn finish(mut self) -> Result {
        self.hand_over()
    }

    /// The text that was kept.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    #[cold]
    fn hand_over(&mut self) -> Result {
        if let Some(out) = &mut self.out {
            out.write_str(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}

impl Write for Pieces<'_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> Result {
        self.text.push_str(text);
        if self.text.len() > PIECE && self.out.is_some() { self.hand_over() } else { Ok(()) }
    }

    #[inline]
    fn write_char(&mut self, c: char) -> Result {
        self.text.push(c);
        Ok(())
    }
}

pub(super) fn record(view: View<'_>, out: &mut Pieces<'_>) -> Result {
    out.write_char('{')?;
    for (i, (field, item)) in view.fields().enumerate() {
        entry(i, &field.name, out)?;
        self::item(item, &field.element, out)?;
    }
    out.write_char('}')
}

/// The comma, name and colon of entry `i` of an object.
pub(super) fn entry(i: usize, name: &str, out: &mut Pieces<'_>) -> Result {
    out.write_str(if i > 0 { "," } else { "" })?;
    string(name, out)?;
    out.write_char(':')
}

pub(super) fn item(item: Item<'_>, element: &Element, out: &mut Pieces<'_>) -> Result {
    match item {
        Item::Null => out.write_str("null"),
        Item::Boolean(truth) => out.write_str(if truth { "true" } else { "false" }),
        Item::Integer(number) if matches!(element, Element::Integer { size: 16, .. }) => write!(out, "\"{number}\""),
        Item::Integer(number) => match i64::try_from(number) {
            Ok(number) => out.write_str(itoa::Buffer::new().format(number)),
            Err(_) => write!(out, "{number}"),
        },
        Item::Unsigned(number) => write!(out, "\"{number}\""),
        Item::Float(number) => float(number, out),
        Item::Complex([real, imaginary]) => {
            out.write_char('[')?;
            float(real, out)?;
            out.write_char(',')?;
            float(imaginary, out)?;
            out.write_char(']')
        }
        Item::Char(0) => out.write_str("\"\""),
        Item::Char(byte) => text(&[byte], out),
        Item::Symbol(symbol) => string(&symbol.name, out),
        Item::String(bytes) => text(bytes, out),
        Item::Array(array) => self::array(array, out),
        Item::Record(view) => record(view, out),
    }
}

fn array(array: Array<'_>, out: &mut Pieces<'_>) -> Result {
    if let Some(bytes) = array.text() {
        return text(bytes, out);
    }
    out.write_char('[')?;
    for (i, element) in array.iter().enumerate() {
        out.write_str(if i > 0 { "," } else { "" })?;
        item(element, array.element_type(), out)?;
    }
    out.write_char(']')
}

fn float(number: Float, out: &mut Pieces<'_>) -> Result {
    match number.value() {
        Real::Double(value) if !value.is_finite() => write!(out, "\"{number}\""),
        _ => number.with_text(|text| out.write_str(text)),
    }
}

fn text(bytes: &[u8], out: &mut Pieces<'_>) -> Result {
    match std::str::from_utf8(bytes) {
        Ok(text) => string(text, out),
        Err(_) => {
            out.write_str("{\"base64\":\"")?;
            base64::encode(bytes, out)?;
            out.write_str("\"}")
        }
    }
}

pub(super) fn string(text: &str, out: &mut impl Write) -> Result {
    out.write_char('"')?;
    let mut rest = text;
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
        out.write_str(text)?;
        return out.write_char('"');
    }
    while let Some(at) = rest.find(|c: char| c == '"' || c == '\\' || is_hidden(c)) {
        out.write_str(&rest[..at])?;
        let escaped = rest[at..].chars().next().unwrap_or_default();
        match escaped {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\t' => out.write_str("\\t")?,
            hidden => hidden.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))?,
        }
        rest = &rest[at + escaped.len_utf8()..];
    }
    out.write_str(rest)?;
    out.write_char('"')
}
