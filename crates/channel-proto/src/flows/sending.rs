//! A subscription at its source: the events that were submitted, may be sent, and wait, and their account.

use super::demands::Steered;
use super::inbox::cost;
use super::lane::Lane;
use super::projections::ProjectionKey;
use super::wants::WantKey;
use crate::Time;
use crate::account::{Cause, Count, Gap, Ledger, Policy, Window};
use crate::control::Resumed;
use crate::frame::PAYLOAD;
use crate::grant::{Granted, Reason};
use crate::keys::{DemandKey, LinkKey, NodeId, ReceivingKey, SourceKey};
use crate::memory::{Body, Draft};
use crate::origin::Origin;
use isoform_core::{Code, Error, Format, Result};
use std::collections::VecDeque;

/// With this many gaps pending, neighbouring gaps are merged, whatever their causes are.
const GAPS: usize = 64;
/// A source does not wait again for a sink that was too slow before this time has passed.
const PAUSE: Time = Time::from_secs(1);
/// It doubles with each time that the sink was too slow, up to this many times.
const DOUBLINGS: u32 = 6;
/// A sink lags behind if events are in flight and it has taken nothing for this long, in nanoseconds. So does a sink that has never
/// taken an event: an honest one acknowledges its first event soon.
const SILENCE: u64 = 100_000_000;

/// The destination of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// To a sink of another node, by the subscription's number.
    Link(LinkKey, u32),
    /// To a sink of this node.
    Here(ReceivingKey),
}

pub(crate) struct Sending<B> {
    pub(crate) source: SourceKey,
    pub(crate) to: To,
    pub(crate) node: NodeId,
    /// The sink's number at its node.
    pub(crate) sink: u32,
    /// What the sink asks for.
    pub(crate) asked: Granted,
    /// What the source grants now.
    pub(crate) granted: Granted,
    /// The most that waits here under the policy *block* while the source does not wait.
    spare: Count,
    /// Since when the source waits for the sink.
    pub(crate) since: Option<Time>,
    /// How long the source has waited for the sink.
    pub(crate) waited: Time,
    /// How often the granted policy has changed.
    pub(crate) changes: u64,
    /// How often the sink was too slow, and when the source may wait for it again.
    slow: (u32, Time),
    pub(crate) window: Window,
    pub(crate) longest: u64,
    /// Whether events may be sent, that is, it is subscribed to in the link's current epoch.
    pub(crate) live: bool,
    /// Whether it is in its link's list of subscriptions with something to send.
    pub(crate) ready: bool,
    /// Whether it lags behind: it gets events later, together.
    pub(crate) is_behind: bool,
    /// Whether it is quiet: its query filters all events from `next` on, and nobody has counted them here.
    pub(super) is_quiet: bool,
    /// The time of the first event, of those in flight, that was submitted since the sink last took something.
    unanswered: Option<u64>,
    ledger: Ledger,
    /// The sequence number of the next submitted event.
    next: u64,
    /// The sequence number that the sink expects after everything that was sent.
    position: u64,
    sent: Count,
    taken: Count,
    queue: VecDeque<Queued<B>>,
    queued: u64,
    /// The part of the queue's memory that the sink's node is charged for.
    pub(crate) charged: u64,
    /// Events before this one were kept for the sink. They were submitted before it subscribed.
    began: u64,
    /// The number of following events that the sink does not want.
    unwanted: u64,
    /// The number of events of which the sink was told that they are skipped.
    told_skipped: u64,
    /// Lost and skipped events that the sink does not know of yet, by ascending sequence number.
    gaps: VecDeque<Missing>,
    /// A long body of which parts were sent.
    long: Option<(B, usize)>,
    /// The last body longer than the window: the number of events sent before it, and its length.
    beyond: Option<(u64, u64)>,
    ending: Ending,
    /// Its part in the demands of the source, if that has parameters.
    pub(super) steered: Option<Box<Steered>>,
    /// Its query at the source.
    pub(super) want: Option<WantKey>,
    /// The fields that its sink looks at, if the source may leave out the others.
    pub(super) projection: Option<ProjectionKey>,
    /// The first and the last event that the query has let pass and that was lost since somebody asked.
    lost: Option<(u64, u64)>,
    /// Whether the sink is to be told of skipped events although no event is behind them.
    tells_skips: bool,
    /// Why it was ended, if the rules do not allow it any more: a code, and a text.
    revoked: Option<Box<(u16, String)>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The source has not left.
    No,
    /// The source has left. Queued events remain to be sent.
    Soon,
    /// The sink knows that the source has left.
    Told,
}

