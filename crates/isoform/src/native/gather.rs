//! From a record in memory to the buffers of a message.
//!
//! What needs no change goes by reference; what does - records whose gaps must not leave, structures whose slots become
//! offsets - is copied into one buffer that is kept from record to record. A steady sender allocates nothing.
//!
//! Proofs refer to these:
//! 1. `record` points at a record of `format` in native memory: `size` bytes, of which those of fields are initialised, and
//!    whose slots are 0 or exposed addresses of as many elements as the length fields say, or of a NUL-terminated string,
//!    and so on within those. All that stays unchanged while the result is borrowed. The caller of [`Gather::gather`]
//!    promises it.
//! 2. An [`Outline`] made from a structure has its sizes and offsets: the slots and gaps that it lists are inside, and a
//!    mask is that of the gaps beside it, and of records or elements that are as large.
//! 3. `segments` and `pieces` are emptied before every use, and what they refer to leaves only within a [`Message`],
//!    whose lifetime is that of the borrow of (1), or as bytes whose memory `owned_body` owns.

use super::aligned::Aligned;
use super::gaps::clear;
use super::outline::{Block, Elements, Gaps, Length, Outline, SlotKind};
use super::way::{BY_REFERENCE, Run, Way, ZEROS};
use crate::message::Message;
use isoform_core::message::{ALIGNMENT, HEADER, Header};
use isoform_core::{Code, Error, Format, Machine, Result};
use std::io::IoSlice;
use std::mem;
use std::ops::Range;
use std::ptr::with_exposed_provenance;
use std::slice;

const POINTER: usize = size_of::<usize>();

/// Makes messages of records of one format.
pub(crate) struct Gather {
    format: Format,
    outline: Outline,
    way: Way,
    /// The header, then what is copied.
    copied: Aligned,
    pieces: Vec<Piece>,
    segments: Vec<IoSlice<'static>>,
}

/// A part of the message.
enum Piece {
    Copied(Range<usize>),
    Lent(IoSlice<'static>),
}

impl Gather {
    pub(crate) fn new(format: &Format) -> Gather {
        let outline = Outline::new(format.structure());
        let way = Way::of(&outline);
        let copied = Header::new(format.token(), outline.size as u64).to_bytes();
        Gather {
            format: format.clone(),
            outline,
            way,
            copied: Aligned::from(&copied[..]),
            pieces: Vec::new(),
            segments: Vec::new(),
        }
    }

    pub(crate) fn format(&self) -> &Format {
        &self.format
    }

    /// The size of a record, if its body is the record as it is in memory.
    #[inline]
    pub(crate) fn whole_size(&self) -> Option<usize> {
        matches!(self.way, Way::Whole).then_some(self.outline.size)
    }

