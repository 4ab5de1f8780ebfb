//! Reading what has come over a connection, by whoever leads.

use super::hub::Hub;
use super::reader::{Filled, Reader};
use super::state::State;
use super::wire::Wire;

/// How often a connection that has more is read before anything else is looked at.
const READS: usize = 16;

impl Hub {
    /// Reads what has come over a connection: a good deal of it at most.
    pub(super) fn read(&self, wire: &Wire) {
        let reader = &mut wire.reader();
        for _ in 0..READS {
            let came = reader.fill(&*wire.connection, false);
            if !self.take(wire, reader, came, |_| ()) {
                return;
            }
        }
    }

    /// Waits for something to come over a connection, for a little while, and reads it. Then looks at the state.
    pub(super) fn wait_and_read(&self, wire: &Wire, look: impl FnOnce(&mut State)) {
        let mut reader = wire.reader();
        let came = reader.fill(&*wire.connection, true);
        let more = self.take(wire, &mut reader, came, look);
        drop(reader);
        if more {
            self.read(wire);
        }
    }

    /// Gives the machine what came, and looks at the state. Whether to read on at once: amid a long event. Else what has come is
    /// best used while it is in the processor's cache.
    fn take(&self, wire: &Wire, reader: &mut Reader, came: Filled, look: impl FnOnce(&mut State)) -> bool {
        match came {
            Filled::Nothing => false,
            Filled::End(why) => {
                self.lose(wire, why);
                false
            }
            Filled::Something(full) => {
                let now = self.now();
                wire.note_read(now);
                // The machine closes the connection of whoever it does not understand.
                let fed = self.with(|state| {
                    (state.now, state.busy) = (now, now);
                    let fed = reader.feed(&mut state.machine, now, wire.id);
                    look(state);
                    fed
                });
                wire.tell_rest(&self.poller);
                full && fed.is_ok() && reader.is_amid()
            }
        }
    }
}
