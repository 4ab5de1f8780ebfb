//! Converts numbers to another type, four at a time.
//!
//! Integers that fit a double are converted in lanes of 32 bits, others in lanes of 64 bits. Floats lie side by side.
//! AVX2 lacks conversions between 64-bit integers and floats, and some of those of unsigned ones. The kernels do these.

use super::{LANES, NONE, SHUFFLE, V, VECTOR, W, X, Y};
use crate::x86::array::reversal;
use crate::x86::emit::Emit;
use crate::x86::number::{Change, is_known, limits};
use crate::x86::operand::*;
use isoform_core::Faults;
use isoform_core::plan::Conversion;
use isoform_kernels::{Number, NumberClass};

const WIDEN_FLOATS: Opcode = Opcode(Prefix::None, 1, 0x5A, 0);
const NARROW_FLOATS: Opcode = Opcode(Prefix::P66, 1, 0x5A, 0);
const TO_DOUBLES: Opcode = Opcode(Prefix::F3, 1, 0xE6, 0);
const TO_FLOATS: Opcode = Opcode(Prefix::None, 1, 0x5B, 0);
const ADD_DOUBLES: Opcode = Opcode(Prefix::P66, 1, 0x58, 0);
const COMPARE_DOUBLES: Opcode = Opcode(Prefix::P66, 1, 0xC2, 0);
const ADD: Opcode = Opcode(Prefix::P66, 1, 0xD4, 0);
const TEST: Opcode = Opcode(Prefix::P66, 2, 0x17, 0);
const UPPER_HALF: Opcode = Opcode(Prefix::P66, 3, 0x39, 0);

const EQUAL: u8 = 0;
const NOT_EQUAL: u8 = 4;

/// Whether four numbers are converted together.
pub(in crate::x86) fn converts(change: Change<'_>) -> bool {
    let Change::Number(conversion) = change else { return false };
    let Conversion { from, to, faults } = *conversion;
    is_known(conversion)
        && match (from.is_float(), to.is_float()) {
            (true, true) => from.size != to.size,
            (true, false) => false,
            (false, true) => conversion.is_exact() && integers_in_32_bits(from),
            (false, false) => faults != Faults::Saturate || conversion.is_exact(),
        }
}

/// Whether a signed number of 32 bits holds every integer of this type.
fn integers_in_32_bits(number: Number) -> bool {
    number.size < 4 || number.size == 4 && number.class == NumberClass::Signed
}

/// The instruction that extends integers to lanes of 4 or 8 bytes.
fn extend(number: Number, lane: u8) -> Opcode {
    let signed = match (number.size, lane) {
        (1, 4) => 0x21,
        (1, _) => 0x22,
        (2, 4) => 0x23,
        (2, _) => 0x24,
        _ => 0x25,
    };
    let opcode = if number.class == NumberClass::Signed { signed } else { signed + 0x10 };
    Opcode(Prefix::P66, 2, opcode, 0)
}

