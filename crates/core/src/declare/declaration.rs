//! One record of a shape: its fields without sizes and offsets, and how a layout places them.

use super::layout::{Layout, LongDouble};
use super::types::{Kind, Type, Width};
use crate::error::{Code, Error, Result};
use crate::format::{Element, Field, FloatKind, MAX_ALIGN, MAX_RECORD, Structure};
use std::collections::HashMap;
use std::sync::Arc;

/// One record of a shape.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Declaration {
    pub(super) name: Box<str>,
    /// The largest alignment of a field that does not state its own exactly: 1 without gaps.
    pub(super) pack: Option<usize>,
    /// The least alignment of the record.
    pub(super) align: Option<usize>,
    pub(super) fields: Vec<DeclaredField>,
}

/// One field of a shape.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DeclaredField {
    pub(super) name: Box<str>,
    pub(super) words: Type,
    pub(super) unit: Option<Box<str>>,
    pub(super) align: Align,
}

/// How a field of a shape is aligned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Align {
    /// As its type is on the machine, within what the record allows.
    #[default]
    Natural,
    /// As its type is, but to this many bytes at least; within what the record allows.
    AtLeast(usize),
    /// To this many bytes, whatever its type and the record.
    Exactly(usize),
}

impl Align {
    /// The alignment of a field whose type has `natural`, in a record that allows `most`.
    fn of(self, natural: usize, most: usize) -> usize {
        match self {
            Align::Natural => natural.min(most),
            Align::AtLeast(least) => natural.max(least).min(most),
            Align::Exactly(align) => align,
        }
    }

    /// Refuses what is no alignment.
    fn check(self) -> Result<()> {
        match self {
            Align::Natural => Ok(()),
            Align::AtLeast(align) | Align::Exactly(align) => check_alignment(align),
        }
    }
}

fn check_alignment(align: usize) -> Result<()> {
    if align.is_power_of_two() && align <= MAX_ALIGN {
        return Ok(());
    }
    let expected = format_args!("an alignment that is a power of two, up to {MAX_ALIGN}").to_string();
    Err(Error::new(Code::Declaration).expected(expected).found(align))
}

impl Declaration {
    pub(super) fn new(name: Box<str>) -> Declaration {
        Declaration { name, pack: None, align: None, fields: Vec::new() }
    }

    /// The declaration of a structure, with all its sizes.
    pub(super) fn of(structure: &Structure) -> Declaration {
        let declare = |field: &Field| DeclaredField {
            name: field.name.clone(),
            words: Type::of(field, structure),
            unit: field.unit.clone(),
            align: Align::Natural,
        };
        let fields = structure.fields().iter().map(declare).collect();
        Declaration { fields, ..Declaration::new(structure.name().into()) }
    }

    /// The structure as the C compiler of a machine lays it out. Types may name the known structures.
    pub(super) fn on(&self, layout: &Layout, known: &HashMap<&str, Arc<Structure>>) -> Result<Structure> {
        let indices: HashMap<&str, usize> =
            self.fields.iter().enumerate().map(|(i, field)| (&*field.name, i)).collect();
        let mut fields = Vec::with_capacity(self.fields.len());
        let mut stated = self.pack.into_iter().chain(self.align);
        stated.try_for_each(check_alignment).map_err(|error| error.at(&*self.name))?;
        let (mut end, mut align) = (0usize, self.align.unwrap_or(1));
        for declared in &self.fields {
            let place = |error: Error| error.at(format!("{}.{}", self.name, declared.name));
            let element = declared.words.kind.on(layout, known).map_err(place)?;
            declared.align.check().map_err(place)?;
            let natural = match declared.words.is_indirect() {
                true => layout.pointer.into(),
                false => layout.align_of(&element),
            };
            let aligned = declared.align.of(natural, self.pack.unwrap_or(MAX_ALIGN));
            let offset = end.next_multiple_of(aligned);
            let index_of = |name: &str| indices.get(name).copied();
            let field = declared
                .words
                .field(&declared.name, element, offset, declared.unit.clone(), index_of)
                .map_err(place)?;
            let past = field.extent(layout.pointer).and_then(|extent| offset.checked_add(extent));
            let too_large = || Error::new(Code::Size).expected(format_args!("fewer than {MAX_RECORD} bytes"));
            end = past.filter(|&past| past < MAX_RECORD).ok_or_else(too_large).map_err(place)?;
            align = align.max(aligned);
            fields.push(field);
        }
        Structure::new(self.name.clone(), layout.machine(), end.next_multiple_of(align), align, fields)
    }
}

impl Kind {
    /// The element of this type in the memory of a machine.
    fn on(&self, layout: &Layout, known: &HashMap<&str, Arc<Structure>>) -> Result<Element> {
        let bytes = |width| match width {
            Width::Bytes(size) => size,
            Width::Long => layout.long,
            Width::Pointer => layout.pointer,
            Width::Open => self.usual_size(layout),
        };
        self.clone().settled(layout).element(|width| Ok(bytes(width)), |name| known.get(name).cloned())
    }

    /// The size of a number whose words leave it open.
    fn usual_size(&self, layout: &Layout) -> u8 {
        match self {
            Kind::Boolean { .. } => 1,
            Kind::Float { kind, .. } | Kind::Complex { kind, .. } => match layout.long_double {
                LongDouble { kind: FloatKind::X87, size, .. } if *kind == FloatKind::X87 => size,
                _ => kind.usual_size(),
            },
            _ => 4,
        }
    }
}

pub(super) fn two_of(name: &str) -> Error {
    Error::new(Code::Declaration).at(name).found("two different records of this name")
}
