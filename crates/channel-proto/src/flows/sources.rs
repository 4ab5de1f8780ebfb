//! Sources and the subscriptions of sinks (`spec/channel.md`, "Subscriptions").

use super::accounts::account;
use super::demands::Demands;
use super::projections::Projections;
use super::sending::{Request, Sending, To};
use super::shares::{Asker, Purse};
use super::waits::within_rules;
use super::wants::{WantKey, Wants};
use super::{Flows, Source, Unheard, with_lane};
use crate::Time;
use crate::account::{Cause, Count, Policy};
use crate::action::Action;
use crate::budget::Resource;
use crate::control::{Control, Subscribe};
use crate::grant::{Budget, Granted, Grants};
use crate::keys::{ChannelKey, LinkKey, NodeId, SendingKey, SourceKey};
use crate::links::{Links, told};
use crate::memory::{Body, Storage};
use crate::parameters::Parameters;
use crate::report::SinkLedger;
use crate::wire::Reader;
use isoform_core::{Code, Error, Faults, Format, Missing, Plan, Result, Rules};
use isoform_query::Query;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a sink of another node gets from a source.
struct Admitted {
    /// The policy that it may ask for, and the one that is granted.
    asked: Granted,
    granted: Granted,
    /// Its query there.
    want: Option<WantKey>,
    /// The values of parameters that it asks for, completed with the defaults.
    values: Option<Parameters>,
}

/// This many closed accounts are kept.
const LATEST: usize = 64;
/// How long a source that leaves waits for a sink that has never taken anything, after its connection broke.
const RETURN: Time = Time::from_secs(1);

impl<B> Source<B> {
    /// The budget, of the node unless the source has its own, pays for records without some of the fields as long as the source sends such.
    #[inline]
    pub(super) fn serve_fields(&mut self, of_node: &mut Purse) {
        let are_needed = self.projections.are_needed();
        if std::mem::replace(&mut self.serves_fields, are_needed) != are_needed {
            self.wants.purse(of_node).serve_fields(are_needed);
        }
    }
}

impl<B: Body, S: Storage> Flows<B, S> {
    /// Adds a source to a channel of this type. Its events have the given format, or any. It may have parameters, with these
    /// defaults, and something else that numbers the events that nobody hears.
    pub(crate) fn add_source(
        &mut self,
        channel: ChannelKey,
        agreed: Option<&Format>,
        format: Option<&Format>,
        grants: Grants,
        parameters: Option<&Parameters>,
        unheard: Option<Arc<dyn Unheard>>,
    ) -> Result<SourceKey> {
        if let (Some(agreed), Some(format)) = (agreed, format) {
            // Sinks have defaults, which the channel's type has not. Each judges by its own what is missing.
            Plan::new(format, agreed, &Rules::new().missing(Missing::Zero), Faults::default())?;
        }
        let demands = parameters.map(|defaults| Demands::new(defaults, grants.most_demands)).transpose()?;
        let mut source = Source {
            channel,
            agreed: agreed.cloned(),
            format: format.cloned(),
            is_typed: format.is_some(),
            next: 0,
            is_heard: false,
            unheard,
            sendings: Vec::new(),
            prompt: Vec::new(),
            beginning: Vec::new(),
            held: VecDeque::new(),
            held_bytes: 0,
            projections: Projections::default(),
            serves_fields: false,
            wants: Wants::new(grants.queries, grants.most_queries),
            demands,
            grants,
            budget: Budget::new(grants.waits),
            kept: VecDeque::new(),
            waits: false,
            left: false,
            past: VecDeque::new(),
        };
        if source.grants.keep > 0 {
            source.hear();
        }
        Ok(self.sources.insert(source))
    }

    /// A source leaves. Queued events are sent, and then the end. Returns its channel, unless it had left before.
    pub(crate) fn end_source(&mut self, links: &mut Links<B>, key: SourceKey) -> Option<ChannelKey> {
        let source = self.sources.get_mut(key).filter(|source| !source.left)?;
        source.left = true;
        source.hear();
        let (channel, sendings) = (source.channel, source.sendings.clone());
        self.catch_up_all(links, key);
        for sending in sendings {
            // Kept events that a sink has yet to get come before the end.
            if !self.is_beginning(sending) {
                self.sendings[sending].end();
                self.pump(links, sending);
            }
        }
        Some(channel)
    }

