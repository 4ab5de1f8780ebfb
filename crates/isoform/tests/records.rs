//! Records of all kinds, sent and received on this machine.

use isoform::core::Verifier;
use isoform::{Bf16, Char, Complex, Decoder, Encoder, Enumeration, F16, Incoming, Record, Registry, Slice, Str};

#[derive(Enumeration, Clone, Copy, Debug, PartialEq)]
#[repr(i32)]
enum Phase {
    Solid = 0,
    Liquid = 1,
    #[isoform(rename = "vapour")]
    Gas = -7,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Point {
    x: f64,
    y: f64,
}

#[derive(Record, Debug, PartialEq)]
#[repr(C)]
struct Track<'a> {
    id: u64,
    name: Str<'a>,
    points: Slice<'a, Point>,
    phase: Phase,
    #[isoform(rename = "temp", unit = "K", alias = "temperature", default = 293.15)]
    t: f32,
    #[isoform(required)]
    step: i32,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Owned {
    name: String,
    samples: Vec<f64>,
    points: Vec<Point>,
    tags: Vec<String>,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Everything {
    a: i8,
    b: u64,
    c: i128,
    d: bool,
    e: [[f32; 3]; 2],
    f: Char,
    g: F16,
    h: Bf16,
    i: Complex<f64>,
    j: [Gappy; 3],
    k: Phase,
    l: usize,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Gappy {
    flag: bool,
    value: f64,
    small: u16,
}

fn gappy(i: u16) -> Gappy {
    Gappy { flag: i % 2 == 1, value: i.into(), small: i }
}

/// Decodes bytes that came from wherever.
fn incoming<'a>(bytes: &'a [u8], registry: &'a mut Registry) -> Incoming<'a> {
    Incoming::parse(bytes, registry).unwrap()
}

fn registry_of<T: Record>() -> Registry {
    let registry = Registry::new();
    registry.register(T::format()).unwrap();
    registry
}

#[test]
fn flat_records_go_both_ways() {
    let record = Everything {
        a: -1,
        b: u64::MAX,
        c: i128::MIN,
        d: true,
        e: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        f: Char(b'x'),
        g: F16::from_f32(0.5),
        h: Bf16::from_f32(-2.0),
        i: Complex { re: 1.0, im: -1.0 },
        j: [gappy(0), gappy(1), gappy(2)],
        k: Phase::Gas,
        l: 12,
    };
    let bytes = Encoder::new().encode(&record).unwrap().to_vec();
    Verifier::new(Everything::format()).verify(&bytes[32..]).unwrap();
    let mut registry = registry_of::<Everything>();
    let mut decoder = Decoder::<Everything>::new();
    assert_eq!(decoder.decode(&incoming(&bytes, &mut registry)).unwrap(), &record);
    assert_eq!(decoder.decode_owned(&incoming(&bytes, &mut registry)).unwrap(), record);
    let mut place = Everything { k: Phase::Solid, ..record };
    decoder.decode_into(&incoming(&bytes, &mut registry), &mut place).unwrap();
    assert_eq!(place, record);
}

#[test]
fn borrowed_parts_go_both_ways() {
    let points = [Point { x: 1.0, y: 2.0 }, Point { x: 3.0, y: 4.0 }];
    let track = Track {
        id: 7,
        name: Str::new(c"seven"),
        points: Slice::from(&points),
        phase: Phase::Liquid,
        t: 300.0,
        step: -1,
    };
    let bytes = Encoder::new().encode(&track).unwrap().to_vec();
    Verifier::new(Track::format()).verify(&bytes[32..]).unwrap();
    let mut registry = registry_of::<Track>();
    let mut decoder = Decoder::<Track>::new();
    let came = decoder.decode(&incoming(&bytes, &mut registry)).unwrap();
    assert_eq!(came, &track);
    assert_eq!(came.name.to_str().unwrap(), "seven");
}

#[test]
fn owned_parts_go_both_ways() {
    let record = Owned {
        name: "Grüße".into(),
        samples: (0..100).map(f64::from).collect(),
        points: vec![Point { x: 0.5, y: -0.5 }],
        tags: vec!["a".into(), String::new(), "ccc".into()],
    };
    let mut encoder = Encoder::new();
    let bytes = encoder.encode(&record).unwrap().to_vec();
    Verifier::new(Owned::format()).verify(&bytes[32..]).unwrap();
    let mut registry = registry_of::<Owned>();
    let mut decoder = Decoder::<Owned>::new();
    let borrowed = decoder.decode(&incoming(&bytes, &mut registry)).unwrap();
    assert_eq!(borrowed.name.to_str().unwrap(), "Grüße");
    assert_eq!(&borrowed.samples[..], record.samples);
    assert_eq!(borrowed.tags[2].to_bytes(), b"ccc");
    assert_eq!(decoder.decode_owned(&incoming(&bytes, &mut registry)).unwrap(), record);
}

#[test]
fn an_encoder_outlives_what_its_records_borrow() {
    let mut encoder = Encoder::new();
    let lengths: Vec<usize> = (0..3)
        .map(|n| {
            let points = vec![Point { x: 0.0, y: 1.0 }; n];
            let (name, points) = (Str::new(c"short-lived"), Slice::from(&points[..]));
            let track = Track { id: 1, name, points, phase: Phase::Gas, t: 1.0, step: 2 };
            encoder.encode(&track).unwrap().len()
        })
        .collect();
    assert_eq!(lengths[2] - lengths[1], 16);
}
