//! Conversions: whatever the two formats, a plan is made or refused, says what it does, and makes valid records.

use crate::parts::Parts;
use crate::{refusal, same, typed};
use isoform::core::plan::{Faults, Plan, Rules, compare};
use isoform::core::{Body, Dimension, Element, Field, Missing, Structure, Value, interp};
use isoform::{Format, View};
use isoform_jit::Code;

/// Every choice.
const FAULTS: [Faults; 3] = [Faults::Error, Faults::Saturate, Faults::Wrap];

/// From this choice on, one plan of each input is made into machine code, which takes longer than all else.
pub const GENERATED: u8 = 0xe0;

/// Larger fixed arrays and structures are planned for and not made: how much memory a record takes is the receiver's wish.
const LARGEST: usize = 1024;

/// The input is a byte that chooses rules, and faults for decoders; the descriptions of the wire and the native format, and a body.
pub fn check(input: &[u8]) {
    let mut parts = Parts::of(input);
    let choice = parts.byte();
    let (wire, native) = (Format::parse(parts.part()), Format::parse(parts.part()));
    let Ok(wire) = wire else { return };
    typed::check(&wire, parts.rest(), FAULTS[usize::from(choice) % 3]);
    let Ok(native) = native else { return };
    let small = largest(native.structure()) <= LARGEST;
    let rules = rules(choice, &wire, &native, small);
    let body = wire.verify(parts.rest());
    let plans = FAULTS.map(|faults| plan(&wire, &native, &rules, faults));
    if let Ok(body) = body
        && small
    {
        let records: Vec<_> = plans.iter().flatten().map(|plan| convert(plan, body)).collect();
        // What no fault has stopped is the same under every choice.
        if let [Some(strict), saturated, wrapped] = &records[..] {
            assert_eq!((Some(strict), Some(strict)), (saturated.as_ref(), wrapped.as_ref()));
        }
        let one = usize::from(choice) % 3;
        if choice >= GENERATED
            && let Some(plan) = plans.into_iter().nth(one).flatten()
        {
            generated(plan, body);
        }
    }
}

/// Generated code makes the same record, or finds the same fault.
fn generated(plan: Plan, body: Body<'_>) {
    let (mut expected, mut record) = (Vec::new(), Vec::new());
    let run = interp::run(&plan, body, &mut expected);
    let Some(code) = Code::of(&plan.into()) else { return };
    assert_eq!(code.run(body, &mut record), run, "by generated code: {}", code.plan());
    assert!(run.is_err() || record == expected, "by generated code: {}", code.plan());
    if !code.plan().native().structure().has_slots() {
        let mut fixed = vec![0; code.plan().native().size()];
        assert_eq!(code.run_fixed(body, &mut fixed), run, "by generated code: {}", code.plan());
        assert!(run.is_err() || fixed == expected, "by generated code: {}", code.plan());
    }
}

/// Makes a plan, and has it explained.
fn plan(wire: &Format, native: &Format, rules: &Rules, faults: Faults) -> Option<Plan> {
    let explained = Plan::explained(wire, native, rules, faults);
    if faults == Faults::Error {
        assert_eq!(compare(wire, native, rules, faults).is_readable(), explained.is_ok() || wire == native);
    }
    match (Plan::new(wire, native, rules, faults), explained) {
        (Ok(plan), Ok((again, reports))) => {
            assert_eq!(plan.to_string(), again.to_string());
            for report in reports.iter() {
                assert!(report.wire.is_some() || report.native.is_some(), "{report:?}");
                _ = (report.loss(), report.action.to_string(), report.action.cost());
            }
            Some(plan)
        }
        (Err(error), Err(again)) => {
            refusal(&error);
            assert_eq!(error, again);
            None
        }
        (plan, explained) => panic!("{plan:?} and explained {explained:?}"),
    }
}

/// The record that a body becomes, which is valid.
fn convert(plan: &Plan, body: Body<'_>) -> Option<Vec<u8>> {
    let mut record = Vec::new();
    let run = interp::run(plan, body, &mut record);
    let native = plan.native();
    if !native.structure().has_slots() {
        let mut fixed = vec![0; native.size()];
        assert_eq!(interp::run_fixed(plan, body, &mut fixed), run);
        assert!(run.is_err() || fixed == record);
    }
    if let Err(error) = run {
        refusal(&error);
        return None;
    }
    let converted = View::new(native.verify(&record).expect("what was converted is valid"));
    if plan.is_direct() {
        in_place(plan, body, converted);
    }
    Some(record)
}

/// What needs no conversion is what conversion makes.
fn in_place(plan: &Plan, body: Body<'_>, converted: View<'_>) {
    let (native, flat) = (plan.native(), !plan.native().structure().has_slots());
    let record = if flat { &body.bytes()[..native.size()] } else { body.bytes() };
    // Behind a longer record, blocks are not where a shorter one has them, though all slots point at them.
    if flat || plan.wire().size() == native.size() {
        let there = native.verify(record).expect("what is used in place is valid");
        let (there, converted) = (View::new(there).to_value(), converted.to_value());
        assert!(same(&there, &converted), "{there:?} in place, converted {converted:?}");
    }
}

/// Rules for fields of the native record: aliases from the wire record, defaults, and what is required.
fn rules(choice: u8, wire: &Format, native: &Format, small: bool) -> Rules {
    let (aliases, defaults, required) = (choice & 1 > 0, small && choice & 2 > 0, choice & 4 > 0);
    let wire = wire.structure().fields();
    let record = native.structure();
    let missing = if choice & 8 > 0 { Missing::Refuse } else { Missing::Zero };
    let mut rules = Rules::new().missing(missing);
    for (i, field) in record.fields().iter().enumerate().take(16) {
        if aliases {
            let other = &wire[(i + usize::from(choice >> 3)) % wire.len()];
            let inner = match &other.element {
                Element::Structure(inner) => format!(".{}", inner.fields()[i % inner.fields().len()].name),
                _ => String::new(),
            };
            rules = rules.alias(record.name(), &field.name, &format!("{}{inner}", other.name));
        }
        if defaults && let Some(value) = default(field) {
            rules = rules.default(record.name(), &field.name, value);
        }
        if required && i % 4 == 3 {
            rules = rules.required(record.name(), &field.name);
        }
    }
    rules
}

fn default(field: &Field) -> Option<Value> {
    Some(match &field.element {
        _ if field.indirect => return None,
        Element::Integer { .. } => Value::Integer(1),
        Element::Float { .. } => Value::Float(-0.1),
        Element::Boolean { .. } => Value::Boolean(true),
        Element::Char | Element::String => Value::String(b"?".to_vec()),
        Element::Enumeration(enumeration) => Value::Symbol(enumeration.symbols()[0].name.clone()),
        Element::Complex { .. } | Element::Structure(_) => return None,
    })
}

/// The bytes of the largest structure or fixed array, of those that are nested as well.
fn largest(structure: &Structure) -> usize {
    let pointer = structure.machine().pointer;
    let of = |field: &Field| {
        let fixed = |dim: &Dimension| if let Dimension::Fixed(n) = *dim { n } else { 1 };
        let array = field.dims.iter().map(fixed).fold(field.element_size(pointer), usize::saturating_mul);
        let inner = if let Element::Structure(inner) = &field.element { largest(inner) } else { 0 };
        array.max(inner)
    };
    structure.fields().iter().map(of).max().unwrap_or(0).max(structure.size())
}
