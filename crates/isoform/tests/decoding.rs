//! What arrives: in place where it can, else converted, and refused where it must be.

use isoform::core::{Layout, Shape, Value, value};
use isoform::{
    Array, Code, Decoder, Encoder, Enumeration, Faults, Format, Incoming, Limits, Missing, Record, Ref, Registry,
    Slice, Str, message::Header,
};

#[derive(Enumeration, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Phase {
    Solid = 1,
    Liquid = 2,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Sample {
    step: i64,
    rho: [f64; 2],
    phase: Phase,
    valid: bool,
}

const SAMPLE: Sample = Sample { step: -5, rho: [0.5, 1.5], phase: Phase::Liquid, valid: true };

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Cell<'a> {
    name: Str<'a>,
    density: f64,
}

#[derive(Record, Debug, PartialEq)]
#[repr(C)]
struct State<'a> {
    cells: Slice<'a, Cell<'a>>,
    grid: Array<'a, [f32; 3], 2>,
    origin: Ref<'a, Cell<'a>>,
    names: [Str<'a>; 2],
    flags: Slice<'a, bool>,
}

/// Calls `check` with a state that lives long enough.
fn with_state(check: impl FnOnce(&State<'_>)) {
    let cells = [Cell { name: Str::new(c"a"), density: 1.0 }, Cell { name: Str::NULL, density: 2.0 }];
    let origin = Cell { name: Str::new(c""), density: 0.0 };
    let grid = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    check(&State {
        cells: Slice::from(&cells),
        grid: Array::new(&grid, [1, 2]).unwrap(),
        origin: Ref::new(&origin),
        names: [Str::NULL, Str::new(c"second")],
        flags: Slice::from(&[true, false, true]),
    });
}

fn message<'a>(format: &'a Format, body: &'a [u8]) -> Incoming<'a> {
    Incoming::new(Header::new(format.token(), body.len() as u64), format, body)
}

/// `bytes` at a distance of `offset` from a multiple of 64.
struct Aligned(Vec<u128>, usize, usize);

impl Aligned {
    fn new(bytes: &[u8], offset: usize) -> Aligned {
        let mut memory = vec![0u128; bytes.len() / 16 + 10];
        let start = memory.as_ptr().addr().wrapping_neg() % 64 + offset;
        // SAFETY: every byte of a `u128` may be any.
        let all = unsafe { memory.align_to_mut::<u8>().1 };
        all[start..][..bytes.len()].copy_from_slice(bytes);
        Aligned(memory, start, bytes.len())
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { &mut self.0.align_to_mut::<u8>().1[self.1..][..self.2] }
    }
}

fn body_of<R: Record>(record: &R) -> Vec<u8> {
    Encoder::<R::Static>::new().encode(record).unwrap().to_vec().split_off(32)
}

#[test]
fn a_record_of_the_same_layout_is_used_where_it_was_received() {
    let mut memory = Aligned::new(&body_of(&SAMPLE), 0);
    let body = &*memory.bytes();
    let mut decoder = Decoder::<Sample>::new();
    let came = decoder.decode(&message(Sample::format(), body)).unwrap();
    assert_eq!(came, &SAMPLE);
    assert_eq!((&raw const *came).cast(), body.as_ptr());
    assert_eq!(decoder.copied(), 0);
}

#[test]
fn a_record_at_an_odd_address_is_copied() {
    for offset in 1..align_of::<Sample>() {
        let mut memory = Aligned::new(&body_of(&SAMPLE), offset);
        let mut decoder = Decoder::<Sample>::new();
        assert_eq!(decoder.decode(&message(Sample::format(), memory.bytes())).unwrap(), &SAMPLE);
        assert_eq!(decoder.copied(), size_of::<Sample>() as u64);
    }
}

#[test]
fn fields_that_the_sender_has_appended_cost_nothing() {
    #[derive(Record)]
    #[repr(C)]
    #[isoform(rename = "Sample")]
    struct Longer {
        step: i64,
        rho: [f64; 2],
        phase: Phase,
        valid: bool,
        more: [i32; 3],
    }
    let Sample { step, rho, phase, valid } = SAMPLE;
    let mut memory = Aligned::new(&body_of(&Longer { step, rho, phase, valid, more: [7; 3] }), 16);
    let mut decoder = Decoder::<Sample>::new();
    assert_eq!(decoder.decode(&message(Longer::format(), memory.bytes())).unwrap(), &SAMPLE);
    assert_eq!(decoder.copied(), 0);
}

#[test]
fn pointers_are_placed_in_the_message_itself() {
    with_state(|state| {
        let mut encoder = Encoder::new();
        let message = encoder.encode(state).unwrap().to_vec();
        let mut decoder = Decoder::<State>::new();
        let mut memory = Aligned::new(&message[32..], 16);
        let came = decoder.decode_in_place(State::format(), memory.bytes()).unwrap();
        assert_eq!(came, state);
        assert_eq!((came.grid.dims(), came.grid.at([0, 1])), ([1, 2], Some(&[4.0, 5.0, 6.0])));
        assert_eq!(came.origin.get().unwrap().name.to_c_str(), Some(c""));
        assert_eq!(decoder.copied(), 0);

        let mut memory = Aligned::new(&message[32..], 8);
        assert_eq!(decoder.decode_in_place(State::format(), memory.bytes()).unwrap(), state);
        assert_eq!(decoder.copied(), message.len() as u64 - 32);
    });
}

#[test]
fn what_was_decoded_can_be_sent_on() {
    with_state(|state| {
        let mut encoder = Encoder::new();
        let bytes = encoder.encode(state).unwrap().to_vec();
        let mut decoder = Decoder::<State>::new();
        let came = decoder.decode(&message(State::format(), &bytes[32..])).unwrap();
        assert_eq!(encoder.encode(came).unwrap().to_vec(), bytes);
    });
}

fn layouts() -> impl Iterator<Item = Layout> {
    Layout::ALL.iter().copied().step_by(if cfg!(miri) { 4 } else { 1 })
}

/// A state and a sample as a machine with another layout sends them.
fn foreign(shape: Shape, layout: &Layout, record: Vec<(&str, Value)>) -> (Format, Vec<u8>) {
    let format = shape.on(layout).unwrap();
    let record = record.into_iter().map(|(name, value)| (name.into(), value)).collect();
    let body = value::body(&format, &Value::Record(record)).unwrap();
    (format, body)
}

fn foreign_sample(layout: &Layout) -> (Format, Vec<u8>) {
    let phase = "enumeration{Liquid,Gas,Solid}";
    let shape = Shape::new("Sample").field("phase", phase).field("rho", "float[n]").field("n", "int");
    let rho = Value::Array(vec![Value::Float(0.5), Value::Float(1.5)]);
    let record = vec![
        ("phase", Value::Symbol("Solid".into())),
        ("rho", rho),
        ("step", Value::Integer(-5)),
        ("valid", Value::Boolean(true)),
    ];
    foreign(shape.field("step", "int").field("valid", "boolean(4)"), layout, record)
}

#[test]
fn samples_of_every_machine_are_converted() {
    let expected = Sample { phase: Phase::Solid, ..SAMPLE };
    for layout in layouts() {
        let (format, body) = foreign_sample(&layout);
        let mut decoder = Decoder::<Sample>::new();
        for _ in 0..2 {
            assert_eq!(decoder.decode(&message(&format, &body)).unwrap(), &expected, "{}", layout.name);
            assert_eq!(decoder.decode_owned(&message(&format, &body)).unwrap(), expected);
            let mut place = SAMPLE;
            decoder.decode_into(&message(&format, &body), &mut place).unwrap();
            assert_eq!(place, expected);
        }
    }
}

#[test]
fn states_of_every_machine_are_converted() {
    for layout in layouts() {
        let cell = Shape::new("Cell").field("density", "float").field("name", "string");
        let shape = Shape::new("State")
            .nested(cell)
            .field("flags", "boolean[3]")
            .field("n", "int")
            .field("cells", "Cell[n]")
            .field("nx", "long")
            .field("grid", "double[nx][2][3]");
        let cell = |density: f64, name: Value| {
            Value::Record(vec![("density".into(), Value::Float(density)), ("name".into(), name)])
        };
        let cells = vec![cell(1.0, Value::String(b"a".to_vec())), cell(2.0, Value::Null)];
        let row = |start: i32| Value::Array((start..start + 3).map(|i| Value::Float(i.into())).collect());
        let flags = [true, false, true].map(Value::Boolean);
        let (format, body) = foreign(
            shape,
            &layout,
            vec![
                ("flags", Value::Array(flags.into())),
                ("cells", Value::Array(cells)),
                ("grid", Value::Array(vec![Value::Array(vec![row(1), row(4)])])),
            ],
        );
        let mut decoder = Decoder::<State>::new().with_missing(Missing::Zero);
        let mut body = body;
        for in_place in [false, true] {
            let came = match in_place {
                false => decoder.decode(&message(&format, &body)).unwrap(),
                true => decoder.decode_in_place(&format, &mut body).unwrap(),
            };
            with_state(|state| {
                assert_eq!(
                    (came.cells, came.grid, came.flags),
                    (state.cells, state.grid, state.flags),
                    "{}",
                    layout.name
                );
            });
            assert_eq!((came.origin.get(), came.names), (None, [Str::NULL; 2]));
        }
    }
}

#[test]
fn fields_are_matched_by_rename_and_alias_and_get_defaults() {
    #[derive(Record, Debug, PartialEq)]
    #[repr(C)]
    #[isoform(rename = "r")]
    struct Receiver<'a> {
        #[isoform(rename = "temp", alias = "temperature", default = 293.15)]
        t: f64,
        #[isoform(default = "unnamed")]
        name: Str<'a>,
        #[isoform(required)]
        step: i32,
        #[isoform(default = Phase::Liquid)]
        phase: Phase,
        #[isoform(default)]
        values: Slice<'a, f64>,
    }
    let mut decoder = Decoder::<Receiver>::new();
    let mut decode = |shape: Shape, record: Vec<(&str, Value)>, check: &dyn Fn(isoform::Result<&Receiver<'_>>)| {
        let (format, body) = foreign(shape, &Layout::POWERPC, record);
        check(decoder.decode(&message(&format, &body)));
    };
    let shape = || Shape::new("r").field("step", "short");
    decode(shape(), vec![("step", Value::Integer(3))], &|came| {
        let came = came.unwrap();
        assert_eq!((came.t, came.name.to_str().unwrap(), came.step), (293.15, "unnamed", 3));
        assert_eq!((came.phase, came.values.len()), (Phase::Liquid, 0));
    });
    let step = ("step", Value::Integer(3));
    decode(shape().field("temperature", "float"), vec![("temperature", Value::Float(1.5)), step.clone()], &|came| {
        assert_eq!(came.unwrap().t, 1.5);
    });
    decode(shape().field("temp", "double"), vec![("temp", Value::Float(2.5)), step], &|came| {
        assert_eq!(came.unwrap().t, 2.5);
    });
    decode(Shape::new("r").field("temp", "double"), vec![("temp", Value::Float(2.5))], &|came| {
        let error = came.unwrap_err();
        assert_eq!((error.code(), error.path()), (Code::Required, "step"));
    });
}

