//! Waiting, by working: a thread that waits for an event, or for room, reads the connections of the node itself, so that
//! what comes needs no other thread. What another thread reads already, it leaves to that one.

use crate::drive::bell::Bell;
use crate::drive::hub::{Hub, LOOK};
use crate::drive::reader::Reader;
use crate::drive::state::State;
use crate::drive::wire::Wire;
use crate::transport::PATIENCE;
use crate::transport::poll::{Entry, Interest, entry, ready, wait};
use isoform::{Code, Error, Result};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// When a time is over that begins now; never, if it is longer than clocks count.
pub(crate) fn after(patience: Duration) -> Option<Instant> {
    Instant::now().checked_add(patience)
}

impl Hub {
    /// Waits until `look` finds something in the state, of whose changes `bell` tells; `None` at the deadline.
    pub(crate) fn drive<R>(
        &self,
        bell: &Arc<Bell>,
        deadline: Option<Instant>,
        mut look: impl FnMut(&mut State) -> Option<R>,
    ) -> Result<Option<R>> {
        self.drive_with(bell, deadline, |state| (look(state), false))
    }

    /// The same, where `look` also tells whether what is waited for can only come over connections. Then, while there is
    /// one connection and events follow closely on one another, the thread waits within reading it, which spares a system call;
    /// and hears of anything else some milliseconds later.
    pub(crate) fn drive_with<R>(
        &self,
        bell: &Arc<Bell>,
        deadline: Option<Instant>,
        mut look: impl FnMut(&mut State) -> (Option<R>, bool),
    ) -> Result<Option<R>> {
        let bell = bell.take()?;
        let result = loop {
            if self.broken.load(Ordering::Relaxed) {
                break Err(Error::new(Code::Internal).at("node").came("its thread has ended"));
            }
            bell.await_it(true);
            let found = self.with(|state| match look(state) {
                (Some(found), _) => Ok(found),
                (None, remote) => Err((remote, state.wires.clone())),
            });
            let (remote, wires) = match found {
                Ok(found) => break Ok(Some(found)),
                Err(nothing) => nothing,
            };
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break Ok(None);
            }
            if remote && left.is_none_or(|left| left > PATIENCE) {
                match self.short_turn(bell, &wires, &mut look) {
                    Turn::Found(found) => break Ok(Some(found)),
                    Turn::Nothing => continue,
                    Turn::NotMine => {}
                }
            }
            if let Err(error) = self.turn(bell, &wires, left.unwrap_or(LOOK).min(LOOK)) {
                break Err(error);
            }
        };
        bell.give_back();
        self.hand_over();
        result
    }

    /// Waits for the one connection that there is, if the last such wait was a short one.
    fn short_turn<R>(
        &self,
        bell: &Bell,
        wires: &[Arc<Wire>],
        mut look: impl FnMut(&mut State) -> (Option<R>, bool),
    ) -> Turn<R> {
        let [wire] = wires else { return Turn::NotMine };
        if !bell.is_brisk() || wire.blocked.load(Ordering::SeqCst) {
            return Turn::NotMine;
        }
        let Ok(mut reader) = wire.reader.try_lock() else { return Turn::NotMine };
        let (mut found, mut came) = (None, false);
        self.wait_and_read(wire, &mut reader, |state| {
            // What comes from here on this thread reads itself, and need not be told of.
            bell.await_it(false);
            (found, came) = (look(state).0, true);
        });
        drop(reader);
        wire.attendance.note();
        bell.await_it(false);
        bell.be_brisk(came);
        found.map_or(Turn::Nothing, Turn::Found)
    }

    /// Waits once, and does what can be done then.
    fn turn(&self, bell: &Arc<Bell>, wires: &[Arc<Wire>], timeout: Duration) -> Result<()> {
        let mut seats = Seats::take(self, wires);
        let passenger = seats.missing.then(|| Passenger::new(self, bell));
        if passenger.is_some() {
            // Who left in between has told nobody.
            drop(seats);
            seats = Seats::take(self, wires);
        }
        let mut entries: Vec<Entry<'_>> = Vec::with_capacity(wires.len() + 1);
        entries.push(entry(bell.waker.as_fd(), Interest::Read));
        entries.extend(seats.readers.iter().map(|(wire, _)| {
            let blocked = wire.blocked.load(Ordering::SeqCst);
            if blocked {
                wire.pushed.store(true, Ordering::SeqCst);
            }
            entry(wire.connection.handle(), if blocked { Interest::Both } else { Interest::Read })
        }));
        wait(&mut entries, Some(timeout))?;
        // What this thread does itself it need not be told of.
        bell.await_it(false);
        let came: Vec<_> = entries.iter().map(ready).collect();
        drop(entries);
        drop(passenger);
        if came[0].read {
            bell.waker.drain();
        }
        for ((wire, reader), came) in seats.readers.iter_mut().zip(&came[1..]) {
            if came.write {
                self.flush(wire);
            }
            if came.read || came.ended {
                bell.be_brisk(true);
                self.read(wire, reader);
            }
        }
        Ok(())
    }

    /// Lets a thread that waits read what this one does not read any more.
    fn hand_over(&self) {
        if self.passenger_count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let passengers = self.passengers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(next) = passengers.first() {
            next.waker.wake();
        }
    }
}

