//! Time: contestants take turns on the same buffers, so that all share whatever mood the machine is in.

use crate::Result;
use crate::place::Place;
use std::fs::File;
use std::hint::black_box;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Every contestant runs so often on each placement of the buffers.
    pub rounds: usize,
    /// A batch takes at least so many nanoseconds.
    pub batch: u64,
    /// Places within a page at which buffers begin.
    pub placements: usize,
    /// So many small events go to another process in a batch.
    pub events: u32,
}

impl Effort {
    /// Enough for medians that two runs agree on.
    pub const FULL: Effort = Effort { rounds: 31, batch: 50_000, placements: 8, events: 100_000 };
    /// Enough to see that everything runs.
    pub const QUICK: Effort = Effort { rounds: 3, batch: 10_000, placements: 2, events: 2_000 };
    /// Enough to count instructions, of which there are as many each time.
    pub const COUNTED: Effort = Effort { rounds: 1, batch: 100_000, placements: 1, events: 2_000 };
}

/// Where the number of executed instructions is found, if these are counted instead of the time.
static COUNTER: OnceLock<File> = OnceLock::new();

/// Counts instructions from now on: an emulator keeps their number in this file (`bench/counter`). They stand for the time on
/// processors that are not here. They are no measure of it: instructions differ, and so do memories.
///
/// # Errors
/// If the file cannot be read, or there is one already.
pub fn count_by(file: &Path) -> Result<()> {
    COUNTER.set(File::open(file)?).map_err(|_| "instructions are counted already".into())
}

/// Whether instructions are counted.
pub fn is_counting() -> bool {
    COUNTER.get().is_some()
}

/// A moment, from which nanoseconds or instructions are counted.
enum Moment {
    Time(Instant),
    Count(u64),
}

impl Moment {
    fn now() -> Moment {
        COUNTER.get().map_or_else(|| Moment::Time(Instant::now()), |file| Moment::Count(count(file)))
    }

    /// Nanoseconds or instructions since then.
    fn passed(&self) -> f64 {
        match (self, COUNTER.get()) {
            (Moment::Time(start), _) => start.elapsed().as_nanos() as f64,
            (Moment::Count(start), file) => file.map_or(0, count).saturating_sub(*start) as f64,
        }
    }
}

/// The number of instructions so far.
#[cfg(unix)]
fn count(file: &File) -> u64 {
    let mut bytes = [0; 8];
    // The emulator brings the file up to date when a program asks for this.
    black_box(std::os::unix::process::parent_id());
    std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, 0).expect("the emulator's number");
    u64::from_le_bytes(bytes)
}

#[cfg(not(unix))]
fn count(_: &File) -> u64 {
    unreachable!("programs are emulated on Unix only")
}

/// Something that is measured: runs so many times on the buffers of a place.
pub type Contestant<'a> = Box<dyn FnMut(&mut Place<'_>, usize) + 'a>;

/// Copies so many bytes: what the machine can do at best.
pub fn memcpy<'a>(length: usize) -> Contestant<'a> {
    Box::new(move |place, runs| {
        let length = black_box(length);
        place.bytes(runs, |src, dst| dst[..length].copy_from_slice(&src[..length]));
    })
}

/// The time of one run in each batch, in nanoseconds. The batches of several contestants at one index ran one right
/// after the other.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<f64>);

impl FromIterator<f64> for Times {
    fn from_iter<I: IntoIterator<Item = f64>>(times: I) -> Times {
        Times(times.into_iter().collect())
    }
}

impl IntoIterator for Times {
    type Item = f64;
    type IntoIter = std::vec::IntoIter<f64>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Extend<f64> for Times {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, times: I) {
        self.0.extend(times);
    }
}

impl Times {
    /// The median.
    pub fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// The smallest.
    pub fn min(&self) -> f64 {
        self.at(0.0)
    }

    /// What nine of ten batches stay below.
    pub fn p90(&self) -> f64 {
        self.at(0.9)
    }

    /// What all but one of a hundred stay below.
    pub fn p99(&self) -> f64 {
        self.at(0.99)
    }

    /// The median of how many times longer this took than `other`, batch by batch.
    pub fn ratio(&self, other: &Times) -> f64 {
        Times(self.0.iter().zip(&other.0).map(|(own, other)| own / other).collect()).median()
    }

    fn at(&self, part: f64) -> f64 {
        let mut times = self.0.clone();
        times.sort_by(f64::total_cmp);
        times.get((part * times.len().saturating_sub(1) as f64).round() as usize).copied().unwrap_or(f64::NAN)
    }
}

/// Lets the contestants take turns.
pub fn measure(contestants: &mut [Contestant<'_>], places: &mut [Place<'_>], effort: &Effort) -> Vec<Times> {
    let mut times = vec![Times::default(); contestants.len()];
    let Some(first) = places.first_mut() else { return times };
    let lengths: Vec<usize> = contestants.iter_mut().map(|contestant| calibrate(contestant, first, effort)).collect();
    for round in 0..effort.rounds {
        for place in &mut *places {
            for turn in 0..contestants.len() {
                let who = (turn + round) % contestants.len();
                // What ran before has left its own traces in the caches.
                contestants[who](place, 1 + lengths[who] / 16);
                times[who].0.push(time(&mut contestants[who], place, lengths[who]));
            }
        }
    }
    times
}

/// How many runs make a batch.
fn calibrate(contestant: &mut Contestant<'_>, place: &mut Place<'_>, effort: &Effort) -> usize {
    let mut runs = 1;
    while time(contestant, place, runs) * (runs as f64) < effort.batch as f64 && runs < 1 << 30 {
        runs *= 2;
    }
    runs
}

fn time(contestant: &mut Contestant<'_>, place: &mut Place<'_>, runs: usize) -> f64 {
    let start = Moment::now();
    contestant(place, runs);
    start.passed() / runs as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ratios() {
        let times = Times(vec![4.0, 1.0, 100.0, 2.0, 3.0]);
        assert_eq!((times.min(), times.median(), times.p90()), (1.0, 3.0, 100.0));
        assert_eq!(times.ratio(&Times(vec![2.0, 1.0, 10.0, 2.0, 1.0])), 2.0);
    }
}
