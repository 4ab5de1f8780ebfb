//! Words to a tree, within the limits on length, size and depth.

use crate::lex::{self, Word, fault};
use crate::normal::path_text;
use crate::tree::{
    COMPARISON, Changed, Choice, Expr, Function, Item, Kind, NOT, Operator, SIGN, Slice, Span, Stage, Step,
};
use crate::{MAX_DEPTH, MAX_NODES, MAX_PARTS, MAX_STEPS, MAX_TEXT};
use isoform_core::{Code, Error, Result};

/// The stages of each part.
pub(crate) fn parse(text: &str) -> Result<Vec<Vec<Stage>>> {
    if text.len() > MAX_TEXT {
        let error = Error::new(Code::Text).expected(format_args!("a query of at most {MAX_TEXT} bytes"));
        return Err(error.found(format_args!("{} bytes", text.len())));
    }
    let mut parser = Parser { text, words: lex::words(text)?, next: 0, nodes: 0, depth: 0 };
    let mut parts = vec![parser.part()?];
    while parser.takes("||") {
        if parts.len() == MAX_PARTS {
            return Err(parser.fault(&format!("at most {MAX_PARTS} parts")));
        }
        parts.push(parser.part()?);
    }
    match parser.peek() {
        Word::End => Ok(parts),
        _ => Err(parser.fault("an operator, |, || or the end")),
    }
}

