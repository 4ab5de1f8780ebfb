//! Random queries of every type on random records: no panic, equal results for records of both byte orders, results that
//! the verifier accepts, and a normal form that means the same. And mutants of their texts.

use isoform_core::{Format, Layout, Shape, Token, Value, Verifier, View, value};
use isoform_query::{Account, Answer, Engine, Event, Query, Run, Verdict};
use isoform_testing::mutate::Random;
use isoform_testing::{any_value, drawn, runner};

const QUERIES: u64 = 100_000;
/// Queries with a state, each for 24 records.
const RUNS: u64 = 5_000;
/// Queries for each record.
const SHARE: u64 = 100;

fn shape() -> Shape {
    Shape::new("Inner")
        .field("x", "float")
        .field("i", "i16")
        .record("Outer")
        .field("a", "i32")
        .field("u", "u64")
        .field("l", "i64")
        .field("f", "float")
        .field("d", "double")
        .field("t", "bool")
        .field("s", "string")
        .field("c", "char[5]")
        .field("v", "double[3]")
        .field("w", "i64[3]")
        .field("n", "i32")
        .field("y", "float[n]")
        .field("z", "u64[n]")
        .field("m", "u8[2][n]")
        .field("r", "Inner[2]")
        .field("p", "Inner*")
        .field("e", "enum { RED = 1, BLUE = 2 }")
}

/// Writes random expressions of a wanted type.
struct Writer<'r> {
    random: &'r mut Random,
}

impl Writer<'_> {
    fn of<'s>(&mut self, these: &[&'s str]) -> &'s str {
        self.random.of_these(these).expect("some")
    }

    fn number(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.one_in(3) {
            let fields = ["a", "u", "l", "f", "d", "v[1]", "w[2]", "y[0]", "z[3]", "m[1][0]", "r[1].x", "p.i", "n"];
            if self.random.one_in(12) {
                return self.of(&["seq()", "(time() // 1 ns)"]).into();
            }
            let literals = ["0", "1", "3", "18446744073709551615", "9223372036854775807", "0.5", "1e300", "1e-320"];
            let is_literal = self.random.one_in(4);
            return self.of(if is_literal { &literals[..] } else { &fields[..] }).into();
        }
        match self.random.below(11) {
            8 => {
                format!("({} if {} else {})", self.number(depth - 1), self.condition(depth - 1), self.number(depth - 1))
            }
            9 => format!("percentile({}, {})", self.numbers(depth - 1), self.of(&["0", "12.5", "50", "100"])),
            10 => format!("{}({})", self.of(&["std", "first", "last"]), self.numbers(depth - 1)),
            0..=3 => {
                let operator = self.of(&["+", "-", "*", "/", "//", "%"]);
                format!("({} {operator} {})", self.number(depth - 1), self.number(depth - 1))
            }
            4 => format!("-{}", self.number(depth - 1)),
            5 => format!("{}({})", self.of(&["abs", "floor", "sqrt"]), self.number(depth - 1)),
            _ => format!("{}({})", self.of(&["sum", "mean", "min", "max", "len"]), self.numbers(depth - 1)),
        }
    }

    fn numbers(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.one_in(2) {
            let slices = ["v[1:]", "w[0:3:2]", "y[:2]", "z[1:9:2]", "m[0:1][:3]", "m[1:2]"];
            let sliced = self.random.one_in(3);
            return self.of(if sliced { &slices } else { &["v", "w", "y", "z", "m"] }).into();
        }
        let operator = self.of(&["+", "-", "*", "/", "//", "%"]);
        match self.random.below(5) {
            3 => {
                let (v, w) = (self.of(&["v", "w", "y", "z[:2]"]), self.of(&["v", "w", "y", "m"]));
                format!("({v} if {} else {w})", self.condition(depth - 1))
            }
            4 => format!("hist({}, {})", self.numbers(depth - 1), self.of(&["0, 10, 5", "-1e9, 1e9, 4", "-0.5, 2, 3"])),
            0 => format!("{} {operator} {}", self.of(&["v", "w"]), self.of(&["v", "w"])),
            1 => format!("{} {operator} {}", self.of(&["y", "z", "m"]), self.of(&["y", "z", "v"])),
            _ => format!("{} {operator} {}", self.number(depth - 1), self.of(&["v", "y", "z"])),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self
                .of(&["t", "true", "e == \"RED\"", "startswith(s, \"a\")", "contains(c, \"b\")", "s == c"])
                .into();
        }
        let comparison = self.of(&["==", "!=", "<", "<=", ">", ">="]);
        match self.random.below(6) {
            0 => format!("({} and {})", self.condition(depth - 1), self.condition(depth - 1)),
            1 => format!("({} or {})", self.condition(depth - 1), self.condition(depth - 1)),
            2 => format!("not {}", self.condition(depth - 1)),
            3 => format!(
                "{}({} {comparison} {})",
                self.of(&["any", "all"]),
                self.numbers(depth - 1),
                self.number(depth - 1)
            ),
            4 => format!("{} in ({}, {})", self.number(depth - 1), self.number(depth - 1), self.number(depth - 1)),
            _ => format!("{} {comparison} {}", self.number(depth - 1), self.number(depth - 1)),
        }
    }

    fn query(&mut self) -> String {
        let mut query = match self.random.below(3) {
            0 => format!("where {} | ", self.condition(3)),
            1 => "every 1 | ".into(),
            _ => String::new(),
        };
        let path = self.of(&[
            "v[1:3]",
            "y[0:4:3]",
            "m[:2][1:]",
            "r[0:2]",
            "w[::2]",
            "a",
            "s",
            "c",
            "v",
            "y",
            "m",
            "r",
            "p",
            "r[0]",
            "p.x",
            "e",
            "m[1]",
            "z[2]",
        ]);
        query += &format!("select {path}, k = {}, h = {}", self.number(3), self.condition(2));
        query + &format!(", q = {}", self.numbers(2))
    }
}

