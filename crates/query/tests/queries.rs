//! Queries on records: what passes, what results are, what is refused, and that hostile texts do no harm.

use isoform_core::text::json;
use isoform_core::{Code, Format, Layout, Shape, Value, Verifier, View, value};
use isoform_query::{Account, Answer, Event, MAX_STATE, Query};

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
        .field("names", "string[2]")
        .field("rows", "i16[3][n]")
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
        ("names", Value::Array([&b"left"[..], b"right"].map(|name| Value::String(name.to_vec())).to_vec())),
        (
            "rows",
            Value::Array(
                (0..3).map(|row| Value::Array((0..3).map(|at| Value::Integer(10 * row + at)).collect())).collect(),
            ),
        ),
    ];
    Value::Record(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

fn format(layout: &Layout) -> Format {
    shape().on(layout).expect("a shape for every layout")
}

/// The number and the time of the record.
const EVENT: Event = Event::at(0, 1_500_000_000_000_000_007);

/// The answer for the record, laid out as on a machine, and the account.
fn answer(layout: &Layout, query: &str) -> (Answer, Account, Format) {
    let format = format(layout);
    let query = Query::parse(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let checked = query.check(&format, &Layout::X86_64).unwrap_or_else(|error| panic!("{query}: {error}"));
    let body = value::body(&format, &record()).expect("a record");
    let verifier = Verifier::new(&format);
    let mut run = checked.run();
    let answer = run.record(View::new(verifier.verify(&body).expect("a good body")), EVENT).expect("an answer");
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
        "std(depth) > 0.9 m and std(depth) < 1 m and percentile(depth, 50) == 2.25 m and percentile(flow, 100) == 60",
        "count(depth > 2 m) == 2 and first(flow) == 10 and last(flow) == 60 and count(flow > 100) == 0",
        "sum(hist(depth, 2 m, 4 m, 4)) == 3 and first(hist(depth, 2, 4, 2)) == 2",
        "seq() == 0 and time() == 1500000000000000007 ns",
        "(1 if open else 2) == 1 and (\"a\" if step > 7 else station) == \"Old Mill\"",
        "sum(depth[0:4:2]) == 3.5 m and len(flow[1:]) == 2 and len(flow[2:9]) == 1 and len(flow[7:]) == 0",
        "first(names) == \"left\" and last(names) == \"right\"",
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
        ("(flow[5] if n > 3 else flow[6] if n > 4 else flow[7]) > 0", 1),
        ("first(flow[9:]) > 0 or last(flow[9:]) > 0 or std(flow[9:]) >= 0 or percentile(flow[9:], 1) >= 0", 4),
        ("(1 if open else count) == 2", 0),
        ("(step if not open else count) == 2", 1),
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
        ("depth[0:4:2], flow[1:]", r#"{"depth_0_4_2":[1.5,2.0],"flow_1__count":2,"flow_1_":[20.0,60.0]}"#),
        ("grid[:1], x = flow[5:]", r#"{"grid_0_1":[{"rho":0.25}],"x_count":0,"x":[]}"#),
        ("rows[1:3:1][:]", r#"{"rows_1_3_0__count":3,"rows_1_3_0_":[[10,11,12],[20,21,22]]}"#),
        ("h = hist(flow, 0, 60, 3), p = percentile(flow, 25)", r#"{"h":[1,1,1],"p":15.0}"#),
        ("v = depth[2:4] if open else depth[0:2], b = step if not open else time", r#"{"v":[2.0,2.5],"b":0.5}"#),
        (
            "n = seq(), t = time(), up = (depth > 2) if open else (depth < 0)",
            r#"{"n":0,"t":1500000000000000007,"up":[false,true,false,true]}"#,
        ),
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
            run.record(view, Event::at(*sequence, 0)).expect("an answer") == Answer::Passed
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
            "expected one of step, count, station, code, depth, n, flow, time, open, grid, state, names and 1 more, found \"dept\" at line 1 column 7",
        ),
        ("where depth[0] +\n time > 2", Code::Unit, "expected \"m\", found \"s\" at line 1 column 16"),
        ("where depth[0] > 2 s", Code::Unit, "expected \"m\", found \"s\""),
        ("where depth > 2", Code::WrongType, "expected any(..) or all(..)"),
        (
            "where step = 2",
            Code::Text,
            "expected ==, to compare; a single = only names what select makes, found \"=\" at line 1 column 12",
        ),
        ("select deep = step = 2", Code::Text, "expected ==, to compare"),
        ("where depth[4] > 2", Code::NoSuchField, "expected an index below 4, found [4]"),
        ("where state == \"WTE\"", Code::UnknownSymbol, "expected one of DRY, WET, found \"WTE\""),
        ("where station > 2", Code::WrongType, "found text and an integer"),
        ("where step", Code::WrongType, "expected a condition, found an integer"),
        ("select a = step, a = n", Code::Declaration, "\"a\" twice"),
        ("select step + 1", Code::Text, "NAME ="),
        ("where 1 < 2 < 3", Code::Text, "found \"<\" at line 1 column 13"),
        ("where step = 3", Code::Text, "found \"=\""),
        ("wher step", Code::Text, "expected where, select, every, changed, key or window, found the name wher"),
        ("where depth[1:9] > 2", Code::NoSuchField, "expected a slice within 4 elements, found [1:9]"),
        ("where depth[4:] > 2", Code::NoSuchField, "expected a slice within 4 elements, found [4:]"),
        ("where any(depth[2:2] > 2)", Code::Text, "a slice that ends behind its beginning"),
        ("where any(depth[::0] > 2)", Code::Text, "a step, from 1"),
        ("where any(rows[0:1][0] > 2)", Code::WrongType, "expected an index in front of the slice"),
        ("where any(grid[0:1].rho > 2)", Code::WrongType, "expected a record, found an array of"),
        ("where any(code[0:1] > 2)", Code::WrongType, "expected an array, found text"),
        ("where step[0:1] > 2", Code::WrongType, "expected an array, found"),
        ("where (1 if step else 2) > 1", Code::WrongType, "expected a condition, found an integer"),
        (
            "where (station if open else 2) > 1",
            Code::WrongType,
            "expected two numbers, texts or conditions, found text and",
        ),
        ("where any((depth if open else step) > 1)", Code::Shape, "two arrays of equal length"),
        ("where any((depth if open else depth[0:2]) > 1)", Code::Shape, "two arrays of equal length"),
        ("select a = time if open else depth[0]", Code::Unit, "expected \"s\", found \"m\""),
        ("where 1 if open", Code::Text, "expected else, found the end"),
        ("where percentile(depth, 101) > 1", Code::WrongType, "from 0 to 100, without a unit, found 101"),
        ("where percentile(depth, 50 m) > 1", Code::WrongType, "from 0 to 100"),
        ("where percentile(depth, step) > 1", Code::WrongType, "from 0 to 100"),
        ("where any(hist(depth, 4, 0, 3) > 1)", Code::WrongType, "two numbers in ascending order, found 4 and 0"),
        ("where any(hist(depth, 0 s, 1, 3) > 1)", Code::Unit, "expected \"m\", found \"s\""),
        ("where any(hist(depth, 0, 1, 1025) > 1)", Code::WrongType, "from 1 to 1024, found 1025"),
        ("where any(hist(depth, -1e308, 1e308, 5) > 1)", Code::WrongType, "two numbers in ascending order"),
        ("where count(depth) > 1", Code::WrongType, "an array of conditions"),
        ("where first(grid) > 1", Code::WrongType, "values that are computed with"),
        ("where seq(1) > 1", Code::Text, "expected 0 arguments of seq, found 1"),
        ("where time() > 1 s", Code::Unit, "expected \"ns\", found \"s\""),
        ("every 1 m", Code::Text, "one of the units ns, us, ms, s, min, h"),
        ("every 10 sec", Code::Text, "found the number 10 sec"),
        ("window ten | select count()", Code::Text, "a number of records, as 100, or a duration, as 1 s"),
        ("where max(depth, 1) > 1", Code::Text, "expected 1 argument of max, found 2"),
        ("every 0 s", Code::Text, "a duration from 1 ns"),
        ("every 0.1 ns", Code::Text, "a duration from 1 ns"),
        ("every 4611686018427387904 ns", Code::Text, "a duration from 1 ns"),
        ("every 1e300 h", Code::Text, "a duration from 1 ns"),
        ("every 5124095576030432 h", Code::Text, "a duration from 1 ns"),
        ("every 0.5", Code::Text, "a number of records, from 1, or a duration"),
        ("changed depth", Code::Text, "by, and the least difference"),
        ("changed depth by step", Code::Text, "a number"),
        ("changed depth by 1 s", Code::Unit, "expected \"m\", found \"s\""),
        ("changed station by 1", Code::WrongType, "a number, or an array of numbers"),
        ("changed depth by 1 or 2", Code::Text, "every, and a duration"),
        ("key depth | every 2", Code::WrongType, "a single integer, condition, text or symbol"),
        ("key time | every 2", Code::WrongType, "a single integer, condition, text or symbol"),
        ("key step | key n", Code::Text, "one key, of all values together"),
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
        ("select a = (x if b or c else (y if d else z))", "select a = x if b or c else y if d else z"),
        ("where (x if b else y) | where z if b else (y)", "where (x if b else y) and (z if b else y)"),
        ("where ((x if b else y) if (p if q else r) else z)", "where (x if b else y) if (p if q else r) else z"),
        ("select a[ : 5], a[3 :: 1], b = a[1:9:2][4]", "select a[0:5], a[3:], b = a[1:9:2][4]"),
        ("every 0.1 s | every 60000 ms", "every 100 ms | every 60 s"),
        ("every 1.5h | every 2 min", "every 5400 s | every 120 s"),
        ("changed (a)by 0.50 \"m\" or every 1e3 us", "changed a by 0.5 m or every 1 ms"),
        ("key a ,(b) | every 3", "key a, b | every 3"),
        ("where time( ) > seq()", "where time() > seq()"),
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
            assert_eq!(checked.run().record(view, EVENT), Ok(Answer::Passed));
        }
    });
    thread.expect("a thread").join().expect("no overflow of the stack");
}

/// A record of a gauge, and when it came.
struct Reading {
    station: String,
    level: f64,
    time: u64,
}

fn reading(station: impl Into<String>, level: f64, time: u64) -> Reading {
    Reading { station: station.into(), level, time }
}

/// The numbers of those readings that pass a query, and its account. `before` is called before each reading.
fn passing(
    query: &str,
    readings: &[Reading],
    mut before: impl FnMut(&mut isoform_query::Run, u64),
) -> (Vec<u64>, Account) {
    let shape = Shape::new("Reading")
        .field("station", "string")
        .field("level", "double")
        .field("n", "i32")
        .field("v", "i64[n]");
    let format = shape.on(&Layout::SPARC).expect("a shape for every layout");
    let mut run = Query::parse(query).and_then(|query| query.check(&format, &Layout::NATIVE)).expect(query).run();
    // Whoever looks at the number and the time first gets the same answers.
    let mut brief = run.clone();
    let verifier = Verifier::new(&format);
    let mut passing = Vec::new();
    for (sequence, Reading { station, level, time }) in (0..).zip(readings) {
        before(&mut run, sequence);
        before(&mut brief, sequence);
        let fields = vec![
            ("station".into(), Value::String(station.clone().into_bytes())),
            ("level".into(), Value::Float(*level)),
            ("v".into(), Value::Array(vec![Value::Integer(7); *level as usize % 1_000_000])),
        ];
        let body = value::body(&format, &Value::Record(fields)).expect("a record");
        let view = View::new(verifier.verify(&body).expect("a good body"));
        let event = Event::at(sequence, *time);
        let passes = run.record(view, event).expect(query) == Answer::Passed;
        let is_early = brief.passes_over(sequence, || *time);
        assert_eq!(!is_early && brief.record(view, event).expect(query) == Answer::Passed, passes, "{query}");
        passing.extend(passes.then_some(sequence));
    }
    let account = run.account();
    assert_eq!(brief.account(), account, "{query}");
    assert_eq!(account.evaluated, account.passed + account.filtered, "{query}");
    (passing, account)
}

const MS: u64 = 1_000_000;

/// How many of the records in ten seconds pass, with a record in each of so many microseconds, each late by up to `jitter`.
fn rate(query: &str, micros: u64, jitter: u64) -> usize {
    let readings: Vec<_> = (0..10_000_000 / micros)
        .map(|number| reading("", 0.0, 1_000 * (5_000_000 + number * micros + number * 7_919 % (jitter + 1))))
        .collect();
    passing(query, &readings, |_, _| ()).0.len()
}

#[test]
fn rates_keep_their_phase() {
    // 100 Hz asked is 100 Hz, of sources with 1000, 125, 110 and 100 records in a second.
    for micros in [1_000, 8_000, 9_090, 10_000] {
        let count = rate("every 10 ms", micros, 0);
        assert!((999..=1001).contains(&count), "{count} of a record in {micros} us");
    }
    // A slower source keeps all its records, and so does one of the same rate whose records are late by up to 4 ms.
    assert_eq!(rate("every 10 ms", 20_000, 15_000), 500);
    let count = rate("every 10 ms", 10_000, 4_000);
    assert!((998..=1000).contains(&count), "{count}");
    // Time goes back by much, and by little.
    let times = [100, 105, 300, 20, 21, 29, 31].map(|ms| reading("", 0.0, ms * MS));
    assert_eq!(passing("every 10 ms", &times, |_, _| ()).0, [0, 1, 2, 3, 5]);
    let late = [u64::MAX - 3, u64::MAX, 0, u64::MAX].map(|time| reading("", 0.0, time));
    assert_eq!(passing("every 4611686018427387903 ns", &late, |_, _| ()).0[0], 0);
}

#[test]
fn changes_are_compared_with_what_was_handed_on() {
    let levels = |levels: &[f64]| levels.iter().map(|level| reading("", *level, 0)).collect::<Vec<_>>();
    let quiet = |_: &mut isoform_query::Run, _| ();
    let steps = levels(&[1.0, 1.25, 1.5, 1.75, 2.0, 1.6, 1.5]);
    assert_eq!(passing("changed level by 0.5", &steps, quiet).0, [0, 2, 4, 6]);
    // What a later stage filters is not handed on.
    assert_eq!(passing("changed level by 0.5 | where level != 1.5", &steps, quiet).0, [0, 3]);
    let odd = levels(&[f64::NAN, f64::NAN, 1.0, f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!(passing("changed level by 0.5", &odd, quiet).0, [0, 2, 3, 5]);
    assert_eq!(passing("changed level by 0", &levels(&[1.0, 1.0, 1.0 + f64::EPSILON, 0.0, -0.0]), quiet).0, [0, 2, 3]);
    // Arrays whose lengths differ; the elements are all the same.
    assert_eq!(passing("changed v by 1", &levels(&[3.0, 3.5, 2.0, 2.0, 0.0, 0.0]), quiet).0, [0, 2, 4]);
    // `v[2]` is absent, and a fault, in two of them.
    let (passed, account) = passing("changed v[2] by 1", &levels(&[3.0, 2.0, 1.0, 3.0]), quiet);
    assert_eq!((passed, account.faults), (vec![0, 1, 3], 2));
    let late = [0, 500, 999, 1000, 1999, 1500, 900].map(|ms| reading("", 1.0, ms * MS));
    assert_eq!(passing("changed level by 1 or every 1 s", &late, quiet).0, [0, 3, 6]);
}

#[test]
fn what_was_lost_and_who_comes_later_is_compared_anew() {
    let same: Vec<_> = (0..6).map(|time| reading(["a", "b"][time as usize % 2], 1.0, time)).collect();
    let lost = |run: &mut isoform_query::Run, sequence| {
        if sequence == 3 {
            run.lost(0, 1);
        }
    };
    assert_eq!(passing("changed level by 1", &same, |_, _| ()).0, [0]);
    assert_eq!(passing("changed level by 1", &same, lost).0, [0, 3]);
    // Of the two keys, only the one whose record was lost.
    assert_eq!(passing("key station | changed level by 1", &same, lost).0, [0, 1, 4]);
    let other = |run: &mut isoform_query::Run, _| _ = run.lost(1, u64::MAX);
    assert_eq!(passing("changed level by 1", &same, other).0, [0]);
    let joined = |run: &mut isoform_query::Run, sequence| {
        if sequence == 2 {
            run.joined();
        }
    };
    assert_eq!(passing("key station | changed level by 1", &same, joined).0, [0, 1, 2, 3]);
}

#[test]
fn keys_have_states_of_their_own() {
    let all: Vec<_> = (0..12).map(|number| reading(["a", "b", "c"][number % 3], 1.0, number as u64)).collect();
    let quiet = |_: &mut isoform_query::Run, _| ();
    assert_eq!(passing("key station | every 2", &all, quiet).0, [0, 1, 2, 6, 7, 8]);
    // Stages in front of the key have one state, and `every` as the first stage goes by the number.
    assert_eq!(passing("where true | every 2 | key station | every 2", &all, quiet).0, [0, 2, 4]);
    assert_eq!(passing("key station == \"a\" | every 3", &all, quiet).0, [0, 1, 5, 9, 10]);
    assert_eq!(passing("changed level by 1 | key station | changed level by 1", &all, quiet).0, [0]);
}

#[test]
fn the_memory_of_a_query_has_a_limit_of_its_own() {
    let quiet = |_: &mut isoform_query::Run, _| ();
    // Each key takes 64 + 32 + 5 + 27 bytes: 512 of them fit. All come twice, in turn.
    let fits = MAX_STATE / 128;
    let turns = |keys: usize| -> Vec<_> {
        (0..2 * keys).map(|number| reading(format!("{:027}", number % keys), 1.0, 0)).collect()
    };
    let (passed, account) = passing("key station | every 2", &turns(fits), quiet);
    assert_eq!((passed.len(), account.forgotten), (fits, 0));
    let (passed, account) = passing("key station | every 2", &turns(fits + 1), quiet);
    assert_eq!((passed.len(), account.forgotten), (2 * fits + 2, fits as u64 + 2));
    // A text that is too long has a state for one record alone.
    let long = [reading("x".repeat(MAX_STATE), 1.0, 0), reading("x".repeat(MAX_STATE), 1.0, 0)];
    let (passed, account) = passing("key station | every 2", &long, quiet);
    assert_eq!((passed, account.faults), (vec![0, 1], 2));
    // So does an array: 4,096 numbers fit, and no other.
    let fits = (MAX_STATE / 16) as f64;
    let arrays = [fits, fits, fits + 1.0, fits + 1.0, fits, fits].map(|count| reading("", count, 0));
    let (passed, account) = passing("changed v by 1", &arrays, quiet);
    assert_eq!((passed, account.faults), (vec![0, 2, 3, 4], 2));
    // Numbers of one key drive out the other keys.
    let mixed = [reading("a", 1.0, 0), reading("b", fits - 9.0, 0), reading("a", 1.0, 0)];
    let (passed, account) = passing("key station | changed v by 1", &mixed, quiet);
    assert_eq!((passed, account.forgotten, account.faults), (vec![0, 1, 2], 2, 0));
}

/// What is taken as it is costs its bytes, and not its elements.
#[test]
fn a_copy_costs_its_bytes() {
    let format = Shape::new("Point")
        .field("x", "double")
        .record("Grid")
        .field("n", "u32")
        .field("flow", "double[n]")
        .field("depth", "double[8192]")
        .field("points", "Point[1000]")
        .field("cells", "i8[2000][4][8]")
        .field("rows", "double[n][4]")
        .field("thin", "double[1000][n]")
        .on(&Layout::X86_64)
        .expect("a format");
    let cost = |text: &str, layout: &Layout| {
        let cost = Query::parse(text).and_then(|query| query.check(&format, layout)).expect("a query").cost();
        [cost.record, cost.element, cost.text]
    };
    // A result of so many values, whose paths have so many names, indices and slices together.
    let select = |values: u64, names: u64| 6 + 6 * values + 3 * names;
    let [block, row] = [32, 6];
    let fixed = |text: &str| cost(text, &Layout::AARCH64);
    assert_eq!(fixed("select depth"), [select(1, 1) + 8192 * 8 / block, 0, 0]);
    assert_eq!(fixed("select a = points, b = flow"), [select(2, 2) + 1000 * 8 / block, 0, 2]);
    assert_eq!(fixed("select depth[10:100]"), [select(1, 2) + 90 * 8 / block, 0, 0]);
    // Rows of which parts are taken are copied one by one, at each further step.
    assert_eq!(fixed("select a = cells[0:2000]"), [select(1, 2) + 2000, 0, 0]);
    assert_eq!(fixed("select a = cells[::2]"), [select(1, 2) + row * 1000 + 1000, 0, 0]);
    assert_eq!(fixed("select a = cells[0:2000][3]"), [select(1, 3) + row * 2 * 2000 + 500, 0, 0]);
    assert_eq!(fixed("select a = cells[0:2000][0:2][0:1]"), [select(1, 4) + row * (2000 + 4000) + 125, 0, 0]);
    assert_eq!(fixed("select a = rows[5:][3]"), [select(1, 3), 2 * row, 2]);
    assert_eq!(fixed("select a = rows[5:][0:2]"), [select(1, 3), row, 2]);
    assert_eq!(fixed("select a = thin[0:500][0:1]"), [select(1, 3) + row * 500, 0, 2]);
    assert_eq!(fixed("select a = thin[7][0:1]"), [select(1, 3), 0, 2]);
    // Elements that are not neighbours are copied one by one, and values are made for another machine.
    assert_eq!(fixed("select depth[::2]"), [select(1, 2) + row * 4096 + 4096 * 8 / block, 0, 0]);
    assert_eq!(cost("select a = flow", &Layout::S390X), [select(1, 1), 24, 2]);
    // A slice has so many elements at most, however many the array has.
    let sliced = |text: &str| {
        let cost = Query::parse(text).and_then(|query| query.check(&format, &Layout::AARCH64)).expect("a query").cost();
        [cost.element, cost.sliced, cost.sliced_most]
    };
    let [[each, 0, 0], [0, slice, slices]] =
        ["max(flow[2:])", "max(flow[2:1002])"].map(|max| sliced(&format!("where {max} > 1")))
    else {
        panic!("another cost")
    };
    assert_eq!((slice, slices), (each, 1_000 * each));
    assert_eq!(sliced("select a = rows[5:105][3]"), [0, 2 * row, 2 * row * 100]);
    assert_eq!(sliced("where max(flow[:100] + depth[:100]) > 1")[0], 0);
    assert!(sliced("where max(flow[:100] + flow) > 1")[0] > 0, "the whole array, too");
}

#[test]
fn the_results_of_all_parts_have_a_limit_together() {
    let cell = (0..2000).fold(Shape::new("Cell"), |cell, at| cell.field(format!("c{at}"), "double"));
    let format = Shape::new("Outer").nested(cell).field("g", "Cell").on(&Layout::NATIVE).unwrap();
    let check =
        |text: &str| Query::parse(text).unwrap().check(&format, &Layout::NATIVE).map(|checked| checked.made_fields());
    assert_eq!(check("select g || select g").unwrap(), 4002);
    for text in ["select g || select g || select g", "select a = g, b = g, c = g"] {
        let error = check(text).unwrap_err();
        assert_eq!(error.code(), Code::Fields);
        assert!(error.to_string().contains("at most 4096 fields"), "{error}");
    }
}
