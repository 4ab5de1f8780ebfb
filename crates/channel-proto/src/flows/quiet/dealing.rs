//! Events that queries have let pass, and that quiet subscriptions get later: a few subscriptions at a time, from the thread that
//! looks after the node. So nobody who submits waits until thousands of sinks have got an event.
//!
//! Like those that are held for sinks that [lag behind](crate::flows::lagging), they are submitted before anything else happens to the
//! subscription, so every account is as if they had been submitted at once. A subscription whose source would have to wait for its
//! sink with one of them gets none later.

use super::Due;
use crate::Time;
use crate::account::Count;
use crate::action::Action;
use crate::flows::receiving::Receiving;
use crate::flows::sending::{Dequeued, Sending};
use crate::flows::wants::WantKey;
use crate::flows::{Flows, Kept, Sink, with_lane};
use crate::keys::{ReceivingKey, SendingKey, SinkKey, SourceKey};
use crate::links::Links;
use crate::memory::{Body, Storage};
use crate::numbered::{Numbered, Slots};
use std::collections::VecDeque;

/// The pause after a few subscriptions have got what they are owed: 2,000 of them within an eighth of a second.
const PAUSE: Time = Time::from_millis(4);
/// So many events are submitted meanwhile, to one subscription or to several, unless one alone is owed more.
const EVENTS: usize = 256;

/// The events that a query has let pass and that not all of its subscriptions have got, in order, with their numbers.
pub(in crate::flows) struct Owed<B> {
    events: VecDeque<(u64, Kept<B>)>,
    /// The bytes of their bodies.
    bytes: u64,
    /// The most that there may be, and the most if sources may have to wait for some of those that get it.
    most: [Count; 2],
    /// The subscriptions whose turn is still to come in this round. The others have got everything before this number.
    turns: Vec<SendingKey>,
    until: u64,
    /// Whether it is in the list of those that are dealt.
    is_listed: bool,
}

impl<B> Default for Owed<B> {
    fn default() -> Self {
        Owed {
            events: VecDeque::new(),
            bytes: 0,
            most: [Count::default(); 2],
            turns: Vec::new(),
            until: 0,
            is_listed: false,
        }
    }
}

impl<B> Owed<B> {
    pub(in crate::flows) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Whether there would be too much with another event of this length. One event may have any length.
    pub(super) fn lacks_room(&self, length: usize, is_little: bool) -> bool {
        let most = self.most[usize::from(is_little)];
        let is_within = (self.events.len() as u64) < most.events && self.bytes + length as u64 <= most.bytes;
        !self.is_empty() && !is_within
    }

    /// The number of the latest.
    pub(super) fn last(&self) -> Option<u64> {
        self.events.back().map(|(sequence, _)| *sequence)
    }

    /// Those from a number on.
    pub(in crate::flows) fn since(&self, next: u64) -> impl Iterator<Item = &(u64, Kept<B>)> {
        self.events.range(self.events.partition_point(|(sequence, _)| *sequence < next)..)
    }

    /// All subscriptions have got everything, or are gone.
    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.turns.clear();
        self.bytes = 0;
    }

    /// Forgets those before a number.
    fn forget(&mut self, before: u64, length: impl Fn(&B) -> usize) {
        while self.events.front().is_some_and(|(sequence, _)| *sequence < before)
            && let Some((_, event)) = self.events.pop_front()
        {
            self.bytes -= length(&event.body) as u64;
        }
    }
}

impl<B: Body> Owed<B> {
    /// Adds an event. Returns whether nobody deals the events yet.
    pub(super) fn push(&mut self, sequence: u64, event: Kept<B>, most: [Count; 2]) -> bool {
        self.bytes += event.body.length() as u64;
        self.events.push_back((sequence, event));
        self.most = most;
        !std::mem::replace(&mut self.is_listed, true)
    }

    /// The next subscription that gets them, of all these, while the source's next event has this number. `None` once all have got all.
    pub(super) fn turn(&mut self, all: impl Iterator<Item = SendingKey>, next: u64) -> Option<SendingKey> {
        if self.turns.is_empty() {
            self.forget(self.until, B::length);
            if self.is_empty() {
                self.is_listed = false;
                return None;
            }
            self.turns.extend(all);
            self.until = next;
        }
        self.turns.pop()
    }
}

/// The queries whose subscriptions are owed something.
#[derive(Default)]
pub(in crate::flows) struct Dealing {
    queries: VecDeque<(SourceKey, WantKey)>,
    /// When the next subscriptions get it.
    next: Time,
}

