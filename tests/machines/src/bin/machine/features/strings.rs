//! Strings, and text in arrays of char.

use super::{NULL, Records, all, list, owning, text};
use crate::literal::Literal;
use isoform::{Char, Record, Slice, Str};
use std::ffi::CString;

#[derive(Record)]
#[repr(C)]
struct Strings<'a> {
    name: Str<'a>,
    empty: Str<'a>,
    none: Str<'a>,
    bytes: Str<'a>,
    pair: [Str<'a>; 2],
    #[isoform(len = "n")]
    list: Slice<'a, Str<'a>>,
    code: [Char; 8],
    full: [Char; 4],
    #[isoform(len = "m")]
    text: Slice<'a, Char>,
}

pub(super) fn records() -> Vec<Box<dyn Literal>> {
    all([
        Strings {
            name: text(c"Isoform"),
            empty: text(c""),
            none: NULL,
            bytes: text(c"\x80\xff\xfe\x01"),
            pair: [text(c"exactly 15 here"), text(c"16 bytes long ok")],
            list: list([text(c"Zürich"), NULL, text(c"東京")]),
            code: Char::text("LSZH"),
            full: Char::text("ABCD"),
            text: list(Char::text::<5>("hello")),
        },
        Strings {
            name: NULL,
            empty: text(c""),
            none: NULL,
            bytes: NULL,
            pair: [NULL, text(c"only one")],
            list: list([]),
            code: Char::text(""),
            full: Char::text("A"),
            text: list([]),
        },
    ])
}

pub(super) const RECEIVERS: &[Records] = &[owned, exchanged];

/// As it is written where records own their parts.
#[derive(Record)]
struct Owned {
    list: Vec<Option<String>>,
    name: String,
    none: Option<String>,
    bytes: Option<CString>,
    pair: [Option<String>; 2],
    text: Vec<Char>,
}

fn owned() -> Vec<Box<dyn Literal>> {
    let some = |text: &str| Some(text.to_owned());
    owning([
        Owned {
            list: vec![some("Zürich"), None, some("東京")],
            name: "Isoform".into(),
            none: None,
            bytes: Some(c"\x80\xff\xfe\x01".into()),
            pair: [some("exactly 15 here"), some("16 bytes long ok")],
            text: Char::text::<5>("hello").to_vec(),
        },
        Owned {
            list: vec![],
            name: String::new(),
            none: None,
            bytes: None,
            pair: [None, some("only one")],
            text: vec![],
        },
    ])
}

/// Strings as arrays of char, and the other way about; arrays of strings of other lengths.
#[derive(Record)]
#[repr(C)]
struct Exchanged<'a> {
    code: Str<'a>,
    full: Str<'a>,
    #[isoform(alias = "name")]
    title: [Char; 12],
    empty: [Char; 1],
    pair: Slice<'a, Str<'a>>,
    list: [Str<'a>; 4],
    text: [Char; 6],
}

fn exchanged() -> Vec<Box<dyn Literal>> {
    all([
        Exchanged {
            code: text(c"LSZH"),
            full: text(c"ABCD"),
            title: Char::text("Isoform"),
            empty: Char::text(""),
            pair: list([text(c"exactly 15 here"), text(c"16 bytes long ok")]),
            list: [text(c"Zürich"), NULL, text(c"東京"), NULL],
            text: Char::text("hello"),
        },
        Exchanged {
            code: text(c""),
            full: text(c"A"),
            title: Char::text(""),
            empty: Char::text(""),
            pair: list([NULL, text(c"only one")]),
            list: [NULL; 4],
            text: Char::text(""),
        },
    ])
}
