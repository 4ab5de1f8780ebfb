//! Plan to Cranelift's instructions.
//!
//! A function gets the addresses of a verified body and of room for a record, does what the plan's steps do, and returns
//! 0 if every number fitted. Numbers that do not fit are only noted, in a variable: the rest is done all the same, and
//! thrown away. `layout` says how small fields are moved, `number` converts single numbers, `array` has what is
//! done to many elements, and `emit` the words in which all of them speak.
//!
//! Steps write different bytes, so their order is free, except that
//! - 16 bytes that are put together from several fields are stored first, since what lies between those fields, and is
//!   written by other steps, is stored with them as zeros;
//! - steps that lay down blocks keep their order.

mod array;
mod emit;
mod layout;
mod number;

use crate::target::{self, Shuffles};
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Function, InstBuilder, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use emit::Emit;
use isoform_core::Plan;
use isoform_core::plan::{Bytes, Step, Transform};
use layout::Move;
use std::sync::Arc;

/// A plan of more pieces than this is not generated: that would take long, and the interpreter has little to lose.
const PIECES: usize = 2048;
/// Bytes of machine code that one plan may have.
const CODE: usize = 1 << 16;
/// Arrays of up to so many bytes become straight code; longer ones are left to the kernels.
pub(super) const SHORT: usize = 256;
/// Beside so many bytes of arrays for each piece of generated code, nothing is gained by it.
const DOMINANT: usize = 4096;

/// What was generated.
///
/// **Invariant 1:** the code begins with a function of type [`Entry`](crate::call::Entry) that does what the steps of the
/// plan do, and refers to nothing by relocation. Only [`function`] makes one.
pub(crate) struct Generated {
    code: Vec<u8>,
    plan: Arc<Plan>,
}

impl Generated {
    pub(crate) fn into_parts(self) -> (Vec<u8>, Arc<Plan>) {
        (self.code, self.plan)
    }
}

/// Machine code for a plan.
pub(crate) fn function(plan: &Arc<Plan>) -> Option<Generated> {
    let isa = target::here()?;
    let sizes = (plan.wire().size(), plan.native().size());
    let weight = Weight::of(plan.steps());
    // What begins further into a record or element has no place in an instruction.
    if i32::try_from(weight.largest.max(sizes.0).max(sizes.1)).is_err() {
        return None;
    }
    if weight.pieces > PIECES || weight.long > DOMINANT.saturating_mul(weight.pieces.max(1)) {
        return None;
    }
    let mut context = Context::new();
    let mut shared = FunctionBuilderContext::new();
    context.func = Function::new();
    context.func.signature = emit::signature(isa.default_call_conv(), 3);
    let builder = FunctionBuilder::new(&mut context.func, &mut shared);
    let emit = Emit::new(builder, plan, Shuffles::here(), isa.default_call_conv());
    let mut generator = Generator { emit };
    generator.record(sizes);
    generator.emit.finish(isa.frontend_config());
    let compiled = context.compile(&**isa, &mut ControlPlane::default()).ok()?;
    let code = compiled.code_buffer();
    let whole = compiled.buffer.relocs().is_empty() && code.len() <= CODE;
    whole.then(|| Generated { code: code.to_vec(), plan: plan.clone() })
}

/// How much there is to generate, and to do in long loops.
#[derive(Default)]
struct Weight {
    pieces: usize,
    /// Bytes of fixed arrays that kernels work on.
    long: usize,
    /// Bytes of the largest element.
    largest: usize,
}

impl Weight {
    fn of(steps: &[Step]) -> Weight {
        let mut weight = Weight::default();
        weight.add(steps);
        weight
    }

    fn add(&mut self, steps: &[Step]) {
        for step in steps {
            if self.pieces > PIECES {
                return;
            }
            self.pieces += 1;
            match step {
                Step::Move { len, .. } => self.run(*len),
                Step::Permute { pairs, .. } => self.pieces += pairs.len(),
                Step::Elements { count, transform, .. } => self.transform(transform, *count),
                Step::Array(array) => {
                    self.largest = self.largest.max(array.src_size).max(array.dst_size);
                    self.transform(&array.transform, 1);
                }
                Step::Fill { bytes, .. } => self.run(bytes.len()),
                Step::Text { .. } | Step::Chars { .. } | Step::Str { .. } => {}
            }
        }
    }

    fn transform(&mut self, transform: &Transform, count: usize) {
        match transform {
            Transform::Copy(size) => self.run(size * count),
            Transform::Swap { width, per } => self.run(width * per * count),
            Transform::Convert { conversion, per } => match count * per {
                few if few <= number::FEW => self.pieces += 2 * few,
                many => self.run(many.saturating_mul(conversion.from.size.max(conversion.to.size).into())),
            },
            Transform::Symbols(symbols) if count <= array::FEW => self.pieces += symbols.map.len().min(array::SYMBOLS),
            Transform::Symbols(_) => self.pieces += 1,
            Transform::String => self.pieces += count.min(array::FEW) * 2,
            Transform::Each { src, dst, steps } => {
                self.largest = self.largest.max(*src).max(*dst);
                self.pieces += 2;
                self.add(steps);
            }
        }
    }

    fn run(&mut self, length: usize) {
        match length {
            ..=SHORT => self.pieces += length / 16,
            _ => self.long = self.long.saturating_add(length),
        }
    }
}

/// Where the record or element is that steps work on.
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
            Step::Array(array) if array::is_plain(array) => self.array(step, array, at),
            Step::Array(_) | Step::Text { .. } | Step::Chars { .. } | Step::Str { .. } => self.leave(step, at),
        }
    }

    /// Constant bytes.
    fn fill(&mut self, bytes: &Bytes, at: At, dst: usize) {
        match bytes {
            Bytes::Zero(length) if *length > SHORT => {
                let to = self.emit.address(at.dst, dst);
                let length = self.emit.constant(*length);
                self.emit.call(crate::call::zero as *const (), &[to, length]);
            }
            Bytes::Zero(length) => self.emit.constants(at.dst, dst, &vec![0; *length]),
            Bytes::Of(bytes) if bytes.len() > SHORT => {
                let to = self.emit.address(at.dst, dst);
                let (from, length) = (self.emit.constant(bytes.as_ptr().addr()), self.emit.constant(bytes.len()));
                self.emit.call(crate::call::copy as *const (), &[from, to, length]);
            }
            Bytes::Of(bytes) => self.emit.constants(at.dst, dst, bytes),
        }
    }

    /// Leaves a step to the interpreter, which may add blocks.
    fn leave(&mut self, step: &Step, at: &mut At) {
        let offset = self.emit.offset(at.dst);
        let step = self.emit.constant(std::ptr::from_ref(step).addr());
        let context = self.emit.context;
        let misfit = self.emit.call(crate::call::step as *const (), &[context, step, at.src, at.dst]);
        self.emit.stop_if(misfit);
        at.dst = self.emit.at_offset(offset);
    }

    /// Notes that a number did not fit if `misfit` is not 0.
    fn note(&mut self, misfit: Value) {
        let before = self.emit.builder.use_var(self.emit.misfits);
        debug_assert_eq!(self.emit.builder.func.dfg.value_type(misfit), types::I64);
        let after = self.emit.builder.ins().bor(before, misfit);
        self.emit.builder.def_var(self.emit.misfits, after);
    }
}
