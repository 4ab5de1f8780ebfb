//! Single values as documents write them.

mod bytes;
mod moment;

use crate::markup::Lexical;
use isoform_core::declare::{Kind, Type, Width};
use isoform_core::format::FloatKind;
use isoform_core::scalar::{Real, Rounding};
use isoform_core::{Code, Element, Error, Result, Value};
use std::fmt;

/// The value that a text means for a field of a type, in a unit.
pub(crate) fn value(kind: &Type, unit: Option<&str>, text: &str) -> Result<Value> {
    let malformed = |expected: &str| Error::new(Code::Text).expected(expected).found(format_args!("{text:?}"));
    if !kind.dims.is_empty() {
        return Err(malformed("no default, since the field is an array"));
    }
    let word = text.trim();
    match &kind.kind {
        Kind::Integer { signed, width } => {
            let number = match (word.parse::<i128>(), word.parse::<u128>(), unit) {
                (Ok(number), ..) => Value::Integer(number),
                (_, Ok(number), _) => Value::Unsigned(number),
                _ if is_integer(word) => return Err(malformed(&integers(*signed, *width))),
                (.., Some(unit)) => match moment::in_unit(unit, word) {
                    Some(number) => Value::Integer(number),
                    None => return Err(malformed(&format!("a value in {unit}"))),
                },
                (.., None) => return Err(malformed("an integer")),
            };
            match holds(*signed, *width, &number) {
                true => Ok(number),
                false => Err(malformed(&integers(*signed, *width))),
            }
        }
        Kind::Float { kind, width } => {
            let number = float(word).ok_or_else(|| malformed("a number, INF, -INF or NaN"))?;
            match (kind, width) {
                (FloatKind::Ieee, Width::Bytes(size)) => match Real::parse(word, *kind, *size) {
                    Some((_, Rounding::Overflow | Rounding::Underflow)) => {
                        Err(malformed(&format!("a number within the range of a float of {size} bytes")))
                    }
                    _ => Ok(number),
                },
                _ => Ok(number),
            }
        }
        Kind::Boolean { .. } => match word {
            "true" | "1" => Ok(Value::Boolean(true)),
            "false" | "0" => Ok(Value::Boolean(false)),
            _ => Err(malformed("true, false, 1 or 0")),
        },
        Kind::Enumeration { symbols, .. } => {
            let symbol = crate::front::xsd::symbol(word);
            match symbols.iter().any(|(name, _)| **name == *symbol) {
                true => Ok(Value::Symbol(symbol)),
                false => {
                    let known: Vec<&str> = symbols.iter().take(12).map(|(name, _)| &**name).collect();
                    let more = if symbols.len() > known.len() { ", .." } else { "" };
                    Err(malformed(&format!("one of the symbols {}{more}", known.join(", "))))
                }
            }
        }
        Kind::String => Ok(Value::String(text.as_bytes().into())),
        _ => Err(malformed("no default, since the field is a record")),
    }
}

/// The same for a field whose texts are of this kind, so that a date is no time, and a number neither.
pub(crate) fn value_as(kind: &Type, unit: Option<&str>, lexical: Lexical, text: &str) -> Result<Value> {
    let is_moment = kind.dims.is_empty() && matches!(kind.kind, Kind::Integer { .. });
    if is_moment && lexical != Lexical::Plain && moment::read(lexical, text.trim()).is_none() {
        return Err(Error::new(Code::Text).expected(form(lexical)).found(short(text)));
    }
    value(kind, unit, text)
}

/// Whether an integer of this width holds a number. Those whose width is that of a machine are checked when they have one.
fn holds(signed: bool, width: Width, number: &Value) -> bool {
    match (width, number) {
        (Width::Bytes(bytes @ 1..=16), Value::Integer(number)) => {
            let bits = u32::from(bytes) * 8 - u32::from(signed);
            (signed || *number >= 0) && (bits >= 127 || (if *number < 0 { !*number } else { *number }) >> bits == 0)
        }
        (Width::Bytes(bytes), Value::Unsigned(_)) => !signed && bytes == 16,
        _ => true,
    }
}

/// The integers of this width, for an error.
fn integers(signed: bool, width: Width) -> String {
    let Width::Bytes(bytes @ 1..=16) = width else { return "a smaller integer".into() };
    match signed {
        true => {
            let most = i128::MAX >> (128 - u32::from(bytes) * 8);
            format!("an integer from {} to {most}", -most - 1)
        }
        false => format!("an integer from 0 to {}", u128::MAX >> (128 - u32::from(bytes) * 8)),
    }
}

