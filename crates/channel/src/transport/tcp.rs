//! TCP: a port of this machine or of another one.

use super::address::Address;
use super::dial::Dial;
use super::named::Named;
use super::socket::Socket;
use super::{Awaited, Connection, Door, Transport};
use isoform::Result;
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{AddressFamily, sockopt};
use std::fmt::Display;
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

/// The size of the buffers at both ends of a connection over loopback. TCP's own size is meant for long distances, and
/// is many times that of the processor's cache.
const LOOPBACK_BUFFER: usize = 512 << 10;

/// Connections that wait to be accepted (`spec/channel.md`, "Accepting connections").
const BACKLOG: i32 = 1024;

/// A connection over a network that is silent for this long is probed. If so many probes, at this interval, have no
/// answer, it ends: after a minute.
const IDLE: Duration = Duration::from_secs(30);
const PROBE: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;

#[derive(Debug)]
pub(super) struct Tcp;

#[derive(Debug)]
struct Listener {
    inner: TcpListener,
    address: Address,
}

impl Transport for Tcp {
    fn serves(&self, address: &Address) -> bool {
        matches!(address, Address::Tcp(_) | Address::Host(..))
    }

    fn listen(&self, address: &Address) -> Result<(Address, Box<dyn Door>)> {
        let listening = TcpListener::bind(place(address)).and_then(|inner| {
            inner.set_nonblocking(true)?;
            // Some systems leave it as it is.
            let _ = rustix::net::listen(&inner, BACKLOG);
            Ok((Address::Tcp(inner.local_addr()?), inner))
        });
        let (address, inner) = listening.map_err(|error| super::socket::cannot_listen(address, error))?;
        Ok((address.clone(), Box::new(Listener { inner, address })))
    }

    fn dial(&self, address: &Address, deadline: Instant) -> Result<Box<dyn Door>> {
        match address {
            Address::Host(name, port) => Ok(Box::new(Named::start(name, *port, deadline)?)),
            _ => Ok(Box::new(dial(place(address), deadline)?)),
        }
    }
}

/// Begins to connect to a port.
pub(super) fn dial(place: SocketAddr, deadline: Instant) -> Result<Dial<SocketAddr>> {
    let family = if place.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    Dial::start(&Address::Tcp(place), family, place, connection, deadline)
}

impl Door for Listener {
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
        let accept = || self.inner.accept().map(|(stream, peer)| accepted(stream.into(), peer));
        super::socket::next(&self.address, accept)
    }

    fn awaits(&self) -> Awaited<'_> {
        Awaited::Read(self.inner.as_fd().into())
    }
}

/// Only TCP's addresses are given to this transport, and names are dealt with before.
fn place(address: &Address) -> SocketAddr {
    let Address::Tcp(place) = address else { unreachable!("served by another transport") };
    *place
}

/// Lets the system find out that the other machine is gone, and end the connection. A node itself notices silence within
/// ten seconds, but not while its process is stopped, or is in the middle of a handshake.
fn keep_alive(descriptor: &OwnedFd) -> rustix::io::Result<()> {
    sockopt::set_socket_keepalive(descriptor, true)?;
    sockopt::set_tcp_keepidle(descriptor, IDLE)?;
    sockopt::set_tcp_keepintvl(descriptor, PROBE)?;
    sockopt::set_tcp_keepcnt(descriptor, PROBES)?;
    // The same for bytes that the other machine does not confirm.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    sockopt::set_tcp_user_timeout(descriptor, (IDLE + PROBE * PROBES).as_millis() as u32)?;
    Ok(())
}

/// Takes over a socket that this node has connected.
fn connection(descriptor: OwnedFd, peer: &dyn Display) -> Socket {
    let far = rustix::net::getpeername(&descriptor).ok().flatten();
    let is_loopback = set_up(&descriptor, far.and_then(|far| SocketAddr::try_from(far).ok()));
    Socket::new(descriptor, peer, is_loopback.then_some(LOOPBACK_BUFFER))
}

/// Takes over a socket that was connected from this address.
fn accepted(descriptor: OwnedFd, far: SocketAddr) -> Socket {
    let is_loopback = set_up(&descriptor, Some(far));
    let socket = Socket::new(descriptor, &Address::Tcp(far), is_loopback.then_some(LOOPBACK_BUFFER));
    socket.from(far.ip())
}

/// Sets the options of a socket that is connected to this address. Returns whether that is on this machine.
fn set_up(descriptor: &OwnedFd, far: Option<SocketAddr>) -> bool {
    let is_loopback = far.is_some_and(|far| Address::Tcp(far).is_local());
    // Small writes would be held back until earlier ones are confirmed. It fails if the connection has ended already, which
    // reading will tell.
    let _ = sockopt::set_tcp_nodelay(descriptor, true);
    if !is_loopback {
        let _ = keep_alive(descriptor);
    }
    is_loopback
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn a_connection_with_another_machine_is_probed_and_one_within_this_machine_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connected = || OwnedFd::from(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let near = connected();
        assert!(set_up(&near, listener.local_addr().ok()));
        assert!(!sockopt::socket_keepalive(&near).unwrap());
        // An address of documentation: the socket itself is one of this machine.
        let far = connected();
        assert!(!set_up(&far, "192.0.2.1:7000".parse().ok()));
        assert!(sockopt::socket_keepalive(&far).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&far).unwrap(), IDLE);
        assert_eq!(sockopt::tcp_keepintvl(&far).unwrap(), PROBE);
        assert_eq!(sockopt::tcp_keepcnt(&far).unwrap(), PROBES);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        assert_eq!(sockopt::tcp_user_timeout(&far).unwrap(), 60_000);
        for socket in [&near, &far] {
            assert!(sockopt::tcp_nodelay(socket).unwrap());
        }
    }
}
