//! Records as the bytes that they are in an array: the one step from safe Rust to [`isoform::memory`], which works on
//! addresses.
//!
//! Invariants, of a [`Placer`] only the second:
//! 1. The format has no pointers. So every byte of a record is a number's, a character's or a gap's, any bytes can be taken for a record, and
//!    those that are no boolean or symbol are found by the encoder.
//! 2. What a slot of a record points at is where a decoder has put it, or an array of as many elements as its length
//!    fields say; and it is borrowed for as long as the record is used.

#[cfg(unix)]
use crate::wait::TURN;
use isoform::core::Dimension;
use isoform::{Aligned, Batch, Code, Error, Faults, Format, Incoming, Message, Result, Rules, memory};
#[cfg(unix)]
use isoform_channel::{Event, MemorySink, MemorySource, Stamp};
#[cfg(unix)]
use std::time::Duration;

/// Many records are received into no more than this, unless one alone is larger.
#[cfg(unix)]
const ROOM: usize = 8 << 20;

/// Makes messages of bytes.
pub(crate) struct Encoder(memory::Encoder);

/// Makes bytes of messages.
pub(crate) struct Decoder(memory::Decoder);

impl Encoder {
    /// An encoder of records of this format, which has no pointers.
    pub(crate) fn new(format: &Format) -> Result<Encoder> {
        refuse_pointers(format)?;
        memory::Encoder::new(format).map(Encoder)
    }

    /// The message of one record.
    pub(crate) fn one<'m>(&'m mut self, record: &'m [u8]) -> Result<Message<'m>> {
        admit(record.len() == self.0.format().size(), self.0.format(), record.len())?;
        // SAFETY: there are as many initialised bytes as the format's size says, borrowed for as long as the message, and by
        // (1) nothing in them is an address.
        unsafe { self.0.encode(record.as_ptr()) }
    }

    /// The messages of records that lie one after another; `None` if there are none.
    pub(crate) fn many(&mut self, records: &[u8]) -> Result<Option<Batch<'_>>> {
        let size = self.0.format().size();
        admit(records.len().is_multiple_of(size), self.0.format(), records.len())?;
        // SAFETY: there are so many times as many initialised bytes as the format's size says.
        unsafe { self.0.encode_many(records.as_ptr(), records.len() / size) }
    }
}

impl Decoder {
    /// A decoder for records of this format, which has no pointers.
    pub(crate) fn new(format: &Format, rules: Rules, faults: Faults, engine: memory::Engine) -> Result<Decoder> {
        refuse_pointers(format)?;
        let decoder = memory::Decoder::new(format, rules)?;
        Ok(Decoder(decoder.with_faults(faults).with_engine(engine)))
    }

    pub(crate) fn format(&self) -> &Format {
        self.0.format()
    }

    /// Puts the record of a message into bytes that are just as many.
    pub(crate) fn one(&mut self, message: &Incoming<'_>, record: &mut [u8]) -> Result<()> {
        admit(record.len() == self.0.format().size(), self.0.format(), record.len())?;
        record.copy_from_slice(self.0.decode(message)?);
        Ok(())
    }

    /// Puts the records of a batch one after another into bytes that are just as many.
    pub(crate) fn many(&mut self, batch: &Batch<'_>, records: &mut [u8]) -> Result<()> {
        let wanted = self.0.format().size().checked_mul(batch.len());
        admit(wanted == Some(records.len()), self.0.format(), records.len())?;
        // SAFETY: there are as many times as many initialised bytes as the format's size says as there are messages.
        unsafe { self.0.decode_many_into(batch, records.as_mut_ptr()) }
    }
}

/// Adds the records of a batch.
pub(crate) fn append(decoder: &mut Decoder, batch: &Batch<'_>, records: &mut Vec<u8>) -> Result<()> {
    let before = records.len();
    let more = decoder.format().size().checked_mul(batch.len());
    let room = more.filter(|&more| records.try_reserve(more).is_ok());
    let more = room.ok_or_else(|| Error::new(Code::Size).came(format_args!("{} records", batch.len())))?;
    records.resize(before + more, 0);
    decoder.many(batch, &mut records[before..])
}

/// Submits bytes.
#[cfg(unix)]
pub(crate) struct Submit(MemorySource);

/// Receives bytes.
#[cfg(unix)]
pub(crate) struct Receive {
    sink: MemorySink,
    /// Where many records are put before it is known how many there are.
    room: Vec<u8>,
}

#[cfg(unix)]
impl Submit {
    /// A source whose encoder was made for a format without pointers. It does not wait long for room.
    pub(crate) fn new(mut source: MemorySource) -> Submit {
        source.set_patience(Some(TURN));
        Submit(source)
    }

    pub(crate) fn inner(&self) -> &MemorySource {
        &self.0
    }

    pub(crate) fn into_inner(self) -> MemorySource {
        self.0
    }

