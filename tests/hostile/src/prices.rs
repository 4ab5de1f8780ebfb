//! Prices of queries beside the instructions that they take, counted by valgrind: a source of a channel pays for queries by a list of prices,
//! and measures nothing. So each operation of the language is evaluated as a source does, by both engines, over arrays of several sizes.
//!
//! What is priced below its instructions lets others take more of a source than it grants. What is priced far above them thins honest queries; that
//! is checked for the queries of `docs/book/guides/queries.md`. The cases are in `cases`.

use crate::cases::{Case, Form, cases};
use isoform::core::Verifier;
use isoform::{Format, View};
use isoform_channel_proto::{Query, QueryPrices, layout_like};
use isoform_query::{Engine, Event, Run};
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The instructions that a core completes in a nanosecond, as the prices assume: at 2 GHz, two in a cycle. Common cores complete two to three of such code, at
/// 3 GHz and more. *Why so few:* caches that miss, branches that are mispredicted, and slow divisions are not counted.
const IN_A_NANOSECOND: u64 = 4;
/// The elements of the arrays of each case.
const SIZES: [usize; 4] = [1, 64, 4_096, 131_072];
/// About so many bytes of events are evaluated for each count, in one event at least, after those which are not counted.
const BYTES: usize = 1 << 16;
const EVENTS: [usize; 2] = [1, 256];
/// The milliseconds between two events.
const APART: u64 = 1;
/// An everyday query is priced at most so many times as high as its instructions, with this many instructions besides.
const TOO_DEAR: u64 = 6;
const BESIDES: u64 = 1_000;
/// How many of the prices that are the most wrong are printed.
const PRINTED: usize = 12;

/// Counts all cases whose queries have these words, or with `SAMPLE=n` each nth of them, and says which are priced too low, and which everyday ones
/// too high.
pub(crate) fn run(words: &str) -> ExitCode {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("*** SKIPPED: prices of queries. Instructions are counted by valgrind: apt-get install valgrind ***");
        return ExitCode::SUCCESS;
    }
    let folder = std::env::temp_dir().join(format!("isoform-prices-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for counts");
    let all = counted(&folder, words);
    std::fs::remove_dir_all(&folder).expect("the folder of counts");
    let mut all: Vec<Priced> = all.into_iter().filter(|one| one.instructions > 0).collect();
    all.sort_by_key(|one| one.ratio());
    let (low, high) = (all.iter().take(PRINTED), all.iter().rev().take(PRINTED));
    println!("the lowest prices:");
    low.for_each(|one| println!("  {one}"));
    println!("the highest prices:");
    high.for_each(|one| println!("  {one}"));
    let wrong: Vec<_> = all.iter().filter_map(|one| Some((one.fault()?, one))).collect();
    for (fault, one) in &wrong {
        println!("{fault}: {one}");
    }
    println!("prices: {} counts, {} wrong", all.len(), wrong.len());
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What was counted.
struct Priced {
    about: String,
    is_everyday: bool,
    /// Of one event.
    price: u64,
    instructions: u64,
}

impl Priced {
    /// The price in thousandths of the instructions.
    fn ratio(&self) -> u64 {
        1000 * self.price * IN_A_NANOSECOND / self.instructions.max(1)
    }

    fn fault(&self) -> Option<&'static str> {
        let priced = self.price * IN_A_NANOSECOND;
        match self.instructions {
            counted if priced < counted => Some("TOO LOW"),
            counted if self.is_everyday && priced > TOO_DEAR * counted + BESIDES => Some("TOO HIGH"),
            _ => None,
        }
    }
}

impl std::fmt::Display for Priced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Priced { about, price, instructions, .. } = self;
        let ratio = self.ratio();
        write!(f, "{:>3}.{:03} times: {price} ns for {instructions} instructions: {about}", ratio / 1000, ratio % 1000)
    }
}

/// Runs all cases under valgrind, each of which dumps what it counted into a file of its own.
fn counted(folder: &Path, words: &str) -> Vec<Priced> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--collect-atstart=no", "--combine-dumps=no"]);
    let when = [
        ("toggle-collect", "evaluate_one"),
        ("toggle-collect", "make_code"),
        ("zero-before", "begin"),
        ("dump-before", "end"),
    ];
    command.args(when.map(|(what, function)| format!("--{what}=isoform_hostile::prices::{function}*")));
    command.arg(format!("--callgrind-out-file={}", folder.join("count").display()));
    let program = std::env::current_exe().expect("the path of this program");
    // Valgrind counts each byte that one instruction of an x86 processor moves. Other instructions move as many.
    command.env(
        "GLIBC_TUNABLES",
        "glibc.cpu.x86_rep_movsb_threshold=0x7fffffffffff:glibc.cpu.x86_rep_stosb_threshold=0x7fffffffffff",
    );
    let output = command.arg(program).args(["priced", words]).output().expect("valgrind");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "valgrind failed: {}", String::from_utf8_lossy(&output.stderr));
    let one = |(number, line): (usize, &str)| {
        let (price, rest) = line.split_once('\t').expect("a price");
        let (events, rest) = rest.split_once('\t').expect("events");
        let (is_everyday, about) = rest.split_once('\t').expect("a name");
        let dump = std::fs::read_to_string(folder.join(format!("count.{}", number + 1))).expect("a dump of valgrind");
        let totals =
            dump.lines().rev().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
        let total: u64 = totals.and_then(|total| total.trim().parse().ok()).expect("a total");
        let events: u64 = events.parse().expect("a number");
        Priced {
            about: about.into(),
            is_everyday: is_everyday == "true",
            price: price.parse::<u64>().expect("a number") / events,
            instructions: total / events,
        }
    };
    text.lines().enumerate().map(one).collect()
}

