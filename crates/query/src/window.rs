//! The records of a window: what each of its steps remembers of them, and what the steps make together.

use crate::check::{Base, Node, Ranges};
use crate::eval::{Cell, Scalar, Scope, doubles, eval};
use crate::place::Place;
use crate::reduce::{self, Lanes, Spread};
use crate::run::{Account, Event};
use crate::state::{Entry, Memory};
use crate::tree::{Function, Span};
use isoform_core::Structure;
use std::collections::VecDeque;

/// What a step takes, and what each function takes of it.
const STEP: usize = 64;
const GATHER: usize = 96;
/// What a remembered number takes, and a range of a histogram.
const NUMBER: usize = 8;

/// A checked window, with the functions over its records.
#[derive(Clone, Debug)]
pub(crate) struct Windowed {
    span: Span,
    pub(crate) gathers: Vec<Gather>,
}

/// A function over the records of a window, and its argument for each of them.
#[derive(Clone, Debug)]
pub(crate) enum Gather {
    Records,
    Reduce(Function, Argument, Base),
    Percentile(Argument, f64),
    Hist(Argument, Ranges),
}

/// What a function looks at in each record.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    node: Node,
    /// Where it is, if it is a number at the same place in every record.
    place: Option<Place>,
}

impl Argument {
    fn of(node: Node, root: &Structure) -> Argument {
        let place = if let Node::Path(steps) = &node { Place::of(steps, root) } else { None };
        Argument { node, place }
    }

    /// The number at its place.
    #[inline]
    fn number(&self, scope: &Scope<'_, '_>) -> Option<Scalar<'static>> {
        self.place.zip(scope.view).map(|(place, view)| place.read(view.bytes()))
    }

    fn value<'a>(&'a self, scope: &mut Scope<'a, '_>) -> Cell<'a> {
        match self.number(scope) {
            Some(number) => Cell::One(number),
            None => eval(&self.node, scope),
        }
    }
}

impl Gather {
    /// What a checked function becomes, for records of this structure.
    pub(crate) fn of(node: Node, root: &Structure) -> Option<Gather> {
        match node {
            Node::Call(function, arguments, base) => {
                Some(Gather::Reduce(function, Argument::of(arguments.into_iter().next()?, root), base))
            }
            Node::Percentile(inner, percent) => Some(Gather::Percentile(Argument::of(*inner, root), percent)),
            Node::Hist(inner, ranges) => Some(Gather::Hist(Argument::of(*inner, root), ranges)),
            _ => None,
        }
    }

    fn argument(&self) -> Option<&Argument> {
        match self {
            Gather::Records => None,
            Gather::Reduce(_, argument, _) | Gather::Percentile(argument, _) | Gather::Hist(argument, _) => {
                Some(argument)
            }
        }
    }

    /// The ranges of a histogram.
    pub(crate) fn ranges(&self) -> Option<usize> {
        match self {
            Gather::Hist(_, ranges) => Some(ranges.count),
            _ => None,
        }
    }
}

impl Windowed {
    pub(crate) fn new(span: Span) -> Windowed {
        Windowed { span, gathers: Vec::new() }
    }

    /// How many steps the window has.
    pub(crate) fn steps(&self) -> u64 {
        let (Span::Records(length, step) | Span::Time(length, step)) = self.span;
        length / step
    }

    /// What a step takes, without numbers and texts.
    fn size(&self) -> usize {
        let ranges: usize = self.gathers.iter().filter_map(Gather::ranges).sum();
        STEP + GATHER * self.gathers.len() + NUMBER * ranges
    }

    /// Checks that all steps have room in so many bytes; otherwise, says what was expected, and what was found.
    pub(crate) fn expect_room(&self, room: usize) -> Result<(), (String, String)> {
        let taken = (self.size() as u64).saturating_mul(self.steps());
        match taken <= room as u64 {
            true => Ok(()),
            false => Err((
                format!("a window whose steps take at most {room} bytes together"),
                format!("{} steps, of {} bytes each", self.steps(), self.size()),
            )),
        }
    }
}

/// The records of a window at work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// Those steps in which records came, the oldest first.
    steps: VecDeque<Step>,
    /// Whether the last of them may get more records.
    is_open: bool,
}

#[derive(Clone, Debug)]
struct Step {
    number: u64,
    records: u64,
    last: Event,
    parts: Vec<Part>,
    /// What it takes.
    size: usize,
}

