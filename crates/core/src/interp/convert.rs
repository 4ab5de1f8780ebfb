//! Numbers of one type into numbers of another: integers up to 8 bytes and the two common floats, in runs.
//!
//! A run is loaded into a small buffer of `i64`, `u64` or `f64`, checked there, and stored: so the number of loops is the
//! sum of the types, not their product. The commonest pairs have [a kernel](isoform_kernels::convert()), while rarer kinds of
//! number go one by one through [`wide`].

use super::wide;
use crate::error::Code;
use crate::format::ByteOrder;
use crate::plan::{Conversion, Faults};
use crate::scalar::{is_zero, narrow};
use isoform_kernels::{Lane, Number, NumberClass};
use std::fmt::{Debug, Display};

/// A number that does not fit.
pub(super) struct Fault {
    pub(super) code: Code,
    pub(super) index: usize,
    pub(super) found: String,
}

/// This many numbers are converted at a time.
const RUN: usize = 64;

/// Converts each number of `src`. Both slices hold whole numbers, and equally many.
#[inline]
pub(super) fn convert(conversion: &Conversion, src: &[u8], dst: &mut [u8]) -> Result<(), Fault> {
    match isoform_kernels::convert(conversion.from, conversion.to, src, dst) {
        true => Ok(()),
        false => in_runs(conversion, src, dst),
    }
}

/// Converts numbers of any kind, and finds the one that does not fit.
fn in_runs(conversion: &Conversion, src: &[u8], dst: &mut [u8]) -> Result<(), Fault> {
    let Conversion { from, to, .. } = *conversion;
    let (from_size, to_size) = (usize::from(from.size), usize::from(to.size));
    let (Some(lane), Some(_)) = (from.lane(), to.lane()) else {
        for (index, (src, dst)) in src.chunks_exact(from_size).zip(dst.chunks_exact_mut(to_size)).enumerate() {
            wide::convert(conversion, src, dst).map_err(|(code, found)| Fault { code, index, found })?;
        }
        return Ok(());
    };
    let runs = src.chunks(RUN * from_size).zip(dst.chunks_mut(RUN * to_size));
    for (run, (src, dst)) in runs.enumerate() {
        let result = match lane {
            Lane::Signed => signed(conversion, src, dst),
            Lane::Unsigned => unsigned(conversion, src, dst),
            Lane::Float => float(conversion, src, dst),
        };
        result.map_err(|fault| Fault { index: run * RUN + fault.index, ..fault })?;
    }
    Ok(())
}

/// The value of one integer, enumeration or boolean.
pub(super) fn integer(number: Number, src: &[u8]) -> i128 {
    match number.lane() {
        Some(Lane::Signed) => load_signed(number, src)[0].into(),
        Some(_) => load_unsigned(number, src)[0].into(),
        None => wide::integer(number, src),
    }
}

/// Stores one integer, or its low bytes.
pub(super) fn store_integer(number: Number, value: i128, dst: &mut [u8]) {
    store(number.order, &[value as u64], dst);
}

fn signed(conversion: &Conversion, src: &[u8], dst: &mut [u8]) -> Result<(), Fault> {
    let Conversion { from, to, faults } = *conversion;
    let count = src.len() / usize::from(from.size);
    let mut values = load_signed(from, src);
    let values = &mut values[..count];
    match to.class {
        NumberClass::Float(_) => {
            check(faults, values, |&v| (!float_holds(v.unsigned_abs(), to.size)).then_some(Code::Inexact))?;
            if to.size == 4 {
                store_f32(to.order, values.iter().map(|&v| v as f32), dst);
            } else {
                store_f64(to.order, values.iter().map(|&v| v as f64), dst);
            }
        }
        _ => {
            let (low, high) = range(to);
            let (low, high) = (low.max(i64::MIN.into()) as i64, high.min(i64::MAX.into()) as i64);
            let outside = |&v: &i64| (v < low || v > high).then_some(Code::Overflow);
            match faults {
                Faults::Error => check(faults, values, outside)?,
                Faults::Saturate => values.iter_mut().for_each(|v| *v = (*v).clamp(low, high)),
                Faults::Wrap => {}
            }
            if to.class == NumberClass::Boolean && faults != Faults::Error {
                truths(&load_signed(from, src)[..count], 0, to, dst);
                return Ok(());
            }
            let mut bits = [0; RUN];
            bits.iter_mut().zip(&*values).for_each(|(bits, &v)| *bits = v as u64);
            store(to.order, &bits[..count], dst);
        }
    }
    Ok(())
}

