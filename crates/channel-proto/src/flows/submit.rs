//! Submits events, and wakes the threads that wait for them.

use super::described::Described;
use super::lane::Lane;
use super::moment::Moment;
use super::projections::Projections;
use super::receiving::Stage;
use super::sending::{Dequeued, Sending, To};
use super::wants::{Outcome, WantKey, Wants};
use super::{Flows, Kept, Source, with_lane};
use crate::action::Action;
use crate::budget::Resource;
use crate::keys::{ConnId, DemandKey, LinkKey, SendingKey, SourceKey, closed};
use crate::links::{Links, told};
use crate::memory::{Body, Draft, Drafts, Storage, Take};
use crate::origin::Origin;
use isoform_core::{Code, Error, Faults, Format, Missing, Plan, Result, Rules};

/// The result of submitting an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// The event was submitted, with this number. Of several events, those were submitted for which there was room, and
    /// this is the number of the last one. Events that nobody hears only have a number.
    Done(u64),
    /// There was no event.
    Nothing,
    /// A sink that makes its source wait has no room. Nothing was submitted to any sink. Call
    /// [`Node::wait`](crate::Node::wait), wait for [`Action::Room`], but not for longer than that call allows, call
    /// [`Node::waited`](crate::Node::waited), and submit again.
    Full,
}

/// Why no more events are submitted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stopped {
    /// There are no more.
    AtEnd,
    /// A sink for which the source waits has no room.
    Full,
}

/// Charges the node of a sink for what waits for it. If that is too much, the oldest events are lost.
fn charge<B: Body>(links: &mut Links<B>, link: LinkKey, sending: &mut Sending<B>, memory: u64) {
    let more = memory.saturating_sub(sending.charged);
    let left = links.left(link, Resource::Queues);
    if more > left {
        sending.shorten(sending.charged + left);
    }
    let memory = sending.memory();
    match memory > sending.charged {
        true => links.force(link, Resource::Queues, memory - sending.charged),
        false => links.give(link, Resource::Queues, sending.charged - memory),
    }
    sending.charged = memory;
}

impl<B: Body> Source<B> {
    /// The following events have this format. Returns whether those before had another one.
    fn change_format(&mut self, format: &Format) -> Result<bool> {
        if self.format.as_ref() == Some(format) {
            return Ok(false);
        }
        if self.is_typed {
            let error = Error::new(Code::WrongType).at("event");
            let declared = self.format.as_ref().map_or("", Format::name);
            return Err(error.expected(format_args!("{declared}, the format of the source")).found(format.name()));
        }
        if let Some(agreed) = &self.agreed {
            // Sinks have defaults, which the channel's type has not. Each judges by its own what is missing.
            Plan::new(format, agreed, &Rules::new().missing(Missing::Zero), Faults::default())?;
        }
        self.format = Some(format.clone());
        self.projections.meet(Some(format));
        Ok(true)
    }

    /// Whether all sinks get all of its events as they are.
    fn is_plain(&self) -> bool {
        self.wants.is_empty() && self.demands.is_none() && !self.projections.are_needed()
    }

    /// Keeps an event for sinks that subscribe later.
    fn keep(&mut self, event: Kept<B>) {
        if self.kept.len() >= self.grants.keep {
            self.kept.pop_front();
        }
        self.kept.push_back(event);
    }
}

impl<B: Body> Kept<B> {
    fn of(time: u64, format: &Format, demand: Option<DemandKey>, draft: &mut impl Draft<B>) -> Kept<B> {
        Kept { time, format: format.clone(), body: draft.share(), origin: draft.origin().map(Box::new), demand }
    }
}

/// Submits an event to the only sink of a source.
struct ToOne<'f, B, L> {
    time: u64,
    format: &'f Format,
    sending: &'f mut Sending<B>,
    lane: &'f mut L,
    /// Whether the subscription is ready for the event.
    is_ready: bool,
}

