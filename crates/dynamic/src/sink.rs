//! Sinks of all records, in memory or as messages.

use crate::convert::Converter;
use crate::flat;
use isoform::core::plan::Kind;
use isoform::memory::{Chosen, KindDecoder};
use isoform::{Code, Error, Format, Incoming, Result, Rules};
use isoform_channel::{
    Counts, Event, Granted, MemoryKindSink, MemorySink, MessageSink, Parameters, Policy, SinkBuilder, SourceRef, Stamp,
};
#[cfg(unix)]
use std::os::fd::BorrowedFd;
#[cfg(windows)]
use std::os::windows::io::BorrowedSocket as BorrowedFd;
use std::time::Duration;

/// Receives the events of a channel.
pub struct Sink {
    form: Form,
    /// Holds records before their number is known.
    room: Vec<u8>,
}

enum Form {
    Records(Box<MemorySink>),
    Kinds(Box<MemoryKindSink>),
    Messages(Box<MessageSink>),
}

/// The contents of an event.
#[derive(Debug)]
pub enum Content<'s> {
    /// A record of the sink's format, with the memory that it points at.
    Record(&'s [u8]),
    /// A record of one of several kinds: the place of the kind in their list, and the record.
    Kind(usize, &'s [u8]),
    /// A message, in its sender's format.
    Message(Incoming<'s>),
}

impl Sink {
    /// Creates a sink for records of a format, in memory.
    ///
    /// # Errors
    /// As [`SinkBuilder::build_memory`].
    pub fn of_records(sink: SinkBuilder, format: &Format, rules: Rules) -> Result<Sink> {
        Ok(Sink::new(Form::Records(Box::new(sink.build_memory(format, rules)?))))
    }

    /// Creates a sink for messages: of any format, or those that a converter can convert.
    ///
    /// # Errors
    /// As [`SinkBuilder::build_messages_for`].
    pub fn of_messages(sink: SinkBuilder, converter: Option<&Converter>) -> Result<Sink> {
        let messages = match converter {
            Some(converter) => converter.sink(sink)?,
            None => sink.build_messages()?,
        };
        Ok(Sink::new(Form::Messages(Box::new(messages))))
    }

    /// Creates a sink for messages that can become one of several kinds of records; with `others`, also for all others.
    ///
    /// # Errors
    /// As [`SinkBuilder::build_messages_of`].
    pub fn of_messages_of(sink: SinkBuilder, kinds: Vec<Kind>, others: bool) -> Result<Sink> {
        Ok(Sink::new(Form::Messages(Box::new(sink.build_messages_of(kinds, others)?))))
    }

    /// Creates a sink for records of several kinds, in memory. [`Content::Message`] is one that fits no kind, if the decoder
    /// lends these.
    ///
    /// # Errors
    /// As [`SinkBuilder::build_memory_kinds`].
    pub fn of_kinds(sink: SinkBuilder, decoder: KindDecoder) -> Result<Sink> {
        Ok(Sink::new(Form::Kinds(Box::new(sink.build_memory_kinds(decoder)?))))
    }

    fn new(form: Form) -> Sink {
        Sink { form, room: Vec::new() }
    }

    /// The next event, or `None` if none arrives within `patience`.
    ///
    /// # Errors
    /// As [`MemorySink::recv`].
    pub fn recv_timeout(&mut self, patience: Duration) -> Result<Option<Event<Content<'_>>>> {
        Ok(match &mut self.form {
            Form::Records(sink) => sink.recv_timeout(patience)?.map(|event| event.map(Content::Record)),
            Form::Kinds(sink) => sink.recv_timeout(patience)?.map(|event| event.map(Content::of)),
            Form::Messages(sink) => sink.recv_timeout(patience)?.map(|event| event.map(Content::Message)),
        })
    }

    /// Receives up to `most` records that have arrived, contiguously, with their stamps; or another event. The records
    /// must not contain pointers.
    ///
    /// # Errors
    /// As [`records`](Sink::records) and [`MemorySink::recv_many`].
    pub fn take(&mut self, most: usize, stamps: &mut Vec<Stamp>, patience: Duration) -> Result<Option<Event<Vec<u8>>>> {
        let Sink { form, room } = self;
        flat::take(form.records()?, room, most, stamps, patience)
    }

    /// Receives up to `most` records of one kind that have arrived, with their stamps: [`Content::Kind`] has them side by side.
    /// Records that contain pointers, and other events, come alone.
    ///
    /// # Errors
    /// As [`MemoryKindSink::recv_many`]; [`Code::WrongType`] unless it is a sink [of kinds](Sink::of_kinds).
    pub fn take_kind(
        &mut self,
        most: usize,
        stamps: &mut Vec<Stamp>,
        patience: Duration,
    ) -> Result<Option<Event<Content<'_>>>> {
        let Form::Kinds(sink) = &mut self.form else {
            return Err(Error::new(Code::WrongType).at("sink").expected("a sink of several kinds"));
        };
        Ok(sink.recv_many(most, stamps, Some(patience))?.map(|event| event.map(Content::of)))
    }

    /// Hands the messages that have arrived to `take`, until it returns `false`, as [`MessageSink::recv_while`].
    ///
    /// # Errors
    /// As there; [`Code::WrongType`] unless it is a sink of messages.
    pub fn recv_while(
        &mut self,
        patience: Duration,
        take: impl FnMut(Stamp, &Incoming<'_>) -> Result<bool>,
    ) -> Result<Option<Event<usize>>> {
        match &mut self.form {
            Form::Messages(sink) => sink.recv_while(patience, take),
            _ => Err(Error::new(Code::WrongType).at("sink").expected("a sink of messages")),
        }
    }

    /// Whether it is a sink of several kinds, whose records are in memory.
    pub fn is_of_kinds(&self) -> bool {
        matches!(self.form, Form::Kinds(_))
    }

    /// The sink of records.
    ///
    /// # Errors
    /// [`Code::WrongType`] if it is a sink of messages.
    pub fn records(&mut self) -> Result<&mut MemorySink> {
        self.form.records()
    }

    /// Asks all sources for another policy. With `must`, those that do not grant it keep the policy of before.
    pub fn set_policy(&self, policy: Policy, must: bool) {
        match (&self.form, must) {
            (Form::Records(sink), false) => sink.set_policy(policy),
            (Form::Kinds(sink), false) => sink.set_policy(policy),
            (Form::Messages(sink), false) => sink.set_policy(policy),
            (Form::Records(sink), true) => sink.set_lossless(),
            (Form::Kinds(sink), true) => sink.set_lossless(),
            (Form::Messages(sink), true) => sink.set_lossless(),
        }
    }

    /// As [`MemorySink::set_parameters`].
    pub fn set_parameters(&self, values: Parameters) {
        match &self.form {
            Form::Records(sink) => sink.set_parameters(values),
            Form::Kinds(sink) => sink.set_parameters(values),
            Form::Messages(sink) => sink.set_parameters(values),
        }
    }

    /// Declines the rest of a long event, by the stamp of its head, as [`MemorySink::decline`].
    pub fn decline(&self, head: &Stamp) -> bool {
        match &self.form {
            Form::Records(sink) => sink.decline(head),
            Form::Kinds(sink) => sink.decline(head),
            Form::Messages(sink) => sink.decline(head),
        }
    }

    /// The policies that the sources grant.
    pub fn granted(&self) -> Vec<(SourceRef, Granted)> {
        match &self.form {
            Form::Records(sink) => sink.granted(),
            Form::Kinds(sink) => sink.granted(),
            Form::Messages(sink) => sink.granted(),
        }
    }

    /// The events received, taken and lost so far.
    pub fn counts(&self) -> Counts {
        match &self.form {
            Form::Records(sink) => sink.counts(),
            Form::Kinds(sink) => sink.counts(),
            Form::Messages(sink) => sink.counts(),
        }
    }

    /// Counts a record that the program itself could not convert, as [`MessageSink::note_unfit`]. Does nothing for other sinks, which
    /// count such records themselves.
    pub fn note_unfit(&self) {
        if let Form::Messages(sink) = &self.form {
            sink.note_unfit();
        }
    }

    /// A descriptor that is readable when an event has arrived, as [`MemorySink::descriptor`]: on Windows, a socket.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        match &self.form {
            Form::Records(sink) => sink.descriptor(),
            Form::Kinds(sink) => sink.descriptor(),
            Form::Messages(sink) => sink.descriptor(),
        }
    }
}

impl Content<'_> {
    fn of(chosen: Chosen<'_>) -> Content<'_> {
        match chosen {
            Chosen::Record(kind, records) => Content::Kind(kind, records),
            Chosen::Other(message) => Content::Message(message),
        }
    }
}

impl Form {
    fn records(&mut self) -> Result<&mut MemorySink> {
        match self {
            Form::Records(sink) => Ok(sink),
            Form::Kinds(_) | Form::Messages(_) => {
                Err(Error::new(Code::WrongType).at("sink").expected("a sink with a format"))
            }
        }
    }
}
