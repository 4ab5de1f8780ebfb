//! The group `query`: what a query costs for each record, beside C for the very same, compiled with `-O3 -march=native`.
//!
//! `filter` is `m1 > 0.5 and m0 < 100` on records of M100 of which about an eighth passes, without a pattern. `project` takes
//! 3 of its 100 fields. `reduce` is the mean, or the largest, of 10,000 doubles; the C has the eight partial results that the
//! language defines, but no care for what is no number. `ready` is from the text of the filter to its code; `compiled_ns` is
//! missing there. Records are verified before, as they are at a source, where several queries look at one event. `suppressed` and
//! `shared` are at a source: see `channel`.

#[cfg(unix)]
mod channel;

use crate::compiled::{self, Compiled};
use crate::measure::{Contestant, Times, measure};
use crate::place::{Memory, Place};
use crate::{Line, Options, Result, Workload, fill};
use isoform_core::{Body, Format, Layout, Shape, Verifier, View};
use isoform_query::{Engine, Event, Query, Run, Verdict};
use std::hint::black_box;
use std::time::Instant;

/// Small records of a measurement, which stay in the caches.
const RECORDS: usize = 64;
/// The doubles of `reduce`.
const DOUBLES: usize = 10_000;

const FILTER: &str = "where m1 > 0.5 and m0 < 100";

/// What is measured.
struct Case {
    measure: &'static str,
    workload: &'static str,
    query: &'static str,
}

const CASES: [Case; 4] = [
    Case { measure: "filter", workload: "M100", query: FILTER },
    Case { measure: "project", workload: "M100", query: "select m1, m50, m99" },
    Case { measure: "reduce", workload: "mean of 10,000 doubles", query: "select mean = mean(values)" },
    Case { measure: "reduce", workload: "max of 10,000 doubles", query: "select max = max(values)" },
];

/// Measures them.
///
/// # Errors
/// If a result is wrong, or `line` fails.
pub fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let mixed = Workload::all().into_iter().find(|workload| workload.name == "M100").ok_or("no workload M100")?;
    let mixed = mixed.on(&Layout::NATIVE)?;
    let doubles = Shape::new("Doubles").field("values", &format!("double[{DOUBLES}]")).on(&Layout::NATIVE)?;
    let baseline = match compiled::version() {
        Some(_) => Some(Compiled::of_text(&source(&mixed)?, CASES.len(), compiled::tuned())?),
        None => None,
    };
    for (index, case) in CASES.iter().enumerate() {
        let format = if case.workload == "M100" { &mixed } else { &doubles };
        let about = Line::new("query", case.workload).word("measure", case.measure);
        lines(case, format, baseline.as_ref().map(|baseline| (baseline, index)), about, options, line)?;
    }
    ready(&mixed, options, line)?;
    #[cfg(unix)]
    {
        let large = Workload::all().into_iter().find(|workload| workload.name == "K100").ok_or("no workload K100")?;
        channel::run(&mixed, &large.on(&Layout::NATIVE)?, options, line)?;
    }
    Ok(())
}

fn lines(
    case: &Case,
    format: &Format,
    baseline: Option<(&Compiled, usize)>,
    about: Line,
    options: &Options,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    let bodies = bodies(format)?;
    let verifier = Verifier::new(format);
    let verified: Vec<Body<'_>> = bodies.iter().map(|body| verifier.verify(body)).collect::<Result<_, _>>()?;
    let checked = Query::parse(case.query)?.check(format, &Layout::NATIVE)?;
    let mut interpreted = checked.run();
    interpreted.interpret();
    let mut engines = vec![("interpreter", interpreted)];
    let mut generated = checked.run();
    generated.generate();
    if generated.engine() == Engine::Generated {
        engines.insert(0, ("generated", generated));
    }
    check(&mut engines, baseline, &verified)?;
    let names: Vec<&str> = engines.iter().map(|(name, _)| *name).collect();
    let mut contestants: Vec<Contestant<'_>> = Vec::new();
    if let Some((compiled, index)) = baseline {
        let (bodies, mut out, mut next) = (&bodies, vec![0; checked.format().size()], 0);
        let mut counts = [0usize; 2];
        contestants.push(Box::new(move |_, runs| {
            for _ in 0..runs {
                next = if next + 1 < bodies.len() { next + 1 } else { 0 };
                // SAFETY: a whole body of the format for which the C was written, and room for its result.
                let passes = unsafe { compiled.convert(index, &bodies[next], &mut out) };
                counts[passes & 1] += 1;
            }
            black_box((&out, counts));
        }));
    }
    for (_, mut run) in engines {
        let (verified, mut out, mut next) = (&verified, Vec::new(), 0);
        contestants.push(Box::new(move |_, runs| {
            for _ in 0..runs {
                next = if next + 1 < verified.len() { next + 1 } else { 0 };
                let event = Event::at(next as u64, 0);
                black_box(run.record_into(View::new(verified[next]), event, &mut out).is_ok());
            }
            black_box(&out);
        }));
    }
    let mut memory = Memory::new(0, 64, &[], false);
    let mut places: [Place<'_>; 1] = [memory.place()];
    let times = measure(&mut contestants, &mut places, &options.effort);
    let (compiled, engines) = times.split_at(usize::from(baseline.is_some()));
    for (name, ns) in names.iter().zip(engines) {
        let mut about = about.clone().word("engine", name).figure("ns", ns.median());
        if let [compiled] = compiled {
            about = about.figure("compiled_ns", compiled.median()).figure("ratio", ns.ratio(compiled));
        }
        line(about)?;
    }
    Ok(())
}

/// Records without a pattern, of which an eighth passes the filter.
fn bodies(format: &Format) -> Result<Vec<Vec<u8>>> {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as usize
    };
    let is_small = format.structure().field("m0").is_some();
    let mut bodies = vec![fill::body(format, 0); if is_small { RECORDS } else { 1 }];
    for body in &mut bodies {
        match (format.structure().field("m0"), format.structure().field("m1")) {
            (Some(n), Some(f)) => {
                let passes = random().is_multiple_of(8);
                let (deep, few) = (if passes { 1.0f64 } else { 0.25 }, random() as i32 % 100);
                body[n.offset..][..4].copy_from_slice(&few.to_ne_bytes());
                body[f.offset..][..8].copy_from_slice(&deep.to_ne_bytes());
            }
            _ => {
                let number = |_| (random() % 10_000) as f64 / 8.0;
                *body = (0..DOUBLES).map(number).flat_map(f64::to_ne_bytes).collect();
            }
        }
    }
    Ok(bodies)
}

