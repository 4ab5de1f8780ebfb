//! The pace of handshakes with nodes that connect: how many there are for each credential, and the connections that wait for
//! theirs (`spec/channel.md`, "Handshakes that wait").

use crate::Time;
use crate::budget::{Budgets, Resource};
use crate::credentials::Principal;
use crate::keys::ConnId;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// Whom a handshake counts under before anything is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claim {
    /// Those with a credential, as the system, a certificate, or the Hello names it. The own user has as many as others: by its
    /// number, and by its key.
    Of(Principal),
    /// Those of them that have proven it. Fewer are allowed, since a link begins; and while none is left, claims wait as well. Whoever
    /// only claims to have a credential does not use up what its holders have.
    Proven(Principal),
    /// Those who are refused before they have proven who they are.
    Refused,
    /// Those of an address, or of a network of IPv6: before a handshake of TLS, nothing else is known.
    At(Option<IpAddr>),
}

/// So many times as many handshakes as in a second there may be at once. By default, that is twice as many as a node has links.
const AT_ONCE: u32 = 32;
/// So many times fewer of them may be proven in a second, but as many at once.
const PROVEN: u32 = 8;

/// The time between two handshakes, and how many times as many as in a second there may be at once.
#[derive(Clone, Copy)]
struct Interval(Time, u32);

impl Interval {
    fn new(a_second: u64, at_once: u32) -> Interval {
        Interval(Time::from_secs(1) / u32::try_from(a_second).unwrap_or(u32::MAX).max(1), at_once)
    }

    /// By how much the handshakes that there may be at once are ahead of others, the last of them.
    fn ahead(self) -> Time {
        Time::from_secs(self.1.into()).saturating_sub(self.0)
    }
}

/// The handshakes of all claims.
pub(super) struct Pace {
    of_claim: Interval,
    of_proven: Interval,
    of_refusals: Interval,
    lines: BTreeMap<Claim, Line>,
    /// The connections that wait, the first one first. Some have gone on since, or are gone.
    since: VecDeque<(Time, ConnId)>,
}

/// Those of one claim.
#[derive(Default)]
struct Line {
    /// When nothing is used any more of what is allowed at once.
    rested: Time,
    /// The connections that wait, by their addresses. Some of them are gone.
    waiting: BTreeMap<Option<IpAddr>, VecDeque<(Time, ConnId)>>,
    /// These addresses, in the order of their turns: whoever connects from one of them does not hold up the others.
    turns: VecDeque<Option<IpAddr>>,
    /// Whether the newest connection of an address has its turn, and not the oldest: however many somebody else keeps waiting there, an
    /// honest one that comes again gets through.
    is_newest: bool,
}

impl Line {
    /// The time at which the next handshake is allowed.
    fn opens(&self, interval: Interval) -> Time {
        self.rested.saturating_sub(interval.ahead())
    }

    fn take(&mut self, now: Time, interval: Interval) {
        self.rested = self.rested.max(now) + interval.0;
    }

    /// The first connection that is still there. It keeps its turn.
    fn first(&mut self, is_there: &impl Fn(Time, ConnId) -> bool) -> Option<ConnId> {
        loop {
            let address = *self.turns.front()?;
            let of_address = self.waiting.get_mut(&address)?;
            let next = if self.is_newest { of_address.back() } else { of_address.front() };
            match next {
                Some(&(since, id)) if is_there(since, id) => return Some(id),
                Some(_) => _ = if self.is_newest { of_address.pop_back() } else { of_address.pop_front() },
                None => {
                    self.waiting.remove(&address);
                    self.turns.pop_front();
                }
            }
        }
    }

    /// The first connection has had its turn. The next one is of another address.
    fn go_on(&mut self) {
        if let Some(address) = self.turns.pop_front() {
            let pop = if self.is_newest { VecDeque::pop_back } else { VecDeque::pop_front };
            self.waiting.get_mut(&address).and_then(pop);
            self.turns.push_back(address);
            self.is_newest = !self.is_newest;
        }
    }
}

