//! The tables of the report.

use super::bars::BARS;
use super::figures::names;
use super::svg::{amount, escaped};
use crate::{Line, Workload};
use std::fmt::Write;

/// What was not measured.
pub(super) fn skipped(page: &mut String, lines: &[Line]) {
    for line in lines.iter().filter(|line| line.text("group") == "skipped") {
        let (peer, install) = (escaped(line.text("peer")), escaped(line.text("install")));
        let _ = writeln!(page, "<p>Skipped: {peer}. <code>{install}</code> brings it here.</p>");
    }
}

/// What is to be reached, and whether it was.
pub(super) fn bars(page: &mut String, lines: &[Line]) {
    let outcomes: Vec<_> = BARS.iter().map(|bar| bar.outcomes(lines)).collect();
    let all = || outcomes.iter().flatten();
    if all().next().is_none() {
        return;
    }
    let reached = all().filter(|outcome| outcome.reached()).count();
    let _ = writeln!(
        page,
        "<h2>To reach</h2>\n<p>{reached} of {} figures.</p>\n<table class=\"bars\"><tr><th>what<th>at most<th style=\"text-align:left\">\
         reached: ✓, or by how much it falls short</tr>",
        all().count()
    );
    for (bar, outcomes) in BARS.iter().zip(&outcomes) {
        let _ = write!(
            page,
            "<tr><td class=\"word\">{}<td>{}<td class=\"word\">",
            escaped(bar.what),
            escaped(&bar.limit())
        );
        for outcome in outcomes {
            let (class, verdict) = match outcome.reached() {
                true => ("yes", "✓".to_string()),
                false if outcome.limit > 0.0 => {
                    ("no", format!("+{:.0} %", (outcome.figure / outcome.limit - 1.0) * 100.0))
                }
                false => ("no", "✗".to_string()),
            };
            let rotating = outcome.rotating.map(|figure| format!(" <span class=\"dim\">{}</span>", bar.figure(figure)));
            let _ = write!(
                page,
                "<span class=\"{class}\">{} {}{} {verdict}</span>",
                escaped(&outcome.workload),
                bar.figure(outcome.figure),
                rotating.unwrap_or_default()
            );
        }
        page.push_str(if outcomes.is_empty() { "<span class=\"dim\">not measured</span></tr>\n" } else { "</tr>\n" });
    }
    page.push_str("</table>\n");
}

/// What generation costs, and after how many records it has paid.
pub(super) fn generation(page: &mut String, lines: &[Line]) {
    let all = || lines.iter().filter(|line| line.text("group") == "generate");
    if all().next().is_none() {
        return;
    }
    page.push_str(
        "<h2 id=\"generation\">A format that has never been seen</h2>\n<p>Paper 000, table 1, and 001, §3.4: from its description to the first \
         record, by the interpreter; how long it takes to generate code, on another thread; how much code; and after how \
         many records the time that it saves has paid for it. Where there is no code, long arrays are all that there \
         is. <i>portable</i> is the generator for machines that have none of their own.</p>\n",
    );
    // The case of the papers first.
    let swapped = |line: &&Line| line.text("case") == "swap";
    generated(page, all().filter(swapped));
    page.push_str("<details><summary>other cases</summary>\n");
    generated(page, all().filter(|line| !swapped(line)));
    page.push_str("</details>\n");
}

fn generated<'a>(page: &mut String, rows: impl Iterator<Item = &'a Line>) {
    page.push_str(
        "<table><tr><th>workload<th class=\"word\">case<th class=\"word\">code by<th>first record<th>code ready\
         <th>bytes of code<th>interpreter<th>generated<th>paid after</tr>\n",
    );
    for line in rows {
        let by = line.text("engine");
        let paid = match (line.number("paid_after"), line.number("gain_ns")) {
            (Some(records), _) => format!("{} records", amount(records)),
            (None, Some(_)) => "never".into(),
            (None, None) => "–".into(),
        };
        page.push_str("<tr>");
        [line.text("workload"), line.text("case"), by].iter().for_each(|word| {
            let _ = write!(page, "<td class=\"word\">{word}");
        });
        let figures = ["first_record_ns", "code_ready_ns", "code_bytes", "interpreter_ns", "generated_ns"];
        figures.iter().for_each(|key| cell(page, line.number(key)));
        let _ = writeln!(page, "<td>{paid}</tr>");
    }
    page.push_str("</table>\n");
}