/// What a step remembers for a function.
#[derive(Clone, Debug)]
enum Part {
    Records,
    /// Of floats; of integers, and how many those are.
    Sum(Lanes, i128, u64),
    /// The least or the greatest number; absent if there is none.
    Best(Scalar<'static>),
    Spread(Spread),
    Numbers(Vec<f64>),
    Counts(Vec<u64>),
    Truths {
        any: bool,
        all: bool,
        count: u64,
    },
    /// The first or the last value.
    One(Option<Held>),
    /// There was no room for it.
    Lost,
}

/// A value that outlives its record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Held {
    Absent,
    Integer(i128),
    Float(f64),
    Truth(bool),
    Text(Box<[u8]>),
    Counts(Vec<u64>),
}

impl Held {
    fn of(scalar: Scalar<'_>) -> Held {
        match scalar {
            Scalar::Absent => Held::Absent,
            Scalar::Integer(number) => Held::Integer(number),
            Scalar::Float(number) => Held::Float(number),
            Scalar::Truth(truth) => Held::Truth(truth),
            Scalar::Text(text) => Held::Text(text.into()),
        }
    }

    pub(crate) fn cell(&self) -> Cell<'_> {
        Cell::One(match self {
            Held::Absent => Scalar::Absent,
            Held::Integer(number) => Scalar::Integer(*number),
            Held::Float(number) => Scalar::Float(*number),
            Held::Truth(truth) => Scalar::Truth(*truth),
            Held::Text(text) => Scalar::Text(text),
            Held::Counts(counts) => {
                return Cell::Many(counts.iter().map(|count| Scalar::Integer((*count).into())).collect());
            }
        })
    }
}

/// What a window makes when a step ends: the values of its functions, and the number and the time of the result.
pub(crate) type Closed = (Vec<Held>, Event);

/// Where a window takes its room from.
pub(crate) struct Room<'m> {
    pub(crate) memory: &'m mut Memory,
    pub(crate) entry: &'m mut Entry,
}

impl Room<'_> {
    fn take(&mut self, bytes: usize, account: &mut Account) -> bool {
        let fits = self.memory.grow(self.entry, bytes);
        if !fits {
            account.fault();
        }
        fits
    }

    fn give(&mut self, bytes: usize) {
        self.memory.shrink(self.entry, bytes);
    }
}

impl Window {
    /// A record has reached the window. Returns the result if a step ends with it.
    pub(crate) fn add<'a>(
        &mut self,
        windowed: &'a Windowed,
        scope: &mut Scope<'a, '_>,
        room: &mut Room<'_>,
    ) -> Option<Closed> {
        let current = self.steps.back().map(|step| step.number);
        let (closed, number) = match windowed.span {
            Span::Records(..) => (None, current.map_or(0, |current| current + u64::from(!self.is_open))),
            Span::Time(_, length) => match (scope.event.time / length, current) {
                (number, Some(current)) if number > current => (self.close(windowed, scope.account), number),
                // Time went back, beyond the window.
                (number, Some(current)) if number.saturating_add(windowed.steps()) <= current => {
                    let closed = self.close(windowed, scope.account);
                    self.drop_before(u64::MAX, room);
                    (closed, number)
                }
                (number, current) => (None, current.unwrap_or(number)),
            },
        };
        self.drop_before((number + 1).saturating_sub(windowed.steps()), room);
        if let Some(step) = self.step(number, windowed, scope.account, room) {
            step.add(windowed, scope, room);
        }
        match windowed.span {
            Span::Records(_, length) if self.steps.back().is_some_and(|step| step.records == length) => {
                self.close(windowed, scope.account)
            }
            _ => closed,
        }
    }

    /// The step with a number, to which a record belongs; `None` if there is no room for it.
    fn step(
        &mut self,
        number: u64,
        windowed: &Windowed,
        account: &mut Account,
        room: &mut Room<'_>,
    ) -> Option<&mut Step> {
        if !self.is_open {
            let size = windowed.size();
            if !room.take(size, account) {
                return None;
            }
            let parts = windowed.gathers.iter().map(Part::new).collect();
            self.steps.push_back(Step { number, records: 0, last: Event::default(), parts, size });
            self.is_open = true;
        }
        self.steps.back_mut()
    }
}

impl Window {
    /// Forgets steps in front of one.
    fn drop_before(&mut self, number: u64, room: &mut Room<'_>) {
        while let Some(step) = self.steps.pop_front_if(|step| step.number < number) {
            room.give(step.size);
        }
        self.is_open &= !self.steps.is_empty();
    }

    /// The open step ends, if there is one.
    pub(crate) fn close(&mut self, windowed: &Windowed, account: &mut Account) -> Option<Closed> {
        if !std::mem::take(&mut self.is_open) {
            return None;
        }
        let newest = self.steps.back()?;
        let time = match windowed.span {
            Span::Records(..) => newest.last.time,
            Span::Time(_, length) => newest.number.saturating_add(1).saturating_mul(length),
        };
        let values = windowed.gathers.iter().enumerate().map(|(index, gather)| self.joined(index, gather, account));
        Some((values.collect(), Event { time, ..newest.last }))
    }

