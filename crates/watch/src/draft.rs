//! A message of entries under construction, with the room that it takes of the page's outbox.

use crate::entries::Entries;
use crate::outbox::{Letter, Outbox};
use axum::extract::ws::Message;
use tokio::sync::OwnedSemaphorePermit;

/// A message is sent when it has so many bytes,
pub(crate) const FULL: usize = 64 << 10;
/// or if another entry would take it beyond so many.
const ROOM: usize = 2 * FULL;

/// The message of a subscription that comes next.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) entries: Entries,
    /// The room of the message, which is taken when it begins.
    room: Option<OwnedSemaphorePermit>,
    page: Outbox,
}

impl Draft {
    pub(crate) fn new(subscription: u32, page: Outbox) -> Draft {
        Draft { entries: Entries::new(subscription), room: None, page }
    }

    /// Takes the room for so many bytes that come. What is there is sent before, if both would not fit: a message that waits for room has none.
    /// A page that does not keep up is waited for here, and by nobody else. Returns whether the page is there.
    pub(crate) fn make_room(&mut self, more: usize) -> bool {
        let fits = self.entries.len() + more <= ROOM;
        if self.room.is_some() && !fits && !self.send() {
            return false;
        }
        if self.room.is_none() {
            self.room = self.page.room(ROOM.max(self.entries.len() + more));
        }
        self.room.is_some()
    }

    /// Sends the message. Returns whether the page is there.
    pub(crate) fn send(&mut self) -> bool {
        self.page.wait_to_put(Letter { message: Message::binary(self.entries.take()), room: self.room.take() })
    }

    /// Sends a text behind what was sent.
    pub(crate) fn tell(&self, text: Message) {
        self.page.wait_to_put(text.into());
    }
}
