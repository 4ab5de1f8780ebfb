//! The walk through a body, block by block in the one order that they may have.
//!
//! The cursor is the end of the last block. A slot is null, or exactly the cursor rounded up to its block's alignment.
//! So each byte has one owner, no byte is skipped, and the time is linear in the length of the body.

use crate::error::{Code, Error, Result};
use crate::format::{Check, Checked, Checks, Dim, Elements, Length, Location, Machine, integer};

/// Checks all of `bytes`, which begin with a record of `size` bytes. Returns the end of the last block.
pub(super) fn walk(checks: &Checks, bytes: &[u8], size: usize) -> Result<usize> {
    Walk { machine: checks.machine, bytes }.structures(&checks.record, &bytes[..size], size, size, None)
}

struct Walk<'a> {
    machine: Machine,
    bytes: &'a [u8],
}

impl Walk<'_> {
    /// Checks the structures of `stride` bytes that lie side by side in `bytes`. `array` is the field that they are
    /// elements of, with the record that it is in.
    fn structures(
        &self,
        checked: &Checked,
        bytes: &[u8],
        stride: usize,
        mut cursor: usize,
        array: Option<(&Check, &[u8])>,
    ) -> Result<usize> {
        // The loop is in here so that an element costs no call.
        for (i, record) in bytes.chunks(stride).enumerate() {
            for check in &checked.fields {
                cursor = self.field(check, record, cursor).map_err(|error| {
                    let error = error.within(&checked.path(check));
                    match array {
                        Some((array, holder)) => error.within(&self.index(array, holder, i)),
                        None => error,
                    }
                })?;
            }
        }
        Ok(cursor)
    }

    #[inline(always)]
    fn field(&self, check: &Check, record: &[u8], cursor: usize) -> Result<usize> {
        match (&check.place, &check.elements) {
            (Location::Here(1), Elements::Strings) => {
                let string = self.string(&record[check.offset..], cursor);
                string.map_err(|error| error.within(&self.index(check, record, 0)))
            }
            (Location::Here(count), _) => {
                let elements = &record[check.offset..check.offset + count * check.stride];
                self.elements(check, record, elements, cursor)
            }
            (Location::Block { align, fixed, lengths }, _) => match self.count(*fixed, lengths, record) {
                Some(count) => self.block(check, record, cursor, *align, count, !lengths.is_empty()),
                None => Err(Error::new(Code::ArrayLength).expected("lengths of 0 or more")),
            },
        }
    }

    /// How many elements a block must have; `None` if a dimension is negative. Saturates, since no body is that large.
    #[inline]
    fn count(&self, fixed: u64, lengths: &[Length], record: &[u8]) -> Option<u64> {
        let mut count = fixed;
        for length in lengths {
            let value = self.length(length, record);
            if length.signed && (value as i64) < 0 {
                return None;
            }
            count = count.saturating_mul(value);
        }
        Some(count)
    }

    #[inline]
    fn length(&self, length: &Length, record: &[u8]) -> u64 {
        integer(self.machine, &record[length.offset..length.offset + usize::from(length.size)], length.signed)
    }

    #[inline]
    fn block(
        &self,
        check: &Check,
        record: &[u8],
        cursor: usize,
        align: usize,
        count: u64,
        dynamic: bool,
    ) -> Result<usize> {
        let slot = self.slot(&record[check.offset..]);
        if slot == 0 && (count == 0 || !dynamic) {
            return Ok(cursor);
        }
        // Alignments are powers of two; without the division that `next_multiple_of` needs, this is faster.
        let at = (cursor + align - 1) & !(align - 1);
        let left = self.bytes.len().saturating_sub(at) as u64;
        let length = count.saturating_mul(check.stride as u64);
        if slot != at as u64 || length > left || length == 0 {
            return Err(block_fault(slot, at, count, left));
        }
        let end = at + length as usize;
        match check.elements {
            Elements::Anything => Ok(end),
            _ => self.elements(check, record, &self.bytes[at..end], end),
        }
    }

    /// Checks the elements that lie side by side in `bytes`; their own blocks begin at the cursor. The record that
    /// holds the field is there for its dimensions, if an error must name an element.
    fn elements(&self, check: &Check, record: &[u8], bytes: &[u8], mut cursor: usize) -> Result<usize> {
        let name = |i| self.index(check, record, i);
        match &check.elements {
            Elements::Anything => {}
            Elements::Strings => {
                for (i, slot) in bytes.chunks(check.stride).enumerate() {
                    cursor = self.string(slot, cursor).map_err(|error| error.within(&name(i)))?;
                }
            }
            Elements::Structures(checked) => {
                cursor = self.structures(checked, bytes, check.stride, cursor, Some((check, record)))?;
            }
            Elements::Booleans => {
                // One pass without a branch for each element is enough, unless there is something to complain about.
                let wrong = check.stride > 1 || bytes.iter().fold(0, |all, byte| all | byte) > 1;
                if wrong && let Some(i) = bytes.chunks(check.stride).position(|boolean| self.machine.read(boolean) > 1)
                {
                    let found = self.machine.read(&bytes[i * check.stride..][..check.stride]);
                    return Err(Error::new(Code::Boolean).at(name(i)).expected("0 or 1").found(found));
                }
            }
            Elements::Enumerations(numbers) => {
                let wrong = |number: &[u8]| !numbers.contain(self.machine, number);
                if let Some(i) = bytes.chunks(check.stride).position(wrong) {
                    let found = numbers.number(self.machine, &bytes[i * check.stride..][..check.stride]);
                    return Err(Error::new(Code::Symbol).at(name(i)).expected("the value of a symbol").found(found));
                }
            }
        }
        Ok(cursor)
    }

    #[inline(always)]
    fn string(&self, slot: &[u8], cursor: usize) -> Result<usize> {
        let slot = self.slot(slot);
        if slot == 0 {
            return Ok(cursor);
        }
        // The end is looked for where the slot points, before it is compared with where it must point: so the search
        // need not wait for that of the string before.
        let at = usize::try_from(slot).unwrap_or(usize::MAX);
        let length = self.bytes.get(at..).and_then(nul);
        match length {
            Some(length) if at == cursor.next_multiple_of(8) => Ok(at + length + 1),
            _ => Err(self.string_fault(slot, cursor.next_multiple_of(8))),
        }
    }

    #[cold]
    fn string_fault(&self, slot: u64, at: usize) -> Error {
        match slot == at as u64 && at < self.bytes.len() {
            true => Error::new(Code::Unterminated),
            false => Error::new(Code::Slot).expected(at).found(slot),
        }
    }

    #[inline]
    fn slot(&self, bytes: &[u8]) -> u64 {
        match self.machine.pointer {
            8 => self.machine.read(&bytes[..8]),
            _ => self.machine.read(&bytes[..4]),
        }
    }

    /// An element's place in its array, such as `[3][0]`; nothing if the field is no array.
    #[cold]
    fn index(&self, check: &Check, record: &[u8], mut flat: usize) -> String {
        let mut indices = Vec::new();
        for dim in check.dims().rev() {
            let dim = match dim {
                Dim::Fixed(n) => n,
                Dim::Dynamic(length) => self.length(&length, record) as usize,
            };
            indices.push(flat % dim.max(1));
            flat /= dim.max(1);
        }
        indices.iter().rev().map(|index| format!("[{index}]")).collect()
    }
}

