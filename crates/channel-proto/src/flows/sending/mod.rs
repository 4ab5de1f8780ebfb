//! A subscription at its source: the events that were submitted, may be sent, and wait, and their account.
//!
//! - `credit`: what may be sent, and what may wait.
//! - `missing`: the events that do not come.
//! - `ends`: what the sink says, and how the subscription changes and ends.

mod credit;
mod ends;
mod missing;
mod waste;

use crate::Time;
use crate::account::{Cause, Count, Ledger, Window};
use crate::flows::demands::Steered;
use crate::flows::inbox::cost;
use crate::flows::lane::Lane;
use crate::flows::projections::ProjectionKey;
use crate::flows::wants::{WantKey, Wants};
use crate::frame::PAYLOAD;
use crate::grant::Granted;
use crate::keys::{DemandKey, LinkKey, NodeId, ReceivingKey, SourceKey};
use crate::links::{Carried, Which};
use crate::memory::{Body, Draft};
use crate::origin::Origin;
use isoform_core::Format;
pub(in crate::flows) use missing::GAPS;
use std::collections::VecDeque;
pub(in crate::flows) use waste::Waste;

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
    /// Whether it is quiet: its query lets no event from `next` on pass, and nobody has counted them here.
    pub(in crate::flows) is_quiet: bool,
    /// While it has kept events to get: what its query, if it has one, makes of these.
    pub(in crate::flows) begins: Option<Box<Wants<B>>>,
    /// The time of the first event, of those in flight, that was submitted since the sink last took something.
    unanswered: Option<u64>,
    ledger: Ledger,
    /// The sequence number of the next submitted event.
    next: u64,
    /// That of the first event: so many were submitted before.
    pub(crate) first: u64,
    /// The sequence number that the sink expects after everything that was sent.
    position: u64,
    sent: Count,
    taken: Count,
    queue: VecDeque<Queued<B>>,
    queued: u64,
    /// What waited in the queue when all events in flight were given up.
    pub(in crate::flows) waste: VecDeque<Queued<B>>,
    /// The part of the queue's memory that the sink's node is charged for.
    pub(crate) charged: u64,
    /// Events before this one were kept for the sink. They were submitted before it subscribed.
    began: u64,
    /// The number of following events that the sink does not want.
    unwanted: u64,
    /// The number of events of which the sink was told that they are skipped.
    told_skipped: u64,
    /// The number of events of which the sink was told that they are superseded.
    told_superseded: u64,
    /// The number after the last event of which the sink was told that it was longer than it takes.
    told_large: u64,
    /// Lost, superseded and skipped events that the sink does not know of yet, by ascending sequence number.
    gaps: VecDeque<Missing>,
    /// A long body of which parts were sent, how many of its bytes, and what counts it.
    long: Option<(B, usize, Carried)>,
    /// Whether its next event is a long one, for which its principal has no room.
    pub(in crate::flows) parked: bool,
    /// The last body longer than the window: the number of events sent before it, and its length.
    beyond: Option<(u64, u64)>,
    ending: Ending,
    /// Its part in the demands of the source, if that has parameters.
    pub(in crate::flows) steered: Option<Box<Steered>>,
    /// Its query at the source.
    pub(in crate::flows) want: Option<WantKey>,
    /// The fields that its sink looks at, if the source may leave out the others.
    pub(in crate::flows) projection: Option<ProjectionKey>,
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

pub(in crate::flows) struct Queued<B> {
    sequence: u64,
    time: u64,
    format: Format,
    body: B,
    origin: Option<Box<Origin>>,
}

/// Events that the sink does not receive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::flows) struct Missing {
    pub(in crate::flows) first: u64,
    pub(in crate::flows) count: u64,
    /// Why they do not come; `None` if the sink does not want them.
    pub(in crate::flows) cause: Option<Cause>,
}

impl Missing {
    pub(in crate::flows) fn end(&self) -> u64 {
        self.first + self.count
    }

