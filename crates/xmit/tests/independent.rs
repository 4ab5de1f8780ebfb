//! What is written of documents, checked by programs that know nothing of Isoform: JSON by a validator of JSON Schema, and source code
//! of Python by Python itself.

#[allow(dead_code, reason = "no compiler is needed")]
#[path = "compilers/here.rs"]
mod here;

use here::skipped;
use isoform_core::{Code, Element, Format, Layout, Structure, Value, Verifier, View, value};
use isoform_xmit::{Alone, Declarations, Hydration, Language, Target};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A Python that has a module: that of the project's tests, or that of the system.
fn python(module: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("python/bin/python");
    let has = |python: &PathBuf| {
        let mut command = Command::new(python);
        command
            .args(["-c", &format!("import {module}")])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    [folder, "python3".into()].into_iter().find(has)
}

/// What a program in Python says of lines of text.
fn told(python: &Path, program: &str, lines: &str) -> String {
    let mut child = Command::new(python)
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python runs");
    let mut input = child.stdin.take().expect("its input");
    let lines = lines.to_owned();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()).expect("Python reads"));
    let output = child.wait_with_output().expect("Python ends");
    writer.join().expect("all was read");
    assert!(output.status.success(), "Python failed");
    String::from_utf8(output.stdout).expect("text")
}

/// Numbers drawn at random, the same in each run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn is(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// A schema.
enum Node {
    /// A type with other keywords.
    Plain(&'static str, &'static str),
    /// Values, and whether null is one of them.
    Enumeration(bool),
    Array(Box<Node>, Option<usize>),
    Object(Vec<Property>),
}

struct Property {
    name: String,
    node: Node,
    required: bool,
    nullable: bool,
}

