//! Queries: whatever the text, it is refused with its place, or runs on valid records of the format, whatever they hold.

use crate::parts::Parts;
use crate::refusal;
use isoform::core::{Layout, Shape, Verifier};
use isoform::{Format, View};
use isoform_query::{Answer, Event, Query, Run};

/// The records of each input are looked at so often, at different times, for the stages that remember something.
const ROUNDS: u64 = 4;

/// What the records are, if the format of an input is not one.
const SHAPE: &str = "record Cell\n  rho  double\n  name  string\nrecord River\n  step  i32\n  count  u64\n  station  string\n  code  char[8]\n  depth  float[4]  unit=\"m\"\n  n  i32\n  flow  double[n]  unit=\"m^3/s\"\n  rows  i16[n][3]\n  open  bool\n  grid  Cell[2]\n  wide  i128\n  state  enum { DRY = 0, WET = 5 }\n";

/// The format that inputs without one have.
pub fn format() -> Format {
    Shape::parse(SHAPE).and_then(|shape| shape.on(&Layout::S390X)).expect("a shape")
}

/// The input is a description, which may be none, a query, and bodies of records.
pub fn check(input: &[u8]) {
    let mut parts = Parts::of(input);
    let format = Format::parse(parts.part()).unwrap_or_else(|_| format());
    let Ok(text) = std::str::from_utf8(parts.part()) else { return };
    let query = match Query::parse(text) {
        Ok(query) => query,
        Err(error) => return refusal(&error),
    };
    let normal = query.to_string();
    let again = Query::parse(&normal).expect("a normal form is a query");
    assert_eq!(again.to_string(), normal, "{text}");
    let checked = match (query.check(&format, &Layout::NATIVE), again.check(&format, &Layout::NATIVE)) {
        (Ok(checked), Ok(again)) => [checked, again],
        (Err(error), Err(again)) => {
            assert_eq!(error.code(), again.code(), "{text}");
            return refusal(&error);
        }
        (one, other) => panic!("{one:?} and {other:?}"),
    };
    let result = checked[0].format().clone();
    // How much memory a record takes is the wish of whoever declares its format.
    if result.size() > 64 << 10 || checked[0].cost().record > 1 << 20 {
        return;
    }
    let mut runs = checked.each_ref().map(|checked| checked.run());
    let (verifier, results) = (Verifier::new(&format), Verifier::new(&result));
    let mut bodies = Vec::new();
    while let body @ [_, ..] = parts.part() {
        bodies.extend(verifier.verify(body));
    }
    for round in 0..ROUNDS {
        for (at, body) in bodies.iter().enumerate() {
            let event = Event::at(round * bodies.len() as u64 + at as u64, round.pow(9) << (at % 64));
            step(&mut runs, View::new(*body), event, &results);
        }
        if round == 1 {
            runs.iter_mut().for_each(|run| _ = run.lost(1, 2));
        }
    }
    let accounts = runs.each_ref().map(Run::account);
    assert_eq!(accounts[0], accounts[1], "{text}");
    assert_eq!(accounts[0].evaluated, accounts[0].passed + accounts[0].filtered, "{text}");
}

/// The query and its normal form give the same for a record, and what they make is valid.
fn step(runs: &mut [Run; 2], view: View<'_>, event: Event, results: &Verifier) {
    let [one, other] = runs.each_mut().map(|run| run.record(view, event));
    assert_eq!(one, other);
    match one {
        Ok(Answer::Result(body)) => {
            results.verify(&body).expect("a result is valid");
        }
        Ok(_) => {}
        Err(error) => refusal(&error),
    }
}
