//! Arrays to single numbers. The order in which floating-point numbers are added is part of the language, so that every
//! engine and every machine gets the same bits.

use crate::check::Ranges;

/// The number of partial sums: vectors of 2, 4 and 8 doubles can compute them.
const LANES: usize = 8;

/// The sum of numbers: eight partial sums, of which each takes every eighth number, are added as a tree.
pub(crate) fn sum(numbers: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    for chunk in numbers.chunks(LANES) {
        for (lane, number) in lanes.iter_mut().zip(chunk) {
            *lane += number;
        }
    }
    total(lanes)
}

fn total([a, b, c, d, e, f, g, h]: [f64; LANES]) -> f64 {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// The partial sums of numbers that come one by one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lanes {
    sums: [f64; LANES],
    count: u64,
}

impl Lanes {
    pub(crate) fn add(&mut self, number: f64) {
        self.sums[(self.count % LANES as u64) as usize] += number;
        self.count += 1;
    }

    /// Adds the partial sums of later numbers.
    pub(crate) fn join(&mut self, later: &Lanes) {
        self.sums.iter_mut().zip(later.sums).for_each(|(sum, more)| *sum += more);
        self.count += later.count;
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn total(&self) -> f64 {
        total(self.sums)
    }
}

/// How far numbers that come one by one are from their mean.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Spread {
    pub(crate) fn add(&mut self, number: f64) {
        self.count += 1.0;
        let distance = number - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (number - self.mean);
    }

    /// Adds later numbers.
    pub(crate) fn join(&mut self, later: &Spread) {
        if self.count == 0.0 {
            *self = *later;
        } else if later.count > 0.0 {
            let (count, distance) = (self.count + later.count, later.mean - self.mean);
            let between = distance * distance * self.count * later.count / count;
            self.mean += distance * later.count / count;
            self.squares += later.squares + between;
            self.count = count;
        }
    }

    /// The standard deviation; `None` if there are no numbers.
    pub(crate) fn deviation(&self) -> Option<f64> {
        (self.count > 0.0).then(|| (self.squares / self.count).sqrt())
    }
}

/// The smallest number, where -0 is less than 0; not a number, if one of them is none.
pub(crate) fn min(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::INFINITY, lesser)
}

/// The largest number, as [`min`].
pub(crate) fn max(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::NEG_INFINITY, greater)
}

/// The smaller one of two numbers, as [`min`].
#[inline]
pub(crate) fn lesser(a: f64, b: f64) -> f64 {
    if a < b {
        return a;
    }
    match (a.is_nan() || b.is_nan(), b.total_cmp(&a).is_lt()) {
        (true, _) => f64::NAN,
        (false, true) => b,
        (false, false) => a,
    }
}

/// The larger one of two numbers, as [`min`].
#[inline]
pub(crate) fn greater(a: f64, b: f64) -> f64 {
    if a > b {
        return a;
    }
    match (a.is_nan() || b.is_nan(), b.total_cmp(&a).is_gt()) {
        (true, _) => f64::NAN,
        (false, true) => b,
        (false, false) => a,
    }
}

/// The standard deviation of some numbers.
pub(crate) fn std(numbers: &[f64]) -> f64 {
    let count = numbers.len() as f64;
    let mean = sum(numbers) / count;
    let squares: Vec<f64> = numbers.iter().map(|number| (number - mean) * (number - mean)).collect();
    (sum(&squares) / count).sqrt()
}

/// The number below which so many percent of the others are; `None` if there are no numbers.
pub(crate) fn percentile(mut numbers: Vec<f64>, percent: f64) -> Option<f64> {
    if numbers.iter().any(|number| number.is_nan()) {
        return Some(f64::NAN);
    }
    numbers.sort_unstable_by(f64::total_cmp);
    let place = numbers.len().checked_sub(1)? as f64 * percent / 100.0;
    let below = place.floor();
    let at = |index: usize| numbers.get(index).or(numbers.last()).copied();
    let low = at(below as usize)?;
    match place == below {
        true => Some(low),
        false => Some(low + (at(below as usize + 1)? - low) * (place - below)),
    }
}

/// How many numbers are in each of some equal ranges.
pub(crate) fn hist(numbers: impl Iterator<Item = f64>, ranges: Ranges) -> Vec<u64> {
    let Ranges { low, high, count } = ranges;
    let mut counts = vec![0; count];
    for number in numbers.filter(|number| (low..=high).contains(number)) {
        let place = ((number - low) / (high - low) * count as f64) as usize;
        counts[place.min(count - 1)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_a_sum_is_that_of_the_specification() {
        // In another order, the large numbers would take the small ones with them.
        let numbers = [1e16, 1.0, -1e16, 1.0, -1e16, 1.0, 1e16, 1.0, 0.5];
        assert_eq!(sum(&numbers), 4.0);
        assert_ne!(numbers.iter().sum::<f64>(), 4.0);
        assert_eq!(sum(&[]), 0.0);
    }

    #[test]
    fn what_is_no_number_is_the_smallest_and_the_largest() {
        assert!(min(&[1.0, f64::NAN, 0.0]).is_nan());
        assert!(max(&[f64::NAN, 1.0]).is_nan());
        assert!(min(&[0.0, -0.0]).is_sign_negative());
        assert_eq!(max(&[-3.0, -2.0]), -2.0);
    }

    #[test]
    fn deviations_percentiles_and_histograms() {
        assert_eq!(std(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), 2.0);
        for (percent, expected) in [(0.0, 1.0), (50.0, 2.5), (75.0, 3.25), (100.0, 4.0)] {
            assert_eq!(percentile(vec![4.0, 2.0, 1.0, 3.0], percent), Some(expected));
        }
        assert_eq!(percentile(vec![f64::NEG_INFINITY, 1.0, f64::INFINITY], 50.0), Some(1.0));
        assert_eq!(percentile(Vec::new(), 50.0), None);
        assert!(percentile(vec![1.0, f64::NAN], 0.0).is_some_and(f64::is_nan));
        let ranges = Ranges { low: 0.0, high: 4.0, count: 2 };
        assert_eq!(hist([-0.1, 0.0, 1.9, 2.0, 4.0, 4.1, f64::NAN].into_iter(), ranges), [2, 2]);
    }
}
