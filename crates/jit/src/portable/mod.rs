//! Generates code with Cranelift, for all machines that it supports.
//!
//! A function gets the addresses of a verified body and of room for a record. It does what the plan's steps do, and
//! returns 0 if every number fits. If a number does not fit, it only notes that in a variable; the rest of its result
//! is discarded. `layout` decides how small fields are moved, `number` converts single numbers, `vector` short arrays of
//! them, `array` processes many elements, and `emit` has the common instructions.
//!
//! Steps write different bytes, so their order is free, with two exceptions:
//! - 16 bytes that are put together from several fields are stored first, since what lies between those fields, and is
//!   written by other steps, is stored with them as zeros;
//! - steps that lay down blocks keep their order.

mod array;
mod emit;
mod layout;
mod number;
pub(crate) mod target;
mod vector;

use crate::call::Helper;
use crate::generate::{Made, SHORT, is_plain};
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Function, InstBuilder, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use emit::Emit;
use isoform_core::Plan;
use isoform_core::plan::{Bytes, Step};
use layout::Move;
use target::Shuffles;

/// Machine code for a plan.
pub(crate) fn function(plan: &Plan) -> Option<Made> {
    compiled(plan, false).map(|(made, _)| made)
}

/// The same code as text.
pub(crate) fn text(plan: &Plan) -> Option<String> {
    compiled(plan, true)?.1
}

fn compiled(plan: &Plan, with_text: bool) -> Option<(Made, Option<String>)> {
    let isa = target::here()?;
    let sizes = (plan.wire().size(), plan.native().size());
    let mut context = Context::new();
    let mut shared = FunctionBuilderContext::new();
    context.func = Function::new();
    context.func.signature = emit::signature(isa.default_call_conv(), 3);
    let builder = FunctionBuilder::new(&mut context.func, &mut shared);
    let emit = Emit::new(builder, plan, Shuffles::here(), isa.default_call_conv());
    let mut generator = Generator { emit };
    generator.record(sizes);
    let alone = generator.emit.finish(isa.frontend_config());
    context.set_disasm(with_text);
    let compiled = context.compile(&**isa, &mut ControlPlane::default()).ok()?;
    let whole = compiled.buffer.relocs().is_empty();
    let code = compiled.code_buffer().to_vec();
    whole.then(|| (Made { text: code.len(), code, alone, many: None }, compiled.vcode.clone()))
}

/// The place of the current record or element.
#[derive(Clone, Copy)]
struct At {
    src: Value,
    dst: Value,
}

struct Generator<'a> {
    emit: Emit<'a>,
}

impl Generator<'_> {
    /// The steps of the whole plan.
    fn record(&mut self, sizes: (usize, usize)) {
        let mut at = At { src: self.emit.src, dst: self.emit.dst };
        let plan = self.emit.plan;
        self.steps(plan.steps(), &mut at, sizes);
    }

    /// Steps on a record or element of these sizes.
    fn steps(&mut self, steps: &[Step], at: &mut At, sizes: (usize, usize)) {
        let mut moves = Vec::new();
        let others: Vec<&Step> = steps.iter().filter(|step| !layout::moves(step, &mut moves)).collect();
        let parts = layout::parts(moves, sizes, self.emit.shuffles);
        parts.iter().for_each(|part| self.emit.part(part, *at));
        others.into_iter().for_each(|step| self.step(step, at));
    }

    fn step(&mut self, step: &Step, at: &mut At) {
        match step {
            Step::Move { src, dst, len } => self.emit.run(*at, (*src, *dst), *len),
            Step::Permute { width, swap, pairs } => {
                for &(src, dst) in pairs {
                    self.emit.single(&Move { src, dst, length: *width, reversed: *swap }, *at);
                }
            }
            Step::Fill { dst, bytes } => self.fill(bytes, *at, *dst),
            Step::Elements { src, dst, count, transform, .. } => {
                if !self.elements(transform, *count, (*src, *dst), at) {
                    self.leave(step, at);
                }
            }
            Step::Array(array) if is_plain(array) => self.array(step, array, at),
            Step::Array(_) | Step::Text { .. } | Step::Chars { .. } | Step::Str { .. } => self.leave(step, at),
        }
    }

    /// Constant bytes.
    fn fill(&mut self, bytes: &Bytes, at: At, dst: usize) {
        match bytes {
            Bytes::Zero(length) if *length > SHORT => {
                let to = self.emit.address(at.dst, dst);
                let length = self.emit.constant(*length);
                self.emit.call(Helper::Zero, &[to, length]);
            }
            Bytes::Zero(length) => self.emit.constants(at.dst, dst, &vec![0; *length]),
            Bytes::Of(bytes) if bytes.len() > SHORT => {
                let to = self.emit.address(at.dst, dst);
                let (from, length) = (self.emit.constant(bytes.as_ptr().addr()), self.emit.constant(bytes.len()));
                self.emit.call(Helper::Copy, &[from, to, length]);
            }
            Bytes::Of(bytes) => self.emit.constants(at.dst, dst, bytes),
        }
    }

    /// Leaves a step to the interpreter, which may add blocks.
    fn leave(&mut self, step: &Step, at: &mut At) {
        let offset = self.emit.offset(at.dst);
        let step = self.emit.constant(std::ptr::from_ref(step).addr());
        let context = self.emit.context();
        let misfit = self.emit.call(Helper::Step, &[context, step, at.src, at.dst]);
        self.emit.stop_if(misfit);
        at.dst = self.emit.at_offset(offset);
    }

    /// Notes that a number did not fit, if `misfit` is not 0.
    fn note(&mut self, misfit: Value) {
        let before = self.emit.builder.use_var(self.emit.misfits);
        debug_assert_eq!(self.emit.builder.func.dfg.value_type(misfit), types::I64);
        let after = self.emit.builder.ins().bor(before, misfit);
        self.emit.builder.def_var(self.emit.misfits, after);
    }
}
