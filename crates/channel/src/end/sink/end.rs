//! What a sink takes its events from: the batches that the node has for it. It does not know what records become.

use crate::api::event::{Event, Head, Stamp};
use crate::api::life::{Life, Member};
use crate::api::parameters::{Given, Parameters};
use crate::drive::bell::Bell;
use crate::drive::hub::Hub;
use crate::drive::machine::Batch;
use crate::drive::state::{Seat, State};
use crate::drive::wait::after;
use isoform::form::Body;
use isoform::{Aligned, Code, Error, Result, Shared};
use isoform_channel_proto::{
    BodyRef, Counts, Cursor, Frame, Granted, Item, Next, NodeId, Offered, Plans, Policy, SinkKey, SourceRef, Wanted,
};
use rustix::fd::BorrowedFd;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// The events of a sink.
pub(crate) struct SinkEnd {
    pub(super) life: Arc<Life>,
    pub(super) key: SinkKey,
    bell: Arc<Bell>,
    progress: Arc<AtomicUsize>,
    pub(super) batch: Batch,
    /// How many items of the batch were taken, and the place behind them.
    next: usize,
    cursor: Cursor,
    /// The sources that are there. For each, the node where its events are submitted first, and its number at that node.
    sources: HashMap<SourceRef, (NodeId, u32)>,
}

/// The body of an item. `copy` is for a shared body that is not contiguous.
#[inline]
pub(super) fn body<'b>(batch: &'b mut Batch, format: u32, place: BodyRef, copy: &'b mut Aligned) -> Body<'b> {
    let format = &batch.formats[format as usize];
    match place {
        BodyRef::Here(start, length) => {
            Body::Own(format, &mut batch.storage.0[start as usize..start as usize + length as usize])
        }
        BodyRef::Long(at) => Body::Own(format, &mut batch.long[at as usize].0),
        BodyRef::Shared(at) => {
            let shared = kept(batch, at);
            match shared.incoming() {
                Some(message) => Body::Lent(message),
                None => {
                    copy.clear();
                    shared.body().for_each(|piece| copy.extend_from_slice(piece));
                    Body::Own(format, copy)
                }
            }
        }
    }
}

/// A shared body of this process.
pub(super) fn kept(batch: &Batch, at: u32) -> &Shared {
    let shared = batch.shared[at as usize].shared();
    shared.unwrap_or_else(|| unreachable!("a body for a sink of this process is kept"))
}

/// The error of a record that could not become one of this sink, which counts it, with the event's source and number in its path.
#[cold]
pub(super) fn unfit(hub: &Hub, sink: SinkKey, error: Error, source: SourceRef, sequence: u64) -> Error {
    hub.lock().machine.unfit(sink);
    error.within(&format!("event {sequence} of source {}", source.0))
}

/// The counts of a sink that has not left.
pub(crate) fn counts_of(hub: &Hub, sink: SinkKey) -> Counts {
    let mut state = hub.lock();
    let State { machine, sinks, .. } = &mut *state;
    if let Some(seat) = sinks.get(&sink) {
        machine.consumed(hub.now(), sink, seat.progress.load(Ordering::Relaxed));
    }
    machine.counts(sink)
}

impl SinkEnd {
    pub(super) fn new(member: &Member, wanted: Wanted, bell: Arc<Bell>) -> Result<SinkEnd> {
        let (life, progress) = (member.life.clone(), Arc::new(AtomicUsize::new(0)));
        let is_handled = Arc::ptr_eq(&bell, life.handlers.bell());
        let (key, is_due) = life.hub.with(|state| {
            let key = state.machine.add_sink(member.key, wanted)?;
            state.sinks.insert(key, Seat::new(bell.clone(), progress.clone(), is_handled));
            let is_due = state.machine.deadline().is_some_and(|due| due <= life.hub.now());
            Ok::<_, Error>((key, is_due))
        })?;
        if is_due {
            // It has further kept events to get from a source of this node.
            life.hub.ring_keeper();
        }
        let (batch, cursor, sources) = (Batch::default(), Cursor::default(), HashMap::new());
        Ok(SinkEnd { life, key, bell, progress, batch, next: 0, cursor, sources })
    }

