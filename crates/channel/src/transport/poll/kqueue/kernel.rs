//! The calls of macOS for a queue of events.
//!
//! Invariant:
//! 1. A filter is added for a descriptor that is open, and the system removes the filters of a descriptor when it is closed. So the
//!    queue has filters of open descriptors only.
#![allow(unsafe_code)]

use super::super::MOST;
use super::{Change, Filter, Queue};
use crate::transport::Handle;
use rustix::event::Timespec;
use rustix::event::kqueue::{Event, EventFilter, EventFlags, kevent_timespec, kqueue};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Kernel(OwnedFd);

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

impl Queue for Kernel {
    fn new() -> rustix::io::Result<Kernel> {
        let queue = kqueue()?;
        fcntl_setfd(&queue, FdFlags::CLOEXEC)?;
        Ok(Kernel(queue))
    }

    fn change(&self, token: u64, handle: Handle<'_>, filter: Filter, change: Change) -> rustix::io::Result<()> {
        let descriptor = handle.as_fd().as_raw_fd();
        let filter = match filter {
            Filter::Read => EventFilter::Read(descriptor),
            Filter::Write => EventFilter::Write(descriptor),
        };
        let flags = match change {
            Change::Add => EventFlags::ADD,
            Change::AddOnce => EventFlags::ADD | EventFlags::ONESHOT,
            Change::Remove => EventFlags::DELETE,
        };
        // The token comes back as it is: pointers of this system have 64 bits.
        let changed = [Event::new(filter, flags, ptr::without_provenance_mut(token as usize))];
        let mut none: [MaybeUninit<Event>; 0] = [];
        // SAFETY: by (1); the handle is open during the call.
        unsafe { kevent_timespec(&self.0, &changed, &mut none, Some(&NOW)) }.map(drop)
    }

    fn wait(&self, timeout: Duration, mut report: impl FnMut(u64, Filter)) -> rustix::io::Result<()> {
        let mut room = [const { MaybeUninit::uninit() }; MOST];
        let timeout = Timespec { tv_sec: timeout.as_secs() as _, tv_nsec: timeout.subsec_nanos() as _ };
        // SAFETY: by (1); nothing is added.
        let events = match unsafe { kevent_timespec(&self.0, &[], &mut room, Some(&timeout)) } {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error),
        };
        for event in events {
            let filter = if matches!(event.filter(), EventFilter::Write(_)) { Filter::Write } else { Filter::Read };
            report(event.udata().addr() as u64, filter);
        }
        Ok(())
    }
}
