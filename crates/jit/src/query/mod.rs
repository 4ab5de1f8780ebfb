//! Compiles predicates and projections over the fields of a record to machine code (`spec/query.md`).
//!
//! The crate `isoform-query` type-checks queries, and has the interpreter that defines their semantics. It passes a query to
//! [`Code::of`] as a [`Part`], or as several if the code generator does not support all of it. Each part becomes one function.
//!
//! Generated code handles records for which no expression faults or is absent. For any other record, it returns *unsure*, and the
//! interpreter evaluates the part again, from the start. So both agree on faults by construction.
//!
//! ```
//! use isoform_core::{Layout, Shape, Value, Verifier, View, value};
//! use isoform_jit::query::{Code, Expr, Operator, Part, Step};
//! let format = Shape::new("Gauge").field("depth", "double").on(&Layout::S390X)?;
//! let depth = Expr::Path(vec![Step::Field("depth".into())]);
//! let deep = Expr::Binary(Operator::Greater, Box::new(depth), Box::new(Expr::Float(0.5)), None);
//! let body = value::body(&format, &Value::Record(vec![("depth".into(), Value::Float(2.0))]))?;
//! // There is no code if this machine has no generator.
//! if let Some(code) = Code::of(&format, Part { every: 1, conditions: vec![deep], result: None }) {
//!     let verifier = Verifier::new(&format);
//!     let view = View::new(verifier.verify(&body)?);
//!     assert_eq!(code.answer(view, [0; 3], &mut Vec::new()), Some(true));
//! }
//! # Ok::<(), isoform_core::Error>(())
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | `emit` | shared instruction sequences, and the exit of a function that is unsure |
//! | `place` | the addresses of fields: paths resolved to offsets in a record |
//! | `one`, `many` | scalar expressions; array expressions, evaluated element by element, and reductions |
//! | `record` | projections: writes the fields of a result |
//! | `call` | the calling convention: entry into the code, and its calls of runtime functions |

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

/// What becomes one function: what it asks of a record, in this order, and what it makes of one that passes.
#[derive(Clone, Debug)]
pub struct Part {
    /// Records pass whose places are multiples of this. It is at least 1.
    pub every: u64,
    /// Single conditions, all of which hold for records that pass.
    pub conditions: Vec<Expr>,
    /// The record that takes the place of one that passes.
    pub result: Option<Outcome>,
}

/// An expression of more pieces takes too long to generate.
const PIECES: usize = 256;

impl Part {
    /// Its operations, literals and paths; `None` if no code is made of it for any format: it has too many, or strings are in its result, or there
    /// is no generator for this machine.
    pub fn pieces(&self) -> Option<usize> {
        let fields = self.result.as_ref().map_or(&[][..], |outcome| &outcome.fields);
        let has_slots = self.result.as_ref().is_some_and(|outcome| outcome.format.structure().has_slots());
        let conditions: usize = self.conditions.iter().map(pieces).sum();
        let all = conditions + fields.iter().map(|(_, made)| made.pieces()).sum::<usize>();
        (cfg!(generator) && !has_slots && all <= PIECES).then_some(all)
    }
}

/// A record of results.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its format.
    pub format: Format,
    /// Its fields, by their names.
    pub fields: Vec<(Box<str>, Made)>,
}

/// The machine code of a part.
#[derive(Debug)]
pub struct Code {
    #[cfg(generator)]
    made: call::Function,
    #[cfg(not(generator))]
    none: std::convert::Infallible,
}

impl Code {
    /// Generates code for records of a format. `None` if the generator does not take all of the part, there is no generator for
    /// this machine, or the system allows no code to be made.
    pub fn of(format: &Format, part: Part) -> Option<Code> {
        #[cfg(generator)]
        return call::Function::new(format, part).map(|made| Code { made });
        #[cfg(not(generator))]
        return {
            let _ = (format, part);
            None
        };
    }

    /// Bytes of machine code.
    pub fn size(&self) -> usize {
        #[cfg(generator)]
        return self.made.size();
        #[cfg(not(generator))]
        match self.none {}
    }

    /// Whether a record passes. `event` has its number, its time, and its place among the records that the query looks at. If it passes,
    /// the body of the result, if the part has one, replaces what is in `out`; otherwise `out` has no meaning. `None` if the code is
    /// unsure, or not for records of this format.
    #[inline(always)]
    pub fn answer(&self, view: View<'_>, event: [u64; 3], out: &mut Vec<u8>) -> Option<bool> {
        #[cfg(generator)]
        return self.made.answer(view, event, out);
        #[cfg(not(generator))]
        {
            let _ = (view, event, out);
            match self.none {}
        }
    }
}

impl Made {
    fn pieces(&self) -> usize {
        match self {
            Made::Taken(_) => 1,
            Made::Computed(expr) => pieces(expr),
        }
    }
}

/// The size of an expression.
fn pieces(expr: &Expr) -> usize {
    1 + match expr {
        Expr::Function(_, inner, _) | Expr::Reduce(_, inner, _) => pieces(inner),
        Expr::Binary(_, a, b, _) | Expr::Guard(_, a, b) => pieces(a) + pieces(b),
        Expr::In(inner, choices) => pieces(inner) + choices.iter().map(pieces).sum::<usize>(),
        Expr::Choice(parts, _) => parts.iter().map(pieces).sum(),
        _ => 0,
    }
}
