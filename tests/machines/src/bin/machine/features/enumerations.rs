//! Enumerations of every size.

use super::{Records, all, list};
use crate::literal::Literal;
use isoform::{Enumeration, Record, Slice};

#[derive(Enumeration, Clone, Copy)]
#[repr(i32)]
#[allow(non_camel_case_types, reason = "symbols as C has them")]
enum Color {
    red = 0,
    #[allow(dead_code, reason = "a symbol that is not sent")]
    green = 1,
    blue = 2,
}

#[derive(Enumeration, Clone, Copy)]
#[repr(i8)]
#[allow(dead_code, reason = "symbols that are not sent")]
enum Sign {
    #[isoform(rename = "minus")]
    Minus = -1,
    #[isoform(rename = "zero")]
    Zero = 0,
    #[isoform(rename = "plus")]
    Plus = 1,
}

#[derive(Enumeration, Clone, Copy)]
#[repr(u16)]
enum Mask {
    #[isoform(rename = "none")]
    None = 0,
    #[isoform(rename = "all")]
    All = 65_535,
}

#[derive(Enumeration, Clone, Copy)]
#[repr(i64)]
enum Wide {
    #[isoform(rename = "lowest")]
    Lowest = i64::MIN,
    #[isoform(rename = "highest")]
    Highest = i64::MAX,
}

#[derive(Enumeration, Clone, Copy)]
#[repr(u64)]
enum Unsigned {
    #[isoform(rename = "low")]
    Low = 3,
    #[isoform(rename = "high")]
    High = u64::MAX,
}

#[derive(Enumeration, Clone, Copy)]
#[repr(C)]
#[allow(dead_code, reason = "a symbol that is not sent")]
enum Way {
    #[isoform(rename = "north")]
    North = 10,
    #[isoform(rename = "east")]
    East = 20,
    #[isoform(rename = "south")]
    South = 30,
    #[isoform(rename = "west")]
    West = 40,
}

#[derive(Enumeration, Clone, Copy)]
#[repr(i8)]
enum Switch {
    #[isoform(rename = "off")]
    Off = 0,
    #[isoform(rename = "on")]
    On = 1,
}

#[derive(Record)]
#[repr(C)]
struct Enumerations<'a> {
    color: Color,
    sign: Sign,
    mask: Mask,
    wide: Wide,
    uwide: Unsigned,
    #[isoform(len = "n")]
    path: Slice<'a, Way>,
    pair: [Switch; 2],
}

pub(super) fn records() -> Vec<Box<dyn Literal>> {
    all([
        Enumerations {
            color: Color::red,
            sign: Sign::Minus,
            mask: Mask::None,
            wide: Wide::Lowest,
            uwide: Unsigned::Low,
            path: list([Way::North, Way::West, Way::East]),
            pair: [Switch::Off, Switch::On],
        },
        Enumerations {
            color: Color::blue,
            sign: Sign::Plus,
            mask: Mask::All,
            wide: Wide::Highest,
            uwide: Unsigned::High,
            path: list([]),
            pair: [Switch::On, Switch::On],
        },
    ])
}

pub(super) const RECEIVERS: &[Records] = &[renumbered, numbers];

/// The same symbols have other numbers here, `minus` is not among them, and none is 0.
#[derive(Enumeration, Clone, Copy)]
#[repr(u8)]
#[allow(dead_code, reason = "symbols that do not come")]
enum Tone {
    #[isoform(rename = "plus")]
    Plus = 7,
    #[isoform(rename = "zero")]
    Zero = 8,
    #[isoform(rename = "unknown")]
    Unknown = 9,
}

#[derive(Enumeration, Clone, Copy)]
#[repr(i64)]
#[allow(dead_code, reason = "symbols that do not come")]
enum Hue {
    #[isoform(rename = "blue")]
    Blue = -5,
    #[isoform(rename = "green")]
    Green = -4,
    #[isoform(rename = "red")]
    Red = 5_000_000_000,
}

#[derive(Record)]
#[repr(C)]
struct Renumbered<'a> {
    color: Hue,
    #[isoform(default = Tone::Unknown)]
    sign: Tone,
    pair: Slice<'a, Switch>,
}

fn renumbered() -> Vec<Box<dyn Literal>> {
    all([
        Renumbered { color: Hue::Red, sign: Tone::Unknown, pair: list([Switch::Off, Switch::On]) },
        Renumbered { color: Hue::Blue, sign: Tone::Plus, pair: list([Switch::On, Switch::On]) },
    ])
}

/// Values instead of symbols.
#[derive(Record)]
#[repr(C)]
struct Numbers {
    path: [u8; 3],
    uwide: u128,
    wide: i64,
    mask: u16,
    #[isoform(rename = "sign")]
    direction: i64,
}

fn numbers() -> Vec<Box<dyn Literal>> {
    all([
        Numbers { path: [10, 40, 20], uwide: 3, wide: i64::MIN, mask: 0, direction: -1 },
        Numbers { path: [0; 3], uwide: u64::MAX.into(), wide: i64::MAX, mask: 65_535, direction: 1 },
    ])
}
