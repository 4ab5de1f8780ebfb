//! JSON of one record with everything in it, and what is said about JSON that does not fit.

use isoform_core::error::Position;
use isoform_core::plan::{Missing, Rules};
use isoform_core::text::json;
use isoform_core::{Code, Error, Format, Layout, Shape, Value, Verifier, View, value};

fn format() -> Format {
    let point = Shape::new("point").field("x", "double").field("tag", "char");
    Shape::new("everything")
        .nested(point)
        .field("small", "i8")
        .field("wide", "u64")
        .field("huge", "i128")
        .field("single", "f32")
        .field("half", "f16")
        .field("long", "long double")
        .field("z", "complex f32")
        .field("on", "bool")
        .field("state", "enum{bad=-1,good=1}")
        .field("name", "string")
        .field("label", "char[8]")
        .field("labels", "char[2][4]")
        .field("n", "int")
        .field("letters", "char[n]")
        .field("path", "point[n]")
        .field("at", "point*")
        .field("grid", "i16[2][2]")
        .on(&Layout::AARCH64)
        .unwrap()
}

fn through(text: &str) -> Result<String, Error> {
    let format = format();
    let body = value::body(&format, &json::parse_partial(&format, text)?)?;
    let verifier = Verifier::new(&format);
    let body = verifier.verify(&body)?;
    Ok(json::line(View::new(body)))
}

#[test]
fn every_kind_of_value() {
    let line = concat!(
        r#"{"small":-128,"wide":18446744073709551615,"huge":"-170141183460469231731687303715884105728","#,
        r#""single":0.1,"half":0.1,"long":3.141592653589793238462643383279503,"z":[1.5,"NaN"],"on":true,"#,
        r#""state":"bad","name":"Grüße\n\"\\\u0007","label":"a\u0000b","labels":["ab",""],"n":2,"#,
        r#""letters":"x\u0000","path":[{"x":"-Infinity","tag":"A"},{"x":5e-324,"tag":""}],"#,
        r#""at":{"x":1e300,"tag":{"base64":"/w=="}},"grid":[[1,2],[3,-4]]}"#
    );
    assert_eq!(through(line).unwrap(), line);
}

#[test]
fn what_is_missing_is_nothing() {
    let line = concat!(
        r#"{"small":0,"wide":0,"huge":"0","single":0.0,"half":0.0,"long":0.0,"z":[0.0,0.0],"on":false,"#,
        r#""state":"bad","name":null,"label":"","labels":["",""],"n":0,"letters":"","path":[],"at":null,"#,
        r#""grid":[[0,0],[0,0]]}"#
    );
    assert_eq!(through("{}").unwrap(), line);
    let nulls = r#"{"name":null,"letters":null,"path":null,"at":null,"n":0}"#;
    assert_eq!(through(nulls).unwrap(), line);
}

