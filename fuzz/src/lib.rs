//! What must hold of whatever arrives: one module for each target, whose `check` panics where it does not hold.
//!
//! `fuzz_targets/` hands each of them to libFuzzer, `seeds` makes the inputs that it begins with, and the test below
//! goes through those without any fuzzer. `README.md` says what the targets assert.
#![forbid(unsafe_code)]

pub mod conversion;
pub mod description;
pub mod field_list;
pub mod json;
pub mod message;
pub mod mutate;
pub mod parts;
pub mod seeds;
pub mod stream;
mod typed;

use isoform::{Class, Error, View};

/// A target: its name, and what it asserts of an input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 6] = [
    ("description", description::check),
    ("message", message::check),
    ("conversion", conversion::check),
    ("stream", stream::check),
    ("field_list", field_list::check),
    ("json", json::check),
];

/// What holds of every refusal: it is not our own defect, and it can be shown to a person.
fn refusal(error: &Error) {
    assert_ne!(error.class(), Class::Internal, "{error}");
    assert!(error.to_string().len() < 16 << 10, "an error of {} bytes", error.to_string().len());
}

/// All that a record holds, as text: NaN equals NaN whatever its payload.
fn values(view: View<'_>) -> String {
    format!("{:?}", view.to_value())
}

/// What a program in `fuzz_targets` consists of: one target, and the changes to its inputs.
#[macro_export]
macro_rules! target {
    ($target:ident) => {
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::$target::check(bytes));

        libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, max_size: usize, seed: u32| {
            match $crate::mutate::input(stringify!($target), &bytes[..size], seed) {
                Some(mutant) if mutant.len() <= max_size => {
                    bytes[..mutant.len()].copy_from_slice(&mutant);
                    mutant.len()
                }
                _ => libfuzzer_sys::fuzzer_mutate(bytes, size, max_size),
            }
        });
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_passes() {
        for (name, check) in TARGETS {
            let seeds = seeds::of(name);
            assert!(seeds.len() >= 50, "{} seeds of {name}", seeds.len());
            seeds.iter().for_each(|seed| check(seed));
        }
    }
}