impl Dealing {
    /// When there is something to do.
    pub(in crate::flows) fn due(&self) -> Option<Time> {
        (!self.queries.is_empty()).then_some(self.next)
    }

    pub(in crate::flows) fn add<B>(&mut self, links: &mut Links<B>, source: SourceKey, want: WantKey) {
        if self.queries.is_empty() {
            links.actions.act(Action::Tick);
        }
        self.queries.push_back((source, want));
    }
}

/// The subscriptions of a node, and its sinks.
pub(super) struct Ends<'f, B, S> {
    pub(super) sendings: &'f mut Slots<SendingKey, Sending<B>>,
    pub(super) receivings: &'f mut Slots<ReceivingKey, Receiving<S>>,
    pub(super) sinks: &'f mut Numbered<SinkKey, Sink<B, S>>,
}

impl<B: Body, S: Storage> Ends<'_, B, S> {
    /// Counts and submits what a subscription is due. Returns how many events were submitted.
    pub(super) fn submit<'a>(
        &mut self,
        links: &mut Links<B>,
        at: SendingKey,
        due: impl Iterator<Item = Due<'a, B>>,
    ) -> usize
    where
        B: 'a,
    {
        let mut count = 0;
        for due in due {
            match due {
                Due::Missing(missing) => self.sendings[at].count(missing),
                Due::Event(Kept { time, format, body, origin, .. }) => {
                    let mut draft = Dequeued(body.clone(), origin.clone());
                    with_lane!(self, links, at, |sending, lane| sending.submit(*time, format, &mut draft, true, lane));
                    count += 1;
                }
            }
        }
        count
    }
}

impl<B: Body, S: Storage> Flows<B, S> {
    /// How many events a quiet subscription is owed, and the bytes of their bodies.
    pub(in crate::flows) fn owes(&self, at: SendingKey) -> Count {
        let sending = &self.sendings[at];
        let source = self.sources.get(sending.source).filter(|_| sending.is_quiet);
        source.zip(sending.want).map_or(Count::default(), |(source, want)| source.wants.owed(want, sending.next()))
    }

    /// Counts what a quiet subscription has missed, and submits what it is owed. It stays quiet. Returns how many events that were.
    pub(in crate::flows) fn deal_to_quiet(&mut self, links: &mut Links<B>, at: SendingKey) -> usize {
        let Some(sending) = self.sendings.get(at).filter(|sending| sending.is_quiet) else { return 0 };
        let (next, Some(want)) = (sending.next(), sending.want) else { return 0 };
        let Some(source) = self.sources.get(sending.source) else { return 0 };
        let due = source.wants.due(want, next, source.next);
        let (sendings, receivings, sinks) = (&mut self.sendings, &mut self.receivings, &mut self.sinks);
        let count = Ends { sendings, receivings, sinks }.submit(links, at, due);
        if count > 0 {
            self.follow(links, at);
            self.tell_query(at);
        }
        count
    }

    /// The query of a quiet subscription learns what was lost on the way.
    fn tell_query(&mut self, at: SendingKey) {
        let sending = &mut self.sendings[at];
        let source = self.sources.get_mut(sending.source);
        if let Some((source, want)) = source.zip(sending.want)
            && let Some((first, count)) = sending.take_lost()
        {
            source.wants.lost(&mut self.purse, want, first, count);
        }
    }

    /// Submits to a few quiet subscriptions what they are owed, once it is time.
    pub(in crate::flows) fn deal_owed(&mut self, now: Time, links: &mut Links<B>) {
        if self.dealing.due().is_none_or(|due| due > now) {
            return;
        }
        self.dealing.next = now + PAUSE;
        let (mut turns, mut events) = (links.settings.at_once.max(1), EVENTS);
        while turns > 0
            && events > 0
            && let Some((key, want)) = self.dealing.queries.pop_front()
        {
            let source = self.sources.get_mut(key);
            let Some(at) = source.and_then(|source| source.wants.turn(want, source.next)) else { continue };
            self.dealing.queries.push_back((key, want));
            let count = self.deal_to_quiet(links, at);
            turns -= 1;
            events = events.saturating_sub(count);
            if self.sendings.get(at).is_some_and(|it| it.is_quiet && !it.may_get_later(links.settings.held)) {
                self.rouse(links, at);
            }
        }
    }
}