#[test]
fn other_spellings() {
    let same = |a: &str, b: &str| assert_eq!(through(a).unwrap(), through(b).unwrap());
    same(r#"{"huge":12,"wide":"7","small":"-1"}"#, r#"{"huge":"12","wide":7,"small":-1}"#);
    same(r#"{"state":1}"#, r#"{"state":"good"}"#);
    same(r#"{"single":1,"long":"2.50"}"#, r#"{"single":1.0,"long":2.5}"#);
    same(
        r#"{"name":{"base64":"SzI="},"letters":["a","b"],"n":2,"path":[{},{}]}"#,
        r#"{"name":"K2","letters":"ab","path":[{},{}]}"#,
    );
}

#[test]
fn what_does_not_fit_is_named() {
    for (text, code, path) in [
        ("", Code::Text, ""),
        ("{", Code::Text, ""),
        ("{} {}", Code::Text, ""),
        ("[]", Code::Text, ""),
        (r#"{"smal":1}"#, Code::NoSuchField, ""),
        (r#"{"path":[{"x":1},{"y":1}]}"#, Code::NoSuchField, "path[1]"),
        (r#"{"small":128}"#, Code::Overflow, "small"),
        (r#"{"wide":-1}"#, Code::Overflow, "wide"),
        (r#"{"wide":1.5}"#, Code::Text, "wide"),
        (r#"{"wide":340282366920938463463374607431768211456}"#, Code::Text, "wide"),
        (r#"{"single":1e39}"#, Code::Overflow, "single"),
        (r#"{"single":1e-60}"#, Code::Underflow, "single"),
        (r#"{"long":"0x1p3"}"#, Code::Text, "long"),
        (r#"{"single":null}"#, Code::Text, "single"),
        (r#"{"z":[1]}"#, Code::Text, "z"),
        (r#"{"on":1}"#, Code::Text, "on"),
        (r#"{"state":"ugly"}"#, Code::NoSuchField, "state"),
        (r#"{"state":0}"#, Code::Symbol, "state"),
        (r#"{"name":"a\u0000b"}"#, Code::BadRecord, "name"),
        (r#"{"name":{"base64":"a"}}"#, Code::Text, "name"),
        (r#"{"label":"123456789"}"#, Code::TooLong, "label"),
        (r#"{"labels":["a"]}"#, Code::Shape, "labels"),
        (r#"{"labels":["a","12345"]}"#, Code::TooLong, "labels[1]"),
        (r#"{"n":1,"letters":"ab"}"#, Code::Lengths, "n"),
        (r#"{"letters":"ab","path":[{}]}"#, Code::Lengths, "path"),
        (r#"{"n":2,"letters":"ab"}"#, Code::Lengths, "path"),
        (r#"{"n":-1}"#, Code::Overflow, "n"),
        (r#"{"grid":[[1,2],[3]]}"#, Code::Shape, "grid[1]"),
        (r#"{"grid":[[1,2],[3,"x"]]}"#, Code::Text, "grid[1][1]"),
        (r#"{"grid":[1,2]}"#, Code::Text, "grid[0]"),
        (r#"{"path":[{"tag":"ab"}]}"#, Code::Text, "path[0].tag"),
        (r#"{"at":[]}"#, Code::Text, "at"),
    ] {
        let error = through(text).unwrap_err();
        assert_eq!((error.code(), error.path()), (code, path), "{text}: {error}");
    }
    let error = through(&"[".repeat(100_000)).unwrap_err();
    assert_eq!(error.code(), Code::Text);
}

#[test]
fn malformed_text_has_a_position_and_what_does_not_fit_a_path() {
    let malformed = through("{\n \"small\": ?}").unwrap_err();
    let position = Position { line: 2, column: 11 };
    assert_eq!((malformed.code(), malformed.position(), malformed.path()), (Code::Text, Some(position), ""));
    assert_eq!(malformed.to_string(), "malformed text: expected JSON, found expected value at line 2 column 11");
    assert_eq!(malformed.actual(), "expected value");
    let unfit = through("{\"small\": \"one\"}").unwrap_err();
    assert_eq!((unfit.code(), unfit.position(), unfit.path()), (Code::Text, None, "small"));
    assert_eq!(unfit.expectation(), "i8", "a type has its short name");
}

/// Whatever is nested without end is refused, and not gone into.
#[test]
fn nesting_without_end_is_refused() {
    let shape = "record I\n  x  i32\nrecord P\n  i  I\n  n  i32\n  a  I[n]\n  s  string\n";
    let format = Shape::parse(shape).unwrap().on(&Layout::X86_64).unwrap();
    for (open, close) in [("[", "]"), ("{\"i\":", "}"), ("{\"a\":[", "]}"), ("{\"s\":", "}"), ("{\"base64\":", "}")] {
        for text in [open.repeat(200_000), format!("{}1{}", open.repeat(200_000), close.repeat(200_000))] {
            assert_eq!(json::parse(&format, &text).unwrap_err().code(), Code::Text);
            assert_eq!(json::parse_field(&format.structure().fields()[0], &text).unwrap_err().code(), Code::Text);
        }
    }
}

/// A receiver's structures: one nested in the record, two in an array, one behind a pointer.
fn track() -> Format {
    let point = Shape::new("point").field("x", "double").field("y", "double");
    let track = Shape::new("track").nested(point).field("at", "point").field("ends", "point[2]");
    let track = track.field("n", "int").field("heights", "float[n]").field("name", "string").field("near", "point*");
    track.field("state", "enum{bad=-1,good=1}").on(&Layout::NATIVE).unwrap()
}

#[test]
fn missing_entries_are_refused_and_all_of_them_are_named() {
    let error = json::parse(&track(), r#"{"name":"K2","at":{"x":1},"ends":[{"x":1,"y":2},{"x":3}]}"#).unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::Required, "at.y"));
    let expected = "a value, a default, or the option missing = zero, for at.y (f64), ends[].y (f64), heights (f32[]), \
                    state (enum";
    assert!(error.expectation().starts_with(expected), "{error}");
    assert!(!error.to_string().contains("near") && !error.to_string().contains(" n ("), "{error}");

    let whole = r#"{"at":{"x":1,"y":2},"ends":[{"x":1,"y":2},{"x":3,"y":4}],"heights":[1],"name":null,"state":"good"}"#;
    assert_eq!(json::parse(&track(), whole), json::parse_partial(&track(), whole));
}

#[test]
fn missing_arrays_are_named_with_their_shapes() {
    let shape = Shape::new("grid").field("n", "int").field("cells", "short[2][3]").field("waves", "double[n]");
    let format = shape.field("depth", "float").on(&Layout::NATIVE).unwrap();
    let error = json::parse(&format, "{}").unwrap_err();
    let expected =
        "a value, a default, or the option missing = zero, for cells (i16[2][3]), waves (f64[]), depth (f32)";
    assert_eq!((error.code(), error.path(), error.expectation()), (Code::Required, "cells", expected));
}

#[test]
fn missing_entries_become_their_defaults() {
    let number = Value::Float;
    let rules = Rules::new()
        .default("point", "y", number(0.5))
        .default("point", "x", number(1.5))
        .default("track", "state", Value::Symbol("good".into()))
        .default_zero("track", "heights")
        .default("track", "name", Value::String(b"none".to_vec()));
    let filled = json::parse_with(&track(), r#"{"ends":[{"x":7},{"y":8}]}"#, &rules).unwrap();
    let whole = concat!(
        r#"{"ends":[{"x":7,"y":0.5},{"y":8,"x":1.5}],"at":{"x":1.5,"y":0.5},"name":"none","state":"good","#,
        r#""heights":[],"near":null}"#
    );
    let body = |value: &Value| value::body(&track(), value).unwrap();
    assert_eq!(body(&filled), body(&json::parse(&track(), whole).unwrap()));

    let required = rules.clone().required("point", "y");
    let error = json::parse_with(&track(), r#"{"ends":[{"x":7,"y":1},{"y":8}]}"#, &required).unwrap_err();
    assert_eq!((error.code(), error.expectation()), (Code::Required, "required: at.y (f64)"));
}

#[test]
fn missing_entries_become_zero_if_the_receiver_says_so() {
    let rules = Rules::new().missing(Missing::Zero);
    let error = json::parse_with(&track(), "{}", &rules).unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::Required, "state"), "no symbol has the value 0");
    let zeros = json::parse_with(&track(), r#"{"state":"good"}"#, &rules).unwrap();
    assert_eq!(zeros, json::parse_partial(&track(), r#"{"state":"good"}"#).unwrap());
    let blank = Rules::new().default_zero("track", "at").default_zero("track", "ends").default_zero("track", "heights");
    assert!(json::parse_with(&track(), r#"{"state":"good","name":null}"#, &blank).is_ok());
}

#[test]
fn a_default_of_an_array_is_one_value_or_a_list() {
    let format = Shape::new("r").field("grid", "int[2][3]").field("label", "char[4]").on(&Layout::NATIVE).unwrap();
    let list = Value::Array((1..=6).map(Value::Integer).collect());
    for (default, grid) in [(list, "[[1,2,3],[4,5,6]]"), (Value::Integer(9), "[[9,9,9],[9,9,9]]")] {
        let rules = Rules::new().default("r", "grid", default).default("r", "label", Value::String(b"ab".to_vec()));
        let filled = json::parse_with(&format, "{}", &rules).unwrap();
        let text = format!(r#"{{"grid":{grid},"label":"ab"}}"#);
        assert_eq!(filled, json::parse(&format, &text).unwrap());
    }
}
