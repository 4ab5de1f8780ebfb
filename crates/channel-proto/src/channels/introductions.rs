//! Bounds how much a node dials because neighbours tell of members (`spec/channel.md`, "Which links there are"). A liar that
//! invents members makes the node dial little, and no address often.

use crate::Time;
use crate::credentials::Principal;
use crate::keys::{LinkKey, NodeId};
use std::collections::HashMap;

/// How many addresses are dialed in vain because of one neighbour: at once, and from then on in a second.
const AT_ONCE: u32 = 256;
const A_SECOND: u32 = 16;
/// Because of the neighbours of one principal together, so many times as many. The own user has no such limit.
const OF_PRINCIPAL: u32 = 4;
/// How long the node does not dial an address again at which it did not find the member: at first, and in the end.
const REST: Time = Time::from_millis(200);
const LONG_REST: Time = Time::from_secs(2);
/// How many such addresses are remembered.
const REMEMBERED: usize = 4096;

/// A neighbour that has told of members, and whom it counts under.
pub(super) type Teller = (Principal, LinkKey);

#[derive(Default)]
pub(super) struct Introductions {
    /// How many addresses have been dialed in vain because of a neighbour, and when some of that was last forgiven.
    spent: HashMap<LinkKey, (u32, Time)>,
    /// The same for all neighbours of a principal.
    spent_by: HashMap<Principal, (u32, Time)>,
    /// Who has told of the members that are dialed, and their addresses.
    under_way: HashMap<NodeId, (Teller, Vec<String>)>,
    /// Addresses at which nobody was found: how often in a row, and when they may be dialed again.
    vain: HashMap<String, (u32, Time)>,
}

impl Introductions {
    /// Whether one more member may be dialed because of a neighbour. Attempts that can wait leave half of what is allowed to
    /// others: a neighbour passes on what liars tell, and what they have invented must not keep new members waiting.
    pub(super) fn allow(&self, now: Time, (principal, teller): Teller, can_wait: bool) -> bool {
        let left = |spent: Option<&(u32, Time)>, times| {
            let spent = spent.map_or(0, |&(spent, since)| spent.saturating_sub(forgiven(now, since, times)));
            let most = times * AT_ONCE;
            most.saturating_sub(spent) > if can_wait { most / 2 } else { 0 }
        };
        left(self.spent.get(&teller), 1) && (principal.is_own() || left(self.spent_by.get(&principal), OF_PRINCIPAL))
    }

    /// Whether one more member may be dialed of which a neighbour has told, with so many places in all. Neighbours whose members are being
    /// dialed have equal shares of the places, and one more share stays free.
    pub(super) fn has_share(&self, teller: LinkKey, places: usize) -> bool {
        let used = self.under_way.values().filter(|((_, of), _)| *of == teller).count();
        let mut tellers: Vec<LinkKey> = self.under_way.values().map(|((_, of), _)| *of).chain([teller]).collect();
        tellers.sort_unstable();
        tellers.dedup();
        used < (places / (tellers.len() + 1)).max(1)
    }

    /// Whether the node dials only one address of each member that a neighbour tells of, since it has dialed many of them in vain.
    pub(super) fn are_scarce(&self, now: Time, teller: LinkKey) -> bool {
        self.left(now, teller) <= AT_ONCE / 2
    }

    fn left(&self, now: Time, teller: LinkKey) -> u32 {
        let spent = self.spent.get(&teller).map_or(0, |&(spent, since)| spent.saturating_sub(forgiven(now, since, 1)));
        AT_ONCE.saturating_sub(spent)
    }

    /// The time at which an address that others have told may be dialed.
    pub(super) fn may_be_dialed(&self, address: &str) -> Time {
        self.vain.get(address).map_or(Time::ZERO, |&(_, at)| at)
    }

    /// A member is dialed because of a neighbour.
    pub(super) fn charge(&mut self, now: Time, teller: Teller, node: NodeId, addresses: Vec<String>) {
        // A debt that is forgiven need not be kept.
        self.spent.retain(|_, (spent, since)| *spent > forgiven(now, *since, 1));
        self.spent_by.retain(|_, (spent, since)| *spent > forgiven(now, *since, OF_PRINCIPAL));
        let of_link = (self.spent.entry(teller.1).or_insert((0, now)), 1);
        for ((spent, since), times) in [of_link, (self.spent_by.entry(teller.0).or_insert((0, now)), OF_PRINCIPAL)] {
            *spent = spent.saturating_sub(forgiven(now, *since, times)).saturating_add(count(&addresses));
            *since = now;
        }
        if self.vain.len() + addresses.len() > REMEMBERED {
            self.vain.retain(|_, (_, at)| *at > now);
        }
        for address in &addresses {
            // Nobody else is looked for there meanwhile.
            self.vain.entry(address.clone()).or_insert((0, now)).1 = now + LONG_REST;
        }
        self.under_way.insert(node, (teller, addresses));
    }

    /// A member was reached.
    pub(super) fn was_reached(&mut self, node: NodeId) {
        let Some((teller, addresses)) = self.under_way.remove(&node) else { return };
        for (spent, _) in self.spent.get_mut(&teller.1).into_iter().chain(self.spent_by.get_mut(&teller.0)) {
            *spent = spent.saturating_sub(count(&addresses));
        }
        for address in addresses {
            self.vain.remove(&address);
        }
    }

