//! Arrays whose elements are not contiguous: a column of a matrix, every second sample, a field of each record.
//!
//! The arrays of a record are contiguous, on the wire as in memory. Other arrays are gathered into an encoder's scratch
//! when they are sent, so that the program need not copy them first.
//!
//! Invariant of [`Strided`]: (1) if none of `dims` is 0, their product and the bytes of so many elements are at most
//! `isize::MAX`; and for indices that are less than them, `base` plus the sum of each index times its stride is within one
//! allocation, and the address of an element of the type, which does not change for `'a`. It need not be aligned.

use super::scratch::Scratch;
use super::{Array, Native};
use isoform_core::format::MAX_RANK;
use isoform_core::{Code, Error, Result};
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// An array of `N` dimensions with a fixed distance between elements in each dimension, which NumPy calls a view. In a
/// record it becomes an [`Array`], with [`Encoder::encode_with`](crate::Encoder::encode_with).
///
/// ```
/// use isoform::{Encoder, Record, Slice, Strided};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Profile<'a> {
///     step: i64,
///     depth: Slice<'a, f64>,
/// }
/// // The middle column of a matrix of four rows.
/// let matrix = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, 12.0]];
/// let column = Strided::new(matrix.as_flattened(), 1, [4], [3])?;
///
/// let mut encoder = Encoder::<Profile>::new();
/// let message = encoder.encode_with(|scratch| Ok(Profile { step: 7, depth: scratch.gather(&column)? }))?.to_vec();
/// let contiguous = Profile { step: 7, depth: Slice::from(&[2.0, 5.0, 8.0, 11.0]) };
/// assert_eq!(message, encoder.encode(&contiguous)?.to_vec());
/// # Ok::<(), isoform::Error>(())
/// ```
pub struct Strided<'a, T, const N: usize> {
    base: *const u8,
    dims: [usize; N],
    /// In bytes.
    strides: [isize; N],
    elements: PhantomData<&'a T>,
}

impl<'a, T, const N: usize> Strided<'a, T, N> {
    /// An array of `dims` elements in each dimension, with the slowest-varying first, from the index `start` of
    /// `elements` on. `strides` are the distances from one element to the next in each dimension. They may be negative
    /// or 0.
    ///
    /// # Errors
    /// [`Code::Shape`] if an element is not in `elements`, or the array is larger than memory.
    pub fn new(elements: &'a [T], start: usize, dims: [usize; N], strides: [isize; N]) -> Result<Strided<'a, T, N>> {
        const { assert!(N > 0 && N <= MAX_RANK, "an array has 1 to 8 dimensions") }
        let empty = dims.contains(&0);
        let inside = |(first, last): (i128, i128)| first >= 0 && last < elements.len() as i128;
        let fits = span(start, &dims, &strides).is_some_and(inside) && length(&dims, size_of::<T>()).is_some();
        if !empty && !fits {
            let error = Error::new(Code::Shape).expected(format_args!("indices below {}", elements.len()));
            return Err(error.found(format_args!("{dims:?} from {start} on, at distances of {strides:?}")));
        }
        let size = size_of::<T>() as isize;
        let first = if empty { 0 } else { start };
        // (1): all indices were found to be inside. The stride of a dimension of one element is never taken; others are
        // less than the elements' own bytes.
        let base = elements.as_ptr().wrapping_add(first).cast();
        Ok(Strided { base, dims, strides: strides.map(|stride| stride.wrapping_mul(size)), elements: PhantomData })
    }

    /// The same for memory, as NumPy and others describe it: `base` points at the first element, and strides are in
    /// bytes.
    ///
    /// # Safety
    /// If no dimension is 0, their product and the bytes of so many elements are at most `isize::MAX`; for all indices, an
    /// initialised `T` is where they lead, in the allocation of `base`, and does not change for `'a`. It need not be aligned.
    pub unsafe fn from_raw(base: *const T, dims: [usize; N], strides: [isize; N]) -> Strided<'a, T, N> {
        const { assert!(N > 0 && N <= MAX_RANK, "an array has 1 to 8 dimensions") }
        Strided { base: base.cast(), dims, strides, elements: PhantomData } // (1)
    }

    /// The dimensions, with the slowest-varying first.
    pub fn dims(&self) -> [usize; N] {
        self.dims
    }
}

