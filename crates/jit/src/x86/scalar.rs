//! Converts single numbers, most of them with the registers of 64 bits: `rax`, and `r8` to `r11`.

use super::avx2::{ANY, V, W, X, Y};
use super::emit::Emit;
use super::number::{Change, limits, range};
use super::operand::*;
use isoform_core::Faults;
use isoform_core::plan::{Conversion, Symbols};
use isoform_kernels::{Number, NumberClass};

const INTEGER_TO_DOUBLE: Opcode = Opcode(Prefix::F2, 1, 0x2A, 1);
const INTEGER_TO_FLOAT: Opcode = Opcode(Prefix::F3, 1, 0x2A, 1);
const DOUBLE_TO_INTEGER: Opcode = Opcode(Prefix::F2, 1, 0x2C, 1);
const NARROW_ONE: Opcode = Opcode(Prefix::F2, 1, 0x5A, 0);
const ADD_ONE: Opcode = Opcode(Prefix::F2, 1, 0x58, 0);
const COMPARE_ONE: Opcode = Opcode(Prefix::F2, 1, 0xC2, 0);
const EQUAL: u8 = 0;
const NOT_EQUAL: u8 = 4;

const AND: Opcode = Opcode(Prefix::P66, 1, 0xDB, 0);
const WIDEN_ONE: Opcode = Opcode(Prefix::F3, 1, 0x5A, 0);
const TO_VECTOR: Opcode = Opcode(Prefix::P66, 1, 0x6E, 1);
const FROM_VECTOR: Opcode = Opcode(Prefix::P66, 1, 0x7E, 1);

