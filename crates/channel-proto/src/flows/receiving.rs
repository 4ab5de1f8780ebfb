//! A subscription at its sink: the events that have arrived, were taken, and are acknowledged.

use super::inbox::{LastGap, Stamp, cost};
use crate::account::{Cause, Count, Counts, Gap, Window};
use crate::grant::Granted;
use crate::keys::{LinkKey, NodeId, ReceivingKey, SendingKey, SinkKey, SourceRef};
use crate::memory::Storage;
use crate::origin::Origin;
use crate::wire::LAST_SEQUENCE;
use isoform_core::{Code, Error, Format, Result};

/// The source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// A source of another node, by its number there.
    Link(LinkKey, u32),
    /// A source of this node, by its sending.
    Here(SendingKey),
    /// The link has ended, and events that arrived over it remain to be taken.
    Gone,
}

/// The state of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The sink has asked for it.
    Asked,
    /// Events arrive.
    Running,
    /// The source has left, and events that arrived remain to be taken.
    Ended,
    /// The rules do not allow it any more. What came before remains to be taken. Further events are discarded.
    Barred,
    /// The sink has announced that it leaves, and waits for the end. Further events are discarded.
    Leaving,
}

impl Stage {
    /// Whether what still comes is discarded.
    pub(crate) fn is_deaf(self) -> bool {
        matches!(self, Stage::Barred | Stage::Leaving)
    }

    /// Whether nothing follows, and what came before remains to be taken.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Stage::Ended | Stage::Barred)
    }
}

pub(crate) struct Receiving<S> {
    pub(crate) sink: SinkKey,
    pub(crate) from: From,
    pub(crate) source: SourceRef,
    /// The node of the source, and the number there, once it has started.
    pub(crate) place: Option<(NodeId, u32)>,
    pub(crate) stage: Stage,
    /// The format that the source has declared for all of its events, until the sink is told of it.
    pub(crate) declared: Option<Format>,
    /// The longest body that the sink accepts.
    pub(crate) longest: u64,
    pub(crate) window: Window,
    /// The sequence number of the next event.
    pub(crate) expected: u64,
    pub(crate) received: Count,
    pub(crate) taken: Count,
    /// The part of the taken events that is acknowledged.
    pub(crate) told: Count,
    pub(crate) lost: u64,
    /// The number of events that newer ones have superseded.
    pub(crate) superseded: u64,
    /// The number of events that the sink did not want.
    pub(crate) skipped: u64,
    /// The policy that its Subscribe asked for.
    pub(crate) asked: Option<Granted>,
    /// The number of the last change of parameters that the source knows.
    pub(crate) change: u32,
    /// The policy that the source grants; `None` before it has answered.
    pub(crate) granted: Option<Granted>,
    /// Where the next event was first submitted, if that was at another source.
    pub(crate) origin: Option<Origin>,
    /// The last gap, if no event has arrived since.
    pub(crate) gap: Option<LastGap>,
    /// The batch of the sink, counted from its first, that has the last head of an event.
    pub(crate) head: Option<u64>,
    /// Whether it is in its link's list of subscriptions with something to acknowledge.
    pub(crate) owes: bool,
    /// A long body that has arrived in part.
    pub(crate) long: Option<Long<S>>,
    /// The last body longer than the window: the number of events received before it, and its length.
    pub(crate) beyond: Option<(u64, u64)>,
}

/// A long body that is arriving.
pub(crate) struct Long<S> {
    pub(crate) storage: S,
    /// The number of bytes that have arrived.
    pub(crate) filled: usize,
    /// The number of bytes of the whole body.
    pub(crate) length: usize,
    /// Its format, which its index stood for when it began.
    pub(crate) format: Format,
    pub(crate) time: u64,
}

impl<S> Long<S> {
    /// The number of bytes that have not arrived.
    pub(crate) fn missing(&self) -> usize {
        self.length - self.filled
    }
}