    /// The plans that were made when it subscribed.
    pub(super) fn plans(&self) -> Option<Plans> {
        self.life.hub.lock().machine.plans(self.key)
    }

    /// Waits until there is an item. Returns `false` if none arrives within `patience`.
    #[inline]
    pub(super) fn wait(&mut self, patience: Option<Duration>) -> Result<bool> {
        if self.has_next() {
            return Ok(true);
        }
        self.wait_for_batch(patience)
    }

    #[inline(never)]
    fn wait_for_batch(&mut self, patience: Option<Duration>) -> Result<bool> {
        let deadline = patience.and_then(after);
        let SinkEnd { life, key, bell, progress, batch, next, cursor, .. } = self;
        let came = life.hub.drive_with(bell, deadline, |state| {
            if !state.machine.has_sink(*key) {
                return (Some(Err(closed())), false);
            }
            (*next, *cursor) = (0, Cursor::default());
            match take(state, *key, bell, progress, batch) {
                true => (Some(Ok(())), false),
                false => (None, state.machine.is_remote(*key)),
            }
        })?;
        came.transpose().map(|came| came.is_some())
    }

    /// Whether there is an item; if not, wakes the task later.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.look() {
            return Poll::Ready(Ok(()));
        }
        let SinkEnd { life, key, bell, progress, batch, next, cursor, .. } = self;
        (*next, *cursor) = (0, Cursor::default());
        life.hub.with(|state| {
            if take(state, *key, bell, progress, batch) {
                return Poll::Ready(Ok(()));
            }
            if !state.machine.has_sink(*key) {
                return Poll::Ready(Err(closed()));
            }
            bell.await_task(context.waker());
            Poll::Pending
        })
    }

    /// Whether the last batch has more items.
    #[inline]
    pub(super) fn has_next(&self) -> bool {
        self.next < self.batch.len()
    }

    /// Whether there is an item, without waiting and without reading connections.
    #[inline]
    pub(super) fn look(&mut self) -> bool {
        if self.has_next() {
            return true;
        }
        let SinkEnd { life, key, bell, progress, batch, next, cursor, .. } = self;
        (*next, *cursor) = (0, Cursor::default());
        life.hub.with(|state| take(state, *key, bell, progress, batch))
    }

    /// Takes the next item if it is a short event that a link has brought.
    #[inline(always)]
    pub(super) fn frame(&mut self) -> Option<Frame> {
        // The cursor moves where it is: a copy of what was just written in parts would wait for it.
        let frame = self.batch.next_frame(&mut self.cursor)?;
        self.count();
        Some(frame)
    }

    /// Takes the next item. Returns its stamp, the place of its format and that of its body, if it is a record.
    #[inline(always)]
    pub(super) fn event(&mut self) -> Option<(Stamp, u32, BodyRef)> {
        let (event, behind) = self.peek();
        self.take(behind);
        event
    }

    /// The same without taking it. Also returns the place behind it, for [`take`](SinkEnd::take).
    #[inline(always)]
    pub(super) fn peek(&self) -> (Option<(Stamp, u32, BodyRef)>, Cursor) {
        let mut cursor = self.cursor;
        let event = match self.batch.next(&mut cursor) {
            Some(Next::Frame(Frame { source, sequence, time, format, body: (start, length) })) => {
                let stamp = Stamp { source, sequence, nanoseconds: time, origin: None };
                Some((stamp, format, BodyRef::Here(start, length)))
            }
            Some(Next::Item(&Item::Event { source, sequence, time, format, place, origin })) => {
                let origin = self.batch.origin(origin);
                Some((Stamp { source, sequence, nanoseconds: time, origin }, format, place))
            }
            _ => None,
        };
        (event, cursor)
    }

    /// Takes the item before this place.
    #[inline]
    pub(super) fn take(&mut self, behind: Cursor) {
        self.cursor = behind;
        self.count();
    }

    /// One more item was taken.
    #[inline]
    fn count(&mut self) {
        self.next += 1;
        self.progress.store(self.next, Ordering::Relaxed);
    }

    /// The event of the item that was taken last, which is not a record.
    #[cold]
    pub(super) fn told<R>(&mut self) -> Event<R> {
        let SinkEnd { batch, sources, cursor, .. } = self;
        let item = batch.last(cursor).unwrap_or_else(|| unreachable!("told from records before"));
        match item {
            Item::Joined { source, node, number, .. } => _ = sources.insert(*source, (*node, *number)),
            Item::Left(source) => _ = sources.remove(source),
            _ => {}
        }
        about(item, sources.len())
    }

    pub(super) fn counts(&self) -> Counts {
        counts_of(&self.life.hub, self.key)
    }

    pub(super) fn set_policy(&self, policy: Policy, must: bool) {
        self.life.hub.with(|state| state.machine.set_policy(self.key, policy, must));
    }

    pub(super) fn set_parameters(&self, values: Parameters) {
        self.life.hub.with(|state| state.machine.set_parameters(self.key, values.0));
    }

    pub(super) fn decline(&self, head: &Stamp) -> bool {
        self.life.hub.with(|state| state.machine.enough(self.key, head.source, head.sequence))
    }

    pub(super) fn granted(&self) -> Vec<(SourceRef, Granted)> {
        self.life.hub.lock().machine.granted(self.key)
    }

    pub(super) fn offered(&self) -> Vec<Offered> {
        self.life.hub.lock().machine.offered_to(self.key)
    }

    pub(super) fn note_unfit(&self) {
        self.life.hub.lock().machine.unfit(self.key);
    }

    pub(super) fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.bell.descriptor()
    }

    /// Where the events of a source that is there are submitted first.
    pub(super) fn place(&self, source: SourceRef) -> Option<(NodeId, u32)> {
        self.sources.get(&source).copied()
    }
}

