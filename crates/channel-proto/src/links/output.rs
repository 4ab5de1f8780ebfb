//! Sends on a connection, and tells the caller.

use super::Links;
use super::link::Announced;
use super::outbox::Outgoing;
use crate::Time;
use crate::action::Action;
use crate::keys::{ConnId, LinkKey};
use crate::memory::Body;

/// When this many bytes are pending, the caller gets another action.
const MUCH: usize = 64 << 10;

impl<B: Body> Links<B> {
    /// Passes output to the caller for a connection without a link: of a handshake, or the last bytes of one that is
    /// closing.
    pub(crate) fn output_of_stranger(&mut self, id: ConnId, out: &mut Outgoing<B>) {
        if let Some(farewell) = self.farewells.remove(&id) {
            out.bytes = farewell;
        } else if let Some(connection) = self.connections.get_mut(&id) {
            std::mem::swap(&mut out.bytes, &mut connection.out);
        }
    }

    /// Passes the pending output of a link's connection to the caller.
    pub(crate) fn output(&mut self, now: Time, key: LinkKey, out: &mut Outgoing<B>) {
        let link = &mut self.all[key];
        link.outbox.give(out);
        link.announced = Announced::Nothing;
        link.wrote = now;
        let connection = link.connection.and_then(|id| self.connections.get_mut(&id));
        let Some(rest) = connection.map(|connection| std::mem::take(&mut connection.out)) else { return };
        if !rest.is_empty() {
            // The end of the handshake comes before everything else.
            out.bodies.iter_mut().for_each(|splice| splice.at += rest.len());
            out.bytes.splice(0..0, rest);
        }
    }

    /// Whether the pending output of a link is worth a system call.
    pub(crate) fn has_much(&self, key: LinkKey) -> bool {
        self.all[key].outbox.waiting() >= MUCH
    }

    /// The number of pending bytes for a connection.
    pub(crate) fn waiting(&self, id: ConnId) -> usize {
        let Some(connection) = self.connections.get(&id) else { return 0 };
        let link = connection.link.map_or(0, |link| self.all[link].outbox.waiting());
        link + connection.out.len()
    }

    /// Notes how many of the passed bytes are not written yet. Returns whether a full outbox has room again.
    #[inline]
    pub(crate) fn unwritten(&mut self, key: LinkKey, bytes: usize) -> bool {
        let outbox = &mut self.all[key].outbox;
        let was_full = !outbox.has_room();
        outbox.unwritten(bytes);
        was_full && outbox.has_room()
    }

    /// Tells the caller about pending output.
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

    /// The same, if there is any, or if more could be sent: `has_more` tells that.
    #[inline]
    pub(crate) fn announce_output(&mut self, key: LinkKey, has_more: impl FnOnce() -> bool) {
        let link = &mut self.all[key];
        let waiting = link.outbox.waiting();
        let state = if waiting < MUCH { Announced::Some } else { Announced::Much };
        if link.announced < state && (waiting > 0 || link.outbox.has_turns() && has_more()) {
            self.announce(key);
        }
    }

    /// Moves the pending output of a link to the last bytes of its connection.
    pub(super) fn bid_farewell(&mut self, key: LinkKey, id: ConnId) {
        let mut out = Outgoing::default();
        self.all[key].outbox.give(&mut out);
        let rest = self.connections.get_mut(&id).map(|connection| std::mem::take(&mut connection.out));
        self.farewells.insert(id, [rest.unwrap_or_default(), out.to_vec()].concat());
    }
}
