//! What instructions work on - registers, masks, places in memory, constants - and how they are told apart.

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
pub(super) const R12: Reg = Reg(12);
pub(super) const R13: Reg = Reg(13);
pub(super) const R14: Reg = Reg(14);
pub(super) const R15: Reg = Reg(15);

/// A vector register. Those from 16 on leave no state behind that older instructions would have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vector(pub(super) u8);

/// A mask register; 0 in an operand stands for none.
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
    /// So many bytes from an address.
    At(Reg, i32),
    /// From the sum of two addresses.
    Sum(Reg, Reg),
    /// A constant behind the code.
    Constant(Constant),
}

/// A constant of `size` bytes, by where it is among the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Constant(pub(super) u32);

/// Where an operand comes from.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    Vector(Vector),
    Memory(Memory),
    /// The 8 bytes of a place, in every lane.
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

/// A place in the code that is jumped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(pub(super) usize);

/// When a jump is taken.
#[derive(Clone, Copy, Debug)]
pub(super) enum If {
    Below = 2,
    NotBelow = 3,
    Zero = 4,
    NotZero = 5,
    Above = 7,
}

/// Prefixes that vector instructions are told apart by.
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

/// What is done to one register by another or by memory.
#[derive(Clone, Copy)]
pub(super) enum Arithmetic {
    Add = 0x03,
    Subtract = 0x2B,
    Compare = 0x3B,
}
