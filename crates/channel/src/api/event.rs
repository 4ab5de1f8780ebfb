//! The events of a sink.

use super::parameters::Given;
use isoform::message::Header;
use isoform::{Error, Format, Incoming, Result};
use isoform_channel_proto::{Gap, Granted, NodeId, Origin, SourceRef};
use std::time::{Duration, SystemTime};

/// An event of a sink: a record, or news about the events of a source.
///
/// `R` is the sink's form of a record: a reference to a struct, or a message.
#[derive(Clone, Debug)]
pub enum Event<R> {
    /// A record.
    Record {
        /// Its source and the time of its submission.
        stamp: Stamp,
        /// The record.
        record: R,
    },
    /// The head of a long event whose rest is on its way, for sinks that asked for heads
    /// ([`SinkBuilder::heads`](crate::SinkBuilder::heads)). The record follows; or a gap in its place; or
    /// [`Event::Left`].
    Head {
        /// Its source and the time of its submission.
        stamp: Stamp,
        /// What has come of the record.
        head: Box<Head>,
    },
    /// Events of this source are lost.
    Gap(SourceRef, Gap),
    /// A source has joined.
    Joined {
        /// Its number at this node.
        source: SourceRef,
        /// Its node.
        node: NodeId,
        /// The format of all of its records, if they have one.
        format: Option<Format>,
        /// The events that it submitted before, and that this sink does not get. They do not count as submitted to it, and are not lost.
        earlier: u64,
    },
    /// A source has left, and sends nothing more. The number is that of the other sources that are still there, without those
    /// that are refused. It also comes when a refused source leaves.
    Left(SourceRef, usize),
    /// The records of this source cannot become this sink's, and the error names the field and the reason. Or the source
    /// does not grant the policy that this sink must have ([`Code::NotGranted`](isoform::Code::NotGranted)). Or the rules of
    /// one of the two nodes do not allow it ([`Code::Forbidden`](isoform::Code::Forbidden)).
    Refused(SourceRef, Error),
    /// This source grants another policy than the sink asked for, or another one than before.
    Granted(SourceRef, Granted),
    /// This source has parameters, and says which values the sink has. It comes after [`Event::Joined`], and with each change.
    Given(SourceRef, Box<Given>),
}

/// The head of a long event: the first bytes of its body, before the rest has come.
#[derive(Clone, Debug)]
pub struct Head {
    format: Format,
    /// The format of the bytes that have come.
    own: Result<Format>,
    length: u64,
    bytes: Box<[u8]>,
}

impl Head {
    pub(crate) fn new(format: Format, length: u64, bytes: Box<[u8]>) -> Head {
        Head { own: format.head(bytes.len()), format, length, bytes }
    }

    /// The format of the event.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The bytes of the whole body.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The fields of the record that have come, as a message of their own: all but pointers, and those beyond the first
    /// 65,536 bytes ([`Format::head`]).
    ///
    /// # Errors
    /// [`Code::Declaration`](isoform::Code::Declaration) if the record has no such field.
    pub fn message(&self) -> Result<Incoming<'_>> {
        let own = self.own.as_ref().map_err(Error::clone)?;
        let body = &self.bytes[..own.size()];
        Ok(Incoming::new(Header::new(own.token(), body.len() as u64), own, body))
    }
}

/// The source of an event, and the time of its submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The number of the source at this node.
    pub source: SourceRef,
    /// The number of the event at its source, which counts from 0 all events that it submits, also while there are no sinks.
    pub sequence: u64,
    /// The time of submission, by the clock of the source: nanoseconds since 1970.
    pub nanoseconds: u64,
    /// Where the event was first submitted, if a relay has submitted it again.
    pub origin: Option<Origin>,
}

impl Stamp {
    /// The time of submission, by the clock of the source.
    pub fn time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.nanoseconds)
    }
}

impl<R> Event<R> {
    /// The record, if the event is one.
    pub fn record(self) -> Option<R> {
        match self {
            Event::Record { record, .. } => Some(record),
            _ => None,
        }
    }

    /// The same event with another form of the record.
    pub fn map<S>(self, form: impl FnOnce(R) -> S) -> Event<S> {
        match self {
            Event::Record { stamp, record } => Event::Record { stamp, record: form(record) },
            Event::Head { stamp, head } => Event::Head { stamp, head },
            Event::Gap(source, gap) => Event::Gap(source, gap),
            Event::Joined { source, node, format, earlier } => Event::Joined { source, node, format, earlier },
            Event::Left(source, others) => Event::Left(source, others),
            Event::Refused(source, error) => Event::Refused(source, error),
            Event::Granted(source, granted) => Event::Granted(source, granted),
            Event::Given(source, given) => Event::Given(source, given),
        }
    }
}
