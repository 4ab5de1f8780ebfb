//! Recordings whose few bytes stand for gigabytes: they are refused before they become anything.
#![cfg(not(miri))]

use isoform_core::declare::Shape;
use isoform_core::{Code, Layout, Limits};
use isoform_files::{Compression, Item, MAGIC, Options, Recorder, Recording, Stamp};
use mcap::records::op;
use serde_json::json;
use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use std::io::Cursor;

struct Counting;

thread_local! {
    static NOW: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// Memory that was freed on another thread than it was taken on does not matter here.
fn change(taken: usize, freed: usize) {
    let now = NOW.get().wrapping_add(taken).saturating_sub(freed);
    NOW.set(now);
    MOST.set(MOST.get().max(now));
}

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        change(memory.size(), 0);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, place: *mut u8, memory: Memory) {
        change(0, memory.size());
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(place, memory) }
    }

    unsafe fn realloc(&self, place: *mut u8, memory: Memory, size: usize) -> *mut u8 {
        change(size, memory.size());
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(place, memory, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MIB: u64 = 1 << 20;
/// What Zstandard repeats in a block at most.
const BLOCK: u64 = 128 << 10;

fn put(file: &mut Vec<u8>, opcode: u8, data: &[u8]) {
    file.push(opcode);
    file.extend((data.len() as u64).to_le_bytes());
    file.extend_from_slice(data);
}

/// A frame of Zstandard: some bytes, and then zeros, up to a size.
fn frame(bytes: &[u8], size: u64) -> Vec<u8> {
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0, 0x58];
    let mut block = |kind: u32, size: u64, is_last: bool, content: &[u8]| {
        frame.extend_from_slice(&((size as u32) << 3 | kind << 1 | u32::from(is_last)).to_le_bytes()[..3]);
        frame.extend_from_slice(content);
    };
    block(0, bytes.len() as u64, false, bytes);
    let mut left = size - bytes.len() as u64;
    while left > 0 {
        let count = left.min(BLOCK);
        left -= count;
        block(1, count, left == 0, &[0]);
    }
    frame
}

/// A chunk that states a size, and has a record which states another one.
fn chunk(file: &mut Vec<u8>, size: u64, record: u64) {
    let message = [&[op::MESSAGE][..], &record.to_le_bytes(), &7_u16.to_le_bytes()].concat();
    let compressed = frame(&message, size);
    let sizes = [0_u64.to_le_bytes(), 0_u64.to_le_bytes(), size.to_le_bytes()].concat();
    let name = [&4_u32.to_le_bytes()[..], b"zstd"].concat();
    let data = [&sizes[..], &[0; 4], &name, &(compressed.len() as u64).to_le_bytes(), &compressed].concat();
    put(file, op::CHUNK, &data);
}

/// A file with a channel of somebody else, and these chunks.
fn file(chunks: usize, size: u64, record: u64) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    put(&mut file, op::HEADER, &[0; 8]);
    let text = |text: &str| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
    let channel = [&[7, 0, 0, 0][..], &text("/zeros"), &text("cdr"), &[0; 4]].concat();
    put(&mut file, op::CHANNEL, &channel);
    (0..chunks).for_each(|_| chunk(&mut file, size, record));
    put(&mut file, op::DATA_END, &[0; 4]);
    put(&mut file, op::FOOTER, &[0; 20]);
    file.extend(MAGIC);
    file
}

/// The events, the messages of others, the chunks that were passed over, and the code at the end; and the most memory beside the file.
fn read(bytes: &[u8]) -> ((u64, u64, u64, Option<Code>), u64) {
    let before = NOW.get();
    MOST.set(before);
    let mut recording = Recording::new(Cursor::new(bytes), Limits::default());
    let mut events = 0;
    let code = loop {
        match recording.next_entry() {
            Ok(Some(entry)) => events += u64::from(matches!(entry.item, Item::Event { .. })),
            Ok(None) => break None,
            Err(error) => break Some(error.code()),
        }
    };
    let most = MOST.get() - before;
    ((events, recording.foreign().messages(), recording.lost().chunks, code), most as u64)
}

/// 28 KB for 931 MB, and eight of them: none is expanded.
#[test]
fn a_chunk_that_becomes_thousands_of_times_its_size_is_refused() {
    for chunks in [1, 8] {
        let bytes = file(chunks, 931_000_000, 931_000_000 - 9);
        assert!(bytes.len() < chunks * 90_000, "{}", bytes.len());
        let (found, memory) = read(&bytes);
        assert_eq!(found, (0, 0, chunks as u64, Some(Code::MessageSize)));
        assert!(memory < MIB, "{memory} bytes");
    }
}

/// Chunks that are small enough each: all together become at most 256 MiB, and 128 times the file.
#[test]
fn many_chunks_together_are_refused_too() {
    let size = 15 * MIB;
    let bytes = file(60, size, size - 9);
    let ((events, messages, lost, code), memory) = read(&bytes);
    assert_eq!((events, messages + lost, code), (0, 60, Some(Code::MessageSize)));
    let most = 256 * MIB + 128 * bytes.len() as u64;
    assert!((16..=most / size).contains(&messages), "{messages} of {most} bytes");
    assert!(memory < 4 * size, "{memory} bytes");
}

