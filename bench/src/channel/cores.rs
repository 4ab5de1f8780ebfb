//! Which cores this process, and those that it starts, may run on.

/// While this lives, the thread that made it, and all threads and processes that it starts, have these cores only.
pub(super) struct Pinned {
    #[cfg(target_os = "linux")]
    before: rustix::thread::CpuSet,
}

/// The place of a process that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The core that interrupts use least.
    Last,
    /// Another one.
    Other,
}

#[cfg(target_os = "linux")]
impl Pinned {
    /// One core for everything. Returns `None` if the system knows no such thing, or has no such core.
    pub(super) fn new(place: Place) -> Option<Pinned> {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let before = sched_getaffinity(None).ok()?;
        // Interrupts tend to go to the first.
        let mut cores = (0..CpuSet::MAX_CPU).rev().filter(|&core| before.is_set(core));
        let core = match place {
            Place::Last => cores.next(),
            Place::Other => cores.nth(1),
        };
        let mut one = CpuSet::new();
        one.set(core?);
        sched_setaffinity(None, &one).ok()?;
        Some(Pinned { before })
    }
}

#[cfg(target_os = "linux")]
impl Drop for Pinned {
    fn drop(&mut self) {
        // What was allowed before is allowed again.
        let _ = rustix::thread::sched_setaffinity(None, &self.before);
    }
}

#[cfg(not(target_os = "linux"))]
impl Pinned {
    /// Nothing, if the system knows no such thing.
    pub(super) fn new(_: Place) -> Option<Pinned> {
        None
    }
}
