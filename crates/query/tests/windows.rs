//! Windows: which records a result is of, and what the functions make of them, against a model that keeps every record.

use isoform_core::text::json;
use isoform_core::{Code, Format, Layout, Shape, Value, Verifier, View, value};
use isoform_query::{Account, Answer, Event, MAX_STATE, Query, Run};
use isoform_testing::mutate::Random;
use std::collections::HashMap;

/// A record of a gauge, and when it came, in milliseconds.
#[derive(Clone, Debug)]
struct Reading {
    station: &'static str,
    level: f64,
    count: i64,
    values: Vec<f64>,
    time: u64,
}

impl Default for Reading {
    fn default() -> Self {
        Reading { station: "A", level: 0.0, count: 0, values: Vec::new(), time: 0 }
    }
}

const MS: u64 = 1_000_000;

fn format(layout: &Layout) -> Format {
    let shape = Shape::new("Reading").field("station", "string").field("level", "double").unit("m");
    let shape = shape.field("count", "i64").field("n", "i32").field("values", "double[n]");
    shape.on(layout).expect("a shape for every layout")
}

fn body(format: &Format, reading: &Reading) -> Vec<u8> {
    let fields = vec![
        ("station".into(), Value::String(reading.station.into())),
        ("level".into(), Value::Float(reading.level)),
        ("count".into(), Value::Integer(reading.count.into())),
        ("values".into(), Value::Array(reading.values.iter().copied().map(Value::Float).collect())),
    ];
    value::body(format, &Value::Record(fields)).expect("a record")
}

fn run(query: &str, format: &Format) -> Run {
    Query::parse(query).and_then(|query| query.check(format, &Layout::NATIVE)).expect(query).run()
}

fn line(run: &Run, body: &[u8]) -> String {
    let verifier = Verifier::new(run.format());
    json::line(View::new(verifier.verify(body).expect("a good result")))
}

/// The results of a query: in the places of which readings they came, and what they are. Those at the end stand behind all.
fn results(query: &str, readings: &[Reading]) -> (Vec<(usize, String)>, Account) {
    let format = format(&Layout::SPARC);
    let verifier = Verifier::new(&format);
    let mut run = run(query, &format);
    let mut results = Vec::new();
    for (at, reading) in readings.iter().enumerate() {
        let body = body(&format, reading);
        let event = Event::at(at as u64, reading.time * MS);
        match run.record(View::new(verifier.verify(&body).expect("a good body")), event).expect(query) {
            Answer::Result(body) => results.push((at, line(&run, &body))),
            Answer::Filtered => {}
            Answer::Passed => panic!("{query}: a record of a window"),
        }
    }
    let account = run.account();
    assert_eq!(account.evaluated, account.passed + account.filtered + account.absorbed, "{query}");
    assert_eq!(account.passed, results.len() as u64, "{query}");
    let last = run.finish().expect(query);
    results.extend(last.iter().map(|body| (readings.len(), line(&run, body))));
    assert_eq!(run.finish().expect(query), Vec::<Vec<u8>>::new(), "{query}: no step is open any more");
    (results, account)
}

fn at(times: &[u64]) -> Vec<Reading> {
    let number = |(number, time): (usize, &u64)| Reading { level: number as f64, time: *time, ..Reading::default() };
    times.iter().enumerate().map(number).collect()
}

fn lines(query: &str, readings: &[Reading]) -> Vec<String> {
    results(query, readings).0.into_iter().map(|(at, line)| format!("{at}: {line}")).collect()
}

