//! Dialing, handshakes, cuts, and what time brings (`spec/channel.md`, "Handshake" and "Cuts").

use super::Node;
use super::link::{Link, indices};
use super::state::{Connection, Dial, Purpose};
use crate::Time;
use crate::account::Cause;
use crate::action::Action;
use crate::control::{Control, Member};
use crate::hello::Hello;
use crate::keys::{ChannelKey, ConnId, DialKey, LinkKey, NodeId, SendingKey};
use crate::memory::{Body, Storage};
use crate::outbox::AHEAD;
use isoform_core::{Code, Error, Result};

/// After so many attempts in a row at which nobody listened, a node is taken for gone: one that is there listens.
const REFUSALS: u32 = 5;
/// Time before the next attempt to dial.
const AGAIN: Time = Time::from_millis(50);
/// Time that the one who was dialed leaves to the dialer, to dial again.
const PATIENCE: Time = Time::from_secs(1);

impl<B: Body, S: Storage> Node<B, S> {
    /// There is a connection: by an attempt of this node's own, or accepted.
    pub fn connected(&mut self, now: Time, id: ConnId, dial: Option<DialKey>) {
        if dial.is_some_and(|key| !self.dials.contains(key)) {
            // It was given up meanwhile.
            return self.act(Action::Close(id));
        }
        let crowd = self.connections.values().filter(|connection| connection.link.is_none()).count();
        if dial.is_none() && crowd >= self.settings.peers {
            return self.act(Action::Close(id));
        }
        let mut connection = Connection { dial, since: now, hello: None, out: Vec::new(), link: None, ahead: AHEAD };
        if let Some(dial) = dial {
            self.dials[dial].connection = Some(id);
            let wanted = self.dials[dial].wanted;
            connection.out = self.hello(wanted).to_bytes();
            self.act(Action::Write(id));
        }
        self.connections.insert(id, connection);
    }

