//! Declarations that the derive may not have been thought of for, and implementations by hand of what is safe to implement.

use super::{Aligned, message};
use isoform::{
    Array, Char, Code, Complex, Decoder, Encoder, Enumeration, Error, F128, Owned, Record, Ref, Result, Shared, Slice,
    Str,
};
use std::cell::Cell;
use std::sync::Arc;

/// Names that the derive also uses, or that a prelude has.
mod names {
    // No `Option`, `Result`, `Clone` and so on of the prelude.
    #![allow(dead_code, non_camel_case_types, unused_macros)]
    use isoform::Enumeration as Derived;

    macro_rules! stringify {
        ($($anything:tt)*) => {
            compile_error!("the standard library's was meant")
        };
    }

    pub(super) struct Option;
    pub(super) struct Result;
    pub(super) struct Clone;
    pub(super) struct Ok;
    pub(super) struct Vec;
    type i128 = f32;

    mod core {}
    mod std {}

    #[derive(isoform::Record)]
    #[repr(C)]
    pub(super) struct Record<'a> {
        pub(super) text: isoform::Str<'a>,
        pub(super) many: isoform::Slice<'a, Native>,
        pub(super) r#type: Element,
    }

    #[derive(isoform::Record, Debug, PartialEq)]
    #[repr(C)]
    pub(super) struct Native {
        pub(super) fields: u8,
        pub(super) record: [u16; SIZE],
        pub(super) rules: bool,
    }

    const SIZE: usize = 2;
    const ELEMENT: usize = 0;

    #[derive(Derived, Debug, PartialEq)]
    #[repr(C)]
    pub(super) enum Element {
        None = 0,
        Some = -1,
        Ok = 7,
    }

    /// A type that is named like another one's hidden twin.
    #[derive(isoform::Record, Debug, PartialEq)]
    #[repr(C)]
    pub(super) struct tryNative {
        pub(super) a: u8,
    }

    #[derive(isoform::Record, Debug, PartialEq)]
    pub(super) struct r#try {
        pub(super) native: tryNative,
        pub(super) scratch: String,
    }
}

fn sent<T: Record<Static = T> + 'static>(record: &T) -> Vec<u8> {
    Encoder::<T>::new().encode(record).unwrap().to_vec().split_off(32)
}

#[test]
fn names_of_the_prelude_and_of_the_library_are_the_users_too() {
    let many = [names::Native { fields: 1, record: [2, 3], rules: true }];
    let record = names::Record { text: Str::new(c"text"), many: Slice::from(&many), r#type: names::Element::Some };
    let mut encoder = Encoder::new();
    let body = encoder.encode(&record).unwrap().to_vec().split_off(32);
    let mut decoder = Decoder::<names::Record>::new();
    let came = decoder.decode(&message(names::Record::format(), &body)).unwrap();
    assert_eq!((came.text, &came.many[..], &came.r#type), (record.text, &many[..], &names::Element::Some));
    assert_eq!(names::Record::format().structure().fields().last().unwrap().name, "type".into());
    let owned = names::r#try { native: names::tryNative { a: 1 }, scratch: "x".into() };
    let body = sent(&owned);
    assert_eq!(Decoder::<names::r#try>::new().decode_owned(&message(names::r#try::format(), &body)).unwrap(), owned);
}

/// A type whose name is what a macro says.
macro_rules! declare {
    ($name:ident { $($field:ident: $type:ty = $value:expr),* }) => {
        #[derive(Record, Debug, PartialEq, Clone, Copy)]
        #[repr(C)]
        struct $name<'x> { $($field: $type,)* other: Str<'x> }
        impl $name<'_> {
            fn value() -> Self { $name { $($field: $value,)* other: Str::NULL } }
        }
    };
}

macro_rules! number {
    ($bits:expr) => {
        [[u8; $bits / 8]; 2]
    };
}

declare!(Made { a: number!(24) = [[1, 2, 3], [4, 5, 6]], b: f32 = 0.5, c: [bool; 1] = [true] });

#[test]
fn fields_may_be_made_by_macros() {
    let mut encoder = Encoder::new();
    let made = Made::value();
    let body = encoder.encode(&made).unwrap().to_vec().split_off(32);
    assert_eq!(Decoder::<Made>::new().decode(&message(Made::format(), &body)).unwrap(), &made);
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C, packed)]
struct Packed {
    a: u8,
    b: u64,
    c: u128,
}

#[derive(Record, Clone, Copy)]
#[repr(C, packed(2))]
struct PackedSlots<'a> {
    a: u8,
    text: Str<'a>,
    packed: Slice<'a, Packed>,
    b: u8,
    one: Ref<'a, [Packed; 2]>,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
struct Huge {
    a: u8,
    b: [Sixteen; 2],
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
struct Sixteen {
    a: u8,
    b: F128,
    c: Complex<F128>,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C, align(32))]
struct HugeSlots<'a> {
    text: Str<'a>,
    sixteen: Slice<'a, Sixteen>,
    huge: Huge,
    bits: Slice<'a, u128>,
}

