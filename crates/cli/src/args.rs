//! The command line and its help.

mod channel;
#[cfg(feature = "files")]
mod files;
#[cfg(all(any(unix, windows), feature = "tls"))]
mod keys;
#[cfg(feature = "service")]
pub(crate) mod service;

#[cfg(feature = "xmit")]
mod xmit;

#[cfg(any(unix, windows))]
pub(crate) use channel::Network;
#[cfg(feature = "watch")]
pub(crate) use channel::Watch;
pub(crate) use channel::{Channel, Derive, Echo, Emitting, Info, Plot, Publish};
#[cfg(feature = "files")]
pub(crate) use files::Span;
#[cfg(feature = "tables")]
pub(crate) use files::{Export, Kind};
#[cfg(all(any(unix, windows), feature = "files"))]
pub(crate) use files::{Record, Replay};
#[cfg(all(any(unix, windows), feature = "tls"))]
pub(crate) use keys::{Issue, Keys, What};

#[cfg(feature = "xmit")]
pub(crate) use xmit::{Bind, Dehydrate, Gen, Hydrate, Load, MarkupOf, Match, Text, What as XmitWhat, Xmit};

use crate::output::Output;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use isoform::Limits;
use isoform::core::plan;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// Inspect streams and channels of records, their formats, and their conversion.
#[derive(Parser)]
#[command(name = "isoform", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "\
A SOURCE is a stream of records, a text file of shapes, a channel, or - for standard input: see
`isoform help sources`.

Exit status: 0 success; 1 an error in the data, or a negative result; 2 an error in the command line, or a source cannot be opened.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    Dump(Dump),
    Query(Query),
    Check(Check),
    Append(Append),
    Index(Index),
    #[cfg(feature = "tables")]
    Export(Export),
    #[command(flatten)]
    Channel(Channel),
    #[cfg(all(any(unix, windows), feature = "tls"))]
    Keys(Keys),
    #[cfg(feature = "service")]
    Serve(service::Serve),
    #[cfg(feature = "service")]
    Formats(service::Formats),
    #[cfg(feature = "xmit")]
    Xmit(Xmit),
    Format(Format),
    Explain(Explain),
    Layout(Layout),
    /// List the kinds of sources that a command reads
    #[command(long_about = SOURCES)]
    Sources,
    /// Print a script that completes commands in a shell
    #[command(after_help = "Example:
  mkdir -p ~/.local/share/bash-completion/completions
  isoform completions bash > ~/.local/share/bash-completion/completions/isoform")]
    Completions {
        /// The shell that runs the script
        shell: Shell,
    },
}

/// Run a demonstration: a simulation and its watchers exchange events across different machines
///
/// Five processes use one channel: a simulation, a monitor with another struct, a viewer without a struct, a ranger that asks
/// for changes alone, and a sleeper, which is stopped for a while. At the end, the command compares the events that were
/// submitted with those that each process received and lost. The exit status is 1 if they do not add up.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo
  isoform demo --simulation --seconds 1 | isoform format -
  isoform demo -- qemu-ppc -L /usr/powerpc-linux-gnu powerpc/isoform")]
pub(crate) struct Demo {
    /// Run only the simulation, and write its records to standard output as a stream
    #[arg(long)]
    pub(crate) simulation: bool,
    /// Run only the simulation, on a channel, and print its id; the simulation starts when there is a sink
    #[arg(long, conflicts_with = "simulation")]
    pub(crate) publish: bool,
    /// Start when there are this many sinks
    #[arg(long, default_value_t = 1, requires = "publish", hide = true)]
    pub(crate) sinks: usize,
    /// Duration; the simulation is slowed down for most of it, and goes as fast as it can at the end
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub(crate) seconds: f64,
    /// The command that runs the simulation: an emulator, and `isoform` as a program of another machine
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["simulation", "publish"])]
    pub(crate) program: Vec<OsString>,
}

/// Show the records of a stream
///
/// Long arrays are cut, except with --json. If a message cannot be shown, for instance because its format is unknown or its
/// body is malformed, the command reports that and continues with the next message.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo --simulation | isoform dump --count 3 -
  isoform demo --simulation --seconds 1 > river.iso
  isoform dump river.iso | less
  isoform dump --table --fields 'step,rain,depth[3],gauges[0].name' river.iso
  isoform dump --json 'river.iso#Reach' | head -n 1
  isoform dump --query 'where depth[3] > 2.5 | select step, deep = max(depth)' river.iso
  isoform dump --follow --count 100 river.iso
  isoform dump --from 200 --to 210 river.iso
  isoform dump --raw elf:./gauge#gauge gauges.bin")]
