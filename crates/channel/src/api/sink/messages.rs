//! Sinks for messages of any format.

use super::{Bodies, EventBody, SinkEnd, about};
use crate::api::life::Member;
use crate::api::options::Options;
use crate::drive::bell::Bell;
use crate::{Event, Stamp};
use isoform::core::plan::Kind;
use isoform::{Aligned, Format, Incoming, Result, Rules, message::Header};
use isoform_channel_proto::{Counts, Granted, Policy, SourceRef, Wanted};
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
    pub(crate) fn of_kinds(member: &Member, kinds: Vec<Kind>, options: Options) -> Result<MessageSink> {
        let wanted = Wanted { kinds, ..options.wanted(None, Rules::new()) };
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

    /// As [`Sink::set_policy`](super::Sink::set_policy).
    pub fn set_policy(&self, policy: Policy) {
        self.end.set_policy(policy, false);
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

    /// As [`Sink::counts`](super::Sink::counts).
    pub fn counts(&self) -> Counts {
        self.end.counts()
    }

    /// As [`Sink::descriptor`](super::Sink::descriptor).
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.end.bell.descriptor()
    }

    fn next(&mut self) -> Event<Incoming<'_>> {
        let MessageSink { end, copy } = self;
        let Some((stamp, format, place)) = end.event() else { return about(end.last()) };
        let (format, bodies) = Bodies::of(&mut end.batch, format);
        let body = match bodies.at(place, copy) {
            EventBody::Own(body) => body,
            EventBody::Lent(message) => message.body(),
        };
        let header = Header::new(format.token(), body.len() as u64);
        Event::Record { stamp, record: Incoming::new(header, format, body) }
    }
}

impl fmt::Debug for MessageSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageSink({:?})", self.end.key)
    }
}
