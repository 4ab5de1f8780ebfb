//! The worst that a stranger can send, in every size: what is many, deep, long, or refused at its very end.

use isoform::core::{Element, Enumeration, Field, Layout, Shape, Structure, Value, value};
use isoform::text::json;
use isoform::{Format, Machine};
use isoform_testing::mutate::stream_of;
use std::sync::Arc;

/// Streams of one kind, which grow with a number.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    /// The smaller of the two sizes that are compared; the other is twice that.
    pub(crate) size: usize,
    pub(crate) stream: fn(usize) -> Vec<u8>,
}

/// All of them. Sizes of what makes descriptions long stay below the limits when they are doubled.
pub(crate) const FAMILIES: &[Family] = &[
    Family { name: "strings", size: 2000, stream: strings },
    Family { name: "null strings", size: 4000, stream: null_strings },
    Family { name: "one long string", size: 100_000, stream: long_string },
    Family { name: "characters that are no text", size: 50000, stream: no_text },
    Family { name: "small arrays in an array", size: 1000, stream: arrays },
    Family { name: "records nested 32 deep, in an array", size: 100, stream: deep },
    Family { name: "pointers to records", size: 1000, stream: pointers },
    Family { name: "numbers", size: 4000, stream: numbers },
    Family { name: "wide numbers", size: 250, stream: wide },
    Family { name: "booleans", size: 10000, stream: booleans },
    Family { name: "many symbols, all used", size: 2000, stream: symbols },
    Family { name: "one enumeration in many fields", size: 800, stream: shared_symbols },
    Family { name: "fields", size: 2000, stream: fields },
    Family { name: "fields with long names", size: 100, stream: long_names },
    Family { name: "fields of nested records", size: 60, stream: nested_fields },
    Family { name: "arrays of one length", size: 1500, stream: shared_length },
    Family { name: "descriptions", size: 300, stream: descriptions },
    Family { name: "small messages", size: 2000, stream: messages },
    Family { name: "messages of unknown formats", size: 2000, stream: unknown },
    Family { name: "refused descriptions", size: 300, stream: refused_descriptions },
    Family { name: "refused at the last element", size: 2000, stream: refused_at_the_end },
    Family { name: "messages that are all refused", size: 1000, stream: refused_messages },
];

fn stream(shape: Shape, text: &str) -> Vec<u8> {
    let (format, body) = laid_out(shape, text);
    stream_of(&format, &body)
}

fn laid_out(shape: Shape, text: &str) -> (Format, Vec<u8>) {
    let format = shape.on(&Layout::S390X).expect("a format");
    let record = json::parse_partial(&format, text).expect("a record");
    let body = value::body(&format, &record).expect("a body");
    (format, body)
}

/// `[one,one,..]`
fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    let all: Vec<String> = (0..count).map(one).collect();
    format!("[{}]", all.join(","))
}

fn strings(size: usize) -> Vec<u8> {
    let shape = Shape::new("r").field("n", "int").field("s", "string[n]");
    stream(shape, &format!("{{\"s\":{}}}", many(size, |i| format!("\"{}\"", "x".repeat(i % 20)))))
}

fn null_strings(size: usize) -> Vec<u8> {
    let shape = Shape::new("r").field("n", "int").field("s", "string[n]");
    stream(shape, &format!("{{\"s\":{}}}", many(size, |_| "null".into())))
}

fn long_string(size: usize) -> Vec<u8> {
    stream(Shape::new("r").field("s", "string"), &format!("{{\"s\":\"{}\"}}", "x".repeat(size)))
}

fn no_text(size: usize) -> Vec<u8> {
    let format = Shape::new("r").field("n", "int").field("s", "char[n]").on(&Layout::S390X).expect("a format");
    let record = Value::Record(vec![("s".into(), Value::String(vec![0xff; size]))]);
    stream_of(&format, &value::body(&format, &record).expect("a body"))
}

fn arrays(size: usize) -> Vec<u8> {
    let inner = Shape::new("i").field("n", "int").field("a", "double[n]").field("s", "string");
    let shape = Shape::new("r").nested(inner).field("n", "int").field("r", "i[n]");
    stream(shape, &format!("{{\"r\":{}}}", many(size, |_| "{\"a\":[1,2],\"s\":\"x\"}".into())))
}

