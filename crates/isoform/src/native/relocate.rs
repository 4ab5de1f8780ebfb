//! Turns a body into a record in memory, in place: addresses replace the offsets in slots.
//!
//! Proofs refer to these:
//! 1. `base` points at `length` writable, initialised bytes, which are a body of the outline's format: verified against
//!    it, or against a format whose records are also records of this one, or made by the interpreter. So slots hold 0 or
//!    offsets of blocks inside, and each byte belongs to one block.
//! 2. An [`Outline`] made from a structure has its sizes and offsets.

#[cfg(any(
    miri,
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64", target_arch = "s390x"))
))]
use super::gaps::clear;
use super::gather::count;
use super::outline::{Block, Elements, Outline, SlotKind};
use isoform_core::{Code, Error, Result};

const POINTER: usize = size_of::<usize>();

/// Replaces the offsets in a body with the addresses of their blocks. A failure is a defect elsewhere.
///
/// # Safety
/// (1)
#[inline]
pub(crate) unsafe fn relocate(outline: &Outline, base: *mut u8, length: usize) -> Result<()> {
    if outline.slots.is_empty() {
        return Ok(());
    }
    // SAFETY: promised.
    unsafe { relocate_slots(outline, base, length) }
}

/// The same, for a format with slots.
///
/// # Safety
/// (1)
unsafe fn relocate_slots(outline: &Outline, base: *mut u8, length: usize) -> Result<()> {
    let relocation = Relocation { base, length, address: base.expose_provenance() };
    // SAFETY: promised.
    unsafe { relocation.structure(outline, 0) }
}

/// Initialises the gaps of a record: each byte keeps the value that it has in memory, or becomes zero. The rest of the record
/// is initialised already.
///
/// # Safety
/// `record` points at writable memory of the outline's size.
#[inline]
pub(crate) unsafe fn settle_gaps(outline: &Outline, record: *mut u8) {
    #[cfg(all(
        not(miri),
        any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64", target_arch = "s390x")
    ))]
    // SAFETY: there are no instructions in it, so it does what a loop does that writes to each byte of a gap the value that the
    // memory holds. A compiler knows no more than its operand: it must take every byte that this pointer reaches for written.
    unsafe {
        let _ = outline;
        std::arch::asm!("/* {0} */", in(reg) record, options(nostack, preserves_flags));
    }
    #[cfg(any(
        miri,
        not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64", target_arch = "s390x"))
    ))]
    // SAFETY: promised, and (2).
    unsafe {
        clear(record, 1, 0, &outline.gaps.list);
    }
}

/// A body that is being turned into a record.
struct Relocation {
    base: *mut u8,
    length: usize,
    address: usize,
}

impl Relocation {
    /// # Safety
    /// (1) for a structure of this outline at the offset `at`, whose slots have not been turned into addresses.
    unsafe fn structure(&self, outline: &Outline, at: usize) -> Result<()> {
        for slot in &outline.slots {
            let slot_at = at + slot.offset;
            // SAFETY: (1) and (2): there are the slot's elements.
            unsafe {
                match &slot.kind {
                    SlotKind::Strings { count } => self.strings(slot_at, *count),
                    SlotKind::Structures { count, outline } => self.structures(outline, slot_at, *count),
                    SlotKind::Pointer(block) => self.pointer(block, at, slot_at),
                }
                .map_err(|error| error.within(&slot.name))?;
            }
        }
        Ok(())
    }

    /// # Safety
    /// (1) for `count` structures of this outline at the offset `at`.
    unsafe fn structures(&self, outline: &Outline, at: usize, count: usize) -> Result<()> {
        // SAFETY: each is one of them.
        (0..count).try_for_each(|i| unsafe { self.structure(outline, at + i * outline.size) })
    }

    /// # Safety
    /// (1) for `count` slots of strings at the offset `at`.
    unsafe fn strings(&self, at: usize, count: usize) -> Result<()> {
        for i in 0..count {
            // SAFETY: it is one of them. A string has a NUL at least.
            unsafe { self.slot(at + i * POINTER, 1)? };
        }
        Ok(())
    }

    /// # Safety
    /// (1) for the structure at the offset `record`, and its slot at the offset `at`.
    unsafe fn pointer(&self, block: &Block, record: usize, at: usize) -> Result<()> {
        // SAFETY: the length fields are in the structure, and initialised.
        let count = unsafe { count(block, self.base.add(record))? };
        // SAFETY: the slot is there.
        let Some(elements) = (unsafe { self.slot(at, count * block.stride)? }) else {
            return match block.lengths.is_empty() || count == 0 {
                true => Ok(()),
                false => Err(defect(format_args!("null for {count} elements"))),
            };
        };
        // SAFETY: by (1) the block has so many elements, which nothing else points at.
        unsafe {
            match &block.elements {
                Elements::Leaves(_) => Ok(()),
                Elements::Strings => self.strings(elements, count),
                Elements::Structures(outline) => self.structures(outline, elements, count),
            }
        }
    }

    /// Fills one slot, and returns its offset if it is not null.
    ///
    /// # Safety
    /// (1) for a slot at the offset `at`, whose block has at least `length` bytes.
    #[inline]
    unsafe fn slot(&self, at: usize, length: usize) -> Result<Option<usize>> {
        // SAFETY: (1)
        let slot = unsafe { self.base.add(at).cast::<usize>() };
        // SAFETY: likewise.
        let offset = unsafe { slot.read_unaligned() };
        if offset == 0 {
            return Ok(None);
        }
        // (1) implies this. It is checked all the same, so that a defect in a conversion appears here and not as a wild
        // pointer, as for null above.
        if offset > self.length || length > self.length - offset {
            return Err(defect(format_args!("a block at {offset} of {}", self.length)));
        }
        // SAFETY: as above.
        unsafe { slot.write_unaligned(self.address + offset) };
        Ok(Some(offset))
    }
}

#[cold]
fn defect(found: std::fmt::Arguments<'_>) -> Error {
    Error::new(Code::Internal).found(found)
}
