//! Named types of a program that no record can be. Somebody who looks for one is told why it is none.

use super::source::{Candidate, Names, Source};
use crate::left_out::{LeftOut, List};

/// Why a type is no record. If several reasons hold for types of one name, the first one is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    Union,
    LongName,
    Declared,
}

impl Why {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Why::Union => "a union is no record",
            Why::LongName => "a record has a name of at most 255 bytes",
            Why::Declared => "the program only declares it, without its fields",
        }
    }

    /// What a type of this name is.
    pub(super) fn what(self, name: &str) -> String {
        match self {
            Why::Union => format!("union {name}"),
            Why::LongName | Why::Declared => format!("struct {name}"),
        }
    }
}

/// These types, for users.
pub(super) fn listed(source: &dyn Source) -> Vec<LeftOut> {
    let mut others: Vec<(&str, Why, &Candidate)> = source.names().others().collect();
    // Names of one reason stay in alphabetical order.
    others.sort_by_key(|&(_, why, _)| why);
    let mut list = List::default();
    for (name, why, candidate) in others {
        list.add(&why.what(name), source.place(candidate), why.reason(), why == Why::LongName);
    }
    list.into_entries()
}

impl Names {
    /// Why no type of a name is a record.
    pub(super) fn why_none(&self, name: &str) -> Option<Why> {
        self.others().find(|(other, ..)| *other == name).map(|(_, why, _)| why)
    }
}
