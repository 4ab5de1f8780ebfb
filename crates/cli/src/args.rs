//! The command line: what can be asked, and the help that explains it.

mod channel;

pub(crate) use channel::{Channel, Echo, Info, Plot, Policy, Publish};

use crate::output::Output;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use isoform::Limits;
use isoform::core::plan;
use std::ffi::OsString;
use std::io::Write;

/// Look into streams and channels of records, their formats, and how they convert.
#[derive(Parser)]
#[command(name = "isoform", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "\
A SOURCE is a stream of records, a text file of shapes, a channel, or - for standard input: see
`isoform help sources`.

Exit status: 0 done; 1 the data or the comparison failed; 2 the command line is wrong, or a source cannot be opened.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    Dump(Dump),
    #[command(flatten)]
    Channel(Channel),
    Format(Format),
    Explain(Explain),
    Layout(Layout),
    /// How to name what a command reads
    #[command(long_about = SOURCES)]
    Sources,
    /// Print a script that completes commands in a shell
    #[command(after_help = "Example:
  mkdir -p ~/.local/share/bash-completion/completions
  isoform completions bash > ~/.local/share/bash-completion/completions/isoform")]
    Completions {
        /// The shell that is to run the script
        shell: Shell,
    },
}

/// Watch a simulation and its watchers exchange events across unlike machines
///
/// Four processes on one channel: a simulation, a monitor that has another struct, a viewer that knows nothing, and a
/// sleeper, which is stopped for a while. At the end, what was submitted is compared with what each of them has taken and
/// lost; the exit status is 1 if that does not add up.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo
  isoform demo --simulation --seconds 1 | isoform format -
  isoform demo -- qemu-ppc -L /usr/powerpc-linux-gnu powerpc/isoform")]
pub(crate) struct Demo {
    /// Only the simulation: its records, as a stream on standard output
    #[arg(long)]
    pub(crate) simulation: bool,
    /// Only the simulation, on a channel, whose id it prints; it begins with the first sink
    #[arg(long, conflicts_with = "simulation")]
    pub(crate) publish: bool,
    /// .. or when there are so many
    #[arg(long, default_value_t = 1, requires = "publish", hide = true)]
    pub(crate) sinks: usize,
    /// How long it goes on
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub(crate) seconds: f64,
    /// What runs the simulation: `isoform` as a program of another machine, behind its emulator
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["simulation", "publish"])]
    pub(crate) program: Vec<OsString>,
}

/// Show the records of a stream
///
/// Records are shown for the eye, with long arrays cut; --json has all of them. A message that cannot be shown - its
/// format is unknown, its body is malformed - is told of, and the dump goes on behind it.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform demo --simulation | isoform dump --count 3 -
  isoform demo --simulation --seconds 1 > river.iso
  isoform dump river.iso | less
  isoform dump --table --fields 'step,rain,depth[3],gauges[0].name' river.iso
  isoform dump --json 'river.iso#Reach' | head -n 1
  isoform dump --follow --count 100 river.iso")]
pub(crate) struct Dump {
    /// A stream; see `isoform help sources`
    pub(crate) source: String,
    /// One JSON object a line: the record
    #[arg(long, conflicts_with = "table")]
    pub(crate) json: bool,
    /// One row a record
    #[arg(long)]
    pub(crate) table: bool,
    /// Wait for more records at the end of a file
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Stop after so many records
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) count: Option<u64>,
    /// Only the fields at these paths
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    pub(crate) fields: Vec<String>,
    /// Pass over records of more than so many bytes
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().message)]
    pub(crate) max_message: u64,
}

/// How records are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Json,
    Table,
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

