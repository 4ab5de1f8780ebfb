//! Numbers of the rarer kinds, one by one: 16-byte integers, half and brain floats, the kinds of `long double`.

use super::convert::shown;
use crate::error::Code;
use crate::format::{FloatKind, integer_range};
use crate::plan::{Conversion, Faults};
use crate::scalar::{Real, Rounding, read_bits, read_signed, write_bits};
use isoform_kernels::{Number, NumberClass};

/// A number of any type. Integers beyond `i128` are the only ones that are `Huge`.
enum Value {
    Integer(i128),
    Huge(u128),
    Real(Real),
}

/// Converts one number. Otherwise returns the fault, and the number as text.
pub(super) fn convert(conversion: &Conversion, src: &[u8], dst: &mut [u8]) -> Result<(), (Code, String)> {
    let Conversion { from, to, faults } = *conversion;
    let value = match from.class {
        NumberClass::Float(kind) => Value::Real(Real::read(kind, from.order, src)),
        NumberClass::Signed => Value::Integer(read_signed(from.order, src)),
        NumberClass::Unsigned | NumberClass::Boolean => match read_bits(from.order, src) {
            bits if bits > i128::MAX as u128 => Value::Huge(bits),
            bits => Value::Integer(bits as i128),
        },
    };
    match to.class {
        NumberClass::Float(kind) => real(&value, kind, to, faults, dst),
        class => whole(&value, class, to, faults, dst),
    }
}

/// The value of a 16-byte integer; those beyond `i128` become its largest.
pub(super) fn integer(number: Number, src: &[u8]) -> i128 {
    match number.class {
        NumberClass::Signed => read_signed(number.order, src),
        _ => read_bits(number.order, src).min(i128::MAX as u128) as i128,
    }
}