impl<B: Body, L: Lane<B>> Take<B> for ToOne<'_, B, L> {
    #[inline(always)]
    fn take(self, draft: &mut impl Draft<B>) {
        let ToOne { time, format, sending, lane, is_ready } = self;
        match is_ready {
            true => sending.submit_ready(time, format, draft, lane),
            false => sending.submit(time, format, draft, false, lane),
        }
    }
}

/// Submits an event to all sinks of a source, or to those of a demand, and keeps it if the source keeps events.
struct ToAll<'f, B, S, F> {
    flows: &'f mut Flows<B, S>,
    links: &'f mut Links<B>,
    moment: &'f mut Moment<F>,
    source: SourceKey,
    format: &'f Format,
    demand: Option<DemandKey>,
    sequence: u64,
    /// The subscriptions that get it at once, and whether there are others that lag behind.
    sendings: &'f [SendingKey],
    holds: bool,
    /// Whether there are others that have kept events to get.
    begins: bool,
}

impl<B: Body, S: Storage, F: FnMut() -> u64> Take<B> for ToAll<'_, B, S, F> {
    fn take(self, draft: &mut impl Draft<B>) {
        let ToAll { flows, links, moment, source: key, format, demand, sequence, sendings, holds, begins } = self;
        if begins {
            flows.give_kept_before(links, key, sequence);
        }
        let Flows { sources, sendings: all, purse, .. } = &mut *flows;
        let source = &mut sources[key];
        let (keeps, many) = (source.grants.keep > 0, source.sendings.len() > 1);
        if !source.wants.is_empty() {
            let wants = &mut source.wants;
            for &at in sendings {
                if let Some((want, (first, count))) = all[at].want.zip(all[at].take_lost()) {
                    wants.lost(purse, want, first, count);
                }
            }
            let is_filtered = wants.evaluate(purse, format, demand, sequence, moment, draft);
            flows.skips.are_new = true;
            if is_filtered && sendings.is_empty() && !keeps && !holds {
                return;
            }
        }
        let source = &mut flows.sources[key];
        source.projections.begin(format);
        source.serve_fields(&mut flows.purse);
        let (mut wants, mut projections) = (std::mem::take(&mut source.wants), std::mem::take(&mut source.projections));
        let made = &mut projections;
        let mut event = Submitting { time: moment.time(), format, draft, many };
        for &at in sendings {
            match flows.sendings[at].is_of(demand) {
                true => flows.submit_wanted(links, at, &mut wants, made, &mut event),
                false => flows.filter(links, at),
            }
        }
        for quiet in wants.rouse_passed(sequence, links.settings.at_once) {
            for at in flows.rouse_for(links, key, &quiet, sequence) {
                flows.submit_wanted(links, at, &mut wants, made, &mut event);
            }
        }
        flows.keep_owed(links, key, &mut wants, &mut event, sequence);
        let Submitting { time, draft, .. } = event;
        let source = &mut flows.sources[key];
        (source.wants, source.projections) = (wants, projections);
        if keeps {
            source.keep(Kept::of(time, format, demand, draft));
        }
        if holds {
            flows.hold(key, Kept::of(time, format, demand, draft));
        }
    }
}

/// An event that is being submitted.
struct Submitting<'e, D> {
    time: u64,
    format: &'e Format,
    draft: &'e mut D,
    /// Whether several sinks may need its body.
    many: bool,
}

