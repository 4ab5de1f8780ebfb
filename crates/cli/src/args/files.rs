//! The arguments of the commands for recordings.

use super::channel::{Network, Policy, policy, positive};
use clap::{Args, ValueEnum};
use isoform::Limits;
use std::path::PathBuf;

/// Record the events of channels in a file
///
/// The file is MCAP, whose channels and times other programs list, too. It has every record as its sender had it in memory, with the time of its
/// submission, and what was lost. `isoform dump` shows it, and so does every command that reads streams. `isoform replay` publishes it again.
///
/// Everything is put on disk once a second. The command reports how much that is, and nothing of it is lost, even if the command or the machine
/// stops at once. The command records until it is interrupted, and waits for channels that are not there yet, as `isoform echo` does. At
/// the end it prints what was recorded and lost of each source. The exit status is 1 if the file could not be written, or if
/// a source could not be recorded.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo --simulation --seconds 2 | isoform pub river --listen unix:$PWD/river.sock &
  isoform record --once iso+unix://$PWD/river.sock/river -o river.mcap
  isoform dump --count 3 river.mcap
  isoform record iso://127.0.0.1:7000/river -o run.mcap --part-size 1000000000")]
pub(crate) struct Record {
    /// Channels, such as iso://127.0.0.1:7000/river; see `isoform help sources`
    #[arg(required = true, value_name = "CHANNEL")]
    pub(crate) channels: Vec<String>,
    /// The file, which must not be there yet
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The compression of the file
    #[arg(long, value_enum, default_value_t)]
    pub(crate) compression: Compression,
    /// Also put each event into the file as a message of ROS 2, which Foxglove, Lichtblick, PlotJuggler, Rerun and others show
    #[arg(long)]
    pub(crate) viewers: bool,
    /// Begin another file when this one has N bytes: run.mcap, run-2.mcap, and so on
    #[arg(long, value_name = "N")]
    pub(crate) part_size: Option<u64>,
    /// Begin another file after this time
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub(crate) part_seconds: Option<f64>,
    /// Stop after N events
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) count: Option<u64>,
    /// Stop after this time
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub(crate) seconds: Option<f64>,
    /// Do not wait for channels, and end with each when its last source has left
    #[arg(long)]
    pub(crate) once: bool,
    /// Report once a second what is on disk, in a line of its own
    #[arg(long)]
    pub(crate) progress: bool,
    /// Get only the results of a query, which the sources evaluate: `where CONDITION | every N | select FIELD, NAME = EXPRESSION`
    #[arg(long, value_name = "QUERY")]
    pub(crate) query: Option<String>,
    /// Ask the sources for these values of their parameters: a JSON object, such as '{"level": 3}'
    #[arg(long, value_name = "JSON")]
    pub(crate) parameters: Option<String>,
    /// The behaviour of sources when the recorder is too slow: oldest:N, latest or block
    #[arg(long, value_name = "POLICY", default_value = "oldest:100000", value_parser = policy)]
    pub(crate) policy: Policy,
    /// Demand that sources wait for the recorder as long as necessary; sources that do not grant this are refused
    #[arg(long, conflicts_with = "policy")]
    pub(crate) lossless: bool,
    /// Drop events of more than this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().message)]
    pub(crate) max_message: u64,
    #[command(flatten)]
    pub(crate) network: Network,
}

/// Publish the events of a recording again
///
/// Each channel of the recording becomes a channel of the same name, whose id the command prints on standard error. It starts when every channel has
/// a sink, and keeps the times between the events. The records are those that were recorded, bit for bit; sinks convert them as ever, so
/// that today's programs read old recordings. Sinks see the recorded source and number of each event as its origin. Of a damaged
/// recording, what is whole is published; the command then says how many events are not, and the exit status is 1.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform replay river.mcap
  isoform replay river.mcap --rate 10 --loop
  isoform replay river.mcap --watch=127.0.0.1:8000
  isoform replay river.mcap --max --from 60 --to 90")]
pub(crate) struct Replay {
    /// A recording
    pub(crate) file: PathBuf,
    /// Publish only the channels of these names
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Vec<String>,
    /// Let time pass so many times as fast
    #[arg(long, value_name = "FACTOR", value_parser = positive, default_value = "1")]
    pub(crate) rate: f64,
    /// Let no time pass between events: sinks that demand it (`isoform echo --lossless`) set the pace, and lose none
    #[arg(long, conflicts_with = "rate")]
    pub(crate) max: bool,
    #[command(flatten)]
    pub(crate) span: Span,
    /// Begin again at the end
    #[arg(long = "loop")]
    pub(crate) again: bool,
    /// Start when each channel has N sinks; those of the page of --watch do not count
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) wait: usize,
    /// Serve a page of the channels, where the replay is stopped, continued, and set to another time: at this address of this
    /// machine, or at a port that the system chooses. At the end, the command waits for the page
    #[cfg(feature = "watch")]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", conflicts_with = "max")]
    pub(crate) watch: Option<std::net::SocketAddr>,
    /// Listen at this address: 127.0.0.1:7000, unix:/tmp/x.sock; by default at a port that the system chooses
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Vec<String>,
    /// Wait as long as necessary for sinks that demand it (`isoform echo --lossless`)
    #[arg(long)]
    pub(crate) lossless: bool,
    /// Wait this long at the end until the sinks have taken all events
    #[arg(long, value_name = "SECONDS", value_parser = positive, default_value = "30")]
    pub(crate) patience: f64,
    #[command(flatten)]
    pub(crate) network: Network,
}