/// What came of waiting for a single connection.
enum Turn<R> {
    /// What was looked for.
    Found(R),
    /// Something else, or nothing.
    Nothing,
    /// It is not to be waited for alone, or not by this thread.
    NotMine,
}

/// The connections that a thread reads.
struct Seats<'w> {
    hub: &'w Hub,
    readers: Vec<(&'w Arc<Wire>, MutexGuard<'w, Reader>)>,
    /// Whether others are read by another thread.
    missing: bool,
}

impl<'w> Seats<'w> {
    fn take(hub: &'w Hub, wires: &'w [Arc<Wire>]) -> Seats<'w> {
        let mut seats = Seats { hub, readers: Vec::with_capacity(wires.len()), missing: false };
        for wire in wires {
            match wire.reader.try_lock() {
                Ok(reader) => seats.readers.push((wire, reader)),
                Err(TryLockError::Poisoned(poisoned)) => seats.readers.push((wire, poisoned.into_inner())),
                Err(TryLockError::WouldBlock) => {
                    seats.missing = true;
                    wire.attendance.note();
                    // The keeper gives it up when it is asked.
                    if wire.kept.swap(false, Ordering::AcqRel) {
                        hub.keeper.wake();
                    }
                }
            }
        }
        seats
    }
}

impl Drop for Seats<'_> {
    fn drop(&mut self) {
        for (wire, _) in &self.readers {
            wire.attendance.note();
            if wire.pushed.swap(false, Ordering::SeqCst) && wire.blocked.load(Ordering::SeqCst) {
                self.hub.leave_to_keeper(wire);
            }
        }
    }
}

/// A thread that is to be told when a connection is free to be read.
struct Passenger<'h> {
    hub: &'h Hub,
    bell: Arc<Bell>,
}

impl<'h> Passenger<'h> {
    fn new(hub: &'h Hub, bell: &Arc<Bell>) -> Passenger<'h> {
        hub.passenger_count.fetch_add(1, Ordering::SeqCst);
        hub.passengers.lock().unwrap_or_else(PoisonError::into_inner).push(bell.clone());
        Passenger { hub, bell: bell.clone() }
    }
}

impl Drop for Passenger<'_> {
    fn drop(&mut self) {
        let mut passengers = self.hub.passengers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = passengers.iter().position(|bell| Arc::ptr_eq(bell, &self.bell)) {
            passengers.remove(at);
        }
        self.hub.passenger_count.fetch_sub(1, Ordering::SeqCst);
    }
}
