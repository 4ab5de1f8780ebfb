//! The operands of instructions - registers, masks, places in memory, constants - and their encodings.

/// A register of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reg(pub(super) u8);

pub(super) const RAX: Reg = Reg(0);
pub(super) const RCX: Reg = Reg(1);
pub(super) const RDX: Reg = Reg(2);
pub(super) const RBX: Reg = Reg(3);
pub(super) const RSP: Reg = Reg(4);
pub(super) const RBP: Reg = Reg(5);
pub(super) const RSI: Reg = Reg(6);
pub(super) const RDI: Reg = Reg(7);
pub(super) const R8: Reg = Reg(8);
pub(super) const R9: Reg = Reg(9);
pub(super) const R10: Reg = Reg(10);
pub(super) const R11: Reg = Reg(11);
pub(super) const R12: Reg = Reg(12);
pub(super) const R13: Reg = Reg(13);
pub(super) const R14: Reg = Reg(14);
pub(super) const R15: Reg = Reg(15);

/// A vector register. Registers from 16 on leave no state that older instructions would wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vector(pub(super) u8);

/// A mask register. In an operand, 0 stands for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mask(pub(super) u8);

pub(super) const ALL: Mask = Mask(0);

/// Bytes of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    V16 = 0,
    V32 = 1,
    V64 = 2,
}

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// The address in a register, plus an offset.
    At(Reg, i32),
    /// The sum of two addresses.
    Sum(Reg, Reg),
    /// A constant after the code.
    Constant(Constant),
}

/// A constant of `size` bytes, by its number among the constants of that size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Constant(pub(super) u32);

/// The source of an operand.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    Vector(Vector),
    Memory(Memory),
    /// The 8 bytes of a place, copied into every lane.
    Everywhere(Memory),
}

impl From<Vector> for Operand {
    fn from(vector: Vector) -> Operand {
        Operand::Vector(vector)
    }
}

impl From<Memory> for Operand {
    fn from(memory: Memory) -> Operand {
        Operand::Memory(memory)
    }
}

/// A target of jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(pub(super) usize);

/// The condition of a jump.
#[derive(Clone, Copy, Debug)]
pub(super) enum If {
    Below = 2,
    NotBelow = 3,
    Zero = 4,
    NotZero = 5,
    Above = 7,
    Less = 12,
    Greater = 15,
}

/// The prefix of a vector instruction, which is part of its encoding.
#[derive(Clone, Copy)]
pub(super) enum Prefix {
    None = 0,
    P66 = 1,
    F3 = 2,
    F2 = 3,
}

/// A vector instruction: its prefix, the map and number of its opcode, and its bit W.
#[derive(Clone, Copy)]
pub(super) struct Opcode(pub(super) Prefix, pub(super) u8, pub(super) u8, pub(super) u8);

/// An operation of one register with another, or with memory.
#[derive(Clone, Copy)]
pub(super) enum Arithmetic {
    Add = 0x03,
    Subtract = 0x2B,
    Compare = 0x3B,
}
