//! What may be sent, and what may wait: windows, queues, and the sinks for which a source waits.

use super::{Ending, Queued, Sending, To};
use crate::account::{Cause, Count, Policy};
use crate::flows::inbox::cost;
use crate::flows::lane::Lane;
use crate::flows::quiet::Gets;
use crate::memory::Body;

/// A sink lags behind if events are in flight and it has taken nothing for this long, in nanoseconds. So does a sink that has never
/// taken an event: an honest one acknowledges its first event soon.
const SILENCE: u64 = 100_000_000;

impl<B: Body> Sending<B> {
    /// Whether the source must wait before it submits the next event.
    #[inline]
    pub(crate) fn is_full(&self, lane: &impl Lane<B>) -> bool {
        self.granted.policy == Policy::Block && !self.has_place(lane) && self.is_waited_for()
    }

    /// Whether there is a place for the next event. If it is not known whether a query lets it pass, it may also wait here.
    #[inline]
    pub(super) fn has_place(&self, lane: &impl Lane<B>) -> bool {
        self.may_send(lane) || self.want.is_some() && self.queue.is_empty()
    }

    /// Whether the next event can be sent, except for its length.
    #[inline(always)]
    pub(crate) fn is_ready(&self, lane: &impl Lane<B>) -> bool {
        self.revoked.is_none() && self.unwanted == 0 && self.gaps.is_empty() && self.may_send(lane)
    }

    /// Whether the source waits without limit for the sink.
    pub(crate) fn is_lossless(&self) -> bool {
        self.granted.must && self.granted.policy == Policy::Block
    }

    /// Whether a source with the policy *block* waits for the sink.
    #[cold]
    pub(super) fn is_waited_for(&self) -> bool {
        let has_kept = self.queue.front().is_some_and(|front| front.sequence < self.began);
        let is_over = self.revoked.is_some() || self.is_abandoned();
        self.unwanted == 0 && !is_over && (self.granted.must || !has_kept)
    }

    /// Whether the source waits until the subscription has got its kept events.
    pub(crate) fn is_waited_for_kept(&self) -> bool {
        self.begins.is_some() && self.is_lossless() && self.is_waited_for()
    }

    /// Whether its sink has never taken anything, and the connection broke. Then no submitting thread waits for it.
    pub(crate) fn is_abandoned(&self) -> bool {
        !self.live && self.taken.events == 0
    }

    /// Whether everything was sent and taken.
    pub(crate) fn is_settled(&self) -> bool {
        self.queue.is_empty() && self.sent.events == self.taken.events
    }

    #[inline]
    pub(super) fn may_send(&self, lane: &impl Lane<B>) -> bool {
        self.queue.is_empty() && self.long.is_none() && self.has_credit() && lane.is_open()
    }

    #[inline]
    pub(super) fn has_credit(&self) -> bool {
        let events = self.sent.events - self.taken.events;
        // Bytes are acknowledged in runs of several events, so they lag behind the events.
        self.is_within(events, self.sent.bytes - self.taken.bytes)
    }

    /// Whether another event may be sent while this many events and bytes are in flight.
    #[inline(always)]
    pub(super) fn is_within(&self, events: u64, bytes: u64) -> bool {
        events == 0 || events < self.window.events && bytes < self.window.bytes
    }

    /// Whether the sink lags behind at the time of the next event, and at most this much may be held for it.
    pub(crate) fn lags(&mut self, time: u64, held: Count) -> bool {
        let is_silent = self.sent.events > self.taken.events && {
            let since = *self.unanswered.get_or_insert(time);
            self.taken.events == 0 || time.saturating_sub(since) > SILENCE
        };
        let may_send = self.queue.is_empty() && self.has_credit() && self.live;
        (is_silent || !may_send) && self.may_lag(held)
    }

    /// Whether at most this much may be held for the sink: no thread has to wait for it meanwhile.
    pub(crate) fn may_lag(&self, held: Count) -> bool {
        let is_plain = matches!(self.to, To::Link(..)) && self.want.is_none() && self.unwanted == 0;
        let is_over = self.revoked.is_some() || self.ending != Ending::No;
        is_plain && !is_over && (self.granted.policy != Policy::Block || self.has_room_for(held))
    }

