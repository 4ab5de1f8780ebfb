//! The seam between a node and whatever carries its bytes: [`Transport`], [`Door`] and [`Connection`].
//!
//! A node knows these three traits and [`Address`](crate::Address)es, and nothing of sockets. What the bytes mean is left to the
//! protocol; which thread reads and writes when, to [`crate::drive`].
//!
//! | file | |
//! |---|---|
//! | `tcp`, `unix` | the transports that every node has: how they listen, and what their connections are set to |
//! | `socket` | a connection over a socket, as both have it |
//! | `dial` | connecting a socket without waiting |
//! | `poll` | waiting for handles of the system |
//! | `address` | where a node is reached |
//!
//! **A further transport** is a file here that implements the three traits, an [`Address`](crate::Address) it is reached at, and a
//! line in `usual`. One that lives elsewhere is given to [`NodeBuilder::transport`](crate::NodeBuilder::transport). TLS
//! wraps a connection of another transport, and has its handle.
//!
//! **Not every transport is a stream of a socket.** The protocol wants bytes in order, or the end; so datagrams number and repeat
//! what they carry beneath this seam, and a ring in shared memory is copied out of by [`Connection::read`].
//!
//! **Why trait objects:** a call through a table costs about a nanosecond, and what is called is a system call of some hundreds.
//! Generics would make every thread, sink and source of a node generic; an enum would be closed to transports from elsewhere.
//!
//! **Windows:** no type of Unix stands in the traits. [`Handle`] holds what the system waits for, which is a descriptor here.

pub(crate) mod address;
mod dial;
pub(crate) mod poll;
mod socket;
mod tcp;
mod unix;

use address::Address;
use isoform::{Code, Error, Result};
use std::fmt;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long calls wait that may wait.
pub const PATIENCE: Duration = Duration::from_millis(10);

/// The most slices that [`Connection::write`] is given at once.
pub const MOST_SLICES: usize = 1024;

/// A way for nodes to reach one another.
pub trait Transport: Send + Sync + fmt::Debug {
    /// Whether this transport is the one for an address.
    fn serves(&self, address: &Address) -> bool;

    /// Listens at an address until the door is dropped. Also returns the address at which others reach it, in which a port that
    /// the system has chosen stands.
    ///
    /// # Errors
    /// [`Code::Taken`] where another program listens; [`Code::Io`] if it is impossible for another reason.
    fn listen(&self, address: &Address) -> Result<(Address, Box<dyn Door>)>;

    /// Begins to connect, without waiting.
    ///
    /// # Errors
    /// As [`Door::next`].
    fn dial(&self, address: &Address, deadline: Instant) -> Result<Box<dyn Door>>;
}

/// Where connections come from: a listener gives one after another, an attempt to connect gives one.
pub trait Door: Send + fmt::Debug {
    /// The next connection, if one has come about. Does not wait.
    ///
    /// # Errors
    /// Of an attempt to connect: [`Code::Unreachable`] where nobody answers, [`Code::Deadline`] when the deadline has passed.
    /// Of a listener: [`Code::Io`], such as for want of descriptors. The connection may still be there, so that waiting for the
    /// next one would return at once: a node does without for a while.
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>>;

    /// What to wait for before asking again.
    fn awaits(&self) -> Awaited<'_>;
}

