//! Runs parts of a plan, for an engine that leaves rare steps to the interpreter.

use super::{Output, Run, convert};
use crate::error::Result;
use crate::plan::{Conversion, Plan, Step};

/// Runs one step of a plan, on the record or element that begins at `src` of a verified body and goes to `dst` of `out`.
///
/// # Errors
/// As [`run`](super::run), without the indices of the elements that contain the step.
pub fn step(
    plan: &Plan,
    step: &Step,
    (body, src): (&[u8], usize),
    (out, dst): (&mut impl Output, usize),
) -> Result<()> {
    Run { plan, src: body, out }.step(step, src, dst)
}

/// Converts each number of `src`, and returns whether all fitted. Both are whole numbers long, and equally many.
pub fn numbers(conversion: &Conversion, src: &[u8], dst: &mut [u8]) -> bool {
    convert::convert(conversion, src, dst).is_ok()
}
