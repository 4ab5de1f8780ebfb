//! The arguments of the commands for event channels.

use super::{Missing, Style};
use clap::{Args, Subcommand};
use isoform::Limits;
use std::ffi::OsString;
use std::path::PathBuf;
#[cfg(any(unix, windows))]
pub(super) use {isoform_channel::Policy, isoform_dynamic::words::policy};

#[derive(Subcommand)]
pub(crate) enum Channel {
    Echo(Echo),
    #[command(name = "pub")]
    Publish(Publish),
    Info(Info),
    Derive(Derive),
    Plot(Plot),
    Emitting(Emitting),
    #[cfg(feature = "watch")]
    Watch(Watch),
    #[cfg(feature = "files")]
    Record(super::files::Record),
    #[cfg(feature = "files")]
    Replay(super::files::Replay),
}

/// Show the events of a channel as they arrive
///
/// Records of all types are shown as by `isoform dump`. If a source joins, leaves or is refused, or if events are lost, the
/// command reports that on standard error. With --json --stamp, it prints a line to standard output instead, in order:
/// {"gap":{"source":0,"first":17,"count":3,"cause":".."}}, and likewise "joined", "left" and "refused".
///
/// The command waits for a channel that is not there yet, and opens it again after all its members have gone, such as when the
/// program of its source restarts. It ends after --count events, or when it is interrupted. With --once, or for an id with
/// /IDENTITY, it also ends when the channel is not there, or when there is no other node on it any more. With --once, it also ends
/// when the last source has left, even if other sinks are still there. The exit status is 1 if an event could not be shown, and otherwise 0.
#[derive(Args)]
#[command(after_help = "\
Policies:
  oldest:N  the source sends N events ahead and keeps N more; it drops the oldest, and never waits
  latest    the source keeps only the newest event
  block     the source waits for this viewer, as long as it grants (1 ms an event unless its program says otherwise)

Examples:
  isoform demo --simulation --seconds 2 | isoform pub river --listen unix:$PWD/river.sock &
  isoform echo --table --stamp --fields step,rain,stage iso+unix://$PWD/river.sock/river | head -n 5")]
pub(crate) struct Echo {
    /// A channel, such as iso://127.0.0.1:7000/river; see `isoform help sources`
    pub(crate) source: String,
    /// Print each record as a JSON object on one line
    #[arg(long, conflicts_with = "table")]
    pub(crate) json: bool,
    /// Print each record as a row of a table
    #[arg(long)]
    pub(crate) table: bool,
    /// Show the source of each record, its number there, and the time of its submission
    #[arg(long)]
    pub(crate) stamp: bool,
    /// Stop after N events
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) count: Option<u64>,
    /// Do not wait for the channel, and end when its last source has left
    #[arg(long)]
    pub(crate) once: bool,
    /// Show only the fields at these paths
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    pub(crate) fields: Vec<String>,
    /// Get only the results of a query, which the sources evaluate: `where CONDITION | every N | select FIELD, NAME = EXPRESSION`
    #[arg(long, value_name = "QUERY")]
    pub(crate) query: Option<String>,
    /// Ask the sources for these values of their parameters: a JSON object, such as '{"level": 3}'
    #[arg(long, value_name = "JSON")]
    pub(crate) parameters: Option<String>,
    /// The behaviour of sources when this viewer is too slow: oldest:N, latest or block
    #[arg(long, value_name = "POLICY", default_value = "oldest:1000", value_parser = policy)]
    pub(crate) policy: Policy,
    /// Demand that sources wait for this viewer as long as necessary; sources that do not grant this are refused
    #[arg(long, conflicts_with = "policy")]
    pub(crate) lossless: bool,
    /// Drop events of more than this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().message)]
    pub(crate) max_message: u64,
    #[command(flatten)]
    pub(crate) network: Network,
}

/// List the programs of yours that emit records on this machine now, with the ids of their channels
///
/// These are programs with `isoform::emit!`, `ISO_EMIT` or `isoform.emit` in them that have started emitting. Each line has the name and the
/// process of a program, and the id of a channel. With --ids, it has the id alone, for other commands. The exit status is 1 if there is
/// none.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform emitting
  isoform echo $(isoform emitting --ids river.step)
  isoform record $(isoform emitting --ids --program river) -o run.mcap")]
pub(crate) struct Emitting {
    /// Only channels of these names
    pub(crate) channels: Vec<String>,
    /// Only programs of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) program: Option<String>,
    /// Only the process of this number
    #[arg(long, value_name = "N")]
    pub(crate) process: Option<u32>,
    /// Print ids alone
    #[arg(long)]
    pub(crate) ids: bool,
}

