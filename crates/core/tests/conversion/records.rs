//! Conversions, against values: what an engine makes of a body must be, byte for byte, the body that the native
//! machine would have made of the same values.

use crate::engine;
use isoform_core::plan::{Faults, Missing, Plan, Rules};
use isoform_core::text::json;
use isoform_core::{Code, Element, Error, Layout, Structure, Value, Verifier, View, interp::Output, value};
use isoform_core::{Format, Shape};
use isoform_testing::{any_layout, any_shape, any_value, evolved, with_gaps};
use proptest::prelude::*;
use std::sync::Arc;

/// Converts a record from one format into another, by way of a verified body.
fn convert(wire: &Format, native: &Format, record: &Value, faults: Faults) -> Result<Vec<u8>, Error> {
    let plan = Arc::new(Plan::new(wire, native, &Rules::new().missing(Missing::Zero), faults)?);
    let body = value::body(wire, record).unwrap();
    let verifier = Verifier::new(wire);
    let mut out = Vec::new();
    engine::run(&plan, verifier.verify(&body).unwrap(), &mut out)?;
    Ok(out)
}

/// The values in a body, as text, so that NaN equals NaN whatever its payload.
fn values(format: &Format, body: &[u8]) -> String {
    format!("{:?}", View::new(Verifier::new(format).verify(body).unwrap()).to_value())
}

fn agree(native: &Format, converted: Result<Vec<u8>, Error>, expected: Result<Vec<u8>, Error>) {
    match (converted, expected) {
        (Ok(converted), Ok(expected)) if converted == expected => {}
        (Ok(converted), Ok(expected)) => {
            assert_eq!(values(native, &converted), values(native, &expected));
            assert_eq!(converted.len(), expected.len());
        }
        (Err(converted), Err(expected)) => {
            assert_eq!((converted.code(), converted.path()), (expected.code(), expected.path()));
        }
        (converted, expected) => panic!("converted to {converted:?}, expected {expected:?}"),
    }
}

/// The part of a record that `structure` has fields for.
fn known(structure: &Structure, record: &Value) -> Value {
    let Value::Record(entries) = record else { return record.clone() };
    let kept = entries.iter().filter_map(|(name, value)| {
        let field = structure.field(name)?;
        let value = match &field.element {
            Element::Structure(inner) => elements(inner, value),
            _ => value.clone(),
        };
        Some((name.clone(), value))
    });
    Value::Record(kept.collect())
}

fn elements(structure: &Structure, value: &Value) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.iter().map(|value| elements(structure, value)).collect()),
        other => known(structure, other),
    }
}

/// The same record with numbers that need no more digits than an `f64` has. A [`Value::Decimal`] has the shortest digits
/// of its own kind of float, which stand for another number in another kind.
fn plain(value: Value) -> Value {
    match value {
        Value::Decimal(text) => {
            Value::Float(text.parse().ok().filter(|number: &f64| number.is_finite()).unwrap_or(-1.5))
        }
        Value::Complex(parts) => Value::Complex(Box::new(parts.map(plain))),
        Value::Array(values) => Value::Array(values.into_iter().map(plain).collect()),
        Value::Record(entries) => {
            Value::Record(entries.into_iter().map(|(name, value)| (name, plain(value))).collect())
        }
        other => other,
    }
}

fn record_of_shape() -> impl Strategy<Value = (Shape, Format, Value)> {
    (any_shape(), any_layout(), prop::collection::vec(any::<u8>(), 1..20)).prop_flat_map(|(shape, layout, seeds)| {
        let format = with_gaps(&shape.on(&layout).unwrap(), &seeds);
        any_value(&format).prop_map(move |value| (shape.clone(), format.clone(), plain(value)))
    })
}

proptest! {
    #[test]
    fn the_same_record_on_another_machine((shape, wire, record) in record_of_shape(), layout in any_layout()) {
        let native = shape.on(&layout).unwrap();
        agree(&native, convert(&wire, &native, &record, Faults::Error), value::body(&native, &record));
    }

    #[test]
    fn an_evolved_record_on_another_machine(
        (shape, wire, record) in record_of_shape(),
        layout in any_layout(),
        choices in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let native = evolved(&shape, &choices).on(&layout).unwrap();
        let converted = convert(&wire, &native, &record, Faults::Error);
        if converted.as_ref().is_err_and(|error| error.code() == Code::Lengths || error.code() == Code::Required) {
            // Arrays that share a length were parted, or a symbol would have to be guessed: refused when it is planned.
            prop_assert!(Plan::new(&wire, &native, &Rules::new().missing(Missing::Zero), Faults::Error).is_err());
            return Ok(());
        }
        agree(&native, converted, value::body(&native, &known(native.structure(), &record)));
    }

    #[test]
    fn no_fault_stops_a_lenient_receiver(
        (shape, wire, record) in record_of_shape(),
        layout in any_layout(),
        faults in prop::sample::select(vec![Faults::Saturate, Faults::Wrap]),
    ) {
        let native = shape.on(&layout).unwrap();
        let converted = convert(&wire, &native, &record, faults).unwrap();
        // What came of it is a valid record, whatever was lost.
        values(&native, &converted);
    }

    #[test]
    fn there_and_back_is_the_same_record((shape, wire, record) in record_of_shape(), layout in any_layout()) {
        let away = shape.on(&layout).unwrap();
        if let Ok(body) = convert(&wire, &away, &record, Faults::Error) {
            let moved = View::new(Verifier::new(&away).verify(&body).unwrap()).to_value();
            let back = convert(&away, &wire, &moved, Faults::Error);
            if format!("{moved:?}") == format!("{record:?}") {
                agree(&wire, back, value::body(&wire, &record));
            }
        }
    }
}

/// An output that has only so much room.
struct Narrow(Vec<u8>, usize);

impl Output for Narrow {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn resize(&mut self, length: usize) -> Result<(), Error> {
        if length > self.1 {
            return Err(Error::new(Code::Size).expected(self.1).found(length));
        }
        self.0.resize(length, 0);
        Ok(())
    }
}

#[test]
fn where_there_was_no_room_is_told() {
    let words = "record P\n name string\n tag char[4]\nrecord R\n n int\n first string\n parts P[n]\n";
    let wire = Shape::parse(words).unwrap().on(&Layout::POWERPC).unwrap();
    let words = words.replace("char[4]", "string").replace(" n int", " n int\n remark string");
    let native = Shape::parse(&words).unwrap().on(&Layout::X86_64).unwrap();
    let rules = Rules::new().default("R", "remark", Value::String(b"none".to_vec()));
    let plan = Arc::new(Plan::new(&wire, &native, &rules, Faults::Error).unwrap());
    let line = r#"{"first":"1","parts":[{"name":"2","tag":"3"},{"name":"4","tag":"5"}]}"#;
    let body = value::body(&wire, &json::parse_partial(&wire, line).unwrap()).unwrap();
    let mut paths = Vec::new();
    for room in native.size().. {
        let mut out = Narrow(Vec::new(), room);
        match engine::run(&plan, wire.verify(&body).unwrap(), &mut out) {
            Ok(()) => break,
            Err(error) => {
                assert_eq!(error.code(), Code::Size);
                paths.push(error.path().to_string());
            }
        }
    }
    paths.dedup();
    let expected = ["remark", "first", "parts", "parts[0].name", "parts[0].tag", "parts[1].name", "parts[1].tag"];
    assert_eq!(paths, expected);
}
