//! What the engines make of records, compared.
//!
//! Bytes that belong to no field need not be equal: an engine leaves them as they are, or clears them. Which these are is
//! found out by a walk through what came out.

use crate::engine::{Emitters, Engine};
use crate::output::{Narrow, Used};
use crate::{Pair, Tally};
use isoform_core::{Body, Plan, Result, Verifier, interp};
use isoform_testing::mutate::regions;
use std::sync::Arc;

/// What differs, in words.
type Difference = String;

impl Pair {
    /// Converts every record by the interpreter and by the code of these emitters.
    ///
    /// # Errors
    /// In what they differ first, and the plan.
    pub fn compare(mut self, emitters: Emitters) -> std::result::Result<Tally, Difference> {
        let mut tally = Tally { pairs: 1, ..Tally::default() };
        let Ok(plan) = self.plan() else {
            tally.unplanned = 1;
            return Ok(tally);
        };
        let plan = Arc::new(plan);
        let codes = Engine::of(&plan, emitters).map_err(|error| format!("{error}\n{plan}"))?;
        let Some(best) = codes.first() else {
            tally.interpreted = 1;
            return Ok(tally);
        };
        tally.generated = 1;
        tally.twice = u64::from(codes.len() > 1);
        tally.code = best.size() as u64;
        let mut engines = Engines { plan: &plan, codes: &codes, left: Vec::new(), used: Used::default() };
        for body in &self.bodies {
            let body = self.wire.verify(body).map_err(|error| format!("a record that is none: {error}"))?;
            let choice = self.random.bits() as usize;
            match engines.compare(body, choice).map_err(|difference| format!("{difference}\n{plan}"))? {
                true => tally.converted += 1,
                false => tally.refused += 1,
            }
        }
        if !self.native.structure().has_slots() {
            let space = self.random.bits() as usize % 20;
            self.many(&plan, &codes, space).map_err(|difference| format!("{difference}\n{plan}"))?;
        }
        for (executed, answered) in codes.iter().map(Engine::counted) {
            tally.executed += executed;
            tally.answered += answered;
        }
        Ok(tally)
    }

    /// Converts bodies of one length all at once, at distances of so many bytes more than that.
    fn many(&self, plan: &Plan, codes: &[Engine], space: usize) -> std::result::Result<(), Difference> {
        let Some(length) = self.bodies.first().map(Vec::len).filter(|&length| length > 0) else { return Ok(()) };
        let (mut bytes, mut count) = (Vec::new(), 0);
        for body in self.bodies.iter().filter(|body| body.len() == length) {
            bytes.resize(count * (length + space), 0xee);
            bytes.extend_from_slice(body);
            count += 1;
        }
        let verifier = Verifier::new(&self.wire);
        let bodies = verifier.verify_many(&bytes, length, length + space).map_err(|error| error.to_string())?;
        let size = plan.native().size();
        let mut expected = vec![0; count * size];
        let judged = interp::run_many(plan, bodies, &mut expected);
        for code in codes {
            let mut came = vec![0; count * size];
            let result = code.run_many(bodies, &mut came);
            if result != judged || result.is_ok() && came != expected {
                return Err(format!("{count} records at once: {result:?} instead of {judged:?}, or other bytes"));
            }
        }
        Ok(())
    }
}

struct Engines<'a> {
    plan: &'a Plan,
    /// What each generator has made.
    codes: &'a [Engine],
    /// What generated code has made of the record before.
    left: Vec<u8>,
    used: Used,
}

impl Engines<'_> {
    /// Whether the record was converted, by all of them.
    fn compare(&mut self, body: Body<'_>, choice: usize) -> std::result::Result<bool, Difference> {
        let plan = self.plan;
        let mut expected = Vec::new();
        let result = interp::run(plan, body, &mut expected);
        let expected = Expected::new(plan, result.map(|()| expected))?;
        let result = interp::run(plan, body, self.used.leave(&self.left));
        expected.beside_gaps("the interpreter", result.map(|()| self.used.record()), &self.left)?;
        for code in self.codes {
            self.generated(code, &expected, body, choice)?;
        }
        self.left.clear();
        self.left.extend_from_slice(self.used.record());
        Ok(expected.record.is_ok())
    }

    fn generated(
        &mut self,
        code: &Engine,
        expected: &Expected,
        body: Body<'_>,
        choice: usize,
    ) -> std::result::Result<(), Difference> {
        let plan = self.plan;
        let mut fresh = Vec::new();
        let result = code.run(body, &mut fresh);
        expected.exactly(result.map(|()| &fresh[..]))?;
        let result = code.run_tightly(body, self.used.leave(&self.left));
        expected.beside_gaps("generated code", result.map(|()| self.used.record()), &self.left)?;
        if plan.native().structure().has_slots() {
            return expected.narrow(plan, code, body, choice);
        }
        self.left.resize(plan.native().size(), 0x33);
        let mut record = self.left.clone();
        let result = code.run_fixed(body, &mut record);
        expected.beside_gaps("generated code, without growing", result.map(|()| &record[..]), &self.left)
    }
}

/// What the interpreter makes of a body in new memory, which is zeros.
struct Expected {
    record: Result<Vec<u8>>,
    /// 0xff where a field has bytes, 0 in gaps.
    fields: Vec<u8>,
}