/// Publish records on a channel, from a stream, from lines of JSON or from a raw file
///
/// An id such as iso://127.0.0.1:7000/river opens an existing channel. A plain name creates a channel, with the type of --shape
/// or without one, and prints its id on standard error. Lines of JSON are records of the type of --shape, or of the type of the
/// channel. The command reports malformed lines, and skips them.
///
/// At the end, the command waits until the sinks have taken all events, and prints the account of every sink. Ctrl-C ends the
/// input; a second Ctrl-C ends the command at once, without the accounts. The exit status is 1 if records were skipped, or if
/// the first records were lost because there was no sink. Use --wait 0 if no sink is needed.
#[derive(Args)]
#[command(after_help = "Examples:
  printf 'record Tick\\n  count  int\\n  value  double\\n' > tick.shape
  seq 1 100 | sed 's/.*/{\"count\":&,\"value\":0.5}/' > ticks.json
  isoform pub ticks --listen unix:$PWD/ticks.sock --shape tick.shape ticks.json &
  isoform echo --json --once iso+unix://$PWD/ticks.sock/ticks
  isoform demo --simulation --seconds 1 | isoform pub river --wait 0")]
pub(crate) struct Publish {
    /// The id of a channel, or the name of a new one
    pub(crate) channel: String,
    /// A stream of records, lines of JSON, or with --raw a raw file; - is standard input
    #[arg(default_value = "-")]
    pub(crate) input: String,
    #[command(flatten)]
    pub(crate) raw: super::Raw,
    /// The type of the records, and of a new channel: a shape or a stream; see `isoform help sources`
    #[arg(long, value_name = "SOURCE")]
    pub(crate) shape: Option<String>,
    /// The treatment of fields that a line of JSON lacks
    #[arg(long, value_enum, default_value_t)]
    pub(crate) missing: Missing,
    /// Listen at this address: 127.0.0.1:7000, unix:/tmp/x.sock; by default at a port that the system chooses
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Vec<String>,
    /// Tell others this address in place of those of TCP: HOST:PORT; port 0 is the one at which this command listens
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) advertise: Vec<String>,
    /// Print the id of a new channel with a key in it: whoever has this id may join, also other users
    #[arg(long)]
    pub(crate) with_key: bool,
    /// Start when N sinks have come, and end if all of them decline; by default 1 for a new channel, and the sinks of an existing one
    #[arg(long, value_name = "N")]
    pub(crate) wait: Option<usize>,
    /// Wait as long as necessary for sinks that demand it (`isoform echo --lossless`)
    #[arg(long)]
    pub(crate) lossless: bool,
    /// Keep the latest N records for sinks that come later
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep: usize,
    /// Publish at most N records a second
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) rate: Option<f64>,
    /// Wait this long at the end until the sinks have taken all events
    #[arg(long, value_name = "SECONDS", value_parser = positive, default_value = "30")]
    pub(crate) patience: f64,
    #[command(flatten)]
    pub(crate) network: Network,
}

/// Show the members of a channel, its sources and sinks, and the account of its events
///
/// The command shows the address, the sources and the sinks of each member, and the rate of each source. For each source and
/// sink it shows the account: submitted = acknowledged + superseded + lost + skipped + in flight. The exit status is 1 if an account does not add up.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo --simulation --seconds 2 | isoform pub river --listen unix:$PWD/river.sock &
  isoform info iso+unix://$PWD/river.sock/river
  isoform echo --json --count 1 iso+unix://$PWD/river.sock/river")]
pub(crate) struct Info {
    /// A channel, such as iso://127.0.0.1:7000/river; see `isoform help sources`
    pub(crate) channel: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) network: Network,
}

