//! The common instructions of generated code.

use crate::portable::target;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, Endianness, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use isoform_core::{ByteOrder, Format};

/// What a function returns if it is unsure. Otherwise it returns 0 or 1.
const UNSURE: i64 = 2;

/// A function that is being generated.
pub(super) struct Emit<'b, 'f> {
    pub(super) builder: FunctionBuilder<'b>,
    pub(super) format: &'f Format,
    pub(super) record: Value,
    pub(super) body: Value,
    /// The number and the time of the record.
    pub(super) event: Value,
    pub(super) out: Value,
    unsure: Block,
    filtered: Block,
    convention: CallConv,
    signatures: [Option<SigRef>; 5],
}

fn signature(convention: CallConv, parameters: usize) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend(vec![AbiParam::new(types::I64); parameters]);
    signature.returns.push(AbiParam::new(types::I64));
    signature
}

/// The machine code of a function that returns what `generate` gives, which is 0 or 1. `None` if `generate` has no code for
/// something, or the code would not be whole.
pub(super) fn function<'f>(
    format: &'f Format,
    generate: impl FnOnce(&mut Emit<'_, 'f>) -> Option<Value>,
) -> Option<Vec<u8>> {
    let isa = target::here()?;
    let convention = isa.default_call_conv();
    let (mut context, mut shared) = (Context::new(), FunctionBuilderContext::new());
    context.func.signature = signature(convention, 4);
    let mut builder = FunctionBuilder::new(&mut context.func, &mut shared);
    let [entry, unsure, filtered] = [(); 3].map(|()| builder.create_block());
    builder.append_block_params_for_function_params(entry);
    builder.set_cold_block(unsure);
    builder.switch_to_block(entry);
    let [record, body, event, out] = [0, 1, 2, 3].map(|index| builder.block_params(entry)[index]);
    let mut emit =
        Emit { builder, format, record, body, event, out, unsure, filtered, convention, signatures: [None; 5] };
    let answer = generate(&mut emit)?;
    emit.builder.ins().return_(&[answer]);
    for (block, answer) in [(unsure, UNSURE), (filtered, 0)] {
        emit.builder.switch_to_block(block);
        let answer = emit.constant(answer);
        emit.builder.ins().return_(&[answer]);
    }
    emit.builder.seal_all_blocks();
    emit.builder.finalize(isa.frontend_config());
    let compiled = context.compile(&**isa, &mut ControlPlane::default()).ok()?;
    compiled.buffer.relocs().is_empty().then(|| compiled.code_buffer().to_vec())
}

impl Emit<'_, '_> {
    pub(super) fn constant(&mut self, value: i64) -> Value {
        self.builder.ins().iconst(types::I64, value)
    }

    /// Leaves the record to the interpreter if this is not 0.
    pub(super) fn unsure_if(&mut self, condition: Value) {
        let next = self.builder.create_block();
        self.builder.ins().brif(condition, self.unsure, [], next, []);
        self.builder.switch_to_block(next);
    }

    /// The record does not pass if this is not 0.
    pub(super) fn filtered_if(&mut self, condition: Value) {
        let next = self.builder.create_block();
        self.builder.ins().brif(condition, self.filtered, [], next, []);
        self.builder.switch_to_block(next);
    }

