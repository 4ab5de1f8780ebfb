//! AVX2: 32 bytes at a time, which are shuffled within 16.
//!
//! Fields of records are put together 16 bytes at a time. There are no masks, so that what is less than a vector takes
//! shorter loads and stores, which may overlap.

mod number;

use super::Generator;
use super::array::reversal;
use super::block::{Block, Space, Window};
use super::emit::{At, Emit, at};
use super::operand::*;
pub(super) use number::converts;

/// Bytes of a vector.
pub(super) const VECTOR: usize = 32;
/// Bytes of the blocks that records are put together from.
pub(super) const BLOCK: usize = 16;
/// This many numbers in a row are converted at once.
pub(super) const LANES: usize = 4;

/// The registers for intermediate results.
pub(super) const V: Vector = Vector(0);
pub(super) const W: Vector = Vector(1);
pub(super) const X: Vector = Vector(2);
pub(super) const Y: Vector = Vector(3);
/// A register of any value.
pub(super) const ANY: Vector = Vector(15);

/// The first register for constants, and how many there are.
pub(super) const FIRST_VECTOR: u8 = 6;
pub(super) const VECTORS: usize = 9;

pub(super) const MOVE: Opcode = Opcode(Prefix::F3, 1, 0x6F, 0);
pub(super) const STORE: Opcode = Opcode(Prefix::F3, 1, 0x7F, 0);
const LOAD_BOTH: Opcode = Opcode(Prefix::P66, 2, 0x5A, 0);
const SHUFFLE: Opcode = Opcode(Prefix::P66, 2, 0x00, 0);
const INSERT_HALF: Opcode = Opcode(Prefix::P66, 3, 0x38, 0);
const OR: Opcode = Opcode(Prefix::P66, 1, 0xEB, 0);
const AND: Opcode = Opcode(Prefix::P66, 1, 0xDB, 0);
const EQUAL_BYTES: Opcode = Opcode(Prefix::P66, 1, 0x74, 0);
const SIGNS_OF_BYTES: Opcode = Opcode(Prefix::P66, 1, 0xD7, 0);

/// In a control, the place of a byte that becomes zero.
const NONE: u8 = 0x80;

/// What shuffles the bytes of a window.
fn control(window: &Window) -> [u8; BLOCK] {
    std::array::from_fn(|byte| match window.mask >> byte & 1 {
        0 => NONE,
        _ => window.control[byte],
    })
}

