//! Formats as JSON (`spec/text.md`): everything that a description says, for programs that do not read descriptions.

use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Element, Enumeration, Field, Format, Machine, Structure};
use crate::limits::MAX_FIELDS;
use crate::token::Token;
use isoform_kernels::{ByteOrder, FloatKind};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// A format as JSON, one object without line breaks.
///
/// ```
/// use isoform_core::text::format;
/// use isoform_core::{Layout, Shape};
/// let gauge = Shape::new("Gauge").field("depth", "float[3]").unit("m").on(&Layout::NATIVE)?;
/// let json = format::to_json(&gauge);
/// assert!(json.contains(r#"{"name":"depth","type":"float","size":4,"offset":0,"dimensions":[3],"unit":"m"}"#));
/// assert_eq!(format::from_json(&json)?, gauge);
/// # Ok::<(), isoform_core::Error>(())
/// ```
pub fn to_json(format: &Format) -> String {
    let machine = format.machine();
    let order = if machine.order == ByteOrder::Big { "big" } else { "little" };
    let structures: Vec<Value> = format.structure().inside_out().into_iter().map(structure_to_json).collect();
    let token = format.token().to_string();
    json!({ "token": token, "byte order": order, "pointer": machine.pointer, "structures": structures }).to_string()
}

fn structure_to_json(structure: &Structure) -> Value {
    let fields: Vec<Value> = structure.fields().iter().map(|field| field_to_json(field, structure)).collect();
    json!({ "name": structure.name(), "size": structure.size(), "alignment": structure.align(), "fields": fields })
}

fn field_to_json(field: &Field, holder: &Structure) -> Value {
    let mut json = Map::new();
    let mut add = |name: &str, value: Value| json.insert(name.into(), value);
    add("name", (*field.name).into());
    add("type", word(&field.element).into());
    add("size", field.element_size(holder.machine().pointer).into());
    add("offset", field.offset.into());
    if !field.dims.is_empty() {
        let dimension = |dim: &Dimension| match *dim {
            Dimension::Fixed(length) => json!(length),
            Dimension::Field(index) => json!(*holder.fields()[index].name),
        };
        add("dimensions", field.dims.iter().map(dimension).collect());
    }
    if field.indirect {
        add("indirect", true.into());
    }
    if let Some(unit) = &field.unit {
        add("unit", (**unit).into());
    }
    if let Element::Enumeration(enumeration) = &field.element {
        let symbols = enumeration.symbols().iter().map(|symbol| {
            let value = if symbol.value < 0 { json!(symbol.value as i64) } else { json!(symbol.value as u64) };
            (symbol.name.to_string(), value)
        });
        add("symbols", Value::Object(symbols.collect()));
    }
    json.into()
}

fn word(element: &Element) -> String {
    match element {
        Element::Integer { signed: true, .. } => "integer".into(),
        Element::Integer { signed: false, .. } => "unsigned integer".into(),
        Element::Float { kind, .. } => kind.word().into(),
        Element::Complex { kind, .. } => format!("complex {}", kind.word()),
        Element::Char => "char".into(),
        Element::Boolean { .. } => "boolean".into(),
        Element::Enumeration(enumeration) if enumeration.signed() => "enumeration".into(),
        Element::Enumeration(_) => "unsigned enumeration".into(),
        Element::String => "string".into(),
        Element::Structure(structure) if is_word(structure.name()) => format!("structure {}", structure.name()),
        Element::Structure(structure) => structure.name().into(),
    }
}

/// Whether a structure of this name could be taken for another type.
fn is_word(name: &str) -> bool {
    matches!(name, "integer" | "char" | "boolean" | "enumeration" | "string")
        || FloatKind::ALL.iter().any(|kind| kind.word() == name)
}

