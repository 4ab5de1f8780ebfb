//! Events cross between two processes, and each that is sent is received. Nothing here depends on how long anything takes.
#![cfg(unix)]

use isoform_bench::{Group, Line, Options, Result, run};

/// What a quick run of the group gives, of this program as both processes.
fn lines(program: &str, words: &[&str]) -> Result<Vec<Line>> {
    let mut options = Options::parse(["--quick"].iter().chain(words).map(|word| word.to_string()))?;
    assert_eq!(options.groups, [Group::Channel]);
    options.program = program.into();
    let mut lines = Vec::new();
    run(&options, |line| {
        lines.push(line);
        Ok(())
    })?;
    Ok(lines)
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_isoform-bench");

#[test]
fn every_way_gets_every_event_across() {
    let lines = lines(PROGRAM, &["rtt", "rate", "bandwidth"]).unwrap();
    let skipped = |peer| lines.iter().any(|line| line.text("group") == "skipped" && line.text("peer") == peer);
    let several = std::thread::available_parallelism().unwrap().get() > 1;
    for (cores, there) in [(1.0, !skipped("two processes on one core")), (2.0, several)] {
        for (measure, bytes) in [("rtt", 100.0), ("rtt", 100_000.0), ("rate", 100.0), ("bandwidth", 1_000_000.0)] {
            for transport in ["tcp", "unix"] {
                let is = |line: &&Line| {
                    (line.text("measure"), line.text("transport")) == (measure, transport)
                        && (line.number("bytes"), line.number("cores")) == (Some(bytes), Some(cores))
                };
                let found: Vec<_> = lines.iter().filter(is).collect();
                assert_eq!(found.len(), usize::from(there), "{measure} {bytes} {transport} {cores}");
                let mut figures = vec!["raw_p50_ns", "raw_p99_ns", "raw_per_s"];
                if measure == "rate" && !skipped("ZeroMQ") {
                    figures.push("zeromq_per_s");
                }
                for (line, figure) in found.iter().flat_map(|line| figures.iter().map(move |figure| (line, figure))) {
                    assert!(line.number(figure).is_some_and(|figure| figure > 0.0), "{figure} of {}", line.json());
                }
            }
        }
    }
}

#[test]
fn nobody_waits_for_a_process_that_has_ended() {
    for program in ["true", "/nowhere"] {
        assert!(lines(program, &["rtt"]).is_err(), "{program}");
    }
}
