//! Single values of expressions: fields, functions, operations and comparisons. Arrays are in `many`, and paths in `place`.

use super::emit::Emit;
use super::place::{Found, Place};
use super::{Expr, Function, Operator, Type, call};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use isoform_core::{Element, Enumeration, FloatKind};

/// A value that was computed.
#[derive(Clone, Copy)]
pub(super) enum One<'f> {
    /// An integer, and whether a double can have its value exactly, whatever it is.
    Integer(Value, bool),
    Unsigned(Value, bool),
    Float(Value),
    /// 0 or 1, in a byte.
    Truth(Value),
    /// An address and a length.
    Text(Value, Value),
    /// The number of a symbol.
    Symbol(Value, &'f Enumeration),
    /// A text, which may be the name of a symbol.
    Literal(&'f [u8]),
}

/// Doubles can have the values of all integers up to this one exactly.
const EXACT: i64 = 1 << 53;

impl<'f> Emit<'_, 'f> {
    /// The single value of an expression. `None` if there is no code for it.
    pub(super) fn one(&mut self, expr: &'f Expr) -> Option<One<'f>> {
        Some(match expr {
            Expr::Integer(number) => One::Integer(self.constant(*number), number.unsigned_abs() <= EXACT as u64),
            Expr::Unsigned(number) => One::Unsigned(self.constant(*number as i64), *number <= EXACT as u64),
            Expr::Float(number) => One::Float(self.builder.ins().f64const(*number)),
            Expr::Truth(truth) => One::Truth(self.builder.ins().iconst(types::I8, i64::from(*truth))),
            Expr::Text(text) => One::Literal(text),
            Expr::Path(steps) => {
                let found = self.find(steps)?;
                self.value(&found)?
            }
            Expr::Function(function, inner, of) => {
                let inner = self.one(inner)?;
                self.function(*function, inner, *of)?
            }
            Expr::Binary(operator, left, right, of) => {
                let (left, right) = (self.one(left)?, self.one(right)?);
                self.binary(*operator, left, right, *of)?
            }
            Expr::Guard(or, left, right) => One::Truth(self.guard(*or, left, right)?),
            Expr::In(inner, choices) => {
                let inner = self.one(inner)?;
                let mut all = self.builder.ins().iconst(types::I8, 0);
                for choice in choices {
                    let choice = self.one(choice)?;
                    let equal = self.compare(Operator::Equal, inner, choice)?;
                    all = self.builder.ins().bor(all, equal);
                }
                One::Truth(all)
            }
            Expr::Choice(parts, of) => self.choice(parts, *of)?,
            Expr::Reduce(reduction, inner, of) => self.reduce(*reduction, inner, *of)?,
            Expr::Sequence => {
                One::Unsigned(self.builder.ins().load(types::I64, super::emit::memory(), self.event, 0), false)
            }
            Expr::Time => {
                One::Unsigned(self.builder.ins().load(types::I64, super::emit::memory(), self.event, 8), false)
            }
        })
    }

    /// The value at the end of a path.
    fn value(&mut self, found: &Found<'f>) -> Option<One<'f>> {
        match (found.many, found.element) {
            (None, element) => self.element(element, found.place),
            (Some((count, _)), Element::Char) => {
                let is_fixed = found.row?;
                let start = self.address(found.place.base, found.place.offset)?;
                let mut length = self.count(count)?;
                if is_fixed {
                    length = self.call(call::trimmed as *const (), &[start, length]);
                }
                Some(One::Text(start, length))
            }
            _ => None,
        }
    }

    /// The value of an element at a place.
    pub(super) fn element(&mut self, element: &'f Element, place: Place) -> Option<One<'f>> {
        let machine = self.format.machine();
        let (base, offset, order) = (place.base, place.offset, machine.order);
        Some(match element {
            Element::Integer { signed, size } => {
                let value = self.load_wide(base, offset, usize::from(*size), order, *signed)?;
                match signed {
                    true => One::Integer(value, *size < 8),
                    false => One::Unsigned(value, *size < 8),
                }
            }
            Element::Float { kind: FloatKind::Ieee, size: 8 } => {
                let bits = self.load(base, offset, 8, order)?;
                One::Float(self.float(bits))
            }
            Element::Float { kind: FloatKind::Ieee, size: 4 } => {
                let bits = self.load(base, offset, 4, order)?;
                let single = self.single(bits);
                One::Float(self.builder.ins().fpromote(types::F64, single))
            }
            Element::Boolean { size } => {
                let value = self.load_wide(base, offset, usize::from(*size), order, false)?;
                One::Truth(self.builder.ins().icmp_imm_s(IntCC::NotEqual, value, 0))
            }
            Element::Enumeration(enumeration) => {
                let size = usize::from(enumeration.size());
                One::Symbol(self.load_wide(base, offset, size, order, enumeration.signed())?, enumeration)
            }
            Element::String => {
                let slot = self.load_wide(base, offset, usize::from(machine.pointer), order, false)?;
                let null = self.builder.ins().icmp_imm_s(IntCC::Equal, slot, 0);
                self.unsure_if(null);
                let start = self.builder.ins().iadd(self.body, slot);
                One::Text(start, self.call(call::string as *const (), &[start]))
            }
            Element::Float { .. } | Element::Complex { .. } | Element::Char | Element::Structure(_) => return None,
        })
    }

    pub(super) fn truth(&mut self, one: One<'f>) -> Option<Value> {
        match one {
            One::Truth(truth) => Some(truth),
            _ => None,
        }
    }

    /// A number as a double, rounded to the nearest.
    pub(super) fn as_float(&mut self, one: One<'f>) -> Option<Value> {
        match one {
            One::Float(value) => Some(value),
            One::Integer(value, _) => Some(self.builder.ins().fcvt_from_sint(types::F64, value)),
            // Machines have instructions for signed numbers.
            One::Unsigned(value, true) => Some(self.builder.ins().fcvt_from_sint(types::F64, value)),
            One::Unsigned(value, false) => Some(self.builder.ins().fcvt_from_uint(types::F64, value)),
            _ => None,
        }
    }

    /// A whole number as one of a type. What is outside its range is left to the interpreter.
    pub(super) fn as_whole(&mut self, one: One<'f>, of: Type) -> Option<Value> {
        match (one, of) {
            (One::Integer(value, _), Type::Integer) | (One::Unsigned(value, _), Type::Unsigned) => Some(value),
            (One::Unsigned(value, true), Type::Integer) => Some(value),
            (One::Integer(value, _) | One::Unsigned(value, _), Type::Integer | Type::Unsigned) => {
                self.unsure_if_negative(value);
                Some(value)
            }
            _ => None,
        }
    }

    /// A value of this type.
    pub(super) fn as_of(&mut self, one: One<'f>, of: Type) -> Option<Value> {
        match of {
            Type::Integer | Type::Unsigned => self.as_whole(one, of),
            Type::Float => self.as_float(one),
            Type::Truth => self.truth(one),
        }
    }

    pub(super) fn function(&mut self, function: Function, inner: One<'f>, of: Type) -> Option<One<'f>> {
        Some(match (function, inner) {
            (Function::Not, One::Truth(truth)) => One::Truth(self.builder.ins().bxor_imm_s(truth, 1)),
            (Function::Negative, One::Float(value)) => One::Float(self.builder.ins().fneg(value)),
            (Function::Negative, _) => {
                let value = self.as_whole(inner, Type::Integer)?;
                self.unsure_if_least(value);
                One::Integer(self.builder.ins().ineg(value), false)
            }
            (Function::Abs, One::Float(value)) => One::Float(self.builder.ins().fabs(value)),
            (Function::Abs, One::Integer(value, small)) => {
                self.unsure_if_least(value);
                One::Integer(self.builder.ins().iabs(value), small)
            }
            (Function::Floor, One::Float(value)) => One::Float(self.builder.ins().floor(value)),
            (Function::Abs, One::Unsigned(..)) | (Function::Floor, One::Unsigned(..) | One::Integer(..)) => inner,
            (Function::Sqrt, _) => {
                let value = self.as_float(inner)?;
                One::Float(self.builder.ins().sqrt(value))
            }
            (Function::IsNan, One::Float(value)) => {
                One::Truth(self.builder.ins().fcmp(FloatCC::Unordered, value, value))
            }
            (Function::IsNan, One::Integer(..) | One::Unsigned(..)) => {
                One::Truth(self.builder.ins().iconst(types::I8, 0))
            }
            _ => return None,
        })
        .filter(|one| one.is(of))
    }

    fn unsure_if_least(&mut self, value: Value) {
        let least = self.constant(i64::MIN);
        let is_least = self.builder.ins().icmp(IntCC::Equal, value, least);
        self.unsure_if(is_least);
    }

    pub(super) fn binary(&mut self, operator: Operator, a: One<'f>, b: One<'f>, of: Option<Type>) -> Option<One<'f>> {
        match (operator, of) {
            (Operator::And | Operator::Or, _) => {
                let (a, b) = (self.truth(a)?, self.truth(b)?);
                Some(One::Truth(match operator {
                    Operator::And => self.builder.ins().band(a, b),
                    _ => self.builder.ins().bor(a, b),
                }))
            }
            (_, Some(Type::Float)) => {
                let (a, b) = (self.as_float(a)?, self.as_float(b)?);
                self.of_floats(operator, a, b).map(One::Float)
            }
            (_, Some(of @ (Type::Integer | Type::Unsigned))) => {
                let (a, b) = (self.as_whole(a, of)?, self.as_whole(b, of)?);
                match of {
                    Type::Integer => self.of_integers(operator, a, b).map(|value| One::Integer(value, false)),
                    _ => self.of_unsigned(operator, a, b).map(|value| One::Unsigned(value, false)),
                }
            }
            _ => self.compare(operator, a, b).map(One::Truth),
        }
    }

    fn of_floats(&mut self, operator: Operator, a: Value, b: Value) -> Option<Value> {
        Some(match operator {
            Operator::Add => self.builder.ins().fadd(a, b),
            Operator::Subtract => self.builder.ins().fsub(a, b),
            Operator::Multiply => self.builder.ins().fmul(a, b),
            Operator::Divide => self.builder.ins().fdiv(a, b),
            Operator::FloorDivide => {
                let quotient = self.builder.ins().fdiv(a, b);
                self.builder.ins().floor(quotient)
            }
            Operator::Remainder => {
                let (a, b) = (self.bits(a), self.bits(b));
                let rest = self.call(call::remainder as *const (), &[a, b]);
                self.float(rest)
            }
            _ => return None,
        })
    }

    pub(super) fn of_integers(&mut self, operator: Operator, a: Value, b: Value) -> Option<Value> {
        match operator {
            Operator::Add | Operator::Subtract => {
                let is_sum = operator == Operator::Add;
                let value = if is_sum { self.builder.ins().iadd(a, b) } else { self.builder.ins().isub(a, b) };
                // The sign of a sum is wrong if both had the other; that of a difference if they differed.
                let left = self.builder.ins().bxor(a, value);
                let right = if is_sum { self.builder.ins().bxor(b, value) } else { self.builder.ins().bxor(a, b) };
                let wrong = self.builder.ins().band(left, right);
                self.unsure_if_negative(wrong);
                Some(value)
            }
            Operator::Multiply => {
                let (value, high) = (self.builder.ins().imul(a, b), self.builder.ins().smulhi(a, b));
                let sign = self.builder.ins().sshr_imm_u(value, 63);
                let beyond = self.builder.ins().icmp(IntCC::NotEqual, high, sign);
                self.unsure_if(beyond);
                Some(value)
            }
            Operator::FloorDivide | Operator::Remainder => {
                let zero = self.builder.ins().icmp_imm_s(IntCC::Equal, b, 0);
                self.unsure_if(zero);
                let least = self.constant(i64::MIN);
                let least = self.builder.ins().icmp(IntCC::Equal, a, least);
                let minus = self.builder.ins().icmp_imm_s(IntCC::Equal, b, -1);
                let both = self.builder.ins().band(least, minus);
                self.unsure_if(both);
                let quotient = self.builder.ins().sdiv(a, b);
                let product = self.builder.ins().imul(quotient, b);
                let rest = self.builder.ins().isub(a, product);
                let signs = self.builder.ins().bxor(rest, b);
                let differ = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, signs, 0);
                let some = self.builder.ins().icmp_imm_s(IntCC::NotEqual, rest, 0);
                let adjust = self.builder.ins().band(differ, some);
                Some(if operator == Operator::FloorDivide {
                    let one = self.builder.ins().uextend(types::I64, adjust);
                    self.builder.ins().isub(quotient, one)
                } else {
                    let more = self.builder.ins().iadd(rest, b);
                    self.builder.ins().select(adjust, more, rest)
                })
            }
            _ => None,
        }
    }

    pub(super) fn of_unsigned(&mut self, operator: Operator, a: Value, b: Value) -> Option<Value> {
        match operator {
            Operator::Add => {
                let value = self.builder.ins().iadd(a, b);
                let beyond = self.builder.ins().icmp(IntCC::UnsignedLessThan, value, a);
                self.unsure_if(beyond);
                Some(value)
            }
            Operator::Subtract => {
                let beyond = self.builder.ins().icmp(IntCC::UnsignedLessThan, a, b);
                self.unsure_if(beyond);
                Some(self.builder.ins().isub(a, b))
            }
            Operator::Multiply => {
                let (value, high) = (self.builder.ins().imul(a, b), self.builder.ins().umulhi(a, b));
                self.unsure_if(high);
                Some(value)
            }
            Operator::FloorDivide | Operator::Remainder => {
                let zero = self.builder.ins().icmp_imm_s(IntCC::Equal, b, 0);
                self.unsure_if(zero);
                Some(match operator {
                    Operator::FloorDivide => self.builder.ins().udiv(a, b),
                    _ => self.builder.ins().urem(a, b),
                })
            }
            _ => None,
        }
    }

    /// A comparison, exact for numbers of all types.
    pub(super) fn compare(&mut self, operator: Operator, a: One<'f>, b: One<'f>) -> Option<Value> {
        let (signed, unsigned, float) = codes(operator)?;
        Some(match (a, b) {
            (One::Integer(a, _), One::Integer(b, _)) => self.builder.ins().icmp(signed, a, b),
            (One::Unsigned(a, _), One::Unsigned(b, _)) => self.builder.ins().icmp(unsigned, a, b),
            (One::Integer(a, _), One::Unsigned(b, true)) | (One::Unsigned(a, true), One::Integer(b, _)) => {
                self.builder.ins().icmp(signed, a, b)
            }
            (One::Integer(a, _), One::Unsigned(b, false)) => {
                self.unsure_if_negative(b);
                self.builder.ins().icmp(signed, a, b)
            }
            (One::Unsigned(a, false), One::Integer(b, _)) => {
                self.unsure_if_negative(a);
                self.builder.ins().icmp(signed, a, b)
            }
            (One::Float(a), One::Float(b)) => self.builder.ins().fcmp(float, a, b),
            (One::Integer(..) | One::Unsigned(..), One::Float(b)) => {
                let a = self.exactly(a)?;
                self.builder.ins().fcmp(float, a, b)
            }
            (One::Float(a), One::Integer(..) | One::Unsigned(..)) => {
                let b = self.exactly(b)?;
                self.builder.ins().fcmp(float, a, b)
            }
            (One::Truth(a), One::Truth(b)) => self.builder.ins().icmp(unsigned, a, b),
            (One::Symbol(value, enumeration), One::Literal(name))
            | (One::Literal(name), One::Symbol(value, enumeration)) => {
                let number = enumeration.value(std::str::from_utf8(name).ok()?)?;
                let number =
                    self.constant(i64::try_from(number).ok().or_else(|| u64::try_from(number).ok().map(|n| n as i64))?);
                match operator {
                    Operator::Equal | Operator::NotEqual => self.builder.ins().icmp(signed, value, number),
                    _ => return None,
                }
            }
            _ => {
                let ((a, a_length), (b, b_length)) = (self.text(a)?, self.text(b)?);
                let order = self.call(call::compare as *const (), &[a, a_length, b, b_length]);
                self.builder.ins().icmp_imm_s(signed, order, 0)
            }
        })
    }

    fn text(&mut self, one: One<'f>) -> Option<(Value, Value)> {
        match one {
            One::Text(start, length) => Some((start, length)),
            One::Literal(text) => {
                let (start, length) = (text.as_ptr().addr() as i64, i64::try_from(text.len()).ok()?);
                Some((self.constant(start), self.constant(length)))
            }
            _ => None,
        }
    }

    /// A whole number as the double that it is. Others are left to the interpreter.
    fn exactly(&mut self, one: One<'f>) -> Option<Value> {
        match one {
            One::Integer(value, false) => {
                let above = self.builder.ins().iadd_imm_s(value, EXACT);
                let beyond = self.builder.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, above, 2 * EXACT);
                self.unsure_if(beyond);
            }
            One::Unsigned(value, false) => {
                let beyond = self.builder.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, value, EXACT);
                self.unsure_if(beyond);
            }
            _ => {}
        }
        match one {
            One::Integer(value, _) | One::Unsigned(value, _) => {
                Some(self.builder.ins().fcvt_from_sint(types::F64, value))
            }
            _ => None,
        }
    }

    fn guard(&mut self, or: bool, left: &'f Expr, right: &'f Expr) -> Option<Value> {
        let left = self.one(left)?;
        let left = self.truth(left)?;
        // What is never unsure is cheaper than a branch.
        if self.is_plain(right).is_some() {
            let right = self.one(right)?;
            let right = self.truth(right)?;
            return Some(if or { self.builder.ins().bor(left, right) } else { self.builder.ins().band(left, right) });
        }
        let result = self.builder.declare_var(types::I8);
        let (more, after) = (self.builder.create_block(), self.builder.create_block());
        self.builder.def_var(result, left);
        match or {
            true => self.builder.ins().brif(left, after, [], more, []),
            false => self.builder.ins().brif(left, more, [], after, []),
        };
        self.builder.switch_to_block(more);
        let right = self.one(right)?;
        let right = self.truth(right)?;
        self.builder.def_var(result, right);
        self.builder.ins().jump(after, []);
        self.builder.switch_to_block(after);
        Some(self.builder.use_var(result))
    }

    fn choice(&mut self, parts: &'f [Expr; 3], of: Type) -> Option<One<'f>> {
        let [condition, then, otherwise] = parts;
        let condition = self.one(condition)?;
        let condition = self.truth(condition)?;
        let result = self.builder.declare_var(match of {
            Type::Integer | Type::Unsigned => types::I64,
            Type::Float => types::F64,
            Type::Truth => types::I8,
        });
        let [yes, no, after] = [(); 3].map(|()| self.builder.create_block());
        self.builder.ins().brif(condition, yes, [], no, []);
        for (block, expr) in [(yes, then), (no, otherwise)] {
            self.builder.switch_to_block(block);
            let value = self.one(expr)?;
            let value = self.as_of(value, of)?;
            self.builder.def_var(result, value);
            self.builder.ins().jump(after, []);
        }
        self.builder.switch_to_block(after);
        Some(One::of(of, self.builder.use_var(result)))
    }

    /// The type of an expression whose code is short, without branches and never unsure. Otherwise `None`.
    fn is_plain(&self, expr: &Expr) -> Option<Plain> {
        match expr {
            Expr::Integer(number) if number.unsigned_abs() <= EXACT as u64 => Some(Plain::Small),
            Expr::Integer(_) => Some(Plain::Integer),
            Expr::Float(_) => Some(Plain::Float),
            Expr::Truth(_) => Some(Plain::Truth),
            Expr::Path(steps) => {
                let [super::Step::Field(name)] = &steps[..] else { return None };
                let field = self.format.structure().field(name)?;
                match &field.element {
                    _ if field.indirect || !field.dims.is_empty() => None,
                    Element::Integer { size: ..8, .. } => Some(Plain::Small),
                    Element::Integer { signed: true, size: 8 } => Some(Plain::Integer),
                    Element::Float { .. } => Some(Plain::Float),
                    Element::Boolean { .. } => Some(Plain::Truth),
                    _ => None,
                }
            }
            Expr::Function(Function::Not, inner, _) => self.is_plain(inner),
            Expr::Guard(_, a, b) => self.is_plain(a).and(self.is_plain(b)),
            Expr::Binary(operator, a, b, None) if codes(*operator).is_some() => {
                match (self.is_plain(a)?, self.is_plain(b)?) {
                    (Plain::Integer, Plain::Float) | (Plain::Float, Plain::Integer) => None,
                    _ => Some(Plain::Truth),
                }
            }
            _ => None,
        }
    }
}

/// What [`Emit::is_plain`] says of a value. `Small` is an integer whose value a double can have exactly.
#[derive(Clone, Copy)]
enum Plain {
    Small,
    Integer,
    Float,
    Truth,
}

/// The condition codes of a comparison.
fn codes(operator: Operator) -> Option<(IntCC, IntCC, FloatCC)> {
    Some(match operator {
        Operator::Equal => (IntCC::Equal, IntCC::Equal, FloatCC::Equal),
        Operator::NotEqual => (IntCC::NotEqual, IntCC::NotEqual, FloatCC::NotEqual),
        Operator::Less => (IntCC::SignedLessThan, IntCC::UnsignedLessThan, FloatCC::LessThan),
        Operator::LessEqual => (IntCC::SignedLessThanOrEqual, IntCC::UnsignedLessThanOrEqual, FloatCC::LessThanOrEqual),
        Operator::Greater => (IntCC::SignedGreaterThan, IntCC::UnsignedGreaterThan, FloatCC::GreaterThan),
        Operator::GreaterEqual => {
            (IntCC::SignedGreaterThanOrEqual, IntCC::UnsignedGreaterThanOrEqual, FloatCC::GreaterThanOrEqual)
        }
        _ => return None,
    })
}

impl One<'_> {
    pub(super) fn of(of: Type, value: Value) -> Self {
        match of {
            Type::Integer => One::Integer(value, false),
            Type::Unsigned => One::Unsigned(value, false),
            Type::Float => One::Float(value),
            Type::Truth => One::Truth(value),
        }
    }

    /// Whether it is of a type.
    pub(super) fn is(&self, of: Type) -> bool {
        matches!(
            (self, of),
            (One::Integer(..), Type::Integer)
                | (One::Unsigned(..), Type::Unsigned)
                | (One::Float(_), Type::Float)
                | (One::Truth(_), Type::Truth)
        )
    }
}
