//! Shares the time for queries among the credentials of those who ask, and the queries of each (`spec/channel.md`, "The time of
//! queries"). `wants` says what a query costs.

use crate::credentials::Principal;
use crate::grant::QueryTime;
use crate::keys::LinkKey;
use crate::links::Links;
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet};

/// How often the budget flows back at most, in nanoseconds: not with each of very many events. To divide it takes some time for
/// each account, so that happens less often if there are many.
const GRAIN: u64 = 10_000_000;
const GRAIN_OF_EACH: u64 = 10_000;
/// The longest time that can be spent at once, in nanoseconds.
const MOST: u64 = 1 << 41;
/// This part of the budget is not divided: a new account gets something of it at once.
const RESERVE: u64 = 8;
/// The weight of a node.
const NODE: u64 = 1 << 32;

/// Another node that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Asker {
    /// Whom it counts under.
    pub(super) principal: Principal,
    pub(super) link: LinkKey,
}

impl Asker {
    /// The node at the other end of a link.
    pub(super) fn over<B>(links: &Links<B>, link: LinkKey) -> Asker {
        Asker { principal: links[link].taken.principal, link }
    }
}

/// Who has a share of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Payer {
    Principal(Principal),
    /// All sinks that state fields, together.
    Fields,
}

/// What pays for a query: all nodes of a principal that share it have one account together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AccountKey(usize);

struct Account {
    payer: Payer,
    /// The part that it has of each of its nodes, as a part of [`NODE`], together.
    weight: u64,
    /// In nanoseconds.
    left: u64,
    /// The most that it can hold.
    most: u64,
    /// What it has to give back before it gets anything.
    owes: u64,
}

impl Account {
    fn room(&self) -> u64 {
        self.most.saturating_sub(self.left).saturating_add(self.owes)
    }

    fn get(&mut self, more: u64) {
        let back = more.min(self.owes);
        (self.owes, self.left) = (self.owes - back, self.left + more - back);
    }

    /// What it has for other accounts of its payer: it keeps half of what it can hold.
    fn spare(&self) -> u64 {
        self.left.saturating_sub(self.most / 2)
    }
}

/// What a payer has.
#[derive(Default)]
struct Share {
    accounts: BTreeSet<AccountKey>,
    /// Those for the queries of each node.
    nodes: BTreeMap<LinkKey, Vec<AccountKey>>,
    /// What accounts owed that are gone.
    owed: u64,
}

/// The budget of a node, or of a source that has one of its own.
pub(super) struct Purse {
    /// In nanoseconds: what one evaluation takes at most, what flows back in each second, and what it holds.
    at_once: u64,
    second: u64,
    holds: u64,
    /// What no account has.
    free: u64,
    /// What was lent since as much has flowed back.
    lent: u64,
    /// What has been done for the current event and is owed.
    behind: u64,
    /// The time of the event with which it flowed back last, and whether accounts have come since that got little.
    since: u64,
    is_stale: bool,
    accounts: Slab<Account>,
    shares: BTreeMap<Payer, Share>,
    /// The account of all sinks that state fields, and the number of sources that have such.
    fields: Option<(AccountKey, usize)>,
}

impl Purse {
    pub(super) fn new(time: QueryTime) -> Purse {
        let [at_once, second] = [time.at_once, time.second].map(|time| (time.as_nanos() as u64).min(MOST));
        let holds = at_once.max(second);
        let (accounts, shares) = (Slab::new(), BTreeMap::new());
        Purse {
            at_once,
            second,
            holds,
            free: holds,
            lent: 0,
            behind: 0,
            since: 0,
            is_stale: false,
            accounts,
            shares,
            fields: None,
        }
    }

    #[cfg(test)]
    pub(super) fn owes(&self, key: AccountKey) -> u64 {
        self.accounts[key.0].owes
    }

    /// What all accounts have left, and what nobody has.
    #[cfg(test)]
    pub(super) fn all_left(&self) -> u64 {
        self.accounts.iter().fold(self.free, |all, (_, account)| all + account.left)
    }

    #[cfg(test)]
    pub(super) fn left(&self, key: AccountKey) -> u64 {
        self.accounts[key.0].left
    }

