//! Turns a connection into a link: both nodes prove who they are and tell their terms, the lower one chooses between two
//! connections, and an epoch begins (`spec/channel.md`, "Handshake").

use super::link::{Link, indices, pings};
use super::outbox::{AHEAD, Outbox};
use super::pace::Claim;
use super::transit::Way;
use super::{Connection, Links, Standing, Turn, Waits, refusal_of};
use crate::Time;
use crate::access;
use crate::action::Action;
use crate::budget::{Purse, Resource};
use crate::control::Control;
use crate::credentials::{Credentials, OwnUser, Principal};
use crate::frame;
use crate::greeting::{self, Greeting, Own};
use crate::hello::Hello;
use crate::keys::{ConnId, DialKey, NodeId};
use crate::memory::Body;
use crate::shared::KeyName;
use crate::terms::Terms;
use isoform_core::{Code, Error, Result};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// How many handshakes that have waited go on at once, with the state locked.
const GOING_ON: usize = 32;

/// How often the bytes of a connection that this node has dialed may come in pieces before it is a link's.
const PIECES: u32 = 32;

/// The values that a caller may choose in place of [`AHEAD`]. With less, no event would ever be sent.
const AHEADS: RangeInclusive<usize> = 4 << 10..=1 << 30;

/// With more links than this, each has less of it, but not less than `FEWEST`: many of them may be ends that do not read.
const FEW: usize = 64;
const FEWEST: usize = 16 << 10;

fn ahead_of_each(ahead: usize, links: usize) -> usize {
    (ahead * FEW / links.max(FEW)).max(ahead.min(FEWEST))
}

impl<B: Body> Links<B> {
    /// A connection exists: this node dialed it, or it was accepted.
    pub(crate) fn connected(&mut self, now: Time, id: ConnId, dial: Option<DialKey>, credentials: Credentials) {
        if dial.is_some_and(|key| !self.dials.contains(key)) {
            // The attempt was given up meanwhile.
            return self.actions.act(Action::Close(id));
        }
        if dial.is_none() && self.connections.len() >= self.settings.connections && !self.turn_out_a_handshake(now) {
            let farewell = self.turn_away("room for one more connection");
            self.farewells.insert(id, farewell);
            return self.actions.act(Action::Close(id));
        }
        self.connected += 1;
        let own = Own { key: &self.key, access: &self.access, nonce: self.key.nonce(self.connected) };
        let mut greeting = match dial {
            None => Greeting::acceptor(own, credentials),
            Some(dial) => {
                self.dials[dial].connection = Some(id);
                self.actions.act(Action::Write(id));
                let first = self.key_for(self.dials[dial].purpose);
                Greeting::dialer(own, credentials, self.dials[dial].wanted, first)
            }
        };
        let out = std::mem::take(&mut greeting.out);
        let (greeting, peer, credentials) = (Some(greeting), None, Credentials::default());
        let mut connection = Connection {
            dial,
            standing: None,
            greeting,
            peer,
            public: [0; 32],
            credentials,
            bodies: 0,
            terms: None,
            out,
            waits: None,
            pieces: 0,
            link: None,
            ahead: AHEAD,
        };
        if dial.is_none() {
            let principal = connection.principal(&self.settings.own_user);
            let standing = Standing { principal, number: self.connected };
            connection.standing = Some(standing);
            self.unlinked.add(standing, id);
        }
        self.connections.insert(id, connection);
        self.timers.add_handshake(now + self.settings.handshake, id);
    }

    /// The shared key of which a Hello has the tag, if no earlier one had its nonce.
    pub(crate) fn claimed(&self, first: &[u8]) -> Option<KeyName> {
        let hello = Hello::fixed(first).filter(|hello| !self.heard.has(&hello.nonce))?;
        hello.first_of(&self.access.keys).map(|key| key.name())
    }

    /// What is said on a connection that is refused before anything was read: the Hello of an acceptor that answers none, and what was
    /// expected instead.
    pub(crate) fn turn_away(&mut self, expected: &str) -> Vec<u8> {
        let error = Error::new(Code::Peers).at("connections").expected(expected);
        self.refusals.note(&error);
        self.connected += 1;
        let own = Own { key: &self.key, access: &self.access, nonce: self.key.nonce(self.connected) };
        let mut greeting = Greeting::acceptor(own, Credentials::default());
        greeting.introduce();
        Control::Bye { code: error.code() as u16, text: error.to_string() }.put(&mut greeting.out);
        greeting.out
    }

