//! Streams that are unusual and must be read all the same.

use crate::raw::*;
use isoform::message::Header;
use isoform::{Format, Result, Token};
use serde_json::{Value, json};

pub(crate) struct Stream {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) expected: Value,
}

pub(crate) fn all() -> Result<Vec<Stream>> {
    let small = record(4, 2, &[field("x", 0, [1, 4])]);
    let gaps = record(12, 2, &[field("a", 0, [1, 1]), field("s", 3, [15]), field("b", 0, [12, 1])]);
    let big = description(BIG8, &[structure("R", 8, 3, &[field("y", 0, [3, 8])])]);
    let (one, two) = (bytes([1, 0, 0, 0]), bytes([2, 0, 0, 0]));
    let describe = |format: &Bytes| message(Token::ZERO, format);
    let send = |format: &Bytes, body: &Bytes| message(Token::of(&format.0), body);
    let flagged = bytes(Header::new(Token::of(&small.0), 4).to_bytes()).patched(6, [0xff]).raw(&one.0).raw([0; 12]);
    let loose = bytes([7, 0xaa, 0xbb, 0xcc, 16, 0, 0, 0, 1, 0xdd, 0xee, 0xff, 0x99, 0x99, 0x99, 0x99]).raw("hi\0");
    let cut = |stream: Bytes, by: usize| bytes(&stream.0[..stream.0.len() - by]);
    let odd_padding = {
        let stream = describe(&small).raw(send(&small, &one).0);
        let end = stream.0.len();
        stream.patched(end - 12, [0x55; 12]).raw(send(&small, &two).0)
    };
    let locators = message(Token::LOCATORS, &bytes("http://sim7:7460\nhttps://formats.example/river"));
    let x = |value: u32| (&small, json!({ "x": value }));
    Ok(vec![
        stream("empty", bytes([]), &[])?,
        stream("descriptions-only", describe(&small).raw(describe(&big).0), &[])?,
        stream(
            "description-twice",
            describe(&small).raw(send(&small, &one).0).raw(describe(&small).0).raw(send(&small, &two).0),
            &[x(1), x(2)],
        )?,
        stream(
            "joined",
            crate::raw::stream(&small, &one)
                .raw(crate::raw::stream(&big, &bytes(1.5f64.to_be_bytes())).0)
                .raw(send(&small, &two).0),
            &[x(1), (&big, json!({ "y": 1.5 })), x(2)],
        )?,
        stream("locators", locators.raw(crate::raw::stream(&small, &one).0), &[x(1)])?,
        stream("ignorable-flags", describe(&small).raw(flagged.0), &[x(1)])?,
        stream("padding-not-zero", odd_padding, &[x(1), x(2)])?,
        stream("last-padding-missing", cut(crate::raw::stream(&small, &one), 12), &[x(1)])?,
        stream("last-padding-cut", cut(crate::raw::stream(&small, &one), 5), &[x(1)])?,
        stream(
            "gaps-not-zero",
            crate::raw::stream(&gaps, &loose),
            &[(&gaps, json!({ "a": 7, "s": "hi", "b": true }))],
        )?,
    ])
}

fn stream(name: &'static str, bytes: Bytes, messages: &[(&Bytes, Value)]) -> Result<Stream> {
    let mut formats: Vec<Value> = Vec::new();
    let mut lines = Vec::new();
    for (description, record) in messages {
        let format = Format::parse(&description.0)?;
        lines.push(json!({ "token": format.token().to_string(), "record": record }));
        let format = crate::format_json(&format);
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    Ok(Stream { name, bytes: bytes.0, expected: json!({ "formats": formats, "messages": lines }) })
}
