//! Streams that must be refused: each breaks one rule of `spec/`.

use crate::raw::*;
use isoform::Code;
use isoform::Token;
use isoform::message::Header;

/// A stream that yields `records` records and then this error.
pub(crate) struct Invalid {
    pub(crate) name: &'static str,
    pub(crate) code: Code,
    pub(crate) records: usize,
    /// The path of the field at fault. The specification says which it is for bodies only.
    pub(crate) path: Option<&'static str>,
    pub(crate) stream: Vec<u8>,
}

pub(crate) fn all() -> Vec<Invalid> {
    let case = |records| {
        move |(name, code, stream): (&'static str, Code, Bytes)| Invalid {
            name,
            code,
            records,
            path: None,
            stream: stream.0,
        }
    };
    let body = |(name, code, path, stream): (&'static str, Code, &'static str, Bytes)| Invalid {
        name,
        code,
        records: 0,
        path: Some(path),
        stream: stream.0,
    };
    let description = |(name, code, bytes): (&'static str, Code, Bytes)| (name, code, message(Token::ZERO, &bytes));
    framing()
        .into_iter()
        .map(case(1))
        .chain(alone().into_iter().map(case(0)))
        .chain(descriptions().into_iter().map(description).map(case(0)))
        .chain(structures().into_iter().map(description).map(case(0)))
        .chain(elements().into_iter().map(description).map(case(0)))
        .chain(bodies().into_iter().map(body))
        .collect()
}

/// One whole record, and then something else.
fn framing() -> Vec<(&'static str, Code, Bytes)> {
    let format = record(4, 2, &[int("x", 0)]);
    let good = || stream(&format, &bytes([1, 0, 0, 0]));
    let next = Header::new(Token::of(&format.0), 4).to_bytes();
    let header = |at: usize, byte: u8| good().raw(bytes(next).patched(at, [byte]).0).raw([2, 0, 0, 0]);
    vec![
        ("header-magic", Code::NotAMessage, header(0, b'I')),
        ("header-text", Code::NotAMessage, good().raw("And so on.\n")),
        ("header-zeros", Code::NotAMessage, good().raw([0; 48])),
        ("header-version", Code::Version, header(4, 2)),
        ("header-critical-flag", Code::Flags, header(5, 0x80)),
        ("header-byte-7", Code::Flags, header(7, 1)),
        ("cut-in-magic", Code::Cut, good().raw(&next[..3])),
        ("cut-in-header", Code::Cut, good().raw(&next[..31])),
        ("cut-before-body", Code::Cut, good().raw(next)),
        ("cut-in-body", Code::Cut, good().raw(next).raw([2, 0, 0])),
        ("cut-far-before-the-end", Code::Cut, good().raw(bytes(next).patched(24, [0, 0, 1]).0).raw([2, 0, 0, 0])),
        ("unknown-format", Code::UnknownFormat, good().raw(bytes(next).patched(8, [0xff; 16]).0).raw([2, 0, 0, 0])),
    ]
}

fn alone() -> Vec<(&'static str, Code, Bytes)> {
    let format = record(4, 2, &[int("x", 0)]);
    vec![
        ("no-description", Code::UnknownFormat, message(Token::of(&format.0), &bytes([1, 0, 0, 0]))),
        ("description-size", Code::DescriptionSize, message(Token::ZERO, &bytes([1; 65537]))),
    ]
}

fn int(name: &str, gap: u64) -> Bytes {
    field(name, gap, [1, 4])
}

/// The spelling of descriptions.
fn descriptions() -> Vec<(&'static str, Code, Bytes)> {
    use Code::{Description, Flags, NotCanonical, Version};
    let good = || record(4, 2, &[int("x", 0)]);
    let inner = || structure("Inner", 4, 2, &[int("x", 0)]);
    let other = || structure("Other", 4, 2, &[int("x", 0)]);
    let nested = |name: &str, place: u8| field(name, 0, [16, place]);
    let both = |first: Bytes, second: Bytes, root: &[Bytes]| {
        description(LITTLE4, &[first, second, structure("R", 8, 2, root)])
    };
    let symbols = |rest: &[u8]| record(4, 2, &[field("e", 0, [&[13, 4][..], rest].concat())]);
    vec![
        ("description-empty", Description, bytes([])),
        ("description-version", Version, good().patched(0, [2])),
        ("description-machine", Flags, good().patched(1, [4])),
        ("description-no-structure", Description, bytes([1, 0, 0])),
        ("description-cut", Description, bytes(&good().0[..good().0.len() - 1])),
        ("description-trailing", Description, good().raw([0])),
        ("description-fewer-structures", Description, good().patched(2, [2])),
        ("description-varint-long", Description, bytes([1, 0, 0x81, 0]).raw(&good().0[3..])),
        (
            "description-varint-65-bits",
            Description,
            field_with_gap(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]),
        ),
        ("description-varint-endless", Description, field_with_gap(&[0x80; 16])),
        ("description-text-beyond-the-end", Description, record(4, 2, &[bytes([0x7f]).raw("x"), bytes([])])),
        ("description-not-utf8", Description, record(4, 2, &[bytes([1, 0xff, 0, 1, 4])])),
        ("description-surrogate", Description, record(4, 2, &[bytes([3, 0xed, 0xa0, 0x80, 0, 1, 4])])),
        ("description-kind-0", Description, record(4, 2, &[field("x", 0, [0, 4])])),
        ("description-kind-17", Description, record(4, 2, &[field("x", 0, [17, 4])])),
        ("description-rank-0", Description, record(4, 2, &[field("x", 0, [0x21, 4, 0])])),
        ("description-rank-9", Description, record(4, 2, &[field("x", 0, [0x21, 4, 9, 2, 2, 2, 2, 2, 2, 2, 2, 2])])),
        ("description-structure-of-itself", Description, record(4, 2, &[nested("x", 0)])),
        (
            "description-structure-listed-later",
            Description,
            both(structure("Outer", 4, 2, &[nested("x", 1)]), inner(), &[nested("a", 0), nested("b", 1)]),
        ),
        ("canonical-unused-structure", NotCanonical, both(inner(), other(), &[nested("a", 0), int("b", 0)])),
        ("canonical-structure-twice", NotCanonical, both(inner(), inner(), &[nested("a", 0), nested("b", 1)])),
        ("canonical-order-of-structures", NotCanonical, both(other(), inner(), &[nested("a", 1), nested("b", 0)])),
        ("canonical-order-of-symbols", NotCanonical, symbols(&[2, 1, b'b', 2, 1, b'a', 0])),
    ]
}

