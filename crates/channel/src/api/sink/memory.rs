//! Sinks whose format is known only when the program runs: what those of a Rust type are for bindings of other languages.
//!
//! The `unsafe` of it is that of [`isoform::memory`], whose promises callers make: nothing here touches memory itself.
#![allow(unsafe_code)]

use super::{Bodies, Came, Counts, End, about, which};
use crate::api::life::Member;
use crate::api::options::Options;
use crate::drive::bell::Bell;
use crate::{Event, Stamp};
use isoform::{Aligned, Code, Error, Format, Incoming, Result, Rules, memory, message::Header};
use isoform_channel_proto::{Item, SinkKey};
use std::fmt;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

/// A sink for records of a format, as they lie in memory; see [`memory::Decoder`].
pub struct MemorySink {
    end: End,
    decoder: memory::Decoder,
    /// For bodies that are shared and do not lie in one piece.
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
        let mut decoder = memory::Decoder::new(format, rules.clone())?.with_faults(options.faults);
        let wanted = options.wanted(Some(format.clone()), rules);
        let end = End::new(member, wanted, bell)?;
        if let Some(plans) = end.plans() {
            decoder.share_plans(&plans);
        }
        Ok(MemorySink { end, decoder, copy: Aligned::new() })
    }

    /// The next event, or the next thing that there is to know about events. Waits for it. A record is as
    /// [`memory::Decoder::decode`] gives it.
    ///
    /// # Errors
    /// What [`memory::Decoder::decode`] reports of an event: the next call goes on behind it. [`Code::Closed`].
    pub fn recv(&mut self) -> Result<Event<&[u8]>> {
        self.end.wait(None)?;
        self.next()
    }

    /// The same; `None` if nothing comes within `patience`.
    ///
    /// # Errors
    /// As [`recv`](MemorySink::recv).
    pub fn recv_timeout(&mut self, patience: Duration) -> Result<Option<Event<&[u8]>>> {
        match self.end.wait(Some(patience))? {
            true => self.next().map(Some),
            false => Ok(None),
        }
    }

    /// The same; `None` if nothing has come.
    ///
    /// # Errors
    /// As [`recv`](MemorySink::recv).
    pub fn try_recv(&mut self) -> Result<Option<Event<&[u8]>>> {
        self.recv_timeout(Duration::ZERO)
    }

    /// The next events at once: as many as have come, up to `most`, one after another to where the caller wants them, and their
    /// stamps to `stamps`. [`Event::Record`] has the stamp of the first, and how many there are. What is no event comes alone.
    /// Waits for the first one, but no longer than `patience`, if that is given; `None` if none has come. The records must be
    /// ones without pointers.
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
    /// As [`recv`](MemorySink::recv), of the first event; one behind it is left to the next call. [`Code::WrongType`] if the
    /// records have pointers.
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
            let event = match unsafe { self.peek_into(records.add(stamps.len() * size)) } {
                Ok(Event::Record { stamp, .. }) => Ok(stamp),
                Ok(other) => Err(Ok(other)),
                Err(error) => Err(Err(error)),
            };
            match event {
                Ok(stamp) => stamps.push(stamp),
                Err(_) if !stamps.is_empty() => break,
                Err(alone) => {
                    self.end.item();
                    return alone.map(|event| Some(event.map(|()| unreachable!("told from records before"))));
                }
            }
            self.end.item();
        }
        let record = stamps.len();
        Ok(stamps.first().map(|&stamp| Event::Record { stamp, record }))
    }

    /// What comes next, which is not handed out by this; a record is put where the caller wants it.
    ///
    /// # Safety
    /// There is room for it.
    unsafe fn peek_into(&mut self, record: *mut u8) -> Result<Event<()>> {
        let MemorySink { end, decoder, copy } = self;
        let (stamp, format, place) = match end.peek() {
            Item::Event { source, sequence, time, format, place } => {
                (Stamp { source: *source, sequence: *sequence, nanoseconds: *time }, *format, *place)
            }
            other => return Ok(about(other)),
        };
        let (format, bodies) = Bodies::of(&mut end.batch, format);
        let message = match bodies.at(place, copy) {
            Came::Own(body) => Incoming::new(Header::new(format.token(), body.len() as u64), format, body),
            Came::Lent(message) => message,
        };
        // SAFETY: promised.
        unsafe { decoder.decode_into(&message, record, &mut Aligned::new()) }.map_err(|error| which(error, stamp))?;
        Ok(Event::Record { stamp, record: () })
    }

    /// The format of its records.
    pub fn format(&self) -> &Format {
        self.decoder.format()
    }

    /// What has come and gone so far.
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

    pub(crate) fn key(&self) -> SinkKey {
        self.end.key
    }

    pub(crate) fn look(&mut self) -> bool {
        self.end.look()
    }

    pub(crate) fn has_next(&self) -> bool {
        self.end.next < self.end.batch.items.len()
    }

    pub(crate) fn next(&mut self) -> Result<Event<&[u8]>> {
        let MemorySink { end, decoder, copy } = self;
        let (stamp, format, place) = match end.item() {
            Item::Event { source, sequence, time, format, place } => {
                (Stamp { source: *source, sequence: *sequence, nanoseconds: *time }, *format, *place)
            }
            other => return Ok(about(other)),
        };
        let (format, bodies) = Bodies::of(&mut end.batch, format);
        let decoded = match bodies.at(place, copy) {
            Came::Own(body) => decoder.decode_in_place(format, body),
            Came::Lent(message) => decoder.decode(&message),
        };
        let record = decoded.map_err(|error| which(error, stamp))?;
        Ok(Event::Record { stamp, record })
    }
}

impl fmt::Debug for MemorySink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemorySink({:?})", self.decoder)
    }
}
