//! Connecting a socket to another one, without waiting.
//!
//! `address` defines addresses, and `socket` uses the connection.

use super::address::Address;
use super::socket::Socket;
use super::system::{TELLS_OF_REFUSALS, has_begun, unconnected};
use super::{Awaited, Connection, Door};
use isoform::{Code, Error, Result};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{AddressFamily, sockopt};
use std::fmt;
use std::time::Instant;

/// A connection that is not there yet, to a place of one kind of socket.
pub(super) struct Dial<P> {
    /// `None` once it was given out.
    descriptor: Option<OwnedFd>,
    address: Address,
    place: P,
    /// Makes a connection of a connected socket.
    connection: fn(OwnedFd, &dyn fmt::Display) -> Socket,
    deadline: Instant,
    /// Whether the system is at it. It is not where the other side's queue is full: then one asks again.
    under_way: bool,
}

impl<P: SocketAddrArg> Dial<P> {
    /// Begins to connect, and gives up at the deadline.
    pub(super) fn start(
        address: &Address,
        family: AddressFamily,
        place: P,
        connection: fn(OwnedFd, &dyn fmt::Display) -> Socket,
        deadline: Instant,
    ) -> Result<Dial<P>> {
        let descriptor = unconnected(family).map_err(|error| no_socket(address, error))?;
        let address = address.clone();
        let mut dial = Dial { descriptor: Some(descriptor), address, place, connection, deadline, under_way: false };
        dial.connect()?;
        Ok(dial)
    }

    /// Asks the system to connect.
    fn connect(&mut self) -> Result<()> {
        let Some(descriptor) = &self.descriptor else { return Ok(()) };
        match rustix::net::connect(descriptor, &self.place) {
            Ok(()) => {
                self.under_way = true;
                Ok(())
            }
            Err(error) if has_begun(error) => {
                self.under_way = true;
                Ok(())
            }
            Err(Errno::AGAIN) => Ok(()),
            Err(error) => Err(self.unreachable(error)),
        }
    }

    /// Whether the system is done.
    fn is_connected(&self) -> Result<bool> {
        let Some(descriptor) = self.descriptor.as_ref().filter(|_| self.under_way) else { return Ok(false) };
        let failed = sockopt::socket_error(descriptor).and_then(|failed| failed);
        failed.map_err(|error| self.unreachable(error))?;
        let Ok(Some(peer)) = rustix::net::getpeername(descriptor) else { return Ok(false) };
        // A port that the system gives to this end may happen to be the one that is asked for: TCP then connects it to
        // itself.
        match rustix::net::getsockname(descriptor) {
            Ok(own) if own == peer => Err(self.unreachable("nobody listens there")),
            _ => Ok(true),
        }
    }

    fn unreachable(&self, why: impl fmt::Display) -> Error {
        Error::new(Code::Unreachable).found(format_args!("{}: {why}", self.address))
    }
}

impl<P: SocketAddrArg + Send> Door for Dial<P> {
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
        if !self.under_way {
            self.connect()?;
        }
        if self.is_connected()? {
            let connected = self.descriptor.take();
            let connection = connected.map(|descriptor| (self.connection)(descriptor, &self.address));
            return Ok(connection.map(|connection| Box::new(connection) as Box<dyn Connection>));
        }
        if Instant::now() >= self.deadline {
            let expected = format_args!("an answer from {}", self.address);
            return Err(Error::new(Code::Deadline).expected(expected));
        }
        Ok(None)
    }

    fn awaits(&self) -> Awaited<'_> {
        match self.descriptor.as_ref().filter(|_| self.under_way && TELLS_OF_REFUSALS) {
            Some(descriptor) => Awaited::Write(descriptor.as_fd().into()),
            None => Awaited::Soon,
        }
    }
}

impl<P> fmt::Debug for Dial<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dial({})", self.address)
    }
}

/// Whether a program listens at a place.
#[cfg(unix)]
pub(super) fn answers(family: AddressFamily, place: &impl SocketAddrArg) -> rustix::io::Result<bool> {
    match rustix::net::connect(unconnected(family)?, place) {
        // If the queue is full, a program listens, too.
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS) => Ok(true),
        Err(Errno::CONNREFUSED | Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Why there is no socket to connect.
pub(super) fn no_socket(address: &Address, why: Errno) -> Error {
    Error::new(Code::Io).found(format_args!("making a socket for {address}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tests::dial;
    use crate::transport::{serving, usual};
    use rustix::net::SocketAddrUnix;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    const AGES: Duration = Duration::from_secs(60);

    fn tcp(listener: &TcpListener) -> Address {
        Address::Tcp(listener.local_addr().unwrap())
    }

    #[test]
    fn who_listens_is_connected_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sock");
        let _unix = UnixListener::bind(&path).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        for address in [tcp(&listener), Address::Unix(path)] {
            assert_eq!(dial(&address, AGES).unwrap().peer(), address.to_string());
        }
    }

    #[test]
    fn where_nobody_listens_is_told_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (stale, file) = (folder.path().join("x.sock"), folder.path().join("file"));
        drop(UnixListener::bind(&stale).unwrap());
        std::fs::write(&file, "no socket").unwrap();
        let address = tcp(&TcpListener::bind("127.0.0.1:0").unwrap());
        let missing = folder.path().join("missing");
        for address in [address, Address::Unix(stale), Address::Unix(missing), Address::Unix(file)] {
            let error = dial(&address, AGES).unwrap_err();
            assert_eq!(error.code(), Code::Unreachable);
            assert!(error.actual().starts_with(&address.to_string()), "{error}");
        }
    }

    // Elsewhere, a full queue looks as if nobody listened.
    #[cfg(target_os = "linux")]
    #[test]
    fn who_has_no_time_for_it_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sock");
        // A queue of one connection, which nobody accepts.
        let listener = unconnected(AddressFamily::UNIX).unwrap();
        let place = SocketAddrUnix::new(&path).unwrap();
        rustix::net::bind(&listener, &place).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let address = Address::Unix(path);
        let mut held = Vec::new();
        let error = loop {
            match dial(&address, Duration::from_millis(5)) {
                Ok(socket) => held.push(socket),
                Err(error) => break error,
            }
        };
        assert_eq!(error.code(), Code::Deadline);
        assert_eq!(error.expectation(), format!("an answer from {address}"));
        assert!(answers(AddressFamily::UNIX, &place).unwrap(), "who is busy lives");

        // As soon as there is room, the connection is made.
        let mut dial = serving(&usual(), &address).unwrap().dial(&address, Instant::now() + AGES).unwrap();
        assert!(dial.next().unwrap().is_none(), "no room yet");
        assert!(matches!(dial.awaits(), Awaited::Soon));
        rustix::net::accept(&listener).unwrap();
        assert!(dial.next().unwrap().is_some());
    }

    #[test]
    fn nobody_is_connected_to_itself() {
        // What happens once in some ten thousand times, made to happen.
        let probe = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp(&probe);
        drop(probe);
        let Address::Tcp(to) = address else { panic!("not TCP") };
        let descriptor = unconnected(AddressFamily::INET).unwrap();
        rustix::net::bind(&descriptor, &to).unwrap();
        let connection = |descriptor, peer: &dyn fmt::Display| Socket::new(descriptor, peer, None);
        let deadline = Instant::now() + AGES;
        let mut dial =
            Dial { descriptor: Some(descriptor), address, place: to, connection, deadline, under_way: false };
        let error = dial.next().map(|dialed| format!("{dialed:?}")).unwrap_err();
        assert_eq!((error.code(), error.actual()), (Code::Unreachable, &*format!("tcp:{to}: nobody listens there")));
    }
}
