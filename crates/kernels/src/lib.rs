//! Loops over arrays of numbers, and moves of single bytes, with the widest vector instructions of this processor.
//!
//! Every kernel gives the same result at every [`Level`]; only the time differs. All except [`Mask`] work on slices,
//! and are safe. Callers know the meaning of the numbers, and treat those that do not fit.
//!
//! | kernel | what it does |
//! |---|---|
//! | [`swap()`], [`swap_within()`] | reverses the bytes of each number |
//! | [`convert()`] | turns numbers of one type into numbers of another, and says whether all fitted |
//! | [`sum()`], [`min()`], [`max()`] | make one double of many, in the order that the language of queries defines |
//! | [`ieee()`] | does work with the floating-point modes that the kernels count on |
//! | [`Shuffle`] | puts each byte of a record where it belongs in another, a vector at a time |
//! | [`text()`], [`short_text()`] | copies a text up to the 0 at its end |
//! | [`Mask`] | copies records, and leaves their gaps behind |
//!
//! All other crates stand above this one, so the types of numbers are here as well: [`Number`] and its parts.

#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, unused_imports, unused_mut, unused_variables, reason = "what only vector instructions use")
)]

mod convert;
mod ieee;
mod level;
mod mask;
mod number;
mod reduce;
mod shuffle;
mod swap;
mod text;

pub use convert::{convert, convert_at};
pub use ieee::{ieee, ieee_if, is_ieee};
pub use level::Level;
pub use mask::Mask;
pub use number::{ByteOrder, FloatKind, Lane, Number, NumberClass, Slot};
pub use reduce::{max, max_at, min, min_at, sum, sum_at};
pub use shuffle::{Run, Shuffle};
pub use swap::{swap, swap_at, swap_within, swap_within_at};
pub use text::{SHORT_TEXT, short_text, text};
