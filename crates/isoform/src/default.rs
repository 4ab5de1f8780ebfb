//! The values of `#[isoform(default = ..)]`.

use crate::native::{Bf16, Char, Complex, DoubleDouble, F16, F128, Real, Str, X87};
use isoform_core::Value;
use std::ffi::CString;

/// A type of field that can have a default.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` cannot have a default",
    note = "numbers, `bool`, enumerations, strings and fixed arrays can"
)]
pub trait Defaulted {
    /// The type of the default in the attribute.
    type Value;

    /// Converts the default into a value for a plan.
    fn value(value: Self::Value) -> Value;
}

/// The default of a field of type `T`, as a value for a plan.
pub fn default<T: Defaulted>(value: T::Value) -> Value {
    T::value(value)
}

macro_rules! defaulted {
    ($($type:ty = $value:ident: $from:ty => $to:expr;)*) => { $(
        impl Defaulted for $type {
            type Value = $from;

            fn value($value: $from) -> Value {
                $to
            }
        }
    )* };
}

defaulted! {
    i8 = value: i8 => Value::Integer(value.into());
    i16 = value: i16 => Value::Integer(value.into());
    i32 = value: i32 => Value::Integer(value.into());
    i64 = value: i64 => Value::Integer(value.into());
    i128 = value: i128 => Value::Integer(value);
    isize = value: isize => Value::Integer(value as i128);
    u8 = value: u8 => Value::Integer(value.into());
    u16 = value: u16 => Value::Integer(value.into());
    u32 = value: u32 => Value::Integer(value.into());
    u64 = value: u64 => Value::Integer(value.into());
    u128 = value: u128 => value.try_into().map_or(Value::Unsigned(value), Value::Integer);
    usize = value: usize => Value::Integer(value as i128);
    f32 = value: f32 => Value::Float(value.into());
    f64 = value: f64 => Value::Float(value);
    F16 = value: f32 => Value::Float(value.into());
    Bf16 = value: f32 => Value::Float(value.into());
    F128 = value: f64 => Value::Float(value);
    X87 = value: f64 => Value::Float(value);
    DoubleDouble = value: f64 => Value::Float(value);
    bool = value: bool => Value::Boolean(value);
    Char = value: u8 => Value::Char(value);
    Str<'_> = value: &'static str => Value::String(value.into());
    String = value: &'static str => Value::String(value.into());
    Option<String> = value: &'static str => Value::String(value.into());
    CString = value: &'static str => Value::String(value.into());
    Option<CString> = value: &'static str => Value::String(value.into());
}

impl<T: Real + Defaulted> Defaulted for Complex<T> {
    type Value = Complex<T::Value>;

    fn value(value: Self::Value) -> Value {
        Value::Complex(Box::new([T::value(value.re), T::value(value.im)]))
    }
}

impl<T: Defaulted, const N: usize> Defaulted for [T; N] {
    type Value = [T::Value; N];

    fn value(values: Self::Value) -> Value {
        Value::Array(values.into_iter().map(T::value).collect())
    }
}
