//! Budgets: how much of this node's memory and time others may take (`spec/channel.md`, "Limits").
//!
//! A node charges what another node makes it keep to these purses:
//!
//! - that of the node as a whole;
//! - that of the other node's [principal](Principal), under whatever ids it comes: within it, nodes take what they need as long
//!   as there is some, and then each of them may still have an equal part;
//! - as long as the two nodes have no channel in common, the purse that all such strangers share.
//!
//! What another node gives back returns to the same purses.

use crate::allowance::Allowance;
use crate::credentials::Principal;
use crate::keys::NodeId;
use crate::links::Transit;
use isoform_core::{Code, Error, Result};
use std::collections::BTreeMap;
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
    /// Bytes that wait at the sources of this node for slow sinks of others. Of long events that are sent in parts, as many may be under
    /// way besides.
    Queues = 4,
    /// Bytes of the events longer than their windows that are under way to sinks of this node.
    Bodies = 5,
    /// Links.
    Links = 6,
    /// Pings that others demand in a minute, by the silence after which they take this node for dead.
    Pings = 7,
    /// Bytes of memory of frames that are not events, which wait for other nodes to read them: twice the length of each, since
    /// the memory of a queue grows by doubling.
    Answers = 8,
    /// Handshakes in a second with nodes that connect, and 32 times as many at once: of each credential that they claim, and for
    /// strangers, those that this node refuses. Of those that have proven what they claim, an eighth in a second. All nodes together have
    /// no limit of their own.
    Handshakes = 9,
}

impl Resource {
    /// All of them, in the order of their numbers.
    pub const ALL: [Resource; 10] = [
        Resource::Formats,
        Resource::Offers,
        Resource::Subscriptions,
        Resource::Windows,
        Resource::Queues,
        Resource::Bodies,
        Resource::Links,
        Resource::Pings,
        Resource::Answers,
        Resource::Handshakes,
    ];

    /// The unit in which it is counted, with a space before it, if it has one.
    fn unit(self) -> &'static str {
        match self {
            Resource::Formats | Resource::Windows | Resource::Queues | Resource::Bodies | Resource::Answers => " bytes",
            Resource::Pings => " a minute",
            Resource::Handshakes => " a second",
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
            Resource::Answers => "unread answers",
            Resource::Handshakes => "handshakes",
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
    /// Of all other nodes together. Of what is free of it, the holder of a credential takes at most as much as it leaves to
    /// others; the node's own user takes all but an eighth.
    pub node: Budget,
    /// Of all nodes with the same credential together: a user of this machine, a certificate, or a shared key; and of all nodes
    /// without credentials together. If it is used up, a node of it may still have an equal part, up to twice as much in all.
    /// Of subscriptions, the last eighth of it is kept for that, in equal parts, and there are no more. The node's own user has no
    /// such limit.
    pub credential: Budget,
    /// Of all other nodes that have no channel in common with this one, together.
    pub strangers: Budget,
}

impl Default for Budgets {
    fn default() -> Budgets {
        let node = [1 << 30, 1 << 16, 1 << 14, 1 << 30, 1 << 30, 2 << 30, 4096, 240_000, 256 << 20, u64::MAX];
        let credential = [64 << 20, 4096, 2048, 256 << 20, 256 << 20, 1 << 30, 4096, 40_000, 64 << 20, 128];
        let strangers = [16 << 20, 0, 0, 0, 0, 0, 256, 18_000, 4 << 20, 32];
        Budgets { node: Budget(node), credential: Budget(credential), strangers: Budget(strangers) }
    }
}

/// How much more of what is free someone gets who has so much: as much as it leaves to others. The own user gets all but an
/// eighth of what it has and what is free.
pub(crate) fn share(free: u64, held: u64, is_own: bool) -> u64 {
    let most = match is_own {
        true => free.saturating_mul(7).saturating_sub(held).div_ceil(8),
        false => free.saturating_sub(held).div_ceil(2),
    };
    most.min(free)
}

/// Of a limit of a credential: how much its nodes take in the order in which they ask, and how much together with those that have
/// less than an equal part of the difference. Each subscription costs time with each event, so of these there are no more than the limit.
fn within(resource: Resource, most: u64) -> (u64, u64) {
    match resource {
        Resource::Subscriptions => (most - most / 8, most),
        _ => (most, most.saturating_mul(2)),
    }
}

/// The purse that was empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purse {
    /// That of the node as a whole.
    Node,
    /// That of the nodes of one principal.
    Principal,
    /// That of the nodes that have no channel in common with this one.
    Strangers,
}

