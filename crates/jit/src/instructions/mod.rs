//! The instructions of x86-64 that the direct generator emits, read back from their bytes: few, each in one encoding.
//!
//! | module | what it has |
//! |---|---|
//! | `decode` | bytes to an [`Instruction`], or the fact that they are none of these |
//! | `text` | an [`Instruction`] as text, in the notation of Intel |
//! | `addresses` | what lies at the addresses in code |
//! | `machine` | executes them on memory of its own, with every access checked: feature `model` |
//! | `vector` | executes those on vectors |
//!
//! `x86::assembler` writes the same bytes. The two share no code, so that each checks the other.

pub(crate) mod addresses;
mod decode;
#[cfg(feature = "model")]
pub(crate) mod machine;
mod text;
#[cfg(feature = "model")]
mod vector;

pub(crate) use decode::decode;
pub(crate) use text::Shown;

/// A register, vector register or mask register, by its number.
pub(crate) type Register = u8;

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The address in a register, perhaps that in another one, and an offset.
    At(Register, Option<Register>, i32),
    /// An offset in the code.
    Code(usize),
}

/// The last operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Register(Register),
    Place(Place),
    /// The 8 bytes of a place, copied into every lane.
    Everywhere(Place),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    And,
    Subtract,
    Compare,
}

/// The condition of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Below,
    NotBelow,
    Zero,
    NotZero,
    Above,
    Less,
    Greater,
}

/// One instruction. Jumps have their targets as offsets in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instruction {
    /// Loads `width` bytes, or copies a register; with zeros above.
    Load {
        to: Register,
        from: Operand,
        width: usize,
    },
    /// Loads or copies `width` bytes with their sign above.
    LoadSigned {
        to: Register,
        from: Operand,
        width: usize,
    },
    Store {
        to: Place,
        from: Register,
        width: usize,
    },
    LoadReversed {
        to: Register,
        from: Place,
        width: usize,
    },
    StoreReversed {
        to: Place,
        from: Register,
        width: usize,
    },
    Address {
        to: Register,
        of: Place,
    },
    Clear(Register),
    Set {
        to: Register,
        number: u64,
    },
    Compute {
        what: Arithmetic,
        with: Register,
        by: Operand,
    },
    Immediate {
        what: Arithmetic,
        with: Register,
        number: i32,
    },
    Multiply {
        to: Register,
        from: Register,
        number: i32,
    },
    ShiftRight {
        with: Register,
        bits: u8,
    },
    ShiftLeft {
        with: Register,
        bits: u8,
    },
    CopyIf {
        condition: Condition,
        to: Register,
        from: Register,
    },
    Test(Register),
    TrailingZeros {
        to: Register,
        from: Register,
    },
    UpToLowest {
        to: Register,
        from: Register,
    },
    LowBits {
        to: Register,
        from: Register,
        bits: Register,
    },
    Push(Register),
    Pop(Register),
    Jump(usize),
    JumpIf(Condition, usize),
    Call(Register),
    ZeroUpper,
    Return,
    LoadMask {
        to: Register,
        from: Place,
    },
    MaskFrom {
        to: Register,
        from: Register,
    },
    MaskTo {
        to: Register,
        from: Register,
    },
    TestMask(Register),
    MaskAndNot {
        to: Register,
        one: Register,
        other: Register,
    },
    Vector(Vector),
}

/// An instruction on vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vector {
    /// Whether it is encoded as AVX-512 has it. Otherwise, AVX2 is enough.
    pub(crate) evex: bool,
    pub(crate) what: What,
    /// Bytes of the vectors.
    pub(crate) width: usize,
    pub(crate) reg: Register,
    pub(crate) second: Register,
    pub(crate) operand: Operand,
    /// The mask register; 0 stands for none.
    pub(crate) mask: Register,
    /// Whether elements outside the mask become zero.
    pub(crate) zero: bool,
    /// The number at the end, 0 if the instruction has none.
    pub(crate) last: u8,
}

/// What an instruction does with vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    MoveBytes,
    StoreBytes,
    MoveLanes,
    Move,
    Store,
    Move4,
    Store4,
    Move8,
    Store8,
    Broadcast,
    BroadcastHalf,
    Permute,
    Shuffle,
    InsertHalf,
    UpperHalf,
    Interleave2,
    Interleave4,
    Interleave8,
    Extend(Extend),
    EqualBytes,
    SignsOfBytes,
    Test,
    And,
    Or,
    TestZeroBytes,
    Xor,
    Add,
    LeastSigned,
    LeastUnsigned,
    MostSigned,
    ShiftRight,
    ShiftRightSigned,
    ShiftLeft,
    CompareSigned,
    CompareUnsigned,
    CompareDouble,
    TestLanes,
    ClassOfFloat,
    ClassOfDouble,
    AddDoubles,
    CompareDoubles,
    Int32ToDouble,
    Int32ToFloat,
    AddDouble,
    CompareOne,
    NarrowOne,
    IntegerToFloat,
    DoubleToInteger,
    WidenFloat,
    NarrowFloat,
    SignedToDouble,
    UnsignedToDouble,
    SignedToFloat,
    UnsignedToFloat,
    DoubleToSigned,
    DoubleToUnsigned,
    IntegerToDouble,
    WidenOne,
    ToVector,
    FromVector,
}

