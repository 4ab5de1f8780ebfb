//! Emits records of values that a program has at hand, where no type defines the record: `ISO_EMIT` of C, `emit` of Python.
//!
//! A [`Place`] is a place in the code of the program. It keeps the format of its records, which is made again only if the values are of other
//! types than before.

use isoform::core::format::FloatKind;
use isoform::core::{Dimension, Element, Enumeration, Field, Machine, Structure};
use isoform::emit::Topic;
use isoform::{Aligned, Code, Error, Format, Result, Shared};
use std::sync::{Arc, Mutex, PoisonError};

/// A value, with the name of its field.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    /// The name of the field.
    pub name: &'a str,
    /// Its unit of measurement.
    pub unit: Option<&'a str>,
    /// What it is.
    pub content: Content<'a>,
}

/// What a value is.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// A number, as its bytes in memory.
    Number(Number, &'a [u8]),
    /// An array of numbers, with the slowest-varying dimension first.
    Array(Number, &'a [usize], &'a [u8]),
    /// A text.
    Text(&'a str),
    /// The number of one of the symbols of an enumeration.
    Symbol(&'a Symbols, i64),
}

/// The symbols of an enumeration.
///
/// ```
/// use isoform_dynamic::emit::{Content, Place, Symbols, Value};
/// let stage = Symbols::new([("Low", 0), ("Flood", 1)])?;
/// Place::new("river/stage").emit(&[Value { name: "stage", unit: None, content: Content::Symbol(&stage, 1) }])?;
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Symbols(Arc<Enumeration>);

impl Symbols {
    /// Symbols with these numbers. They take four bytes of a record, or eight if a number needs them.
    ///
    /// # Errors
    /// As [`Enumeration::new`].
    pub fn new<N: Into<Box<str>>>(symbols: impl IntoIterator<Item = (N, i64)>) -> Result<Symbols> {
        let symbols: Vec<(N, i64)> = symbols.into_iter().collect();
        let size = if symbols.iter().all(|(_, value)| i32::try_from(*value).is_ok()) { 4 } else { 8 };
        let symbols = symbols.into_iter().map(|(name, value)| (name, value.into()));
        Ok(Symbols(Arc::new(Enumeration::new(true, size, symbols)?)))
    }

    fn element(&self) -> Element {
        Element::Enumeration(self.0.clone())
    }
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// An integer of so many bytes.
    Signed(u8),
    /// An integer of so many bytes that is never negative.
    Unsigned(u8),
    /// A float of so many bytes.
    Float(u8),
    /// A complex number of two floats of so many bytes each.
    Complex(u8),
    /// A byte that is 0 or 1.
    Boolean,
}

impl Number {
    fn size(self) -> usize {
        match self {
            Number::Signed(size) | Number::Unsigned(size) | Number::Float(size) => size.into(),
            Number::Complex(size) => 2 * usize::from(size),
            Number::Boolean => 1,
        }
    }

    fn element(self) -> Element {
        match self {
            Number::Signed(size) => Element::Integer { signed: true, size },
            Number::Unsigned(size) => Element::Integer { signed: false, size },
            Number::Float(size) => Element::Float { kind: FloatKind::Ieee, size },
            Number::Complex(size) => Element::Complex { kind: FloatKind::Ieee, size },
            Number::Boolean => Element::Boolean { size: 1 },
        }
    }
}

/// The bytes of a pointer, and of a length.
const WORD: usize = size_of::<usize>();
/// All parts of a record begin at a multiple of it.
const ALIGN: usize = 16;

/// A place in a program's code that emits records.
///
/// ```
/// use isoform_dynamic::emit::{Content, Number, Place, Value};
/// let place = Place::new("river/step");
/// assert!(!place.is_heard());
/// let step = Content::Number(Number::Signed(4), &7_i32.to_ne_bytes());
/// let depth = [0.5_f64.to_ne_bytes(), 1.5_f64.to_ne_bytes()].concat();
/// let depth = Content::Array(Number::Float(8), &[2], &depth);
/// place.emit(&[
///     Value { name: "step", unit: None, content: step },
///     Value { name: "depth", unit: Some("m"), content: depth },
/// ])?;
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Debug)]
pub struct Place {
    topic: &'static Topic,
    format: Mutex<Option<Format>>,
}

impl Place {
    /// A place that emits records of this name.
    pub fn new(name: &str) -> Place {
        Place { topic: Topic::named(name), format: Mutex::default() }
    }

    /// Whether somebody listens.
    #[inline]
    pub fn is_heard(&self) -> bool {
        self.topic.is_heard()
    }

    /// As [`Topic::begin`].
    #[inline]
    pub fn begin(&self) -> bool {
        self.topic.begin()
    }

    /// Counts a record of which no values could be made, as one that could not be emitted.
    pub fn fail(&self) {
        _ = self.topic.emit(|| Err(Error::new(Code::WrongType).expected("values for a record")));
    }

