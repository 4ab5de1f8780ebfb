//! Records of many and long texts, and of fields that the sender lacks: what other shapes have few of.
//!
//! Strings have lengths about those at which code treats them otherwise, and stand in arrays, in place and behind pointers,
//! also within nested records. Fields that the sender lacks are long arrays, and have defaults of any value.

use isoform_core::{Missing, Rules, Shape, Value};
use isoform_testing::PLAIN;
use isoform_testing::mutate::Random;

/// The lengths about which strings are drawn: code treats shorter ones as words, vectors, or leaves them to functions.
const ABOUT: &[usize] = &[0, 8, 16, 32, 64, 128, 256];

/// A field as both declare it; without a declaration of the sender's, the receiver's default.
struct Field {
    name: String,
    types: [Option<String>; 2],
    value: Option<Value>,
}

/// The sender's and the receiver's declaration, a record of the sender's, and the rules of the receiver.
pub(crate) fn wordy(random: &mut Random) -> ([Shape; 2], Value, Rules) {
    let part = random.one_in(2);
    let mut fields = Vec::new();
    for _ in 0..1 + random.below(6) {
        texts(part, random, &mut fields);
        if random.one_in(2) {
            number(random, &mut fields);
        }
    }
    let mut rules = Rules::new().missing(Missing::Zero);
    for _ in 0..random.below(3) {
        rules = lacking(random, &mut fields, rules);
    }
    let record = fields.iter().filter_map(|field| Some((field.name.as_str().into(), field.value.clone()?))).collect();
    let shapes = [0, 1].map(|side| declared(part, &fields, side));
    (shapes, Value::Record(record), rules)
}

fn declared(part: bool, fields: &[Field], side: usize) -> Shape {
    let mut text = String::new();
    if part {
        text += "record Part\n  k  i16\n  s  string\n  x  f32[3]\n  t  string\n";
    }
    text += "record Wordy\n";
    for field in fields {
        if let Some(words) = &field.types[side] {
            text += &format!("  {}  {words}\n", field.name);
        }
    }
    Shape::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn text(random: &mut Random) -> Value {
    let about = random.of_these(ABOUT).unwrap_or(0) + random.below(5);
    match random.below(12) {
        0 => Value::Null,
        _ => Value::String((0..about.saturating_sub(2)).map(|_| 1 + random.byte() % 255).collect()),
    }
}

/// One string, or an array of strings or of records that contain some.
fn texts(part: bool, random: &mut Random, fields: &mut Vec<Field>) {
    let name = format!("t{}", fields.len());
    let nested = part && random.one_in(2);
    let word = if nested { "Part" } else { "string" };
    let element = |random: &mut Random| match nested {
        false => text(random),
        true => Value::Record(vec![
            ("k".into(), Value::Integer(i128::from(random.byte()))),
            ("s".into(), text(random)),
            ("x".into(), Value::Array(vec![Value::Float(0.5); 3])),
            ("t".into(), text(random)),
        ]),
    };
    let count = random.of_these(&[1, 2, 4, 5, 9, 20]).unwrap_or(1);
    let both = |words: String| [Some(words.clone()), Some(words)];
    match random.below(3) {
        0 => {
            let value = element(random);
            fields.push(Field { name, types: both(word.into()), value: Some(value) });
        }
        1 => {
            let value = Value::Array((0..count).map(|_| element(random)).collect());
            fields.push(Field { name, types: both(format!("{word}[{count}]")), value: Some(value) });
        }
        _ => {
            let count = if random.one_in(5) { 0 } else { count };
            let length = format!("l{}", fields.len());
            let value = Value::Array((0..count).map(|_| element(random)).collect());
            let words = |random: &mut Random| random.of_these(&["u8", "i16", "u32", "i64"]).map(String::from);
            fields.push(Field { name, types: both(format!("{word}[{length}]")), value: Some(value) });
            fields.push(Field { name: length, types: [words(random), words(random)], value: None });
        }
    }
}

fn number(random: &mut Random, fields: &mut Vec<Field>) {
    let mut word = || random.of_these(PLAIN).map(String::from);
    let first = word();
    let types = [first.clone(), if random.one_in(3) { random.of_these(PLAIN).map(String::from) } else { first }];
    fields.push(Field { name: format!("n{}", fields.len()), types, value: None });
}

/// A field that the sender lacks: zeros, or a default that is none.
fn lacking(random: &mut Random, fields: &mut Vec<Field>, rules: Rules) -> Rules {
    let name = format!("m{}", fields.len());
    let count = random.of_these(&[1, 3, 17, 40, 300]).unwrap_or(1);
    let (word, one) = match random.below(3) {
        0 => ("f64", Value::Float(0.1)),
        1 => ("u16", Value::Integer(0xabcd)),
        _ => ("i8", Value::Integer(-7)),
    };
    let words = if count == 1 { word.to_string() } else { format!("{word}[{count}]") };
    let at = random.below(fields.len() + 1);
    fields.insert(at, Field { name: name.clone(), types: [None, Some(words)], value: None });
    match random.below(3) {
        0 => rules,
        _ if count == 1 => rules.default("Wordy", &name, one),
        _ => rules.default("Wordy", &name, Value::Array(vec![one; count])),
    }
}
