//! The reader's side: another struct, on this machine, that learns the simulation's layout from the first message.

use super::PACED;
use crate::explain;
use crate::failure::Failure;
use crate::output::{Output, Tone};
use isoform::plan::compare;
use isoform::stream::Reader;
use isoform::{Decoder, Enumeration, Faults, Format, Incoming, Plan, Record, Slice, Str};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time between two lines.
const LINE: Duration = Duration::from_millis(500);

/// The same symbols as the simulation's, with other numbers.
#[derive(Enumeration, Clone, Copy, Debug, PartialEq)]
#[repr(i8)]
enum Stage {
    Flood,
    Rising,
    Low,
}

#[derive(Record)]
#[repr(C)]
struct Gauge<'a> {
    name: Str<'a>,
    #[isoform(unit = "m")]
    level: f32,
}

/// What the reader wants: `depth` and `step` have become wider, `residual` is gone, `temperature` is new.
#[derive(Record)]
#[isoform(rename = "Reach")]
#[repr(C)]
struct Reach<'a> {
    step: i64,
    #[isoform(unit = "s")]
    time: f64,
    #[isoform(unit = "m")]
    depth: Slice<'a, f64>,
    #[isoform(unit = "m3/s")]
    flow: Slice<'a, f32>,
    gauges: Slice<'a, Gauge<'a>>,
    stage: Stage,
    #[isoform(unit = "mm/h")]
    rain: f32,
    #[isoform(unit = "degC", default = 11.5)]
    temperature: f32,
    sum: f64,
}

/// What the reader counts.
#[derive(Default)]
struct Tally {
    records: u64,
    bytes: u64,
    wrong: u64,
    /// Time spent in the decoder.
    decoding: Duration,
}

/// Starts the simulation - this program, or that of another machine, if there is a command for it - and watches it to
/// its end.
pub(super) fn run(whole: Duration, program: &[OsString], output: &mut Output) -> Result<(), Failure> {
    writeln!(output, "A simulation and a reader: two processes, two structs, a pipe between them.")?;
    match program.first() {
        Some(emulator) => writeln!(
            output,
            "The simulation is a program of another machine, run by {}.\nOf which kind, nobody has told the reader.\n",
            Path::new(emulator).file_name().unwrap_or(emulator).display()
        )?,
        None => writeln!(
            output,
            "The simulation lays out its records as a 32-bit big-endian machine would,\nwhich nobody has told the reader.\n"
        )?,
    }
    output.flush()?;
    let mut simulation = spawn(whole, program)?;
    let pipe = simulation.stdout.take().ok_or_else(|| Failure::data("the simulation has no output"))?;
    let done = watch(Reader::new(pipe), whole, output);
    // If watching failed, the pipe is closed by now, and the simulation ends at its next record.
    let status = simulation.wait()?;
    // A program that cannot run says so by its status; that it published nothing is only what follows.
    match (done, status.success()) {
        (done, true) => done,
        (_, false) => Err(Failure::data(format!("the simulation failed: {status}"))),
    }
}

fn spawn(whole: Duration, program: &[OsString]) -> Result<Child, Failure> {
    let mut command = match program {
        [] => Command::new(std::env::current_exe()?),
        [emulator, arguments @ ..] => {
            let mut command = Command::new(emulator);
            command.args(arguments);
            command
        }
    };
    command.args(["demo", "--simulation", "--seconds", &whole.as_secs_f64().to_string()]);
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    spawned.map_err(|error| Failure::data(format!("{}: {error}", command.get_program().display())))
}

fn watch(mut reader: Reader<impl std::io::Read>, whole: Duration, output: &mut Output) -> Result<(), Failure> {
    let mut decoder = Decoder::<Reach>::new();
    let Some((_, wire)) = reader.peek()? else { return Err(Failure::data("the simulation published nothing")) };
    explain(&wire, decoder.format(), output)?;
    heading(output)?;
    let start = Instant::now();
    let paced = whole.mul_f64(PACED);
    let (mut slow, mut fast) = (Tally::default(), Tally::default());
    let mut fast_since = None;
    let mut next_line = Duration::ZERO;
    while let Some(message) = reader.next()? {
        let now = start.elapsed();
        let tally = if now < paced { &mut slow } else { &mut fast };
        if now >= paced && fast_since.is_none() {
            fast_since = Some(now);
            writeln!(output, "\n... and now as fast as it can ...")?;
            output.flush()?;
        }
        let reach = receive(&mut decoder, &message, tally)?;
        if now < paced && now >= next_line {
            next_line += LINE;
            line(reach, output)?;
        }
    }
    let seconds = (start.elapsed() - fast_since.unwrap_or_default()).as_secs_f64();
    summary(&slow, &fast, seconds, output)
}

