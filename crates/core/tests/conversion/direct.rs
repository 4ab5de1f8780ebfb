//! When a body is used in place as the record that it is. Whoever is told so reads a stranger's memory as a struct: so a
//! wrong yes is worse than any wrong no.

use crate::engine;
use isoform_core::plan::{Faults, Missing, Plan, Rules};
use isoform_core::{Element, Field, Format, Structure, Value, View, value};
use isoform_core::{Layout, Shape};
use isoform_testing::{any_layout, any_shape, any_value};
use proptest::prelude::*;
use std::sync::Arc;

fn format(shape: &str) -> Format {
    Shape::parse(shape).unwrap().on(&Layout::X86_64).unwrap()
}

fn plan(wire: &str, native: &str, rules: &Rules, faults: Faults) -> Plan {
    Plan::new(&format(wire), &format(native), rules, faults).unwrap()
}

fn is_direct(wire: &str, native: &str) -> bool {
    plan(wire, native, &Rules::new().missing(Missing::Zero), Faults::Error).is_direct()
}

#[test]
fn what_differs_only_in_words_is_used_in_place() {
    let cases = [
        ("fields behind", "record R\n a i32\n b f64\n c i8", "record R\n a i32\n b f64"),
        ("names of structures", "record V\n x f32\nrecord R\n v V", "record W\n x f32\nrecord Q\n v W"),
        ("a unit", "record R\n a i32 unit=\"m\"", "record R\n a i32"),
        ("a field in a gap", "record R\n a i8\n b i8\n c i32", "record R\n a i8\n c i32"),
        ("fewer symbols", "record R\n e enumeration{a=1}", "record R\n e enumeration{a=1,b=2}"),
        ("its sign", "record R\n e enumeration{a=1}", "record R\n e unsigned enumeration{a=1,b=4000000000}"),
        ("a symbol's number", "record R\n e enumeration{a=-1}", "record R\n e i32"),
        ("truth as a number", "record R\n b bool", "record R\n b u8"),
        ("characters as numbers", "record R\n c char[4]", "record R\n c u8[4]"),
        ("slots behind", "record R\n s string\n t string", "record R\n s string"),
        ("lengths in order", "record R\n n i32\n a f64[n]\n b i8", "record R\n n i32\n a f64[n]"),
        (
            "a field in the gap of elements",
            "record V\n x f64\n k i8\n l i8\nrecord R\n v V[3]",
            "record V\n x f64\n k i8\nrecord R\n v V[3]",
        ),
        (
            "the same behind a pointer",
            "record V\n x f64\n k i8\n l i8\nrecord R\n v V*",
            "record V\n x f64\n k i8\nrecord R\n v V*",
        ),
    ];
    for (what, wire, native) in cases {
        assert!(is_direct(wire, native), "{what}: {wire} as {native}");
    }
}

#[test]
fn what_must_be_changed_is_not() {
    let cases = [
        ("a missing field", "record R\n a i64", "record R\n a i64\n b i64"),
        ("a missing field in a gap", "record R\n a i8\n c i32", "record R\n a i8\n b i8\n c i32"),
        ("another place", "record R\n b i32\n a i32", "record R\n a i32"),
        ("another size", "record R\n a i32\n b i32", "record R\n a i64"),
        ("a sign", "record R\n a i32", "record R\n a u32"),
        ("a number as truth", "record R\n b u8", "record R\n b bool"),
        ("a number as symbol", "record R\n e i32", "record R\n e enumeration{a=0,b=1}"),
        ("another number", "record R\n e enumeration{a=1,b=2}", "record R\n e enumeration{a=1,b=3}"),
        ("a number with another symbol", "record R\n e enumeration{a=1,b=2}", "record R\n e enumeration{a=1,c=2}"),
        ("a float's kind", "record R\n x f16", "record R\n x bf16"),
        (
            "elements of another size",
            "record V\n x i32\n y i32\nrecord R\n v V[2]",
            "record V\n x i32\nrecord R\n v V[2]",
        ),
        (
            "these behind a pointer",
            "record V\n x i32\n y i32\nrecord R\n n i32\n v V[n]",
            "record V\n x i32\nrecord R\n n i32\n v V[n]",
        ),
        (
            "a wider one in elements",
            "record V\n x i32\n y i64\nrecord R\n v V[2]",
            "record V\n x i64\n y i64\nrecord R\n v V[2]",
        ),
        ("another length field", "record R\n m i32\n n i32\n a f64[n]", "record R\n n i32\n k i32\n a f64[n]"),
        ("a signed length", "record R\n n u32\n a f64[n]", "record R\n n i32\n a f64[n]"),
        ("a length of nothing", "record R\n n i32\n b i32", "record R\n n i32\n b i32\n a f64[n]"),
        (
            "two lengths for one",
            "record R\n n i32\n m i32\n a i8[n]\n b i8[m]",
            "record R\n n i32\n k i32\n a i8[n]\n b i8[n]",
        ),
        ("what a pointer points at", "record R\n a i32*", "record R\n a u32*"),
        ("text", "record R\n s char[8]", "record R\n s string"),
        ("text in place", "record R\n s string", "record R\n s char[8]"),
    ];
    for (what, wire, native) in cases {
        assert!(!is_direct(wire, native), "{what}: {wire} as {native}");
    }
}

