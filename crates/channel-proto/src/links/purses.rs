//! Charges other nodes for what they make this node keep and do.

use super::{Link, Links};
use crate::Time;
use crate::budget::{Budgets, Purse, Resource, Taken};
use crate::control::Control;
use crate::credentials::Principal;
use crate::keys::{LinkKey, NodeId};
use crate::memory::Body;
use isoform_core::{Code, Error, Format, Result};
use std::collections::BTreeMap;

/// How many frames a node may send at once, and then in each second, besides events and what belongs to each of them; and the
/// nodes of a principal together, of which those that have settled may send as many again.
const REQUESTS: u32 = 32_768;
const REQUESTS_A_SECOND: u32 = 1_024;
/// The parts into which that is divided at most. Honest nodes answer liars of the same principal, and each other, some hundred times.
const PARTS: u32 = 64;
/// How many kept events the subscriptions of a node may have, and those of a principal's nodes together: at once, and in a
/// second.
const KEPT: u32 = 65_536;
const KEPT_A_SECOND: u32 = 4_096;
/// Each so many bytes of a kept event count as one more, up to so many.
const KEPT_BYTES: usize = 16 << 10;
const KEPT_MOST: usize = 1 << 10;
/// A node that has been here for so long has its part of the requests, whatever the others of its principal send. A part used up comes
/// anew within this time: so nobody gets more by coming with ever new ids.
const SETTLED: Time = Time::from_secs((REQUESTS / REQUESTS_A_SECOND) as u64);
/// Until then it may send so many in any case: enough to open a channel and to subscribe. Each needs a handshake first, so ever
/// new ids gain little.
pub(super) const FIRST: u32 = 128;

impl<B> Link<B> {
    fn has_settled(&self, now: Time) -> bool {
        self.stood + now.saturating_sub(self.since) >= SETTLED
    }
}

impl<B: Body> Links<B> {
    /// Charges the other node of a link, if the budgets have that much.
    pub(crate) fn take(&mut self, key: LinkKey, resource: Resource, amount: u64) -> Result<()> {
        let Some(link) = self.all.get_mut(key) else { return Ok(()) };
        self.purses.take(link.peer, &mut link.taken, resource, amount)
    }

    /// Charges it even if the budgets are empty.
    pub(crate) fn force(&mut self, key: LinkKey, resource: Resource, amount: u64) {
        if let Some(link) = self.all.get_mut(key) {
            self.purses.force(&mut link.taken, resource, amount);
        }
    }

    /// How much the other node of a link may still take.
    pub(crate) fn left(&self, key: LinkKey, resource: Resource) -> u64 {
        self.all.get(key).map_or(0, |link| self.purses.left(&link.taken, resource).0)
    }

    /// It gives something back. A link that has ended has given everything back.
    pub(crate) fn give(&mut self, key: LinkKey, resource: Resource, amount: u64) {
        if let Some(link) = self.all.get_mut(key) {
            self.purses.give(&mut link.taken, resource, amount);
        }
    }

    /// The other node has one more channel in common with this node.
    pub(crate) fn tie(&mut self, key: LinkKey) {
        if let Some(link) = self.all.get_mut(key) {
            self.purses.tie(&mut link.taken);
        }
    }

    /// It has one channel less in common with this node.
    pub(crate) fn untie(&mut self, key: LinkKey) {
        if let Some(link) = self.all.get_mut(key) {
            self.purses.untie(&mut link.taken);
        }
    }

    /// How many mebibytes of long bodies one more link with a node of a principal may have under way to this node: what is left of
    /// its credential's, and an eighth of what is left at most, so that something is left for others. With none, one body at
    /// a time.
    pub(super) fn share_of_bodies(&self, principal: Principal) -> u32 {
        let Budgets { node, credential, .. } = self.settings.budgets;
        let left = |all: u64, held| all.saturating_sub(held);
        let of_all = left(node[Resource::Bodies], self.purses.all(Resource::Bodies)) / 8;
        let of_principal = match principal.is_own() {
            true => u64::MAX,
            false => left(credential[Resource::Bodies], self.purses.held(principal, Resource::Bodies)),
        };
        u32::try_from(of_all.min(of_principal) >> 20).unwrap_or(u32::MAX)
    }

