//! A tree against a format: every path has a field, every operation has operands that it can take, and units agree.

use crate::MAX_STATE;
use crate::lex::fault;
use crate::normal::path_text;
use crate::outcome::Outcome;
use crate::tree::{Changed, Choice, Expr, Function, Kind, Operator, Span, Stage, Step};
use crate::unit::Unit;
use crate::window::{Gather, Windowed};
use isoform_core::{Code, Dimension, Element, Error, Field, Format, Layout, Result, Structure};

/// A query that fits a format.
#[derive(Clone, Debug)]
pub struct Checked {
    pub(crate) stages: Vec<Passage>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) input: Format,
    /// The bytes that it may remember.
    pub(crate) memory: usize,
    /// The next part, which is checked against the results of this one.
    pub(crate) next: Option<Box<Checked>>,
    cost: Cost,
    uses_time: bool,
    paths: Vec<String>,
}

/// An upper bound of the work for one record: reads of values, and operations on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Steps for each record, those for arrays of fixed length included.
    pub record: u64,
    /// Further steps for each element of the longest array of variable length.
    pub element: u64,
    /// Further steps for each 8 bytes of the texts of variable length: how often the query looks at such a text from its beginning to
    /// its end.
    pub text: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum Passage {
    Where(Node),
    /// Only records whose [place](crate::Event::place) is a multiple of this.
    Every(u64),
    /// Only the first of so many records that reach it.
    Count(u64),
    /// At most one record in so many nanoseconds.
    Rate(u64),
    Changed(Changes),
    Key(Vec<Node>),
    Window(Windowed),
}

/// What a value has to differ by.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    pub(crate) node: Node,
    /// A literal.
    pub(crate) by: Node,
    pub(crate) every: Option<u64>,
}

/// A checked expression.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Integer(i128),
    Float(f64),
    Truth(bool),
    Text(Box<[u8]>),
    Path(Vec<Step>),
    Negative(Box<Node>, Base),
    Not(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>, Base),
    /// `and` or `or` of single conditions. The right one is evaluated only if the left one leaves it open.
    Guard(Operator, Box<Node>, Box<Node>),
    In(Box<Node>, Vec<Node>),
    Call(Function, Vec<Node>, Base),
    /// The condition, and the two expressions of which one is evaluated.
    Choice(Box<[Node; 3]>, Base),
    Percentile(Box<Node>, f64),
    Hist(Box<Node>, Ranges),
    /// What one of the functions over the records of a window has made of them.
    Gathered(usize),
    Sequence,
    Time,
}

/// Equal ranges of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranges {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) count: usize,
}

/// The most ranges of a histogram.
const RANGES: u64 = 1024;
/// The steps for each element of an array that is ordered.
const ORDERED: u64 = 16;
/// The steps for each value of a key.
const KEYED: u64 = 4;
/// The bytes of a text that are searched, or looked at, in one step.
const SEARCHED: u64 = 8;
/// The further steps for each remainder of floats, which may take a division for each binary digit of the quotient.
const REMAINDER: u64 = 15;
/// The steps for each part behind the first, which verifies the results of the part before it.
const PART: u64 = 8;
/// The steps of cost for each function over the records of a window, and each step of the window.
const GATHERED: u64 = 8;

/// What kind of values an expression has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// From -2^63 to 2^63 - 1.
    Integer,
    /// From 0 to 2^64 - 1.
    Unsigned,
    Float,
    Truth,
    Text,
    /// Records, and numbers that are not computed with.
    Other,
}

/// The type of an expression.
#[derive(Clone, Debug)]
pub(crate) struct Type {
    pub(crate) base: Base,
    pub(crate) many: Option<Many>,
    pub(crate) unit: Option<Unit>,
    /// A literal, which is of any unit, and unsigned if need be.
    literal: bool,
    symbols: Option<Box<[Box<str>]>>,
}

/// The number of elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Many {
    Fixed(usize),
    Dynamic,
}

