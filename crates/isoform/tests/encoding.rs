//! What leaves the process: by reference where it can, and never what lies in gaps.

use isoform::{Array, Code, Encoder, Record, Ref, Slice, Str, Strided};
use std::mem::MaybeUninit;

#[derive(Record)]
#[repr(C)]
struct Full {
    values: [f64; 100],
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Gappy {
    flag: u8,
    value: u32,
    small: u16,
}

#[derive(Record)]
#[repr(C)]
struct LargeWithGap {
    flag: u8,
    values: [f64; 500],
}

#[derive(Record)]
#[repr(C)]
struct Slotted<'a> {
    flag: u8,
    name: Str<'a>,
    large: Slice<'a, f64>,
    gappy: Slice<'a, Gappy>,
    one: Ref<'a, Gappy>,
    nested: Slice<'a, Nested<'a>>,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Nested<'a> {
    kind: u8,
    name: Str<'a>,
}

/// A record in memory whose every other byte is `filler`.
fn filled<T>(filler: u8, write: impl FnOnce(*mut T)) -> Box<MaybeUninit<T>> {
    let mut place = Box::new(MaybeUninit::<T>::uninit());
    // SAFETY: the memory is writable.
    unsafe { place.as_mut_ptr().write_bytes(filler, 1) };
    write(place.as_mut_ptr());
    place
}

fn gappy(place: *mut Gappy) {
    // SAFETY: called with writable memory. Fields are written one by one, so that gaps stay as they are.
    unsafe {
        (&raw mut (*place).flag).write(1);
        (&raw mut (*place).value).write(0x0202_0202);
        (&raw mut (*place).small).write(0x0303);
    }
}

const GAPPY: [u8; 12] = [1, 0, 0, 0, 2, 2, 2, 2, 3, 3, 0, 0];

#[test]
fn records_without_gaps_go_by_reference() {
    let record = Full { values: [1.5; 100] };
    let mut encoder = Encoder::new();
    for _ in 0..2 {
        let message = encoder.encode(&record).unwrap();
        let [header, body] = message.segments() else { panic!("{message:?}") };
        assert_eq!((header.len(), body.len()), (32, 800));
        assert_eq!(body.as_ptr(), record.values.as_ptr().cast());
        assert_eq!(message.body().collect::<Vec<_>>(), [&**body]);
    }
}

#[test]
fn small_gaps_are_cleared() {
    let record = filled(0xee, gappy);
    // SAFETY: all fields are written.
    let record = unsafe { record.assume_init_ref() };
    let mut encoder = Encoder::new();
    let message = encoder.encode(record).unwrap();
    assert_eq!(message.segments().len(), 1);
    assert_eq!(message.to_vec()[32..], GAPPY);
}

#[test]
fn large_records_go_around_their_gaps() {
    let record = filled(0xee, |place: *mut LargeWithGap| {
        // SAFETY: the memory is writable.
        unsafe {
            (&raw mut (*place).flag).write(1);
            (&raw mut (*place).values).write([2.5; 500]);
        }
    });
    // SAFETY: all fields are written.
    let record = unsafe { record.assume_init_ref() };
    let mut encoder = Encoder::new();
    let message = encoder.encode(record).unwrap();
    let sizes: Vec<usize> = message.segments().iter().map(|segment| segment.len()).collect();
    let gap = align_of::<f64>() - 1;
    assert_eq!(sizes, [32, 1, gap, 4000]);
    assert_eq!(message.segments()[3].as_ptr(), record.values.as_ptr().cast());
    assert_eq!(message.to_vec()[32..36], [1, 0, 0, 0]);
}

#[test]
fn clean_gaps_need_no_detour() {
    let place = filled(0, gappy);
    // SAFETY: all fields are written, and gaps are zeros.
    let record = unsafe { place.assume_init_ref() };
    let mut encoder = Encoder::new();
    // SAFETY: as above.
    let message = unsafe { encoder.encode_clean(record).unwrap() };
    assert_eq!(message.segments()[1].as_ptr(), (&raw const *record).cast());
    assert_eq!(message.to_vec()[32..], GAPPY);
}

#[test]
fn of_records_with_pointers_large_leaves_go_by_reference() {
    let large = vec![0.5; 1000];
    let places: [_; 2] = std::array::from_fn(|_| filled(0xee, gappy));
    // SAFETY: all fields are written.
    let (first, second) = unsafe { (places[0].assume_init_ref(), places[1].assume_init_ref()) };
    let small = [*first, *second];
    let nested = [Nested { kind: 1, name: Str::new(c"one") }, Nested { kind: 2, name: Str::NULL }];
    let record = Slotted {
        flag: 9,
        name: Str::new(c"name"),
        large: Slice::from(&large),
        gappy: Slice::from(&small),
        one: Ref::new(first),
        nested: Slice::from(&nested),
    };
    let mut encoder = Encoder::new();
    let message = encoder.encode(&record).unwrap();
    let [front, leaf, back] = message.segments() else { panic!("{message:?}") };
    assert_eq!(leaf.as_ptr(), large.as_ptr().cast());
    let rounded = (size_of::<Slotted>() + "name".len() + 1).next_multiple_of(8);
    assert_eq!((front.len(), leaf.len()), (32 + rounded, 8000));
    let mut expected = [GAPPY, GAPPY].concat();
    expected.extend(GAPPY);
    assert_eq!(back[..24], expected[..24]);
    assert_eq!(back[24..36], expected[24..]);
    let body = message.to_vec().split_off(32);
    assert_eq!(body[1..size_of::<usize>()], [0; size_of::<usize>() - 1]);
    assert_eq!(Slotted::format().verify(&body).unwrap().bytes().len(), message.len() - 32);
}

