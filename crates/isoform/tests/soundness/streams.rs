//! Streams from an enemy: formats whose names agree and whose structure does not, and bodies that lie.

use super::{Aligned, message};
use isoform::core::{Layout, Shape, value};
use isoform::{
    Array, Char, Code, Decoder, Encoder, Enumeration, Faults, FieldList, Format, Machine, Record, Ref, Slice, Str,
};
use isoform_testing::any_value;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

#[derive(Enumeration, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Phase {
    Solid = 1,
    Liquid = 2,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Point<'a> {
    flag: bool,
    name: Str<'a>,
    xs: Slice<'a, f64>,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Target<'a> {
    a: Slice<'a, f64>,
    b: Str<'a>,
    c: Ref<'a, [Phase; 5]>,
    d: bool,
    e: [u16; 3],
    f: Array<'a, f32, 2>,
    g: Slice<'a, Point<'a>>,
    #[isoform(alias = "g", alias = "p.flag")]
    h: [bool; 2],
    i: Ref<'a, Point<'a>>,
    #[isoform(default = Phase::Liquid)]
    j: Phase,
    k: [Str<'a>; 2],
    l: Slice<'a, u128>,
    #[isoform(alias = "a")]
    m: Slice<'a, bool>,
    #[isoform(default = [Phase::Solid; 2])]
    n: [Phase; 2],
    p: Point<'a>,
    q: Slice<'a, [Char; 2]>,
}

/// The same kind of thing without pointers, and owning.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct FlatTarget {
    d: bool,
    e: [u16; 3],
    #[isoform(default = Phase::Liquid)]
    j: Phase,
    h: [bool; 2],
    p: Flag,
    #[isoform(default = [Phase::Solid; 2])]
    n: [Phase; 2],
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Flag {
    flag: bool,
}

#[derive(Record, Debug, PartialEq)]
struct OwnedTarget {
    a: Vec<f64>,
    b: Option<String>,
    d: bool,
    g: Vec<Flag>,
    i: Option<Box<OwnedPoint>>,
    #[isoform(default = Phase::Liquid)]
    j: Phase,
    k: [String; 2],
    l: Vec<[u128; 2]>,
}

#[derive(Record, Debug, PartialEq)]
struct OwnedPoint {
    flag: bool,
    name: String,
    xs: Vec<f64>,
}

/// Reads every byte that a record gives access to, and checks what the compiler takes for granted.
macro_rules! touch {
    ($record:expr, $type:ident) => {{
        let record = $record;
        assert!(format!("{record:?}").len() > 1);
        let bytes = Encoder::<$type>::new().encode(record).unwrap().to_vec();
        assert!($type::format().verify(&bytes[32..]).is_ok(), "{record:?}");
    }};
}

const FAULTS: [Faults; 3] = [Faults::Error, Faults::Saturate, Faults::Wrap];

/// Everything that can be done with a body. Returns how often it became a record.
fn attack(format: &Format, body: &[u8]) -> usize {
    let mut count = 0;
    for faults in FAULTS {
        let mut decoder = Decoder::<Target>::new().with_faults(faults).with_missing(isoform::Missing::Zero);
        for offset in if cfg!(miri) { &[0][..] } else { &[0, 8, 3] } {
            let mut body = Aligned::new(body, *offset);
            if let Ok(record) = decoder.decode(&message(format, body.bytes())) {
                touch!(record, Target);
                count += 1;
            }
            if let Ok(record) = decoder.decode_in_place(format, body.bytes()) {
                touch!(record, Target);
            }
        }
        let mut decoder = Decoder::<FlatTarget>::new().with_faults(faults).with_missing(isoform::Missing::Zero);
        for offset in [0, 1] {
            let mut body = Aligned::new(body, offset);
            let mut place = FlatTarget {
                d: true,
                e: [1; 3],
                j: Phase::Solid,
                h: [true; 2],
                p: Flag { flag: true },
                n: [Phase::Solid; 2],
            };
            let done = decoder.decode_into(&message(format, body.bytes()), &mut place);
            touch!(&place, FlatTarget);
            let came = decoder.decode(&message(format, body.bytes()));
            assert_eq!(came.is_ok(), done.is_ok());
            if let Ok(record) = came {
                assert_eq!(record, &place);
                touch!(record, FlatTarget);
                count += 1;
            }
            if let Ok(record) = decoder.decode_in_place(format, body.bytes()) {
                assert_eq!(record, &place);
            }
        }
        let mut decoder = Decoder::<OwnedTarget>::new().with_faults(faults).with_missing(isoform::Missing::Zero);
        if let Ok(record) = decoder.decode_owned(&message(format, body)) {
            touch!(&record, OwnedTarget);
            count += 1;
        }
    }
    count
}

/// A body, and copies of it with single bytes changed, or with too few or too many.
fn attack_with_changes(format: &Format, body: &[u8], step: usize) -> usize {
    let mut count = attack(format, body);
    for at in (0..body.len()).step_by(step) {
        let values = [body[at] ^ 1, 0xff, 0, 1, 2, 8, 0x7f, 0x80, body[at].wrapping_add(8)];
        for value in &values[..if cfg!(miri) { 2 } else { 9 }] {
            let mut body = body.to_vec();
            body[at] = *value;
            count += attack(format, &body);
        }
        attack(format, &body[..at]);
    }
    attack(format, &[body, &[0; 9]].concat());
    count
}

fn target_body() -> Vec<u8> {
    let xs = [1.0, 2.0];
    let point = Point { flag: true, name: Str::new(c"point"), xs: Slice::from(&xs) };
    let (points, phases, bits) = ([point; 2], [Phase::Solid; 5], [1u128, 2]);
    let target = Target {
        a: Slice::from(&xs),
        b: Str::new(c"b"),
        c: Ref::new(&phases),
        d: true,
        e: [1, 2, 3],
        f: Array::new(&[1.0, 2.0], [2, 1]).unwrap(),
        g: Slice::from(&points),
        h: [true, false],
        i: Ref::new(&point),
        j: Phase::Liquid,
        k: [Str::NULL, Str::new(c"")],
        l: Slice::from(&bits),
        m: Slice::from(&[true, false]),
        n: [Phase::Solid, Phase::Liquid],
        p: point,
        q: Slice::from(&[[Char(1), Char(0)]]),
    };
    Encoder::new().encode(&target).unwrap().to_vec().split_off(32)
}

#[test]
fn own_bodies_with_changes() {
    let body = target_body();
    let step = if cfg!(miri) { 499 } else { 17 };
    assert!(attack_with_changes(Target::format(), &body, step) > 6);
}

/// What a field of the enemy's may be.
const KINDS: [&str; 34] = [
    "double",
    "float[z]",
    "double[z]",
    "double[a_len]",
    "double[a_len][2]",
    "double[3]",
    "double[3]*",
    "double*",
    "string",
    "string[2]",
    "string[z]",
    "char[4]",
    "char[z][2]",
    "char*",
    "int",
    "unsigned long",
    "boolean",
    "boolean(4)[3]",
    "boolean[z]",
    "boolean[a_len]",
    "int[z]",
    "signed char[3]",
    "Point",
    "Point[z]",
    "Point*",
    "Point[g_len]",
    "Point[1]",
    "enumeration{Solid=1,Liquid=2}[3]*",
    "enumeration{Solid=1,Liquid=2}[3]",
    "enumeration{Solid=2,Liquid=1,Gas=0}",
    "unsigned char",
    "float[f_dim0][f_dim1]",
    "float[f_dim1][f_dim0]",
    "integer(16)[l_len]",
];

const NAMES: [&str; 16] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "p", "q"];

