//! Which lines become which plot. The figures are those of the papers that the idea is from: 000 (Native Data
//! Representation) and 001 (PBIO for clusters), with today's machines and peers.

use super::svg::{Kind, Plot, Series};
use crate::{Line, Workload};

/// A plot with what is to be said about it.
pub struct Figure {
    /// Its place on the page, to which others can link.
    pub place: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The papers' figure, and what to look for.
    pub note: &'static str,
    /// The plot.
    pub plot: Plot,
}

const K: &str = "K";
const A: &str = "A";
/// The far machine of the group `roundtrip`.
const FAR: &str = "sparc";

/// The lines of one name.
struct Source {
    name: &'static str,
    kind: Kind,
    group: &'static str,
    case: &'static str,
    /// The first of these that there is for a workload.
    engines: &'static [&'static str],
    figure: &'static str,
}

const fn source(
    name: &'static str,
    kind: Kind,
    [group, case, figure]: [&'static str; 3],
    engines: &'static [&'static str],
) -> Source {
    Source { name, kind, group, case, engines, figure }
}

/// All figures for which there are lines.
pub fn figures(lines: &[Line]) -> Vec<Figure> {
    use Kind::{Baseline, Own};
    const ANY: &[&str] = &["", "none", "generated", "interpreter"];
    const COPY: &[&str] = &["interpreter"];
    const STEADY: &[&str] = &["generated", "interpreter"];
    let slow = |name: &str| ["serde_json", "Expat XML", "Apache Avro"].contains(&name);
    let all = [
        Figure {
            place: "send",
            title: "What the sender pays",
            note: "Paper 000, figure 8: time to encode, records of the mechanical-engineering workload. Isoform sends \
                   memory as it lies there, so its line is flat.",
            plot: plot(
                lines,
                K,
                &[
                    source("Isoform", Own, ["send", "", "ns"], ANY),
                    source("memcpy", Baseline, ["send", "", "memcpy_ns"], ANY),
                ],
                "send",
                |_| true,
            ),
        },
        Figure {
            place: "interpreted",
            title: "What the receiver pays, interpreting",
            note: "Paper 000, figure 9: from the other byte order where the peer knows one; peers with one encoding of \
                   their own decode that. Isoform: the interpreter alone.",
            plot: plot(
                lines,
                K,
                &[
                    source("Isoform, interpreter", Own, ["convert", "swap", "ns"], COPY),
                    source("memcpy", Baseline, ["convert", "swap", "memcpy_ns"], COPY),
                    source("field by field", Baseline, ["convert", "swap", "ns"], &["plain"]),
                ],
                "receive",
                |_| true,
            ),
        },
        Figure {
            place: "generated",
            title: "What the receiver pays, with generated code",
            note: "Paper 000, figure 11: the same, of engines and what comes near them. Where a record is long arrays and little else, no code \
                   is generated: the interpreter hands them to the same vector loops. Portable is the generator for machines \
                   that have none of their own.",
            plot: plot(
                lines,
                K,
                &[
                    source("Isoform, steady state", Own, ["convert", "swap", "ns"], STEADY),
                    source("Isoform, interpreter", Own, ["convert", "swap", "ns"], COPY),
                    source("Isoform, portable", Own, ["convert", "swap", "ns"], &["portable"]),
                    source("memcpy", Baseline, ["convert", "swap", "memcpy_ns"], COPY),
                    source("compiled for the pair", Baseline, ["convert", "swap", "compiled_ns"], COPY),
                    source("… for any x86-64", Baseline, ["convert", "swap", "compiled_plain_ns"], COPY),
                    source("field by field", Baseline, ["convert", "swap", "ns"], &["plain"]),
                ],
                "receive",
                |name| !slow(name),
            ),
        },
        Figure {
            place: "unexpected-unlike",
            title: "A field that the receiver does not expect: other byte order",
            note: "Paper 000, figure 13: the sender has one more field, in front of all others. From a kilobyte up it should cost nothing.",
            plot: plot(
                lines,
                K,
                &[
                    source("with it", Own, ["evolve", "swapfront", "ns"], STEADY),
                    source("at the end", Own, ["evolve", "swapappended", "ns"], STEADY),
                    source("without it", Own, ["evolve", "swap", "ns"], STEADY),
                    source("memcpy", Baseline, ["evolve", "swap", "memcpy_ns"], STEADY),
                    source("compiled, with it", Baseline, ["evolve", "swapfront", "compiled_ns"], STEADY),
                ],
                "",
                |_| false,
            ),
        },
        Figure {
            place: "unexpected-alike",
            title: "A field that the receiver does not expect: same machine",
            note: "Paper 000, figure 14: in front of all others everything moves, which is a copy; at the end the record is \
                   used where it came.",
            plot: plot(
                lines,
                K,
                &[
                    source("in front", Own, ["evolve", "front", "ns"], STEADY),
                    source("in the middle", Own, ["evolve", "middle", "ns"], STEADY),
                    source("appended", Own, ["evolve", "appended", "ns"], &["none"]),
                    source("none", Own, ["evolve", "same", "ns"], &["none"]),
                    source("memcpy", Baseline, ["evolve", "same", "memcpy_ns"], &["none"]),
                    source("compiled, in front", Baseline, ["evolve", "front", "compiled_ns"], STEADY),
                ],
                "",
                |_| false,
            ),
        },
        Figure {
            place: "trips",
            title: "To an unlike machine and back",
            note: "Paper 000, figures 6 and 12, table 2: both encode, both transfer by TCP within this machine, both decode. \
                   The transfer is the bare socket's, both ways.",
            plot: plot(
                lines,
                K,
                &[
                    source("Isoform, steady state", Own, ["roundtrip", FAR, "total_ns"], STEADY),
                    source("Isoform, interpreter", Own, ["roundtrip", FAR, "total_ns"], COPY),
                    source("transfer alone", Baseline, ["roundtrip", FAR, "transfer_ns"], STEADY),
                ],
                "roundtrip",
                |_| true,
            ),
        },
        Figure {
            place: "arrays",
            title: "Contiguous arrays: sending",
            note: "Paper 001, figure 8 and table 1: arrays of doubles and nothing else.",
            plot: plot(
                lines,
                A,
                &[
                    source("Isoform", Own, ["send", "", "ns"], ANY),
                    source("memcpy", Baseline, ["send", "", "memcpy_ns"], ANY),
                ],
                "send",
                |name| !slow(name),
            ),
        },
        Figure {
            place: "arrays-receive",
            title: "Contiguous arrays: receiving",
            note: "Paper 001, figure 8 and table 1: whole messages from an equal machine, and bodies from one of the other \
                   byte order.",
            plot: plot(
                lines,
                A,
                &[
                    source("Isoform, equal machine", Own, ["receive", "same", "ns"], ANY),
                    source("Isoform, other byte order", Own, ["convert", "swap", "ns"], STEADY),
                    source("memcpy", Baseline, ["receive", "same", "memcpy_ns"], ANY),
                    source("compiled for the pair", Baseline, ["convert", "swap", "compiled_ns"], COPY),
                ],
                "receive",
                |name| !slow(name),
            ),
        },
    ];
    let drawn = |figure: &Figure| figure.plot.series.iter().any(|series| !series.points.is_empty());
    all.into_iter().filter(drawn).collect()
}