    /// Whether a node may send one more frame that is not an event, which counts as so many. The nodes of a principal share what is allowed, and those
    /// that have sent less than an equal part of it may have as much again, for which the one gives way that sends the most. A new one has
    /// its first frames in any case. Each node of the own user has all of it.
    pub(crate) fn may_ask(&mut self, now: Time, key: LinkKey, cost: u32) -> bool {
        let Links { all, purses, .. } = self;
        let link = &mut all[key];
        let is_own = link.taken.principal.is_own();
        let group = purses.group(link.taken.principal);
        let nodes = if is_own { 1 } else { group.nodes().min(PARTS.into()) as u32 };
        let is_in_part = link.requests.take_all(now, cost, REQUESTS / nodes, REQUESTS_A_SECOND / nodes);
        if is_own || group.requests.take_all(now, cost, REQUESTS, REQUESTS_A_SECOND) {
            return is_in_part || !is_own;
        }
        let has_settled = link.has_settled(now);
        let may_have_more = match has_settled {
            true => group.parts.take_all(now, cost, REQUESTS, REQUESTS_A_SECOND),
            false => group.requests.take_all(now, cost, 2 * REQUESTS, REQUESTS_A_SECOND),
        };
        let mut has_first = || link.first.checked_sub(cost).map(|left| link.first = left).is_some();
        is_in_part && may_have_more
            || has_first()
            || is_in_part && has_settled && self.let_the_busiest_give_way(now, key)
    }

    /// Ends the link of a node's principal whose node has settled, and has sent the most of late. Returns whether that is another one.
    fn let_the_busiest_give_way(&mut self, now: Time, key: LinkKey) -> bool {
        let principal = self.all[key].taken.principal;
        let its = self.all.iter().filter(|(_, link)| link.taken.principal == principal && link.has_settled(now));
        // The node that asks is the busiest if others have sent as much.
        let busiest = its.max_by_key(|&(at, link)| (link.requests.used(), at == key)).map(|(at, _)| at);
        let Some(busiest) = busiest.filter(|&at| at != key) else { return false };
        let error = too_many_frames().at(format!("node {}", self.all[busiest].peer));
        self.refusals.note(&error);
        self.part_with(busiest, &Control::Bye { code: Code::Budget as u16, text: error.to_string() });
        true
    }

    /// How many of the latest kept events a new subscription of a node gets: of so many, with the lengths of all, the latest first.
    pub(crate) fn take_kept(&mut self, key: LinkKey, most: u64, lengths: impl Iterator<Item = usize>) -> u64 {
        let Links { all, purses, .. } = self;
        let link = &mut all[key];
        let principal = link.taken.principal;
        let own = if principal.is_own() { &mut link.kept } else { &mut purses.group(principal).kept };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let costs = lengths.take(most).map(|length| 1 + (length / KEPT_BYTES).min(KEPT_MOST) as u32);
        costs.take_while(|&cost| own.take_all(link.heard, cost, KEPT, KEPT_A_SECOND)).count() as u64
    }

    /// Charges the other node of a link for a format that it has described.
    pub(super) fn hold(&mut self, key: LinkKey, format: &Format) -> Result<()> {
        let link = &mut self.all[key];
        let cost = link.held.cost(format);
        if cost > self.purses.left(&link.taken, Resource::Formats).0 {
            let freed = link.held.sweep();
            self.purses.give(&mut link.taken, Resource::Formats, freed);
        }
        self.purses.take(link.peer, &mut link.taken, Resource::Formats, cost)?;
        link.held.hold(format, cost);
        Ok(())
    }

    /// Whether there is room for a connection with this node, of this principal, to become a link's. If this node has dialed it,
    /// it is no stranger. For a new stranger, the strangers that have had their links for the longest time give way.
    pub(super) fn expect_room(
        &mut self,
        peer: NodeId,
        principal: Principal,
        is_dialed: bool,
        pings: u64,
    ) -> Result<()> {
        let Budgets { node, strangers, .. } = self.settings.budgets;
        let known = self.with(peer);
        let is_stranger = !is_dialed && known.is_none_or(|link| self.all[link].taken.is_stranger());
        while is_stranger
            && (known.is_none() && self.purses.strangers(Resource::Links) >= strangers[Resource::Links].max(1)
                || self.purses.strangers(Resource::Pings) + pings > strangers[Resource::Pings].max(pings))
            && self.let_a_stranger_give_way(peer)
        {}
        if known.is_none() {
            self.expect_place(principal)?;
        }
        let pings_left = node[Resource::Pings].saturating_sub(self.purses.all(Resource::Pings));
        if pings > pings_left {
            return Err(self.purses.refuse(peer, &Taken::of(principal), Resource::Pings, Purse::Node));
        }
        let mut taken = known.map_or(Taken::of(principal), |link| self.all[link].taken);
        taken.principal = principal;
        let (left, purse) = self.purses.left(&taken, Resource::Pings);
        if !is_stranger && pings > left {
            return Err(self.purses.refuse(peer, &taken, Resource::Pings, purse));
        }
        Ok(())
    }