    /// Submits records that lie one after another, from the one of the number `done` on, which counts those that were. `last` is
    /// the sequence of the last.
    pub(crate) fn many(&mut self, records: &[u8], done: &mut usize, last: &mut Option<u64>) -> Result<()> {
        refuse_pointers(self.0.format())?;
        let size = self.0.format().size();
        admit(records.len().is_multiple_of(size), self.0.format(), records.len())?;
        for record in records.chunks_exact(size).skip(*done) {
            // SAFETY: there are as many initialised bytes as the format's size says, and by (1) nothing in them is an address.
            *last = unsafe { self.0.submit(record.as_ptr())? };
            *done += 1;
        }
        Ok(())
    }
}

#[cfg(unix)]
impl Receive {
    pub(crate) fn new(sink: MemorySink) -> Receive {
        Receive { sink, room: Vec::new() }
    }

    pub(crate) fn inner(&mut self) -> &mut MemorySink {
        &mut self.sink
    }

    /// The records that have come, up to `most` and as far as there is room, one after another; or the next other thing.
    pub(crate) fn many(
        &mut self,
        most: usize,
        stamps: &mut Vec<Stamp>,
        patience: Duration,
    ) -> Result<Option<Event<Vec<u8>>>> {
        let size = self.sink.format().size();
        let most = most.min((ROOM / size.max(1)).max(1));
        let room = size * most;
        if let Some(more) = room.checked_sub(self.room.len()) {
            let no_memory = |_| Error::new(Code::Size).came(format_args!("a record of {size} bytes"));
            self.room.try_reserve_exact(more).map_err(no_memory)?;
            self.room.resize(room, 0);
        }
        // SAFETY: there are as many initialised bytes as `most` records have.
        let came = unsafe { self.sink.recv_many(self.room.as_mut_ptr(), most, stamps, Some(patience))? };
        Ok(came.map(|event| event.map(|count| self.room[..count * size].to_vec())))
    }
}

/// Makes bodies of records some of whose arrays are elsewhere.
pub(crate) struct Placer {
    encoder: memory::Encoder,
    decoder: memory::Decoder,
}

impl Placer {
    /// For records of this format, which is one of this machine's memory.
    pub(crate) fn new(format: &Format) -> Result<Placer> {
        Ok(Placer { encoder: memory::Encoder::new(format)?, decoder: memory::Decoder::new(format, Rules::new())? })
    }

    /// The body of a record: what `rest` is the body of, with these arrays, each at the field of this index, instead of
    /// none. Their lengths go to the fields of these indices.
    pub(crate) fn body(
        &mut self,
        rest: &[u8],
        arrays: &[(usize, &[u8])],
        lengths: &[(usize, usize)],
    ) -> Result<Vec<u8>> {
        let format = self.encoder.format().clone();
        let (structure, machine) = (format.structure(), format.machine());
        let fields = structure.fields();
        let mut rest = Aligned::from(rest);
        let placed = self.decoder.decode_in_place(&format, &mut rest)?;
        let mut record = Aligned::from(placed);
        for &(index, length) in lengths {
            let field = &fields[index];
            let place = &mut record[field.offset..][..field.element_size(machine.pointer)];
            machine.write(place, length as u64);
            if machine.read(place) != length as u64 {
                return Err(Error::new(Code::Overflow).at(&*field.name).expected(&field.element).came(length));
            }
        }
        for &(index, bytes) in arrays {
            let field = &fields[index];
            let length = |dim: &Dimension| match dim {
                Dimension::Fixed(length) => Some(*length),
                Dimension::Field(by) => lengths.iter().find(|(known, _)| known == by).map(|(_, length)| *length),
            };
            let size = field.element_size(machine.pointer);
            let wanted = field.dims.iter().try_fold(size, |size, dim| size.checked_mul(length(dim)?));
            if !field.indirect || field.element.size(machine.pointer) != size || wanted != Some(bytes.len()) {
                return Err(Error::new(Code::Internal).at(&*field.name).expected(format_args!("{wanted:?} bytes")));
            }
            let address = bytes.as_ptr().expose_provenance();
            machine.write(&mut record[field.offset..][..size_of::<usize>()], address as u64);
        }
        // SAFETY: (2) holds: slots are as the decoder has placed them, in `rest` or in its own memory, neither of which is touched
        // before this returns; or they point at as many bytes of numbers as was just asked.
        let message = unsafe { self.encoder.encode(record.as_ptr())? };
        let mut body = Vec::with_capacity(message.body_len());
        message.body().for_each(|piece| body.extend_from_slice(piece));
        Ok(body)
    }
}

fn refuse_pointers(format: &Format) -> Result<()> {
    match format.structure().has_slots() {
        true => Err(Error::new(Code::WrongType).at(format.name()).expected("records without pointers")),
        false => Ok(()),
    }
}

fn admit(fits: bool, format: &Format, came: usize) -> Result<()> {
    match fits {
        true => Ok(()),
        false => {
            let expected = format_args!("records of {} bytes", format.size()).to_string();
            Err(Error::new(Code::WrongType).at(format.name()).expected(expected).came(format_args!("{came} bytes")))
        }
    }
}
