//! What the report says of the format service.

use super::svg::{amount, escaped};
use crate::Line;
use std::fmt::Write;

/// What a line is about besides its measure, in the terms of [bars](super::bars::Bar).
pub(super) fn case(line: &Line) -> String {
    let number = |key| line.number(key).unwrap_or_default();
    match line.text("measure") {
        "start" => number("stored").to_string(),
        _ => format!("{}/{}", number("stored"), number("cores")),
    }
}

/// Headings, and the figures under them.
const COLUMNS: &[(&str, &str)] = &[
    ("stored", "stored"),
    ("cores", "cores"),
    ("bytes", "bytes"),
    ("median", "p50_ns"),
    ("p99", "p99_ns"),
    ("raw median", "raw_p50_ns"),
    ("p99", "raw_p99_ns"),
    ("× raw", "ratio"),
    ("same server", "same_server_p50_ns"),
    ("× same server", "same_server_ratio"),
    ("KiB", "resident_kib"),
];

/// The table of all of it.
pub(super) fn table(page: &mut String, lines: &[Line]) {
    let mut rows = lines.iter().filter(|line| line.text("group") == "service").peekable();
    if rows.peek().is_none() {
        return;
    }
    page.push_str(EXPLAINED);
    page.push_str("<table><tr><th class=\"word\">measure<th class=\"word\">peer");
    COLUMNS.iter().for_each(|(heading, _)| _ = write!(page, "<th>{heading}"));
    page.push_str("</tr>\n");
    for line in rows {
        page.push_str("<tr>");
        ["measure", "peer"].iter().for_each(|word| _ = write!(page, "<td class=\"word\">{}", escaped(line.text(word))));
        COLUMNS.iter().for_each(|(_, key)| _ = write!(page, "<td>{}", line.number(key).map_or("–".into(), amount)));
        page.push_str("</tr>\n");
    }
    page.push_str("</table>\n");
}

const EXPLAINED: &str = "<h2 id=\"service\">Formats at a service</h2>\n<p>Nanoseconds, on loopback and on connections that are \
kept; the service has so many formats <i>stored</i>. <b>register</b>: a format is sent, stored and synchronised; raw, an HTTP \
server that is written by hand writes a file and synchronises it. <b>resolve_cold</b>: a description is fetched and compared with its \
token; raw, as many bytes are fetched from the server written by hand, by a client written by hand; <i>same server</i>: by that \
client from the service. <b>resolve_disk</b>: from the cache on disk; raw, the file is read. <b>resolve_known</b>: the registry \
knows it; raw, a <code>HashMap</code> of the standard library. <b>start</b>: from the start of the process to its first answer. \
KiB: what the process of the service has in memory. Registries that keep their schemas in a Kafka broker are not measured, since \
there is none; they are named at the top of this page.</p>\n";
