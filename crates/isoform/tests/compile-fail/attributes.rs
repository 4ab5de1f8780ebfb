use isoform::{Record, Slice};

#[derive(Record)]
#[repr(C)]
struct Wrong<'a> {
    #[isoform(colour = "red")]
    unknown: u32,
    #[isoform(rename = "a b")]
    name: u32,
    #[isoform(rename = "twice")]
    first: u32,
    twice: u32,
    #[isoform(required, default = 1)]
    both: u32,
    #[isoform(unit = "m", unit = "km")]
    units: u32,
    #[isoform(alias = "a..b")]
    path: u32,
    #[isoform(len = 3)]
    length: Slice<'a, u32>,
    #[isoform(rename)]
    nothing: u32,
}

#[derive(Record)]
#[repr(C)]
#[isoform(version = 2)]
struct Whole {
    a: u32,
}

#[derive(Record)]
#[repr(C)]
#[isoform(owned)]
struct OwnedInPlace {
    a: u32,
}

fn main() {}
