//! Instructions as text, in the notation of Intel.

use super::{Arithmetic, Condition, Extend, Instruction, Operand, Place, Register, Vector, What};
use std::fmt::{Display, Formatter, Result};

/// Displays an instruction.
pub(crate) struct Shown<'a>(pub(crate) &'a Instruction);

/// The names of the registers, by the bytes of them that are used.
const NAMES: [[&str; 16]; 4] = [
    ["al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b"],
    ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w"],
    [
        "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d",
        "r15d",
    ],
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"],
];

fn name(register: Register, width: usize) -> &'static str {
    NAMES[width.ilog2() as usize & 3][usize::from(register & 15)]
}

fn wide(register: Register) -> &'static str {
    name(register, 8)
}

/// The name of the vector register of so many bytes.
struct Vectors(Register, usize);

impl Display for Vectors {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let letter = match self.1 {
            64 => 'z',
            32 => 'y',
            _ => 'x',
        };
        write!(f, "{letter}mm{}", self.0)
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match *self {
            Place::Code(at) => write!(f, "[code+{at:#x}]"),
            Place::At(base, index, offset) => {
                write!(f, "[{}", wide(base))?;
                if let Some(index) = index {
                    write!(f, "+{}", wide(index))?;
                }
                if offset == 0 { write!(f, "]") } else { write!(f, "{offset:+}]") }
            }
        }
    }
}

/// A place with the number of bytes there.
struct Sized(Place, usize);

impl Display for Sized {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let size = ["byte", "word", "dword", "qword"][self.1.ilog2() as usize & 3];
        write!(f, "{size} ptr {}", self.0)
    }
}

/// A register or a place of so many bytes.
struct Either(Operand, usize);

impl Display for Either {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            Operand::Register(register) => f.write_str(name(register, self.1)),
            Operand::Place(place) | Operand::Everywhere(place) => write!(f, "{}", Sized(place, self.1)),
        }
    }
}

fn word(what: Arithmetic) -> &'static str {
    match what {
        Arithmetic::Add => "add",
        Arithmetic::And => "and",
        Arithmetic::Subtract => "sub",
        Arithmetic::Compare => "cmp",
    }
}

fn suffix(condition: Condition) -> &'static str {
    match condition {
        Condition::Below => "b",
        Condition::NotBelow => "ae",
        Condition::Zero => "e",
        Condition::NotZero => "ne",
        Condition::Above => "a",
        Condition::Less => "l",
        Condition::Greater => "g",
    }
}

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match *self.0 {
            Instruction::Load { to, from, width: width @ (1 | 2) } => {
                write!(f, "movzx {}, {}", name(to, 4), Either(from, width))
            }
            Instruction::Load { to, from, width } => write!(f, "mov {}, {}", name(to, width), Either(from, width)),
            Instruction::LoadSigned { to, from, width } => {
                let word = if width == 4 { "movsxd" } else { "movsx" };
                write!(f, "{word} {}, {}", wide(to), Either(from, width))
            }
            Instruction::Store { to, from, width } => write!(f, "mov {}, {}", Sized(to, width), name(from, width)),
            Instruction::LoadReversed { to, from, width } => {
                write!(f, "movbe {}, {}", name(to, width), Sized(from, width))
            }
            Instruction::StoreReversed { to, from, width } => {
                write!(f, "movbe {}, {}", Sized(to, width), name(from, width))
            }
            Instruction::Address { to, of } => write!(f, "lea {}, {of}", wide(to)),
            Instruction::Clear(register) => write!(f, "xor {0}, {0}", name(register, 4)),
            Instruction::Set { to, number } => match u32::try_from(number) {
                Ok(_) => write!(f, "mov {}, {number:#x}", name(to, 4)),
                Err(_) => write!(f, "mov {}, {number:#x}", wide(to)),
            },
            Instruction::Compute { what, with, by } => write!(f, "{} {}, {}", word(what), wide(with), Either(by, 8)),
            Instruction::Immediate { what, with, number } => write!(f, "{} {}, {number}", word(what), wide(with)),
            Instruction::Multiply { to, from, number } => write!(f, "imul {}, {}, {number}", wide(to), wide(from)),
            Instruction::ShiftRight { with, bits } => write!(f, "shr {}, {bits}", wide(with)),
            Instruction::ShiftLeft { with, bits } => write!(f, "shl {}, {bits}", wide(with)),
            Instruction::CopyIf { condition, to, from } => {
                write!(f, "cmov{} {}, {}", suffix(condition), wide(to), wide(from))
            }
            Instruction::Test(register) => write!(f, "test {0}, {0}", wide(register)),
            Instruction::TrailingZeros { to, from } => write!(f, "tzcnt {}, {}", wide(to), wide(from)),
            Instruction::UpToLowest { to, from } => write!(f, "blsmsk {}, {}", wide(to), wide(from)),
            Instruction::LowBits { to, from, bits } => {
                write!(f, "bzhi {}, {}, {}", wide(to), wide(from), wide(bits))
            }
            Instruction::Push(register) => write!(f, "push {}", wide(register)),
            Instruction::Pop(register) => write!(f, "pop {}", wide(register)),
            Instruction::Jump(to) => write!(f, "jmp {to:#x}"),
            Instruction::JumpIf(condition, to) => write!(f, "j{} {to:#x}", suffix(condition)),
            Instruction::Call(register) => write!(f, "call {}", wide(register)),
            Instruction::ZeroUpper => f.write_str("vzeroupper"),
            Instruction::Return => f.write_str("ret"),
            Instruction::LoadMask { to, from } => write!(f, "kmovq k{to}, {from}"),
            Instruction::MaskFrom { to, from } => write!(f, "kmovq k{to}, {}", wide(from)),
            Instruction::MaskTo { to, from } => write!(f, "kmovq {}, k{from}", wide(to)),
            Instruction::TestMask(mask) => write!(f, "kortestb k{mask}, k{mask}"),
            Instruction::MaskAndNot { to, one, other } => write!(f, "kandnq k{to}, k{one}, k{other}"),
            Instruction::Vector(vector) => write!(f, "{vector}"),
        }
    }
}

