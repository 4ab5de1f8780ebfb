//! Reproducible choices.

/// A source of choices: the same for the same seed, on every machine (SplitMix64).
///
/// ```
/// use isoform_testing::mutate::Random;
/// let choices = |seed| { let mut random = Random::new(seed); [random.below(10), random.below(10), random.below(10)] };
/// assert_eq!(choices(7), choices(7));
/// ```
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The choices of this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The choices for one of many mutants, which differ from those of its neighbours.
    pub fn of(seed: u64, number: u64) -> Random {
        let mut outer = Random(seed);
        let mut inner = Random(number ^ outer.bits());
        Random(inner.bits())
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        self.bits() as u8
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % (bound as u64).max(1)) as usize
    }

    /// True once in this many times, on average.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these, if there are any.
    pub fn of_these<T: Copy>(&mut self, these: &[T]) -> Option<T> {
        these.get(self.below(these.len())).copied()
    }

    /// One of two or more places: the first of them, and another one. `None` if there are fewer.
    pub fn two_of(&mut self, count: usize) -> Option<(usize, usize)> {
        let first = self.below(count);
        (count > 1).then(|| (first, (first + 1 + self.below(count - 1)) % count))
    }

    /// A number near `number`, or a critical one.
    pub fn instead_of(&mut self, number: u64) -> u64 {
        match self.below(9) {
            0 => number.wrapping_add(1),
            1 => number.wrapping_sub(1),
            2 => number.wrapping_mul(2),
            3 => number / 2,
            4 => number ^ 1 << self.below(64),
            5 => self.below(300) as u64,
            6 => (1 << self.below(64)) - self.below(2) as u64,
            7 => u64::MAX - self.below(16) as u64,
            _ => 0,
        }
    }
}