    /// Leaves the record to the interpreter if a number is negative.
    pub(super) fn unsure_if_negative(&mut self, number: Value) {
        let negative = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, number, 0);
        self.unsure_if(negative);
    }

    /// Calls a function of [`call`](super::call) whose parameters and result are addresses and numbers of 64 bits.
    pub(super) fn call(&mut self, function: *const (), arguments: &[Value]) -> Value {
        let convention = self.convention;
        let builder = &mut self.builder;
        let signature = *self.signatures[arguments.len()]
            .get_or_insert_with(|| builder.import_signature(signature(convention, arguments.len())));
        let callee = self.constant(function.addr() as i64);
        let call = self.builder.ins().call_indirect(signature, callee, arguments);
        self.builder.inst_results(call)[0]
    }

    /// The address that lies `offset` bytes behind another.
    pub(super) fn address(&mut self, base: Value, offset: usize) -> Option<Value> {
        match offset {
            0 => Some(base),
            _ => Some(self.builder.ins().iadd_imm_s(base, i64::from(i32::try_from(offset).ok()?))),
        }
    }

    /// Loads an integer of up to 8 bytes, which are in this order.
    pub(super) fn load(&mut self, base: Value, offset: usize, size: usize, order: ByteOrder) -> Option<Value> {
        let value = self.builder.ins().load(of_width(size)?, memory(), base, i32::try_from(offset).ok()?);
        Some(if is_swapped(order) && size > 1 { self.builder.ins().bswap(value) } else { value })
    }

    /// Loads an integer of up to 8 bytes, which are in this order, and extends it to 8 bytes.
    pub(super) fn load_wide(
        &mut self,
        base: Value,
        offset: usize,
        size: usize,
        order: ByteOrder,
        signed: bool,
    ) -> Option<Value> {
        let value = self.load(base, offset, size, order)?;
        Some(match (size, signed) {
            (8, _) => value,
            (_, true) => self.builder.ins().sextend(types::I64, value),
            (_, false) => self.builder.ins().uextend(types::I64, value),
        })
    }

    /// Stores an integer in this order.
    pub(super) fn store(&mut self, mut value: Value, base: Value, offset: usize, order: ByteOrder) -> Option<()> {
        if is_swapped(order) && self.builder.func.dfg.value_type(value) != types::I8 {
            value = self.builder.ins().bswap(value);
        }
        self.builder.ins().store(memory(), value, base, i32::try_from(offset).ok()?);
        Some(())
    }

    pub(super) fn bits(&mut self, float: Value) -> Value {
        self.builder.ins().bitcast(types::I64, MemFlagsData::new(), float)
    }

    pub(super) fn float(&mut self, bits: Value) -> Value {
        self.builder.ins().bitcast(types::F64, MemFlagsData::new(), bits)
    }

    pub(super) fn single(&mut self, bits: Value) -> Value {
        self.builder.ins().bitcast(types::F32, MemFlagsData::new(), bits)
    }

    /// A loop over the numbers below a count. Values that its body changes have to be variables.
    pub(super) fn each(&mut self, count: Value, body: impl FnOnce(&mut Self, Value) -> Option<()>) -> Option<()> {
        let index: Variable = self.builder.declare_var(types::I64);
        let [head, inside, after] = [(); 3].map(|()| self.builder.create_block());
        let zero = self.constant(0);
        self.builder.def_var(index, zero);
        self.builder.ins().jump(head, []);
        self.builder.switch_to_block(head);
        let at = self.builder.use_var(index);
        let more = self.builder.ins().icmp(IntCC::UnsignedLessThan, at, count);
        self.builder.ins().brif(more, inside, [], after, []);
        self.builder.switch_to_block(inside);
        body(self, at)?;
        let next = self.builder.ins().iadd_imm_s(at, 1);
        self.builder.def_var(index, next);
        self.builder.ins().jump(head, []);
        self.builder.switch_to_block(after);
        Some(())
    }
}

pub(super) fn is_swapped(order: ByteOrder) -> bool {
    (order == ByteOrder::Big) != cfg!(target_endian = "big")
}

/// Memory accesses that may be unaligned and never trap.
pub(super) fn memory() -> MemFlagsData {
    let endianness = if cfg!(target_endian = "big") { Endianness::Big } else { Endianness::Little };
    MemFlagsData::new().with_notrap().with_endianness(endianness)
}

pub(super) fn of_width(width: usize) -> Option<Type> {
    Some(match width {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        8 => types::I64,
        _ => return None,
    })
}