fn field_with_gap(gap: &[u8]) -> Bytes {
    record(4, 2, &[bytes([1, b'x']).raw(gap).raw([1, 4])])
}

/// What structures and fields must not be.
fn structures() -> Vec<(&'static str, Code, Bytes)> {
    use Code::{Declaration, Depth, Fields, Size};
    let named = |name: &str| record(4, 2, &[int(name, 0)]);
    let unit = |unit: &str| record(4, 2, &[field("x", 0, bytes([0x81, 4]).text(unit).0)]);
    // A length field, and an array of such dimensions behind a pointer.
    let array = |dims: &[u8]| record(8, 2, &[int("n", 0), field("a", 0, [&[0x61, 4][..], dims].concat())]);
    let length = |rest: &[u8]| record(20, 2, &[field("n", 0, rest), field("a", 0, [0x61, 4, 1, 1])]);
    let inner = |size| structure("Inner", size, 2, &[int("x", 0)]);
    let level = |i: u64| match i {
        0 => structure("L0", 4, 2, &[int("x", 0)]),
        _ => structure(&format!("L{i}"), 4, 2, &[field("x", 0, bytes([16]).number(i - 1).0)]),
    };
    let many = |n: u64| (0..n).map(|i| field(&format!("f{i}"), 0, [1, 1])).collect::<Vec<_>>();
    let wide = structure("Inner", 64, 0, &many(64));
    // 63 structures of 64 fields, their 63 names, and two more.
    let inner63 = (0..63).map(|i| field(&format!("i{i}"), 0, [16, 0]));
    let nested: Vec<Bytes> = inner63.chain(many(2)).collect();
    vec![
        ("name-empty", Declaration, named("")),
        ("name-256-bytes", Declaration, named(&"x".repeat(256))),
        ("name-dot", Declaration, named("a.b")),
        ("name-space", Declaration, named("a b")),
        ("name-no-break-space", Declaration, named("a\u{a0}b")),
        ("name-control", Declaration, named("a\u{7}b")),
        ("name-of-structure", Declaration, description(LITTLE4, &[structure("a[b]", 4, 2, &[int("x", 0)])])),
        ("name-twice", Declaration, record(8, 2, &[int("x", 0), int("x", 0)])),
        (
            "name-of-two-structures",
            Declaration,
            description(
                LITTLE4,
                &[
                    inner(4),
                    structure("Middle", 4, 2, &[field("x", 0, [16, 0])]),
                    inner(8),
                    structure("R", 12, 2, &[field("a", 0, [16, 1]), field("b", 0, [16, 2])]),
                ],
            ),
        ),
        ("unit-empty", Declaration, unit("")),
        ("unit-256-bytes", Declaration, unit(&"m".repeat(256))),
        ("unit-control", Declaration, unit("m\n")),
        ("size-0", Declaration, record(0, 0, &[])),
        ("size-not-of-alignment", Declaration, record(6, 2, &[int("x", 0)])),
        ("size-2-to-40", Size, record(1 << 40, 2, &[int("x", 0)])),
        ("alignment-2-to-17", Declaration, record(1 << 17, 17, &[int("x", 0)])),
        ("fields-none", Declaration, record(4, 2, &[])),
        ("field-beyond-the-end", Declaration, record(4, 2, &[int("x", 0), field("y", 0, [1, 1])])),
        ("field-gap-beyond-the-end", Declaration, record(4, 2, &[int("x", 1)])),
        ("dimension-0", Declaration, array(&[1, 0])),
        ("dimensions-2-to-40-bytes", Size, array(&[2, 0x80, 0x80, 0x80, 2, 0x80, 0x80, 0x80, 2])),
        ("dynamic-in-place", Declaration, record(8, 2, &[int("n", 0), field("a", 0, [0x21, 4, 1, 1])])),
        ("length-of-no-field", Declaration, array(&[1, 5])),
        ("length-of-itself", Declaration, array(&[1, 3])),
        ("length-float", Declaration, length(&[3, 4])),
        ("length-16-bytes", Declaration, length(&[1, 16])),
        ("length-array", Declaration, length(&[0x21, 4, 1, 2])),
        ("length-indirect", Declaration, length(&[0x41, 4])),
        ("length-boolean", Declaration, length(&[12, 4])),
        ("depth-33", Depth, description(LITTLE4, &(0..33).map(level).collect::<Vec<_>>())),
        ("fields-4097", Fields, description(LITTLE4, &[wide, structure("R", 63 * 64 + 2, 0, &nested)])),
    ]
}

