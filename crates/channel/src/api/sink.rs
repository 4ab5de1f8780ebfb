//! Sinks receive events. This file has those for records of a Rust type, and the common part of all. `kinds` has those
//! for several types, `memory` those for a format that is known only at run time, and `messages` those for messages.

mod kinds;
mod memory;
mod messages;

pub use kinds::{DecodingSink, KindSink, MemoryKindSink};
pub use memory::MemorySink;
pub use messages::MessageSink;

use crate::api::event::Head;
use crate::api::life::{Life, Member};
use crate::api::options::Options;
use crate::api::parameters::{Given, Parameters};
use crate::drive::bell::Bell;
use crate::drive::hub::Hub;
use crate::drive::machine::{Batch, Memory, Sent};
use crate::drive::state::{Seat, State};
use crate::drive::wait::after;
use crate::{Event, Stamp};
use isoform::{Aligned, Code, Decoder, Error, Format, Incoming, Owned, Record, Result, Scratch, Shared};
use isoform_channel_proto::{
    BodyRef, Counts, Cursor, Frame, Granted, Item, Next, NodeId, Plans, Policy, SinkKey, SourceRef, Wanted,
};
use rustix::fd::BorrowedFd;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// A sink for records of one type, converted from the types of their sources.
pub struct Sink<T> {
    end: SinkEnd,
    decoder: Decoder<T>,
    scratch: Scratch,
    /// For shared bodies that are not contiguous.
    copy: Aligned,
}

/// A sink as a [`Handler`](crate::Handler) needs it.
pub(crate) trait Receive: Send + 'static {
    /// The common part.
    fn end(&mut self) -> &mut SinkEnd;
}

/// The common part of all sinks.
pub(crate) struct SinkEnd {
    life: Arc<Life>,
    pub(crate) key: SinkKey,
    bell: Arc<Bell>,
    progress: Arc<AtomicUsize>,
    batch: Batch,
    /// How many items of the batch were taken, and the place behind them.
    next: usize,
    cursor: Cursor,
    /// The sources that are there. For each, the node where its events are submitted first, and its number at that node.
    sources: HashMap<SourceRef, (NodeId, u32)>,
}

