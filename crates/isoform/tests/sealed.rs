//! Sealed streams: what damage costs, and where a reader resumes (`spec/message.md`, "Seals").

use isoform::core::message::{Header, Locators, Mark};
use isoform::stream::{Gap, Reader, Writer};
use isoform::{Code, Decoder, Encoder, Record, Token};
use proptest::prelude::*;
use std::io::Read;

#[derive(Record, Clone, Debug, PartialEq)]
#[repr(C)]
struct Gauge {
    id: u64,
    depth: f64,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Log {
    id: u64,
    bytes: Vec<u8>,
}

/// A sealed stream: a gauge for each even number, and a log of so many bytes for each odd one.
struct Stream {
    bytes: Vec<u8>,
    /// Where each message begins, with its seal, and where the last one ends.
    begins: Vec<u64>,
}

fn stream(lengths: &[usize]) -> Stream {
    let mut writer = Writer::new(Vec::new());
    writer.set_sealed(true);
    let (mut gauges, mut logs) = (Encoder::new(), Encoder::new());
    let mut begins = Vec::new();
    for (id, length) in lengths.iter().enumerate() {
        begins.push(writer.inner().len() as u64);
        let id = id as u64;
        if id.is_multiple_of(2) {
            writer.write(&gauges.encode(&Gauge { id, depth: 0.5 }).unwrap()).unwrap();
        } else {
            writer.write(&logs.encode(&Log { id, bytes: vec![id as u8; *length] }).unwrap()).unwrap();
        }
    }
    begins.push(writer.inner().len() as u64);
    Stream { bytes: writer.into_inner(), begins }
}

/// The numbers of the records that are read, and the gaps. The last error, if it was not possible to resume, or else the first
/// one about a single message.
fn read(bytes: impl Read) -> (Vec<u64>, Vec<Gap>, Option<Code>) {
    let (mut reader, mut gauges, mut logs) = (Reader::new(bytes), Decoder::<Gauge>::new(), Decoder::<Log>::new());
    let (mut ids, mut gaps, mut passed) = (Vec::new(), Vec::new(), None);
    loop {
        let error = match reader.next() {
            Ok(None) => return (ids, gaps, passed),
            Ok(Some(message)) if message.format().name() == "Gauge" => {
                ids.push(gauges.decode(&message).unwrap().id);
                continue;
            }
            Ok(Some(message)) => {
                let log = logs.decode(&message).unwrap();
                assert!(log.bytes.iter().all(|byte| *byte == log.id as u8), "no bytes of another message");
                ids.push(log.id);
                continue;
            }
            Err(error) => error,
        };
        if reader.goes_on_after(&error) {
            passed = passed.or(Some(error.code()));
            continue;
        }
        match reader.resume().unwrap() {
            Some(gap) => gaps.push(gap),
            None => return (ids, gaps, Some(error.code())),
        }
    }
}

/// Gives one byte at a time.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let few = room.len().min(1);
        self.0.read(&mut room[..few])
    }
}

/// What happens to a range of bytes.
#[derive(Clone, Debug)]
enum Damage {
    Other(Vec<u8>),
    Lost(usize),
    Inserted(Vec<u8>),
}

