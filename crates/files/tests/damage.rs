//! Damage costs what is damaged, and no more: reading goes on with the next chunk, and says at the end what is missing.

use isoform_core::declare::Shape;
use isoform_core::{Code, Error, Format, Layout, Limits};
use isoform_files::{Compression, Item, Lost, Options, Recorder, Recording, Stamp};
use std::io::{Cursor, Read, Seek};
use std::path::Path;

/// So many chunks have the files here, each with so many events.
const CHUNKS: u64 = 4;
const EVENTS: u64 = 5;

fn level() -> Format {
    Shape::parse("record Level\n  metres double\n  count int").unwrap().all_on(&Layout::NATIVE).unwrap().remove(0)
}

/// A file, and where each of its chunks is. In each chunk are events, and news behind them.
fn file(compression: Compression, folder: &Path) -> (Vec<u8>, Vec<(usize, usize)>) {
    let path = folder.join("seed.mcap");
    let _ = std::fs::remove_file(&path);
    let mut recorder = Recorder::create(&path, Options { compression, ..Options::default() }).unwrap();
    let topic = recorder.topic("level");
    for sequence in 0..CHUNKS * EVENTS {
        let stamp = Stamp { source: 2, sequence, nanoseconds: sequence, origin: None };
        recorder.record(topic, 100 + sequence, stamp, &level(), &[sequence as u8; 16]).unwrap();
        if sequence % EVENTS == EVENTS - 1 {
            recorder.news(topic, 100 + sequence, &serde_json::json!({"gap": {"source": 2}})).unwrap();
            recorder.sync().unwrap();
        }
    }
    recorder.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let mut chunks = Vec::new();
    let mut at = isoform_files::MAGIC.len();
    while at + 9 < bytes.len() {
        let end = at + 9 + u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
        if bytes[at] == 0x06 {
            chunks.push((at, end));
        }
        at = end;
    }
    assert_eq!(chunks.len() as u64, CHUNKS);
    (bytes, chunks)
}

