//! Converts numbers to another type, eight at a time: integers of up to 8 bytes and the two common floats.
//!
//! Integers are loaded into 64-bit lanes with their bytes at the top, and stored from lanes with their bytes at the
//! bottom. Floats lie side by side. If a number does not fit, or that is *unsure*, the function ends, and the
//! interpreter decides.

use super::{BLOCK, K, L, V, W, X};
use crate::x86::emit::Emit;
use crate::x86::number::{Change, LANES, range};
use crate::x86::operand::*;
use isoform_core::Faults;
use isoform_core::plan::{Conversion, Symbols};
use isoform_kernels::{Number, NumberClass};

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

const EQUAL: u8 = 0;
const LESS: u8 = 1;
const NOT_EQUAL: u8 = 4;
const GREATER: u8 = 6;
/// Zeros of both signs.
const ZERO: u8 = 0x06;
/// Zeros and infinities of both signs.
const ZERO_OR_INFINITE: u8 = 0x1E;

impl Emit<'_> {
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
        let (low, high) = range(to);
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
