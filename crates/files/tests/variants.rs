//! One recording, written in every way in which tools write MCAP files: each file has the same entries.

use isoform_core::declare::Shape;
use isoform_core::{Code, Error, Layout, Limits, Token};
use isoform_files::{Compression, Item, MAGIC, Options, Origin, Recorder, Recording, Stamp};
use mcap::records::op;
use std::io::Cursor;
use std::ops::RangeInclusive;

/// A record of the container: its operation and its content.
type Raw = (u8, Vec<u8>);

/// The entries in each chunk.
const ENTRIES: u64 = 6;

/// How a file is written.
#[derive(Clone, Copy, Debug)]
struct Variant {
    shape: Shapes,
    summary: Summary,
    /// Schemas and channels stand in the summary again.
    repeats: bool,
    checksums: bool,
    message_indexes: bool,
    /// Records have bytes at their end that nobody knows.
    padding: bool,
    /// Between records are others that nobody knows, an attachment and metadata.
    strangers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shapes {
    Chunks,
    /// No message is in a chunk.
    Flat,
    /// Those of each second chunk are in none, or those of the others.
    Mixed(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Summary {
    Full,
    /// It does not say where chunks are.
    WithoutChunks,
    /// It names all chunks but the last one.
    WithoutLast,
    None,
}

/// A recording with three chunks: two channels, relayed events, numbers beyond 32 bits, news.
fn seed(compression: Compression) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seed.mcap");
    let level = Shape::parse("record Level\n  metres double\n  count int").unwrap();
    let level = level.all_on(&Layout::NATIVE).unwrap().remove(0);
    let note = Shape::parse("record Note\n  text string").unwrap().all_on(&Layout::NATIVE).unwrap().remove(0);
    let mut recorder = Recorder::create(&path, Options { compression, viewers: true }).unwrap();
    let (river, log) = (recorder.topic("river"), recorder.topic("log"));
    for at in 0..3 * ENTRIES {
        let stamp = |sequence, origin| Stamp { source: 3, sequence, nanoseconds: at * 7, origin };
        let origin = Origin { node: [7; 16], source: 9, sequence: at << 33 };
        match at % ENTRIES {
            0 => recorder.news(river, at, &serde_json::json!({"left": {"source": at}})),
            1 | 2 => recorder.record(river, at, stamp(u64::MAX - 99 + at, None), &level, &[at as u8; 16]),
            3 => recorder.record(river, at, stamp(at, Some(origin)), &level, &[at as u8; 16]),
            _ => {
                let text = [8_u64.to_ne_bytes().as_slice(), format!("note {at}\0").as_bytes()].concat();
                recorder.record(log, at, stamp(at, None), &note, &text)
            }
        }
        .unwrap();
        if at % ENTRIES == ENTRIES - 1 {
            recorder.sync().unwrap();
        }
    }
    recorder.finish().unwrap();
    std::fs::read(&path).unwrap()
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The records one behind another.
fn records(mut bytes: &[u8]) -> Vec<Raw> {
    let mut all = Vec::new();
    while bytes.len() > 9 {
        let (data, rest) = bytes[9..].split_at(u64_at(bytes, 1) as usize);
        all.push((bytes[0], data.to_vec()));
        bytes = rest;
    }
    all
}

/// The part of a chunk behind its head, with what is compressed.
fn within_chunk(data: &[u8]) -> &[u8] {
    let name = u32::from_le_bytes(data[28..32].try_into().unwrap()) as usize;
    &data[32 + name + 8..]
}

struct File {
    bytes: Vec<u8>,
    variant: Variant,
}

impl File {
    fn put(&mut self, opcode: u8, data: &[u8]) {
        let padding: &[u8] = if self.variant.padding && opcode != op::MESSAGE { b"padding" } else { b"" };
        self.bytes.push(opcode);
        self.bytes.extend(((data.len() + padding.len()) as u64).to_le_bytes());
        self.bytes.extend_from_slice(data);
        self.bytes.extend_from_slice(padding);
    }

    fn strangers(&mut self) {
        if self.variant.strangers {
            self.put(0x42, b"of a later version");
            self.put(0x99, b"");
            self.put(op::METADATA, &[1, 0, 0, 0, b'm', 0, 0, 0, 0]);
            self.put(op::ATTACHMENT, &[0; 32]);
        }
    }

    /// Writes a chunk, and returns its index.
    fn chunk(&mut self, mut chunk: Vec<u8>, indexes: &[Vec<u8>]) -> Vec<u8> {
        if !self.variant.checksums {
            chunk[24..28].fill(0);
        }
        let at = self.bytes.len() as u64;
        self.put(op::CHUNK, &chunk);
        let end = self.bytes.len() as u64;
        if self.variant.message_indexes {
            indexes.iter().for_each(|index| self.put(op::MESSAGE_INDEX, index));
        }
        let length = self.bytes.len() as u64 - end;
        let name = &chunk[28..32 + u32::from_le_bytes(chunk[28..32].try_into().unwrap()) as usize];
        let size = within_chunk(&chunk).len() as u64;
        let places = [at, end - at].map(u64::to_le_bytes).concat();
        [&chunk[..16], &places, &[0; 4], &length.to_le_bytes(), name, &size.to_le_bytes(), &chunk[16..24]].concat()
    }
}

/// The file of a variant. `plain` has the records of its chunks, and `chunks` the chunks that are compressed.
fn file(variant: Variant, plain: &[Raw], chunks: &[Raw]) -> Vec<u8> {
    let mut file = File { bytes: MAGIC.to_vec(), variant };
    file.put(op::HEADER, &[0; 8]);
    let (mut index, mut described, mut number) = (Vec::new(), Vec::new(), 0);
    for (at, (opcode, data)) in plain.iter().enumerate() {
        if *opcode != op::CHUNK {
            continue;
        }
        file.strangers();
        let inner = records(within_chunk(data));
        described.extend(inner.iter().filter(|(opcode, _)| matches!(*opcode, op::SCHEMA | op::CHANNEL)).cloned());
        let is_chunk = match variant.shape {
            Shapes::Chunks => true,
            Shapes::Flat => false,
            Shapes::Mixed(odd) => number % 2 == odd,
        };
        if is_chunk {
            let (_, chunk) = chunks.iter().filter(|(opcode, _)| *opcode == op::CHUNK).nth(number).unwrap();
            let indexes: Vec<Vec<u8>> = plain[at + 1..].iter().map_while(index_of).collect();
            let of_chunk = file.chunk(chunk.clone(), &indexes);
            index.push((op::CHUNK_INDEX, of_chunk));
        } else {
            for (opcode, data) in inner {
                file.put(opcode, &data);
                file.strangers();
            }
        }
        number += 1;
    }
    let sum = crc32fast::hash(&file.bytes);
    file.put(op::DATA_END, &if variant.checksums { sum } else { 0 }.to_le_bytes());
    let begin = file.bytes.len();
    match variant.summary {
        Summary::None | Summary::WithoutChunks => index.clear(),
        Summary::WithoutLast => drop(index.pop()),
        Summary::Full => {}
    }
    if variant.summary != Summary::None {
        let described = if variant.repeats { described } else { Vec::new() };
        described.iter().chain(&index).for_each(|(opcode, data)| file.put(*opcode, data));
        file.strangers();
    }
    let start = if file.bytes.len() == begin { 0 } else { begin as u64 };
    file.bytes.push(op::FOOTER);
    file.bytes.extend([20, start, 0].map(u64::to_le_bytes).concat());
    let sum = if variant.checksums && start > 0 { crc32fast::hash(&file.bytes[begin..]) } else { 0 };
    file.bytes.extend(sum.to_le_bytes());
    file.bytes.extend(MAGIC);
    file.bytes
}

fn index_of((opcode, data): &Raw) -> Option<Vec<u8>> {
    (*opcode == op::MESSAGE_INDEX).then(|| data.clone())
}

#[derive(Clone, Debug, PartialEq)]
enum Kept {
    Event(String, u64, Stamp, Token, Vec<u8>),
    News(String, u64, String),
}

fn read(mut recording: Recording<Cursor<&[u8]>>) -> (Vec<Kept>, Option<Error>) {
    let mut all = Vec::new();
    loop {
        let entry = match recording.next_entry() {
            Ok(Some(entry)) => entry,
            Ok(None) => return (all, None),
            Err(error) => return (all, Some(error)),
        };
        let (topic, at) = (entry.topic.to_string(), entry.recorded);
        all.push(match entry.item {
            Item::Event { stamp, format, body } => Kept::Event(topic, at, stamp, format.token(), body.to_vec()),
            Item::News(news) => Kept::News(topic, at, news.to_string()),
        });
    }
}

fn open(bytes: &[u8]) -> Recording<Cursor<&[u8]>> {
    Recording::new(Cursor::new(bytes), Limits::default())
}

fn variants() -> impl Iterator<Item = Variant> {
    let shapes = [Shapes::Chunks, Shapes::Flat, Shapes::Mixed(0), Shapes::Mixed(1)];
    let summaries = [Summary::Full, Summary::WithoutChunks, Summary::WithoutLast, Summary::None];
    shapes.into_iter().flat_map(move |shape| {
        summaries.into_iter().flat_map(move |summary| {
            (0..32).map(move |bits| {
                let [repeats, checksums, message_indexes, padding, strangers] =
                    [1, 2, 4, 8, 16].map(|bit| bits & bit > 0);
                Variant { shape, summary, repeats, checksums, message_indexes, padding, strangers }
            })
        })
    })
}

#[test]
fn every_way_to_write_a_recording_has_the_same_entries() {
    let plain = seed(Compression::None);
    let (expected, error) = read(open(&plain));
    assert_eq!((expected.len() as u64, error), (3 * ENTRIES, None));
    let span: RangeInclusive<u64> = 4..=14;
    let part = |entry: &&Kept| match entry {
        Kept::Event(_, at, ..) | Kept::News(_, at, _) => span.contains(at),
    };
    let expected_part: Vec<Kept> = expected.iter().filter(part).cloned().collect();
    let records_of = |bytes: &[u8]| records(&bytes[MAGIC.len()..]);
    let plain = records_of(&plain);
    let mut count = 0;
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let chunks = records_of(&seed(compression));
        for variant in variants() {
            let bytes = file(variant, &plain, &chunks);
            let (found, error) = read(open(&bytes));
            assert_eq!(error, None, "{compression:?} {variant:?}");
            assert_eq!(found, expected, "{compression:?} {variant:?}");
            let mut recording = open(&bytes);
            assert_eq!(recording.times().unwrap(), Some(0..=3 * ENTRIES - 1), "{compression:?} {variant:?}");
            assert_eq!(recording.topics().unwrap(), ["log", "river"], "{compression:?} {variant:?}");
            assert!(recording.foreign().is_none(), "{compression:?} {variant:?}: what repeats events is not of others");
            let recording = recording.within(span.clone()).unwrap();
            assert_eq!(read(recording), (expected_part.clone(), None), "{compression:?} {variant:?}");
            count += 1;
        }
    }
    assert_eq!(count, 3 * 4 * 4 * 32);
}

/// A wrong checksum of the data costs what is outside chunks, and says so. The chunks have checksums of their own.
#[test]
fn a_changed_bit_outside_chunks_is_noticed() {
    let plain = records(&seed(Compression::None)[MAGIC.len()..]);
    let summary = Summary::Full;
    for (shape, whole) in [(Shapes::Flat, 0), (Shapes::Mixed(0), 2 * ENTRIES)] {
        let variant = Variant {
            shape,
            summary,
            repeats: true,
            checksums: true,
            message_indexes: true,
            padding: false,
            strangers: false,
        };
        let mut bytes = file(variant, &plain, &plain);
        let body = bytes.windows(16).position(|part| part == [7; 16]).expect("the first event of the second chunk");
        bytes[body] ^= 1;
        let mut recording = open(&bytes);
        let mut count = 0;
        let error = loop {
            match recording.next_entry() {
                Ok(Some(_)) => count += 1,
                Ok(None) => panic!("{shape:?}: it was not noticed"),
                Err(error) => break error,
            }
        };
        assert_eq!((count, error.code(), recording.lost().more), (whole, Code::Damaged, true), "{shape:?}");
        assert!(error.to_string().contains("expected data with the checksum "), "{error}");
    }
}

/// A file whose writer was killed has no checksum of its data: what is there is read, and the end is missed.
#[test]
fn a_cut_file_without_chunks_is_read_up_to_the_cut() {
    let plain = records(&seed(Compression::None)[MAGIC.len()..]);
    let variant = variants().find(|variant| variant.shape == Shapes::Flat).unwrap();
    let bytes = file(variant, &plain, &plain);
    let whole = read(open(&bytes)).0;
    let mut counts = Vec::new();
    for length in MAGIC.len()..bytes.len() - 1 {
        let (found, error) = read(open(&bytes[..length]));
        assert_eq!(found, whole[..found.len()], "{length}");
        assert_eq!(error.map(|error| error.code()), Some(Code::Cut), "{length}");
        counts.push(found.len());
    }
    assert!(counts.is_sorted() && counts.last() == Some(&whole.len()), "{counts:?}");
}