/// The numbers of the events, what was passed over, and the error at the end. Each event is what it was.
fn read<R: Read + Seek>(mut recording: Recording<R>) -> (Vec<u64>, Lost, Option<Error>) {
    let mut came = Vec::new();
    let error = loop {
        match recording.next_entry() {
            Ok(Some(entry)) => {
                if let Item::Event { stamp, body, .. } = entry.item {
                    assert_eq!((body, stamp.source), (&[stamp.sequence as u8; 16][..], 2));
                    assert_eq!((entry.recorded, stamp.nanoseconds), (100 + stamp.sequence, stamp.sequence));
                    came.push(stamp.sequence);
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(recording.next_entry().is_ok_and(|entry| entry.is_none()), "nothing comes behind the end");
    assert!(error.is_some() || recording.lost().is_none());
    (came, recording.lost().clone(), error)
}

fn of(bytes: &[u8]) -> (Vec<u64>, Lost, Option<Error>) {
    read(Recording::new(Cursor::new(bytes), Limits::default()))
}

fn without(chunk: u64) -> Vec<u64> {
    (0..CHUNKS * EVENTS).filter(|sequence| sequence / EVENTS != chunk).collect()
}

/// Two bits of every byte of every chunk, one at a time: its operation, length, times, checksum, compression, content.
#[test]
fn a_damaged_chunk_costs_its_own_events() {
    let folder = tempfile::tempdir().unwrap();
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let ((bytes, chunks), mut unnoticed) = (file(compression, folder.path()), 0);
        for (number, (begin, end)) in chunks.iter().enumerate() {
            for place in *begin..*end {
                for bit in [1, 0x80] {
                    let mut mutant = bytes.clone();
                    mutant[place] ^= bit;
                    let (came, lost, error) = of(&mutant);
                    let about = format!("{compression:?}, chunk {number}, byte {}, bit {bit}", place - begin);
                    // Nobody needs the times, and zero as a checksum is none.
                    if (9..25).contains(&(place - begin)) {
                        assert_eq!((came.len() as u64, error), (CHUNKS * EVENTS, None), "{about}");
                        continue;
                    }
                    // Not each bit of a compressed chunk matters. Its checksum is that of the content.
                    if compression != Compression::None && error.is_none() {
                        assert_eq!(came.len() as u64, CHUNKS * EVENTS, "{about}");
                        unnoticed += 1;
                        continue;
                    }
                    assert_eq!(came, without(number as u64), "{about}: {error:?}");
                    assert_eq!((lost.chunks, lost.events, lost.more), (1, EVENTS, false), "{about}");
                    assert_eq!(lost.bytes, (end - begin) as u64, "{about}");
                    let error = error.unwrap();
                    assert!(matches!(error.code(), Code::Damaged | Code::MessageSize), "{about}: {error}");
                    let text = error.to_string();
                    assert!(text.contains(&format!("byte {begin}")), "{text}");
                    assert!(text.contains("passed over: 5 events in 1 chunk, "), "{text}");
                }
            }
        }
        assert!(unnoticed * 10 < bytes.len(), "{compression:?}: {unnoticed}");
    }
}

/// Whoever reads one channel learns how many of its events are lost, and not how many of others.
#[test]
fn lost_events_of_other_channels_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.mcap");
    let compression = Compression::None;
    let mut recorder = Recorder::create(&path, Options { compression, ..Options::default() }).unwrap();
    let topics = ["level", "other"].map(|name| recorder.topic(name));
    for sequence in 0..12 {
        let stamp = Stamp { source: 2, sequence, nanoseconds: sequence, origin: None };
        let topic = topics[usize::from(sequence % 3 == 0)];
        recorder.record(topic, 100 + sequence, stamp, &level(), &[sequence as u8; 16]).unwrap();
        if sequence == 5 {
            recorder.sync().unwrap();
        }
    }
    recorder.finish().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let body = bytes.windows(16).position(|bytes| bytes == [2; 16]).expect("the third event");
    bytes[body] ^= 1;
    for (channels, came, lost) in
        [(&["level"][..], vec![7, 8, 10, 11], 4), (&["other"], vec![6, 9], 2), (&[], (6..12).collect(), 6)]
    {
        let only = channels.iter().map(|name| name.to_string()).collect();
        let found = read(Recording::new(Cursor::new(&bytes[..]), Limits::default()).only(only));
        assert_eq!((found.0, found.1.events, found.1.more), (came, lost, false), "{channels:?}");
    }
}

/// Between chunks there are indexes. Of the file's own index, the checksum tells.
#[test]
fn a_bit_that_is_changed_anywhere_never_costs_a_whole_chunk_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, chunks) = file(Compression::None, folder.path());
    let mut noticed = 0;
    for place in (0..bytes.len()).filter(|place| !chunks.iter().any(|(begin, end)| (begin..end).contains(&place))) {
        for bit in 0..8 {
            let mut mutant = bytes.clone();
            mutant[place] ^= 1 << bit;
            let (came, lost, error) = of(&mutant);
            assert_eq!(
                came.len() as u64 + lost.events,
                if place < 8 { 0 } else { CHUNKS * EVENTS },
                "{place} {error:?}"
            );
            noticed += usize::from(error.is_some());
            let spans = Recording::new(Cursor::new(&mutant[..]), Limits::default()).within(107..=113).map(read);
            if let Ok((came, ..)) = spans {
                assert_eq!(came, [7, 8, 9, 10, 11, 12, 13], "{place}");
            }
        }
    }
    assert!(noticed > 1_000, "{noticed}");
}

/// Without the file's index, the records themselves lead on, as long as their lengths are right.
#[test]
fn a_cut_file_goes_on_behind_a_damaged_chunk_too() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, chunks) = file(Compression::Zstd, folder.path());
    let mut cut = bytes[..chunks[3].1 + 9].to_vec();
    cut[chunks[1].1 - 1] ^= 4;
    let (came, lost, error) = of(&cut);
    assert_eq!((came, lost.events, lost.more), (without(1), EVENTS, false));
    let text = error.unwrap().to_string();
    assert!(text.ends_with("; then the file is cut"), "{text}");
    // The formats are in the first chunk: nobody knows what is behind it, nor how much.
    let mut cut = bytes[..chunks[3].1 + 9].to_vec();
    cut[chunks[0].1 - 1] ^= 4;
    let (came, lost, error) = of(&cut);
    assert_eq!((came, lost.chunks, lost.more), (Vec::new(), 1, true));
    assert!(error.unwrap().to_string().contains("events that no index counts"));
    // With the index, they are known.
    let mut whole = bytes.clone();
    whole[chunks[0].1 - 1] ^= 4;
    assert_eq!(of(&whole).0, without(0));
}

