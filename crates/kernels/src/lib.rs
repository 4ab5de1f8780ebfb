//! SIMD kernels: loops over arrays of numbers, and byte permutations, for the widest vector instructions that this processor has.
//! The [`Level`] of instructions is detected at run time.
//!
//! Every kernel gives the same result at every [`Level`]; only the time differs. All except [`Mask`] work on slices,
//! and are safe. A kernel reports only whether all numbers fit the target type. The caller finds those that overflow, and saturates,
//! wraps or refuses them.
//!
//! | kernel | what it does |
//! |---|---|
//! | [`swap()`], [`swap_within()`] | byte swap of each number, between byte orders |
//! | [`convert()`] | conversion between number types: widening, narrowing, between integer and float; reports whether all numbers fit |
//! | [`sum()`], [`min()`], [`max()`] | reductions of an array of doubles, in the order of evaluation that `spec/query.md` defines |
//! | [`ieee()`] | runs a closure in the default floating-point environment of IEEE 754, which the kernels need |
//! | [`Shuffle`] | permutes the bytes of a record into those of another layout, a vector at a time |
//! | [`text()`], [`short_text()`] | copies a string up to its terminating 0 |
//! | [`Mask`] | copies records, with zeros for their padding |
//!
//! This crate depends on no other crate of the project, so the descriptions of number types are here as well: [`Number`] and its parts.

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