/// Integers that become integers of more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extend {
    pub(crate) signed: bool,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_read_and_written_as_text() {
        let cases: &[(&[u8], &str)] = &[
            (&[0x40, 0x0F, 0xB6, 0x87, 4, 0, 0, 0], "movzx eax, byte ptr [rdi+4]"),
            (&[0x48, 0x63, 0x86, 0xF8, 0xFF, 0xFF, 0xFF], "movsxd rax, dword ptr [rsi-8]"),
            (&[0x66, 0x40, 0x89, 0x86, 2, 0, 0, 0], "mov word ptr [rsi+2], ax"),
            (&[0x48, 0x0F, 0x38, 0xF0, 0x87, 0, 0, 0, 0], "movbe rax, qword ptr [rdi]"),
            (&[0x4C, 0x8B, 0xEA], "mov r13, rdx"),
            (&[0x49, 0x8B, 0x84, 0x24, 8, 0, 0, 0], "mov rax, qword ptr [r12+8]"),
            (&[0x48, 0x81, 0xE4, 0xC0, 0xFF, 0xFF, 0xFF], "and rsp, -64"),
            (&[0x48, 0xB8, 1, 2, 3, 4, 5, 6, 7, 8], "mov rax, 0x807060504030201"),
            (&[0x0F, 0x85, 0x10, 0, 0, 0], "jne 0x16"),
            (&[0x40, 0xFF, 0xD0], "call rax"),
            (&[0xC5, 0xF8, 0x77], "vzeroupper"),
            (&[0xC4, 0xE2, 0xF0, 0xF3, 0xD1], "blsmsk rcx, rcx"),
            (&[0xC4, 0xE1, 0xF8, 0x90, 0x15, 0x37, 0, 0, 0], "kmovq k2, [code+0x40]"),
            (&[0x62, 0x62, 0x5D, 0x48, 0x8D, 0x9F, 0x40, 0, 0, 0], "vpermb zmm27, zmm4, [rdi+64]"),
            (&[0x4D, 0x0F, 0x44, 0xC2], "cmove r8, r10"),
            (&[0x48, 0xC1, 0xE2, 0x20], "shl rdx, 32"),
            (&[0xC4, 0xE2, 0x7D, 0x5A, 0x35, 0x76, 0, 0, 0], "vbroadcasti128 ymm6, [code+0x7f]"),
            (&[0xC4, 0xE2, 0x79, 0x00, 0xC6], "vpshufb xmm0, xmm0, xmm6"),
            (&[0xC4, 0xC1, 0x7E, 0x6F, 0x81, 0, 0, 0, 0], "vmovdqu ymm0, [r9]"),
            (&[0xC4, 0xE1, 0x7D, 0xD7, 0xCB], "vpmovmskb ecx, ymm3"),
            (&[0xC4, 0xE3, 0x7D, 0x39, 0xC1, 1], "vextracti128 xmm1, ymm0, 1"),
            (&[0xC4, 0xE2, 0x7D, 0x25, 0x87, 4, 0, 0, 0], "vpmovsxdq ymm0, [rdi+4]"),
            (&[0xC4, 0xE1, 0xFB, 0x2C, 0xC0], "vcvttsd2si rax, xmm0"),
            (&[0xC4, 0xE1, 0x83, 0x2A, 0xD0], "vcvtsi2sd xmm2, xmm15, rax"),
            (&[0xC4, 0xE1, 0x6B, 0xC2, 0xD0, 4], "vcmpsd xmm2, xmm2, xmm0, 4"),
        ];
        for (bytes, text) in cases {
            let (instruction, length) = decode(bytes, 0).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((length, Shown(&instruction).to_string().as_str()), (bytes.len(), *text));
            // Without its last byte, it is none.
            assert_eq!(decode(&bytes[..bytes.len() - 1], 0), None, "{text}");
        }
    }

    #[test]
    fn other_encodings_are_none() {
        // nop, int3, a move without a prefix, syscall, a vector instruction of an unknown number.
        let others: [&[u8]; 5] =
            [&[0x90], &[0xCC], &[0x89, 0xC8], &[0x40, 0x0F, 0x05], &[0x62, 0xF1, 0x7C, 0x48, 0x00, 0xC0]];
        assert!(others.iter().all(|bytes| decode(bytes, 0).is_none()));
    }
}