/// Derive a channel from another one by a query: print an id for it, or give it a name
///
/// Whoever opens the id gets the results of the query, and can ask a query of these. The sources of the channel evaluate the queries, each once for
/// all viewers.
///
/// With --name, the command prints a short id without the query, and stays until it is interrupted: others can open the name only at this
/// process. Channels that they have opened by then go on without it.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo --simulation --seconds 300 | isoform pub river --listen 127.0.0.1:7000 --wait 0 &
  isoform derive iso://127.0.0.1:7000/river 'every 100 ms | select step, deep = max(depth)'
  isoform echo $(isoform derive iso://127.0.0.1:7000/river 'window 1 s | select deep = max(depth)')
  isoform derive iso://127.0.0.1:7000/river 'every 1 s' --name slow --listen 127.0.0.1:7001 &
  isoform echo --query 'select step' iso://127.0.0.1:7001/slow")]
pub(crate) struct Derive {
    /// A channel, such as iso://127.0.0.1:7000/river; see `isoform help sources`
    pub(crate) channel: String,
    /// What the derived channel gives: `where CONDITION | every N | select FIELD, NAME = EXPRESSION`
    pub(crate) query: String,
    /// Give it this name at this process, and stay
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Listen at this address: 127.0.0.1:7001, unix:/tmp/x.sock; by default at a port that the system chooses
    #[arg(long, value_name = "ADDRESS", requires = "name")]
    pub(crate) listen: Vec<String>,
    #[command(flatten)]
    pub(crate) network: Network,
}

/// Plot fields of a channel's events as they arrive
///
/// Numbers are plotted against time, arrays of numbers as curves, and tables as images. The Python package `isoform` draws the
/// plots with matplotlib (docs/book/guides/python.md); `python -m isoform plot` is the same.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform plot iso://127.0.0.1:7000/river depth 'grid[3].rho'
  isoform plot iso://127.0.0.1:7000/river depth --png depth.png --seconds 10")]
pub(crate) struct Plot {
    /// The Python in which the package is installed
    #[arg(long, value_name = "COMMAND", default_value = "python3")]
    pub(crate) python: OsString,
    /// The channel, the fields, and options of the plot: --query QUERY, --x FIELD, --png FILE, --seconds N, --last N, and those of `isoform echo` for the network
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CHANNEL FIELD")]
    pub(crate) arguments: Vec<OsString>,
}

/// Show channels or recordings in a web page: plots of any field, with what was lost
///
/// The command prints an address. Open it in a browser of this machine: the page lists the channels, their sources and fields. Click a
/// field to plot it. The page gets the records as they are, and only the fields that it plots. It never slows a source: if it
/// does not keep up, events are dropped, and the plots show where.
///
/// Of a recording, the page shows any time: it has a bar to search and to play. Nothing is published for that; `isoform replay
/// --watch` publishes a recording and has the bar as well.
///
/// The address has a key, without which the page shows nothing. From another machine, make a tunnel with
/// `ssh -L 8000:127.0.0.1:8000 HOST`, and give --listen 127.0.0.1:8000 here.
#[cfg(feature = "watch")]
#[derive(Args)]
#[command(after_help = "Examples:
  isoform watch iso://127.0.0.1:7000/river
  isoform watch river.mcap
  isoform watch --listen 127.0.0.1:8000 iso://127.0.0.1:7000/river iso+unix:///tmp/lake.sock/lake")]
pub(crate) struct Watch {
    /// Channels, such as iso://127.0.0.1:7000/river, or recordings; see `isoform help sources`
    #[arg(required = true, value_name = "CHANNEL|FILE")]
    pub(crate) places: Vec<String>,
    /// Serve the page at this address of this machine; port 0 is one that the system chooses
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: std::net::SocketAddr,
    #[command(flatten)]
    pub(crate) network: Network,
}

#[derive(Args)]
pub(crate) struct Network {
    /// Allow addresses beyond this machine without TLS: others on the network can read and change the traffic
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Speak TLS to other machines with the certificate, key and authority in this file, and not with those of `isoform keys`
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// The private key, if it is not in the file of the identity
    #[arg(long, value_name = "FILE")]
    pub(crate) identity_key: Option<PathBuf>,
    /// Certificates of authorities: trust these, and not those in the file of the identity
    #[arg(long, value_name = "FILE")]
    pub(crate) trust: Vec<PathBuf>,
    /// Trust the authorities that this machine trusts. They give certificates to anybody, so --trust-name is needed
    #[arg(long)]
    pub(crate) trust_platform: bool,
    /// Accept only certificates with this name, or one below it: '*.cluster.example'
    #[arg(long, value_name = "NAME")]
    pub(crate) trust_name: Vec<String>,
    /// Revocation lists (CRLs) of the authorities
    #[arg(long, value_name = "FILE")]
    pub(crate) revoked: Vec<PathBuf>,
    /// Speak TLS also on TCP within this machine, for tunnels and containers
    #[arg(long)]
    pub(crate) tls_on_loopback: bool,
    /// Ask for no shared key: let in every user who can connect, and talk to whichever program answers. TLS still asks for
    /// a certificate
    #[arg(long)]
    pub(crate) admit_anyone: bool,
    /// The rules for other nodes (docs/book/reference/rules.md); by default ~/.config/isoform/rules, if it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
}

impl Echo {
    pub(crate) fn style(&self) -> Style {
        Style::of(self.json, self.table)
    }
}

pub(super) fn positive(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0 && *number < 1e9);
    number.ok_or("a number above 0")
}

/// Channels are for Unix and Windows: elsewhere, these commands say so, and the policy stays text.
#[cfg(not(any(unix, windows)))]
pub(super) type Policy = String;

#[cfg(not(any(unix, windows)))]
pub(super) fn policy(text: &str) -> Result<Policy, std::convert::Infallible> {
    text.parse()
}
