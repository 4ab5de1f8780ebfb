//! The benchmark runs through: every engine's result is compared with the record that must arrive, then everything is
//! timed for a moment. Nothing here depends on how long anything takes.

use isoform_bench::{Line, Options, compiled, page, run};

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
        // Not every processor has two generators.
        found.map(|line| line.text("engine")).filter(|&engine| engine != "portable").collect::<Vec<_>>()
    };
    let has_generator = ["x86_64", "aarch64", "riscv64", "s390x"].contains(&std::env::consts::ARCH);
    let converting: &[&str] =
        if has_generator { &["interpreter", "generated", "plain"] } else { &["interpreter", "plain"] };
    for workload in ["K1", "S10"] {
        assert_eq!(engines(workload, "same"), ["none", "interpreter", "plain"]);
        assert_eq!(engines(workload, "appended"), ["none", "interpreter", "plain"]);
        for case in [
            "front",
            "middle",
            "swap",
            "swapfront",
            "swapappended",
            "swap32",
            "layout32",
            "widen",
            "narrow",
            "shuffled",
        ] {
            assert_eq!(engines(workload, case), converting, "{workload} {case}");
        }
        assert!(engines(workload, "project").is_empty());
    }
    let mut figures = vec!["ns", "memcpy_ns", "rotating_ns", "min_ns", "p90_ns"];
    if compiled::version().is_some() {
        figures.extend(["compiled_ns", "ratio"]);
    }
    for line in &lines {
        for figure in &figures {
            assert!(line.number(figure).is_some_and(|figure| figure > 0.0), "{figure} of {}", line.json());
        }
    }
}

#[test]
fn two_workloads_are_sent_and_received() {
    let lines = lines(&["send", "receive", "--quick", "--alone", "K1", "S10"]);
    let of = |group, workload, case| {
        let is = |line: &&Line| {
            [("group", group), ("workload", workload), ("case", case)].iter().all(|(k, v)| line.text(k) == *v)
        };
        lines.iter().find(is).unwrap()
    };
    assert_eq!(of("send", "K1", "").number("overhead_bytes"), Some(32.0));
    assert_eq!(of("send", "S10", "").number("overhead_bytes"), Some(32.0));
    // What agrees is used where it was received; what does not is as long as the receiver's record.
    for (workload, case, copied) in [
        ("K1", "same", 0.0),
        ("K1", "appended", 0.0),
        ("K1", "swap", 1008.0),
        ("S10", "same", 0.0),
        ("S10", "swap32", 208.0),
    ] {
        let line = of("receive", workload, case);
        assert_eq!(line.number("copied_bytes"), Some(copied), "{}", line.json());
        assert_eq!(line.text("engine"), if copied == 0.0 { "none" } else { "interpreter" });
    }
    assert!(lines.iter().all(|line| line.number("ns").is_some_and(|ns| ns > 0.0)));
}

