//! The group `generate`: what a format costs that has never been seen: from its description to the first record, and how
//! long it takes then until there is code, and how much of it.

use crate::measure::Times;
use crate::{Line, Options, Result, Workload, fill};
use isoform_core::{Faults, Format, Plan, Rules, Verifier, interp};
use isoform_jit::{Code, Generator};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Measures the cases of one workload, but for those where nothing is converted.
///
/// # Errors
/// If a workload cannot be laid out, or `line` fails.
pub fn run(workload: &Workload, options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    for &case in &options.cases {
        let Some((wire, native)) = case.formats(workload)? else { continue };
        let body = fill::body(&wire, workload.length);
        let plan = Arc::new(Plan::new(&wire, &native, &Rules::new(), Faults::Error)?);
        if plan.is_direct() {
            continue;
        }
        let repeats = options.effort.rounds * options.effort.placements;
        let first = times(repeats, || first_record(&wire, &native, &body).map(|record| record.len()))?;
        let mut result = Line::new("generate", workload.name).word("case", case.name());
        result = result.figure("first_record_ns", first.median());
        let mut codes = Vec::new();
        for &by in Generator::ALL {
            if let Some(code) = Code::by(by, &plan) {
                let ready = times(repeats, || Ok(Code::by(by, &plan).map(|code| code.size())))?;
                codes.push((by, ready.median(), code.size()));
            }
        }
        if let Some((_, ready, size)) = codes.first() {
            result = result.figure("code_ready_ns", *ready).count("code_bytes", *size);
        }
        line(result)?;
        for (by, ready, size) in codes.into_iter().skip(1) {
            let other = Line::new("generate", workload.name).word("case", case.name()).word("engine", by.name());
            line(other.figure("code_ready_ns", ready).count("code_bytes", size))?;
        }
    }
    Ok(())
}

/// From the description of a format, with the receiver's known, to a record.
fn first_record(wire: &Format, native: &Format, body: &[u8]) -> Result<Vec<u8>> {
    let wire = Format::parse(wire.description().as_bytes())?;
    let plan = Plan::new(&wire, native, &Rules::new(), Faults::Error)?;
    let mut record = Vec::new();
    interp::run(&plan, Verifier::new(&wire).verify(body)?, &mut record)?;
    Ok(record)
}

/// The time of each of several runs.
fn times<T>(repeats: usize, mut run: impl FnMut() -> Result<T>) -> Result<Times> {
    let one = |_| {
        let start = Instant::now();
        black_box(run()?);
        Ok(start.elapsed().as_nanos() as f64)
    };
    (0..repeats).map(one).collect()
}
