//! The conversions of numbers that code is generated for: integers of up to 8 bytes and the two common floats.
//!
//! `scalar` converts them one by one, `avx512` eight at a time, and `avx2` four at a time. If a number does not fit, or that is
//! *unsure*, the function ends, and the interpreter decides.

use super::Extension;
use isoform_core::Faults;
use isoform_core::plan::{Conversion, Symbols};
use isoform_kernels::{Lane, Number, NumberClass};

/// With AVX-512, this many numbers are converted at once: integers in lanes of so many bytes, floats side by side.
pub(super) const LANES: usize = 8;

/// The conversion of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change<'a> {
    Number(&'a Conversion),
    Symbol(&'a Symbols),
}

/// Whether code is generated for a conversion. The kernels and the interpreter do the others.
pub(super) fn is_known(conversion: &Conversion) -> bool {
    let Conversion { from, to, faults } = *conversion;
    match (from.lane(), to.lane()) {
        (None, _) | (_, None) => false,
        (Some(Lane::Float), Some(Lane::Float)) => (from.size, to.size) != (8, 4) || faults != Faults::Saturate,
        (Some(Lane::Float), _) => faults == Faults::Error,
        _ => to.class != NumberClass::Boolean || faults == Faults::Error || conversion.is_exact(),
    }
}

/// How an integer is checked that may not fit another type of integer: a number that is added to it first, and the bits of which
/// none may then be set, which are the upper ones. `None` if every integer fits.
pub(super) fn limits(from: Number, to: Number) -> Option<(u64, u64)> {
    use NumberClass::{Boolean, Signed};
    let above = |bits: u8| u64::MAX << bits;
    let bits = 8 * to.size;
    Some(match (from.class, to.class) {
        (_, Boolean) => (0, above(1)),
        (Signed, Signed) if to.size >= from.size => return None,
        (Signed, Signed) => (1 << (bits - 1), above(bits)),
        (Signed, _) if to.size == 8 => (0, above(63)),
        (_, Signed) if to.size > from.size => return None,
        (_, Signed) => (0, above(bits - 1)),
        (Signed, _) => (0, above(bits)),
        _ if to.size >= from.size => return None,
        _ => (0, above(bits)),
    })
}

/// The least and the greatest integer of a type, neither a float nor boolean.
pub(super) fn range(number: Number) -> (i64, u64) {
    let bits = u32::from(number.size) * 8;
    match number.class {
        NumberClass::Signed => (i64::MIN >> (64 - bits), u64::MAX >> (65 - bits)),
        _ => (0, u64::MAX >> (64 - bits)),
    }
}

impl<'a> Change<'a> {
    pub(super) fn from(self) -> Number {
        match self {
            Change::Number(conversion) => conversion.from,
            Change::Symbol(symbols) => symbols.from,
        }
    }

    pub(super) fn to(self) -> Number {
        match self {
            Change::Number(conversion) => conversion.to,
            Change::Symbol(symbols) => symbols.to,
        }
    }

    /// For the number `lane`, in this machine's order: its bytes in the source, relative to its start, and their places
    /// in the vector.
    pub(super) fn taken(self, lane: usize) -> impl Iterator<Item = (usize, usize)> {
        let from = self.from();
        let size = usize::from(from.size);
        let to = if from.is_float() { lane * size } else { lane * LANES + (LANES - size) };
        (0..size).map(move |byte| (if from.is_swapped() { size - 1 - byte } else { byte }, to + byte))
    }

    /// The place in the converted vector of byte `at` of the number `lane`.
    pub(super) fn given(self, lane: usize, at: usize) -> u8 {
        let (to, pitch) = (self.to(), self.pitch());
        (lane * pitch + if to.is_swapped() { usize::from(to.size) - 1 - at } else { at }) as u8
    }

    /// Whether so many numbers in a row are converted one by one.
    pub(super) fn is_for_one_by_one(self, count: usize, extension: Extension) -> bool {
        count < if extension.converts(self) { extension.lanes() } else { LANES }
    }

    /// Whether a few scalar instructions convert a single number.
    pub(super) fn is_simple(self) -> bool {
        let Change::Number(conversion) = self else { return false };
        let simple = match (conversion.from.is_float(), conversion.to.is_float()) {
            (true, true) => (conversion.from.size, conversion.to.size) == (4, 8),
            (true, false) => false,
            (false, true) => conversion.from.class == NumberClass::Signed && conversion.from.size == 4,
            (false, false) => true,
        };
        simple && conversion.is_exact()
    }

    /// The instructions for one number, found by trial.
    pub(super) fn cost(self) -> usize {
        match self.is_simple() {
            true => 2 + usize::from(self.from().is_swapped()) + usize::from(self.to().is_swapped()),
            false => 9,
        }
    }

    /// Whether a converted number fills its lane as it is stored.
    pub(super) fn fills_lane(self) -> bool {
        self.to().size == 8 && !self.to().is_swapped()
    }

    /// Whether every number of the source fits.
    pub(super) fn always_fits(self) -> bool {
        match self {
            Change::Number(conversion) => {
                conversion.is_exact() || conversion.faults != Faults::Error && !narrows(conversion)
            }
            Change::Symbol(_) => false,
        }
    }

    /// The distance between converted numbers in a vector, in bytes.
    pub(super) fn pitch(self) -> usize {
        let to = self.to();
        if to.is_float() { to.size.into() } else { LANES }
    }

    /// Whether eight numbers in a row already have the form that a vector needs.
    pub(super) fn comes_whole(self) -> bool {
        let from = self.from();
        !from.is_swapped() && (from.is_float() || from.size == 8)
    }
}

/// Whether floats become smaller floats.
fn narrows(conversion: &Conversion) -> bool {
    conversion.from.is_float() && conversion.to.is_float()
}
