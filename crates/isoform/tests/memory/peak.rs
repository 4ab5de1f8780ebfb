//! How much memory a piece of work takes at most.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(more: isize) {
    // While a thread ends there is nothing left to count in.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + more);
        PEAK.with(|peak| peak.set(peak.get().max(now.get())));
    });
}

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // What grows may have to move, and is there twice then.
        let moved = if size > layout.size() { layout.size() as isize } else { 0 };
        count(size as isize - layout.size() as isize + moved);
        count(-moved);
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What the work gives. Memory that moves in order to grow is counted twice while it does.
///
/// # Panics
/// If it holds at any moment more memory than whatever a stranger sends may take: 4 times its bytes, and 1 MiB.
pub(crate) fn bounded<T>(what: &str, bytes: usize, work: impl FnOnce() -> T) -> T {
    bounded_beside(what, 0, bytes, work)
}

/// The same, beside so many bytes that are not the stranger's doing.
pub(crate) fn bounded_beside<T>(what: &str, own: usize, bytes: usize, work: impl FnOnce() -> T) -> T {
    let before = NOW.get();
    PEAK.set(before);
    let result = work();
    let (peak, bound) = ((PEAK.get() - before) as usize, own + 4 * bytes + (1 << 20));
    assert!(peak <= bound, "{what}: {peak} bytes for {bytes}, more than {bound}");
    result
}

/// What the work gives, and how much memory that keeps.
pub(crate) fn kept<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.get();
    let result = work();
    (result, (NOW.get() - before) as usize)
}
