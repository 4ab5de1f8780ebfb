//! The group `convert`: a verified body of one format becomes a record of another.
//!
//! The engine `none` stands where a body is used as it is, and does nothing but find that out; there, the interpreter is
//! measured as well, for receivers that want a copy of their own. Where code is generated, that is the engine `generated`;
//! `plain` is the baseline of [`mod@plain`](crate::plain).

use crate::compiled::{self, Compiled};
use crate::measure::{Contestant, Times, measure, memcpy};
use crate::place::{Memory, Place};
use crate::plain::Plain;
use crate::{Effort, Line, Options, Result, Workload, fill};
use isoform_core::interp::{self, Output};
use isoform_core::{Body, Code, Error, Faults, Format, Plan, Rules, Verifier};
use isoform_jit::Generator;
use std::hint::black_box;
use std::iter;
use std::sync::Arc;

/// Measures the cases of one workload.
///
/// # Errors
/// If a result is wrong, or `line` fails.
pub fn run(workload: &Workload, options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let mut cases = Vec::new();
    let mut pairs = Vec::new();
    for &case in &options.cases {
        if let Some(pair) = case.formats(workload)? {
            cases.push(case);
            pairs.push(pair);
        }
    }
    let baselines = match compiled::version() {
        Some(_) => Some((Compiled::new(&pairs, compiled::tuned())?, Compiled::new(&pairs, compiled::PLAIN)?)),
        None => None,
    };
    for (index, (case, (wire, native))) in cases.into_iter().zip(&pairs).enumerate() {
        let baselines = baselines.as_ref().map(|(tuned, plain)| [(tuned, index), (plain, index)]);
        let pair = Pair::new(workload, wire, native, baselines)?;
        pair.check().map_err(|error| format!("{} {}: {error}", workload.name, case.name()))?;
        pair.lines(&options.effort, Line::new("convert", workload.name).word("case", case.name()), line)?;
    }
    Ok(())
}

/// Nanoseconds that each engine takes for a record: the interpreter, then the code of each generator.
///
/// # Errors
/// If a result is wrong.
pub fn engines(
    workload: &Workload,
    wire: &Format,
    native: &Format,
    effort: &Effort,
) -> Result<Vec<(&'static str, f64)>> {
    let pair = Pair::new(workload, wire, native, None)?;
    pair.check().map_err(|error| format!("{}: {error}", workload.name))?;
    let names: Vec<_> = iter::once("interpreter").chain(pair.codes.iter().map(|(name, _)| *name)).collect();
    let hot = pair.measure(&names, effort, false)?;
    Ok(names.into_iter().zip(hot.engines.iter().map(Times::median)).collect())
}

/// The time of a record in steady state, and that of C compiled for the pair of formats.
pub struct Beside {
    /// The engine: generated code, or the interpreter if there is none.
    pub engine: &'static str,
    /// Nanoseconds of the engine.
    pub ns: f64,
    /// Nanoseconds of compiled C.
    pub compiled_ns: f64,
    /// How many times longer the engine takes.
    pub ratio: f64,
}

/// Measures the engine that a decoder would use in the end beside C: tuned, and plain.
///
/// # Errors
/// If a result is wrong.
pub fn beside(
    workload: &Workload,
    wire: &Format,
    native: &Format,
    baselines: [(&Compiled, usize); 2],
    effort: &Effort,
) -> Result<Beside> {
    let pair = Pair::new(workload, wire, native, Some(baselines))?;
    pair.check()?;
    let engine = pair.codes.first().map_or("interpreter", |(name, _)| *name);
    let hot = pair.measure(&[engine], effort, false)?;
    let ([ns], Some([tuned, _])) = (&hot.engines[..], &hot.compiled) else { return Err("nothing was measured".into()) };
    Ok(Beside { engine, ns: ns.median(), compiled_ns: tuned.median(), ratio: ns.ratio(tuned) })
}

