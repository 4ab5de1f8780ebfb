//! Arrays in a body.

use super::Item;
use crate::error::{Code, Error, Result};
use crate::format::{Element, MAX_RANK, Machine};
use std::fmt;

/// An array in a body, in place or in a block, of one or more dimensions; or a part of one.
#[derive(Clone, Copy)]
pub struct Array<'a> {
    pub(super) element: &'a Element,
    pub(super) dims: Dims,
    /// Whether the last dimension is fixed, so that NULs pad text in it.
    pub(super) padded: bool,
    /// The bytes of the elements, row-major.
    pub(super) bytes: &'a [u8],
    pub(crate) body: &'a [u8],
    pub(crate) machine: Machine,
}

impl<'a> Array<'a> {
    /// The type of its elements.
    pub fn element_type(&self) -> &'a Element {
        self.element
    }

    /// Its dimensions, with the slowest-varying first.
    pub fn dims(&self) -> &[usize] {
        self.dims.as_slice()
    }

    /// Its first dimension, which is the number of items of [`Array::iter`].
    pub fn len(&self) -> usize {
        self.dims()[0]
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of its elements as in the body, row-major, in the sender's byte order.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The item at an index of the first dimension: an element, or an array of the other dimensions.
    pub fn get(&self, index: usize) -> Option<Item<'a>> {
        if index >= self.len() {
            return None;
        }
        let inner = self.dims.inner();
        if inner.as_slice().is_empty() {
            return Some(self.element(index));
        }
        let size = self.bytes.len() / self.len();
        Some(Item::Array(Array { dims: inner, bytes: &self.bytes[index * size..][..size], ..*self }))
    }

    /// The items of [`Array::get`] for all indices.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Item<'a>> {
        (0..self.len()).map(move |index| self.get(index).unwrap_or(Item::Null))
    }

    /// All elements, for any number of dimensions, row-major.
    pub fn elements(self) -> impl ExactSizeIterator<Item = Item<'a>> {
        (0..self.bytes.len() / self.size()).map(move |index| self.element(index))
    }

    /// All elements as the nearest `f64`, row-major, for plots.
    ///
    /// # Errors
    /// [`Code::WrongType`] if they are neither integers nor floating-point numbers.
    pub fn f64s(self) -> Result<impl ExactSizeIterator<Item = f64>> {
        match self.element {
            Element::Integer { .. } | Element::Float { .. } => {
                Ok(self.elements().map(|item| item.to_f64().unwrap_or(f64::NAN)))
            }
            other => Err(Error::new(Code::WrongType).expected("an array of numbers").found(other)),
        }
    }

    /// The text in a `char` array of one dimension: for a fixed one, the bytes before the NULs at its end; otherwise
    /// all bytes.
    pub fn text(&self) -> Option<&'a [u8]> {
        if self.dims().len() != 1 || *self.element != Element::Char {
            return None;
        }
        let fill = if self.padded { self.bytes.iter().rev().take_while(|byte| **byte == 0).count() } else { 0 };
        Some(&self.bytes[..self.bytes.len() - fill])
    }

    pub(super) fn element(&self, index: usize) -> Item<'a> {
        let size = self.size();
        super::item(self.element, self.machine, &self.bytes[index * size..][..size], self.body)
    }

    fn size(&self) -> usize {
        self.element.size(self.machine.pointer)
    }
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => write!(f, "{:?}", String::from_utf8_lossy(text)),
            None => f.debug_list().entries(self.iter()).finish(),
        }
    }
}

/// The dimensions of an array, without an allocation.
#[derive(Clone, Copy)]
pub(super) struct Dims {
    sizes: [usize; MAX_RANK],
    rank: u8,
}

impl Dims {
    pub(super) fn as_slice(&self) -> &[usize] {
        &self.sizes[..usize::from(self.rank)]
    }

    /// The number of elements. Formats and the verifier ensure that it does not overflow.
    pub(super) fn count(&self) -> usize {
        self.as_slice().iter().product()
    }

    /// No elements. A null array may have any dimensions besides a 0, and nobody should iterate over them.
    pub(super) fn clear(&mut self) {
        self.sizes = [0; MAX_RANK];
    }

    fn inner(&self) -> Dims {
        let mut sizes = self.sizes;
        sizes.rotate_left(1);
        Dims { sizes, rank: self.rank - 1 }
    }
}

impl FromIterator<usize> for Dims {
    fn from_iter<I: IntoIterator<Item = usize>>(dims: I) -> Dims {
        let mut all = Dims { sizes: [0; MAX_RANK], rank: 0 };
        for dim in dims {
            all.sizes[usize::from(all.rank)] = dim;
            all.rank += 1;
        }
        all
    }
}
