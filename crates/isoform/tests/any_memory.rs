//! Records whose format is known only when the program runs: what `memory` makes of them is what a Rust type would make.

use isoform::core::{Layout, Shape, Value};
use isoform::{
    Aligned, Code, Decoder, Encoder, Enumeration, Faults, FieldList, Format, Incoming, Machine, Record, Registry,
    Rules, Slice, Str, memory, message::Header,
};
use std::mem::MaybeUninit;

#[derive(Enumeration, Clone, Copy, Debug, PartialEq)]
#[repr(i32)]
enum Phase {
    Solid = 0,
    Liquid = 1,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Point {
    visible: bool,
    x: f64,
}

#[derive(Record, Debug, PartialEq)]
#[repr(C)]
struct Track<'a> {
    name: Str<'a>,
    phase: Phase,
    points: Slice<'a, Point>,
    levels: Slice<'a, f64>,
}

const POINTS: [Point; 2] = [Point { visible: true, x: 0.5 }, Point { visible: false, x: 1.5 }];

fn registry() -> Registry {
    let registry = Registry::new();
    for format in [Track::format(), Point::format()] {
        registry.register(format).unwrap();
    }
    registry
}

fn address<T>(record: &T) -> *const u8 {
    (&raw const *record).cast()
}

fn track<'a>(levels: &'a [f64]) -> Track<'a> {
    let (name, points) = (Str::new(c"T1"), Slice::from(&POINTS));
    Track { name, phase: Phase::Liquid, points, levels: Slice::from(levels) }
}

#[test]
fn messages_are_those_of_the_type() {
    for count in [0, 3, 1000] {
        let levels = vec![0.25; count];
        let track = track(&levels);
        let mut encoder = memory::Encoder::new(Track::format()).unwrap();
        // SAFETY: it is such a record.
        let message = unsafe { encoder.encode(address(&track)) }.unwrap();
        assert_eq!(message.to_vec(), Encoder::new().encode(&track).unwrap().to_vec());
    }
}

