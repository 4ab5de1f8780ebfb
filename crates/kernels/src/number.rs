//! The types of numbers, for formats, plans, both engines and the loops of this crate.
//!
//! One table, `FACTS`, has all facts about each kind of float. `isoform_core::format` has their tags on the wire, and
//! `isoform_core::scalar` their arithmetic.

/// The type of a number, without its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    /// The kind of the number.
    pub class: NumberClass,
    /// Bytes.
    pub size: u8,
    /// Order of its bytes.
    pub order: ByteOrder,
}

/// The kind of the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberClass {
    /// A two's-complement integer.
    Signed,
    /// An unsigned integer, or a `char`.
    Unsigned,
    /// 0 or 1.
    Boolean,
    /// A floating-point number.
    Float(FloatKind),
}

/// The encoding of a floating-point number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatKind {
    /// IEEE 754 binary16, binary32, binary64 or binary128, by its size of 2, 4, 8 or 16 bytes.
    Ieee,
    /// bfloat16: the upper half of an IEEE binary32.
    Brain,
    /// The x87's 80-bit number, in a slot of 12 or 16 bytes (10 if packed).
    X87,
    /// IBM double-double: the unevaluated sum of two IEEE binary64, the larger first.
    Double2,
}

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first: x86, ARM as commonly run, RISC-V.
    Little,
    /// Most significant byte first: s390x, SPARC, classic PowerPC, the network.
    Big,
}

/// The number of 64 bits to which a common number is converted in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// An `i64`.
    Signed,
    /// A `u64`.
    Unsigned,
    /// An `f64`.
    Float,
}

impl Number {
    /// The type to which it is converted in between. `None` for the rarer numbers, which need more than 64 bits or code
    /// of their own: 16-byte integers, and all floats except IEEE's of 4 and 8 bytes.
    #[inline]
    pub fn lane(self) -> Option<Lane> {
        match (self.class, self.size) {
            (NumberClass::Float(FloatKind::Ieee), 4 | 8) => Some(Lane::Float),
            (NumberClass::Float(_), _) | (_, 16) => None,
            (NumberClass::Signed, _) => Some(Lane::Signed),
            (NumberClass::Unsigned | NumberClass::Boolean, _) => Some(Lane::Unsigned),
        }
    }

    /// Whether every number of this type is also one of the other.
    pub fn fits(self, other: Number) -> bool {
        use NumberClass::{Boolean, Float, Signed, Unsigned};
        let bits = 8 * u32::from(self.size);
        let slot = |kind: FloatKind, size| kind.slot(size).map_or((0, 0), |slot| (slot.exponent, slot.fraction));
        match (self.class, other.class) {
            (Boolean, _) => true,
            (Signed, Signed) | (Unsigned, Unsigned) => self.size <= other.size,
            (Unsigned, Signed) => self.size < other.size,
            (Unsigned, Float(kind)) => bits <= u32::from(slot(kind, other.size).1) + 1,
            (Signed, Float(kind)) => bits - 1 <= u32::from(slot(kind, other.size).1) + 1,
            // The parts of a double-double can be so far apart that no other type has their digits.
            (Float(FloatKind::Double2), Float(kind)) => kind == FloatKind::Double2,
            (Float(from), Float(to)) => {
                let ((exponent, fraction), (most, digits)) = (slot(from, self.size), slot(to, other.size));
                exponent <= most && fraction <= digits
            }
            (_, Boolean) | (Signed, Unsigned) | (Float(_), _) => false,
        }
    }

    /// Whether it is a floating-point number.
    #[inline]
    pub fn is_float(self) -> bool {
        matches!(self.class, NumberClass::Float(_))
    }

    /// Whether its byte order differs from this machine's.
    #[inline]
    pub fn is_swapped(self) -> bool {
        self.size > 1 && self.order != ByteOrder::NATIVE
    }
}

/// A size of a kind of float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Bytes.
    pub size: u8,
    /// The word for a number of this kind and size, such as `f32`, if there is one.
    pub word: Option<&'static str>,
    /// Bits of its exponent.
    pub exponent: u8,
    /// Bits of its fraction, after the leading 1. For a double-double, the least number of bits that its two parts have
    /// together.
    pub fraction: u8,
}

/// The facts about a kind of float.
struct Facts {
    kind: FloatKind,
    word: &'static str,
    usual_size: u8,
    slots: &'static [Slot],
}

/// The facts about each kind, in the order of [`FloatKind`].
const FACTS: [Facts; 4] = [
    Facts {
        kind: FloatKind::Ieee,
        word: "float",
        usual_size: 4,
        slots: &[
            slot(2, Some("f16"), 5, 10),
            slot(4, Some("f32"), 8, 23),
            slot(8, Some("f64"), 11, 52),
            slot(16, Some("f128"), 15, 112),
        ],
    },
    Facts { kind: FloatKind::Brain, word: "bfloat", usual_size: 2, slots: &[slot(2, Some("bf16"), 8, 7)] },
    Facts {
        kind: FloatKind::X87,
        word: "x87",
        usual_size: 16,
        slots: &[slot(10, None, 15, 63), slot(12, None, 15, 63), slot(16, None, 15, 63)],
    },
    Facts { kind: FloatKind::Double2, word: "double-double", usual_size: 16, slots: &[slot(16, None, 11, 105)] },
];

const fn slot(size: u8, word: Option<&'static str>, exponent: u8, fraction: u8) -> Slot {
    Slot { size, word, exponent, fraction }
}

const fn kinds() -> [FloatKind; FACTS.len()] {
    let mut kinds = [FloatKind::Ieee; FACTS.len()];
    let mut at = 0;
    while at < kinds.len() {
        kinds[at] = FACTS[at].kind;
        assert!(kinds[at] as usize == at, "the table is in the order of the enumeration");
        at += 1;
    }
    kinds
}

impl FloatKind {
    /// Every kind.
    pub const ALL: [FloatKind; FACTS.len()] = kinds();

    const fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// The word for it in a field list.
    pub const fn word(self) -> &'static str {
        self.facts().word
    }

    /// Its size if neither the words nor a machine determine it.
    pub const fn usual_size(self) -> u8 {
        self.facts().usual_size
    }

    /// Its slots, by size.
    pub const fn slots(self) -> &'static [Slot] {
        self.facts().slots
    }

    /// The slot of this size, if there is one.
    pub fn slot(self, size: u8) -> Option<&'static Slot> {
        self.slots().iter().find(|slot| slot.size == size)
    }

    /// The bytes of a slot of `size` bytes that belong to the number. For an x87, these are the first 10 of a
    /// little-endian slot, or the last 10 of a big-endian one; the others are a gap.
    pub const fn digits(self, size: u8) -> u8 {
        if matches!(self, FloatKind::X87) { 10 } else { size }
    }
}

impl ByteOrder {
    /// The order of the machine that this code runs on.
    pub const NATIVE: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
}
