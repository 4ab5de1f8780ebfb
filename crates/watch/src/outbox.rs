//! What waits for a page, within bounds of number and bytes: many subscriptions write, one connection sends.

use axum::extract::ws::Message;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Messages that wait for the connection.
const WAITING: usize = 4;
/// Bytes of the records that are being made ready for a page or wait for it.
const ROOM: usize = 64 << 20;
/// The unit of room.
const UNIT: usize = 1 << 10;

/// A message, with the room that it takes until it was sent.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) message: Message,
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

/// Texts are short, and take no room.
impl From<Message> for Letter {
    fn from(message: Message) -> Letter {
        Letter { message, room: None }
    }
}

/// Where letters for a page are put, or what else there is for a viewer.
#[derive(Debug)]
pub(crate) struct Outbox<L = Letter> {
    letters: Sender<L>,
    room: Arc<Semaphore>,
    runtime: Handle,
}

impl<L> Clone for Outbox<L> {
    fn clone(&self) -> Outbox<L> {
        Outbox { letters: self.letters.clone(), room: self.room.clone(), runtime: self.runtime.clone() }
    }
}

impl<L> Outbox<L> {
    /// The outbox of a page, and what its connection sends.
    pub(crate) fn new() -> (Outbox<L>, Receiver<L>) {
        let (letters, waiting) = channel(WAITING);
        let outbox = Outbox { letters, room: Arc::new(Semaphore::new(ROOM / UNIT)), runtime: Handle::current() };
        (outbox, waiting)
    }

    /// Puts a letter once there is a place, from a task. Returns whether the page is there.
    pub(crate) async fn put(&self, letter: L) -> bool {
        self.letters.send(letter).await.is_ok()
    }

    /// As [`put`](Outbox::put), from a thread.
    pub(crate) fn wait_to_put(&self, letter: L) -> bool {
        self.letters.blocking_send(letter).is_ok()
    }

    /// Room for so many bytes, or all that there is, for a thread that has none. `None` if the page has gone.
    pub(crate) fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = bytes.div_ceil(UNIT).min(ROOM / UNIT);
        let room = self.room.clone().acquire_many_owned(u32::try_from(units).ok()?);
        self.runtime.block_on(async {
            tokio::select! {
                room = room => room.ok(),
                () = self.letters.closed() => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_wait_until_there_is_room() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (outbox, waiting) = runtime.block_on(async { Outbox::new() });
        let most = outbox.room(usize::MAX).unwrap();
        let other = outbox.clone();
        let thread = std::thread::spawn(move || {
            let room = other.room(1).is_some();
            let letter = Letter { message: Message::text("next"), room: None };
            (room, other.wait_to_put(letter))
        });
        assert_eq!(outbox.room.available_permits(), 0);
        drop(most);
        assert_eq!(thread.join().unwrap(), (true, true));
        let _most = outbox.room(usize::MAX).unwrap();
        let other = outbox.clone();
        let thread = std::thread::spawn(move || other.room(1).is_some());
        drop(waiting);
        assert!(!thread.join().unwrap(), "the page has gone");
    }
}
