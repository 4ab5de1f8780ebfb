//! Many mutants, on all processors.

use isoform_hostile::{Outcome, Tally, receive, seeds};
use isoform_testing::InFlight;
use isoform_testing::mutate::{Random, mutate};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// So many mutants in a row are made of one stream.
const LITTER: u64 = 32;
/// Streams longer than this are taken rarely; by Miri, which is a thousand times as slow, never,
/// nor are random ones made there.
const LONG: usize = if cfg!(miri) { 600 } else { 8 << 10 };
/// So many defects are told in full.
const TOLD: usize = 20;

/// Mutants by their numbers.
pub(crate) struct Source {
    seed: u64,
    vectors: Vec<Vec<u8>>,
    latest: Option<(u64, Vec<u8>)>,
}

impl Source {
    pub(crate) fn new(seed: u64) -> Source {
        Source { seed, vectors: seeds::vectors(), latest: None }
    }

    /// The mutant of this number: the same at any time, whichever were made before.
    pub(crate) fn mutant(&mut self, number: u64) -> Vec<u8> {
        let litter = number / LITTER;
        if self.latest.as_ref().is_none_or(|(known, _)| *known != litter) {
            let mut random = Random::of(!self.seed, litter);
            let mut stream = self.good(&mut random);
            if random.one_in(4) {
                stream.extend(self.good(&mut random));
            }
            self.latest = Some((litter, stream));
        }
        let good = self.latest.as_ref().map_or(&[][..], |(_, stream)| stream);
        mutate(good, &mut Random::of(self.seed, number))
    }

    fn good(&self, random: &mut Random) -> Vec<u8> {
        loop {
            let stream = match !cfg!(miri) && random.one_in(2) {
                true => seeds::random(random.bits()),
                false => self.vectors[random.below(self.vectors.len())].clone(),
            };
            if stream.len() <= LONG || !cfg!(miri) && random.one_in(16) {
                return stream;
            }
        }
    }
}

/// What became of all mutants.
#[derive(Default)]
struct Sum {
    mutants: u64,
    bytes: u64,
    /// Mutants that were read to their end without an error.
    accepted: u64,
    records: u64,
    conversions: u64,
    refusals: Tally,
    using: Tally,
    reading: Tally,
    defects: Vec<(u64, String)>,
}

impl Sum {
    fn add(&mut self, length: usize, outcome: &Outcome) {
        self.mutants += 1;
        self.bytes += length as u64;
        match outcome.refusal {
            None => self.accepted += 1,
            Some(code) => self.refusals.count(code),
        }
        self.records += outcome.records;
        self.conversions += outcome.conversions;
        self.using.merge(&outcome.using);
        self.reading.merge(&outcome.reading);
    }

    fn merge(&mut self, other: Sum) {
        self.mutants += other.mutants;
        self.bytes += other.bytes;
        self.accepted += other.accepted;
        self.records += other.records;
        self.conversions += other.conversions;
        self.refusals.merge(&other.refusals);
        self.using.merge(&other.using);
        self.reading.merge(&other.reading);
        self.defects.extend(other.defects);
    }
}

pub(crate) fn run(seed: u64, count: u64) -> ExitCode {
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get() as u64).min(count.max(1));
    let litter = AtomicU64::new(0);
    let sum = Mutex::new(Sum::default());
    std::panic::set_hook(Box::new(|_| {})); // they are told at the end, with what makes them again
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (litter, sum) = (&litter, &sum);
            scope.spawn(move || {
                let mine = work(seed, count, litter, &InFlight::new("isoform-hostile", worker));
                sum.lock().unwrap_or_else(PoisonError::into_inner).merge(mine);
            });
        }
    });
    drop(std::panic::take_hook());
    report(seed, sum.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn work(seed: u64, count: u64, litter: &AtomicU64, in_flight: &InFlight) -> Sum {
    let mut source = Source::new(seed);
    let mut sum = Sum::default();
    loop {
        let begin = litter.fetch_add(1, Ordering::Relaxed) * LITTER;
        if begin >= count {
            return sum;
        }
        for number in begin..count.min(begin + LITTER) {
            in_flight.is(format_args!("mutant {seed} {number}"));
            // What it was making is dropped with it.
            let came = catch_unwind(AssertUnwindSafe(|| {
                let mutant = source.mutant(number);
                (mutant.len(), receive(&mutant))
            }));
            match came {
                Ok((length, outcome)) => sum.add(length, &outcome),
                Err(panic) => {
                    sum.mutants += 1;
                    sum.defects.push((number, text(&*panic)));
                }
            }
        }
    }
}

pub(crate) fn text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a text").chars().take(500).collect()
}

fn report(seed: u64, mut sum: Sum) -> ExitCode {
    sum.defects.sort();
    for (number, text) in sum.defects.iter().take(TOLD) {
        println!("DEFECT: isoform-hostile mutant {seed} {number}: {text}");
    }
    println!("errors of reading: {}", sum.reading);
    println!("errors of converting, and of JSON: {}", sum.using);
    println!("mutants refused, by their first error: {}", sum.refusals);
    println!(
        "hostile: {} mutants (seed {seed}, {} MiB), {} accepted, {} refused, {} records read, {} conversions made, {} panics",
        sum.mutants,
        sum.bytes >> 20,
        sum.accepted,
        sum.refusals.total(),
        sum.records,
        sum.conversions,
        sum.defects.len()
    );
    if sum.defects.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
