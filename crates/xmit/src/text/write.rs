//! Records to XML, for a text or a tree.

use super::{Hydration, Part, Record, Tag, names};
use crate::lexical;
use crate::markup::{Lexical, Origin};
use isoform_core::view::{Array, Item};
use isoform_core::{Code, Error, Result, View};
use std::fmt::{self, Write};

/// The namespace of `nil`.
pub(super) const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// Where XML goes.
pub(super) trait Out {
    fn start(&mut self, tag: &Tag) -> Result<()>;
    /// Declares namespaces: as text, and one by one.
    fn declare(&mut self, text: &str, declared: &[(Box<str>, Box<str>)]) -> Result<()>;
    fn attribute(&mut self, tag: &Tag, value: &str) -> Result<()>;
    /// Says that the element has no value.
    fn nil(&mut self) -> Result<()>;
    fn text(&mut self, text: &str) -> Result<()>;
    fn end(&mut self, tag: &Tag) -> Result<()>;
}

pub(super) fn record(hydration: &Hydration, view: View<'_>, out: &mut dyn Out) -> Result<()> {
    hydration.check(view)?;
    let root = &hydration.root;
    out.start(&root.tag)?;
    out.declare(&hydration.declares, &hydration.declared)?;
    Writer { out, scratch: String::new() }.inside(root, view)?;
    out.end(&root.tag)
}

struct Writer<'o> {
    out: &'o mut dyn Out,
    /// The text of a value.
    scratch: String,
}

impl Writer<'_> {
    /// The attributes of an element that has begun, and what it holds.
    fn inside(&mut self, record: &Record, view: View<'_>) -> Result<()> {
        let within = |error: Error, view: &View<'_>, index: usize| error.within(&view.structure().fields()[index].name);
        if !record.attributes.is_empty() {
            for (index, ((_, item), part)) in view.fields().zip(&record.fields).enumerate() {
                if part.mark.origin == Origin::Attribute {
                    self.attribute(part, item).map_err(|error| within(error, &view, index))?;
                }
            }
        }
        for (index, ((_, item), part)) in view.fields().zip(&record.fields).enumerate() {
            let done = match part.mark.origin {
                Origin::Element => self.field(part, item),
                Origin::Text => self.single(part, item).and_then(|()| self.out.text(&self.scratch)),
                Origin::Attribute | Origin::Length => Ok(()),
            };
            done.map_err(|error| within(error, &view, index))?;
        }
        Ok(())
    }

    fn attribute(&mut self, part: &Part, item: Item<'_>) -> Result<()> {
        match item {
            Item::Null if part.mark.optional => Ok(()),
            Item::Null => Err(Error::new(Code::Null).expected("a value, since the attribute is required")),
            Item::Array(array) if array.is_empty() && part.mark.optional => Ok(()),
            item => {
                self.single(part, item)?;
                self.out.attribute(&part.tag, &self.scratch)
            }
        }
    }

    /// The elements of a field.
    fn field(&mut self, part: &Part, item: Item<'_>) -> Result<()> {
        match item {
            Item::Null if part.mark.optional => Ok(()),
            Item::Array(array) if part.is_one(&array) => match array.is_empty() && part.mark.optional {
                true => Ok(()),
                false => self.element(part, item),
            },
            Item::Array(array) if part.rows(&array) => {
                let mut each = array.iter().enumerate();
                each.try_for_each(|(i, row)| self.field_in(part, row).map_err(|error| error.within(&format!("[{i}]"))))
            }
            Item::Array(array) => {
                let mut each = array.iter().enumerate();
                each.try_for_each(|(i, item)| self.element(part, item).map_err(|error| error.within(&format!("[{i}]"))))
            }
            item => self.element(part, item),
        }
    }

    /// A part of an array: null is not left out there.
    fn field_in(&mut self, part: &Part, item: Item<'_>) -> Result<()> {
        match item {
            Item::Array(array) if !part.is_one(&array) => self.field(part, item),
            item => self.element(part, item),
        }
    }

    fn element(&mut self, part: &Part, item: Item<'_>) -> Result<()> {
        self.out.start(&part.tag)?;
        match (item, &part.nested) {
            (Item::Null, _) => self.out.nil()?,
            (Item::Record(view), Some(nested)) => self.inside(nested, view)?,
            (item, _) => {
                self.single(part, item)?;
                self.out.text(&self.scratch)?;
            }
        }
        self.out.end(&part.tag)
    }

    /// Puts the text of a value, or of a list, into the scratch.
    fn single(&mut self, part: &Part, item: Item<'_>) -> Result<()> {
        self.scratch.clear();
        let text = &mut self.scratch;
        match item {
            Item::Array(array) if part.mark.lexical.is_bytes() => {
                // Bytes are the same in any order.
                lexical::write_bytes(part.mark.lexical, array.bytes().iter().copied(), text).map_err(failed)
            }
            Item::Array(array) if part.packed => {
                for (i, item) in array.iter().enumerate() {
                    let start = text.len() + usize::from(i > 0);
                    text.push_str(if i > 0 { " " } else { "" });
                    value(part, item, text)?;
                    if text.len() == start || text[start..].contains(lexical::is_space) {
                        let error =
                            Error::new(Code::Text).at(format!("[{i}]")).expected("text without spaces in a list");
                        return Err(error.found(lexical::short(&text[start..])));
                    }
                }
                Ok(())
            }
            item => value(part, item, text),
        }
    }
}

