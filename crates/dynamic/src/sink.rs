//! The form in which a face receives records: in memory of a format, of several, or as messages.

use crate::convert::Converter;
use crate::flat;
use isoform::Messages;
use isoform::core::plan::{Kind, Plans};
use isoform::form::{Accepts, Body, Form};
use isoform::memory::{Chosen, Decoder, KindDecoder};
use isoform::{Aligned, Code, Error, Faults, Format, Incoming, Missing, Result, Rules};
use isoform_channel::{Event, Stamp};
use std::fmt;
use std::time::Duration;

/// A sink of a face. [`SinkBuilder::build_with`](isoform_channel::SinkBuilder::build_with) makes it of an [`Any`].
pub type Sink = isoform_channel::Sink<Any>;

/// What a face makes of each message.
pub struct Any {
    form: Kept,
    /// Holds many records, side by side.
    room: Aligned,
}

enum Kept {
    Records(Box<Decoder>),
    Kinds(Box<KindDecoder>),
    Messages(Box<Messages>),
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

impl Any {
    /// Records of a format, in memory.
    ///
    /// # Errors
    /// As [`Decoder::new`].
    pub fn records(format: &Format, rules: Rules) -> Result<Any> {
        Ok(Any::new(Kept::Records(Box::new(Decoder::new(format, rules)?))))
    }

    /// Records of several kinds, in memory. [`Content::Message`] is one that fits no kind, if the decoder lends these.
    pub fn kinds(decoder: KindDecoder) -> Any {
        Any::new(Kept::Kinds(Box::new(decoder)))
    }

    /// Messages: of any format, or those that a converter can convert.
    pub fn messages(converter: Option<&Converter>) -> Any {
        Any::new(Kept::Messages(Box::new(converter.map_or_else(Messages::any, Converter::messages))))
    }

    /// Messages that can become one of several kinds of records; with `others`, also all others.
    pub fn messages_of(kinds: Vec<Kind>, others: bool) -> Any {
        Any::new(Kept::Messages(Box::new(Messages::of_kinds(kinds, others))))
    }

    fn new(form: Kept) -> Any {
        Any { form, room: Aligned::new() }
    }

    /// Whether records of several kinds are in memory.
    pub fn is_of_kinds(&self) -> bool {
        matches!(self.form, Kept::Kinds(_))
    }

    /// The bytes of a record.
    ///
    /// # Errors
    /// [`Code::WrongType`] unless these are [records](Any::records) of one format.
    pub fn size(&mut self) -> Result<usize> {
        self.decoder().map(|decoder| decoder.format().size())
    }

    fn decoder(&mut self) -> Result<&mut Decoder> {
        match &mut self.form {
            Kept::Records(decoder) => Ok(decoder),
            Kept::Kinds(_) | Kept::Messages(_) => {
                Err(Error::new(Code::WrongType).at("sink").expected("a sink with a format"))
            }
        }
    }
}

impl Form for Any {
    type Decoder = Any;
    type Of<'m> = Content<'m>;

    fn configure(any: Any, faults: Option<Faults>, missing: Option<Missing>) -> Any {
        Any::new(match any.form {
            Kept::Records(decoder) => Kept::Records(Box::new(Decoder::configure(*decoder, faults, missing))),
            Kept::Kinds(decoder) => Kept::Kinds(Box::new(KindDecoder::configure(*decoder, faults, missing))),
            Kept::Messages(decoder) => Kept::Messages(Box::new(Messages::configure(*decoder, faults, missing))),
        })
    }

    fn accepts(any: &Any) -> Accepts {
        match &any.form {
            Kept::Records(decoder) => Decoder::accepts(decoder),
            Kept::Kinds(decoder) => KindDecoder::accepts(decoder),
            Kept::Messages(decoder) => Messages::accepts(decoder),
        }
    }

    fn share_plans(any: &mut Any, plans: &Plans) {
        if let Kept::Records(decoder) = &mut any.form {
            decoder.share_plans(plans);
        }
    }

    fn decode<'m>(any: &'m mut Any, body: Body<'m>) -> Result<Content<'m>> {
        Ok(match &mut any.form {
            Kept::Records(decoder) => Content::Record(<Decoder as Form>::decode(decoder, body)?),
            Kept::Kinds(decoder) => match <KindDecoder as Form>::decode(decoder, body)? {
                Chosen::Record(kind, record) => Content::Kind(kind, record),
                Chosen::Other(message) => Content::Message(message),
            },
            Kept::Messages(_) => Content::Message(body.message()),
        })
    }

