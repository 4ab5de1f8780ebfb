//! Random records of a given format.

use isoform_core::scalar::{Float, Real};
use isoform_core::{ByteOrder, Dimension, Element, Field, FloatKind, Format, Structure, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Any record of a format, as [`View::to_value`](isoform_core::View::to_value) would give it: all fields, lengths
/// included, agree with each other. Arrays of variable length have up to three elements in each dimension.
pub fn any_value(format: &Format) -> BoxedStrategy<Value> {
    record(format.structure())
}

fn record(structure: &Structure) -> BoxedStrategy<Value> {
    let structure = structure.clone();
    vec(0..4usize, structure.fields().len())
        .prop_flat_map(move |lengths| {
            let fields = structure.fields().iter().enumerate();
            let entries: Vec<_> = fields.map(|(index, one)| entry(&structure, index, one, &lengths)).collect();
            entries.prop_map(Value::Record)
        })
        .boxed()
}

fn entry(structure: &Structure, index: usize, field: &Field, lengths: &[usize]) -> BoxedStrategy<(Box<str>, Value)> {
    let is_length = |field: &Field| field.dims.contains(&Dimension::Field(index));
    let dims: Vec<usize> = field
        .dims
        .iter()
        .map(|dim| match *dim {
            Dimension::Fixed(n) => n,
            Dimension::Field(by) => lengths[by],
        })
        .collect();
    let padded = matches!(field.dims.last(), Some(Dimension::Fixed(_)));
    let name = field.name.clone();
    let value = if structure.fields().iter().any(is_length) {
        Just(Value::Integer(lengths[index] as i128)).boxed()
    } else if dims.len() > 1 && dims.contains(&0) {
        Just(Value::Array(Vec::new())).boxed()
    } else if field.indirect && !field.is_dynamic() {
        prop_oneof![1 => Just(Value::Null), 2 => array(&field.element, &dims, padded)].boxed()
    } else {
        array(&field.element, &dims, padded)
    };
    value.prop_map(move |value| (name.clone(), value)).boxed()
}

fn array(element: &Element, dims: &[usize], padded: bool) -> BoxedStrategy<Value> {
    match dims {
        [] => self::element(element),
        [count] if *element == Element::Char => text(*count, padded),
        [count, inner @ ..] => vec(array(element, inner, padded), *count).prop_map(Value::Array).boxed(),
    }
}

/// Text that fills an array, or, if it is `padded`, does not end with the NULs that fill it up.
fn text(count: usize, padded: bool) -> BoxedStrategy<Value> {
    let ascii = vec(b' '..=b'~', if padded { 0 } else { count }..=count);
    let bytes = vec(any::<u8>(), count).prop_map(move |mut bytes| {
        while padded && bytes.last() == Some(&0) {
            bytes.pop();
        }
        bytes
    });
    prop_oneof![ascii, bytes].prop_map(Value::String).boxed()
}

fn element(element: &Element) -> BoxedStrategy<Value> {
    match element {
        Element::Integer { signed, size } => integer(*signed, *size),
        Element::Float { kind, size } => float(*kind, *size).boxed(),
        Element::Complex { kind, size } => {
            (float(*kind, *size), float(*kind, *size)).prop_map(|(re, im)| Value::Complex(Box::new([re, im]))).boxed()
        }
        Element::Char => any::<u8>().prop_map(Value::Char).boxed(),
        Element::Boolean { .. } => any::<bool>().prop_map(Value::Boolean).boxed(),
        Element::Enumeration(enumeration) => {
            let names: Vec<Box<str>> = enumeration.symbols().iter().map(|symbol| symbol.name.clone()).collect();
            select(names).prop_map(Value::Symbol).boxed()
        }
        Element::String => prop_oneof![
            Just(Value::Null),
            vec(1..=255u8, 0..40).prop_map(Value::String),
            "\\PC{0,20}".prop_map(|text: String| Value::String(text.into_bytes())),
        ]
        .boxed(),
        Element::Structure(inner) => record(inner),
    }
}

/// Small and large ones.
fn integer(signed: bool, size: u8) -> BoxedStrategy<Value> {
    let unused = 128 - 8 * u32::from(size);
    (any::<u128>(), 0..128 - unused)
        .prop_map(move |(bits, small)| match signed {
            true => Value::Integer((bits as i128) >> (unused + small)),
            false => {
                let number = bits >> (unused + small);
                i128::try_from(number).map_or(Value::Unsigned(number), Value::Integer)
            }
        })
        .boxed()
}

/// Any bits, and numbers that people write.
fn float(kind: FloatKind, size: u8) -> impl Strategy<Value = Value> + Clone {
    let value = |float: Float| match float.value() {
        Real::Double(value) => Value::Float(value),
        Real::Wide(_) => Value::Decimal(float.to_string().into()),
    };
    let bits = any::<[u8; 16]>();
    let plain = (-1000i32..1000).prop_map(move |number| {
        let mut bytes = [0; 16];
        Real::from(f64::from(number) / 8.0).write(kind, ByteOrder::Big, &mut bytes[..usize::from(size)]);
        bytes
    });
    prop_oneof![bits, plain]
        .prop_map(move |bytes| value(Float::read(kind, ByteOrder::Big, &bytes[..usize::from(size)])))
}