fn receive<'m>(
    decoder: &'m mut Decoder<Reach<'_>>,
    message: &Incoming<'m>,
    tally: &mut Tally,
) -> Result<&'m Reach<'m>, Failure> {
    let begin = Instant::now();
    let reach = decoder.decode(message)?;
    tally.decoding += begin.elapsed();
    tally.records += 1;
    tally.bytes += message.body().len() as u64;
    let depths = reach.depth.as_slice().iter().copied();
    let flows = reach.flow.as_slice().iter().map(|&flow| f64::from(flow));
    let sum: f64 = depths.chain(flows).sum();
    let as_sent = sum == reach.sum && reach.temperature == 11.5 && reach.gauges.as_slice().len() == 3;
    tally.wrong += u64::from(!as_sent);
    Ok(reach)
}

/// What was decided for each field when the first message came.
fn explain(wire: &Format, native: &Format, output: &mut Output) -> Result<(), Failure> {
    let rules = Reach::rules();
    let (_, reports) = Plan::explained(wire, native, &rules, Faults::Error)?;
    explain::fields(&reports, output)?;
    let verdict = compare(wire, native, &rules, Faults::Error);
    writeln!(
        output,
        "\nverdict: {} - each side can read what the other writes",
        output.paint(Tone::Good, &verdict.to_string())
    )?;
    writeln!(output, "machine: {} there; {} here", wire.machine(), native.machine())?;
    writeln!(output, "token:   {}, the hash of the simulation's layout\n", wire.token())?;
    Ok(output.flush()?)
}

fn heading(output: &mut Output) -> Result<(), Failure> {
    let head = format!("{:>6}  {:>5}  {:<48}  {:>7}  reach", "time", "mm/h", "depth along 24 km of river", "Harbour");
    writeln!(output, "{}", output.paint(Tone::Faint, &head))?;
    Ok(output.flush()?)
}

/// The state of the river, on one line.
fn line(reach: &Reach<'_>, output: &mut Output) -> Result<(), Failure> {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |depth: &f64| BARS[((depth - 0.6) / 1.8 * 8.0).clamp(0.0, 7.0) as usize];
    let profile: String = reach.depth.as_slice().iter().map(bar).collect();
    let minutes = (reach.time / 60.0) as u64;
    let harbour = reach.gauges.as_slice().iter().find(|gauge| gauge.name.to_bytes() == b"Harbour");
    let level = harbour.map_or(f32::NAN, |gauge| gauge.level);
    let (tone, stage) = match reach.stage {
        Stage::Low => (Tone::Good, "low"),
        Stage::Rising => (Tone::Warning, "rising"),
        Stage::Flood => (Tone::Bad, "flood"),
    };
    let (hours, minutes) = (minutes / 60, minutes % 60);
    let stage = output.paint(tone, stage);
    writeln!(output, "{hours:>3}:{minutes:02}  {:>5.1}  {profile}  {level:>5.2} m  {stage}", reach.rain)?;
    Ok(output.flush()?)
}

fn summary(slow: &Tally, fast: &Tally, seconds: f64, output: &mut Output) -> Result<(), Failure> {
    if fast.records > 0 && seconds > 0.0 {
        let rate = fast.records as f64 / seconds;
        let megabytes = fast.bytes as f64 / seconds / 1e6;
        let each = fast.decoding.as_nanos() as u64 / fast.records;
        let size = fast.bytes / fast.records;
        writeln!(
            output,
            "\n{} records of {size} bytes in {seconds:.1} s: {rate:.0} a second, {megabytes:.0} MB/s",
            fast.records
        )?;
        writeln!(
            output,
            "each was checked and converted in {each} ns, a clock's two readings included;\nmost of the time went to the simulation and the pipe"
        )?;
    }
    let (records, wrong) = (slow.records + fast.records, slow.wrong + fast.wrong);
    writeln!(
        output,
        "{records} records in all, the slow ones too; by their sums, {} are right, {wrong} wrong",
        records - wrong
    )?;
    writeln!(output, "\nlook at it yourself:  isoform demo --simulation | isoform dump --count 3 -")?;
    match (records, wrong) {
        (0, _) => Err(Failure::data("no record arrived")),
        (_, 0) => Ok(()),
        _ => Err(Failure::data(format!("{wrong} records are not what was sent"))),
    }
}
