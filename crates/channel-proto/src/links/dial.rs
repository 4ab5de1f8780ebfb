//! Attempts to reach nodes: their addresses, the wanted node, and the time of the next attempt.

use super::{Links, Purpose, Turn};
use crate::Time;
use crate::action::Action;
use crate::allowance::Allowance;
use crate::keys::{ConnId, DialKey, LinkKey, NodeId, OpenKey};
use crate::memory::Body;
use isoform_core::{Code, Error};

/// A node counts as gone after this many consecutive attempts at which nothing listened, since a running node listens.
const REFUSALS: u32 = 5;
/// The time before the next attempt to dial.
const AGAIN: Time = Time::from_millis(50);
/// The time for which the node that was dialed waits for the dialer to dial again.
const PATIENCE: Time = Time::from_secs(1);

/// How many addresses of a link's other node are dialed to restore the link: those where it was reached first.
const ADDRESSES: usize = 8;
/// How often addresses are dialed to restore links, for all links with the nodes of one principal: at once, and in a second. At those
/// where a node was reached before, a handshake is likely, and there are as many as of the other side's. The other addresses are claims. The
/// own user has no such limit.
const REACHED: u32 = 4_096;
const REACHED_A_SECOND: u32 = 16;
const CLAIMED: u32 = 1_024;
const CLAIMED_A_SECOND: u32 = 64;
/// The time before the next attempt to open a channel where there was no room: so much, then twice as much each time, and a second in the end.
const CROWDED: Time = Time::from_millis(100);
/// The time before the next attempt if what is allowed is used up. It is also the longest one where there was no room.
const LATER: Time = Time::from_secs(1);

/// How often addresses were dialed to restore the links with the nodes of a principal: those where they were reached, and others.
#[derive(Default)]
pub(super) struct Redials {
    reached: Allowance,
    claimed: Allowance,
}

/// An attempt to reach a node.
pub(super) struct Dial {
    /// The possible addresses. The first one that answers is used.
    addresses: Vec<String>,
    /// The number of addresses that were tried, and how many may be tried in this round.
    tried: usize,
    most: usize,
    /// The wanted node; `None` for any node.
    pub(super) wanted: Option<NodeId>,
    pub(super) purpose: Purpose,
    deadline: Time,
    /// The time of the next attempt, if none is in progress.
    again: Option<Time>,
    pub(super) connection: Option<ConnId>,
    /// The number of consecutive rounds in which nothing listened at any of the addresses.
    refusals: u32,
    /// Why there was no room at the last one, and the pause before the next one.
    crowded: Option<Error>,
    pause: Time,
}

impl Dial {
    fn new(addresses: Vec<String>, wanted: Option<NodeId>, purpose: Purpose, deadline: Time) -> Dial {
        let most = addresses.len();
        Dial {
            addresses,
            tried: 0,
            most,
            wanted,
            purpose,
            deadline,
            again: None,
            connection: None,
            refusals: 0,
            crowded: None,
            pause: CROWDED,
        }
    }

    /// The time at which something is due.
    pub(super) fn due(&self) -> Time {
        self.again.unwrap_or(self.deadline).min(self.deadline)
    }

    /// Whether others have told of the node, or an id.
    fn is_introduced(&self) -> bool {
        matches!(self.purpose, Purpose::Meet(_))
    }

    /// Tries all addresses again at this time.
    pub(super) fn again(&mut self, at: Time) {
        self.tried = 0;
        self.again = Some(at);
    }
}

/// Whether a node dials an address that another node named. Any program may listen at a path, and would see a connection of this
/// node's user, so only a node that is on this machine for sure may name one.
pub(crate) fn may_dial(address: &str, is_near: bool) -> bool {
    is_near || !address.starts_with("unix:")
}

/// The time before a link is restored that has had so many brief connections in a row: none after the first of them.
fn rest(brief: u32) -> Time {
    brief.checked_sub(2).map_or(Time::ZERO, |more| (AGAIN * (1 << more.min(8))).min(PATIENCE))
}

impl<B: Body> Links<B> {
    /// Begins to dial.
    pub(crate) fn dial(&mut self, addresses: Vec<String>, wanted: Option<NodeId>, purpose: Purpose, deadline: Time) {
        let key = self.dials.insert(Dial::new(addresses, wanted, purpose, deadline));
        self.dial_next(key);
    }

