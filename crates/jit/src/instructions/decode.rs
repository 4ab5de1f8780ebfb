//! Reads instructions. Whatever the generator does not emit is not known here.

use super::{Arithmetic, Condition, Extend, Instruction, Operand, Place, Register, Vector, What};

/// The instruction at an offset of the code, and its length. `None` if it is not one of those that the generator emits.
pub(crate) fn decode(code: &[u8], at: usize) -> Option<(Instruction, usize)> {
    let mut bytes = Bytes { code, at };
    let instruction = bytes.instruction()?;
    Some((instruction, bytes.at - at))
}

struct Bytes<'a> {
    code: &'a [u8],
    at: usize,
}

/// The registers that the prefixes and the byte behind the opcode name.
struct Operands {
    reg: Register,
    operand: Operand,
}

/// What prefixes add to the numbers of registers.
#[derive(Clone, Copy)]
struct Upper {
    reg: u8,
    index: u8,
    base: u8,
    /// For a register in place of memory.
    direct: u8,
}

impl Bytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.code.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    fn number(&mut self) -> Option<i32> {
        let bytes = self.code.get(self.at..)?.first_chunk()?;
        self.at += 4;
        Some(i32::from_le_bytes(*bytes))
    }

    /// The target of a jump, or the place of a constant, which is relative to the end of the instruction.
    fn target(&mut self, rest: usize) -> Option<usize> {
        let distance = self.number()?;
        (self.at + rest).checked_add_signed(distance as isize)
    }

    fn instruction(&mut self) -> Option<Instruction> {
        match self.byte()? {
            0x0F => {
                let condition = match self.byte()? {
                    0x82 => Condition::Below,
                    0x83 => Condition::NotBelow,
                    0x84 => Condition::Zero,
                    0x85 => Condition::NotZero,
                    0x87 => Condition::Above,
                    _ => return None,
                };
                Some(Instruction::JumpIf(condition, self.target(0)?))
            }
            0xE9 => Some(Instruction::Jump(self.target(0)?)),
            0xC3 => Some(Instruction::Return),
            0xC5 => self.short_vex(),
            0xC4 => self.vex(),
            0x62 => self.evex(),
            prefix @ (0x66 | 0xF3) => {
                let rex = self.byte()?;
                self.plain(prefix, rex)
            }
            rex => self.plain(0, rex),
        }
    }

    /// A register, or a place in memory, with `rest` more bytes of the instruction behind it.
    fn operands(&mut self, upper: Upper, rest: usize) -> Option<Operands> {
        let byte = self.byte()?;
        let (reg, rm) = (byte >> 3 & 7 | upper.reg, byte & 7);
        let operand = match byte >> 6 {
            3 => Operand::Register(rm | upper.direct),
            2 if rm == 4 => {
                let more = self.byte()?;
                let (index, base) = (more >> 3 & 7 | upper.index, more & 7 | upper.base);
                if more >> 6 != 0 {
                    return None;
                }
                Operand::Place(Place::At(base, (index != 4).then_some(index), self.number()?))
            }
            2 => Operand::Place(Place::At(rm | upper.base, None, self.number()?)),
            0 if rm == 5 => Operand::Place(Place::Code(self.target(rest)?)),
            _ => return None,
        };
        Some(Operands { reg, operand })
    }

    /// An instruction on the usual registers. All of them have the prefix that names sixteen.
    fn plain(&mut self, prefix: u8, rex: u8) -> Option<Instruction> {
        if rex & 0xF0 != 0x40 {
            return None;
        }
        let wide = rex & 8 != 0;
        let base = (rex & 1) << 3;
        let upper = Upper { reg: (rex & 4) << 1, index: (rex & 2) << 2, base, direct: base };
        let opcode = self.byte()?;
        let plain = prefix == 0;
        match opcode {
            0x50..=0x57 if plain && !wide => return Some(Instruction::Push(opcode & 7 | base)),
            0x58..=0x5F if plain && !wide => return Some(Instruction::Pop(opcode & 7 | base)),
            0xB8..=0xBF if plain => {
                let to = opcode & 7 | base;
                let low = u64::from(self.number()? as u32);
                let number = if wide { u64::from(self.number()? as u32) << 32 | low } else { low };
                return Some(Instruction::Set { to, number });
            }
            0x0F => return self.two_bytes(prefix, wide, upper),
            _ => {}
        }
        let store_of_two = prefix == 0x66 && opcode == 0x89 && !wide;
        if !plain && !store_of_two {
            return None;
        }
        let rest = match opcode {
            0x81 | 0x69 => 4,
            0xC1 => 1,
            _ => 0,
        };
        let Operands { reg, operand } = self.operands(upper, rest)?;
        let width = if wide { 8 } else { 4 };
        match (opcode, operand) {
            (0x8B, from) => Some(Instruction::Load { to: reg, from, width }),
            (0x63, from) if wide => Some(Instruction::LoadSigned { to: reg, from, width: 4 }),
            (0x88, Operand::Place(to)) if !wide => Some(Instruction::Store { to, from: reg, width: 1 }),
            (0x89, Operand::Place(to)) => {
                Some(Instruction::Store { to, from: reg, width: if prefix == 0x66 { 2 } else { width } })
            }
            (0x8D, Operand::Place(of)) if wide => Some(Instruction::Address { to: reg, of }),
            (0x33, Operand::Register(rm)) if rm == reg && !wide => Some(Instruction::Clear(reg)),
            (0x85, Operand::Register(rm)) if rm == reg && wide => Some(Instruction::Test(reg)),
            (0x03 | 0x2B | 0x3B, by) if wide => {
                let what = match opcode {
                    0x03 => Arithmetic::Add,
                    0x2B => Arithmetic::Subtract,
                    _ => Arithmetic::Compare,
                };
                Some(Instruction::Compute { what, with: reg, by })
            }
            (0x81, Operand::Register(with)) if wide => {
                let what = match reg & 7 {
                    0 => Arithmetic::Add,
                    4 => Arithmetic::And,
                    5 => Arithmetic::Subtract,
                    7 => Arithmetic::Compare,
                    _ => return None,
                };
                Some(Instruction::Immediate { what, with, number: self.number()? })
            }
            (0x69, Operand::Register(from)) if wide => {
                Some(Instruction::Multiply { to: reg, from, number: self.number()? })
            }
            (0xC1, Operand::Register(with)) if wide && reg & 7 == 5 => {
                Some(Instruction::ShiftRight { with, bits: self.byte()? })
            }
            (0xC1, Operand::Register(with)) if wide && reg & 7 == 4 => {
                Some(Instruction::ShiftLeft { with, bits: self.byte()? })
            }
            (0xFF, Operand::Register(function)) if !wide && reg & 7 == 2 => Some(Instruction::Call(function)),
            _ => None,
        }
    }

    /// The instructions whose opcodes begin with `0F`.
    fn two_bytes(&mut self, prefix: u8, wide: bool, upper: Upper) -> Option<Instruction> {
        let opcode = self.byte()?;
        if opcode == 0x38 {
            let reversing = self.byte()?;
            let width = match (prefix, wide) {
                (0x66, false) => 2,
                (0, false) => 4,
                (0, true) => 8,
                _ => return None,
            };
            let Operands { reg, operand: Operand::Place(place) } = self.operands(upper, 0)? else { return None };
            return match reversing {
                0xF0 => Some(Instruction::LoadReversed { to: reg, from: place, width }),
                0xF1 => Some(Instruction::StoreReversed { to: place, from: reg, width }),
                _ => None,
            };
        }
        let Operands { reg: to, operand: from } = self.operands(upper, 0)?;
        match (prefix, opcode, wide, from) {
            (0, 0xB6, false, Operand::Place(_)) => Some(Instruction::Load { to, from, width: 1 }),
            (0, 0xB7, false, Operand::Place(_)) => Some(Instruction::Load { to, from, width: 2 }),
            (0, 0xBE, true, _) => Some(Instruction::LoadSigned { to, from, width: 1 }),
            (0, 0xBF, true, _) => Some(Instruction::LoadSigned { to, from, width: 2 }),
            (0, 0x44 | 0x47 | 0x4C | 0x4F, true, Operand::Register(from)) => {
                let condition = match opcode {
                    0x44 => Condition::Zero,
                    0x47 => Condition::Above,
                    0x4C => Condition::Less,
                    _ => Condition::Greater,
                };
                Some(Instruction::CopyIf { condition, to, from })
            }
            (0xF3, 0xBC, true, Operand::Register(from)) => Some(Instruction::TrailingZeros { to, from }),
            _ => None,
        }
    }

    /// An instruction with a VEX prefix of two bytes.
    fn short_vex(&mut self) -> Option<Instruction> {
        match (self.byte()?, self.byte()?) {
            (0xF8, 0x77) => Some(Instruction::ZeroUpper),
            (0xF9, 0x98) => {
                let both = self.byte()?;
                (both >> 6 == 3 && both >> 3 & 7 == both & 7).then_some(Instruction::TestMask(both & 7))
            }
            _ => None,
        }
    }

    /// An instruction with a VEX prefix of three bytes.
    fn vex(&mut self) -> Option<Instruction> {
        let (first, second, opcode) = (self.byte()?, self.byte()?, self.byte()?);
        let bit = |at: u8, value: u8| if first >> at & 1 == 0 { value } else { 0 };
        let upper = Upper { reg: bit(7, 8), index: bit(6, 8), base: bit(5, 8), direct: bit(5, 8) };
        let other = !second >> 3 & 15;
        // W, L and the prefix.
        let kind = second & 0x87;
        if let Some((what, has_last)) = known_by_vex(second & 3, first & 31, opcode, second >> 7) {
            let Operands { reg, operand } = self.operands(upper, has_last.into())?;
            let width = if second & 4 == 0 { 16 } else { 32 };
            let last = if has_last { self.byte()? } else { 0 };
            let (evex, mask, zero) = (false, 0, false);
            return Some(Instruction::Vector(Vector {
                evex,
                what,
                width,
                reg,
                second: other,
                operand,
                mask,
                zero,
                last,
            }));
        }
        let Operands { reg, operand } = self.operands(upper, 0)?;
        match (first & 31, kind, opcode, operand) {
            (2, 0x80, 0xF3, Operand::Register(from)) if reg & 7 == 2 => {
                Some(Instruction::UpToLowest { to: other, from })
            }
            (2, 0x80, 0xF5, Operand::Register(from)) => Some(Instruction::LowBits { to: reg, from, bits: other }),
            (1, 0x80, 0x90, Operand::Place(from)) if reg < 8 && other == 0 => {
                Some(Instruction::LoadMask { to: reg, from })
            }
            (1, 0x83, 0x92, Operand::Register(from)) if reg < 8 && other == 0 => {
                Some(Instruction::MaskFrom { to: reg, from })
            }
            (1, 0x83, 0x93, Operand::Register(from)) if from < 8 && other == 0 => {
                Some(Instruction::MaskTo { to: reg, from })
            }
            (1, 0x84, 0x42, Operand::Register(last)) if reg < 8 && other < 8 && last < 8 => {
                Some(Instruction::MaskAndNot { to: reg, one: other, other: last })
            }
            _ => None,
        }
    }

    /// An instruction on vectors with an EVEX prefix.
    fn evex(&mut self) -> Option<Instruction> {
        let (first, second, third, opcode) = (self.byte()?, self.byte()?, self.byte()?, self.byte()?);
        let bit = |at: u8, value: u8| if first >> at & 1 == 0 { value } else { 0 };
        let base = bit(5, 8);
        let upper = Upper { reg: bit(7, 8) | bit(4, 16), index: bit(6, 8), base, direct: base | bit(6, 16) };
        if first & 8 != 0 || second & 4 == 0 {
            return None;
        }
        let (what, has_last) = known(second & 3, first & 7, opcode, second >> 7)?;
        let Operands { reg, operand } = self.operands(upper, has_last.into())?;
        let width = match third >> 5 & 3 {
            0 => 16,
            1 => 32,
            2 => 64,
            _ => return None,
        };
        let operand = match (third >> 4 & 1, operand) {
            (0, operand) => operand,
            (_, Operand::Place(place)) => Operand::Everywhere(place),
            _ => return None,
        };
        let mut vector = Vector {
            evex: true,
            what,
            width,
            reg,
            second: !second >> 3 & 15 | (!third >> 3 & 1) << 4,
            operand,
            mask: third & 7,
            zero: third >> 7 != 0,
            last: if has_last { self.byte()? } else { 0 },
        };
        if let What::ShiftLeft = what {
            // The number of the register says which shift it is, and the prefix which register is the result.
            (vector.what, vector.reg) = (shift(opcode, reg & 7)?, vector.second);
            vector.second = 0;
        }
        Some(Instruction::Vector(vector))
    }
}

