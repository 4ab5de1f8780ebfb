//! The policies that sources grant to sinks, and how long sources wait (`spec/channel.md`, "Policies").

use super::inbox::Item;
use super::receiving::{From, Stage};
use super::sending::{Sending, To};
use super::{Flows, with_lane};
use crate::Time;
use crate::account::{Count, Policy};
use crate::control::Control;
use crate::grant::{Granted, Reason};
use crate::keys::{LinkKey, ReceivingKey, SendingKey, SinkKey, SourceKey, SourceRef};
use crate::links::Links;
use crate::memory::{Body, Storage};
use crate::rights::Right;
use isoform_core::{Code, Error, Result};

impl<B: Body, S: Storage> Flows<B, S> {
    /// The policy that a source grants to a sink.
    pub(super) fn grant(&self, links: &Links<B>, source: SourceKey, asked: Granted) -> Result<Granted> {
        let refuse = |expected: std::fmt::Arguments<'_>| {
            Err(Error::new(Code::NotGranted).at("policy").expected(expected).found(asked.policy))
        };
        let policy = asked.policy.within(links.settings.queue);
        match asked.policy {
            _ if !asked.must => {}
            Policy::Block if !self.sources[source].grants.lossless => {
                return Err(Error::new(Code::NotGranted)
                    .at("policy")
                    .expected("a sink that may lose events, or a source with `lossless`")
                    .found("a lossless sink, and a source that may drop events"));
            }
            _ if policy != asked.policy => {
                return refuse(format_args!("at most {policy}, which is as much as this source keeps"));
            }
            _ => {}
        }
        let reason = match asked.reason {
            Reason::Forbidden => Reason::Forbidden,
            _ if policy == asked.policy => Reason::Asked,
            _ => Reason::Less,
        };
        Ok(Granted { policy, must: asked.must, reason })
    }

    /// A source has no room for an event, and begins to wait. Returns the time until which it waits at most; `None` if
    /// it waits until there is room.
    pub(crate) fn wait(&mut self, now: Time, links: &mut Links<B>, key: SourceKey) -> Option<Time> {
        let mut may_drop = false;
        for at in self.full(links, key) {
            let sending = &mut self.sendings[at];
            sending.since.get_or_insert(now);
            may_drop |= !sending.is_lossless();
        }
        let source = self.sources.get_mut(key).filter(|_| may_drop)?;
        Some(now + source.budget.left(now, source.next))
    }

    /// A source does not wait any more. It gives up waiting for the sinks that may drop and still have no room, if it
    /// has waited for them as long as it may, or if its application wants that.
    pub(crate) fn waited(&mut self, now: Time, links: &mut Links<B>, key: SourceKey, gives_up: bool) {
        let Some(source) = self.sources.get_mut(key) else { return };
        source.waits = false;
        let mut spent = Time::ZERO;
        for &at in &source.sendings {
            let sending = &mut self.sendings[at];
            let time = sending.since.take().map_or(Time::ZERO, |since| now.saturating_sub(since));
            sending.waited += time;
            if !sending.is_lossless() {
                spent = spent.max(time);
            }
        }
        source.budget.spend(source.next, spent);
        if gives_up || source.budget.left(now, source.next).is_zero() {
            for at in self.full(links, key) {
                if !self.sendings[at].is_lossless() {
                    self.sendings[at].give_up(now);
                    self.tell_grant(links, at);
                }
            }
        }
    }

    /// The subscriptions for which a source waits.
    fn full(&mut self, links: &mut Links<B>, key: SourceKey) -> Vec<SendingKey> {
        let mut all = self.sources.get(key).map_or(Vec::new(), |source| source.prompt.clone());
        all.retain(|&at| with_lane!(self, links, at, |sending, lane| sending.is_full(lane)));
        let begins = self.sources.get(key).into_iter().flat_map(|source| &source.beginning);
        all.extend(begins.filter(|&&at| self.sendings[at].is_waited_for_kept()));
        all
    }

    /// A sink has taken events. If it was too slow and has caught up, its source waits for it again.
    pub(super) fn follow_sink(&mut self, now: Time, links: &mut Links<B>, at: SendingKey) {
        if self.sendings.get_mut(at).is_some_and(|sending| sending.has_caught_up(now)) {
            self.rouse(links, at);
            self.tell_grant(links, at);
        }
    }

    /// Tells a sink what its source grants now.
    fn tell_grant(&mut self, links: &mut Links<B>, at: SendingKey) {
        let Sending { granted, to, live, .. } = self.sendings[at];
        match to {
            // Otherwise it is told when it resumes its subscription.
            To::Link(link, subscription) if live => links.say(link, &Control::Granted { subscription, granted }),
            To::Link(..) => {}
            To::Here(receiving) => self.note_grant(links, None, receiving, granted),
        }
    }

    /// A sink learns what the source of a subscription grants.
    pub(super) fn note_grant(
        &mut self,
        links: &mut Links<B>,
        from: Option<LinkKey>,
        at: ReceivingKey,
        granted: Granted,
    ) {
        let receiving = &mut self.receivings[at];
        let before = receiving.granted.replace(granted);
        let (sink, source, stage) = (receiving.sink, receiving.source, receiving.stage);
        let Some(entry) = self.sinks.get(sink).filter(|_| stage == Stage::Running) else { return };
        let known = before.map_or(entry.wanted.policy, |before| before.policy);
        if granted.policy != known || granted.reason == Reason::NotGranted {
            self.tell(links, from, sink, Item::Granted(source, granted));
        }
    }

    /// A source of another node grants another policy.
    pub(crate) fn was_granted(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        subscription: u32,
        granted: Granted,
    ) -> Result<()> {
        let at = ReceivingKey(subscription);
        if self.receiving(link, at)?.stage == Stage::Asked {
            return Err(Error::new(Code::Frame).at("subscription").expected("no Granted before Started"));
        }
        self.note_grant(links, Some(link), at, granted);
        Ok(())
    }

    /// A sink asks for another policy, from all of its sources.
    pub(crate) fn set_policy(&mut self, links: &mut Links<B>, key: SinkKey, policy: Policy, must: bool) {
        let Some(sink) = self.sinks.get_mut(key) else { return };
        (sink.wanted.policy, sink.wanted.must) = (policy, must);
        let asked = Granted::asked(policy, must);
        for at in sink.receivings.clone() {
            let receiving = &self.receivings[at];
            match receiving.from {
                From::Link(link, _) if matches!(receiving.stage, Stage::Asked | Stage::Running) => {
                    links.say(link, &Control::Change { subscription: at.0, asked });
                }
                From::Here(sending) => self.change(links, sending, asked, true),
                _ => {}
            }
        }
    }

    /// A sink of another node asks for another policy. `may_block` states whether its node may make the source wait.
    pub(crate) fn was_changed(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        subscription: u32,
        asked: Granted,
        may_block: bool,
    ) {
        // It may have crossed with an End.
        if let Some(at) = self.traffic[link].sendings.get(subscription) {
            self.change(links, at, Granted::asked(asked.policy, asked.must), may_block);
        }
    }

    pub(super) fn change(&mut self, links: &mut Links<B>, at: SendingKey, asked: Granted, may_block: bool) {
        let source = self.sendings[at].source;
        self.catch_up(links, at);
        self.regrant(links, at, asked, may_block);
        self.tell_grant(links, at);
        self.pump(links, at);
        self.make_room(links, source);
    }

    /// Grants what a sink asks for, or what it had before, if that is not granted.
    pub(super) fn regrant(&mut self, links: &Links<B>, at: SendingKey, asked: Granted, may_block: bool) {
        let before = self.sendings[at].granted;
        let allowed = within_rules(links, asked, may_block);
        let asked = *allowed.as_ref().unwrap_or(&asked);
        let granted = match allowed.and_then(|asked| self.grant(links, self.sendings[at].source, asked)) {
            // A sink that was too slow does not become faster by asking again.
            Ok(granted) if granted.policy == Policy::Block && !granted.must && self.sendings[at].is_slow() => {
                Granted { reason: Reason::Slow, ..before }
            }
            Ok(granted) => granted,
            Err(_) => Granted { reason: Reason::NotGranted, ..before },
        };
        let sending = &mut self.sendings[at];
        if granted.reason != Reason::NotGranted {
            sending.asked = asked;
        }
        sending.set_grant(granted);
    }

    /// A sink declines the rest of an event. Returns whether that is arriving.
    pub(crate) fn enough(&mut self, links: &mut Links<B>, key: SinkKey, source: SourceRef, sequence: u64) -> bool {
        let Some(sink) = self.sinks.get(key) else { return false };
        let is_it = |at: &&ReceivingKey| {
            let receiving = &self.receivings[**at];
            receiving.source == source && receiving.expected == sequence && receiving.long.is_some()
        };
        let Some(&at) = sink.receivings.iter().find(is_it) else { return false };
        let From::Link(link, _) = self.receivings[at].from else { return false };
        links.say(link, &Control::Enough { subscription: at.0, sequence });
        true
    }

    /// A sink of another node declines the rest of an event.
    pub(crate) fn was_enough(&mut self, links: &mut Links<B>, link: LinkKey, subscription: u32, sequence: u64) {
        if let Some(at) = self.traffic[link].sendings.get(subscription) {
            self.catch_up(links, at);
            with_lane!(self, links, at, |sending, lane| sending.enough(sequence, lane));
            self.unpark(links, link);
            self.pump(links, at);
            self.make_room(links, self.sendings[at].source);
        }
    }
}

/// What a sink may ask for whose node may make sources wait, or may not. Then the source drops events instead, unless the
/// sink must have its policy.
pub(super) fn within_rules<B>(links: &Links<B>, asked: Granted, may_block: bool) -> Result<Granted> {
    if may_block || asked.policy != Policy::Block {
        return Ok(asked);
    }
    if asked.must {
        return Err(Error::new(Code::Forbidden).at("policy").expected(format_args!("the right to {}", Right::Block)));
    }
    let Count { events, bytes } = links.settings.slow;
    Ok(Granted { policy: Policy::DropOldest { events, bytes }, must: false, reason: Reason::Forbidden })
}
