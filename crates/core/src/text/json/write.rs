//! JSON from views.

use crate::error::Result;
use crate::format::Element;
use crate::scalar::{Float, Real};
use crate::text::base64;
use crate::view::{Array, Item, View};
use std::fmt::Write;

pub(super) fn record(view: View<'_>, out: &mut String) {
    out.push('{');
    for (i, (field, item)) in view.fields().enumerate() {
        if i > 0 {
            out.push(',');
        }
        string(&field.name, out);
        out.push(':');
        self::item(item, &field.element, out);
    }
    out.push('}');
}

pub(super) fn fields<P: AsRef<str>>(view: View<'_>, paths: &[P], out: &mut String) -> Result<()> {
    out.push('{');
    for (i, path) in paths.iter().map(AsRef::as_ref).enumerate() {
        if i > 0 {
            out.push(',');
        }
        string(path, out);
        out.push(':');
        match view.typed(path) {
            Ok((item, element)) => self::item(item, element, out),
            Err(_) => view.find(path).map(|_| out.push_str("null"))?,
        }
    }
    out.push('}');
    Ok(())
}

fn item(item: Item<'_>, element: &Element, out: &mut String) {
    match item {
        Item::Null => out.push_str("null"),
        Item::Boolean(truth) => out.push_str(if truth { "true" } else { "false" }),
        Item::Integer(number) if matches!(element, Element::Integer { size: 16, .. }) => {
            push(out, format_args!("\"{number}\""))
        }
        Item::Integer(number) => push(out, format_args!("{number}")),
        Item::Unsigned(number) => push(out, format_args!("\"{number}\"")),
        Item::Float(number) => float(number, out),
        Item::Complex([real, imaginary]) => {
            out.push('[');
            float(real, out);
            out.push(',');
            float(imaginary, out);
            out.push(']');
        }
        Item::Char(0) => out.push_str("\"\""),
        Item::Char(byte) => text(&[byte], out),
        Item::Symbol(symbol) => string(&symbol.name, out),
        Item::String(bytes) => text(bytes, out),
        Item::Array(array) => self::array(array, out),
        Item::Record(view) => record(view, out),
    }
}

fn array(array: Array<'_>, out: &mut String) {
    if let Some(bytes) = array.text() {
        return text(bytes, out);
    }
    out.push('[');
    for (i, element) in array.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        item(element, array.element_type(), out);
    }
    out.push(']');
}

fn float(number: Float, out: &mut String) {
    match number.value() {
        Real::Double(value) if !value.is_finite() => push(out, format_args!("\"{number}\"")),
        _ => push(out, format_args!("{number}")),
    }
}

fn text(bytes: &[u8], out: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) => string(text, out),
        Err(_) => {
            out.push_str("{\"base64\":\"");
            base64::encode(bytes, out);
            out.push_str("\"}");
        }
    }
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => push(out, format_args!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn push(out: &mut String, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).expect("a String takes everything");
}