impl Expected {
    fn new(plan: &Plan, record: Result<Vec<u8>>) -> std::result::Result<Expected, Difference> {
        let mut fields = Vec::new();
        if let Ok(record) = &record {
            plan.native().verify(record).map_err(|error| format!("the interpreter made no record: {error}"))?;
            fields.resize(record.len(), 0);
            let regions =
                regions(plan.native(), record).ok_or("the interpreter made a record that cannot be walked")?;
            regions.into_iter().for_each(|region| fields[region.bytes].fill(0xff));
        }
        Ok(Expected { record, fields })
    }

    /// Generated code in new memory makes the same, gaps included.
    fn exactly(&self, came: Result<&[u8]>) -> std::result::Result<(), Difference> {
        match (&self.record, &came) {
            (Ok(expected), Ok(came)) if expected == came => Ok(()),
            (Err(expected), Err(came)) if expected == came => Ok(()),
            _ => Err(self.difference("generated code", came, |at, byte, expected| byte == expected[at])),
        }
    }

    /// In memory that held these bytes `before`, all fields are the same; gaps are as they were, cleared, or as in new
    /// memory: elements of the sender's that have no room may lie there.
    fn beside_gaps(&self, who: &str, came: Result<&[u8]>, before: &[u8]) -> std::result::Result<(), Difference> {
        let right = |at: usize, byte: u8, expected: &[u8]| match self.fields[at] {
            0 if byte == 0 || before.get(at).is_none_or(|&before| byte == before) => true,
            _ => byte == expected[at],
        };
        match (&self.record, &came) {
            (Ok(expected), Ok(came)) if expected.len() == came.len() => {
                let all = came.iter().enumerate().all(|(at, &byte)| right(at, byte, expected));
                if all { Ok(()) } else { Err(self.difference(&format!("{who}, in used memory"), Ok(came), right)) }
            }
            (Err(expected), Err(came)) if expected == came => Ok(()),
            _ => Err(self.difference(&format!("{who}, in used memory"), came, right)),
        }
    }

    /// Where there is no room for a block is told alike.
    fn narrow(&self, plan: &Plan, code: &Engine, body: Body<'_>, choice: usize) -> std::result::Result<(), Difference> {
        let Ok(record) = &self.record else { return Ok(()) };
        let least = plan.native().size();
        let room = least + choice % (record.len() + 1 - least);
        let narrow = || Narrow { bytes: Vec::new(), room };
        let (judged, came) = (interp::run(plan, body, &mut narrow()), code.run(body, &mut narrow()));
        match judged == came {
            true => Ok(()),
            false => Err(format!("generated code, with room for {room} bytes: {came:?} instead of {judged:?}")),
        }
    }

    #[cold]
    fn difference(&self, who: &str, came: Result<&[u8]>, right: impl Fn(usize, u8, &[u8]) -> bool) -> Difference {
        let what = match (&self.record, &came) {
            (Ok(expected), Ok(came)) if expected.len() == came.len() => {
                let at = (0..came.len()).find(|&at| !right(at, came[at], expected)).unwrap_or_default();
                format!("{} instead of {} at byte {at}", came[at], expected[at])
            }
            (Ok(expected), Ok(came)) => format!("{} bytes instead of {}", came.len(), expected.len()),
            (expected, came) => format!("{:?} instead of {:?}", came.as_ref().err(), expected.as_ref().err()),
        };
        format!("{who}: {what}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_core::{Code as Kind, Error, Layout, Rules, Shape};

    /// A byte, three bytes of gap, four of a number.
    fn expected(record: Result<Vec<u8>>) -> Expected {
        let format = Shape::new("r").field("a", "u8").field("b", "u32").on(&Layout::X86_64).unwrap();
        let plan = Plan::new(&format, &format, &Rules::new(), isoform_core::Faults::Error).unwrap();
        Expected::new(&plan, record).unwrap()
    }

    #[test]
    fn other_bytes_and_other_errors_are_differences() {
        let good = expected(Ok(vec![1, 0, 0, 0, 2, 3, 4, 5]));
        assert_eq!(good.exactly(Ok(&[1, 0, 0, 0, 2, 3, 4, 5])), Ok(()));
        assert_eq!(good.exactly(Ok(&[1, 0, 0, 0, 2, 9, 4, 5])), Err("generated code: 9 instead of 3 at byte 5".into()));
        assert!(good.exactly(Ok(&[1, 0, 7, 0, 2, 3, 4, 5])).is_err());
        assert!(good.exactly(Ok(&[1, 0, 0, 0])).is_err());
        let fault = |path: &'static str| Error::new(Kind::Overflow).at(path);
        assert!(good.exactly(Err(fault("a"))).is_err());
        let bad = expected(Err(fault("a")));
        assert_eq!(bad.exactly(Err(fault("a"))), Ok(()));
        assert!(bad.exactly(Err(fault("b"))).is_err());
        assert!(bad.exactly(Ok(&[0; 8])).is_err());
    }

    #[test]
    fn gaps_may_be_as_they_were_or_zeros() {
        let expected = expected(Ok(vec![1, 0, 0, 0, 2, 3, 4, 5]));
        let before = [7; 8];
        let met = |bytes| expected.beside_gaps("it", Ok(bytes), &before);
        assert_eq!(met(&[1, 0, 0, 0, 2, 3, 4, 5]), Ok(()));
        assert_eq!(met(&[1, 7, 0, 7, 2, 3, 4, 5]), Ok(()));
        assert_eq!(met(&[1, 7, 6, 7, 2, 3, 4, 5]), Err("it, in used memory: 6 instead of 0 at byte 2".into()));
        assert_eq!(met(&[1, 0, 0, 0, 7, 3, 4, 5]), Err("it, in used memory: 7 instead of 2 at byte 4".into()));
    }
}
