//! Instructions of x86-64 as bytes: only those that the generator uses.
//!
//! Everything is encoded in one way, the simplest: vector instructions by EVEX, or VEX of three bytes for processors with AVX2
//! only; displacements and jumps with 4 bytes.
//! Constants follow the code, each once, at a multiple of its own size.

use super::Extension;
use super::operand::{Arithmetic, Constant, If, Label, Mask, Memory, Opcode, Operand, Prefix, RSP, Reg, Vector, Width};
use std::collections::HashMap;

pub(super) struct Assembler {
    extension: Extension,
    code: Vec<u8>,
    constants: Vec<u8>,
    known: HashMap<Vec<u8>, Constant>,
    /// For each displacement to a constant: its place, the end of its instruction, and the constant.
    to_constants: Vec<(usize, usize, Constant)>,
    /// For each jump: the place of its displacement, at the end of the jump, and the label.
    jumps: Vec<(usize, Label)>,
    labels: Vec<usize>,
}

/// A state of the assembler to which it can return.
pub(super) struct Mark {
    code: usize,
    to_constants: usize,
    jumps: usize,
    labels: usize,
}

impl Mark {
    /// Bytes of code.
    pub(super) fn code(&self) -> usize {
        self.code
    }
}

impl Assembler {
    pub(super) fn new(extension: Extension) -> Assembler {
        Assembler {
            extension,
            code: Vec::with_capacity(4096),
            constants: Vec::new(),
            known: HashMap::new(),
            to_constants: Vec::new(),
            jumps: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.code.len() + self.constants.len()
    }

    /// Sets the number at the end of the instruction that ends at `end`.
    pub(super) fn fill_in(&mut self, end: usize, number: i32) {
        self.code[end - 4..end].copy_from_slice(&number.to_le_bytes());
    }

    pub(super) fn mark(&self) -> Mark {
        let (code, to_constants, jumps) = (self.code.len(), self.to_constants.len(), self.jumps.len());
        Mark { code, to_constants, jumps, labels: self.labels.len() }
    }

    /// Removes everything that was added since the mark, except constants.
    pub(super) fn back(&mut self, mark: &Mark) {
        self.code.truncate(mark.code);
        self.to_constants.truncate(mark.to_constants);
        self.jumps.truncate(mark.jumps);
        self.labels.truncate(mark.labels);
    }

    /// The code, followed by its constants.
    pub(super) fn finish(mut self) -> Vec<u8> {
        for &(at, label) in &self.jumps {
            let distance = self.labels[label.0] as i64 - (at as i64 + 4);
            self.code[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        let start = self.code.len().next_multiple_of(64);
        for &(at, end, Constant(offset)) in &self.to_constants {
            let distance = (start + offset as usize - end) as i32;
            self.code[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        // An instruction that stops the program. It fills space that must never run.
        const TRAP: u8 = 0xCC;
        self.code.resize(start, TRAP);
        self.code.extend_from_slice(&self.constants);
        self.code
    }

    /// A constant of 8, 16, 32, 64 or 128 bytes.
    pub(super) fn constant(&mut self, bytes: &[u8]) -> Constant {
        if let Some(&known) = self.known.get(bytes) {
            return known;
        }
        let start = self.constants.len().next_multiple_of(bytes.len());
        self.constants.resize(start, 0);
        self.constants.extend_from_slice(bytes);
        self.known.insert(bytes.to_vec(), Constant(start as u32));
        Constant(start as u32)
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(usize::MAX);
        Label(self.labels.len() - 1)
    }

    /// Places the label here.
    pub(super) fn here(&mut self, label: Label) {
        self.labels[label.0] = self.code.len();
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    fn number(&mut self, number: i32) {
        self.bytes(&number.to_le_bytes());
    }

    /// Encodes operands, for an instruction that ends with `rest` more bytes.
    fn operands(&mut self, reg: u8, memory: Memory, rest: usize) {
        let reg = (reg & 7) << 3;
        match memory {
            Memory::At(base, offset) => {
                self.code.push(0x80 | reg | (base.0 & 7));
                if base.0 & 7 == RSP.0 {
                    self.code.push(0x24);
                }
                self.number(offset);
            }
            Memory::Sum(base, index) => {
                self.bytes(&[0x80 | reg | 4, ((index.0 & 7) << 3) | (base.0 & 7)]);
                self.number(0);
            }
            Memory::Constant(constant) => {
                self.code.push(reg | 5);
                let at = self.code.len();
                self.number(0);
                self.to_constants.push((at, at + 4 + rest, constant));
            }
        }
    }

    /// An instruction on registers of `wide` or fewer bits, one of them perhaps in memory.
    fn plain(&mut self, prefixes: &[u8], wide: bool, opcode: &[u8], reg: u8, memory: Memory) {
        self.bytes(prefixes);
        let (base, index) = bases(memory);
        self.code.push(0x40 | (u8::from(wide) << 3) | ((reg >> 3) << 2) | ((index >> 3) << 1) | (base >> 3));
        self.bytes(opcode);
        self.operands(reg, memory, 0);
    }

    fn plain_registers(&mut self, prefixes: &[u8], wide: bool, opcode: &[u8], reg: u8, rm: u8) {
        self.bytes(prefixes);
        self.code.push(0x40 | (u8::from(wide) << 3) | ((reg >> 3) << 2) | (rm >> 3));
        self.bytes(opcode);
        self.code.push(0xC0 | ((reg & 7) << 3) | (rm & 7));
    }

    /// Loads a number of 1, 2, 4 or 8 bytes, with zeros above.
    pub(super) fn load(&mut self, to: Reg, memory: Memory, width: usize) {
        match width {
            1 => self.plain(&[], false, &[0x0F, 0xB6], to.0, memory),
            2 => self.plain(&[], false, &[0x0F, 0xB7], to.0, memory),
            _ => self.plain(&[], width == 8, &[0x8B], to.0, memory),
        }
    }

    /// Loads a number of 1, 2, 4 or 8 bytes, with its sign above.
    pub(super) fn load_signed(&mut self, to: Reg, memory: Memory, width: usize) {
        match width {
            1 => self.plain(&[], true, &[0x0F, 0xBE], to.0, memory),
            2 => self.plain(&[], true, &[0x0F, 0xBF], to.0, memory),
            4 => self.plain(&[], true, &[0x63], to.0, memory),
            _ => self.plain(&[], true, &[0x8B], to.0, memory),
        }
    }

    /// Fills what is above the low 1, 2 or 4 bytes with their sign.
    pub(super) fn extend(&mut self, reg: Reg, width: usize) {
        match width {
            1 => self.plain_registers(&[], true, &[0x0F, 0xBE], reg.0, reg.0),
            2 => self.plain_registers(&[], true, &[0x0F, 0xBF], reg.0, reg.0),
            _ => self.plain_registers(&[], true, &[0x63], reg.0, reg.0),
        }
    }

    /// Stores the low 1, 2, 4 or 8 bytes of a number.
    pub(super) fn store(&mut self, memory: Memory, from: Reg, width: usize) {
        match width {
            1 => self.plain(&[], false, &[0x88], from.0, memory),
            2 => self.plain(&[0x66], false, &[0x89], from.0, memory),
            _ => self.plain(&[], width == 8, &[0x89], from.0, memory),
        }
    }

    /// Loads a number of 2, 4 or 8 bytes that is reversed in memory. For 2 bytes, the upper bits keep what they held.
    pub(super) fn load_reversed(&mut self, to: Reg, memory: Memory, width: usize) {
        let prefixes: &[u8] = if width == 2 { &[0x66] } else { &[] };
        self.plain(prefixes, width == 8, &[0x0F, 0x38, 0xF0], to.0, memory);
    }

    /// Stores the low 2, 4 or 8 bytes of a number, reversed.
    pub(super) fn store_reversed(&mut self, memory: Memory, from: Reg, width: usize) {
        let prefixes: &[u8] = if width == 2 { &[0x66] } else { &[] };
        self.plain(prefixes, width == 8, &[0x0F, 0x38, 0xF1], from.0, memory);
    }

    pub(super) fn address(&mut self, to: Reg, memory: Memory) {
        self.plain(&[], true, &[0x8D], to.0, memory);
    }

    pub(super) fn copy(&mut self, to: Reg, from: Reg) {
        self.plain_registers(&[], true, &[0x8B], to.0, from.0);
    }

    pub(super) fn set(&mut self, to: Reg, number: u64) {
        match u32::try_from(number) {
            Ok(0) => self.plain_registers(&[], false, &[0x33], to.0, to.0),
            Ok(small) => {
                self.bytes(&[0x40 | (to.0 >> 3), 0xB8 | (to.0 & 7)]);
                self.bytes(&small.to_le_bytes());
            }
            Err(_) => {
                self.bytes(&[0x48 | (to.0 >> 3), 0xB8 | (to.0 & 7)]);
                self.bytes(&number.to_le_bytes());
            }
        }
    }

    pub(super) fn compute(&mut self, what: Arithmetic, with: Reg, by: Reg) {
        self.plain_registers(&[], true, &[what as u8], with.0, by.0);
    }

    pub(super) fn compute_by_memory(&mut self, what: Arithmetic, with: Reg, by: Memory) {
        self.plain(&[], true, &[what as u8], with.0, by);
    }

    pub(super) fn add(&mut self, to: Reg, number: i32) {
        self.immediate(0, to, number);
    }

    pub(super) fn and(&mut self, to: Reg, number: i32) {
        self.immediate(4, to, number);
    }

    pub(super) fn subtract(&mut self, from: Reg, number: i32) {
        self.immediate(5, from, number);
    }

    pub(super) fn compare(&mut self, one: Reg, number: i32) {
        self.immediate(7, one, number);
    }

    fn immediate(&mut self, what: u8, reg: Reg, number: i32) {
        self.bytes(&[0x48 | (reg.0 >> 3), 0x81, 0xC0 | (what << 3) | (reg.0 & 7)]);
        self.number(number);
    }

    pub(super) fn multiply(&mut self, to: Reg, from: Reg, number: i32) {
        self.plain_registers(&[], true, &[0x69], to.0, from.0);
        self.number(number);
    }

    pub(super) fn shift_right(&mut self, reg: Reg, bits: u8) {
        self.bytes(&[0x48 | (reg.0 >> 3), 0xC1, 0xE8 | (reg.0 & 7), bits]);
    }

    pub(super) fn shift_left(&mut self, reg: Reg, bits: u8) {
        self.bytes(&[0x48 | (reg.0 >> 3), 0xC1, 0xE0 | (reg.0 & 7), bits]);
    }

    /// Copies a number if a condition holds.
    pub(super) fn copy_if(&mut self, condition: If, to: Reg, from: Reg) {
        self.plain_registers(&[], true, &[0x0F, 0x40 | condition as u8], to.0, from.0);
    }

    /// Compares a number with 0.
    pub(super) fn test(&mut self, reg: Reg) {
        self.plain_registers(&[], true, &[0x85], reg.0, reg.0);
    }

    /// The number of zero bits below the lowest one.
    pub(super) fn trailing_zeros(&mut self, to: Reg, from: Reg) {
        self.plain_registers(&[0xF3], true, &[0x0F, 0xBC], to.0, from.0);
    }

    /// The bits up to the lowest one of a number, and that one.
    pub(super) fn up_to_lowest(&mut self, to: Reg, from: Reg) {
        self.vex(2, 2, 0x80 | fields(to.0), from.0);
        self.bytes(&[0xF3, 0xC0 | (2 << 3) | (from.0 & 7)]);
    }

    /// The low `bits` bits of a number.
    pub(super) fn low_bits(&mut self, to: Reg, from: Reg, bits: Reg) {
        self.vex(to.0, 2, 0x80 | fields(bits.0), from.0);
        self.bytes(&[0xF5, 0xC0 | ((to.0 & 7) << 3) | (from.0 & 7)]);
    }

    /// A VEX prefix of three bytes.
    fn vex(&mut self, reg: u8, map: u8, rest: u8, rm: u8) {
        self.bytes(&[0xC4, (u8::from(reg < 8) << 7) | 0x40 | (u8::from(rm < 8) << 5) | map, rest]);
    }

    pub(super) fn push(&mut self, reg: Reg) {
        self.bytes(&[0x40 | (reg.0 >> 3), 0x50 | (reg.0 & 7)]);
    }

    pub(super) fn pop(&mut self, reg: Reg) {
        self.bytes(&[0x40 | (reg.0 >> 3), 0x58 | (reg.0 & 7)]);
    }

    pub(super) fn jump(&mut self, to: Label) {
        self.code.push(0xE9);
        self.jumps.push((self.code.len(), to));
        self.number(0);
    }

    pub(super) fn jump_if(&mut self, condition: If, to: Label) {
        self.bytes(&[0x0F, 0x80 | condition as u8]);
        self.jumps.push((self.code.len(), to));
        self.number(0);
    }

    pub(super) fn call(&mut self, function: Reg) {
        self.bytes(&[0x40 | (function.0 >> 3), 0xFF, 0xD0 | (function.0 & 7)]);
    }

    /// Clears the upper parts of the first sixteen vector registers, so that older instructions do not wait for them.
    pub(super) fn zero_upper(&mut self) {
        self.bytes(&[0xC5, 0xF8, 0x77]);
    }

    pub(super) fn ret(&mut self) {
        self.code.push(0xC3);
    }

    /// A vector instruction of up to three operands; `second` is 0 if there are two. With `zero`, lanes that the mask
    /// leaves out become zero; otherwise they keep their values. `last` follows the operands of some instructions.
    #[expect(clippy::too_many_arguments, reason = "as many as the encoding has")]
    pub(super) fn vector(
        &mut self,
        Opcode(prefix, map, opcode, w): Opcode,
        width: Width,
        reg: u8,
        second: u8,
        operand: impl Into<Operand>,
        (mask, zero): (Mask, bool),
        last: Option<u8>,
    ) {
        let operand = operand.into();
        if self.extension == Extension::Avx2 {
            return self.vector_by_vex(Opcode(prefix, map, opcode, w), width, reg, second, operand, last);
        }
        let (base, index, broadcast) = match operand {
            Operand::Vector(Vector(rm)) => (rm & 15, rm >> 4 << 3, false),
            Operand::Memory(memory) => (bases(memory).0, bases(memory).1, false),
            Operand::Everywhere(memory) => (bases(memory).0, bases(memory).1, true),
        };
        let bit = |set: bool, at: u8| u8::from(set) << at;
        self.bytes(&[
            0x62,
            bit(reg & 8 == 0, 7) | bit(index & 8 == 0, 6) | bit(base & 8 == 0, 5) | bit(reg & 16 == 0, 4) | map,
            w << 7 | fields(second) | 4 | prefix as u8,
            bit(zero, 7) | (width as u8) << 5 | bit(broadcast, 4) | bit(second & 16 == 0, 3) | mask.0,
            opcode,
        ]);
        self.ending(reg, operand, last);
    }

    fn vector_by_vex(
        &mut self,
        Opcode(prefix, map, opcode, w): Opcode,
        width: Width,
        reg: u8,
        second: u8,
        operand: Operand,
        last: Option<u8>,
    ) {
        let (base, index) = match operand {
            Operand::Vector(Vector(rm)) => (rm, 0),
            Operand::Memory(memory) | Operand::Everywhere(memory) => bases(memory),
        };
        let bit = |set: bool, at: u8| u8::from(set) << at;
        // With this prefix the bit means nothing here. Valgrind wants 0.
        let w = match (prefix, map, opcode) {
            (Prefix::F3, 1, 0x7E) | (Prefix::P66, 1, 0xD6 | 0xEF) => 0,
            _ => w,
        };
        self.bytes(&[
            0xC4,
            bit(reg & 8 == 0, 7) | bit(index & 8 == 0, 6) | bit(base & 8 == 0, 5) | map,
            w << 7 | fields(second) | (width as u8) << 2 | prefix as u8,
            opcode,
        ]);
        self.ending(reg, operand, last);
    }

    /// The last bytes of a vector instruction.
    fn ending(&mut self, reg: u8, operand: Operand, last: Option<u8>) {
        match operand {
            Operand::Vector(Vector(rm)) => self.code.push(0xC0 | (reg & 7) << 3 | rm & 7),
            Operand::Memory(memory) | Operand::Everywhere(memory) => {
                self.operands(reg, memory, usize::from(last.is_some()));
            }
        }
        self.code.extend(last);
    }

    /// Loads a mask of 64 bits.
    pub(super) fn load_mask(&mut self, to: Mask, from: Constant) {
        self.vex(to.0, 1, 0xF8, 0);
        self.code.push(0x90);
        self.operands(to.0, Memory::Constant(from), 0);
    }

    pub(super) fn mask_from(&mut self, to: Mask, from: Reg) {
        self.vex(to.0, 1, 0xFB, from.0);
        self.bytes(&[0x92, 0xC0 | (to.0 << 3) | (from.0 & 7)]);
    }

    pub(super) fn mask_to(&mut self, to: Reg, from: Mask) {
        self.vex(to.0, 1, 0xFB, from.0);
        self.bytes(&[0x93, 0xC0 | ((to.0 & 7) << 3) | from.0]);
    }

    /// Compares the low 8 bits of a mask with 0.
    pub(super) fn test_mask(&mut self, mask: Mask) {
        self.bytes(&[0xC5, 0xF9, 0x98, 0xC0 | (mask.0 << 3) | mask.0]);
    }

    /// `to = !one & other`.
    pub(super) fn mask_and_not(&mut self, to: Mask, one: Mask, other: Mask) {
        self.vex(to.0, 1, 0x84 | fields(one.0), other.0);
        self.bytes(&[0x42, 0xC0 | (to.0 << 3) | other.0]);
    }
}

/// The number of a register as the prefixes encode it.
fn fields(second: u8) -> u8 {
    (!second & 15) << 3
}

/// The registers that a memory operand is computed from, by their numbers.
fn bases(memory: Memory) -> (u8, u8) {
    match memory {
        Memory::At(base, _) => (base.0, 0),
        Memory::Sum(base, index) => (base.0, index.0),
        Memory::Constant(_) => (0, 0),
    }
}