struct Queued<B> {
    sequence: u64,
    time: u64,
    format: Format,
    body: B,
    origin: Option<Box<Origin>>,
}

/// Events that the sink does not receive.
#[derive(Clone, Copy)]
struct Missing {
    first: u64,
    count: u64,
    /// Why they are lost; `None` if the sink does not want them.
    cause: Option<Cause>,
}

impl Missing {
    fn end(&self) -> u64 {
        self.first + self.count
    }
}

/// What a sink demands of a subscription.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) sink: u32,
    pub(crate) asked: Granted,
    pub(crate) granted: Granted,
    pub(crate) window: Window,
    pub(crate) longest: u64,
    /// The most that waits at the source under the policy *block* while the source does not wait.
    pub(crate) spare: Count,
}

impl<B: Body> Sending<B> {
    /// A subscription whose first event is `next`. Events before `began` are kept ones.
    pub(crate) fn new(source: SourceKey, to: To, node: NodeId, request: Request, next: u64, began: u64) -> Sending<B> {
        let Request { sink, asked, granted, window, longest, spare } = request;
        Sending {
            source,
            to,
            node,
            sink,
            asked,
            granted,
            spare,
            since: None,
            waited: Time::ZERO,
            changes: 0,
            slow: (0, Time::ZERO),
            window,
            longest,
            live: true,
            ready: false,
            is_behind: false,
            is_quiet: false,
            unanswered: None,
            ledger: Ledger::default(),
            next,
            position: next,
            sent: Count::default(),
            taken: Count::default(),
            queue: VecDeque::new(),
            queued: 0,
            began,
            unwanted: 0,
            told_skipped: 0,
            charged: 0,
            gaps: VecDeque::new(),
            long: None,
            beyond: None,
            ending: Ending::No,
            steered: None,
            want: None,
            projection: None,
            lost: None,
            tells_skips: false,
            revoked: None,
        }
    }

    /// Whether it gets the events for a demand. Those for none are for all.
    #[inline]
    pub(super) fn is_of(&self, demand: Option<DemandKey>) -> bool {
        demand.is_none_or(|demand| self.steered.as_ref().is_some_and(|steered| steered.demand == demand))
    }

    /// The link to its sink; `None` if that is of this node.
    pub(crate) fn link(&self) -> Option<LinkKey> {
        match self.to {
            To::Link(link, _) => Some(link),
            To::Here(_) => None,
        }
    }

    /// The account of its events.
    pub(crate) fn ledger(&self) -> Ledger {
        let in_flight = self.sent.events - self.taken.events + self.queue.len() as u64;
        self.ledger.at(self.taken.events, in_flight)
    }

    /// The sequence number of the next submitted event.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Whether the source must wait before it submits the next event.
    #[inline]
    pub(crate) fn is_full(&self, lane: &impl Lane<B>) -> bool {
        self.granted.policy == Policy::Block && !self.has_place(lane) && self.is_waited_for()
    }

    /// Whether there is a place for the next event. If it is not known whether a query lets it pass, it may also wait here.
    #[inline]
    fn has_place(&self, lane: &impl Lane<B>) -> bool {
        self.may_send(lane) || self.want.is_some() && self.queue.is_empty()
    }

    /// Whether the next event can be sent, except for its length.
    #[inline(always)]
    pub(crate) fn is_ready(&self, lane: &impl Lane<B>) -> bool {
        self.revoked.is_none() && self.unwanted == 0 && self.gaps.is_empty() && self.may_send(lane)
    }

    /// Sends the next event, for which the subscription [is ready](Sending::is_ready).
    #[inline(always)]
    pub(crate) fn submit_ready(
        &mut self,
        time: u64,
        format: &Format,
        draft: &mut impl Draft<B>,
        lane: &mut impl Lane<B>,
    ) {
        if draft.length() as u64 > self.longest {
            return self.submit(time, format, draft, false, lane);
        }
        let sequence = self.next;
        self.next += 1;
        self.ledger.submitted += 1;
        self.send(sequence, time, format, draft, false, lane);
    }

