//! Bodies that are kept: the same bytes as a message has, however long they are wanted, and without copying what is large.

use isoform::{Aligned, Code, Decoder, Encoder, Record, Ref, Shared, Slice, Str, message::HEADER};
use std::sync::Arc;

#[derive(Record, Debug, PartialEq)]
#[repr(C)]
struct Full {
    values: [f64; 100],
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Gappy {
    flag: u8,
    value: u32,
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
    last: Slice<'a, u32>,
}

#[derive(Record, Debug, PartialEq, Default)]
struct Owned {
    name: String,
    values: Vec<f64>,
    other: Option<String>,
    parts: Vec<Part>,
    one: Option<Box<Part>>,
    last: Vec<u32>,
}

#[derive(Record, Debug, PartialEq)]
struct Part {
    name: String,
    level: i32,
}

static NUMBERS: [f64; 300] = [0.5; 300];
static GAPPY: [Gappy; 300] = [Gappy { flag: 1, value: 2 }; 300];
static LAST: [u32; 256] = [7; 256];

fn slotted() -> Slotted<'static> {
    let (large, gappy, last) = (Slice::from(&NUMBERS), Slice::from(&GAPPY), Slice::from(&LAST));
    Slotted { flag: 1, name: Str::new(c"name"), large, gappy, one: Ref::new(&GAPPY[0]), last }
}

fn owned(text: usize) -> Owned {
    let part = |level| Part { name: format!("part {level}"), level };
    Owned {
        name: "n".repeat(text),
        values: vec![0.5; 128],
        other: None,
        parts: (0..5).map(part).collect(),
        one: Some(Box::new(part(77))),
        last: (0..1000).collect(),
    }
}

/// Checks a record's shared body against its message, and returns the body, whose encoder has gone on to others.
fn share<R: Record<Static = R> + Send + Sync + 'static>(make: impl Fn() -> R) -> Shared {
    let expected = Encoder::<R>::new().encode(&make()).unwrap().to_vec().split_off(HEADER);
    let mut encoder = Encoder::<R>::new();
    encoder.encode(&make()).unwrap();
    let kept: Vec<Shared> = (0..2).map(|_| encoder.encode_shared(Arc::new(make())).unwrap()).collect();
    assert_eq!(encoder.encode(&make()).unwrap().to_vec()[HEADER..], expected);
    drop(encoder);
    for shared in &kept {
        assert_eq!((shared.len(), shared.format()), (expected.len(), R::format()));
        assert!(shared.body().all(|piece| !piece.is_empty()));
        let other = shared.clone();
        let body = std::thread::spawn(move || other.body().collect::<Vec<_>>().concat()).join().unwrap();
        assert_eq!(body, expected);
        for step in if cfg!(miri) { [1000].as_slice() } else { &[1, 1000, 4096, 65536] } {
            let starts = (0..expected.len()).step_by(*step);
            let parts = starts.map(|start| start..expected.len().min(start + step));
            let bytes: Vec<u8> = parts.flat_map(|part| shared.pieces(part).collect::<Vec<_>>().concat()).collect();
            assert_eq!(bytes, expected);
        }
    }
    kept.into_iter().next_back().unwrap()
}

#[test]
fn small_records_are_one_piece_in_its_place() {
    for shared in [share(|| Full { values: [1.5; 100] }), share(|| Gappy { flag: 1, value: 2 })] {
        assert_eq!(shared.contiguous().unwrap().len(), shared.len());
    }
    let record = Arc::new(Full { values: [1.5; 100] });
    let shared = Encoder::new().encode_shared(Arc::clone(&record)).unwrap();
    let mut decoder = Decoder::<Full>::new();
    let decoded = decoder.decode(&shared.incoming().unwrap()).unwrap();
    assert!(std::ptr::eq(decoded, &*record));
    assert!(std::ptr::eq(shared.record::<Full>().unwrap(), &*record));
    assert!(shared.record::<Gappy>().is_none());
}

#[test]
fn gaps_are_copied_so_that_they_are_aligned_and_zeros() {
    let shared = share(|| Gappy { flag: 1, value: 2 });
    assert_eq!(shared.contiguous().unwrap(), [[1, 0, 0, 0], 2u32.to_ne_bytes()].concat());
    let mut decoder = Decoder::<Gappy>::new();
    assert_eq!(decoder.decode(&shared.incoming().unwrap()).unwrap(), &Gappy { flag: 1, value: 2 });
    assert_eq!(decoder.copied(), 0);
}

