//! JSON of one record with everything in it, and what is said about JSON that does not fit.

use isoform_core::error::Position;
use isoform_core::plan::{Missing, Rules};
use isoform_core::scalar::Real;
use isoform_core::text::json;
use isoform_core::{Code, Error, FloatKind, Format, Layout, Shape, Value, Verifier, View, value};
use proptest::prelude::*;

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

proptest! {
    /// Also those of few digits, and those in the middle of two texts.
    #[test]
    fn a_number_has_the_text_of_its_kind(bits: u64, zeros in 0..64u32, tiny in 1023u64 - 60..1023 - 10, layout in 0..2usize) {
        let format = Shape::new("r").field("x", "double").field("y", "float").field("ys", "float[2]");
        let format = format.on([&Layout::X86_64, &Layout::S390X][layout]).unwrap();
        let even = bits >> zeros << zeros;
        let near_zero = even & !(0x7ff << 52) | tiny << 52;
        for bits in [bits, even, near_zero, near_zero >> zeros.min(62), even ^ near_zero << 31] {
            let (double, single) = (f64::from_bits(bits), f32::from_bits(bits as u32));
            let mut body = vec![0; format.size()];
            format.machine().write(&mut body[..8], bits);
            for at in [8, 12, 16] {
                format.machine().write(&mut body[at..at + 4], bits & 0xffff_ffff);
            }
            let text = |value: f64, size, is_finite: bool| {
                let text = Real::Double(value).to_text(FloatKind::Ieee, size);
                if is_finite { text } else { format!("\"{text}\"") }
            };
            let (x, y) = (text(double, 8, double.is_finite()), text(single.into(), 4, single.is_finite()));
            let line = json::line(View::new(format.verify(&body).unwrap()));
            prop_assert_eq!(line, format!("{{\"x\":{x},\"y\":{y},\"ys\":[{y},{y}]}}"));
        }
    }
}

/// Strings of every length, with an odd character at every place; and long ones, which are handed over in pieces.
#[test]
fn strings_are_escaped_wherever_it_is_needed() {
    let format = Shape::new("r").field("s", "string").on(&Layout::NATIVE).unwrap();
    let check = |text: &str, written: &str| {
        let body = value::body(&format, &Value::Record(vec![("s".into(), Value::String(text.into()))])).unwrap();
        let view = View::new(format.verify(&body).unwrap());
        let line = format!("{{\"s\":\"{written}\"}}");
        assert_eq!(json::line(view), line);
        assert_eq!(std::fmt::from_fn(|f| json::write(view, f)).to_string(), line);
        assert_eq!(value::body(&format, &json::parse(&format, &line).unwrap()).unwrap(), body);
    };
    for length in (0..70).chain([4095, 4096, 4097, 9000]) {
        check(&"x".repeat(length), &"x".repeat(length));
        for at in (0..70).chain([4096]).filter(|at| *at < length) {
            let (before, behind) = ("x".repeat(at), "~ ".repeat(length - at));
            for (odd, escaped) in [
                ("\"", "\\\""),
                ("\\", "\\\\"),
                ("\n", "\\n"),
                ("\u{7f}", "\\u007f"),
                ("\u{1f}", "\\u001f"),
                ("ä", "ä"),
            ] {
                check(&format!("{before}{odd}{behind}"), &format!("{before}{escaped}{behind}"));
            }
        }
    }
}

/// Names of all lengths, and escaped ones, are the labels of their entries.
#[test]
fn names_of_every_length() {
    let names: Vec<String> = (1..=255).step_by(3).map(|length| "n".repeat(length)).collect();
    let odd = ["\"", "\\\\", "a\u{ad}b", "ä\"ö\"ü", "\"0123456789abcdef\""].map(String::from);
    let shape = names.iter().chain(&odd).fold(Shape::new("r"), |shape, name| shape.field(name.as_str(), "i8"));
    let format = shape.on(&Layout::NATIVE).unwrap();
    let body: Vec<u8> = (0..format.size() as u8).collect();
    let view = View::new(format.verify(&body).unwrap());
    let name = |name| std::fmt::from_fn(move |f| json::string(name, f));
    let entries = names.iter().chain(&odd).zip(0u8..).map(|(text, i)| format!("{}:{}", name(text), i as i8));
    let line = format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
    assert_eq!(json::line(view), line);
    assert_eq!(std::fmt::from_fn(|f| json::write(view, f)).to_string(), line);
    assert_eq!(value::body(&format, &json::parse(&format, &line).unwrap()).unwrap(), body);
}
