//! A queue of events that behaves as that of macOS, for tests on other systems: a list of filters, given to `poll`.

use super::{Change, Filter, Queue};
use crate::transport::Handle;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::Mutex;
use std::time::Duration;

/// Each filter of a descriptor, known by its number.
#[derive(Debug, Default)]
pub(crate) struct Model(Mutex<BTreeMap<(RawFd, Filter), Added>>);

#[derive(Debug)]
struct Added {
    token: u64,
    once: bool,
    descriptor: OwnedFd,
}

impl Queue for Model {
    fn new() -> rustix::io::Result<Model> {
        Ok(Model::default())
    }

    fn change(&self, token: u64, handle: Handle<'_>, filter: Filter, change: Change) -> rustix::io::Result<()> {
        let (mut filters, key) = (self.0.lock().unwrap(), (handle.as_fd().as_raw_fd(), filter));
        if change == Change::Remove {
            return filters.remove(&key).map(drop).ok_or(Errno::NOENT);
        }
        let descriptor = rustix::io::fcntl_dupfd_cloexec(handle, 0)?;
        filters.insert(key, Added { token, once: change == Change::AddOnce, descriptor });
        Ok(())
    }

    fn wait(&self, timeout: Duration, mut report: impl FnMut(u64, Filter)) -> rustix::io::Result<()> {
        // The tests change nothing while a thread waits.
        let mut filters = self.0.lock().unwrap();
        let flags = |filter: &Filter| if *filter == Filter::Read { PollFlags::IN } else { PollFlags::OUT };
        let each = filters.iter().map(|((_, filter), added)| (added.descriptor.as_fd(), flags(filter)));
        let mut entries: Vec<_> = each.map(|(descriptor, flags)| PollFd::from_borrowed_fd(descriptor, flags)).collect();
        let timeout = Timespec { tv_sec: timeout.as_secs() as _, tv_nsec: timeout.subsec_nanos() as _ };
        if let Err(error) = poll(&mut entries, Some(&timeout)) {
            return if error == Errno::INTR { Ok(()) } else { Err(error) };
        }
        let ready: Vec<bool> = entries.iter().map(|entry| !entry.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        filters.retain(|&(_, filter), added| {
            let is_ready = ready.next().unwrap();
            if is_ready {
                report(added.token, filter);
            }
            !(is_ready && added.once)
        });
        Ok(())
    }
}
