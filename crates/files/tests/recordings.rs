//! Recordings are read as they were written, up to where they are whole, and whatever is in them.

use isoform_core::declare::Shape;
use isoform_core::{Code, Format, Layout, Limits};
use isoform_files::{Compression, Item, Options, Origin, Recorder, Recording, Stamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};

fn format(text: &str, layout: &Layout) -> Format {
    Shape::parse(text).unwrap().all_on(layout).unwrap().remove(0)
}

fn level(layout: &Layout) -> Format {
    format("record Level\n  metres double\n  count int", layout)
}

/// What an entry is, apart from what lends it.
#[derive(Clone, Debug, PartialEq)]
enum Kept {
    Event(String, u64, Stamp, Format, Vec<u8>),
    News(String, u64, Value),
}

/// The entries until the end or an error, and that error.
fn read<R: Read + Seek>(mut recording: Recording<R>) -> (Vec<Kept>, Option<Code>) {
    let mut entries = Vec::new();
    loop {
        match recording.next_entry() {
            Ok(Some(entry)) => entries.push(match entry.item {
                Item::Event { stamp, format, body } => {
                    Kept::Event(entry.topic.into(), entry.recorded, stamp, format.clone(), body.into())
                }
                Item::News(news) => Kept::News(entry.topic.into(), entry.recorded, news),
            }),
            Ok(None) => return (entries, None),
            Err(error) => {
                assert!(recording.next_entry().is_ok_and(|entry| entry.is_none()), "nothing comes behind an error");
                return (entries, Some(error.code()));
            }
        }
    }
}

/// Events of all kinds: two formats, one of another machine, a relay, numbers beyond 32 bits, news.
fn events() -> Vec<Kept> {
    let (native, foreign) = (level(&Layout::NATIVE), level(&Layout::S390X));
    let stamp = |source, sequence| Stamp { source, sequence, nanoseconds: 5 * sequence, origin: None };
    let relayed = |sequence| Stamp {
        origin: Some(Origin { node: [0xA7; 16], source: 9, sequence: 3 * sequence }),
        ..stamp(4, sequence)
    };
    let body = |format: &Format, seed: u64| (0..format.size() as u64).map(|i| (seed * 31 + i * 7) as u8).collect();
    let mut events =
        vec![Kept::News("river".into(), 1_000, json!({"joined": {"source": 3, "node": "ab", "format": "Level"}}))];
    for i in 0..3_000 {
        let at = 1_000 + i;
        events.push(match i % 5 {
            0 => Kept::Event("river".into(), at, stamp(3, i), native.clone(), body(&native, i)),
            1 => Kept::Event(
                "river".into(),
                at,
                stamp(5, u64::from(u32::MAX) - 1_000 + i),
                native.clone(),
                body(&native, i),
            ),
            2 => Kept::Event("hill".into(), at, relayed(i), foreign.clone(), body(&foreign, i)),
            3 => Kept::Event("hill".into(), at, stamp(4, i), foreign.clone(), body(&foreign, i)),
            _ => Kept::News("hill".into(), at, json!({"gap": {"source": 4, "first": i, "count": 1, "cause": "slow"}})),
        });
    }
    events
}

fn write(path: &Path, compression: Compression, events: &[Kept]) {
    let mut recorder = Recorder::create(path, Options { compression, ..Options::default() }).unwrap();
    for (number, event) in events.iter().enumerate() {
        match event {
            Kept::Event(name, at, stamp, format, body) => {
                let topic = recorder.topic(name);
                recorder.record(topic, *at, *stamp, format, body).unwrap();
            }
            Kept::News(name, at, news) => {
                let topic = recorder.topic(name);
                recorder.news(topic, *at, news).unwrap();
            }
        }
        if number % 700 == 699 {
            let count = events[..=number].iter().filter(|event| matches!(event, Kept::Event(..))).count();
            let written = recorder.sync().unwrap();
            assert_eq!(written.events, count as u64);
            assert_eq!(written.bytes, std::fs::metadata(path).unwrap().len());
        }
    }
    let written = recorder.finish().unwrap();
    assert_eq!(written.bytes, std::fs::metadata(path).unwrap().len());
}

