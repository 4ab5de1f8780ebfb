//! macOS: the system keeps what is waited for, and a list of what is ready.
//!
//! The system knows a descriptor by its number, and reading and writing as two *filters* of it. So a change of an interest changes
//! both filters, and a handle that is ready for both is reported twice, which makes one [`Readiness`] here.
//!
//! No test of this project runs on macOS: `make elsewhere` compiles `kernel`, which makes the calls. All else is here, and the tests
//! run it on every Unix, on a queue that is made with `poll` (`model`).

#[cfg(target_vendor = "apple")]
pub(super) mod kernel;
#[cfg(test)]
pub(super) mod model;

use super::{Interest, Readies, Readiness, Waiting};
use crate::transport::Handle;
use rustix::io::Errno;
use std::time::Duration;

/// What can be waited for at a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Filter {
    Read,
    Write,
}

/// What becomes of a filter of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It reports as long as something can be done.
    Add,
    /// It reports once, and is gone.
    AddOnce,
    Remove,
}

/// A queue of events, as the system has it.
pub(crate) trait Queue: Sized + Sync {
    fn new() -> rustix::io::Result<Self>;

    /// Changes a filter of a handle. To remove one that is not there is [`Errno::NOENT`].
    fn change(&self, token: u64, handle: Handle<'_>, filter: Filter, change: Change) -> rustix::io::Result<()>;

    /// Waits, and reports the tokens and filters of what is ready. An interrupted call has found nothing.
    fn wait(&self, timeout: Duration, report: impl FnMut(u64, Filter)) -> rustix::io::Result<()>;
}

#[derive(Debug)]
pub(crate) struct System<Q>(Q);

impl<Q: Queue> Waiting for System<Q> {
    const IS_SNAPSHOT: bool = false;

    fn new() -> rustix::io::Result<System<Q>> {
        Q::new().map(System)
    }

    fn add(&self, token: u64, handle: Handle<'_>, interest: Interest) -> rustix::io::Result<()> {
        // One filter alone would be forgotten by whoever learns that adding has failed.
        self.change(token, handle, interest).inspect_err(|_| _ = self.remove(token, handle))
    }

    fn change(&self, token: u64, handle: Handle<'_>, interest: Interest) -> rustix::io::Result<()> {
        for (filter, change) in changes(interest) {
            match self.0.change(token, handle, filter, change) {
                Err(Errno::NOENT) if change == Change::Remove => {}
                done => done?,
            }
        }
        Ok(())
    }

    fn remove(&self, token: u64, handle: Handle<'_>) -> rustix::io::Result<()> {
        self.change(token, handle, Interest::Nothing)
    }

    fn wait(&self, timeout: Duration, readies: &mut Readies) -> rustix::io::Result<()> {
        self.0.wait(timeout, |token, filter| {
            let known = readies.iter().position(|ready| ready.token == token);
            let at = known.unwrap_or_else(|| {
                readies.push(Readiness { token, read: false, write: false });
                readies.len() - 1
            });
            match filter {
                Filter::Read => readies[at].read = true,
                Filter::Write => readies[at].write = true,
            }
        })
    }
}

/// What becomes of both filters of a handle.
fn changes(interest: Interest) -> [(Filter, Change); 2] {
    use Change::{Add, AddOnce, Remove};
    let [read, write] = match interest {
        Interest::Nothing => [Remove, Remove],
        Interest::Read => [Add, Remove],
        Interest::Both => [Add, Add],
        Interest::ReadOnce => [AddOnce, Remove],
        Interest::WriteOnce => [Remove, AddOnce],
    };
    [(Filter::Read, read), (Filter::Write, write)]
}
