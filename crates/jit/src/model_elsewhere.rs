//! The same interface for machines on which the model cannot work: those of the other byte order, and of 32 bits.

use crate::{Extension, Listing};
use isoform_core::interp::Output;
use isoform_core::{Bodies, Body, Plan, Result};
use std::convert::Infallible;
use std::sync::Arc;

/// Code that a model of the processor executes. There is none on this machine.
#[derive(Debug)]
pub struct Model(Infallible);

impl Model {
    /// `None`.
    ///
    /// # Errors
    /// Never.
    pub fn of(_: &Arc<Plan>, _: Extension) -> Result<Option<Model>> {
        Ok(None)
    }

    /// The code as text.
    pub fn listing(&self) -> Listing {
        match self.0 {}
    }

    /// Bytes of code.
    pub fn size(&self) -> usize {
        match self.0 {}
    }

    /// Instructions so far.
    pub fn executed(&self) -> u64 {
        match self.0 {}
    }

    /// The records so far that the code has converted itself.
    pub fn answered(&self) -> u64 {
        match self.0 {}
    }

    /// As [`Code::run`](crate::Code::run).
    ///
    /// # Errors
    /// Never.
    pub fn run(&self, _: Body<'_>, _: &mut impl Output) -> Result<()> {
        match self.0 {}
    }

    /// As [`run`](Model::run).
    ///
    /// # Errors
    /// Never.
    pub fn run_tightly(&self, _: Body<'_>, _: &mut impl Output) -> Result<()> {
        match self.0 {}
    }

    /// As [`Code::run_fixed`](crate::Code::run_fixed).
    ///
    /// # Errors
    /// Never.
    pub fn run_fixed(&self, _: Body<'_>, _: &mut [u8]) -> Result<()> {
        match self.0 {}
    }

    /// As [`Code::run_many`](crate::Code::run_many).
    ///
    /// # Errors
    /// Never.
    pub fn run_many(&self, _: Bodies<'_>, _: &mut [u8]) -> Result<()> {
        match self.0 {}
    }
}
