//! Unix sockets: a file of this machine, by which programs of one user reach one another.
//!
//! The file is open to its user alone, whatever the process's mask of permissions says. On Linux the system also names the
//! user of the program at the other end, and the node decides whether to admit it.
//!
//! The file of a socket can outlive the program that listened there. So finding out whether somebody listens takes some
//! care.

use super::address::Address;
use super::dial::{Dial, answers};
use super::socket::Socket;
use super::system::unconnected;
use super::{Awaited, Connection, Door, Transport};
use isoform::Result;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix};
use std::fmt::Display;
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The size of the buffers of a Unix socket, which Linux doubles. With the usual 208 KiB in all, writer and reader of small
/// events take turns too often. With much more, long events are no longer in the processor's cache when they are read.
const BUFFER: usize = 208 << 10;

/// Connections that wait to be accepted: as many as the system allows, where that is fewer.
const BACKLOG: i32 = 4096;

#[derive(Debug)]
pub(super) struct Unix;

#[derive(Debug)]
struct Listener {
    inner: UnixListener,
    address: Address,
    /// Held until the listener is dropped.
    _claim: Claim,
}

impl Transport for Unix {
    fn serves(&self, address: &Address) -> bool {
        matches!(address, Address::Unix(_))
    }

    /// A socket that nobody listens at any more gives way.
    fn listen(&self, address: &Address) -> Result<(Address, Box<dyn Door>)> {
        let path = path(address);
        let listening = Claim::on(path).and_then(|mut claim| {
            let unheard = unconnected(AddressFamily::UNIX)?;
            rustix::net::bind(&unheard, &SocketAddrUnix::new(path)?)?;
            claim.bound()?;
            // Before anybody can connect.
            std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
            rustix::net::listen(&unheard, BACKLOG)?;
            Ok(Listener { inner: unheard.into(), address: address.clone(), _claim: claim })
        });
        let listener = listening.map_err(|error| super::socket::cannot_listen(address, error))?;
        Ok((address.clone(), Box::new(listener)))
    }

    fn dial(&self, address: &Address, deadline: Instant) -> Result<Box<dyn Door>> {
        let place = SocketAddrUnix::new(path(address)).map_err(|error| super::dial::no_socket(address, error))?;
        Ok(Box::new(Dial::start(address, AddressFamily::UNIX, place, connection, deadline)?))
    }
}

impl Door for Listener {
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
        let peer = format_args!("a program at {}", self.address);
        super::socket::next(&self.address, || {
            let (stream, _) = self.inner.accept()?;
            Ok(connection(stream.into(), &peer))
        })
    }

    fn awaits(&self) -> Awaited<'_> {
        Awaited::Read(self.inner.as_fd().into())
    }
}

/// The user of the program at the other end.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn user(stream: BorrowedFd<'_>) -> Option<u32> {
    rustix::net::sockopt::socket_peercred(stream).ok().map(|peer| peer.uid.as_raw())
}

/// Elsewhere, the system is not asked: nodes prove the shared key of their user.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn user(_: BorrowedFd<'_>) -> Option<u32> {
    None
}

/// Only such addresses are given to this transport.
fn path(address: &Address) -> &Path {
    let Address::Unix(path) = address else { unreachable!("served by another transport") };
    path
}

/// Takes over a connected socket.
fn connection(descriptor: OwnedFd, peer: &dyn Display) -> Socket {
    let user = user(descriptor.as_fd());
    Socket::new(descriptor, peer, Some(BUFFER)).of_user(user)
}

/// The right to create and to remove the file of a socket. Its owner has locked a second file beside it. Otherwise two
/// programs that start at the same time could both find the file of a third, dead program, and remove each other's.
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
            Ok(_) if answers(AddressFamily::UNIX, &SocketAddrUnix::new(path)?)? => Err(somebody_listens()),
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
        // Another program may have put another file there.
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
        // The previous owner may have removed the file after it was opened here. Others would then lock another file.
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
    use crate::transport::tests::{TAKEN, dial, refusal};
    use std::os::unix::net::UnixStream;
    use std::sync::Barrier;
    use std::time::Duration;

    #[test]
    fn a_file_comes_and_goes_with_its_listener() {
        let folder = tempfile::tempdir().unwrap();
        let address = Address::Unix(folder.path().join("x.sock"));
        for _ in 0..3 {
            let listener = Unix.listen(&address).unwrap();
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
        let (address, _door) = Unix.listen(&Address::Unix(path)).unwrap();
        dial(&address, Duration::from_secs(60)).unwrap();
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
        let listener = Unix.listen(&Address::Unix(socket.clone())).unwrap();
        std::fs::remove_file(&socket).unwrap();
        let _other = UnixListener::bind(&socket).unwrap();
        drop(listener);
        assert!(socket.exists());

        let missing = folder.path().join("missing/x.sock");
        assert!(refusal(&Address::Unix(missing)).contains("No such file"));
    }

    #[test]
    fn a_socket_is_open_to_its_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sock");
        let mask = rustix::process::umask(Mode::empty());
        let listening = Unix.listen(&Address::Unix(path.clone()));
        rustix::process::umask(mask);
        let (address, mut door) = listening.unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        // The user's own programs get in.
        let _here = dial(&address, Duration::from_secs(60)).unwrap();
        assert!(door.next().unwrap().is_some());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_user_of_the_other_program_is_known() {
        use std::os::unix::process::CommandExt;
        use std::process::Command;
        if !rustix::process::geteuid().is_root() {
            // Only the administrator can start a program for somebody else.
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sock");
        let (address, mut door) = Unix.listen(&Address::Unix(path.clone())).unwrap();
        // As if a careless hand had opened the file to everybody.
        for open in [folder.path(), &path] {
            std::fs::set_permissions(open, Permissions::from_mode(0o777)).unwrap();
        }
        let program = folder.path().join("visitor");
        // Another process writes the copy: a child that another test starts meanwhile would hold it open for writing, and the
        // system does not run such a program ("text file busy").
        assert!(Command::new("cp").args([&std::env::current_exe().unwrap(), &program]).status().unwrap().success());
        let visitor = |user| {
            let test = ["transport::unix::tests::visitor", "--exact", "--ignored"];
            Command::new(&program).args(test).env("VISITED", &path).uid(user).status().unwrap()
        };
        for user in [65_534, 0] {
            assert!(visitor(user).success(), "it connects");
            let connection = door.next().unwrap().expect("a connection");
            assert_eq!(connection.credentials().local_user, Some(user));
        }
        let here = dial(&address, Duration::from_secs(60)).unwrap();
        assert_eq!(here.credentials().local_user, Some(0), "the program that listens");
    }

    #[test]
    #[ignore = "what the test above starts as another process"]
    fn visitor() {
        let Ok(path) = std::env::var("VISITED") else { return };
        UnixStream::connect(path).unwrap();
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
                let listener = Unix.listen(&address).ok();
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
