//! Random formats and records, for the property tests of the whole project: strategies of `proptest`.
//!
//! [`any_shape`] makes declarations of records with every type that there is, nested and in arrays, [`any_format`] lays
//! them out on every kind of machine, and sometimes with more gaps than any compiler would leave; [`evolved()`] makes
//! other versions of them, and [`moved`] and [`twisted()`] what other receivers have. [`any_value`] makes records of a
//! format, [`any_record`] both. [`mutate`] changes streams as somebody would who means harm.
//!
//! Programs that try millions take from strategies what they need by [`drawn()`], the same for the same number at any time,
//! and leave word of what they are at [`InFlight`].
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

/// Any format: a random shape, as a random machine lays it out or with random gaps.
///
/// Records are small - some hundred bytes, some ten kilobytes at the worst - and nested up to four levels.
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
