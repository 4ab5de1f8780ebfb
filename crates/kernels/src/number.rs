//! The types of numbers. Formats, plans, both engines and the loops of this crate mean these by a number.

/// The type of a number, without its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    /// What kind of number.
    pub class: NumberClass,
    /// Bytes.
    pub size: u8,
    /// Order of its bytes.
    pub order: ByteOrder,
}

/// What kind of number.
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

/// How the bits of a floating-point number are read.
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

/// The number of 64 bits that a common number becomes while it is converted.
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
    /// What it becomes while it is converted. `None` for the rarer numbers, which need more than 64 bits or a decoder of
    /// their own: 16-byte integers, and all floats but IEEE's of 4 and 8 bytes.
    #[inline]
    pub fn lane(self) -> Option<Lane> {
        match (self.class, self.size) {
            (NumberClass::Float(FloatKind::Ieee), 4 | 8) => Some(Lane::Float),
            (NumberClass::Float(_), _) | (_, 16) => None,
            (NumberClass::Signed, _) => Some(Lane::Signed),
            (NumberClass::Unsigned | NumberClass::Boolean, _) => Some(Lane::Unsigned),
        }
    }

    /// Whether it is a floating-point number.
    #[inline]
    pub fn is_float(self) -> bool {
        matches!(self.class, NumberClass::Float(_))
    }

    /// Whether its bytes are in another order than this machine's.
    #[inline]
    pub fn is_swapped(self) -> bool {
        self.size > 1 && self.order != ByteOrder::NATIVE
    }
}

impl FloatKind {
    /// Every kind, in the order of its code in a description.
    pub const ALL: [FloatKind; 4] = [FloatKind::Ieee, FloatKind::Brain, FloatKind::X87, FloatKind::Double2];

    /// The sizes that a slot of this kind can have.
    pub fn sizes(self) -> &'static [u8] {
        match self {
            FloatKind::Ieee => &[2, 4, 8, 16],
            FloatKind::Brain => &[2],
            FloatKind::X87 => &[10, 12, 16],
            FloatKind::Double2 => &[16],
        }
    }

    /// How many bytes of a slot of `size` bytes hold its digits: an x87's are the first 10 of a little-endian slot, the
    /// last 10 of a big-endian one. The rest is a gap.
    pub fn digits(self, size: u8) -> u8 {
        if self == FloatKind::X87 { 10 } else { size }
    }

    /// The word for it in a field list.
    pub fn word(self) -> &'static str {
        match self {
            FloatKind::Ieee => "float",
            FloatKind::Brain => "bfloat",
            FloatKind::X87 => "x87",
            FloatKind::Double2 => "double-double",
        }
    }
}

impl ByteOrder {
    /// The order of the machine that this code runs on.
    pub const NATIVE: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
}