fn damages() -> impl Strategy<Value = Damage> {
    prop_oneof![
        prop::collection::vec(1u8.., 1..100).prop_map(Damage::Other),
        (1usize..300).prop_map(Damage::Lost),
        prop::collection::vec(any::<u8>(), 1..100).prop_map(Damage::Inserted),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damage_costs_only_the_messages_that_it_hits(
        lengths in prop::collection::vec(0usize..500, 4..20),
        place in any::<prop::sample::Index>(),
        damage in damages(),
    ) {
        let whole = stream(&lengths);
        // The first two messages describe the formats, and show the mark.
        let first = whole.begins[2] as usize;
        let at = first + place.index(whole.bytes.len() - first);
        let mut bytes = whole.bytes.clone();
        let (hit, moved) = match &damage {
            Damage::Other(mask) => {
                bytes[at..].iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
                (at..(at + mask.len()).min(bytes.len()), 0)
            }
            Damage::Lost(count) => {
                let end = (at + count).min(bytes.len());
                bytes.drain(at..end);
                (at..end, at as i64 - end as i64)
            }
            Damage::Inserted(new) => {
                bytes.splice(at..at, new.iter().copied());
                (at..at + 1, new.len() as i64)
            }
        };
        let (ids, gaps, error) = read(&bytes[..]);
        let is_hit = |id: usize| (whole.begins[id] as usize) < hit.end && (whole.begins[id + 1] as usize) > hit.start;
        for id in 0..lengths.len() {
            prop_assert!(is_hit(id) || ids.contains(&(id as u64)), "{} is missing of {:?}, {:?}, {:?}: {:?} at {:?} of {:?}", id, ids, gaps, error, damage, hit, whole.begins);
            if !ids.contains(&(id as u64)) {
                let begin = match whole.begins[id] as usize {
                    begin if begin < hit.start => begin as i64,
                    begin if begin < hit.end => hit.start as i64,
                    begin => begin as i64 + moved,
                };
                // What is left of the message may begin within the padding of the one before, or end with a seal's first bytes.
                let is_told = gaps.iter().any(|gap| (gap.from as i64 - 15..gap.to as i64 + 48).contains(&begin));
                // Only whole messages that are not there any more leave no trace, with the seal of the next one or without.
                let is_next = |other: &u64| {
                    [0, 48].map(|seal| *other as i64 + seal + moved).iter().any(|at| whole.begins.contains(&(*at as u64)))
                };
                let leaves_no_trace = whole.bytes.len() - hit.end < 16 || whole.begins.iter().any(is_next);
                prop_assert!(is_told || error.is_some() || leaves_no_trace, "{} of {:?}: {:?} {:?} {:?} {:?}", id, whole.begins, gaps, ids, hit, damage);
            }
        }
        prop_assert!(ids.is_sorted_by(|a, b| a < b), "{:?}", ids);
        prop_assert_eq!(read(Slow(&bytes)), (ids, gaps, error));
    }
}

#[test]
fn each_byte_of_a_sealed_message_counts() {
    let whole = stream(&[0, 20, 0, 20, 0]);
    assert_eq!(read(&whole.bytes[..]), (vec![0, 1, 2, 3, 4], vec![], None));
    let (from, to) = (whole.begins[3] as usize, whole.begins[4] as usize);
    let length = u64::from_le_bytes(whole.bytes[from + 72..from + 80].try_into().unwrap());
    let padding = from + 80 + length as usize;
    for at in from..to {
        let mut bytes = whole.bytes.clone();
        bytes[at] ^= 1;
        let (ids, gaps, error) = read(&bytes[..]);
        let gap = Gap { from: from as u64, to: to as u64 };
        // The ignorable flags of the seal itself mean nothing.
        match at >= padding || at == from + 6 {
            true => assert_eq!((ids, gaps, error), (vec![0, 1, 2, 3, 4], vec![], None), "byte {at} from {from}"),
            false => assert_eq!((ids, gaps, error), (vec![0, 1, 2, 4], vec![gap], None), "byte {at} from {from}"),
        }
    }
}

#[test]
fn a_stream_within_a_record_never_passes_for_the_stream() {
    let inner = stream(&[0; 6]).bytes;
    let mut writer = Writer::new(Vec::new());
    writer.set_sealed(true);
    let (mut gauges, mut logs) = (Encoder::new(), Encoder::new());
    writer.write(&gauges.encode(&Gauge { id: 100, depth: 0.5 }).unwrap()).unwrap();
    writer.write(&logs.encode(&Log { id: 101, bytes: Vec::new() }).unwrap()).unwrap();
    let begin = writer.inner().len();
    writer.write(&logs.encode(&Log { id: 102, bytes: inner }).unwrap()).unwrap();
    let end = writer.inner().len();
    writer.write(&gauges.encode(&Gauge { id: 103, depth: 0.5 }).unwrap()).unwrap();
    let whole = writer.into_inner();
    for at in [begin + 3, begin + 35, begin + 49, begin + 50, begin + 90] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        let gap = Gap { from: begin as u64, to: end as u64 };
        assert_eq!(read(&bytes[..]), (vec![100, 101, 103], vec![gap], None), "byte {at}");
    }
}

#[test]
fn joined_streams_and_streams_with_a_cut_within_them_are_read() {
    let (first, second) = (stream(&[0, 9, 0, 9]), stream(&[0, 9]));
    let joined = [&first.bytes[..], &second.bytes].concat();
    assert_eq!(read(&joined[..]), (vec![0, 1, 2, 3, 0, 1], vec![], None));
    // Appended to a stream that was cut, without a word: what follows is of another mark, but of the same formats.
    let cut = first.begins[3] as usize + 60;
    let joined = [&first.bytes[..cut], &second.bytes].concat();
    assert_eq!(read(&joined[..]), (vec![0, 1, 2], vec![], Some(Code::Damaged)));
    // The same writer goes on.
    let joined = [&first.bytes[..cut], &first.bytes[first.begins[2] as usize..]].concat();
    let gap = Gap { from: first.begins[3], to: cut as u64 };
    assert_eq!(read(&joined[..]), (vec![0, 1, 2, 2, 3], vec![gap], None));
    for cut in first.begins[3] + 1..first.begins[4] - 16 {
        let (ids, gaps, error) = read(&first.bytes[..cut as usize]);
        assert_eq!((ids, gaps, error), (vec![0, 1, 2], vec![], Some(Code::Cut)), "at byte {cut}");
    }
}

