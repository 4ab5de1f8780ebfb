//! What becomes of a record whose sender declared it otherwise than its receiver: both declarations as shapes, the record
//! as JSON before and after. The rules are those of `spec/conversion.md`.

use crate::engine;
use isoform_core::plan::{Faults, Missing, Plan, Rules};
use isoform_core::text::json;
use isoform_core::{Code, Error, Format, Result, Value, Verifier, View, value};
use isoform_core::{Layout, Shape};
use std::sync::Arc;

/// The sender is another kind of machine than the receiver, so that nothing fits by chance.
fn formats(wire: &str, native: &str) -> (Format, Format) {
    let on = |shape: &str, layout| Shape::parse(shape).unwrap().on(&layout).unwrap();
    (on(wire, Layout::POWERPC), on(native, Layout::X86_64))
}

fn convert(wire: &str, native: &str, rules: &Rules, faults: Faults, record: &str) -> Result<String> {
    let (wire, native) = formats(wire, native);
    let plan = Arc::new(Plan::new(&wire, &native, rules, faults)?);
    let body = value::body(&wire, &json::parse_partial(&wire, record).unwrap()).unwrap();
    let mut out = Vec::new();
    engine::run(&plan, wire.verify(&body).unwrap(), &mut out)?;
    // What comes out is a body of the native format, such as the native machine itself would have made.
    let line = json::line(View::new(Verifier::new(&native).verify(&out).unwrap()));
    assert_eq!(value::body(&native, &json::parse(&native, &line).unwrap()).unwrap().len(), out.len());
    Ok(line)
}

fn becomes(wire: &str, native: &str, cases: &[(&str, &str)]) {
    for (record, expected) in cases {
        let converted = convert(wire, native, &Rules::new(), Faults::Error, record);
        assert_eq!(converted.as_deref(), Ok(*expected), "{record} from {wire} to {native}");
    }
}

/// For a receiver that wants zeros for everything that does not come.
fn zeroed(wire: &str, native: &str, cases: &[(&str, &str)]) {
    for (record, expected) in cases {
        let rules = Rules::new().missing(Missing::Zero);
        let converted = convert(wire, native, &rules, Faults::Error, record);
        assert_eq!(converted.as_deref(), Ok(*expected), "{record} from {wire} to {native}");
    }
}

fn leniently(faults: Faults, wire: &str, native: &str, record: &str, expected: &str) {
    let converted = convert(wire, native, &Rules::new(), faults, record);
    assert_eq!(converted.as_deref(), Ok(expected), "{faults}: {record} from {wire} to {native}");
}

fn by_rules(rules: Rules, wire: &str, native: &str, record: &str, expected: &str) {
    let converted = convert(wire, native, &rules, Faults::Error, record);
    assert_eq!(converted.as_deref(), Ok(expected), "{record} from {wire} to {native}");
}

/// Code and path, then what was expected and what came.
fn fault(error: &Error) -> String {
    format!("{:?} at {}: {} / {}", error.code(), error.path(), error.expectation(), error.actual())
}

fn refused(wire: &str, native: &str, record: &str, expected: &str) {
    let error = convert(wire, native, &Rules::new(), Faults::Error, record).unwrap_err();
    assert_eq!(fault(&error), expected, "{record} from {wire} to {native}");
}

fn never_planned(rules: Rules, faults: Faults, wire: &str, native: &str, expected: &str) {
    let (wire_format, native_format) = formats(wire, native);
    let error = Plan::new(&wire_format, &native_format, &rules, faults).unwrap_err();
    assert_eq!(fault(&error), expected, "{wire} to {native}");
}

