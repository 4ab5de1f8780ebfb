//! A transport in memory, for tests: queues of bytes between nodes of one process, at addresses that look like those of TCP.
//! No system is asked for anything, so that its connections tell by themselves when there is something to read.

use isoform::{Code, Error, Result};
use isoform_channel::Address;
use isoform_channel::transport::{Awaited, Connection, Door, Moved, PATIENCE, Ready, Transport, Watch};
use std::collections::{BTreeMap, VecDeque};
use std::io::{IoSlice, IoSliceMut};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

/// So much waits at most for whoever reads.
const ROOM: usize = 100_000;

/// Who listens where.
static LISTENING: Mutex<BTreeMap<Address, Arc<Queue<End>>>> = Mutex::new(BTreeMap::new());

static PORTS: AtomicU16 = AtomicU16::new(1);

#[derive(Debug)]
pub(crate) struct Memory;

/// What waits for somebody, who is told.
#[derive(Debug)]
struct Queue<T> {
    state: Mutex<Waiting<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Waiting<T> {
    items: VecDeque<T>,
    ended: bool,
    /// Who takes, and who puts.
    ready: Vec<Ready>,
}

/// Connections that come, at an address.
#[derive(Debug)]
struct Listener(Address, Arc<Queue<End>>);

/// A connection that was made at once.
#[derive(Debug)]
struct Dialed(Option<End>);

/// One end of a connection.
#[derive(Debug)]
struct End {
    incoming: Arc<Queue<u8>>,
    outgoing: Arc<Queue<u8>>,
    peer: String,
}

impl<T> Queue<T> {
    fn new() -> Arc<Queue<T>> {
        let state = Waiting { items: VecDeque::new(), ended: false, ready: Vec::new() };
        Arc::new(Queue { state: Mutex::new(state), changed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.state.lock().unwrap()
    }

    /// Changes it, and tells everybody.
    fn change<R>(&self, change: impl FnOnce(&mut Waiting<T>) -> R) -> R {
        let mut state = self.lock();
        let result = change(&mut state);
        self.changed.notify_all();
        let all = state.ready.clone();
        drop(state);
        all.iter().for_each(Ready::now);
        result
    }

    /// Waits a little while for `done`, if it may.
    fn wait_for(&self, wait: bool, done: impl Fn(&Waiting<T>) -> bool) {
        if wait {
            drop(self.changed.wait_timeout_while(self.lock(), PATIENCE, |state| !done(state)).unwrap());
        }
    }
}

impl Transport for Memory {
    fn serves(&self, address: &Address) -> bool {
        matches!(address, Address::Tcp(_))
    }

    fn listen(&self, address: &Address) -> Result<(Address, Box<dyn Door>)> {
        let address = match address {
            Address::Tcp(at) if at.port() == 0 => {
                Address::Tcp((Ipv4Addr::LOCALHOST, PORTS.fetch_add(1, Ordering::Relaxed)).into())
            }
            other => other.clone(),
        };
        let queue = Queue::new();
        LISTENING.lock().unwrap().insert(address.clone(), queue.clone());
        Ok((address.clone(), Box::new(Listener(address, queue))))
    }

    fn dial(&self, address: &Address, _: Instant) -> Result<Box<dyn Door>> {
        let listening = LISTENING.lock().unwrap().get(address).cloned();
        let nobody = || Error::new(Code::Unreachable).found(format_args!("{address}: nobody listens there"));
        let (there, back) = (Queue::new(), Queue::new());
        let near = End { incoming: back.clone(), outgoing: there.clone(), peer: address.to_string() };
        let far = End { incoming: there, outgoing: back, peer: "a node of this process".into() };
        listening.ok_or_else(nobody)?.change(|waiting| waiting.items.push_back(far));
        Ok(Box::new(Dialed(Some(near))))
    }
}

impl Door for Listener {
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
        Ok(self.1.lock().items.pop_front().map(|end| Box::new(end) as Box<dyn Connection>))
    }

    fn awaits(&self) -> Awaited<'_> {
        Awaited::Told
    }

    fn tell(&mut self, ready: Ready) {
        self.1.lock().ready.push(ready);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        LISTENING.lock().unwrap().remove(&self.0);
        // Whoever has dialed and was not accepted learns of it.
        let unaccepted = std::mem::take(&mut self.1.lock().items);
        drop(unaccepted);
    }
}

impl Door for Dialed {
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
        Ok(self.0.take().map(|end| Box::new(end) as Box<dyn Connection>))
    }

    fn awaits(&self) -> Awaited<'_> {
        Awaited::Soon
    }
}

impl Connection for End {
    fn read(&self, places: &mut [IoSliceMut<'_>], wait: bool) -> Result<Moved> {
        self.incoming.wait_for(wait, |waiting| !waiting.items.is_empty() || waiting.ended);
        let waiting = self.incoming.lock();
        if waiting.items.is_empty() {
            return Ok(if waiting.ended { Moved::Closed } else { Moved::Blocked });
        }
        drop(waiting);
        Ok(Moved::Bytes(self.incoming.change(|waiting| {
            let mut count = 0;
            for place in places {
                let some = place.len().min(waiting.items.len());
                place.iter_mut().zip(waiting.items.drain(..some)).for_each(|(byte, came)| *byte = came);
                count += some;
            }
            count
        })))
    }

    fn write(&self, slices: &[IoSlice<'_>], wait: bool) -> Result<Moved> {
        self.outgoing.wait_for(wait, |waiting| waiting.items.len() < ROOM || waiting.ended);
        let waiting = self.outgoing.lock();
        if waiting.ended || waiting.items.len() >= ROOM {
            return Ok(if waiting.ended { Moved::Closed } else { Moved::Blocked });
        }
        drop(waiting);
        Ok(Moved::Bytes(self.outgoing.change(|waiting| {
            let mut count = 0;
            for slice in slices {
                let some = slice.len().min(ROOM - waiting.items.len());
                waiting.items.extend(&slice[..some]);
                count += some;
            }
            count
        })))
    }

    fn end(&self) {
        self.incoming.change(|waiting| waiting.ended = true);
        self.end_writing();
    }

    fn end_writing(&self) {
        self.outgoing.change(|waiting| waiting.ended = true);
    }

    fn watch(&self) -> Watch<'_> {
        // One lock at a time: the other end has them in the other order.
        let look = |queue: &Queue<u8>| {
            let waiting = queue.lock();
            (waiting.ended, waiting.items.len())
        };
        let ((came_to_end, came), (ended, gone)) = (look(&self.incoming), look(&self.outgoing));
        Watch::Told { read: came_to_end || came > 0, write: ended || gone < ROOM }
    }

    fn tell(&self, ready: Ready) {
        self.incoming.lock().ready.push(ready.clone());
        self.outgoing.lock().ready.push(ready);
    }

    fn peer(&self) -> &str {
        &self.peer
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.end();
    }
}
