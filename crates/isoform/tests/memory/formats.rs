//! Formats that a stranger might think of, each the worst in some way.

use isoform::core::format::{MAX_DEPTH, MAX_FIELDS, MAX_RANK};
use isoform::core::{ByteOrder, Dimension, Element, Enumeration, Field, Structure};
use isoform::{Format, Machine};
use std::iter;
use std::sync::Arc;

pub(crate) const LITTLE: Machine = Machine { order: ByteOrder::Little, pointer: 8 };
pub(crate) const BIG: Machine = Machine { order: ByteOrder::Big, pointer: 4 };

/// A field without its place.
struct Part {
    name: String,
    element: Element,
    dims: Vec<Dimension>,
    indirect: bool,
    unit: Option<Box<str>>,
}

fn part(name: impl Into<String>, element: Element) -> Part {
    Part { name: name.into(), element, dims: vec![], indirect: false, unit: None }
}

fn byte() -> Element {
    Element::Integer { signed: false, size: 1 }
}

/// A different name for each number, as short as can be.
fn short(number: usize) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let mut name = String::new();
    let mut rest = number + 1;
    while rest > 0 {
        name.push(char::from(LETTERS[rest % LETTERS.len()]));
        rest /= LETTERS.len();
    }
    name
}

/// A name of 255 bytes.
fn long(number: usize) -> String {
    format!("{number:x>255}")
}

fn structure(name: &str, machine: Machine, parts: Vec<Part>) -> Structure {
    let mut end = 0;
    let fields = parts.into_iter().map(|Part { name, element, dims, indirect, unit }| {
        let field = Field { name: name.into(), element, dims: dims.into(), indirect, offset: end, unit };
        end += field.extent(machine.pointer).unwrap();
        field
    });
    let fields: Vec<Field> = fields.collect();
    Structure::new(name, machine, end, 1, fields).unwrap()
}

fn symbols(count: i128, name: impl Fn(usize) -> String) -> Element {
    let symbols = (0..count).map(|i| (name(i as usize), i));
    Element::Enumeration(Arc::new(Enumeration::new(false, 4, symbols).unwrap()))
}

/// Makes a field of a structure, from its number.
type Make = fn(usize) -> Part;

/// The kinds of fields that the worst formats are full of. A field 0 called `length` may be there beside them.
const FIELDS: [(&str, Make); 8] = [
    ("bytes", |i| part(short(i), byte())),
    ("integers", |i| part(short(i), Element::Integer { signed: true, size: 4 })),
    ("strings", |i| part(short(i), Element::String)),
    ("booleans", |i| part(short(i), Element::Boolean { size: 1 })),
    ("long names", |i| part(long(i), byte())),
    ("units", |i| Part { unit: Some(long(i).into()), ..part(short(i), byte()) }),
    ("pointers", |i| Part { indirect: true, ..part(short(i), Element::Boolean { size: 1 }) }),
    ("dynamic arrays", |i| Part {
        dims: vec![Dimension::Field(0); MAX_RANK],
        indirect: true,
        ..part(short(i), byte())
    }),
];

/// A structure of 62 fields, nested 62 times: small to describe, with nearly as many fields as there may be.
fn nested(machine: Machine, make: Make, dims: &[Dimension]) -> Structure {
    let length = part("length", byte());
    let inner = Arc::new(structure("inner", machine, iter::once(length).chain((1..62).map(make)).collect()));
    let outer = |i| Part { dims: dims.into(), ..part(short(i), Element::Structure(inner.clone())) };
    structure("outer", machine, (0..62).map(outer).collect())
}

/// Fields within structures of long names, as deep as they may be, and as many.
fn deep(machine: Machine, make: Make, dims: &[Dimension]) -> Structure {
    let innermost = structure("innermost", machine, (0..MAX_FIELDS - (MAX_DEPTH - 1)).map(make).collect());
    (1..MAX_DEPTH).fold(innermost, |inner, level| {
        let field = Part { dims: dims.into(), ..part(long(level), Element::Structure(Arc::new(inner))) };
        structure(&short(level), machine, vec![field])
    })
}

/// Each of them, laid out for this machine.
pub(crate) fn worst(machine: Machine) -> Vec<(String, Format)> {
    let flat = |count: usize, make: Make| structure("flat", machine, (0..count).map(make).collect());
    let mut all = vec![
        ("many bytes".to_string(), flat(MAX_FIELDS, |i| part(short(i), byte()))),
        ("many integers".into(), flat(MAX_FIELDS, |i| part(short(i), Element::Integer { signed: true, size: 8 }))),
        ("many strings".into(), flat(MAX_FIELDS, |i| part(short(i), Element::String))),
        ("many enumerations".into(), flat(MAX_FIELDS, |i| part(short(i), symbols(1, short)))),
        ("many symbols".into(), flat(1, |i| part(short(i), symbols(10_000, short)))),
        ("long symbols".into(), flat(1, |i| part(short(i), symbols(252, long)))),
        ("long names".into(), flat(248, |i| part(long(i), byte()))),
        ("deep strings".into(), deep(machine, |i| part(short(i), Element::String), &[])),
        ("deep arrays".into(), deep(machine, |i| part(short(i), byte()), &[Dimension::Fixed(1)])),
    ];
    for (name, make) in FIELDS {
        all.push((format!("nested {name}"), nested(machine, make, &[])));
        all.push((format!("arrays of {name}"), nested(machine, make, &[Dimension::Fixed(2)])));
    }
    let symbols = Arc::new(structure("inner", machine, vec![part(short(1), symbols(8_000, short))]));
    let nests = (0..MAX_FIELDS / 2 - 1).map(|i| part(short(i), Element::Structure(symbols.clone())));
    all.push(("nested symbols".into(), structure("outer", machine, nests.collect())));
    all.into_iter().map(|(name, root)| (name, Format::new(Arc::new(root)).unwrap())).collect()
}