/// What peers take, beside Isoform, for each workload.
pub(super) fn peers(page: &mut String, lines: &[Line]) {
    for (group, place, title) in [("send", "senders", "Sending"), ("receive", "receivers", "Receiving")] {
        let peers = names(lines, group);
        if !lines.iter().any(|line| line.text("group") == group) {
            continue;
        }
        let workloads: Vec<&str> = Workload::all().iter().map(|workload| workload.name).collect();
        let _ = write!(page, "<h2 id=\"{place}\">{title}: ns per record, all workloads</h2>\n<table><tr><th>");
        workloads.iter().for_each(|workload| _ = write!(page, "<th>{workload}"));
        page.push_str("</tr>\n");
        let mut row = |name: &str, figure: &dyn Fn(&str) -> Option<f64>| {
            let _ = write!(page, "<tr><td class=\"word\">{}", escaped(name));
            workloads.iter().for_each(|workload| cell(page, figure(workload)));
            page.push_str("</tr>\n");
        };
        let own = |workload: &str, case: &str, key: &str| {
            let words = [("group", group), ("workload", workload), ("case", case), ("peer", ""), ("token", "")];
            let is = |line: &&Line| words.iter().all(|(key, word)| line.text(key) == *word);
            lines.iter().find(is).and_then(|line| line.number(key))
        };
        let same = if group == "send" { "" } else { "same" };
        row("memcpy", &|workload| own(workload, same, "memcpy_ns"));
        row(if group == "send" { "Isoform" } else { "Isoform, same layout" }, &|workload| own(workload, same, "ns"));
        if group == "receive" {
            row("Isoform, unexpected field in front", &|workload| own(workload, "front", "ns"));
            row("Isoform, other byte order", &|workload| own(workload, "swap", "ns"));
        }
        for peer in peers {
            let of = |workload: &str| {
                let words = [("group", group), ("workload", workload), ("peer", peer)];
                lines.iter().find(|line| words.iter().all(|(key, word)| line.text(key) == *word))
            };
            let case = workloads.iter().find_map(|workload| of(workload)).map_or("", |line| line.text("case"));
            let name = match case {
                "front" => format!("{peer}, unexpected field in front"),
                "swap" => format!("{peer}, other byte order"),
                _ => peer.into(),
            };
            row(&name, &|workload| of(workload)?.number("ns"));
        }
        for peer in names(lines, group).into_iter().filter(|_| group == "send") {
            let of = |workload: &str| {
                let words = [("group", group), ("workload", workload), ("peer", peer)];
                lines.iter().find(|line| words.iter().all(|(key, word)| line.text(key) == *word))
            };
            row(&format!("{peer}: × as long as the record"), &|workload| of(workload)?.number("expansion"));
        }
        page.push_str("</table>\n");
    }
    let measured = names(lines, "receive");
    for (peer, note) in NOTES.iter().filter(|(peer, _)| measured.contains(peer)) {
        let _ = writeln!(page, "<p><b>{peer}</b>: {note}</p>");
    }
}

/// What was asked of each.
const NOTES: &[(&str, &str)] = &[
    ("rkyv", "what it derives for the same structs, validated, and copied to the struct."),
    ("rkyv access", "validated, and left where it came: for numbers that is a comparison of lengths."),
    (
        "prost",
        "the message that a <code>.proto</code> file would give, in which arrays are vectors; read again into one that is there.",
    ),
    ("Apache Avro", "the sender's schema has one field more, in front; resolved, then made the struct by serde."),
    ("serde_json", "what serde derives for the same structs."),
    ("MPICH", "MPI_Pack and MPI_Unpack of a derived datatype that was committed before."),
    ("MPICH external32", "MPI_Pack_external, field by field, because 4.0 crashes if it is given a struct's datatype."),
    ("Open MPI", "MPI_Pack and MPI_Unpack of a derived datatype that was committed before."),
    ("Open MPI external32", "MPI_Pack_external of the same datatype; big-endian."),
    ("omniORB", "the stubs that omniidl makes; sent in the machine's own order, received from the other."),
    ("Expat XML", "one element for each value, written with sprintf and read with strtod, into the field of its name."),
];

/// All other lines, for those who look for one.
pub(super) fn everything(page: &mut String, lines: &[Line]) {
    let keys = [
        "ns",
        "min_ns",
        "p90_ns",
        "memcpy_ns",
        "compiled_ns",
        "compiled_plain_ns",
        "ratio",
        "rotating_ns",
        "rotating_memcpy_ns",
        "rotating_compiled_ns",
        "rotating_ratio",
    ];
    let words = ["group", "workload", "case", "step", "token", "engine", "peer"];
    page.push_str("<h2>Every line</h2>\n<details><summary>show</summary>\n<table><tr>");
    words.iter().chain(&keys).for_each(|key| _ = write!(page, "<th>{}", key.replace('_', " ")));
    page.push_str("</tr>\n");
    for line in lines.iter().filter(|line| line.number("ns").is_some()) {
        page.push_str("<tr>");
        words.iter().for_each(|key| _ = write!(page, "<td class=\"word\">{}", escaped(line.text(key))));
        keys.iter().for_each(|key| cell(page, line.number(key)));
        page.push_str("</tr>\n");
    }
    page.push_str("</table></details>\n");
}

fn cell(page: &mut String, figure: Option<f64>) {
    let _ = write!(page, "<td>{}", figure.map_or("–".into(), amount));
}
