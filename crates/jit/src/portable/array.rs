//! Arrays: within the record, or in blocks.

use super::{At, Generator};
use crate::call::{self, Helper};
use crate::generate::is_short;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use isoform_core::plan::{Array, Count, Extent, Place, Step, Transform};
use isoform_core::{ByteOrder, Machine};

/// Up to this many elements in a row become straight code, unless they are numbers.
pub(super) const FEW: usize = 4;
/// The number of rounds of a loop.
#[derive(Clone, Copy)]
enum Many {
    Fixed(usize),
    Counted(Value),
}

impl Generator<'_> {
    /// Elements within the record. Returns whether code was generated for them.
    pub(super) fn elements(&mut self, transform: &Transform, count: usize, place: (usize, usize), at: &mut At) -> bool {
        let (src, dst) = place;
        match transform {
            Transform::Copy(size) => self.emit.run(*at, place, size * count),
            Transform::Swap { width, per } => {
                self.swap(*width, width * per * count, place, *at);
            }
            Transform::Convert { conversion, per } => self.convert(conversion, count * per, place, *at),
            Transform::Symbols(symbols) if count <= FEW && is_short(symbols) => {
                let (from, to) = (usize::from(symbols.from.size), usize::from(symbols.to.size));
                (0..count).for_each(|i| self.symbol(symbols, (src + i * from, dst + i * to), *at));
            }
            Transform::String if count <= FEW => {
                let (from, to) = self.pointers();
                (0..count).for_each(|i| self.string((src + i * from, dst + i * to), at));
            }
            Transform::Each { src: from, dst: to, steps } => {
                let start = At { src: self.emit.address(at.src, src), dst: self.emit.address(at.dst, dst) };
                let (sizes, own) = ((*from, *to), self.emit.offset(at.dst));
                self.each(Many::Fixed(count), start, sizes, |generator, element| {
                    generator.steps(steps, element, sizes);
                });
                at.dst = self.emit.at_offset(own);
            }
            Transform::Symbols(_) | Transform::String => return false,
        }
        true
    }

    /// Numbers in a row in the other byte order.
    fn swap(&mut self, width: usize, length: usize, (src, dst): (usize, usize), at: At) {
        if self.swap_by_vectors(width, length, (src, dst), at) {
            return;
        }
        let (from, to) = (self.emit.address(at.src, src), self.emit.address(at.dst, dst));
        self.emit.swap(from, to, length, width);
    }

    /// Generates a loop with the same body for each element. After it, addresses in the output may have changed.
    fn each(&mut self, many: Many, start: At, sizes: (usize, usize), body: impl FnOnce(&mut Self, &mut At)) {
        let builder = &mut self.emit.builder;
        let [src, dst, left] = [(); 3].map(|()| builder.declare_var(types::I64));
        let (head, after) = (builder.create_block(), builder.create_block());
        let count = match many {
            Many::Fixed(0) => return,
            Many::Fixed(count) => self.emit.constant(count),
            Many::Counted(count) => count,
        };
        let offset = self.emit.offset(start.dst);
        let builder = &mut self.emit.builder;
        builder.def_var(src, start.src);
        builder.def_var(dst, offset);
        builder.def_var(left, count);
        match many {
            Many::Fixed(_) => builder.ins().jump(head, []),
            Many::Counted(_) => builder.ins().brif(count, head, [], after, []),
        };
        builder.switch_to_block(head);
        let (from, offset) = (builder.use_var(src), builder.use_var(dst));
        let to = self.emit.at_offset(offset);
        body(self, &mut At { src: from, dst: to });
        let builder = &mut self.emit.builder;
        let next = builder.ins().iadd_imm_s(from, sizes.0 as i64);
        builder.def_var(src, next);
        let next = builder.ins().iadd_imm_s(offset, sizes.1 as i64);
        builder.def_var(dst, next);
        let count = builder.use_var(left);
        let count = builder.ins().iadd_imm_s(count, -1);
        builder.def_var(left, count);
        builder.ins().brif(count, head, [], after, []);
        builder.switch_to_block(after);
    }

    /// A string, and the slot that points at it.
    fn string(&mut self, (src, dst): (usize, usize), at: &mut At) {
        let offset = self.load_slot(*at, src);
        let own = self.emit.offset(at.dst);
        let context = self.emit.context();
        let block = self.emit.call(Helper::String, &[context, offset]);
        self.settle(block, own, dst, at);
    }

    /// Stores the offset of a block, if there was room for it.
    fn settle(&mut self, block: Value, own: Value, dst: usize, at: &mut At) {
        let none = self.emit.builder.ins().icmp_imm_s(IntCC::Equal, block, call::NONE as i64);
        self.emit.stop_if(none);
        at.dst = self.emit.at_offset(own);
        let machine = self.emit.plan.native().machine();
        if machine.pointer == 4 {
            let beyond = self.emit.builder.ins().ushr_imm_u(block, 32);
            self.note(beyond);
        }
        self.store_unsigned(machine, machine.pointer, block, *at, dst);
    }

    /// An array behind a pointer.
    pub(super) fn array(&mut self, step: &Step, array: &Array, at: &mut At) {
        let (Place::Slot(src), Place::Slot(dst)) = (array.src, array.dst) else { return self.leave(step, at) };
        let offset = self.load_slot(*at, src);
        let own = self.emit.offset(at.dst);
        let [null, some, after] = [(); 3].map(|()| self.emit.builder.create_block());
        self.emit.builder.set_cold_block(null);
        self.emit.builder.ins().brif(offset, some, [], null, []);
        self.emit.builder.switch_to_block(null);
        self.leave(step, &mut At { ..*at });
        self.emit.builder.ins().jump(after, []);

        self.emit.builder.switch_to_block(some);
        let count = match array.dims.first() {
            Some(&extent) => self.count(extent, *at),
            None => self.emit.constant(1),
        };
        let (size, align) = (self.emit.constant(array.dst_size), self.emit.constant(array.align));
        let context = self.emit.context();
        let block = self.emit.call(Helper::Block, &[context, count, size, align]);
        self.settle(block, own, dst, at);
        let from = self.emit.builder.ins().iadd(self.emit.src, offset);
        let to = self.emit.at_offset(block);
        self.counted(array, count, At { src: from, dst: to });
        self.emit.builder.ins().jump(after, []);

        self.emit.builder.switch_to_block(after);
        at.dst = self.emit.at_offset(own);
    }

    /// The number of elements in the source, which is also stored in the destination.
    fn count(&mut self, extent: Extent, at: At) -> Value {
        let count = match extent.src {
            Count::Fixed(count) => self.emit.constant(count),
            Count::Field { at: src, size, .. } => {
                let machine = self.emit.plan.wire().machine();
                self.load_unsigned(machine, size, at.src, src)
            }
        };
        let Count::Field { at: dst, size, signed } = extent.dst else { return count };
        let machine = self.emit.plan.native().machine();
        if extent.agree {
            let before = self.load_unsigned(machine, size, at.dst, dst);
            let other = self.emit.builder.ins().icmp(IntCC::NotEqual, before, count);
            self.emit.stop_if(other);
            return count;
        }
        let bits = i64::from(size) * 8 - i64::from(signed);
        if bits < 64 {
            let beyond = self.emit.builder.ins().ushr_imm_u(count, bits);
            self.note(beyond);
        }
        self.store_unsigned(machine, size, count, at, dst);
        count
    }

    /// Converts `count` elements.
    fn counted(&mut self, array: &Array, count: Value, start: At) {
        let sizes = (array.src_size, array.dst_size);
        match &array.transform {
            Transform::Copy(size) => {
                let length = self.emit.builder.ins().imul_imm_s(count, *size as i64);
                self.copy_some(length, start);
            }
            Transform::Swap { width, per } => {
                let numbers = self.emit.builder.ins().imul_imm_s(count, *per as i64);
                self.swap_some(*width, numbers, start);
            }
            Transform::Convert { conversion, per } => {
                let numbers = self.emit.builder.ins().imul_imm_s(count, *per as i64);
                self.convert_some(conversion, numbers, start);
            }
            Transform::Symbols(symbols) => self.each(Many::Counted(count), start, sizes, |generator, at| {
                generator.symbol(symbols, (0, 0), *at);
            }),
            Transform::String => self.each(Many::Counted(count), start, sizes, |generator, at| {
                generator.string((0, 0), at);
            }),
            Transform::Each { steps, .. } => self.each(Many::Counted(count), start, sizes, |generator, at| {
                generator.steps(steps, at, sizes);
            }),
        }
    }

    fn pointers(&self) -> (usize, usize) {
        let (wire, native) = (self.emit.plan.wire().machine(), self.emit.plan.native().machine());
        (wire.pointer.into(), native.pointer.into())
    }

    fn load_slot(&mut self, at: At, src: usize) -> Value {
        let machine = self.emit.plan.wire().machine();
        self.load_unsigned(machine, machine.pointer, at.src, src)
    }

    fn load_unsigned(&mut self, machine: Machine, size: u8, base: Value, offset: usize) -> Value {
        let mut value = self.emit.load(super::emit::of_width(size.into()), base, offset);
        if size > 1 && machine.order != ByteOrder::NATIVE {
            value = self.emit.builder.ins().bswap(value);
        }
        if size < 8 {
            value = self.emit.builder.ins().uextend(types::I64, value);
        }
        value
    }

    fn store_unsigned(&mut self, machine: Machine, size: u8, mut value: Value, at: At, dst: usize) {
        if size < 8 {
            value = self.emit.builder.ins().ireduce(super::emit::of_width(size.into()), value);
        }
        if size > 1 && machine.order != ByteOrder::NATIVE {
            value = self.emit.builder.ins().bswap(value);
        }
        self.emit.store(value, at.dst, dst);
    }
}
