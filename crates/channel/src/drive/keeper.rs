//! The one thread that a node has of its own. It does what no thread of the application is there for: accepting and dialing,
//! what time brings, writing what has gathered, and reading connections that nobody else reads.

use crate::drive::hub::{Hub, LOOK};
use crate::drive::reader::Reader;
use crate::drive::wire::Wire;
use crate::transport::address::Address;
use crate::transport::poll::{Entry, Interest, entry, ready, wait};
use crate::transport::{Awaited, Door, serving};
use isoform::Error;
use isoform_channel_proto::{DialKey, Time};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long events gather before they are written.
const GATHER: Duration = Duration::from_micros(100);
/// After so many looks that found nothing, whoever makes the next event wakes the keeper.
const LOOKS: u32 = 20;
/// A connection that no thread has read for so long is read here.
const UNATTENDED: Duration = Duration::from_millis(10);
/// How soon whoever fills a socket comes back to it.
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
    last_round: Time,
    next_round: Time,
    next_clock: Time,
}

impl Keeper {
    pub(crate) fn new(hub: Arc<Hub>, listeners: Vec<Box<dyn Door>>) -> Keeper {
        let (last_round, next_round, next_clock) = (Time::ZERO, Time::ZERO, Time::ZERO);
        Keeper { hub, listeners, resting: None, dials: Vec::new(), idle: 0, last_round, next_round, next_clock }
    }

