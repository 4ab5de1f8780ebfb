//! What checking makes of a tree: stages and expressions, with the types of their values.

use crate::tree::{Function, Operator, Step};
use crate::unit::Unit;
use crate::window::Windowed;

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
    pub(super) literal: bool,
    pub(super) symbols: Option<Box<[Box<str>]>>,
}

/// The number of elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Many {
    Fixed(usize),
    /// Each record has another number, but no more than this.
    UpTo(usize),
    Dynamic,
}

impl Many {
    /// So many times as many.
    pub(super) fn by(self, other: Many) -> Many {
        self.with(other, usize::saturating_mul)
    }

    /// As many as the one or the other, whichever has more.
    pub(super) fn max(self, other: Many) -> Many {
        self.with(other, usize::max)
    }

    fn with(self, other: Many, both: impl Fn(usize, usize) -> usize) -> Many {
        match (self, other) {
            (Many::Dynamic, _) | (_, Many::Dynamic) => Many::Dynamic,
            (Many::Fixed(count), Many::Fixed(length)) => Many::Fixed(both(count, length)),
            (Many::Fixed(count) | Many::UpTo(count), Many::Fixed(length) | Many::UpTo(length)) => {
                Many::UpTo(both(count, length))
            }
        }
    }

    pub(crate) fn is_fixed(self) -> bool {
        matches!(self, Many::Fixed(_))
    }
}

impl Type {
    pub(super) fn words(&self) -> String {
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
