//! Makes plans: matches fields by name, decides what becomes of each, and proves every fixed access in bounds.
//!
//! Nothing is decided later. Everything that can fail only for a particular record - a number out of range, a null, a
//! length - is left in the steps as an explicit check.

use super::block::Block;
use super::gathered::Gathered;
use super::report::{Action, FieldReport};
use super::rules::{Faults, Rule, Rules};
use super::step::{Array, Bytes, Conversion, Count, Extent, Number, NumberClass, Place, Step, Symbols, Transform};
use super::{FieldPath, Plan};
use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Element, Enumeration, Field, FloatKind, Format, Kind, Machine, Structure};
use crate::value::Value;
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
    let mut maker = Maker { rules, faults, wire: machines.0, native: machines.1, paths: Vec::new(), reports };
    let mut block = Block::default();
    maker.structure(At::start(wire.structure()), At::start(native.structure()), "", &mut block)?;
    // A native record that ends in gaps may be longer than what is moved into it.
    let direct = !block.relocated && native.size() <= wire.size();
    let steps: Box<[Step]> = block.finish().into();
    let (gathered, paths) = (Gathered::of(&steps), maker.paths.into());
    Ok(Plan { wire: wire.clone(), native: native.clone(), faults, steps, gathered, paths, direct })
}

/// A structure, and where it begins in the record or element at hand.
#[derive(Clone, Copy)]
struct At<'a> {
    structure: &'a Structure,
    base: usize,
}

impl<'a> At<'a> {
    fn start(structure: &'a Structure) -> At<'a> {
        At { structure, base: 0 }
    }

    fn offset(self, field: &Field) -> usize {
        self.base + field.offset
    }
}

/// A field that matched another: the structure that it stands in, and the field.
type Found<'a> = (At<'a>, &'a Field);

struct Maker<'r> {
    rules: &'r Rules,
    faults: Faults,
    wire: Machine,
    native: Machine,
    paths: Vec<FieldPath>,
    reports: Option<&'r mut Vec<FieldReport>>,
}

