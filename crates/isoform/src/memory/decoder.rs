//! Decodes messages into records in memory.
//!
//! Proofs refer to these:
//! 1. A body that the verifier of a direct conversion, or another verifier of the same format, has accepted begins with a
//!    record of `native.format`, except for the addresses in its slots ([`Plan::is_direct`](isoform_core::Plan::is_direct)).
//!    Its blocks have the alignment that this format requires.
//! 2. The output of an engine is a body of `native.format` that would pass verification. The bytes that an engine does
//!    not write are gaps, or belong to a format for which every value is valid; they are initialised.
//! 3. A body that was verified, and was then converted within its memory, begins with a record of `native.format`, except for the
//!    addresses in its slots. These hold 0 or the offsets of blocks behind the record, which have the elements that the record
//!    says, each byte in one block ([`interp::run_within`](isoform_core::interp::run_within)). The blocks have the alignment that
//!    this format requires, as [`Within::of`](isoform_core::plan::Within::of) sees to.

use super::conversion::{Conversion, Conversions, Receiver};
use super::encoder::refuse_pointers;
use super::engine::Converter;
use super::{Engine, admit, admit_alignment};
use crate::form::Accepts;
use crate::message::{Batch, Incoming};
use crate::native::Aligned;
use crate::native::buffer::Buffer;
use crate::native::relocate::{relocate, settle_gaps};
use isoform_core::interp::Output;
use isoform_core::plan::{Explanation, Plans};
use isoform_core::{Bodies, Body, Code, Error, Faults, Format, Missing, Result, Rules};
use std::{fmt, ptr, slice};

/// Decodes messages into records in memory, as [`isoform::Decoder`](crate::Decoder) does for Rust types: for senders of
/// any layout, and without copying data that needs no conversion.
///
/// It returns records as bytes. Pointers in them are addresses of memory in the message or in the decoder. They are
/// valid as long as the bytes are borrowed.
pub struct Decoder {
    receiver: Receiver,
    conversions: Conversions,
    buffer: Buffer,
    copied: u64,
}

/// The result of decoding a body.
enum Found {
    /// The body itself is the record.
    InPlace,
    /// The body can be made the record, since it may be changed.
    Within,
    /// The record is in the decoder's buffer.
    InBuffer,
}

impl Decoder {
    /// Creates a decoder for records of this format, with the receiver's rules.
    ///
    /// # Errors
    /// [`Code::WrongType`] if the format has pointers of another machine, or pointers to values with an alignment above
    /// 16, or if records have an alignment above 64.
    pub fn new(format: &Format, rules: Rules) -> Result<Decoder> {
        admit(format)?;
        admit_alignment(format)?;
        Ok(Decoder::of(format.clone(), rules))
    }

    /// Creates a decoder for a format that is known to be one of this process's memory.
    pub(crate) fn of(format: Format, rules: Rules) -> Decoder {
        let receiver = Receiver::new(format, rules);
        // If every value is valid, old bytes do no harm: they are overwritten, or they are gaps.
        let buffer = Buffer::new(receiver.format.structure().needs_check());
        Decoder { receiver, conversions: Conversions::default(), buffer, copied: 0 }
    }

    /// As [`isoform::Decoder::with_missing`](crate::Decoder::with_missing).
    pub fn with_missing(mut self, missing: Missing) -> Decoder {
        self.receiver.set_missing(missing);
        self.conversions = Conversions::default();
        self
    }

    /// As [`isoform::Decoder::with_faults`](crate::Decoder::with_faults).
    pub fn with_faults(mut self, faults: Faults) -> Decoder {
        self.receiver.set_faults(faults);
        self.conversions = Conversions::default();
        self
    }

    /// As [`isoform::Decoder::with_engine`](crate::Decoder::with_engine).
    pub fn with_engine(mut self, engine: Engine) -> Decoder {
        self.receiver.engine = engine;
        self.conversions = Conversions::default();
        self
    }

    /// Takes plans from `plans` and adds the plans that it makes itself, until [`with_faults`](Decoder::with_faults) is
    /// called. Returns false and changes nothing if `plans` is for another format, other rules or other faults.
    pub fn share_plans(&mut self, plans: &Plans) -> bool {
        self.receiver.share(plans)
    }