#[test]
fn empty_arrays_and_null_pointers_are_null() {
    let record = Slotted {
        flag: 0,
        name: Str::NULL,
        large: Slice::from(&[]),
        gappy: Slice::default(),
        one: Ref::NULL,
        nested: Array::new(&[], [0]).unwrap(),
    };
    let mut encoder = Encoder::new();
    let message = encoder.encode(&record).unwrap();
    assert_eq!(message.to_vec()[32..], [0; size_of::<Slotted>()]);
}

#[test]
fn streams_take_messages_of_many_segments() {
    /// Takes a few bytes at a time.
    struct Slow(Vec<u8>);
    impl std::io::Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let taken = bytes.len().min(700);
            self.0.extend(&bytes[..taken]);
            Ok(taken)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    #[derive(Record, Clone, Copy)]
    #[repr(C)]
    struct Row<'a> {
        cells: Slice<'a, u8>,
    }
    #[derive(Record)]
    #[repr(C)]
    struct Rows<'a> {
        rows: Slice<'a, Row<'a>>,
    }
    let cells: Vec<u8> = (0..=255).cycle().take(1111).collect();
    let rows: Vec<Row<'_>> = (0..100).map(|i| Row { cells: Slice::from(&cells[i % 7..][..1100]) }).collect();
    let mut encoder = Encoder::new();
    let rows = Rows { rows: Slice::from(&rows) };
    let message = encoder.encode(&rows).unwrap();
    assert_eq!(message.segments().len(), 200);
    let mut out = Slow(Vec::new());
    message.write_to(&mut out).unwrap();
    assert_eq!(out.0.len(), message.len().next_multiple_of(16));
    assert_eq!(out.0[..message.len()], message.to_vec());
    assert!(out.0[message.len()..].iter().all(|&byte| byte == 0));
    let mut nothing: &mut [u8] = &mut [];
    assert_eq!(message.write_to(&mut nothing).unwrap_err().code(), Code::Io);
}

#[test]
fn arrays_know_their_shape() {
    let values = [1, 2, 3, 4, 5, 6];
    let error = Array::new(&values, [2, 2]).unwrap_err();
    assert_eq!(error.to_string(), "different array shapes: expected [2, 2] elements, found 6");
    assert!(Array::new(&values, [usize::MAX, 2]).is_err());
    let array = Array::new(&values, [3, 2]).unwrap();
    assert_eq!((array.at([2, 1]), array.at([0, 2]), array.at([3, 0])), (Some(&6), None, None));
    assert_eq!(format!("{array:?}"), "[3, 2][1, 2, 3, 4, 5, 6]");
    let empty = Array::<u8, 2>::new(&[], [0, 7]).unwrap();
    assert_eq!((empty.as_slice(), empty.at([0, 0])), (&[][..], None));
}

#[derive(Record)]
#[repr(C)]
struct Fields<'a> {
    step: i32,
    names: Slice<'a, Str<'a>>,
    rho: Array<'a, f64, 2>,
    parts: Slice<'a, Gappy>,
}

#[test]
fn strided_arrays_are_sent_as_contiguous_ones() {
    let names = [c"a", c"b", c"c"].map(Str::new);
    let matrix: Vec<f64> = (0..10_000).map(f64::from).collect();
    let parts: Vec<Gappy> = (0..9u8).map(|i| Gappy { flag: i, value: i.into(), small: i.into() }).collect();
    let mut encoder = Encoder::<Fields>::new();
    for (rows, columns) in [(100, 50), (3, 2), (0, 4)] {
        // Every second column of the first rows, backwards; the others every second, and every third.
        let start = if rows == 0 { 0 } else { (rows - 1) * 100 };
        let rho = Strided::new(&matrix, start, [rows, columns], [-100, 2]).unwrap();
        let (names_apart, parts_apart) =
            (Strided::new(&names, 0, [2], [2]).unwrap(), Strided::new(&parts, 8, [3], [-3]).unwrap());
        let strided = encoder
            .encode_with(|scratch| {
                let (names, parts) = (scratch.gather(&names_apart)?, scratch.gather(&parts_apart)?);
                Ok(Fields { step: 1, names, rho: scratch.gather(&rho)?, parts })
            })
            .unwrap()
            .to_vec();
        let rho: Vec<f64> =
            (0..rows).rev().flat_map(|row| (0..columns).map(move |column| (100 * row + 2 * column) as f64)).collect();
        let (names, parts) =
            ([names[0], names[2]], [8u8, 5, 2].map(|i| Gappy { flag: i, value: i.into(), small: i.into() }));
        let contiguous = Fields {
            step: 1,
            names: Slice::from(&names),
            rho: Array::new(&rho, [rows, columns]).unwrap(),
            parts: Slice::from(&parts),
        };
        assert_eq!(strided, Encoder::<Fields>::new().encode(&contiguous).unwrap().to_vec());
    }
}
