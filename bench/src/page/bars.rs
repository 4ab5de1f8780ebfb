//! What is to be reached, as data, and whether it was.

use super::svg::amount;
use super::{channel, service};
use crate::Line;
use Engine::{Interpreter, Steady};
use Limit::{Case, Compiled, Figure, Known, Memcpy, Ns};

/// One thing to reach.
pub struct Bar {
    /// In words.
    pub what: &'static str,
    /// Which lines are judged: of this group,
    pub group: &'static str,
    /// these workloads, or transports of the group `channel`, or measures of the group `service`,
    pub workloads: &'static [&'static str],
    /// this case (of a channel: what is measured, bytes, cores; of a service: formats stored, and cores if that matters; of a query: what is measured),
    pub case: &'static str,
    /// and this engine.
    pub engine: Engine,
    /// What a line may say.
    pub limit: Limit,
}

/// Which of several engines is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The one that is used once a format has proven frequent: none, where nothing is to be done; else generated code,
    /// where there is a gain in it.
    Steady,
    /// The interpreter.
    Interpreter,
}

/// The most that a figure may be.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// Nanoseconds.
    Ns(f64),
    /// Times the compiled pair.
    Compiled(f64),
    /// Nanoseconds: so many times a copy, and so many more.
    Memcpy(f64, f64),
    /// Times what another case of the same workload takes.
    Case(&'static str, f64),
    /// Nanoseconds that the look-up of such a token takes longer, with a thousand formats known, than with one.
    Known(&'static str, f64),
    /// Another figure than the time itself.
    Figure(&'static str, f64),
}

const SOCKETS: &[&str] = &["tcp", "unix"];
const K: &[&str] = &["K01", "K1", "K10", "K100"];
const FLAT: &[&str] = &["K01", "K1", "K10", "K100", "M100", "T", "A01", "A1", "A10", "A100"];
const ALL: &[&str] = &["K01", "K1", "K10", "K100", "M100", "T", "A01", "A1", "A10", "A100", "S10", "S1k", "S100k"];
const ARRAYS: &[&str] = &["A01", "A1", "A10", "A100"];
const SERIES: &[&str] = &["S10", "S1k", "S100k"];
const NESTED: &[&str] = &["T", "S10", "S1k", "S100k"];

/// All of them, in the order in which a record goes from one program to another.
#[rustfmt::skip]
pub const BARS: &[Bar] = &[
    Bar { what: "send: by reference, a record with gaps", group: "send", workloads: K, case: "", engine: Steady, limit: Ns(12.0) },
    Bar { what: "send: by reference, a record without", group: "send", workloads: ARRAYS, case: "", engine: Steady, limit: Ns(6.0) },
    Bar { what: "send: many gaps", group: "send", workloads: &["M100", "T"], case: "", engine: Steady, limit: Memcpy(1.3, 20.0) },
    Bar { what: "bytes of a message besides the record", group: "send", workloads: ALL, case: "", engine: Steady, limit: Figure("overhead_bytes", 32.0) },
    Bar { what: "receive: the same layout", group: "receive", workloads: FLAT, case: "same", engine: Steady, limit: Ns(8.0) },
    Bar { what: "receive: fields appended", group: "receive", workloads: FLAT, case: "appended", engine: Steady, limit: Ns(8.0) },
    Bar { what: "receive: the same layout, two strings and an array", group: "receive", workloads: SERIES, case: "same", engine: Steady, limit: Ns(20.0) },
    Bar { what: "receive: a repeated token, 1,000 formats known", group: "receive", workloads: &["K01"], case: "same", engine: Steady, limit: Known("repeated", 1.0) },
    Bar { what: "receive: a random token, 1,000 formats known", group: "receive", workloads: &["K01"], case: "same", engine: Steady, limit: Known("random", 10.0) },
    Bar { what: "bytes copied where layouts agree", group: "receive", workloads: ALL, case: "same", engine: Steady, limit: Figure("copied_bytes", 0.0) },
    Bar { what: "bytes copied where fields are appended", group: "receive", workloads: FLAT, case: "appended", engine: Steady, limit: Figure("copied_bytes", 0.0) },
    Bar { what: "convert, in steady state: other byte order", group: "convert", workloads: &["K01"], case: "swap", engine: Steady, limit: Compiled(1.5) },
    Bar { what: "convert, in steady state: other byte order", group: "convert", workloads: &["K1"], case: "swap", engine: Steady, limit: Compiled(1.2) },
    Bar { what: "convert, in steady state: other byte order", group: "convert", workloads: &["K10", "K100"], case: "swap", engine: Steady, limit: Compiled(1.05) },
    Bar { what: "convert, in steady state: other byte order", group: "convert", workloads: &["M100"], case: "swap", engine: Steady, limit: Compiled(0.6) },
    Bar { what: "convert, in steady state: other byte order, shuffled", group: "convert", workloads: &["M100"], case: "shuffled", engine: Steady, limit: Compiled(1.15) },
    Bar { what: "interpreter: other byte order", group: "convert", workloads: &["K01"], case: "swap", engine: Interpreter, limit: Ns(10.0) },
    Bar { what: "interpreter: other byte order", group: "convert", workloads: &["K1"], case: "swap", engine: Interpreter, limit: Compiled(2.0) },
    Bar { what: "interpreter: other byte order", group: "convert", workloads: &["K10", "K100"], case: "swap", engine: Interpreter, limit: Compiled(1.15) },
    Bar { what: "interpreter: other byte order", group: "convert", workloads: &["M100"], case: "swap", engine: Interpreter, limit: Compiled(1.3) },
    Bar { what: "an unexpected field in front", group: "convert", workloads: &["K1", "K10", "K100"], case: "front", engine: Steady, limit: Memcpy(1.1, 0.0) },
    Bar { what: "an unexpected field, and the other byte order", group: "convert", workloads: K, case: "swapfront", engine: Steady, limit: Case("swap", 1.05) },
    Bar { what: "nested records, strings, dynamic arrays", group: "convert", workloads: NESTED, case: "swap", engine: Steady, limit: Compiled(1.25) },
    Bar { what: "other byte order, 32 bits", group: "convert", workloads: ALL, case: "swap32", engine: Steady, limit: Compiled(1.25) },
    Bar { what: "widen", group: "convert", workloads: ALL, case: "widen", engine: Steady, limit: Compiled(1.25) },
    Bar { what: "narrow, with checks", group: "convert", workloads: ALL, case: "narrow", engine: Steady, limit: Compiled(1.25) },
    Bar { what: "records drawn anew in each run, the median", group: "random", workloads: &["median"], case: "", engine: Steady, limit: Compiled(1.25) },
    Bar { what: "records drawn anew in each run, the slowest", group: "random", workloads: &["median"], case: "", engine: Steady, limit: Figure("worst_ratio", 2.0) },
    Bar { what: "a record as JSON, beside serde_json", group: "text", workloads: &["K01", "K1", "M100", "S10", "T"], case: "out", engine: Steady, limit: Figure("ratio", 1.5) },
    Bar { what: "a record from JSON, beside serde_json", group: "text", workloads: &["K01", "K1", "M100", "S10", "T"], case: "in", engine: Steady, limit: Figure("ratio", 2.0) },
    Bar { what: "a record in memory of the program, beside one that is borrowed", group: "receive", workloads: &["K01", "K1", "M100"], case: "swap", engine: Steady, limit: Figure("into_ratio", 1.1) },
    Bar { what: "three fields of a hundred", group: "convert", workloads: &["M100"], case: "project", engine: Steady, limit: Compiled(1.5) },
    Bar { what: "three fields of a hundred, beside all", group: "convert", workloads: &["M100"], case: "project", engine: Steady, limit: Case("swap", 1.0 / 3.0) },
    Bar { what: "a batch of 1,000 small records, each", group: "batch", workloads: &["K01", "K1", "M100"], case: "swap", engine: Steady, limit: Compiled(1.1) },
    Bar { what: "ns from a new format to the first record", group: "generate", workloads: &["K100"], case: "swap", engine: Steady, limit: Figure("first_record_ns", 20_000.0) },
    Bar { what: "ns from a new format to the first record", group: "generate", workloads: &["M100"], case: "swap", engine: Steady, limit: Figure("first_record_ns", 40_000.0) },
    Bar { what: "ns until there is code", group: "generate", workloads: &["K01", "K1", "M100", "T", "S10"], case: "swap", engine: Steady, limit: Figure("code_ready_ns", 500_000.0) },
    Bar { what: "a round trip of 100 B, beside the bare socket", group: "channel", workloads: SOCKETS, case: "rtt 100/1", engine: Steady, limit: Figure("ratio", 1.25) },
    Bar { what: "ns of an event of 100 B, one way", group: "channel", workloads: SOCKETS, case: "rate 100/1", engine: Steady, limit: Figure("p50_ns", 200.0) },
    Bar { what: "events of 100 B one way, beside ZeroMQ", group: "channel", workloads: SOCKETS, case: "rate 100/1", engine: Steady, limit: Figure("zeromq_ratio", 0.5) },
    Bar { what: "events of 1 MB one way, beside the bare socket", group: "channel", workloads: SOCKETS, case: "bandwidth 1000000/1", engine: Steady, limit: Figure("ratio", 1.0 / 0.9) },
    Bar { what: "p99 at nine sinks while a tenth is stopped, beside nine", group: "channel", workloads: SOCKETS, case: "fanout stopped 100/2", engine: Steady, limit: Figure("p99_ratio", 1.1) },
    Bar { what: "p99 at nine sinks while a tenth does not receive, beside nine", group: "channel", workloads: SOCKETS, case: "fanout unread 100/2", engine: Steady, limit: Figure("p99_ratio", 1.1) },
    Bar { what: "ns from source to handler, within one thread", group: "channel", workloads: &["local"], case: "local equal 100/1", engine: Steady, limit: Figure("p50_ns", 150.0) },
    Bar { what: "ns of an event that nobody wants", group: "channel", workloads: &["local"], case: "idle 100/1", engine: Steady, limit: Figure("p50_ns", 5.0) },
    Bar { what: "a format resolved at a service, beside a bare HTTP exchange", group: "service", workloads: &["resolve_cold"], case: "0/1", engine: Steady, limit: Figure("ratio", 1.5) },
    Bar { what: "the same, with 100,000 formats stored", group: "service", workloads: &["resolve_cold"], case: "100000/1", engine: Steady, limit: Figure("ratio", 1.5) },
    Bar { what: "ns to resolve a format from the cache on disk", group: "service", workloads: &["resolve_disk"], case: "0/1", engine: Steady, limit: Figure("p50_ns", 50_000.0) },
    Bar { what: "ns to start a service with 100,000 formats", group: "service", workloads: &["start"], case: "100000", engine: Steady, limit: Figure("p50_ns", 1e9) },
    Bar { what: "query: a filter of two conditions", group: "query", workloads: &["M100"], case: "filter", engine: Steady, limit: Ns(5.0) },
    Bar { what: "query: three fields of a hundred", group: "query", workloads: &["M100"], case: "project", engine: Steady, limit: Compiled(1.5) },
    Bar { what: "query: a number of an array", group: "query", workloads: &["mean of 10,000 doubles", "max of 10,000 doubles"], case: "reduce", engine: Steady, limit: Compiled(1.3) },
    Bar { what: "ns of an event that no sink wants, over its filter", group: "query", workloads: &["M100"], case: "suppressed", engine: Steady, limit: Figure("over_ns", 20.0) },
    Bar { what: "a query of a hundred sinks, beside one sink", group: "query", workloads: &["M100"], case: "shared", engine: Steady, limit: Figure("ratio", 1.2) },
    Bar { what: "ns from the text of a query to its code", group: "query", workloads: &["M100"], case: "ready", engine: Steady, limit: Ns(500_000.0) },
];

/// What became of a bar for one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The workload.
    pub workload: String,
    /// What was measured, in the terms of the limit.
    pub figure: f64,
    /// The same with buffers that rotate, where that was measured.
    pub rotating: Option<f64>,
    /// The most that it may be.
    pub limit: f64,
}

impl Outcome {
    /// Whether it was reached.
    pub fn reached(&self) -> bool {
        self.figure <= self.limit
    }
}

impl Bar {
    /// What lines say about it, for each workload that was measured.
    pub fn outcomes(&self, lines: &[Line]) -> Vec<Outcome> {
        let outcome = |&workload: &&str| {
            let line = self.line(lines, workload, self.case)?;
            let ns = line.number("ns");
            let (figure, rotating, limit) = match self.limit {
                Ns(limit) => (ns?, line.number("rotating_ns"), limit),
                Compiled(limit) => (line.number("ratio")?, line.number("rotating_ratio"), limit),
                Memcpy(times, more) => (ns?, None, times * line.number("memcpy_ns")? + more),
                Case(other, limit) => {
                    let other = self.line(lines, workload, other)?;
                    let ratio = |key: &str| Some(line.number(key)? / other.number(key)?);
                    (ratio("ns")?, ratio("rotating_ns"), limit)
                }
                Known(token, limit) => (known(lines, token, 1000.0)? - known(lines, "repeated", 1.0)?, None, limit),
                Figure(key, limit) => (line.number(key)?, None, limit),
            };
            Some(Outcome { workload: workload.into(), figure, rotating, limit })
        };
        self.workloads.iter().filter_map(outcome).collect()
    }
}

impl Bar {
    /// The line that is judged.
    fn line<'a>(&self, lines: &'a [Line], workload: &str, case: &str) -> Option<&'a Line> {
        let is = |line: &&Line| {
            let words = match self.group {
                "channel" if channel::case(line) != case => return false,
                "service" if service::case(line) != case => return false,
                "service" => vec![("measure", workload), ("peer", "")],
                "channel" => vec![("transport", workload), ("peer", "")],
                "query" => vec![("workload", workload), ("measure", case)],
                _ => vec![("workload", workload), ("case", case), ("peer", ""), ("token", "")],
            };
            line.text("group") == self.group && words.iter().all(|(key, word)| line.text(key) == *word)
        };
        let engines: &[&str] = match self.engine {
            Steady => &["none", "generated", "interpreter", ""],
            Interpreter => &["interpreter"],
        };
        engines.iter().find_map(|engine| lines.iter().filter(is).find(|line| line.text("engine") == *engine))
    }

    /// The limit in words.
    pub fn limit(&self) -> String {
        match self.limit {
            Ns(limit) => format!("{limit} ns"),
            Compiled(limit) => format!("{limit} × compiled"),
            Memcpy(times, 0.0) => format!("{times} × memcpy"),
            Memcpy(times, more) => format!("{times} × memcpy + {more} ns"),
            Case(other, limit) => format!("{limit:.2} × {other}"),
            Known(_, limit) => format!("+{limit} ns"),
            Figure(_, limit) => amount(limit),
        }
    }

    /// A figure in the unit of the limit.
    pub fn figure(&self, figure: f64) -> String {
        match self.limit {
            Ns(_) | Memcpy(..) => format!("{} ns", amount(figure)),
            Compiled(_) | Case(..) => format!("{figure:.2} ×"),
            Known(..) => format!("{figure:+.1} ns"),
            Figure(..) => amount(figure),
        }
    }
}