struct Parser<'t> {
    text: &'t str,
    words: Vec<(Word, usize)>,
    next: usize,
    nodes: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Word {
        &self.words[self.next].0
    }

    fn at(&self) -> usize {
        self.words[self.next].1
    }

    fn take(&mut self) -> Word {
        let word = self.peek().clone();
        self.next = (self.next + 1).min(self.words.len() - 1);
        word
    }

    fn is(&self, word: &str) -> bool {
        matches!(self.peek(), Word::Sign(sign) | Word::Keyword(sign) if *sign == word)
    }

    fn takes(&mut self, word: &str) -> bool {
        let is = self.is(word);
        if is {
            self.take();
        }
        is
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.fault(&format!("\"{sign}\""))) }
    }

    fn fault(&self, expected: &str) -> Error {
        fault(Code::Text, self.text, self.at()).expected(expected).found(self.peek())
    }

    fn part(&mut self) -> Result<Vec<Stage>> {
        let mut stages = vec![self.stage()?];
        while self.takes("|") {
            if let Some(Stage::Select(_)) = stages.last() {
                return Err(
                    self.fault("nothing behind select, which is the last stage, or || and a query of its results")
                );
            }
            if let Some(Stage::Window(_)) = stages.last()
                && !self.is("select")
            {
                return Err(self.fault("select, which says what to compute of a window"));
            }
            if self.is("key") && stages.iter().any(|stage| matches!(stage, Stage::Key(_))) {
                return Err(self.fault("one key, of all values together"));
            }
            stages.push(self.stage()?);
        }
        match (stages.last(), self.peek()) {
            (Some(Stage::Window(_)), Word::End | Word::Sign("||")) => {
                Err(self.fault("| select, which says what to compute of a window"))
            }
            _ => Ok(stages),
        }
    }

    fn stage(&mut self) -> Result<Stage> {
        if self.takes("where") {
            return Ok(Stage::Where(self.expr(0)?));
        }
        if self.takes("key") {
            return Ok(Stage::Key(self.commas()?));
        }
        if self.takes("changed") {
            let expr = self.expr(0)?;
            if !self.takes("by") {
                return Err(self.fault("by, and the least difference"));
            }
            let by = match self.peek() {
                Word::Integer(..) | Word::Float(..) => self.operand()?,
                _ => return Err(self.fault("a number")),
            };
            let mut every = None;
            if self.takes("or") {
                if !self.takes("every") {
                    return Err(self.fault("every, and a duration"));
                }
                every = Some(self.duration()?);
            }
            return Ok(Stage::Changed(Changed { expr, by, every }));
        }
        if self.takes("select") {
            let mut items = vec![self.item()?];
            while self.takes(",") {
                items.push(self.item()?);
            }
            return Ok(Stage::Select(items));
        }
        if self.takes("every") {
            return match *self.peek() {
                Word::Integer(count, None) if count > 0 => {
                    self.take();
                    Ok(Stage::Every(count))
                }
                Word::Integer(_, Some(_)) | Word::Float(_, Some(_)) => self.duration().map(Stage::Rate),
                _ => Err(self.fault("a number of records, from 1, or a duration")),
            };
        }
        if self.takes("window") {
            return self.span().map(Stage::Window);
        }
        Err(self.fault("where, select, every, changed, key or window"))
    }

    /// The length of a window, and its step.
    fn span(&mut self) -> Result<Span> {
        // The word behind a number is a unit elsewhere.
        let (number, has_step) = match self.peek() {
            Word::Integer(number, None) => (Some(*number), false),
            Word::Integer(number, Some(unit)) if &**unit == "step" => (Some(*number), true),
            _ => (None, false),
        };
        let is_time = number.is_none();
        let length = match number {
            Some(0) => return Err(self.fault("a number of records, from 1")),
            Some(number) => {
                self.take();
                number
            }
            None if matches!(self.peek(), Word::Integer(..) | Word::Float(..)) => self.duration()?,
            None => return Err(self.fault("a number of records, as 100, or a duration, as 1 s")),
        };
        let mut step = length;
        let is_step = matches!(self.peek(), Word::Name(name) if &**name == "step");
        if has_step || is_step {
            if is_step {
                self.take();
            }
            let fits = |step: u64| length.is_multiple_of(step) && length / step <= MAX_STEPS;
            let expected = self.fault(&format!("a step of which the window is a multiple, at most {MAX_STEPS} of it"));
            step = match *self.peek() {
                _ if is_time => self.duration()?,
                Word::Integer(count, None) if count > 0 => {
                    self.take();
                    count
                }
                _ => return Err(self.fault("a number of records, from 1")),
            };
            if !fits(step) {
                return Err(expected);
            }
        }
        Ok(if is_time { Span::Time(length, step) } else { Span::Records(length, step) })
    }

    /// A number with a unit of time, in nanoseconds.
    fn duration(&mut self) -> Result<u64> {
        let expected = "a duration from 1 ns, as 100 ms, with one of the units ns, us, ms, s, min, h";
        let nanoseconds = match self.peek() {
            Word::Integer(number, Some(unit)) => nanoseconds(unit).and_then(|scale| number.checked_mul(scale)),
            // What is too long saturates.
            Word::Float(number, Some(unit)) => nanoseconds(unit).map(|scale| (number * scale as f64).round() as u64),
            _ => None,
        };
        match nanoseconds.filter(|nanoseconds| (1..MAX_DURATION).contains(nanoseconds)) {
            Some(nanoseconds) => {
                self.take();
                Ok(nanoseconds)
            }
            None => Err(self.fault(expected)),
        }
    }

    /// `deep = max(depth)`, or an expression, which then is its own name.
    fn item(&mut self) -> Result<Item> {
        if let (Word::Name(name) | Word::Quoted(name), Some((Word::Sign("="), _))) =
            (self.peek().clone(), self.words.get(self.next + 1))
        {
            self.take();
            self.take();
            return Ok(Item { name, expr: self.expr(0)? });
        }
        let expr = self.expr(0)?;
        match default_name(&expr) {
            Some(name) => Ok(Item { name, expr }),
            None => Err(fault(Code::Text, self.text, expr.at).expected("NAME = in front of what is computed")),
        }
    }

    fn node(&mut self, at: usize, kind: Kind) -> Result<Expr> {
        self.nodes += 1;
        match self.nodes > MAX_NODES {
            true => Err(fault(Code::Text, self.text, at)
                .expected(format_args!("at most {MAX_NODES} operations and values"))
                .found("more")),
            false => Ok(Expr { at, kind }),
        }
    }

    /// An expression of operators that bind at least as strongly as `least`.
    fn expr(&mut self, least: u8) -> Result<Expr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let fault = fault(Code::Depth, self.text, self.at());
            return Err(fault.expected(format_args!("at most {MAX_DEPTH} levels")).found("more"));
        }
        let mut left = self.operand()?;
        loop {
            if least == 0 && self.is("if") {
                let at = self.at();
                self.take();
                let condition = self.expr(Operator::Or.strength())?;
                if !self.takes("else") {
                    return Err(self.fault("else"));
                }
                let otherwise = self.expr(0)?;
                left = self.node(at, Kind::Choice(Box::new(Choice { condition, then: left, otherwise })))?;
                continue;
            }
            let at = self.at();
            if least <= COMPARISON && (self.is("in") || self.is("not")) {
                let not = self.takes("not");
                if !self.takes("in") {
                    return Err(self.fault("in"));
                }
                self.expect("(")?;
                let choices = self.list()?;
                left = self.node(at, Kind::In(Box::new(left), choices))?;
                if not {
                    left = self.node(at, Kind::Not(Box::new(left)))?;
                }
                self.no_comparison()?;
                continue;
            }
            if self.is("=") {
                return Err(self.fault("==, to compare; a single = only names what select makes"));
            }
            let operator = Operator::ALL.iter().copied().find(|operator| self.is(operator.word()));
            let Some(operator) = operator.filter(|operator| operator.strength() >= least) else { break };
            self.take();
            let right = self.expr(operator.strength() + 1)?;
            left = self.node(at, Kind::Binary(operator, Box::new(left), Box::new(right)))?;
            if operator.strength() == COMPARISON {
                self.no_comparison()?;
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Refuses `a < b < c`, which readers understand in two ways.
    fn no_comparison(&self) -> Result<()> {
        let again = Operator::ALL.iter().any(|o| o.strength() == COMPARISON && self.is(o.word()));
        if again || self.is("in") {
            Err(self.fault("and, or, or parentheses around the first comparison"))
        } else {
            Ok(())
        }
    }

    fn operand(&mut self) -> Result<Expr> {
        let at = self.at();
        if self.takes("not") {
            let inner = self.expr(NOT)?;
            return self.node(at, Kind::Not(Box::new(inner)));
        }
        if self.takes("-") {
            let inner = self.expr(SIGN)?;
            return self.node(at, Kind::Negative(Box::new(inner)));
        }
        if self.takes("(") {
            let inner = self.expr(0)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let kind = match self.peek().clone() {
            Word::Integer(number, unit) => Kind::Integer(number, unit),
            Word::Float(number, unit) => Kind::Float(number, unit),
            Word::Text(text) => Kind::Text(text),
            Word::Keyword("true") => Kind::Truth(true),
            Word::Keyword("false") => Kind::Truth(false),
            Word::Name(name) if matches!(self.words.get(self.next + 1), Some((Word::Sign("("), _))) => {
                return self.call(&name);
            }
            Word::Name(name) | Word::Quoted(name) => return self.path(name),
            _ => return Err(self.fault("a field, a number, a text or a function")),
        };
        self.take();
        self.node(at, kind)
    }

    fn call(&mut self, name: &str) -> Result<Expr> {
        let at = self.at();
        let Some(function) = Function::ALL.iter().copied().find(|function| function.word() == name) else {
            let names: Vec<_> = Function::ALL.iter().map(|function| function.word()).collect();
            return Err(self.fault(&format!("one of the functions {}", names.join(", "))));
        };
        self.take();
        self.take();
        let arguments = if self.takes(")") { Vec::new() } else { self.list()? };
        let (least, most) = function.arguments();
        if !(least..=most).contains(&arguments.len()) {
            let fault = fault(Code::Text, self.text, at);
            let words = if most == 1 { "argument" } else { "arguments" };
            return Err(fault.expected(format_args!("{most} {words} of {name}")).found(arguments.len()));
        }
        self.node(at, Kind::Call(function, arguments))
    }

    /// Expressions with commas between them, up to a closing parenthesis.
    fn list(&mut self) -> Result<Vec<Expr>> {
        let list = self.commas()?;
        self.expect(")")?;
        Ok(list)
    }

    fn commas(&mut self) -> Result<Vec<Expr>> {
        let mut list = vec![self.expr(0)?];
        while self.takes(",") {
            list.push(self.expr(0)?);
        }
        Ok(list)
    }

    fn path(&mut self, name: Box<str>) -> Result<Expr> {
        let at = self.at();
        self.take();
        let mut steps = vec![Step::Field(name)];
        loop {
            if self.takes(".") {
                match self.peek().clone() {
                    Word::Name(name) | Word::Quoted(name) => steps.push(Step::Field(name)),
                    _ => return Err(self.fault("the name of a field")),
                }
                self.take();
            } else if self.takes("[") {
                let first = self.index();
                let step = match (first, self.is(":")) {
                    (_, true) => Step::Slice(self.slice(first.unwrap_or(0))?),
                    (Some(index), false) => Step::Index(index),
                    (None, false) => return Err(self.fault("an index, or a slice")),
                };
                steps.push(step);
                self.expect("]")?;
            } else {
                return self.node(at, Kind::Path(steps));
            }
        }
    }
}

impl Parser<'_> {
    /// An index, if there is one.
    fn index(&mut self) -> Option<usize> {
        let Word::Integer(index, None) = *self.peek() else { return None };
        let index = usize::try_from(index).ok()?;
        self.take();
        Some(index)
    }

    /// What is behind the first number of a slice.
    fn slice(&mut self, from: usize) -> Result<Slice> {
        self.expect(":")?;
        let to = self.index();
        let mut step = 1;
        if self.takes(":") {
            let expected = self.fault("a step, from 1");
            step = self.index().filter(|step| *step > 0).ok_or(expected)?;
        }
        if to.is_some_and(|to| to <= from) {
            return Err(self.fault("a slice that ends behind its beginning"));
        }
        Ok(Slice { from, to, step })
    }
}

/// The longest duration, and one nanosecond.
const MAX_DURATION: u64 = 1 << 62;

/// The length of a unit of time.
fn nanoseconds(unit: &str) -> Option<u64> {
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, nanoseconds)| *nanoseconds)
}

