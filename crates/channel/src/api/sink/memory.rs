//! Sinks for records whose format is known only at run time, for bindings of other languages.
//!
//! The promises for its `unsafe` functions are those of [`isoform::memory`], and callers make them. Nothing here
//! touches memory itself.
#![allow(unsafe_code)]

use super::{Bodies, EventBody, Receive, SinkEnd, unfit, which};
use crate::api::life::Member;
use crate::api::options::Options;
use crate::api::parameters::Parameters;
use crate::drive::bell::Bell;
use crate::{Event, Stamp};
use isoform::{Aligned, Code, Error, Format, Incoming, Result, Rules, memory, message::Header};
use isoform_channel_proto::{BodyRef, Counts, Cursor, Granted, Policy, SourceRef, Wanted};
use rustix::fd::BorrowedFd;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A sink for records of a format, in memory of this machine; see [`memory::Decoder`].
pub struct MemorySink {
    end: SinkEnd,
    decoder: memory::Decoder,
    /// For shared bodies that are not contiguous.
    copy: Aligned,
}

impl MemorySink {
    pub(crate) fn new(
        member: &Member,
        format: &Format,
        rules: Rules,
        options: Options,
        bell: Arc<Bell>,
    ) -> Result<MemorySink> {
        let rules = options.rules(rules);
        let mut decoder = memory::Decoder::new(format, rules.clone())?.with_faults(options.faults);
        let wanted = Wanted { narrow: true, ..options.wanted(Some(format.clone()), rules) };
        let end = SinkEnd::new(member, wanted, bell)?;
        if let Some(plans) = end.plans() {
            decoder.share_plans(&plans);
        }
        Ok(MemorySink { end, decoder, copy: Aligned::new() })
    }

    /// Waits for the next event, and returns it. A record is as from [`memory::Decoder::decode`].
    ///
    /// # Errors
    /// The errors of [`memory::Decoder::decode`] for an event, after which the next call continues. [`Code::Closed`].
    pub fn recv(&mut self) -> Result<Event<&[u8]>> {
        self.end.wait(None)?;
        self.next()
    }

    /// The same, but returns `None` if no event arrives within `patience`.
    ///
    /// # Errors
    /// As [`recv`](MemorySink::recv).
    pub fn recv_timeout(&mut self, patience: Duration) -> Result<Option<Event<&[u8]>>> {
        match self.end.wait(Some(patience))? {
            true => self.next().map(Some),
            false => Ok(None),
        }
    }

    /// The same, but returns `None` if no event has arrived.
    ///
    /// # Errors
    /// As [`recv`](MemorySink::recv).
    pub fn try_recv(&mut self) -> Result<Option<Event<&[u8]>>> {
        self.recv_timeout(Duration::ZERO)
    }

