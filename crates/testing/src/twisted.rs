//! Formats of other receivers: the same record on another machine, or as somebody else would have declared it.

use crate::mutate::Random;
use isoform_core::{
    Code, Dimension, Element, Enumeration, Error, Field, FloatKind, Format, Machine, Missing, Result, Rules, Structure,
    Value,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Records larger than this are nobody's wish.
const LARGE: usize = 1 << 20;

/// The same fields on another machine. Nothing is lost between the two.
///
/// ```
/// use isoform_core::{Layout, Shape};
/// let format = Shape::new("r").field("x", "f64").field("name", "string").on(&Layout::S390X)?;
/// let there = isoform_testing::moved(&format, Layout::I386.machine())?;
/// assert_eq!((there.size(), there.machine()), (16, Layout::I386.machine()));
/// # Ok::<(), isoform_core::Error>(())
/// ```
///
/// # Errors
/// [`Code::Size`] if its record is larger than 1 MiB; as [`Format::new`].
pub fn moved(format: &Format, machine: Machine) -> Result<Format> {
    Mover { machine, known: HashMap::new(), rules: Rules::new(), random: None }.format(format)
}

/// Fields that are mostly the same on another machine - some of other types, dimensions, units or names - and rules for
/// them.
///
/// # Errors
/// As [`moved`].
pub fn twisted(format: &Format, machine: Machine, random: &mut Random) -> Result<(Format, Rules)> {
    let missing = if random.one_in(4) { Missing::Refuse } else { Missing::Zero };
    let rules = Rules::new().missing(missing);
    let mut mover = Mover { machine, known: HashMap::new(), rules, random: Some(random) };
    let format = mover.format(format)?;
    Ok((format, mover.rules))
}

struct Mover<'a> {
    machine: Machine,
    known: HashMap<Box<str>, Arc<Structure>>,
    rules: Rules,
    /// Twists, if there are to be any.
    random: Option<&'a mut Random>,
}

impl Mover<'_> {
    fn format(&mut self, format: &Format) -> Result<Format> {
        Format::new(self.structure(format.structure())?)
    }

    fn structure(&mut self, structure: &Structure) -> Result<Arc<Structure>> {
        if let Some(known) = self.known.get(structure.name()) {
            return Ok(known.clone());
        }
        let mut fields = structure.fields().to_vec();
        let lengths: Vec<usize> =
            fields.iter().flat_map(|field| field.dims.iter()).filter_map(|dim| dynamic(*dim)).collect();
        let (mut end, mut largest) = (0usize, 1);
        for (index, field) in fields.iter_mut().enumerate() {
            if let Element::Structure(inner) = &field.element {
                field.element = Element::Structure(self.structure(inner)?);
            }
            if let Some(random) = self.random.as_deref_mut()
                && random.one_in(3)
            {
                match lengths.contains(&index) {
                    true => {
                        field.element = Element::Integer { signed: random.one_in(2), size: size(random, &[1, 2, 4, 8]) }
                    }
                    false => {
                        self.rules = twist(structure.name(), field, &lengths, random, std::mem::take(&mut self.rules))
                    }
                }
            }
            let align = if field.indirect { self.machine.pointer.into() } else { align(&field.element, self.machine) };
            let too_large = || Error::new(Code::Size);
            field.offset = end.checked_next_multiple_of(align).ok_or_else(too_large)?;
            let extent = field.extent(self.machine.pointer).filter(|extent| *extent <= LARGE).ok_or_else(too_large)?;
            end = field.offset + extent;
            largest = largest.max(align);
        }
        let size = end.next_multiple_of(largest).max(1);
        if size > LARGE {
            return Err(Error::new(Code::Size));
        }
        let moved = Arc::new(Structure::new(structure.name(), self.machine, size, largest, fields)?);
        self.known.insert(structure.name().into(), moved.clone());
        Ok(moved)
    }
}

fn dynamic(dim: Dimension) -> Option<usize> {
    match dim {
        Dimension::Fixed(_) => None,
        Dimension::Field(index) => Some(index),
    }
}

fn align(element: &Element, machine: Machine) -> usize {
    match element {
        Element::Structure(inner) => inner.align(),
        Element::Complex { size, .. } => 1 << size.trailing_zeros().min(4),
        other => 1 << other.size(machine.pointer).trailing_zeros().min(4),
    }
}

fn size(random: &mut Random, sizes: &[u8]) -> u8 {
    random.of_these(sizes).unwrap_or(8)
}

fn slot(random: &mut Random, kind: FloatKind) -> u8 {
    random.of_these(kind.slots()).map_or(8, |slot| slot.size)
}

/// Declares a field that is no length as somebody else might.
fn twist(structure: &str, field: &mut Field, lengths: &[usize], random: &mut Random, rules: Rules) -> Rules {
    match random.below(10) {
        0..=2 => field.element = other_element(&field.element, random),
        3 => field.unit = random.of_these(&[None, Some("m"), Some("ft")]).flatten().map(Into::into),
        4 => {
            if let Some(Dimension::Fixed(n)) = field.dims.first_mut() {
                *n = (*n + 1).saturating_sub(2 * random.below(2)).max(1);
            }
        }
        5 => {
            let mut dims = field.dims.to_vec();
            if dims.pop().is_none() || random.one_in(2) {
                dims = [&field.dims[..], &[Dimension::Fixed(1 + random.below(3))]].concat();
            }
            field.dims = dims.into();
        }
        6 if !field.is_dynamic() => field.indirect = !field.indirect,
        7 => {
            if let (Some(length), Some(dim)) = (random.of_these(lengths), field.dims.first_mut()) {
                *dim = Dimension::Field(length);
                field.indirect = true;
            }
        }
        _ => return rule(structure, field, random, rules),
    }
    rules
}