    /// A member was not reached.
    pub(super) fn was_missed(&mut self, now: Time, node: NodeId) {
        let Some((_, addresses)) = self.under_way.remove(&node) else { return };
        for address in addresses {
            let (tries, at) = self.vain.entry(address).or_insert((0, now));
            *at = now + (REST * (1 << (*tries).min(8))).min(LONG_REST);
            *tries += 1;
        }
    }
}

fn count(addresses: &[String]) -> u32 {
    u32::try_from(addresses.len()).unwrap_or(u32::MAX)
}

fn forgiven(now: Time, since: Time, times: u32) -> u32 {
    let seconds = now.saturating_sub(since).as_secs();
    u32::try_from(seconds).unwrap_or(u32::MAX).saturating_mul(times * A_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Key as _;
    use crate::numbered::Numbered;

    const NOW: Time = Time::from_secs(10);

    fn links() -> [LinkKey; 3] {
        let mut all = Numbered::new();
        [(); 3].map(|()| all.insert(()))
    }

    fn of(link: LinkKey) -> Teller {
        (Principal::User(link.number()), link)
    }

    #[test]
    fn neighbours_with_one_credential_cost_as_much_as_four() {
        let mut all = Introductions::default();
        let mut numbered = Numbered::new();
        let mut addresses_dialed = 0;
        for number in 0..50u8 {
            let teller = (Principal::Nobody, numbered.insert(()));
            while all.allow(NOW, teller, false) {
                all.charge(NOW, teller, node(number), addresses(number));
                addresses_dialed += 8;
            }
        }
        assert_eq!(addresses_dialed, 4 * AT_ONCE);
        assert!(all.allow(NOW, of(numbered.insert(())), false), "somebody else");
        for _ in 0..8 {
            let teller = (Principal::Own, numbered.insert(()));
            (0..31).for_each(|number| all.charge(NOW, teller, node(number), addresses(number)));
            assert!(all.allow(NOW, teller, false), "the own user");
        }
    }

    fn node(number: u8) -> NodeId {
        NodeId([number; 16])
    }

    fn addresses(number: u8) -> Vec<String> {
        (0..8).map(|port| format!("tcp:127.0.0.{number}:{port}")).collect()
    }

    #[test]
    fn what_leads_nowhere_is_charged_and_what_leads_somewhere_is_not() {
        let (mut all, [teller, other, third]) = (Introductions::default(), links());
        for number in 0..32 {
            assert!(all.allow(NOW, of(teller), false));
            assert_eq!(all.allow(NOW, of(teller), true), number < 16);
            assert_eq!(all.are_scarce(NOW, teller), number >= 16);
            all.charge(NOW, of(teller), node(number), addresses(number));
        }
        let later = NOW + Time::from_secs(1);
        assert!(!all.allow(NOW, of(teller), false) && all.allow(NOW, of(other), true));
        assert!(all.allow(later, of(teller), false) && !all.allow(later, of(teller), true));
        all.was_reached(node(0));
        all.was_reached(node(0));
        (1..32).for_each(|number| all.was_missed(NOW, node(number)));
        assert!(all.allow(NOW, of(teller), false));
        all.charge(NOW, of(teller), node(0), addresses(0));
        assert!(!all.allow(NOW, of(teller), false));
        all.charge(NOW + Time::from_secs(500), of(third), node(9), addresses(0));
        assert_eq!(all.spent.len(), 1);
    }

    #[test]
    fn neighbours_share_the_places_of_those_who_are_dialed() {
        let (mut all, [one, other, third]) = (Introductions::default(), links());
        let count = |all: &mut Introductions, teller, from: u8| {
            let mut count = 0;
            while all.has_share(teller, 16) {
                all.charge(NOW, of(teller), node(from + count), addresses(from + count));
                count += 1;
            }
            count
        };
        assert_eq!(count(&mut all, one, 0), 8, "another share is free");
        assert_eq!(count(&mut all, other, 20), 5);
        assert!(!all.has_share(one, 16));
        (0..8).for_each(|number| all.was_missed(NOW, node(number)));
        assert_eq!(count(&mut all, one, 40), 5, "two share now, and leave a third part");
        assert_eq!(count(&mut all, third, 60), 4);
    }

    #[test]
    fn an_address_at_which_nobody_was_found_rests() {
        let (mut all, [teller, ..]) = (Introductions::default(), links());
        let (mut now, address) = (NOW, &addresses(1)[0]);
        for rest in [200, 400, 800, 1600, 2000, 2000] {
            assert!(all.may_be_dialed(address) <= now);
            all.charge(now, of(teller), node(1), addresses(1));
            all.was_missed(now, node(1));
            now += Time::from_millis(rest);
            assert_eq!(all.may_be_dialed(address), now);
        }
        all.charge(now, of(teller), node(1), addresses(1));
        all.was_reached(node(1));
        assert_eq!(all.may_be_dialed(address), Time::ZERO);
    }
}
