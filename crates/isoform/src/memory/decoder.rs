//! From messages to records in memory.
//!
//! Proofs refer to these:
//! 1. A body that the verifier of a direct conversion has passed begins with a record of `native.format`, but for the
//!    addresses in its slots ([`Plan::is_direct`](isoform_core::Plan::is_direct)); and its blocks are aligned as that format asks.
//! 2. What an engine makes is a body of `native.format`, which is a verified one in all respects. Bytes that it leaves
//!    as they were are those of gaps, or of a format whose every value is valid; they are initialised.

use super::conversion::{Conversions, Receiver};
use super::encoder::refuse_pointers;
use super::{Engine, admit, admit_alignment};
use crate::message::Batch;
use crate::native::buffer::Buffer;
use crate::native::relocate::{clear_gaps, relocate};
use crate::{Aligned, Code, Error, Faults, Format, Incoming, Result, Rules};
use isoform_core::interp::Output;
use std::{fmt, ptr, slice};

/// Makes records in memory of messages, as [`isoform::Decoder`](crate::Decoder) does for Rust: whatever layout their sender
/// has, and without copying what is right already.
///
/// Records are given out as their bytes. Pointers in them are addresses of what lies behind the record, in the message or in
/// the decoder's own memory, and are good for as long as the bytes are borrowed.
pub struct Decoder {
    receiver: Receiver,
    conversions: Conversions,
    buffer: Buffer,
    copied: u64,
}

/// What becomes of a body.
enum Found {
    /// It is the record.
    InPlace,
    /// The record is in the decoder's buffer.
    InBuffer,
}

impl Decoder {
    /// A decoder for records of this format, with what is said of its fields beyond that.
    ///
    /// # Errors
    /// [`Code::WrongType`] if the format has pointers, and they are not those of this machine, or point at what is aligned to
    /// more than 16 bytes; or if records are aligned to more than 64.
    pub fn new(format: &Format, rules: Rules) -> Result<Decoder> {
        admit(format)?;
        admit_alignment(format)?;
        Ok(Decoder::of(format.clone(), rules))
    }

    /// A decoder for a format that is known to be one of this process's memory.
    pub(crate) fn of(format: Format, rules: Rules) -> Decoder {
        let receiver = Receiver::new(format, rules);
        // Where every value is valid, those of an earlier record do no harm: they are overwritten, or gaps.
        let buffer = Buffer::new(receiver.format.structure().needs_check());
        Decoder { receiver, conversions: Conversions::default(), buffer, copied: 0 }
    }

    /// As [`isoform::Decoder::with_faults`](crate::Decoder::with_faults).
    pub fn with_faults(mut self, faults: Faults) -> Decoder {
        self.receiver.faults = faults;
        self.conversions = Conversions::default();
        self
    }

    /// As [`isoform::Decoder::with_engine`](crate::Decoder::with_engine).
    pub fn with_engine(mut self, engine: Engine) -> Decoder {
        self.receiver.engine = engine;
        self.conversions = Conversions::default();
        self
    }

    /// The format into which messages are converted.
    pub fn format(&self) -> &Format {
        &self.receiver.format
    }

    /// How many bytes have been copied or converted so far. Records that are used where they were received add nothing.
    pub fn copied(&self) -> u64 {
        self.copied
    }

    /// The record of a message, aligned as its format asks: in the message if it has no pointers and its layout and address
    /// allow, else in the decoder's own memory, until the next one.
    ///
    /// # Errors
    /// What [verification](isoform_core::Verifier::verify) finds; what the [plan](isoform_core::Plan::new) finds for all
    /// messages of the format; and what [conversion](isoform_core::interp::run) finds in this one.
    #[inline]
    pub fn decode<'m>(&'m mut self, message: &Incoming<'m>) -> Result<&'m [u8]> {
        let record = self.decode_to(message, self.receiver.align)?;
        // SAFETY: it is a record of the format, and lent for 'm.
        Ok(unsafe { slice::from_raw_parts(record, self.receiver.format.size()) })
    }

