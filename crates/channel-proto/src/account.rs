//! The account of the events that a source submitted to a sink (`spec/channel.md`, "The account"), and the policies for
//! slow sinks.

use std::fmt;

/// The reason why events do not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Cause {
    /// The sink was too slow for its policy.
    Overrun = 1,
    /// The connection on which they were sent broke.
    Cut = 2,
    /// They are longer than the sink accepts.
    TooLarge = 3,
    /// The sink left, or its subscription ended for another reason.
    Ended = 4,
    /// The link ended, and nobody knows whether they arrived.
    Unknown = 5,
    /// The sink declined the rest of a long event.
    Declined = 6,
    /// The source had no time left to evaluate the sink's query.
    Thinned = 7,
    /// The sink wants the latest event only, and a newer one took their place. They do not count as lost.
    Superseded = 8,
}

impl Cause {
    /// Every cause, in the order of its number.
    pub const ALL: [Cause; 8] = [
        Cause::Overrun,
        Cause::Cut,
        Cause::TooLarge,
        Cause::Ended,
        Cause::Unknown,
        Cause::Declined,
        Cause::Thinned,
        Cause::Superseded,
    ];

    /// Whether the events count as lost: those of every cause do, but for [`Superseded`](Cause::Superseded).
    pub fn is_loss(self) -> bool {
        self != Cause::Superseded
    }

    /// Every cause of a loss, in the order of its number.
    pub fn losses() -> impl Iterator<Item = Cause> {
        Cause::ALL.into_iter().filter(|cause| cause.is_loss())
    }

    /// A number without a cause belongs to a later version.
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
            Cause::Declined => "declined by the sink",
            Cause::Thinned => "no time for the query",
            Cause::Superseded => "superseded",
        })
    }
}

/// Events that do not come: lost ones, or [superseded](Cause::Superseded) ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The sequence number of the first.
    pub first: u64,
    /// Their number.
    pub count: u64,
    /// The reason.
    pub cause: Cause,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gap { first, count, cause } = *self;
        match (cause.is_loss(), count) {
            (true, 1) => write!(f, "event {first} is lost: {cause}"),
            (true, _) => write!(f, "{count} events from {first} on are lost: {cause}"),
            (false, 1) => write!(f, "event {first} is superseded by a newer one"),
            (false, _) => write!(f, "{count} events from {first} on are superseded by newer ones"),
        }
    }
}

/// A number of events, and of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Events.
    pub events: u64,
    /// Their bytes, plus 16 for each.
    pub bytes: u64,
}

/// The counts of a sink's events, from all sources.
///
/// Sources state which events do not come. Each link has a limit for what they may state, but their sum is at most as true as they are.
/// Sums that are too large stay at [`u64::MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events that have arrived.
    pub received: u64,
    /// Events that the program has taken.
    pub taken: u64,
    /// Events that were declared lost.
    pub lost: u64,
    /// Events in whose place a newer one came, since the sink wants the latest only. They are not lost.
    pub superseded: u64,
    /// Events that the sink did not want.
    pub skipped: u64,
    /// How often the sink was told of a source whose events it does not get.
    pub refused: u64,
    /// Records that the program has taken, and that could not become records of this sink.
    pub unfit: u64,
    /// Events that its sources submitted before they had it, and that it does not get. They are not among the lost ones.
    pub earlier: u64,
}

impl Counts {
    /// Adds those of another subscription.
    pub(crate) fn add(&mut self, other: Counts) {
        let Counts { received, taken, lost, superseded, skipped, .. } = other;
        (self.received, self.taken) = (self.received + received, self.taken + taken);
        self.lost = self.lost.saturating_add(lost);
        self.superseded = self.superseded.saturating_add(superseded);
        self.skipped = self.skipped.saturating_add(skipped);
    }
}

/// The limit of events and bytes on their way to a sink, or waiting there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Events.
    pub events: u64,
    /// Bytes; each event counts 16 more than its body.
    pub bytes: u64,
}

/// The account of the events that were submitted to one sink.
///
/// At every moment, `submitted == acknowledged + superseded + lost() + skipped + in_flight`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Events that the source submitted after this sink subscribed.
    pub submitted: u64,
    /// Events that the sink has given to its application.
    pub acknowledged: u64,
    /// Events that wait at the source, are on their way, or wait at the sink.
    pub in_flight: u64,
    /// Events that the sink did not want. They are neither received nor lost.
    pub skipped: u64,
    /// Events in whose place a newer one is sent, under the policy [`Latest`](Policy::Latest). They are not lost.
    pub superseded: u64,
    losses: [u64; Cause::ALL.len() - 1],
}

