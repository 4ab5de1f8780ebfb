//! Decides with which members a node has links: those that it wants something from, and a few more, so that all members of
//! a channel hear of each other (`spec/channel.md`, "Which links there are").

use super::agenda::Errand;
use super::{Channel, Channels, Membership};
use crate::Time;
use crate::action::Action;
use crate::announcement::{Announcement, Has};
use crate::keys::{ChannelKey, LinkKey, NodeId};
use crate::links::{Links, Purpose, may_dial};
use crate::memory::Body;
use crate::offer::Place;
use isoform_core::{Code, Error};
use std::collections::BTreeSet;

/// How many links a node keeps that carry nothing wanted.
const SPARE: usize = 3;
/// How many neighbours a member looks for on a channel on which it wants nothing from any of them.
const NEIGHBOURS: usize = 2;
/// A link has this long to carry something wanted.
const GRACE: Time = Time::from_secs(2);
/// How often a node looks for links that it may end.
const TIDY: Time = Time::from_secs(1);
/// The time before the next attempt: the shortest, and the longest.
const SOON: Time = Time::from_millis(200);
const LATE: Time = Time::from_secs(30);
/// A member with enough neighbours waits up to this many times as long before it tries the addresses of its id again.
const RARE: u32 = 10;
/// A member whose link has ended in order is not chosen as a neighbour for this long.
const REST: Time = Time::from_secs(10);
/// After this many attempts, the sinks are told that a member cannot be reached.
const ATTEMPTS: u32 = 3;
/// How many addresses of a member are dialed.
const ADDRESSES: usize = 8;
/// A member that was never reached has this long to answer: usually, and if many are dialed.
const PATIENCE: Time = Time::from_secs(3);
const SHORT_PATIENCE: Time = Time::from_secs(1);
/// How many members are met only to ask them for a report.
const SURVEYED: usize = 256;

/// A member with sources that cannot be reached.
pub(crate) struct Missed {
    pub(crate) channel: ChannelKey,
    pub(crate) node: NodeId,
    pub(crate) error: Error,
}

impl Channel {
    /// Whether a neighbour has something for this node, or this node for it.
    fn wants(&self, member: &Membership) -> bool {
        !self.sinks.is_empty() && member.has.sources || !self.sources.is_empty() && member.has.sinks
    }

    /// Whether this node has a neighbour that it wants something from, or that wants something from it.
    fn is_served(&self) -> bool {
        self.members.values().any(|member| self.wants(member))
    }

    /// What this node has here.
    pub(super) fn has(&self) -> Has {
        Has { sources: !self.sources.is_empty(), sinks: !self.sinks.is_empty(), left: false, served: self.is_served() }
    }

    /// Whether this node should have a link with a member that it has heard of.
    fn wants_to_meet(&self, now: Time, node: NodeId) -> bool {
        let Some(other) = self.others.get(node).filter(|other| other.is_there()) else { return false };
        let is_surveyed = now < self.surveyed && self.members.len() < SURVEYED;
        !self.sinks.is_empty() && other.has_sources(now) || is_surveyed
    }
}

fn later(tries: u32) -> Time {
    (SOON * (1 << tries.min(8))).min(LATE)
}

/// The addresses of a member where this node may dial it. These leave out this node's own addresses.
pub(super) fn dialable<B: Body>(links: &Links<B>, said: &Announcement, is_near: bool) -> Vec<String> {
    let own = &links.settings.addresses;
    let all = said.addresses.iter().filter(|address| !own.contains(address) && may_dial(address, is_near));
    all.take(ADDRESSES).cloned().collect()
}

