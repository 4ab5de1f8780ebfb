//! Sinks that lag behind: they have no room, or do not acknowledge what they were sent. The guides say that they do not answer.
//!
//! A source with more than a few such sinks does not touch their subscriptions with each event. It holds the event
//! once for all of them, and submits what it holds to each of them later, all events together: after [`DEAL`], when it holds
//! as much as it may, and before anything else happens to the subscription. So what others do to a subscription, and every
//! account, is as if the events had been submitted at once, and stalled sinks take little of the time of the thread that
//! submits. But if those without credit are many, they lose all but the latest held events.

use super::moment::Moment;
use super::sending::Dequeued;
use super::{Flows, Kept, Source, with_lane};
use crate::Time;
use crate::account::{Count, Ledger};
use crate::keys::{LinkKey, SendingKey, SourceKey};
use crate::links::Links;
use crate::memory::{Body, Storage};

/// How long a source holds events for sinks that lag behind.
const DEAL: Time = Time::from_millis(10);
/// The most held events that are queued for all sinks without credit together, with at least one for each. Sinks that
/// read nothing must not take the time of the thread that submits.
const MOST_QUEUED: usize = 8_192;

impl<B> Source<B> {
    /// Forgets the held events, since every sink has got them.
    fn let_go(&mut self) {
        self.held.clear();
        self.held_bytes = 0;
    }
}

impl<B: Body, S: Storage> Flows<B, S> {
    /// Takes the sinks that lag behind at the time of an event out of `prompt`, unless they are few.
    pub(super) fn set_apart(&mut self, links: &Links<B>, moment: &mut Moment<impl FnMut() -> u64>, key: SourceKey) {
        let (source, sendings) = (&mut self.sources[key], &mut self.sendings);
        let (few, most) = (links.settings.few, links.settings.held);
        if source.sendings.len() <= few {
            return;
        }
        let mut behind = source.behind(source.prompt.len());
        for &at in &source.prompt {
            let sending = &mut sendings[at];
            sending.is_behind = sending.want.is_none() && sending.lags(moment.time(), most);
            behind += usize::from(sending.is_behind);
        }
        if behind > few {
            source.prompt.retain(|&at| !sendings[at].is_behind);
        } else {
            source.prompt.iter().for_each(|&at| sendings[at].is_behind = false);
        }
    }

    /// Holds an event for the sinks that lag behind.
    pub(super) fn hold(&mut self, key: SourceKey, event: Kept<B>) {
        let source = &mut self.sources[key];
        source.held_bytes += event.body.length() as u64;
        source.held.push_back(event);
        self.deals.0 = true;
    }

    /// Whether a source holds at least this part of what it may hold.
    pub(super) fn holds(&self, key: SourceKey, most: Count, part: u64) -> bool {
        let source = &self.sources[key];
        part * source.held.len() as u64 >= most.events || part * source.held_bytes >= most.bytes
    }

    /// Submits the held events to all sinks that lag behind, or only to those to whom events may be sent now.
    pub(super) fn deal(&mut self, links: &mut Links<B>, key: SourceKey, to_all: bool) {
        let (source, most) = (&self.sources[key], links.settings.held);
        let behind = |at: &SendingKey| self.sendings[*at].is_behind;
        let (due, others): (Vec<_>, Vec<_>) =
            source.sendings.iter().copied().filter(behind).partition(|&at| to_all || self.sendings[at].may_get_more());
        let latest = (MOST_QUEUED / due.len().max(1)).max(1);
        for at in due {
            self.overrun(key, at, latest);
            self.deal_to(links, key, at);
            if !self.sendings[at].may_lag(most) {
                self.make_prompt(at);
            }
        }
        if others.iter().all(|&at| self.missed(at) == 0) {
            self.sources[key].let_go();
        }
    }

    /// If nothing can be sent to a subscription now, drops its queue and all held events but the latest ones.
    fn overrun(&mut self, key: SourceKey, at: SendingKey, latest: usize) {
        let (missed, sending) = (self.missed(at), &mut self.sendings[at]);
        if missed <= latest || !sending.may_overrun() {
            return;
        }
        let held = &self.sources[key].held;
        let older = held.range(held.len() - missed..held.len() - latest);
        sending.overrun(older.map(|event| (event.demand, event.body.length())));
    }

    /// Submits the held events to one of these sinks.
    fn deal_to(&mut self, links: &mut Links<B>, key: SourceKey, at: SendingKey) {
        let missed = self.missed(at);
        if missed == 0 {
            return;
        }
        let held = std::mem::take(&mut self.sources[key].held);
        for Kept { time, format, body, origin, demand } in held.range(held.len() - missed..) {
            if !self.sendings[at].is_of(*demand) {
                self.filter(links, at);
                continue;
            }
            let mut draft = Dequeued(body.clone(), origin.clone());
            with_lane!(self, links, at, |sending, lane| sending.submit(*time, format, &mut draft, true, lane));
        }
        self.sources[key].held = held;
        self.follow(links, at);
    }