fn deep(size: usize) -> Vec<u8> {
    let mut shape = Shape::new("r0").field("n", "int").field("a", "double[n]").field("on", "boolean");
    let mut path = "{\"a\":[1]}".to_string();
    for level in 1..31 {
        shape = Shape::new(format!("r{level}")).nested(shape).field("x", &format!("r{}", level - 1));
        path = format!("{{\"x\":{path}}}");
    }
    let shape = Shape::new("r").nested(shape).field("n", "int").field("r", "r30[n]");
    stream(shape, &format!("{{\"r\":{}}}", many(size, |_| path.clone())))
}

fn pointers(size: usize) -> Vec<u8> {
    let leaf = Shape::new("l").field("s", "string").field("x", "double*");
    let shape = Shape::new("p").nested(leaf).field("a", "l*").field("b", "l*");
    let shape = Shape::new("r").nested(shape).field("n", "int").field("r", "p[n]");
    stream(shape, &format!("{{\"r\":{}}}", many(size, |_| "{\"a\":{\"s\":\"x\",\"x\":1},\"b\":null}".into())))
}

fn numbers(size: usize) -> Vec<u8> {
    let shape = Shape::new("r").field("n", "int").field("a", "double[n]").field("b", "i16[n]");
    let text =
        format!("{{\"a\":{},\"b\":{}}}", many(size, |i| format!("{i}.5")), many(size, |i| (i % 100).to_string()));
    stream(shape, &text)
}

fn wide(size: usize) -> Vec<u8> {
    let shape = Shape::new("r").field("n", "int").field("a", "f128[n]").field("b", "x87(16)[n]").field("c", "i128[n]");
    let (a, b) = (many(size, |i| format!("1e{}", i % 90)), many(size, |i| format!("1e-{}", i % 90)));
    stream(shape, &format!("{{\"a\":{a},\"b\":{b},\"c\":{}}}", many(size, |i| i.to_string())))
}

fn booleans(size: usize) -> Vec<u8> {
    let shape = Shape::new("r").field("n", "int").field("a", "boolean[n]");
    stream(shape, &format!("{{\"a\":{}}}", many(size, |_| "true".into())))
}

fn enumeration(symbols: usize) -> Element {
    let symbols = (0..symbols).map(|i| (format!("s{i}"), 2 * i as i128));
    Element::Enumeration(Arc::new(Enumeration::new(true, 8, symbols).expect("symbols")))
}

fn field(name: String, element: Element, offset: usize) -> Field {
    Field { name: name.into(), element, dims: [].into(), indirect: false, offset, unit: None }
}

const MACHINE: Machine = Layout::S390X.machine();

fn format(structure: Structure) -> Format {
    Format::new(structure.into()).expect("a format")
}

/// A record of fields of 8 bytes each.
fn of_words(name: &str, fields: Vec<Field>) -> Structure {
    Structure::new(name, MACHINE, fields.last().map_or(0, |field| field.offset) + 8, 8, fields).expect("fields")
}

fn zeros(format: &Format) -> Vec<u8> {
    stream_of(format, &value::body(format, &Value::Record(Vec::new())).expect("a body"))
}

fn symbols(size: usize) -> Vec<u8> {
    let length = field("n".into(), Element::Integer { signed: true, size: 8 }, 0);
    let mut array = field("a".into(), enumeration(size), 8);
    array.dims = [isoform::core::Dimension::Field(0)].into();
    array.indirect = true;
    let format = format(of_words("r", vec![length, array]));
    let text = format!("{{\"a\":{}}}", many(size, |i| format!("\"s{}\"", (i * 7919) % size)));
    let record = json::parse_partial(&format, &text).expect("a record");
    stream_of(&format, &value::body(&format, &record).expect("a body"))
}

