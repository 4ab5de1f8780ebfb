//! The other members of a channel, and how they learn of each other.

use super::opens::{OPENS, code_of, no_such_channel};
use super::{Channel, Channels, Membership};
use crate::Time;
use crate::action::Action;
use crate::control::{Control, Member};
use crate::keys::{ChannelKey, Identity, LinkKey, NodeId, OpenKey, check_name};
use crate::links::{Ended, Links, Purpose};
use crate::memory::Body;
use isoform_core::{Code, Error, Result};
use std::collections::BTreeSet;

/// A node's answer that a channel is open.
pub(crate) struct Opened {
    pub(crate) request: u32,
    pub(crate) format: Option<u16>,
    pub(crate) identity: Identity,
    pub(crate) name: String,
    pub(crate) members: Vec<Member>,
}

/// The most addresses of a member that are dialed, and the most bytes of each.
const ADDRESSES: usize = 8;
const ADDRESS: usize = 512;

impl Channels {
    /// Asks another member to let this node into a channel, which this node has open.
    pub(crate) fn join<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        let Some(channel) = self.all.get_mut(key) else { return };
        channel.joining.insert(link);
        let ask = Control::Open { request: key.0, identity: Some(channel.identity), name: channel.name.clone() };
        links.say(link, &ask);
    }

    /// Whether this node waits for answers from members of a channel that it has heard of.
    pub(crate) fn is_joining<B: Body>(&self, links: &Links<B>, key: ChannelKey) -> bool {
        links.is_dialing(Purpose::Join(key), None)
            || self.all.get(key).is_some_and(|channel| channel.joining.iter().any(|&link| links.stands(link)))
    }

    /// Resends everything that another node must know, at the start of an epoch.
    pub(crate) fn say_all<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey) {
        let is_common = |channel: &Channel| channel.joining.contains(&link) || channel.members.contains_key(&link);
        let common = self.all.iter().filter(|(_, channel)| is_common(channel)).map(|(key, _)| key);
        let common: Vec<ChannelKey> = common.collect();
        for key in common {
            self.join(links, key, link);
            if self.has_member(key, link) {
                self.offer_all(links, key, link);
            }
        }
        self.ask_again(links, link);
    }

    pub(crate) fn asked_to_open<B: Body>(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        request: u32,
        identity: Option<Identity>,
        name: &str,
    ) {
        let peers = links.settings.peers;
        let room = |channel: &Channel| channel.members.contains_key(&link) || channel.members.len() < peers;
        let found = self.find(name, identity);
        let refused = match found.map(|key| (key, room(&self.all[key]))) {
            None => no_such_channel(name),
            Some((_, false)) => Error::new(Code::Peers).at(name).expected(format_args!("fewer than {peers} members")),
            Some((key, true)) => return self.let_in(links, link, request, key),
        };
        let (code, text) = (refused.code() as u16, refused.to_string());
        links.say(link, &Control::Refused { request, code, text });
    }

    fn let_in<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey, request: u32, key: ChannelKey) {
        let channel = &self.all[key];
        let others = channel.members.keys().filter(|&&other| other != link);
        let members = others.map(|&other| member_of(links, other)).collect();
        let format = channel.format.as_ref().and_then(|format| links.index(link, format));
        let (identity, name) = (channel.identity, channel.name.clone());
        links.say(link, &Control::Opened { request, format, identity, name, members });
        self.introduce(links, key, link, &[]);
        if !self.add_member(links, key, link) {
            // The other node may have left and come back while the connection was down.
            self.offer_all(links, key, link);
        }
        if let Some(member) = self.all[key].members.get_mut(&link) {
            member.opened = links[link].epoch;
        }
    }

    /// Tells the other members about a new one, except for those that it `knows`. A member may have been let in so
    /// recently that it did not know that it is a member when the new node asked, or it may not have been there yet.
    fn introduce<B: Body>(&self, links: &mut Links<B>, key: ChannelKey, link: LinkKey, knows: &[Member]) {
        let Channel { identity, members, .. } = &self.all[key];
        if members.contains_key(&link) {
            return;
        }
        let knows: BTreeSet<NodeId> = knows.iter().map(|member| member.node).collect();
        let news = Control::Newcomer { identity: *identity, member: member_of(links, link) };
        for &other in members.keys() {
            if !knows.contains(&links[other].peer) {
                links.say(other, &news);
            }
        }
    }

    /// Makes a node a member, and offers it this node's sources. Returns whether it is new.
    fn add_member<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) -> bool {
        if self.has_member(key, link) {
            return false;
        }
        self.all[key].members.insert(link, Membership::default());
        self.offer_all(links, key, link);
        links.actions.act(Action::Changed(key));
        true
    }

    pub(crate) fn was_opened<B: Body>(
        &mut self,
        now: Time,
        links: &mut Links<B>,
        link: LinkKey,
        opened: Opened,
    ) -> Result<()> {
        let Opened { request, format, identity, name, members } = opened;
        let open = request.checked_sub(OPENS).map(OpenKey);
        let wanted = match open {
            Some(key) => self.opens.get(key).is_some_and(|open| open.awaits(link)),
            None => self.all.get(ChannelKey(request)).is_some_and(|channel| channel.identity == identity),
        };
        // The answer came too late, or nothing was asked. The sender counts this node as a member, so it has to be
        // told.
        if !wanted {
            match self.of(identity) {
                Some(key) => self.join(links, key, link),
                None => self.say_leave(links, link, identity),
            }
            return Ok(());
        }
        check_name(&name).map_err(|error| Error::new(Code::Frame).at("opened").found(error))?;
        if let Some(open) = open
            && let Some(error) = self.opens[open].is_another(&name, identity)
        {
            self.say_leave(links, link, identity);
            self.answer(links, open, Err(error));
            return Ok(());
        }
        let key = match self.of(identity) {
            Some(key) => key,
            None => {
                let format = format.map(|index| links[link].formats.at(index).cloned()).transpose()?;
                self.add(identity, &name, format)
            }
        };
        self.all[key].joining.remove(&link);
        self.introduce(links, key, link, &members);
        self.add_member(links, key, link);
        for member in members {
            self.heard_of_member(now, links, key, member);
        }
        if let Some(open) = open {
            self.answer(links, open, Ok(key));
        }
        Ok(())
    }

    /// A member reports another member.
    pub(crate) fn heard_of_newcomer<B: Body>(
        &mut self,
        now: Time,
        links: &mut Links<B>,
        link: LinkKey,
        identity: Identity,
        member: Member,
    ) {
        if let Some(key) = self.of(identity)
            && self.has_member(key, link)
        {
            self.heard_of_member(now, links, key, member);
        }
    }

    fn heard_of_member<B: Body>(&mut self, now: Time, links: &mut Links<B>, key: ChannelKey, member: Member) {
        let known = links.with(member.node);
        let is_member = known.is_some_and(|link| self.has_member(key, link));
        let is_dialed = links.is_dialing(Purpose::Join(key), Some(member.node));
        let crowded = links.dialing() >= links.settings.peers;
        if member.node == links.key.id() || is_member || is_dialed || crowded {
            return;
        }
        match known {
            // This node has already asked it.
            Some(link) if self.all[key].joining.contains(&link) => {}
            // If the link is cut, the next epoch resends this with everything else.
            Some(link) => self.join(links, key, link),
            None if member.addresses.is_empty() => {}
            None => {
                let deadline = now + links.settings.linger;
                let addresses = member.addresses.into_iter().filter(|address| address.len() <= ADDRESS).take(ADDRESSES);
                links.dial(addresses.collect(), Some(member.node), Purpose::Join(key), deadline);
            }
        }
    }

    pub(crate) fn was_refused<B: Body>(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        request: u32,
        code: u16,
        text: String,
    ) {
        let error = Error::new(code_of(code)).found(text);
        match request.checked_sub(OPENS).map(OpenKey) {
            Some(key) if self.opens.get(key).is_some_and(|open| open.awaits(link)) => {
                self.answer(links, key, Err(error));
            }
            Some(_) => {}
            None => self.was_not_let_in(links, link, ChannelKey(request)),
        }
    }

    /// A node that is a member here has refused to let this node in. It stays a member only if it has opened the
    /// channel here in this epoch: then it refused before it was let in itself.
    fn was_not_let_in<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey, key: ChannelKey) {
        let Some(channel) = self.all.get_mut(key) else { return };
        channel.joining.remove(&link);
        if channel.members.get(&link).is_some_and(|member| member.opened != links[link].epoch) {
            self.lose_member(links, key, link);
        }
    }

    /// Says that this node is not a member of a channel. The other node may have answered earlier requests before this
    /// arrives, and then forgets its answers with the membership. So these requests are sent again.
    pub(super) fn say_leave<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey, identity: Identity) {
        links.say(link, &Control::Leave { identity });
        self.ask_again(links, link);
    }

    /// A node is no longer a member. Its subscriptions and sources end by frames of their own.
    pub(crate) fn lose_member<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        if self.all[key].members.remove(&link).is_some() {
            links.actions.act(Action::Changed(key));
        }
    }

    /// A link has ended, and with it the members and sources behind it.
    pub(crate) fn lose_link<B: Body>(&mut self, now: Time, links: &mut Links<B>, ended: Ended) {
        let Ended { link, peer, addresses, is_given_up } = ended;
        let mut common = Vec::new();
        for key in self.all.keys() {
            if self.has_member(key, link) {
                common.push(key);
            }
            self.all[key].joining.remove(&link);
            self.lose_member(links, key, link);
        }
        let error = Error::new(Code::Unreachable).at(format!("node {peer}")).found("the link has ended");
        self.fail_opens(links, link, &error);
        for key in common.into_iter().filter(|_| is_given_up) {
            self.heard_of_member(now, links, key, Member { node: peer, addresses: addresses.clone() });
        }
    }
}

/// The description of a linked node for other members.
fn member_of<B>(links: &Links<B>, link: LinkKey) -> Member {
    let link = &links[link];
    Member { node: link.peer, addresses: link.addresses.clone() }
}
