//! Descriptors that a node keeps for when its process has no more: so programs of its own user can still connect, and others
//! are told why they cannot (`spec/channel.md`, "Limits").

use super::hub::Hub;
use crate::transport::system;
use crate::transport::{Connection, Door};
use isoform::Result;
use rustix::fd::OwnedFd;
use rustix::net::AddressFamily;
use std::io::{IoSlice, IoSliceMut};

/// The descriptors: one to say why there is no room, and the others for the own user.
const DESCRIPTORS: usize = 4;
/// How many connections are refused before the listener rests.
const REFUSALS: usize = 64;

#[derive(Default)]
pub(super) struct Reserve {
    descriptors: Vec<OwnedFd>,
    /// The connection that was refused last. It has the last descriptor, so that the other side can read what was said, until
    /// another one is refused or the listener has rested.
    refused: Option<Box<dyn Connection>>,
}

impl Reserve {
    pub(super) fn new() -> Reserve {
        let mut reserve = Reserve::default();
        reserve.refill();
        reserve
    }

    /// Takes back what is missing, if the process has so many descriptors again.
    pub(super) fn refill(&mut self) {
        self.refused = None;
        while self.descriptors.len() < DESCRIPTORS
            && let Ok(descriptor) = system::unconnected(AddressFamily::INET)
        {
            self.descriptors.push(descriptor);
        }
    }

    /// The next connection of a listener. If the listener fails for want of descriptors, those of the own user are still accepted,
    /// and others are told that there is no room.
    ///
    /// # Errors
    /// That of the listener, if it fails anyway.
    pub(super) fn accept(&mut self, hub: &Hub, listener: &mut dyn Door) -> Result<Option<Box<dyn Connection>>> {
        let mut accepted = listener.next();
        for _ in 0..REFUSALS {
            if accepted.is_ok() || !is_short() || !self.give_way() {
                return accepted;
            }
            accepted = listener.next();
            let Ok(Some(connection)) = &accepted else { return accepted };
            if is_own(&**connection) && !self.descriptors.is_empty() {
                return accepted;
            }
            if let Ok(Some(connection)) = accepted {
                self.turn_away(hub, connection, "room for one more connection");
            }
            accepted = listener.next();
        }
        accepted
    }

    /// Closes a descriptor, so that one can be opened in its place. Returns whether there was one.
    fn give_way(&mut self) -> bool {
        self.refused.take().is_some() || self.descriptors.pop().is_some()
    }

    /// Refuses a connection beyond those that its user or address, and its key, may have (`spec/channel.md`, "Accepting connections").
    pub(super) fn refuse(&mut self, hub: &Hub, connection: Box<dyn Connection>) {
        self.turn_away(hub, connection, "fewer new connections at once of one user, address or shared key");
    }

    /// Tells the other side what was expected instead.
    fn turn_away(&mut self, hub: &Hub, connection: Box<dyn Connection>, expected: &str) {
        let farewell = hub.lock().machine.turn_away(expected);
        // What is not read when a connection is closed may take what was written with it.
        if !connection.begins_with_work() {
            let _ = connection.read(&mut [IoSliceMut::new(&mut [0; 4_096])], false);
        }
        // It may have gone already.
        let _ = connection.write(&[IoSlice::new(&farewell)], false);
        connection.end_writing();
        self.refused = Some(connection);
    }
}

/// Whether the system says that a connection is of a program of the own user.
pub(super) fn is_own(connection: &dyn Connection) -> bool {
    connection.credentials().local_user.is_some_and(|user| system::users().contains(&user))
}

/// Whether the system has no more descriptors for this process. Listeners fail for other reasons, too, such as a network that is down.
fn is_short() -> bool {
    system::unconnected(AddressFamily::INET).is_err()
}