impl Emit<'_> {
    /// Converts one number [simply](Change::is_simple).
    pub(super) fn simple(&mut self, change: Change<'_>, from: Memory, to: Memory) {
        let (came, goes) = (change.from(), change.to());
        let (v, any) = (self.scratch(), self.any());
        match (came.is_float(), goes.is_float()) {
            (false, false) => {
                self.load_extended(came, from);
                return self.store_integer(goes, to, RAX);
            }
            (false, true) => {
                self.load_extended(came, from);
                self.asm.vector(INTEGER_TO_DOUBLE, Width::V16, v.0, any.0, Vector(RAX.0), (ALL, false), None);
            }
            _ if came.is_swapped() => {
                self.asm.load_reversed(RAX, from, 4);
                self.asm.vector(TO_VECTOR, Width::V16, v.0, 0, Vector(RAX.0), (ALL, false), None);
                self.asm.vector(WIDEN_ONE, Width::V16, v.0, any.0, v, (ALL, false), None);
            }
            _ => self.asm.vector(WIDEN_ONE, Width::V16, v.0, any.0, from, (ALL, false), None),
        }
        // A double was made, whatever float is wanted: no other conversion is exact.
        if goes.is_swapped() {
            self.asm.vector(FROM_VECTOR, Width::V16, v.0, 0, Vector(RAX.0), (ALL, false), None);
            return self.store_integer(goes, to, RAX);
        }
        self.store_part(to, v, 8);
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

    /// Converts one number in any known way, with AVX2.
    pub(super) fn alone(&mut self, change: Change<'_>, from: Memory, to: Memory) {
        let conversion = match change {
            Change::Number(conversion) => conversion,
            Change::Symbol(symbols) => {
                self.load_extended(symbols.from, from);
                self.symbol(symbols);
                return self.store_integer(symbols.to, to, R8);
            }
        };
        match (conversion.from.is_float(), conversion.to.is_float()) {
            (true, true) => self.float_to_float_alone(conversion, from, to),
            (true, false) => {
                self.load_double(conversion.from, from);
                self.double_to_integer();
                self.check_alone(Number { class: NumberClass::Signed, size: 8, ..conversion.from }, conversion.to);
                self.store_integer(conversion.to, to, RAX);
            }
            (false, true) => {
                self.load_extended(conversion.from, from);
                self.integer_to_float_alone(conversion);
                self.store_float(conversion.to, to, V);
            }
            (false, false) => {
                self.load_extended(conversion.from, from);
                match conversion.faults {
                    _ if conversion.is_exact() => {}
                    Faults::Error => self.check_alone(conversion.from, conversion.to),
                    Faults::Saturate => self.clamp_alone(conversion),
                    Faults::Wrap => {}
                }
                self.store_integer(conversion.to, to, RAX);
            }
        }
    }

    /// Loads a float as a double.
    fn load_double(&mut self, number: Number, from: Memory) {
        match (number.size, number.is_swapped()) {
            (8, false) => return self.load_part(V, from, 8),
            (4, false) => return self.one_of_three(WIDEN_ONE, V, ANY, from),
            (size, _) => self.asm.load_reversed(RAX, from, size.into()),
        }
        self.asm.vector(TO_VECTOR, Width::V16, V.0, 0, Vector(RAX.0), (ALL, false), None);
        if number.size == 4 {
            self.one_of_three(WIDEN_ONE, V, ANY, V);
        }
    }

    fn store_float(&mut self, number: Number, to: Memory, from: Vector) {
        if !number.is_swapped() {
            return self.store_part(to, from, number.size.into());
        }
        self.asm.vector(FROM_VECTOR, Width::V16, from.0, 0, Vector(RAX.0), (ALL, false), None);
        self.store_integer(number, to, RAX);
    }

    fn float_to_float_alone(&mut self, conversion: &Conversion, from: Memory, to: Memory) {
        self.load_double(conversion.from, from);
        if conversion.to.size == 8 {
            return self.store_float(conversion.to, to, V);
        }
        self.one_of_three(NARROW_ONE, W, ANY, V);
        if conversion.from.size == 8 {
            // Finds a number that became zero or infinite, as one is that is equal to its double. Zeros count as unsure,
            // since the program may have set flush-to-zero.
            self.one_of_three(WIDEN_ONE, X, ANY, W);
            self.one_of_three(ADD_ONE, Y, X, X);
            self.asm.vector(COMPARE_ONE, Width::V16, Y.0, Y.0, X, (ALL, false), Some(EQUAL));
            self.asm.vector(COMPARE_ONE, Width::V16, X.0, X.0, V, (ALL, false), Some(NOT_EQUAL));
            self.one_of_three(AND, X, X, Y);
            self.misfit_if_low(X);
        }
        self.store_float(conversion.to, to, W);
    }

    /// Ends the function if the low 8 bytes of a vector are not 0.
    fn misfit_if_low(&mut self, vector: Vector) {
        self.asm.vector(FROM_VECTOR, Width::V16, vector.0, 0, Vector(R8.0), (ALL, false), None);
        self.misfit_if(R8);
    }

    /// Converts a double to an integer in `rax`. Used only if a number that does not fit is an error. The interpreter decides about
    /// all numbers that are not those of a signed integer of 8 bytes.
    fn double_to_integer(&mut self) {
        self.asm.vector(DOUBLE_TO_INTEGER, Width::V16, RAX.0, 0, V, (ALL, false), None);
        self.one_of_three(INTEGER_TO_DOUBLE, X, ANY, Vector(RAX.0));
        self.asm.vector(COMPARE_ONE, Width::V16, X.0, X.0, V, (ALL, false), Some(NOT_EQUAL));
        self.misfit_if_low(X);
    }

    /// Converts an integer in `rax` to a float.
    fn integer_to_float_alone(&mut self, conversion: &Conversion) {
        let Conversion { from, to, faults } = *conversion;
        let signed = from.class == NumberClass::Signed;
        if faults == Faults::Error && !conversion.is_exact() {
            // Up to this power of two, a float holds every integer.
            let limit = 1 << if to.size == 4 { f32::MANTISSA_DIGITS } else { f64::MANTISSA_DIGITS };
            let most = if signed { 2 * limit } else { limit };
            self.asm.set(R8, if signed { limit } else { 0 });
            self.asm.compute(Arithmetic::Add, R8, RAX);
            self.asm.set(R9, most);
            self.asm.compute(Arithmetic::Compare, R8, R9);
            self.misfit_when(If::Above);
        } else if !signed && from.size == 8 {
            // The instruction takes signed integers.
            self.asm.copy(R8, RAX);
            self.asm.shift_right(R8, 63);
            self.misfit_when(If::NotZero);
        }
        let opcode = if to.size == 4 { INTEGER_TO_FLOAT } else { INTEGER_TO_DOUBLE };
        self.one_of_three(opcode, V, ANY, Vector(RAX.0));
    }

    /// Ends the function if the integer in `rax` does not fit.
    fn check_alone(&mut self, from: Number, to: Number) {
        let Some((bias, others)) = limits(from, to) else { return };
        self.asm.copy(R8, RAX);
        if bias == 0 {
            self.asm.shift_right(R8, others.trailing_zeros() as u8);
        } else {
            self.asm.extend(R8, to.size.into());
            self.asm.compute(Arithmetic::Compare, R8, RAX);
        }
        self.misfit_when(If::NotZero);
    }

    /// Replaces the integer in `rax` by the nearest one of another type.
    fn clamp_alone(&mut self, conversion: &Conversion) {
        let (low, high) = range(conversion.to);
        let mut limit = |limit, condition| {
            self.asm.set(R8, limit);
            self.asm.compute(Arithmetic::Compare, RAX, R8);
            self.asm.copy_if(condition, RAX, R8);
        };
        match conversion.from.class {
            NumberClass::Signed => {
                limit(low as u64, If::Less);
                limit(high.min(i64::MAX as u64), If::Greater);
            }
            _ => limit(high, If::Above),
        }
    }

    /// Converts the number of an enumeration in `rax` to one in `r8`, by comparing with each number that has a symbol.
    fn symbol(&mut self, symbols: &Symbols) {
        // What `rax` was found to be equal to, at first a number that it is not.
        self.asm.copy(R9, RAX);
        self.asm.add(R9, 1);
        for (from, _, to) in &symbols.map {
            let Some(to) = to else { continue };
            self.asm.set(R10, *to as u64);
            self.asm.set(R11, *from as u64);
            self.asm.compute(Arithmetic::Compare, RAX, R11);
            self.asm.copy_if(If::Zero, R8, R10);
            self.asm.copy_if(If::Zero, R9, R11);
        }
        self.asm.compute(Arithmetic::Compare, R9, RAX);
        self.misfit_when(If::NotZero);
    }

    fn one_of_three(&mut self, opcode: Opcode, to: Vector, one: Vector, other: impl Into<Operand>) {
        self.asm.vector(opcode, Width::V16, to.0, one.0, other, (ALL, false), None);
    }
}
