//! Values from JSON, field by field.

use crate::declare::Kind;
use crate::error::{Code, Error, Position, Result};
use crate::format::{Element, Field, FloatKind, Format, Structure};
use crate::scalar::{Real, Rounding};
use crate::text::base64;
use crate::value::{Value, no_such_field};
use serde_json::Value as Json;

pub(super) fn record(format: &Format, text: &str) -> Result<Value> {
    structure(format.structure(), &json(text)?)
}

pub(super) fn value(field: &Field, text: &str) -> Result<Value> {
    self::field(field, &json(text)?)
}

fn json(text: &str) -> Result<Json> {
    serde_json::from_str(text).map_err(|error| malformed(&error))
}

#[cold]
fn malformed(error: &serde_json::Error) -> Error {
    let position = Position { line: error.line(), column: error.column() };
    let text = error.to_string();
    let place = format!(" at line {} column {}", position.line, position.column);
    let found = text.strip_suffix(&place).unwrap_or(&text);
    Error::new(Code::Text).expected("JSON").found(found).positioned(position)
}

fn structure(structure: &Structure, json: &Json) -> Result<Value> {
    let Json::Object(entries) = json else {
        return Err(unfit(format_args!("an object of {}", structure.name()), json));
    };
    let value = |(name, json): (&String, &Json)| {
        let field = structure.field(name).ok_or_else(|| no_such_field(structure, name))?;
        let value = self::field(field, json).map_err(|error| error.within(name))?;
        Ok((name.as_str().into(), value))
    };
    entries.iter().map(value).collect::<Result<_>>().map(Value::Record)
}

fn field(field: &Field, json: &Json) -> Result<Value> {
    if field.indirect && json.is_null() { Ok(Value::Null) } else { array(&field.element, field.dims.len(), json) }
}

/// An array of this many dimensions, or a single element.
fn array(element: &Element, rank: usize, json: &Json) -> Result<Value> {
    match json {
        _ if rank == 0 => self::element(element, json),
        Json::String(_) | Json::Object(_) if rank == 1 && *element == Element::Char => text(json),
        Json::Array(elements) => {
            let element = |(i, json)| array(element, rank - 1, json).map_err(|error| error.within(&format!("[{i}]")));
            elements.iter().enumerate().map(element).collect::<Result<_>>().map(Value::Array)
        }
        other => Err(unfit(format_args!("an array of {}", Kind::of(element)), other)),
    }
}

fn element(element: &Element, json: &Json) -> Result<Value> {
    let unfit = || unfit(Kind::of(element), json);
    match (element, json) {
        (Element::Structure(inner), _) => structure(inner, json),
        (Element::Integer { .. }, _) => integer(digits(json).ok_or_else(unfit)?).ok_or_else(unfit),
        (Element::Float { kind, size }, _) => {
            float(*kind, *size, json).map_err(|error| error.expected(Kind::of(element)))
        }
        (Element::Complex { kind, size }, Json::Array(parts)) => match parts.as_slice() {
            [real, imaginary] => {
                let part = |json| float(*kind, *size, json).map_err(|error| error.expected(Kind::of(element)));
                Ok(Value::Complex(Box::new([part(real)?, part(imaginary)?])))
            }
            _ => Err(unfit()),
        },
        (Element::Boolean { .. }, Json::Bool(truth)) => Ok(Value::Boolean(*truth)),
        (Element::Enumeration(_), Json::String(symbol)) => Ok(Value::Symbol(symbol.as_str().into())),
        (Element::Enumeration(_), Json::Number(number)) => integer(number.as_str()).ok_or_else(unfit),
        (Element::String, Json::Null) => Ok(Value::Null),
        (Element::String, _) => text(json).map_err(|_| unfit()),
        (Element::Char, _) => match text(json) {
            Ok(Value::String(bytes)) if bytes.len() <= 1 => Ok(Value::Char(bytes.first().copied().unwrap_or(0))),
            _ => Err(unfit()),
        },
        _ => Err(unfit()),
    }
}

/// The digits of a number, which may be in a string.
fn digits(json: &Json) -> Option<&str> {
    match json {
        Json::Number(number) => Some(number.as_str()),
        Json::String(text) => Some(text),
        _ => None,
    }
}

fn integer(text: &str) -> Option<Value> {
    match text.parse() {
        Ok(number) => Some(Value::Integer(number)),
        Err(_) => text.parse().ok().map(Value::Unsigned),
    }
}

fn float(kind: FloatKind, size: u8, json: &Json) -> Result<Value> {
    let wrong = |code| Error::new(code).found(short(json));
    let digits = digits(json).ok_or_else(|| wrong(Code::Text))?;
    match Real::parse(digits, kind, size).ok_or_else(|| wrong(Code::Text))? {
        (_, Rounding::Overflow) => Err(wrong(Code::Overflow)),
        (_, Rounding::Underflow) => Err(wrong(Code::Underflow)),
        (Real::Double(number), _) => Ok(Value::Float(number)),
        (Real::Wide(_), _) => Ok(Value::Decimal(digits.into())),
    }
}

fn text(json: &Json) -> Result<Value> {
    match json {
        Json::String(text) => Ok(Value::String(text.as_bytes().to_vec())),
        Json::Object(entries) if entries.len() == 1 => match entries.get("base64") {
            Some(Json::String(text)) => {
                base64::decode(text).map(Value::String).ok_or_else(|| unfit("base64 with its padding", json))
            }
            _ => Err(unfit("a string", json)),
        },
        _ => Err(unfit("a string", json)),
    }
}

fn unfit(expected: impl std::fmt::Display, json: &Json) -> Error {
    Error::new(Code::Text).expected(expected).found(short(json))
}

/// A short text for what the parser found.
fn short(json: &Json) -> String {
    match json {
        Json::Array(elements) => format!("an array of {}", elements.len()),
        Json::Object(entries) => format!("an object of {} entries", entries.len()),
        Json::String(text) if text.len() > 40 => format!("a string of {} bytes", text.len()),
        other => other.to_string(),
    }
}
