//! Single values as documents write them.

mod moment;

use isoform_core::declare::{Kind, Type};
use isoform_core::{Code, Error, Result, Value};

/// The value that a text means for a field of a type, in a unit.
pub(crate) fn value(kind: &Type, unit: Option<&str>, text: &str) -> Result<Value> {
    let malformed = |expected: &str| Error::new(Code::Text).expected(expected).found(format_args!("{text:?}"));
    if !kind.dims.is_empty() {
        return Err(malformed("no default, since the field is an array"));
    }
    let word = text.trim();
    match &kind.kind {
        Kind::Integer { .. } => match word.parse() {
            Ok(number) => Ok(Value::Integer(number)),
            Err(_) => match unit.map(|unit| (unit, moment::in_unit(unit, word))) {
                Some((_, Some(number))) => Ok(Value::Integer(number)),
                Some((unit, None)) => Err(malformed(&format!("a value in {unit}"))),
                None => Err(malformed("an integer")),
            },
        },
        Kind::Float { .. } => float(word).ok_or_else(|| malformed("a number, INF, -INF or NaN")),
        Kind::Boolean { .. } => match word {
            "true" | "1" => Ok(Value::Boolean(true)),
            "false" | "0" => Ok(Value::Boolean(false)),
            _ => Err(malformed("true, false, 1 or 0")),
        },
        Kind::Enumeration { symbols, .. } => {
            let symbol = crate::front::xsd::symbol(word);
            match symbols.iter().any(|(name, _)| **name == *symbol) {
                true => Ok(Value::Symbol(symbol)),
                false => Err(malformed("a value of the enumeration")),
            }
        }
        Kind::String => Ok(Value::String(text.as_bytes().into())),
        _ => Err(malformed("no default, since the field is a record")),
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
