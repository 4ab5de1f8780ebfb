//! The seam between a node and the carriers of its bytes: [`Transport`], [`Door`] and [`Connection`].
//!
//! A node uses these three traits and [`Address`]es, and no sockets. The protocol defines the meaning of the bytes, and
//! `crate::drive` decides which thread reads and writes.
//!
//! | file | |
//! |---|---|
//! | `tcp`, `unix` | the transports that every node has: how they listen, and what their connections are set to |
//! | `socket` | a connection over a socket, as both have it |
//! | `tls` | a transport around another one, which encrypts what leaves this machine |
//! | `dial` | connecting a socket without waiting |
//! | `named`, `lookup` | connecting to a host by its name: at the addresses that the system knows of it |
//! | `system` | what differs between Unix and Windows |
//! | `poll` | waiting for handles of the system |
//! | `address` | where a node is reached |
//!
//! **A further transport** is a file here that implements the three traits, a variant of [`Address`], and a line in
//! `usual`. A transport outside of this crate is passed to [`NodeBuilder::transport`](crate::NodeBuilder::transport).
//! `tls` wraps the connections of another transport, and uses their handles. A transport without a handle of the system calls
//! [`Ready::now`] itself: the transport in memory of this crate's tests does so, and a ring in shared memory can.
//!
//! **Not every transport is a stream socket.** The protocol requires bytes in order, or the end of the connection. So a
//! transport over datagrams numbers and repeats them below this seam, and [`Connection::read`] copies from a ring in
//! shared memory.
//!
//! **Why trait objects:** a call through a table takes about a nanosecond, and the system call that it leads to takes
//! some hundreds. Generics would make every thread, sink and source of a node generic. An enum would exclude transports
//! outside of this crate.
//!
//! **Windows:** `system` has what differs there. [`Handle`] contains an object that the system can wait for: a
//! descriptor, and on Windows a socket. There are no Unix sockets.

pub(crate) mod address;
mod dial;
mod lookup;
mod named;
pub(crate) mod poll;
mod socket;
pub(crate) mod system;
mod tcp;
#[cfg(feature = "tls")]
pub(crate) mod tls;
#[cfg(unix)]
mod unix;