impl Channels {
    /// Dials a member soon, if this node wants something from it.
    pub(super) fn consider<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, node: NodeId) {
        if self.all[key].wants_to_meet(self.now, node) {
            if !self.agenda.has(key, Errand::Meet(node)) {
                self.agenda.set(key, Errand::Meet(node), self.now);
            }
            self.do_errands(links);
        } else if !self.has_enough(key) {
            self.agenda.set_by(key, Errand::Look, self.now);
        }
    }

    /// What this node wants on a channel has changed: considers all members that it has heard of.
    pub(super) fn consider_all<B: Body>(&mut self, links: &Links<B>, key: ChannelKey) {
        let now = self.now;
        let channel = &self.all[key];
        let linked: BTreeSet<NodeId> = channel.members.keys().filter_map(|&link| links.peer(link)).collect();
        let wanted = channel.others.iter().map(|(node, _)| node);
        let wanted: Vec<NodeId> =
            wanted.filter(|node| !linked.contains(node) && channel.wants_to_meet(now, *node)).collect();
        wanted.into_iter().for_each(|node| self.agenda.set_by(key, Errand::Meet(node), now));
    }

    /// Meets all members until some time, to ask them.
    pub(crate) fn survey<B: Body>(&mut self, links: &Links<B>, key: ChannelKey, until: Time) {
        let Some(channel) = self.all.get_mut(key) else { return };
        channel.surveyed = until;
        self.consider_all(links, key);
    }

    /// Whether there are members with sinks that have yet to come.
    pub(crate) fn awaits_sinks<B: Body>(&self, links: &Links<B>, key: ChannelKey) -> bool {
        let Some(channel) = self.all.get(key) else { return false };
        let is_linked = |node| links.with(node).is_some_and(|link| channel.members.contains_key(&link));
        let mut others = channel.others.iter().filter(|(_, other)| other.is_there() && other.said.has.sinks);
        others.any(|(node, other)| other.failure.is_none() && !is_linked(node))
    }

    /// Does what is due.
    pub(super) fn do_errands<B: Body>(&mut self, links: &mut Links<B>) {
        while let Some((key, errand)) = self.agenda.due(self.now) {
            if !self.all.contains(key) {
                continue;
            }
            match errand {
                Errand::Look => self.look(links, key),
                Errand::Renew => self.renew(self.now, links, key),
                Errand::Meet(node) => self.meet(links, key, node),
                Errand::Ask(sink, link, number) => self.ask_source(key, sink, Place::Link(link, number)),
            }
        }
    }

    /// Dials a member that this node wants something from.
    fn meet<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, node: NodeId) {
        if !self.all[key].wants_to_meet(self.now, node) {
            return;
        }
        match links.with(node) {
            Some(link) => self.join_once(links, key, link),
            None if links.is_dialing(node) => {}
            None if !self.has_place(links, key, node) || !self.is_allowed(links, key, node, false) => {
                // In no order: a liar could choose ids that always come first.
                let pause = SOON / 2 + SOON * self.random(1000) as u32 / 1000;
                self.agenda.set(key, Errand::Meet(node), self.now + pause);
            }
            None => self.dial(links, key, node),
        }
    }

    /// Whether a member may be dialed now, with those that are dialed already. Neighbours share the places for members that they have
    /// told of, and leave one more share free. For those that were reached once, there are as many places again.
    fn has_place<B: Body>(&self, links: &Links<B>, key: ChannelKey, node: NodeId) -> bool {
        let (most, used) = (links.settings.introductions, links.dials_to_meet());
        match self.all[key].others.get(node).filter(|other| !other.is_reached) {
            Some(other) => used < most && self.introductions.has_share(other.teller, most),
            None => used < 2 * most,
        }
    }

    /// Whether a member may be dialed that a neighbour has told of. One that was reached once may. Those that were never tried
    /// come before those that were tried in vain, and before random neighbours.
    fn is_allowed<B: Body>(&self, links: &Links<B>, key: ChannelKey, node: NodeId, can_wait: bool) -> bool {
        let Some(other) = self.all[key].others.get(node).filter(|other| !other.is_reached) else { return true };
        let teller = (links.principal(other.teller), other.teller);
        self.introductions.allow(self.now, teller, can_wait || other.tries > 0)
    }

    fn dial<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, node: NodeId) {
        let Some(other) = self.all[key].others.get(node) else { return };
        let (teller, is_reached, said) = (other.teller, other.is_reached, other.said.clone());
        let addresses = dialable(links, &said, other.is_near);
        if addresses.is_empty() {
            let error =
                Error::new(Code::Unreachable).found("a member that says no address where this node may dial it");
            return self.was_missed(links, key, node, error);
        }
        match is_reached {
            true => links.dial(addresses, Some(node), Purpose::Meet(key), self.now + links.settings.handshake),
            false => {
                let again = self.dial_for(links, key, teller, node, addresses);
                again.into_iter().for_each(|at| self.agenda.set(key, Errand::Meet(node), at));
            }
        }
    }

    /// Dials a member because of what a neighbour has told. If nobody was found at its addresses of late, gives the time
    /// when it may be dialed.
    pub(super) fn dial_for<B: Body>(
        &mut self,
        links: &mut Links<B>,
        key: ChannelKey,
        teller: LinkKey,
        node: NodeId,
        mut addresses: Vec<String>,
    ) -> Option<Time> {
        let now = self.now;
        let again = addresses.iter().map(|address| self.introductions.may_be_dialed(address)).min()?;
        addresses.retain(|address| self.introductions.may_be_dialed(address) <= now);
        if addresses.is_empty() {
            return Some(again);
        }
        if self.introductions.are_scarce(now, teller) {
            let one = self.random(addresses.len());
            addresses = vec![addresses.swap_remove(one)];
        }
        self.introductions.charge(now, (links.principal(teller), teller), node, addresses.clone());
        // If many are dialed already, those that do not answer are given up sooner, since others wait for their places.
        let is_busy = links.dials_to_meet() >= links.settings.introductions / 4;
        let patience = if is_busy { SHORT_PATIENCE } else { PATIENCE };
        links.dial(addresses, Some(node), Purpose::Meet(key), now + links.settings.handshake.min(patience));
        None
    }

    /// A member, or whoever is at an address that an id names, was dialed and not reached.
    pub(crate) fn was_not_met<B: Body>(
        &mut self,
        links: &mut Links<B>,
        key: ChannelKey,
        node: Option<NodeId>,
        error: Error,
    ) {
        node.into_iter().for_each(|node| self.introductions.was_missed(self.now, node));
        if let (Some(node), true) = (node, self.all.contains(key)) {
            self.was_missed(links, key, node, error);
        }
    }

    fn was_missed<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, node: NodeId, error: Error) {
        let (now, chance) = (self.now, self.random(1000) as u32);
        let Some(other) = self.all[key].others.get_mut(node) else { return };
        other.tries += 1;
        other.failure = Some(error);
        // Of many that dial one, not all come back at the same time.
        let pause = later(other.tries);
        let again = now + pause - pause / 2 * chance / 1000;
        other.rests = again;
        links.actions.act(Action::Changed(key));
        if self.all[key].wants_to_meet(now, node) {
            self.call(links, key, node);
            self.say_missed(key, node);
            self.agenda.set(key, Errand::Meet(node), again);
        }
        if !self.has_enough(key) {
            self.agenda.set_by(key, Errand::Look, now + SOON);
        }
    }

    /// Notes once, for the sinks of this node, that a member with sources cannot be reached.
    fn say_missed(&mut self, key: ChannelKey, node: NodeId) {
        let channel = &mut self.all[key];
        let Some(other) = channel.others.get_mut(node).filter(|other| other.tries >= ATTEMPTS) else { return };
        if channel.sinks.is_empty() || std::mem::replace(&mut other.is_missed, true) {
            return;
        }
        if let Some(error) = other.failure.clone() {
            self.missed.push(Missed { channel: key, node, error });
        }
    }

    /// The members with sources that cannot be reached, to be told to sinks.
    pub(crate) fn take_missed(&mut self) -> Vec<Missed> {
        std::mem::take(&mut self.missed)
    }

    /// Whether there are enough neighbours for this node to hear of all members.
    fn has_enough(&self, key: ChannelKey) -> bool {
        let channel = &self.all[key];
        channel.is_served() || channel.members.len() + channel.joining.len() >= NEIGHBOURS
    }

    /// Looks for neighbours if there are too few, and tries the addresses that the id named. So separated parts of a channel
    /// find each other again.
    fn look<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey) {
        let (now, looks) = (self.now, self.all[key].looks);
        self.all[key].looks = looks.saturating_add(1);
        self.try_an_address(links, key, looks);
        let has_enough = self.has_enough(key);
        let is_trying = !has_enough && self.try_a_member(links, key);
        let pause = match (has_enough, is_trying) {
            (true, _) => LATE * (looks + 1).min(RARE),
            (false, true) => SOON,
            (false, false) => later(looks),
        };
        let jitter = pause / 4 * self.random(1000) as u32 / 1000;
        self.agenda.set(key, Errand::Look, now + pause - jitter);
    }

    /// Tries one of the addresses that the id named.
    fn try_an_address<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, turn: u32) {
        let channel = &self.all[key];
        let Some(address) = channel.addresses.get(turn as usize % channel.addresses.len().max(1)) else { return };
        match links.at_address(address) {
            Some(link) => self.join_once(links, key, link),
            None if links.is_dialing_at(address) || links.room_to_meet() == 0 => {}
            None if links.settings.addresses.contains(address) => {}
            None => {
                let deadline = self.now + links.settings.handshake;
                links.dial(vec![address.clone()], None, Purpose::Meet(key), deadline);
            }
        }
    }

    /// Tries to make a random member a neighbour. Returns whether there was one to try.
    fn try_a_member<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey) -> bool {
        let (now, channel) = (self.now, &self.all[key]);
        let is_linked = |node| links.with(node).is_some_and(|link| channel.members.contains_key(&link));
        let others = channel.others.iter().filter(|(_, other)| other.is_there() && other.rests <= now);
        let others: Vec<NodeId> =
            others.map(|(node, _)| node).filter(|&node| !is_linked(node) && !links.is_dialing(node)).collect();
        let others: Vec<NodeId> = others.into_iter().filter(|&node| self.is_allowed(links, key, node, true)).collect();
        if others.is_empty() || links.room_to_meet() == 0 {
            return false;
        }
        let node = others[self.random(others.len())];
        if !self.has_place(links, key, node) {
            return true;
        }
        if let Some(other) = self.all[key].others.get_mut(node) {
            other.rests = now + REST;
        }
        match links.with(node) {
            Some(link) => self.join_once(links, key, link),
            None => self.dial(links, key, node),
        }
        true
    }

    /// A link with a member has ended: with an error, or in order. `since` says from when on it was a neighbour, if it was one.
    pub(super) fn was_parted<B: Body>(
        &mut self,
        links: &mut Links<B>,
        key: ChannelKey,
        node: NodeId,
        since: Option<Time>,
        why: Option<&Error>,
    ) {
        let now = self.now;
        let channel = &mut self.all[key];
        // Otherwise a member whose links end at once would be dialed again and again.
        let is_early = why.is_some() && since.is_none_or(|since| now < since + GRACE);
        if why.is_some() && !is_early {
            channel.looks = 0;
        }
        let mut again = now + SOON;
        if let Some(other) = channel.others.get_mut(node) {
            other.failure = why.cloned();
            other.tries = 0;
            other.parted = if is_early { other.parted + 1 } else { 0 };
            again = now + later(other.parted);
            other.rests = if why.is_some() { again } else { now + REST };
        }
        let looks = channel.looks;
        self.announce(links, key);
        if is_early {
            self.agenda.set(key, Errand::Look, now + later(looks));
        } else if why.is_some() || !self.has_enough(key) {
            self.agenda.set_by(key, Errand::Look, now);
        }
        if self.all[key].wants_to_meet(now, node) {
            self.agenda.set_by(key, Errand::Meet(node), again);
        }
        self.do_errands(links);
    }

    /// Ends links that carry nothing wanted, except for a few. `is_used` tells whether there are subscriptions on a link.
    pub(crate) fn tidy<B: Body>(&mut self, links: &mut Links<B>, is_used: impl Fn(LinkKey) -> bool) {
        let now = self.now;
        if self.tidied.is_some_and(|last| now < last + TIDY) || links.len() <= 1 {
            return;
        }
        self.tidied = Some(now);
        let mut wanted: BTreeSet<LinkKey> = self.opens.iter().flat_map(|(_, open)| open.awaited()).copied().collect();
        let (mut alone, mut needed) = (BTreeSet::<LinkKey>::new(), BTreeSet::<LinkKey>::new());
        for (_, channel) in self.all.iter() {
            wanted.extend(&channel.joining);
            let is_wanted = |member: &Membership| now < channel.surveyed || channel.wants(member);
            wanted.extend(channel.members.iter().filter(|(_, member)| is_wanted(member)).map(|(&link, _)| link));
            let is_served = channel.is_served();
            let needs = |member: &Membership| !is_served || !member.has.served;
            needed.extend(channel.members.iter().filter(|(_, member)| needs(member)).map(|(&link, _)| link));
            alone.extend(channel.members.keys().take(2).filter(|_| channel.members.len() == 1));
        }
        let (mut spare, mut useless) = (Vec::new(), Vec::new());
        for (link, since) in links.standing() {
            if since + GRACE > now || wanted.contains(&link) || is_used(link) {
                continue;
            }
            match needed.contains(&link) {
                true => spare.push((!alone.contains(&link), since, link)),
                // Both nodes are served elsewhere.
                false => useless.push(link),
            }
        }
        // Links with the only neighbour on a channel come first, then the oldest.
        spare.sort_unstable();
        let more = spare.into_iter().skip(SPARE).filter(|(is_free, ..)| *is_free).map(|(.., link)| link);
        useless.into_iter().chain(more).for_each(|link| links.part_from(link));
    }

    /// When this node next looks for links that it may end.
    pub(super) fn next_tidying<B>(&self, links: &Links<B>) -> Option<Time> {
        (links.len() > 1).then(|| self.tidied.map_or(self.now + TIDY, |last| last + TIDY).max(self.now))
    }
}