    /// The number of submitted events that a subscription has not got yet: the last ones that its source holds, or keeps.
    pub(super) fn missed(&self, at: SendingKey) -> usize {
        let sending = &self.sendings[at];
        let misses = sending.is_behind || sending.begins.is_some() && !sending.is_revoked();
        let source = self.sources.get(sending.source).filter(|_| misses);
        source.map_or(0, |source| (source.next - sending.next()) as usize)
    }

    /// Whether a subscription has got everything that was submitted to it.
    pub(super) fn has_all(&self, at: SendingKey) -> bool {
        self.missed(at) == 0 && self.owes(at).events == 0
    }

    /// The account of a subscription, as it is once it has got the events that are held for it. Kept ones that it has yet to get
    /// are in flight.
    pub(super) fn ledger_of(&self, at: SendingKey) -> Ledger {
        let (sending, missed) = (&self.sendings[at], self.missed(at));
        let Some(source) = self.sources.get(sending.source).filter(|_| missed > 0) else {
            return self.with_uncounted(at);
        };
        if sending.begins.is_some() {
            let (mut ledger, more) = (sending.ledger(), missed as u64);
            ledger.submitted += more;
            return ledger.at(ledger.acknowledged, ledger.in_flight + more);
        }
        let held = source.held.range(source.held.len() - missed..);
        sending.ledger_after(held.map(|event| sending.is_of(event.demand).then(|| event.body.length())))
    }

    /// Makes sure that a subscription has got every event. From now on it gets each at once.
    pub(super) fn catch_up(&mut self, links: &mut Links<B>, at: SendingKey) {
        if self.sendings.get(at).is_some_and(|sending| sending.is_behind) {
            self.deal_to(links, self.sendings[at].source, at);
            self.make_prompt(at);
        }
        self.rouse(links, at);
    }

    /// The same for all subscriptions of a source.
    pub(super) fn catch_up_all(&mut self, links: &mut Links<B>, key: SourceKey) {
        let all = self.sources.get(key).map_or(Vec::new(), |source| source.sendings.clone());
        all.into_iter().for_each(|at| self.catch_up(links, at));
    }

    /// The same for all subscriptions of a link.
    pub(super) fn catch_up_link(&mut self, links: &mut Links<B>, link: LinkKey) {
        let all: Vec<_> = self.traffic.get(link).into_iter().flat_map(|traffic| traffic.sendings.keys()).collect();
        all.into_iter().for_each(|at| self.catch_up(links, at));
    }

    /// A sink is about to acknowledge events. What is held for it comes first.
    pub(super) fn hear(&mut self, links: &mut Links<B>, at: SendingKey) {
        if self.sendings[at].is_behind {
            self.deal_to(links, self.sendings[at].source, at);
        }
        // For what it is owed, it must not matter when that is submitted.
        let (owed, sending) = (self.owes(at), &self.sendings[at]);
        if owed.events > 0 && (sending.is_slow() || !sending.has_window_for(owed)) {
            self.deal_to_quiet(links, at);
        }
    }

    /// A sink has acknowledged events. If nothing waits for it any more, it gets each event at once again.
    pub(super) fn heard(&mut self, links: &mut Links<B>, at: SendingKey) {
        if self.sendings.get(at).is_some_and(|sending| sending.is_behind && !sending.has_queue()) {
            self.make_prompt(at);
        }
        // Its source may wait for it again.
        if self.sendings.get(at).is_some_and(|sending| sending.is_quiet && !sending.may_get_later(links.settings.held))
        {
            self.rouse(links, at);
        }
    }

    fn make_prompt(&mut self, at: SendingKey) {
        let sending = &mut self.sendings[at];
        sending.is_behind = false;
        let Some(source) = self.sources.get_mut(sending.source) else { return };
        source.prompt.push(at);
        if source.behind(source.prompt.len()) == 0 {
            source.let_go();
        }
    }

    /// Submits what sources hold, once it is time. What is held for sinks without room may wait until they have some, or until
    /// it is half of what may be held.
    pub(super) fn deal_in_time(&mut self, now: Time, links: &mut Links<B>) {
        match self.deals {
            (true, None) => self.deals.1 = Some(now + DEAL),
            (true, Some(due)) if due <= now => {
                self.deals = (false, None);
                let holding = self.sources.iter().filter(|(_, source)| !source.held.is_empty()).map(|(key, _)| key);
                for key in holding.collect::<Vec<_>>() {
                    let is_much = self.holds(key, links.settings.held, 2);
                    self.deal(links, key, is_much);
                }
            }
            _ => {}
        }
    }
}
