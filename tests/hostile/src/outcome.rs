//! What became of a stream, in numbers.

use isoform::{Code, Error};
use std::fmt;

/// What a receiver made of a stream.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Records that were passed by the verifier.
    pub records: u64,
    /// Records made of those: of other formats, and native ones.
    pub conversions: u64,
    /// Why something in the stream was not read: the first error of all, if there was one.
    pub refusal: Option<Code>,
    /// How often each error came when the stream was read.
    pub reading: Tally,
    /// How often each error came when what had been read was converted, or read from JSON.
    pub using: Tally,
}

impl Outcome {
    pub(crate) fn refuse(&mut self, error: &Error) {
        check(error);
        self.refusal.get_or_insert(error.code());
        self.reading.count(error.code());
    }

    /// An error of a text, which need not be about a field.
    pub(crate) fn misfit_text(&mut self, error: &Error) {
        self.using.count(error.code());
        assert!(error.code() != Code::Internal && !error.to_string().is_empty(), "{error}");
    }

    pub(crate) fn misfit(&mut self, error: &Error) {
        check(error);
        self.using.count(error.code());
    }
}

/// How often each error came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally(Vec<u64>);

impl Tally {
    /// Counts one more.
    pub fn count(&mut self, code: Code) {
        self.add(code, 1);
    }

    /// Counts all of another tally, too.
    pub fn merge(&mut self, other: &Tally) {
        other.counts().for_each(|(code, count)| self.add(code, count));
    }

    /// How often this error came.
    pub fn of(&self, code: Code) -> u64 {
        self.counts().find(|(other, _)| *other == code).map_or(0, |(_, count)| count)
    }

    /// How many errors came.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    fn add(&mut self, code: Code, count: u64) {
        self.0.resize(Code::ALL.len(), 0);
        Code::ALL.iter().zip(&mut self.0).filter(|(other, _)| **other == code).for_each(|(_, sum)| *sum += count);
    }

    fn counts(&self) -> impl Iterator<Item = (Code, u64)> {
        Code::ALL.iter().copied().zip(self.0.iter().copied()).filter(|(_, count)| *count > 0)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (code, count)) in self.counts().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{} {count}", code.name())?;
        }
        Ok(())
    }
}

/// What holds of every error that a stranger causes: it is no defect of ours, and says where and what.
fn check(error: &Error) {
    let text = error.to_string();
    assert!(!matches!(error.code(), Code::Internal | Code::Io | Code::Source), "{text}");
    if names_a_field(error.code()) {
        assert!(!error.path().is_empty(), "an error without a path: {text}");
    }
    if error.code() != Code::NotCanonical {
        let says = error.path().len() + error.expectation().len() + error.actual().len();
        assert!(says > 0, "an error that says nothing: {text}");
    }
}

fn names_a_field(code: Code) -> bool {
    use Code::*;
    matches!(
        code,
        Slot | NullArray
            | ArrayLength
            | Boolean
            | Symbol
            | Unterminated
            | Required
            | Unit
            | Shape
            | Overflow
            | Underflow
            | Inexact
            | UnknownSymbol
            | TooLong
            | Lengths
            | Null
    )
}
