//! Which cores this process, and those that it starts, may run on.

/// While this lives, the thread that made it, and all threads and processes that it starts, have one core together.
pub(super) struct Pinned {
    #[cfg(target_os = "linux")]
    before: rustix::thread::CpuSet,
}

#[cfg(target_os = "linux")]
impl Pinned {
    /// Nothing, if the system knows no such thing.
    pub(super) fn new() -> Option<Pinned> {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let before = sched_getaffinity(None).ok()?;
        // Interrupts tend to go to the first.
        let last = (0..CpuSet::MAX_CPU).rev().find(|&core| before.is_set(core))?;
        let mut one = CpuSet::new();
        one.set(last);
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
    pub(super) fn new() -> Option<Pinned> {
        None
    }
}