    /// How many more nodes that others have told of may be dialed now.
    pub(crate) fn room_to_meet(&self) -> usize {
        self.settings.introductions.saturating_sub(self.dials_to_meet())
    }

    /// How many such nodes are dialed.
    pub(crate) fn dials_to_meet(&self) -> usize {
        self.dials.iter().filter(|(_, dial)| dial.is_introduced()).count()
    }

    /// Whether this node is dialed.
    pub(crate) fn is_dialing(&self, node: NodeId) -> bool {
        self.dials.iter().any(|(_, dial)| dial.wanted == Some(node))
    }

    /// Whether a node of this address is dialed, whichever it is, or the link with the one that was reached there is being restored.
    pub(crate) fn is_dialing_at(&self, address: &str) -> bool {
        self.dials.iter().any(|(_, dial)| match dial.purpose {
            Purpose::Resume(link) => self.all[link].reached.iter().any(|at| at == address),
            _ => dial.wanted.is_none() && dial.addresses.iter().any(|at| at == address),
        })
    }

    /// An attempt to connect has failed.
    pub(crate) fn dial_failed(&mut self, now: Time, key: DialKey, error: Error) {
        let Some(dial) = self.dials.get_mut(key) else { return };
        dial.connection = None;
        if dial.tried < dial.most {
            return self.dial_next(key);
        }
        self.dial_is_over(now, key, error);
    }

    fn dial_next(&mut self, key: DialKey) {
        let Some(dial) = self.dials.get_mut(key) else { return };
        let address = dial.addresses.get(dial.tried).cloned();
        dial.tried += 1;
        dial.again = None;
        if let Some(address) = address {
            self.actions.act(Action::Dial(key, address));
        }
    }

    /// All addresses have been tried.
    fn dial_is_over(&mut self, now: Time, key: DialKey, error: Error) {
        let Some(dial) = self.dials.get_mut(key) else { return };
        dial.refusals = if error.code() == Code::Unreachable { dial.refusals + 1 } else { 0 };
        let nobody = dial.refusals >= REFUSALS;
        match dial.purpose {
            // Another node listens at the address, so the wanted one will not come back.
            Purpose::Resume(link) if nobody || error.code() == Code::WrongNode => {
                self.dials.remove(key);
                self.end(link, Some(error));
            }
            Purpose::Resume(_) => dial.again(now + AGAIN),
            // There may be room soon.
            Purpose::Open(_) if error.code() == Code::Peers && now + dial.pause < dial.deadline => {
                dial.crowded = Some(error);
                dial.again(now + dial.pause);
                dial.pause = (2 * dial.pause).min(LATER);
            }
            Purpose::Open(_) | Purpose::Meet(_) => {
                let (purpose, wanted) = (dial.purpose, dial.wanted);
                self.dials.remove(key);
                self.turns.push_back(Turn::Missed(purpose, wanted, error));
            }
        }
    }

    /// The other side has refused this connection in favour of another, which this node does not know of yet.
    pub(super) fn dial_again(&mut self, now: Time, key: DialKey) {
        if let Some(dial) = self.dials.get_mut(key) {
            dial.connection = None;
            dial.again(now + AGAIN);
        }
    }

    /// Dials the other side of a link whose connection broke.
    pub(super) fn dial_to_resume(&mut self, now: Time, key: LinkKey) {
        let Some(link) = self.all.get(key) else { return };
        let is_near = self.is_near(key);
        let is_known = |address: &&String| may_dial(address, is_near) || link.reached.contains(address);
        let known: Vec<&String> = link.addresses.iter().filter(is_known).collect();
        let mut claimed =
            ADDRESSES.saturating_sub(known.iter().filter(|address| link.reached.contains(address)).count());
        // The other node names the best one first.
        let is_taken = |address: &&String| {
            let is_claimed = !link.reached.contains(address);
            let is_taken = !is_claimed || claimed > 0;
            claimed -= usize::from(is_claimed && is_taken);
            is_taken
        };
        let addresses: Vec<String> = known.into_iter().filter(is_taken).take(ADDRESSES).cloned().collect();
        if addresses.is_empty() {
            return;
        }
        let linger = self.settings.linger;
        let mut dial = Dial::new(addresses, Some(link.peer), Purpose::Resume(key), now + linger);
        dial.again = Some(now + if link.dialed { rest(link.brief).min(linger / 4) } else { PATIENCE });
        self.dials.insert(dial);
    }