    /// When it gets an event that its query lets pass, if this is little.
    pub(in crate::flows) fn gets(&self, little: Count) -> Gets {
        match self.may_get_later(little) {
            true if self.granted.policy == Policy::Block => Gets::Little,
            true => Gets::Later,
            false if self.is_lossless() => Gets::Lossless,
            false => Gets::AtOnce,
        }
    }

    /// Whether it may get events later, up to this much together: no thread has to wait for it meanwhile.
    pub(in crate::flows) fn may_get_later(&self, little: Count) -> bool {
        self.granted.policy != Policy::Block || self.has_room_for(little)
    }

    /// Whether this much can be submitted to the sink before its source has to wait for it, and would be kept if it cannot be
    /// sent. False for lossless sinks.
    pub(super) fn has_room_for(&self, held: Count) -> bool {
        let is_kept = held.events <= self.spare.events && held.bytes <= self.spare.bytes;
        is_kept && !self.granted.must && self.has_window_for(held)
    }

    /// Whether this much could be sent to the sink, if its link had room.
    pub(in crate::flows) fn has_window_for(&self, held: Count) -> bool {
        let events = self.sent.events - self.taken.events + held.events;
        let bytes = self.sent.bytes - self.taken.bytes + held.bytes + held.events * cost(0);
        let has_window = events <= self.window.events && bytes <= self.window.bytes;
        has_window && self.live && self.queue.is_empty() && self.long.is_none()
    }

    /// Whether its sink has room, so that events may be sent once its link has.
    pub(crate) fn may_get_more(&self) -> bool {
        self.live && self.has_credit()
    }

    /// Whether events wait for the sink.
    pub(crate) fn has_queue(&self) -> bool {
        !self.queue.is_empty()
    }

    /// How many events of this cost may be sent one after another until there is no credit.
    pub(super) fn credit_for(&self, cost: u64) -> u64 {
        let events = self.window.events.saturating_sub(self.sent.events - self.taken.events);
        let bytes = self.window.bytes.saturating_sub(self.sent.bytes - self.taken.bytes);
        events.min(bytes.div_ceil(cost)).max(u64::from(self.has_credit()))
    }

    /// The length of the body that is to be sent next, if it is longer than the window. Such bodies share a limit of the
    /// link.
    #[inline]
    pub(crate) fn begins_beyond(&self) -> Option<u64> {
        let length = self.long.as_ref().filter(|(_, sent, _)| *sent == 0)?.0.length() as u64;
        (length > self.window.bytes).then_some(length)
    }

    /// The first part of a body longer than the window is sent now.
    pub(crate) fn begin_beyond(&mut self, length: u64) {
        self.beyond = Some((self.sent.events - 1, length));
    }

    /// The length of the body longer than the window that was sent, at least in part, and not taken; 0 if there is none.
    pub(crate) fn beyond(&self) -> u64 {
        let (index, length) = self.beyond.unwrap_or_default();
        if self.sent.events > index && self.taken.events <= index { length } else { 0 }
    }

    /// Drops the oldest events until the limits of the policy hold.
    pub(super) fn trim(&mut self) {
        let (events, bytes) = self.limits();
        let cause = self.overflow();
        while self.queue.len() as u64 > events || self.queue.len() > 1 && self.queued > bytes {
            self.drop_oldest(cause);
        }
    }

    /// Why the events do not come for which there is no room here.
    pub(super) fn overflow(&self) -> Cause {
        match self.granted.policy {
            Policy::Latest => Cause::Superseded,
            Policy::Block if !self.live => Cause::Cut,
            Policy::Block | Policy::DropOldest { .. } => Cause::Overrun,
        }
    }

    /// The number of events that may wait here, and of their bytes if it is more than one.
    pub(super) fn limits(&self) -> (u64, u64) {
        let (events, bytes) = match self.granted.policy {
            Policy::Block => (self.spare.events, self.spare.bytes),
            policy => policy.queue(),
        };
        (events.max(1), bytes)
    }

    /// The memory of the queue.
    pub(crate) fn memory(&self) -> u64 {
        self.queued + (self.queue.len() * size_of::<Queued<B>>()) as u64
    }

    /// Drops the oldest events until the queue takes no more memory than this, or one event is left.
    pub(crate) fn shorten(&mut self, most: u64) {
        while self.queue.len() > 1 && self.memory() > most {
            self.drop_oldest(Cause::Overrun);
        }
    }
}
