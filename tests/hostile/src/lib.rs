//! Hostile input, and everything that a receiver does with it.
//!
//! [`receive()`] takes any bytes for a stream and does with them all that a program of this library can do: reads them in
//! several ways, verifies, views, converts into other formats and into structs with pointers, writes text and reads it.
//! What it is given may be refused; what is accepted must be the same by every way. It panics where anything is otherwise, so
//! that whoever calls it - the command of this crate with its mutants, a fuzzer - has found a defect.
//!
//! | | |
//! |---|---|
//! | [`receive()`], [`receive_text`] | everything that is done with a stream, and with JSON |
//! | [`links`] | what a stranger says on a link |
//! | [`seeds`] | good streams, of which [`isoform_testing::mutate`](mod@isoform_testing::mutate) makes bad ones |
//! | [`memory`] | how much memory that took |
#![deny(unsafe_op_in_unsafe_fn)]

pub mod links;
pub mod memory;
mod outcome;
mod receive;
mod record;
pub mod seeds;
mod structs;

pub use outcome::{Outcome, Tally};
pub use receive::{receive, receive_text};