/// Show the formats in a source: fields, types, offsets, gaps
///
/// For each format also its size, the machine that it is for, and its token. Of a stream, formats are shown in the order in which its messages use them, and then those that it only
/// describes. A gap is bytes that belong to no field.
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
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Explain what a receiver of one format makes of another
///
/// For each field: what it comes as, what it becomes, what is done for it and at what cost, and what may be lost. At last
/// the verdict: identical, no copy needed, full (each side reads the other's records), backward (NATIVE reads WIRE),
/// forward (only WIRE could read NATIVE) or incompatible. The exit status is 1 if NATIVE cannot read WIRE.
///
/// Of sources with several formats, the one is taken whose name is in both.
#[derive(Args)]
#[command(after_help = "Examples:
  printf 'record Point\\n  id  int\\n  x   float\\n' > old.shape
  printf 'record Point\\n  id  long\\n  x   double\\n  y   double\\n' > new.shape
  isoform explain old.shape@s390x new.shape
  isoform explain --plan old.shape@s390x new.shape
  isoform explain --json --faults saturate new.shape old.shape@s390x")]
pub(crate) struct Explain {
    /// What comes: a stream, shapes or a channel; see `isoform help sources`
    pub(crate) wire: String,
    /// What is wanted: one of these, too
    pub(crate) native: String,
    /// Show the plan, step by step
    #[arg(long)]
    pub(crate) plan: bool,
    /// What is done with numbers that do not fit
    #[arg(long, value_enum, default_value_t)]
    pub(crate) faults: Faults,
    /// One JSON object a line: the fields, then the verdict
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is done with numbers that do not fit.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Faults {
    /// The record is refused
    #[default]
    Error,
    /// The nearest number that fits is taken
    Saturate,
    /// Integers keep their low bits, floats become infinite
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
/// Without a file: every layout that has a name, with byte order and the sizes and alignments of C's types.
/// With a source: where each field of its records lies on every machine, or on the one named by --on.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform layout
  printf 'record Point\\n  id  int\\n  x   double\\n' > point.shape
  isoform layout point.shape
  isoform layout --on s390x point.shape")]
pub(crate) struct Layout {
    /// Shapes of records, or a stream; see `isoform help sources`
    pub(crate) source: Option<String>,
    /// Only on this machine
    #[arg(long, value_name = "NAME")]
    pub(crate) on: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

const SOURCES: &str = r#"How to name what a command reads:

  PATH              a stream of records, or a text file of shapes: the first
                    byte tells which
  -                 the same, from standard input
  PATH#NAME         of several formats in it, the one of this name; or of the
                    token that begins with these digits
  PATH@LAYOUT       shapes, laid out for another machine than this one, such as
                    track.shape@s390x; `isoform layout` lists the machines
  PATH#NAME@LAYOUT  both

  iso://HOST:PORT/CHANNEL[/IDENTITY]
                    a channel, asked for at one of its members: for `echo`, its
                    events; for `format` and `explain`, its type
  iso+unix:///PATH/CHANNEL[/IDENTITY]
                    the same, where the member listens at a Unix socket

A file whose own name has # or @ in it is found as it is.

A stream is messages one after another, each format described before its first
message, as the library's stream writer writes them. Shapes are declarations
such as

  record Point
    x  double  unit="m"
    y  double  unit="m"
  record Track
    count   int
    points  Point[count]

A type is one of these, or the name of a record declared above:

  int, unsigned long, size_t, int32_t ..     as C has them on the machine
  i8 i16 i32 i64 i128, u8 .. u128            integers of so many bits
  f16 f32 f64 f128, bf16, x87, double-double,
  float, double, long double                 floating-point numbers
  complex f64, complex long double ..        two of them
  bool, char, string (or char*)
  enumeration{low=0,high}                    numbers that have names
  TYPE[5]  TYPE[n]  TYPE[n][3]               arrays; n is an integer field
  TYPE*                                      a pointer to one, or null

Further kinds of sources are understood, and not yet opened by this version:

  token:HEX                a format known to a format service
  elf:FILE#STRUCT          a struct, from a program's debug information
  xsd:URL#TYPE             a type of an XML Schema document"#;

/// Prints what `isoform help sources` says.
pub(crate) fn sources(output: &mut Output) -> std::io::Result<()> {
    writeln!(output, "{SOURCES}")
}