    /// The most that there is at any time.
    pub(super) fn holds(&self) -> u64 {
        self.holds
    }

    /// What one evaluation takes at most.
    #[inline]
    pub(super) fn at_once(&self) -> u64 {
        self.at_once
    }

    /// A node has a query that none of its principal shares with it.
    pub(super) fn open(&mut self, asker: Asker) -> AccountKey {
        self.open_for(Payer::Principal(asker.principal), asker.link)
    }

    /// Others get less only when the budget is divided again. Until then, the new account has what nobody has, and half of the reserve.
    fn open_for(&mut self, payer: Payer, link: LinkKey) -> AccountKey {
        let key = AccountKey(self.accounts.insert(Account { payer, weight: 0, left: 0, most: 0, owes: 0 }));
        let share = self.shares.entry(payer).or_default();
        share.accounts.insert(key);
        self.join(key, link);
        let (of_each, reserve) = (self.of_each(), self.free.min(self.holds / RESERVE));
        let account = &mut self.accounts[key.0];
        account.most = part(of_each, account.weight, self.shares[&payer].nodes.len());
        account.left = account.most.min(self.free - reserve + reserve / 2);
        self.free -= account.left;
        self.is_stale |= account.left < account.most / 2;
        key
    }

    /// Another node shares a query.
    pub(super) fn join(&mut self, key: AccountKey, link: LinkKey) {
        self.change(key, link, |asked| asked.push(key));
    }

    /// A node does not share a query any more. If it was the last, others get what is left, and its principal still owes what it owed.
    pub(super) fn leave(&mut self, key: AccountKey, link: LinkKey) {
        self.change(key, link, |asked| asked.retain(|&other| other != key));
        if self.accounts[key.0].weight > 0 {
            return;
        }
        let Account { payer, left, owes, .. } = self.accounts.remove(key.0);
        let back = left.min(owes);
        self.free = self.free.saturating_add(left - back);
        let share = self.shares.entry(payer).or_default();
        share.accounts.remove(&key);
        share.owed = share.owed.saturating_add(owes - back);
        if share.is_over() {
            self.shares.remove(&payer);
        }
    }

    /// Changes which queries a node has: each has an equal part of the node.
    fn change(&mut self, key: AccountKey, link: LinkKey, change: impl FnOnce(&mut Vec<AccountKey>)) {
        let Purse { accounts, shares, .. } = self;
        let nodes = &mut shares.entry(accounts[key.0].payer).or_default().nodes;
        let asked = nodes.entry(link).or_default();
        let of_each = |asked: &[AccountKey]| NODE / (asked.len() as u64).max(1);
        let before = of_each(asked);
        asked.iter().for_each(|key| accounts[key.0].weight -= before);
        change(asked);
        let after = of_each(asked);
        asked.iter().for_each(|key| accounts[key.0].weight += after);
        if asked.is_empty() {
            nodes.remove(&link);
        }
    }

    /// A source begins to send records without some of the fields, or does not send such any more.
    pub(super) fn serve_fields(&mut self, begins: bool) {
        let (key, sources) = self.fields.unwrap_or_else(|| (self.open_for(Payer::Fields, LinkKey::NONE), 0));
        let sources = if begins { sources + 1 } else { sources - 1 };
        self.fields = (sources > 0).then_some((key, sources));
        if sources == 0 {
            self.leave(key, LinkKey::NONE);
        }
    }

    /// Pays for a record without some of the fields that was made at this time, or that is written to a sink, if there is
    /// something left for them.
    pub(super) fn pay_for_fields(&mut self, now: u64, cost: u64) -> bool {
        let Some((key, _)) = self.fields else { return true };
        self.pay(key, cost) || self.flow_back(now) && self.pay(key, cost)
    }

    /// All sinks that state fields pay in any case.
    pub(super) fn charge_for_fields(&mut self, cost: u64) {
        let key = self.fields.map(|(key, _)| key);
        key.into_iter().for_each(|key| self.charge(key, cost));
    }

