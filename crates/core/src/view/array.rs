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
    /// Whether the last dimension is fixed, so that text in it is filled up with NULs.
    pub(super) padded: bool,
    /// Those of the elements, row-major.
    pub(super) bytes: &'a [u8],
    pub(super) body: &'a [u8],
    pub(super) machine: Machine,
}

impl<'a> Array<'a> {
    /// What each of its elements is.
    pub fn element_type(&self) -> &'a Element {
        self.element
    }

    /// Its dimensions, the slowest-varying first.
    pub fn dims(&self) -> &[usize] {
        self.dims.as_slice()
    }

    /// Its first dimension: how many items [`Array::iter`] gives.
    pub fn len(&self) -> usize {
        self.dims()[0]
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its elements as they lie in the body, row-major, in the sender's byte order.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What is at an index of the first dimension: an element, or an array of the other dimensions.
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

    /// What [`Array::get`] gives for each index.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Item<'a>> {
        (0..self.len()).map(move |index| self.get(index).unwrap_or(Item::Null))
    }

    /// All elements, whatever the dimensions, row-major.
    pub fn elements(self) -> impl ExactSizeIterator<Item = Item<'a>> {
        (0..self.bytes.len() / self.size()).map(move |index| self.element(index))
    }

    /// All elements as the nearest `f64`, row-major: for plots.
    ///
    /// # Errors
    /// [`Code::WrongType`] if they are no integers and no floating-point numbers.
    pub fn f64s(self) -> Result<impl ExactSizeIterator<Item = f64>> {
        match self.element {
            Element::Integer { .. } | Element::Float { .. } => {
                Ok(self.elements().map(|item| item.to_f64().unwrap_or(f64::NAN)))
            }
            other => Err(Error::new(Code::WrongType).expected("an array of numbers").came(other)),
        }
    }

    /// The text in a `char` array of one dimension: of a fixed one, the bytes before the NULs at its end; of another,
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

    /// How many elements there are. Formats and the verifier see to it that this fits.
    pub(super) fn count(&self) -> usize {
        self.as_slice().iter().product()
    }

    /// No elements: an array that is null may have any dimensions next to a 0, which nobody should count to.
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
