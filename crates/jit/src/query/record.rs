//! The functions of parts: conditions, and results, which are flat records whose fields are stored one by one.

use super::emit::{self, Emit};
use super::one::One;
use super::place::Count;
use super::{Expr, Made, Part, Step, Type};
use crate::call;
use cranelift_codegen::Context;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilderContext;
use isoform_core::{ByteOrder, Element, Field, FloatKind, Format};

/// Up to this many numbers are moved by instructions of their own.
const FEW: usize = 8;
/// An expression of more pieces takes too long to generate.
const PIECES: usize = 256;

/// Makes the functions of parts.
pub(super) struct Maker<'f> {
    format: &'f Format,
    context: Context,
    shared: FunctionBuilderContext,
}

impl<'f> Maker<'f> {
    /// `None` if there is no generator for this machine.
    pub(super) fn new(format: &'f Format) -> Option<Maker<'f>> {
        crate::portable::target::here()?;
        Some(Maker { format, context: Context::new(), shared: FunctionBuilderContext::new() })
    }

    /// The machine code of a part, if there is code for all of it.
    pub(super) fn function(&mut self, part: &'f Part) -> Option<Vec<u8>> {
        let Maker { format, context, shared } = self;
        let pieces = match part {
            Part::Condition(expr) => pieces(expr),
            Part::Record(_, fields) => fields.iter().map(|(_, made)| made.pieces()).sum(),
        };
        if pieces > PIECES {
            return None;
        }
        emit::function(context, shared, format, |emit| match part {
            Part::Condition(expr) => {
                let one = emit.one(expr)?;
                let truth = emit.truth(one)?;
                Some(emit.builder.ins().uextend(types::I64, truth))
            }
            Part::Record(result, fields) => {
                if result.structure().has_slots() {
                    return None;
                }
                for (name, made) in fields {
                    let field = result.structure().field(name)?;
                    emit.made(made, field, result.machine().order)?;
                }
                Some(emit.constant(1))
            }
        })
    }
}

impl Made {
    fn pieces(&self) -> usize {
        match self {
            Made::Taken(_) => 1,
            Made::Computed(expr) => pieces(expr),
        }
    }
}

/// The size of an expression.
fn pieces(expr: &Expr) -> usize {
    1 + match expr {
        Expr::Function(_, inner, _) | Expr::Reduce(_, inner, _) => pieces(inner),
        Expr::Binary(_, a, b, _) | Expr::Guard(_, a, b) => pieces(a) + pieces(b),
        Expr::In(inner, choices) => pieces(inner) + choices.iter().map(pieces).sum::<usize>(),
        Expr::Choice(parts, _) => parts.iter().map(pieces).sum(),
        _ => 0,
    }
}

impl<'f> Emit<'_, 'f> {
    fn made(&mut self, made: &'f Made, field: &Field, order: ByteOrder) -> Option<()> {
        match made {
            Made::Taken(steps) => self.taken(steps, field, order),
            Made::Computed(expr) => self.computed(expr, field, order),
        }
    }

    /// A value as it is in the record.
    fn taken(&mut self, steps: &[Step], field: &Field, order: ByteOrder) -> Option<()> {
        let found = self.find(steps)?;
        if *found.element != field.element {
            return None;
        }
        // The interpreter makes quiet numbers of other ones.
        let (size, is_single) = match found.element {
            Element::Integer { size: size @ (1 | 2 | 4 | 8), .. } | Element::Boolean { size } => {
                (usize::from(*size), false)
            }
            Element::Float { kind: FloatKind::Ieee, size: 8 } => (8, false),
            Element::Float { kind: FloatKind::Ieee, size: 4 } => (4, true),
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
        if count > FEW && stride == size && !is_single {
            let (src, dst) = (self.address(place.base, place.offset)?, self.address(self.out, field.offset)?);
            let length = self.constant(i64::try_from(count * size).ok()?);
            match from == order || size == 1 {
                true => self.call(call::copy as *const (), &[src, dst, length]),
                false => {
                    let width = self.constant(size as i64);
                    self.call(call::swap as *const (), &[src, dst, length, width])
                }
            };
            return Some(());
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
