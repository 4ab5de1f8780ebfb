//! Budgets: how much of this node's memory and time others may take (`spec/channel.md`, "Limits").
//!
//! A node charges what another node makes it keep to these purses:
//!
//! - that of the node as a whole;
//! - that of the other node's id, however often it connects;
//! - as long as the two nodes have no channel in common, the purse that all such strangers share, since anybody can make
//!   up ids.
//!
//! What another node gives back returns to the same purses.

use crate::keys::NodeId;
use isoform_core::{Code, Error, Result};
use std::fmt;
use std::ops::{Index, IndexMut};

/// A resource that a node limits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Resource {
    /// Bytes of the formats that others have described, as they lie in memory.
    Formats = 0,
    /// Sources that others offer.
    Offers = 1,
    /// Subscriptions of others' sinks at the sources of this node.
    Subscriptions = 2,
    /// Bytes of events on their way to sinks of this node: the windows of their subscriptions together.
    Windows = 3,
    /// Bytes that wait at the sources of this node for slow sinks of others.
    Queues = 4,
    /// Bytes of the events longer than their windows that are under way to sinks of this node.
    Bodies = 5,
    /// Links.
    Links = 6,
    /// Pings that others demand in a minute, by the silence after which they take this node for dead.
    Pings = 7,
}

impl Resource {
    /// All of them, in the order of their numbers.
    pub const ALL: [Resource; 8] = [
        Resource::Formats,
        Resource::Offers,
        Resource::Subscriptions,
        Resource::Windows,
        Resource::Queues,
        Resource::Bodies,
        Resource::Links,
        Resource::Pings,
    ];

    /// The unit in which it is counted, with a space before it, if it has one.
    fn unit(self) -> &'static str {
        match self {
            Resource::Formats | Resource::Windows | Resource::Queues | Resource::Bodies => " bytes",
            Resource::Pings => " a minute",
            Resource::Offers | Resource::Subscriptions | Resource::Links => "",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Resource::Formats => "formats",
            Resource::Offers => "sources",
            Resource::Subscriptions => "subscriptions",
            Resource::Windows => "windows",
            Resource::Queues => "queues",
            Resource::Bodies => "long events",
            Resource::Links => "links",
            Resource::Pings => "pings",
        })
    }
}

/// How much of each resource there is, or is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget([u64; Resource::ALL.len()]);

impl Budget {
    /// The same budget, but for one resource.
    ///
    /// ```
    /// use isoform_channel_proto::{Budget, Resource};
    /// let budget = Budget::default().with(Resource::Offers, 16);
    /// assert_eq!((budget[Resource::Offers], budget[Resource::Links]), (16, 0));
    /// ```
    #[must_use]
    pub const fn with(mut self, resource: Resource, amount: u64) -> Budget {
        self.0[resource as usize] = amount;
        self
    }
}

impl Index<Resource> for Budget {
    type Output = u64;

    fn index(&self, resource: Resource) -> &u64 {
        &self.0[resource as usize]
    }
}

impl IndexMut<Resource> for Budget {
    fn index_mut(&mut self, resource: Resource) -> &mut u64 {
        &mut self.0[resource as usize]
    }
}

/// The budgets of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Of all other nodes together.
    pub node: Budget,
    /// Of each node that has a channel in common with this one.
    pub member: Budget,
    /// Of all other nodes that have no channel in common with this one, together.
    pub strangers: Budget,
}

impl Default for Budgets {
    fn default() -> Budgets {
        let node = [1 << 30, 1 << 16, 1 << 14, 1 << 30, 1 << 30, 2 << 30, 4096, 240_000];
        let member = [64 << 20, 4096, 4096, 256 << 20, 256 << 20, 1 << 30, 1, 1800];
        let strangers = [16 << 20, 0, 0, 0, 0, 0, 256, 18_000];
        Budgets { node: Budget(node), member: Budget(member), strangers: Budget(strangers) }
    }
}

/// The purse that was empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purse {
    /// That of the node as a whole.
    Node,
    /// That of one other node.
    Member,
    /// That of the nodes that have no channel in common with this one.
    Strangers,
}

impl fmt::Display for Purse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Purse::Node => "all nodes together",
            Purse::Member => "one node",
            Purse::Strangers => "nodes without a common channel",
        })
    }
}

/// What another node has taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    amounts: Budget,
    /// The number of reasons for which it is no stranger: channels in common, and requests of this node.
    ties: usize,
}

impl Taken {
    pub(crate) fn is_stranger(&self) -> bool {
        self.ties == 0
    }
}

/// The purses of a node.
pub(crate) struct Purses {
    budgets: Budgets,
    node: Budget,
    strangers: Budget,
}

impl Purses {
    pub(crate) fn new(budgets: Budgets) -> Purses {
        Purses { budgets, node: Budget::default(), strangers: Budget::default() }
    }

