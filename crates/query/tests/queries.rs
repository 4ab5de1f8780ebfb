//! Queries on records: what passes, what results are, what is refused, and that hostile texts do no harm.

use isoform_core::text::json;
use isoform_core::{Code, Format, Layout, Shape, Value, Verifier, View, value};
use isoform_query::{Account, Answer, Query};

fn shape() -> Shape {
    Shape::new("Cell")
        .field("rho", "double")
        .record("River")
        .field("step", "i32")
        .field("count", "u64")
        .field("station", "string")
        .field("code", "char[8]")
        .field("depth", "float[4]")
        .unit("m")
        .field("n", "i32")
        .field("flow", "double[n]")
        .unit("m^3/s")
        .field("time", "double")
        .unit("s")
        .field("open", "bool")
        .field("grid", "Cell[2]")
        .field("state", "enum { DRY = 0, WET = 5 }")
}

fn record() -> Value {
    let floats = |all: &[f64]| Value::Array(all.iter().copied().map(Value::Float).collect());
    let rho = |rho| Value::Record(vec![("rho".into(), Value::Float(rho))]);
    let fields: Vec<(&str, Value)> = vec![
        ("step", Value::Integer(7)),
        ("count", Value::Integer(u64::MAX.into())),
        ("station", Value::String(b"Old Mill".to_vec())),
        ("code", Value::String(b"OM-1".to_vec())),
        ("depth", floats(&[1.5, 4.0, 2.0, 2.5])),
        ("flow", floats(&[10.0, 20.0, 60.0])),
        ("time", Value::Float(0.5)),
        ("open", Value::Boolean(true)),
        ("grid", Value::Array(vec![rho(0.25), rho(0.75)])),
        ("state", Value::Symbol("WET".into())),
    ];
    Value::Record(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

fn format(layout: &Layout) -> Format {
    shape().on(layout).expect("a shape for every layout")
}

/// The answer for the record, laid out as on a machine, and the account.
fn answer(layout: &Layout, query: &str) -> (Answer, Account, Format) {
    let format = format(layout);
    let query = Query::parse(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let checked = query.check(&format, &Layout::X86_64).unwrap_or_else(|error| panic!("{query}: {error}"));
    let body = value::body(&format, &record()).expect("a record");
    let verifier = Verifier::new(&format);
    let mut run = checked.run();
    let answer = run.record(View::new(verifier.verify(&body).expect("a good body")), 0).expect("an answer");
    (answer, run.account(), checked.format().clone())
}

fn passes(condition: &str) -> bool {
    let little = answer(&Layout::X86_64, &format!("where {condition}"));
    let big = answer(&Layout::POWERPC, &format!("where {condition}"));
    assert_eq!((&little.0, little.1), (&big.0, big.1), "{condition}");
    little.0 == Answer::Passed
}

/// The results as JSON-like text, equal for records of both byte orders.
fn selected(items: &str) -> String {
    let (little, account, format) = answer(&Layout::X86_64, &format!("select {items}"));
    assert_eq!(
        (little.clone(), account),
        {
            let big = answer(&Layout::S390X, &format!("select {items}"));
            (big.0, big.1)
        },
        "{items}"
    );
    let Answer::Result(body) = little else { panic!("{items}: no result") };
    let verifier = Verifier::new(&format);
    json::line(View::new(verifier.verify(&body).expect("a good result")))
}

fn refusal(query: &str) -> isoform_core::Error {
    let checked = Query::parse(query).and_then(|query| query.check(&format(&Layout::X86_64), &Layout::X86_64));
    checked.map(drop).expect_err(query)
}

#[test]
fn conditions() {
    for condition in [
        r#"station == "Old Mill" and depth[3] >= 2.5 m"#,
        "count == 18446744073709551615",
        "count > step",
        "count < 18446744073709551616.0",
        "-1 < count",
        "any(depth > 3.5)",
        "all(depth > 1)",
        "not any(depth > time * 8 m/s)",
        "sum(flow) == 90 and mean(flow) == 30 and max(flow) == flow[2] and min(flow) == 10",
        r#"state == "WET" and state != "DRY" and state in ("WET", "DRY")"#,
        r#"startswith(station, "Old") and contains(station, "Mi") and code == "OM-1" and len(code) == 4"#,
        "grid[1].rho == 0.75",
        "step // 2 == 3 and -step // 2 == -4 and step % -4 == -1 and step / 2 == 3.5",
        "open and step in (1, 7)",
        "step not in (1, 2)",
        "len(flow) == n",
        "abs(-step) == 7 and floor(depth[3]) == 2 and not isnan(time)",
        "sqrt(depth[1] * depth[1]) == 4 m",
    ] {
        assert!(passes(condition), "{condition}");
        assert!(!passes(&format!("not ({condition})")), "{condition}");
    }
}

#[test]
fn faults_have_results_and_are_counted() {
    for (condition, faults) in [
        ("flow[5] > 0 or flow[5] <= 0 or flow[5] != 0", 3),
        ("step // (step - 7) == 0", 1),
        ("count + 1 > 0", 1),
        ("count - count - 1 < 0", 1),
        ("n == 0 and flow[5] > 0", 0),
    ] {
        let (answer, account, _) = answer(&Layout::S390X, &format!("where {condition}"));
        assert_eq!((answer, account.faults), (Answer::Filtered, faults), "{condition}");
    }
    let (_, account, _) = answer(&Layout::X86_64, "select a = step // (step - 7), b = flow[9], c = flow[9] * 2");
    assert_eq!((account.faults, account.absent), (3, 3));
    assert_eq!(selected("a = step // (step - 7), b = flow[9], c = flow[9] * 2"), r#"{"a":0,"b":"NaN","c":"NaN"}"#);
}

#[test]
fn results() {
    for (items, expected) in [
        ("step, deep = max(depth), depth", r#"{"step":7,"deep":4.0,"depth":[1.5,4.0,2.0,2.5]}"#),
        ("flow", r#"{"flow_count":3,"flow":[10.0,20.0,60.0]}"#),
        ("twice = flow * 2", r#"{"twice_count":3,"twice":[20.0,40.0,120.0]}"#),
        ("grid[1], state, station", r#"{"grid_1":{"rho":0.75},"state":"WET","station":"Old Mill"}"#),
        ("high = depth > 2", r#"{"high":[false,true,false,true]}"#),
    ] {
        assert_eq!(selected(items), expected, "{items}");
    }
    let format = answer(&Layout::X86_64, "select v = max(depth) / time, area = depth[0] * depth[0], depth[1]").2;
    let units: Vec<_> = format.structure().fields().iter().map(|field| field.unit.as_deref().unwrap_or("")).collect();
    assert_eq!(units, ["m/s", "m^2", "m"]);
}

#[test]
fn every_counts_by_sequence_first_and_what_has_passed_behind_a_condition() {
    let format = format(&Layout::X86_64);
    let body = value::body(&format, &record()).expect("a record");
    let verifier = Verifier::new(&format);
    for (query, expected) in [("every 3", vec![3, 6, 9]), ("where step == 7 | every 3", vec![1, 4, 7, 10])] {
        let checked = Query::parse(query).and_then(|query| query.check(&format, &Layout::X86_64)).expect(query);
        let mut run = checked.run();
        let passed = (1..=10u64).filter(|sequence| {
            let view = View::new(verifier.verify(&body).expect("a good body"));
            run.record(view, *sequence).expect("an answer") == Answer::Passed
        });
        assert_eq!(passed.collect::<Vec<_>>(), expected, "{query}");
        let account = run.account();
        assert_eq!((account.evaluated, account.passed + account.filtered), (10, 10));
    }
}

#[test]
fn refusals_name_the_place_what_was_expected_and_the_fields() {
    for (query, code, text) in [
        (
            "where dept[3] > 2",
            Code::NoSuchField,
            "expected one of step, count, station, code, depth, n, flow, time, open, grid, state, found \"dept\" at line 1 column 7",
        ),
        ("where depth[0] +\n time > 2", Code::Unit, "expected \"m\", found \"s\" at line 1 column 16"),
        ("where depth[0] > 2 s", Code::Unit, "expected \"m\", found \"s\""),
        ("where depth > 2", Code::WrongType, "expected any(..) or all(..)"),
        ("where depth[4] > 2", Code::NoSuchField, "expected an index below 4, found [4]"),
        ("where state == \"WTE\"", Code::UnknownSymbol, "expected one of DRY, WET, found \"WTE\""),
        ("where station > 2", Code::WrongType, "found text and an integer"),
        ("where step", Code::WrongType, "expected a condition, found an integer"),
        ("select a = step, a = n", Code::Declaration, "\"a\" twice"),
        ("select step + 1", Code::Text, "NAME ="),
        ("where 1 < 2 < 3", Code::Text, "found \"<\" at line 1 column 13"),
        ("where step = 3", Code::Text, "found \"=\""),
        ("wher step", Code::Text, "expected where, select or every, found the name wher"),
        ("where foo(step)", Code::Text, "expected one of the functions abs"),
        ("select step | where n > 1", Code::Text, "last stage"),
        ("every 0", Code::Text, "from 1"),
        ("where sqrt(time) > 0", Code::Unit, "the unit of a square"),
        ("", Code::Text, "found the end"),
    ] {
        let error = refusal(query);
        assert_eq!(error.code(), code, "{query}: {error}");
        assert!(error.to_string().contains(text), "{query}: {error}");
    }
}

#[test]
fn deep_long_and_large_texts_are_refused() {
    for query in [
        format!("where {}true{}", "(".repeat(1000), ")".repeat(1000)),
        format!("where {}true", "not ".repeat(1000)),
        format!("where 0 < {}1", "-".repeat(3000)),
        format!("where {}", "a".repeat(5000)),
        format!("where 0 < 1{}", "+1".repeat(1000)),
    ] {
        assert!(Query::parse(&query).is_err());
    }
}

#[test]
fn equal_wants_have_one_normal_form() {
    for (text, normal) in [
        ("where  (a>1)and (b<2.50 \"m\")", "where a > 1 and b < 2.5 m"),
        ("where a > 1 | where b < 2.5 m | every 1", "where a > 1 and b < 2.5 m"),
        ("where a or b | where c or d", "where (a or b) and (c or d)"),
        ("where not (a and b)", "where not (a and b)"),
        ("select a=a, b = x[3]. y, x_3_y = x[3].y", "select a, b = x[3].y, x[3].y"),
        ("where a - (b - c) > (a - b) - c", "where a - (b - c) > a - b - c"),
        ("every 1 | every 1", "every 1"),
        ("where `in` > 1 \"in\"", "where `in` > 1 \"in\""),
        ("where a not in (1e3, 2)", "where not a in (1000.0, 2)"),
    ] {
        let query = Query::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(query.to_string(), normal);
        assert_eq!(Query::parse(normal).map(|query| query.to_string()).as_deref(), Ok(normal));
    }
}

#[test]
fn the_largest_queries_need_little_stack() {
    let sums = format!("where 0 < a{}", "+1".repeat(253));
    let signs = format!("where 0 < {}a", "-".repeat(60));
    let small = std::thread::Builder::new().stack_size(512 << 10);
    let thread = small.spawn(move || {
        for text in [sums, signs] {
            let format = Shape::new("A").field("a", "i32").on(&Layout::NATIVE).expect("a shape");
            let checked = Query::parse(&text).and_then(|query| query.check(&format, &Layout::NATIVE)).expect("a query");
            let body = value::body(&format, &Value::Record(vec![("a".into(), Value::Integer(1))])).expect("a record");
            let verifier = Verifier::new(&format);
            let view = View::new(verifier.verify(&body).expect("a good body"));
            assert_eq!(checked.run().record(view, 0), Ok(Answer::Passed));
        }
    });
    thread.expect("a thread").join().expect("no overflow of the stack");
}
