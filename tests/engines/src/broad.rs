//! Records of many numbers and long arrays, as two programs may declare them: what code is generated for most, and what
//! random shapes rarely have.

use isoform_core::{Shape, Value};
use isoform_testing::mutate::Random;
use isoform_testing::{NUMBERS, PLAIN};

/// The numbers of the benchmark's record of many, in turn.
const IN_TURN: &[&str] = &["i32", "f64", "i16", "f32", "i64"];
const LENGTHS: &[&str] = &["i16", "u16", "i32", "u32", "i64", "u64"];

/// What an array has elements of besides: whatever an enumeration is declared as, it has as many numbers as are zero.
const SYMBOLS: &[&str] = &[
    "enumeration(1){a=0,b=1,c=127}",
    "enumeration(8){a=-1,b=0,c=5}",
    "unsigned enumeration(8){b=0,a=18446744073709551615}",
    "unsigned enumeration(4){a=0,c=4294967295,b=77}",
    "i64",
    "u64",
    "i8",
    "u32",
];

/// A field as the sender and the receiver declare it.
struct Field {
    name: String,
    types: [String; 2],
    /// What a record has of it, if its zero does not do.
    value: Option<Value>,
}

/// The sender's and the receiver's declaration, and a record of the sender's in which all numbers are zero.
pub(crate) fn broad(random: &mut Random) -> ([Shape; 2], Value) {
    let (mut fields, mut part) = (Vec::new(), Vec::new());
    let changing = random.of_these(&[usize::MAX, 40, 12, 3]).unwrap_or(3);
    match random.below(3) {
        0 => numbers(20 + random.below(81), changing, random, &mut fields),
        1 => (0..1 + random.below(4)).for_each(|_| arrays(&[], changing, random, &mut fields)),
        _ => {
            numbers(1 + random.below(8), changing, random, &mut part);
            numbers(random.below(12), changing, random, &mut fields);
            (0..1 + random.below(3)).for_each(|_| arrays(&["Part"], changing, random, &mut fields));
        }
    }
    let record = fields.iter().filter_map(|field| Some((field.name.as_str().into(), field.value.clone()?))).collect();
    let sender = declared(&part, &fields, 0);
    if random.one_in(2) {
        rearrange(&mut fields, random);
        rearrange(&mut part, random);
    }
    ([sender, declared(&part, &fields, 1)], Value::Record(record))
}

fn declared(part: &[Field], fields: &[Field], side: usize) -> Shape {
    let mut text = String::new();
    for (name, fields) in [("Part", part), ("Broad", fields)] {
        if !fields.is_empty() {
            text += &format!("record {name}\n");
            fields.iter().for_each(|field| text += &format!("  {}  {}\n", field.name, field.types[side]));
        }
    }
    Shape::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Two words, which differ once in so many times.
fn words(known: &[&str], changing: usize, random: &mut Random) -> [String; 2] {
    let word = |random: &mut Random| random.of_these(known).unwrap_or("i32");
    let first = word(random);
    let second = if changing < usize::MAX && random.one_in(changing) { word(random) } else { first };
    [first.into(), second.into()]
}

fn numbers(count: usize, changing: usize, random: &mut Random, fields: &mut Vec<Field>) {
    let in_turn = random.one_in(2);
    for index in 0..count {
        let known = if in_turn { &IN_TURN[index % IN_TURN.len()..][..1] } else { PLAIN };
        let mut types = words(known, changing, random);
        if in_turn && changing < usize::MAX && random.one_in(changing) {
            types[1] = words(PLAIN, changing, random)[0].clone();
        }
        fields.push(Field { name: format!("n{index}"), types, value: None });
    }
}

/// An array of numbers or of `parts`, in place or with a length of its own; sometimes a string in front of it.
fn arrays(parts: &[&str], changing: usize, random: &mut Random, fields: &mut Vec<Field>) {
    let index = fields.len();
    if random.one_in(4) {
        let text = Value::String(vec![b'x'; random.below(60)]);
        fields.push(Field { name: format!("s{index}"), types: ["string".into(), "string".into()], value: Some(text) });
    }
    let known = match random.below(4) {
        _ if !parts.is_empty() => parts,
        0 => &NUMBERS,
        1 => SYMBOLS,
        _ => PLAIN,
    };
    let types = words(known, changing, random);
    let longest = if parts.is_empty() { 600 } else { 60 };
    let count = random.below(longest) / random.of_these(&[1, 1, 10]).unwrap_or(1);
    let of = |length: &str| types.clone().map(|word| format!("{word}[{length}]"));
    let name = format!("a{index}");
    if random.one_in(2) {
        fields.push(Field { name, types: of(&count.max(1).to_string()), value: None });
        return;
    }
    let value = match types[0].as_str() {
        "char" => Value::String(vec![b'x'; count]),
        "bool" => Value::Array(vec![Value::Boolean(true); count]),
        "boolean(2)" | "boolean(4)" | "boolean(8)" => Value::Array(vec![Value::Boolean(true); count]),
        "Part" => Value::Array(vec![Value::Record(Vec::new()); count]),
        complex if complex.starts_with("complex") => {
            Value::Array(vec![Value::Complex(Box::new([Value::Integer(0), Value::Integer(0)])); count])
        }
        _ => Value::Array(vec![Value::Integer(0); count]),
    };
    let length = format!("l{index}");
    fields.push(Field { name, types: of(&length), value: Some(value) });
    fields.push(Field { name: length, types: words(LENGTHS, changing, random), value: None });
}

/// Another order, and now and then one number less and one more.
fn rearrange(fields: &mut [Field], random: &mut Random) {
    for index in 0..fields.len() {
        let other = random.below(fields.len());
        fields.swap(index, other);
    }
    let number = |field: &Field| field.name.starts_with('n');
    if random.one_in(2) && fields.iter().filter(|field| number(field)).count() > 1 {
        let at = fields.iter().position(number).unwrap_or_default();
        fields[at].name = "added".into();
    }
}