pub(crate) struct Dump {
    /// A stream; see `isoform help sources`
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) raw: Raw,
    /// Of a recording, show only the channels of these names
    #[arg(long, value_name = "NAME", conflicts_with = "raw")]
    pub(crate) channel: Vec<String>,
    /// Print each record as a JSON object on one line
    #[arg(long, conflicts_with = "table")]
    pub(crate) json: bool,
    /// Print each record as a row of a table
    #[arg(long)]
    pub(crate) table: bool,
    /// Begin at this message, counted from 1, or at byte:N; in a recording, so many seconds after its beginning
    #[arg(long, value_name = "PLACE", value_parser = point, allow_negative_numbers = true, conflicts_with = "raw")]
    pub(crate) from: Option<Point>,
    /// End with this message, or with the one at byte:N; in a recording, so many seconds after its beginning
    #[arg(long, value_name = "PLACE", value_parser = point, allow_negative_numbers = true, conflicts_with_all = ["raw", "follow"])]
    pub(crate) to: Option<Point>,
    /// Wait for more records at the end of a file
    #[arg(long, short, conflicts_with = "raw")]
    pub(crate) follow: bool,
    /// Go on behind damage in a sealed stream, and say which bytes are missing
    #[arg(long, conflicts_with = "raw")]
    pub(crate) resume: bool,
    /// Stop after N records
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) count: Option<u64>,
    /// Show only the fields at these paths
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    pub(crate) fields: Vec<String>,
    /// Show only the results of a query: `where CONDITION | every N | select FIELD, NAME = EXPRESSION`
    #[arg(long, value_name = "TEXT")]
    pub(crate) query: Option<String>,
    /// Skip records of more than this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().message)]
    pub(crate) max_message: u64,
}

/// Whether a source is a raw file, for each command that reads records.
#[derive(Args)]
pub(crate) struct Raw {
    /// Read records of this format without headers, as a C program writes structs with fwrite(): elf:PROGRAM#STRUCT, or another source of
    /// one format
    #[arg(long = "raw", id = "raw", value_name = "FORMAT")]
    pub(crate) of: Option<String>,
}

/// A place of a stream or a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Point {
    /// The number of a message, or seconds.
    Number(f64),
    Byte(u64),
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Point::Number(number) => write!(f, "{number}"),
            Point::Byte(byte) => write!(f, "byte:{byte}"),
        }
    }
}

fn point(text: &str) -> Result<Point, &'static str> {
    let point = match text.strip_prefix("byte:") {
        Some(byte) => byte.parse().ok().map(Point::Byte),
        None => text.parse().ok().filter(|number: &f64| *number >= 0.0 && *number < 1e15).map(Point::Number),
    };
    point.ok_or(
        "the number of a message, from 1, or byte:N; or seconds from the beginning of a recording, such as 0 or 12.5",
    )
}

/// How records are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Json,
    Table,
}

/// Show the results of a query for the records of a stream
///
/// This is `dump` with the option --query. A query has stages with `|` between them: `where CONDITION`, `every N`,
/// `changed FIELD by AMOUNT`, `key FIELD`, and `select FIELD, NAME = EXPRESSION`. The command refuses a query that does not fit
/// the records; the error names the place in the query. spec/query.md defines the language.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo --simulation --seconds 1 > river.iso
  isoform query 'river.iso#Reach' 'where any(depth > 1) | select step, deep = max(depth)'
  isoform query --table 'river.iso#Reach' 'every 20'")]
pub(crate) struct Query {
    /// A stream; see `isoform help sources`
    source: String,
    /// The query
    text: String,
    #[command(flatten)]
    raw: Raw,
    /// Of a recording, show only the channels of these names
    #[arg(long, value_name = "NAME", conflicts_with = "raw")]
    channel: Vec<String>,
    /// Print each record as a JSON object on one line
    #[arg(long, conflicts_with = "table")]
    json: bool,
    /// Print each record as a row of a table
    #[arg(long)]
    table: bool,
    /// Begin at this message, counted from 1, or at byte:N; in a recording, so many seconds after its beginning
    #[arg(long, value_name = "PLACE", value_parser = point, allow_negative_numbers = true, conflicts_with = "raw")]
    from: Option<Point>,
    /// End with this message, or with the one at byte:N; in a recording, so many seconds after its beginning
    #[arg(long, value_name = "PLACE", value_parser = point, allow_negative_numbers = true, conflicts_with = "raw")]
    to: Option<Point>,
    /// Go on behind damage in a sealed stream, and say which bytes are missing
    #[arg(long, conflicts_with = "raw")]
    resume: bool,
    /// Stop after N records
    #[arg(long, short = 'n', value_name = "N")]
    count: Option<u64>,
}

