//! Turns a connection into a link: both nodes prove who they are and tell their terms, the lower one chooses between two
//! connections, and an epoch begins (`spec/channel.md`, "Handshake").

use super::link::{Link, indices, pings};
use super::outbox::AHEAD;
use super::{Connection, Links, Turn, refusal_of};
use crate::Time;
use crate::access;
use crate::action::Action;
use crate::budget::Resource;
use crate::control::Control;
use crate::credentials::Credentials;
use crate::frame;
use crate::greeting::{self, Greeting, Own};
use crate::keys::{ConnId, DialKey, NodeId};
use crate::memory::Body;
use crate::terms::Terms;
use isoform_core::{Code, Error, Result};
use std::ops::RangeInclusive;

/// The values that a caller may choose in place of [`AHEAD`]. With less, no event would ever be sent.
const AHEADS: RangeInclusive<usize> = 4 << 10..=1 << 30;

impl<B: Body> Links<B> {
    /// A connection exists: this node dialed it, or it was accepted.
    pub(crate) fn connected(&mut self, now: Time, id: ConnId, dial: Option<DialKey>, credentials: Credentials) {
        if dial.is_some_and(|key| !self.dials.contains(key)) {
            // The attempt was given up meanwhile.
            return self.actions.act(Action::Close(id));
        }
        if dial.is_none() && self.connections.len() >= self.settings.connections && !self.turn_out_a_stranger() {
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
        let connection =
            Connection { dial, greeting, peer, credentials, bodies: 0, terms: None, out, link: None, ahead: AHEAD };
        self.connections.insert(id, connection);
        self.timers.add_handshake(now + self.settings.handshake, id);
    }

    /// Closes the oldest connection whose other side has not proven who it is. Returns whether there was one.
    fn turn_out_a_stranger(&mut self) -> bool {
        let Links { connections, timers, .. } = self;
        let is_over = |id| connections.get(&id).is_none_or(|connection| connection.link.is_some());
        let is_stranger = |connection: &Connection| connection.peer.is_none() && connection.dial.is_none();
        let is_stranger = |id| connections.get(&id).is_some_and(is_stranger);
        let Some(id) = timers.oldest_handshake(is_over, is_stranger) else { return false };
        self.connections.remove(&id);
        self.actions.act(Action::Close(id));
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
        let Some(mut greeting) = self.take_greeting(id) else { return Ok(0) };
        let used = greeting.receive(input);
        self.put_greeting(now, id, greeting);
        used
    }

    /// The greeting of a connection until the other side has proven who it is, for a caller that gives it the bytes.
    pub(crate) fn take_greeting(&mut self, id: ConnId) -> Option<Greeting> {
        self.connections.get_mut(&id)?.greeting.take()
    }

    /// What became of a greeting.
    pub(crate) fn put_greeting(&mut self, now: Time, id: ConnId, mut greeting: Greeting) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if !greeting.out.is_empty() {
            connection.out.append(&mut greeting.out);
            self.actions.act(Action::Write(id));
        }
        connection.peer = greeting.peer;
        if let Some((code, text)) = greeting.refused.take() {
            self.turned_down(now, id, code, text);
        } else if let Some(peer) = greeting.peer {
            connection.credentials = greeting.credentials;
            self.state_terms(id, peer);
        } else {
            connection.greeting = Some(greeting);
        }
    }

    /// Sends the Terms to a node that has proven who it is.
    fn state_terms(&mut self, id: ConnId, peer: NodeId) {
        let link = self.with(peer).map(|link| &self.all[link]);
        let terms = Terms {
            ended: link.filter(|link| link.connection.is_none()).map_or(0, |link| link.epoch),
            formats: indices(self.settings.registry.limits()) as u32,
            silence: self.settings.silence,
            subscriptions: self.settings.subscriptions as u32,
            bodies: self.share_of_bodies(),
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
        self.expect_room(peer, connection.dial.is_some(), pings)
    }

    /// The connection is the link's from here on.
    fn begin(&mut self, now: Time, id: ConnId, peer: NodeId, epoch: u64, is_lower: bool) {
        let Some((terms, dial)) = self.connections.get_mut(&id).and_then(|c| Some((c.terms.take()?, c.dial))) else {
            return;
        };
        let key = match self.peers.get(&peer) {
            Some(&key) => key,
            None => {
                let key = self.all.insert(Link::new(peer));
                self.peers.insert(peer, key);
                self.force(key, Resource::Links, 1);
                key
            }
        };
        if let Some(old) = self.all[key].connection {
            self.connections.remove(&old);
            self.actions.act(Action::Close(old));
            self.broke(now, key);
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            let (is_dialed, ahead) = (connection.dial.is_some(), connection.ahead);
            self.all[key].credentials = std::mem::take(&mut connection.credentials);
            connection.link = Some(key);
            connection.dial = None;
            let link = &mut self.all[key];
            link.own_bodies = u64::from(connection.bodies) << 20;
            link.pings = pings(terms.silence);
            link.begin(now, id, epoch, is_dialed, ahead, terms);
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
        let Some(connection) = self.connections.remove(&id) else { return };
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