/// The format that this JSON describes. Entries may have any order; the token may be absent, and is checked if it is there.
///
/// The work is in proportion to the text, so the caller limits its length.
///
/// # Errors
/// [`Code::Text`] if it is not the JSON of a format; [`Code::TokenMismatch`] for another token; errors of
/// [`Structure::new`] and [`Format::new`]. The path is that of the field.
pub fn from_json(text: &str) -> Result<Format> {
    let json: Value = serde_json::from_str(text).map_err(|error| Error::new(Code::Text).found(error))?;
    let object = Object::new(&json, &["token", "byte order", "pointer", "structures"])?;
    let order = match object.text("byte order")? {
        "big" => ByteOrder::Big,
        "little" => ByteOrder::Little,
        other => return Err(unfit("\"little\" or \"big\" as the byte order", other)),
    };
    let machine = Machine { order, pointer: u8::try_from(object.number("pointer")?).unwrap_or(0) };
    let structures = object.list("structures")?;
    if structures.len() > MAX_FIELDS {
        return Err(Error::new(Code::Fields).expected(format_args!("at most {MAX_FIELDS} structures")));
    }
    let mut known: HashMap<Box<str>, Arc<Structure>> = HashMap::new();
    let mut last = None;
    for json in structures {
        let structure = Arc::new(structure_from_json(json, machine, &known)?);
        if known.insert(structure.name().into(), structure.clone()).is_some() {
            return Err(Error::new(Code::Declaration).at(structure.name()).found("two structures of one name"));
        }
        last = Some(structure);
    }
    let format = Format::new(last.ok_or_else(|| unfit("at least one structure", "[]"))?)?;
    if format.structure().inside_out().len() < known.len() {
        return Err(unfit("structures that the last one nests", "others"));
    }
    match object.get("token") {
        None => Ok(format),
        Some(_) => match object.text("token")?.parse::<Token>() {
            Ok(token) if token == format.token() => Ok(format),
            Ok(token) => Err(Error::new(Code::TokenMismatch).expected(token).found(format.token())),
            Err(error) => Err(error),
        },
    }
}

fn structure_from_json(json: &Value, machine: Machine, known: &HashMap<Box<str>, Arc<Structure>>) -> Result<Structure> {
    let object = Object::new(json, &["name", "size", "alignment", "fields"])?;
    let name = object.text("name")?;
    let fields = object.list("fields").map_err(|error| error.within(name))?;
    // Every name has its place before dimensions refer to it, whatever the order of the fields.
    let mut places = HashMap::new();
    for (at, field) in fields.iter().enumerate() {
        if let Some(field) = field.get("name").and_then(Value::as_str) {
            places.insert(field, at);
        }
    }
    let field = |json| field_from_json(json, machine, known, &places).map_err(|error: Error| error.within(name));
    let fields = fields.iter().map(field).collect::<Result<Vec<Field>>>()?;
    Structure::new(name, machine, object.number("size")?, object.number("alignment")?, fields)
}

fn field_from_json(
    json: &Value,
    machine: Machine,
    known: &HashMap<Box<str>, Arc<Structure>>,
    places: &HashMap<&str, usize>,
) -> Result<Field> {
    const ENTRIES: [&str; 8] = ["name", "type", "size", "offset", "dimensions", "indirect", "unit", "symbols"];
    let object = Object::new(json, &ENTRIES)?;
    let name = object.text("name")?;
    let parse = || {
        let element = element(&object, known)?;
        if element.size(machine.pointer) != object.number("size")? {
            let size = element.size(machine.pointer);
            return Err(unfit(format_args!("a size of {size} for {element}"), object.number("size")?));
        }
        let dimension = |json: &Value| match (json.as_str(), json.as_u64().and_then(|n| usize::try_from(n).ok())) {
            (Some(field), _) => places.get(field).map(|&at| Dimension::Field(at)),
            (None, length) => length.map(Dimension::Fixed),
        };
        let dims = match object.get("dimensions") {
            None => Box::default(),
            Some(_) => {
                let dims = object.list("dimensions")?.iter();
                let one = |json| {
                    dimension(json).ok_or_else(|| unfit("a number or the name of a field of the structure", json))
                };
                dims.map(one).collect::<Result<_>>()?
            }
        };
        let indirect = match object.get("indirect") {
            None => false,
            Some(json) => json.as_bool().ok_or_else(|| unfit("true or false as indirect", json))?,
        };
        let unit = object.get("unit").map(|_| object.text("unit")).transpose()?.map(Into::into);
        Ok(Field { name: name.into(), element, dims, indirect, offset: object.number("offset")?, unit })
    };
    parse().map_err(|error: Error| error.within(name))
}

