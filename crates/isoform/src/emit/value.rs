//! The values that can be emitted.

use crate::native::scratch::Scratch;
use crate::native::{Array, Native, Part, Str, Strided};
use crate::record::{Owned, OwnedPart};
use isoform_core::Result;
use std::ffi::CStr;

/// A value that [`emit!`](crate::emit!) takes: whatever an owned [`Record`](macro@crate::Record) can have as a field, and slices, text, and
/// arrays that are borrowed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be emitted",
    note = "numbers, `bool`, text, arrays, `Vec<T>`, slices, and types that derive `Record` or `Enumeration` can"
)]
pub trait Value {
    /// As a part of a record.
    #[doc(hidden)]
    type Part<'a>: Part<'a>
    where
        Self: 'a;

    /// The part of a record, which borrows from the value and from `scratch`.
    #[doc(hidden)]
    fn emitted<'a>(&'a self, scratch: &'a Scratch) -> Result<Self::Part<'a>>;
}

impl<T: OwnedPart> Value for T {
    type Part<'a> = T::Native<'a>;

    fn emitted<'a>(&'a self, scratch: &'a Scratch) -> Result<Self::Part<'a>> {
        self.lower(scratch)
    }
}

impl<T: Owned> Value for [T] {
    type Part<'a> = Array<'a, T::Native<'a>, 1>;

    fn emitted<'a>(&'a self, scratch: &'a Scratch) -> Result<Self::Part<'a>> {
        T::lower_all(self, scratch).map(Array::from)
    }
}

impl Value for str {
    type Part<'a> = Str<'a>;

    fn emitted<'a>(&'a self, scratch: &'a Scratch) -> Result<Str<'a>> {
        scratch.string(self.as_bytes())
    }
}

impl Value for CStr {
    type Part<'a> = Str<'a>;

    fn emitted<'a>(&'a self, _: &'a Scratch) -> Result<Str<'a>> {
        Ok(Str::new(self))
    }
}

impl Value for Str<'_> {
    type Part<'a>
        = Str<'a>
    where
        Self: 'a;

    fn emitted<'a>(&'a self, _: &'a Scratch) -> Result<Str<'a>> {
        Ok(*self)
    }
}

impl<T: for<'a> Native<'a>, const N: usize> Value for Array<'_, T, N> {
    type Part<'a>
        = Array<'a, T, N>
    where
        Self: 'a;

    fn emitted<'a>(&'a self, _: &'a Scratch) -> Result<Array<'a, T, N>> {
        Ok(*self)
    }
}

impl<T: for<'a> Native<'a>, const N: usize> Value for Strided<'_, T, N> {
    type Part<'a>
        = Array<'a, T, N>
    where
        Self: 'a;

    fn emitted<'a>(&'a self, scratch: &'a Scratch) -> Result<Array<'a, T, N>> {
        scratch.gather(self)
    }
}
