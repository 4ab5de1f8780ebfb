//! The neighbours on a channel, the members that this node has a link with: how they are let in, and how they leave.

use super::agenda::Errand;
use super::opens::{OPENS, no_such_channel};
use super::{Channel, Channels, Derived, Membership};
use crate::Time;
use crate::action::Action;
use crate::budget::Resource;
use crate::control::Control;
use crate::keys::OpenKey;
use crate::keys::{ChannelKey, Identity, LinkKey, check_name};
use crate::links::{Ended, Links, refusal_of, told};
use crate::memory::Body;
use crate::rights::Right;
use isoform_core::{Code, Error, Result};
use isoform_query::Query;

/// The time after which a new member looks whether it has enough neighbours.
const FIRST_LOOK: Time = Time::from_millis(200);

/// A node's answer that a channel is open.
pub(crate) struct Opened {
    pub(crate) request: u32,
    pub(crate) format: Option<u16>,
    pub(crate) identity: Identity,
    pub(crate) name: String,
    /// The text of a query, if what was opened is derived from the channel.
    pub(crate) query: String,
}

impl Channels {
    /// Asks another member to let this node into a channel, which this node has open.
    pub(crate) fn join<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        let Some(channel) = self.all.get_mut(key) else { return };
        if !links.may(link, Right::See, &channel.name) {
            return;
        }
        channel.joining.insert(link);
        let ask = Control::Open { request: key.0, identity: Some(channel.identity), name: channel.name.clone() };
        links.say(link, &ask);
    }

    /// The same, unless it is a neighbour or was asked already.
    pub(super) fn join_once<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        let is_new = |channel: &Channel| !channel.members.contains_key(&link) && !channel.joining.contains(&link);
        if self.all.get(key).is_some_and(is_new) {
            self.join(links, key, link);
        }
    }

    /// A node was dialed for a channel, and has a link now.
    pub(crate) fn has_met<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        links.peer(link).into_iter().for_each(|node| self.introductions.was_reached(node));
        self.join_once(links, key, link);
        self.do_errands(links);
    }

    /// Resends everything that another node must know, at the start of an epoch.
    pub(crate) fn say_all<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey) {
        let peer = links[link].peer;
        let is_common = |channel: &Channel| {
            channel.joining.contains(&link)
                || channel.members.contains_key(&link)
                || channel.others.get(peer).is_some_and(|other| other.is_there())
        };
        let common = self.all.iter().filter(|(_, channel)| is_common(channel)).map(|(key, _)| key);
        let common: Vec<ChannelKey> = common.collect();
        for key in common {
            self.join(links, key, link);
            self.offer_in_epoch(links, key, link);
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
        // The rules come first. So the answer does not tell those who may not see a channel whether there is one. An
        // identity does not lead to a channel of another name that its owner may not see.
        let visible = links.expect_right(link, Right::See, name).map(|()| {
            let sees = |found: &Derived| links.expect_right(link, Right::See, &self.all[found.channel].name).is_ok();
            found.filter(sees).filter(|found| links.lets_open(link, Some(found.channel), name))
        });
        let with_room = |found: Derived| {
            let has_room = room(&self.all[found.channel]);
            (found, has_room)
        };
        let refused = match visible.map(|found| found.map(with_room)) {
            Err(forbidden) => forbidden,
            Ok(None) => no_such_channel(name),
            Ok(Some((_, false))) => {
                Error::new(Code::Peers).at(name).expected(format_args!("fewer than {peers} members"))
            }
            Ok(Some((found, true))) => return self.let_in(links, link, request, found),
        };
        let (code, text) = told(&refused);
        links.say(link, &Control::Refused { request, code, text });
    }

    fn let_in<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey, request: u32, found: Derived) {
        let Derived { channel: key, query } = found;
        let channel = &self.all[key];
        let format = channel.format.as_ref().and_then(|format| links.index(link, format));
        let (identity, name) = (channel.identity, channel.name.clone());
        let query = query.map_or(String::new(), |query| query.to_string());
        links.say(link, &Control::Opened { request, format, identity, name, query });
        let is_new = self.add_member(links, key, link);
        let epoch = links[link].epoch;
        let opened = self.all[key].members.get_mut(&link).map(|member| std::mem::replace(&mut member.opened, epoch));
        // It knows the other members already.
        let is_again = !is_new && opened == Some(epoch);
        if is_again {
            self.greet_again(links, key, link);
        } else {
            self.greet(links, key, link);
        }
        if !is_new {
            // The other node may have left and come back while the connection was down.
            self.offer_all(links, key, link);
        }
    }

    /// Makes a node a neighbour. Returns whether it is new.
    fn add_member<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) -> bool {
        let channel = &mut self.all[key];
        if channel.members.contains_key(&link) {
            return false;
        }
        channel.members.insert(link, Membership { since: self.now, ..Membership::default() });
        links.tie(link);
        if let Some(other) = channel.others.get_mut(links[link].peer) {
            other.was_reached();
        }
        links.actions.act(Action::Changed(key));
        true
    }

    pub(crate) fn was_opened<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey, opened: Opened) -> Result<()> {
        let Opened { request, format, identity, name, query } = opened;
        let open = request.checked_sub(OPENS).map(OpenKey);
        let wanted = match open {
            Some(key) => self.opens.get(key).is_some_and(|open| open.awaits(link)),
            None => self.all.get(ChannelKey(request)).is_some_and(|channel| channel.identity == identity),
        };
        // The answer came too late, or nothing was asked. The sender counts this node as a member, so it has to be
        // told.
        if !wanted {
            match self.of(identity).filter(|&key| links.may(link, Right::See, &self.all[key].name)) {
                Some(key) => self.join(links, key, link),
                None => self.say_leave(links, link, identity),
            }
            return Ok(());
        }
        check_name(&name).map_err(|error| Error::new(Code::Frame).at("opened").found(error))?;
        let mut derived = None;
        if let Some(open) = open {
            let another = self.opens[open].is_another(&name, identity, !query.is_empty()).map_or(Ok(()), Err);
            match another.and_then(|()| if query.is_empty() { Ok(None) } else { Query::parse(&query).map(Some) }) {
                Ok(query) => derived = query,
                Err(error) => {
                    self.say_leave(links, link, identity);
                    self.open_refused(links, open, link, error);
                    return Ok(());
                }
            }
        }
        // Its name here may be another one, if the identity was known before.
        let known = self.of(identity);
        let seen = known.map_or(&name, |key| &self.all[key].name);
        if let Err(error) = links.expect_right(link, Right::See, seen) {
            self.say_leave(links, link, identity);
            match open {
                Some(open) => self.open_refused(links, open, link, error),
                None => self.was_not_let_in(links, link, ChannelKey(request)),
            }
            return Ok(());
        }
        let key = match known {
            Some(key) => key,
            None => {
                let format = format.map(|index| links[link].formats.at(index).cloned()).transpose()?;
                self.add(identity, &name, format)
            }
        };
        self.all[key].joining.remove(&link);
        if self.add_member(links, key, link) {
            self.greet(links, key, link);
        }
        self.agenda.set_by(key, Errand::Look, self.now + FIRST_LOOK);
        if let Some(open) = open {
            self.answer(links, open, Ok(Derived { channel: key, query: derived }));
        }
        Ok(())
    }

    pub(crate) fn was_refused<B: Body>(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        request: u32,
        code: u16,
        text: String,
    ) {
        let error = refusal_of(code, &text);
        match request.checked_sub(OPENS).map(OpenKey) {
            Some(key) if self.opens.get(key).is_some_and(|open| open.awaits(link)) => {
                self.open_refused(links, key, link, error);
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
        if channel.members.get(&link).is_none_or(|member| member.opened != links[link].epoch) {
            self.left(links, key, link);
        }
    }

    /// A node says that it is no member.
    pub(crate) fn left<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        let was_member = self.has_member(key, link);
        self.lose_member(links, key, link);
        let channel = &mut self.all[key];
        if let Some(other) = channel.others.get_mut(links[link].peer) {
            other.is_gone = true;
        }
        // Who was no member is asked again when this node looks the next time: at once, it would refuse again.
        if was_member {
            channel.looks = 0;
            self.agenda.set_by(key, Errand::Look, self.now);
        }
        self.announce(links, key);
    }

    /// A member may not see a channel any more. The others are not told here what this changes: until all are out that
    /// may not see it, some of them might be among those.
    pub(crate) fn turn_out<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        let identity = self.all[key].identity;
        self.say_leave(links, link, identity);
        self.lose_member(links, key, link);
    }

    /// The rules have changed: asks a node to let this one in that may see a channel again.
    pub(crate) fn join_again<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        let is_known = |node| self.all[key].others.get(node).is_some_and(|other| other.is_there());
        if links.peer(link).is_some_and(is_known) {
            self.join_once(links, key, link);
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
        if let Some(member) = self.all[key].members.remove(&link) {
            links.give(link, Resource::Offers, member.offers.len() as u64);
            links.untie(link);
            links.actions.act(Action::Changed(key));
        }
    }

    /// A link has ended, and with it the neighbours and sources behind it.
    pub(crate) fn lose_link<B: Body>(&mut self, links: &mut Links<B>, ended: Ended) {
        let Ended { link, peer, why, .. } = ended;
        self.unproven.forget(self.now, link);
        self.retries.forget_link(link);
        let mut common = Vec::new();
        for key in self.all.keys() {
            let channel = &mut self.all[key];
            let since = channel.members.get(&link).map(|member| member.since);
            channel.greeted.remove(&link);
            if channel.joining.remove(&link) || since.is_some() {
                common.push((key, since));
            }
            self.lose_member(links, key, link);
        }
        let ended = || Error::new(Code::Unreachable).at(format!("node {peer}")).found("the link has ended");
        self.fail_opens(links, link, &why.clone().unwrap_or_else(ended));
        for (key, since) in common {
            self.was_parted(links, key, peer, since, why.as_ref());
        }
    }
}
