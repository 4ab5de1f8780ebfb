//! `explain`.

use super::*;
use serde_json::Value;

const OLD: &str = "\
record Sample
  step   int
  rho    float
  label  string
";

const NEW: &str = "\
record Sample
  step   long
  rho    double
  extra  int
";

/// Explains the way from one shape on a big-endian machine to another on a little-endian one.
fn explain(wire: &str, native: &str, more: &[&str]) -> Run {
    let files = Files::new();
    let wire = files.write("wire.shape", wire) + "@powerpc";
    let native = files.write("native.shape", native) + "@x86_64";
    isoform(&[&["explain", &wire, &native], more].concat())
}

#[test]
fn what_is_done_for_each_field() {
    let expected = "\
wire    Sample  big-endian, 32-bit pointers, 12 bytes
native  Sample  little-endian, 64-bit pointers, 24 bytes

field  sent as  received as  conversion     cost
step   i32      i64          widen          convert 8 B
rho    f32      f64          widen float    convert 8 B
extra  -        i32          missing: zero  fill 4 B
label  string   -            ignored        none

possible losses and errors
  label  dropped

full: each side can read the other's records
";
    assert_eq!(explain(OLD, NEW, &["--missing", "zero"]).good(), expected);
    let refused = explain(OLD, NEW, &[]);
    let words = refused.output.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("missing field at extra: expected a default, or in the receiving program the option missing = zero, for extra (i32)")
    );
    assert_eq!(refused.status, 1);
    let back = explain(NEW, OLD, &["--missing", "zero"]).good();
    assert!(
        back.contains("\n  rho    digits are rounded; numbers out of range: refused\n  extra  dropped\n"),
        "{back}"
    );
    assert!(
        explain("record R\n x double", "record R\n x int", &["--faults", "wrap"])
            .good()
            .contains("out of range: wrapped")
    );
    let plan = explain(OLD, NEW, &["--plan", "--missing", "zero"]).good();
    assert!(plan.contains("\nplan Sample (big-endian, 32-bit pointers) -> Sample (little-endian"), "{plan}");
}

/// Which code it is depends on the machine; that of the direct emitter is kept in tests/engines/listings.
#[test]
fn the_machine_code_of_a_plan() {
    let shape = "record S\n  step int\n  x double\n";
    let text = explain(shape, &shape.replace("double", "float"), &["--code"]).good();
    let generator = ["x86_64", "aarch64", "riscv64", "s390x"].contains(&std::env::consts::ARCH);
    if !generator || cfg!(not(feature = "generate")) {
        return assert!(text.contains("\nno machine code: long arrays "), "{text}");
    }
    let (before, code) = text.split_once("\ncode by the ").unwrap_or_else(|| panic!("{text}"));
    assert!(before.contains("\nplan S ("), "the plan stands above: {text}");
    assert!(code.contains(" generator: ") && code.contains(" bytes of instructions"), "{text}");
    let files = Files::new();
    let file = files.write("s.shape", shape);
    let same = isoform(&["explain", &file, &file, "--code"]).good();
    assert!(same.contains("\nno machine code: nothing is converted\n"), "{same}");
    let lines = explain(shape, &shape.replace("double", "float"), &["--json", "--code"]).good();
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert!(last["code"].as_str().is_some_and(|code| code.starts_with("code by the ")), "{last}");
    assert!(last["plan"].is_string());
}