    /// Begins to dial all addresses, or as many as may be dialed now.
    fn dial_all(&mut self, now: Time, key: DialKey) {
        let Links { all, dials, redials, .. } = self;
        let Some(dial) = dials.get_mut(key) else { return };
        if let Purpose::Resume(link) = dial.purpose
            && let Some(link) = all.get(link)
            && !link.taken.principal.is_own()
        {
            let count = dial.addresses.len() as u32;
            let known = dial.addresses.iter().filter(|address| link.reached.contains(address)).count() as u32;
            let Redials { reached, claimed } = redials.entry(link.taken.principal).or_default();
            let mut most = reached.take_some(now, known, REACHED, REACHED_A_SECOND);
            if most == known {
                most += claimed.take_some(now, count - known, CLAIMED, CLAIMED_A_SECOND);
            }
            if most < count {
                dial.addresses.sort_by_key(|address| !link.reached.contains(address));
            }
            dial.most = most as usize;
            if most == 0 {
                return dial.again(now + LATER);
            }
        }
        self.dial_next(key);
    }

    /// The dialed node has a link now.
    pub(super) fn reached(&mut self, key: DialKey, link: LinkKey) {
        let Some(mut dial) = self.dials.remove(key) else { return };
        if let Some(reached) = dial.tried.checked_sub(1).filter(|&at| at < dial.addresses.len())
            && let address = dial.addresses.swap_remove(reached)
            && let reached = &mut self.all[link].reached
            && !reached.contains(&address)
        {
            reached.truncate(ADDRESSES - 1);
            reached.insert(0, address);
        }
        self.turns.push_back(Turn::Reached(dial.purpose, link));
    }

    /// Gives up all attempts to restore a link.
    pub(super) fn forget_resuming(&mut self, link: LinkKey) {
        let of_it = self.dials.iter().filter(|(_, dial)| dial.purpose == Purpose::Resume(link));
        let all: Vec<DialKey> = of_it.map(|(dial, _)| dial).collect();
        all.into_iter().for_each(|dial| self.forget_dial(dial));
    }

    /// Gives up all attempts to open a channel, since there is an answer.
    pub(crate) fn forget_opening(&mut self, open: OpenKey) {
        let of_it = self.dials.iter().filter(|(_, dial)| dial.purpose == Purpose::Open(open));
        let all: Vec<DialKey> = of_it.map(|(dial, _)| dial).collect();
        all.into_iter().for_each(|dial| self.forget_dial(dial));
    }

    /// Gives up an attempt, and its connection.
    pub(super) fn forget_dial(&mut self, key: DialKey) {
        let Some(dial) = self.dials.remove(key) else { return };
        if let Some(id) = dial.connection
            && self.connections.get(&id).is_some_and(|connection| connection.link.is_none())
        {
            self.remove_connection(id);
            self.actions.act(Action::Close(id));
        }
    }

    pub(super) fn tick_dials(&mut self, now: Time) {
        self.redials.retain(|_, Redials { reached, claimed }| !(reached.rests(now) && claimed.rests(now)));
        for key in self.dials.keys() {
            let Some(dial) = self.dials.get(key) else { continue };
            if dial.deadline <= now {
                let address = dial.addresses.first().cloned().unwrap_or_default();
                let silent = || Error::new(Code::Deadline).at(address).expected("a node that answers");
                let error = dial.crowded.clone().unwrap_or_else(silent);
                let (purpose, wanted) = (dial.purpose, dial.wanted);
                self.forget_dial(key);
                if !matches!(purpose, Purpose::Resume(_)) {
                    self.turns.push_back(Turn::Missed(purpose, wanted, error));
                }
            } else if dial.again.is_some_and(|again| again <= now) {
                self.dial_all(now, key);
            }
        }
    }
}
