//! The demonstration: it runs, ends by itself, and what it says is so.

use super::*;

#[test]
fn a_reader_watches_a_simulation_on_another_machine() {
    let output = isoform(&["demo", "--seconds", "0.6"]).good();
    for line in ["temperature", "verdict: full", "of river", "are right, 0 wrong"] {
        assert!(output.contains(line), "{line} in {output}");
    }
    assert!(output.lines().all(|line| line.chars().count() <= 80), "{output}");
}

#[test]
fn the_simulation_may_be_another_program() {
    let output = isoform(&["demo", "--seconds", "0.3", "--", env!("CARGO_BIN_EXE_isoform")]).good();
    assert!(output.contains("a program of another machine, run by isoform"), "{output}");
    assert!(output.contains("are right, 0 wrong"), "{output}");
    let error = isoform(&["demo", "--", "no-such-emulator"]).bad(1);
    assert!(error.contains("no-such-emulator: "), "{error}");
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
