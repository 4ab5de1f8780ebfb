//! The machine code of one plan: generates it, keeps it, runs it.

use crate::call::{self, Function};
use crate::generate::{self, Generator};
use isoform_core::interp::{self, Output};
use isoform_core::{Bodies, Body, Format, Plan, Result};
use isoform_kernels::{ieee, ieee_if, is_ieee};
use std::fmt;
use std::sync::Arc;

/// The machine code of a plan.
pub struct Code {
    function: Function,
    /// Whether it computes with floating-point numbers, so that the floating-point modes of the processor matter.
    computes_floats: bool,
}

impl Code {
    /// Generates code for a plan. `None` if there is no generator for this machine, the plan is too large for it, there
    /// is nothing to be gained since long arrays are all of it, or the system allows no code to be made.
    ///
    /// This takes some ten to some hundred microseconds, so it is not for the thread that receives.
    pub fn of(plan: &Arc<Plan>) -> Option<Code> {
        Generator::ALL.iter().find_map(|&generator| Code::by(generator, plan))
    }

    /// The same with a given generator, to compare generators.
    pub fn by(generator: Generator, plan: &Arc<Plan>) -> Option<Code> {
        let function = Function::new(generate::function(plan, generator)?)?;
        Some(Code { function, computes_floats: plan.steps().computes_floats() })
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        self.function.plan()
    }

    /// Bytes of machine code.
    pub fn size(&self) -> usize {
        self.function.size()
    }

    /// As [`interp::run`]: converts a body into `out`, which must be empty.
    ///
    /// # Errors
    /// As [`interp::run`].
    ///
    /// # Panics
    /// If the body is not of the plan's wire format.
    #[inline]
    pub fn run(&self, body: Body<'_>, out: &mut impl Output) -> Result<()> {
        if self.computes_floats && !is_ieee() {
            return self.run_in_ieee(body.format(), body.bytes(), out);
        }
        match call::into_output(&self.function, body, out) {
            true => Ok(()),
            false => self.interpret(body.format(), body.bytes(), out),
        }
    }

    /// As [`interp::run_fixed`]: converts a body into memory of exactly the native record's size, for formats without
    /// pointers. Gaps are left as they are, or become zeros.
    ///
    /// # Errors
    /// As [`interp::run`].
    ///
    /// # Panics
    /// If the body is not of the plan's wire format, or `dst` not of the native format's size.
    #[inline]
    pub fn run_fixed(&self, body: Body<'_>, dst: &mut [u8]) -> Result<()> {
        if self.computes_floats && !is_ieee() {
            return self.run_fixed_in_ieee(body.format(), body.bytes(), dst);
        }
        match call::into_record(&self.function, body, dst) {
            true => Ok(()),
            false => self.interpret_fixed(body.format(), body.bytes(), dst),
        }
    }

    /// Whether there is code for many bodies at once, without a call for each.
    pub fn is_for_many(&self) -> bool {
        self.function.is_for_many()
    }

    /// As [`interp::run_many`]: converts many bodies into records without pointers, which follow one another.
    ///
    /// # Errors
    /// As [`interp::run_many`].
    ///
    /// # Panics
    /// If the bodies are not of the plan's wire format, or `dst` is not as long as so many records of the native format.
    pub fn run_many(&self, bodies: Bodies<'_>, dst: &mut [u8]) -> Result<()> {
        let size = self.plan().native().size();
        assert_eq!(Some(dst.len()), size.checked_mul(bodies.len()), "the destination holds as many native records");
        let done = ieee_if(self.computes_floats, || call::into_records(&self.function, bodies, dst)).unwrap_or(0);
        for (index, record) in dst.chunks_exact_mut(size).enumerate().skip(done) {
            self.run_fixed(bodies.at(index), record).map_err(|error| error.within(&format!("[{index}]")))?;
        }
        Ok(())
    }

    /// As `run`, in a thread that has set other floating-point modes. The body comes in pieces for the reason that
    /// `interpret` gives.
    #[cold]
    fn run_in_ieee(&self, format: &Format, body: &[u8], out: &mut impl Output) -> Result<()> {
        let verified = format.verify(body)?;
        match ieee(|| call::into_output(&self.function, verified, out)) {
            true => Ok(()),
            false => self.interpret(format, body, out),
        }
    }

    #[cold]
    fn run_fixed_in_ieee(&self, format: &Format, body: &[u8], dst: &mut [u8]) -> Result<()> {
        let verified = format.verify(body)?;
        match ieee(|| call::into_record(&self.function, verified, dst)) {
            true => Ok(()),
            false => self.interpret_fixed(format, body, dst),
        }
    }

    /// The interpreter converts the record again, and decides what is at fault, if anything. The result of the attempt
    /// is discarded.
    ///
    /// The body comes in pieces, and is verified again: handed over as it is, it would have to lie in memory for every
    /// record, and the code would have to wait for that.
    #[cold]
    fn interpret(&self, format: &Format, body: &[u8], out: &mut impl Output) -> Result<()> {
        out.resize(0)?;
        interp::run(self.plan(), format.verify(body)?, out)
    }

    #[cold]
    fn interpret_fixed(&self, format: &Format, body: &[u8], dst: &mut [u8]) -> Result<()> {
        interp::run_fixed(self.plan(), format.verify(body)?, dst)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code({} bytes)", self.size())
    }
}
