//! Converts single numbers: integers of up to 8 bytes and the two common floats. The code notes each number that does
//! not fit the plan, and each for which that is *unsure*. The interpreter then decides.

use super::emit::of_width;
use super::{At, Generator};
use crate::call::Helper;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use isoform_core::Faults;
use isoform_core::plan::{Conversion, Symbols};
use isoform_kernels::{Lane, Number, NumberClass};

/// Up to this many numbers in a row become straight code.
pub(super) const FEW: usize = 4;

/// Half way between the largest `f32` and the number that would follow. From here on, doubles become infinite.
pub(super) const TOO_LARGE: f64 = f32::MAX as f64 + (1u128 << 103) as f64;
/// The smallest `f32` with all its digits. If the program has set flush-to-zero, smaller doubles may wrongly become
/// zero.
pub(super) const TOO_SMALL: f64 = f32::MIN_POSITIVE as f64;

impl Generator<'_> {
    /// Numbers in a row.
    pub(super) fn convert(&mut self, conversion: &Conversion, count: usize, (src, dst): (usize, usize), at: At) {
        if count <= FEW && is_single(conversion) {
            let (from, to) = (usize::from(conversion.from.size), usize::from(conversion.to.size));
            (0..count).for_each(|i| self.convert_one(conversion, (src + i * from, dst + i * to), at));
            return;
        }
        if self.convert_by_vectors(conversion, count, (src, dst), at) {
            return;
        }
        let (from, to) = (self.emit.address(at.src, src), self.emit.address(at.dst, dst));
        let count = self.emit.constant(count);
        self.convert_many(conversion, from, to, count);
    }

    /// Converts `count` numbers.
    pub(super) fn convert_many(&mut self, conversion: &Conversion, from: Value, to: Value, count: Value) {
        let conversion = self.emit.constant(std::ptr::from_ref(conversion).addr());
        let misfit = self.emit.call(Helper::Numbers, &[from, to, count, conversion]);
        self.note(misfit);
    }

    fn convert_one(&mut self, conversion: &Conversion, (src, dst): (usize, usize), at: At) {
        let Conversion { from, to, .. } = *conversion;
        if from.is_float() {
            let value = self.load_float(from, at, src);
            match to.is_float() {
                true => self.float_to_float(conversion, value, at, dst),
                false => self.float_to_integer(to, value, at, dst),
            }
        } else {
            let value = self.load_integer(from, at, src);
            match to.is_float() {
                true => self.integer_to_float(conversion, value, at, dst),
                false => self.integer_to_integer(conversion, value, at, dst),
            }
        }
    }

    /// Loads an integer of up to 8 bytes, and extends it to 8.
    fn load_integer(&mut self, number: Number, at: At, src: usize) -> Value {
        let size = usize::from(number.size);
        let mut value = self.emit.load(of_width(size), at.src, src);
        if number.is_swapped() {
            value = self.emit.builder.ins().bswap(value);
        }
        match (size, number.class) {
            (8, _) => value,
            (_, NumberClass::Signed) => self.emit.builder.ins().sextend(types::I64, value),
            _ => self.emit.builder.ins().uextend(types::I64, value),
        }
    }

    /// Stores the low bytes of an integer of 8.
    fn store_integer(&mut self, number: Number, mut value: Value, at: At, dst: usize) {
        let size = usize::from(number.size);
        if size < 8 {
            value = self.emit.builder.ins().ireduce(of_width(size), value);
        }
        if number.is_swapped() {
            value = self.emit.builder.ins().bswap(value);
        }
        self.emit.store(value, at.dst, dst);
    }

    fn load_float(&mut self, number: Number, at: At, src: usize) -> Value {
        let (integer, float) = if number.size == 4 { (types::I32, types::F32) } else { (types::I64, types::F64) };
        if !number.is_swapped() {
            return self.emit.load(float, at.src, src);
        }
        let bits = self.emit.load(integer, at.src, src);
        let bits = self.emit.builder.ins().bswap(bits);
        self.emit.builder.ins().bitcast(float, MemFlagsData::new(), bits)
    }

    fn store_float(&mut self, number: Number, value: Value, at: At, dst: usize) {
        let integer = if number.size == 4 { types::I32 } else { types::I64 };
        let mut value = value;
        if number.is_swapped() {
            value = self.emit.builder.ins().bitcast(integer, MemFlagsData::new(), value);
            value = self.emit.builder.ins().bswap(value);
        }
        self.emit.store(value, at.dst, dst);
    }

    fn float_to_float(&mut self, conversion: &Conversion, value: Value, at: At, dst: usize) {
        let Conversion { from, to, faults } = *conversion;
        let result = match (from.size, to.size) {
            (4, 8) => self.emit.builder.ins().fpromote(types::F64, value),
            (8, 4) => {
                self.note_narrowed(value, faults);
                self.emit.builder.ins().fdemote(types::F32, value)
            }
            _ => value,
        };
        self.store_float(to, result, at, dst);
    }

    /// Notes a double that would be a tiny float or, if that is an error, an infinite one.
    fn note_narrowed(&mut self, value: Value, faults: Faults) {
        let ins = &mut self.emit.builder;
        let magnitude = ins.ins().fabs(value);
        let [large, small, zero] = [TOO_LARGE, TOO_SMALL, 0.0].map(|limit| ins.ins().f64const(limit));
        let small = ins.ins().fcmp(FloatCC::LessThan, magnitude, small);
        let other = ins.ins().fcmp(FloatCC::NotEqual, magnitude, zero);
        let mut unsure = ins.ins().band(small, other);
        if faults == Faults::Error {
            let large = ins.ins().fcmp(FloatCC::GreaterThanOrEqual, magnitude, large);
            unsure = ins.ins().bor(large, unsure);
        }
        self.note_truth(unsure);
    }

    /// Used only if a number that does not fit is an error.
    fn float_to_integer(&mut self, to: Number, value: Value, at: At, dst: usize) {
        let ins = &mut self.emit.builder;
        let value = match ins.func.dfg.value_type(value) {
            types::F32 => ins.ins().fpromote(types::F64, value),
            _ => value,
        };
        let signed = to.class == NumberClass::Signed;
        // From this power of two on, no number fits an integer of 8 bytes.
        let (whole, back, beyond) = if signed {
            let whole = ins.ins().fcvt_to_sint_sat(types::I64, value);
            (whole, ins.ins().fcvt_from_sint(types::F64, whole), 2f64.powi(63))
        } else {
            let whole = ins.ins().fcvt_to_uint_sat(types::I64, value);
            (whole, ins.ins().fcvt_from_uint(types::F64, whole), 2f64.powi(64))
        };
        let beyond = ins.ins().f64const(beyond);
        // Both comparisons are false for NaN.
        let same = ins.ins().fcmp(FloatCC::Equal, value, back);
        let inside = ins.ins().fcmp(FloatCC::LessThan, value, beyond);
        let fits = ins.ins().band(same, inside);
        let misfit = ins.ins().bxor_imm_u(fits, 1);
        self.note_truth(misfit);
        self.note_outside(signed, 8, to, whole);
        self.store_integer(to, whole, at, dst);
    }

    fn integer_to_float(&mut self, conversion: &Conversion, value: Value, at: At, dst: usize) {
        let Conversion { from, to, faults } = *conversion;
        let signed = from.class == NumberClass::Signed;
        let digits = if to.size == 4 { f32::MANTISSA_DIGITS } else { f64::MANTISSA_DIGITS };
        let ins = &mut self.emit.builder;
        if faults == Faults::Error && !conversion.is_exact() {
            // Up to this power of two, a float holds every integer.
            let limit = 1i64 << digits;
            let (shifted, most) = match signed {
                true => (ins.ins().iadd_imm_s(value, limit), 2 * limit),
                false => (value, limit),
            };
            let unsure = ins.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, shifted, most);
            self.note_truth(unsure);
        }
        let float = if to.size == 4 { types::F32 } else { types::F64 };
        let ins = &mut self.emit.builder;
        let result = match signed {
            true => ins.ins().fcvt_from_sint(float, value),
            false => ins.ins().fcvt_from_uint(float, value),
        };
        self.store_float(to, result, at, dst);
    }

    fn integer_to_integer(&mut self, conversion: &Conversion, mut value: Value, at: At, dst: usize) {
        let Conversion { from, to, faults } = *conversion;
        let signed = from.class == NumberClass::Signed;
        if !conversion.is_exact() {
            match faults {
                Faults::Error => self.note_outside(signed, from.size, to, value),
                _ if to.class == NumberClass::Boolean => {
                    let truth = self.emit.builder.ins().icmp_imm_s(IntCC::NotEqual, value, 0);
                    value = self.emit.builder.ins().uextend(types::I64, truth);
                }
                Faults::Saturate => value = self.clamp(signed, to, value),
                Faults::Wrap => {}
            }
        }
        self.store_integer(to, value, at, dst);
    }

    /// Notes an integer that type `to` does not hold. `size` is its size in the source.
    fn note_outside(&mut self, signed: bool, size: u8, to: Number, value: Value) {
        let ins = &mut self.emit.builder;
        let narrow = of_width(to.size.into());
        let misfit = match (signed, to.class) {
            (_, NumberClass::Boolean) => ins.ins().band_imm_s(value, !1),
            (true, NumberClass::Signed) if to.size < size => {
                let low = ins.ins().ireduce(narrow, value);
                let again = ins.ins().sextend(types::I64, low);
                ins.ins().bxor(again, value)
            }
            (true, NumberClass::Signed) => return,
            (true, _) if to.size == 8 => ins.ins().ushr_imm_u(value, 63),
            (_, NumberClass::Signed) if to.size > size => return,
            (_, NumberClass::Signed) => ins.ins().ushr_imm_u(value, i64::from(to.size) * 8 - 1),
            (false, _) if to.size >= size => return,
            _ => {
                let low = ins.ins().ireduce(narrow, value);
                let again = ins.ins().uextend(types::I64, low);
                ins.ins().bxor(again, value)
            }
        };
        self.note(misfit);
    }

    /// The nearest integer that type `to` holds.
    fn clamp(&mut self, signed: bool, to: Number, value: Value) -> Value {
        let bits = u32::from(to.size) * 8;
        let (low, high) = match to.class {
            NumberClass::Signed => (i64::MIN >> (64 - bits), u64::MAX >> (65 - bits)),
            _ => (0, u64::MAX >> (64 - bits)),
        };
        let ins = &mut self.emit.builder;
        if !signed {
            let high = ins.ins().iconst(types::I64, high as i64);
            return ins.ins().umin(value, high);
        }
        let low = ins.ins().iconst(types::I64, low);
        let high = ins.ins().iconst(types::I64, high.min(i64::MAX as u64) as i64);
        let value = ins.ins().smax(value, low);
        ins.ins().smin(value, high)
    }

    /// An enumeration: each number that has a symbol is compared.
    pub(super) fn symbol(&mut self, symbols: &Symbols, (src, dst): (usize, usize), at: At) {
        let value = self.load_integer(symbols.from, at, src);
        let ins = &mut self.emit.builder;
        let mut result = ins.ins().iconst(types::I64, 0);
        let mut known = ins.ins().iconst(types::I8, 0);
        for (from, _, to) in &symbols.map {
            let Some(to) = to else { continue };
            let to = ins.ins().iconst(types::I64, *to as i64);
            let here = ins.ins().icmp_imm_s(IntCC::Equal, value, *from as i64);
            result = ins.ins().select(here, to, result);
            known = ins.ins().bor(known, here);
        }
        let unknown = ins.ins().bxor_imm_u(known, 1);
        self.note_truth(unknown);
        self.store_integer(symbols.to, result, at, dst);
    }

    pub(super) fn note_truth(&mut self, misfit: Value) {
        let misfit = self.emit.builder.ins().uextend(types::I64, misfit);
        self.note(misfit);
    }
}

/// Whether code is generated for single numbers; others are left to the kernels and the interpreter.
fn is_single(conversion: &Conversion) -> bool {
    let Conversion { from, to, faults } = *conversion;
    match (from.lane(), to.lane()) {
        (None, _) | (_, None) => false,
        (Some(Lane::Float), Some(Lane::Float)) => {
            (from.size, to.size) != (8, 4) || matches!(faults, Faults::Error | Faults::Wrap)
        }
        (Some(Lane::Float), _) => faults == Faults::Error,
        _ => true,
    }
}