    /// The value of a function, of all steps.
    fn joined(&self, index: usize, gather: &Gather, account: &mut Account) -> Held {
        let parts = || self.steps.iter().map(|step| &step.parts[index]);
        if parts().any(|part| matches!(part, Part::Lost)) {
            return Held::Absent;
        }
        let value = match gather {
            Gather::Records => Some(Held::Integer(self.steps.iter().map(|step| i128::from(step.records)).sum())),
            Gather::Reduce(function, _, base) => match function {
                Function::Sum | Function::Mean => {
                    let (mut floats, mut sum, mut count) = (Lanes::default(), 0, 0);
                    for part in parts() {
                        let Part::Sum(lanes, integers, number) = part else { continue };
                        floats.join(lanes);
                        (sum, count) = (sum + integers, count + number);
                    }
                    match (function, floats.count()) {
                        (Function::Sum, _) if *base == Base::Float => Some(Held::Float(floats.total())),
                        (Function::Sum, _) => return Held::of(account.fit(*base, Some(sum))),
                        (_, 0) if count == 0 => None,
                        (_, 0) => Some(Held::Float(sum as f64 / count as f64)),
                        (_, floating) => Some(Held::Float(floats.total() / floating as f64)),
                    }
                }
                Function::Min | Function::Max => {
                    let best = |part: &Part| if let Part::Best(best) = part { *best } else { Scalar::Absent };
                    match parts().map(best).fold(Scalar::Absent, |a, b| better(*function, a, b)) {
                        Scalar::Absent => None,
                        best => Some(Held::of(best)),
                    }
                }
                Function::Std => {
                    let mut all = Spread::default();
                    for part in parts() {
                        if let Part::Spread(spread) = part {
                            all.join(spread);
                        }
                    }
                    all.deviation().map(Held::Float)
                }
                Function::First | Function::Last => {
                    let mut all =
                        parts().filter_map(|part| if let Part::One(one) = part { one.as_ref() } else { None });
                    (if *function == Function::First { all.next() } else { all.next_back() }).cloned()
                }
                _ => {
                    let (mut is_any, mut are_all, mut number) = (false, true, 0);
                    for part in parts() {
                        let Part::Truths { any, all, count } = part else { continue };
                        (is_any, are_all, number) = (is_any | any, are_all & all, number + count);
                    }
                    Some(match function {
                        Function::Any => Held::Truth(is_any),
                        Function::All => Held::Truth(are_all),
                        _ => Held::Integer(number.into()),
                    })
                }
            },
            Gather::Percentile(_, percent) => {
                let all =
                    parts().filter_map(|part| if let Part::Numbers(numbers) = part { Some(numbers) } else { None });
                reduce::percentile(all.flatten().copied().collect(), *percent).map(Held::Float)
            }
            Gather::Hist(_, ranges) => {
                let mut all = vec![0; ranges.count];
                for part in parts() {
                    let Part::Counts(counts) = part else { continue };
                    all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
                }
                Some(Held::Counts(all))
            }
        };
        // Of nothing.
        value.unwrap_or_else(|| Held::of(account.fault()))
    }
}

impl Step {
    /// A record belongs to the step.
    fn add<'a>(&mut self, windowed: &'a Windowed, scope: &mut Scope<'a, '_>, room: &mut Room<'_>) {
        self.records += 1;
        self.last = scope.event;
        for (gather, part) in windowed.gathers.iter().zip(&mut self.parts) {
            let Some(argument) = gather.argument() else { continue };
            // The usual window: of each number, the least and the greatest.
            if let (Gather::Reduce(function, ..), Part::Best(best)) = (gather, &mut *part)
                && let Some(number) = argument.number(scope)
            {
                *best = better(*function, *best, number);
                continue;
            }
            let before = part.size();
            // Within an argument, there is no window.
            if part.is_of_floats()
                && let Some(numbers) = doubles(&argument.node, scope)
            {
                part.add_floats(gather, &numbers);
            } else {
                match argument.value(scope) {
                    Cell::One(one) => part.add(gather, &[one]),
                    Cell::Many(many) => part.add(gather, &many),
                }
            }
            let after = part.size();
            if after == before {
                continue;
            }
            room.give(before);
            self.size -= before;
            if room.take(after, scope.account) {
                self.size += after;
            } else {
                *part = Part::Lost;
            }
        }
    }
}

