//! Records that are converted within the memory in which they came are those that a decoder makes elsewhere.

use super::{Decoder, Encoder};
use crate::{Aligned, Format, Incoming, Machine, Missing, Rules, message::Header};
use isoform_core::{Layout, Shape, Value, value};
use isoform_testing::mutate::Random;
use isoform_testing::{PLAIN, any_shape, any_value, drawn, evolved, runner, shapes_of, with_gaps};

/// The layout of this machine, if it has a name.
fn here() -> Option<&'static Layout> {
    Layout::ALL.iter().find(|layout| layout.machine() == Machine::NATIVE)
}

/// What is sent for a record that a decoder has made, which is at most once in another place.
fn sent(native: &Format, record: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(native).unwrap();
    // SAFETY: it is a record of the format.
    unsafe { encoder.encode(record.as_ptr()) }.unwrap().to_vec()
}

/// Decodes a body in all ways. Returns whether the record can be converted within the body.
fn compare(wire: &Format, native: &Format, rules: &Rules, body: &[u8]) -> bool {
    let Ok(mut decoder) = Decoder::new(native, rules.clone()) else { return false };
    let header = Header::new(wire.token(), body.len() as u64);
    let elsewhere = decoder.decode(&Incoming::new(header, wire, body)).map(|record| sent(native, record));

    let mut memory = Aligned::from(body);
    let chosen = decoder.decode_in_place(wire, &mut memory).map(|record| sent(native, record));
    assert_eq!(chosen, elsewhere);
    if chosen.is_err() {
        assert_eq!(memory[..], *body, "what is refused stays as it is");
    }
    let mut memory = Aligned::from(body);
    let start = memory.as_ptr();
    let Some(within) = decoder.decode_within(wire, &mut memory) else { return false };
    let within = within.map(|record| {
        assert_eq!(record.as_ptr(), start);
        sent(native, record)
    });
    assert_eq!(within, elsewhere, "{wire:?} to {native:?}");
    true
}

#[test]
fn random_records_are_the_same_within_the_body_and_elsewhere() {
    let Some(here) = here() else { return };
    let (pairs, mut within) = (if cfg!(miri) { 4 } else { 3000 }, 0);
    for number in 0..pairs {
        let mut random = Random::new(number);
        let shape = {
            let plain = random.one_in(2);
            let mut runner = runner(&mut random);
            if plain { drawn(shapes_of(PLAIN), &mut runner) } else { drawn(any_shape(), &mut runner) }
        };
        let seeds: [u8; 24] = std::array::from_fn(|_| random.byte());
        let other = if random.one_in(3) { evolved(&shape, &seeds) } else { shape.clone() };
        let wire = shape.on(&Layout::ALL[random.below(Layout::ALL.len())]).unwrap();
        let wire = if random.one_in(2) { with_gaps(&wire, &seeds[..5]) } else { wire };
        let native = other.on(here).unwrap();
        let rules = Rules::new().missing(Missing::Zero);
        let values = any_value(&wire);
        for _ in 0..3 {
            let value: Value = drawn(&values, &mut runner(&mut random));
            within += usize::from(compare(&wire, &native, &rules, &value::body(&wire, &value).unwrap()));
        }
    }
    assert!(cfg!(miri) || within as u64 > pairs / 4, "{within} of {pairs}");
}

#[test]
fn a_field_in_front_and_strings_and_arrays_of_another_byte_order_need_no_other_memory() {
    let Some(here) = here() else { return };
    let foreign = if cfg!(target_endian = "little") { &Layout::S390X } else { &Layout::X86_64 };
    let read = |text: &str, layout| Shape::parse(text).unwrap().on(layout).unwrap();
    let wire = read(
        "record R\n  extra  f64\n  n  i32\n  m  i32\n  name  string\n  x  f64[n]\n  y  i16[m][3]\n  z  f32[4]\n",
        foreign,
    );
    let native = read("record R\n  n  i32\n  m  i32\n  name  string\n  x  f64[n]\n  y  i16[m][3]\n  z  f32[4]\n", here);
    let array = |count: usize, of: &dyn Fn(usize) -> Value| Value::Array((0..count).map(of).collect());
    for count in [0, 1, 5, 1000] {
        let record = Value::Record(vec![
            ("extra".into(), Value::Float(1.5)),
            ("name".into(), if count == 1 { Value::Null } else { Value::String(vec![b'k'; count]) }),
            ("x".into(), array(count, &|i| Value::Float(i as f64))),
            ("y".into(), array(count, &|i| array(3, &|j| Value::Integer((i + j) as i128)))),
            ("z".into(), array(4, &|i| Value::Float(i as f64 / 4.0))),
        ]);
        let body = value::body(&wire, &record).unwrap();
        assert!(compare(&wire, &native, &Rules::new(), &body), "{count}");
        let mut cut = body.clone();
        cut.pop();
        compare(&wire, &native, &Rules::new(), &cut);
    }
}
