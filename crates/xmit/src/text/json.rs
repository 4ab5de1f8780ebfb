//! Records as JSON as a document describes them: with its names, and with texts for what are texts there.

use super::read::{absent, single};
use super::write::{failed, value};
use super::{Hydration, Part, Record};
use crate::documents::Faults;
use crate::front::json::{Json, position};
use crate::lexical;
use crate::markup::{Lexical, Origin};
use isoform_core::scalar::Float;
use isoform_core::text::json;
use isoform_core::view::{Array, Item};
use isoform_core::{Code, Element, Error, Field, Result, Structure, Value, View};
use std::fmt::Write;

/// Writes records.
pub(super) struct Writer<'w> {
    pub(super) out: &'w mut dyn Write,
    /// Whether only values of a schema are written: no null where it has none, and numbers as numbers.
    pub(super) strict: bool,
}

impl Writer<'_> {
    pub(super) fn record(&mut self, record: &Record, view: View<'_>) -> Result<()> {
        self.put("{")?;
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
            self.put(if std::mem::take(&mut is_first) { "" } else { "," })?;
            self.string(&part.mark.name.local)?;
            self.put(":")?;
            let is_null = matches!(item, Item::Null) && part.mark.nil;
            let written = if is_null { self.put("null") } else { self.item(part, item) };
            written.map_err(|error| error.within(&field.name))?;
        }
        self.put("}")
    }

    fn item(&mut self, part: &Part, item: Item<'_>) -> Result<()> {
        match (item, &part.nested) {
            (Item::Null, _) if self.strict => {
                Err(Error::new(Code::Null).expected("a value, since the document does not allow null here"))
            }
            (Item::Null, _) => self.put("null"),
            (Item::Record(view), Some(nested)) => self.record(nested, view),
            (Item::Array(array), _) => self.array(part, array),
            (Item::Integer(number), _) if part.mark.lexical != Lexical::Plain => self.moment(part, number),
            // Few readers of JSON could hold more.
            (Item::Integer(number), _) => {
                match self.strict || i64::try_from(number).is_ok() || u64::try_from(number).is_ok() {
                    true => write!(self.out, "{number}"),
                    false => write!(self.out, "\"{number}\""),
                }
                .map_err(failed)
            }
            (Item::Unsigned(number), _) if self.strict => write!(self.out, "{number}").map_err(failed),
            (Item::Unsigned(number), _) => write!(self.out, "\"{number}\"").map_err(failed),
            (Item::Float(number), _) => self.float(number),
            (Item::Complex([real, imaginary]), _) => {
                self.put("[")?;
                self.float(real)?;
                self.put(",")?;
                self.float(imaginary)?;
                self.put("]")
            }
            (Item::Boolean(truth), _) => self.put(if truth { "true" } else { "false" }),
            (Item::String(bytes), _) => self.text(bytes),
            (Item::Char(byte), _) => self.text(if byte == 0 { &[] } else { std::slice::from_ref(&byte) }),
            (item, _) => {
                let mut text = String::new();
                value(part, item, &mut text)?;
                self.string(&text)
            }
        }
    }

    fn array(&mut self, part: &Part, array: Array<'_>) -> Result<()> {
        let is_last = array.dims().len() == 1;
        if is_last && part.mark.lexical.is_bytes() {
            let mut text = String::new();
            lexical::write_bytes(part.mark.lexical, array.bytes().iter().copied(), &mut text).map_err(failed)?;
            return self.string(&text);
        }
        if let Some(bytes) = array.text() {
            return self.text(bytes);
        }
        self.put("[")?;
        for (i, inner) in array.iter().enumerate() {
            self.put(if i > 0 { "," } else { "" })?;
            self.item(part, inner).map_err(|error| error.within(&format!("[{i}]")))?;
        }
        self.put("]")
    }

    fn moment(&mut self, part: &Part, number: i128) -> Result<()> {
        let text = lexical::moment(part.mark.lexical, number)?;
        // A year of JSON Schema has four digits, as in RFC 3339.
        if self.strict && text.split('-').next().is_none_or(|year| year.len() != 4) {
            return Err(Error::new(Code::Text).expected("a year from 0 to 9999").found(text));
        }
        self.string(&text)
    }

    fn float(&mut self, number: Float) -> Result<()> {
        match number.to_f64().is_finite() {
            true => write!(self.out, "{number}").map_err(failed),
            false if self.strict => Err(Error::new(Code::Text).expected("a number that JSON has").found(number)),
            false => write!(self.out, "\"{number}\"").map_err(failed),
        }
    }

    fn text(&mut self, bytes: &[u8]) -> Result<()> {
        self.string(std::str::from_utf8(bytes).map_err(|error| Error::new(Code::Utf8).found(error))?)
    }

    fn string(&mut self, text: &str) -> Result<()> {
        json::string(text, &mut self.out).map_err(failed)
    }

    fn put(&mut self, text: &str) -> Result<()> {
        self.out.write_str(text).map_err(failed)
    }
}

