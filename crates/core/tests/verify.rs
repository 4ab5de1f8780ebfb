//! Bodies by hand, as `spec/message.md` lays them down, and what the verifier says to each.

use isoform_core::{
    ByteOrder, Code, Dimension, Element, Enumeration, Error, Field, FloatKind, Format, Machine, Structure, Verifier,
};
use std::sync::Arc;

const INT: Element = Element::Integer { signed: true, size: 4 };
const BYTE: Element = Element::Integer { signed: false, size: 1 };
const DOUBLE: Element = Element::Float { kind: FloatKind::Ieee, size: 8 };

fn field(name: &str, element: Element, dims: &[Dimension], indirect: bool, offset: usize) -> Field {
    Field { name: name.into(), element, dims: dims.into(), indirect, offset, unit: None }
}

fn structure(name: &str, machine: Machine, size: usize, fields: Vec<Field>) -> Arc<Structure> {
    Arc::new(Structure::new(name, machine, size, 4, fields).unwrap())
}

fn big32() -> Machine {
    Machine { order: ByteOrder::Big, pointer: 4 }
}

/// Big-endian words, and the strings between them, each with its NUL and padded to 8 bytes but for the last.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn accept(format: &Format, body: &[u8]) {
    let verifier = Verifier::new(format);
    let verified = verifier.verify(body).unwrap();
    assert_eq!((verified.format(), verified.bytes()), (format, body));
}

fn refuse(format: &Format, body: &[u8], code: Code, path: &str) -> Error {
    let verifier = Verifier::new(format);
    let error = verifier.verify(body).unwrap_err();
    assert_eq!((error.code(), error.path()), (code, path), "{error}");
    error
}

#[test]
fn numbers_need_only_the_right_length() {
    let format = Format::new(structure("point", big32(), 12, vec![field("x", DOUBLE, &[], false, 0)])).unwrap();
    accept(&format, &[0xff; 12]);
    refuse(&format, &[0; 11], Code::BodyLength, "");
    refuse(&format, &[0; 13], Code::BodyLength, "");
    refuse(&format, &[], Code::BodyLength, "");
}

#[test]
fn strings_follow_each_other() {
    let fields = vec![field("a", Element::String, &[], false, 0), field("b", Element::String, &[], false, 4)];
    let format = Format::new(structure("pair", big32(), 8, fields)).unwrap();
    let body = |a, b, rest: &[u8]| [&words(&[a, b]), rest].concat();
    accept(&format, &body(0, 0, b""));
    accept(&format, &body(8, 0, b"one\0"));
    accept(&format, &body(0, 8, b"one\0"));
    accept(&format, &body(8, 16, b"one\0\0\0\0\0two\0"));
    accept(&format, &body(8, 16, b"one\0gap.two\0"));
    accept(&format, &body(8, 16, b"\0\0\0\0\0\0\0\0\0"));
    let long = [&[b'x'; 1000][..], b"\0"].concat();
    accept(&format, &body(0, 8, &long));

    refuse(&format, &body(8, 8, b"one\0"), Code::Slot, "b");
    refuse(&format, &body(12, 0, b"one\0"), Code::Slot, "a");
    refuse(&format, &body(16, 8, b"one\0\0\0\0\0two\0"), Code::Slot, "a");
    refuse(&format, &body(8, 16, b"one\0"), Code::Slot, "b");
    refuse(&format, &body(8, 0xffff_fff8, b"one\0"), Code::Slot, "b");
    refuse(&format, &body(8, 0, b"one"), Code::Unterminated, "a");
    refuse(&format, &body(8, 0, b""), Code::Slot, "a");
    refuse(&format, &body(0, 8, &long[..1000]), Code::Unterminated, "b");
    refuse(&format, &body(8, 0, b"one\0\0"), Code::BodyLength, "");
    refuse(&format, &body(0, 0, b"one\0"), Code::BodyLength, "");
}

