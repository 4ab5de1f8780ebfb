//! The limits of `spec/format.md`, and descriptions made to hurt.

use isoform_core::{
    Code, Element, Enumeration, Field, Format, Layout, Limits, Machine, Shape, Structure, Value, value,
};
use std::sync::Arc;

const MACHINE: Machine = Layout::X86_64.machine();

fn field(name: &str, element: Element, offset: usize) -> Field {
    Field { name: name.into(), element, dims: [].into(), indirect: false, offset, unit: None }
}

fn byte(name: &str, offset: usize) -> Field {
    field(name, Element::Integer { signed: false, size: 1 }, offset)
}

fn nest(name: &str, inner: Structure) -> isoform_core::Result<Structure> {
    let size = inner.size();
    Structure::new(name, MACHINE, size, 1, vec![field("inner", Element::Structure(Arc::new(inner)), 0)])
}

#[test]
fn records_are_nested_32_levels_and_no_deeper() {
    let mut structure = Structure::new("level1", MACHINE, 1, 1, vec![byte("x", 0)]).unwrap();
    for level in 2..=32 {
        structure = nest(&format!("level{level}"), structure).unwrap();
    }
    let format = Format::new(Arc::new(structure.clone())).unwrap();
    assert_eq!(Format::parse(format.description().as_bytes()).unwrap(), format);
    let error = nest("level33", structure).unwrap_err();
    assert_eq!(error.to_string(), "nested too deeply at level33: expected at most 32 levels (limit: depth), found 33");
}

#[test]
fn a_format_has_4096_fields_and_no_more() {
    let bytes = |count: usize| (0..count).map(|i| byte(&format!("f{i}"), i)).collect::<Vec<_>>();
    let flat = |count: usize| Structure::new("flat", MACHINE, count, 1, bytes(count));
    let error = flat(4097).unwrap_err();
    assert_eq!(error.to_string(), "too many fields at flat: expected at most 4096 (limit: fields), found 4097");
    let format = Format::new(Arc::new(flat(4096).unwrap())).unwrap();
    assert_eq!(Format::parse(format.description().as_bytes()).unwrap(), format);
    assert_eq!(nest("one_more", flat(4096).unwrap()).unwrap_err().code(), Code::Fields);
}

/// Each record nests the one before 16 times, as a bomb of zipped files does.
#[test]
fn nested_records_do_not_multiply_without_bound() {
    let mut text = String::from("record r0\n  x char\n");
    for level in 1..32 {
        text += &format!("record r{level}\n");
        (0..16).for_each(|i| text += &format!("  f{i} r{}\n", level - 1));
    }
    let error = Shape::parse(&text).unwrap().on(&Layout::NATIVE).unwrap_err();
    assert_eq!(error.code(), Code::Fields);
}

