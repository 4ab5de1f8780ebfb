//! The benchmark runs through: every engine's result is compared with the record that must arrive, then everything is
//! timed for a moment. Nothing here depends on how long anything takes.

use isoform_bench::{Line, Options, compiled, run};

fn lines(words: &[&str]) -> Vec<Line> {
    let options = Options::parse(words.iter().map(|word| word.to_string())).unwrap();
    let mut lines = Vec::new();
    run(&options, |line| {
        lines.push(line);
        Ok(())
    })
    .unwrap();
    lines
}

#[test]
fn two_workloads_are_converted_in_every_case() {
    let lines = lines(&["convert", "--quick", "K1", "S10"]);
    let engines = |workload, case| {
        let found = lines.iter().filter(|line| line.text("workload") == workload && line.text("case") == case);
        found.map(|line| line.text("engine")).collect::<Vec<_>>()
    };
    for workload in ["K1", "S10"] {
        assert_eq!(engines(workload, "same"), ["none", "interpreter"]);
        assert_eq!(engines(workload, "appended"), ["none", "interpreter"]);
        for case in ["front", "swap", "swap32", "layout32", "widen", "narrow", "shuffled"] {
            assert_eq!(engines(workload, case), ["interpreter"], "{workload} {case}");
        }
        assert!(engines(workload, "project").is_empty());
    }
    let mut figures = vec!["ns", "memcpy_ns", "rotating_ns", "min_ns", "p90_ns"];
    if compiled::available() {
        figures.extend(["compiled_ns", "ratio"]);
    }
    for line in &lines {
        for figure in &figures {
            assert!(line.number(figure).is_some_and(|figure| figure > 0.0), "{figure} of {}", line.json());
        }
    }
}

#[test]
fn a_line_of_json_begins_with_what_it_is_about() {
    let json = lines(&["convert", "--quick", "--json", "M100", "project"])[0].json();
    let start = r#"{"group":"convert","workload":"M100","case":"project","engine":"interpreter","ns":"#;
    assert!(json.starts_with(start), "{json}");
}

#[test]
fn words_without_a_meaning_are_refused() {
    let error = Options::parse(["convert".to_string(), "K2".to_string()]).unwrap_err();
    assert!(error.to_string().starts_with("there is no group, workload, case or option \"K2\""));
}
