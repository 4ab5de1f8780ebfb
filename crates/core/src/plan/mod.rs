//! Plans: the checked steps from records of one format to records of another, made once for each pair.
//!
//! [`Plan::new`] makes all decisions: which fields match, how missing ones are filled, and what is checked. It proves
//! that every fixed access of every [`Step`] is within its record. Only the steps are run for each record, by
//! [`interp`](crate::interp) or by code generated from the same plan. `isoform explain --plan` prints plans as text,
//! and tests compare that text. `spec/conversion.md` has the rules of matching.

mod block;
mod default;
mod element;
mod explain;
mod fields;
mod find;
mod kinds;
mod lengths;
mod make;
mod missing;
mod plans;
mod report;
mod rules;
mod schedule;
mod step;
mod text;
mod times;
mod within;

pub(crate) use default::check as check_default;
pub use explain::{COLUMNS, Explanation, TIME_COLUMNS};
pub use fields::Fields;
pub use isoform_kernels::{Number, NumberClass};
pub use kinds::{Choice, Fit, Kind, Kinds, Reason, choose};
pub use plans::Plans;
pub(crate) use report::describe;
pub use report::{Action, FieldReport, Reports, Size, Verdict, compare};
pub use rules::{Faults, Fill, Missing, Rule, Rules};
pub use schedule::Steps;
pub(crate) use schedule::{Schedule, Singles};
pub use step::{Array, Bytes, Conversion, Count, Extent, Place, Step, SymbolEntry, Symbols, Transform};
pub use times::{Other, StepTime, Times};
pub use within::Within;
pub(crate) use within::{Elements, Numbers, Part};

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
    /// Plans the conversion of records of `wire` into records of `native`.
    ///
    /// # Errors
    /// If no record can be converted, with the path of the field: [`Code::Required`], [`Code::NoConversion`],
    /// [`Code::Unit`], [`Code::Shape`], [`Code::TooLong`], [`Code::Lengths`], or [`Code::Declaration`] for a default
    /// that its field cannot hold.
    pub fn new(wire: &Format, native: &Format, rules: &Rules, faults: Faults) -> Result<Plan> {
        make::plan(wire, native, rules, faults, None)
    }

    /// Plans, and reports the decision for each field.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn explained(wire: &Format, native: &Format, rules: &Rules, faults: Faults) -> Result<(Plan, Reports)> {
        let mut reports = Reports::new(wire, native, faults);
        match make::plan(wire, native, rules, faults, Some(&mut reports)) {
            Ok(plan) => Ok((plan, reports)),
            Err(error) => Err(reports.obstacles.into_iter().next().unwrap_or(error)),
        }
    }

    /// The format of the sender.
    pub fn wire(&self) -> &Format {
        &self.wire
    }

    /// The format of the receiver.
    pub fn native(&self) -> &Format {
        &self.native
    }

    /// The treatment of numbers that do not fit.
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// The steps, in the order in which they run.
    pub fn steps(&self) -> &Steps {
        &self.steps
    }

    /// Whether a verified body of the wire format already *is* a native record, except for pointers, which are offsets
    /// in it: the formats are equal, or the sender only added fields where the receiver has none.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// The native field of a step, and its path. Steps contain its number.
    pub(crate) fn field(&self, number: usize) -> Option<(String, &Field)> {
        self.native.structure().numbered(number)
    }

    /// The failure `code` at a field of this plan, with the index of the element if it is an array.
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

    /// The brackets for element `index` of a field, counted through all dimensions.
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