impl<S> Receiving<S> {
    /// A subscription that the sink asks for.
    pub(crate) fn new(sink: SinkKey, from: From, source: SourceRef, window: Window, longest: u64) -> Receiving<S> {
        Receiving {
            sink,
            from,
            source,
            place: None,
            stage: Stage::Asked,
            declared: None,
            longest,
            window,
            expected: 0,
            received: Count::default(),
            taken: Count::default(),
            told: Count::default(),
            lost: 0,
            superseded: 0,
            skipped: 0,
            asked: None,
            change: 0,
            granted: None,
            origin: None,
            gap: None,
            head: None,
            owes: false,
            long: None,
            beyond: None,
        }
    }

    /// Whether its source is behind this link.
    #[inline]
    pub(crate) fn is_from(&self, link: LinkKey) -> bool {
        matches!(self.from, From::Link(from, _) if from == link)
    }

    /// Counts an event that arrives, and returns its stamp.
    #[inline]
    pub(crate) fn receive(&mut self, subscription: ReceivingKey, time: u64, length: usize) -> Stamp {
        let origin = self.origin.take();
        let stamp = Stamp { source: self.source, subscription, sequence: self.expected, time, origin };
        self.gap = None;
        self.count(length);
        stamp
    }

    /// Counts an event that arrives behind another one.
    #[inline]
    pub(crate) fn count(&mut self, length: usize) {
        self.expected += 1;
        self.received.events += 1;
        self.received.bytes += cost(length);
    }

    /// Refuses a body that is longer than was agreed, or arrives although the window is full.
    #[inline]
    pub(crate) fn admit(&self, length: u64) -> Result<()> {
        // The source may know less than the sink has told it, but never more.
        let events = self.received.events - self.told.events;
        let bytes = self.received.bytes - self.told.bytes;
        let has_room = events == 0 || events < self.window.events && bytes < self.window.bytes;
        if has_room && length <= self.longest { Ok(()) } else { Err(self.refuse(length, has_room)) }
    }

    #[cold]
    fn refuse(&self, length: u64, has_room: bool) -> Error {
        if !has_room {
            let Window { events, bytes } = self.window;
            let error = Error::new(Code::Frame).at(format!("event {}", self.expected));
            return error.expected(format_args!("no event beyond the window of {events} events and {bytes} bytes"));
        }
        let error = Error::new(Code::MessageSize).at(format!("event {}", self.expected));
        error.expected(format_args!("at most {} bytes", self.longest)).found(length)
    }

    /// The length of the body longer than the window that has arrived, at least in part, and was not taken; 0 if there is
    /// none.
    pub(crate) fn beyond(&self) -> u64 {
        let (index, length) = self.beyond.unwrap_or_default();
        let is_here = self.received.events > index || self.long.as_ref().is_some_and(|long| long.filled > 0);
        if is_here && self.taken.events <= index && self.stage != Stage::Leaving { length } else { 0 }
    }

    /// The memory of the body longer than the window that has arrived, at least in part, and was not taken.
    pub(crate) fn held_beyond(&self) -> u64
    where
        S: Storage,
    {
        match &self.long {
            Some(long) if self.beyond() > 0 => long.storage.bytes().len() as u64,
            _ => self.beyond(),
        }
    }

    /// The counts of its events.
    pub(crate) fn counts(&self) -> Counts {
        let Receiving { received, taken, lost, superseded, skipped, .. } = *self;
        Counts { received: received.events, taken: taken.events, lost, superseded, skipped, ..Counts::default() }
    }

    /// Counts events that do not come: lost or superseded ones.
    pub(crate) fn lose(&mut self, gap: Gap) -> Result<()> {
        self.pass(gap.first, gap.count)?;
        match gap.cause.is_loss() {
            true => self.lost += gap.count,
            false => self.superseded += gap.count,
        }
        Ok(())
    }

