//! Expressions: the operands that an operation takes, and the type of its result.

use super::{Base, Checker, DIVISION, INTEGER, Many, Node, REMAINDER, SLICED, STRING, SYMBOL, Type};
use crate::normal::path_text;
use crate::tree::{Choice, Expr, Function, Kind, Operator, Step};
use crate::unit::Unit;
use isoform_core::{Code, Result};

impl Checker<'_> {
    /// Checks an expression, and adds its cost.
    pub(crate) fn expr(&mut self, expr: &Expr) -> Result<(Node, Type)> {
        let (node, kind, inner) = self.typed(expr)?;
        self.add(1, 0);
        if let Some(many) = inner.or(kind.many) {
            self.add_each(Some(many), 1);
        }
        if let (Kind::Path(steps), Some(many)) = (&expr.kind, kind.many) {
            let sliced = if steps.iter().any(|step| matches!(step, Step::Slice(_))) { SLICED } else { 0 };
            let texts = match kind.base {
                Base::Text if kind.symbols.is_some() => SYMBOL,
                Base::Text => STRING,
                _ => 0,
            };
            self.add_each(Some(many), sliced + texts);
        }
        Ok((node, kind))
    }

    /// As [`expr`](Checker::expr), for a path of which a result takes the value as it is. [`copies`](Checker::copies) adds what its
    /// elements cost.
    pub(crate) fn taken(&mut self, expr: &Expr) -> Result<(Node, Type)> {
        let (node, kind, _) = self.typed(expr)?;
        self.add(1, 0);
        Ok((node, kind))
    }

    /// Adds steps for a single value, or for each element of an array.
    pub(super) fn add_each(&mut self, many: Option<Many>, steps: u64) {
        match many {
            None => self.add(steps, 0),
            Some(many) => self.add_many(many, steps),
        }
    }

    /// The third is the array that a reduction goes through.
    pub(super) fn typed(&mut self, expr: &Expr) -> Result<(Node, Type, Option<Many>)> {
        let at = expr.at;
        let plain = |base| Type { base, many: None, unit: None, literal: false, symbols: None };
        let literal = |base, unit: &Option<Box<str>>| Type {
            unit: unit.as_deref().map(Unit::parse),
            literal: true,
            ..plain(base)
        };
        let (node, kind) = match &expr.kind {
            Kind::Integer(number, unit) => {
                let base = if i64::try_from(*number).is_ok() { Base::Integer } else { Base::Unsigned };
                (Node::Integer((*number).into()), literal(base, unit))
            }
            Kind::Float(number, unit) => (Node::Float(*number), literal(Base::Float, unit)),
            Kind::Text(text) => (Node::Text(text.as_bytes().into()), literal(Base::Text, &None)),
            Kind::Truth(truth) => (Node::Truth(*truth), plain(Base::Truth)),
            Kind::Path(steps) if self.window.is_some() && !self.is_within => {
                let fault = self.fault(Code::WrongType, at).at(path_text(steps));
                let expected = "a function of all records in the window, as last(..) or mean(..)";
                return Err(fault.expected(expected).found("a value of one record"));
            }
            Kind::Path(steps) => (Node::Path(steps.clone()), self.path(steps, at)?),
            Kind::Negative(inner) => {
                let (node, mut kind) = self.expr(inner)?;
                self.expect(&kind, NUMBERS, "a number", at)?;
                if kind.base == Base::Unsigned {
                    kind.base = Base::Integer;
                }
                kind.literal = false;
                (Node::Negative(Box::new(node), kind.base), kind)
            }
            Kind::Not(inner) => {
                let (node, kind) = self.expr(inner)?;
                self.expect(&kind, &[Base::Truth], "a condition", at)?;
                (Node::Not(Box::new(node)), kind)
            }
            Kind::Binary(operator, left, right) => return self.binary(*operator, left, right, at),
            Kind::In(inner, choices) => {
                let (node, kind) = self.expr(inner)?;
                let mut nodes = Vec::with_capacity(choices.len());
                for choice in choices {
                    let (node, other) = self.expr(choice)?;
                    if other.many.is_some() {
                        return Err(self
                            .fault(Code::WrongType, choice.at)
                            .expected("a single value")
                            .found("an array"));
                    }
                    self.comparable(&kind, &other, Operator::Equal, choice.at, (inner, choice))?;
                    self.add_each(kind.many, 1);
                    nodes.push(node);
                }
                (Node::In(Box::new(node), nodes), Type { many: kind.many, ..plain(Base::Truth) })
            }
            Kind::Choice(choice) => return self.choice(choice, at),
            Kind::Call(function, arguments) if function.gathers() && self.window.is_some() && !self.is_within => {
                return self.gathered(*function, arguments, at);
            }
            Kind::Call(Function::Percentile, arguments) => return self.percentile(arguments, at, false),
            Kind::Call(Function::Hist, arguments) => return self.hist(arguments, at, false),
            Kind::Call(Function::Seq, _) => (Node::Sequence, plain(Base::Unsigned)),
            Kind::Call(Function::Time, _) => {
                self.uses_time = true;
                (Node::Time, Type { unit: Some(Unit::parse("ns")), ..plain(Base::Unsigned) })
            }
            Kind::Call(function, arguments) => return self.call(*function, arguments, at, false),
        };
        Ok((node, kind, None))
    }

    pub(super) fn choice(&mut self, choice: &Choice, at: usize) -> Result<(Node, Type, Option<Many>)> {
        let condition = self.condition(&choice.condition)?;
        let (a, x) = self.expr(&choice.then)?;
        let (b, y) = self.expr(&choice.otherwise)?;
        let is_number = |kind: &Type| NUMBERS.contains(&kind.base);
        let (base, unit) = match (x.base, y.base) {
            (Base::Text, Base::Text) | (Base::Truth, Base::Truth) => (x.base, None),
            _ if is_number(&x) && is_number(&y) => {
                (common(&x, &y), self.same_unit((&x, &choice.then), (&y, &choice.otherwise), at)?)
            }
            _ => {
                let fault = self.fault(Code::WrongType, at).expected("two numbers, texts or conditions");
                return Err(fault.found(format_args!("{} and {}", x.words(), y.words())));
            }
        };
        let many = match (x.many, y.many) {
            (None, None) => None,
            (Some(m), Some(n)) if m == n || !m.is_fixed() || !n.is_fixed() => Some(m.max(n)),
            _ => {
                let fault = self.fault(Code::Shape, at).expected("two single values, or two arrays of equal length");
                return Err(fault.found(format_args!("{} and {}", x.words(), y.words())));
            }
        };
        let kind = Type { base, many, unit, literal: false, symbols: None };
        Ok((Node::Choice(Box::new([condition, a, b]), base), kind, None))
    }

    pub(super) fn binary(
        &mut self,
        operator: Operator,
        left: &Expr,
        right: &Expr,
        at: usize,
    ) -> Result<(Node, Type, Option<Many>)> {
        let (a, x) = self.expr(left)?;
        let (b, y) = self.expr(right)?;
        let many = match (x.many, y.many) {
            (Some(Many::Fixed(m)), Some(Many::Fixed(n))) if m != n => {
                let fault = self.fault(Code::Shape, at).expected(format_args!("an array of {m} elements"));
                return Err(fault.found(format_args!("{n} elements")));
            }
            (Some(m), Some(n)) => Some(m.max(n)),
            (x, y) => x.or(y),
        };
        let same = |unit: Option<Unit>, base| Type { base, many, unit, literal: false, symbols: None };
        let result = match operator {
            Operator::And | Operator::Or => {
                self.expect(&x, &[Base::Truth], "a condition", left.at)?;
                self.expect(&y, &[Base::Truth], "a condition", right.at)?;
                same(None, Base::Truth)
            }
            _ if operator.strength() == crate::tree::COMPARISON => {
                self.comparable(&x, &y, operator, at, (left, right))?;
                same(None, Base::Truth)
            }
            _ => {
                self.expect(&x, NUMBERS, "a number", left.at)?;
                self.expect(&y, NUMBERS, "a number", right.at)?;
                if operator == Operator::Remainder && (x.base == Base::Float || y.base == Base::Float) {
                    self.add_each(many, REMAINDER);
                }
                let divides = matches!(operator, Operator::Divide | Operator::FloorDivide);
                if x.base != Base::Float && y.base != Base::Float {
                    let divides = divides || operator == Operator::Remainder;
                    self.add_each(many, INTEGER + if divides { DIVISION } else { 0 });
                }
                let unit = if divides || operator == Operator::Multiply {
                    let one = || Unit::parse("1").times(&Unit::parse("1"), -1);
                    let sign = if divides { -1 } else { 1 };
                    let product = match (x.unit.clone(), &y.unit) {
                        (None, None) => None,
                        (left, right) => Some(left.unwrap_or_else(one).times(&right.clone().unwrap_or_else(one), sign)),
                    };
                    product.filter(|unit| !unit.is_one())
                } else {
                    self.same_unit((&x, left), (&y, right), at)?
                };
                let base = if operator == Operator::Divide { Base::Float } else { common(&x, &y) };
                same(unit, base)
            }
        };
        let base = result.base;
        let (a, b) = (Box::new(a), Box::new(b));
        let node = match operator {
            Operator::And | Operator::Or if many.is_none() => Node::Guard(operator, a, b),
            _ => Node::Binary(operator, a, b, base),
        };
        Ok((node, result, None))
    }

    pub(super) fn expect(&self, kind: &Type, bases: &[Base], expected: &str, at: usize) -> Result<()> {
        match bases.contains(&kind.base) && kind.symbols.is_none() {
            true => Ok(()),
            false => Err(self.fault(Code::WrongType, at).expected(expected).found(kind.words())),
        }
    }

    pub(super) fn comparable(
        &self,
        x: &Type,
        y: &Type,
        operator: Operator,
        at: usize,
        sides: (&Expr, &Expr),
    ) -> Result<()> {
        let is_number = |kind: &Type| NUMBERS.contains(&kind.base);
        let equality = matches!(operator, Operator::Equal | Operator::NotEqual);
        let fits = match (x.base, y.base) {
            (Base::Text, Base::Text) => equality || (x.symbols.is_none() && y.symbols.is_none()),
            (Base::Truth, Base::Truth) => equality,
            _ => is_number(x) && is_number(y),
        };
        if !fits {
            let expected = format!("two values that \"{}\" compares", operator.word());
            let fault = self.fault(Code::WrongType, at).expected(expected);
            return Err(fault.found(format_args!("{} and {}", x.words(), y.words())));
        }
        for (kind, other) in [(x, sides.1), (y, sides.0)] {
            if let (Some(symbols), Kind::Text(text)) = (&kind.symbols, &other.kind)
                && !symbols.contains(text)
            {
                let some: Vec<_> = symbols.iter().take(12).map(|symbol| &**symbol).collect();
                let fault = self.fault(Code::UnknownSymbol, other.at);
                return Err(fault.expected(format_args!("one of {}", some.join(", "))).found(format_args!("{text:?}")));
            }
        }
        self.same_unit((x, sides.0), (y, sides.1), at).map(drop)
    }

    /// The common unit of two numbers. One without a unit takes the other's, unless the other is a literal.
    pub(super) fn same_unit(&self, x: (&Type, &Expr), y: (&Type, &Expr), at: usize) -> Result<Option<Unit>> {
        for ((kind, expr), (other, other_expr)) in [(x, y), (y, x)] {
            if let (Some(unit), None) = (&kind.unit, &other.unit)
                && literal(expr).is_some()
                && literal(other_expr).is_none()
            {
                let fault = self.fault(Code::Unit, expr.at).expected("no unit, as the other number has none");
                return Err(fault.found(format_args!("{:?}", unit.to_string())));
            }
        }
        match (&x.0.unit, &y.0.unit) {
            (Some(x), Some(y)) if x != y => Err(self
                .fault(Code::Unit, at)
                .expected(format_args!("{:?}", x.to_string()))
                .found(format_args!("{:?}", y.to_string()))),
            (x, y) => Ok(x.clone().or(y.clone())),
        }
    }
}

pub(super) const NUMBERS: &[Base] = &[Base::Integer, Base::Unsigned, Base::Float];

/// The type of arithmetic with two numbers: unsigned if both are. A literal takes the type of the other number.
fn common(x: &Type, y: &Type) -> Base {
    match (x.base, y.base) {
        (Base::Float, _) | (_, Base::Float) => Base::Float,
        (Base::Unsigned, Base::Unsigned) => Base::Unsigned,
        (Base::Unsigned, _) if y.literal => Base::Unsigned,
        (_, Base::Unsigned) if x.literal => Base::Unsigned,
        _ => Base::Integer,
    }
}

/// The value of a literal number, with its sign.
pub(super) fn literal(expr: &Expr) -> Option<f64> {
    match &expr.kind {
        Kind::Integer(number, _) => Some(*number as f64),
        Kind::Float(number, _) => Some(*number),
        Kind::Negative(inner) => literal(inner).map(|number| -number),
        _ => None,
    }
}
