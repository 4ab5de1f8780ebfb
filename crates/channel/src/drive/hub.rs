//! The shared part of a node's threads: the protocol under its lock, the poller, and the waiters.
//!
//! A thread that calls the protocol takes the resulting actions ([`Hub::with`]): it tells waiting threads while it holds the lock,
//! and does everything else after it has released the lock. `output` writes, `input` reads, `wait` waits, and `keeper` does the rest.

use super::bell::Bell;
use super::lent::Loan;
use super::listener::Counted;
use super::lookout::{Lookout, Next};
use super::machine::Machine;
use super::output::FILLS;
use super::places::Learned;
use super::state::State;
use super::waiter::{Rung, Waiter};
use super::wire::Wire;
use crate::transport::address::Address;
use crate::transport::poll::{Interest, Poller};
use crate::transport::{Connection, Ready, Transports, Watch, serving};
use isoform::{Error, Result};
use isoform_channel_proto::{Action, ConnId, DialKey, Outgoing, SourceKey, Time};
use parking_lot::MutexGuard;
use portable_atomic::AtomicI64;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// No thread waits longer than this without checking whether the node still works.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// The most connections to which a thread that calls the protocol writes. A source with thousands of sinks leaves the others to the
/// keeper, which writes several events at once.
const WRITES: usize = 64;
/// After so many bytes, it writes to the next connections only what is taken already, so that long events hold up no thread for long.
const WRITTEN: usize = 4 << 20;

pub(crate) struct Hub {
    /// This lock is fair: of a thread that reads much and one that submits now and then, both get their turn.
    state: parking_lot::Mutex<State>,
    pub(super) poller: Arc<Poller>,
    pub(crate) lookout: Lookout,
    /// The only connection, if the leading thread reads it directly. The poller then does not watch it. Only the
    /// leading thread changes this.
    pub(super) muted: Mutex<Option<Arc<Wire>>>,
    /// The waiter of the keeper, the node's own thread.
    pub(super) keeper: Arc<Waiter>,
    /// The start of the node's clock.
    start: Instant,
    /// The time of day at the start of that clock, in nanoseconds since 1970.
    wall: AtomicI64,
    /// Asks the keeper to end. It must also be rung.
    pub(crate) stopping: AtomicBool,
    /// The keeper has ended before it was asked to, because of a defect. Waiting threads check this now and then.
    pub(crate) broken: AtomicBool,
    insecure: bool,
    pub(crate) transports: Transports,
    /// The process that created the node.
    process: u32,
}

/// Work that is done after the lock is released.
pub(super) enum Effect {
    /// Write the output that was taken from the protocol, and more if there is any.
    Write(Arc<Wire>, bool),
    /// Write these last bytes, and end the connection.
    Close(Arc<Wire>, Vec<u8>),
    /// End a connection that the poller cannot watch.
    Lose(Arc<Wire>, Error),
    /// Wake a task. That must not happen under the lock, since the task may call this node.
    Wake(task::Waker),
    RingKeeper,
}

/// There is usually one, or none.
pub(super) type Effects = SmallVec<[Effect; 1]>;

impl Hub {
    pub(crate) fn new(machine: Machine, transports: Transports, insecure: bool) -> Result<Hub> {
        let hub = Hub {
            state: parking_lot::Mutex::new(State::new(machine)),
            poller: Arc::new(Poller::new()?),
            lookout: Lookout::new(),
            muted: Mutex::default(),
            keeper: Arc::new(Waiter::new()),
            start: Instant::now(),
            wall: AtomicI64::new(0),
            stopping: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            insecure,
            transports,
            process: std::process::id(),
        };
        hub.set_wall();
        Ok(hub)
    }

