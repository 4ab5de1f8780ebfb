//! What the command does with a recording, in the group `files`. The command lies beside this program: `cargo build --release -p isoform-cli`.
//!
//! - `replay`: `isoform replay --max` publishes it, and a lossless sink in this process takes every event: from the first to the last.
//! - `export`: `isoform export` makes a table of it, Parquet unless the figure says otherwise: from the start of the command to its end.

use crate::channel::turns::turns;
use crate::{Line, Options, Result, files};
use isoform::Messages;
use isoform_channel::{Event, Node};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Measures what [the module](self) says, with a recording of `count` events.
///
/// # Errors
/// If the command fails, an event is missing, or `line` fails.
pub(crate) fn run(
    options: &Options,
    recording: &Path,
    compression: &str,
    count: u32,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    let Some(command) = command(&options.program) else {
        return line(Line::skipped("replay and export", "cargo build --release -p isoform-cli"));
    };
    let rounds = options.effort.rounds.min(7);
    let about = |measure| {
        Line::of("files").word("measure", measure).word("compression", compression).count("bytes", files::BYTES)
    };
    let replay = turns(rounds, 1, |_| replay(&command, recording, count))?;
    let written = replay[0].with_rate(about("replay"), "");
    line(written.figure("ns", replay[0].median()))?;
    let export = turns(rounds, 4, |who| {
        let start = Instant::now();
        match ["parquet", "arrow", "csv"].get(who) {
            Some(kind) => export(&command, recording, kind)?,
            None => drop(std::hint::black_box(std::fs::read(recording)?)),
        }
        Ok(files::each(start, count))
    })?;
    let written = export[3].with_rate(export[0].with_rate(about("export"), ""), "raw_");
    let written = written.figure("ratio", export[0].ratio(&export[3])).figure("ns", export[0].median());
    line(written.figure("arrow_ns", export[1].median()).figure("csv_ns", export[2].median()))
}

/// The command `isoform` beside this program, or beside its folder, where tests lie.
fn command(own: &Path) -> Option<PathBuf> {
    let mut places = own.ancestors().skip(1).take(2).map(|folder| folder.join("isoform"));
    places.find(|command| command.is_file())
}

fn replay(command: &Path, recording: &Path, count: u32) -> Result<crate::measure::Times> {
    let mut replay = Command::new(command);
    replay.arg("replay").arg(recording).arg("--max").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = replay.spawn()?;
    let mut told = BufReader::new(running.stderr.take().ok_or("no messages")?);
    let mut id = String::new();
    told.read_line(&mut id)?;
    // What it says later must not fill the pipe.
    let rest = std::thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
    let id = id
        .split_whitespace()
        .find(|word| word.starts_with("iso") && word.contains("://"))
        .ok_or("the command named no channel")?;
    let mut sink = Node::new()?.open(id)?.sink_builder().lossless().build::<Messages>()?;
    let (mut start, mut taken) = (None, 0);
    while taken < count {
        match sink.recv()? {
            Event::Record { record, .. } => {
                std::hint::black_box(record.body());
                start.get_or_insert_with(Instant::now);
                taken += 1;
            }
            Event::Left(..) => break,
            _ => {}
        }
    }
    let took = files::each(start.ok_or("no event came")?, count);
    drop(sink);
    running.wait()?;
    rest.join().map_err(|_| "a thread failed")??;
    if taken == count { Ok(took) } else { Err(format!("{taken} of {count} events came").into()) }
}

fn export(command: &Path, recording: &Path, kind: &str) -> Result<()> {
    let mut export = Command::new(command);
    let table = recording.with_extension(kind);
    crate::compiled::execute(export.arg("export").arg(recording).arg(&table).arg("--force"))?;
    Ok(std::fs::remove_file(table)?)
}