fn real(value: &Value, kind: FloatKind, to: Number, faults: Faults, dst: &mut [u8]) -> Result<(), (Code, String)> {
    let real = match *value {
        Value::Integer(value) => Real::from_signed(value),
        Value::Huge(value) => Real::from_unsigned(value),
        Value::Real(real) => real,
    };
    let fault = match real.write(kind, to.order, dst) {
        Rounding::Overflow => Some(Code::Overflow),
        Rounding::Underflow => Some(Code::Underflow),
        Rounding::Nearest if !matches!(value, Value::Real(_)) => Some(Code::Inexact),
        Rounding::Nearest | Rounding::Exact => None,
    };
    match (fault, faults) {
        (Some(code), Faults::Error) => Err((code, text(value))),
        (Some(Code::Overflow), Faults::Saturate) => {
            real.write_largest(kind, to.order, dst);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn whole(value: &Value, class: NumberClass, to: Number, faults: Faults, dst: &mut [u8]) -> Result<(), (Code, String)> {
    // Bits modulo 2^128, whether a fraction was lost, and where the number lies if it does not fit.
    let (bits, inexact, outside) = match *value {
        Value::Integer(value) => (value as u128, false, side(value, class, to.size)),
        Value::Huge(value) => (value, false, (class == NumberClass::Signed || to.size < 16).then_some(Side::Above)),
        Value::Real(real) => {
            let whole = real.to_integer();
            let side = match whole.beyond {
                Some(negative) => Some(if negative { Side::Below } else { Side::Above }),
                None if whole.negative => side((whole.magnitude as i128).wrapping_neg(), class, to.size),
                None if whole.magnitude > i128::MAX as u128 => {
                    (class == NumberClass::Signed || to.size < 16).then_some(Side::Above)
                }
                None => side(whole.magnitude as i128, class, to.size),
            };
            let bits = if whole.negative { whole.magnitude.wrapping_neg() } else { whole.magnitude };
            (bits, whole.inexact, side)
        }
    };
    let limit = |side: Side| match (side, class, to.size) {
        (Side::Below, NumberClass::Signed, size) => integer_range(true, size).0 as u128,
        (Side::Below, ..) => 0,
        (Side::Above, NumberClass::Boolean, _) => 1,
        (Side::Above, NumberClass::Unsigned, 16) => u128::MAX,
        (Side::Above, class, size) => integer_range(class == NumberClass::Signed, size).1 as u128,
    };
    let is_nan = matches!(value, Value::Real(real) if real.to_f64().is_nan());
    let bits = match (outside, faults) {
        (_, Faults::Error) if is_nan => return Err((Code::Overflow, text(value))),
        (Some(_), Faults::Error) => return Err((Code::Overflow, text(value))),
        (None, Faults::Error) if inexact => return Err((Code::Inexact, text(value))),
        (Some(_), _) if class == NumberClass::Boolean => 1,
        (Some(side), Faults::Saturate) => limit(side),
        _ => bits,
    };
    write_bits(to.order, dst, bits);
    Ok(())
}

#[derive(Clone, Copy)]
enum Side {
    Below,
    Above,
}

/// On which side of an integer type's range a number lies, if it does not lie within.
fn side(value: i128, class: NumberClass, size: u8) -> Option<Side> {
    let (low, high) = match class {
        NumberClass::Boolean => (0, 1),
        class => integer_range(class == NumberClass::Signed, size),
    };
    match value {
        _ if value < low => Some(Side::Below),
        _ if value > high => Some(Side::Above),
        _ => None,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Integer(value) => value.to_string(),
        Value::Huge(value) => value.to_string(),
        Value::Real(real) => shown(&real.to_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ByteOrder::{Big, Little};

    const F16: Number = Number { class: NumberClass::Float(FloatKind::Ieee), size: 2, order: Big };
    const F64: Number = Number { class: NumberClass::Float(FloatKind::Ieee), size: 8, order: Little };
    const QUAD: Number = Number { class: NumberClass::Float(FloatKind::Ieee), size: 16, order: Big };
    const X87: Number = Number { class: NumberClass::Float(FloatKind::X87), size: 16, order: Little };
    const I128: Number = Number { class: NumberClass::Signed, size: 16, order: Big };
    const U128: Number = Number { class: NumberClass::Unsigned, size: 16, order: Little };
    const I8: Number = Number { class: NumberClass::Signed, size: 1, order: Little };
    const U64: Number = Number { class: NumberClass::Unsigned, size: 8, order: Little };

    fn run(from: Number, to: Number, faults: Faults, src: &[u8]) -> Result<Vec<u8>, Code> {
        let mut dst = vec![0; to.size.into()];
        convert(&Conversion { from, to, faults }, src, &mut dst).map(|()| dst).map_err(|(code, _)| code)
    }

    #[test]
    fn integers_of_16_bytes() {
        let minus_two = (-2i128).to_be_bytes();
        assert_eq!(run(I128, I8, Faults::Error, &minus_two).unwrap(), [0xfe]);
        assert_eq!(run(I128, U128, Faults::Error, &minus_two), Err(Code::Overflow));
        assert_eq!(run(I128, U128, Faults::Saturate, &minus_two).unwrap(), [0; 16]);
        assert_eq!(run(I128, U128, Faults::Wrap, &minus_two).unwrap(), (-2i128).to_le_bytes());
        let huge = u128::MAX.to_le_bytes();
        assert_eq!(run(U128, I128, Faults::Error, &huge), Err(Code::Overflow));
        assert_eq!(run(U128, I128, Faults::Saturate, &huge).unwrap(), i128::MAX.to_be_bytes());
        assert_eq!(run(U128, I8, Faults::Wrap, &huge).unwrap(), [0xff]);
        assert_eq!(run(U128, F64, Faults::Error, &huge), Err(Code::Inexact));
        assert_eq!(run(U128, F64, Faults::Wrap, &huge).unwrap(), 2f64.powi(128).to_le_bytes());
        assert_eq!(run(U128, F16, Faults::Error, &huge), Err(Code::Overflow));
    }

    #[test]
    fn floats_of_every_kind_become_integers() {
        let f64_bytes = |value: f64| value.to_le_bytes();
        assert_eq!(run(F16, U64, Faults::Error, &[0x42, 0]).unwrap(), 3u64.to_le_bytes());
        assert_eq!(run(F16, U64, Faults::Error, &[0x3e, 0]), Err(Code::Inexact));
        assert_eq!(run(F16, U64, Faults::Saturate, &[0x3e, 0]).unwrap(), 1u64.to_le_bytes());
        assert_eq!(run(F16, U64, Faults::Error, &[0xbc, 0]), Err(Code::Overflow));
        assert_eq!(run(F16, I8, Faults::Error, &[0x7e, 0]), Err(Code::Overflow));
        assert_eq!(run(F16, I8, Faults::Wrap, &[0x7e, 0]).unwrap(), [0]);
        assert_eq!(run(F64, U128, Faults::Error, &f64_bytes(1e39)), Err(Code::Overflow));
        assert_eq!(run(F64, U128, Faults::Saturate, &f64_bytes(1e39)).unwrap(), [0xff; 16]);
        let past = 2f64.powi(128) + 2f64.powi(76);
        assert_eq!(run(F64, U128, Faults::Wrap, &f64_bytes(past)).unwrap(), (1u128 << 76).to_le_bytes());
        assert_eq!(run(F64, I128, Faults::Error, &f64_bytes(-2f64.powi(127))).unwrap(), i128::MIN.to_be_bytes());
        assert_eq!(run(F64, I128, Faults::Saturate, &f64_bytes(f64::NEG_INFINITY)).unwrap(), i128::MIN.to_be_bytes());
    }

    #[test]
    fn floats_of_every_kind_become_each_other() {
        let quarter = run(F64, QUAD, Faults::Error, &0.25f64.to_le_bytes()).unwrap();
        let x87 = run(QUAD, X87, Faults::Error, &quarter).unwrap();
        assert_eq!(run(X87, F16, Faults::Error, &x87).unwrap(), [0x34, 0]);
        assert_eq!(run(F64, F16, Faults::Error, &1e6f64.to_le_bytes()), Err(Code::Overflow));
        assert_eq!(run(F64, F16, Faults::Saturate, &(-1e6f64).to_le_bytes()).unwrap(), [0xfb, 0xff]);
        assert_eq!(run(F64, F16, Faults::Wrap, &1e6f64.to_le_bytes()).unwrap(), [0x7c, 0]);
        assert_eq!(run(F64, F16, Faults::Error, &1e-9f64.to_le_bytes()), Err(Code::Underflow));
        assert_eq!(run(F64, F16, Faults::Error, &0.1f64.to_le_bytes()).unwrap(), [0x2e, 0x66]);
    }
}