/// Some chunks in one file; and a span of time, which only knows of damage within.
#[test]
fn damage_adds_up_within_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (mut bytes, chunks) = file(Compression::Lz4, folder.path());
    bytes[chunks[1].0] = 0x7F;
    bytes[chunks[2].0 + 1..chunks[2].0 + 9].fill(0xFF);
    let (came, lost, error) = of(&bytes);
    assert_eq!(came, [0, 1, 2, 3, 4, 15, 16, 17, 18, 19]);
    let size = (chunks[1].1 - chunks[1].0 + chunks[2].1 - chunks[2].0) as u64;
    assert_eq!((lost.chunks, lost.events, lost.bytes, lost.more), (2, 10, size, false));
    let expected = format!(
        "damaged file at byte {}: expected the chunk that the index names, found another record; \
         passed over: 10 events in 2 chunks, {size} bytes",
        chunks[1].0
    );
    assert_eq!(error.unwrap().to_string(), expected);
    for (span, came, gone) in [(100..=103, vec![0, 1, 2, 3], 0), (104..=106, vec![4], 2), (113..=116, vec![15, 16], 2)]
    {
        let recording = Recording::new(Cursor::new(&bytes[..]), Limits::default()).within(span.clone()).unwrap();
        let (found, lost, error) = read(recording);
        assert_eq!((found, lost.events, error.is_some()), (came, gone, gone > 0), "{span:?}");
    }
}

/// An index that cannot be, although its checksum is right, is not believed: two chunks at one place, one behind the end, one without bytes.
#[test]
fn an_index_that_contradicts_itself_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, chunks) = file(Compression::Zstd, folder.path());
    // In the index of a chunk: two times, then its place and its length.
    let place = |number: usize| {
        let (begin, end) = chunks[number];
        let known = [begin.to_le_bytes(), (end - begin).to_le_bytes()].concat();
        bytes.windows(16).rposition(|part| part == known).unwrap()
    };
    let others = [
        (place(1), chunks[0].0),
        (place(1), chunks[0].1 - 1),
        (place(2), bytes.len()),
        (place(0), usize::MAX),
        (place(3) + 8, usize::MAX),
        (place(0) + 8, chunks[1].1 - chunks[0].0),
        (place(1) + 8, 0),
    ];
    for (at, value) in others {
        let mut mutant = bytes.clone();
        mutant[at..at + 8].copy_from_slice(&value.to_le_bytes());
        // The last before the bytes of the end is the checksum; zero is none.
        let checksum = mutant.len() - isoform_files::MAGIC.len() - 4;
        mutant[checksum..checksum + 4].fill(0);
        let (came, lost, error) = of(&mutant);
        assert_eq!(came, (0..CHUNKS * EVENTS).collect::<Vec<_>>(), "{value}");
        assert_eq!((lost.chunks, lost.events, lost.more), (0, 0, false), "{value}");
        let error = error.unwrap().to_string();
        assert!(error.contains("a good index") && error.contains("passed over: 0 events"), "{error}");
        let spanned = Recording::new(Cursor::new(&mutant[..]), Limits::default()).within(107..=113).unwrap();
        assert_eq!(read(spanned).0, [7, 8, 9, 10, 11, 12, 13], "{value}");
    }
}

/// What is in no chunk has the checksum of all data: a record that became an event by a changed bit is none.
#[test]
fn events_outside_chunks_are_taken_if_the_checksum_of_the_data_is_right() {
    let mut file = Cursor::new(Vec::new());
    let mut writer = mcap::WriteOptions::new().use_chunks(false).create(&mut file).unwrap();
    let schema = writer.add_schema("Level", "isoform", level().description().as_bytes()).unwrap();
    let metadata = [("isoform.source".to_string(), "2".to_string())].into();
    let channel_id = writer.add_channel(schema, "level", "isoform", &metadata).unwrap();
    let header = mcap::records::MessageHeader { channel_id, sequence: 0, log_time: 100, publish_time: 0 };
    writer.write_to_known_channel(&header, &[0; 16]).unwrap();
    writer.finish().unwrap();
    drop(writer);
    let mut bytes = file.into_inner();
    assert_eq!(of(&bytes), (vec![0], Lost::default(), None));
    let library = bytes.windows(4).position(|part| part == b"mcap").expect("the name of the writer");
    bytes[library] ^= 1;
    let (came, lost, error) = of(&bytes);
    assert_eq!((came.len(), lost.more, error.map(|error| error.code())), (0, true, Some(Code::Damaged)));
}

#[test]
fn times_are_those_of_the_first_and_the_last_entry() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, chunks) = file(Compression::Zstd, folder.path());
    for length in [bytes.len(), chunks[3].1] {
        let mut recording = Recording::new(Cursor::new(&bytes[..length]), Limits::default());
        assert_eq!(recording.times().unwrap(), Some(100..=119), "{length}");
        assert_eq!(read(recording).0.len() as u64, CHUNKS * EVENTS, "{length}: from the beginning");
    }
    assert_eq!(Recording::new(Cursor::new(&bytes[..40]), Limits::default()).times().unwrap(), None);
}