/// Integers with the names of the receiver's lengths, which may or may not be lengths of the enemy's.
const INTEGERS: [&str; 6] = ["int", "unsigned long", "long long", "unsigned char", "signed char", "short"];

/// A format made of words, and records of it; `None` if the words make none.
fn enemy(rng: &mut impl FnMut(usize) -> usize) -> Option<Format> {
    let mut inner = Shape::new("Point");
    let kinds = ["boolean", "string", "double[n]", "double[3]", "int", "char[9]", "double*", "boolean(2)"];
    for name in ["flag", "name", "xs"] {
        if rng(5) > 0 {
            let own = match name {
                "flag" => "boolean",
                "name" => "string",
                _ => "double[n]",
            };
            inner = inner.field(name, if rng(2) == 0 { own } else { kinds[rng(kinds.len())] });
        }
    }
    inner = inner.field("n", INTEGERS[rng(6)]);
    let mut shape = Shape::new("Target").nested(inner);
    for name in ["z", "a_len", "g_len", "f_dim0", "f_dim1", "l_len"] {
        shape = shape.field(name, INTEGERS[rng(6)]);
    }
    // Few at a time, or one that cannot be converted spoils each.
    for _ in 0..1 + rng(4) {
        shape = shape.field(NAMES[rng(NAMES.len())], KINDS[rng(KINDS.len())]);
    }
    let layouts = [Layout::NATIVE, Layout::POWERPC, Layout::I386, Layout::S390X, Layout::X86_64];
    shape.on(&layouts[rng(5)]).ok()
}

