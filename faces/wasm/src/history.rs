//! The numbers of one field over time, with the least and the greatest of each block, so that millions of them can be drawn
//! without looking at each.

/// Numbers in a block.
const BLOCK: usize = 64;

/// The least and the greatest of some numbers. Not-a-number does not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) least: f64,
    pub(crate) greatest: f64,
}

/// Of no numbers.
const NOTHING: Span = Span { least: f64::INFINITY, greatest: f64::NEG_INFINITY };

impl Span {
    fn and(self, other: Span) -> Span {
        Span { least: self.least.min(other.least), greatest: self.greatest.max(other.greatest) }
    }

    fn of(number: f64) -> Span {
        if number.is_nan() { NOTHING } else { Span { least: number, greatest: number } }
    }

    /// `None` if there was no number.
    fn found(self) -> Option<Span> {
        (self.least <= self.greatest).then_some(self)
    }
}

/// The numbers of one field.
#[derive(Debug, Default)]
pub(crate) struct History {
    numbers: Vec<f64>,
    /// Of each block of numbers that is full.
    blocks: Vec<Span>,
}

impl History {
    pub(crate) fn push(&mut self, number: f64) {
        self.numbers.push(number);
        if self.numbers.len().is_multiple_of(BLOCK) {
            let block = &self.numbers[self.numbers.len() - BLOCK..];
            self.blocks.push(span(block));
        }
    }

    /// Forgets the oldest numbers: at least as many as given, up to a whole block. Returns how many.
    pub(crate) fn forget(&mut self, count: usize) -> usize {
        let blocks = count.div_ceil(BLOCK).min(self.blocks.len());
        self.blocks.drain(..blocks);
        self.numbers.drain(..blocks * BLOCK);
        blocks * BLOCK
    }

    pub(crate) fn get(&self, index: usize) -> Option<f64> {
        self.numbers.get(index).copied()
    }

    /// The least and the greatest of the numbers from `from` up to, not including, `to`.
    pub(crate) fn span(&self, from: usize, to: usize) -> Option<Span> {
        let to = to.min(self.numbers.len());
        let from = from.min(to);
        let (first, last) = (from.div_ceil(BLOCK), to / BLOCK);
        if first >= last {
            return span(&self.numbers[from..to]).found();
        }
        let whole = self.blocks[first..last].iter().fold(NOTHING, |all, &block| all.and(block));
        let before = span(&self.numbers[from..first * BLOCK]);
        whole.and(before).and(span(&self.numbers[last * BLOCK..to])).found()
    }
}

fn span(numbers: &[f64]) -> Span {
    numbers.iter().fold(NOTHING, |all, &number| all.and(Span::of(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_those_of_all_numbers() {
        let mut history = History::default();
        let mut numbers = Vec::new();
        let mut state = 1_u64;
        for index in 0..1000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = if index % 37 == 0 { f64::NAN } else { (state >> 40) as f64 };
            history.push(number);
            numbers.push(number);
        }
        for round in 0..2 {
            for from in (0..numbers.len()).step_by(13) {
                for to in (0..numbers.len() + 100).step_by(29) {
                    let asked = numbers.get(from..to.min(numbers.len())).unwrap_or(&[]);
                    let expected =
                        asked.iter().filter(|number| !number.is_nan()).fold(None, |all: Option<Span>, &number| {
                            Some(all.map_or(Span::of(number), |all| all.and(Span::of(number))))
                        });
                    assert_eq!(history.span(from, to), expected, "{round}: {from}..{to}");
                }
            }
            let gone = history.forget(100);
            assert!(round == 1 || gone == 128);
            numbers.drain(..gone);
        }
    }
}
