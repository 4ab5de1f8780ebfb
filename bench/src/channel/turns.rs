//! Rounds of several contestants in turns, so that all share whatever mood the machine is in, and what they have taken.

use crate::measure::Times;
use crate::{Line, Result};

/// Lets so many contestants take turns: calls `round` with the number of each, so many times.
pub(crate) fn turns(
    rounds: usize,
    contestants: usize,
    mut round: impl FnMut(usize) -> Result<Times>,
) -> Result<Vec<Figures>> {
    let mut figures = vec![Figures::default(); contestants];
    for first in 0..rounds {
        for turn in 0..contestants {
            let who = (first + turn) % contestants;
            figures[who].add(round(who)?);
        }
    }
    Ok(figures)
}

/// What one contestant has taken.
#[derive(Clone, Default)]
pub(crate) struct Figures {
    /// For each event, or for an event of each round on average.
    all: Times,
    /// The median of each round, and what all but one of a hundred events stay below.
    medians: Times,
    p99s: Times,
}

impl Figures {
    fn add(&mut self, round: Times) {
        self.medians.extend([round.median()]);
        self.p99s.extend([round.p99()]);
        self.all.extend(round);
    }

    /// The line with these figures, under names that begin so.
    pub(crate) fn written(&self, line: Line, prefix: &str) -> Line {
        let (median, p99) = (self.all.median(), self.all.p99());
        line.figure(&format!("{prefix}p50_ns"), median).figure(&format!("{prefix}p99_ns"), p99)
    }

    /// The same, with how many events that is in a second.
    pub(crate) fn with_rate(&self, line: Line, prefix: &str) -> Line {
        self.written(line, prefix).figure(&format!("{prefix}per_s"), 1e9 / self.all.median())
    }

    /// What an event has taken.
    pub(crate) fn median(&self) -> f64 {
        self.all.median()
    }

    /// How many times longer this took: the median of rounds.
    pub(crate) fn ratio(&self, other: &Figures) -> f64 {
        self.medians.ratio(&other.medians)
    }

    /// The same of what all but one of a hundred events stay below.
    pub(crate) fn p99_ratio(&self, other: &Figures) -> f64 {
        self.p99s.ratio(&other.p99s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_as_often_first_and_is_compared_round_by_round() {
        let mut order = Vec::new();
        let mut mood = 0.0;
        let figures = turns(3, 2, |who| {
            order.push(who);
            mood += 1.0;
            Ok([1.0, 2.0, 3.0].into_iter().map(|ns| ns * mood * (1 + who) as f64).collect())
        });
        let figures = figures.unwrap();
        assert_eq!(order, [0, 1, 1, 0, 0, 1]);
        // The medians of rounds are 2 and 8, 8 and 12, 10 and 24.
        assert_eq!(figures[1].ratio(&figures[0]), 2.4);
        let line = figures[0].with_rate(Line::of("channel"), "raw_");
        assert_eq!((line.number("raw_p50_ns"), line.number("raw_p99_ns")), (Some(5.0), Some(15.0)));
        assert_eq!(line.number("raw_per_s"), Some(2e8));
    }
}