const NONE: u8 = 0;
const P66: u8 = 1;
const F3: u8 = 2;
const F2: u8 = 3;

/// What the instruction of this prefix, map, opcode and bit W does, if its prefix is VEX, and whether a number ends it.
fn known_by_vex(prefix: u8, map: u8, opcode: u8, w: u8) -> Option<(What, bool)> {
    let extend = |from, to| What::Extend(Extend { signed: opcode & 0x10 == 0, from, to });
    Some(match (prefix, map, opcode, w) {
        (F3, 1, 0x6F, 0) => (What::Move, false),
        (F3, 1, 0x7F, 0) => (What::Store, false),
        (P66, 1, 0x6E, 0) => (What::Move4, false),
        (P66, 1, 0x7E, 0) => (What::Store4, false),
        (F3, 1, 0x7E, 0) => (What::Move8, false),
        (P66, 1, 0xD6, 0) => (What::Store8, false),
        (P66, 1, 0x6E, 1) => (What::ToVector, false),
        (P66, 1, 0x7E, 1) => (What::FromVector, false),
        (P66, 2, 0x5A, 0) => (What::BroadcastHalf, false),
        (P66, 2, 0x00, 0) => (What::Shuffle, false),
        (P66, 3, 0x38, 0) => (What::InsertHalf, true),
        (P66, 3, 0x39, 0) => (What::UpperHalf, true),
        (P66, 1, 0x61, 0) => (What::Interleave2, false),
        (P66, 1, 0x62, 0) => (What::Interleave4, false),
        (P66, 1, 0x6C, 0) => (What::Interleave8, false),
        (P66, 2, 0x21 | 0x31, 0) => (extend(1, 4), false),
        (P66, 2, 0x22 | 0x32, 0) => (extend(1, 8), false),
        (P66, 2, 0x23 | 0x33, 0) => (extend(2, 4), false),
        (P66, 2, 0x24 | 0x34, 0) => (extend(2, 8), false),
        (P66, 2, 0x25 | 0x35, 0) => (extend(4, 8), false),
        (P66, 1, 0x74, 0) => (What::EqualBytes, false),
        (P66, 1, 0xD7, 0) => (What::SignsOfBytes, false),
        (P66, 2, 0x17, 0) => (What::Test, false),
        (P66, 1, 0xDB, 0) => (What::And, false),
        (P66, 1, 0xEB, 0) => (What::Or, false),
        (P66, 1, 0xEF, 0) => (What::Xor, false),
        (P66, 1, 0xD4, 0) => (What::Add, false),
        (P66, 1, 0x58, 0) => (What::AddDoubles, false),
        (F2, 1, 0x58, 0) => (What::AddDouble, false),
        (P66, 1, 0xC2, 0) => (What::CompareDoubles, true),
        (F2, 1, 0xC2, 0) => (What::CompareOne, true),
        (F3, 1, 0xE6, 0) => (What::Int32ToDouble, false),
        (NONE, 1, 0x5B, 0) => (What::Int32ToFloat, false),
        (NONE, 1, 0x5A, 0) => (What::WidenFloat, false),
        (P66, 1, 0x5A, 0) => (What::NarrowFloat, false),
        (F3, 1, 0x5A, 0) => (What::WidenOne, false),
        (F2, 1, 0x5A, 0) => (What::NarrowOne, false),
        (F2, 1, 0x2A, 1) => (What::IntegerToDouble, false),
        (F3, 1, 0x2A, 1) => (What::IntegerToFloat, false),
        (F2, 1, 0x2C, 1) => (What::DoubleToInteger, false),
        _ => return None,
    })
}

