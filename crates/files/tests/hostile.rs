//! Recordings of somebody who means harm: containers that are well formed, with contents that are not.
//!
//! The checksums of mutants are right, so that what is behind them is looked at.

use isoform_core::declare::Shape;
use isoform_core::{Code, Format, Layout, Limits};
use isoform_files::{Compression, Item, Options, Recorder, Recording, Stamp};
use mcap::records::MessageHeader;
use std::collections::BTreeMap;
use std::io::{Cursor, Read, Seek};
use std::path::Path;

fn level() -> Format {
    Shape::parse("record Level\n  metres double\n  count int").unwrap().all_on(&Layout::NATIVE).unwrap().remove(0)
}

/// Messages of an MCAP channel with these properties, in a file of its own.
fn file(schema: (&str, &[u8]), encoding: &str, metadata: &[(&str, &str)], data: &[u8]) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    let mut writer = mcap::WriteOptions::new().compression(None).create(&mut file).unwrap();
    let schema = writer.add_schema("Level", schema.0, schema.1).unwrap();
    let metadata: BTreeMap<String, String> =
        metadata.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let channel_id = writer.add_channel(schema, "level", encoding, &metadata).unwrap();
    for sequence in 0..2 {
        let header = MessageHeader { channel_id, sequence, log_time: 2, publish_time: 3 };
        writer.write_to_known_channel(&header, data).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    file.into_inner()
}

/// The error of a file, if it has one, and the number of its events; the same by its indexes.
fn read(bytes: &[u8], folder: &Path) -> (usize, Option<Code>) {
    let found = count(Recording::new(Cursor::new(bytes), Limits::default()));
    let path = folder.join("file.mcap");
    std::fs::write(&path, bytes).unwrap();
    match Recording::open(&path).and_then(|recording| recording.within(0..=u64::MAX - 1)) {
        Ok(recording) => assert_eq!(count(recording).1.is_some(), found.1.is_some(), "by the index"),
        Err(error) => assert!(found.1.is_some(), "{error}"),
    }
    let mut stream = Vec::new();
    let streamed = Recording::new(Cursor::new(bytes), Limits::default()).into_stream().read_to_end(&mut stream);
    assert_eq!(streamed.is_err(), found.1.is_some());
    found
}

fn count<R: Read + Seek>(mut recording: Recording<R>) -> (usize, Option<Code>) {
    let mut count = 0;
    loop {
        match recording.next_entry() {
            Ok(Some(entry)) => count += usize::from(matches!(entry.item, Item::Event { .. })),
            Ok(None) => return (count, None),
            Err(error) => return (count, Some(error.code())),
        }
    }
}

#[test]
fn what_contradicts_the_profile_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let format = level();
    let good = ("isoform", format.description().as_bytes());
    let source = ("isoform.source", "3");
    let refused = |bytes: Vec<u8>| read(&bytes, folder.path());
    assert_eq!(refused(file(good, "isoform", &[source], &[0; 16])), (2, None));

    // Numbers that are none, or too large, or not where the page says.
    for wrong in ["", "-1", "4294967296", "1e3", "٣", "0x1", " 3"] {
        assert_eq!(
            refused(file(good, "isoform", &[("isoform.source", wrong)], &[0; 16])).1,
            Some(Code::Damaged),
            "{wrong}"
        );
    }
    assert_eq!(refused(file(good, "isoform", &[], &[0; 16])).1, Some(Code::Damaged));
    for wrong in ["1", "4294967295", "18446744073709551616", "-4294967296"] {
        let sequence = ("isoform.sequence", wrong);
        assert_eq!(refused(file(good, "isoform", &[source, sequence], &[0; 16])).1, Some(Code::Damaged), "{wrong}");
    }
    let highest = ("isoform.sequence", "18446744069414584320");
    assert_eq!(refused(file(good, "isoform", &[source, highest], &[0; 16])), (2, None));

    // Origins.
    let node = "a7".repeat(16);
    let origin = format!("{node}/7");
    assert_eq!(refused(file(good, "isoform-relayed", &[source, ("isoform.origin", &origin)], &[0; 24])), (2, None));
    let wrong = [
        String::new(),
        node.clone(),
        format!("{node}/"),
        format!("{node}/-1"),
        format!("{node}/4294967296"),
        format!("{}/7", &node[1..]),
        format!("{node}a7/7"),
        format!("{}é/7", &node[..30]),
        "/7".into(),
    ];
    for wrong in wrong {
        let found = refused(file(good, "isoform-relayed", &[source, ("isoform.origin", &wrong)], &[0; 24]));
        assert_eq!(found.1, Some(Code::Damaged), "{wrong}");
    }
    assert_eq!(refused(file(good, "isoform-relayed", &[source], &[0; 24])).1, Some(Code::Damaged));
    // There is no room for the number at the origin.
    assert_eq!(
        refused(file(good, "isoform-relayed", &[source, ("isoform.origin", &origin)], &[0; 7])).1,
        Some(Code::Damaged)
    );

    // Schemas that are none of ours, or that describe nothing.
    assert_eq!(refused(file(("jsonschema", b"{}"), "isoform", &[source], &[0; 16])).1, Some(Code::Damaged));
    assert!(refused(file(("isoform", b"no description"), "isoform", &[source], &[0; 16])).1.is_some());
    for end in 0..good.1.len() {
        assert!(refused(file(("isoform", &good.1[..end]), "isoform", &[source], &[0; 16])).1.is_some(), "{end}");
    }
    // What other programs have put there is passed over; a file that has nothing else says so.
    assert_eq!(refused(file(("ros2msg", b"int32 a"), "cdr", &[], &[0; 16])), (0, Some(Code::NoSuchChannel)));
}