impl Pace {
    pub(super) fn new(budgets: &Budgets) -> Pace {
        Pace {
            of_claim: Interval::new(budgets.credential[Resource::Handshakes], AT_ONCE),
            of_proven: Interval::new(budgets.credential[Resource::Handshakes] / u64::from(PROVEN), AT_ONCE * PROVEN),
            of_refusals: Interval::new(budgets.strangers[Resource::Handshakes], AT_ONCE),
            lines: BTreeMap::new(),
            since: VecDeque::new(),
        }
    }

    fn interval(&self, claim: Claim) -> Interval {
        match claim {
            Claim::Refused => self.of_refusals,
            Claim::Proven(_) => self.of_proven,
            Claim::Of(_) | Claim::At(_) => self.of_claim,
        }
    }

    /// The time at which the next handshake of a claim is allowed.
    fn opens(&self, claim: Claim, line: &Line) -> Time {
        let opens = line.opens(self.interval(claim));
        let Claim::Of(principal) = claim else { return opens };
        let proven = self.lines.get(&Claim::Proven(principal));
        proven.map_or(opens, |proven| opens.max(proven.opens(self.of_proven)))
    }

    /// A handshake has proven what it has claimed.
    pub(super) fn prove(&mut self, now: Time, principal: Principal) {
        self.lines.entry(Claim::Proven(principal)).or_default().take(now, self.of_proven);
    }

    /// Whether a connection from an address may go on with its handshake. Otherwise it waits from now on.
    pub(super) fn ask(&mut self, now: Time, claim: Claim, from: Option<IpAddr>, id: ConnId) -> bool {
        // Others choose their addresses and their keys. What is at rest need not be remembered.
        self.lines.retain(|_, line| line.rested > now || !line.turns.is_empty());
        self.lines.entry(claim).or_default();
        let (interval, opens) = (self.interval(claim), self.opens(claim, &self.lines[&claim]));
        let line = self.lines.entry(claim).or_default();
        if line.turns.is_empty() && opens <= now {
            line.take(now, interval);
            return true;
        }
        let from = from.map(network);
        line.waiting.entry(from).or_insert_with(|| {
            line.turns.push_back(from);
            VecDeque::new()
        });
        line.waiting.entry(from).or_default().push_back((now, id));
        self.since.push_back((now, id));
        false
    }

    /// A connection that may go on now. `is_there` tells which ones still wait since when they came.
    pub(super) fn next(&mut self, now: Time, is_there: impl Fn(Time, ConnId) -> bool) -> Option<ConnId> {
        let waiting = self.lines.iter().filter(|(_, line)| !line.turns.is_empty());
        let due = waiting.filter(|(claim, line)| self.opens(**claim, line) <= now).map(|(&claim, _)| claim);
        for claim in due.collect::<Vec<_>>() {
            let (interval, line) = (self.interval(claim), self.lines.get_mut(&claim)?);
            if let Some(id) = line.first(&is_there) {
                line.take(now, interval);
                line.go_on();
                return Some(id);
            }
        }
        None
    }

    /// A connection that has waited since this time or longer.
    pub(super) fn late(&mut self, since: Time, is_there: impl Fn(Time, ConnId) -> bool) -> Option<ConnId> {
        while let Some((at, id)) = self.since.pop_front_if(|(at, id)| *at <= since || !is_there(*at, *id)) {
            if is_there(at, id) {
                return Some(id);
            }
        }
        None
    }

    /// The time at which a connection may go on, and that since when the first one waits.
    pub(super) fn deadline(&self) -> (Option<Time>, Option<Time>) {
        let waiting = self.lines.iter().filter(|(_, line)| !line.turns.is_empty());
        (
            waiting.map(|(&claim, line)| self.opens(claim, line)).min(),
            self.since.front().map(|(since, _)| *since),
        )
    }

    /// There are no connections any more.
    pub(super) fn forget(&mut self) {
        self.lines.clear();
        self.since.clear();
    }
}

/// The address for which a connection counts: whoever has an address of IPv6 has all of its network.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => address.into(),
            None => IpAddr::from((address.to_bits() & (u128::MAX << 64)).to_be_bytes()),
        },
    }
}
