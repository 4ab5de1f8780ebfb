//! Fills native fields and elements that the sender lacks. This is a part of [`Maker`].

use super::block::Block;
use super::find::At;
use super::lengths::Lengths;
use super::make::Maker;
use super::report::{Action, describe};
use super::rules::Rule;
use super::step::{Bytes, Step, Transform};
use crate::error::{Code, Error, Result};
use crate::format::{Element, Field};
use crate::value::Value;
use std::sync::Arc;

impl Maker<'_> {
    /// Fills a native field that takes no wire field.
    pub(super) fn missing(
        &mut self,
        n: &Field,
        dst: usize,
        rule: Option<&Rule>,
        number: usize,
        block: &mut Block,
    ) -> Result<()> {
        if rule.is_some_and(|rule| rule.required) {
            return Err(Error::new(Code::Required).at(self.path(number)).expected(describe(n)));
        }
        if let Some(value) = rule.and_then(|rule| rule.default.as_ref()) {
            self.default(n, dst, number, value, block).map_err(|error| error.within(&self.path(number)))?;
            self.report(Some(number), None, Action::Default);
            return Ok(());
        }
        self.report(Some(number), None, Action::Zero);
        if n.indirect {
            block.fill(dst, Bytes::Zero(self.native.pointer.into()));
            return Ok(());
        }
        self.blank(&n.element, dst, n.fixed_count().unwrap_or(0), number, block)
    }

    fn default(&mut self, n: &Field, dst: usize, number: usize, value: &Value, block: &mut Block) -> Result<()> {
        match (value, &n.element, n.indirect) {
            (Value::String(text), Element::String, false) if n.dims.is_empty() => {
                if text.contains(&0) {
                    return Err(Error::new(Code::Declaration).expected("a string without NUL"));
                }
                block.push(Step::Text { dst, text: text.as_slice().into(), field: number }, true);
            }
            (Value::Null, Element::String, _) | (Value::Null, _, true) => {
                block.fill(dst, Bytes::Zero(n.extent(self.native.pointer).unwrap_or(0)));
            }
            (_, _, true) => {
                return Err(Error::new(Code::Declaration).expected("null, the only default behind a pointer"));
            }
            _ => block.fill(dst, Bytes::Of(super::default::bytes(n, self.native, value)?.into())),
        }
        Ok(())
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
            Element::Enumeration(enumeration) if enumeration.symbol(0).is_none() => Err(Error::new(Code::Required)
                .at(self.element_path(number))
                .expected("a default, since no symbol has the value 0")
                .found("nothing")),
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
                Ok(())
            }
            _ => {
                block.fill(dst, Bytes::Zero(size * count));
                Ok(())
            }
        }
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
