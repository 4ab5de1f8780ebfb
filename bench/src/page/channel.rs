//! What the report says of events between programs.

use super::svg::{amount, escaped};
use crate::Line;
use std::fmt::Write;

/// What a line is about besides its transport, in the terms of [bars](super::bars::Bar): what is measured, bytes, cores.
///
/// ```
/// use isoform_bench::{Line, page::channel::case};
/// let line = Line::of("channel").word("measure", "rtt").count("bytes", 100).count("cores", 1);
/// assert_eq!(case(&line), "rtt 100/1");
/// assert_eq!(case(&line.word("measure", "fanout").word("case", "stopped")), "fanout stopped 100/1");
/// ```
pub fn case(line: &Line) -> String {
    let number = |key| line.number(key).unwrap_or_default();
    let space = if line.text("case").is_empty() { "" } else { " " };
    format!("{}{space}{} {}/{}", line.text("measure"), line.text("case"), number("bytes"), number("cores"))
}

/// Headings, and the figures under them.
const COLUMNS: &[(&str, &str)] = &[
    ("median", "p50_ns"),
    ("p99", "p99_ns"),
    ("per s", "per_s"),
    ("raw median", "raw_p50_ns"),
    ("p99", "raw_p99_ns"),
    ("per s", "raw_per_s"),
    ("× raw", "ratio"),
    ("polled median", "polled_p50_ns"),
    ("× raw", "polled_ratio"),
    ("ZeroMQ per s", "zeromq_per_s"),
    ("× ZeroMQ", "zeromq_ratio"),
    ("× Isoform", "isoform_ratio"),
    ("× Isoform polled", "polled_isoform_ratio"),
    ("p99 × nine", "p99_ratio"),
];

/// The table of all of them.
pub(super) fn table(page: &mut String, lines: &[Line]) {
    let mut rows = lines.iter().filter(|line| line.text("group") == "channel").peekable();
    if rows.peek().is_none() {
        return;
    }
    page.push_str(EXPLAINED);
    let words = ["measure", "case", "transport", "peer", "note"];
    page.push_str("<table><tr>");
    words.iter().for_each(|word| _ = write!(page, "<th class=\"word\">{word}"));
    page.push_str("<th>bytes<th>cores");
    COLUMNS.iter().for_each(|(heading, _)| _ = write!(page, "<th>{heading}"));
    page.push_str("</tr>\n");
    for line in rows {
        page.push_str("<tr>");
        words.iter().for_each(|word| _ = write!(page, "<td class=\"word\">{}", escaped(line.text(word))));
        for key in ["bytes", "cores"].into_iter().chain(COLUMNS.iter().map(|(_, key)| *key)) {
            let _ = write!(page, "<td>{}", line.number(key).map_or("–".into(), amount));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table>\n");
}

const EXPLAINED: &str = "<h2 id=\"channel\">Events from one program to another</h2>\n<p>Two processes on this machine, a channel between \
them, and beside it the bare socket, with <code>TCP_NODELAY</code>, on which somebody has written a program for just this \
record: they take turns in short rounds. With both processes on <i>one core</i> nothing counts but the work; on <i>two</i>, \
waking the other one is most of a round trip. Ratios are medians of those of single rounds.</p>
<p><b>rtt</b>: an event and its answer. <b>rate</b>: small events one way; raw, they are gathered by 64 KiB; ZeroMQ publishes \
and subscribes, and is kept from dropping any. <b>bandwidth</b>: events of 100 bytes to a megabyte one way. Where they are \
installed, others take turns with round trips and bandwidths by TCP, each with two processes of its own: each stays on a core of its own as ours do, if there are two. MPICH sends a \
derived datatype. It waits in a loop, so it needs two cores for itself, and no core has to be woken; <i>polled</i> is a channel \
whose ends do the same, to compare it with. CORBA's event service pushes an <code>any</code> from supplier \
to consumer, without the process of an event channel between them; as its interface says, a push is a call that waits for its \
return, so events do not go one way, and an answer is called from within the call. XML is written by snprintf and read by Expat. <b>fanout</b>: an event a millisecond \
to sinks in processes of their own, and how late it is at nine of them; the tenth is not there (<i>nine</i>), is like the \
others (<i>ten</i>), is <i>stopped</i> by a signal, or runs and receives nothing (<i>unread</i>). <b>local</b>: within one \
thread, from source to handler, which has the source's struct (<i>equal</i>) or one to which it is converted \
(<i>different</i>); raw is <code>std::sync::mpsc</code>. <b>idle</b>: an event that nobody wants.</p>
";