#[test]
fn every_way_to_take_a_message_heeds_its_seal() {
    let whole = stream(&[0, 20, 0, 20]);
    let damaged = |at: u64| {
        let mut bytes = whole.bytes.clone();
        bytes[(whole.begins[1] + at) as usize] ^= 1;
        bytes
    };
    let mut room = [0; 1000];

    let mut reader = Reader::new(&whole.bytes[..]);
    for _ in 0..4 {
        assert!(reader.peek().unwrap().is_some() && reader.read_into(&mut room).unwrap().is_some());
    }
    assert!(reader.read_into(&mut room).unwrap().is_none() && reader.mark().is_some());

    // In the description of the second message, in its header, and in its body.
    let second = &whole.bytes[whole.begins[1] as usize..whole.begins[2] as usize];
    let token = second.windows(16).rposition(|bytes| bytes == Token::SEAL.as_bytes()).unwrap() as u64;
    let (header, body) = (token - 8 + 48 + 10, token - 8 + 48 + 40);
    for at in [48 + 40, header, body] {
        let bytes = damaged(at);
        for way in 0..4 {
            let mut reader = Reader::new(&bytes[..]);
            reader.next().unwrap();
            let error = match way {
                0 => reader.next().map(|_| ()),
                1 => reader.read_into(&mut room).map(|_| ()),
                2 => reader.next_batch().map(|_| ()),
                // Skipping needs no body.
                _ if at == body => Err(reader.skip().map(|_| isoform::Error::new(Code::Damaged)).unwrap()),
                _ => reader.skip().map(|_| ()),
            };
            let error = error.unwrap_err();
            assert_eq!(error.code(), Code::Damaged, "{error}");
            if (way, at) == (3, body) {
                assert!(reader.next().unwrap().is_some());
                continue;
            }
            assert!(!reader.goes_on_after(&error));
            assert_eq!(reader.next().unwrap_err().code(), Code::Damaged);
            assert!(reader.resume().unwrap().is_some());
            assert!(reader.next().unwrap().is_some());
        }
    }
}

#[test]
fn descriptions_locators_and_batches_are_sealed() {
    let mut writer = Writer::new(Vec::new());
    writer.set_sealed(true);
    writer.set_locators(Locators::new(["http://sim7:7460"]).unwrap());
    writer.describe(Gauge::format()).unwrap();
    let mut plain = Writer::new(Vec::new());
    for id in 0..3 {
        plain.write(&Encoder::new().encode(&Gauge { id, depth: 1.5 }).unwrap()).unwrap();
    }
    let plain = plain.into_inner();
    writer.write_batch(&Reader::new(&plain[..]).next_batch().unwrap().unwrap()).unwrap();
    let bytes = writer.into_inner();
    assert_eq!(bytes.windows(16).filter(|bytes| bytes == Token::SEAL.as_bytes()).count(), 5);
    assert_eq!(read(&bytes[..]), (vec![0, 1, 2], vec![], None));
}

#[test]
fn a_malformed_seal_ends_a_stream() {
    for length in [0, 15, 17, u64::MAX] {
        let mut bytes = Header::new(Token::SEAL, length).to_bytes().to_vec();
        bytes.resize(96, 0);
        bytes.extend(stream(&[0]).bytes);
        let mut reader = Reader::new(&bytes[..]);
        for _ in 0..2 {
            let error = reader.next().unwrap_err();
            assert!(error.code() == Code::Damaged && !reader.goes_on_after(&error), "{error}");
        }
        assert_eq!(reader.resume().unwrap(), None, "no seal has shown the mark");
    }
}

#[test]
fn a_sealed_message_is_ready_when_all_of_it_is_there() {
    let whole = stream(&[0, 9, 0]);
    let end = whole.begins[1] as usize;
    for cut in [end + 48, end + 48 + 40] {
        let mut reader = Reader::new(&whole.bytes[..cut]);
        assert!(reader.next().unwrap().is_some() && !reader.is_ready(), "{cut}");
    }
    let mut reader = Reader::new(&whole.bytes[..]);
    assert!(reader.next().unwrap().is_some() && reader.is_ready());
}

#[test]
fn nothing_is_resumed_without_damage_or_seals() {
    let whole = stream(&[0, 9, 0]);
    let mut reader = Reader::new(&whole.bytes[..]);
    while reader.next().unwrap().is_some() {
        assert_eq!(reader.resume().unwrap(), None);
    }
    let mut writer = Writer::new(Vec::new());
    writer.write(&Encoder::new().encode(&Gauge { id: 7, depth: 0.0 }).unwrap()).unwrap();
    let mut bytes = writer.into_inner();
    bytes.extend(b"no message");
    assert_eq!(read(&bytes[..]), (vec![7], vec![], Some(Code::NotAMessage)));
}

#[test]
fn seals_that_claim_long_messages_cost_little() {
    let token = Gauge::format().token();
    let first = stream(&[0, 0]);
    let mut reader = Reader::new(&first.bytes[..]);
    while reader.next().unwrap().is_some() {}
    let mark: Mark = reader.mark().unwrap();
    let mut bytes = first.bytes;
    bytes.extend(b"damage..........");
    let count: u64 = 20_000;
    for i in 0..count {
        // Its message would reach to the end of the stream, and differs from its seal.
        let header = Header::new(token, (count - i) * 80 - 80);
        bytes.extend(mark.seal(&header, [&b"another"[..]]).message());
        bytes.extend(header.to_bytes());
    }
    let (ids, gaps, error) = read(&bytes[..]);
    assert_eq!((ids, gaps, error), (vec![0, 1], vec![], Some(Code::NotAMessage)));
}
