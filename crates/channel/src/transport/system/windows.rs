//! Windows.

use crate::transport::{Handle, PATIENCE};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};
use std::fs::{Metadata, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

/// A connected socket.
pub(crate) type Stream = TcpStream;
pub(crate) type Reader = TcpStream;
pub(crate) type Writer = TcpStream;

/// Two ends, which do not wait. The system waits for sockets only, so these are two.
pub(crate) fn pipe() -> io::Result<(Reader, Writer)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let writer = TcpStream::connect(listener.local_addr()?)?;
    let own = writer.local_addr()?;
    // Another program may connect to this port, too.
    let reader = loop {
        match listener.accept()? {
            (reader, peer) if peer == own => break reader,
            _ => {}
        }
    };
    reader.set_nonblocking(true)?;
    writer.set_nonblocking(true)?;
    writer.set_nodelay(true)?;
    Ok((reader, writer))
}

/// Another name for a handle, which stays open for itself.
pub(crate) fn copy(handle: Handle<'_>) -> rustix::io::Result<OwnedFd> {
    use rustix::fd::AsFd;
    let copied = handle.as_fd().try_clone_to_owned();
    copied.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::MFILE))
}

/// Prepares a connected socket for `receive` and `send`.
pub(crate) fn prepare(stream: OwnedFd) -> Stream {
    let stream = TcpStream::from(stream);
    // It cannot fail for a socket.
    let _ = stream.set_nonblocking(true);
    stream
}

/// Reads what has arrived; if it may wait, for `PATIENCE`.
pub(crate) fn receive(mut stream: &Stream, places: &mut [IoSliceMut<'_>], wait: bool) -> io::Result<usize> {
    match stream.read_vectored(places) {
        Err(error) if error.kind() == ErrorKind::WouldBlock && wait => {
            patiently(stream, PollFlags::IN)?;
            stream.read_vectored(places)
        }
        read => read,
    }
}

/// What has arrived, without taking it.
pub(crate) fn peek(stream: &Stream, place: &mut [u8]) -> io::Result<usize> {
    stream.peek(place)
}

/// Writes as much as there is room for; if it may wait, for `PATIENCE`.
pub(crate) fn send(mut stream: &Stream, slices: &[IoSlice<'_>], wait: bool) -> io::Result<usize> {
    let sent = match stream.write_vectored(slices) {
        Err(error) if error.kind() == ErrorKind::WouldBlock && wait => {
            patiently(stream, PollFlags::OUT)?;
            stream.write_vectored(slices)
        }
        sent => sent,
    };
    // This end was shut down, or the other one is gone.
    let is_over = |error: &io::Error| {
        let over = [Errno::SHUTDOWN, Errno::CONNABORTED, Errno::CONNRESET];
        Errno::from_io_error(error).is_some_and(|error| over.contains(&error))
    };
    sent.map_err(|error| if is_over(&error) { ErrorKind::BrokenPipe.into() } else { error })
}

fn patiently(stream: &Stream, what: PollFlags) -> io::Result<()> {
    let time = Timespec { tv_sec: 0, tv_nsec: PATIENCE.subsec_nanos() as _ };
    poll(&mut [PollFd::new(stream, what)], Some(&time))?;
    Ok(())
}

/// A socket that does not wait.
pub(crate) fn unconnected(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

/// Whether the system has begun to connect.
pub(crate) fn has_begun(error: Errno) -> bool {
    matches!(error, Errno::WOULDBLOCK | Errno::INPROGRESS)
}

/// Whether a socket becomes writable also when it cannot be connected: not before Windows 10 of 2020.
pub(crate) const TELLS_OF_REFUSALS: bool = false;

/// Sockets that this process may have open, if there is a limit.
pub(crate) fn descriptors() -> Option<u64> {
    None
}

/// Users whose programs may do what this program may: the system names none.
pub(crate) fn users() -> Vec<u32> {
    Vec::new()
}

/// The folder of this user's own data on this machine. Only the user, the system and the administrator can read it.
pub(crate) fn configuration() -> Option<PathBuf> {
    std::env::var_os("LOCALAPPDATA").map(PathBuf::from).filter(|path| path.is_absolute())
}

/// There is no other folder that only this user can read.
pub(crate) fn others() -> Vec<PathBuf> {
    Vec::new()
}

/// How files are opened.
pub(crate) fn to_read() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    options
}

/// How a file is made: who can read it follows from its folder.
pub(crate) fn to_make() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    options
}

/// Makes a folder.
pub(crate) fn make_folder(folder: &Path) -> io::Result<bool> {
    std::fs::create_dir_all(folder).map(|()| true)
}

/// Who can read a file follows from its folder.
pub(crate) fn is_exposed(_: &Metadata) -> Option<&'static str> {
    None
}

/// The same for who can change it.
pub(crate) fn is_changeable(about: &Metadata) -> Option<&'static str> {
    (!about.is_file()).then_some("something else")
}

/// Files have no number that the standard library tells.
pub(crate) fn number(_: &Metadata) -> u64 {
    0
}

/// Gives a file another name, where there are no hard links: it would replace one that is there.
pub(crate) fn rename(_: &Path, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}
