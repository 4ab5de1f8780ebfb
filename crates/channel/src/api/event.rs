//! The events of a sink.

use isoform::{Error, Format};
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
    /// Events of this source are lost.
    Gap(SourceRef, Gap),
    /// A source has joined, at this node. If all of its records have one format, this is the format.
    Joined(SourceRef, NodeId, Option<Format>),
    /// A source has left; it sends nothing more.
    Left(SourceRef),
    /// The records of this source cannot become this sink's, and the error names the field and the reason. Or the source
    /// does not grant the policy that this sink must have ([`Code::NotGranted`](isoform::Code::NotGranted)). Or the rules of
    /// one of the two nodes do not allow it ([`Code::Forbidden`](isoform::Code::Forbidden)).
    Refused(SourceRef, Error),
    /// This source grants another policy than the sink asked for, or another one than before.
    Granted(SourceRef, Granted),
}

/// The source of an event, and the time of its submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The number of the source at this node.
    pub source: SourceRef,
    /// The number of the event at its source, which counts from 0 the events that it submits while there are sinks.
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
            Event::Gap(source, gap) => Event::Gap(source, gap),
            Event::Joined(source, node, format) => Event::Joined(source, node, format),
            Event::Left(source) => Event::Left(source),
            Event::Refused(source, error) => Event::Refused(source, error),
            Event::Granted(source, granted) => Event::Granted(source, granted),
        }
    }
}
