//! What becomes of records in receivers that want others, taken from `spec/conversion.md` row by row.
//!
//! A case is a pair of shapes, the receiver's rules, and what comes of some records under some choice for faults: a
//! record, or the error of the pair or of the record with the path of the field.

use isoform::core::{Shape, value};
use isoform::text::json;
use isoform::{Code, Format, Result};
use serde_json::{Value, json};

/// Under all three choices, or under one.
#[derive(Clone, Copy)]
pub(crate) enum When {
    Always,
    Error,
    Saturate,
    Wrap,
    /// Saturate and wrap alike.
    Lenient,
}

pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Fields, with `;` between them; or whole records, the last of which counts.
    pub(crate) wire: &'static str,
    pub(crate) native: &'static str,
    /// As in the JSON: `[{"structure": .., "field": .., "aliases": [..], "default": .., "zero": true, "required": true}]`,
    /// and `{"missing": "zero"}` for the receiver's option.
    pub(crate) rules: &'static str,
    /// The choice, the record that comes, and what becomes of it: JSON, or `pair: Code path`, or `record: Code path`.
    /// If fields are missing, all their paths stand there: `pair: Required b, c.x`.
    pub(crate) results: &'static [(When, &'static str, &'static str)],
}

const fn case(
    name: &'static str,
    wire: &'static str,
    native: &'static str,
    results: &'static [(When, &'static str, &'static str)],
) -> Case {
    Case { name, wire, native, rules: "[]", results }
}

const fn ruled(
    name: &'static str,
    wire: &'static str,
    native: &'static str,
    rules: &'static str,
    results: &'static [(When, &'static str, &'static str)],
) -> Case {
    Case { name, wire, native, rules, results }
}

/// The layouts of sender and receiver, taken in turn.
const LAYOUTS: [[&str; 2]; 5] = [
    ["s390x", "x86_64"],
    ["i386", "powerpc64"],
    ["x86_64", "x86_64"],
    ["powerpc", "armv7"],
    ["windows-x64", "sparc64"],
];

impl Case {
    /// The case as it stands in the index; `number` is its place there.
    pub(crate) fn json(&self, number: usize) -> Result<Value> {
        let [from, to] = LAYOUTS[number % LAYOUTS.len()].map(|name| name.parse().expect("a known layout"));
        let (wire, native) = (shape(self.wire)?.on(&from)?, shape(self.native)?.on(&to)?);
        let description = |format: &Format| hex(format.description().as_bytes());
        let result = |&(when, record, result): &(When, &str, &str)| {
            let body = value::body(&wire, &json::parse_partial(&wire, record)?)?;
            let mut line = json!({ "faults": when.choices(), "record": parse(record)?, "body": hex(&body) });
            match result.split_once(": ").filter(|(of, _)| matches!(*of, "pair" | "record")) {
                None => line["becomes"] = parse(result)?,
                Some((of, error)) => {
                    let (code, path) = error.split_once(' ').unwrap_or((error, ""));
                    let paths: Vec<&str> = path.split(", ").collect();
                    line["error"] = json!({ "of": of, "name": code, "path": paths[0] });
                    if of == "pair" && code == "Required" {
                        line["error"]["fields"] = paths.into();
                    }
                }
            }
            Ok(line)
        };
        let results: Vec<Value> = self.results.iter().map(result).collect::<Result<_>>()?;
        let (wire, native) = (description(&wire), description(&native));
        let rules = parse(self.rules)?;
        Ok(json!({ "name": self.name, "wire": wire, "native": native, "rules": rules, "results": results }))
    }
}

impl When {
    fn choices(self) -> &'static [&'static str] {
        match self {
            Always => &["error", "saturate", "wrap"],
            Error => &["error"],
            Saturate => &["saturate"],
            Wrap => &["wrap"],
            Lenient => &["saturate", "wrap"],
        }
    }
}

fn shape(fields: &str) -> Result<Shape> {
    match fields.starts_with("record ") {
        true => Shape::parse(fields),
        false => Shape::parse(&format!("record R\n {}", fields.replace("; ", "\n "))),
    }
}

fn parse(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| isoform::Error::new(Code::Text).found(error))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The receiver wants zeros for everything that does not come.
const ZERO: &str = r#"[{"missing": "zero"}]"#;

use When::{Always, Error, Lenient, Saturate, Wrap};

