//! Records of types known here, out of whatever comes: all that they point at is read, and sent again.
//!
//! Their fields have the names of those in the vectors, so that what is seeded from there is often close.

use crate::refusal;
use isoform::{
    Array, Complex, Decoder, Encoder, Enumeration, Error, F16, F128, Faults, Format, Incoming, Owned, Record, Ref,
    Slice, Str, message::Header,
};
use std::fmt::Debug;

#[derive(Enumeration, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum State {
    #[isoform(rename = "cold")]
    Cold = 3,
    #[isoform(rename = "hot")]
    Hot = 7,
}

/// Of the feature `evolve`.
#[derive(Record, Clone, Debug, PartialEq)]
struct Sample {
    #[isoform(alias = "name")]
    station: Option<String>,
    #[isoform(required)]
    step: i16,
    #[isoform(unit = "K", default = -1.5)]
    temp: f32,
    #[isoform(default = State::Cold)]
    state: State,
    flow: Vec<f32>,
    #[isoform(alias = "where.lat")]
    lat: f64,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Point {
    tag: u8,
    x: f32,
    y: f64,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Track<'a> {
    points: Slice<'a, Point>,
    name: Str<'a>,
    home: Point,
    pair: [Point; 3],
    notes: Slice<'a, Str<'a>>,
}

/// Of the feature `nested`.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Fleet<'a> {
    tracks: Slice<'a, Track<'a>>,
    lead: Track<'a>,
    end: i64,
    title: Str<'a>,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Leaf<'a> {
    name: Str<'a>,
    k: i32,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Pair<'a> {
    left: Ref<'a, Leaf<'a>>,
    right: Ref<'a, Leaf<'a>>,
}

/// Of the feature `pointers`.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Pointers<'a> {
    list: Slice<'a, Pair<'a>>,
    leaf: Leaf<'a>,
    number: Ref<'a, f64>,
    three: Ref<'a, [f64; 3]>,
    text: Ref<'a, Str<'a>>,
    texts: Ref<'a, [Str<'a>; 2]>,
    pairs: [Pair<'a>; 2],
    big: Ref<'a, i128>,
}

/// Of the features `arrays` and `wide`.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Arrays<'a> {
    grid: Array<'a, f32, 2>,
    slab: Slice<'a, [[i32; 2]; 2]>,
    line: Slice<'a, f64>,
    fixed: [f32; 4],
    flags: Slice<'a, bool>,
    ids: Slice<'a, u16>,
    bigs: Slice<'a, i64>,
    halfs: Slice<'a, F16>,
    quads: Slice<'a, F128>,
    zs: Slice<'a, Complex<f64>>,
    path: Slice<'a, State>,
}

/// Of the feature `scalars`.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Scalars {
    tiny: i8,
    byte: u64,
    plain: f64,
    ularge: f32,
    real: i32,
    yes: bool,
    yes4: bool,
    letter: u8,
    state: State,
}

/// Decodes a body, which need not be a valid one, into all of them.
pub(crate) fn check(wire: &Format, body: &[u8], faults: Faults) {
    owned::<Sample>(wire, body, faults);
    borrowed::<Fleet<'static>>(wire, body, faults);
    borrowed::<Pointers<'static>>(wire, body, faults);
    borrowed::<Arrays<'static>>(wire, body, faults);
    borrowed::<Scalars>(wire, body, faults);
    into_place(wire, body, faults);
}

fn message<'a>(wire: &'a Format, body: &'a [u8]) -> Incoming<'a> {
    Incoming::new(Header::new(wire.token(), body.len() as u64), wire, body)
}

fn decoder<T: Record>(faults: Faults) -> Decoder<T> {
    Decoder::new().with_faults(faults).with_missing(isoform::Missing::Zero)
}

/// Decodes in every way there is for a record that borrows; the results are the same.
fn borrowed<T>(wire: &Format, body: &[u8], faults: Faults)
where
    T: Record<Static = T> + 'static,
    for<'a> T::Native<'a>: Record<Static = T> + Debug,
{
    let mut first = decoder::<T>(faults);
    let record = first.decode(&message(wire, body));
    let text = record.as_ref().map(|record| format!("{record:?}")).map_err(Error::clone);

    let mut memory = Memory::of(body);
    let mut second = decoder::<T>(faults);
    let in_place = second.decode_in_place(wire, memory.bytes()).map(|record| format!("{record:?}"));
    assert_eq!(text, in_place);

    match record {
        Err(error) => refusal(&error),
        Ok(record) => assert_eq!(sent_again::<T, _>(record), text),
    }
}

/// What a record is received as once it has been sent.
fn sent_again<T, R>(record: &R) -> Result<String, Error>
where
    T: Record<Static = T> + 'static,
    for<'a> T::Native<'a>: Debug,
    R: Record<Static = T>,
{
    let bytes = Encoder::<T>::new().encode(record)?.to_vec();
    let body = &bytes[isoform::message::HEADER..];
    let mut decoder = Decoder::<T>::new();
    decoder.decode(&message(T::format(), body)).map(|record| format!("{record:?}"))
}

fn owned<T>(wire: &Format, body: &[u8], faults: Faults)
where
    T: Debug + Owned + for<'a> Record<Native<'a> = <T as Owned>::Native<'a>>,
{
    match decoder::<T>(faults).decode_owned(&message(wire, body)) {
        Err(error) => refusal(&error),
        Ok(record) => {
            let mut encoder = Encoder::<T::Static>::new();
            let bytes = encoder.encode(&record).expect("what was received can be sent").to_vec();
            let body = &bytes[isoform::message::HEADER..];
            T::format().verify(body).expect("what was sent is valid");
        }
    }
}

fn into_place(wire: &Format, body: &[u8], faults: Faults) {
    let mut record = Scalars {
        tiny: -1,
        byte: 2,
        plain: 0.5,
        ularge: 0.25,
        real: 3,
        yes: true,
        yes4: false,
        letter: b'x',
        state: State::Hot,
    };
    let came = decoder::<Scalars>(faults).decode(&message(wire, body)).copied();
    let done = decoder::<Scalars>(faults).decode_into(&message(wire, body), &mut record);
    // Whatever became of it, every field is a value of its type.
    let text = format!("{record:?}");
    match (came, done) {
        (Ok(came), Ok(())) => assert_eq!(format!("{came:?}"), text),
        (came, done) => assert_eq!(came.map(|_| ()), done),
    }
}

/// Bytes that begin at a multiple of 16.
struct Memory(Vec<u8>, usize, usize);

impl Memory {
    fn of(bytes: &[u8]) -> Memory {
        let mut memory = vec![0; bytes.len() + 16];
        let start = memory.as_ptr().addr().wrapping_neg() % 16;
        memory[start..][..bytes.len()].copy_from_slice(bytes);
        Memory(memory, start, bytes.len())
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.0[self.1..][..self.2]
    }
}