    /// Forgets a source that has left. Its events in flight are lost. Returns its account with each sink.
    pub(crate) fn drop_source(&mut self, links: &mut Links<B>, key: SourceKey) -> Vec<SinkLedger> {
        self.catch_up_all(links, key);
        let sendings = self.sources.get(key).map_or(Vec::new(), |source| source.sendings.clone());
        for at in sendings {
            self.stop_beginning(at, Cause::Unknown);
            let sending = &mut self.sendings[at];
            let (to, next, has_told_end) = (sending.to, sending.next(), sending.has_told_end());
            if let To::Link(link, subscription) = to {
                if !has_told_end {
                    links.say(link, &Control::end(subscription, next, false));
                }
                if let Some(traffic) = self.traffic.get_mut(link) {
                    traffic.sendings.remove(subscription);
                }
            }
            if let To::Here(_) = to {
                with_lane!(self, links, at, |sending, lane| sending.tell_first_gaps(lane));
            }
            self.sendings[at].forget(Cause::Unknown);
            self.finish_sending(links, at);
            if let To::Here(receiving) = to {
                self.lose_source(links, receiving, Some(next));
            }
        }
        self.sources.remove(key).map_or(Vec::new(), |source| source.past.into())
    }

    /// Whether no event of a source is in flight, but for those to sinks that nobody waits for.
    pub(crate) fn is_settled(&self, links: &Links<B>, now: Time, key: SourceKey) -> bool {
        let is_settled =
            |at: SendingKey| self.has_all(at) && self.sendings[at].is_settled() || self.is_given_up(links, now, at);
        self.sources.get(key).is_none_or(|source| source.sendings.iter().all(|&at| is_settled(at)))
    }

    /// Whether a source that leaves waits no longer for a sink: it has never taken anything, and has been gone for a while.
    fn is_given_up(&self, links: &Links<B>, now: Time, at: SendingKey) -> bool {
        let sending = &self.sendings[at];
        matches!(sending.to, To::Link(link, _) if sending.is_abandoned() && links.cut_for(now, link) >= RETURN)
    }

    /// Whether this source exists and has not left.
    pub(crate) fn has_source(&self, key: SourceKey) -> bool {
        self.sources.get(key).is_some_and(|source| !source.left)
    }

    /// Whether a source has left, and all its accounts are closed, but for those of sinks that nobody waits for.
    pub(crate) fn is_over(&self, links: &Links<B>, now: Time, key: SourceKey) -> bool {
        let is_given_up = |&at: &SendingKey| self.is_given_up(links, now, at);
        self.sources.get(key).is_none_or(|source| source.left && source.sendings.iter().all(is_given_up))
    }

    /// The channel of a source.
    pub(crate) fn channel_of_source(&self, key: SourceKey) -> Option<ChannelKey> {
        self.sources.get(key).map(|source| source.channel)
    }

    /// A sink of another node subscribes to a source, or resumes its subscription. `is_member` states whether that node
    /// is a member of the source's channel. `may` states whether it may subscribe, and then whether it may make the source
    /// wait. `asked_values` is what it asks of the source's parameters.
    pub(crate) fn was_subscribed(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        is_member: bool,
        may: Result<bool>,
        subscribe: &Subscribe,
        values: Option<&Parameters>,
    ) -> Result<Option<Error>> {
        let Subscribe { subscription, source, sink, policy, must, resumed, .. } = *subscribe;
        let asked = Granted::asked(policy, must);
        if resumed.is_none() {
            // The other node never received the Started; or it had given up this link, and has met this node again. Then it
            // no longer knows the subscriptions of its sinks, nor their numbers, and may have taken events that it has not
            // acknowledged.
            let served = &self.traffic[link].sendings;
            let is_same = |number: &u32| served.get(*number).is_some_and(|at| self.sendings[at].sink == sink);
            let same = served.of_source(SourceKey(source)).filter(is_same).chain([subscription]).collect();
            self.forget_cut(links, link, same);
        }
        let known = self.traffic[link].sendings.get(subscription);
        let sending = match (known, resumed) {
            (Some(sending), Some(from)) if !self.sendings[sending].live => {
                self.catch_up(links, sending);
                self.sendings[sending].resume(from)?;
                self.ask_again(sending, Asker::over(links, link));
                self.regrant(links, sending, asked, matches!(may, Ok(true)));
                sending
            }
            (Some(_), _) => {
                let error = Error::new(Code::Frame).at("subscription");
                return Err(error.expected("a number that is not in use").found(subscription));
            }
            (None, None) if is_member && self.has_source(SourceKey(source)) => {
                match may.clone().and_then(|may_block| self.admit(links, link, subscribe, asked, may_block, values)) {
                    Ok(admitted) => self.serve(links, link, subscribe, admitted),
                    Err(error) => {
                        let (code, text) = told(&error);
                        links.say(link, &Control::End { subscription, next: 0, is_answer: false, code, text });
                        return Ok(Some(error));
                    }
                }
            }
            (None, _) => {
                let next = resumed.map_or(0, |from| from.expected);
                links.say(link, &Control::end(subscription, next, false));
                return Ok(None);
            }
        };
        let (next, kept) = (self.sendings[sending].position(), self.sendings[sending].kept());
        let granted = self.sendings[sending].granted;
        links.say(link, &Control::Started { subscription, next, granted, kept });
        match known {
            None => {
                self.tell_given(links, sending, None);
                self.begin(links, sending);
            }
            Some(_) => {
                let change = subscribe.steering.as_ref().map_or(0, |asked| asked.change);
                self.steer_again(links, sending, values.map(|values| may.map(|_| values)), change);
                self.pump(links, sending);
            }
        }
        self.make_room(links, self.sendings[sending].source);
        Ok(None)
    }