/// Evaluates all cases, and prints the price of each count, of how many events it is, and what it is about.
pub(crate) fn evaluate(words: &str) -> ExitCode {
    let mut all = cases();
    all.retain(|case| case.query.contains(words));
    let sample = std::env::var("SAMPLE").ok().and_then(|sample| sample.parse::<usize>().ok());
    if let Some(sample) = sample.filter(|&sample| sample > 1) {
        let mut at = 0..;
        all.retain(|_| at.next().is_some_and(|at: usize| at.is_multiple_of(sample)));
    }
    // Those with the same fields have the same records, which take long to make.
    all.sort_by_key(|case| case.fields);
    for alike in all.chunk_by(|one, other| one.fields == other.fields) {
        for form in alike[0].forms() {
            for size in SIZES.into_iter().filter(|size| alike.iter().any(|case| case.has_size(*size))) {
                let bodies = alike[0].records(*form, size);
                let all = alike.iter().filter(|case| case.has_size(size));
                all.for_each(|case| evaluate_case(case, *form, size, &bodies));
            }
        }
    }
    ExitCode::SUCCESS
}

fn evaluate_case(case: &Case, form: Form, size: usize, bodies: &[(Format, Vec<u8>)]) {
    let format = &bodies[0].0;
    let checked = case.query.parse::<Query>().and_then(|query| query.check(format, layout_like(format)));
    let checked = checked.unwrap_or_else(|error| panic!("{}: {error}", case.query));
    let prices = QueryPrices::new(&checked, format);
    let about = case.about(form, size);
    let mut run = checked.run();
    run.interpret();
    evaluate_with(case, &format!("interpreter, {about}"), bodies, &prices, run.clone());
    let Some(price) = prices.code() else { return };
    begin();
    make_code(&mut run);
    if size == SIZES[1] {
        tell(case, 1, price.as_nanos() as u64, &format!("making code, {about}"));
    }
    // Otherwise, the time that it took to try is paid for all the same.
    if run.engine() != Engine::Interpreter {
        evaluate_with(case, &format!("machine code, {about}"), bodies, &prices, run);
    }
}

fn evaluate_with(case: &Case, about: &str, bodies: &[(Format, Vec<u8>)], prices: &QueryPrices, mut run: Run) {
    let count = (BYTES / bodies[0].1.len()).clamp(EVENTS[0], EVENTS[1]);
    let verifier = Verifier::new(&bodies[0].0);
    let (mut out, mut evaluated, mut price, first) = (Vec::new(), 0, 0, case.before());
    for (number, (_, body)) in bodies.iter().cycle().take(first + count).enumerate() {
        let event = Event::at(number as u64, number as u64 * APART * 1_000_000);
        if number == first {
            begin();
            (evaluated, price) = (0, 0);
        }
        // What the source passes over, it does not look at.
        if run.passes_over(event.place, || event.time) {
            continue;
        }
        let (interpreted, before, passed_on) = (run.interpreted(), run.spent(), run.passed_on());
        evaluate_one(&verifier, body, &mut run, event, &mut out);
        let is_coded = run.engine() != Engine::Interpreter && run.interpreted() == interpreted;
        price += prices.event(run.spent().since(before), run.passed_on() - passed_on, body.len(), is_coded).as_nanos()
            as u64;
        evaluated += 1;
    }
    if evaluated > 0 {
        tell(case, evaluated, price, about);
    }
}

/// Ends a count: what was counted since it began has this price.
fn tell(case: &Case, events: u64, price: u64, about: &str) {
    println!("{price}\t{events}\t{}\t{about}", case.is_everyday);
    end();
}

// Valgrind knows these by their names. It counts in the first two.

#[inline(never)]
fn evaluate_one(verifier: &Verifier, body: &[u8], run: &mut Run, event: Event, out: &mut Vec<u8>) {
    let view = View::new(verifier.verify(body).expect("a valid body"));
    _ = black_box(run.record_into(black_box(view), event, out));
}

#[inline(never)]
fn make_code(run: &mut Run) {
    black_box(run).generate();
}

// These must differ, or the compiler makes one of the two.

/// Forgets what was counted.
#[inline(never)]
fn begin() {
    black_box("begin");
}

/// Writes down what was counted.
#[inline(never)]
fn end() {
    black_box(b"the end");
}
