//! Sources: this node's own, and what others tell of theirs (`spec/channel.md`, "Channels").

use super::state::{Offer, Origin, Source};
use super::{Node, closed};
use crate::account::Cause;
use crate::action::Action;
use crate::control::Control;
use crate::keys::{ChannelKey, Identity, LinkKey, NodeId, SourceKey, SourceRef};
use crate::memory::{Body, Storage};
use crate::report::SinkLedger;
use crate::sending::To;
use isoform_core::{Code, Error, Faults, Format, Plan, Result, Rules};
use std::collections::VecDeque;

/// Of what is kept only for the eye, so many are kept.
pub(super) const LATEST: usize = 64;

impl<B: Body, S: Storage> Node<B, S> {
    /// A source of events, all of one format if one is given, else of any.
    ///
    /// # Errors
    /// [`Code::Closed`]; what speaks against a plan from the format to the channel's type.
    pub fn add_source(&mut self, key: ChannelKey, format: Option<&Format>) -> Result<SourceKey> {
        let channel = self.channels.get(key).ok_or_else(|| closed("channel"))?;
        if let (Some(agreed), Some(format)) = (&channel.format, format) {
            Plan::new(format, agreed, &Rules::new(), Faults::default())?;
        }
        let members: Vec<LinkKey> = channel.members.keys().copied().collect();
        let source = self.sources.insert(Source {
            channel: key,
            format: format.cloned(),
            is_typed: format.is_some(),
            next: 0,
            sendings: Vec::new(),
            waits: false,
            left: false,
            past: VecDeque::new(),
        });
        self.channels[key].sources.push(source);
        members.into_iter().for_each(|member| self.offer(member, source));
        self.heard_of(key, Origin::Here(source), self.settings.id, format.cloned());
        self.act(Action::Changed(key));
        Ok(source)
    }

    /// The source leaves: what is queued is sent, and then that it has left. Its account stays until it is
    /// [dropped](Node::drop_source).
    pub fn end_source(&mut self, key: SourceKey) {
        let Some(source) = self.sources.get_mut(key).filter(|source| !source.left) else { return };
        source.left = true;
        let (channel, sendings) = (source.channel, source.sendings.clone());
        for sending in sendings {
            self.sendings[sending].end();
            self.pump(sending);
        }
        let Some(channel) = self.channels.get_mut(channel) else { return };
        channel.sources.retain(|&other| other != key);
        channel.offers.retain(|offer| offer.origin != Origin::Here(key));
        let members: Vec<LinkKey> = channel.members.keys().copied().collect();
        members.into_iter().for_each(|member| self.say(member, &Control::Withdraw { source: key.0 }));
        // Whoever waits for room learns that there is no use.
        self.make_room(key);
    }

    /// Whether nothing of a source is in flight.
    pub fn is_settled(&self, key: SourceKey) -> bool {
        let source = self.sources.get(key);
        source.is_none_or(|source| source.sendings.iter().all(|&sending| self.sendings[sending].is_settled()))
    }

    /// Whether there is such a source, and it has not left.
    pub fn has_source(&self, key: SourceKey) -> bool {
        self.sources.get(key).is_some_and(|source| !source.left)
    }

    /// Whether a source has left, and all its accounts are closed.
    pub fn is_over(&self, key: SourceKey) -> bool {
        self.sources.get(key).is_none_or(|source| source.left && source.sendings.is_empty())
    }

    /// Forgets a source: what of it is in flight is lost. Returns its account with each sink.
    pub fn drop_source(&mut self, key: SourceKey) -> Vec<SinkLedger> {
        self.end_source(key);
        let sendings = self.sources.get(key).map_or(Vec::new(), |source| source.sendings.clone());
        for sending in sendings {
            if let To::Link(link, number) = self.sendings[sending].to {
                let next = self.sendings[sending].next();
                if !self.sendings[sending].has_told_end() {
                    self.say(link, &Control::End { subscription: number, next, is_answer: false });
                }
                if let Some(link) = self.links.get_mut(link) {
                    link.sendings.remove(&number);
                }
            }
            let to = self.sendings[sending].to;
            self.sendings[sending].forget(Cause::Unknown);
            self.finish_sending(sending);
            if let To::Here(receiving) = to {
                self.lose_source(receiving);
            }
        }
        self.sources.remove(key).map_or(Vec::new(), |source| source.past.into())
    }

    /// Tells another member of a source.
    pub(super) fn offer(&mut self, link: LinkKey, at: SourceKey) {
        let Some(source) = self.sources.get(at) else { return };
        let identity = self.channels[source.channel].identity;
        let format = source.format.clone().filter(|_| source.is_typed);
        let format = format.and_then(|format| self.index(link, &format));
        self.say(link, &Control::Offer { identity, source: at.0, format });
    }

    /// The index of a format on a link, if that stands.
    pub(super) fn index(&mut self, link: LinkKey, format: &Format) -> Option<u16> {
        let link = self.links.get_mut(link).filter(|link| link.standing().is_some())?;
        Some(link.outbox.index(format))
    }

    /// A source as sinks are told of it: who has left does not come back under the same.
    pub(super) fn new_source_ref(&mut self) -> SourceRef {
        let source = SourceRef(self.sources_seen);
        self.sources_seen = self.sources_seen.wrapping_add(1);
        source
    }

    /// There is a source for the sinks of a channel.
    pub(super) fn heard_of(&mut self, at: ChannelKey, origin: Origin, node: NodeId, format: Option<Format>) {
        let source = self.new_source_ref();
        let epoch = match origin {
            Origin::Link(link, _) => self.links[link].epoch,
            Origin::Here(_) => 0,
        };
        let channel = &mut self.channels[at];
        let offer = Offer { origin, node, source, format, epoch };
        channel.offers.push(offer.clone());
        let sinks = channel.sinks.clone();
        for sink in sinks {
            // In a new epoch, it may have asked for what it is told of only now.
            if !self.has_subscribed(sink, origin) {
                self.subscribe(sink, &offer);
            }
        }
    }

    pub(super) fn was_offered(
        &mut self,
        link: LinkKey,
        identity: Identity,
        number: u32,
        format: Option<u16>,
    ) -> Result<()> {
        let (epoch, peer) = (self.links[link].epoch, self.links[link].peer);
        let format = format.map(|index| self.links[link].formats.at(index).cloned()).transpose()?;
        let Some(at) = self.find_channel("", Some(identity)) else { return Ok(()) };
        if !self.channels[at].members.contains_key(&link) {
            return Ok(());
        }
        let origin = Origin::Link(link, number);
        if let Some(known) = self.channels[at].offers.iter_mut().find(|offer| offer.origin == origin) {
            known.epoch = epoch;
            return Ok(());
        }
        let of_link = |offer: &&Offer| matches!(offer.origin, Origin::Link(from, _) if from == link);
        if self.channels[at].offers.iter().filter(of_link).count() >= self.settings.subscriptions {
            let error = Error::new(Code::Peers).at("sources");
            return Err(error.expected(format_args!("at most {} of a node", self.settings.subscriptions)));
        }
        self.heard_of(at, origin, peer, format);
        Ok(())
    }

    pub(super) fn declined(&mut self, channel: ChannelKey, node: NodeId, error: Error) {
        let declined = &mut self.channels[channel].declined;
        declined.push_back((node, error));
        if declined.len() > LATEST {
            declined.pop_front();
        }
        self.act(Action::Changed(channel));
    }
}
