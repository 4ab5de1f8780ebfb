//! AVX-512: 64 bytes at a time, with a mask for each instruction that leaves bytes out.

mod number;

use super::Generator;
use super::array::reversal;
use super::block::{Block, Group, Space, Window};
use super::emit::{At, Emit, at};
use super::number::{Change, LANES};
use super::operand::*;

/// Bytes of a vector, and of the blocks that records are put together from.
pub(super) const BLOCK: usize = 64;

/// The registers for intermediate results.
pub(super) const V: Vector = Vector(16);
const W: Vector = Vector(17);
const X: Vector = Vector(18);
/// The register of a small element, or of any value that is still there from before.
pub(super) const ANY: Vector = Vector(19);
/// The masks for intermediate results.
const K: Mask = Mask(1);
const L: Mask = Mask(7);

/// The first register for constants, and how many there are.
pub(super) const FIRST_VECTOR: u8 = 20;
pub(super) const VECTORS: usize = 12;
pub(super) const FIRST_MASK: u8 = 2;
pub(super) const MASKS: usize = 5;

pub(super) const MOVE_BYTES: Opcode = Opcode(Prefix::F2, 1, 0x6F, 0);
pub(super) const STORE_BYTES: Opcode = Opcode(Prefix::F2, 1, 0x7F, 0);
const PERMUTE: Opcode = Opcode(Prefix::P66, 2, 0x8D, 0);
const TEST_ZERO_BYTES: Opcode = Opcode(Prefix::F3, 2, 0x26, 0);

impl Emit<'_> {
    /// The register that holds these 64 bytes. It may change when other constants are requested.
    fn vector(&mut self, bytes: &[u8; BLOCK]) -> Vector {
        let constant = self.asm.constant(bytes);
        self.resident(constant)
    }

    /// Loads the bytes in the mask, and zeros for the others.
    pub(super) fn load(&mut self, to: Vector, from: Memory, mask: Mask) {
        self.load_into(to, from, (mask, mask != ALL));
    }

    /// Loads the bytes in the mask. The others become zeros if the flag beside the mask is set, and otherwise stay.
    fn load_into(&mut self, to: Vector, from: Memory, mask: (Mask, bool)) {
        self.asm.vector(MOVE_BYTES, Width::V64, to.0, 0, from, mask, None);
    }

    fn store(&mut self, to: Memory, from: Vector, mask: Mask) {
        self.asm.vector(STORE_BYTES, Width::V64, from.0, 0, to, (mask, false), None);
    }

    /// Copies the bytes in the mask. The others become zeros if the flag beside the mask is set, and otherwise stay.
    fn copy_bytes(&mut self, to: Vector, from: Vector, mask: (Mask, bool)) {
        self.asm.vector(MOVE_BYTES, Width::V64, to.0, 0, from, mask, None);
    }

    fn permute(&mut self, to: Vector, control: Vector, from: impl Into<Operand>, mask: (Mask, bool)) {
        self.asm.vector(PERMUTE, Width::V64, to.0, control.0, from, mask, None);
    }

    /// Ends the function if a lane is in the mask.
    fn misfit_if_any(&mut self, mask: Mask) {
        self.asm.test_mask(mask);
        self.misfit_when(If::NotZero);
    }

    pub(super) fn reversal_64(&mut self, width: usize) -> Vector {
        self.vector(&reversal(width))
    }

    pub(super) fn reverse_64(&mut self, width: usize, from: Memory, to: Memory) {
        let control = self.reversal_64(width);
        self.permute(V, control, from, (ALL, false));
        self.store(to, V, ALL);
    }

    pub(super) fn eight(&mut self, change: Change<'_>, from: Memory, to: Memory) {
        self.load_lanes(change, from);
        self.change(change, V, u8::MAX);
        self.store_lanes(change, to, LANES);
    }

    pub(super) fn load_text_64(&mut self) {
        self.load(V, Memory::Sum(R15, RAX), ALL);
        self.asm.vector(TEST_ZERO_BYTES, Width::V64, K.0, V.0, V, (ALL, false), None);
        self.asm.mask_to(RCX, K);
    }

    pub(super) fn cut_text_64(&mut self) {
        self.asm.up_to_lowest(RDX, RCX);
        self.asm.mask_from(K, RDX);
        self.asm.trailing_zeros(RCX, RCX);
    }

    pub(super) fn store_text_64(&mut self) {
        self.copy_bytes(W, V, (K, true));
        self.store(Memory::Sum(R10, R8), W, ALL);
    }

    pub(super) fn rest_64(&mut self, width: Option<usize>) {
        let control = width.map(|width| self.reversal_64(width));
        self.asm.set(RCX, u64::MAX);
        self.asm.low_bits(RCX, RCX, RDX);
        self.asm.mask_from(K, RCX);
        self.load(V, Memory::At(RDI, 0), K);
        if let Some(control) = control {
            self.permute(V, control, V, (ALL, false));
        }
        self.store(Memory::At(RSI, 0), V, K);
    }
}

