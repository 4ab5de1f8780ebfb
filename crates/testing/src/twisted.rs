//! Formats of other receivers: the same record on another machine, or as somebody else would have declared it.

use crate::mutate::Random;
use isoform_core::{
    Code, Dimension, Element, Enumeration, Error, Field, FloatKind, Format, Machine, Result, Rules, Structure, Value,
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
    let mut mover = Mover { machine, known: HashMap::new(), rules: Rules::new(), random: Some(random) };
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
    match random.below(6) {
        0 => rules.required(structure, &field.name),
        1..=3 => rules.alias(structure, &field.name, &old),
        4 => rules.default(structure, &field.name, Value::Integer(1)),
        _ => rules,
    }
}

fn other_element(element: &Element, random: &mut Random) -> Element {
    let kind = random.of_these(&FloatKind::ALL).unwrap_or(FloatKind::Ieee);
    match (element, random.below(4)) {
        (Element::Integer { .. }, 0) => Element::Float { kind, size: size(random, kind.sizes()) },
        (Element::Integer { .. } | Element::Float { .. }, 1) => {
            Element::Integer { signed: random.one_in(2), size: size(random, &[1, 2, 4, 8, 16]) }
        }
        (Element::Integer { .. } | Element::Char, 2) => Element::Boolean { size: size(random, &[1, 2, 4, 8]) },
        (Element::Integer { signed, .. }, _) => {
            Element::Integer { signed: *signed, size: size(random, &[1, 2, 4, 8, 16]) }
        }
        (Element::Float { .. }, _) => Element::Float { kind, size: size(random, kind.sizes()) },
        (Element::Complex { .. }, _) => Element::Complex { kind, size: size(random, kind.sizes()) },
        (Element::Boolean { .. }, 0..=2) => Element::Integer { signed: false, size: size(random, &[1, 2, 4, 8]) },
        (Element::Enumeration(known), 0 | 1) => other_symbols(known, random),
        (Element::Enumeration(_), _) => Element::Integer { signed: true, size: size(random, &[1, 2, 4, 8]) },
        (Element::String, 0) => Element::Char,
        (Element::Char, 0) => Element::String,
        (other, _) => other.clone(),
    }
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