    /// Sends the next events, whose bodies, each of this length, lie one behind the other: as many as may be sent now. The
    /// subscription [is ready](Sending::is_ready). Returns how many that were.
    pub(crate) fn submit_alike(
        &mut self,
        time: u64,
        format: &Format,
        bodies: &[u8],
        length: usize,
        lane: &mut impl Lane<B>,
    ) -> usize {
        if length == 0 || length as u64 > self.longest {
            return 0;
        }
        let most = self.credit_for(cost(length)).min(lane.room_for_alike(length) as u64);
        let count = most.min((bodies.len() / length) as u64);
        if count > 0 {
            lane.alike(time, format, &bodies[..count as usize * length], length);
            debug_assert_eq!(self.position, self.next);
            self.next += count;
            self.position = self.next;
            self.ledger.submitted += count;
            self.sent.events += count;
            self.sent.bytes += count * cost(length);
        }
        count as usize
    }

    /// Whether the source waits without limit for the sink.
    pub(crate) fn is_lossless(&self) -> bool {
        self.granted.must && self.granted.policy == Policy::Block
    }

    /// Whether a source with the policy *block* waits for the sink.
    #[cold]
    fn is_waited_for(&self) -> bool {
        let has_kept = self.queue.front().is_some_and(|front| front.sequence < self.began);
        let is_over = self.revoked.is_some() || self.is_abandoned();
        self.unwanted == 0 && !is_over && (self.granted.must || !has_kept)
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
    fn may_send(&self, lane: &impl Lane<B>) -> bool {
        self.queue.is_empty() && self.long.is_none() && self.has_credit() && lane.is_open()
    }

    #[inline]
    fn has_credit(&self) -> bool {
        let events = self.sent.events - self.taken.events;
        // Bytes are acknowledged in runs of several events, so they lag behind the events.
        self.is_within(events, self.sent.bytes - self.taken.bytes)
    }

    /// Whether another event may be sent while this many events and bytes are in flight.
    #[inline(always)]
    fn is_within(&self, events: u64, bytes: u64) -> bool {
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

    /// Whether this much can be submitted to the sink before its source has to wait for it, and would be kept if it cannot be
    /// sent. False for lossless sinks.
    fn has_room_for(&self, held: Count) -> bool {
        let events = self.sent.events - self.taken.events + held.events;
        let bytes = self.sent.bytes - self.taken.bytes + held.bytes + held.events * cost(0);
        let is_kept = held.events <= self.spare.events && held.bytes <= self.spare.bytes;
        let has_window = events <= self.window.events && bytes <= self.window.bytes;
        is_kept && has_window && self.live && !self.granted.must && self.queue.is_empty() && self.long.is_none()
    }

    /// Further events were submitted, and are lost at once: the link has ended.
    pub(crate) fn miss(&mut self, count: u64) {
        self.next += count;
        self.ledger.submitted += count;
        self.ledger.lose(Cause::Unknown, count);
    }

    /// Whether its sink has room, so that events may be sent once its link has.
    pub(crate) fn may_get_more(&self) -> bool {
        self.live && self.has_credit()
    }

    /// Whether events wait for the sink.
    pub(crate) fn has_queue(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The account after further events of these lengths are submitted.
    pub(crate) fn ledger_after(&self, lengths: impl Iterator<Item = usize>) -> Ledger {
        let (mut ledger, mut in_flight) = (self.ledger, self.sent.events - self.taken.events);
        let (mut bytes, mut waiting) = (self.sent.bytes - self.taken.bytes, Vec::new());
        for length in lengths {
            ledger.submitted += 1;
            let (cost, may_send) = (cost(length), self.live && self.queue.is_empty() && self.long.is_none());
            if length as u64 > self.longest {
                ledger.lose(Cause::TooLarge, 1);
            } else if may_send && waiting.is_empty() && self.is_within(in_flight, bytes) {
                (in_flight, bytes) = (in_flight + 1, bytes + cost);
            } else {
                waiting.push(cost);
            }
        }
        let (events, most) = self.limits();
        let (mut kept, mut queued) = (0, 0);
        let costs = waiting.iter().rev().copied();
        for cost in costs.chain(self.queue.iter().rev().map(|event| cost(event.body.length()))) {
            queued += cost;
            if kept > 0 && (kept >= events || queued > most) {
                break;
            }
            kept += 1;
        }
        ledger.lose(Cause::Overrun, (waiting.len() + self.queue.len()) as u64 - kept);
        ledger.at(self.taken.events, in_flight + kept)
    }

    /// How many events of this cost may be sent one after another until there is no credit.
    fn credit_for(&self, cost: u64) -> u64 {
        let events = self.window.events.saturating_sub(self.sent.events - self.taken.events);
        let bytes = self.window.bytes.saturating_sub(self.sent.bytes - self.taken.bytes);
        events.min(bytes.div_ceil(cost)).max(u64::from(self.has_credit()))
    }

    /// Submits an event: sends it, queues it, or drops it. `many` states that several sinks may need its body.
    #[inline]
    pub(crate) fn submit(
        &mut self,
        time: u64,
        format: &Format,
        draft: &mut impl Draft<B>,
        many: bool,
        lane: &mut impl Lane<B>,
    ) {
        if self.revoked.is_some() {
            return;
        }
        let sequence = self.next;
        self.next += 1;
        self.ledger.submitted += 1;
        if self.unwanted == 0 && draft.length() as u64 <= self.longest && self.may_send(lane) {
            self.tell_gaps(sequence, lane);
            self.send(sequence, time, format, draft, many, lane);
        } else {
            self.hold(sequence, time, format, draft);
        }
    }

    /// An event that the sink's query does not want.
    pub(crate) fn filter(&mut self) {
        if self.revoked.is_none() {
            self.unwanted = self.unwanted.saturating_sub(1);
            self.skip_next(1);
        }
    }

    /// Whether events that its query filters need only be counted.
    pub(super) fn may_be_quiet(&self) -> bool {
        let is_over = self.revoked.is_some() || self.ending != Ending::No;
        self.want.is_some() && self.unwanted == 0 && self.lost.is_none() && !is_over && !self.has_more()
    }

    /// The sink's query does not want any event before this one that was not counted.
    pub(super) fn filter_before(&mut self, sequence: u64) {
        let count = sequence - self.next;
        if count > 0 {
            self.skip_next(count);
        }
    }

    /// An event at which the sink's query did not look, for lack of time.
    pub(crate) fn thin(&mut self) {
        if self.revoked.is_some() || self.unwanted > 0 {
            return self.filter();
        }
        // The query has not let it pass: what was handed on last is still the last that the sink has.
        self.ledger.submitted += 1;
        self.ledger.lose(Cause::Thinned, 1);
        self.note(Missing { first: self.next, count: 1, cause: Some(Cause::Thinned) });
        self.next += 1;
    }

    fn skip_next(&mut self, count: u64) {
        self.ledger.submitted += count;
        self.ledger.skipped += count;
        match self.gaps.back_mut() {
            // A run of them is usual.
            Some(last) if last.cause.is_none() && last.end() == self.next => last.count += count,
            _ => self.note(Missing { first: self.next, count, cause: None }),
        }
        self.next += count;
    }

    /// Whether events were skipped of which the sink does not know, and nothing else is to be sent.
    pub(crate) fn has_skips(&self) -> bool {
        !self.gaps.is_empty() && !self.has_more()
    }

    /// The sink is to be told of skipped events now.
    pub(crate) fn tell_skips(&mut self) {
        self.tells_skips = true;
    }

    /// An event that is not sent now: queues it, or drops it.
    #[inline(never)]
    fn hold(&mut self, sequence: u64, time: u64, format: &Format, draft: &mut impl Draft<B>) {
        if self.unwanted > 0 {
            self.unwanted -= 1;
            self.ledger.skipped += 1;
            self.note(Missing { first: sequence, count: 1, cause: None });
        } else if draft.length() as u64 > self.longest {
            self.lose(sequence, Cause::TooLarge);
        } else {
            self.queued += cost(draft.length());
            let (format, origin) = (format.clone(), draft.origin().map(Box::new));
            self.queue.push_back(Queued { sequence, time, format, body: draft.share(), origin });
            self.trim();
        }
    }

    #[inline(always)]
    fn send(
        &mut self,
        sequence: u64,
        time: u64,
        format: &Format,
        draft: &mut impl Draft<B>,
        many: bool,
        lane: &mut impl Lane<B>,
    ) {
        debug_assert_eq!(self.position, sequence);
        self.position = sequence + 1;
        self.sent.events += 1;
        self.sent.bytes += cost(draft.length());
        debug_assert!(self.long.is_none());
        match lane.takes_whole(draft.length()) {
            true => lane.event(time, format, draft, many),
            false => self.begin(time, format, draft, lane),
        }
    }

    #[cold]
    fn begin(&mut self, time: u64, format: &Format, draft: &mut impl Draft<B>, lane: &mut impl Lane<B>) {
        lane.begin(time, format, draft);
        self.long = Some((draft.share(), 0));
    }

    /// Sends what may be sent, up to about a fragment. Returns whether there is more.
    pub(crate) fn pump(&mut self, lane: &mut impl Lane<B>) -> bool {
        let mut budget = PAYLOAD as u64;
        while lane.is_open() {
            if let Some((body, sent)) = &mut self.long {
                *sent = lane.part(body, *sent);
                if *sent == body.length() {
                    self.long = None;
                }
                return self.has_more();
            }
            let Some(front) = self.queue.front() else { break };
            if !self.has_credit() {
                return false;
            }
            if budget == 0 {
                return true;
            }
            let sequence = front.sequence;
            self.tell_gaps(sequence, lane);
            let Some(Queued { sequence, time, format, body, origin }) = self.queue.pop_front() else { break };
            let cost = cost(body.length());
            self.queued -= cost;
            budget = budget.saturating_sub(cost);
            self.send(sequence, time, &format, &mut Dequeued(body, origin), false, lane);
            if self.begins_beyond().is_some() {
                return true;
            }
        }
        if !lane.is_open() {
            return self.has_more();
        }
        self.tell_gaps(self.next, lane);
        if self.ending == Ending::Soon {
            self.ending = Ending::Told;
            lane.end(self.next, self.revoked.as_deref());
        }
        false
    }

    /// The length of the body that is to be sent next, if it is longer than the window. Such bodies share a limit of the
    /// link.
    #[inline]
    pub(crate) fn begins_beyond(&self) -> Option<u64> {
        let length = self.long.as_ref().filter(|(_, sent)| *sent == 0)?.0.length() as u64;
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

    /// Whether a body was begun whose parts are to be sent.
    #[inline]
    pub(crate) fn has_parts(&self) -> bool {
        self.long.is_some()
    }

    /// Whether there is something to send.
    pub(crate) fn has_more(&self) -> bool {
        self.long.is_some() || !self.queue.is_empty() || self.has_news() || self.ending == Ending::Soon
    }

    /// Whether the sink is to be told now of events that it does not receive. A run of those that its query skipped, or did
    /// not look at, can wait for an event.
    fn has_news(&self) -> bool {
        match self.gaps.front() {
            Some(gap) => !matches!(gap.cause, None | Some(Cause::Thinned)) || self.gaps.len() > 1 || self.tells_skips,
            None => false,
        }
    }

    /// Whether everything was sent that was submitted, and nothing is charged for a queue.
    #[inline(always)]
    pub(crate) fn is_done(&self) -> bool {
        !self.has_more() && self.charged == 0
    }

    #[inline]
    fn tell_gaps(&mut self, before: u64, lane: &mut impl Lane<B>) {
        self.tells_skips = false;
        while let Some(&gap) = self.gaps.front()
            && gap.first < before
        {
            debug_assert_eq!(self.position, gap.first);
            let Missing { first, count, cause } = gap;
            match cause {
                Some(cause) => lane.gap(Gap { first, count, cause }),
                None => {
                    self.told_skipped += count;
                    lane.skip(first, count);
                }
            }
            self.position = gap.end();
            self.gaps.pop_front();
        }
    }

    /// Drops the oldest events until the limits of the policy hold.
    fn trim(&mut self) {
        let (events, bytes) = self.limits();
        let cause = if self.granted.policy == Policy::Block && !self.live { Cause::Cut } else { Cause::Overrun };
        while self.queue.len() as u64 > events || self.queue.len() > 1 && self.queued > bytes {
            self.drop_oldest(cause);
        }
    }

    /// The number of events that may wait here, and of their bytes if it is more than one.
    fn limits(&self) -> (u64, u64) {
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

    fn drop_oldest(&mut self, cause: Cause) -> bool {
        let Some(oldest) = self.queue.pop_front() else { return false };
        self.queued -= cost(oldest.body.length());
        self.lose(oldest.sequence, cause);
        true
    }

    /// Events that the query has let pass were lost.
    fn note_lost(&mut self, first: u64, last: u64) {
        if self.want.is_some() {
            let (from, to) = self.lost.unwrap_or((first, last));
            self.lost = Some((from.min(first), to.max(last)));
        }
    }

    /// A number of an event, and how many from that one on, among which are all that the query has let pass and that were
    /// lost since the last call.
    #[inline]
    pub(crate) fn take_lost(&mut self) -> Option<(u64, u64)> {
        let (first, last) = self.lost.take()?;
        Some((first, last - first + 1))
    }

    /// Declares an event lost that was not sent.
    fn lose(&mut self, sequence: u64, cause: Cause) {
        self.note_lost(sequence, sequence);
        self.ledger.lose(cause, 1);
        self.note(Missing { first: sequence, count: 1, cause: Some(cause) });
    }

    /// Adds a gap that the sink has to be told of. It may be before other pending gaps.
    fn note(&mut self, gap: Missing) {
        let at = self.gaps.partition_point(|other| other.first < gap.first);
        let many = self.gaps.len() >= GAPS;
        if let Some(before) = at.checked_sub(1).and_then(|at| self.gaps.get_mut(at))
            && before.end() == gap.first
            && (before.cause == gap.cause || many)
        {
            let at = at - 1;
            self.join(at, gap);
            return self.join_next(at, many);
        }
        self.gaps.insert(at, gap);
        self.join_next(at, many);
    }

    /// Extends a gap by the one after it. If only one of both is lost, all of it is: the sink is told less often.
    fn join(&mut self, at: usize, gap: Missing) {
        let before = &mut self.gaps[at];
        if let (None, Some(cause)) | (Some(cause), None) = (before.cause, gap.cause) {
            let skipped = if before.cause.is_none() { before.count } else { gap.count };
            self.ledger.lose_skipped(cause, skipped);
            before.cause = Some(cause);
        }
        before.count += gap.count;
    }

    /// Merges a gap with the next one if no event is between them.
    fn join_next(&mut self, at: usize, many: bool) {
        if let (Some(&gap), Some(&next)) = (self.gaps.get(at), self.gaps.get(at + 1))
            && gap.end() == next.first
            && (gap.cause == next.cause || many)
        {
            self.gaps.remove(at + 1);
            self.join(at, next);
        }
    }

    /// The sink does not want this many of the following events.
    pub(crate) fn skip(&mut self, count: u64) {
        self.unwanted = self.unwanted.saturating_add(count);
    }

    /// The sink declines the rest of an event. Has an effect while its parts are sent.
    pub(crate) fn enough(&mut self, sequence: u64, lane: &mut impl Lane<B>) {
        if self.position != sequence + 1 {
            return;
        }
        if let Some((body, _)) = self.long.take() {
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

    /// The sink has taken this many events and bytes. Returns whether that is news.
    pub(crate) fn acknowledge(&mut self, taken: Count) -> Result<bool> {
        let (before, sent) = (self.taken, self.sent);
        let possible =
            (before.events..=sent.events).contains(&taken.events) && (before.bytes..=sent.bytes).contains(&taken.bytes);
        if !possible {
            let error = Error::new(Code::Frame).at("acknowledgement");
            return Err(error.expected(format_args!("from {before:?} to {sent:?}")).found(format_args!("{taken:?}")));
        }
        let is_news = std::mem::replace(&mut self.taken, taken) != taken;
        if is_news {
            self.unanswered = None;
        }
        Ok(is_news)
    }

    /// Its connection broke. A body that was sent in part is lost. Queued events wait.
    pub(crate) fn cut(&mut self) {
        self.live = false;
        self.ready = false;
        self.long = None;
    }

    /// A sink resumes its subscription. It states what it has received, and the sequence number that it expects.
    pub(crate) fn resume(&mut self, from: Resumed) -> Result<()> {
        let Resumed { expected, received, taken, skipped } = from;
        let possible = expected <= self.position
            && skipped <= self.told_skipped
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
        self.forget_told(skipped);
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

    /// The sink knows of this many skipped events. It counts the others that it was told of as lost.
    fn forget_told(&mut self, skipped: u64) {
        self.ledger.lose_skipped(Cause::Cut, self.told_skipped - skipped);
        self.told_skipped = skipped;
    }

    /// The number of kept events from the one on that the sink expects next.
    pub(crate) fn kept(&self) -> u64 {
        self.began.saturating_sub(self.position)
    }

    /// The sequence that the sink expects next.
    pub(crate) fn position(&self) -> u64 {
        self.position
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

    /// Gives up all events in flight.
    pub(crate) fn forget(&mut self, cause: Cause) {
        let sent = self.sent.events - self.taken.events;
        self.ledger.lose(cause, sent);
        self.sent.events = self.taken.events;
        while self.drop_oldest(cause) {}
        self.gaps.clear();
        self.long = None;
    }

    /// Whether the sink knows that the source has left.
    pub(crate) fn has_told_end(&self) -> bool {
        self.ending == Ending::Told
    }
}

/// A queued body, as a draft.
pub(crate) struct Dequeued<B>(pub(crate) B, pub(crate) Option<Box<Origin>>);

impl<B: Body> Draft<B> for Dequeued<B> {
    fn length(&self) -> usize {
        self.0.length()
    }

    fn pieces(&self, each: &mut dyn FnMut(&[u8])) {
        self.0.pieces(0..self.0.length(), each);
    }

    fn contiguous(&self) -> Option<&[u8]> {
        self.0.contiguous()
    }

    fn share(&mut self) -> B {
        self.0.clone()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn origin(&self) -> Option<Origin> {
        self.1.as_deref().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::lane::Over;
    use crate::keys::Key;
    use crate::links::{AHEAD, Outbox};
    use isoform_core::{FieldList, Machine};
    use std::sync::Arc;

    type Shared = Arc<[u8]>;

    fn format() -> Format {
        FieldList::new("Tick").field("n", "integer", 8, 0).format(Machine::NATIVE, 8, 8).unwrap()
    }

    fn sending(policy: Policy, window: u64) -> (Sending<Shared>, Outbox<Shared>) {
        let (asked, spare) = (Granted::asked(policy, false), Count { events: 4, bytes: 1_000 });
        let window = Window { events: window, bytes: 1 << 20 };
        let request = Request { sink: 0, asked, granted: asked, window, longest: 100, spare };
        let sending = Sending::new(SourceKey(0), To::Link(LinkKey::of(0, 0), 0), NodeId::ANY, request, 0, 0);
        (sending, Outbox::new(8, AHEAD))
    }

    fn submit(sending: &mut Sending<Shared>, outbox: &mut Outbox<Shared>, length: usize) {
        let (mut lane, mut body) = (Over { outbox, number: 0, live: sending.live }, Shared::from(vec![0; length]));
        sending.submit(0, &format(), &mut body, false, &mut lane);
        let ledger = sending.ledger();
        assert!(ledger.is_exact(), "{ledger}");
    }

    fn numbers(ledger: Ledger) -> [u64; 4] {
        [ledger.submitted, ledger.acknowledged, ledger.lost(), ledger.in_flight]
    }

    #[test]
    fn what_has_no_window_waits_or_is_lost_by_policy() {
        for (policy, lost) in [(Policy::Latest, 7), (Policy::DropOldest { events: 3, bytes: 1_000 }, 5)] {
            let (mut sending, mut outbox) = sending(policy, 2);
            (0..10).for_each(|_| submit(&mut sending, &mut outbox, 8));
            assert_eq!(numbers(sending.ledger()), [10, 0, lost, 10 - lost], "{policy}");
            assert_eq!(sending.ledger().lost_for(Cause::Overrun), lost);
            assert_eq!(sending.gaps.len(), 1, "neighbours are one gap");
        }
        let (mut sending, mut outbox) = sending(Policy::DropOldest { events: 9, bytes: 50 }, 1);
        (0..10).for_each(|_| submit(&mut sending, &mut outbox, 8));
        assert_eq!(sending.queue.len(), 2, "of 24 bytes each");
    }

    #[test]
    fn what_a_query_let_pass_and_was_lost_is_known_once() {
        let (mut sending, mut outbox) = sending(Policy::Latest, 2);
        (0..4).for_each(|_| submit(&mut sending, &mut outbox, 8));
        assert_eq!((sending.ledger().lost(), sending.take_lost()), (1, None), "it has no query");
        sending.want = Some(WantKey::of(0));
        submit(&mut sending, &mut outbox, 8);
        submit(&mut sending, &mut outbox, 101);
        assert_eq!(sending.take_lost(), Some((3, 3)), "3 for a later one, 5 is too long");
        assert_eq!(sending.take_lost(), None);
        sending.cut();
        let count = |events| Count { events, bytes: 24 * events };
        sending.resume(Resumed { expected: 1, received: count(1), taken: count(1), skipped: 0 }).unwrap();
        assert_eq!(sending.take_lost(), Some((1, 1)));
    }

    #[test]
    fn events_that_are_alike_are_sent_as_one_by_one_as_far_as_the_windows_go() {
        let events = |events| Window { events, bytes: 1 << 20 };
        let bytes = |bytes| Window { events: 100, bytes };
        for (window, taken) in [
            (events(0), 1),
            (events(3), 3),
            (events(9), 5),
            (bytes(0), 1),
            (bytes(24 * 2), 2),
            (bytes(24 * 2 + 1), 3),
            (bytes(1 << 20), 5),
        ] {
            let [(mut alone, mut frames), (mut together, mut alike)] =
                [(); 2].map(|()| sending(Policy::Block, window.events));
            (alone.window, together.window) = (window, window);
            let bodies: Vec<u8> = (0..5 * 8).collect();
            let mut sent = 0;
            for body in bodies.chunks_exact(8) {
                let lane = &mut Over { outbox: &mut frames, number: 0, live: true };
                if alone.is_ready(lane) {
                    alone.submit_ready(7, &format(), &mut Shared::from(body), lane);
                    sent += 1;
                }
            }
            let lane = &mut Over { outbox: &mut alike, number: 0, live: true };
            assert_eq!(together.submit_alike(7, &format(), &bodies, 8, lane), taken, "{window:?}");
            assert_eq!((sent, frames.bytes()), (taken, alike.bytes()), "{window:?}");
            assert_eq!(together.ledger(), alone.ledger());
            assert_eq!(
                (together.next(), together.position(), together.sent),
                (alone.next(), alone.position(), alone.sent)
            );
        }
    }

    #[test]
    fn events_that_are_alike_are_sent_as_long_as_the_output_has_room() {
        let (mut sending, mut outbox) = sending(Policy::Block, 1 << 20);
        let bodies = vec![0; 4 * AHEAD];
        let mut lane = Over { outbox: &mut outbox, number: 0, live: true };
        assert_eq!(sending.submit_alike(0, &format(), &bodies, 101, &mut lane), 0, "it is too long for the sink");
        let taken = sending.submit_alike(0, &format(), &bodies, 64, &mut lane);
        assert!(taken >= 2 * AHEAD / 80 && !lane.is_open(), "{taken}");
        assert_eq!(sending.submit_alike(0, &format(), &bodies, 64, &mut lane), 0);
        lane.live = false;
        assert_eq!(lane.room_for_alike(64), 0);
        assert!(sending.ledger().is_exact());
    }

    #[test]
    fn losses_of_two_causes_in_turn_take_no_memory() {
        let (mut sending, mut outbox) = sending(Policy::DropOldest { events: 1, bytes: 1_000 }, 1);
        (0..10_000).for_each(|i| submit(&mut sending, &mut outbox, [8, 101][i % 2]));
        assert_eq!(numbers(sending.ledger()), [10_000, 0, 9_998, 2]);
        assert!(sending.gaps.len() <= GAPS + 2, "{} gaps", sending.gaps.len());
    }

    #[test]
    fn a_cut_loses_what_did_not_come_and_keeps_what_waits() {
        let (mut sending, mut outbox) = sending(Policy::DropOldest { events: 5, bytes: 1_000 }, 4);
        (0..7).for_each(|_| submit(&mut sending, &mut outbox, 8));
        sending.acknowledge(Count { events: 1, bytes: 24 }).unwrap();
        sending.cut();
        submit(&mut sending, &mut outbox, 8);
        let count = |events| Count { events, bytes: 24 * events };
        let from = |expected, received, taken| Resumed {
            expected,
            received: count(received),
            taken: count(taken),
            skipped: 0,
        };
        assert!(sending.resume(from(5, 5, 1)).is_err(), "more than was sent");
        assert!(sending.resume(from(3, 3, 0)).is_err(), "less than was taken");
        assert!(sending.resume(Resumed { skipped: 1, ..from(3, 3, 2) }).is_err(), "nothing was skipped");
        sending.resume(from(3, 3, 2)).unwrap();
        assert_eq!(numbers(sending.ledger()), [8, 2, 1, 5]);
        assert_eq!(sending.ledger().lost_for(Cause::Cut), 1);
        assert_eq!(sending.position(), 3);
        sending.left(3).unwrap();
        assert_eq!(numbers(sending.ledger()), [8, 3, 5, 0]);
        assert!(sending.left(2).is_err(), "counts only grow");
    }
}