impl Scratch {
    /// Copies the elements of a strided array into contiguous memory.
    ///
    /// # Errors
    /// [`Code::Size`] if there is no memory for them.
    pub fn gather<'a, T: Native<'a>, const N: usize>(&'a self, array: &Strided<'_, T, N>) -> Result<Array<'a, T, N>> {
        // SAFETY: by the array's (1) the elements are there.
        let elements = unsafe { self.gather_raw(array.base, size_of::<T>(), &array.dims, &array.strides)? };
        let count = elements.len() / size_of::<T>().max(1);
        // SAFETY: so many elements have been copied to an aligned place, where they stay for 'a; by Native's promise (3)
        // their bytes are their values. The dimensions say how many there are.
        Array::new(unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), count) }, array.dims)
    }

    /// The same for elements whose type is known only at run time: copies all elements of `size` bytes to contiguous
    /// memory that begins at a multiple of 64. If a dimension is 0, there are none.
    ///
    /// # Errors
    /// [`Code::Size`] if there is no memory for them.
    ///
    /// # Panics
    /// If there are not as many strides as dimensions, or not 1 to 8 of them.
    ///
    /// # Safety
    /// As [`Strided::from_raw`], of elements of `size` bytes, which may have gaps.
    pub unsafe fn gather_raw(
        &self,
        base: *const u8,
        size: usize,
        dims: &[usize],
        strides: &[isize],
    ) -> Result<&[MaybeUninit<u8>]> {
        assert!(
            dims.len() == strides.len() && (1..=MAX_RANK).contains(&dims.len()),
            "1 to 8 dimensions, each with a stride"
        );
        let bytes = length(dims, size).ok_or_else(|| Error::new(Code::Size))?;
        let place = self.bytes(bytes)?;
        if bytes > 0 {
            let mut to = place.as_mut_ptr();
            // SAFETY: promised; there is room for all elements.
            unsafe { axes(base, size, dims, strides, &mut to) };
        }
        Ok(place)
    }
}

/// Copies the elements of these dimensions to `to`, and moves `to` behind them.
///
/// # Safety
/// As [`Strided::from_raw`], and `to` has room for all of them.
unsafe fn axes(from: *const u8, size: usize, dims: &[usize], strides: &[isize], to: &mut *mut MaybeUninit<u8>) {
    // SAFETY: promised, of each part of it. Where the next element would be behind the last one is not looked at.
    unsafe {
        match (dims, strides) {
            ([inner], [stride]) => {
                row(from, size, (*inner, *stride), *to);
                *to = to.add(inner * size);
            }
            ([outer, dims @ ..], [stride, strides @ ..]) => {
                (0..*outer as isize).for_each(|i| axes(from.wrapping_offset(i * stride), size, dims, strides, to));
            }
            _ => {}
        }
    }
}

/// Copies elements with one distance between them.
///
/// # Safety
/// As `axes`.
unsafe fn row(from: *const u8, size: usize, (count, stride): (usize, isize), to: *mut MaybeUninit<u8>) {
    // SAFETY: promised. Bytes of gaps are copied as they are, since nothing is said of them.
    unsafe {
        match size {
            _ if stride == size as isize => to.copy_from_nonoverlapping(from.cast(), count * size),
            1 => elements::<1>(from, count, stride, to),
            2 => elements::<2>(from, count, stride, to),
            4 => elements::<4>(from, count, stride, to),
            8 => elements::<8>(from, count, stride, to),
            16 => elements::<16>(from, count, stride, to),
            _ => (0..count).for_each(|i| {
                let from = from.wrapping_offset(i as isize * stride).cast();
                to.add(i * size).copy_from_nonoverlapping(from, size);
            }),
        }
    }
}

/// As `row`, for a size that the compiler knows.
///
/// # Safety
/// As `axes`.
unsafe fn elements<const SIZE: usize>(from: *const u8, count: usize, stride: isize, to: *mut MaybeUninit<u8>) {
    for i in 0..count {
        // SAFETY: promised.
        unsafe {
            let element = from.wrapping_offset(i as isize * stride).cast::<[MaybeUninit<u8>; SIZE]>();
            to.add(i * SIZE).cast::<[MaybeUninit<u8>; SIZE]>().write(element.read());
        }
    }
}

/// The least and the greatest index. No dimension is 0.
fn span(start: usize, dims: &[usize], strides: &[isize]) -> Option<(i128, i128)> {
    dims.iter().zip(strides).try_fold((start as i128, start as i128), |(first, last), (&dim, &stride)| {
        let reach = (dim as i128 - 1).checked_mul(stride as i128)?;
        Some((first.checked_add(reach.min(0))?, last.checked_add(reach.max(0))?))
    })
}

