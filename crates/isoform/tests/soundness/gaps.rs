//! No byte of padding leaves, wherever it is.

use isoform::{Array, Encoder, Enumeration, Record, Ref, Slice, Str};
use std::mem::MaybeUninit;

#[derive(Enumeration, Clone, Copy)]
#[repr(u16)]
enum Kind {
    A = 1,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Inner {
    a: u8,
    b: u64,
    c: [u8; 3],
}

#[derive(Record, Clone, Copy)]
#[repr(C, align(16))]
struct Nested {
    a: bool,
    inner: [[Inner; 2]; 2],
    kind: Kind,
}

#[derive(Record)]
#[repr(C)]
struct Outer<'a> {
    a: u8,
    text: Str<'a>,
    nested: [Nested; 2],
    many: Slice<'a, Nested>,
    b: u8,
    rows: Array<'a, [Inner; 2], 2>,
    one: Ref<'a, Nested>,
    with_slots: Slice<'a, WithSlots<'a>>,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct WithSlots<'a> {
    a: u8,
    inner: Inner,
    one: Ref<'a, [Inner; 2]>,
    b: u8,
}

/// A flat one, large enough to be sent in runs.
#[derive(Record)]
#[repr(C)]
struct Large {
    a: u8,
    inner: Inner,
    values: [u64; 600],
    b: u8,
}

#[derive(Record)]
struct Owning {
    a: u8,
    name: String,
    many: Vec<Inner>,
    b: u8,
    large: Vec<Nested>,
}

/// Writes fields one by one into memory whose every byte is `filler`, so that gaps keep it, or are uninitialised.
fn in_filled<T, R>(count: usize, filler: Option<u8>, write: impl Fn(*mut T), read: impl FnOnce(&[T]) -> R) -> R {
    let mut place: Vec<MaybeUninit<T>> = (0..count).map(|_| MaybeUninit::uninit()).collect();
    let start = place.as_mut_ptr().cast::<T>();
    // SAFETY: `write` writes every field of each of them; nothing needs a drop.
    unsafe {
        if let Some(filler) = filler {
            start.write_bytes(filler, count);
        }
        (0..count).for_each(|i| write(start.add(i)));
        read(std::slice::from_raw_parts(start, count))
    }
}

macro_rules! write_fields {
    ($place:expr, { $($field:ident $([$index:expr])*: $value:expr),* $(,)? }) => {
        // SAFETY: `in_filled` calls with writable memory.
        unsafe { $( (&raw mut (*$place).$field $([$index])*).write($value); )* }
    };
}

fn inner(place: *mut Inner) {
    write_fields!(place, { a: 1, b: 2, c: [3; 3] });
}

fn nested(place: *mut Nested) {
    write_fields!(place, { a: true, kind: Kind::A });
    for i in 0..4 {
        // SAFETY: as above.
        inner(unsafe { &raw mut (*place).inner[i / 2][i % 2] });
    }
}

fn with_slots(place: *mut WithSlots<'_>) {
    write_fields!(place, { a: 4, one: Ref::NULL, b: 5 });
    // SAFETY: as above.
    inner(unsafe { &raw mut (*place).inner });
}

/// The messages of records whose memory had `filler` everywhere.
fn messages(filler: Option<u8>) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let inners = |count, read: &mut dyn FnMut(&[Inner])| in_filled(count, filler, inner, read);
    let nesteds = |count, read: &mut dyn FnMut(&[Nested])| in_filled(count, filler, nested, read);
    inners(8, &mut |inner| {
        nesteds(5, &mut |nested_ones| {
            let (pair, _) = inner.as_chunks::<2>();
            in_filled::<WithSlots<'_>, _>(3, filler, with_slots, |with_slots| {
                let rows = Array::new(pair, [2, 2]).unwrap();
                let (many, with_slots) = (Slice::from(nested_ones), Slice::from(with_slots));
                in_filled::<Outer<'_>, _>(
                    1,
                    filler,
                    |place| {
                        write_fields!(place, {
                            a: 6, text: Str::new(c"text"), many: many, b: 7, rows: rows,
                            one: Ref::new(&nested_ones[0]), with_slots: with_slots,
                        });
                        // SAFETY: as above.
                        (0..2).for_each(|i| nested(unsafe { &raw mut (*place).nested[i] }));
                    },
                    |outer| all.push(Encoder::new().encode(&outer[0]).unwrap().to_vec()),
                );
            });
            all.push(Encoder::new().encode(&nested_ones[0]).unwrap().to_vec());
        });
        all.push(Encoder::new().encode(&inner[0]).unwrap().to_vec());
    });
    let large = |place: *mut Large| {
        write_fields!(place, { a: 8, values: [9; 600], b: 10 });
        // SAFETY: as above.
        inner(unsafe { &raw mut (*place).inner });
    };
    in_filled(1, filler, large, |large| all.push(Encoder::new().encode(&large[0]).unwrap().to_vec()));
    all
}

#[test]
fn what_lay_in_gaps_makes_no_difference() {
    let clean = messages(Some(0));
    for filler in [Some(0xaa), Some(0xff), None] {
        assert!(messages(filler) == clean, "{filler:x?}");
    }
    assert!(clean.iter().all(|message| message[32..].iter().all(|byte| *byte != 0xaa)));
}

#[test]
fn the_twin_of_an_owning_record_has_clean_gaps() {
    let inner = Inner { a: 1, b: 2, c: [3; 3] };
    let nested = Nested { a: true, inner: [[inner; 2]; 2], kind: Kind::A };
    let owning = Owning { a: 11, name: "name".into(), many: vec![inner; 3], b: 12, large: vec![nested; 4] };
    let mut encoder = Encoder::new();
    let first = encoder.encode(&owning).unwrap().to_vec();
    // The memory for twins is used again: another record lay there.
    let other = Owning { a: 0xaa, name: "\u{aa}".repeat(100), many: vec![], b: 0xaa, large: vec![] };
    encoder.encode(&other).unwrap();
    assert!(encoder.encode(&owning).unwrap().to_vec() == first);
    assert!(first[32..].iter().all(|byte| *byte != 0xaa));
}