    /// What a sink of another node may have.
    fn admit(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        subscribe: &Subscribe,
        asked: Granted,
        may_block: bool,
        values: Option<&Parameters>,
    ) -> Result<Admitted> {
        if let Some(option) = subscribe.option {
            let expected = "a subscription without critical options but a query and parameters";
            return Err(Error::new(Code::Flags).at("subscription").expected(expected).found(option));
        }
        let asked = within_rules(links, asked, may_block)?;
        let granted = self.grant(links, SourceKey(subscribe.source), asked)?;
        let (of_link, most) = (&self.traffic[link].sendings, links.settings.subscriptions);
        if of_link.len() >= most {
            return Err(Error::new(Code::Peers).at("subscriptions").expected(format_args!("at most {most}")));
        }
        let at_source = self.sources[SourceKey(subscribe.source)].grants.most_sinks;
        if of_link.of_source(SourceKey(subscribe.source)).count() >= at_source {
            let error = Error::new(Code::Peers).at("subscriptions");
            return Err(error.expected(format_args!("at most {at_source} sinks of one node at this source")));
        }
        let query = subscribe.query.as_deref().map(Query::parse).transpose()?;
        let (key, asker) = (SourceKey(subscribe.source), Asker::over(links, link));
        let values = self.asked_values(links, key, values, Some(asker))?;
        links.take(link, Resource::Subscriptions, 1)?;
        let want = query.map(|query| self.want(key, &query, Some(asker), values.as_ref())).transpose();
        let want = want.inspect_err(|_| links.give(link, Resource::Subscriptions, 1))?;
        Ok(Admitted { asked, granted, want, values })
    }

    /// A subscription of a source, for these values of its parameters, has this query.
    pub(super) fn want(
        &mut self,
        key: SourceKey,
        query: &Query,
        asker: Option<Asker>,
        values: Option<&Parameters>,
    ) -> Result<WantKey> {
        let source = &mut self.sources[key];
        let demand = source.demands.as_ref().zip(values).map(|(demands, values)| demands.of(values));
        source.wants.add(&mut self.purse, query, asker, demand, source.format.as_ref())
    }

    /// The sink of a resumed subscription asks for the same as before, maybe with other credentials.
    fn ask_again(&mut self, at: SendingKey, asker: Asker) {
        let sending = &mut self.sendings[at];
        let Some(source) = self.sources.get_mut(sending.source) else { return };
        source.projections.resume(asker);
        let Some(before) = sending.want else { return };
        let after = source.wants.resume(&mut self.purse, before, asker);
        if sending.begins.is_some() {
            source.wants.becomes(before, after);
        }
        sending.want = Some(after);
    }

    /// The source of a subscription, by its number on a link.
    pub(crate) fn source_of(&self, link: LinkKey, subscription: u32) -> Option<SourceKey> {
        let at = self.traffic.get(link)?.sendings.get(subscription)?;
        Some(self.sendings[at].source)
    }

    /// Starts a new subscription.
    fn serve(&mut self, links: &mut Links<B>, link: LinkKey, subscribe: &Subscribe, admitted: Admitted) -> SendingKey {
        let Subscribe { subscription, sink, window, longest, kept, .. } = *subscribe;
        let (key, spare) = (SourceKey(subscribe.source), links.settings.slow);
        let Admitted { asked, granted, want, values } = admitted;
        let request = Request { sink, asked, granted, window, longest, spare };
        let peer = links[link].peer;
        let sending = self.add_sending(links, key, To::Link(link, subscription), peer, request, kept);
        self.sendings[sending].want = want;
        if want.is_none() {
            let (source, asker) = (&mut self.sources[key], Asker::over(links, link));
            let format = source.format.as_ref();
            self.sendings[sending].projection = source.projections.add(&subscribe.fields, asker, format);
            source.serve_fields(&mut self.purse);
        }
        self.join_demand(sending, values, subscribe.steering.as_ref().map(|asked| asked.change));
        self.traffic[link].sendings.insert(subscription, sending, key);
        links.actions.act(Action::Changed(self.sources[key].channel));
        sending
    }