    /// Counts events that the sink did not want.
    pub(crate) fn skip(&mut self, first: u64, count: u64) -> Result<()> {
        self.pass(first, count)?;
        self.skipped += count;
        // A later gap is another one, since these events lie in between.
        self.gap = None;
        Ok(())
    }

    /// The next events do not arrive.
    fn pass(&mut self, first: u64, count: u64) -> Result<()> {
        let end = first.checked_add(count).filter(|&end| end <= LAST_SEQUENCE);
        let (Some(end), true) = (end, first == self.expected && count > 0) else {
            let error = Error::new(Code::Frame)
                .at("gap")
                .expected(format_args!("a gap that begins at event {}", self.expected));
            return Err(error.found(format_args!("{count} events from {first} on")));
        };
        (self.expected, self.origin) = (end, None);
        Ok(())
    }

    /// The events up to this one, which will never be sent; `None` if there are none.
    pub(crate) fn until(&mut self, next: u64, cause: Cause) -> Option<Gap> {
        let count = next.checked_sub(self.expected).filter(|&count| count > 0)?;
        let gap = Gap { first: self.expected, count, cause };
        self.expected = next;
        self.lost += count;
        Some(gap)
    }

    /// Whether the sink has taken so much of the window that the source should know at once.
    #[inline]
    pub(crate) fn is_urgent(&self) -> bool {
        let events = self.taken.events - self.told.events;
        let bytes = self.taken.bytes - self.told.bytes;
        events > 0 && (events >= self.window.events.div_ceil(2) || bytes >= self.window.bytes.div_ceil(2))
    }

    /// Whether the application has taken everything that arrived.
    pub(crate) fn is_drained(&self) -> bool {
        self.taken.events == self.received.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiving() -> Receiving<Vec<u8>> {
        let window = Window { events: 4, bytes: 1_000 };
        let mut receiving = Receiving::new(SinkKey(0), From::Gone, SourceRef(0), window, 100);
        (receiving.stage, receiving.expected) = (Stage::Running, 10);
        receiving
    }

    #[test]
    fn what_is_expected_is_the_first_and_what_came_and_what_was_lost() {
        let mut receiving = receiving();
        assert_eq!(receiving.receive(ReceivingKey(7), 1, 8).sequence, 10);
        let gap = |first, count| Gap { first, count, cause: Cause::Overrun };
        for wrong in [gap(10, 1), gap(12, 1), gap(11, 0), gap(11, u64::MAX)] {
            assert_eq!(receiving.lose(wrong).unwrap_err().code(), Code::Frame, "{wrong:?}");
        }
        receiving.lose(gap(11, 4)).unwrap();
        assert_eq!(receiving.receive(ReceivingKey(7), 1, 8).sequence, 15);
        assert_eq!(receiving.until(15, Cause::Ended), None, "less than is expected");
        assert_eq!(receiving.until(18, Cause::Ended), Some(Gap { first: 16, count: 2, cause: Cause::Ended }));
        receiving.lose(Gap { cause: Cause::Superseded, ..gap(18, 3) }).unwrap();
        let Counts { received, lost, superseded, .. } = receiving.counts();
        assert_eq!((receiving.expected, received, lost, superseded), (21, 2, 6, 3));
    }

    #[test]
    fn half_of_the_window_is_urgent_and_more_than_all_of_it_is_refused() {
        let mut receiving = receiving();
        for i in 0..4 {
            receiving.admit(100).unwrap_or_else(|error| panic!("{i}: {error}"));
            receiving.receive(ReceivingKey(7), 1, 100);
        }
        assert_eq!(receiving.admit(1).unwrap_err().code(), Code::Frame);
        receiving.taken = Count { events: 1, bytes: 116 };
        assert!(!receiving.is_urgent());
        receiving.taken = Count { events: 2, bytes: 232 };
        assert!(receiving.is_urgent());
        receiving.told = receiving.taken;
        assert!(!receiving.is_urgent() && receiving.admit(100).is_ok());
        assert_eq!(receiving.admit(101).unwrap_err().code(), Code::MessageSize);
    }
}
