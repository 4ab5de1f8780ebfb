//! The thread that a node itself has. It does the work for which no thread of the application is there: accepting and
//! dialing, work at certain times, writing output that has gathered, and waiting at the poller when no other thread
//! does.

use super::hub::{Hub, LOOK};
use super::listener::{Listener, await_door};
use super::places::Learned;
use super::reserve::Reserve;
use super::rules::RuleFile;
use super::state::State;
use super::wait::DOORS;
use super::wire::Wire;
use crate::transport::address::Address;
use crate::transport::{Awaited, Connection, Door, serving};
use isoform::{Error, Result};
use isoform_channel_proto::{DialKey, Time};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The time for which output gathers before it is written.
const GATHER: Duration = Duration::from_micros(100);
/// After this many looks without output, the keeper sleeps, and the next thread with output wakes it.
const LOOKS: u32 = 20;
/// If no thread of the application has led for this long, the keeper leads.
const UNATTENDED: Duration = Duration::from_millis(10);
/// The time within which a thread that fills a connection should come back to it.
const RETURN: Duration = Duration::from_millis(1);
/// The interval of rounds, for acknowledgements, while there is traffic.
const ROUND: Duration = Duration::from_millis(10);
/// If a round comes this late, the process was stopped.
const STOPPED: Duration = Duration::from_secs(3);
/// The longest time to establish a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// The interval of asking a connection that cannot tell when it is established.
const AGAIN: Duration = Duration::from_millis(1);

pub(crate) struct Keeper {
    hub: Arc<Hub>,
    listeners: Vec<Listener>,
    /// Descriptors for when the process has no more.
    reserve: Reserve,
    dials: Vec<(DialKey, Box<dyn Door>)>,
    /// The number of consecutive looks that found no output.
    idle: u32,
    /// The number of times that threads of the application had led at the last look, and the time since when it is the
    /// same.
    turns: u32,
    turns_since: Time,
    /// At the last look, some connections were full, and no thread waited for them.
    was_left: bool,
    last_round: Time,
    next_round: Time,
    next_clock: Time,
    rules: Option<RuleFile>,
}

impl Keeper {
    /// The keeper of a node with these listeners.
    ///
    /// # Errors
    /// [`Code::Io`](isoform::Code::Io), if the system has no memory for it.
    pub(crate) fn new(hub: Arc<Hub>, doors: Vec<Box<dyn Door>>, rules: Option<RuleFile>) -> Result<Keeper> {
        let listeners = doors.into_iter().map(|door| Listener::new(&hub, door)).collect::<Result<_>>()?;
        Ok(Keeper {
            hub,
            listeners,
            reserve: Reserve::new(),
            dials: Vec::new(),
            idle: LOOKS,
            turns: 0,
            turns_since: Time::ZERO,
            was_left: false,
            last_round: Time::ZERO,
            next_round: Time::ZERO,
            next_clock: Time::ZERO,
            rules,
        })
    }

    /// Runs until the node stops.
    pub(crate) fn run(mut self) {
        let hub = self.hub.clone();
        while !hub.stopping.load(Ordering::Acquire) {
            // From here on, a thread that has work for the keeper rings, and the keeper looks at everything again.
            if hub.keeper.look() {
                self.next_round = Time::ZERO;
            }
            if hub.stopping.load(Ordering::Acquire) {
                break;
            }
            self.answer_doors();
            let gathered = self.gathered();
            hub.write_gathered(gathered);
            let now = hub.now();
            if now >= self.next_round {
                self.round(now);
            }
            self.turn();
        }
        hub.with(|state| state.machine.leave());
    }

