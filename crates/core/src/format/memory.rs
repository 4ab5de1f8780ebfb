//! The memory that a format takes: many times its description.

use super::checks::{Check, FEW};
use super::description::Description;
use super::element::{Element, Enumeration, Symbol};
use super::handle::Format;
use super::structure::{Dimension, Field, Structure};
use crate::text::json::ENTRY;
use std::collections::HashSet;
use std::sync::Arc;

/// What an allocator may add to an allocation.
const BLOCK: usize = 16;

impl Format {
    /// The bytes of memory that it takes, with the checks of a verifier and the labels of JSON, or a little more. Nested structures and
    /// enumerations that several fields share count once.
    ///
    /// Receivers count this, and not the bytes of the description, when they limit how many formats a sender may name.
    pub fn memory(&self) -> usize {
        let mut seen = HashSet::new();
        let description = self.description().as_bytes().len() + size_of::<Description>();
        size_of::<Format>() + 8 * BLOCK + description + structure(self.structure(), &mut seen)
    }
}

fn structure(all: &Arc<Structure>, seen: &mut HashSet<usize>) -> usize {
    if !seen.insert(Arc::as_ptr(all).addr()) {
        return 0;
    }
    let fields: usize = all.fields().iter().map(|one| field(one, seen)).sum();
    size_of::<Structure>() + 7 * BLOCK + all.name().len() + fields
}

fn field(field: &Field, seen: &mut HashSet<usize>) -> usize {
    let unit = field.unit.as_ref().map_or(0, |unit| unit.len() + BLOCK);
    let dims = size_of_val(&*field.dims) + if field.dims.is_empty() { 0 } else { BLOCK };
    // The field, its place by name, its name; its entry of JSON, with the name as its label.
    let own = size_of::<Field>() + size_of::<u16>() + field.name.len() + BLOCK + unit + dims + ENTRY + field.name.len();
    let check = size_of::<Check>() + BLOCK + field.dims.len() * size_of::<Dimension>();
    let checks = match &field.element {
        Element::Structure(inner) => FEW * check + structure(inner, seen),
        Element::Enumeration(inner) => check + enumeration(inner, seen),
        Element::String | Element::Boolean { .. } => check,
        _ if field.indirect => check,
        _ => 0,
    };
    own + checks
}

fn enumeration(all: &Arc<Enumeration>, seen: &mut HashSet<usize>) -> usize {
    if !seen.insert(Arc::as_ptr(all).addr()) {
        return 0;
    }
    // Each symbol, its place by name, its run of numbers, its name.
    let fixed = size_of::<Symbol>() + size_of::<u32>() + 2 * size_of::<u64>() + BLOCK;
    let symbols: usize = all.symbols().iter().map(|symbol| fixed + symbol.name.len()).sum();
    size_of::<Enumeration>() + 4 * BLOCK + symbols
}
