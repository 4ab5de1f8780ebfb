//! The same interface for machines without a generator.

use crate::Generator;
use isoform_core::Plan;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

/// The machine code of a plan, as text. There is none on this machine.
#[derive(Clone, Debug)]
pub struct Listing(Infallible);

impl Listing {
    /// `None`.
    pub fn of(_: &Arc<Plan>) -> Option<Listing> {
        None
    }

    /// `None`.
    pub fn by(_: Generator, _: &Arc<Plan>) -> Option<Listing> {
        None
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}
