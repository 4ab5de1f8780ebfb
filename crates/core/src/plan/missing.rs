//! Fills native fields and elements that the sender lacks, or notes that nothing fills them. This is a part of
//! [`Maker`].

use super::block::Block;
use super::default::{Contents, contents};
use super::find::At;
use super::lengths::Lengths;
use super::make::{Maker, Names};
use super::report::{Action, describe, element_path};
use super::rules::{Fill, Rule};
use super::step::{Bytes, Step, Transform};
use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Element, Field, Format, Structure};
use crate::value::Value;
use std::fmt;
use std::sync::Arc;

/// The most missing fields for which an error looks for aliases.
const LOOKED_FOR: usize = 3;

/// The native fields that take no wire field and have no default. The pair is refused because of them.
#[derive(Default)]
pub(super) struct Lacking(Vec<(usize, Lack)>);

/// What is missing of a field.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lack {
    /// The field, which is required whatever its default is.
    Required,
    /// The field.
    Field,
    /// Elements at the end of its array.
    Elements,
}

/// Elements at the end of an array, which the wire array lacks.
#[derive(Clone, Copy)]
pub(super) struct Short<'a> {
    /// The native array.
    pub(super) field: &'a Field,
    /// Where they go.
    pub(super) dst: usize,
    pub(super) count: usize,
    /// The number of the field.
    pub(super) number: usize,
}

impl Lacking {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Whether one of them is required.
    pub(super) fn has_required(&self) -> bool {
        self.0.iter().any(|(_, lack)| *lack == Lack::Required)
    }

    /// # Errors
    /// [`Code::Required`] with all fields, if there are any.
    pub(super) fn settle(&mut self, wire: &Format, native: &Structure) -> Result<()> {
        self.0.sort_unstable();
        self.0.dedup_by_key(|(number, _)| *number);
        let Some((first, lack)) = self.0.first() else { return Ok(()) };
        let path = native.numbered(*first).map_or(String::new(), |(path, field)| lack.path(path, field));
        let error =
            Error::new(Code::Required).at(path).expected(Words { lacking: self, native, wire: wire.structure() });
        Err(error.found(format_args!("{} with {}", wire.name(), Names(wire.structure()))))
    }

    fn list(&self, f: &mut fmt::Formatter<'_>, native: &Structure, required: bool) -> fmt::Result {
        let wanted = self.0.iter().filter(|(_, lack)| (*lack == Lack::Required) == required);
        wanted.enumerate().try_for_each(|(i, &(number, lack))| {
            let Some((path, field)) = native.numbered(number) else { return Ok(()) };
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{} ({})", lack.path(path, field), describe(field))
        })
    }
}

impl Lack {
    /// The path of the field, with brackets if only elements are missing.
    fn path(self, path: String, field: &Field) -> String {
        if self == Lack::Elements { element_path(path, field) } else { path }
    }
}

/// The fields that are missing, and what the receiver's declaration could say about them.
struct Words<'a> {
    lacking: &'a Lacking,
    native: &'a Structure,
    wire: &'a Structure,
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let required = self.lacking.0.iter().filter(|(_, lack)| *lack == Lack::Required).count();
        if required > 0 {
            f.write_str("required: ")?;
            self.lacking.list(f, self.native, true)?;
        }
        if required < self.lacking.0.len() {
            let and = if required > 0 { "; and " } else { "" };
            write!(f, "{and}a default, or in the receiving program the option missing = zero, for ")?;
            self.lacking.list(f, self.native, false)?;
        }
        let aliases = self.aliases();
        if aliases.is_empty() { Ok(()) } else { write!(f, "; or the alias {}", aliases.join(", ")) }
    }
}

impl Words<'_> {
    /// Aliases by which some of the fields would be found, where one side nests them and the other does not.
    fn aliases(&self) -> Vec<String> {
        let mut aliases = Vec::new();
        for &(number, _) in self.lacking.0.iter().take(LOOKED_FOR) {
            let Some((path, field)) = self.native.numbered(number) else { continue };
            let alias = match path.rsplit_once('.') {
                None => nested(self.wire, &field.name).map(|alias| format!("{alias:?} of {path}")),
                Some((outer, _)) if outer.contains(['.', '[']) => None,
                Some((outer, name)) => self.wire.index_of(name).map(|_| format!("\".\" of {outer}")),
            };
            aliases.extend(alias.filter(|alias| !aliases.contains(alias)));
        }
        aliases
    }
}

/// The path of a field of this name within a nested structure that aliases reach.
fn nested(wire: &Structure, name: &str) -> Option<String> {
    wire.fields().iter().filter(|field| !field.indirect && field.dims.is_empty()).find_map(|field| {
        let Element::Structure(inner) = &field.element else { return None };
        let within = match inner.index_of(name) {
            Some(_) => Some(name.to_string()),
            None => nested(inner, name),
        };
        Some(format!("{}.{}", field.name, within?))
    })
}