impl Writer<'_> {
    /// A query whose result has no pointers.
    fn flat(&mut self) -> String {
        let path = self.of(&["v", "v[1:3]", "w[::2]", "a", "c", "e", "f", "t", "z[0]", "r[1].x", "p.i", "m[1][0]"]);
        let array = self.of(&["v * 2", "w + a", "abs(v - d)", "v > f", "-w", "w // 3", "w % a", "v in (d, 0, 1)"]);
        let one = self.of(&["sum", "mean", "min", "max", "first", "last", "len"]);
        let all = self.of(&["v", "w", "y", "z", "m", "v - 1", "y * d", "z + 1", "z[1:9:2]", "y[:2]", "w * a", "m[0]"]);
        let which = self.of(&["any", "all", "count"]);
        let (left, right) = (self.of(&["v", "y", "z", "w"]), self.number(1));
        let comparison = self.of(&["==", "!=", "<", "<=", ">", ">="]);
        format!("select {path}, q = {array}, one = {one}({all}), which = {which}({left} {comparison} {right})")
    }

    /// A query whose answers depend on the records before.
    fn stages(&mut self) -> String {
        let mut stages = Vec::new();
        let mut keyed = false;
        for _ in 0..=self.random.below(3) {
            stages.push(match self.random.below(6) {
                0 => format!("where {}", self.condition(2)),
                1 => format!("every {}", self.of(&["2", "3", "1 ms", "3 us", "0.002 s"])),
                2 if !keyed => {
                    keyed = true;
                    format!("key {}", self.of(&["a", "u, t", "s", "e, c", "a // 1000", "(z[0] % 3) * 2, s == c"]))
                }
                3 => format!("changed {} by {}", self.numbers(2), self.of(&["0", "0.5", "1", "1e9"])),
                _ => {
                    let (number, by) = (self.number(2), self.of(&["0", "3", "1e9"]));
                    format!("changed {number} by {by}{}", self.of(&["", " or every 1 ms", " or every 5 us"]))
                }
            });
        }
        stages.join(" | ")
    }
}