/// The value that a text means for an element which is no record. Numbers are exact, or rounded to the nearest of their kind.
pub(crate) fn read(element: &Element, lexical: Lexical, text: &str) -> Result<Value> {
    let kind = || Kind::of(element);
    let malformed = || Error::new(Code::Text).expected(kind()).found(short(text));
    let word = text.trim_matches(is_space);
    match element {
        Element::Integer { .. } if lexical != Lexical::Plain => match moment::read(lexical, word) {
            Some(number) => Ok(Value::Integer(number)),
            None => Err(Error::new(Code::Text).expected(form(lexical)).found(short(text))),
        },
        Element::Integer { .. } => match (word.parse::<i128>(), word.parse::<u128>()) {
            (Ok(number), _) => Ok(Value::Integer(number)),
            (_, Ok(number)) => Ok(Value::Unsigned(number)),
            _ if is_integer(word) => Err(Error::new(Code::Overflow).expected(kind()).found(short(text))),
            _ => Err(malformed()),
        },
        Element::Float { kind: of, size } => {
            let digits = match word {
                "INF" | "+INF" => "Infinity",
                "-INF" => "-Infinity",
                "Infinity" | "-Infinity" => return Err(malformed()),
                digits => digits,
            };
            let wrong = |code| Error::new(code).expected(kind()).found(short(text));
            match Real::parse(digits, *of, *size).ok_or_else(malformed)? {
                (_, Rounding::Overflow) => Err(wrong(Code::Overflow)),
                (_, Rounding::Underflow) => Err(wrong(Code::Underflow)),
                (Real::Double(number), _) => Ok(Value::Float(number)),
                (Real::Wide(_), _) => Ok(Value::Decimal(digits.into())),
            }
        }
        Element::Complex { kind: of, size } => {
            let part = Element::Float { kind: *of, size: *size };
            match word.split_ascii_whitespace().collect::<Vec<_>>()[..] {
                [real, imaginary] => {
                    let parts = [read(&part, lexical, real)?, read(&part, lexical, imaginary)?];
                    Ok(Value::Complex(Box::new(parts)))
                }
                _ => Err(malformed()),
            }
        }
        Element::Boolean { .. } => match word {
            "true" | "1" => Ok(Value::Boolean(true)),
            "false" | "0" => Ok(Value::Boolean(false)),
            _ => Err(malformed()),
        },
        Element::String => Ok(Value::String(lexical.spaced(text).as_bytes().into())),
        Element::Char => match text.as_bytes() {
            [] => Ok(Value::Char(0)),
            [byte] => Ok(Value::Char(*byte)),
            _ => Err(malformed()),
        },
        _ => Err(malformed()),
    }
}

fn is_integer(word: &str) -> bool {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The months and nanoseconds of a duration.
pub(crate) fn read_duration(text: &str) -> Result<(i128, i128)> {
    let duration = moment::read_duration(text.trim_matches(is_space));
    duration.ok_or_else(|| Error::new(Code::Text).expected(form(Lexical::Duration)).found(short(text)))
}

/// The text of a duration.
pub(crate) fn duration(months: i128, time: i128) -> Result<String> {
    moment::write_duration(months, time).ok_or_else(|| {
        let error = Error::new(Code::Text).expected("months and time of one sign");
        error.found(format_args!("{months} months and {time} ns"))
    })
}

/// The text of a moment, a date, a time or a duration.
pub(crate) fn moment(lexical: Lexical, number: i128) -> Result<String> {
    let text = moment::write(lexical, number);
    text.ok_or_else(|| Error::new(Code::Text).expected(form(lexical)).found(number))
}

/// The bytes in a text.
pub(crate) fn read_bytes(lexical: Lexical, text: &str) -> Result<Vec<u8>> {
    let bytes = match lexical {
        Lexical::Hex => bytes::read_hex(text.trim_matches(is_space)),
        _ => bytes::read_base64(text, lexical == Lexical::Base64Url),
    };
    bytes.ok_or_else(|| Error::new(Code::Text).expected(form(lexical)).found(short(text)))
}

/// Writes bytes as text.
pub(crate) fn write_bytes(lexical: Lexical, bytes: impl Iterator<Item = u8>, out: &mut dyn fmt::Write) -> fmt::Result {
    match lexical {
        Lexical::Hex => bytes::write_hex(bytes, out),
        _ => bytes::write_base64(bytes, lexical == Lexical::Base64Url, out),
    }
}

/// The spaces of XML.
pub(crate) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// A text with one space between words, and none at its ends.
pub(crate) fn collapsed(text: &str) -> String {
    text.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A text for an error.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}..", &text[..end]),
    }
}

fn form(lexical: Lexical) -> &'static str {
    match lexical {
        Lexical::DateTime => "a moment, such as 2002-05-30T09:30:10Z",
        Lexical::Date => "a date, such as 2002-05-30",
        Lexical::Time => "a time of a day, such as 09:30:10",
        Lexical::DayTime => "a duration of days and less, such as P1DT2H",
        Lexical::YearMonth => "a duration of months, such as P1Y2M",
        Lexical::Duration => "a duration, such as P1Y2M3DT4H",
        Lexical::Hex => "two hexadecimal digits for each byte",
        Lexical::Base64 => "base64 with its padding",
        Lexical::Base64Url => "base64 for URLs, without padding",
        Lexical::Plain | Lexical::Normalized | Lexical::Token => "a text",
    }
}

fn float(word: &str) -> Option<Value> {
    match word {
        "INF" | "+INF" => Some(Value::Float(f64::INFINITY)),
        "-INF" => Some(Value::Float(f64::NEG_INFINITY)),
        "NaN" => Some(Value::Float(f64::NAN)),
        _ if word.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) => {
            word.parse().ok().map(Value::Float)
        }
        _ => None,
    }
}
