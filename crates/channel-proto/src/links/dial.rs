//! Attempts to reach nodes: their addresses, the wanted node, and the time of the next attempt.

use super::{Links, Purpose, Turn};
use crate::Time;
use crate::action::Action;
use crate::keys::{ConnId, DialKey, LinkKey, NodeId};
use crate::memory::Body;
use isoform_core::{Code, Error};

/// A node counts as gone after this many consecutive attempts at which nothing listened, since a running node listens.
const REFUSALS: u32 = 5;
/// The time before the next attempt to dial.
const AGAIN: Time = Time::from_millis(50);
/// The time for which the node that was dialed waits for the dialer to dial again.
const PATIENCE: Time = Time::from_secs(1);

/// An attempt to reach a node.
pub(super) struct Dial {
    /// The possible addresses. The first one that answers is used.
    addresses: Vec<String>,
    /// The number of addresses that were tried.
    tried: usize,
    /// The wanted node; `None` for any node.
    pub(super) wanted: Option<NodeId>,
    purpose: Purpose,
    deadline: Time,
    /// The time of the next attempt, if none is in progress.
    again: Option<Time>,
    pub(super) connection: Option<ConnId>,
    /// The number of consecutive rounds in which nothing listened at any of the addresses.
    refusals: u32,
}

impl Dial {
    fn new(addresses: Vec<String>, wanted: Option<NodeId>, purpose: Purpose, deadline: Time) -> Dial {
        Dial { addresses, tried: 0, wanted, purpose, deadline, again: None, connection: None, refusals: 0 }
    }

    /// The time at which something is due.
    pub(super) fn due(&self) -> Time {
        self.again.unwrap_or(self.deadline).min(self.deadline)
    }

    /// Whether others have told of the node.
    fn is_introduced(&self) -> bool {
        matches!(self.purpose, Purpose::Join(_))
    }

    /// Tries all addresses again at this time.
    pub(super) fn again(&mut self, at: Time) {
        self.tried = 0;
        self.again = Some(at);
    }
}

impl<B: Body> Links<B> {
    /// Begins to dial.
    pub(crate) fn dial(&mut self, addresses: Vec<String>, wanted: Option<NodeId>, purpose: Purpose, deadline: Time) {
        let key = self.dials.insert(Dial::new(addresses, wanted, purpose, deadline));
        // A member waits for its turn, which comes when another attempt is over, or the next time the clock is looked at.
        match self.dials[key].is_introduced() && self.room_to_meet() == 0 {
            true => self.dials[key].again(Time::ZERO),
            false => self.dial_next(key),
        }
    }

    /// How many more members that others have told of may be dialed now.
    fn room_to_meet(&self) -> usize {
        let is_under_way = |dial: &Dial| dial.is_introduced() && dial.again.is_none() && dial.tried > 0;
        let under_way = self.dials.iter().filter(|(_, dial)| is_under_way(dial)).count();
        self.settings.introductions.saturating_sub(under_way)
    }

    /// An attempt is over: the next member that waits is dialed.
    fn meet_next(&mut self) {
        let waits = |dial: &Dial| dial.is_introduced() && dial.again.is_some() && dial.refusals == 0;
        let next = self.dials.iter().find(|(_, dial)| waits(dial)).map(|(key, _)| key);
        if let Some(next) = next.filter(|_| self.room_to_meet() > 0) {
            self.dial_next(next);
        }
    }

    /// The number of attempts in progress.
    pub(crate) fn dialing(&self) -> usize {
        self.dials.len()
    }

    /// Whether there is an attempt for this purpose, and to this node if one is given.
    pub(crate) fn is_dialing(&self, purpose: Purpose, node: Option<NodeId>) -> bool {
        self.dials.iter().any(|(_, dial)| dial.purpose == purpose && (node.is_none() || dial.wanted == node))
    }

    /// An attempt to connect has failed.
    pub(crate) fn dial_failed(&mut self, now: Time, key: DialKey, error: Error) {
        let Some(dial) = self.dials.get_mut(key) else { return };
        dial.connection = None;
        if dial.tried < dial.addresses.len() {
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
            Purpose::Resume(link) if error.code() == Code::WrongNode => {
                self.dials.remove(key);
                self.end(link, false);
            }
            Purpose::Resume(link) if nobody => {
                self.dials.remove(key);
                self.end(link, true);
            }
            Purpose::Join(_) if error.code() == Code::WrongNode => {
                self.dials.remove(key);
                self.meet_next();
            }
            // Only this attempt can bring the two nodes together, so it continues, at growing intervals.
            Purpose::Join(_) => {
                dial.again(now + AGAIN * (1 << dial.refusals.min(REFUSALS)));
                self.meet_next();
            }
            Purpose::Resume(_) => dial.again(now + AGAIN),
            Purpose::Open(open) => {
                self.dials.remove(key);
                self.turns.push_back(Turn::Missed(open, error));
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
        let Some(link) = self.all.get(key).filter(|link| !link.addresses.is_empty()) else { return };
        let deadline = now + self.settings.linger;
        let mut dial = Dial::new(link.addresses.clone(), Some(link.peer), Purpose::Resume(key), deadline);
        dial.again = Some(if link.dialed { now } else { now + PATIENCE });
        self.dials.insert(dial);
    }

    /// The dialed node has a link now.
    pub(super) fn reached(&mut self, key: DialKey, link: LinkKey) {
        let Some(mut dial) = self.dials.remove(key) else { return };
        if let Some(reached) = dial.tried.checked_sub(1).filter(|&at| at < dial.addresses.len())
            && let address = dial.addresses.swap_remove(reached)
            && !self.all[link].reached.contains(&address)
        {
            self.all[link].reached.push(address);
        }
        self.turns.push_back(Turn::Reached(dial.purpose, link));
        self.meet_next();
    }

    /// Gives up all attempts to restore a link.
    pub(super) fn forget_resuming(&mut self, link: LinkKey) {
        let of_it = self.dials.iter().filter(|(_, dial)| dial.purpose == Purpose::Resume(link));
        let all: Vec<DialKey> = of_it.map(|(dial, _)| dial).collect();
        all.into_iter().for_each(|dial| self.forget_dial(dial));
    }

    /// Gives up an attempt, and its connection.
    pub(super) fn forget_dial(&mut self, key: DialKey) {
        let Some(dial) = self.dials.remove(key) else { return };
        if let Some(id) = dial.connection
            && self.connections.get(&id).is_some_and(|connection| connection.link.is_none())
        {
            self.connections.remove(&id);
            self.actions.act(Action::Close(id));
        }
    }

    pub(super) fn tick_dials(&mut self, now: Time) {
        // Counted once: there may be thousands that wait.
        let mut room = self.room_to_meet();
        for key in self.dials.keys() {
            let Some(dial) = self.dials.get(key) else { continue };
            if dial.deadline <= now {
                let address = dial.addresses.first().cloned().unwrap_or_default();
                let error = Error::new(Code::Deadline).at(address).expected("a node that answers");
                let purpose = dial.purpose;
                self.forget_dial(key);
                if let Purpose::Open(open) = purpose {
                    self.turns.push_back(Turn::Missed(open, error));
                }
            } else if dial.again.is_some_and(|again| again <= now) {
                let is_introduced = dial.is_introduced();
                match is_introduced && room == 0 {
                    true => self.dials[key].again(now + AGAIN),
                    false => self.dial_next(key),
                }
                room -= usize::from(is_introduced && room > 0);
            }
        }
    }
}
