//! A steady sender and a steady receiver allocate nothing.
#![cfg(not(miri))]

use isoform::core::view::Item;
use isoform::core::{Layout, Shape, Value, View, value};
use isoform::message::HEADER;
use isoform::stream::{Reader, Writer};
use isoform::{
    Batch, Columns, Decoder, Encoder, Engine, Incoming, Record, Registry, Slice, Str, Strided, message::Header,
};
use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use std::sync::Arc;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.with(|count| count.set(count.get() + 1));
}

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        count();
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, place: *mut u8, memory: Memory) {
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(place, memory) }
    }

    unsafe fn realloc(&self, place: *mut u8, memory: Memory, size: usize) -> *mut u8 {
        count();
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(place, memory, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often memory was asked for in a hundred rounds, after a few for warming up.
fn allocations(mut round: impl FnMut()) -> usize {
    (0..3).for_each(|_| round());
    let before = ALLOCATIONS.with(Cell::get);
    (0..100).for_each(|_| round());
    ALLOCATIONS.with(Cell::get) - before
}

#[derive(Record)]
#[repr(C)]
struct Full {
    value: f64,
}

#[derive(Record, Clone)]
#[repr(C)]
struct Gappy {
    flag: bool,
    value: f64,
}

#[derive(Record)]
#[repr(C)]
struct Track<'a> {
    name: Str<'a>,
    small: Slice<'a, f64>,
    large: Slice<'a, f64>,
    names: Slice<'a, Str<'a>>,
}

#[derive(Record)]
struct Owned {
    name: String,
    parts: Vec<Part>,
    values: Vec<f64>,
}

#[derive(Record)]
struct Part {
    name: String,
    level: i32,
}

#[test]
fn encoding_allocates_nothing() {
    let gappy = Gappy { flag: true, value: 1.0 };
    let mut encoder = Encoder::new();
    let mut writer = Writer::new(std::io::sink());
    assert_eq!(allocations(|| writer.write(&encoder.encode(&gappy).unwrap()).unwrap()), 0);

    let values = vec![0.5; 1000];
    let names = [Str::new(c"one"), Str::NULL, Str::new(c"three")];
    let (small, large) = (Slice::from(&values[..5]), Slice::from(&values));
    let track = Track { name: Str::new(c"name"), small, large, names: Slice::from(&names) };
    let mut encoder = Encoder::new();
    assert_eq!(allocations(|| writer.write(&encoder.encode(&track).unwrap()).unwrap()), 0);

    let every_second = Strided::new(&values, 999, [500], [-2]).unwrap();
    let mut encoder = Encoder::<Track>::new();
    let round = || {
        let message = encoder.encode_with(|scratch| {
            let large = scratch.gather(&every_second)?;
            Ok(Track { name: Str::new(c"name"), small: large, large, names: Slice::default() })
        });
        writer.write(&message.unwrap()).unwrap();
    };
    assert_eq!(allocations(round), 0);

    let parts = (0..50).map(|level| Part { name: format!("part {level}"), level }).collect();
    let owned = Owned { name: "name".into(), parts, values };
    let mut encoder = Encoder::new();
    assert_eq!(allocations(|| writer.write(&encoder.encode(&owned).unwrap()).unwrap()), 0);
}

/// A body that is kept has a place for itself, one for what was copied, and one for a list if it has several parts. Long
/// strings take their memory along.
#[test]
fn bodies_that_are_kept_allocate_what_they_keep() {
    let (mut encoder, full) = (Encoder::new(), Arc::new(Full { value: 1.5 }));
    assert_eq!(allocations(|| drop(encoder.encode_shared(full.clone()).unwrap())), 100);
    let (mut encoder, gappy) = (Encoder::new(), Arc::new(Gappy { flag: true, value: 1.0 }));
    assert_eq!(allocations(|| drop(encoder.encode_shared(gappy.clone()).unwrap())), 200);
    for (text, expected) in [(4, 300), (2000, 500)] {
        let owned = Owned { name: "n".repeat(text), parts: Vec::new(), values: vec![0.5; 1000] };
        let (mut encoder, owned) = (Encoder::new(), Arc::new(owned));
        assert_eq!(allocations(|| drop(encoder.encode_shared(owned.clone()).unwrap())), expected);
    }
}

#[test]
fn decoding_allocates_nothing() {
    let shape = Shape::new("Gappy").field("value", "float").field("flag", "boolean(4)");
    let format = shape.on(&Layout::POWERPC).unwrap();
    let record = Value::Record(vec![("value".into(), Value::Float(0.5)), ("flag".into(), Value::Boolean(true))]);
    let body = value::body(&format, &record).unwrap();
    let message = Incoming::new(Header::new(format.token(), body.len() as u64), &format, &body);
    let mut decoder = Decoder::<Gappy>::new();
    let mut place = Gappy { flag: false, value: 0.0 };
    assert_eq!(allocations(|| assert!(decoder.decode(&message).unwrap().flag)), 0);
    assert_eq!(allocations(|| decoder.decode_into(&message, &mut place).unwrap()), 0);

    let shape = Shape::new("Track")
        .field("n", "int")
        .field("small", "float[n]")
        .field("m", "int")
        .field("names", "string[m]")
        .field("name", "char[8]");
    let format = shape.on(&Layout::S390X).unwrap();
    let names = ["a", "bb", "ccc"].map(|name| Value::String(name.into()));
    let record = Value::Record(vec![
        ("small".into(), Value::Array(vec![Value::Float(0.5); 100])),
        ("names".into(), Value::Array(names.into())),
        ("name".into(), Value::String(b"name".to_vec())),
    ]);
    let body = value::body(&format, &record).unwrap();
    let message = Incoming::new(Header::new(format.token(), body.len() as u64), &format, &body);
    let mut decoder = Decoder::<Track>::new().with_missing(isoform::Missing::Zero);
    let round = || {
        let track = decoder.decode(&message).unwrap();
        assert_eq!((track.small.len(), track.names[2].to_bytes()), (100, &b"ccc"[..]));
    };
    assert_eq!(allocations(round), 0);
}

#[test]
fn looking_up_formats_allocates_nothing() {
    let mut registry = Registry::new();
    let messages: Vec<Vec<u8>> = (0..50)
        .map(|i| {
            let shape = Shape::new(format!("Gappy{i}")).field("flag", "boolean").field("value", "f64");
            let format = shape.on(&Layout::X86_64).unwrap();
            registry.register(&format).unwrap();
            [&Header::new(format.token(), 16).to_bytes()[..], &[0; 16]].concat()
        })
        .collect();
    let mut decoder = Decoder::<Gappy>::new();
    let round = || {
        for bytes in &messages {
            let message = Incoming::parse(bytes, &mut registry).unwrap();
            assert_eq!(message.view().unwrap().f64("value").unwrap(), 0.0);
            assert!(!decoder.decode(&message).unwrap().flag);
        }
    };
    assert_eq!(allocations(round), 0);
}

#[test]
fn receiving_in_place_allocates_nothing() {
    let values = [0.5; 100];
    let names = [Str::new(c"one"), Str::NULL];
    let (small, large) = (Slice::from(&values[..5]), Slice::from(&values));
    let track = Track { name: Str::new(c"name"), small, large, names: Slice::from(&names) };
    let bytes = Encoder::new().encode(&track).unwrap().to_vec();
    // The body is to begin at a multiple of 16.
    let mut memory = vec![0; bytes.len() + 16];
    let start = memory.as_ptr().align_offset(16);
    let mut registry = Registry::new();
    registry.register(Track::format()).unwrap();
    let mut decoder = Decoder::<Track>::new();
    let round = || {
        let body = &mut memory[start..][..bytes.len() - HEADER];
        body.copy_from_slice(&bytes[HEADER..]);
        let format = registry.lookup(Track::format().token()).unwrap();
        assert_eq!(decoder.decode_in_place(format, body).unwrap().large.len(), 100);
    };
    assert_eq!(allocations(round), 0);
    assert!(decoder.copied() == 0 || cfg!(target_pointer_width = "32"));
}

#[test]
fn reading_a_stream_allocates_nothing() {
    let shape = Shape::new("Gappy").field("value", "float").field("flag", "boolean(4)");
    let format = shape.on(&Layout::POWERPC).unwrap();
    let mut writer = Writer::new(Vec::new());
    let mut encoder = Encoder::new();
    for _ in 0..1000 {
        writer.write_body(&format, &[0x3f, 0, 0, 0, 0, 0, 0, 1]).unwrap();
        writer.write(&encoder.encode(&Gappy { flag: true, value: 0.5 }).unwrap()).unwrap();
    }
    for engine in [Engine::Interpreter, Engine::Generated] {
        let mut reader = Reader::new(&writer.inner()[..]);
        let mut decoder = Decoder::<Gappy>::new().with_engine(engine);
        let round = || {
            for _ in 0..4 {
                let message = reader.next().unwrap().unwrap();
                assert_eq!(decoder.decode(&message).unwrap().value, 0.5);
            }
        };
        assert_eq!(allocations(round), 0);
    }
}

/// A view of a verified record is no copy: one integer beside many texts costs the same as beside none.
#[test]
fn views_allocate_nothing_for_what_nobody_asks() {
    let shape = Shape::new("Names").field("step", "int").field("names", "string[n]").field("n", "int");
    let format = shape.on(&Layout::NATIVE).unwrap();
    let names = (0..200_000).map(|number| Value::String(format!("n{number}").into_bytes())).collect();
    let fields = [("step", Value::Integer(7)), ("names", Value::Array(names)), ("n", Value::Integer(200_000))];
    let record = Value::Record(fields.map(|(name, value)| (name.into(), value)).into());
    let body = value::body(&format, &record).unwrap();
    let checked = format.verify(&body).unwrap();
    let round = || {
        let view = View::new(checked);
        assert_eq!(view.i64("step").unwrap(), 7);
        assert_eq!(view.str("names[199999]").unwrap(), "n199999");
        assert!(matches!(view.get("names").unwrap(), Item::Array(names) if names.len() == 200_000));
    };
    assert_eq!(allocations(round), 0);
}

#[test]
fn batches_allocate_nothing() {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new();
    for i in 0..100 {
        encoder.encode(&Gappy { flag: i % 2 == 0, value: i.into() }).unwrap().write_to(&mut bytes).unwrap();
    }
    let mut registry = Registry::new();
    registry.register(Gappy::format()).unwrap();
    for engine in [Engine::Interpreter, Engine::Generated] {
        let mut decoder = Decoder::<Gappy>::new().with_engine(engine);
        let mut columns = Columns::new().with_engine(engine);
        let value = columns.field::<f32>("value").unwrap();
        let round = || {
            let (batch, _) = Batch::parse(&bytes, &mut registry).unwrap();
            assert_eq!(decoder.decode_many(&batch).unwrap().len(), 100);
            columns.clear();
            columns.append(&batch).unwrap();
            assert_eq!(columns[value][99], 99.0);
        };
        assert_eq!(allocations(round), 0);
    }
}