/// A part of a recording.
#[derive(Args)]
pub(crate) struct Span {
    /// Begin so many seconds after the beginning of the recording
    #[arg(long, value_name = "SECONDS", value_parser = moment, allow_negative_numbers = true)]
    pub(crate) from: Option<f64>,
    /// End so many seconds after the beginning of the recording
    #[arg(long, value_name = "SECONDS", value_parser = moment, allow_negative_numbers = true)]
    pub(crate) to: Option<f64>,
}

/// A moment of a recording.
fn moment(text: &str) -> Result<f64, &'static str> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds >= 0.0 && *seconds < 1e15);
    seconds.ok_or("seconds from the beginning of the recording, such as 0 or 12.5")
}

/// The compression of a recording.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Compression {
    /// None: the fastest
    None,
    /// LZ4
    Lz4,
    /// Zstandard, the smallest
    #[default]
    Zstd,
}

impl From<Compression> for isoform_files::Compression {
    fn from(compression: Compression) -> isoform_files::Compression {
        match compression {
            Compression::None => isoform_files::Compression::None,
            Compression::Lz4 => isoform_files::Compression::Lz4,
            Compression::Zstd => isoform_files::Compression::Zstd,
        }
    }
}

/// Write the records of a stream or a recording as a table: Parquet, Arrow, CSV or JSON
///
/// The ending of the output's name says what is written: .parquet, .arrow, .csv or .jsonl. A table has the records of one name that
/// have the same fields and types, whatever machine they come from. If there are several kinds, give a folder, which gets a file for
/// each; or choose one by SOURCE#NAME, and by --kind if those of one name have several kinds of fields: no file is written of a part
/// of them. Rows of a recording begin with the channel, the source, the number and the times of the event.
///
/// The output is whole or not there. Of a damaged source, it has what is whole. The exit status is 1 if a record is in no table.
#[cfg(feature = "tables")]
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo --simulation --seconds 1 > river.iso
  isoform export river.iso river.parquet
  isoform export --fields step,rain 'river.iso#Reach' rain.csv
  isoform export --query 'where rain > 0 | select step, deep = max(depth)' river.iso deep.arrow
  isoform export river.iso tables/")]
pub(crate) struct Export {
    /// A stream or a recording; see `isoform help sources`
    pub(crate) source: String,
    /// The file, or a folder for several
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) raw: super::Raw,
    /// What to write, if the name does not say it
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub(crate) kind: Option<Kind>,
    /// Only the channels of these names of a recording
    #[arg(long, value_name = "NAME", conflicts_with = "raw")]
    pub(crate) channel: Vec<String>,
    /// If records of one name have several kinds of fields, only those of kind N, in the order in which they come: 1, 2, ..
    #[arg(long = "kind", value_name = "N")]
    pub(crate) number: Option<std::num::NonZeroUsize>,
    /// Only the fields at these paths
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    pub(crate) fields: Vec<String>,
    /// Only the results of a query: `where CONDITION | every N | select FIELD, NAME = EXPRESSION`
    #[arg(long, value_name = "TEXT")]
    pub(crate) query: Option<String>,
    #[command(flatten)]
    pub(crate) span: Span,
    /// Leave out the channels, sources, numbers and times of a recording
    #[arg(long)]
    pub(crate) no_stamps: bool,
    /// Write CSV for a spreadsheet: a text that it would take for a formula, since it begins with =, +, -, @, a tab or a line break,
    /// gets an apostrophe in front. Numbers stay as they are
    #[arg(long)]
    pub(crate) spreadsheet: bool,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

/// What a table is written as.
#[cfg(feature = "tables")]
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Parquet, compressed
    Parquet,
    /// A file of Arrow, also known as Feather
    Arrow,
    /// Text with commas, a cell for each field; arrays are JSON
    Csv,
    /// A JSON object in each line
    Jsonl,
}

#[cfg(feature = "tables")]
impl Kind {
    /// What a file of this name has.
    pub(crate) fn of(path: &std::path::Path) -> Option<Kind> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "parquet" => Some(Kind::Parquet),
            "arrow" | "feather" => Some(Kind::Arrow),
            "csv" => Some(Kind::Csv),
            "jsonl" | "ndjson" => Some(Kind::Jsonl),
            _ => None,
        }
    }

    /// The ending of a file's name.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Kind::Parquet => "parquet",
            Kind::Arrow => "arrow",
            Kind::Csv => "csv",
            Kind::Jsonl => "jsonl",
        }
    }
}
