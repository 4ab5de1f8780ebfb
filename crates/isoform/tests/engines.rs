//! Records arrive alike, whatever engine converts them. That `Auto` does change engines is seen where it is decided, in
//! `decoder/engine.rs`.

#![cfg(feature = "generate")]

use isoform::core::{Layout, Shape, Value, value};
use isoform::{Decoder, Engine, Incoming, Record, Slice, Str, message::Header};

#[derive(Record, Debug)]
#[repr(C)]
struct Station<'a> {
    name: Str<'a>,
    id: i16,
    levels: Slice<'a, f64>,
    flags: [u32; 3],
}

/// What a powerpc program sends: the same fields, some of them wider, in another order.
fn body(id: i128) -> (isoform::Format, Vec<u8>) {
    let shape =
        Shape::parse("record Station\n  flags  u32[3]\n  id  i64\n  n  i32\n  levels  f32[n]\n  name  string\n");
    let format = shape.unwrap().on(&Layout::POWERPC).unwrap();
    let numbers = |numbers: &[i128]| Value::Array(numbers.iter().map(|&number| Value::Integer(number)).collect());
    let record = Value::Record(vec![
        ("flags".into(), numbers(&[1, 2, 3])),
        ("id".into(), Value::Integer(id)),
        ("levels".into(), Value::Array(vec![Value::Float(0.5), Value::Float(1.5)])),
        ("name".into(), Value::String(b"Kiel".to_vec())),
    ]);
    let body = value::body(&format, &record).unwrap();
    (format, body)
}

#[test]
fn records_and_errors_are_the_same_by_every_engine() {
    let ((format, good), (_, bad)) = (body(-7), body(70_000));
    let message = |body| Incoming::new(Header::new(format.token(), good.len() as u64), &format, body);
    for engine in [Engine::Auto, Engine::Interpreter, Engine::Generated] {
        let mut decoder = Decoder::<Station>::new().with_engine(engine);
        // Enough for `Auto` to change engines somewhere on the way.
        for _ in 0..20_000 {
            let station = decoder.decode(&message(&good)).unwrap();
            assert_eq!(
                (station.name.to_bytes(), station.id, station.flags),
                (&b"Kiel"[..], -7, [1, 2, 3]),
                "{engine:?}"
            );
            assert_eq!(station.levels[..], [0.5, 1.5], "{engine:?}");
        }
        let error = decoder.decode(&message(&bad)).unwrap_err();
        assert_eq!(error.to_string(), "overflow at id: expected integer of 2 bytes, found 70000", "{engine:?}");
    }
}
