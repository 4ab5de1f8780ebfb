//! Turns a connection into a link: the first bytes of both sides, the choice between two connections, and the epoch
//! that begins (`spec/channel.md`, "Handshake").

use super::link::{Link, indices};
use super::outbox::AHEAD;
use super::{Connection, Links, Turn};
use crate::Time;
use crate::action::Action;
use crate::control::Control;
use crate::frame;
use crate::hello::Hello;
use crate::keys::{ConnId, DialKey, NodeId};
use crate::memory::Body;
use isoform_core::{Code, Error, Result};
use std::ops::RangeInclusive;

/// What a caller may choose instead of [`AHEAD`]: with less, an event would never be let out.
const AHEADS: RangeInclusive<usize> = 4 << 10..=1 << 30;

impl<B: Body> Links<B> {
    /// A connection exists: this node dialed it, or it was accepted.
    pub(crate) fn connected(&mut self, now: Time, id: ConnId, dial: Option<DialKey>) {
        if dial.is_some_and(|key| !self.dials.contains(key)) {
            // The attempt was given up meanwhile.
            return self.actions.act(Action::Close(id));
        }
        let crowd = self.connections.values().filter(|connection| connection.link.is_none()).count();
        if dial.is_none() && crowd >= self.settings.peers {
            return self.actions.act(Action::Close(id));
        }
        let mut connection = Connection { dial, since: now, hello: None, out: Vec::new(), link: None, ahead: AHEAD };
        if let Some(dial) = dial {
            self.dials[dial].connection = Some(id);
            let wanted = self.dials[dial].wanted;
            connection.out = self.hello(wanted).to_bytes();
            self.actions.act(Action::Write(id));
        }
        self.connections.insert(id, connection);
    }