impl Part {
    /// Whether an array is one text.
    pub(super) fn is_one(&self, array: &Array<'_>) -> bool {
        array.dims().len() == 1 && (self.packed || *array.element_type() == isoform_core::Element::Char)
    }

    /// Whether the items of an array are arrays.
    fn rows(&self, array: &Array<'_>) -> bool {
        array.dims().len() > 1
    }
}

/// Adds the text of a value.
pub(super) fn value(part: &Part, item: Item<'_>, out: &mut String) -> Result<()> {
    match item {
        Item::Integer(number) if part.mark.lexical != Lexical::Plain => {
            out.push_str(&lexical::moment(part.mark.lexical, number)?);
        }
        Item::Integer(number) => write!(out, "{number}").map_err(failed)?,
        Item::Unsigned(number) => write!(out, "{number}").map_err(failed)?,
        Item::Float(number) => float(number, out)?,
        Item::Complex([real, imaginary]) => {
            float(real, out)?;
            out.push(' ');
            float(imaginary, out)?;
        }
        Item::Boolean(truth) => out.push_str(if truth { "true" } else { "false" }),
        Item::Symbol(symbol) => out.push_str(part.written.get(&symbol.name).unwrap_or(&symbol.name)),
        Item::Char(0) => {}
        Item::Char(byte) => push(&[byte], out)?,
        Item::String(bytes) => push(bytes, out)?,
        Item::Array(array) => match array.text() {
            Some(bytes) => push(bytes, out)?,
            None => return Err(Error::new(Code::Internal).found("an array in place of a value")),
        },
        Item::Record(view) => {
            let number = |name: &str| match view.field(name) {
                Ok(Item::Integer(number)) => Ok(number),
                _ => Err(Error::new(Code::Internal).found("a record in place of a value")),
            };
            out.push_str(&lexical::duration(number("months")?, number("time")?)?);
        }
        Item::Null => return Err(Error::new(Code::Null).expected("a value")),
    }
    Ok(())
}

fn float(number: isoform_core::scalar::Float, out: &mut String) -> Result<()> {
    let start = out.len();
    write!(out, "{number}").map_err(failed)?;
    match &out[start..] {
        "Infinity" => out.replace_range(start.., "INF"),
        "-Infinity" => out.replace_range(start.., "-INF"),
        _ => {}
    }
    Ok(())
}

fn push(bytes: &[u8], out: &mut String) -> Result<()> {
    let text = std::str::from_utf8(bytes).map_err(|error| Error::new(Code::Utf8).found(error))?;
    match text.chars().find(|&c| !names::is_char(c)) {
        None => {
            out.push_str(text);
            Ok(())
        }
        Some(odd) => {
            Err(Error::new(Code::Text).expected("characters that XML can have").found(format_args!("{odd:?}")))
        }
    }
}

pub(super) fn failed(_: fmt::Error) -> Error {
    Error::new(Code::Io).expected("room for text")
}

/// XML as text.
pub(super) struct Text<'w> {
    out: &'w mut dyn fmt::Write,
    /// The start tag has no end yet.
    is_open: bool,
}

impl<'w> Text<'w> {
    pub(super) fn new(out: &'w mut dyn fmt::Write) -> Text<'w> {
        Text { out, is_open: false }
    }

    fn shut(&mut self) -> fmt::Result {
        if std::mem::take(&mut self.is_open) { self.out.write_str(">") } else { Ok(()) }
    }

    fn all(&mut self, parts: &[&str]) -> Result<()> {
        parts.iter().try_for_each(|part| self.out.write_str(part)).map_err(failed)
    }
}

impl Out for Text<'_> {
    fn start(&mut self, tag: &Tag) -> Result<()> {
        self.shut().map_err(failed)?;
        self.is_open = true;
        self.all(&["<", &tag.qualified])
    }

    fn declare(&mut self, text: &str, _: &[(Box<str>, Box<str>)]) -> Result<()> {
        self.all(&[text])
    }

    fn attribute(&mut self, tag: &Tag, value: &str) -> Result<()> {
        self.all(&[" ", &tag.qualified, "=\""])?;
        escape(value, true, self.out).map_err(failed)?;
        self.all(&["\""])
    }

    fn nil(&mut self) -> Result<()> {
        self.all(&[" xmlns:xsi=\"", INSTANCE, "\" xsi:nil=\"true\""])
    }

    fn text(&mut self, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.shut().map_err(failed)?;
        escape(text, false, self.out).map_err(failed)
    }

    fn end(&mut self, tag: &Tag) -> Result<()> {
        match std::mem::take(&mut self.is_open) {
            true => self.all(&["/>"]),
            false => self.all(&["</", &tag.qualified, ">"]),
        }
    }
}

/// Text in XML; in an attribute, if the second is true.
pub(super) struct Escaped<'t>(pub(super) &'t str, pub(super) bool);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escape(self.0, self.1, f)
    }
}

fn escape(text: &str, in_attribute: bool, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut rest = text;
    let is_special =
        |byte: u8| matches!(byte, b'<' | b'>' | b'&' | b'\r') || in_attribute && matches!(byte, b'"' | b'\t' | b'\n');
    while let Some(at) = rest.bytes().position(is_special) {
        out.write_str(&rest[..at])?;
        out.write_str(match rest.as_bytes()[at] {
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'&' => "&amp;",
            b'"' => "&quot;",
            b'\r' => "&#13;",
            b'\t' => "&#9;",
            _ => "&#10;",
        })?;
        rest = &rest[at + 1..];
    }
    out.write_str(rest)
}
