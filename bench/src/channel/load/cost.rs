//! What a process takes of the machine, as the system counts it.

use crate::Result;
use rustix::time::{ClockId, clock_gettime};

/// The processor time of this process so far, in nanoseconds.
pub(in super::super) fn processor() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The processor time of this thread so far, in nanoseconds.
pub(super) fn thread() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The number of descriptors that this process has open.
pub(in super::super) fn descriptors() -> Result<usize> {
    // One of them is that of the list itself.
    Ok(std::fs::read_dir(FOLDER)?.count() - 1)
}

#[cfg(target_os = "linux")]
const FOLDER: &str = "/proc/self/fd";
#[cfg(not(target_os = "linux"))]
const FOLDER: &str = "/dev/fd";

/// The memory of this process that the machine holds, in bytes; 0 if the system does not say.
pub(super) fn memory() -> u64 {
    status("VmRSS:").map_or(0, |kilobytes| kilobytes << 10)
}

/// The number of threads of this process; 0 if the system does not say.
pub(super) fn threads() -> u64 {
    status("Threads:").unwrap_or(0)
}

fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}