#[test]
fn fields_without_a_default_must_come_unless_they_are_options() {
    #[derive(Record, Debug, PartialEq)]
    struct Owned {
        time: i64,
        remark: Option<String>,
        near: Option<Box<Phased>>,
        #[isoform(default)]
        names: Vec<String>,
        #[isoform(default)]
        text: String,
    }
    #[derive(Record, Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct Phased {
        phase: Phase,
    }
    #[derive(Record)]
    #[repr(C)]
    struct Strict<'a> {
        time: i64,
        name: Str<'a>,
        values: Slice<'a, f64>,
        near: Ref<'a, Phased>,
        at: Spot,
    }
    #[derive(Record, Clone, Copy)]
    #[repr(C)]
    struct Spot {
        x: f32,
    }
    let (format, body) =
        foreign(Shape::new("Alarm").field("time", "int"), &Layout::S390X, vec![("time", Value::Integer(7))]);
    let came = Decoder::<Owned>::new().decode_owned(&message(&format, &body)).unwrap();
    assert_eq!(came, Owned { time: 7, remark: None, near: None, names: Vec::new(), text: String::new() });
    let mut decoder = Decoder::<Strict>::new();
    let error = decoder.decode(&message(&format, &body)).map(|came| came.time).unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::Required, "name"));
    let words = error.expectation();
    assert!(
        words.starts_with("a default, or in the receiving program the option missing = zero, for name (string), values (f64[]), at.x (f32)")
    );
    let mut decoder = decoder.with_missing(Missing::Zero);
    let came = decoder.decode(&message(&format, &body)).unwrap();
    assert_eq!((came.time, came.name, came.values.len()), (7, Str::NULL, 0));
}

