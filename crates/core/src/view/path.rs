//! Paths such as `grid[3].rho`.

use super::{Item, View};
use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Element, Structure};

/// The value at a path that begins in `view`, and its element type, or that of its elements.
pub(super) fn get<'a>(view: View<'a>, path: &str) -> Result<(Item<'a>, &'a Element)> {
    let mut item = Item::Record(view);
    let mut element_type;
    let mut rest = path;
    loop {
        let before = path[..path.len() - rest.len()].trim_end_matches('.');
        let (name, behind) = rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()));
        (item, element_type) = match item {
            Item::Record(view) => view.typed_field(name).map_err(|error| error.at(before))?,
            other => return Err(no_parts(other, "a record", before)),
        };
        rest = behind;
        while let Some(bracket) = rest.strip_prefix('[') {
            let before = &path[..path.len() - rest.len()];
            let (index, behind) = bracket.split_once(']').ok_or_else(|| malformed(path))?;
            item = match item {
                Item::Array(array) => element(array, index).map_err(|error| error.at(before))?,
                other => return Err(no_parts(other, "an array", before)),
            };
            rest = behind;
        }
        match rest.strip_prefix('.') {
            Some(behind) => rest = behind,
            None if rest.is_empty() => return Ok((item, element_type)),
            None => return Err(malformed(path)),
        }
    }
}

impl Structure {
    /// Whether records can have a value at a path such as `grid[3].rho`, whatever their pointers and lengths are.
    pub fn has_path(&self, path: &str) -> bool {
        is_possible(self, path)
    }
}

fn is_possible(mut structure: &Structure, path: &str) -> bool {
    let mut names = path.split('.').peekable();
    while let Some(name) = names.next() {
        let (name, indices) = name.split_at(name.find('[').unwrap_or(name.len()));
        let Some(field) = structure.field(name) else { return false };
        let mut dims = field.dims.iter();
        let mut rest = indices;
        while !rest.is_empty() {
            let index = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            let Some((Some(index), behind)) = index.map(|(index, behind)| (number(index), behind)) else {
                return false;
            };
            match dims.next() {
                Some(Dimension::Fixed(length)) if index < *length => {}
                Some(Dimension::Field(_)) => {}
                _ => return false,
            }
            rest = behind;
        }
        match &field.element {
            _ if names.peek().is_none() => return true,
            Element::Structure(inner) if dims.len() == 0 => structure = inner,
            _ => return false,
        }
    }
    false
}

fn element<'a>(array: super::Array<'a>, index: &str) -> Result<Item<'a>> {
    let item = number(index).and_then(|index| array.get(index));
    item.ok_or_else(|| {
        let error = Error::new(Code::NoSuchField).expected(format_args!("an index below {}", array.len()));
        error.found(format_args!("[{index}]"))
    })
}

/// An index as digits. `parse` alone would accept a sign.
fn number(index: &str) -> Option<usize> {
    index.bytes().all(|byte| byte.is_ascii_digit()).then(|| index.parse().ok())?
}

fn no_parts(item: Item<'_>, expected: &str, path: &str) -> Error {
    match item {
        Item::Null => Error::new(Code::Null).expected(expected).at(path),
        other => other.wrong_type(expected).at(path),
    }
}

fn malformed(path: &str) -> Error {
    Error::new(Code::NoSuchField).expected("a path such as grid[3].rho").found(format_args!("{path:?}"))
}