#[test]
fn records_are_decoded_borrowed_in_place_and_to_where_the_caller_wants_them() {
    let levels = [0.25; 200];
    let track = track(&levels);
    let bytes = Encoder::new().encode(&track).unwrap().to_vec();
    let mut registry = registry();
    let message = Incoming::parse(&bytes, &mut registry).unwrap();
    let mut decoder = memory::Decoder::new(Track::format(), Rules::new()).unwrap();
    // SAFETY: the bytes are those of such a record.
    let seen: &Track<'_> = unsafe { &*decoder.decode(&message).unwrap().as_ptr().cast() };
    assert_eq!(seen, &track);

    let mut body = Aligned::from(message.body());
    // SAFETY: as above.
    let seen: &Track<'_> = unsafe { &*decoder.decode_in_place(Track::format(), &mut body).unwrap().as_ptr().cast() };
    assert_eq!(seen, &track);

    // Two at once, each with blocks of its own.
    let mut records = [const { MaybeUninit::<Track<'_>>::zeroed() }; 2];
    let mut blocks = [Aligned::new(), Aligned::new()];
    for (record, blocks) in records.iter_mut().zip(&mut blocks) {
        // SAFETY: there is room for such a record.
        unsafe { decoder.decode_into(&message, record.as_mut_ptr().cast(), blocks).unwrap() };
    }
    drop(decoder);
    for record in &records {
        // SAFETY: one was put there, whose blocks are still there.
        assert_eq!(unsafe { record.assume_init_ref() }, &track);
    }
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_record_that_breaks_its_declaration_is_refused() {
    let mut encoder = memory::Encoder::new(Track::format()).unwrap();
    let mut refused = |track: &[u64; 6]| {
        // SAFETY: 48 bytes, whose pointers point at what their lengths say.
        let error = unsafe { encoder.encode(track.as_ptr().cast()) }.unwrap_err();
        assert_eq!(error.code(), Code::BadRecord);
        error.to_string()
    };
    let points = [[1u64, 0], [2, 0]];
    let good = [0, 1, 0, 0, 0, 0];
    let at = |name: &str| Track::format().structure().field(name).unwrap().offset / 8;
    assert_eq!(Track::format().size(), size_of_val(&good));
    let mut phase = good;
    phase[1] = 2;
    assert!(refused(&phase).ends_with("at phase: expected the value of a symbol, found 2"));
    let mut broken = good;
    broken[at("points")] = points.as_ptr().expose_provenance() as u64;
    broken[at("points_len")] = 2;
    assert!(refused(&broken).contains("at points[1].visible: expected 0 or 1"));
    broken[at("points")] = 0;
    assert!(refused(&broken).ends_with("at points: expected 2 elements, found null"));
}

#[test]
fn what_is_large_is_checked_too() {
    // The flag lies behind an array that goes by reference.
    let format = FieldList::new("r").field("values", "f64[600]", 8, 0).field("flag", "bool", 1, 4800);
    let format = format.format(Machine::NATIVE, 4808, 8).unwrap();
    let mut record = vec![0u64; 601];
    let mut encoder = memory::Encoder::new(&format).unwrap();
    // SAFETY: 4808 bytes.
    unsafe { encoder.encode(record.as_ptr().cast()) }.unwrap();
    record[600] = 0x0707_0707_0707_0707;
    // SAFETY: as before.
    let error = unsafe { encoder.encode(record.as_ptr().cast()) }.unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::BadRecord, "flag"));
}

/// A format of another machine.
fn foreign(text: &str) -> Format {
    Shape::parse(text).unwrap().on(&Layout::SPARC).unwrap()
}

#[test]
fn pointers_must_be_those_of_this_machine_and_plain_memory_need_not() {
    let named = foreign("record r\n  name string");
    let errors = [memory::Encoder::new(&named).err(), memory::Decoder::new(&named, Rules::new()).err()];
    assert!(errors.iter().all(|error| error.as_ref().unwrap().code() == Code::WrongType), "{errors:?}");

    let level = foreign("record r\n  n short\n  level double");
    let mut record = [0xee; 16];
    record[..2].copy_from_slice(&7i16.to_be_bytes());
    record[8..].copy_from_slice(&0.5f64.to_be_bytes());
    let mut encoder = memory::Encoder::new(&level).unwrap();
    // SAFETY: 16 bytes that are such a record.
    let bytes = unsafe { encoder.encode(record.as_ptr()) }.unwrap().to_vec();
    assert_eq!(bytes[34..40], [0; 6], "gaps leave as zeros");
    let message = Incoming::new(Header::new(level.token(), 16), &level, &bytes[32..]);

    let native = FieldList::new("r").field("level", "f32", 4, 0).field("n", "i64", 8, 8);
    let native = native.format(Machine::NATIVE, 16, 8).unwrap();
    let mut decoder = memory::Decoder::new(&native, Rules::new()).unwrap();
    let record = decoder.decode(&message).unwrap().to_vec();
    assert_eq!((&record[..4], &record[8..]), (&0.5f32.to_ne_bytes()[..], &7i64.to_ne_bytes()[..]));

    // And back, to memory of the other machine.
    let back = Header::new(native.token(), 16);
    let mut decoder = memory::Decoder::new(&level, Rules::new()).unwrap();
    let record = decoder.decode(&Incoming::new(back, &native, &record)).unwrap();
    assert_eq!((&record[..2], &record[8..]), (&7i16.to_be_bytes()[..], &0.5f64.to_be_bytes()[..]));
}

#[test]
fn alignments_that_cannot_be_kept_are_refused() {
    let inner = || FieldList::new("inner").field("x", "f64", 8, 0);
    let wide = inner().format(Machine::NATIVE, 128, 128).unwrap();
    assert_eq!(memory::Decoder::new(&wide, Rules::new()).unwrap_err().code(), Code::WrongType);
    memory::Encoder::new(&wide).unwrap();
    let pointer = size_of::<usize>();
    for (align, fits) in [(8, true), (16, true), (32, false)] {
        let inner = inner().structure(Machine::NATIVE, 32, align).unwrap();
        let outer = FieldList::new("outer").nested(inner).field("at", "inner*", 32, 0);
        let outer = outer.format(Machine::NATIVE, pointer, pointer).unwrap();
        let made = memory::Decoder::new(&outer, Rules::new());
        assert_eq!(made.is_ok(), fits, "{made:?}");
        assert!(fits || made.unwrap_err().path() == "outer.at");
    }
}

#[test]
fn arrays_go_and_come_in_one_call() {
    let points: Vec<Point> = (0..100).map(|i| Point { visible: i % 2 == 0, x: i.into() }).collect();
    let mut encoder = memory::Encoder::new(Point::format()).unwrap();
    // SAFETY: they are such records.
    let batch = unsafe { encoder.encode_many(points.as_ptr().cast(), points.len()) }.unwrap().unwrap();
    assert_eq!(batch.len(), 100);
    let body: Vec<u8> = batch.messages().nth(1).unwrap().body().to_vec();
    assert_eq!((body[0], &body[1..8]), (0, &[0; 7][..]), "gaps leave as zeros");
    assert_eq!(Decoder::<Point>::new().decode_many(&batch).unwrap(), points);

    let mut seen = vec![Point { visible: true, x: 7.0 }; 100];
    let mut decoder = memory::Decoder::new(Point::format(), Rules::new()).unwrap();
    // SAFETY: there is room for 100 of them.
    unsafe { decoder.decode_many_into(&batch, seen.as_mut_ptr().cast()) }.unwrap();
    assert_eq!(seen, points);

    // SAFETY: there are none.
    assert!(unsafe { encoder.encode_many(points.as_ptr().cast(), 0) }.unwrap().is_none());
    let bad = [[1u64, 0], [7, 0]];
    // SAFETY: two records of 16 bytes.
    let error = unsafe { encoder.encode_many(bad.as_ptr().cast(), 2) }.unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::BadRecord, "[1].visible"));
    let mut encoder = memory::Encoder::new(Track::format()).unwrap();
    // SAFETY: not looked at.
    assert_eq!(unsafe { encoder.encode_many([0u64].as_ptr().cast(), 1) }.unwrap_err().code(), Code::WrongType);
}

#[test]
fn rules_and_faults_hold() {
    let sent = FieldList::new("r").field("temp", "i32", 4, 0).format(Machine::NATIVE, 4, 4).unwrap();
    let body = 300i32.to_ne_bytes();
    let message = Incoming::new(Header::new(sent.token(), 4), &sent, &body);
    let native = FieldList::new("r").field("temperature", "u8", 1, 0).field("pressure", "f64", 8, 8);
    let native = native.format(Machine::NATIVE, 16, 8).unwrap();
    let rules = || Rules::new().alias("r", "temperature", "temp").default("r", "pressure", Value::Float(1013.25));
    let mut decoder = memory::Decoder::new(&native, rules()).unwrap();
    assert_eq!(decoder.decode(&message).unwrap_err().code(), Code::Overflow);
    let mut decoder = decoder.with_faults(Faults::Saturate);
    let record = decoder.decode(&message).unwrap();
    assert_eq!((record[0], &record[8..]), (255, &1013.25f64.to_ne_bytes()[..]));
    let mut decoder = memory::Decoder::new(&native, rules().required("r", "pressure")).unwrap();
    assert_eq!(decoder.decode(&message).unwrap_err().code(), Code::Required);
}