impl Writer<'_> {
    /// A query of windows.
    fn window(&mut self) -> String {
        let mut stages = Vec::new();
        if self.random.one_in(3) {
            stages.push(format!("where {}", self.condition(2)));
        }
        if self.random.one_in(2) {
            stages.push(format!("key {}", self.of(&["a", "u, t", "s", "e, c"])));
        }
        let span = self.of(&["3", "6 step 2", "4 step 1", "1 ms", "2 ms step 500 us", "9 us step 3 us"]);
        stages.push(format!("window {span}"));
        let gather = |writer: &mut Self| {
            let function = writer.of(&["sum", "mean", "min", "max", "std", "first", "last"]);
            let values = match writer.random.below(4) {
                0 => writer.numbers(2),
                1 => writer.of(&["v", "w", "y", "z", "m"]).into(),
                2 => format!("max({})", writer.of(&["v", "y", "z"])),
                _ => writer.number(2),
            };
            format!("{function}({values})")
        };
        let (a, b, condition) = (gather(self), gather(self), self.condition(2));
        let which = self.of(&["any", "all", "count"]);
        let text = self.of(&["s", "c", "e"]);
        let more = self.of(&["percentile(y, 50)", "hist(v, -1e9, 1e9, 4)", "percentile(a, 99)", "hist(i, 0, 100, 3)"]);
        let more = more.replace("(i,", "(r[0].i,");
        stages.push(format!(
            "select n = count(), at = seq(), a = {a}, c = {a} * 2 - 1, b = {b}, t = {which}({condition}), x = last({text}), y = {more}"
        ));
        stages.join(" | ")
    }
}

impl Writer<'_> {
    /// Two or three queries, each of what the one before gives.
    fn parts(&mut self) -> Vec<String> {
        let first = if self.random.one_in(2) { self.stages() } else { self.window() };
        let mut parts = vec![first];
        for _ in 0..=self.random.below(2) {
            let of_windows = parts.iter().any(|part| part.contains("window"));
            parts.push(match (of_windows, self.random.below(3)) {
                (true, 0) => self.of(&["where a > c", "where n >= 2", "key x | every 2"]).into(),
                (true, 1) => {
                    self.of(&["changed a by 1 | every 2", "changed b by 0 or every 1 ms", "every 400 us"]).into()
                }
                (true, _) => {
                    let span = self.of(&["2", "4 step 2", "1 ms step 500 us", "2 ms"]);
                    let functions = "n = count(), at = seq(), a = mean(a), c = last(c), b = max(b), x = first(x)";
                    format!("window {span} | select {functions}")
                }
                (false, 0) => self.stages(),
                (false, 1) => self.window(),
                (false, _) => "changed a by 1 | select a, u, t, at = seq(), when = time()".into(),
            });
            if parts.last().is_some_and(|part| part.contains("when")) {
                break;
            }
        }
        // Behind the first part, `every` never goes by numbers of records.
        let is_every = |part: &String| part.starts_with("every");
        parts[1..].iter_mut().filter(|part| is_every(part)).for_each(|part| part.insert_str(0, "where true | "));
        parts
    }
}

/// A digest of answers, which is the same on all machines.
struct Digest(Token);

impl Digest {
    fn add(&mut self, answer: &Answer, account: Account) {
        let Account { evaluated, passed, filtered, absorbed, faults, absent, forgotten } = account;
        let counts = format!("evaluated: {evaluated}, passed: {passed}, filtered: {filtered}, faults: {faults}");
        let counts = format!("{counts}, absent: {absent}, forgotten: {forgotten}");
        let absorbed = if absorbed > 0 { format!(" {absorbed}") } else { String::new() };
        self.0 = Token::of(format!("{} {answer:?} Account {{ {counts} }}{absorbed}", self.0).as_bytes());
    }

    /// Whether the answers are those that other machines give. Random numbers differ on machines of 32 bits.
    fn expect(&self, expected: &str) {
        assert!(cfg!(not(target_pointer_width = "64")) || self.0.to_string() == expected, "{}", self.0);
    }
}

struct Side {
    format: Format,
    body: Vec<u8>,
}

impl Side {
    fn new(layout: &Layout, record: &Value) -> Side {
        let format = shape().on(layout).expect("a shape for every layout");
        let body = value::body(&format, record).expect("a record for every layout");
        Side { format, body }
    }

    /// A query at work here.
    fn run(&self, query: &Query, text: &str) -> Run {
        query.check(&self.format, &Layout::AARCH64).unwrap_or_else(|error| panic!("{text}: {error}")).run()
    }

