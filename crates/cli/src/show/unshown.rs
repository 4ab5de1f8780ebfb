//! Messages that could not be shown, or records that could not be published. The first few are reported one by one, and
//! the others are counted.

use crate::failure::Failure;
use crate::output::plural;
use isoform::{Class, Error, Token};
use std::collections::HashSet;
use std::fmt::Arguments;

/// This many are reported one by one.
const TOLD: u64 = 10;

/// The failures of many similar things.
pub(crate) struct Unshown {
    /// Their source.
    name: String,
    /// The name of one, and what happened to all.
    thing: &'static str,
    fate: &'static str,
    failed: u64,
    told: u64,
    /// Formats without the requested fields.
    unsuited: HashSet<Token>,
    status: u8,
}

impl Unshown {
    pub(crate) fn new(name: &str, thing: &'static str, fate: &'static str) -> Unshown {
        Unshown { name: name.into(), thing, fate, failed: 0, told: 0, unsuited: HashSet::new(), status: 0 }
    }

    /// Reports one. For a format without the requested fields, this is done once.
    pub(crate) fn tell(&mut self, error: Error, about: Arguments<'_>, format: Option<Token>) {
        self.status = self.status.max(if error.class() == Class::Usage { 2 } else { 1 });
        self.failed += 1;
        let known = error.class() == Class::Usage && format.is_some_and(|format| !self.unsuited.insert(format));
        if self.told == TOLD || known {
            return;
        }
        self.told += 1;
        let _ = Failure::from(error).about(&format!("{}: {about}", self.name)).report();
    }

    /// Reports one that is invalid itself.
    pub(crate) fn bad(&mut self, error: &Error, about: &str) {
        self.status = self.status.max(1);
        self.failed += 1;
        if self.told < TOLD {
            self.told += 1;
            let _ = Failure::data(error.to_string()).about(&format!("{}: {about}", self.name)).report();
        }
    }

    /// Their number.
    pub(crate) fn count(&self) -> u64 {
        self.failed
    }

    /// The summary at the end.
    pub(crate) fn end(self) -> Result<(), Failure> {
        match self.failed - self.told {
            0 if self.failed == 0 => Ok(()),
            0 => Err(Failure::Shown { status: self.status }),
            more => {
                let message = format!("{}: {} more {}", self.name, plural(more as usize, self.thing), self.fate);
                Err(Failure::Told { message, hint: None, status: self.status })
            }
        }
    }
}
