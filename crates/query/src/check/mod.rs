//! A tree against a format: every path has a field, every operation has operands that it can take, and units agree.
//!
//! This module has the stages; `path`, `expr` and `function` have what is in them, and `node` what is made of it.

mod expr;
mod function;
mod node;
mod path;

use crate::MAX_STATE;
use crate::engine::{Engine, foreseen};
use crate::lex::fault;
use crate::outcome::{Outcome, too_many_fields};
use crate::tree::{Changed, Expr, Kind, Span, Stage};
use crate::window::Windowed;
use expr::NUMBERS;
use isoform_core::format::MAX_FIELDS;
use isoform_core::{Code, Dimension, Element, Error, Format, Layout, Result, Structure};
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
    /// What its stages take for a record, and what its result takes if they let one pass.
    pub(crate) costs: [Cost; 2],
    uses_time: bool,
    paths: Vec<String>,
}

/// An upper bound of the work for one record: reads of values, and operations on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Steps for each record, those for arrays of fixed length included.
    pub record: u64,
    /// Those of them that are operations on single values, and not on elements of arrays: so many can become machine code.
    pub operations: u64,
    /// Those of them that look at 8 bytes of texts of fixed length, or copy 32 bytes of fixed arrays and records.
    pub blocks: u64,
    /// Half of those of them that belong to a sum, mean, minimum, maximum or deviation of an array of doubles, as it is in the record: its
    /// elements, which are two steps each.
    pub doubles: u64,
    /// Further steps for each element of the longest array of variable length.
    pub element: u64,
    /// Half of those that are as [`doubles`](Cost::doubles).
    pub element_doubles: u64,
    /// Further steps for each element of that array, but at most [`sliced_most`](Cost::sliced_most): those for slices whose ends the
    /// query tells.
    pub sliced: u64,
    /// The most of those steps, as if all slices were whole.
    pub sliced_most: u64,
    /// Further steps for each 8 bytes of the texts of variable length: how often the query looks at such a text from its beginning to
    /// its end.
    pub text: u64,
}

impl Cost {
    /// Both, number by number.
    fn with(self, other: Cost, each: impl Fn(u64, u64) -> u64) -> Cost {
        Cost {
            record: each(self.record, other.record),
            operations: each(self.operations, other.operations),
            blocks: each(self.blocks, other.blocks),
            doubles: each(self.doubles, other.doubles),
            element: each(self.element, other.element),
            element_doubles: each(self.element_doubles, other.element_doubles),
            sliced: each(self.sliced, other.sliced),
            sliced_most: each(self.sliced_most, other.sliced_most),
            text: each(self.text, other.text),
        }
    }

    /// The sum of both.
    pub(crate) fn and(self, other: Cost) -> Cost {
        self.with(other, u64::saturating_add)
    }

    /// So many times as much. Numbers that are too large begin at 0 again, as in [`plus`](Cost::plus).
    pub(crate) fn times(self, count: u64) -> Cost {
        self.with(Cost::default(), |each, _| each.wrapping_mul(count))
    }

    pub(crate) fn plus(self, other: Cost) -> Cost {
        self.with(other, u64::wrapping_add)
    }

    /// What was added since an earlier sum.
    pub fn since(self, earlier: Cost) -> Cost {
        self.with(earlier, u64::wrapping_sub)
    }

    /// So many operations on single values.
    pub(crate) fn operations(count: u64) -> Cost {
        Cost { record: count, operations: count, ..Cost::default() }
    }
}

/// The most ranges of a histogram.
const RANGES: u64 = 1024;
/// The bytes of a text that are looked at in one step.
const SEARCHED: u64 = 8;
/// The bytes of fixed arrays and records that are copied in one step.
const BLOCK: u64 = 32;

// Further steps, besides the one that each operation counts: `isoform-hostile prices` compares them with instructions.

