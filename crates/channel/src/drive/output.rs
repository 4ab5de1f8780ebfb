//! Writing: what the protocol has for a connection, by the thread whose turn [`Flow`](super::flow::Flow) says it is.
//!
//! A quiet connection is written by the thread that made something for it: what there is was taken from the protocol when the
//! protocol asked for that, so that writing an event enters it once. A busy one gathers, until the keeper looks. Whoever writes goes
//! on while there is more, but not without end; and leaves a connection that takes no more to whoever waits at the poller.

use super::flow::Pressed;
use super::hub::{Effect, Effects, Hub};
use super::state::State;
use super::wire::Wire;
use crate::transport::Moved;
use isoform_channel_proto::SourceKey;
use std::sync::Arc;

/// How often a thread that writes asks for more to write.
const FILLS: u32 = 64;

impl Hub {
    /// Writes what was taken, and then what `more` there is, as much as goes without waiting: or if it may `wait`, not for long.
    /// The caller's is the turn to write.
    pub(super) fn write(&self, wire: &Arc<Wire>, mut more: bool, wait: bool) {
        let mut effects = Effects::new();
        for fill in 0.. {
            if !self.write_taken(wire, wait, &mut effects) || (!more && wire.flow.finish()) {
                break;
            }
            if fill == FILLS {
                self.put_off(wire, &mut effects);
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
    }

    /// Writes what was taken. Whether the connection took all of it; else it is not this thread's turn any more.
    fn write_taken(&self, wire: &Arc<Wire>, wait: bool, effects: &mut Effects) -> bool {
        if wire.unwritten() == 0 {
            return true;
        }
        let was_answered = wire.is_answered();
        match wire.write(wait) {
            Ok(Moved::Bytes(_)) => {
                // Behind the call: on a busy machine it takes as long as whoever it has woken. For the first that is written since
                // something was read, it does not matter.
                match was_answered {
                    true => wire.note_written_as_taken(),
                    false => wire.note_written(self.now()),
                }
                true
            }
            Ok(Moved::Blocked) => {
                self.block(wire, effects);
                false
            }
            // Who reads learns why: the last words of the other node may still be there to read.
            Ok(Moved::Closed) | Err(_) => {
                if wire.flow.close() {
                    self.lookout.unblock();
                }
                wire.connection.end_writing();
                false
            }
        }
    }

    /// A connection takes no more: whoever waits at the poller goes on when it does.
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

    /// Leaves what more there is to the keeper: whoever writes does not do so for others without end.
    fn put_off(&self, wire: &Arc<Wire>, effects: &mut Effects) {
        let mut state = self.lock();
        if wire.flow.put_off() {
            state.gathering.push(wire.clone());
            state.let_keeper_gather(effects);
        }
    }

    /// A connection takes more, as the poller says.
    pub(super) fn resume(&self, wire: &Arc<Wire>) {
        if wire.flow.resume() {
            self.lookout.unblock();
            self.write(wire, true, false);
        }
        if let Err(error) = wire.disarm(&self.poller) {
            self.lose(wire, Some(error));
        }
    }

    /// Writes whatever has gathered.
    pub(super) fn write_gathered(&self, gathered: Vec<Arc<Wire>>) {
        for wire in gathered {
            if wire.flow.take_up() {
                self.write(&wire, true, false);
            }
        }
    }

    /// Writes whatever has gathered; and to those sinks that a source waits for also if their connections take no more, which this
    /// waits for. Whoever else takes nothing is not waited for.
    pub(crate) fn press_for(&self, source: SourceKey) {
        let (pressing, gathered) = self.unwritten_for(source);
        self.write_gathered(gathered);
        pressing.iter().for_each(|wire| self.press(wire));
    }

    /// The connections to sinks that a source waits for, and those that gather.
    pub(crate) fn unwritten_for(&self, source: SourceKey) -> (Vec<Arc<Wire>>, Vec<Arc<Wire>>) {
        let mut state = self.lock();
        let State { machine, by_id, gathering, .. } = &mut *state;
        let awaited = machine.waits_over(source);
        let (mut pressing, gathered) = (Vec::new(), std::mem::take(gathering));
        pressing.extend(awaited.iter().filter_map(|id| by_id.get(id)).cloned());
        (pressing, gathered.into_iter().filter(|wire| !awaited.contains(&wire.id)).collect())
    }

    /// Writes to a connection for a thread that has to wait anyway: where it takes no more, that thread waits within writing.
    fn press(&self, wire: &Arc<Wire>) {
        let Pressed::Writes { was_blocked } = wire.flow.press() else { return };
        if was_blocked {
            self.lookout.unblock();
            if self.lookout.come_back() {
                self.ring_keeper();
            }
        }
        self.write(wire, true, true);
    }
}
