//! The functions of parts: conditions, and results, which are flat records whose fields are stored one by one.

use super::emit::{self, Emit};
use super::one::One;
use super::place::Count;
use super::{Expr, Made, Outcome, Part, Step, Type};
use crate::call::Helper;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use isoform_core::{ByteOrder, Element, Field, FloatKind, Format, Machine};

/// Up to this many numbers are moved by instructions of their own.
const FEW: usize = 8;

/// The machine code of a part, if there is code for all of it.
pub(super) fn function(format: &Format, part: &Part) -> Option<Vec<u8>> {
    let Part { every, conditions, result } = part;
    part.pieces()?;
    let code = emit::function(format, |emit| {
        if *every > 1 {
            let place = emit.builder.ins().load(types::I64, emit::memory(), emit.event, 16);
            let every = emit.constant(*every as i64);
            let rest = emit.builder.ins().urem(place, every);
            emit.filtered_if(rest);
        }
        for (at, condition) in conditions.iter().enumerate() {
            let one = emit.one(condition)?;
            let truth = emit.truth(one)?;
            if result.is_none() && at + 1 == conditions.len() {
                return Some(emit.builder.ins().uextend(types::I64, truth));
            }
            let untrue = emit.builder.ins().bxor_imm_u(truth, 1);
            emit.filtered_if(untrue);
        }
        if let Some(outcome) = result {
            emit.outcome(outcome)?;
        }
        Some(emit.constant(1))
    })?;
    (code.len() <= crate::generate::CODE).then_some(code)
}

