//! Strangers who say what others said, but for a few changes; on all processors.

use isoform_hostile::Tally;
use isoform_hostile::links::{self, CHOICES, Visit};
use isoform_testing::InFlight;
use isoform_testing::mutate::{Random, mutate_link};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// So many defects are told in full.
const TOLD: usize = 20;

/// Visits by their numbers.
pub(crate) struct Source {
    seed: u64,
    handshakes: Vec<Vec<u8>>,
    frames: Vec<Vec<u8>>,
}

impl Source {
    pub(crate) fn new(seed: u64) -> Source {
        let all = |seeds: std::collections::BTreeSet<Vec<u8>>| seeds.into_iter().collect();
        Source { seed, handshakes: all(links::handshake_seeds()), frames: all(links::frame_seeds()) }
    }

    /// The visit of this number.
    pub(crate) fn visit(&self, number: u64) -> Visit {
        let mut random = Random::of(self.seed, number);
        let of_handshake = random.one_in(4);
        let seeds = if of_handshake { &self.handshakes } else { &self.frames };
        let (choices, said) = seeds[random.below(seeds.len())].split_at(CHOICES);
        let mut input = choices.to_vec();
        if random.one_in(4) {
            input[random.below(CHOICES)] = random.byte();
        }
        input.extend(mutate_link(said, &mut random));
        if of_handshake { links::handshake(&input) } else { links::frames(&input) }
    }
}

#[derive(Default)]
struct Sum {
    visits: u64,
    refusals: Tally,
    defects: Vec<(u64, String)>,
}

pub(crate) fn run(seed: u64, count: u64) -> ExitCode {
    let (source, next, sum) = (Source::new(seed), AtomicU64::new(0), Mutex::new(Sum::default()));
    std::panic::set_hook(Box::new(|_| {})); // they are told at the end, with what makes them again
    std::thread::scope(|scope| {
        for worker in 0..std::thread::available_parallelism().map_or(1, |count| count.get() as u64) {
            let (source, next, sum) = (&source, &next, &sum);
            scope.spawn(move || {
                let in_flight = InFlight::new("isoform-hostile-links", worker);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    in_flight.is(format_args!("visit {seed} {number}"));
                    let came = catch_unwind(AssertUnwindSafe(|| source.visit(number)));
                    sum.lock().unwrap_or_else(PoisonError::into_inner).add(number, came);
                }
            });
        }
    });
    drop(std::panic::take_hook());
    report(seed, sum.into_inner().unwrap_or_else(PoisonError::into_inner))
}

impl Sum {
    fn add(&mut self, number: u64, came: std::thread::Result<Visit>) {
        self.visits += 1;
        match came {
            Ok(visit) => visit.refusal.into_iter().for_each(|code| self.refusals.count(code)),
            Err(panic) => self.defects.push((number, crate::mutants::text(&*panic))),
        }
    }
}

fn report(seed: u64, mut sum: Sum) -> ExitCode {
    sum.defects.sort();
    for (number, text) in sum.defects.iter().take(TOLD) {
        println!("DEFECT: isoform-hostile visit {seed} {number}: {text}");
    }
    println!("strangers refused: {}", sum.refusals);
    let (visits, refused, defects) = (sum.visits, sum.refusals.total(), sum.defects.len());
    println!("hostile: {visits} visits of strangers (seed {seed}), {refused} refused, {defects} panics");
    if sum.defects.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
