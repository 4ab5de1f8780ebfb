//! Fields that a record lacks: their defaults, or the error that names all of them.

use super::Value;
use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Element, Field, Format, Structure};
use crate::plan::{Fill, Missing, Rules, describe};
use std::collections::BTreeMap;
use std::fmt;

/// Adds the defaults of fields that the record lacks. It may lack the lengths of arrays, and pointers to single elements or
/// fixed arrays, which become null.
///
/// # Errors
/// [`Code::Required`], which names all fields that have no default.
pub fn complete(format: &Format, record: &mut Value, rules: &Rules) -> Result<()> {
    let mut filler =
        Filler { rules, zero: rules.on_missing() == Missing::Zero, lacking: BTreeMap::new(), unknown: false };
    if let Value::Record(entries) = record {
        filler.record(format.structure(), entries, 0, true);
    }
    let structure = format.structure();
    let Some(first) = filler.lacking.keys().next().filter(|_| !filler.unknown) else { return Ok(()) };
    let path = structure.numbered(*first).map_or(String::new(), |(path, _)| path);
    let error = Error::new(Code::Required).at(path).expected(Words { lacking: &filler.lacking, structure });
    Err(error.found(format_args!("a record of {} without them", format.name())))
}

struct Filler<'r> {
    rules: &'r Rules,
    /// Whether missing fields become zero: as the receiver chose, or as the default of an outer field says.
    zero: bool,
    /// The numbers of the fields that nothing fills, and whether they are required whatever their default is.
    lacking: BTreeMap<usize, bool>,
    /// Whether the record has a field that the format lacks. [`body`](super::body) refuses it, with its path.
    unknown: bool,
}

impl Filler<'_> {
    /// Completes a structure, the first field of which has this number. `came` says whether the record has a value for it.
    fn record(&mut self, structure: &Structure, entries: &mut Vec<(Box<str>, Value)>, first: usize, came: bool) {
        let mut given = vec![None; structure.fields().len()];
        if came {
            for (place, (name, _)) in entries.iter().enumerate() {
                match structure.index_of(name) {
                    Some(index) => given[index] = Some(place),
                    None => self.unknown = true,
                }
            }
        }
        let lengths = lengths(structure);
        let mut number = first;
        for (index, field) in structure.fields().iter().enumerate() {
            match given[index] {
                Some(place) => self.inside(field, &mut entries[place].1, number),
                None if lengths[index] => {}
                None => {
                    if let Some(value) = self.missing(structure, field, number) {
                        entries.push((field.name.clone(), value));
                    }
                }
            }
            number += 1 + nested(field).map_or(0, Structure::total_fields);
        }
    }

    /// Completes the structures in the value of a field.
    fn inside(&mut self, field: &Field, value: &mut Value, number: usize) {
        let Some(inner) = nested(field) else { return };
        match value {
            Value::Record(entries) => self.record(inner, entries, number + 1, true),
            Value::Array(values) => values.iter_mut().for_each(|value| self.inside(field, value, number)),
            _ => {}
        }
    }

    /// The value of a field that the record lacks; `None` if it becomes zero, or if nothing fills it.
    fn missing(&mut self, structure: &Structure, field: &Field, number: usize) -> Option<Value> {
        let rule = self.rules.of(structure.name(), &field.name);
        if rule.is_some_and(|rule| rule.required) {
            self.lacking.insert(number, true);
            return None;
        }
        match rule.and_then(|rule| rule.default.as_ref()) {
            Some(Fill::Value(value)) => Some(shaped(field, value)),
            Some(Fill::Zero) => {
                let before = std::mem::replace(&mut self.zero, true);
                let value = self.blank(field, number);
                self.zero = before;
                value
            }
            None => self.blank(field, number),
        }
    }

    fn blank(&mut self, field: &Field, number: usize) -> Option<Value> {
        match nested(field) {
            // Nothing behind such a pointer is what its type allows.
            _ if field.indirect && (self.zero || !field.is_dynamic()) => None,
            Some(inner) if !field.indirect => {
                let mut entries = Vec::new();
                self.record(inner, &mut entries, number + 1, false);
                (!entries.is_empty()).then(|| array(&dims(field), &Value::Record(entries)))
            }
            None if self.zero && has_zero(&field.element) => None,
            _ => {
                self.lacking.entry(number).or_insert(false);
                None
            }
        }
    }
}

fn nested(field: &Field) -> Option<&Structure> {
    if let Element::Structure(inner) = &field.element { Some(inner) } else { None }
}

fn has_zero(element: &Element) -> bool {
    !matches!(element, Element::Enumeration(enumeration) if enumeration.symbol(0).is_none())
}

/// For each field, whether it is the length of an array.
fn lengths(structure: &Structure) -> Vec<bool> {
    let mut lengths = vec![false; structure.fields().len()];
    for dim in structure.fields().iter().flat_map(|field| field.dims.iter()) {
        if let Dimension::Field(index) = dim {
            lengths[*index] = true;
        }
    }
    lengths
}

/// The fixed dimensions of a field.
fn dims(field: &Field) -> Vec<usize> {
    let fixed = |dim: &Dimension| if let Dimension::Fixed(n) = dim { *n } else { 0 };
    field.dims.iter().map(fixed).collect()
}

/// An array of these dimensions with the same value everywhere.
fn array(dims: &[usize], value: &Value) -> Value {
    match dims {
        [] => value.clone(),
        [count, inner @ ..] => Value::Array(vec![array(inner, value); *count]),
    }
}

/// A default as a value of the field: one value stands for all elements, and a list is in row-major order.
fn shaped(field: &Field, value: &Value) -> Value {
    match value {
        _ if field.indirect => value.clone(),
        Value::Array(values) if field.dims.len() > 1 && !matches!(values.first(), Some(Value::Array(_))) => {
            dims(field)[1..].iter().rev().fold(value.clone(), |list, &count| match list {
                Value::Array(all) => {
                    Value::Array(all.chunks(count.max(1)).map(|row| Value::Array(row.to_vec())).collect())
                }
                other => other,
            })
        }
        Value::Array(_) => value.clone(),
        Value::String(_) if field.element == Element::Char => value.clone(),
        single => array(&dims(field), single),
    }
}

/// The fields that are missing, and what could be said about them.
struct Words<'a> {
    lacking: &'a BTreeMap<usize, bool>,
    structure: &'a Structure,
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, required: bool| {
            let wanted = self.lacking.iter().filter(|(_, is)| **is == required);
            wanted.enumerate().try_for_each(|(i, (number, _))| {
                let Some((path, field)) = self.structure.numbered(*number) else { return Ok(()) };
                write!(f, "{}{path} ({})", if i == 0 { "" } else { ", " }, describe(field))
            })
        };
        let required = self.lacking.values().filter(|required| **required).count();
        if required > 0 {
            f.write_str("required: ")?;
            list(f, true)?;
        }
        if required < self.lacking.len() {
            let and = if required > 0 { "; and " } else { "" };
            write!(f, "{and}a value, a default, or the option missing = zero, for ")?;
            list(f, false)?;
        }
        Ok(())
    }
}