impl<B: Body, S: Storage> Flows<B, S> {
    /// Submits events to all sinks of a source, or to those of a demand, as long as there is room.
    #[inline]
    pub(crate) fn submit(
        &mut self,
        links: &mut Links<B>,
        clock: impl FnMut() -> u64,
        key: SourceKey,
        format: Option<&Format>,
        demand: Option<DemandKey>,
        drafts: &mut impl Drafts<B>,
    ) -> Result<Submitted> {
        let Some(source) = self.sources.get_mut(key).filter(|source| !source.left) else {
            return Err(closed("source"));
        };
        if !source.is_heard {
            return Ok(source.pass(drafts.pass()).map_or(Submitted::Nothing, Submitted::Done));
        }
        let (first, keeps) = (source.next, source.grants.keep > 0);
        if let Some(format) = format
            && source.change_format(format)?
        {
            source.serve_fields(&mut self.purse);
        }
        if source.format.is_none() {
            return Err(closed("format"));
        }
        let mut moment = Moment::new(clock);
        let (next, stopped) = match source.sendings[..] {
            [only] if !keeps && source.is_plain() && source.prompt.len() == 1 => {
                self.submit_to_one(links, moment.time(), key, only, drafts)
            }
            _ => self.submit_to_all(links, &mut moment, key, demand, drafts),
        };
        Ok(match stopped {
            _ if next > first => Submitted::Done(next - 1),
            Stopped::AtEnd => Submitted::Nothing,
            Stopped::Full => {
                self.sources[key].waits = true;
                Submitted::Full
            }
        })
    }

    /// Submits events to the only sink of a source. Returns the number after the last.
    #[inline]
    fn submit_to_one(
        &mut self,
        links: &mut Links<B>,
        time: u64,
        key: SourceKey,
        only: SendingKey,
        drafts: &mut impl Drafts<B>,
    ) -> (u64, Stopped) {
        loop {
            // What belongs to the source, the subscription and its link is looked up once, as long as events are sent at once.
            let source = &mut self.sources[key];
            let Some(format) = &source.format else { return (source.next, Stopped::AtEnd) };
            let before = source.next;
            let (stopped, is_done) = with_lane!(self, links, only, |sending, lane| {
                let stopped = loop {
                    let is_ready = sending.is_ready(lane);
                    if is_ready {
                        let alike = |bodies: &[u8], length| sending.submit_alike(time, format, bodies, length, lane);
                        let count = drafts.next_alike(alike);
                        if count > 0 {
                            source.next += count as u64;
                            continue;
                        }
                    } else if sending.is_full(lane) {
                        break Some(Stopped::Full);
                    }
                    if !drafts.next(ToOne { time, format, sending, lane, is_ready }) {
                        break Some(Stopped::AtEnd);
                    }
                    source.next += 1;
                    // A subscription that was ready has nothing to send but a body in parts.
                    if sending.has_parts() || !is_ready && sending.has_more() {
                        break None;
                    }
                };
                (stopped, (source.next > before && sending.is_done()).then_some(sending.to))
            });
            let next = source.next;
            match is_done {
                Some(To::Link(link, _)) => links.announce_output(link, || false),
                _ => self.follow(links, only),
            }
            if let Some(stopped) = stopped {
                return (next, stopped);
            }
        }
    }

    /// Submits events to all sinks of a source, and keeps those that it keeps. Returns the number after the last.
    fn submit_to_all(
        &mut self,
        links: &mut Links<B>,
        moment: &mut Moment<impl FnMut() -> u64>,
        key: SourceKey,
        demand: Option<DemandKey>,
        drafts: &mut impl Drafts<B>,
    ) -> (u64, Stopped) {
        self.pay_for_descriptions();
        self.quieten(links, key);
        self.set_apart(links, moment, key);
        let source = &mut self.sources[key];
        let Some(format) = source.format.take() else { return (source.next, Stopped::AtEnd) };
        let (mut sendings, mut next) = (std::mem::take(&mut source.prompt), source.next);
        let stopped = loop {
            let is_full = |&at: &SendingKey| {
                with_lane!(self, links, at, |sending, lane| sending.is_of(demand) && sending.is_full(lane))
            };
            let source = &self.sources[key];
            let (holds, begins) = (source.behind(sendings.len()) > 0, !source.beginning.is_empty());
            if sendings.iter().any(is_full) || begins && self.is_waited_for_kept(key, demand) {
                break Stopped::Full;
            }
            let (sequence, flows) = (next, &mut *self);
            let all = ToAll {
                flows,
                links: &mut *links,
                moment: &mut *moment,
                source: key,
                format: &format,
                demand,
                sequence,
                sendings: &sendings,
                holds,
                begins,
            };
            if !drafts.next(all) {
                break Stopped::AtEnd;
            }
            next += 1;
            sendings.append(&mut self.sources[key].prompt);
            if holds && self.holds(key, links.settings.held, 1) {
                let source = &mut self.sources[key];
                (source.prompt, source.next) = (sendings, next);
                self.deal(links, key, true);
                sendings = std::mem::take(&mut self.sources[key].prompt);
            }
        };
        let source = &mut self.sources[key];
        (source.prompt, source.next, source.format) = (sendings, next, Some(format));
        (next, stopped)
    }

