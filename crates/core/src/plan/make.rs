//! Makes plans: goes through the fields of both formats, and proves every fixed access in bounds.
//!
//! All decisions are made here. Only faults of a particular record, such as a number out of range, a null or a length,
//! are left to the steps, as explicit checks. `find` finds the wire field for a native field, `element` decides the
//! conversion of its elements, `missing` fills or refuses fields that the sender lacks, and `lengths` computes the lengths of
//! arrays. `block` merges the work on many fields into a few steps.

use super::Plan;
use super::block::Block;
use super::element::{Change, Transforms};
use super::find::{At, Found, Taken, find};
use super::lengths::Lengths;
use super::missing::{Lacking, Short};
use super::report::{Action, Reports, describe, element_path};
use super::rules::{Faults, Missing, Rule, Rules};
use super::schedule::Steps;
use super::step::{Array, Bytes, Count, Extent, Place, Step, Transform};
use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Element, Field, Format, Machine, Structure};
use std::fmt;
use std::sync::Arc;

/// So many reasons to refuse a pair are reported. The formats can come from strangers.
const OBSTACLES: usize = 64;

/// Makes a plan. If `reports` is given, adds the decision for each field to it.
pub(super) fn plan(
    wire: &Format,
    native: &Format,
    rules: &Rules,
    faults: Faults,
    reports: Option<&mut Reports>,
) -> Result<Plan> {
    let machines = (wire.machine(), native.machine());
    let (root, transforms) = (native.structure(), Transforms::default());
    let zero = rules.on_missing() == Missing::Zero;
    let (matched, lacking) = (false, Lacking::default());
    let mut maker = Maker {
        rules,
        faults,
        wire: machines.0,
        native: machines.1,
        root,
        transforms,
        matched,
        zero,
        lacking,
        reports,
    };
    let mut block = Block::default();
    maker.structure(At::start(wire.structure(), 0), At::start(root, 0), None, &mut block)?;
    let whole = maker.whole(wire, native);
    if let (Err(error), Some(reports)) = (&whole, &mut maker.reports) {
        reports.obstacles.push(error.clone());
    }
    match maker.reports.as_ref().and_then(|reports| reports.obstacles.first()) {
        Some(first) => return Err(first.clone()),
        None => whole?,
    }
    // A native record that ends in a gap may be longer than the bytes that are moved into it.
    let direct = !block.relocated && native.size() <= wire.size();
    let steps = block.finish().into();
    Ok(Plan { wire: wire.clone(), native: native.clone(), faults, steps, direct })
}

/// The names of a structure's fields, for an error that shows as many as it has room for.
pub(super) struct Names<'a>(pub(super) &'a Structure);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fields().iter().enumerate().try_for_each(|(i, field)| {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{}", field.name)
        })
    }
}

pub(super) struct Maker<'r> {
    pub(super) rules: &'r Rules,
    pub(super) faults: Faults,
    pub(super) wire: Machine,
    pub(super) native: Machine,
    pub(super) transforms: Transforms,
    /// The native record, in which fields are found by number.
    root: &'r Structure,
    /// Whether any native field takes a wire field.
    matched: bool,
    /// Whether missing fields become zero: as the receiver chose, or as the default of an outer field says.
    pub(super) zero: bool,
    /// The native fields that nothing fills.
    pub(super) lacking: Lacking,
    reports: Option<&'r mut Reports>,
}

/// A native field, and the wire field that it takes.
#[derive(Clone, Copy)]
struct Pair<'a> {
    wire: Found<'a>,
    native: Found<'a>,
    /// The number of the native field.
    number: usize,
    rule: Option<&'a Rule>,
    /// Whether the fields just before these two are a pair as well. Then only gaps lie between the pairs.
    joined: bool,
}