/// News that are no JSON, or nested as deep as they are long.
#[test]
fn news_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    for (news, good) in [
        ("{\"left\":{\"source\":3}}".to_string(), true),
        ("{".into(), false),
        ("[".repeat(1 << 20), false),
        (String::new(), false),
    ] {
        // On a topic of somebody else, whose name is like that of news, there may be anything.
        for schema in ["isoform.News", "other.News"] {
            let mut file = Cursor::new(Vec::new());
            let mut writer = mcap::Writer::new(&mut file).unwrap();
            let schema_id = writer.add_schema(schema, "jsonschema", b"{}").unwrap();
            let channel_id = writer.add_channel(schema_id, "level/news", "json", &BTreeMap::new()).unwrap();
            let header = MessageHeader { channel_id, sequence: 0, log_time: 2, publish_time: 3 };
            writer.write_to_known_channel(&header, news.as_bytes()).unwrap();
            writer.finish().unwrap();
            drop(writer);
            let (events, error) = read(&file.into_inner(), folder.path());
            let expected = match schema {
                "other.News" => Some(Code::NoSuchChannel),
                _ => (!good).then_some(Code::Damaged),
            };
            assert_eq!((events, error), (0, expected), "{schema}");
        }
    }
}

/// Bytes of a small file are changed, in chunks without a checksum, also two at once: nothing panics, and what is too large is refused.
#[test]
fn mutants_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let path = folder.path().join("seed.mcap");
        let _ = std::fs::remove_file(&path);
        let mut recorder = Recorder::create(&path, Options { compression, ..Options::default() }).unwrap();
        let topic = recorder.topic("level");
        for sequence in 0..20 {
            let stamp = Stamp { source: 0, sequence, nanoseconds: sequence, origin: None };
            recorder.record(topic, sequence, stamp, &level(), &[7; 16]).unwrap();
        }
        recorder.news(topic, 20, &serde_json::json!({"left": {"source": 0}})).unwrap();
        recorder.finish().unwrap();
        let seed = std::fs::read(&path).unwrap();
        // A generator of numbers, so that each run has the same mutants.
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut number = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let limits = Limits { message: 1 << 20, ..Limits::default() };
        for round in 0..1_000 {
            let mut mutant = seed.clone();
            unchecked(&mut mutant);
            for _ in 0..1 + number(3) {
                let at = number(mutant.len());
                match number(4) {
                    0 => mutant[at] ^= 1 << number(8),
                    1 => mutant[at] = [0, 1, 0x7F, 0x80, 0xFF][number(5)],
                    2 => {
                        let end = (at + 8).min(mutant.len());
                        mutant[at..end].fill(0xFF);
                    }
                    _ => drop(mutant.drain(at..(at + number(9)).min(mutant.len()))),
                }
                if mutant.is_empty() {
                    break;
                }
            }
            let linear = count(Recording::new(Cursor::new(&mutant), limits));
            assert!(linear.1 != Some(Code::Internal), "{round}");
            if round % 10 == 0 {
                let path = folder.path().join("mutant.mcap");
                std::fs::write(&path, &mutant).unwrap();
                let _ = Recording::open(&path).and_then(|file| file.within(3..=11)).map(count);
            }
        }
    }
}

/// Sets the checksums of the chunks of a file to 0, which says that there is none.
fn unchecked(file: &mut [u8]) {
    let mut at = isoform_files::MAGIC.len();
    while at + 9 < file.len() {
        let length = u64::from_le_bytes(file[at + 1..at + 9].try_into().unwrap()) as usize;
        if file[at] == 0x06 {
            // Times of the first and the last message, the size, and then the checksum.
            file[at + 9 + 24..at + 9 + 28].fill(0);
        }
        at += 9 + length;
    }
}
