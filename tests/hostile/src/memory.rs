//! How much memory something takes: an allocator that counts, for programs that install it.
//!
//! ```
//! use isoform_hostile::memory::{Counting, measure};
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//!
//! let (vector, used) = measure(|| { drop(vec![0u8; 1000]); vec![0u8; 10] });
//! assert_eq!((used.peak, used.kept), (1000, 10));
//! # drop(vector);
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with counts of each thread's own.
pub struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn change(by: isize) {
    // A thread that ends frees memory when its counts are gone.
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + by);
        PEAK.try_with(|peak| peak.set(peak.get().max(live.get())))
    });
}

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        change(layout.size() as isize);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        change(layout.size() as isize);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        change(-(layout.size() as isize));
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old and the new block may both be there for a moment.
        change(size as isize);
        change(-(layout.size() as isize));
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// Bytes of memory that something took, beyond those that were there before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// At its worst moment.
    pub peak: usize,
    /// At its end: what its result holds.
    pub kept: usize,
}

/// What `work` makes, and the memory that it took; none, if [`Counting`] is not the allocator.
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, Used) {
    let before = LIVE.get();
    let outer = PEAK.replace(before);
    let made = work();
    let (live, peak) = (LIVE.get(), PEAK.get());
    PEAK.set(peak.max(outer));
    (made, Used { peak: (peak - before) as usize, kept: (live - before).max(0) as usize })
}

/// Asserts that `used` is no more than 4 times the bytes of the input and of the result, and 1 MiB.
pub(crate) fn check(what: &str, input: usize, used: Used) {
    let allowed = 4 * (input + used.kept) + (1 << 20);
    assert!(
        used.peak <= allowed,
        "memory of {what}: {} bytes for {input}, of which {} were kept",
        used.peak,
        used.kept
    );
}