#[test]
fn numbers_that_do_not_fit_are_refused_unless_the_receiver_chooses() {
    #[derive(Record, Clone, Debug, PartialEq)]
    #[repr(C)]
    struct Small {
        a: i8,
        b: u16,
    }
    let shape = || Shape::new("Small").field("a", "int").field("b", "int");
    let record = vec![("a", Value::Integer(1000)), ("b", Value::Integer(-1))];
    let (format, body) = foreign(shape(), &Layout::S390X, record);
    let mut place = Small { a: 1, b: 2 };
    let mut decoder = Decoder::<Small>::new();
    let error = decoder.decode_into(&message(&format, &body), &mut place).unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::Overflow, "a"));
    for (faults, expected) in
        [(Faults::Saturate, Small { a: 127, b: 0 }), (Faults::Wrap, Small { a: -24, b: u16::MAX })]
    {
        let mut decoder = Decoder::<Small>::new().with_faults(faults);
        decoder.decode_into(&message(&format, &body), &mut place).unwrap();
        assert_eq!(place, expected);
        assert_eq!(decoder.decode_owned(&message(&format, &body)).unwrap(), expected);
    }
}

#[test]
fn bytes_that_are_no_record_are_refused() {
    let good = body_of(&SAMPLE);
    let mut decoder = Decoder::<Sample>::new();
    let mut fault = |body: &[u8]| {
        let error = decoder.decode(&message(Sample::format(), body)).unwrap_err();
        (error.code(), error.path().to_string())
    };
    let changed = |at: usize, to: u8| {
        let mut body = good.clone();
        body[at] = to;
        body
    };
    assert_eq!(fault(&changed(24, 0)), (Code::Symbol, "phase".into()));
    assert_eq!(fault(&changed(25, 2)), (Code::Boolean, "valid".into()));
    assert_eq!(fault(&good[1..]).0, Code::BodyLength);
    assert_eq!(fault(&[&good[..], &[0]].concat()).0, Code::BodyLength);
    with_state(|state| {
        let mut encoder = Encoder::new();
        let good = encoder.encode(state).unwrap().to_vec();
        let mut decoder = Decoder::<State>::new();
        let step = if cfg!(miri) { 7 } else { 1 };
        for at in (32..good.len()).step_by(step) {
            let mut bad = good.clone();
            bad[at] ^= 0x41;
            // Whatever comes of it is a state, or an error.
            if let Ok(state) = decoder.decode(&message(State::format(), &bad[32..])) {
                let _ = format!("{state:?}");
            }
            let _ = decoder.decode_in_place(State::format(), &mut bad[32..]).map(|state| format!("{state:?}"));
        }
    });
}

