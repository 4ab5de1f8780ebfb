//! Reads bytes that arrived on a connection. The leading thread does that.

use super::hub::Hub;
use super::reader::{Filled, Reader};
use super::state::State;
use super::wire::Wire;
use isoform::Result;
use isoform_channel_proto::Time;
use std::sync::Arc;

/// The number of reads before a thread does something else, although the connection has more.
const READS: usize = 16;

impl Hub {
    /// Reads the bytes that have arrived on a connection, up to a limit.
    pub(super) fn read(&self, wire: &Arc<Wire>) {
        let reader = &mut wire.reader();
        for _ in 0..READS {
            let came = reader.fill(&*wire.connection, false);
            if !self.take(wire, reader, came, |_| ()) {
                return;
            }
        }
    }

    /// Waits a little while for bytes of a connection by reading it. Then looks at the state.
    pub(super) fn wait_and_read(&self, wire: &Arc<Wire>, look: impl FnOnce(&mut State)) {
        let mut reader = wire.reader();
        let came = reader.fill(&*wire.connection, true);
        let more = self.take(wire, &mut reader, came, look);
        drop(reader);
        if more {
            self.read(wire);
        }
    }

    /// Passes the bytes to the machine, and looks at the state. Returns whether to read again at once, which is so
    /// within a long event. Otherwise the bytes are best used while they are in the processor's cache.
    fn take(&self, wire: &Arc<Wire>, reader: &mut Reader, came: Filled, look: impl FnOnce(&mut State)) -> bool {
        match came {
            Filled::Nothing => {
                self.write_own(wire);
                false
            }
            Filled::End(why) => {
                self.lose(wire, why);
                false
            }
            Filled::Something(full) => {
                let now = self.now();
                wire.note_read(now);
                if reader.is_greeting() {
                    self.greet(wire, reader);
                }
                let fed = self.feed(wire, reader, now, look);
                self.write_own(wire);
                let goes_on = fed.is_ok() && (reader.due() == 0 || self.count_pieces(wire, now, reader.due()));
                let more = goes_on && wire.connection.has_more();
                // One that waits is read again when the machine says so.
                if goes_on {
                    wire.tell_rest(&self.poller, more);
                }
                goes_on && (full && reader.is_amid() || more)
            }
        }
    }

    /// The bytes of a connection come in many pieces, which count so many times. Returns whether it is read on.
    fn count_pieces(&self, wire: &Wire, now: Time, times: u32) -> bool {
        self.with(|state| {
            let mut counted = (0..times).map(|_| state.machine.came_in_pieces(now, wire.id));
            let may_read = counted.find(|may_read| *may_read != Ok(true)).unwrap_or(Ok(true));
            if may_read == Ok(false) {
                // The machine tells when it may be read again, and that may be as soon as others have the state.
                wire.mute(&self.poller);
            }
            may_read == Ok(true)
        })
    }

    /// Passes the bytes to the machine, in turns, between which other threads get the state. Then looks at the state.
    fn feed(&self, wire: &Wire, reader: &mut Reader, now: Time, look: impl FnOnce(&mut State)) -> Result<()> {
        let mut look = Some(look);
        loop {
            // The machine closes a connection whose bytes it does not understand.
            let fed = self.with(|state| {
                (state.now, state.busy) = (now, now);
                let fed = reader.feed(&mut state.machine, now, wire.id);
                if !matches!(fed, Ok(false))
                    && let Some(look) = look.take()
                {
                    look(state);
                }
                fed
            });
            if !matches!(fed, Ok(false)) {
                return fed.map(drop);
            }
        }
    }

    /// Lets both sides of a connection prove who they are, without the state locked.
    fn greet(&self, wire: &Wire, reader: &mut Reader) {
        loop {
            let Some(mut greeting) = self.with(|state| state.machine.take_greeting(wire.id)) else {
                return reader.know();
            };
            greeting.learn(wire.connection.credentials());
            let greeted = reader.greet(&mut greeting);
            if !self.with(|state| state.machine.put_greeting(self.now(), wire.id, greeting, greeted)) {
                return;
            }
        }
    }
}