/// The time of an envelope with so many formats known.
fn known(lines: &[Line], token: &str, formats: f64) -> Option<f64> {
    let is = |line: &&Line| line.text("token") == token && line.number("known") == Some(formats);
    lines.iter().find(is)?.number("envelope_ns")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_that_is_used_in_the_end_is_judged() {
        let line =
            |engine, ns| Line::new("convert", "K1").word("case", "swap").word("engine", engine).figure("ratio", ns);
        let bar =
            BARS.iter().find(|bar| bar.workloads == ["K1"] && bar.case == "swap" && bar.engine == Steady).unwrap();
        let mut lines = vec![line("interpreter", 1.9), line("plain", 0.1)];
        assert_eq!(bar.outcomes(&lines)[0].figure, 1.9);
        lines.push(line("generated", 1.1));
        let outcome = &bar.outcomes(&lines)[0];
        assert!(outcome.figure == 1.1 && outcome.reached());
        assert!(bar.outcomes(&[]).is_empty());
    }

    #[test]
    fn a_limit_may_depend_on_a_copy_or_on_another_case() {
        let line = |case, ns| {
            let line = Line::new("convert", "M100").word("case", case).word("engine", "generated");
            line.figure("ns", ns).figure("memcpy_ns", 10.0)
        };
        let lines = [line("swap", 30.0), line("project", 12.0)];
        let bar = BARS.iter().find(|bar| matches!(bar.limit, Case("swap", _)) && bar.case == "project").unwrap();
        assert!(!bar.outcomes(&lines)[0].reached());
        let sent = [Line::new("send", "M100").figure("ns", 32.5).figure("memcpy_ns", 10.0)];
        let bar = BARS.iter().find(|bar| matches!(bar.limit, Memcpy(..)) && bar.group == "send").unwrap();
        assert_eq!(bar.outcomes(&sent)[0].limit, 33.0);
        assert!(bar.outcomes(&sent)[0].reached());
    }

    #[test]
    fn a_channel_is_judged_where_both_processes_share_a_core() {
        let line = |cores, ratio| {
            let line = Line::of("channel").word("measure", "rtt").word("transport", "unix");
            line.count("bytes", 100).count("cores", cores).figure("ratio", ratio)
        };
        let bar = BARS.iter().find(|bar| bar.case == "rtt 100/1").unwrap();
        let outcomes = bar.outcomes(&[line(2, 1.5), line(1, 1.2)]);
        assert!(outcomes.len() == 1 && outcomes[0].reached() && outcomes[0].workload == "unix");
    }
}