impl Emit<'_> {
    pub(in crate::x86) fn four(&mut self, change: Change<'_>, from: Memory, to: Memory) {
        let Change::Number(conversion) = change else { return };
        match (conversion.from.is_float(), conversion.to.is_float()) {
            (true, true) if conversion.to.size == 8 => {
                self.four_from((WIDEN_FLOATS, Width::V32), conversion.from, from);
                self.put_side_by_side(conversion.to, V, to);
            }
            (true, true) => self.narrow_floats(conversion, from, to),
            (false, true) => {
                let (opcode, width) = match conversion.to.size {
                    8 => (TO_DOUBLES, Width::V32),
                    _ => (TO_FLOATS, Width::V16),
                };
                if conversion.from.size == 4 {
                    self.four_from((opcode, width), conversion.from, from);
                } else {
                    self.four_from((extend(conversion.from, 4), Width::V16), conversion.from, from);
                    self.two(opcode, width, V, V);
                }
                self.put_side_by_side(conversion.to, V, to);
            }
            // `converts` says that there is nothing else.
            (_, false) => {
                match conversion.from.size {
                    8 => self.four_of_8(conversion.from, from),
                    _ => self.four_from((extend(conversion.from, 8), Width::V32), conversion.from, from),
                }
                if conversion.faults == Faults::Error && !conversion.is_exact() {
                    self.check_four(conversion);
                }
                self.put_integers(conversion.to, to);
            }
        }
    }

    /// Loads four numbers by an instruction that converts them to a vector of this width.
    fn four_from(&mut self, (opcode, width): (Opcode, Width), number: Number, from: Memory) {
        if !number.is_swapped() {
            return self.two(opcode, width, V, from);
        }
        let size = usize::from(number.size);
        let control = self.constant_16(&reversal(size));
        self.load_part(V, from, LANES * size);
        self.three(SHUFFLE, Width::V16, V, V, control);
        self.two(opcode, width, V, V);
    }

    /// Loads four numbers of 8 bytes.
    fn four_of_8(&mut self, number: Number, from: Memory) {
        self.load_part(V, from, VECTOR);
        if number.is_swapped() {
            let control = self.reversal_32(8);
            self.three(SHUFFLE, Width::V32, V, V, control);
        }
    }

    /// Stores four numbers that lie side by side.
    fn put_side_by_side(&mut self, number: Number, from: Vector, to: Memory) {
        let size = usize::from(number.size);
        if number.is_swapped() {
            let control = self.reversal_32(size);
            self.three(SHUFFLE, if size == 8 { Width::V32 } else { Width::V16 }, from, from, control);
        }
        self.store_part(to, from, LANES * size);
    }

    /// Stores four integers in lanes of 64 bits.
    fn put_integers(&mut self, number: Number, to: Memory) {
        let size = usize::from(number.size);
        if size == 8 {
            return self.put_side_by_side(number, V, to);
        }
        // In each half, two numbers side by side.
        let mut control = [NONE; 16];
        for (at, place) in control[..2 * size].iter_mut().enumerate() {
            let byte = at % size;
            *place = (8 * (at / size) + if number.is_swapped() { size - 1 - byte } else { byte }) as u8;
        }
        let control = self.asm.constant(&control);
        let control = self.resident(control);
        self.three(SHUFFLE, Width::V32, V, V, control);
        self.asm.vector(UPPER_HALF, Width::V32, V.0, 0, W, (ALL, false), Some(1));
        // The halves side by side, in pieces of two numbers.
        let side_by_side = Opcode(Prefix::P66, 1, [0x61, 0x62, 0x6C][size.ilog2() as usize], 0);
        self.three(side_by_side, Width::V16, V, V, W);
        self.store_part(to, V, LANES * size);
    }

    /// Ends the function if an integer does not fit.
    fn check_four(&mut self, conversion: &Conversion) {
        let Some((bias, others)) = limits(conversion.from, conversion.to) else { return };
        let mut checked = V;
        if bias != 0 {
            let bias = self.everywhere_twice(bias);
            self.three(ADD, Width::V32, W, V, bias);
            checked = W;
        }
        let others = self.everywhere_twice(others);
        self.two(TEST, Width::V32, checked, others);
        self.misfit_when(If::NotZero);
    }

    fn narrow_floats(&mut self, conversion: &Conversion, from: Memory, to: Memory) {
        self.four_of_8(conversion.from, from);
        self.two(NARROW_FLOATS, Width::V32, W, V);
        // Finds numbers that became zero or infinite, as those are that are equal to their double. Zeros count as unsure,
        // since the program may have set flush-to-zero.
        self.two(WIDEN_FLOATS, Width::V32, X, W);
        self.three(ADD_DOUBLES, Width::V32, Y, X, X);
        self.compare_doubles(Y, Y, X, EQUAL);
        self.compare_doubles(X, X, V, NOT_EQUAL);
        self.two(TEST, Width::V32, X, Y);
        self.misfit_when(If::NotZero);
        self.put_side_by_side(conversion.to, W, to);
    }

    fn compare_doubles(&mut self, to: Vector, one: Vector, other: Vector, how: u8) {
        self.asm.vector(COMPARE_DOUBLES, Width::V32, to.0, one.0, other, (ALL, false), Some(how));
    }

    /// A register that has the same 8 bytes in every lane.
    fn everywhere_twice(&mut self, number: u64) -> Vector {
        let constant = self.asm.constant(&[number.to_le_bytes(); 2].concat());
        self.resident(constant)
    }

    /// An instruction of two operands.
    fn two(&mut self, opcode: Opcode, width: Width, to: Vector, from: impl Into<Operand>) {
        self.wide |= width == Width::V32;
        self.asm.vector(opcode, width, to.0, 0, from, (ALL, false), None);
    }
}