/// For each name and index of a path.
const LOOKUP: u64 = 3;
/// For a function.
const CALL: u64 = 7;
/// For each element of a path with slices.
const SLICED: u64 = 3;
/// For each element that is a symbol, and for each that is a string.
const SYMBOL: u64 = 6;
const STRING: u64 = 20;
/// For each operation on two integers, and if it divides.
const INTEGER: u64 = 1;
const DIVISION: u64 = 2;
/// For each remainder of floats, which may take a division for some of the binary digits of the quotient.
const REMAINDER: u64 = 15;
/// For each element of an array that is ordered.
const ORDERED: u64 = 5;
/// For a sum, mean, minimum, maximum or deviation of what are no doubles as they are in the record, for each element.
const REDUCED: u64 = 1;
/// For a search in a text, and looks at that.
const SEARCH: u64 = 2;
const FOUND: u64 = 2;
/// For `changed`, and for each element of its value.
const CHANGED: u64 = 6;
const COMPARED: u64 = 4;
/// For `key`, whose states are rarely in a cache, for each of its values, and looks at each that is a text.
const KEY: u64 = 40;
const KEYED: u64 = 8;
const HASHED: u64 = 15;
/// For `every` behind another stage.
const EVERY: u64 = 2;
/// For a window, and for its result; and for each function and each step of the window in a result.
const WINDOW: u64 = 6;
const CLOSED: u64 = 6;
const GATHERED: u64 = 1;
/// The ranges of histograms that are added in one step.
const ADDED: u64 = 8;
/// For a result, for each of its values, and for each element of a computed array.
const RESULT: u64 = 6;
const ITEM: u64 = 5;
const WRITTEN: u64 = 3;
/// For each row of an array, of which a part is copied.
const ROW: u64 = 6;
/// How often a copy of what has a variable length counts as a look at it.
const COPIED: u64 = 2;
/// For each string that is copied.
const TEXT: u64 = 4;
/// For each value that is not copied as bytes, since the result is for another machine.
const VALUE: u64 = 12;
/// For each part behind the first, which verifies the results of the part before it.
const PART: u64 = 8;

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
        next.costs[0] = next.costs[0].and(Cost::operations(PART));
        checked.push(next);
        let made: usize = checked.iter().map(Checked::made).sum();
        if made > MAX_FIELDS {
            return Err(too_many_fields(Error::new(Code::Fields).at("query"), made));
        }
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
        costs: [Cost::default(); 2],
        uses_time: false,
        paths: Vec::new(),
        window: None,
        is_result: false,
        is_within: false,
    };
    let mut checked = Vec::new();
    let mut outcome = None;
    for stage in stages {
        match stage {
            Stage::Where(condition) => checked.push(Passage::Where(checker.condition(condition)?)),
            Stage::Every(1) => {}
            Stage::Every(count) if checked.is_empty() => checked.push(Passage::Every(*count)),
            Stage::Every(count) => {
                checker.add(EVERY, 0);
                checked.push(Passage::Count(*count));
            }
            Stage::Rate(duration) => {
                checker.add(EVERY, 0);
                checker.uses_time = true;
                checked.push(Passage::Rate(*duration));
            }
            Stage::Changed(changed) => checked.push(Passage::Changed(checker.changes(changed)?)),
            Stage::Key(values) => {
                checker.add(KEY, 0);
                let nodes = values.iter().map(|value| checker.key(value));
                checked.push(Passage::Key(nodes.collect::<Result<_>>()?));
            }
            Stage::Window(span) => {
                checker.add(WINDOW, 0);
                checker.uses_time |= matches!(span, Span::Time(..));
                checker.window = Some(Windowed::new(*span));
            }
            Stage::Select(items) => {
                checker.is_result = true;
                checker.add(if checker.window.is_some() { RESULT + CLOSED } else { RESULT }, 0);
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
    let Checker { costs, uses_time, paths, .. } = checker;
    Ok(Checked { stages: checked, outcome, input: format.clone(), memory, next: None, costs, uses_time, paths })
}

impl Checked {
    /// The format of the results: that of the records, unless the query selects.
    #[inline]
    pub fn format(&self) -> &Format {
        match &self.next {
            Some(next) => next.format(),
            None => self.outcome.as_ref().map_or(&self.input, |outcome| &outcome.format),
        }
    }

    /// The number of fields in the formats of the results of all its parts. Without `select`, 0.
    ///
    /// ```
    /// # use isoform_core::{Layout, Shape};
    /// # use isoform_query::Query;
    /// let format = Shape::new("Gauge").field("step", "i32").field("depth", "double[40]").on(&Layout::NATIVE)?;
    /// let fields = |text: &str| Ok::<_, isoform_core::Error>(Query::parse(text)?.check(&format, &Layout::NATIVE)?.made_fields());
    /// assert_eq!((fields("where step > 3")?, fields("select step, depth || select step")?), (0, 3));
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn made_fields(&self) -> usize {
        self.parts().map(Checked::made).sum()
    }

    /// Those of this part's results.
    fn made(&self) -> usize {
        self.outcome.as_ref().map_or(0, |outcome| outcome.format.structure().total_fields())
    }

    /// Its parts, of which each is checked against the results of the one in front of it.
    fn parts(&self) -> impl Iterator<Item = &Checked> {
        std::iter::successors(Some(self), |part| part.next.as_deref())
    }

    /// An upper bound of the work for one record, of all parts together.
    pub fn cost(&self) -> Cost {
        self.parts().flat_map(|part| part.costs).fold(Cost::default(), Cost::and)
    }

    /// What is likely to evaluate it when machine code was made for it: the interpreter alone if there is no code for any of it. Also the number of
    /// operations, literals and paths of which code would be made. To know for sure, make it.
    ///
    /// ```
    /// # use isoform_core::{Layout, Shape};
    /// # use isoform_query::{Engine, Query};
    /// let format = Shape::new("Gauge").field("depth", "double").on(&Layout::NATIVE)?;
    /// let engine = |text: &str| Ok::<_, isoform_core::Error>(Query::parse(text)?.check(&format, &Layout::NATIVE)?.engine());
    /// assert_eq!(engine("changed depth by 0.1")?, (Engine::Interpreter, 0));
    /// assert_ne!(engine("where depth > 2 | changed depth by 0.1")?.0, Engine::Generated);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn engine(&self) -> (Engine, u64) {
        let mut parts = self.parts().map(foreseen);
        let first = parts.next().unwrap_or((Engine::Interpreter, 0));
        parts.fold(first, |(engine, count), (other, more)| {
            (if engine == other { engine } else { Engine::Both }, count.saturating_add(more))
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
    /// As in [`Checked`].
    costs: [Cost; 2],
    uses_time: bool,
    paths: Vec<String>,
    /// The window of which values are selected, if there is one.
    window: Option<Windowed>,
    /// Whether this is in `select`; and whether it is within a function over the records of the window, which is evaluated for each
    /// record all the same.
    is_result: bool,
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
        self.add(CHANGED, 0);
        if let Some(many) = kind.many {
            self.add_each(Some(many), COMPARED);
        }
        Ok(Changes { node, by: least, every: *every })
    }

    /// A value of a key.
    fn key(&mut self, expr: &Expr) -> Result<Node> {
        let (node, kind) = self.expr(expr)?;
        self.add(KEYED, 0);
        if kind.base == Base::Text {
            self.look(expr, HASHED);
        }
        let is_key = matches!(kind.base, Base::Integer | Base::Unsigned | Base::Truth | Base::Text);
        match is_key && kind.many.is_none() {
            true => Ok(node),
            false => {
                let fault = self.fault(Code::WrongType, expr.at);
                Err(fault.expected("a single integer, condition, text or symbol").found(kind.words()))
            }
        }
    }

    /// What the stages take so far, or the result if this belongs to it.
    fn cost(&mut self) -> &mut Cost {
        &mut self.costs[usize::from(self.is_result && !self.is_within)]
    }

    /// Adds what a value of a result takes, and each element of it if it was computed.
    pub(crate) fn item(&mut self, computed: Option<Many>) {
        self.add(ITEM, 0);
        if let Some(many) = computed {
            self.add_each(Some(many), WRITTEN);
        }
    }

    pub(crate) fn add_cost(&mut self, cost: Cost) {
        *self.cost() = self.cost().and(cost);
    }

    /// Adds operations to the cost, and steps for each element of an array of variable length.
    pub(crate) fn add(&mut self, operations: u64, element: u64) {
        self.add_cost(Cost { element, ..Cost::operations(operations) });
    }

    /// Adds steps for each of so many elements.
    pub(crate) fn add_many(&mut self, many: Many, steps: u64) {
        let most = |count: usize| steps.saturating_mul(count as u64);
        match many {
            Many::Fixed(count) => self.add_fixed(most(count)),
            Many::UpTo(count) => self.add_cost(Cost { sliced: steps, sliced_most: most(count), ..Cost::default() }),
            Many::Dynamic => self.add(0, steps),
        }
    }

    /// Adds steps for elements whose number the format tells.
    pub(crate) fn add_fixed(&mut self, steps: u64) {
        self.add_cost(Cost { record: steps, ..Cost::default() });
    }

    /// Adds steps for bytes whose number the format tells.
    pub(crate) fn add_blocks(&mut self, steps: u64) {
        self.add_cost(Cost { record: steps, blocks: steps, ..Cost::default() });
    }

    /// Adds looks at texts of variable length.
    pub(crate) fn add_texts(&mut self, looks: u64) {
        self.add_cost(Cost { text: looks, ..Cost::default() });
    }

    /// Adds what a function of an array of doubles takes, as it is in the record.
    fn add_doubles(&mut self, many: Many) {
        self.add_cost(match many {
            Many::Fixed(count) => {
                let doubles = count as u64;
                Cost { record: doubles.saturating_mul(2), doubles, ..Cost::default() }
            }
            // A slice is no array of the record, and goes another way.
            Many::UpTo(_) => return self.add_many(many, 2),
            Many::Dynamic => Cost { element: 2, element_doubles: 1, ..Cost::default() },
        });
    }

    /// Adds so many further looks at a text, besides that of its path.
    fn look(&mut self, text: &Expr, looks: u64) {
        let length = match &text.kind {
            Kind::Path(steps) => self.place(steps, text.at).ok().and_then(|place| match place.dims {
                [Dimension::Fixed(length)] if place.field.element == Element::Char => Some(*length as u64),
                _ => None,
            }),
            _ => None,
        };
        match length {
            Some(length) => self.add_blocks(looks.saturating_mul(length) / SEARCHED),
            None => self.add_texts(looks),
        }
    }
}
