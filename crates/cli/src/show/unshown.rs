//! What could not be shown, or published: told of one by one as long as that is few, then counted.

use crate::failure::Failure;
use crate::output::plural;
use isoform::{Class, Error, Token};
use std::collections::HashSet;
use std::fmt::Arguments;

/// So many are told of one by one.
const TOLD: u64 = 10;

/// What failed, of many alike.
pub(crate) struct Unshown {
    /// Where all of it comes from.
    name: String,
    /// What each is called, and what all have in common.
    thing: &'static str,
    fate: &'static str,
    failed: u64,
    told: u64,
    /// Formats that do not suit what was asked for.
    unsuited: HashSet<Token>,
    status: u8,
}

impl Unshown {
    pub(crate) fn new(name: &str, thing: &'static str, fate: &'static str) -> Unshown {
        Unshown { name: name.into(), thing, fate, failed: 0, told: 0, unsuited: HashSet::new(), status: 0 }
    }

    /// Tells of one. That a format does not suit what was asked for is told once.
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

    /// Tells of one that is wrong itself, whatever was asked for.
    pub(crate) fn bad(&mut self, error: &Error, about: &str) {
        self.status = self.status.max(1);
        self.failed += 1;
        if self.told < TOLD {
            self.told += 1;
            let _ = Failure::data(error.to_string()).about(&format!("{}: {about}", self.name)).report();
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.failed
    }

    /// What there is to say of all, at the end.
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
