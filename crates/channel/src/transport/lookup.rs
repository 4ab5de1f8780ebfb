//! Looking up the addresses of a host's name, by the system, on a thread of its own.
//!
//! The system's function waits for other machines, at times for many seconds, and cannot be interrupted. So no thread of a node
//! calls it. The number of such threads is limited, since nodes also dial names that other nodes tell them.

use super::system::{self, Reader};
use isoform::{Code, Error, Result};
use rustix::fd::{AsFd, BorrowedFd};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// The most names that a process looks up at the same time.
const THREADS: usize = 8;
/// The most addresses of a host that are dialed.
const MOST: usize = 16;

/// The number of names that are being looked up.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// A name that is being looked up.
pub(super) struct Lookup {
    found: Receiver<io::Result<Vec<SocketAddr>>>,
    /// Closed at its other end once there is a result, so that it is readable.
    done: Reader,
}

impl Lookup {
    /// Begins to look a name up. `None` if so many are being looked up that this one has to wait.
    pub(super) fn start(name: &str, port: u16) -> Result<Option<Lookup>> {
        let Some(turn) = Turn::take() else { return Ok(None) };
        let failed = |error: io::Error| Error::new(Code::Io).found(format_args!("looking up {name}: {error}"));
        let (done, end) = system::pipe().map_err(failed)?;
        let (answer, found) = channel();
        let host = name.to_owned();
        let thread = std::thread::Builder::new().name("isoform-names".into());
        thread
            .spawn(move || {
                let addresses = (&*host, port).to_socket_addrs().map(Iterator::collect);
                // Whoever asked may have given up.
                let _ = answer.send(addresses);
                drop((end, turn));
            })
            .map_err(failed)?;
        Ok(Some(Lookup { found, done }))
    }

    /// The addresses, in the order in which they are best tried; `None` as long as they are not known.
    pub(super) fn found(&self) -> Option<io::Result<VecDeque<SocketAddr>>> {
        match self.found.try_recv() {
            Ok(found) => Some(found.map(in_turns)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(io::Error::other("the thread that looked it up has ended"))),
        }
    }

    /// Readable as soon as there is a result.
    pub(super) fn done(&self) -> BorrowedFd<'_> {
        self.done.as_fd()
    }
}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookup")
    }
}

/// The right to have a thread.
struct Turn;

impl Turn {
    fn take() -> Option<Turn> {
        let room = |count: usize| (count < THREADS).then_some(count + 1);
        UNDER_WAY.fetch_update(Ordering::AcqRel, Ordering::Acquire, room).ok().map(|_| Turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Each address once; addresses of the kind that the system prefers and of the other kind in turns. So where one kind does
/// not work, the second attempt is of the other.
fn in_turns(addresses: Vec<SocketAddr>) -> VecDeque<SocketAddr> {
    let mut seen = BTreeSet::new();
    let mut all = addresses.into_iter().filter(|&address| seen.insert(address)).peekable();
    let is_first_v4 = all.peek().is_some_and(SocketAddr::is_ipv4);
    let (first, second): (Vec<_>, Vec<_>) = all.partition(|address| address.is_ipv4() == is_first_v4);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut turns = VecDeque::new();
    while turns.len() < MOST {
        let (one, other) = (first.next(), second.next());
        turns.extend(one.into_iter().chain(other));
        if one.is_none() && other.is_none() {
            break;
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_kinds_come_in_turns() {
        let turns = |texts: &[&str]| -> Vec<String> {
            let addresses = texts.iter().map(|text| text.parse().unwrap()).collect();
            in_turns(addresses).iter().map(SocketAddr::to_string).collect()
        };
        let (a, b, c) = ("10.0.0.1:7", "10.0.0.2:7", "10.0.0.3:7");
        let (x, y) = ("[fd00::1]:7", "[fd00::2]:7");
        assert_eq!(turns(&[x, y, a, b, c]), [x, a, y, b, c]);
        assert_eq!(turns(&[a, a, b, x, b]), [a, x, b]);
        assert_eq!(turns(&[]), [""; 0]);
        let many: Vec<String> = (1..99).map(|i| format!("10.0.0.{i}:7")).collect();
        assert_eq!(turns(&many.iter().map(String::as_str).collect::<Vec<_>>()).len(), MOST);
    }
}
