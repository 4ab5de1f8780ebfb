//! Native receivers: structs with the fields of `vectors/`, of other types here and there, and with pointers of every
//! kind; and all ways in which a decoder fills them.

use crate::outcome::Outcome;
use isoform::{
    Array, Char, Code, Complex, Decoder, Encoder, Enumeration, F16, F128, Faults, Format, Incoming, Record, Ref, Slice,
    Str, message::Header,
};

/// Reads every byte that a record gives access to, and checks what the compiler takes for granted: it can be sent.
macro_rules! touched {
    ($record:expr, $type:ident) => {{
        let record = $record;
        let bytes = Encoder::<$type>::new().encode(record).expect("what came can be sent").to_vec();
        $type::format().verify(&bytes[32..]).expect("what is sent is right");
        format!("{record:?}")
    }};
}

/// What three ways of decoding make of a body: from where it lies, from where no record could lie, in place.
macro_rules! ways {
    ($type:ident, $decoder:ident, $format:ident, $body:ident, $outcome:ident) => {{
        let mut memory = Aligned::new($body);
        let first = $decoder.decode(&message($format, memory.bytes(0))).map(|record| touched!(record, $type));
        memory.set($body, 3);
        let second = $decoder.decode(&message($format, memory.bytes(3))).map(|record| touched!(record, $type));
        assert_eq!(first, second, "decoded where it lies, and elsewhere");
        for offset in [0, 8] {
            memory.set($body, offset);
            let third = $decoder.decode_in_place($format, memory.bytes(offset)).map(|record| touched!(record, $type));
            assert_eq!(first, third, "decoded, and decoded in place");
        }
        match &first {
            Ok(_) => $outcome.conversions += 1,
            Err(error) => $outcome.misfit(error),
        }
        first
    }};
}

macro_rules! borrowed {
    ($type:ident, $format:ident, $body:ident, $outcome:ident) => {
        for faults in choices($type::format(), $format) {
            let mut decoder = Decoder::<$type>::new().with_faults(faults).with_missing(isoform::Missing::Zero);
            let came = ways!($type, decoder, $format, $body, $outcome);
            if came.is_err_and(|error| is_settled(error.code())) {
                break;
            }
        }
    };
}

macro_rules! flat {
    ($type:ident, $format:ident, $body:ident, $outcome:ident, $before:expr) => {
        for faults in choices($type::format(), $format) {
            let mut decoder = Decoder::<$type>::new().with_faults(faults).with_missing(isoform::Missing::Zero);
            let came = ways!($type, decoder, $format, $body, $outcome);
            let mut place = $before;
            let into = decoder.decode_into(&message($format, $body), &mut place).map(|()| touched!(&place, $type));
            assert_eq!(came, into, "decoded, and decoded into a record that was there");
            let _ = touched!(&place, $type);
            if came.is_err_and(|error| is_settled(error.code())) {
                break;
            }
        }
    };
}

macro_rules! owned {
    ($type:ident, $format:ident, $body:ident, $outcome:ident) => {
        for faults in choices($type::format(), $format) {
            let mut decoder = Decoder::<$type>::new().with_faults(faults).with_missing(isoform::Missing::Zero);
            match decoder.decode_owned(&message($format, $body)) {
                Ok(record) => {
                    let _ = touched!(&record, $type);
                    $outcome.conversions += 1;
                }
                Err(error) => {
                    $outcome.misfit(&error);
                    if is_settled(error.code()) {
                        break;
                    }
                }
            }
        }
    };
}

/// The choices to try. Miri is a thousand times as slow: there it is one, and for records with fields in common only.
fn choices(native: &Format, wire: &Format) -> impl Iterator<Item = Faults> {
    let fits = || wire.structure().fields().iter().any(|field| native.structure().field(&field.name).is_some());
    let count = match cfg!(miri) {
        true => usize::from(fits()),
        false => FAULTS.len(),
    };
    FAULTS.into_iter().take(count)
}

/// Whether this error of a pair of formats comes under every choice for faults.
fn is_settled(code: Code) -> bool {
    matches!(code, Code::NoConversion | Code::Required | Code::Unit)
}

fn message<'a>(format: &'a Format, body: &'a [u8]) -> Incoming<'a> {
    Incoming::new(Header::new(format.token(), body.len() as u64), format, body)
}

/// Memory in which a body can begin at any distance from a multiple of 64.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    fn new(body: &[u8]) -> Aligned {
        let memory = vec![0; body.len() + 128];
        let start = memory.as_ptr().addr().wrapping_neg() % 64;
        let mut aligned = Aligned { memory, start, length: body.len() };
        aligned.set(body, 0);
        aligned
    }

    fn set(&mut self, body: &[u8], offset: usize) {
        self.bytes(offset).copy_from_slice(body);
    }

    fn bytes(&mut self, offset: usize) -> &mut [u8] {
        &mut self.memory[self.start + offset..][..self.length]
    }
}

#[derive(Enumeration, Clone, Copy, Debug, PartialEq)]
#[repr(i8)]
#[allow(non_camel_case_types, reason = "symbols as the vectors have them")]
enum Color {
    red = 0,
    green = 1,
    blue = 4,
}