impl Ledger {
    /// The number of lost events.
    pub fn lost(&self) -> u64 {
        // Saturates, since another node may report anything.
        self.losses.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The number of events lost for this cause: 0 for [`Superseded`](Cause::Superseded), which is not a loss.
    pub fn lost_for(&self, cause: Cause) -> u64 {
        self.losses.get(cause.place()).copied().unwrap_or(0)
    }

    /// The number of events that were not [thinned](Cause::Thinned). They are skipped, or have [passed](Ledger::passed). The query is not
    /// evaluated for all of them: those for other values of the parameters, and those whose format it does not fit, are skipped.
    pub fn considered(&self) -> u64 {
        self.submitted.saturating_sub(self.lost_for(Cause::Thinned))
    }

    /// The number of events that were to be sent to the sink: as they are, or as the results of its query. They have an account of their own:
    /// they are acknowledged, superseded, lost without having been [thinned](Cause::Thinned), or in flight.
    ///
    /// ```
    /// use isoform_channel_proto::Ledger;
    /// let Ledger { submitted, acknowledged, in_flight, .. } = Ledger::default();
    /// assert_eq!((submitted, Ledger::default().passed()), (0, acknowledged + in_flight));
    /// ```
    pub fn passed(&self) -> u64 {
        self.considered().saturating_sub(self.skipped)
    }

    /// Whether it adds up.
    pub fn is_exact(&self) -> bool {
        let parts = [self.superseded, self.lost(), self.skipped, self.in_flight];
        Some(self.submitted) == parts.into_iter().try_fold(self.acknowledged, u64::checked_add)
    }

    /// An account without losses.
    pub(crate) fn of(submitted: u64, acknowledged: u64, in_flight: u64) -> Ledger {
        Ledger { submitted, acknowledged, in_flight, ..Ledger::default() }
    }

    /// The same account, with counts that are kept elsewhere.
    pub(crate) fn at(self, acknowledged: u64, in_flight: u64) -> Ledger {
        Ledger { acknowledged, in_flight, ..self }
    }

    /// Further events were submitted that do not come, for a cause, or since the sink does not want them.
    pub(crate) fn miss(&mut self, cause: Option<Cause>, count: u64) {
        self.submitted += count;
        *self.count_of(cause) += count;
    }

    /// These events do not come: they are lost, or superseded.
    pub(crate) fn lose(&mut self, cause: Cause, count: u64) {
        *self.count_of(Some(cause)) += count;
    }

    /// Events that were counted for one cause, or as skipped without one, count for another.
    pub(crate) fn recount(&mut self, from: Option<Cause>, to: Cause, count: u64) {
        *self.count_of(from) -= count;
        self.lose(to, count);
    }

    fn count_of(&mut self, cause: Option<Cause>) -> &mut u64 {
        match cause {
            None => &mut self.skipped,
            Some(Cause::Superseded) => &mut self.superseded,
            Some(cause) => &mut self.losses[cause.place()],
        }
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ledger { submitted, acknowledged, in_flight, skipped, superseded, .. } = self;
        write!(f, "{submitted} submitted = {acknowledged} acknowledged")?;
        if *superseded > 0 {
            write!(f, " + {superseded} superseded")?;
        }
        write!(f, " + {} lost", self.lost())?;
        if *skipped > 0 {
            write!(f, " + {skipped} skipped")?;
        }
        write!(f, " + {in_flight} in flight")
    }
}

/// The behaviour of a source when a sink is too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The source waits. A sink that stops then also stops the source, and with it the source's other sinks.
    Block,
    /// It keeps this many events and bytes, and drops the oldest.
    DropOldest {
        /// The number of events that wait at the source.
        events: u64,
        /// Their bytes. A single event may have more.
        bytes: u64,
    },
    /// It keeps only the latest event, and sends it when the sink has taken the one before. Those in between are
    /// [superseded](Cause::Superseded).
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

    /// The number of events and bytes that may wait at the source.
    pub(crate) fn queue(self) -> (u64, u64) {
        match self {
            Policy::Block => (0, 0),
            Policy::DropOldest { events, bytes } => (events, bytes),
            Policy::Latest => (1, u64::MAX),
        }
    }

    /// The same policy, with at most this much waiting.
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
    fn what_hundreds_of_links_have_lied_stays_at_the_greatest_number() {
        let mut sum = Counts::default();
        let lies = 1 << 56;
        for _ in 0..300 {
            sum.add(Counts { received: 1, taken: 1, lost: lies, superseded: lies, skipped: lies, ..Counts::default() });
        }
        assert_eq!((sum.received, sum.taken), (300, 300));
        assert_eq!([sum.lost, sum.superseded, sum.skipped], [u64::MAX; 3]);
    }

    #[test]
    fn a_queue_is_as_long_as_both_sides_want() {
        let most = Count { events: 10, bytes: 1000 };
        let queue = |events, bytes| Policy::DropOldest { events, bytes };
        assert_eq!(queue(u64::MAX, u64::MAX).within(most), queue(10, 1000));
        assert_eq!(queue(7, 2000).within(most), queue(7, 1000));
        assert_eq!(Policy::Latest.within(most), Policy::Latest);
    }
}
