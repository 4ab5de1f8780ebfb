//! The group `evolve`: what it costs when the sender has a field that the receiver does not expect, in front of all others,
//! in the middle or after them, on machines of one byte order and of two (papers 000, figures 13 and 14). The cases without it are
//! measured again beside them. Each is measured from a verified body, the step `convert`, and from a message, `receive`.

use crate::{Case, Line, Options, Result, Workload, convert, receive};

const CASES: &[Case] =
    &[Case::Same, Case::Appended, Case::Front, Case::Middle, Case::Swap, Case::SwapFront, Case::SwapAppended];

/// Measures one of the papers' workloads; there is nothing to measure for others.
///
/// # Errors
/// As [`convert::run`] and [`receive::run`].
pub fn run(workload: &Workload, options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    if !workload.name.starts_with('K') {
        return Ok(());
    }
    let cases = options.cases.iter().copied().filter(|case| CASES.contains(case)).collect();
    let options = Options { cases, ..options.clone() };
    convert::run(workload, &options, &mut |result| line(result.within("evolve").word("step", "convert")))?;
    receive::run(workload, &options, &mut |result| match result.text("token") {
        "" => line(result.within("evolve").word("step", "receive")),
        _ => Ok(()),
    })
}