impl Maker<'_> {
    /// Fills a native field that takes no wire field, or notes that nothing does.
    pub(super) fn missing(
        &mut self,
        n: &Field,
        dst: usize,
        rule: Option<&Rule>,
        number: usize,
        block: &mut Block,
    ) -> Result<()> {
        if rule.is_some_and(|rule| rule.required) {
            self.lack(number, Lack::Required);
            return Ok(());
        }
        match rule.and_then(|rule| rule.default.as_ref()) {
            Some(Fill::Value(value)) => {
                self.default(n, dst, number, value, block).map_err(|error| error.within(&self.path(number)))?;
                self.report(Some(number), None, Action::Default);
                Ok(())
            }
            Some(Fill::Zero) => self.zeroed(|maker| maker.blank_field(n, dst, number, block)),
            None => self.blank_field(n, dst, number, block),
        }
    }

    /// Fills the elements that a shorter wire array lacks. The array's own default fills them if it is one for all
    /// elements.
    pub(super) fn short(&mut self, short: Short<'_>, rule: Option<&Rule>, block: &mut Block) -> Result<()> {
        let Short { field, dst, count, number } = short;
        match rule.and_then(|rule| rule.default.as_ref()) {
            // Fewer characters are a shorter text, and no data is missing.
            _ if field.element == Element::Char && field.dims.len() == 1 => {
                self.zeroed(|maker| maker.blank(&field.element, dst, count, number, block))
            }
            Some(Fill::Zero) => self.zeroed(|maker| maker.blank(&field.element, dst, count, number, block)),
            Some(Fill::Value(value)) if !matches!(value, Value::Array(_) | Value::String(_)) && !field.indirect => {
                let rest = Field { dims: [Dimension::Fixed(count)].into(), ..field.clone() };
                self.default(&rest, dst, number, value, block).map_err(|error| error.within(&self.path(number)))
            }
            _ => {
                let known = self.lacking.len();
                self.blank(&field.element, dst, count, number, block)?;
                if let Some((last, lack)) = self.lacking.0.get_mut(known)
                    && *last == number
                {
                    *lack = Lack::Elements;
                }
                Ok(())
            }
        }
    }

    /// Makes missing fields zero within `fill`.
    pub(super) fn zeroed<T>(&mut self, fill: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.zero, true);
        let filled = fill(self);
        self.zero = before;
        filled
    }

    fn lack(&mut self, number: usize, lack: Lack) {
        self.lacking.0.push((number, lack));
        self.report(Some(number), None, Action::Missing);
    }

    fn default(&mut self, n: &Field, dst: usize, number: usize, value: &Value, block: &mut Block) -> Result<()> {
        match contents(n, self.native, value)? {
            Contents::Text(text) => block.push(Step::Text { dst, text: text.into(), field: number }, true),
            Contents::Null => block.fill(dst, Bytes::Zero(n.extent(self.native.pointer).unwrap_or(0))),
            Contents::Bytes(bytes) => block.fill(dst, Bytes::Of(bytes.into())),
        }
        Ok(())
    }

    /// Fills a field that has no default value.
    fn blank_field(&mut self, n: &Field, dst: usize, number: usize, block: &mut Block) -> Result<()> {
        if n.indirect {
            // An array without elements would say that the sender had none. A null pointer says that nothing came.
            if n.is_dynamic() && !self.zero {
                self.lack(number, Lack::Field);
                return Ok(());
            }
            self.report(Some(number), None, Action::Zero);
            block.fill(dst, Bytes::Zero(self.native.pointer.into()));
            return Ok(());
        }
        if self.zero || matches!(n.element, Element::Structure(_)) {
            self.report(Some(number), None, Action::Zero);
        }
        self.blank(&n.element, dst, n.fixed_count().unwrap_or(0), number, block)
    }

    /// Fills elements that have no source, in the field of this number: with zeros, null, or the defaults of a
    /// structure's fields.
    pub(super) fn blank(
        &mut self,
        element: &Element,
        dst: usize,
        count: usize,
        number: usize,
        block: &mut Block,
    ) -> Result<()> {
        let size = element.size(self.native.pointer);
        match element {
            Element::Structure(structure) => {
                let mut one = Block::default();
                self.blank_structure(At::start(structure, number + 1), &mut one)?;
                let steps = one.finish();
                if steps.iter().all(|step| matches!(step, Step::Fill { bytes: Bytes::Zero(_), .. })) {
                    block.fill(dst, Bytes::Zero(size * count));
                } else {
                    let transform = Transform::Each { src: 0, dst: size, steps: Arc::new(steps.into()) };
                    block.push(Step::Elements { src: 0, dst, count, transform, field: usize::MAX }, true);
                }
            }
            _ if !self.zero => self.lack(number, Lack::Field),
            Element::Enumeration(enumeration) if enumeration.symbol(0).is_none() => {
                return Err(Error::new(Code::Required)
                    .at(self.element_path(number))
                    .expected("a default, since no symbol has the value 0")
                    .found("nothing"));
            }
            _ => block.fill(dst, Bytes::Zero(size * count)),
        }
        Ok(())
    }

    fn blank_structure(&mut self, at: At<'_>, block: &mut Block) -> Result<()> {
        let structure = at.structure;
        let lengths = Lengths::of(structure);
        for ((index, field), number) in structure.fields().iter().enumerate().zip(at.numbers()) {
            match lengths.is_length(index) {
                true => block.fill(field.offset, Bytes::Zero(field.extent(self.native.pointer).unwrap_or(0))),
                false => {
                    let rule = self.rules.of(structure.name(), &field.name);
                    self.missing(field, field.offset, rule, number, block)?;
                }
            }
        }
        Ok(())
    }
}
