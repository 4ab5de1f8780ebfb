//! The type of one element of a field: a number of some kind, a string, or a nested structure.
//!
//! An element can be a structure, and the fields of a structure have elements. So this file and
//! [`structure`](super::structure) use each other.

use super::structure::Structure;
use crate::error::{Code, Error, Result};
use isoform_kernels::FloatKind;
use std::fmt;
use std::sync::Arc;

/// The type of one element of a field. All elements of an array have the same type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// A two's-complement (`signed`) or unsigned integer of 1, 2, 4, 8 or 16 bytes.
    Integer {
        /// Whether it may be negative.
        signed: bool,
        /// Bytes.
        size: u8,
    },
    /// A floating-point number. Its slot may be larger than its digits, as an x87 number's is.
    Float {
        /// How its bits are read.
        kind: FloatKind,
        /// Bytes of its slot.
        size: u8,
    },
    /// A complex number: real part, then imaginary part.
    Complex {
        /// How the bits of each part are read.
        kind: FloatKind,
        /// Bytes of each part's slot; the element has twice as many.
        size: u8,
    },
    /// One byte of text, C's `char`.
    Char,
    /// 0 or 1, in 1, 2, 4 or 8 bytes.
    Boolean {
        /// Bytes.
        size: u8,
    },
    /// An integer each of whose values has a name.
    Enumeration(Arc<Enumeration>),
    /// A pointer to bytes without NUL, and a NUL behind them: C's `char *`. May be null.
    String,
    /// A nested structure.
    Structure(Arc<Structure>),
}

impl Element {
    /// The bytes of one element, with pointers of this size.
    pub fn size(&self, pointer: u8) -> usize {
        match self {
            Element::Integer { size, .. } | Element::Float { size, .. } | Element::Boolean { size } => {
                usize::from(*size)
            }
            Element::Complex { size, .. } => 2 * usize::from(*size),
            Element::Char => 1,
            Element::Enumeration(enumeration) => usize::from(enumeration.size()),
            Element::String => usize::from(pointer),
            Element::Structure(structure) => structure.size(),
        }
    }

    /// The alignment of a block of such elements in a body: 16 for elements of 16 bytes or with an alignment of 16 or
    /// more, and otherwise 8 (`spec/message.md`).
    pub fn block_alignment(&self) -> usize {
        let sixteen = match self {
            Element::Integer { size, .. } | Element::Float { size, .. } | Element::Complex { size, .. } => *size == 16,
            Element::Structure(structure) => structure.align() >= 16,
            _ => false,
        };
        if sixteen { 16 } else { 8 }
    }

    /// Whether it has bytes without meaning: gaps of a structure, or the bytes of a slot around an x87's 10.
    pub fn has_gaps(&self) -> bool {
        match self {
            Element::Float { kind, size } | Element::Complex { kind, size } => kind.digits(*size) < *size,
            Element::Structure(structure) => structure.has_gaps(),
            _ => false,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let good = match self {
            Element::Integer { size, .. } => matches!(size, 1 | 2 | 4 | 8 | 16),
            Element::Float { kind, size } | Element::Complex { kind, size } => kind.slot(*size).is_some(),
            Element::Boolean { size } => matches!(size, 1 | 2 | 4 | 8),
            Element::Char | Element::String | Element::Enumeration(_) | Element::Structure(_) => true,
        };
        if good {
            Ok(())
        } else {
            Err(Error::new(Code::Declaration).expected("a size that this type can have").found(self))
        }
    }
}

impl fmt::Display for Element {
    /// The papers' word for the type, with bytes: `integer(4)`, `float(8)`, `Point`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Integer { signed: true, size } => write!(f, "integer({size})"),
            Element::Integer { signed: false, size } => write!(f, "unsigned({size})"),
            Element::Float { kind, size } => write!(f, "{}({size})", kind.word()),
            Element::Complex { kind, size } => write!(f, "complex {}({size})", kind.word()),
            Element::Char => f.write_str("char"),
            Element::Boolean { size } => write!(f, "boolean({size})"),
            Element::Enumeration(e) => fmt::Display::fmt(e, f),
            Element::String => f.write_str("string"),
            Element::Structure(structure) => f.write_str(structure.name()),
        }
    }
}