#[derive(Enumeration, Clone, Copy, Debug, PartialEq)]
#[repr(u16)]
#[allow(non_camel_case_types, reason = "symbols as the vectors have them")]
enum State {
    cold = 1,
    hot = 2,
}

#[derive(Enumeration, Clone, Copy, Debug, PartialEq)]
#[repr(i32)]
#[allow(non_camel_case_types, reason = "symbols as the vectors have them")]
enum Way {
    north = 10,
    east = 20,
    south = 30,
    west = 40,
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Point {
    #[isoform(unit = "m")]
    x: f64,
    y: f32,
    tag: Char,
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Track<'a> {
    name: Str<'a>,
    points: Slice<'a, Point>,
    home: Point,
    pair: [Point; 2],
    notes: Slice<'a, Str<'a>>,
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Fleet<'a> {
    title: Str<'a>,
    lead: Track<'a>,
    tracks: Slice<'a, Track<'a>>,
    #[isoform(alias = "lead.home.x")]
    end: i64,
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Arrays<'a> {
    line: Slice<'a, f64>,
    #[isoform(len("nx", "ny"))]
    grid: Array<'a, f64, 2>,
    flags: Slice<'a, bool>,
    fixed: [f32; 4],
    matrix: Ref<'a, [[f32; 3]; 2]>,
    ids: Slice<'a, u128>,
    #[isoform(alias = "flags")]
    bits: Slice<'a, u8>,
    one: [i16; 1],
    #[isoform(default = 7)]
    spare: u8,
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Strings<'a> {
    name: Str<'a>,
    empty: [Char; 4],
    none: Str<'a>,
    pair: [Str<'a>; 2],
    list: Slice<'a, Str<'a>>,
    code: Str<'a>,
    full: [Char; 5],
    text: Slice<'a, Char>,
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Leaf<'a> {
    k: i64,
    name: Str<'a>,
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Pair<'a> {
    left: Ref<'a, Leaf<'a>>,
    right: Ref<'a, Leaf<'a>>,
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Pointers<'a> {
    leaf: Ref<'a, Leaf<'a>>,
    number: Ref<'a, f64>,
    three: Ref<'a, [f32; 3]>,
    text: Ref<'a, Str<'a>>,
    pair: Pair<'a>,
    pairs: [Pair<'a>; 2],
    big: Ref<'a, i128>,
    list: Slice<'a, Pair<'a>>,
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Enumerations<'a> {
    #[isoform(default = Color::red)]
    color: Color,
    mask: u16,
    path: Slice<'a, Way>,
    pair: [bool; 2],
    #[isoform(alias = "sign")]
    number: i8,
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Wide<'a> {
    half: F16,
    quad: F128,
    complex: Complex<f64>,
    big: u128,
    a: bool,
    b: Slice<'a, F128>,
}

/// Without pointers.
#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Sample {
    #[isoform(required)]
    step: u16,
    #[isoform(unit = "K", default = 273.15)]
    temp: f32,
    #[isoform(default = State::cold)]
    state: State,
    flow: [f64; 4],
    on: bool,
}

/// Of numbers only, of which every value is valid.
#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Numbers {
    #[isoform(alias = "nx")]
    step: i32,
    real: f64,
    flow: [f32; 2],
    fixed: [i64; 3],
    big: i128,
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct OwnedPoint {
    x: f64,
    tag: Char,
}

#[derive(Record, Debug)]
struct OwnedTrack {
    name: Option<String>,
    points: Vec<OwnedPoint>,
    notes: Vec<Option<String>>,
    home: Option<Box<OwnedPoint>>,
}

#[derive(Record, Debug)]
struct OwnedFleet {
    title: String,
    tracks: Vec<OwnedTrack>,
    count: u64,
}

#[derive(Record, Debug)]
struct OwnedPair {
    name: String,
    list: Vec<String>,
    pair: [String; 2],
    flow: Vec<f64>,
    step: i64,
}

/// The formats of all of these.
pub(crate) fn formats() -> Vec<&'static Format> {
    vec![
        Fleet::format(),
        Arrays::format(),
        Strings::format(),
        Pointers::format(),
        Enumerations::format(),
        Wide::format(),
        Sample::format(),
        Numbers::format(),
        OwnedFleet::format(),
        OwnedPair::format(),
    ]
}

pub(crate) const FAULTS: [Faults; 3] = [Faults::Error, Faults::Saturate, Faults::Wrap];

/// Decodes a verified body into every struct, in every way, under every choice for faults.
pub(crate) fn decode(format: &Format, body: &[u8], outcome: &mut Outcome) {
    borrowed!(Fleet, format, body, outcome);
    borrowed!(Arrays, format, body, outcome);
    borrowed!(Strings, format, body, outcome);
    borrowed!(Pointers, format, body, outcome);
    borrowed!(Enumerations, format, body, outcome);
    borrowed!(Wide, format, body, outcome);
    flat!(Sample, format, body, outcome, Sample { step: 1, temp: 1.0, state: State::hot, flow: [1.0; 4], on: true });
    flat!(Numbers, format, body, outcome, Numbers { step: 1, real: 1.0, flow: [1.0; 2], fixed: [1; 3], big: 1 });
    owned!(OwnedFleet, format, body, outcome);
    owned!(OwnedPair, format, body, outcome);
}