fn unsigned(conversion: &Conversion, src: &[u8], dst: &mut [u8]) -> Result<(), Fault> {
    let Conversion { from, to, faults } = *conversion;
    let count = src.len() / usize::from(from.size);
    let mut values = load_unsigned(from, src);
    let values = &mut values[..count];
    match to.class {
        NumberClass::Float(_) => {
            check(faults, values, |&v| (!float_holds(v, to.size)).then_some(Code::Inexact))?;
            if to.size == 4 {
                store_f32(to.order, values.iter().map(|&v| v as f32), dst);
            } else {
                store_f64(to.order, values.iter().map(|&v| v as f64), dst);
            }
        }
        NumberClass::Boolean if faults != Faults::Error => truths(values, 0, to, dst),
        _ => {
            let high = range(to).1.min(u64::MAX.into()) as u64;
            match faults {
                Faults::Error => check(faults, values, |&v| (v > high).then_some(Code::Overflow))?,
                Faults::Saturate => values.iter_mut().for_each(|v| *v = (*v).min(high)),
                Faults::Wrap => {}
            }
            store(to.order, values, dst);
        }
    }
    Ok(())
}

fn float(conversion: &Conversion, src: &[u8], dst: &mut [u8]) -> Result<(), Fault> {
    let Conversion { from, to, faults } = *conversion;
    let count = src.len() / usize::from(from.size);
    let values = load_floats(from, src);
    let values = &values[..count];
    match to.class {
        NumberClass::Float(_) if to.size == 8 => store_f64(to.order, values.iter().copied(), dst),
        NumberClass::Float(_) => {
            check(faults, values, |&v| narrowing_fault(v))?;
            let limit = |v: f64| match faults {
                Faults::Saturate if v.is_finite() => narrow(v).clamp(f32::MIN, f32::MAX),
                _ => narrow(v),
            };
            store_f32(to.order, values.iter().map(|&v| limit(v)), dst);
        }
        _ => {
            let (low, high) = range(to);
            check(faults, values, |&v| integer_fault(v, low, high))?;
            let mut bits = [0; RUN];
            for (bits, &value) in bits.iter_mut().zip(values) {
                *bits = match faults {
                    Faults::Wrap => modulo(value),
                    // Casts saturate, and make 0 of NaN.
                    _ => (value as i128).clamp(low, high) as u64,
                };
            }
            store(to.order, &bits[..count], dst);
        }
    }
    Ok(())
}

/// A number for an error: with an exponent if it had hundreds of digits otherwise.
pub(super) fn shown<T: Display + Debug>(number: &T) -> String {
    let digits = number.to_string();
    if digits.len() > 24 { format!("{number:?}") } else { digits }
}

/// Finds the first number that does not fit, if that is an error.
fn check<T: Copy + Display + Debug>(
    faults: Faults,
    values: &[T],
    fault: impl Fn(&T) -> Option<Code>,
) -> Result<(), Fault> {
    if faults != Faults::Error || !values.iter().fold(false, |any, value| any | fault(value).is_some()) {
        return Ok(());
    }
    let found = values.iter().enumerate().find_map(|(index, value)| Some((index, value, fault(value)?)));
    found.map_or(Ok(()), |(index, value, code)| Err(Fault { code, index, found: shown(value) }))
}

/// Stores 1 for what is not `zero`.
fn truths<T: PartialEq>(values: &[T], zero: T, to: Number, dst: &mut [u8]) {
    let mut bits = [0; RUN];
    bits.iter_mut().zip(values).for_each(|(bits, value)| *bits = (*value != zero).into());
    store(to.order, &bits[..values.len()], dst);
}

