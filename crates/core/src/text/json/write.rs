//! JSON from views, written piece by piece.

use super::entries::{Entries, HEAD, Kind, Number, with_type};
use super::out::{Out, SHORT};
use crate::format::{ByteOrder, Element, FloatKind};
use crate::scalar::{Float, Real};
use crate::text::{base64, is_hidden};
use crate::view::{self, Array, Item, View};
use std::fmt::{Result, Write};

/// About how long the text of a record will be, blocks aside.
pub(super) fn expected(view: View<'_>) -> usize {
    let entries = view.structure().entries();
    entries.length() + 2 * view.bytes().len() + 4 * SHORT
}

pub(super) fn record(view: View<'_>, out: &mut Out<'_>) -> Result {
    object(view, view.structure().entries(), out)
}

fn object(view: View<'_>, entries: &Entries, out: &mut Out<'_>) -> Result {
    let (structure, record) = (view.structure(), view.bytes());
    let machine = structure.machine();
    let mut first = b'{';
    for (entry, field) in entries.iter().zip(structure.fields()) {
        out.room(entry.label.len() + HEAD + SHORT)?;
        out.label(std::mem::replace(&mut first, b','), &entry);
        match entry.kind {
            Kind::Number(kind) => number(kind, machine.order, &record[field.offset..], out)?,
            Kind::Numbers(kind) => {
                let length = field.extent(machine.pointer).unwrap_or(0);
                numbers(kind, machine.order, &record[field.offset..][..length], out)?;
            }
            Kind::Element => {
                let bytes = &record[field.offset..][..field.element_size(machine.pointer)];
                item(view::item(&field.element, machine, bytes, view.body()), &field.element, out)?;
            }
            Kind::Field => item(view.item(field), &field.element, out)?,
        }
    }
    out.room(1)?;
    out.byte(b'}');
    Ok(())
}

/// A string as the label of an entry: with a comma in front of it unless it is the first, and a colon behind it.
pub(super) fn label(i: usize, name: &str, out: &mut Out<'_>) -> Result {
    out.write_str(if i > 0 { "," } else { "" })?;
    string(name, out)?;
    out.write_char(':')
}

