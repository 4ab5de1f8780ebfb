//! The group `generate`: what a format costs that has never been seen: from its description to the first record, and how
//! long it takes then until there is code, and how much of it. `gain_ns` is what the code saves with each record, and
//! `paid_after` the number of records after which these savings exceed the time of generation; code that saves nothing has
//! no such number.

use crate::measure::Times;
use crate::{Line, Options, Result, Workload, convert, fill};
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
        let about = Line::new("generate", workload.name).word("case", case.name());
        let first = about.clone().figure("first_record_ns", first.median());
        let mut codes = Vec::new();
        for &by in Generator::ALL {
            if let Some(code) = Code::by(by, &plan) {
                let ready = times(repeats, || Ok(Code::by(by, &plan).map(|code| code.size())))?;
                codes.push((by, ready.median(), code.size()));
            }
        }
        let engines = convert::engines(workload, &wire, &native, &options.effort)?;
        let Some((interpreter, generated)) = engines.split_first() else { continue };
        for (index, ((by, ready, size), code)) in codes.iter().zip(generated).enumerate() {
            let result = if index == 0 { first.clone() } else { about.clone().word("engine", by.name()) };
            let result = result.figure("code_ready_ns", *ready).count("code_bytes", *size);
            line(paid(result, *ready, interpreter.1, code.1))?;
        }
        if codes.is_empty() {
            line(first.figure("interpreter_ns", interpreter.1))?;
        }
    }
    Ok(())
}

/// The line with what a record costs without and with the code, and when the code has paid for its generation.
fn paid(line: Line, ready: f64, interpreter: f64, generated: f64) -> Line {
    let gain = interpreter - generated;
    let line = line.figure("interpreter_ns", interpreter).figure("generated_ns", generated).figure("gain_ns", gain);
    // What rounds to nothing is no gain.
    match line.number("gain_ns").is_some_and(|gain| gain > 0.0) {
        true => line.count("paid_after", (ready / gain).ceil() as usize),
        false => line,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_paid_when_its_savings_exceed_the_time_of_generation() {
        let line = |interpreter, generated| paid(Line::of("generate"), 1_000.0, interpreter, generated);
        assert_eq!(line(50.0, 20.0).number("paid_after"), Some(34.0));
        assert_eq!(line(50.0, 20.0).number("gain_ns"), Some(30.0));
        assert_eq!(line(50.0, 50.0).number("paid_after"), None);
        assert_eq!(line(50.0, 60.0).number("gain_ns"), Some(-10.0));
    }
}
