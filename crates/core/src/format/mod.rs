//! What a record looks like in memory, and its name on the wire.
//!
//! A [`Format`] is a [`Structure`] - named fields with types, sizes and offsets - together with the byte order
//! and pointer size of the machine whose memory it describes. It has exactly one [`Description`], and its
//! [`Token`] is a hash of that, so that equal formats are equal wherever they were made (`spec/format.md`).
//!
//! What makes formats - lists of fields, shapes laid out for a machine - is in [`declare`](crate::declare), and a derive is in
//! the crate `isoform`; others come as descriptions. All of them pass the one checker, [`Structure::new`].

mod admitted;
mod description;
mod element;
mod structure;
mod token;

pub(crate) use admitted::Admitted;
pub use description::Description;
pub(crate) use element::integer_range;
pub use element::{Element, Enumeration, Symbol};
pub use isoform_kernels::{ByteOrder, FloatKind};
pub use structure::{Dimension, Field, Structure};
pub use token::Token;
#[cfg(test)]
pub(crate) use token::hashes;

#[cfg(doc)]
use crate::error::Code;
use crate::error::Result;
use crate::limits::Limits;
use crate::verify::Checks;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Nested structures go at most this deep.
pub const MAX_DEPTH: usize = 32;
/// A format has at most this many fields, counting those of nested structures each time they are nested.
pub const MAX_FIELDS: usize = 4096;
/// A description has at most this many bytes.
pub const MAX_DESCRIPTION: usize = 64 << 10;
/// An array has at most this many dimensions.
pub const MAX_RANK: usize = 8;
/// A structure is aligned to at most this many bytes.
pub const MAX_ALIGN: usize = 1 << 16;
/// A record's fixed part is smaller than this many bytes.
pub const MAX_RECORD: usize = if usize::BITS >= 64 { 1 << 40 } else { isize::MAX as usize };

/// What every number and pointer of a record shares: byte order and the size of a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Machine {
    /// Order of the bytes of every number.
    pub order: ByteOrder,
    /// Bytes of a pointer slot: 4 or 8.
    pub pointer: u8,
}

impl Machine {
    /// The machine that this code runs on.
    pub const NATIVE: Machine = Machine { order: ByteOrder::NATIVE, pointer: size_of::<usize>() as u8 };

    /// Reads an unsigned integer of up to 8 bytes.
    ///
    /// # Panics
    /// If `bytes` are more than 8.
    #[inline]
    pub fn read(self, bytes: &[u8]) -> u64 {
        let little = self.order == ByteOrder::Little;
        // The sizes that numbers have are told apart first, so that each is one load.
        match *bytes {
            [a] => a.into(),
            [a, b] if little => u16::from_le_bytes([a, b]).into(),
            [a, b] => u16::from_be_bytes([a, b]).into(),
            [a, b, c, d] if little => u32::from_le_bytes([a, b, c, d]).into(),
            [a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
            [a, b, c, d, e, f, g, h] if little => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            _ => {
                assert!(bytes.len() < 8, "an integer of more than 8 bytes");
                let push = |word, &byte: &u8| word << 8 | u64::from(byte);
                if little { bytes.iter().rev().fold(0, push) } else { bytes.iter().fold(0, push) }
            }
        }
    }

    /// Writes the low bytes of `value`, as many as `bytes` has.
    ///
    /// # Panics
    /// If `bytes` are more than 8.
    #[inline]
    pub fn write(self, bytes: &mut [u8], value: u64) {
        let size = bytes.len();
        match self.order {
            ByteOrder::Little => bytes.copy_from_slice(&value.to_le_bytes()[..size]),
            ByteOrder::Big => bytes.copy_from_slice(&value.to_be_bytes()[8 - size..]),
        }
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            ByteOrder::Little => "little-endian",
            ByteOrder::Big => "big-endian",
        };
        write!(f, "{order}, {}-bit pointers", u32::from(self.pointer) * 8)
    }
}

/// A record's name and fields as laid out on one kind of machine. Cheap to clone, and compared by token.
///
/// ```
/// use isoform_core::{FieldList, Machine, ByteOrder, Format};
/// // struct small_record { int ivalue; double dvalue; int iarray[5]; }, as a 64-bit SPARC lays it out (paper 000, fig 1)
/// let sparc = Machine { order: ByteOrder::Big, pointer: 8 };
/// let format = FieldList::new("small_record")
///     .field("ivalue", "integer", 4, 0)
///     .field("dvalue", "float", 8, 8)
///     .field("iarray", "integer[5]", 4, 16)
///     .format(sparc, 40, 8)?;
/// assert_eq!(format.size(), 40);
/// assert_eq!(Format::parse(format.description().as_bytes())?, format);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Format(Arc<Inner>);

struct Inner {
    root: Arc<Structure>,
    description: Description,
    token: Token,
    /// What a verifier looks at, once one was asked for.
    checks: OnceLock<Checks>,
}

impl Format {
    /// The format of a record that is `root` in memory.
    ///
    /// # Errors
    /// [`Code::Depth`], [`Code::Fields`] or [`Code::DescriptionSize`] if a limit of `spec/format.md` is passed;
    /// [`Code::Declaration`] if two different nested structures have one name.
    pub fn new(root: Arc<Structure>) -> Result<Format> {
        let description = Description::of(&root)?;
        let token = Token::of(description.as_bytes());
        Ok(Format::described(root, description, token))
    }

    /// The format that these description bytes stand for.
    ///
    /// # Errors
    /// [`Code::Description`] and [`Code::NotCanonical`] for bytes that no writer makes, a limit's code for what is too
    /// large, [`Code::Declaration`] for fields that contradict each other.
    pub fn parse(description: &[u8]) -> Result<Format> {
        Format::parse_within(description, &Limits::default())
    }

    /// The same within limits that are narrower than the specification's.
    ///
    /// # Errors
    /// As [`Format::parse`].
    pub fn parse_within(description: &[u8], limits: &Limits) -> Result<Format> {
        Admitted::new(description, limits)?.parse()
    }

    /// The format of this structure, description and token, which belong together.
    fn described(root: Arc<Structure>, description: Description, token: Token) -> Format {
        Format(Arc::new(Inner { root, description, token, checks: OnceLock::new() }))
    }

    /// The name of the record.
    pub fn name(&self) -> &str {
        self.0.root.name()
    }

    /// The record's structure: its fields, with those of nested records within.
    pub fn structure(&self) -> &Arc<Structure> {
        &self.0.root
    }

    /// Byte order and pointer size.
    pub fn machine(&self) -> Machine {
        self.0.root.machine()
    }

    /// Bytes of the record itself, without what its pointers point at.
    #[inline]
    pub fn size(&self) -> usize {
        self.0.root.size()
    }

    /// The canonical bytes of this format.
    pub fn description(&self) -> &Description {
        &self.0.description
    }

    /// The name of this format on the wire.
    #[inline]
    pub fn token(&self) -> Token {
        self.0.token
    }

    /// What there is to check in its bodies.
    pub(crate) fn checks(&self) -> &Checks {
        self.0.checks.get_or_init(|| Checks::of(self))
    }
}

impl PartialEq for Format {
    #[inline]
    fn eq(&self, other: &Format) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.token == other.0.token
    }
}

impl Eq for Format {}

impl std::hash::Hash for Format {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.token.hash(state);
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Format({} {})", self.name(), self.token())
    }
}