fn shared_symbols(size: usize) -> Vec<u8> {
    let inner = Arc::new(of_words("i", vec![field("x".into(), enumeration(size), 0)]));
    let fields = (0..size).map(|i| field(format!("f{i}"), Element::Structure(inner.clone()), 8 * i)).collect();
    zeros(&format(of_words("r", fields)))
}

fn fields(size: usize) -> Vec<u8> {
    let fields = (0..size).map(|i| field(format!("f{i}"), Element::Integer { signed: true, size: 4 }, 8 * i)).collect();
    zeros(&format(of_words("r", fields)))
}

fn long_names(size: usize) -> Vec<u8> {
    let name = |i: usize| format!("{i:0250}");
    let fields = (0..size).map(|i| field(name(i), Element::Boolean { size: 8 }, 8 * i)).collect();
    zeros(&format(of_words(&"r".repeat(250), fields)))
}

/// Each of so many fields holds a record of 32 others.
fn nested_fields(size: usize) -> Vec<u8> {
    let inner = (0..32).map(|i| field(format!("x{i}"), Element::Boolean { size: 8 }, 8 * i)).collect();
    let inner = Arc::new(of_words("i", inner));
    let fields = (0..size).map(|i| field(format!("f{i}"), Element::Structure(inner.clone()), 256 * i)).collect();
    zeros(&format(Structure::new("r", MACHINE, 256 * size, 8, fields).expect("fields")))
}

fn shared_length(size: usize) -> Vec<u8> {
    let mut fields = vec![field("n".into(), Element::Integer { signed: true, size: 8 }, 0)];
    fields.extend((1..=size).map(|i| Field {
        dims: [isoform::core::Dimension::Field(0)].into(),
        indirect: true,
        ..field(format!("f{i}"), Element::Float { kind: isoform::core::FloatKind::Ieee, size: 8 }, 8 * i)
    }));
    let format = format(of_words("r", fields));
    let entries: Vec<_> =
        (1..=size).map(|i| (format!("f{i}").into(), Value::Array(vec![Value::Float(0.5); 2]))).collect();
    stream_of(&format, &value::body(&format, &Value::Record(entries)).expect("a body"))
}

fn descriptions(size: usize) -> Vec<u8> {
    let one = |i: usize| stream(Shape::new(format!("r{i}")).field("x", "int").field("s", "string"), "{}");
    (0..size).flat_map(one).collect()
}

fn messages(size: usize) -> Vec<u8> {
    let (format, body) = laid_out(Shape::new("r").field("x", "int"), "{}");
    let stream = stream_of(&format, &body);
    let message = stream[stream.len() - 48..].repeat(size);
    [stream, message].concat()
}

fn unknown(size: usize) -> Vec<u8> {
    let (format, body) = laid_out(Shape::new("r").field("x", "int"), "{}");
    let stream = stream_of(&format, &body);
    stream[stream.len() - 48..].repeat(size)
}

fn refused_descriptions(size: usize) -> Vec<u8> {
    let fields = (0..20).fold(Shape::new("r"), |shape, i| shape.field(format!("f{i}"), "int"));
    let format = fields.on(&Layout::S390X).expect("a format");
    let mut stream = stream_of(&format, &[]);
    let end = 32 + format.description().as_bytes().len();
    stream[end - 1] = 3; // no integer has 3 bytes
    stream.truncate(end.next_multiple_of(16));
    stream.repeat(size)
}

fn refused_at_the_end(size: usize) -> Vec<u8> {
    let inner = Shape::new("i").field("s", "string").field("on", "boolean");
    let shape = Shape::new("r").nested(inner).field("n", "int").field("r", "i[n]");
    let (format, mut body) = laid_out(shape, &format!("{{\"r\":{}}}", many(size, |_| "{\"on\":true}".into())));
    let at = body.iter().rposition(|byte| *byte == 1).expect("a true");
    body[at] = 2;
    stream_of(&format, &body)
}

fn refused_messages(size: usize) -> Vec<u8> {
    let (format, mut body) = laid_out(Shape::new("r").field("on", "boolean"), "{\"on\":true}");
    body.fill(7);
    let stream = stream_of(&format, &body);
    let message = stream[stream.len() - 48..].repeat(size);
    [stream, message].concat()
}
