//! Who else has a channel open, and how they come to know each other (`spec/channel.md`, "Channels").

use super::Node;
use super::channels::{OPENS, code_of, no_such_channel};
use super::state::{Channel, Membership, Origin, Purpose};
use crate::Time;
use crate::action::Action;
use crate::control::{Control, Member};
use crate::keys::{ChannelKey, Identity, LinkKey, NodeId, OpenKey, check_name};
use crate::memory::{Body, Storage};
use isoform_core::{Code, Error, Result};
use std::collections::BTreeSet;

impl<B: Body, S: Storage> Node<B, S> {
    /// Opens a channel, which this node has, at another member.
    pub(super) fn join(&mut self, at: ChannelKey, link: LinkKey) {
        let Some(channel) = self.channels.get(at) else { return };
        let ask = Control::Open { request: at.0, identity: Some(channel.identity), name: channel.name.clone() };
        if let Some(link) = self.links.get_mut(link) {
            link.joining.insert(at);
        }
        self.say(link, &ask);
    }

    pub(super) fn asked_to_open(&mut self, link: LinkKey, request: u32, identity: Option<Identity>, name: &str) {
        let room =
            |channel: &Channel| channel.members.contains_key(&link) || channel.members.len() < self.settings.peers;
        let found = self.find_channel(name, identity);
        let refused = match found.map(|at| (at, room(&self.channels[at]))) {
            None => no_such_channel(name),
            Some((_, false)) => Error::new(Code::Peers).at(name).expected("fewer members"),
            Some((at, true)) => return self.let_in(link, request, at),
        };
        let (code, text) = (refused.code() as u16, refused.to_string());
        self.say(link, &Control::Refused { request, code, text });
    }

    pub(super) fn let_in(&mut self, link: LinkKey, request: u32, at: ChannelKey) {
        let channel = &self.channels[at];
        let others = channel.members.keys().filter(|&&other| other != link).map(|&key| {
            let other = &self.links[key];
            Member { node: other.peer, addresses: other.addresses.clone() }
        });
        let members = others.collect();
        let (identity, name, format) = (channel.identity, channel.name.clone(), channel.format.clone());
        let format = format.and_then(|format| self.index(link, &format));
        self.say(link, &Control::Opened { request, format, identity, name, members });
        self.introduce(at, link, &[]);
        if !self.add_member(at, link) {
            // It may have left and come back while this node could not know.
            self.offer_all(at, link);
        }
        let epoch = self.links[link].epoch;
        if let Some(member) = self.channels[at].members.get_mut(&link) {
            member.opened = epoch;
        }
    }

    /// Tells the other members of one that has come, but for those whom it `knows`. They may have been let in so recently
    /// that they do not know that they are members when it asks them, or not have been there when it asked.
    fn introduce(&mut self, at: ChannelKey, link: LinkKey, knows: &[Member]) {
        let Channel { identity, members, .. } = &self.channels[at];
        if members.contains_key(&link) {
            return;
        }
        let knows: BTreeSet<NodeId> = knows.iter().map(|member| member.node).collect();
        let is_strange = |&&other: &&LinkKey| !knows.contains(&self.links[other].peer);
        let (identity, others): (_, Vec<LinkKey>) = (*identity, members.keys().filter(is_strange).copied().collect());
        let newcomer = &self.links[link];
        let member = Member { node: newcomer.peer, addresses: newcomer.addresses.clone() };
        let news = Control::Newcomer { identity, member };
        others.into_iter().for_each(|other| self.say(other, &news));
    }

    /// Takes a node for a member, and tells it of this node's sources. Whether that is news.
    pub(super) fn add_member(&mut self, at: ChannelKey, link: LinkKey) -> bool {
        if self.channels[at].members.contains_key(&link) {
            return false;
        }
        self.channels[at].members.insert(link, Membership::default());
        self.offer_all(at, link);
        self.act(Action::Changed(at));
        true
    }

    /// Tells another member of all sources that this node has on a channel.
    pub(super) fn offer_all(&mut self, at: ChannelKey, link: LinkKey) {
        let sources = self.channels[at].sources.clone();
        sources.into_iter().for_each(|source| self.offer(link, source));
    }

