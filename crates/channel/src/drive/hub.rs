//! What all threads of a node share: the machine under its lock, the connections, and who waits for what.
//!
//! Whoever calls the machine does what it asks for afterwards ([`Hub::with`]): threads that wait are told with the lock held,
//! what needs more than that is done after it was released. Waiting is in [`crate::drive::wait`], what nobody else does in
//! [`crate::drive::keeper`].

use crate::drive::bell::Bell;
use crate::drive::machine::Machine;
use crate::drive::reader::{Came, Reader};
use crate::drive::state::State;
use crate::drive::wire::Wire;
use crate::transport::address::Address;
use crate::transport::poll::Waker;
use crate::transport::{Connection, Moved, Transports};
use isoform::{Error, Result};
use isoform_channel_proto::{Action, ConnId, DialKey, Outgoing, SourceKey, Time};
use portable_atomic::AtomicI64;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A connection over which nothing was written for so long is written to at once.
const QUIET: u64 = 5_000;
/// How often a thread that writes asks for more to write.
const FILLS: u32 = 64;
/// How often a connection that has more is read before anything else is looked at.
const READS: usize = 16;

pub(crate) struct Hub {
    state: Mutex<State>,
    /// When the node's clock began.
    start: Instant,
    /// What the time of day is when that clock shows zero, in nanoseconds since 1970.
    wall: AtomicI64,
    pub(crate) keeper: Waker,
    /// The keeper looks for output by itself every now and then: nobody needs to wake it for that.
    pub(crate) gathering: AtomicBool,
    pub(crate) stopping: AtomicBool,
    /// The keeper has ended, as it never should before it is told to.
    pub(crate) broken: AtomicBool,
    /// Threads that wait, and do not read all connections since others do.
    pub(crate) passengers: Mutex<Vec<Arc<Bell>>>,
    pub(crate) passenger_count: AtomicUsize,
    pub(crate) insecure: bool,
    pub(crate) transports: Transports,
}

/// Something that is to be done with the lock released.
enum Effect {
    Write(Arc<Wire>),
    /// To let the keeper look around for what is to be written.
    Gather,
    /// To say these last words, and end a connection.
    Close(Arc<Wire>, Vec<u8>),
    /// Not with the lock held: whatever the task does then may come back to this node.
    Wake(task::Waker),
    WakeKeeper,
}

/// Most often there is one, or none.
type Effects = SmallVec<[Effect; 1]>;

impl Hub {
    pub(crate) fn new(machine: Machine, transports: Transports, insecure: bool) -> Result<Hub> {
        let hub = Hub {
            state: Mutex::new(State::new(machine)),
            start: Instant::now(),
            wall: AtomicI64::new(0),
            keeper: Waker::new()?,
            gathering: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            passengers: Mutex::new(Vec::new()),
            passenger_count: AtomicUsize::new(0),
            insecure,
            transports,
        };
        hub.set_wall();
        Ok(hub)
    }