const PLAIN: &[(&str, &str)] = &[
    ("boolean", ""),
    ("integer", ""),
    ("integer", r#","format":"int8""#),
    ("integer", r#","format":"uint16""#),
    ("integer", r#","minimum":0,"maximum":170141183460469231731687303715884105727"#),
    ("number", ""),
    ("number", r#","format":"float""#),
    ("string", ""),
    ("string", r#","format":"date-time""#),
    ("string", r#","format":"date""#),
    ("string", r#","contentEncoding":"base64""#),
];
const VALUES: [&str; 4] = ["lo", "m/s", "a  b", " x"];

impl Node {
    fn drawn(draw: &mut Draw, depth: usize, in_array: bool) -> Node {
        match draw.below(if depth < 3 { 6 } else { 3 }) {
            0..=1 => {
                // An array of bytes varies itself.
                let count = PLAIN.len() - usize::from(in_array);
                let (kind, rest) = PLAIN[draw.below(count)];
                Node::Plain(kind, rest)
            }
            2 => Node::Enumeration(draw.is()),
            3 => {
                let length = draw.is().then(|| 1 + draw.below(3));
                let length = if in_array { Some(length.unwrap_or(2)) } else { length };
                Node::Array(Box::new(Node::drawn(draw, depth + 1, true)), length)
            }
            _ => Node::object(draw, depth + 1),
        }
    }

    fn object(draw: &mut Draw, depth: usize) -> Node {
        let count = 1 + draw.below(5);
        let properties = (0..count).map(|number| Property {
            name: format!("p{number}.{depth}"),
            node: Node::drawn(draw, depth, false),
            required: draw.is(),
            nullable: draw.below(3) == 0,
        });
        Node::Object(properties.collect())
    }

    /// The schema as text; `nullable` says that its type may be null.
    fn text(&self, nullable: bool) -> String {
        match self {
            Node::Plain(kind, rest) if nullable => format!(r#"{{"type":["{kind}","null"]{rest}}}"#),
            Node::Plain(kind, rest) => format!(r#"{{"type":"{kind}"{rest}}}"#),
            Node::Enumeration(has_null) => {
                let mut values: Vec<String> = VALUES.iter().map(|value| format!("{value:?}")).collect();
                let kind = if nullable { r#"["null","string"]"# } else { r#""string""# };
                if nullable && *has_null {
                    values.insert(1, "null".into());
                }
                format!(r#"{{"type":{kind},"enum":[{}]}}"#, values.join(","))
            }
            _ if nullable => format!(r#"{{"anyOf":[{},{{"type":"null"}}]}}"#, self.text(false)),
            Node::Array(items, length) => {
                let length =
                    length.map_or(String::new(), |length| format!(r#","minItems":{length},"maxItems":{length}"#));
                format!(r#"{{"type":"array","items":{}{length}}}"#, items.text(false))
            }
            Node::Object(properties) => {
                let each = properties.iter().map(|own| format!("{:?}:{}", own.name, own.node.text(own.nullable)));
                let required = properties.iter().filter(|own| own.required).map(|own| format!("{:?}", own.name));
                format!(
                    r#"{{"type":"object","properties":{{{}}},"required":[{}],"additionalProperties":false}}"#,
                    each.collect::<Vec<_>>().join(","),
                    required.collect::<Vec<_>>().join(",")
                )
            }
        }
    }

    /// A value of the schema; or one that is none, which sets `is_bad`.
    fn value(&self, draw: &mut Draw, element: &Element, is_bad: &mut bool) -> Value {
        match (self, element) {
            (Node::Plain("boolean", _), _) => Value::Boolean(draw.is()),
            (Node::Plain("string", rest), Element::Integer { size, .. }) if rest.contains("date") => {
                // Few dates have more than four digits in their year.
                let year = if *size == 4 && draw.below(20) == 0 { 5_000_000 } else { 0 };
                *is_bad |= year > 0;
                Value::Integer(
                    i128::from(draw.below(30_000) as u64) * if *size == 8 { 86_400_000_000_123 } else { 1 } + year,
                )
            }
            (Node::Plain("string", _), Element::Integer { .. }) => {
                Value::Array((0..draw.below(5)).map(|_| Value::Integer(draw.below(256) as i128)).collect())
            }
            (Node::Plain("string", _), _) => match draw.below(8) {
                0 => {
                    *is_bad = true;
                    Value::Null
                }
                length => Value::String("aé\"\n\u{1}b ".chars().take(length).collect::<String>().into_bytes()),
            },
            (Node::Plain("number", _), _) => match draw.below(12) {
                0 => {
                    *is_bad = true;
                    Value::Float([f64::NAN, f64::INFINITY, f64::NEG_INFINITY][draw.below(3)])
                }
                _ => Value::Float([0.0, -0.0, 1.5, 1e30, -1e-30][draw.below(5)]),
            },
            (Node::Plain(..), Element::Integer { signed, size }) => match (signed, *size) {
                (true, size) => Value::Integer([0, -1, i128::MAX >> (128 - 8 * u32::from(size))][draw.below(3)]),
                // The greatest of 16 bytes is that of the schema.
                (false, size) => {
                    let most = u128::MAX >> (128 - 8 * u32::from(size)).max(1);
                    Value::Integer([0, 1, most as i128][draw.below(3)])
                }
            },
            (Node::Enumeration(_), Element::Enumeration(enumeration)) => {
                Value::Symbol(enumeration.symbols()[draw.below(VALUES.len())].name.clone())
            }
            (Node::Array(items, length), element) => {
                let count = length.unwrap_or_else(|| draw.below(4));
                Value::Array((0..count).map(|_| items.value(draw, element, is_bad)).collect())
            }
            (Node::Object(properties), Element::Structure(structure)) => record(properties, draw, structure, is_bad),
            (_, element) => panic!("{element:?}"),
        }
    }
}

fn record(properties: &[Property], draw: &mut Draw, structure: &Structure, is_bad: &mut bool) -> Value {
    let each = properties.iter().map(|own| {
        let name = own.name.replace('.', "_");
        let field = structure.field(&name).expect("a field of this name");
        let may_be_null =
            field.indirect && !field.is_dynamic() || field.element == Element::String && field.dims.is_empty();
        if may_be_null && draw.below(3) == 0 {
            let is_listed = !matches!(own.node, Node::Enumeration(false));
            *is_bad |= own.required && !(own.nullable && is_listed);
            return (name.into(), Value::Null);
        }
        let mut inner_is_bad = false;
        let value = own.node.value(draw, &field.element, &mut inner_is_bad);
        // Text that may be left out, or that may be null, is good as null, too.
        let is_good_null = value == Value::Null && (!own.required || own.nullable);
        *is_bad |= inner_is_bad && !is_good_null;
        (name.into(), value)
    });
    Value::Record(each.collect())
}

/// Prints each line whose record is no value of its schema.
const VALIDATOR: &str = r#"
import json, sys
from jsonschema import Draft202012Validator, FormatChecker
checker = FormatChecker(["date", "date-time"])
for number, line in enumerate(sys.stdin):
    schema, record = json.loads(line)
    for error in Draft202012Validator(schema, format_checker=checker).iter_errors(record):
        print(number, error.message, error.json_path, line.strip()[:2000])
"#;

/// Records drawn at random, those with values that a schema does not have among them: each is written as the schema says, or refused with
/// its field.
#[test]
fn json_is_valid_by_the_schema_that_declares_it() {
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
    let (mut lines, mut written, mut refused) = (String::new(), 0, 0);
    for number in 0..400 {
        let node = Node::object(&mut draw, 0);
        let Node::Object(properties) = &node else { unreachable!("an object") };
        let schema = node.text(false);
        let declarations = Declarations::read(Language::JsonSchema, "R.json", &schema, &mut Alone)
            .unwrap_or_else(|error| panic!("{error}: {schema}"));
        let layout = [Layout::NATIVE, Layout::S390X, Layout::I386][number % 3];
        let format: Format = declarations.bind("R", &layout).unwrap_or_else(|error| panic!("{error}: {schema}"));
        let hydration = Hydration::new(&format, &declarations.markup("R").unwrap()).unwrap();
        for _ in 0..6 {
            let mut is_bad = false;
            let mut record = record(properties, &mut draw, format.structure(), &mut is_bad);
            value::complete(&format, &mut record, &isoform_core::plan::Rules::new()).unwrap();
            let body = value::body(&format, &record).unwrap_or_else(|error| panic!("{error}: {record} of {schema}"));
            let verifier = Verifier::new(&format);
            match hydration.json(View::new(verifier.verify(&body).unwrap())) {
                Ok(text) => {
                    assert!(!is_bad, "{text} of {schema}");
                    let again =
                        hydration.body_of_json(&text).unwrap_or_else(|error| panic!("{error}: {text} of {schema}"));
                    assert_eq!(again, body, "{text} of {schema}");
                    _ = writeln!(lines, "[{schema},{text}]");
                    written += 1;
                }
                Err(error) => {
                    assert!(is_bad, "{error}: {record} of {schema}");
                    assert!(
                        matches!(error.code(), Code::Null | Code::Text) && error.path().starts_with('p'),
                        "{error}"
                    );
                    refused += 1;
                }
            }
        }
    }
    assert!(written > 500 && refused > 200, "{written} {refused}");
    let Some(python) = python("jsonschema, rfc3339_validator") else {
        return skipped("JSON by a validator. It needs Python's jsonschema");
    };
    assert_eq!(told(&python, VALIDATOR, &lines), "", "of {written} records");
    // The validator sees what is wrong.
    let wrong =
        "[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]},{\"a\":null}]\n";
    assert!(told(&python, VALIDATOR, wrong).starts_with("0 None is not of type"));
}

/// Prints the names that a module uses and nothing gives it.
const NAMES: &str = r#"
import ast, builtins, json, sys
for number, line in enumerate(sys.stdin):
    tree = ast.parse(json.loads(line))
    given = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            given |= {(name.asname or name.name).split(".")[0] for name in node.names}
        elif isinstance(node, ast.ClassDef):
            given.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            given.add(node.id)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    if used - given:
        print(number, sorted(used - given))
"#;

#[test]
fn python_code_imports_what_it_uses() {
    const DOCUMENTS: &[(Language, &str)] = &[
        (Language::JsonSchema, r#"{"properties": {"unit": {"enum": ["lo", "m/s"]}}, "title": "R"}"#),
        (Language::JsonSchema, r#"{"properties": {"unit": {"enum": ["lo", "hi"]}}, "title": "R"}"#),
        (Language::Idl, "struct R { double level; };"),
        (Language::Idl, "struct R { string name; @optional long n; };"),
        (Language::Idl, "enum E { a, b }; struct R { E e; @default(b) E f; sequence<E> g; };"),
        (
            Language::Idl,
            "struct P { long double x; }; struct R { P p[3]; @unit(\"m\") float level; string texts[2]; };",
        ),
        (Language::Idl, "struct R { sequence<string> names; boolean flags[2]; @default(1.5) double d; };"),
        (Language::C, "struct R { float _Complex z; char name[8]; long double wide; signed char n; };"),
        (Language::Msg, "string text\nuint8 N=3\ntime at\nfloat64[3] xs\n"),
        (
            Language::Proto,
            "syntax = \"proto3\"; enum E { A = 0; B = 010; } message R { E e = 1; repeated E es = 2; bytes b = 3; }",
        ),
    ];
    let mut lines = String::new();
    for (language, text) in DOCUMENTS {
        let declarations = Declarations::read(*language, "R.x", text, &mut Alone).unwrap();
        let code = Target::Python.write(&declarations, None).unwrap_or_else(|error| panic!("{error}: {text}"));
        _ = writeln!(lines, "{}", std::fmt::from_fn(|f| isoform_core::text::json::string(&code, f)));
    }
    let Some(python) = python("ast") else { return skipped("the names of Python code. It needs Python") };
    assert_eq!(told(&python, NAMES, &lines), "", "{lines}");
    assert_eq!(told(&python, NAMES, "\"E = enum.Enum('E', {})\"\n"), "0 ['enum']\n");
}
