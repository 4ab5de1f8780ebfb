//! Changes of a subscription: acknowledgements, grants, cuts and ends.

use super::{Ending, Missing, Sending};
use crate::Time;
use crate::account::{Cause, Count, Gap, Policy, Window};
use crate::control::Resumed;
use crate::flows::inbox::cost;
use crate::flows::lane::Lane;
use crate::grant::{Granted, Reason};
use crate::memory::Body;
use isoform_core::{Code, Error, Result};

/// A source does not wait again for a sink that was too slow before this time has passed.
const PAUSE: Time = Time::from_secs(1);
/// It doubles with each time that the sink was too slow, up to this many times.
const DOUBLINGS: u32 = 6;

impl<B: Body> Sending<B> {
    /// The sink declines the rest of an event. Has an effect while its parts are sent.
    pub(crate) fn enough(&mut self, sequence: u64, lane: &mut impl Lane<B>) {
        if self.position != sequence + 1 {
            return;
        }
        if let Some((body, ..)) = self.long.take() {
            self.sent.events -= 1;
            self.sent.bytes -= cost(body.length());
            self.ledger.lose(Cause::Declined, 1);
            self.note_lost(sequence, sequence);
            lane.gap(Gap { first: sequence, count: 1, cause: Cause::Declined });
        }
    }

    /// The source has waited for the sink as long as it may.
    pub(crate) fn give_up(&mut self, now: Time) {
        let Count { events, bytes } = self.spare;
        let policy = Policy::DropOldest { events, bytes };
        self.slow = (self.slow.0 + 1, now + PAUSE * (1 << self.slow.0.min(DOUBLINGS)));
        self.set_grant(Granted { policy, must: false, reason: Reason::Slow });
    }

    /// Whether the source has given up waiting for the sink.
    pub(crate) fn is_slow(&self) -> bool {
        self.asked.policy == Policy::Block && self.granted.policy != Policy::Block
    }

    /// Whether the sink was too slow, and has caught up since. The source then waits for it again.
    pub(crate) fn has_caught_up(&mut self, now: Time) -> bool {
        let (events, bytes) = (self.sent.events - self.taken.events, self.sent.bytes - self.taken.bytes);
        let half = Window { events: self.window.events / 2, bytes: self.window.bytes / 2 };
        let has_room = self.queue.is_empty() && events <= half.events && bytes <= half.bytes;
        let caught_up = self.is_slow() && has_room && self.live && now >= self.slow.1;
        if caught_up {
            self.set_grant(Granted { reason: Reason::CaughtUp, ..self.asked });
        }
        caught_up
    }

    /// The source grants another policy.
    pub(crate) fn set_grant(&mut self, granted: Granted) {
        if self.granted.policy != granted.policy {
            self.changes += 1;
        }
        self.granted = granted;
        if granted.policy != Policy::Block {
            self.trim();
        }
    }

    /// The sink has taken this many events and bytes. Returns whether that is news: more bytes of no further event are none, or a
    /// single event would pay for as many acknowledgements as it has bytes.
    pub(crate) fn acknowledge(&mut self, taken: Count) -> Result<bool> {
        let (before, sent) = (self.taken, self.sent);
        let possible =
            (before.events..=sent.events).contains(&taken.events) && (before.bytes..=sent.bytes).contains(&taken.bytes);
        if !possible {
            let error = Error::new(Code::Frame).at("acknowledgement");
            return Err(error.expected(format_args!("from {before:?} to {sent:?}")).found(format_args!("{taken:?}")));
        }
        if self.taken != taken {
            (self.taken, self.unanswered) = (taken, None);
        }
        Ok(taken.events > before.events)
    }

    /// Its connection broke. A body that was sent in part is lost. Queued events wait.
    pub(crate) fn cut(&mut self) {
        self.live = false;
        self.ready = false;
        self.long = None;
    }

    /// A sink resumes its subscription. It states what it has received, and the sequence number that it expects.
    pub(crate) fn resume(&mut self, from: Resumed) -> Result<()> {
        let Resumed { expected, received, taken, skipped, superseded } = from;
        let possible = expected <= self.position
            && skipped <= self.told_skipped
            && superseded <= self.told_superseded
            && received.events <= self.sent.events
            && received.bytes <= self.sent.bytes
            && taken.events <= received.events
            && taken.bytes <= received.bytes;
        if !possible {
            let error = Error::new(Code::Frame).at("resumed subscription");
            let expected = format_args!("at most sequence {} and {:?}", self.position, self.sent);
            return Err(error.expected(expected).found(format_args!("sequence {expected}, {received:?}, {taken:?}")));
        }
        self.acknowledge(taken)?;
        self.ledger.lose(Cause::Cut, self.sent.events - received.events);
        self.sent = received;
        self.forget_told(skipped, superseded);
        if self.position > expected {
            let gap = Missing { first: expected, count: self.position - expected, cause: Some(Cause::Cut) };
            self.gaps.push_front(gap);
            self.note_lost(expected, self.position - 1);
            self.position = expected;
        }
        if self.ending == Ending::Told {
            self.ending = Ending::Soon;
        }
        self.live = true;
        Ok(())
    }

    /// The source leaves. Queued events are sent, and then the end.
    pub(crate) fn end(&mut self) {
        if self.ending == Ending::No {
            self.ending = Ending::Soon;
        }
    }

    /// The rules do not allow it any more. Nothing follows but the end: events that wait, or are sent in part, are lost.
    pub(crate) fn revoke(&mut self, why: (u16, String), lane: &mut impl Lane<B>) {
        if self.live && self.long.is_some() {
            self.enough(self.position - 1, lane);
        }
        while self.drop_oldest(Cause::Ended) {}
        self.revoked = Some(why.into());
        self.end();
    }

    pub(crate) fn is_revoked(&self) -> bool {
        self.revoked.is_some()
    }

    /// The sink has left after taking this many events. The others are lost.
    pub(crate) fn left(&mut self, taken: u64) -> Result<()> {
        self.acknowledge(Count { events: taken, bytes: self.taken.bytes })?;
        self.forget(Cause::Ended);
        Ok(())
    }

    /// Gives up all events in flight. Those that waited are left as waste, which may take long to let go of.
    pub(crate) fn forget(&mut self, cause: Cause) {
        let sent = self.sent.events - self.taken.events;
        self.ledger.lose(cause, sent + self.queue.len() as u64);
        self.sent.events = self.taken.events;
        if let (Some(first), Some(last)) = (self.queue.front(), self.queue.back()) {
            self.note_lost(first.sequence, last.sequence);
        }
        (self.waste, self.queued) = (std::mem::take(&mut self.queue), 0);
        self.gaps.clear();
        self.long = None;
    }

    /// Whether the sink knows that the source has left.
    pub(crate) fn has_told_end(&self) -> bool {
        self.ending == Ending::Told
    }
}