/// Compares what all make of the records.
fn check(engines: &mut [(&str, Run)], baseline: Option<(&Compiled, usize)>, bodies: &[Body<'_>]) -> Result<()> {
    for body in bodies {
        let mut results = Vec::new();
        for (name, run) in &mut *engines {
            let mut out = Vec::new();
            let verdict = run.record_into(View::new(*body), Event::default(), &mut out)?;
            results.push((*name, verdict != Verdict::Filtered, out));
        }
        if let Some((compiled, index)) = baseline {
            let mut out = vec![0; results[0].2.len()];
            // SAFETY: a whole body of the format for which the C was written, and room for its result, if it makes one.
            let passes = unsafe { compiled.convert(index, body.bytes(), &mut out) };
            results.push(("compiled", passes == 1, out));
        }
        let first = &results[0];
        if let Some(other) = results.iter().find(|other| (&other.1, &other.2) != (&first.1, &first.2)) {
            return Err(format!("{} and {} differ", first.0, other.0).into());
        }
    }
    Ok(())
}

/// What one would write by hand.
fn source(mixed: &Format) -> Result<String> {
    let at = |name: &str| -> Result<usize> {
        Ok(mixed.structure().field(name).ok_or_else(|| format!("no field {name}"))?.offset)
    };
    let (n, f, fifty, last) = (at("m0")?, at("m1")?, at("m50")?, at("m99")?);
    Ok(format!(
        r"
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef const unsigned char *restrict in;
typedef unsigned char *restrict out;
static inline double number(in p) {{ double f; memcpy(&f, p, sizeof f); return f; }}
size_t convert_0(in src, out dst) {{
  int32_t n; memcpy(&n, src + {n}, sizeof n);
  return number(src + {f}) > 0.5 && n < 100;
}}
size_t convert_1(in src, out dst) {{
  struct {{ double m1; int32_t m50; int64_t m99; }} r;
  memset(&r, 0, sizeof r);
  memcpy(&r.m1, src + {f}, 8); memcpy(&r.m50, src + {fifty}, 4); memcpy(&r.m99, src + {last}, 8);
  memcpy(dst, &r, sizeof r);
  return 1;
}}
size_t convert_2(in src, out dst) {{
  double s[8] = {{0}};
  for (size_t i = 0; i < {DOUBLES}; i += 8) for (size_t j = 0; j < 8; j++) s[j] += number(src + 8 * (i + j));
  double mean = (((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))) / {DOUBLES};
  memcpy(dst, &mean, sizeof mean);
  return 1;
}}
size_t convert_3(in src, out dst) {{
  double m[8];
  for (size_t j = 0; j < 8; j++) m[j] = number(src + 8 * j);
  for (size_t i = 8; i < {DOUBLES}; i += 8)
    for (size_t j = 0; j < 8; j++) {{ double x = number(src + 8 * (i + j)); m[j] = x > m[j] ? x : m[j]; }}
  double max = m[0];
  for (size_t j = 1; j < 8; j++) max = m[j] > max ? m[j] : max;
  memcpy(dst, &max, sizeof max);
  return 1;
}}
"
    ))
}

/// From the text of the filter to its code.
fn ready(format: &Format, options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    for (engine, generates) in [("generated", true), ("interpreter", false)] {
        let one = |_| -> Result<f64> {
            let start = Instant::now();
            let mut run = Query::parse(FILTER)?.check(format, &Layout::NATIVE)?.run();
            if generates {
                run.generate();
            }
            let time = start.elapsed().as_nanos() as f64;
            if generates && run.engine() != Engine::Generated {
                return Ok(f64::NAN);
            }
            black_box(&run);
            Ok(time)
        };
        let times = (0..options.effort.rounds * options.effort.placements).map(one).collect::<Result<Times>>()?;
        if times.median().is_finite() {
            line(
                Line::new("query", "M100").word("measure", "ready").word("engine", engine).figure("ns", times.median()),
            )?;
        }
    }
    Ok(())
}
