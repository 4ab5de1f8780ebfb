//! What differs between the extensions of x86-64, and the operations that each of them has its own instructions for.

use super::Extension;
use super::emit::Emit;
use super::number::{Change, LANES};
use super::operand::Memory;
use super::{avx2, avx512};

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