/// How many operands an instruction has, besides the number at its end.
enum Operands {
    Two,
    Three,
    /// Two, and the second of three that are encoded plays no part.
    Mask,
    /// The result is the operand.
    Store,
    FromRegister,
    ToRegister,
    WithRegister,
    /// The result is one of the usual registers.
    IntoRegister,
}

fn extend_name(Extend { signed, from, to }: Extend) -> &'static str {
    match (signed, from, to) {
        (true, 1, 4) => "vpmovsxbd",
        (true, 1, _) => "vpmovsxbq",
        (true, 2, 4) => "vpmovsxwd",
        (true, 2, _) => "vpmovsxwq",
        (true, ..) => "vpmovsxdq",
        (false, 1, 4) => "vpmovzxbd",
        (false, 1, _) => "vpmovzxbq",
        (false, 2, 4) => "vpmovzxwd",
        (false, 2, _) => "vpmovzxwq",
        (false, ..) => "vpmovzxdq",
    }
}

/// The instruction's name, its operands, and whether a number ends it.
fn named(what: What) -> (&'static str, Operands, bool) {
    use Operands::{FromRegister, IntoRegister, Mask, Store, Three, ToRegister, Two, WithRegister};
    match what {
        What::MoveBytes => ("vmovdqu8", Two, false),
        What::StoreBytes => ("vmovdqu8", Store, false),
        What::MoveLanes => ("vmovdqa64", Two, false),
        What::Move => ("vmovdqu", Two, false),
        What::Store => ("vmovdqu", Store, false),
        What::Move4 => ("vmovd", Two, false),
        What::Store4 => ("vmovd", Store, false),
        What::Move8 => ("vmovq", Two, false),
        What::Store8 => ("vmovq", Store, false),
        What::Broadcast => ("vpbroadcastq", Two, false),
        What::BroadcastHalf => ("vbroadcasti128", Two, false),
        What::Shuffle => ("vpshufb", Three, false),
        What::InsertHalf => ("vinserti128", Three, true),
        What::UpperHalf => ("vextracti128", Store, true),
        What::Interleave2 => ("vpunpcklwd", Three, false),
        What::Interleave4 => ("vpunpckldq", Three, false),
        What::Interleave8 => ("vpunpcklqdq", Three, false),
        What::Extend(extend) => (extend_name(extend), Two, false),
        What::EqualBytes => ("vpcmpeqb", Three, false),
        What::SignsOfBytes => ("vpmovmskb", IntoRegister, false),
        What::Test => ("vptest", Two, false),
        What::And => ("vpand", Three, false),
        What::Or => ("vpor", Three, false),
        What::AddDoubles => ("vaddpd", Three, false),
        What::AddDouble => ("vaddsd", Three, false),
        What::CompareDoubles => ("vcmppd", Three, true),
        What::CompareOne => ("vcmpsd", Three, true),
        What::Int32ToDouble => ("vcvtdq2pd", Two, false),
        What::Int32ToFloat => ("vcvtdq2ps", Two, false),
        What::NarrowOne => ("vcvtsd2ss", Three, false),
        What::IntegerToFloat => ("vcvtsi2ss", WithRegister, false),
        What::DoubleToInteger => ("vcvttsd2si", IntoRegister, false),
        What::Permute => ("vpermb", Three, false),
        What::TestZeroBytes => ("vptestnmb", Mask, false),
        What::Xor => ("vpxorq", Three, false),
        What::Add => ("vpaddq", Three, false),
        What::LeastSigned => ("vpminsq", Three, false),
        What::LeastUnsigned => ("vpminuq", Three, false),
        What::MostSigned => ("vpmaxsq", Three, false),
        What::ShiftRight => ("vpsrlq", Two, true),
        What::ShiftRightSigned => ("vpsraq", Two, true),
        What::ShiftLeft => ("vpsllq", Two, true),
        What::CompareSigned => ("vpcmpq", Mask, true),
        What::CompareUnsigned => ("vpcmpuq", Mask, true),
        What::CompareDouble => ("vcmppd", Mask, true),
        What::TestLanes => ("vptestmq", Mask, false),
        What::ClassOfFloat => ("vfpclassps", Mask, true),
        What::ClassOfDouble => ("vfpclasspd", Mask, true),
        What::WidenFloat => ("vcvtps2pd", Two, false),
        What::NarrowFloat => ("vcvtpd2ps", Two, false),
        What::SignedToDouble => ("vcvtqq2pd", Two, false),
        What::UnsignedToDouble => ("vcvtuqq2pd", Two, false),
        What::SignedToFloat => ("vcvtqq2ps", Two, false),
        What::UnsignedToFloat => ("vcvtuqq2ps", Two, false),
        What::DoubleToSigned => ("vcvttpd2qq", Two, false),
        What::DoubleToUnsigned => ("vcvttpd2uqq", Two, false),
        What::IntegerToDouble => ("vcvtsi2sd", WithRegister, false),
        What::WidenOne => ("vcvtss2sd", Three, false),
        What::ToVector => ("vmovq", FromRegister, false),
        What::FromVector => ("vmovq", ToRegister, false),
    }
}

