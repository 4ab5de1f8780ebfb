//! A tree against a format: every path has a field, every operation has operands that it can take, and units agree.
//!
//! This module has the stages; `path`, `expr` and `function` have what is in them, and `node` what is made of it.

mod expr;
mod function;
mod node;
mod path;

use crate::MAX_STATE;
use crate::lex::fault;
use crate::outcome::Outcome;
use crate::tree::{Changed, Expr, Kind, Span, Stage};
use crate::window::Windowed;
use expr::NUMBERS;
use isoform_core::{Code, Dimension, Error, Format, Layout, Result, Structure};
pub(crate) use node::{Base, Changes, Many, Node, Passage, Ranges, Type};

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
}