#[test]
fn windows_of_time_are_aligned_and_end_with_the_first_record_behind_them() {
    let readings = at(&[2_100, 2_999, 3_000, 3_500, 6_200, 6_300, 7_000]);
    let query = "window 1 s | select count(), first(level), last(level), last(seq()), time = time() / 1000000000 ns";
    let expected = [
        r#"2: {"count":2,"first_level":0.0,"last_level":1.0,"last_seq":1,"time":3.0}"#,
        r#"4: {"count":2,"first_level":2.0,"last_level":3.0,"last_seq":3,"time":4.0}"#,
        r#"6: {"count":2,"first_level":4.0,"last_level":5.0,"last_seq":5,"time":7.0}"#,
        r#"7: {"count":1,"first_level":6.0,"last_level":6.0,"last_seq":6,"time":8.0}"#,
    ];
    assert_eq!(lines(&query.replace("last(seq())", "last_seq = seq()"), &readings), expected);
    // Each half of a second in which records came, one for the last second.
    let expected = [r#"1: {"count":1}"#, r#"2: {"count":2}"#, r#"3: {"count":2}"#, r#"4: {"count":2}"#];
    assert_eq!(lines("window 1 s step 500 ms | select count()", &readings)[..4], expected);
}

#[test]
fn windows_of_records_end_with_their_last_record() {
    let readings = at(&[0; 8]);
    let expected = [r#"2: {"sum_level":3.0}"#, r#"5: {"sum_level":12.0}"#, r#"8: {"sum_level":13.0}"#];
    assert_eq!(lines("window 3 | select sum(level)", &readings), expected);
    let expected =
        ["1: {\"n\":2,\"m\":0.5}", "3: {\"n\":4,\"m\":1.5}", "5: {\"n\":4,\"m\":3.5}", "7: {\"n\":4,\"m\":5.5}"];
    assert_eq!(lines("window 4 step 2 | select n = count(), m = mean(level)", &readings), expected);
    let (_, account) = results("where level >= 2 m | window 3 | select count()", &readings);
    assert_eq!((account.evaluated, account.filtered, account.absorbed, account.passed), (8, 2, 4, 2));
}

#[test]
fn time_that_goes_back_a_little_counts_in_the_current_step_and_else_begins_anew() {
    let readings = at(&[5_000, 6_100, 5_900, 6_200, 1_000, 1_100, 2_000]);
    let expected = [r#"1: {"count":1}"#, r#"4: {"count":4}"#, r#"6: {"count":2}"#, r#"7: {"count":3}"#];
    assert_eq!(lines("window 2 s step 1 s | select count()", &readings), expected);
}

#[test]
fn each_key_has_windows_of_its_own() {
    let readings: Vec<_> =
        (0..7).map(|at| Reading { station: ["A", "B"][at % 2], level: at as f64, ..Reading::default() }).collect();
    let expected = [
        r#"2: {"last_station":"A","sum_level":2.0}"#,
        r#"3: {"last_station":"B","sum_level":4.0}"#,
        r#"6: {"last_station":"A","sum_level":10.0}"#,
        r#"7: {"last_station":"B","sum_level":5.0}"#,
    ];
    assert_eq!(lines("key station | window 2 | select last(station), sum(level)", &readings), expected);
}

#[test]
fn functions_have_the_values_of_all_records() {
    let readings = [
        Reading { level: 1.5, count: 3, values: vec![1.0, 5.0], station: "A", ..Reading::default() },
        Reading { level: f64::NAN, count: -4, values: vec![], station: "B", ..Reading::default() },
        Reading { level: 2.5, count: 7, values: vec![2.0, 4.0, 3.0], station: "C", ..Reading::default() },
    ];
    for (items, expected) in [
        ("sum(count)", r#"{"sum_count":6}"#),
        ("mean(count)", r#"{"mean_count":2.0}"#),
        ("min(count), max(count)", r#"{"min_count":-4,"max_count":7}"#),
        ("min(level)", r#"{"min_level":"NaN"}"#),
        ("n = count(isnan(level)), any(level > 2), all(level > 2)", r#"{"n":1,"any":true,"all":false}"#),
        ("sum(values), mean(values), max(values)", r#"{"sum_values":15.0,"mean_values":3.0,"max_values":5.0}"#),
        ("percentile(values, 75)", r#"{"percentile_values_75":4.0}"#),
        ("std(values)", r#"{"std_values":1.4142135623730951}"#),
        ("hist(values, 0, 6, 3)", r#"{"hist_values_0_6_3":[1,2,2]}"#),
        ("first(values), last(values)", r#"{"first_values":1.0,"last_values":3.0}"#),
        ("first(station), last(station)", r#"{"first_station":"A","last_station":"C"}"#),
        // Within the argument, a function is of one record.
        ("m = max(len(values)), s = mean(sum(values))", r#"{"m":3,"s":5.0}"#),
        ("spread = max(count) - min(count), n = count() * 2", r#"{"spread":11,"n":6}"#),
        ("big = 1 if count() > 2 else 0, late = last(seq()), last = seq()", r#"{"big":1,"late":2,"last":2}"#),
    ] {
        let items = items.replace("any(level > 2), all(level > 2)", "any = any(level > 2 m), all = all(level > 2 m)");
        let found = lines(&format!("window 3 | select {items}"), &readings);
        assert_eq!(found, [format!("2: {expected}")], "{items}");
    }
    let (found, account) = results("window 2 | select m = max(values), s = sum(values)", &readings[1..2]);
    assert_eq!(found, [(1, r#"{"m":"NaN","s":0.0}"#.to_owned())]);
    assert_eq!(account.faults, 0, "before the end");
}

#[test]
fn refusals() {
    let refusal = |query: &str| {
        let checked = Query::parse(query).and_then(|query| query.check(&format(&Layout::NATIVE), &Layout::NATIVE));
        checked.err().unwrap_or_else(|| panic!("{query} is taken"))
    };
    for (query, code, words) in [
        ("window 1 s", Code::Text, "select"),
        ("window 1 s | where level > 1 m | select count()", Code::Text, "select"),
        ("window 0 | select count()", Code::Text, "a number of records"),
        ("window 1 s step 10 | select count()", Code::Text, "a duration"),
        ("window 10 step 1 s | select count()", Code::Text, "a number of records"),
        ("window 10 step 3 | select count()", Code::Text, "multiple"),
        ("window 2 step 3 | select count()", Code::Text, "multiple"),
        ("window 1025 step 1 | select count()", Code::Text, "1024"),
        ("window 10 | select level", Code::WrongType, "last(..)"),
        ("window 10 | select x = level + 1 m", Code::WrongType, "last(..)"),
        ("window 10 | select x = abs(level)", Code::WrongType, "last(..)"),
        ("window 10 | select x = sum(station)", Code::WrongType, "numbers"),
        ("window 10 | select x = last(nothing)", Code::NoSuchField, "level"),
        ("window 10 | select x = max(level) + max(count), y = max(level) + 1 s", Code::Unit, "\"m\""),
        ("window 10 | select sum(level), sum(level)", Code::Declaration, "twice"),
        ("window 1024 step 1 | select sum(level)", Code::Budget, "1024 steps"),
        ("window 64 step 1 | select hist(level, 0, 1, 100)", Code::Budget, "64 steps"),
        ("select n = count()", Code::WrongType, "window"),
        ("where count() > 3", Code::WrongType, "window"),
        ("select n = sum(level)", Code::WrongType, "an array"),
        ("window 10 | select n = max(sum(level))", Code::WrongType, "an array"),
    ] {
        let error = refusal(query);
        assert_eq!(error.code(), code, "{query}: {error}");
        assert!(error.to_string().contains(words), "{query}: {error}");
    }
}

#[test]
fn normal_forms() {
    for (query, expected) in [
        ("window 60 s|select n=count( )", "window 60 s | select n = count()"),
        ("window 1 min step 60 s | select count = count()", "window 60 s | select count()"),
        ("window 1 s step 0.1 s | select step = last(step)", "window 1 s step 100 ms | select step = last(step)"),
        ("window 10 step 5 | select max_v_0 = max(v[0])", "window 10 step 5 | select max(v[0])"),
        ("window 10 step 10 | select hist_x_1_2_5_4 = hist(x, -1, 2.5, 4)", "window 10 | select hist(x, -1, 2.5, 4)"),
        ("select max_depth = max(depth), m = 2 * max(depth)", "select max(depth), m = 2 * max(depth)"),
    ] {
        let normal = Query::parse(query).unwrap_or_else(|error| panic!("{query}: {error}")).to_string();
        assert_eq!(normal, expected);
        assert_eq!(Query::parse(&normal).expect("a normal form").to_string(), normal);
    }
}

#[test]
fn numbers_and_texts_without_room_are_faults_and_what_needs_them_is_absent() {
    let most = MAX_STATE / 8;
    let readings = vec![Reading { values: vec![1.0; most / 4], ..Reading::default() }; 6];
    let (found, account) = results("window 6 | select percentile(values, 50), n = count(), sum(values)", &readings);
    assert_eq!(account.faults, 1);
    assert_eq!(found[0].1, format!(r#"{{"percentile_values_50":"NaN","n":6,"sum_values":{}.0}}"#, 6 * (most / 4)));
    // A window without them has the value again.
    let mut readings = readings;
    readings.extend(vec![Reading { values: vec![2.0], ..Reading::default() }; 6]);
    let (found, _) = results("window 6 | select percentile(values, 50)", &readings);
    assert_eq!(found[1].1, r#"{"percentile_values_50":2.0}"#);
}

/// What a result is of: the records of the last steps, by key.
#[derive(Default)]
struct Model {
    steps: Vec<(u64, Vec<(Reading, u64)>)>,
    is_open: bool,
}

/// The sum of floats, with the order of the specification: for each step, and then for the window.
fn sum(steps: &[Vec<f64>]) -> f64 {
    let mut all = [0.0; 8];
    for step in steps {
        let mut lanes = [0.0; 8];
        step.iter().enumerate().for_each(|(at, number)| lanes[at % 8] += number);
        (0..8).for_each(|at| all[at] += lanes[at]);
    }
    ((all[0] + all[4]) + (all[2] + all[6])) + ((all[1] + all[5]) + (all[3] + all[7]))
}

fn std(steps: &[Vec<f64>]) -> f64 {
    let mut all = (0.0, 0.0, 0.0);
    for step in steps.iter().filter(|step| !step.is_empty()) {
        let (mut k, mut p, mut r) = (0.0, 0.0, 0.0);
        for x in step {
            k += 1.0;
            let d = x - p;
            p += d / k;
            r += d * (x - p);
        }
        let (n, m, q) = all;
        let d = p - m;
        all = if n == 0.0 { (k, p, r) } else { (n + k, m + d * k / (n + k), q + (r + d * d * n * k / (n + k))) };
    }
    (all.2 / all.0).sqrt()
}

impl Model {
    fn close(&mut self, span: u64) -> Option<(f64, f64, u64, i64, f64)> {
        if !std::mem::take(&mut self.is_open) {
            return None;
        }
        let last = self.steps.last()?.0;
        let steps: Vec<_> = self.steps.iter().filter(|(number, _)| number + span > last).collect();
        let floats: Vec<Vec<f64>> =
            steps.iter().map(|(_, all)| all.iter().flat_map(|(one, _)| one.values.clone()).collect()).collect();
        let all = || steps.iter().flat_map(|(_, all)| all);
        let mut ordered: Vec<f64> = floats.concat();
        ordered.sort_by(f64::total_cmp);
        let median = match ordered.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => ordered[n / 2],
            n => ordered[n / 2 - 1] + (ordered[n / 2] - ordered[n / 2 - 1]) * 0.5,
        };
        Some((sum(&floats), std(&floats), all().count() as u64, all().map(|(one, _)| one.count).max()?, median))
    }
}

#[test]
fn random_records_make_what_the_model_makes() {
    let mut random = Random::new(19);
    let mut number = |below: u64| random.below(below as usize) as u64;
    let mut compared = 0;
    for world in 0..400 {
        let (by_time, steps, step) = (number(2) == 0, 1 + number(5), 1 + number(6));
        let window = if by_time {
            format!("window {} ms step {step} ms", steps * step)
        } else {
            format!("window {} step {step}", steps * step)
        };
        let keyed = number(2) == 0;
        let key = if keyed { "key station | " } else { "" };
        let query = format!(
            "where count != 3 | {key}{window} | select s = sum(values), d = std(values), n = count(), m = max(count), p = percentile(values, 50)"
        );
        let format = format(&Layout::ALL[world % Layout::ALL.len()]);
        let verifier = Verifier::new(&format);
        let mut run = run(&query, &format);
        let mut models: HashMap<&str, Model> = HashMap::new();
        let mut time = 1_000;
        for sequence in 0..60 {
            time = match number(20) {
                0 => time - number(40).min(time),
                1 => time + number(30),
                _ => time + number(3),
            };
            let reading = Reading {
                station: ["A", "B", "C"][number(3) as usize],
                level: 0.0,
                count: number(7) as i64 - 3,
                values: (0..number(12)).map(|_| number(1 << 40) as f64 / 3.0 - 1e11).collect(),
                time,
            };
            let model = models.entry(if keyed { reading.station } else { "" }).or_default();
            let mut expected = None;
            if reading.count != 3 {
                let current = model.steps.last().map(|step| step.0);
                let number = match (by_time, current) {
                    (false, None) => 0,
                    (false, Some(current)) => current + u64::from(!model.is_open),
                    (true, current) => match (time / step, current) {
                        (number, Some(current)) if number > current => {
                            expected = model.close(steps);
                            number
                        }
                        (number, Some(current)) if number + steps <= current => {
                            expected = model.close(steps);
                            model.steps.clear();
                            number
                        }
                        (number, current) => current.unwrap_or(number),
                    },
                };
                if model.steps.last().is_none_or(|step| step.0 != number) {
                    model.steps.push((number, Vec::new()));
                }
                model.is_open = true;
                let open = &mut model.steps.last_mut().expect("a step").1;
                open.push((reading.clone(), sequence));
                if !by_time && open.len() as u64 == step {
                    expected = model.close(steps);
                }
            }
            let body = body(&format, &reading);
            let view = View::new(verifier.verify(&body).expect("a good body"));
            let answer = run.record(view, Event::at(sequence, time * MS)).expect(&query);
            let found = if let Answer::Result(body) = &answer { Some(values(&run, body)) } else { None };
            compare(&query, found, expected);
            compared += u64::from(found.is_some());
        }
        let mut last: Vec<_> = run.finish().expect(&query).iter().map(|body| values(&run, body)).collect();
        let mut expected: Vec<_> = models.values_mut().filter_map(|model| model.close(steps)).collect();
        assert_eq!(last.len(), expected.len(), "{query}");
        let by = |a: &Made, b: &Made| (a.2, a.3, a.0.to_bits()).cmp(&(b.2, b.3, b.0.to_bits()));
        last.sort_by(by);
        expected.sort_by(by);
        last.into_iter().zip(expected).for_each(|(found, expected)| compare(&query, Some(found), Some(expected)));
    }
    assert!(compared > 3_000, "{compared} results");
}

type Made = (f64, f64, u64, i64, f64);

fn values(run: &Run, body: &[u8]) -> Made {
    let verifier = Verifier::new(run.format());
    let view = View::new(verifier.verify(body).expect("a good result"));
    let float = |name: &str| view.f64(name).expect("a float");
    let integer = |name: &str| view.i64(name).expect("an integer");
    (float("s"), float("d"), integer("n") as u64, integer("m"), float("p"))
}

fn compare(query: &str, found: Option<Made>, expected: Option<Made>) {
    let bits = |made: Made| (made.0.to_bits(), made.1.to_bits(), made.2, made.3, made.4.to_bits());
    let quiet = |made: Made| {
        let plain = |x: f64| if x.is_nan() { f64::NAN } else { x };
        (plain(made.0), plain(made.1), made.2, made.3, plain(made.4))
    };
    assert_eq!(found.map(quiet).map(bits), expected.map(quiet).map(bits), "{query}: {found:?}, {expected:?}");
}

/// Numbers within nested records are read at their places, those behind pointers are looked for.
#[test]
fn numbers_of_every_type_are_found_where_they_are() {
    let types = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "float", "double"];
    let inner = types.iter().fold(Shape::new("Inner").field("head", "char"), |shape, kind| shape.field(*kind, kind));
    let outer = inner.record("Outer").field("flag", "bool").field("in", "Inner").field("behind", "Inner*");
    for layout in [Layout::NATIVE, Layout::S390X, Layout::SPARC] {
        let format = outer.on(&layout).expect("a shape for every layout");
        let verifier = Verifier::new(&format);
        for (index, kind) in types.iter().enumerate() {
            let is_float = index >= 8;
            let is_signed = kind.starts_with('i');
            let number =
                |number: i128| if is_float { Value::Float(number as f64 / 4.0) } else { Value::Integer(number) };
            let numbers = if is_signed || is_float { [-5, 3, 7] } else { [200, 3, 7] };
            let query = format!("window 3 | select a = min(`in`.{kind}), b = max(`in`.{kind}), c = sum(behind.{kind})");
            let mut run = run(&query, &format);
            let mut last = Answer::Filtered;
            for (at, n) in numbers.into_iter().enumerate() {
                let inner = || Value::Record(vec![((*kind).into(), number(n))]);
                let record = Value::Record(vec![("in".into(), inner()), ("behind".into(), inner())]);
                let body = value::body(&format, &record).expect("a record");
                last = run
                    .record(View::new(verifier.verify(&body).expect("a good body")), Event::at(at as u64, 0))
                    .expect(&query);
            }
            let Answer::Result(body) = last else { panic!("{query}: no result") };
            let expected = match (is_float, is_signed) {
                (true, _) => r#"{"a":-1.25,"b":1.75,"c":1.25}"#,
                (false, true) => r#"{"a":-5,"b":7,"c":5}"#,
                (false, false) => r#"{"a":3,"b":200,"c":210}"#,
            };
            assert_eq!(line(&run, &body), expected, "{query}");
        }
    }
}