/// News of megabytes, each byte of which would become a value in a tree.
#[test]
fn news_that_are_too_long_are_not_parsed() {
    let mut file = MAGIC.to_vec();
    put(&mut file, op::HEADER, &[0; 8]);
    let text = |text: &str| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
    put(&mut file, op::SCHEMA, &[&[1, 0][..], &text("isoform.News"), &text("jsonschema"), &text("{}")].concat());
    put(&mut file, op::CHANNEL, &[&[7, 0, 1, 0][..], &text("river/news"), &text("json"), &[0; 4]].concat());
    for length in [100_000, 2 << 20] {
        let news = format!("{{\"left\":[{}0]}}", "0,".repeat(length / 2));
        put(&mut file, op::MESSAGE, &[&[7, 0][..], &[0; 20], news.as_bytes()].concat());
    }
    put(&mut file, op::DATA_END, &[0; 4]);
    put(&mut file, op::FOOTER, &[0; 20]);
    file.extend(MAGIC);
    let before = NOW.get();
    MOST.set(before);
    let mut recording = Recording::new(Cursor::new(&file[..]), Limits::default());
    let mut news = 0;
    let code = loop {
        match recording.next_entry() {
            Ok(Some(entry)) => news += u32::from(matches!(entry.item, Item::News(..))),
            Ok(None) => break None,
            Err(error) => break Some(error.code()),
        }
    };
    let most = MOST.get() - before;
    assert_eq!((news, code), (1, Some(Code::Damaged)));
    assert!(most < 8 << 20, "{most} bytes");
}

/// A length within a chunk is no reason for more memory than the chunk has.
#[test]
fn a_record_that_states_more_than_its_chunk_has_is_damaged() {
    let bytes = file(3, MIB, 1 << 30);
    let (found, memory) = read(&bytes);
    assert_eq!((found.0, found.2), (0, 3));
    assert!(found.3.is_some() && memory < 4 * MIB, "{:?}, {memory} bytes", found.3);
}

/// What the recorder has written is read, however small it has become: large events, and many of them.
#[test]
fn events_that_become_very_small_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let all = |text: &str| Shape::parse(text).unwrap().all_on(&Layout::NATIVE).unwrap().remove(0);
    let kinds = [all("record Large\n  cells u8[41943040]"), all("record Many\n  cells u8[2097152]")];
    for compression in [Compression::Lz4, Compression::Zstd] {
        let path = folder.path().join(format!("{compression:?}.mcap"));
        let mut recorder = Recorder::create(&path, Options { compression, viewers: false }).unwrap();
        let topic = recorder.topic("cells");
        let mut expected = Vec::new();
        for sequence in 0..170 {
            let format = &kinds[usize::from(sequence > 1)];
            let stamp = Stamp { source: 0, sequence, nanoseconds: 0, origin: None };
            recorder.record(topic, sequence, stamp, format, &vec![0; format.size()]).unwrap();
            expected.push(format.size());
        }
        let written = recorder.finish().unwrap();
        assert!(written.bytes < 12 * MIB, "{compression:?}: {} bytes", written.bytes);
        let mut recording = Recording::open(&path).unwrap();
        let mut found = Vec::new();
        while let Some(entry) = recording.next_entry().unwrap() {
            let Item::Event { body, .. } = entry.item else { continue };
            found.push(body.len());
        }
        assert!(found == expected, "{compression:?}: {} events", found.len());
    }
}

/// A source may give ever new values of its parameters, which compress well, and which are longer as JSON than a message may be.
#[test]
fn news_that_become_very_small_are_read_again_and_long_ones_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let level = Shape::parse("record Level\n  metres double").unwrap().all_on(&Layout::NATIVE).unwrap().remove(0);
    let given = |length: usize| json!({"given": {"source": 1, "first": 2, "values": {"text": "x".repeat(length)}}});
    let most = given(230_000);
    let path = folder.path().join("news.mcap");
    let mut recorder = Recorder::create(&path, Options { compression: Compression::Zstd, viewers: false }).unwrap();
    let topic = recorder.topic("river");
    recorder.news(topic, 0, &given(300_000)).unwrap();
    for sequence in 0..1_400 {
        recorder.news(topic, sequence, &most).unwrap();
        let stamp = Stamp { source: 0, sequence, nanoseconds: 0, origin: None };
        recorder.record(topic, sequence, stamp, &level, &[0; 8]).unwrap();
    }
    let written = recorder.finish().unwrap();
    assert!(written.bytes < 12 * MIB, "{} bytes", written.bytes);
    let mut recording = Recording::open(&path).unwrap();
    let (mut news, mut events) = (Vec::new(), 0);
    while let Some(entry) = recording.next_entry().unwrap() {
        match entry.item {
            Item::News(told) => news.push(told["given"]["values"].is_null()),
            Item::Event { .. } => events += 1,
        }
    }
    assert_eq!((news.len(), events), (1_401, 1_400));
    assert!(news[0] && !news[1..].contains(&true), "only the long one lacks its values");
}
