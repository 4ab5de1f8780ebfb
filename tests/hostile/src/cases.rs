//! Queries that take each operation of the language, and records for them: see `prices`.

use isoform::Format;
use isoform::core::{Layout, Shape, Value, value};

/// What arrays of a record have: a length of their own, or one that the format tells. Texts are fixed arrays of characters then.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Fixed,
    Variable,
}

/// A query, and the fields of the records that it is for.
pub(crate) struct Case {
    pub(crate) query: String,
    /// A type each, in which `[N]` stands for the size, and `text` for a text of that length.
    pub(crate) fields: &'static str,
    /// Whether it is one that guides recommend, so that its price must not be too high either.
    pub(crate) is_everyday: bool,
}

/// The seeds of the values of records, which follow each other in turns.
const SEEDS: u64 = 2;
/// Cases that are no everyday ones have no larger arrays: their costs grow as these do.
const LARGE: usize = 4096;

/// The events before those that are counted, and those that fill the memory of a query if each has a key of its own.
const BEFORE: usize = 2;
const FULL: usize = 1_000;

impl Case {
    pub(crate) fn before(&self) -> usize {
        let has_new_keys = self.query.starts_with("key ") && self.query.contains("seq()");
        if has_new_keys { FULL } else { BEFORE }
    }

    pub(crate) fn forms(&self) -> &'static [Form] {
        let has_form = self.fields.contains("[N]") || self.fields.contains("text");
        if has_form { &[Form::Fixed, Form::Variable] } else { &[Form::Fixed] }
    }

    pub(crate) fn has_size(&self, size: usize) -> bool {
        let is_sized = self.fields.contains("[N]") || self.fields.contains("text");
        // The slices of this many elements are within the arrays of so many or more.
        let is_short = self.query.contains("[0:64") && size < 64;
        // One of the sizes for which code is made.
        if is_sized { !is_short && (size <= LARGE || self.is_everyday) } else { size == 64 }
    }

    pub(crate) fn about(&self, form: Form, size: usize) -> String {
        let form = if form == Form::Fixed { "fixed" } else { "variable" };
        let mut query = self.query.clone();
        if query.len() > 120 {
            query.truncate(query.floor_char_boundary(120));
            query += "..";
        }
        format!("{size} {form}, {{{}}}: {query}", self.fields)
    }

    /// Some records, with their format.
    pub(crate) fn records(&self, form: Form, size: usize) -> Vec<(Format, Vec<u8>)> {
        let (numbered, text) = match form {
            Form::Fixed => (format!("[{size}]"), format!("char[{size}]")),
            Form::Variable => ("[n]".into(), "string".into()),
        };
        let mut shape = Shape::new("Point").field("a", "double").field("b", "double");
        shape = shape.record("Named").field("name", "string").field("number", "i32");
        shape = shape.record("Inner").field("v", "double").record("Middle").field("w", "i32").field("inner", "Inner");
        shape = shape.record("Case").field("n", "u64").field("d", "double").field("i", "i64").field("m", "Middle");
        for field in self.fields.split("; ").filter(|field| !field.is_empty()) {
            let (name, kind) = field.split_once(' ').expect("a name and a type");
            shape = shape.field(name, &kind.replace("[N]", &numbered).replace("text", &text));
        }
        let format = shape.on(&Layout::NATIVE).expect("a format");
        let record = |seed| {
            let mut all = vec![
                ("d".into(), Value::Float(0.25 + seed as f64)),
                ("i".into(), Value::Integer(7 + i128::from(seed))),
            ];
            for field in self.fields.split("; ").filter(|field| !field.is_empty()) {
                let (name, kind) = field.split_once(' ').expect("a name and a type");
                all.push((name.into(), values(kind, size, seed)));
            }
            (format.clone(), value::body(&format, &Value::Record(all)).expect("a record"))
        };
        (0..SEEDS).map(record).collect()
    }
}

