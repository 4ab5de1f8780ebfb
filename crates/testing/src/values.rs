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

/// Small and large ones, and the ends of the range.
fn integer(signed: bool, size: u8) -> BoxedStrategy<Value> {
    let unused = 128 - 8 * u32::from(size);
    let scaled = (any::<u128>(), 0..128 - unused).prop_map(move |(bits, small)| shifted(signed, bits, unused + small));
    let ends =
        select(&[0, u128::MAX, u128::MAX >> 1, 1 << 127][..]).prop_map(move |bits| shifted(signed, bits, unused));
    prop_oneof![3 => scaled, 1 => ends].boxed()
}

fn shifted(signed: bool, bits: u128, by: u32) -> Value {
    match signed {
        true => Value::Integer(bits as i128 >> by),
        false => i128::try_from(bits >> by).map_or(Value::Unsigned(bits >> by), Value::Integer),
    }
}

/// Any bits, numbers that people write, and those where something changes.
fn float(kind: FloatKind, size: u8) -> impl Strategy<Value = Value> + Clone {
    let value = |float: Float| match float.value() {
        Real::Double(value) => Value::Float(value),
        Real::Wide(_) => Value::Decimal(float.to_string().into()),
    };
    let real = move |real: Real| {
        let mut bytes = [0; 16];
        real.write(kind, ByteOrder::Big, &mut bytes[..usize::from(size)]);
        bytes
    };
    let bits = any::<[u8; 16]>().prop_map(move |bytes| small_exponent(kind, size, bytes));
    let plain = (-1000i32..1000).prop_map(move |number| real(Real::from(f64::from(number) / 8.0)));
    let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(|special| real(Real::from(special)));
    let special = select([&special[..], &corners(kind, size)].concat());
    let often = if size > 8 { 20 } else { 2 };
    prop_oneof![often => bits, often => plain, 1 => special]
        .prop_map(move |bytes| value(Float::read(kind, ByteOrder::Big, &bytes[..usize::from(size)])))
}

/// The same digits, with an exponent near 0 for quads and x87 numbers: for others it takes milliseconds to find their
/// decimal digits. The first part of a double-double is small, so that the sum of both can be written again.
fn small_exponent(kind: FloatKind, size: u8, mut bytes: [u8; 16]) -> [u8; 16] {
    if kind == FloatKind::Double2 {
        bytes[0] &= 0xbf;
    }
    let place = match (kind, size) {
        (FloatKind::X87, _) => usize::from(size) - 10,
        (FloatKind::Ieee, 16) => 0,
        _ => return bytes,
    };
    let near_zero = 0x3fff - 64 + u16::from(bytes[place + 1] & 0x7f);
    let sign = u16::from(bytes[place] & 0x80) << 8;
    bytes[place..place + 2].copy_from_slice(&(sign | near_zero).to_be_bytes());
    if kind == FloatKind::X87 {
        bytes[place + 2] |= 0x80; // the leading 1, without which it is no number
    }
    bytes
}

/// The smallest number, the largest without all its digits, the smallest with them, the largest, the next after 1.
fn corners(kind: FloatKind, size: u8) -> [[u8; 16]; 5] {
    let slot = match kind {
        FloatKind::Double2 => FloatKind::Ieee.slot(8),
        kind => kind.slot(size),
    };
    let slot = slot.expect("a size that the kind can have");
    let (fraction, exponent) = (slot.fraction, slot.exponent);
    let infinity = ((1u128 << exponent) - 1) << fraction;
    let one = (infinity >> 1) & infinity;
    [1, (1 << fraction) - 1, 1 << fraction, infinity - 1, one + 1].map(|mut bits: u128| {
        if kind == FloatKind::X87 {
            // Its leading 1 is written, between exponent and fraction.
            let exponent = bits >> fraction;
            bits += (exponent << fraction) + (u128::from(exponent > 0) << fraction);
        }
        let bits = if kind == FloatKind::Double2 { bits << 64 } else { bits };
        let mut bytes = bits.to_be_bytes();
        bytes.rotate_left(16 - usize::from(size));
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_are_where_they_should_be() {
        let read = |kind, size: u8, corner: usize| {
            let float = Float::read(kind, ByteOrder::Big, &corners(kind, size)[corner][..usize::from(size)]);
            float.value().to_f64()
        };
        assert_eq!(read(FloatKind::Ieee, 8, 3), f64::MAX);
        assert_eq!(read(FloatKind::Ieee, 4, 2), f64::from(f32::MIN_POSITIVE));
        assert_eq!(read(FloatKind::Double2, 16, 3), f64::MAX);
        assert_eq!(read(FloatKind::Ieee, 2, 3), 65504.0);
        for (kind, digits) in [(FloatKind::X87, 63), (FloatKind::Ieee, 112)] {
            let size = 16;
            let mut above_one = [0; 16];
            let one = Real::from(1.0);
            one.write(kind, ByteOrder::Big, &mut above_one);
            above_one[15] += 1;
            assert_eq!(corners(kind, size)[4], above_one, "1 + 2^-{digits}");
            assert_eq!(read(kind, size, 3), f64::INFINITY);
            assert_eq!(read(kind, size, 0), 0.0);
        }
    }
}