    /// Returns whether as much is left; otherwise nothing is paid.
    #[inline]
    pub(super) fn pay(&mut self, key: AccountKey, cost: u64) -> bool {
        let left = &mut self.accounts[key.0].left;
        let rest = left.checked_sub(cost);
        *left = rest.unwrap_or(*left);
        rest.is_some()
    }

    /// Whether an account cannot pay as much.
    #[inline]
    pub(super) fn lacks(&self, key: AccountKey, cost: u64) -> bool {
        self.accounts[key.0].left < cost
    }

    /// Whether an account may have less than its part, since it has come after the budget was divided.
    #[inline]
    pub(super) fn is_poor(&self, key: AccountKey) -> bool {
        let Account { left, most, .. } = self.accounts[key.0];
        self.is_stale && left < most / 2
    }

    /// Pays in any case. What is not there is owed.
    #[inline]
    pub(super) fn charge(&mut self, key: AccountKey, cost: u64) {
        let account = &mut self.accounts[key.0];
        let paid = cost.min(account.left);
        (account.left, account.owes) = (account.left - paid, account.owes.saturating_add(cost - paid));
        self.behind = self.behind.saturating_add(cost - paid);
    }

    /// Another event is being submitted.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.behind = 0;
    }

    /// Whether more is owed for what has been done for the current event than one evaluation takes.
    #[inline]
    pub(super) fn is_behind(&self) -> bool {
        self.behind > self.at_once
    }

    /// Pays for what takes more than the account has paid, if it could pay or borrow all of it now. Returns whether it has.
    pub(super) fn pay_rest(&mut self, key: AccountKey, paid: u64, cost: u64) -> bool {
        self.accounts[key.0].left += paid;
        let can_pay = self.pay(key, cost) || {
            self.borrow(key, cost);
            self.pay(key, cost)
        };
        if !can_pay {
            self.accounts[key.0].left -= paid;
        }
        can_pay
    }

    /// Gives back what was paid too much. What the account cannot hold is lost.
    #[inline]
    pub(super) fn refund(&mut self, key: AccountKey, more: u64) {
        let account = &mut self.accounts[key.0];
        account.get(more.min(account.room()));
    }

    /// An account gets what it lacks for one evaluation from others of its payer, if these have enough to spare, and it owes nothing.
    /// Otherwise it borrows that if it is full: a query that takes more than its account can hold is evaluated once in a while. A
    /// payer may always borrow if it owes nothing, and then as long as it owes no more than its share. All that is lent while the
    /// budget flows back once is at most what it holds.
    pub(super) fn borrow(&mut self, key: AccountKey, cost: u64) {
        let Account { payer, left, most, owes, .. } = self.accounts[key.0];
        let lacks = cost.saturating_sub(left);
        if lacks == 0 || owes == 0 && self.take_from_others(key, payer, lacks) {
            return;
        }
        let share = &self.shares[&payer];
        let all = share.accounts.iter().fold(share.owed, |all, key| all.saturating_add(self.accounts[key.0].owes));
        let is_within = all == 0 || all.saturating_add(lacks) <= self.of_each();
        if left >= most && is_within && self.lent.saturating_add(lacks) <= self.holds {
            let account = &mut self.accounts[key.0];
            (account.left, account.owes) = (account.left + lacks, account.owes + lacks);
            self.lent += lacks;
        }
    }

    /// An account takes what it lacks from others of its payer, if they have enough to spare.
    fn take_from_others(&mut self, key: AccountKey, payer: Payer, lacks: u64) -> bool {
        let Purse { accounts, shares, .. } = self;
        let others = || shares[&payer].accounts.iter().filter(|&&other| other != key);
        let mut rest = others().fold(lacks, |rest, other| rest.saturating_sub(accounts[other.0].spare()));
        if rest > 0 {
            return false;
        }
        rest = lacks;
        for other in others() {
            let other = &mut accounts[other.0];
            let more = other.spare().min(rest);
            (other.left, rest) = (other.left - more, rest - more);
        }
        accounts[key.0].left += lacks;
        true
    }

    /// What the time since the last call gives back flows into the accounts, unless that was a moment ago. Returns whether it was not.
    pub(super) fn flow_back(&mut self, now: u64) -> bool {
        let passed = now.saturating_sub(self.since);
        // The clock may have been set back.
        self.since = self.since.min(now);
        let is_due = passed >= GRAIN.max(GRAIN_OF_EACH * self.accounts.len() as u64);
        if is_due {
            self.since = now;
            let more = u128::from(passed) * u128::from(self.second) / 1_000_000_000;
            let more = more.min(u128::from(self.holds)) as u64;
            (self.free, self.lent) = (self.free + more, self.lent.saturating_sub(more));
            self.settle();
        }
        is_due
    }

    /// Gives each payer an equal share, each of its nodes an equal part of that, and each query of a node an equal part
    /// of the node's.
    fn settle(&mut self) {
        let of_each = self.of_each();
        let Purse { accounts, shares, free, holds, is_stale, .. } = self;
        *is_stale = false;
        let mut rooms = Vec::with_capacity(shares.len());
        for share in shares.values() {
            let mut room = share.owed;
            for key in &share.accounts {
                let account = &mut accounts[key.0];
                account.most = part(of_each, account.weight, share.nodes.len());
                *free = free.saturating_add(account.left.saturating_sub(account.most));
                account.left = account.left.min(account.most);
                room = room.saturating_add(account.room());
            }
            rooms.push(Room { weight: 1, room, gets: 0 });
        }
        let reserve = (*holds / RESERVE).min(*free);
        let mut rest = divide(*free - reserve, &mut rooms);
        for (share, room) in shares.values_mut().zip(&rooms) {
            rest += share.deal(room.gets, accounts);
        }
        let held = accounts.iter().fold(0, |all, (_, account)| account.left.saturating_add(all));
        *free = (reserve + rest).min(holds.saturating_sub(held));
        shares.retain(|_, share| !share.is_over());
    }

    /// The share of each payer. Who still owes something counts, too.
    fn of_each(&self) -> u64 {
        (self.holds - self.holds / RESERVE) / (self.shares.len() as u64).max(1)
    }
}

