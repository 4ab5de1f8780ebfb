//! Where connections of others are accepted: a TCP port, or a Unix socket's file.
//!
//! A file can outlive who listened there, so whose it is takes some care; the rest is the standard library's.

use crate::transport::address::Address;
use crate::transport::dial::answers;
use crate::transport::socket::Socket;
use isoform::{Code, Error, Result};
use rustix::fs::{Mode, OFlags};
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Listens at an address until it is dropped.
#[derive(Debug)]
pub(crate) struct Listener {
    address: Address,
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Tcp(TcpListener),
    #[expect(dead_code, reason = "held until the listener is dropped")]
    Unix(UnixListener, Claim),
}

impl Listener {
    /// Listens there. A Unix socket that nobody listens at any more gives way.
    ///
    /// # Errors
    /// [`Code::Taken`] where another program listens; [`Code::Io`] if it is impossible for another reason.
    pub(crate) fn bind(address: &Address) -> Result<Listener> {
        let listener = match address {
            Address::Tcp(at) => TcpListener::bind(at).and_then(|listener| {
                listener.set_nonblocking(true)?;
                Ok(Listener { address: Address::Tcp(listener.local_addr()?), inner: Inner::Tcp(listener) })
            }),
            Address::Unix(path) => Claim::on(path).and_then(|mut claim| {
                let listener = UnixListener::bind(path)?;
                listener.set_nonblocking(true)?;
                claim.bound()?;
                Ok(Listener { address: address.clone(), inner: Inner::Unix(listener, claim) })
            }),
        };
        listener.map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => Error::new(Code::Taken)
                .at(address.to_string())
                .expected("an address where nobody listens")
                .came("another program that does"),
            _ => failed("listening at", address, error),
        })
    }

    /// Where it listens, with the port that the system has chosen if that was left to it.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// The next connection, if one has come.
    ///
    /// # Errors
    /// [`Code::Io`], such as for want of descriptors. The connection may still be there, so that waiting for the next
    /// one would return at once: better to do without for a while.
    pub(crate) fn accept(&self) -> Result<Option<Socket>> {
        loop {
            let accepted = match &self.inner {
                Inner::Tcp(listener) => listener.accept().map(|(stream, peer)| Socket::of(stream, Address::Tcp(peer))),
                Inner::Unix(listener, _) => {
                    let peer = format_args!("a program at {}", self.address);
                    listener.accept().map(|(stream, _)| Socket::of(stream, peer))
                }
            };
            match accepted {
                Ok(socket) => return Ok(Some(socket)),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(None),
                    // A signal; or the connection has ended before it was accepted.
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => return Err(failed("accepting at", &self.address, error)),
                },
            }
        }
    }
}

fn failed(what: &str, address: &Address, why: impl fmt::Display) -> Error {
    Error::new(Code::Io).came(format_args!("{what} {address}: {why}"))
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.inner {
            Inner::Tcp(listener) => listener.as_fd(),
            Inner::Unix(listener, _) => listener.as_fd(),
        }
    }
}

/// The right to make, and to remove, a socket's file. Who has it has locked a second file beside it, so that two that
/// start at once do not both take the socket of a third that has died for left behind, and remove each other's.
#[derive(Debug)]
struct Claim {
    path: PathBuf,
    lock: PathBuf,
    /// Locked as long as it is open, however the program ends.
    _locked: File,
    /// The file that was made: its device and number.
    made: Option<(u64, u64)>,
}

impl Claim {
    /// The claim on a path at which there is nothing.
    fn on(path: &Path) -> io::Result<Claim> {
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let lock = PathBuf::from(lock);
        let claim = Claim { path: path.to_owned(), _locked: locked(&lock)?, lock, made: None };
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(claim),
            Err(error) => Err(error),
            Ok(file) if !file.file_type().is_socket() => Err(io::Error::other("there is a file that is no socket")),
            Ok(_) if answers(&Address::Unix(path.to_owned()))? => Err(somebody_listens()),
            Ok(_) => std::fs::remove_file(path).map(|()| claim),
        }
    }

    /// Remembers which file it has made.
    fn bound(&mut self) -> io::Result<()> {
        self.made = Some(which(&self.path)?);
        Ok(())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Somebody may have put another file there.
        if self.made.is_some() && self.made == which(&self.path).ok() {
            _ = std::fs::remove_file(&self.path);
        }
        _ = std::fs::remove_file(&self.lock);
    }
}