impl Generator<'_> {
    /// Puts 64 bytes together, and stores those for which an element of this size has room.
    pub(super) fn block_64(&mut self, (dst, block): (usize, &Block<'_>), place: At, sizes: (usize, usize)) {
        self.put_together(block, place, sizes.0);
        let room = if sizes.1 >= BLOCK { ALL } else { self.emit.mask((1 << sizes.1) - 1) };
        self.emit.store(at(place.dst, dst), V, room);
    }

    /// Converts a single number.
    pub(super) fn number_of_8(&mut self, change: Change<'_>, (src, dst): (usize, usize), place: At, source: usize) {
        let mut lanes = [None; LANES];
        lanes[0] = Some(src);
        self.group(&Group { change, lanes }, V, place, source);
        self.emit.store_lanes(change, at(place.dst, dst), 1);
    }

    /// Collects the numbers of a group in a register, and converts them.
    fn group(&mut self, group: &Group<'_>, v: Vector, place: At, source: usize) {
        let mut windows = group.windows(source);
        // Bytes that are shifted out or never used need not be cleared.
        if let ([window], true) = (&mut windows[..], group.change.always_fits()) {
            window.mask = u64::MAX;
        }
        self.assemble(v, &windows, false, place, source);
        let lanes = group.lanes.iter().enumerate().map(|(lane, offset)| u8::from(offset.is_some()) << lane);
        self.emit.change(group.change, v, lanes.sum());
    }

    /// Puts 64 bytes together.
    fn put_together(&mut self, block: &Block<'_>, place: At, source: usize) {
        for (index, group) in block.groups.iter().enumerate() {
            self.emit.wide = true;
            self.group(group, Vector(index as u8), place, source);
        }
        if let Some(constants) = &block.constants {
            let constants = self.emit.asm.constant(&constants[..]);
            self.emit.load(V, Memory::Constant(constants), ALL);
        }
        self.assemble(V, &block.windows, block.constants.is_some(), place, source);
    }

    /// Collects the bytes of windows in a register. If `begun`, the register already holds other bytes of the block.
    fn assemble(&mut self, to: Vector, windows: &[Window], mut begun: bool, place: At, source: usize) {
        for window in windows {
            // This comes before the window's own mask, which could take the register of this mask.
            if source < BLOCK && matches!(window.from, Space::Source(_)) && !window.stays() {
                self.bring_whole(place, source);
            }
            let emit = &mut self.emit;
            let mask = if window.mask == u64::MAX { ALL } else { emit.mask(window.mask) };
            let mask = (mask, !begun && mask != ALL);
            begun = true;
            match (window.from, window.stays()) {
                (Space::Source(src), true) => emit.load_into(to, at(place.src, src), mask),
                (Space::Group(group), true) => emit.copy_bytes(to, Vector(group as u8), mask),
                (Space::Group(group), false) => {
                    let control = emit.vector(&window.control);
                    emit.permute(to, control, Vector(group as u8), mask);
                }
                (Space::Source(src), false) if source >= BLOCK => {
                    let control = emit.vector(&window.control);
                    emit.permute(to, control, at(place.src, src), mask);
                }
                (Space::Source(_), false) => {
                    let control = emit.vector(&window.control);
                    emit.permute(to, control, ANY, mask);
                }
            }
        }
        if !begun {
            self.emit.zero(to);
        }
    }

    /// Loads a record or element of less than 64 bytes into a register.
    fn bring_whole(&mut self, place: At, source: usize) {
        if !std::mem::replace(&mut self.whole, true) {
            let mask = self.emit.mask((1 << source) - 1);
            self.emit.load(ANY, at(place.src, 0), mask);
        }
    }
}