/// The value of a field: numbers in no order.
fn values(kind: &str, size: usize, seed: u64) -> Value {
    let mut state = 0x9E37_79B9_7F4A_7C15u64.wrapping_mul(seed + 1);
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let (element, dims) = kind.split_once('[').unwrap_or((kind, ""));
    let mut one = || match element {
        "double" | "float" => Value::Float((random() % 1_000_000) as f64 / 1_000_000.0),
        "i64" | "i32" | "u64" => Value::Integer((random() % 1000).into()),
        "bool" => Value::Boolean(random() % 2 == 0),
        "enum { DRY = 0, WET = 5 }" => Value::Symbol("WET".into()),
        "string" => Value::String(b"station number 1".to_vec()),
        "text" => Value::String(vec![b'a'; size]),
        "Point" => Value::Record(vec![("a".into(), Value::Float(0.5)), ("b".into(), Value::Float(0.25))]),
        "Named" => Value::Record(vec![
            ("name".into(), Value::String(b"station number 1".to_vec())),
            ("number".into(), Value::Integer(1)),
        ]),
        other => panic!("no values of {other}"),
    };
    let lengths = dims.trim_end_matches(']').split("][").filter(|length| !length.is_empty());
    let lengths: Vec<usize> = lengths.map(|length| length.parse().unwrap_or(size)).collect();
    nested(&lengths, &mut one)
}

/// An array of these dimensions.
fn nested(lengths: &[usize], one: &mut impl FnMut() -> Value) -> Value {
    let Some((count, inner)) = lengths.split_first() else { return one() };
    Value::Array((0..*count).map(|_| nested(inner, one)).collect())
}

/// A query that everybody may have.
fn everyday(fields: &'static str, query: &str) -> Case {
    Case { is_everyday: true, ..case(fields, query) }
}

fn case(fields: &'static str, query: &str) -> Case {
    Case { query: query.into(), fields, is_everyday: false }
}

/// Many conditions on single values, which are all true.
fn many(fields: &'static str, condition: &str) -> Case {
    case(fields, &format!("where {}", vec![condition; MANY].join(" and ")))
}

/// So many conditions in one query.
const MANY: usize = 25;

/// All cases.
pub(crate) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    singles(&mut all);
    arrays(&mut all);
    texts(&mut all);
    results(&mut all);
    stages(&mut all);
    windows(&mut all);
    all
}

fn singles(all: &mut Vec<Case>) {
    for operator in ["+", "-", "*", "/", "//", "%"] {
        all.push(many("", &format!("d {operator} 3.5 != 1e300")));
        all.push(many("", &format!("i {operator} 3 != 1000000")));
        all.push(many("", &format!("i {operator} 3.5 != 1e300")));
    }
    for operator in ["<", "<=", "==", "!=", ">=", ">"] {
        all.push(many("", &format!("(d {operator} 3.5) != (i {operator} 3.25) or true")));
    }
    for condition in [
        "not d == 1000",
        "(d == 1000 or d != 1000)",
        "-d < 1000",
        "-i < 1000",
        "abs(d) >= 0",
        "abs(i) >= 0",
        "floor(d) >= 0",
        "sqrt(d) >= 0",
        "not isnan(d)",
        "i in (1, 2, 7, 8, 9, 10)",
        "(d if i > 3 else 2) >= 0",
        "seq() >= 0",
        "time() >= 0 ns",
        "m.inner.v >= 0",
        "true",
    ] {
        all.push(many("", condition));
    }
    // A remainder that takes as long as any can.
    all.push(many("", "d % 5e-324 >= 0"));
    all.push(many("", "i % 5e-324 >= 0"));
    all.push(many("s enum { DRY = 0, WET = 5 }", "s == \"WET\""));
    all.push(many("s enum { DRY = 0, WET = 5 }", "s in (\"DRY\", \"WET\")"));
    all.push(many("b bool", "(b or not b)"));
    all.push(many("x double[N]", "x[0] >= 0"));
    all.push(many("x double[7][N]", "x[3][0] >= 0"));
    all.push(many("x double[N]", "len(x) >= 1"));
    all.push(many("x double[N]", "first(x) >= 0"));
    all.push(many("x double[N]", "last(x) >= 0"));
}

