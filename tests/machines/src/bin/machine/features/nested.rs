//! Records within records, and arrays of records that hold strings and arrays.

use super::{NULL, Records, all, list, owning, text};
use crate::literal::Literal;
use isoform::{Char, Record, Slice, Str};

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Point {
    #[isoform(unit = "m")]
    x: f64,
    #[isoform(unit = "m")]
    y: f64,
    tag: Char,
}

#[derive(Record)]
#[repr(C)]
struct Track<'a> {
    name: Str<'a>,
    #[isoform(len = "n")]
    points: Slice<'a, Point>,
    home: Point,
    pair: [Point; 2],
    notes: Slice<'a, Str<'a>>,
}

#[derive(Record)]
#[repr(C)]
struct Fleet<'a> {
    title: Str<'a>,
    lead: Track<'a>,
    #[isoform(len = "count")]
    tracks: Slice<'a, Track<'a>>,
    end: i16,
}

const fn point(x: f64, y: f64, tag: u8) -> Point {
    Point { x, y, tag: Char(tag) }
}

const NOWHERE: Point = point(0.0, 0.0, b'-');

pub(super) fn records() -> Vec<Box<dyn Literal>> {
    let vega = Track {
        name: text(c"Vega"),
        points: list([point(1.0, 2.0, b'a')]),
        home: point(-1.0, -2.0, b'b'),
        pair: [point(0.5, 0.25, b'c'), point(0.125, 0.0, b'd')],
        notes: list([text(c"first")]),
    };
    let altair = Track {
        name: text(c"Altair"),
        points: list([point(10.0, 20.0, b'e'), point(30.0, 40.0, b'f')]),
        home: point(5.0, 6.0, b'g'),
        pair: [point(7.0, 8.0, b'h'), point(9.0, 10.0, b'i')],
        notes: list([NULL, text(c"second of Altair")]),
    };
    let nameless = Track {
        name: NULL,
        points: list([]),
        home: point(0.0, 0.0, b'j'),
        pair: [point(0.0, 0.0, b'k'), point(0.0, 0.0, b'l')],
        notes: list([]),
    };
    let nothing = Track { name: NULL, points: list([]), home: NOWHERE, pair: [NOWHERE; 2], notes: list([]) };
    all([
        Fleet { title: text(c"two ships"), lead: vega, tracks: list([altair, nameless]), end: -7 },
        Fleet { title: NULL, lead: nothing, tracks: list([]), end: 0 },
    ])
}

pub(super) const RECEIVERS: &[Records] = &[owned, fewer];

#[derive(Record)]
struct OwnedTrack {
    notes: Vec<Option<String>>,
    name: Option<String>,
    points: Vec<Point>,
}

/// As it is written where records own their parts, in another order.
#[derive(Record)]
struct OwnedFleet {
    end: i64,
    tracks: Vec<OwnedTrack>,
    title: String,
    #[isoform(alias = "lead")]
    first: OwnedTrack,
}

fn owned() -> Vec<Box<dyn Literal>> {
    let some = |text: &str| Some(text.to_owned());
    let vega = OwnedTrack { notes: vec![some("first")], name: some("Vega"), points: vec![point(1.0, 2.0, b'a')] };
    let altair = OwnedTrack {
        notes: vec![None, some("second of Altair")],
        name: some("Altair"),
        points: vec![point(10.0, 20.0, b'e'), point(30.0, 40.0, b'f')],
    };
    let nothing = || OwnedTrack { notes: vec![], name: None, points: vec![] };
    owning([
        OwnedFleet { end: -7, tracks: vec![altair, nothing()], title: "two ships".into(), first: vega },
        OwnedFleet { end: 0, tracks: vec![], title: String::new(), first: nothing() },
    ])
}

/// Points in three dimensions of single precision.
#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Single {
    #[isoform(default = -1.5)]
    z: f32,
    #[isoform(unit = "m")]
    y: f32,
    #[isoform(unit = "m", alias = "easting")]
    x: f32,
}

#[derive(Record)]
#[repr(C)]
struct Fewer<'a> {
    #[isoform(alias = "lead.home.y")]
    latitude: f64,
    #[isoform(alias = "lead.name")]
    leader: Str<'a>,
    tracks: Slice<'a, Ends<'a>>,
}

#[derive(Record)]
#[repr(C)]
struct Ends<'a> {
    pair: Slice<'a, Single>,
    points: [Single; 2],
    #[isoform(default = "no port")]
    port: Str<'a>,
}

/// Few fields, out of the depth; arrays of structures of another layout, fixed ones for dynamic ones.
fn fewer() -> Vec<Box<dyn Literal>> {
    let single = |x, y| Single { z: -1.5, y, x };
    let missing = Single { z: -1.5, y: 0.0, x: 0.0 };
    let port = text(c"no port");
    let altair = Ends {
        pair: list([single(7.0, 8.0), single(9.0, 10.0)]),
        points: [single(10.0, 20.0), single(30.0, 40.0)],
        port,
    };
    let nameless = Ends { pair: list([single(0.0, 0.0); 2]), points: [missing; 2], port };
    all([
        Fewer { latitude: -2.0, leader: text(c"Vega"), tracks: list([altair, nameless]) },
        Fewer { latitude: 0.0, leader: NULL, tracks: list([]) },
    ])
}