#[test]
fn another_machine_is_another_record_where_numbers_or_pointers_are() {
    let on = |shape: &str, layout: &Layout| Shape::parse(shape).unwrap().on(layout).unwrap();
    let direct = |shape: &str, from, to| {
        let (wire, native) = (on(shape, from), on(shape, to));
        Plan::new(&wire, &native, &Rules::new(), Faults::Error).unwrap().is_direct()
    };
    assert!(direct("record R\n a char[4]\n b u8", &Layout::S390X, &Layout::X86_64));
    assert!(direct("record R\n a f64", &Layout::X86_64, &Layout::AARCH64));
    // A record that ends in a gap is longer than one that does not.
    assert!(direct("record R\n a i64\n b i32", &Layout::X86_64, &Layout::I386));
    assert!(!direct("record R\n a i64\n b i32", &Layout::I386, &Layout::X86_64));
    assert!(!direct("record R\n a i16", &Layout::S390X, &Layout::X86_64));
    assert!(!direct("record R\n s string", &Layout::S390X, &Layout::POWERPC64LE));
    assert!(!direct("record R\n n u8\n a u8[n]", &Layout::S390X, &Layout::X86_64));
    assert!(!direct("record R\n a u8*", &Layout::ARMV7, &Layout::X86_64));
}

#[test]
fn aliases_and_defaults_count_by_what_they_do() {
    let rules = Rules::new().alias("R", "b", "a").default("R", "a", Value::Integer(1));
    assert!(plan("record R\n a i32", "record R\n b i32", &rules, Faults::Error).is_direct());
    assert!(!plan("record R\n c i32\n b i32", "record R\n c i32\n a i32", &rules, Faults::Error).is_direct());
    let reach = Rules::new().alias("R", "y", "v.y");
    assert!(plan("record V\n y i32\n z i32\nrecord R\n v V", "record R\n y i32", &reach, Faults::Error).is_direct());
    assert!(!plan("record V\n z i32\n y i32\nrecord R\n v V", "record R\n y i32", &reach, Faults::Error).is_direct());
    // The tail that a lenient receiver drops lies behind what it keeps.
    assert!(plan("record R\n a i32[3]", "record R\n a i32[2]", &Rules::new(), Faults::Wrap).is_direct());
    assert!(
        !plan("record R\n a i32[2]", "record R\n a i32[3]", &Rules::new().default_zero("R", "a"), Faults::Wrap)
            .is_direct()
    );
}

/// A sender whose structures are packed puts their blocks at multiples of 8, where a receiver must have them at 16.
#[test]
fn blocks_must_be_aligned_as_the_receiver_needs_them() {
    let track = |align| {
        let machine = Layout::X86_64.machine();
        let field = |name: &str, element, indirect| Field {
            name: name.into(),
            element,
            dims: [].into(),
            indirect,
            offset: 0,
            unit: None,
        };
        let number = field("x", Element::Integer { signed: true, size: 16 }, false);
        let wide = Structure::new("wide", machine, 16, align, vec![number]).unwrap();
        let fields = vec![field("p", Element::Structure(wide.into()), true)];
        Format::new(Arc::new(Structure::new("R", machine, 8, 8, fields).unwrap())).unwrap()
    };
    let direct =
        |wire, native| Plan::new(&track(wire), &track(native), &Rules::new(), Faults::Error).unwrap().is_direct();
    assert!(direct(16, 16));
    assert!(!direct(1, 16));
    assert!(!direct(16, 1), "its blocks are where no writer of the receiver's format puts them");
}

proptest! {
    /// Whatever is said to be the record is, byte for byte but for gaps, what a conversion would have made.
    #[test]
    fn a_record_in_place_is_what_conversion_makes(
        (wire, native, record) in (any_shape(), any_layout(), any_layout()).prop_flat_map(|(shape, one, other)| {
            let (wire, native) = (shape.on(&one).unwrap(), shape.on(&other).unwrap());
            (Just(wire.clone()), Just(native), any_value(&wire))
        }),
    ) {
        let plan = Plan::new(&wire, &native, &Rules::new(), Faults::Error).unwrap();
        let flat = !native.structure().has_slots();
        // Behind a longer record, blocks are not where a shorter one has them, though all slots point at them.
        if !plan.is_direct() || !flat && wire.size() != native.size() {
            return Ok(());
        }
        let body = value::body(&wire, &record).unwrap();
        let mut out = Vec::new();
        engine::run(&Arc::new(plan), wire.verify(&body).unwrap(), &mut out).unwrap();
        let record = if flat { &body[..native.size()] } else { &body };
        let there = View::new(native.verify(record).unwrap()).to_value();
        let made = View::new(native.verify(&out).unwrap()).to_value();
        prop_assert_eq!(format!("{there:?}"), format!("{made:?}"));
    }
}
