//! Pointers to single elements, to arrays and to records.

use super::{NULL, Records, all, kept, list, owning, text};
use crate::literal::Literal;
use isoform::{Record, Ref, Slice, Str};

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Leaf<'a> {
    k: i16,
    name: Str<'a>,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Pair<'a> {
    left: Ref<'a, Leaf<'a>>,
    right: Ref<'a, Leaf<'a>>,
}

#[derive(Record)]
#[repr(C)]
struct Pointers<'a> {
    leaf: Ref<'a, Leaf<'a>>,
    number: Ref<'a, f64>,
    three: Ref<'a, [f32; 3]>,
    text: Ref<'a, Str<'a>>,
    texts: Ref<'a, [Str<'a>; 2]>,
    pair: Ref<'a, Pair<'a>>,
    pairs: [Pair<'a>; 2],
    big: Ref<'a, i128>,
    #[isoform(len = "n")]
    list: Slice<'a, Pair<'a>>,
    tail: Ref<'a, i32>,
}

fn leaf(k: i16, name: Str<'static>) -> Ref<'static, Leaf<'static>> {
    to(Leaf { k, name })
}

fn to<T>(value: T) -> Ref<'static, T> {
    Ref::new(kept(value))
}

pub(super) fn records() -> Vec<Box<dyn Literal>> {
    let nothing = Pair { left: Ref::NULL, right: Ref::NULL };
    all([
        Pointers {
            leaf: leaf(1, text(c"one")),
            number: to(2.5),
            three: to([1.0, 2.0, 3.0]),
            text: to(text(c"pointed at twice")),
            texts: to([text(c"a"), NULL]),
            pair: to(Pair { left: leaf(2, text(c"two")), right: leaf(3, NULL) }),
            pairs: [
                Pair { left: leaf(4, text(c"four")), right: Ref::NULL },
                Pair { left: Ref::NULL, right: leaf(5, text(c"")) },
            ],
            big: to(-1),
            list: list([
                Pair { left: leaf(6, text(c"six")), right: leaf(7, text(c"seven")) },
                Pair { left: leaf(8, NULL), right: leaf(9, text(c"nine")) },
            ]),
            tail: to(10),
        },
        Pointers {
            leaf: Ref::NULL,
            number: to(-0.5),
            three: Ref::NULL,
            text: Ref::NULL,
            texts: to([NULL; 2]),
            pair: to(nothing),
            pairs: [nothing, Pair { left: leaf(-1, text(c"x")), right: Ref::NULL }],
            big: Ref::NULL,
            list: list([nothing]),
            tail: Ref::NULL,
        },
        Pointers {
            leaf: Ref::NULL,
            number: Ref::NULL,
            three: Ref::NULL,
            text: Ref::NULL,
            texts: Ref::NULL,
            pair: Ref::NULL,
            pairs: [nothing; 2],
            big: Ref::NULL,
            list: list([]),
            tail: Ref::NULL,
        },
    ])
}

pub(super) const RECEIVERS: &[Records] = &[owned];

#[derive(Record)]
struct OwnedLeaf {
    name: Option<String>,
    k: i64,
}

#[derive(Record)]
struct OwnedPair {
    right: Option<Box<OwnedLeaf>>,
    left: Option<Box<OwnedLeaf>>,
}

/// As it is written where records own their parts.
#[derive(Record)]
struct Owned {
    tail: Option<Box<i64>>,
    list: Vec<OwnedPair>,
    number: Option<Box<f32>>,
    three: Option<Box<[f64; 3]>>,
    leaf: Option<Box<OwnedLeaf>>,
    pairs: Vec<OwnedPair>,
    #[isoform(alias = "big")]
    large: Option<Box<i64>>,
    #[isoform(default = "nobody")]
    author: String,
}

fn owned() -> Vec<Box<dyn Literal>> {
    let leaf = |k, name: Option<&str>| Some(Box::new(OwnedLeaf { name: name.map(Into::into), k }));
    let pair = |left, right| OwnedPair { right, left };
    let author = || "nobody".to_owned();
    owning([
        Owned {
            tail: Some(Box::new(10)),
            list: vec![pair(leaf(6, Some("six")), leaf(7, Some("seven"))), pair(leaf(8, None), leaf(9, Some("nine")))],
            number: Some(Box::new(2.5)),
            three: Some(Box::new([1.0, 2.0, 3.0])),
            leaf: leaf(1, Some("one")),
            pairs: vec![pair(leaf(4, Some("four")), None), pair(None, leaf(5, Some("")))],
            large: Some(Box::new(-1)),
            author: author(),
        },
        Owned {
            tail: None,
            list: vec![pair(None, None)],
            number: Some(Box::new(-0.5)),
            three: None,
            leaf: None,
            pairs: vec![pair(None, None), pair(leaf(-1, Some("x")), None)],
            large: None,
            author: author(),
        },
        Owned {
            tail: None,
            list: vec![],
            number: None,
            three: None,
            leaf: None,
            pairs: vec![pair(None, None), pair(None, None)],
            large: None,
            author: author(),
        },
    ])
}