impl Maker<'_> {
    /// Checks what depends on all fields: whether any takes a wire field, and whether any is missing.
    fn whole(&mut self, wire: &Format, native: &Format) -> Result<()> {
        if !self.matched && !self.lacking.has_required() && !self.rules.is_part() {
            // The sender's record is of another kind. Zeros would pass for data.
            let error = Error::new(Code::NoConversion).at(native.name());
            let expected = format_args!("a record with a field in common with {}", Names(self.root));
            return Err(error.expected(expected).found(format_args!(
                "{} with {}",
                wire.name(),
                Names(wire.structure())
            )));
        }
        self.lacking.settle(wire, self.root)
    }

    /// Notes an error of the pair if all of them are to be reported. Otherwise the first one is returned.
    fn obstacle(&mut self, native: usize, wire: Option<usize>, error: Error) -> Result<()> {
        match &mut self.reports {
            Some(reports) if reports.obstacles.len() < OBSTACLES => {
                reports.refuse(native, wire, error);
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Plans a record, or the structure that the native field of this number nests.
    pub(super) fn structure(
        &mut self,
        wire: At<'_>,
        native: At<'_>,
        nest: Option<usize>,
        block: &mut Block,
    ) -> Result<()> {
        let mut used = vec![false; wire.structure.fields().len()];
        self.fields(wire, native, &mut used, block)?;
        if self.reports.is_some() {
            self.report_ignored(wire, &used, nest);
        }
        Ok(())
    }

    /// Plans the fields of a structure, and notes which fields of the wire structure they use.
    fn fields(&mut self, wire: At<'_>, native: At<'_>, used: &mut [bool], block: &mut Block) -> Result<()> {
        let mut lengths = Lengths::of(native.structure);
        // The wire field after the one that the previous native field took.
        let mut next = None;
        for ((index, field), number) in native.structure.fields().iter().enumerate().zip(native.numbers()) {
            let expected = next.take();
            if lengths.is_length(index) {
                self.report_length(wire, field, number);
                continue;
            }
            let rule = self.rules.of(native.structure.name(), &field.name);
            let found = match find(wire, field, rule, self.rules) {
                Some(Taken::Field(found)) => found,
                Some(Taken::Here(inner)) => {
                    self.report(Some(number), None, Action::Nested);
                    let inner = At { structure: inner, base: native.offset(field), first: number + 1 };
                    self.fields(wire, inner, used, block)?;
                    continue;
                }
                None => {
                    if let Err(error) = self.missing(field, native.offset(field), rule, number, block) {
                        self.obstacle(number, None, error)?;
                    }
                    lengths.missing(field);
                    continue;
                }
            };
            used[found.through] = true;
            self.matched = true;
            let joined = !found.within && expected == Some(found.through);
            let native = Found::of(native, index);
            let pair = Pair { wire: found.found, native, number, rule, joined };
            let planned = match check_unit(found.found.field, field) {
                Ok(()) => self.field(pair, &mut lengths, block),
                Err(error) => Err(error.at(self.path(number))),
            };
            if let Err(error) = planned {
                self.obstacle(number, Some(found.found.number()), error)?;
            }
            // A nested structure may end with fields that the receiver ignores.
            if !found.within && !matches!(field.element, Element::Structure(_)) {
                next = Some(found.through + 1);
            }
        }
        match lengths.settle(native, block) {
            Err((number, error)) => self.obstacle(number, None, error.at(self.path(number))),
            Ok(()) => Ok(()),
        }
    }

    /// Reports the length of arrays, with the wire field of the same name if that is a length as well.
    fn report_length(&mut self, wire: At<'_>, field: &Field, number: usize) {
        if self.reports.is_some() {
            let index = wire.structure.index_of(&field.name);
            let came = index.filter(|&index| Lengths::of(wire.structure).is_length(index));
            self.report(Some(number), came.map(|index| Found::of(wire, index).number()), Action::Length);
        }
    }

    fn report_ignored(&mut self, wire: At<'_>, used: &[bool], nest: Option<usize>) {
        let lengths = Lengths::of(wire.structure);
        for (index, number) in wire.numbers().enumerate() {
            if !used[index] && !lengths.is_length(index) {
                self.report(nest, Some(number), Action::Ignored);
            }
        }
    }

    fn field(&mut self, pair: Pair<'_>, lengths: &mut Lengths, block: &mut Block) -> Result<()> {
        let Pair { number, rule, .. } = pair;
        let (w, n) = (pair.wire.field, pair.native.field);
        if let Some(step) = self.text(pair) {
            block.push(step, true);
            self.report_pair(pair, Action::Text);
            return Ok(());
        }
        if w.dims.len() != n.dims.len() {
            let text = |field: &Field| if field.element == Element::Char { " (text)" } else { "" };
            let shape = |field: &Field| describe(field) + text(field);
            return Err(Error::new(Code::Shape).at(self.path(number)).expected(shape(n)).found(shape(w)));
        }
        if !w.indirect && !n.indirect && n.dims.is_empty() {
            // A single nested structure is planned with its neighbours, so that runs may span its borders.
            if let (Element::Structure(ws), Element::Structure(ns)) = (&w.element, &n.element) {
                self.report_pair(pair, Action::Nested);
                let wire = pair.wire.nested(ws, pair.wire.offset());
                let native = At { structure: ns, base: pair.native.offset(), first: number + 1 };
                return self.structure(wire, native, Some(number), block);
            }
        }
        // The report of this field comes before those of the fields within it. Its action is known only after them.
        let report = self.report_pair(pair, Action::Nested);
        let change = self.transform(pair.wire, &n.element, number, rule)?;
        if let (Some(report), Some(reports)) = (report, &mut self.reports) {
            reports.settle(report, Action::of(&change.transform));
        }
        self.check_shape(w, n, number)?;
        match w.indirect || n.indirect {
            true => self.array(pair, change, lengths, block),
            false => self.inline(pair, change, block),
        }
    }

    /// An array, or single element, that lies in the record on both sides.
    fn inline(&mut self, pair: Pair<'_>, change: Change, block: &mut Block) -> Result<()> {
        let (w, n) = (pair.wire.field, pair.native.field);
        let (src, dst) = (pair.wire.offset(), pair.native.offset());
        let (from, to) = (w.fixed_count().unwrap_or(0), n.fixed_count().unwrap_or(0));
        let count = from.min(to);
        let size = n.element_size(self.native.pointer);
        match change.transform {
            Transform::Copy(size) => block.copy(src, dst, size, count, pair.joined),
            Transform::Swap { width, per } => block.swap(src, dst, width, count * per),
            transform => {
                let relocated = change.moved || src != dst || w.element_size(self.wire.pointer) != size;
                block.push(Step::Elements { src, dst, count, transform, field: pair.number }, relocated);
            }
        }
        if to > from {
            let missing = Short { field: n, dst: dst + from * size, count: to - from, number: pair.number };
            self.short(missing, pair.rule, block)?;
        }
        Ok(())
    }

    /// An array of which at least one side is behind a pointer.
    fn array(&mut self, pair: Pair<'_>, change: Change, lengths: &mut Lengths, block: &mut Block) -> Result<()> {
        let (w, n) = (pair.wire.field, pair.native.field);
        let extent = |(&from, &to)| Extent {
            src: count(pair.wire.at, from),
            dst: count(pair.native.at, to),
            agree: lengths.fill(to),
        };
        let array = Array {
            src: place(pair.wire),
            dst: place(pair.native),
            dims: w.dims.iter().zip(&n.dims).map(extent).collect(),
            src_size: w.element_size(self.wire.pointer),
            dst_size: n.element_size(self.native.pointer),
            align: n.element.block_alignment(),
            transform: change.transform,
            rest: self.rest(pair)?,
            lenient: self.faults != Faults::Error,
            field: pair.number,
        };
        let same_slots = self.wire == self.native && array.src == array.dst && array.src_size == array.dst_size;
        let same_block = w.element.block_alignment() == array.align && array.dims.iter().all(|dim| dim.src == dim.dst);
        block.push(Step::Array(Box::new(array)), change.moved || !same_slots || !same_block);
        Ok(())
    }

    /// The steps that fill an element which the wire array lacks, if that can happen. There are no steps if it becomes
    /// zeros, and `None` if the record is refused.
    fn rest(&mut self, pair: Pair<'_>) -> Result<Option<Arc<Steps>>> {
        let (w, n) = (pair.wire.field, pair.native.field);
        let mut rest = Block::default();
        let (all, some) = match (w.dims.first(), n.dims.first()) {
            (Some(Dimension::Fixed(from)), Some(Dimension::Fixed(to))) => (from < to, false),
            (Some(Dimension::Field(_)), Some(Dimension::Fixed(_))) => (false, true),
            _ => (false, false),
        };
        // A null pointer stands for an empty array, or for missing elements if the receiver is lenient.
        let null = w.indirect && !n.indirect && !w.is_dynamic() && self.faults != Faults::Error;
        let missing = Short { field: n, dst: 0, count: 1, number: pair.number };
        let known = self.lacking.len();
        if all {
            self.short(missing, pair.rule, &mut rest)?;
        } else if some {
            // Reports have one entry for each field, and the array has one already.
            let reports = self.reports.take();
            let done = self.short(missing, pair.rule, &mut rest);
            self.reports = reports;
            done?;
        } else if null {
            self.zeroed(|maker| maker.blank(&n.element, 0, 1, pair.number, &mut rest))?;
        }
        if some && self.lacking.len() > known {
            // Only the record can tell whether elements are missing.
            self.lacking.truncate(known);
            return Ok(None);
        }
        Ok(Some(match rest.finish() {
            steps if matches!(steps[..], [Step::Fill { bytes: Bytes::Zero(_), .. }]) => Arc::new(Steps::default()),
            steps => Arc::new(steps.into()),
        }))
    }

    /// A string into a `char[n]`, or the reverse.
    fn text(&self, pair: Pair<'_>) -> Option<Step> {
        let (w, n) = (pair.wire.field, pair.native.field);
        let (src, dst) = (pair.wire.offset(), pair.native.offset());
        let single = |field: &Field| field.element == Element::String && field.dims.is_empty() && !field.indirect;
        let chars = |field: &Field| match (&field.element, &*field.dims, field.indirect) {
            (Element::Char, [Dimension::Fixed(len)], false) => Some(*len),
            _ => None,
        };
        match (single(w), chars(w), single(n), chars(n)) {
            (true, _, _, Some(len)) => Some(Step::Chars { src, dst, len, field: pair.number }),
            (_, Some(len), true, _) => Some(Step::Str { src, len, dst, field: pair.number }),
            _ => None,
        }
    }

    fn check_shape(&self, w: &Field, n: &Field, number: usize) -> Result<()> {
        for (axis, (from, to)) in w.dims.iter().zip(&n.dims).enumerate() {
            let (Dimension::Fixed(from), Dimension::Fixed(to)) = (*from, *to) else { continue };
            if axis > 0 && from != to {
                let fault = Error::new(Code::Shape)
                    .at(self.path(number))
                    .expected(format_args!("{to} elements in dimension {axis}"));
                return Err(fault.found(from));
            }
            if from > to && self.faults == Faults::Error {
                let fault = Error::new(Code::TooLong).at(self.path(number));
                return Err(match n.element == Element::Char && n.dims.len() == 1 && w.element == Element::Char {
                    true => {
                        fault.expected(format_args!("char[{to}]")).found(format_args!("char[{from}], which is longer"))
                    }
                    false => fault.expected(format_args!("at most {to} elements")).found(from),
                });
            }
        }
        Ok(())
    }

    /// The path of the native field of this number.
    #[cold]
    pub(super) fn path(&self, number: usize) -> String {
        self.root.numbered(number).map_or(String::new(), |(path, _)| path)
    }

    /// The name of one element of that field.
    #[cold]
    pub(super) fn element_path(&self, number: usize) -> String {
        self.root.numbered(number).map_or(String::new(), |(path, field)| element_path(path, field))
    }

    /// Reports the decision for a pair of fields, one of which may be missing.
    pub(super) fn report(&mut self, native: Option<usize>, wire: Option<usize>, action: Action) -> Option<usize> {
        self.reports.as_mut().map(|reports| reports.push(native, wire, action))
    }

    fn report_pair(&mut self, pair: Pair<'_>, action: Action) -> Option<usize> {
        self.reports.as_mut().map(|reports| reports.push(Some(pair.number), Some(pair.wire.number()), action))
    }
}

fn place(found: Found<'_>) -> Place {
    match found.field.indirect {
        true => Place::Slot(found.offset()),
        false => Place::Inline(found.offset()),
    }
}

fn count(at: At<'_>, dim: Dimension) -> Count {
    match dim {
        Dimension::Fixed(n) => Count::Fixed(n),
        Dimension::Field(index) => {
            let field = &at.structure.fields()[index];
            let (signed, size) = match field.element {
                Element::Integer { signed, size } => (signed, size),
                _ => unreachable!("Structure::new admits integers only"),
            };
            Count::Field { at: at.offset(field), size, signed }
        }
    }
}

fn check_unit(wire: &Field, native: &Field) -> Result<()> {
    match (&wire.unit, &native.unit) {
        (Some(from), Some(to)) if from != to => Err(Error::new(Code::Unit).expected(to).found(from)),
        _ => Ok(()),
    }
}
