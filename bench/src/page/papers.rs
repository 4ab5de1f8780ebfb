//! The papers' figures and tables, all of them, and which lines of a run answer each.

use super::svg::escaped;
use crate::Line;
use std::fmt::Write;

/// A figure or a table of a paper.
pub struct Item {
    /// The paper.
    pub paper: &'static str,
    /// `figure 6`, `table 1`.
    pub number: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// What this run has of that.
    pub answer: Answer,
}

/// Where to look.
pub enum Answer {
    /// In these lines, which the page shows in this place.
    Rows(&'static str, &'static [Row]),
    /// In no line, for this reason.
    None(&'static str),
}

/// Lines of a run: all that have these words, and the figures that are wanted of them.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Keys with their values. Of `workload`, the beginning of its name; the other values must be equal.
    pub words: &'static [(&'static str, &'static str)],
    /// Keys of figures.
    pub figures: &'static [&'static str],
}

impl Row {
    /// Whether this is one of them.
    pub fn has(&self, line: &Line) -> bool {
        let word = |&(key, value): &(&str, &str)| match key {
            "workload" => line.text(key).starts_with(value),
            _ => line.text(key) == value,
        };
        self.words.iter().all(word) && self.figures.iter().all(|figure| line.number(figure).is_some())
    }

    /// The words, for readers.
    fn named(&self) -> String {
        let family = |&(key, value): &(&str, &str)| match key {
            "workload" if value.len() == 1 => format!("{value}*"),
            _ => value.to_string(),
        };
        self.words.iter().filter(|(_, value)| !value.is_empty()).map(family).collect::<Vec<_>>().join(" ")
    }
}

/// The papers by their numbers.
pub const PAPERS: &[(&str, &str)] = &[
    ("000", "Native Data Representation: An Efficient Wire Format for High Performance Distributed Computing"),
    ("001", "Fast Heterogeneous Binary Data Interchange"),
    ("002", "Fast Heterogeneous Binary Data Interchange for Event-based Monitoring"),
    ("003", "Open Metadata Formats: Efficient XML-Based Communication for High Performance Computing"),
    ("004", "Event Services in High Performance Systems"),
];