#[test]
fn fields_are_matched_by_name_whatever_their_order() {
    becomes(
        "record V\n x f32\n y f32\nrecord R\n a i16\n v V\n b string",
        "record W\n y f64\n x f64\nrecord Q\n b string\n v W\n a i64",
        &[(r#"{"a":-3,"v":{"x":0.5,"y":1.5},"b":"text"}"#, r#"{"b":"text","v":{"y":1.5,"x":0.5},"a":-3}"#)],
    );
}

#[test]
fn fields_that_nobody_wants_are_ignored() {
    becomes(
        "record V\n z i8\n x i8\nrecord R\n s string\n n i32\n more f32[n]\n vs V[2]\n a i32",
        "record V\n x i8\nrecord R\n vs V[2]\n a i32",
        &[(r#"{"s":"s","more":[1,2],"vs":[{"z":9,"x":1},{"z":9,"x":2}],"a":7}"#, r#"{"vs":[{"x":1},{"x":2}],"a":7}"#)],
    );
}

#[test]
fn a_receiver_can_ask_for_zeros() {
    zeroed(
        "record R\n a u8",
        "record V\n x f32\n s string\nrecord R\n a u8\n b bool\n n u8\n list f32[n]\n p V*\n v V\n s string\n f i16[2]\n \
         e enumeration{zero=0,one=1}\n c char[4]\n z complex f32",
        &[(
            r#"{"a":1}"#,
            r#"{"a":1,"b":false,"n":0,"list":[],"p":null,"v":{"x":0.0,"s":null},"s":null,"f":[0,0],"e":"zero","c":"","z":[0.0,0.0]}"#,
        )],
    );
}

#[test]
fn missing_fields_have_defaults_also_within_missing_structures() {
    let rules = Rules::new()
        .default("V", "x", Value::Float(0.5))
        .default("V", "name", Value::String(b"none".to_vec()))
        .default("R", "e", Value::Symbol("late".into()))
        .default("R", "list", Value::Array(vec![Value::Integer(1), Value::Integer(2)]))
        .default("R", "all", Value::Integer(7))
        .default("R", "label", Value::String(b"abc".to_vec()))
        .default("V", "y", Value::Integer(0));
    by_rules(
        rules,
        "record V\n y f32\nrecord R\n v V\n few V[1]",
        "record V\n name string\n x f32\n y f32\nrecord R\n v V\n w V[2]\n few V[2]\n e enumeration{soon=1,late=2}\n \
         list i16[2]\n all i8[3]\n label char[5]",
        r#"{"v":{"y":3},"few":[{"y":4}]}"#,
        r#"{"v":{"name":"none","x":0.5,"y":3.0},"w":[{"name":"none","x":0.5,"y":0.0},{"name":"none","x":0.5,"y":0.0}],"few":[{"name":"none","x":0.5,"y":4.0},{"name":"none","x":0.5,"y":0.0}],"e":"late","list":[1,2],"all":[7,7,7],"label":"abc"}"#,
    );
}

const ADVICE: &str = "a default, or in the receiving program the option missing = zero, for";

/// A record of another kind that has one name in common would otherwise pass for one.
#[test]
fn fields_that_nobody_sends_are_refused_all_at_once() {
    let wire = "record Alarm\n time i64\n level u8";
    let native = "record Depth\n time i64\n depth f64\n quality u8";
    let expected = format!("Required at depth: {ADVICE} depth (f64), quality (u8) / Alarm with time, level");
    never_planned(Rules::new(), Faults::Wrap, wire, native, &expected);
    let rules = Rules::new().default("Depth", "depth", Value::Float(-1.0)).required("Depth", "quality");
    let expected = "Required at quality: required: quality (u8) / Alarm with time, level";
    never_planned(rules, Faults::Error, wire, native, expected);
    let expected =
        format!("Required at depth: required: quality (u8); and {ADVICE} depth (f64) / Alarm with time, level");
    never_planned(Rules::new().required("Depth", "quality"), Faults::Error, wire, native, &expected);
    let rules = Rules::new().default("Depth", "depth", Value::Float(-1.0)).default_zero("Depth", "quality");
    by_rules(rules, wire, native, r#"{"time":1,"level":2}"#, r#"{"time":1,"depth":-1.0,"quality":0}"#);
}

#[test]
fn every_kind_of_field_must_come_but_pointers_to_single_elements() {
    let native = "record V\n x f32\n s string\nrecord R\n a u8\n b bool\n n u8\n list f32[n]\n v V\n vs V[2]\n \
                  s string\n f i16[2]\n e enumeration{zero=0,one=1}\n c char[4]\n z complex f32";
    let fields = "b (bool), list (f32[]), v.x (f32), v.s (string), vs[].x (f32), vs[].s (string), s (string), \
                  f (i16[2]), e (enumeration(4){zero=0,one=1}), c (char[4]), z (complex f32)";
    never_planned(
        Rules::new(),
        Faults::Error,
        "record R\n a u8",
        native,
        &format!("Required at b: {ADVICE} {fields} / R with a"),
    );
    becomes(
        "record R\n a u8",
        "record V\n x i8\nrecord R\n a u8\n p V*\n q f32[3]*",
        &[(r#"{"a":1}"#, r#"{"a":1,"p":null,"q":null}"#)],
    );
}

#[test]
fn a_default_without_a_value_is_zero_null_or_empty() {
    let mut rules = Rules::new().default("V", "x", Value::Float(0.5));
    for field in ["b", "list", "v", "vs", "s", "f", "e", "c", "z"] {
        rules = rules.default_zero("R", field);
    }
    by_rules(
        rules.clone(),
        "record R\n a u8",
        "record V\n x f32\n s string\nrecord R\n a u8\n b bool\n n u8\n list f32[n]\n v V\n vs V[2]\n s string\n \
         f i16[2]\n e enumeration{zero=0,one=1}\n c char[4]\n z complex f32",
        r#"{"a":1}"#,
        r#"{"a":1,"b":false,"n":0,"list":[],"v":{"x":0.5,"s":null},"vs":[{"x":0.5,"s":null},{"x":0.5,"s":null}],"s":null,"f":[0,0],"e":"zero","c":"","z":[0.0,0.0]}"#,
    );
    // It does not say that a symbol is unknown, nor does it make a required field a zero.
    let unknown = convert(
        "record R\n e enumeration{zero=0,one=1}",
        "record R\n e enumeration{zero=0}",
        &rules,
        Faults::Error,
        r#"{"e":"one"}"#,
    );
    assert_eq!(unknown.unwrap_err().code(), Code::UnknownSymbol);
    never_planned(
        rules.required("V", "s"),
        Faults::Error,
        "record R\n a u8",
        "record V\n x f32\n s string\nrecord R\n a u8\n v V",
        "Required at v.s: required: v.s (string) / R with a",
    );
}

#[test]
fn elements_beyond_a_shorter_array_must_have_a_default() {
    let (few, many) = ("record R\n a i32[2]", "record R\n a i32[4]");
    let refusal = format!("Required at a[]: {ADVICE} a[] (i32[4]) / R with a");
    never_planned(Rules::new(), Faults::Wrap, few, many, &refusal);
    let list = || Value::Array((0..4).map(Value::Integer).collect());
    // A list does not say what a single element becomes.
    never_planned(Rules::new().default("R", "a", list()), Faults::Error, few, many, &refusal);
    let record = r#"{"a":[1,2]}"#;
    by_rules(Rules::new().default("R", "a", Value::Integer(-1)), few, many, record, r#"{"a":[1,2,-1,-1]}"#);
    by_rules(Rules::new().default_zero("R", "a"), few, many, record, r#"{"a":[1,2,0,0]}"#);
    zeroed(few, many, &[(record, r#"{"a":[1,2,0,0]}"#)]);

    // Of an array of variable length, the record tells.
    let some = "record R\n n u8\n a i16[n]";
    becomes(some, many, &[(r#"{"a":[1,2,3,4]}"#, r#"{"a":[1,2,3,4]}"#)]);
    refused(
        some,
        many,
        r#"{"a":[1,2,3]}"#,
        "Required at a: 1 more element for i32[4], or a default for what is missing / ",
    );
    refused(
        some,
        many,
        r#"{"a":[]}"#,
        "Required at a: 4 more elements for i32[4], or a default for what is missing / ",
    );
    by_rules(Rules::new().default("R", "a", Value::Integer(-1)), some, many, record, r#"{"a":[1,2,-1,-1]}"#);
    by_rules(Rules::new().default_zero("R", "a"), some, many, r#"{"a":[]}"#, r#"{"a":[0,0,0,0]}"#);

    // Fewer characters are a shorter text; fewer texts are not.
    becomes("record R\n a char[2]", "record R\n a char[4]", &[(r#"{"a":"ab"}"#, r#"{"a":"ab"}"#)]);
    let lines = ("record R\n a char[1][3]", "record R\n a char[2][3]");
    never_planned(
        Rules::new(),
        Faults::Error,
        lines.0,
        lines.1,
        &format!("Required at a[]: {ADVICE} a[] (char[2][3]) / R with a"),
    );

    // The fields of a structure say it for its elements.
    let (few, many) = ("record V\n x i8\nrecord R\n a V[1]", "record V\n x i8\nrecord R\n a V[2]");
    never_planned(
        Rules::new(),
        Faults::Error,
        few,
        many,
        &format!("Required at a[].x: {ADVICE} a[].x (i8) / R with a"),
    );
    by_rules(
        Rules::new().default("V", "x", Value::Integer(7)),
        few,
        many,
        r#"{"a":[{"x":1}]}"#,
        r#"{"a":[{"x":1},{"x":7}]}"#,
    );
}

#[test]
fn required_fields_must_come_also_within_structures() {
    let required = || Rules::new().required("V", "x").default("V", "y", Value::Integer(0)).missing(Missing::Zero);
    let (wire, native) = ("record V\n y f32\nrecord R\n v V", "record V\n x f32\n y f32\nrecord R\n v V");
    never_planned(required(), Faults::Error, wire, native, "Required at v.x: required: v.x (f32) / R with v");
    let other = ("record R\n a i32", "record V\n x f32\n y f32\nrecord R\n a i32\n v V");
    never_planned(required(), Faults::Error, other.0, other.1, "Required at v.x: required: v.x (f32) / R with a");
    let few = ("record V\n x f32\nrecord R\n v V[2]", "record V\n x f32\nrecord R\n v V[3]");
    never_planned(required(), Faults::Error, few.0, few.1, "Required at v[].x: required: v[].x (f32) / R with v");
    by_rules(required(), few.0, few.0, r#"{"v":[{"x":1},{"x":2}]}"#, r#"{"v":[{"x":1.0},{"x":2.0}]}"#);
    // Behind a pointer it comes or the record is refused; only a lenient receiver would have to fill it in.
    let (pointer, inline) = ("record V\n x f32\nrecord R\n v V*", "record V\n x f32\nrecord R\n v V");
    by_rules(required(), pointer, inline, r#"{"v":{"x":1}}"#, r#"{"v":{"x":1.0}}"#);
    never_planned(required(), Faults::Wrap, pointer, inline, "Required at v.x: required: v.x (f32) / R with v");
}

#[test]
fn aliases_name_a_field_as_others_do() {
    let rules = Rules::new()
        .alias("R", "temperature", "temp")
        .alias("R", "temperature", "t")
        .alias("R", "y", "pos.at.y")
        .alias("R", "behind", "far.y")
        .alias("R", "many", "list.y");
    let wire = "record V\n x f32\n y f32\nrecord P\n at V\nrecord R\n pos P\n far V*\n list V[2]\n t i16\n temp i16";
    let native = "record R\n y f64\n temperature i32\n behind f32\n many f32";
    let record = r#"{"pos":{"at":{"x":1,"y":2}},"far":{"y":3},"list":[{"y":4},{"y":5}],"t":6,"temp":7}"#;
    let rules = rules.default("R", "behind", Value::Integer(-1)).default("R", "many", Value::Integer(-2));
    by_rules(rules, wire, native, record, r#"{"y":2.0,"temperature":7,"behind":-1.0,"many":-2.0}"#);
    // Its own name comes first.
    let rules = Rules::new().alias("R", "a", "b");
    by_rules(rules, "record R\n b i8\n a i8", "record R\n a i8", r#"{"a":1,"b":2}"#, r#"{"a":1}"#);
}

#[test]
fn enumerations_match_by_symbol() {
    let wire = "record R\n e enumeration{a=1,b=2,c=3}\n es enumeration{a=1,b=2,c=3}[2]";
    let native = "record R\n e unsigned enumeration(2){b=7,a=300}\n es enumeration{b=1,a=2}[2]";
    becomes(wire, native, &[(r#"{"e":"a","es":["a","b"]}"#, r#"{"e":"a","es":["a","b"]}"#)]);
    refused(wire, native, r#"{"e":"c","es":["a","b"]}"#, "UnknownSymbol at e: a symbol that the receiver knows / c");
    refused(
        wire,
        native,
        r#"{"e":"a","es":["b","c"]}"#,
        "UnknownSymbol at es[1]: a symbol that the receiver knows / c",
    );
    let default = |field, symbol: &str| Rules::new().default("R", field, Value::Symbol(symbol.into()));
    by_rules(default("es", "b"), wire, native, r#"{"e":"b","es":["a","c"]}"#, r#"{"e":"b","es":["a","b"]}"#);
    for faults in [Faults::Saturate, Faults::Wrap] {
        let error = convert(wire, native, &Rules::new(), faults, r#"{"e":"c","es":["a","b"]}"#).unwrap_err();
        assert_eq!(error.code(), Code::UnknownSymbol);
    }
    // A default for each element says nothing about symbols that are unknown, and does no harm.
    let each = Value::Array(vec![Value::Symbol("a".into()), Value::Symbol("b".into())]);
    by_rules(
        Rules::new().default("R", "es", each),
        wire,
        native,
        r#"{"e":"a","es":["b","a"]}"#,
        r#"{"e":"a","es":["b","a"]}"#,
    );
}

#[test]
fn enumerations_are_numbers_to_whoever_wants_numbers() {
    let wire = "record R\n e enumeration{low=-5,high=300}";
    becomes(wire, "record R\n e i64", &[(r#"{"e":"low"}"#, r#"{"e":-5}"#)]);
    refused(wire, "record R\n e u8", r#"{"e":"high"}"#, "Overflow at e: unsigned integer of 1 byte / 300");
    let numbers = "record R\n e i16";
    becomes(numbers, wire, &[(r#"{"e":300}"#, r#"{"e":"high"}"#)]);
    refused(numbers, wire, r#"{"e":0}"#, "UnknownSymbol at e: a symbol that the receiver knows / 0");
}

#[test]
fn dynamic_arrays_become_fixed_and_the_reverse() {
    let (dynamic, fixed) = ("record R\n n i32\n a f32[n]", "record R\n a f64[3]");
    zeroed(
        dynamic,
        fixed,
        &[
            (r#"{"a":[1,2,3]}"#, r#"{"a":[1.0,2.0,3.0]}"#),
            (r#"{"a":[1]}"#, r#"{"a":[1.0,0.0,0.0]}"#),
            (r#"{"a":[]}"#, r#"{"a":[0.0,0.0,0.0]}"#),
        ],
    );
    refused(dynamic, fixed, r#"{"a":[1,2,3,4]}"#, "TooLong at a: at most 3 elements / 4");
    leniently(Faults::Wrap, dynamic, fixed, r#"{"a":[1,2,3,4]}"#, r#"{"a":[1.0,2.0,3.0]}"#);
    becomes(fixed, dynamic, &[(r#"{"a":[1,2,3]}"#, r#"{"n":3,"a":[1.0,2.0,3.0]}"#)]);
    // A longer array of char is refused, whatever text is in it.
    let (long, short) = ("record R\n a char[10]", "record R\n a char[5]");
    refused(long, short, r#"{"a":"Fer"}"#, "TooLong at a: char[5] / char[10], which is longer");
    leniently(Faults::Saturate, long, short, r#"{"a":"Fer"}"#, r#"{"a":"Fer"}"#);
    // A fixed array behind a pointer is none of the two, and may be null.
    let pointer = "record R\n a f32[3]*";
    zeroed(dynamic, pointer, &[(r#"{"a":[1]}"#, r#"{"a":[1.0,0.0,0.0]}"#), (r#"{"a":[]}"#, r#"{"a":null}"#)]);
    becomes(pointer, dynamic, &[(r#"{"a":null}"#, r#"{"n":0,"a":[]}"#)]);
    refused(pointer, fixed, r#"{"a":null}"#, "Null at a: a value / null");
    leniently(Faults::Saturate, pointer, fixed, r#"{"a":null}"#, r#"{"a":[0.0,0.0,0.0]}"#);
    refused(
        "record R\n n i32\n a u8[n]",
        "record R\n n i8\n a u8[n]",
        &format!(r#"{{"a":{:?}}}"#, [0; 200]),
        "Overflow at a: a length that fits 1 bytes / 200",
    );
}

#[test]
fn arrays_of_several_dimensions() {
    let (dynamic, rows, grid) =
        ("record R\n n i32\n m i8\n a i16[n][m]", "record R\n n u8\n a i32[n][2]", "record R\n a i32[2][2]");
    becomes(dynamic, rows, &[(r#"{"a":[[1,2],[3,4],[5,6]]}"#, r#"{"n":3,"a":[[1,2],[3,4],[5,6]]}"#)]);
    zeroed(dynamic, grid, &[(r#"{"a":[[1,2]]}"#, r#"{"a":[[1,2],[0,0]]}"#)]);
    becomes(grid, dynamic, &[(r#"{"a":[[1,2],[3,4]]}"#, r#"{"n":2,"m":2,"a":[[1,2],[3,4]]}"#)]);
    zeroed(rows, grid, &[(r#"{"a":[[1,2]]}"#, r#"{"a":[[1,2],[0,0]]}"#)]);
    refused(dynamic, rows, r#"{"a":[[1,2,3]]}"#, "Shape at a: 2 elements in dimension 1 / 3");
    refused(dynamic, grid, r#"{"a":[[1,2],[3,4],[5,6]]}"#, "TooLong at a: at most 2 elements / 3");
    leniently(Faults::Wrap, dynamic, grid, r#"{"a":[[1,2],[3,4],[5,6]]}"#, r#"{"a":[[1,2],[3,4]]}"#);
    let columns = "record R\n m i8\n a i32[2][m]";
    zeroed(dynamic, columns, &[(r#"{"a":[[1,2,3]]}"#, r#"{"m":3,"a":[[1,2,3],[0,0,0]]}"#)]);
    let cube = "record R\n a i16[2][2][2]";
    never_planned(Rules::new(), Faults::Error, cube, grid, "Shape at a: i32[2][2] / i16[2][2][2]");
    never_planned(
        Rules::new(),
        Faults::Wrap,
        "record R\n a i16[2][3]",
        grid,
        "Shape at a: 2 elements in dimension 1 / 3",
    );
}

/// Five rows of no elements have no place among rows of two: no length beside a null pointer may promise elements.
#[test]
fn an_array_without_elements_has_no_rows() {
    let wire = "record R\n n i32\n m i32\n a i16[n][m]";
    for (n, m) in [(5, 0), (0, 5), (0, 0)] {
        let record = format!(r#"{{"n":{n},"m":{m},"a":[]}}"#);
        becomes(wire, wire, &[(&record, &record)]);
        becomes(wire, "record R\n n i32\n a i16[n][2]", &[(&record, r#"{"n":0,"a":[]}"#)]);
        becomes(wire, "record R\n m i32\n a i16[2][m]", &[(&record, r#"{"m":0,"a":[]}"#)]);
        zeroed(wire, "record R\n a i16[2][2]", &[(&record, r#"{"a":[[0,0],[0,0]]}"#)]);
        becomes(wire, "record R\n a i16[2][2]*", &[(&record, r#"{"a":null}"#)]);
    }
}

/// Elements for which nothing comes are valid ones wherever they lie.
#[test]
fn elements_are_filled_behind_pointers_too() {
    let wire = "record V\n e enumeration{one=1}\nrecord R\n n i32\n a V[n]";
    let native = "record V\n e enumeration{one=1}\n x i8\nrecord R\n a V[2]*";
    never_planned(
        Rules::new().missing(Missing::Zero),
        Faults::Error,
        wire,
        native,
        "Required at a[].e: a default, since no symbol has the value 0 / nothing",
    );
    let rules = Rules::new().default("V", "e", Value::Symbol("one".into())).default("V", "x", Value::Integer(9));
    by_rules(rules, wire, native, r#"{"a":[{"e":"one"}]}"#, r#"{"a":[{"e":"one","x":9},{"e":"one","x":9}]}"#);
}

#[test]
fn pointers_to_single_elements_and_elements_in_place() {
    let (pointer, inline) =
        ("record V\n x i16\n s string\nrecord R\n v V*\n k i8*", "record V\n x i32\n s string\nrecord R\n v V\n k i8");
    becomes(pointer, inline, &[(r#"{"v":{"x":1,"s":"s"},"k":2}"#, r#"{"v":{"x":1,"s":"s"},"k":2}"#)]);
    becomes(inline, pointer, &[(r#"{"v":{"x":1,"s":"s"},"k":2}"#, r#"{"v":{"x":1,"s":"s"},"k":2}"#)]);
    becomes(pointer, pointer, &[(r#"{"v":null,"k":null}"#, r#"{"v":null,"k":null}"#)]);
    refused(pointer, inline, r#"{"v":null,"k":2}"#, "Null at v: a value / null");
    refused(pointer, inline, r#"{"v":{"x":1},"k":null}"#, "Null at k: a value / null");
    leniently(Faults::Saturate, pointer, inline, r#"{"v":null,"k":null}"#, r#"{"v":{"x":0,"s":null},"k":0}"#);
    // An enumeration without 0 has nothing to become of null, but is not asked to where null is refused.
    let (pointer, inline) = ("record R\n e enumeration{one=1}*", "record R\n e enumeration{one=1}");
    becomes(pointer, inline, &[(r#"{"e":"one"}"#, r#"{"e":"one"}"#)]);
    never_planned(
        Rules::new(),
        Faults::Wrap,
        pointer,
        inline,
        "Required at e: a default, since no symbol has the value 0 / nothing",
    );
}

#[test]
fn strings_and_characters() {
    let (string, chars) = ("record R\n s string", "record R\n s char[4]");
    becomes(string, chars, &[(r#"{"s":"abc"}"#, r#"{"s":"abc"}"#), (r#"{"s":null}"#, r#"{"s":""}"#)]);
    becomes(chars, string, &[(r#"{"s":"abcd"}"#, r#"{"s":"abcd"}"#), (r#"{"s":""}"#, r#"{"s":""}"#)]);
    refused(string, chars, r#"{"s":"abcd"}"#, "TooLong at s: at most 3 bytes and a NUL / 4");
    for faults in [Faults::Saturate, Faults::Wrap] {
        leniently(faults, string, chars, r#"{"s":"abcd"}"#, r#"{"s":"abc"}"#);
    }
    never_planned(Rules::new(), Faults::Error, string, "record R\n s f32", "NoConversion at s: f32 / string");
}

#[test]
fn numbers_that_do_not_fit() {
    let cases = [
        ("i32", "i8", "-129", "Overflow at x: integer of 1 byte / -129", "-128", "127"),
        ("i32", "u8", "-1", "Overflow at x: unsigned integer of 1 byte / -1", "0", "255"),
        ("u8", "bool", "7", "Overflow at x: boolean of 1 byte / 7", "true", "true"),
        ("f64", "i8", "300.0", "Overflow at x: integer of 1 byte / 300", "127", "44"),
        ("f64", "i8", "1.5", "Inexact at x: integer of 1 byte / 1.5", "1", "1"),
        ("f64", "i8", "\"NaN\"", "Overflow at x: integer of 1 byte / NaN", "0", "0"),
        ("f16", "i8", "\"NaN\"", "Overflow at x: integer of 1 byte / NaN", "0", "0"),
        ("f64", "i128", "\"NaN\"", "Overflow at x: integer of 16 bytes / NaN", "\"0\"", "\"0\""),
        ("f64", "i8", "\"-Infinity\"", "Overflow at x: integer of 1 byte / -inf", "-128", "0"),
        ("f64", "f32", "1e39", "Overflow at x: float of 4 bytes / 1e39", "3.4028235e38", "\"Infinity\""),
        ("f64", "f32", "-1e-60", "Underflow at x: float of 4 bytes / -1e-60", "-0.0", "-0.0"),
        ("i32", "f32", "16777217", "Inexact at x: float of 4 bytes / 16777217", "16777216.0", "16777216.0"),
        ("i32", "f16", "70000", "Overflow at x: float of 2 bytes / 70000", "65500.0", "\"Infinity\""),
    ];
    for (from, to, came, error, saturated, wrapped) in cases {
        let (wire, native) = (format!("record R\n x {from}"), format!("record R\n x {to}"));
        let record = format!(r#"{{"x":{came}}}"#);
        refused(&wire, &native, &record, error);
        leniently(Faults::Saturate, &wire, &native, &record, &format!(r#"{{"x":{saturated}}}"#));
        leniently(Faults::Wrap, &wire, &native, &record, &format!(r#"{{"x":{wrapped}}}"#));
    }
    becomes("record R\n x f64", "record R\n x f32", &[(r#"{"x":0.1}"#, r#"{"x":0.1}"#)]);
}

/// Faults name the element, whatever lies between it and the record.
#[test]
fn paths_of_faults() {
    refused(
        "record R\n a i32[2][3]",
        "record R\n a i8[2][3]",
        r#"{"a":[[0,0,0],[0,999,0]]}"#,
        "Overflow at a[1][1]: integer of 1 byte / 999",
    );
    refused(
        "record R\n a i32[2][2][2]",
        "record R\n a i8[2][2][2]",
        r#"{"a":[[[0,0],[0,0]],[[0,0],[999,0]]]}"#,
        "Overflow at a[1][1][0]: integer of 1 byte / 999",
    );
    refused(
        "record R\n n i32\n m i32\n a i32[n][m]",
        "record R\n n i8\n m i8\n a i8[n][m]",
        r#"{"a":[[0,0],[0,0],[0,-999]]}"#,
        "Overflow at a[2][1]: integer of 1 byte / -999",
    );
    refused(
        "record R\n z complex f64[2]",
        "record R\n z complex f32[2]",
        r#"{"z":[[0,0],[0,1e300]]}"#,
        "Overflow at z[1]: float of 4 bytes / 1e300",
    );

    let wire = "record C\n k i32[2]\n e enumeration{a=0,b=1}\nrecord B\n n i32\n cs C[n][2]\n c C*\nrecord R\n n i32\n bs B[n]\n b B";
    let native = "record C\n k i8[2]\n e enumeration{a=3,z=0}\nrecord B\n n i32\n cs C[n][2]\n c C\nrecord R\n n i32\n bs B[n]\n b B";
    let (c, bad) = (r#"{"k":[0,0],"e":"a"}"#, r#"{"k":[0,999],"e":"a"}"#);
    let record = |bs: &str, b: &str| format!(r#"{{"bs":[{bs}],"b":{b}}}"#);
    let b = |cs: &str, c: &str| format!(r#"{{"cs":[{cs}],"c":{c}}}"#);
    let good = b("", c);
    refused(
        wire,
        native,
        &record(&format!("{good},{}", b(&format!("[{c},{c}],[{c},{bad}]"), c)), &good),
        "Overflow at bs[1].cs[1][1].k[1]: integer of 1 byte / 999",
    );
    refused(
        wire,
        native,
        &record("", &b(&format!("[{bad},{c}]"), c)),
        "Overflow at b.cs[0][0].k[1]: integer of 1 byte / 999",
    );
    refused(wire, native, &record(&good, &b("", bad)), "Overflow at b.c.k[1]: integer of 1 byte / 999");
    refused(
        wire,
        native,
        &record(&format!("{good},{good},{}", b("", "null")), &good),
        "Null at bs[2].c: a value / null",
    );
    refused(
        wire,
        native,
        &record(&b("", r#"{"e":"b"}"#), &good),
        "UnknownSymbol at bs[0].c.e: a symbol that the receiver knows / b",
    );
    refused(
        "record S\n s string\nrecord R\n a S[2][2]",
        "record S\n s char[2]\nrecord R\n a S[2][2]",
        r#"{"a":[[{},{}],[{"s":"long"},{}]]}"#,
        "TooLong at a[1][0].s: at most 1 bytes and a NUL / 4",
    );
}

#[test]
fn units_are_compared_where_both_sides_have_one() {
    let (metres, feet, none) = ("record R\n x f32 unit=\"m\"", "record R\n x f64 unit=\"ft\"", "record R\n x f64");
    never_planned(Rules::new(), Faults::Wrap, metres, feet, "Unit at x: ft / m");
    becomes(metres, none, &[(r#"{"x":1}"#, r#"{"x":1.0}"#)]);
    becomes(none, feet, &[(r#"{"x":1}"#, r#"{"x":1.0}"#)]);
}

#[test]
fn lengths_follow_their_arrays() {
    // What comes under the name of a length does not matter.
    becomes(
        "record R\n n i32\n k i32\n a u8[k]",
        "record R\n n i64\n a u8[n]",
        &[(r#"{"n":77,"a":[1,2]}"#, r#"{"n":2,"a":[1,2]}"#)],
    );
    zeroed(
        "record R\n x i8\n n i32\n a u8[n]",
        "record R\n x i8\n n i32\n b u8[n]",
        &[(r#"{"x":1,"a":[1,2]}"#, r#"{"x":1,"n":0,"b":[]}"#)],
    );
    let shared = "record R\n n i32\n a u8[n]\n b u8[n]";
    refused(
        "record R\n i i32\n j i32\n a u8[i]\n b u8[j]",
        shared,
        r#"{"a":[1],"b":[1,2]}"#,
        "Lengths at b: 1 elements / 2",
    );
    never_planned(
        Rules::new(),
        Faults::Wrap,
        "record R\n i i32\n a u8[i]",
        shared,
        "Lengths at n: a wire field for every array of this length / one for only some of them",
    );
}
