//! Unix.

use crate::transport::{Handle, PATIENCE};
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{AddressFamily, SocketType};
use rustix::net::{RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, sockopt};
use rustix::process::{Resource, getrlimit};
use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A connected socket.
pub(crate) type Stream = OwnedFd;
pub(crate) type Reader = io::PipeReader;
pub(crate) type Writer = io::PipeWriter;

/// Two ends, which do not wait.
pub(crate) fn pipe() -> io::Result<(Reader, Writer)> {
    let (reader, writer) = io::pipe()?;
    rustix::io::ioctl_fionbio(&reader, true)?;
    rustix::io::ioctl_fionbio(&writer, true)?;
    Ok((reader, writer))
}

/// Another name for a handle, which stays open for itself.
#[cfg_attr(
    any(target_os = "linux", target_os = "android", target_vendor = "apple"),
    allow(dead_code, reason = "for `table`")
)]
pub(crate) fn copy(handle: Handle<'_>) -> rustix::io::Result<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(handle, 0)
}

/// Prepares a connected socket for `receive` and `send`.
pub(crate) fn prepare(stream: OwnedFd) -> Stream {
    // Where it cannot be said with every call. It cannot fail for a socket, and matters little if it does.
    #[cfg(target_vendor = "apple")]
    let _ = sockopt::set_socket_nosigpipe(&stream, true);
    // For those calls that wait; without them, they do not, or for longer.
    let _ = rustix::io::ioctl_fionbio(&stream, false);
    for timeout in [sockopt::Timeout::Recv, sockopt::Timeout::Send] {
        let _ = sockopt::set_socket_timeout(&stream, timeout, Some(PATIENCE));
    }
    stream
}

/// Reads what has arrived; if it may wait, for `PATIENCE`.
pub(crate) fn receive(stream: &Stream, places: &mut [IoSliceMut<'_>], wait: bool) -> io::Result<usize> {
    let flags = if wait { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
    Ok(match places {
        [place] => rustix::net::recv(stream, &mut **place, flags).map(|(came, _)| came),
        places => rustix::net::recvmsg(stream, places, &mut RecvAncillaryBuffer::default(), flags).map(|it| it.bytes),
    }?)
}

/// What has arrived, without taking it.
pub(crate) fn peek(stream: &Stream, place: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::net::recv(stream, place, RecvFlags::PEEK.union(RecvFlags::DONTWAIT)).map(|(came, _)| came)?)
}

/// Writes as much as there is room for; if it may wait, for `PATIENCE`.
pub(crate) fn send(stream: &Stream, slices: &[IoSlice<'_>], wait: bool) -> io::Result<usize> {
    let flags = if wait { WITHOUT_WAITING.difference(SendFlags::DONTWAIT) } else { WITHOUT_WAITING };
    Ok(retry_on_intr(|| match slices {
        [slice] => rustix::net::send(stream, slice, flags),
        _ => rustix::net::sendmsg(stream, slices, &mut SendAncillaryBuffer::default(), flags),
    })?)
}

/// And without the signal that would end a program whose peer is gone.
#[cfg(not(target_vendor = "apple"))]
const WITHOUT_WAITING: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
#[cfg(target_vendor = "apple")]
const WITHOUT_WAITING: SendFlags = SendFlags::DONTWAIT;

/// A socket that does not wait, and that no program started by this one inherits.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn unconnected(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    use rustix::net::SocketFlags;
    rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}

#[cfg(target_vendor = "apple")]
pub(crate) fn unconnected(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    let descriptor = rustix::net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&descriptor, true)?;
    Ok(descriptor)
}

/// Whether the system has begun to connect. A signal does not end it.
pub(crate) fn has_begun(error: Errno) -> bool {
    matches!(error, Errno::INPROGRESS | Errno::INTR)
}

/// Whether a socket becomes writable also when it cannot be connected.
pub(crate) const TELLS_OF_REFUSALS: bool = true;

/// Descriptors that this process may have open, if there is a limit.
pub(crate) fn descriptors() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Users whose programs may do what this program may. The administrator can do everything anyway.
pub(crate) fn users() -> Vec<u32> {
    vec![rustix::process::geteuid().as_raw(), 0]
}

/// The folder of this user's configuration, if there is a home.
pub(crate) fn configuration() -> Option<PathBuf> {
    // Without HOME, the system's list of users is asked, as in batch jobs.
    let home = || std::env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(".config"));
    folder("XDG_CONFIG_HOME").or_else(home)
}

/// Folders for what is this user's, where there is no configuration. The last is for this machine only.
pub(crate) fn others() -> Vec<PathBuf> {
    let runtime = folder("XDG_RUNTIME_DIR").map(|folder| folder.join("isoform"));
    let private = format!("/tmp/isoform-{}", rustix::process::geteuid().as_raw()).into();
    runtime.into_iter().chain([private]).collect()
}

fn folder(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// How files are opened that may be something else: a pipe must not let it wait.
pub(crate) fn to_read() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
    options
}

/// How a file is made that only this user can read.
pub(crate) fn to_make() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
}

/// Makes a folder for them. `false` if others can change it.
pub(crate) fn make_folder(folder: &Path) -> io::Result<bool> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    // What lies in a folder that all users can change, such as /tmp, can be anybody's.
    let is_shared = |parent: &Path| {
        parent.metadata().is_ok_and(|parent| parent.mode() & 0o002 != 0 || !users().contains(&parent.uid()))
    };
    if folder.parent().is_some_and(is_shared) {
        let about = folder.symlink_metadata()?;
        if !about.is_dir() || is_exposed(&about).is_some() {
            return Ok(false);
        }
    }
    made.map(|()| true)
}

/// What is wrong with the owner or the permissions of something private.
pub(crate) fn is_exposed(about: &Metadata) -> Option<&'static str> {
    if about.uid() != rustix::process::geteuid().as_raw() {
        Some("one that belongs to somebody else")
    } else if about.mode() & 0o077 != 0 {
        Some("one that others can read or change (chmod 600 closes it)")
    } else {
        None
    }
}

/// What is wrong with the owner or the permissions of something that only this user may change.
pub(crate) fn is_changeable(about: &Metadata) -> Option<&'static str> {
    if !users().contains(&about.uid()) {
        Some("one that belongs to somebody else")
    } else if !about.is_file() {
        Some("something else")
    } else if about.mode() & 0o022 != 0 {
        Some("one that others can change (chmod go-w closes it)")
    } else {
        None
    }
}

/// The number of a file.
pub(crate) fn number(about: &Metadata) -> u64 {
    about.ino()
}

/// Gives a file another name, unless there is one, where there are no hard links.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(crate) fn rename(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