impl<T: Record<Static = T> + 'static> Sink<T> {
    pub(crate) fn new(member: &Member, options: Options, bell: Arc<Bell>) -> Result<Sink<T>> {
        let mut decoder = Decoder::<T>::new().with_faults(options.faults);
        if let Some(missing) = options.missing {
            decoder = decoder.with_missing(missing);
        }
        let wanted = Wanted { narrow: true, ..options.wanted(Some(decoder.format().clone()), T::rules()) };
        let end = SinkEnd::new(member, wanted, bell)?;
        if let Some(plans) = end.plans() {
            decoder.share_plans(&plans);
        }
        Ok(Sink { end, decoder, scratch: Scratch::default(), copy: Aligned::new() })
    }

    /// Waits for the next event, and returns it.
    ///
    /// # Errors
    /// The errors of [`Decoder::decode`] for an event, after which the next call continues. [`Code::Closed`].
    #[inline(always)]
    pub fn recv(&mut self) -> Result<Event<&T::Native<'_>>> {
        self.end.wait(None)?;
        self.next()
    }

    /// The same, but returns `None` if no event arrives within `patience`.
    ///
    /// # Errors
    /// As [`recv`](Sink::recv).
    pub fn recv_timeout(&mut self, patience: Duration) -> Result<Option<Event<&T::Native<'_>>>> {
        match self.end.wait(Some(patience))? {
            true => self.next().map(Some),
            false => Ok(None),
        }
    }

    /// The same, but returns `None` if no event has arrived.
    ///
    /// # Errors
    /// As [`recv`](Sink::recv).
    pub fn try_recv(&mut self) -> Result<Option<Event<&T::Native<'_>>>> {
        self.recv_timeout(Duration::ZERO)
    }

    /// As [`recv`](Sink::recv), with a record that owns all of its parts, and can be kept.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform_channel::{Event, Node};
    /// #[derive(Record, Debug, PartialEq)]
    /// struct Note {
    ///     text: String,
    /// }
    /// let node = Node::new()?;
    /// let channel = node.create::<Note>("notes")?;
    /// let mut sink = channel.sink::<Note>()?;
    /// channel.source::<Note>()?.submit(&Note { text: "all is well".into() })?;
    /// let note = loop {
    ///     if let Event::Record { record, .. } = sink.recv_owned()? {
    ///         break record;
    ///     }
    /// };
    /// assert_eq!(note, Note { text: "all is well".into() });
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`recv`](Sink::recv); [`Code::Utf8`] if the bytes for a `String` are not UTF-8.
    pub fn recv_owned(&mut self) -> Result<Event<T>>
    where
        T: Owned + for<'a> Record<Native<'a> = <T as Owned>::Native<'a>>,
    {
        self.end.wait(None)?;
        self.next_owned()
    }

    /// As [`next`](Sink::next), with an owned record.
    pub(crate) fn next_owned(&mut self) -> Result<Event<T>>
    where
        T: Owned + for<'a> Record<Native<'a> = <T as Owned>::Native<'a>>,
    {
        match self.next()? {
            Event::Record { stamp, record } => Ok(Event::Record { stamp, record: T::raise(record)? }),
            other => Ok(other.map(|_| unreachable!("told from records before"))),
        }
    }

    /// Asks all sources for another policy; see [`SinkBuilder::policy`](crate::SinkBuilder::policy). A source may refuse
    /// it. [`Event::Granted`] tells of that.
    pub fn set_policy(&self, policy: Policy) {
        self.end.set_policy(policy, false);
    }

    /// Asks all sources for other values of their parameters; see [`SinkBuilder::parameters`](crate::SinkBuilder::parameters).
    /// Fields that are missing have the source's default. [`Event::Given`] says from which event on they hold, or why not.
    pub fn set_parameters(&self, values: Parameters) {
        self.end.set_parameters(values);
    }

    /// As [`SinkBuilder::lossless`](crate::SinkBuilder::lossless), from now on. Sources that do not grant this keep the
    /// policy that they have granted before.
    pub fn set_lossless(&self) {
        self.end.set_policy(Policy::Block, true);
    }

    /// Declines the rest of a long event, by its [`Event::Head`]. Returns whether it was still on its way. Then a
    /// gap comes in its place, with the cause [`Cause::Declined`](crate::Cause::Declined); or the event after all, if its
    /// source had sent it already. A source in this process has nothing to send, and its events have no heads.
    pub fn decline(&self, head: &Stamp) -> bool {
        self.end.decline(head)
    }

    /// The policies that the sources grant.
    pub fn granted(&self) -> Vec<(SourceRef, Granted)> {
        self.end.granted()
    }

    /// The events received, taken and lost so far, the sources refused, and the records that did not fit.
    pub fn counts(&self) -> Counts {
        self.end.counts()
    }

    /// A descriptor for programs that also wait for other things. It is readable whenever [`try_recv`](Sink::try_recv)
    /// would return an event, or the channel was closed. Wait for it, but do not read from it. It may report spurious
    /// readiness until `try_recv` has found nothing.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.end.bell.descriptor()
    }

    /// The number of bytes of events that were copied or converted into records, as for [`Decoder::copied`]: none, if
    /// the source has the same layout.
    pub fn copied(&self) -> u64 {
        self.decoder.copied()
    }

    /// Waits for the next event in a task, as [`recv`](Sink::recv) does in a thread. The node reads the connections
    /// meanwhile.
    ///
    /// # Errors
    /// As [`recv`](Sink::recv).
    pub async fn recv_async(&mut self) -> Result<Event<&T::Native<'_>>> {
        std::future::poll_fn(|context| self.end.poll(context)).await?;
        self.next()
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.end.poll(context)
    }

    /// The next event of the last batch, which has one.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Event<&T::Native<'_>>> {
        let Some(Frame { source, sequence, time, format, body: (start, length) }) = self.end.frame() else {
            let mut other = None;
            self.find_other(&mut other);
            return other.unwrap_or_else(|| unreachable!("it was found"));
        };
        let Sink { end, decoder, .. } = self;
        let Batch { formats, storage, .. } = &mut end.batch;
        let body = &mut storage.0[start as usize..start as usize + length as usize];
        match decoder.decode_in_place(&formats[format as usize], body) {
            Ok(record) => {
                Ok(Event::Record { stamp: Stamp { source, sequence, nanoseconds: time, origin: None }, record })
            }
            Err(error) => Err(unfit(&end.life.hub, end.key, error, source, sequence)),
        }
    }

    /// The same if that is not a short event that a link has brought. It has a place of its own. If this returned it, the
    /// short events would have their place in memory, too, and every look at one would wait until its parts are written.
    #[inline(never)]
    fn find_other<'s>(&'s mut self, other: &mut Option<Result<Event<&'s T::Native<'s>>>>) {
        *other = Some(self.other());
    }

    fn other(&mut self) -> Result<Event<&T::Native<'_>>> {
        let Sink { end, decoder, scratch, copy } = self;
        let Some((stamp, format, place)) = end.event() else { return Ok(end.told()) };
        let (format, bodies) = Bodies::of(&mut end.batch, format);
        let itself = match place {
            BodyRef::Shared(at) => bodies.shared[at as usize].shared().and_then(Shared::record::<T>),
            _ => None,
        };
        let decoded = match itself {
            Some(record) => {
                *scratch = Scratch::default();
                record.native(scratch)
            }
            None => match bodies.at(place, copy) {
                EventBody::Own(body) => decoder.decode_in_place(format, body),
                EventBody::Lent(message) => decoder.decode(&message),
            },
        };
        let record = decoded.map_err(|error| unfit(&end.life.hub, end.key, error, stamp.source, stamp.sequence))?;
        Ok(Event::Record { stamp, record })
    }
}

impl<T: Record<Static = T> + 'static> Receive for Sink<T> {
    fn end(&mut self) -> &mut SinkEnd {
        &mut self.end
    }
}

