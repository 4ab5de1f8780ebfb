//! Sinks for records of several kinds.

use super::{Bodies, EventBody, Receive, SinkEnd, unfit};
use crate::api::life::Member;
use crate::api::options::Options;
use crate::api::parameters::Parameters;
use crate::drive::bell::Bell;
use crate::{Event, Stamp};
use isoform::core::plan::Kind;
use isoform::derive::{Body, DecodeKinds};
use isoform::message::Header;
use isoform::{Aligned, Format, Incoming, KindDecoder, Kinds, Result, Rules, memory};
use isoform_channel_proto::{Counts, Granted, Policy, SourceRef, Wanted};
use rustix::fd::BorrowedFd;
use std::fmt;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
#[cfg(doc)]
use {super::Sink, isoform::Code};

/// A sink for records of several kinds, each of which becomes a variant of the enumeration `K`; see [`KindDecoder`].
pub type KindSink<K> = DecodingSink<KindDecoder<K>>;

/// A sink for records of several kinds, in memory of this machine. It returns [`memory::Chosen`].
pub type MemoryKindSink = DecodingSink<memory::KindDecoder>;

/// A sink that decodes each record as the kind that fits: a [`KindSink`] or a [`MemoryKindSink`].
///
/// A source whose format fits no kind is refused when it comes ([`Event::Refused`], with the reason for each kind), and the
/// other sources go on. With a variant `#[isoform(other)]`, it is not refused, and its messages become that variant.
pub struct DecodingSink<D> {
    end: SinkEnd,
    decoder: D,
    /// For shared bodies that are not contiguous.
    copy: Aligned,
    /// Many records, side by side.
    many: Aligned,
}

impl<K: Kinds> KindSink<K> {
    pub(crate) fn of(member: &Member, options: Options, bell: Arc<Bell>) -> Result<KindSink<K>> {
        let mut decoder = KindDecoder::<K>::new().with_faults(options.faults);
        if let Some(missing) = options.missing {
            decoder = decoder.with_missing(missing);
        }
        let kinds = decoder.kinds().to_vec();
        DecodingSink::new(member, decoder, kinds, K::TAKES_OTHERS, options, bell)
    }

    /// The choice for a format, with the reason, as [`KindDecoder::explain`].
    pub fn explain(&mut self, format: &Format) -> &isoform::core::plan::Choice {
        self.decoder.explain(format)
    }

    /// The number of records so far that fitted no kind.
    pub fn others(&self) -> u64 {
        self.decoder.others()
    }
}

impl MemoryKindSink {
    pub(crate) fn in_memory(
        member: &Member,
        decoder: memory::KindDecoder,
        options: Options,
        bell: Arc<Bell>,
    ) -> Result<MemoryKindSink> {
        let (kinds, others) = (decoder.kinds().to_vec(), decoder.lends_others());
        DecodingSink::new(member, decoder, kinds, others, options, bell)
    }

    /// Receives many records of one kind at once: up to `most` that have arrived. [`Event::Record`] has the stamp of the
    /// first; its [`Chosen::Record`](memory::Chosen::Record) has the kind, and the records side by side; `stamps` has all
    /// their stamps. A record that contains pointers, one that fits no kind, and an event of another kind are returned
    /// alone. Waits for the first event, at most for `patience` if that is given, and returns `None` if none arrives.
    ///
    /// ```
    /// use isoform::core::plan::Kind;
    /// use isoform::memory::{Chosen, KindDecoder};
    /// use isoform::{Faults, Record, Rules};
    /// use isoform_channel::{Event, Node};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Tick {
    ///     count: u64,
    /// }
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Beat {
    ///     phase: f64,
    /// }
    /// let kind = |format: &isoform::Format| Kind { format: format.clone(), rules: Rules::new(), faults: Faults::Error };
    /// let channel = Node::new()?.create_with("clock", None)?;
    /// let kinds = KindDecoder::new(vec![kind(Beat::format()), kind(Tick::format())])?;
    /// let mut sink = channel.sink_builder().build_memory_kinds(kinds)?;
    /// let mut source = channel.source::<Tick>()?;
    /// for count in 0..10 {
    ///     source.submit(&Tick { count })?;
    /// }
    /// let mut stamps = Vec::new();
    /// let (kind, bytes) = loop {
    ///     if let Some(Event::Record { record: Chosen::Record(kind, ticks), .. }) = sink.recv_many(100, &mut stamps, None)? {
    ///         break (kind, ticks.len());
    ///     }
    /// };
    /// assert_eq!((kind, bytes, stamps.len()), (1, 80, 10));
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`recv`](DecodingSink::recv), for the first event; an error of a later one is left to the next call.
    pub fn recv_many(
        &mut self,
        most: usize,
        stamps: &mut Vec<Stamp>,
        patience: Option<Duration>,
    ) -> Result<Option<Event<memory::Chosen<'_>>>> {
        stamps.clear();
        if most == 0 || !self.end.wait(patience)? {
            return Ok(None);
        }
        self.many.clear();
        let mut run = None;
        while stamps.len() < most && self.end.look() {
            let DecodingSink { end, decoder, copy, many } = self;
            let (event, behind) = end.peek();
            let Some((stamp, format, place)) = event else { break };
            let (format, bodies) = Bodies::of(&mut end.batch, format);
            let Some(kind) = decoder.flat_kind_of(format).filter(|kind| run.is_none_or(|run| run == *kind)) else {
                break;
            };
            let message = match bodies.at(place, copy) {
                EventBody::Own(body) => Incoming::new(Header::new(format.token(), body.len() as u64), format, body),
                EventBody::Lent(message) => message,
            };
            let Ok((_, record)) = decoder.decode(&message) else { break };
            if many.try_reserve(record.len()).is_err() {
                break;
            }
            many.extend_from_slice(record);
            run = Some(kind);
            stamps.push(stamp);
            self.end.take(behind);
        }
        match (run, stamps.first()) {
            (Some(kind), Some(&stamp)) => {
                Ok(Some(Event::Record { stamp, record: memory::Chosen::Record(kind, &self.many) }))
            }
            // The event is one that comes alone, or has an error of its own.
            _ => {
                let event = self.next()?;
                if let Event::Record { stamp, .. } = &event {
                    stamps.push(*stamp);
                }
                Ok(Some(event))
            }
        }
    }
}