/// The nanoseconds themselves depend on the machine.
#[test]
fn what_each_step_costs() {
    let wire = "record S\n  step int\n  name string\n  n int\n  rho float[n]\n  id char[8]\n  new int\n";
    let native = "record S\n  step long\n  name string\n  n int\n  rho double[n]\n  id char[8]\n";
    let text = explain(wire, native, &["--time"]).good();
    let (_, text) = text.split_once("\ncost, measured on this ").unwrap();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("a made record, with 16 elements in each text and varying array bytes ns step"), "{words}");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = |what: &str| rows.iter().find(|row| row.len() > 2 && row[2..].join(" ").starts_with(what)).unwrap();
    // 32 bytes of the record, a text of 17, 16 floats at a multiple of 8; 40 bytes, and 16 doubles.
    assert_eq!(row("verification")[0], (32 + 24 + 64).to_string());
    assert_eq!(row("all steps, interpreted")[0], (40 + 24 + 128).to_string());
    assert_eq!(row("string")[0], (8 + 17).to_string());
    assert_eq!(row("array")[0], (8 + 128).to_string());
    let mut costs =
        rows.iter().skip_while(|row| **row != ["bytes", "ns", "step"]).skip(1).take_while(|row| !row.is_empty());
    assert!(costs.all(|row| row[0].parse::<usize>().is_ok() && row[1].parse::<f64>().is_ok()));
    let json = explain(wire, native, &["--time", "--json"]).good();
    let last: Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert!(last["times"]["interpreted"].as_f64().unwrap() >= 0.0, "a difference of times, which is never below 0");
    assert!(last["times"]["steps"].as_array().unwrap().len() > 3);
    assert!(last["measured"].as_str().unwrap().contains(std::env::consts::ARCH));
    // Nothing is converted.
    let files = Files::new();
    let same = files.write("same.shape", wire);
    assert!(isoform(&["explain", &same, &same, "--time"]).good().contains("  none: used where it arrives\n"));
    assert!(!explain(OLD, NEW, &["--time"]).output.contains("measured"), "a pair that is refused has no cost");
    // A receiver that has room for less, and lacks a symbol.
    let tight = "record S\n  rho float[4]\n  kind enumeration{b}\n";
    let wide = "record S\n  n int\n  rho float[n]\n  kind enumeration{a,b}\n";
    assert!(explain(wide, tight, &["--time"]).good().contains("with 4 elements"));
}

#[test]
fn every_obstacle_is_shown_with_the_table() {
    let wire = "record A\n  a string\n  b int[2]\n  c int\n  n int\n  d float[n]\n";
    let native = "record A\n  a int\n  b int\n  c long\n  n long\n  d float[n]\n  e int\n";
    let run = explain(wire, native, &[]);
    assert_eq!(run.status, 1);
    let words = run.output.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["obstacles", " at a: ", " at b: ", " at e: ", "b i32[2] i32 refused", "c i32 i64 widen", "n i32 i64 length"]
    {
        assert!(words.contains(part), "{part} in {words}");
    }
    let json = explain(wire, native, &["--json"]).output;
    let last: Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!(last["obstacles"].as_array().unwrap().len(), 3);
}

#[test]
fn rules_as_a_receiver_would_declare_them() {
    let with = |rules: &[&str]| {
        explain("record R\n  lat float\n", "record P\n  lat double\nrecord R\n  at P\n  z int\n", rules)
    };
    assert_eq!(with(&["--alias", "at=."]).status, 1, "z is missing");
    let text = with(&["--alias", "R.at=.", "--default", "z=7"]).good();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("at.lat f32 f64 widen float") && words.contains("z - i32 default"), "{text}");
    assert!(with(&["--alias", "at=.", "--default-zero", "z"]).good().contains("missing: zero"));
    assert_eq!(with(&["--alias", "at=.", "--default-zero", "z", "--required", "z"]).status, 1);
    assert!(with(&["--alias", "at=a..b"]).errors.contains("names of fields, with dots between them"));
}

