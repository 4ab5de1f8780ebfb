//! Elements in the record, and loops over elements in the record or in blocks.

use super::emit::{At, at};
use super::number::{self, Change};
use super::operand::*;
use super::{Generator, STRAIGHT, is_inline};
use crate::call::{Context, Helper};
use isoform_core::plan::{Conversion, Transform};
use std::mem::offset_of;

/// Up to this many strings in a row become straight code.
const FEW: usize = 4;

impl Generator<'_> {
    /// Elements within the record. Returns whether code was generated for them.
    pub(super) fn elements(
        &mut self,
        transform: &Transform,
        count: usize,
        (src, dst): (usize, usize),
        place: At,
    ) -> bool {
        match transform {
            Transform::Copy(size) => self.long_run((src, dst), size * count, place),
            Transform::Swap { width, per } => self.swap((src, dst), (width * per * count, *width), place),
            Transform::Convert { conversion, per } => {
                let change = Change::Number(conversion);
                if number::is_known(conversion) && is_inline(change, count * per, self.emit.extension) {
                    self.numbers(change, count * per, (src, dst), place);
                } else {
                    self.addresses((src, dst), place);
                    self.emit.asm.set(RDX, (count * per) as u64);
                    self.convert(conversion);
                }
            }
            Transform::String if count <= FEW => {
                let pointers = self.pointers();
                (0..count).for_each(|i| self.string((src + i * pointers.0, dst + i * pointers.1), place));
            }
            Transform::Each { src: from, dst: to, steps } => {
                self.each((*from, *to), place, Start::Within { src, dst, count }, |generator, element| {
                    generator.steps(steps, element, (*from, *to));
                });
            }
            Transform::Symbols(_) | Transform::String => return false,
        }
        true
    }

    fn addresses(&mut self, (src, dst): (usize, usize), place: At) {
        self.emit.asm.address(RDI, at(place.src, src));
        self.emit.asm.address(RSI, at(place.dst, dst));
    }

    /// Reverses the numbers of an array in the record.
    fn swap(&mut self, (src, dst): (usize, usize), (length, width): (usize, usize), place: At) {
        let extension = self.emit.extension;
        if !(extension.vector()..=STRAIGHT).contains(&length) || !extension.reverses(width) {
            self.addresses((src, dst), place);
            self.emit.asm.set(RDX, length as u64);
            self.emit.asm.set(RCX, width as u64);
            return self.emit.call(Helper::Swap);
        }
        for offset in parts(length, extension.vector()) {
            self.emit.reverse(width, at(place.src, src + offset), at(place.dst, dst + offset));
        }
    }

    /// Converts the numbers of an array in the record.
    fn numbers(&mut self, change: Change<'_>, count: usize, (src, dst): (usize, usize), place: At) {
        let (from, to) = (usize::from(change.from().size), usize::from(change.to().size));
        for index in parts(count, self.emit.extension.lanes()) {
            self.emit.convert_lanes(change, at(place.src, src + index * from), at(place.dst, dst + index * to));
        }
    }

    /// Calls the kernel that converts `rdx` numbers from `rdi` to `rsi`.
    pub(super) fn convert(&mut self, conversion: &Conversion) {
        self.emit.asm.set(RCX, std::ptr::from_ref(conversion).addr() as u64);
        self.emit.call(Helper::Numbers);
        self.emit.misfit_if(RAX);
    }

    /// Generates a loop with the same body for each element, also if the output moves meanwhile.
    pub(super) fn each(&mut self, sizes: (usize, usize), place: At, start: Start, mut body: impl FnMut(&mut Self, At)) {
        if matches!(start, Start::Within { count: 0, .. }) {
            return;
        }
        let base = self.emit.context(offset_of!(Context<'_>, base));
        let kept = [(); 3].map(|()| self.emit.save());
        self.emit.asm.store(kept[0], R14, 8);
        self.emit.asm.store(kept[1], place.src, 8);
        if self.grows {
            self.emit.asm.compute_by_memory(Arithmetic::Subtract, place.dst, base);
        }
        self.emit.asm.store(kept[2], place.dst, 8);
        match start {
            Start::Within { src, dst, count } => {
                if self.grows {
                    self.emit.asm.compute_by_memory(Arithmetic::Add, place.dst, base);
                }
                self.emit.asm.add(place.src, src as i32);
                self.emit.asm.add(place.dst, dst as i32);
                self.emit.asm.set(R14, count as u64);
            }
            Start::Block => {
                self.emit.asm.copy(place.src, RDI);
                self.emit.asm.copy(place.dst, RSI);
                self.emit.asm.copy(R14, RDX);
            }
        }
        // The body is generated twice, the first time to learn its constants. Within such a trial, once is enough.
        if !self.trying {
            self.trying = true;
            let mark = self.emit.begin_trial();
            body(self, place);
            self.emit.end_trial(mark);
            self.trying = false;
        } else {
            self.emit.forget();
        }
        let head = self.emit.asm.label();
        self.emit.asm.here(head);
        body(self, place);
        self.emit.asm.add(place.src, sizes.0 as i32);
        self.emit.asm.add(place.dst, sizes.1 as i32);
        self.emit.asm.subtract(R14, 1);
        self.emit.asm.jump_if(If::NotZero, head);
        self.emit.end_loop();
        self.emit.asm.load(R14, kept[0], 8);
        self.emit.asm.load(place.src, kept[1], 8);
        self.emit.asm.load(place.dst, kept[2], 8);
        if self.grows {
            self.emit.asm.compute_by_memory(Arithmetic::Add, place.dst, base);
        }
        self.emit.unsave(3);
    }
}

/// The place of the elements of a loop.
#[derive(Clone, Copy)]
pub(super) enum Start {
    /// In the record, at these offsets.
    Within { src: usize, dst: usize, count: usize },
    /// At `rdi` and `rsi`. `rdx` is their number, which is not 0.
    Block,
}

/// The offsets of vectors of `size` bytes that cover a greater `length`. The last vector may overlap the one before.
fn parts(length: usize, size: usize) -> impl Iterator<Item = usize> {
    (0..length / size * size).step_by(size).chain((!length.is_multiple_of(size)).then(|| length - size))
}

/// For each byte of a block, the byte that goes there if numbers of this width are reversed.
pub(super) fn reversal<const N: usize>(width: usize) -> [u8; N] {
    std::array::from_fn(|to| (to / width * width + width - 1 - to % width) as u8)
}