impl From<Query> for Dump {
    fn from(query: Query) -> Dump {
        Dump {
            source: query.source,
            raw: query.raw,
            channel: query.channel,
            json: query.json,
            table: query.table,
            from: query.from,
            to: query.to,
            follow: false,
            resume: query.resume,
            count: query.count,
            fields: Vec::new(),
            query: Some(query.text),
            max_message: Limits::default().message,
        }
    }
}

impl Dump {
    pub(crate) fn limits(&self) -> Limits {
        Limits { message: self.max_message, ..Limits::default() }
    }

    pub(crate) fn style(&self) -> Style {
        Style::of(self.json, self.table)
    }
}

impl Style {
    fn of(json: bool, table: bool) -> Style {
        match (json, table) {
            (true, _) => Style::Json,
            (_, true) => Style::Table,
            _ => Style::Plain,
        }
    }
}

/// Say whether streams and recordings are whole
///
/// The command reads everything: each message, each body by its format, the checksums of a recording, and the numbers of its events. For each
/// format, or each source of a recording, it counts the records; those whose bodies are malformed; the events that the recording declares lost;
/// and those that are missing without a word. For each damaged place, it says at which byte it is, in which message, what was expected there and
/// what was found, how many messages in front of it are whole, and how many behind it can be read. Only a sealed stream, or a recording, can be
/// read behind damage. The exit status is 1 if a file is not whole.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo --simulation --seconds 1 > river.iso
  isoform check river.iso
  isoform check --json river.iso")]
pub(crate) struct Check {
    /// Streams or recordings; see `isoform help sources`
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// Print JSON, one object for each source
    #[arg(long)]
    pub(crate) json: bool,
}

/// Append the records of a stream to another one, in a file
///
/// The file is created if it is not there, and healed before: if its last message is cut, or if bytes that are no message follow, these move to a
/// new file beside it (river.iso.cut), since nobody could read what comes behind them. Without SOURCE, the command only heals the file. It is
/// locked for that time: two programs at once cannot append. To a sealed stream, the command appends sealed messages.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo --simulation --seconds 1 | isoform append river.iso -
  head -c -20 river.iso > cut.iso
  isoform append cut.iso
  isoform append cut.iso river.iso")]
pub(crate) struct Append {
    /// The file that grows
    pub(crate) file: PathBuf,
    /// A stream; see `isoform help sources`
    pub(crate) source: Option<String>,
    /// Seal the messages: with a checksum in front of each, readers notice damage, and can go on behind it
    #[arg(long)]
    pub(crate) sealed: bool,
}

/// Write an index beside a stream, so that places in it are found at once
///
/// The index of river.iso is river.iso.index. With it, `dump --from` and `query --from` read only what is near the place, however long the stream
/// is. They compare the ends of the stream with the index: one of another stream is not used. If the stream has grown since, what is behind the
/// end of the index is read as without one.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo --simulation --seconds 1 > river.iso
  isoform index river.iso
  isoform dump --from 200 --count 3 river.iso
  isoform query --from byte:100000 --count 3 'river.iso#Reach' 'select step'")]
pub(crate) struct Index {
    /// Streams, in files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) sources: Vec<String>,
}

/// Show the formats in a source: fields, types, offsets, gaps
///
/// For each format, the command also shows its size, its machine, and its token. Formats of a stream are in the order in which
/// its messages use them; formats that the stream only describes come last. Gaps are bytes that belong to no field.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo --simulation --seconds 1 | isoform format -
  printf 'record Point\\n  id  int\\n  x   double\\n' > point.shape
  isoform format point.shape
  isoform format point.shape@s390x
  isoform format --json 'point.shape#Point'")]
pub(crate) struct Format {
    /// A stream or shapes; see `isoform help sources`
    pub(crate) source: String,
    /// Print JSON, one object on each line
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the bytes of one format's description, for programs that parse it (isoform.Format.parse, iso_format_parse)
    #[arg(long, conflicts_with = "json")]
    pub(crate) description: bool,
}

