//! The demonstration: it runs, ends by itself, and what it says is so.

use super::*;

#[test]
#[cfg(unix)]
fn five_processes_on_one_channel() {
    let output = isoform(&["demo", "--seconds", "0.6"]).good();
    for line in
        ["temperature", "verdict: backward", "of river", "are right, 0 wrong", "4 accounts in all: each adds up"]
    {
        assert!(output.contains(line), "{line} in {output}");
    }
    let monitor =
        output.lines().find(|line| line.starts_with("monitor  lossless")).expect("the monitor has an account");
    let counts: Vec<u64> = monitor.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let is_heard = counts[0] > 10 && counts[1] == counts[0] && counts[2..].iter().all(|count| *count == 0);
    assert!(is_heard, "{monitor}");
    // Its query filters most of the events: submitted, acknowledged, superseded, lost, skipped, in flight.
    let ranger = output.lines().find(|line| line.starts_with("ranger  ")).expect("the ranger has an account");
    let counts: Vec<u64> = ranger.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(counts.len() >= 5 && counts[counts.len() - 2] > 0, "{ranger}\n{output}");
    assert!(output.contains("each sink has counted the same"), "{output}");
    let program = env!("CARGO_BIN_EXE_isoform");
    assert!(output.contains(&format!("\n  {program} demo --publish\n  {program} echo ID\n")), "{output}");
    assert_eq!(output.ends_with(&format!("\n  {program} watch ID\n")), cfg!(feature = "watch"), "{output}");
    assert!(output.lines().all(|line| line.chars().count() <= 80 || line.contains(program)), "{output}");
}

#[test]
#[cfg(unix)]
fn the_simulation_may_be_another_program() {
    let output = isoform(&["demo", "--seconds", "0.3", "--", env!("CARGO_BIN_EXE_isoform")]).good();
    assert!(output.contains("a program of another machine, run by isoform"), "{output}");
    assert!(output.contains("\nthe rate is that of the simulation, run by isoform\n"), "{output}");
    assert!(output.contains("are right, 0 wrong"), "{output}");
    let error = isoform(&["demo", "--", "no-such-emulator"]).bad(1);
    assert!(error.contains("no-such-emulator: "), "{error}");
    let error = isoform(&["demo", "--", "false"]).bad(1);
    assert!(error.contains("the simulation failed: exit status: 1"), "{error}");
}

#[test]
#[cfg(unix)]
fn the_simulation_alone_is_on_a_channel_like_any_other() {
    use std::io::{BufRead, BufReader, Read};
    let mut simulation = command(&["demo", "--publish", "--seconds", "0.2"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(simulation.stdout.take().unwrap());
    let mut id = String::new();
    output.read_line(&mut id).unwrap();
    assert!(isoform(&["format", id.trim_end()]).good().contains("big-endian, 32-bit pointers"));
    let echo = isoform(&["echo", "--json", "--count", "2", id.trim_end()]);
    let first: serde_json::Value = serde_json::from_str(echo.output.lines().next().unwrap()).unwrap();
    assert_eq!((echo.status, &first["gauges"][1]["name"]), (0, &"Old Mill".into()));
    let mut published = String::new();
    output.read_to_string(&mut published).unwrap();
    assert!(published.trim_end().parse::<u64>().unwrap() >= 2, "{published}");
    assert!(simulation.wait().unwrap().success());
}

#[test]
fn the_simulation_alone_is_a_stream_like_any_other() {
    let stream = isoform_bytes(&["demo", "--simulation", "--seconds", "0.2"]);
    let format = isoform_reading(&["format", "-"], &stream).good();
    assert!(format.contains("big-endian, 32-bit pointers"), "{format}");
    let records = isoform_reading(&["dump", "--json", "--count", "2", "-"], &stream).good();
    let first: serde_json::Value = serde_json::from_str(records.lines().next().unwrap()).unwrap();
    assert_eq!(first["gauges"][1]["name"], "Old Mill");
    assert_eq!(first["depth"].as_array().unwrap().len(), 48);
    assert_eq!(records.lines().count(), 2);
}

fn isoform_bytes(arguments: &[&str]) -> Vec<u8> {
    let output = command(arguments).output().unwrap();
    assert!(output.status.success());
    output.stdout
}
