//! Sinks for records of several kinds.

use super::{Bodies, EventBody, Receive, SinkEnd, about, unfit};
use crate::api::life::Member;
use crate::api::options::Options;
use crate::drive::bell::Bell;
use crate::{Event, Stamp};
use isoform::core::plan::Kind;
use isoform::derive::{Body, DecodeKinds};
use isoform::{Aligned, Format, KindDecoder, Kinds, Result, Rules, memory};
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
}

impl<K: Kinds> KindSink<K> {
    pub(crate) fn of(member: &Member, options: Options, bell: Arc<Bell>) -> Result<KindSink<K>> {
        let mut decoder = KindDecoder::<K>::new().with_faults(options.faults);
        if let Some(missing) = options.missing {
            decoder = decoder.with_missing(missing);
        }
        let kinds = if K::TAKES_OTHERS { Vec::new() } else { decoder.kinds().to_vec() };
        DecodingSink::new(member, decoder, kinds, options, bell)
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
        let kinds = if decoder.lends_others() { Vec::new() } else { decoder.kinds().to_vec() };
        DecodingSink::new(member, decoder, kinds, options, bell)
    }
}

impl<D: DecodeKinds> DecodingSink<D> {
    fn new(
        member: &Member,
        decoder: D,
        kinds: Vec<Kind>,
        options: Options,
        bell: Arc<Bell>,
    ) -> Result<DecodingSink<D>> {
        let wanted = Wanted { kinds, ..options.wanted(None, Rules::new()) };
        Ok(DecodingSink { end: SinkEnd::new(member, wanted, bell)?, decoder, copy: Aligned::new() })
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
        let DecodingSink { end, decoder, copy } = self;
        let Some((stamp, format, place)) = end.event() else { return Ok(about(end.last())) };
        let (format, bodies) = Bodies::of(&mut end.batch, format);
        let body = match bodies.at(place, copy) {
            EventBody::Own(body) => Body::Own(format, body),
            EventBody::Lent(message) => Body::Lent(message),
        };
        let record = decoder.decode_body(body).map_err(|error| unfit(&end.life.hub, end.key, error, stamp))?;
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
