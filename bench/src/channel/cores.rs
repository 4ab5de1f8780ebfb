//! Which cores this process, and those that it starts, may run on.

/// While this lives, the thread that made it, and all threads and processes that it starts, have these cores only.
pub(crate) struct Pinned {
    #[cfg(target_os = "linux")]
    before: rustix::thread::CpuSet,
}

/// The place of a process that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The core that interrupts use least.
    Last,
    /// Another one.
    Other,
}

impl Place {
    /// Its number, of the cores that this thread may run on. Returns `None` if the system knows no such thing, or has no
    /// such core.
    #[cfg(target_os = "linux")]
    pub(crate) fn core(self) -> Option<usize> {
        use rustix::thread::{CpuSet, sched_getaffinity};
        let allowed = sched_getaffinity(None).ok()?;
        // Interrupts tend to go to the first.
        let mut cores = (0..CpuSet::MAX_CPU).rev().filter(|&core| allowed.is_set(core));
        match self {
            Place::Last => cores.next(),
            Place::Other => cores.nth(1),
        }
    }

    /// Nothing, if the system knows no such thing.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn core(self) -> Option<usize> {
        None
    }
}

#[cfg(target_os = "linux")]
impl Pinned {
    /// One core for everything. Returns `None` if the system knows no such thing, or has no such core.
    pub(crate) fn new(place: Place) -> Option<Pinned> {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let before = sched_getaffinity(None).ok()?;
        let mut one = CpuSet::new();
        one.set(place.core()?);
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
    pub(crate) fn new(_: Place) -> Option<Pinned> {
        None
    }
}
