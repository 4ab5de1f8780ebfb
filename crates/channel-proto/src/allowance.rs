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
        let seconds = now.saturating_sub(self.since).as_secs();
        if seconds > 0 {
            let more = u32::try_from(seconds).unwrap_or(u32::MAX).saturating_mul(a_second);
            (self.used, self.since) = (self.used.saturating_sub(more), now);
        }
        let is_left = self.used < at_once;
        self.used += u32::from(is_left);
        is_left
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
    }
}
