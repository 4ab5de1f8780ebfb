//! Subscriptions that begin with kept events (`spec/channel.md`, "Subscriptions").
//!
//! A source may keep many events. If a new subscription got all of them at once, all other threads would wait meanwhile. So it
//! gets them in slices: the first one with its Subscribe, the others with [`tick`](Flows::tick). Events that are submitted meanwhile are
//! kept behind them, and the subscription gets them as further kept ones. With each of them it gets two that are before: so it
//! has them before the source drops them, and comes to the end, however fast the source submits.

use super::Flows;
use super::sending::Sending;
use super::wants::Wants;
use crate::Time;
use crate::account::Cause;
use crate::keys::{DemandKey, SendingKey, SourceKey};
use crate::links::Links;
use crate::memory::{Body, Storage};
use std::collections::VecDeque;

/// The pause between two ticks.
const PAUSE: Time = Time::from_millis(1);
/// What it takes to look at a subscription, and at a kept event, besides its query.
const SUBSCRIPTION: u64 = 300;
const EVENT: u64 = 100;
/// How many kept events a subscription gets with each event that is submitted.
const WITH_EACH: usize = 2;

/// The subscriptions that have kept events to get, in the order of their turns.
#[derive(Default)]
pub(super) struct Beginnings {
    turns: VecDeque<SendingKey>,
    /// When the next turns come.
    next: Time,
    /// The time that was taken since the last ones, in nanoseconds.
    took: u64,
}

impl Beginnings {
    /// When there is something to do.
    pub(super) fn due(&self) -> Option<Time> {
        (!self.turns.is_empty()).then_some(self.next)
    }
}

/// How many events a subscription gets, and for how many nanoseconds.
struct Most {
    events: usize,
    time: u64,
}

impl<B: Body, S: Storage> Flows<B, S> {
    /// Begins a subscription, which gets its kept events first.
    pub(super) fn begin(&mut self, links: &mut Links<B>, at: SendingKey) {
        let sending = &mut self.sendings[at];
        if sending.kept() == 0 {
            return self.pump(links, at);
        }
        let source = &mut self.sources[sending.source];
        // What a query counts begins anew for them: other sinks with the same query may be ahead.
        let wants = sending.want.map_or(Wants::default(), |want| source.wants.anew(want));
        sending.begins = Some(wants.into());
        source.prompt.retain(|&other| other != at);
        source.beginning.push(at);
        self.take_turn(links, at);
    }

    /// Whether a subscription has kept events to get.
    pub(super) fn is_beginning(&self, at: SendingKey) -> bool {
        self.sendings.get(at).is_some_and(|sending| sending.begins.is_some())
    }

    /// Gives kept events to subscriptions whose turn it is.
    pub(super) fn begin_in_time(&mut self, now: Time, links: &mut Links<B>) {
        if self.beginnings.next > now {
            return;
        }
        (self.beginnings.next, self.beginnings.took) = (now + PAUSE, 0);
        for _ in 0..self.beginnings.turns.len() {
            if self.beginnings.took >= links.settings.slice.as_nanos() as u64 {
                break;
            }
            if let Some(at) = self.beginnings.turns.pop_front().filter(|&at| self.is_beginning(at)) {
                self.take_turn(links, at);
            }
        }
    }

    /// Gives kept events to a subscription as long as the current slice lasts.
    fn take_turn(&mut self, links: &mut Links<B>, at: SendingKey) {
        let left = (links.settings.slice.as_nanos() as u64).saturating_sub(self.beginnings.took);
        self.beginnings.took = self.beginnings.took.saturating_add(self.go_on(links, at, left));
        if self.is_beginning(at) {
            self.beginnings.turns.push_back(at);
        }
    }

    /// Gives kept events to a subscription for so many nanoseconds. Once it has all, it gets each event at once. Returns
    /// what that took.
    fn go_on(&mut self, links: &mut Links<B>, at: SendingKey, time: u64) -> u64 {
        let key = self.sendings[at].source;
        let next = self.sources[key].next;
        let took = self.give_kept(links, at, next, Most { events: usize::MAX, time });
        let sending = &self.sendings[at];
        if sending.next() == next || sending.is_revoked() {
            self.has_begun(at);
            if self.sources[key].left {
                self.sendings[at].end();
            }
            self.make_room(links, key);
        }
        self.pump(links, at);
        took
    }

    /// An event of this number is being submitted.
    pub(super) fn give_kept_before(&mut self, links: &mut Links<B>, key: SourceKey, next: u64) {
        for place in 0..self.sources[key].beginning.len() {
            let at = self.sources[key].beginning[place];
            self.give_kept(links, at, next, Most { events: WITH_EACH, time: u64::MAX });
        }
    }

    /// Gives the next kept events to a subscription, at most those before `next`, the number of the source's next event. Returns
    /// what that took.
    fn give_kept(&mut self, links: &mut Links<B>, at: SendingKey, next: u64, most: Most) -> u64 {
        let sending = &mut self.sendings[at];
        let (key, want, missed) = (sending.source, sending.want, (next - sending.next()) as usize);
        if sending.is_revoked() {
            return 0;
        }
        let Some(mut wants) = sending.begins.take() else { return 0 };
        let source = &mut self.sources[key];
        want.into_iter().for_each(|want| source.wants.lend(want, &mut wants));
        let (kept, mut took) = (std::mem::take(&mut source.kept), 0u64);
        for event in kept.range(kept.len() - missed..).take(most.events) {
            if took >= most.time || self.sendings[at].is_revoked() {
                break;
            }
            self.submit_kept(links, at, event, &mut wants);
            took = took.saturating_add(EVENT).saturating_add(wants.take_spent());
        }
        let source = &mut self.sources[key];
        source.kept = kept;
        if want.is_some() {
            source.wants.take_back(&mut wants);
        }
        self.sendings[at].begins = Some(wants);
        self.follow(links, at);
        took.saturating_add(SUBSCRIPTION)
    }

    /// Whether a source waits until a subscription has got its kept events, before it submits an event for this demand.
    pub(super) fn is_waited_for_kept(&self, key: SourceKey, demand: Option<DemandKey>) -> bool {
        let is_it = |sending: &Sending<B>| sending.is_of(demand) && sending.is_waited_for_kept();
        self.sources[key].beginning.iter().any(|&at| is_it(&self.sendings[at]))
    }

    /// A subscription gets no further kept events. It gets each event at once from now on.
    fn has_begun(&mut self, at: SendingKey) {
        let sending = &mut self.sendings[at];
        let Some(wants) = sending.begins.take() else { return };
        let Some(source) = self.sources.get_mut(sending.source) else { return };
        source.beginning.retain(|&other| other != at);
        source.prompt.push(at);
        if let Some(want) = sending.want {
            source.wants.was_anew(want, *wants);
        }
    }

    /// A subscription ends. The events that it has yet to get are lost.
    pub(super) fn stop_beginning(&mut self, at: SendingKey, cause: Cause) {
        if self.is_beginning(at) {
            let missed = self.missed(at) as u64;
            self.sendings[at].miss(cause, missed);
            self.has_begun(at);
        }
    }
}
