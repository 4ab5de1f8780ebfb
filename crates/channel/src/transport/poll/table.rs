//! Every Unix, and Windows: a table of what is waited for, all of which the system is given each time.
//!
//! The table has descriptors of its own, copies of those that are registered, so that none is closed while it is waited for.

use super::{Interest, Readies, Readiness, Waiting};
use crate::transport::{Handle, system};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd, RawFd};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct System(Mutex<BTreeMap<(u64, RawFd), Entry>>);

#[derive(Clone, Debug)]
struct Entry {
    descriptor: Arc<OwnedFd>,
    /// `None` once it was reported, if that was to be done once.
    interest: Option<Interest>,
}

impl System {
    fn table(&self) -> MutexGuard<'_, BTreeMap<(u64, RawFd), Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Several handles may have one token.
fn key(token: u64, handle: Handle<'_>) -> (u64, RawFd) {
    use rustix::fd::AsRawFd;
    (token, handle.as_fd().as_raw_fd())
}

impl Waiting for System {
    const IS_SNAPSHOT: bool = true;

    fn new() -> rustix::io::Result<System> {
        Ok(System(Mutex::default()))
    }

    fn add(&self, token: u64, handle: Handle<'_>, interest: Interest) -> rustix::io::Result<()> {
        let descriptor = Arc::new(system::copy(handle)?);
        self.table().insert(key(token, handle), Entry { descriptor, interest: Some(interest) });
        Ok(())
    }

    fn change(&self, token: u64, handle: Handle<'_>, interest: Interest) -> rustix::io::Result<()> {
        self.table().get_mut(&key(token, handle)).ok_or(Errno::BADF)?.interest = Some(interest);
        Ok(())
    }

    fn remove(&self, token: u64, handle: Handle<'_>) -> rustix::io::Result<()> {
        self.table().remove(&key(token, handle)).map(drop).ok_or(Errno::BADF)
    }

    fn wait(&self, timeout: Duration, readies: &mut Readies) -> rustix::io::Result<()> {
        let all: Vec<_> = self.table().iter().map(|(&key, entry)| (key, entry.clone())).collect();
        let awaited: Vec<_> = all.iter().filter_map(|(key, entry)| Some((key, entry, entry.interest?))).collect();
        let mut entries: Vec<PollFd<'_>> = awaited
            .iter()
            .map(|(_, entry, interest)| PollFd::from_borrowed_fd(entry.descriptor.as_fd(), flags(*interest)))
            .collect();
        let timeout = Timespec { tv_sec: timeout.as_secs() as _, tv_nsec: timeout.subsec_nanos() as _ };
        match poll(&mut entries, Some(&timeout)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error),
        }
        for ((key, entry, interest), came) in awaited.iter().zip(&entries) {
            let came = came.revents();
            let ended = came.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
            // Windows has several kinds of bytes to read, and tells of those that there are.
            let (read, write) = (ended || came.intersects(PollFlags::IN), ended || came.intersects(PollFlags::OUT));
            if !read && !write {
                continue;
            }
            let mut table = self.table();
            // It may have been removed meanwhile, and another one registered.
            let Some(now) = table.get_mut(key).filter(|now| Arc::ptr_eq(&now.descriptor, &entry.descriptor)) else {
                continue;
            };
            if matches!(interest, Interest::ReadOnce | Interest::WriteOnce) {
                now.interest = None;
            }
            readies.push(Readiness { token: key.0, read, write });
        }
        Ok(())
    }
}

fn flags(interest: Interest) -> PollFlags {
    match interest {
        Interest::Nothing => PollFlags::empty(),
        Interest::Read | Interest::ReadOnce => PollFlags::IN,
        Interest::Both => PollFlags::IN | PollFlags::OUT,
        Interest::WriteOnce => PollFlags::OUT,
    }
}
