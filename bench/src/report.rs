//! Lines of results, as JSON or as a table.

use serde_json::{Map, Number, Value};
use std::io::{Result, Write};

/// One result: names and figures, in the order in which they were put in.
#[derive(Clone, Debug)]
pub struct Line(Map<String, Value>);

impl Line {
    /// A line of this group and workload.
    pub fn new(group: &str, workload: &str) -> Line {
        Line::of(group).word("workload", workload)
    }

    /// A line of this group, which has no workloads.
    pub fn of(group: &str) -> Line {
        Line(Map::new()).word("group", group)
    }

    /// A line that says what all others hold for.
    pub fn about(machine: &str) -> Line {
        Line::of("about").word("machine", machine)
    }

    /// A line for a peer that was not measured, and what would bring it here.
    pub fn skipped(peer: &str, install: &str) -> Line {
        Line::of("skipped").word("peer", peer).word("install", install)
    }

    /// Reads what [`json`](Line::json) has written.
    ///
    /// # Errors
    /// If that is no object.
    pub fn parse(json: &str) -> crate::Result<Line> {
        Ok(Line(serde_json::from_str(json)?))
    }

    /// The same line in another group.
    pub fn within(self, group: &str) -> Line {
        self.word("group", group)
    }

    /// The same line with a word.
    pub fn word(mut self, key: &str, word: &str) -> Line {
        self.0.insert(key.into(), word.into());
        self
    }

    /// The same line with a figure, rounded to what is worth reading.
    pub fn figure(mut self, key: &str, figure: f64) -> Line {
        let rounded: f64 = format!("{figure:.2}").parse().unwrap_or(figure);
        self.0.insert(key.into(), Number::from_f64(rounded).map_or(Value::Null, Value::Number));
        self
    }

    /// The same line with a number.
    pub fn count(mut self, key: &str, count: usize) -> Line {
        self.0.insert(key.into(), count.into());
        self
    }

    /// The word of this name, or nothing.
    pub fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or("")
    }

    /// The figure of this name.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.0.get(key).and_then(Value::as_f64)
    }

    /// Whether the figure of this name is a number of something.
    fn is_count(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(Value::is_u64)
    }

    /// Its JSON.
    pub fn json(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }
}

/// What a table shows of the lines of one group.
struct Columns {
    words: &'static [&'static str],
    /// Heading, key, and whether it is a ratio.
    figures: &'static [(&'static str, &'static str, bool)],
    title: &'static str,
}

const CONVERT: Columns = Columns {
    title: "convert: ns per record, hot | rotating over 640 KB; x: times the compiled pair (cc -O3 -march=native)",
    words: &["workload", "case", "engine"],
    figures: &[
        ("memcpy", "memcpy_ns", false),
        ("cc -O3", "compiled_plain_ns", false),
        ("compiled", "compiled_ns", false),
        ("engine", "ns", false),
        ("x", "ratio", true),
        ("| memcpy", "rotating_memcpy_ns", false),
        ("compiled", "rotating_compiled_ns", false),
        ("engine", "rotating_ns", false),
        ("x", "rotating_ratio", true),
    ],
};

const SEND: Columns = Columns {
    title: "send: ns from a record to the buffers of its message; bytes and buffers besides the record's own bytes",
    words: &["workload", "peer"],
    figures: &[
        ("memcpy", "memcpy_ns", false),
        ("encode", "ns", false),
        ("overhead", "overhead_bytes", false),
        ("buffers", "segments", false),
    ],
};

const RECEIVE: Columns = Columns {
    title: "receive: ns from the bytes of a message to the receiver's record, hot | rotating over 640 KB",
    words: &["workload", "case", "token", "engine", "peer"],
    figures: &[
        ("known", "known", false),
        ("memcpy", "memcpy_ns", false),
        ("envelope", "envelope_ns", false),
        ("receive", "ns", false),
        ("copied", "copied_bytes", false),
        ("into", "into_ns", false),
        ("x", "into_ratio", true),
        ("| memcpy", "rotating_memcpy_ns", false),
        ("receive", "rotating_ns", false),
    ],
};

const EVOLVE: Columns = Columns {
    title: "evolve: ns where the receiver does not expect a field, in both steps: from a body, and from a whole message",
    words: &["workload", "case", "step", "engine"],
    figures: &[
        ("memcpy", "memcpy_ns", false),
        ("compiled", "compiled_ns", false),
        ("engine", "ns", false),
        ("| memcpy", "rotating_memcpy_ns", false),
        ("engine", "rotating_ns", false),
    ],
};

const BATCH: Columns = Columns {
    title: "batch: ns per record of a thousand messages at once; x: times the compiled pair in a loop",
    words: &["workload", "case", "engine"],
    figures: &[("compiled", "compiled_ns", false), ("engine", "ns", false), ("x", "ratio", true)],
};