pub(crate) fn check(parts: &[Vec<Stage>], text: &str, format: &Format, layout: &Layout) -> Result<Checked> {
    let is_something = |part: &&Vec<Stage>| part.iter().any(|stage| !matches!(stage, Stage::Every(1)));
    let some: Vec<_> = parts.iter().filter(is_something).collect();
    let remembering = some.iter().filter(|part| part.iter().any(remembers)).count();
    let memory = MAX_STATE / remembering.max(1);
    let Some((first, rest)) = some.split_first() else { return part(&[], text, format, layout, memory) };
    let mut checked = vec![part(first, text, format, layout, memory)?];
    for stages in rest {
        let input = checked.last().map_or(format, Checked::format);
        let mut next = part(stages, text, input, layout, memory)?;
        if let Some(Passage::Every(count)) = next.stages.first() {
            next.stages[0] = Passage::Count(*count);
        }
        next.cost.record = next.cost.record.saturating_add(PART);
        checked.push(next);
    }
    let whole = checked.into_iter().rev().reduce(|next, part| Checked { next: Some(Box::new(next)), ..part });
    whole.ok_or_else(|| Error::new(Code::Internal).found("a query without parts"))
}

/// Whether a stage may remember something, so that its part has a share of the memory.
fn remembers(stage: &Stage) -> bool {
    !matches!(stage, Stage::Where(_) | Stage::Select(_))
}

fn part(stages: &[Stage], text: &str, format: &Format, layout: &Layout, memory: usize) -> Result<Checked> {
    let mut checker = Checker {
        text,
        root: format.structure(),
        cost: Cost::default(),
        uses_time: false,
        paths: Vec::new(),
        window: None,
        is_within: false,
    };
    let mut checked = Vec::new();
    let mut outcome = None;
    for stage in stages {
        match stage {
            Stage::Where(condition) => checked.push(Passage::Where(checker.condition(condition)?)),
            Stage::Every(1) => {}
            Stage::Every(count) if checked.is_empty() => checked.push(Passage::Every(*count)),
            Stage::Every(count) => checked.push(Passage::Count(*count)),
            Stage::Rate(duration) => {
                checker.uses_time = true;
                checked.push(Passage::Rate(*duration));
            }
            Stage::Changed(changed) => checked.push(Passage::Changed(checker.changes(changed)?)),
            Stage::Key(values) => {
                let nodes = values.iter().map(|value| checker.key(value));
                checked.push(Passage::Key(nodes.collect::<Result<_>>()?));
            }
            Stage::Window(span) => {
                checker.uses_time |= matches!(span, Span::Time(..));
                checker.window = Some(Windowed::new(*span));
            }
            Stage::Select(items) => {
                outcome = Some(Outcome::new(&mut checker, items, format, layout)?);
                if let Some(window) = checker.window.take() {
                    let at = items.first().map_or(0, |item| item.expr.at);
                    window
                        .expect_room(memory / 2)
                        .map_err(|(expected, found)| checker.fault(Code::Budget, at).expected(expected).found(found))?;
                    checked.push(Passage::Window(window));
                }
            }
        }
    }
    let Checker { cost, uses_time, paths, .. } = checker;
    Ok(Checked { stages: checked, outcome, input: format.clone(), memory, next: None, cost, uses_time, paths })
}

impl Checked {
    /// The format of the results: that of the records, unless the query selects.
    pub fn format(&self) -> &Format {
        match &self.next {
            Some(next) => next.format(),
            None => self.outcome.as_ref().map_or(&self.input, |outcome| &outcome.format),
        }
    }

    /// Its parts, of which each is checked against the results of the one in front of it.
    fn parts(&self) -> impl Iterator<Item = &Checked> {
        std::iter::successors(Some(self), |part| part.next.as_deref())
    }

    /// An upper bound of the work for one record, of all parts together.
    pub fn cost(&self) -> Cost {
        self.parts().fold(Cost::default(), |sum, part| Cost {
            record: sum.record.saturating_add(part.cost.record),
            element: sum.element.saturating_add(part.cost.element),
            text: sum.text.saturating_add(part.cost.text),
        })
    }

