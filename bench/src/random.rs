//! The group `random`: flat records that are drawn anew in each run, beside C compiled for each pair of formats.
//!
//! The other groups measure records that this project knows, and so could be tuned for. These it does not know. Every line
//! has the seed, and `--seed` draws the same records again. A record that takes more than twice as long as compiled C is
//! measured again, and its line has its shape and its plan. The last line has the median and the largest ratio.

use crate::compiled::{self, Compiled};
use crate::workload::Declared;
use crate::{Case, Effort, Line, Options, Result, Workload, convert};
use isoform_core::{Faults, Format, Plan, Rules, Shape};
use std::hash::{BuildHasher, RandomState};

/// The names of the records.
const NAMES: [&str; 20] = [
    "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15", "R16", "R17",
    "R18", "R19", "R20",
];

const TYPES: &[&str] = &["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"];

/// What the sender's machine is, or how its fields differ.
const CASES: &[Case] = &[Case::Swap, Case::Swap, Case::Swap32, Case::Shuffled, Case::Widen];

/// A ratio above this one is explained.
const SLOW: f64 = 2.0;

/// Draws the records, and measures each.
///
/// # Errors
/// If a result is wrong, if there is no C compiler, or if `line` fails.
pub fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    if compiled::version().is_none() {
        return line(Line::skipped("compiled C", "a C compiler"));
    }
    // A new hasher has random keys.
    let seed = options.seed.unwrap_or_else(|| RandomState::new().hash_one(0) >> 32);
    let drawn: Vec<Drawn> = drawn(seed)?;
    let pairs: Vec<(Format, Format)> = drawn.iter().map(|drawn| drawn.pair.clone()).collect();
    let [tuned, plain] = [compiled::tuned(), compiled::PLAIN].map(|flags| Compiled::new(&pairs, flags));
    let (tuned, plain) = (tuned?, plain?);
    let mut ratios = Vec::new();
    for (index, drawn) in drawn.iter().enumerate() {
        let measured = |effort: &Effort| {
            let baselines = [(&tuned, index), (&plain, index)];
            let beside = convert::beside(&drawn.workload, &drawn.pair.0, &drawn.pair.1, baselines, effort);
            beside.map_err(|error| format!("seed {seed}, {}: {error}", drawn.workload.name))
        };
        let first = measured(&options.effort)?;
        let about =
            Line::new("random", drawn.workload.name).word("case", drawn.case.name()).word("engine", first.engine);
        let mut about = about.count("seed", seed as usize);
        about = about.count("fields", drawn.fields()).count("bytes", drawn.pair.1.size());
        about = about.figure("ns", first.ns).figure("compiled_ns", first.compiled_ns).figure("ratio", first.ratio);
        let mut ratio = first.ratio;
        // As the reader sees it: 2.00 is not above 2, whatever stands behind it.
        if about.number("ratio") > Some(SLOW) {
            let again = measured(&options.effort)?;
            ratio = ratio.min(again.ratio);
            about =
                about.figure("again_ratio", again.ratio).word("shape", &drawn.shape()?).word("plan", &drawn.plan()?);
        }
        ratios.push(ratio);
        line(about)?;
    }
    line(summary(seed, ratios))
}

/// The median of the ratios, and the largest.
fn summary(seed: u64, mut ratios: Vec<f64>) -> Line {
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
    let worst = ratios.last().copied().unwrap_or(f64::NAN);
    let line = Line::new("random", "median").count("seed", seed as usize).count("records", ratios.len());
    line.figure("ratio", median).figure("worst_ratio", worst)
}

/// A record, and both of its formats.
struct Drawn {
    workload: Workload,
    case: Case,
    pair: (Format, Format),
}

impl Drawn {
    fn fields(&self) -> usize {
        self.workload.records.iter().map(|record| record.fields.len()).sum()
    }

    fn shape(&self) -> Result<String> {
        Ok(Shape::of(&self.pair.0).to_string())
    }

    fn plan(&self) -> Result<String> {
        Ok(Plan::new(&self.pair.0, &self.pair.1, &Rules::new(), Faults::Error)?.to_string())
    }
}

/// The records of a seed.
fn drawn(seed: u64) -> Result<Vec<Drawn>> {
    let mut random = Random(seed);
    NAMES.iter().map(|name| one(name, &mut random)).collect()
}

/// A record in whose case something is converted.
fn one(name: &'static str, random: &mut Random) -> Result<Drawn> {
    loop {
        // Half of the records have few fields.
        let count = if random.below(2) == 0 { 2 + random.below(11) } else { 13 + random.below(48) };
        let fields = (0..count).map(|index| (format!("f{index}"), random.words())).collect();
        let workload = Workload { name, records: vec![Declared { name: "Drawn", fields }], length: 0 };
        let case = CASES[random.below(CASES.len())];
        if let Some(pair) = case.formats(&workload)?
            && !Plan::new(&pair.0, &pair.1, &Rules::new(), Faults::Error)?.is_direct()
        {
            return Ok(Drawn { workload, case, pair });
        }
    }
}

/// Numbers without a pattern, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % bound as u64) as usize
    }

    /// The type of a field: a number, and now and then an array of them.
    fn words(&mut self) -> String {
        let word = TYPES[self.below(TYPES.len())];
        if self.below(6) == 0 { format!("{word}[{}]", 2 + self.below(15)) } else { word.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_records_again() {
        let texts = |seed| -> Vec<String> { drawn(seed).unwrap().iter().map(|drawn| drawn.shape().unwrap()).collect() };
        assert_eq!(texts(7), texts(7));
        assert_ne!(texts(7), texts(8));
        assert_eq!(texts(7).len(), 20);
    }

    #[test]
    fn the_last_line_has_the_median_and_the_largest() {
        let line = summary(7, vec![3.0, 1.0, 0.5]);
        assert_eq!((line.number("ratio"), line.number("worst_ratio")), (Some(1.0), Some(3.0)));
        assert_eq!((line.number("seed"), line.number("records")), (Some(7.0), Some(3.0)));
    }
}