/// The units of durations, in nanoseconds.
pub(crate) const UNITS: &[(&str, u64)] = &[
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The name in a result of a path or a plain call, which needs no other.
pub(crate) fn default_name(expr: &Expr) -> Option<Box<str>> {
    match &expr.kind {
        Kind::Path(steps) => Some(name_of_path(steps)),
        Kind::Call(function, arguments) => {
            let mut name = String::from(function.word());
            for argument in arguments {
                name = name + "_" + &name_of_argument(&argument.kind)?;
            }
            Some(name.into())
        }
        _ => None,
    }
}

/// The path itself, with `_` in place of signs, as in `grid_3_rho`.
fn name_of_path(steps: &[Step]) -> Box<str> {
    match steps {
        [Step::Field(name)] => name.clone(),
        _ => path_text(steps).replace(['.', '[', ':'], "_").replace([']', '`'], "").into(),
    }
}

fn name_of_argument(kind: &Kind) -> Option<Box<str>> {
    match kind {
        Kind::Path(steps) => Some(name_of_path(steps)),
        Kind::Integer(number, None) => Some(number.to_string().into()),
        Kind::Float(number, None) => Some(format!("{number:?}").replace('.', "_").replace('-', "").into()),
        Kind::Negative(inner) if matches!(inner.kind, Kind::Integer(..) | Kind::Float(..)) => {
            name_of_argument(&inner.kind)
        }
        _ => None,
    }
}
