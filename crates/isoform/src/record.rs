//! What a Rust type must be to be sent and received, and how types that own their parts get there.
//!
//! A `#[repr(C)]` record is its own native form. One that owns `String`s and `Vec`s has a hidden `#[repr(C)]` twin with
//! [`Str`] and [`Slice`] in their places: it is *lowered* to the twin to be encoded, and *raised* from it when it was
//! decoded. Elements that need no lowering are borrowed, not copied.

use crate::native::scratch::Scratch;
use crate::native::{Flat, Native, Part, Ref, Slice, Str};
use isoform_core::{Error, Format, Result, Rules};
use std::ffi::CString;

/// A struct that can be sent and received. Derived, see [`derive@Record`](macro@crate::Record).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record",
    note = "derive `isoform::Record` for it, with `#[repr(C)]` if it owns no `String` or `Vec`"
)]
pub trait Record: Sized {
    /// Its form in memory: itself, borrowing for `'a` what it borrows; or if it owns `String`s and `Vec`s, a struct
    /// with fields of the same names that holds [`Str`] and [`Slice`] for them.
    type Native<'a>: Native<'a>
    where
        Self: 'a;

    /// The same struct, with `'static` for its lifetimes: an [`Encoder`](crate::Encoder) outlives the records that it encodes.
    type Static: Record<Static = Self::Static> + 'static;

    /// The format of its native form.
    ///
    /// # Panics
    /// If the declaration contradicts itself in a way that the derive cannot see: two fields of one name, one of them the
    /// length of an array; two nested records of one name; a limit of `spec/format.md` passed.
    fn format() -> &'static Format;

    /// What its declaration says beyond the format: aliases, defaults, what is required.
    fn rules() -> Rules;

    /// Its native form.
    #[doc(hidden)]
    fn native<'a>(&'a self, scratch: &'a Scratch) -> Result<&'a <Self::Static as Record>::Native<'a>>;
}

/// A value that owns all that it holds: numbers, `String`, `Option<String>`, `CString`, fixed arrays of such, and
/// records that borrow nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a record that owns its parts",
    label = "not a part of an owned record",
    note = "parts are numbers, `bool`, `String`, `Option<String>`, `CString`, `[T; N]`, `Vec<T>`, `Option<Box<T>>`, and \
            types that derive `Record` or `Enumeration` and borrow nothing"
)]
pub trait Owned: Sized + 'static {
    /// Its form in memory.
    #[doc(hidden)]
    type Native<'a>: Native<'a>;

    /// Its native form, borrowing from itself and `scratch`.
    #[doc(hidden)]
    fn lower<'a>(&'a self, scratch: &'a Scratch) -> Result<Self::Native<'a>>;

    /// The value of a native form.
    #[doc(hidden)]
    fn raise(native: &Self::Native<'_>) -> Result<Self>;

    /// The native forms of many.
    #[doc(hidden)]
    fn lower_all<'a>(values: &'a [Self], scratch: &'a Scratch) -> Result<&'a [Self::Native<'a>]> {
        scratch.collect(values.iter().enumerate().map(|(i, value)| value.lower(scratch).map_err(|e| at(e, i))))
    }

    /// The values of many native forms.
    #[doc(hidden)]
    fn raise_all(natives: &[Self::Native<'_>]) -> Result<Vec<Self>> {
        natives.iter().enumerate().map(|(i, native)| Self::raise(native).map_err(|e| at(e, i))).collect()
    }
}

/// A field of a record that owns its parts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a record that owns its parts",
    label = "not a field of an owned record",
    note = "fields are numbers, `bool`, `String`, `Option<String>`, `CString`, `[T; N]`, `Vec<T>`, `Option<Box<T>>`, and \
            types that derive `Record` or `Enumeration` and borrow nothing"
)]
pub trait OwnedPart: Sized + 'static {
    /// Its form in memory.
    type Native<'a>: Part<'a>;

    /// As [`Owned::lower`].
    fn lower<'a>(&'a self, scratch: &'a Scratch) -> Result<Self::Native<'a>>;

    /// As [`Owned::raise`].
    fn raise(native: &Self::Native<'_>) -> Result<Self>;
}

#[cold]
fn at(error: Error, index: usize) -> Error {
    error.within(&format!("[{index}]"))
}

#[diagnostic::do_not_recommend]
impl<T: Owned> OwnedPart for T {
    type Native<'a> = <T as Owned>::Native<'a>;

