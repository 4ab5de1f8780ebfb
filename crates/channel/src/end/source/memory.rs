//! Sources for records whose format is known only at run time, for bindings of other languages.
//!
//! The promises for its `unsafe` functions are those of [`isoform::memory`], and callers make them. Nothing here
//! touches memory itself.
#![allow(unsafe_code)]

use super::Source;
use super::run::Records;
use crate::api::parameters::Demand;
#[cfg(doc)]
use isoform::Code;
use isoform::memory::Encoder;
use isoform::{Message, Result};
use std::ops::Range;

impl Source<Encoder> {
    /// As for records of a Rust type: submits one to all sinks, and returns its sequence number.
    ///
    /// # Errors
    /// [`Code::Closed`] if the channel was closed; the errors of [`Encoder::encode`] if there are sinks.
    /// Without sinks, the record is not read.
    ///
    /// # Safety
    /// As [`Encoder::encode`]'s, until this returns.
    pub unsafe fn submit_raw(&mut self, record: *const u8) -> Result<u64> {
        if let Some(number) = self.end.pass() {
            return Ok(number);
        }
        // SAFETY: promised.
        let message = unsafe { self.encoder.encode(record)? };
        self.end.submit_message(None, &message)
    }

    /// Submits a record only to the sinks of a demand.
    ///
    /// # Errors
    /// As [`submit_raw`](Source::submit_raw).
    ///
    /// # Safety
    /// As [`Encoder::encode`]'s, until this returns.
    pub unsafe fn submit_raw_for(&mut self, demand: &Demand, record: *const u8) -> Result<u64> {
        if let Some(number) = self.end.pass() {
            return Ok(number);
        }
        // SAFETY: promised.
        let message = unsafe { self.encoder.encode(record)? };
        self.end.submit_message(Some(demand.key), &message)
    }

    /// Submits `count` consecutive records, and returns the sequence number of the last; `None` if there are none. Up to 64 KiB of them have the
    /// same time.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform::memory::Encoder;
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
    /// let mut source = channel.source_builder().build_with(Encoder::new(Tick::format())?)?;
    /// // SAFETY: they are three records of that format.
    /// assert_eq!(unsafe { source.submit_raw_many(ticks.as_ptr().cast(), 3)? }, Some(2));
    /// let mut sum = 0;
    /// while sum < 6 {
    ///     sum += sink.recv()?.record().map_or(0, |tick| tick.count);
    /// }
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`submit_raw`](Source::submit_raw), with the number of the record in front of the path. The records before it
    /// are submitted.
    ///
    /// # Safety
    /// As [`Encoder::encode`]'s, of each of them, until this returns.
    pub unsafe fn submit_raw_many(&mut self, records: *const u8, count: usize) -> Result<Option<u64>> {
        self.end.submit_all(Consecutive { encoder: &mut self.encoder, records }, count)
    }
}

/// Consecutive records in memory.
struct Consecutive<'e> {
    encoder: &'e mut Encoder,
    records: *const u8,
}

impl Records for Consecutive<'_> {
    fn encode(&mut self, at: usize) -> Result<Message<'_>> {
        let size = self.encoder.format().size();
        // SAFETY: the caller of `submit_raw_many`, the only one that makes this, promises it for as many records as it states.
        unsafe { self.encoder.encode(self.records.add(at * size)) }
    }

    fn bodies(&self, _: Range<usize>) -> Option<&[u8]> {
        // Records of other languages are checked one by one.
        None
    }
}
