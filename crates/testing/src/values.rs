//! Random records of a format.

use isoform_core::scalar::Real;
use isoform_core::{ByteOrder, Dimension, Element, Field, FloatKind, Format, Structure, Value};
use proptest::prelude::*;

/// Any record of a format: every field has a value, with extreme numbers, infinities and NaN, null strings and pointers,
/// and empty arrays among them. The lengths of arrays are right, and fields that are lengths have them as values.
///
/// A value is as [`Value`] is read out of a record: symbols for enumerations, text for the last dimension of `char`
/// arrays, integers beyond `i128` as [`Value::Unsigned`], floats that are no `f64` as [`Value::Decimal`]. Not-a-number
/// is not equal to itself: compare with [`same`].
pub fn any_value(format: &Format) -> impl Strategy<Value = Value> + use<> {
    let format = format.clone();
    // Shrinking makes the prefix of draws shorter, behind which all that is drawn is 0.
    (any::<u64>(), 0usize..10_000).prop_map(move |(seed, draws)| {
        let mut dice = Dice { seed, draws, room: 300 };
        dice.record(format.structure())
    })
}

/// A format, and a record of it.
pub fn any_record() -> impl Strategy<Value = (Format, Value)> {
    crate::any_format().prop_flat_map(|format| {
        let value = any_value(&format);
        (Just(format), value)
    })
}

/// Whether two values are the same, down to the sign of a zero; any NaN is the same as any other.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        (Value::Complex(a), Value::Complex(b)) => same(&a[0], &b[0]) && same(&a[1], &b[1]),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Record(a), Value::Record(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && same(&a.1, &b.1))
        }
        _ => a == b,
    }
}

/// Draws numbers: `draws` random ones, then zeros.
struct Dice {
    seed: u64,
    draws: usize,
    /// How many more elements there should be behind pointers.
    room: usize,
}