#[test]
fn arrays_have_the_length_that_their_record_says() {
    let fields = vec![
        field("n", INT, &[], false, 0),
        field("x", DOUBLE, &[Dimension::Field(0), Dimension::Fixed(2)], true, 4),
        field("m", BYTE, &[], false, 8),
        field("y", BYTE, &[Dimension::Field(0), Dimension::Field(2)], true, 12),
    ];
    let format = Format::new(structure("arrays", big32(), 16, fields)).unwrap();
    let body = |n, x, m: u32, y, rest: usize| [words(&[n, x, m << 24, y]), vec![7; rest]].concat();
    accept(&format, &body(0, 0, 0, 0, 0));
    accept(&format, &body(0, 0, 9, 0, 0));
    accept(&format, &body(2, 16, 0, 0, 32));
    accept(&format, &body(2, 16, 3, 48, 38));

    refuse(&format, &body(2, 16, 3, 48, 37), Code::ArrayLength, "y");
    refuse(&format, &body(2, 16, 3, 48, 39), Code::BodyLength, "");
    refuse(&format, &body(2, 16, 0, 48, 32), Code::Slot, "y");
    refuse(&format, &body(2, 0, 3, 16, 6), Code::NullArray, "x");
    refuse(&format, &body(0, 16, 0, 0, 0), Code::Slot, "x");
    refuse(&format, &body(2, 24, 0, 0, 40), Code::Slot, "x");
    refuse(&format, &body(u32::MAX, 16, 0, 0, 32), Code::ArrayLength, "x");
    refuse(&format, &body(u32::MAX, 0, 0, 0, 0), Code::ArrayLength, "x");
    refuse(&format, &body(i32::MAX as u32, 16, 0, 0, 32), Code::ArrayLength, "x");
}

#[test]
fn lengths_whose_product_overflows_are_refused() {
    let wide = Element::Integer { signed: false, size: 8 };
    let fields = vec![
        field("n", wide.clone(), &[], false, 0),
        field("m", wide, &[], false, 8),
        field("x", DOUBLE, &[Dimension::Field(0), Dimension::Field(1)], true, 16),
    ];
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let machine = Machine { order, pointer: 8 };
        let format = Format::new(structure("product", machine, 24, fields.clone())).unwrap();
        let body = |n: u64, m: u64, x: u64| {
            let mut bytes = vec![0; 24];
            machine.write(&mut bytes[..8], n);
            machine.write(&mut bytes[8..16], m);
            machine.write(&mut bytes[16..], x);
            bytes
        };
        refuse(&format, &body(1 << 32, 1 << 32, 24), Code::ArrayLength, "x");
        refuse(&format, &body(1 << 61, 1, 24), Code::ArrayLength, "x");
        refuse(&format, &body(u64::MAX, u64::MAX, 24), Code::ArrayLength, "x");
        accept(&format, &body(1 << 32, 0, 0));
        refuse(&format, &body(1 << 32, 0, 24), Code::Slot, "x");
    }
}

#[test]
fn pointers_of_fixed_length_may_be_null() {
    let point = structure("Point", big32(), 8, vec![field("x", INT, &[], false, 0), field("y", INT, &[], false, 4)]);
    let fields =
        vec![field("at", Element::Structure(point), &[], true, 0), field("r", INT, &[Dimension::Fixed(3)], true, 4)];
    let format = Format::new(structure("shape", big32(), 8, fields)).unwrap();
    accept(&format, &words(&[0, 0]));
    accept(&format, &words(&[8, 16, 1, 2, 3, 4, 5]));
    accept(&format, &words(&[0, 8, 3, 4, 5]));
    refuse(&format, &words(&[8, 16, 1, 2, 3, 4]), Code::ArrayLength, "r");
    refuse(&format, &words(&[16, 8, 1, 2, 3, 4, 5]), Code::Slot, "at");
}