pub(crate) const CASES: &[Case] = &[
    // Matching.
    case(
        "order",
        "a int; b double; c char",
        "c char; b double; a int",
        &[(Always, r#"{"a": 1, "b": 2.5, "c": "x"}"#, r#"{"c": "x", "b": 2.5, "a": 1}"#)],
    ),
    case(
        "ignored",
        "extra string; a int; more double[3]; b short",
        "a int; b short",
        &[(Always, r#"{"extra": "no", "a": 1, "more": [1.0, 2.0, 3.0], "b": 2}"#, r#"{"a": 1, "b": 2}"#)],
    ),
    case(
        "another kind of record with a name in common",
        "time long long; level unsigned char",
        "time long long; depth double; quality unsigned char",
        &[(Always, r#"{"time": 1, "level": 2}"#, "pair: Required depth, quality")],
    ),
    case(
        "missing",
        "a int",
        "b boolean; a int; c char; s string; f double; e enumeration{off=0,on=1}; v int[2]; n int; d float[n]; p int*; q int[2]*; t char[4]",
        &[(Always, r#"{"a": 1}"#, "pair: Required b, c, s, f, e, v, d, t")],
    ),
    case(
        "missing pointers",
        "a int",
        "record P\n x int\nrecord R\n p int*\n q int[2]*\n a int\n r P*",
        &[(Always, r#"{"a": 1}"#, r#"{"p": null, "q": null, "a": 1, "r": null}"#)],
    ),
    ruled(
        "missing with defaults of zero",
        "a int",
        "b boolean; a int; c char; s string; f double; e enumeration{off=0,on=1}; v int[2]; n int; d float[n]; t char[4]",
        r#"[{"structure": "R", "field": "b", "zero": true}, {"structure": "R", "field": "c", "zero": true},
            {"structure": "R", "field": "s", "zero": true}, {"structure": "R", "field": "f", "zero": true},
            {"structure": "R", "field": "e", "zero": true}, {"structure": "R", "field": "v", "zero": true},
            {"structure": "R", "field": "d", "zero": true}, {"structure": "R", "field": "t", "zero": true}]"#,
        &[(
            Always,
            r#"{"a": 1}"#,
            r#"{"b": false, "a": 1, "c": "", "s": null, "f": 0.0, "e": "off", "v": [0, 0], "n": 0, "d": [], "t": ""}"#,
        )],
    ),
    case(
        "missing within structures",
        "record P\n x int\nrecord R\n p P\n v P[2]",
        "record Q\n a int\n b int\nrecord P\n x int\n y int\n q Q\nrecord R\n p P\n v P[2]\n w P",
        &[(
            Always,
            r#"{"p": {"x": 1}, "v": [{"x": 2}, {"x": 3}]}"#,
            "pair: Required p.y, p.q.a, p.q.b, v[].y, v[].q.a, v[].q.b, w.x, w.y, w.q.a, w.q.b",
        )],
    ),
    ruled(
        "missing structure with a default of zero",
        "a int",
        "record P\n x int\n name string\nrecord R\n p P\n a int\n q P[2]",
        r#"[{"structure": "R", "field": "p", "zero": true}, {"structure": "R", "field": "q", "zero": true},
            {"structure": "P", "field": "x", "default": 7}]"#,
        &[(
            Always,
            r#"{"a": 1}"#,
            r#"{"p": {"x": 7, "name": null}, "a": 1, "q": [{"x": 7, "name": null}, {"x": 7, "name": null}]}"#,
        )],
    ),
    ruled(
        "required in a missing structure with a default of zero",
        "a int",
        "record P\n x int\n y int\nrecord R\n p P\n a int",
        r#"[{"structure": "R", "field": "p", "zero": true}, {"structure": "P", "field": "y", "required": true}]"#,
        &[(Always, r#"{"a": 1}"#, "pair: Required p.y")],
    ),
    ruled(
        "nothing in common, and all with defaults",
        "b int",
        "a int",
        r#"[{"structure": "R", "field": "a", "zero": true}]"#,
        &[(Always, r#"{"b": 1}"#, "pair: NoConversion R")],
    ),
    ruled(
        "missing, zeros wanted",
        "a int",
        "b boolean; a int; c char; s string; f double; e enumeration{off=0,on=1}; v int[2]; n int; d float[n]; p int*; t char[4]",
        ZERO,
        &[(
            Always,
            r#"{"a": 1}"#,
            r#"{"b": false, "a": 1, "c": "", "s": null, "f": 0.0, "e": "off", "v": [0, 0], "n": 0, "d": [], "p": null, "t": ""}"#,
        )],
    ),
    ruled(
        "missing structure, zeros wanted",
        "a int",
        "record P\n x int\n name string\nrecord R\n p P\n a int\n q P[2]",
        ZERO,
        &[(
            Always,
            r#"{"a": 1}"#,
            r#"{"p": {"x": 0, "name": null}, "a": 1, "q": [{"x": 0, "name": null}, {"x": 0, "name": null}]}"#,
        )],
    ),
    ruled(
        "missing enumeration without 0, zeros wanted",
        "a int",
        "a int; e enumeration{on=1}",
        ZERO,
        &[(Always, r#"{"a": 1}"#, "pair: Required e")],
    ),
    ruled(
        "defaults",
        "a int",
        "a int; p double; s string; e enumeration{on=1,off=2}; b boolean; v short[3]; n long long",
        r#"[{"structure": "R", "field": "p", "default": 1013.25}, {"structure": "R", "field": "s", "default": "none"},
            {"structure": "R", "field": "e", "default": "off"}, {"structure": "R", "field": "b", "default": true},
            {"structure": "R", "field": "v", "default": [1, -2, 3]}, {"structure": "R", "field": "a", "default": 7},
            {"structure": "R", "field": "n", "zero": true}]"#,
        &[(
            Always,
            r#"{"a": 1}"#,
            r#"{"a": 1, "p": 1013.25, "s": "none", "e": "off", "b": true, "v": [1, -2, 3], "n": 0}"#,
        )],
    ),
    ruled(
        "required",
        "a int",
        "a int; b int",
        r#"[{"structure": "R", "field": "b", "required": true}]"#,
        &[(Always, r#"{"a": 1}"#, "pair: Required b")],
    ),
    ruled(
        "required and there",
        "b short",
        "b int",
        r#"[{"structure": "R", "field": "b", "required": true}]"#,
        &[(Always, r#"{"b": 1}"#, r#"{"b": 1}"#)],
    ),
    ruled(
        "alias",
        "temp float",
        "temperature double",
        r#"[{"structure": "R", "field": "temperature", "aliases": ["t", "temp"]}]"#,
        &[(Always, r#"{"temp": 0.5}"#, r#"{"temperature": 0.5}"#)],
    ),
    ruled(
        "alias after name",
        "old int; x int",
        "x int",
        r#"[{"structure": "R", "field": "x", "aliases": ["old"]}]"#,
        &[(Always, r#"{"old": 1, "x": 2}"#, r#"{"x": 2}"#)],
    ),
    ruled(
        "first alias first",
        "b int; a int",
        "x int",
        r#"[{"structure": "R", "field": "x", "aliases": ["a", "b"]}]"#,
        &[(Always, r#"{"b": 1, "a": 2}"#, r#"{"x": 2}"#)],
    ),
    ruled(
        "alias satisfies required",
        "old int",
        "x int",
        r#"[{"structure": "R", "field": "x", "aliases": ["old"], "required": true}]"#,
        &[(Always, r#"{"old": 1}"#, r#"{"x": 1}"#)],
    ),
    ruled(
        "alias into a structure",
        "record In\n x int\nrecord P\n k char\n in In\nrecord R\n a char\n pos P",
        "x long long",
        r#"[{"structure": "R", "field": "x", "aliases": ["pos.in.x"]}]"#,
        &[(Always, r#"{"a": "a", "pos": {"k": "k", "in": {"x": -5}}}"#, r#"{"x": -5}"#)],
    ),
    ruled(
        "alias to the fields around",
        "lat float; lon float; n short",
        "record P\n lat double\n lon double\nrecord R\n n int\n position P",
        r#"[{"structure": "R", "field": "position", "aliases": ["."]}]"#,
        &[(Always, r#"{"lat": 0.5, "lon": 1.5, "n": 7}"#, r#"{"n": 7, "position": {"lat": 0.5, "lon": 1.5}}"#)],
    ),
    ruled(
        "alias to the fields around, by their aliases, through two structures",
        "y int; c int; l int; h short[l]",
        "record In\n x int\n l int\n h int[l]\nrecord P\n in In\nrecord R\n a P\n b P",
        r#"[{"structure": "R", "field": "a", "aliases": ["no", "."]}, {"structure": "R", "field": "b", "aliases": ["."]},
            {"structure": "P", "field": "in", "aliases": ["."]}, {"structure": "In", "field": "x", "aliases": ["y"]}]"#,
        &[(
            Always,
            r#"{"y": 3, "c": 1, "l": 2, "h": [4, 5]}"#,
            r#"{"a": {"in": {"x": 3, "l": 2, "h": [4, 5]}}, "b": {"in": {"x": 3, "l": 2, "h": [4, 5]}}}"#,
        )],
    ),
    ruled(
        "alias to the fields around lacks one",
        "lat float",
        "record P\n lat double\n lon double\nrecord R\n position P",
        r#"[{"structure": "R", "field": "position", "aliases": ["."]}]"#,
        &[(Always, r#"{"lat": 0.5}"#, "pair: Required position.lon")],
    ),
    ruled(
        "alias to the fields around finds none",
        "n int; x int",
        "record P\n lat double\nrecord R\n n int\n position P",
        r#"[{"structure": "R", "field": "position", "aliases": ["."], "required": true}]"#,
        &[(Always, r#"{"n": 1, "x": 0}"#, "pair: Required position")],
    ),
    ruled(
        "alias to the fields around is for structures in place",
        "lat float",
        "record P\n lat double\nrecord R\n lat double\n position P*",
        r#"[{"structure": "R", "field": "position", "aliases": ["."]}]"#,
        &[(Always, r#"{"lat": 0.5}"#, r#"{"lat": 0.5, "position": null}"#)],
    ),
    ruled(
        "alias not into an array",
        "record P\n x int\nrecord R\n pos P[1]",
        "x int",
        r#"[{"structure": "R", "field": "x", "aliases": ["pos.x"]}]"#,
        &[(Always, r#"{"pos": [{"x": 1}]}"#, "pair: NoConversion R")],
    ),
    case(
        "names of structures",
        "record Old\n x int\nrecord Sender\n p Old",
        "record New\n x int\nrecord Receiver\n p New",
        &[(Always, r#"{"p": {"x": 3}}"#, r#"{"p": {"x": 3}}"#)],
    ),
    case("other units", "x double unit=\"m\"", "x double unit=\"ft\"", &[(Always, r#"{"x": 1.0}"#, "pair: Unit x")]),
    case("unit of the sender", "x double unit=\"m\"", "x double", &[(Always, r#"{"x": 1.0}"#, r#"{"x": 1.0}"#)]),
    case("unit of the receiver", "x double", "x double unit=\"m\"", &[(Always, r#"{"x": 1.0}"#, r#"{"x": 1.0}"#)]),
    // Integers.
    case(
        "widen",
        "a signed char; b unsigned short; c int; d float; e unsigned int",
        "a long long; b int; c i128; d double; e long long",
        &[(
            Always,
            r#"{"a": -1, "b": 65535, "c": -2147483648, "d": 0.5, "e": 4294967295}"#,
            r#"{"a": -1, "b": 65535, "c": "-2147483648", "d": 0.5, "e": 4294967295}"#,
        )],
    ),
    case(
        "narrow",
        "x int",
        "x short",
        &[
            (Always, r#"{"x": -32768}"#, r#"{"x": -32768}"#),
            (Error, r#"{"x": 32768}"#, "record: Overflow x"),
            (Saturate, r#"{"x": 70000}"#, r#"{"x": 32767}"#),
            (Wrap, r#"{"x": 70000}"#, r#"{"x": 4464}"#),
            (Saturate, r#"{"x": -70000}"#, r#"{"x": -32768}"#),
            (Wrap, r#"{"x": -70000}"#, r#"{"x": -4464}"#),
        ],
    ),
    case(
        "signed to unsigned",
        "x int",
        "x unsigned int",
        &[
            (Always, r#"{"x": 2147483647}"#, r#"{"x": 2147483647}"#),
            (Error, r#"{"x": -1}"#, "record: Overflow x"),
            (Saturate, r#"{"x": -1}"#, r#"{"x": 0}"#),
            (Wrap, r#"{"x": -1}"#, r#"{"x": 4294967295}"#),
        ],
    ),
    case(
        "unsigned to signed",
        "x unsigned long long",
        "x long long",
        &[
            (Error, r#"{"x": 9223372036854775808}"#, "record: Overflow x"),
            (Saturate, r#"{"x": 9223372036854775808}"#, r#"{"x": 9223372036854775807}"#),
            (Wrap, r#"{"x": 9223372036854775808}"#, r#"{"x": -9223372036854775808}"#),
        ],
    ),
    case(
        "from 16 bytes",
        "x u128; y i128",
        "x unsigned long long; y long long",
        &[
            (
                Always,
                r#"{"x": "18446744073709551615", "y": "-9223372036854775808"}"#,
                r#"{"x": 18446744073709551615, "y": -9223372036854775808}"#,
            ),
            (Error, r#"{"x": "0", "y": "9223372036854775808"}"#, "record: Overflow y"),
            (
                Saturate,
                r#"{"x": "18446744073709551617", "y": "9223372036854775808"}"#,
                r#"{"x": 18446744073709551615, "y": 9223372036854775807}"#,
            ),
            (
                Wrap,
                r#"{"x": "18446744073709551617", "y": "9223372036854775808"}"#,
                r#"{"x": 1, "y": -9223372036854775808}"#,
            ),
        ],
    ),
    // Floats.
    case(
        "double to float",
        "x double",
        "x float",
        &[
            (Always, r#"{"x": 0.1}"#, r#"{"x": 0.1}"#),
            (Always, r#"{"x": "Infinity"}"#, r#"{"x": "Infinity"}"#),
            (Always, r#"{"x": "NaN"}"#, r#"{"x": "NaN"}"#),
            (Always, r#"{"x": -0.0}"#, r#"{"x": -0.0}"#),
            (Always, r#"{"x": 3.4028235677973362e38}"#, r#"{"x": 3.4028235e38}"#),
            (Error, r#"{"x": 3.4028235677973366e38}"#, "record: Overflow x"),
            (Saturate, r#"{"x": 1e39}"#, r#"{"x": 3.4028235e38}"#),
            (Saturate, r#"{"x": -1e39}"#, r#"{"x": -3.4028235e38}"#),
            (Wrap, r#"{"x": -1e39}"#, r#"{"x": "-Infinity"}"#),
            (Error, r#"{"x": 1e-50}"#, "record: Underflow x"),
            (Lenient, r#"{"x": -1e-50}"#, r#"{"x": -0.0}"#),
            (Always, r#"{"x": 1e-45}"#, r#"{"x": 1e-45}"#),
        ],
    ),
    case(
        "float to half",
        "x float; y float",
        "x f16; y bf16",
        &[
            (Always, r#"{"x": 65519.0, "y": 0.5}"#, r#"{"x": 65500.0, "y": 0.5}"#),
            (Error, r#"{"x": 65520.0, "y": 0.5}"#, "record: Overflow x"),
            (Saturate, r#"{"x": -65520.0, "y": 3.4028235e38}"#, r#"{"x": -65500.0, "y": 3.39e38}"#),
            (Wrap, r#"{"x": 65520.0, "y": 3.4028235e38}"#, r#"{"x": "Infinity", "y": "Infinity"}"#),
            (Error, r#"{"x": 1e-9, "y": 0.5}"#, "record: Underflow x"),
        ],
    ),
    case(
        "quad to double",
        "x f128; y x87(16)",
        "x double; y double",
        &[
            (Always, r#"{"x": 0.1, "y": 0.1}"#, r#"{"x": 0.1, "y": 0.1}"#),
            (Error, r#"{"x": 1e400, "y": 0.5}"#, "record: Overflow x"),
            (
                Saturate,
                r#"{"x": 1e400, "y": -1e4000}"#,
                r#"{"x": 1.7976931348623157e308, "y": -1.7976931348623157e308}"#,
            ),
            (Wrap, r#"{"x": 1e400, "y": -1e4000}"#, r#"{"x": "Infinity", "y": "-Infinity"}"#),
            (Error, r#"{"x": 0.5, "y": 1e-4000}"#, "record: Underflow y"),
            (Lenient, r#"{"x": 0.5, "y": 1e-4000}"#, r#"{"x": 0.5, "y": 0.0}"#),
        ],
    ),
    case(
        "float to integer",
        "x double",
        "x int",
        &[
            (Always, r#"{"x": -3.0}"#, r#"{"x": -3}"#),
            (Error, r#"{"x": 1.5}"#, "record: Inexact x"),
            (Lenient, r#"{"x": 1.5}"#, r#"{"x": 1}"#),
            (Lenient, r#"{"x": -1.5}"#, r#"{"x": -1}"#),
            (Error, r#"{"x": 3e9}"#, "record: Overflow x"),
            (Saturate, r#"{"x": 3e9}"#, r#"{"x": 2147483647}"#),
            (Wrap, r#"{"x": 3e9}"#, r#"{"x": -1294967296}"#),
            (Wrap, r#"{"x": -3e9}"#, r#"{"x": 1294967296}"#),
            (Error, r#"{"x": "NaN"}"#, "record: Overflow x"),
            (Lenient, r#"{"x": "NaN"}"#, r#"{"x": 0}"#),
            (Error, r#"{"x": "-Infinity"}"#, "record: Overflow x"),
            (Saturate, r#"{"x": "-Infinity"}"#, r#"{"x": -2147483648}"#),
            (Wrap, r#"{"x": "-Infinity"}"#, r#"{"x": 0}"#),
            (Wrap, r#"{"x": 1e300}"#, r#"{"x": 0}"#),
        ],
    ),
    case(
        "float to unsigned",
        "x float",
        "x unsigned char",
        &[
            (Error, r#"{"x": 255.5}"#, "record: Inexact x"),
            (Lenient, r#"{"x": 255.5}"#, r#"{"x": 255}"#),
            (Error, r#"{"x": -0.5}"#, "record: Inexact x"),
            (Lenient, r#"{"x": -0.5}"#, r#"{"x": 0}"#),
            (Error, r#"{"x": 256.5}"#, "record: Overflow x"),
            (Saturate, r#"{"x": 300.5}"#, r#"{"x": 255}"#),
            (Wrap, r#"{"x": 300.5}"#, r#"{"x": 44}"#),
            (Saturate, r#"{"x": -1.0}"#, r#"{"x": 0}"#),
            (Wrap, r#"{"x": -1.0}"#, r#"{"x": 255}"#),
        ],
    ),
    case(
        "integer to float",
        "x int; y long long",
        "x float; y double",
        &[
            (Always, r#"{"x": 16777216, "y": -9007199254740992}"#, r#"{"x": 16777216.0, "y": -9007199254740992.0}"#),
            (Error, r#"{"x": 16777217, "y": 0}"#, "record: Inexact x"),
            (Error, r#"{"x": 0, "y": 9007199254740993}"#, "record: Inexact y"),
            (Lenient, r#"{"x": 16777217, "y": 9007199254740993}"#, r#"{"x": 16777216.0, "y": 9007199254740992.0}"#),
            (
                Always,
                r#"{"x": -2147483648, "y": -9223372036854775808}"#,
                r#"{"x": -2147483648.0, "y": -9223372036854775808.0}"#,
            ),
        ],
    ),
    case(
        "integer beyond a half",
        "x int",
        "x f16",
        &[
            (Error, r#"{"x": 100000}"#, "record: Overflow x"),
            (Saturate, r#"{"x": 100000}"#, r#"{"x": 65500.0}"#),
            (Wrap, r#"{"x": -100000}"#, r#"{"x": "-Infinity"}"#),
        ],
    ),
    case(
        "complex",
        "x complex double",
        "x complex float",
        &[
            (Always, r#"{"x": [0.1, -2.0]}"#, r#"{"x": [0.1, -2.0]}"#),
            (Error, r#"{"x": [0.1, 1e39]}"#, "record: Overflow x"),
            (Saturate, r#"{"x": [0.1, 1e39]}"#, r#"{"x": [0.1, 3.4028235e38]}"#),
        ],
    ),
    // Booleans, characters, enumerations, strings.
    case(
        "boolean to number",
        "x boolean; y boolean(4); z boolean",
        "x int; y boolean; z double",
        &[
            (Always, r#"{"x": true, "y": true, "z": true}"#, r#"{"x": 1, "y": true, "z": 1.0}"#),
            (Always, r#"{"x": false, "y": false, "z": false}"#, r#"{"x": 0, "y": false, "z": 0.0}"#),
        ],
    ),
    case(
        "integer to boolean",
        "x int",
        "x boolean",
        &[
            (Always, r#"{"x": 1}"#, r#"{"x": true}"#),
            (Always, r#"{"x": 0}"#, r#"{"x": false}"#),
            (Error, r#"{"x": 256}"#, "record: Overflow x"),
            (Lenient, r#"{"x": 256}"#, r#"{"x": true}"#),
            (Lenient, r#"{"x": -1}"#, r#"{"x": true}"#),
        ],
    ),
    case("char to integer", "x char", "x int", &[(Always, r#"{"x": "A"}"#, r#"{"x": 65}"#)]),
    case(
        "integer to char",
        "x int",
        "x char",
        &[
            (Always, r#"{"x": 65}"#, r#"{"x": "A"}"#),
            (Error, r#"{"x": 300}"#, "record: Overflow x"),
            (Saturate, r#"{"x": 300}"#, r#"{"x": {"base64": "/w=="}}"#),
            (Wrap, r#"{"x": 300}"#, r#"{"x": ","}"#),
        ],
    ),
    case(
        "enumeration by symbol",
        "x enumeration{red=0,green=1,blue=2}",
        "x unsigned enumeration(1){blue=0,red=200,green=7,black=8}",
        &[(Always, r#"{"x": "red"}"#, r#"{"x": "red"}"#), (Always, r#"{"x": "blue"}"#, r#"{"x": "blue"}"#)],
    ),
    case(
        "unknown symbol",
        "x enumeration{red=0,blue=2}",
        "x enumeration{red=0,green=2}",
        &[(Always, r#"{"x": "red"}"#, r#"{"x": "red"}"#), (Always, r#"{"x": "blue"}"#, "record: UnknownSymbol x")],
    ),
    ruled(
        "unknown symbol with a default",
        "x enumeration{red=0,blue=2}",
        "x enumeration{red=0,other=9}",
        r#"[{"structure": "R", "field": "x", "default": "other"}]"#,
        &[(Always, r#"{"x": "blue"}"#, r#"{"x": "other"}"#), (Always, r#"{"x": "red"}"#, r#"{"x": "red"}"#)],
    ),
    ruled(
        "unknown symbol with a default of zero",
        "x enumeration{red=0,blue=2}",
        "x enumeration{red=0,other=9}",
        r#"[{"structure": "R", "field": "x", "zero": true}]"#,
        &[(Always, r#"{"x": "blue"}"#, "record: UnknownSymbol x")],
    ),
    case(
        "no symbol in common",
        "x enumeration{red=0}",
        "x enumeration{green=0}",
        &[(Always, r#"{"x": "red"}"#, "pair: NoConversion x")],
    ),
    case(
        "enumeration to integer",
        "x enumeration{low=-3,high=70000}",
        "x short",
        &[
            (Always, r#"{"x": "low"}"#, r#"{"x": -3}"#),
            (Error, r#"{"x": "high"}"#, "record: Overflow x"),
            (Saturate, r#"{"x": "high"}"#, r#"{"x": 32767}"#),
        ],
    ),
    case(
        "integer to enumeration",
        "x long long",
        "x enumeration{low=-3,high=4}",
        &[
            (Always, r#"{"x": -3}"#, r#"{"x": "low"}"#),
            (Always, r#"{"x": 5}"#, "record: UnknownSymbol x"),
            (Always, r#"{"x": 4294967300}"#, "record: UnknownSymbol x"),
        ],
    ),
    case(
        "strings",
        "a string; b string; c string",
        "c string; b string; a string",
        &[(Always, r#"{"a": "text", "b": "", "c": null}"#, r#"{"c": null, "b": "", "a": "text"}"#)],
    ),
    case(
        "string to characters",
        "x string",
        "x char[4]",
        &[
            (Always, r#"{"x": "abc"}"#, r#"{"x": "abc"}"#),
            (Always, r#"{"x": null}"#, r#"{"x": ""}"#),
            (Error, r#"{"x": "abcd"}"#, "record: TooLong x"),
            (Lenient, r#"{"x": "abcde"}"#, r#"{"x": "abc"}"#),
        ],
    ),
    case(
        "characters to string",
        "x char[4]; y char[4]; z char[4]",
        "x string; y string; z string",
        &[(Always, r#"{"x": "abcd", "y": "a", "z": ""}"#, r#"{"x": "abcd", "y": "a", "z": ""}"#)],
    ),
    case("double to complex", "x double", "x complex double", &[(Always, r#"{"x": 1.0}"#, "pair: NoConversion x")]),
    case(
        "complex to double",
        "x complex double",
        "x double",
        &[(Always, r#"{"x": [1.0, 2.0]}"#, "pair: NoConversion x")],
    ),
    case("string to integer", "x string", "x int", &[(Always, r#"{"x": "1"}"#, "pair: NoConversion x")]),
    case("integer to string", "x int", "x string", &[(Always, r#"{"x": 1}"#, "pair: NoConversion x")]),
    case("float to boolean", "x double", "x boolean", &[(Always, r#"{"x": 1.0}"#, "pair: NoConversion x")]),
    case(
        "float to enumeration",
        "x double",
        "x enumeration{one=1}",
        &[(Always, r#"{"x": 1.0}"#, "pair: NoConversion x")],
    ),
    case(
        "boolean to enumeration",
        "x boolean",
        "x enumeration{one=1}",
        &[(Always, r#"{"x": true}"#, "pair: NoConversion x")],
    ),
    case(
        "enumeration to float",
        "x enumeration{one=1}",
        "x double",
        &[(Always, r#"{"x": "one"}"#, "pair: NoConversion x")],
    ),
    case(
        "enumeration to boolean",
        "x enumeration{one=1}",
        "x boolean",
        &[(Always, r#"{"x": "one"}"#, "pair: NoConversion x")],
    ),
    case(
        "16 bytes to enumeration",
        "x i128",
        "x enumeration{one=1}",
        &[(Always, r#"{"x": "1"}"#, "pair: NoConversion x")],
    ),
    case(
        "structure to integer",
        "record P\n a int\nrecord R\n x P",
        "x int",
        &[(Always, r#"{"x": {"a": 1}}"#, "pair: NoConversion x")],
    ),
    // Arrays.
    case("fixed to longer", "x int[2]", "x long long[4]", &[(Always, r#"{"x": [1, 2]}"#, "pair: Required x[]")]),
    ruled(
        "fixed to longer, zeros wanted",
        "x int[2]",
        "x long long[4]",
        ZERO,
        &[(Always, r#"{"x": [1, 2]}"#, r#"{"x": [1, 2, 0, 0]}"#)],
    ),
    ruled(
        "fixed to longer with a default for each element",
        "x int[2]; y int[1]",
        "x long long[4]; y int[2]",
        r#"[{"structure": "R", "field": "x", "default": -1}, {"structure": "R", "field": "y", "zero": true}]"#,
        &[(Always, r#"{"x": [1, 2], "y": [3]}"#, r#"{"x": [1, 2, -1, -1], "y": [3, 0]}"#)],
    ),
    ruled(
        "fixed to longer with a list as default",
        "x int[2]",
        "x int[3]",
        r#"[{"structure": "R", "field": "x", "default": [7, 8, 9]}]"#,
        &[(Always, r#"{"x": [1, 2]}"#, "pair: Required x[]")],
    ),
    case("characters to more characters", "x char[2]", "x char[4]", &[(Always, r#"{"x": "ab"}"#, r#"{"x": "ab"}"#)]),
    case(
        "rows of characters to more rows",
        "x char[1][2]",
        "x char[2][2]",
        &[(Always, r#"{"x": ["ab"]}"#, "pair: Required x[]")],
    ),
    case(
        "dynamic to fixed",
        "n int; x float[n]",
        "x double[3]",
        &[
            (Always, r#"{"n": 3, "x": [1.0, 2.0, 3.0]}"#, r#"{"x": [1.0, 2.0, 3.0]}"#),
            (Always, r#"{"n": 2, "x": [1.0, 2.0]}"#, "record: Required x"),
            (Always, r#"{"n": 0, "x": []}"#, "record: Required x"),
        ],
    ),
    ruled(
        "dynamic to fixed with a default for each element",
        "n int; x float[n]",
        "x double[3]",
        r#"[{"structure": "R", "field": "x", "default": 0.5}]"#,
        &[
            (Always, r#"{"n": 2, "x": [1.0, 2.0]}"#, r#"{"x": [1.0, 2.0, 0.5]}"#),
            (Always, r#"{"n": 0, "x": []}"#, r#"{"x": [0.5, 0.5, 0.5]}"#),
        ],
    ),
    ruled(
        "elements beyond a shorter array of structures",
        "record P\n x int\nrecord R\n n int\n p P[n]\n q P[1]",
        "record P\n x int\n y int\nrecord R\n p P[2]\n q P[2]",
        r#"[{"structure": "P", "field": "x", "default": 7}, {"structure": "P", "field": "y", "default": 8}]"#,
        &[(
            Always,
            r#"{"n": 1, "p": [{"x": 1}], "q": [{"x": 2}]}"#,
            r#"{"p": [{"x": 1, "y": 8}, {"x": 7, "y": 8}], "q": [{"x": 2, "y": 8}, {"x": 7, "y": 8}]}"#,
        )],
    ),
    case(
        "fixed to shorter",
        "x int[4]",
        "x int[2]",
        &[
            (Error, r#"{"x": [1, 2, 3, 4]}"#, "pair: TooLong x"),
            (Lenient, r#"{"x": [1, 2, 3, 4]}"#, r#"{"x": [1, 2]}"#),
        ],
    ),
    ruled(
        "dynamic to fixed, zeros wanted",
        "n int; x float[n]",
        "x double[3]",
        ZERO,
        &[
            (Always, r#"{"n": 2, "x": [1.0, 2.0]}"#, r#"{"x": [1.0, 2.0, 0.0]}"#),
            (Always, r#"{"n": 0, "x": []}"#, r#"{"x": [0.0, 0.0, 0.0]}"#),
            (Error, r#"{"n": 4, "x": [1.0, 2.0, 3.0, 4.0]}"#, "record: TooLong x"),
            (Lenient, r#"{"n": 4, "x": [1.0, 2.0, 3.0, 4.0]}"#, r#"{"x": [1.0, 2.0, 3.0]}"#),
        ],
    ),
    case(
        "fixed to dynamic",
        "x float[3]",
        "n int; x double[n]",
        &[(Always, r#"{"x": [1.0, 2.0, 3.0]}"#, r#"{"n": 3, "x": [1.0, 2.0, 3.0]}"#)],
    ),
    case(
        "length follows its array",
        "n int; count int; x float[count]",
        "n short; x double[n]",
        &[(Always, r#"{"n": 77, "count": 2, "x": [1.0, 2.0]}"#, r#"{"n": 2, "x": [1.0, 2.0]}"#)],
    ),
    case(
        "length is a plain field to the receiver",
        "n int; x float[n]",
        "n long long",
        &[(Always, r#"{"n": 2, "x": [1.0, 2.0]}"#, r#"{"n": 2}"#)],
    ),
    case(
        "length does not fit",
        "n int; x char[n]",
        "n signed char; x char[n]",
        &[(
            Always,
            r#"{"n": 128, "x": "12345678123456781234567812345678123456781234567812345678123456781234567812345678123456781234567812345678123456781234567812345678"}"#,
            "record: Overflow x",
        )],
    ),
    case(
        "shared length",
        "p int; q int; a int[p]; b int[q]",
        "n int; a int[n]; b int[n]",
        &[
            (Always, r#"{"p": 2, "q": 2, "a": [1, 2], "b": [3, 4]}"#, r#"{"n": 2, "a": [1, 2], "b": [3, 4]}"#),
            (Always, r#"{"p": 2, "q": 1, "a": [1, 2], "b": [3]}"#, "record: Lengths b"),
            (Always, r#"{"p": 0, "q": 0, "a": [], "b": []}"#, r#"{"n": 0, "a": [], "b": []}"#),
        ],
    ),
    case(
        "one of two arrays is missing",
        "n int; a int[n]",
        "n int; a int[n]; b int[n]",
        &[(Always, r#"{"n": 1, "a": [1]}"#, "pair: Lengths n")],
    ),
    case("other rank", "x int[2][2]", "x int[4]", &[(Always, r#"{"x": [[1, 2], [3, 4]]}"#, "pair: Shape x")]),
    case("single to array", "x int", "x int[1]", &[(Always, r#"{"x": 1}"#, "pair: Shape x")]),
    case(
        "other inner dimension",
        "x int[2][3]",
        "x int[2][4]",
        &[(Always, r#"{"x": [[1, 2, 3], [4, 5, 6]]}"#, "pair: Shape x")],
    ),
    case(
        "inner dimension of the record",
        "n int; m int; x int[n][m]",
        "k int; x short[k][2]",
        &[
            (Always, r#"{"n": 2, "m": 2, "x": [[1, 2], [3, 4]]}"#, r#"{"k": 2, "x": [[1, 2], [3, 4]]}"#),
            (Always, r#"{"n": 1, "m": 3, "x": [[1, 2, 3]]}"#, "record: Shape x"),
            (Always, r#"{"n": 0, "m": 3, "x": []}"#, r#"{"k": 0, "x": []}"#),
            (Always, r#"{"n": 5, "m": 0, "x": []}"#, r#"{"k": 0, "x": []}"#),
        ],
    ),
    case(
        "faults in arrays",
        "n int; x int[n]; y double[2][3]",
        "n int; x short[n]; y float[2][3]",
        &[
            (
                Error,
                r#"{"n": 3, "x": [1, 2, 70000], "y": [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]}"#,
                "record: Overflow x[2]",
            ),
            (Error, r#"{"n": 0, "x": [], "y": [[0.0, 0.0, 0.0], [0.0, 1e39, 0.0]]}"#, "record: Overflow y[1][1]"),
            (
                Saturate,
                r#"{"n": 2, "x": [1, 70000], "y": [[0.5, 1e39, 1.0], [0.0, -1e39, 0.0]]}"#,
                r#"{"n": 2, "x": [1, 32767], "y": [[0.5, 3.4028235e38, 1.0], [0.0, -3.4028235e38, 0.0]]}"#,
            ),
        ],
    ),
    ruled(
        "arrays of structures, zeros wanted",
        "record P\n x int\n extra string\n name string\nrecord R\n n int\n p P[n]\n q P[2]",
        "record P\n name string\n x short\n added double\nrecord R\n q P[3]\n n int\n p P[n]",
        ZERO,
        &[
            (
                Always,
                r#"{"n": 1, "p": [{"x": 1, "extra": "e", "name": "one"}],
             "q": [{"x": 2, "extra": null, "name": null}, {"x": 3, "extra": "f", "name": "three"}]}"#,
                r#"{"q": [{"name": null, "x": 2, "added": 0.0}, {"name": "three", "x": 3, "added": 0.0}, {"name": null, "x": 0, "added": 0.0}],
             "n": 1, "p": [{"name": "one", "x": 1, "added": 0.0}]}"#,
            ),
            (
                Error,
                r#"{"n": 2, "p": [{"x": 1, "extra": null, "name": null}, {"x": 40000, "extra": null, "name": null}],
             "q": [{"x": 2, "extra": null, "name": null}, {"x": 3, "extra": null, "name": null}]}"#,
                "record: Overflow p[1].x",
            ),
        ],
    ),
    ruled(
        "arrays in arrays of structures, zeros wanted",
        "record P\n n int\n v double[n]\nrecord R\n m int\n p P[m]",
        "record P\n v float[2]\nrecord R\n m int\n p P[m]",
        ZERO,
        &[
            (
                Always,
                r#"{"m": 2, "p": [{"n": 1, "v": [1.0]}, {"n": 2, "v": [2.0, 3.0]}]}"#,
                r#"{"m": 2, "p": [{"v": [1.0, 0.0]}, {"v": [2.0, 3.0]}]}"#,
            ),
            (
                Error,
                r#"{"m": 2, "p": [{"n": 1, "v": [1.0]}, {"n": 2, "v": [2.0, 1e39]}]}"#,
                "record: Overflow p[1].v[1]",
            ),
        ],
    ),
    // Pointers.
    case(
        "pointer to value",
        "x int*; y float[2]*",
        "x int; y float[2]",
        &[
            (Always, r#"{"x": 5, "y": [1.0, 2.0]}"#, r#"{"x": 5, "y": [1.0, 2.0]}"#),
            (Error, r#"{"x": null, "y": [1.0, 2.0]}"#, "record: Null x"),
            (Lenient, r#"{"x": null, "y": null}"#, r#"{"x": 0, "y": [0.0, 0.0]}"#),
        ],
    ),
    case(
        "value to pointer",
        "x int; y float[2]",
        "x long long*; y double[2]*",
        &[(Always, r#"{"x": 5, "y": [1.0, 2.0]}"#, r#"{"x": 5, "y": [1.0, 2.0]}"#)],
    ),
    case(
        "pointer to pointer",
        "record P\n x int\n name string\nrecord R\n a P*\n b P*",
        "record P\n name string\n x long long\nrecord R\n b P*\n a P*",
        &[(Always, r#"{"a": {"x": 1, "name": "one"}, "b": null}"#, r#"{"b": null, "a": {"name": "one", "x": 1}}"#)],
    ),
];
