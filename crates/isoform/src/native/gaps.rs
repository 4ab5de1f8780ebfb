//! Clears gaps, so that the bytes between the fields of a record never leave the process.

use super::outline::Gap;
use std::iter;

/// Zeroes the gaps of `count` records or elements that are `stride` bytes apart.
///
/// # Safety
/// They lie within writable memory at `base`.
pub(super) unsafe fn clear(base: *mut u8, count: usize, stride: usize, gaps: &[Gap]) {
    for gap in gaps {
        // SAFETY: promised; a gap lies within its record.
        unsafe {
            match *gap {
                Gap::Bytes { offset, len } if count == 1 => zero(iter::once(base.add(offset)), len),
                Gap::Bytes { offset, len } => zero_each(base.add(offset), count, stride, len),
                Gap::Each { offset, count: inner, stride: step, ref gaps } => {
                    (0..count).for_each(|i| clear(base.add(i * stride + offset), inner, step, gaps));
                }
            }
        }
    }
}

/// # Safety
/// There are `len` writable bytes at each of `count` places, `stride` bytes from one to the next.
#[inline(never)]
unsafe fn zero_each(first: *mut u8, count: usize, stride: usize, len: usize) {
    // SAFETY: promised.
    unsafe { zero((0..count).map(|i| first.add(i * stride)), len) }
}

/// Zeroes `len` bytes at each place. Gaps are short, so each takes one or two stores.
///
/// # Safety
/// They are writable.
#[inline(always)]
unsafe fn zero(places: impl Iterator<Item = *mut u8>, len: usize) {
    // SAFETY: promised; stores overlap, and lie within `len` bytes.
    unsafe {
        match len {
            1 => places.for_each(|at| at.write(0)),
            2 | 3 => places.for_each(|at| {
                at.cast::<u16>().write_unaligned(0);
                at.add(len - 2).cast::<u16>().write_unaligned(0);
            }),
            4..=7 => places.for_each(|at| {
                at.cast::<u32>().write_unaligned(0);
                at.add(len - 4).cast::<u32>().write_unaligned(0);
            }),
            8..=16 => places.for_each(|at| {
                at.cast::<u64>().write_unaligned(0);
                at.add(len - 8).cast::<u64>().write_unaligned(0);
            }),
            _ => places.for_each(|at| at.write_bytes(0, len)),
        }
    }
}
