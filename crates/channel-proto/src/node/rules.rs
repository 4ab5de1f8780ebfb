//! The rules, when they change or become known anew (`spec/channel.md`, "Rules").

use super::Node;
use crate::Time;
use crate::flows::Flows;
use crate::keys::{ChannelKey, LinkKey, ReceivingKey, SendingKey};
use crate::memory::{Body, Storage};
use crate::rights::{Right, Rights};
use isoform_core::Error;

impl<B: Body, S: Storage> Node<B, S> {
    /// Sets the rules for other nodes. What they do not allow any more ends; what they allow now begins.
    pub fn set_rights(&mut self, now: Time, rights: Option<Rights>) {
        self.links.settings.rights = rights;
        for link in self.links.keys() {
            // Sinks learn from the ends of their subscriptions that they may not have events any more, and later ones from
            // the offers.
            for channel in self.channels.keys() {
                self.channels.offer_changed(&mut self.links, channel, link);
            }
            self.heed(link);
        }
        // What ends or begins on one link is told on others. So first, what is not allowed has ended on all of them.
        self.announce_all();
        for link in self.links.keys() {
            for channel in self.channels.keys() {
                self.channels.join_again(&mut self.links, channel, link);
                self.subscribe_more(channel, link);
            }
        }
        self.follow(now);
    }

    /// Tells the members of each channel what has changed on it.
    pub(super) fn announce_all(&mut self) {
        for channel in self.channels.keys() {
            self.channels.announce(&mut self.links, channel);
        }
    }

    /// Counts an error of the caller's among the refusals, so that reports tell of it.
    pub fn note(&mut self, error: &Error) {
        self.links.refusals.note(error);
    }

    /// Ends what the rules do not allow the node at the other end of a link, on any channel.
    pub(super) fn heed(&mut self, link: LinkKey) {
        if self.links.settings.rights.is_none() {
            return;
        }
        for key in self.channels.keys() {
            let Some(channel) = self.channels.get(key).filter(|channel| channel.members.contains_key(&link)) else {
                continue;
            };
            let links = &self.links;
            let lacks = |right| links.forbidden(link, right, &channel.name);
            let see = lacks(Right::See);
            let either = |right| see.clone().or_else(|| lacks(right));
            let rights = [Right::Subscribe, Right::Publish, Right::Block, Right::Query, Right::Parametrise];
            let [subscribe, publish, block, query, parametrise] = rights.map(either);
            if let Some(why) = subscribe {
                self.revoke_all(key, link, &why, |_, _| true);
            } else {
                if let Some(why) = query {
                    self.revoke_all(key, link, &why, Flows::has_query);
                }
                if let Some(why) = parametrise {
                    self.revoke_all(key, link, &why, Flows::has_parameters);
                }
                if let Some(why) = block {
                    for at in self.flows.sendings_on(link, key) {
                        if self.flows.revoke_block(&mut self.links, link, at, &why) {
                            self.channels.was_refused_by_rules(&self.links, key, link);
                            self.links.refusals.note(&why);
                        }
                    }
                }
            }
            if let Some(why) = publish {
                self.channels.bar(key, link, true);
                for at in self.flows.receivings_on(link, key) {
                    self.links.refusals.note(&why);
                    self.flows.bar(&mut self.links, at, &why);
                }
            }
            if let Some(why) = see {
                self.links.refusals.note(&why);
                self.channels.turn_out(&mut self.links, key, link);
            }
        }
    }

    /// Ends those subscriptions of another node to the sources of a channel that are `concerned`.
    fn revoke_all(
        &mut self,
        key: ChannelKey,
        link: LinkKey,
        why: &Error,
        concerned: impl Fn(&Flows<B, S>, SendingKey) -> bool,
    ) {
        for at in self.flows.sendings_on(link, key) {
            if concerned(&self.flows, at) {
                self.links.refusals.note(why);
                self.channels.was_refused_by_rules(&self.links, key, link);
                self.flows.revoke(&mut self.links, link, at, why);
            }
        }
    }

    /// Subscribes to the sources of a node that may publish now, and could not before.
    pub(super) fn subscribe_more(&mut self, key: ChannelKey, link: LinkKey) {
        let Some(channel) = self.channels.get(key) else { return };
        if !self.links.may(link, Right::Publish, &channel.name) || !self.channels.bar(key, link, false) {
            return;
        }
        for offer in self.channels.offered_by(key, link) {
            let mut sinks = self.channels.sinks(key);
            sinks.retain(|&sink| self.flows.may_subscribe(sink, &offer));
            // For sinks, a source that has left and comes back is another one.
            if !sinks.is_empty()
                && let Some(offer) = self.channels.offer_anew(key, offer.origin)
            {
                sinks.into_iter().for_each(|sink| self.subscribe(sink, &offer));
            }
        }
    }

    /// The next event of a subscription comes from elsewhere. Ends it if its source's node may not relay events.
    pub(super) fn expect_relay(&mut self, link: LinkKey, subscription: u32) {
        let at = ReceivingKey(subscription);
        let channel = self.flows.channel_of_receiving(link, at).and_then(|channel| self.channels.get(channel));
        if let Some(channel) = channel
            && let Err(why) = self.links.expect_right(link, Right::Relay, &channel.name)
        {
            self.flows.bar(&mut self.links, at, &why);
        }
    }
}
