//! Connections over sockets: bytes read and written, over TCP and Unix sockets alike, without waiting or not for long.
//!
//! `dial`, `tcp` and `unix` create connections.

use super::address::Address;
use super::system::{self, Stream};
use super::{Connection, Credentials, MOST_SLICES, Moved, Watch};
use isoform::{Code, Error, Result};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{Shutdown, sockopt};
use std::fmt;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr};

/// The bytes that are best written at once to another process of this machine, which moves them at the speed of memory.
const AHEAD: usize = 512 << 10;

/// A connection, which `system` reads and writes.
#[derive(Debug)]
pub(super) struct Socket {
    stream: Stream,
    peer: Box<str>,
    /// Whether the other side is on this machine.
    is_near: bool,
    /// The user of the program at the other end, if the system says so.
    local_user: Option<u32>,
    /// The address of the other machine, if it has connected.
    address: Option<IpAddr>,
}

impl Socket {
    /// Takes over a connected descriptor; `peer` is what errors call the other side. A connection within this machine is asked
    /// to hold so much of what its reader has not taken, at either end. Systems cut that to what they allow; Linux takes twice
    /// as much, for what it notes besides.
    pub(super) fn new(descriptor: OwnedFd, peer: &dyn fmt::Display, buffer: Option<usize>) -> Socket {
        // All these fail if the connection has ended already, which reading will tell.
        if let Some(buffer) = buffer {
            let _ = sockopt::set_socket_send_buffer_size(&descriptor, buffer);
            let _ = sockopt::set_socket_recv_buffer_size(&descriptor, buffer);
        }
        let stream = system::prepare(descriptor);
        Socket { stream, peer: peer.to_string().into(), is_near: buffer.is_some(), local_user: None, address: None }
    }

    /// The same, with a program of this user at the other end.
    #[cfg(unix)]
    pub(super) fn of_user(self, local_user: Option<u32>) -> Socket {
        Socket { local_user, ..self }
    }

    /// The same, of a program that has connected from this address.
    pub(super) fn from(self, address: IpAddr) -> Socket {
        Socket { address: Some(address), ..self }
    }

    fn moved(&self, result: io::Result<usize>, what: &str) -> Result<Moved> {
        match result {
            Ok(bytes) => Ok(Moved::Bytes(bytes)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => Ok(Moved::Blocked),
                ErrorKind::BrokenPipe => Ok(Moved::Closed),
                _ => Err(Error::new(Code::Io).found(format_args!("{what} {}: {error}", self.peer))),
            },
        }
    }
}

impl Connection for Socket {
    fn read(&self, places: &mut [IoSliceMut<'_>], wait: bool) -> Result<Moved> {
        match system::receive(&self.stream, places, wait) {
            Ok(0) => Ok(Moved::Closed),
            // A signal is for the caller to look around, as the end of the time is.
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Moved::Blocked),
            came => self.moved(came, "reading from"),
        }
    }

    fn peek(&self, place: &mut [u8]) -> usize {
        system::peek(&self.stream, place).unwrap_or(0)
    }

    fn write(&self, slices: &[IoSlice<'_>], wait: bool) -> Result<Moved> {
        let slices = &slices[..slices.len().min(MOST_SLICES)];
        self.moved(system::send(&self.stream, slices, wait), "writing to")
    }

    fn end(&self) {
        // It fails if the other side was first.
        _ = rustix::net::shutdown(&self.stream, Shutdown::Both);
    }

    fn end_writing(&self) {
        _ = rustix::net::shutdown(&self.stream, Shutdown::Write);
    }

    fn watch(&self) -> Watch<'_> {
        Watch::Handle(self.stream.as_fd().into())
    }

    fn peer(&self) -> &str {
        &self.peer
    }

    fn own(&self) -> Option<SocketAddr> {
        rustix::net::getsockname(&self.stream).ok()?.try_into().ok()
    }

    fn credentials(&self) -> Credentials {
        Credentials { local_user: self.local_user, address: self.address, ..Credentials::default() }
    }

    fn ahead(&self) -> Option<usize> {
        self.is_near.then_some(AHEAD)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The next connection that a listener accepts.
pub(super) fn next(at: &Address, accept: impl Fn() -> io::Result<Socket>) -> Result<Option<Box<dyn Connection>>> {
    loop {
        match accept() {
            Ok(socket) => return Ok(Some(Box::new(socket))),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => return Ok(None),
                // A signal; or the connection has ended before it was accepted.
                ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                _ => return Err(failed("accepting at", at, error)),
            },
        }
    }
}

/// Why nobody can listen at an address.
pub(super) fn cannot_listen(at: &Address, error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::AddrInUse => Error::new(Code::Taken)
            .at(at.to_string())
            .expected("an address that no program uses")
            .found("another program that listens there"),
        _ => failed("listening at", at, error),
    }
}