/// The values that a text in JSON has.
pub(super) fn read(hydration: &Hydration, text: &str) -> Result<Value> {
    let json = Json::parse(Faults::new("", text))?;
    let place = |error: Error| if error.position().is_some() { error } else { error.positioned(position(text, 0)) };
    let reader = Reader { text, strict: hydration.strict };
    reader.record(&hydration.root, hydration.format.structure(), &json).map_err(place)
}

/// Reads values of records.
struct Reader<'t> {
    text: &'t str,
    /// Whether only values of a schema are read: the members that it requires are there, and enumerations as they are written.
    strict: bool,
}

impl Reader<'_> {
    fn record(&self, record: &Record, structure: &Structure, json: &Json) -> Result<Value> {
        let Json::Object(members) = json else {
            return Err(wrong(&format!("an object of {}", structure.name()), json));
        };
        let place = |error: Error, start| match error.position() {
            Some(_) => error,
            None => error.positioned(position(self.text, start)),
        };
        let mut given: Vec<Option<(&Json, usize)>> = vec![None; record.fields.len()];
        for ((name, value), &start) in members.list.iter().zip(&members.starts) {
            let Some(&index) = record.names.get(name) else {
                let mut names: Vec<&str> = record.names.keys().map(|name| &**name).collect();
                names.sort_unstable();
                names.truncate(12);
                let error = Error::new(Code::NoSuchField).expected(format_args!("one of {}", names.join(", ")));
                return Err(place(error.found(lexical::short(name)), start));
            };
            given[index] = Some((value, start));
        }
        let mut entries = Vec::with_capacity(members.list.len());
        for (index, given) in given.into_iter().enumerate() {
            let (part, field) = (&record.fields[index], &structure.fields()[index]);
            let is_pointer = field.indirect && !field.is_dynamic();
            let value = match given {
                _ if part.mark.origin == Origin::Length => None,
                None if self.strict && is_pointer && !part.mark.optional => {
                    return Err(Error::new(Code::Required).at(&*field.name));
                }
                None => absent(part, field),
                Some((Json::Null, _)) if is_pointer => Some(Value::Null),
                Some((json, start)) => {
                    let value = self.field(part, field, field.dims.len(), json);
                    Some(value.map_err(|error| place(error.within(&field.name), start))?)
                }
            };
            entries.extend(value.map(|value| (field.name.clone(), value)));
        }
        Ok(Value::Record(entries))
    }

    fn field(&self, part: &Part, field: &Field, rank: usize, json: &Json) -> Result<Value> {
        let is_bytes = part.mark.lexical.is_bytes();
        match (json, &field.element) {
            (Json::List(list), element) if rank > 0 && !(rank == 1 && (is_bytes || *element == Element::Char)) => {
                let value = |(i, json)| {
                    self.field(part, field, rank - 1, json).map_err(|error| error.within(&format!("[{i}]")))
                };
                list.iter().enumerate().map(value).collect::<Result<_>>().map(Value::Array)
            }
            (Json::Text(text), _) if rank == 1 && is_bytes => single(part, field, text),
            (Json::Text(text), Element::Char) if rank == 1 => Ok(Value::String(text.as_bytes().into())),
            (_, _) if rank > 0 => Err(wrong("an array", json)),
            (_, Element::Structure(inner)) if part.nested.is_some() => part
                .nested
                .as_ref()
                .map_or_else(|| Err(wrong("a record", json)), |nested| self.record(nested, inner, json)),
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
                super::read::symbol(part, enumeration, text, self.strict)
            }
            _ => Err(wrong(&isoform_core::declare::Kind::of(&field.element).to_string(), json)),
        }
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