    /// How much a node may still take, and the purse that would be empty then.
    pub(crate) fn left(&self, taken: &Taken, resource: Resource) -> (u64, Purse) {
        let own = match taken.is_stranger() {
            true => (self.budgets.strangers[resource].saturating_sub(self.strangers[resource]), Purse::Strangers),
            false => (self.budgets.member[resource].saturating_sub(taken.amounts[resource]), Purse::Member),
        };
        own.min((self.budgets.node[resource].saturating_sub(self.node[resource]), Purse::Node))
    }

    /// Charges a node, if its purses have that much.
    pub(crate) fn take(&mut self, node: NodeId, taken: &mut Taken, resource: Resource, amount: u64) -> Result<()> {
        let (left, purse) = self.left(taken, resource);
        if amount > left {
            return Err(self.refuse(node, resource, purse));
        }
        self.force(taken, resource, amount);
        Ok(())
    }

    /// Charges a node even if its purses are empty: for what must be granted to everybody.
    pub(crate) fn force(&mut self, taken: &mut Taken, resource: Resource, amount: u64) {
        taken.amounts[resource] += amount;
        self.node[resource] += amount;
        if taken.is_stranger() {
            self.strangers[resource] += amount;
        }
    }

    /// A node gives something back.
    pub(crate) fn give(&mut self, taken: &mut Taken, resource: Resource, amount: u64) {
        let amount = amount.min(taken.amounts[resource]);
        taken.amounts[resource] -= amount;
        self.node[resource] -= amount;
        if taken.is_stranger() {
            self.strangers[resource] -= amount;
        }
    }

    /// A node gives everything back.
    pub(crate) fn give_all(&mut self, taken: &mut Taken) {
        Resource::ALL.into_iter().for_each(|resource| self.give(taken, resource, u64::MAX));
    }

    /// There is one more reason for which a node is no stranger.
    pub(crate) fn tie(&mut self, taken: &mut Taken) {
        if taken.is_stranger() {
            Resource::ALL.into_iter().for_each(|resource| self.strangers[resource] -= taken.amounts[resource]);
        }
        taken.ties += 1;
    }

    /// There is one reason less.
    pub(crate) fn untie(&mut self, taken: &mut Taken) {
        let was_stranger = taken.is_stranger();
        taken.ties = taken.ties.saturating_sub(1);
        if taken.is_stranger() && !was_stranger {
            Resource::ALL.into_iter().for_each(|resource| self.strangers[resource] += taken.amounts[resource]);
        }
    }

    /// How much all nodes have taken together.
    pub(crate) fn all(&self, resource: Resource) -> u64 {
        self.node[resource]
    }

    /// How much strangers have taken together.
    pub(crate) fn strangers(&self, resource: Resource) -> u64 {
        self.strangers[resource]
    }

    /// Why a node gets no more of a resource.
    #[cold]
    pub(crate) fn refuse(&self, node: NodeId, resource: Resource, purse: Purse) -> Error {
        let budget = match purse {
            Purse::Node => &self.budgets.node,
            Purse::Member => &self.budgets.member,
            Purse::Strangers => &self.budgets.strangers,
        };
        let error = Error::new(Code::Budget).at(format!("{resource} of {purse}"));
        error
            .expected(format_args!("at most {}{}", budget[resource], resource.unit()))
            .found(format_args!("node {node}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn purses(node: u64, member: u64, strangers: u64) -> Purses {
        let of = |amount| Budget::default().with(Resource::Offers, amount);
        Purses::new(Budgets { node: of(node), member: of(member), strangers: of(strangers) })
    }

    fn purse(error: &Error) -> &str {
        assert_eq!(error.code(), Code::Budget);
        error.path().strip_prefix("sources of ").unwrap()
    }

    #[test]
    fn strangers_share_a_purse_and_members_have_their_own() {
        let mut purses = purses(10, 6, 3);
        let (mut one, mut other) = (Taken::default(), Taken::default());
        let (a, b) = (NodeId([1; 16]), NodeId([2; 16]));
        purses.take(a, &mut one, Resource::Offers, 2).unwrap();
        purses.take(b, &mut other, Resource::Offers, 1).unwrap();
        let error = purses.take(b, &mut other, Resource::Offers, 1).unwrap_err();
        assert_eq!(purse(&error), "nodes without a common channel");
        purses.tie(&mut one);
        purses.take(b, &mut other, Resource::Offers, 2).unwrap();
        purses.take(a, &mut one, Resource::Offers, 4).unwrap();
        assert_eq!(purse(&purses.take(a, &mut one, Resource::Offers, 1).unwrap_err()), "one node");
        purses.tie(&mut other);
        assert_eq!(purse(&purses.take(b, &mut other, Resource::Offers, 2).unwrap_err()), "all nodes together");
        purses.untie(&mut one);
        assert_eq!(purses.left(&one, Resource::Offers), (0, Purse::Strangers), "what it has counts there");
        purses.give_all(&mut one);
        purses.give_all(&mut other);
        assert_eq!((purses.node, purses.strangers), Default::default());
    }
}
