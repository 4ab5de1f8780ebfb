//! The pace of handshakes with nodes that connect: how many there are for each credential, and the connections that wait for
//! theirs (`spec/channel.md`, "Handshakes that wait").

use crate::Time;
use crate::budget::{Budgets, Resource};
use crate::credentials::Principal;
use crate::keys::ConnId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

/// Whom a handshake counts under before anything is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claim {
    /// Those with a credential, as the system, a certificate, or the Hello names it. The own user has as many as others: by its
    /// number, and by its key.
    Of(Principal),
    /// Handshakes that have proven this credential. Fewer are allowed, since each begins a link. While none is
    /// left, claims of the credential wait, too.
    Proven(Principal),
    /// Those who are refused before they have proven who they are.
    Refused,
    /// Those of an address, or of a network of IPv6: before a handshake of TLS, nothing else is known.
    At(Option<IpAddr>),
}

/// The handshakes of this many seconds may come at once. By default, that is twice as many as a node has links.
const BURST: u32 = 32;
/// Proven handshakes: so many times fewer in a second, and as many at once.
const PROVEN: u32 = 8;
/// Handshakes of an address: so many times fewer in a second, since one of TLS takes up to a millisecond; and as many at once, since
/// programs of one machine may start together.
const AT: u32 = 4;

/// How often handshakes are allowed.
#[derive(Clone, Copy)]
struct Rate {
    /// The time between two handshakes.
    interval: Time,
    /// The handshakes of this many seconds may come at once.
    burst: u32,
}

impl Rate {
    fn new(a_second: u64, burst: u32) -> Rate {
        let interval = Time::from_secs(1) / u32::try_from(a_second).unwrap_or(u32::MAX).max(1);
        Rate { interval, burst }
    }

    /// By how much the last of the handshakes that may come at once is ahead of its time.
    fn ahead(self) -> Time {
        Time::from_secs(self.burst.into()).saturating_sub(self.interval)
    }
}

/// So many Hellos are remembered.
const REMEMBERED: usize = 8192;

/// The nonces of the latest Hellos that had the tag of a shared key: whoever overhears one cannot use it.
#[derive(Default)]
pub(super) struct Heard {
    nonces: BTreeSet<[u8; 32]>,
    in_order: VecDeque<[u8; 32]>,
}

impl Heard {
    /// Whether a Hello had this nonce.
    pub(super) fn has(&self, nonce: &[u8; 32]) -> bool {
        self.nonces.contains(nonce)
    }

    /// Whether no Hello had this nonce. From now on, one has.
    pub(super) fn is_new(&mut self, nonce: [u8; 32]) -> bool {
        let is_new = self.nonces.insert(nonce);
        if is_new {
            self.in_order.push_back(nonce);
            if let Some(oldest) = self.in_order.pop_front_if(|_| self.nonces.len() > REMEMBERED) {
                self.nonces.remove(&oldest);
            }
        }
        is_new
    }
}

/// The handshakes of all claims.
pub(super) struct Pace {
    of_claim: Rate,
    of_proven: Rate,
    of_address: Rate,
    of_refusals: Rate,
    lines: BTreeMap<Claim, Line>,
    /// The connections that wait, the first one first. Some have gone on since, or are gone.
    since: VecDeque<(Time, ConnId)>,
}

/// Those of one claim.
#[derive(Default)]
struct Line {
    /// When nothing is used any more of what is allowed at once.
    rested: Time,
    /// The connections that wait, by their addresses.
    waiting: BTreeMap<Option<IpAddr>, Queue>,
    /// These addresses, in the order of their turns: whoever connects from one of them does not hold up the others.
    turns: VecDeque<Option<IpAddr>>,
}

/// The connections of one address that wait, in the order in which they came. Some of them are gone.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<(Time, ConnId)>,
    /// Whether the newest one has its turn, and not the oldest. Somebody may keep many waiting at an address: an
    /// honest one there that connects anew still gets a turn.
    takes_newest: bool,
}

impl Queue {
    fn next(&self) -> Option<&(Time, ConnId)> {
        if self.takes_newest { self.waiting.back() } else { self.waiting.front() }
    }

    fn pop(&mut self) {
        _ = if self.takes_newest { self.waiting.pop_back() } else { self.waiting.pop_front() };
    }
}

impl Line {
    /// The time at which the next handshake is allowed.
    fn opens(&self, rate: Rate) -> Time {
        self.rested.saturating_sub(rate.ahead())
    }

    fn take(&mut self, now: Time, rate: Rate) {
        self.rested = self.rested.max(now) + rate.interval;
    }