    /// Submits an event to a subscription, or what its query has made of it.
    #[inline]
    fn submit_wanted<D: Draft<B>>(
        &mut self,
        links: &mut Links<B>,
        at: SendingKey,
        wants: &mut Wants<B>,
        projections: &mut Projections<B>,
        event: &mut Submitting<'_, D>,
    ) {
        let Submitting { time, format, ref mut draft, many } = *event;
        let Sending { want, projection, .. } = self.sendings[at];
        let mut pays = |cost| wants.purse(&mut self.purse).pay_for_fields(time, cost);
        if let Some((format, body)) = projection.and_then(|key| projections.record(key, format, *draft, &mut pays)) {
            let mut draft = Dequeued(body.clone(), draft.origin().map(Box::new));
            with_lane!(self, links, at, |sending, lane| sending.submit(time, format, &mut draft, true, lane));
            return self.follow(links, at);
        }
        match want.map_or(&Outcome::Passed, |want| wants.outcome(want)) {
            Outcome::Passed => {
                with_lane!(self, links, at, |sending, lane| sending.submit(time, format, *draft, many, lane));
            }
            Outcome::Filtered => return self.filter(links, at),
            outcome => self.submit_outcome(links, time, at, outcome, draft.origin()),
        }
        self.follow(links, at);
    }

    /// Keeps an event, or what queries have made of it, for the quiet subscriptions that get it later.
    fn keep_owed<D: Draft<B>>(
        &mut self,
        links: &mut Links<B>,
        key: SourceKey,
        wants: &mut Wants<B>,
        event: &mut Submitting<'_, D>,
        sequence: u64,
    ) {
        let Submitting { time, format, ref mut draft, .. } = *event;
        let most = [links.settings.owed, links.settings.held];
        for (want, outcome, quiet) in wants.owing() {
            let event = match outcome {
                Outcome::Result(format, body) => {
                    let (format, body) = (format.clone(), body.clone());
                    Kept { time, format, body, origin: draft.origin().map(Box::new), demand: None }
                }
                _ => Kept::of(time, format, None, *draft),
            };
            if quiet.owe(sequence, event, most) {
                self.dealing.add(links, key, want);
            }
        }
    }

    /// An event that the query of a subscription does not want. Nothing waits for it, so there is nothing to follow unless
    /// something else waits.
    #[inline]
    pub(super) fn filter(&mut self, links: &mut Links<B>, at: SendingKey) {
        self.skips.are_new = true;
        let sending = &mut self.sendings[at];
        sending.filter();
        if sending.has_more() {
            self.follow(links, at);
        }
    }

    /// Submits what a query has made of an event.
    fn submit_outcome(
        &mut self,
        links: &mut Links<B>,
        time: u64,
        at: SendingKey,
        outcome: &Outcome<B>,
        origin: Option<Origin>,
    ) {
        self.skips.are_new = true;
        with_lane!(self, links, at, |sending, lane| match outcome {
            Outcome::Result(format, body) => {
                let mut draft = Dequeued(body.clone(), origin.map(Box::new));
                sending.submit(time, format, &mut draft, true, lane);
            }
            Outcome::Unfit(error) => sending.revoke(told(error), lane),
            Outcome::Thinned => sending.thin(),
            Outcome::Filtered | Outcome::Passed => sending.filter(),
        });
    }

