//! Arrays. They are not stored: the loop that reduces them or stores the result computes one element after another.

use super::emit::{Emit, is_swapped, memory};
use super::one::One;
use super::place::{Count, Place};
use super::{Expr, Function, Operator, Reduction, Step, Type, call};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, Value, types};
use isoform_core::{Dimension, Element, FloatKind, Structure};

/// How an element is computed. Single values are computed already.
pub(super) enum Many<'f> {
    Leaf { element: &'f Element, start: Value, stride: usize },
    Splat(One<'f>),
    Function(Function, Box<Many<'f>>, Type),
    Binary(Operator, Box<Many<'f>>, Box<Many<'f>>, Option<Type>),
    In(Box<Many<'f>>, Vec<One<'f>>),
}

/// The number of partial sums, as the specification says.
const LANES: usize = 8;

impl<'f> Emit<'_, 'f> {
    /// Whether an expression is an array.
    pub(super) fn is_array(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Path(steps) => is_array(self.format.structure(), steps).unwrap_or(false),
            Expr::Function(_, inner, _) | Expr::In(inner, _) => self.is_array(inner),
            Expr::Binary(_, a, b, _) => self.is_array(a) || self.is_array(b),
            Expr::Choice(parts, _) => self.is_array(&parts[1]),
            _ => false,
        }
    }

    /// An array and its number of elements. `None` if there is no code for it.
    pub(super) fn many(&mut self, expr: &'f Expr) -> Option<(Many<'f>, Count)> {
        let (many, count) = self.either(expr)?;
        Some((many, count?))
    }

    fn either(&mut self, expr: &'f Expr) -> Option<(Many<'f>, Option<Count>)> {
        if !self.is_array(expr) {
            return Some((Many::Splat(self.one(expr)?), None));
        }
        Some(match expr {
            Expr::Path(steps) => {
                let found = self.find(steps)?;
                let (count, stride) = found.many?;
                let start = self.address(found.place.base, found.place.offset)?;
                (Many::Leaf { element: found.element, start, stride }, Some(count))
            }
            Expr::Function(function, inner, of) => {
                let (inner, count) = self.either(inner)?;
                (Many::Function(*function, Box::new(inner), *of), count)
            }
            Expr::Binary(operator, a, b, of) => {
                let ((a, m), (b, n)) = (self.either(a)?, self.either(b)?);
                let count = match (m, n) {
                    (Some(Count::Fixed(m)), Some(Count::Fixed(n))) if m != n => return None,
                    (Some(Count::Fixed(m)), Some(Count::Fixed(_))) => Some(Count::Fixed(m)),
                    (Some(m), Some(n)) => {
                        let (m, n) = (self.count(m)?, self.count(n)?);
                        let differ = self.builder.ins().icmp(IntCC::NotEqual, m, n);
                        self.unsure_if(differ);
                        Some(Count::Counted(m))
                    }
                    (m, n) => m.or(n),
                };
                (Many::Binary(*operator, Box::new(a), Box::new(b), *of), count)
            }
            Expr::In(inner, choices) => {
                let choices = choices.iter().map(|choice| self.one(choice)).collect::<Option<_>>()?;
                let (inner, count) = self.either(inner)?;
                (Many::In(Box::new(inner), choices), count)
            }
            _ => return None,
        })
    }

    /// An element.
    pub(super) fn at(&mut self, many: &Many<'f>, index: Value) -> Option<One<'f>> {
        Some(match many {
            Many::Leaf { element, start, stride } => {
                let offset = self.builder.ins().imul_imm_s(index, i64::try_from(*stride).ok()?);
                let base = self.builder.ins().iadd(*start, offset);
                self.element(element, Place { base, offset: 0 })?
            }
            Many::Splat(one) => *one,
            Many::Function(function, inner, of) => {
                let inner = self.at(inner, index)?;
                self.function(*function, inner, *of)?
            }
            Many::Binary(operator, a, b, of) => {
                let (a, b) = (self.at(a, index)?, self.at(b, index)?);
                self.binary(*operator, a, b, *of)?
            }
            Many::In(inner, choices) => {
                let inner = self.at(inner, index)?;
                let mut all = self.builder.ins().iconst(types::I8, 0);
                for choice in choices {
                    let equal = self.compare(Operator::Equal, inner, *choice)?;
                    all = self.builder.ins().bor(all, equal);
                }
                One::Truth(all)
            }
        })
    }

    /// A single value of an array.
    pub(super) fn reduce(&mut self, reduction: Reduction, expr: &'f Expr, of: Type) -> Option<One<'f>> {
        if reduction == Reduction::Len && !self.is_array(expr) {
            return match self.one(expr)? {
                One::Text(_, length) => Some(One::Unsigned(length, true)),
                One::Literal(text) => Some(One::Unsigned(self.constant(i64::try_from(text.len()).ok()?), true)),
                _ => None,
            };
        }
        let (many, count) = self.many(expr)?;
        let (is_counted, is_empty) = (matches!(count, Count::Counted(_)), matches!(count, Count::Fixed(0)));
        let count = self.count(count)?;
        let may_be_empty =
            matches!(reduction, Reduction::Len | Reduction::Sum | Reduction::Any | Reduction::All | Reduction::Count);
        if is_empty && !may_be_empty {
            return None;
        }
        if is_counted && !may_be_empty {
            let none = self.builder.ins().icmp_imm_s(IntCC::Equal, count, 0);
            self.unsure_if(none);
        }
        let looks_at_few = matches!(reduction, Reduction::Len | Reduction::First | Reduction::Last);
        if looks_at_few && !matches!(many, Many::Leaf { .. }) {
            // The faults of all elements count.
            self.each(count, |emit, index| emit.at(&many, index).map(drop))?;
        }
        let one = match reduction {
            Reduction::Len => One::Unsigned(count, false),
            Reduction::First => {
                let zero = self.constant(0);
                self.at(&many, zero)?
            }
            Reduction::Last => {
                let last = self.builder.ins().iadd_imm_s(count, -1);
                self.at(&many, last)?
            }
            Reduction::Any | Reduction::All => {
                let all = reduction == Reduction::All;
                let start = self.builder.ins().iconst(types::I8, i64::from(all));
                One::Truth(self.fold(&many, count, start, |emit, before, one| {
                    let truth = emit.truth(one)?;
                    Some(if all {
                        emit.builder.ins().band(before, truth)
                    } else {
                        emit.builder.ins().bor(before, truth)
                    })
                })?)
            }
            Reduction::Count => {
                let start = self.constant(0);
                One::Unsigned(
                    self.fold(&many, count, start, |emit, before, one| {
                        let truth = emit.truth(one)?;
                        let more = emit.builder.ins().uextend(types::I64, truth);
                        Some(emit.builder.ins().iadd(before, more))
                    })?,
                    false,
                )
            }
            Reduction::Sum | Reduction::Mean | Reduction::Min | Reduction::Max => {
                let element = type_of(&many)?;
                match (element, reduction) {
                    (Type::Float, _) => {
                        let value = self.reduce_floats(reduction, &many, count)?;
                        match reduction {
                            Reduction::Mean => {
                                let count = self.builder.ins().fcvt_from_sint(types::F64, count);
                                One::Float(self.builder.ins().fdiv(value, count))
                            }
                            _ => One::Float(value),
                        }
                    }
                    (Type::Truth, _) => return None,
                    (_, Reduction::Mean) => {
                        let sum = self.reduce_whole(Reduction::Sum, &many, count, element)?;
                        let (sum, count) = (self.as_float(sum)?, self.builder.ins().fcvt_from_sint(types::F64, count));
                        One::Float(self.builder.ins().fdiv(sum, count))
                    }
                    _ => self.reduce_whole(reduction, &many, count, element)?,
                }
            }
        };
        one.is(of).then_some(one)
    }

    /// What a variable has after all elements.
    fn fold(
        &mut self,
        many: &Many<'f>,
        count: Value,
        start: Value,
        mut each: impl FnMut(&mut Self, Value, One<'f>) -> Option<Value>,
    ) -> Option<Value> {
        let of = self.builder.func.dfg.value_type(start);
        let result = self.builder.declare_var(of);
        self.builder.def_var(result, start);
        self.each(count, |emit, index| {
            let one = emit.at(many, index)?;
            let before = emit.builder.use_var(result);
            let after = each(emit, before, one)?;
            emit.builder.def_var(result, after);
            Some(())
        })?;
        Some(self.builder.use_var(result))
    }

    fn reduce_whole(&mut self, reduction: Reduction, many: &Many<'f>, count: Value, of: Type) -> Option<One<'f>> {
        let is_signed = of == Type::Integer;
        let start = self.constant(match (reduction, is_signed) {
            (Reduction::Min, true) => i64::MAX,
            (Reduction::Max, true) => i64::MIN,
            (Reduction::Min, false) => -1,
            _ => 0,
        });
        let value = self.fold(many, count, start, |emit, before, one| {
            let value = emit.as_whole(one, of)?;
            Some(match (reduction, is_signed) {
                (Reduction::Sum, true) => emit.of_integers(Operator::Add, before, value)?,
                (Reduction::Sum, false) => emit.of_unsigned(Operator::Add, before, value)?,
                (Reduction::Min, true) => emit.builder.ins().smin(before, value),
                (Reduction::Max, true) => emit.builder.ins().smax(before, value),
                (Reduction::Min, false) => emit.builder.ins().umin(before, value),
                (Reduction::Max, false) => emit.builder.ins().umax(before, value),
                _ => return None,
            })
        })?;
        Some(One::of(of, value))
    }

    /// The sum, the smallest or the largest of doubles; the sum for a mean, too.
    fn reduce_floats(&mut self, reduction: Reduction, many: &Many<'f>, count: Value) -> Option<Value> {
        // Doubles in a row are for vector instructions.
        if let Many::Leaf { element: Element::Float { kind: FloatKind::Ieee, size: 8 }, start, stride: 8 } = many {
            let function = match reduction {
                Reduction::Min => call::min as *const (),
                Reduction::Max => call::max as *const (),
                _ => call::sum as *const (),
            };
            let swapped = self.constant(is_swapped(self.format.machine().order).into());
            let bits = self.call(function, &[*start, count, swapped]);
            return Some(self.float(bits));
        }
        if let Reduction::Min | Reduction::Max = reduction {
            let is_least = reduction == Reduction::Min;
            let start = self.builder.ins().f64const(if is_least { f64::INFINITY } else { f64::NEG_INFINITY });
            return self.fold(many, count, start, |emit, before, one| {
                let value = emit.as_float(one)?;
                Some(if is_least {
                    emit.builder.ins().fmin(before, value)
                } else {
                    emit.builder.ins().fmax(before, value)
                })
            });
        }
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 8 * LANES as u32, 3);
        let slot = self.builder.create_sized_stack_slot(slot);
        let lanes = self.builder.ins().stack_addr(types::I64, slot, 0);
        let zero = self.builder.ins().f64const(0.0);
        for lane in 0..LANES {
            self.builder.ins().store(memory(), zero, lanes, 8 * lane as i32);
        }
        self.each(count, |emit, index| {
            let one = emit.at(many, index)?;
            let value = emit.as_float(one)?;
            let lane = emit.builder.ins().band_imm_s(index, LANES as i64 - 1);
            let lane = emit.builder.ins().ishl_imm_u(lane, 3);
            let lane = emit.builder.ins().iadd(lanes, lane);
            let before = emit.builder.ins().load(types::F64, memory(), lane, 0);
            let after = emit.builder.ins().fadd(before, value);
            emit.builder.ins().store(memory(), after, lane, 0);
            Some(())
        })?;
        let lane = |emit: &mut Self, lane: i32| emit.builder.ins().load(types::F64, memory(), lanes, 8 * lane);
        let mut add = |a, b| {
            let (a, b) = (lane(self, a), lane(self, b));
            self.builder.ins().fadd(a, b)
        };
        let [a, c, b, d] = [add(0, 4), add(2, 6), add(1, 5), add(3, 7)];
        let (left, right) = (self.builder.ins().fadd(a, c), self.builder.ins().fadd(b, d));
        Some(self.builder.ins().fadd(left, right))
    }
}

/// The type of the elements.
fn type_of(many: &Many<'_>) -> Option<Type> {
    match many {
        Many::Leaf { element: Element::Integer { signed: true, .. }, .. } => Some(Type::Integer),
        Many::Leaf { element: Element::Integer { .. }, .. } => Some(Type::Unsigned),
        Many::Leaf { element: Element::Float { .. }, .. } => Some(Type::Float),
        Many::Function(_, _, of) | Many::Binary(_, _, _, Some(of)) => Some(*of),
        _ => None,
    }
}

/// Whether a path leads to an array that is no text.
fn is_array(mut structure: &Structure, steps: &[Step]) -> Option<bool> {
    let mut found: Option<(&Element, &[Dimension])> = None;
    let mut sliced = false;
    for step in steps {
        match step {
            Step::Field(name) => {
                if let Some((Element::Structure(inner), _)) = found {
                    structure = inner;
                }
                let field = structure.field(name)?;
                found = Some((&field.element, &field.dims));
            }
            Step::Index(_) => found.as_mut()?.1 = found?.1.get(1..)?,
            Step::Slice { .. } => sliced = true,
        }
    }
    let (element, dims) = found?;
    Some(match dims {
        [] => sliced,
        [_] if !sliced => *element != Element::Char,
        _ => true,
    })
}