/// A file at this path that nobody else has locked.
fn locked(path: &Path) -> io::Result<File> {
    loop {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
        file.try_lock().map_err(|error| match error {
            std::fs::TryLockError::WouldBlock => somebody_listens(),
            std::fs::TryLockError::Error(error) => error,
        })?;
        // Whoever had it may have removed it since it was opened: then others would lock another one.
        let locked = file.metadata()?;
        if which(path).is_ok_and(|now| now == (locked.dev(), locked.ino())) {
            return Ok(file);
        }
    }
}

fn which(path: &Path) -> io::Result<(u64, u64)> {
    path.symlink_metadata().map(|file| (file.dev(), file.ino()))
}

fn somebody_listens() -> io::Error {
    io::Error::new(ErrorKind::AddrInUse, "another program listens there")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::dial::dial;
    use crate::transport::poll::{Interest, entry, wait};
    use std::sync::Barrier;
    use std::time::Duration;

    const TAKEN: &str = "another program that does";

    fn refusal(address: &Address) -> String {
        let error = Listener::bind(address).unwrap_err();
        let code = if error.actual() == TAKEN { Code::Taken } else { Code::Io };
        assert_eq!(error.code(), code);
        error.actual().to_owned()
    }

    #[test]
    fn connections_are_accepted_once_they_come() {
        let folder = tempfile::tempdir().unwrap();
        for address in [Address::Unix(folder.path().join("x.sock")), "localhost:0".parse().unwrap()] {
            let listener = Listener::bind(&address).unwrap();
            assert!(listener.accept().unwrap().is_none());
            assert_ne!(listener.address().to_string(), "tcp:127.0.0.1:0");
            let near = dial(listener.address(), Duration::from_secs(60)).unwrap();
            assert!(wait(&mut [entry(&listener, Interest::Read)], None).unwrap());
            let far = listener.accept().unwrap().expect("a connection");
            assert_eq!(near.peer(), listener.address().to_string());
            assert!(far.peer().starts_with(if matches!(address, Address::Unix(_)) {
                "a program at unix:/"
            } else {
                "tcp:"
            }));
            assert_eq!(refusal(listener.address()), TAKEN);
        }
    }

    #[test]
    fn a_file_comes_and_goes_with_its_listener() {
        let folder = tempfile::tempdir().unwrap();
        let address = Address::Unix(folder.path().join("x.sock"));
        for _ in 0..3 {
            let listener = Listener::bind(&address).unwrap();
            assert!(refusal(&address).ends_with(TAKEN));
            drop(listener);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_file_left_behind_gives_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sock");
        drop(UnixListener::bind(&path).unwrap());
        std::fs::write(folder.path().join("x.sock.lock"), "").unwrap();
        assert!(path.exists());
        let listener = Listener::bind(&Address::Unix(path)).unwrap();
        dial(listener.address(), Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn what_is_not_ours_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (file, socket) = (folder.path().join("file"), folder.path().join("other.sock"));
        std::fs::write(&file, "something").unwrap();
        assert!(refusal(&Address::Unix(file.clone())).ends_with("there is a file that is no socket"));
        assert_eq!(std::fs::read(&file).unwrap(), b"something");

        let other = UnixListener::bind(&socket).unwrap();
        assert!(refusal(&Address::Unix(socket.clone())).ends_with(TAKEN));
        drop(other);
        let listener = Listener::bind(&Address::Unix(socket.clone())).unwrap();
        std::fs::remove_file(&socket).unwrap();
        let _other = UnixListener::bind(&socket).unwrap();
        drop(listener);
        assert!(socket.exists());

        let missing = folder.path().join("missing/x.sock");
        assert!(refusal(&Address::Unix(missing)).contains("No such file"));
    }

    #[test]
    fn of_many_that_start_at_once_one_listens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sock");
        let address = Address::Unix(path.clone());
        for _ in 0..50 {
            drop(UnixListener::bind(&path).unwrap());
            let barrier = Barrier::new(4);
            let start = || {
                barrier.wait();
                let listener = Listener::bind(&address).ok();
                barrier.wait();
                listener
            };
            let listeners: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
                threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(listeners.len(), 1);
            dial(&address, Duration::from_secs(60)).unwrap();
        }
    }
}
