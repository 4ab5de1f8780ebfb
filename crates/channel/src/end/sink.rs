//! Sinks receive events: those of channels whose records take any [form](isoform::form).

mod end;

pub(crate) use end::counts_of;

use crate::api::event::{Event, Stamp};
use crate::api::life::Member;
use crate::api::parameters::Parameters;
use crate::drive::bell::Bell;
use crate::drive::machine::Batch;
use crate::end::options::Options;
use end::SinkEnd;
use isoform::Messages;
use isoform::form::{Body, Form};
use isoform::{Aligned, Incoming, Owned, Record, Result};
use isoform_channel_proto::{BodyRef, Counts, Frame, Granted, NodeId, Offered, Policy, SinkKey, SourceRef};
use rustix::fd::BorrowedFd;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
#[cfg(doc)]
use {crate::SinkBuilder, isoform::Code};

/// A sink for records of a [form](isoform::form), such as a type or an enumeration of several; converted from the types of their sources.
///
/// A source whose records cannot become that is refused when it comes ([`Event::Refused`], with the reason), and the other sources go
/// on.
pub struct Sink<F: Form> {
    end: SinkEnd,
    decoder: F::Decoder,
    /// For shared bodies that are not contiguous.
    copy: Aligned,
}

impl<F: Form> Sink<F> {
    pub(crate) fn new(member: &Member, decoder: F::Decoder, options: Options, bell: Arc<Bell>) -> Result<Sink<F>> {
        let mut decoder = F::configure(decoder, options.faults, options.missing);
        let end = SinkEnd::new(member, options.wanted(F::accepts(&decoder)), bell)?;
        if let Some(plans) = end.plans() {
            F::share_plans(&mut decoder, &plans);
        }
        Ok(Sink { end, decoder, copy: Aligned::new() })
    }

