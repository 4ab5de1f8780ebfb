//! Charges other nodes for what they make this node keep and do.

use super::Links;
use crate::budget::{Budgets, Purse, Resource};
use crate::control::Control;
use crate::keys::{LinkKey, NodeId};
use crate::memory::Body;
use isoform_core::{Code, Error, Format, Result};

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

    /// How many mebibytes of long bodies one more link may have under way to this node: an eighth of what is left, so that
    /// something is left for others. With none, one body at a time.
    pub(super) fn share_of_bodies(&self) -> u32 {
        let Budgets { node, member, .. } = self.settings.budgets;
        let left = node[Resource::Bodies].saturating_sub(self.purses.all(Resource::Bodies));
        u32::try_from(member[Resource::Bodies].min(left / 8) >> 20).unwrap_or(u32::MAX)
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

    /// Whether there is room for a connection with this node to become a link's. If this node has dialed it, it is no
    /// stranger. For a new stranger, the strangers that have had their links for the longest time give way.
    pub(super) fn expect_room(&mut self, peer: NodeId, is_dialed: bool, pings: u64) -> Result<()> {
        let Budgets { node, member, strangers } = self.settings.budgets;
        let most = node[Resource::Links].min(self.settings.peers as u64);
        let known = self.with(peer);
        let is_stranger = !is_dialed && known.is_none_or(|link| self.all[link].taken.is_stranger());
        while is_stranger
            && (known.is_none() && self.purses.strangers(Resource::Links) >= strangers[Resource::Links].max(1)
                || self.purses.strangers(Resource::Pings) + pings > strangers[Resource::Pings].max(pings))
            && self.let_a_stranger_give_way(peer)
        {}
        if known.is_none() && self.all.len() as u64 >= most && !self.let_a_cut_one_give_way() {
            return Err(Error::new(Code::Peers).at("links").expected(format_args!("at most {most}")));
        }
        if self.purses.all(Resource::Pings) + pings > node[Resource::Pings] {
            return Err(self.purses.refuse(peer, Resource::Pings, Purse::Node));
        }
        if pings > member[Resource::Pings] {
            return Err(self.purses.refuse(peer, Resource::Pings, Purse::Member));
        }
        Ok(())
    }

    /// Ends a link without a connection, to make room for a new one: the one that had connections for the shortest time,
    /// since somebody may come and go with ever new ids. Returns whether there was one.
    fn let_a_cut_one_give_way(&mut self) -> bool {
        let cut = self.all.iter().filter(|(_, link)| !link.stands());
        let Some((key, link)) = cut.min_by_key(|(_, link)| (link.stood, link.since)) else { return false };
        let error = Error::new(Code::Peers).at(format!("node {}", link.peer));
        let error = error.expected("room for the link until it has a connection again");
        self.refusals.note(&error);
        self.end(key, Some(error));
        true
    }

    /// The error of a link that takes so much that the node as a whole has too little left.
    pub(crate) fn over_budget(&self, key: LinkKey, resource: Resource) -> Error {
        self.purses.refuse(self.all[key].peer, resource, Purse::Node)
    }

    /// Ends a link that takes so much, to make room for others.
    pub(crate) fn give_way(&mut self, key: LinkKey, resource: Resource) {
        let error = self.over_budget(key, resource);
        self.refusals.note(&error);
        self.part_with(key, &Control::Bye { code: Code::Budget as u16, text: error.to_string() });
    }

    /// Ends the oldest link with a stranger other than this one. Returns whether there was one.
    fn let_a_stranger_give_way(&mut self, but: NodeId) -> bool {
        let strangers = self.all.iter().filter(|(_, link)| link.taken.is_stranger() && link.peer != but);
        let Some((key, link)) = strangers.min_by_key(|(_, link)| link.since) else { return false };
        let error = self.purses.refuse(link.peer, Resource::Links, Purse::Strangers);
        self.refusals.note(&error);
        self.part_with(key, &Control::Bye { code: Code::Budget as u16, text: error.to_string() });
        true
    }
}