/// The smallest and largest number of an integer type of up to 8 bytes.
fn range(number: Number) -> (i128, i128) {
    match number.class {
        NumberClass::Boolean => (0, 1),
        class => crate::format::integer_range(class == NumberClass::Signed, number.size),
    }
}

/// Whether an IEEE float of 4 or 8 bytes holds every digit of an integer of this magnitude.
fn float_holds(magnitude: u64, size: u8) -> bool {
    let digits = u64::BITS.saturating_sub(magnitude.leading_zeros() + magnitude.trailing_zeros());
    digits <= if size == 4 { 24 } else { 53 }
}

/// What is lost if a double becomes a float, beyond rounding.
fn narrowing_fault(value: f64) -> Option<Code> {
    let narrow = narrow(value);
    if narrow.is_infinite() && value.is_finite() {
        return Some(Code::Overflow);
    }
    (is_zero(narrow.into()) && !is_zero(value)).then_some(Code::Underflow)
}

/// What is lost if a float becomes an integer between `low` and `high`.
fn integer_fault(value: f64, low: i128, high: i128) -> Option<Code> {
    let whole = value as i128;
    if whole < low || whole > high || value.is_nan() {
        return Some(Code::Overflow);
    }
    (value.trunc() != value).then_some(Code::Inexact)
}

/// The integer part of a float, modulo 2^64; 0 for NaN and infinities.
fn modulo(value: f64) -> u64 {
    // From 2^127 on, every double is a multiple of 2^64.
    if value.abs() < 2f64.powi(127) { value as i128 as u64 } else { 0 }
}

/// Loads each number of `src` as a number of 64 bits, by way of the type that has its size.
macro_rules! load {
    ($number:ident, $src:ident, $one:ty, $two:ty, $four:ty, $eight:ty) => {{
        let mut values = [0; RUN];
        macro_rules! each {
            ($int:ty) => {
                for (value, bytes) in values.iter_mut().zip($src.as_chunks().0) {
                    *value = ordered($number.order, <$int>::from_le_bytes(*bytes), <$int>::swap_bytes).into();
                }
            };
        }
        match $number.size {
            1 => each!($one),
            2 => each!($two),
            4 => each!($four),
            _ => each!($eight),
        }
        values
    }};
}

fn load_signed(number: Number, src: &[u8]) -> [i64; RUN] {
    load!(number, src, i8, i16, i32, i64)
}

fn load_unsigned(number: Number, src: &[u8]) -> [u64; RUN] {
    load!(number, src, u8, u16, u32, u64)
}

fn load_floats(number: Number, src: &[u8]) -> [f64; RUN] {
    let bits = load_unsigned(number, src);
    match number.size {
        4 => bits.map(|bits| f32::from_bits(bits as u32).into()),
        _ => bits.map(f64::from_bits),
    }
}

#[inline]
fn ordered<T>(order: ByteOrder, value: T, swap: impl Fn(T) -> T) -> T {
    if order == ByteOrder::Little { value } else { swap(value) }
}

/// Stores the low bytes of each number.
fn store(order: ByteOrder, values: &[u64], dst: &mut [u8]) {
    macro_rules! store {
        ($int:ty) => {{
            let (chunks, _) = dst.as_chunks_mut();
            for (bytes, &value) in chunks.iter_mut().zip(values) {
                *bytes = ordered(order, value as $int, <$int>::swap_bytes).to_le_bytes();
            }
        }};
    }
    match dst.len() / values.len().max(1) {
        1 => store!(u8),
        2 => store!(u16),
        4 => store!(u32),
        _ => store!(u64),
    }
}

fn store_f32(order: ByteOrder, values: impl Iterator<Item = f32>, dst: &mut [u8]) {
    let (chunks, _) = dst.as_chunks_mut();
    for (bytes, value) in chunks.iter_mut().zip(values) {
        *bytes = ordered(order, value.to_bits(), u32::swap_bytes).to_le_bytes();
    }
}

