//! Every conversion between the common numbers, by the code of the direct emitter for each extension of x86-64, which a model
//! of a processor executes: a field, an array in the record, and arrays of several lengths behind a pointer.
#![cfg(all(target_endian = "little", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]

use isoform_core::{Faults, Layout, Plan, Rules, Shape, Value, Verifier, interp, value};
use isoform_jit::{Extension, Model};
use std::sync::Arc;

const INTEGERS: [(&str, i128, i128); 8] = [
    ("i8", i8::MIN as i128, i8::MAX as i128),
    ("i16", i16::MIN as i128, i16::MAX as i128),
    ("i32", i32::MIN as i128, i32::MAX as i128),
    ("i64", i64::MIN as i128, i64::MAX as i128),
    ("u8", 0, u8::MAX as i128),
    ("u16", 0, u16::MAX as i128),
    ("u32", 0, u32::MAX as i128),
    ("u64", 0, u64::MAX as i128),
];
/// Numbers at the limits of types, and others that a float does or does not hold.
const FLOATS: [f64; 15] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    200.0,
    -40_000.0,
    3e9,
    1e19,
    -1e19,
    16_777_217.0,
    1e300,
    1e-300,
    f64::INFINITY,
    f64::NAN,
];
/// The lengths of arrays behind pointers.
const LENGTHS: [usize; 6] = [0, 1, 4, 7, 9, 18];

/// The numbers of a type that are tried.
fn numbers(kind: &str) -> Vec<Value> {
    match INTEGERS.iter().find(|(name, ..)| *name == kind) {
        Some(&(_, least, most)) => {
            let limits = INTEGERS.iter().flat_map(|&(_, least, most)| [least, least - 1, most, most + 1]);
            let mut all: Vec<_> = limits.chain([1, 1 << 24, (1 << 24) + 1, 1 << 53, (1 << 53) + 1]).collect();
            all.retain(|number| (least..=most).contains(number));
            all.sort_unstable();
            all.dedup();
            all.into_iter().map(Value::Integer).collect()
        }
        None if kind == "f32" => FLOATS.iter().map(|&number| Value::Float((number as f32).into())).collect(),
        None => FLOATS.iter().map(|&number| Value::Float(number)).collect(),
    }
}

/// A record of a number, so many in an array behind a pointer, and nine in the record. All others are those before.
fn record(numbers: &[Value], at: usize, length: usize) -> Value {
    let number = |back: usize| numbers[if back == 0 { at } else { (at + back) % 2 }].clone();
    let array = |length: usize| Value::Array((0..length).rev().map(number).collect());
    let fields = [("a", number(0)), ("x", array(length)), ("y", array(9))];
    Value::Record(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

#[test]
fn numbers_of_every_type_become_those_of_every_other() {
    let kinds: Vec<&str> = INTEGERS.iter().map(|(name, ..)| *name).chain(["f32", "f64"]).collect();
    let shape = |kind: &str| {
        Shape::parse(&format!("record P\n  a  {kind}\n  n  u8\n  x  {kind}[n]\n  y  {kind}[9]\n")).unwrap()
    };
    let (mut converted, mut refused) = (0, 0);
    for (from, to) in kinds.iter().flat_map(|&from| kinds.iter().map(move |&to| (from, to))) {
        for (index, faults) in [Faults::Error, Faults::Saturate, Faults::Wrap].into_iter().enumerate() {
            let layouts = [(&Layout::S390X, &Layout::X86_64), (&Layout::X86_64, &Layout::S390X)];
            let (here, there) = layouts[(index + from.len()) % 2];
            let (wire, native) = (shape(from).on(here).unwrap(), shape(to).on(there).unwrap());
            let Ok(plan) = Plan::new(&wire, &native, &Rules::new(), faults).map(Arc::new) else { continue };
            let models: Vec<Model> =
                Extension::ALL.iter().filter_map(|&extension| Model::of(&plan, extension).unwrap()).collect();
            assert_eq!(models.len(), 2, "{plan}");
            let (numbers, verifier) = (numbers(from), Verifier::new(&wire));
            for (at, length) in (0..numbers.len()).flat_map(|at| LENGTHS.map(|length| (at, length))) {
                let body = value::body(&wire, &record(&numbers, at, length)).unwrap();
                let body = verifier.verify(&body).unwrap();
                let mut expected = Vec::new();
                let judged = interp::run(&plan, body, &mut expected);
                match judged {
                    Ok(()) => converted += 1,
                    Err(_) => refused += 1,
                }
                for model in &models {
                    let mut came = Vec::new();
                    assert_eq!(model.run(body, &mut came), judged, "{plan}");
                    assert!(judged.is_err() || came == expected, "{:?} of {length}: {plan}", numbers[at]);
                }
            }
        }
    }
    assert!(converted > 5 * refused && refused > 1000, "{converted} {refused}");
}
