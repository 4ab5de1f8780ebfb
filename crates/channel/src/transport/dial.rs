//! Connections to others, made without waiting.
//!
//! What an address is stands in [`crate::transport::address`]; what is done with the connection, in [`crate::transport::socket`].

use crate::transport::address::Address;
use crate::transport::poll::{Entry, Interest, entry};
use crate::transport::socket::Socket;
use isoform::{Code, Error, Result};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, sockopt};
use std::fmt;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A connection that is not there yet.
#[derive(Debug)]
pub(crate) struct Dial {
    descriptor: OwnedFd,
    address: Address,
    deadline: Instant,
    /// Whether the system is at it. It is not where the other side's queue is full: then one asks again.
    under_way: bool,
}

/// How far it has come.
#[derive(Debug)]
pub(crate) enum Dialed {
    Connected(Socket),
    Waiting(Dial),
}

/// How long to wait before asking a full queue again.
const AGAIN: Duration = Duration::from_millis(1);

impl Dial {
    /// Begins to connect, and gives up at the deadline.
    ///
    /// # Errors
    /// As [`go_on`](Dial::go_on).
    pub(crate) fn start(address: &Address, deadline: Instant) -> Result<Dialed> {
        let descriptor = unconnected(address)
            .map_err(|error| Error::new(Code::Io).came(format_args!("making a socket for {address}: {error}")))?;
        Dial { descriptor, address: address.clone(), deadline, under_way: false }.go_on()
    }

    /// Sees how far it has come. To be called when what it [`waits_for`](Dial::waits_for) has come, or its time is over.
    ///
    /// # Errors
    /// [`Code::Unreachable`], where nobody answers; [`Code::Deadline`], when the deadline has passed.
    pub(crate) fn go_on(mut self) -> Result<Dialed> {
        if !self.under_way && self.connect()? || self.under_way && self.connected()? {
            return Ok(Dialed::Connected(Socket::of(self.descriptor, &self.address)));
        }
        if Instant::now() >= self.deadline {
            let expected = format_args!("an answer from {}", self.address);
            return Err(Error::new(Code::Deadline).expected(expected));
        }
        Ok(Dialed::Waiting(self))
    }

    /// What to wait for, if for anything, and for how long at most.
    pub(crate) fn waits_for(&self) -> (Option<Entry<'_>>, Duration) {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match self.under_way {
            true => (Some(entry(&self.descriptor, Interest::Write)), left),
            false => (None, left.min(AGAIN)),
        }
    }

    /// Asks the system to connect. Whether that is done.
    fn connect(&mut self) -> Result<bool> {
        match connect(&self.descriptor, &self.address) {
            Ok(()) => self.connected(),
            Err(Errno::AGAIN) => Ok(false),
            // A signal does not end it.
            Err(Errno::INPROGRESS | Errno::INTR) => {
                self.under_way = true;
                self.connected()
            }
            Err(error) => Err(self.unreachable(error)),
        }
    }

    /// Whether the system is done.
    fn connected(&self) -> Result<bool> {
        let failed = sockopt::socket_error(&self.descriptor).and_then(|failed| failed);
        failed.map_err(|error| self.unreachable(error))?;
        let Ok(Some(peer)) = rustix::net::getpeername(&self.descriptor) else { return Ok(false) };
        // A port that the system gives to this end may happen to be the one that is asked for: TCP then connects it to
        // itself.
        match rustix::net::getsockname(&self.descriptor) {
            Ok(own) if own == peer => Err(self.unreachable("nobody listens there")),
            _ => Ok(true),
        }
    }

    fn unreachable(&self, why: impl fmt::Display) -> Error {
        Error::new(Code::Unreachable).came(format_args!("{}: {why}", self.address))
    }
}

/// Whether somebody listens at the file of a Unix socket.
pub(crate) fn answers(address: &Address) -> rustix::io::Result<bool> {
    match connect(&unconnected(address)?, address) {
        // A full queue is somebody's, too.
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS) => Ok(true),
        Err(Errno::CONNREFUSED | Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

fn connect(descriptor: &OwnedFd, address: &Address) -> rustix::io::Result<()> {
    match address {
        Address::Tcp(address) => rustix::net::connect(descriptor, address),
        Address::Unix(path) => rustix::net::connect(descriptor, &SocketAddrUnix::new(path)?),
    }
}

/// A socket that does not wait, and that no program started by this one inherits.
fn unconnected(address: &Address) -> rustix::io::Result<OwnedFd> {
    let family = match address {
        Address::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
        Address::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        Address::Unix(_) => AddressFamily::UNIX,
    };
    without_waiting(family)
}

#[cfg(not(target_vendor = "apple"))]
fn without_waiting(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    use rustix::net::SocketFlags;
    rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}

#[cfg(target_vendor = "apple")]
fn without_waiting(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    let descriptor = rustix::net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&descriptor, true)?;
    Ok(descriptor)
}

/// Connects, and waits for it: for tests.
#[cfg(test)]
pub(crate) fn dial(address: &Address, within: Duration) -> Result<Socket> {
    let mut dialed = Dial::start(address, Instant::now() + within)?;
    loop {
        match dialed {
            Dialed::Connected(socket) => return Ok(socket),
            Dialed::Waiting(dial) => {
                let (entry, time) = dial.waits_for();
                crate::transport::poll::wait(entry.into_iter().collect::<Vec<_>>().as_mut_slice(), Some(time))?;
                dialed = dial.go_on()?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

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
        let listener = without_waiting(AddressFamily::UNIX).unwrap();
        rustix::net::bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
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
        assert!(answers(&address).unwrap(), "who is busy lives");

        // As soon as there is room, the connection is made.
        let Dialed::Waiting(dial) = Dial::start(&address, Instant::now() + AGES).unwrap() else {
            panic!("no room yet")
        };
        assert!(matches!(dial.waits_for(), (None, AGAIN)));
        rustix::net::accept(&listener).unwrap();
        assert!(matches!(dial.go_on().unwrap(), Dialed::Connected(_)));
    }

    #[test]
    fn nobody_is_connected_to_itself() {
        // What happens once in some ten thousand times, made to happen.
        let probe = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp(&probe);
        drop(probe);
        let Address::Tcp(to) = address else { panic!("not TCP") };
        let descriptor = unconnected(&address).unwrap();
        rustix::net::bind(&descriptor, &to).unwrap();
        let dial = Dial { descriptor, address, deadline: Instant::now() + AGES, under_way: false };
        let error = dial.go_on().map(|dialed| format!("{dialed:?}")).unwrap_err();
        assert_eq!((error.code(), error.actual()), (Code::Unreachable, &*format!("tcp:{to}: nobody listens there")));
    }
}
