//! Converts numbers to another type, eight at a time: integers of up to 8 bytes and the two common floats.
//!
//! Integers are loaded into 64-bit lanes with their bytes at the top, and stored from lanes with their bytes at the
//! bottom. Floats lie side by side. If a number does not fit, or that is *unsure*, the function ends, and the
//! interpreter decides.

use super::emit::{ANY, BLOCK, Emit, K, L, V, W, X};
use super::operand::*;
use isoform_core::Faults;
use isoform_core::plan::{Conversion, Symbols};
use isoform_kernels::{Lane, Number, NumberClass};

/// This many numbers are converted at once.
pub(super) const LANES: usize = 8;

const SHIFT_RIGHT: u8 = 2;
const SHIFT_RIGHT_SIGNED: u8 = 4;
const SHIFT_LEFT: u8 = 6;

const WIDEN_FLOAT: Opcode = Opcode(Prefix::None, 1, 0x5A, 0);
const NARROW_FLOAT: Opcode = Opcode(Prefix::P66, 1, 0x5A, 1);
const SIGNED_TO_DOUBLE: Opcode = Opcode(Prefix::F3, 1, 0xE6, 1);
const UNSIGNED_TO_DOUBLE: Opcode = Opcode(Prefix::F3, 1, 0x7A, 1);
const SIGNED_TO_FLOAT: Opcode = Opcode(Prefix::None, 1, 0x5B, 1);
const UNSIGNED_TO_FLOAT: Opcode = Opcode(Prefix::F2, 1, 0x7A, 1);
const DOUBLE_TO_SIGNED: Opcode = Opcode(Prefix::P66, 1, 0x7A, 1);
const DOUBLE_TO_UNSIGNED: Opcode = Opcode(Prefix::P66, 1, 0x78, 1);
const CLASS_OF_DOUBLE: Opcode = Opcode(Prefix::P66, 3, 0x66, 1);
const CLASS_OF_FLOAT: Opcode = Opcode(Prefix::P66, 3, 0x66, 0);
const COMPARE_DOUBLE: Opcode = Opcode(Prefix::P66, 1, 0xC2, 1);
const COMPARE_SIGNED: Opcode = Opcode(Prefix::P66, 3, 0x1F, 1);
const COMPARE_UNSIGNED: Opcode = Opcode(Prefix::P66, 3, 0x1E, 1);
const TEST: Opcode = Opcode(Prefix::P66, 2, 0x27, 1);
const ADD: Opcode = Opcode(Prefix::P66, 1, 0xD4, 1);
const LEAST_SIGNED: Opcode = Opcode(Prefix::P66, 2, 0x39, 1);
const LEAST_UNSIGNED: Opcode = Opcode(Prefix::P66, 2, 0x3B, 1);
const MOST_SIGNED: Opcode = Opcode(Prefix::P66, 2, 0x3D, 1);
const MOVE_8_EACH: Opcode = Opcode(Prefix::P66, 2, 0x59, 1);

const INTEGER_TO_DOUBLE: Opcode = Opcode(Prefix::F2, 1, 0x2A, 1);
const WIDEN_ONE: Opcode = Opcode(Prefix::F3, 1, 0x5A, 0);
const TO_VECTOR: Opcode = Opcode(Prefix::P66, 1, 0x6E, 1);
const FROM_VECTOR: Opcode = Opcode(Prefix::P66, 1, 0x7E, 1);

const EQUAL: u8 = 0;
const LESS: u8 = 1;
const NOT_EQUAL: u8 = 4;
const GREATER: u8 = 6;
/// Zeros of both signs.
const ZERO: u8 = 0x06;
/// Zeros and infinities of both signs.
const ZERO_OR_INFINITE: u8 = 0x1E;

/// The conversion of eight numbers.
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
    fn pitch(self) -> usize {
        let to = self.to();
        if to.is_float() { to.size.into() } else { LANES }
    }

    /// Whether eight numbers in a row already have the form that a vector needs.
    fn comes_whole(self) -> bool {
        let from = self.from();
        !from.is_swapped() && (from.is_float() || from.size == 8)
    }
}

/// Whether floats become smaller floats.
fn narrows(conversion: &Conversion) -> bool {
    conversion.from.is_float() && conversion.to.is_float()
}

