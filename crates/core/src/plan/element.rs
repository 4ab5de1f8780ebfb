//! The conversion of each element of a field, which the types on both sides determine.
//!
//! An element can be a structure, whose fields have elements. So this part of [`Maker`] and `make` call each other.

use super::block::Block;
use super::find::{At, Found};
use super::make::Maker;
use super::report::words;
use super::rules::{Fill, Rule};
use super::schedule::Steps;
use super::step::{Conversion, Step, Symbols, Transform};
use crate::error::{Code, Error, Result};
use crate::format::{Element, Enumeration, FloatKind, Machine, Structure, Symbol, integer_range};
use crate::value::Value;
use isoform_kernels::{Number, NumberClass};
use std::collections::HashMap;
use std::sync::Arc;

const BOOLEAN_TO_UNSIGNED: (NumberClass, NumberClass) = (NumberClass::Boolean, NumberClass::Unsigned);

/// The conversion of each element.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) transform: Transform,
    /// Whether the result differs from the source's bytes.
    pub(super) moved: bool,
}

impl Change {
    fn of(transform: Transform) -> Change {
        let moved = !matches!(transform, Transform::Copy(_));
        Change { transform, moved }
    }
}

/// The results for enumerations. An enumeration may be nested in thousands of fields, and is worked out once.
#[derive(Default)]
pub(super) struct Transforms(HashMap<(Source, *const Enumeration), Change>);

/// The key of such a result: what becomes an enumeration.
#[derive(PartialEq, Eq, Hash)]
enum Source {
    Integer {
        signed: bool,
        size: u8,
    },
    Enumeration {
        wire: *const Enumeration,
        /// The number that unknown symbols become; `None` if they are refused.
        default: Option<u64>,
    },
}

impl Maker<'_> {
    /// Determines the conversion of each element of a field.
    pub(super) fn transform(
        &mut self,
        found: Found<'_>,
        native: &Element,
        number: usize,
        rule: Option<&Rule>,
    ) -> Result<Change> {
        let wire = &found.field.element;
        match (wire, native) {
            (Element::Structure(w), Element::Structure(n)) => {
                self.nested(found.nested(w, 0), At::start(n, number + 1), number)
            }
            (Element::String, Element::String) => {
                Ok(Change { transform: Transform::String, moved: self.wire != self.native })
            }
            (Element::Enumeration(w), Element::Enumeration(n)) => self.enumeration(w, n, rule, number),
            (Element::Integer { signed, size }, Element::Enumeration(n)) if *size <= 8 => {
                Ok(self.known_symbols(*signed, *size, n))
            }
            (_, Element::Enumeration(_)) | (Element::Float { .. }, Element::Boolean { .. }) => {
                Err(self.mismatch(wire, native, number))
            }
            (Element::Enumeration(_), to) if !matches!(to, Element::Integer { .. }) => {
                Err(self.mismatch(wire, native, number))
            }
            _ => match (numbers(wire, self.wire), numbers(native, self.native)) {
                (Some((from, per)), Some((to, as_many))) if per == as_many => {
                    Ok(Change::of(self.number(from, to, per)))
                }
                _ => Err(self.mismatch(wire, native, number)),
            },
        }
    }

    /// A structure as an element of an array, or behind a pointer.
    fn nested(&mut self, wire: At<'_>, native: At<'_>, number: usize) -> Result<Change> {
        let (w, n) = (wire.structure, native.structure);
        let mut block = Block::default();
        self.structure(wire, native, Some(number), &mut block)?;
        let moved = block.relocated || w.size() != n.size();
        let steps = block.finish();
        let transform = match whole(&steps, w, n) {
            Some(whole) => whole,
            None => Transform::Each {
                src: w.size(),
                dst: n.size(),
                steps: Arc::new(Steps::on_elements(steps, (w.size(), n.size()))),
            },
        };
        Ok(Change { transform, moved })
    }

    fn mismatch(&self, wire: &Element, native: &Element, number: usize) -> Error {
        Error::new(Code::NoConversion).at(self.path(number)).expected(words(native)).found(words(wire))
    }

    fn number(&self, from: Number, to: Number, per: usize) -> Transform {
        let size = usize::from(from.size);
        if from.size == to.size && (from.class == to.class || (from.class, to.class) == BOOLEAN_TO_UNSIGNED) {
            let double2 = from.class == NumberClass::Float(FloatKind::Double2);
            return match (from.order == to.order || size == 1, double2) {
                (true, _) => Transform::Copy(size * per),
                (false, true) => Transform::Swap { width: 8, per: 2 * per },
                (false, false) => Transform::Swap { width: size, per },
            };
        }
        Transform::Convert { conversion: Conversion { from, to, faults: self.faults }, per }
    }

    /// An integer becomes an enumeration: its value must be that of a symbol here.
    fn known_symbols(&mut self, signed: bool, size: u8, native: &Arc<Enumeration>) -> Change {
        let class = if signed { NumberClass::Signed } else { NumberClass::Unsigned };
        let (from, to) = (Number { class, size, order: self.wire.order }, enumeration_number(native, self.native));
        let change = || {
            // Only numbers that the source's type can hold are listed. Generated code compares 64 bits, and would
            // otherwise take 2^64-1 for -1.
            let (low, high) = integer_range(signed, size);
            let possible = native.symbols().iter().filter(|symbol| (low..=high).contains(&symbol.value));
            // Most of them are kept. A vector that grew step by step would take twice the memory for a moment.
            let mut map = Vec::with_capacity(native.symbols().len());
            map.extend(possible.map(|s| (s.value, s.name.clone(), Some(s.value))));
            Change::of(Transform::Symbols(Arc::new(Symbols { from, to, map: map.into() })))
        };
        let key = (Source::Integer { signed, size }, Arc::as_ptr(native));
        self.transforms.0.entry(key).or_insert_with(change).clone()
    }

    fn enumeration(
        &mut self,
        wire: &Arc<Enumeration>,
        native: &Arc<Enumeration>,
        rule: Option<&Rule>,
        number: usize,
    ) -> Result<Change> {
        let default = match rule.and_then(|rule| rule.default.as_ref()) {
            // An array of defaults gives no default for a single symbol, and null is no symbol. A bare default says what
            // a missing field becomes, not that an unknown symbol is the one of value 0.
            Some(Fill::Zero | Fill::Value(Value::Array(_) | Value::Null)) | None => None,
            Some(Fill::Value(value)) => {
                Some(symbol_value(native, value).map_err(|error| error.at(self.element_path(number)))?)
            }
        };
        let source = Source::Enumeration { wire: Arc::as_ptr(wire), default: default.map(|value| value as u64) };
        let key = (source, Arc::as_ptr(native));
        if let Some(known) = self.transforms.0.get(&key) {
            return Ok(known.clone());
        }
        let change = self.symbols(wire, native, default);
        let change = change
            .ok_or_else(|| Error::new(Code::NoConversion).at(self.element_path(number)).expected(native).found(wire))?;
        self.transforms.0.insert(key, change.clone());
        Ok(change)
    }

    /// `None` if the receiver knows none of the symbols that can arrive.
    fn symbols(&self, wire: &Enumeration, native: &Enumeration, default: Option<i128>) -> Option<Change> {
        let (from, to) = (enumeration_number(wire, self.wire), enumeration_number(native, self.native));
        let known: HashMap<&str, i128> = native.symbols().iter().map(|s| (&*s.name, s.value)).collect();
        let here = |symbol: &Symbol| known.get(&*symbol.name).copied();
        if wire.size() == native.size() && wire.symbols().iter().all(|symbol| here(symbol) == Some(symbol.value)) {
            // Each number that passes the verifier is already the number of the same symbol here.
            return Some(Change::of(self.number(from, Number { class: from.class, ..to }, 1)));
        }
        let map: Box<[_]> = wire.symbols().iter().map(|s| (s.value, s.name.clone(), here(s).or(default))).collect();
        let any = map.iter().any(|(_, _, value)| value.is_some());
        any.then(|| Change::of(Transform::Symbols(Arc::new(Symbols { from, to, map }))))
    }
}