fn arrays(all: &mut Vec<Case>) {
    let counts = |each: &str| format!("where count({each}) >= 0");
    for operator in ["+", "-", "*", "/", "//", "%"] {
        all.push(case("x double[N]", &counts(&format!("x {operator} 3.5 > 1e300"))));
        all.push(case("x i64[N]", &counts(&format!("x {operator} 3 > 1000000"))));
    }
    all.push(case("x double[N]", &counts("x % 5e-324 > 1")));
    all.push(case("x float[N]", &counts("x % 5e-324 > 1")));
    for operator in ["<", "<=", "==", "!=", ">=", ">"] {
        all.push(case("x double[N]", &counts(&format!("x {operator} 0.5"))));
    }
    for each in ["x > 0.5 and x < 0.75", "x > 0.5 or x < 0.25", "not x > 0.5", "x > x", "isnan(x)", "x in (1, 2, 3)"] {
        all.push(case("x double[N]", &counts(each)));
    }
    let choices: Vec<String> = (0..100).map(|choice| choice.to_string()).collect();
    all.push(case("x double[N]", &counts(&format!("x in ({})", choices.join(", ")))));
    all.push(case("x i32[N]", &counts(&format!("x in ({})", choices.join(", ")))));
    for values in ["x", "-x", "abs(x)", "floor(x)", "sqrt(x)", "x + x", "x * 2 + x * 3"] {
        all.push(case("x double[N]", &format!("where sum({values}) < 1e300")));
        all.push(case("x i32[N]", &format!("where sum({values}) < 1e300")));
    }
    for function in ["sum", "mean", "min", "max", "std"] {
        all.push(everyday("x double[N]", &format!("where {function}(x) > 1e300")));
        for fields in ["x float[N]", "x i64[N]", "x i32[N]", "x u64[N]"] {
            all.push(case(fields, &format!("where {function}(x) > 1e300")));
        }
    }
    all.push(everyday("x double[N]", "where percentile(x, 99) > 1e300"));
    all.push(case("x i32[N]", "where percentile(x, 99) > 1e300"));
    all.push(everyday("x double[N]", "where any(x > 1.5)"));
    all.push(case("x double[N]", "where all(x < 1.5)"));
    all.push(case("x bool[N]", "where any(not x)"));
    all.push(case("x enum { DRY = 0, WET = 5 }[N]", &counts("x == \"WET\"")));
    for slice in ["[:]", "[::2]", "[::10]", "[0:64]", "[0:64:2]"] {
        all.push(case("x double[N]", &format!("where max(x{slice}) > 2")));
    }
    all.push(everyday("x double[4096]", "where max(x[10:20]) > 2"));
    all.push(everyday("x double[4096]", "where max(x[::10]) > 2"));
    all.push(case("x double[N][4]", "where max(x[:][2]) > 2"));
    all.push(case("x double[N][4]", "where max(x[:][1:3]) > 2"));
    all.push(case("x double[N]; y double[N]", &counts("x > y")));
    all.push(case("x double[N]; y double[N]", "where max(x + y * 2 - x / 3) > 1e300"));
    all.push(case("x double[N]", "where max(x if d > 0 else x) > 1e300"));
}

fn texts(all: &mut Vec<Case>) {
    for condition in [
        "t != \"b\"",
        "t < \"b\"",
        "len(t) >= 1",
        "t not in (\"b\", \"c\")",
        "startswith(t, \"a\")",
        "not contains(t, \"b\")",
        "not contains(t, \"aaaaaaaaaaaaaaaab\")",
        "not contains(t, \"baaaaaaaaaaaaaaaa\")",
    ] {
        all.push(many("t text", condition));
    }
    all.push(everyday("t string", "where t == \"Old Mill\""));
    all.push(everyday("t string", "where startswith(t, \"Old\") or contains(t, \"Mill\")"));
    for each in ["x == \"station number 2\"", "startswith(x, \"station\")", "contains(x, \"2\")", "x in (\"a\", \"b\")"]
    {
        all.push(case("x string[N]", &format!("where count({each}) >= 0")));
    }
}

