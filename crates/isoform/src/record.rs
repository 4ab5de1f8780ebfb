//! The traits of Rust types that can be sent and received, and the conversion of types that own their parts.
//!
//! A `#[repr(C)]` record is its own native form. A record that owns `String`s and `Vec`s has a hidden `#[repr(C)]`
//! twin, with [`Str`] and [`Slice`] in their places. Encoding *lowers* the record to the twin, and decoding *raises*
//! the twin to a record. Elements that need no lowering are borrowed, not copied.

use crate::native::scratch::Scratch;
use crate::native::{Flat, Native, Part, Ref, Slice, Str};
use isoform_core::{Error, Format, Result, Rules};
use std::ffi::CString;

/// A struct that can be sent and received. Derive it with [`derive@Record`](macro@crate::Record).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record",
    note = "derive `isoform::Record` for it, with `#[repr(C)]` if it owns no `String` or `Vec`"
)]
pub trait Record: Sized {
    /// Its native form: the struct itself, which borrows for `'a`; or, if it owns `String`s and `Vec`s, a struct with
    /// the same field names and with [`Str`] and [`Slice`] in their places.
    type Native<'a>: Native<'a>
    where
        Self: 'a;

    /// The same struct with `'static` for its lifetimes, since an [`Encoder`](crate::Encoder) outlives the records that
    /// it encodes.
    type Static: Record<Static = Self::Static> + 'static;

    /// The format of its native form.
    ///
    /// # Panics
    /// If the declaration contradicts itself in a way that the derive cannot detect: two fields have the same name, and
    /// one is the length of an array; two nested records have the same name; or a limit of `spec/format.md` is
    /// exceeded.
    fn format() -> &'static Format;

    /// The rules of its declaration: aliases, defaults and required fields.
    fn rules() -> Rules;

    /// Its native form.
    #[doc(hidden)]
    fn native<'a>(&'a self, scratch: &'a Scratch) -> Result<&'a <Self::Static as Record>::Native<'a>>;
}

/// The format of a record's native form, from the promises of its type.
pub(crate) fn native_format<'a, T: Record + 'a>() -> Format {
    crate::native::format::<T::Native<'a>>()
}

/// A value that owns all of its parts: numbers, `String`, `Option<String>`, `CString`, fixed arrays of these, and
/// records that borrow nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a record that owns its parts",
    label = "not a part of an owned record",
    note = "parts are numbers, `bool`, `String`, `Option<String>`, `CString`, `[T; N]`, `Vec<T>`, `Option<Box<T>>`, and \
            types that derive `Record` or `Enumeration` and borrow nothing"
)]
pub trait Owned: Sized + 'static {
    /// Its native form.
    #[doc(hidden)]
    type Native<'a>: Native<'a>;

    /// Its native form, which borrows from the value and from `scratch`.
    #[doc(hidden)]
    fn lower<'a>(&'a self, scratch: &'a Scratch) -> Result<Self::Native<'a>>;

    /// The value of a native form.
    #[doc(hidden)]
    fn raise(native: &Self::Native<'_>) -> Result<Self>;

    /// The native forms of many values.
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

/// The type of a field in a record that owns its parts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a record that owns its parts",
    label = "not a field of an owned record",
    note = "fields are numbers, `bool`, `String`, `Option<String>`, `CString`, `[T; N]`, `Vec<T>`, `Option<Box<T>>`, and \
            types that derive `Record` or `Enumeration` and borrow nothing"
)]
pub trait OwnedPart: Sized + 'static {
    /// Its native form.
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

/// An array of the results of `value` for each index.
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