const GENERATE: Columns = Columns {
    title: "generate: ns from the description of an unknown format to its first record; ns until there is code, and bytes of it; records after which it has paid",
    words: &["workload", "case"],
    figures: &[
        ("first rec.", "first_record_ns", false),
        ("code ready", "code_ready_ns", false),
        ("code bytes", "code_bytes", false),
        ("interpreter", "interpreter_ns", false),
        ("generated", "generated_ns", false),
        ("paid after", "paid_after", false),
    ],
};

const ROUNDTRIP: Columns = Columns {
    title: "roundtrip: ns of each part of the way to a SPARC and back; x: times Isoform in steady state",
    words: &["workload", "engine", "peer"],
    figures: &[
        ("encode", "encode_there_ns", false),
        ("transfer", "transfer_there_ns", false),
        ("decode", "decode_there_ns", false),
        ("encode", "encode_back_ns", false),
        ("transfer", "transfer_back_ns", false),
        ("decode", "decode_back_ns", false),
        ("software", "software_ns", false),
        ("total", "total_ns", false),
        ("x", "ratio", true),
        ("bytes", "bytes_there", false),
    ],
};

const CHANNEL: Columns = Columns {
    title: "channel: ns of a round trip, or of an event on its way; x: times the bare socket (raw), ZeroMQ (zmq), nine sinks; owned, many: x raw of submit_owned, submit_many",
    words: &["measure", "transport", "case", "peer"],
    figures: &[
        ("bytes", "bytes", false),
        ("cores", "cores", false),
        ("p50", "p50_ns", false),
        ("p99", "p99_ns", false),
        ("per s", "per_s", false),
        ("raw p50", "raw_p50_ns", false),
        ("raw p99", "raw_p99_ns", false),
        ("raw per s", "raw_per_s", false),
        ("x raw", "ratio", true),
        ("owned", "owned_ratio", true),
        ("many", "many_ratio", true),
        ("zmq per s", "zeromq_per_s", false),
        ("x zmq", "zeromq_ratio", true),
        ("x isoform", "isoform_ratio", true),
        ("p99 x nine", "p99_ratio", true),
    ],
};

const SERVICE: Columns = Columns {
    title: "service: ns to register a format, and to find one; raw: a bare HTTP exchange, a file, a HashMap; x: times raw; \
            same: a bare exchange with the service",
    words: &["measure", "peer"],
    figures: &[
        ("stored", "stored", false),
        ("cores", "cores", false),
        ("bytes", "bytes", false),
        ("p50", "p50_ns", false),
        ("p99", "p99_ns", false),
        ("raw p50", "raw_p50_ns", false),
        ("raw p99", "raw_p99_ns", false),
        ("x raw", "ratio", true),
        ("same p50", "same_server_p50_ns", false),
        ("x same", "same_server_ratio", true),
        ("KiB", "resident_kib", false),
    ],
};

const FILES: Columns = Columns {
    title: "files: ns to record an event of 1,024 bytes on disk, to read it, and to find ten in a file; raw: bare writes and reads; \
            mcap: the writer of the crate mcap with ready bytes; dd; mcap of Python; with messages for viewers; export as Arrow and CSV; emit and its like",
    words: &["measure", "compression"],
    figures: &[
        ("p50", "p50_ns", false),
        ("per s", "per_s", false),
        ("raw p50", "raw_p50_ns", false),
        ("x raw", "ratio", true),
        ("mcap p50", "mcap_p50_ns", false),
        ("x mcap", "mcap_ratio", true),
        ("B in file", "bytes_per_event", false),
        ("dd", "dd_ns", false),
        ("Python", "python_ns", false),
        ("viewers", "viewers_ns", false),
        ("Arrow", "arrow_ns", false),
        ("CSV", "csv_ns", false),
        ("C", "c_ns", false),
        ("tracing", "tracing_ns", false),
        ("printf", "printf_ns", false),
        ("LTTng", "lttng_ns", false),
    ],
};

const XMIT: Columns = Columns {
    title: "xmit: ns to register a format: compiled in, and from a document in memory (known by its hash, parsed anew), in a file, at a \
            server; x: times compiled in; encode .. swap: x the compiled-in format; XML: x bytes, x time; documents of many types",
    words: &["format", "parts"],
    figures: &[
        ("native", "native_ns", false),
        ("known", "xmit_ns", false),
        ("x", "rdm", true),
        ("parsed", "parsed_ns", false),
        ("x", "parsed_rdm", true),
        ("file", "file_ns", false),
        ("http", "http_ns", false),
        ("raw http", "raw_http_ns", false),
        ("x encode", "encode_ratio", true),
        ("x decode", "decode_ratio", true),
        ("x swap", "swap_ratio", true),
        ("x bytes", "bytes_ratio", true),
        ("x time", "xml_ratio", true),
        ("types", "types", false),
        ("a type", "ns_per_type", false),
        ("parser B", "parser_bytes", false),
    ],
};

