//! Three programs that grew apart, and others that read all of them.

use super::{Records, all, list, owning, text};
use crate::literal::Literal;
use isoform::{Enumeration, Record, Slice, Str};

mod first {
    use super::{Enumeration, Record};

    #[derive(Enumeration, Clone, Copy)]
    #[repr(i32)]
    #[allow(dead_code, reason = "a symbol that is not sent")]
    pub(super) enum State {
        #[isoform(rename = "cold")]
        Cold = 0,
        #[isoform(rename = "hot")]
        Hot = 1,
    }

    #[derive(Record)]
    #[repr(C)]
    pub(super) struct Sample {
        pub(super) step: i32,
        #[isoform(unit = "K")]
        pub(super) temp: f32,
        pub(super) state: State,
    }
}

mod second {
    use super::{Enumeration, Record, Str};

    #[derive(Enumeration, Clone, Copy)]
    #[repr(i32)]
    #[allow(dead_code, reason = "symbols that are not sent")]
    pub(super) enum State {
        #[isoform(rename = "frozen")]
        Frozen = 0,
        #[isoform(rename = "cold")]
        Cold = 1,
        #[isoform(rename = "hot")]
        Hot = 2,
    }

    #[derive(Record)]
    #[repr(C)]
    pub(super) struct Sample<'a> {
        pub(super) station: Str<'a>,
        pub(super) step: i64,
        #[isoform(unit = "K")]
        pub(super) temp: f64,
        pub(super) state: State,
        pub(super) flow: [f32; 4],
    }
}

mod third {
    use super::{Record, Slice};

    #[derive(Record)]
    #[repr(C)]
    pub(super) struct Position {
        pub(super) lat: f64,
        pub(super) lon: f64,
    }

    #[derive(Record)]
    #[repr(C)]
    pub(super) struct Sample<'a> {
        pub(super) r#where: Position,
        pub(super) step: u16,
        #[isoform(len = "n")]
        pub(super) flow: Slice<'a, f64>,
    }
}

fn in_turn<const N: usize>(one: [Vec<Box<dyn Literal>>; N]) -> Vec<Box<dyn Literal>> {
    one.into_iter().flatten().collect()
}

pub(super) fn records() -> Vec<Box<dyn Literal>> {
    let second = second::Sample {
        station: text(c"Aare"),
        step: 5_000_000_000,
        temp: 280.25,
        state: second::State::Hot,
        flow: [1.0, 2.0, 3.0, 4.5],
    };
    let position = third::Position { lat: 46.5, lon: 7.5 };
    in_turn([
        all([first::Sample { step: 1, temp: 273.15, state: first::State::Cold }]),
        all([second]),
        all([third::Sample { r#where: position, step: 65_535, flow: list([0.1, 0.2, 0.3]) }]),
    ])
}

pub(super) const RECEIVERS: &[Records] = &[newest, oldest];

#[derive(Enumeration, Clone, Copy)]
#[repr(u8)]
#[allow(dead_code, reason = "symbols that do not come")]
enum State {
    #[isoform(rename = "unknown")]
    Unknown = 0,
    #[isoform(rename = "hot")]
    Hot = 1,
    #[isoform(rename = "cold")]
    Cold = 2,
}

/// The next version of the program, which reads what all before it have written.
#[derive(Record)]
#[isoform(rename = "Sample")]
struct Newest {
    #[isoform(default = "unknown")]
    station: String,
    #[isoform(alias = "where.lat", default = 47.0)]
    latitude: f64,
    step: i64,
    #[isoform(unit = "K", alias = "temp", default = 288.15)]
    temperature: f64,
    state: State,
    flow: Vec<f64>,
}

fn newest() -> Vec<Box<dyn Literal>> {
    let station = || "unknown".to_owned();
    owning([
        Newest {
            station: station(),
            latitude: 47.0,
            step: 1,
            temperature: 273.149_993_896_484_375,
            state: State::Cold,
            flow: vec![],
        },
        Newest {
            station: "Aare".into(),
            latitude: 47.0,
            step: 5_000_000_000,
            temperature: 280.25,
            state: State::Hot,
            flow: vec![1.0, 2.0, 3.0, 4.5],
        },
        Newest {
            station: station(),
            latitude: 46.5,
            step: 65_535,
            temperature: 288.15,
            state: State::Unknown,
            flow: vec![0.1, 0.2, 0.3],
        },
    ])
}

/// A program that nobody has touched for years: single precision, places for six values of `flow`.
#[derive(Record)]
#[repr(C)]
struct Oldest {
    flow: [f32; 6],
    step: f64,
    temp: f32,
}

fn oldest() -> Vec<Box<dyn Literal>> {
    all([
        Oldest { flow: [0.0; 6], step: 1.0, temp: 273.15 },
        Oldest { flow: [1.0, 2.0, 3.0, 4.5, 0.0, 0.0], step: 5e9, temp: 280.25 },
        Oldest { flow: [0.1, 0.2, 0.3, 0.0, 0.0, 0.0], step: 65_535.0, temp: 0.0 },
    ])
}
