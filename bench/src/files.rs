//! The group `files`: what it costs to record an event in a file, and to find it there again, beside bare writes of the same bytes and
//! beside the container's own writer, fed with ready bytes.
//!
//! Events have 1,024 bytes of slowly changing numbers. A file is on disk before a round ends, by everybody's own call of the system.
//!
//! - `record`: an event goes to a [`Recorder`]; `raw`: into a file; `mcap`: into the writer of the crate `mcap`, with its own settings.
//! - `read`: all events of a file come back; `raw`: its bytes are read.
//! - `seek`: a file is opened, and the events of a millisecond are found; `raw`: it is opened, and a chunk is read.

use crate::channel::turns::turns;
use crate::compiled::Directory;
use crate::measure::Times;
use crate::{Line, Options, Result};
use isoform::Format;
use isoform::core::{FieldList, Machine};
use isoform_files::{Compression, Item, Recorder, Recording, Stamp};
use std::collections::BTreeMap;
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

/// The bytes of an event.
const BYTES: usize = 1024;
/// The time between two events, in nanoseconds.
const STEP: u64 = 100_000;
/// What a chunk has.
const CHUNK: usize = 1 << 20;
/// Everybody writes as much at a time as a chunk has.
const EVENTS_AT_LEAST: u32 = 2_000;

/// Measures what [the module](self) says.
///
/// # Errors
/// If an event is missing, a file cannot be written, or `line` fails.
pub fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let count = (options.effort.events / 5).max(EVENTS_AT_LEAST);
    let format = format()?;
    let folder = Directory::new()?;
    let path = folder.path().join("run.mcap");
    for (name, compression) in [("none", Compression::None), ("lz4", Compression::Lz4), ("zstd", Compression::Zstd)] {
        let figures = turns(options.effort.rounds, 3, |who| {
            let _ = std::fs::remove_file(&path);
            let start = Instant::now();
            match who {
                0 => record(&path, compression, &format, count)?,
                1 => bare(&path, count)?,
                _ => container(&path, compression, &format, count)?,
            }
            Ok(each(start, count))
        })?;
        let _ = std::fs::remove_file(&path);
        record(&path, compression, &format, count)?;
        let written = Line::of("files").word("measure", "record").word("compression", name).count("bytes", BYTES);
        let written = figures[1].with_rate(figures[0].with_rate(written, ""), "raw_");
        let written = figures[2].with_rate(written, "mcap_").figure("ratio", figures[0].ratio(&figures[1]));
        let size = std::fs::metadata(&path)?.len() as f64 / f64::from(count);
        line(written.figure("mcap_ratio", figures[0].ratio(&figures[2])).figure("bytes_per_event", size))?;
        found(&path, name, count, options.effort.rounds, line)?;
    }
    Ok(())
}

/// Reads a file, and seeks in it.
fn found(
    path: &Path,
    compression: &str,
    count: u32,
    rounds: usize,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    let read = turns(rounds, 2, |who| {
        let start = Instant::now();
        match who {
            0 if events(Recording::open(path)?)? != count => return Err("an event is missing".into()),
            0 => {}
            _ => drop(black_box(std::fs::read(path)?)),
        }
        Ok(each(start, count))
    })?;
    let middle = u64::from(count / 2) * STEP;
    let span = middle..=middle + 10 * STEP - 1;
    let seek = turns(rounds, 2, |who| {
        let start = Instant::now();
        match who {
            0 if events(Recording::open(path)?.within(span.clone())?)? != 10 => {
                return Err("ten events were expected".into());
            }
            0 => {}
            _ => {
                let mut chunk = Vec::new();
                File::open(path)?.take(CHUNK as u64).read_to_end(&mut chunk)?;
                black_box(chunk);
            }
        }
        Ok(each(start, 1))
    })?;
    for (measure, figures) in [("read", read), ("seek", seek)] {
        let about = Line::of("files").word("measure", measure).word("compression", compression).count("bytes", BYTES);
        let about = figures[1].with_rate(figures[0].with_rate(about, ""), "raw_");
        line(about.figure("ratio", figures[0].ratio(&figures[1])))?;
    }
    Ok(())
}

fn each(start: Instant, count: u32) -> Times {
    [start.elapsed().as_nanos() as f64 / f64::from(count)].into_iter().collect()
}

fn format() -> Result<Format> {
    let list = FieldList::new("Sample").field("time", "integer", 8, 0).field("values", "float[127]", 8, 8);
    Ok(list.format(Machine::NATIVE, BYTES, 8)?)
}

/// The body of an event: numbers that change a little from each event to the next.
fn fill(body: &mut [u8; BYTES], number: u32) {
    body[..8].copy_from_slice(&u64::from(number).to_ne_bytes());
    for (at, place) in body[8..].as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *place = (f64::from(number / 16) * 0.25 + at as f64).to_ne_bytes();
    }
}

fn record(path: &Path, compression: Compression, format: &Format, count: u32) -> Result<()> {
    let mut recorder = Recorder::create(path, isoform_files::Options { compression, ..Default::default() })?;
    let topic = recorder.topic("samples");
    let mut body = [0; BYTES];
    for number in 0..count {
        fill(&mut body, number);
        let now = u64::from(number) * STEP;
        let stamp = Stamp { source: 0, sequence: number.into(), nanoseconds: now, origin: None };
        recorder.record(topic, now, stamp, format, &body)?;
    }
    recorder.finish()?;
    Ok(())
}

/// The same bytes, a mebibyte at a time, as `dd bs=1M` writes them.
fn bare(path: &Path, count: u32) -> Result<()> {
    let (mut file, mut body) = (File::create(path)?, [0; BYTES]);
    let mut buffer = Vec::with_capacity(CHUNK + BYTES);
    for number in 0..count {
        fill(&mut body, number);
        buffer.extend_from_slice(&body);
        if buffer.len() >= CHUNK {
            file.write_all(&buffer)?;
            buffer.clear();
        }
    }
    file.write_all(&buffer)?;
    Ok(file.sync_data()?)
}

fn container(path: &Path, compression: Compression, format: &Format, count: u32) -> Result<()> {
    let compression = match compression {
        Compression::None => None,
        Compression::Lz4 => Some(mcap::Compression::Lz4),
        Compression::Zstd => Some(mcap::Compression::Zstd),
    };
    let file = std::io::BufWriter::new(File::create(path)?);
    let mut writer = mcap::WriteOptions::new().compression(compression).create(file)?;
    let schema = writer.add_schema("Sample", "isoform", format.description().as_bytes())?;
    let channel_id = writer.add_channel(schema, "samples", "isoform", &BTreeMap::new())?;
    let mut body = [0; BYTES];
    for number in 0..count {
        fill(&mut body, number);
        let log_time = u64::from(number) * STEP;
        let header = mcap::records::MessageHeader { channel_id, sequence: number, log_time, publish_time: log_time };
        writer.write_to_known_channel(&header, &body)?;
    }
    writer.finish()?;
    let mut file = writer.into_inner();
    file.flush()?;
    Ok(file.get_ref().sync_data()?)
}

fn events(mut recording: Recording) -> Result<u32> {
    let mut count = 0;
    while let Some(entry) = recording.next_entry()? {
        if let Item::Event { body, .. } = entry.item {
            black_box(body);
            count += 1;
        }
    }
    Ok(count)
}