impl Maker<'_> {
    fn structure(&mut self, wire: At<'_>, native: At<'_>, path: &str, block: &mut Block) -> Result<()> {
        let mut lengths = Lengths::of(native.structure);
        let mut used = vec![false; wire.structure.fields().len()];
        let mut joined = false;
        for (index, field) in native.structure.fields().iter().enumerate() {
            let path = join(path, &field.name);
            if lengths.is_length(index) {
                self.report(&path, None, Some(field), Action::Length);
                joined = false;
                continue;
            }
            let rule = self.rules.of(native.structure.name(), &field.name);
            let Some(found) = find(wire, &field.name, rule) else {
                self.missing(field, native.offset(field), native.structure.name(), &path, block)?;
                lengths.missing(field);
                joined = false;
                continue;
            };
            let known = wire.structure.index_of(&found.1.name).filter(|_| found.0.base == wire.base);
            // Bytes between this field and the one before are gaps on both sides if they are neighbours on both sides
            // (behind a nested structure they may be fields that it has dropped).
            joined &= known.is_some_and(|at| at > 0 && used[at - 1]);
            if let Some(at) = known {
                used[at] = true;
            }
            check_unit(found.1, field).map_err(|error| error.at(&*path))?;
            self.field(found, (native, field), &path, rule, &mut lengths, joined, block)?;
            joined = !matches!(field.element, Element::Structure(_));
        }
        lengths.settle(native, path, block)?;
        for (field, used) in wire.structure.fields().iter().zip(used) {
            if !used && !is_length(wire.structure, field) {
                self.report(&join(path, &field.name), Some(field), None, Action::Ignored);
            }
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one field's two sides, its rule, and where the work is collected")]
    fn field(
        &mut self,
        wire: Found<'_>,
        native: Found<'_>,
        path: &str,
        rule: Option<&Rule>,
        lengths: &mut Lengths,
        joined: bool,
        block: &mut Block,
    ) -> Result<()> {
        let ((wire_at, w), (native_at, n)) = (wire, native);
        let (src, dst) = (wire_at.offset(w), native_at.offset(n));
        if let Some(step) = self.text(w, src, n, dst, path) {
            block.push(step, true);
            self.report(path, Some(w), Some(n), Action::Text);
            return Ok(());
        }
        if w.dims.len() != n.dims.len() {
            let shape = |field: &Field| format!("{} dimensions", field.dims.len());
            return Err(Error::new(Code::Shape).at(path).expected(shape(n)).came(shape(w)));
        }
        if !w.indirect && !n.indirect && n.dims.is_empty() {
            // A single nested structure is planned with its neighbours, so that runs may span its borders.
            if let (Element::Structure(ws), Element::Structure(ns)) = (&w.element, &n.element) {
                self.report(path, Some(w), Some(n), Action::Nested);
                let (ws, ns) = (At { structure: ws, base: src }, At { structure: ns, base: dst });
                return self.structure(ws, ns, path, block);
            }
        }
        let element_path = if n.dims.is_empty() { path.to_string() } else { format!("{path}[]") };
        let report = self.reports.as_ref().map(|reports| reports.len());
        let (transform, moved) = self.transform(&w.element, &n.element, &element_path, rule)?;
        if let (Some(at), Some(reports)) = (report, &mut self.reports) {
            let action = Action::of(&transform);
            let (wire, native) = (Some(describe(w)), Some(describe(n)));
            reports.insert(at, FieldReport { path: path.into(), wire, native, action });
        }
        self.check_shape(w, n, path)?;
        if w.indirect || n.indirect {
            self.array(wire, native, transform, moved, path, lengths, block)
        } else {
            self.inline(w, src, n, dst, transform, moved, path, joined, block)
        }
    }

    /// An array, or single element, that lies in the record on both sides.
    #[expect(clippy::too_many_arguments, reason = "as `field`")]
    fn inline(
        &mut self,
        w: &Field,
        src: usize,
        n: &Field,
        dst: usize,
        transform: Transform,
        moved: bool,
        path: &str,
        joined: bool,
        block: &mut Block,
    ) -> Result<()> {
        let (from, to) = (w.fixed_count().unwrap_or(0), n.fixed_count().unwrap_or(0));
        let count = from.min(to);
        match &transform {
            Transform::Copy(size) => block.copy(src, dst, *size, count, joined),
            Transform::Swap { width, per } => block.swap(src, dst, *width, count * per),
            _ => {
                let relocated =
                    moved || src != dst || w.element_size(self.wire.pointer) != n.element_size(self.native.pointer);
                let field = self.path(path, n);
                block.push(Step::Elements { src, dst, count, transform, field }, relocated);
            }
        }
        if to > from {
            let size = n.element_size(self.native.pointer);
            self.blank(&n.element, dst + from * size, to - from, &format!("{path}[]"), block)?;
        }
        Ok(())
    }

    /// An array of which at least one side is behind a pointer.
    #[expect(clippy::too_many_arguments, reason = "as `field`")]
    fn array(
        &mut self,
        (wire_at, w): Found<'_>,
        (native_at, n): Found<'_>,
        transform: Transform,
        moved: bool,
        path: &str,
        lengths: &mut Lengths,
        block: &mut Block,
    ) -> Result<()> {
        let place = |at: At<'_>, field: &Field| match field.indirect {
            true => Place::Slot(at.offset(field)),
            false => Place::Inline(at.offset(field)),
        };
        let dims: Box<[Extent]> = w
            .dims
            .iter()
            .zip(&n.dims)
            .map(|(&from, &to)| Extent {
                src: count(wire_at, from),
                dst: count(native_at, to),
                agree: lengths.fill(to),
            })
            .collect();
        let mut rest = Block::default();
        if self.may_lack_elements(w, n) {
            let element = if n.dims.is_empty() { path.to_string() } else { format!("{path}[]") };
            self.blank(&n.element, 0, 1, &element, &mut rest)?;
        }
        let rest: Arc<[Step]> = match rest.finish() {
            steps if matches!(steps[..], [Step::Fill { bytes: Bytes::Zero(_), .. }]) => Arc::new([]),
            steps => steps.into(),
        };
        let array = Array {
            src: place(wire_at, w),
            dst: place(native_at, n),
            src_size: w.element_size(self.wire.pointer),
            dst_size: n.element_size(self.native.pointer),
            align: n.element.block_alignment(),
            lenient: self.faults != Faults::Error,
            dims,
            transform,
            rest,
            field: self.path(path, n),
        };
        let same_slots = self.wire == self.native && array.src == array.dst && array.src_size == array.dst_size;
        let same_block = w.element.block_alignment() == array.align && array.dims.iter().all(|dim| dim.src == dim.dst);
        let relocated = moved || !same_slots || !same_block;
        block.push(Step::Array(Box::new(array)), relocated);
        Ok(())
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

    /// What is done to each element, and whether the result differs from the source's bytes.
    fn transform(
        &mut self,
        wire: &Element,
        native: &Element,
        path: &str,
        rule: Option<&Rule>,
    ) -> Result<(Transform, bool)> {
        match (wire, native) {
            (Element::Structure(w), Element::Structure(n)) => {
                let mut block = Block::default();
                self.structure(At::start(w), At::start(n), path, &mut block)?;
                let moved = block.relocated || w.size() != n.size();
                let steps = block.finish();
                Ok((
                    whole(&steps, w, n).unwrap_or(Transform::Each {
                        src: w.size(),
                        dst: n.size(),
                        steps: steps.into(),
                    }),
                    moved,
                ))
            }
            (Element::String, Element::String) => Ok((Transform::String, self.wire != self.native)),
            (Element::Enumeration(w), Element::Enumeration(n)) => self.enumeration(w, n, rule, path),
            (Element::Integer { signed, size }, Element::Enumeration(n)) if *size <= 8 => {
                // Whatever number comes must be one that has a symbol here.
                let class = if *signed { NumberClass::Signed } else { NumberClass::Unsigned };
                let from = Number { class, size: *size, order: self.wire.order };
                let map = n.symbols().iter().map(|s| (s.value, s.name.clone(), Some(s.value))).collect();
                let to = enumeration_number(n, self.native);
                Ok((Transform::Symbols(Arc::new(Symbols { from, to, map })), true))
            }
            (_, Element::Enumeration(_)) | (Element::Float { .. }, Element::Boolean { .. }) => {
                Err(mismatch(wire, native, path))
            }
            (Element::Enumeration(_), to) if !matches!(to, Element::Integer { .. }) => {
                Err(mismatch(wire, native, path))
            }
            _ => {
                let (from, to) = (number(wire, self.wire), number(native, self.native));
                let (Some((from, per)), Some((to, per_native))) = (from, to) else {
                    return Err(mismatch(wire, native, path));
                };
                if per != per_native {
                    return Err(mismatch(wire, native, path));
                }
                let transform = self.number(from, to, per);
                let moved = !matches!(transform, Transform::Copy(_));
                Ok((transform, moved))
            }
        }
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

    fn enumeration(
        &mut self,
        wire: &Enumeration,
        native: &Enumeration,
        rule: Option<&Rule>,
        path: &str,
    ) -> Result<(Transform, bool)> {
        let (from, to) = (enumeration_number(wire, self.wire), enumeration_number(native, self.native));
        let same = |symbol: &crate::format::Symbol| native.value(&symbol.name) == Some(symbol.value);
        if wire.size() == native.size() && wire.symbols().iter().all(same) {
            // Every number that the verifier lets pass is the number of the same symbol here.
            let transform = self.number(from, Number { class: from.class, ..to }, 1);
            let moved = !matches!(transform, Transform::Copy(_));
            return Ok((transform, moved));
        }
        let default = match rule.and_then(|rule| rule.default.as_ref()) {
            // A default for each element is none for any of them.
            Some(Value::Array(_)) | None => None,
            Some(value) => Some(symbol_value(native, value).map_err(|error| error.at(path))?),
        };
        let map: Box<[_]> =
            wire.symbols().iter().map(|s| (s.value, s.name.clone(), native.value(&s.name).or(default))).collect();
        if map.iter().all(|(_, _, value)| value.is_none()) {
            return Err(Error::new(Code::NoConversion).at(path).expected(native).came(wire));
        }
        Ok((Transform::Symbols(Arc::new(Symbols { from, to, map })), true))
    }

    /// A string into a `char[n]`, or the reverse.
    fn text(&mut self, w: &Field, src: usize, n: &Field, dst: usize, path: &str) -> Option<Step> {
        let single = |field: &Field| field.element == Element::String && field.dims.is_empty() && !field.indirect;
        let chars = |field: &Field| match (&field.element, &*field.dims, field.indirect) {
            (Element::Char, [Dimension::Fixed(len)], false) => Some(*len),
            _ => None,
        };
        match (single(w), chars(w), single(n), chars(n)) {
            (true, _, _, Some(len)) => Some(Step::Chars { src, dst, len, field: self.path(path, n) }),
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

    /// A field for which nothing comes.
    fn missing(&mut self, n: &Field, dst: usize, structure: &str, path: &str, block: &mut Block) -> Result<()> {
        let rule = self.rules.of(structure, &n.name);
        if rule.is_some_and(|rule| rule.required) {
            return Err(Error::new(Code::Required).at(path).expected(describe(n)));
        }
        if let Some(value) = rule.and_then(|rule| rule.default.as_ref()) {
            self.default(n, dst, value, block).map_err(|error| error.within(path))?;
            self.report(path, None, Some(n), Action::Default);
            return Ok(());
        }
        self.report(path, None, Some(n), Action::Zero);
        if n.indirect {
            block.fill(dst, Bytes::Zero(self.native.pointer.into()));
            return Ok(());
        }
        let (count, inner) = (n.fixed_count().unwrap_or(0), format!("{path}[]"));
        self.blank(&n.element, dst, count, if n.dims.is_empty() { path } else { &inner }, block)
    }

    fn default(&mut self, n: &Field, dst: usize, value: &Value, block: &mut Block) -> Result<()> {
        match (value, &n.element, n.indirect) {
            (Value::String(text), Element::String, false) if n.dims.is_empty() => {
                if text.contains(&0) {
                    return Err(Error::new(Code::Declaration).expected("a string without NUL"));
                }
                block.push(Step::Text { dst, text: text.as_slice().into() }, true);
            }
            (Value::Null, Element::String, _) | (Value::Null, _, true) => {
                block.fill(dst, Bytes::Zero(n.extent(self.native.pointer).unwrap_or(0)));
            }
            (_, _, true) => return Err(Error::new(Code::Declaration).expected("no default but null behind a pointer")),
            _ => block.fill(dst, Bytes::Of(super::default::bytes(n, self.native, value)?.into())),
        }
        Ok(())
    }

    /// Elements for which nothing comes: zero, null, or what the fields of a structure have as defaults.
    fn blank(&mut self, element: &Element, dst: usize, count: usize, path: &str, block: &mut Block) -> Result<()> {
        let size = element.size(self.native.pointer);
        match element {
            Element::Enumeration(enumeration) if enumeration.symbol(0).is_none() => {
                Err(Error::new(Code::Required).at(path).expected("a default, as no symbol is 0").came("nothing"))
            }
            Element::Structure(structure) => {
                let mut one = Block::default();
                self.blank_structure(structure, path, &mut one)?;
                let steps = one.finish();
                if steps.iter().all(|step| matches!(step, Step::Fill { bytes: Bytes::Zero(_), .. })) {
                    block.fill(dst, Bytes::Zero(size * count));
                } else {
                    let transform = Transform::Each { src: 0, dst: size, steps: steps.into() };
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

    fn blank_structure(&mut self, structure: &Structure, path: &str, block: &mut Block) -> Result<()> {
        let lengths = Lengths::of(structure);
        for (index, field) in structure.fields().iter().enumerate() {
            match lengths.is_length(index) {
                true => block.fill(field.offset, Bytes::Zero(field.extent(self.native.pointer).unwrap_or(0))),
                false => self.missing(field, field.offset, structure.name(), &join(path, &field.name), block)?,
            }
        }
        Ok(())
    }

    fn path(&mut self, text: &str, field: &Field) -> usize {
        let fixed = |dim: &Dimension| match dim {
            Dimension::Fixed(n) => *n,
            Dimension::Field(_) => 0,
        };
        let inner = field.dims.iter().skip(1).map(fixed).collect();
        self.paths.push(FieldPath { text: text.into(), rank: field.dims.len(), inner });
        self.paths.len() - 1
    }

    fn report(&mut self, path: &str, wire: Option<&Field>, native: Option<&Field>, action: Action) {
        if let Some(reports) = &mut self.reports {
            let (wire, native) = (wire.map(describe), native.map(describe));
            reports.push(FieldReport { path: path.into(), wire, native, action });
        }
    }
}

const BOOLEAN_TO_UNSIGNED: (NumberClass, NumberClass) = (NumberClass::Boolean, NumberClass::Unsigned);

/// The native integer fields that hold the lengths of arrays: they follow the arrays, whatever comes under their names.
struct Lengths {
    /// For each field of the structure, whether it is a length; then whether an array has filled it, and whether one of
    /// its arrays is missing.
    states: Vec<Option<LengthState>>,
}

#[derive(Clone, Copy, Default)]
struct LengthState {
    filled: bool,
    missing: bool,
}

impl Lengths {
    fn of(structure: &Structure) -> Lengths {
        let mut states = vec![None; structure.fields().len()];
        for field in structure.fields() {
            for dim in &field.dims {
                if let Dimension::Field(index) = *dim {
                    states[index] = Some(LengthState::default());
                }
            }
        }
        Lengths { states }
    }

    fn is_length(&self, index: usize) -> bool {
        self.states[index].is_some()
    }

    /// Notes that an array writes this dimension. Returns whether one has written it before.
    fn fill(&mut self, dim: Dimension) -> bool {
        let Dimension::Field(index) = dim else { return false };
        let state = self.states[index].get_or_insert_default();
        std::mem::replace(&mut state.filled, true)
    }

    fn missing(&mut self, field: &Field) {
        for dim in &field.dims {
            if let Dimension::Field(index) = *dim {
                self.states[index].get_or_insert_default().missing = true;
            }
        }
    }

    /// Zeroes the lengths of arrays that did not come.
    fn settle(&self, native: At<'_>, path: &str, block: &mut Block) -> Result<()> {
        for (field, state) in native.structure.fields().iter().zip(&self.states) {
            match state {
                Some(LengthState { filled: false, .. }) => {
                    let size = field.extent(native.structure.machine().pointer).unwrap_or(0);
                    block.fill(native.offset(field), Bytes::Zero(size));
                }
                Some(LengthState { filled: true, missing: true }) => {
                    let error = Error::new(Code::Lengths).at(join(path, &field.name));
                    return Err(error.expected("all arrays of this length").came("only some of them"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn is_length(structure: &Structure, field: &Field) -> bool {
    let dims = || structure.fields().iter().flat_map(|field| &field.dims);
    structure
        .index_of(&field.name)
        .is_some_and(|index| dims().any(|dim| matches!(dim, Dimension::Field(at) if *at == index)))
}

/// The field that comes for this name, or for one of the aliases.
fn find<'a>(wire: At<'a>, name: &str, rule: Option<&Rule>) -> Option<Found<'a>> {
    let aliases = rule.map_or(&[][..], |rule| &rule.aliases);
    let own = wire.structure.field(name).map(|field| (wire, field));
    own.or_else(|| aliases.iter().find_map(|alias| reach(wire, alias)))
}

/// The field at a path with dots, through nested structures that lie in place.
fn reach<'a>(mut at: At<'a>, path: &str) -> Option<Found<'a>> {
    let mut names = path.split('.').peekable();
    loop {
        let field = at.structure.field(names.next()?)?;
        if names.peek().is_none() {
            return Some((at, field));
        }
        match &field.element {
            Element::Structure(inner) if field.dims.is_empty() && !field.indirect => {
                at = At { structure: inner, base: at.offset(field) };
            }
            _ => return None,
        }
    }
}

fn check_unit(wire: &Field, native: &Field) -> Result<()> {
    match (&wire.unit, &native.unit) {
        (Some(from), Some(to)) if from != to => Err(Error::new(Code::Unit).expected(to).came(from)),
        _ => Ok(()),
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

/// The numbers that an element consists of: their type and how many.
fn number(element: &Element, machine: Machine) -> Option<(Number, usize)> {
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
    known.ok_or_else(|| Error::new(Code::Declaration).expected(enumeration).came(format_args!("{value:?}")))
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

fn mismatch(wire: &Element, native: &Element, path: &str) -> Error {
    Error::new(Code::NoConversion).at(path.trim_end_matches("[]")).expected(native).came(wire)
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}.{name}") }
}

/// A field's type as it is written: `f64[3]`.
fn describe(field: &Field) -> String {
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