impl Share {
    fn is_over(&self) -> bool {
        self.accounts.is_empty() && self.owed == 0
    }

    /// Divides what it gets among its accounts. What those owed that are gone is given back as if another node were there.
    /// Returns the rest.
    fn deal(&mut self, amount: u64, accounts: &mut Slab<Account>) -> u64 {
        let room =
            |&AccountKey(at): &AccountKey| Room { weight: accounts[at].weight, room: accounts[at].room(), gets: 0 };
        let owed = Room { weight: NODE, room: self.owed, gets: 0 };
        let mut rooms: Vec<Room> = self.accounts.iter().map(room).chain([owed]).collect();
        let rest = divide(amount, &mut rooms);
        self.accounts.iter().zip(&rooms).for_each(|(key, room)| accounts[key.0].get(room.gets));
        self.owed -= rooms.last().map_or(0, |owed| owed.gets);
        rest
    }
}

/// The most that an account can hold of a share.
fn part(share: u64, weight: u64, nodes: usize) -> u64 {
    (u128::from(share) * u128::from(weight) / (u128::from(NODE) * nodes.max(1) as u128)) as u64
}

/// What someone gets of an amount.
struct Room {
    weight: u64,
    /// The most that it can still get.
    room: u64,
    gets: u64,
}

/// Divides an amount by weights. What one cannot hold goes to the others. Returns the rest.
fn divide(mut amount: u64, rooms: &mut [Room]) -> u64 {
    loop {
        let (before, able) = (amount, rooms.iter().filter(|room| room.room > 0));
        let all: u128 = able.map(|room| u128::from(room.weight)).sum();
        for room in rooms.iter_mut().filter(|room| room.room > 0) {
            let more = (u128::from(before) * u128::from(room.weight) / all) as u64;
            let more = more.min(room.room);
            (room.room, room.gets, amount) = (room.room - more, room.gets + more, amount - more);
        }
        if amount == before {
            return amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;
    use crate::keys::Key as _;
    use isoform_testing::mutate::Random;

    const SECOND: u64 = 1_000_000_000;

    /// A node of its own user, or one without credentials.
    fn asker(node: u32, is_stranger: bool) -> Asker {
        let principal = if is_stranger { Principal::Nobody } else { Principal::User(node) };
        Asker { principal, link: LinkKey::of(node, 0) }
    }

    fn purse(at_once: u64, second: u64) -> Purse {
        Purse::new(QueryTime { at_once: Time::from_nanos(at_once), second: Time::from_nanos(second) })
    }

    fn left(purse: &Purse) -> Vec<u64> {
        purse.accounts.iter().map(|(_, account)| account.left).collect()
    }

    fn set(purse: &mut Purse, left: &[u64]) {
        purse.accounts.iter_mut().zip(left).for_each(|((_, account), &left)| account.left = left);
        purse.free = 0;
    }

    fn owed(purse: &Purse) -> u64 {
        purse.accounts.iter().map(|(_, account)| account.owes).sum::<u64>()
            + purse.shares.values().map(|share| share.owed).sum::<u64>()
    }

    #[test]
    fn principals_have_equal_shares_and_their_nodes_and_queries_equal_parts() {
        let mut purse = purse(3200, 3200);
        let askers = [(1, false), (2, false), (2, false), (3, true), (4, true)];
        askers.into_iter().for_each(|(node, is_stranger)| _ = purse.open(asker(node, is_stranger)));
        purse.flow_back(10 * SECOND);
        assert_eq!(
            left(&purse),
            [933, 466, 466, 466, 466],
            "nodes without credentials have one share, and some is kept"
        );
        set(&mut purse, &[0; 5]);
        purse.flow_back(10 * SECOND + SECOND / 2);
        assert_eq!(left(&purse), [400, 200, 200, 200, 200]);
        purse.accounts[1].left = 466;
        purse.flow_back(10 * SECOND + SECOND * 3 / 4);
        assert_eq!(left(&purse), [667, 466, 466, 333, 333], "what one query cannot hold is for the others");
        purse.accounts[0].left = 933;
        purse.flow_back(10 * SECOND + SECOND * 13 / 16);
        assert_eq!(left(&purse), [933, 466, 466, 433, 433], "and then for other principals");
    }

    /// Who shares a query with another node has more of it, and who asks for two has half of each.
    #[test]
    fn an_account_has_its_part_of_each_of_its_nodes() {
        let mut purse = purse(800, 800);
        let (shared, own) = (purse.open(asker(1, true)), purse.open(asker(2, true)));
        purse.join(shared, LinkKey::of(2, 0));
        purse.join(shared, LinkKey::of(3, 0));
        purse.flow_back(SECOND);
        assert_eq!(left(&purse), [583, 116], "five sixths of 700, and one");
        purse.leave(shared, LinkKey::of(1, 0));
        purse.leave(shared, LinkKey::of(3, 0));
        purse.flow_back(2 * SECOND);
        assert_eq!(left(&purse), [350, 350]);
        purse.leave(shared, LinkKey::of(2, 0));
        purse.flow_back(3 * SECOND);
        assert_eq!((left(&purse), purse.left(own), purse.free), (vec![700], 700, 100));
    }

    /// Whoever comes and goes, nothing is divided before the budget flows back. One that comes has something nevertheless.
    #[test]
    fn who_comes_and_goes_takes_no_time() {
        let mut purse = purse(8_000, 8_000);
        let nodes: Vec<_> = (0..2_000).map(|node| purse.open(asker(node, node >= 10))).collect();
        purse.flow_back(SECOND);
        let before = left(&purse);
        for node in 3_000..4_000 {
            let key = purse.open(asker(node, true));
            assert!(purse.left(key) > 0 || part(purse.of_each(), NODE, 2_000) == 0);
            purse.leave(key, LinkKey::of(node, 0));
            let key = purse.open(asker(node, false));
            assert!(purse.left(key) > 400);
            purse.leave(key, LinkKey::of(node, 0));
        }
        assert_eq!(left(&purse), before);
        let (one, other) = (purse.open(asker(5_000, false)), purse.open(asker(5_001, false)));
        assert!(purse.left(one) > 400 && purse.left(other) > 200);
        // With so many accounts, it flows back less often.
        assert!(!purse.flow_back(SECOND + GRAIN) && purse.flow_back(SECOND + 2_002 * GRAIN_OF_EACH));
        assert!(nodes.iter().all(|&key| purse.left(key) <= before[key.0]) && purse.left(other) > 500);
    }

    /// One may owe what its share holds, or one evaluation, and others borrow nevertheless.
    #[test]
    fn what_one_owes_keeps_nobody_else_from_borrowing() {
        let mut purse = purse(8_000, 8_000);
        let greedy: Vec<_> = (0..7).map(|_| purse.open(asker(1, false))).collect();
        let honest = purse.open(asker(2, false));
        purse.flow_back(10 * SECOND);
        for &key in &greedy {
            // Results that are always larger than expected.
            purse.charge(key, 10_000);
        }
        purse.borrow(greedy[0], 1);
        assert_eq!(purse.left(greedy[0]), 0);
        purse.borrow(honest, 4_000);
        assert!(purse.pay(honest, 4_000));
        assert_eq!(purse.accounts[honest.0].owes, 500);
        // And nobody borrows while it owes.
        purse.borrow(honest, 4_000);
        assert_eq!(purse.left(honest), 0);
        greedy.into_iter().for_each(|key| purse.leave(key, LinkKey::of(1, 0)));
        let again = purse.open(asker(1, false));
        purse.flow_back(20 * SECOND);
        let before = purse.left(again);
        purse.borrow(again, before + 1);
        assert_eq!(purse.left(again), before, "who comes again owes what it owed");
    }

    #[test]
    fn whoever_comes_and_goes_the_budget_is_never_more_than_it_was() {
        for seed in 0..2_000 {
            let mut random = Random::new(seed);
            let (at_once, second) = (random.below(10_000) as u64, random.below(10_000) as u64);
            let (mut purse, mut open, mut now) = (purse(at_once, second), Vec::new(), 0);
            let holds = at_once.max(second);
            // All that has flowed back, and all that was paid.
            let (mut all, mut paid, mut charged) = (u128::from(holds) * u128::from(SECOND), 0u64, 0);
            for _ in 0..100 {
                match random.below(6) {
                    0 => {
                        let asker = asker(random.below(5) as u32, random.one_in(2));
                        open.push((purse.open(asker), asker.link));
                    }
                    1 if !open.is_empty() => {
                        let (key, _) = open[random.below(open.len())];
                        let link = LinkKey::of(9, random.below(5) as u32);
                        purse.join(key, link);
                        open.push((key, link));
                    }
                    2 if !open.is_empty() => {
                        let (key, link) = open.swap_remove(random.below(open.len()));
                        purse.leave(key, link);
                        open.retain(|other| *other != (key, link));
                    }
                    3 => {
                        let passed = random.below(300_000_000) as u64;
                        now += passed;
                        all += u128::from(passed) * u128::from(second);
                        purse.flow_back(now);
                    }
                    _ if open.is_empty() => {}
                    kind => {
                        let (key, cost) = (open[random.below(open.len())].0, random.below(2_000) as u64);
                        purse.borrow(key, cost);
                        let before = purse.left(key);
                        let is_paid = purse.pay(key, cost);
                        assert_eq!(
                            (is_paid, before - purse.left(key)),
                            (cost <= before, if is_paid { cost } else { 0 })
                        );
                        paid += if is_paid { cost } else { 0 };
                        if kind == 5 {
                            purse.charge(key, cost / 8);
                            (paid, charged) = (paid + cost / 8, charged + cost / 8);
                        }
                    }
                }
                let held: u64 = left(&purse).iter().sum();
                let owed = owed(&purse);
                assert!(owed <= charged + 6 * holds, "{owed} of {holds}");
                assert!(held + purse.free <= holds + owed, "{held} and {}, of {holds}", purse.free);
                assert!(
                    u128::from(paid + held + purse.free) * u128::from(SECOND)
                        <= all + u128::from(owed) * u128::from(SECOND),
                    "seed {seed}"
                );
            }
        }
    }
}