/// Elements of impossible size, and enumerations.
fn elements() -> Vec<(&'static str, Code, Bytes)> {
    use Code::Declaration;
    let one = |rest: &[u8]| (Declaration, record(64, 2, &[field("x", 0, rest)]));
    let case = |(name, (code, bytes)): (&'static str, (Code, Bytes))| (name, code, bytes);
    [
        ("element-integer-0", one(&[1, 0])),
        ("element-integer-3", one(&[1, 3])),
        ("element-unsigned-32", one(&[2, 32])),
        ("element-float-10", one(&[3, 10])),
        ("element-bfloat-4", one(&[4, 4])),
        ("element-x87-8", one(&[5, 8])),
        ("element-double-double-8", one(&[6, 8])),
        ("element-complex-1", one(&[7, 1])),
        ("element-boolean-3", one(&[12, 3])),
        ("enumeration-16-bytes", one(&[13, 16, 1, 1, b'a', 0])),
        ("enumeration-without-symbols", one(&[14, 4, 0])),
        ("enumeration-name-twice", one(&[14, 4, 2, 1, b'a', 0, 1, b'a', 1])),
        ("enumeration-value-twice", one(&[14, 4, 2, 1, b'a', 1, 1, b'b', 1])),
        ("enumeration-value-256", one(&[14, 1, 1, 1, b'a', 0x80, 2])),
        ("enumeration-value-minus-129", one(&[13, 1, 1, 1, b'a', 0x81, 2])),
        ("enumeration-symbol-with-dot", one(&[14, 4, 1, 3, b'a', b'.', b'b', 0])),
    ]
    .map(case)
    .into()
}

/// Bodies that are not of their format.
fn bodies() -> Vec<(&'static str, Code, &'static str, Bytes)> {
    [plain(), simple(), nested(), grid(), alignment()].concat()
}

fn plain() -> Vec<(&'static str, Code, &'static str, Bytes)> {
    let format = record(4, 2, &[int("x", 0)]);
    vec![
        ("body-empty", Code::BodyLength, "", stream(&format, &bytes([]))),
        ("body-short", Code::BodyLength, "", stream(&format, &bytes([1, 0, 0]))),
        ("body-long", Code::BodyLength, "", stream(&format, &bytes([1, 0, 0, 0, 0]))),
    ]
}

/// `struct { char *s; int n; unsigned short *a; bool b; enum { off, on } e; }` with n elements in a.
fn simple() -> Vec<(&'static str, Code, &'static str, Bytes)> {
    use Code::{ArrayLength, BodyLength, Boolean, NullArray, Slot, Symbol, Unterminated};
    let format = record(
        16,
        2,
        &[
            field("s", 0, [15]),
            int("n", 0),
            field("a", 0, [0x62, 2, 1, 3]),
            field("b", 0, [12, 1]),
            field("e", 0, bytes([13, 1, 2]).text("off").number(0).text("on").number(2).0),
        ],
    );
    let good = bytes([16, 0, 0, 0, 2, 0, 0, 0, 24, 0, 0, 0, 1, 1, 0, 0]).raw(b"hi\0\0\0\0\0\0").raw([7, 0, 8, 0]);
    let with = |at: usize, patch: &[u8]| stream(&format, &good.clone().patched(at, patch));
    let length = |length: usize| stream(&format, &bytes(&good.0[..length]));
    vec![
        ("body-cut-in-block", ArrayLength, "a", length(27)),
        ("body-cut-before-block", ArrayLength, "a", length(24)),
        ("body-cut-in-string", Unterminated, "s", length(18)),
        ("body-cut-before-string", Slot, "s", length(16)),
        ("body-after-blocks", BodyLength, "", stream(&format, &good.clone().raw([0]))),
        ("slot-into-the-record", Slot, "s", with(0, &[8])),
        ("slot-into-a-string", Slot, "s", with(0, &[17])),
        ("slot-of-the-wrong-block", Slot, "s", with(0, &[24])),
        ("slot-not-rounded-up", Slot, "a", with(8, &[20])),
        ("slot-skips-bytes", Slot, "a", stream(&format, &good.clone().patched(8, [32]).raw([0; 4]).raw([7, 0, 8, 0]))),
        ("slot-beyond-the-body", Slot, "a", with(8, &[0, 1])),
        ("slot-in-another-byte-order", Slot, "a", with(8, &[0, 0, 0, 24])),
        ("slot-of-the-sender", Slot, "s", with(0, &[0xe0, 0x3f, 0x55, 0x56])),
        ("null-with-length", NullArray, "a", with(8, &[0])),
        ("slot-without-elements", Slot, "a", stream(&format, &bytes(&good.0[..24]).patched(4, [0]))),
        ("length-too-long", ArrayLength, "a", with(4, &[3])),
        ("length-too-short", BodyLength, "", with(4, &[1])),
        ("length-huge", ArrayLength, "a", with(4, &[0xff, 0xff, 0xff, 0x7f])),
        ("length-negative", ArrayLength, "a", with(4, &[0xff, 0xff, 0xff, 0xff])),
        (
            "string-without-nul",
            Unterminated,
            "s",
            stream(&format, &bytes([16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0]).raw("hello")),
        ),
        ("boolean-2", Boolean, "b", with(12, &[2])),
        ("boolean-255", Boolean, "b", with(12, &[255])),
        ("symbol-2", Symbol, "e", with(13, &[2])),
        ("symbol-minus-1", Symbol, "e", with(13, &[255])),
    ]
}

/// `struct { int n; struct { char *name; bool ok[2]; int k; } *p; }`, big-endian, with n elements in p.
fn nested() -> Vec<(&'static str, Code, &'static str, Bytes)> {
    use Code::{Boolean, Slot, Unterminated};
    let inner =
        structure("P", 24, 3, &[field("name", 0, [15]), field("ok", 0, [0x2c, 4, 1, 4]), field("k", 0, [1, 4])]);
    let root = structure("R", 16, 3, &[field("n", 0, [1, 4]), field("p", 4, [0x70, 0, 1, 1])]);
    let format = description(BIG8, &[inner, root]);
    let word = |value: u64| value.to_be_bytes();
    let element = |name: u64| bytes(word(name)).raw([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0]);
    let body = |first: u64, second: u64| {
        let head = bytes([0, 0, 0, 2, 0, 0, 0, 0]).raw(word(16)).raw(element(first).0).raw(element(second).0);
        head.raw(b"a\0\0\0\0\0\0\0").raw(b"bc\0")
    };
    vec![
        ("slots-swapped", Slot, "p[0].name", stream(&format, &body(72, 64))),
        ("slots-shared", Slot, "p[1].name", stream(&format, &body(64, 64))),
        ("slot-back-to-its-array", Slot, "p[1].name", stream(&format, &body(64, 16))),
        ("slot-null-leaves-its-block", Slot, "p[1].name", stream(&format, &body(0, 72))),
        ("string-runs-out-in-array", Unterminated, "p[1].name", stream(&format, &body(64, 72).patched(74, b"d"))),
        ("boolean-in-array", Boolean, "p[1].ok[0]", stream(&format, &body(64, 72).patched(51, [2]))),
        (
            "boolean-in-another-byte-order",
            Boolean,
            "p[1].ok[0]",
            stream(&format, &body(64, 72).patched(48, [1, 0, 0, 0])),
        ),
    ]
}

/// `struct { long n; unsigned long m; double (*a)[..] }` of n times m times 3, little-endian.
fn grid() -> Vec<(&'static str, Code, &'static str, Bytes)> {
    use Code::{ArrayLength, NullArray, Slot};
    let root =
        structure("R", 24, 3, &[field("n", 0, [1, 8]), field("m", 0, [2, 8]), field("a", 0, [0x63, 8, 3, 1, 3, 6])]);
    let format = description(LITTLE8, &[root]);
    let body = |n: i64, m: u64, slot: u64, rest: usize| {
        stream(&format, &bytes(n.to_le_bytes()).raw(m.to_le_bytes()).raw(slot.to_le_bytes()).raw(vec![0; rest]))
    };
    vec![
        ("length-one-negative", ArrayLength, "a", body(-1, 1, 24, 24)),
        ("length-negative-times-0", ArrayLength, "a", body(-1, 0, 0, 0)),
        ("length-unsigned-64", ArrayLength, "a", body(1, u64::MAX, 24, 24)),
        ("length-product-2-to-64", ArrayLength, "a", body(1 << 32, 1 << 32, 24, 24)),
        ("length-product-wraps-to-24", ArrayLength, "a", body(1, 1 + (1 << 61), 24, 24)),
        ("length-product-short", ArrayLength, "a", body(2, 2, 24, 72)),
        ("length-product-null", NullArray, "a", body(1, 1, 0, 0)),
        ("length-0-times-1-not-null", Slot, "a", body(0, 1, 24, 0)),
    ]
}

/// A block of 16-byte integers begins at a multiple of 16.
fn alignment() -> Vec<(&'static str, Code, &'static str, Bytes)> {
    let format = record(8, 2, &[int("n", 0), field("a", 0, [0x61, 16, 1, 1])]);
    let body = bytes([1, 0, 0, 0, 8, 0, 0, 0]).raw([0; 16]);
    vec![("slot-at-8-instead-of-16", Code::Slot, "a", stream(&format, &body))]
}