fn store_f64(order: ByteOrder, values: impl Iterator<Item = f64>, dst: &mut [u8]) {
    let (chunks, _) = dst.as_chunks_mut();
    for (bytes, value) in chunks.iter_mut().zip(values) {
        *bytes = ordered(order, value.to_bits(), u64::swap_bytes).to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::FloatKind;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = Number> {
        let integer = (any::<bool>(), prop::sample::select(vec![1u8, 2, 4, 8]))
            .prop_map(|(signed, size)| (if signed { NumberClass::Signed } else { NumberClass::Unsigned }, size));
        let boolean = prop::sample::select(vec![1u8, 2, 4, 8]).prop_map(|size| (NumberClass::Boolean, size));
        let float = prop::sample::select(vec![4u8, 8]).prop_map(|size| (NumberClass::Float(FloatKind::Ieee), size));
        let order = prop::sample::select(vec![ByteOrder::Little, ByteOrder::Big]);
        (prop_oneof![3 => integer, 1 => boolean, 2 => float], order).prop_map(|((class, size), order)| Number {
            class,
            size,
            order,
        })
    }

    /// Bits among which the borders of all types are frequent.
    fn bits() -> impl Strategy<Value = u64> {
        let power = (0u32..64, -2i64..3).prop_map(|(shift, by)| (1u64 << shift).wrapping_add(by as u64));
        let double = prop_oneof![
            (-70i32..140, -1.5f64..1.5).prop_map(|(exponent, digits)| digits * 2f64.powi(exponent)),
            (-300i64..300).prop_map(|n| n as f64),
            any::<f64>(),
            prop::sample::select(vec![f64::NAN, f64::INFINITY, -0.0, f32::MAX.into(), 3.5e38, 1e-46, 9.3e18, 1.9e19]),
        ];
        prop_oneof![any::<u64>(), power, double.prop_map(f64::to_bits), (0u64..3).prop_map(|n| n)]
    }

    fn source(from: Number, bits: u64) -> Vec<u8> {
        let bits = match (from.class, from.size) {
            (NumberClass::Boolean, _) => bits & 1,
            (NumberClass::Float(_), 4) => (f64::from_bits(bits) as f32).to_bits().into(),
            _ => bits,
        };
        let mut bytes = vec![0; from.size.into()];
        crate::scalar::write_bits(from.order, &mut bytes, bits.into());
        bytes
    }

    proptest! {
        /// Runs and single numbers agree, in results and in faults.
        #[test]
        fn runs_do_what_single_numbers_do(
            from in number(),
            to in number(),
            bits in prop::collection::vec(bits(), 1..150),
            faults in prop::sample::select(vec![Faults::Error, Faults::Saturate, Faults::Wrap]),
        ) {
            let never_planned = matches!((from.class, to.class), (NumberClass::Float(_), NumberClass::Boolean));
            prop_assume!(!never_planned);
            let conversion = Conversion { from, to, faults };
            let src: Vec<u8> = bits.iter().flat_map(|&bits| source(from, bits)).collect();
            let mut runs = vec![0; bits.len() * usize::from(to.size)];
            let result = convert(&conversion, &src, &mut runs);
            let numbers = src.chunks(from.size.into()).zip(runs.chunks(to.size.into()));
            for (index, (src, run)) in numbers.enumerate() {
                let mut single = vec![0; to.size.into()];
                match wide::convert(&conversion, src, &mut single) {
                    Err((code, _)) => {
                        let fault = result.expect_err("a fault of a single number is one of the run");
                        prop_assert_eq!((fault.code, fault.index), (code, index));
                        return Ok(());
                    }
                    Ok(()) if result.is_ok() => {
                        let nan = |bytes: &[u8]| match (to.class, crate::scalar::read_bits(to.order, bytes)) {
                            (NumberClass::Float(_), bits) if to.size == 4 => f32::from_bits(bits as u32).is_nan(),
                            (NumberClass::Float(_), bits) => f64::from_bits(bits as u64).is_nan(),
                            _ => false,
                        };
                        prop_assert!(run == single || nan(run) && nan(&single), "{index}: {run:02x?} {single:02x?}");
                    }
                    Ok(()) => {}
                }
            }
            prop_assert!(result.is_ok(), "a fault that no single number has");
        }
    }
}
