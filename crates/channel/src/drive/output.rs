//! Writes the output of connections. [`Flow`](super::flow::Flow) decides which thread writes.
//!
//! On a quiet connection, the thread that made output also writes it. It takes the output when the protocol asks for that, so an
//! event enters the protocol once. On a busy connection, output gathers until the keeper looks. A writing thread continues while
//! there is more output, up to a limit. It leaves a full connection to the thread that waits at the poller.

use super::flow::Pressed;
use super::hub::{Effect, Effects, Hub};
use super::lent::Loan;
use super::machine::Sent;
use super::state::State;
use super::unwritten::{Bodies, Own};
use super::wire::Wire;
use crate::transport::{Moved, PATIENCE};
use isoform_channel_proto::SourceKey;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of times that a writing thread takes more output.
pub(super) const FILLS: u32 = 64;
/// After so many bytes of gathered output, the keeper does something else.
const GATHERED: usize = 16 << 20;

impl Hub {
    /// Writes the output that was taken, and then `more` if there is any, as far as possible without waiting; if it may
    /// `wait`, not for long. The caller has the turn to write.
    pub(super) fn write(&self, wire: &Arc<Wire>, more: bool, wait: bool) {
        _ = self.write_lent(wire, more, FILLS, wait, None);
    }

    /// The same, but takes more output at most so many times. The output may have a body that this thread lends. Returns about how
    /// many bytes were written.
    pub(super) fn write_lent(
        &self,
        wire: &Arc<Wire>,
        mut more: bool,
        fills: u32,
        wait: bool,
        loan: Option<&Loan<'_>>,
    ) -> usize {
        let (mut effects, mut written) = (Effects::new(), 0);
        for fill in 0.. {
            let (bytes, is_all) = self.write_taken(wire, wait, loan, &mut effects);
            written += bytes;
            if !is_all || !more && wire.flow.finish() {
                break;
            }
            if fill == fills {
                self.put_off(wire, &mut effects, loan);
                break;
            }
            let mut state = self.lock();
            let now = self.now();
            state.busy = now;
            more = wire.fill(&mut state.machine, now);
            if state.machine.has_action() {
                self.collect(&mut state, &mut effects, Some(now), Some(wire.id));
            }
        }
        self.perform(effects);
        written
    }

    /// Writes what a connection has to write of its own, once there is room.
    pub(super) fn write_own(&self, wire: &Arc<Wire>) {
        if wire.connection.has_unwritten() && wire.flow.begin() {
            self.write(wire, true, false);
        }
    }

    /// Writes the output that was taken. Returns how many bytes the connection has accepted, and whether that was all of it. Otherwise
    /// the turn of this thread is over.
    fn write_taken(
        &self,
        wire: &Arc<Wire>,
        wait: bool,
        loan: Option<&Loan<'_>>,
        effects: &mut Effects,
    ) -> (usize, bool) {
        let taken = wire.unwritten();
        if taken == 0 && !wire.connection.has_unwritten() {
            return (0, true);
        }
        let was_answered = wire.is_answered();
        let bodies: &dyn Bodies<Sent> = match loan {
            Some(loan) => loan,
            None => &Own,
        };
        let moved = wire.write(bodies, wait);
        if !matches!(moved, Ok(Moved::Bytes(_))) {
            // Other threads may need the rest from here on.
            loan.iter().for_each(|loan| loan.keep());
        }
        match moved {
            Ok(Moved::Bytes(bytes)) => {
                // This comes after the system call, which on a busy machine includes the time of the thread that it
                // wakes. For the first output after a read, that does not matter.
                match was_answered {
                    true => wire.note_written_as_taken(),
                    false => wire.note_written(self.now()),
                }
                (bytes, true)
            }
            Ok(Moved::Blocked) => {
                let bytes = taken.saturating_sub(wire.unwritten());
                self.block(wire, effects);
                (bytes, false)
            }
            // The reading thread learns the reason. The last bytes of the other node may still be readable.
            Ok(Moved::Closed) | Err(_) => {
                if wire.flow.close() {
                    self.lookout.unblock();
                }
                wire.connection.end_writing();
                (0, false)
            }
        }
    }