impl Emit<'_> {
    /// Loads a constant of 16 bytes into both halves of a register.
    pub(super) fn load_both(&mut self, to: Vector, from: Memory) {
        self.wide = true;
        self.asm.vector(LOAD_BOTH, Width::V32, to.0, 0, from, (ALL, false), None);
    }

    /// An instruction of three operands.
    fn three(&mut self, opcode: Opcode, width: Width, to: Vector, one: Vector, other: impl Into<Operand>) {
        self.wide |= width == Width::V32;
        self.asm.vector(opcode, width, to.0, one.0, other, (ALL, false), None);
    }

    /// A constant of 16 bytes as an operand: loops have it in a register, if there are enough of them.
    fn constant_16(&mut self, bytes: &[u8; BLOCK]) -> Operand {
        let constant = self.asm.constant(bytes);
        match self.if_resident(constant) {
            Some(register) => register.into(),
            None => Memory::Constant(constant).into(),
        }
    }

    pub(super) fn reversal_32(&mut self, width: usize) -> Vector {
        let constant = self.asm.constant(&reversal::<BLOCK>(width));
        self.resident(constant)
    }

    pub(super) fn reverse_32(&mut self, width: usize, from: Memory, to: Memory) {
        let control = self.reversal_32(width);
        self.load_part(V, from, VECTOR);
        self.three(SHUFFLE, Width::V32, V, V, control);
        self.store_part(to, V, VECTOR);
    }

    pub(super) fn rest_32(&mut self, width: Option<usize>) {
        let control = width.map(|width| self.reversal_32(width));
        let done = self.asm.label();
        for length in [16, 8] {
            let shorter = self.asm.label();
            self.asm.compare(RDX, length);
            self.asm.jump_if(If::Below, shorter);
            self.piece(control, length as usize, Memory::At(RDI, 0), Memory::At(RSI, 0));
            // The last bytes. Some of them may have been moved before.
            self.asm.compute(Arithmetic::Add, RDI, RDX);
            self.asm.compute(Arithmetic::Add, RSI, RDX);
            self.piece(control, length as usize, Memory::At(RDI, -length), Memory::At(RSI, -length));
            self.asm.jump(done);
            self.asm.here(shorter);
        }
        let width = width.unwrap_or(1);
        if width < 8 {
            let head = self.asm.label();
            self.asm.test(RDX);
            self.asm.jump_if(If::Zero, done);
            self.asm.here(head);
            match width {
                1 => self.asm.load(RAX, Memory::At(RDI, 0), 1),
                _ => self.asm.load_reversed(RAX, Memory::At(RDI, 0), width),
            }
            self.asm.store(Memory::At(RSI, 0), RAX, width);
            self.asm.add(RDI, width as i32);
            self.asm.add(RSI, width as i32);
            self.asm.subtract(RDX, width as i32);
            self.asm.jump_if(If::NotZero, head);
        }
        self.asm.here(done);
    }

    /// Moves 8 or 16 bytes, and shuffles them if a control is given.
    fn piece(&mut self, control: Option<Vector>, length: usize, from: Memory, to: Memory) {
        self.load_part(V, from, length);
        if let Some(control) = control {
            self.three(SHUFFLE, Width::V16, V, V, control);
        }
        self.store_part(to, V, length);
    }

    /// Puts two blocks side by side together, if each comes from one place. Returns whether they do.
    pub(super) fn blocks_32(&mut self, dst: usize, blocks: [&Block<'_>; 2], place: At) -> bool {
        let [Block { windows: one, constants: None, .. }, Block { windows: other, constants: None, .. }] = blocks
        else {
            return false;
        };
        let ([one], [other]) = (&one[..], &other[..]) else { return false };
        let (Space::Source(first), Space::Source(second)) = (one.from, other.from) else { return false };
        if first + BLOCK == second {
            self.load_part(V, at(place.src, first), VECTOR);
        } else {
            self.wide = true;
            self.load_part(V, at(place.src, first), BLOCK);
            let second = at(place.src, second);
            self.asm.vector(INSERT_HALF, Width::V32, V.0, V.0, second, (ALL, false), Some(1));
        }
        let controls = [control(one), control(other)].concat();
        if !controls.iter().enumerate().all(|(byte, place)| byte % BLOCK == usize::from(*place)) {
            let controls = self.asm.constant(&controls);
            self.three(SHUFFLE, Width::V32, V, V, Memory::Constant(controls));
        }
        self.store_part(at(place.dst, dst), V, VECTOR);
        true
    }

    pub(super) fn load_text_32(&mut self) {
        self.asm.address(R9, Memory::Sum(R15, RAX));
        self.load_part(V, Memory::At(R9, 0), VECTOR);
        self.load_part(W, Memory::At(R9, VECTOR as i32), VECTOR);
        self.zero(X);
        for (text, bits) in [(V, RCX), (W, RDX)] {
            self.three(EQUAL_BYTES, Width::V32, Y, X, text);
            self.asm.vector(SIGNS_OF_BYTES, Width::V32, bits.0, 0, Y, (ALL, false), None);
        }
        self.asm.shift_left(RDX, 32);
        self.asm.compute(Arithmetic::Add, RCX, RDX);
    }

    pub(super) fn cut_text_32(&mut self) {
        // From each byte of the first half on, there are as many bytes that stay as there are bytes before it.
        let mut kept = [0; 128];
        kept[..64].fill(u8::MAX);
        let kept = self.asm.constant(&kept);
        self.asm.trailing_zeros(RCX, RCX);
        self.asm.address(RDX, Memory::Constant(kept));
        self.asm.compute(Arithmetic::Subtract, RDX, RCX);
        self.three(AND, Width::V32, V, V, Memory::At(RDX, 64));
        self.three(AND, Width::V32, W, W, Memory::At(RDX, 64 + VECTOR as i32));
    }

    pub(super) fn store_text_32(&mut self) {
        self.asm.address(RDX, Memory::Sum(R10, R8));
        self.store_part(Memory::At(RDX, 0), V, VECTOR);
        self.store_part(Memory::At(RDX, VECTOR as i32), W, VECTOR);
    }
}

impl Generator<'_> {
    /// Puts 16 bytes together, and stores them.
    pub(super) fn block_16(&mut self, (dst, block): (usize, &Block<'_>), place: At) {
        let emit = &mut self.emit;
        let mut begun = false;
        for window in &block.windows {
            let Space::Source(src) = window.from else { continue };
            let to = if begun { W } else { V };
            emit.load_part(to, at(place.src, src), BLOCK);
            let control = control(window);
            if !control.iter().copied().eq(0..BLOCK as u8) {
                let control = emit.constant_16(&control);
                emit.three(SHUFFLE, Width::V16, to, to, control);
            }
            if begun {
                emit.three(OR, Width::V16, V, V, W);
            }
            begun = true;
        }
        if let Some(constants) = block.constants.as_ref().and_then(|bytes| bytes.first_chunk::<BLOCK>()) {
            let constants = emit.asm.constant(constants);
            match begun {
                true => emit.three(OR, Width::V16, V, V, Memory::Constant(constants)),
                false => emit.load_part(V, Memory::Constant(constants), BLOCK),
            }
            begun = true;
        }
        if !begun {
            emit.zero(V);
        }
        emit.store_part(at(place.dst, dst), V, BLOCK);
    }
}