const SIXTEEN: Sixteen = Sixteen { a: 1, b: F128(2), c: Complex { re: F128(3), im: F128(4) } };
const HUGE: Huge = Huge { a: 5, b: [SIXTEEN; 2] };

#[test]
fn packed_records_are_read_at_any_address() {
    let packed = [Packed { a: 1, b: 2, c: 3 }, Packed { a: 4, b: 5, c: 6 }];
    let slots =
        PackedSlots { a: 7, text: Str::new(c"text"), packed: Slice::from(&packed), b: 8, one: Ref::new(&packed) };
    let mut encoder = Encoder::new();
    let body = encoder.encode(&slots).unwrap().to_vec().split_off(32);
    for offset in [0, 1, 2, 8, 16] {
        let check = |came: &PackedSlots<'_>| {
            let PackedSlots { a, text, packed: many, b, one } = *came;
            assert_eq!((a, text.to_bytes(), &many[..], b, one.get()), (7, &b"text"[..], &packed[..], 8, Some(&packed)));
        };
        let mut body = Aligned::new(&body, offset);
        let mut decoder = Decoder::<PackedSlots>::new();
        check(decoder.decode(&message(PackedSlots::format(), body.bytes())).unwrap());
        check(decoder.decode_in_place(PackedSlots::format(), body.bytes()).unwrap());
        let single = sent(&packed[0]);
        let mut single = Aligned::new(&single, offset);
        let mut decoder = Decoder::<Packed>::new();
        assert_eq!(decoder.decode(&message(Packed::format(), single.bytes())).unwrap(), &packed[0]);
        assert_eq!(decoder.copied(), 0);
    }
}

#[test]
fn records_are_as_aligned_as_their_types_ask() {
    let sixteen = [SIXTEEN; 3];
    let bits = [1, 2, 3];
    let slots =
        HugeSlots { text: Str::new(c"a"), sixteen: Slice::from(&sixteen), huge: HUGE, bits: Slice::from(&bits) };
    let mut encoder = Encoder::new();
    let body = encoder.encode(&slots).unwrap().to_vec().split_off(32);
    let huge = sent(&HUGE);
    for offset in [0, 1, 8, 16, 32, 48] {
        let mut body = Aligned::new(&body, offset);
        let mut decoder = Decoder::<HugeSlots>::new();
        assert_eq!(decoder.decode(&message(HugeSlots::format(), body.bytes())).unwrap(), &slots);
        let came = decoder.decode_in_place(HugeSlots::format(), body.bytes()).unwrap();
        assert_eq!(came, &slots);
        assert_eq!((&raw const *came).addr() % 64, 0);
        assert_eq!(came.sixteen.as_ptr().addr() % 16, 0);
        assert_eq!(came.bits.as_ptr().addr() % 16, 0);
        let mut huge = Aligned::new(&huge, offset);
        let mut decoder = Decoder::<Huge>::new();
        assert_eq!(decoder.decode(&message(Huge::format(), huge.bytes())).unwrap(), &HUGE);
        assert_eq!(decoder.decode_in_place(Huge::format(), huge.bytes()).unwrap(), &HUGE);
        let mut place = Huge { a: 0, ..HUGE };
        decoder.decode_into(&message(Huge::format(), huge.bytes()), &mut place).unwrap();
        assert_eq!(place, HUGE);
    }
}

