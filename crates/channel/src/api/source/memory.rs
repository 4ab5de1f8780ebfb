//! Sources for records whose format is known only at run time, for bindings of other languages.
//!
//! The promises for its `unsafe` functions are those of [`isoform::memory`], and callers make them. Nothing here
//! touches memory itself.
#![allow(unsafe_code)]

use super::demands::demand_methods;
use super::run::Records;
use super::{SourceEnd, Wishes};
use crate::api::life::Member;
use crate::api::parameters::{Demand, Parameters};
#[cfg(doc)]
use isoform::Code;
use isoform::{Error, Format, Message, Result, memory};
use isoform_channel_proto::SinkLedger;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// A source of records of a format, in memory of this machine; see [`memory::Encoder`].
pub struct MemorySource {
    end: SourceEnd,
    encoder: memory::Encoder,
}

impl MemorySource {
    pub(crate) fn new(member: &Member, format: &Format, wishes: Wishes) -> Result<MemorySource> {
        let encoder = memory::Encoder::new(format)?;
        Ok(MemorySource { end: SourceEnd::new(member, Some(format), wishes)?, encoder })
    }

    /// As [`Source::submit`](super::Source::submit).
    ///
    /// # Errors
    /// [`Code::Closed`] if the channel was closed; the errors of [`memory::Encoder::encode`] if there are sinks.
    /// Without sinks, the record is not read.
    ///
    /// # Safety
    /// As [`memory::Encoder::encode`]'s, until this returns.
    pub unsafe fn submit(&mut self, record: *const u8) -> Result<u64> {
        if let Some(number) = self.end.pass() {
            return Ok(number);
        }
        // SAFETY: promised.
        let message = unsafe { self.encoder.encode(record)? };
        self.end.submit_message(None, &message)
    }

    /// As [`Source::submit_for`](super::Source::submit_for).
    ///
    /// # Errors
    /// As [`submit`](MemorySource::submit).
    ///
    /// # Safety
    /// As [`memory::Encoder::encode`]'s, until this returns.
    pub unsafe fn submit_for(&mut self, demand: &Demand, record: *const u8) -> Result<u64> {
        if let Some(number) = self.end.pass() {
            return Ok(number);
        }
        // SAFETY: promised.
        let message = unsafe { self.encoder.encode(record)? };
        self.end.submit_message(Some(demand.key), &message)
    }

    demand_methods!();

    /// Submits `count` consecutive records, and returns the sequence number of the last; `None` if there are none. Up to 64 KiB of them have the
    /// same time.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform_channel::{Event, Node};
    /// #[derive(Record, Clone, Copy)]
    /// #[repr(C)]
    /// struct Tick {
    ///     count: u64,
    /// }
    /// let node = Node::new()?;
    /// let channel = node.create::<Tick>("ticks")?;
    /// let mut sink = channel.sink::<Tick>()?;
    /// let ticks = [1, 2, 3].map(|count| Tick { count });
    /// let mut source = channel.source_builder().build_memory(Tick::format())?;
    /// // SAFETY: they are three records of that format.
    /// assert_eq!(unsafe { source.submit_many(ticks.as_ptr().cast(), 3)? }, Some(2));
    /// let mut sum = 0;
    /// while sum < 6 {
    ///     sum += sink.recv()?.record().map_or(0, |tick| tick.count);
    /// }
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`submit`](MemorySource::submit), with the number of the record in front of the path. The records before it
    /// are submitted.
    ///
    /// # Safety
    /// As [`memory::Encoder::encode`]'s, of each of them, until this returns.
    pub unsafe fn submit_many(&mut self, records: *const u8, count: usize) -> Result<Option<u64>> {
        self.end.submit_all(Consecutive { encoder: &mut self.encoder, records }, count)
    }

    /// The number of the next event: how many this source has submitted, heard or not.
    pub fn next(&self) -> u64 {
        self.end.life.hub.lock().machine.next(self.end.key)
    }

    /// The format of its records.
    pub fn format(&self) -> &Format {
        self.encoder.format()
    }

    /// As [`Source::set_patience`](super::Source::set_patience).
    pub fn set_patience(&mut self, patience: Option<Duration>) {
        self.end.patience = patience;
    }

    /// As [`Source::wait_for_sinks`](super::Source::wait_for_sinks).
    ///
    /// # Errors
    /// [`Code::Deadline`].
    pub fn wait_for_sinks(&self, count: usize, patience: Duration) -> Result<()> {
        self.end.wait_for_sinks(count, patience)
    }

    /// As [`Source::declined`](super::Source::declined).
    pub fn declined(&self) -> Option<Error> {
        self.end.declined()
    }

    /// As [`Source::sinks`](super::Source::sinks).
    pub fn sinks(&self) -> usize {
        self.end.sinks()
    }

    /// As [`Source::ledger`](super::Source::ledger).
    pub fn ledger(&self) -> Vec<SinkLedger> {
        self.end.ledger()
    }

    /// As [`Source::close`](super::Source::close).
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn close(self, patience: Duration) -> Result<Vec<SinkLedger>> {
        self.end.close(patience)
    }
}

/// Consecutive records in memory.
struct Consecutive<'e> {
    encoder: &'e mut memory::Encoder,
    records: *const u8,
}

impl Records for Consecutive<'_> {
    fn encode(&mut self, at: usize) -> Result<Message<'_>> {
        let size = self.encoder.format().size();
        // SAFETY: the caller of `submit_many`, the only one that makes this, promises it for as many records as it states.
        unsafe { self.encoder.encode(self.records.add(at * size)) }
    }

    fn bodies(&self, _: Range<usize>) -> Option<&[u8]> {
        // Records of other languages are checked one by one.
        None
    }
}

impl fmt::Debug for MemorySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemorySource({:?})", self.encoder)
    }
}