pub(super) fn item(item: Item<'_>, element: &Element, out: &mut Out<'_>) -> Result {
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

fn array(array: Array<'_>, out: &mut Out<'_>) -> Result {
    if let Some(bytes) = array.text() {
        return text(bytes, out);
    }
    if array.dims().len() == 1 {
        return row(array, out);
    }
    list(array.iter(), out, |item, out| self::item(item, array.element_type(), out))
}

/// An array of one dimension.
fn row(array: Array<'_>, out: &mut Out<'_>) -> Result {
    let (element, bytes, machine) = (array.element_type(), array.bytes(), array.machine);
    if let Some(number) = Number::of(element) {
        return numbers(number, machine.order, bytes, out);
    }
    let elements = bytes.chunks_exact(element.size(machine.pointer));
    match element {
        Element::Structure(structure) => {
            let entries = structure.entries();
            list(elements, out, |bytes, out| object(View::within(structure, bytes, array.body), entries, out))
        }
        _ => list(elements, out, |bytes, out| item(view::item(element, machine, bytes, array.body), element, out)),
    }
}

fn list<'o, T>(items: impl Iterator<Item = T>, out: &mut Out<'o>, write: impl Fn(T, &mut Out<'o>) -> Result) -> Result {
    out.write_char('[')?;
    for (i, item) in items.enumerate() {
        out.write_str(if i > 0 { "," } else { "" })?;
        write(item, out)?;
    }
    out.write_char(']')
}

/// The number at the start of these bytes. There is room for [`SHORT`] bytes.
#[inline]
fn number(number: Number, order: ByteOrder, bytes: &[u8], out: &mut Out<'_>) -> Result {
    macro_rules! one {
        ($type:ident) => {
            $type::read(order, bytes.first_chunk().expect("all bytes of the field")).write(out)
        };
    }
    with_type!(number, one)
}

/// An array of the numbers in these bytes.
fn numbers(number: Number, order: ByteOrder, bytes: &[u8], out: &mut Out<'_>) -> Result {
    macro_rules! all {
        ($type:ident) => {
            for bytes in bytes.as_chunks().0 {
                out.room(SHORT + 1)?;
                $type::read(order, bytes).write(out)?;
                out.byte(b',');
            }
        };
    }
    out.room(2)?;
    out.byte(b'[');
    with_type!(number, all);
    if bytes.is_empty() {
        out.byte(b']');
    } else {
        out.replace_last(b']');
    }
    Ok(())
}

/// The types of the numbers for which there are loops.
trait Digits: Sized {
    type Bytes;

    fn read(order: ByteOrder, bytes: &Self::Bytes) -> Self;

    /// Writes the number. There is room for [`SHORT`] bytes.
    fn write(self, out: &mut Out<'_>) -> Result;
}

macro_rules! digits {
    ($($type:ident)*, $self:ident, $out:ident, $write:expr) => {$(
        impl Digits for $type {
            type Bytes = [u8; size_of::<$type>()];

            #[inline]
            fn read(order: ByteOrder, bytes: &Self::Bytes) -> $type {
                match order {
                    ByteOrder::Little => $type::from_le_bytes(*bytes),
                    ByteOrder::Big => $type::from_be_bytes(*bytes),
                }
            }

            #[inline]
            fn write($self, $out: &mut Out<'_>) -> Result {
                $write
            }
        }
    )*};
}

digits!(i8 i16 i32 i64 u8 u16 u32 u64, self, out, {
    out.short(itoa::Buffer::new().format(self));
    Ok(())
});
digits!(f32, self, out, {
    let magnitude = self.to_bits() & !(1 << 31);
    match magnitude {
        _ if magnitude == 0 || (TEN_M4_32..TEN_12_32).contains(&magnitude) => {
            out.short(zmij::Buffer::new().format_finite(self));
        }
        1..TEN_M6_32 | TEN_16_32..INFINITY_32 => {
            return with_exponent(zmij::Buffer::new().format_finite(self), out);
        }
        _ => return rare(&self.to_ne_bytes(), out),
    }
    Ok(())
});
digits!(f64, self, out, {
    let magnitude = self.to_bits() & !(1 << 63);
    match magnitude {
        _ if magnitude == 0 || (TEN_M4..TEN_16).contains(&magnitude) => {
            out.short(zmij::Buffer::new().format_finite(self));
        }
        1..TEN_M5 if !is_multiple(magnitude) => return with_exponent(zmij::Buffer::new().format_finite(self), out),
        TEN_16..INFINITY => return with_exponent(zmij::Buffer::new().format_finite(self), out),
        _ => return rare(&self.to_ne_bytes(), out),
    }
    Ok(())
});

// Powers of ten between which the text of a number is that of zmij but for a `+`. Between the others, it writes zeros in
// place of an exponent. Bits are compared, since a program may have asked its processor to take tiny numbers for zeros.
const TEN_M4: u64 = 1e-4f64.to_bits();
const TEN_M5: u64 = 1e-5f64.to_bits();
const TEN_16: u64 = 1e16f64.to_bits();
const INFINITY: u64 = f64::INFINITY.to_bits();
const TEN_M4_32: u32 = 1e-4f32.to_bits();
const TEN_M6_32: u32 = 1e-6f32.to_bits();
const TEN_12_32: u32 = 1e12f32.to_bits();
const TEN_16_32: u32 = 1e16f32.to_bits();
const INFINITY_32: u32 = f32::INFINITY.to_bits();

/// Whether a number below 1e-5 is a multiple of 2^-32. Only these can lie in the middle of two numbers of 17 digits, where
/// zmij takes the even one, and the text of a number is the greater one.
fn is_multiple(magnitude: u64) -> bool {
    let (exponent, digits) = (magnitude >> 52, magnitude | 1 << 52);
    exponent + u64::from(digits.trailing_zeros()) >= 1023 + 52 - 32
}

/// Writes the text of a number, without a `+` before its exponent.
fn with_exponent(text: &str, out: &mut Out<'_>) -> Result {
    let (digits, exponent) = text.split_once('+').unwrap_or((text, ""));
    out.room(2 * SHORT)?;
    out.short(digits);
    out.short(exponent);
    Ok(())
}

/// A number whose text is written with care, or that is none.
#[cold]
fn rare(bytes: &[u8], out: &mut Out<'_>) -> Result {
    float(Float::read(FloatKind::Ieee, ByteOrder::NATIVE, bytes), out)
}

fn float(number: Float, out: &mut Out<'_>) -> Result {
    match number.value() {
        Real::Double(value) if !value.is_finite() => write!(out, "\"{number}\""),
        _ => number.with_text(|text| out.write_str(text)),
    }
}

fn text(bytes: &[u8], out: &mut Out<'_>) -> Result {
    if is_plain(bytes) {
        out.room(1)?;
        out.byte(b'"');
        out.ascii(bytes)?;
        out.room(1)?;
        out.byte(b'"');
        return Ok(());
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => string(text, out),
        Err(_) => {
            out.write_str("{\"base64\":\"")?;
            base64::encode(bytes, out)?;
            out.write_str("\"}")
        }
    }
}

/// Writes a text as a string of JSON.
pub(super) fn string(text: &str, out: &mut impl Write) -> Result {
    out.write_char('"')?;
    let mut rest = text;
    if is_plain(text.as_bytes()) {
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

/// Whether all bytes are visible ASCII, and none of them is escaped.
fn is_plain(bytes: &[u8]) -> bool {
    let odd = |byte: u8| !matches!(byte, b' '..=b'~') | (byte == b'"') | (byte == b'\\');
    let (chunks, rest) = bytes.as_chunks::<16>();
    // A chunk has no branches within it, and so becomes a few vector instructions.
    chunks.iter().all(|chunk| !chunk.iter().fold(false, |any, byte| any | odd(*byte)))
        && !rest.iter().any(|byte| odd(*byte))
}
