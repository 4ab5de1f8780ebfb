//! The same interface for machines without a generator.

use isoform_core::interp::Output;
use isoform_core::{Bodies, Body, Plan, Result};
use std::convert::Infallible;
use std::sync::Arc;

/// The generators of other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {}

impl Generator {
    /// There is none.
    pub const ALL: &[Generator] = &[];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {}
    }
}

/// The machine code of a plan. There is none on this machine.
#[derive(Debug)]
pub struct Code(Infallible);

impl Code {
    /// `None`.
    pub fn of(_: &Arc<Plan>) -> Option<Code> {
        None
    }

    /// `None`.
    pub fn by(_: Generator, _: &Arc<Plan>) -> Option<Code> {
        None
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        match self.0 {}
    }

    /// Bytes of machine code.
    pub fn size(&self) -> usize {
        match self.0 {}
    }

    /// Converts a body into `out`.
    ///
    /// # Errors
    /// None.
    pub fn run(&self, _: Body<'_>, _: &mut impl Output) -> Result<()> {
        match self.0 {}
    }

    /// Whether there is code for many bodies at once.
    pub fn is_for_many(&self) -> bool {
        match self.0 {}
    }

    /// Converts many bodies.
    ///
    /// # Errors
    /// None.
    pub fn run_many(&self, _: Bodies<'_>, _: &mut [u8]) -> Result<()> {
        match self.0 {}
    }

    /// Converts a body into memory of exactly the native record's size.
    ///
    /// # Errors
    /// None.
    pub fn run_fixed(&self, _: Body<'_>, _: &mut [u8]) -> Result<()> {
        match self.0 {}
    }
}
