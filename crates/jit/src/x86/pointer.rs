//! Strings and arrays behind pointers. Slots of the body point at them, and the output gets a block for each.

use super::array::Start;
use super::emit::{At, at};
use super::number::{self, Change};
use super::operand::*;
use super::{Extension, Generator};
use crate::call::{Context, Helper};
use crate::generate::is_plain;
use isoform_core::ByteOrder;
use isoform_core::plan::{Array, Count, Extent, Place, Step, Transform};
use std::mem::offset_of;

/// Arrays behind pointers of at most this many bytes are swapped here, longer ones by the kernels.
const INLINE: i32 = 1024;
/// Strings of fewer bytes are copied here. There must be room for so many.
const TEXT: i32 = 64;
/// Arrays of more elements than this go to the interpreter, which checks products for overflow.
const MANY: i32 = 1 << 30;

/// Whether code is generated for an array.
pub(super) fn is_known(array: &Array, extension: Extension) -> bool {
    let known = match &array.transform {
        Transform::Swap { width, .. } => extension.reverses(*width),
        _ => true,
    };
    known && is_plain(array)
}
impl Generator<'_> {
    /// A string, and the slot that points at it.
    pub(super) fn string(&mut self, (src, dst): (usize, usize), place: At) {
        let [slow, done, null] = [(); 3].map(|()| self.emit.asm.label());
        let field = |field| Memory::At(R13, field as i32);
        let (base, length) = (field(offset_of!(Context<'_>, base)), field(offset_of!(Context<'_>, length)));
        self.load_slot(RAX, place, src);
        let asm = &mut self.emit.asm;
        asm.test(RAX);
        asm.jump_if(If::Zero, null);
        asm.address(RCX, Memory::At(RAX, TEXT));
        asm.compute_by_memory(Arithmetic::Compare, RCX, field(offset_of!(Context<'_>, came)));
        asm.jump_if(If::Above, slow);
        self.emit.load_text();
        let asm = &mut self.emit.asm;
        asm.test(RCX);
        asm.jump_if(If::Zero, slow);
        self.emit.cut_text();
        let asm = &mut self.emit.asm;
        // The start of the block, and whether there is room for a whole vector. The gap before the block becomes zeros.
        asm.load(R9, length, 8);
        asm.address(R8, Memory::At(R9, 7));
        asm.and(R8, -8);
        asm.address(R10, Memory::At(R8, TEXT));
        asm.compute_by_memory(Arithmetic::Compare, R10, field(offset_of!(Context<'_>, room)));
        asm.jump_if(If::Above, slow);
        asm.load(R10, base, 8);
        asm.set(RDX, 0);
        asm.store(Memory::Sum(R10, R9), RDX, 8);
        self.emit.store_text();
        let asm = &mut self.emit.asm;
        asm.compute(Arithmetic::Add, RCX, R8);
        asm.add(RCX, 1);
        asm.store(length, RCX, 8);
        asm.jump(done);

        asm.here(slow);
        asm.copy(RDI, R13);
        asm.copy(RSI, RAX);
        self.emit.call_growing(Helper::String);
        self.emit.asm.copy(R8, RAX);
        self.emit.asm.compare(R8, -1);
        self.emit.misfit_when(If::Zero);
        self.emit.asm.jump(done);
        self.emit.asm.here(null);
        self.emit.asm.set(R8, 0);
        self.emit.asm.here(done);
        self.store_slot(R8, place, dst);
    }

    /// An array behind a pointer.
    pub(super) fn array(&mut self, step: &Step, array: &Array, place: At) {
        let (Place::Slot(src), Place::Slot(dst)) = (array.src, array.dst) else { return self.leave(step, place) };
        let [null, after] = [(); 2].map(|()| self.emit.asm.label());
        self.load_slot(RAX, place, src);
        self.emit.asm.test(RAX);
        self.emit.asm.jump_if(If::Zero, null);
        let from = self.emit.save();
        let count = self.emit.save();
        self.emit.asm.store(from, RAX, 8);
        match array.dims.first() {
            Some(&extent) => self.count(extent, place),
            None => self.emit.asm.set(RDX, 1),
        }
        self.emit.asm.store(count, RDX, 8);
        self.lay_down(array);
        self.store_slot(R8, place, dst);
        self.emit.asm.load(RDI, from, 8);
        self.emit.asm.compute(Arithmetic::Add, RDI, R15);
        self.emit.asm.load(RSI, self.emit.context(offset_of!(Context<'_>, base)), 8);
        self.emit.asm.compute(Arithmetic::Add, RSI, R8);
        self.emit.asm.load(RDX, count, 8);
        self.counted(array, place);
        self.emit.unsave(2);
        self.emit.asm.jump(after);

        self.emit.asm.here(null);
        self.leave(step, place);
        self.emit.asm.here(after);
        self.emit.forget();
    }

    /// Adds a block for `rdx` elements, and puts its offset into `r8`.
    fn lay_down(&mut self, array: &Array) {
        let [slow, done] = [(); 2].map(|()| self.emit.asm.label());
        let field = |field| Memory::At(R13, field as i32);
        let (base, length) = (field(offset_of!(Context<'_>, base)), field(offset_of!(Context<'_>, length)));
        let asm = &mut self.emit.asm;
        asm.compare(RDX, MANY);
        asm.jump_if(If::Above, slow);
        asm.load(R9, length, 8);
        asm.address(R8, Memory::At(R9, array.align as i32 - 1));
        asm.and(R8, -(array.align as i32));
        asm.multiply(RCX, RDX, array.dst_size as i32);
        asm.compute(Arithmetic::Add, RCX, R8);
        // There is room for a vector after the block. So the gap before it is cleared without computing its length.
        asm.address(R10, Memory::At(RCX, TEXT));
        asm.compute_by_memory(Arithmetic::Compare, R10, field(offset_of!(Context<'_>, room)));
        asm.jump_if(If::Above, slow);
        asm.store(length, RCX, 8);
        asm.load(R10, base, 8);
        let zeros = self.emit.scratch();
        self.emit.zero(zeros);
        self.emit.store_part(Memory::Sum(R10, R9), zeros, 16);
        self.emit.asm.jump(done);

        self.emit.asm.here(slow);
        self.emit.asm.copy(RDI, R13);
        self.emit.asm.copy(RSI, RDX);
        self.emit.asm.set(RDX, array.dst_size as u64);
        self.emit.asm.set(RCX, array.align as u64);
        self.emit.call_growing(Helper::Block);
        self.emit.asm.copy(R8, RAX);
        self.emit.asm.compare(R8, -1);
        self.emit.misfit_when(If::Zero);
        self.emit.asm.here(done);
    }

    /// Loads the number of elements in the source into `rdx`, and also stores it in the destination.
    fn count(&mut self, extent: Extent, place: At) {
        match extent.src {
            Count::Fixed(count) => self.emit.asm.set(RDX, count as u64),
            Count::Field { at: src, size, .. } => {
                let order = self.emit.plan.wire().machine().order;
                self.load_unsigned(RDX, order, size, at(place.src, src));
            }
        }
        let Count::Field { at: dst, size, signed } = extent.dst else { return };
        let order = self.emit.plan.native().machine().order;
        if extent.agree {
            self.load_unsigned(RCX, order, size, at(place.dst, dst));
            self.emit.asm.compute(Arithmetic::Compare, RCX, RDX);
            return self.emit.misfit_when(If::NotZero);
        }
        let bits = size * 8 - u8::from(signed);
        if bits < 64 {
            self.emit.asm.copy(RCX, RDX);
            self.emit.asm.shift_right(RCX, bits);
            self.emit.misfit_if(RCX);
        }
        self.store_unsigned(RDX, order, size, at(place.dst, dst));
    }

    /// Converts `rdx` elements from `rdi` to `rsi`.
    fn counted(&mut self, array: &Array, place: At) {
        let sizes = (array.src_size, array.dst_size);
        let length = |generator: &mut Self, size: usize| generator.emit.asm.multiply(RDX, RDX, size as i32);
        match &array.transform {
            Transform::Copy(size) => {
                length(self, *size);
                self.few_bytes(None, |generator| generator.emit.call(Helper::Copy));
            }
            Transform::Swap { width, per } => {
                length(self, width * per);
                self.few_bytes(Some(*width), |generator| {
                    generator.emit.asm.set(RCX, *width as u64);
                    generator.emit.call(Helper::Swap);
                });
            }
            Transform::Convert { conversion, per } => {
                length(self, *per);
                let change = Change::Number(conversion);
                match number::is_known(conversion) && self.emit.extension.converts(change) {
                    true => self.few_numbers(change, |generator| generator.convert(conversion)),
                    false => self.convert(conversion),
                }
            }
            Transform::Symbols(symbols) => self.some(sizes, place, |generator, element| {
                generator.whole = false;
                generator.number(Change::Symbol(symbols), (0, 0), element, sizes.0);
            }),
            Transform::String => self.some(sizes, place, |generator, at| generator.string((0, 0), at)),
            Transform::Each { steps, .. } => {
                self.some(sizes, place, |generator, at| generator.steps(steps, at, sizes));
            }
        }
    }

    /// As [`each`](Generator::each), for the elements of a block, which may be empty.
    fn some(&mut self, sizes: (usize, usize), place: At, body: impl FnMut(&mut Self, At)) {
        let none = self.emit.asm.label();
        self.emit.asm.test(RDX);
        self.emit.asm.jump_if(If::Zero, none);
        self.each(sizes, place, Start::Block, body);
        self.emit.asm.here(none);
        self.emit.forget();
    }

    /// Moves `rdx` bytes from `rdi` to `rsi`, and reverses numbers of `width` bytes if a width is given. Calls
    /// `otherwise` if there are many bytes.
    fn few_bytes(&mut self, width: Option<usize>, otherwise: impl FnOnce(&mut Self)) {
        let [many, last, head, done] = [(); 4].map(|()| self.emit.asm.label());
        let vector = self.emit.extension.vector();
        let emit = &mut self.emit;
        // It stays in a register for the loop and what follows.
        if let Some(width) = width {
            emit.hold_reversal(width);
        }
        emit.asm.compare(RDX, INLINE);
        emit.asm.jump_if(If::Above, many);
        emit.asm.here(head);
        emit.asm.compare(RDX, vector as i32);
        emit.asm.jump_if(If::Below, last);
        let (from, to) = (Memory::At(RDI, 0), Memory::At(RSI, 0));
        match width {
            Some(width) => emit.reverse(width, from, to),
            None => emit.move_vector(from, to),
        }
        emit.asm.add(RDI, vector as i32);
        emit.asm.add(RSI, vector as i32);
        emit.asm.subtract(RDX, vector as i32);
        emit.asm.jump(head);

        emit.asm.here(last);
        emit.rest(width);
        emit.asm.jump(done);
        emit.asm.here(many);
        otherwise(self);
        self.emit.asm.here(done);
        self.emit.forget();
    }

    /// Converts `rdx` numbers from `rdi` to `rsi`, some at a time. Calls `otherwise` if there are fewer, or many.
    fn few_numbers(&mut self, change: Change<'_>, otherwise: impl FnOnce(&mut Self)) {
        let [other, head, done] = [(); 3].map(|()| self.emit.asm.label());
        let (from, to) = (i32::from(change.from().size), i32::from(change.to().size));
        let lanes = self.emit.extension.lanes() as i32;
        let some = |generator: &mut Self| {
            generator.emit.convert_lanes(change, Memory::At(RDI, 0), Memory::At(RSI, 0));
        };
        self.emit.asm.compare(RDX, lanes);
        self.emit.asm.jump_if(If::Below, other);
        self.emit.asm.compare(RDX, INLINE / to);
        self.emit.asm.jump_if(If::Above, other);
        self.emit.forget();
        self.emit.asm.here(head);
        some(self);
        self.emit.asm.add(RDI, lanes * from);
        self.emit.asm.add(RSI, lanes * to);
        self.emit.asm.subtract(RDX, lanes);
        self.emit.asm.compare(RDX, lanes);
        self.emit.asm.jump_if(If::NotBelow, head);
        self.emit.asm.test(RDX);
        self.emit.asm.jump_if(If::Zero, done);
        // The last numbers. Some of them were converted before.
        self.emit.asm.subtract(RDX, lanes);
        self.emit.asm.multiply(RCX, RDX, from);
        self.emit.asm.compute(Arithmetic::Add, RDI, RCX);
        self.emit.asm.multiply(RCX, RDX, to);
        self.emit.asm.compute(Arithmetic::Add, RSI, RCX);
        some(self);
        self.emit.asm.jump(done);
        self.emit.asm.here(other);
        otherwise(self);
        self.emit.asm.here(done);
        self.emit.forget();
    }

    pub(super) fn pointers(&self) -> (usize, usize) {
        let (wire, native) = (self.emit.plan.wire().machine(), self.emit.plan.native().machine());
        (wire.pointer.into(), native.pointer.into())
    }

    fn load_slot(&mut self, to: Reg, place: At, src: usize) {
        let machine = self.emit.plan.wire().machine();
        self.load_unsigned(to, machine.order, machine.pointer, at(place.src, src));
    }

    fn store_slot(&mut self, from: Reg, place: At, dst: usize) {
        let machine = self.emit.plan.native().machine();
        self.store_unsigned(from, machine.order, machine.pointer, at(place.dst, dst));
    }

    fn load_unsigned(&mut self, to: Reg, order: ByteOrder, size: u8, from: Memory) {
        let size = usize::from(size);
        match size > 1 && order != ByteOrder::NATIVE {
            true => {
                if size == 2 {
                    self.emit.asm.set(to, 0);
                }
                self.emit.asm.load_reversed(to, from, size);
            }
            false => self.emit.asm.load(to, from, size),
        }
    }

    fn store_unsigned(&mut self, from: Reg, order: ByteOrder, size: u8, to: Memory) {
        let size = usize::from(size);
        match size > 1 && order != ByteOrder::NATIVE {
            true => self.emit.asm.store_reversed(to, from, size),
            false => self.emit.asm.store(to, from, size),
        }
    }
}
