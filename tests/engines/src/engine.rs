//! Generated code of one kind: run by this processor, or by a model of another one.

use isoform_core::interp::Output;
use isoform_core::{Bodies, Body, Plan, Result};
use isoform_jit::{Code, Extension, Generator, Model};
use std::sync::Arc;

/// The emitters of machine code that are compared with the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emitters {
    /// Those whose code this processor can run.
    Native,
    /// The direct one for each extension of x86-64, whose code a model of the processor executes.
    Modelled,
}

pub(crate) enum Engine {
    Native(Code),
    Modelled(Box<Model>),
}

impl Engine {
    /// What these emitters make of a plan.
    pub(crate) fn of(plan: &Arc<Plan>, emitters: Emitters) -> Result<Vec<Engine>> {
        match emitters {
            Emitters::Native => {
                Ok(Generator::ALL.iter().filter_map(|&by| Code::by(by, plan)).map(Engine::Native).collect())
            }
            Emitters::Modelled => {
                let model = |&extension| Ok(Model::of(plan, extension)?.map(|model| Engine::Modelled(Box::new(model))));
                Extension::ALL.iter().filter_map(|extension| model(extension).transpose()).collect()
            }
        }
    }

    pub(crate) fn run(&self, body: Body<'_>, out: &mut impl Output) -> Result<()> {
        match self {
            Engine::Native(code) => code.run(body, out),
            Engine::Modelled(model) => model.run(body, out),
        }
    }

    /// The same; where that can be chosen, with an output that must grow for each block.
    pub(crate) fn run_tightly(&self, body: Body<'_>, out: &mut impl Output) -> Result<()> {
        match self {
            Engine::Native(code) => code.run(body, out),
            Engine::Modelled(model) => model.run_tightly(body, out),
        }
    }

    pub(crate) fn run_fixed(&self, body: Body<'_>, dst: &mut [u8]) -> Result<()> {
        match self {
            Engine::Native(code) => code.run_fixed(body, dst),
            Engine::Modelled(model) => model.run_fixed(body, dst),
        }
    }

    pub(crate) fn run_many(&self, bodies: Bodies<'_>, dst: &mut [u8]) -> Result<()> {
        match self {
            Engine::Native(code) => code.run_many(bodies, dst),
            Engine::Modelled(model) => model.run_many(bodies, dst),
        }
    }

    /// Bytes of machine code.
    pub(crate) fn size(&self) -> usize {
        match self {
            Engine::Native(code) => code.size(),
            Engine::Modelled(model) => model.size(),
        }
    }

    /// The instructions that the model has executed, and the records that the code has converted itself.
    pub(crate) fn counted(&self) -> (u64, u64) {
        match self {
            Engine::Native(_) => (0, 0),
            Engine::Modelled(model) => (model.executed(), model.answered()),
        }
    }
}
