//! The steps of a plan: coarse, free of decisions, and readable as text.
//!
//! Offsets are in bytes from the start of the record that a step works on: the record itself, or one element of an
//! array of structures. They are proven in bounds where the plan is made.

use super::rules::Faults;
use super::schedule::Steps;
use isoform_kernels::Number;
use std::sync::Arc;

/// One step. Each writes bytes of its destination that no other step writes.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Copies a run of bytes, often several fields at once.
    Move {
        /// The offset in the source.
        src: usize,
        /// The offset in the destination.
        dst: usize,
        /// The number of bytes.
        len: usize,
    },
    /// Relocates many single numbers of one width, reversing the bytes of each if `swap`: a permutation of the bytes
    /// of a block.
    Permute {
        /// Bytes of each number: 1, 2, 4, 8 or 16.
        width: usize,
        /// Whether the byte order differs.
        swap: bool,
        /// (source, destination) of each number, by ascending destination.
        pairs: Box<[(usize, usize)]>,
    },
    /// Turns `count` consecutive elements into as many.
    Elements {
        /// The offset of the first element in the source.
        src: usize,
        /// The offset of the first element in the destination.
        dst: usize,
        /// The number of elements.
        count: usize,
        /// The conversion of each element.
        transform: Transform,
        /// The number of the field, for errors.
        field: usize,
    },
    /// Converts an array of which at least one side is behind a pointer.
    Array(Box<Array>),
    /// Writes constant bytes: a default, or zeros.
    Fill {
        /// The offset in the destination.
        dst: usize,
        /// The bytes to write.
        bytes: Bytes,
    },
    /// Writes a string that is a default.
    Text {
        /// The offset of the pointer slot in the destination.
        dst: usize,
        /// The string, without NUL.
        text: Arc<[u8]>,
        /// The number of the field, for errors.
        field: usize,
    },
    /// Copies a string into a `char[len]`, and fills that up with NUL. At least one NUL remains.
    Chars {
        /// The offset of the pointer slot in the source.
        src: usize,
        /// The offset of the characters in the destination.
        dst: usize,
        /// The number of characters.
        len: usize,
        /// The number of the field, for errors.
        field: usize,
    },
    /// Makes a string of a `char[len]`, up to its first NUL.
    Str {
        /// The offset of the characters in the source.
        src: usize,
        /// The number of characters.
        len: usize,
        /// The offset of the pointer slot in the destination.
        dst: usize,
        /// The number of the field, for errors.
        field: usize,
    },
}

/// Constant bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Bytes {
    /// This many zeros.
    Zero(usize),
    /// These bytes.
    Of(Arc<[u8]>),
}

impl Bytes {
    /// The number of bytes.
    pub fn len(&self) -> usize {
        match self {
            Bytes::Zero(len) => *len,
            Bytes::Of(bytes) => bytes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes them at the start of `place`.
    #[inline]
    pub(crate) fn put(&self, place: &mut [u8]) {
        let place = &mut place[..self.len()];
        match self {
            Bytes::Zero(_) => place.fill(0),
            Bytes::Of(bytes) => place.copy_from_slice(bytes),
        }
    }
}

/// The conversion of each of several consecutive elements.
#[derive(Clone, Debug, PartialEq)]
pub enum Transform {
    /// Copies elements of this many bytes each.
    Copy(usize),
    /// Reverses the byte order of `per` numbers of `width` bytes in each element.
    Swap {
        /// Bytes of a number.
        width: usize,
        /// Numbers in an element.
        per: usize,
    },
    /// Converts `per` numbers in each element to another type.
    Convert {
        /// The conversion of each number.
        conversion: Conversion,
        /// Numbers in an element: 2 for complex ones.
        per: usize,
    },
    /// Each is an enumeration whose symbols have other numbers.
    Symbols(Arc<Symbols>),
    /// Each is a string: a pointer slot on both sides.
    String,
    /// Each is a structure, converted by steps of its own.
    Each {
        /// Bytes from one element to the next in the source; 0 if the steps do not read it.
        src: usize,
        /// Bytes from one element to the next in the destination.
        dst: usize,
        /// The steps that convert one element.
        steps: Arc<Steps>,
    },
}

/// An array of which at least one side is behind a pointer.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Where its elements are in the source.
    pub src: Place,
    /// Where they go in the destination.
    pub dst: Place,
    /// Its dimensions, the slowest-varying first.
    pub dims: Box<[Extent]>,
    /// Bytes of an element in the source.
    pub src_size: usize,
    /// Bytes of an element in the destination.
    pub dst_size: usize,
    /// The alignment of a new block.
    pub align: usize,
    /// The conversion of each element.
    pub transform: Transform,
    /// The steps that fill each element which the source lacks, if the destination has a fixed number of elements.
    /// Without steps, these become zeros. `None` if a record that lacks elements is refused.
    pub rest: Option<Arc<Steps>>,
    /// Whether surplus elements are dropped, and a null pointer stands for zeros.
    pub lenient: bool,
    /// The number of the field, for errors.
    pub field: usize,
}

/// Where the elements of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the record itself, from this offset.
    Inline(usize),
    /// In the block that the pointer slot at this offset points at.
    Slot(usize),
}

/// One dimension of an array, on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The number of elements in the source.
    pub src: Count,
    /// The room in the destination, or the field that holds the number there.
    pub dst: Count,
    /// Whether an earlier array has already written the number. Then both must agree.
    pub agree: bool,
}

/// A number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The same in every record.
    Fixed(usize),
    /// The value of an integer field.
    Field {
        /// Its offset.
        at: usize,
        /// Its bytes: 1, 2, 4 or 8.
        size: u8,
        /// Whether it may be negative.
        signed: bool,
    },
}

/// The conversion of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conversion {
    /// The type in the source.
    pub from: Number,
    /// The type in the destination.
    pub to: Number,
    /// The treatment of numbers that do not fit.
    pub faults: Faults,
}

/// The numbers that an enumeration's symbols have on either side.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbols {
    /// The number's type in the source.
    pub from: Number,
    /// The number's type in the destination.
    pub to: Number,
    /// By ascending number in the source. Each of these is a number that the source's type has.
    pub map: Box<[SymbolEntry]>,
}

/// A number in the source, its symbol, and its number in the destination if it is known there.
pub type SymbolEntry = (i128, Box<str>, Option<i128>);

impl Conversion {
    /// Whether every number of the one type is a number of the other.
    pub fn is_exact(&self) -> bool {
        self.from.fits(self.to)
    }
}

impl Symbols {
    /// Symbols of the source that the destination does not know.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.map.iter().filter(|entry| entry.2.is_none()).map(|entry| &*entry.1)
    }

    /// The number in the destination for a number in the source. If there is none, the error is the symbol, if it is
    /// known.
    pub fn look_up(&self, value: i128) -> Result<i128, Option<&str>> {
        match self.map.binary_search_by_key(&value, |entry| entry.0) {
            Ok(at) => self.map[at].2.ok_or(Some(&self.map[at].1)),
            Err(_) => Err(None),
        }
    }
}
