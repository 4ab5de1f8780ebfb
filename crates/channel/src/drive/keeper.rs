//! The one thread that a node has of its own. It does what no thread of the application is there for: accepting and dialing,
//! what time brings, writing what has gathered, and waiting at the poller when nobody else does.

use super::hub::{Hub, LOOK};
use super::state::State;
use super::wait::DOORS;
use super::wire::Wire;
use crate::transport::address::Address;
use crate::transport::poll::Interest;
use crate::transport::{Awaited, Door, Ready, serving};
use isoform::{Error, Result};
use isoform_channel_proto::{DialKey, Time};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long events gather before they are written.
const GATHER: Duration = Duration::from_micros(100);
/// After so many looks that found nothing, whoever makes the next event wakes the keeper.
const LOOKS: u32 = 20;
/// If no thread of the application has led for so long, the keeper leads.
const UNATTENDED: Duration = Duration::from_millis(10);
/// How soon whoever fills a connection comes back to it.
const RETURN: Duration = Duration::from_millis(1);
/// How often acknowledgements are looked after, while there is traffic.
const ROUND: Duration = Duration::from_millis(10);
/// A round that comes so late tells that this process was stopped.
const STOPPED: Duration = Duration::from_secs(3);
/// How long a connection may take to come about.
const PATIENCE: Duration = Duration::from_secs(5);
/// How soon a connection is asked for again of which nothing tells that it has come about.
const AGAIN: Duration = Duration::from_millis(1);
/// How long a listener rests that has failed.
const REST: Duration = Duration::from_millis(100);

pub(crate) struct Keeper {
    hub: Arc<Hub>,
    listeners: Vec<Box<dyn Door>>,
    /// Until when the listeners rest.
    resting: Option<Instant>,
    dials: Vec<(DialKey, Box<dyn Door>)>,
    /// Looks in a row that found nothing to write.
    idle: u32,
    /// How often threads of the application had led when the keeper last looked, and since when it has been so often.
    turns: u32,
    turns_since: Time,
    /// Connections took no more at the last look, and nobody waited for them.
    was_left: bool,
    last_round: Time,
    next_round: Time,
    next_clock: Time,
}

impl Keeper {
    /// The keeper of a node that listens there.
    ///
    /// # Errors
    /// [`Code::Io`](isoform::Code::Io), if the system has no memory for it.
    pub(crate) fn new(hub: Arc<Hub>, mut listeners: Vec<Box<dyn Door>>) -> Result<Keeper> {
        for listener in &mut listeners {
            await_door(&hub, &mut **listener, true)?;
        }
        Ok(Keeper {
            hub,
            listeners,
            resting: None,
            dials: Vec::new(),
            idle: LOOKS,
            turns: 0,
            turns_since: Time::ZERO,
            was_left: false,
            last_round: Time::ZERO,
            next_round: Time::ZERO,
            next_clock: Time::ZERO,
        })
    }

    /// Works until the node stops.
    pub(crate) fn run(mut self) {
        let hub = self.hub.clone();
        while !hub.stopping.load(Ordering::Acquire) {
            // From here on, whoever has something for the keeper rings, and it looks at everything again.
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

    /// What time brings.
    fn round(&mut self, now: Time) {
        let hub = &self.hub;
        if now >= self.next_clock {
            self.next_clock = now + LOOK;
            hub.set_wall();
        }
        // Who was stopped has not listened, which is nobody else's silence.
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

    /// What has gathered, and is to be written.
    fn gathered(&mut self) -> Vec<Arc<Wire>> {
        let mut state = self.hub.lock();
        let gathered = std::mem::take(&mut state.gathering);
        if !gathered.is_empty() || (state.is_gathering && self.idle >= LOOKS) {
            self.idle = 0;
        } else if self.idle < LOOKS {
            self.idle += 1;
            // From here on, whoever makes something rings: that is said with the lock held.
            state.is_gathering = self.idle < LOOKS;
        }
        gathered
    }

    /// Waits once, at the poller or asleep, and does what can be done then.
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
        // Connections take no more, and nobody waits for them. A thread that always comes back has until the next look.
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
            // Whoever leads may stop to, or read one connection alone.
            hub.keeper.park(timeout.min(UNATTENDED));
            hub.lock().knocked = true;
        }
    }

    /// Waits at the poller.
    fn lead(&mut self, timeout: Duration) {
        let hub = &self.hub;
        if !hub.keeper.poll() {
            return;
        }
        let readies = hub.wait_at_poller(timeout);
        // Whoever rings from here on finds a thread that looks around before it waits again.
        if hub.keeper.look() {
            self.next_round = Time::ZERO;
        }
        match readies {
            Ok(readies) => _ = hub.attend(&readies),
            // If the system has no memory for it, the next round is as good.
            Err(_) => std::thread::sleep(ROUND),
        }
    }

    /// How soon doors are to be looked at that tell nothing of themselves.
    fn doors_within(&self) -> Duration {
        let tells = |dial: &dyn Door| !matches!(dial.awaits(), Awaited::Soon);
        let resting = self.resting.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
        match self.dials.iter().all(|(_, dial)| tells(&**dial)) {
            // One that tells of itself may still be late.
            true if self.dials.is_empty() => resting,
            true => resting.min(ROUND),
            false => resting.min(AGAIN),
        }
    }

    /// Accepts connections, and goes on dialing.
    fn answer_doors(&mut self) {
        let (dials, knocked) = {
            let mut state = self.hub.lock();
            (std::mem::take(&mut state.dials), std::mem::take(&mut state.knocked))
        };
        let rested = self.resting.is_some_and(|until| until <= Instant::now());
        if rested || knocked && self.resting.is_none() {
            self.accept();
        }
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

    fn accept(&mut self) {
        self.resting = None;
        for listener in &mut self.listeners {
            let accepted = loop {
                match listener.next() {
                    Ok(Some(connection)) => self.hub.connected(connection, None),
                    Ok(None) => break await_door(&self.hub, &mut **listener, false),
                    Err(error) => break Err(error),
                }
            };
            if accepted.is_err() {
                self.resting = Some(Instant::now() + REST);
            }
        }
    }

    fn go_on(&mut self, key: DialKey, mut dial: Box<dyn Door>) {
        let gone_on = dial.next().and_then(|connection| match connection {
            Some(connection) => Ok(Some(connection)),
            None => await_door(&self.hub, &mut *dial, true).map(|()| None),
        });
        match gone_on {
            Ok(Some(connection)) => self.hub.connected(connection, Some(key)),
            Ok(None) => self.dials.push((key, dial)),
            Err(error) => self.dial_failed(key, error),
        }
    }

    fn dial_failed(&mut self, key: DialKey, error: Error) {
        self.hub.with(|state: &mut State| state.machine.dial_failed(self.hub.now(), key, error));
        self.next_round = Time::ZERO;
    }
}

/// Has the poller wait for a door, once; `anew` if it does not know it.
fn await_door(hub: &Hub, door: &mut dyn Door, anew: bool) -> Result<()> {
    let (handle, interest) = match door.awaits() {
        Awaited::Read(handle) => (handle, Interest::ReadOnce),
        Awaited::Write(handle) => (handle, Interest::WriteOnce),
        Awaited::Told if anew => {
            door.tell(Ready::new(hub.poller.clone(), DOORS));
            // It may have been ready before it could tell.
            hub.poller.tell(DOORS);
            return Ok(());
        }
        Awaited::Told | Awaited::Soon => return Ok(()),
    };
    match anew {
        true => hub.poller.add(DOORS, handle, interest),
        false => hub.poller.change(DOORS, handle, interest),
    }
}