#[test]
fn large_records_go_around_their_gaps() {
    let shared = share(|| LargeWithGap { flag: 1, values: [2.5; 500] });
    assert_eq!(shared.body().map(<[u8]>::len).collect::<Vec<_>>(), [1, align_of::<f64>() - 1, 4000]);
    let record = shared.record::<LargeWithGap>().unwrap();
    assert_eq!(shared.body().last().unwrap().as_ptr(), record.values.as_ptr().cast());
    assert!(shared.contiguous().is_none() && shared.incoming().is_none());
}

#[test]
fn large_parts_stay_where_they_are() {
    let shared = share(slotted);
    let places: Vec<*const u8> = shared.body().map(<[u8]>::as_ptr).collect();
    assert_eq!((places.len(), places[1], places[3]), (4, NUMBERS.as_ptr().cast(), LAST.as_ptr().cast()));

    for text in if cfg!(miri) { &[100, 1023][..] } else { &[0, 100, 1023, 5000] } {
        let shared = share(|| owned(*text));
        let record = shared.record::<Owned>().unwrap();
        for place in [record.values.as_ptr().cast(), record.last.as_ptr().cast::<u8>()] {
            assert!(shared.body().any(|piece| piece.as_ptr() == place), "{text}");
        }
        let longest = shared.body().map(<[u8]>::len).max().unwrap();
        assert_eq!(longest, (*text + 1).max(4000), "a long string is a piece of its own");
    }
}

#[test]
fn the_record_lives_as_long_as_its_body() {
    let record = Arc::new(owned(1100));
    let mut encoder = Encoder::new();
    let shared = encoder.encode_shared(Arc::clone(&record)).unwrap();
    let clone = shared.clone();
    assert_eq!(Arc::strong_count(&record), 2);
    drop((shared, encoder));
    assert!(Arc::strong_count(&record) == 2 && clone.record::<Owned>() == Some(&*record));
    drop(clone);
    assert_eq!(Arc::strong_count(&record), 1);
}

#[test]
fn what_cannot_be_encoded_leaves_the_encoder_as_it_was() {
    let mut encoder = Encoder::<Owned>::new();
    let bad = || Owned { one: Some(Box::new(Part { name: "a\0b".into(), level: 0 })), ..owned(1100) };
    for _ in 0..2 {
        assert_eq!(encoder.encode_shared(Arc::new(bad())).unwrap_err().code(), Code::BadRecord);
        let good = encoder.encode_shared(Arc::new(owned(10))).unwrap();
        assert_eq!(good.body().collect::<Vec<_>>().concat(), encoder.encode(&owned(10)).unwrap().to_vec()[HEADER..]);
    }
}

#[test]
fn bodies_that_are_there_already() {
    let body = [1u8, 0, 0, 0, 2, 0, 0, 0];
    let shared = Shared::of_body(Gappy::format(), Aligned::from(&body[..])).unwrap();
    assert_eq!((shared.contiguous().unwrap(), shared.len()), (&body[..], 8));
    assert_eq!(shared.pieces(3..5).collect::<Vec<_>>(), [[0, 2]]);
    assert_eq!(shared.pieces(8..8).count(), 0);
    assert!(shared.record::<Gappy>().is_none());
    let error = Shared::of_body(Gappy::format(), Aligned::from(&body[..7])).unwrap_err();
    assert_eq!(error.to_string(), "wrong body length at Gappy: expected at least 8 bytes, found 7");

    let record = slotted();
    let mut encoder = Encoder::new();
    let message = encoder.encode(&record).unwrap();
    let shared = message.to_shared().unwrap();
    assert_eq!(shared.contiguous().unwrap(), message.body().collect::<Vec<_>>().concat());
    assert_eq!((shared.len(), shared.token()), (message.body_len(), message.token()));
}

#[test]
#[should_panic = "5..9 of a body of 8 bytes"]
fn a_range_beyond_the_body() {
    let _ = Shared::of_body(Gappy::format(), Aligned::from(&[0; 8][..])).unwrap().pieces(5..9).count();
}
