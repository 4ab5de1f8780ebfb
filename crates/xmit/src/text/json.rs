//! Records as JSON as a document describes them: with its names, and with texts for what are texts there.

use super::read::{absent, single};
use super::write::{failed, value};
use super::{Hydration, Part, Record};
use crate::documents::Faults;
use crate::front::json::Json;
use crate::lexical;
use crate::markup::{Lexical, Origin};
use isoform_core::scalar::Float;
use isoform_core::text::json;
use isoform_core::view::{Array, Item};
use isoform_core::{Code, Element, Error, Field, Result, Structure, Value, View};
use std::fmt::Write;

pub(super) fn write(record: &Record, view: View<'_>, mut out: &mut dyn Write) -> Result<()> {
    let put = |out: &mut dyn Write, text: &str| out.write_str(text).map_err(failed);
    put(out, "{")?;
    let mut is_first = true;
    for ((field, item), part) in view.fields().zip(&record.fields) {
        let is_absent = match item {
            Item::Null => part.mark.optional,
            Item::Array(array) => array.is_empty() && part.mark.optional,
            _ => false,
        };
        if part.mark.origin == Origin::Length || is_absent {
            continue;
        }
        put(out, if std::mem::take(&mut is_first) { "" } else { "," })?;
        json::string(&part.mark.name.local, &mut out).map_err(failed)?;
        put(out, ":")?;
        self::item(part, item, out).map_err(|error| error.within(&field.name))?;
    }
    put(out, "}")
}

fn item(part: &Part, item: Item<'_>, mut out: &mut dyn Write) -> Result<()> {
    match (item, &part.nested) {
        (Item::Null, _) => out.write_str("null").map_err(failed),
        (Item::Record(view), Some(nested)) => write(nested, view, out),
        (Item::Array(array), _) => self::array(part, array, out),
        (Item::Integer(number), _) if part.mark.lexical != Lexical::Plain => {
            json::string(&lexical::moment(part.mark.lexical, number)?, &mut out).map_err(failed)
        }
        // Few readers of JSON could hold more.
        (Item::Integer(number), _) => match i64::try_from(number).is_ok() || u64::try_from(number).is_ok() {
            true => write!(out, "{number}"),
            false => write!(out, "\"{number}\""),
        }
        .map_err(failed),
        (Item::Unsigned(number), _) => write!(out, "\"{number}\"").map_err(failed),
        (Item::Float(number), _) => float(number, out),
        (Item::Complex([real, imaginary]), _) => {
            out.write_str("[").map_err(failed)?;
            float(real, out)?;
            out.write_str(",").map_err(failed)?;
            float(imaginary, out)?;
            out.write_str("]").map_err(failed)
        }
        (Item::Boolean(truth), _) => write!(out, "{truth}").map_err(failed),
        (Item::String(bytes), _) => text(bytes, out),
        (Item::Char(byte), _) => text(if byte == 0 { &[] } else { std::slice::from_ref(&byte) }, out),
        (item, _) => {
            let mut text = String::new();
            value(part, item, &mut text)?;
            json::string(&text, &mut out).map_err(failed)
        }
    }
}

fn array(part: &Part, array: Array<'_>, mut out: &mut dyn Write) -> Result<()> {
    let is_last = array.dims().len() == 1;
    if is_last && part.mark.lexical.is_bytes() {
        let mut text = String::new();
        lexical::write_bytes(part.mark.lexical, array.bytes().iter().copied(), &mut text).map_err(failed)?;
        return json::string(&text, &mut out).map_err(failed);
    }
    if let Some(bytes) = array.text() {
        return text(bytes, out);
    }
    out.write_str("[").map_err(failed)?;
    for (i, inner) in array.iter().enumerate() {
        out.write_str(if i > 0 { "," } else { "" }).map_err(failed)?;
        item(part, inner, out).map_err(|error| error.within(&format!("[{i}]")))?;
    }
    out.write_str("]").map_err(failed)
}

fn float(number: Float, out: &mut dyn Write) -> Result<()> {
    match number.to_f64().is_finite() {
        true => write!(out, "{number}"),
        false => write!(out, "\"{number}\""),
    }
    .map_err(failed)
}

fn text(bytes: &[u8], mut out: &mut dyn Write) -> Result<()> {
    let text = std::str::from_utf8(bytes).map_err(|error| Error::new(Code::Utf8).found(error))?;
    json::string(text, &mut out).map_err(failed)
}

/// The values that a text in JSON has.
pub(super) fn read(hydration: &Hydration, text: &str) -> Result<Value> {
    let json = Json::parse(Faults { name: "JSON", text })?;
    record(&hydration.root, hydration.format.structure(), &json)
}