/// The numbers that an element consists of: their type and how many.
fn numbers(element: &Element, machine: Machine) -> Option<(Number, usize)> {
    let (class, size, per) = match element {
        Element::Integer { signed: true, size } => (NumberClass::Signed, *size, 1),
        Element::Integer { signed: false, size } => (NumberClass::Unsigned, *size, 1),
        Element::Float { kind, size } => (NumberClass::Float(*kind), *size, 1),
        Element::Complex { kind, size } => (NumberClass::Float(*kind), *size, 2),
        Element::Char => (NumberClass::Unsigned, 1, 1),
        Element::Boolean { size } => (NumberClass::Boolean, *size, 1),
        Element::Enumeration(enumeration) => return Some((enumeration_number(enumeration, machine), 1)),
        Element::String | Element::Structure(_) => return None,
    };
    Some((Number { class, size, order: machine.order }, per))
}

fn enumeration_number(enumeration: &Enumeration, machine: Machine) -> Number {
    let class = if enumeration.signed() { NumberClass::Signed } else { NumberClass::Unsigned };
    Number { class, size: enumeration.size(), order: machine.order }
}

fn symbol_value(enumeration: &Enumeration, value: &Value) -> Result<i128> {
    let known = match value {
        Value::Symbol(name) => enumeration.value(name),
        Value::Integer(number) => enumeration.symbol(*number).map(|_| *number),
        _ => None,
    };
    known.ok_or_else(|| Error::new(Code::Declaration).expected(enumeration).found(format_args!("{value:?}")))
}

/// The one transformation that does what `steps` do to a whole element, if there is one.
fn whole(steps: &[Step], wire: &Structure, native: &Structure) -> Option<Transform> {
    let size = wire.size();
    if size != native.size() {
        return None;
    }
    let end = |structure: &Structure| {
        structure.fields().last().and_then(|field| Some(field.offset + field.extent(structure.machine().pointer)?))
    };
    match *steps {
        [Step::Move { src: 0, dst: 0, len }] if end(wire) == Some(len) && end(native) == Some(len) => {
            Some(Transform::Copy(size))
        }
        [Step::Elements { src: 0, dst: 0, count, transform: Transform::Swap { width, per: 1 }, .. }]
            if width * count == size =>
        {
            Some(Transform::Swap { width, per: count })
        }
        [Step::Permute { width, swap: true, ref pairs }] if width * pairs.len() == size => {
            pairs.iter().all(|(src, dst)| src == dst).then_some(Transform::Swap { width, per: pairs.len() })
        }
        _ => None,
    }
}
