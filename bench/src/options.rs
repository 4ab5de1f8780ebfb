//! The command line.

use crate::{Case, Effort, Measure, Result, Workload, measure};
use isoform_kernels::Level;
use std::path::PathBuf;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Records into messages.
    Send,
    /// Messages into records.
    Receive,
    /// Bodies of one format into records of another.
    Convert,
    /// Formats that have never been seen.
    Generate,
    /// To an unlike machine and back, part by part.
    Roundtrip,
    /// Fields that the receiver does not expect.
    Evolve,
    /// Many small messages at once.
    Batch,
    /// Events from one program to another.
    Channel,
    /// Many sinks, many channels, and connections that come and go.
    Load,
    /// Formats that are registered at a service, and found there.
    Service,
    /// Events in files.
    Files,
    /// Formats from documents, and records as XML.
    Xmit,
    /// What queries make of records.
    Query,
    /// Records that are drawn anew in each run.
    Random,
    /// Records as JSON, and back.
    Text,
}

impl Group {
    /// All of them.
    pub const ALL: &[Group] = &[
        Group::Send,
        Group::Receive,
        Group::Convert,
        Group::Generate,
        Group::Roundtrip,
        Group::Evolve,
        Group::Batch,
        Group::Channel,
        Group::Load,
        Group::Service,
        Group::Files,
        Group::Xmit,
        Group::Query,
        Group::Random,
        Group::Text,
    ];

    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Group::Send => "send",
            Group::Receive => "receive",
            Group::Convert => "convert",
            Group::Generate => "generate",
            Group::Roundtrip => "roundtrip",
            Group::Evolve => "evolve",
            Group::Batch => "batch",
            Group::Channel => "channel",
            Group::Load => "load",
            Group::Service => "service",
            Group::Files => "files",
            Group::Xmit => "xmit",
            Group::Query => "query",
            Group::Random => "random",
            Group::Text => "text",
        }
    }
}

/// What to measure, how long, and how to print it.
#[derive(Clone, Debug)]
pub struct Options {
    /// In this order.
    pub groups: Vec<Group>,
    /// For each group.
    pub workloads: Vec<Workload>,
    /// Where they make sense.
    pub cases: Vec<Case>,
    /// Of the groups `channel` and `load`, which have neither workloads nor cases.
    pub measures: Vec<Measure>,
    /// How long.
    pub effort: Effort,
    /// Lines of JSON instead of a table.
    pub json: bool,
    /// Whether others are measured as well.
    pub peers: bool,
    /// Where the report goes, and the lines that it is made of.
    pub report: Option<PathBuf>,
    /// The level of vector instructions that is used, if not the best.
    pub level: Option<Level>,
    /// Which records the group `random` draws, if not new ones.
    pub seed: Option<u64>,
    /// The bytes of the stream in which the group `files` seeks.
    pub stream: u64,
    /// Make the report of the lines that are there already, and measure nothing.
    pub again: bool,
    /// What other processes run: this program.
    pub program: PathBuf,
}

/// How to call it.
pub const HELP: &str = "\
isoform-bench [GROUP..] [WORKLOAD..] [CASE..] [MEASURE..] [OPTION..]

  GROUP         send receive convert generate roundtrip evolve
                batch channel load service files xmit query random
                text                                                  default: all
  WORKLOAD      K01 K1 K10 K100 M100 S10 S1k S100k T A01 A1 A10 A100  default: all
  CASE          same appended front middle swap swapfront swapappended
                swap32 layout32 widen narrow project shuffled         default: all
  MEASURE       rtt rate bandwidth fanout local idle of channel,
                fanout channels connects tls strangers of load        default: all
  --report DIR  write DIR/report.html as well, and DIR/bench.jsonl, of which it is made
  --again       make report.html of the bench.jsonl that is there, and measure nothing
  --json        one object a line instead of a table
  --alone       without peers
  --level WORD  no better vector instructions: avx512 avx2 ssse3 neon portable,
                as far as this machine has them; the compiled C gets the same
  --seed N      the records that the group random drew with this seed
  --stream N    the bytes of the stream in which the group files seeks: 268435456
  --quick       only see that everything runs
  --counter F   count instructions instead of nanoseconds, under an emulator that keeps
                their number in this file: `make instructions`

Groups, workloads and measures are described in shared words: `cargo doc -p isoform-bench --open`.
";

impl Options {
    /// Reads the words of a command line.
    ///
    /// # Errors
    /// If there is a word that means nothing.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Options> {
        let mut options = Options {
            groups: vec![],
            workloads: vec![],
            cases: vec![],
            measures: vec![],
            effort: Effort::FULL,
            json: false,
            peers: true,
            report: None,
            level: None,
            seed: None,
            stream: 1 << 28,
            again: false,
            program: std::env::current_exe()?,
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let group = Group::ALL.iter().find(|group| group.name() == word);
            let case = Case::ALL.iter().find(|case| case.name() == word);
            let measure = Measure::ALL.iter().find(|measure| measure.name() == word);
            match (&*word, group, case, measure, Workload::all().into_iter().find(|workload| workload.name == word)) {
                ("--json", ..) => options.json = true,
                ("--report", ..) => options.report = Some(words.next().ok_or("--report needs a directory")?.into()),
                ("--level", ..) => options.level = Some(level(&words.next().unwrap_or_default())?),
                ("--seed", ..) => {
                    options.seed = Some(words.next().unwrap_or_default().parse().map_err(|_| "--seed needs a number")?)
                }
                ("--stream", ..) => {
                    options.stream =
                        words.next().unwrap_or_default().parse().map_err(|_| "--stream needs a number of bytes")?
                }
                ("--again", ..) => options.again = true,
                ("--alone", ..) => options.peers = false,
                ("--quick", ..) => options.effort = Effort::QUICK,
                ("--counter", ..) => {
                    measure::count_by(words.next().ok_or("--counter needs a file")?.as_ref())?;
                    options.effort = Effort::COUNTED;
                }
                (_, Some(group), ..) => options.groups.push(*group),
                (_, _, Some(case), ..) => options.cases.push(*case),
                (_, _, _, Some(measure), _) => options.measures.push(*measure),
                (.., Some(workload)) => options.workloads.push(workload),
                _ => return Err(format!("there is no group, workload, case or option {word:?}\n\n{HELP}").into()),
            }
        }
        if options.again && options.report.is_none() {
            return Err("--again needs a --report".into());
        }
        if options.groups.is_empty() {
            let wanted = |group: &&Group| options.measures.iter().any(|measure| measure.group() == **group);
            let named = Group::ALL.iter().filter(wanted).copied().collect();
            options.groups = if options.measures.is_empty() { Group::ALL.to_vec() } else { named };
        }
        if options.workloads.is_empty() {
            options.workloads = Workload::all();
        }
        if options.cases.is_empty() {
            options.cases = Case::ALL.to_vec();
        }
        if options.measures.is_empty() {
            options.measures = Measure::ALL.to_vec();
        }
        Ok(options)
    }
}

/// A level of this machine.
fn level(word: &str) -> Result<Level> {
    let words: Vec<_> = Level::all().iter().map(|level| level.word()).collect();
    Level::of(word).ok_or_else(|| format!("--level needs one of {}, not {word:?}", words.join(", ")).into())
}