#[test]
#[cfg_attr(miri, ignore = "minutes for each case")]
fn formats_of_the_enemy() {
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[42; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), seed);
    let (cases, step) = (300, 40);
    let (mut formats, mut records) = (0, 0);
    for _ in 0..cases {
        let mut random = {
            let mut state = runner.rng().next_u64();
            move |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % below
            }
        };
        let Some(format) = enemy(&mut random) else { continue };
        let record = any_value(&format).new_tree(&mut runner).unwrap().current();
        let body = value::body(&format, &record).unwrap();
        formats += 1;
        records += attack_with_changes(&format, &body, step);
    }
    assert!(formats > cases / 5 && records > formats, "{formats} formats, {records} records");
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Lengths<'a> {
    a: Slice<'a, u64>,
    c: Ref<'a, [Phase; 5]>,
    s: Str<'a>,
}

fn lengths_of(list: FieldList, size: usize, body: &[u64]) -> std::result::Result<Vec<(usize, Vec<Phase>)>, Code> {
    let format = list.format(Machine::NATIVE, size, 8).unwrap();
    let body: Vec<u8> = body.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut found = Vec::new();
    for faults in FAULTS {
        let mut body = Aligned::new(&body, 0);
        let mut decoder = Decoder::<Lengths>::new().with_faults(faults).with_missing(isoform::Missing::Zero);
        for in_place in [false, true] {
            let record = match in_place {
                false => decoder.decode(&message(&format, body.bytes())),
                true => decoder.decode_in_place(&format, body.bytes()),
            };
            let record = record.map_err(|error| error.code())?;
            assert!(record.a.iter().all(|value| *value < 100));
            found.push((record.a.len(), record.c.get().into_iter().flatten().copied().collect()));
        }
    }
    found.dedup();
    Ok(found)
}

/// With pointers of 8 bytes, so that the structure of the formats is just that of the receiver.
#[test]
#[cfg(target_pointer_width = "64")]
fn lengths_of_the_same_name_are_not_lengths() {
    let list = || FieldList::new("Lengths").field("a_len", "unsigned integer", 8, 8);
    // The receiver's length is a number of no meaning here.
    let other = list().field("a", "unsigned integer[n]", 8, 0).field("n", "unsigned integer", 8, 16);
    assert_eq!(lengths_of(other, 24, &[24, 1000, 2, 7, 8]), Ok(vec![(2, vec![])]));
    // There is no array, so nothing in common; an array of another name; or no pointer to one.
    assert_eq!(lengths_of(list(), 16, &[24, 1000]), Err(Code::NoConversion));
    let text = list().field("s", "string", 8, 0);
    assert_eq!(lengths_of(text, 16, &[0, 1000]), Ok(vec![(0, vec![])]));
    let inline = list().field("a", "unsigned integer[1]", 8, 0);
    assert_eq!(lengths_of(inline, 16, &[24, 1000]), Ok(vec![(1, vec![])]));
    let one = list().field("a", "unsigned integer[2]*", 8, 0);
    assert_eq!(lengths_of(one.clone(), 16, &[16, 1000, 7, 8]), Ok(vec![(2, vec![])]));
    assert_eq!(lengths_of(one, 16, &[0, 1000]), Ok(vec![(0, vec![])]));
    // A signed length, which verified is the same; and one that is negative.
    let signed = FieldList::new("Lengths").field("a", "unsigned integer[a_len]", 8, 0).field("a_len", "integer", 8, 8);
    assert_eq!(lengths_of(signed.clone(), 16, &[16, 1, 7]), Ok(vec![(1, vec![])]));
    assert_eq!(lengths_of(signed, 16, &[16, u64::MAX, 7]), Err(Code::ArrayLength));
}

