//! Makes plans: goes through the fields of both formats, and proves every fixed access in bounds.
//!
//! Nothing is decided later. Everything that can fail only for a particular record - a number out of range, a null, a
//! length - is left in the steps as an explicit check. What comes for a field is decided in `find`, what is done to each
//! of its elements in `element`, what becomes of one for which nothing comes in `missing`, what the lengths of arrays
//! are in `lengths`; `block` makes few steps of many fields.

use super::block::Block;
use super::element::{Change, Transforms};
use super::find::{At, Found, find};
use super::lengths::Lengths;
use super::report::{Action, FieldReport, checks};
use super::rules::{Faults, Rule, Rules};
use super::schedule::Steps;
use super::step::{Array, Bytes, Count, Extent, Place, Step, Transform};
use super::{FieldPath, Plan};
use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Element, Field, Format, Kind, Machine};
use std::sync::Arc;

/// Plans; says of each field what was decided if there are `reports` to say it in.
pub(super) fn plan(
    wire: &Format,
    native: &Format,
    rules: &Rules,
    faults: Faults,
    reports: Option<&mut Vec<FieldReport>>,
) -> Result<Plan> {
    let machines = (wire.machine(), native.machine());
    let transforms = Transforms::default();
    let mut maker = Maker {
        rules,
        faults,
        wire: machines.0,
        native: machines.1,
        paths: Vec::new(),
        transforms,
        matched: false,
        reports,
    };
    let mut block = Block::default();
    maker.structure(At::start(wire.structure()), At::start(native.structure()), "", &mut block)?;
    if !maker.matched {
        // Another kind of record altogether: zeros would pass for data.
        let error = Error::new(Code::NoConversion).at(native.name());
        return Err(error.expected("a record with a field in common").came(wire.name()));
    }
    // A native record that ends in gaps may be longer than what is moved into it.
    let direct = !block.relocated && native.size() <= wire.size();
    let (steps, paths) = (block.finish().into(), maker.paths.into());
    Ok(Plan { wire: wire.clone(), native: native.clone(), faults, steps, paths, direct })
}

pub(super) struct Maker<'r> {
    pub(super) rules: &'r Rules,
    pub(super) faults: Faults,
    pub(super) wire: Machine,
    pub(super) native: Machine,
    pub(super) transforms: Transforms,
    paths: Vec<FieldPath>,
    /// Whether anything that came has become a native field.
    matched: bool,
    reports: Option<&'r mut Vec<FieldReport>>,
}

/// A native field and what comes for it.
#[derive(Clone, Copy)]
struct Pair<'a> {
    wire: Found<'a>,
    native: Found<'a>,
    /// The native field's, for messages.
    path: &'a str,
    rule: Option<&'a Rule>,
    /// Whether the native field before, too, is the one that came before: then there are only gaps between them.
    joined: bool,
}