    /// The message of a record. `clean` says that the bytes of its gaps, and of those in what it points at, are zeros.
    ///
    /// # Errors
    /// [`Code::BadRecord`] at a field whose length is negative or contradicts its pointer; [`Code::Size`].
    ///
    /// # Safety
    /// As (1) above says, for as long as the message lives; if `clean`, bytes of gaps are initialised.
    #[inline]
    pub(crate) unsafe fn gather<'m>(&'m mut self, record: *const u8, clean: bool) -> Result<Message<'m>> {
        // SAFETY: promised.
        let length = unsafe { self.fill(record, clean)? };
        Ok(Message::new(&self.format, length, &self.segments))
    }

    /// The message of a record, and the memory in which what had to be copied of its body is: nobody else's, so that the
    /// bytes of the body may be used when the message is gone.
    ///
    /// # Errors
    /// As `gather`.
    ///
    /// # Safety
    /// As (1) above says, for as long as bytes of the body are used; and for so long that memory stays as it is.
    pub(super) unsafe fn gather_apart<'m>(&'m mut self, record: *const u8) -> Result<(Aligned, Message<'m>)> {
        let mut copied = Aligned::new();
        let apart = matches!(self.way, Way::Copied | Way::Walked);
        if apart {
            copied.try_reserve(HEADER + self.outline.size)?;
            copied.extend_from_slice(&self.copied[..HEADER]);
            mem::swap(&mut self.copied, &mut copied);
        }
        // SAFETY: promised. Bytes do not move when the vectors that they are in change places (3).
        let length = unsafe { self.fill(record, false) };
        if apart {
            mem::swap(&mut self.copied, &mut copied);
        }
        Ok((copied, Message::new(&self.format, length?, &self.segments)))
    }

    /// Puts the messages of `count` records into `stream`, one after another and padded but for the last; and returns their
    /// header. The format has no slots.
    ///
    /// # Errors
    /// [`Code::Size`] if there is no memory for them.
    ///
    /// # Safety
    /// As (1) above says, of as many records, while this runs.
    pub(crate) unsafe fn gather_many(&self, records: *const u8, count: usize, stream: &mut Aligned) -> Result<Header> {
        debug_assert!(self.outline.slots.is_empty());
        let size = self.outline.size;
        let header = Header::new(self.format.token(), size as u64);
        let (first, padding) = (header.to_bytes(), (HEADER + size).wrapping_neg() % ALIGNMENT);
        stream.clear();
        let length = (HEADER + size + padding).checked_mul(count).ok_or_else(|| Error::new(Code::Size))?;
        stream.try_reserve(length)?;
        for i in 0..count {
            stream.extend_from_slice(&first);
            // SAFETY: promised, of the `i`th of them; and by (2).
            unsafe { append(stream, records.add(i * size), 1, size, Some(&self.outline.gaps))? };
            stream.extend_from_slice(&ZEROS[..padding]);
        }
        stream.truncate(length - padding);
        Ok(header)
    }

    /// Makes `segments` those of the record's message, and returns how long its body is.
    ///
    /// # Safety
    /// As `gather`.
    #[inline]
    unsafe fn fill(&mut self, record: *const u8, clean: bool) -> Result<usize> {
        self.segments.clear(); // (3)
        let size = self.outline.size;
        let length = match &self.way {
            Way::Walked => {
                // SAFETY: promised by the caller.
                unsafe { self.walk(record, clean)? }
            }
            Way::Whole => {
                // SAFETY: by (1) the record is there for as long as the message, and a format without gaps has all of its
                // bytes initialised.
                let body = unsafe { lend(record, size) };
                self.segments.extend([header(&self.copied), body]);
                size
            }
            Way::Runs(_) | Way::Copied if clean => {
                // SAFETY: as above, and gaps are initialised too, as the caller promises.
                let body = unsafe { lend(record, size) };
                self.segments.extend([header(&self.copied), body]);
                size
            }
            Way::Runs(runs) => {
                self.segments.push(header(&self.copied));
                self.segments.extend(runs.iter().map(|run| match *run {
                    Run::Zeros(len) => IoSlice::new(&ZEROS[..len]),
                    // SAFETY: by (2) the run lies in the record and touches no gap; by (1) it is initialised and stays.
                    Run::Fields(offset, len) => unsafe { lend(record.add(offset), len) },
                }));
                size
            }
            Way::Copied => {
                self.copied.truncate(HEADER);
                // SAFETY: by (1) it is a record of this outline.
                unsafe { append(&mut self.copied, record, 1, size, Some(&self.outline.gaps))? };
                // SAFETY: (3): the buffer is not touched while the message lives, since that borrows `self`.
                self.segments.push(unsafe { lend(self.copied.as_ptr(), self.copied.len()) });
                size
            }
        };
        Ok(length)
    }

    /// # Safety
    /// (1)
    unsafe fn walk(&mut self, record: *const u8, clean: bool) -> Result<usize> {
        self.copied.truncate(HEADER);
        self.pieces.clear();
        let size = self.outline.size;
        let mut walk = Walk { clean, body: size, open: 0, copied: &mut self.copied, pieces: &mut self.pieces };
        // SAFETY: (1), and the bytes that are walked have just been copied to the end of the header.
        unsafe {
            walk.append(record, 1, size, Some(&self.outline.gaps))?;
            walk.structure(&self.outline, record, HEADER)?;
        }
        walk.close();
        let length = walk.body;
        self.copied[..HEADER].copy_from_slice(&Header::new(self.format.token(), length as u64).to_bytes());
        for piece in self.pieces.drain(..) {
            self.segments.push(match piece {
                Piece::Lent(bytes) => bytes,
                Piece::Copied(range) => {
                    let bytes = &self.copied[range];
                    // SAFETY: (3), as the buffer stays as it is from here on.
                    unsafe { lend(bytes.as_ptr(), bytes.len()) }
                }
            });
        }
        Ok(length)
    }
}

/// One record on its way: what has been gathered so far.
struct Walk<'g> {
    /// Whether gaps are zeros already.
    clean: bool,
    /// Bytes of the body so far.
    body: usize,
    /// Where in `copied` the piece begins that is not closed yet.
    open: usize,
    copied: &'g mut Aligned,
    pieces: &'g mut Vec<Piece>,
}

