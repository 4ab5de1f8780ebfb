//! Random formats, for the property tests of the whole project: strategies of [`proptest`].
//!
//! [`any_shape`] makes declarations of records with every type that there is, nested and in arrays, [`any_format`] lays
//! them out on every kind of machine, and sometimes with more gaps than any compiler would leave.
#![forbid(unsafe_code)]

mod gaps;
mod shapes;

pub use gaps::with_gaps;
pub use shapes::{NUMBERS, any_shape, shapes_of};

use isoform_core::{Format, Layout};
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