    /// Does the work of a round.
    fn round(&mut self, now: Time) {
        let hub = &self.hub;
        if now >= self.next_clock {
            self.next_clock = now + LOOK;
            hub.set_wall();
            for error in hub.transports.iter().filter_map(|transport| transport.look_after().err()) {
                hub.with(|state| state.machine.note(&error));
            }
            match self.rules.as_mut().and_then(RuleFile::look) {
                Some(Ok(rights)) => hub.with(|state| state.machine.set_rights(now, Some(rights))),
                // The old ones go on.
                Some(Err(error)) => hub.with(|state| state.machine.note(&error)),
                None => {}
            }
        }
        // The silence of others does not count while this process was stopped.
        let was_stopped = now > self.last_round + STOPPED;
        let deadline = hub.with(|state| {
            if was_stopped {
                state.machine.excuse(now);
            }
            for (&sink, seat) in &state.sinks {
                state.machine.consumed(now, sink, seat.progress.load(Ordering::Relaxed));
            }
            state.now = now;
            state.machine.tick(now);
            state.let_go(now);
            state.machine.deadline()
        });
        let rest = deadline.unwrap_or(Time::MAX).saturating_sub(now).clamp(Duration::from_millis(1), LOOK);
        (self.last_round, self.next_round) = (now, now + rest);
    }

    /// The connections whose gathered output is to be written.
    fn gathered(&mut self) -> Vec<Arc<Wire>> {
        let mut state = self.hub.lock();
        let gathered = std::mem::take(&mut state.gathering);
        if !gathered.is_empty() || (state.is_gathering && self.idle >= LOOKS) {
            self.idle = 0;
        } else if self.idle < LOOKS {
            self.idle += 1;
            // From here on, a thread that makes output rings. This is set under the lock.
            state.is_gathering = self.idle < LOOKS;
        }
        gathered
    }

    /// Waits once, at the poller or asleep, and does the work that results.
    fn turn(&mut self) {
        let hub = self.hub.clone();
        let now = hub.now();
        let is_busy = hub.lock().busy + LOOK > now;
        if is_busy {
            self.next_round = self.next_round.min(self.last_round + ROUND);
        }
        let seen = hub.lookout.see();
        if seen.turns != self.turns {
            (self.turns, self.turns_since) = (seen.turns, now);
        }
        // Some connections are full, and no thread waits for them. A thread that always comes back has time until the
        // next look.
        let is_left = seen.is_blocked && !seen.is_led;
        let is_late = is_left && self.was_left;
        if !is_busy || is_late {
            hub.lookout.forget_return();
        }
        self.was_left = is_left;
        let is_attended = seen.turns > 0 && self.turns_since + UNATTENDED > now;
        let mut timeout = if self.idle < LOOKS { GATHER } else { self.next_round.saturating_sub(now) };
        if seen.returns {
            timeout = timeout.min(RETURN);
        }
        timeout = timeout.min(self.doors_within());
        if (!is_attended || is_left && (!seen.returns || is_late)) && hub.lookout.keep() {
            self.lead(timeout);
            hub.tell(hub.lookout.leave());
        } else {
            // The leading thread may stop.
            hub.keeper.park(timeout.min(UNATTENDED));
            // It learns of doors at the poller, but not while it reads the only connection directly.
            if hub.is_muted() {
                hub.lock().knocked = true;
            }
        }
    }

    /// Waits at the poller.
    fn lead(&mut self, timeout: Duration) {
        let hub = &self.hub;
        if !hub.keeper.poll() {
            return;
        }
        let readies = hub.wait_at_poller(timeout);
        // A thread that rings from here on makes the keeper look again before it waits.
        if hub.keeper.look() {
            self.next_round = Time::ZERO;
        }
        match readies {
            Ok(readies) => _ = hub.attend(&readies),
            // The system has no memory for it. The next round tries again.
            Err(_) => std::thread::sleep(ROUND),
        }
    }

    /// The time until the next look at doors that have more, or that cannot tell when they are ready.
    fn doors_within(&self) -> Duration {
        let now = self.hub.now();
        let listening = self.listeners.iter().map(|listener| listener.within(now)).min().unwrap_or(LOOK);
        let tells = |dial: &dyn Door| !matches!(dial.awaits(), Awaited::Soon);
        match self.dials.iter().all(|(_, dial)| tells(&**dial)) {
            // A door that can tell may still be late.
            true if self.dials.is_empty() => listening,
            true => listening.min(ROUND),
            false => listening.min(AGAIN),
        }
    }