impl Dice {
    fn draw(&mut self) -> u64 {
        if self.draws == 0 {
            return 0;
        }
        self.draws -= 1;
        // SplitMix64 (Steele, Lea, Flood 2014).
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of `0..end`.
    fn below(&mut self, end: usize) -> usize {
        (self.draw() % end as u64) as usize
    }

    fn record(&mut self, structure: &Structure) -> Value {
        let fields = structure.fields();
        let mut lengths = vec![None; fields.len()];
        for dim in fields.iter().flat_map(|field| &field.dims) {
            if let Dimension::Field(by) = *dim {
                lengths[by].get_or_insert_with(|| if self.room == 0 { 0 } else { self.below(5) });
            }
        }
        let value = |(index, field): (usize, &Field)| {
            let value = match lengths[index] {
                Some(length) => Value::Integer(length as i128),
                None => self.field(field, &lengths),
            };
            (field.name.clone(), value)
        };
        Value::Record(fields.iter().enumerate().map(value).collect())
    }

    fn field(&mut self, field: &Field, lengths: &[Option<usize>]) -> Value {
        let dim = |dim: &Dimension| match *dim {
            Dimension::Fixed(n) => n,
            Dimension::Field(by) => lengths[by].unwrap_or(0),
        };
        let dims: Vec<usize> = field.dims.iter().map(dim).collect();
        if field.indirect {
            if !field.is_dynamic() && (self.room == 0 || self.below(3) == 0) {
                return Value::Null;
            }
            self.room = self.room.saturating_sub(dims.iter().product());
        }
        self.array(&field.element, &dims, field.is_dynamic())
    }

    fn array(&mut self, element: &Element, dims: &[usize], dynamic: bool) -> Value {
        match (element, dims) {
            (_, []) => self.element(element),
            (Element::Char, [length]) => {
                let mut text: Vec<u8> = (0..*length).map(|_| self.draw() as u8 & 0x7f).collect();
                while !dynamic && text.last() == Some(&0) {
                    text.pop();
                }
                Value::String(text)
            }
            (_, [count, inner @ ..]) => {
                Value::Array((0..*count).map(|_| self.array(element, inner, dynamic)).collect())
            }
        }
    }

    fn element(&mut self, element: &Element) -> Value {
        match element {
            Element::Integer { signed, size } => self.integer(*signed, *size),
            Element::Float { kind, size } => self.float(*kind, *size),
            Element::Complex { kind, size } => {
                Value::Complex(Box::new([self.float(*kind, *size), self.float(*kind, *size)]))
            }
            Element::Char => Value::Char(self.draw() as u8),
            Element::Boolean { .. } => Value::Boolean(self.draw() & 1 == 1),
            Element::Enumeration(enumeration) => {
                let symbols = enumeration.symbols();
                Value::Symbol(symbols[self.below(symbols.len())].name.clone())
            }
            Element::String if self.room == 0 => Value::Null,
            Element::String => match self.below(8) {
                0 => Value::Null,
                length => Value::String((1..length).map(|_| self.draw() as u8 % 255 + 1).collect()),
            },
            Element::Structure(inner) => self.record(inner),
        }
    }

    fn integer(&mut self, signed: bool, size: u8) -> Value {
        let unused = 128 - 8 * u32::from(size);
        let bits = match self.below(4) {
            0 => u128::from(self.draw() % 10),
            1 => [0, 1, u128::MAX, u128::MAX >> 1, 1 << 127][self.below(5)],
            _ => u128::from(self.draw()) << 64 | u128::from(self.draw()),
        };
        // The upper bits count, so that the extremes are those of every size.
        match signed {
            true => Value::Integer(bits as i128 >> unused),
            false => i128::try_from(bits >> unused).map_or(Value::Unsigned(bits), Value::Integer),
        }
    }

    fn float(&mut self, kind: FloatKind, size: u8) -> Value {
        // Numbers that are no `f64` are rare, since it takes long to find their decimal digits.
        let real = match self.below(if size > 8 { 24 } else { 4 }) {
            0 => self.bits(kind, size),
            1 => self.extreme(kind, size),
            2 => Real::Double([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN][self.below(5)]),
            _ => Real::Double(f64::from(self.draw() as i8) / 4.0),
        };
        // Once there and back, so that it is a number of this kind.
        let mut bytes = vec![0; usize::from(size)];
        real.write(kind, ByteOrder::Little, &mut bytes);
        match Real::read(kind, ByteOrder::Little, &bytes) {
            Real::Double(value) => Value::Float(value),
            wide => Value::Decimal(wide.to_text(kind, size).into()),
        }
    }

    /// Any digits. The exponents of quads and x87 numbers are small, since digits of others take milliseconds to find.
    fn bits(&mut self, kind: FloatKind, size: u8) -> Real {
        let mut bytes = [self.draw().to_le_bytes(), self.draw().to_le_bytes()].concat();
        let exponent = (0x3fff - 64 + self.below(128) as u16) | (self.draw() as u16 & 0x8000);
        match (kind, size) {
            (FloatKind::Ieee, 16) => bytes[14..].copy_from_slice(&exponent.to_le_bytes()),
            (FloatKind::X87, _) => {
                bytes[7] |= 0x80; // the leading 1, without which it is no number
                bytes[8..10].copy_from_slice(&exponent.to_le_bytes());
            }
            (FloatKind::Double2, _) => {
                let large = f64::from_le_bytes(std::array::from_fn(|i| bytes[i]));
                bytes[8..].copy_from_slice(&(large * 2f64.powi(-60)).to_le_bytes());
            }
            _ => {}
        }
        Real::read(kind, ByteOrder::Little, &bytes[..usize::from(size)])
    }

    /// The smallest number, the largest without all its digits, the smallest with them, the largest, the first after 1.
    fn extreme(&mut self, kind: FloatKind, size: u8) -> Real {
        let (fraction, exponent) = match (kind, size) {
            (FloatKind::Ieee, 2) => (10, 5),
            (FloatKind::Brain, _) => (7, 8),
            (FloatKind::Ieee, 4) => (23, 8),
            (FloatKind::Ieee, 8) | (FloatKind::Double2, _) => (52, 11),
            (FloatKind::X87, _) => (63, 15),
            (FloatKind::Ieee, _) => (112, 15),
        };
        let (one, infinity) = (((1u128 << exponent) - 1) >> 1 << fraction, ((1u128 << exponent) - 1) << fraction);
        let mut bits = [1, (1 << fraction) - 1, 1 << fraction, infinity - 1, one | 1][self.below(5)];
        if kind == FloatKind::X87 {
            let exponent = bits >> fraction;
            bits += (exponent << fraction) + (u128::from(exponent > 0) << fraction);
        }
        Real::read(kind, ByteOrder::Little, &bits.to_le_bytes()[..usize::from(size)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    fn visit(value: &Value, see: &mut impl FnMut(&Value)) {
        see(value);
        match value {
            Value::Array(values) => values.iter().for_each(|value| visit(value, see)),
            Value::Record(entries) => entries.iter().for_each(|(_, value)| visit(value, see)),
            Value::Complex(parts) => parts.iter().for_each(|value| visit(value, see)),
            _ => {}
        }
    }

    #[test]
    fn everything_odd_occurs() {
        let odd: [fn(&Value) -> bool; 8] = [
            |value| matches!(value, Value::Null),
            |value| matches!(value, Value::Unsigned(u128::MAX)),
            |value| matches!(value, Value::Integer(i128::MIN)),
            |value| matches!(value, Value::Float(number) if number.is_nan()),
            |value| matches!(value, Value::Float(f64::MAX)),
            |value| matches!(value, Value::Decimal(text) if text.ends_with("e-4951")),
            |value| matches!(value, Value::Array(values) if values.is_empty()),
            |value| matches!(value, Value::String(text) if text.is_empty()),
        ];
        let mut seen = [0; 8];
        let mut runner = TestRunner::deterministic();
        for _ in 0..1000 {
            let (_, value) = any_record().new_tree(&mut runner).unwrap().current();
            assert!(same(&value, &value));
            visit(&value, &mut |value| {
                odd.iter().zip(&mut seen).for_each(|(odd, seen)| *seen += usize::from(odd(value)))
            });
        }
        assert!(seen.iter().all(|seen| *seen > 0), "{seen:?}");
    }

    #[test]
    fn records_do_not_grow_without_bound() {
        let mut runner = TestRunner::deterministic();
        for _ in 0..200 {
            let (_, value) = any_record().new_tree(&mut runner).unwrap().current();
            let mut count = 0;
            visit(&value, &mut |_| count += 1);
            assert!(count < 30_000, "{count}");
        }
    }
}