fn written(compression: Compression) -> (tempfile::TempDir, PathBuf, Vec<Kept>) {
    let folder = tempfile::tempdir().unwrap();
    let (path, events) = (folder.path().join("run.mcap"), events());
    write(&path, compression, &events);
    (folder, path, events)
}

#[test]
fn what_was_recorded_is_read_in_its_order() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let (_folder, path, events) = written(compression);
        assert_eq!(read(Recording::open(&path).unwrap()), (events, None), "{compression:?}");
    }
}

#[test]
fn a_file_that_is_there_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    std::fs::write(&path, "mine").unwrap();
    assert_eq!(Recorder::create(&path, Options::default()).err().unwrap().code(), Code::Io);
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}

#[test]
fn times_never_go_back() {
    let folder = tempfile::tempdir().unwrap();
    let (path, format) = (folder.path().join("run.mcap"), level(&Layout::NATIVE));
    let mut recorder = Recorder::create(&path, Options::default()).unwrap();
    let topic = recorder.topic("level");
    for (sequence, now) in [70, 90, 20, 80].into_iter().enumerate() {
        let stamp = Stamp { source: 0, sequence: sequence as u64, nanoseconds: now, origin: None };
        recorder.record(topic, now, stamp, &format, &[0; 16]).unwrap();
    }
    recorder.finish().unwrap();
    let (entries, _) = read(Recording::open(&path).unwrap());
    let times = entries.iter().map(|entry| match entry {
        Kept::Event(_, at, stamp, ..) => (*at, stamp.nanoseconds),
        Kept::News(..) => unreachable!("there are no news"),
    });
    assert_eq!(times.collect::<Vec<_>>(), [(70, 70), (90, 90), (90, 20), (90, 80)]);
}

#[test]
fn a_span_of_time_is_found_by_the_index_and_without_it() {
    let (_folder, path, events) = written(Compression::Zstd);
    let bytes = std::fs::read(&path).unwrap();
    let cut = path.with_file_name("cut.mcap");
    std::fs::write(&cut, &bytes[..bytes.len() - 9]).unwrap();
    for span in [0..=u64::MAX, 1_500..=1_600, 3_999..=9_999, 0..=999, 1_000..=1_000] {
        let expected: Vec<&Kept> = events
            .iter()
            .filter(|event| {
                span.contains(match event {
                    Kept::Event(_, at, ..) | Kept::News(_, at, _) => at,
                })
            })
            .collect();
        let (whole, error) = read(Recording::open(&path).unwrap().within(span.clone()).unwrap());
        assert_eq!((whole.iter().collect::<Vec<_>>(), error), (expected.clone(), None), "{span:?}");
        let (by_reading, _) = read(Recording::open(&cut).unwrap().within(span.clone()).unwrap());
        assert_eq!(by_reading.iter().collect::<Vec<_>>(), expected, "{span:?}");
    }
}

/// Whole chunks come, and nothing else; the end says that it is none.
#[test]
fn of_a_cut_file_all_is_read_that_was_synced() {
    let (_folder, path, events) = written(Compression::Zstd);
    let bytes = std::fs::read(&path).unwrap();
    let mut last = 0;
    for length in (0..bytes.len()).step_by(97).chain(bytes.len() - 40..bytes.len()) {
        let (entries, error) = read(Recording::new(Cursor::new(&bytes[..length]), Limits::default()));
        assert_eq!(entries, events[..entries.len()], "{length}");
        assert_eq!(error, Some(Code::Cut), "{length}");
        assert!(entries.len() >= last && entries.len() % 700 == 0 || entries.len() == events.len(), "{length}");
        last = entries.len();
    }
    assert_eq!(last, events.len());
}