/// The values of an enumeration, each with its symbol. Receivers match by symbol, not by number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Enumeration {
    signed: bool,
    size: u8,
    symbols: Box<[Symbol]>,
    /// The places of the symbols, by ascending name.
    by_name: Box<[u32]>,
}

/// One value of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Symbol {
    /// Its name.
    pub name: Box<str>,
    /// Its number in the sender's memory.
    pub value: i128,
}

impl Enumeration {
    /// Creates an enumeration in an integer of `size` bytes (1, 2, 4 or 8). The symbols may have any order.
    ///
    /// # Errors
    /// [`Code::Declaration`] if there is no symbol, two share a name or a number, or one does not fit `size`.
    pub fn new<N: Into<Box<str>>>(
        signed: bool,
        size: u8,
        symbols: impl IntoIterator<Item = (N, i128)>,
    ) -> Result<Enumeration> {
        let bad = |what: String| Err(Error::new(Code::Declaration).found(what));
        if !matches!(size, 1 | 2 | 4 | 8) {
            return bad(format!("an enumeration of {size} bytes"));
        }
        let mut symbols: Box<[Symbol]> =
            symbols.into_iter().map(|(name, value)| Symbol { name: name.into(), value }).collect();
        symbols.sort_by_key(|symbol| symbol.value);
        if symbols.is_empty() {
            return bad("an enumeration without symbols".into());
        }
        if let Some(pair) = symbols.windows(2).find(|pair| pair[0].value == pair[1].value) {
            return bad(format!("symbols {} and {} of one number", pair[0].name, pair[1].name));
        }
        let (low, high) = integer_range(signed, size);
        for symbol in &symbols {
            super::structure::check_name(&symbol.name)?;
            if symbol.value < low || symbol.value > high {
                return bad(format!("symbol {} = {}, which does not fit {size} bytes", symbol.name, symbol.value));
            }
        }
        let mut by_name: Box<[u32]> = (0..symbols.len() as u32).collect();
        let name = |at: u32| &*symbols[at as usize].name;
        by_name.sort_unstable_by_key(|&at| name(at));
        if let Some(pair) = by_name.windows(2).find(|pair| name(pair[0]) == name(pair[1])) {
            return bad(format!("two symbols named {}", name(pair[0])));
        }
        Ok(Enumeration { signed, size, symbols, by_name })
    }

    /// Whether its number may be negative.
    pub fn signed(&self) -> bool {
        self.signed
    }

    /// Bytes of its number.
    pub fn size(&self) -> u8 {
        self.size
    }

    /// Its symbols, by ascending number.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The symbol of a number.
    pub fn symbol(&self, value: i128) -> Option<&str> {
        let at = self.symbols.binary_search_by_key(&value, |symbol| symbol.value).ok()?;
        Some(&self.symbols[at].name)
    }

    /// The number of a symbol.
    pub fn value(&self, name: &str) -> Option<i128> {
        let symbol = |at: u32| &self.symbols[at as usize];
        let at = self.by_name.binary_search_by_key(&name, |&at| &symbol(at).name).ok()?;
        Some(symbol(self.by_name[at]).value)
    }
}

impl fmt::Display for Enumeration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.signed { "" } else { "unsigned " };
        write!(f, "{sign}enumeration({}){{", self.size)?;
        for (i, symbol) in self.symbols.iter().enumerate() {
            write!(f, "{}{}={}", if i == 0 { "" } else { "," }, symbol.name, symbol.value)?;
        }
        f.write_str("}")
    }
}

/// The smallest and largest value of an integer of up to 8 bytes, or of 16 as far as `i128` holds it.
pub(crate) fn integer_range(signed: bool, size: u8) -> (i128, i128) {
    let bits = u32::from(size) * 8;
    match (signed, bits) {
        (_, 128) if !signed => (0, i128::MAX),
        (_, 128) => (i128::MIN, i128::MAX),
        (true, _) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (false, _) => (0, (1 << bits) - 1),
    }
}
