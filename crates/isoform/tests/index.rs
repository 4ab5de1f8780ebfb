//! Indexes of streams, and readers that go where they say (`spec/files.md`, "The index of a stream").

use isoform::stream::{Index, Reader, Writer};
use isoform::{Code, Decoder, Encoder, Record};
use std::io::{Cursor, Read, Seek, SeekFrom};

#[derive(Record, Clone, Debug, PartialEq)]
struct Log {
    id: u64,
    bytes: Vec<u8>,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[repr(C)]
struct Late {
    id: u64,
}

/// So many records: logs of different lengths, and from the middle on every third of another format, which is described there.
fn stream(count: u64, is_sealed: bool) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.set_sealed(is_sealed);
    let (mut logs, mut others) = (Encoder::new(), Encoder::new());
    for id in 0..count {
        match id > count / 2 && id % 3 == 0 {
            true => writer.write(&others.encode(&Late { id }).unwrap()).unwrap(),
            false => writer.write(&logs.encode(&Log { id, bytes: vec![7; id as usize * 37 % 300] }).unwrap()).unwrap(),
        }
    }
    writer.into_inner()
}

/// The number of the next record.
fn next(reader: &mut Reader<impl Read>) -> Option<u64> {
    let message = reader.next().unwrap()?;
    Some(match message.format().name() {
        "Log" => Decoder::<Log>::new().decode(&message).unwrap().id,
        _ => Decoder::<Late>::new().decode(&message).unwrap().id,
    })
}

fn written(index: &Index) -> Vec<u8> {
    let mut bytes = Vec::new();
    index.write(&mut bytes).unwrap();
    bytes
}

#[test]
fn every_message_is_found_by_its_number_and_by_its_place() {
    for is_sealed in [false, true] {
        let bytes = stream(200, is_sealed);
        let mut places = Vec::new();
        let mut reader = Reader::new(&bytes[..]);
        while reader.peek().unwrap().is_some() {
            places.push(reader.place());
            reader.skip().unwrap();
        }
        for step in [1, 1_000, 1 << 20] {
            let index = Index::every(step, &mut Reader::new(Cursor::new(&bytes))).unwrap();
            let index = Index::read(&written(&index)[..]).unwrap();
            assert_eq!((index.messages(), index.length()), (200, bytes.len() as u64));
            assert!(index.fits(&mut Cursor::new(&bytes)).unwrap());
            let mut moving = Reader::new(Cursor::new(&bytes));
            for (number, place) in places.iter().enumerate().rev().step_by(3) {
                let number = number as u64;
                let fresh = Reader::new(Cursor::new(&bytes));
                for reader in [&mut { fresh }, &mut moving] {
                    let mut at = index.go_to_message(reader, number).unwrap();
                    assert!(at <= number && (step != 1 || number < 2 || at == number), "{at} for {number}");
                    assert!(reader.place() == places[at as usize] || at == 0, "behind the descriptions");
                    while at < number {
                        assert!(reader.seek_past().unwrap());
                        at += 1;
                    }
                    assert_eq!(next(reader), Some(number));
                    let at = index.go_to_position(reader, *place).unwrap();
                    assert!(at <= number && (step != 1 || number < 2 || at == number), "{at} for {number}");
                }
            }
        }
    }
}

#[test]
fn there_are_not_too_many_entries() {
    let bytes = stream(150_000, false);
    let index = Index::every(1, &mut Reader::new(Cursor::new(&bytes))).unwrap();
    let written = written(&index);
    assert!(written.len() < (1 << 16) * 16 + 1_000 && written.len() > (1 << 15) * 16, "{} bytes", written.len());
    let index = Index::read(&written[..]).unwrap();
    let mut reader = Reader::new(Cursor::new(&bytes));
    let at = index.go_to_message(&mut reader, 149_000).unwrap();
    assert!((148_900..=149_000).contains(&at), "{at}");
    assert_eq!(next(&mut reader), Some(at));
}

#[test]
fn an_index_of_another_stream_is_told_apart() {
    let bytes = stream(3_000, false);
    let index = Index::of(&mut Reader::new(Cursor::new(&bytes))).unwrap();
    let fits = |bytes: &[u8]| index.fits(&mut Cursor::new(bytes)).unwrap();
    let longer = [&bytes[..], &stream(5, false)].concat();
    assert!(fits(&bytes) && fits(&longer), "a stream may grow");
    assert!(!fits(&bytes[..bytes.len() - 16]) && !fits(&stream(6_000, false)) && !fits(b""));
    for at in [0, 60_000, bytes.len() - 60_000, bytes.len() - 1] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        assert!(!fits(&bytes), "byte {at}");
    }
    let mut input = Cursor::new(&longer);
    input.seek(SeekFrom::Start(77)).unwrap();
    assert!(index.fits(&mut input).unwrap() && input.position() == 0);
}

#[test]
fn a_stream_is_indexed_up_to_its_damage() {
    let bytes = stream(100, false);
    let whole = Index::every(500, &mut Reader::new(Cursor::new(&bytes))).unwrap();
    for cut in [0, 1, 40, 1_000, bytes.len() - 3, bytes.len() - 20] {
        let index = Index::every(500, &mut Reader::new(Cursor::new(&bytes[..cut]))).unwrap();
        assert!(index.length() <= cut as u64 + 15 && index.messages() <= whole.messages());
        assert!(index.fits(&mut Cursor::new([&bytes[..cut], &[0; 15]].concat())).unwrap());
        let index = Index::read(&written(&index)[..]).unwrap();
        let mut reader = Reader::new(Cursor::new(&bytes));
        let at = index.go_to_message(&mut reader, u64::MAX).unwrap();
        assert_eq!(next(&mut reader), Some(at));
    }
}

#[test]
fn what_is_no_index_is_refused() {
    let bytes = stream(100, false);
    let index = Index::every(500, &mut Reader::new(Cursor::new(&bytes))).unwrap();
    let good = written(&index);
    for cut in 0..good.len() {
        let read = Index::read(&good[..cut]);
        assert!(read.is_err() || cut + 16 > good.len(), "{cut} of {}", good.len());
    }
    let error = Index::read(&bytes[..]).unwrap_err().to_string();
    assert!(error.contains("Log"), "{error}");
    assert_eq!(Index::read(&b""[..]).unwrap_err().code(), Code::Damaged);
    // No byte of it makes a reader fail in another way than by an error, and no entry leads behind the stream.
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x80;
        let Ok(index) = Index::read(&bad[..]) else { continue };
        let mut reader = Reader::new(Cursor::new(&bytes));
        for number in [0, 50, u64::MAX] {
            if index.go_to_message(&mut reader, number).is_ok() {
                assert!(reader.place() < index.length());
                let _ = reader.peek();
            }
        }
    }
}
