//! Sends on a connection, and tells the caller.

use super::Links;
use super::link::Announced;
use super::outbox::Outgoing;
use crate::Time;
use crate::action::Action;
use crate::budget::Resource;
use crate::keys::{ConnId, LinkKey};
use crate::memory::Body;
use isoform_core::{Code, Error, Result};

/// When this many bytes are pending, the caller gets another action.
const MUCH: usize = 64 << 10;

/// A node with this many unread bytes gets no more answers. The start of a connection needs far less.
const UNREAD: usize = 4 << 20;
/// So much of the memory of answers is granted to each node, even if its budgets are used up.
const UNREAD_ANYWAY: u64 = 32 << 10;

/// The memory of a frame that waits: a queue of bytes grows by doubling.
pub(super) fn memory(length: usize) -> u64 {
    2 * length as u64
}

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
        let link = &mut self.all[key];
        let was_full = !link.outbox.has_room();
        let written = link.outbox.unwritten(bytes);
        if written > 0 {
            self.purses.give(&mut link.taken, Resource::Answers, memory(written));
        }
        was_full && link.outbox.has_room()
    }

    /// Checks that a node reads what it is told: beyond a few bytes, what it has not read comes out of its budgets.
    pub(crate) fn expect_reader(&self, key: LinkKey) -> Result<()> {
        let link = &self.all[key];
        let unread = link.outbox.length();
        if unread > UNREAD {
            let error = Error::new(Code::Frame).at("request").expected("a node that reads the answers to its requests");
            return Err(error.found(format_args!("{unread} bytes unread")));
        }
        let (left, purse) = self.purses.left(&link.taken, Resource::Answers);
        if left > 0 || memory(link.outbox.answers()) <= UNREAD_ANYWAY {
            return Ok(());
        }
        Err(self.purses.refuse(link.peer, &link.taken, Resource::Answers, purse))
    }

    /// A node was told so many bytes that are not events. If it has not read what it was told before, its link is to end: the
    /// node's own frames wait in memory, too.
    pub(super) fn answered(&mut self, key: LinkKey, length: usize) {
        if length == 0 {
            return;
        }
        let link = &mut self.all[key];
        self.purses.force(&mut link.taken, Resource::Answers, memory(length));
        let answers = link.outbox.answers();
        if answers > UNREAD || memory(answers) > UNREAD_ANYWAY && self.left(key, Resource::Answers) == 0 {
            self.unread.insert(key);
        }
    }

    /// Whether links are to end because nobody reads what they carry.
    pub(crate) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Ends these links.
    pub(crate) fn end_unread(&mut self, now: Time) {
        while let Some(key) = self.unread.pop_first() {
            let id = self.all.get(key).and_then(|link| link.connection);
            if let Some(id) = id
                && let Err(error) = self.expect_reader(key)
            {
                self.refuse(now, id, &error);
            }
        }
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
