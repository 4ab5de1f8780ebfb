//! The group `files`: what it costs to record an event in a file, and to find it there again, beside bare writes of the same bytes and
//! beside the container's own writer, fed with ready bytes.
//!
//! Events have 1,024 bytes of slowly changing numbers. A file is on disk before a round ends, by everybody's own call of the system.
//!
//! - `record`: an event goes to a [`Recorder`]; `raw`: into a file; `mcap`: into the writer of the crate `mcap`, with its own settings: for zstd, it has
//!   a thread for each core, where a recorder leaves the cores to those that it records.
//! - `read`: all events of a file come back; `raw`: its bytes are read.
//! - `seek`: a file is opened, and the events of a millisecond are found; `raw`: it is opened, and a chunk is read. Also: a stream of
//!   `--stream` bytes is opened with its index, and a message in its middle is found; `raw`: it is opened, and a mebibyte there is read.
//! - `record` also with messages for viewers; beside `dd`, which writes as many zeros, and beside the package `mcap` of Python, which gets ready bytes
//!   (where Python has it: in `target/python`, or as `python3`).
//! - `seal`: what the container's writer takes without a disk; `raw`: without checksums and indexes. Also: what a sealed stream takes to be written, and
//!   read, without a disk; `raw`: without seals.
//! - `replay`, `export`: see [`crate::published`].
//! - `emit_idle`, `emit`: see [`crate::emitted`].

use crate::channel::turns::turns;
use crate::compiled::Directory;
use crate::measure::Times;
use crate::{Line, Options, Result};
use isoform::Format;
use isoform::core::{FieldList, Machine};
use isoform::stream::{Index, Reader, Writer};
use isoform_files::{Compression, Item, Recorder, Recording, Stamp};
use std::collections::BTreeMap;
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The bytes of an event.
pub(crate) const BYTES: usize = 1024;
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
        let figures = turns(options.effort.rounds, 4, |who| {
            let _ = std::fs::remove_file(&path);
            let start = Instant::now();
            match who {
                0 => record(&path, isoform_files::Options { compression, viewers: false }, &format, count)?,
                1 => bare(&path, count)?,
                2 => record(&path, isoform_files::Options { compression, viewers: true }, &format, count)?,
                _ => container(&path, compression, &format, count)?,
            }
            Ok(each(start, count))
        })?;
        let _ = std::fs::remove_file(&path);
        let others = Others::new(options, &path, name, count)?;
        let _ = std::fs::remove_file(&path);
        record(&path, isoform_files::Options { compression, viewers: false }, &format, count)?;
        let written = Line::of("files").word("measure", "record").word("compression", name).count("bytes", BYTES);
        let written = figures[1].with_rate(figures[0].with_rate(written, ""), "raw_");
        let written = figures[3].with_rate(written, "mcap_").figure("ratio", figures[0].ratio(&figures[1]));
        let written = written.figure("ns", figures[0].median()).figure("viewers_ns", figures[2].median());
        let written = written.figure("dd_ns", others.dd).figure("python_ns", others.python);
        let size = std::fs::metadata(&path)?.len() as f64 / f64::from(count);
        line(written.figure("mcap_ratio", figures[0].ratio(&figures[3])).figure("bytes_per_event", size))?;
        found(&path, name, count, options.effort.rounds, line)?;
        #[cfg(unix)]
        crate::published::run(options, &path, name, count, line)?;
    }
    sealed(options, &format, count, line)?;
    sealed_stream(options, &format, count, line)?;
    sought(options, &folder.path().join("run.iso"), &format, line)?;
    #[cfg(unix)]
    crate::emitted::run(options, line)?;
    Ok(())
}

