//! Functions: of single values, of arrays, and of the records of a window.

use super::expr::{NUMBERS, literal};
use super::{ADDED, Base, CALL, Checker, FOUND, GATHERED, Many, Node, ORDERED, RANGES, REDUCED, Ranges, SEARCH, Type};
use crate::tree::{Expr, Function, Kind};
use crate::window::{Gather, Windowed};
use isoform_core::{Code, Element, FloatKind, Machine, Result};

impl Checker<'_> {
    /// A function over the records of the window.
    pub(super) fn gathered(
        &mut self,
        function: Function,
        arguments: &[Expr],
        at: usize,
    ) -> Result<(Node, Type, Option<Many>)> {
        self.is_within = true;
        let (gather, kind) = match (function, arguments) {
            (Function::Count, []) => {
                let kind = Type { base: Base::Unsigned, many: None, unit: None, literal: false, symbols: None };
                (Gather::Records, kind)
            }
            _ => {
                let (node, kind, inner) = match function {
                    Function::Percentile => self.percentile(arguments, at, true)?,
                    Function::Hist => self.hist(arguments, at, true)?,
                    _ => self.call(function, arguments, at, true)?,
                };
                let gather = Gather::of(node, self.root)
                    .ok_or_else(|| self.fault(Code::Internal, at).found("another function"))?;
                if let Some(many) = inner {
                    self.add_each(Some(many), 1);
                }
                (gather, kind)
            }
        };
        self.is_within = false;
        let Some(window) = &mut self.window else { return Err(self.fault(Code::Internal, at).found("no window")) };
        let (number, steps) = (window.gathers.len(), window.steps());
        let each = gather.ranges().map_or(GATHERED, |ranges| (ranges as u64).div_ceil(ADDED));
        self.add_fixed(steps.saturating_mul(each));
        if let Some(window) = &mut self.window {
            window.gathers.push(gather);
        }
        Ok((Node::Gathered(number), kind, None))
    }

    /// An array of numbers, which a function goes through; of each record of a window, a single number, too.
    pub(super) fn numbers(&mut self, expr: &Expr, of_window: bool) -> Result<(Node, Type, Many)> {
        let (node, kind) = self.expr(expr)?;
        self.expect(&kind, NUMBERS, "an array of numbers", expr.at)?;
        match kind.many {
            Some(many) => Ok((node, kind, many)),
            None if of_window => Ok((node, kind, Many::Fixed(1))),
            None => Err(self.fault(Code::WrongType, expr.at).expected("an array").found(kind.words())),
        }
    }

    pub(super) fn percentile(
        &mut self,
        arguments: &[Expr],
        at: usize,
        of_window: bool,
    ) -> Result<(Node, Type, Option<Many>)> {
        self.add(CALL, 0);
        let [array, percent] = arguments else { return Err(self.fault(Code::Internal, at).found("other arguments")) };
        let (node, kind, many) = self.numbers(array, of_window)?;
        let unit = self.expr(percent)?.1.unit;
        let Some(number) = literal(percent).filter(|number| (0.0..=100.0).contains(number) && unit.is_none()) else {
            let fault = self.fault(Code::WrongType, percent.at);
            return Err(fault.expected("a number from 0 to 100, without a unit").found(percent));
        };
        // Each number is ordered anew for every window in which it is.
        let windows = self.window.as_ref().filter(|_| of_window).map_or(1, Windowed::steps);
        let ordered = ORDERED * windows;
        self.add_many(many, ordered);
        let kind = Type { base: Base::Float, many: None, literal: false, ..kind };
        Ok((Node::Percentile(Box::new(node), number), kind, Some(many)))
    }

    pub(super) fn hist(
        &mut self,
        arguments: &[Expr],
        at: usize,
        of_window: bool,
    ) -> Result<(Node, Type, Option<Many>)> {
        self.add(CALL, 0);
        let [array, low, high, count] = arguments else {
            return Err(self.fault(Code::Internal, at).found("other arguments"));
        };
        let (node, kind, many) = self.numbers(array, of_window)?;
        for bound in [low, high] {
            let unit = self.expr(bound)?.1;
            self.expect(&unit, NUMBERS, "a number", bound.at)?;
            self.same_unit((&kind, array), (&unit, bound), bound.at)?;
        }
        let bounds = literal(low).zip(literal(high));
        let Some((low, high)) = bounds.filter(|(low, high)| low < high && (high - low).is_finite()) else {
            let fault = self.fault(Code::WrongType, low.at).expected("two numbers in ascending order");
            return Err(fault.found(format_args!("{low} and {high}")));
        };
        let count = match count.kind {
            Kind::Integer(count @ 1..=RANGES, None) => count as usize,
            _ => {
                let fault = self.fault(Code::WrongType, count.at);
                return Err(fault.expected(format_args!("a number of ranges, from 1 to {RANGES}")).found(count));
            }
        };
        self.add_fixed(count as u64);
        let result =
            Type { base: Base::Unsigned, many: Some(Many::Fixed(count)), unit: None, literal: false, symbols: None };
        Ok((Node::Hist(Box::new(node), Ranges { low, high, count }), result, Some(many)))
    }

    /// Whether a function takes the doubles of an array as they are in the record.
    fn goes_through_doubles(&self, function: Function, arguments: &[Expr]) -> bool {
        let [Expr { kind: Kind::Path(steps), at }] = arguments else { return false };
        is_of_numbers(function)
            && self.place(steps, *at).is_ok_and(|place| {
                let is_double = matches!(place.field.element, Element::Float { kind: FloatKind::Ieee, size: 8 });
                is_double
                    && place.sliced.is_empty()
                    && !place.dims.is_empty()
                    && self.root.machine().order == Machine::NATIVE.order
            })
    }

    pub(super) fn call(
        &mut self,
        function: Function,
        arguments: &[Expr],
        at: usize,
        of_window: bool,
    ) -> Result<(Node, Type, Option<Many>)> {
        self.add(CALL, 0);
        let is_straight = self.goes_through_doubles(function, arguments);
        let mut nodes = Vec::with_capacity(arguments.len());
        let mut kinds = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let (node, kind) = if is_straight { self.taken(argument)? } else { self.expr(argument)? };
            nodes.push(node);
            kinds.push(kind);
        }
        let Some(mut first) = kinds.first().cloned() else {
            let fault = self.fault(Code::WrongType, at).expected("count(CONDITIONS), or | window in front of select");
            return Err(fault.found("count() of no window"));
        };
        if of_window {
            first.many = first.many.or(Some(Many::Fixed(1)));
        }
        let inner = first.many.filter(|_| !is_straight);
        if is_straight && let Some(many) = first.many {
            self.add_doubles(many);
        }
        if is_of_numbers(function)
            && let Some(many) = inner
        {
            self.add_each(Some(many), REDUCED);
        }
        let single = Type { many: None, literal: false, ..first.clone() };
        let kind = match function {
            Function::Abs | Function::Floor | Function::Sqrt | Function::IsNan => {
                self.expect(&first, NUMBERS, "a number", at)?;
                let mut kind = Type { literal: false, ..first };
                match function {
                    Function::IsNan => kind = Type { base: Base::Truth, unit: None, ..kind },
                    Function::Sqrt => {
                        kind.base = Base::Float;
                        kind.unit = match kind.unit.map(|unit| (unit.to_string(), unit.root())) {
                            Some((unit, None)) => {
                                let fault = self.fault(Code::Unit, at).expected("the unit of a square");
                                return Err(fault.found(format_args!("{unit:?}")));
                            }
                            other => other.and_then(|(_, root)| root),
                        };
                    }
                    _ => {}
                }
                kind
            }
            Function::StartsWith | Function::Contains => {
                self.expect(&first, &[Base::Text], "text", at)?;
                self.expect(&kinds[1], &[Base::Text], "text", arguments[1].at)?;
                if kinds[1].many.is_some() {
                    return Err(self
                        .fault(Code::WrongType, arguments[1].at)
                        .expected("a single text")
                        .found("an array"));
                }
                if function == Function::Contains {
                    self.add(SEARCH, 0);
                    self.look(&arguments[0], FOUND);
                }
                Type { base: Base::Truth, unit: None, symbols: None, literal: false, ..first }
            }
            Function::Len => {
                if first.many.is_none() && first.base != Base::Text {
                    return Err(self.fault(Code::WrongType, at).expected("an array or text").found(first.words()));
                }
                Type { base: Base::Unsigned, unit: None, symbols: None, ..single }
            }
            Function::First | Function::Last => {
                if first.many.is_none() || first.base == Base::Other {
                    let fault = self.fault(Code::WrongType, at).expected("an array of values that are computed with");
                    return Err(fault.found(first.words()));
                }
                single
            }
            Function::Percentile | Function::Hist | Function::Seq | Function::Time => {
                return Err(self.fault(Code::Internal, at).found("a function of another kind"));
            }
            Function::Sum
            | Function::Mean
            | Function::Min
            | Function::Max
            | Function::Std
            | Function::Any
            | Function::All
            | Function::Count => {
                if first.many.is_none() {
                    return Err(self.fault(Code::WrongType, at).expected("an array").found(first.words()));
                }
                match function {
                    Function::Any | Function::All | Function::Count => {
                        self.expect(&first, &[Base::Truth], "an array of conditions", at)?
                    }
                    _ => self.expect(&first, NUMBERS, "an array of numbers", at)?,
                }
                match function {
                    Function::Mean | Function::Std => Type { base: Base::Float, ..single },
                    Function::Count => Type { base: Base::Unsigned, ..single },
                    _ => single,
                }
            }
        };
        let base = kind.base;
        Ok((Node::Call(function, nodes, base), kind, inner))
    }
}

/// Whether a function makes one number of many.
fn is_of_numbers(function: Function) -> bool {
    matches!(function, Function::Sum | Function::Mean | Function::Min | Function::Max | Function::Std)
}