/// What a [`Door`] waits for.
#[derive(Debug)]
pub enum Awaited<'d> {
    /// Something to read at a handle.
    Read(Handle<'d>),
    /// That a handle can be written to.
    Write(Handle<'d>),
    /// Nothing that tells of itself: ask again in a millisecond.
    Soon,
}

/// A connection between two nodes: bytes in order, both ways.
///
/// Threads share it. At most one reads and one writes at a time.
pub trait Connection: Send + Sync + fmt::Debug {
    /// Reads what has come, to one place after another. If nothing has come and it may `wait`, it reads what comes within
    /// [`PATIENCE`].
    ///
    /// # Errors
    /// [`Code::Io`], if the connection has broken.
    fn read(&self, places: &mut [IoSliceMut<'_>], wait: bool) -> Result<Moved>;

    /// Writes slices one after another, as much of them as goes; or if it may `wait`, as much as goes while something does
    /// within [`PATIENCE`].
    ///
    /// # Errors
    /// [`Code::Io`], if the connection has broken.
    fn write(&self, slices: &[IoSlice<'_>], wait: bool) -> Result<Moved>;

    /// Ends the connection, so that whoever waits for it learns of it, here and there. What was written is still sent.
    fn end(&self);

    /// The same, as far as writing goes: what has come can still be read.
    fn end_writing(&self);

    /// What the system waits for: a handle that tells when something can be read, and when something can be written.
    fn handle(&self) -> Handle<'_>;

    /// The other side, as errors call it.
    fn peer(&self) -> &str;

    /// How much of what waits is best written at once, if another amount than the protocol's own.
    fn ahead(&self) -> Option<usize> {
        None
    }
}

/// What came of reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// So many bytes were read or written, and maybe more can be.
    Bytes(usize),
    /// Nothing can be read or written now: wait until it is ready.
    Blocked,
    /// The other side has ended the connection.
    Closed,
}

/// What the system can wait for.
#[derive(Clone, Copy, Debug)]
pub struct Handle<'h>(BorrowedFd<'h>);

impl<'h> From<BorrowedFd<'h>> for Handle<'h> {
    fn from(descriptor: BorrowedFd<'h>) -> Handle<'h> {
        Handle(descriptor)
    }
}

impl AsFd for Handle<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0
    }
}

/// The transports of a node, the first that serves an address first.
pub(crate) type Transports = Vec<Arc<dyn Transport>>;

/// The transports that every node has.
pub(crate) fn usual() -> Transports {
    vec![Arc::new(tcp::Tcp), Arc::new(unix::Unix)]
}

/// The transport for an address.
pub(crate) fn serving<'t>(transports: &'t Transports, address: &Address) -> Result<&'t Arc<dyn Transport>> {
    let none = || Error::new(Code::Address).expected("an address that a transport of this node serves").came(address);
    transports.iter().find(|transport| transport.serves(address)).ok_or_else(none)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::poll::{Interest, entry, wait};
    use super::*;

    pub(crate) const TAKEN: &str = "another program that does";

    pub(crate) fn listen(address: &Address) -> Result<(Address, Box<dyn Door>)> {
        serving(&usual(), address)?.listen(address)
    }

    /// Why nobody can listen there.
    pub(crate) fn refusal(address: &Address) -> String {
        let error = listen(address).unwrap_err();
        let code = if error.actual() == TAKEN { Code::Taken } else { Code::Io };
        assert_eq!(error.code(), code);
        error.actual().to_owned()
    }

    /// Both ends of a connection, the first of which takes little at a time if it is `narrow`.
    pub(crate) fn pair(narrow: bool) -> [Box<dyn Connection>; 2] {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        if narrow {
            rustix::net::sockopt::set_socket_send_buffer_size(&near, 1).unwrap();
        }
        [near, far].map(|end| Box::new(socket::Socket::new(end.into(), &"far", None)) as Box<dyn Connection>)
    }

    /// Connects, and waits for it.
    pub(crate) fn dial(address: &Address, within: Duration) -> Result<Box<dyn Connection>> {
        let mut dial = serving(&usual(), address)?.dial(address, Instant::now() + within)?;
        loop {
            if let Some(connection) = dial.next()? {
                return Ok(connection);
            }
            match dial.awaits() {
                Awaited::Write(handle) => _ = wait(&mut [entry(handle, Interest::Write)], Some(within))?,
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    #[test]
    fn connections_are_accepted_once_they_come() {
        let folder = tempfile::tempdir().unwrap();
        for address in [Address::Unix(folder.path().join("x.sock")), "localhost:0".parse().unwrap()] {
            let (at, mut listener) = listen(&address).unwrap();
            assert!(listener.next().unwrap().is_none());
            assert_ne!(at.to_string(), "tcp:127.0.0.1:0");
            let near = dial(&at, Duration::from_secs(60)).unwrap();
            let Awaited::Read(handle) = listener.awaits() else { panic!("nothing to wait for") };
            assert!(wait(&mut [entry(handle, Interest::Read)], None).unwrap());
            let far = listener.next().unwrap().expect("a connection");
            assert_eq!(near.peer(), at.to_string());
            assert!(far.peer().starts_with(if matches!(address, Address::Unix(_)) {
                "a program at unix:/"
            } else {
                "tcp:"
            }));
            assert_eq!(refusal(&at), TAKEN);
        }
    }
}
