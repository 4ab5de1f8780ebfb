//! What the derives make of declarations: formats and rules.

use isoform::core::declare::Type;
use isoform::core::plan::Fill;
use isoform::core::{Structure, Value};
use isoform::{Array, Bf16, Char, Complex, Enumeration, F16, F128, FieldList, Machine, Record, Ref, Slice, Str};

#[derive(Enumeration, Clone, Copy)]
#[repr(u16)]
enum Colour {
    Red = 3,
    #[isoform(rename = "grün")]
    Green = 700,
}

#[derive(Enumeration, Clone, Copy)]
#[repr(C)]
enum Signed {
    Below = -1,
    Zero,
    Above,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Inner {
    #[isoform(default = -1)]
    flag: i8,
    value: f64,
}

#[derive(Record)]
#[repr(C)]
#[isoform(rename = "all")]
struct All<'a> {
    r#type: i8,
    b: [u16; 3],
    c: [[i128; 2]; 4],
    d: bool,
    e: Char,
    f: Complex<f32>,
    g: F16,
    h: Bf16,
    i: F128,
    j: usize,
    k: Colour,
    l: [Signed; 2],
    m: Inner,
    inner: [Inner; 2],
    o: Str<'a>,
    p: [Str<'a>; 2],
    q: Slice<'a, Inner>,
    #[isoform(rename = "R", unit = "m/s")]
    r: Array<'a, [f32; 3], 2>,
    s: Ref<'a, [f64; 9]>,
    #[isoform(len("nx", "ny"))]
    t: Array<'a, Str<'a>, 2>,
    #[isoform(len = "n")]
    u: Slice<'a, u8>,
}

/// Name, type and unit of each field.
fn fields(structure: &Structure) -> Vec<String> {
    let one = |field: &isoform::core::Field| {
        let unit = field.unit.as_ref().map_or(String::new(), |unit| format!(" in {unit}"));
        format!("{}: {}{unit}", field.name, Type::of(field, structure))
    };
    structure.fields().iter().map(one).collect()
}

#[test]
fn every_type_becomes_a_field() {
    let structure = All::format().structure();
    assert_eq!(
        fields(structure),
        [
            "type: i8",
            "b: u16[3]",
            "c: i128[4][2]",
            "d: bool",
            "e: char",
            "f: complex f32",
            "g: f16",
            "h: bf16",
            "i: f128",
            "j: u64",
            "k: unsigned enumeration(2){Red=3,grün=700}",
            "l: enumeration(4){Below=-1,Zero=0,Above=1}[2]",
            "m: Inner",
            "inner: Inner[2]",
            "o: string",
            "p: string[2]",
            "q: Inner[q_len]",
            "q_len: u64",
            "R: f32[R_dim0][R_dim1][3] in m/s",
            "R_dim0: u64",
            "R_dim1: u64",
            "s: f64[9]*",
            "t: string[nx][ny]",
            "nx: u64",
            "ny: u64",
            "u: u8[n]",
            "n: u64",
        ]
        .map(|line| if size_of::<usize>() == 8 { line.to_string() } else { line.replace("u64", "u32") })
    );
    assert_eq!((structure.name(), structure.machine()), ("all", Machine::NATIVE));
    assert_eq!((structure.size(), structure.align()), (size_of::<All>(), align_of::<All>()));
}

#[test]
fn a_struct_of_rust_and_one_of_c_have_one_format() {
    // struct sample { int32_t step; size_t n; const double *values; };
    #[derive(Record)]
    #[repr(C)]
    #[isoform(rename = "sample")]
    struct Sample<'a> {
        step: i32,
        #[isoform(len = "n")]
        values: Slice<'a, f64>,
    }
    let pointer = size_of::<usize>();
    let c = FieldList::new("sample")
        .field("step", "integer", 4, 0)
        .field("values", "float[n]", 8, pointer)
        .field("n", "unsigned integer", pointer, 2 * pointer)
        .format(Machine::NATIVE, 3 * pointer, pointer)
        .unwrap();
    assert_eq!(Sample::format(), &c);
}

#[test]
fn owned_records_have_the_format_of_what_they_own() {
    #[derive(Record)]
    #[allow(dead_code)]
    struct Owning {
        name: String,
        note: Option<String>,
        #[isoform(len = "n", unit = "K")]
        values: Vec<[f32; 3]>,
        tags: [String; 2],
        parts: Vec<Part>,
        one: Option<Box<Part>>,
        raw: std::ffi::CString,
    }
    #[derive(Record)]
    #[isoform(owned)]
    #[allow(dead_code)]
    struct Part {
        inner: Inner,
        colour: Colour,
    }
    let word = if size_of::<usize>() == 8 { "u64" } else { "u32" };
    assert_eq!(
        fields(Owning::format().structure()),
        [
            "name: string",
            "note: string",
            "values: f32[n][3] in K",
            &format!("n: {word}"),
            "tags: string[2]",
            "parts: Part[parts_len]",
            &format!("parts_len: {word}"),
            "one: Part*",
            "raw: string",
        ]
    );
}

#[test]
fn attributes_become_rules() {
    #[derive(Record)]
    #[repr(C)]
    #[allow(dead_code)]
    struct Receiver<'a> {
        #[isoform(alias = "temperature", alias = "pos.t", default = 293.15)]
        t: f32,
        #[isoform(required)]
        step: i32,
        #[isoform(default = Colour::Green)]
        colour: Colour,
        #[isoform(default = "none")]
        name: Str<'a>,
        #[isoform(default = [1, 2])]
        pair: [u16; 2],
        #[isoform(default = f64::MAX)]
        limit: f64,
        #[isoform(default = b'x')]
        letter: Char,
        #[isoform(default = false)]
        flag: bool,
        parts: Slice<'a, Inner>,
    }
    let rules = Receiver::rules();
    let rule = |field: &str| rules.of("Receiver", field).unwrap().clone();
    assert_eq!(*rule("t").aliases, ["temperature".into(), "pos.t".into()]);
    assert!(rule("step").required && !rule("t").required);
    for (field, value) in [
        ("t", Value::Float(293.15f32.into())),
        ("colour", Value::Integer(700)),
        ("name", Value::String(b"none".to_vec())),
        ("pair", Value::Array(vec![Value::Integer(1), Value::Integer(2)])),
        ("limit", Value::Float(f64::MAX)),
        ("letter", Value::Char(b'x')),
        ("flag", Value::Boolean(false)),
    ] {
        assert_eq!(rule(field).default, Some(Fill::Value(value)), "{field}");
    }
    let nested = rules.of("Inner", "flag").unwrap();
    assert_eq!(nested.default, Some(Fill::Value(Value::Integer(-1))));
}

#[test]
fn encoders_and_decoders_go_to_other_threads() {
    fn sent<T: Send>() {}
    sent::<isoform::Encoder<All<'static>>>();
    sent::<isoform::Decoder<All<'static>>>();
    fn shared<T: Sync + Send>() {}
    shared::<All<'static>>();
}

#[test]
#[should_panic(expected = "two fields of this name")]
fn a_length_that_has_the_name_of_a_field_is_found_when_the_format_is_made() {
    #[derive(Record)]
    #[repr(C)]
    struct Twice<'a> {
        points: Slice<'a, f64>,
        points_len: u64,
    }
    Twice::format();
}
