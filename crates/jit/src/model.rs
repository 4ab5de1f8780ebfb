//! Code of the direct generator, executed by a model of a processor.
//!
//! The model reads the instructions from their bytes, and checks each access to memory. So this code is tried on machines that
//! lack its instructions, too, and mistakes that do no harm by chance are found. It serves tests alone, and is some hundred
//! times slower than a processor.

use crate::instructions::machine::{Machine, Program};
use crate::{Extension, Listing, x86};
use isoform_core::interp::{self, Output};
use isoform_core::{Bodies, Body, Code as Kind, Error, Plan, Result};
use std::cell::Cell;
use std::sync::Arc;

/// The code of a plan, with the methods of [`Code`](crate::Code).
///
/// ```
/// use isoform_core::{Faults, Layout, Plan, Rules, Shape, Verifier};
/// use isoform_jit::{Extension, Model};
/// use std::sync::Arc;
/// let shape = Shape::parse("record P\n  n  i32\n  x  f64[3]\n")?;
/// let (wire, native) = (shape.on(&Layout::S390X)?, shape.on(&Layout::X86_64)?);
/// let plan = Arc::new(Plan::new(&wire, &native, &Rules::new(), Faults::Error)?);
/// let model = Model::of(&plan, Extension::Avx2)?.expect("code is worthwhile for this plan");
/// let mut record = Vec::new();
/// model.run(Verifier::new(&wire).verify(&[7; 32])?, &mut record)?;
/// assert_eq!(record[..8], [7, 7, 7, 7, 0, 0, 0, 0]);
/// assert!(model.executed() > 0 && model.answered() == 1);
/// # Ok::<(), isoform_core::Error>(())
/// ```
pub struct Model {
    plan: Arc<Plan>,
    program: Program,
    listing: Listing,
    alone: bool,
    many: Option<usize>,
    executed: Cell<u64>,
    answered: Cell<u64>,
}

/// Room that the output of [`Model::run`] gets besides what is needed, as in `call`.
const SPARE: usize = 256;

impl Model {
    /// Generates the code of a plan for processors with this extension, whether or not this is one. `None` if no code is generated for
    /// this plan.
    ///
    /// # Errors
    /// [`Code::Internal`](Kind::Internal) if there is an instruction in it that the model, or such a processor, does not know.
    pub fn of(plan: &Arc<Plan>, extension: Extension) -> Result<Option<Model>> {
        let Some(made) = x86::for_any(plan, extension) else { return Ok(None) };
        let listing = Listing::of_any(&made, plan);
        let program = Program::new(made.code, made.text, extension).map_err(internal)?;
        let (executed, answered) = (Cell::new(0), Cell::new(0));
        Ok(Some(Model { plan: plan.clone(), program, listing, alone: made.alone, many: made.many, executed, answered }))
    }

    /// The code as text.
    pub fn listing(&self) -> Listing {
        self.listing.clone()
    }

    /// Bytes of code.
    pub fn size(&self) -> usize {
        self.program.size()
    }

    /// Instructions so far.
    pub fn executed(&self) -> u64 {
        self.executed.get()
    }

    /// The records so far that the code has converted itself. It leaves the others to the interpreter.
    pub fn answered(&self) -> u64 {
        self.answered.get()
    }

    /// As [`Code::run`](crate::Code::run).
    ///
    /// # Errors
    /// As [`interp::run`]; [`Code::Internal`](Kind::Internal) for code that does what it must not do.
    pub fn run(&self, body: Body<'_>, out: &mut impl Output) -> Result<()> {
        let room = self.plan.native().size().saturating_add(2 * body.bytes().len()).saturating_add(SPARE);
        self.run_in(room, body, out)
    }

    /// As [`run`](Model::run), with an output that must grow for each block.
    ///
    /// # Errors
    /// As [`run`](Model::run).
    pub fn run_tightly(&self, body: Body<'_>, out: &mut impl Output) -> Result<()> {
        self.run_in(self.plan.native().size(), body, out)
    }

    fn run_in(&self, room: usize, body: Body<'_>, out: &mut impl Output) -> Result<()> {
        let size = self.plan.native().size();
        if !self.plan.native().structure().has_slots() {
            out.resize(size)?;
            if self.fits(body, out)?.is_some() {
                return Ok(());
            }
        } else if (out.resize(room).is_ok() || out.resize(size).is_ok())
            && let Some(length) = self.fits(body, out)?
        {
            return out.resize(length);
        }
        out.resize(0)?;
        interp::run(&self.plan, body, out)
    }

    /// As [`Code::run_fixed`](crate::Code::run_fixed).
    ///
    /// # Errors
    /// As [`run`](Model::run).
    pub fn run_fixed(&self, body: Body<'_>, dst: &mut [u8]) -> Result<()> {
        match self.fits(body, &mut Fixed(dst))? {
            Some(_) => Ok(()),
            None => interp::run_fixed(&self.plan, body, dst),
        }
    }

    /// As [`Code::run_many`](crate::Code::run_many).
    ///
    /// # Errors
    /// As [`run`](Model::run).
    pub fn run_many(&self, bodies: Bodies<'_>, dst: &mut [u8]) -> Result<()> {
        let mut done = 0;
        if let Some(start) = self.many {
            let mut out = Fixed(&mut *dst);
            let machine = Machine::new(&self.plan, &self.program, bodies.bytes(), &mut out, 0);
            let (left, executed) = machine.convert_many(start, bodies.len(), bodies.stride());
            self.executed.set(self.executed.get() + executed);
            let all = bodies.len() as u64;
            done =
                all.checked_sub(left.map_err(internal)?).ok_or_else(|| internal("more are left than came".into()))?;
        }
        let size = self.plan.native().size();
        for (index, record) in dst.chunks_exact_mut(size).enumerate().skip(done as usize) {
            self.run_fixed(bodies.at(index), record).map_err(|error| error.within(&format!("[{index}]")))?;
        }
        Ok(())
    }

    /// The length of the record, if everything fitted.
    fn fits(&self, body: Body<'_>, out: &mut dyn Output) -> Result<Option<usize>> {
        let machine = Machine::new(&self.plan, &self.program, body.bytes(), out, self.plan.native().size());
        let (result, executed) = machine.convert(self.alone);
        self.executed.set(self.executed.get() + executed);
        let result = result.map_err(internal)?;
        self.answered.set(self.answered.get() + u64::from(result.is_some()));
        Ok(result)
    }
}

/// Memory of a fixed size, as an output.
struct Fixed<'a>(&'a mut [u8]);

impl Output for Fixed<'_> {
    fn bytes(&mut self) -> &mut [u8] {
        self.0
    }

    fn resize(&mut self, length: usize) -> Result<()> {
        if length == self.0.len() { Ok(()) } else { Err(Error::new(Kind::Internal).found("a block in a flat record")) }
    }
}

#[cold]
fn internal(fault: String) -> Error {
    Error::new(Kind::Internal).found(fault)
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model({} instructions so far)", self.executed())
    }
}