/// The fault of a block that is neither null for a good reason, nor in its place with room for its elements.
#[cold]
fn block_fault(slot: u64, at: usize, count: u64, left: u64) -> Error {
    match (slot, count) {
        (0, _) => Error::new(Code::NullArray).expected(format_args!("{count} elements")).found("null"),
        (_, 0) => Error::new(Code::Slot).expected("null, as the array has no elements").found(slot),
        _ if slot != at as u64 => Error::new(Code::Slot).expected(at).found(slot),
        _ => {
            let error = Error::new(Code::ArrayLength).expected(format_args!("an array of at most {left} bytes"));
            error.found(format_args!("{count} elements"))
        }
    }
}

/// Where the first NUL is.
#[inline]
fn nul(bytes: &[u8]) -> Option<usize> {
    const ONES: u128 = u128::MAX / 0xff;
    // Most strings are short, and end before a call to something faster would have begun.
    for (index, part) in bytes.as_chunks::<16>().0.iter().take(4).enumerate() {
        let word = u128::from_le_bytes(*part);
        let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);
        if zeros != 0 {
            return Some(16 * index + zeros.trailing_zeros() as usize / 8);
        }
    }
    far_nul(bytes)
}

#[inline(never)]
fn far_nul(bytes: &[u8]) -> Option<usize> {
    memchr::memchr(0, bytes)
}