fn record(record: &Record, structure: &Structure, json: &Json) -> Result<Value> {
    let Json::Object(members) = json else {
        return Err(wrong(&format!("an object of {}", structure.name()), json));
    };
    let mut given: Vec<Option<&Json>> = vec![None; record.fields.len()];
    for (name, value) in &members.list {
        let Some(&index) = record.names.get(name) else {
            let mut names: Vec<&str> = record.names.keys().map(|name| &**name).collect();
            names.sort_unstable();
            names.truncate(12);
            let error = Error::new(Code::NoSuchField).expected(format_args!("one of {}", names.join(", ")));
            return Err(error.found(lexical::short(name)));
        };
        given[index] = Some(value);
    }
    let mut entries = Vec::with_capacity(members.list.len());
    for (index, given) in given.into_iter().enumerate() {
        let (part, field) = (&record.fields[index], &structure.fields()[index]);
        let value = match given {
            _ if part.mark.origin == Origin::Length => None,
            None => absent(part, field),
            Some(Json::Null) if field.indirect && !field.is_dynamic() => Some(Value::Null),
            Some(json) => {
                Some(self::field(part, field, field.dims.len(), json).map_err(|error| error.within(&field.name))?)
            }
        };
        entries.extend(value.map(|value| (field.name.clone(), value)));
    }
    Ok(Value::Record(entries))
}

fn field(part: &Part, field: &Field, rank: usize, json: &Json) -> Result<Value> {
    let is_bytes = part.mark.lexical.is_bytes();
    match (json, &field.element) {
        (Json::List(list), element) if rank > 0 && !(rank == 1 && (is_bytes || *element == Element::Char)) => {
            let value =
                |(i, json)| self::field(part, field, rank - 1, json).map_err(|error| error.within(&format!("[{i}]")));
            list.iter().enumerate().map(value).collect::<Result<_>>().map(Value::Array)
        }
        (Json::Text(text), _) if rank == 1 && is_bytes => single(part, field, text),
        (Json::Text(text), Element::Char) if rank == 1 => Ok(Value::String(text.as_bytes().into())),
        (_, _) if rank > 0 => Err(wrong("an array", json)),
        (_, Element::Structure(inner)) if part.nested.is_some() => {
            part.nested.as_ref().map_or_else(|| Err(wrong("a record", json)), |nested| record(nested, inner, json))
        }
        (Json::Null, Element::String) => Ok(Value::Null),
        (Json::Boolean(truth), Element::Boolean { .. }) => Ok(Value::Boolean(*truth)),
        (Json::List(list), Element::Complex { kind, size }) => match &list[..] {
            [real, imaginary] => {
                let element = Element::Float { kind: *kind, size: *size };
                let part_of = |json: &Json| match json {
                    Json::Number(text) | Json::Text(text) => number(&element, text),
                    other => Err(wrong("a number", other)),
                };
                Ok(Value::Complex(Box::new([part_of(real)?, part_of(imaginary)?])))
            }
            _ => Err(wrong("two numbers", json)),
        },
        (Json::Number(text), Element::Integer { .. }) if part.mark.lexical == Lexical::Plain => {
            number(&field.element, text)
        }
        (Json::Text(text) | Json::Number(text), Element::Float { .. }) => number(&field.element, text),
        (Json::Text(text), Element::Integer { .. }) if part.mark.lexical == Lexical::Plain => {
            number(&field.element, text)
        }
        (Json::Text(text), Element::Integer { .. } | Element::String | Element::Char | Element::Structure(_)) => {
            element(part, &field.element, text)
        }
        (Json::Text(text), Element::Enumeration(enumeration)) => {
            super::read::symbol(part, enumeration, &lexical::collapsed(text))
        }
        _ => Err(wrong(&isoform_core::declare::Kind::of(&field.element).to_string(), json)),
    }
}

/// A value that is a text in JSON, too.
fn element(part: &Part, element: &Element, text: &str) -> Result<Value> {
    match element {
        Element::Structure(_) => {
            let (months, time) = lexical::read_duration(text)?;
            Ok(Value::Record(vec![("months".into(), Value::Integer(months)), ("time".into(), Value::Integer(time))]))
        }
        element => lexical::read(element, part.mark.lexical, text),
    }
}

fn number(element: &Element, text: &str) -> Result<Value> {
    let word = match text {
        "Infinity" => "INF",
        "-Infinity" => "-INF",
        "INF" | "-INF" => return Err(Error::new(Code::Text).expected("a number").found(lexical::short(text))),
        text => text,
    };
    lexical::read(element, Lexical::Plain, word)
}

fn wrong(expected: &str, found: &Json) -> Error {
    let error = Error::new(Code::Text).expected(expected);
    match found {
        Json::Text(text) | Json::Number(text) => error.found(lexical::short(text)),
        other => error.found(other.sort()),
    }
}
