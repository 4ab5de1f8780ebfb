//! Sends on a connection, and tells the caller.

use super::Links;
use super::link::Announced;
use super::outbox::Outgoing;
use crate::Time;
use crate::action::Action;
use crate::keys::{ConnId, LinkKey};
use crate::memory::Body;

/// The caller is told again when so much waits to be written.
const MUCH: usize = 128 << 10;

impl<B: Body> Links<B> {
    /// Gives out what is to be written to a connection that is no link's: of a handshake, or the last words of one that is
    /// closed.
    pub(crate) fn output_of_stranger(&mut self, id: ConnId, out: &mut Outgoing<B>) {
        if let Some(farewell) = self.farewells.remove(&id) {
            out.bytes = farewell;
        } else if let Some(connection) = self.connections.get_mut(&id) {
            std::mem::swap(&mut out.bytes, &mut connection.out);
        }
    }

    /// Gives out what is to be written to a link's connection.
    pub(crate) fn output(&mut self, now: Time, key: LinkKey, out: &mut Outgoing<B>) {
        let link = &mut self.all[key];
        link.outbox.give(out);
        link.announced = Announced::Nothing;
        link.wrote = now;
        let connection = link.connection.and_then(|id| self.connections.get_mut(&id));
        let Some(rest) = connection.map(|connection| std::mem::take(&mut connection.out)) else { return };
        if !rest.is_empty() {
            // The end of the handshake stands before everything else.
            out.bodies.iter_mut().for_each(|splice| splice.at += rest.len());
            out.bytes.splice(0..0, rest);
        }
    }

    /// Whether so much waits to be written to a link's connection that a system call for it pays.
    pub(crate) fn has_much(&self, key: LinkKey) -> bool {
        self.all[key].outbox.waiting() >= MUCH
    }

    /// How much of a connection's output waits in the node.
    pub(crate) fn waiting(&self, id: ConnId) -> usize {
        let Some(connection) = self.connections.get(&id) else { return 0 };
        let link = connection.link.map_or(0, |link| self.all[link].outbox.waiting());
        link + connection.out.len()
    }

    /// Notes how much of what was given out is not written yet. Whether a full outbox has room again.
    #[inline]
    pub(crate) fn unwritten(&mut self, key: LinkKey, bytes: usize) -> bool {
        let outbox = &mut self.all[key].outbox;
        let was_full = !outbox.has_room();
        outbox.unwritten(bytes);
        was_full && outbox.has_room()
    }

    /// Lets the caller know that there is something to be written.
    #[inline]
    pub(crate) fn announce(&mut self, key: LinkKey) {
        let link = &mut self.all[key];
        let state = if link.outbox.waiting() < MUCH { Announced::Some } else { Announced::Much };
        if let Some(id) = link.connection
            && link.announced < state
        {
            link.announced = state;
            self.actions.act_again(Action::Write(id));
        }
    }

    /// Takes everything that a link has to say into the last words of its connection.
    pub(super) fn bid_farewell(&mut self, key: LinkKey, id: ConnId) {
        let mut out = Outgoing::default();
        self.all[key].outbox.give(&mut out);
        let rest = self.connections.get_mut(&id).map(|connection| std::mem::take(&mut connection.out));
        self.farewells.insert(id, [rest.unwrap_or_default(), out.to_vec()].concat());
    }
}