    /// The time since the start of the node's clock.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        self.start.elapsed()
    }

    /// The time of day, derived from the node's clock. So an event needs only one clock.
    #[inline]
    pub(crate) fn wall(&self, now: Time) -> u64 {
        self.wall.load(Ordering::Relaxed).saturating_add(now.as_nanos() as i64).max(0) as u64
    }

    /// Sets the time of day from the system's clock.
    pub(super) fn set_wall(&self) {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64;
        self.wall.store(wall - self.now().as_nanos() as i64, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked left the machine in a usable state, since the calls of the machine do not call back.
        self.state.lock()
    }

    /// Calls the machine, and then takes its actions.
    pub(crate) fn with<R>(&self, call: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        let result = call(&mut state);
        self.follow(state, None);
        result
    }

    /// Takes the actions of the machine after a source has submitted a body that this thread lends. A `patient` thread
    /// waits for a little while until the connection to a lossless sink, if that is the only one, takes the body: it would
    /// wait for the sink anyway, and a copy costs more.
    pub(crate) fn follow_lent(
        &self,
        mut state: MutexGuard<'_, State>,
        now: Time,
        source: SourceKey,
        loan: &Loan<'_>,
        patient: bool,
    ) {
        let mut effects = Effects::new();
        self.collect(&mut state, &mut effects, Some(now), None);
        let one = state.machine.listeners(source) == 1;
        let wait = patient && one && state.machine.is_lossless(source);
        loan.keep_unless_only_in(&effects, one);
        drop(state);
        self.perform_lent(effects, wait, Some(loan));
    }

    /// Takes the actions of the machine after a call.
    #[inline]
    pub(crate) fn follow(&self, mut state: MutexGuard<'_, State>, now: Option<Time>) {
        if state.machine.has_action() {
            let mut effects = Effects::new();
            self.collect(&mut state, &mut effects, now, None);
            drop(state);
            self.perform(effects);
        }
    }

    /// Collects the actions of the machine, and does those that need no system call. If `now` is given, output for busy
    /// connections gathers; otherwise it is written at once. The connection that is being `filled` is left alone, since
    /// its thread takes the output.
    pub(super) fn collect(
        &self,
        state: &mut State,
        effects: &mut Effects,
        now: Option<Time>,
        mut filled: Option<ConnId>,
    ) {
        while let Some(action) = state.machine.action() {
            match action {
                Action::Write(id) if Some(id) == filled => {}
                Action::Write(id) => {
                    if self.write_soon(state, effects, now, id) {
                        filled = Some(id);
                    }
                }
                Action::Close(id) => {
                    let mut out = Outgoing::default();
                    state.machine.output(self.now(), id, &mut out);
                    if let Some(wire) = state.by_id.remove(&id) {
                        effects.push(Effect::Close(wire, out.to_vec()));
                    }
                }
                Action::Read(id) => {
                    let Some(wire) = state.by_id.get(&id) else { continue };
                    match wire.unmute(&self.poller) {
                        // It may hold what has arrived.
                        Ok(()) => wire.tell_rest(&self.poller, true),
                        Err(error) => effects.push(Effect::Lose(wire.clone(), error)),
                    }
                }
                Action::Wake(sink) => {
                    state.make_ready(sink);
                    self.ring(state.sinks.get(&sink).map(|seat| &seat.bell), effects);
                }
                Action::Room(source) => self.ring(state.sources.get(&source), effects),
                Action::Opened(open) => self.ring(state.opens.get(&open), effects),
                Action::Changed(channel) => {
                    let watching = state.watchers.iter().filter(|(watched, _)| *watched == channel);
                    self.ring(watching.map(|(_, bell)| bell), effects);
                }
                Action::Tick => effects.push(Effect::RingKeeper),
                Action::Dial(dial, address) => {
                    state.dials.push((dial, address));
                    effects.push(Effect::RingKeeper);
                }
            }
        }
    }

    /// A connection has output. Either takes it from the protocol, to be written at once, or lets it gather. Returns
    /// whether it was taken.
    fn write_soon(&self, state: &mut State, effects: &mut Effects, now: Option<Time>, id: ConnId) -> bool {
        let State { machine, by_id, gathering, busy, .. } = state;
        let Some(wire) = by_id.get(&id) else { return false };
        let is_prompt = now.is_none_or(|now| wire.is_quiet(now)) || machine.has_much(id);
        if is_prompt && (now.is_none() || effects.len() < WRITES) {
            let mine = wire.flow.begin();
            if mine {
                *busy = now.unwrap_or_else(|| self.now());
                let more = wire.fill(machine, *busy);
                effects.push(Effect::Write(wire.clone(), more));
            }
            return mine;
        }
        if wire.flow.owe() {
            gathering.push(wire.clone());
            state.let_keeper_gather(effects);
        }
        false
    }

    /// Does the work that needs system calls.
    pub(super) fn perform(&self, effects: Effects) {
        self.perform_lent(effects, false, None);
    }

    /// The same. The output may have a body that this thread lends; it may `wait` for room, but not for long.
    fn perform_lent(&self, effects: Effects, wait: bool, loan: Option<&Loan<'_>>) {
        let mut written = 0;
        for effect in effects {
            match effect {
                Effect::Write(wire, more) => {
                    let fills = if written < WRITTEN { FILLS } else { 0 };
                    written += self.write_lent(&wire, more, fills, wait, loan);
                }
                Effect::Close(wire, farewell) => {
                    wire.say_farewell(&farewell);
                    self.retire(&wire);
                }
                Effect::Lose(wire, why) => self.lose(&wire, Some(why)),
                Effect::Wake(task) => task.wake(),
                Effect::RingKeeper => self.ring_keeper(),
            }
        }
    }

    /// A connection has ended.
    pub(super) fn lose(&self, wire: &Wire, why: Option<Error>) {
        wire.connection.end();
        self.with(|state| {
            state.by_id.remove(&wire.id);
            state.machine.closed(self.now(), wire.id, why);
        });
        self.retire(wire);
        // The next deadline may have changed.
        self.ring_keeper();
    }

    /// Stops watching a connection.
    fn retire(&self, wire: &Wire) {
        wire.retire(&self.poller);
        if wire.flow.close() {
            self.lookout.unblock();
        }
    }

    /// Learns where others reach this node, from a connection that has just been made.
    pub(super) fn learn(&self, connection: &dyn Connection, is_dialed: bool) -> Learned {
        let Some(own) = connection.own() else { return Learned::Nothing };
        self.with(|state| {
            let learned = state.places.learn(own, is_dialed);
            if learned == Learned::Found {
                state.tell_places();
            }
            learned
        })
    }

    /// A connection was accepted, which may count at its listener.
    pub(super) fn accepted(&self, connection: Box<dyn Connection>, counted: Option<Counted>) {
        self.learn(&*connection, false);
        self.connected(connection, None, counted);
    }

    /// A connection was established. One that was accepted may count at its listener.
    pub(super) fn connected(&self, connection: Box<dyn Connection>, dial: Option<DialKey>, counted: Option<Counted>) {
        let credentials = connection.credentials();
        let added = self.with(|state| {
            state.connections += 1;
            let id = ConnId(state.connections);
            let ahead = connection.ahead();
            let wire = Arc::new(Wire::new(id, connection, counted));
            // This comes before there is any output that could find the connection full.
            let added = match wire.connection.watch() {
                Watch::Handle(handle) => self.poller.add(id.0, handle, Interest::Read),
                Watch::Told { .. } => Ok(()),
            };
            state.by_id.insert(id, wire.clone());
            let is_costly = dial.is_none() && wire.connection.begins_with_work();
            let now = self.now();
            state.machine.connected(now, id, dial, credentials);
            if is_costly && !state.machine.may_read(now, id) {
                wire.mute(&self.poller);
            }
            if let Some(ahead) = ahead {
                state.machine.let_ahead(id, ahead);
            }
            match added {
                Ok(()) => Ok(wire),
                Err(error) => Err((wire, error)),
            }
        });
        match added {
            Ok(wire) => {
                wire.connection.tell(Ready::new(self.poller.clone(), wire.id.0));
                // Bytes that arrived before this were not reported.
                wire.tell_rest(&self.poller, false);
            }
            Err((wire, error)) => self.lose(&wire, Some(error)),
        }
        self.ring_keeper();
    }

    /// Makes the keeper look again.
    pub(crate) fn ring_keeper(&self) {
        self.ring_waiter(&self.keeper);
    }

    fn ring_waiter(&self, waiter: &Waiter) {
        if waiter.ring() == Rung::WakePoller {
            self.poller.wake();
        }
    }

    /// Tells the thread that should wait at the poller next.
    pub(crate) fn tell(&self, next: Next) {
        match next {
            Next::Nobody => {}
            Next::Follower(waiter) => self.ring_waiter(&waiter),
            Next::Keeper => self.ring_keeper(),
        }
    }

    /// Tells waiters to look again. Tasks are woken later.
    fn ring<'b>(&self, bells: impl IntoIterator<Item = &'b Arc<Bell>>, effects: &mut Effects) {
        for task in bells.into_iter().filter_map(|bell| bell.ring(&self.poller)) {
            effects.push(Effect::Wake(task));
        }
    }

    /// Makes all waiting threads look again, because the keeper has ended.
    pub(crate) fn wake_all(&self) {
        let state = self.lock();
        let sinks = state.sinks.values().map(|seat| &seat.bell);
        let all = sinks.chain(state.sources.values()).chain(state.opens.values());
        let all = all.chain(state.watchers.iter().map(|(_, bell)| bell));
        let tasks: Vec<task::Waker> = all.filter_map(|bell| bell.ring(&self.poller)).collect();
        drop(state);
        tasks.into_iter().for_each(task::Waker::wake);
    }

    /// Tells the threads that wait with a bell, but not its task.
    pub(crate) fn wake_threads(&self, bell: &Bell) {
        bell.wake_threads(&self.poller);
    }

    /// This bell no longer waits for changes of a channel.
    pub(crate) fn unwatch(&self, bell: &Arc<Bell>) {
        self.lock().watchers.retain(|(_, other)| !Arc::ptr_eq(other, bell));
    }

    /// Whether this process was forked from the one that created the node. The connections belong to that process, and its
    /// threads are missing here. So a handle that this process drops must touch nothing.
    pub(crate) fn is_inherited(&self) -> bool {
        std::process::id() != self.process
    }

    /// Checks whether the node may dial an address, or listen at it.
    pub(crate) fn permit(&self, address: &Address) -> Result<()> {
        let protects = || serving(&self.transports, address).is_ok_and(|transport| transport.protects(address));
        address.permit(self.insecure || protects())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::machine::Sent;
    use crate::{Event, Node};
    use isoform::{Aligned, Messages, Record, Shared};

    #[derive(Record)]
    #[repr(C)]
    struct Tick {
        count: u64,
    }

    #[test]
    fn a_thread_that_submits_an_event_writes_to_some_sinks_and_leaves_the_others_to_the_keeper() {
        const OTHERS: usize = 6;
        let near = Node::new().unwrap();
        let channel = near.create_with("ticks", None).unwrap();
        let source = channel.source::<Messages>().unwrap();
        let far: Vec<_> = (0..WRITES + OTHERS).map(|_| Node::new().unwrap()).collect();
        let at = |node: &Node| node.open(channel.id().to_string()).unwrap().sink::<Messages>().unwrap();
        let mut sinks: Vec<_> = far.iter().map(at).collect();
        source.wait_for_sinks(sinks.len(), Duration::from_secs(60)).unwrap();
        let hub = &near.life.hub;
        let (mut state, now) = loop {
            let (state, now) = (hub.lock(), hub.now());
            if state.gathering.is_empty() && state.by_id.values().all(|wire| wire.is_quiet(now) && wire.flow.is_idle())
            {
                break (state, now);
            }
            drop(state);
            std::thread::sleep(Duration::from_millis(1));
        };
        let source = *state.sources.keys().next().unwrap();
        let body = Shared::of_body(Tick::format(), Aligned::from(&7u64.to_ne_bytes()[..])).unwrap();
        state.machine.submit_at(|| 0, source, Some(Tick::format()), &mut Sent::Shared(body)).unwrap();
        let mut effects = Effects::new();
        hub.collect(&mut state, &mut effects, Some(now), None);
        let writes = effects.iter().filter(|effect| matches!(effect, Effect::Write(..))).count();
        assert_eq!((writes, state.gathering.len()), (WRITES, OTHERS));
        drop(state);
        hub.perform(effects);
        for sink in &mut sinks {
            while !matches!(sink.recv().unwrap(), Event::Record { .. }) {}
        }
    }
}
