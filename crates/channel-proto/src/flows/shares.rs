//! Shares the time of a source among the nodes whose queries it evaluates, and the queries of each (`spec/channel.md`, "The
//! time of queries"). `wants` says what a query costs.

use crate::grant::QueryTime;
use crate::keys::LinkKey;

/// How often the budget flows back at most, in nanoseconds: not with each of very many events.
const GRAIN: u64 = 10_000_000;
/// The longest time that can be spent at once, in nanoseconds.
const MOST: u64 = 1 << 41;

/// Another node that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Asker {
    pub(super) link: LinkKey,
    /// Whether it has no credentials.
    pub(super) is_stranger: bool,
}

/// What a node has left for one of its queries.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) asker: Asker,
    /// How many of its sinks share the query.
    pub(super) sinks: usize,
    /// In nanoseconds.
    pub(super) left: u64,
    /// The most that it can hold.
    pub(super) most: u64,
    /// What it has to give back before it gets anything.
    pub(super) owes: u64,
}

impl Part {
    pub(super) fn new(asker: Asker) -> Part {
        Part { asker, sinks: 1, left: 0, most: 0, owes: 0 }
    }

    /// What it has for other queries of the node: it keeps half of what it can hold.
    pub(super) fn spare(&self) -> u64 {
        self.left.saturating_sub(self.most / 2)
    }

    fn room(&self) -> u64 {
        self.most - self.left + self.owes
    }

    fn get(&mut self, more: u64) {
        let back = more.min(self.owes);
        (self.owes, self.left) = (self.owes - back, self.left + more - back);
    }
}

/// The budget of a source, less what the parts have.
pub(super) struct Purse {
    /// The budget, in nanoseconds: at once, and of each second.
    at_once: u64,
    second: u64,
    /// What no part can hold.
    free: u64,
    /// What parts owed that are gone.
    owed: u64,
    /// The time of the event with which it flowed back last.
    since: u64,
}

impl Purse {
    pub(super) fn new(time: QueryTime) -> Purse {
        let [at_once, second] = [time.at_once, time.second].map(|time| (time.as_nanos() as u64).min(MOST));
        Purse { at_once, second, free: at_once, owed: 0, since: 0 }
    }

    /// A purse into which nothing flows back: for one part, which has what it has.
    pub(super) fn closed() -> Purse {
        Purse { at_once: 0, second: 0, free: 0, owed: 0, since: 0 }
    }