    /// The fields, elements and slices that it looks at, in the order of the text. Of several parts, only those of the first: the others
    /// look at results.
    ///
    /// ```
    /// # use isoform_core::{Layout, Shape};
    /// # use isoform_query::Query;
    /// let format = Shape::new("Gauge").field("step", "i32").field("depth", "double[40]").on(&Layout::NATIVE)?;
    /// let checked = Query::parse("where step > 3 and step < 9 | select m = max(depth[::10])")?.check(&format, &Layout::NATIVE)?;
    /// assert_eq!(checked.paths().collect::<Vec<_>>(), ["step", "depth[0::10]"]);
    /// assert!(!checked.remembers());
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    /// Whether it remembers something from record to record: at most [`MAX_STATE`] bytes.
    pub fn remembers(&self) -> bool {
        self.parts().flat_map(|part| &part.stages).any(|stage| !matches!(stage, Passage::Where(_) | Passage::Every(_)))
    }

    /// Whether its answers depend on the times of records.
    pub fn uses_time(&self) -> bool {
        self.parts().any(|part| part.uses_time)
    }
}

pub(crate) struct Checker<'t> {
    pub(crate) text: &'t str,
    pub(crate) root: &'t Structure,
    cost: Cost,
    uses_time: bool,
    paths: Vec<String>,
    /// The window of which values are selected, if there is one.
    window: Option<Windowed>,
    /// Whether this is within a function over its records.
    is_within: bool,
}

/// Where a path leads: a field, with the dimensions of which it takes a slice, and what remains of its dimensions.
pub(crate) struct Place<'t> {
    pub(crate) field: &'t Field,
    pub(crate) sliced: Vec<Many>,
    pub(crate) dims: &'t [Dimension],
}

impl<'t> Checker<'t> {
    pub(crate) fn fault(&self, code: Code, at: usize) -> Error {
        fault(code, self.text, at)
    }

    fn condition(&mut self, expr: &Expr) -> Result<Node> {
        let (node, kind) = self.expr(expr)?;
        self.expect(&kind, &[Base::Truth], "a condition", expr.at)?;
        match kind.many {
            None => Ok(node),
            Some(_) => {
                Err(self.fault(Code::WrongType, expr.at).expected("any(..) or all(..)").found("an array of conditions"))
            }
        }
    }

    fn changes(&mut self, changed: &Changed) -> Result<Changes> {
        let Changed { expr, by, every } = changed;
        let (node, kind) = self.expr(expr)?;
        self.expect(&kind, NUMBERS, "a number, or an array of numbers", expr.at)?;
        let (least, unit) = self.expr(by)?;
        self.same_unit((&kind, expr), (&unit, by), by.at)?;
        self.uses_time |= every.is_some();
        match kind.many {
            None => self.add(1, 0),
            Some(Many::Fixed(count)) => self.add(count as u64, 0),
            Some(Many::Dynamic) => self.add(1, 1),
        }
        Ok(Changes { node, by: least, every: *every })
    }

    /// A value of a key.
    fn key(&mut self, expr: &Expr) -> Result<Node> {
        let (node, kind) = self.expr(expr)?;
        self.cost.record = self.cost.record.saturating_add(KEYED);
        let is_key = matches!(kind.base, Base::Integer | Base::Unsigned | Base::Truth | Base::Text);
        match is_key && kind.many.is_none() {
            true => Ok(node),
            false => {
                let fault = self.fault(Code::WrongType, expr.at);
                Err(fault.expected("a single integer, condition, text or symbol").found(kind.words()))
            }
        }
    }

