//! Many pairs, on all processors.

use crate::{Emitters, Pair, Tally};
use isoform_testing::InFlight;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// So many differences are told in full.
const TOLD: usize = 10;

/// What came of the pairs of one seed.
#[derive(Debug)]
pub struct Report {
    seed: u64,
    /// What was counted.
    pub tally: Tally,
    /// The numbers of pairs on which engines differ, and how.
    pub differences: Vec<(u64, String)>,
}

/// Compares the interpreter and these emitters on the pairs of the numbers below `count`.
///
/// ```
/// let report = isoform_engines::run(isoform_engines::Emitters::Native, 1, 20);
/// assert!(report.differences.is_empty() && report.tally.pairs == 20);
/// assert!(report.to_string().contains(": 20 pairs, "));
/// ```
pub fn run(emitters: Emitters, seed: u64, count: u64) -> Report {
    let next = AtomicU64::new(0);
    let workers = thread::available_parallelism().map_or(1, |count| count.get() as u64).min(count.max(1));
    let next = &next;
    let mut report = Report { seed, tally: Tally::default(), differences: Vec::new() };
    thread::scope(|scope| {
        let started: Vec<_> =
            (0..workers).map(|worker| scope.spawn(move || work(worker, emitters, seed, count, next))).collect();
        for worker in started {
            let (tally, differences) = worker.join().expect("a worker that catches what panics");
            report.tally.add(&tally);
            report.differences.extend(differences);
        }
    });
    report.differences.sort();
    report
}

fn work(worker: u64, emitters: Emitters, seed: u64, count: u64, next: &AtomicU64) -> (Tally, Vec<(u64, String)>) {
    let in_flight = InFlight::new("isoform-engines", worker);
    let (mut tally, mut differences) = (Tally::default(), Vec::new());
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return (tally, differences);
        }
        in_flight.is(format_args!("pair {seed} {number}"));
        match catch_unwind(AssertUnwindSafe(|| Pair::of(seed, number).compare(emitters))) {
            Ok(Ok(one)) => tally.add(&one),
            Ok(Err(difference)) => differences.push((number, difference)),
            Err(_) => differences.push((number, "a panic, whose text stands above".into())),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, difference) in self.differences.iter().take(TOLD) {
            writeln!(f, "DIFFERENCE: isoform-engines pair {} {number}: {difference}", self.seed)?;
        }
        let (machine, seed, differences) = (std::env::consts::ARCH, self.seed, self.differences.len());
        write!(f, "engines on {machine}: {} (seed {seed}); {differences} differences", self.tally)
    }
}
