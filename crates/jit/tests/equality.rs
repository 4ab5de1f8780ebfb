//! Both engines, and all generators, make the same of every number, and of records that are easily got wrong; each with
//! everything that may be done with numbers that do not fit. Random formats are in `tests/engines`, records that are known
//! to become others in `conversion.rs`.

use isoform_core::plan::Plan;
use isoform_core::{Error, Faults, Format, Layout, Missing, Result, Rules, Shape, Value, Verifier, interp, value};
use isoform_jit::{Code, Generator};
use isoform_testing::{PLAIN, any_layout};
use proptest::prelude::*;
use std::sync::Arc;

const FAULTS: [Faults; 3] = [Faults::Error, Faults::Saturate, Faults::Wrap];

/// What an engine makes of a body: bytes, or an error as it is printed.
type Outcome = std::result::Result<Vec<u8>, String>;

fn outcome(bytes: Vec<u8>, result: Result<()>) -> Outcome {
    result.map(|()| bytes).map_err(|error: Error| error.to_string())
}

fn same(plan: &Plan, came: &Outcome, expected: &Outcome) {
    let difference = match (came, expected) {
        (Ok(came), Ok(expected)) if came == expected => return,
        (Err(came), Err(expected)) if came == expected => return,
        (Ok(came), Ok(expected)) => match came.iter().zip(expected).position(|(came, expected)| came != expected) {
            Some(at) => format!("{} instead of {} at byte {at}", came[at], expected[at]),
            None => format!("{} bytes instead of {}", came.len(), expected.len()),
        },
        (came, expected) => format!("{:?} instead of {:?}", came.as_ref().err(), expected.as_ref().err()),
    };
    panic!("{difference}\n{plan}");
}

/// Compares the interpreter with what each generator makes, and returns whether code was generated.
fn agree(wire: &Format, native: &Format, record: &Value) -> bool {
    let body = value::body(wire, record).unwrap();
    let verifier = Verifier::new(wire);
    let body = verifier.verify(&body).unwrap();
    let mut generated = false;
    for faults in FAULTS {
        let rules = Rules::new().missing(Missing::Zero);
        let Ok(plan) = Plan::new(wire, native, &rules, faults) else { continue };
        let plan = Arc::new(plan);
        let mut expected = Vec::new();
        let result = interp::run(&plan, body, &mut expected);
        let expected = outcome(expected, result);
        for code in Generator::ALL.iter().filter_map(|&generator| Code::by(generator, &plan)) {
            generated = true;
            let mut came = Vec::new();
            let result = code.run(body, &mut came);
            same(&plan, &outcome(came, result), &expected);
            if !native.structure().has_slots() {
                let mut came = vec![0; native.size()];
                let result = code.run_fixed(body, &mut came);
                same(&plan, &outcome(came, result), &expected);
            }
        }
    }
    generated
}

proptest! {
    #[test]
    fn every_number_becomes_every_other(
        from in prop::collection::vec(prop::sample::select(PLAIN), 1..12),
        to in prop::collection::vec(prop::sample::select(PLAIN), 12),
        count in prop::sample::select(vec![1usize, 1, 2, 3, 7, 70]),
        layouts in (any_layout(), any_layout()),
        bits in prop::collection::vec(any::<u64>(), 12),
    ) {
        let shape = |types: &[&str]| {
            let field = |shape: Shape, (index, word): (usize, &&str)| {
                let word = if count > 1 { format!("{word}[{count}]") } else { (*word).to_string() };
                shape.field(format!("n{index}"), &word)
            };
            types.iter().enumerate().fold(Shape::new("Numbers"), field)
        };
        let (wire, native) = (shape(&from).on(&layouts.0).unwrap(), shape(&to[..from.len()]).on(&layouts.1).unwrap());
        let numbers = wire.structure().fields().iter().zip(&bits).map(|(field, &bits)| {
            let one = number(from[field.name[1..].parse::<usize>().unwrap()], bits);
            let value = if count > 1 { Value::Array(vec![one; count]) } else { one };
            (field.name.clone(), value)
        });
        agree(&wire, &native, &Value::Record(numbers.collect()));
    }
}

/// A number of a type, often near a limit of another.
fn number(word: &str, bits: u64) -> Value {
    let limits = [0, 7, 8, 15, 16, 24, 31, 32, 53, 63];
    let near = (1i128 << limits[bits as usize % limits.len()]) + i128::from(bits >> 8) % 5 - 2;
    let near = if bits & 0x80 == 0 { near } else { -near };
    match word {
        "bool" => Value::Boolean(bits & 1 == 1),
        "f32" | "f64" => {
            let small = [f64::from_bits(bits), near as f64, near as f64 + 0.5, f64::MIN_POSITIVE, f64::INFINITY, -0.0];
            let value = small[(bits >> 16) as usize % small.len()];
            let value = if value.is_nan() { 1e-46 } else { value };
            Value::Float(if word == "f32" { (value as f32).into() } else { value })
        }
        "char" => Value::Integer((near as u8).into()),
        _ => {
            let signed = word.starts_with('i');
            Value::Integer(match (word[1..].parse().unwrap(), signed) {
                (8, true) => (near as i8).into(),
                (16, true) => (near as i16).into(),
                (32, true) => (near as i32).into(),
                (64, true) => (near as i64).into(),
                (8, _) => (near as u8).into(),
                (16, _) => (near as u16).into(),
                (32, _) => (near as u32).into(),
                (_, _) => (near as u64).into(),
            })
        }
    }
}

