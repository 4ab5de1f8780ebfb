//! What must hold of whatever arrives: one module for each target, whose `check` panics where it does not hold.
//!
//! `fuzz_targets/` hands each of them to libFuzzer, `seeds` makes the inputs that it begins with, and the test below
//! goes through those without any fuzzer. `README.md` says what the targets assert.
#![forbid(unsafe_code)]

pub mod body;
pub mod conversion;
pub mod description;
pub mod document;
pub mod field_list;
pub mod frames;
pub mod handshake;
pub mod json;
pub mod message;
pub mod mutate;
pub mod parts;
pub mod program;
pub mod query;
pub mod rules;
pub mod seeds;
pub mod stream;
mod typed;

use isoform::core::Value;
use isoform::{Class, Error};

/// A target: its name, and what it asserts of an input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 13] = [
    ("description", description::check),
    ("message", message::check),
    ("conversion", conversion::check),
    ("stream", stream::check),
    ("field_list", field_list::check),
    ("json", json::check),
    ("handshake", handshake::check),
    ("frames", frames::check),
    ("query", query::check),
    ("rules", rules::check),
    ("document", document::check),
    ("program", program::check),
    ("body", body::check),
];

/// What holds of every refusal: it is not our own defect, and it can be shown to a person.
fn refusal(error: &Error) {
    assert_ne!(error.class(), Class::Internal, "{error}");
    assert!(error.to_string().len() < 16 << 10, "an error of {} bytes", error.to_string().len());
}

/// Whether two records hold the same: NaN is NaN whatever its payload.
fn same(one: &Value, other: &Value) -> bool {
    let all = |ones: &[Value], others: &[Value]| {
        ones.len() == others.len() && ones.iter().zip(others).all(|(one, other)| same(one, other))
    };
    match (one, other) {
        (Value::Float(one), Value::Float(other)) => one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan(),
        (Value::Complex(one), Value::Complex(other)) => all(&one[..], &other[..]),
        (Value::Array(one), Value::Array(other)) => all(one, other),
        (Value::Record(one), Value::Record(other)) => {
            let entry =
                |((name, one), (other_name, other)): (&(_, Value), &(_, Value))| name == other_name && same(one, other);
            one.len() == other.len() && one.iter().zip(other).all(entry)
        }
        (one, other) => one == other,
    }
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
