//! A plan: the checked steps from records of one format to records of another, made once for each pair.
//!
//! [`Plan::new`] is where everything is decided - which fields match, what becomes of missing ones, what is checked - and
//! proven: every fixed access of every [`Step`] lies within its record. What is left for each record is to run the steps
//! ([`interp`](crate::interp), or code generated from the same plan). Plans print as text, which is what
//! `isoform explain --plan` shows and what tests compare. The rules of matching are in `spec/conversion.md`.

mod block;
mod default;
mod element;
mod find;
mod lengths;
mod make;
mod missing;
mod plans;
mod report;
mod rules;
mod schedule;
mod step;
mod text;

pub use isoform_kernels::{Number, NumberClass};
pub use plans::Plans;
pub use report::{Action, FieldReport, Reports, Verdict, compare};
pub use rules::{Faults, Rule, Rules};
pub use schedule::Steps;
pub(crate) use schedule::{Schedule, Singles};
pub use step::{Array, Bytes, Conversion, Count, Extent, Place, Step, SymbolEntry, Symbols, Transform};

use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Field, Format};

/// Checked steps from one format to another.
///
/// ```
/// use isoform_core::plan::{Faults, Plan, Rules};
/// use isoform_core::{FieldList, Machine, ByteOrder};
/// let sparc = Machine { order: ByteOrder::Big, pointer: 4 };
/// let x86 = Machine { order: ByteOrder::Little, pointer: 8 };
/// let wire = FieldList::new("P").field("x", "float", 8, 0).field("n", "integer", 4, 8).format(sparc, 16, 8)?;
/// let native = FieldList::new("P").field("n", "integer", 8, 0).field("x", "float", 8, 8).format(x86, 16, 8)?;
/// let plan = Plan::new(&wire, &native, &Rules::new(), Faults::Error)?;
/// assert_eq!(plan.to_string(), "\
/// plan P (big-endian, 32-bit pointers) -> P (little-endian, 64-bit pointers), faults: error
///   permute 8 swap 8<-0
///   convert 0 <- 8 integer(4) big -> integer(8)  # n
/// ");
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    wire: Format,
    native: Format,
    faults: Faults,
    steps: Steps,
    direct: bool,
}

impl Plan {
    /// Plans the way from records of `wire` to records of `native`.
    ///
    /// # Errors
    /// If it can never work, at the field that is in the way: [`Code::Required`], [`Code::NoConversion`],
    /// [`Code::Unit`], [`Code::Shape`], [`Code::TooLong`], [`Code::Lengths`], or [`Code::Declaration`] for a default that
    /// is no value of its field.
    pub fn new(wire: &Format, native: &Format, rules: &Rules, faults: Faults) -> Result<Plan> {
        make::plan(wire, native, rules, faults, None)
    }

    /// Plans, and says of each field what was decided.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn explained(wire: &Format, native: &Format, rules: &Rules, faults: Faults) -> Result<(Plan, Reports)> {
        let mut reports = Reports::new(wire, native, faults);
        let plan = make::plan(wire, native, rules, faults, Some(&mut reports))?;
        Ok((plan, reports))
    }

    /// What comes.
    pub fn wire(&self) -> &Format {
        &self.wire
    }

    /// What it becomes.
    pub fn native(&self) -> &Format {
        &self.native
    }

    /// What is done with numbers that do not fit.
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// The steps, in the order in which they run.
    pub fn steps(&self) -> &Steps {
        &self.steps
    }

    /// Whether a body of the wire format, once verified, already *is* a native record (but for pointers, which are
    /// offsets in it): the formats are equal, or the sender has only added fields where the receiver has none.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// The native field that a step is about, and its path: the steps keep its number.
    pub(crate) fn field(&self, number: usize) -> Option<(String, &Field)> {
        self.native.structure().numbered(number)
    }

    /// The failure `code` at a field of this plan, in its element `index` if it is an array.
    #[cold]
    pub(crate) fn fault(&self, code: Code, field: usize, index: Option<usize>, dims: &[usize]) -> Error {
        let Some((mut path, native)) = self.field(field) else { return Error::new(code) };
        if let Some(index) = index
            && !native.dims.is_empty()
        {
            path.push_str(&self.index_text(field, index, dims));
        }
        Error::new(code).at(path)
    }

    /// The brackets for the element `index` of a field, which counts through all dimensions.
    pub(crate) fn index_text(&self, field: usize, mut index: usize, dims: &[usize]) -> String {
        let Some((_, native)) = self.field(field) else { return format!("[{index}]") };
        let fixed = |dim: &Dimension| match *dim {
            Dimension::Fixed(n) => n,
            Dimension::Field(_) => 0,
        };
        let inner: Vec<usize> = match dims.split_first() {
            Some((_, inner)) if dims.len() == native.dims.len() => inner.into(),
            _ => native.dims.iter().skip(1).map(fixed).collect(),
        };
        let mut text = String::new();
        for n in inner.iter().rev().filter(|&&n| n > 0) {
            text.insert_str(0, &format!("[{}]", index % n));
            index /= n;
        }
        format!("[{index}]{text}")
    }
}
