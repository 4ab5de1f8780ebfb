//! Arrays of any fixed length as serde's tuples, which serde itself offers for up to 32 elements. Named by the fields of
//! the [records](crate::records).

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// A number, a record of numbers, or an array of what is fixed.
pub trait Fixed: Sized {
    /// What an array holds until its elements come.
    const ZERO: Self;

    /// As `Serialize`.
    ///
    /// # Errors
    /// Those of the serializer.
    fn put<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// As `Deserialize`.
    ///
    /// # Errors
    /// Those of the deserializer.
    fn take<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error>;
}

/// What `#[serde(with)]` asks for.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<T: Fixed, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.put(serializer)
}

/// What `#[serde(with)]` asks for.
///
/// # Errors
/// Those of the deserializer.
pub fn deserialize<'d, T: Fixed, D: Deserializer<'d>>(deserializer: D) -> Result<T, D::Error> {
    T::take(deserializer)
}

/// Makes types fixed that serde knows.
macro_rules! fixed {
    ($($type:ty = $zero:expr,)*) => {$(
        impl Fixed for $type {
            const ZERO: Self = $zero;

            #[inline]
            fn put<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.serialize(serializer)
            }

            #[inline]
            fn take<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        }
    )*};
}

fixed! {
    i8 = 0,
    i16 = 0,
    i32 = 0,
    i64 = 0,
    f32 = 0.0,
    f64 = 0.0,
    crate::records::Cell = crate::records::Cell { kind: 0, x: 0.0, id: 0, count: 0, weight: 0.0, key: 0 },
}

impl<T: Fixed, const N: usize> Fixed for [T; N] {
    const ZERO: Self = [const { T::ZERO }; N];

    fn put<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(N)?;
        self.iter().try_for_each(|element| tuple.serialize_element(&Put(element)))?;
        tuple.end()
    }

    fn take<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(N, Elements(PhantomData))
    }
}

struct Put<'a, T>(&'a T);

impl<T: Fixed> Serialize for Put<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.put(serializer)
    }
}

struct Take<T>(T);

impl<'d, T: Fixed> Deserialize<'d> for Take<T> {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        T::take(deserializer).map(Take)
    }
}

struct Elements<T, const N: usize>(PhantomData<T>);

impl<'d, T: Fixed, const N: usize> Visitor<'d> for Elements<T, N> {
    type Value = [T; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{N} elements")
    }

    fn visit_seq<A: SeqAccess<'d>>(self, mut elements: A) -> Result<[T; N], A::Error> {
        let mut array: [T; N] = Fixed::ZERO;
        for (index, element) in array.iter_mut().enumerate() {
            let next = elements.next_element::<Take<T>>()?;
            *element = next.ok_or_else(|| A::Error::invalid_length(index, &self))?.0;
        }
        Ok(array)
    }
}
