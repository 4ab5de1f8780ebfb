//! How often something may be done for another node: so many times at once, and some more in each second.

use crate::Time;

/// After this long without use, nothing counts any more. It is longer than anything takes that is allowed in so many seconds: 4,096
/// at once and 16 in a second take 256 seconds.
const REST: Time = Time::from_secs(300);

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

    /// Uses so much of what is allowed, if that much is left. Otherwise it uses nothing.
    pub(crate) fn take_all(&mut self, now: Time, amount: u32, at_once: u32, a_second: u32) -> bool {
        self.take_some(now, 0, at_once, a_second);
        let is_left = amount <= at_once.saturating_sub(self.used);
        self.used += if is_left { amount } else { 0 };
        is_left
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

    /// Whether something is left, of which nothing is used yet.
    pub(crate) fn has_some(mut self, now: Time, at_once: u32, a_second: u32) -> bool {
        self.take(now, at_once, a_second)
    }

    /// How much is used, as of the last time that somebody wanted some.
    pub(crate) fn used(&self) -> u32 {
        self.used
    }

    /// Whether nothing has been used for so long: whatever is allowed in a second, all of it is allowed again.
    pub(crate) fn rests(&self, now: Time) -> bool {
        self.used == 0 || now.saturating_sub(self.since) > REST
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
        assert!(allowance.has_some(at, 100, 7));
        assert_eq!([90, 20, 10, 1].map(|amount| allowance.take_all(at, amount, 100, 7)), [true, false, true, false]);
        let at = Time::from_secs(1000);
        assert_eq!([30, 60, 60, 1].map(|most| allowance.take_some(at, most, 100, 7)), [30, 60, 10, 0]);
        assert!(!allowance.has_some(at, 100, 7));
    }

    #[test]
    fn it_rests_once_all_is_allowed_again() {
        let (mut allowance, now) = (Allowance::default(), Time::from_secs(1000));
        assert_eq!(allowance.take_some(now, 4_096, 4_096, 16), 4_096);
        let rested = (0..1000).find(|&later| allowance.rests(now + Time::from_secs(later))).unwrap();
        assert_eq!(allowance.take_some(now + Time::from_secs(rested), 4_096, 4_096, 16), 4_096);
    }
}
