//! The query language: predicates, projections, windows and state for each key, over a stream of records (`spec/query.md`).
//!
//! | step | modules |
//! |---|---|
//! | lexer and parser: text to tokens to a syntax tree | `lex`, `parse`, `tree` |
//! | normalization: equal queries get one text | `normal` |
//! | type and unit checking against a [`Format`], which gives a checked query and the format of its results | `check`, `unit`, `outcome` |
//! | pipelines: the results of a part are the records of the next one | `check`, `run` |
//! | the interpreter of a checked query: a record passes, is filtered, or gives a result | `run`: stages; `eval`, `reduce`: expressions and reductions |
//! | the state of stages from record to record | `state`, and for each key `keys`; aggregates of windows: `window`, whose fields `place` reads by offset |
//! | projections that copy fields as bytes, without decoding | `copy` |
//! | compiled predicates and projections, with the feature `generate` | `engine` |
//!
//! A query has no loops and no recursion, and its text is short. So the work for one record is bounded by the size of the
//! query and of the record, and its state has a limit of its own. This crate has no channel, file or clock: the
//! number and the time of a record are arguments.
//!
//! ```
//! use isoform_core::{Layout, Shape, Value, Verifier, View, value};
//! use isoform_query::{Answer, Event, Query};
//! let format = Shape::new("Gauge").field("step", "i32").field("depth", "double[4]").unit("m").on(&Layout::S390X)?;
//! let query = Query::parse("where depth[3] > 2.5 m | select step, deep = max(depth)")?;
//! let checked = query.check(&format, &Layout::X86_64)?;
//! assert_eq!(checked.format().size(), 16);
//!
//! let depth = [1.0, 4.0, 2.0, 3.0].map(Value::Float).to_vec();
//! let record = Value::Record(vec![("step".into(), Value::Integer(7)), ("depth".into(), Value::Array(depth))]);
//! let body = value::body(&format, &record)?;
//! let mut run = checked.run();
//! let Answer::Result(result) = run.record(View::new(Verifier::new(&format).verify(&body)?), Event::default())? else { panic!() };
//! let verifier = Verifier::new(checked.format());
//! assert_eq!(View::new(verifier.verify(&result)?).f64("deep")?, 4.0);
//! # Ok::<(), isoform_core::Error>(())
//! ```
#![forbid(unsafe_code)]

mod check;
mod copy;
mod engine;
mod eval;
mod keys;
mod lex;
mod normal;
mod outcome;
mod parse;
mod place;
mod reduce;
mod run;
mod state;
mod tree;
mod unit;
mod window;

pub use check::{Checked, Cost};
pub use engine::Engine;
pub use run::{Account, Answer, Event, Remembered, Run, Verdict};

use isoform_core::{Format, Layout, Result};
use std::fmt;
use std::str::FromStr;

/// The longest text of a query, in bytes.
pub const MAX_TEXT: usize = 4096;
/// The most operations, literals and paths in a query.
pub const MAX_NODES: usize = 512;
/// The most bytes that a query remembers from record to record.
pub const MAX_STATE: usize = 65_536;
/// The most steps of a window.
pub const MAX_STEPS: u64 = 1024;
/// The most parts of a query.
pub const MAX_PARTS: usize = 16;
/// The deepest nesting of expressions.
pub const MAX_DEPTH: usize = 64;

/// A query that follows the grammar, for records of any format.
#[derive(Clone, Debug)]
pub struct Query {
    text: Box<str>,
    /// At least one. Each part gets the records and results that the part before it hands on.
    parts: Vec<Vec<tree::Stage>>,
}

impl Query {
    /// Parses a query.
    ///
    /// # Errors
    /// [`Code::Text`](isoform_core::Code::Text), with line and column, what was expected there, and what was found;
    /// [`Code::Depth`](isoform_core::Code::Depth). The limits also hold for the normal form.
    pub fn parse(text: &str) -> Result<Query> {
        let query = Query { text: text.into(), parts: parse::parse(text)? };
        parse::parse(&query.to_string())?;
        Ok(query)
    }

    /// Checks the query against the format of the records, and lays out its results for a machine.
    ///
    /// # Errors
    /// With line and column: [`Code::NoSuchField`](isoform_core::Code::NoSuchField), with the fields that there are;
    /// [`Code::WrongType`](isoform_core::Code::WrongType); [`Code::Unit`](isoform_core::Code::Unit) for different units in
    /// a sum or a comparison; [`Code::Declaration`](isoform_core::Code::Declaration) if two results have one name.
    pub fn check(&self, format: &Format, layout: &Layout) -> Result<Checked> {
        check::check(&self.parts, &self.text, format, layout)
    }

    /// This query, asked of the results of another one: a query that has the parts of both. Without another one, this query as it is.
    ///
    /// ```
    /// use isoform_query::Query;
    /// let flows = Query::parse("window 1 s | select mean(flow)")?;
    /// let high = Query::parse("where mean_flow > 2")?;
    /// assert_eq!(high.of(Some(&flows))?.to_string(), "window 1 s | select mean(flow) || where mean_flow > 2");
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::Text`](isoform_core::Code::Text) if both together are too long, or have too many parts or operations.
    pub fn of(&self, other: Option<&Query>) -> Result<Query> {
        other.map_or_else(|| Ok(self.clone()), |other| Query::parse(&format!("{other} || {self}")))
    }
}

/// A layout for results from records of a format: of a machine with its byte order and pointers, and of this one if possible.
/// So a value that is selected is copied, and not converted.
pub fn layout_like(format: &Format) -> &'static Layout {
    let is_it = |layout: &&Layout| layout.machine() == format.machine();
    std::iter::once(&Layout::NATIVE).chain(Layout::ALL).find(is_it).unwrap_or(&Layout::NATIVE)
}

impl FromStr for Query {
    type Err = isoform_core::Error;

    fn from_str(text: &str) -> Result<Query> {
        Query::parse(text)
    }
}

impl fmt::Display for Query {
    /// The normal form: queries that differ only in how they are written have the same. It parses to itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        normal::parts(&self.parts, f)
    }
}
