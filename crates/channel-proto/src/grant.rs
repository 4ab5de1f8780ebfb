//! The policy that a source grants to a sink, and the time for which it waits (`spec/channel.md`, "Policies").

use crate::Time;
use crate::account::Policy;
use crate::wire::Reader;
use isoform_core::{Code, Error, Result};
use std::fmt;

/// What a source grants to its sinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grants {
    /// Whether it waits without limit for the sinks that must have [`Policy::Block`]. Otherwise it refuses them.
    pub lossless: bool,
    /// How long it waits for other sinks with that policy.
    pub waits: Waits,
    /// The number of its latest events that it keeps for sinks that subscribe later.
    pub keep: usize,
    /// How much time queries of other nodes may take. `None`: this source shares the default with all such sources of its node.
    pub queries: Option<QueryTime>,
    /// The most queries that differ: credentials share that many places. One that has none gets one in any case.
    pub most_queries: usize,
    /// The most demands for values of its parameters other than the defaults. The sinks of one credential get at most as many as they leave to
    /// others.
    pub most_demands: usize,
    /// The most sinks of one other node. Each costs time with every event, even if nothing is sent.
    pub most_sinks: usize,
}

impl Default for Grants {
    /// No lossless sinks, no kept events, 64 queries, 16 demands, 64 sinks of one node.
    fn default() -> Grants {
        let waits = Waits::default();
        Grants { lossless: false, waits, keep: 0, queries: None, most_queries: 64, most_demands: 16, most_sinks: 64 }
    }
}

/// How much time the queries of other nodes take at a source, by the prices of their steps (`docs/book/reference/limits.md`), with
/// what it takes to write their results. For queries beyond it, events are lost with the cause [`Thinned`](crate::Cause::Thinned).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryTime {
    /// The most that a query takes for one event. One that takes longer for every event is refused.
    pub at_once: Time,
    /// What flows back into the budget in each second. The budget holds as much, or `at_once` if that is more.
    pub second: Time,
}

impl Default for QueryTime {
    /// A millisecond for one event, and all together two percent of the time of one core.
    fn default() -> QueryTime {
        QueryTime { at_once: Time::from_millis(1), second: Time::from_millis(20) }
    }
}

/// How long a source waits for all sinks together that it need not wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The longest wait for one event.
    pub event: Time,
    /// The budget of waits. As much flows back into it in each second.
    pub second: Time,
}

impl Default for Waits {
    /// A millisecond for an event, and ten in a second: one percent of the time of a program.
    fn default() -> Waits {
        Waits { event: Time::from_millis(1), second: Time::from_millis(10) }
    }
}

/// The policy of a subscription, as its source granted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The policy.
    pub policy: Policy,
    /// Whether the sink must have it. The source then keeps it, whatever happens.
    pub must: bool,
    /// Why it is this policy.
    pub reason: Reason,
}

/// Why a source grants a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Reason {
    /// It is what the sink asked for.
    Asked = 0,
    /// The source keeps fewer events or bytes than the sink asked for.
    Less = 1,
    /// The source has waited for its sinks as long as it may. It drops events instead.
    Slow = 2,
    /// The sink has caught up. The source waits for it again.
    CaughtUp = 3,
    /// The source does not grant another policy that the sink must have. The policy stays as it was.
    NotGranted = 4,
    /// The rules of the source's node do not let it wait for this sink. It drops events instead.
    Forbidden = 5,
}

impl Reason {
    /// Every reason, in the order of its number.
    pub const ALL: [Reason; 6] =
        [Reason::Asked, Reason::Less, Reason::Slow, Reason::CaughtUp, Reason::NotGranted, Reason::Forbidden];
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Asked => "as asked",
            Reason::Less => "the source keeps less",
            Reason::Slow => "the sink was too slow",
            Reason::CaughtUp => "the sink has caught up",
            Reason::NotGranted => "another policy was not granted",
            Reason::Forbidden => "the rules let no source wait for the sink",
        })
    }
}

impl fmt::Display for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.policy, self.reason)
    }
}