const QUERY: Columns = Columns {
    title: "query: ns for a record; compiled: C for the very query (cc -O3 -march=native); suppressed: an event that no sink wants, \
            beside the filter alone; shared: the same with many sinks, and x times one",
    words: &["measure", "workload", "engine"],
    figures: &[
        ("ns", "ns", false),
        ("compiled", "compiled_ns", false),
        ("filter", "filter_ns", false),
        ("over it", "over_ns", false),
        ("one", "one_ns", false),
        ("x", "ratio", true),
    ],
};

const RANDOM: Columns = Columns {
    title: "random: ns of a record drawn in this run; x: times the compiled pair (cc -O3 -march=native); again: measured once more",
    words: &["workload", "case", "engine"],
    figures: &[
        ("seed", "seed", false),
        ("fields", "fields", false),
        ("bytes", "bytes", false),
        ("compiled", "compiled_ns", false),
        ("engine", "ns", false),
        ("x", "ratio", true),
        ("again", "again_ratio", true),
        ("worst", "worst_ratio", true),
    ],
};

const TEXT: Columns = Columns {
    title: "text: ns from a body to a line of JSON, and back; x: times serde_json from and into a struct of the same fields",
    words: &["workload", "case"],
    figures: &[
        ("bytes", "bytes", false),
        ("serde_json", "serde_json_ns", false),
        ("isoform", "ns", false),
        ("x", "ratio", true),
    ],
};

const LOAD: Columns = Columns {
    title: "load: processor time of an event for each sink; a round trip; what nodes that come and go leave behind; \
            x: times the first line of the measure, and times the bare socket (raw)",
    words: &["measure"],
    figures: &[
        ("processes", "processes", false),
        ("channels", "channels", false),
        ("sinks", "sinks", false),
        ("bytes", "bytes", false),
        ("cpu", "cpu_ns_per_event_sink", false),
        ("at source", "source_cpu_ns_per_event_sink", false),
        ("raw cpu", "raw_cpu_ns_per_event_sink", false),
        ("a sink's", "bytes_per_sink", false),
        ("rtt", "rtt_ns", false),
        ("each rtt", "each_rtt_ns", false),
        ("raw rtt", "raw_rtt_ns", false),
        ("x first", "ratio", true),
        ("x each", "each_ratio", true),
        ("x raw", "raw_ratio", true),
        ("descr.", "descriptors", false),
        ("more descr.", "descriptors_more", false),
        ("threads", "threads_more", false),
    ],
};

/// Prints lines as they come.
#[derive(Debug, Default)]
pub struct Table {
    group: String,
}

impl Table {
    /// Prints a line, and a heading if it is the first of its group.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn print(&mut self, line: &Line, out: &mut impl Write) -> Result<()> {
        let columns = match line.text("group") {
            "send" => &SEND,
            "receive" => &RECEIVE,
            "generate" => &GENERATE,
            "roundtrip" => &ROUNDTRIP,
            "evolve" => &EVOLVE,
            "batch" => &BATCH,
            "channel" => &CHANNEL,
            "load" => &LOAD,
            "service" => &SERVICE,
            "files" => &FILES,
            "xmit" => &XMIT,
            "query" => &QUERY,
            "random" => &RANDOM,
            "text" => &TEXT,
            _ => &CONVERT,
        };
        if self.group != line.text("group") {
            let gap = if self.group.is_empty() { "" } else { "\n" };
            self.group = line.text("group").into();
            writeln!(out, "{gap}{}", columns.title)?;
            columns.words.iter().try_for_each(|word| write!(out, "{word:13}"))?;
            columns.figures.iter().try_for_each(|(heading, ..)| write!(out, "{heading:>11}"))?;
            writeln!(out)?;
        }
        columns.words.iter().try_for_each(|key| write!(out, "{:13}", line.text(key)))?;
        for (_, key, ratio) in columns.figures {
            match line.number(key) {
                Some(figure) if !line.is_count(key) && (*ratio || figure < 100.0) => write!(out, "{figure:>11.2}")?,
                Some(figure) => write!(out, "{figure:>11.0}")?,
                None => write!(out, "{:>11}", "-")?,
            }
        }
        writeln!(out)?;
        // Long texts of a line follow it.
        ["shape", "plan"]
            .iter()
            .map(|key| line.text(key))
            .filter(|text| !text.is_empty())
            .try_for_each(|text| text.lines().try_for_each(|line| writeln!(out, "    {line}")))
    }
}