    /// The connection is full. The thread that waits at the poller continues when it accepts bytes again.
    fn block(&self, wire: &Arc<Wire>, effects: &mut Effects) {
        let mut state = self.lock();
        state.machine.unwritten(wire.id, wire.unwritten());
        self.collect(&mut state, effects, Some(self.now()), Some(wire.id));
        drop(state);
        if !wire.flow.block() {
            return;
        }
        let armed = wire.arm(&self.poller);
        if self.lookout.block() {
            effects.push(Effect::RingKeeper);
        }
        if let Err(error) = armed {
            effects.push(Effect::Lose(wire.clone(), error));
        }
    }

    /// Leaves further output to the keeper. A thread does not write for others without end.
    fn put_off(&self, wire: &Arc<Wire>, effects: &mut Effects, loan: Option<&Loan<'_>>) {
        loan.iter().for_each(|loan| loan.keep());
        let mut state = self.lock();
        if wire.flow.put_off() {
            state.gathering.push(wire.clone());
            state.let_keeper_gather(effects);
        }
    }

    /// The connection accepts bytes again, as the poller reports.
    pub(super) fn resume(&self, wire: &Arc<Wire>) {
        if wire.flow.resume() {
            self.lookout.unblock();
            self.write(wire, true, false);
        }
        if let Err(error) = wire.disarm(&self.poller) {
            self.lose(wire, Some(error));
        }
    }

    /// Writes output that has gathered.
    pub(super) fn write_gathered(&self, gathered: impl IntoIterator<Item = Arc<Wire>>) {
        let mut written = 0;
        let mut rest = gathered.into_iter();
        for wire in rest.by_ref() {
            if wire.flow.take_up() {
                written += self.write_lent(&wire, true, FILLS, false, None);
            }
            if written >= GATHERED {
                break;
            }
        }
        self.gather_again(rest.collect());
    }

    /// Writes output that has gathered, also to the sinks that make a source wait until `deadline`.
    ///
    /// If a single connection makes it wait, and that may take as long as a write waits, the thread waits in the write. It
    /// does not wait in one write after another: with many full connections, that would take many times as long, whatever
    /// the deadline is. The poller reports which of them accept bytes again.
    pub(crate) fn press_for(&self, source: SourceKey, deadline: Option<Instant>) {
        let left = || deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
        let (mut pressing, gathered) = self.unwritten_for(source);
        let alone = if pressing.len() == 1 { pressing.pop() } else { None };
        if pressing.iter().any(|wire| wire.flow.is_blocked()) {
            self.come_back();
        }
        let mut rest = pressing.into_iter().chain(gathered);
        for wire in rest.by_ref() {
            self.write_gathered([wire]);
            if left().is_zero() {
                break;
            }
        }
        self.gather_again(rest.collect());
        if let Some(wire) = alone {
            self.press(&wire, left() >= PATIENCE);
        }
    }

    /// The connections to sinks that make a source wait, and those whose output has gathered.
    pub(crate) fn unwritten_for(&self, source: SourceKey) -> (Vec<Arc<Wire>>, Vec<Arc<Wire>>) {
        let mut state = self.lock();
        let State { machine, by_id, gathering, .. } = &mut *state;
        let mut awaited = machine.waits_over(source);
        // A node may have several sinks.
        awaited.sort_unstable();
        awaited.dedup();
        let (mut pressing, gathered) = (Vec::new(), std::mem::take(gathering));
        pressing.extend(awaited.iter().filter_map(|id| by_id.get(id)).cloned());
        let is_awaited = |wire: &Arc<Wire>| awaited.binary_search(&wire.id).is_ok();
        (pressing, gathered.into_iter().filter(|wire| !is_awaited(wire)).collect())
    }

    /// Leaves output that has gathered to the keeper.
    fn gather_again(&self, wires: Vec<Arc<Wire>>) {
        if wires.is_empty() {
            return;
        }
        let mut effects = Effects::new();
        let mut state = self.lock();
        // They are the first ones again, so that others do not push in for ever.
        state.gathering.splice(..0, wires);
        state.let_keeper_gather(&mut effects);
        drop(state);
        self.perform(effects);
    }

    /// Writes to a connection, for a thread that has to wait in any case. If the connection is full, the thread waits
    /// in the write, if it may `wait` there.
    fn press(&self, wire: &Arc<Wire>, wait: bool) {
        let Pressed::Writes { was_blocked } = wire.flow.press() else { return };
        if was_blocked {
            self.lookout.unblock();
            self.come_back();
        }
        self.write(wire, true, wait);
    }

    /// A thread that has filled connections has come back to them.
    fn come_back(&self) {
        if self.lookout.come_back() {
            self.ring_keeper();
        }
    }
}
