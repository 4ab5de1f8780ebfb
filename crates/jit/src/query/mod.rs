//! Expressions over the fields of a record as machine code: conditions, and flat records of results (`spec/query.md`).
//!
//! The crate `isoform-query` checks queries, and has the interpreter that defines what they mean. It gives the conditions and
//! the results of a query to [`Code::of`] as [`Part`]s. Each becomes one function of this machine, if the generator takes all
//! that is in it.
//!
//! Generated code computes what has no fault and nothing absent in it. Otherwise it says that it is *unsure*, and the
//! interpreter evaluates the part for this record, from the start. So both agree on faults by construction.
//!
//! ```
//! use isoform_core::{Layout, Shape, Value, Verifier, View, value};
//! use isoform_jit::query::{Code, Expr, Operator, Part, Step};
//! let format = Shape::new("Gauge").field("depth", "double").on(&Layout::S390X)?;
//! let depth = Expr::Path(vec![Step::Field("depth".into())]);
//! let deep = Expr::Binary(Operator::Greater, Box::new(depth), Box::new(Expr::Float(0.5)), None);
//! let body = value::body(&format, &Value::Record(vec![("depth".into(), Value::Float(2.0))]))?;
//! // There is no code if this machine has no generator.
//! if let Some(code) = Code::of(&format, vec![Part::Condition(deep)]) {
//!     let verifier = Verifier::new(&format);
//!     let view = View::new(verifier.verify(&body)?);
//!     assert_eq!(code.condition(0, view, [0, 0]), Some(true));
//! }
//! # Ok::<(), isoform_core::Error>(())
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | `emit` | the common instructions, and the exit of a function that is unsure |
//! | `place` | where a path leads in a record |
//! | `one`, `many` | single values; arrays, element by element, and what reduces them |
//! | `record` | results |
//! | `call` | calls into the code, and from it back |

#[cfg(generator)]
mod call;
#[cfg(generator)]
mod emit;
#[cfg(generator)]
mod many;
#[cfg(generator)]
mod one;
#[cfg(generator)]
mod place;
#[cfg(generator)]
mod record;

use isoform_core::{Format, View};

/// A step of a path into a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A field of a record.
    Field(Box<str>),
    /// An element of the first dimension.
    Index(usize),
    /// The elements `from`, `from + step` and so on, before `to` or the end of the dimension.
    Slice {
        /// The first element.
        from: usize,
        /// The first element that is not taken.
        to: Option<usize>,
        /// The distance of the elements, from 1.
        step: usize,
    },
}

/// The type of a computed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// From -2^63 to 2^63 - 1.
    Integer,
    /// From 0 to 2^64 - 1.
    Unsigned,
    /// An IEEE double.
    Float,
    /// True or false.
    Truth,
}

/// What stands between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are all there is to say")]
pub enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
}

/// A function of a value, or of each element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are all there is to say")]
pub enum Function {
    Negative,
    Not,
    Abs,
    Floor,
    Sqrt,
    IsNan,
}

/// What makes a single value of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are all there is to say")]
pub enum Reduction {
    Sum,
    Mean,
    Min,
    Max,
    Any,
    All,
    Count,
    First,
    Last,
    Len,
}

/// An expression that was checked against the format of its records.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A literal.
    Integer(i64),
    /// A literal.
    Unsigned(u64),
    /// A literal.
    Float(f64),
    /// A literal.
    Truth(bool),
    /// A literal.
    Text(Box<[u8]>),
    /// A value of the record.
    Path(Vec<Step>),
    /// A function, with the type of its value.
    Function(Function, Box<Expr>, Type),
    /// An operation, with the type of its value if it computes. With an array, it applies to each element.
    Binary(Operator, Box<Expr>, Box<Expr>, Option<Type>),
    /// `and` (or `or`, if true) of single conditions; the right one matters only if the left one leaves it open.
    Guard(bool, Box<Expr>, Box<Expr>),
    /// Whether a value equals one of several.
    In(Box<Expr>, Vec<Expr>),
    /// A condition, and the value if it is true, and if it is not.
    Choice(Box<[Expr; 3]>, Type),
    /// A single value of an array.
    Reduce(Reduction, Box<Expr>, Type),
    /// The number of the record.
    Sequence,
    /// The time of the record.
    Time,
}

/// A field of a result.
#[derive(Clone, Debug)]
pub enum Made {
    /// A value as it is in the record.
    Taken(Vec<Step>),
    /// A computed value.
    Computed(Expr),
}

/// What becomes one function.
#[derive(Clone, Debug)]
pub enum Part {
    /// A single condition.
    Condition(Expr),
    /// A record of a format, with its fields.
    Record(Format, Vec<(Box<str>, Made)>),
}

/// The machine code of a query's parts.
#[derive(Debug)]
pub struct Code {
    #[cfg(generator)]
    made: call::Functions,
    #[cfg(not(generator))]
    none: std::convert::Infallible,
}

impl Code {
    /// Generates code for records of a format: a function for each part that the generator takes. `None` if it takes none, there
    /// is no generator for this machine, or the system allows no code to be made.
    pub fn of(format: &Format, parts: Vec<Part>) -> Option<Code> {
        #[cfg(generator)]
        return call::Functions::new(format, parts).map(|made| Code { made });
        #[cfg(not(generator))]
        return {
            let _ = (format, parts);
            None
        };
    }

    /// Whether there is code for a part.
    pub fn has(&self, part: usize) -> bool {
        #[cfg(generator)]
        return self.made.has(part);
        #[cfg(not(generator))]
        {
            let _ = part;
            match self.none {}
        }
    }

    /// Bytes of machine code.
    pub fn size(&self) -> usize {
        #[cfg(generator)]
        return self.made.size();
        #[cfg(not(generator))]
        match self.none {}
    }

    /// A condition for a record with this number and time. `None` if there is no code for it, or it is unsure.
    ///
    /// # Panics
    /// If the record is not of the format for which the code was made.
    #[inline]
    pub fn condition(&self, part: usize, view: View<'_>, event: [u64; 2]) -> Option<bool> {
        #[cfg(generator)]
        return self.made.condition(part, view, event);
        #[cfg(not(generator))]
        {
            let _ = (part, view, event);
            match self.none {}
        }
    }

    /// The body of a result in place of what is in `out`. Returns whether there is one: `false` if there is no code for it, or it
    /// is unsure. Then `out` has no meaning.
    ///
    /// # Panics
    /// If the record is not of the format for which the code was made.
    #[inline]
    pub fn record(&self, part: usize, view: View<'_>, event: [u64; 2], out: &mut Vec<u8>) -> bool {
        #[cfg(generator)]
        return self.made.record(part, view, event, out);
        #[cfg(not(generator))]
        {
            let _ = (part, view, event, out);
            match self.none {}
        }
    }
}