impl Walk<'_> {
    /// Gathers what the slots of one structure point at. `at` is where it was copied to.
    ///
    /// # Safety
    /// (1) for `structure`, which is one of this outline.
    unsafe fn structure(&mut self, outline: &Outline, structure: *const u8, at: usize) -> Result<()> {
        for slot in &outline.slots {
            // SAFETY: (2)
            let (source, at) = (unsafe { structure.add(slot.offset) }, at + slot.offset);
            // SAFETY: (1) and (2): the slot's elements are there.
            let result = unsafe {
                match &slot.kind {
                    SlotKind::Strings { count } => self.strings(source, *count, at),
                    SlotKind::Structures { count, outline } => self.structures(outline, source, *count, at),
                    SlotKind::Pointer(block) => self.pointer(block, structure, source, at),
                }
            };
            result.map_err(|error| error.within(&slot.name))?;
        }
        Ok(())
    }

    /// # Safety
    /// (1) for `count` structures of this outline.
    unsafe fn structures(&mut self, outline: &Outline, source: *const u8, count: usize, at: usize) -> Result<()> {
        for i in 0..count {
            // SAFETY: the `i`th of them.
            let result = unsafe { self.structure(outline, source.add(i * outline.size), at + i * outline.size) };
            result.map_err(|error| if count > 1 { error.within(&format!("[{i}]")) } else { error })?;
        }
        Ok(())
    }

    /// # Safety
    /// (1) for `count` pointers to strings.
    unsafe fn strings(&mut self, source: *const u8, count: usize, at: usize) -> Result<()> {
        for i in 0..count {
            // SAFETY: the `i`th of them.
            let address = unsafe { source.add(i * POINTER).cast::<usize>().read_unaligned() };
            let place = match address {
                0 => 0,
                _ => {
                    let text = with_exposed_provenance(address);
                    // SAFETY: by (1) it is the exposed address of a string that ends with a NUL.
                    let length = unsafe { std::ffi::CStr::from_ptr(text) }.count_bytes() + 1;
                    // SAFETY: so many bytes are there.
                    unsafe { self.leaves(text.cast(), 1, length, 8, None)? }
                }
            };
            self.put(at + i * POINTER, place);
        }
        Ok(())
    }

    /// # Safety
    /// (1) for the pointer at `source` in the structure `record`.
    unsafe fn pointer(&mut self, block: &Block, record: *const u8, source: *const u8, at: usize) -> Result<()> {
        // SAFETY: by (1) the slot is there.
        let address = unsafe { source.cast::<usize>().read_unaligned() };
        // SAFETY: by (1) the length fields are there.
        let count = unsafe { count(block, record)? };
        if count == 0 || (address == 0 && block.lengths.is_empty()) {
            self.put(at, 0);
            return Ok(());
        }
        if address == 0 {
            return Err(Error::new(Code::BadRecord).expected(format_args!("{count} elements")).found("null"));
        }
        let source = with_exposed_provenance(address);
        // SAFETY: by (1) it is the exposed address of so many elements.
        let place = unsafe {
            match &block.elements {
                Elements::Leaves(gaps) => self.leaves(source, count, block.stride, block.align, Some(gaps))?,
                Elements::Strings => {
                    let place = self.begin(block.align)?;
                    let at = self.append(source, count, block.stride, None)?;
                    self.grow(count * block.stride)?;
                    self.strings(source, count, at)?;
                    place
                }
                Elements::Structures(outline) => {
                    let place = self.begin(block.align)?;
                    let at = self.append(source, count, block.stride, Some(&outline.gaps))?;
                    self.grow(count * block.stride)?;
                    self.structures(outline, source, count, at)?;
                    place
                }
            }
        };
        self.put(at, place);
        Ok(())
    }

    /// Adds a block of elements without slots, and returns its offset in the body.
    ///
    /// # Safety
    /// (1) for `count` elements of `stride` bytes with these gaps.
    unsafe fn leaves(
        &mut self,
        source: *const u8,
        count: usize,
        stride: usize,
        align: usize,
        gaps: Option<&Gaps>,
    ) -> Result<usize> {
        let place = self.begin(align)?;
        let length = count * stride;
        if length >= BY_REFERENCE && (gaps.is_none_or(Gaps::is_empty) || self.clean) {
            self.close();
            // SAFETY: promised; without gaps, or with clean ones, every byte is initialised.
            self.pieces.push(Piece::Lent(unsafe { lend(source, length) }));
        } else {
            // SAFETY: promised.
            unsafe { self.append(source, count, stride, gaps)? };
        }
        self.grow(length)?;
        Ok(place)
    }

    /// Begins a block: rounds the body's length up, and returns it.
    fn begin(&mut self, align: usize) -> Result<usize> {
        let padding = self.body.wrapping_neg() % align;
        self.copied.try_reserve(padding)?;
        self.copied.extend_from_slice(&ZEROS[..padding]);
        self.grow(padding)?;
        Ok(self.body)
    }

    fn grow(&mut self, length: usize) -> Result<()> {
        self.body = self.body.checked_add(length).ok_or_else(|| Error::new(Code::Size))?;
        Ok(())
    }

    /// Ends the piece that is being copied together.
    fn close(&mut self) {
        let end = self.copied.len();
        if end > self.open {
            self.pieces.push(Piece::Copied(self.open..end));
            self.open = end;
        }
    }

    /// Copies elements, and returns where they are in `copied`.
    ///
    /// # Safety
    /// (1) for `count` elements of `stride` bytes with these gaps.
    unsafe fn append(&mut self, source: *const u8, count: usize, stride: usize, gaps: Option<&Gaps>) -> Result<usize> {
        let at = self.copied.len();
        // SAFETY: promised; clean gaps need not be cleared.
        unsafe { append(self.copied, source, count, stride, gaps.filter(|_| !self.clean))? };
        Ok(at)
    }

    /// Fills a slot with an offset.
    fn put(&mut self, at: usize, place: usize) {
        Machine::NATIVE.write(&mut self.copied[at..at + POINTER], place as u64);
    }
}