    fn lower<'a>(&'a self, scratch: &'a Scratch) -> Result<Self::Native<'a>> {
        Owned::lower(self, scratch)
    }

    fn raise(native: &Self::Native<'_>) -> Result<Self> {
        Owned::raise(native)
    }
}

impl<T: Owned> OwnedPart for Vec<T> {
    type Native<'a> = Slice<'a, T::Native<'a>>;

    fn lower<'a>(&'a self, scratch: &'a Scratch) -> Result<Self::Native<'a>> {
        T::lower_all(self, scratch).map(Slice::from)
    }

    fn raise(native: &Self::Native<'_>) -> Result<Self> {
        T::raise_all(native)
    }
}

impl<T: Owned> OwnedPart for Option<Box<T>> {
    type Native<'a> = Ref<'a, T::Native<'a>>;

    fn lower<'a>(&'a self, scratch: &'a Scratch) -> Result<Self::Native<'a>> {
        let Some(value) = self else { return Ok(Ref::NULL) };
        Ok(T::lower_all(std::slice::from_ref(value), scratch)?.first().into())
    }

    fn raise(native: &Self::Native<'_>) -> Result<Self> {
        native.get().map(|native| T::raise(native).map(Box::new)).transpose()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Flat> Owned for T {
    type Native<'a> = T;

    fn lower<'a>(&'a self, _: &'a Scratch) -> Result<T> {
        Ok(crate::native::copy(self))
    }

    fn raise(native: &T) -> Result<T> {
        Ok(crate::native::copy(native))
    }

    fn lower_all<'a>(values: &'a [T], _: &'a Scratch) -> Result<&'a [T]> {
        Ok(values)
    }

    fn raise_all(natives: &[T]) -> Result<Vec<T>> {
        Ok(crate::native::copy_all(natives))
    }
}

impl<T: Owned, const N: usize> Owned for [T; N] {
    type Native<'a> = [T::Native<'a>; N];

    fn lower<'a>(&'a self, scratch: &'a Scratch) -> Result<Self::Native<'a>> {
        try_array(|i| self[i].lower(scratch))
    }

    fn raise(native: &Self::Native<'_>) -> Result<Self> {
        try_array(|i| T::raise(&native[i]))
    }

    fn lower_all<'a>(values: &'a [Self], scratch: &'a Scratch) -> Result<&'a [Self::Native<'a>]> {
        Ok(T::lower_all(values.as_flattened(), scratch)?.as_chunks().0)
    }
}

/// An array of what `value` makes of the indices.
fn try_array<T, const N: usize>(mut value: impl FnMut(usize) -> Result<T>) -> Result<[T; N]> {
    let mut fault = None;
    let values: [Option<T>; N] = std::array::from_fn(|i| match fault {
        None => value(i).map_err(|error| fault = Some(at(error, i))).ok(),
        Some(_) => None,
    });
    match fault {
        Some(error) => Err(error),
        None => Ok(values.map(|value| value.unwrap_or_else(|| unreachable!("no value failed")))),
    }
}

impl Owned for String {
    type Native<'a> = Str<'a>;

    fn lower<'a>(&'a self, scratch: &'a Scratch) -> Result<Str<'a>> {
        scratch.string(self.as_bytes())
    }

    fn raise(native: &Str<'_>) -> Result<String> {
        native.to_str().map(Into::into)
    }
}

impl Owned for Option<String> {
    type Native<'a> = Str<'a>;

    fn lower<'a>(&'a self, scratch: &'a Scratch) -> Result<Str<'a>> {
        self.as_ref().map_or(Ok(Str::NULL), |text| Owned::lower(text, scratch))
    }

    fn raise(native: &Str<'_>) -> Result<Option<String>> {
        if native.is_null() { Ok(None) } else { <String as Owned>::raise(native).map(Some) }
    }
}

impl Owned for Option<CString> {
    type Native<'a> = Str<'a>;

    fn lower<'a>(&'a self, _: &'a Scratch) -> Result<Str<'a>> {
        Ok(self.as_deref().into())
    }

    fn raise(native: &Str<'_>) -> Result<Option<CString>> {
        Ok(native.to_c_str().map(Into::into))
    }
}

impl Owned for CString {
    type Native<'a> = Str<'a>;

    fn lower<'a>(&'a self, _: &'a Scratch) -> Result<Str<'a>> {
        Ok(Str::new(self))
    }

    fn raise(native: &Str<'_>) -> Result<CString> {
        Ok(native.to_c_str().unwrap_or_default().into())
    }
}