    /// Adds a subscription. Its first events are the kept ones, if the sink wants them.
    pub(super) fn add_sending(
        &mut self,
        links: &mut Links<B>,
        key: SourceKey,
        to: To,
        node: NodeId,
        request: Request,
        wants_kept: bool,
    ) -> SendingKey {
        let source = &mut self.sources[key];
        // More than these would be dropped at once.
        let most = match request.granted.policy {
            Policy::Block => request.spare.events,
            policy => policy.queue().0.max(1),
        };
        let mut kept = if wants_kept { most.min(source.kept.len() as u64) } else { 0 };
        if let To::Link(link, _) = to {
            kept = links.take_kept(link, kept, source.kept.iter().rev().map(|kept| kept.body.length()));
        }
        let next = source.hear();
        let sending = Sending::new(key, to, node, request, next - kept, next);
        let at = self.sendings.insert(sending);
        source.sendings.push(at);
        source.prompt.push(at);
        at
    }

    /// A sink of another node ends its subscription.
    pub(crate) fn was_unsubscribed(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        subscription: u32,
        taken: u64,
    ) -> Result<()> {
        let mut next = 0;
        if let Some(sending) = self.traffic[link].sendings.get(subscription) {
            self.catch_up(links, sending);
            self.stop_beginning(sending, Cause::Ended);
            next = self.sendings[sending].next();
            self.sendings[sending].left(taken)?;
            self.traffic[link].sendings.remove(subscription);
            self.finish_sending(links, sending);
        }
        links.say(link, &Control::end(subscription, next, true));
        Ok(())
    }

    /// Sinks of another node have taken events. Returns how many entries told nothing new.
    pub(crate) fn acknowledged(
        &mut self,
        now: Time,
        links: &mut Links<B>,
        link: LinkKey,
        fields: &mut Reader<'_>,
    ) -> Result<usize> {
        if fields.is_empty() {
            return Err(Error::new(Code::Frame).at("ack").expected("an entry or more").found("none"));
        }
        self.let_wait_no_longer(links, Some(link));
        let mut vain = 0;
        while !fields.is_empty() {
            let (number, _) = (fields.u32()?, fields.u32()?);
            let taken = Count { events: fields.u64()?, bytes: fields.u64()? };
            // It may have crossed with an End.
            let Some(sending) = self.traffic[link].sendings.get(number) else {
                vain += 1;
                continue;
            };
            self.hear(links, sending);
            vain += usize::from(!self.sendings[sending].acknowledge(taken)?);
            self.pump(links, sending);
            self.follow_sink(now, links, sending);
            self.heard(links, sending);
            self.make_room(links, self.sendings[sending].source);
        }
        self.unpark(links, link);
        Ok(vain)
    }

    /// Closes the accounts of those of these subscriptions that the other side has not resumed: it no longer has them.
    pub(super) fn forget_cut(&mut self, links: &mut Links<B>, link: LinkKey, numbers: Vec<u32>) {
        for number in numbers {
            let Some(at) = self.traffic[link].sendings.get(number).filter(|&at| !self.sendings[at].live) else {
                continue;
            };
            self.catch_up(links, at);
            self.traffic[link].sendings.remove(number);
            self.sendings[at].forget(Cause::Unknown);
            self.finish_sending(links, at);
        }
    }

    /// Closes the account of a subscription at its source.
    pub(super) fn finish_sending(&mut self, links: &mut Links<B>, at: SendingKey) {
        self.abandon(at);
        self.stop_beginning(at, Cause::Unknown);
        let Some(mut sending) = self.sendings.remove(at) else { return };
        if self.waste.take(std::mem::take(&mut sending.waste)) {
            links.actions.act(Action::Tick);
        }
        if let To::Link(link, _) = sending.to
            && sending.ready
            && let Some(traffic) = self.traffic.get_mut(link)
        {
            traffic.ready.retain(|&other| other != at);
        }
        if let To::Link(link, _) = sending.to {
            links.give(link, Resource::Subscriptions, 1);
            links.give(link, Resource::Queues, sending.charged);
            self.unpark(links, link);
        }
        let key = sending.source;
        if let Some(source) = self.sources.get_mut(key) {
            source.sendings.retain(|&other| other != at);
            source.prompt.retain(|&other| other != at);
            if let Some(want) = sending.want {
                source.wants.remove(&mut self.purse, want, sending.link());
            }
            if let Some((projection, link)) = sending.projection.zip(sending.link()) {
                source.projections.remove(projection, link, source.format.as_ref());
                source.serve_fields(&mut self.purse);
            }
            if let (Some(demands), Some(steered)) = (&mut source.demands, &sending.steered) {
                demands.leave(steered.demand);
            }
            source.rest();
            source.past.push_front(account(&sending, sending.ledger(), false));
            // When the source ends, its application gets all accounts.
            if !source.left {
                source.past.truncate(LATEST);
            }
            links.actions.act(Action::Changed(source.channel));
        }
        self.make_room(links, key);
    }
}
