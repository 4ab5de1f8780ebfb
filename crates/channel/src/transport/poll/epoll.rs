//! Linux: the system keeps what is waited for, and a list of what is ready.

use super::{Interest, MOST, Readies, Readiness, Waiting};
use crate::transport::Handle;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct System(OwnedFd);

/// Times below this are waited for with `poll`, since `epoll_wait` counts in milliseconds.
const COARSE: Duration = Duration::from_millis(2);

impl Waiting for System {
    const IS_SNAPSHOT: bool = false;

    fn new() -> rustix::io::Result<System> {
        epoll::create(CreateFlags::CLOEXEC).map(System)
    }

    fn add(&self, token: u64, handle: Handle<'_>, interest: Interest) -> rustix::io::Result<()> {
        epoll::add(&self.0, handle, EventData::new_u64(token), flags(interest))
    }

    fn change(&self, token: u64, handle: Handle<'_>, interest: Interest) -> rustix::io::Result<()> {
        epoll::modify(&self.0, handle, EventData::new_u64(token), flags(interest))
    }

    fn remove(&self, _: u64, handle: Handle<'_>) -> rustix::io::Result<()> {
        epoll::delete(&self.0, handle)
    }

    fn wait(&self, mut timeout: Duration, readies: &mut Readies) -> rustix::io::Result<()> {
        if timeout < COARSE && !timeout.is_zero() {
            let mut all = [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)];
            match poll(&mut all, Some(&timespec(timeout))) {
                Ok(0) | Err(Errno::INTR) => return Ok(()),
                Ok(_) => timeout = Duration::ZERO,
                Err(error) => return Err(error),
            }
        }
        let mut room = [const { MaybeUninit::uninit() }; MOST];
        let events = match epoll::wait(&self.0, &mut room, Some(&timespec(timeout))) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error),
        };
        readies.extend(events.iter().map(|event| {
            // Copied out of it, since it is packed.
            let (data, flags) = (event.data, event.flags);
            let ended = flags.intersects(EventFlags::HUP | EventFlags::ERR);
            let (read, write) = (ended || flags.contains(EventFlags::IN), ended || flags.contains(EventFlags::OUT));
            Readiness { token: data.u64(), read, write }
        }));
        Ok(())
    }
}

fn flags(interest: Interest) -> EventFlags {
    match interest {
        Interest::Nothing => EventFlags::empty(),
        Interest::Read => EventFlags::IN,
        Interest::Both => EventFlags::IN | EventFlags::OUT,
        Interest::ReadOnce => EventFlags::IN | EventFlags::ONESHOT,
        Interest::WriteOnce => EventFlags::OUT | EventFlags::ONESHOT,
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos() as _ }
}