    /// What the time since the last call gives back flows into the parts, unless that was a moment ago. Returns whether it was not.
    pub(super) fn flow_back<'a>(&mut self, now: u64, parts: impl Iterator<Item = &'a mut Part>) -> bool {
        let passed = now.saturating_sub(self.since);
        // The clock may have been set back.
        self.since = self.since.min(now);
        let is_due = passed >= GRAIN;
        if is_due {
            self.since = now;
            let more = u128::from(passed) * u128::from(self.second) / 1_000_000_000;
            self.free += more.min(u128::from(self.at_once)) as u64;
            self.settle(parts);
        }
        is_due
    }

    /// Gives each node its share, and each of its queries a part of that.
    pub(super) fn settle<'a>(&mut self, parts: impl Iterator<Item = &'a mut Part>) {
        let mut parts: Vec<&mut Part> = parts.collect();
        parts.sort_unstable_by_key(|part| part.asker);
        let is_same = |one: &&mut Part, other: &&mut Part| one.asker == other.asker;
        let askers = parts.chunk_by(|one, other| one.asker == other.asker);
        let (strangers, members) =
            askers.fold((0, 0), |(strangers, members), asker| match asker[0].asker.is_stranger {
                true => (strangers + 1, members),
                false => (strangers, members + 1),
            });
        // All strangers together have as much as one member.
        let (of_member, all) = (strangers.max(1), (members + u64::from(strangers > 0)) * strangers.max(1));
        let mut shares = Vec::new();
        for asker in parts.chunk_by_mut(is_same) {
            let weight = if asker[0].asker.is_stranger { 1 } else { of_member };
            let most = self.at_once.saturating_mul(weight) / all / asker.len() as u64;
            for part in asker.iter_mut() {
                self.free = self.free.saturating_add(part.left.saturating_sub(most));
                (part.left, part.most) = (part.left.min(most), most);
            }
            shares.push(Share { weight, room: asker.iter().map(|part| part.room()).sum(), gets: 0 });
        }
        // What is owed by those who are gone is given back as if they were there.
        shares.push(Share { weight: of_member, room: self.owed, gets: 0 });
        self.free = divide(self.free, &mut shares);
        self.owed -= shares.last().map_or(0, |owed| owed.gets);
        for (asker, node) in parts.chunk_by_mut(is_same).zip(&shares) {
            let of_part = |part: &&mut Part| Share { weight: 1, room: part.room(), gets: 0 };
            let mut shares: Vec<Share> = asker.iter().map(of_part).collect();
            self.free += divide(node.gets, &mut shares);
            asker.iter_mut().zip(&shares).for_each(|(part, share)| part.get(share.gets));
        }
        let held: u64 = parts.iter().map(|part| part.left).sum();
        self.free = self.free.min(self.at_once.saturating_sub(held));
    }

    /// A part is gone. Others get what it has left.
    pub(super) fn take_back(&mut self, part: &Part) {
        self.free = self.free.saturating_add(part.left);
        self.owed += part.owes;
    }

    /// Lends to parts of a query what they lack for one evaluation, if each of them is full: a query that takes more than its
    /// part can hold is evaluated once in a while. All that is owed is at most one budget, of which the others owe some already.
    pub(super) fn lend(&self, parts: &mut [Part], cost: u64, others: u64) {
        let held = parts.iter().fold(0u64, |all, part| all.saturating_add(part.left));
        let (lacks, count) = (cost.saturating_sub(held), parts.len() as u64);
        let is_too_much = others.saturating_add(self.owed).saturating_add(lacks) > self.at_once;
        if count == 0 || is_too_much || parts.iter().any(|part| part.left < part.most) {
            return;
        }
        for part in parts {
            let more = lacks.div_ceil(count);
            (part.left, part.owes) = (part.left + more, part.owes + more);
        }
    }
}

/// What someone gets of an amount.
#[derive(Clone, Copy)]
struct Share {
    weight: u64,
    /// The most that it can get.
    room: u64,
    gets: u64,
}

/// Divides an amount by weights. What one cannot hold goes to the others. Returns the rest.
fn divide(mut amount: u64, shares: &mut [Share]) -> u64 {
    loop {
        let weights: u64 = shares.iter().filter(|share| share.room > 0).map(|share| share.weight).sum();
        if weights == 0 || amount < weights {
            return amount;
        }
        let each = amount / weights;
        for share in shares.iter_mut() {
            let more = each.saturating_mul(share.weight).min(share.room);
            (share.room, share.gets, amount) = (share.room - more, share.gets + more, amount - more);
        }
    }
}