impl Part {
    fn new(gather: &Gather) -> Part {
        match gather {
            Gather::Records => Part::Records,
            Gather::Percentile(..) => Part::Numbers(Vec::new()),
            Gather::Hist(_, ranges) => Part::Counts(vec![0; ranges.count]),
            Gather::Reduce(function, ..) => match function {
                Function::Sum | Function::Mean => Part::Sum(Lanes::default(), 0, 0),
                Function::Min | Function::Max => Part::Best(Scalar::Absent),
                Function::Std => Part::Spread(Spread::default()),
                Function::First | Function::Last => Part::One(None),
                _ => Part::Truths { any: false, all: true, count: 0 },
            },
        }
    }

    /// What it takes besides what every function takes.
    fn size(&self) -> usize {
        match self {
            Part::Numbers(numbers) => NUMBER * numbers.len(),
            Part::One(Some(Held::Text(text))) => text.len(),
            _ => 0,
        }
    }

    /// Whether it takes floats without a look at what else they may be.
    fn is_of_floats(&self) -> bool {
        matches!(self, Part::Sum(..) | Part::Best(_) | Part::Spread(_) | Part::Numbers(_) | Part::Counts(_))
    }

    /// Adds the floats of a record.
    fn add_floats(&mut self, gather: &Gather, numbers: &[f64]) {
        match (self, gather) {
            (Part::Sum(lanes, ..), _) => numbers.iter().for_each(|number| lanes.add(*number)),
            (Part::Best(best), Gather::Reduce(function, ..)) if !numbers.is_empty() => {
                let is_min = *function == Function::Min;
                let number = if is_min { reduce::min(numbers) } else { reduce::max(numbers) };
                *best = better(*function, *best, Scalar::Float(number));
            }
            (Part::Spread(spread), _) => numbers.iter().for_each(|number| spread.add(*number)),
            (Part::Numbers(all), _) => all.extend(numbers),
            (Part::Counts(counts), Gather::Hist(_, ranges)) => {
                let new = reduce::hist(numbers.iter().copied(), *ranges);
                counts.iter_mut().zip(new).for_each(|(count, new)| *count += new);
            }
            _ => {}
        }
    }

    /// Adds the values of a record.
    fn add(&mut self, gather: &Gather, values: &[Scalar<'_>]) {
        let floats = values.iter().filter_map(|value| value.float());
        match (self, gather) {
            (Part::Sum(lanes, sum, count), _) => {
                for value in values {
                    match value {
                        Scalar::Float(number) => lanes.add(*number),
                        Scalar::Integer(number) => (*sum, *count) = (*sum + number, *count + 1),
                        _ => {}
                    }
                }
            }
            (Part::Best(best), Gather::Reduce(function, ..)) => {
                for value in values {
                    match *value {
                        Scalar::Float(number) => *best = better(*function, *best, Scalar::Float(number)),
                        Scalar::Integer(number) => *best = better(*function, *best, Scalar::Integer(number)),
                        _ => {}
                    }
                }
            }
            (Part::Spread(spread), _) => floats.for_each(|number| spread.add(number)),
            (Part::Numbers(numbers), _) => numbers.extend(floats),
            (Part::Counts(counts), Gather::Hist(_, ranges)) => {
                let new = reduce::hist(floats, *ranges);
                counts.iter_mut().zip(new).for_each(|(count, new)| *count += new);
            }
            (Part::Truths { any, all, count }, _) => {
                let number = values.iter().filter(|value| value.is_true()).count();
                (*any, *all, *count) = (*any | (number > 0), *all & (number == values.len()), *count + number as u64);
            }
            (Part::One(one), Gather::Reduce(Function::First, ..)) => {
                if one.is_none() {
                    *one = values.first().map(|value| Held::of(*value));
                }
            }
            (Part::One(one), _) => {
                if let Some(value) = values.last() {
                    *one = Some(Held::of(*value));
                }
            }
            (Part::Records | Part::Lost | Part::Best(_) | Part::Counts(_), _) => {}
        }
    }
}

/// The lesser or the greater one of two numbers of one type. What is absent is neither.
#[inline]
fn better(function: Function, a: Scalar<'static>, b: Scalar<'static>) -> Scalar<'static> {
    let is_min = function == Function::Min;
    match (a, b) {
        (Scalar::Absent, b) => b,
        (Scalar::Float(a), Scalar::Float(b)) => {
            Scalar::Float(if is_min { reduce::lesser(a, b) } else { reduce::greater(a, b) })
        }
        (Scalar::Integer(a), Scalar::Integer(b)) => Scalar::Integer(if is_min { a.min(b) } else { a.max(b) }),
        (a, _) => a,
    }
}