    /// Works until the node stops.
    pub(crate) fn run(mut self) {
        let hub = self.hub.clone();
        while !hub.stopping.load(Ordering::Acquire) {
            self.start_dials();
            let wires = hub.lock().wires.clone();
            let now = hub.now();
            if is_busy(&wires, now) {
                self.next_round = self.next_round.min(self.last_round + ROUND);
            }
            if now >= self.next_round {
                self.round(now);
            }
            self.gather(&wires);
            self.turn(&wires);
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

    /// Writes what has gathered.
    fn gather(&mut self, wires: &[Arc<Wire>]) {
        let ready = |wire: &&Arc<Wire>| wire.more.load(Ordering::SeqCst) && !wire.blocked.load(Ordering::SeqCst);
        let waiting: Vec<&Arc<Wire>> = wires.iter().filter(ready).collect();
        self.idle = if waiting.is_empty() { self.idle.saturating_add(1) } else { 0 };
        if self.idle == LOOKS {
            self.hub.gathering.store(false, Ordering::SeqCst);
            // Who was just about to make something may not have woken anybody.
            if wires.iter().any(|wire| ready(&wire)) {
                self.hub.gathering.store(true, Ordering::SeqCst);
                self.idle = 0;
            }
        } else if self.idle > LOOKS && self.hub.gathering.load(Ordering::SeqCst) {
            self.idle = 0;
        }
        waiting.into_iter().for_each(|wire| self.hub.flush(wire));
    }

    /// Waits once, and does what can be done then.
    fn turn(&mut self, wires: &[Arc<Wire>]) {
        let hub = self.hub.clone();
        let mut seats = self.seats(wires);
        let busy = is_busy(wires, hub.now());
        let blocked: Vec<&Arc<Wire>> = wires.iter().filter(|wire| is_left(wire, busy)).collect();
        let listening = self.resting.is_none_or(|until| until <= Instant::now());
        let mut timeout = if self.idle < LOOKS { GATHER } else { self.next_round.saturating_sub(hub.now()) };
        if busy {
            timeout = timeout.min(ROUND);
        }
        if wires.iter().any(|wire| wire.returns.load(Ordering::SeqCst)) {
            timeout = timeout.min(RETURN);
        }
        if seats.len() < wires.len() {
            // Whoever reads the others may stop to.
            timeout = timeout.min(UNATTENDED);
        }
        let mut entries: Vec<Entry<'_>> = vec![entry(hub.keeper.as_fd(), Interest::Read)];
        entries.extend(seats.iter().map(|(wire, _)| entry(wire.connection.handle(), Interest::Read)));
        entries.extend(blocked.iter().map(|wire| entry(wire.connection.handle(), Interest::Write)));
        if listening {
            entries.extend(self.listeners.iter().filter_map(|listener| awaited(&**listener)));
        }
        for (_, dial) in &self.dials {
            let what = awaited(&**dial);
            // One that tells nothing of itself, or late, is asked again.
            timeout = timeout.min(if what.is_some() { ROUND } else { AGAIN });
            entries.extend(what);
        }
        // If the system has no memory for it, the next round is as good.
        let waited = wait(&mut entries, Some(timeout));
        let came: Vec<_> = entries.iter().map(ready).collect();
        drop(entries);
        if waited.is_err() {
            std::thread::sleep(ROUND);
        }
        if came[0].read {
            hub.keeper.drain();
            // Something has changed, and with it when there is something to do.
            self.next_round = Time::ZERO;
        }
        let (readable, rest) = came[1..].split_at(seats.len());
        let (writable, rest) = rest.split_at(blocked.len());
        let knocked = rest.iter().take(if listening { self.listeners.len() } else { 0 }).any(|came| came.read);
        for ((wire, reader), came) in seats.iter_mut().zip(readable) {
            if came.read || came.ended {
                hub.read(wire, reader);
            }
        }
        for (wire, came) in blocked.iter().zip(writable) {
            if (came.write || came.ended) && !wire.pushed.load(Ordering::SeqCst) {
                hub.flush(wire);
            }
        }
        release(&hub, seats);
        if knocked {
            self.accept();
        }
        self.go_on_dialing();
    }

    /// The connections that no thread of the application reads.
    fn seats<'w>(&self, wires: &'w [Arc<Wire>]) -> Vec<(&'w Arc<Wire>, MutexGuard<'w, Reader>)> {
        let now = self.hub.now();
        let free = |wire: &&Arc<Wire>| !wire.attendance.is_recent(now, UNATTENDED);
        let seats = wires.iter().filter(free).filter_map(|wire| Some((wire, wire.reader.try_lock().ok()?)));
        seats.inspect(|(wire, _)| wire.kept.store(true, Ordering::Release)).collect()
    }

    fn accept(&mut self) {
        self.resting = None;
        for listener in &mut self.listeners {
            loop {
                match listener.next() {
                    Ok(Some(socket)) => self.hub.connected(socket, None),
                    Ok(None) => break,
                    Err(_) => {
                        self.resting = Some(Instant::now() + REST);
                        break;
                    }
                }
            }
        }
    }

    fn start_dials(&mut self) {
        let dials = std::mem::take(&mut self.hub.lock().dials);
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

    fn go_on_dialing(&mut self) {
        for (key, dial) in std::mem::take(&mut self.dials) {
            self.go_on(key, dial);
        }
    }

    fn go_on(&mut self, key: DialKey, mut dial: Box<dyn Door>) {
        match dial.next() {
            Ok(Some(connection)) => self.hub.connected(connection, Some(key)),
            Ok(None) => self.dials.push((key, dial)),
            Err(error) => self.dial_failed(key, error),
        }
    }

    fn dial_failed(&mut self, key: DialKey, error: Error) {
        self.hub.with(|state| state.machine.dial_failed(self.hub.now(), key, error));
        self.next_round = Time::ZERO;
    }
}

/// What there is to wait for at a door, if the system tells.
fn awaited(door: &dyn Door) -> Option<Entry<'_>> {
    match door.awaits() {
        Awaited::Read(handle) => Some(entry(handle, Interest::Read)),
        Awaited::Write(handle) => Some(entry(handle, Interest::Write)),
        Awaited::Soon => None,
    }
}

/// Whether something went over a connection of late.
fn is_busy(wires: &[Arc<Wire>], now: Time) -> bool {
    let latest = |wire: &Arc<Wire>| wire.read.load(Ordering::Relaxed).max(wire.wrote.load(Ordering::Relaxed));
    wires.iter().map(latest).max().is_some_and(|latest| Duration::from_nanos(latest) + LOOK > now)
}

/// Whether nobody but the keeper waits for a socket that takes no more. A writer that always comes back has until the next look.
fn is_left(wire: &Wire, busy: bool) -> bool {
    if !busy {
        wire.returns.store(false, Ordering::SeqCst);
    }
    // Behind that: whoever still relied on it has said before that the socket takes no more.
    let left = wire.blocked.load(Ordering::SeqCst) && !wire.pushed.load(Ordering::SeqCst);
    let was_left = wire.left.swap(left, Ordering::Relaxed);
    if left && (was_left || !wire.returns.load(Ordering::SeqCst)) {
        wire.returns.store(false, Ordering::SeqCst);
        return true;
    }
    false
}

/// Gives the connections up, and lets those know who wait for that.
fn release(hub: &Hub, seats: Vec<(&Arc<Wire>, MutexGuard<'_, Reader>)>) {
    if seats.is_empty() {
        return;
    }
    drop(seats);
    if hub.passenger_count.load(Ordering::SeqCst) > 0 {
        let passengers = hub.passengers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(next) = passengers.first() {
            next.waker.wake();
        }
    }
}