use address::Address;
use isoform::{Code, Error, Result};
pub use isoform_channel_proto::Credentials;
use rustix::fd::{AsFd, BorrowedFd};
use std::fmt;
use std::io::{IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time for which waiting calls wait.
pub const PATIENCE: Duration = Duration::from_millis(10);

/// A read that brings less is work for little (`spec/channel.md`, "Bytes in pieces").
pub(crate) const LITTLE: usize = 4_096;
/// The same for one that brings a part of an event, which a network has divided.
pub(crate) const LITTLE_OF_EVENT: usize = 256;
/// So many records of an encrypted connection are expected for a frame; and one more for each [`LITTLE_OF_EVENT`] bytes.
pub(crate) const RECORDS_OF_FRAME: usize = 4;

/// The largest number of slices for one [`Connection::write`].
pub const MOST_SLICES: usize = 1024;

/// A way for nodes to reach one another.
pub trait Transport: Send + Sync + fmt::Debug {
    /// Whether this transport serves an address.
    fn serves(&self, address: &Address) -> bool;

    /// Listens at an address until the door is dropped. Also returns the address at which others reach it, with the
    /// port that the system has chosen.
    ///
    /// # Errors
    /// [`Code::Taken`] if another program listens there; [`Code::Io`] for other failures.
    fn listen(&self, address: &Address) -> Result<(Address, Box<dyn Door>)>;

    /// Starts to connect, without waiting.
    ///
    /// # Errors
    /// As [`Door::next`].
    fn dial(&self, address: &Address, deadline: Instant) -> Result<Box<dyn Door>>;

    /// Whether others on the way to this address can neither read nor change what goes there, so that a node need not be
    /// allowed to use it. It matters for addresses beyond this machine.
    fn protects(&self, _address: &Address) -> bool {
        false
    }

    /// Called about once a second, by the node's own thread, for work at certain times. It does not wait.
    ///
    /// # Errors
    /// What others should know: the node counts it among what it has refused or failed to do.
    fn look_after(&self) -> Result<()> {
        Ok(())
    }
}

/// Yields connections: a listener yields many, and an attempt to connect one.
pub trait Door: Send + fmt::Debug {
    /// The next connection, if there is one. Does not wait.
    ///
    /// # Errors
    /// Of an attempt to connect: [`Code::Unreachable`] where nobody answers, [`Code::Deadline`] when the deadline has passed.
    /// Of a listener: [`Code::Io`], such as for want of descriptors. The connection may still be there, so that waiting for the
    /// next one would return at once: a node does without for a while.
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>>;

    /// What to wait for before the next call.
    fn awaits(&self) -> Awaited<'_>;

    /// Called once, for a door that waits for [`Awaited::Told`]. It calls [`Ready::now`] whenever there may be a connection.
    fn tell(&mut self, _ready: Ready) {}
}

/// What a [`Door`] waits for.
#[derive(Debug)]
pub enum Awaited<'d> {
    /// A handle that is readable.
    Read(Handle<'d>),
    /// A handle that is writable.
    Write(Handle<'d>),
    /// The door calls [`Ready::now`]: see [`Door::tell`].
    Told,
    /// Nothing that can be waited for: call again in a millisecond.
    Soon,
}

/// A connection between two nodes: bytes in order, both ways.
///
/// Threads share it. At most one thread reads, and at most one writes.
pub trait Connection: Send + Sync + fmt::Debug {
    /// Reads bytes that have arrived into the given places, in order. If there are none and it may `wait`, it reads
    /// bytes that arrive within [`PATIENCE`].
    ///
    /// # Errors
    /// [`Code::Io`], if the connection is broken.
    fn read(&self, places: &mut [IoSliceMut<'_>], wait: bool) -> Result<Moved>;

    /// The first bytes that have arrived on an accepted connection, which are still to be read; as many as the place has, or all that
    /// there are. By default, nothing is known of them.
    fn peek(&self, _place: &mut [u8]) -> usize {
        0
    }

    /// Writes slices in order, as many bytes as possible. If it may `wait`, it continues while something can be written
    /// within [`PATIENCE`]. The next call begins with the bytes that this one did not write.
    ///
    /// # Errors
    /// [`Code::Io`], if the connection is broken.
    fn write(&self, slices: &[IoSlice<'_>], wait: bool) -> Result<Moved>;

    /// Whether the next [`read`](Connection::read) would return something although the handle need not be readable, since
    /// the connection holds what has arrived. It is asked after each reading.
    fn has_more(&self) -> bool {
        false
    }

    /// How many records the last [`read`](Connection::read) has opened, if the connection opens records. Each takes time, however few bytes it
    /// brings; one that takes longer counts as several.
    fn opened(&self) -> usize {
        0
    }

    /// Whether the connection has bytes of its own to write, for which there was no room. It is asked after each reading. The
    /// node then waits for room, and calls [`write`](Connection::write), perhaps with nothing to write.
    fn has_unwritten(&self) -> bool {
        false
    }

    /// Ends the connection, and wakes threads that wait for it on both sides. Written bytes are still sent.
    fn end(&self);

    /// The same for writing only. Bytes that have arrived can still be read.
    fn end_writing(&self);

    /// How a node learns that reading or writing is possible.
    fn watch(&self) -> Watch<'_>;

    /// Called once, for a connection without a handle. It calls [`Ready::now`] whenever bytes have arrived, whenever there
    /// is room again, and when the connection ends.
    fn tell(&self, _ready: Ready) {}

    /// The address of this side, if it has one: where the other side may reach this node.
    fn own(&self) -> Option<SocketAddr> {
        None
    }

    /// The name of the other side in errors.
    fn peer(&self) -> &str;

    /// What the transport knows of the other side, and what its encryption binds proofs to. It is asked when bytes have
    /// arrived, until the other side has said who it is. By default nothing is known.
    fn credentials(&self) -> Credentials {
        Credentials::default()
    }

    /// Whether reading the first bytes of an accepted connection takes much time, as a handshake of TLS does. The node then reads
    /// them when its limits for handshakes allow that.
    fn begins_with_work(&self) -> bool {
        false
    }

    /// The number of waiting bytes that is best written at once, if it differs from the protocol's own. A node takes 4 KiB for less,
    /// and 1 GiB for more.
    fn ahead(&self) -> Option<usize> {
        None
    }
}

/// The result of reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// This many bytes were read or written. There may be more.
    Bytes(usize),
    /// Nothing can be read or written now; wait for the handle.
    Blocked,
    /// The other side has ended the connection.
    Closed,
}

impl Moved {
    /// Refuses more bytes than there were, which only a defective transport reports.
    pub(crate) fn expect_at_most(self, most: usize) -> Result<()> {
        match self {
            Moved::Bytes(count) if count > most => {
                let error = Error::new(Code::Io).at("transport");
                Err(error.expected(format_args!("at most {most} bytes")).found(count))
            }
            _ => Ok(()),
        }
    }
}

/// How a node learns that reading or writing is possible at a [`Connection`].
#[derive(Debug)]
pub enum Watch<'c> {
    /// The system tells, for this handle.
    Handle(Handle<'c>),
    /// The connection tells: see [`Connection::tell`]. This is its present state.
    Told {
        /// Reading is possible, if only of the end.
        read: bool,
        /// Writing is possible, if only to find that the connection has ended.
        write: bool,
    },
}

/// Tells a node that something is possible at a connection or a door without a handle.
#[derive(Clone, Debug)]
pub struct Ready {
    poller: Arc<poll::Poller>,
    token: u64,
}

impl Ready {
    pub(crate) fn new(poller: Arc<poll::Poller>, token: u64) -> Ready {
        Ready { poller, token }
    }

    /// Reading, writing or a connection is possible now. Calls without need do no harm.
    pub fn now(&self) {
        self.poller.tell(self.token);
    }
}

/// An object that the system can wait for.
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

/// The transports of a node. The first one that serves an address is used.
pub(crate) type Transports = Vec<Arc<dyn Transport>>;

/// The transports that every node has.
#[cfg(any(test, not(feature = "tls")))]
pub(crate) fn usual() -> Transports {
    vec![
        Arc::new(tcp::Tcp),
        #[cfg(unix)]
        Arc::new(unix::Unix),
    ]
}

/// The same, with TLS beyond this machine if there are certificates. A program that is `insecure` does without it.
#[cfg(feature = "tls")]
pub(crate) fn encrypting(certificates: tls::Certificates, insecure: bool) -> Transports {
    let (inner, certificates) = (Arc::new(tcp::Tcp), Arc::new(certificates));
    vec![
        Arc::new(tls::Encrypting { inner, certificates, insecure }),
        #[cfg(unix)]
        Arc::new(unix::Unix),
    ]
}

/// The transport for an address.
pub(crate) fn serving<'t>(transports: &'t Transports, address: &Address) -> Result<&'t Arc<dyn Transport>> {
    let none = || Error::new(Code::Address).expected("an address that a transport of this node serves").found(address);
    transports.iter().find(|transport| transport.serves(address)).ok_or_else(none)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::poll::Interest;
    use super::poll::tests::await_it;
    use super::*;
    use std::path::Path;

    pub(crate) const TAKEN: &str = "another program that listens there";

    pub(crate) fn listen(address: &Address) -> Result<(Address, Box<dyn Door>)> {
        serving(&usual(), address)?.listen(address)
    }

    /// The error of listening.
    pub(crate) fn refusal(address: &Address) -> String {
        let error = listen(address).unwrap_err();
        let code = if error.actual() == TAKEN { Code::Taken } else { Code::Io };
        assert_eq!(error.code(), code);
        error.actual().to_owned()
    }

    /// Both ends of a connection. The first one takes few bytes at a time if it is `narrow`.
    pub(crate) fn pair(narrow: bool) -> [Box<dyn Connection>; 2] {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        if narrow {
            rustix::net::sockopt::set_socket_send_buffer_size(&near, 1).unwrap();
        }
        [near, far].map(|end| Box::new(socket::Socket::new(end.into(), &"far", None)) as Box<dyn Connection>)
    }

    /// Connects, and waits for the connection.
    pub(crate) fn dial(address: &Address, within: Duration) -> Result<Box<dyn Connection>> {
        let mut dial = serving(&usual(), address)?.dial(address, Instant::now() + within)?;
        loop {
            if let Some(connection) = dial.next()? {
                return Ok(connection);
            }
            match dial.awaits() {
                Awaited::Write(handle) => await_it(handle, Interest::WriteOnce),
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    const AGES: Duration = Duration::from_secs(60);

    /// Where each of the usual transports can listen, and what it calls a node that has dialed it.
    fn addresses(folder: &Path) -> [(Address, &'static str); 2] {
        [
            ("localhost:0".parse().unwrap(), "tcp:127.0.0.1:"),
            (Address::Unix(folder.join("x.sock")), "a program at unix:/"),
        ]
    }

    /// The connection that comes to a listener.
    fn accept(listener: &mut dyn Door) -> Box<dyn Connection> {
        let Awaited::Read(handle) = listener.awaits() else { panic!("nothing to wait for") };
        await_it(handle, Interest::Read);
        listener.next().unwrap().expect("a connection")
    }

    #[test]
    fn connections_are_accepted_once_they_come() {
        let folder = tempfile::tempdir().unwrap();
        for (address, peer) in addresses(folder.path()) {
            let (at, mut listener) = listen(&address).unwrap();
            assert!(listener.next().unwrap().is_none());
            assert_ne!(at.to_string(), "tcp:127.0.0.1:0");
            let near = dial(&at, AGES).unwrap();
            let far = accept(&mut *listener);
            assert_eq!(near.peer(), at.to_string());
            assert!(far.peer().starts_with(peer));
            assert_eq!(refusal(&at), TAKEN);
        }
    }

    #[test]
    fn both_sides_see_the_end() {
        let folder = tempfile::tempdir().unwrap();
        for (address, _) in addresses(folder.path()) {
            let (at, mut listener) = listen(&address).unwrap();
            let near = dial(&at, AGES).unwrap();
            let far = accept(&mut *listener);
            let read = |end: &dyn Connection| {
                if let Watch::Handle(handle) = end.watch() {
                    await_it(handle, Interest::Read);
                }
                end.read(&mut [IoSliceMut::new(&mut [0; 9])], true).unwrap()
            };
            assert_eq!(near.write(&[IoSlice::new(b"last")], true).unwrap(), Moved::Bytes(4));
            near.end_writing();
            assert_eq!([read(&*far), read(&*far)], [Moved::Bytes(4), Moved::Closed]);
            far.end();
            assert_eq!(read(&*near), Moved::Closed);
        }
    }
}