impl Granted {
    /// What a sink asks for.
    pub(crate) fn asked(policy: Policy, must: bool) -> Granted {
        Granted { policy, must, reason: Reason::Asked }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let (events, bytes) = self.policy.queue();
        out.extend([self.policy.number(), u8::from(self.must)]);
        out.extend((self.reason as u16).to_le_bytes());
        out.extend([0; 4]);
        out.extend(events.to_le_bytes());
        out.extend(bytes.to_le_bytes());
    }

    pub(crate) fn parse(fields: &mut Reader<'_>) -> Result<Granted> {
        let [policy, must] = fields.array()?;
        let (reason, _) = (fields.u16()?, fields.u32()?);
        let (events, bytes) = (fields.u64()?, fields.u64()?);
        let policy = known_policy(policy, events, bytes)?;
        // A reason of a later version is not known here.
        let reason = Reason::ALL.into_iter().find(|known| *known as u16 == reason).unwrap_or(Reason::Asked);
        Ok(Granted { policy, must: must != 0, reason })
    }
}

/// The policy of a number and a queue.
pub(crate) fn known_policy(number: u8, events: u64, bytes: u64) -> Result<Policy> {
    let unknown = || Error::new(Code::Frame).at("policy").expected("0, 1 or 2").found(number);
    Policy::of(number, events, bytes).ok_or_else(unknown)
}

/// What is left of a source's waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    waits: Waits,
    left: Time,
    /// The time at which that much was left.
    at: Time,
    /// The event that it waited for last, and how long.
    event: (u64, Time),
}

impl Budget {
    pub(crate) fn new(waits: Waits) -> Budget {
        Budget { waits, left: waits.second, at: Time::ZERO, event: (0, Time::ZERO) }
    }

    /// How much longer the source may wait for this event.
    pub(crate) fn left(&mut self, now: Time, sequence: u64) -> Time {
        let Waits { event, second } = self.waits;
        let passed = now.saturating_sub(self.at).min(Time::from_secs(1));
        self.at = self.at.max(now);
        self.left = (self.left + second.mul_f64(passed.as_secs_f64())).min(second);
        let spent = if self.event.0 == sequence { self.event.1 } else { Time::ZERO };
        event.saturating_sub(spent).min(self.left)
    }

    /// The source has waited for an event.
    pub(crate) fn spend(&mut self, sequence: u64, time: Time) {
        if self.event.0 != sequence {
            self.event = (sequence, Time::ZERO);
        }
        self.event.1 += time;
        self.left = self.left.saturating_sub(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_bounded_for_an_event_and_in_a_second() {
        let millis = Time::from_millis;
        let mut budget = Budget::new(Waits::default());
        let start = Time::from_secs(5);
        assert_eq!(budget.left(start, 0), millis(1));
        budget.spend(0, Time::from_micros(600));
        assert_eq!(budget.left(start, 0), Time::from_micros(400));
        assert_eq!(budget.left(start, 1), millis(1), "another event");
        (1..10).for_each(|event| budget.spend(event, millis(1)));
        assert_eq!(budget.left(start, 10), Time::from_micros(400), "of ten");
        budget.spend(10, millis(1));
        assert_eq!(budget.left(start, 11), Time::ZERO);
        assert_eq!(budget.left(start + millis(50), 11), Time::from_micros(500), "a hundredth of the time flows back");
        assert_eq!(budget.left(start + Time::from_secs(100), 12), millis(1));
        (12..22).for_each(|event| budget.spend(event, millis(1)));
        assert_eq!(budget.left(start + Time::from_secs(100), 22), Time::ZERO, "no more than ten were there");
    }

    #[test]
    fn a_granted_policy_is_read_as_it_was_written() {
        let policies = [Policy::Block, Policy::DropOldest { events: 7, bytes: 9 }, Policy::Latest];
        for (policy, reason) in policies.into_iter().flat_map(|policy| Reason::ALL.map(|reason| (policy, reason))) {
            let (granted, mut out) = (Granted { policy, must: reason == Reason::Less, reason }, Vec::new());
            granted.put(&mut out);
            assert_eq!(out.len(), 24);
            assert_eq!(Granted::parse(&mut Reader::new(&out, "policy")).unwrap(), granted);
        }
        assert_eq!(Granted::parse(&mut Reader::new(&[3; 24], "policy")).unwrap_err().code(), Code::Frame);
    }
}
