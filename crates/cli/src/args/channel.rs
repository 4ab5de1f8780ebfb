//! What can be asked of event channels.

use super::Style;
use clap::{Args, Subcommand};
use isoform::Limits;
use std::ffi::OsString;

#[derive(Subcommand)]
pub(crate) enum Channel {
    Echo(Echo),
    #[command(name = "pub")]
    Publish(Publish),
    Info(Info),
    Plot(Plot),
}

/// Show the events of a channel as they come
///
/// Records are shown as `isoform dump` shows them, whatever their types. What is no event - a source has joined, has left,
/// or cannot be understood; events are lost - is said on standard error, or with --json --stamp as a line of its own, in
/// its turn: {"gap":{"source":0,"first":17,"count":3,"cause":".."}}, and likewise "joined", "left" and "refused".
///
/// It ends after --count events, when nobody else is on the channel any more, or when it is interrupted; the exit status is 0
/// then, and 1 if there was an event that could not be shown.
#[derive(Args)]
#[command(after_help = "\
Policies:
  oldest:N  the source sends N events ahead and keeps N more; it loses the oldest, and never waits
  latest    the source keeps the newest event only
  block     the source waits for this viewer, and whatever else it does waits with it

Examples:
  isoform demo --simulation --seconds 2 | isoform pub river --listen unix:$PWD/river.sock &
  isoform echo --table --stamp --fields step,rain,stage iso+unix://$PWD/river.sock/river | head -n 5")]
pub(crate) struct Echo {
    /// A channel, such as iso://127.0.0.1:7000/river; see `isoform help sources`
    pub(crate) source: String,
    /// One JSON object a line: the record
    #[arg(long, conflicts_with = "table")]
    pub(crate) json: bool,
    /// One row a record
    #[arg(long)]
    pub(crate) table: bool,
    /// With each record, its source, its number there, and when it was submitted
    #[arg(long)]
    pub(crate) stamp: bool,
    /// Stop after so many events
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) count: Option<u64>,
    /// Only the fields at these paths
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    pub(crate) fields: Vec<String>,
    /// What sources do when this viewer is too slow, so that it does not stop them: oldest:N, latest or block
    #[arg(long, value_name = "POLICY", default_value = "oldest:1000", value_parser = policy)]
    pub(crate) policy: Policy,
    /// Lose events of more than so many bytes
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().message)]
    pub(crate) max_message: u64,
    #[command(flatten)]
    pub(crate) network: Network,
}

/// Publish records on a channel: a stream, or lines of JSON
///
/// An id such as iso://127.0.0.1:7000/river opens a channel that is there; a mere name makes one, of the type that --shape
/// gives or of none, and prints its id on standard error. Lines of JSON are records of the type of --shape, else of that of
/// the channel; a line that is none is told of, and passed over. At the end it waits until all is taken, and prints the account
/// of every sink. Ctrl-C brings the end about; a second one does not wait. The exit status is 1 if records were passed over, or
/// the first went nowhere as there was no sink, unless that is meant: --wait 0.
#[derive(Args)]
#[command(after_help = "Examples:
  printf 'record Tick\\n  count  int\\n  value  double\\n' > tick.shape
  seq 1 100 | sed 's/.*/{\"count\":&,\"value\":0.5}/' > ticks.json
  isoform pub ticks --listen unix:$PWD/ticks.sock --shape tick.shape ticks.json &
  isoform echo --json iso+unix://$PWD/ticks.sock/ticks
  isoform demo --simulation --seconds 1 | isoform pub river --wait 0")]
pub(crate) struct Publish {
    /// The id of a channel, or the name of one that is to be made
    pub(crate) channel: String,
    /// A stream of records, or lines of JSON; - for standard input
    #[arg(default_value = "-")]
    pub(crate) input: String,
    /// The type of the records, and of a channel that is made: a shape or a stream; see `isoform help sources`
    #[arg(long, value_name = "SOURCE")]
    pub(crate) shape: Option<String>,
    /// Where others find this process: 127.0.0.1:7000, unix:/tmp/x.sock; else at a port that the system chooses
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Vec<String>,
    /// Begin when there are so many sinks: 1 for a channel that is made, else those that are there
    #[arg(long, value_name = "N")]
    pub(crate) wait: Option<usize>,
    /// No more than so many records a second
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) rate: Option<f64>,
    /// How long to wait at the end, until the sinks have taken everything
    #[arg(long, value_name = "SECONDS", value_parser = positive, default_value = "30")]
    pub(crate) patience: f64,
    #[command(flatten)]
    pub(crate) network: Network,
}

/// Show who is on a channel, what is exchanged, and what became of it
///
/// Members, with their addresses, sources, sinks, and how many events a second each source submits; then for every source and sink
/// the account: submitted = acknowledged + lost + in flight. The exit status is 1 if one does not add up.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo --simulation --seconds 2 | isoform pub river --listen unix:$PWD/river.sock &
  isoform info iso+unix://$PWD/river.sock/river
  isoform echo --json --count 1 iso+unix://$PWD/river.sock/river")]
pub(crate) struct Info {
    /// A channel, such as iso://127.0.0.1:7000/river; see `isoform help sources`
    pub(crate) channel: String,
    /// All of it as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) network: Network,
}

/// Draw fields of a channel's events, live
///
/// Numbers are drawn against time, rows of numbers as they are now, tables as images. The Python package `isoform` does it, with
/// matplotlib (docs/book/guides/python.md); `python -m isoform plot` is the same.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform plot iso://127.0.0.1:7000/river depth 'grid[3].rho'
  isoform plot iso://127.0.0.1:7000/river depth --png depth.png --seconds 10")]
pub(crate) struct Plot {
    /// The Python that has the package
    #[arg(long, value_name = "COMMAND", default_value = "python3")]
    pub(crate) python: OsString,
    /// The channel, the fields, and what else the plot shall be: --png FILE, --seconds N, --last N, --insecure
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CHANNEL FIELD")]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct Network {
    /// Go beyond this machine, where others can read and alter what is sent: nothing is encrypted yet
    #[arg(long)]
    pub(crate) insecure: bool,
}

/// What sources do when a sink is too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Block,
    Latest,
    Oldest(u64),
}

impl Echo {
    pub(crate) fn style(&self) -> Style {
        Style::of(self.json, self.table)
    }
}

fn policy(text: &str) -> Result<Policy, &'static str> {
    match text {
        "block" => Ok(Policy::Block),
        "latest" => Ok(Policy::Latest),
        _ => {
            let count = text.strip_prefix("oldest:").and_then(|count| count.parse().ok());
            count.filter(|&count| count > 0).map(Policy::Oldest).ok_or("block, latest, or oldest:N with N from 1")
        }
    }
}

fn positive(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0 && *number < 1e9);
    number.ok_or("a number above 0")
}