    /// Says how many bytes of long events, and of others that had to wait, may lie in front of a short event that comes later:
    /// 128 KiB, unless this is called before the connection's handshake is over. More of it is faster, and later.
    pub fn let_ahead(&mut self, id: ConnId, bytes: usize) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.ahead = bytes;
        }
    }

    /// An attempt to connect has failed.
    pub fn dial_failed(&mut self, now: Time, dial: DialKey, error: Error) {
        let key = dial;
        let Some(dial) = self.dials.get_mut(key) else { return };
        dial.connection = None;
        if dial.tried < dial.addresses.len() {
            return self.dial_next(key);
        }
        self.dial_is_over(now, key, error);
    }

    /// A connection is gone, without a word.
    pub fn closed(&mut self, now: Time, id: ConnId, why: Option<Error>) {
        self.farewells.remove(&id);
        let Some(connection) = self.connections.remove(&id) else { return };
        match (connection.link, connection.dial) {
            (Some(link), _) => {
                self.cut(now, link);
                self.tick_dials(now);
            }
            (None, Some(dial)) => {
                let gone = || Error::new(Code::Unreachable).came("the connection was closed during the handshake");
                self.dial_failed(now, dial, why.unwrap_or_else(gone));
            }
            (None, None) => {}
        }
    }

    /// Looks at the time.
    pub fn tick(&mut self, now: Time) {
        self.tick_handshakes(now);
        self.tick_links(now);
        // Behind the links: who loses one dials at once.
        self.tick_dials(now);
        self.tick_opens(now);
    }

    /// This node was stopped for a while: nobody's silence until now counts.
    pub fn excuse(&mut self, now: Time) {
        self.links.iter_mut().for_each(|(_, link)| link.heard = link.heard.max(now));
    }

    /// When [`tick`](Node::tick) next has something to do; `None` if never.
    pub fn deadline(&self) -> Option<Time> {
        let handshakes = self.connections.values().filter(|connection| connection.link.is_none());
        let handshakes = handshakes.map(|connection| connection.since + self.settings.handshake);
        let dials = self.dials.iter().map(|(_, dial)| dial.again.unwrap_or(dial.deadline).min(dial.deadline));
        let links = self.links.iter().map(|(_, link)| match link.standing() {
            Some(_) => {
                (link.wrote + link.beat).min(link.heard + self.settings.silence).min(link.due.unwrap_or(Time::MAX))
            }
            None => link.since + self.settings.linger,
        });
        let opens = self.opens.iter().filter(|(_, open)| open.answer.is_none()).map(|(_, open)| open.deadline);
        handshakes.chain(dials).chain(links).chain(opens).min()
    }

    /// What this node says first.
    fn hello(&self, to: Option<NodeId>) -> Hello {
        let ended = to.and_then(|to| self.peers.get(&to)).map(|&link| &self.links[link]);
        Hello {
            node: self.settings.id,
            wanted: to.unwrap_or(NodeId::ANY),
            ended: ended.filter(|link| link.standing().is_none()).map_or(0, |link| link.epoch),
            formats: indices(self.settings.registry.limits()) as u32,
            silence: self.settings.silence,
            subscriptions: self.settings.subscriptions as u32,
            addresses: self.settings.addresses.clone(),
        }
    }

    /// What came in a handshake: how much of it was used. Behind a Start there are frames.
    pub(super) fn shake(&mut self, now: Time, id: ConnId, input: &[u8]) -> Result<usize> {
        let Some(connection) = self.connections.get_mut(&id) else { return Ok(input.len()) };
        if connection.hello.is_some() {
            return self.await_start(now, id, input);
        }
        let Some((hello, length)) = Hello::parse(input)? else { return Ok(0) };
        let (peer, wanted) = (hello.node, hello.wanted);
        if peer == NodeId::ANY {
            return Err(Error::new(Code::Handshake).at("node id").expected("another than that of whoever is there"));
        }
        connection.hello = Some(hello);
        match connection.dial {
            None => {
                let answer = self.hello(Some(peer)).to_bytes();
                if let Some(connection) = self.connections.get_mut(&id) {
                    connection.out.extend(answer);
                }
                self.act(Action::Write(id));
                if wanted != NodeId::ANY && wanted != self.settings.id {
                    return Err(Error::new(Code::WrongNode).expected(wanted).came(self.settings.id));
                }
            }
            Some(dial) => {
                let wanted = self.dials.get(dial).and_then(|dial| dial.wanted);
                if let Some(wanted) = wanted.filter(|&wanted| wanted != peer) {
                    return Err(Error::new(Code::WrongNode).expected(wanted).came(peer));
                }
            }
        }
        if peer == self.settings.id {
            return Err(Error::new(Code::WrongNode).expected("another node").came("this node itself"));
        }
        if self.settings.id < peer {
            self.decide(now, id, peer)?;
        }
        Ok(length)
    }

    /// The lower node decides whether this connection is the link's.
    fn decide(&mut self, now: Time, id: ConnId, peer: NodeId) -> Result<()> {
        let Some(connection) = self.connections.get(&id) else { return Ok(()) };
        let ended = connection.hello.as_ref().map_or(0, |hello| hello.ended);
        let link = self.peers.get(&peer).map(|&key| &self.links[key]);
        let last = link.map_or(0, |link| link.epoch);
        if link.is_some_and(|link| link.standing().is_some()) && last > ended {
            return Err(Error::new(Code::Duplicate).at(format!("node {peer}")));
        }
        if link.is_none() && self.links.len() >= self.settings.peers {
            let error = Error::new(Code::Peers).at("links");
            return Err(error.expected(format_args!("at most {}", self.settings.peers)));
        }
        let epoch = last.max(ended).saturating_add(1);
        self.begin(now, id, epoch, true);
        Ok(())
    }

    /// The higher node waits for the lower's decision.
    fn await_start(&mut self, now: Time, id: ConnId, input: &[u8]) -> Result<usize> {
        let Some((header, payload, length)) = super::frames::split(input)? else { return Ok(0) };
        match Control::parse(&header, payload)? {
            Some(Control::Start { epoch }) => {
                let peer = self.connections.get(&id).and_then(|connection| Some(connection.hello.as_ref()?.node));
                let link = peer.and_then(|peer| self.peers.get(&peer)).map(|&key| &self.links[key]);
                let last = link.map_or(0, |link| link.epoch);
                let is_lower = peer.is_some_and(|peer| peer < self.settings.id);
                if !is_lower || epoch <= last {
                    let error = Error::new(Code::Handshake).at("epoch");
                    return Err(error.expected(format_args!("more than {last}, from the lower node")).came(epoch));
                }
                if link.is_none() && self.links.len() >= self.settings.peers {
                    return Err(Error::new(Code::Peers).at("links"));
                }
                self.begin(now, id, epoch, false);
            }
            Some(Control::Bye { code, text }) => {
                let duplicate = code == Code::Duplicate as u16;
                let code = Code::ALL.iter().copied().find(|known| *known as u16 == code).unwrap_or(Code::Unreachable);
                let error = Error::new(code).came(text);
                self.turned_down(now, id, error, duplicate);
            }
            _ => return Err(Error::new(Code::Handshake).expected("a Start or a Bye")),
        }
        Ok(length)
    }

    /// The connection is the link's from here on.
    fn begin(&mut self, now: Time, id: ConnId, epoch: u64, is_lower: bool) {
        let Some((hello, dial)) = self.connections.get(&id).and_then(|c| Some((c.hello.clone()?, c.dial))) else {
            return;
        };
        let peer = hello.node;
        let key = match self.peers.get(&peer) {
            Some(&key) => key,
            None => {
                let key = self.links.insert(Link::new(peer));
                self.peers.insert(peer, key);
                key
            }
        };
        if let Some(old) = self.links[key].standing() {
            self.connections.remove(&old);
            self.act(Action::Close(old));
            self.cut(now, key);
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            self.links[key].begin(now, id, epoch, connection, &hello);
            connection.link = Some(key);
            connection.dial = None;
        }
        if is_lower {
            self.say(key, &Control::Start { epoch });
        }
        self.say_all(key);
        if let Some(dial) = dial {
            self.reached(dial, key);
        }
        // Whatever else was trying to restore it is done.
        self.forget_dials(Purpose::Resume(key));
    }

    /// The other node refuses this connection.
    fn turned_down(&mut self, now: Time, id: ConnId, error: Error, duplicate: bool) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.act(Action::Close(id));
        let Some(dial) = connection.dial else { return };
        let link = connection.hello.and_then(|hello| self.peers.get(&hello.node).copied());
        let standing = link.filter(|&link| self.links[link].standing().is_some());
        match (duplicate, standing) {
            (true, Some(link)) => self.reached(dial, link),
            // The connection that is meant has yet to be heard of here.
            (true, None) => {
                if let Some(dial) = self.dials.get_mut(dial) {
                    dial.connection = None;
                    dial.tried = 0;
                    dial.again = Some(now + AGAIN);
                }
            }
            (false, _) => self.dial_failed(now, dial, error),
        }
    }

    /// Ends a connection because of what came over it, or because it is not wanted, and says why.
    pub(super) fn refuse(&mut self, now: Time, id: ConnId, error: &Error) {
        let Some(connection) = self.connections.remove(&id) else { return };
        let mut farewell = connection.out;
        let bye = Control::Bye { code: error.code() as u16, text: error.to_string() };
        match connection.link {
            Some(link) => {
                self.say(link, &bye);
                let mut out = crate::Outgoing::default();
                self.links[link].outbox.give(&mut out);
                farewell.extend(out.to_vec());
                self.end_link(link, Cause::Unknown);
            }
            // Who does not speak as a link does is not answered.
            None if connection.hello.is_some() || error.code() == Code::Version => {
                if connection.hello.is_none() {
                    farewell.extend(self.hello(None).to_bytes());
                }
                bye.put(&mut farewell);
            }
            None => {}
        }
        self.farewells.insert(id, farewell);
        self.act(Action::Close(id));
        let Some(dial) = connection.dial else { return };
        let link = connection.hello.and_then(|hello| self.peers.get(&hello.node).copied());
        match link.filter(|&link| self.links.get(link).is_some_and(|link| link.standing().is_some())) {
            Some(link) if error.code() == Code::Duplicate => self.reached(dial, link),
            _ => self.dial_failed(now, dial, error.clone()),
        }
    }

    /// Begins to dial.
    pub(super) fn dial(&mut self, addresses: Vec<String>, wanted: Option<NodeId>, purpose: Purpose, deadline: Time) {
        let dial = Dial { addresses, tried: 0, wanted, purpose, deadline, again: None, connection: None, refusals: 0 };
        let key = self.dials.insert(dial);
        self.dial_next(key);
    }

    fn dial_next(&mut self, key: DialKey) {
        let Some(dial) = self.dials.get_mut(key) else { return };
        let address = dial.addresses.get(dial.tried).cloned();
        dial.tried += 1;
        dial.again = None;
        if let Some(address) = address {
            self.act(Action::Dial(key, address));
        }
    }

    /// All addresses have been tried.
    fn dial_is_over(&mut self, now: Time, key: DialKey, error: Error) {
        let Some(dial) = self.dials.get_mut(key) else { return };
        dial.refusals = if error.code() == Code::Unreachable { dial.refusals + 1 } else { 0 };
        let nobody = dial.refusals >= REFUSALS;
        match dial.purpose {
            // Another node has its place: it will not come back.
            Purpose::Resume(link) if error.code() == Code::WrongNode => {
                self.dials.remove(key);
                self.end_link(link, Cause::Unknown);
            }
            Purpose::Resume(link) if nobody => {
                self.dials.remove(key);
                self.give_up(now, link);
            }
            Purpose::Join(_) if error.code() == Code::WrongNode => {
                self.dials.remove(key);
            }
            // Nobody but this attempt would have the two meet, so that it is kept up, ever more slowly.
            Purpose::Join(_) => {
                dial.tried = 0;
                dial.again = Some(now + AGAIN * (1 << dial.refusals.min(REFUSALS)));
            }
            Purpose::Resume(_) => {
                dial.tried = 0;
                dial.again = Some(now + AGAIN);
            }
            Purpose::Open(open) => {
                self.dials.remove(key);
                self.answer(open, Err(error));
            }
        }
    }

    /// Ends a link at whose other side nobody seems to be. Should somebody be there after all, both are members again of the
    /// channels that they have in common.
    fn give_up(&mut self, now: Time, key: LinkKey) {
        let Some(link) = self.links.get(key) else { return };
        let (peer, addresses) = (link.peer, link.addresses.clone());
        let common = self.channels.iter().filter(|(_, channel)| channel.members.contains_key(&key));
        let common: Vec<ChannelKey> = common.map(|(at, _)| at).collect();
        self.end_link(key, Cause::Unknown);
        for at in common {
            self.heard_of_member(now, at, Member { node: peer, addresses: addresses.clone() });
        }
    }

    /// Gives up all attempts that are made for this.
    pub(super) fn forget_dials(&mut self, purpose: Purpose) {
        let of_it = self.dials.iter().filter(|(_, dial)| dial.purpose == purpose);
        let all: Vec<DialKey> = of_it.map(|(dial, _)| dial).collect();
        all.into_iter().for_each(|dial| self.forget_dial(dial));
    }

    /// Gives up an attempt, and the connection that came of it.
    pub(super) fn forget_dial(&mut self, key: DialKey) {
        let Some(dial) = self.dials.remove(key) else { return };
        if let Some(id) = dial.connection
            && self.connections.get(&id).is_some_and(|connection| connection.link.is_none())
        {
            self.connections.remove(&id);
            self.act(Action::Close(id));
        }
    }

    /// The node that was dialed is linked.
    fn reached(&mut self, key: DialKey, link: LinkKey) {
        let Some(dial) = self.dials.remove(key) else { return };
        match dial.purpose {
            Purpose::Open(open) => self.ask_to_open(open, link),
            Purpose::Join(channel) => self.join(channel, link),
            Purpose::Resume(_) => {}
        }
    }

    /// The connection of a link broke.
    pub(super) fn cut(&mut self, now: Time, key: LinkKey) {
        let Some(link) = self.links.get_mut(key) else { return };
        link.cut(now);
        let (addresses, peer, dialed) = (link.addresses.clone(), link.peer, link.dialed);
        let sendings: Vec<SendingKey> = link.sendings.values().copied().collect();
        for sending in sendings {
            self.sendings[sending].cut();
        }
        for (_, receiving) in self.receivings.iter_mut() {
            if matches!(receiving.from, crate::receiving::From::Link(link, _) if link == key) {
                receiving.long = None;
            }
        }
        if addresses.is_empty() {
            return;
        }
        let dial = Dial {
            addresses,
            tried: 0,
            wanted: Some(peer),
            purpose: Purpose::Resume(key),
            deadline: now + self.settings.linger,
            again: Some(if dialed { now } else { now + PATIENCE }),
            connection: None,
            refusals: 0,
        };
        self.dials.insert(dial);
    }

    fn tick_handshakes(&mut self, now: Time) {
        let late = |connection: &Connection| connection.since + self.settings.handshake <= now;
        let late: Vec<ConnId> = self
            .connections
            .iter()
            .filter(|(_, connection)| connection.link.is_none() && late(connection))
            .map(|(&id, _)| id)
            .collect();
        for id in late {
            let expected = format!("a handshake within {:?}", self.settings.handshake);
            self.refuse(now, id, &Error::new(Code::Handshake).expected(expected));
        }
    }

    fn tick_dials(&mut self, now: Time) {
        for key in self.dials.keys() {
            let Some(dial) = self.dials.get(key) else { continue };
            if dial.deadline <= now {
                let address = dial.addresses.first().cloned().unwrap_or_default();
                let error = Error::new(Code::Deadline).at(address).expected("a node that answers");
                let purpose = dial.purpose;
                self.forget_dial(key);
                if let Purpose::Open(open) = purpose {
                    self.answer(open, Err(error));
                }
            } else if dial.again.is_some_and(|again| again <= now) {
                self.dial_next(key);
            }
        }
    }

    fn tick_links(&mut self, now: Time) {
        for key in self.links.keys() {
            let Some(link) = self.links.get_mut(key) else { continue };
            match link.standing() {
                None if link.since + self.settings.linger <= now => self.end_link(key, Cause::Unknown),
                None => {}
                Some(id) if link.heard + self.settings.silence <= now => {
                    self.connections.remove(&id);
                    self.act(Action::Close(id));
                    self.cut(now, key);
                }
                Some(_) => {
                    if link.wrote + link.beat <= now {
                        link.wrote = now;
                        self.say(key, &Control::Ping);
                    }
                    self.acknowledge_if_due(now, key);
                }
            }
        }
    }
}