    #[expect(clippy::too_many_arguments, reason = "they are the fields of the frame")]
    pub(super) fn was_opened(
        &mut self,
        now: Time,
        link: LinkKey,
        request: u32,
        format: Option<u16>,
        identity: Identity,
        name: &str,
        members: Vec<Member>,
    ) -> Result<()> {
        let open = request.checked_sub(OPENS).map(OpenKey);
        let wanted = match open {
            Some(key) => self.opens.get(key).is_some_and(|open| open.asked == Some(link) && open.answer.is_none()),
            None => self.channels.get(ChannelKey(request)).is_some_and(|channel| channel.identity == identity),
        };
        // An answer that comes too late, or to what nobody asked: the sender counts this node as a member, which it is not.
        if !wanted {
            match self.find_channel("", Some(identity)) {
                Some(at) => self.join(at, link),
                None => self.say_leave(link, identity),
            }
            return Ok(());
        }
        check_name(name).map_err(|error| Error::new(Code::Frame).at("opened").came(error))?;
        let at = match self.find_channel("", Some(identity)) {
            Some(at) => at,
            None => {
                let formats = &self.links[link].formats;
                let format = format.map(|index| formats.at(index).cloned()).transpose()?;
                self.add_channel(identity, name, format)
            }
        };
        self.links[link].joining.remove(&at);
        self.introduce(at, link, &members);
        self.add_member(at, link);
        for member in members {
            self.heard_of_member(now, at, member);
        }
        if let Some(key) = open {
            self.answer(key, Ok(at));
        }
        Ok(())
    }

    pub(super) fn heard_of_member(&mut self, now: Time, at: ChannelKey, member: Member) {
        let known = self.peers.get(&member.node).copied();
        let is_member = known.is_some_and(|link| self.channels[at].members.contains_key(&link));
        let dialing =
            |purpose: Purpose, node: Option<NodeId>| purpose == Purpose::Join(at) && node == Some(member.node);
        let is_dialed = self.dials.iter().any(|(_, dial)| dialing(dial.purpose, dial.wanted));
        let crowded = self.dials.len() >= self.settings.peers;
        if member.node == self.settings.id || is_member || is_dialed || crowded {
            return;
        }
        match known {
            // It has been asked already.
            Some(link) if self.links[link].joining.contains(&at) => {}
            // If it is cut, that is said with all else in the next epoch.
            Some(link) => self.join(at, link),
            None if member.addresses.is_empty() => {}
            None => {
                let deadline = now + self.settings.linger;
                self.dial(member.addresses, Some(member.node), Purpose::Join(at), deadline);
            }
        }
    }

    pub(super) fn was_refused(&mut self, link: LinkKey, request: u32, code: u16, text: String) {
        let error = Error::new(code_of(code)).came(text);
        match request.checked_sub(OPENS).map(OpenKey) {
            Some(key) if self.opens.get(key).is_some_and(|open| open.asked == Some(link)) => {
                self.answer(key, Err(error));
            }
            Some(_) => {}
            None => self.was_not_let_in(link, ChannelKey(request)),
        }
    }

    /// A node that is taken for a member does not take this one for one. If it has opened the channel here in this epoch,
    /// that is news: when it refused, it had still to be let in.
    fn was_not_let_in(&mut self, link: LinkKey, at: ChannelKey) {
        let epoch = self.links[link].epoch;
        self.links[link].joining.remove(&at);
        let member = self.channels.get(at).and_then(|channel| channel.members.get(&link));
        if member.is_some_and(|member| member.opened != epoch) {
            self.lose_member(at, link);
        }
    }

    /// Says that this node is no member of a channel. What it has asked the other before may have been answered before that
    /// arrives, and would be forgotten with it: so it is asked again.
    pub(super) fn say_leave(&mut self, link: LinkKey, identity: Identity) {
        self.say(link, &Control::Leave { identity });
        self.ask_again(link);
    }

    /// Asks for what the application wants to open, and has no answer for yet, once more.
    pub(super) fn ask_again(&mut self, link: LinkKey) {
        let asked = self.opens.iter().filter(|(_, open)| open.asked == Some(link) && open.answer.is_none());
        let asked: Vec<OpenKey> = asked.map(|(at, _)| at).collect();
        asked.into_iter().for_each(|open| self.ask_to_open(open, link));
    }

    /// A node is no member any more. Its subscriptions and sources end by frames of their own.
    pub(super) fn lose_member(&mut self, at: ChannelKey, link: LinkKey) {
        let channel = &mut self.channels[at];
        channel.offers.retain(|offer| !matches!(offer.origin, Origin::Link(from, _) if from == link));
        if channel.members.remove(&link).is_some() {
            self.act(Action::Changed(at));
        }
    }
}
