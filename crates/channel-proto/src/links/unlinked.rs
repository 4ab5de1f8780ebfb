//! The accepted connections that are no link yet, by whom they count under: so a node that has no room for one more finds the one
//! that gives way without a look at each of them.

use crate::credentials::Principal;
use crate::keys::ConnId;
use std::collections::{BTreeMap, BTreeSet};

/// Accepted connections that are no link yet.
#[derive(Default)]
pub(super) struct Unlinked {
    /// Those of each principal, by the order in which they came.
    all: BTreeMap<Principal, BTreeMap<u64, ConnId>>,
    /// How many each has, the most last, and the own user first.
    counts: BTreeSet<(bool, usize, Principal)>,
}

/// Where a connection is among them: under whom, and in which order it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) principal: Principal,
    pub(super) number: u64,
}

impl Unlinked {
    pub(super) fn add(&mut self, standing: Standing, id: ConnId) {
        self.change(standing.principal, |its| _ = its.insert(standing.number, id));
    }

    pub(super) fn remove(&mut self, standing: Standing) {
        self.change(standing.principal, |its| _ = its.remove(&standing.number));
    }

    fn change(&mut self, principal: Principal, change: impl FnOnce(&mut BTreeMap<u64, ConnId>)) {
        let its = self.all.entry(principal).or_default();
        let count = |its: &BTreeMap<u64, ConnId>| (!principal.is_own(), its.len(), principal);
        self.counts.remove(&count(its));
        change(its);
        match its.is_empty() {
            true => _ = self.all.remove(&principal),
            false => _ = self.counts.insert(count(its)),
        }
    }

    /// The oldest one of the principal that has the most, and one of the own user last.
    pub(super) fn oldest_of_the_most(&self) -> Option<ConnId> {
        let (.., principal) = self.counts.last()?;
        self.all.get(principal)?.first_key_value().map(|(_, &id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::KeyName;

    /// The rule, with a look at all of them.
    fn by_looking(all: &[(Standing, ConnId)]) -> Option<ConnId> {
        let mut found = BTreeMap::<Principal, (usize, ConnId)>::new();
        for (standing, id) in all {
            found.entry(standing.principal).or_insert((0, *id)).0 += 1;
        }
        let most = found.iter().max_by_key(|(principal, (count, _))| (!principal.is_own(), *count));
        most.map(|(_, (_, oldest))| *oldest)
    }

    #[test]
    fn the_one_that_gives_way_is_that_of_the_rule() {
        let key = |byte| Principal::Key(KeyName([byte; 8]));
        let principals = [Principal::Own, Principal::User(7), key(1), key(2), Principal::Nobody];
        let mut seed = 1u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let (mut unlinked, mut all) = (Unlinked::default(), Vec::<(Standing, ConnId)>::new());
        for number in 0..20_000 {
            // There are few of them at times, and at times many.
            let is_growing = number / 500 % 2 == 0;
            match random(8) {
                0..=1 => {}
                2 if !all.is_empty() => {
                    // It has proven who it is, and keeps its age.
                    let at = random(all.len());
                    let (standing, id) = &mut all[at];
                    unlinked.remove(*standing);
                    standing.principal = principals[random(principals.len())];
                    unlinked.add(*standing, *id);
                }
                chance if chance < 6 && is_growing || all.is_empty() => {
                    let standing = Standing { principal: principals[random(principals.len())], number };
                    // The numbers of connections need not be in order.
                    let id = ConnId(number.wrapping_mul(7_919) % 65_536);
                    unlinked.add(standing, id);
                    all.push((standing, id));
                }
                _ => {
                    let (standing, _) = all.remove(random(all.len()));
                    unlinked.remove(standing);
                }
            }
            assert_eq!(unlinked.oldest_of_the_most(), by_looking(&all), "{number}");
        }
        all.drain(..).for_each(|(standing, _)| unlinked.remove(standing));
        assert!(unlinked.all.is_empty() && unlinked.counts.is_empty(), "nothing is kept of those that have gone");
    }
}