#[test]
fn a_line_of_json_begins_with_what_it_is_about() {
    for (words, start) in [
        (
            &["convert", "--quick", "--json", "M100", "project"][..],
            r#"{"group":"convert","workload":"M100","case":"project","engine":"interpreter","ns":"#,
        ),
        (&["send", "--quick", "--alone", "--json", "K01"], r#"{"group":"send","workload":"K01","ns":"#),
        (
            &["receive", "--quick", "--alone", "--json", "K01", "same"],
            r#"{"group":"receive","workload":"K01","case":"same","ns":"#,
        ),
    ] {
        let json = lines(words)[0].json();
        assert!(json.starts_with(start), "{json}");
    }
}

#[test]
fn an_unexpected_field_is_measured_in_both_steps() {
    let lines = lines(&["evolve", "--quick", "K1", "M100"]);
    for step in ["convert", "receive"] {
        let of = lines.iter().filter(|line| line.text("step") == step && line.text("workload") == "K1");
        let mut cases: Vec<_> = of.map(|line| line.text("case")).collect();
        cases.dedup();
        assert_eq!(cases, ["same", "appended", "front", "middle", "swap", "swapfront", "swapappended"]);
    }
    assert!(lines.iter().all(|line| line.text("group") == "evolve" && line.text("workload") != "M100"));
}

#[test]
fn words_without_a_meaning_are_refused() {
    let error = Options::parse(["convert".to_string(), "K2".to_string()]).unwrap_err();
    assert!(error.to_string().starts_with("there is no group, workload, case or option \"K2\""));
}

#[test]
fn a_new_format_is_met_in_every_case_where_something_is_converted() {
    let lines = lines(&["generate", "--quick", "K1", "M100"]);
    assert!(
        lines.iter().any(|line| line.text("case") == "project") && lines.iter().all(|line| line.text("case") != "same")
    );
    for line in &lines {
        assert_eq!(line.number("first_record_ns").is_none(), line.text("engine") == "portable", "{}", line.json());
        assert!(line.number("first_record_ns").is_none_or(|figure| figure > 0.0), "{}", line.json());
        assert_eq!(line.number("code_ready_ns").is_some(), line.number("code_bytes").is_some(), "{}", line.json());
        assert!(line.number("interpreter_ns").is_some_and(|ns| ns > 0.0), "{}", line.json());
        // Code has paid after some records if, and only if, it saves something with each.
        let gain = line.number("gain_ns");
        assert_eq!(gain.is_some(), line.number("code_ready_ns").is_some(), "{}", line.json());
        assert_eq!(line.number("paid_after").is_some(), gain.is_some_and(|gain| gain > 0.0), "{}", line.json());
    }
}

#[test]
fn records_are_drawn_and_the_seed_is_printed() {
    let lines = lines(&["random", "--quick", "--seed", "7"]);
    if compiled::version().is_none() {
        return assert_eq!(lines[0].text("group"), "skipped");
    }
    let (last, records) = lines.split_last().unwrap();
    assert_eq!((records.len(), last.text("workload")), (20, "median"));
    for line in records {
        assert_eq!(line.number("seed"), Some(7.0));
        assert!(line.number("ratio").is_some_and(|ratio| ratio > 0.0), "{}", line.json());
        // What is slow is explained.
        let slow = line.number("ratio") > Some(2.0);
        assert_eq!(slow, line.number("again_ratio").is_some(), "{}", line.json());
        assert_eq!(slow, line.text("plan").contains("->"), "{}", line.json());
    }
    assert!(last.number("worst_ratio") >= last.number("ratio"));
    let error = Options::parse(["--seed".to_string(), "x".to_string()]).unwrap_err();
    assert_eq!(error.to_string(), "--seed needs a number");
}

#[test]
fn records_become_json_and_come_back() {
    let lines = lines(&["text", "--quick", "M100", "S10", "T"]);
    let cases: Vec<_> = lines.iter().map(|line| (line.text("workload"), line.text("case"))).collect();
    assert_eq!(cases, [("M100", "out"), ("M100", "in"), ("S10", "out"), ("S10", "in"), ("T", "out"), ("T", "in")]);
    assert!(lines.iter().all(|line| line.number("ratio").is_some_and(|ratio| ratio > 0.0)));
}

#[test]
fn batches_become_records_and_columns() {
    let lines = lines(&["batch", "--quick", "K01", "M100"]);
    let of = |case| lines.iter().filter(move |line| line.text("case") == case);
    assert!(of("swap").any(|line| line.text("workload") == "K01" && line.text("engine") == "interpreter"));
    assert_eq!(of("project").map(|line| line.text("engine")).collect::<Vec<_>>(), ["columns"]);
    assert!(lines.iter().all(|line| line.number("ns").is_some_and(|ns| ns > 0.0)));
}

#[cfg(unix)]
#[test]
fn events_are_recorded_sought_and_emitted() {
    let lines = lines(&["files", "--quick", "--stream", "1000000"]);
    let measures: Vec<_> = lines.iter().map(|line| (line.text("measure"), line.text("compression"))).collect();
    for wanted in [
        ("record", "none"),
        ("record", "zstd"),
        ("read", "lz4"),
        ("seal", "none"),
        ("seal", "stream"),
        ("unseal", "stream"),
        ("seek", "stream"),
        ("emit_idle", "none"),
        ("emit", "none"),
    ] {
        assert!(measures.contains(&wanted), "{wanted:?} of {measures:?}");
    }
    let measured = |line: &Line| line.number("p50_ns").is_some_and(|ns| ns > 0.0);
    assert!(lines.iter().filter(|line| line.text("group") == "files").all(measured));
    // Where the command has been built, what it does with a recording is measured too.
    let is_there = std::path::Path::new(env!("CARGO_BIN_EXE_isoform-bench")).with_file_name("isoform").exists();
    for wanted in [("replay", "none"), ("export", "zstd")] {
        assert_eq!(measures.contains(&wanted), is_there, "{wanted:?} of {measures:?}");
    }
}

#[test]
fn formats_come_from_documents() {
    let lines =
        std::thread::Builder::new().stack_size(64 << 20).spawn(|| lines(&["xmit", "--quick"])).unwrap().join().unwrap();
    let formats: Vec<&str> = lines.iter().map(|line| line.text("format")).filter(|name| !name.is_empty()).collect();
    assert_eq!(formats, ["ASDOffEvent", "JoinRequest", "SimpleData", "Flat152", "Nested180", "KSdata1"]);
    for line in lines.iter().filter(|line| !line.text("format").is_empty()) {
        for figure in [
            "native_ns",
            "xmit_ns",
            "rdm",
            "parsed_ns",
            "file_ns",
            "http_ns",
            "encode_ratio",
            "decode_ratio",
            "xml_ratio",
        ] {
            assert!(line.number(figure).is_some_and(|figure| figure > 0.0), "{figure} of {}", line.json());
        }
        assert!(line.json().starts_with(r#"{"group":"xmit","format":""#), "{}", line.json());
        let bytes = |measure| line.number(measure).expect(measure);
        assert!(bytes("xml_bytes") > bytes("struct_bytes"), "{}", line.json());
    }
    let bytes =
        |name: &str| lines.iter().find(|line| line.text("format") == name).and_then(|line| line.number("struct_bytes"));
    assert_eq!((bytes("Flat152"), bytes("Nested180")), (Some(152.0), Some(180.0)));
    assert_eq!(lines.iter().filter(|line| line.number("types").is_some()).count(), 3);
}

#[test]
fn queries_are_judged_by_both_engines_beside_compiled_c() {
    let lines = lines(&["query", "--quick"]);
    let of = |measure: &'static str| lines.iter().filter(move |line| line.text("measure") == measure);
    let engines = |measure| of(measure).map(|line| line.text("engine")).collect::<Vec<_>>();
    let both = ["generated", "interpreter"];
    let has_generator = ["x86_64", "aarch64", "riscv64", "s390x"].contains(&std::env::consts::ARCH);
    let expected: &[&str] = if has_generator { &both } else { &both[1..] };
    for measure in ["filter", "project", "ready"] {
        assert_eq!(engines(measure), expected, "{measure}");
    }
    assert_eq!(of("reduce").count(), 2 * expected.len());
    assert_eq!(of("viewer").count(), if cfg!(unix) { 2 } else { 0 });
    assert!(of("viewer").all(|line| line.number("bytes") < line.number("whole_bytes")));
    for (measure, figure) in [("suppressed", "over_ns"), ("shared", "one_ns")] {
        assert_eq!(of(measure).filter(|line| line.number(figure).is_some()).count(), usize::from(cfg!(unix)));
    }
    assert!(lines.iter().all(|line| line.number("ns").is_some_and(|ns| ns > 0.0)));
    assert!(page::of(&lines).contains("two conditions"));
}
