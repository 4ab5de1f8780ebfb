//! Arrays to single numbers. The order in which floating-point numbers are added is part of the language, so that every
//! engine and every machine gets the same bits.

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
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// The smallest number, where -0 is less than 0; not a number, if one of them is none.
pub(crate) fn min(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::INFINITY, |a, b| match (a.is_nan() || b.is_nan(), b.total_cmp(&a).is_lt()) {
        (true, _) => f64::NAN,
        (false, true) => b,
        (false, false) => a,
    })
}

/// The largest number, as [`min`].
pub(crate) fn max(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::NEG_INFINITY, |a, b| match (a.is_nan() || b.is_nan(), b.total_cmp(&a).is_gt()) {
        (true, _) => f64::NAN,
        (false, true) => b,
        (false, false) => a,
    })
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
}