    /// The first connection that is still there. It keeps its turn.
    fn first(&mut self, is_there: &impl Fn(Time, ConnId) -> bool) -> Option<ConnId> {
        loop {
            let address = *self.turns.front()?;
            let of_address = self.waiting.get_mut(&address)?;
            match of_address.next() {
                Some(&(since, id)) if is_there(since, id) => return Some(id),
                Some(_) => of_address.pop(),
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
            if let Some(of_address) = self.waiting.get_mut(&address) {
                of_address.pop();
                of_address.takes_newest = !of_address.takes_newest;
            }
            self.turns.push_back(address);
        }
    }
}

impl Pace {
    pub(super) fn new(budgets: &Budgets) -> Pace {
        Pace {
            of_claim: Rate::new(budgets.credential[Resource::Handshakes], BURST),
            of_proven: Rate::new(budgets.credential[Resource::Handshakes] / u64::from(PROVEN), BURST * PROVEN),
            of_address: Rate::new(budgets.credential[Resource::Handshakes] / u64::from(AT), BURST * AT),
            of_refusals: Rate::new(budgets.strangers[Resource::Handshakes], BURST),
            lines: BTreeMap::new(),
            since: VecDeque::new(),
        }
    }

    fn rate(&self, claim: Claim) -> Rate {
        match claim {
            Claim::Refused => self.of_refusals,
            Claim::Proven(_) => self.of_proven,
            Claim::At(_) => self.of_address,
            Claim::Of(_) => self.of_claim,
        }
    }

    /// The time at which the next handshake of a claim is allowed.
    fn opens(&self, claim: Claim, line: &Line) -> Time {
        let opens = line.opens(self.rate(claim));
        let Claim::Of(principal) = claim else { return opens };
        let proven = self.lines.get(&Claim::Proven(principal));
        proven.map_or(opens, |proven| opens.max(proven.opens(self.of_proven)))
    }

    /// A handshake has proven what it has claimed.
    pub(super) fn prove(&mut self, now: Time, principal: Principal) {
        let line = self.lines.entry(Claim::Proven(principal)).or_default();
        line.take(now, self.of_proven);
        // Many may end at once. Whoever comes then waits for one of them at most.
        line.rested = line.rested.min(now + Time::from_secs(self.of_proven.burst.into()));
    }

    /// Whether a connection from an address may go on with its handshake. Otherwise it waits from now on.
    pub(super) fn ask(&mut self, now: Time, claim: Claim, from: Option<IpAddr>, id: ConnId) -> bool {
        // Others choose their addresses and their keys. What is at rest need not be remembered.
        self.lines.retain(|_, line| line.rested > now || !line.turns.is_empty());
        self.lines.entry(claim).or_default();
        let (rate, opens) = (self.rate(claim), self.opens(claim, &self.lines[&claim]));
        let line = self.lines.entry(claim).or_default();
        if line.turns.is_empty() && opens <= now {
            line.take(now, rate);
            return true;
        }
        line.waiting.entry(from).or_insert_with(|| {
            line.turns.push_back(from);
            Queue::default()
        });
        line.waiting.entry(from).or_default().waiting.push_back((now, id));
        self.since.push_back((now, id));
        false
    }

    /// A connection that may go on now. `is_there` tells which ones still wait since when they came.
    pub(super) fn next(&mut self, now: Time, is_there: impl Fn(Time, ConnId) -> bool) -> Option<ConnId> {
        let waiting = self.lines.iter().filter(|(_, line)| !line.turns.is_empty());
        let due = waiting.filter(|(claim, line)| self.opens(**claim, line) <= now).map(|(&claim, _)| claim);
        for claim in due.collect::<Vec<_>>() {
            let (rate, line) = (self.rate(claim), self.lines.get_mut(&claim)?);
            if let Some(id) = line.first(&is_there) {
                line.take(now, rate);
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
        (waiting.map(|(&claim, line)| self.opens(claim, line)).min(), self.since.front().map(|(since, _)| *since))
    }

    /// There are no connections any more.
    pub(super) fn forget(&mut self) {
        self.lines.clear();
        self.since.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_nonces_are_remembered_and_older_ones_are_forgotten() {
        let nonce = |number: usize| {
            let mut nonce = [0; 32];
            nonce[..8].copy_from_slice(&(number as u64).to_le_bytes());
            nonce
        };
        let mut heard = Heard::default();
        assert!((0..REMEMBERED).all(|number| heard.is_new(nonce(number))));
        assert!(!heard.is_new(nonce(0)), "one that is heard again is not remembered anew");
        assert!(heard.is_new(nonce(REMEMBERED)));
        assert_eq!([0, 1, REMEMBERED].map(|number| heard.has(&nonce(number))), [false, true, true]);
        assert!(heard.is_new(nonce(0)), "nor does it last longer");
        assert_eq!([0, 1, 2].map(|number| heard.has(&nonce(number))), [true, false, true]);
        assert_eq!((heard.nonces.len(), heard.in_order.len()), (REMEMBERED, REMEMBERED));
    }
}
