//! Random shapes: records of every type, nested, in arrays, behind pointers.

use isoform_core::declare::{Kind, Length, Type, Width};
use isoform_core::{FloatKind, Layout, Shape};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;

/// The words of all numbers that a field can hold.
pub static NUMBERS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let words = |kind: FloatKind| {
        kind.slots().iter().map(move |slot| match (slot.word, kind.slots().len()) {
            (Some(word), _) => word.to_string(),
            (None, 1) => kind.word().to_string(),
            (None, _) => format!("{}({})", kind.word(), slot.size),
        })
    };
    let floats = FloatKind::ALL.into_iter().flat_map(words).chain(["long double".to_string()]);
    let with_complex = floats.flat_map(|word| [format!("complex {word}"), word]);
    INTEGERS.iter().copied().chain(with_complex.map(|word| &*word.leak())).collect()
});

/// The words of those that are no floats.
const INTEGERS: &[&str] = &[
    "char",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "long",
    "unsigned long",
    "size_t",
    "bool",
    "boolean(2)",
    "boolean(4)",
    "boolean(8)",
];

/// The words of those that every processor computes with: what generated code converts by itself.
pub const PLAIN: &[&str] = &["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "bool", "char"];

/// Any shape: up to four records of up to six fields, each of any type. It can be laid out on every layout.
pub fn any_shape() -> impl Strategy<Value = Shape> {
    shapes_of(&NUMBERS)
}

/// Shapes whose numbers are written with these words, of which at least one must be an integer of at most 8 bytes.
/// There are strings, enumerations, arrays of all sorts, and nested records besides.
pub fn shapes_of(numbers: &'static [&'static str]) -> impl Strategy<Value = Shape> {
    vec(record(numbers), 1..=4).prop_map(assemble)
}

/// What is drawn for one record; names are made unique, and references resolved, when all records are there.
#[derive(Clone, Debug)]
struct Record {
    name: String,
    packed: bool,
    fields: Vec<Drawn>,
}

#[derive(Clone, Debug)]
struct Drawn {
    name: String,
    what: What,
    dims: Vec<Dim>,
    pointer: bool,
    unit: Option<String>,
}

#[derive(Clone, Debug)]
enum What {
    /// A kind that stands for itself.
    Known(Kind),
    /// One of the records before.
    Nested(Index),
}

#[derive(Clone, Debug)]
enum Dim {
    Fixed(usize),
    /// One of the fields that can be a length.
    Field(Index),
}

fn record(numbers: &'static [&'static str]) -> impl Strategy<Value = Record> {
    let packed = prop::bool::weighted(0.1);
    (name(), packed, vec(field(numbers), 1..=6)).prop_map(|(name, packed, fields)| Record { name, packed, fields })
}

fn field(numbers: &'static [&'static str]) -> impl Strategy<Value = Drawn> {
    let number = select(numbers).prop_map(|words| What::Known(words.parse::<Type>().expect("a type").kind));
    let what = prop_oneof![
        8 => number,
        2 => Just(What::Known(Kind::String)),
        1 => enumeration().prop_map(What::Known),
        3 => any::<Index>().prop_map(What::Nested),
    ];
    let dim = prop_oneof![1 => (1usize..=4).prop_map(Dim::Fixed), 1 => any::<Index>().prop_map(Dim::Field)];
    let dims = prop_oneof![4 => Just(Vec::new()), 3 => vec(dim.clone(), 1), 1 => vec(dim, 2..=3)];
    let unit = prop::option::weighted(0.1, select(&["m", "m/s", "%", "\"", "\\ °C = ]"][..]).prop_map(String::from));
    (name(), what, dims, prop::bool::weighted(0.15), unit).prop_map(|(name, what, dims, pointer, unit)| Drawn {
        name,
        what,
        dims,
        pointer,
        unit,
    })
}

/// Mostly plain names, sometimes one that a careless parser would stumble over.
fn name() -> impl Strategy<Value = String> {
    let odd = &["record", "packed", "float", "unit", "7", "a-b", "x(3)", "\"", "#", "größe", "\\", "struct", "char"];
    prop_oneof![6 => "[a-z]{1,3}", 1 => select(&odd[..]).prop_map(String::from)]
}