fn failed(what: &str, address: &Address, why: impl fmt::Display) -> Error {
    Error::new(Code::Io).found(format_args!("{what} {address}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::poll::Interest;
    use crate::transport::poll::tests::await_it;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    fn socket(descriptor: impl Into<OwnedFd>, peer: &str) -> Socket {
        Socket::new(descriptor.into(), &peer, None)
    }

    /// Two ends of a connection: over TCP, and over a Unix socket.
    fn pairs() -> [(Socket, Socket); 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        let unix = UnixStream::pair().unwrap();
        [(socket(near, "far"), socket(far, "near")), (socket(unix.0, "far"), socket(unix.1, "near"))]
    }

    /// Reads, waiting for the first byte.
    fn read(socket: &Socket, first: &mut [u8], second: &mut [u8]) -> Result<Moved> {
        await_it(socket.as_fd().into(), Interest::Read);
        socket.read(&mut [IoSliceMut::new(first), IoSliceMut::new(second)], false)
    }

    #[test]
    fn slices_are_written_in_a_row_and_scattered_where_they_are_read() {
        for (near, far) in pairs() {
            assert_eq!(
                far.read(&mut [IoSliceMut::new(&mut [0; 9]), IoSliceMut::new(&mut [0; 9])], false).unwrap(),
                Moved::Blocked
            );
            assert_eq!(far.read(&mut [IoSliceMut::new(&mut [0; 9])], false).unwrap(), Moved::Blocked);
            let slices = [b"one" as &[u8], b"", b"two", b"three"].map(IoSlice::new);
            assert_eq!(near.write(&slices, false).unwrap(), Moved::Bytes(11));
            assert_eq!(near.write(&slices[..1], false).unwrap(), Moved::Bytes(3));

            let (mut first, mut second, mut rest) = ([0; 4], [0; 5], [0; 9]);
            assert_eq!(read(&far, &mut first, &mut second).unwrap(), Moved::Bytes(9));
            assert_eq!((&first, &second), (b"onet", b"wothr"));
            assert_eq!(read(&far, &mut rest, &mut []).unwrap(), Moved::Bytes(5));
            assert_eq!(&rest[..5], b"eeone");
        }
    }

    #[test]
    fn more_slices_than_the_system_takes_are_for_another_call() {
        for (near, _far) in pairs() {
            let slices: Vec<_> = (0..MOST_SLICES + 1).map(|_| IoSlice::new(b"x")).collect();
            assert_eq!(near.write(&slices, false).unwrap(), Moved::Bytes(MOST_SLICES));
        }
    }

    #[test]
    fn who_does_not_read_blocks_the_other() {
        for (near, far) in pairs() {
            let block = vec![7; 1 << 16];
            let mut written = 0;
            while let Moved::Bytes(bytes) = near.write(&[IoSlice::new(&block), IoSlice::new(&block)], false).unwrap() {
                written += bytes;
            }
            assert_eq!(near.write(&[IoSlice::new(&block)], false).unwrap(), Moved::Blocked);
            near.end();
            let mut place = vec![0; 1 << 16];
            while let Moved::Bytes(bytes) = read(&far, &mut place, &mut []).unwrap() {
                assert!(bytes > 0 && place[..bytes].iter().all(|&byte| byte == 7));
                written -= bytes;
            }
            assert_eq!(written, 0, "what was written before the end comes");
        }
    }

    #[test]
    fn an_end_is_told_and_ends_nobody() {
        for (near, far) in pairs() {
            drop(near);
            assert_eq!(read(&far, &mut [0; 9], &mut []).unwrap(), Moved::Closed);
            assert_eq!(read(&far, &mut [0; 9], &mut [0; 9]).unwrap(), Moved::Closed);
            // The first of these may still go; then there is no signal, but an answer.
            let ended = |_: &i32| !matches!(far.write(&[IoSlice::new(b"x")], false), Ok(Moved::Bytes(_)));
            assert!((0..1000).find(ended).is_some());
        }
    }

    #[test]
    fn a_broken_connection_is_an_error_that_names_the_other_side() {
        let [(near, far), _] = pairs();
        near.write(&[IoSlice::new(b"never read")], false).unwrap();
        assert_eq!(read(&far, &mut [0; 1], &mut []).unwrap(), Moved::Bytes(1));
        drop(far);
        let error = read(&near, &mut [0; 9], &mut []).unwrap_err();
        assert_eq!(error.code(), Code::Io);
        assert!(error.to_string().starts_with("input/output: reading from far: "), "{error}");
    }
}