#[test]
fn arrays_without_elements_or_dimensions_have_none() {
    assert!(Array::<u64, 0>::default().is_empty());
    assert!(Array::<u64, 1>::default().is_empty() && Array::<u64, 3>::default().is_empty());
    assert_eq!(Array::<u64, 0>::default().at([]), None);
    assert_eq!(Array::new(&[1u64], []).unwrap_err().code(), Code::Shape);
    assert!(Array::<u64, 0>::new(&[], []).unwrap().is_empty());
    // Nothing of no size, but very many.
    let nothing = vec![(); usize::MAX];
    let slice = Slice::from(&nothing);
    assert_eq!((slice.len(), slice.at([usize::MAX - 1])), (usize::MAX, Some(&())));
    assert_eq!(Array::new(&nothing, [usize::MAX, 2]).unwrap_err().code(), Code::Shape);
    assert_eq!(Array::new(&nothing, [usize::MAX, 0]).unwrap_err().code(), Code::Shape);
    assert_eq!(Array::<u8, 2>::new(&[], [usize::MAX, 0]).unwrap().len(), 0);
    assert_eq!(Array::<u8, 3>::new(&[], [usize::MAX, 3, 0]).unwrap().at([1, 1, 0]), None);
    // What is borrowed need not be sendable.
    let cell = [Cell::new(1)];
    let (slice, one) = (Slice::from(&cell), Ref::new(&cell[0]));
    cell[0].set(2);
    slice[0].set(slice[0].get() + 1);
    one.get().unwrap().set(one.get().unwrap().get() + 1);
    assert_eq!(cell[0].get(), 4);
}

/// Implemented by hand, and badly.
#[derive(Debug, PartialEq)]
struct Meters(f64);

thread_local!(static LOWERED: Cell<usize> = const { Cell::new(0) });

impl Owned for Meters {
    type Native<'a> = f64;

    fn lower<'a>(&'a self, _: &'a isoform::derive::Scratch) -> Result<f64> {
        if self.0 < 0.0 { Err(Error::new(Code::BadRecord)) } else { Ok(self.0) }
    }

    fn raise(native: &f64) -> Result<Meters> {
        Ok(Meters(*native))
    }

    /// As many as it likes.
    fn lower_all<'a>(_: &'a [Meters], scratch: &'a isoform::derive::Scratch) -> Result<&'a [f64]> {
        let count = LOWERED.get();
        (0..count).try_for_each(|i| scratch.put(i as u64).map(|_| ()))?;
        Ok(&[1.0, 2.0, 3.0, 4.0, 5.0][..count])
    }
}

#[derive(Record, Debug, PartialEq)]
struct Path {
    parts: Vec<[Meters; 2]>,
    pair: [Meters; 2],
    one: Option<Box<Meters>>,
    names: Vec<[String; 2]>,
}

/// A record that gives out another one's memory.
struct Other<'x>(&'x Packed);

impl<'x> Record for Other<'x> {
    type Native<'a>
        = Packed
    where
        Self: 'a;
    type Static = Other<'static>;

    fn format() -> &'static isoform::Format {
        Huge::format()
    }

    fn rules() -> isoform::Rules {
        isoform::Rules::new()
    }

    fn native<'a>(&'a self, scratch: &'a isoform::derive::Scratch) -> Result<&'a Packed> {
        let copy = scratch.put(*self.0)?;
        Ok(if copy.a == 1 { copy } else { self.0 })
    }
}