    fn copied(any: &Any) -> u64 {
        match &any.form {
            Kept::Records(decoder) => decoder.copied(),
            Kept::Kinds(_) | Kept::Messages(_) => 0,
        }
    }
}

/// Receives up to `most` records that have arrived, contiguously, with their stamps; or another event. The records
/// must not contain pointers.
///
/// # Errors
/// [`Code::WrongType`] unless it is a sink of [records](Any::records) without pointers; as [`Sink::recv_while`].
pub fn take(
    sink: &mut Sink,
    most: usize,
    stamps: &mut Vec<Stamp>,
    patience: Duration,
) -> Result<Option<Event<Vec<u8>>>> {
    stamps.clear();
    let most = flat::room(sink.decoder().decoder()?.format(), most)?;
    let mut records = Vec::new();
    let came = sink.recv_while(Some(patience), |any, stamp, message| {
        if stamps.len() == most {
            return Ok(false);
        }
        let record = any.decoder()?.decode(&message)?;
        records.try_reserve(record.len()).map_err(|_| no_memory(record))?;
        records.extend_from_slice(record);
        stamps.push(stamp);
        Ok(true)
    })?;
    Ok(came.map(|event| event.map(|_| records)))
}

/// The same into memory that has room for as many records as are received, if so many have arrived. [`Event::Record`] has their number.
///
/// # Errors
/// As [`take`].
pub fn take_into(
    sink: &mut Sink,
    records: &mut [u8],
    stamps: &mut Vec<Stamp>,
    patience: Duration,
) -> Result<Option<Event<usize>>> {
    stamps.clear();
    let format = sink.decoder().decoder()?.format();
    flat::room(format, 0)?;
    let mut places = records.chunks_exact_mut(format.size());
    if places.len() == 0 {
        return Ok(None);
    }
    sink.recv_while(Some(patience), |any, stamp, message| {
        let Some(place) = places.next() else { return Ok(false) };
        flat::put(any.decoder()?, &message, place)?;
        stamps.push(stamp);
        Ok(true)
    })
}

/// Receives up to `most` records of one kind that have arrived, with their stamps: [`Content::Kind`] has them side by side.
/// Records that contain pointers, and other events, come alone.
///
/// # Errors
/// [`Code::WrongType`] unless it is a sink of [kinds](Any::kinds); as [`Sink::recv`], for the first event. An error of a later one
/// is left to the next call.
pub fn take_kind<'s>(
    sink: &'s mut Sink,
    most: usize,
    stamps: &mut Vec<Stamp>,
    patience: Duration,
) -> Result<Option<Event<Content<'s>>>> {
    stamps.clear();
    if !sink.decoder().is_of_kinds() {
        return Err(Error::new(Code::WrongType).at("sink").expected("a sink of several kinds"));
    }
    sink.decoder().room.clear();
    let mut run = None;
    let came = sink.recv_while(Some(patience), |any, stamp, message| {
        let Any { form: Kept::Kinds(decoder), room } = any else { return Ok(false) };
        let kind = decoder.flat_kind_of(message.format()).filter(|kind| run.is_none_or(|run| run == *kind));
        let Some(kind) = kind.filter(|_| stamps.len() < most) else { return Ok(false) };
        let (_, record) = decoder.decode(&message)?;
        room.try_reserve(record.len()).map_err(|_| no_memory(record))?;
        room.extend_from_slice(record);
        run = Some(kind);
        stamps.push(stamp);
        Ok(true)
    })?;
    match (came, run) {
        (Some(Event::Record { stamp, .. }), Some(kind)) => {
            Ok(Some(Event::Record { stamp, record: Content::Kind(kind, &sink.decoder().room) }))
        }
        (Some(other), _) => Ok(Some(other.map(|_| unreachable!("told from records before")))),
        // What has come comes alone.
        (None, _) => {
            let event = sink.try_recv()?;
            if let Some(Event::Record { stamp, .. }) = &event {
                stamps.push(*stamp);
            }
            Ok(event)
        }
    }
}

#[cold]
fn no_memory(record: &[u8]) -> Error {
    Error::new(Code::Size).found(format_args!("a record of {} bytes", record.len()))
}

impl fmt::Debug for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            Kept::Records(decoder) => decoder.fmt(f),
            Kept::Kinds(decoder) => decoder.fmt(f),
            Kept::Messages(decoder) => decoder.fmt(f),
        }
    }
}
