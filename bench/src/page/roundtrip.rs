//! What the report says of round trips between unlike machines.

use super::svg::{amount, escaped};
use crate::Line;
use std::fmt::Write;

/// Headings, and the figures under them.
const COLUMNS: &[(&str, &str)] = &[
    ("encode", "encode_there_ns"),
    ("transfer", "transfer_there_ns"),
    ("decode", "decode_there_ns"),
    ("encode", "encode_back_ns"),
    ("transfer", "transfer_back_ns"),
    ("decode", "decode_back_ns"),
    ("encode and decode", "software_ns"),
    ("total", "total_ns"),
    ("× Isoform", "ratio"),
    ("bytes", "bytes_there"),
];

/// A table of the parts, for each record and each way of exchanging it.
pub(super) fn table(page: &mut String, lines: &[Line]) {
    let mut rows = lines.iter().filter(|line| line.text("group") == "roundtrip").peekable();
    if rows.peek().is_none() {
        return;
    }
    page.push_str(EXPLAINED);
    page.push_str("<table><tr><th>workload<th class=\"word\">by");
    COLUMNS.iter().for_each(|(heading, _)| _ = write!(page, "<th>{heading}"));
    page.push_str("</tr>\n");
    for line in rows {
        let by = match line.text("engine") {
            "" => escaped(line.text("peer")),
            engine => format!("Isoform, {}", escaped(engine)),
        };
        let _ = write!(page, "<tr><td class=\"word\">{}<td class=\"word\">{by}", escaped(line.text("workload")));
        COLUMNS.iter().for_each(|(_, key)| _ = write!(page, "<td>{}", line.number(key).map_or("–".into(), amount)));
        page.push_str("</tr>\n");
    }
    page.push_str("</table>\n");
}

const EXPLAINED: &str = "<h2 id=\"roundtrip\">To an unlike machine and back, part by part</h2>\n<p>Papers 000, figures 6 and \
12, and 004, table 1: ns of each part of a round trip from x86-64 to a 32-bit SPARC, which has the other byte order, and \
back. The SPARC's record is converted on this machine, from its layout and into it; nothing is emulated. The transfer is half \
of a round trip of as many bytes on a bare TCP socket between two processes of this machine. Over a real network it is the \
same for all that send about as many bytes.</p>\n<p>The far machine of MPI's external32 does not swap, so it is measured with \
MPI's own representation. Peers that write little-endian numbers would have to swap on a real SPARC; here they do \
not, which is in their favour.</p>\n";