    /// Sets how many bytes of long or queued events may be ahead of a short event that is submitted later. It is 128
    /// KiB unless the caller sets it before the end of the handshake. A larger value gives more throughput and more
    /// latency.
    pub(crate) fn let_ahead(&mut self, id: ConnId, bytes: usize) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.ahead = bytes.clamp(*AHEADS.start(), *AHEADS.end());
        }
    }

    /// The first bytes that this node sends.
    pub(super) fn hello(&self, to: Option<NodeId>) -> Hello {
        let ended = to.and_then(|to| self.with(to)).map(|link| &self.all[link]);
        Hello {
            node: self.settings.id,
            wanted: to.unwrap_or(NodeId::ANY),
            ended: ended.filter(|link| link.connection.is_none()).map_or(0, |link| link.epoch),
            formats: indices(self.settings.registry.limits()) as u32,
            silence: self.settings.silence,
            subscriptions: self.settings.subscriptions as u32,
            addresses: self.settings.addresses.clone(),
        }
    }

    /// Takes bytes of a handshake, and returns how many were used. After a Start, the bytes are frames.
    pub(crate) fn shake(&mut self, now: Time, id: ConnId, input: &[u8]) -> Result<usize> {
        let Some(connection) = self.connections.get_mut(&id) else { return Ok(input.len()) };
        if connection.hello.is_some() {
            return self.await_start(now, id, input);
        }
        let Some((hello, length)) = Hello::parse(input)? else { return Ok(0) };
        let (peer, wanted) = (hello.node, hello.wanted);
        if peer == NodeId::ANY {
            return Err(Error::new(Code::Handshake).at("node id").expected("the id of a node, which is not 16 zeros"));
        }
        connection.hello = Some(hello);
        match connection.dial {
            None => {
                let answer = self.hello(Some(peer)).to_bytes();
                if let Some(connection) = self.connections.get_mut(&id) {
                    connection.out.extend(answer);
                }
                self.actions.act(Action::Write(id));
                if wanted != NodeId::ANY && wanted != self.settings.id {
                    return Err(Error::new(Code::WrongNode).expected(wanted).found(self.settings.id));
                }
            }
            Some(dial) => {
                let wanted = self.dials.get(dial).and_then(|dial| dial.wanted);
                if let Some(wanted) = wanted.filter(|&wanted| wanted != peer) {
                    return Err(Error::new(Code::WrongNode).expected(wanted).found(peer));
                }
            }
        }
        if peer == self.settings.id {
            return Err(Error::new(Code::WrongNode).expected("another node").found("this node itself"));
        }
        if self.settings.id < peer {
            self.decide(now, id, peer)?;
        }
        Ok(length)
    }

    /// The node with the lower id decides whether this connection becomes the link's.
    fn decide(&mut self, now: Time, id: ConnId, peer: NodeId) -> Result<()> {
        let Some(connection) = self.connections.get(&id) else { return Ok(()) };
        let ended = connection.hello.as_ref().map_or(0, |hello| hello.ended);
        let link = self.with(peer).map(|key| &self.all[key]);
        let last = link.map_or(0, |link| link.epoch);
        if link.is_some_and(|link| link.connection.is_some()) && last > ended {
            return Err(Error::new(Code::Duplicate).at(format!("node {peer}")));
        }
        if link.is_none() && self.all.len() >= self.settings.peers {
            let error = Error::new(Code::Peers).at("links");
            return Err(error.expected(format_args!("at most {}", self.settings.peers)));
        }
        let epoch = last.max(ended).saturating_add(1);
        self.begin(now, id, epoch, true);
        Ok(())
    }

    /// The node with the higher id waits for that decision.
    fn await_start(&mut self, now: Time, id: ConnId, input: &[u8]) -> Result<usize> {
        let Some((header, payload, length)) = frame::split(input)? else { return Ok(0) };
        match Control::parse(&header, payload)? {
            Some(Control::Start { epoch }) => {
                let peer = self.connections.get(&id).and_then(|connection| Some(connection.hello.as_ref()?.node));
                let link = peer.and_then(|peer| self.with(peer)).map(|key| &self.all[key]);
                let last = link.map_or(0, |link| link.epoch);
                let is_lower = peer.is_some_and(|peer| peer < self.settings.id);
                if !is_lower || epoch <= last {
                    let error = Error::new(Code::Handshake).at("epoch");
                    return Err(error
                        .expected(format_args!("an epoch above {last}, announced by the node with the lower id"))
                        .found(epoch));
                }
                if link.is_none() && self.all.len() >= self.settings.peers {
                    return Err(Error::new(Code::Peers).at("links"));
                }
                self.begin(now, id, epoch, false);
            }
            Some(Control::Bye { code, text }) => {
                let duplicate = code == Code::Duplicate as u16;
                let code = Code::ALL.iter().copied().find(|known| *known as u16 == code).unwrap_or(Code::Unreachable);
                let error = Error::new(code).found(text);
                self.turned_down(now, id, error, duplicate);
            }
            _ => return Err(Error::new(Code::Handshake).expected("a Start or a Bye")),
        }
        Ok(length)
    }

    /// This connection becomes the link's.
    fn begin(&mut self, now: Time, id: ConnId, epoch: u64, is_lower: bool) {
        let Some((hello, dial)) = self.connections.get(&id).and_then(|c| Some((c.hello.clone()?, c.dial))) else {
            return;
        };
        let peer = hello.node;
        let key = match self.peers.get(&peer) {
            Some(&key) => key,
            None => {
                let key = self.all.insert(Link::new(peer));
                self.peers.insert(peer, key);
                key
            }
        };
        if let Some(old) = self.all[key].connection {
            self.connections.remove(&old);
            self.actions.act(Action::Close(old));
            self.cut(now, key);
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            let (is_dialed, ahead) = (connection.dial.is_some(), connection.ahead);
            self.all[key].begin(now, id, epoch, is_dialed, ahead, &hello);
            connection.link = Some(key);
            connection.dial = None;
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
    fn turned_down(&mut self, now: Time, id: ConnId, error: Error, duplicate: bool) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.actions.act(Action::Close(id));
        let Some(dial) = connection.dial else { return };
        let link = connection.hello.and_then(|hello| self.with(hello.node));
        let standing = link.filter(|&link| self.stands(link));
        match (duplicate, standing) {
            (true, Some(link)) => self.reached(dial, link),
            // The connection that the other node prefers is not known here yet.
            (true, None) => self.dial_again(now, dial),
            (false, _) => self.dial_failed(now, dial, error),
        }
    }
}