    /// Refuses an accepted connection that is no link yet: the oldest one of the principal that has the most of them, and one of
    /// the node's own user last. Returns whether there was one.
    fn turn_out_a_handshake(&mut self, now: Time) -> bool {
        let Links { connections, timers, .. } = self;
        timers.skip_handshakes(|id| connections.get(&id).is_none_or(|connection| connection.link.is_some()));
        let Some(oldest) = self.unlinked.oldest_of_the_most() else { return false };
        let error = Error::new(Code::Peers).at("connections");
        let most = self.settings.connections;
        self.refuse(now, oldest, &error.expected(format_args!("at most {most}, of which this one is no link yet")));
        true
    }

    pub(crate) fn let_ahead(&mut self, id: ConnId, bytes: usize) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.ahead = bytes.clamp(*AHEADS.start(), *AHEADS.end());
        }
    }

    /// Takes bytes of a handshake, and returns how many were used. After the Start, other frames follow.
    pub(crate) fn shake(&mut self, now: Time, id: ConnId, input: &[u8]) -> Result<usize> {
        let Some(connection) = self.connections.get(&id) else { return Ok(input.len()) };
        if let Some(peer) = connection.peer {
            return self.agree(now, id, peer, input);
        }
        let mut used = 0;
        loop {
            // Nobody hears what a connection says that is to be refused.
            let Some(mut greeting) = self.take_greeting(id) else { return Ok(input.len()) };
            let received = greeting.receive(&input[used..]);
            used += received.as_ref().unwrap_or(&0);
            if !self.put_greeting(now, id, greeting, received.is_err()) {
                return received.map(|_| used);
            }
        }
    }

    /// The greeting of a connection until the other side has proven who it is, for a caller that gives it the bytes.
    pub(crate) fn take_greeting(&mut self, id: ConnId) -> Option<Greeting> {
        let connection = self.connections.get_mut(&id)?;
        let is_refused = matches!(connection.waits, Some((_, Waits::Refusal(_))));
        if is_refused { None } else { connection.greeting.take() }
    }

    /// More is known of a connection: it may count under somebody else.
    fn know(&mut self, id: ConnId) {
        let Links { connections, unlinked, settings, .. } = self;
        let Some(connection) = connections.get_mut(&id) else { return };
        let principal = connection.principal(&settings.own_user);
        if let Some(standing) = connection.standing.as_mut().filter(|standing| standing.principal != principal) {
            unlinked.remove(*standing);
            standing.principal = principal;
            unlinked.add(*standing, id);
        }
    }

    /// What became of a greeting. Returns whether it may go on at once.
    pub(crate) fn put_greeting(&mut self, now: Time, id: ConnId, mut greeting: Greeting, has_failed: bool) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        if !greeting.out.is_empty() {
            connection.out.append(&mut greeting.out);
            self.actions.act(Action::Write(id));
        }
        (connection.peer, connection.public) = (greeting.peer, greeting.public());
        if let Some((code, text)) = greeting.refused.take() {
            self.turned_down(now, id, code, text);
        } else if let Some(peer) = greeting.peer {
            if connection.dial.is_none() {
                self.pace.prove(now, greeting.claims().principal(&OwnUser::default()));
            }
            connection.credentials = greeting.credentials;
            self.know(id);
            self.state_terms(id, peer);
        } else {
            let asks = greeting.asks() && !has_failed && connection.waits.is_none();
            connection.greeting = Some(greeting);
            self.know(id);
            return asks && self.may_answer(now, id);
        }
        false
    }

    /// The bytes of a connection that is no link yet come in pieces. Returns whether it may be read on. One that this node has dialed
    /// does not wait: it is to be refused if that goes on.
    pub(crate) fn came_in_pieces(&mut self, now: Time, id: ConnId) -> Result<bool> {
        let connection = self.connections.get_mut(&id).filter(|connection| connection.dial.is_some());
        let Some(connection) = connection else { return Ok(self.may_read(now, id)) };
        if connection.pieces >= PIECES {
            let error = Error::new(Code::Budget).at("handshake").expected("fewer pieces of bytes");
            return Err(error.found(format_args!("so many that they count more than {PIECES} times")));
        }
        connection.pieces += 1;
        Ok(true)
    }

    /// Whether the bytes of a connection that is no link yet may be read, although they make work: for its transport, or because
    /// they come in pieces. Otherwise it waits. This node has chosen those that it has dialed.
    pub(crate) fn may_read(&mut self, now: Time, id: ConnId) -> bool {
        let Links { connections, pace, .. } = self;
        let Some(connection) = connections.get_mut(&id).filter(|connection| connection.dial.is_none()) else {
            return true;
        };
        if connection.waits.is_some() {
            // Whatever it waits for, it goes on then.
            return false;
        }
        let greeting = connection.greeting.as_ref();
        let from = greeting.map_or(&connection.credentials, |greeting| &greeting.credentials).network();
        let may = pace.ask(now, Claim::At(from), from, id);
        if !may {
            connection.waits = Some((now, Waits::Reading));
        }
        may
    }

    /// Whether this side may answer the Hello of a connection, which counts under whom it claims to be. Otherwise it waits.
    fn may_answer(&mut self, now: Time, id: ConnId) -> bool {
        let Links { connections, pace, heard, .. } = self;
        let Some(connection) = connections.get_mut(&id) else { return false };
        let Some(greeting) = &mut connection.greeting else { return false };
        let claims = greeting.claims();
        if claims.key.is_some() && !heard.is_new(greeting.nonce()) {
            let error = Error::new(Code::Handshake).at("hello").expected("a nonce of its own");
            self.fail(now, id, &error.found("that of an earlier Hello"));
            return false;
        }
        let may = pace.ask(now, Claim::Of(claims.principal(&OwnUser::default())), claims.network(), id);
        match may {
            true => greeting.allow(),
            false => connection.waits = Some((now, Waits::Answer)),
        }
        may
    }

    /// A connection is to be refused. If its other side has connected and proven nothing, that may have to wait: whoever waits
    /// does not come again meanwhile.
    pub(crate) fn fail(&mut self, now: Time, id: ConnId, error: &Error) {
        let Links { connections, pace, .. } = self;
        let Some(connection) = connections.get_mut(&id) else { return };
        if matches!(connection.waits, Some((_, Waits::Refusal(_)))) {
            return;
        }
        let is_proven = connection.dial.is_some() || connection.peer.is_some();
        let from = connection.greeting.as_ref().and_then(|greeting| greeting.credentials.network());
        if is_proven || pace.ask(now, Claim::Refused, from, id) {
            return self.refuse(now, id, error);
        }
        connection.waits = Some((now, Waits::Refusal(error.clone())));
    }

    /// Goes on with the handshakes that have waited for it, and refuses those that have waited for too long.
    pub(super) fn tick_waiting(&mut self, now: Time) {
        for _ in 0..GOING_ON {
            let Links { connections, pace, .. } = self;
            let Some(id) = pace.next(now, |since, id| is_waiting(connections, since, id)) else { break };
            self.go_on(now, id);
        }
        let since = now.checked_sub(self.patience());
        while let Some(since) = since {
            let Links { connections, pace, .. } = self;
            let Some(id) = pace.late(since, |since, id| is_waiting(connections, since, id)) else { break };
            let error = match connections.get_mut(&id).and_then(|connection| connection.waits.take()) {
                Some((_, Waits::Refusal(error))) => error,
                _ => self.too_many(),
            };
            self.refuse(now, id, &error);
        }
    }

    /// A connection has waited, and goes on.
    fn go_on(&mut self, now: Time, id: ConnId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match connection.waits.take() {
            Some((_, Waits::Refusal(error))) => self.refuse(now, id, &error),
            Some((_, Waits::Answer)) => {
                let Some(mut greeting) = self.take_greeting(id) else { return };
                greeting.allow();
                // It answers what it has.
                let has_failed = greeting.receive(&[]).is_err();
                self.put_greeting(now, id, greeting, has_failed);
                // Nobody may have read it meanwhile.
                self.actions.act(Action::Read(id));
            }
            Some((_, Waits::Reading)) => {
                self.actions.act(Action::Read(id));
                // Not every transport can do without being read.
                _ = self.shake(now, id, &[]);
            }
            None => {}
        }
    }

    /// Why a handshake was not made.
    fn too_many(&self) -> Error {
        let most = self.settings.budgets.credential[Resource::Handshakes];
        let error = Error::new(Code::Budget).at(format!("{} of {}", Resource::Handshakes, Purse::Principal));
        error.expected(format_args!("at most {most} a second for long"))
    }

    /// How long a connection waits at most. Its other side is to hear why before it gives up.
    fn patience(&self) -> Time {
        self.settings.handshake * 4 / 5
    }

    /// The time at which a connection that waits has something due.
    pub(super) fn waiting_due(&self) -> Option<Time> {
        let (next, since) = self.pace.deadline();
        [next, since.map(|since| since + self.patience())].into_iter().flatten().min()
    }

    /// Sends the Terms to a node that has proven who it is.
    fn state_terms(&mut self, id: ConnId, peer: NodeId) {
        let link = self.with(peer).map(|link| &self.all[link]);
        let terms = Terms {
            ended: link.filter(|link| link.connection.is_none()).map_or(0, |link| link.epoch),
            formats: indices(self.settings.registry.limits()) as u32,
            silence: self.settings.silence,
            subscriptions: self.settings.subscriptions as u32,
            bodies: self.share_of_bodies(self.principal_of(id)),
            addresses: self.settings.addresses.clone(),
        };
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.bodies = terms.bodies;
            Control::Terms(terms.into()).put(&mut connection.out);
            self.actions.act(Action::Write(id));
        }
    }

    /// Both nodes tell their terms, and the lower one decides.
    fn agree(&mut self, now: Time, id: ConnId, peer: NodeId, input: &[u8]) -> Result<usize> {
        let Some(connection) = self.connections.get_mut(&id) else { return Ok(input.len()) };
        let Some((header, payload, length)) = frame::split(input)? else { return Ok(0) };
        match Control::parse(&header, payload)? {
            Some(Control::Terms(terms)) if connection.terms.is_none() => {
                let ended = terms.ended;
                connection.terms = Some(*terms);
                if self.key.id() < peer {
                    self.decide(now, id, peer, ended)?;
                }
            }
            Some(Control::Start { epoch }) if connection.terms.is_some() => self.started(now, id, peer, epoch)?,
            Some(Control::Bye { code, text }) => self.turned_down(now, id, code, text),
            _ => {
                let error = Error::new(Code::Handshake).at("frame");
                return Err(error.expected("Terms, then a Start, or a Bye").found(greeting::kind(&header)));
            }
        }
        Ok(length)
    }

    /// The lower node decides whether this connection is the link's.
    fn decide(&mut self, now: Time, id: ConnId, peer: NodeId, ended: u64) -> Result<()> {
        let link = self.with(peer).map(|key| &self.all[key]);
        let last = link.map_or(0, |link| link.epoch);
        if link.is_some_and(|link| link.connection.is_some()) && last > ended {
            return Err(Error::new(Code::Duplicate).at(format!("node {peer}")));
        }
        self.expect_room_for(id, peer)?;
        let epoch = self.begun.max(last).max(ended).saturating_add(1);
        self.begun += 1;
        self.begin(now, id, peer, epoch, true);
        Ok(())
    }

    /// The lower node has decided for this connection.
    fn started(&mut self, now: Time, id: ConnId, peer: NodeId, epoch: u64) -> Result<()> {
        let last = self.with(peer).map_or(0, |link| self.all[link].epoch);
        if peer > self.key.id() || epoch <= last {
            let error = Error::new(Code::Handshake).at("epoch");
            return Err(error.expected(format_args!("more than {last}, from the lower node")).found(epoch));
        }
        self.expect_room_for(id, peer)?;
        self.begin(now, id, peer, epoch, false);
        Ok(())
    }

    fn expect_room_for(&mut self, id: ConnId, peer: NodeId) -> Result<()> {
        let Some(connection) = self.connections.get(&id) else { return Ok(()) };
        let pings = connection.terms.as_ref().map_or(0, |terms| pings(terms.silence));
        let is_dialed = connection.dial.is_some();
        self.expect_room(peer, self.principal_of(id), is_dialed, pings)
    }

    /// Whom the other side of a connection counts under.
    fn principal_of(&self, id: ConnId) -> Principal {
        let connection = self.connections.get(&id);
        connection.map_or(Principal::Nobody, |connection| connection.principal(&self.settings.own_user))
    }

    /// The connection is the link's from here on.
    fn begin(&mut self, now: Time, id: ConnId, peer: NodeId, epoch: u64, is_lower: bool) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let (dial, public) = (connection.dial, connection.public);
        let Some(terms) = connection.terms.take() else { return };
        let principal = self.principal_of(id);
        let key = match self.peers.get(&peer) {
            Some(&key) => {
                self.purses.change(&mut self.all[key].taken, principal);
                key
            }
            None => {
                self.purses.forget_idle(now);
                let way = Way::new(self.purses.transit(principal));
                let key = self.all.insert(Link::new(peer, public, principal, way));
                self.peers.insert(peer, key);
                self.force(key, Resource::Links, 1);
                key
            }
        };
        if let Some(old) = self.all[key].connection {
            self.remove_connection(old);
            self.actions.act(Action::Close(old));
            self.broke(now, key);
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            let (is_dialed, ahead) = (connection.dial.is_some(), connection.ahead);
            let links = self.all.len();
            self.all[key].credentials = std::mem::take(&mut connection.credentials);
            connection.link = Some(key);
            connection.dial = None;
            connection.standing.take().into_iter().for_each(|standing| self.unlinked.remove(standing));
            // With other credentials, it has another account.
            let way = Way::new(self.purses.transit(principal));
            let link = &mut self.all[key];
            link.own_bodies = u64::from(connection.bodies) << 20;
            link.pings = pings(terms.silence);
            link.begin(now, id, epoch, is_dialed, Outbox::new(terms.formats, ahead_of_each(ahead, links), way), terms);
            let (pings, bodies, is_chosen) = (link.pings, link.own_bodies, is_dialed && !link.is_chosen);
            if is_chosen {
                link.is_chosen = true;
                self.tie(key);
            }
            self.force(key, Resource::Pings, pings);
            self.force(key, Resource::Bodies, bodies);
            self.set_timer(key);
        }
        if is_lower {
            self.say(key, &Control::Start { epoch });
        }
        self.turns.push_back(Turn::Begun(key));
        if let Some(dial) = dial {
            self.reached(dial, key);
        }
        // Other attempts to restore the link are no longer needed.
        self.forget_resuming(key);
    }

    /// The other node refuses this connection.
    fn turned_down(&mut self, now: Time, id: ConnId, code: u16, text: String) {
        let Some(connection) = self.remove_connection(id) else { return };
        self.actions.act(Action::Close(id));
        let Some(dial) = connection.dial else { return };
        // Only a proven node can refer to another connection with this node.
        let peer = connection.peer.filter(|_| code == Code::Duplicate as u16);
        let link = peer.and_then(|peer| self.with(peer)).filter(|&link| self.stands(link));
        match (peer, link) {
            (Some(_), Some(link)) => self.reached(dial, link),
            // This node does not know of that connection yet.
            (Some(_), None) => self.dial_again(now, dial),
            (None, _) => {
                let refused = match code == Code::NotAdmitted as u16 {
                    true => access::not_admitted().found("none, says the node there"),
                    false => refusal_of(code, &text),
                };
                self.dial_failed(now, dial, refused);
            }
        }
    }
}

fn is_waiting(connections: &BTreeMap<ConnId, Connection>, since: Time, id: ConnId) -> bool {
    connections.get(&id).is_some_and(|connection| connection.waits_since(since))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_many_links_takes_little_more_than_that_of_few() {
        let ahead = [1, FEW, 2 * FEW, 4_096].map(|links| ahead_of_each(AHEAD, links));
        assert_eq!(ahead, [AHEAD, AHEAD, AHEAD / 2, FEWEST]);
        assert_eq!(ahead_of_each(FEWEST / 2, 4_096), FEWEST / 2, "as the caller wants it");
        let all: usize = (1..=1_000).map(|links| ahead_of_each(AHEAD, links)).sum();
        assert!(all < 5 * FEW * AHEAD, "{all} bytes");
    }
}