impl Display for Vector {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (name, operands, number) = match self.what {
            What::Xor if !self.evex => ("vpxor", Operands::Three, false),
            what => named(what),
        };
        let (wide, narrow) = match self.what {
            What::WidenFloat | What::Int32ToDouble => (self.width, self.width / 2),
            What::Extend(_) => (self.width, 16),
            What::UpperHalf => (self.width, 16),
            What::NarrowFloat | What::SignedToFloat | What::UnsignedToFloat => (self.width / 2, self.width),
            _ => (self.width, self.width),
        };
        let mask = std::fmt::from_fn(|f| match (self.mask, self.zero) {
            (0, _) => Ok(()),
            (mask, false) => write!(f, "{{k{mask}}}"),
            (mask, true) => write!(f, "{{k{mask}}}{{z}}"),
        });
        let operand = std::fmt::from_fn(|f| match self.operand {
            Operand::Register(register) => write!(f, "{}", Vectors(register, narrow)),
            Operand::Place(place) => write!(f, "{place}"),
            Operand::Everywhere(place) => write!(f, "{place}{{1to{}}}", self.width / 8),
        });
        let (result, second) = (Vectors(self.reg, wide), Vectors(self.second, self.width));
        let plain = Either(self.operand, 8);
        match operands {
            Operands::Two => write!(f, "{name} {result}{mask}, {operand}")?,
            Operands::Three => write!(f, "{name} {result}{mask}, {second}, {operand}")?,
            Operands::Mask if matches!(self.what, What::ClassOfFloat | What::ClassOfDouble) => {
                write!(f, "{name} k{}{mask}, {operand}", self.reg)?;
            }
            Operands::Mask => write!(f, "{name} k{}{mask}, {second}, {operand}", self.reg)?,
            Operands::Store => write!(f, "{name} {operand}{mask}, {result}")?,
            Operands::FromRegister => write!(f, "{name} {result}, {plain}")?,
            Operands::ToRegister => write!(f, "{name} {plain}, {result}")?,
            Operands::IntoRegister if self.what == What::SignsOfBytes => {
                write!(f, "{name} {}, {operand}", self::name(self.reg, 4))?;
            }
            Operands::IntoRegister => write!(f, "{name} {}, {operand}", self::wide(self.reg))?,
            Operands::WithRegister => write!(f, "{name} {result}, {second}, {plain}")?,
        }
        if number { write!(f, ", {}", self.last) } else { Ok(()) }
    }
}
