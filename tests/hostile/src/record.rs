//! What is done with one record.

use crate::memory::{self, measure};
use crate::outcome::Outcome;
use crate::structs::{self, FAULTS};
use isoform::core::view::Item;
use isoform::core::{Body, ByteOrder, Element, FloatKind, Plan, Structure, interp, plan, value};
use isoform::text::{json, table::Table};
use isoform::{Code, Faults, Format, Machine, Rules, View};
use isoform_testing::mutate::{Meaning, Random, Region, mutate_text, regions};
use isoform_testing::{moved, twisted};
use std::sync::Arc;

/// Verifies a body, and does everything with what was accepted.
pub(crate) fn everything(format: &Format, bytes: &[u8], outcome: &mut Outcome) {
    let (body, used) = measure(|| format.verify(bytes));
    memory::check("verifying", bytes.len() + format.description().as_bytes().len(), used);
    let Ok(body) = body else { return };
    let layout = Layout::of(format, bytes);
    let view = View::new(body);
    let (_, used) = measure(|| count(Item::Record(view)));
    memory::check("viewing", bytes.len(), used);
    by_path(view, view, "");
    let mut random = Random::new(u64::from_le_bytes(format.token().as_bytes()[..8].try_into().expect("8 bytes")));
    // What follows has no unsafe code for Miri to look at, and the digits of large floats take longer than all else.
    if cfg!(miri) {
        return structs::decode(format, bytes, outcome);
    }
    if !layout.has_large_floats() || random.one_in(8) {
        as_value(&layout, view);
        as_text(&layout, view, &mut random, outcome);
    }
    convert(&layout, body, &mut random, outcome);
    structs::decode(format, bytes, outcome);
}

/// A body, and what its bytes are.
struct Layout<'a> {
    format: &'a Format,
    bytes: &'a [u8],
    regions: Vec<Region>,
    /// Whether its gaps are zeros, as a writer leaves them.
    clean: bool,
}

impl<'a> Layout<'a> {
    fn of(format: &'a Format, bytes: &'a [u8]) -> Layout<'a> {
        let regions = regions(format, bytes).expect("a verified body is made as its format says");
        let mut gaps = bytes.to_vec();
        regions.iter().for_each(|region| gaps[region.bytes.clone()].fill(0));
        Layout { format, bytes, regions, clean: gaps.iter().all(|byte| *byte == 0) }
    }

    /// Whether there are numbers of which several spellings stand for one.
    fn has_spellings(&self) -> bool {
        self.regions.iter().any(|region| matches!(region.what, Meaning::Float(FloatKind::Double2)))
    }

    fn has_large_floats(&self) -> bool {
        self.regions.iter().any(|region| matches!(region.what, Meaning::Float(_)) && region.bytes.len() > 8)
    }

    /// Asserts that another body, which was made here, is that of the same record on a machine of this kind or another.
    fn assert_same(&self, format: &Format, bytes: &[u8], how: &str) {
        let other = Layout::of(format, bytes);
        let outline = |layout: &Layout<'_>| {
            layout
                .regions
                .iter()
                .map(|region| (region.what, region.bytes.len()))
                .filter(|(what, _)| *what != Meaning::Slot)
                .collect::<Vec<_>>()
        };
        assert_eq!(outline(self), outline(&other), "{how}: other regions");
        let swapped = self.format.machine().order != format.machine().order;
        for (mine, its) in self.regions.iter().zip(&other.regions) {
            let mut expected = self.bytes[mine.bytes.clone()].to_vec();
            let came = &bytes[its.bytes.clone()];
            match mine.what {
                Meaning::Slot => {
                    let is_null = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
                    assert_eq!(is_null(&expected), is_null(came), "{how}: slot at {}", mine.bytes.start);
                    continue;
                }
                Meaning::Text => {}
                Meaning::Float(FloatKind::Double2) => continue,
                Meaning::Float(kind) if is_loose(kind, self.format.machine(), &expected) => continue,
                _ if swapped => expected.reverse(),
                _ => {}
            }
            assert_eq!(expected, came, "{how}: {:?} at {}", mine.what, mine.bytes.start);
        }
        // What is moved as it is may carry its gaps along.
        assert!(other.clean || !self.clean, "{how}: gaps that are not zero");
    }
}

/// Whether a float is NaN, whose digits need not be kept, or an x87 number that is spelled in an odd way.
fn is_loose(kind: FloatKind, machine: Machine, bytes: &[u8]) -> bool {
    let mut big = bytes.to_vec();
    if machine.order == ByteOrder::Little {
        big.reverse();
    }
    let bits = big.iter().fold(0u128, |bits, byte| bits << 8 | u128::from(*byte));
    if kind == FloatKind::X87 {
        let (exponent, leading) = (bits >> 64 & 0x7fff, bits >> 63 & 1);
        return exponent == 0x7fff || (exponent == 0) == (leading == 1);
    }
    let slot = kind.slot(bytes.len() as u8).expect("a verified body has floats of known sizes");
    let all = (1u128 << slot.exponent) - 1;
    bits >> slot.fraction & all == all && bits & ((1 << slot.fraction) - 1) != 0
}