    /// The messages that it takes.
    pub(crate) fn accepts(&self) -> Accepts {
        let Receiver { format, rules, faults, .. } = &self.receiver;
        let (format, rules, faults) = (Some(format.clone()), rules.clone(), *faults);
        Accepts { format, rules, faults, narrow: true, ..Accepts::default() }
    }

    /// The format to which it converts messages.
    pub fn format(&self) -> &Format {
        &self.receiver.format
    }

    /// What it does with each field of records of a sender, what that costs, and all obstacles, as text and as data.
    pub fn explain(&self, sender: &Format) -> Explanation {
        self.receiver.explain(sender)
    }

    /// As [`explain`](Decoder::explain), with the cost measured here and now, in bytes and nanoseconds: see [`timed`](crate::timed).
    pub fn explain_timed(&self, sender: &Format) -> Explanation {
        crate::timed(self.explain(sender))
    }

    /// The number of bytes copied or converted so far. Records that are used where they were received do not count.
    pub fn copied(&self) -> u64 {
        self.copied
    }

    /// Decodes a message. The record has the alignment of its format. If it has no pointers and the layout and the
    /// address allow it, it is in the message. Otherwise it is in the decoder's memory, until the next call.
    ///
    /// # Errors
    /// The errors of [verification](isoform_core::Verifier::verify); of the [plan](isoform_core::Plan::new), for all
    /// messages of the format; and of the [conversion](isoform_core::interp::run) of this record.
    #[inline]
    pub fn decode<'m>(&'m mut self, message: &Incoming<'m>) -> Result<&'m [u8]> {
        let record = self.decode_to(message, self.receiver.align)?;
        // SAFETY: it is a record of the format, and lent for 'm.
        Ok(unsafe { slice::from_raw_parts(record, self.receiver.format.size()) })
    }

