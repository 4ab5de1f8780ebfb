//! Columns whose values vary in size take no memory for a row but that of its values.
#![cfg(not(miri))]

use isoform::core::{Layout, Shape, value};
use isoform::{Faults, Incoming, Rules, message::Header, text::json};
use isoform_dynamic::columns::Columns;
use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.with(|count| count.set(count.get() + 1));
}

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        count();
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, place: *mut u8, memory: Memory) {
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(place, memory) }
    }

    unsafe fn realloc(&self, place: *mut u8, memory: Memory, size: usize) -> *mut u8 {
        count();
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(place, memory, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_row_takes_no_memory_of_its_own() {
    let shape = "record R\n  text  string\n  n  int\n  at  double[n]\n  step  int";
    let wire = Shape::parse(shape).and_then(|shape| shape.on(&Layout::POWERPC)).unwrap();
    let native = Shape::parse(shape).and_then(|shape| shape.on(&Layout::NATIVE)).unwrap();
    let line = r#"{"text":"Old Mill","at":[0.5,1.5],"step":7}"#;
    let body = value::body(&wire, &json::parse(&wire, line).unwrap()).unwrap();
    let message = Incoming::new(Header::new(wire.token(), body.len() as u64), &wire, &body);
    let mut columns = Columns::new(&native, None, &Rules::new(), Faults::Error).unwrap();
    // The columns grow to so many rows.
    (0..4).for_each(|_| columns.append(&message).unwrap());
    let before = ALLOCATIONS.with(Cell::get);
    (0..1020).for_each(|_| columns.append(&message).unwrap());
    let count = ALLOCATIONS.with(Cell::get) - before;
    // Each of the arrays doubles some eight times.
    assert!(count < 100, "{count} allocations");
    assert_eq!(columns.rows(), 1024);
}
