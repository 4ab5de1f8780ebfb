//! The vocabulary of the generator: addresses, loads and stores, runs of bytes, calls.

use super::At;
use super::layout::{Move, Part, Window};
use super::target::Shuffles;
use crate::call::{self, Helper};
use crate::generate::{SHORT, pieces};
use cranelift_codegen::ir::{
    AbiParam, Block, ConstantData, Endianness, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, Variable};
use isoform_core::plan::Plan;
use std::mem::offset_of;

/// The signature of functions that take this many addresses or numbers, and return one.
pub(super) fn signature(convention: CallConv, parameters: usize) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend(vec![AbiParam::new(types::I64); parameters]);
    signature.returns.push(AbiParam::new(types::I64));
    signature
}

/// A function that is being generated.
pub(super) struct Emit<'a> {
    pub(super) builder: FunctionBuilder<'a>,
    pub(super) plan: &'a Plan,
    pub(super) shuffles: Shuffles,
    /// The body.
    pub(super) src: Value,
    /// The record, until the output grows.
    pub(super) dst: Value,
    context: Value,
    /// Whether the function has not used its context.
    alone: bool,
    /// Not 0 once a number has not fitted.
    pub(super) misfits: Variable,
    /// The exit of the function.
    stop: Block,
    convention: CallConv,
    signatures: [Option<SigRef>; 5],
}