    /// Submits a kept event to a new subscription.
    pub(super) fn submit_kept(&mut self, links: &mut Links<B>, at: SendingKey, kept: &Kept<B>, wants: &mut Wants<B>) {
        let Kept { time, format, body, origin, demand } = kept;
        if !self.sendings[at].is_of(*demand) {
            return self.filter(links, at);
        }
        let mut draft = Dequeued(body.clone(), origin.clone());
        let want = WantKey::ANEW;
        if self.sendings[at].want.is_none() {
            return with_lane!(self, links, at, |sending, lane| sending.submit(*time, format, &mut draft, true, lane));
        }
        let (sequence, moment) = (self.sendings[at].next(), &mut Moment::new(|| *time));
        if let Some((first, count)) = self.sendings[at].take_lost() {
            wants.lost(&mut self.purse, want, first, count);
        }
        wants.evaluate(&mut self.purse, format, *demand, sequence, moment, &draft);
        match wants.outcome(want) {
            Outcome::Passed => {
                with_lane!(self, links, at, |sending, lane| sending.submit(*time, format, &mut draft, true, lane));
            }
            outcome => self.submit_outcome(links, *time, at, outcome, draft.origin()),
        }
    }

    /// Makes sure that a sending gets a turn if it has something to send.
    #[inline]
    pub(super) fn follow(&mut self, links: &mut Links<B>, at: SendingKey) {
        let sending = &mut self.sendings[at];
        match sending.to {
            To::Link(link, _) => {
                if let Some(described) = Described::of(sending, links[link].outbox.take_described()) {
                    self.described.push(described);
                }
                let memory = sending.memory();
                if memory != sending.charged {
                    charge(links, link, sending, memory);
                }
                if sending.live && !sending.ready && sending.has_more() {
                    sending.ready = true;
                    self.traffic[link].ready.push_back(at);
                }
                self.skips.are_new |= sending.live && sending.has_gaps();
                links.announce_output(link, || !self.traffic[link].ready.is_empty());
            }
            To::Here(number) => {
                if sending.has_more() {
                    while with_lane!(self, links, at, |sending, lane| sending.pump(lane)) {}
                }
                self.skips.are_new |= self.sendings[at].has_gaps();
                let sink = self.receivings[number].sink;
                self.wake(links, sink);
            }
        }
    }

    /// Sends what a subscription may send.
    pub(super) fn pump(&mut self, links: &mut Links<B>, at: SendingKey) {
        let to = self.sendings[at].to;
        self.follow(links, at);
        if let To::Here(number) = to
            && let receiving = &self.receivings[number]
            && receiving.stage == Stage::Ended
            && receiving.is_drained()
        {
            self.unsubscribe(links, number);
        }
    }

    /// Tells a waiting source that it may try again.
    pub(crate) fn make_room(&mut self, links: &mut Links<B>, key: SourceKey) {
        if let Some(source) = self.sources.get_mut(key).filter(|source| source.waits) {
            source.waits = false;
            links.actions.act(Action::Room(key));
        }
    }

    /// Whether a source has to wait, and has not been told since that it may try again.
    pub(crate) fn waits(&self, key: SourceKey) -> bool {
        self.sources.get(key).is_some_and(|source| source.waits)
    }

    /// The connections to the sinks that make a source wait.
    pub(crate) fn waits_over(&mut self, links: &mut Links<B>, key: SourceKey) -> Vec<ConnId> {
        let sendings = self.sources.get(key).map_or(Vec::new(), |source| source.prompt.clone());
        let full = |at: SendingKey| {
            let To::Link(link, _) = self.sendings[at].to else { return None };
            let is_full = with_lane!(self, links, at, |sending, lane| sending.is_full(lane));
            links[link].connection().filter(|_| is_full)
        };
        sendings.into_iter().filter_map(full).collect()
    }
}