/// Explain how a receiver of one format converts records of another
///
/// For each field, the command shows the type that is sent, the type that results, the conversion and its cost, and possible
/// losses. The last line is the verdict: identical, no copy needed, full (each side reads the other's records), backward
/// (NATIVE reads WIRE), forward (only WIRE could read NATIVE) or incompatible. The exit status is 1 if NATIVE cannot read
/// WIRE.
///
/// If a source has several formats, the command takes the one whose name is in both sources.
///
/// With --query, it shows instead what a query would make of the records: the fields that it looks at, the most steps that it
/// takes, the format of the results, and how many sinks of a channel share it.
#[derive(Args)]
#[command(after_help = "Examples:
  printf 'record Point\\n  id  int\\n  x   float\\n' > old.shape
  printf 'record Point\\n  id  long\\n  x   double\\n  y   double\\n' > new.shape
  isoform explain new.shape old.shape@s390x
  isoform explain --missing zero --plan old.shape@s390x new.shape
  isoform explain --code new.shape@s390x new.shape
  isoform explain --time new.shape@s390x old.shape
  isoform explain --default Point.y=0.5 old.shape new.shape
  isoform explain --json --faults saturate new.shape old.shape@s390x
  isoform explain old.shape --query 'changed x by 0.5 | select id, far = abs(x) > 9'")]
pub(crate) struct Explain {
    /// The sender's format: a stream, shapes or a channel; see `isoform help sources`
    pub(crate) wire: String,
    /// The receiver's format, likewise
    #[arg(required_unless_present = "query")]
    pub(crate) native: Option<String>,
    /// Explain this query on records of WIRE instead
    #[arg(long, conflicts_with_all = ["native", "plan", "code", "time", "alias", "default", "default_zero", "required"])]
    pub(crate) query: Option<String>,
    /// Show the steps of the plan
    #[arg(long)]
    pub(crate) plan: bool,
    /// Show the steps of the plan, and the machine code that is made of them on this computer
    #[arg(long)]
    pub(crate) code: bool,
    /// Measure what each step costs for a record, in bytes and nanoseconds: now, here, on a record that is made for it
    #[arg(long)]
    pub(crate) time: bool,
    /// The treatment of numbers that do not fit
    #[arg(long, value_enum, default_value_t)]
    pub(crate) faults: Faults,
    /// The treatment of fields that the sender lacks. A shape has no defaults
    #[arg(long, value_enum, default_value_t)]
    pub(crate) missing: Missing,
    /// Another name of a field of the receiver, as in depth=d or Point.x=pos.x
    #[arg(long, value_name = "FIELD=NAME", value_parser = assignment)]
    pub(crate) alias: Vec<(String, String)>,
    /// The default of a field of the receiver, as JSON: depth=0.5
    #[arg(long, value_name = "FIELD=JSON", value_parser = assignment)]
    pub(crate) default: Vec<(String, String)>,
    /// A field of the receiver that becomes zero, null or empty if the sender lacks it
    #[arg(long, value_name = "FIELD")]
    pub(crate) default_zero: Vec<String>,
    /// A field of the receiver that the sender must have
    #[arg(long, value_name = "FIELD")]
    pub(crate) required: Vec<String>,
    /// Print JSON, one object on each line: the fields, then the verdict
    #[arg(long)]
    pub(crate) json: bool,
}

/// A name and a value, with `=` between them.
fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((field, value)) if !field.is_empty() => Ok((field.into(), value.into())),
        _ => Err("expected FIELD=VALUE".into()),
    }
}

/// The treatment of fields that the sender lacks and that have no default.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Missing {
    /// Refuse the format, or the line of JSON, and name the fields
    #[default]
    Refuse,
    /// Make them zero, null or empty
    Zero,
}

impl From<Missing> for plan::Missing {
    fn from(missing: Missing) -> plan::Missing {
        match missing {
            Missing::Refuse => plan::Missing::Refuse,
            Missing::Zero => plan::Missing::Zero,
        }
    }
}

/// The treatment of numbers that do not fit.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Faults {
    /// Refuse the record
    #[default]
    Error,
    /// Take the nearest number that fits
    Saturate,
    /// Keep the low bits of integers, and let floats become infinite
    Wrap,
}

impl From<Faults> for plan::Faults {
    fn from(faults: Faults) -> plan::Faults {
        match faults {
            Faults::Error => plan::Faults::Error,
            Faults::Saturate => plan::Faults::Saturate,
            Faults::Wrap => plan::Faults::Wrap,
        }
    }
}

