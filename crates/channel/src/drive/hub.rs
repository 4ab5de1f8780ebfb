//! What all threads of a node share: the protocol under its lock, the poller, and who waits for what.
//!
//! Whoever calls the protocol does what it asks for afterwards ([`Hub::with`]): threads that wait are told with the lock held,
//! what needs more than that is done after it was released. Writing is in `output`, reading in `input`, waiting in `wait`, and what
//! nobody else does in `keeper`.

use super::bell::Bell;
use super::lookout::{Lookout, Next};
use super::machine::Machine;
use super::state::State;
use super::waiter::{Rung, Waiter};
use super::wire::Wire;
use crate::transport::address::Address;
use crate::transport::poll::{Interest, Poller};
use crate::transport::{Connection, Ready, Transports, Watch};
use isoform::{Error, Result};
use isoform_channel_proto::{Action, ConnId, DialKey, Outgoing, Time};
use portable_atomic::AtomicI64;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Longer than this, nobody waits without looking around.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

pub(crate) struct Hub {
    state: Mutex<State>,
    pub(super) poller: Arc<Poller>,
    pub(crate) lookout: Lookout,
    /// The one connection that whoever leads waits for within reading it, of which the poller is not told. For whoever leads.
    pub(super) muted: Mutex<Option<Arc<Wire>>>,
    /// The node's own thread, as far as it waits.
    pub(super) keeper: Arc<Waiter>,
    /// When the node's clock began.
    start: Instant,
    /// What the time of day is when that clock shows zero, in nanoseconds since 1970.
    wall: AtomicI64,
    /// The keeper shall end. Whoever says so rings it.
    pub(crate) stopping: AtomicBool,
    /// The keeper has ended, as it never should before it is told to. Looked at every now and then.
    pub(crate) broken: AtomicBool,
    insecure: bool,
    pub(crate) transports: Transports,
    /// The process that has made the node.
    process: u32,
}

/// Something that is to be done with the lock released.
pub(super) enum Effect {
    /// To write what was taken for that from the protocol, and more if there is.
    Write(Arc<Wire>, bool),
    /// To say these last words, and end a connection.
    Close(Arc<Wire>, Vec<u8>),
    /// To end a connection that nobody can wait for.
    Lose(Arc<Wire>, Error),
    /// Not with the lock held: whatever the task does then may come back to this node.
    Wake(task::Waker),
    RingKeeper,
}

/// Most often there is one, or none.
pub(super) type Effects = SmallVec<[Effect; 1]>;

