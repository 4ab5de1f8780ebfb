//! What a sink is told.

use isoform::Error;
use isoform_channel_proto::{Gap, NodeId, SourceRef};
use std::time::{Duration, SystemTime};

/// One thing that a sink is told: an event, or something about the events of a source.
///
/// `R` is what the sink makes of records: a reference to a struct, or a message to be viewed.
#[derive(Clone, Debug)]
pub enum Event<R> {
    /// An event.
    Record {
        /// From whom and when.
        stamp: Stamp,
        /// What was submitted.
        record: R,
    },
    /// Events of this source will not come.
    Gap(SourceRef, Gap),
    /// A source has come, at this node.
    Joined(SourceRef, NodeId),
    /// A source has left: nothing more comes from it.
    Left(SourceRef),
    /// This source's events cannot be this sink's: the error says at which field, and why.
    Refused(SourceRef, Error),
}

/// From whom an event is, and when it was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its source, as this node tells it from others.
    pub source: SourceRef,
    /// Its number at that source, which counts from 0 what it submits while there are sinks.
    pub sequence: u64,
    /// When it was submitted, by the clock of its source: nanoseconds since 1970.
    pub nanoseconds: u64,
}

impl Stamp {
    /// When it was submitted, by the clock of its source.
    pub fn time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.nanoseconds)
    }
}

impl<R> Event<R> {
    /// The record, if it is an event.
    pub fn record(self) -> Option<R> {
        match self {
            Event::Record { record, .. } => Some(record),
            _ => None,
        }
    }

    /// The same, with another form of the record.
    pub fn map<S>(self, form: impl FnOnce(R) -> S) -> Event<S> {
        match self {
            Event::Record { stamp, record } => Event::Record { stamp, record: form(record) },
            Event::Gap(source, gap) => Event::Gap(source, gap),
            Event::Joined(source, node) => Event::Joined(source, node),
            Event::Left(source) => Event::Left(source),
            Event::Refused(source, error) => Event::Refused(source, error),
        }
    }
}