/// Numbers at the ends of every type, with either sign, are compared with symbols at the ends of every other: those that
/// share their bits are different numbers.
#[test]
fn symbols_are_found_by_their_numbers_and_not_by_their_bits() {
    let ends = |signed: bool, size: u32| match signed {
        true => vec![-1i128 << (8 * size - 1), -1, 0, 1, (1 << (8 * size - 1)) - 1],
        false => vec![0, 1, (1 << (8 * size - 1)) - 1, 1 << (8 * size - 1), (1 << (8 * size)) - 1],
    };
    let types = [1, 2, 4, 8].into_iter().flat_map(|size| [true, false].map(|signed| (signed, size)));
    for ((from_signed, from), (signed, size)) in types.clone().flat_map(|from| types.clone().map(move |to| (from, to)))
    {
        let integer = format!("{}{}", if from_signed { "i" } else { "u" }, from * 8);
        let symbols: Vec<String> =
            ends(signed, size).iter().enumerate().map(|(i, value)| format!("s{i}={value}")).collect();
        let enumeration = if signed { "enumeration" } else { "unsigned enumeration" };
        let enumeration = format!("{enumeration}({size}){{{}}}", symbols.join(","));
        for count in [1, 70] {
            let format =
                |word: &str, layout| Shape::new("P").field("e", &format!("{word}[{count}]")).on(layout).unwrap();
            let (wire, native) = (format(&integer, &Layout::S390X), format(&enumeration, &Layout::X86_64));
            for value in ends(from_signed, from).into_iter().filter(|value| ![0, 1].contains(value)) {
                let array = Value::Array(vec![Value::Integer(value); count]);
                agree(&wire, &native, &Value::Record(vec![("e".into(), array)]));
            }
        }
    }
}

/// A record of everything that code is generated for.
const STATION: &str = "\
record Place
  x  f32
  y  f64
  z  i16
record Station
  name    string
  id      i32
  n       i64
  levels  f64[n]
  places  Place[20]
  kind    i16
";

#[test]
fn code_is_generated_where_there_is_a_generator() {
    let shape = Shape::parse(STATION).unwrap();
    let (wire, native) = (shape.on(&Layout::S390X).unwrap(), shape.on(&Layout::X86_64).unwrap());
    let record =
        Value::Record(vec![("name".into(), Value::String(b"Kiel".to_vec())), ("id".into(), Value::Integer(-3))]);
    let here = ["x86_64", "aarch64", "riscv64", "s390x"].contains(&std::env::consts::ARCH);
    assert_eq!(agree(&wire, &native, &record), here);
}

#[test]
fn nothing_is_left_of_what_the_interpreter_does_once_more() {
    let wire = Shape::parse("record P\n  name  string\n  c  i8\n  x  i64\n").unwrap().on(&Layout::S390X).unwrap();
    let native = Shape::parse("record P\n  c  i8\n  name  string\n  x  f64\n").unwrap().on(&Layout::X86_64).unwrap();
    // Integers beyond 2^53 are only unsure to be floats: this one is.
    let record = |x| {
        let name = Value::String(b"Kiel".to_vec());
        Value::Record(vec![("name".into(), name), ("c".into(), Value::Integer(1)), ("x".into(), Value::Integer(x))])
    };
    agree(&wire, &native, &record(1 << 60));
    agree(&wire, &native, &record((1 << 60) + 1));
}

#[test]
fn elements_too_large_for_the_generator_are_left_to_the_interpreter() {
    let shape = |big: &str, x: &str| {
        let text = format!("record Item\n{big}  x  {x}\nrecord P\n  n  i64\n  items  Item[n]\n");
        Shape::parse(&text).unwrap()
    };
    let wire = shape("  big  u8[2147483648]\n", "i32").on(&Layout::S390X).unwrap();
    for x in ["i32", "f64"] {
        let native = shape("", x).on(&Layout::X86_64).unwrap();
        let plan = Arc::new(Plan::new(&wire, &native, &Rules::new(), Faults::Error).unwrap());
        assert!(Code::of(&plan).is_none(), "{plan}");
    }
}

#[test]
fn masks_that_take_turns_in_a_register_do_not_meet_there() {
    // Four blocks whose bytes stay where they are in a vector, and one of which they do not.
    let wire: String = (0..40).map(|i| format!("  f{i}  u8\n")).collect();
    let wire = Shape::parse(&format!("record P\n{wire}")).unwrap().on(&Layout::X86_64).unwrap();
    let mut places = [const { String::new() }; 320];
    for block in 0..4 {
        (0..4).for_each(|i| places[block * 64 + block * 8 + 2 * i] = format!("f{}", block * 8 + 2 * i));
    }
    (0..8).for_each(|i| places[256 + 60 - 3 * i] = format!("f{}", 32 + i));
    let field = |(at, name): (usize, &String)| match name.as_str() {
        "" => format!("  gap{at}  u8\n"),
        name => format!("  {name}  u8\n"),
    };
    let native: String = places.iter().enumerate().map(field).collect();
    let native = Shape::parse(&format!("record P\n{native}")).unwrap().on(&Layout::X86_64).unwrap();
    let rules = Rules::new().missing(Missing::Zero);
    let plan = Arc::new(Plan::new(&wire, &native, &rules, Faults::Error).unwrap());
    let bodies: Vec<u8> = (0..3 * 40).map(|i| i + 1).collect();
    let verifier = Verifier::new(&wire);
    let bodies = verifier.verify_many(&bodies, 40, 40).unwrap();
    let mut expected = vec![0; 3 * native.size()];
    interp::run_many(&plan, bodies, &mut expected).unwrap();
    for code in Generator::ALL.iter().filter_map(|&generator| Code::by(generator, &plan)) {
        let mut came = vec![0; 3 * native.size()];
        code.run_many(bodies, &mut came).unwrap();
        same(&plan, &Ok(came), &Ok(expected.clone()));
    }
}
