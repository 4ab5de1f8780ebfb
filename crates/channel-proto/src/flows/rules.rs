//! Subscriptions that the rules do not allow any more (`spec/channel.md`, "Rules").

use super::inbox::Item;
use super::receiving::{From, Stage};
use super::{Flows, with_lane};
use crate::account::Cause;
use crate::control::Control;
use crate::keys::{ChannelKey, LinkKey, ReceivingKey, SendingKey};
use crate::links::{Links, told};
use crate::memory::{Body, Storage};
use isoform_core::Error;

impl<B: Body, S: Storage> Flows<B, S> {
    /// The subscriptions of another node to the sources of a channel, but for those that were revoked.
    pub(crate) fn sendings_on(&self, link: LinkKey, channel: ChannelKey) -> Vec<SendingKey> {
        let all = self.traffic.get(link).into_iter().flat_map(|traffic| traffic.sendings.keys());
        let is_it = |sending: &super::sending::Sending<B>| {
            !sending.is_revoked() && self.channel_of_source(sending.source) == Some(channel)
        };
        all.filter(|&at| is_it(&self.sendings[at])).collect()
    }

    /// Whether the source evaluates a query for a subscription.
    pub(crate) fn has_query(&self, at: SendingKey) -> bool {
        self.sendings[at].want.is_some()
    }

    /// Whether the sink of a subscription has asked for values of the source's parameters.
    pub(crate) fn has_parameters(&self, at: SendingKey) -> bool {
        self.sendings[at].steered.as_ref().is_some_and(|steered| steered.is_asked)
    }

    /// Ends a subscription at its source.
    pub(crate) fn revoke(&mut self, links: &mut Links<B>, link: LinkKey, at: SendingKey, why: &Error) {
        self.catch_up(links, at);
        self.stop_beginning(at, Cause::Ended);
        with_lane!(self, links, at, |sending, lane| sending.revoke(told(why), lane));
        let source = self.sendings[at].source;
        self.unpark(links, link);
        self.pump(links, at);
        self.make_room(links, source);
    }

    /// Takes away that a source may wait for a sink: a lossless subscription ends, and another one drops events.
    pub(crate) fn revoke_block(&mut self, links: &mut Links<B>, link: LinkKey, at: SendingKey, why: &Error) -> bool {
        let sending = &self.sendings[at];
        let (asked, granted) = (sending.asked, sending.granted);
        if sending.is_lossless() {
            self.revoke(links, link, at, why);
        } else if asked.policy == crate::Policy::Block {
            self.change(links, at, asked, false);
        }
        self.sendings[at].is_revoked() || self.sendings[at].granted != granted
    }

    /// The subscriptions of the sinks of a channel to the sources of another node.
    pub(crate) fn receivings_on(&self, link: LinkKey, channel: ChannelKey) -> Vec<ReceivingKey> {
        let is_it = |at: &ReceivingKey| {
            let receiving = &self.receivings[*at];
            let is_live = matches!(receiving.stage, Stage::Asked | Stage::Running);
            is_live && self.channel_of_sink(receiving.sink) == Some(channel)
        };
        self.receivings_from(link).into_iter().filter(is_it).collect()
    }

    /// The channel of a subscription of this node's sinks, by its number.
    pub(crate) fn channel_of_receiving(&self, link: LinkKey, at: ReceivingKey) -> Option<ChannelKey> {
        let receiving = self.receivings.get(at).filter(|receiving| receiving.is_from(link))?;
        self.channel_of_sink(receiving.sink).filter(|_| !receiving.stage.is_deaf())
    }

    /// Ends a subscription at its sink. What has arrived remains to be taken, and what still comes is discarded.
    pub(crate) fn bar(&mut self, links: &mut Links<B>, at: ReceivingKey, why: &Error) {
        let receiving = &mut self.receivings[at];
        let From::Link(link, number) = receiving.from else { return };
        let (sink, source) = (receiving.sink, receiving.source);
        let was = std::mem::replace(&mut receiving.stage, Stage::Barred);
        (receiving.long, receiving.origin) = (None, None);
        let is_drained = receiving.is_drained();
        if was == Stage::Running {
            self.tell_left(links, Some(link), at);
        }
        self.tell(links, Some(link), sink, Item::Refused(source, why.clone()));
        let (code, text) = told(why);
        links.say(link, &Control::Decline { source: number, sink: sink.0, code, text });
        if is_drained {
            self.unsubscribe(links, at);
        }
    }
}
