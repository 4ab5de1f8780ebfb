//! The records that every machine writes, and what others want of them.
//!
//! Each feature declares its records as Rust structs, which are sent as they lie in memory; their names and values are
//! those of `crates/isoform/examples/write-vectors`, written a second time, as literals. Each says also what other
//! receivers make of the same messages: records of other types, with the values that they must come to.

use crate::literal::{Literal, Owning};
use isoform::{Owned, Record, Slice, Str};

mod arrays;
mod enumerations;
mod evolve;
mod long_double;
mod nested;
mod pointers;
mod scalars;
mod strings;
mod wide;

/// Records in the order of a stream.
type Records = fn() -> Vec<Box<dyn Literal>>;

/// Records that belong together.
pub(crate) struct Feature {
    /// Its name, which is that of the vectors.
    pub(crate) name: &'static str,
    /// The vectors that C declares otherwise, and that hold the same values.
    c: &'static str,
    /// What is written.
    pub(crate) records: Records,
    /// What others make of it: for each message a record.
    receivers: &'static [Records],
}

/// All of them.
pub(crate) const ALL: &[Feature] = &[
    Feature { name: "rust-scalars", c: "scalars", records: scalars::records, receivers: scalars::RECEIVERS },
    Feature { name: "rust-strings", c: "strings", records: strings::records, receivers: strings::RECEIVERS },
    Feature { name: "rust-arrays", c: "arrays", records: arrays::records, receivers: arrays::RECEIVERS },
    Feature { name: "rust-nested", c: "nested", records: nested::records, receivers: nested::RECEIVERS },
    Feature {
        name: "rust-enumerations",
        c: "enumerations",
        records: enumerations::records,
        receivers: enumerations::RECEIVERS,
    },
    Feature { name: "rust-wide", c: "wide", records: wide::records, receivers: wide::RECEIVERS },
    Feature {
        name: "rust-long-double",
        c: "rust-long-double",
        records: long_double::records,
        receivers: long_double::RECEIVERS,
    },
    Feature { name: "rust-pointers", c: "pointers", records: pointers::records, receivers: pointers::RECEIVERS },
    Feature { name: "rust-evolve", c: "evolve", records: evolve::records, receivers: evolve::RECEIVERS },
];

/// What the messages of a stream become in each receiver of it, those of the same types first.
pub(crate) fn receivers(stream: &str) -> Vec<Vec<Box<dyn Literal>>> {
    let Some(feature) = ALL.iter().find(|feature| feature.name == stream || feature.c == stream) else {
        return Vec::new();
    };
    // C has lengths that Rust's declarations lack; but the records that Rust makes of both are the same.
    [feature.records].iter().chain(feature.receivers).map(|records| records()).collect()
}

/// Records of one type.
fn all<T: Literal + 'static>(records: impl IntoIterator<Item = T>) -> Vec<Box<dyn Literal>> {
    records.into_iter().map(|record| Box::new(record) as Box<dyn Literal>).collect()
}

/// Records of one type that own their parts.
fn owning<T>(records: impl IntoIterator<Item = T>) -> Vec<Box<dyn Literal>>
where
    T: Record<Static = T> + Owned + for<'m> Record<Native<'m> = <T as Owned>::Native<'m>>,
{
    all(records.into_iter().map(Owning))
}

/// An array for as long as the program runs, as its records are.
fn list<T, const N: usize>(elements: [T; N]) -> Slice<'static, T> {
    Slice::from(kept(elements))
}

/// The same of a single value.
fn kept<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// A string.
fn text(text: &'static std::ffi::CStr) -> Str<'static> {
    Str::new(text)
}

const NULL: Str<'static> = Str::NULL;