impl Maker<'_> {
    pub(super) fn structure(&mut self, wire: At<'_>, native: At<'_>, path: &str, block: &mut Block) -> Result<()> {
        let mut lengths = Lengths::of(native.structure);
        let mut used = vec![false; wire.structure.fields().len()];
        // The wire field behind the one that became the native field before.
        let mut next = None;
        for (index, field) in native.structure.fields().iter().enumerate() {
            let expected = next.take();
            let path = join(path, &field.name);
            if lengths.is_length(index) {
                self.report(&path, None, Some(field), Action::Length);
                continue;
            }
            let rule = self.rules.of(native.structure.name(), &field.name);
            let Some(found) = find(wire, &field.name, rule) else {
                self.missing(field, native.offset(field), rule, &path, block)?;
                lengths.missing(field);
                continue;
            };
            used[found.through] = true;
            self.matched = true;
            check_unit(found.found.field, field).map_err(|error| error.at(&*path))?;
            let joined = !found.within && expected == Some(found.through);
            let native = Found { at: native, field };
            self.field(Pair { wire: found.found, native, path: &path, rule, joined }, &mut lengths, block)?;
            // Behind a nested structure may be fields that it has dropped.
            if !found.within && !matches!(field.element, Element::Structure(_)) {
                next = Some(found.through + 1);
            }
        }
        lengths.settle(native, path, block)?;
        if self.reports.is_some() {
            self.report_ignored(wire, &used, path);
        }
        Ok(())
    }

    fn report_ignored(&mut self, wire: At<'_>, used: &[bool], path: &str) {
        let lengths = Lengths::of(wire.structure);
        for (index, field) in wire.structure.fields().iter().enumerate() {
            if !used[index] && !lengths.is_length(index) {
                self.report(&join(path, &field.name), Some(field), None, Action::Ignored);
            }
        }
    }

    fn field(&mut self, pair: Pair<'_>, lengths: &mut Lengths, block: &mut Block) -> Result<()> {
        let Pair { path, rule, .. } = pair;
        let (w, n) = (pair.wire.field, pair.native.field);
        if let Some(step) = self.text(pair) {
            block.push(step, true);
            self.report_pair(pair, Action::Text);
            return Ok(());
        }
        if w.dims.len() != n.dims.len() {
            let shape = |field: &Field| match field.dims.len() {
                1 => "1 dimension".to_string(),
                count => format!("{count} dimensions"),
            };
            return Err(Error::new(Code::Shape).at(path).expected(shape(n)).came(shape(w)));
        }
        if !w.indirect && !n.indirect && n.dims.is_empty() {
            // A single nested structure is planned with its neighbours, so that runs may span its borders.
            if let (Element::Structure(ws), Element::Structure(ns)) = (&w.element, &n.element) {
                self.report_pair(pair, Action::Nested);
                let wire = At { structure: ws, base: pair.wire.offset() };
                let native = At { structure: ns, base: pair.native.offset() };
                return self.structure(wire, native, path, block);
            }
        }
        // The field is reported before those within it, and what is done to it is known after them.
        let report = self.reports.as_ref().map(|reports| reports.len());
        let change = self.transform(&w.element, &n.element, &element_path(n, path), rule)?;
        if let (Some(at), Some(reports)) = (report, &mut self.reports) {
            let (wire, native) = (Some(describe(w)), Some(describe(n)));
            let (action, checks) = (Action::of(&change.transform), checks(w, n, self.faults));
            reports.insert(at, FieldReport { path: path.into(), wire, native, action, checks });
        }
        self.check_shape(w, n, path)?;
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
                let field = self.path(pair.path, n);
                block.push(Step::Elements { src, dst, count, transform, field }, relocated);
            }
        }
        if to > from {
            self.blank(&n.element, dst + from * size, to - from, &element_path(n, pair.path), block)?;
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
            rest: self.rest(w, n, pair.path)?,
            lenient: self.faults != Faults::Error,
            field: self.path(pair.path, n),
        };
        let same_slots = self.wire == self.native && array.src == array.dst && array.src_size == array.dst_size;
        let same_block = w.element.block_alignment() == array.align && array.dims.iter().all(|dim| dim.src == dim.dst);
        block.push(Step::Array(Box::new(array)), change.moved || !same_slots || !same_block);
        Ok(())
    }

    /// The steps that fill an element for which none came, if that can be; none if it becomes zeros.
    fn rest(&mut self, w: &Field, n: &Field, path: &str) -> Result<Arc<Steps>> {
        let mut rest = Block::default();
        if self.may_lack_elements(w, n) {
            self.blank(&n.element, 0, 1, &element_path(n, path), &mut rest)?;
        }
        Ok(match rest.finish() {
            steps if matches!(steps[..], [Step::Fill { bytes: Bytes::Zero(_), .. }]) => Arc::new(Steps::default()),
            steps => Arc::new(steps.into()),
        })
    }

    /// Whether some record may leave the native array, one side of which is behind a pointer, with elements to fill.
    fn may_lack_elements(&self, w: &Field, n: &Field) -> bool {
        let fewer = match (w.dims.first(), n.dims.first()) {
            (Some(Dimension::Fixed(from)), Some(Dimension::Fixed(to))) => from < to,
            (Some(Dimension::Field(_)), Some(Dimension::Fixed(_))) => true,
            _ => false,
        };
        // Null is one that is empty, or what a lenient receiver takes for missing.
        let null = w.indirect && !n.indirect && (w.is_dynamic() || self.faults != Faults::Error);
        fewer || null
    }

    /// A string into a `char[n]`, or the reverse.
    fn text(&mut self, pair: Pair<'_>) -> Option<Step> {
        let (w, n) = (pair.wire.field, pair.native.field);
        let (src, dst) = (pair.wire.offset(), pair.native.offset());
        let single = |field: &Field| field.element == Element::String && field.dims.is_empty() && !field.indirect;
        let chars = |field: &Field| match (&field.element, &*field.dims, field.indirect) {
            (Element::Char, [Dimension::Fixed(len)], false) => Some(*len),
            _ => None,
        };
        match (single(w), chars(w), single(n), chars(n)) {
            (true, _, _, Some(len)) => Some(Step::Chars { src, dst, len, field: self.path(pair.path, n) }),
            (_, Some(len), true, _) => Some(Step::Str { src, len, dst }),
            _ => None,
        }
    }

    fn check_shape(&self, w: &Field, n: &Field, path: &str) -> Result<()> {
        for (axis, (from, to)) in w.dims.iter().zip(&n.dims).enumerate() {
            let (Dimension::Fixed(from), Dimension::Fixed(to)) = (*from, *to) else { continue };
            if axis > 0 && from != to {
                let fault = Error::new(Code::Shape).at(path).expected(format_args!("{to} in dimension {axis}"));
                return Err(fault.came(from));
            }
            if from > to && self.faults == Faults::Error {
                return Err(Error::new(Code::TooLong).at(path).expected(format_args!("at most {to}")).came(from));
            }
        }
        Ok(())
    }

    pub(super) fn path(&mut self, text: &str, field: &Field) -> usize {
        let fixed = |dim: &Dimension| match dim {
            Dimension::Fixed(n) => *n,
            Dimension::Field(_) => 0,
        };
        let inner = field.dims.iter().skip(1).map(fixed).collect();
        self.paths.push(FieldPath { text: text.into(), rank: field.dims.len(), inner });
        self.paths.len() - 1
    }

    pub(super) fn report(&mut self, path: &str, wire: Option<&Field>, native: Option<&Field>, action: Action) {
        if let Some(reports) = &mut self.reports {
            let (wire, native) = (wire.map(describe), native.map(describe));
            reports.push(FieldReport { path: path.into(), wire, native, action, checks: Vec::new() });
        }
    }

    fn report_pair(&mut self, pair: Pair<'_>, action: Action) {
        let (w, n) = (pair.wire.field, pair.native.field);
        if let Some(reports) = &mut self.reports {
            let (wire, native, checks) = (Some(describe(w)), Some(describe(n)), checks(w, n, self.faults));
            reports.push(FieldReport { path: pair.path.into(), wire, native, action, checks });
        }
    }
}

/// What one element of a field is called in messages.
pub(super) fn element_path(field: &Field, path: &str) -> String {
    if field.dims.is_empty() { path.to_string() } else { format!("{path}[]") }
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
                Element::Integer { signed, size } => (signed, size.into()),
                _ => unreachable!("Structure::new admits integers only"),
            };
            Count::Field { at: at.offset(field), size, signed }
        }
    }
}

fn check_unit(wire: &Field, native: &Field) -> Result<()> {
    match (&wire.unit, &native.unit) {
        (Some(from), Some(to)) if from != to => Err(Error::new(Code::Unit).expected(to).came(from)),
        _ => Ok(()),
    }
}

pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}.{name}") }
}

/// A field's type as it is written: `f64[3]`.
pub(super) fn describe(field: &Field) -> String {
    let mut text = Kind::of(&field.element).to_string();
    for dim in &field.dims {
        match dim {
            Dimension::Fixed(n) => text.push_str(&format!("[{n}]")),
            Dimension::Field(_) => text.push_str("[]"),
        }
    }
    if field.indirect && !field.is_dynamic() {
        text.push('*');
    }
    if let Some(unit) = &field.unit {
        text.push_str(&format!(" in {unit}"));
    }
    text
}