#[test]
#[cfg(target_pointer_width = "64")]
fn what_is_filled_is_valid() {
    // Zero is no phase: there is nothing that could be put behind the three that come.
    for words in ["enumeration{Solid=1,Liquid=2}[3]*", "enumeration{Solid=1,Liquid=2}[3]"] {
        let list = FieldList::new("Lengths").field("c", words, 1, 0);
        let result = lengths_of(list, 8, &[8, u64::from_ne_bytes([1, 2, 1, 0, 0, 0, 0, 0])]);
        assert!(result.is_err(), "{words}: {result:?}");
    }
}

#[test]
fn an_enumeration_with_other_numbers_is_not_used_in_place() {
    #[derive(Record, Debug)]
    #[repr(C)]
    struct Small {
        phase: Phase,
        flag: bool,
    }
    for (words, body, good) in [
        ("enumeration{Liquid=1,Solid=2}", [1, 1], true),
        ("enumeration{Solid=1,Liquid=2,Gas=3}", [3, 1], false),
        ("unsigned integer", [3, 1], false),
        ("unsigned integer", [2, 1], true),
        ("integer", [0xff, 1], false),
    ] {
        let list = FieldList::new("Small").field("phase", words, 1, 0).field("flag", "unsigned integer", 1, 1);
        let format = list.format(Machine::NATIVE, 2, 1).unwrap();
        for faults in FAULTS {
            for flag in [body[1], 2, 255] {
                let mut decoder = Decoder::<Small>::new().with_faults(faults).with_missing(isoform::Missing::Zero);
                let body = [body[0], flag];
                let came = decoder.decode(&message(&format, &body));
                assert_eq!(came.is_ok(), good && (flag == 1 || faults != Faults::Error), "{words} {body:?} {faults}");
                if let Ok(small) = came {
                    touch!(small, Small);
                }
            }
        }
    }
}

/// Blocks are aligned to 8, where the receiver's elements need 16.
#[test]
#[cfg(target_pointer_width = "64")]
fn blocks_that_are_aligned_to_less_are_not_used_in_place() {
    #[derive(Record, Clone, Copy, Debug)]
    #[repr(C, align(16))]
    struct Wide {
        a: u64,
        b: u64,
    }
    #[derive(Record, Debug)]
    #[repr(C)]
    struct Holder<'a> {
        one: Ref<'a, Wide>,
        wide: Slice<'a, Wide>,
    }
    let point = FieldList::new("Wide").field("a", "unsigned integer", 8, 0).field("b", "unsigned integer", 8, 8);
    let point = point.structure(Machine::NATIVE, 16, 8).unwrap();
    let list = FieldList::new("Holder")
        .nested(point)
        .field("one", "Wide*", 16, 0)
        .field("wide", "Wide[wide_len]", 16, 8)
        .field("wide_len", "unsigned integer", 8, 16);
    let format = list.format(Machine::NATIVE, 24, 8).unwrap();
    let body: Vec<u8> = [24u64, 40, 1, 1, 2, 3, 4].iter().flat_map(|word| word.to_ne_bytes()).collect();
    for offset in [0, 8] {
        let mut body = Aligned::new(&body, offset);
        let mut decoder = Decoder::<Holder>::new();
        let holder = decoder.decode_in_place(&format, body.bytes()).unwrap();
        let (one, wide) = (holder.one.get().unwrap(), &holder.wide[..]);
        assert_eq!((one.a, one.b, wide[0].a, wide[0].b), (1, 2, 3, 4));
        assert!((&raw const *one).addr().is_multiple_of(16) && wide.as_ptr().addr().is_multiple_of(16));
        touch!(holder, Holder);
    }
}

#[test]
fn pointers_of_another_size_and_order() {
    for layout in [Layout::POWERPC, Layout::I386, Layout::S390X, Layout::X86_64] {
        let shape =
            Shape::new("Lengths").field("a", "unsigned long long[n]").field("n", "unsigned char").field("s", "string");
        let format = shape.on(&layout).unwrap();
        let record = vec![
            ("a".into(), isoform::core::Value::Array(vec![isoform::core::Value::Integer(1); 200])),
            ("s".into(), isoform::core::Value::String(b"text".to_vec())),
        ];
        let body = value::body(&format, &isoform::core::Value::Record(record)).unwrap();
        for offset in [0, 4, 5] {
            let mut body = Aligned::new(&body, offset);
            let mut decoder = Decoder::<Lengths>::new();
            let record = decoder.decode_in_place(&format, body.bytes()).unwrap();
            assert_eq!((record.a.len(), record.s.to_bytes()), (200, &b"text"[..]));
            assert!(record.a.iter().all(|value| *value == 1));
        }
    }
}