#[test]
fn owned_records_say_where_they_cannot_be_made() {
    #[derive(Record, Debug, PartialEq, Default)]
    struct Tagged {
        tags: Vec<Tag>,
        pair: [String; 2],
        note: Option<String>,
        more: Option<Box<Tag>>,
        rows: Vec<[[f64; 2]; 2]>,
        names: Vec<Option<String>>,
    }
    #[derive(Record, Debug, PartialEq, Default)]
    struct Tag {
        text: String,
    }
    let tag = |text: &str| Tag { text: text.into() };
    let tagged = Tagged {
        tags: vec![tag("a"), tag("b")],
        pair: ["c".into(), "d".into()],
        note: None,
        more: Some(Box::new(tag("e"))),
        rows: vec![[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]],
        names: vec![Some("f".into()), None],
    };
    let mut encoder = Encoder::new();
    let bytes = encoder.encode(&tagged).unwrap().to_vec();
    let mut decoder = Decoder::<Tagged>::new();
    assert_eq!(decoder.decode_owned(&message(Tagged::format(), &bytes[32..])).unwrap(), tagged);
    let empty = Tagged::default();
    let bytes_of_empty = encoder.encode(&empty).unwrap().to_vec();
    assert_eq!(decoder.decode_owned(&message(Tagged::format(), &bytes_of_empty[32..])).unwrap(), empty);

    let at = bytes.windows(2).position(|pair| pair == b"b\0").unwrap();
    let mut wrong = bytes.clone();
    wrong[at] = 0xff;
    let error = decoder.decode_owned(&message(Tagged::format(), &wrong[32..])).unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::Utf8, "tags[1].text"));

    let error = encoder.encode(&Tagged { pair: ["".into(), "nul\0".into()], ..Default::default() }).unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::BadRecord, "pair[1]"));
    let tags = vec![tag(""), tag("\0")];
    let error = encoder.encode(&Tagged { tags, ..Default::default() }).unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::BadRecord, "tags[1].text"));
}

#[test]
fn messages_are_parsed_from_bytes() {
    let bytes = Encoder::new().encode(&SAMPLE).unwrap().to_vec();
    let mut registry = Registry::new();
    let shared = registry.clone();
    let mut code = |bytes: &[u8]| Incoming::parse(bytes, &mut registry).map(|it| it.token()).map_err(|e| e.code());
    assert_eq!(code(&bytes), Err(Code::UnknownFormat));
    shared.register(Sample::format()).unwrap();
    assert_eq!(code(&bytes), Ok(Sample::format().token()));
    assert_eq!(code(&bytes[..bytes.len() - 1]), Err(Code::Cut));
    assert_eq!(code(&bytes[..31]), Err(Code::Cut));
    assert_eq!(code(&bytes[1..]), Err(Code::NotAMessage));
    let description = Header::new(isoform::Token::ZERO, 0).to_bytes();
    assert_eq!(code(&description), Err(Code::WrongType));
    let mut strict = Registry::within(Limits { message: 23, ..Limits::default() });
    strict.register(Sample::format()).unwrap();
    assert_eq!(Incoming::parse(&bytes, &mut strict).unwrap_err().code(), Code::MessageSize);
    let message = Incoming::parse(&bytes, &mut registry).unwrap();
    assert_eq!(message.view().unwrap().f64("rho[1]").unwrap(), 1.5);
}