/// Pays from all these parts in equal amounts, and if one has too little, more from the others. Returns whether together they
/// have as much; otherwise nothing is paid.
pub(super) fn pay(parts: &mut [Part], cost: u64) -> bool {
    if let [only] = parts {
        let left = only.left.checked_sub(cost);
        only.left = left.unwrap_or(only.left);
        return left.is_some();
    }
    let all = parts.iter().fold(0u64, |all, part| all.saturating_add(part.left));
    if all < cost {
        return false;
    }
    let mut rest = cost;
    while rest > 0 {
        let able = parts.iter().filter(|part| part.left > 0).count() as u64;
        let each = rest.div_ceil(able.max(1));
        for part in parts.iter_mut() {
            let paid = each.min(part.left).min(rest);
            (part.left, rest) = (part.left - paid, rest - paid);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;
    use crate::keys::Key as _;
    use isoform_testing::mutate::Random;

    fn part(node: u32, is_stranger: bool, left: u64) -> Part {
        Part { left, ..Part::new(Asker { link: LinkKey::of(node, 0), is_stranger }) }
    }

    fn purse(at_once: u64, second: u64) -> Purse {
        Purse::new(QueryTime { at_once: Time::from_nanos(at_once), second: Time::from_nanos(second) })
    }

    fn left(parts: &[Part]) -> Vec<u64> {
        parts.iter().map(|part| part.left).collect()
    }

    #[test]
    fn nodes_have_equal_shares_and_their_queries_equal_parts() {
        let mut purse = purse(1200, 1200);
        let mut parts = [part(1, false, 0), part(2, false, 0), part(2, false, 0), part(3, true, 0), part(4, true, 0)];
        purse.settle(parts.iter_mut());
        assert_eq!(left(&parts), [400, 200, 200, 200, 200], "strangers have one share together");
        parts.iter_mut().for_each(|part| part.left = 0);
        purse.flow_back(500_000_000, parts.iter_mut());
        assert_eq!(left(&parts), [200, 100, 100, 100, 100]);
        parts[1].left = 200;
        purse.flow_back(750_000_000, parts.iter_mut());
        assert_eq!(left(&parts), [300, 200, 200, 150, 150], "what one query cannot hold is for the others of its node");
        parts[0].left = 400;
        purse.flow_back(800_000_000, parts.iter_mut());
        assert_eq!(left(&parts), [400, 200, 200, 180, 180], "and then for other nodes");
    }

    #[test]
    fn whoever_comes_and_goes_the_budget_is_never_more_than_it_was() {
        for seed in 0..2_000 {
            let mut random = Random::new(seed);
            let (at_once, second) = (random.below(10_000) as u64, random.below(10_000) as u64);
            let (mut purse, mut parts, mut now) = (purse(at_once, second), Vec::<Part>::new(), 0);
            // All that has flowed back, and all that was paid.
            let (mut all, mut paid) = (u128::from(at_once) * 1_000_000_000, 0u64);
            for _ in 0..100 {
                match random.below(5) {
                    0 => {
                        let node = random.below(5) as u32;
                        parts.push(part(node, node >= 3, 0));
                        purse.settle(parts.iter_mut());
                    }
                    1 if !parts.is_empty() => {
                        let gone = parts.swap_remove(random.below(parts.len()));
                        purse.take_back(&gone);
                        purse.settle(parts.iter_mut());
                    }
                    2 => {
                        let passed = random.below(300_000_000) as u64;
                        now += passed;
                        all += u128::from(passed) * u128::from(second);
                        purse.flow_back(now, parts.iter_mut());
                    }
                    _ => {
                        let (from, cost) = (random.below(parts.len() + 1), random.below(2_000) as u64);
                        let others = parts.iter().map(|part| part.owes).sum();
                        purse.lend(&mut parts[from..], cost, others);
                        let before: u64 = parts[from..].iter().map(|part| part.left).sum();
                        let is_paid = pay(&mut parts[from..], cost);
                        let after: u64 = parts[from..].iter().map(|part| part.left).sum();
                        assert_eq!((is_paid, before - after), (cost <= before, if is_paid { cost } else { 0 }));
                        paid += before - after;
                    }
                }
                let held: u64 = parts.iter().map(|part| part.left).sum();
                let owed = purse.owed + parts.iter().map(|part| part.owes).sum::<u64>();
                assert!(owed <= at_once + 5, "{owed} of {at_once}, but for rounding");
                assert!(held + purse.free <= at_once + owed, "{held} and {}, of {at_once}", purse.free);
                assert!(
                    u128::from(paid + held + purse.free) * 1_000_000_000 <= all + u128::from(owed) * 1_000_000_000,
                    "seed {seed}"
                );
            }
        }
    }

    #[test]
    fn who_shares_a_query_pays_an_equal_part_and_more_if_another_cannot() {
        let mut parts = [part(1, false, 100), part(2, false, 10), part(3, false, 100)];
        assert!(pay(&mut parts, 24));
        assert_eq!(left(&parts), [92, 2, 92]);
        assert!(pay(&mut parts, 30));
        assert_eq!(left(&parts), [78, 0, 78]);
        assert!(!pay(&mut parts, 157) && pay(&mut parts, 156));
        assert_eq!(left(&parts), [0; 3]);
    }
}
