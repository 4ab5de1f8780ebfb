//! Sinks for messages of any format.

use super::{Bodies, EventBody, SinkEnd, unfit};
use crate::api::life::Member;
use crate::api::options::Options;
use crate::api::parameters::Parameters;
use crate::drive::bell::Bell;
use crate::{Event, Stamp};
use isoform::core::plan::Kind;
use isoform::{Aligned, Format, Incoming, Result, Rules, message::Header};
use isoform_channel_proto::{BodyRef, Counts, Granted, NodeId, Offered, Policy, SourceRef, Wanted};
use rustix::fd::BorrowedFd;
use std::fmt;
use std::time::Duration;
#[cfg(doc)]
use {super::Sink, isoform::Code};

/// A sink for messages of any format, for tools and for programs that know no format.
pub struct MessageSink {
    end: SinkEnd,
    copy: Aligned,
}

impl MessageSink {
    pub(crate) fn of_kinds(member: &Member, kinds: Vec<Kind>, others: bool, options: Options) -> Result<MessageSink> {
        let wanted = Wanted { kinds, others, ..options.wanted(None, Rules::new()) };
        Ok(MessageSink { end: SinkEnd::new(member, wanted, Bell::new())?, copy: Aligned::new() })
    }

    pub(crate) fn new(member: &Member, format: Option<&Format>, rules: Rules, options: Options) -> Result<MessageSink> {
        let wanted = options.wanted(format.cloned(), rules);
        Ok(MessageSink { end: SinkEnd::new(member, wanted, Bell::new())?, copy: Aligned::new() })
    }

    /// As [`Sink::recv`]. [`Incoming::view`] reads the fields of a message by name.
    ///
    /// # Errors
    /// [`Code::Closed`].
    pub fn recv(&mut self) -> Result<Event<Incoming<'_>>> {
        self.end.wait(None)?;
        Ok(self.next())
    }

    /// As [`Sink::recv_timeout`].
    ///
    /// # Errors
    /// As [`recv`](MessageSink::recv).
    pub fn recv_timeout(&mut self, patience: Duration) -> Result<Option<Event<Incoming<'_>>>> {
        let came = self.end.wait(Some(patience))?;
        Ok(came.then(|| self.next()))
    }

    /// As [`Sink::try_recv`].
    ///
    /// # Errors
    /// As [`recv`](MessageSink::recv).
    pub fn try_recv(&mut self) -> Result<Option<Event<Incoming<'_>>>> {
        self.recv_timeout(Duration::ZERO)
    }

    /// Receives many messages at once: hands those that have arrived to `take`, one after the other, until there are no
    /// more or `take` returns `false`. That message then remains the next event. [`Event::Record`] has the stamp of the first
    /// and the number of messages taken. An event of another kind is returned alone. Waits for the first event, at most for
    /// `patience`, and returns `None` if none arrives, or if the first message is not taken.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform_channel::{Event, Node};
    /// use std::time::Duration;
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Tick {
    ///     count: u64,
    /// }
    /// let channel = Node::new()?.create::<Tick>("ticks")?;
    /// let mut sink = channel.sink_builder().build_messages()?;
    /// let mut source = channel.source::<Tick>()?;
    /// for count in 0..10 {
    ///     source.submit(&Tick { count })?;
    /// }
    /// let mut sum = 0;
    /// let came = loop {
    ///     let came = sink.recv_while(Duration::from_secs(10), |_, message| {
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
    /// As [`recv`](MessageSink::recv). Those of `take`: for the first message, which is taken then; an error of a later one
    /// is left to the next call.
    pub fn recv_while(
        &mut self,
        patience: Duration,
        mut take: impl FnMut(Stamp, &Incoming<'_>) -> Result<bool>,
    ) -> Result<Option<Event<usize>>> {
        if !self.end.wait(Some(patience))? {
            return Ok(None);
        }
        let mut first = None;
        let mut count = 0;
        while self.end.look() {
            let (event, behind) = self.end.peek();
            let Some((stamp, format, place)) = event else {
                return match first {
                    None => {
                        self.end.take(behind);
                        Ok(Some(self.end.told()))
                    }
                    Some(stamp) => Ok(Some(Event::Record { stamp, record: count })),
                };
            };
            let MessageSink { end, copy, .. } = self;
            match take(stamp, &message(end, copy, format, place)) {
                Ok(true) => {}
                Err(error) if count == 0 => {
                    end.take(behind);
                    return Err(unfit(&end.life.hub, end.key, error, stamp.source, stamp.sequence));
                }
                Ok(false) | Err(_) => break,
            }
            self.end.take(behind);
            first.get_or_insert(stamp);
            count += 1;
        }
        Ok(first.map(|stamp| Event::Record { stamp, record: count }))
    }

    /// As [`Sink::set_policy`](super::Sink::set_policy).
    pub fn set_policy(&self, policy: Policy) {
        self.end.set_policy(policy, false);
    }

    /// As [`Sink::set_parameters`](super::Sink::set_parameters).
    pub fn set_parameters(&self, values: Parameters) {
        self.end.set_parameters(values);
    }

    /// As [`Sink::set_lossless`](super::Sink::set_lossless).
    pub fn set_lossless(&self) {
        self.end.set_policy(Policy::Block, true);
    }

    /// As [`Sink::decline`](super::Sink::decline).
    pub fn decline(&self, head: &Stamp) -> bool {
        self.end.decline(head)
    }

    /// As [`Sink::granted`](super::Sink::granted).
    pub fn granted(&self) -> Vec<(SourceRef, Granted)> {
        self.end.granted()
    }

    /// The sources that the channel has now, as far as this node knows; also those that the sink does not subscribe to
    /// ([`SinkBuilder::only`](crate::SinkBuilder::only)).
    pub fn sources(&self) -> Vec<Offered> {
        self.end.life.hub.lock().machine.offered_to(self.end.key)
    }

    /// As [`Sink::counts`](super::Sink::counts).
    pub fn counts(&self) -> Counts {
        self.end.counts()
    }

    /// Adds a record that the program itself could not convert to [`Counts::unfit`].
    pub fn note_unfit(&self) {
        self.end.life.hub.lock().machine.unfit(self.end.key);
    }

    /// As [`Sink::descriptor`](super::Sink::descriptor).
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.end.bell.descriptor()
    }

    /// Where the events of a source that is there are submitted first: its node, and its number there.
    pub(crate) fn place(&self, source: SourceRef) -> Option<(NodeId, u32)> {
        self.end.sources.get(&source).copied()
    }

    fn next(&mut self) -> Event<Incoming<'_>> {
        let Some((stamp, format, place)) = self.end.event() else { return self.end.told() };
        let MessageSink { end, copy, .. } = self;
        Event::Record { stamp, record: message(end, copy, format, place) }
    }
}

/// The message of an item.
fn message<'s>(end: &'s mut SinkEnd, copy: &'s mut Aligned, format: u32, place: BodyRef) -> Incoming<'s> {
    let (format, bodies) = Bodies::of(&mut end.batch, format);
    let body = match bodies.at(place, copy) {
        EventBody::Own(body) => body,
        EventBody::Lent(message) => message.body(),
    };
    Incoming::new(Header::new(format.token(), body.len() as u64), format, body)
}

impl fmt::Debug for MessageSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageSink({:?})", self.end.key)
    }
}