/// How many elements the block of a pointer in `record` has.
///
/// # Safety
/// (1) for the length fields of `record`.
pub(super) unsafe fn count(block: &Block, record: *const u8) -> Result<usize> {
    let mut count = block.fixed;
    let mut empty = false;
    let bad = |found: &dyn std::fmt::Display| Error::new(Code::BadRecord).expected("a valid length").found(found);
    for &Length { offset, size, signed } in &block.lengths {
        // SAFETY: by (2) the field is there, and by (1) initialised.
        let bytes = unsafe { slice::from_raw_parts(record.add(offset), size.into()) };
        let value = Machine::NATIVE.read(bytes);
        if signed && value >> (u32::from(size) * 8 - 1) != 0 {
            let shift = 64 - u32::from(size) * 8;
            return Err(bad(&((value << shift) as i64 >> shift)));
        }
        empty |= value == 0;
        count = usize::try_from(value).ok().and_then(|n| count.checked_mul(n)).unwrap_or(usize::MAX);
    }
    if empty {
        return Ok(0);
    }
    match count.checked_mul(block.stride) {
        Some(bytes) if bytes <= isize::MAX as usize => Ok(count),
        _ => Err(bad(&format_args!("{count} elements"))),
    }
}

/// Copies elements to the end of a buffer, with zeros in their gaps.
///
/// # Safety
/// `source` points at `count` elements of `stride` bytes, initialised except in these gaps, which are inside.
#[inline]
unsafe fn append(to: &mut Aligned, source: *const u8, count: usize, stride: usize, gaps: Option<&Gaps>) -> Result<()> {
    let length = count * stride;
    to.try_reserve(length)?;
    // SAFETY: there is room for `length` bytes; the source is there and elsewhere. By (2) the mask is that of these gaps:
    // it copies what is initialised, and zeros for the rest. Without one, this copies whatever is in the gaps without
    // looking at it, and overwrites it then. So all of the new length is initialised.
    unsafe {
        let start = to.end();
        match gaps.and_then(|gaps| gaps.mask.as_deref()) {
            Some(mask) => {
                debug_assert_eq!(mask.size(), stride);
                mask.copy(count, source, start);
            }
            None => {
                source.copy_to_nonoverlapping(start, length);
                clear(start, count, stride, gaps.map_or(&[], |gaps| &gaps.list));
            }
        }
        to.advance(length);
    }
    Ok(())
}

/// # Safety
/// The bytes are initialised, and stay unchanged until the segments are emptied (3).
#[inline]
unsafe fn lend(bytes: *const u8, len: usize) -> IoSlice<'static> {
    // SAFETY: promised.
    IoSlice::new(unsafe { slice::from_raw_parts(bytes, len) })
}

#[inline]
fn header(copied: &[u8]) -> IoSlice<'static> {
    // SAFETY: the header stays as it is: only formats with slots, which do not come here, overwrite it.
    unsafe { lend(copied.as_ptr(), HEADER) }
}
