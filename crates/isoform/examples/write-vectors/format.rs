//! A format as the JSON that stands beside a vector (`vectors/README.md`).

use isoform::Format;
use isoform::core::{ByteOrder, Dimension, Element, Field, Structure};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub(crate) fn json(format: &Format) -> Value {
    let mut listed = Vec::new();
    list(format.structure(), &mut listed);
    let order = if format.machine().order == ByteOrder::Big { "big" } else { "little" };
    json!({
        "token": format.token().to_string(),
        "byte order": order,
        "pointer": format.machine().pointer,
        "structures": listed.iter().map(|one| structure(one)).collect::<Vec<_>>(),
    })
}

/// Structures in the order of the description: each after those that it nests.
fn list(structure: &Arc<Structure>, listed: &mut Vec<Arc<Structure>>) {
    for field in structure.fields() {
        if let Element::Structure(inner) = &field.element {
            list(inner, listed);
        }
    }
    if !listed.contains(structure) {
        listed.push(structure.clone());
    }
}

fn structure(structure: &Structure) -> Value {
    let fields: Vec<Value> = structure.fields().iter().map(|one| field(one, structure)).collect();
    json!({ "name": structure.name(), "size": structure.size(), "alignment": structure.align(), "fields": fields })
}

fn field(field: &Field, holder: &Structure) -> Value {
    let mut json = Map::new();
    json.insert("name".into(), (*field.name).into());
    json.insert("type".into(), word(&field.element).into());
    json.insert("size".into(), field.element_size(holder.machine().pointer).into());
    json.insert("offset".into(), field.offset.into());
    if !field.dims.is_empty() {
        let dimension = |dim: &Dimension| match *dim {
            Dimension::Fixed(n) => json!(n),
            Dimension::Field(index) => json!(*holder.fields()[index].name),
        };
        json.insert("dimensions".into(), field.dims.iter().map(dimension).collect());
    }
    if field.indirect {
        json.insert("indirect".into(), true.into());
    }
    if let Some(unit) = &field.unit {
        json.insert("unit".into(), (**unit).into());
    }
    if let Element::Enumeration(enumeration) = &field.element {
        let symbol = |symbol: &isoform::core::Symbol| {
            let value = if symbol.value < 0 { json!(symbol.value as i64) } else { json!(symbol.value as u64) };
            (symbol.name.to_string(), value)
        };
        json.insert("symbols".into(), Value::Object(enumeration.symbols().iter().map(symbol).collect()));
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
        Element::Structure(structure) => structure.name().into(),
    }
}