/// Lengths that no file has are refused before memory is taken for them.
#[test]
fn lengths_are_bounded() {
    for length in [u64::MAX, 1 << 62, 1 << 40, 1 << 31] {
        for opcode in 1..=0x0f_u8 {
            let mut file = isoform_files::MAGIC.to_vec();
            file.push(opcode);
            file.extend(length.to_le_bytes());
            file.resize(200, 0xFF);
            let (entries, error) =
                read(Recording::new(Cursor::new(&file), Limits { message: 1 << 20, ..Limits::default() }));
            assert!(entries.is_empty());
            assert!(
                matches!(error, Some(Code::MessageSize | Code::Cut | Code::Damaged)),
                "{opcode} {length}: {error:?}"
            );
        }
    }
}

/// What others put into a file is passed over, and counted. A file that has nothing else is no recording of events.
#[test]
fn other_topics_are_passed_over() {
    let mut file = Cursor::new(Vec::new());
    let mut writer = mcap::Writer::new(&mut file).unwrap();
    let channel = writer.add_channel(0, "chatter", "cbor", &BTreeMap::new()).unwrap();
    let header = mcap::records::MessageHeader { channel_id: channel, sequence: 1, log_time: 2, publish_time: 3 };
    writer.write_to_known_channel(&header, b"\xa0").unwrap();
    writer.finish().unwrap();
    drop(writer);
    let mut recording = Recording::new(Cursor::new(file.into_inner()), Limits::default());
    let error = recording.next_entry().unwrap_err();
    assert_eq!(error.code(), Code::NoSuchChannel);
    assert!(
        error.to_string().contains("1 message in the encoding cbor on chatter is not a record of Isoform"),
        "{error}"
    );
    assert_eq!(recording.passed_over(), 1);
    let channels: Vec<_> = recording.foreign().channels().map(|(t, e, n)| (t.to_string(), e.to_string(), n)).collect();
    assert_eq!(channels, [("chatter".into(), "cbor".into(), 1)]);
}

/// Messages for viewers repeat events. A file that has these messages and nothing that they repeat says so.
#[test]
fn messages_for_viewers_alone_are_of_others() {
    let mut file = Cursor::new(Vec::new());
    let mut writer = mcap::Writer::new(&mut file).unwrap();
    let metadata = BTreeMap::from([("isoform.token".to_string(), "0".repeat(32))]);
    let channel = writer.add_channel(0, "river/1/Gauge", "cdr", &metadata).unwrap();
    for sequence in 0..600 {
        let header = mcap::records::MessageHeader { channel_id: channel, sequence, log_time: 2, publish_time: 3 };
        writer.write_to_known_channel(&header, b"\0\x01\0\0").unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    let mut recording = Recording::new(Cursor::new(file.into_inner()), Limits::default());
    let error = recording.next_entry().unwrap_err();
    assert_eq!(error.code(), Code::NoSuchChannel);
    let told = "600 messages in the encoding cdr on river/1/Gauge are not records of Isoform";
    assert!(error.to_string().contains(told), "{error}");
    assert_eq!(recording.foreign().to_string(), told);
    assert_eq!(recording.passed_over(), 600);
}

/// The stream has a description before the first record of each format, and the records as they were.
#[test]
fn a_recording_is_a_stream() {
    let (_folder, path, events) = written(Compression::Lz4);
    let mut bytes = Vec::new();
    Recording::open(&path).unwrap().into_stream().read_to_end(&mut bytes).unwrap();
    let mut expected = Vec::new();
    let mut described = Vec::new();
    // Each event is known at the position of its record.
    let mut stream = Recording::open(&path).unwrap().into_stream();
    let mut put = |token: isoform_core::Token, body: &[u8]| {
        expected.extend(isoform_core::message::Header::new(token, body.len() as u64).to_bytes());
        expected.extend_from_slice(body);
        expected.resize(expected.len().next_multiple_of(16), 0);
        expected.len()
    };
    let mut taken = 0;
    for event in &events {
        let Kept::Event(topic, recorded, stamp, format, body) = event else { continue };
        if !described.contains(&format.token()) {
            described.push(format.token());
            put(isoform_core::Token::ZERO, format.description().as_bytes());
        }
        let end = put(format.token(), body);
        let mut room = vec![0; end - taken];
        stream.read_exact(&mut room).unwrap();
        taken = end;
        let stamped = stream.stamped(end as u64 - 1).cloned();
        assert_eq!(
            stamped.as_ref().map(|event| (&*event.topic, event.recorded, event.stamp)),
            Some((&**topic, *recorded, *stamp))
        );
        assert_eq!(stream.submitted(end as u64 - 1), Some(stamp.nanoseconds));
        assert_eq!(stream.stamped(end as u64), None, "it has not come yet");
    }
    assert!(bytes == expected, "{} and {} bytes", bytes.len(), expected.len());
}

/// The numbers of formats and sources have 16 bits in a file.
#[test]
fn a_file_is_full_before_its_numbers_are_used_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full.mcap");
    let mut recorder = Recorder::create(&path, Options { compression: Compression::None, viewers: true }).unwrap();
    let (topic, level) = (recorder.topic("river"), level(&Layout::NATIVE));
    let body = vec![0; level.size()];
    let mut written = 0;
    let error = loop {
        // Each from another place: with its viewers, an event adds two channels.
        let origin = Some(Origin { node: [7; 16], source: written, sequence: 0 });
        let stamp = Stamp { source: 1, sequence: u64::from(written), nanoseconds: 0, origin };
        match recorder.record(topic, 0, stamp, &level, &body) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert_eq!(recorder.is_full(), written >= 32_500);
    };
    assert_eq!((error.code(), written), (Code::Size, 32_750), "{error}");
    recorder.finish().unwrap();
    let (entries, error) = read(Recording::open(&path).unwrap());
    assert_eq!((entries.len(), error), (32_750, None));
}