/// Show how machines lay out records
///
/// Without a source, the command lists the known layouts, with their byte order and the sizes and alignments of C's types.
/// With a source, it shows the place of each field on every machine, or on the machine named by --on.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform layout
  printf 'record Point\\n  id  int\\n  x   double\\n' > point.shape
  isoform layout point.shape
  isoform layout --on s390x point.shape")]
pub(crate) struct Layout {
    /// Shapes of records, or a stream; see `isoform help sources`
    pub(crate) source: Option<String>,
    /// Show only this machine
    #[arg(long, value_name = "NAME")]
    pub(crate) on: Option<String>,
    /// Print JSON, one object on each line
    #[arg(long)]
    pub(crate) json: bool,
}

const SOURCES: &str = r#"These are the sources that a command reads:

  PATH              a stream of records, a recording (`isoform record`), or a
                    text file of shapes; the first bytes distinguish them
  -                 the same, from standard input
  PATH#NAME         one of several formats: the one of this name, or the one
                    whose token begins with these digits
  PATH@LAYOUT       shapes laid out for another machine, such as
                    track.shape@s390x; `isoform layout` lists the machines
  PATH#NAME@LAYOUT  both

  iso://HOST:PORT/CHANNEL[/IDENTITY]
                    a channel, at the address of one of its members: `echo`
                    reads its events, `format` and `explain` its type
  iso+unix:///PATH/CHANNEL[/IDENTITY]
                    the same, for a member that listens at a Unix socket
  iso://..?also=tcp:HOST:PORT&also=unix:PATH
                    the same, at whichever of several members is there

  token:HEX         a format of a format service, by its token
  name:NAME         the formats of the latest version of a name there
  name:NAME@3       those of another version; #TOKEN chooses one of several

  xsd:PLACE#TYPE    a type of an XML Schema document, at a path or a URL with
                    http: or https:
  xsd:PLACE         all its types
  xsd:PLACE#TYPE@LAYOUT
                    laid out for another machine
  idl:PLACE#TYPE    the same for a document in IDL of CORBA or DDS,
  msg:PLACE#TYPE    a message of ROS,
  jsonschema:PLACE#TYPE
                    an object of a JSON Schema,
  proto:PLACE#TYPE  a message of Protocol Buffers,
  c:PLACE#TYPE      or a struct of a C header, which is not preprocessed;
                    a TYPE of which there are several has its scopes, such as
                    q::Status; `isoform xmit load idl:PLACE` lists all
  overlay:FILE:xsd:PLACE#TYPE
                    a document, in any language, with what you change of it:
                    other names, units and defaults (spec/xmit.md, "Overlay")

  elf:PATH#STRUCT   a struct of a compiled program or object file, from its
                    debug information; #STRUCT@UNIT:LINE or, in C++,
                    #SCOPE::STRUCT chooses one of several; `isoform xmit load
                    elf:PATH` lists all
  overlay:FILE:elf:PATH#STRUCT
                    the same with what you say of it, such as what its
                    pointers point at

A file may have # or @ in its own name. The variable ISOFORM_FORMATS has the
URLs of format services, separated by commas. If it is set, formats that a
stream does not describe are looked up there; for token: and name:, a service
on this machine is asked without it. A stream may say itself where its formats
are described, and a document may need others: they are fetched from hosts in
the variable ISOFORM_HOSTS, separated by commas, and documents also from the
server of the first one.

A stream is a sequence of messages, with the description of each format before
its first message. The library's stream writer writes streams. Shapes are
declarations such as

  record Point
    x  double  unit="m"
    y  double  unit="m"
  record Track
    count   int
    points  Point[count]

A type is one of these, or the name of a record declared above:

  int, unsigned long, size_t, int32_t ..     types of C on the machine
  i8 i16 i32 i64 i128, u8 .. u128            integers of this many bits
  f16 f32 f64 f128, bf16, x87, double-double,
  float, double, long double                 floating-point numbers
  complex f64, complex long double ..        two of them
  bool, char, string (or char*)
  enumeration{low=0,high}                    integers with names
  TYPE[5]  TYPE[n]  TYPE[n][3]               arrays; n is an integer field
  TYPE*                                      a pointer to one, or null"#;

/// Prints what `isoform help sources` says.
pub(crate) fn sources(output: &mut Output) -> std::io::Result<()> {
    writeln!(output, "{SOURCES}")
}