    /// As `decode`, for a caller that knows the alignment, ideally at compile time. It then costs as little as code for
    /// one type.
    #[inline(always)]
    pub(crate) fn decode_to<'m>(&'m mut self, message: &Incoming<'m>, align: usize) -> Result<*const u8> {
        let body = message.body();
        let usable = self.receiver.flat && is_aligned(body, align);
        match self.convert(message.format(), body, usable, false)? {
            // (1): it begins with the record.
            Found::InPlace => Ok(body.as_ptr()),
            Found::Within | Found::InBuffer => self.in_buffer().map(<[u8]>::as_ptr),
        }
    }

    /// Decodes a body that may be changed. If the layouts agree, addresses replace the offsets in its slots, and the
    /// record is used in the body, with everything that it points at. If they differ, the record is converted within the body,
    /// where that is faster and cannot fail: if the byte order differs, or if the sender has more fields. Otherwise it is converted
    /// as by [`decode`](Decoder::decode). For use in place, the body must begin at a multiple of 16.
    ///
    /// # Errors
    /// As [`decode`](Decoder::decode). The body is then unchanged.
    #[inline(always)]
    pub fn decode_in_place<'m>(&'m mut self, format: &Format, body: &'m mut [u8]) -> Result<&'m [u8]> {
        let aligned = is_aligned(body, self.receiver.align.max(16));
        match self.convert(format, body, aligned, true)? {
            // SAFETY: (1): a verified body, which is borrowed for 'm alone.
            Found::InPlace => unsafe { self.settle(body.as_mut_ptr(), body.len()) },
            Found::Within => self.within(format, body),
            Found::InBuffer => self.in_buffer(),
        }
    }

    /// Converts a verified body within its memory.
    fn within<'m>(&'m mut self, format: &Format, body: &'m mut [u8]) -> Result<&'m [u8]> {
        self.conversions.find(format, &self.receiver)?.run_within(body);
        self.copied += body.len() as u64;
        // SAFETY: (3), and it is borrowed for 'm alone.
        unsafe { self.settle(body.as_mut_ptr(), body.len()) }
    }

    /// Decodes a message into memory of the caller, directly if its format allows that. Everything that the record
    /// points at goes to `blocks`; do not move these bytes while the record is used. A record without pointers does not
    /// change `blocks`.
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
    /// As [`decode`](Decoder::decode). The record is then a mix of old and new fields.
    ///
    /// # Safety
    /// `record` points at as many writable bytes as the format's size says, initialised except in gaps. They are not
    /// read as a record, and need not be aligned.
    #[inline]
    pub unsafe fn decode_into(&mut self, message: &Incoming<'_>, record: *mut u8, blocks: &mut Aligned) -> Result<()> {
        if self.receiver.flat {
            // SAFETY: promised.
            return unsafe { self.decode_flat_into(message, record) };
        }
        self.convert(message.format(), message.body(), false, false)?;
        let made = self.in_buffer()?;
        // SAFETY: promised; what was made is elsewhere, and as long.
        unsafe { ptr::copy_nonoverlapping(made.as_ptr(), record, made.len()) };
        self.buffer.exchange(blocks);
        Ok(())
    }

    /// As `decode_into`, for a record without pointers.
    ///
    /// # Safety
    /// As `decode_into`.
    #[inline]
    pub(crate) unsafe fn decode_flat_into(&mut self, message: &Incoming<'_>, record: *mut u8) -> Result<()> {
        let conversion = self.conversions.find(message.format(), &self.receiver)?;
        // The verifier that is kept with the conversion is faster than the format.
        let body = conversion.verifier.verify(message.body())?;
        // SAFETY: promised.
        unsafe { put(&self.receiver, &mut conversion.converter, conversion.direct, &mut self.buffer, body, record)? }
        self.copied += self.receiver.format.size() as u64;
        Ok(())
    }

    /// Decodes a verified body into memory of the caller. The record must not contain pointers.
    ///
    /// # Errors
    /// As [`decode_into`](Decoder::decode_into), but for verification; [`Code::WrongType`] if the format has pointers.
    ///
    /// # Safety
    /// As [`decode_into`](Decoder::decode_into).
    #[inline]
    pub unsafe fn decode_body_into(&mut self, body: Body<'_>, record: *mut u8) -> Result<()> {
        if !self.receiver.flat {
            refuse_pointers(&self.receiver.format)?;
        }
        let conversion = self.conversions.find(body.format(), &self.receiver)?;
        // SAFETY: promised.
        unsafe { put(&self.receiver, &mut conversion.converter, conversion.direct, &mut self.buffer, body, record)? }
        self.copied += self.receiver.format.size() as u64;
        Ok(())
    }

    /// Decodes the records of a batch into contiguous memory of the decoder, valid until the next call. The records
    /// must not contain pointers.
    ///
    /// # Errors
    /// As [`decode`](Decoder::decode), with the number of the message in front of the path: `[17].depth`;
    /// [`Code::WrongType`] if the format has pointers; [`Code::Size`] if there is no memory for that many records.
    pub fn decode_many<'m>(&'m mut self, batch: &Batch<'_>) -> Result<&'m [u8]> {
        let length = self.extent(batch.len())?;
        let conversion = self.conversions.find(batch.format(), &self.receiver)?;
        let bodies = batch.verify(&conversion.verifier)?;
        self.buffer.clear();
        self.buffer.resize(length)?;
        conversion.converter.run_many(bodies, self.buffer.bytes())?;
        self.copied += length as u64;
        Ok(self.buffer.bytes())
    }

    /// Decodes the records of a batch into contiguous memory of the caller.
    ///
    /// # Errors
    /// As [`decode_many`](Decoder::decode_many). The contents of the records are then unspecified.
    ///
    /// # Safety
    /// `records` points at as many writable and initialised bytes as the format's size says, for each message of the batch.
    pub unsafe fn decode_many_into(&mut self, batch: &Batch<'_>, records: *mut u8) -> Result<()> {
        let length = self.extent(batch.len())?;
        let Conversion { verifier, converter, .. } = self.conversions.find(batch.format(), &self.receiver)?;
        // SAFETY: promised.
        unsafe { put_many(&self.receiver, converter, batch.verify(verifier)?, records, length)? }
        self.copied += length as u64;
        Ok(())
    }

    /// Decodes the records of verified bodies into contiguous memory of the caller.
    ///
    /// # Errors
    /// As [`decode_many_into`](Decoder::decode_many_into), but for verification.
    ///
    /// # Safety
    /// As [`decode_many_into`](Decoder::decode_many_into), for each body.
    pub unsafe fn decode_bodies_into(&mut self, bodies: Bodies<'_>, records: *mut u8) -> Result<()> {
        let length = self.extent(bodies.len())?;
        let conversion = self.conversions.find(bodies.format(), &self.receiver)?;
        // SAFETY: promised.
        unsafe { put_many(&self.receiver, &mut conversion.converter, bodies, records, length)? }
        self.copied += length as u64;
        Ok(())
    }

    /// Converts a body within its memory if that can be done, however few bytes there are.
    #[cfg(test)]
    pub(super) fn decode_within<'m>(&'m mut self, format: &Format, body: &'m mut [u8]) -> Option<Result<&'m [u8]>> {
        let conversion = self.conversions.find(format, &self.receiver).ok()?;
        if conversion.direct || !is_aligned(body, self.receiver.align.max(16)) || !conversion.is_within(usize::MAX) {
            return None;
        }
        if let Err(error) = conversion.verifier.verify(body) {
            return Some(Err(error));
        }
        Some(self.within(format, body))
    }

    /// The number of bytes of so many records.
    fn extent(&self, count: usize) -> Result<usize> {
        refuse_pointers(&self.receiver.format)?;
        let size = self.receiver.format.size();
        size.checked_mul(count).ok_or_else(|| Error::new(Code::Size).found(format_args!("{count} records")))
    }

    /// Verifies a body, and makes its record in the buffer, unless the body itself is `usable` as the record, or is better made
    /// the record since it is also `ours`.
    #[inline(always)]
    fn convert(&mut self, format: &Format, bytes: &[u8], usable: bool, ours: bool) -> Result<Found> {
        let conversion = self.conversions.find(format, &self.receiver)?;
        let body = conversion.verifier.verify(bytes)?;
        if conversion.direct && usable {
            return Ok(Found::InPlace);
        }
        if ours && usable && conversion.is_within(bytes.len()) {
            return Ok(Found::Within);
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
    /// `base` points at `length` bytes that are a body of (1), (2) or (3), aligned for its record and to 16, and nobody else's
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

/// Writes the record of a verified body, which has no pointers, to memory of the caller.
///
/// # Safety
/// As [`Decoder::decode_into`]; the converter is for the body's format and the receiver's, which has no pointers; and `direct` is
/// that of their conversion.
#[inline]
unsafe fn put(
    receiver: &Receiver,
    converter: &mut Converter,
    direct: bool,
    buffer: &mut Buffer,
    body: Body<'_>,
    record: *mut u8,
) -> Result<()> {
    let size = receiver.format.size();
    if direct {
        // SAFETY: (1): the body begins with `size` bytes that are a record; there are so many, as promised.
        unsafe { ptr::copy_nonoverlapping(body.bytes().as_ptr(), record, size) };
        return Ok(());
    }
    if receiver.format.structure().needs_check() {
        // A conversion that fails halfway could leave bytes that are not a valid value.
        buffer.clear();
        converter.run(body, buffer)?;
        // SAFETY: by (2) the buffer holds a record.
        unsafe { ptr::copy_nonoverlapping(buffer.as_mut().0, record, size) };
        return Ok(());
    }
    // SAFETY: the record has `size` bytes, initialised once its gaps are; and all that they can become are
    // valid values.
    let memory = unsafe {
        settle_gaps(&receiver.outline, record);
        slice::from_raw_parts_mut(record, size)
    };
    converter.run_fixed(body, memory)
}

/// Writes the records of verified bodies, which have no pointers, to memory of the caller.
///
/// # Safety
/// As [`Decoder::decode_many_into`]; `length` is that of all records; and the converter is for the bodies' format and the receiver's.
unsafe fn put_many(
    receiver: &Receiver,
    converter: &mut Converter,
    bodies: Bodies<'_>,
    records: *mut u8,
    length: usize,
) -> Result<()> {
    // SAFETY: promised.
    let records = unsafe { slice::from_raw_parts_mut(records, length) };
    if receiver.format.structure().needs_check() {
        records.fill(0); // (2)
    }
    converter.run_many(bodies, records)
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
