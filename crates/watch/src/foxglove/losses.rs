//! What a viewer did not get of a source, by cause: told while it grows, but not with each event.

use std::time::{Duration, Instant};

/// The least time between two reports.
const PAUSE: Duration = Duration::from_millis(500);

/// Counts by cause, since the subscription began.
#[derive(Debug, Default)]
pub(super) struct Losses {
    counts: Vec<(String, u64)>,
    /// Whether there is more than what was told.
    is_news: bool,
    told: Option<Instant>,
}

impl Losses {
    pub(super) fn add(&mut self, cause: &str, count: u64) {
        match self.counts.iter_mut().find(|(known, _)| known == cause) {
            Some((_, sum)) => *sum = sum.saturating_add(count),
            None => self.counts.push((cause.into(), count)),
        }
        self.is_news = true;
    }

    /// What is to be told now, if anything: all events that are lost, and the causes.
    pub(super) fn due(&mut self) -> Option<String> {
        let is_due = self.is_news && self.told.is_none_or(|told| told.elapsed() >= PAUSE);
        is_due.then(|| self.tell())
    }

    /// What has not been told yet.
    pub(super) fn rest(&mut self) -> Option<String> {
        self.is_news.then(|| self.tell())
    }

    fn tell(&mut self) -> String {
        (self.is_news, self.told) = (false, Some(Instant::now()));
        let all = self.counts.iter().fold(0_u64, |all, (_, count)| all.saturating_add(*count));
        let by_cause: Vec<String> = self.counts.iter().map(|(cause, count)| format!("{count}: {cause}")).collect();
        format!("{all} lost ({})", by_cause.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told_by_cause_and_once() {
        let mut losses = Losses::default();
        assert_eq!(losses.rest(), None);
        losses.add("too slow", 2);
        assert_eq!(losses.due().unwrap(), "2 lost (2: too slow)");
        assert_eq!(losses.rest(), None);
        losses.add("too long", 1);
        losses.add("too slow", u64::MAX);
        assert_eq!(losses.rest().unwrap(), format!("{0} lost ({0}: too slow; 1: too long)", u64::MAX));
    }
}