#[test]
fn verdicts_and_exit_statuses() {
    let verdict = |run: Run| {
        run.output
            .lines()
            .rfind(|line| !line.starts_with(' '))
            .unwrap_or("")
            .split(':')
            .next()
            .unwrap_or("")
            .to_string()
    };
    let files = Files::new();
    let here = |name: &str, text: &str| files.write(name, format!("record R\n{text}"));
    let (a, more) = (here("a", "  x int\n  y int\n"), here("more", "  x int\n  y int\n  z int\n"));
    let pointer = here("pointer", "  x long\n  y int\n  p int*\n");
    let (unit, other) =
        (here("unit", "  x int\n  y int unit=\"m\"\n"), here("other", "  x int\n  y int unit=\"feet\"\n"));
    let (three, five) = (here("three", "  x int[3]\n"), here("five", "  x int[5]\n"));
    for (wire, native, expected, status) in [
        (&a, &a, "identical", 0),
        (&more, &a, "no copy needed", 0),
        (&a, &more, "forward", 1),
        (&a, &pointer, "full", 0),
        (&three, &five, "incompatible", 1),
        (&five, &three, "incompatible", 1),
        (&unit, &other, "incompatible", 1),
    ] {
        let run = isoform(&["explain", wire, native]);
        assert_eq!((run.status, &*run.errors), (status, ""), "{}", run.output);
        assert_eq!(verdict(run), expected);
    }
    let reason = isoform(&["explain", &five, &three]).output;
    assert!(reason.lines().all(|line| line.chars().count() <= 80), "{reason}");
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(reason.contains("neither side can read the other's records") && reason.contains(" at x: "), "{reason}");
}

#[test]
fn formats_that_have_nothing_in_common() {
    let run = explain("record A\n  x int\n", "record A\n  y int\n", &[]);
    assert_eq!(run.status, 1);
    assert!(run.output.contains("expected a record with a field in common"), "{}", run.output);
    let words = run.output.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("in common with y, found A with x"), "it names the fields: {words}");
}

#[test]
fn what_only_a_record_can_tell_is_told() {
    let wire = "record V\n  x int\nrecord A\n  n int\n  m int\n  grid float[n][m]\n  title string\n  best V*\n";
    let native = "record V\n  x int\nrecord A\n  grid float[2][4]\n  title char[4]\n  best V\n";
    let text = explain(wire, native, &[]).good();
    for risk in [
        "more than 2 elements: refused; other than 4 elements in dimension 1: refused",
        "more than 3 bytes: refused",
        "null: refused",
    ] {
        assert!(text.contains(risk), "{risk} in {text}");
    }
}

#[test]
fn explained_as_json() {
    let lines = explain(NEW, OLD, &["--json", "--plan", "--missing", "zero"]).good();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (verdict, fields) = lines.split_last().unwrap();
    assert_eq!(fields.len(), 4);
    assert_eq!(
        (&fields[0]["field"], &fields[0]["wire"], &fields[0]["native"]),
        (&"step".into(), &"i32".into(), &"i32".into())
    );
    assert!(fields.iter().any(|field| field["field"] == "rho" && field["loss"].is_string()));
    assert_eq!((&verdict["verdict"], &verdict["readable"]), (&"full".into(), &true.into()));
    assert_eq!(verdict["matched"], 2);
    assert!(verdict["plan"].as_str().unwrap().starts_with("plan Sample"));
}

#[test]
fn the_format_that_is_meant() {
    let files = Files::new();
    let stream = files.write("a.iso", stream());
    let shapes = files.write("a.shape", SHAPES);
    let several = files.write("b.shape", "record A\n x int\nrecord B\n x int\n");
    let explain = |wire: &str, native: &str| isoform(&["explain", "--missing", "zero", wire, native]);
    assert!(explain(&stream, &shapes).output.starts_with("wire    Track"), "the name that is in both");
    assert!(isoform(&["explain", &format!("{stream}#Gauge"), &shapes]).output.starts_with("wire    Gauge"));
    let errors = isoform(&["explain", &stream, &several]).bad(2);
    assert!(errors.contains("a.iso has several formats: Gauge (4db8acb3), Track ("), "{errors}");
    assert!(errors.contains("hint: choose one by name or token, as in "), "{errors}");
    let errors = isoform(&["explain", &shapes, &several]).bad(2);
    assert!(errors.contains("b.shape has several formats"), "{errors}");
    let errors = isoform(&["explain", &format!("{stream}#Trek"), &shapes]).bad(1);
    assert!(errors.contains("it has Gauge, Track"), "{errors}");
    assert!(isoform(&["explain", "-", "-"]).bad(2).contains("both sources are standard input"));
    let run = isoform_reading(&["explain", "--missing", "zero", "-", &shapes], &super::stream());
    assert!(run.good().contains("points[].x"));
}