    /// How grave it is that they do not come: 0 if they are skipped, 1 if superseded, 2 if lost.
    fn gravity(&self) -> u8 {
        self.cause.map_or(0, |cause| 1 + u8::from(cause.is_loss()))
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
            begins: None,
            unanswered: None,
            ledger: Ledger::default(),
            next,
            first: next,
            position: next,
            sent: Count::default(),
            taken: Count::default(),
            queue: VecDeque::new(),
            queued: 0,
            waste: VecDeque::new(),
            began,
            unwanted: 0,
            told_skipped: 0,
            told_superseded: 0,
            told_large: u64::MAX,
            charged: 0,
            gaps: VecDeque::new(),
            long: None,
            parked: false,
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
    pub(in crate::flows) fn is_of(&self, demand: Option<DemandKey>) -> bool {
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

    /// Sends the next event, for which the subscription [is ready](Sending::is_ready).
    #[inline(always)]
    pub(crate) fn submit_ready(
        &mut self,
        time: u64,
        format: &Format,
        draft: &mut impl Draft<B>,
        lane: &mut impl Lane<B>,
    ) {
        if draft.length() as u64 > self.longest || !lane.takes_whole(draft.length()) {
            return self.submit(time, format, draft, false, lane);
        }
        debug_assert_eq!(self.position, self.next);
        self.next += 1;
        self.ledger.submitted += 1;
        self.send(time, format, draft, Carried::default(), false, lane);
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

    /// The account after further events of these lengths are submitted; those that are for others have none.
    pub(crate) fn ledger_after(&self, lengths: impl Iterator<Item = Option<usize>>) -> Ledger {
        let (mut ledger, mut in_flight) = (self.ledger, self.sent.events - self.taken.events);
        let (mut bytes, mut waiting) = (self.sent.bytes - self.taken.bytes, Vec::new());
        for length in lengths {
            let Some(length) = length else {
                ledger.miss(None, 1);
                continue;
            };
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
        ledger.lose(self.overflow(), (waiting.len() + self.queue.len()) as u64 - kept);
        ledger.at(self.taken.events, in_flight + kept)
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
        let may_send = self.unwanted == 0 && draft.length() as u64 <= self.longest && self.may_send(lane);
        match may_send.then(|| lane.admit(self.which(sequence), draft.length())).flatten() {
            Some(carried) => {
                self.tell_gaps(sequence, lane);
                debug_assert_eq!(self.position, sequence);
                self.send(time, format, draft, carried, many, lane);
            }
            None => self.hold(sequence, time, format, draft),
        }
    }

    /// Which body it sends of an event: its query or the fields that it states may have made another one of it.
    fn which(&self, sequence: u64) -> Which {
        let number = |number: Option<u64>| number.map_or(0, |number| number + 1);
        let (want, projection) = (self.want.map(WantKey::number), self.projection.map(ProjectionKey::number));
        [self.source.0.into(), sequence, number(want), number(projection)]
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
        time: u64,
        format: &Format,
        draft: &mut impl Draft<B>,
        carried: Carried,
        many: bool,
        lane: &mut impl Lane<B>,
    ) {
        self.position += 1;
        self.sent.events += 1;
        self.sent.bytes += cost(draft.length());
        debug_assert!(self.long.is_none());
        match lane.takes_whole(draft.length()) {
            true => lane.event(time, format, draft, many),
            false => {
                lane.begin(time, format, draft);
                self.long = Some((draft.share(), 0, carried));
            }
        }
    }

    /// Sends what may be sent, up to about a fragment. Returns whether there is more.
    pub(crate) fn pump(&mut self, lane: &mut impl Lane<B>) -> bool {
        self.parked = false;
        let mut budget = PAYLOAD as u64;
        while lane.is_open() {
            if let Some((body, sent, carried)) = &mut self.long {
                *sent = lane.part(body, carried, *sent);
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
            let Some(carried) = lane.admit(self.which(sequence), front.body.length()) else {
                self.parked = true;
                return false;
            };
            self.tell_gaps(sequence, lane);
            let Some(Queued { time, format, body, origin, .. }) = self.queue.pop_front() else { break };
            let cost = cost(body.length());
            self.queued -= cost;
            budget = budget.saturating_sub(cost);
            self.send(time, &format, &mut Dequeued(body, origin), carried, false, lane);
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

    /// Whether a body was begun whose parts are to be sent.
    #[inline]
    pub(crate) fn has_parts(&self) -> bool {
        self.long.is_some()
    }

    /// Whether there is something to send.
    pub(crate) fn has_more(&self) -> bool {
        self.long.is_some() || !self.queue.is_empty() || self.has_news() || self.ending == Ending::Soon
    }

    /// Whether the sink has been sent, or told of, everything that was submitted, and nothing is charged for a queue.
    #[inline(always)]
    pub(crate) fn is_done(&self) -> bool {
        !self.has_more() && self.gaps.is_empty() && self.charged == 0
    }

    /// The number of kept events from the one on that the sink expects next.
    pub(crate) fn kept(&self) -> u64 {
        self.began.saturating_sub(self.position)
    }

    /// The sequence that the sink expects next.
    pub(crate) fn position(&self) -> u64 {
        self.position
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
    use super::missing::GAPS;
    use super::*;
    use crate::account::Policy;
    use crate::control::Resumed;
    use crate::flows::lane::Over;
    use crate::keys::Key;
    use crate::links::{AHEAD, Outbox};
    use crate::links::{Transit, Way};
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
        (sending, Outbox::new(8, AHEAD, Way::new(Transit::new(u64::MAX))))
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
        let drop_oldest = Policy::DropOldest { events: 3, bytes: 1_000 };
        for (policy, superseded, lost) in [(Policy::Latest, 7, 0), (drop_oldest, 0, 5)] {
            let (mut sending, mut outbox) = sending(policy, 2);
            (0..10).for_each(|_| submit(&mut sending, &mut outbox, 8));
            assert_eq!(numbers(sending.ledger()), [10, 0, lost, 10 - lost - superseded], "{policy}");
            assert_eq!((sending.ledger().superseded, sending.ledger().lost_for(Cause::Overrun)), (superseded, lost));
            assert_eq!(sending.gaps.len(), 1, "neighbours are one gap");
        }
        let (mut sending, mut outbox) = sending(Policy::DropOldest { events: 9, bytes: 50 }, 1);
        (0..10).for_each(|_| submit(&mut sending, &mut outbox, 8));
        assert_eq!(sending.queue.len(), 2, "of 24 bytes each");
    }

    #[test]
    fn only_what_the_query_did_not_look_at_is_thinned() {
        let (mut sending, _) = sending(Policy::Block, 1);
        sending.want = Some(WantKey::of(0));
        for _ in 0..200 {
            sending.thin();
            sending.filter();
        }
        let ledger = sending.ledger();
        let [thinned, overrun] = [Cause::Thinned, Cause::Overrun].map(|cause| ledger.lost_for(cause));
        assert!(ledger.is_exact() && sending.gaps.len() <= GAPS + 2, "{ledger}");
        assert!((1..200).contains(&thinned) && overrun > 0, "{ledger}");
        assert_eq!(thinned + overrun + ledger.skipped, 400);
    }

    #[test]
    fn a_run_of_events_that_are_too_long_waits_but_for_the_first() {
        let (mut sending, mut outbox) = sending(Policy::Block, 4);
        for _ in 0..2 {
            submit(&mut sending, &mut outbox, 101);
            assert!(sending.has_more(), "the sink is told of the first one at once");
            sending.pump(&mut Over { outbox: &mut outbox, number: 0, live: true });
            for _ in 0..5 {
                submit(&mut sending, &mut outbox, 101);
                assert!(!sending.has_more() && sending.has_gaps());
            }
            sending.tell_skips();
            assert!(sending.has_more(), "its time has come");
            sending.pump(&mut Over { outbox: &mut outbox, number: 0, live: true });
            assert!(!sending.has_gaps() && sending.is_done());
            submit(&mut sending, &mut outbox, 101);
            assert!(!sending.has_more(), "the run goes on");
            submit(&mut sending, &mut outbox, 8);
            assert!(sending.is_done(), "it comes with an event");
        }
        assert_eq!(numbers(sending.ledger()), [16, 0, 14, 2]);
    }

    #[test]
    fn what_waited_for_a_sink_that_is_gone_is_let_go_of_in_turns() {
        const MANY: u64 = 10_000;
        let mut waste = Waste::default();
        for (many, few) in [(0, true), (16, true), (MANY, false)] {
            let (mut sending, mut outbox) = sending(Policy::DropOldest { events: MANY, bytes: u64::MAX }, 0);
            (0..many).for_each(|_| submit(&mut sending, &mut outbox, 8));
            sending.forget(Cause::Unknown);
            assert_eq!(numbers(sending.ledger()), [many, 0, many, 0]);
            assert_eq!(
                (waste.take(std::mem::take(&mut sending.waste)), waste.due()),
                match few {
                    true => (false, None),
                    false => (true, Some(Time::ZERO)),
                }
            );
        }
        let mut turns = 0;
        while let Some(due) = waste.due() {
            waste.let_go(due);
            turns += 1;
        }
        assert_eq!(turns, 3, "of 4,096 each");
    }

    #[test]
    fn a_sink_is_told_of_as_many_events_for_each_cause_as_are_counted() {
        let policies = [Policy::Latest, Policy::DropOldest { events: 3, bytes: 1_000 }, Policy::Block];
        for seed in 0..60 {
            let (mut sending, mut outbox) = sending(policies[seed % 3], 1);
            sending.want = Some(WantKey::of(0));
            // It takes nothing from here on, and is told nothing.
            submit(&mut sending, &mut outbox, 8);
            let mut random = seed as u64;
            for _ in 0..1_000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                match (random >> 33) % 5 {
                    0 => sending.thin(),
                    1 => sending.filter(),
                    2 => submit(&mut sending, &mut outbox, 101),
                    _ => submit(&mut sending, &mut outbox, 8),
                }
                let told =
                    |cause| sending.gaps.iter().filter(|gap| gap.cause == cause).map(|gap| gap.count).sum::<u64>();
                let ledger = sending.ledger();
                let lost = Cause::ALL.map(|cause| ledger.lost_for(cause));
                assert_eq!((told(None), told(Some(Cause::Superseded))), (ledger.skipped, ledger.superseded));
                assert_eq!(Cause::ALL.map(|cause| if cause.is_loss() { told(Some(cause)) } else { 0 }), lost);
            }
        }
    }

    #[test]
    fn what_a_query_let_pass_and_was_lost_is_known_once() {
        let (mut sending, mut outbox) = sending(Policy::Latest, 2);
        (0..4).for_each(|_| submit(&mut sending, &mut outbox, 8));
        assert_eq!((sending.ledger().superseded, sending.take_lost()), (1, None), "it has no query");
        sending.want = Some(WantKey::of(0));
        submit(&mut sending, &mut outbox, 8);
        submit(&mut sending, &mut outbox, 101);
        assert_eq!(sending.take_lost(), Some((3, 3)), "3 for a later one, 5 is too long");
        assert_eq!(sending.take_lost(), None);
        sending.cut();
        let count = |events| Count { events, bytes: 24 * events };
        sending.resume(Resumed { expected: 1, received: count(1), taken: count(1), ..Resumed::default() }).unwrap();
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
    fn superseded_events_are_not_lost_unless_their_gap_is() {
        let count = |events| Count { events, bytes: 24 * events };
        let (mut sending, mut outbox) = sending(Policy::Latest, 2);
        (0..6).for_each(|_| submit(&mut sending, &mut outbox, 8));
        sending.acknowledge(count(1)).unwrap();
        sending.pump(&mut Over { outbox: &mut outbox, number: 0, live: true });
        assert_eq!((numbers(sending.ledger()), sending.ledger().superseded), ([6, 1, 0, 2], 3));
        // Events wait for a new connection, and are superseded all the same. Of what was sent, the sink has got two events.
        sending.cut();
        (0..3).for_each(|_| submit(&mut sending, &mut outbox, 8));
        assert_eq!((numbers(sending.ledger()), sending.ledger().superseded), ([9, 1, 0, 3], 5));
        let from = Resumed { expected: 2, received: count(2), taken: count(1), ..Resumed::default() };
        sending.resume(from).unwrap();
        assert_eq!((numbers(sending.ledger()), sending.ledger().superseded), ([9, 1, 4, 2], 2));
        assert_eq!(sending.ledger().lost_for(Cause::Cut), 4, "event 5, and the gap in front of it");
        let gaps: Vec<_> = sending.gaps.iter().map(|gap| (gap.first, gap.count, gap.cause)).collect();
        assert_eq!(gaps, [(2, 4, Some(Cause::Cut)), (6, 2, Some(Cause::Superseded))]);
    }

    #[test]
    fn a_sink_that_changes_to_latest_only_wants_no_older_event() {
        let (mut sending, mut outbox) = sending(Policy::DropOldest { events: 3, bytes: 1_000 }, 2);
        (0..6).for_each(|_| submit(&mut sending, &mut outbox, 8));
        sending.set_grant(Granted::asked(Policy::Latest, false));
        assert_eq!((numbers(sending.ledger()), sending.ledger().superseded), ([6, 0, 1, 3], 2));
        // A source that may not wait drops events of its own accord: those are lost.
        sending.set_grant(Granted::asked(Policy::Block, false));
        sending.give_up(Time::ZERO);
        (0..5).for_each(|_| submit(&mut sending, &mut outbox, 8));
        assert_eq!((numbers(sending.ledger()), sending.ledger().superseded), ([11, 0, 3, 6], 2));
    }

    #[test]
    fn many_gaps_are_joined_and_what_is_lost_stays_lost() {
        let (mut sending, mut outbox) = sending(Policy::Latest, 1);
        (0..1_000).for_each(|i| submit(&mut sending, &mut outbox, [8, 8, 101][i % 3]));
        let told = |cause: fn(Option<Cause>) -> bool, sending: &Sending<Shared>| -> u64 {
            sending.gaps.iter().filter(|gap| cause(gap.cause)).map(|gap| gap.count).sum()
        };
        assert!(sending.gaps.len() <= GAPS + 2, "{} gaps", sending.gaps.len());
        let ledger = sending.ledger();
        assert!(ledger.superseded > 0 && ledger.lost_for(Cause::TooLarge) > 333, "{ledger}");
        assert_eq!(told(|cause| cause == Some(Cause::Superseded), &sending), ledger.superseded);
        assert_eq!(told(|cause| cause.is_some_and(Cause::is_loss), &sending), ledger.lost());
    }

    #[test]
    fn more_bytes_of_no_further_event_are_no_news() {
        let (mut sending, mut outbox) = sending(Policy::DropOldest { events: 5, bytes: 1_000 }, 4);
        (0..3).for_each(|_| submit(&mut sending, &mut outbox, 8));
        let mut is_news = |events, bytes| sending.acknowledge(Count { events, bytes }).unwrap();
        assert!(is_news(1, 24));
        assert!(!is_news(1, 24) && !is_news(1, 25) && !is_news(1, 72));
        assert!(is_news(3, 72));
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
            superseded: 0,
        };
        assert!(sending.resume(from(5, 5, 1)).is_err(), "more than was sent");
        assert!(sending.resume(from(3, 3, 0)).is_err(), "less than was taken");
        assert!(sending.resume(Resumed { skipped: 1, ..from(3, 3, 2) }).is_err(), "nothing was skipped");
        assert!(sending.resume(Resumed { superseded: 1, ..from(3, 3, 2) }).is_err(), "nothing was superseded");
        sending.resume(from(3, 3, 2)).unwrap();
        assert_eq!(numbers(sending.ledger()), [8, 2, 1, 5]);
        assert_eq!(sending.ledger().lost_for(Cause::Cut), 1);
        assert_eq!(sending.position(), 3);
        sending.left(3).unwrap();
        assert_eq!(numbers(sending.ledger()), [8, 3, 5, 0]);
        assert!(sending.left(2).is_err(), "counts only grow");
    }
}