    /// As `decode`, where the alignment is known to the caller: at best when it is compiled, so that this costs as little as if
    /// it were written for one type.
    #[inline(always)]
    pub(crate) fn decode_to<'m>(&'m mut self, message: &Incoming<'m>, align: usize) -> Result<*const u8> {
        let body = message.body();
        let usable = self.receiver.flat && is_aligned(body, align);
        match self.convert(message.format(), body, usable)? {
            // (1): it begins with the record.
            Found::InPlace => Ok(body.as_ptr()),
            Found::InBuffer => self.in_buffer().map(<[u8]>::as_ptr),
        }
    }

    /// The record of a body that may be changed: where layouts agree, the offsets in its slots are replaced by
    /// addresses, and it is used as it is, with all that it points at. Else it is converted, as
    /// [`decode`](Decoder::decode) does. The body must begin at a multiple of 16 for that.
    ///
    /// # Errors
    /// As [`decode`](Decoder::decode). The body has not been changed then.
    #[inline(always)]
    pub fn decode_in_place<'m>(&'m mut self, format: &Format, body: &'m mut [u8]) -> Result<&'m [u8]> {
        let aligned = is_aligned(body, self.receiver.align.max(16));
        match self.convert(format, body, aligned)? {
            // SAFETY: (1): a verified body, which is borrowed for 'm alone.
            Found::InPlace => unsafe { self.settle(body.as_mut_ptr(), body.len()) },
            Found::InBuffer => self.in_buffer(),
        }
    }

    /// Puts the record of a message where the caller wants it, directly if its format allows. What it points at is put into
    /// `blocks`, from where no byte may be moved while the record is used: that is all the memory there is to it, whoever it
    /// belongs to. A record without pointers leaves `blocks` as it is.
    ///
    /// ```
    /// use isoform::{Aligned, Encoder, FieldList, Incoming, Machine, Record, Registry, Rules, Str, memory};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Station<'a> {
    ///     name: Str<'a>,
    /// }
    /// # let mut registry = Registry::new();
    /// # registry.register(Station::format())?;
    /// let bytes = Encoder::new().encode(&Station { name: Str::new(c"Kiel") })?.to_vec();
    /// let message = Incoming::parse(&bytes, &mut registry)?;
    ///
    /// let mut decoder = memory::Decoder::new(Station::format(), Rules::new())?;
    /// let (mut station, mut blocks) = (Station { name: Str::NULL }, Aligned::new());
    /// // SAFETY: it is a record of that format, and `blocks` stays as it is while it is used.
    /// unsafe { decoder.decode_into(&message, (&raw mut station).cast(), &mut blocks)? };
    /// assert_eq!(station.name.to_str()?, "Kiel");
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decode`](Decoder::decode). What fields the record then holds, of the message or its own, is not specified.
    ///
    /// # Safety
    /// `record` points at as many writable bytes as the format's size says, initialised but for gaps. They are not read as a
    /// record, and need not be aligned.
    pub unsafe fn decode_into(&mut self, message: &Incoming<'_>, record: *mut u8, blocks: &mut Aligned) -> Result<()> {
        if self.receiver.flat {
            // SAFETY: promised.
            return unsafe { self.decode_flat_into(message, record) };
        }
        self.convert(message.format(), message.body(), false)?;
        let made = self.in_buffer()?;
        // SAFETY: promised; what was made is elsewhere, and as long.
        unsafe { ptr::copy_nonoverlapping(made.as_ptr(), record, made.len()) };
        self.buffer.exchange(blocks);
        Ok(())
    }

    /// As `decode_into`, of a record without pointers.
    ///
    /// # Safety
    /// As `decode_into`.
    pub(crate) unsafe fn decode_flat_into(&mut self, message: &Incoming<'_>, record: *mut u8) -> Result<()> {
        let (size, bytes) = (self.receiver.format.size(), message.body());
        let conversion = self.conversions.find(message.format(), &self.receiver)?;
        let body = conversion.verifier.verify(bytes)?;
        self.copied += size as u64;
        if conversion.direct {
            // SAFETY: (1): the body begins with `size` bytes that are a record; there are so many, as promised.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), record, size) };
            return Ok(());
        }
        if self.receiver.format.structure().needs_check() {
            // Half a conversion could leave bytes that are no value.
            self.buffer.clear();
            conversion.converter.run(body, &mut self.buffer)?;
            // SAFETY: by (2) the buffer holds a record.
            unsafe { ptr::copy_nonoverlapping(self.buffer.as_mut().0, record, size) };
            return Ok(());
        }
        // SAFETY: the record has `size` bytes, initialised once its gaps are; and all that they can become are
        // valid values.
        let memory = unsafe {
            clear_gaps(&self.receiver.outline, record);
            slice::from_raw_parts_mut(record, size)
        };
        conversion.converter.run_fixed(body, memory)
    }

    /// The records of a batch, one after the other in the decoder's own memory, until the next is decoded. They must be
    /// ones without pointers.
    ///
    /// # Errors
    /// As [`decode`](Decoder::decode), with the number of the message in front of the path: `[17].depth`;
    /// [`Code::WrongType`] if the format has pointers; [`Code::Size`] if there is no memory for so many records.
    pub fn decode_many<'m>(&'m mut self, batch: &Batch<'_>) -> Result<&'m [u8]> {
        let length = self.extent(batch)?;
        let conversion = self.conversions.find(batch.format(), &self.receiver)?;
        let bodies = batch.verify(&conversion.verifier)?;
        self.buffer.clear();
        self.buffer.resize(length)?;
        conversion.converter.run_many(bodies, self.buffer.bytes())?;
        self.copied += length as u64;
        Ok(self.buffer.bytes())
    }

    /// Puts the records of a batch one after another where the caller wants them.
    ///
    /// # Errors
    /// As [`decode_many`](Decoder::decode_many). What the records then hold is not specified.
    ///
    /// # Safety
    /// `records` points at as many writable and initialised bytes as the format's size says, for each message of the batch.
    pub unsafe fn decode_many_into(&mut self, batch: &Batch<'_>, records: *mut u8) -> Result<()> {
        let length = self.extent(batch)?;
        let conversion = self.conversions.find(batch.format(), &self.receiver)?;
        let bodies = batch.verify(&conversion.verifier)?;
        // SAFETY: promised.
        let records = unsafe { slice::from_raw_parts_mut(records, length) };
        if self.receiver.format.structure().needs_check() {
            records.fill(0); // (2)
        }
        conversion.converter.run_many(bodies, records)?;
        self.copied += length as u64;
        Ok(())
    }

    /// How many bytes the records of a batch have.
    fn extent(&self, batch: &Batch<'_>) -> Result<usize> {
        refuse_pointers(&self.receiver.format)?;
        let (size, count) = (self.receiver.format.size(), batch.len());
        size.checked_mul(count).ok_or_else(|| Error::new(Code::Size).came(format_args!("{count} records")))
    }

    /// Verifies a body, and makes a record of it in the buffer unless it is one that is `usable` where it is.
    #[inline(always)]
    fn convert(&mut self, format: &Format, bytes: &[u8], usable: bool) -> Result<Found> {
        let conversion = self.conversions.find(format, &self.receiver)?;
        let body = conversion.verifier.verify(bytes)?;
        if conversion.direct && usable {
            return Ok(Found::InPlace);
        }
        match (conversion.direct, self.receiver.flat) {
            (true, true) => self.buffer.copy(&bytes[..self.receiver.format.size()])?,
            (true, false) => self.buffer.copy(bytes)?,
            (false, true) => {
                self.buffer.clear();
                self.buffer.resize(self.receiver.format.size())?;
                conversion.converter.run_fixed(body, self.buffer.bytes())?;
            }
            (false, false) => {
                self.buffer.clear();
                conversion.converter.run(body, &mut self.buffer)?;
            }
        }
        Ok(Found::InBuffer)
    }

    /// The record in the buffer.
    #[inline]
    fn in_buffer(&mut self) -> Result<&[u8]> {
        let (base, length) = self.buffer.as_mut();
        self.copied += length as u64;
        // SAFETY: (1) or (2): the buffer holds a body, is aligned for all, and is borrowed with the decoder.
        unsafe { self.settle(base, length) }
    }

    /// Turns a body into a record, in place.
    ///
    /// # Safety
    /// `base` points at `length` bytes that are a body of (1) or (2), aligned for its record and to 16, and nobody else's
    /// for 'm.
    #[inline]
    unsafe fn settle<'m>(&self, base: *mut u8, length: usize) -> Result<&'m [u8]> {
        // SAFETY: promised; the body is at least as long as its record.
        unsafe {
            relocate(&self.receiver.outline, base, length)?;
            Ok(slice::from_raw_parts(base, self.receiver.format.size()))
        }
    }
}

/// Whether bytes begin at a multiple of this power of two.
#[inline]
fn is_aligned(bytes: &[u8], align: usize) -> bool {
    bytes.as_ptr().addr() & (align - 1) == 0
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decoder({:?})", self.receiver.format)
    }
}