impl Drop for SinkEnd {
    fn drop(&mut self) {
        let hub = &self.life.hub;
        if hub.is_inherited() {
            return;
        }
        hub.with(|state| {
            let now = hub.now();
            state.sinks.remove(&self.key);
            state.machine.consumed(now, self.key, self.next);
            state.machine.end_sink(self.key);
        });
    }
}

/// Exchanges a batch, once all of it was taken, for the next one, if there is one.
fn take(state: &mut State, key: SinkKey, bell: &Bell, progress: &AtomicUsize, batch: &mut Batch) -> bool {
    progress.store(0, Ordering::Relaxed);
    let came = state.machine.take(state.now, key, batch);
    if !came && bell.has_descriptor() && state.machine.has_sink(key) {
        bell.found_nothing();
    }
    came
}

#[cold]
fn closed() -> Error {
    Error::new(Code::Closed).at("channel")
}

/// The event for an item that is not a record. `sources` is the number of sources that are there.
fn about<R>(item: &Item, sources: usize) -> Event<R> {
    match item {
        Item::Event { .. } => unreachable!("told from the others before"),
        Item::Head(head) => {
            let stamp =
                Stamp { source: head.source, sequence: head.sequence, nanoseconds: head.time, origin: head.origin };
            Event::Head { stamp, head: Box::new(Head::new(head.format.clone(), head.length, head.bytes.clone())) }
        }
        Item::Gap(source, gap) => Event::Gap(*source, *gap),
        Item::Joined { source, node, format, earlier, .. } => {
            Event::Joined { source: *source, node: *node, format: format.clone(), earlier: *earlier }
        }
        Item::Left(source) => Event::Left(*source, sources),
        Item::Refused(source, error) => Event::Refused(*source, error.clone()),
        Item::Granted(source, granted) => Event::Granted(*source, *granted),
        Item::Given(source, given) => Event::Given(*source, Box::new(Given::from(&**given))),
    }
}