/// The body of an event.
enum EventBody<'b> {
    /// It belongs to this sink, which may change it.
    Own(&'b mut [u8]),
    /// It is shared with others.
    Lent(Incoming<'b>),
}

/// The bodies of a batch.
struct Bodies<'b> {
    short: &'b mut Memory,
    long: &'b mut [Memory],
    shared: &'b [Sent],
}

impl<'b> Bodies<'b> {
    /// The format of an item in a batch, and its body.
    #[inline]
    fn of(batch: &'b mut Batch, format: u32) -> (&'b Format, Bodies<'b>) {
        let Batch { formats, storage, long, shared, .. } = batch;
        (&formats[format as usize], Bodies { short: storage, long, shared })
    }

    /// The body of an item. `copy` is for a shared body that is not contiguous.
    #[inline]
    fn at(self, place: BodyRef, copy: &'b mut Aligned) -> EventBody<'b> {
        match place {
            BodyRef::Here(start, length) => {
                EventBody::Own(&mut self.short.0[start as usize..start as usize + length as usize])
            }
            BodyRef::Long(at) => EventBody::Own(&mut self.long[at as usize].0),
            BodyRef::Shared(at) => {
                let shared = self.shared[at as usize].shared();
                let shared = shared.unwrap_or_else(|| unreachable!("a body for a sink of this process is kept"));
                match shared.incoming() {
                    Some(message) => EventBody::Lent(message),
                    None => {
                        copy.clear();
                        shared.body().for_each(|piece| copy.extend_from_slice(piece));
                        EventBody::Own(copy)
                    }
                }
            }
        }
    }
}

/// The error of an event, with the event's source and number in its path.
#[cold]
fn which(error: Error, source: SourceRef, sequence: u64) -> Error {
    error.within(&format!("event {sequence} of source {}", source.0))
}

/// The error of a record that could not become one of this sink, which counts it.
#[cold]
fn unfit(hub: &Hub, sink: SinkKey, error: Error, source: SourceRef, sequence: u64) -> Error {
    hub.lock().machine.unfit(sink);
    which(error, source, sequence)
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
    fn new(member: &Member, wanted: Wanted, bell: Arc<Bell>) -> Result<SinkEnd> {
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
    fn plans(&self) -> Option<Plans> {
        self.life.hub.lock().machine.plans(self.key)
    }

    /// Waits until there is an item. Returns `false` if none arrives within `patience`.
    #[inline]
    fn wait(&mut self, patience: Option<Duration>) -> Result<bool> {
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
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
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
    pub(crate) fn has_next(&self) -> bool {
        self.next < self.batch.len()
    }

    /// Whether there is an item, without waiting and without reading connections.
    #[inline]
    pub(crate) fn look(&mut self) -> bool {
        if self.has_next() {
            return true;
        }
        let SinkEnd { life, key, bell, progress, batch, next, cursor, .. } = self;
        (*next, *cursor) = (0, Cursor::default());
        life.hub.with(|state| take(state, *key, bell, progress, batch))
    }

    /// Takes the next item if it is a short event that a link has brought.
    #[inline(always)]
    fn frame(&mut self) -> Option<Frame> {
        // The cursor moves where it is: a copy of what was just written in parts would wait for it.
        let frame = self.batch.next_frame(&mut self.cursor)?;
        self.count();
        Some(frame)
    }

    /// Takes the next item. Returns its stamp, the place of its format and that of its body, if it is a record.
    #[inline(always)]
    fn event(&mut self) -> Option<(Stamp, u32, BodyRef)> {
        let (event, behind) = self.peek();
        self.take(behind);
        event
    }

    /// The same without taking it. Also returns the place behind it, for [`take`](SinkEnd::take).
    #[inline(always)]
    fn peek(&self) -> (Option<(Stamp, u32, BodyRef)>, Cursor) {
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
    fn take(&mut self, behind: Cursor) {
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
    fn told<R>(&mut self) -> Event<R> {
        self.told_before(&self.cursor.clone())
    }

    /// The same for the item before this place.
    #[cold]
    fn told_before<R>(&mut self, behind: &Cursor) -> Event<R> {
        let SinkEnd { batch, sources, .. } = self;
        let item = batch.last(behind).unwrap_or_else(|| unreachable!("told from records before"));
        match item {
            Item::Joined { source, node, number, .. } => _ = sources.insert(*source, (*node, *number)),
            Item::Left(source) => _ = sources.remove(source),
            _ => {}
        }
        about(item, sources.len())
    }

    fn counts(&self) -> Counts {
        counts_of(&self.life.hub, self.key)
    }

    fn set_policy(&self, policy: Policy, must: bool) {
        self.life.hub.with(|state| state.machine.set_policy(self.key, policy, must));
    }

    fn set_parameters(&self, values: Parameters) {
        self.life.hub.with(|state| state.machine.set_parameters(self.key, values.0));
    }

    fn decline(&self, head: &Stamp) -> bool {
        self.life.hub.with(|state| state.machine.enough(self.key, head.source, head.sequence))
    }

    fn granted(&self) -> Vec<(SourceRef, Granted)> {
        self.life.hub.lock().machine.granted(self.key)
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

impl<T> fmt::Debug for Sink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sink({:?})", self.decoder)
    }
}