/// Gives a field another name, and says what becomes of it.
fn rule(structure: &str, field: &mut Field, random: &mut Random, rules: Rules) -> Rules {
    let old = std::mem::take(&mut field.name);
    field.name = format!("{}'", &old[..old.floor_char_boundary(200)]).into();
    match random.below(7) {
        0 => rules.required(structure, &field.name),
        1..=3 => rules.alias(structure, &field.name, &old),
        4 => rules.default(structure, &field.name, default(&field.element, random)),
        5 => rules.default_zero(structure, &field.name),
        _ => rules,
    }
}

/// A value for an element or, now and then, for another one.
fn default(element: &Element, random: &mut Random) -> Value {
    match element {
        _ if random.one_in(4) => Value::Integer(1),
        Element::Integer { signed, size } => {
            let highest = i128::MAX >> (128 - 8 * u32::from((*size).min(8)));
            Value::Integer(random.of_these(&[0, 1, highest, if *signed { -highest - 1 } else { highest }]).unwrap_or(0))
        }
        Element::Float { .. } => {
            Value::Float(random.of_these(&[0.5, -0.0, 1e-40, f64::NAN, f64::INFINITY]).unwrap_or(0.5))
        }
        Element::Complex { .. } => Value::Complex(Box::new([Value::Float(0.5), Value::Float(-1.0)])),
        Element::Char => Value::Char(random.byte()),
        Element::Boolean { .. } => Value::Boolean(random.one_in(2)),
        Element::Enumeration(known) => {
            let symbol = &known.symbols()[random.below(known.symbols().len())];
            Value::Symbol(symbol.name.clone())
        }
        Element::String => Value::String(vec![b'x'; random.below(40)]),
        Element::Structure(_) => Value::Null,
    }
}

/// An element of another type, most often one that this one becomes.
fn other_element(element: &Element, random: &mut Random) -> Element {
    const SIZES: &[u8] = &[1, 2, 4, 8, 16];
    let kind = random.of_these(&FloatKind::ALL).unwrap_or(FloatKind::Ieee);
    let float = |random: &mut Random| Element::Float { kind, size: slot(random, kind) };
    let integer = |random: &mut Random| Element::Integer { signed: random.one_in(2), size: size(random, SIZES) };
    let boolean = |random: &mut Random| Element::Boolean { size: size(random, &[1, 2, 4, 8]) };
    match (element, random.below(8)) {
        (Element::Integer { .. } | Element::Char | Element::Boolean { .. }, 0 | 1) => float(random),
        (Element::Integer { .. } | Element::Char | Element::Boolean { .. }, 2) => boolean(random),
        (Element::Integer { .. }, 3 | 4) => any_symbols(random),
        (Element::Integer { .. } | Element::Float { .. } | Element::Boolean { .. }, 5) => Element::Char,
        (Element::Float { .. } | Element::Char, 3 | 4) | (Element::Integer { .. } | Element::Boolean { .. }, _) => {
            integer(random)
        }
        (Element::Float { .. }, _) => float(random),
        (Element::Complex { .. }, _) => Element::Complex { kind, size: slot(random, kind) },
        (Element::Enumeration(known), 0..=4) => other_symbols(known, random),
        (Element::Enumeration(_), _) => integer(random),
        (Element::String, 0) => Element::Char,
        (Element::Char, 6) => Element::String,
        (other, _) => other.clone(),
    }
}

/// An enumeration for an integer: symbols at the ends of all types, and sometimes for each small number.
fn any_symbols(random: &mut Random) -> Element {
    let (signed, size) = (random.one_in(2), size(random, &[1, 2, 4, 8]));
    let small = random.of_these(&[0, 4, 4, 100]).unwrap_or(4);
    let mut values: Vec<i128> = (0..small).collect();
    for _ in 0..random.below(8) {
        let power = 1 << random.of_these(&[7, 8, 15, 16, 31, 32, 63, 64]).unwrap_or(8);
        values.extend(random.of_these(&[power - 1, power, -1, -power]));
    }
    let bits = 8 * u32::from(size);
    let (low, high) = if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    values.retain(|value| (low..=high).contains(value));
    values.push(1);
    values.sort_unstable();
    values.dedup();
    let symbols = values.into_iter().map(|value| (format!("s{value}"), value));
    Element::Enumeration(Arc::new(Enumeration::new(signed, size, symbols).expect("symbols of different numbers")))
}

/// An enumeration without some of the symbols, and with other numbers.
fn other_symbols(known: &Enumeration, random: &mut Random) -> Element {
    let names: Vec<Box<str>> = known.symbols().iter().map(|symbol| symbol.name.clone()).collect();
    let from = random.below(names.len().min(2));
    let symbols = names.into_iter().skip(from).take(200).zip(i128::from(random.one_in(2))..);
    let other =
        Enumeration::new(false, size(random, &[1, 2, 4, 8]), symbols.map(|(name, value)| (String::from(name), value)));
    other.map_or_else(|_| Element::Enumeration(Arc::new(known.clone())), |other| Element::Enumeration(Arc::new(other)))
}