impl fmt::Display for Purse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Purse::Node => "all nodes together",
            Purse::Principal => "the nodes with one credential",
            Purse::Strangers => "nodes without a common channel",
        })
    }
}

/// What another node has taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    /// Whom it counts under.
    pub(crate) principal: Principal,
    amounts: Budget,
    /// The number of reasons for which it is no stranger: channels in common, and requests of this node.
    ties: usize,
}

impl Taken {
    /// Nothing, by a node that counts under this principal.
    pub(crate) fn of(principal: Principal) -> Taken {
        Taken { principal, ..Taken::default() }
    }

    pub(crate) fn is_stranger(&self) -> bool {
        self.ties == 0
    }
}

/// What the nodes of a principal have taken together.
#[derive(Default)]
pub(crate) struct Group {
    amounts: Budget,
    /// How many requests and reports they may send; how many those may that have settled, as their parts; and how many kept events they
    /// may have.
    pub(crate) requests: Allowance,
    pub(crate) parts: Allowance,
    pub(crate) kept: Allowance,
    /// Long bodies that are under way to them.
    transit: Option<Transit>,
}

impl Group {
    /// The number of nodes, but at least one.
    pub(crate) fn nodes(&self) -> u64 {
        self.amounts[Resource::Links].max(1)
    }
}

/// The purses of a node.
pub(crate) struct Purses {
    budgets: Budgets,
    node: Budget,
    strangers: Budget,
    groups: BTreeMap<Principal, Group>,
}

impl Purses {
    pub(crate) fn new(budgets: Budgets) -> Purses {
        Purses { budgets, node: Budget::default(), strangers: Budget::default(), groups: BTreeMap::new() }
    }

    /// How much a node may still take, and the purse that would be empty then.
    pub(crate) fn left(&self, taken: &Taken, resource: Resource) -> (u64, Purse) {
        let Purses { budgets, node, strangers, groups } = self;
        let left = |budget: &Budget, taken: &Budget| budget[resource].saturating_sub(taken[resource]);
        let free = left(&budgets.node, node);
        let of_strangers = if taken.is_stranger() { left(&budgets.strangers, strangers) } else { u64::MAX };
        let group = groups.get(&taken.principal);
        let (held, nodes) = group.map_or((0, 1), |group| (group.amounts[resource], group.nodes()));
        let most = if taken.principal.is_own() { u64::MAX } else { budgets.credential[resource] };
        let (first, all) = within(resource, most);
        let part = ((all - first) / nodes).max(1).saturating_sub(taken.amounts[resource]);
        let part = part.min(all.saturating_sub(held));
        let of_group = first.saturating_sub(held).max(part).min(share(free, held, taken.principal.is_own()));
        (free, Purse::Node).min((of_group, Purse::Principal)).min((of_strangers, Purse::Strangers))
    }

    /// Charges a node, if its purses have that much.
    pub(crate) fn take(&mut self, node: NodeId, taken: &mut Taken, resource: Resource, amount: u64) -> Result<()> {
        let (left, purse) = self.left(taken, resource);
        if amount > left {
            return Err(self.refuse(node, taken, resource, purse));
        }
        self.force(taken, resource, amount);
        Ok(())
    }

    /// Charges a node even if its purses are empty: for what must be granted to everybody.
    pub(crate) fn force(&mut self, taken: &mut Taken, resource: Resource, amount: u64) {
        taken.amounts[resource] += amount;
        self.node[resource] += amount;
        self.group(taken.principal).amounts[resource] += amount;
        if taken.is_stranger() {
            self.strangers[resource] += amount;
        }
    }

    /// A node gives something back.
    pub(crate) fn give(&mut self, taken: &mut Taken, resource: Resource, amount: u64) {
        let amount = amount.min(taken.amounts[resource]);
        taken.amounts[resource] -= amount;
        self.node[resource] -= amount;
        self.group(taken.principal).amounts[resource] -= amount;
        if taken.is_stranger() {
            self.strangers[resource] -= amount;
        }
    }