const fn row(words: &'static [(&'static str, &'static str)], figures: &'static [&'static str]) -> Row {
    Row { words, figures }
}

const NS: &[&str] = &["ns"];
const SEND: &[Row] = &[row(&[("group", "send"), ("workload", "K"), ("peer", "")], NS)];
const INTERPRETED: &[Row] =
    &[row(&[("group", "convert"), ("workload", "K"), ("case", "swap"), ("engine", "interpreter")], NS)];
const GENERATED: &[Row] =
    &[row(&[("group", "convert"), ("workload", "K"), ("case", "swap"), ("engine", "generated")], NS), INTERPRETED[0]];
const PARTS: &[&str] = &[
    "encode_there_ns",
    "transfer_there_ns",
    "decode_there_ns",
    "encode_back_ns",
    "transfer_back_ns",
    "decode_back_ns",
    "total_ns",
];
const TRIP: &[Row] = &[row(&[("group", "roundtrip"), ("workload", "K"), ("peer", "")], PARTS)];
const TRIP_OF_ARRAYS: &[Row] = &[TRIP[0], row(&[("group", "roundtrip"), ("workload", "A"), ("peer", "")], PARTS)];
const ARRAYS: &[Row] = &[
    row(&[("group", "send"), ("workload", "A"), ("peer", "")], NS),
    row(&[("group", "receive"), ("workload", "A"), ("case", "same"), ("peer", "")], NS),
];
const ALIKE: &[Row] = &[SEND[0], row(&[("group", "receive"), ("workload", "K"), ("case", "same"), ("peer", "")], NS)];
const NEW: &[Row] = &[row(
    &[("group", "generate"), ("workload", "K"), ("case", "swap"), ("engine", "")],
    &["code_ready_ns", "code_bytes", "gain_ns"],
)];
const UNLIKE_AND_MORE: &[Row] = &[
    row(&[("group", "evolve"), ("workload", "K"), ("case", "swap")], NS),
    row(&[("group", "evolve"), ("workload", "K"), ("case", "swapfront")], NS),
    row(&[("group", "evolve"), ("workload", "K"), ("case", "swapappended")], NS),
];
const ALIKE_AND_MORE: &[Row] = &[
    row(&[("group", "evolve"), ("workload", "K"), ("case", "same")], NS),
    row(&[("group", "evolve"), ("workload", "K"), ("case", "front")], NS),
    row(&[("group", "evolve"), ("workload", "K"), ("case", "middle")], NS),
    row(&[("group", "evolve"), ("workload", "K"), ("case", "appended")], NS),
];
const ALL_AND_MORE: &[Row] = &[
    UNLIKE_AND_MORE[0],
    UNLIKE_AND_MORE[1],
    UNLIKE_AND_MORE[2],
    ALIKE_AND_MORE[0],
    ALIKE_AND_MORE[1],
    ALIKE_AND_MORE[2],
    ALIKE_AND_MORE[3],
];
const LATENCY: &[Row] = &[row(&[("group", "channel"), ("measure", "rtt"), ("peer", "")], &["p50_ns", "raw_p50_ns"])];
const BANDWIDTH: &[Row] =
    &[row(&[("group", "channel"), ("measure", "bandwidth"), ("peer", "")], &["p50_ns", "raw_p50_ns"])];
const RECORD: &[Row] = &[row(&[("group", "send"), ("workload", "K100"), ("peer", "")], &["bytes"])];
const STRINGS: &[Row] = &[row(&[("group", "send"), ("workload", "S"), ("peer", "")], NS)];

const REGISTERED: &[&str] =
    &["native_ns", "xmit_ns", "rdm", "parsed_ns", "file_ns", "http_ns", "struct_bytes", "bytes"];
const MARSHALLED: &[&str] = &["encode_ns", "encode_ratio", "bytes"];
const PROOF: &[Row] = &[
    row(&[("group", "xmit"), ("format", "ASDOffEvent")], REGISTERED),
    row(&[("group", "xmit"), ("format", "Nested180")], REGISTERED),
    row(&[("group", "xmit"), ("format", "KSdata1")], REGISTERED),
];
const APPLICATION: &[Row] = &[
    row(&[("group", "xmit"), ("format", "JoinRequest")], REGISTERED),
    row(&[("group", "xmit"), ("format", "SimpleData")], REGISTERED),
    row(&[("group", "xmit"), ("format", "Flat152")], REGISTERED),
];
const MARSHALLING: &[Row] = &[
    row(&[("group", "xmit"), ("format", "JoinRequest")], MARSHALLED),
    row(&[("group", "xmit"), ("format", "SimpleData")], MARSHALLED),
    row(&[("group", "xmit"), ("format", "Flat152")], MARSHALLED),
];

const DRAWING: Answer = Answer::None("a drawing");
const LISTING: Answer = Answer::None("a listing of source text");
const CODE: Answer = Answer::None("a listing of machine code; table 1 of paper 000 has its size");

const fn item(paper: &'static str, number: &'static str, shows: &'static str, answer: Answer) -> Item {
    Item { paper, number, shows, answer }
}

/// All of them, in the order of the papers.
#[rustfmt::skip]
pub const ITEMS: &[Item] = &[
    item("000", "figure 1", "how a program declares a record", LISTING),
    item("000", "figure 2", "other ways to declare it", LISTING),
    item("000", "figure 3", "a format server at each end of a connection", DRAWING),
    item("000", "figure 4", "one format server for all programs", DRAWING),
    item("000", "figure 5", "each program as the format server of its own formats", DRAWING),
    item("000", "figure 6", "MPI: parts of a round trip between unlike machines", Answer::Rows("roundtrip", TRIP)),
    item("000", "figure 7", "the record of 100 KB that is exchanged", Answer::Rows("send", RECORD)),
    item("000", "figure 8", "time to encode", Answer::Rows("send", SEND)),
    item("000", "figure 9", "time to decode by interpreters", Answer::Rows("interpreted", INTERPRETED)),
    item("000", "figure 10", "code generated for a small record", CODE),
    item("000", "figure 11", "time to decode by interpreters and by generated code", Answer::Rows("generated", GENERATED)),
    item("000", "figure 12", "round trip, beside MPI, part by part", Answer::Rows("roundtrip", TRIP)),
    item("000", "figure 13", "time to decode with an unexpected field, unlike machines", Answer::Rows("unexpected-unlike", UNLIKE_AND_MORE)),
    item("000", "figure 14", "the same between equal machines", Answer::Rows("unexpected-alike", ALIKE_AND_MORE)),
    item("000", "table 1", "time to generate code, and its size", Answer::Rows("generation", NEW)),
    item("000", "table 2", "round trip, beside XML, MPI and CORBA", Answer::Rows("roundtrip", TRIP)),

    item("001", "figure 1", "MPI: parts of a round trip between unlike machines", Answer::Rows("roundtrip", TRIP)),
    item("001", "figure 2", "a record with strings and a dynamic array", Answer::Rows("senders", STRINGS)),
    item("001", "figure 3", "a record with pointers several levels deep", LISTING),
    item("001", "figure 4", "time to decode by interpreters", Answer::Rows("interpreted", INTERPRETED)),
    item("001", "figure 5", "time to decode by interpreters and by generated code", Answer::Rows("generated", GENERATED)),
    item("001", "figure 6", "round trip, beside MPI, part by part", Answer::Rows("roundtrip", TRIP)),
    item("001", "figure 7", "code generated for a small record", CODE),
    item("001", "figure 8", "round trip of a struct and of an array of the same size", Answer::Rows("roundtrip", TRIP_OF_ARRAYS)),
    item("001", "figure 9", "time to decode with an unexpected field, unlike machines", Answer::Rows("unexpected-unlike", UNLIKE_AND_MORE)),
    item("001", "figure 10", "the same between equal machines", Answer::Rows("unexpected-alike", ALIKE_AND_MORE)),
    item("001", "table 1", "arrays between equal machines: both ends, beside MPI", Answer::Rows("arrays", ARRAYS)),

    item("002", "figure 1", "the services of event-based monitoring", DRAWING),
    item("002", "figure 2", "MPI: parts of a round trip between unlike machines", Answer::Rows("roundtrip", TRIP)),
    item("002", "figure 3", "time to encode", Answer::Rows("send", SEND)),
    item("002", "figure 4", "time to decode, beside XML and MPI", Answer::Rows("interpreted", INTERPRETED)),
    item("002", "figure 5", "time to decode by interpreters and by generated code", Answer::Rows("generated", GENERATED)),
    item("002", "figure 6", "round trip, beside MPI, part by part", Answer::Rows("roundtrip", TRIP)),
    item("002", "figure 7", "time to decode with an unexpected field, unlike and equal machines", Answer::Rows("unexpected-unlike", ALL_AND_MORE)),
    item("002", "table 1", "time to transfer what is encoded; XML is several times as long", Answer::Rows("roundtrip", TRIP)),
    item("002", "table 2", "round trip, beside XML and MPI", Answer::Rows("roundtrip", TRIP)),

    item("003", "figure 1", "a struct, and how much longer it is in XML", Answer::Rows("senders", SEND)),
    item("003", "figure 2", "a struct, and its description in two notations", LISTING),
    item("003", "figure 3", "time to register formats from XML Schema", Answer::Rows("xmit", PROOF)),
    item("003", "figure 4", "structs of an application and their XML Schema", LISTING),
    item("003", "figure 5", "the programs of that application", DRAWING),
    item("003", "figure 6", "time to register the formats of that application", Answer::Rows("xmit", APPLICATION)),
    item("003", "figure 7", "time to encode with formats from XML Schema", Answer::Rows("xmit", MARSHALLING)),
    item("003", "figure 8", "time to encode, beside XML, CORBA and MPI", Answer::Rows("send", SEND)),

    item("004", "figure 1", "processes, channels, sources and sinks", DRAWING),
    item("004", "figure 2", "round trip of an event, 100 B to 1 MB", Answer::Rows("channel", LATENCY)),
    item("004", "figure 3", "events one way: bandwidth, 100 B to 1 MB", Answer::Rows("channel", BANDWIDTH)),
    item("004", "figure 4", "time to encode", Answer::Rows("send", SEND)),
    item("004", "figure 5", "time to decode, beside XML and MPI", Answer::Rows("interpreted", INTERPRETED)),
    item("004", "figure 6", "time to decode by interpreters and by generated code", Answer::Rows("generated", GENERATED)),
    item("004", "figure 7", "time to decode with an unexpected field, unlike machines", Answer::Rows("unexpected-unlike", UNLIKE_AND_MORE)),
    item("004", "figure 8", "the same between equal machines", Answer::Rows("unexpected-alike", ALIKE_AND_MORE)),
    item("004", "table 1", "parts of the round trip of an event of 100 KB", Answer::Rows("roundtrip", TRIP)),
    item("004", "table 2", "both ends between equal machines, beside CORBA", Answer::Rows("senders", ALIKE)),
];

/// The list, with links to where the page shows each.
pub(super) fn list(page: &mut String, lines: &[Line]) {
    page.push_str(
        "<h2>The papers, figure by figure</h2>\n<details open><summary>every figure and table, and the lines that answer \
         it</summary>\n<p>A family of records is written with a star. Peers stand beside these lines in the same groups.</p>\n\
         <table><tr><th>number<th class=\"word\">shows<th class=\"word\">here</tr>\n",
    );
    let mut of = "";
    for item in ITEMS {
        if item.paper != of {
            of = item.paper;
            let title = PAPERS.iter().find(|paper| paper.0 == of).map_or("", |paper| paper.1);
            let _ = writeln!(page, "<tr><th class=\"word\" colspan=\"3\">Paper {of}: <i>{title}</i></tr>");
        }
        let _ =
            write!(page, "<tr><td class=\"word\">{}<td class=\"word\">{}<td class=\"word\">", item.number, item.shows);
        match &item.answer {
            Answer::None(reason) => _ = write!(page, "<span class=\"dim\">{reason}</span>"),
            Answer::Rows(place, rows) => {
                for (index, row) in rows.iter().enumerate() {
                    let count = lines.iter().filter(|line| row.has(line)).count();
                    let comma = if index == 0 { "" } else { ", " };
                    let _ = match count {
                        0 => {
                            write!(page, "{comma}<span class=\"dim\">{}: not in this run</span>", escaped(&row.named()))
                        }
                        1 => write!(page, "{comma}<a href=\"#{place}\">{}</a>", escaped(&row.named())),
                        count => write!(page, "{comma}<a href=\"#{place}\">{}</a> ({count})", escaped(&row.named())),
                    };
                }
            }
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many figures and tables each paper has.
    const NUMBERS: &[(&str, usize, usize)] =
        &[("000", 14, 2), ("001", 10, 1), ("002", 7, 2), ("003", 8, 0), ("004", 8, 2)];

    #[test]
    fn every_figure_and_table_of_the_papers_is_listed_once() {
        let listed: Vec<_> = ITEMS.iter().map(|item| (item.paper, item.number.to_string())).collect();
        let numbered = |(paper, figures, tables): &(&'static str, usize, usize)| {
            let figures = (1..=*figures).map(|number| format!("figure {number}"));
            let tables = (1..=*tables).map(|number| format!("table {number}"));
            figures.chain(tables).map(|number| (*paper, number)).collect::<Vec<_>>()
        };
        assert_eq!(listed, NUMBERS.iter().flat_map(numbered).collect::<Vec<_>>());
        assert!(NUMBERS.iter().map(|numbers| numbers.0).eq(PAPERS.iter().map(|paper| paper.0)));
    }

    #[test]
    fn a_row_is_found_by_its_words_and_figures() {
        let line = Line::new("send", "K100").figure("ns", 1.0);
        assert!(SEND[0].has(&line));
        assert!(!SEND[0].has(&line.clone().word("peer", "MPICH")));
        assert!(!SEND[0].has(&Line::new("send", "K100")));
        assert!(!SEND[0].has(&Line::new("send", "A100").figure("ns", 1.0)));
        assert_eq!(SEND[0].named(), "send K*");
    }
}