fn enumeration() -> impl Strategy<Value = Kind> {
    (any::<bool>(), select(&[1u8, 2, 4, 8][..])).prop_flat_map(|(signed, size)| {
        let bits = u32::from(size) * 8;
        let (low, high) =
            if signed { (-1i128 << (bits - 1), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
        let value = prop_oneof![4 => 0..=high.min(5), 1 => low..=high, 1 => select(vec![low, high, low + 1, high - 1])];
        let many = (0..=high.min(30)).collect();
        let values = prop_oneof![6 => prop::collection::btree_set(value, 1..=4), 1 => Just(many)];
        values.prop_map(move |values: BTreeSet<i128>| {
            let symbol = |value: &i128| (format!("s{}", value.unsigned_abs()).into_boxed_str(), *value);
            let symbols: BTreeMap<Box<str>, i128> = values.iter().map(symbol).collect();
            Kind::Enumeration { signed, width: Width::Bytes(size), symbols: symbols.into_iter().collect() }
        })
    })
}

fn assemble(records: Vec<Record>) -> Shape {
    let mut names = HashSet::new();
    let mut shapes: Vec<Shape> = Vec::new();
    for record in records {
        let name = unique(record.name, &mut names);
        let shape = assemble_record(&name, record.fields, &shapes);
        shapes.push(if record.packed { shape.packed() } else { shape });
    }
    shapes.pop().expect("at least one record")
}

fn assemble_record(name: &str, drawn: Vec<Drawn>, known: &[Shape]) -> Shape {
    let mut names = HashSet::new();
    let mut drawn: Vec<Drawn> =
        drawn.into_iter().map(|field| Drawn { name: unique(field.name, &mut names), ..field }).collect();
    let mut lengths: Vec<Box<str>> =
        drawn.iter().filter(|field| can_be_length(field)).map(|f| (*f.name).into()).collect();
    if lengths.is_empty() && drawn.iter().any(|field| field.dims.iter().any(|dim| matches!(dim, Dim::Field(_)))) {
        let length = unique("n".into(), &mut names);
        lengths.push((*length).into());
        let what = What::Known(Kind::Integer { signed: true, width: Width::Bytes(4) });
        drawn.push(Drawn { name: length, what, dims: Vec::new(), pointer: false, unit: None });
    }
    let mut shape = Shape::new(name);
    for field in drawn {
        let kind = match field.what {
            What::Known(kind) => kind,
            What::Nested(_) if known.is_empty() => Kind::Char,
            What::Nested(index) => {
                let inner = index.get(known);
                shape = shape.nested(inner.clone());
                Kind::Structure(inner.name().into())
            }
        };
        let dims = field.dims.iter().map(|dim| match dim {
            Dim::Fixed(n) => Length::Fixed(*n),
            Dim::Field(index) => Length::Field(index.get(&lengths).clone()),
        });
        let mut words = Type { kind, dims: dims.collect(), pointer: false };
        if bytes(&words, known) > LARGE {
            words.dims = words.dims.into_iter().filter(|dim| matches!(dim, Length::Field(_))).take(1).collect();
        }
        words.pointer = !words.is_indirect() && (field.pointer || bytes(&words, known) > LARGE);
        shape = shape.field(field.name, &words.to_string());
        shape = field.unit.into_iter().fold(shape, Shape::unit);
    }
    shape
}

/// An array of nested records that would be larger than this loses its dimensions, a nested record goes behind a pointer.
const LARGE: usize = 2000;

/// About how many bytes the elements of a nested field take, leaving dynamic dimensions out; 0 for others.
fn bytes(words: &Type, known: &[Shape]) -> usize {
    let Kind::Structure(name) = &words.kind else { return 0 };
    let inner = known.iter().find(|shape| shape.name() == &**name);
    let size = inner.map_or(0, |shape| shape.on(&Layout::X86_64).expect("a shape that was made here").size());
    words.dims.iter().fold(size, |size, dim| if let Length::Fixed(n) = dim { size * n } else { size })
}

fn can_be_length(field: &Drawn) -> bool {
    let integer = match &field.what {
        What::Known(Kind::Integer { width, .. }) => *width != Width::Bytes(16),
        _ => false,
    };
    integer && field.dims.is_empty() && !field.pointer
}

/// The name, with as many strokes behind it as make it a new one.
fn unique(mut name: String, names: &mut HashSet<String>) -> String {
    while !names.insert(name.clone()) {
        name.push('\'');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest! {
        #[test]
        fn every_shape_can_be_laid_out_everywhere(shape in any_shape()) {
            for layout in Layout::ALL {
                let format = shape.on(layout).unwrap();
                prop_assert!(format.size() < 1 << 16);
            }
        }
    }
}
