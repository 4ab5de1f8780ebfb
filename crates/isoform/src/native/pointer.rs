//! Pointers to one value in native records, in a safe form.
//!
//! Invariant of [`Ref`]: (1) the address is 0, or the exposed and aligned address of an initialised value that does not
//! change for `'a`.

use super::{Fields, Native, Part, Placed};
use isoform_core::Rules;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::with_exposed_provenance;

/// A pointer in a record to one value, or to a fixed array, or null. In memory it is C's `const T *`.
///
/// ```
/// use isoform::Ref;
/// let origin = [0.0f64; 3];
/// assert_eq!(Ref::new(&origin).get(), Some(&origin));
/// assert_eq!(Ref::<f64>::NULL.get(), None);
/// ```
#[repr(transparent)]
pub struct Ref<'a, T> {
    address: usize,
    value: PhantomData<&'a T>,
}

impl<'a, T> Ref<'a, T> {
    /// A null pointer.
    pub const NULL: Ref<'a, T> = Ref { address: 0, value: PhantomData };

    /// Borrows a value.
    #[inline]
    pub fn new(value: &'a T) -> Ref<'a, T> {
        Ref { address: (&raw const *value).expose_provenance(), value: PhantomData } // (1)
    }

    /// The value, if there is one.
    #[inline]
    pub fn get(self) -> Option<&'a T> {
        // SAFETY: the address is not 0, so by (1) there is a value for 'a.
        (self.address != 0).then(|| unsafe { &*with_exposed_provenance(self.address) })
    }
}

// SAFETY: a pointer-sized slot, as an indirect field without dynamic dimensions is (1); null or the address of a valid
// value, or fixed array, is Ref's invariant (2); a `usize` (3, 4); for one lifetime (5). The value is aligned: asserted,
// given that T's promise (4) covers block alignment.
unsafe impl<'a, T: Native<'a>> Part<'a> for Ref<'a, T> {
    const DEPTH: usize = {
        assert!(align_of::<T>() <= 16, "what a record points at is aligned to at most 16 bytes");
        T::DEPTH
    };

    fn declare(placed: &Placed, fields: &mut Fields) {
        let mut dims = Vec::new();
        T::dims(&mut dims);
        fields.add(placed, T::element(), dims, true);
    }

    fn rules(rules: Rules) -> Rules {
        T::rules(rules)
    }
}

impl<T> Clone for Ref<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ref<'_, T> {}

impl<T> Default for Ref<'_, T> {
    fn default() -> Self {
        Ref::NULL
    }
}

impl<'a, T> From<&'a T> for Ref<'a, T> {
    fn from(value: &'a T) -> Self {
        Ref::new(value)
    }
}

impl<'a, T> From<Option<&'a T>> for Ref<'a, T> {
    fn from(value: Option<&'a T>) -> Self {
        value.map_or(Ref::NULL, Ref::new)
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(value) => fmt::Debug::fmt(value, f),
            None => f.write_str("null"),
        }
    }
}

impl<T: PartialEq> PartialEq for Ref<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}