    /// Accepts connections, and continues to dial.
    fn answer_doors(&mut self) {
        let (dials, knocked) = {
            let mut state = self.hub.lock();
            (std::mem::take(&mut state.dials), std::mem::take(&mut state.knocked))
        };
        self.accept(knocked);
        for (key, dial) in std::mem::take(&mut self.dials) {
            if let Awaited::Read(handle) | Awaited::Write(handle) = dial.awaits() {
                self.hub.poller.remove(DOORS, handle);
            }
            self.go_on(key, dial);
        }
        for (key, address) in dials {
            let dialed = address.parse::<Address>().and_then(|address| {
                self.hub.permit(&address)?;
                serving(&self.hub.transports, &address)?.dial(&address, Instant::now() + PATIENCE)
            });
            match dialed {
                Ok(dial) => self.go_on(key, dial),
                Err(error) => self.dial_failed(key, error),
            }
        }
    }

    /// Accepts some connections of each listener. Whoever connects without end keeps the keeper from nothing else.
    fn accept(&mut self, knocked: bool) {
        let Keeper { hub, listeners, reserve, .. } = self;
        let now = hub.now();
        let mut due = listeners.iter_mut().filter(|listener| listener.is_due(now, knocked)).peekable();
        if due.peek().is_some() {
            reserve.refill();
        }
        due.for_each(|listener| listener.accept(hub, reserve, now));
    }

    fn go_on(&mut self, key: DialKey, mut dial: Box<dyn Door>) {
        let gone_on = dial.next().and_then(|connection| match connection {
            Some(connection) => Ok(Some(connection)),
            None => await_door(&self.hub, &mut *dial, true).map(|()| None),
        });
        match gone_on {
            Ok(Some(connection)) => {
                self.listen_where(&*connection);
                self.hub.connected(connection, Some(key), None);
            }
            Ok(None) => self.dials.push((key, dial)),
            Err(error) => self.dial_failed(key, error),
        }
    }

    /// Listens where the other side of a dialed connection sees this node, if it listens for this machine only. Otherwise
    /// the other members could not reach it.
    fn listen_where(&mut self, connection: &dyn Connection) {
        let Learned::Listen(address) = self.hub.learn(connection, true) else { return };
        let listening = self.hub.permit(&address).and_then(|()| {
            let (at, door) = serving(&self.hub.transports, &address)?.listen(&address)?;
            Ok((at, Listener::new(&self.hub, door)?))
        });
        match listening {
            Ok((at, listener)) => {
                self.listeners.push(listener);
                self.hub.with(|state| {
                    state.places.listens(at);
                    state.tell_places();
                });
            }
            // Without it, this node is reached only over the connections that it makes.
            Err(error) => {
                let failure = Error::new(error.code()).at(format!("listening at {address}"));
                let failure =
                    failure.expected("an address where other members reach this node (--listen, --advertise)");
                self.hub.with(|state| state.machine.note_failure(&failure.found(error.actual())));
            }
        }
    }

    fn dial_failed(&mut self, key: DialKey, error: Error) {
        self.hub.with(|state: &mut State| state.machine.dial_failed(self.hub.now(), key, error));
        self.next_round = Time::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::listener;
    use crate::drive::machine::Machine;
    use crate::transport::usual;
    use isoform_channel_proto::{Key, Settings};
    use std::net::TcpStream;

    #[test]
    fn many_who_connect_at_once_are_accepted_in_turns() {
        const SOME: u64 = listener::MOST_ACCEPTED as u64;
        let machine = Machine::new(Key::from_seed([1; 32]), Settings::default());
        let hub = Arc::new(Hub::new(machine, usual(), false).unwrap());
        let listen = || {
            let address = "127.0.0.1:0".parse::<Address>().unwrap();
            serving(&hub.transports, &address).unwrap().listen(&address).unwrap()
        };
        let ((address, flooded), (quiet_address, quiet)) = (listen(), listen());
        let mut keeper = Keeper::new(hub.clone(), vec![flooded, quiet], None).unwrap();
        let connect = |address: &Address| TcpStream::connect(address.bare()).unwrap();
        let _flood: Vec<_> = (0..SOME + 10).map(|_| connect(&address)).collect();
        let _other = connect(&quiet_address);
        let mut turn = || {
            hub.lock().knocked = true;
            keeper.answer_doors();
            (hub.lock().connections, keeper.doors_within() == Duration::ZERO)
        };
        assert_eq!(turn(), (SOME + 1, true), "another listener has its turn, and the keeper comes back at once");
        assert_eq!(turn(), (SOME + 11, false), "nobody knocked meanwhile");
    }
}
