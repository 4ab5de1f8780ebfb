//! Threads wait by working: a thread that waits for an event or for room waits at the poller, and reads the input
//! itself. So an event needs no other thread. If another thread already does so, it sleeps.

use super::bell::Bell;
use super::hub::{Hub, LOOK};
use super::lookout::Lead;
use super::state::State;
use super::wire::Wire;
use crate::transport::PATIENCE;
use crate::transport::poll::Readies;
use isoform::{Code, Error, Result};
use smallvec::SmallVec;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The token of all doors, which are the keeper's work: listeners and attempts to connect.
pub(super) const DOORS: u64 = 0;

/// The end of a time that begins now; `None` if clocks cannot count that far.
pub(crate) fn after(patience: Duration) -> Option<Instant> {
    Instant::now().checked_add(patience)
}

impl Hub {
    /// Waits until `look` finds something in the state, whose changes `bell` reports; `None` at the deadline.
    pub(crate) fn drive<R>(
        &self,
        bell: &Arc<Bell>,
        deadline: Option<Instant>,
        mut look: impl FnMut(&mut State) -> Option<R>,
    ) -> Result<Option<R>> {
        self.drive_with(bell, deadline, |state| (look(state), false))
    }

    /// The same, where `look` also returns whether only connections can bring the awaited thing. Then, if there is a
    /// single connection and events follow each other closely, the thread waits by reading that connection. That saves
    /// a system call; other changes are then noticed some milliseconds later.
    pub(crate) fn drive_with<R>(
        &self,
        bell: &Arc<Bell>,
        deadline: Option<Instant>,
        mut look: impl FnMut(&mut State) -> (Option<R>, bool),
    ) -> Result<Option<R>> {
        let mut turn = Turn { hub: self, bell: bell.take(), leads: false };
        loop {
            if self.broken.load(Ordering::Relaxed) {
                return Err(Error::new(Code::Internal).at("node").found("its thread has ended"));
            }
            turn.bell.waiter.look();
            let found = self.with(|state| match look(state) {
                (Some(found), _) => Ok(found),
                (None, remote) => Err(state.only_wire().filter(|_| remote).cloned()),
            });
            let only = match found {
                Ok(found) => return Ok(Some(found)),
                Err(only) => only,
            };
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            let left = left.unwrap_or(LOOK).min(LOOK);
            if !turn.lead(left) {
                continue;
            }
            match only.filter(|wire| left > PATIENCE && turn.bell.is_brisk() && !wire.flow.is_blocked()) {
                Some(wire) => {
                    if let Some(found) = turn.read_only(&wire, &mut look) {
                        return Ok(Some(found));
                    }
                }
                None => turn.poll(left)?,
            }
        }
    }

    /// Waits at the poller once.
    pub(super) fn wait_at_poller(&self, timeout: Duration) -> Result<Readies> {
        let muted = self.muted().take();
        muted.iter().for_each(|wire| self.unmute(wire));
        self.poller.wait(timeout)
    }

    /// From now on, a thread waits for a connection by reading it, until a thread waits at the poller.
    fn mute(&self, wire: &Arc<Wire>) {
        let mut muted = self.muted();
        if muted.as_ref().is_none_or(|muted| muted.id != wire.id) {
            wire.mute(&self.poller);
            let other = muted.replace(wire.clone());
            drop(muted);
            other.iter().for_each(|other| self.unmute(other));
        }
    }

    /// The poller waits for a connection again. If the system refuses to, the connection ends: nobody would read it.
    fn unmute(&self, wire: &Wire) {
        if let Err(error) = wire.unmute(&self.poller) {
            self.lose(wire, Some(error));
        }
    }

    /// Whether the leading thread waits for the only connection by reading it.
    pub(super) fn is_muted(&self) -> bool {
        self.muted().is_some()
    }

    fn muted(&self) -> MutexGuard<'_, Option<Arc<Wire>>> {
        self.muted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work that the poller reports.
    pub(super) fn attend(&self, readies: &Readies) -> Attended {
        let mut attended = Attended { has_read: false, has_knocked: false };
        let mut wires = SmallVec::<[_; 8]>::new();
        let mut state = self.lock();
        for ready in readies {
            attended.has_knocked |= ready.token == DOORS;
            // Connections are numbered from 1. One that has ended needs no work.
            let wire = state.by_id.get(&isoform_channel_proto::ConnId(ready.token));
            wires.extend(wire.map(|wire| (wire.clone(), *ready)));
        }
        state.knocked |= attended.has_knocked;
        drop(state);
        for (wire, ready) in wires {
            if ready.write {
                self.resume(&wire);
            }
            if ready.read {
                attended.has_read = true;
                self.read(&wire);
            }
        }
        attended
    }
}

/// The result of a turn at the poller.
pub(super) struct Attended {
    /// Whether bytes were read.
    pub(super) has_read: bool,
    /// Whether there is work for the keeper.
    pub(super) has_knocked: bool,
}

/// A waiting thread, with its bell.
struct Turn<'h> {
    hub: &'h Hub,
    bell: &'h Arc<Bell>,
    leads: bool,
}

impl Turn<'_> {
    /// Leads. Otherwise sleeps until it may lead, or there is something to look at.
    fn lead(&mut self, timeout: Duration) -> bool {
        let (lookout, waiter) = (&self.hub.lookout, &self.bell.waiter);
        if self.leads || lookout.lead() == Lead::Mine {
            self.leads = true;
            return true;
        }
        lookout.follow(waiter);
        match lookout.lead() {
            Lead::Mine => self.leads = true,
            Lead::Keepers => {
                self.hub.ring_keeper();
                waiter.park(timeout);
            }
            Lead::Another => waiter.park(timeout),
        }
        lookout.unfollow(waiter);
        self.leads
    }

    /// Waits for the only connection by reading it.
    fn read_only<R>(&self, wire: &Arc<Wire>, mut look: impl FnMut(&mut State) -> (Option<R>, bool)) -> Option<R> {
        self.hub.mute(wire);
        let (mut found, mut came) = (None, false);
        self.hub.wait_and_read(wire, |state| {
            // From here on, this thread reads everything itself, and need not be told.
            self.bell.waiter.leave();
            (found, came) = (look(state).0, true);
        });
        self.bell.be_brisk(came);
        found
    }

    /// Waits at the poller once, and does the work that it reports.
    fn poll(&self, timeout: Duration) -> Result<()> {
        if !self.bell.waiter.poll() {
            return Ok(());
        }
        let readies = self.hub.wait_at_poller(timeout);
        // This thread need not be told about its own work.
        self.bell.waiter.leave();
        let attended = self.hub.attend(&readies?);
        if attended.has_read {
            self.bell.be_brisk(true);
        }
        if attended.has_knocked {
            self.hub.ring_keeper();
        }
        Ok(())
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.bell.give_back();
        let lookout = &self.hub.lookout;
        let next = if self.leads { lookout.leave() } else { lookout.pass_on() };
        self.hub.tell(next);
    }
}
