//! The announcements that wait to be passed on (`spec/channel.md`, "Announcements"): how many, and in which order. `others` has what they
//! say.

use crate::Time;
use crate::allowance::Allowance;
use crate::credentials::Principal;
use crate::keys::{ChannelKey, LinkKey, NodeId};
use std::collections::{HashMap, VecDeque};

/// How many announcements are passed on: at once, and in a second. A neighbour checks more than that for each of its links.
const AT_ONCE: u32 = 768;
const A_SECOND: u32 = 48;
/// How many of these neighbours have told of new members: members that were never passed on. A neighbour may dial a few more than that.
const NEW_AT_ONCE: u32 = 128;
const NEW_A_SECOND: u32 = 12;
/// How many copies of what the neighbours of one principal have told are written: at once, and in a second. The own user has no such limit.
/// The last announcement may go beyond that.
const COPIES: u32 = 65_536;
const COPIES_A_SECOND: u32 = 8_192;
/// How many announcements of known members, and of new ones, wait that one neighbour has told.
const WAITING: usize = 256;
/// How many announcements of a neighbour itself wait, on all channels.
const OWN: usize = 4096;

/// What waits to be passed on.
#[derive(Default)]
pub(super) struct Passing {
    lanes: HashMap<LinkKey, Lane>,
    /// The neighbours whose announcements wait, in the order of their turns.
    turns: VecDeque<LinkKey>,
    /// What may be passed on, in all.
    all: Allowance,
    /// What may be passed on of new members that neighbours tell of.
    new: Allowance,
    /// The copies that may be written because of the neighbours of each principal.
    copies: HashMap<Principal, Allowance>,
    /// Nothing more is passed on before this time.
    rests: Time,
}

/// What one neighbour has told, and waits.
struct Lane {
    /// Whom the neighbour counts under.
    principal: Principal,
    /// Of itself, on these channels.
    own: VecDeque<(ChannelKey, NodeId)>,
    /// Of members that were passed on before.
    known: VecDeque<(ChannelKey, NodeId)>,
    /// Of members that were not.
    new: VecDeque<(ChannelKey, NodeId)>,
}

/// What a neighbour tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tells {
    /// Of itself.
    Itself,
    /// Of a member that was passed on before.
    Known,
    /// Of a member that was not.
    New,
}

impl Passing {
    /// Puts an announcement, which a neighbour has told, behind those that wait. If too many wait, a random one is dropped. Of a member, the
    /// latest one is passed on, and no other.
    pub(super) fn put(
        &mut self,
        (principal, teller): (Principal, LinkKey),
        tells: Tells,
        of: (ChannelKey, NodeId),
        chance: usize,
    ) {
        let lane = self.lanes.entry(teller).or_insert_with(|| {
            self.turns.push_back(teller);
            let (own, known, new) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
            Lane { principal, own, known, new }
        });
        lane.principal = principal;
        let (queue, most) = match tells {
            Tells::Itself => (&mut lane.own, OWN),
            Tells::Known => (&mut lane.known, WAITING),
            Tells::New => (&mut lane.new, WAITING),
        };
        if queue.contains(&of) {
            return;
        }
        if queue.len() == most {
            queue.remove(chance % most);
        }
        queue.push_back(of);
        if tells == Tells::Itself {
            // Others may have used up only what is left for new members.
            self.rests = Time::ZERO;
        }
    }

    /// The next announcement to be passed on, behind the neighbour that has told it. The neighbours take turns. `copies` says how many
    /// others get it.
    pub(super) fn next(
        &mut self,
        now: Time,
        copies: impl Fn(ChannelKey) -> usize,
    ) -> Option<(LinkKey, ChannelKey, NodeId)> {
        if now < self.rests {
            return None;
        }
        for _ in 0..self.turns.len() {
            let teller = self.turns.pop_front()?;
            let Some(lane) = self.lanes.get_mut(&teller) else { continue };
            let principal = lane.principal;
            let spent = self.copies.get(&principal).copied().unwrap_or_default();
            if !spent.has_some(now, COPIES, COPIES_A_SECOND) {
                self.turns.push_back(teller);
                continue;
            }
            let only_new = lane.own.is_empty() && lane.known.is_empty();
            let is_allowed = !only_new || self.new.take(now, NEW_AT_ONCE, NEW_A_SECOND);
            if is_allowed && !self.all.take(now, AT_ONCE, A_SECOND) {
                self.turns.push_front(teller);
                break;
            }
            let next = if is_allowed { lane.next() } else { None };
            if lane.is_empty() {
                self.lanes.remove(&teller);
            } else {
                self.turns.push_back(teller);
            }
            if let Some((key, node)) = next {
                if !principal.is_own() {
                    let copies = u32::try_from(copies(key)).unwrap_or(u32::MAX);
                    self.copies.entry(principal).or_default().take_some(now, copies, COPIES, COPIES_A_SECOND);
                }
                return Some((teller, key, node));
            }
        }
        if self.turns.is_empty() {
            self.copies.retain(|_, spent| !spent.rests(now));
        } else {
            self.rests = now + Time::from_secs(1);
        }
        None
    }

    /// When the next announcement may be passed on, if one waits.
    pub(super) fn due(&self) -> Option<Time> {
        (!self.turns.is_empty()).then_some(self.rests)
    }
}