/// What the ends of chunks take of an event's time, without a disk: checksums, and the indexes of messages and chunks.
fn sealed(options: &Options, format: &Format, count: u32, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let figures = turns(options.effort.rounds, 2, |who| {
        let is_sealed = who == 0;
        let settings = mcap::WriteOptions::new().compression(None).chunk_size(Some(CHUNK as u64)).disable_seeking(true);
        let settings = settings.calculate_chunk_crcs(is_sealed).calculate_data_section_crc(is_sealed);
        let settings = settings.emit_message_indexes(is_sealed).emit_chunk_indexes(is_sealed);
        let start = Instant::now();
        contain(settings.create(Nowhere(0))?, format, count)?;
        Ok(each(start, count))
    })?;
    let about = Line::of("files").word("measure", "seal").word("compression", "none").count("bytes", BYTES);
    let about = figures[1].with_rate(figures[0].with_rate(about, ""), "raw_").figure("ns", figures[0].median());
    line(about.figure("ratio", figures[0].ratio(&figures[1])))
}

/// What the seals of a stream take of a message's time, without a disk.
fn sealed_stream(
    options: &Options,
    format: &Format,
    count: u32,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    let mut streams = [Vec::new(), Vec::new()];
    let write = turns(options.effort.rounds, 2, |who| {
        let stream = &mut streams[who];
        stream.clear();
        let mut writer = Writer::new(stream);
        writer.set_sealed(who == 0);
        let mut body = [0; BYTES];
        let start = Instant::now();
        for number in 0..count {
            fill(&mut body, number);
            writer.write_body(format, &body)?;
        }
        writer.flush()?;
        Ok(each(start, count))
    })?;
    let read = turns(options.effort.rounds, 2, |who| {
        let start = Instant::now();
        let (mut reader, mut taken) = (Reader::new(&streams[who][..]), 0);
        while let Some(message) = reader.next()? {
            black_box(message.body());
            taken += 1;
        }
        if taken != count {
            return Err("a message is missing".into());
        }
        Ok(each(start, count))
    })?;
    for (measure, figures) in [("seal", write), ("unseal", read)] {
        let about = Line::of("files").word("measure", measure).word("compression", "stream").count("bytes", BYTES);
        let about = figures[1].with_rate(figures[0].with_rate(about, ""), "raw_").figure("ns", figures[0].median());
        line(about.figure("ratio", figures[0].ratio(&figures[1])))?;
    }
    Ok(())
}

