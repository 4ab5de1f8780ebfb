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
        /// From here in the source.
        src: usize,
        /// To here in the destination.
        dst: usize,
        /// So many bytes.
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
        /// The first one in the source.
        src: usize,
        /// The first one in the destination.
        dst: usize,
        /// How many.
        count: usize,
        /// What is done to each.
        transform: Transform,
        /// Which field it is, for errors: an index into the paths that the plan keeps.
        field: usize,
    },
    /// Converts an array of which at least one side is behind a pointer.
    Array(Box<Array>),
    /// Writes constant bytes: a default, or zeros.
    Fill {
        /// To here in the destination.
        dst: usize,
        /// What is written.
        bytes: Bytes,
    },
    /// Writes a string that is a default.
    Text {
        /// The pointer slot in the destination.
        dst: usize,
        /// The string, without NUL.
        text: Arc<[u8]>,
        /// Which field it is, for errors.
        field: usize,
    },
    /// Copies a string into a `char[len]`, and fills that up with NUL. At least one NUL remains.
    Chars {
        /// The pointer slot in the source.
        src: usize,
        /// The characters in the destination.
        dst: usize,
        /// How many there are.
        len: usize,
        /// Which field it is, for errors.
        field: usize,
    },
    /// Makes a string of a `char[len]`, up to its first NUL.
    Str {
        /// The characters in the source.
        src: usize,
        /// How many there are.
        len: usize,
        /// The pointer slot in the destination.
        dst: usize,
        /// Which field it is, for errors.
        field: usize,
    },
}

/// Constant bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Bytes {
    /// So many zeros.
    Zero(usize),
    /// These.
    Of(Arc<[u8]>),
}

impl Bytes {
    /// How many.
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

/// What is done to each of several consecutive elements.
#[derive(Clone, Debug, PartialEq)]
pub enum Transform {
    /// Nothing: they are copied, so many bytes each.
    Copy(usize),
    /// Each consists of `per` numbers of `width` bytes whose byte order is reversed.
    Swap {
        /// Bytes of a number.
        width: usize,
        /// Numbers in an element.
        per: usize,
    },
    /// Each consists of `per` numbers that become numbers of another type.
    Convert {
        /// What each number becomes.
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
        /// What is done to one element.
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
    /// What the address of a new block is a multiple of.
    pub align: usize,
    /// What is done to each element.
    pub transform: Transform,
    /// What fills an element for which none came, where the destination has room for a fixed number. All zeros if there
    /// are no steps.
    pub rest: Arc<Steps>,
    /// Whether elements for which there is no room are dropped, and a null pointer is taken for zeros.
    pub lenient: bool,
    /// Which field it is, for errors.
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

/// How one dimension of an array is known, and where it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// How many there are in the source.
    pub src: Count,
    /// How many the destination has room for, or where it keeps the number.
    pub dst: Count,
    /// Whether an earlier array has already written the number: then both must agree.
    pub agree: bool,
}

/// A number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Always the same.
    Fixed(usize),
    /// Kept in an integer field.
    Field {
        /// Its offset.
        at: usize,
        /// Its bytes: 1, 2, 4 or 8.
        size: u8,
        /// Whether it may be negative.
        signed: bool,
    },
}

/// What becomes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conversion {
    /// What it is.
    pub from: Number,
    /// What it becomes.
    pub to: Number,
    /// What is done if it does not fit.
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
    /// Symbols that may come and are unknown in the destination.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.map.iter().filter(|entry| entry.2.is_none()).map(|entry| &*entry.1)
    }

    /// The number in the destination for one in the source; or, if there is none, the symbol if that is known.
    pub fn look_up(&self, value: i128) -> Result<i128, Option<&str>> {
        match self.map.binary_search_by_key(&value, |entry| entry.0) {
            Ok(at) => self.map[at].2.ok_or(Some(&self.map[at].1)),
            Err(_) => Err(None),
        }
    }
}