/// Sizes of arrays take more than their elements here: 28 bytes for one. The event is there, its message for viewers is not, and the file says so.
#[test]
fn what_would_be_much_longer_for_viewers_is_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.mcap");
    let mut recorder = Recorder::create(&path, Options { compression: Compression::None, viewers: true }).unwrap();
    let topic = recorder.topic("river");
    let inner = "record Cell\n  c u8[1][1][1][1][1][1][1]\n";
    let last = |text: &str| Shape::parse(text).unwrap().all_on(&Layout::NATIVE).unwrap().pop().unwrap();
    let few = last(&format!("{inner}record Few\n  cells Cell[100]"));
    let many = last(&format!("{inner}record Many\n  cells Cell[100000]"));
    for (sequence, format) in [&few, &many].into_iter().enumerate() {
        let stamp = Stamp { source: 1, sequence: sequence as u64, nanoseconds: 0, origin: None };
        recorder.record(topic, 7, stamp, format, &vec![1; format.size()]).unwrap();
    }
    recorder.finish().unwrap();
    let mut recording = Recording::open(&path).unwrap();
    let mut entries = Vec::new();
    while let Some(entry) = recording.next_entry().unwrap() {
        entries.push(match entry.item {
            Item::Event { format, .. } => format.name().to_string(),
            Item::News(news) => news.to_string(),
        });
    }
    assert_eq!(entries, ["Few", "Many", r#"{"unshown":{"count":1}}"#]);
    assert_eq!(recording.passed_over(), 1, "the message of the short one");
}

/// A length that a file states costs nothing before its bytes are there.
#[test]
fn a_stated_length_is_no_reason_for_memory() {
    let mut bytes = isoform_files::MAGIC.to_vec();
    // A chunk of a GiB.
    bytes.push(6);
    bytes.extend((1_u64 << 30).to_le_bytes());
    bytes.extend([0; 100]);
    struct Small<'a>(Cursor<&'a [u8]>);
    impl Read for Small<'_> {
        fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
            assert!(room.len() <= 1 << 20, "room for {} bytes", room.len());
            self.0.read(room)
        }
    }
    impl Seek for Small<'_> {
        fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
            self.0.seek(to)
        }
    }
    let (entries, error) = read(Recording::new(Small(Cursor::new(&bytes)), Limits::default()));
    assert_eq!((entries.len(), error), (0, Some(Code::Cut)));
}
