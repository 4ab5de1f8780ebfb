//! Encodes records in memory as messages.
//!
//! `native::gather` does the work. This module checks what a Rust type would promise and memory of another language
//! does not: that booleans are 0 or 1, and that enumerations have a symbol.

use super::admit;
use crate::message::{Batch, Message, Shared};
use crate::native::Aligned;
use crate::native::gather::Gather;
use crate::native::owned_body::{OwnedBody, Owner};
use crate::native::scratch::Scratch;
use isoform_core::{Code, Element, Error, Format, Result, Structure, Verifier};
use std::fmt;

/// Encodes records in memory as messages, as [`isoform::Encoder`](crate::Encoder) does for Rust types: without
/// conversion, with gaps as zeros, and with large parts by reference.
pub struct Encoder {
    gather: Gather,
    /// Checks records, if they can contain an invalid value.
    check: Option<Check>,
    /// The messages of a batch.
    batch: Aligned,
}

impl Encoder {
    /// Creates an encoder for records of this format.
    ///
    /// # Errors
    /// [`Code::WrongType`] if the format has pointers of another machine.
    pub fn new(format: &Format) -> Result<Encoder> {
        admit(format)?;
        let check = can_be_wrong(format.structure()).then(|| Check::new(format));
        Ok(Encoder { check, ..Encoder::of(format) })
    }

    /// Creates an encoder for a format whose records are values of a Rust type. Only their pointers can be invalid.
    pub(crate) fn of(format: &Format) -> Encoder {
        Encoder { gather: Gather::new(format), check: None, batch: Aligned::new() }
    }

    /// The format of its messages.
    pub fn format(&self) -> &Format {
        self.gather.format()
    }

    /// Encodes a record.
    ///
    /// # Errors
    /// [`Code::BadRecord`] if a field does not follow its declaration: a length is negative, or above 0 for a null
    /// pointer; a boolean is neither 0 nor 1; the number of an enumeration has no symbol. [`Code::Size`] if the message
    /// is too large to address.
    ///
    /// # Safety
    /// `record` points at a record of the format: as many bytes as its size says, of which those of fields are initialised.
    /// Pointers in it are null, or exposed addresses of as many elements as the length fields say, or of a text that ends with
    /// a NUL; and so on within those. All that stays as it is for as long as the message is used.
    pub unsafe fn encode<'m>(&'m mut self, record: *const u8) -> Result<Message<'m>> {
        // SAFETY: promised.
        let message = unsafe { self.gather.gather(record, false)? };
        if let Some(check) = &mut self.check {
            check.message(&message)?;
        }
        Ok(message)
    }

    /// As `encode`, for a record that is a value of a Rust type. `clean` states that its gaps are zeros.
    ///
    /// # Safety
    /// As (1) of `native::gather` says, for as long as the message lives; if `clean`, bytes of all gaps are zeros, also in
    /// what the record points at.
    #[inline(always)]
    pub(crate) unsafe fn encode_value<'m>(&'m mut self, record: *const u8, clean: bool) -> Result<Message<'m>> {
        // SAFETY: promised.
        unsafe { self.gather.gather(record, clean) }
    }

    /// The size of a record, if its body is the record as it is in memory.
    #[inline]
    pub(crate) fn whole_size(&self) -> Option<usize> {
        self.gather.whole_size()
    }

    /// The body of such a record, which is kept together with its owners.
    ///
    /// # Safety
    /// As for [`OwnedBody::record`].
    #[inline(always)]
    pub(crate) unsafe fn encode_owned(
        &mut self,
        record: *const u8,
        owner: Owner,
        scratch: &mut Scratch,
    ) -> Result<Shared> {
        // SAFETY: promised.
        let body = unsafe { OwnedBody::record(&mut self.gather, record, owner, scratch)? };
        Ok(Shared::new(self.gather.format().clone(), body))
    }

    /// Encodes `count` consecutive records as the messages of a stream. The records must not contain pointers, and are
    /// copied.
    ///
    /// ```
    /// use isoform::{FieldList, Machine, Rules, memory};
    /// let format = FieldList::new("Level").field("level", "double", 8, 0).format(Machine::NATIVE, 8, 8)?;
    /// let levels = [0.5, 1.5, 2.5];
    /// let mut encoder = memory::Encoder::new(&format)?;
    /// // SAFETY: three records of that format.
    /// let batch = unsafe { encoder.encode_many(levels.as_ptr().cast(), 3)? }.expect("there are some");
    /// assert_eq!(batch.len(), 3);
    /// let mut decoder = memory::Decoder::new(&format, Rules::new())?;
    /// assert_eq!(decoder.decode_many(&batch)?[16..], 2.5f64.to_ne_bytes());
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// Returns `None` if there are none.
    ///
    /// # Errors
    /// [`Code::WrongType`] if the records have pointers; [`Code::BadRecord`], with the number of the record in front of
    /// the path; [`Code::Size`] if there is no memory for the messages.
    ///
    /// # Safety
    /// `records` points at so many records of the format, whose fields are initialised.
    pub unsafe fn encode_many(&mut self, records: *const u8, count: usize) -> Result<Option<Batch<'_>>> {
        refuse_pointers(self.gather.format())?;
        if count == 0 {
            return Ok(None);
        }
        // SAFETY: promised.
        let header = unsafe { self.gather.gather_many(records, count, &mut self.batch)? };
        let batch = Batch::of_stream(header, self.gather.format(), &self.batch);
        if let Some(check) = &self.check {
            batch.verify(&check.verifier).map_err(bad_record)?;
        }
        Ok(Some(batch))
    }
}

/// Finds invalid values in records, except invalid pointers.
struct Check {
    verifier: Verifier,
    /// A body that is not contiguous.
    body: Aligned,
}

impl Check {
    fn new(format: &Format) -> Check {
        Check { verifier: Verifier::new(format), body: Aligned::new() }
    }

    fn message(&mut self, message: &Message<'_>) -> Result<()> {
        let mut pieces = message.body();
        let first = pieces.next().unwrap_or(&[]);
        if first.len() == message.body_len() {
            return self.verifier.verify(first).map(drop).map_err(bad_record);
        }
        self.body.clear();
        self.body.try_reserve(message.body_len())?;
        message.body().for_each(|piece| self.body.extend_from_slice(piece));
        self.verifier.verify(&self.body).map(drop).map_err(bad_record)
    }
}

/// Whether records can contain an invalid boolean or enumeration.
fn can_be_wrong(structure: &Structure) -> bool {
    structure.fields().iter().any(|field| match &field.element {
        Element::Boolean { .. } | Element::Enumeration(_) => true,
        Element::Structure(inner) => can_be_wrong(inner),
        _ => false,
    })
}

/// Turns an error that a receiver would report as bad input into one of the caller.
#[cold]
fn bad_record(error: Error) -> Error {
    let bad = Error::new(Code::BadRecord).at(error.path()).expected(error.expectation());
    match error.actual() {
        "" => bad.found(error.code()),
        found => bad.found(found),
    }
}

/// Checks that records have no pointers.
pub(super) fn refuse_pointers(format: &Format) -> Result<()> {
    if format.structure().has_slots() {
        let error = Error::new(Code::WrongType).at(format.name());
        return Err(error.expected("records without pointers"));
    }
    Ok(())
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoder({:?})", self.gather.format())
    }
}