#[test]
fn descriptions_have_64_kib_and_no_more() {
    let symbols = |count| (0..count).map(|i| (format!("symbol{i:06}"), i));
    let format = |count| {
        let enumeration = Enumeration::new(true, 8, symbols(count)).unwrap();
        let field = field("x", Element::Enumeration(Arc::new(enumeration)), 0);
        Format::new(Arc::new(Structure::new("r", MACHINE, 8, 8, vec![field]).unwrap()))
    };
    let largest = format(4360).unwrap();
    assert!(largest.description().as_bytes().len() > 65_000);
    assert_eq!(Format::parse(largest.description().as_bytes()).unwrap(), largest);
    assert_eq!(format(4400).unwrap_err().code(), Code::DescriptionSize);
    let error = Format::parse(&[0; (64 << 10) + 1]).unwrap_err();
    let text = "description too large: expected at most 65536 bytes (limit: description), found 65537";
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_receiver_may_have_lower_limits() {
    let inner = Structure::new("inner", MACHINE, 2, 1, vec![byte("x", 0), byte("y", 1)]).unwrap();
    let format = Format::new(Arc::new(nest("outer", inner).unwrap())).unwrap();
    let description = format.description().as_bytes();
    let exact = Limits { depth: 2, fields: 3, description: description.len(), ..Limits::default() };
    assert_eq!(Format::parse_within(description, &exact).unwrap(), format);
    let length = description.len();
    for (limits, text) in [
        (
            Limits { depth: 1, ..exact },
            "nested too deeply at outer: expected at most 1 levels (limit: depth), found 2".to_string(),
        ),
        (
            Limits { fields: 2, ..exact },
            "too many fields at outer: expected at most 2 (limit: fields), found 3".to_string(),
        ),
        (
            Limits { description: length - 1, ..exact },
            format!(
                "description too large: expected at most {} bytes (limit: description), found {length}",
                length - 1
            ),
        ),
    ] {
        assert_eq!(Format::parse_within(description, &limits).unwrap_err().to_string(), text);
    }
}

/// More than the specification allows cannot be had.
#[test]
fn no_limit_of_the_specification_can_be_raised() {
    let wide = Limits { depth: 100, fields: 100_000, description: 1 << 20, ..Limits::default() };
    let error = Format::parse_within(&[0; (64 << 10) + 1], &wide).unwrap_err();
    assert_eq!(error.code(), Code::DescriptionSize);
    assert!(wide.admit_description(64 << 10).is_ok());
    // A structure of 4,097 bytes in 4,097 fields, none of which has a name of more than two letters.
    let name = |i: u16| [b'a' + (i % 26) as u8, b'A' + (i / 26 % 26) as u8, b'a' + (i / 676) as u8];
    let fields = (0..4097u16).flat_map(|i| [&[3][..], &name(i), &[0, 2, 1]].concat());
    let description: Vec<u8> = [1, 0, 1, 1, b'r', 0x81, 0x20, 0, 0x81, 0x20].into_iter().chain(fields).collect();
    assert_eq!(Format::parse_within(&description, &wide).unwrap_err().code(), Code::Fields);
}

/// A record that nobody would accept is not made, however small the text of it is.
#[test]
fn a_body_is_made_no_larger_than_a_message() {
    let format = |size: usize| Shape::new("r").field("x", &format!("u8[{size}]")).on(&Layout::X86_64).unwrap();
    let error = value::body(&format((1 << 30) + 1), &Value::Record(vec![])).unwrap_err();
    assert_eq!(error.code(), Code::MessageSize);
    assert!(error.to_string().contains("at most 1073741824 bytes (limit: message)"), "{error}");
    assert_eq!(value::body(&format(1 << 20), &Value::Record(vec![])).unwrap().len(), 1 << 20);
}

/// A large enumeration in a structure that is nested some thousand times is read, and written again, once.
#[test]
fn what_is_nested_often_is_written_once() {
    let enumeration = Enumeration::new(true, 8, (0..3000).map(|i| (format!("s{i}"), i))).unwrap();
    let field = field("x", Element::Enumeration(Arc::new(enumeration)), 0);
    let inner = Arc::new(Structure::new("inner", MACHINE, 8, 8, vec![field]).unwrap());
    let nested = (0..2000).map(|i| Field {
        name: format!("f{i}").into(),
        element: Element::Structure(inner.clone()),
        dims: [].into(),
        indirect: false,
        offset: 8 * i,
        unit: None,
    });
    let format = Format::new(Arc::new(Structure::new("r", MACHINE, 16_000, 8, nested.collect()).unwrap())).unwrap();
    assert_eq!(Format::parse(format.description().as_bytes()).unwrap(), format);
}

/// Descriptions in which one number is as large as it can be written.
#[test]
fn huge_numbers_are_refused() {
    let shape =
        Shape::parse("record p\n x u8\nrecord r\n n u8\n a p[3]\n b f32[n][3]\n e enumeration(1){a=0,b=1}").unwrap();
    let good = shape.on(&Layout::X86_64).unwrap();
    let good = good.description().as_bytes();
    let huge: [&[u8]; 4] = [
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0x1f],
        &[0xff, 0xff, 0xff, 0xff, 0x0f],
    ];
    for at in 0..good.len() {
        for number in huge {
            let bad = [&good[..at], number, &good[at + 1..]].concat();
            match Format::parse(&bad) {
                Ok(read) => assert_eq!(read.description().as_bytes(), bad),
                Err(error) => assert_ne!(error.code(), Code::Internal),
            }
        }
    }
}

#[test]
fn an_x87_number_has_gaps_in_its_slot() {
    for (words, gaps) in [("x87(10)", false), ("x87(16)", true), ("complex x87(12)", true), ("f128", false)] {
        let format = Shape::new("r").field("x", words).on(&Layout::X86_64).unwrap();
        assert_eq!(format.structure().has_gaps(), gaps, "{words}");
    }
}
