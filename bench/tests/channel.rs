//! Events cross between two processes, and each that is sent is received. Nothing here depends on how long anything takes.
#![cfg(unix)]

use isoform_bench::{Group, Line, Options, Result, run};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a quick run of the group gives, of this program as both processes.
fn lines(program: &str, words: &[&str]) -> Result<Vec<Line>> {
    let mut options = Options::parse(["--quick"].iter().chain(words).map(|word| word.to_string()))?;
    assert!(matches!(options.groups[..], [Group::Channel | Group::Load]));
    options.program = program.into();
    let mut lines = Vec::new();
    run(&options, |line| {
        lines.push(line);
        Ok(())
    })?;
    Ok(lines)
}

/// The same without the lines that name peers that are not installed.
fn measured(words: &[&str]) -> Vec<Line> {
    let mut lines = lines(PROGRAM, words).unwrap();
    lines.retain(|line| line.text("group") != "skipped");
    lines
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_isoform-bench");

/// Descriptors of this process are counted, so the tests that open some take turns.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn every_way_gets_every_event_across() {
    let _turn = turn();
    // Unoptimised, each move of the largest event takes its megabyte of stack.
    let all = std::thread::Builder::new().stack_size(64 << 20).spawn(all_ways).unwrap();
    all.join().unwrap();
}

fn all_ways() {
    let lines = lines(PROGRAM, &["rtt", "rate", "bandwidth"]).unwrap();
    let skipped = |peer| lines.iter().any(|line| line.text("group") == "skipped" && line.text("peer") == peer);
    let several = std::thread::available_parallelism().unwrap().get() > 1;
    for (cores, there) in [(1.0, !skipped("two processes on one core")), (2.0, several)] {
        let sizes = [100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0];
        let sized = |measure| sizes.map(|bytes| (measure, bytes)).to_vec();
        for (measure, bytes) in [sized("rtt"), vec![("rate", 100.0)], sized("bandwidth")].concat() {
            for transport in ["tcp", "unix"] {
                let is = |line: &&Line| {
                    (line.text("measure"), line.text("transport"), line.text("peer")) == (measure, transport, "")
                        && (line.number("bytes"), line.number("cores")) == (Some(bytes), Some(cores))
                };
                let found: Vec<_> = lines.iter().filter(is).collect();
                assert_eq!(found.len(), usize::from(there), "{measure} {bytes} {transport} {cores}");
                let mut figures = vec!["p50_ns", "p99_ns", "per_s", "raw_p50_ns", "raw_p99_ns", "raw_per_s", "ratio"];
                if measure == "rate" && !skipped("ZeroMQ") {
                    figures.extend(["zeromq_per_s", "zeromq_ratio"]);
                }
                found.iter().for_each(|line| has(line, &figures));
            }
        }
        if there {
            other_ways(&lines, cores);
        }
    }
}

/// Those that are installed take part in every size by TCP; those that are not are named.
fn other_ways(lines: &[Line], cores: f64) {
    for peer in ["MPICH", "CORBA events (omniORB)", "XML (Expat)"] {
        let skipped = lines.iter().any(|line| line.text("peer") == format!("{peer}, of the group channel"));
        let one = |line: &&Line| line.text("peer") == peer && line.number("cores") == Some(cores);
        let found: Vec<_> = lines.iter().filter(one).collect();
        // MPI waits in a loop that takes all the time of a core.
        let able = !skipped && (cores > 1.0 || peer != "MPICH");
        assert_eq!(found.len(), if able { 10 } else { 0 }, "{peer} {cores}");
        found.iter().for_each(|line| has(line, &["p50_ns", "p99_ns", "per_s", "ratio", "isoform_ratio"]));
    }
}

fn has(line: &Line, figures: &[&str]) {
    for figure in figures {
        assert!(line.number(figure).is_some_and(|figure| figure > 0.0), "{figure} of {}", line.json());
    }
}

#[test]
fn nine_sinks_receive_whatever_the_tenth_does() {
    let _turn = turn();
    let lines = measured(&["fanout"]);
    let cases: Vec<_> = lines.iter().map(|line| (line.text("transport"), line.text("case"))).collect();
    let tenth = ["nine", "ten", "stopped", "unread"];
    assert_eq!(cases, [tenth.map(|case| ("tcp", case)), tenth.map(|case| ("unix", case))].concat());
    lines.iter().for_each(|line| has(line, &["p50_ns", "p99_ns", "p99_ratio"]));
}

#[test]
fn events_are_handled_within_a_thread() {
    let _turn = turn();
    let lines = measured(&["local", "idle"]);
    let cases: Vec<_> = lines.iter().map(|line| (line.text("measure"), line.text("case"))).collect();
    assert_eq!(cases, [("local", "equal"), ("local", "different"), ("idle", "")]);
    lines.iter().for_each(|line| has(line, &["p50_ns", "p99_ns", "per_s"]));
    lines[..2].iter().for_each(|line| has(line, &["raw_p50_ns", "ratio"]));
}

#[test]
fn nobody_waits_for_a_process_that_has_ended() {
    let _turn = turn();
    for (program, measure) in [("true", "rtt"), ("/nowhere", "rtt"), ("true", "fanout")] {
        assert!(lines(program, &[measure]).is_err(), "{program} {measure}");
    }
}

#[test]
fn a_crowd_and_many_channels_and_visitors_are_counted() {
    let _turn = turn();
    let lines = measured(&["load"]);
    let all = |measure| lines.iter().filter(move |line: &&Line| line.text("measure") == measure).collect::<Vec<_>>();
    let [fanout, channels, connects] = ["fanout", "channels", "connects"].map(all);
    let numbers = |lines: &[&Line], name| lines.iter().map(|line| line.number(name)).collect::<Vec<_>>();
    assert_eq!(numbers(&fanout, "sinks"), [Some(2.0), Some(4.0)]);
    fanout.iter().for_each(|line| has(line, &["cpu_ns_per_event_sink", "raw_cpu_ns_per_event_sink"]));
    assert_eq!(numbers(&channels, "channels"), [Some(2.0), Some(20.0)]);
    channels.iter().for_each(|line| has(line, &["rtt_ns", "each_rtt_ns", "raw_rtt_ns", "descriptors"]));
    assert_eq!(numbers(&connects, "descriptors_more"), [Some(0.0)]);
}