/// Takes everything, and keeps nothing.
struct Nowhere(u64);

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(black_box(bytes).len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for Nowhere {
    fn seek(&mut self, _: SeekFrom) -> std::io::Result<u64> {
        Ok(self.0)
    }
}

/// What other programs need for an event; `NaN` of one that is not here.
struct Others {
    dd: f64,
    python: f64,
}

impl Others {
    fn new(options: &Options, path: &Path, compression: &str, count: u32) -> Result<Others> {
        let rounds = options.effort.rounds.min(5);
        let zeros = || {
            let start = Instant::now();
            let mut dd = Command::new("dd");
            let blocks = (count as usize * BYTES).div_ceil(CHUNK);
            dd.args(["if=/dev/zero", "bs=1M", "conv=fdatasync", "status=none", &format!("count={blocks}")]);
            let ended = dd.arg(format!("of={}", path.display())).status().ok()?;
            ended.success().then(|| start.elapsed().as_nanos() as f64 / (blocks * CHUNK / BYTES) as f64)
        };
        let own = options.program.parent().and_then(Path::parent).map(|target| target.join("python/bin/python"));
        let python = own.filter(|python| python.exists()).unwrap_or("python3".into());
        let ready = || {
            let mut python = Command::new(&python);
            let output =
                python.args(["-c", PYTHON, &path.display().to_string(), compression, &count.to_string()]).output();
            String::from_utf8(output.ok()?.stdout).ok()?.trim().parse::<f64>().ok()
        };
        let median = |run: &dyn Fn() -> Option<f64>| (0..rounds).filter_map(|_| run()).collect::<Times>().median();
        Ok(Others { dd: median(&zeros), python: median(&ready) })
    }
}

/// Writes as many events, and prints the nanoseconds of each.
const PYTHON: &str = "
import os, sys, time
from mcap.writer import CompressionType, Writer
path, compression, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
body = bytes(1024)
start = time.perf_counter_ns()
with open(path, 'wb') as file:
    writer = Writer(file, compression=CompressionType[compression.upper()])
    writer.start()
    schema = writer.register_schema('Sample', 'isoform', b'')
    channel = writer.register_channel('samples', 'isoform', schema)
    for number in range(count):
        writer.add_message(channel, number * 100_000, body, number * 100_000, number)
    writer.finish()
    file.flush()
    os.fdatasync(file.fileno())
print((time.perf_counter_ns() - start) / count)
";

/// Finds a message of a long stream by its index.
fn sought(options: &Options, path: &Path, format: &Format, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let quick = options.effort.events == crate::Effort::QUICK.events;
    let length = if quick { options.stream.min(1 << 24) } else { options.stream };
    let count = length / (BYTES + 32) as u64;
    {
        let mut writer = Writer::new(std::io::BufWriter::with_capacity(CHUNK, File::create(path)?));
        let mut body = [0; BYTES];
        for number in 0..count {
            body[..8].copy_from_slice(&number.to_ne_bytes());
            writer.write_body(format, &body)?;
        }
        writer.flush()?;
    }
    let start = Instant::now();
    let index = Index::of(&mut Reader::new(File::open(path)?))?;
    let indexed = start.elapsed();
    let beside = path.with_extension("index");
    index.write(File::create(&beside)?)?;
    let wanted = count / 2 + 321;
    let seek = turns(options.effort.rounds, 2, |who| {
        let start = Instant::now();
        match who {
            0 => {
                let index = Index::read(std::io::BufReader::new(File::open(&beside)?))?;
                if !index.fits(&mut File::open(path)?)? {
                    return Err("the index is that of another stream".into());
                }
                let mut reader = Reader::new(File::open(path)?);
                let mut number = index.go_to_message(&mut reader, wanted)?;
                while number < wanted {
                    reader.seek_past()?;
                    number += 1;
                }
                let message = reader.next()?.ok_or("a message is missing")?;
                if message.body()[..8] != wanted.to_ne_bytes() {
                    return Err("another message".into());
                }
            }
            _ => {
                let (mut file, mut chunk) = (File::open(path)?, Vec::new());
                file.seek(SeekFrom::Start(wanted * (BYTES + 32) as u64))?;
                file.take(CHUNK as u64).read_to_end(&mut chunk)?;
                black_box(chunk);
            }
        }
        Ok(each(start, 1))
    })?;
    let about = Line::of("files").word("measure", "seek").word("compression", "stream").count("bytes", BYTES);
    let about = seek[1].with_rate(seek[0].with_rate(about, ""), "raw_").figure("ratio", seek[0].ratio(&seek[1]));
    let about = about.figure("ns", seek[0].median()).count("stream_bytes", std::fs::metadata(path)?.len() as usize);
    let index_bytes = std::fs::metadata(&beside)?.len() as usize;
    line(about.count("index_bytes", index_bytes).figure("index_s", indexed.as_secs_f64()))?;
    std::fs::remove_file(path)?;
    Ok(std::fs::remove_file(&beside)?)
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
        line(about.figure("ratio", figures[0].ratio(&figures[1])).figure("ns", figures[0].median()))?;
    }
    Ok(())
}

pub(crate) fn each(start: Instant, count: u32) -> Times {
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

fn record(path: &Path, options: isoform_files::Options, format: &Format, count: u32) -> Result<()> {
    let mut recorder = Recorder::create(path, options)?;
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
    let mut file = contain(mcap::WriteOptions::new().compression(compression).create(file)?, format, count)?;
    file.flush()?;
    Ok(file.get_ref().sync_data()?)
}

/// Writes as many events, with ready bytes.
fn contain<W: Write + Seek>(mut writer: mcap::Writer<W>, format: &Format, count: u32) -> Result<W> {
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
    Ok(writer.into_inner())
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
