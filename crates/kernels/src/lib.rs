//! Loops over arrays of numbers, and moves of single bytes, in the widest vector instructions that this processor has.
//!
//! Every kernel is a safe function on slices, and does the same at every [`Level`]; only the time differs. What the
//! numbers mean, and what is done about one that does not fit, is the business of those who call.
//!
//! | kernel | what it does |
//! |---|---|
//! | [`swap`] | reverses the bytes of each number |
//! | [`convert`] | turns numbers of one type into numbers of another, and says whether all fitted |

mod convert;
mod level;
mod shuffle;

mod swap;

pub use convert::{Kind, Number, convert, convert_at};
pub use level::Level;
pub use shuffle::{Run, Shuffle};

pub use swap::{swap, swap_at};
