//! Draws values from strategies without a test, for a number.

use crate::mutate::Random;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// The source of choices for [`drawn`]: the same for the same state of `random`.
pub fn runner(random: &mut Random) -> TestRunner {
    let mut seed = [0; 32];
    seed.iter_mut().for_each(|byte| *byte = random.byte());
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

/// One of the values of a strategy.
///
/// ```
/// use isoform_testing::{any_record, drawn, mutate::Random, runner};
/// let record = |number| drawn(any_record(), &mut runner(&mut Random::new(number)));
/// assert_eq!(format!("{:?}", record(7)), format!("{:?}", record(7)));
/// ```
///
/// # Panics
/// If the strategy rejects all of its values.
pub fn drawn<S: Strategy>(strategy: S, runner: &mut TestRunner) -> S::Value {
    strategy.new_tree(runner).expect("a strategy that finds something").current()
}