impl<'f> Emit<'_, 'f> {
    /// A record of results. All its bytes are written, since the output may hold an earlier one.
    fn outcome(&mut self, outcome: &'f Outcome) -> Option<()> {
        let Outcome { format: result, fields } = outcome;
        let machine = result.machine();
        let mut ends = 0;
        for field in result.structure().fields() {
            self.zeros(ends, field.offset)?;
            ends = field.offset + field.extent(machine.pointer)?;
            let (_, made) = fields.iter().find(|(name, _)| *name == field.name)?;
            self.made(made, field, machine)?;
        }
        self.zeros(ends, result.size())
    }

    /// Zeros between fields.
    fn zeros(&mut self, mut from: usize, to: usize) -> Option<()> {
        while from < to {
            let size = 1 << (to - from).ilog2().min(3);
            let zero = self.builder.ins().iconst(emit::of_width(size)?, 0);
            self.store(zero, self.out, from, ByteOrder::Little)?;
            from += size;
        }
        Some(())
    }

    fn made(&mut self, made: &'f Made, field: &Field, machine: Machine) -> Option<()> {
        match made {
            Made::Taken(steps) => self.taken(steps, field, machine),
            Made::Computed(expr) => self.computed(expr, field, machine.order),
        }
    }

    /// A value as it is in the record.
    fn taken(&mut self, steps: &[Step], field: &Field, machine: Machine) -> Option<()> {
        let found = self.find(steps)?;
        if *found.element != field.element {
            return None;
        }
        let (is_like, order) = (self.format.machine() == machine, machine.order);
        let (size, is_single) = match found.element {
            Element::Integer { size: size @ (1 | 2 | 4 | 8), .. } | Element::Boolean { size } => {
                (usize::from(*size), false)
            }
            Element::Float { kind: FloatKind::Ieee, size: 8 } => (8, false),
            // For another machine, the interpreter makes quiet numbers of other ones.
            Element::Float { kind: FloatKind::Ieee, size: 4 } => (4, !is_like),
            Element::Structure(inner) if is_like && !inner.has_slots() && !inner.has_gaps() => (inner.size(), false),
            Element::Char => (1, false),
            Element::Enumeration(enumeration) => (usize::from(enumeration.size()), false),
            _ => return None,
        };
        let from = self.format.machine().order;
        let (count, stride) = match found.many {
            None => (1, size),
            Some((Count::Fixed(count), stride)) => (count, stride),
            Some((Count::Counted(_), _)) => return None,
        };
        if field.fixed_count()? != count {
            return None;
        }
        let place = found.place;
        if (count > FEW || size > 8) && stride == size && !is_single {
            let (src, dst) = (self.address(place.base, place.offset)?, self.address(self.out, field.offset)?);
            let length = self.constant(i64::try_from(count * size).ok()?);
            match from == order || size == 1 {
                true => self.call(Helper::Copy.address(), &[src, dst, length]),
                false => {
                    let width = self.constant(size as i64);
                    self.call(Helper::Swap.address(), &[src, dst, length, width])
                }
            };
            return Some(());
        }
        if size > 8 {
            return None;
        }
        if count > FEW {
            let (src, dst) = (self.address(place.base, place.offset)?, self.address(self.out, field.offset)?);
            let count = self.constant(i64::try_from(count).ok()?);
            return self.each(count, |emit, index| {
                let from_offset = emit.builder.ins().imul_imm_s(index, i64::try_from(stride).ok()?);
                let to_offset = emit.builder.ins().imul_imm_s(index, size as i64);
                let (src, dst) = (emit.builder.ins().iadd(src, from_offset), emit.builder.ins().iadd(dst, to_offset));
                emit.moved((src, 0, from), (dst, 0, order), size, is_single)
            });
        }
        for index in 0..count {
            let src = (place.base, place.offset.checked_add(index.checked_mul(stride)?)?, from);
            self.moved(src, (self.out, field.offset + index * size, order), size, is_single)?;
        }
        Some(())
    }

    fn moved(
        &mut self,
        (src, src_offset, from): (Value, usize, ByteOrder),
        (dst, dst_offset, to): (Value, usize, ByteOrder),
        size: usize,
        is_single: bool,
    ) -> Option<()> {
        let value = self.load(src, src_offset, size, from)?;
        if is_single {
            let single = self.single(value);
            let none = self.builder.ins().fcmp(FloatCC::Unordered, single, single);
            self.unsure_if(none);
        }
        self.store(value, dst, dst_offset, to)
    }

    fn computed(&mut self, expr: &'f Expr, field: &Field, order: ByteOrder) -> Option<()> {
        let of = match &field.element {
            Element::Integer { signed: true, size: 8 } => Type::Integer,
            Element::Integer { signed: false, size: 8 } => Type::Unsigned,
            Element::Float { kind: FloatKind::Ieee, size: 8 } => Type::Float,
            Element::Boolean { size: 1 } => Type::Truth,
            _ => return None,
        };
        if !self.is_array(expr) {
            let one = self.one(expr)?;
            let value = self.as_stored(one, of)?;
            return field.dims.is_empty().then(|| self.store(value, self.out, field.offset, order))?;
        }
        let (many, count) = self.many(expr)?;
        if !matches!(count, Count::Fixed(count) if field.fixed_count() == Some(count)) {
            return None;
        }
        let (count, start) = (self.count(count)?, self.address(self.out, field.offset)?);
        self.each(count, |emit, index| {
            let one = emit.at(&many, index)?;
            let value = emit.as_stored(one, of)?;
            let offset = emit.builder.ins().imul_imm_s(index, if of == Type::Truth { 1 } else { 8 });
            let dst = emit.builder.ins().iadd(start, offset);
            emit.store(value, dst, 0, order)
        })
    }

    /// The bits of a value. Every NaN gets the same bits.
    fn as_stored(&mut self, one: One<'f>, of: Type) -> Option<Value> {
        if of != Type::Float {
            return self.as_of(one, of);
        }
        let value = self.as_float(one)?;
        let bits = self.bits(value);
        let none = self.builder.ins().fcmp(FloatCC::Unordered, value, value);
        let usual = self.constant(f64::NAN.to_bits() as i64);
        Some(self.builder.ins().select(none, usual, bits))
    }
}