    /// Receives many events at once. Copies up to `most` records that have arrived to `records`, and their stamps to
    /// `stamps`. [`Event::Record`] has the stamp of the first and the number of records. An event of another kind is
    /// returned alone. Waits for the first event, at most for `patience` if that is given, and returns `None` if none
    /// arrives. The records must not contain pointers.
    ///
    /// ```
    /// use isoform::{Record, Rules};
    /// use isoform_channel::{Event, Node};
    /// #[derive(Record, Clone, Copy, Debug, PartialEq)]
    /// #[repr(C)]
    /// struct Tick {
    ///     count: u64,
    /// }
    /// let node = Node::new()?;
    /// let channel = node.create::<Tick>("ticks")?;
    /// let mut sink = channel.sink_builder().build_memory(Tick::format(), Rules::new())?;
    /// let mut source = channel.source::<Tick>()?;
    /// for count in 0..10 {
    ///     source.submit(&Tick { count })?;
    /// }
    /// let (mut ticks, mut stamps) = ([Tick { count: 0 }; 100], Vec::new());
    /// let came = loop {
    ///     // SAFETY: there is room for 100 of them.
    ///     let came = unsafe { sink.recv_many(ticks.as_mut_ptr().cast(), 100, &mut stamps, None)? };
    ///     if let Some(Event::Record { record: came, .. }) = came {
    ///         break came;
    ///     }
    /// };
    /// assert_eq!((came, stamps.len(), ticks[9].count), (10, 10, 9));
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`recv`](MemorySink::recv), for the first event; an error of a later one is left to the next call.
    /// [`Code::WrongType`] if the records have pointers.
    ///
    /// # Safety
    /// `records` points at as many writable and initialised bytes as `most` records of the format have.
    pub unsafe fn recv_many(
        &mut self,
        records: *mut u8,
        most: usize,
        stamps: &mut Vec<Stamp>,
        patience: Option<Duration>,
    ) -> Result<Option<Event<usize>>> {
        stamps.clear();
        if self.format().structure().has_slots() {
            let error = Error::new(Code::WrongType).at(self.format().name());
            return Err(error.expected("records without pointers"));
        }
        if most == 0 || !self.end.wait(patience)? {
            return Ok(None);
        }
        let size = self.format().size();
        while stamps.len() < most && self.end.look() {
            // SAFETY: there is room for one more.
            let (event, behind) = unsafe { self.peek_into(records.add(stamps.len() * size)) };
            let event = match event {
                Ok(Event::Record { stamp, .. }) => Ok(stamp),
                Ok(other) => Err(Ok(other)),
                Err(error) => Err(Err(error)),
            };
            match event {
                Ok(stamp) => stamps.push(stamp),
                Err(_) if !stamps.is_empty() => break,
                Err(alone) => {
                    self.end.take(behind);
                    if alone.is_err() {
                        self.end.life.hub.lock().machine.unfit(self.end.key);
                    }
                    return alone.map(|event| Some(event.map(|()| unreachable!("told from records before"))));
                }
            }
            self.end.take(behind);
        }
        let record = stamps.len();
        Ok(stamps.first().map(|&stamp| Event::Record { stamp, record }))
    }

    /// The next item, which this does not take, and the place behind it. It writes a record to memory of the caller.
    ///
    /// # Safety
    /// There is room for it.
    unsafe fn peek_into(&mut self, record: *mut u8) -> (Result<Event<()>>, Cursor) {
        let (event, behind) = self.end.peek();
        let event = match event {
            // SAFETY: promised.
            Some((stamp, format, place)) => unsafe { self.put(stamp, format, place, record) },
            None => Ok(self.end.told_before(&behind)),
        };
        (event, behind)
    }

    /// Writes the record of an event to memory of the caller.
    ///
    /// # Safety
    /// There is room for it.
    unsafe fn put(&mut self, stamp: Stamp, format: u32, place: BodyRef, record: *mut u8) -> Result<Event<()>> {
        let MemorySink { end, decoder, copy } = self;
        let (format, bodies) = Bodies::of(&mut end.batch, format);
        let message = match bodies.at(place, copy) {
            EventBody::Own(body) => Incoming::new(Header::new(format.token(), body.len() as u64), format, body),
            EventBody::Lent(message) => message,
        };
        // SAFETY: promised.
        unsafe { decoder.decode_into(&message, record, &mut Aligned::new()) }
            .map_err(|error| which(error, stamp.source, stamp.sequence))?;
        Ok(Event::Record { stamp, record: () })
    }

    /// The format of its records.
    pub fn format(&self) -> &Format {
        self.decoder.format()
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

    /// As [`Sink::counts`](super::Sink::counts).
    pub fn counts(&self) -> Counts {
        self.end.counts()
    }

    /// As [`Sink::copied`](super::Sink::copied).
    pub fn copied(&self) -> u64 {
        self.decoder.copied()
    }

    /// As [`Sink::descriptor`](super::Sink::descriptor).
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.end.bell.descriptor()
    }

    pub(crate) fn next(&mut self) -> Result<Event<&[u8]>> {
        let MemorySink { end, decoder, copy } = self;
        let Some((stamp, format, place)) = end.event() else { return Ok(end.told()) };
        let (format, bodies) = Bodies::of(&mut end.batch, format);
        let decoded = match bodies.at(place, copy) {
            EventBody::Own(body) => decoder.decode_in_place(format, body),
            EventBody::Lent(message) => decoder.decode(&message),
        };
        let record = decoded.map_err(|error| unfit(&end.life.hub, end.key, error, stamp.source, stamp.sequence))?;
        Ok(Event::Record { stamp, record })
    }
}

impl Receive for MemorySink {
    fn end(&mut self) -> &mut SinkEnd {
        &mut self.end
    }
}

impl fmt::Debug for MemorySink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemorySink({:?})", self.decoder)
    }
}
