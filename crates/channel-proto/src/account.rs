//! The account of every event: what has become of those that a source submitted to a sink (`spec/channel.md`, "The
//! account"), and what a sink does when it cannot keep up.

use std::fmt;

/// Why events were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Cause {
    /// The sink was too slow for its policy.
    Overrun = 1,
    /// They were sent on a connection that broke.
    Cut = 2,
    /// They are longer than the sink takes.
    TooLarge = 3,
    /// The sink has left, or its subscription has ended otherwise.
    Ended = 4,
    /// The link has ended: nobody knows whether they arrived.
    Unknown = 5,
}

impl Cause {
    /// Every cause, in the order of its number.
    pub const ALL: [Cause; 5] = [Cause::Overrun, Cause::Cut, Cause::TooLarge, Cause::Ended, Cause::Unknown];

    /// A number that stands for none of them is one of a later version.
    pub(crate) fn of(number: u16) -> Cause {
        Cause::ALL.into_iter().find(|cause| *cause as u16 == number).unwrap_or(Cause::Unknown)
    }

    fn place(self) -> usize {
        usize::from(self as u16 - 1)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Overrun => "the sink was too slow",
            Cause::Cut => "the connection broke",
            Cause::TooLarge => "longer than the sink takes",
            Cause::Ended => "the subscription ended",
            Cause::Unknown => "the other side is gone",
        })
    }
}

/// Events that will not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The sequence of the first.
    pub first: u64,
    /// How many there are.
    pub count: u64,
    /// Why.
    pub cause: Cause,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "event {} is lost: {}", self.first, self.cause),
            count => write!(f, "{count} events from {} on are lost: {}", self.first, self.cause),
        }
    }
}

/// Events and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Events.
    pub events: u64,
    /// Their bytes, with 16 for each.
    pub bytes: u64,
}

/// How many events and bytes may be under way, or wait at the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Events.
    pub events: u64,
    /// Bytes, an event counting 16 more than its body has.
    pub bytes: u64,
}

/// What has become of the events that were submitted to one sink.
///
/// At every moment, `submitted == acknowledged + lost() + in_flight`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Events that the source submitted since this sink is there.
    pub submitted: u64,
    /// Those that the sink has handed to its application.
    pub acknowledged: u64,
    /// Those that wait at the source, or are on their way, or wait at the sink.
    pub in_flight: u64,
    losses: [u64; Cause::ALL.len()],
}

impl Ledger {
    /// Those that are declared lost.
    pub fn lost(&self) -> u64 {
        // What another node tells may be anything.
        self.losses.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Those that are lost for this cause.
    pub fn lost_for(&self, cause: Cause) -> u64 {
        self.losses[cause.place()]
    }

    /// Whether it adds up.
    pub fn is_exact(&self) -> bool {
        Some(self.submitted)
            == self.acknowledged.checked_add(self.lost()).and_then(|sum| sum.checked_add(self.in_flight))
    }

    /// An account without losses.
    pub(crate) fn of(submitted: u64, acknowledged: u64, in_flight: u64) -> Ledger {
        Ledger { submitted, acknowledged, in_flight, ..Ledger::default() }
    }

    /// The same, with what is counted elsewhere.
    pub(crate) fn at(self, acknowledged: u64, in_flight: u64) -> Ledger {
        Ledger { acknowledged, in_flight, ..self }
    }

    pub(crate) fn lose(&mut self, cause: Cause, count: u64) {
        self.losses[cause.place()] += count;
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ledger { submitted, acknowledged, in_flight, .. } = self;
        write!(f, "{submitted} submitted = {acknowledged} acknowledged + {} lost + {in_flight} in flight", self.lost())
    }
}

/// What the source does when a sink cannot keep up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// It waits. A sink that stops then stops the source, and so all other sinks of it.
    Block,
    /// It keeps so many events, of so many bytes together, and loses the oldest.
    DropOldest {
        /// How many events wait at the source.
        events: u64,
        /// How many bytes they may have together; a single event may have more.
        bytes: u64,
    },
    /// It keeps the latest event only, and sends it when the sink has taken the one before.
    Latest,
}

impl Policy {
    pub(crate) fn number(self) -> u8 {
        match self {
            Policy::Block => 0,
            Policy::DropOldest { .. } => 1,
            Policy::Latest => 2,
        }
    }

    /// How many events and bytes may wait at the source.
    pub(crate) fn queue(self) -> (u64, u64) {
        match self {
            Policy::Block => (0, 0),
            Policy::DropOldest { events, bytes } => (events, bytes),
            Policy::Latest => (1, u64::MAX),
        }
    }

    /// The same, but that no more than this is kept.
    pub(crate) fn within(self, most: Count) -> Policy {
        match self {
            Policy::DropOldest { events, bytes } => {
                Policy::DropOldest { events: events.min(most.events), bytes: bytes.min(most.bytes) }
            }
            other => other,
        }
    }

    pub(crate) fn of(number: u8, events: u64, bytes: u64) -> Option<Policy> {
        match number {
            0 => Some(Policy::Block),
            1 => Some(Policy::DropOldest { events, bytes }),
            2 => Some(Policy::Latest),
            _ => None,
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Block => f.write_str("block"),
            Policy::DropOldest { events, .. } => write!(f, "drop oldest of {events}"),
            Policy::Latest => f.write_str("latest only"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_as_long_as_both_sides_want() {
        let most = Count { events: 10, bytes: 1000 };
        let queue = |events, bytes| Policy::DropOldest { events, bytes };
        assert_eq!(queue(u64::MAX, u64::MAX).within(most), queue(10, 1000));
        assert_eq!(queue(7, 2000).within(most), queue(7, 1000));
        assert_eq!(Policy::Latest.within(most), Policy::Latest);
    }
}