/// How many things are in it.
fn count(item: Item<'_>) -> usize {
    match item {
        Item::Record(view) => view.fields().map(|(_, item)| count(item)).sum(),
        Item::Array(array) => array.iter().map(count).sum(),
        _ => 1,
    }
}

/// Every field by its name and by its path is the same thing.
fn by_path(root: View<'_>, view: View<'_>, path: &str) {
    for (field, item) in view.fields() {
        let path = if path.is_empty() { field.name.to_string() } else { format!("{path}.{}", field.name) };
        assert_one(item, view.field(&field.name).expect("a field"), &path);
        assert_one(item, root.get(&path).expect("a path"), &path);
        assert_eq!(root.f64(&path).is_ok(), item.to_f64().is_some());
        let _ = (root.i64(&path), root.str(&path), root.find(&format!("{path}[0]")));
        parts(root, item, &path);
    }
}

fn parts(root: View<'_>, item: Item<'_>, path: &str) {
    match item {
        Item::Record(view) => by_path(root, view, path),
        Item::Array(array) => {
            for index in [0, array.len().saturating_sub(1)] {
                let path = format!("{path}[{index}]");
                match array.get(index) {
                    Some(item) => {
                        assert_one(item, root.get(&path).expect("an element"), &path);
                        parts(root, item, &path);
                    }
                    None => assert_eq!(root.get(&path).expect_err("no element").code(), Code::NoSuchField),
                }
                if array.len() < 2 {
                    break;
                }
            }
            let _ = (array.f64s().map(Iterator::count), array.elements().count());
        }
        _ => {}
    }
}

/// Two ways have led to one thing.
fn assert_one(one: Item<'_>, other: Item<'_>, path: &str) {
    match (one, other) {
        (Item::Record(one), Item::Record(other)) => assert!(std::ptr::eq(one.bytes(), other.bytes()), "{path}"),
        (Item::Array(one), Item::Array(other)) => {
            assert!(std::ptr::eq(one.bytes(), other.bytes()) && one.dims() == other.dims(), "{path}");
        }
        (Item::String(one), Item::String(other)) => assert!(std::ptr::eq(one, other), "{path}"),
        (one, other) => assert_eq!(format!("{one:?}"), format!("{other:?}"), "{path}"),
    }
}

/// As a tree of values, of which the same body is made again.
fn as_value(layout: &Layout<'_>, view: View<'_>) {
    let (tree, used) = measure(|| view.to_value());
    memory::check("a tree of values", layout.bytes.len(), used);
    let (body, used) = measure(|| value::body(layout.format, &tree));
    memory::check("a body of values", layout.bytes.len(), used);
    match body {
        Ok(_) if has_pointers_to_strings(layout.format.structure()) => {}
        Ok(body) => layout.assert_same(layout.format, &body, "as values"),
        Err(error) => assert!(is_double2_at_its_end(layout, error.code()), "{error}"),
    }
}

/// Whether a pointer may lead to a string that is null, which is written as a null pointer is.
fn has_pointers_to_strings(structure: &Structure) -> bool {
    structure.fields().iter().any(|field| match &field.element {
        Element::String => field.indirect && field.dims.is_empty(),
        Element::Structure(inner) => has_pointers_to_strings(inner),
        _ => false,
    })
}

/// Parts of a double-double that no writer puts together can have a sum that no double-double has.
fn is_double2_at_its_end(layout: &Layout<'_>, code: Code) -> bool {
    layout.has_spellings() && matches!(code, Code::Overflow | Code::Underflow)
}

/// As JSON and back, and as a row of a table; and as JSON in which something is changed.
fn as_text(layout: &Layout<'_>, view: View<'_>, random: &mut Random, outcome: &mut Outcome) {
    let format = layout.format;
    let (line, used) = measure(|| json::line(view));
    memory::check("JSON", layout.bytes.len(), used);
    let (record, used) = measure(|| json::parse(format, &line));
    memory::check("a tree from JSON", line.len(), used);
    match record.and_then(|record| value::body(format, &record)) {
        Ok(body) => {
            if !has_pointers_to_strings(format.structure()) {
                layout.assert_same(format, &body, "as JSON");
            }
            if !layout.has_spellings() && random.one_in(4) {
                let again = format.verify(&body).expect("a body that was made here");
                assert_eq!(json::line(View::new(again)), line, "as JSON twice");
            }
        }
        Err(error) => assert!(is_double2_at_its_end(layout, error.code()), "{error}"),
    }
    if random.one_in(4) {
        let cells = Table::new(format, 100).cells(view);
        assert!(cells.iter().all(|cell| !cell.contains('\n')));
    }
    let changed = mutate_text(line.as_bytes(), random);
    let text = crate::receive_text(format, &changed);
    outcome.using.merge(&text.using);
}

