//! What the report says of queries.

use super::svg::{amount, escaped};
use crate::Line;
use std::fmt::Write;

const COLUMNS: [(&str, &str); 10] = [
    ("ns", "ns"),
    ("compiled", "compiled_ns"),
    ("filter alone", "filter_ns"),
    ("over it", "over_ns"),
    ("one sink", "one_ns"),
    ("no viewer", "idle_ns"),
    ("whole records", "whole_ns"),
    ("bytes", "bytes"),
    ("of", "whole_bytes"),
    ("×", "ratio"),
];

/// The table, if there are lines for it.
pub(super) fn table(page: &mut String, lines: &[Line]) {
    let mut rows = lines.iter().filter(|line| line.text("group") == "query").peekable();
    if rows.peek().is_none() {
        return;
    }
    page.push_str(
        "<h2 id=\"query\">Queries</h2>\n<p>Nanoseconds for a record. <b>compiled</b> is C for the very query. <b>filter</b> has \
         two conditions, <b>project</b> takes three of a hundred fields, <b>reduce</b> makes a number of an array. <b>ready</b> is \
         the time from the text of the filter to its code. At a channel: <b>suppressed</b> is an event that the only sink does not \
         want, beside the filter alone; <b>shared</b> is the same with a hundred sinks, beside one; <b>viewer</b> is \
         what a viewer of one field costs all processors, of a source with 1,000 large records a second, beside no viewer and one of whole records: \
         with a record of its own, and with a query for ten a second.</p>\n<table><tr>\
         <th class=\"word\">measure<th class=\"word\">records<th class=\"word\">engine",
    );
    COLUMNS.iter().for_each(|(heading, _)| _ = write!(page, "<th>{heading}"));
    page.push_str("</tr>\n");
    for line in rows {
        page.push_str("<tr>");
        for word in ["measure", "workload", "engine"] {
            _ = write!(page, "<td class=\"word\">{}", escaped(line.text(word)));
        }
        for (_, key) in COLUMNS {
            _ = write!(page, "<td>{}", line.number(key).map_or("–".into(), amount));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table>\n");
}