impl Lane {
    fn next(&mut self) -> Option<(ChannelKey, NodeId)> {
        [&mut self.own, &mut self.known, &mut self.new].into_iter().find_map(VecDeque::pop_front)
    }

    fn is_empty(&self) -> bool {
        self.own.is_empty() && self.known.is_empty() && self.new.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbered::Numbered;

    fn node(number: usize) -> NodeId {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&number.to_le_bytes());
        NodeId(id)
    }

    /// Neighbours without credentials.
    fn of(link: LinkKey) -> (Principal, LinkKey) {
        (Principal::Nobody, link)
    }

    /// One more member gets it.
    fn alone(_: ChannelKey) -> usize {
        1
    }

    /// Ten neighbours tell of invented members without end, and another one of itself.
    #[test]
    fn a_neighbour_that_tells_of_itself_does_not_wait_for_those_that_tell_of_many() {
        let (mut passing, mut links, mut channels) = (Passing::default(), Numbered::new(), Numbered::new());
        let tellers: Vec<LinkKey> = (0..10).map(|_| links.insert(())).collect();
        let (honest, key): (LinkKey, ChannelKey) = (links.insert(()), channels.insert(()));
        let mut invented = 100..;
        for second in 1..60 {
            let now = Time::from_secs(second);
            for &teller in tellers.iter().cycle().take(1000) {
                let next = invented.next().unwrap_or(0);
                passing.put(of(teller), Tells::New, (key, node(next)), next);
            }
            let is_told = second % 10 == 0;
            if is_told {
                passing.put(of(honest), Tells::Itself, (key, node(1)), 0);
            }
            let passed: Vec<_> = std::iter::from_fn(|| passing.next(now, alone)).collect();
            let most = if second == 1 { NEW_AT_ONCE } else { NEW_A_SECOND } as usize;
            assert_eq!(passed.len(), most + usize::from(is_told), "in second {second}");
            assert_eq!(passed.iter().any(|(teller, _, of)| (*teller, *of) == (honest, node(1))), is_told);
            assert!(passing.lanes.values().all(|lane| lane.new.len() <= WAITING));
        }
        assert_eq!(passing.due(), Some(Time::from_secs(60)));
        passing.put(of(honest), Tells::Itself, (key, node(2)), 0);
        let next = passing.next(Time::from_secs(59), alone);
        assert_eq!(next, Some((honest, key, node(2))), "it does not wait for the next second");
    }

    #[test]
    fn a_neighbour_that_tells_again_and_again_is_passed_on_once_and_no_more_than_others() {
        let (mut passing, mut links, mut channels) = (Passing::default(), Numbered::new(), Numbered::new());
        let (one, other): (LinkKey, LinkKey) = (links.insert(()), links.insert(()));
        let (key, now): (ChannelKey, _) = (channels.insert(()), Time::from_secs(1));
        (0..1000).for_each(|_| passing.put(of(one), Tells::Itself, (key, node(1)), 0));
        (0..9).for_each(|at| passing.put(of(other), Tells::Known, (key, node(at)), 0));
        let passed: Vec<_> = std::iter::from_fn(|| passing.next(now, alone)).map(|(teller, ..)| teller).collect();
        assert_eq!(passed[..2], [one, other]);
        assert_eq!(passed.len(), 10);
        assert_eq!((passing.next(now, alone), passing.due()), (None, None));
        passing.put(of(one), Tells::Itself, (key, node(1)), 0);
        assert_eq!(passing.next(now, alone), Some((one, key, node(1))), "it does not rest if nothing waits");
        let all: u32 = (0..2000)
            .map(|at| {
                passing.put(of(other), Tells::Known, (key, node(at)), 0);
                u32::from(passing.next(now + Time::from_secs(1), alone).is_some())
            })
            .sum();
        assert_eq!(all, AT_ONCE, "no more is ever saved up");
    }

    /// Of 600 members with one credential, 60 change four times a second.
    #[test]
    fn what_many_neighbours_get_is_bounded_by_credential_and_merged() {
        let (mut passing, mut links, mut channels) = (Passing::default(), Numbered::new(), Numbered::new());
        let tellers: Vec<LinkKey> = (0..60).map(|_| links.insert(())).collect();
        let (honest, key): (LinkKey, ChannelKey) = (links.insert(()), channels.insert(()));
        let (members, seconds) = (600, 20);
        let mut copies = 0;
        for quarter in 0..4 * seconds {
            let now = Time::from_millis(250 * quarter);
            for (at, &teller) in tellers.iter().enumerate() {
                passing.put((Principal::User(7), teller), Tells::Itself, (key, node(at)), 0);
            }
            passing.put((Principal::User(8), honest), Tells::Itself, (key, node(100)), 0);
            let passed: Vec<_> = std::iter::from_fn(|| passing.next(now, |_| members)).collect();
            assert!(passed.len() <= tellers.len() + 1, "each once");
            copies += members * passed.iter().filter(|(teller, ..)| *teller != honest).count();
            assert!(passed.iter().any(|(teller, ..)| *teller == honest), "another credential does not wait");
        }
        let most = COPIES as usize + seconds as usize * (COPIES_A_SECOND as usize + members);
        assert!((COPIES as usize..=most).contains(&copies), "{copies}");
        assert!(passing.lanes.values().all(|lane| lane.own.len() <= 1));
    }
}
