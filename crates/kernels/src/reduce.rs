//! One double of many: the sum in a defined order, the smallest, the largest. `spec/query.md` defines them.

use crate::Level;
use crate::level::for_each_level;

/// The number of partial sums: vectors of 2, 4 and 8 doubles can compute them.
const LANES: usize = 8;
/// The number of candidates for the smallest and the largest, whose order is free.
const WIDE: usize = 32;

/// The sum of doubles: element `i` is added to partial sum `i mod 8`, and the partial sums are added as a tree. So it is the
/// same bit for bit on all machines. `swapped` says that they have the other byte order.
///
/// ```
/// let bytes: Vec<u8> = [1e16, 1.0, -1e16, 1.0].iter().flat_map(|number: &f64| number.to_ne_bytes()).collect();
/// assert_eq!(isoform_kernels::sum(&bytes, false), 2.0);
/// ```
#[inline]
pub fn sum(numbers: &[u8], swapped: bool) -> f64 {
    sum_at(Level::best(), numbers, swapped)
}

/// The smallest of doubles, where -0 is less than 0. NaN if one of them is NaN, and infinity if there are none.
#[inline]
pub fn min(numbers: &[u8], swapped: bool) -> f64 {
    min_at(Level::best(), numbers, swapped)
}

/// The largest of doubles, as [`min()`]; negative infinity if there are none.
#[inline]
pub fn max(numbers: &[u8], swapped: bool) -> f64 {
    max_at(Level::best(), numbers, swapped)
}

for_each_level! {
    /// [`sum()`], with the instructions of one level.
    pub fn sum_at(numbers: &[u8], swapped: bool) -> f64 = sum_here
}
for_each_level! {
    /// [`min()`], with the instructions of one level.
    pub fn min_at(numbers: &[u8], swapped: bool) -> f64 = min_here
}
for_each_level! {
    /// [`max()`], with the instructions of one level.
    pub fn max_at(numbers: &[u8], swapped: bool) -> f64 = max_here
}

#[inline(always)]
fn read<const SWAPPED: bool>(bytes: [u8; 8]) -> f64 {
    let bits = u64::from_ne_bytes(bytes);
    f64::from_bits(if SWAPPED { bits.swap_bytes() } else { bits })
}

#[inline(always)]
fn sum_here(numbers: &[u8], swapped: bool) -> f64 {
    if swapped { sum_of::<true>(numbers) } else { sum_of::<false>(numbers) }
}

#[inline(always)]
fn sum_of<const SWAPPED: bool>(numbers: &[u8]) -> f64 {
    let (blocks, rest) = numbers.as_chunks::<{ 8 * LANES }>();
    let mut lanes = [0.0; LANES];
    for block in blocks {
        let (numbers, _) = block.as_chunks();
        for i in 0..LANES {
            lanes[i] += read::<SWAPPED>(numbers[i]);
        }
    }
    for (lane, number) in lanes.iter_mut().zip(rest.as_chunks().0) {
        *lane += read::<SWAPPED>(*number);
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

#[inline(always)]
fn min_here(numbers: &[u8], swapped: bool) -> f64 {
    if swapped { extreme::<true, true>(numbers) } else { extreme::<true, false>(numbers) }
}

#[inline(always)]
fn max_here(numbers: &[u8], swapped: bool) -> f64 {
    if swapped { extreme::<false, true>(numbers) } else { extreme::<false, false>(numbers) }
}

#[inline(always)]
fn better<const LEAST: bool>(number: f64, best: f64) -> f64 {
    if (LEAST && number < best) || (!LEAST && number > best) { number } else { best }
}

#[inline(always)]
fn extreme<const LEAST: bool, const SWAPPED: bool>(numbers: &[u8]) -> f64 {
    let start = if LEAST { f64::INFINITY } else { f64::NEG_INFINITY };
    let (blocks, rest) = numbers.as_chunks::<{ 8 * WIDE }>();
    let (mut best, mut none) = ([start; WIDE], [0u64; WIDE]);
    for block in blocks {
        let (numbers, _) = block.as_chunks();
        for i in 0..WIDE {
            let number = read::<SWAPPED>(numbers[i]);
            best[i] = better::<LEAST>(number, best[i]);
            none[i] |= u64::from(number.is_nan());
        }
    }
    for (i, number) in rest.as_chunks().0.iter().enumerate() {
        let number = read::<SWAPPED>(*number);
        best[i] = better::<LEAST>(number, best[i]);
        none[i] |= u64::from(number.is_nan());
    }
    if none.iter().any(|none| *none != 0) {
        return f64::NAN;
    }
    let found = best.into_iter().fold(start, |best, number| better::<LEAST>(number, best));
    // Comparisons do not know zeros from each other.
    if found == 0.0 {
        let wanted = if LEAST { -0.0f64 } else { 0.0 }.to_bits();
        let is_there = numbers.as_chunks().0.iter().any(|number| read::<SWAPPED>(*number).to_bits() == wanted);
        return if LEAST == is_there { -0.0 } else { 0.0 };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is the smallest, one by one.
    fn smallest(numbers: &[f64]) -> f64 {
        numbers.iter().fold(f64::INFINITY, |a, b| match a.is_nan() || b.is_nan() {
            true => f64::NAN,
            false if b.total_cmp(&a).is_lt() => *b,
            false => a,
        })
    }

    /// The sum, in the order of the definition.
    fn added(numbers: &[f64]) -> f64 {
        let mut lanes = [0.0; 8];
        numbers.iter().enumerate().for_each(|(i, number)| lanes[i % 8] += number);
        ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
    }

    fn same(a: f64, b: f64) -> bool {
        a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
    }

    #[test]
    fn every_level_gives_the_same_for_every_length() {
        let some = [1e16, -1e16, 0.25, -0.0, 0.0, 3.5, -7.0, 1e-310, f64::INFINITY, f64::NAN];
        let mut state = 17u64;
        for kinds in [3, 5, 8, 10] {
            // Miri is slow.
            for length in (0..200).step_by(if cfg!(miri) { 67 } else { 1 }) {
                let numbers: Vec<f64> = (0..length)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        some[if kinds == 5 { 3 } else { 0 }..kinds]
                            [(state >> 33) as usize % if kinds == 5 { 2 } else { kinds }]
                    })
                    .collect();
                let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
                let other: Vec<u8> =
                    numbers.iter().flat_map(|number| number.to_bits().swap_bytes().to_ne_bytes()).collect();
                let largest = -smallest(&numbers.iter().map(|number| -number).collect::<Vec<_>>());
                for level in Level::all() {
                    for (bytes, swapped) in [(&bytes, false), (&other, true)] {
                        assert!(same(sum_at(level, bytes, swapped), added(&numbers)), "{level} {numbers:?}");
                        assert!(same(min_at(level, bytes, swapped), smallest(&numbers)), "{level} {numbers:?}");
                        assert!(same(max_at(level, bytes, swapped), largest), "{level} {numbers:?}");
                    }
                }
            }
        }
    }
}
