//! C's `long double` in Rust, whatever machine it comes from: the vectors that real machines wrote (`vectors/long-double`,
//! `vectors/wide`) become Rust's types of it and go out again, digit for digit.

use isoform::core::Layout;
use isoform::stream::Reader;
use isoform::text::json;
use isoform::{Char, Complex, Decoder, DoubleDouble, Encoder, F128, Incoming, Record, Registry, Slice, Str, X87};
use serde_json::Value;
use std::path::PathBuf;

/// The record of the vectors, with a type for `long double`. Its module is named after the type on the wire.
macro_rules! declared {
    ($name:ident, $type:ty) => {
        mod $name {
            use super::*;

            #[derive(Record)]
            #[repr(C)]
            pub(super) struct LongDouble<'a> {
                expression: Str<'a>,
                exact: Str<'a>,
                decimal: Str<'a>,
                before: Char,
                value: $type,
                between: Char,
                z: Complex<$type>,
                rounded: f64,
                single: f32,
            }

            #[derive(Record)]
            #[repr(C)]
            pub(super) struct LongDoubles<'a> {
                three: [$type; 3],
                values: Slice<'a, $type>,
                between: Char,
                pair: [Complex<$type>; 2],
                zs: Slice<'a, Complex<$type>>,
            }

            /// Decodes a message as the record of its name, sends that, and returns it as JSON with its body.
            pub(super) fn again(message: &Incoming<'_>) -> (Value, Vec<u8>) {
                match message.format().name() {
                    "LongDouble" => super::again::<LongDouble>(message),
                    _ => super::again::<LongDoubles>(message),
                }
            }
        }
    };
}

declared!(x87, X87);
declared!(double_double, DoubleDouble);
declared!(quad, F128);

/// The record that becomes of a message, sent again.
fn again<T>(message: &Incoming<'_>) -> (Value, Vec<u8>)
where
    T: Record<Static = T> + 'static,
    for<'m> T::Native<'m>: Record<Static = T>,
{
    let mut decoder = Decoder::<T>::new();
    let bytes = Encoder::<T>::new().encode(decoder.decode(message).unwrap()).unwrap().to_vec();
    let mut registry = Registry::new();
    registry.register(T::format()).unwrap();
    let sent = Incoming::parse(&bytes, &mut registry).unwrap();
    (serde_json::from_str(&json::line(sent.view().unwrap())).unwrap(), sent.body().to_vec())
}

fn vector(feature: &str, layout: &str) -> (Vec<u8>, Value) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(feature).join(layout);
    let read = |path: PathBuf| std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let expected = serde_json::from_slice(&read(path.with_extension("json"))).unwrap();
    (read(path.with_extension("bin")), expected)
}

#[test]
fn the_long_doubles_of_every_machine_become_rust_and_go_out_again() {
    for (layout, again, native) in [
        ("x86_64", x87::again as fn(&Incoming<'_>) -> _, x87::LongDouble::format()),
        ("i386", x87::again, x87::LongDouble::format()),
        ("powerpc", double_double::again, double_double::LongDouble::format()),
        ("powerpc64", double_double::again, double_double::LongDouble::format()),
        ("aarch64", quad::again, quad::LongDouble::format()),
        ("riscv64", quad::again, quad::LongDouble::format()),
        ("s390x", quad::again, quad::LongDouble::format()),
        ("sparc", quad::again, quad::LongDouble::format()),
        ("sparc64", quad::again, quad::LongDouble::format()),
    ] {
        let (stream, vector) = vector("long-double", layout);
        let mut reader = Reader::new(&stream[..]);
        let mut records = 0;
        while let Some(message) = reader.next().unwrap() {
            // That it says what the vector says, tests/vectors.rs tests.
            let expected: Value = serde_json::from_str(&json::line(message.view().unwrap())).unwrap();
            let (sent, body) = again(&message);
            for (name, value) in sent.as_object().unwrap() {
                let Some(expected) = expected.get(name) else { continue }; // a length
                assert_eq!(value, expected, "{layout}, {records}: {name}");
            }
            if layout == Layout::NATIVE.name && message.format().name() == "LongDouble" {
                assert_eq!(message.format().token(), native.token());
                assert_eq!(body, message.body(), "{layout}, {records}");
            }
            records += 1;
        }
        assert_eq!(records, vector["messages"].as_array().unwrap().len(), "{layout}");
    }
}

/// Numbers that no C of the machine has, in slots of every size.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Odd {
    ext: X87,
    ext12: X87,
    ext10: X87,
    twin: DoubleDouble,
    #[isoform(default = 0.1)]
    quad_of_old: F128,
    #[isoform(default = 0.5)]
    ext_of_old: X87,
    #[isoform(default = -0.5)]
    twin_of_old: DoubleDouble,
    #[isoform(default = Complex { re: 1.0, im: -1.0 })]
    pair_of_old: Complex<X87>,
}

#[test]
fn the_numbers_of_other_machines_are_read_on_this_one() {
    let mut layouts = 0;
    for layout in Layout::ALL {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/wide");
        if !folder.join(layout.name).with_extension("bin").exists() {
            continue;
        }
        let (stream, _) = vector("wide", layout.name);
        let mut reader = Reader::new(&stream[..]);
        let mut decoder = Decoder::<Odd>::new();
        let mut next = || *decoder.decode(&reader.next().unwrap().unwrap()).unwrap();
        let tenth = 0x3ffb_cccc_cccc_cccc_cccd;
        let expected = Odd {
            ext: X87::from_bits(tenth),
            ext12: X87::from_bits(tenth | 1 << 79),
            ext10: X87::from_f64(1.5),
            twin: DoubleDouble::new(0.5, 0.0),
            quad_of_old: F128::from_f64(0.1),
            ext_of_old: X87::from_f64(0.5),
            twin_of_old: DoubleDouble::from_f64(-0.5),
            pair_of_old: Complex { re: X87::from_f64(1.0), im: X87::from_f64(-1.0) },
        };
        assert_eq!(next(), expected, "{}", layout.name);
        let odd = next();
        assert_eq!(odd.ext, X87::from_f64(f64::INFINITY), "{}", layout.name);
        assert_eq!(odd.ext12, X87::from_f64(f64::NEG_INFINITY), "{}", layout.name);
        assert!(odd.ext10.to_f64().is_nan(), "{}", layout.name);
        assert_eq!(odd.twin.high().to_bits(), (-0.0f64).to_bits(), "{}", layout.name);
        layouts += 1;
    }
    assert!(layouts >= 10);
}

/// An owned record.
#[derive(Record, Debug, PartialEq)]
struct Samples {
    name: String,
    depths: Vec<X87>,
    pairs: Vec<DoubleDouble>,
}

#[test]
fn owned_records_have_them_too() {
    let samples = Samples {
        name: "deep".into(),
        depths: (0..5).map(|i| X87::from_f64(f64::from(i) / 3.0)).collect(),
        pairs: vec![DoubleDouble::new(1.0, 1e-20); 3],
    };
    let bytes = Encoder::new().encode(&samples).unwrap().to_vec();
    let mut registry = Registry::new();
    registry.register(Samples::format()).unwrap();
    let came = Decoder::<Samples>::new().decode_owned(&Incoming::parse(&bytes, &mut registry).unwrap()).unwrap();
    assert_eq!(came, samples);
}