    /// The time since the node's clock began.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        self.start.elapsed()
    }

    /// The time of day, from the node's clock: a clock less to be read for each event.
    #[inline]
    pub(crate) fn wall(&self, now: Time) -> u64 {
        self.wall.load(Ordering::Relaxed).saturating_add(now.as_nanos() as i64).max(0) as u64
    }

    /// Compares the clocks.
    pub(crate) fn set_wall(&self) {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64;
        self.wall.store(wall - self.now().as_nanos() as i64, Ordering::Relaxed);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked has not left the machine amid a change that others could not go on from: its calls
        // do not call back.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the machine, and does what it asks for.
    pub(crate) fn with<R>(&self, call: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        let result = call(&mut state);
        self.follow(state, None);
        result
    }

    /// Does what the machine asks for, after it was called.
    #[inline]
    pub(crate) fn follow(&self, mut state: MutexGuard<'_, State>, now: Option<Time>) {
        if state.machine.has_action() {
            let mut effects = Effects::new();
            self.collect(&mut state, &mut effects, now, None);
            drop(state);
            self.perform(effects, now);
        }
    }

    /// Takes what the machine asks for, and does what needs no system call. Given the time, what was made for connections that
    /// are busy now gathers; else it is written at once. For the connection that is being written to, that is seen to.
    fn collect(&self, state: &mut State, effects: &mut Effects, now: Option<Time>, writing: Option<ConnId>) {
        while let Some(action) = state.machine.action() {
            match action {
                Action::Write(id) if Some(id) == writing => {}
                Action::Write(id) => {
                    let Some(wire) = state.by_id.get(&id) else { continue };
                    // In this order: whoever finds the socket ready says so first, and then looks whether there is more.
                    wire.more.store(true, Ordering::SeqCst);
                    if wire.blocked.load(Ordering::SeqCst) {
                        continue;
                    }
                    let quiet = now.is_none_or(|now| is_quiet(wire, now));
                    let at_once = quiet || state.machine.has_much(id);
                    effects.push(if at_once { Effect::Write(wire.clone()) } else { Effect::Gather });
                }
                Action::Close(id) => {
                    let mut out = Outgoing::default();
                    state.machine.output(self.now(), id, &mut out);
                    if let Some(wire) = state.remove(id) {
                        effects.push(Effect::Close(wire, out.to_vec()));
                    }
                }
                Action::Wake(sink) => ring(state.sinks.get(&sink).map(|seat| &seat.bell), effects),
                Action::Room(source) => ring(state.sources.get(&source), effects),
                Action::Opened(open) => ring(state.opens.get(&open), effects),
                Action::Changed(channel) => {
                    for (&source, bell) in &state.sources {
                        bell.hear(state.machine.listeners(source) > 0 || !state.machine.has_source(source));
                    }
                    let watching = state.watchers.iter().filter(|(watched, _)| *watched == channel);
                    ring(watching.map(|(_, bell)| bell), effects);
                }
                Action::Dial(dial, address) => {
                    state.dials.push((dial, address));
                    effects.push(Effect::WakeKeeper);
                }
            }
        }
    }

    /// Does what needs system calls. The time, if it was just looked at, is not looked at again.
    fn perform(&self, effects: Effects, now: Option<Time>) {
        for effect in effects {
            match effect {
                Effect::Write(wire) => self.write(&wire, now, false),
                Effect::Gather => self.let_keeper_gather(),
                Effect::Close(wire, farewell) => say_farewell(&wire, &farewell),
                Effect::Wake(task) => task.wake(),
                Effect::WakeKeeper => self.keeper.wake(),
            }
        }
    }

    /// Writes what there is to write to a connection, as much as goes without waiting. If another thread is at it, that
    /// one goes on.
    pub(crate) fn flush(&self, wire: &Wire) {
        self.write(wire, None, false);
    }

    /// The same for a thread that has to wait anyway: where a socket takes no more, it waits for that within writing.
    pub(crate) fn press(&self, wire: &Wire) {
        wire.pushed.store(true, Ordering::SeqCst);
        if wire.blocked.load(Ordering::SeqCst) && !wire.returns.swap(true, Ordering::SeqCst) {
            self.keeper.wake();
        }
        self.write(wire, None, true);
        wire.pushed.store(false, Ordering::SeqCst);
        if wire.blocked.load(Ordering::SeqCst) {
            self.leave_to_keeper(wire);
        }
    }

    fn write(&self, wire: &Wire, mut now: Option<Time>, wait: bool) {
        wire.more.store(true, Ordering::SeqCst);
        while wire.more.load(Ordering::SeqCst) {
            let mut writer = match wire.writer.try_lock() {
                Ok(writer) => writer,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            wire.more.store(false, Ordering::SeqCst);
            let mut effects = Effects::new();
            let now = now.take().unwrap_or_else(|| self.now());
            let mut has_more = true;
            for fill in 0.. {
                // Whoever writes does not do so for others without end.
                if fill == FILLS {
                    drop(writer);
                    wire.more.store(true, Ordering::SeqCst);
                    self.perform(effects, None);
                    return self.let_keeper_gather();
                }
                if writer.length() == 0 && has_more {
                    let mut state = self.lock();
                    writer.fill(|out| has_more = state.machine.output(now, wire.id, out));
                    if state.machine.has_action() {
                        self.collect(&mut state, &mut effects, Some(now), Some(wire.id));
                    }
                }
                if writer.length() == 0 {
                    wire.blocked.store(false, Ordering::SeqCst);
                    break;
                }
                let answers = wire.read.load(Ordering::Relaxed) > wire.wrote.load(Ordering::Relaxed);
                match writer.write(&*wire.connection, wait) {
                    Ok(Moved::Bytes(_)) => {
                        // Behind the call: on a busy machine it takes as long as whoever it has woken. For the first that is
                        // written since something was read, it does not matter.
                        let wrote = if answers { now } else { self.now() };
                        wire.wrote.store(wrote.as_nanos() as u64, Ordering::Relaxed);
                    }
                    Ok(Moved::Blocked) => {
                        let mut state = self.lock();
                        state.machine.unwritten(wire.id, writer.length());
                        self.collect(&mut state, &mut effects, Some(now), Some(wire.id));
                        drop(state);
                        if !wire.blocked.swap(true, Ordering::SeqCst) {
                            self.leave_to_keeper(wire);
                        }
                        break;
                    }
                    // Who reads learns why: the last words of the other node may still be there to read.
                    Ok(Moved::Closed) | Err(_) => {
                        wire.blocked.store(false, Ordering::Release);
                        wire.connection.end_writing();
                        break;
                    }
                }
            }
            drop(writer);
            self.perform(effects, None);
        }
    }

    /// Lets the keeper wait for a socket that takes no more, unless a thread does that waits, or will soon.
    pub(crate) fn leave_to_keeper(&self, wire: &Wire) {
        if !wire.pushed.load(Ordering::SeqCst) && !wire.returns.load(Ordering::SeqCst) {
            self.keeper.wake();
        }
    }

    /// Lets the keeper look around for what is to be written.
    fn let_keeper_gather(&self) {
        if !self.gathering.swap(true, Ordering::SeqCst) {
            self.keeper.wake();
        }
    }

    /// Writes whatever gathers; and to those sinks that a source waits for also if their sockets take no more, which this waits
    /// for. Whoever else takes nothing is not waited for.
    pub(crate) fn press_for(&self, source: SourceKey) {
        let (pressing, others) = self.unwritten_for(source);
        others.iter().filter(|wire| !wire.blocked.load(Ordering::SeqCst)).for_each(|wire| self.flush(wire));
        pressing.iter().for_each(|wire| self.press(wire));
    }

    /// The connections that there is something to be written to: first those to sinks that a source waits for, then the others.
    pub(crate) fn unwritten_for(&self, source: SourceKey) -> (Vec<Arc<Wire>>, Vec<Arc<Wire>>) {
        let mut state = self.lock();
        let awaited = state.machine.waits_over(source);
        let waits = |wire: &&Arc<Wire>| wire.more.load(Ordering::SeqCst) || wire.blocked.load(Ordering::SeqCst);
        state.wires.iter().filter(waits).cloned().partition(|wire| awaited.contains(&wire.id))
    }

    /// Reads what has come over a connection: a good deal of it at most.
    pub(crate) fn read(&self, wire: &Wire, reader: &mut Reader) {
        for _ in 0..READS {
            let came = reader.fill(&*wire.connection, false);
            if !self.take(wire, reader, came, |_| ()) {
                return;
            }
        }
    }

    /// Waits for something to come over a connection, for a little while, and reads it. Then looks at the state.
    pub(crate) fn wait_and_read(&self, wire: &Wire, reader: &mut Reader, look: impl FnOnce(&mut State)) {
        let came = reader.fill(&*wire.connection, true);
        if self.take(wire, reader, came, look) {
            self.read(wire, reader);
        }
    }

    /// Gives the machine what came, and looks at the state. Whether to read on at once: amid a long event. Else what has come is
    /// best used while it is in the processor's cache.
    fn take(&self, wire: &Wire, reader: &mut Reader, came: Came, look: impl FnOnce(&mut State)) -> bool {
        match came {
            Came::Nothing => false,
            Came::End(why) => {
                self.lose(wire, why);
                false
            }
            Came::Something(full) => {
                let now = self.now();
                wire.read.store(now.as_nanos() as u64, Ordering::Relaxed);
                // The machine closes the connection of whoever it does not understand.
                let fed = self.with(|state| {
                    state.now = now;
                    let fed = reader.feed(&mut state.machine, now, wire.id);
                    look(state);
                    fed
                });
                full && fed.is_ok() && reader.is_amid()
            }
        }
    }

    /// A connection is gone.
    pub(crate) fn lose(&self, wire: &Wire, why: Option<Error>) {
        wire.connection.end();
        self.with(|state| {
            state.remove(wire.id);
            state.machine.closed(self.now(), wire.id, why);
        });
        // There may be something to be done at a time that is now another one.
        self.keeper.wake();
    }

    /// A connection has come about.
    pub(crate) fn connected(&self, connection: Box<dyn Connection>, dial: Option<DialKey>) {
        self.with(|state| {
            state.connections += 1;
            let id = ConnId(state.connections);
            let ahead = connection.ahead();
            let wire = Arc::new(Wire::new(id, connection));
            state.by_id.insert(id, wire);
            state.changed_wires();
            state.machine.connected(self.now(), id, dial);
            if let Some(ahead) = ahead {
                state.machine.let_ahead(id, ahead);
            }
        });
        // Whoever waits has to wait for this one, too.
        self.keeper.wake();
        self.wake_drivers();
    }

    /// Lets every thread that waits look at what there is to wait for.
    pub(crate) fn wake_drivers(&self) {
        let state = self.lock();
        let sinks = state.sinks.values().map(|seat| &seat.bell);
        let all = sinks.chain(state.sources.values()).chain(state.opens.values());
        let all = all.chain(state.watchers.iter().map(|(_, bell)| bell));
        let tasks: Vec<task::Waker> = all.filter_map(|bell| bell.ring()).collect();
        drop(state);
        tasks.into_iter().for_each(task::Waker::wake);
    }

    /// Nobody waits for changes of a channel with this bell any more.
    pub(crate) fn unwatch(&self, bell: &Arc<Bell>) {
        self.lock().watchers.retain(|(_, other)| !Arc::ptr_eq(other, bell));
    }

    /// Whether an address may be dialed, or listened at.
    pub(crate) fn permit(&self, address: &Address) -> Result<()> {
        address.permit(self.insecure)
    }
}

/// Tells those who wait to look again. Tasks are woken later.
fn ring<'b>(bells: impl IntoIterator<Item = &'b Arc<Bell>>, effects: &mut Effects) {
    for task in bells.into_iter().filter_map(|bell| bell.ring()) {
        effects.push(Effect::Wake(task));
    }
}

/// Whether a system call for a single event pays: nothing was written of late, or something was answered.
#[inline]
fn is_quiet(wire: &Wire, now: Time) -> bool {
    let (wrote, read) = (wire.wrote.load(Ordering::Relaxed), wire.read.load(Ordering::Relaxed));
    read > wrote || now.as_nanos() as u64 > wrote + QUIET
}

/// Writes last words, if they can be written without waiting, and ends a connection.
fn say_farewell(wire: &Wire, farewell: &[u8]) {
    if let Ok(mut writer) = wire.writer.lock()
        && matches!(writer.write(&*wire.connection, false), Ok(Moved::Bytes(_)))
        && !farewell.is_empty()
    {
        writer.fill(|out| out.bytes.extend_from_slice(farewell));
        let _ = writer.write(&*wire.connection, false);
    }
    wire.connection.end();
}

/// Longer than this, nobody waits without looking around.
pub(crate) const LOOK: Duration = Duration::from_secs(1);