/// The same for instructions with an EVEX prefix. Shifts are told apart
/// later.
fn known(prefix: u8, map: u8, opcode: u8, w: u8) -> Option<(What, bool)> {
    Some(match (prefix, map, opcode, w) {
        (F2, 1, 0x6F, 0) => (What::MoveBytes, false),
        (F2, 1, 0x7F, 0) => (What::StoreBytes, false),
        (P66, 1, 0x6F, 1) => (What::MoveLanes, false),
        (F3, 1, 0x7E, 1) => (What::Move8, false),
        (P66, 1, 0xD6, 1) => (What::Store8, false),
        (P66, 2, 0x59, 1) => (What::Broadcast, false),
        (P66, 2, 0x8D, 0) => (What::Permute, false),
        (F3, 2, 0x26, 0) => (What::TestZeroBytes, false),
        (P66, 1, 0xEF, 1) => (What::Xor, false),
        (P66, 1, 0xD4, 1) => (What::Add, false),
        (P66, 2, 0x39, 1) => (What::LeastSigned, false),
        (P66, 2, 0x3B, 1) => (What::LeastUnsigned, false),
        (P66, 2, 0x3D, 1) => (What::MostSigned, false),
        (P66, 1, 0x72 | 0x73, 1) => (What::ShiftLeft, true),
        (P66, 3, 0x1F, 1) => (What::CompareSigned, true),
        (P66, 3, 0x1E, 1) => (What::CompareUnsigned, true),
        (P66, 1, 0xC2, 1) => (What::CompareDouble, true),
        (P66, 2, 0x27, 1) => (What::TestLanes, false),
        (P66, 3, 0x66, 0) => (What::ClassOfFloat, true),
        (P66, 3, 0x66, 1) => (What::ClassOfDouble, true),
        (NONE, 1, 0x5A, 0) => (What::WidenFloat, false),
        (P66, 1, 0x5A, 1) => (What::NarrowFloat, false),
        (F3, 1, 0xE6, 1) => (What::SignedToDouble, false),
        (F3, 1, 0x7A, 1) => (What::UnsignedToDouble, false),
        (NONE, 1, 0x5B, 1) => (What::SignedToFloat, false),
        (F2, 1, 0x7A, 1) => (What::UnsignedToFloat, false),
        (P66, 1, 0x7A, 1) => (What::DoubleToSigned, false),
        (P66, 1, 0x78, 1) => (What::DoubleToUnsigned, false),
        (F2, 1, 0x2A, 1) => (What::IntegerToDouble, false),
        (F3, 1, 0x5A, 0) => (What::WidenOne, false),
        (P66, 1, 0x6E, 1) => (What::ToVector, false),
        (P66, 1, 0x7E, 1) => (What::FromVector, false),
        _ => return None,
    })
}

fn shift(opcode: u8, which: u8) -> Option<What> {
    match (opcode, which) {
        (0x73, 2) => Some(What::ShiftRight),
        (0x72, 4) => Some(What::ShiftRightSigned),
        (0x73, 6) => Some(What::ShiftLeft),
        _ => None,
    }
}