#[test]
fn safe_traits_may_be_implemented_by_hand() {
    let path = Path {
        parts: vec![[Meters(1.0), Meters(2.0)], [Meters(3.0), Meters(4.0)]],
        pair: [Meters(1.0), Meters(2.0)],
        one: Some(Box::new(Meters(1.0))),
        names: vec![["a".into(), "b".into()], ["c".into(), "d".into()]],
    };
    let mut encoder = Encoder::new();
    let mut decoder = Decoder::<Path>::new();
    for count in 0..=5 {
        LOWERED.set(count);
        let body = encoder.encode(&path).unwrap().to_vec().split_off(32);
        let came = decoder.decode_owned(&message(Path::format(), &body)).unwrap();
        assert_eq!((came.parts.len(), came.one.is_some(), &came.names), (count / 2, count > 0, &path.names));
        let bad = Path { pair: [Meters(0.0), Meters(-1.0)], parts: vec![], one: None, names: vec![] };
        assert_eq!(encoder.encode(&bad).unwrap_err().path(), "pair[1]");
    }

    static PACKED: [Packed; 2] = [Packed { a: 1, b: 2, c: 3 }, Packed { a: 4, b: 5, c: 6 }];
    let packed = PACKED;
    let mut encoder = Encoder::<Other<'static>>::new();
    assert_eq!(encoder.format(), Packed::format());
    for packed in &packed {
        let body = encoder.encode(&Other(packed)).unwrap().to_vec().split_off(32);
        let mut decoder = Decoder::<Other>::new();
        assert_eq!(decoder.decode(&message(Packed::format(), &body)).unwrap(), packed);
    }
    // What is kept stays, be it in the encoder's memory, which goes on to others, or elsewhere.
    let kept: Vec<Shared> =
        PACKED.iter().map(|packed| encoder.encode_shared(Arc::new(Other(packed))).unwrap()).collect();
    for i in 0..3 {
        encoder.encode_shared(Arc::new(Other(&PACKED[i % 2]))).unwrap();
        encoder.encode(&Other(&packed[i % 2])).unwrap();
    }
    drop(encoder);
    for (shared, packed) in kept.iter().zip(&packed) {
        let mut decoder = Decoder::<Other>::new();
        assert_eq!(decoder.decode(&shared.incoming().unwrap()).unwrap(), packed);
    }
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Deep<'a> {
    names: Slice<'a, [[Str<'a>; 2]; 2]>,
    rows: Slice<'a, Row<'a>>,
    chars: Array<'a, [Char; 3], 2>,
    one: Ref<'a, [Row<'a>; 2]>,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Row<'a> {
    kind: Kind,
    cells: Slice<'a, [Kind; 3]>,
    name: Ref<'a, Str<'a>>,
    fixed: [Ref_<'a>; 2],
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Ref_<'a> {
    a: u8,
    to: Ref<'a, u16>,
}

#[derive(Enumeration, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Kind {
    A = 3,
    B = 200,
}

#[test]
fn borrowed_records_are_swapped_shared_and_sent_on() {
    let (text, number) = (Str::new(c"name"), 7);
    let to = Ref_ { a: 1, to: Ref::new(&number) };
    let kinds = [[Kind::A, Kind::B, Kind::A]; 2];
    let row = Row { kind: Kind::B, cells: Slice::from(&kinds), name: Ref::new(&text), fixed: [to, to] };
    let (rows, chars) = ([row; 2], [[Char(1), Char(2), Char(3)]; 4]);
    let names = [[[text, Str::NULL], [Str::new(c""), text]]; 2];
    let deep = Deep {
        names: Slice::from(&names),
        rows: Slice::from(&rows),
        chars: Array::new(&chars, [2, 2]).unwrap(),
        one: Ref::new(&rows),
    };
    let mut encoder = Encoder::new();
    let body = encoder.encode(&deep).unwrap().to_vec().split_off(32);
    let (mut first, mut second) = (Decoder::<Deep>::new(), Decoder::<Deep>::new());
    let came = message(Deep::format(), &body);
    let (mut a, mut b) = (*first.decode(&came).unwrap(), *second.decode(&came).unwrap());
    std::mem::swap(&mut a, &mut b);
    assert_eq!((a, b), (deep, deep));
    // What was decoded is encoded again, in other threads, while it is read in this one.
    let mut encoder = Encoder::<Deep>::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..2).map(|_| scope.spawn(|| Encoder::new().encode(&a).unwrap().to_vec().split_off(32))).collect();
        assert_eq!(a.rows[1], row);
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), body));
        let message = encoder.encode(&b).unwrap();
        let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        let other = scope.spawn(move || message.body().map(sum).sum::<u64>());
        assert_eq!(other.join().unwrap(), sum(&body));
    });
    // In place, and then again: its slots are addresses now, which are no offsets.
    let mut body = Aligned::new(&body, 0);
    let mut decoder = Decoder::<Deep>::new();
    assert_eq!(decoder.decode_in_place(Deep::format(), body.bytes()).unwrap(), &deep);
    assert_eq!(decoder.decode_in_place(Deep::format(), body.bytes()).unwrap_err().code(), Code::Slot);
    let (mut one, mut other) = (Decoder::<Deep>::new(), decoder);
    std::mem::swap(&mut one, &mut other);
    assert_eq!(one.decode(&message(Deep::format(), body.bytes())).unwrap_err().code(), Code::Slot);
}
