//! What goes out over a connection: whose turn it is, what is owed, and how the caller hears of it.

use super::Node;
use super::link::Announced;
use crate::Time;
use crate::action::Action;
use crate::control::Control;
use crate::frame::{self, Header, Kind};
use crate::keys::{ConnId, LinkKey};
use crate::memory::{Body, Storage};
use crate::outbox::Outgoing;

/// The caller is told again when so much waits to be written.
const MUCH: usize = 128 << 10;

impl<B: Body, S: Storage> Node<B, S> {
    /// Gives out what is to be written to a connection, in exchange for memory that was used before: all that was given out
    /// then is written. Whether to call it again once that is written, in any case: there is more, or it was much. Else
    /// [`Action::Write`] says when.
    pub fn output(&mut self, now: Time, id: ConnId, out: &mut Outgoing<B>) -> bool {
        out.clear();
        if let Some(farewell) = self.farewells.remove(&id) {
            out.bytes = farewell;
            return false;
        }
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        let Some(key) = connection.link else {
            std::mem::swap(&mut out.bytes, &mut connection.out);
            connection.out.clear();
            return false;
        };
        let rest = std::mem::take(&mut connection.out);
        self.all_is_written_but(key, 0);
        // Not with every frame, since there may be one for each event that comes the other way.
        let soon = now + self.settings.acknowledge / 2;
        let link = &self.links[key];
        if link.pressing || link.due.is_none_or(|due| due <= soon) {
            self.acknowledge(key);
        }
        self.take_turns(key);
        let link = &mut self.links[key];
        link.outbox.give(out);
        link.announced = Announced::Nothing;
        link.wrote = now;
        if !rest.is_empty() {
            // The end of the handshake stands before everything else.
            out.bodies.iter_mut().for_each(|splice| splice.at += rest.len());
            out.bytes.splice(0..0, rest);
        }
        // With less that it does not know to be written, the outbox takes whatever waits.
        !link.ready.is_empty() || link.outbox.length() >= frame::PAYLOAD
    }

    /// Whether so much waits to be written to a connection that a system call for it pays.
    pub fn has_much(&self, id: ConnId) -> bool {
        let Some(link) = self.connections.get(&id).and_then(|connection| connection.link) else { return false };
        let link = &self.links[link];
        link.outbox.waiting() >= MUCH || !link.ready.is_empty()
    }

    /// How much of a connection's output waits in the node.
    pub fn waiting(&self, id: ConnId) -> usize {
        let Some(connection) = self.connections.get(&id) else { return 0 };
        let link = connection.link.map_or(0, |link| self.links[link].outbox.waiting());
        link + connection.out.len()
    }

    /// How many bytes of what was given out the caller still has to write.
    pub fn unwritten(&mut self, id: ConnId, bytes: usize) {
        if let Some(key) = self.connections.get(&id).and_then(|connection| connection.link) {
            self.all_is_written_but(key, bytes);
        }
    }

    #[inline]
    fn all_is_written_but(&mut self, key: LinkKey, bytes: usize) {
        let link = &mut self.links[key];
        let was_full = !link.outbox.has_room();
        link.outbox.unwritten(bytes);
        let has_room = link.outbox.has_room();
        if !link.ready.is_empty() && link.outbox.has_turns() {
            self.announce(key);
        }
        if was_full && has_room {
            let waiting: Vec<_> = self.sources.iter().filter(|(_, source)| source.waits).map(|(at, _)| at).collect();
            waiting.into_iter().for_each(|source| self.make_room(source));
        }
    }

    /// Lets subscriptions that have something to send do so, a fragment in turn.
    fn take_turns(&mut self, key: LinkKey) {
        let link = &mut self.links[key];
        while link.outbox.has_turns()
            && let Some(at) = link.ready.pop_front()
        {
            let sending = &mut self.sendings[at];
            let crate::sending::To::Link(_, number) = sending.to else { continue };
            let mut lane = crate::lane::Over { outbox: &mut link.outbox, number, live: sending.live };
            sending.ready = sending.pump(&mut lane);
            if sending.ready {
                link.ready.push_back(at);
                continue;
            }
            // Nothing waits any more: who had to wait for that may go on.
            if let Some(source) = self.sources.get_mut(sending.source)
                && std::mem::take(&mut source.waits)
            {
                self.actions.push_back(Action::Room(sending.source));
            }
        }
    }

    /// Appends a frame to a link's output, if the link stands. If it does not, all is said anew once it does.
    pub(super) fn say(&mut self, key: LinkKey, control: &Control) {
        let Some(link) = self.links.get_mut(key).filter(|link| link.standing().is_some()) else { return };
        control.put(link.outbox.bytes());
        self.announce(key);
    }

    /// Lets the caller know that there is something to be written.
    #[inline]
    pub(super) fn announce(&mut self, key: LinkKey) {
        let link = &mut self.links[key];
        let state = if link.outbox.waiting() < MUCH { Announced::Some } else { Announced::Much };
        if let Some(id) = link.connection
            && link.announced < state
        {
            link.announced = state;
            self.actions.push_back(Action::Write(id));
        }
    }

    /// Appends what is owed to the other side's sources.
    fn acknowledge(&mut self, key: LinkKey) {
        let link = &mut self.links[key];
        (link.due, link.pressing) = (None, false);
        for some in link.owing.chunks(frame::PAYLOAD / 24) {
            frame::put(link.outbox.bytes(), Header::plain(Kind::Ack), |out| {
                for &at in some {
                    let receiving = &mut self.receivings[at];
                    receiving.owes = false;
                    receiving.told = receiving.taken;
                    out.extend(u64::from(at.0).to_le_bytes());
                    out.extend(receiving.taken.events.to_le_bytes());
                    out.extend(receiving.taken.bytes.to_le_bytes());
                }
            });
        }
        link.owing.clear();
    }

    pub(super) fn acknowledge_if_due(&mut self, now: Time, key: LinkKey) {
        let link = &mut self.links[key];
        if link.due.take_if(|due| *due <= now).is_some() {
            link.pressing = true;
            self.announce(key);
        }
    }

    /// Takes everything that a link has to say into the last words of its connection.
    pub(super) fn bid_farewell(&mut self, key: LinkKey, id: ConnId) {
        let mut out = Outgoing::default();
        self.links[key].outbox.give(&mut out);
        let rest = self.connections.get_mut(&id).map(|connection| std::mem::take(&mut connection.out));
        self.farewells.insert(id, [rest.unwrap_or_default(), out.to_vec()].concat());
    }
}