impl Emit<'_> {
    /// Converts one number [simply](Change::is_simple).
    pub(super) fn simple(&mut self, change: Change<'_>, from: Memory, to: Memory) {
        let (came, goes) = (change.from(), change.to());
        match (came.is_float(), goes.is_float()) {
            (false, false) => {
                self.load_extended(came, from);
                return self.store_integer(goes, to, RAX);
            }
            (false, true) => {
                self.load_extended(came, from);
                self.asm.vector(INTEGER_TO_DOUBLE, Width::V16, V.0, ANY.0, Vector(RAX.0), (ALL, false), None);
            }
            _ if came.is_swapped() => {
                self.asm.load_reversed(RAX, from, 4);
                self.asm.vector(TO_VECTOR, Width::V16, V.0, 0, Vector(RAX.0), (ALL, false), None);
                self.asm.vector(WIDEN_ONE, Width::V16, V.0, ANY.0, V, (ALL, false), None);
            }
            _ => self.asm.vector(WIDEN_ONE, Width::V16, V.0, ANY.0, from, (ALL, false), None),
        }
        // A double was made, whatever float is wanted: no other conversion is exact.
        if goes.is_swapped() {
            self.asm.vector(FROM_VECTOR, Width::V16, V.0, 0, Vector(RAX.0), (ALL, false), None);
            return self.store_integer(goes, to, RAX);
        }
        self.store_part(to, V, 8);
    }

    /// Loads an integer into `rax`, extended to 8 bytes.
    fn load_extended(&mut self, number: Number, from: Memory) {
        let (size, signed) = (usize::from(number.size), number.class == NumberClass::Signed);
        match (number.is_swapped(), signed) {
            (false, true) => self.asm.load_signed(RAX, from, size),
            (false, false) => self.asm.load(RAX, from, size),
            (true, _) => {
                if size == 2 {
                    self.asm.set(RAX, 0);
                }
                self.asm.load_reversed(RAX, from, size);
                if signed && size < 8 {
                    self.asm.extend(RAX, size);
                }
            }
        }
    }

    fn store_integer(&mut self, number: Number, to: Memory, from: Reg) {
        match number.is_swapped() {
            true => self.asm.store_reversed(to, from, number.size.into()),
            false => self.asm.store(to, from, number.size.into()),
        }
    }

    /// Loads eight numbers in a row.
    pub(super) fn load_lanes(&mut self, change: Change<'_>, from: Memory) {
        let size = usize::from(change.from().size);
        if change.comes_whole() {
            return self.load_part(V, from, LANES * size);
        }
        let mut control = [0; BLOCK];
        for lane in 0..LANES {
            for (src, to) in change.taken(lane) {
                control[to] = (lane * size + src) as u8;
            }
        }
        let control = self.vector(&control);
        if size == 8 {
            return self.permute(V, control, from, (ALL, false));
        }
        // The bytes above the numbers are shifted out or ignored.
        self.load_part(V, from, LANES * size);
        self.permute(V, control, V, (ALL, false));
    }

    /// Stores eight numbers in a row, or the first few of them.
    pub(super) fn store_lanes(&mut self, change: Change<'_>, to: Memory, count: usize) {
        let (number, pitch) = (change.to(), change.pitch());
        let size = usize::from(number.size);
        if number.is_swapped() || pitch != size {
            let mut control = [0; BLOCK];
            for (to, place) in control[..LANES * size].iter_mut().enumerate() {
                *place = change.given(to / size, to % size);
            }
            let control = self.vector(&control);
            self.permute(V, control, V, (ALL, false));
        }
        if count == LANES {
            return self.store_part(to, V, LANES * size);
        }
        let mask = self.mask((1 << (count * size)) - 1);
        self.store(to, V, mask);
    }

    /// Converts the numbers in the lanes whose bits are set. The other lanes hold zeros, or anything if all numbers
    /// fit.
    pub(super) fn change(&mut self, change: Change<'_>, v: Vector, lanes: u8) {
        let from = change.from();
        if !from.is_float() && from.size < 8 {
            let bits = 64 - 8 * from.size;
            self.shift(if from.class == NumberClass::Signed { SHIFT_RIGHT_SIGNED } else { SHIFT_RIGHT }, v, v, bits);
        }
        match change {
            Change::Symbol(symbols) => self.symbols(symbols, v, lanes),
            Change::Number(conversion) => match (from.is_float(), conversion.to.is_float()) {
                (true, true) => self.float_to_float(conversion, v),
                (true, false) => self.float_to_integer(from, conversion.to, v),
                (false, true) => self.integer_to_float(conversion, v),
                (false, false) => self.integer_to_integer(conversion, v),
            },
        }
    }

    fn float_to_float(&mut self, conversion: &Conversion, v: Vector) {
        match (conversion.from.size, conversion.to.size) {
            (4, 8) => self.one(WIDEN_FLOAT, v, v),
            (8, 4) => {
                self.one(NARROW_FLOAT, W, v);
                // Finds numbers that became zero or infinite. Zeros count as unsure, since the program may have set
                // flush-to-zero.
                let lost = if conversion.faults == Faults::Error { ZERO_OR_INFINITE } else { ZERO };
                self.asm.vector(CLASS_OF_FLOAT, Width::V32, K.0, 0, W, (ALL, false), Some(lost));
                self.asm.vector(CLASS_OF_DOUBLE, Width::V64, L.0, 0, v, (ALL, false), Some(lost));
                self.asm.mask_and_not(K, L, K);
                self.misfit_if_any(K);
                self.move_lanes(v, W, ALL);
            }
            _ => {}
        }
    }

    /// Used only if a number that does not fit is an error.
    fn float_to_integer(&mut self, from: Number, to: Number, v: Vector) {
        if from.size == 4 {
            self.one(WIDEN_FLOAT, v, v);
        }
        let signed = to.class == NumberClass::Signed;
        let (there, back) = match signed {
            true => (DOUBLE_TO_SIGNED, SIGNED_TO_DOUBLE),
            false => (DOUBLE_TO_UNSIGNED, UNSIGNED_TO_DOUBLE),
        };
        self.one(there, W, v);
        self.one(back, X, W);
        self.compare(COMPARE_DOUBLE, v, X, NOT_EQUAL);
        self.misfit_if_any(K);
        self.move_lanes(v, W, ALL);
        if !signed {
            // Numbers beyond the range have become the last number of the integer type, which no double equals.
            let last = self.everywhere(u64::MAX);
            self.compare(COMPARE_UNSIGNED, v, last, EQUAL);
            self.misfit_if_any(K);
        }
        self.check(signed, 8, to, v);
    }

    fn integer_to_float(&mut self, conversion: &Conversion, v: Vector) {
        let Conversion { from, to, faults } = *conversion;
        let signed = from.class == NumberClass::Signed;
        let digits = if to.size == 4 { f32::MANTISSA_DIGITS } else { f64::MANTISSA_DIGITS };
        if faults == Faults::Error && !conversion.is_exact() {
            // Up to this power of two, a float holds every integer.
            let limit = 1 << digits;
            let most = self.everywhere(if signed { 2 * limit } else { limit });
            let shifted = if signed { W } else { v };
            if signed {
                let limit = self.everywhere(limit);
                self.asm.vector(ADD, Width::V64, W.0, v.0, limit, (ALL, false), None);
            }
            self.compare(COMPARE_UNSIGNED, shifted, most, GREATER);
            self.misfit_if_any(K);
        }
        self.one(
            match (signed, to.size) {
                (true, 4) => SIGNED_TO_FLOAT,
                (true, _) => SIGNED_TO_DOUBLE,
                (false, 4) => UNSIGNED_TO_FLOAT,
                (false, _) => UNSIGNED_TO_DOUBLE,
            },
            v,
            v,
        );
    }

    fn integer_to_integer(&mut self, conversion: &Conversion, v: Vector) {
        let Conversion { from, to, faults } = *conversion;
        let signed = from.class == NumberClass::Signed;
        match faults {
            _ if conversion.is_exact() => {}
            Faults::Error => self.check(signed, from.size, to, v),
            Faults::Saturate => self.clamp(signed, to, v),
            Faults::Wrap => {}
        }
    }

    /// Ends the function if an integer that had `size` bytes does not fit type `to`.
    fn check(&mut self, signed: bool, size: u8, to: Number, v: Vector) {
        let bits = 8 * to.size;
        match (signed, to.class) {
            (_, NumberClass::Boolean) => {
                let others = self.everywhere(!1);
                self.compare_by(TEST, v, others);
            }
            (true, NumberClass::Signed) if to.size < size => {
                self.shift(SHIFT_LEFT, W, v, 64 - bits);
                self.shift(SHIFT_RIGHT_SIGNED, W, W, 64 - bits);
                self.compare(COMPARE_SIGNED, v, W, NOT_EQUAL);
            }
            (true, NumberClass::Signed) => return,
            (true, _) if to.size == 8 => {
                self.zero(W);
                self.compare(COMPARE_SIGNED, v, W, LESS);
            }
            (false, NumberClass::Signed) if to.size > size => return,
            (false, NumberClass::Signed) => self.test_above(bits - 1, v),
            (false, _) if to.size >= size => return,
            _ => self.test_above(bits, v),
        }
        self.misfit_if_any(K);
    }

    /// Compares the bits above the low `bits` bits with 0.
    fn test_above(&mut self, bits: u8, v: Vector) {
        self.shift(SHIFT_RIGHT, W, v, bits);
        self.compare_by(TEST, W, W);
    }

    /// Replaces each number by the nearest integer of type `to`.
    fn clamp(&mut self, signed: bool, to: Number, v: Vector) {
        let bits = u32::from(to.size) * 8;
        let (low, high) = match to.class {
            NumberClass::Signed => (i64::MIN >> (64 - bits), u64::MAX >> (65 - bits)),
            _ => (0, u64::MAX >> (64 - bits)),
        };
        let mut limit = |opcode, limit| {
            let limit = self.everywhere(limit);
            self.asm.vector(opcode, Width::V64, v.0, v.0, limit, (ALL, false), None);
        };
        match signed {
            true => {
                limit(MOST_SIGNED, low as u64);
                limit(LEAST_SIGNED, high.min(i64::MAX as u64));
            }
            false => limit(LEAST_UNSIGNED, high),
        }
    }

    /// Converts enumerations, by comparing with each number that has a symbol.
    fn symbols(&mut self, symbols: &Symbols, v: Vector, lanes: u8) {
        self.zero(W);
        let some = self.mask(lanes.into());
        let unknown = L;
        self.asm.vector(COMPARE_SIGNED, Width::V64, unknown.0, v.0, v, (some, false), Some(EQUAL));
        for (from, _, to) in &symbols.map {
            let Some(to) = to else { continue };
            let (from, to) = (self.everywhere(*from as u64), self.everywhere(*to as u64));
            self.compare(COMPARE_SIGNED, v, from, EQUAL);
            let Operand::Everywhere(to) = to else { continue };
            self.asm.vector(MOVE_8_EACH, Width::V64, W.0, 0, to, (K, false), None);
            self.asm.mask_and_not(unknown, K, unknown);
        }
        self.misfit_if_any(unknown);
        self.move_lanes(v, W, ALL);
    }

    /// The same 8 bytes in every lane, as an operand.
    fn everywhere(&mut self, number: u64) -> Operand {
        Operand::Everywhere(Memory::Constant(self.asm.constant(&number.to_le_bytes())))
    }

    fn one(&mut self, opcode: Opcode, to: Vector, from: Vector) {
        self.asm.vector(opcode, Width::V64, to.0, 0, from, (ALL, false), None);
    }

    fn shift(&mut self, what: u8, to: Vector, from: Vector, bits: u8) {
        let opcode = if what == SHIFT_RIGHT_SIGNED { 0x72 } else { 0x73 };
        let opcode = Opcode(Prefix::P66, 1, opcode, 1);
        self.asm.vector(opcode, Width::V64, what, to.0, from, (ALL, false), Some(bits));
    }

    fn compare(&mut self, opcode: Opcode, one: Vector, other: impl Into<Operand>, how: u8) {
        self.asm.vector(opcode, Width::V64, K.0, one.0, other, (ALL, false), Some(how));
    }

    fn compare_by(&mut self, opcode: Opcode, one: Vector, other: impl Into<Operand>) {
        self.asm.vector(opcode, Width::V64, K.0, one.0, other, (ALL, false), None);
    }

    fn move_lanes(&mut self, to: Vector, from: Vector, mask: Mask) {
        const MOVE_LANES: Opcode = Opcode(Prefix::P66, 1, 0x6F, 1);
        self.asm.vector(MOVE_LANES, Width::V64, to.0, 0, from, (mask, false), None);
    }
}
