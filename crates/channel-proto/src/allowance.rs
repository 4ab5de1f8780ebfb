//! How often something may be done for another node: so many times at once, and some more in each second.

use crate::Time;

/// What is left of it. The default has never been used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowance {
    used: u32,
    since: Time,
}

impl Allowance {
    /// Uses some of what is allowed. Returns whether something was left.
    pub(crate) fn take(&mut self, now: Time, at_once: u32, a_second: u32) -> bool {
        self.take_some(now, 1, at_once, a_second) == 1
    }

    /// Uses as much of what is allowed as is left, and at most so much. Returns how much that is.
    pub(crate) fn take_some(&mut self, now: Time, most: u32, at_once: u32, a_second: u32) -> u32 {
        let seconds = now.saturating_sub(self.since).as_secs();
        if seconds > 0 {
            let more = u32::try_from(seconds).unwrap_or(u32::MAX).saturating_mul(a_second);
            (self.used, self.since) = (self.used.saturating_sub(more), now);
        }
        let some = most.min(at_once.saturating_sub(self.used));
        self.used += some;
        some
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_much_is_allowed_at_once_and_in_each_second() {
        let mut allowance = Allowance::default();
        let taken = |allowance: &mut Allowance, now| (0..1000).filter(|_| allowance.take(now, 100, 7)).count();
        assert_eq!(taken(&mut allowance, Time::from_secs(5)), 100);
        assert_eq!(taken(&mut allowance, Time::from_millis(5999)), 0);
        assert_eq!(taken(&mut allowance, Time::from_secs(8)), 21);
        assert_eq!(taken(&mut allowance, Time::from_secs(800)), 100, "no more is ever saved up");
        let at = Time::from_secs(900);
        assert_eq!([30, 60, 60, 1].map(|most| allowance.take_some(at, most, 100, 7)), [30, 60, 10, 0]);
    }
}
