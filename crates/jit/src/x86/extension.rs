//! What differs between the extensions of x86-64, and the operations that each of them has its own instructions for.

use super::Extension;
use super::emit::Emit;
use super::number::{Change, LANES};
use super::operand::Memory;
use super::{avx2, avx512};
use isoform_core::Plan;
use isoform_core::plan::{Step, Transform};

impl Extension {
    /// The best of this machine, unless it is to do without it.
    #[cfg(all(target_arch = "x86_64", unix))]
    pub(super) fn here() -> Option<Extension> {
        macro_rules! all {
            ($($feature:tt),*) => { $(std::is_x86_feature_detected!($feature))&&* };
        }
        if !all!("bmi1", "bmi2", "movbe") {
            return None;
        }
        match isoform_kernels::Level::best().word() {
            "avx512" if all!("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi") => Some(Extension::Avx512),
            "avx512" | "avx2" if all!("avx2") => Some(Extension::Avx2),
            _ => None,
        }
    }

    /// Other machines run this code only by the model.
    #[cfg(not(all(target_arch = "x86_64", unix)))]
    pub(super) fn here() -> Option<Extension> {
        None
    }

    /// The extension whose code for a plan takes less time, on a processor that has this one.
    ///
    /// With AVX-512, more numbers in a row change their type at once, and text and arrays behind pointers take fewer
    /// instructions. The rest is moved at the speed of memory. AVX2 takes up to 48% less time there, probably because nearly each
    /// access of 64 bytes crosses a line of the cache.
    pub(super) fn suiting(self, plan: &Plan) -> Extension {
        if plan.native().structure().has_slots() || plan.steps().iter().any(converts_rows) {
            self
        } else {
            Extension::Avx2
        }
    }

    /// Bytes of a vector.
    pub(super) fn vector(self) -> usize {
        match self {
            Extension::Avx512 => avx512::BLOCK,
            Extension::Avx2 => avx2::VECTOR,
        }
    }

    /// Bytes of the blocks that records are put together from.
    pub(super) fn block(self) -> usize {
        match self {
            Extension::Avx512 => avx512::BLOCK,
            Extension::Avx2 => avx2::BLOCK,
        }
    }

    /// This many numbers in a row are converted at once.
    pub(super) fn lanes(self) -> usize {
        match self {
            Extension::Avx512 => LANES,
            Extension::Avx2 => avx2::LANES,
        }
    }

    /// Whether vector instructions convert numbers so.
    pub(super) fn converts(self, change: Change<'_>) -> bool {
        match self {
            Extension::Avx512 => true,
            Extension::Avx2 => avx2::converts(change),
        }
    }

    /// Whether one instruction reverses all numbers of `width` bytes in a vector.
    pub(super) fn reverses(self, width: usize) -> bool {
        self.block().is_multiple_of(width)
    }
}

/// Whether a step converts as many numbers in a row as a vector of AVX-512 has lanes.
fn converts_rows(step: &Step) -> bool {
    let Step::Elements { count, transform, .. } = step else { return false };
    match transform {
        Transform::Convert { per, .. } => count * per >= LANES,
        Transform::Symbols(_) => *count >= LANES,
        Transform::Each { steps, .. } => steps.iter().any(converts_rows),
        Transform::Copy(_) | Transform::Swap { .. } | Transform::String => false,
    }
}

impl Emit<'_> {
    /// Moves one vector.
    pub(super) fn move_vector(&mut self, from: Memory, to: Memory) {
        let scratch = self.scratch();
        self.load_part(scratch, from, self.extension.vector());
        self.store_part(to, scratch, self.extension.vector());
    }

    /// Moves one vector, and reverses each number of `width` bytes in it.
    pub(super) fn reverse(&mut self, width: usize, from: Memory, to: Memory) {
        match self.extension {
            Extension::Avx512 => self.reverse_64(width, from, to),
            Extension::Avx2 => self.reverse_32(width, from, to),
        }
    }

    /// Brings into a register what [`reverse`](Emit::reverse) needs.
    pub(super) fn hold_reversal(&mut self, width: usize) {
        match self.extension {
            Extension::Avx512 => _ = self.reversal_64(width),
            Extension::Avx2 => _ = self.reversal_32(width),
        }
    }

    /// Moves `rdx` bytes, fewer than a vector, from `rdi` to `rsi`, and reverses each number of `width` bytes if a width is
    /// given.
    pub(super) fn rest(&mut self, width: Option<usize>) {
        match self.extension {
            Extension::Avx512 => self.rest_64(width),
            Extension::Avx2 => self.rest_32(width),
        }
    }

    /// Converts as many numbers in a row as a vector has [`lanes`](Extension::lanes).
    pub(super) fn convert_lanes(&mut self, change: Change<'_>, from: Memory, to: Memory) {
        match self.extension {
            Extension::Avx512 => self.eight(change, from, to),
            Extension::Avx2 => self.four(change, from, to),
        }
    }

    /// Loads 64 bytes of the body at `r15 + rax`, and sets `rcx` to a bit for each of them that is 0.
    pub(super) fn load_text(&mut self) {
        match self.extension {
            Extension::Avx512 => self.load_text_64(),
            Extension::Avx2 => self.load_text_32(),
        }
    }

    /// Makes zeros of these bytes from the first on that is 0, and sets `rcx` to the number of bytes before it. `rcx` is what
    /// [`load_text`](Emit::load_text) has set, and not 0.
    pub(super) fn cut_text(&mut self) {
        match self.extension {
            Extension::Avx512 => self.cut_text_64(),
            Extension::Avx2 => self.cut_text_32(),
        }
    }

    /// Stores the 64 bytes at `r10 + r8`.
    pub(super) fn store_text(&mut self) {
        match self.extension {
            Extension::Avx512 => self.store_text_64(),
            Extension::Avx2 => self.store_text_32(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_core::{Faults, Layout, Rules, Shape};

    #[test]
    fn only_rows_of_numbers_and_pointers_take_avx512() {
        let plan = |wire: &str, native: &str| {
            let shape = |fields: &str| Shape::parse(fields).unwrap();
            let (wire, native) = (shape(wire).on(&Layout::S390X), shape(native).on(&Layout::X86_64));
            Plan::new(&wire.unwrap(), &native.unwrap(), &Rules::new(), Faults::Error).unwrap()
        };
        let suiting = |wire, native| Extension::Avx512.suiting(&plan(wire, native));
        assert_eq!(suiting("record P\n n i32\n x f64[99]\n", "record P\n n i64\n x f64[99]\n"), Extension::Avx2);
        assert_eq!(suiting("record P\n x f64[7]\n", "record P\n x f32[7]\n"), Extension::Avx2);
        assert_eq!(suiting("record P\n x f64[8]\n", "record P\n x f32[8]\n"), Extension::Avx512);
        let (wide, narrow) = ("record E\n x f64[8]\nrecord P\n e E[3]\n", "record E\n x f32[8]\nrecord P\n e E[3]\n");
        assert_eq!(suiting(wide, wide), Extension::Avx2);
        assert_eq!(suiting(wide, narrow), Extension::Avx512);
        let text = "record P\n s string\n";
        assert_eq!(suiting(text, text), Extension::Avx512);
        assert_eq!(Extension::Avx2.suiting(&plan(text, text)), Extension::Avx2);
    }
}
