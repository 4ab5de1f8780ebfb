//! Formats are registered at a service and found there, and each answer is looked at. Nothing here depends on how long anything
//! takes.
#![cfg(unix)]

use isoform_bench::{Group, Line, Options, page, run};

#[test]
fn every_measure_of_the_service_has_its_figures() {
    let mut options = Options::parse(["--quick", "service"].map(String::from)).unwrap();
    assert_eq!(options.groups, [Group::Service]);
    options.program = env!("CARGO_BIN_EXE_isoform-bench").into();
    let mut lines = Vec::new();
    run(&options, |line| {
        lines.push(line);
        Ok(())
    })
    .unwrap();
    let several = std::thread::available_parallelism().unwrap().get() > 1;
    let of = |measure: &str| {
        let is = |line: &&Line| line.text("measure") == measure && line.text("peer").is_empty();
        lines.iter().filter(is).collect::<Vec<_>>()
    };
    let one_core = !lines.iter().any(|line| line.text("peer") == "client and service on one core");
    let over_http = 2 * usize::from(one_core) + usize::from(several);
    for (measure, count) in
        [("register", over_http), ("resolve_cold", over_http), ("resolve_disk", 1), ("resolve_known", 1)]
    {
        let lines = of(measure);
        assert_eq!(lines.len(), count, "{measure}");
        for line in lines {
            for figure in ["p50_ns", "p99_ns", "raw_p50_ns", "raw_p99_ns", "ratio"] {
                assert!(line.number(figure).is_some_and(|figure| figure > 0.0), "{figure} of {}", line.json());
            }
        }
    }
    assert_eq!(of("start").len(), 2);
    let page = page::of(&[vec![Line::about("a machine")], lines].concat());
    assert!(page.contains("id=\"service\"") && page.contains("resolve_disk") && page.contains("Karapace"));
}