    /// Waits for the next event, and returns it.
    ///
    /// # Errors
    /// The errors of [`Form::decode`] for an event, after which the next call continues. [`Code::Closed`].
    #[inline(always)]
    pub fn recv(&mut self) -> Result<Event<F::Of<'_>>> {
        self.end.wait(None)?;
        self.next()
    }

    /// The same, but returns `None` if no event arrives within `patience`.
    ///
    /// # Errors
    /// As [`recv`](Sink::recv).
    pub fn recv_timeout(&mut self, patience: Duration) -> Result<Option<Event<F::Of<'_>>>> {
        match self.end.wait(Some(patience))? {
            true => self.next().map(Some),
            false => Ok(None),
        }
    }

    /// The same, but returns `None` if no event has arrived.
    ///
    /// # Errors
    /// As [`recv`](Sink::recv).
    pub fn try_recv(&mut self) -> Result<Option<Event<F::Of<'_>>>> {
        self.recv_timeout(Duration::ZERO)
    }

    /// Waits for the next event in a task, as [`recv`](Sink::recv) does in a thread. The node reads the connections
    /// meanwhile.
    ///
    /// # Errors
    /// As [`recv`](Sink::recv).
    pub async fn recv_async(&mut self) -> Result<Event<F::Of<'_>>> {
        std::future::poll_fn(|context| self.end.poll(context)).await?;
        self.next()
    }

    /// Receives many records at once: hands the messages that have arrived to `take`, one after the other, with the sink's decoder, until
    /// there are no more or `take` returns `false`. That message then remains the next event. [`Event::Record`] has the stamp of the
    /// first and the number of messages taken. An event of another kind is returned alone. Waits for the first event, at most
    /// for `patience` if that is given, and returns `None` if none arrives, or if the first message is not taken.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform::Messages;
    /// use isoform_channel::{Event, Node};
    /// use std::time::Duration;
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Tick {
    ///     count: u64,
    /// }
    /// let channel = Node::new()?.create::<Tick>("ticks")?;
    /// let mut sink = channel.sink::<Messages>()?;
    /// let mut source = channel.source::<Tick>()?;
    /// for count in 0..10 {
    ///     source.submit(&Tick { count })?;
    /// }
    /// let mut sum = 0;
    /// let came = loop {
    ///     let came = sink.recv_while(Some(Duration::from_secs(10)), |_, _, message| {
    ///         sum += message.view()?.i64("count")?;
    ///         Ok(true)
    ///     })?;
    ///     if let Some(Event::Record { record: came, .. }) = came {
    ///         break came;
    ///     }
    /// };
    /// assert_eq!((came, sum), (10, 45));
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::Closed`]. Those of `take`: for the first message, which is taken then; an error of a later one is left to the next
    /// call.
    pub fn recv_while(
        &mut self,
        patience: Option<Duration>,
        mut take: impl FnMut(&mut F::Decoder, Stamp, Incoming<'_>) -> Result<bool>,
    ) -> Result<Option<Event<usize>>> {
        if !self.end.wait(patience)? {
            return Ok(None);
        }
        let (mut first, mut count) = (None, 0);
        while self.end.look() {
            let Sink { end, decoder, copy } = self;
            let (event, behind) = end.peek();
            let Some((stamp, format, place)) = event else {
                if first.is_some() {
                    break;
                }
                end.take(behind);
                return Ok(Some(end.told()));
            };
            // As a message, which nobody changes: it may remain.
            match take(decoder, stamp, end::body(&mut end.batch, format, place, copy).message()) {
                Ok(true) => {}
                Err(error) if first.is_none() => {
                    end.take(behind);
                    return Err(end::unfit(&end.life.hub, end.key, error, stamp.source, stamp.sequence));
                }
                Ok(false) | Err(_) => break,
            }
            end.take(behind);
            first.get_or_insert(stamp);
            count += 1;
        }
        Ok(first.map(|stamp| Event::Record { stamp, record: count }))
    }

    /// Asks all sources for another policy; see [`SinkBuilder::policy`]. A source may refuse
    /// it. [`Event::Granted`] tells of that.
    pub fn set_policy(&self, policy: Policy) {
        self.end.set_policy(policy, false);
    }

    /// Asks all sources for other values of their parameters; see [`SinkBuilder::parameters`].
    /// Fields that are missing have the source's default. [`Event::Given`] says from which event on they hold, or why not.
    pub fn set_parameters(&self, values: Parameters) {
        self.end.set_parameters(values);
    }

    /// As [`SinkBuilder::lossless`], from now on. Sources that do not grant this keep the
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

    /// The sources that the channel has now, as far as this node knows; also those that the sink does not subscribe to
    /// ([`SinkBuilder::only`]).
    pub fn sources(&self) -> Vec<Offered> {
        self.end.offered()
    }

    /// The policies that the sources grant.
    pub fn granted(&self) -> Vec<(SourceRef, Granted)> {
        self.end.granted()
    }

    /// The events received, taken and lost so far, the sources refused, and the records that did not fit.
    pub fn counts(&self) -> Counts {
        self.end.counts()
    }

    /// Adds a record that the program itself could not convert to [`Counts::unfit`].
    pub fn note_unfit(&self) {
        self.end.note_unfit();
    }

    /// What makes records of messages.
    pub fn decoder(&mut self) -> &mut F::Decoder {
        &mut self.decoder
    }

    /// The number of bytes of events that were copied or converted into records: none, if
    /// the source has the same layout.
    pub fn copied(&self) -> u64 {
        F::copied(&self.decoder)
    }

    /// A descriptor for programs that also wait for other things. It is readable whenever [`try_recv`](Sink::try_recv)
    /// would return an event, or the channel was closed. Wait for it, but do not read from it. It may report spurious
    /// readiness until `try_recv` has found nothing.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.end.descriptor()
    }

    pub(crate) fn key(&self) -> SinkKey {
        self.end.key
    }

    /// Whether there is an event, without waiting and without reading connections.
    pub(crate) fn look(&mut self) -> bool {
        self.end.look()
    }

    /// Whether the last batch has more events.
    pub(crate) fn has_next(&self) -> bool {
        self.end.has_next()
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.end.poll(context)
    }

    /// The next event of the last batch, which has one.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Event<F::Of<'_>>> {
        let Some(Frame { source, sequence, time, format, body: (start, length) }) = self.end.frame() else {
            let mut other = None;
            self.find_other(&mut other);
            return other.unwrap_or_else(|| unreachable!("it was found"));
        };
        let Sink { end, decoder, .. } = self;
        let Batch { formats, storage, .. } = &mut end.batch;
        let body = &mut storage.0[start as usize..start as usize + length as usize];
        match F::decode(decoder, Body::Own(&formats[format as usize], body)) {
            Ok(record) => {
                Ok(Event::Record { stamp: Stamp { source, sequence, nanoseconds: time, origin: None }, record })
            }
            Err(error) => Err(end::unfit(&end.life.hub, end.key, error, source, sequence)),
        }
    }

    /// The same if that is not a short event that a link has brought. It has a place of its own. If this returned it, the
    /// short events would have their place in memory, too, and every look at one would wait until its parts are written.
    #[inline(never)]
    fn find_other<'s>(&'s mut self, other: &mut Option<Result<Event<F::Of<'s>>>>) {
        *other = Some(self.other());
    }

    fn other(&mut self) -> Result<Event<F::Of<'_>>> {
        let Sink { end, decoder, copy } = self;
        let Some((stamp, format, place)) = end.event() else { return Ok(end.told()) };
        let SinkEnd { life, key, batch, .. } = end;
        let decoded = match place {
            BodyRef::Shared(at) if F::can_take(end::kept(batch, at)) => F::take(decoder, end::kept(batch, at)),
            _ => F::decode(decoder, end::body(batch, format, place, copy)),
        };
        let record = decoded.map_err(|error| end::unfit(&life.hub, *key, error, stamp.source, stamp.sequence))?;
        Ok(Event::Record { stamp, record })
    }
}

impl<T> Sink<T>
where
    T: Owned + Record<Static = T> + 'static + for<'a> Record<Native<'a> = <T as Owned>::Native<'a>>,
{
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
    pub fn recv_owned(&mut self) -> Result<Event<T>> {
        self.end.wait(None)?;
        self.next_owned()
    }

    /// As [`next`](Sink::next), with an owned record.
    pub(crate) fn next_owned(&mut self) -> Result<Event<T>> {
        match self.next()? {
            Event::Record { stamp, record } => Ok(Event::Record { stamp, record: T::raise(record)? }),
            other => Ok(other.map(|_| unreachable!("told from records before"))),
        }
    }
}

impl Sink<Messages> {
    /// Where the events of a source that is there are submitted first: its node, and its number there.
    pub(crate) fn place(&self, source: SourceRef) -> Option<(NodeId, u32)> {
        self.end.place(source)
    }
}

impl<F: Form> fmt::Debug for Sink<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sink({:?}, {:?})", self.end.key, self.decoder)
    }
}
