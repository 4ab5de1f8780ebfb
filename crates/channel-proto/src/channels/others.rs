//! What a node knows of the other members of a channel from their announcements, linked or not.

use crate::Time;
use crate::announcement::{Announcement, Has};
use crate::keys::{LinkKey, NodeId};
use isoform_core::Error;
use std::collections::BTreeMap;

/// How many members without sources are remembered, and how many with them.
pub(super) const SOME: usize = 64;
pub(super) const SOURCES: usize = 4096;
/// One neighbour may fill a half of the one, and a quarter of the other, with members that this node has never reached.
const SHARE: usize = 2;
const SHARE_OF_SOURCES: usize = 4;
/// A member with sources that does not say so again for this long counts as gone.
const STALE: Time = Time::from_secs(100);
/// An announcement is forgotten after this long.
const OLD: Time = Time::from_secs(600);

/// The members of a channel that this node has heard of.
#[derive(Default)]
pub(crate) struct Others {
    all: BTreeMap<NodeId, Other>,
    sources: usize,
}

/// Another member.
pub(crate) struct Other {
    /// The last that it has said of itself.
    pub(crate) said: Announcement,
    /// When this node heard that.
    heard: Time,
    /// The link over which it came.
    pub(super) teller: LinkKey,
    /// Whether a neighbour on this machine has told of it.
    pub(super) is_near: bool,
    /// Whether this node has ever had a link with it.
    pub(super) is_reached: bool,
    /// Whether this node has ever passed on what it says.
    pub(super) is_passed_on: bool,
    /// It is no member any more, as far as this node knows.
    pub(super) is_gone: bool,
    /// Why the last attempt to reach it failed, or why the link with it ended.
    pub(crate) failure: Option<Error>,
    /// How many attempts in a row have failed.
    pub(super) tries: u32,
    /// How many links with it in a row have ended soon after they began.
    pub(super) parted: u32,
    /// It is no neighbour to choose before this time.
    pub(super) rests: Time,
    /// Whether the sinks here know that it cannot be reached.
    pub(super) is_missed: bool,
}

/// The link over which an announcement came, and whether the other side of it is on this machine.
#[derive(Clone, Copy)]
pub(super) struct Teller {
    pub(super) link: LinkKey,
    pub(super) is_near: bool,
}

/// What an announcement is to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Nothing new, or there is no room for it.
    None,
    /// It is kept here, and need not be told to others.
    Kept,
    /// It is kept, and others should know it.
    Spread,
}

impl Other {
    /// Whether it has sources, and has said so of late.
    pub(crate) fn has_sources(&self, now: Time) -> bool {
        self.is_there() && self.said.has.sources && now < self.heard + STALE
    }

    /// Whether it is a member, as far as this node knows.
    pub(crate) fn is_there(&self) -> bool {
        !self.is_gone && !self.said.has.left
    }

    /// It has a link with this node.
    pub(super) fn was_reached(&mut self) {
        (self.is_reached, self.failure, self.tries, self.is_missed) = (true, None, 0, false);
    }
}

impl Others {
    pub(crate) fn get(&self, node: NodeId) -> Option<&Other> {
        self.all.get(&node)
    }

    pub(super) fn get_mut(&mut self, node: NodeId) -> Option<&mut Other> {
        self.all.get_mut(&node)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (NodeId, &Other)> {
        self.all.iter().map(|(&node, other)| (node, other))
    }

    /// Whether an announcement says more than is known here.
    pub(super) fn is_news(&self, said: &Announcement) -> bool {
        self.all.get(&said.node).map_or(!said.has.left, |other| other.said.number < said.number)
    }

    /// Keeps an announcement that its node has signed. `chance` chooses whom it replaces.
    pub(super) fn keep(&mut self, now: Time, teller: Teller, said: Announcement, chance: usize) -> News {
        let (node, has) = (said.node, said.has);
        let Some(other) = self.all.get_mut(&node) else { return self.keep_new(now, teller, said, chance) };
        if said.number <= other.said.number {
            return News::None;
        }
        // Whether a member is served is of interest only to its neighbours.
        let before = (Has { served: has.served, ..other.said.has }, other.is_gone);
        let is_same = before == (has, false) && other.said.addresses == said.addresses;
        self.sources -= usize::from(other.said.has.sources);
        self.sources += usize::from(has.sources);
        (other.said, other.heard, other.teller, other.is_gone) = (said, now, teller.link, false);
        other.is_near |= teller.is_near;
        match is_same && !has.sources {
            true => News::Kept,
            false => News::Spread,
        }
    }

    fn keep_new(&mut self, now: Time, teller: Teller, said: Announcement, chance: usize) -> News {
        if said.has.left {
            return News::None;
        }
        let is_source = said.has.sources;
        let (most, share) = match is_source {
            true => (SOURCES, SOURCES / SHARE_OF_SOURCES),
            false => (SOME, SOME / SHARE),
        };
        let count = if is_source { self.sources } else { self.all.len() - self.sources };
        let is_claim =
            |other: &Other| !other.is_reached && other.said.has.sources == is_source && other.teller == teller.link;
        let is_full = count >= most;
        if is_full || self.all.values().filter(|other| is_claim(other)).count() >= share {
            // Members that were reached stay. A new one takes the place of one that was tried in vain, or else, now and then, of a random one.
            let may_go = |other: &Other| !other.is_reached && other.said.has.sources == is_source;
            let mut all = self.all.iter().filter(|(_, other)| may_go(other) && (is_full || is_claim(other)));
            let vain = all.clone().filter(|(_, other)| other.failure.is_some()).count();
            let victim = match vain {
                0 => all.nth(chance % most),
                _ => all.filter(|(_, other)| other.failure.is_some()).nth(chance % vain),
            };
            let Some(victim) = victim.map(|(&node, _)| node) else { return News::None };
            self.remove(victim);
        }
        self.sources += usize::from(is_source);
        let other = Other {
            said,
            heard: now,
            teller: teller.link,
            is_near: teller.is_near,
            is_reached: false,
            is_passed_on: false,
            is_gone: false,
            failure: None,
            tries: 0,
            parted: 0,
            rests: Time::ZERO,
            is_missed: false,
        };
        self.all.insert(other.said.node, other);
        if is_full && !is_source { News::Kept } else { News::Spread }
    }

    fn remove(&mut self, node: NodeId) {
        if let Some(other) = self.all.remove(&node) {
            self.sources -= usize::from(other.said.has.sources);
        }
    }

    /// Forgets what is old, but for members that are linked.
    pub(super) fn forget_old(&mut self, now: Time, is_linked: impl Fn(NodeId) -> bool) {
        let is_old = |other: &Other| other.heard + OLD <= now && !is_linked(other.said.node);
        let old: Vec<NodeId> = self.all.values().filter(|other| is_old(other)).map(|other| other.said.node).collect();
        old.into_iter().for_each(|node| self.remove(node));
    }
}