/// Everything that runs for one pair of formats.
struct Pair<'a> {
    plan: Arc<Plan>,
    /// What the generators make, by their names in the report: `generated` is what a decoder would use. None where there is
    /// no generator, or nothing to be gained.
    codes: Vec<(&'static str, isoform_jit::Code)>,
    plain: Plain,
    verifier: Verifier,
    /// What comes, and what must become of it.
    body: Vec<u8>,
    result: Vec<u8>,
    baselines: Option<[(&'a Compiled, usize); 2]>,
}

impl<'a> Pair<'a> {
    fn new(
        workload: &Workload,
        wire: &Format,
        native: &Format,
        baselines: Option<[(&'a Compiled, usize); 2]>,
    ) -> Result<Pair<'a>> {
        let plan = Arc::new(Plan::new(wire, native, &Rules::new(), Faults::Error)?);
        Ok(Pair {
            codes: if plan.is_direct() { Vec::new() } else { codes(&plan) },
            plan,
            plain: Plain::new(wire, native)?,
            verifier: Verifier::new(wire),
            body: fill::body(wire, workload.length),
            result: fill::body(native, workload.length),
            baselines,
        })
    }

    /// Compares what everything makes of the body with the record that must arrive.
    fn check(&self) -> Result<()> {
        let mut contestants = vec![("interpreter", self.interpreter()), ("the plain interpreter", self.plain())];
        contestants.extend(self.codes.iter().map(|(name, code)| (*name, self.generated(code))));
        for (name, baseline) in ["compiled", "compiled -O3"].into_iter().zip(self.baselines.iter().flatten()) {
            contestants.push((name, self.compiled(*baseline)));
        }
        for (name, mut contestant) in contestants {
            let mut memory = self.memory(0, false);
            let mut place = memory.place().verified(&self.verifier, self.body.len())?;
            contestant(&mut place, 1);
            let mut wrong = None;
            place.bytes(1, |_, dst| wrong = self.result.iter().zip(dst).position(|(expected, came)| expected != came));
            if let Some(at) = wrong {
                return Err(format!("{name} is wrong at byte {at}").into());
            }
        }
        // With pointers the blocks lie elsewhere if the sender's record is longer, which is why they are offsets.
        let in_place = self.plan.is_direct() && !self.plan.native().structure().has_slots();
        if in_place && self.body[..self.result.len()] != self.result {
            return Err("the body is no record of the receiver's".into());
        }
        Ok(())
    }

    fn lines(&self, effort: &Effort, line: Line, print: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
        let mut engines = vec!["interpreter"];
        engines.extend(self.codes.iter().map(|(name, _)| *name));
        engines.push("plain");
        if self.plan.is_direct() {
            engines.insert(0, "none");
        }
        let (hot, rotating) = (self.measure(&engines, effort, false)?, self.measure(&engines, effort, true)?);
        for (index, engine) in engines.iter().enumerate() {
            let (ns, far) = (&hot.engines[index], &rotating.engines[index]);
            let mut line = line.clone().word("engine", engine).figure("ns", ns.median());
            line = line.figure("memcpy_ns", hot.memcpy.median());
            if let (Some([tuned, plain]), Some([far_tuned, _])) = (&hot.compiled, &rotating.compiled) {
                line = line.figure("compiled_ns", tuned.median()).figure("compiled_plain_ns", plain.median());
                line = line.figure("ratio", ns.ratio(tuned)).figure("rotating_ratio", far.ratio(far_tuned));
                line = line.figure("rotating_compiled_ns", far_tuned.median());
            }
            line = line.figure("rotating_ns", far.median()).figure("rotating_memcpy_ns", rotating.memcpy.median());
            line = line.figure("min_ns", ns.min()).figure("p90_ns", ns.p90()).count("bytes", self.result.len());
            print(line)?;
        }
        Ok(())
    }

    fn measure(&self, engines: &[&str], effort: &Effort, rotating: bool) -> Result<Measured> {
        let mut memories: Vec<Memory> = (0..effort.placements).map(|index| self.memory(index, rotating)).collect();
        let places = memories.iter_mut().map(|memory| memory.place().verified(&self.verifier, self.body.len()));
        let mut places: Vec<Place<'_>> = places.collect::<Result<_>>()?;
        let mut contestants = vec![memcpy(self.result.len())];
        contestants.extend(self.baselines.iter().flatten().map(|&baseline| self.compiled(baseline)));
        contestants.extend(engines.iter().map(|&engine| match engine {
            "none" => self.none(),
            "plain" => self.plain(),
            engine => match self.codes.iter().find(|(name, _)| *name == engine) {
                Some((_, code)) => self.generated(code),
                None => self.interpreter(),
            },
        }));
        let mut times = measure(&mut contestants, &mut places, effort).into_iter();
        let mut next = || times.next().unwrap_or_default();
        let memcpy = next();
        let compiled = self.baselines.is_some().then(|| [next(), next()]);
        Ok(Measured { memcpy, compiled, engines: times.collect() })
    }

    fn memory(&self, index: usize, rotating: bool) -> Memory {
        // Where there are blocks, engines are faster with more room than they need, as decoders give them.
        let slots = self.plan.native().structure().has_slots();
        let spare = if slots { 2 * self.body.len() + 256 } else { 0 };
        Memory::new(index, self.body.len().max(self.result.len() + spare), &self.body, rotating)
    }

    fn compiled(&self, (compiled, index): (&'a Compiled, usize)) -> Contestant<'_> {
        Box::new(move |place, runs| {
            place.bytes(runs, |src, dst| {
                // SAFETY: a place holds verified bodies, and room for the result.
                unsafe { compiled.convert(index, src, dst) };
            });
        })
    }

    fn none(&self) -> Contestant<'_> {
        Box::new(|place, runs| {
            place.bodies(runs, |body, _| {
                black_box(self.plan.is_direct().then(|| body.bytes().as_ptr()));
            });
        })
    }

    fn interpreter(&self) -> Contestant<'_> {
        self.engine(
            |body, room| interp::run(&self.plan, body, room),
            |body, record| interp::run_fixed(&self.plan, body, record),
        )
    }

    fn plain(&self) -> Contestant<'_> {
        Box::new(|place, runs| {
            place.bytes(runs, |src, dst| _ = self.plain.run(src, dst).expect("values that fit"));
        })
    }

    fn generated<'b>(&'b self, code: &'b isoform_jit::Code) -> Contestant<'b> {
        self.engine(|body, room| code.run(body, room), |body, record| code.run_fixed(body, record))
    }

    /// An engine, by what it does where there are pointers, and where there are none.
    fn engine<'b>(
        &self,
        run: impl Fn(Body<'_>, &mut Room<'_>) -> isoform_core::Result<()> + 'b,
        run_fixed: impl Fn(Body<'_>, &mut [u8]) -> isoform_core::Result<()> + 'b,
    ) -> Contestant<'b> {
        let size = self.plan.native().size();
        match self.plan.native().structure().has_slots() {
            true => Box::new(move |place, runs| {
                place.bodies(runs, |body, bytes| run(body, &mut Room { bytes, length: 0 }).expect("values that fit"));
            }),
            false => Box::new(move |place, runs| {
                place.bodies(runs, |body, bytes| run_fixed(body, &mut bytes[..size]).expect("values that fit"));
            }),
        }
    }
}

/// What each generator makes of a plan, the best first.
pub fn codes(plan: &Arc<Plan>) -> Vec<(&'static str, isoform_jit::Code)> {
    let codes = Generator::ALL.iter().filter_map(|&by| isoform_jit::Code::by(by, plan).map(|code| (by, code)));
    codes.enumerate().map(|(index, (by, code))| (if index == 0 { "generated" } else { by.name() }, code)).collect()
}

struct Measured {
    memcpy: Times,
    compiled: Option<[Times; 2]>,
    engines: Vec<Times>,
}

/// Memory that is used again and again, and whose bytes are left as they were.
struct Room<'a> {
    bytes: &'a mut [u8],
    length: usize,
}

impl Output for Room<'_> {
    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }

    #[inline]
    fn resize(&mut self, length: usize) -> isoform_core::Result<()> {
        if length > self.bytes.len() {
            return Err(Error::new(Code::Size));
        }
        self.length = length;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;

    #[test]
    fn a_wrong_result_is_found() {
        let workload = Workload::all().into_iter().find(|workload| workload.name == "K01").unwrap();
        let (wire, native) = Case::Swap.formats(&workload).unwrap().unwrap();
        let mut pair = Pair::new(&workload, &wire, &native, None).unwrap();
        pair.check().unwrap();
        pair.result[50] ^= 1;
        assert_eq!(pair.check().unwrap_err().to_string(), "interpreter is wrong at byte 50");
    }
}