    /// Makes sure that there is a place for one more link with a node of a principal. An eighth of the places is for the own user
    /// alone, and an eighth for others. If all places are taken, the principal that has the most of them gives one to a
    /// principal that has fewer.
    fn expect_place(&mut self, principal: Principal) -> Result<()> {
        let Links { settings, purses, all, .. } = self;
        let within = settings.connections.saturating_sub(handshakes(settings.connections));
        let most = settings.budgets.node[Resource::Links].min(settings.peers.min(within) as u64);
        let reserve = most.div_ceil(8).min(most / 2);
        let count = all.len() as u64;
        let (held, own) = (purses.held(principal, Resource::Links), purses.held(Principal::Own, Resource::Links));
        let kind = if principal.is_own() { own } else { count - own };
        if count < most && kind < most - reserve {
            return Ok(());
        }
        let greediest = purses.greediest(Resource::Links);
        let greedier = greediest.filter(|&other| purses.held(other, Resource::Links) > held + 1);
        let has_made_room = match greedier {
            Some(other) if !principal.is_own() || kind < most - reserve => self.let_one_give_way(other),
            _ => self.let_a_cut_one_give_way(principal),
        };
        if has_made_room {
            return Ok(());
        }
        let whose = if principal.is_own() { "this node's user" } else { "all other users, certificates and keys" };
        Err(Error::new(Code::Peers).at("links").expected(format_args!("at most {} of {whose}", most - reserve)))
    }

    /// Ends a link without a connection, to make room for a new one of its principal: the one that had connections for the
    /// shortest time, since somebody may come and go with ever new ids. Returns whether there was one.
    fn let_a_cut_one_give_way(&mut self, principal: Principal) -> bool {
        let cut = self.all.iter().filter(|(_, link)| !link.stands() && link.taken.principal == principal);
        let Some((key, link)) = cut.min_by_key(|(_, link)| (link.stood, link.since)) else { return false };
        let error = Error::new(Code::Peers).at(format!("node {}", link.peer));
        let error = error.expected("room for the link until it has a connection again");
        self.refusals.note(&error);
        self.end(key, Some(error));
        true
    }

    /// Ends a link with a node of a principal that has many, to make room for another principal: one without a connection, or
    /// else the newest. Returns whether there was one.
    fn let_one_give_way(&mut self, principal: Principal) -> bool {
        if self.let_a_cut_one_give_way(principal) {
            return true;
        }
        let its = self.all.iter().filter(|(_, link)| link.taken.principal == principal);
        let newest = its.max_by_key(|(_, link)| (link.taken.is_stranger(), link.since));
        let Some((key, link)) = newest else { return false };
        let error = Error::new(Code::Peers).at(format!("node {}", link.peer));
        let error = error.expected("room for users, certificates and keys that have fewer links");
        self.refusals.note(&error);
        self.part_with(key, &Control::Bye { code: Code::Peers as u16, text: error.to_string() });
        true
    }

    /// The error of a link that takes so much that the node as a whole has too little left.
    pub(crate) fn over_budget(&self, key: LinkKey, resource: Resource) -> Error {
        let link = &self.all[key];
        self.purses.refuse(link.peer, &link.taken, resource, Purse::Node)
    }

    /// Ends a link that takes so much, to make room for others.
    pub(crate) fn give_way(&mut self, key: LinkKey, resource: Resource) {
        let error = self.over_budget(key, resource);
        self.refusals.note(&error);
        self.part_with(key, &Control::Bye { code: Code::Budget as u16, text: error.to_string() });
    }

    /// Ends the oldest link with a stranger other than this one, of the principal that has most of them. Returns whether there
    /// was one.
    fn let_a_stranger_give_way(&mut self, but: NodeId) -> bool {
        let is_one = |link: &Link<B>| link.taken.is_stranger() && link.peer != but;
        let mut counts = BTreeMap::<Principal, usize>::new();
        for (_, link) in self.all.iter().filter(|(_, link)| is_one(link)) {
            *counts.entry(link.taken.principal).or_default() += 1;
        }
        let Some((&principal, _)) = counts.iter().max_by_key(|(_, count)| **count) else { return false };
        let its = self.all.iter().filter(|(_, link)| is_one(link) && link.taken.principal == principal);
        let Some((key, link)) = its.min_by_key(|(_, link)| link.since) else { return false };
        let error = self.purses.refuse(link.peer, &link.taken, Resource::Links, Purse::Strangers);
        self.refusals.note(&error);
        self.part_with(key, &Control::Bye { code: Code::Budget as u16, text: error.to_string() });
        true
    }
}

/// The error of a node that sends too many frames, or whose credential's nodes do.
pub(crate) fn too_many_frames() -> Error {
    let error = Error::new(Code::Budget).at("requests of the nodes with one credential");
    error.expected(format_args!(
        "at most {REQUESTS} frames at once, and {REQUESTS_A_SECOND} in a second, that are not events or about them; a source \
         that is made or dropped costs a frame, and a frame counts for more if it is long or takes long"
    ))
}

/// How many of a node's connections are for handshakes alone, so that somebody who has proven nothing yet can always do so.
fn handshakes(connections: usize) -> usize {
    connections.div_ceil(8).min(connections / 2)
}
