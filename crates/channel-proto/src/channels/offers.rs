//! Sources: those of this node, which it offers to the other members, and all to which its sinks may subscribe.

use super::{Channel, Channels};
use crate::action::Action;
use crate::budget::Resource;
use crate::control::Control;
use crate::keys::{ChannelKey, Identity, LinkKey, SinkKey, SourceKey, SourceRef};
use crate::links::{Links, told};
use crate::memory::Body;
use crate::offer::{Offer, Place};
use crate::rights::Right;
use isoform_core::{Error, Format, Result};

impl Channels {
    /// A channel has a new sink. Returns the sources that it may subscribe to.
    pub(crate) fn add_sink<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, sink: SinkKey) -> Vec<Offer> {
        let channel = &mut self.all[key];
        channel.sinks.push(sink);
        links.actions.act(Action::Changed(key));
        let offers = channel.offers().cloned().collect();
        self.announce(links, key);
        self.consider_all(links, key);
        offers
    }

    /// A sink has left its channel.
    pub(crate) fn end_sink<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, sink: SinkKey) {
        if let Some(channel) = self.all.get_mut(key) {
            channel.sinks.retain(|&other| other != sink);
            self.retries.forget_sink(sink);
            self.announce(links, key);
        }
    }

    /// A channel has a new source, of one format or of any. Offers it to the other members, and returns the offer for
    /// this node's sinks.
    pub(crate) fn add_source<B: Body>(
        &mut self,
        links: &mut Links<B>,
        key: ChannelKey,
        source: SourceKey,
        format: Option<&Format>,
    ) -> Offer {
        let (source_ref, node) = (self.new_source_ref(), links.key.id());
        let offer = Offer {
            origin: Place::Here(source),
            node,
            source: source_ref,
            format: format.cloned(),
            refused: None,
            epoch: 0,
        };
        let channel = &mut self.all[key];
        for (&link, member) in channel.members.iter_mut().filter(|(_, member)| member.has.sinks) {
            if links.stands(link) {
                member.offered_with = Some(rights_of_sinks(links, link, &channel.name));
            }
            let refused = links.expect_right(link, Right::Subscribe, &channel.name).err();
            tell_offer(links, channel.identity, link, (source, &offer), refused.as_ref());
        }
        channel.sources.insert(source, offer.clone());
        links.actions.act(Action::Changed(key));
        self.announce(links, key);
        offer
    }

    /// A source has left its channel.
    pub(crate) fn end_source<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, source: SourceKey) {
        let Some(channel) = self.all.get_mut(key) else { return };
        channel.sources.remove(&source);
        channel.members.keys().for_each(|&member| links.say(member, &Control::Withdraw { source: source.0 }));
        self.announce(links, key);
    }

    /// Offers another member all sources that this node has on a channel. It is told if it may not subscribe to them. If it may
    /// do more than when it was last offered sources, all are offered anew, so that its sinks ask again.
    pub(crate) fn offer_all<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        let channel = &mut self.all[key];
        let rights = rights_of_sinks(links, link, &channel.name);
        let Some(member) = channel.members.get_mut(&link).filter(|member| member.has.sinks) else { return };
        // Without a connection nothing is said; the next epoch says everything.
        let before = if links.stands(link) { member.offered_with.replace(rights) } else { None };
        let gains = before.is_some_and(|before| before.iter().zip(rights).any(|(had, has)| !had && has));
        if channel.sources.is_empty() {
            return;
        }
        if gains && rights[0] {
            channel.sources.keys().for_each(|source| links.say(link, &Control::Withdraw { source: source.0 }));
        }
        let refused = links.expect_right(link, Right::Subscribe, &channel.name).err();
        for (&source, offer) in &channel.sources {
            tell_offer(links, channel.identity, link, (source, offer), refused.as_ref());
        }
    }

    /// The rules have changed: tells another member what its sinks may have now, if that is something else.
    pub(crate) fn offer_changed<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        let Some(channel) = self.all.get_mut(key).filter(|channel| links.may(link, Right::See, &channel.name)) else {
            return;
        };
        let rights = rights_of_sinks(links, link, &channel.name);
        let Some(member) = channel.members.get_mut(&link).filter(|_| links.stands(link)) else { return };
        let Some(before) = member.offered_with else { return };
        let gains = before.iter().zip(rights).any(|(had, has)| !had && has);
        if before[0] && !rights[0] || gains && rights[0] {
            self.offer_all(links, key, link);
        } else {
            member.offered_with = Some(rights);
        }
    }

    /// Notes that the rules have refused a subscription of another member, or ended it.
    pub(crate) fn was_refused_by_rules<B: Body>(&mut self, links: &Links<B>, key: ChannelKey, link: LinkKey) {
        let Some(channel) = self.all.get_mut(key) else { return };
        let rights = rights_of_sinks(links, link, &channel.name);
        if let Some(member) = channel.members.get_mut(&link) {
            member.has_lacked.iter_mut().zip(rights).for_each(|(lacked, has)| *lacked |= !has);
        }
    }

    /// An epoch begins: offers all sources to another member, and anew if the rules have refused it one for a right that it has
    /// now. What it was told since then may not have arrived, or the rules may have changed more than once.
    pub(super) fn offer_in_epoch<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        if let Some(member) = self.all[key].members.get_mut(&link)
            && let Some(rights) = &mut member.offered_with
        {
            rights.iter_mut().zip(member.has_lacked).for_each(|(had, lacked)| *had &= !lacked);
        }
        self.offer_all(links, key, link);
    }

    /// Notes whether a sink of this node was told that it may not have events of another member's sources. Returns what was
    /// noted before.
    pub(crate) fn bar(&mut self, key: ChannelKey, link: LinkKey, is_barred: bool) -> bool {
        let member = self.all.get_mut(key).and_then(|channel| channel.members.get_mut(&link));
        member.is_some_and(|member| std::mem::replace(&mut member.is_barred, is_barred))
    }

    /// The sources that another member offers on a channel.
    pub(crate) fn offered_by(&self, key: ChannelKey, link: LinkKey) -> Vec<Offer> {
        let member = self.all.get(key).and_then(|channel| channel.members.get(&link));
        member.map_or(Vec::new(), |member| member.offers.values().cloned().collect())
    }

    /// Another member offers a source, unless `refused` says why this node may not subscribe to it. If this is news, returns
    /// the channel and the offer for its sinks.
    pub(crate) fn was_offered<B: Body>(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        identity: Identity,
        number: u32,
        format: Option<u16>,
        refused: Option<Error>,
    ) -> Result<Option<(ChannelKey, Offer)>> {
        let (epoch, peer) = (links[link].epoch, links[link].peer);
        let format = format.map(|index| links[link].formats.at(index).cloned()).transpose()?;
        let Some(key) = self.of(identity).filter(|&key| self.has_member(key, link)) else { return Ok(None) };
        let source = self.new_source_ref();
        let Some(member) = self.all[key].members.get_mut(&link) else { return Ok(None) };
        if let Some(offer) = member.offers.get_mut(&number) {
            offer.epoch = epoch;
            if offer.refused.is_some() == refused.is_some() {
                return Ok(None);
            }
            (offer.source, offer.format, offer.refused) = (source, format, refused);
            return Ok(Some((key, offer.clone())));
        }
        if let Err(error) = links.take(link, Resource::Offers, 1) {
            let (code, text) = (error.code() as u16, error.to_string());
            links.refusals.note(&error);
            links.say(link, &Control::Decline { source: number, sink: 0, code, text });
            return Ok(None);
        }
        let offer = Offer { origin: Place::Link(link, number), node: peer, source, format, refused, epoch };
        if let Some(member) = self.all[key].members.get_mut(&link) {
            member.offers.insert(number, offer.clone());
        }
        Ok(Some((key, offer)))
    }

    /// Another member's source has left.
    pub(crate) fn was_withdrawn<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey, source: u32) {
        let members = self.all.iter_mut().filter_map(|(_, channel)| channel.members.get_mut(&link));
        let gone = members.filter_map(|member| member.offers.remove(&source)).count();
        links.give(link, Resource::Offers, gone as u64);
    }

    /// The other side of a link has resent everything. Sources that it did not mention are gone. Subscriptions to them
    /// are answered with an End. Returns these sources.
    pub(crate) fn synced<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey) -> Vec<Place> {
        let epoch = links[link].epoch;
        let members = self.all.iter_mut().filter_map(|(_, channel)| channel.members.get_mut(&link));
        let old = |_: &u32, offer: &mut Offer| offer.epoch != epoch;
        let gone: Vec<Place> =
            members.flat_map(|member| member.offers.extract_if(.., old)).map(|(_, offer)| offer.origin).collect();
        links.give(link, Resource::Offers, gone.len() as u64);
        gone
    }

    /// A new offer for a source that is still there although a subscription to it has ended.
    pub(crate) fn offer_anew(&mut self, key: ChannelKey, origin: Place) -> Option<Offer> {
        let source = self.new_source_ref();
        let offer = self.offer_mut(key, origin)?;
        offer.source = source;
        Some(offer.clone())
    }

    /// The offer of a source that is still there.
    pub(crate) fn offer_at(&mut self, key: ChannelKey, origin: Place) -> Option<Offer> {
        self.offer_mut(key, origin).cloned()
    }

    fn offer_mut(&mut self, key: ChannelKey, origin: Place) -> Option<&mut Offer> {
        let channel = self.all.get_mut(key)?;
        match origin {
            Place::Here(own) => channel.sources.get_mut(&own),
            Place::Link(link, number) => channel.members.get_mut(&link)?.offers.get_mut(&number),
        }
    }

    /// The sources of other nodes that were offered no earlier than this one.
    pub(crate) fn offered_since(&self, key: ChannelKey, first: SourceRef) -> Vec<Offer> {
        let is_late = |offer: &&Offer| offer.origin.link().is_some() && offer.source.is_since(first);
        self.all.get(key).map_or(Vec::new(), |channel| channel.offers().filter(is_late).cloned().collect())
    }

    /// The sources of a channel.
    pub(crate) fn offered(&self, key: ChannelKey) -> Vec<Offer> {
        self.all.get(key).map_or(Vec::new(), |channel| channel.offers().cloned().collect())
    }

    /// A new number for a source. A source that has left never comes back under the same number.
    pub(crate) fn new_source_ref(&mut self) -> SourceRef {
        let source = SourceRef(self.sources_seen);
        self.sources_seen = self.sources_seen.wrapping_add(1);
        source
    }
}

impl Channel {
    /// The sources that the sinks of this node can subscribe to: its own, and those of the other members.
    fn offers(&self) -> impl Iterator<Item = &Offer> {
        let others = self.members.values().flat_map(|member| member.offers.values());
        self.sources.values().chain(others)
    }
}

/// What the rules let the sinks of another node do on the channel of this name: subscribe, block, query, parametrise.
fn rights_of_sinks<B: Body>(links: &Links<B>, link: LinkKey, channel: &str) -> [bool; 4] {
    [Right::Subscribe, Right::Block, Right::Query, Right::Parametrise].map(|right| links.may(link, right, channel))
}

/// Offers a source to another node, or tells it why it may not subscribe. Then the format is not its concern.
fn tell_offer<B: Body>(
    links: &mut Links<B>,
    identity: Identity,
    link: LinkKey,
    (source, offer): (SourceKey, &Offer),
    refused: Option<&Error>,
) {
    let format = offer.format.as_ref().filter(|_| refused.is_none());
    let format = format.and_then(|format| links.index(link, format));
    let (code, text) = refused.map_or((0, String::new()), told);
    links.say(link, &Control::Offer { identity, source: source.0, format, code, text });
}