    /// A node gives everything back.
    pub(crate) fn give_all(&mut self, taken: &mut Taken) {
        Resource::ALL.into_iter().for_each(|resource| self.give(taken, resource, u64::MAX));
    }

    /// A node counts under another principal: it has come with other credentials.
    pub(crate) fn change(&mut self, taken: &mut Taken, principal: Principal) {
        for resource in Resource::ALL {
            let amount = taken.amounts[resource];
            self.group(taken.principal).amounts[resource] -= amount;
            self.group(principal).amounts[resource] += amount;
        }
        taken.principal = principal;
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

    /// How much the nodes of a principal have taken together.
    pub(crate) fn held(&self, principal: Principal, resource: Resource) -> u64 {
        self.groups.get(&principal).map_or(0, |group| group.amounts[resource])
    }

    /// The principal other than the own user whose nodes have taken the most.
    pub(crate) fn greediest(&self, resource: Resource) -> Option<Principal> {
        let others = self.groups.iter().filter(|(principal, _)| !principal.is_own());
        others.max_by_key(|(principal, group)| (group.amounts[resource], **principal)).map(|(principal, _)| *principal)
    }

    /// What the nodes of a principal have taken together.
    pub(crate) fn group(&mut self, principal: Principal) -> &mut Group {
        self.groups.entry(principal).or_default()
    }

    /// The long bodies that are under way to the nodes of a principal: of as many bytes as their queues may take.
    pub(crate) fn transit(&mut self, principal: Principal) -> Transit {
        let most = if principal.is_own() { u64::MAX } else { self.budgets.credential[Resource::Queues] };
        self.group(principal).transit.get_or_insert_with(|| Transit::new(most)).clone()
    }

    /// Forgets principals that have no nodes and have used nothing for so long that nothing is counted any more.
    pub(crate) fn forget_idle(&mut self, now: crate::Time) {
        self.groups.retain(|_, group| {
            let all_rest = [group.requests, group.parts, group.kept].iter().all(|allowance| allowance.rests(now));
            group.amounts != Budget::default() || !all_rest
        });
    }

    /// Why a node gets no more of a resource.
    #[cold]
    pub(crate) fn refuse(&self, node: NodeId, taken: &Taken, resource: Resource, purse: Purse) -> Error {
        let most = match purse {
            Purse::Node => self.budgets.node[resource],
            Purse::Principal => self.held(taken.principal, resource) + self.left(taken, resource).0,
            Purse::Strangers => self.budgets.strangers[resource],
        };
        let error = Error::new(Code::Budget).at(format!("{resource} of {purse}"));
        error.expected(format_args!("at most {most}{}", resource.unit())).found(format_args!("node {node}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::KeyName;

    fn purses(node: u64, credential: u64, strangers: u64) -> Purses {
        let of = |amount| Budget::default().with(Resource::Offers, amount);
        Purses::new(Budgets { node: of(node), credential: of(credential), strangers: of(strangers) })
    }

    /// A node that is no stranger, of the holder of a key.
    fn of_key(purses: &mut Purses, key: u8) -> Taken {
        let mut taken = Taken::of(Principal::Key(KeyName([key; 8])));
        purses.tie(&mut taken);
        purses.force(&mut taken, Resource::Links, 1);
        taken
    }

    /// Takes one after another, as many as there are for it.
    fn take_all(purses: &mut Purses, taken: &mut Taken) -> u64 {
        let mut one_more = || purses.take(NodeId([1; 16]), taken, Resource::Offers, 1).is_ok();
        (0..1000).take_while(|_| one_more()).count() as u64
    }

    fn purse(error: &Error) -> &str {
        assert_eq!(error.code(), Code::Budget);
        error.path().strip_prefix("sources of ").unwrap()
    }

    #[test]
    fn strangers_share_a_purse_and_the_nodes_of_a_credential_another() {
        let mut purses = purses(100, 6, 3);
        let (mut one, mut other) = (Taken::of(Principal::User(1)), Taken::of(Principal::User(2)));
        let (a, b) = (NodeId([1; 16]), NodeId([2; 16]));
        purses.take(a, &mut one, Resource::Offers, 2).unwrap();
        purses.take(b, &mut other, Resource::Offers, 1).unwrap();
        let error = purses.take(b, &mut other, Resource::Offers, 1).unwrap_err();
        assert_eq!(purse(&error), "nodes without a common channel");
        purses.tie(&mut one);
        purses.take(b, &mut other, Resource::Offers, 2).unwrap();
        purses.take(a, &mut one, Resource::Offers, 4).unwrap();
        assert_eq!(purse(&purses.take(a, &mut one, Resource::Offers, 1).unwrap_err()), "the nodes with one credential");
        purses.untie(&mut one);
        assert_eq!(purses.left(&one, Resource::Offers), (0, Purse::Principal));
        purses.change(&mut one, Principal::User(3));
        assert_eq!([1, 2, 3].map(|user| purses.held(Principal::User(user), Resource::Offers)), [0, 3, 6]);
        purses.give_all(&mut one);
        purses.give_all(&mut other);
        assert_eq!((purses.node, purses.strangers), Default::default());
        purses.forget_idle(crate::Time::ZERO);
        assert!(purses.groups.is_empty());
    }

    #[test]
    fn whoever_holds_a_credential_leaves_as_much_as_it_takes_whatever_number_of_ids_it_has() {
        let mut purses = purses(1000, 1000, 0);
        let mut greedy: Vec<Taken> = (0..50).map(|_| of_key(&mut purses, 1)).collect();
        let taken: u64 = greedy.iter_mut().map(|taken| take_all(&mut purses, taken)).sum();
        assert_eq!(taken, 500);
        let mut other = of_key(&mut purses, 2);
        assert_eq!(take_all(&mut purses, &mut other), 250);
        let mut own = Taken::of(Principal::Own);
        purses.tie(&mut own);
        assert_eq!(take_all(&mut purses, &mut own), 219, "seven eighths of what is left");
    }

    #[test]
    fn of_subscriptions_there_are_no_more_than_the_limit_whatever_number_of_nodes_has_the_credential() {
        let subscribe = |purses: &mut Purses, taken: &mut Taken, most: u64| {
            let mut one_more = || purses.take(NodeId([1; 16]), taken, Resource::Subscriptions, 1).is_ok();
            (0..most).take_while(|_| one_more()).count() as u64
        };
        let mut purses = Purses::new(Budgets::default());
        let mut first = of_key(&mut purses, 1);
        assert_eq!(subscribe(&mut purses, &mut first, 3_000), 1_792);
        let mut late = of_key(&mut purses, 1);
        assert_eq!(subscribe(&mut purses, &mut late, 3_000), 128, "half of what is kept");
        let mut many: Vec<Taken> = (0..1_000).map(|_| of_key(&mut purses, 1)).collect();
        let taken: u64 = many.iter_mut().map(|taken| subscribe(&mut purses, taken, 3_000)).sum();
        assert_eq!((taken, purses.held(first.principal, Resource::Subscriptions)), (128, 2_048));
        // As many honest nodes as have one each.
        let mut purses = Purses::new(Budgets::default());
        let mut nodes: Vec<Taken> = (0..2_048).map(|_| of_key(&mut purses, 1)).collect();
        assert!(nodes.iter_mut().all(|node| subscribe(&mut purses, node, 1) == 1));
    }

    #[test]
    fn within_a_credential_each_node_may_have_an_equal_part_and_all_of_them_no_more_than_twice_the_budget() {
        let mut purses = purses(100_000, 100, 0);
        let mut all: Vec<Taken> = (0..10).map(|_| of_key(&mut purses, 1)).collect();
        let taken: Vec<u64> = all.iter_mut().map(|taken| take_all(&mut purses, taken)).collect();
        assert_eq!(taken, [100, 10, 10, 10, 10, 10, 10, 10, 10, 10]);
        for greedy in 0..500 {
            let mut more = of_key(&mut purses, 1);
            let _ = take_all(&mut purses, &mut more);
            let all = purses.held(more.principal, Resource::Offers);
            assert!(all <= 200, "{all} with {greedy} more");
        }
    }
}