/// A plot over the workloads whose names begin so, of sources and of the peers of a group.
fn plot(lines: &[Line], workloads: &str, sources: &[Source], peers: &str, wanted: impl Fn(&str) -> bool) -> Plot {
    let workloads = sizes(workloads);
    let mut series: Vec<Series> = Vec::new();
    for source in sources {
        let points = workloads.iter().filter_map(|(name, size)| Some((*size, point(lines, source, name)?))).collect();
        // What stands in several plots looks alike in all of them.
        let hue = match source.name {
            "memcpy" => 0,
            "field by field" => 3,
            _ => series.iter().filter(|series| series.kind == source.kind).count(),
        };
        series.push(Series { name: source.name.into(), kind: source.kind, hue, points });
    }
    let all = names(lines, "receive");
    for peer in names(lines, peers).into_iter().filter(|name| wanted(name)) {
        let of = |workload: &str| {
            let is = |line: &&Line| {
                line.text("group") == peers && line.text("peer") == peer && line.text("workload") == workload
            };
            let key = if peers == "roundtrip" { "total_ns" } else { "ns" };
            lines.iter().find(is).and_then(|line| line.number(key))
        };
        let points = workloads.iter().filter_map(|(name, size)| Some((*size, of(name)?))).collect();
        let hue = all.iter().position(|name| *name == peer).unwrap_or(0);
        series.push(Series { name: peer.into(), kind: Kind::Peer, hue, points });
    }
    series.iter_mut().for_each(|series| series.points.retain(|point| point.1 > 0.0));
    Plot { across: "size of the record in memory", up: "time per record", series }
}

fn point(lines: &[Line], source: &Source, workload: &str) -> Option<f64> {
    let is = |line: &&Line| {
        let words =
            [("group", source.group), ("workload", workload), ("case", source.case), ("peer", ""), ("token", "")];
        words.iter().all(|(key, word)| line.text(key) == *word) && line.text("step") != "receive"
    };
    let with = |engine: &&str| lines.iter().filter(is).find(|line| line.text("engine") == *engine);
    source.engines.iter().find_map(with)?.number(source.figure)
}

/// The workloads of a family, with their sizes.
fn sizes(family: &str) -> Vec<(&'static str, f64)> {
    let all = Workload::all().into_iter().filter(|workload| workload.name.starts_with(family));
    all.filter_map(|workload| Some((workload.name, workload.size().ok()? as f64))).collect()
}

/// The peers of a group, in the order of their lines.
pub fn names<'a>(lines: &'a [Line], group: &str) -> Vec<&'a str> {
    let mut names = Vec::new();
    for line in lines.iter().filter(|line| line.text("group") == group && !line.text("peer").is_empty()) {
        if !names.contains(&line.text("peer")) {
            names.push(line.text("peer"));
        }
    }
    names
}