    /// The place of a path, as far as the format knows it.
    pub(crate) fn place(&self, steps: &[Step], at: usize) -> Result<Place<'t>> {
        let mut structure = self.root;
        let mut found: Option<Place<'t>> = None;
        for (index, step) in steps.iter().enumerate() {
            let before = || path_text(&steps[..index]);
            match step {
                Step::Field(name) => {
                    if let Some(place) = &found {
                        structure = match &place.field.element {
                            Element::Structure(inner) if place.dims.is_empty() && place.sliced.is_empty() => inner,
                            _ => {
                                let fault = self.fault(Code::WrongType, at).at(before());
                                return Err(fault.expected("a record").found(describe(place)));
                            }
                        };
                    }
                    let field = structure.field(name).ok_or_else(|| {
                        let names: Vec<_> = structure.fields().iter().take(12).map(|field| &*field.name).collect();
                        let more = match structure.fields().len().saturating_sub(12) {
                            0 => String::new(),
                            more => format!(" and {more} more"),
                        };
                        let fault = self.fault(Code::NoSuchField, at).at(path_text(&steps[..=index]));
                        fault
                            .expected(format_args!("one of {}{more}", names.join(", ")))
                            .found(format_args!("{name:?}"))
                    })?;
                    found = Some(Place { field, sliced: Vec::new(), dims: &field.dims });
                }
                Step::Index(number) => {
                    let Some(place) = &mut found else { continue };
                    let fault = |code| self.fault(code, at).at(before());
                    match place.dims.split_first() {
                        None => return Err(fault(Code::WrongType).expected("an array").found(describe(place))),
                        Some((Dimension::Field(_), _)) if !place.sliced.is_empty() => {
                            let fault = fault(Code::WrongType).expected("an index in front of the slice");
                            return Err(fault.found("an index into a dynamic dimension behind it"));
                        }
                        Some((Dimension::Fixed(length), _)) if number >= length => {
                            let fault = fault(Code::NoSuchField).expected(format_args!("an index below {length}"));
                            return Err(fault.found(format_args!("[{number}]")));
                        }
                        Some((_, rest)) => place.dims = rest,
                    }
                }
                Step::Slice(slice) => {
                    let Some(place) = &mut found else { continue };
                    let fault = |code| self.fault(code, at).at(before());
                    let Some((dimension, rest)) = place.dims.split_first() else {
                        return Err(fault(Code::WrongType).expected("an array").found(describe(place)));
                    };
                    if place.field.element == Element::Char && rest.is_empty() {
                        return Err(fault(Code::WrongType).expected("an array").found("text"));
                    }
                    place.sliced.push(match dimension {
                        Dimension::Field(_) => Many::Dynamic,
                        Dimension::Fixed(length) => {
                            if slice.from >= *length || slice.to.is_some_and(|to| to > *length) {
                                let fault = fault(Code::NoSuchField);
                                let fault = fault.expected(format_args!("a slice within {length} elements"));
                                return Err(fault.found(path_text(&steps[index..=index])));
                            }
                            Many::Fixed(slice.of(*length).len())
                        }
                    });
                    place.dims = rest;
                }
            }
        }
        found.ok_or_else(|| self.fault(Code::Internal, at).found("a path without a field"))
    }

    fn path(&mut self, steps: &[Step], at: usize) -> Result<Type> {
        let place = self.place(steps, at)?;
        let text = path_text(steps);
        if !self.paths.contains(&text) {
            self.paths.push(text);
        }
        let mut symbols = None;
        let element = &place.field.element;
        let is_text = *element == Element::Char && place.dims.len() == 1 && place.sliced.is_empty();
        let base = match element {
            _ if is_text => {
                match place.dims {
                    [Dimension::Fixed(length)] => self.add(*length as u64 / SEARCHED, 0),
                    _ => self.cost.text = self.cost.text.saturating_add(1),
                }
                Base::Text
            }
            Element::Integer { signed: true, size: ..=8 } => Base::Integer,
            Element::Integer { signed: false, size: ..=8 } => Base::Unsigned,
            Element::Float { .. } => Base::Float,
            Element::Boolean { .. } => Base::Truth,
            Element::String => {
                self.cost.text = self.cost.text.saturating_add(1);
                Base::Text
            }
            Element::Enumeration(enumeration) => {
                symbols = Some(enumeration.symbols().iter().map(|symbol| symbol.name.clone()).collect());
                Base::Text
            }
            Element::Integer { .. } | Element::Complex { .. } | Element::Char | Element::Structure(_) => Base::Other,
        };
        let many = place.all_dims().try_fold(1usize, |count, dim| match dim {
            Many::Fixed(length) => count.checked_mul(length),
            Many::Dynamic => None,
        });
        let many = match many {
            _ if place.all_dims().next().is_none() || is_text => None,
            Some(count) => Some(Many::Fixed(count)),
            None => Some(Many::Dynamic),
        };
        let unit = place.field.unit.as_deref().map(Unit::parse);
        Ok(Type { base, many, unit, literal: false, symbols })
    }

    /// Checks an expression, and adds its cost.
    pub(crate) fn expr(&mut self, expr: &Expr) -> Result<(Node, Type)> {
        let (node, kind, inner) = self.typed(expr)?;
        self.add(1, 0);
        if let Some(many) = inner.or(kind.many) {
            self.add_each(Some(many), 1);
        }
        Ok((node, kind))
    }

    /// Adds steps for a single value, or for each element of an array.
    fn add_each(&mut self, many: Option<Many>, steps: u64) {
        match many {
            None => self.add(steps, 0),
            Some(Many::Fixed(count)) => self.add(steps.saturating_mul(count as u64), 0),
            Some(Many::Dynamic) => self.add(0, steps),
        }
    }

    /// The third is the array that a reduction goes through.
    fn typed(&mut self, expr: &Expr) -> Result<(Node, Type, Option<Many>)> {
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

    fn choice(&mut self, choice: &Choice, at: usize) -> Result<(Node, Type, Option<Many>)> {
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
            (Some(Many::Fixed(m)), Some(Many::Fixed(n))) if m == n => Some(Many::Fixed(m)),
            (Some(Many::Dynamic), Some(_)) | (Some(_), Some(Many::Dynamic)) => Some(Many::Dynamic),
            _ => {
                let fault = self.fault(Code::Shape, at).expected("two single values, or two arrays of equal length");
                return Err(fault.found(format_args!("{} and {}", x.words(), y.words())));
            }
        };
        let kind = Type { base, many, unit, literal: false, symbols: None };
        Ok((Node::Choice(Box::new([condition, a, b]), base), kind, None))
    }

    /// A function over the records of the window.
    fn gathered(&mut self, function: Function, arguments: &[Expr], at: usize) -> Result<(Node, Type, Option<Many>)> {
        self.is_within = true;
        let (gather, kind, inner) = match (function, arguments) {
            (Function::Count, []) => {
                let kind = Type { base: Base::Unsigned, many: None, unit: None, literal: false, symbols: None };
                (Gather::Records, kind, None)
            }
            _ => {
                let (node, kind, inner) = match function {
                    Function::Percentile => self.percentile(arguments, at, true)?,
                    Function::Hist => self.hist(arguments, at, true)?,
                    _ => self.call(function, arguments, at, true)?,
                };
                let gather =
                    Gather::of(node).ok_or_else(|| self.fault(Code::Internal, at).found("another function"))?;
                (gather, kind, inner)
            }
        };
        self.is_within = false;
        let Some(window) = &mut self.window else { return Err(self.fault(Code::Internal, at).found("no window")) };
        let (number, steps) = (window.gathers.len(), window.steps());
        self.add(steps.saturating_mul(gather.ranges().map_or(GATHERED, |ranges| ranges as u64)), 0);
        if let Some(window) = &mut self.window {
            window.gathers.push(gather);
        }
        Ok((Node::Gathered(number), kind, inner))
    }

    /// An array of numbers, which a function goes through; of each record of a window, a single number, too.
    fn numbers(&mut self, expr: &Expr, of_window: bool) -> Result<(Node, Type, Many)> {
        let (node, kind) = self.expr(expr)?;
        self.expect(&kind, NUMBERS, "an array of numbers", expr.at)?;
        match kind.many {
            Some(many) => Ok((node, kind, many)),
            None if of_window => Ok((node, kind, Many::Fixed(1))),
            None => Err(self.fault(Code::WrongType, expr.at).expected("an array").found(kind.words())),
        }
    }

    fn percentile(&mut self, arguments: &[Expr], at: usize, of_window: bool) -> Result<(Node, Type, Option<Many>)> {
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
        match many {
            Many::Fixed(count) => self.add(ordered.saturating_mul(count as u64), 0),
            Many::Dynamic => self.add(0, ordered),
        }
        let kind = Type { base: Base::Float, many: None, literal: false, ..kind };
        Ok((Node::Percentile(Box::new(node), number), kind, Some(many)))
    }

    fn hist(&mut self, arguments: &[Expr], at: usize, of_window: bool) -> Result<(Node, Type, Option<Many>)> {
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
        self.add(count as u64, 0);
        let result =
            Type { base: Base::Unsigned, many: Some(Many::Fixed(count)), unit: None, literal: false, symbols: None };
        Ok((Node::Hist(Box::new(node), Ranges { low, high, count }), result, Some(many)))
    }

    /// Adds to the cost.
    pub(crate) fn add(&mut self, record: u64, element: u64) {
        self.cost.record = self.cost.record.saturating_add(record);
        self.cost.element = self.cost.element.saturating_add(element);
    }

    /// Adds the cost of a search in a text.
    fn search(&mut self, text: &Expr) {
        let length = match &text.kind {
            Kind::Path(steps) => self.place(steps, text.at).ok().and_then(|place| match place.dims {
                [Dimension::Fixed(length)] => Some(*length as u64),
                _ => None,
            }),
            _ => None,
        };
        match length {
            Some(length) => self.add(length / SEARCHED, 0),
            None => self.add(0, 1),
        }
    }

    fn binary(
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
            (Some(Many::Dynamic), _) | (_, Some(Many::Dynamic)) => Some(Many::Dynamic),
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

    fn call(
        &mut self,
        function: Function,
        arguments: &[Expr],
        at: usize,
        of_window: bool,
    ) -> Result<(Node, Type, Option<Many>)> {
        let mut nodes = Vec::with_capacity(arguments.len());
        let mut kinds = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let (node, kind) = self.expr(argument)?;
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
        let inner = first.many;
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
                    self.search(&arguments[0]);
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
                if inner.is_none() || first.base == Base::Other {
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
                if inner.is_none() {
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

    fn expect(&self, kind: &Type, bases: &[Base], expected: &str, at: usize) -> Result<()> {
        match bases.contains(&kind.base) && kind.symbols.is_none() {
            true => Ok(()),
            false => Err(self.fault(Code::WrongType, at).expected(expected).found(kind.words())),
        }
    }

    fn comparable(&self, x: &Type, y: &Type, operator: Operator, at: usize, sides: (&Expr, &Expr)) -> Result<()> {
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
    fn same_unit(&self, x: (&Type, &Expr), y: (&Type, &Expr), at: usize) -> Result<Option<Unit>> {
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

const NUMBERS: &[Base] = &[Base::Integer, Base::Unsigned, Base::Float];

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
fn literal(expr: &Expr) -> Option<f64> {
    match &expr.kind {
        Kind::Integer(number, _) => Some(*number as f64),
        Kind::Float(number, _) => Some(*number),
        Kind::Negative(inner) => literal(inner).map(|number| -number),
        _ => None,
    }
}

impl Place<'_> {
    /// The dimensions of its value: those that are sliced, and the others.
    pub(crate) fn all_dims(&self) -> impl Iterator<Item = Many> {
        let others = self.dims.iter().map(|dim| match dim {
            Dimension::Fixed(length) => Many::Fixed(*length),
            Dimension::Field(_) => Many::Dynamic,
        });
        self.sliced.iter().copied().chain(others)
    }
}

fn describe(place: &Place<'_>) -> String {
    match place.dims.is_empty() && place.sliced.is_empty() {
        true => place.field.element.to_string(),
        false => format!("an array of {}", place.field.element),
    }
}

impl Type {
    fn words(&self) -> String {
        let one = match self.base {
            _ if self.symbols.is_some() => "a symbol",
            Base::Integer | Base::Unsigned => "an integer",
            Base::Float => "a floating-point number",
            Base::Truth => "a condition",
            Base::Text => "text",
            Base::Other => "a value that cannot be computed with",
        };
        if self.many.is_some() { format!("an array, each {one}") } else { one.into() }
    }
}
