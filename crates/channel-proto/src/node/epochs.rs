//! What is said when an epoch begins, and what is left when a link ends (`spec/channel.md`, "Cuts").

use super::state::{Offer, Origin, Purpose};
use super::{Node, closed};
use crate::account::Cause;
use crate::action::Action;
use crate::control::Control;
use crate::keys::{ChannelKey, ConnId, LinkKey, OpenKey, ReceivingKey, SendingKey};
use crate::memory::{Body, Storage};
use crate::receiving::{From, Receiving};
use crate::sending::Sending;
use isoform_core::{Code, Error};
use std::collections::BTreeSet;

impl<B: Body, S: Storage> Node<B, S> {
    /// Says everything anew that the other node must know, at the beginning of an epoch.
    pub(super) fn say_all(&mut self, link: LinkKey) {
        let mut common: BTreeSet<ChannelKey> = std::mem::take(&mut self.links[link].joining);
        common
            .extend(self.channels.iter().filter(|(_, channel)| channel.members.contains_key(&link)).map(|(at, _)| at));
        for at in common {
            self.join(at, link);
            if self.channels.get(at).is_some_and(|channel| channel.members.contains_key(&link)) {
                self.offer_all(at, link);
            }
        }
        self.ask_again(link);
        let subscribed: Vec<ReceivingKey> = self
            .receivings
            .iter()
            .filter(|(_, receiving)| matches!(receiving.from, From::Link(from, _) if from == link))
            .map(|(at, _)| at)
            .collect();
        subscribed.into_iter().for_each(|receiving| self.say_subscription(link, receiving));
        self.say(link, &Control::Synced);
    }

    /// The other side has said everything anew. What it did not speak of is over.
    pub(super) fn synced(&mut self, key: LinkKey) {
        self.forget_sendings(key, |_, sending| !sending.live);
        let epoch = self.links[key].epoch;
        // Subscriptions to a source that has gone since are answered with an End.
        let stale =
            |offer: &Offer| matches!(offer.origin, Origin::Link(link, _) if link == key) && offer.epoch != epoch;
        self.channels.iter_mut().for_each(|(_, channel)| channel.offers.retain(|offer| !stale(offer)));
    }

    /// Closes the accounts of subscriptions, by number, that the other side has not kept.
    pub(super) fn forget_sendings(&mut self, key: LinkKey, forgotten: impl Fn(u32, &Sending<B>) -> bool) {
        let all = self.links[key].sendings.iter().map(|(&number, &at)| (number, at));
        let gone: Vec<(u32, SendingKey)> = all.filter(|&(number, at)| forgotten(number, &self.sendings[at])).collect();
        for (number, at) in gone {
            self.links[key].sendings.remove(&number);
            self.sendings[at].forget(Cause::Unknown);
            self.finish_sending(at);
        }
    }

    /// Leaves everything, orderly.
    pub fn leave(&mut self) {
        self.channels.keys().into_iter().for_each(|channel| self.close(channel));
        self.links.keys().into_iter().for_each(|link| self.part_from(link));
        // Nobody waits for those who were still to be met.
        self.dials.keys().into_iter().for_each(|dial| self.forget_dial(dial));
        let strangers: Vec<ConnId> = self.connections.keys().copied().collect();
        for id in strangers {
            self.connections.remove(&id);
            self.act(Action::Close(id));
        }
        self.opens.keys().into_iter().for_each(|open| self.answer(open, Err(closed("node"))));
    }

    /// Says that this node leaves.
    pub(super) fn part_from(&mut self, key: LinkKey) {
        let Some(link) = self.links.get_mut(key) else { return };
        if let Some(id) = link.standing() {
            self.say(key, &Control::Bye { code: 0, text: String::new() });
            self.bid_farewell(key, id);
        }
        self.end_link(key, Cause::Unknown);
    }

    /// A link is over, and all that came over it.
    pub(super) fn end_link(&mut self, key: LinkKey, cause: Cause) {
        let Some(link) = self.links.remove(key) else { return };
        self.peers.remove(&link.peer);
        if let Some(id) = link.connection
            && self.connections.remove(&id).is_some()
        {
            self.act(Action::Close(id));
        }
        for &sending in link.sendings.values() {
            self.sendings[sending].forget(cause);
            self.finish_sending(sending);
        }
        let of_link = |receiving: &Receiving<S>| matches!(receiving.from, From::Link(from, _) if from == key);
        let ended: Vec<ReceivingKey> =
            self.receivings.iter().filter(|(_, receiving)| of_link(receiving)).map(|(at, _)| at).collect();
        ended.into_iter().for_each(|at| self.lose_source(at));
        self.channels.keys().into_iter().for_each(|at| self.lose_member(at, key));
        let asked: Vec<OpenKey> =
            self.opens.iter().filter(|(_, open)| open.asked == Some(key)).map(|(at, _)| at).collect();
        for open in asked {
            let error = Error::new(Code::Unreachable).at(format!("node {}", link.peer)).came("the link has ended");
            self.answer(open, Err(error));
        }
        for (_, sink) in self.sinks.iter_mut() {
            sink.old_news += sink.news.remove(&key).unwrap_or(0);
        }
        self.forget_dials(Purpose::Resume(key));
    }
}