fn results(all: &mut Vec<Case>) {
    for items in [
        "i",
        "d, i",
        "m",
        "s = d + i",
        "a = 1, b = 2, c = 3, e = 4, f = 5, g = 6, h = 7",
        "seq(), time()",
        "l = \"high\" if d > 1 else \"low\"",
    ] {
        all.push(case("", &format!("select {items}")));
    }
    for fields in ["x double[N]", "x i32[N]", "x bool[N]", "x string[N]", "x Point[N]", "x Named[N]", "x char[N]"] {
        let fields: &'static str = fields;
        if fields != "x char[N]" {
            all.push(case(fields, "select x"));
            all.push(case(fields, "select x[::2]"));
            all.push(case(fields, "select x[0]"));
        }
    }
    all.push(case("x double[N][4]", "select x[:][2]"));
    all.push(case("x double[N][4]", "select x[:][1:3]"));
    all.push(case("x double[N]", "select x[0:1]"));
    all.push(case("x double[N]", "select a = x * 2"));
    all.push(case("x i32[N]", "select a = x * 2"));
    all.push(case("x double[N]", "select a = x > 0.5"));
    all.push(case("x double[N]", "select hist(x, 0, 1, 8)"));
    all.push(case("x i32[N]", "select hist(x, 0, 1000, 1024)"));
    all.push(case("t text", "select t"));
    all.push(case("t text", "select t, u = t, v = t"));
    all.push(case("x string[N]", "select a = x"));
    all.push(everyday("x double[N]", "select i, deep = max(x), x[0]"));
    all.push(everyday("x double[N]", "where i > 5 | select i, deep = max(x), x[0]"));
    all.push(everyday("x double[N]", "select middle = percentile(x, 50), spread = std(x), h = hist(x, 0, 4, 8)"));
    all.push(everyday("x double[N]", "select i, level = \"high\" if max(x) > 1 else \"low\""));
}

fn stages(all: &mut Vec<Case>) {
    // The bound includes the right side of `and`, although the left one may decide.
    all.push(case("x double[N]", "where i % 10 == 0 and any(x > 1)"));
    all.push(everyday("x double[N]", "where d > 0 | every 20 | select mean(x)"));
    all.push(everyday("x double[N]", "every 20 | select max(x)"));
    all.push(everyday("x double[N]", "every 20 ms | select i, deep = max(x)"));
    all.push(everyday("", "every 2"));
    all.push(case("", "where d > 0 | every 2 | every 3 | every 10 ms"));
    all.push(everyday("", "changed d by 0.1"));
    all.push(everyday("", "changed d by 0.1 or every 1 s"));
    all.push(case("", "changed i by 100"));
    all.push(case("x double[N]", "changed x by 0.1"));
    all.push(case("x double[N]", "changed x by 100"));
    all.push(case("x i32[N]", "changed x by 0.1"));
    all.push(case("x i32[N]", "changed x by 1e9"));
    all.push(everyday("", "changed d by 0.1 or every 1 s | select i, deep = d"));
    all.push(everyday("t string", "key t | every 10"));
    all.push(case("", "key i, i % 2, i > 3, seq() | every 10"));
    all.push(case("", "key seq(), i, i + 1, i + 2, i + 3 | changed d by 1"));
    all.push(case("t text", "key t | every 10"));
    // Each event has a new key, and another one is forgotten.
    all.push(case("", "key seq() | every 10"));
    all.push(case("", "key seq() | every 10 | every 2 | every 1 ms"));
    all.push(case("t text", "key t, seq() | every 10"));
    all.push(case("t string", "key t, seq() | changed d by 0.5"));
    all.push(case("s enum { DRY = 0, WET = 5 }; b bool", "key s, b | changed d by 0.5"));
    all.push(everyday("x double[N]", "key i % 2 | changed max(x) by 0.5 | select i, deep = max(x)"));
    all.push(everyday("", "where d > 0 || every 2"));
    all.push(case(
        "",
        &["select d, i", "where d >= 0", "select d, i", "select a = d, b = i", "where a >= 0 | select a"].join(" || "),
    ));
    all.push(case("x double[N]", "select a = x || select b = max(a)"));
    all.push(case("x double[N]", "select a = x || select b = a || select c = b || where count(c > 1) > 0"));
    all.push(case("x string[N]", "select a = x || select b = a || where count(b == \"a\") > 0"));
    all.push(everyday("x double[N]", "window 10 | select i = last(i), deep = max(x) || where deep > 0 | every 2"));
}