    /// Emits a record of these values. If nobody listens, it is only numbered.
    ///
    /// # Errors
    /// [`Code::BadRecord`] and others if they are no record; those of [`Topic::emit`]. They are counted: see [`isoform::emit::failed`].
    pub fn emit(&self, values: &[Value<'_>]) -> Result<()> {
        self.topic.emit(|| {
            let mut known = self.format.lock().unwrap_or_else(PoisonError::into_inner);
            let format = match known.take().filter(|format| is_of(format, values)) {
                Some(format) => format,
                None => format(self.topic.record_name(), values)?,
            };
            let format = known.insert(format).clone();
            drop(known);
            Shared::of_body(&format, body(&format, values)?)
        })
    }
}

/// The fields of a record of these values, each a multiple of [`ALIGN`] behind the one before.
fn fields(values: &[Value<'_>]) -> (Vec<Field>, usize) {
    let (mut fields, mut at) = (Vec::new(), 0);
    for value in values {
        let field = |name: String, element, dims: Vec<Dimension>, indirect, offset, unit: Option<&str>| Field {
            name: name.into(),
            element,
            dims: dims.into(),
            indirect,
            offset,
            unit: unit.map(Into::into),
        };
        let name = || value.name.to_string();
        match value.content {
            Content::Number(number, _) => {
                fields.push(field(name(), number.element(), vec![], false, at, value.unit));
                at += number.size();
            }
            Content::Text(_) => {
                fields.push(field(name(), Element::String, vec![], false, at, value.unit));
                at += WORD;
            }
            Content::Symbol(symbols, _) => {
                fields.push(field(name(), symbols.element(), vec![], false, at, value.unit));
                at += usize::from(symbols.0.size());
            }
            Content::Array(number, lengths, _) => {
                let pointer = at;
                at += WORD;
                let mut dims = Vec::new();
                for axis in 0..lengths.len() {
                    let name = match lengths.len() {
                        1 => format!("{}_len", value.name),
                        _ => format!("{}_dim{axis}", value.name),
                    };
                    dims.push(Dimension::Field(fields.len()));
                    let element = Number::Unsigned(WORD as u8).element();
                    fields.push(field(name, element, vec![], false, at, None));
                    at += WORD;
                }
                fields.push(field(name(), number.element(), dims, true, pointer, value.unit));
            }
        }
        at = at.next_multiple_of(ALIGN);
    }
    (fields, at)
}

fn format(name: &str, values: &[Value<'_>]) -> Result<Format> {
    let (fields, size) = fields(values);
    Format::new(Arc::new(Structure::new(name, Machine::NATIVE, size, ALIGN, fields)?))
}

/// Whether a format is that of these values.
fn is_of(format: &Format, values: &[Value<'_>]) -> bool {
    let mut there = format.structure().fields().iter().filter(|field| !is_length(format, field));
    let same = values.iter().all(|value| {
        there.next().is_some_and(|field| {
            let (element, rank) = match value.content {
                Content::Number(number, _) => (number.element(), 0),
                Content::Array(number, dims, _) => (number.element(), dims.len()),
                Content::Text(_) => (Element::String, 0),
                Content::Symbol(symbols, _) => (symbols.element(), 0),
            };
            (&*field.name, field.unit.as_deref(), field.dims.len()) == (value.name, value.unit, rank)
                && field.element == element
        })
    });
    same && there.next().is_none()
}

/// Whether a field is the length of an array.
fn is_length(format: &Format, field: &Field) -> bool {
    let fields = format.structure().fields();
    let is = |dim: &Dimension| matches!(dim, Dimension::Field(at) if std::ptr::eq(&fields[*at], field));
    fields.iter().any(|field| field.dims.iter().any(is))
}

/// The body of a record of these values (`spec/message.md`, "Body").
fn body(format: &Format, values: &[Value<'_>]) -> Result<Aligned> {
    let refuse = |value: &Value<'_>, expected: &str| Error::new(Code::BadRecord).at(value.name).expected(expected);
    let mut body = vec![0; format.size()];
    let mut at = 0;
    for value in values {
        match value.content {
            Content::Number(number, bytes) => {
                if bytes.len() != number.size() || number == Number::Boolean && bytes[0] > 1 {
                    return Err(refuse(value, "a value of its type"));
                }
                body[at..at + bytes.len()].copy_from_slice(bytes);
                at += bytes.len();
            }
            Content::Text(text) => {
                if text.contains('\0') {
                    return Err(refuse(value, "a text without NUL"));
                }
                block(&mut body, at, 8, text.as_bytes());
                body.push(0);
                at += WORD;
            }
            Content::Symbol(symbols, number) => {
                if symbols.0.symbol(number.into()).is_none() {
                    return Err(refuse(value, "the number of a symbol").found(number));
                }
                let size = usize::from(symbols.0.size());
                match size {
                    4 => body[at..at + size].copy_from_slice(&(number as i32).to_ne_bytes()),
                    _ => body[at..at + size].copy_from_slice(&number.to_ne_bytes()),
                }
                at += size;
            }
            Content::Array(number, lengths, bytes) => {
                let length = lengths.iter().try_fold(number.size(), |length, dim| length.checked_mul(*dim));
                if length != Some(bytes.len()) || lengths.is_empty() {
                    return Err(refuse(value, "as many elements as its dimensions say"));
                }
                if number == Number::Boolean && bytes.iter().any(|byte| *byte > 1) {
                    return Err(refuse(value, "booleans"));
                }
                if !bytes.is_empty() {
                    block(&mut body, at, number.element().block_alignment(), bytes);
                }
                at += WORD;
                for length in lengths {
                    body[at..at + WORD].copy_from_slice(&length.to_ne_bytes());
                    at += WORD;
                }
            }
        }
        at = at.next_multiple_of(ALIGN);
    }
    Ok(Aligned::from(&body[..]))
}

/// Puts a block behind the body, and its offset into the slot.
fn block(body: &mut Vec<u8>, slot: usize, align: usize, bytes: &[u8]) {
    let start = body.len().next_multiple_of(align);
    body.resize(start, 0);
    body[slot..slot + WORD].copy_from_slice(&start.to_ne_bytes());
    body.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform::core::Verifier;
    use isoform::{View, text};

    fn number(name: &'static str, number: Number, bytes: &'static [u8]) -> Value<'static> {
        Value { name, unit: None, content: Content::Number(number, bytes) }
    }

    fn stages() -> Symbols {
        Symbols::new([("Low", 0), ("Flood", 1)]).unwrap()
    }

    fn symbol<'a>(name: &'a str, symbols: &'a Symbols, number: i64) -> Value<'a> {
        Value { name, unit: None, content: Content::Symbol(symbols, number) }
    }

    #[test]
    fn a_body_is_what_a_reader_expects() {
        let array =
            |name, number, dims, bytes| Value { name, unit: Some("m"), content: Content::Array(number, dims, bytes) };
        let (stages, far) = (stages(), Symbols::new([("Near", -1), ("Far", 1 << 40)]).unwrap());
        let values = [
            number("small", Number::Signed(1), &[0xFF]),
            Value { name: "text", unit: None, content: Content::Text("Kiel") },
            array("bytes", Number::Unsigned(1), &[2, 3], &[1, 2, 3, 4, 5, 6]),
            array("none", Number::Float(8), &[0, 3], &[]),
            array("wide", Number::Unsigned(16), &[1], &[0; 16]),
            array("waves", Number::Complex(8), &[1], &[0; 16]),
            Value { name: "empty", unit: None, content: Content::Text("") },
            number("flag", Number::Boolean, &[1]),
            symbol("stage", &stages, 1),
            symbol("far", &far, 1 << 40),
        ];
        let format = format("mixed", &values).unwrap();
        let body = body(&format, &values).unwrap();
        let verifier = Verifier::new(&format);
        let view = View::new(verifier.verify(&body).unwrap());
        assert_eq!(
            text::json::line(view),
            concat!(
                r#"{"small":-1,"text":"Kiel","bytes":[[1,2,3],[4,5,6]],"bytes_dim0":2,"bytes_dim1":3,"none":[],"none_dim0":0,"none_dim1":3,"#,
                r#""wide":["0"],"wide_len":1,"waves":[[0.0,0.0]],"waves_len":1,"empty":"","flag":true,"stage":"Flood","far":"Far"}"#
            )
        );
        assert!(is_of(&format, &values) && !is_of(&format, &values[1..]) && !is_of(&format, &values[..7]));
        let mut others = values;
        others[3].content = Content::Array(Number::Float(4), &[0, 3], &[]);
        assert!(!is_of(&format, &others));
        let more = Symbols::new([("Low", 0), ("Flood", 1), ("Ebb", 2)]).unwrap();
        others = values;
        others[8].content = Content::Symbol(&more, 1);
        assert!(!is_of(&format, &others), "an enumeration with another symbol");
        let equal = Symbols::new([("Low", 0), ("Flood", 1)]).unwrap();
        others[8].content = Content::Symbol(&equal, 0);
        assert!(is_of(&format, &others));
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let refused = |value: Value<'_>| {
            let made = format("one", &[value]).and_then(|format| body(&format, &[value]));
            assert_eq!(made.unwrap_err().code(), Code::BadRecord, "{value:?}");
        };
        refused(number("flag", Number::Boolean, &[2]));
        refused(symbol("stage", &stages(), 2));
        refused(number("short", Number::Float(8), &[0; 4]));
        refused(Value { name: "text", unit: None, content: Content::Text("a\0b") });
        for (dims, bytes) in [(&[2][..], &[0; 7][..]), (&[usize::MAX, 3], &[0; 8]), (&[1], &[])] {
            refused(Value { name: "array", unit: None, content: Content::Array(Number::Float(4), dims, bytes) });
        }
    }
}
