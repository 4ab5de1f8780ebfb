//! Both engines, and every generator of code, make the same of every record: the same bytes, or the same error at the same
//! field.
//!
//! [`Pair`] is two formats and records of the first, drawn by number; [`Pair::compare`] converts them by every engine, also
//! into memory that is not new, and counts what came of it. The command `isoform-engines` does so for millions of numbers,
//! a test for some hundred. Whether what they make is right is not asked here, but where results are known:
//! `crates/core/tests/conversion`.
//!
//! | module | what it has |
//! |---|---|
//! | `pair` | which formats meet, by what rules |
//! | `broad` | records of many numbers and long arrays, which random shapes rarely are |
//! | `wordy` | records of many and long texts, and of fields that the sender lacks |
//! | `varied` | records with other numbers: such as fit nearly everywhere, and such as do not |
//! | `engine` | code that this processor runs, or that a model of another one executes |
//! | `compare` | what the engines make of a record |
//! | `output` | where to: new memory, used memory, too little |
#![forbid(unsafe_code)]

mod broad;
mod compare;
mod engine;
mod output;
mod pair;
mod run;
mod tally;
mod varied;
mod wordy;

pub use engine::Emitters;
pub use pair::Pair;
pub use run::{Report, run};
pub use tally::Tally;