fn windows(all: &mut Vec<Case>) {
    for stage in ["window 100 ms", "window 10 ms step 5 ms", "window 10", "window 40 step 10", "window 200 step 1"] {
        all.push(case("", &format!("{stage} | select count()")));
    }
    for function in ["sum", "mean", "min", "max", "std", "first", "last"] {
        all.push(everyday("", &format!("window 100 ms | select {function}(d)")));
        all.push(case("", &format!("window 10 | select {function}(i)")));
        all.push(everyday("x double[N]", &format!("window 100 ms | select {function}(x)")));
        all.push(case("x i32[N]", &format!("window 4 step 2 | select {function}(x)")));
        all.push(case("", &format!("window 200 step 1 | select {function}(d)")));
    }
    for function in ["any", "all", "count"] {
        all.push(case("", &format!("window 10 | select v = {function}(d > 1)")));
        all.push(case("x double[N]", &format!("window 10 | select v = {function}(x > 0.5)")));
    }
    for (fields, window) in
        [("", "window 10 | select"), ("", "window 200 step 1 | select"), ("", "window 100 ms | select")]
    {
        all.push(case(fields, &format!("{window} percentile(d, 99)")));
        all.push(case(fields, &format!("{window} percentile(i, 50)")));
    }
    all.push(case("x double[N]", "window 4 step 1 | select percentile(x, 99)"));
    all.push(case("x double[N]", "window 40 ms step 1 ms | select percentile(x, 99)"));
    all.push(case("", "window 20 step 1 | select hist(d, 0, 4, 128)"));
    all.push(case("x double[N]", "window 10 | select hist(x, 0, 4, 1024)"));
    all.push(case("t text", "window 10 | select first(t), last(t)"));
    all.push(everyday("x double[N]", "window 100 ms | select v = mean(max(x))"));
    all.push(everyday("x double[N]", "window 100 | select count(), deep = mean(x), p = percentile(x, 99)"));
    all.push(everyday("x double[N]", "window 40 step 10 | select i = last(i), deep = max(x)"));
    all.push(everyday("t string", "key t | window 1 s | select t = last(t), mean(d)"));
    all.push(case("", "key seq() | window 4 | select mean(d)"));
    all.push(case("t string", "key t, seq() | window 100 ms | select t = last(t), count()"));
    all.push(case("", &format!("window 90 step 1 | select {}", gathers("mean(d)"))));
    all.push(case("", &format!("window 100 | select {}", gathers("mean(d + i)"))));
}

/// Several functions in one window.
fn gathers(function: &str) -> String {
    (0..3).map(|number| format!("v{number} = {function}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of the grammar that are no operations: what stands around literals, names and units, and what stands for nothing.
    const OTHERS: [&str; 11] = ["`", "_", "e", "E", "^", "ns", "us", "min", "h", "false", "else"];

    #[test]
    fn each_operation_of_the_language_has_a_case() {
        let spec = include_str!("../../../spec/query.md");
        let all: Vec<String> = cases().into_iter().map(|case| case.query).collect();
        let lacks = |word: &str| !all.iter().any(|query| query.contains(word));
        let grammar = spec.split("```").find_map(|block| block.strip_prefix("ebnf")).expect("a grammar");
        let words = grammar.split('"').skip(1).step_by(2).filter(|word| !word.contains("characters"));
        let lacking: Vec<&str> = words.filter(|word| !OTHERS.contains(word) && lacks(word)).collect();
        assert!(lacking.is_empty(), "no case has {lacking:?}");
        let functions: Vec<&str> = spec
            .lines()
            .filter(|line| line.starts_with("| `") && line.contains(")` |"))
            .flat_map(|line| line.split('`').skip(1).step_by(2))
            .filter_map(|call| Some(call.split_once('(')?.0))
            .collect();
        assert!(functions.len() > 15, "{functions:?}");
        let lacking: Vec<&&str> = functions.iter().filter(|function| lacks(&format!("{function}("))).collect();
        assert!(lacking.is_empty(), "no case has {lacking:?}");
    }
}