impl<D: DecodeKinds> DecodingSink<D> {
    fn new(
        member: &Member,
        decoder: D,
        kinds: Vec<Kind>,
        others: bool,
        options: Options,
        bell: Arc<Bell>,
    ) -> Result<DecodingSink<D>> {
        let wanted = Wanted { kinds, others, narrow: true, ..options.wanted(None, Rules::new()) };
        let end = SinkEnd::new(member, wanted, bell)?;
        Ok(DecodingSink { end, decoder, copy: Aligned::new(), many: Aligned::new() })
    }

    /// Waits for the next event, and returns it.
    ///
    /// # Errors
    /// The errors of [`KindDecoder::decode`] for an event, after which the next call continues. [`Code::Closed`].
    pub fn recv(&mut self) -> Result<Event<D::Of<'_>>> {
        self.end.wait(None)?;
        self.next()
    }

    /// The same, but returns `None` if no event arrives within `patience`.
    ///
    /// # Errors
    /// As [`recv`](DecodingSink::recv).
    pub fn recv_timeout(&mut self, patience: Duration) -> Result<Option<Event<D::Of<'_>>>> {
        match self.end.wait(Some(patience))? {
            true => self.next().map(Some),
            false => Ok(None),
        }
    }

    /// The same, but returns `None` if no event has arrived.
    ///
    /// # Errors
    /// As [`recv`](DecodingSink::recv).
    pub fn try_recv(&mut self) -> Result<Option<Event<D::Of<'_>>>> {
        self.recv_timeout(Duration::ZERO)
    }

    /// As [`Sink::recv_async`].
    ///
    /// # Errors
    /// As [`recv`](DecodingSink::recv).
    pub async fn recv_async(&mut self) -> Result<Event<D::Of<'_>>> {
        std::future::poll_fn(|context| -> Poll<Result<()>> { self.end.poll(context) }).await?;
        self.next()
    }

    /// As [`Sink::set_policy`].
    pub fn set_policy(&self, policy: Policy) {
        self.end.set_policy(policy, false);
    }

    /// As [`Sink::set_parameters`].
    pub fn set_parameters(&self, values: Parameters) {
        self.end.set_parameters(values);
    }

    /// As [`Sink::set_lossless`].
    pub fn set_lossless(&self) {
        self.end.set_policy(Policy::Block, true);
    }

    /// As [`Sink::decline`].
    pub fn decline(&self, head: &Stamp) -> bool {
        self.end.decline(head)
    }

    /// As [`Sink::granted`].
    pub fn granted(&self) -> Vec<(SourceRef, Granted)> {
        self.end.granted()
    }

    /// As [`Sink::counts`](super::Sink::counts).
    pub fn counts(&self) -> Counts {
        self.end.counts()
    }

    /// As [`Sink::descriptor`].
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.end.bell.descriptor()
    }

    /// The next event of the last batch, which has one.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Event<D::Of<'_>>> {
        let DecodingSink { end, decoder, copy, .. } = self;
        let Some((stamp, format, place)) = end.event() else { return Ok(end.told()) };
        let (format, bodies) = Bodies::of(&mut end.batch, format);
        let body = match bodies.at(place, copy) {
            EventBody::Own(body) => Body::Own(format, body),
            EventBody::Lent(message) => Body::Lent(message),
        };
        let record = decoder
            .decode_body(body)
            .map_err(|error| unfit(&end.life.hub, end.key, error, stamp.source, stamp.sequence))?;
        Ok(Event::Record { stamp, record })
    }
}

impl<D: DecodeKinds + Send + 'static> Receive for DecodingSink<D> {
    fn end(&mut self) -> &mut SinkEnd {
        &mut self.end
    }
}

impl<D: fmt::Debug> fmt::Debug for DecodingSink<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecodingSink({:?})", self.decoder)
    }
}
