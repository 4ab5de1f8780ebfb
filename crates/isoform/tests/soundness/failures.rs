//! Failures half way: what is used after an error or a panic is used as if nothing had happened.

use super::message;
use isoform::stream::{Reader, Writer};
use isoform::{Code, Decoder, Encoder, Record, Slice, Str};
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Record, Debug, PartialEq, Clone)]
struct Owning {
    names: Vec<String>,
    values: Vec<u64>,
    last: String,
}

fn owning(count: usize) -> Owning {
    Owning { names: (0..count).map(|i| format!("{i:0>70}")).collect(), values: vec![7; count], last: "last".into() }
}

#[derive(Record, Debug, PartialEq, Clone, Copy)]
#[repr(C)]
struct Borrowing<'a> {
    a: u8,
    name: Str<'a>,
    large: Slice<'a, u64>,
}

/// Takes a few bytes at a time, and panics, or lies, after so many calls.
struct Bad {
    calls: usize,
    lies: bool,
    written: Vec<u8>,
}

impl Write for Bad {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.calls == 0 {
            self.calls = usize::MAX;
            return if self.lies { Ok(usize::MAX) } else { panic!("half way") };
        }
        self.calls -= 1;
        let count = bytes.len().min(50);
        self.written.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_that_panics_half_way() {
    let large = vec![1; 300];
    let record = Borrowing { a: 1, name: Str::new(c"name"), large: Slice::from(&large) };
    for lies in [false, true] {
        let mut encoder = Encoder::new();
        let mut bad = Bad { calls: 3, lies, written: Vec::new() };
        let message = encoder.encode(&record).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| message.write_to(&mut bad))).is_err());
        assert!(!bad.written.is_empty() && message.to_vec().starts_with(&bad.written));
        // A stream that was cut is not gone on with; one of another writer is.
        let mut writer = Writer::new(Bad { calls: 3, lies, written: Vec::new() });
        assert!(catch_unwind(AssertUnwindSafe(|| writer.write(&message))).is_err());
        assert_eq!(writer.write(&message).unwrap_err().code(), Code::Io);
        let mut writer = Writer::new(Vec::new());
        writer.write(&encoder.encode(&record).unwrap()).unwrap();
        let bytes = writer.into_inner();
        let mut reader = Reader::new(&bytes[..]);
        let mut decoder = Decoder::<Borrowing>::new();
        assert_eq!(decoder.decode(&reader.next().unwrap().unwrap()).unwrap(), &record);
    }
}

/// Gives one byte less than asked for, now and then panics, and claims to have given more.
struct Moody<'a>(&'a [u8], usize);

impl Read for Moody<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        self.1 += 1;
        match self.1 % 4 {
            0 => panic!("in a bad mood"),
            _ => {
                let few = room.len().min(70);
                self.0.read(&mut room[..few])
            }
        }
    }
}

#[test]
fn an_input_that_panics_loses_nothing() {
    let mut writer = Writer::new(Vec::new());
    let mut encoder = Encoder::new();
    let records: Vec<Owning> = (0..4).map(owning).collect();
    records.iter().for_each(|record| writer.write(&encoder.encode(record).unwrap()).unwrap());
    let bytes = writer.into_inner();
    let mut reader = Reader::new(Moody(&bytes, 0));
    let mut decoder = Decoder::<Owning>::new();
    let mut came = Vec::new();
    while came.len() < records.len() {
        let next = catch_unwind(AssertUnwindSafe(|| match reader.next() {
            Ok(Some(message)) => Some(decoder.decode_owned(&message).unwrap()),
            other => other.map(|_| None).unwrap(),
        }));
        came.extend(next.ok().flatten());
    }
    assert_eq!(came, records);

    struct Liar;
    impl Read for Liar {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Ok(usize::MAX)
        }
    }
    assert!(Reader::new(Liar).next().is_err());
    assert!(Reader::new(Liar).read_into(&mut [0; 100]).is_err());
}

#[test]
fn encoders_are_used_after_errors_and_after_messages_that_were_not_sent() {
    let mut encoder = Encoder::<Owning>::new();
    let mut decoder = Decoder::<Owning>::new();
    let counts = if cfg!(miri) { [0, 1, 70, 3, 90, 0, 4] } else { [0, 1, 200, 3, 500, 0, 40] };
    for count in counts {
        let record = owning(count);
        let bad = Owning { last: "a\0b".into(), ..record.clone() };
        assert_eq!(encoder.encode(&bad).unwrap_err().path(), "last");
        let _ = encoder.encode(&record).unwrap(); // which lends memory, and is never sent
        let mut moved = encoder;
        let body = moved.encode(&record).unwrap().to_vec().split_off(32);
        let mut other = Encoder::new();
        std::mem::swap(&mut moved, &mut other);
        assert!(moved.encode(&record).unwrap().to_vec().split_off(32) == body);
        encoder = if count % 2 == 0 { moved } else { other };
        // What a decoder has of an earlier message is not part of the next one.
        let came = message(Owning::format(), &body);
        for end in [body.len() / 2, body.len() - 1, 0] {
            assert!(decoder.decode(&message(Owning::format(), &body[..end])).is_err());
        }
        assert_eq!(decoder.decode_owned(&came).unwrap(), record);
    }
}