fn element(object: &Object<'_>, known: &HashMap<Box<str>, Arc<Structure>>) -> Result<Element> {
    let word = object.text("type")?;
    let bytes = object.number("size")?;
    // A size that no element has is refused where the element is compared with it.
    let size = u8::try_from(bytes).unwrap_or(0);
    let float = |word: &str| FloatKind::ALL.into_iter().find(|kind| kind.word() == word);
    let structure = |name: &str| known.get(name).cloned().map(Element::Structure);
    let enumeration = |signed| {
        let number = |value: &Value| value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
        let symbols = object.get("symbols").and_then(Value::as_object);
        let symbols = symbols.ok_or_else(|| unfit("the symbols of an enumeration", "none"))?.iter();
        let symbols = symbols.map(|(name, value)| match number(value) {
            Some(number) => Ok((name.as_str(), number)),
            None => Err(unfit("an integer for each symbol", value)),
        });
        let symbols = symbols.collect::<Result<Vec<_>>>()?;
        Ok(Element::Enumeration(Arc::new(Enumeration::new(signed, size, symbols)?)))
    };
    let element = match word {
        "integer" => Element::Integer { signed: true, size },
        "unsigned integer" => Element::Integer { signed: false, size },
        "char" => Element::Char,
        "boolean" => Element::Boolean { size },
        "string" => Element::String,
        "enumeration" => return enumeration(true),
        "unsigned enumeration" => return enumeration(false),
        _ => match (float(word), word.strip_prefix("complex ").and_then(float)) {
            (Some(kind), _) => Element::Float { kind, size },
            (None, Some(kind)) => Element::Complex { kind, size: size / 2 },
            (None, None) => structure(word.strip_prefix("structure ").unwrap_or(word))
                .ok_or_else(|| unfit("a type, or a structure that is listed before", word))?,
        },
    };
    Ok(element)
}

/// An object with no entries but these.
struct Object<'a>(&'a Map<String, Value>);

impl<'a> Object<'a> {
    fn new(json: &'a Value, entries: &[&str]) -> Result<Object<'a>> {
        let object = json.as_object().ok_or_else(|| unfit("an object", json))?;
        match object.keys().find(|key| !entries.contains(&key.as_str())) {
            None => Ok(Object(object)),
            Some(other) => Err(unfit(format_args!("no entries but {}", entries.join(", ")), other)),
        }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    fn want(&self, name: &str) -> Result<&'a Value> {
        self.get(name).ok_or_else(|| unfit(format_args!("an entry {name:?}"), "none"))
    }

    fn text(&self, name: &str) -> Result<&'a str> {
        let json = self.want(name)?;
        json.as_str().ok_or_else(|| unfit(format_args!("a string as {name}"), json))
    }

    fn number(&self, name: &str) -> Result<usize> {
        let json = self.want(name)?;
        let number = json.as_u64().and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| unfit(format_args!("a number of bytes as {name}"), json))
    }

    fn list(&self, name: &str) -> Result<&'a [Value]> {
        let json = self.want(name)?;
        json.as_array().map(Vec::as_slice).ok_or_else(|| unfit(format_args!("a list as {name}"), json))
    }
}

fn unfit(expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
    Error::new(Code::Text).expected(expected).found(found)
}