/// Bytes of all elements.
fn length(dims: &[usize], size: usize) -> Option<usize> {
    if dims.contains(&0) {
        return Some(0);
    }
    let length = dims.iter().try_fold(size, |length, &dim| length.checked_mul(dim))?;
    (length <= isize::MAX as usize).then_some(length)
}

impl<T, const N: usize> Clone for Strided<'_, T, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const N: usize> Copy for Strided<'_, T, N> {}

impl<T, const N: usize> fmt::Debug for Strided<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Strided({:?}, {:?} bytes apart)", self.dims, self.strides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A view of so many elements of `values`, by indices.
    fn expected<T: Copy>(values: &[T], start: usize, dims: &[usize], strides: &[isize]) -> Vec<T> {
        match (dims, strides) {
            ([dim, dims @ ..], [stride, strides @ ..]) => (0..*dim)
                .flat_map(|i| expected(values, start.wrapping_add_signed(i as isize * stride), dims, strides))
                .collect(),
            _ => vec![values[start]],
        }
    }

    fn check<T: for<'a> Native<'a> + Copy + PartialEq + fmt::Debug, const N: usize>(
        value: impl Fn(usize) -> T,
        dims: [usize; N],
        strides: [isize; N],
    ) {
        let (first, last) = span(0, &dims, &strides).unwrap();
        let (start, len) = ((-first) as usize, (last - first) as usize + 1);
        let values: Vec<T> = (0..len).map(value).collect();
        let strided = Strided::new(&values, start, dims, strides).unwrap();
        let scratch = Scratch::default();
        let array = scratch.gather(&strided).unwrap();
        assert_eq!((array.dims(), &array[..]), (dims, &expected(&values, start, &dims, &strides)[..]));
        // One element fewer, and one of them is missing.
        assert_eq!(Strided::new(&values[..len - 1], start, dims, strides).unwrap_err().code(), Code::Shape);
        if start > 0 {
            assert_eq!(Strided::new(&values, start - 1, dims, strides).unwrap_err().code(), Code::Shape);
        }
        // The same from memory that is not aligned.
        let bytes: Vec<u8> = std::iter::once(0).chain((0..len * size_of::<T>()).map(|i| i as u8)).collect();
        let size = size_of::<T>() as isize;
        let base = bytes.as_ptr().wrapping_add(1 + start * size_of::<T>());
        // SAFETY: numbers are where the indices lead, in any bytes.
        let raw = unsafe { scratch.gather_raw(base, size as usize, &dims, &strides.map(|stride| stride * size)) };
        // SAFETY: all of them were copied.
        let raw: Vec<u8> = raw.unwrap().iter().map(|byte| unsafe { byte.assume_init() }).collect();
        let places: Vec<usize> = (0..len).collect();
        let places = expected(&places, start, &dims, &strides);
        let each = places.iter().flat_map(|place| &bytes[1..][place * size_of::<T>()..][..size_of::<T>()]);
        assert!(raw.iter().eq(each));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

        #[test]
        fn elements_are_gathered_row_by_row(
            dims in prop::array::uniform3(1usize..6),
            strides in prop::array::uniform3(-7isize..8),
        ) {
            check(|i| i as f64, dims, strides);
            check(|i| i as u8, [dims[0], dims[1]], [strides[0], strides[1]]);
            check(|i| [i as u16; 3], [dims[0]], [strides[0]]);
            check(|i| i as u128, [dims[2]], [strides[1]]);
        }
    }

    #[test]
    fn what_is_empty_or_too_much() {
        let scratch = Scratch::default();
        let empty = Strided::new(&[1u32, 2], 17, [3, 0], [isize::MAX, isize::MIN]).unwrap();
        assert_eq!(scratch.gather(&empty).unwrap().dims(), [3, 0]);
        // However often one element is repeated, it must fit memory.
        for dims in [[usize::MAX, 1], [1 << 31, 1 << 31]] {
            assert_eq!(Strided::new(&[1u64], 0, dims, [0, 0]).unwrap_err().code(), Code::Shape);
        }
        assert!(Strided::new(&[1u64], 0, [2], [isize::MAX]).is_err());
        let one = Strided::new(&[1u64, 2], 1, [1, 1], [isize::MAX, isize::MIN]).unwrap();
        assert_eq!(scratch.gather(&one).unwrap()[..], [2]);
    }
}
