//! Strings in native records: C's `char *`, in a safe form.
//!
//! Invariant of [`Str::address`]: (1) it is 0, or the exposed address of bytes that end with a NUL, are initialised, and do
//! not change for `'a`.

use super::Native;
use isoform_core::{Code, Element, Error, Result};
use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::with_exposed_provenance;

/// A string in a record: a pointer to bytes that end with a NUL, or null. In memory it is C's `const char *`.
///
/// ```
/// use isoform::Str;
/// let name = Str::new(c"Kiel");
/// assert_eq!(name.to_str()?, "Kiel");
/// assert!(Str::NULL.is_null() && Str::NULL.to_bytes().is_empty());
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Str<'a> {
    address: usize,
    bytes: PhantomData<&'a CStr>,
}

impl<'a> Str<'a> {
    /// The null string, which differs from the empty one.
    pub const NULL: Str<'static> = Str { address: 0, bytes: PhantomData };

    /// Borrows a string.
    #[inline]
    pub fn new(text: &'a CStr) -> Str<'a> {
        Str { address: text.as_ptr().expose_provenance(), bytes: PhantomData } // (1)
    }

    /// Whether it is null.
    #[inline]
    pub fn is_null(self) -> bool {
        self.address == 0
    }

    /// The string with its NUL, unless it is null.
    #[inline]
    pub fn to_c_str(self) -> Option<&'a CStr> {
        // SAFETY: the address is not 0, so by (1) there are bytes up to a NUL, which stay for 'a.
        (!self.is_null()).then(|| unsafe { CStr::from_ptr(with_exposed_provenance(self.address)) })
    }

    /// Its bytes without the NUL; none if it is null.
    #[inline]
    pub fn to_bytes(self) -> &'a [u8] {
        self.to_c_str().map_or(&[], CStr::to_bytes)
    }

    /// Its text; empty if it is null.
    ///
    /// # Errors
    /// [`Code::Utf8`] if its bytes are not UTF-8.
    pub fn to_str(self) -> Result<&'a str> {
        std::str::from_utf8(self.to_bytes()).map_err(|error| Error::new(Code::Utf8).found(error))
    }
}

// SAFETY: (1) a pointer-sized slot, as `Element::String` is; (2) a null or exposed address of a NUL-terminated string is
// what Str's invariant asks for; (3) a `usize`; (4) aligned as a pointer; (5) it is `Native` for one lifetime only.
unsafe impl<'a> Native<'a> for Str<'a> {
    const DEPTH: usize = 0;

    fn element() -> Element {
        Element::String
    }
}

impl<'a> From<&'a CStr> for Str<'a> {
    fn from(text: &'a CStr) -> Str<'a> {
        Str::new(text)
    }
}

impl<'a> From<Option<&'a CStr>> for Str<'a> {
    fn from(text: Option<&'a CStr>) -> Str<'a> {
        text.map_or(Str::NULL, Str::new)
    }
}

impl Default for Str<'_> {
    fn default() -> Self {
        Str::NULL
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_c_str() {
            Some(text) => fmt::Debug::fmt(text, f),
            None => f.write_str("null"),
        }
    }
}

impl PartialEq for Str<'_> {
    /// Whether both are null, or have the same bytes.
    fn eq(&self, other: &Self) -> bool {
        self.to_c_str() == other.to_c_str()
    }
}

impl Eq for Str<'_> {}