impl Hub {
    pub(crate) fn new(machine: Machine, transports: Transports, insecure: bool) -> Result<Hub> {
        let hub = Hub {
            state: Mutex::new(State::new(machine)),
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
    pub(super) fn set_wall(&self) {
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
            self.perform(effects);
        }
    }

    /// Takes what the machine asks for, and does what needs no system call. Given the time, what was made for connections that
    /// are busy now gathers; else it is written at once. For the connection that is being `filled`, that is seen to.
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
                Action::Wake(sink) => self.ring(state.sinks.get(&sink).map(|seat| &seat.bell), effects),
                Action::Room(source) => self.ring(state.sources.get(&source), effects),
                Action::Opened(open) => self.ring(state.opens.get(&open), effects),
                Action::Changed(channel) => {
                    for (&source, bell) in &state.sources {
                        bell.hear(state.machine.listeners(source) > 0 || !state.machine.has_source(source));
                    }
                    let watching = state.watchers.iter().filter(|(watched, _)| *watched == channel);
                    self.ring(watching.map(|(_, bell)| bell), effects);
                }
                Action::Dial(dial, address) => {
                    state.dials.push((dial, address));
                    effects.push(Effect::RingKeeper);
                }
            }
        }
    }

    /// There is something to write to a connection: it is taken from the protocol here, to be written at once, or gathers. Whether
    /// it was taken.
    fn write_soon(&self, state: &mut State, effects: &mut Effects, now: Option<Time>, id: ConnId) -> bool {
        let State { machine, by_id, gathering, busy, .. } = state;
        let Some(wire) = by_id.get(&id) else { return false };
        if now.is_none_or(|now| wire.is_quiet(now)) || machine.has_much(id) {
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

    /// Does what needs system calls.
    pub(super) fn perform(&self, effects: Effects) {
        for effect in effects {
            match effect {
                Effect::Write(wire, more) => self.write(&wire, more, false),
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

    /// A connection is gone.
    pub(super) fn lose(&self, wire: &Wire, why: Option<Error>) {
        wire.connection.end();
        self.with(|state| {
            state.by_id.remove(&wire.id);
            state.machine.closed(self.now(), wire.id, why);
        });
        self.retire(wire);
        // There may be something to be done at a time that is now another one.
        self.ring_keeper();
    }

    /// Nobody waits for a connection any more.
    fn retire(&self, wire: &Wire) {
        wire.retire(&self.poller);
        if wire.flow.close() {
            self.lookout.unblock();
        }
    }

    /// A connection has come about.
    pub(super) fn connected(&self, connection: Box<dyn Connection>, dial: Option<DialKey>) {
        let added = self.with(|state| {
            state.connections += 1;
            let id = ConnId(state.connections);
            let ahead = connection.ahead();
            let wire = Arc::new(Wire::new(id, connection));
            // Before there is anything to write, for which it would have to wait.
            let added = match wire.connection.watch() {
                Watch::Handle(handle) => self.poller.add(id.0, handle, Interest::Read),
                Watch::Told { .. } => Ok(()),
            };
            state.by_id.insert(id, wire.clone());
            state.machine.connected(self.now(), id, dial);
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
                // What came before, nobody was told of.
                wire.tell_rest(&self.poller);
            }
            Err((wire, error)) => self.lose(&wire, Some(error)),
        }
        self.ring_keeper();
    }

    /// Has the keeper look around.
    pub(crate) fn ring_keeper(&self) {
        self.ring_waiter(&self.keeper);
    }

    fn ring_waiter(&self, waiter: &Waiter) {
        if waiter.ring() == Rung::WakePoller {
            self.poller.wake();
        }
    }

    /// Tells whoever shall wait at the poller next.
    pub(super) fn tell(&self, next: Next) {
        match next {
            Next::Nobody => {}
            Next::Follower(waiter) => self.ring_waiter(&waiter),
            Next::Keeper => self.ring_keeper(),
        }
    }

    /// Tells those who wait to look again. Tasks are woken later.
    fn ring<'b>(&self, bells: impl IntoIterator<Item = &'b Arc<Bell>>, effects: &mut Effects) {
        for task in bells.into_iter().filter_map(|bell| bell.ring(&self.poller)) {
            effects.push(Effect::Wake(task));
        }
    }

    /// Lets every thread that waits look around: the keeper has ended.
    pub(crate) fn wake_all(&self) {
        let state = self.lock();
        let sinks = state.sinks.values().map(|seat| &seat.bell);
        let all = sinks.chain(state.sources.values()).chain(state.opens.values());
        let all = all.chain(state.watchers.iter().map(|(_, bell)| bell));
        let tasks: Vec<task::Waker> = all.filter_map(|bell| bell.ring(&self.poller)).collect();
        drop(state);
        tasks.into_iter().for_each(task::Waker::wake);
    }

    /// Tells the threads that wait with a bell, and no task.
    pub(crate) fn wake_threads(&self, bell: &Bell) {
        bell.wake_threads(&self.poller);
    }

    /// Nobody waits for changes of a channel with this bell any more.
    pub(crate) fn unwatch(&self, bell: &Arc<Bell>) {
        self.lock().watchers.retain(|(_, other)| !Arc::ptr_eq(other, bell));
    }

    /// Whether this process was forked by the one that has made the node. The connections are those of that process, and its
    /// threads are missing here. So a handle that this process drops must touch nothing.
    pub(crate) fn is_inherited(&self) -> bool {
        std::process::id() != self.process
    }

    /// Whether an address may be dialed, or listened at.
    pub(crate) fn permit(&self, address: &Address) -> Result<()> {
        address.permit(self.insecure)
    }
}
