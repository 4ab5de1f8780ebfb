//! Random formats and records for property tests, as strategies of `proptest`.
//!
//! [`any_shape`] makes declarations of records with all types, nested and in arrays. [`any_format`] lays them out on
//! all kinds of machines, and sometimes with more gaps than any compiler would leave. [`evolved()`] makes other
//! versions of them, and [`moved`] and [`twisted()`] the formats of other receivers. [`any_value`] makes records of a
//! format, and [`any_record`] both. [`mutate`] changes streams as an attacker would.
//!
//! Programs that try millions of cases draw them from strategies with [`drawn()`], which gives the same value for the
//! same number, and record their current task with [`InFlight`].
#![forbid(unsafe_code)]

mod drawn;
mod evolved;
mod gaps;
mod in_flight;
pub mod mutate;
mod shapes;
mod twisted;
mod values;

pub use drawn::{drawn, runner};
pub use evolved::evolved;
pub use gaps::with_gaps;
pub use in_flight::InFlight;
pub use shapes::{NUMBERS, PLAIN, any_shape, shapes_of};
pub use twisted::{moved, twisted};
pub use values::any_value;

use isoform_core::{Format, Layout, Value};
use proptest::prelude::*;

/// Any of the layouts that have a name.
pub fn any_layout() -> impl Strategy<Value = Layout> {
    prop::sample::select(Layout::ALL)
}

/// Any format: a random shape, laid out for a random machine or with random gaps.
///
/// Records are small: some hundred bytes, at most some ten kilobytes, and nested up to four levels.
pub fn any_format() -> impl Strategy<Value = Format> {
    let gaps = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(any::<u8>(), 1..8)];
    (any_shape(), any_layout(), gaps).prop_map(|(shape, layout, gaps)| {
        let format = shape.on(&layout).expect("shapes can be laid out");
        with_gaps(&format, &gaps)
    })
}

/// Any format, and any record of it.
pub fn any_record() -> impl Strategy<Value = (Format, Value)> {
    any_format().prop_flat_map(|format| {
        let record = any_value(&format);
        (Just(format), record)
    })
}