    /// What a query gives here; its result has the verifier's word.
    fn next(&self, run: &mut Run, event: Event, text: &str) -> Answer {
        let verifier = Verifier::new(&self.format);
        let view = View::new(verifier.verify(&self.body).expect("a good body"));
        let answer = run.record(view, event).unwrap_or_else(|error| panic!("{text}: {error}"));
        if let Answer::Result(body) = &answer {
            Verifier::new(run.format()).verify(body).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        answer
    }

    /// As `next`, in a buffer with other bytes, all of which a result replaces.
    fn over(&self, run: &mut Run, event: Event, text: &str) -> Answer {
        let verifier = Verifier::new(&self.format);
        let view = View::new(verifier.verify(&self.body).expect("a good body"));
        let mut out = vec![0xa5; run.format().size()];
        match run.record_into(view, event, &mut out).unwrap_or_else(|error| panic!("{text}: {error}")) {
            Verdict::Filtered => Answer::Filtered,
            Verdict::Passed => Answer::Passed,
            Verdict::Result => Answer::Result(out),
        }
    }

    fn answer(&self, query: &Query, text: &str) -> (Answer, Account) {
        let mut run = self.run(query, text);
        let answer = self.next(&mut run, Event::at(0, 7_000_000_007), text);
        (answer, run.account())
    }
}

#[test]
fn random_queries_give_equal_results_for_records_of_both_byte_orders() {
    let mut random = Random::new(18);
    let mut cases = runner(&mut random);
    let (mut results, mut faults) = (0u64, 0u64);
    let mut digest = Digest(Token::of(b""));
    for _ in 0..QUERIES / SHARE {
        let native = shape().on(&Layout::X86_64).expect("a shape for every layout");
        let record = drawn(any_value(&native), &mut cases);
        let little = Side::new(&Layout::X86_64, &record);
        let big = Side::new(&Layout::POWERPC, &record);
        for _ in 0..SHARE {
            let text = Writer { random: &mut random }.query();
            let query = Query::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let answer = little.answer(&query, &text);
            assert_eq!(answer, big.answer(&query, &text), "{text}");
            let normal = query.to_string();
            let again = Query::parse(&normal).unwrap_or_else(|error| panic!("{normal}: {error}"));
            assert_eq!(again.to_string(), normal);
            assert_eq!(answer, little.answer(&again, &normal), "{text}");
            digest.add(&answer.0, answer.1);
            results += u64::from(matches!(answer.0, Answer::Result(_)));
            faults += answer.1.faults;
        }
    }
    // Most queries give a result, and some of them have faults; else nothing was tested.
    assert!(results > QUERIES / 2 && faults > QUERIES / 100, "{results} results, {faults} faults");
    digest.expect("3c84823138ed70bff143f24523f57453");
}

#[test]
fn queries_with_a_state_give_equal_answers_for_records_of_both_byte_orders() {
    let mut random = Random::new(21);
    let mut cases = runner(&mut random);
    let (mut passed, mut filtered, mut forgotten) = (0u64, 0u64, 0u64);
    let mut digest = Digest(Token::of(b""));
    for _ in 0..RUNS / SHARE {
        let native = shape().on(&Layout::X86_64).expect("a shape for every layout");
        let records: Vec<_> = (0..6).map(|_| drawn(any_value(&native), &mut cases)).collect();
        let sides = |layout| records.iter().map(|record| Side::new(layout, record)).collect::<Vec<_>>();
        let (little, big) = (sides(&Layout::X86_64), sides(&Layout::S390X));
        for _ in 0..SHARE {
            let text = Writer { random: &mut random }.stages();
            let query = Query::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let again = Query::parse(&query.to_string()).unwrap_or_else(|error| panic!("{query}: {error}"));
            let mut runs = [little[0].run(&query, &text), big[0].run(&query, &text), little[0].run(&again, &text)];
            let mut time = 0;
            for sequence in 0..24 {
                let record = random.below(records.len());
                time += [0, 700, 3_000, 400_000][random.below(4)];
                if random.one_in(8) {
                    runs.iter_mut().for_each(|run| _ = run.lost(sequence / 2, 4));
                }
                let event = Event::at(sequence, time);
                let answer = little[record].next(&mut runs[0], event, &text);
                assert_eq!(answer, big[record].next(&mut runs[1], event, &text), "{text}");
                assert_eq!(answer, little[record].next(&mut runs[2], event, &text), "{text}");
                digest.add(&answer, runs[0].account());
            }
            let account = runs[0].account();
            assert!(runs.iter().all(|run| run.account() == account), "{text}");
            (passed, filtered) = (passed + account.passed, filtered + account.filtered);
            forgotten += account.forgotten;
        }
    }
    assert!(passed > RUNS && filtered > RUNS, "{passed} passed, {filtered} filtered");
    assert_eq!(forgotten, 0, "few keys");
    digest.expect("0e5c3848658e9b7a50604321359e19d7");
}

#[test]
fn windows_give_equal_results_for_records_of_both_byte_orders() {
    let mut random = Random::new(23);
    let mut cases = runner(&mut random);
    let (mut passed, mut absorbed, mut last) = (0, 0, 0);
    let mut digest = Digest(Token::of(b""));
    for _ in 0..RUNS / SHARE {
        let native = shape().on(&Layout::X86_64).expect("a shape for every layout");
        let records: Vec<_> = (0..6).map(|_| drawn(any_value(&native), &mut cases)).collect();
        let sides = |layout| records.iter().map(|record| Side::new(layout, record)).collect::<Vec<_>>();
        let (little, big) = (sides(&Layout::X86_64), sides(&Layout::S390X));
        for _ in 0..SHARE {
            let text = Writer { random: &mut random }.window();
            let query = Query::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let again = Query::parse(&query.to_string()).unwrap_or_else(|error| panic!("{query}: {error}"));
            let mut runs = [little[0].run(&query, &text), big[0].run(&query, &text), little[0].run(&again, &text)];
            let mut time = 0;
            for sequence in 0..24 {
                let record = random.below(records.len());
                time += [0, 700, 3_000, 400_000][random.below(4)];
                if random.one_in(8) {
                    runs.iter_mut().for_each(|run| _ = run.lost(sequence / 2, 4));
                }
                let event = Event::at(sequence, time);
                let answer = little[record].next(&mut runs[0], event, &text);
                assert_eq!(answer, big[record].next(&mut runs[1], event, &text), "{text}");
                assert_eq!(answer, little[record].next(&mut runs[2], event, &text), "{text}");
                digest.add(&answer, runs[0].account());
            }
            let account = runs[0].account();
            assert!(runs.iter().all(|run| run.account() == account), "{text}");
            assert_eq!(account.evaluated, account.passed + account.filtered + account.absorbed, "{text}");
            let finish = |run: &mut Run| run.finish().unwrap_or_else(|error| panic!("{text}: {error}"));
            let ends = finish(&mut runs[0]);
            assert!(runs[1..].iter_mut().all(|run| finish(run) == ends), "{text}");
            for end in &ends {
                Verifier::new(runs[0].format()).verify(end).unwrap_or_else(|error| panic!("{text}: {error}"));
                digest.add(&Answer::Result(end.clone()), account);
            }
            (passed, absorbed, last) = (passed + account.passed, absorbed + account.absorbed, last + ends.len() as u64);
        }
    }
    assert!([passed, absorbed, last].iter().all(|count| *count > RUNS), "{passed}, {absorbed}, {last}");
    digest.expect("fc6e01877cdf9e568e236d56b1c258d5");
}

#[test]
fn parts_give_what_queries_give_one_after_another() {
    let mut random = Random::new(24);
    let mut cases = runner(&mut random);
    let (mut passed, mut filtered, mut absorbed, mut last) = (0, 0, 0, 0);
    let mut digest = Digest(Token::of(b""));
    for _ in 0..RUNS / SHARE {
        let native = shape().on(&Layout::X86_64).expect("a shape for every layout");
        let records: Vec<_> = (0..6).map(|_| drawn(any_value(&native), &mut cases)).collect();
        let sides: Vec<_> = records.iter().map(|record| Side::new(&Layout::S390X, record)).collect();
        for _ in 0..SHARE {
            let parts = Writer { random: &mut random }.parts();
            let text = parts.join(" || ");
            let good = |text: &str| Query::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let query = good(&text);
            let queries: Vec<_> = parts.iter().map(|part| good(part)).collect();
            let (first, rest) = queries.split_first().expect("some");
            let joined = rest.iter().fold(first.clone(), |all, next| next.of(Some(&all)).expect("a short query"));
            assert_eq!(joined.to_string(), query.to_string());
            let mut run = sides[0].run(&joined, &text);
            let mut runs: Vec<Run> = Vec::new();
            for query in &queries {
                let format = runs.last().map_or(&sides[0].format, Run::format);
                runs.push(
                    query.check(format, &Layout::AARCH64).unwrap_or_else(|error| panic!("{text}: {error}")).run(),
                );
            }
            assert_eq!(run.format(), runs.last().expect("some").format(), "{text}");
            let (mut time, mut event) = (0, Event::default());
            for sequence in 0..24 {
                let side = &sides[random.below(records.len())];
                time += [0, 700, 3_000, 400_000][random.below(4)];
                if random.one_in(8) {
                    runs.iter_mut().chain([&mut run]).for_each(|run| _ = run.lost(sequence / 2, 4));
                }
                event = Event::at(sequence, time);
                let answer = side.next(&mut run, event, &text);
                assert_eq!(answer, through(&mut runs, &side.format, &side.body, event), "{text}");
                digest.add(&answer, run.account());
            }
            let accounts: Vec<_> = runs.iter().map(Run::account).collect();
            let sum = |count: fn(&Account) -> u64| accounts.iter().map(count).sum::<u64>();
            let account = Account {
                evaluated: 24,
                passed: accounts.last().expect("some").passed,
                filtered: sum(|account| account.filtered),
                absorbed: sum(|account| account.absorbed),
                faults: sum(|account| account.faults),
                absent: sum(|account| account.absent),
                forgotten: sum(|account| account.forgotten),
            };
            assert_eq!(run.account(), account, "{text}");
            assert_eq!(24, account.passed + account.filtered + account.absorbed, "{text}");
            let ends = run.finish().unwrap_or_else(|error| panic!("{text}: {error}"));
            let mut expected = Vec::new();
            for at in 0..runs.len() {
                let (ended, behind) = runs[at..].split_first_mut().expect("some");
                let format = ended.format().clone();
                for body in ended.finish().unwrap_or_else(|error| panic!("{text}: {error}")) {
                    match through(behind, &format, &body, event) {
                        Answer::Filtered => {}
                        Answer::Passed => expected.push(body),
                        Answer::Result(result) => expected.push(result),
                    }
                }
            }
            assert_eq!(ends, expected, "{text}");
            assert_eq!(run.account().evaluated, 24, "{text}");
            (passed, filtered) = (passed + account.passed, filtered + account.filtered);
            (absorbed, last) = (absorbed + account.absorbed, last + ends.len() as u64);
        }
    }
    assert!(
        [passed, filtered, absorbed, last].iter().all(|count| *count > RUNS / 2),
        "{passed}, {filtered}, {absorbed}, {last}"
    );
    digest.expect("ed61eb7513d22a1c8942ab92c1c584cf");
}

/// What queries make of a record, one after another.
fn through(runs: &mut [Run], format: &Format, body: &[u8], event: Event) -> Answer {
    let Some((run, rest)) = runs.split_first_mut() else { return Answer::Passed };
    let verifier = Verifier::new(format);
    match run.record(View::new(verifier.verify(body).expect("a good body")), event).expect("an answer") {
        Answer::Filtered => Answer::Filtered,
        Answer::Passed => through(rest, format, body, event),
        Answer::Result(result) => match through(rest, &run.format().clone(), &result, event) {
            Answer::Passed => Answer::Result(result),
            answer => answer,
        },
    }
}

/// A record with small numbers, as most are: then generated code is seldom unsure.
fn mild(random: &mut Random) -> Value {
    let mut whole = |below: usize| Value::Integer(random.below(below) as i128 - below as i128 / 3);
    let integers = ["a", "l"].map(|name| (name.to_string(), whole(20)));
    let many = |random: &mut Random, count: usize, low: i128, floats: bool| {
        let one = |_| match (floats, random.below(16)) {
            (true, 0) => Value::Float([f64::NAN, -0.0, 0.0, 1e30][random.below(4)]),
            (true, number) => Value::Float(number as f64 / 4.0 - 2.0),
            (false, number) => Value::Integer(number as i128 + low),
        };
        Value::Array((0..count).map(one).collect())
    };
    let count = random.below(5);
    let mut fields: Vec<(String, Value)> = integers.into();
    fields.push(("u".into(), Value::Integer(random.below(9) as i128)));
    for name in ["f", "d"] {
        fields.push((name.into(), Value::Float(random.below(40) as f64 / 8.0 - 1.0)));
    }
    fields.push(("t".into(), Value::Boolean(random.one_in(2))));
    fields.push(("s".into(), Value::String(b"abc"[..random.below(4)].to_vec())));
    fields.push(("c".into(), Value::String(b"abcde"[..random.below(6)].to_vec())));
    fields.push(("v".into(), many(random, 3, 0, true)));
    fields.push(("w".into(), many(random, 3, -4, false)));
    fields.push(("y".into(), many(random, count, 0, true)));
    fields.push(("z".into(), many(random, count, 0, false)));
    fields.push(("m".into(), Value::Array((0..2).map(|_| many(random, count, 0, false)).collect())));
    fields.push(("e".into(), Value::Symbol(if random.one_in(2) { "RED" } else { "BLUE" }.into())));
    Value::Record(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

/// Queries for generated code; a hundred times as many in `make soak`.
fn generated() -> usize {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse::<usize>().ok());
    cases.map_or(400, |cases| (cases * 4).clamp(64, 100_000))
}

#[test]
fn generated_code_gives_what_the_interpreter_gives() {
    let mut random = Random::new(118);
    let mut cases = runner(&mut random);
    let native = shape().on(&Layout::X86_64).expect("a shape for every layout");
    let (mut whole, mut some, mut results) = (0usize, 0usize, 0usize);
    for _ in 0..generated().div_ceil(20) {
        let wild: Vec<_> = (0..3).map(|_| drawn(any_value(&native), &mut cases)).collect();
        let records: Vec<_> = wild.into_iter().chain((0..6).map(|_| mild(&mut random))).collect();
        // Results are laid out for a machine of the first byte order.
        let sides = [&Layout::X86_64, &Layout::S390X].map(|layout| {
            let sides: Vec<_> = records.iter().map(|record| Side::new(layout, record)).collect();
            sides
        });
        for _ in 0..20 {
            let mut writer = Writer { random: &mut random };
            let text = match writer.random.below(4) {
                0 => format!("where {}", writer.condition(3)),
                1 => format!(
                    "where {} | every 2 | select k = {}, {}",
                    writer.condition(1),
                    writer.number(3),
                    "v, w[1], f, m"
                ),
                2 => format!("select k = {}, q = {}", writer.number(2), writer.condition(2)),
                _ => writer.flat(),
            };
            let query = Query::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            for side in &sides {
                let mut judge = side[0].run(&query, &text);
                let mut run = judge.clone();
                run.generate();
                match run.engine() {
                    Engine::Generated => whole += 1,
                    Engine::Both => some += 1,
                    Engine::Interpreter => {}
                }
                for (sequence, side) in side.iter().enumerate() {
                    let event = Event::at(sequence as u64, 7_000_000_007 + sequence as u64);
                    let answer = side.next(&mut judge, event, &text);
                    assert_eq!(side.over(&mut run, event, &text), answer, "{text}");
                    assert_eq!(run.account(), judge.account(), "{text}");
                    results += usize::from(matches!(answer, Answer::Result(_)));
                }
            }
        }
    }
    let queries = 2 * generated();
    assert!(results > queries, "{results} results");
    // Where there is a generator, it takes a good part of them.
    assert!(whole + some == 0 || (whole > queries / 4 && some < queries), "{whole} whole, {some} in part");
}

#[test]
fn mutants_of_queries_are_refused_or_run() {
    let mut random = Random::new(19);
    let record = Value::Record(Vec::new());
    let side = Side::new(&Layout::X86_64, &record);
    let mut run = 0;
    for _ in 0..20_000 {
        let mut writer = Writer { random: &mut random };
        let mut text = if writer.random.one_in(3) { writer.stages() } else { writer.query() }.into_bytes();
        for _ in 0..=random.below(3) {
            let at = random.below(text.len());
            match random.below(3) {
                0 => _ = text.remove(at),
                1 => text[at] = random.of_these(b"()[]:.,|+-*/%<>=! \"`\\0e9amvz\n\xff\0").expect("a byte"),
                _ => text.insert(at, random.byte() & 127),
            }
        }
        let text = String::from_utf8_lossy(&text);
        let Ok(query) = Query::parse(&text) else { continue };
        if query.check(&side.format, &Layout::NATIVE).is_ok() {
            side.answer(&query, &text);
            run += 1;
        }
    }
    assert!(run > 100, "only {run} mutants ran");
}