#[test]
fn errors_name_the_element() {
    let quality = Enumeration::new(true, 1, [("bad", -1), ("unknown", 0), ("good", 1), ("best", 100)]).unwrap();
    let cell = structure(
        "Cell",
        big32(),
        12,
        vec![
            field("name", Element::String, &[], false, 0),
            field("wet", Element::Boolean { size: 1 }, &[Dimension::Fixed(2), Dimension::Fixed(2)], false, 4),
            field("quality", Element::Enumeration(quality.into()), &[], false, 8),
        ],
    );
    let origin = structure("Origin", big32(), 4, vec![field("name", Element::String, &[], false, 0)]);
    let fields = vec![
        field("n", INT, &[], false, 0),
        field("grid", Element::Structure(cell), &[Dimension::Field(0), Dimension::Fixed(2)], true, 4),
        field("origin", Element::Structure(origin), &[], false, 8),
    ];
    let format = Format::new(structure("state", big32(), 12, fields)).unwrap();
    let good = [&words(&[1, 16, 48])[..], &[9; 4], &words(&[40, 0x0001_0001, 0x6400_0000])]
        .concat()
        .into_iter()
        .chain(words(&[0, 0x0001_0001, 0xff00_0000]))
        .chain(*b"cell\0pad1st\0")
        .collect::<Vec<u8>>();
    accept(&format, &good);

    let with = |at: usize, byte: u8| {
        let mut body = good.clone();
        body[at] = byte;
        body
    };
    refuse(&format, &with(19, 0), Code::Slot, "origin.name");
    refuse(&format, &with(19, 1), Code::Slot, "grid[0][0].name");
    refuse(&format, &with(31, 40), Code::Slot, "grid[0][1].name");
    let boolean = refuse(&format, &with(22, 2), Code::Boolean, "grid[0][0].wet[1][0]");
    assert_eq!((boolean.expectation(), boolean.actual()), ("0 or 1", "2"));
    refuse(&format, &with(35, 0x80), Code::Boolean, "grid[0][1].wet[1][1]");
    refuse(&format, &with(11, 0), Code::BodyLength, "");
    refuse(&format, &with(11, 47), Code::Slot, "origin.name");
    refuse(&format, &with(51, b't'), Code::Unterminated, "origin.name");
    let error = refuse(&format, &with(36, 0xfe), Code::Symbol, "grid[0][1].quality");
    assert_eq!(error.actual(), "-2");
    accept(&format, &with(36, 0));
    refuse(&format, &with(36, 2), Code::Symbol, "grid[0][1].quality");
    refuse(&format, &with(36, 99), Code::Symbol, "grid[0][1].quality");
    refuse(&format, &with(36, 101), Code::Symbol, "grid[0][1].quality");
}

#[test]
fn booleans_of_every_size() {
    let fields = [1, 2, 4, 8].map(|size| {
        field(&format!("b{size}"), Element::Boolean { size }, &[Dimension::Fixed(2)], false, 2 * size as usize)
    });
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let machine = Machine { order, pointer: 8 };
        let format = Format::new(structure("flags", machine, 32, fields.to_vec())).unwrap();
        let mut good = vec![0; 32];
        for at in [2, 4, 8, 16] {
            machine.write(&mut good[at..at + at / 2], 1);
        }
        accept(&format, &good);
        for (at, path) in [(3, "b1[1]"), (6, "b2[1]"), (13, "b4[1]"), (27, "b8[1]")] {
            let mut body = good.clone();
            body[at] = 0x80;
            refuse(&format, &body, Code::Boolean, path);
        }
    }
}

/// Without the rule that every block has its one place, these few bytes would stand for 2^32 strings.
#[test]
fn a_small_body_cannot_expand() {
    let names = structure("Names", big32(), 4, vec![field("s", Element::String, &[], false, 0)]);
    let fields =
        vec![field("n", INT, &[], false, 0), field("all", Element::Structure(names), &[Dimension::Field(0)], true, 4)];
    let format = Format::new(structure("list", big32(), 8, fields)).unwrap();
    refuse(&format, &words(&[3, 8, 24, 24, 24, 0, 0]), Code::Slot, "all[1].s");
    refuse(&format, &words(&[i32::MAX as u32, 8, 12, 0]), Code::ArrayLength, "all");
}

/// As deep as formats go, on a stack that is small.
#[test]
fn the_deepest_format_needs_little_stack() {
    let text = field("s", Element::String, &[], false, 0);
    let mut inner = structure("L1", big32(), 4, vec![text]);
    for level in 2..=32 {
        let pointer = field("next", Element::Structure(inner), &[Dimension::Fixed(2)], true, 0);
        inner = structure(&format!("L{level}"), big32(), 4, vec![pointer]);
    }
    let format = Format::new(inner).unwrap();
    // The record, its padding to 8, and 31 blocks of two slots, of which the first points at the next block.
    let mut body = words(&[8, 0]);
    (2..=32).for_each(|level| body.extend(words(&[8 * level, 0])));
    body.extend(*b"end\0");
    let check = move || accept(&format, &body);
    std::thread::Builder::new().stack_size(128 << 10).spawn(check).unwrap().join().unwrap();
}

#[test]
fn an_array_of_one_string_is_an_array() {
    let one = field("s", Element::String, &[Dimension::Fixed(1)], false, 0);
    let format = Format::new(structure("one", big32(), 4, vec![one])).unwrap();
    refuse(&format, &words(&[4]), Code::Slot, "s[0]");
}