/// Into formats of other receivers.
fn convert(layout: &Layout<'_>, body: Body<'_>, random: &mut Random, outcome: &mut Outcome) {
    let Machine { order, pointer } = layout.format.machine();
    let other_order = if order == ByteOrder::Big { ByteOrder::Little } else { ByteOrder::Big };
    let machines = [
        Machine { order: other_order, pointer },
        Machine { order, pointer: 12 - pointer },
        Machine { order: other_order, pointer: 12 - pointer },
    ];
    let same = random.below(machines.len());
    if let Ok(native) = moved(layout.format, machines[same]) {
        exactly(layout, body, &native);
    }
    for machine in machines {
        if let Ok((native, rules)) = twisted(layout.format, machine, random) {
            somehow(body, &native, &rules, random.one_in(16), outcome);
        }
    }
}

/// Into the same fields on another machine and back, with nothing lost.
fn exactly(layout: &Layout<'_>, body: Body<'_>, native: &Format) {
    let mut there = Vec::new();
    let plan = Plan::new(layout.format, native, &Rules::new(), Faults::Error).expect("a plan for the same fields");
    interp::run(&plan, body, &mut there).expect("the same fields hold what came");
    layout.assert_same(native, &there, "on another machine");
    let back = Plan::new(native, layout.format, &Rules::new(), Faults::Error).expect("a plan for the way back");
    let mut here = Vec::new();
    interp::run(&back, native.verify(&there).expect("what was converted is right"), &mut here).expect("what came fits");
    layout.assert_same(layout.format, &here, "there and back");
}

/// Into a format that may not fit, under every choice for faults; also by generated code, if wanted, since that takes
/// longer to make than all else does.
fn somehow(body: Body<'_>, native: &Format, rules: &Rules, generate: bool, outcome: &mut Outcome) {
    let wire = body.format();
    let mut strict: Option<Vec<u8>> = None;
    for faults in FAULTS {
        let planned = Plan::new(wire, native, rules, faults);
        if faults == Faults::Error {
            explained(wire, native, rules, planned.is_ok());
        }
        let plan = match planned {
            Ok(plan) => plan,
            Err(error) => {
                outcome.misfit(&error);
                continue;
            }
        };
        let mut out = Vec::new();
        let (done, used) = measure(|| interp::run(&plan, body, &mut out));
        let input = body.bytes().len() + native.size();
        if generate {
            generated(plan, body, &done, &out);
        }
        match done {
            Ok(()) => {
                memory::check("converting", input, used);
                native.verify(&out).expect("what was converted is right");
                regions(native, &out).expect("what was converted is made as its format says");
                outcome.conversions += 1;
                if faults == Faults::Error {
                    strict = Some(out);
                } else if let Some(strict) = &strict {
                    assert_eq!(*strict, out, "what fits is the same under every choice");
                }
            }
            Err(error) => {
                assert!(strict.is_none(), "refused under {faults} only: {error}");
                outcome.misfit(&error);
            }
        }
    }
}

/// Generated code comes to the same record, or the same error.
fn generated(plan: Plan, body: Body<'_>, done: &isoform::Result<()>, expected: &[u8]) {
    let Some(code) = isoform_jit::Code::of(&Arc::new(plan)) else { return };
    let mut out = Vec::new();
    let came = code.run(body, &mut out);
    assert_eq!(came, *done, "by generated code");
    assert!(done.is_err() || out == expected, "other bytes by generated code");
    let native = code.plan().native();
    if !native.structure().has_slots() {
        let mut record = vec![0; native.size()];
        assert_eq!(code.run_fixed(body, &mut record), *done, "by generated code");
        assert!(done.is_err() || record == expected, "other bytes by generated code");
    }
}

/// What is told of a plan is told without harm, and as it is.
fn explained(wire: &Format, native: &Format, rules: &Rules, is_readable: bool) {
    let verdict = plan::compare(wire, native, rules, Faults::Error);
    assert_eq!(verdict.is_readable(), is_readable, "{verdict:?}");
    if let Ok((plan, reports)) = Plan::explained(wire, native, rules, Faults::Error) {
        assert!(!plan.to_string().is_empty() && reports.iter().all(|report| report.loss() != Some(String::new())));
    }
}
