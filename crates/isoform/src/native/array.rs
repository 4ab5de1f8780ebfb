//! Arrays of any length in native records: a safe form of a pointer followed by its lengths.
//!
//! Invariant of [`Array`]: (1) if there are `dims` and none of them is 0, their product does not overflow, and `address` is the exposed and
//! aligned address of so many initialised elements, which do not change for `'a`.

use super::{Fields, Native, Part, Placed};
use isoform_core::{Code, Error, Result, Rules};
use std::fmt;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ops::Deref;
use std::ptr::with_exposed_provenance;

/// An array in a record with `N` dimensions, which may differ in each record. In memory it is a pointer to the
/// elements, in row-major order, followed by the lengths: `T *data; size_t n0, n1;` in C.
///
/// In the format it is the pointer field and one field for each length. For a [`Slice`] named `points`, the length is
/// `points_len`; with more dimensions, the lengths are `points_dim0` and so on. The attribute `len` sets other names.
///
/// ```
/// use isoform::Array;
/// let rho = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let grid = Array::new(&rho, [2, 3])?;
/// assert_eq!(grid.dims(), [2, 3]);
/// assert_eq!(grid.at([1, 0]), Some(&4.0));
/// assert_eq!(grid.iter().sum::<f64>(), 21.0);
/// # Ok::<(), isoform::Error>(())
/// ```
#[repr(C)]
pub struct Array<'a, T, const N: usize> {
    address: usize,
    dims: [usize; N],
    elements: PhantomData<&'a [T]>,
}

/// An array of one dimension: a pointer and a length.
///
/// ```
/// use isoform::Slice;
/// let samples = vec![0.5, 0.25];
/// let slice = Slice::from(&samples[..]);
/// assert_eq!(slice.len(), 2);
/// assert_eq!(slice[1], 0.25);
/// ```
pub type Slice<'a, T> = Array<'a, T, 1>;

impl<'a, T, const N: usize> Array<'a, T, N> {
    /// Borrows elements, in row-major order, as an array of these dimensions.
    ///
    /// # Errors
    /// [`Code::Shape`] if their number is not the product of the dimensions.
    pub fn new(elements: &'a [T], dims: [usize; N]) -> Result<Array<'a, T, N>> {
        if count(&dims) != Some(elements.len()) {
            let error = Error::new(Code::Shape).expected(format_args!("{dims:?} elements"));
            return Err(error.found(elements.len()));
        }
        Ok(Array { address: address(elements), dims, elements: PhantomData }) // (1)
    }

    /// The dimensions, with the slowest-varying first.
    #[inline]
    pub fn dims(&self) -> [usize; N] {
        self.dims
    }

    /// The elements, in row-major order.
    #[inline]
    pub fn as_slice(&self) -> &'a [T] {
        match count(&self.dims) {
            None | Some(0) => &[],
            // SAFETY: there are dimensions, none of which is 0, so by (1) there are so many elements for 'a.
            Some(count) => unsafe { std::slice::from_raw_parts(with_exposed_provenance(self.address), count) },
        }
    }

    /// The element at these indices, one for each dimension.
    #[inline]
    pub fn at(&self, indices: [usize; N]) -> Option<&'a T> {
        let inside = indices.iter().zip(&self.dims).all(|(index, dim)| index < dim);
        let flat = indices.iter().zip(&self.dims).fold(0usize, |flat, (index, dim)| flat.wrapping_mul(*dim) + index);
        if inside { self.as_slice().get(flat) } else { None }
    }
}

/// The number of elements: 0 without dimensions, and `None` if it overflows.
#[inline]
fn count(dims: &[usize]) -> Option<usize> {
    if dims.is_empty() || dims.contains(&0) {
        return Some(0);
    }
    dims.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim))
}

/// The exposed address of elements, or 0 if there are none.
#[inline]
fn address<T>(elements: &[T]) -> usize {
    if elements.is_empty() { 0 } else { elements.as_ptr().expose_provenance() }
}

// SAFETY: it adds a pointer field and its lengths, where `repr(C)` puts them (1). If the format's array is valid, with
// the product of the lengths, Array's invariant holds (2). It holds nothing but `usize` (3, 4). A pointer is good for
// one lifetime (5). Elements are aligned: asserted, given that T's promise (4) covers block alignment.
unsafe impl<'a, T: Native<'a>, const N: usize> Part<'a> for Array<'a, T, N> {
    const DEPTH: usize = {
        assert!(N > 0 && N <= isoform_core::format::MAX_RANK, "an array has 1 to 8 dimensions");
        assert!(align_of::<T>() <= 16, "elements of arrays are aligned to at most 16 bytes");
        T::DEPTH
    };

    fn declare(placed: &Placed, fields: &mut Fields) {
        let lengths = placed.offset + offset_of!(Self, dims);
        let length = |axis| fields.length(placed, lengths + axis * size_of::<usize>(), axis, N);
        let mut dims: Vec<_> = (0..N).map(length).collect();
        T::dims(&mut dims);
        const { assert!(offset_of!(Self, address) == 0) }
        fields.add(placed, T::element(), dims, true);
    }

    fn rules(rules: Rules) -> Rules {
        T::rules(rules)
    }
}

impl<T, const N: usize> Clone for Array<'_, T, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const N: usize> Copy for Array<'_, T, N> {}

impl<T, const N: usize> Default for Array<'_, T, N> {
    /// An array without elements.
    fn default() -> Self {
        Array { address: 0, dims: [0; N], elements: PhantomData } // (1)
    }
}

impl<'a, T> From<&'a [T]> for Slice<'a, T> {
    #[inline]
    fn from(elements: &'a [T]) -> Self {
        Array { address: address(elements), dims: [elements.len()], elements: PhantomData } // (1)
    }
}

impl<'a, T> From<&'a Vec<T>> for Slice<'a, T> {
    fn from(elements: &'a Vec<T>) -> Self {
        elements.as_slice().into()
    }
}

impl<'a, T, const M: usize> From<&'a [T; M]> for Slice<'a, T> {
    fn from(elements: &'a [T; M]) -> Self {
        elements.as_slice().into()
    }
}

impl<T, const N: usize> Deref for Array<'_, T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for Array<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if N > 1 {
            write!(f, "{:?}", self.dims)?;
        }
        fmt::Debug::fmt(self.as_slice(), f)
    }
}

impl<T: PartialEq, const N: usize> PartialEq for Array<'_, T, N> {
    fn eq(&self, other: &Self) -> bool {
        self.dims == other.dims && self.as_slice() == other.as_slice()
    }
}

impl<T: Eq, const N: usize> Eq for Array<'_, T, N> {}
