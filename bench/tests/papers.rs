//! A short run has lines for every figure and table of the papers that is no drawing, and the page shows them where the list
//! says. Nothing here depends on how long anything takes.
#![cfg(unix)]

use isoform_bench::page::papers::{Answer, ITEMS};
use isoform_bench::{Line, Options, page, run};

const GROUPS: &[&str] =
    &["send", "receive", "convert", "generate", "roundtrip", "evolve", "channel", "rtt", "bandwidth", "xmit"];
const RECORDS: &[&str] = &["K01", "A1", "S10"];
const CASES: &[&str] = &["same", "front", "middle", "appended", "swap", "swapfront", "swapappended"];

fn lines(words: &[&[&str]]) -> Vec<Line> {
    let words = ["--quick", "--alone"].iter().chain(words.iter().copied().flatten()).map(|word| word.to_string());
    let mut options = Options::parse(words).unwrap();
    options.program = env!("CARGO_BIN_EXE_isoform-bench").into();
    let mut lines = Vec::new();
    run(&options, |line| {
        lines.push(line);
        Ok(())
    })
    .unwrap();
    lines
}

/// Unoptimised, each move of the largest record and event takes a stack of its size.
fn with_room<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(64 << 20).spawn(run).unwrap().join().unwrap()
}

#[test]
fn every_row_that_the_list_names_is_in_a_run() {
    let mut lines = with_room(|| [lines(&[GROUPS, RECORDS, CASES]), lines(&[&["send"], &["K100"]])].concat());
    lines.insert(0, Line::about("a machine"));
    let generates = ["x86_64", "aarch64", "riscv64", "s390x"].contains(&std::env::consts::ARCH);
    let page = page::of(&lines);
    for item in ITEMS {
        let Answer::Rows(place, rows) = &item.answer else { continue };
        assert!(page.contains(&format!("id=\"{place}\"")), "{} {} has no place on the page", item.paper, item.number);
        for row in *rows {
            let generated = row.words.contains(&("engine", "generated")) || row.figures.contains(&"gain_ns");
            let found = lines.iter().any(|line| row.has(line));
            assert!(found || generated && !generates, "{} {}: {:?}", item.paper, item.number, row);
        }
        assert!(page.contains(item.shows));
    }
    assert!(!page.contains("not in this run") || !generates);
}

#[test]
fn a_round_trip_is_the_sum_of_its_parts() {
    let lines = with_room(|| lines(&[&["roundtrip"], &["K01", "M100", "S10"]]));
    assert!(lines.iter().all(|line| line.text("group") == "roundtrip" && line.text("workload") != "S10"));
    for workload in ["K01", "M100"] {
        assert!(lines.iter().any(|line| line.text("workload") == workload && line.text("engine") == "interpreter"));
    }
    for line in &lines {
        let number = |key: &str| line.number(key).unwrap_or_else(|| panic!("{key} of {}", line.json()));
        let parts =
            ["encode", "transfer", "decode"].map(|part| [format!("{part}_there_ns"), format!("{part}_back_ns")]);
        let parts: Vec<f64> = parts.iter().flatten().map(|key| number(key)).collect();
        assert!(parts.iter().all(|part| *part > 0.0), "{}", line.json());
        assert!((number("total_ns") - parts.iter().sum::<f64>()).abs() < 0.1, "{}", line.json());
        assert!((number("software_ns") + number("transfer_ns") - number("total_ns")).abs() < 0.1, "{}", line.json());
        assert!(number("bytes_there") >= 132.0 && number("bytes_back") >= 132.0);
    }
}