impl<'a> Emit<'a> {
    pub(super) fn new(
        mut builder: FunctionBuilder<'a>,
        plan: &'a Plan,
        shuffles: Shuffles,
        convention: CallConv,
    ) -> Emit<'a> {
        let (entry, stop) = (builder.create_block(), builder.create_block());
        builder.append_block_params_for_function_params(entry);
        builder.set_cold_block(stop);
        builder.switch_to_block(entry);
        let [src, dst, context] = [0, 1, 2].map(|index| builder.block_params(entry)[index]);
        let misfits = builder.declare_var(types::I64);
        let none = builder.ins().iconst(types::I64, 0);
        builder.def_var(misfits, none);
        Emit {
            builder,
            plan,
            shuffles,
            src,
            dst,
            context,
            alone: true,
            misfits,
            stop,
            convention,
            signatures: [None; 5],
        }
    }

    pub(super) fn context(&mut self) -> Value {
        self.alone = false;
        self.context
    }

    /// Ends the function. Returns whether it needs no context.
    pub(super) fn finish(mut self, config: TargetFrontendConfig) -> bool {
        let misfits = self.builder.use_var(self.misfits);
        self.builder.ins().return_(&[misfits]);
        self.builder.switch_to_block(self.stop);
        let one = self.constant(1);
        self.builder.ins().return_(&[one]);
        self.builder.seal_all_blocks();
        self.builder.finalize(config);
        self.alone
    }

    /// Ends the function here if `misfit` is not 0.
    pub(super) fn stop_if(&mut self, misfit: Value) {
        let next = self.builder.create_block();
        self.builder.ins().brif(misfit, self.stop, [], next, []);
        self.builder.switch_to_block(next);
    }

    pub(super) fn constant(&mut self, value: usize) -> Value {
        self.builder.ins().iconst(types::I64, value as i64)
    }

    /// An address so many bytes further.
    pub(super) fn address(&mut self, base: Value, offset: usize) -> Value {
        match offset {
            0 => base,
            _ => {
                let offset = self.constant(offset);
                self.builder.ins().iadd(base, offset)
            }
        }
    }

    /// The offset of an address in the output.
    pub(super) fn offset(&mut self, address: Value) -> Value {
        let base = self.base();
        self.builder.ins().isub(address, base)
    }

    /// The address of an offset in the output.
    pub(super) fn at_offset(&mut self, offset: Value) -> Value {
        let base = self.base();
        self.builder.ins().iadd(base, offset)
    }

    fn base(&mut self) -> Value {
        let context = self.context();
        self.load(types::I64, context, offset_of!(call::Context<'_>, base))
    }

    pub(super) fn load(&mut self, of: Type, base: Value, offset: usize) -> Value {
        self.builder.ins().load(of, memory(), base, place(offset))
    }

    pub(super) fn store(&mut self, value: Value, base: Value, offset: usize) {
        self.builder.ins().store(memory(), value, base, place(offset));
    }

    /// Calls a function of [`call`] whose parameters and result are addresses and numbers of 64 bits.
    pub(super) fn call(&mut self, function: Helper, arguments: &[Value]) -> Value {
        let convention = self.convention;
        let builder = &mut self.builder;
        let signature = *self.signatures[arguments.len()]
            .get_or_insert_with(|| builder.import_signature(signature(convention, arguments.len())));
        let callee = self.constant(function.address().addr());
        let call = self.builder.ins().call_indirect(signature, callee, arguments);
        self.builder.inst_results(call)[0]
    }

    /// Copies a run of bytes.
    pub(super) fn run(&mut self, at: At, (src, dst): (usize, usize), length: usize) {
        if length > SHORT {
            let (from, to) = (self.address(at.src, src), self.address(at.dst, dst));
            let length = self.constant(length);
            self.call(Helper::Copy, &[from, to, length]);
            return;
        }
        let widest = if self.shuffles == Shuffles::None { 8 } else { 16 };
        for (offset, width) in pieces(length, widest) {
            let value = self.load(of_width(width), at.src, src + offset);
            self.store(value, at.dst, dst + offset);
        }
    }

    /// Stores constant bytes.
    pub(super) fn constants(&mut self, dst: Value, offset: usize, bytes: &[u8]) {
        for (from, width) in pieces(bytes.len(), 8) {
            let mut number = [0; 8];
            let part = &bytes[from..][..width];
            if cfg!(target_endian = "little") {
                number[..width].copy_from_slice(part);
            } else {
                number[8 - width..].copy_from_slice(part);
            }
            let number = self.builder.ins().iconst(of_width(width), constant_of(width, u64::from_ne_bytes(number)));
            self.store(number, dst, offset + from);
        }
    }

    /// Moves small fields.
    pub(super) fn part(&mut self, part: &Part, at: At) {
        match part {
            Part::Single(one) => self.single(one, at),
            Part::Block { dst, windows } => {
                let mut block = None;
                for Window { src, control } in windows {
                    let bytes = self.load(types::I8X16, at.src, *src);
                    let control = ConstantData::from(&control[..]);
                    let control = self.builder.func.dfg.constants.insert(control);
                    let control = self.builder.ins().vconst(types::I8X16, control);
                    let bytes = self.shuffled(bytes, control);
                    block = Some(match block {
                        Some(before) => self.builder.ins().bor(before, bytes),
                        None => bytes,
                    });
                }
                if let Some(block) = block {
                    self.store(block, at.dst, *dst);
                }
            }
        }
    }

    /// The bytes of a vector, at other places in it.
    pub(super) fn shuffled(&mut self, bytes: Value, control: Value) -> Value {
        match self.shuffles {
            Shuffles::Pshufb => self.builder.ins().x86_pshufb(bytes, control),
            _ => self.builder.ins().swizzle(bytes, control),
        }
    }

    /// Moves one field.
    pub(super) fn single(&mut self, one: &Move, at: At) {
        let Move { src, dst, length, reversed } = *one;
        match (length, reversed) {
            (1, _) | (_, false) => self.run(at, (src, dst), length),
            (2 | 4 | 8, true) => {
                let value = self.load(of_width(length), at.src, src);
                let value = self.builder.ins().bswap(value);
                self.store(value, at.dst, dst);
            }
            (16, true) => {
                self.single(&Move { src, dst: dst + 8, length: 8, reversed }, at);
                self.single(&Move { src: src + 8, dst, length: 8, reversed }, at);
            }
            _ => {
                let (from, to) = (self.address(at.src, src), self.address(at.dst, dst));
                self.swap(from, to, length, length);
            }
        }
    }

    /// Reverses the numbers of an array.
    pub(super) fn swap(&mut self, from: Value, to: Value, length: usize, width: usize) {
        let length = self.constant(length);
        self.swap_many(from, to, length, width);
    }

    /// Reverses the numbers of an array that has so many bytes.
    pub(super) fn swap_many(&mut self, from: Value, to: Value, length: Value, width: usize) {
        let width = self.constant(width);
        self.call(Helper::Swap, &[from, to, length, width]);
    }
}

/// Memory accesses that may be unaligned and never trap.
fn memory() -> MemFlagsData {
    let endianness = if cfg!(target_endian = "big") { Endianness::Big } else { Endianness::Little };
    MemFlagsData::new().with_notrap().with_endianness(endianness)
}

fn place(offset: usize) -> i32 {
    i32::try_from(offset).expect("code is generated for records and elements of less than 2 GiB")
}

/// The type of this many bytes.
pub(super) fn of_width(width: usize) -> Type {
    match width {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        8 => types::I64,
        _ => types::I8X16,
    }
}

/// A constant as Cranelift wants it for a type of this many bytes.
fn constant_of(width: usize, bits: u64) -> i64 {
    let unused = 64 - 8 * width as u32;
    ((bits << unused) as i64) >> unused
}
